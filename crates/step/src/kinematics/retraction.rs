//! The retraction q ⊕ δ from the tangent space to the configuration space, and its inverse, in lanes.
//!
//! | joint | q ⊕ δ | inverse |
//! |---|---|---|
//! | one coordinate, planar, translation | q + δ | q₁ − q₀ |
//! | spherical | Exp(δ) q | Log(q₁ q₀⁻¹) |
//! | floating | (x + δ_v, Exp(δ_ω) q) | (x₁ − x₀, Log(q₁ q₀⁻¹)) |
//!
//! Quaternions are normalised on reading; q ⊕ δ keeps their sign.

use fingertip_lanes::lane::{Real, copy};
use fingertip_lanes::vector::{Mat3, Vec3};

use super::rotation::Quaternion;
use super::tree::{Coordinate, Tree};

/// The tables of the retraction: which numbers simply add, and where quaternions are.
#[derive(Debug)]
pub(crate) struct Retraction {
    /// The numbers that add, as (place in q, place in δ).
    additive: Vec<(usize, usize)>,
    /// The quaternions, as (first place in q, first place in δ).
    quaternions: Vec<(usize, usize)>,
    nq: usize,
    nv: usize,
}

impl Retraction {
    pub(crate) fn new(tree: &Tree) -> Self {
        let (mut additive, mut quaternions) = (Vec::new(), Vec::new());
        for &Coordinate { kind, q, v, .. } in &tree.coordinates {
            let turn = kind.quaternion();
            additive.extend((0..turn.unwrap_or(kind.nv())).map(|k| (q + k, v + k)));
            quaternions.extend(turn.map(|at| (q + at, v + at)));
        }
        Self { additive, quaternions, nq: tree.nq, nv: tree.nv }
    }

    /// First places in δ of rotations; all other numbers of a tangent of q ⊕ δ change as those of q and δ do.
    pub(crate) fn rotations(&self) -> impl Iterator<Item = usize> {
        self.quaternions.iter().map(|&(_, at)| at)
    }

    /// The differential of the retraction for a rotation δ, in tangent coordinates: with respect to q, and to δ.
    #[inline(always)]
    pub(crate) fn rotation_differential<R: Real>(delta: Vec3<R>) -> [Mat3<R>; 2] {
        Quaternion::exp_differential(delta)
    }
}

/// A map of two points or a point and a tangent vector.
pub(crate) trait Map: Copy + Send + Sync + 'static {
    /// Name of the map in error messages.
    const NAME: &'static str;
    /// The operands' names.
    const OPERANDS: [&'static str; 2];
    /// Columns of the operands and of the result.
    fn widths(retraction: &Retraction) -> [usize; 3];
    /// Fills in the result.
    fn value<R: Real>(retraction: &Retraction, a: &[R], b: &[R], out: &mut [R]);
    /// The vector-Jacobian product: fills in the gradients of both operands, given that of the result.
    fn vjp<R: Real>(retraction: &Retraction, a: &[R], b: &[R], grad: &[R], grad_a: &mut [R], grad_b: &mut [R]);
}

/// The retraction: q ⊕ δ.
#[derive(Clone, Copy)]
pub(crate) struct Integrate;

impl Map for Integrate {
    const NAME: &'static str = "integrate";
    const OPERANDS: [&'static str; 2] = ["q", "delta"];

    fn widths(retraction: &Retraction) -> [usize; 3] {
        [retraction.nq, retraction.nv, retraction.nq]
    }

    #[inline(always)]
    fn value<R: Real>(retraction: &Retraction, q: &[R], dq: &[R], out: &mut [R]) {
        for &(at, of) in &retraction.additive {
            out[at] = q[at] + dq[of];
        }
        for &(at, of) in &retraction.quaternions {
            let turn = Quaternion::exp([dq[of], dq[of + 1], dq[of + 2]]);
            turn.times(Quaternion::read(&q[at..]).unit().0).write(&mut out[at..]);
        }
    }

    #[inline(always)]
    fn vjp<R: Real>(retraction: &Retraction, q: &[R], dq: &[R], grad: &[R], grad_q: &mut [R], grad_dq: &mut [R]) {
        for &(at, of) in &retraction.additive {
            grad_q[at] = grad[at];
            grad_dq[of] = grad[at];
        }
        for &(at, of) in &retraction.quaternions {
            let omega = [dq[of], dq[of + 1], dq[of + 2]];
            let (unit, inverse) = Quaternion::read(&q[at..]).unit();
            let grad = Quaternion::read(&grad[at..]);
            let by_unit = Quaternion::exp(omega).conjugate().times(grad);
            unit.vjp_unit(inverse, by_unit).write(&mut grad_q[at..]);
            let by_turn = grad.times(unit.conjugate());
            copy(&mut grad_dq[of..of + 3], &Quaternion::vjp_exp(omega, by_turn));
        }
    }
}

/// The inverse retraction: the tangent δ from one configuration to another.
#[derive(Clone, Copy)]
pub(crate) struct Difference;

impl Map for Difference {
    const NAME: &'static str = "difference";
    const OPERANDS: [&'static str; 2] = ["from", "to"];

    fn widths(retraction: &Retraction) -> [usize; 3] {
        [retraction.nq, retraction.nq, retraction.nv]
    }

    #[inline(always)]
    fn value<R: Real>(retraction: &Retraction, from: &[R], to: &[R], out: &mut [R]) {
        for &(at, of) in &retraction.additive {
            out[of] = to[at] - from[at];
        }
        for &(at, of) in &retraction.quaternions {
            let (from, to) = (Quaternion::read(&from[at..]).unit().0, Quaternion::read(&to[at..]).unit().0);
            copy(&mut out[of..of + 3], &to.times(from.conjugate()).log());
        }
    }

    #[inline(always)]
    fn vjp<R: Real>(retraction: &Retraction, from: &[R], to: &[R], grad: &[R], grad_from: &mut [R], grad_to: &mut [R]) {
        for &(at, of) in &retraction.additive {
            grad_to[at] = grad[of];
            grad_from[at] = -grad[of];
        }
        for &(at, of) in &retraction.quaternions {
            let (from, inverse_from) = Quaternion::read(&from[at..]).unit();
            let (to, inverse_to) = Quaternion::read(&to[at..]).unit();
            let turn = to.times(from.conjugate());
            let by_turn = turn.vjp_log([grad[of], grad[of + 1], grad[of + 2]]);
            to.vjp_unit(inverse_to, by_turn.times(from)).write(&mut grad_to[at..]);
            from.vjp_unit(inverse_from, by_turn.conjugate().times(to)).write(&mut grad_from[at..]);
        }
    }
}
