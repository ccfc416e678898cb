//! What friction the plant has, from how it moved: estimated while an object is handled.
//!
//! A Kalman filter of the logarithm θ of one factor on the believed μ of all pairs of the object. In each control period the model predicts,
//! from the state measured a period ago and the commands since, where the object is now, and r = q ⊖ q̂(θ) is what was not
//! expected. The prediction's rate h by θ is a secant over one standard deviation, two worlds of one SIMD group: friction has kinks,
//! at which a derivative says little.
//!
//! ```text
//! θ ← ρ θ    p ← ρ² p + (1 − ρ²) p₀                          what is known fades
//! k = p h/(h² p + s²)    θ ← θ + k r    p ← (1 − k h) p      for each degree of freedom of the object
//! s² = floor² + (how far it moved)²                          the model errs by a share of each motion
//! ```

use candle_core::{Device, Result, Tensor};

use super::simulator::Simulator;
use fingertip_step::kinematics::Coordinate;
use fingertip_step::step::Quasidynamic;

/// Standard deviation of θ before anything has moved, and the farthest that θ may go: a factor of 2.2.
const PRIOR: f64 = 0.3;
const FARTHEST: f64 = 0.8;
/// Errors of predictions, m and rad, of what does not move; of what moves they are 0.3 to 1 of the motion (MPC.md), and alike in
/// successive periods.
const FLOOR: [f64; 2] = [1e-3, 0.02];
/// Errors beyond so many deviations count as that many: a contact that the model does not have is no friction.
const MOST: f64 = 2.0;
/// ρ of a period.
const FADING: f64 = 0.98;
/// Change of the planned θ from which on plans are made with it.
const CHANGE: f64 = 0.03;

/// A belief about friction: the factor on what was believed at first, and the standard deviation of its logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely factor.
    pub factor: f64,
    /// Standard deviation of its logarithm: 0.1 is a tenth.
    pub deviation: f64,
}

/// The filter.
#[derive(Clone, Debug)]
pub struct Estimator {
    object: Coordinate,
    /// Is a pair one of the object's?
    pairs: Vec<bool>,
    theta: f64,
    variance: f64,
    /// θ with which plans are made.
    planned: f64,
}

impl Estimator {
    /// A filter that knows nothing yet of the object with this name.
    ///
    /// # Errors
    /// If there is no such object.
    pub fn new(simulator: &Simulator, object: &str) -> Result<Self> {
        let model = simulator.model();
        let object = model.object(object)?.clone();
        let is_own = |shape: usize| model.shapes[shape].body == object.body;
        let pairs = model.pairs.pairs.iter().map(|pair| is_own(pair.a) || is_own(pair.b)).collect();
        Ok(Self { object, pairs, theta: 0.0, variance: PRIOR * PRIOR, planned: -PRIOR })
    }

    /// What is known now.
    pub fn estimate(&self) -> Estimate {
        Estimate { factor: self.theta.exp(), deviation: self.variance.sqrt() }
    }

    /// Learns from one period: the state before it (nq), what was held in it, and the state after it. `believed` is the model without
    /// the factor.
    ///
    /// # Errors
    /// If a length is wrong.
    pub(super) fn learn(
        &mut self,
        believed: &Simulator,
        before: &[f64],
        held: &[(&[f64], usize)],
        after: &[f64],
    ) -> Result<()> {
        self.theta *= FADING;
        self.variance = FADING.powi(2) * (self.variance - PRIOR * PRIOR) + PRIOR * PRIOR;
        // The secant goes inwards.
        let by = -self.variance.sqrt().copysign(self.theta);
        let from = self.theta;
        let worlds = self.with_friction(believed, &[from, from + by])?;
        let (mut q, nq) = (before.repeat(2), before.len());
        for (u, steps) in held {
            let all = worlds.hold(&q, &u.repeat(2), &[], *steps)?.q;
            q = all.chunks_exact(steps * nq).flat_map(|states| &states[(steps - 1) * nq..]).copied().collect();
        }
        let (expected, other) = q.split_at(nq);
        let [error, change, motion] =
            [(after, expected), (other, expected), (after, before)].map(|(to, from)| believed.minus(to, from));
        let (error, change, motion) = (error?, change?, motion?);
        for (unit, floor) in ["m", "rad"].into_iter().zip(FLOOR) {
            let freedoms = self.object.kind.freedoms().iter().enumerate();
            let places: Vec<usize> =
                freedoms.filter(|(_, freedom)| freedom.1 == unit).map(|(k, _)| self.object.v + k).collect();
            let size = places.iter().map(|&k| motion[k].powi(2)).sum::<f64>().sqrt().hypot(floor);
            for k in places {
                let rate = change[k] / by;
                let off = error[k] - rate * (self.theta - from);
                let gain = self.variance * rate / (rate * rate * self.variance + size * size);
                self.theta += gain * off.clamp(-MOST * size, MOST * size);
                self.variance *= 1.0 - gain * rate;
            }
        }
        self.theta = self.theta.clamp(-FARTHEST, FARTHEST);
        Ok(())
    }

    /// Has so much been learnt that plans should be made with another number? They then are. It is less than the estimate by one
    /// standard deviation, and not more than was believed: what holds with less friction holds with more.
    pub(super) fn is_news(&mut self) -> bool {
        let wanted = (self.theta - self.variance.sqrt()).min(0.0);
        let is_news = (wanted - self.planned).abs() > CHANGE;
        if is_news {
            self.planned = wanted;
        }
        is_news
    }

    /// The model to plan with.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub(super) fn planned(&self, believed: &Simulator) -> Result<Simulator> {
        Simulator::of_step(self.with_friction(believed, &[self.planned])?, believed.hold())
    }

    /// The step with a world for each θ.
    fn with_friction(&self, believed: &Simulator, thetas: &[f64]) -> Result<Quasidynamic> {
        let mut parameters = believed.step().parameters().clone();
        let mu = parameters.mu.flatten_all()?.to_vec1::<f64>()?;
        let row = |theta: &f64| {
            let factor = theta.exp();
            mu.iter().zip(&self.pairs).map(move |(mu, own)| if *own { factor * mu } else { *mu })
        };
        let rows: Vec<f64> = thetas.iter().flat_map(row).collect();
        parameters.mu = Tensor::from_vec(rows, (thetas.len(), mu.len()), &Device::Cpu)?;
        believed.step().with_parameters(&parameters)
    }
}
