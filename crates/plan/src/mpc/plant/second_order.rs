//! A plant with momentum: the second-order step, whose joints are held by critically damped springs.

use candle_core::{DType, Device, Result};

use crate::mpc::simulator::Joint;
use fingertip_scene::{Friction, Scene};
use fingertip_step::model::Model;
use fingertip_step::overrides::Overrides;
use fingertip_step::solve::Status;
use fingertip_step::step::{Dynamic, DynamicParams};

/// The longest step, s.
const H: f64 = 1e-3;

/// A world with velocities.
///
/// Joints are driven by τ = K (u − q) + g(q), which carries the robot's own weight, and damped by 2 √(K M_jj) with the inertia M_jj
/// that they move at home, in the place of the robot's own damping and dry friction. Friction is Coulomb's.
#[derive(Clone, Debug)]
pub struct SecondOrder {
    step: Dynamic,
    joints: Vec<Joint>,
    v: Vec<f64>,
    warm: Vec<f64>,
    /// Its own steps in one step of the planner's model.
    finer: usize,
}

impl SecondOrder {
    /// At rest. `scene` has the step of the planner's model and κ; `joints` has the stiffness that is believed.
    pub fn new(scene: &Scene, joints: &[Joint], overrides: &Overrides) -> Result<Self> {
        let mut scene = scene.clone();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        let finer = (scene.params.h / H).ceil().max(1.0) as usize;
        // Friction creeps by so much in each step: in finer steps contact is harder.
        let h = scene.params.h / finer as f64;
        scene.params = scene.params.with_step(h);
        scene.params.friction = Friction::Coulomb;
        let undamped = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let parameters = overrides.parameters(&undamped, &undamped.parameters)?;
        let stiffness = parameters.stiffness.flatten_all()?.to_vec1::<f64>()?;
        let joints = joints.iter().zip(stiffness).map(|(joint, stiffness)| Joint { stiffness, ..joint.clone() });
        let joints: Vec<Joint> = joints.collect();
        let first = Dynamic::new(&undamped, &parameters, DynamicParams::default())?;
        let inertia = first.dynamics().mass_matrix(&undamped.home(1)?)?.squeeze(0)?.to_vec2::<f64>()?;
        for robot in &mut scene.robots {
            for own in &mut robot.articulation.joints {
                let name = format!("{}/{}", robot.name, own.name);
                own.friction = 0.0;
                let driven = joints.iter().find(|joint| joint.name == name);
                own.damping = driven.map_or(0.0, |joint| 2.0 * (joint.stiffness * inertia[joint.v][joint.v]).sqrt());
            }
        }
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let parameters = overrides.parameters(&model, &model.parameters)?;
        let step = Dynamic::new(&model, &parameters, DynamicParams::default())?;
        Ok(Self { step, joints, v: vec![0.0; model.nv()], warm: Vec::new(), finer })
    }

    /// The velocity (nv), m/s and rad/s.
    pub fn velocity(&self) -> &[f64] {
        &self.v
    }

    /// One step of the planner's model from q (nq) under u (nu): the next q, the contact forces (nc, 3) of the last of its
    /// own steps, and how many of these had no solution.
    pub fn advance(&mut self, q: &[f64], u: &[f64]) -> Result<(Vec<f64>, Vec<f64>, usize)> {
        let (mut q, mut force, mut unsolved) = (q.to_vec(), Vec::new(), 0);
        for _ in 0..self.finer {
            let weight =
                self.step.dynamics().gravity(&self.step.model().tensor(&[&q])?)?.flatten_all()?.to_vec1::<f64>()?;
            let mut tau = vec![0.0; self.v.len()];
            for (joint, u) in self.joints.iter().zip(u) {
                tau[joint.v] = joint.stiffness * (u - q[joint.q]) + weight[joint.v];
            }
            let next = self.step.step_numbers(&q, &self.v, &tau, &self.warm)?;
            unsolved += next.reports.iter().filter(|report| report.status != Status::Solved).count();
            (q, force) = (next.q_next, next.force);
            (self.v, self.warm) = (next.v_next, next.warm);
        }
        Ok((q, force, unsolved))
    }
}
