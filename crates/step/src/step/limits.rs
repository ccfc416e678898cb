//! Gaps to the joint limits, and the joints' dry friction.

use std::sync::Arc;

use crate::model::Model;
use fingertip_lanes::lane::{Real, Zip};

/// Degree of freedom of each limit and the sign of its gap's slope.
pub(super) type LimitDofs = Vec<(usize, f64)>;

/// Joint limits of a model as tables: for each the gap of a coordinate to one end of its range. Where joints have dry
/// friction in the step, its largest forces follow.
#[derive(Clone, Debug)]
pub(super) struct LimitTables {
    limits: Vec<Limit>,
    /// The place among the parameters of the largest force of dry friction in each degree of freedom that has some.
    dry: Vec<usize>,
}

/// Gap = sign · q + offset.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// Place in q of the limit's coordinate.
    q: usize,
    sign: f64,
    offset: f64,
}

impl LimitTables {
    /// The tables, and the degree of freedom and sign of each limit.
    pub(super) fn new(model: &Model) -> (Arc<Self>, LimitDofs) {
        let (mut limits, mut dofs) = (Vec::new(), Vec::new());
        for coordinate in model.tree.coordinates.iter().filter(|_| model.params.joint_limits) {
            let Some(bounds) = coordinate.limits else { continue };
            for (sign, bound) in [(1.0, bounds.lower), (-1.0, bounds.upper)] {
                dofs.push((coordinate.v, sign));
                limits.push(Limit { q: coordinate.q, sign, offset: -sign * bound });
            }
        }
        (Arc::new(Self { limits, dry: Vec::new() }), dofs)
    }

    /// The tables with the dry friction of the quasi-dynamic step, and what [`LimitTables::new`] gives besides; then
    /// the degrees of freedom with dry friction.
    pub(super) fn with_dry_friction(model: &Model) -> (Arc<Self>, LimitDofs, Vec<usize>) {
        let (limits, dofs) = Self::new(model);
        let (dry_dofs, dry) = model.tree.dry_friction(model.params.joint_friction).into_iter().unzip();
        (Arc::new(Self { limits: limits.limits.clone(), dry }), dofs, dry_dofs)
    }

    /// Fills in the gaps, rad or m, and after them the largest forces of dry friction, `most` among the parameters.
    #[inline(always)]
    pub(super) fn fill<R: Real>(&self, q: &[R], most: &[R], gaps: &mut [R]) {
        for (gap, &Limit { q: at, sign, offset }) in gaps.iter_mut().zip_inline(&self.limits) {
            *gap = q[at].scale(sign) + R::splat(offset);
        }
        for (gap, &at) in gaps[self.limits.len()..].iter_mut().zip_inline(&self.dry) {
            *gap = most[at];
        }
    }

    /// The vector-Jacobian product of `fill`: adds to the gradients of q and of the largest forces, given that of the
    /// gaps.
    #[inline(always)]
    pub(super) fn vjp_fill<R: Real>(&self, grad: &[R], q: &mut [R], most: &mut [R]) {
        for (&grad, &Limit { q: at, sign, .. }) in grad.iter().zip_inline(&self.limits) {
            q[at] += grad.scale(sign);
        }
        for (&grad, &at) in grad[self.limits.len()..].iter().zip_inline(&self.dry) {
            most[at] += grad;
        }
    }
}
