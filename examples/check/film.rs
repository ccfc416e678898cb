//! A recording of an example, where `--record FILE.mcap` asks for one: `fingertip view FILE.mcap` shows it.

#![allow(dead_code, reason = "each example uses its part")]

use candle_core::{Result, Tensor, bail};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::show::{Recorder, RecordingWriter, Source, StepResult};

/// A recording that may not be wanted.
pub struct Film {
    path: Option<String>,
    recorder: Recorder,
    writer: Option<RecordingWriter>,
}

impl Film {
    /// Of a scene that is stepped with the model's own parameters, from home.
    pub fn new(name: &str, scene: &Scene, model: &Model) -> Result<Self> {
        let mut arguments = std::env::args().skip(1);
        let path = match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
            (None, ..) => None,
            (Some("--record"), Some(path), None) => Some(path),
            _ => bail!("expected nothing, or --record FILE.mcap"),
        };
        let source = Source { name: name.to_owned(), text: String::new(), scene: scene.clone() };
        Ok(Self { path, recorder: Recorder::of_model(&source, model, &model.parameters)?, writer: None })
    }

    /// Starts elsewhere (1, nq).
    pub fn put(&mut self, q: &Tensor) -> Result<()> {
        self.recorder.put(q)
    }

    /// A step, and what was commanded in it (nu numbers), as far as it was positions.
    pub fn follow<'a>(&mut self, next: impl Into<StepResult<'a>>, u: Vec<f64>) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let step = self.recorder.follow(next, u)?;
        if self.writer.is_none() {
            self.writer = Some(RecordingWriter::create(path, &self.recorder.recording)?);
        }
        self.writer.iter_mut().try_for_each(|writer| writer.step(&step))?;
        Ok(())
    }

    /// Ends the file and names it.
    pub fn finish(self) -> Result<()> {
        let (Some(path), Some(writer)) = (self.path, self.writer) else { return Ok(()) };
        writer.finish()?;
        println!("wrote {path}; fingertip view {path} shows it");
        Ok(())
    }
}
