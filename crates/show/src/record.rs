//! Rolls out one world and records it.

use std::collections::BTreeMap;
use std::time::Instant;

use candle_core::{Result, Tensor};

use super::cast::cast;
use super::contacts::{ContactRecord, StepContacts};
use super::energy::energy;
use super::observe::Observer;
use super::plan::{self, COST, Expected, PLANNING};
use super::recording::{PlanRecord, Recording, StepRecord};
use super::skin::Skin;
use super::source::Source;
use super::unrest::ENERGY;
use fingertip_plan::mpc::Answer;
use fingertip_plan::mpc::task::Errors;
use fingertip_step::contact::Contacts;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::solve::Report;
use fingertip_step::step::{DynamicStep, Quasidynamic, Step, Walk, Walked};
use fingertip_step::tensor::numbers;

/// Rolls out `n_steps` steps from home. `control` gives the command (nu numbers) of the step that starts at a time (s).
/// `after` is called with the recording before the first step and after each step.
///
/// Each step starts at the end of the previous step, and its solve starts from the previous forces.
///
/// # Errors
/// If a command does not have nu numbers, or `after` returns an error.
pub fn record(
    source: &Source,
    step: &Quasidynamic,
    n_steps: usize,
    control: impl Fn(usize, f64) -> Vec<f64>,
    mut after: impl FnMut(&Recording) -> Result<()>,
) -> Result<Recording> {
    let mut recorder = Recorder::new(source, step)?;
    after(&recorder.recording)?;
    for k in 0..n_steps {
        let u = control(k, k as f64 * recorder.recording.params.h);
        let record = recorder.step(step, u)?;
        recorder.recording.steps.push(record);
        after(&recorder.recording)?;
    }
    Ok(recorder.recording)
}

/// Steps a world and records what happens.
#[derive(Debug)]
pub struct Recorder {
    /// Everything but the steps, unless the caller adds them.
    pub recording: Recording,
    observer: Observer,
    skin: Skin,
    /// How far each contact reaches, m.
    reach: Vec<f64>,
    /// The present configuration of the world (1, nq).
    q: Tensor,
    /// The poses of the world's bodies at the present configuration.
    poses: Vec<[f64; 7]>,
    /// The forces that the next step starts from, where the world is not stepped in place.
    warm: Option<Tensor>,
    walk: Option<Walk>,
    /// Simulated time, s.
    time: f64,
    n_steps: usize,
    /// Numbers that each step is given from now on.
    notes: BTreeMap<String, f64>,
    /// The controller's plan that the next step is to carry.
    plan: Option<PlanRecord>,
}

impl Recorder {
    /// A world at home.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn new(source: &Source, step: &Quasidynamic) -> Result<Self> {
        Self::of_model(source, step.model(), step.parameters())
    }

    /// A recorder for a world that is stepped elsewhere, for example by [`fingertip_step::step::Dynamic`].
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn of_model(source: &Source, model: &Model, parameters: &Parameters) -> Result<Self> {
        let observer = Observer::new(model)?;
        let mut recording = cast(source, model, parameters)?;
        let q = model.home(1)?;
        recording.start = observer.configuration(&q)?;
        let poses = recording.start.poses.clone();
        Ok(Self {
            recording,
            observer,
            skin: Skin::new(model, parameters)?,
            reach: model.pairs.windows().map(|window| window.reach).collect(),
            q,
            poses,
            warm: None,
            walk: None,
            time: 0.0,
            n_steps: 0,
            notes: BTreeMap::new(),
            plan: None,
        })
    }

    /// A recording without steps that starts where the world is, with the h, κ and friction of these parameters.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn from_here(&self, model: &Model, parameters: &Parameters) -> Result<Recording> {
        let mut recording = Recording { steps: Vec::new(), ..self.recording.clone() };
        recording.start = self.observer.configuration(&self.q)?;
        (recording.params.h, recording.params.kappa) = (numbers(&parameters.h)?[0], numbers(&parameters.kappa)?[0]);
        let mu = numbers(&parameters.mu)?;
        for (contact, &pair) in recording.contacts.iter_mut().zip(&model.pairs.pair_of_contact) {
            contact.mu = mu[pair];
        }
        Ok(recording)
    }

    /// The configuration of the world (1, nq).
    pub fn q(&self) -> &Tensor {
        &self.q
    }

    /// The simulated time so far, s.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Moves a world that has not been stepped yet to q (1, nq).
    ///
    /// # Errors
    /// If q has a wrong shape.
    pub fn put(&mut self, q: &Tensor) -> Result<()> {
        self.recording.start = self.observer.configuration(q)?;
        (self.q, self.poses) = (q.clone(), self.recording.start.poses.clone());
        self.forget();
        Ok(())
    }

    /// Moves the world home and restarts the time.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn reset(&mut self, model: &Model) -> Result<()> {
        (self.q, self.time, self.n_steps) = (model.home(1)?, 0.0, 0);
        self.poses = self.observer.poses(&self.q)?;
        self.forget();
        (self.notes, self.plan) = (BTreeMap::new(), None);
        Ok(())
    }

    /// Has the next step's solve start cold.
    fn forget(&mut self) {
        self.warm = None;
        if let Some(walk) = &mut self.walk {
            walk.forget();
        }
    }

    /// Adds a number by its name to the scalars of all steps from now on. A number that is not finite removes the name.
    pub fn note(&mut self, name: &str, value: f64) {
        self.notes.remove(name);
        if value.is_finite() {
            self.notes.insert(name.to_owned(), value);
        }
    }

    /// Adds how far an object is from its goal to the scalars of all steps from now on: `"position error"`, m, and
    /// `"rotation error"`, rad, and `"joint error"`, rad or m; free parts are left out.
    pub fn note_errors(&mut self, errors: &Errors) {
        plan::note_errors(errors, |name, error| self.note(name, error));
    }

    /// Attaches the plan of a controller's answer to the next step. From then on, the scalar `"cost"` is its cost and
    /// `"planning time"` its computing time, s. An answer without a plan changes nothing.
    ///
    /// # Errors
    /// If the plan is for another model.
    pub fn plan(&mut self, answer: &Answer) -> Result<()> {
        let Some(plan) = &answer.plan else { return Ok(()) };
        let (cost, seconds) = (plan.best.cost, answer.seconds);
        self.note(COST, cost);
        self.note(PLANNING, seconds);
        let (outcome, iterations) = (plan.outcome.name(), plan.iterations);
        let expected = Expected { q: &plan.best.q, cost, outcome, iterations, seconds };
        self.plan = Some(PlanRecord::of(&self.recording, &self.observer, &expected)?);
        Ok(())
    }

    /// One step under the command `u` (nu numbers). Each call may use another step of the same scene.
    ///
    /// # Errors
    /// If the command does not have nu numbers.
    pub fn step(&mut self, step: &Quasidynamic, u: Vec<f64>) -> Result<StepRecord> {
        let h = numbers(&step.parameters().h)?[0];
        let q = numbers(&self.q)?;
        let begin = Instant::now();
        let next = self.advance(step, &q, &u)?;
        let seconds = begin.elapsed().as_secs_f64();
        self.n_steps += 1;
        // A multiple, as long as the step stays what it was.
        let regular = self.n_steps as f64 * h;
        let time = self.time + h;
        self.time = if (regular - time).abs() < 1e-6 * h { regular } else { time };
        let within = next.within.iter().copied();
        let energy = energy(step.model(), step.parameters(), &self.poses, &q, &u, within)?;
        let mut record = self.write_down(u, &next, seconds)?;
        record.scalars.extend(energy.map(|energy| (ENERGY.to_owned(), energy)));
        record.plan = self.plan.take();
        (self.q, self.poses) = (next.q, record.end.poses.clone());
        Ok(record)
    }

    /// The next step from q under the command u: in place, where that can be.
    fn advance(&mut self, step: &Quasidynamic, q: &[f64], u: &[f64]) -> Result<Next> {
        if !self.walk.as_ref().is_some_and(|walk| walk.is_of(step)) {
            self.walk = step.walk();
        }
        let model = step.model();
        if let Some(walk) = &mut self.walk {
            let Walked { q_next, contacts, gap, report } = walk.step(step, q, u)?;
            return Ok(Next {
                q: model.tensor(&[&q_next])?,
                contacts: StepContacts::of_walk(model.nc(), &contacts),
                within: contacts.iter().map(|near| (near.contact, near.phi, near.share)).collect(),
                gap,
                report,
            });
        }
        let result = step.step_from(&self.q, &model.tensor(&[u])?, self.warm.as_ref())?;
        let next = self.read(&StepResult::from(&result))?;
        self.warm = Some(result.warm);
        Ok(next)
    }

    /// What a record needs of a step that was computed elsewhere.
    fn read(&self, &StepResult { q_next, contacts, force, report }: &StepResult) -> Result<Next> {
        let (taking_part, gap) = StepContacts::of_step(contacts, force, &self.reach)?;
        let weight = contacts.weight.as_ref().map(numbers).transpose()?;
        let share = |contact: usize| weight.as_ref().map_or(1.0, |weight| weight[contact]);
        let within = taking_part.iter().map(|one| (one.contact, one.phi, share(one.contact))).collect();
        Ok(Next { q: q_next.clone(), contacts: taking_part, within, gap, report: *report })
    }

    /// Records the result of a step of this one world that was computed elsewhere with the recording's h. `u` are the
    /// commanded positions (nu numbers), if there were any.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn follow<'a>(&mut self, next: impl Into<StepResult<'a>>, u: Vec<f64>) -> Result<StepRecord> {
        let next = self.read(&next.into())?;
        self.n_steps += 1;
        self.time = self.n_steps as f64 * self.recording.params.h;
        let record = self.write_down(u, &next, 0.0)?;
        (self.q, self.poses) = (next.q, record.end.poses.clone());
        Ok(record)
    }

    fn write_down(&self, u: Vec<f64>, next: &Next, seconds: f64) -> Result<StepRecord> {
        let Next { q, contacts, gap, report, .. } = next;
        let mut record = StepRecord {
            time: self.time,
            u,
            end: self.observer.configuration(q)?,
            contacts: contacts.clone(),
            pressed: self.skin.felt(&self.poses, contacts),
            status: report.status.name().to_owned(),
            iterations: report.iterations,
            residual: report.residual,
            seconds,
            scalars: self.notes.clone(),
            plan: None,
        };
        record.scalars.extend(scalars(&self.recording, &record, *gap));
        Ok(record)
    }
}

/// What a record needs of a step of one world.
struct Next {
    /// q₊ (1, nq).
    q: Tensor,
    contacts: StepContacts,
    /// The contacts that take part: their indices, φ, and their parts of their pairs' barriers.
    within: Vec<(usize, f64, f64)>,
    /// The least distance of all contacts, m.
    gap: Option<f64>,
    report: Report,
}

/// The results of a step of one world that a recorder needs, borrowed from a [`Step`] or a [`DynamicStep`].
#[derive(Clone, Copy, Debug)]
pub struct StepResult<'a> {
    q_next: &'a Tensor,
    contacts: &'a Contacts,
    force: &'a Tensor,
    report: &'a Report,
}

impl<'a> From<&'a Step> for StepResult<'a> {
    fn from(step: &'a Step) -> Self {
        Self { q_next: &step.q_next, contacts: &step.contacts, force: &step.force, report: &step.reports[0] }
    }
}

impl<'a> From<&'a DynamicStep> for StepResult<'a> {
    fn from(step: &'a DynamicStep) -> Self {
        Self { q_next: &step.q_next, contacts: &step.contacts, force: &step.force, report: &step.reports[0] }
    }
}

/// The scalars that are usually plotted first, given the least distance of all contacts, m.
pub(super) fn scalars(recording: &Recording, step: &StepRecord, gap: Option<f64>) -> BTreeMap<String, f64> {
    let mut scalars = BTreeMap::new();
    if let Some(gap) = gap {
        scalars.insert("gap".to_owned(), gap);
    }
    let mut sums = vec![[0.0; 3]; recording.bodies.len()];
    for ContactRecord { contact, force, .. } in &step.contacts {
        let pair = &recording.contacts[*contact];
        for (body, sign) in [(pair.a, -1.0), (pair.b, 1.0)] {
            recording.chain(body).for_each(|at| (0..3).for_each(|k| sums[at][k] += sign * force[k]));
        }
    }
    for object in &recording.objects {
        let size = sums[object.body].iter().map(|f| f * f).sum::<f64>().sqrt();
        scalars.insert(format!("force on {}", object.name), size);
    }
    scalars
}
