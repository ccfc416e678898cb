//! Does a grasp hold? Joints under PD control around the grasp, with the torques that hold it fed forward.

use candle_core::{DType, Device, Result, Tensor, bail};
use nalgebra::DVector;

use crate::description::Scene;
use crate::model::Model;
use crate::solve::Status;
use crate::step::{Dynamic, DynamicParams};

/// A simulated trial: some time at rest, then pushes along ±x, ±y and ±z of the world, each followed by a rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Time step, s.
    pub h: f64,
    /// Barrier parameter κ, 1/J: contacts of f newtons keep 2/(κ f) metres apart, and those that stick creep by as much
    /// in a step, so that it must be large for an object to stay in place.
    pub kappa: f64,
    /// Proportional gain of the joints, N·m/rad or N/m.
    pub kp: f64,
    /// Velocity gain, N·m·s/rad or N·s/m; acts implicitly, as the joints' damping.
    pub kv: f64,
    /// Time at rest, s.
    pub rest: f64,
    /// Force of each push, in weights of the object.
    pub push: f64,
    /// Time of each push, and of each rest after it, s.
    pub pushing: f64,
}

impl Default for Trial {
    fn default() -> Self {
        Self { h: 2e-3, kappa: 1e8, kp: 100.0, kv: 1.0, rest: 3.0, push: 0.2, pushing: 0.2 }
    }
}

/// What became of the object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Distance of the object from its place in the grasp after the rest, m.
    pub moved: f64,
    /// Farthest from there under the pushes, m.
    pub pushed: f64,
    /// Distance from there after the last push and rest, m.
    pub displaced: f64,
    /// Was it held at rest: carried by its contacts, and not more than 1 cm away?
    pub held: bool,
    /// The same at the end.
    pub held_pushed: bool,
}

/// An object this far from its place is lost, m.
const LOST: f64 = 0.01;
/// Contacts carry the object if what they leave is below this part of its weight.
const CARRIED: f64 = 0.05;
/// Axis and sign of the pushes.
const PUSHES: [(usize, f64); 6] = [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0), (2, 1.0), (2, -1.0)];

impl Trial {
    /// Runs a trial of each grasp, a configuration (1, nq) and the torques of the commanded joints, all side by side. The
    /// scene has one free object, `objects[0]` of those that move.
    ///
    /// # Errors
    /// If the scene has nothing to hold, or a shape is not as said.
    pub fn run(&self, scene: &Scene, grasps: &[(Tensor, DVector<f64>)]) -> Result<Vec<Outcome>> {
        let model = self.model(scene)?;
        let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
        let Some(object) = model.tree.coordinates.iter().find(|c| c.u.is_none() && c.kind.nv() >= 3) else {
            bail!("grasp: expected an object that can move");
        };
        let Some(mass) = model.tree.bodies[object.body].inertia.as_ref().map(|inertia| inertia.mass) else {
            bail!("grasp: expected a mass of \"{}\"", object.name);
        };
        let weight = mass * scene.gravity.iter().map(|g| g * g).sum::<f64>().sqrt();
        let configurations: Vec<&Tensor> = grasps.iter().map(|grasp| &grasp.0).collect();
        if configurations.is_empty() {
            return Ok(Vec::new());
        }
        let start = Tensor::cat(&configurations, 0)?;
        let forward = feed_forward(&model, grasps)?;
        let mut run = Run {
            law: Law { target: joints(&model, &start)?, forward, kp: self.kp },
            v: Tensor::zeros((grasps.len(), model.nv()), DType::F64, &Device::Cpu)?,
            q: start.clone(),
            warm: None,
            force: None,
            solved: vec![true; grasps.len()],
        };
        let steps = |time: f64| (time / self.h).round() as usize;
        let away =
            |q: &Tensor| -> Result<Vec<f64>> { (q - &start)?.narrow(1, object.q, 3)?.sqr()?.sum(1)?.sqrt()?.to_vec1() };
        let push = |axis: usize, force: f64| -> Result<Tensor> {
            let mut row = vec![0.0; model.nv()];
            row[object.v + axis] = force;
            model.tensor(&[&row])
        };
        let nothing = push(0, 0.0)?;
        for _ in 0..steps(self.rest) {
            run.advance(&step, &nothing)?;
        }
        let moved = away(&run.q)?;
        let held = run.held(&model, object.body, weight, &moved)?;
        let mut farthest = moved.clone();
        for (axis, sign) in PUSHES {
            for force in [push(axis, sign * self.push * weight)?, nothing.clone()] {
                for _ in 0..steps(self.pushing) {
                    run.advance(&step, &force)?;
                }
                farthest.iter_mut().zip(away(&run.q)?).for_each(|(most, now)| *most = most.max(now));
            }
        }
        let displaced = away(&run.q)?;
        let held_pushed = run.held(&model, object.body, weight, &displaced)?;
        let outcome = |k: usize| Outcome {
            moved: moved[k],
            pushed: farthest[k],
            displaced: displaced[k],
            held: held[k],
            held_pushed: held[k] && held_pushed[k],
        };
        Ok((0..grasps.len()).map(outcome).collect())
    }

    /// The scene with the trial's numbers and the velocity gain as damping.
    fn model(&self, scene: &Scene) -> Result<Model> {
        let mut scene = scene.clone();
        (scene.params.h, scene.params.kappa) = (self.h, self.kappa);
        for joint in scene.robots.iter_mut().flat_map(|robot| &mut robot.articulation.joints) {
            joint.damping = self.kv;
        }
        Model::new(&scene, DType::F64, &Device::Cpu)
    }
}

/// τ = τ_hold − K_p (q − q_grasp) on the commanded joints.
struct Law {
    target: Tensor,
    forward: Tensor,
    kp: f64,
}

/// The worlds of a trial.
struct Run {
    law: Law,
    q: Tensor,
    v: Tensor,
    warm: Option<Tensor>,
    /// Forces on B of the last step.
    force: Option<Tensor>,
    solved: Vec<bool>,
}

impl Run {
    fn advance(&mut self, step: &Dynamic, push: &Tensor) -> Result<()> {
        let model = step.model();
        let feedback = ((&self.law.target - joints(model, &self.q)?)? * self.law.kp)?;
        let tau = (scatter(model, &feedback)? + &self.law.forward)?.broadcast_add(push)?;
        let next = step.step_from(&self.q, &self.v, &tau, self.warm.as_ref())?;
        self.solved.iter_mut().zip(&next.reports).for_each(|(all, one)| *all &= one.status == Status::Solved);
        (self.q, self.v, self.warm, self.force) = (next.q_next, next.v_next, next.warm, Some(next.force));
        Ok(())
    }

    /// Is the object near its place, and do its contacts carry it?
    fn held(&self, model: &Model, object: usize, weight: f64, away: &[f64]) -> Result<Vec<bool>> {
        let Some(force) = &self.force else { return Ok(vec![false; away.len()]) };
        let sign = |contact: usize| {
            let pair = &model.pairs.pairs[model.pairs.pair_of_contact[contact]];
            let on = |shape: usize| f64::from(u8::from(model.shapes[shape].body == object));
            on(pair.b) - on(pair.a)
        };
        let signs: Vec<f64> = (0..model.nc()).map(sign).collect();
        let signs = Tensor::from_vec(signs, (1, model.nc(), 1), &Device::Cpu)?;
        let carried = force.broadcast_mul(&signs)?.sum(1)?.to_vec2::<f64>()?;
        let g = model.parameters.gravity.flatten_all()?.to_vec1::<f64>()?;
        let size = g.iter().map(|g| g * g).sum::<f64>().sqrt();
        let missing = |carried: &[f64]| -> f64 {
            (0..3).map(|k| (carried[k] + weight * g[k] / size).powi(2)).sum::<f64>().sqrt()
        };
        let held = |k: usize| self.solved[k] && away[k] < LOST && missing(&carried[k]) < CARRIED * weight;
        Ok((0..away.len()).map(held).collect())
    }
}

/// The commanded joints' part of configurations (B, nu).
fn joints(model: &Model, q: &Tensor) -> Result<Tensor> {
    let places = model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.q as u32).collect::<Vec<_>>();
    q.index_select(&Tensor::new(places, &Device::Cpu)?, 1)
}

/// Torques (B, nu) as generalised forces (B, nv).
fn scatter(model: &Model, torque: &Tensor) -> Result<Tensor> {
    let dofs = model.tree.actuated.iter().map(|&dof| dof as u32).collect::<Vec<_>>();
    let zeros = Tensor::zeros((torque.dim(0)?, model.nv()), DType::F64, &Device::Cpu)?;
    zeros.index_add(&Tensor::new(dofs, &Device::Cpu)?, torque, 1)
}

fn feed_forward(model: &Model, grasps: &[(Tensor, DVector<f64>)]) -> Result<Tensor> {
    let torques: Vec<&[f64]> = grasps.iter().map(|grasp| grasp.1.as_slice()).collect();
    scatter(model, &model.tensor(&torques)?)
}
