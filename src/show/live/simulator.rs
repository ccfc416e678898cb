//! The thread that steps the world.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use candle_core::{Result, Tensor};
use serde_json::{Value, json};

use super::command::{Command, Pull};
use super::controls::Controls;
use super::newest::Newest;
use super::spring::Springs;
use crate::show::frames::{Layout, moves};
use crate::show::record::{Recorder, Source};
use crate::step::Quasidynamic;

/// Commands that wait, at most: a client whose command does not fit waits itself.
pub const QUEUE: usize = 256;
/// The state goes out this often at most, s.
const STATE: f64 = 0.05;

/// A command and the client that sends it; none when the client has gone.
pub type Order = (u64, Option<Command>);

/// A world and everything that pages change in it.
pub struct Simulator {
    source: Source,
    step: Quasidynamic,
    recorder: Recorder,
    layout: Layout,
    controls: Controls,
    springs: Springs,
    pulls: BTreeMap<u64, Pull>,
    paused: bool,
    /// Do the commands follow the scene's script?
    scripted: bool,
    newest: Arc<Newest>,
    told: Instant,
    untold: bool,
}

impl Simulator {
    pub fn new(source: Source, step: Quasidynamic, newest: Arc<Newest>) -> Result<Self> {
        let mut recorder = Recorder::new(&source, &step)?;
        let controls = Controls::new(&step)?;
        // The names of the scalars are those of a step.
        let first = recorder.step(&step, source.scene.control(0.0))?;
        recorder.recording.steps.push(first);
        let layout = Layout::new(&recorder.recording);
        recorder.recording.steps.clear();
        recorder.reset(step.model())?;
        let springs = Springs::new(step.model())?;
        let scripted = !source.scene.script.is_empty();
        let pulls = BTreeMap::new();
        let told = Instant::now();
        newest.set_frame(&layout.start(&recorder.recording));
        newest.set_state(&json!({ "paused": false, "values": controls.values() }));
        let simulator = Self {
            source,
            step,
            recorder,
            layout,
            controls,
            springs,
            pulls,
            paused: false,
            scripted,
            newest,
            told,
            untold: true,
        };
        Ok(simulator)
    }

    /// What a page needs besides the frames.
    pub fn header(&self) -> Value {
        let recording = &self.recorder.recording;
        let movable: Vec<bool> = (0..recording.bodies.len()).map(|body| moves(recording, body)).collect();
        let mut header = self.layout.header(recording);
        header["live"] = json!({ "controls": self.controls.description(), "movable": movable });
        header
    }

    /// Steps in the time of the world until `stop`; orders go first.
    pub fn run(mut self, orders: &Receiver<Order>, stop: &AtomicBool) -> Result<()> {
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let wait = next.saturating_duration_since(Instant::now());
            match orders.recv_timeout(wait) {
                Ok(order) => {
                    self.obey(order)?;
                    // Whoever sends without end does not stop the world.
                    if Instant::now() < next {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            for order in orders.try_iter().take(QUEUE).collect::<Vec<_>>() {
                self.obey(order)?;
            }
            if !self.paused {
                self.advance()?;
            }
            self.tell();
            let period = Duration::from_secs_f64(self.controls.values()["h"]);
            // A world that is late does not hurry afterwards.
            next = (next + period).max(Instant::now());
        }
        Ok(())
    }

    fn obey(&mut self, (client, command): Order) -> Result<()> {
        let Some(Command { pause, step, reset, set, pull }) = command else {
            self.pulls.remove(&client);
            return Ok(());
        };
        self.untold = true;
        if reset {
            self.recorder.reset(self.step.model())?;
            self.controls.reset();
            self.pulls.clear();
            self.scripted = !self.source.scene.script.is_empty();
            self.newest.set_frame(&self.layout.start(&self.recorder.recording));
        }
        for (name, value) in set {
            // A hand on a joint's slider ends the script.
            self.scripted &= self.controls.set(&name, value) != Some(true);
        }
        match pull {
            Some(Some(pull)) if self.is_sound(&pull) => _ = self.pulls.insert(client, pull),
            Some(_) => _ = self.pulls.remove(&client),
            None => {}
        }
        self.paused = pause.unwrap_or(self.paused);
        if step {
            self.paused = true;
            self.advance()?;
        }
        Ok(())
    }

    fn is_sound(&self, pull: &Pull) -> bool {
        let numbers = pull.at.iter().chain(&pull.to);
        pull.body < self.recorder.recording.bodies.len() && numbers.into_iter().all(|x| x.is_finite() && x.abs() < 1e6)
    }

    fn advance(&mut self) -> Result<()> {
        let model = self.step.model();
        if self.scripted {
            let u = self.source.scene.control(self.recorder.time());
            self.controls.follow(&u);
            self.untold = true;
        }
        let mut parameters = self.controls.parameters(self.step.parameters())?;
        let mut tau = vec![0.0; model.nv()];
        for pull in self.pulls.values() {
            let pulled = self.springs.tau(model, &parameters, self.recorder.q(), pull)?;
            tau.iter_mut().zip(pulled).for_each(|(sum, tau)| *sum += tau);
        }
        let tau = Tensor::from_vec(tau, (1, model.nv()), &model.device)?.to_dtype(model.dtype)?;
        parameters.tau = (&parameters.tau + tau)?;
        let record = self.recorder.step(&self.step.with_parameters(&parameters)?, self.controls.u())?;
        self.newest.set_frame(&self.layout.row(&record));
        Ok(())
    }

    /// Tells the pages where the sliders stand, if that has changed and was not told just now.
    fn tell(&mut self) {
        if self.untold && self.told.elapsed().as_secs_f64() > STATE {
            self.newest.set_state(&json!({ "paused": self.paused, "values": self.controls.values() }));
            (self.told, self.untold) = (Instant::now(), false);
        }
    }
}
