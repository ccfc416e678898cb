//! Gradients against central differences.
//!
//! A difference errs by truncation, which grows with its step, and by rounding, which falls with it; no one step suits a
//! gap of a micrometre and one of a centimetre. So several are tried and the best agreement counts: a wrong gradient
//! agrees with none of them.

use candle_core::{Error, Result, Tensor, Var};
use fingertip::Parameters;
use fingertip::kinematics::Manifold;
use fingertip::math::largest::{larger, largest};
use fingertip::step::{Linearization, Quasidynamic, Step};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::states::State;

/// Steps of the differences in q and u, rad and m, and relative ones for parameters.
const STEPS: [f64; 5] = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8];

/// How far the gradients are off, relative to the largest entry.
pub struct Gradients {
    /// A and B, ∂q₊/∂q and ∂q₊/∂u.
    pub motion: f64,
    /// C and D, ∂λ/∂q and ∂λ/∂u.
    pub force: f64,
    /// ∂(q₊, f)/∂ all parameters, along a random direction.
    pub parameters: f64,
    /// ∂δ_a/∂u K⁻¹ is a block of H⁻¹: how far it is from symmetric.
    pub asymmetry: f64,
}

impl Gradients {
    /// Compares all of them at a solved step.
    pub fn of(step: &Quasidynamic, state: &State, warm: &Tensor, seed: u64) -> Result<Self> {
        let Linearization { a, b, c, d, .. } = step.linearize(&state.q, &state.u)?;
        let (motion, force) = (Tensor::cat(&[&a, &b], 2)?, Tensor::cat(&[&c, &d], 2)?);
        let mut own = Self {
            motion: f64::INFINITY,
            force: f64::INFINITY,
            parameters: directional(step, state, warm, seed)?,
            asymmetry: asymmetry(step, &b)?,
        };
        for size in STEPS {
            let (motion_by_differences, force_by_differences) = differences(step, state, warm, size)?;
            own.motion = own.motion.min(off(&motion, &motion_by_differences)?);
            own.force = own.force.min(off(&force, &force_by_differences)?);
        }
        Ok(own)
    }
}

/// All of [A B] and [C D] at once: a world for each change, four points per derivative (error ∝ size⁴).
fn differences(step: &Quasidynamic, state: &State, warm: &Tensor, size: f64) -> Result<(Tensor, Tensor)> {
    let model = step.model();
    let manifold = Manifold::new(&model.tree, &model.device)?;
    let (nv, nu) = (model.nv(), model.nu());
    let n = nv + nu;
    let wide = |t: &Tensor| t.broadcast_as((n, t.dim(1)?))?.contiguous();
    let (q, u) = (wide(&state.q)?, wide(&state.u)?);
    let at = |by: f64| -> Result<(Tensor, Tensor)> {
        let changes = (Tensor::eye(n, model.dtype, &model.device)? * by)?;
        let q = manifold.integrate(&q, &changes.narrow(1, 0, nv)?.contiguous()?)?;
        let u = (&u + changes.narrow(1, nv, nu)?)?;
        let result = step.step_from(&q, &u, Some(&wide(warm)?))?;
        let lambda = result.lambda_and_torque()?;
        Ok((result.q_next, lambda))
    };
    let center = step.step_from(&state.q, &state.u, Some(warm))?.q_next;
    let slope = |near: [&Tensor; 2], far: [&Tensor; 2]| -> Result<Tensor> {
        ((near[0] - near[1])? * (8.0 / (12.0 * size)))? - ((far[0] - far[1])? * (1.0 / (12.0 * size)))?
    };
    let (ahead, behind, far_ahead, far_behind) = (at(size)?, at(-size)?, at(2.0 * size)?, at(-2.0 * size)?);
    let by_numbers = slope([&ahead.0, &behind.0], [&far_ahead.0, &far_behind.0])?;
    // From quaternions' numbers to tangents: ω = 4 Nᵀ dq/dt at the center, as NᵀN = ¼ 1.
    let center = center.broadcast_as((n, model.nq()))?.contiguous()?;
    let motion = tangent_velocity(&manifold, model, &center, &by_numbers)?.t()?;
    let force = slope([&ahead.1, &behind.1], [&far_ahead.1, &far_behind.1])?.t()?;
    Ok((motion.unsqueeze(0)?, force.unsqueeze(0)?))
}

/// Velocities of q's numbers as velocities in tangent coordinates.
fn tangent_velocity(manifold: &Manifold, model: &fingertip::Model, q: &Tensor, velocity: &Tensor) -> Result<Tensor> {
    // `to_tangent` gives Nᵀ v where numbers are a quaternion, and v itself elsewhere.
    let mut factors = vec![1.0; model.nv()];
    for coordinate in model.tree.coordinates.iter().filter(|c| c.kind.nq() != c.kind.nv()) {
        factors[coordinate.v + 3..coordinate.v + 6].fill(4.0);
    }
    manifold.to_tangent(q, velocity)?.broadcast_mul(&model.tensor(&[&factors])?)
}

/// The derivative of a random sum of q₊ and forces along a random direction of all parameters.
fn directional(step: &Quasidynamic, state: &State, warm: &Tensor, seed: u64) -> Result<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut like = |t: &Tensor| -> Result<Tensor> {
        let values = (0..t.elem_count()).map(|_| random.random_range(-1.0..1.0)).collect::<Vec<f64>>();
        Tensor::from_vec(values, t.shape(), t.device())
    };
    let parameters = step.parameters();
    let result = step.step_from(&state.q, &state.u, Some(warm))?;
    let (seed_q, seed_f) = (like(&result.q_next)?, like(&result.force)?);
    let value = |result: &Step| -> Result<Tensor> {
        (&result.q_next * &seed_q)?.sum_all()? + (&result.force * &seed_f)?.sum_all()?
    };
    // Along a relative change, so that zeros (a friction that is absent, a half-space's sizes) stay.
    let direction = parameters.map(|_, t| t * like(t)?)?;
    let variables = parameters.tensors().into_iter().map(Var::from_tensor).collect::<Result<Vec<Var>>>()?;
    let mut all = variables.iter();
    let tracked = parameters.map(|_, t| Ok(all.next().map_or_else(|| t.clone(), |var| var.as_tensor().clone())))?;
    let gradients = value(&step.with_parameters(&tracked)?.step_from(&state.q, &state.u, Some(warm))?)?.backward()?;
    let mut slope = 0.0;
    let mut scale = 0.0_f64;
    for (variable, direction) in variables.iter().zip(direction.tensors()) {
        if let Some(gradient) = gradients.get(variable) {
            let part = (gradient * direction)?.sum_all()?.to_vec0::<f64>()?;
            slope += part;
            scale = larger(scale, part.abs());
        }
    }
    let mut best = f64::INFINITY;
    for size in STEPS {
        let at = |by: f64| -> Result<f64> {
            let changed = changed(parameters, &direction, by)?;
            value(&step.with_parameters(&changed)?.step_from(&state.q, &state.u, Some(warm))?)?.to_vec0()
        };
        let by_differences = (8.0 * (at(size)? - at(-size)?) - (at(2.0 * size)? - at(-2.0 * size)?)) / (12.0 * size);
        best = best.min((slope - by_differences).abs() / scale.max(f64::MIN_POSITIVE));
    }
    Ok(best)
}

fn changed(parameters: &Parameters, direction: &Parameters, by: f64) -> Result<Parameters> {
    let mut directions = direction.tensors().into_iter();
    parameters.map(|_, t| match directions.next() {
        Some(direction) => t + (direction * by)?,
        None => Ok(t.clone()),
    })
}

/// Largest |x − xᵀ| of x = ∂δ_a/∂u K⁻¹, relative to the largest |x|. Rows of commanded joints add in q, so that B has them.
fn asymmetry(step: &Quasidynamic, b: &Tensor) -> Result<f64> {
    let model = step.model();
    let commanded: Vec<u32> = model.tree.actuated.iter().map(|&dof| u32::try_from(dof).unwrap_or(u32::MAX)).collect();
    if commanded.is_empty() {
        return Ok(0.0);
    }
    let index = Tensor::new(commanded, &model.device)?;
    let x = b.squeeze(0)?.index_select(&index, 0)?.broadcast_div(&step.parameters().stiffness)?;
    off(&x, &x.t()?.contiguous()?)
}

/// Largest |x − y| relative to the largest |x|.
fn off(x: &Tensor, y: &Tensor) -> Result<f64> {
    if x.elem_count() == 0 {
        return Ok(0.0);
    }
    let largest = |t: &Tensor| Ok::<f64, Error>(largest(t.flatten_all()?.to_vec1::<f64>()?));
    Ok(largest(&(x - y)?)? / largest(x)?.max(f64::MIN_POSITIVE))
}
