//! Explains [`Status::BadInput`](crate::solve::Status::BadInput): finds the number of a world that makes it unusable.

use candle_core::{Result, Tensor};

use super::dynamic::{ContactModel, Dynamic};
use super::quasidynamic::Quasidynamic;
use crate::kinematics::{Coordinate, Tree};
use crate::parameters::Parameters;
use crate::tensor::numbers;

/// Largest magnitude of usable numbers; beyond it a world is bad input.
const LARGEST: f64 = 1e30;
/// Parameters that must be positive.
const POSITIVE: [&str; 8] =
    ["h", "kappa", "epsilon", "stiffness", "dry_friction", "table_friction", "table_radius", "mass"];
/// Parameters that may not be negative.
const NOT_NEGATIVE: [&str; 6] = ["mu", "torsion", "spring", "damping", "armature", "connection"];

impl Quasidynamic {
    /// Why a world of q (B, nq) and u (B, nu) is [`Status::BadInput`](crate::solve::Status::BadInput): its first number
    /// that is not finite, beyond 1e30 or out of its range, and what was expected there.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`], and if there is no such world.
    pub fn why_bad_input(&self, q: &Tensor, u: &Tensor, world: usize) -> Result<String> {
        self.check(q, u)?;
        let (q, u, tree) = (row(q, world)?, row(u, world)?, &self.model().tree);
        let commanded = || tree.coordinates.iter().filter(|coordinate| coordinate.u.is_some());
        let of_numbers = of_q(tree, &q).or_else(|| of("u", &u, commanded().map(|joint| joint.name.clone())));
        if let Some(reason) =
            of_numbers.map_or_else(|| of_parameters(self.parameters(), world, &[]), |reason| Ok(Some(reason)))?
        {
            return Ok(reason);
        }
        let stiffness = row(&self.parameters().stiffness, world)?;
        let length = |joint: &Coordinate| {
            let others = joint.others.iter().map(|&(other, ratio)| ratio * q[tree.coordinates[other].q]);
            q[joint.q] + others.sum::<f64>()
        };
        let torques = commanded().zip(u.iter().zip(stiffness)).map(|(joint, (u, k))| (joint, k * (u - length(joint))));
        let mut torques = torques;
        Ok(match torques.find(|(_, torque)| is_bad(*torque)) {
            Some((joint, torque)) => {
                format!("u: expected forces of up to {LARGEST:e} N or N·m, got {torque:e} for \"{}\"", joint.name)
            }
            None => format!("a number that follows from q, u and the parameters is not finite or beyond {LARGEST:e}"),
        })
    }
}

impl Dynamic {
    /// Why a world of q (B, nq), v (B, nv) and τ (B, nv) is [`Status::BadInput`](crate::solve::Status::BadInput): its
    /// first number that is not finite, beyond 1e30 or out of its range, and what was expected there; or the joint that
    /// moves no mass, such as a second floating joint of one body.
    ///
    /// # Errors
    /// As [`Dynamic::step`], and if there is no such world.
    pub fn why_bad_input(&self, q: &Tensor, v: &Tensor, tau: &Tensor, world: usize) -> Result<String> {
        self.check(q, v, tau)?;
        let tree = &self.model().tree;
        let names = || tree.coordinates.iter().flat_map(|coordinate| coordinate.v_names());
        let unused: &[&str] = match self.contact_model() {
            ContactModel::Barrier => &["epsilon", "stiffness"],
            ContactModel::Rigid(_) => &["epsilon", "stiffness", "kappa", "mu", "torsion"],
        };
        let of_numbers =
            of_q(tree, &row(q, world)?).or(of("v", &row(v, world)?, names())).or(of("tau", &row(tau, world)?, names()));
        if let Some(reason) =
            of_numbers.map_or_else(|| of_parameters(self.parameters(), world, unused), |reason| Ok(Some(reason)))?
        {
            return Ok(reason);
        }
        Ok(match self.dynamics().weightless() {
            Some(name) => {
                format!("\"{name}\": expected it to move some mass that no other joint moves in the same way, got none")
            }
            None => {
                format!("a number that follows from q, v, τ and the parameters is not finite or beyond {LARGEST:e}")
            }
        })
    }
}

fn is_bad(x: f64) -> bool {
    !x.is_finite() || x.abs() > LARGEST
}

/// A world's row, or the row of all worlds.
fn row(t: &Tensor, world: usize) -> Result<Vec<f64>> {
    numbers(&t.narrow(0, if t.dim(0)? == 1 { 0 } else { world }, 1)?)
}

/// A message for the first of these numbers that is not finite or beyond the range; none if all can be used.
fn of(place: &str, values: &[f64], names: impl Iterator<Item = String>) -> Option<String> {
    let (x, name) = values.iter().zip(names).find(|(x, _)| is_bad(**x))?;
    Some(format!("{place}: expected finite numbers up to {LARGEST:e}, got {x:e} for \"{name}\""))
}

fn of_q(tree: &Tree, q: &[f64]) -> Option<String> {
    let has_length = |at: usize| q[at..at + 4].iter().any(|x| x.abs() >= f64::MIN_POSITIVE);
    let is_without = |c: &&Coordinate| c.kind.quaternion().is_some_and(|at| !has_length(c.q + at));
    let without_length = || tree.coordinates.iter().find(is_without);
    of("q", q, tree.coordinates.iter().flat_map(|coordinate| coordinate.q_names()))
        .or_else(|| Some(format!("q: expected a quaternion other than zero for \"{}\"", without_length()?.name)))
}

impl Parameters {
    /// Checks the numbers that hold for all worlds; those of one are left to
    /// [`Status::BadInput`](crate::solve::Status::BadInput).
    ///
    /// # Errors
    /// The first that is not finite or out of its range, by its name.
    pub fn check_shared(&self) -> Result<()> {
        let of_worlds = Self::NAMES.iter().zip(self.tensors()).filter(|(_, t)| t.dims()[0] > 1);
        let of_worlds: Vec<&str> = of_worlds.map(|(name, _)| *name).collect();
        match of_parameters(self, 0, &of_worlds)? {
            Some(reason) => Err(fingertip_shapes::Error::invalid("parameters", reason).into()),
            None => Ok(()),
        }
    }
}

/// The first number out of range of the parameters that are used.
fn of_parameters(parameters: &Parameters, world: usize, unused: &[&str]) -> Result<Option<String>> {
    for (name, t) in Parameters::NAMES.iter().zip(parameters.tensors()).filter(|(name, _)| !unused.contains(name)) {
        for (k, x) in row(t, world)?.into_iter().enumerate() {
            let expected = if is_bad(x) {
                format!("a finite number up to {LARGEST:e}")
            } else if POSITIVE.contains(name) && x <= 0.0 {
                "a positive number".to_owned()
            } else if NOT_NEGATIVE.contains(name) && x < 0.0 {
                "a number from 0 up".to_owned()
            } else {
                continue;
            };
            return Ok(Some(format!("{name}[{k}]: expected {expected}, got {x:e}")));
        }
    }
    let is_idle = parameters.table_friction.dim(1)? > 0 && row(&parameters.gravity, world)?[2] == 0.0;
    Ok(is_idle.then(|| "gravity[2]: expected a number other than 0, which presses on the tables".to_owned()))
}
