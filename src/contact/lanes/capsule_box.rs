//! Capsule A, box B, rounded or not: the exact signed distance of the bodies, then the sphere at the capsule's negative
//! end and that at its positive end.
//!
//! The ends let a capsule lie on a face, where the place of the least distance jumps from end to end as it rocks. Where that place is
//! an end and the bodies are apart, the first contact and that end's are the same.

use super::block::{self, Nearest};
use super::core;
use super::end::End;
use super::penetration;
use super::segment::{self, Closest, Segment, SegmentContact, SegmentPull, pull_nearest};
use super::sides::{Contact, Contacts, Gradients, Reaction, Side};
use super::total::choose;
use crate::math::lane::Real;
use crate::math::vector::{Vec3, add, axpy, dot, rotate, rotate_back, scale, sub, zero};

/// The capsule's core in the box's frame.
#[inline(always)]
fn local<R: Real>(a: &Side<R>, b: &Side<R>) -> Segment<R> {
    let axes = &b.pose.axes;
    Segment { c: rotate(axes, sub(a.pose.p, b.pose.p)), u: rotate(axes, a.pose.axes[2]), h: a.size[1] }
}

/// That of the least distance, or of the shortest way out where the cores meet.
struct First<R: Real> {
    contact: SegmentContact<R>,
    closest: Closest<R>,
    nearest: Nearest<R, 3>,
}

#[inline(always)]
fn first<R: Real>(segment: &Segment<R>, e: Vec3<R>) -> First<R> {
    let closest = segment::closest(segment, e);
    let nearest = block::nearest(axpy(closest.t, segment.u, segment.c), e);
    let mut contact = SegmentContact { t: closest.t, normal: nearest.normal(), gap: nearest.gap };
    let inside = nearest.inside();
    R::when(
        inside,
        &mut contact,
        #[inline(always)]
        |contact| {
            let deep = penetration::of_segment(segment, e, closest.t);
            *contact = SegmentContact {
                t: R::select(inside, deep.t, contact.t),
                normal: choose(inside, deep.normal, contact.normal),
                gap: R::select(inside, deep.gap, contact.gap),
            };
        },
    );
    First { contact, closest, nearest }
}

/// The contact at the capsule's negative (k = 0) or positive end.
#[inline(always)]
fn end<R: Real>(
    a: &Side<R>,
    b: &Side<R>,
    segment: &Segment<R>,
    e: Vec3<R>,
    first: &SegmentContact<R>,
    k: usize,
) -> End<R> {
    let t = if k == 0 { -segment.h } else { segment.h };
    End::new(segment, e, t, first, a.size[0] + b.size[3])
}

#[inline(always)]
pub(super) fn witness<R: Real>(a: &Side<R>, b: &Side<R>, out: &mut Contacts<R>) {
    let (segment, e) = (local(a, b), b.box_core());
    let first = first(&segment, e).contact;
    for k in 0..3 {
        let at_end;
        let contact = match k {
            0 => &first,
            _ => {
                at_end = end(a, b, &segment, e, &first, k - 1);
                &at_end.contact
            }
        };
        let core_a = axpy(contact.t, a.pose.axes[2], a.pose.p);
        let normal = rotate_back(&b.pose.axes, contact.normal);
        out.set(k, core::offset(core_a, a.size[0], contact.gap - b.size[3], normal));
    }
}

/// Gradients of a [`SegmentContact`].
#[inline(always)]
fn pull_segment_contact<R: Real>(
    a: &Side<R>,
    b: &Side<R>,
    contact: &SegmentContact<R>,
    grad: &Contact<R>,
    on_a: &mut Reaction<R>,
    on_b: &mut Reaction<R>,
) -> SegmentContact<R> {
    let axis = a.pose.axes[2];
    let normal = rotate_back(&b.pose.axes, contact.normal);
    let pulls = core::pull_offset(a.size[0], contact.gap - b.size[3], normal, grad);
    on_a.push(pulls.core_a);
    on_a.turn(axis, scale(contact.t, pulls.core_a));
    on_a.size[0] += pulls.radius_a;
    on_b.turn(normal, pulls.normal);
    on_b.size[3] -= pulls.gap;
    SegmentContact { t: dot(axis, pulls.core_a), normal: rotate(&b.pose.axes, pulls.normal), gap: pulls.gap }
}

#[inline(always)]
pub(super) fn pull<R: Real>(a: &Side<R>, b: &Side<R>, grad: &Gradients<R>, [on_a, on_b]: &mut [Reaction<R>; 2]) {
    let (segment, e) = (local(a, b), b.box_core());
    let (mut to, mut to_e) = (SegmentPull::none(), zero());

    let First { contact, closest, nearest } = first(&segment, e);
    let mut pulls = pull_segment_contact(a, b, &contact, &grad.get(0), on_a, on_b);
    for k in 0..2 {
        let end = end(a, b, &segment, e, &contact, k);
        let of_end = pull_segment_contact(a, b, &end.contact, &grad.get(1 + k), on_a, on_b);
        let back = end.pull(&segment, e, of_end, &mut to, &mut to_e);
        to.h += if k == 0 { -back.t } else { back.t };
        pulls.normal = add(pulls.normal, back.first_normal);
        pulls.gap += back.first_gap;
        on_a.size[0] += back.radii;
        on_b.size[3] += back.radii;
    }

    let none = R::zero();
    let inside = nearest.inside();
    let outer = SegmentContact {
        t: R::select(inside, none, pulls.t),
        normal: choose(inside, zero(), pulls.normal),
        gap: R::select(inside, none, pulls.gap),
    };
    let t = pull_nearest(&segment, &nearest, closest.t, outer, &mut to, &mut to_e);
    let mut sums = (to, (to_e, [t]));
    R::when(
        inside,
        &mut sums,
        #[inline(always)]
        |(to, (to_e, [t]))| {
            let normal = choose(inside, pulls.normal, zero());
            let (gap, place) = (R::select(inside, pulls.gap, none), R::select(inside, pulls.t, none));
            let deep = penetration::of_segment(&segment, e, closest.t);
            *t += deep.pull(&segment, e, normal, gap, place, to, to_e);
        },
    );
    let (mut to, (mut to_e, [t])) = sums;
    closest.pull(t, &mut to, &mut to_e);

    let (force, turn) = (rotate_back(&b.pose.axes, to.c), rotate_back(&b.pose.axes, to.u));
    on_a.push(force);
    on_a.turn(a.pose.axes[2], turn);
    on_a.size[1] += to.h;
    on_b.carry(sub(a.pose.p, b.pose.p), force);
    on_b.turn_back(a.pose.axes[2], turn);
    on_b.grow_box_core(to_e);
}
