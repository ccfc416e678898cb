//! What the joints themselves do to a second-order step: damping, dry friction, effort limits.

use candle_core::{DType, Device, Result, Tensor};

use crate::kinematics::{Coordinate, Tree};
use crate::math::tensor::clamp;
use crate::step::fused::JointForces;

/// Numbers of each degree of freedom; none where all are zero (infinite, for the effort).
#[derive(Clone, Debug)]
pub(super) struct Joints {
    /// Viscous damping D (1, nv), N·m·s/rad or N·s/m.
    pub(super) damping: Option<Tensor>,
    /// Dry friction c (1, nv), N·m or N.
    friction: Option<Tensor>,
    /// Largest effort (1, nv), N·m or N.
    effort: Option<Tensor>,
}

/// The joints' numbers, degree of freedom by degree of freedom.
pub(super) fn joint_forces(tree: &Tree) -> JointForces {
    let row = |of: fn(&Coordinate) -> f64, nothing: f64| {
        let mut values = vec![nothing; tree.nv];
        for coordinate in &tree.coordinates {
            values[coordinate.v..coordinate.v + coordinate.kind.nv()].fill(of(coordinate));
        }
        values
    };
    JointForces {
        damping: row(|c| c.damping, 0.0),
        friction: row(|c| c.friction, 0.0),
        effort: row(|c| c.effort, f64::INFINITY),
    }
}

impl Joints {
    pub(super) fn new(tree: &Tree, dtype: DType, device: &Device) -> Result<Self> {
        let row = |values: Vec<f64>, nothing: f64| -> Result<Option<Tensor>> {
            if values.iter().all(|&x| x == nothing) {
                return Ok(None);
            }
            Tensor::from_vec(values, (1, tree.nv), device)?.to_dtype(dtype).map(Some)
        };
        let JointForces { damping, friction, effort } = joint_forces(tree);
        Ok(Self { damping: row(damping, 0.0)?, friction: row(friction, 0.0)?, effort: row(effort, f64::INFINITY)? })
    }

    /// τ (B, nv) within the joints' efforts; beyond them it has no gradient.
    pub(super) fn limited(&self, tau: &Tensor) -> Result<Tensor> {
        match &self.effort {
            Some(effort) => clamp(tau, effort),
            None => Ok(tau.clone()),
        }
    }

    /// The largest impulses h c (1 or B, nv) of the dry friction.
    pub(super) fn dry_impulses(&self, h: &Tensor) -> Result<Option<Tensor>> {
        self.friction.as_ref().map(|friction| friction.broadcast_mul(h)).transpose()
    }

    /// Dry friction as a damping (B, nv) that a smooth step can take, given the stiction speed s: −c sign(v₊) as −d v₊.
    ///
    /// Of one joint of inertia m alone, that without friction would reach v* in this step, v₊ = v* (1 − h c/(m |v*|)), so
    /// that d = c/x with x = |v*| − h c/m. Where x ≤ 0 it sticks. The stiction speed replaces |v*| by √(v*² + s²) and x by
    /// ½ (x + √(x² + 4 s²)): smooth, and of a joint that sticks with x ≪ −s, v₊ = v* s²/(h c/m)² or so.
    pub(super) fn dry_damping(&self, free: &Tensor, per_inertia: &Tensor, s: f64) -> Result<Option<Tensor>> {
        let Some(friction) = &self.friction else { return Ok(None) };
        let speed = free.sqr()?.affine(1.0, s * s)?.sqrt()?;
        let x = (speed - per_inertia.broadcast_mul(friction)?)?;
        let root = x.sqr()?.affine(1.0, 4.0 * s * s)?.sqrt()?;
        // ½ (x + root) = s²/(½ (root − x)); the larger of both factors has no cancellation.
        let larger = ((x.abs()? + root)? * 0.5)?;
        let positive = x.ge(0.0)?.where_cond(&larger, &(larger.recip()? * (s * s))?)?;
        positive.recip()?.broadcast_mul(friction).map(Some)
    }
}
