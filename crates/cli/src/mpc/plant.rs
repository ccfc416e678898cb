//! The step itself as the plant, with harder contacts, and written down if that is asked for.

use std::path::Path;

use candle_core::Result;
use fingertip::mpc::task::{Episode, Errors};
use fingertip::mpc::{Answer, Simulator, Task};
use fingertip::show::{GoalRecord, Recorder, Recording, RecordingWriter, Source};

use super::super::rollout;

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
    pub fn new(task: &Task, kappa: f64, episode: &Episode, record: Option<&Path>) -> Result<Self> {
        let simulator = task.simulator().with_kappa(kappa)?;
        let start = &episode.start;
        let recorder = record.map(|path| {
            let mut recorder = Recorder::new(&Source::of_task(task), simulator.step())?;
            recorder.put(&simulator.model().tensor(&[&start.q])?)?;
            recorder.recording.goals = GoalRecord::of_episode(task, episode)?;
            let writer = rollout::begin(path, &recorder.recording)?;
            Ok::<_, candle_core::Error>((recorder, writer))
        });
        Ok(Self { simulator, q: start.q.clone(), warm: Vec::new(), unsolved: 0, recorder: recorder.transpose()? })
    }

    /// One control period under a controller's command, at whose start the object is so far from its goal.
    pub fn advance(&mut self, answer: &Answer, errors: &Errors) -> Result<()> {
        let u = &answer.u;
        if let Some((recorder, writer)) = &mut self.recorder {
            recorder.plan(answer)?;
            recorder.note_errors(errors);
            for _ in 0..self.simulator.hold() {
                let record = recorder.step(self.simulator.step(), u.clone())?;
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
