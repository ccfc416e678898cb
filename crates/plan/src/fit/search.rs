//! The search: Gauss–Newton steps with damping (Levenberg, Marquardt) in a box, and the noise from what is left over.

use candle_core::Result;
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use fingertip_shapes::Error;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::step::Direction;

use super::log::{Kind, Log};
use super::segment::{Normal, Now, Residual, Segment};
use super::unknown::{Part, Scale, Unknown, parameters_of, row};
use super::world::World;
use super::{Options, root_mean_square};
use crate::mpc::box_qp;

/// The least damping, that of the first step, and the most.
const DAMPING: [f64; 3] = [1e-9, 1e-3, 1e9];
/// The most damping of a part's start: one that cannot move now still counts as having something to gain.
const MOST_OF_START: f64 = 1e4;
/// Numbers change at most e-fold, or by as much as counts as much, in a step.
const MOST: f64 = 1.0;
/// A step that promises to lower half the sum of squares by less, or by less than this part, ends the search.
const LITTLE: [f64; 2] = [1e-3, 1e-7];
/// The same, times this, where no step gains anything.
const STALLED: f64 = 100.0;
/// Times that the noise is found anew, at most, and change of it that ends this.
const ROUNDS: usize = 5;
const SAME_NOISE: f64 = 0.02;
/// Less noise than this, in a measurement's unit, is that of solves and rounding.
const LEAST_NOISE: f64 = 1e-8;
/// Part of the largest entry of H below which a number counts as unseen.
pub(super) const UNSEEN: f64 = 1e-12;

/// Logs, and what is looked for in them.
pub(super) struct Problem<'a> {
    pub(super) logs: &'a [Log],
    pub(super) unknowns: &'a [Unknown],
    pub(super) parameters: &'a Parameters,
    world: World,
    pub(super) segments: Vec<Segment>,
    /// All parameters side by side, as they are given.
    row: Vec<f64>,
    noise: [Option<f64>; Kind::ALL.len()],
}

/// Where the search is.
pub(super) struct Found {
    /// Coordinates of the numbers.
    pub(super) x: DVector<f64>,
    /// The parts' starts, and the damping of each.
    starts: Vec<DVector<f64>>,
    damping: Vec<f64>,
    pub(super) noise: [f64; Kind::ALL.len()],
    /// Each part's residuals, and its steps without a solution.
    pub(super) residuals: Vec<(Vec<Residual>, usize)>,
    pub(super) cost: f64,
    pub(super) iterations: usize,
    pub(super) converged: bool,
}

/// The normal equations of the numbers, without priors, from which the starts of the parts are eliminated.
pub(super) struct Equations {
    pub(super) h: DMatrix<f64>,
    g: DVector<f64>,
    /// The inverse of each part's H of its start.
    inverses: Vec<DMatrix<f64>>,
}

impl Equations {
    /// Eliminates starts; damped, as the diagonal of each part's grows by that part of it.
    pub(super) fn new(parts: &[Normal], damping: &[f64]) -> Self {
        let n = parts.first().map_or(0, |part| part.p.len());
        let (mut h, mut g, mut inverses) = (DMatrix::zeros(n, n), DVector::zeros(n), Vec::new());
        for (Normal { ss, sp, pp, s, p }, damping) in parts.iter().zip(damping) {
            let inverse = inverse(&(ss + DMatrix::from_diagonal(&(ss.diagonal() * *damping))));
            let kept = sp.transpose() * &inverse;
            h += pp - &kept * sp;
            g += p - &kept * s;
            inverses.push(inverse);
        }
        Self { h, g, inverses }
    }
}

impl<'a> Problem<'a> {
    pub(super) fn new(
        model: &Model,
        parameters: &'a Parameters,
        logs: &'a [Log],
        unknowns: &'a [Unknown],
        options: &Options,
    ) -> Result<Self> {
        let world = World::new(model, parameters, options.second_order)?;
        world.check()?;
        let parts = logs.iter().enumerate().flat_map(|log| Segment::all(model, &world, log, options.window));
        Ok(Self {
            segments: parts.collect(),
            logs,
            unknowns,
            parameters,
            world,
            row: row(parameters)?,
            noise: Kind::ALL.map(|kind| options.noise.get(&kind).copied()),
        })
    }

    /// The numbers' values.
    pub(super) fn values(&self, x: &DVector<f64>) -> Vec<f64> {
        self.unknowns.iter().zip(x.iter()).map(|(unknown, &x)| unknown.value_at(x)).collect()
    }

    /// The row of all parameters with these numbers, and the direction in which each number's coordinate moves it.
    pub(super) fn row_at(&self, values: &[f64]) -> (Vec<f64>, Vec<Direction>) {
        let mut row = self.row.clone();
        let mut directions = Vec::new();
        for (unknown, &value) in self.unknowns.iter().zip(values) {
            let places: &[usize] = if let Part::Parameters(places) = &unknown.part { places } else { &[] };
            directions.push(
                places
                    .iter()
                    .map(|&at| match unknown.scale {
                        Scale::Logarithm => {
                            row[at] *= value / unknown.first;
                            (at, row[at])
                        }
                        Scale::Linear(much) => {
                            row[at] += value - unknown.first;
                            (at, much)
                        }
                    })
                    .collect(),
            );
        }
        (row, directions)
    }

    /// The residuals at coordinates and starts, and half the sum of their squares over the noise. A part whose start
    /// fits better where it was before, `kept`, has that one, and is damped more from then on.
    fn simulate(&self, found: &mut Found, kept: &[DVector<f64>]) -> Result<()> {
        let values = self.values(&found.x);
        let (row, directions) = self.row_at(&values);
        let world = self.world.with_parameters(&parameters_of(&row, self.parameters)?)?;
        let now = Now {
            world: &world,
            unknowns: self.unknowns,
            values: &values,
            directions: &directions,
            noise: found.noise,
        };
        let all = self.segments.par_iter().zip(found.starts.par_iter_mut().zip(&mut found.damping).zip(kept));
        let simulated = all.map(|(part, ((start, damping), kept))| {
            let at = |s: &DVector<f64>| part.simulate(&self.logs[part.log], &now, s);
            let moved = at(start)?;
            if start == kept {
                return Ok(moved);
            }
            let still = at(kept)?;
            let [new, old] = [&moved, &still].map(|(residuals, _)| self.squares(part, residuals, &now.noise));
            if new <= old || !old.is_finite() {
                *damping = (0.1 * *damping).max(DAMPING[0]);
                return Ok(moved);
            }
            *damping = (10.0 * *damping).min(MOST_OF_START);
            start.copy_from(kept);
            Ok(still)
        });
        found.residuals = simulated.collect::<Result<_>>()?;
        found.cost = self.cost(found);
        Ok(())
    }

    /// The sum of the squares of a part's residuals over the noise.
    fn squares(&self, part: &Segment, residuals: &[Residual], noise: &[f64]) -> f64 {
        let noise = |one: &Residual| noise[self.logs[part.log].channels[one.channel].kind as usize];
        residuals.iter().map(|one| (one.value / noise(one)).powi(2)).sum()
    }

    fn cost(&self, found: &Found) -> f64 {
        let of_part =
            |(part, (residuals, _)): (&Segment, &(Vec<Residual>, usize))| self.squares(part, residuals, &found.noise);
        let priors = self.unknowns.iter().zip(found.x.iter()).filter_map(|(unknown, x)| {
            let (mean, deviation) = unknown.prior_coordinates()?;
            Some(((x - mean) / deviation).powi(2))
        });
        let sum = self.segments.iter().zip(&found.residuals).map(of_part).sum::<f64>() + priors.sum::<f64>();
        if sum.is_finite() { 0.5 * sum } else { f64::INFINITY }
    }

    /// The normal equations of each part.
    pub(super) fn normals(&self, found: &Found) -> Result<Vec<Normal>> {
        let values = self.values(&found.x);
        let (row, directions) = self.row_at(&values);
        let world = self.world.with_parameters(&parameters_of(&row, self.parameters)?)?;
        let (unknowns, noise) = (self.unknowns, found.noise);
        let now = Now { world: &world, unknowns, values: &values, directions: &directions, noise };
        let all = self.segments.par_iter().zip(&found.starts);
        all.map(|(part, s)| part.normal(&self.logs[part.log], &now, s)).collect()
    }

    /// Adds priors to H, and to g = −∂cost.
    pub(super) fn with_priors(
        &self,
        x: &DVector<f64>,
        h: &DMatrix<f64>,
        g: &DVector<f64>,
    ) -> (DMatrix<f64>, DVector<f64>) {
        let (mut h, mut g) = (h.clone(), g.clone());
        for (k, unknown) in self.unknowns.iter().enumerate() {
            if let Some((mean, deviation)) = unknown.prior_coordinates() {
                h[(k, k)] += deviation.powi(-2);
                g[k] += (mean - x[k]) / (deviation * deviation);
            }
        }
        (h, g)
    }

    /// The bounds as coordinates.
    pub(super) fn bounds(&self) -> Vec<(f64, f64)> {
        self.unknowns.iter().map(|one| (one.coordinate(one.bounds.0), one.coordinate(one.bounds.1))).collect()
    }

    /// What fits best, and half the sum of squares at first, over the noise at last.
    pub(super) fn solve(&self, options: &Options) -> Result<(Found, f64)> {
        let starts: Vec<DVector<f64>> = self.segments.iter().map(|part| DVector::zeros(part.n_start())).collect();
        let x = DVector::from_iterator(self.unknowns.len(), self.unknowns.iter().map(|one| one.coordinate(one.value)));
        let noise = Kind::ALL.map(|kind| self.noise[kind as usize].unwrap_or(kind.noise()));
        let (kept, damping) = (starts.clone(), vec![DAMPING[1]; starts.len()]);
        let (residuals, cost) = (Vec::new(), 0.0);
        let mut found = Found { x, starts, damping, noise, residuals, cost, iterations: 0, converged: false };
        self.simulate(&mut found, &kept)?;
        if !found.cost.is_finite() {
            let message = "expected a rollout of finite numbers from the start; a smaller step (`h`) may help";
            return Err(Error::invalid("fit", message).into());
        }
        let (residuals, x) = (found.residuals.clone(), found.x.clone());
        let mut first = Found { residuals, starts: Vec::new(), damping: Vec::new(), x, ..found };
        for _ in 0..ROUNDS {
            self.descend(&mut found, options.max_iterations)?;
            let before = found.noise;
            for kind in Kind::ALL.into_iter().filter(|&kind| self.noise[kind as usize].is_none()) {
                let (n, size) = self.left_over(&found, kind);
                if n > 0 {
                    found.noise[kind as usize] = size.max(LEAST_NOISE);
                }
            }
            found.cost = self.cost(&found);
            let changed = before.iter().zip(&found.noise).any(|(a, b)| (a / b - 1.0).abs() > SAME_NOISE);
            if !changed {
                break;
            }
        }
        first.noise = found.noise;
        let cost = self.cost(&first);
        Ok((found, cost))
    }

    /// The number of residuals of a kind, and the root of the mean of their squares.
    pub(super) fn size_of(&self, found: &Found, kind: Kind) -> (usize, f64) {
        let of_kind = |log: usize, channel: usize| self.logs[log].channels[channel].kind == kind;
        let all = self.segments.iter().zip(&found.residuals);
        let own = all.flat_map(|(part, (all, _))| all.iter().filter(|one| of_kind(part.log, one.channel)));
        root_mean_square(own.map(|one| one.value))
    }

    /// The number of residuals of a kind, and the standard deviation of noise that they tell of.
    fn left_over(&self, found: &Found, kind: Kind) -> (usize, f64) {
        let (n, size) = self.size_of(found, kind);
        let total: usize = found.residuals.iter().map(|(all, _)| all.len()).sum();
        let known: usize = self.unknowns.len() + self.segments.iter().map(Segment::n_start).sum::<usize>();
        // Each number that is found takes one residual's worth.
        let left = 1.0 - known as f64 / total.max(1) as f64;
        (n, size / left.max(0.1).sqrt())
    }

    /// Goes down to the least cost with the noise that there is.
    fn descend(&self, found: &mut Found, most: usize) -> Result<()> {
        let bounds = self.bounds();
        let mut damping = DAMPING[1];
        found.converged = false;
        for _ in 0..most {
            let normals = self.normals(found)?;
            found.iterations += 1;
            let mut first = None;
            loop {
                let of_parts: Vec<f64> = found.damping.iter().map(|own| own.max(damping)).collect();
                let equations = Equations::new(&normals, &of_parts);
                let (h, g) = self.with_priors(&found.x, &equations.h, &equations.g);
                let largest = h.diagonal().max().max(f64::MIN_POSITIVE);
                let more = h.diagonal().map(|x| damping * x.max(UNSEEN * largest) + UNSEEN * largest);
                let range = bounds.iter().zip(found.x.iter());
                let range: Vec<(f64, f64)> =
                    range.map(|((lower, upper), x)| ((lower - x).max(-MOST), (upper - x).min(MOST))).collect();
                let damped = &h + DMatrix::from_diagonal(&more);
                let step = box_qp::minimise(&damped, &-&g, &range, &DVector::zeros(g.len()));
                let Some(step) = step.map(|minimum| minimum.x) else { return Ok(()) };
                let parts = || normals.iter().zip(&equations.inverses);
                let of_starts: f64 = parts().map(|(part, inverse)| 0.5 * part.s.dot(&(inverse * &part.s))).sum();
                let promised = g.dot(&step) - 0.5 * step.dot(&(&h * &step)) + of_starts;
                let most = *first.get_or_insert(promised);
                let little = LITTLE[0].max(LITTLE[1] * found.cost);
                if promised < little || damping > DAMPING[2] {
                    // Where even a small step gains nothing, there was little to gain but for rounding.
                    found.converged = most < STALLED * little;
                    return Ok(());
                }
                let starts = parts().zip(&found.starts);
                let starts = starts.map(|((part, inverse), s)| s + inverse * (&part.s - &part.sp * &step)).collect();
                let own = found.damping.clone();
                let mut next = Found { x: &found.x + &step, starts, damping: own, residuals: Vec::new(), ..*found };
                self.simulate(&mut next, &found.starts)?;
                if next.cost < found.cost {
                    let gain = (found.cost - next.cost) / promised;
                    damping *= if gain > 0.75 {
                        0.1
                    } else if gain < 0.25 {
                        4.0
                    } else {
                        1.0
                    };
                    damping = damping.max(DAMPING[0]);
                    *found = next;
                    break;
                }
                found.damping = next.damping;
                damping *= 10.0;
            }
        }
        Ok(())
    }
}

/// The inverse of a matrix that is not negative: of what is seen of it.
pub(super) fn inverse(h: &DMatrix<f64>) -> DMatrix<f64> {
    if h.is_empty() {
        return h.clone();
    }
    let root = h.diagonal().map(|x| if x > 0.0 { 1.0 / x.sqrt() } else { 0.0 });
    let scaled = DMatrix::from_fn(h.nrows(), h.ncols(), |i, j| h[(i, j)] * root[i] * root[j]);
    let eigen = scaled.symmetric_eigen();
    let inverted = eigen.eigenvalues.map(|x| if x > UNSEEN { 1.0 / x } else { 0.0 });
    let inverse = &eigen.eigenvectors * DMatrix::from_diagonal(&inverted) * eigen.eigenvectors.transpose();
    DMatrix::from_fn(h.nrows(), h.ncols(), |i, j| inverse[(i, j)] * root[i] * root[j])
}
