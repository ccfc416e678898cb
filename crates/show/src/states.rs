//! Recordings of worlds that were moved elsewhere: from their states, and from what a controller thought of them.

use candle_core::{Result, bail};

use super::cast::cast;
use super::contacts::StepContacts;
use super::observe::{Observer, vectors};
use super::plan::{COST, Expected, PLANNING, note_errors};
use super::record::scalars;
use super::recording::{Configuration, PlanRecord, Recording, StepRecord};
use super::skin::Skin;
use super::source::Source;
use fingertip_plan::mpc::task::Errors;
use fingertip_step::model::Model;
use fingertip_step::solve::Status;
use fingertip_step::step::Quasidynamic;
use fingertip_step::tensor::numbers;

/// One world over n steps, row after row.
#[derive(Clone, Copy, Debug, Default)]
pub struct States<'a> {
    /// Configurations (n + 1, nq), the first before the first step.
    pub q: &'a [f64],
    /// Their times (n + 1), s.
    pub time: &'a [f64],
    /// The command of each step (n, nu); empty if there were none.
    pub u: &'a [f64],
    /// Contact forces on B in world axes in each step (n, nc, 3), N; empty if they are not known.
    pub force: &'a [f64],
}

/// What states are shown by: a step whose model they are of.
pub struct Watched {
    step: Quasidynamic,
    observer: Observer,
    skin: Skin,
}

impl Watched {
    pub fn new(step: &Quasidynamic) -> Result<Self> {
        let model = step.model();
        let (observer, skin) = (Observer::new(model)?, Skin::new(model, step.parameters())?);
        Ok(Self { step: step.clone(), observer, skin })
    }

    /// A recording without steps that begins at q (nq).
    pub fn begin(&self, source: &Source, q: &[f64]) -> Result<Recording> {
        let mut recording = cast(source, self.step.model(), self.step.parameters())?;
        recording.start = self.configurations(q)?.remove(0);
        Ok(recording)
    }

    /// Configurations with these q (n, nq), n ≥ 1.
    fn configurations(&self, q: &[f64]) -> Result<Vec<Configuration>> {
        let model = self.step.model();
        let rows: Vec<&[f64]> = q.chunks_exact(model.nq()).collect();
        let poses = self.observer.poses(&model.tensor(&rows)?)?;
        let each = poses.len() / rows.len();
        let one =
            |(k, q): (usize, &&[f64])| Configuration { q: q.to_vec(), poses: poses[k * each..(k + 1) * each].to_vec() };
        Ok(rows.iter().enumerate().map(one).collect())
    }

    /// The steps between states whose lists have the right lengths.
    pub fn records(&self, recording: &Recording, states: &States) -> Result<Vec<StepRecord>> {
        let model = self.step.model();
        let (nu, nc) = (model.nu(), model.nc());
        let rows: Vec<&[f64]> = states.q.chunks_exact(model.nq()).collect();
        let contacts = self.step.contacts(&model.tensor(&rows)?)?;
        let (phi, normal, point) = (numbers(&contacts.phi)?, vectors(&contacts.normal)?, vectors(&contacts.point_b)?);
        let joints: Vec<usize> = model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.q).collect();
        let reach: Vec<f64> = model.pairs.windows().map(|window| window.reach).collect();
        let configurations = self.configurations(states.q)?;
        let one = |(k, [begin, end]): (usize, &[Configuration; 2])| {
            let force = |i: usize| states.force.get(3 * (k * nc + i)..3 * (k * nc + i + 1)).unwrap_or(&[0.0; 3]);
            let rest = |i: usize| [normal[k * nc + i], point[k * nc + i], [0, 1, 2].map(|axis| force(i)[axis])];
            let (contacts, gap) = StepContacts::of_all(nc, |i| reach[i], |i| phi[k * nc + i], rest);
            let u = states.u.get(k * nu..(k + 1) * nu).map(<[f64]>::to_vec);
            let mut record = StepRecord {
                time: states.time[k + 1] - states.time[0],
                u: u.unwrap_or_else(|| joints.iter().map(|&at| end.q[at]).collect()),
                end: end.clone(),
                pressed: self.skin.felt(&begin.poses, &contacts),
                contacts,
                status: Status::Solved.name().to_owned(),
                iterations: 0,
                residual: 0.0,
                seconds: 0.0,
                scalars: Default::default(),
                plan: None,
            };
            record.scalars = scalars(recording, &record, gap);
            record
        };
        Ok(configurations.array_windows().enumerate().map(one).collect())
    }
}

impl Recording {
    /// The recording of a world from its states. The gaps of contacts are those of the step's model. Without commands
    /// they are where the joints are; without forces these are zero. All steps count as solved.
    ///
    /// # Errors
    /// If a list has a wrong length, or a time is not after the one before.
    pub fn of_states(source: &Source, step: &Quasidynamic, states: States) -> Result<Self> {
        let model = step.model();
        let (nq, nu, nc) = (model.nq(), model.nu(), model.nc());
        let n = states.time.len().saturating_sub(1);
        for (name, given, expected) in [
            ("q", states.q.len(), (n + 1) * nq),
            ("u", states.u.len(), n * nu),
            ("force", states.force.len(), 3 * n * nc),
        ] {
            let is_left_out = name != "q" && given == 0;
            if given != expected && !is_left_out {
                bail!("{name}: expected {expected} numbers for {n} steps, got {given}");
            }
        }
        if !states.time.is_sorted_by(|a, b| a < b) {
            bail!("time: expected times that rise");
        }
        let watched = Watched::new(step)?;
        let mut recording = watched.begin(source, &states.q[..nq])?;
        recording.steps = watched.records(&recording, &states)?;
        Ok(recording)
    }

    /// Adds what a controller thought in control periods of `hold` steps each: how far the object was from its goal at
    /// the start of a period, and the plan, if there was one.
    ///
    /// # Errors
    /// If a plan is for another model.
    pub fn add_periods(&mut self, model: &Model, hold: usize, periods: &[(Errors, Option<Expected>)]) -> Result<()> {
        let observer = Observer::new(model)?;
        for (i, (errors, plan)) in periods.iter().enumerate() {
            let mut record = plan.as_ref().map(|plan| PlanRecord::of(self, &observer, plan)).transpose()?;
            let (cost, seconds) = plan.as_ref().map_or((f64::NAN, f64::NAN), |plan| (plan.cost, plan.seconds));
            for step in self.steps.iter_mut().skip(i * hold).take(hold) {
                let mut note = |name: &str, value: f64| {
                    if value.is_finite() {
                        step.scalars.insert(name.to_owned(), value);
                    }
                };
                note_errors(errors, &mut note);
                note(COST, cost);
                note(PLANNING, seconds);
                step.plan = record.take();
            }
        }
        Ok(())
    }

    /// The states with at most `most` steps, others evenly left out. The last step stays, and plans stay until the next
    /// one.
    pub fn thinned(&self, most: usize) -> Self {
        let (n, most) = (self.steps.len(), most.max(1));
        if n <= most {
            return self.clone();
        }
        let mut steps = Vec::with_capacity(most);
        let mut next = 0;
        for k in 1..=most {
            let end = k * n / most;
            let plan = self.steps[next..end].iter().rev().find_map(|step| step.plan.clone());
            steps.push(StepRecord { plan, ..self.steps[end - 1].clone() });
            next = end;
        }
        Self { steps, ..self.clone() }
    }
}
