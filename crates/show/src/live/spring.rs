//! Pulling a body by a spring.

use candle_core::{Result, Tensor};

use super::command::Pull;
use fingertip_step::dynamics::Dynamics;
use fingertip_step::kinematics::{FrameSpec, Kinematics};
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::tensor::numbers;

/// The point comes this part of the way nearer in a step, if nothing holds it. The spring's force is that at the start
/// of the step: above 2 it would overshoot more and more.
const PART: f64 = 0.5;
/// A spring longer than this pulls no more, m.
const LONGEST: f64 = 0.5;

/// Turns pulls into generalised forces.
#[derive(Debug)]
pub struct Springs {
    kinematics: Kinematics,
    dynamics: Dynamics,
}

impl Springs {
    pub fn new(model: &Model) -> Result<Self> {
        let frames: Vec<FrameSpec> = (0..model.tree.bodies.len()).map(FrameSpec::of_body).collect();
        Ok(Self {
            kinematics: Kinematics::new(&model.tree, &frames, model.dtype, &model.device)?,
            dynamics: Dynamics::new(&model.tree, [0.0; 3], model.dtype, &model.device)?,
        })
    }

    /// The generalised force τ (nv) of a pull at q (1, nq): Jᵀ k (to − p), J and p of the point.
    ///
    /// k is such that the point would come nearer by [`PART`] in a step: PART / Σ (dᵀJⱼ)²/Pⱼⱼ, with the direction d of
    /// the spring and P = blkdiag(ε M/h², K) of the step.
    pub fn tau(&self, model: &Model, parameters: &Parameters, q: &Tensor, pull: &Pull) -> Result<Vec<f64>> {
        let tree = &model.tree;
        let frames = self.kinematics.at(q)?;
        let point = numbers(&self.kinematics.points(&frames, pull.body, pull.at)?)?;
        let jacobian = numbers(&self.kinematics.point_jacobian(&frames, pull.body, pull.at)?)?;
        let mut stretch: [f64; 3] = std::array::from_fn(|k| pull.to[k] - point[k]);
        let length = stretch.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > LONGEST {
            stretch = stretch.map(|x| x * LONGEST / length);
        }
        let (epsilon, h) = (numbers(&parameters.epsilon)?[0], numbers(&parameters.h)?[0]);
        let mass = numbers(&self.dynamics.mass_matrix(q)?)?;
        let mut stiffness: Vec<f64> = (0..tree.nv).map(|dof| epsilon * mass[dof * (tree.nv + 1)] / (h * h)).collect();
        for (&dof, k) in tree.actuated.iter().zip(numbers(&parameters.stiffness)?) {
            stiffness[dof] = k;
        }
        for (c, k) in tree.sprung().zip(numbers(&parameters.spring)?) {
            stiffness[c.v] += k;
        }
        // Jᵀ times the spring's length, of which Jᵀd is a part.
        let along: Vec<f64> =
            (0..tree.nv).map(|dof| (0..3).map(|k| jacobian[k * tree.nv + dof] * stretch[k]).sum()).collect();
        let square = stretch.iter().map(|x| x * x).sum::<f64>();
        let moved: f64 = along.iter().zip(&stiffness).filter(|(_, p)| **p > 0.0).map(|(s, p)| s * s / p).sum();
        let k = if moved > 0.0 { PART * square / moved } else { 0.0 };
        Ok(along.into_iter().map(|s| k * s).collect())
    }
}
