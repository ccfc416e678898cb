//! The recording of an episode.

use std::path::Path;

use candle_core::{Result, bail};
use fingertip::mpc::plant::{Kind, Plant};
use fingertip::mpc::task::{Episode, Errors};
use fingertip::mpc::{Answer, Task};
use fingertip::show::{GoalRecord, Recorder, Recording, RecordingWriter, Source};
use fingertip::solve::Status;

use super::super::rollout;

/// An episode that is written to a file while it goes on.
pub struct Recorded {
    recorder: Recorder,
    writer: RecordingWriter,
}

impl Recorded {
    /// Begins the recording at `path`. The plant has to be quasi-dynamic.
    pub fn new(task: &Task, episode: &Episode, kind: Kind, plant: &Plant, path: &Path) -> Result<Self> {
        if kind != Kind::QuasiDynamic {
            bail!("--record: expected the quasi-dynamic plant");
        }
        let mut recorder = Recorder::new(&Source::of_task(task), plant.step())?;
        recorder.put(&plant.step().model().tensor(&[&episode.start.q])?)?;
        recorder.recording.goals = GoalRecord::of_episode(task, episode)?;
        let writer = rollout::begin(path, &recorder.recording)?;
        Ok(Self { recorder, writer })
    }

    /// One control period under a controller's command, at whose start the object is so far from its goal.
    pub fn advance(&mut self, plant: &mut Plant, answer: &Answer, errors: &Errors) -> Result<()> {
        let Self { recorder, writer } = self;
        recorder.plan(answer)?;
        recorder.note_errors(errors);
        plant.advance_by(&answer.u, |step, u| {
            let record = recorder.step(step, u)?;
            writer.step(&record)?;
            let is_solved = record.status == Status::Solved.name();
            recorder.recording.steps.push(record);
            Ok((recorder.q().flatten_all()?.to_vec1()?, is_solved))
        })
    }

    /// Ends the file, and gives what it holds.
    pub fn finish(self) -> Result<Recording> {
        self.writer.finish()?;
        Ok(self.recorder.recording)
    }
}
