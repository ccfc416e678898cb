//! A world with momentum: the second-order step, whose joints are held by critically damped springs.

use candle_core::{DType, Device, Result, Tensor, bail};

use fingertip_scene::Scene;
use fingertip_step::kinematics::Tree;
use fingertip_step::model::Model;
use fingertip_step::overrides::Overrides;
use fingertip_step::solve::Status;
use fingertip_step::step::{Dynamic, DynamicParams};

/// The longest step, s.
const H: f64 = 1e-3;

/// A world that moves by the second-order step under the commands of a quasi-dynamic one: it has velocities, so that
/// objects slide and roll on.
///
/// Commands drive joints, and the joints of their tendons, by springs, τ = K (u − q) + g(q), which carry the robot's
/// own weight, and are damped by 2 √(K M_jj) with the inertia M_jj that they move at home, in the place of the robot's
/// own damping and dry friction. Friction of contacts is Coulomb's.
#[derive(Clone, Debug)]
pub struct SecondOrder {
    step: Dynamic,
    drives: Vec<Drive>,
    v: Vec<f64>,
    warm: Vec<f64>,
    /// Number of second-order steps in one step of the scene.
    finer: usize,
}

/// The spring by which a command pulls its joint.
#[derive(Clone, Debug)]
struct Drive {
    /// The command's joint.
    name: String,
    /// N·m/rad or N/m.
    stiffness: f64,
    /// Degree of freedom, place in q and ratio of each coordinate that it pulls, its own joint's first.
    pulls: Vec<(usize, usize, f64)>,
}

impl Drive {
    fn all(tree: &Tree, stiffness: Vec<f64>) -> Vec<Self> {
        let of = |(c, stiffness): (&fingertip_step::kinematics::Coordinate, f64)| {
            let others = c.others.iter().map(|&(other, ratio)| (&tree.coordinates[other], ratio));
            let pulls = std::iter::once((c, 1.0)).chain(others).map(|(c, ratio)| (c.v, c.q, ratio)).collect();
            Self { name: c.name.clone(), stiffness, pulls }
        };
        tree.coordinates.iter().filter(|c| c.u.is_some()).zip(stiffness).map(of).collect()
    }

    /// The force of the spring under a command, N·m or N.
    fn force(&self, q: &[f64], u: f64) -> f64 {
        let length: f64 = self.pulls.iter().map(|&(_, at, ratio)| ratio * q[at]).sum();
        self.stiffness * (u - length)
    }
}

/// Result of one step of the scene.
#[derive(Clone, Debug)]
pub struct Advanced {
    /// The next state (nq).
    pub q: Vec<f64>,
    /// Contact forces on B in world axes (nc, 3) in the last of its own steps, N.
    pub force: Vec<f64>,
    /// Number of second-order steps without a solution.
    pub unsolved: usize,
}

impl SecondOrder {
    /// At rest. `scene` has the step that commands are given for, and κ. Its own steps are of a millisecond at most.
    ///
    /// # Errors
    /// If the scene is not valid, an override is not of its model, or no step begins at home, as where a joint moves no
    /// mass.
    pub fn new(scene: &Scene, overrides: &Overrides) -> Result<Self> {
        let mut scene = scene.clone();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
        let finer = (scene.params.h / H).ceil().max(1.0) as usize;
        // Friction creeps by so much in each step: in finer steps contact is harder.
        let h = scene.params.h / finer as f64;
        scene.params = scene.params.with_step(h);
        let undamped = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let parameters = overrides.parameters(&undamped, &undamped.parameters)?;
        let drives = Drive::all(&undamped.tree, parameters.stiffness.flatten_all()?.to_vec1()?);
        let first = Dynamic::new(&undamped, &parameters, DynamicParams::default())?;
        let inertia = first.dynamics().mass_matrix(&undamped.home(1)?)?.squeeze(0)?.to_vec2::<f64>()?;
        for robot in &mut scene.robots {
            for own in &mut robot.articulation.joints {
                let name = format!("{}/{}", robot.name, own.name);
                if let Some(Drive { stiffness, pulls, .. }) = drives.iter().find(|drive| drive.name == name) {
                    let dof = pulls[0].0;
                    own.friction = 0.0;
                    own.damping = 2.0 * (stiffness * inertia[dof][dof]).sqrt();
                }
            }
        }
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let parameters = overrides.parameters(&model, &model.parameters)?;
        let step = Dynamic::new(&model, &parameters, DynamicParams::default())?;
        let (home, still) = (model.home(1)?, Tensor::zeros((1, model.nv()), DType::F64, &Device::Cpu)?);
        if step.step(&home, &still, &still)?.reports[0].status == Status::BadInput {
            bail!("second-order step: {}", step.why_bad_input(&home, &still, &still, 0)?);
        }
        Ok(Self { step, drives, v: vec![0.0; model.nv()], warm: Vec::new(), finer })
    }

    /// The velocity (nv), m/s and rad/s.
    pub fn velocity(&self) -> &[f64] {
        &self.v
    }

    /// One step of the scene from q (nq) under u (nu).
    ///
    /// # Errors
    /// If q or u has another length.
    pub fn advance(&mut self, q: &[f64], u: &[f64]) -> Result<Advanced> {
        if u.len() != self.drives.len() {
            bail!("u: expected {} numbers, got {}", self.drives.len(), u.len());
        }
        let mut next = Advanced { q: q.to_vec(), force: Vec::new(), unsolved: 0 };
        for _ in 0..self.finer {
            let q = &next.q;
            let weight =
                self.step.dynamics().gravity(&self.step.model().tensor(&[q])?)?.flatten_all()?.to_vec1::<f64>()?;
            let mut tau = vec![0.0; self.v.len()];
            for (dof, ..) in self.drives.iter().flat_map(|drive| &drive.pulls) {
                tau[*dof] = weight[*dof];
            }
            for (drive, &u) in self.drives.iter().zip(u) {
                let force = drive.force(q, u);
                drive.pulls.iter().for_each(|&(dof, _, ratio)| tau[dof] += ratio * force);
            }
            let step = self.step.step_numbers(q, &self.v, &tau, &self.warm)?;
            let unsolved = step.reports.iter().filter(|report| report.status != Status::Solved).count();
            (self.v, self.warm) = (step.v_next, step.warm);
            next = Advanced { q: step.q_next, force: step.force, unsolved: next.unsolved + unsolved };
        }
        Ok(next)
    }
}
