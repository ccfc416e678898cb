//! The step itself as the plant, with harder contacts, and written down if that is asked for.

use std::path::Path;

use candle_core::Result;
use fingertip::mpc::{Simulator, Start, Task};
use fingertip::show::{Recorder, Recording, RecordingWriter, Source};

/// A world that is commanded.
pub struct Plant {
    simulator: Simulator,
    pub q: Vec<f64>,
    warm: Vec<f64>,
    /// Steps that had no solution.
    pub unsolved: usize,
    recorder: Option<(Recorder, RecordingWriter)>,
}

impl Plant {
    /// At the start of an episode.
    pub fn new(task: &Task, kappa: f64, start: &Start, record: Option<&Path>) -> Result<Self> {
        let simulator = task.simulator().with_kappa(kappa)?;
        let recorder = record.map(|path| {
            let name = task.scene_path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let text = std::fs::read_to_string(&task.scene_path).unwrap_or_default();
            let source = Source { name, text, scene: task.scene.clone() };
            let mut recorder = Recorder::new(&source, simulator.step())?;
            recorder.put(&simulator.model().tensor(&[&start.q])?)?;
            let writer = RecordingWriter::create(path, &recorder.recording)?;
            Ok::<_, candle_core::Error>((recorder, writer))
        });
        Ok(Self { simulator, q: start.q.clone(), warm: Vec::new(), unsolved: 0, recorder: recorder.transpose()? })
    }

    /// One control period under u.
    pub fn advance(&mut self, u: &[f64]) -> Result<()> {
        if let Some((recorder, writer)) = &mut self.recorder {
            for _ in 0..self.simulator.hold() {
                let record = recorder.step(self.simulator.step(), u.to_vec())?;
                self.unsolved += usize::from(record.status != fingertip::solve::Status::Solved.name());
                writer.step(&record)?;
                recorder.recording.steps.push(record);
            }
            self.q = recorder.q().flatten_all()?.to_vec1()?;
            return Ok(());
        }
        let held = self.simulator.advance(&self.q, u, &self.warm)?;
        let unsolved = held.reports.iter().filter(|report| report.status != fingertip::solve::Status::Solved);
        self.unsolved += unsolved.count();
        self.q = held.q[held.q.len() - self.q.len()..].to_vec();
        self.warm = held.warm[held.warm.len() - self.simulator.step().n_warm()..].to_vec();
        Ok(())
    }

    /// Ends the recording, if there is one.
    pub fn finish(self) -> Result<Option<Recording>> {
        let Some((recorder, writer)) = self.recorder else { return Ok(None) };
        writer.finish()?;
        Ok(Some(recorder.recording))
    }
}
