//! The smoother: one period after the other.

use candle_core::Result;
use nalgebra::DMatrix;

use fingertip_shapes::Error;

use super::Options;
use super::chain::Chain;
use super::window::{Period, Prior, Terms};
use crate::fit::Net;
use crate::mpc::Simulator;

/// Damping of a step where one without it gains nothing, as a part of H's diagonal, and by how much it grows.
const DAMPING: [f64; 2] = [1e-3, 30.0];
/// Times that it grows, at most.
const TRIES: usize = 5;
/// A step that gains less than this part of the cost, or less than this, ends the search.
const LITTLE: f64 = 1e-3;

/// An estimate of where everything is, by what a hand feels: a smoother over a window of periods, see the
/// [module](super).
#[derive(Clone, Debug)]
pub struct Smoother {
    simulator: Simulator,
    terms: Terms,
    options: Options,
    periods: Vec<Period>,
    /// The forces that were measured at the first state (n, 3).
    before: Vec<f64>,
    /// States (n + 1) × (nq).
    x: Vec<Vec<f64>>,
    prior: Prior,
    covariance: DMatrix<f64>,
    iterations: usize,
}

impl Smoother {
    /// Of a scene's step, `hold` of which are a period. `forces` are net contact forces that are measured: on a body,
    /// or on all of a robot or an object; by everything, or by a second one alone. It begins at home.
    ///
    /// # Errors
    /// If a name is not known, or an option is not possible.
    pub fn new(simulator: &Simulator, forces: &[(&str, Option<&str>)], options: &Options) -> Result<Self> {
        options.check()?;
        let model = simulator.model();
        let nets =
            forces.iter().map(|&(on, by)| Net::new(model, "force", on, by)).collect::<fingertip_shapes::Result<_>>()?;
        let terms = Terms::new(simulator, nets, options);
        let home = model.tree.home();
        let prior = terms.prior(model, &home);
        let mut own = Self {
            terms,
            options: options.clone(),
            periods: Vec::new(),
            before: Vec::new(),
            x: vec![home.clone()],
            prior,
            covariance: DMatrix::zeros(0, 0),
            iterations: 0,
            simulator: simulator.clone(),
        };
        own.reset(&home)?;
        Ok(own)
    }

    /// Begins anew at q (nq), as it was seen: objects to the deviations `start`.
    ///
    /// # Errors
    /// If q has another length or is not finite.
    pub fn reset(&mut self, q: &[f64]) -> Result<()> {
        let n = self.simulator.model().nq();
        if q.len() != n || q.iter().any(|x| !x.is_finite()) {
            return Err(
                Error::invalid("q", format!("expected {n} finite numbers, got {}", said(q, f64::is_finite))).into()
            );
        }
        let q = self.with_measured(&self.simulator.model().tree.home(), q);
        self.prior = self.terms.prior(self.simulator.model(), &q);
        self.before = vec![f64::NAN; 3 * self.terms.nets.len()];
        (self.periods, self.x, self.iterations) = (Vec::new(), vec![q], 0);
        let variance = self.prior.information.diagonal().map(f64::recip);
        self.covariance = DMatrix::from_diagonal(&variance);
        Ok(())
    }

    /// After a command u (nu) has been held for a period: q as it is measured now (nq), and the net forces (n, 3), N,
    /// in world axes. What is not measured is NaN; poses of objects as a rule. The result is [`Smoother::q`] and
    /// [`Smoother::covariance`].
    ///
    /// # Errors
    /// If a length is wrong, a command is not finite, or a measurement is infinite.
    pub fn step(&mut self, u: &[f64], q: &[f64], forces: &[f64]) -> Result<()> {
        let model = self.simulator.model();
        if u.len() != model.nu() || u.iter().any(|x| !x.is_finite()) {
            let message = format!("expected {} finite numbers, got {}", model.nu(), said(u, f64::is_finite));
            return Err(Error::invalid("u", message).into());
        }
        let lengths = [("q", q, model.nq()), ("forces", forces, 3 * self.terms.nets.len())];
        for (place, got, n) in lengths {
            if got.len() != n || got.iter().any(|x| x.is_infinite()) {
                let got = said(got, |x| !x.is_infinite());
                let message = format!("expected {n} finite numbers, or NaN for what is not measured, got {got}");
                return Err(Error::invalid(place, message).into());
            }
        }
        let now = self.terms.predicted(&self.simulator, self.q(), u)?;
        self.x.push(self.terms.with_measured(model, &now, q));
        self.periods.push(Period { u: u.to_vec(), measured: q.to_vec(), force: forces.to_vec() });
        let (all, first) = self.search()?;
        if let Some(last) = all.last() {
            self.covariance = last.covariance;
        }
        if self.periods.len() > self.options.window {
            // The first state is eliminated: what all that is known says of the second becomes the prior.
            self.x.remove(0);
            self.before = self.periods.remove(0).force;
            self.prior.mean.clone_from(&self.x[0]);
            if let Some(second) = first.and_then(|first| first.last()) {
                let mean = self.simulator.plus(&self.x[0], second.delta.as_slice())?;
                self.prior = Prior { mean, information: second.information };
            }
        }
        Ok(())
    }

    /// Minimises from the states on. The normal equations are those at the states that were found.
    fn search(&mut self) -> Result<(Chain, Option<Chain>)> {
        let Self { simulator, terms, periods, before, prior, options, .. } = self;
        let given = (&before[..], &periods[..]);
        let mut at = terms.expected(simulator, given, self.x.clone())?;
        let deviations = terms.deviations(simulator, &at)?;
        at.cost = terms.cost(simulator, &at, prior, &deviations)?;
        let mut chain = terms.chain(simulator, periods, &at, prior, &deviations)?;
        self.iterations = 0;
        'search: while self.iterations < options.max_iterations {
            self.iterations += 1;
            let mut damping = 0.0;
            for _ in 0..TRIES {
                if let Some(step) = chain.0.solve(damping) {
                    let moved = at.x.iter().zip(&step).map(|(x, step)| simulator.plus(x, step.as_slice()));
                    let mut next = terms.expected(simulator, given, moved.collect::<Result<_>>()?)?;
                    next.cost = terms.cost(simulator, &next, prior, &deviations)?;
                    if next.cost <= at.cost {
                        let is_little = at.cost - next.cost <= LITTLE * (1.0 + next.cost);
                        at = next;
                        chain = terms.chain(simulator, periods, &at, prior, &deviations)?;
                        if is_little {
                            break 'search;
                        }
                        continue 'search;
                    }
                }
                damping = if damping > 0.0 { DAMPING[1] * damping } else { DAMPING[0] };
            }
            break;
        }
        self.x.clone_from(&at.x);
        Ok(chain)
    }

    /// A state with what was measured put in, NaN where nothing was.
    pub(super) fn with_measured(&self, q: &[f64], measured: &[f64]) -> Vec<f64> {
        self.terms.with_measured(self.simulator.model(), q, measured)
    }

    /// Measured less estimated q in tangent coordinates (nv); NaN where nothing was measured.
    pub(super) fn off(&self, measured: &[f64]) -> Result<Vec<f64>> {
        let mut off = self.simulator.minus(&self.with_measured(self.q(), measured), self.q())?;
        let is_measured = self.terms.is_measured(self.simulator.model(), measured);
        off.iter_mut().zip(is_measured).filter(|(_, known)| !known).for_each(|(off, _)| *off = f64::NAN);
        Ok(off)
    }

    /// The estimate now (nq): rad and m.
    pub fn q(&self) -> &[f64] {
        self.x.last().map_or(&[], |x| x)
    }

    /// The covariance of [`Smoother::q`] (nv, nv), in tangent coordinates.
    pub fn covariance(&self) -> &DMatrix<f64> {
        &self.covariance
    }

    /// The covariance of an object's pose: the block of its degrees of freedom, for a free one (6, 6), m and rad along
    /// world axes.
    ///
    /// # Errors
    /// If no movable object has that name.
    pub fn covariance_of(&self, object: &str) -> Result<DMatrix<f64>> {
        let dofs = self.simulator.model().object(object)?.dofs();
        let (first, n) = (dofs.start, dofs.len());
        Ok(self.covariance.view((first, first), (n, n)).into_owned())
    }

    /// Steps of Gauss and Newton in the last period.
    pub fn iterations(&self) -> usize {
        self.iterations
    }
}

/// Numbers in an error: how many, and one that cannot be used.
fn said(numbers: &[f64], is_possible: fn(f64) -> bool) -> String {
    match numbers.iter().find(|x| !is_possible(**x)) {
        Some(x) => format!("{x} among {}", numbers.len()),
        None => numbers.len().to_string(),
    }
}
