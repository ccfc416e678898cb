//! The step as a controller sees it: one command per period, which the model holds over several steps.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Result, Tensor};
use nalgebra::{DMatrix, DMatrixView, DVector};

use super::under_way::LONGEST;
use fingertip_scene::Scene;
use fingertip_step::kinematics::Manifold;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::solve::Accuracy;
use fingertip_step::step::{Held, Quasidynamic, SparseRows};

/// A commanded joint: its name, its place in q, its stiffness and its limits.
#[derive(Clone, Debug)]
pub struct Joint {
    /// The joint's name, such as `"hand/thumb1"`.
    pub name: String,
    /// Index of the joint's position in q.
    pub q: usize,
    /// Index of the joint among the degrees of freedom.
    pub v: usize,
    /// Smallest position, rad or m. −∞ without a limit.
    pub lower: f64,
    /// Largest position, rad or m. ∞ without a limit.
    pub upper: f64,
    /// Stiffness, N m/rad or N/m.
    pub stiffness: f64,
    /// Largest torque or force, N m or N; ∞ if the robot's description gives none.
    pub effort: f64,
    /// Largest speed, rad/s or m/s; ∞ if the robot's description gives none.
    pub velocity: f64,
}

/// Worlds in a register for a plan, a line search and samples.
#[cfg(feature = "native")]
const WIDTHS: [usize; 3] = [1, 4, 8];

/// A scene's step on plain numbers. A control period is `hold` steps of the model with one command.
#[derive(Clone, Debug)]
pub struct Simulator {
    step: Quasidynamic,
    manifold: Manifold,
    joints: Vec<Joint>,
    hold: usize,
    /// h, s.
    h: f64,
    kappa: f64,
    /// μ of each contact.
    friction: Vec<f64>,
}

/// The derivatives of a control period in tangent coordinates.
#[derive(Clone, Debug)]
pub struct Linear {
    /// ∂q₊/∂q (nv, nv).
    pub a: DMatrix<f64>,
    /// ∂q₊/∂u (nv, nu).
    pub b: DMatrix<f64>,
    /// The forces at its end, if requested.
    pub forces: Option<Forces>,
}

/// The contact forces λ of a period's last step, along each contact's normal and tangents, and their derivatives, of
/// the n contacts that have a force: a hand as its maker ships it has thousands, of which some tens are near.
#[derive(Clone, Debug)]
pub struct Forces {
    /// The contacts (n), in ascending order.
    pub contacts: Vec<usize>,
    /// λ (3 n), N.
    pub lambda: DVector<f64>,
    /// ∂λ/∂q (3 n, nv).
    pub c: DMatrix<f64>,
    /// ∂λ/∂u (3 n, nu).
    pub d: DMatrix<f64>,
}

impl Simulator {
    /// The step of a scene, in `f64` on the CPU.
    ///
    /// # Errors
    /// If the scene is not valid, or `hold` is 0.
    pub fn new(scene: &Scene, hold: usize) -> Result<Self> {
        let model = Model::new(scene, DType::F64, &Device::Cpu)?;
        Self::of_step(Quasidynamic::new(&model, &model.parameters)?, hold)
    }

    /// A simulator of a given step, with that step's parameters.
    ///
    /// # Errors
    /// If the step's number type is not `f64`, its parameters differ between worlds, or `hold` is 0.
    pub fn of_step(step: Quasidynamic, hold: usize) -> Result<Self> {
        let model = step.model();
        if hold == 0 || model.dtype != DType::F64 {
            candle_core::bail!("simulator: expected a step of F64 and hold ≥ 1, got {:?} and {hold}", model.dtype);
        }
        let stiffness = step.parameters().stiffness.flatten_all()?.to_vec1::<f64>()?;
        if stiffness.len() != model.nu() {
            candle_core::bail!("simulator: expected parameters with one row for all worlds");
        }
        if stiffness.is_empty() {
            candle_core::bail!("simulator: expected a scene with commanded joints, got none");
        }
        let commanded = model.tree.coordinates.iter().filter_map(|c| c.u.map(|u| (u, c)));
        let joint = |(u, c): (usize, &fingertip_step::kinematics::Coordinate)| Joint {
            name: c.name.clone(),
            q: c.q,
            v: c.v,
            lower: c.limits.map_or(f64::NEG_INFINITY, |limits| limits.lower),
            upper: c.limits.map_or(f64::INFINITY, |limits| limits.upper),
            stiffness: stiffness[u],
            effort: if c.effort > 0.0 { c.effort } else { f64::INFINITY },
            velocity: if c.velocity > 0.0 { c.velocity } else { f64::INFINITY },
        };
        let joints = commanded.map(joint).collect();
        let first = |t: &Tensor| Ok::<_, candle_core::Error>(t.flatten_all()?.to_vec1::<f64>()?[0]);
        let (h, kappa) = (first(&step.parameters().h)?, first(&step.parameters().kappa)?);
        let mu = step.parameters().mu.narrow(0, 0, 1)?.flatten_all()?.to_vec1::<f64>()?;
        let friction = model.pairs.pair_of_contact.iter().map(|&pair| mu[pair]).collect();
        Ok(Self { manifold: Manifold::new(&model.tree, &model.device)?, joints, hold, h, kappa, friction, step })
    }

    /// A copy of this simulator with another barrier parameter κ, 1/J.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn with_kappa(&self, kappa: f64) -> Result<Self> {
        let mut parameters = self.step.parameters().clone();
        parameters.kappa = Tensor::from_slice(&[kappa], (1, 1), &Device::Cpu)?;
        self.with_parameters(&parameters)
    }

    /// A copy of this simulator whose step has other parameters.
    ///
    /// # Errors
    /// As [`Simulator::of_step`], or if a parameter's shape or type differs from the model's.
    pub fn with_parameters(&self, parameters: &Parameters) -> Result<Self> {
        Self::of_step(self.step.with_parameters(parameters)?, self.hold)
    }

    /// A copy of this simulator with native code, see [`Quasidynamic::native`]. The kernels that planners need are
    /// compiled here, not at their first command.
    ///
    /// # Errors
    /// As [`Quasidynamic::native`], and if the compiler rejects the code.
    #[cfg(feature = "native")]
    pub fn native(&self) -> Result<Self> {
        let step = self.step.native()?;
        let q = self.model().tree.home();
        let u = self.positions(&q);
        step.hold(&q, &u, None, 1)?;
        for worlds in WIDTHS {
            step.hold_to(Accuracy::Rough, [&q.repeat(worlds), &u.repeat(worlds)], None, 1)?;
        }
        Ok(Self { step, ..self.clone() })
    }

    /// The step of the model that plans are made with.
    pub fn step(&self) -> &Quasidynamic {
        &self.step
    }

    /// The compiled scene that is stepped.
    pub fn model(&self) -> &Model {
        self.step.model()
    }

    /// The commanded joints, in the order of u.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// The commanded joints of each finger, as indices among them: of each branch of a robot behind the joints that
    /// move all of it. These are a group of their own.
    pub(super) fn fingers(&self) -> Vec<Vec<usize>> {
        let tree = &self.model().tree;
        let body = |joint: &Joint| tree.coordinates.iter().find(|c| c.q == joint.q).map_or(0, |c| c.body);
        let bodies: Vec<usize> = self.joints.iter().map(body).collect();
        let moves = |above: usize, mut below: usize| {
            while below > above {
                below = tree.bodies[below].parent;
            }
            below == above
        };
        let owner = |joint: usize| tree.bodies[bodies[joint]].owner;
        let all = 0..bodies.len();
        let moves_all =
            |joint: usize| all.clone().all(|other| owner(other) != owner(joint) || moves(bodies[joint], bodies[other]));
        let mut fingers: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for joint in all.clone() {
            let root = all.clone().find(|&above| !moves_all(above) && moves(bodies[above], bodies[joint]));
            fingers.entry((owner(joint), root)).or_default().push(joint);
        }
        fingers.into_values().collect()
    }

    /// The barrier parameter κ, 1/J.
    pub fn kappa(&self) -> f64 {
        self.kappa
    }

    /// The friction coefficient of each contact (nc).
    pub fn friction(&self) -> &[f64] {
        &self.friction
    }

    /// The number of steps in a control period.
    pub fn hold(&self) -> usize {
        self.hold
    }

    /// The length of a control period, s.
    pub fn period(&self) -> f64 {
        self.h * self.hold as f64
    }

    /// A latency, s, in steps of the model.
    pub(super) fn steps_of(&self, latency: f64) -> Result<usize> {
        let longest = LONGEST as f64 * self.period();
        if !(0.0..=longest).contains(&latency) {
            candle_core::bail!("latency: expected from 0 to {longest} s, {LONGEST} control periods, got {latency}");
        }
        let steps = latency / self.period() * self.hold as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and some hundreds")]
        Ok(steps.round() as usize)
    }

    /// A latency of so many steps of the model that is longer by `more`, s, in steps; at least 0 and at most the
    /// longest possible.
    pub(super) fn steps_beside(&self, steps: usize, more: f64) -> usize {
        let most = LONGEST * self.hold;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and some hundreds")]
        let steps = (steps as f64 + more / self.h).clamp(0.0, most as f64).round() as usize;
        steps
    }

    /// The commanded joints' positions, taken from q.
    pub fn positions(&self, q: &[f64]) -> Vec<f64> {
        self.joints.iter().map(|joint| q[joint.q]).collect()
    }

    /// One control period in each world: [`Quasidynamic::hold`] over its steps.
    ///
    /// # Errors
    /// If a length is wrong.
    pub fn advance(&self, q: &[f64], u: &[f64], warm: Option<&SparseRows>) -> Result<Held> {
        self.step.hold(q, u, warm, self.hold)
    }

    /// q ⊕ δ.
    ///
    /// # Errors
    /// If a length is wrong.
    pub fn plus(&self, q: &[f64], delta: &[f64]) -> Result<Vec<f64>> {
        self.manifold.plus(q, delta)
    }

    /// The δ with `from` ⊕ δ = `to`.
    ///
    /// # Errors
    /// If a length is wrong.
    pub fn minus(&self, to: &[f64], from: &[f64]) -> Result<Vec<f64>> {
        self.manifold.minus(to, from)
    }

    /// The derivatives of T control periods. The inputs are the state at the start of each step (T · hold, nq), the
    /// periods' commands (T, nu), and the steps' own forces (T · hold, n_warm), from which the solves start. All steps
    /// are linearised side by side and then chained: A = A_n … A₁, B = B_n + A_n (B_{n−1} + …). With `forces`, the
    /// derivatives of the last step's forces are included.
    ///
    /// # Errors
    /// If a length is wrong.
    pub fn linearize(&self, q: &[f64], u: &[f64], warm: Option<&SparseRows>, forces: bool) -> Result<Vec<Linear>> {
        self.linearize_to(Accuracy::Fine, [q, u], warm, forces)
    }

    /// [`Simulator::linearize`] with a given accuracy of the solves. From forces that are rough already, rough solves
    /// take one step, which leaves the square of their error.
    pub(super) fn linearize_to(
        &self,
        accuracy: Accuracy,
        [q, u]: [&[f64]; 2],
        warm: Option<&SparseRows>,
        forces: bool,
    ) -> Result<Vec<Linear>> {
        let (nv, nu, nc, n) = (self.model().nv(), self.joints.len(), self.model().nc(), self.hold);
        let held: Vec<f64> = u.chunks_exact(nu).flat_map(|u| std::iter::repeat_n(u, n).flatten().copied()).collect();
        let all = self.step.jacobians_to(accuracy, [q, &held], warm, forces)?;
        // Rows one after the other are a transposed matrix's columns: (A | B)ᵀ is carried on, ← (A | B)ᵀ Aₖᵀ + (0 |
        // Bₖ)ᵀ.
        let chain = |period: usize| {
            let a = |k: usize| DMatrixView::from_slice(&all.a[k * nv * nv..][..nv * nv], nv, nv);
            let b = |k: usize| DMatrixView::from_slice(&all.b[k * nv * nu..][..nv * nu], nu, nv);
            let (first, last) = (period * n, period * n + n - 1);
            let mut sum = DMatrix::zeros(nv + nu, nv);
            sum.rows_mut(0, nv).copy_from(&a(first));
            sum.rows_mut(nv, nu).copy_from(&b(first));
            let mut before = DMatrix::zeros(nv + nu, nv);
            for k in first + 1..=last {
                std::mem::swap(&mut sum, &mut before);
                before.mul_to(&a(k), &mut sum);
                let mut own = sum.rows_mut(nv, nu);
                own += b(k);
            }
            let own_forces = all.forces.as_ref().map(|all| {
                let own = all.of_world(last);
                let n_forces = all.rows[own.clone()].iter().filter(|[_, place]| *place < 3 * nc).count();
                let own = own.start..own.start + n_forces;
                let contacts: Vec<usize> =
                    all.rows[own.clone()].iter().step_by(3).map(|[_, place]| place / 3).collect();
                let lambda = DVector::from_column_slice(&all.lambda[own.clone()]);
                let rows = |of: &[f64], width: usize| {
                    DMatrix::from_row_slice(n_forces, width, &of[own.start * width..own.end * width])
                };
                let (mut c, mut d) = (rows(&all.c, nv), rows(&all.d, nu));
                if n > 1 {
                    let by_start = &c * before.transpose();
                    d += by_start.columns(nv, nu);
                    c = by_start.columns(0, nv).into_owned();
                }
                Forces { contacts, lambda, c, d }
            });
            Linear { a: sum.rows(0, nv).transpose(), b: sum.rows(nv, nu).transpose(), forces: own_forces }
        };
        Ok((0..u.len() / nu).map(chain).collect())
    }
}
