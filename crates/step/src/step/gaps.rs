//! The gaps that a step leaves between bodies: ν_n = φ + n · J δ.

use std::sync::Arc;

use crate::contact::numbers::GEOMETRY;
use crate::kinematics::SCREW;
use crate::solve::Structure;
use crate::tensor::operation::{Function, Signature};
use fingertip_lanes::lane::{Lane, Real, Zip, clear};
use fingertip_lanes::vector::{Vec3, add, add_vec3, axpy, cross, dot, scale, vec3_at, zero};

/// For contact i, the offset of the witness point on B (`b`) or on A in the row of contact geometry, and the sign (+1
/// for B, −1 for A) with which that side's motion counts in the relative motion.
#[inline(always)]
fn side(i: usize, b: bool) -> (usize, f64) {
    if b { (GEOMETRY * i + 6, 1.0) } else { (GEOMETRY * i + 3, -1.0) }
}

/// Angular velocity of a screw, and the velocity that it gives to a point.
#[inline(always)]
fn motion<R: Real>(screws: &[R], screw: usize, point: Vec3<R>) -> [Vec3<R>; 2] {
    let omega = vec3_at(screws, SCREW * screw);
    [omega, add(vec3_at(screws, SCREW * screw + 3), cross(omega, point))]
}

/// The gap ν_n = φ + n · J δ that the step leaves at contact i, from the contacts' geometry, the screws, and δ in
/// elimination order.
#[inline(always)]
pub(super) fn gap<R: Real>(s: &Structure, i: usize, [geometry, screws, delta]: [&[R]; 3]) -> R {
    let mut moved = zero();
    for &(screw, slot, b) in &s.contacts[i].columns {
        let (point, sign) = side(i, b);
        let [_, velocity] = motion(screws, screw, vec3_at(geometry, point));
        moved = axpy(delta[s.contacts[i].dofs[slot]].scale(sign), velocity, moved);
    }
    geometry[GEOMETRY * i + 9] + dot(vec3_at(geometry, GEOMETRY * i), moved)
}

/// The vector-Jacobian product (vjp) of `gap`: adds to the gradients of geometry, screws and δ, given the gradient of
/// the gap.
#[inline(always)]
fn vjp_gap<R: Real>(
    s: &Structure,
    i: usize,
    [geometry, screws, delta]: [&[R]; 3],
    grad: R,
    [to_geometry, to_screws, to_delta]: [&mut [R]; 3],
) {
    let (n, mut moved) = (vec3_at(geometry, GEOMETRY * i), zero());
    for &(screw, slot, b) in &s.contacts[i].columns {
        let ((at, sign), place) = (side(i, b), s.contacts[i].dofs[slot]);
        let (point, rate) = (vec3_at(geometry, at), delta[place].scale(sign));
        let [omega, velocity] = motion(screws, screw, point);
        moved = axpy(rate, velocity, moved);
        to_delta[place] += grad * dot(n, velocity).scale(sign);
        let push = scale(grad * rate, n);
        add_vec3(to_screws, SCREW * screw, cross(point, push));
        add_vec3(to_screws, SCREW * screw + 3, push);
        add_vec3(to_geometry, at, cross(push, omega));
    }
    add_vec3(to_geometry, GEOMETRY * i, scale(grad, moved));
    to_geometry[GEOMETRY * i + 9] += grad;
}

/// (normal, points and φ of nc contacts, screws, δ) → gaps.
pub(super) struct Gaps {
    pub(super) structure: Arc<Structure>,
    pub(super) nc: usize,
}

impl Function<3> for Gaps {
    fn signature(&self) -> Signature<3> {
        let Structure { ns, nv, .. } = &*self.structure;
        let operands = [("contacts", GEOMETRY * self.nc), ("screws", SCREW * ns), ("delta", *nv)];
        Signature { name: "gaps", operands, width: self.nc }
    }

    /// δ in the order of elimination, and its gradient.
    fn scratch(&self) -> usize {
        2 * self.structure.nv
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [geometry, screws, delta]: [&[R]; 3], scratch: &mut [R], out: &mut [R]) {
        self.structure.place_all(delta, scratch);
        for i in 0..self.nc {
            out[i] = gap(&self.structure, i, [geometry, screws, scratch]);
        }
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, [geometry, screws, delta]: [&[R]; 3], scratch: &mut [R], grad: &[R], to: [&mut [R]; 3]) {
        let (placed, to_placed) = scratch.split_at_mut(self.structure.nv);
        self.structure.place_all(delta, placed);
        clear(to_placed);
        let [to_geometry, to_screws, to_delta] = to;
        for i in 0..self.nc {
            let to = [&mut *to_geometry, &mut *to_screws, &mut *to_placed];
            vjp_gap(&self.structure, i, [geometry, screws, placed], grad[i], to);
        }
        for (to, &place) in to_delta.iter_mut().zip_inline(&self.structure.place) {
            *to = to_placed[place];
        }
    }
}
