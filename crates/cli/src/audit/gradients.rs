//! The derivatives that the library gives, as Jacobians of [`Quantities`] by [`Inputs`].

use candle_core::{Result, Tensor, Var};
use fingertip::kinematics::Manifold;
use fingertip::math::largest::largest;
use fingertip::step::{Linearization, Quasidynamic};
use nalgebra::DMatrix;

use super::inputs::Inputs;
use super::numbers;
use super::quantities::Quantities;
use super::states::State;

/// Derivatives of the first rows of [`Quantities`] by the first columns of [`Inputs`], in units of the quantities by
/// units of the inputs.
pub struct Gradients(pub DMatrix<f64>);

impl Gradients {
    /// A, B, C and D of [`Quasidynamic::linearize`]: motion and forces by q and u.
    pub fn linearized(step: &Quasidynamic, quantities: &Quantities, linear: &Linearization) -> Result<Self> {
        let matrix = |left: &Tensor, right: &Tensor| -> Result<DMatrix<f64>> {
            let both = Tensor::cat(&[left, right], 2)?.squeeze(0)?;
            Ok(DMatrix::from_row_slice(both.dim(0)?, both.dim(1)?, &numbers(&both)?))
        };
        let forces = quantities.forces_of_pairs(&matrix(&linear.c, &linear.d)?);
        let nv = step.model().nv();
        let mut all = DMatrix::zeros(nv + forces.nrows(), forces.ncols());
        all.rows_mut(0, nv).copy_from(&matrix(&linear.a, &linear.b)?);
        all.rows_mut(nv, forces.nrows()).copy_from(&forces);
        Ok(Self(all))
    }

    /// The gradients by backpropagation, of all quantities by all inputs: one world for each quantity.
    pub fn pulled(step: &Quasidynamic, quantities: &Quantities, inputs: &Inputs, warm: &Tensor) -> Result<Self> {
        let model = step.model();
        let n = quantities.count();
        let (q, u, parameters) = inputs.worlds(&vec![vec![0.0; inputs.count()]; n])?;
        let (q, u) = (Var::from_tensor(&q)?, Var::from_tensor(&u)?);
        let mut variables = Vec::new();
        let parameters = parameters.map(|_, t| {
            let variable = Var::from_tensor(t)?;
            variables.push(variable.clone());
            Ok(variable.into_inner())
        })?;
        let warm = warm.broadcast_as((n, warm.dim(1)?))?.contiguous()?;
        let result = step.with_parameters(&parameters)?.step_from(&q, &u, Some(&warm))?;
        let own = (quantities.of(&result)? * Tensor::eye(n, model.dtype, &model.device)?)?.sum_all()?;
        let gradients = own.backward()?;
        let of = |variable: &Var| gradients.get(variable).map_or_else(|| variable.zeros_like(), |t| Ok(t.clone()));
        let by_q = Manifold::new(&model.tree, &model.device)?.to_tangent(&q, &of(&q)?)?;
        let mut all = vec![by_q, of(&u)?];
        all.extend(variables.iter().map(of).collect::<Result<Vec<_>>>()?);
        let all: Vec<&Tensor> = all.iter().filter(|t| t.elem_count() > 0).collect();
        let all = Tensor::cat(&all, 1)?;
        Ok(Self(DMatrix::from_row_slice(n, inputs.count(), &numbers(&all)?)))
    }
}

/// Largest |x − xᵀ| of x = C ∂δ/∂u K⁻¹ = C H⁻¹ Cᵀ, C δ being the changes of the lengths that u commands, relative to
/// the largest |x|. Rows of joints add in q, so that B has them. Commands that pull as hard as they may change nothing,
/// and are left out.
pub fn asymmetry(step: &Quasidynamic, state: &State, b: &Tensor) -> Result<f64> {
    let model = step.model();
    if model.nu() == 0 {
        return Ok(0.0);
    }
    let mut lengths = vec![0.0; model.nu() * model.nv()];
    for (k, c) in model.tree.coordinates.iter().filter_map(|c| Some((c.u?, c))) {
        let row = &mut lengths[k * model.nv()..];
        row[c.v] = 1.0;
        c.others.iter().for_each(|&(other, ratio)| row[model.tree.coordinates[other].v] += ratio);
    }
    let forces = numbers(&step.command_forces(&state.q, &state.u)?)?;
    for (k, c) in model.tree.coordinates.iter().filter_map(|c| Some((c.u?, c))) {
        if forces[k].abs() >= model.params.bounded_effort(c.effort) {
            lengths[k * model.nv()..][..model.nv()].fill(0.0);
        }
    }
    let lengths = Tensor::from_vec(lengths, (model.nu(), model.nv()), &model.device)?.to_dtype(b.dtype())?;
    let x = lengths.matmul(&b.squeeze(0)?)?.broadcast_div(&step.parameters().stiffness)?;
    let scale = largest(numbers(&x)?).max(f64::MIN_POSITIVE);
    Ok(largest(numbers(&(&x - x.t()?.contiguous()?)?)?) / scale)
}
