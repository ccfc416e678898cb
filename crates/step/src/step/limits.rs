//! Gaps to the joint limits, the joints' dry friction, and tables.

use std::sync::Arc;

use candle_core::Result;

use crate::model::Model;
use crate::parameters::ParameterPlaces;
use crate::solve::TABLE_OPERAND;
use fingertip_lanes::lane::{Real, Zip};

/// Degree of freedom of each limit and the sign of its gap's slope.
pub(super) type LimitDofs = Vec<(usize, f64)>;

/// Joint limits of a model as tables: for each the gap of a coordinate to one end of its range. Where joints have dry
/// friction in the step, its largest forces follow, then the numbers of planar bodies on tables.
#[derive(Clone, Debug)]
pub(super) struct LimitTables {
    limits: Vec<Limit>,
    /// The place among the parameters of the largest force of dry friction in each degree of freedom that has some.
    dry: Vec<usize>,
    supported: Vec<Supported>,
}

/// Gap = sign · q + offset.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// Place in q of the limit's coordinate.
    q: usize,
    sign: f64,
    offset: f64,
}

/// A planar body on a table: the place of its yaw in q, and of its numbers among the parameters.
#[derive(Clone, Copy, Debug)]
struct Supported {
    yaw: usize,
    friction: usize,
    radius: usize,
    mass: usize,
    com: usize,
    /// Gravity along z.
    gravity: usize,
}

impl LimitTables {
    /// The tables, and the degree of freedom and sign of each limit.
    pub(super) fn new(model: &Model) -> Result<(Arc<Self>, LimitDofs)> {
        let (mut limits, mut dofs) = (Vec::new(), Vec::new());
        for coordinate in model.tree.coordinates.iter().filter(|_| model.params.joint_limits) {
            let Some(bounds) = coordinate.limits else { continue };
            for (sign, bound) in [(1.0, bounds.lower), (-1.0, bounds.upper)] {
                dofs.push((coordinate.v, sign));
                limits.push(Limit { q: coordinate.q, sign, offset: -sign * bound });
            }
        }
        let at = ParameterPlaces::new(&model.parameters)?;
        let centres = at.offsets + 3 * (model.tree.bodies.len() + model.n_front_frames());
        let supported = |(k, (c, _)): (usize, (&crate::kinematics::Coordinate, _))| {
            let place = model.inertial.iter().position(|&body| body == c.body)?;
            let (mass, com) = (at.mass + place, centres + 3 * place);
            let (friction, radius) = (at.table_friction + k, at.table_radius + k);
            Some(Supported { yaw: c.q + 2, friction, radius, mass, com, gravity: at.gravity + 2 })
        };
        let supported = model.tree.tables().enumerate().filter_map(supported).collect();
        Ok((Arc::new(Self { limits, dry: Vec::new(), supported }), dofs))
    }

    /// The tables with the dry friction of the quasi-dynamic step, and what [`LimitTables::new`] gives besides; then
    /// the degrees of freedom with dry friction.
    pub(super) fn with_dry_friction(model: &Model) -> Result<(Arc<Self>, LimitDofs, Vec<usize>)> {
        let (limits, dofs) = Self::new(model)?;
        let first = ParameterPlaces::new(&model.parameters)?.dry_friction;
        let dry = model.tree.dry_friction(model.params.joint_friction);
        let (dry_dofs, dry) = dry.into_iter().map(|(dof, k)| (dof, first + k)).unzip();
        Ok((Arc::new(Self { dry, ..(*limits).clone() }), dofs, dry_dofs))
    }

    /// Fills in the gaps, rad or m, after them the largest forces of dry friction, and the numbers of tables, from q
    /// and the parameters.
    #[inline(always)]
    pub(super) fn fill<R: Real>(&self, q: &[R], par: &[R], gaps: &mut [R]) {
        for (gap, &Limit { q: at, sign, offset }) in gaps.iter_mut().zip_inline(&self.limits) {
            *gap = q[at].scale(sign) + R::splat(offset);
        }
        for (gap, &at) in gaps[self.limits.len()..].iter_mut().zip_inline(&self.dry) {
            *gap = par[at];
        }
        let tables = gaps[self.limits.len() + self.dry.len()..].as_chunks_mut::<TABLE_OPERAND>().0;
        for (numbers, at) in tables.iter_mut().zip_inline(&self.supported) {
            let [x, y] = at.centre(q, par);
            let most = par[at.friction] * par[at.mass] * par[at.gravity].abs();
            *numbers = [most, R::zero() - y, x, par[at.radius]];
        }
    }

    /// The vector-Jacobian product of `fill`: adds to the gradients of q and of the parameters, given that of the gaps.
    #[inline(always)]
    pub(super) fn vjp_fill<R: Real>(&self, [q, par]: [&[R]; 2], grad: &[R], [to_q, to_par]: [&mut [R]; 2]) {
        for (&grad, &Limit { q: at, sign, .. }) in grad.iter().zip_inline(&self.limits) {
            to_q[at] += grad.scale(sign);
        }
        for (&grad, &at) in grad[self.limits.len()..].iter().zip_inline(&self.dry) {
            to_par[at] += grad;
        }
        let tables = grad[self.limits.len() + self.dry.len()..].as_chunks::<TABLE_OPERAND>().0;
        for (&[most, minus_y, x, radius], at) in tables.iter().zip_inline(&self.supported) {
            let (friction, mass, gravity) = (par[at.friction], par[at.mass], par[at.gravity]);
            to_par[at.friction] += most * mass * gravity.abs();
            to_par[at.mass] += most * friction * gravity.abs();
            let down = R::select(gravity.lt(R::zero()), R::splat(-1.0), R::one());
            to_par[at.gravity] += most * friction * mass * down;
            to_par[at.radius] += radius;
            let (grad, [sin, cos]) = ([x, R::zero() - minus_y], turn(q[at.yaw]));
            let centre = at.centre(q, par);
            to_q[at.yaw] += grad[1] * centre[0] - grad[0] * centre[1];
            to_par[at.com] += cos.mul_add(grad[0], sin * grad[1]);
            to_par[at.com + 1] += cos.mul_add(grad[1], -(sin * grad[0]));
        }
    }
}

/// sin and cos of a yaw.
#[inline(always)]
fn turn<R: Real>(yaw: R) -> [R; 2] {
    let (sin, cos) = yaw.sin_cos();
    [sin, cos]
}

impl Supported {
    /// The centre of mass from the body frame's origin, along the world's x and y.
    #[inline(always)]
    fn centre<R: Real>(&self, q: &[R], par: &[R]) -> [R; 2] {
        let ([sin, cos], x, y) = (turn(q[self.yaw]), par[self.com], par[self.com + 1]);
        [cos.mul_add(x, -(sin * y)), sin.mul_add(x, cos * y)]
    }
}
