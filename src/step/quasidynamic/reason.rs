//! Which number makes a world one of bad input.

use candle_core::{Result, Tensor};

use super::Quasidynamic;
use crate::math::tensor::numbers;
use crate::parameters::Parameters;

/// Largest number that is computed with.
const LARGEST: f64 = 1e30;
/// Parameters that must be positive.
const POSITIVE: [&str; 5] = ["h", "kappa", "epsilon", "stiffness", "mass"];
/// Parameters that may not be negative.
const NOT_NEGATIVE: [&str; 2] = ["mu", "torsion"];

impl Quasidynamic {
    /// Why a world of q (B, nq) and u (B, nu) is [`Status::BadInput`](crate::solve::Status::BadInput): its first number that is
    /// not finite, beyond 1e30 or out of its range, and what was expected there.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`], and if there is no such world.
    pub fn why_bad_input(&self, q: &Tensor, u: &Tensor, world: usize) -> Result<String> {
        self.check(q, u)?;
        let row = |t: &Tensor| numbers(&t.narrow(0, if t.dim(0)? == 1 { 0 } else { world }, 1)?);
        let (q, u) = (row(q)?, row(u)?);
        let tree = &self.model.tree;
        let is_bad = |x: f64| !x.is_finite() || x.abs() > LARGEST;
        let bad = |place: &str, x: f64, name: &str| {
            format!("{place}: expected finite numbers up to {LARGEST:e}, got {x:e} for \"{name}\"")
        };
        let names = tree.coordinates.iter().flat_map(|coordinate| coordinate.q_names());
        if let Some((&x, name)) = q.iter().zip(names).find(|(x, _)| is_bad(**x)) {
            return Ok(bad("q", x, &name));
        }
        let has_length = |at: usize| q[at..at + 4].iter().any(|x| x.abs() >= f64::MIN_POSITIVE);
        if let Some(coordinate) = tree.coordinates.iter().find(|c| c.kind.nq() == 7 && !has_length(c.q + 3)) {
            return Ok(format!("q: expected a quaternion other than zero for \"{}\"", coordinate.name));
        }
        let commanded = || tree.coordinates.iter().filter(|coordinate| coordinate.u.is_some());
        if let Some((&x, joint)) = u.iter().zip(commanded()).find(|(x, _)| is_bad(**x)) {
            return Ok(bad("u", x, &joint.name));
        }
        for (name, t) in Parameters::NAMES.iter().zip(self.parameters.tensors()) {
            for (k, x) in row(t)?.into_iter().enumerate() {
                let expected = if is_bad(x) {
                    format!("a finite number up to {LARGEST:e}")
                } else if POSITIVE.contains(name) && x <= 0.0 {
                    "a positive number".to_owned()
                } else if NOT_NEGATIVE.contains(name) && x < 0.0 {
                    "a number from 0 up".to_owned()
                } else {
                    continue;
                };
                return Ok(format!("{name}[{k}]: expected {expected}, got {x:e}"));
            }
        }
        let stiffness = row(&self.parameters.stiffness)?;
        let mut torques = commanded().zip(u.iter().zip(stiffness)).map(|(joint, (u, k))| (joint, k * (u - q[joint.q])));
        Ok(match torques.find(|(_, torque)| is_bad(*torque)) {
            Some((joint, torque)) => {
                format!("u: expected forces of up to {LARGEST:e} N or N·m, got {torque:e} for \"{}\"", joint.name)
            }
            None => format!("a number that follows from q, u and the parameters is not finite or beyond {LARGEST:e}"),
        })
    }
}
