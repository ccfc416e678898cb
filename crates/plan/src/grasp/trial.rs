//! Simulated trials of grasps: PD control of the joints around the grasp, with the holding torques fed forward.

use candle_core::{DType, Device, Result, Tensor, bail};
use nalgebra::{DVector, Vector3};

use fingertip_scene::{JointKind, Scene};
use fingertip_shapes::largest::larger;
use fingertip_step::kinematics::Coordinate;
use fingertip_step::model::Model;
use fingertip_step::solve::Status;
use fingertip_step::step::{Dynamic, DynamicParams};
use fingertip_step::tensor::index;

/// A simulated trial: some time at rest, then pushes along ±x, ±y and ±z of the world, each followed by a rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// Time step, s.
    pub h: f64,
    /// Barrier parameter κ, 1/J. A contact with f newtons keeps a gap of 2/(κ f) metres, and a sticking one creeps by
    /// as much in a step. So κ must be large for an object to stay in place.
    pub kappa: f64,
    /// Proportional gain of the joints, N·m/rad or N/m.
    pub kp: f64,
    /// Velocity gain, N·m·s/rad or N·s/m. It acts implicitly, like the joints' damping.
    pub kv: f64,
    /// Time at rest, s.
    pub rest: f64,
    /// Force of each push, as a multiple of the object's weight.
    pub push: f64,
    /// Time of each push, and of each rest after it, s.
    pub pushing: f64,
}

impl Default for Trial {
    fn default() -> Self {
        Self { h: 2e-3, kappa: 1e8, kp: 100.0, kv: 1.0, rest: 3.0, push: 0.2, pushing: 0.2 }
    }
}

/// The outcome of a grasp's trial: how far the object moved, and whether it was held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Distance of the object from its position in the grasp after the rest, m.
    pub moved: f64,
    /// Largest distance from that position under the pushes, m.
    pub pushed: f64,
    /// Distance from that position after the last push and rest, m.
    pub displaced: f64,
    /// Was the object held at rest, before the pushes? That means it is carried by its contacts and nearer to its place
    /// than [`LOST`].
    pub held: bool,
    /// Was the object held at rest at the end too, after the pushes?
    pub held_pushed: bool,
}

/// An object farther than this from its place is lost, m.
pub const LOST: f64 = 5e-3;
/// Contacts carry the object if the unbalanced force is below this share of its weight.
const CARRIED: f64 = 0.05;
const PUSHES: [[f64; 3]; 6] =
    [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]];

impl Trial {
    /// Runs a trial of each grasp, all side by side. A grasp is a configuration (1, nq) and the torques of the
    /// commanded joints. The object to hold is the scene's first one that moves freely or without turning.
    ///
    /// # Errors
    /// If the scene has no such object with a weight, or a shape is wrong.
    pub fn run(&self, scene: &Scene, grasps: &[(Tensor, DVector<f64>)]) -> Result<Vec<Outcome>> {
        let model = self.model(scene)?;
        let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
        if grasps.is_empty() {
            return Ok(Vec::new());
        }
        let mut run = Run::new(&step, Load::of(&model, scene)?, self.kp, grasps)?;
        let steps = |time: f64| (time / self.h).round() as usize;
        for _ in 0..steps(self.rest) {
            run.advance([0.0; 3])?;
        }
        let (moved, held) = (run.away()?, run.held()?);
        let mut pushed = moved.clone();
        for direction in PUSHES {
            for push in [direction.map(|x| x * self.push * run.load.weight()), [0.0; 3]] {
                for _ in 0..steps(self.pushing) {
                    run.advance(push)?;
                    pushed.iter_mut().zip(run.away()?).for_each(|(most, now)| *most = larger(*most, now));
                }
            }
        }
        let (displaced, held_pushed) = (run.away()?, run.held()?);
        let outcome = |k: usize| Outcome {
            moved: moved[k],
            pushed: pushed[k],
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

/// The object to hold.
struct Load {
    body: usize,
    /// Index of the object's first number in q; `v` is that of its first degree of freedom.
    q: usize,
    v: usize,
    /// m g in world axes, N.
    force: Vector3<f64>,
}

impl Load {
    fn of(model: &Model, scene: &Scene) -> Result<Self> {
        let moves = |c: &&Coordinate| c.u.is_none() && matches!(c.kind, JointKind::Floating | JointKind::Translation);
        let Some(object) = model.tree.coordinates.iter().find(moves) else {
            bail!("grasp: expected an object with freedom = \"free\" or \"translation\"");
        };
        let mass = model.tree.bodies[object.body].inertia.as_ref().map_or(0.0, |inertia| inertia.mass);
        let force = Vector3::from(scene.gravity) * mass;
        if force.norm() == 0.0 {
            bail!("grasp: expected a weight of \"{}\", got no mass or no gravity", object.name);
        }
        Ok(Self { body: object.body, q: object.q, v: object.v, force })
    }

    fn weight(&self) -> f64 {
        self.force.norm()
    }
}

/// The worlds of a trial, one for each grasp: τ = τ_hold − K_p (q − q_grasp) on the commanded joints.
struct Run<'a> {
    step: &'a Dynamic,
    load: Load,
    kp: f64,
    start: Tensor,
    /// Holding torques τ_hold as generalised forces (B, nv).
    hold: Tensor,
    q: Tensor,
    v: Tensor,
    warm: Option<Tensor>,
    /// Forces on B of the last step (B, nc, 3).
    force: Tensor,
    solved: Vec<bool>,
}

impl<'a> Run<'a> {
    fn new(step: &'a Dynamic, load: Load, kp: f64, grasps: &[(Tensor, DVector<f64>)]) -> Result<Self> {
        let model = step.model();
        let torques: Vec<&[f64]> = grasps.iter().map(|grasp| grasp.1.as_slice()).collect();
        let start = Tensor::cat(&grasps.iter().map(|grasp| &grasp.0).collect::<Vec<_>>(), 0)?;
        let zeros = |n: usize| Tensor::zeros((grasps.len(), n), DType::F64, &Device::Cpu);
        Ok(Self {
            step,
            load,
            kp,
            hold: forces(model, &model.tensor(&torques)?)?,
            q: start.clone(),
            start,
            v: zeros(model.nv())?,
            warm: None,
            force: zeros(3 * model.nc())?.reshape(((), model.nc(), 3))?,
            solved: vec![true; grasps.len()],
        })
    }

    /// One step, with a force on the object in world axes, N.
    fn advance(&mut self, push: [f64; 3]) -> Result<()> {
        let model = self.step.model();
        let mut row = vec![0.0; model.nv()];
        row[self.load.v..self.load.v + 3].copy_from_slice(&push);
        let off = joints(model, &(&self.start - &self.q)?)?;
        let tau = (forces(model, &(off * self.kp)?)? + &self.hold)?.broadcast_add(&model.tensor(&[&row])?)?;
        let next = self.step.step_from(&self.q, &self.v, &tau, self.warm.as_ref())?;
        self.solved.iter_mut().zip(&next.reports).for_each(|(all, one)| *all &= one.status == Status::Solved);
        (self.q, self.v, self.warm, self.force) = (next.q_next, next.v_next, next.warm, next.force);
        Ok(())
    }

    /// Distance of each world's object from its start, m.
    fn away(&self) -> Result<Vec<f64>> {
        (&self.q - &self.start)?.narrow(1, self.load.q, 3)?.sqr()?.sum(1)?.sqrt()?.to_vec1()
    }

    /// Is each object near its place, and do its contacts carry it?
    fn held(&self) -> Result<Vec<bool>> {
        let model = self.step.model();
        let sign = |contact: usize| {
            let pair = &model.pairs.pairs[model.pairs.pair_of_contact[contact]];
            let on = |shape: usize| f64::from(u8::from(model.shapes[shape].body == self.load.body));
            on(pair.b) - on(pair.a)
        };
        let signs = Tensor::from_iter((0..model.nc()).map(sign), &Device::Cpu)?.reshape((1, (), 1))?;
        let carried = self.force.broadcast_mul(&signs)?.sum(1)?.to_vec2::<f64>()?;
        let rest = |carried: &[f64]| (Vector3::from_column_slice(carried) + self.load.force).norm();
        let away = self.away()?;
        let held = |k: usize| self.solved[k] && away[k] < LOST && rest(&carried[k]) < CARRIED * self.load.weight();
        Ok((0..away.len()).map(held).collect())
    }
}

/// The commanded joints' part of configurations (B, nu).
fn joints(model: &Model, q: &Tensor) -> Result<Tensor> {
    let places = model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.q);
    q.index_select(&index(places, &Device::Cpu)?, 1)
}

/// Torques (B, nu) as generalised forces (B, nv).
fn forces(model: &Model, torque: &Tensor) -> Result<Tensor> {
    let zeros = Tensor::zeros((torque.dim(0)?, model.nv()), DType::F64, &Device::Cpu)?;
    zeros.index_add(&index(model.tree.actuated.iter().copied(), &Device::Cpu)?, torque, 1)
}
