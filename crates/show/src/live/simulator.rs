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
use super::pilot::Pilot;
use super::reach;
use super::spring::Springs;
use super::tape::Tape;
use super::world::{Order, QUEUE, World};
use crate::frames::{Layout, moves};
use crate::record::Recorder;
use crate::recording::{PlanRecord, Recording};
use crate::source::Source;
use fingertip_plan::mpc::Task;
use fingertip_step::step::Quasidynamic;
use fingertip_step::tensor::numbers;

/// The state goes out this often at most, s.
const STATE: f64 = 0.05;
/// Time that the world waits for a plan before it looks again.
const WAIT: Duration = Duration::from_millis(1);
/// Time after which a world that nobody looks at looks whether it is to end.
const REST: Duration = Duration::from_millis(100);

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
    /// Steps that are asked for while the world stands still.
    n_steps: usize,
    /// Do the commands follow the scene's script, or the task's controller? A hand on a joint's slider ends that.
    driven: bool,
    pilot: Option<Pilot>,
    /// The plan that is followed.
    plan: Option<PlanRecord>,
    tape: Tape,
    /// Pages' recordings that have ended.
    n_recorded: usize,
    newest: Arc<Newest>,
    told: Instant,
    untold: bool,
}

impl Simulator {
    /// A scene, or with a task and a seed what the task's controller does in it.
    pub fn new(
        source: Source,
        step: Quasidynamic,
        task: Option<(Task, u64)>,
        tape: Tape,
        newest: Arc<Newest>,
    ) -> Result<Self> {
        let mut recorder = Recorder::new(&source, &step)?;
        let controls = Controls::new(&step, task.is_none())?;
        let pilot = task.map(|(task, seed)| Pilot::new(task, seed)).transpose()?;
        // The names of the scalars are those of a step.
        let mut first = recorder.step(&step, source.scene.control(0.0))?;
        let noted = pilot.iter().flat_map(Pilot::scalars);
        first.scalars.extend(noted.map(|name| (name.to_owned(), f64::NAN)));
        recorder.recording.steps.push(first);
        let plan_size = pilot.as_ref().map(|pilot| pilot.plan_size(&recorder.recording)).transpose()?;
        let layout = Layout::live(&recorder.recording, plan_size.unwrap_or_default());
        recorder.recording.steps.clear();
        let springs = Springs::new(step.model())?;
        let pulls = BTreeMap::new();
        let told = Instant::now();
        let mut simulator = Self {
            source,
            step,
            recorder,
            layout,
            controls,
            springs,
            pulls,
            paused: false,
            n_steps: 0,
            driven: false,
            pilot,
            plan: None,
            tape,
            n_recorded: 0,
            newest,
            told,
            untold: true,
        };
        simulator.put()?;
        simulator.cut()?;
        simulator.publish();
        Ok(simulator)
    }

    /// Everything at its start: home, or where the task's episode begins.
    fn put(&mut self) -> Result<()> {
        let model = self.step.model();
        self.recorder.reset(model)?;
        if let Some(pilot) = &self.pilot {
            let start = &pilot.episode.start;
            self.recorder.put(&model.tensor(&[&start.q])?)?;
            self.controls.follow(&start.u);
        }
        (self.plan, self.driven) = (None, self.pilot.is_some() || !self.source.scene.script.is_empty());
        self.newest.set_frame(&self.layout.start(&self.recorder.recording));
        Ok(())
    }

    /// The scene as it is now, as a recording without steps.
    fn here(&self) -> Result<Recording> {
        let parameters = self.controls.parameters(self.step.parameters())?;
        let mut recording = self.recorder.from_here(self.step.model(), &parameters)?;
        if let Some(pilot) = &self.pilot {
            recording.goals.clone_from(&pilot.goals);
        }
        Ok(recording)
    }

    /// Ends the recording, because the next state does not follow from the last one; on the disk another file begins.
    fn cut(&mut self) -> Result<()> {
        let recorded = self.tape.end()?;
        self.keep(recorded);
        if self.tape.has_path() {
            self.tape.next_file(&self.here()?, self.recorder.time())?;
        }
        Ok(())
    }

    /// Offers a page's recording that has ended.
    fn keep(&mut self, recorded: Option<Vec<u8>>) {
        if let Some(file) = recorded {
            self.newest.set_recording(file);
            self.n_recorded += 1;
            self.untold = true;
        }
    }

    /// A step's time.
    fn period(&self) -> Result<Duration> {
        let h = self.controls.parameters(self.step.parameters())?.h;
        Ok(Duration::from_secs_f64(numbers(&h)?[0]))
    }

    fn q(&self) -> Result<Vec<f64>> {
        numbers(self.recorder.q())
    }

    fn obey(&mut self, (client, command): Order) -> Result<()> {
        let Some(Command { pause, step, reset, episode, goal, record, set, look: _, pull }) = command else {
            self.pulls.remove(&client);
            return Ok(());
        };
        self.untold = true;
        let q = self.q()?;
        if reset || episode.is_some() {
            if let Some(pilot) = &mut self.pilot {
                pilot.begin(episode.unwrap_or(pilot.episode.number))?;
            }
            self.controls.reset();
            self.pulls.clear();
            self.put()?;
            self.cut()?;
        } else if let (Some(pilot), Some(goal)) = (&mut self.pilot, goal) {
            pilot.redirect(goal, &q)?;
            self.driven = true;
            self.cut()?;
        }
        match record {
            Some(true) if !self.tape.is_on() => self.tape.begin(&self.here()?, self.recorder.time())?,
            Some(false) => {
                let recorded = self.tape.end()?;
                self.keep(recorded);
            }
            _ => {}
        }
        for (name, value) in set {
            self.driven &= self.controls.set(&name, value) != Some(true);
        }
        match pull {
            Some(Some(pull)) if self.is_sound(&pull) => {
                self.driven &= !pull.joints;
                self.pulls.insert(client, pull);
            }
            Some(_) => _ = self.pulls.remove(&client),
            None => {}
        }
        self.paused = pause.unwrap_or(self.paused || step);
        self.n_steps = if self.paused { self.n_steps + usize::from(step) } else { 0 };
        Ok(())
    }

    fn is_sound(&self, pull: &Pull) -> bool {
        let numbers = pull.at.iter().chain(&pull.to);
        pull.body < self.recorder.recording.bodies.len() && numbers.into_iter().all(|x| x.is_finite() && x.abs() < 1e6)
    }

    /// Does the world rest? Nobody looks at it, and nothing records it.
    fn rests(&self) -> bool {
        !self.newest.is_seen() && !self.tape.has_path() && !self.tape.is_on()
    }

    /// Is the command of the coming step known?
    fn steer(&mut self) -> Result<bool> {
        let q = self.q()?;
        let u = match &mut self.pilot {
            None => self.source.scene.control(self.recorder.time()),
            Some(pilot) => {
                let Some((u, answer)) = pilot.command(&q)? else { return Ok(false) };
                if let Some(answer) = answer {
                    self.recorder.plan(&answer)?;
                }
                u
            }
        };
        self.controls.follow(&u);
        self.untold = true;
        Ok(true)
    }

    /// One step, if its command is known.
    fn advance(&mut self) -> Result<bool> {
        if self.driven && !self.steer()? {
            return Ok(false);
        }
        let model = self.step.model();
        for pull in self.pulls.values().filter(|pull| pull.joints) {
            let q = numbers(self.recorder.q())?;
            self.controls.command(&reach::command(&model.tree, &q, &self.controls.u(), pull)?);
            self.untold = true;
        }
        let mut parameters = self.controls.parameters(self.step.parameters())?;
        let mut tau = vec![0.0; model.nv()];
        for pull in self.pulls.values().filter(|pull| !pull.joints) {
            let pulled = self.springs.tau(model, &parameters, self.recorder.q(), pull)?;
            tau.iter_mut().zip(pulled).for_each(|(sum, tau)| *sum += tau);
        }
        let tau = Tensor::from_vec(tau, (1, model.nv()), &model.device)?.to_dtype(model.dtype)?;
        parameters.tau = (&parameters.tau + tau)?;
        let record = self.recorder.step(&self.step.with_parameters(&parameters)?, self.controls.u())?;
        if record.plan.is_some() {
            self.plan.clone_from(&record.plan);
        }
        let full = self.tape.step(&record)?;
        self.keep(full);
        self.newest.set_frame(&self.layout.row(&record, self.plan.as_ref().filter(|_| self.driven)));
        let q = self.q()?;
        if let Some(pilot) = &mut self.pilot {
            self.recorder.note_errors(&pilot.observe(&q)?);
        }
        Ok(true)
    }

    /// Tells the pages where the sliders and the task stand, if that has changed and was not told just now.
    fn tell(&mut self) {
        if self.untold && self.told.elapsed().as_secs_f64() > STATE {
            self.publish();
        }
    }

    fn publish(&mut self) {
        let task = self.pilot.as_ref().map(Pilot::state);
        let values = self.controls.values();
        self.newest.set_state(&json!({
            "paused": self.paused, "driven": self.driven, "values": values, "task": task,
            "recording": self.tape.is_on(), "recorded": self.n_recorded,
        }));
        (self.told, self.untold) = (Instant::now(), false);
    }
}

impl World for Simulator {
    fn left_out(&self) -> &[String] {
        &self.recorder.recording.left_out
    }

    fn header(&self) -> Value {
        let recording = &self.recorder.recording;
        let movable: Vec<bool> = (0..recording.bodies.len()).map(|body| moves(recording, body)).collect();
        let mut header = self.layout.header(recording);
        let task = self.pilot.as_ref().map(Pilot::description);
        let limbs: Vec<bool> =
            (0..movable.len()).map(|body| reach::is_possible(&self.step.model().tree, body)).collect();
        let controls = self.controls.description();
        header["live"] = json!({ "controls": controls, "movable": movable, "limbs": limbs, "task": task });
        header
    }

    /// Steps in the time of the world until `stop`; orders go first. It rests while nobody looks.
    fn run(mut self, orders: &Receiver<Order>, stop: &AtomicBool) -> Result<()> {
        let (mut next, mut resting) = (Instant::now(), false);
        while !stop.load(Ordering::Relaxed) {
            let wait = next.saturating_duration_since(Instant::now());
            match orders.recv_timeout(wait) {
                Ok(order) => {
                    self.obey(order)?;
                    // A client that sends without end does not stop the world. One that comes wakes it.
                    if Instant::now() < next && !resting {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            for order in orders.try_iter().take(QUEUE).collect::<Vec<_>>() {
                self.obey(order)?;
            }
            resting = self.rests();
            if resting {
                self.tell();
                next = Instant::now() + REST;
                continue;
            }
            let goes = !self.paused || self.n_steps > 0;
            let stepped = goes && self.advance()?;
            self.n_steps = self.n_steps.saturating_sub(usize::from(stepped && self.paused));
            self.tell();
            // A world that is late does not hurry afterwards.
            next = if goes && !stepped { Instant::now() + WAIT } else { (next + self.period()?).max(Instant::now()) };
        }
        Ok(self.tape.close()?)
    }
}
