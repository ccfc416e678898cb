//! One plan for several worlds: the believed one, and others in which the plant is not what is believed.
//!
//! The costs J_m of M worlds make one, the power mean
//!
//! ```text
//! J = (1/M Σ_m J_m^p)^(1/p)        ∂J/∂J_m = 1/M (J_m/J)^(p−1)
//! ```
//!
//! p = 1 is the mean, and a large p nearly the largest of them, but smooth, so that a plan does not jump between
//! worlds.

use candle_core::{Device, Result, Tensor, bail};
use serde::Deserialize;

use super::simulator::Simulator;
use fingertip_shapes::Shape;
use fingertip_shapes::largest::largest;
use fingertip_step::contact::BodyShape;
use fingertip_step::kinematics::Coordinate;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::step::Quasidynamic;

/// The parameters that worlds have for themselves.
const VARIED: [&str; 6] = ["mu", "stiffness", "mass", "inertia", "sizes", "offsets"];

/// A difference of the plant from what is believed. The default does not.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variation {
    /// Factor on the friction of all pairs.
    pub friction: f64,
    /// Factor on the masses and inertias of all objects.
    pub mass: f64,
    /// Factor on the stiffness of all commanded joints.
    pub stiffness: f64,
    /// Factor on the sizes of all objects' shapes, and on where these are on their bodies. Hulls and grids have no
    /// sizes.
    pub size: f64,
    /// True minus measured position of the goal's object, m, in world axes.
    pub position: [f64; 3],
    /// Rotation from the measured to the true orientation of the goal's object, a rotation vector in world axes, rad.
    /// Of a planar object only the third number counts.
    pub rotation: [f64; 3],
    /// Latency beyond the one that is reckoned with, s; negative if there is less.
    pub latency: f64,
}

impl Default for Variation {
    fn default() -> Self {
        Self {
            friction: 1.0,
            mass: 1.0,
            stiffness: 1.0,
            size: 1.0,
            position: [0.0; 3],
            rotation: [0.0; 3],
            latency: 0.0,
        }
    }
}

/// The measure of a plan over the costs of several worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Their mean.
    Mean,
    /// The largest, smoothly: the power mean with p = 8.
    Worst,
}

impl Risk {
    /// The mean and the worst.
    pub const ALL: [Self; 2] = [Self::Mean, Self::Worst];

    /// The name in task files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Worst => "worst",
        }
    }

    /// One cost of those of all worlds, and its derivative by each of them.
    #[doc(hidden)]
    pub fn of(self, costs: &[f64]) -> (f64, Vec<f64>) {
        let p = match self {
            Self::Mean => 1,
            Self::Worst => 8,
        };
        let (n, most) = (costs.len() as f64, largest(costs));
        if most == 0.0 || !most.is_finite() {
            return (most, vec![1.0 / n; costs.len()]);
        }
        let mean = costs.iter().map(|cost| (cost / most).powi(p)).sum::<f64>() / n;
        let one = most * mean.powf(1.0 / f64::from(p));
        (one, costs.iter().map(|cost| (cost / one).powi(p - 1) / n).collect())
    }
}

/// The worlds of a problem beside that of its own model.
#[derive(Clone, Debug)]
pub struct Robust {
    risk: Risk,
    variations: Vec<Variation>,
    /// The goal's object, if it can move as a whole.
    object: Option<Coordinate>,
    /// The model in each of the other worlds.
    simulators: Vec<Simulator>,
    /// The step with a row of parameters for each world, the believed one first.
    step: Quasidynamic,
}

impl Robust {
    /// Worlds beside a believed model, in which the object with this name may be elsewhere than measured.
    ///
    /// # Errors
    /// If there is no variation, a number is not finite, a factor not positive, or an object cannot be elsewhere.
    pub fn new(believed: &Simulator, object: &str, variations: &[Variation], risk: Risk) -> Result<Self> {
        if variations.is_empty() {
            bail!("robust: expected at least one world beside the believed one");
        }
        for (k, variation) in variations.iter().enumerate() {
            variation.check().map_err(|what| candle_core::Error::msg(format!("robust: worlds[{k}]: {what}")))?;
        }
        let coordinate = believed.model().object(object).ok().cloned();
        let moves = |variation: &Variation| variation.position.iter().chain(&variation.rotation).any(|x| *x != 0.0);
        if coordinate.is_none() && variations.iter().any(moves) {
            bail!("robust: expected no position and no rotation, as \"{object}\" cannot move as a whole");
        }
        if variations.iter().any(|variation| variation.size != 1.0) {
            sized(believed.model())?;
        }
        Self {
            risk,
            variations: variations.to_vec(),
            object: coordinate,
            simulators: Vec::new(),
            step: believed.step().clone(),
        }
        .around(believed)
    }

    /// These variations of another believed model of the same scene.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn around(&self, believed: &Simulator) -> Result<Self> {
        let own = |variation: &Variation| believed.with_parameters(&variation.parameters(believed)?);
        let simulators = self.variations.iter().map(own).collect::<Result<Vec<_>>>()?;
        let all: Vec<&Parameters> =
            std::iter::once(believed).chain(&simulators).map(|simulator| simulator.step().parameters()).collect();
        let step = side_by_side(believed, &all)?;
        Ok(Self { simulators, step, ..self.clone() })
    }

    /// The measure over the worlds' costs.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// The other worlds' variations.
    pub fn variations(&self) -> &[Variation] {
        &self.variations
    }

    /// The model in each of the other worlds.
    pub fn simulators(&self) -> &[Simulator] {
        &self.simulators
    }

    /// The step of all worlds, the believed one first.
    pub(super) fn step(&self) -> &Quasidynamic {
        &self.step
    }

    /// The state (nq) of another world, its object moved by the world's offset, if q (nq) is measured.
    ///
    /// # Errors
    /// If q has a wrong length.
    pub(super) fn moved(&self, simulator: &Simulator, variation: &Variation, q: &[f64]) -> Result<Vec<f64>> {
        moved(simulator, self.object.as_ref(), variation, 1.0, q)
    }
}

/// A believed model's step with a row for each of several sets of its parameters.
pub(super) fn side_by_side(believed: &Simulator, all: &[&Parameters]) -> Result<Quasidynamic> {
    let mut column = 0..;
    let rows = all[0].map(|name, same| {
        let Some(column) = column.next().filter(|_| VARIED.contains(&name)) else { return Ok(same.clone()) };
        Tensor::cat(&all.iter().map(|parameters| parameters.tensors()[column]).collect::<Vec<_>>(), 0)
    })?;
    believed.step().with_parameters(&rows)
}

/// q (nq) with an object, if there is one, moved by `sign` times a variation's offset.
pub(super) fn moved(
    simulator: &Simulator,
    object: Option<&Coordinate>,
    variation: &Variation,
    sign: f64,
    q: &[f64],
) -> Result<Vec<f64>> {
    let Some(object) = object else { return Ok(q.to_vec()) };
    let mut delta = vec![0.0; simulator.model().nv()];
    let freedoms = object.kind.freedoms();
    let turns = freedoms.iter().filter(|(_, unit)| *unit == "rad").count();
    // A planar object turns about z alone.
    let (mut position, mut rotation) = (variation.position.iter(), variation.rotation[3 - turns..].iter());
    for (k, (_, unit)) in freedoms.iter().enumerate() {
        let from = if *unit == "rad" { &mut rotation } else { &mut position };
        delta[object.v + k] = from.next().map_or(0.0, |x| sign * x);
    }
    simulator.plus(q, &delta)
}

impl Variation {
    fn check(&self) -> std::result::Result<(), String> {
        let Self { friction, mass, stiffness, size, .. } = *self;
        for (name, factor) in [("friction", friction), ("mass", mass), ("stiffness", stiffness), ("size", size)] {
            if !(factor.is_finite() && factor > 0.0) {
                return Err(format!("{name}: expected a positive factor, got {factor}"));
            }
        }
        let numbers = self.position.iter().chain(&self.rotation).chain([&self.latency]);
        match numbers.into_iter().find(|x| !x.is_finite()) {
            Some(x) => Err(format!("expected finite numbers, got {x}")),
            None => Ok(()),
        }
    }

    /// The parameters of a believed model, varied.
    pub(super) fn parameters(&self, believed: &Simulator) -> Result<Parameters> {
        let mut parameters = believed.step().parameters().clone();
        let model = believed.model();
        parameters.mu = (parameters.mu * self.friction)?;
        parameters.stiffness = (parameters.stiffness * self.stiffness)?;
        let factors: Vec<f64> =
            model.inertial.iter().map(|&body| if is_object(model, body) { self.mass } else { 1.0 }).collect();
        let n = factors.len();
        let six = factors.iter().flat_map(|&factor| [factor; 6]).collect();
        parameters.mass = parameters.mass.broadcast_mul(&Tensor::from_vec(factors, (1, n), &Device::Cpu)?)?;
        parameters.inertia = parameters.inertia.broadcast_mul(&Tensor::from_vec(six, (1, 6 * n), &Device::Cpu)?)?;
        if self.size != 1.0 {
            let (mut sizes, mut offsets) = (vec![1.0; parameters.sizes.dim(1)?], vec![1.0; parameters.offsets.dim(1)?]);
            let first = 3 * model.tree.bodies.len();
            for (k, _) in model.shapes.iter().enumerate().filter(|(_, own)| is_object(model, own.body)) {
                sizes[Shape::SIZES * k..Shape::SIZES * (k + 1)].fill(self.size);
                offsets[first + 3 * k..first + 3 * (k + 1)].fill(self.size);
            }
            let row = |factors: Vec<f64>| {
                let n = factors.len();
                Tensor::from_vec(factors, (1, n), &Device::Cpu)
            };
            parameters.sizes = parameters.sizes.broadcast_mul(&row(sizes)?)?;
            parameters.offsets = parameters.offsets.broadcast_mul(&row(offsets)?)?;
        }
        Ok(parameters)
    }
}

/// Checks that objects' sizes can be others.
pub(super) fn sized(model: &Model) -> Result<()> {
    let hull = |own: &&BodyShape| matches!(own.shape, Shape::Hull(_) | Shape::Grid(_)) && is_object(model, own.body);
    match model.shapes.iter().find(hull) {
        Some(own) => bail!("size: expected shapes with sizes, \"{}\" has a mesh", model.tree.bodies[own.body].name),
        None => Ok(()),
    }
}

/// Is a body one of an object?
pub(crate) fn is_object(model: &Model, body: usize) -> bool {
    model.tree.owners.iter().any(|owner| !owner.robot && owner.bodies.contains(&body))
}
