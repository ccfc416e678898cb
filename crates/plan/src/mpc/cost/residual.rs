//! Any candle expression as a cost.

use candle_core::{Result, Tensor, Var, bail};
use nalgebra::{DMatrix, DVector};

use super::{Cost, Expansion};
use fingertip_step::kinematics::Manifold;
use fingertip_step::model::Model;

type Expression = dyn Fn(&Tensor) -> Result<Tensor> + Send + Sync;

/// ‖r(q)‖² for a tensor function r that maps q (B, nq) to residuals (B, m), row by row.
pub struct Residual {
    expression: Box<Expression>,
    manifold: Manifold,
    model: Model,
}

impl std::fmt::Debug for Residual {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Residual").finish_non_exhaustive()
    }
}

impl Residual {
    /// The cost ‖r(q)‖² of an expression r, which must be differentiable in q.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn new(model: &Model, expression: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static) -> Result<Self> {
        let manifold = Manifold::new(&model.tree, &model.device)?;
        Ok(Self { expression: Box::new(expression), manifold, model: model.clone() })
    }

    fn rows(&self, q: &Tensor) -> Result<Tensor> {
        let rows = (self.expression)(q)?;
        match rows.dims() {
            &[b, _] if b == q.dim(0)? => Ok(rows),
            other => bail!("residual: expected shape ({}, m), got {other:?}", q.dim(0)?),
        }
    }
}

impl Cost for Residual {
    fn value(&self, q: &[f64]) -> Result<f64> {
        self.rows(&self.model.tensor(&[q])?)?.sqr()?.sum_all()?.to_scalar()
    }

    /// One reverse pass over as many copies of q as there are residuals.
    fn expand(&self, q: &[f64], weight: f64, to: &mut Expansion) -> Result<()> {
        let residual = self.rows(&self.model.tensor(&[q])?)?.flatten_all()?.to_vec1::<f64>()?;
        let (m, nv) = (residual.len(), self.model.nv());
        let copies = Var::from_tensor(&self.model.tensor(&vec![q; m])?)?;
        let diagonal = (self.rows(&copies)? * Tensor::eye(m, copies.dtype(), copies.device())?)?;
        let gradients = diagonal.sum_all()?.backward()?;
        let Some(gradient) = gradients.get(&copies) else { return Ok(()) };
        let rows = self.manifold.to_tangent(&copies, gradient)?.flatten_all()?.to_vec1::<f64>()?;
        to.add_squares(weight, &DVector::from_vec(residual), &DMatrix::from_row_slice(m, nv, &rows));
        Ok(())
    }
}
