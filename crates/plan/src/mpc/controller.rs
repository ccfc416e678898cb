//! Model-predictive control: each period shifts the previous plan, improves it, and gives its first command.

use std::time::{Duration, Instant};

use candle_core::Result;

use fingertip_shapes::largest::{USABLE, larger};

use super::estimate::{Estimate, Estimator};
use super::filter::Filter;
use super::ilqr::Ilqr;
use super::outcome::{Clock, Outcome, Plan};
use super::problem::Problem;
use super::sampling::{Deviates, Sampler, Sampling};
use super::shooting::shoot;
use super::simulator::{Joint, Simulator};
use super::start::Start;
use super::trust::{Region, Trust};
use super::under_way::UnderWay;
use fingertip_step::step::SparseRows;

/// The method that improves plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Differential dynamic programming with bounded commands: [`Ilqr`].
    Ilqr,
    /// Sampling: model-predictive path integrals (MPPI).
    Mppi,
    /// Sampling: the cross-entropy method (CEM).
    Cem,
    /// Single shooting by L-BFGS: [`shoot`].
    Lbfgs,
    /// A sequence of quadratic programs: [`Trust`] with [`Region::Box`].
    Sqp,
    /// The relaxed contact trust region: [`Trust`] with [`Region::Dual`].
    Rctr,
    /// The contact trust region: [`Trust`] with [`Region::Both`].
    Ctr,
    /// [`Method::Ilqr`], preceded by sampling if there is no gradient or no progress.
    Hybrid,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 8] =
        [Self::Ilqr, Self::Hybrid, Self::Mppi, Self::Cem, Self::Lbfgs, Self::Sqp, Self::Rctr, Self::Ctr];

    /// The name in task files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ilqr => "ilqr",
            Self::Mppi => "mppi",
            Self::Cem => "cem",
            Self::Lbfgs => "lbfgs",
            Self::Sqp => "sqp",
            Self::Rctr => "rctr",
            Self::Ctr => "ctr",
            Self::Hybrid => "hybrid",
        }
    }
}

/// The settings of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The method that improves plans.
    pub method: Method,
    /// When the method stops.
    pub ilqr: Ilqr,
    /// The options of sampling.
    pub sampling: Sampling,
    /// Seed of the samples.
    pub seed: u64,
    /// The most iterations where a time limit is given; as many of them are made as fit into it. At least
    /// `ilqr.iterations`.
    pub most_iterations: usize,
    /// Time from a measurement until the command that answers it takes effect, s. It is rounded to whole steps of the
    /// model.
    pub latency: f64,
    /// The time for which objects go on with their measured velocity, s: a plan begins where that brings them. Without
    /// a measured velocity they stay.
    pub lead: f64,
    /// Standard deviations of the measured coordinates of objects, m and rad, if plans are to begin from a mixture of
    /// what is measured and what was expected.
    pub noise: Option<[f64; 2]>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::Ilqr,
            ilqr: Ilqr { iterations: 3, tolerance: 1e-6, ..Ilqr::default() },
            sampling: Sampling::default(),
            seed: 0,
            most_iterations: 3,
            latency: 0.0,
            lead: 0.0,
            noise: None,
        }
    }
}

/// The measurement at the start of a control period: state, velocity, commands under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The state (nq). Numbers that were not measured are NaN.
    pub q: Vec<f64>,
    /// The velocity (nv), m/s and rad/s, if it is measured: see [`Settings::lead`].
    pub velocity: Option<Vec<f64>>,
    /// Time from this measurement until the command that answers it takes effect, s, instead of [`Settings::latency`].
    pub latency: Option<f64>,
    /// The command (nu) that was in effect at the end of the period before, if it was another than the one given.
    pub applied: Option<Vec<f64>>,
}

/// A command, and how it was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The command for the coming period (nu), rad or m.
    pub u: Vec<f64>,
    /// v of the period (nu).
    pub v: Vec<f64>,
    /// The state that was planned from (nq): the measured one, advanced to when the command takes effect.
    pub from: Vec<f64>,
    /// The reason for which the search ended.
    pub outcome: Outcome,
    /// The plan; none if there was no time or no state to roll it out.
    pub plan: Option<Plan>,
    /// Time that the command took to find, s.
    pub seconds: f64,
}

/// A receding horizon for one problem, or for the same problem with a schedule of rising κ.
#[derive(Clone, Debug)]
pub struct Controller {
    problems: Vec<Problem>,
    settings: Settings,
    /// The decisions v (T, nu) for the coming periods.
    plan: Vec<f64>,
    /// The commands (·, nu) that the last plan has left for them.
    rest: Vec<f64>,
    under_way: UnderWay,
    learning: Option<Learning>,
    filter: Option<Filter>,
    /// The forces that the plan expects in the first steps of the coming periods, as in [`Start::warm`], in each world.
    warm: Vec<SparseRows>,
    deviates: Deviates,
    /// The shortest time in which a plan can be rolled out and linearised.
    least: Duration,
}

/// What a controller carries from one command to the next, as plain numbers: its plan and the commands given. What is
/// estimated, filtered and drawn is not among it.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// The decisions v (T, nu) for the coming periods.
    pub plan: Vec<f64>,
    /// The commands (·, nu) that the last plan has left for them.
    pub rest: Vec<f64>,
    /// The forces that the plan expects, in each world.
    pub warm: Vec<SparseRows>,
    /// The commands (nu) that were given, the newest last.
    pub given: Vec<Vec<f64>>,
}

/// On-line estimation of the plant's parameters by a controller.
#[derive(Clone, Debug)]
struct Learning {
    estimator: Estimator,
    /// The problems' models as they are believed without it.
    believed: Vec<Simulator>,
    /// The state measured at the start of the period before, if it was.
    before: Option<Vec<f64>>,
}

/// The fractions of the shifted plan that are tried first.
const GUESSES: [f64; 4] = [1.0, 0.7, 0.4, 0.0];
/// How much of the shortest time of a plan is believed each time that it forbids one.
const BELIEVED: f64 = 0.9;
/// Joints with almost no range are taken to have this one, m or rad, where a measurement is doubted: springs give way.
const LEAST_RANGE: f64 = 0.05;
/// If the purpose's cost falls by less than this share over a horizon, the hybrid samples.
const NO_WAY: f64 = 0.02;

impl Controller {
    /// A controller before its first command. The problems differ only in κ; the plan of the last one counts. One
    /// roll-out is made to measure how long it takes.
    ///
    /// # Errors
    /// If there is no problem, or the start does not fit one of them.
    pub fn new(problems: Vec<Problem>, start: &Start, settings: Settings) -> Result<Self> {
        let Some(problem) = problems.last() else { candle_core::bail!("controller: expected at least one problem") };
        let plan = vec![0.0; problem.horizon * problem.nu()];
        let mut least = Duration::MAX;
        for _ in 0..2 {
            let begin = Instant::now();
            let along = problem.roll_given(start, std::slice::from_ref(&plan))?;
            along.iter().try_for_each(|along| problem.expand(start, along, false).map(|_| ()))?;
            least = least.min(begin.elapsed());
        }
        let deviates = Deviates::new(settings.seed, 0);
        let under_way = UnderWay::new(&start.u);
        let (rest, warm, learning) = (Vec::new(), Vec::new(), None);
        let filter = settings.noise.map(|noise| Filter::new(&problem.simulator, noise)).transpose()?;
        problem.simulator.steps_of(settings.latency)?;
        Ok(Self { plan, rest, under_way, learning, filter, warm, deviates, least, settings, problems })
    }

    /// Other problems from now on: another goal, or other parameters of the model. The plan so far stays and is
    /// improved.
    ///
    /// # Errors
    /// If there are more or fewer of them than before, or their numbers of joints or horizons differ.
    pub fn set_problems(&mut self, problems: Vec<Problem>) -> Result<()> {
        let sizes = |of: &[Problem]| of.iter().map(|problem| (problem.nu(), problem.horizon)).collect::<Vec<_>>();
        let (before, now) = (sizes(&self.problems), sizes(&problems));
        if before != now {
            candle_core::bail!("controller: expected problems with (joints, horizon) {before:?}, got {now:?}");
        }
        self.problems = problems;
        match self.learning.take() {
            Some(Learning { estimator, before, .. }) => self.learn_from(estimator, before),
            None => Ok(()),
        }
    }

    /// What is carried from one command to the next.
    pub fn carried(&self) -> Carried {
        let given = self.under_way.given().map(<[f64]>::to_vec).collect();
        Carried { plan: self.plan.clone(), rest: self.rest.clone(), warm: self.warm.clone(), given }
    }

    /// Goes on from what another controller of the same problem has carried.
    ///
    /// # Errors
    /// If a list has a length that is not this problem's.
    pub fn carry(&mut self, carried: Carried) -> Result<()> {
        let Carried { plan, rest, warm, given } = carried;
        let (n, nu, n_warm) = (self.plan.len(), self.u_before().len(), self.problem().simulator.step().n_warm());
        let fits = plan.len() == n
            && rest.len() <= n
            && rest.len().is_multiple_of(nu)
            && warm.iter().all(|one| one.is_empty() || one.width() == n_warm)
            && given.iter().all(|u| u.len() == nu);
        let (true, Some(under_way)) = (fits, UnderWay::of(given)) else {
            candle_core::bail!("controller: expected a plan of {n} numbers and commands of {nu}, got others");
        };
        (self.plan, self.rest, self.warm, self.under_way) = (plan, rest, warm, under_way);
        Ok(())
    }

    /// Another method from now on.
    pub fn set_method(&mut self, method: Method) {
        self.settings.method = method;
    }

    /// Estimates what the plant is like from now on, and plans with that.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn estimate(&mut self, estimator: Estimator) -> Result<()> {
        self.learn_from(estimator, None)
    }

    /// The estimates of the plant's parameters so far; empty if none are estimated.
    pub fn estimates(&self) -> Vec<Estimate> {
        self.learning.as_ref().map(|learning| learning.estimator.estimates()).unwrap_or_default()
    }

    fn learn_from(&mut self, estimator: Estimator, before: Option<Vec<f64>>) -> Result<()> {
        let believed = self.problems.iter().map(|problem| problem.simulator.clone()).collect();
        let learning = Learning { estimator, believed, before };
        learning.plan_with(&mut self.problems)?;
        self.learning = Some(learning);
        Ok(())
    }

    /// Learns from the period that ends now with the state q, or without one.
    fn learn(&mut self, q: Option<&[f64]>, latency: usize) -> Result<()> {
        let hold = self.problem().simulator.hold();
        let Some(learning) = &mut self.learning else { return Ok(()) };
        let Learning { estimator, believed, before } = learning;
        if let (Some(before), Some(q), Some(believed)) = (&before, q, believed.last()) {
            estimator.learn(believed, before, &self.under_way.during(latency, hold), q)?;
        }
        *before = q.map(<[f64]>::to_vec);
        if learning.estimator.is_news() { learning.plan_with(&mut self.problems) } else { Ok(()) }
    }

    /// The problem whose plan counts.
    pub fn problem(&self) -> &Problem {
        &self.problems[self.problems.len() - 1]
    }

    /// The previous command (nu).
    pub fn u_before(&self) -> &[f64] {
        self.under_way.newest()
    }

    /// The command for the coming period at the measured state q (nq), within the time `limit` if one is given. See
    /// [`Controller::answer`].
    ///
    /// # Errors
    /// If q does not have nq numbers.
    pub fn command(&mut self, q: &[f64], limit: Option<Duration>) -> Result<Answer> {
        self.answer(&Measured { q: q.to_vec(), ..Measured::default() }, limit)
    }

    /// The command for the coming period, within the time `limit` if one is given. With latency the measured state is
    /// first advanced, by the model and under the commands still under way, to where it will be when the command takes
    /// effect.
    ///
    /// The rest of the last plan is followed, and then its last command held, if q has numbers that are not finite, or
    /// a joint farther beyond a limit than its limits are apart; if all of q is NaN, which says that nothing was
    /// measured; and if the time is less than one roll-out with its linearisation takes. That is measured at first, and
    /// whenever a plan takes longer than its limit; it is believed a tenth less each time that it forbids a plan.
    ///
    /// # Errors
    /// If q, the velocity or the applied command has a wrong length or the latter two a number that is not finite, or
    /// if the latency is negative or longer than 32 control periods.
    pub fn answer(&mut self, measured: &Measured, limit: Option<Duration>) -> Result<Answer> {
        let mut clock = Clock::new(limit);
        let latency = self.problem().simulator.steps_of(measured.latency.unwrap_or(self.settings.latency))?;
        self.check(measured)?;
        if let Some(u) = &measured.applied {
            self.under_way.correct(latency, self.problem().simulator.hold(), u);
        }
        let nu = self.u_before().len();
        let is_short = limit.is_some_and(|limit| limit < self.least);
        let unusable = self.doubt(&measured.q);
        self.learn(unusable.is_none().then_some(&measured.q), latency)?;
        let doubt = unusable.or(is_short.then_some(Outcome::Deadline));
        let (plan, v, u, from) = if let Some(outcome) = doubt {
            // It was measured once, in a moment that may have been busy.
            if outcome == Outcome::Deadline {
                self.least = self.least.mul_f64(BELIEVED);
            }
            self.filter.iter_mut().for_each(Filter::forget);
            let u = if self.rest.is_empty() { self.u_before().to_vec() } else { self.rest[..nu].to_vec() };
            (Err(outcome), self.plan[..nu].to_vec(), u, measured.q.clone())
        } else {
            let start = self.start(measured, latency)?;
            self.problems.iter_mut().for_each(|problem| problem.objective.begin_at(&start.q));
            let plan = self.improve(&start, &mut clock)?;
            if clock.left().is_some_and(|left| left.is_zero()) {
                self.least = Duration::from_secs_f64(clock.seconds());
            }
            let (v, u) = (plan.best.v[..nu].to_vec(), plan.best.u[..nu].to_vec());
            self.plan.clone_from(&plan.best.v);
            self.rest.clone_from(&plan.best.u);
            let simulator = &self.problem().simulator;
            let hold = simulator.hold();
            self.warm = plan.best.worlds().map(|world| world.warm(1, hold)).collect();
            (Ok(plan), v, u, start.q)
        };
        self.plan.drain(..nu);
        self.plan.extend(std::iter::repeat_n(0.0, nu));
        self.rest.drain(..nu.min(self.rest.len()));
        self.under_way.give(&u);
        let outcome = plan.as_ref().map_or_else(|outcome| *outcome, |plan| plan.outcome);
        Ok(Answer { u, v, from, outcome, plan: plan.ok(), seconds: clock.seconds() })
    }

    fn check(&self, measured: &Measured) -> Result<()> {
        self.problem().check(&Start::new(measured.q.clone(), self.u_before().to_vec()))?;
        let nv = self.problem().simulator.model().nv();
        for (name, given, n) in
            [("velocity", &measured.velocity, nv), ("applied command", &measured.applied, self.u_before().len())]
        {
            if let Some(given) = given.as_ref().filter(|given| given.len() != n || !given.iter().all(|x| x.is_finite()))
            {
                candle_core::bail!("{name}: expected {n} finite numbers, got {given:?}");
            }
        }
        Ok(())
    }

    /// The start of a plan in each world: where the measured state will be when the command takes effect.
    fn start(&mut self, measured: &Measured, latency: usize) -> Result<Start> {
        let mut q = measured.q.clone();
        if let Some(learning) = &self.learning {
            q = learning.estimator.corrected(&self.problem().simulator, &q)?;
        }
        if let (Some(filter), Some(problem)) = (&mut self.filter, self.problems.last()) {
            let simulator = &problem.simulator;
            q = filter.filtered(simulator, &self.under_way.during(latency, simulator.hold()), &q)?;
        }
        let simulator = &self.problem().simulator;
        if let Some(velocity) = measured.velocity.as_ref().filter(|_| self.settings.lead > 0.0) {
            let mut motion: Vec<f64> = velocity.iter().map(|v| self.settings.lead * v).collect();
            simulator.joints().iter().for_each(|joint| motion[joint.v] = 0.0);
            q = simulator.plus(&q, &motion)?;
        }
        let of = |world: usize, q: Vec<f64>| {
            let warm = self.warm.get(world).cloned().unwrap_or_default();
            Start { q, u: self.u_before().to_vec(), warm, others: Vec::new() }
        };
        let mut others = Vec::new();
        if let Some(robust) = &self.problem().robust {
            for (other, (simulator, variation)) in robust.simulators().iter().zip(robust.variations()).enumerate() {
                let moved = robust.moved(simulator, variation, &q)?;
                let latency = simulator.steps_beside(latency, variation.latency);
                others.push(of(other + 1, self.ahead(simulator, moved, latency)?));
            }
        }
        Ok(Start { others, ..of(0, self.ahead(simulator, q, latency)?) })
    }

    /// The state after so many steps of a model under the commands still under way.
    fn ahead(&self, simulator: &Simulator, mut q: Vec<f64>, latency: usize) -> Result<Vec<f64>> {
        let mut warm = SparseRows::default();
        for (u, steps) in self.under_way.ahead(latency, simulator.hold()) {
            let held = simulator.step().hold(&q, u, Some(&warm), steps)?;
            q = held.q[held.q.len() - q.len()..].to_vec();
            warm = held.warm.last();
        }
        Ok(q)
    }

    /// The reason why a state cannot be planned from, if there is one.
    fn doubt(&self, q: &[f64]) -> Option<Outcome> {
        let is_far = |joint: &Joint| {
            let range = larger(joint.upper - joint.lower, LEAST_RANGE);
            q[joint.q] < joint.lower - range || q[joint.q] > joint.upper + range
        };
        if q.iter().all(|x| x.is_nan()) {
            return Some(Outcome::Silent);
        }
        let is_usable = q.iter().all(|x| x.is_finite() && x.abs() <= USABLE);
        (!is_usable || self.problem().simulator.joints().iter().any(is_far)).then_some(Outcome::BadInput)
    }

    /// The shifted plan, fractions of it, and no change, side by side in one SIMD group.
    fn guesses(&self) -> Vec<Vec<f64>> {
        GUESSES.iter().map(|share| self.plan.iter().map(|v| share * v).collect()).collect()
    }

    /// Solves from the softest problem to the hardest. Each starts from the best of some guesses and the softer
    /// problem's plan.
    fn improve(&mut self, start: &Start, clock: &mut Clock) -> Result<Plan> {
        let mut from = self.guesses();
        let mut last = None;
        for k in 0..self.problems.len() {
            // The hardest problem has to have its turn.
            let is_last = k + 1 == self.problems.len();
            if !is_last && clock.is_late() {
                continue;
            }
            let plan = self.solve(k, start, &from, clock)?;
            from.push(plan.best.v.clone());
            last = Some(plan);
        }
        last.ok_or_else(|| candle_core::Error::msg("controller: expected at least one problem"))
    }

    fn solve(&mut self, k: usize, start: &Start, from: &[Vec<f64>], clock: &mut Clock) -> Result<Plan> {
        let Self { problems, settings: Settings { method, ilqr, sampling, most_iterations, .. }, deviates, .. } = self;
        let problem = &problems[k];
        let most = if clock.left().is_some() { ilqr.iterations.max(*most_iterations) } else { ilqr.iterations };
        let ilqr = &Ilqr { iterations: most, ..*ilqr };
        match method {
            Method::Ilqr => ilqr.solve(problem, start, from, clock),
            Method::Mppi => sampling.solve(Sampler::Mppi, problem, start, &from[0], deviates, clock),
            Method::Cem => sampling.solve(Sampler::Cem, problem, start, &from[0], deviates, clock),
            Method::Lbfgs => shoot(ilqr, problem, start, from, clock),
            Method::Sqp => trust(Region::Box, *ilqr).solve(problem, start, from, clock),
            Method::Rctr => trust(Region::Dual, *ilqr).solve(problem, start, from, clock),
            Method::Ctr => trust(Region::Both, *ilqr).solve(problem, start, from, clock),
            Method::Hybrid => {
                let plan = ilqr.solve(problem, start, from, clock)?;
                let nq = start.q.len();
                let at = |q: &[f64]| problem.objective.state(q, true, true);
                let (now, then) = (at(&start.q)?, at(&plan.best.q[problem.horizon * nq..])?);
                let makes_way = then < (1.0 - NO_WAY) * now || now <= ilqr.small;
                if (makes_way && plan.outcome != Outcome::NoGradient) || clock.is_late() {
                    return Ok(plan);
                }
                let sampled = sampling.solve(Sampler::Mppi, problem, start, &plan.best.v, deviates, clock)?;
                let again = ilqr.solve(problem, start, &[sampled.best.v], clock)?;
                Ok(if again.best.is_better_than(&plan.best) { again } else { plan })
            }
        }
    }
}

impl Learning {
    /// Gives the problems the models to plan with.
    fn plan_with(&self, problems: &mut [Problem]) -> Result<()> {
        for (problem, believed) in problems.iter_mut().zip(&self.believed) {
            *problem = problem.with_simulator(self.estimator.planned(believed)?)?;
        }
        Ok(())
    }
}

fn trust(region: Region, until: Ilqr) -> Trust {
    Trust { region, radius: RADIUS, near: NEAR, until }
}

/// First radius of trust regions, as a share of the bounds, and the largest slack of contacts that bound them, m.
const RADIUS: f64 = 0.5;
const NEAR: f64 = 0.03;
