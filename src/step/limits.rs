//! Gaps to the joint limits.

use candle_core::{Result, Tensor};

use crate::math::tensor::index;
use crate::model::Model;

/// Degree of freedom of each limit and the sign of its gap's slope.
pub(super) type LimitDofs = Vec<(usize, f64)>;

#[derive(Clone, Debug)]
pub(super) struct LimitTables {
    /// Place in q of each limit's coordinate.
    q: Tensor,
    /// Gap = sign · q + offset.
    sign: Tensor,
    offset: Tensor,
}

impl LimitTables {
    /// The tables, and the degree of freedom and sign of each limit.
    pub(super) fn new(model: &Model) -> Result<(Option<Self>, LimitDofs)> {
        let mut dofs = Vec::new();
        let (mut q, mut offsets) = (Vec::new(), Vec::new());
        for coordinate in model.tree.coordinates.iter().filter(|_| model.params.joint_limits) {
            let Some(limits) = coordinate.limits else { continue };
            for (sign, bound) in [(1.0, limits.lower), (-1.0, limits.upper)] {
                dofs.push((coordinate.v, sign));
                q.push(coordinate.q);
                offsets.push(-sign * bound);
            }
        }
        if dofs.is_empty() {
            return Ok((None, dofs));
        }
        let row = |values: Vec<f64>| {
            let n = values.len();
            Tensor::from_vec(values, (1, n), &model.device)?.to_dtype(model.dtype)
        };
        let sign = row(dofs.iter().map(|limit| limit.1).collect())?;
        let tables = Self { q: index(q.into_iter(), &model.device)?, sign, offset: row(offsets)? };
        Ok((Some(tables), dofs))
    }

    /// Gaps to the limits (B, nl) at q (B, nq); rad, m.
    pub(super) fn gaps(&self, q: &Tensor) -> Result<Tensor> {
        let q = q.contiguous()?.index_select(&self.q, 1)?;
        q.broadcast_mul(&self.sign)?.broadcast_add(&self.offset)
    }
}
