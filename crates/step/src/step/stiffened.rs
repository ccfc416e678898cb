//! The entries of P that are stiffened against [rolling](super::rolling) and by what [hangs](super::hanging).
//!
//! P_ij += ωᵢ · M ωⱼ for the degrees of freedom without a command that turn a body, M summed over its contacts.

use crate::contact::lanes::hanging::CONTACT;
use crate::contact::lanes::rolling::{AT, STIFFNESS};
use crate::contact::numbers::{NORMAL, PHI, POINT_A, POINT_B};
use crate::kinematics::SCREW;
use crate::model::Model;
use crate::parameters::ParameterPlaces;
use crate::solve::Law;
use fingertip_lanes::lane::{Real, copy};
use fingertip_lanes::vector::{Mat3, Vec3, add_vec3, dot, rotate, scale, vec3_at};

use super::problem::ProblemTables;

/// The entries of P to which stiffness is added, and what all of it is computed from.
#[derive(Debug)]
pub(super) struct Stiffened {
    /// Entries of P that are stiffened, among all.
    pub(super) entries: Vec<usize>,
    /// The factor k of the normal force of a contact at rest, which depends on the friction law: see
    /// [`Law::normal_force`].
    pub(super) k: f64,
    pub(super) at: ParameterPlaces,
    screws: usize,
}

/// (screw, screw, index into [`Stiffened::entries`]): products ωᵢ · M ωⱼ that are added to that entry of P.
pub(super) type Terms = Vec<(usize, usize, usize)>;

/// Layout of a contact's numbers: how many there are, and the offset of the weight. The geometry comes first.
#[derive(Clone, Copy)]
pub(super) struct ContactLayout {
    pub(super) numbers: usize,
    pub(super) weight: usize,
}

/// Symmetric matrix of [`STIFFNESS`] numbers.
#[inline(always)]
pub(super) fn matrix<R: Real>([xx, yy, zz, xy, xz, yz]: [R; STIFFNESS]) -> Mat3<R> {
    [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
}

// What holds a body has its contact's numbers and its centre in the same places as what rolls.
const _: () = assert!(CONTACT.weight.start == AT.weight.start && CONTACT.centre.start == AT.centre.start);

/// Writes a contact's numbers, which the operands of all stiffness begin with: the normal out of a body, the point on
/// it, φ and the weight.
#[inline(always)]
pub(super) fn put_contact<R: Real, const N: usize>(v: &mut [R; N], on_b: bool, (geometry, weight): (&[R], R)) {
    let normal = vec3_at(geometry, NORMAL);
    copy(&mut v[AT.normal], &if on_b { scale(-R::one(), normal) } else { normal });
    copy(&mut v[AT.point], &vec3_at(geometry, if on_b { POINT_B } else { POINT_A }));
    (v[AT.phi.start], v[AT.weight.start]) = (geometry[PHI], weight);
}

/// The adjoint of [`put_contact`]: adds to the gradients of a contact's geometry and weight. The place of the weight is
/// given.
#[inline(always)]
pub(super) fn give_contact<R: Real, const N: usize>(by: &[R; N], on_b: bool, (to, weight): (&mut [R], usize)) {
    let normal = vec3_at(by, AT.normal.start);
    add_vec3(to, NORMAL, if on_b { scale(-R::one(), normal) } else { normal });
    add_vec3(to, if on_b { POINT_B } else { POINT_A }, vec3_at(by, AT.point.start));
    to[PHI] += by[AT.phi.start];
    to[weight] += by[AT.weight.start];
}

impl Stiffened {
    /// No entries yet.
    pub(super) fn new(model: &Model, problem: &ProblemTables) -> Self {
        let k = model.params.friction.normal_force();
        Self { entries: Vec::new(), k, at: problem.at, screws: problem.screws }
    }

    /// The terms of a body that turns by these pairs of screws, each with its entry of P, which becomes one that is
    /// stiffened.
    pub(super) fn terms(&mut self, turning: Vec<(usize, usize, usize)>) -> Terms {
        let mut place = |entry: usize| {
            self.entries.iter().position(|&other| other == entry).unwrap_or_else(|| {
                self.entries.push(entry);
                self.entries.len() - 1
            })
        };
        turning.into_iter().map(|(left, right, entry)| (left, right, place(entry))).collect()
    }

    /// Adds a body's stiffness M to P's entries, in the order of [`Stiffened::entries`].
    #[inline(always)]
    pub(super) fn add<R: Real>(&self, terms: &Terms, kin: &[R], m: [R; STIFFNESS], out: &mut [R]) {
        let m = matrix(m);
        for &(left, right, place) in terms {
            out[place] += dot(self.turn(kin, left), rotate(&m, self.turn(kin, right)));
        }
    }

    /// The vector-Jacobian product of [`Stiffened::add`]: the gradient of M. Adds to the gradients of the axes ω.
    #[inline(always)]
    pub(super) fn vjp<R: Real>(
        &self,
        terms: &Terms,
        kin: &[R],
        m: [R; STIFFNESS],
        grad_p: &impl Fn(usize) -> R,
        to_kin: &mut [R],
    ) -> [R; STIFFNESS] {
        let (m, mut grad_m) = (matrix(m), [R::zero(); STIFFNESS]);
        for &(left, right, place) in terms {
            let (x, y) = (self.turn(kin, left), self.turn(kin, right));
            let grad = grad_p(self.entries[place]);
            add_outer(grad, x, y, &mut grad_m);
            self.add_turn(to_kin, left, scale(grad, rotate(&m, y)));
            self.add_turn(to_kin, right, scale(grad, rotate(&m, x)));
        }
        grad_m
    }

    /// Angular part ω of a screw.
    #[inline(always)]
    fn turn<R: Real>(&self, kin: &[R], screw: usize) -> Vec3<R> {
        vec3_at(kin, self.screws + SCREW * screw)
    }

    /// Adds to the gradient of [`Stiffened::turn`].
    #[inline(always)]
    fn add_turn<R: Real>(&self, to_kin: &mut [R], screw: usize, grad: Vec3<R>) {
        add_vec3(to_kin, self.screws + SCREW * screw, grad);
    }
}

/// Adds `factor` times the gradient of x · M y by the six numbers of the symmetric M.
#[inline(always)]
fn add_outer<R: Real>(factor: R, x: Vec3<R>, y: Vec3<R>, to: &mut [R; STIFFNESS]) {
    for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let product = x[i] * y[j];
        to[k] += factor * if i == j { product } else { product + x[j] * y[i] };
    }
}
