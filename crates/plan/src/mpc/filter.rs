//! Where objects are, from noisy measurements and from what was expected.
//!
//! For each group of an object's degrees of freedom that move together (a position, an orientation, a joint), with r =
//! q ⊖ q̂⁻ between what is measured and what the model predicts from the last q̂ and the commands since, and σ the
//! deviation of measurements:
//!
//! ```text
//! P⁻ = F P Fᵀ + diag((σ/10)² + (½ s)², (⅕ s)²)       F = [1 1; 0 0.95], s = |q̂⁻ ⊖ q̂|: the model errs by a share of each motion
//! K = P⁻ e/(P⁻₁₁ + σ²)    q̂ = q̂⁻ ⊕ b ⊕ K₁ r    b ← 0.95 b + K₂ r    P = P⁻ − K eᵀ P⁻
//! m ← m + 0.3 (r − m)                                what is off time after time
//! ```
//!
//! b is by how much the model is off in each period: an object that is larger than believed, or that the ground holds,
//! does not move as it expects, and without b the estimate would stay behind by many periods of that. r is taken after
//! b is added. Where |m| is more than noise explains, the object was moved by what the model does not know: it then is
//! where it is measured.

use candle_core::{Result, bail};

use super::robust::is_object;
use super::simulator::Simulator;

/// How far the model errs while nothing moves, as a share of σ.
const STILL: f64 = 0.1;
/// Errors of predictions as a share of the predicted motion: 0.3 to 1 by docs/accuracy.md.
const SHARE: f64 = 0.5;
/// How much b changes in a period, as a share of the predicted motion.
const CHANGE: f64 = 0.2;
/// What is left of b after a period.
const LEFT: f64 = 0.95;
/// Weight of the newest of what the mean m is of.
const NEWEST: f64 = 0.3;
/// Deviations of m that noise does not explain.
const MOST: f64 = 3.5;

/// Degrees of freedom that move together.
#[derive(Clone, Debug)]
struct Group {
    places: Vec<usize>,
    /// σ, m or rad.
    noise: f64,
    /// P: P₁₁ of q̂, P₁₂, P₂₂ of b, the same for all places.
    variance: [f64; 3],
    /// b.
    drift: Vec<f64>,
    /// m.
    mean: Vec<f64>,
}

/// The filter of all objects of a scene.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    groups: Vec<Group>,
    /// q̂, once something was measured.
    estimate: Option<Vec<f64>>,
}

impl Filter {
    /// A filter of measurements with these standard deviations of each coordinate of objects, m and rad.
    ///
    /// # Errors
    /// If one is not positive.
    pub fn new(simulator: &Simulator, noise: [f64; 2]) -> Result<Self> {
        if let Some(x) = noise.iter().find(|x| !(x.is_finite() && **x > 0.0)) {
            bail!("noise: expected positive numbers, m and rad, got {x}");
        }
        let model = simulator.model();
        let mut groups = Vec::new();
        for c in model.tree.coordinates.iter().filter(|c| is_object(model, c.body)) {
            for (unit, noise) in ["m", "rad"].into_iter().zip(noise) {
                let freedoms = c.kind.freedoms().iter().enumerate();
                let places: Vec<usize> =
                    freedoms.filter(|(_, freedom)| freedom.1 == unit).map(|(k, _)| c.v + k).collect();
                if !places.is_empty() {
                    let zeros = vec![0.0; places.len()];
                    groups.push(Group {
                        noise,
                        variance: [noise * noise, 0.0, 0.0],
                        drift: zeros.clone(),
                        mean: zeros,
                        places,
                    });
                }
            }
        }
        Ok(Self { groups, estimate: None })
    }

    /// The state (nq) at the end of a period in which commands were held, for so many steps each, if q (nq) is
    /// measured. Joints of robots are where they are measured.
    ///
    /// # Errors
    /// If a length is wrong.
    pub fn filtered(&mut self, simulator: &Simulator, held: &[(&[f64], usize)], q: &[f64]) -> Result<Vec<f64>> {
        let Some(before) = self.estimate.take() else {
            self.estimate = Some(q.to_vec());
            return Ok(q.to_vec());
        };
        let mut expected = before.clone();
        for (u, steps) in held {
            let all = simulator.step().hold(&expected, u, None, *steps)?.q;
            expected = all[all.len() - q.len()..].to_vec();
        }
        let (motion, off) = (simulator.minus(&expected, &before)?, simulator.minus(q, &expected)?);
        let mut change = off.clone();
        for Group { places, noise, variance, drift, mean } in &mut self.groups {
            let sum = |all: &mut dyn Iterator<Item = f64>| all.map(|x| x * x).sum::<f64>();
            let moved = sum(&mut places.iter().map(|&place| motion[place]));
            let [own, both, of_drift] = *variance;
            let own = own + 2.0 * both + of_drift + (STILL * *noise).powi(2) + SHARE.powi(2) * moved;
            let both = LEFT * (both + of_drift);
            let of_drift = LEFT.powi(2) * of_drift + CHANGE.powi(2) * moved;
            let total = own + *noise * *noise;
            let off: Vec<f64> = places.iter().zip(&*drift).map(|(&place, drift)| off[place] - drift).collect();
            mean.iter_mut().zip(&off).for_each(|(mean, off)| *mean += NEWEST * (off - *mean));
            // The variance of such a mean of errors that have nothing to do with each other.
            let usual = places.len() as f64 * total * NEWEST / (2.0 - NEWEST);
            if sum(&mut mean.iter().copied()) > MOST.powi(2) * usual {
                mean.fill(0.0);
                drift.fill(0.0);
                *variance = [*noise * *noise, 0.0, 0.0];
            } else {
                let (gain, of_it) = (own / total, both / total);
                for ((&place, drift), off) in places.iter().zip(drift).zip(off) {
                    change[place] = *drift + gain * off;
                    *drift = LEFT * *drift + of_it * off;
                }
                *variance = [(1.0 - gain) * own, (1.0 - gain) * both, of_drift - of_it * both];
            }
        }
        let q = simulator.plus(&expected, &change)?;
        self.estimate = Some(q.clone());
        Ok(q)
    }

    /// Nothing was measured: the next measurement is taken as it is.
    pub fn forget(&mut self) {
        self.estimate = None;
        for group in &mut self.groups {
            group.variance = [group.noise * group.noise, 0.0, 0.0];
            group.drift.fill(0.0);
            group.mean.fill(0.0);
        }
    }
}
