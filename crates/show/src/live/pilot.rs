//! A task's controller at the commands of a live world.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::Result;
use serde_json::{Value, json};

use super::planner::{Ask, Planner};
use crate::frames::PlanSize;
use crate::plan::{COST, JOINTS, PLANNING, POSITION, ROTATION};
use crate::recording::{GoalRecord, PlanRecord, Recording};
use fingertip_plan::mpc::task::{Episode, Errors};
use fingertip_plan::mpc::{Answer, Start, Task};

/// Plans each period while the one before goes by, and keeps count of the episode.
///
/// The planner is given the state at a period's start and the command in it; it plans from where its model is at the
/// period's end. A plan that is late makes the world wait.
#[derive(Debug)]
pub struct Pilot {
    task: Arc<Task>,
    planner: Planner,
    seed: u64,
    pub episode: Episode,
    /// Number of the question whose answer is awaited.
    round: u64,
    /// Steps of the period that have gone by.
    n_steps: usize,
    u: Vec<f64>,
    errors: BTreeMap<String, Errors>,
    /// Are the objects at their goals, as the task's measure says?
    there: bool,
    /// The last search: the reason for which it ended, and the time that it took, s.
    last: Option<(&'static str, f64)>,
    /// Poses of the objects at the goal.
    pub goals: Vec<GoalRecord>,
}

impl Pilot {
    pub fn new(task: Task, seed: u64) -> Result<Self> {
        let episode = task.episode(seed, 0)?;
        let task = Arc::new(task);
        let planner = Planner::start(task.clone());
        let u = episode.start.u.clone();
        let mut pilot = Self {
            task,
            planner,
            seed,
            episode,
            round: 0,
            n_steps: 0,
            u,
            errors: BTreeMap::new(),
            there: false,
            last: None,
            goals: Vec::new(),
        };
        pilot.begin(0)?;
        Ok(pilot)
    }

    /// Begins an episode at its start, which is in `episode` then.
    pub fn begin(&mut self, number: usize) -> Result<()> {
        self.episode = self.task.episode(self.seed, number)?;
        self.ask_anew()
    }

    /// Takes the goal of an episode, from where everything is.
    pub fn redirect(&mut self, number: usize, q: &[f64]) -> Result<()> {
        let goal = self.task.episode(self.seed, number)?.goal;
        let start = Start::new(q.to_vec(), self.u.clone());
        self.episode = Episode { number, start, goal };
        self.ask_anew()
    }

    fn ask_anew(&mut self) -> Result<()> {
        let Start { q, u, .. } = self.episode.start.clone();
        (self.n_steps, self.u, self.last) = (0, u, None);
        self.goals = GoalRecord::of_episode(&self.task, &self.episode)?;
        self.measure(&q)?;
        self.ask(Some(self.episode.clone()), q, false)
    }

    fn ask(&mut self, episode: Option<Episode>, q: Vec<f64>, is_ahead: bool) -> Result<()> {
        self.round += 1;
        self.planner.ask(Ask { round: self.round, episode, q, is_ahead })
    }

    fn measure(&mut self, q: &[f64]) -> Result<Errors> {
        self.errors = self.task.errors_by_object(&self.episode.goal, q)?;
        let largest = Errors::largest(self.errors.values().copied());
        self.there = self.task.is_small(&largest);
        Ok(largest)
    }

    /// The command of the step that starts at q, with the answer that it comes from where it begins a period; none as
    /// long as that is awaited.
    pub fn command(&mut self, q: &[f64]) -> Result<Option<(Vec<f64>, Option<Answer>)>> {
        let mut new = None;
        if self.n_steps == 0 {
            let Some(answer) = self.planner.answer(self.round)? else { return Ok(None) };
            self.u.clone_from(&answer.u);
            self.last = Some((answer.outcome.name(), answer.seconds));
            self.ask(None, q.to_vec(), true)?;
            new = Some(answer);
        }
        self.n_steps = (self.n_steps + 1) % self.task.simulator().hold();
        Ok(Some((self.u.clone(), new)))
    }

    /// Looks at where a step has ended.
    pub fn observe(&mut self, q: &[f64]) -> Result<Errors> {
        self.measure(q)
    }

    /// The names of the scalars that a task adds: those of its planning, and the errors that its goal has.
    pub fn scalars(&self) -> Vec<&'static str> {
        let Errors { position, rotation, joints, .. } = Errors::largest(self.errors.values().copied());
        let errors = [(POSITION, position), (ROTATION, rotation), (JOINTS, joints)];
        let has = errors.into_iter().filter_map(|(name, error)| error.map(|_| name));
        [COST, PLANNING].into_iter().chain(has).collect()
    }

    pub fn plan_size(&self, recording: &Recording) -> Result<PlanSize> {
        let horizon = self.task.problems(&self.episode)?.last().map_or(0, |problem| problem.horizon);
        Ok(PlanSize { n_poses: horizon + 1, bodies: PlanRecord::bodies(recording) })
    }

    /// The task's description for a page, as JSON: title, number of goals.
    pub fn description(&self) -> Value {
        json!({ "title": self.task.title, "n_goals": self.task.n_goals() })
    }

    /// The episode's state for a page, as JSON: its number, goals of bodies, errors of objects and last search.
    pub fn state(&self) -> Value {
        let (outcome, seconds) = self.last.unzip();
        // The task's own object first, as its file has them.
        let own = |name: &str| name != self.task.object();
        let mut objects: Vec<_> = self.errors.iter().collect();
        objects.sort_by_key(|(name, _)| own(name));
        let errors = objects.into_iter().map(|(name, of)| {
            json!({ "object": name, "position": of.position, "rotation": of.rotation, "joints": of.joints })
        });
        json!({
            "episode": self.episode.number,
            "goals": self.goals,
            "errors": errors.collect::<Vec<_>>(),
            "there": self.there,
            "outcome": outcome,
            "seconds": seconds,
            "period": self.task.period(),
        })
    }
}
