//! Measured states in, commands out: see crates/plan/docs/stdio.md.

use std::collections::BTreeMap;
use std::io::{self, Write};

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use fingertip::description::unknown;
use fingertip::mpc::cost::Goal;
use fingertip::mpc::roadmap::Guide;
use fingertip::mpc::task::{End, Episode, Errors, Progress, Sequence};
use fingertip::mpc::{Answer, Estimate, Measured, Outcome as Planned, Supervisor, Task};
use fingertip::overrides::{Overrides, list, number, parse, shown};
use serde_json::{Map, Value, json};

use super::super::{Exit, Outcome};
use super::input::{goal_from, state};
use super::milliseconds;
use super::results::{errors, goal};
use crate::{lines, message};

/// Keys of a line that begins an episode, and of one that asks for a command.
const BEGIN: [&str; 4] = ["episode", "seed", "goal", "q"];
const ASK: [&str; 10] = ["q", "velocity", "u", "latency_ms", "deadline_ms", "goal", "mu", "stiffness", "mass", "size"];
/// The keys of a line that change what the planner believes of the plant.
const BELIEFS: [&str; 4] = ["mu", "stiffness", "mass", "size"];
/// Forces that are put out, N.
const LEAST_FORCE: f64 = 1e-6;

struct Session {
    task: Task,
    seed: u64,
    /// Most goals of a sequence, instead of the task's number.
    goals: Option<usize>,
    running: Option<Running>,
    guide: Option<Guide>,
    /// The time limit of a command whose line has none.
    deadline: Option<Duration>,
}

/// An episode, or goals in a row.
#[derive(Clone)]
struct Running {
    episode: Episode,
    supervisor: Supervisor,
    progress: Progress,
    sequence: Option<Sequence>,
}

/// Lines that are read ahead.
const AHEAD: usize = 16;

/// `silence`: how long a running episode waits for a line before it says the command again. `deadline`: the time limit
/// of a command whose line has none.
pub fn run(
    task: Task,
    (seed, goals): (u64, Option<usize>),
    [silence, deadline]: [Option<Duration>; 2],
    guide: Option<Guide>,
) -> Outcome {
    let mut session = Session { task, seed, goals, running: None, guide, deadline };
    let mut output = io::stdout().lock();
    let (sender, received) = mpsc::sync_channel(AHEAD);
    std::thread::spawn(move || {
        let mut input = lines::input();
        while let Some(line) = lines::next(&mut input).transpose() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    loop {
        let line = match silence.filter(|_| session.running.is_some()) {
            Some(limit) => received.recv_timeout(limit),
            None => received.recv().map_err(RecvTimeoutError::from),
        };
        let answer = match line {
            Ok(line) => {
                line?.and_then(|line| session.answer(&line)).unwrap_or_else(|message| json!({ "error": message }))
            }
            Err(RecvTimeoutError::Timeout) => session.hold(),
            Err(RecvTimeoutError::Disconnected) => return Ok(Exit::Success),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
}

impl Session {
    fn answer(&mut self, line: &[u8]) -> Result<Value, String> {
        let map = match parse(line).map_err(|error| error.to_string())? {
            Value::Object(map) => map,
            other => return Err(format!("expected {{\"episode\": 0}} or {{\"q\": […]}}, got {}", shown(&other))),
        };
        let has = |key: &str| map.contains_key(key);
        let begins = has("episode") || has("seed") || (has("goal") && (self.running.is_none() || !has("q")));
        let known: &[&str] = if begins { &BEGIN } else { &ASK };
        if let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(unknown("key", key, known.iter().copied()));
        }
        if begins { self.begin(&map) } else { self.ask(&map) }
    }

    fn begin(&mut self, map: &Map<String, Value>) -> Result<Value, String> {
        let whole = |key: &str, default: u64| match map.get(key) {
            None => Ok(default),
            Some(value) => {
                value.as_u64().ok_or_else(|| format!("{key}: expected a whole number from 0 up, got {}", shown(value)))
            }
        };
        let (episode, seed) = (whole("episode", 0)?, whole("seed", self.seed)?);
        let episode = usize::try_from(episode).map_err(|error| format!("episode: {error}"))?;
        let mut episode = self.task.episode(seed, episode).map_err(|error| error.to_string())?;
        let model = self.task.simulator().model();
        if let Some(q) = map.get("q") {
            self.task.begin_at(&mut episode, state(q, model)?).map_err(|error| error.to_string())?;
        }
        if let Some(given) = map.get("goal") {
            episode.goal = goal_from(given)?;
        }
        let supervisor =
            super::supervisor(&self.task, &episode, self.guide.as_ref()).map_err(|error| message::plain(&error))?;
        let mut sequence = self.task.sequence(seed, &episode);
        if let (Some(sequence), Some(most)) = (&mut sequence, self.goals) {
            sequence.most = most;
        }
        let names = || model.tree.coordinates.iter();
        let answer = json!({
            "episode": episode.number,
            "episodes": self.task.n_goals(),
            "start": { "q": episode.start.q, "u": episode.start.u },
            "warnings": self.task.start_warnings(episode.number, &episode.start.q).map_err(|error| message::plain(&error))?,
            "goal": goal(&self.task, &episode),
            "period": self.task.period(),
            "cap": self.task.cap,
            "q_names": names().flat_map(|c| c.q_names()).collect::<Vec<_>>(),
            "u_names": names().filter(|c| c.u.is_some()).map(|c| c.name.clone()).collect::<Vec<_>>(),
            "title": self.task.title,
        });
        self.running = Some(Running { episode, supervisor, progress: Progress::default(), sequence });
        Ok(answer)
    }

    /// The answer to a plant that is silent: hold the last command.
    fn hold(&self) -> Value {
        let u = self.running.as_ref().map(|running| running.supervisor.controller().u_before());
        json!({ "u": u, "status": Planned::Silent.name() })
    }

    fn ask(&mut self, map: &Map<String, Value>) -> Result<Value, String> {
        let Some(running) = &mut self.running else {
            return Err("expected {\"episode\": 0} first".to_owned());
        };
        let task = &self.task;
        let model = task.simulator().model();
        let plain = |error: candle_core::Error| message::plain(&error);
        let q = match map.get("q").ok_or("expected \"q\"")? {
            Value::Null => vec![f64::NAN; model.nq()],
            measured => state(measured, model)?,
        };
        let numbers = |key: &str| {
            let given = map.get(key).map(|value| list(key, value).map_err(|error| error.to_string()));
            given.transpose()
        };
        let latency = map.get("latency_ms").map(|value| {
            let ms = number("latency_ms", value).map_err(|error| error.to_string())?;
            milliseconds("latency_ms", ms, 0.0).map(|latency| latency.as_secs_f64())
        });
        let measured =
            Measured { q, velocity: numbers("velocity")?, latency: latency.transpose()?, applied: numbers("u")? };
        let limit = map.get("deadline_ms").map(|value| {
            let ms = number("deadline_ms", value).map_err(|error| error.to_string())?;
            milliseconds("deadline_ms", ms, 0.0)
        });
        let limit = limit.transpose()?.or(self.deadline);
        // What the line changes counts only if all of it can be used.
        let mut changed = None;
        if running.sequence.is_some() || BELIEFS.iter().chain(&["goal"]).any(|key| map.contains_key(*key)) {
            let (mut task, mut running) = (task.clone(), running.clone());
            let overrides = Overrides::from_map(map).map_err(|error| error.to_string())?;
            if overrides != Overrides::default() {
                task.set_parameters(&overrides).map_err(plain)?;
                running.supervisor.set_task(&task).map_err(plain)?;
            }
            if let Some(given) = map.get("goal") {
                running.set_goal(goal_from(given)?).map_err(plain)?;
            }
            changed = Some((task, running));
        }
        let (task, running) = match &mut changed {
            Some((task, running)) => (&*task, running),
            None => (task, running),
        };
        let by_object = task.errors_by_object(&running.episode.goal, &measured.q).map_err(plain)?;
        let errors_now = Errors::largest(by_object.values().copied());
        // A goal of a sequence that is reached is followed by the next at once.
        let reached = running.pass(task, &errors_now, &measured.q)?;
        let answer = running.supervisor.answer(&measured, limit).map_err(plain)?;
        task.count(&mut running.progress, &errors_now);
        let mut said = said(task, &answer, &by_object, &running.progress);
        running.say(task, reached, &mut said);
        if let Some((task, running)) = changed {
            (self.task, self.running) = (task, Some(running));
        }
        Ok(said)
    }
}

impl Running {
    fn set_goal(&mut self, goal: Goal) -> candle_core::Result<()> {
        self.supervisor.set_goal(goal.clone())?;
        self.episode.goal = goal;
        self.progress = Progress::default();
        if let Some(sequence) = &mut self.sequence {
            sequence.progress = Progress::default();
        }
        Ok(())
    }

    /// Goes on to the next goal of a sequence, if this one is reached at q: whether it is.
    fn pass(&mut self, task: &Task, errors: &Errors, q: &[f64]) -> Result<bool, String> {
        let Some(sequence) = &mut self.sequence else { return Ok(false) };
        let before = sequence.reached.len();
        let next = sequence.count(task, errors, q).map_err(|error| error.to_string())?;
        let reached = sequence.reached.len() > before;
        if let Some(goal) = next {
            self.set_goal(goal).map_err(|error| message::plain(&error))?;
        }
        Ok(reached)
    }

    /// Adds what the supervisor does, what is estimated, and how far a sequence is.
    fn say(&self, task: &Task, reached: bool, said: &mut Value) {
        let mut estimates = BTreeMap::new();
        for Estimate { quantity, value, deviation, .. } in self.supervisor.controller().estimates() {
            let of: &mut [Vec<f64>; 2] = estimates.entry(quantity.name()).or_default();
            of[0].push(value);
            of[1].push(deviation);
        }
        if !estimates.is_empty() {
            let all = estimates.into_iter();
            let one = |(name, [value, deviation]): (&str, [Vec<f64>; 2])| {
                (name.to_owned(), json!({ "value": value, "deviation": deviation }))
            };
            said["estimates"] = all.map(one).collect();
        }
        if task.supervision.is_some() {
            let why = self.supervisor.stall().map(ToString::to_string);
            said["supervisor"] = json!({ "does": self.supervisor.doing().name(), "why": why });
        }
        if let Some(sequence) = &self.sequence {
            said["success"] = json!(reached);
            said["done"] = json!(sequence.ended.is_some());
            said["reached"] = json!(sequence.reached.len());
            said["ended"] = json!(sequence.ended.map(End::name));
            said["goal"] = goal(task, &self.episode);
        }
    }
}

/// An answer as JSON.
fn said(task: &Task, answer: &Answer, errors_now: &BTreeMap<String, Errors>, progress: &Progress) -> Value {
    json!({
        "u": answer.u,
        "v": answer.v,
        "q_from": answer.from,
        "q_predicted": predicted(answer, answer.from.len()),
        "forces": forces(task, answer),
        "cost": answer.plan.as_ref().map(|plan| plan.best.cost),
        "status": answer.outcome.name(),
        "iterations": answer.plan.as_ref().map_or(0, |plan| plan.iterations),
        "ms": 1e3 * answer.seconds,
        "errors": errors(errors_now),
        "success": progress.success.is_some(),
        "lost": progress.lost,
        "done": task.is_over(progress),
        "step": progress.step - 1,
    })
}

fn predicted(answer: &Answer, nq: usize) -> Vec<&[f64]> {
    answer.plan.as_ref().map_or_else(Vec::new, |plan| plan.best.q.chunks(nq).skip(1).collect())
}

fn forces(task: &Task, answer: &Answer) -> Vec<Value> {
    let model = task.simulator().model();
    let Some(plan) = &answer.plan else { return Vec::new() };
    let first = plan.best.force.rows(0..1).dense().into_owned();
    let felt = first.chunks(3).enumerate();
    let felt = felt.filter(|(_, f)| f.iter().map(|x| x * x).sum::<f64>().sqrt() > LEAST_FORCE);
    felt.map(|(i, force)| {
        let (a, b) = model.contact_names(i);
        json!({ "a": a, "b": b, "force": force })
    })
    .collect()
}
