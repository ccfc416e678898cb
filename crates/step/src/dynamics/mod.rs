//! Inertia, forces and accelerations of all that moves, M a + b = τ.
//!
//! [`Dynamics`] has the algorithms of rigid-body dynamics for a forest of bodies, as batched tensor operations.
//! Gradients reach q, v, a, τ, gravity, the bodies' inertias and the joints' positions. Full derivative matrices in
//! tangent coordinates are available too ([`Dynamics::inverse_dynamics_derivatives`],
//! [`Dynamics::forward_dynamics_derivatives`]).
//!
//! | quantity | algorithm | source |
//! |---|---|---|
//! | τ = M a + b | RNEA | Featherstone, table 5.1 |
//! | M | CRBA | table 6.2 |
//! | M⁻¹ and solves | M = Lᵀ D L | tables 6.3, 6.5 |
//! | a = M⁻¹ (τ − b) | ABA | table 7.1 |
//!
//! Everything is in world axes. v and a are along the axes of each joint's frame. For a free body v = (velocity of the
//! body frame's origin, ω), both along the world's axes, and a is its time derivative.

mod aba;
mod crba;
mod derivatives;
mod embedded;
mod energy;
mod frame_motion;
mod inertia;
mod links;
mod op;
mod quantity;
mod record;
mod rnea;
mod stages;
mod vjp;
mod weightless;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, bail};

use crate::kinematics::Tree;
use crate::tensor::operation::{Kernels, Operation};
use crate::tensor::rows::from_tensor;

pub(crate) use embedded::{MassAndBias, MassGradients, MassNumbers, State};
pub use frame_motion::{FrameMotion, ReferenceFrame};
pub use inertia::inertias_of;
pub(crate) use inertia::{ten_of, vjp_ten};
pub(crate) use links::{INERTIA, Links};
pub use quantity::Quantity;
pub use record::Kernel;

use op::DynamicsOp;
use stages::Operands;

/// The dynamics of all bodies of a scene.
///
/// Only bodies that can move count. Bodies fixed to the world add nothing to energies and the centre of mass.
/// A quaternion in q is normalised on reading; a zero quaternion gives numbers that are not finite, in its own world
/// only.
#[derive(Clone, Debug)]
pub struct Dynamics {
    links: Arc<Links>,
    kernels: Kernels,
    bodies: Vec<usize>,
    /// The names of all bodies.
    names: Arc<[String]>,
    weightless: Option<String>,
    gravity: Tensor,
    inertias: Tensor,
    offsets: Tensor,
}

/// τ or a at a state, with its derivatives in tangent coordinates.
#[derive(Clone, Debug)]
pub struct Derivatives {
    /// τ or a, (B, nv).
    pub value: Tensor,
    /// The derivative by q (B, nv, nv). Entry (i, j) is the change of number i per unit of δ_j in q ⊕ δ.
    pub by_q: Tensor,
    /// The derivative by v (B, nv, nv).
    pub by_v: Tensor,
    /// The derivative by a (which is M) or by τ (which is M⁻¹), (B, nv, nv).
    pub by_input: Tensor,
}

impl Dynamics {
    /// The dynamics under a gravity, m/s² in world axes.
    ///
    /// # Errors
    /// If `dtype` is neither `f32` nor `f64`, or the device cannot hold tensors.
    pub fn new(tree: &Tree, gravity: [f64; 3], dtype: DType, device: &Device) -> Result<Self> {
        let (links, bodies) = Links::new(tree);
        let inertias: Vec<f64> =
            bodies.iter().filter_map(|&b| tree.bodies[b].inertia.as_ref()).flat_map(inertia::ten).collect();
        let offsets: Vec<f64> = tree.bodies.iter().flat_map(|b| [b.xyz.x, b.xyz.y, b.xyz.z]).collect();
        if !matches!(dtype, DType::F32 | DType::F64) {
            bail!("dynamics: expected f32 or f64, got {dtype:?}");
        }
        let row = |data: Vec<f64>| {
            let n = data.len();
            Tensor::from_vec(data, (1, n), &Device::Cpu)
        };
        let (gravity, inertias, offsets) = (row(gravity.to_vec())?, row(inertias)?, row(offsets)?);
        let names = tree.bodies.iter().map(|body| body.name.clone()).collect();
        let links = Arc::new(links);
        let kernels = Kernels::default();
        let dynamics = Self { links, kernels, bodies, names, weightless: None, gravity, inertias, offsets };
        let weightless = dynamics.find_weightless(tree, &(0..tree.nv).collect::<Vec<_>>())?;
        let there = |tensor: &Tensor| tensor.to_dtype(dtype)?.to_device(device);
        Ok(Self {
            gravity: there(&dynamics.gravity)?,
            inertias: there(&dynamics.inertias)?,
            offsets: there(&dynamics.offsets)?,
            weightless,
            ..dynamics
        })
    }

    /// The bodies that have an inertia and can move, as indices in [`Tree::bodies`]: the order of
    /// [`Dynamics::inertias`].
    pub fn bodies(&self) -> &[usize] {
        &self.bodies
    }

    /// The bodies' inertias as the scene describes them, in the order of [`Dynamics::bodies`].
    pub(crate) fn described(&self, tree: &Tree) -> Vec<[f64; INERTIA]> {
        self.bodies.iter().filter_map(|&b| tree.bodies[b].inertia.as_ref()).map(inertia::ten).collect()
    }

    /// The tables that the kernels use.
    pub(crate) fn links(&self) -> &Arc<Links> {
        &self.links
    }

    /// Gravity (1, 3) in world axes, m/s².
    pub fn gravity_vector(&self) -> &Tensor {
        &self.gravity
    }

    /// Inertias (1, 10 n) of the n [`Dynamics::bodies`], each in its body's frame: mass M in kg, M c (three, kg·m; c
    /// the centre of mass), and xx, xy, xz, yy, yz, zz of the inertia about the frame's origin, kg·m². τ is linear in
    /// them.
    pub fn inertias(&self) -> &Tensor {
        &self.inertias
    }

    /// Positions (1, 3 bodies) of all bodies' joints in their parents' frames, m. The world comes first.
    pub fn offsets(&self) -> &Tensor {
        &self.offsets
    }

    /// These dynamics with another gravity vector (1 or B, 3), m/s².
    ///
    /// # Errors
    /// If the shape or type is wrong.
    pub fn with_gravity(mut self, gravity: &Tensor) -> Result<Self> {
        self.gravity = self.expect("gravity", gravity, 3, 1)?;
        Ok(self)
    }

    /// These dynamics with other inertias of the bodies (1 or B, 10 n), laid out like [`Dynamics::inertias`]; see
    /// [`inertias_of`].
    ///
    /// # Errors
    /// If the shape or type is wrong.
    pub fn with_inertias(mut self, inertias: &Tensor) -> Result<Self> {
        self.inertias = self.expect("inertias", inertias, INERTIA * self.bodies.len(), 1)?;
        Ok(self)
    }

    /// These dynamics with joints at other positions (1 or B, 3 bodies), m, laid out like [`Dynamics::offsets`].
    ///
    /// # Errors
    /// If the shape or type is wrong.
    pub fn with_offsets(mut self, offsets: &Tensor) -> Result<Self> {
        self.offsets = self.expect("offsets", offsets, self.links.n_offsets, 1)?;
        Ok(self)
    }

    /// Inverse dynamics (RNEA): the τ (B, nv) that causes the accelerations a at (q, v).
    ///
    /// # Errors
    /// If a shape is not (B, nq), (B, nv), (B, nv), or a type is not that of [`Dynamics::new`]. A single row stands for
    /// all worlds.
    pub fn inverse_dynamics(&self, q: &Tensor, v: &Tensor, a: &Tensor) -> Result<Tensor> {
        self.apply(Quantity::InverseDynamics, &[("q", q), ("v", v), ("a", a)])
    }

    /// The bias b (B, nv): the Coriolis, centrifugal and gravity terms in M a + b = τ.
    ///
    /// # Errors
    /// If a shape is not (B, nq), (B, nv).
    pub fn bias(&self, q: &Tensor, v: &Tensor) -> Result<Tensor> {
        self.apply(Quantity::Bias, &[("q", q), ("v", v)])
    }

    /// The τ (B, nv) that holds the weight at rest: b at v = 0.
    ///
    /// # Errors
    /// If the shape of q is not (B, nq).
    pub fn gravity(&self, q: &Tensor) -> Result<Tensor> {
        self.apply(Quantity::Gravity, &[("q", q)])
    }

    /// The joint-space inertia matrix M (B, nv, nv): CRBA.
    ///
    /// # Errors
    /// If the shape of q is not (B, nq).
    pub fn mass_matrix(&self, q: &Tensor) -> Result<Tensor> {
        let n = self.links.nv;
        self.apply(Quantity::MassMatrix, &[("q", q)])?.reshape(((), n, n))
    }

    /// M⁻¹ (B, nv, nv), from the factor of M.
    ///
    /// # Errors
    /// If the shape of q is not (B, nq), or a joint moves no mass.
    pub fn inverse_mass_matrix(&self, q: &Tensor) -> Result<Tensor> {
        self.all_heavy()?;
        let n = self.links.nv;
        self.apply(Quantity::InverseMassMatrix, &[("q", q)])?.reshape(((), n, n))
    }

    /// Forward dynamics (ABA): the acceleration a (B, nv) under τ at (q, v).
    ///
    /// # Errors
    /// If a shape is not (B, nq), (B, nv), (B, nv), or a joint moves no mass.
    pub fn forward_dynamics(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<Tensor> {
        self.all_heavy()?;
        self.apply(Quantity::ForwardDynamics, &[("q", q), ("v", v), ("tau", tau)])
    }

    /// Kinetic and potential energy (B, 2), J. The potential energy is zero at the world's origin.
    ///
    /// # Errors
    /// If a shape is not (B, nq), (B, nv).
    pub fn energy(&self, q: &Tensor, v: &Tensor) -> Result<Tensor> {
        self.apply(Quantity::Energy, &[("q", q), ("v", v)])
    }

    /// Centre of mass (B, 3) of all bodies that can move, m in world axes. Not finite if nothing has mass.
    ///
    /// # Errors
    /// If the shape of q is not (B, nq).
    pub fn centre_of_mass(&self, q: &Tensor) -> Result<Tensor> {
        self.apply(Quantity::CentreOfMass, &[("q", q)])
    }

    /// τ = RNEA(q, v, a) with ∂τ/∂q, ∂τ/∂v and ∂τ/∂a = M at once. The results carry no graph.
    ///
    /// # Errors
    /// If a shape is not (B, nq), (B, nv), (B, nv).
    pub fn inverse_dynamics_derivatives(&self, q: &Tensor, v: &Tensor, a: &Tensor) -> Result<Derivatives> {
        self.derivatives(Quantity::InverseDynamicsDerivatives, &[("q", q), ("v", v), ("a", a)])
    }

    /// a = ABA(q, v, τ) with ∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ at once. The results carry no graph.
    ///
    /// # Errors
    /// If a shape is not (B, nq), (B, nv), (B, nv), or a joint moves no mass.
    pub fn forward_dynamics_derivatives(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<Derivatives> {
        self.all_heavy()?;
        self.derivatives(Quantity::ForwardDynamicsDerivatives, &[("q", q), ("v", v), ("tau", tau)])
    }

    /// q and the further numbers side by side, one row per world.
    fn state(&self, parts: &[(&str, &Tensor)]) -> Result<Tensor> {
        let mut rows = 1;
        for (k, (name, part)) in parts.iter().enumerate() {
            let n = if k == 0 { self.links.nq } else { self.links.nv };
            rows = self.expect(name, part, n, rows)?.dim(0)?.max(rows);
        }
        let mut worlds = rows;
        for (name, part) in [("gravity", &self.gravity), ("inertias", &self.inertias), ("offsets", &self.offsets)] {
            worlds = self.expect(name, part, part.dim(1)?, worlds)?.dim(0)?.max(worlds);
        }
        let parts: Vec<Tensor> =
            parts.iter().map(|(_, part)| part.broadcast_as((rows, part.dim(1)?))).collect::<Result<_>>()?;
        if parts.len() == 1 { parts[0].contiguous() } else { Tensor::cat(&parts, 1) }
    }

    /// Gravity and inertias side by side.
    fn parameters(&self) -> Result<Tensor> {
        let b = self.gravity.dim(0)?.max(self.inertias.dim(0)?);
        let (gravity, inertias) = (&self.gravity, &self.inertias);
        Tensor::cat(&[gravity.broadcast_as((b, gravity.dim(1)?))?, inertias.broadcast_as((b, inertias.dim(1)?))?], 1)
    }

    /// A tensor of `n` columns of the forest's type, with one row, or `rows` of them; any number if that is 1.
    fn expect(&self, name: &str, tensor: &Tensor, n: usize, rows: usize) -> Result<Tensor> {
        match tensor.dims() {
            &[b, width] if width == n && b > 0 && (b == 1 || rows == 1 || b == rows) => {}
            other if rows == 1 => bail!("{name}: expected shape (1 or B, {n}), got {other:?}"),
            other => bail!("{name}: expected shape ({rows}, {n}) or (1, {n}), got {other:?}"),
        }
        if tensor.dtype() != self.gravity.dtype() {
            let (own, other) = (self.gravity.dtype(), tensor.dtype());
            bail!("{name}: expected {own:?}, the type that the dynamics were made for, got {other:?}");
        }
        Ok(tensor.clone())
    }

    fn apply(&self, quantity: Quantity, parts: &[(&str, &Tensor)]) -> Result<Tensor> {
        let op = Operation::new(DynamicsOp { links: self.links.clone(), quantity }, &self.kernels);
        self.state(parts)?.apply_op3(&self.parameters()?, &self.offsets, op)
    }

    /// One row of numbers per world, and the number of worlds.
    fn evaluate(&self, quantity: Quantity, parts: &[(&str, &Tensor)]) -> Result<(Vec<f64>, usize)> {
        let operands = Operands {
            state: from_tensor(&self.state(parts)?)?,
            parameters: from_tensor(&self.parameters()?)?,
            offsets: from_tensor(&self.offsets)?,
        };
        op::evaluate(&self.links, quantity, operands)
    }

    fn derivatives(&self, quantity: Quantity, parts: &[(&str, &Tensor)]) -> Result<Derivatives> {
        let (data, b) = self.evaluate(quantity, parts)?;
        let (n, dtype) = (self.links.nv, parts[0].1.dtype());
        let packed = Tensor::from_vec(data, (b, n + 3 * n * n), &Device::Cpu)?.to_dtype(dtype)?;
        let square = |k: usize| packed.narrow(1, n + k * n * n, n * n)?.reshape((b, n, n));
        Ok(Derivatives { value: packed.narrow(1, 0, n)?, by_q: square(0)?, by_v: square(1)?, by_input: square(2)? })
    }
}
