//! The step as a controller sees it: one command per period, which the model holds over some steps.

use candle_core::{DType, Device, Result, Tensor};
use nalgebra::DMatrix;

use crate::description::Scene;
use crate::kinematics::Manifold;
use crate::model::Model;
use crate::step::{Held, Quasidynamic};

/// A commanded joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its name, `"hand/thumb1"`.
    pub name: String,
    /// Its place in q.
    pub q: usize,
    /// Its degree of freedom.
    pub v: usize,
    /// Least position, rad or m; −∞ without a limit.
    pub lower: f64,
    /// Largest position, rad or m.
    pub upper: f64,
    /// Stiffness, N m/rad or N/m.
    pub stiffness: f64,
    /// Largest torque or force, N m or N; ∞ where the robot's description gives none.
    pub effort: f64,
}

/// A scene's step on plain numbers. A control period is `hold` steps of the model, for which a command is held.
#[derive(Clone, Debug)]
pub struct Simulator {
    step: Quasidynamic,
    manifold: Manifold,
    joints: Vec<Joint>,
    hold: usize,
}

/// ∂q₊/∂q (nv, nv) and ∂q₊/∂u (nv, nu) of a control period, in tangent coordinates.
#[derive(Clone, Debug)]
pub struct Linear {
    /// ∂q₊/∂q.
    pub a: DMatrix<f64>,
    /// ∂q₊/∂u.
    pub b: DMatrix<f64>,
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

    /// A step with parameters of its own.
    ///
    /// # Errors
    /// If the step's numbers are not `f64`, its parameters are not the same for all worlds, or `hold` is 0.
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
        let joint = |(u, c): (usize, &crate::kinematics::Coordinate)| Joint {
            name: c.name.clone(),
            q: c.q,
            v: c.v,
            lower: c.limits.map_or(f64::NEG_INFINITY, |limits| limits.lower),
            upper: c.limits.map_or(f64::INFINITY, |limits| limits.upper),
            stiffness: stiffness[u],
            effort: if c.effort > 0.0 { c.effort } else { f64::INFINITY },
        };
        let joints = commanded.map(joint).collect();
        Ok(Self { manifold: Manifold::new(&model.tree, &model.device)?, joints, hold, step })
    }

    /// The same with another barrier parameter, 1/J.
    ///
    /// # Errors
    /// Of the tensor operations.
    pub fn with_kappa(&self, kappa: f64) -> Result<Self> {
        let mut parameters = self.step.parameters().clone();
        parameters.kappa = Tensor::from_slice(&[kappa], (1, 1), &Device::Cpu)?;
        Ok(Self { step: self.step.with_parameters(&parameters)?, ..self.clone() })
    }

    /// The step.
    pub fn step(&self) -> &Quasidynamic {
        &self.step
    }

    /// The compiled scene.
    pub fn model(&self) -> &Model {
        self.step.model()
    }

    /// The commanded joints, in the order of u.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// Steps in a control period.
    pub fn hold(&self) -> usize {
        self.hold
    }

    /// The commanded joints' positions in q.
    pub fn positions(&self, q: &[f64]) -> Vec<f64> {
        self.joints.iter().map(|joint| q[joint.q]).collect()
    }

    /// One control period of each world: [`Quasidynamic::hold`] over it.
    ///
    /// # Errors
    /// If a length is not as said.
    pub fn advance(&self, q: &[f64], u: &[f64], warm: &[f64]) -> Result<Held> {
        self.step.hold(q, u, warm, self.hold)
    }

    /// q ⊕ δ.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn plus(&self, q: &[f64], delta: &[f64]) -> Result<Vec<f64>> {
        self.manifold.plus(q, delta)
    }

    /// The δ with `from` ⊕ δ = `to`.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn minus(&self, to: &[f64], from: &[f64]) -> Result<Vec<f64>> {
        self.manifold.minus(to, from)
    }

    /// The derivatives of control periods, given the state at the start of each of their steps (T · hold, nq), the periods'
    /// commands (T, nu) and the steps' own forces (T · hold, 3 nc + nl), where the solves start. All steps are linearised
    /// side by side, then chained: A = A_n … A₁, B = B_n + A_n (B_{n−1} + …).
    ///
    /// # Errors
    /// If a length is not as said.
    pub fn linearize(&self, q: &[f64], u: &[f64], warm: &[f64]) -> Result<Vec<Linear>> {
        let (nv, nu, n) = (self.model().nv(), self.joints.len(), self.hold);
        let held: Vec<f64> = u.chunks_exact(nu).flat_map(|u| std::iter::repeat_n(u, n).flatten().copied()).collect();
        let all = self.step.jacobians(q, &held, warm, false)?;
        let chain = |(a, b): (&[f64], &[f64])| {
            let mut steps = a
                .chunks_exact(nv * nv)
                .zip(b.chunks_exact(nv * nu))
                .map(|(a, b)| (DMatrix::from_row_slice(nv, nv, a), DMatrix::from_row_slice(nv, nu, b)));
            let (mut a, mut b) = steps.next().unwrap_or((DMatrix::identity(nv, nv), DMatrix::zeros(nv, nu)));
            for (next_a, next_b) in steps {
                b = &next_a * b + next_b;
                a = next_a * a;
            }
            Linear { a, b }
        };
        Ok(all.a.chunks_exact(n * nv * nv).zip(all.b.chunks_exact(n * nv * nu)).map(chain).collect())
    }
}
