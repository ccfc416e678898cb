//! What the plant is like, from how it moved: parameters that are estimated while an object is handled.
//!
//! A Kalman filter of a vector θ, see [`Quantity`]. In each control period the model predicts, from the state measured
//! a period ago and the commands since, what is measured now, and r = q ⊖ q̂(θ) is what was not expected. The
//! prediction's rates h by θ are secants over one standard deviation each, worlds of one SIMD group: contact has kinks,
//! at which a derivative says little.
//!
//! ```text
//! θ ← ρ θ    P ← ρ² P + (1 − ρ²) P₀                               what is known fades
//! k = P h/(hᵀ P h + s²)    θ ← θ + k r    P ← P − k hᵀ P          for each degree of freedom that is looked at
//! s² = floor² + (how far it moved)²                               the model errs by a share of each motion
//! ```
//!
//! Looked at are the degrees of freedom of all objects and, if stiffness or sizes are estimated, of the commanded
//! joints, which a larger object stops earlier.

use candle_core::{Result, bail};
use nalgebra::{DMatrix, DVector};

use super::robust::{Variation, is_object, moved, side_by_side, sized};
use super::simulator::Simulator;
use fingertip_scene::JointKind;
use fingertip_step::kinematics::Coordinate;

/// Errors of predictions, m and rad, of what does not move; of what moves they are 0.3 to 1 of the motion
/// (docs/accuracy.md), and alike in successive periods.
const FLOOR: [f64; 2] = [1e-3, 0.02];
/// Errors beyond so many deviations count as that many: a contact that the model does not have is no parameter of it.
const MOST: f64 = 2.0;
/// ρ of a period.
const FADING: f64 = 0.98;
/// Change of a planned number, in standard deviations before anything has moved, from which on plans are made with it.
const CHANGE: f64 = 0.1;

/// A quantity of the plant that can be estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// The logarithm of a factor on the friction of all pairs.
    Friction,
    /// The logarithm of a factor on the masses of all objects.
    Mass,
    /// The logarithm of a factor on the stiffness of all commanded joints.
    Stiffness,
    /// The logarithm of a factor on the sizes of all objects.
    Size,
    /// True minus measured position of the object, m in world axes: three numbers.
    Position,
    /// Rotation from the measured to the true orientation of the object, a rotation vector in world axes, rad: three
    /// numbers.
    Rotation,
}

impl Quantity {
    /// All quantities that can be estimated.
    pub const ALL: [Self; 6] =
        [Self::Friction, Self::Mass, Self::Stiffness, Self::Size, Self::Position, Self::Rotation];

    /// The name in task files and over `--stdio`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Friction => "friction",
            Self::Mass => "mass",
            Self::Stiffness => "stiffness",
            Self::Size => "size",
            Self::Position => "position",
            Self::Rotation => "rotation",
        }
    }

    /// Standard deviation before anything has moved.
    fn prior(self) -> f64 {
        match self {
            Self::Friction | Self::Mass => 0.3,
            Self::Stiffness => 0.2,
            Self::Size => 0.05,
            Self::Position => 3e-3,
            Self::Rotation => 0.05,
        }
    }

    /// The farthest that it may go: of a factor 2.2, 1.6 and 1.16, else three deviations.
    fn farthest(self) -> f64 {
        match self {
            Self::Friction | Self::Mass => 0.8,
            Self::Stiffness => 0.5,
            Self::Size | Self::Position | Self::Rotation => 3.0 * self.prior(),
        }
    }

    fn is_factor(self) -> bool {
        matches!(self, Self::Friction | Self::Mass | Self::Stiffness | Self::Size)
    }
}

/// A belief about one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Of which quantity this is a number.
    pub quantity: Quantity,
    /// Which of its numbers: 0 if it has one.
    pub axis: usize,
    /// The most likely value: a factor on what was believed at first, or m or rad.
    pub value: f64,
    /// Standard deviation of the estimate; of a factor that of its logarithm: 0.1 is a tenth.
    pub deviation: f64,
}

/// A Kalman filter over the numbers θ of what is estimated.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// The object whose pose may be measured with an offset, if it can move as a whole.
    object: Option<Coordinate>,
    /// Quantity and index of each number of θ.
    parts: Vec<(Quantity, usize)>,
    /// The degrees of freedom that are looked at, in groups that move together, each with its floor.
    looked_at: Vec<(Vec<usize>, f64)>,
    theta: DVector<f64>,
    covariance: DMatrix<f64>,
    /// θ with which plans are made.
    planned: DVector<f64>,
}

impl Estimator {
    /// A filter of these quantities that knows nothing yet. The pose that is estimated is that of the object with this
    /// name.
    ///
    /// # Errors
    /// If there is no quantity or one twice, or the object's pose is to be estimated and it cannot move as a whole.
    pub fn new(simulator: &Simulator, object: &str, quantities: &[Quantity]) -> Result<Self> {
        if quantities.is_empty() {
            bail!("estimate: expected at least one quantity");
        }
        if let Some(twice) = quantities.iter().enumerate().find(|(k, of)| quantities[..*k].contains(of)) {
            bail!("estimate: expected each quantity once, got \"{}\" twice", twice.1.name());
        }
        let model = simulator.model();
        let coordinate = model.object(object).ok().cloned();
        if let (None, Some(pose)) = (&coordinate, quantities.iter().find(|quantity| !quantity.is_factor())) {
            bail!("estimate: expected no {}, as \"{object}\" cannot move as a whole", pose.name());
        }
        let is_planar = coordinate.as_ref().is_some_and(|c| c.kind == JointKind::Planar);
        let axes = |quantity: &Quantity| match quantity {
            Quantity::Position if is_planar => 0..2,
            Quantity::Rotation if is_planar => 2..3,
            Quantity::Position | Quantity::Rotation => 0..3,
            _ => 0..1,
        };
        let parts: Vec<_> =
            quantities.iter().flat_map(|quantity| axes(quantity).map(move |axis| (*quantity, axis))).collect();
        if quantities.contains(&Quantity::Size) {
            sized(model)?;
        }
        let has_joints = [Quantity::Stiffness, Quantity::Size].iter().any(|own| quantities.contains(own));
        let coordinates = model.tree.coordinates.iter();
        let seen = coordinates.filter(|c| is_object(model, c.body) || (has_joints && c.u.is_some()));
        let looked_at = seen.flat_map(|c| {
            let of_unit = |unit: &str| {
                let freedoms = c.kind.freedoms().iter().enumerate();
                freedoms.filter(|(_, freedom)| freedom.1 == unit).map(|(k, _)| c.v + k).collect::<Vec<_>>()
            };
            ["m", "rad"].into_iter().zip(FLOOR).map(move |(unit, floor)| (of_unit(unit), floor))
        });
        let looked_at = looked_at.collect();
        let priors = DVector::from_iterator(parts.len(), parts.iter().map(|(quantity, _)| quantity.prior()));
        let covariance = DMatrix::from_diagonal(&priors.component_mul(&priors));
        let theta = DVector::zeros(parts.len());
        let mut own = Self { object: coordinate, parts, looked_at, planned: theta.clone(), theta, covariance };
        own.planned = own.cautious();
        Ok(own)
    }

    /// The present estimates, one for each quantity.
    pub fn estimates(&self) -> Vec<Estimate> {
        let one = |(k, &(quantity, axis)): (usize, &(Quantity, usize))| {
            let value = if quantity.is_factor() { self.theta[k].exp() } else { self.theta[k] };
            Estimate { quantity, axis, value, deviation: self.deviation(k) }
        };
        self.parts.iter().enumerate().map(one).collect()
    }

    fn deviation(&self, k: usize) -> f64 {
        self.covariance[(k, k)].sqrt()
    }

    /// The difference of a plant with this θ from the believed one.
    fn variation(&self, theta: &DVector<f64>) -> Variation {
        let mut variation = Variation::default();
        for (&(quantity, axis), &x) in self.parts.iter().zip(theta) {
            match quantity {
                Quantity::Friction => variation.friction = x.exp(),
                Quantity::Mass => variation.mass = x.exp(),
                Quantity::Stiffness => variation.stiffness = x.exp(),
                Quantity::Size => variation.size = x.exp(),
                Quantity::Position => variation.position[axis] = x,
                Quantity::Rotation => variation.rotation[axis] = x,
            }
        }
        variation
    }

    /// Learns from one period: the state measured before it (nq), what was held in it, and the state measured after it.
    /// `believed` is the model without what was learnt.
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
        self.covariance *= FADING.powi(2);
        for (k, (quantity, _)) in self.parts.iter().enumerate() {
            self.covariance[(k, k)] += (1.0 - FADING.powi(2)) * quantity.prior().powi(2);
        }
        let from = self.theta.clone();
        // The secants go inwards.
        let by: Vec<f64> = (0..from.len()).map(|k| -self.deviation(k).copysign(from[k])).collect();
        let mut thetas = vec![from.clone()];
        for (k, by) in by.iter().enumerate() {
            let mut other = from.clone();
            other[k] += by;
            thetas.push(other);
        }
        let worlds: Vec<Variation> = thetas.iter().map(|theta| self.variation(theta)).collect();
        let predicted = self.predicted(believed, &worlds, before, held)?;
        let off = |q: &[f64], from: &[f64]| believed.minus(q, from).map(DVector::from_vec);
        let (error, motion) = (off(after, &predicted[0])?, off(after, before)?);
        let changes = predicted[1..].iter().map(|other| off(other, &predicted[0])).collect::<Result<Vec<_>>>()?;
        for (places, floor) in &self.looked_at {
            let size = places.iter().map(|&place| motion[place].powi(2)).sum::<f64>().sqrt().hypot(*floor);
            for &place in places {
                let rates =
                    DVector::from_iterator(by.len(), changes.iter().zip(&by).map(|(change, by)| change[place] / by));
                let off = error[place] - rates.dot(&(&self.theta - &from));
                let pushed = &self.covariance * &rates;
                let gain = &pushed / (rates.dot(&pushed) + size * size);
                self.theta.axpy(off.clamp(-MOST * size, MOST * size), &gain, 1.0);
                self.covariance -= &gain * pushed.transpose();
            }
        }
        for (x, (quantity, _)) in self.theta.iter_mut().zip(&self.parts) {
            *x = x.clamp(-quantity.farthest(), quantity.farthest());
        }
        Ok(())
    }

    /// Predicts the measurement after a period in worlds that differ so from a believed one.
    fn predicted(
        &self,
        believed: &Simulator,
        worlds: &[Variation],
        before: &[f64],
        held: &[(&[f64], usize)],
    ) -> Result<Vec<Vec<f64>>> {
        let parameters = worlds.iter().map(|world| world.parameters(believed)).collect::<Result<Vec<_>>>()?;
        let step = side_by_side(believed, &parameters.iter().collect::<Vec<_>>())?;
        let starts = worlds.iter().map(|world| moved(believed, self.object.as_ref(), world, 1.0, before));
        let (mut q, nq) = (starts.collect::<Result<Vec<_>>>()?.concat(), before.len());
        for (u, steps) in held {
            let all = step.hold(&q, &u.repeat(worlds.len()), None, *steps)?.q;
            q = all.chunks_exact(steps * nq).flat_map(|states| &states[(steps - 1) * nq..]).copied().collect();
        }
        q.chunks_exact(nq).zip(worlds).map(|(q, world)| moved(believed, self.object.as_ref(), world, -1.0, q)).collect()
    }

    /// θ for plans. Friction is less than the estimate by one standard deviation, and not more than was believed: what
    /// holds with less friction holds with more.
    fn cautious(&self) -> DVector<f64> {
        let one = |(k, (quantity, _)): (usize, &(Quantity, usize))| match quantity {
            Quantity::Friction => (self.theta[k] - self.deviation(k)).min(0.0),
            _ => self.theta[k],
        };
        DVector::from_iterator(self.parts.len(), self.parts.iter().enumerate().map(one))
    }

    /// Has so much been learnt that plans should be made with other numbers? They then are.
    pub(super) fn is_news(&mut self) -> bool {
        let wanted = self.cautious();
        let is_far = |k: usize| (wanted[k] - self.planned[k]).abs() > CHANGE * self.parts[k].0.prior();
        let is_news = (0..wanted.len()).any(is_far);
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
        believed.with_parameters(&self.variation(&self.planned).parameters(believed)?)
    }

    /// The state (nq) with the object moved by the estimated offset of its measured pose in q (nq).
    ///
    /// # Errors
    /// If q has a wrong length.
    pub(super) fn corrected(&self, simulator: &Simulator, q: &[f64]) -> Result<Vec<f64>> {
        moved(simulator, self.object.as_ref(), &self.variation(&self.planned), 1.0, q)
    }
}
