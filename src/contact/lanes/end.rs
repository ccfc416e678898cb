//! The sphere at an end of a capsule's core against a block, with adjoint.
//!
//! The first contact of the two bodies has the normal n of the shortest way out. In an overlap the ends would leave by ways of their
//! own, which can oppose it: of a pill through a plate, one end up and the other down. So the ends' contacts follow the first one
//! the more, the deeper the overlap. Where the bodies' cores may be r apart and the gap to the box's core is g₀ for the
//! whole core of the capsule and g for its end p alone, in the direction m,
//!
//! ```text
//! f(g) = 0 for g ≥ r, 1 for g ≤ (1 − f₀) r, a cubic between with level ends
//! normal  (1 − f(g₀)) m + f(g₀) n, of unit length
//! gap     (1 − f(g)) g + f(g) s,   s = −Σ e_i |n_i| − n·p       how far the end is from the box along n
//! ```
//!
//! Nothing follows while the bodies are apart. No end's φ is below the first contact's. From the depth f₀ r on all normals
//! are n, so that moving along it opens every contact, whatever the friction; above, where the cores are apart, m·n ≥ g₀/g
//! keeps it opening them all for friction coefficients up to 3.

use super::block::{self, Nearest};
use super::segment::{Segment, SegmentContact, SegmentPull, pull_nearest};
use super::total::{Unit, indicator, limited, sign, unit};
use crate::math::lane::Real;
use crate::math::vector::{Vec3, add, axpy, dot, scale, sub};

/// f₀: the depth, as a part of the radii, from which on the ends' normals are the first contact's.
const FOLLOWING: f64 = 0.25;

/// An end's contact.
pub(super) struct End<R: Real> {
    pub(super) contact: SegmentContact<R>,
    own: Nearest<R, 3>,
    /// The first contact's normal n.
    first: Vec3<R>,
    /// n less the end's own normal.
    apart: Vec3<R>,
    unit: Unit<R, 3>,
    turn: Following<R>,
    /// Of the gap.
    follow: Following<R>,
    /// s less the end's own gap.
    further: R,
}

/// Gradients of what an [`End`] depends on beside the segment and the block.
pub(super) struct EndPull<R> {
    pub(super) t: R,
    pub(super) first_normal: Vec3<R>,
    pub(super) first_gap: R,
    pub(super) radii: R,
}

/// f of a gap between cores, with its derivatives.
struct Following<R> {
    value: R,
    of_gap: R,
    of_radii: R,
}

#[inline(always)]
fn following<R: Real>(gap: R, radii: R) -> Following<R> {
    let tiny = R::splat(R::precision().no_length());
    let is_usable = radii.gt(tiny);
    let radii = R::select(is_usable, radii, tiny);
    let part = gap / radii;
    let x = limited(part.mul_add(R::splat(-2.0 / FOLLOWING), R::splat(2.0 / FOLLOWING - 1.0)), R::one());
    let square = x.value * x.value;
    let value = x.value.mul_add(square.mul_add(R::splat(-0.25), R::splat(0.75)), R::splat(0.5));
    let slope = square.mul_add(R::splat(-0.75), R::splat(0.75)) * x.of_x;
    let of_gap = (slope / radii).scale(-2.0 / FOLLOWING);
    Following { value, of_gap, of_radii: -(of_gap * part * indicator(is_usable)) }
}

impl<R: Real> End<R> {
    /// The contact at place t, given the first one and the sum of the radii about both cores.
    #[inline(always)]
    pub(super) fn new(segment: &Segment<R>, e: Vec3<R>, t: R, first: &SegmentContact<R>, radii: R) -> Self {
        let p = axpy(t, segment.u, segment.c);
        let own = block::nearest(p, e);
        let n = first.normal;
        let (apart, turn) = (sub(n, own.normal()), following(first.gap, radii));
        let unit = unit(axpy(turn.value, apart, own.normal()), n);
        let reach = dot([n[0].abs(), n[1].abs(), n[2].abs()], e);
        let further = -(reach + dot(n, p)) - own.gap;
        let follow = following(own.gap, radii);
        let contact = SegmentContact { t, normal: unit.value, gap: follow.value.mul_add(further, own.gap) };
        Self { contact, own, first: n, apart, unit, turn, follow, further }
    }

    /// Adds to the gradients of the segment and of e, given those of the contact.
    #[inline(always)]
    pub(super) fn pull(
        &self,
        segment: &Segment<R>,
        e: Vec3<R>,
        grad: SegmentContact<R>,
        to: &mut SegmentPull<R>,
        to_e: &mut Vec3<R>,
    ) -> EndPull<R> {
        let Self { own, first, apart, unit, turn, follow, .. } = self;
        let p = axpy(self.contact.t, segment.u, segment.c);
        let along = grad.gap * follow.value;
        let by_follow = grad.gap * self.further;
        let by_way = unit.pull(grad.normal);
        let by_turn = dot(by_way, *apart);

        let mut first_normal = add(scale(turn.value, by_way), unit.pull_fallback(grad.normal));
        let mut straight = p;
        for i in 0..3 {
            first_normal[i] -= along * sign(first[i]).mul_add(e[i], p[i]);
            to_e[i] -= along * first[i].abs();
            straight[i] = -(along * first[i]);
        }
        to.c = add(to.c, straight);
        to.u = axpy(self.contact.t, straight, to.u);
        let of_own = SegmentContact {
            t: grad.t + dot(segment.u, straight),
            normal: axpy(-turn.value, by_way, by_way),
            gap: by_follow.mul_add(follow.of_gap, grad.gap - along),
        };
        EndPull {
            t: pull_nearest(segment, own, self.contact.t, of_own, to, to_e),
            first_normal,
            first_gap: by_turn * turn.of_gap,
            radii: by_turn.mul_add(turn.of_radii, by_follow * follow.of_radii),
        }
    }
}
