//! Derivatives of the contacts' geometry (normal, witness points, φ) by the degrees of freedom that move it.

use std::ops::Range;

use crate::contact::OWN_RATES;
use crate::contact::kernels::{Method, PairKernel};
use crate::contact::lanes::{self, Motion, Motions};
use crate::contact::numbers::{NORMAL, PHI, POINT_A, POINT_B};
use crate::kinematics::Pose;
use crate::kinematics::spatial::Twist;
use crate::solve::{CONTACT_OPERAND, ContactColumns, WEIGHT};
use fingertip_lanes::lane::{Lane, Mask, Real, clear};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::{Vec3, add_vec3, cross, dot, select, vec3_at};

use super::super::super::torsion::is_nowhere;
use super::super::memory::{GEOMETRY, Memory};
use super::super::plan::Plan;

/// Fills in the rates of each contact's geometry by the degrees of freedom that move it.
pub(super) struct ContactRates<'a>(pub(super) &'a Plan);

impl Stage for ContactRates<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, mut to) = plan.with_jacobian(memory);
        let screws = plan.screws(m.kin);
        for pair in R::parts(&plan.pairs.pairs) {
            let heaviest = plan.heaviest(pair, m.contacts);
            R::when(
                heaviest.gt(R::zero()),
                &mut to,
                #[inline(always)]
                |to| {
                    let slots = plan.slots(pair);
                    clear(&mut to.geometry[GEOMETRY * slots.start..GEOMETRY * slots.end]);
                    if let Some(share) = to.share.get_mut(slots) {
                        clear(share);
                    }
                    let shapes = pair.shapes(m.kin, plan.sizes(m.par));
                    match &pair.method {
                        Method::Formula(function) => {
                            let [(a, size_a), (b, size_b)] = shapes;
                            let (a, b) = (&Pose::read(a), &Pose::read(b));
                            let (change, geometry) = (&mut *to.seed, &mut *to.geometry);
                            let motions = &mut ByScrews { plan, pair, screws, change, geometry };
                            lanes::jvp(function.kind, function.swapped, a, size_a, b, size_b, motions);
                        }
                        Method::Convex(convex, k) => {
                            let [(a, _), (b, _)] = shapes;
                            let origins = [vec3_at(a, 0), vec3_at(b, 0)];
                            let nearest = &m.nearest[GEOMETRY * k..GEOMETRY * (k + 1)];
                            let rates = &mut to.rates[..convex.n_rates()];
                            lanes::convex::rates(convex, shapes, nearest, heaviest, rates);
                            plan.carry_pair(pair, origins, (screws, m.contacts), rates, to.geometry, to.share);
                        }
                    }
                },
            );
        }
    }
}

/// Writes the derivatives of a pair's contact geometry by each screw that moves one of the pair's shapes.
struct ByScrews<'a, R> {
    plan: &'a Plan,
    pair: &'a PairKernel,
    screws: &'a [R],
    /// Room for the rates by one screw.
    change: &'a mut [R],
    geometry: &'a mut [R],
}

impl<R: Real> ByScrews<'_, R> {
    /// Adds the derivatives by the screws that move one side; `motions` places a screw's motion on that side.
    #[inline(always)]
    fn each_of(
        &mut self,
        side: usize,
        motions: impl Fn(Motion<R>) -> [Motion<R>; 2],
        push: &impl Fn([Motion<R>; 2], &mut [R]),
    ) {
        let Self { plan, pair, screws, change, geometry } = self;
        for entry in R::parts(&plan.paths.contacts[pair.first][side]) {
            push(motions(Motion(Some(Twist::read(screws, entry.screw)))), change);
            for n in 0..pair.contacts {
                let at = GEOMETRY * (plan.structure.contacts[pair.first + n].first + entry.slot);
                let (change, to) = (&change[GEOMETRY * n..GEOMETRY * (n + 1)], &mut geometry[at..at + GEOMETRY]);
                for k in 0..GEOMETRY {
                    to[k] += change[k];
                }
            }
        }
    }
}

impl<R: Real> Motions<R> for ByScrews<'_, R> {
    #[inline(always)]
    fn each(&mut self, push: impl Fn([Motion<R>; 2], &mut [R])) {
        self.each_of(
            0,
            #[inline(always)]
            |a| [a, Motion(None)],
            &push,
        );
        self.each_of(
            1,
            #[inline(always)]
            |b| [Motion(None), b],
            &push,
        );
    }
}

impl Plan {
    /// The slots of a pair's contacts.
    fn slots(&self, pair: &PairKernel) -> Range<usize> {
        let of = &self.structure.contacts[pair.first..pair.first + pair.contacts];
        let after = |last: &ContactColumns| last.first + last.dofs.len();
        of.first().map_or(0, |first| first.first)..of.last().map_or(0, after)
    }

    /// The largest weight of a pair's contacts: where none has any, no change of theirs matters.
    #[inline(always)]
    fn heaviest<R: Lane>(&self, pair: &PairKernel, contacts: &[R]) -> R {
        let mut heaviest = R::zero();
        for contact in pair.first..pair.first + pair.contacts {
            heaviest = heaviest.max(contacts[CONTACT_OPERAND * contact + WEIGHT]);
        }
        heaviest
    }

    /// Derivatives of a convex pair's contacts, from `rates`, the rates by a motion of one of its two shapes. A motion
    /// of the other shape is a common motion of both, which carries the normal and the points along, minus the same
    /// motion of the first shape.
    #[inline(always)]
    fn carry_pair<R: Lane>(
        &self,
        pair: &PairKernel,
        [origin_a, origin_b]: [Vec3<R>; 2],
        (screws, contacts): (&[R], &[R]),
        rates: &[R],
        geometry: &mut [R],
        share: &mut [R],
    ) {
        let (side, rates) = rates.split_at(1);
        let of_b = side[0].gt(R::zero());
        let origin = select(of_b, origin_b, origin_a);
        for side in 0..2 {
            let own = if side == 0 { of_b.not() } else { of_b };
            for entry in R::parts(&self.paths.contacts[pair.first][side]) {
                let screw = Twist::read(screws, entry.screw);
                let motion = OneMoves { velocity: screw.velocity(origin), omega: screw.omega, own };
                for n in 0..pair.contacts {
                    let contact = pair.first + n;
                    if is_nowhere(contacts, contact) {
                        continue;
                    }
                    let at = &contacts[CONTACT_OPERAND * contact..];
                    let slot = self.structure.contacts[contact].first + entry.slot;
                    let rates = &rates[OWN_RATES * n..OWN_RATES * (n + 1)];
                    let to = &mut geometry[GEOMETRY * slot..GEOMETRY * (slot + 1)];
                    add_vec3(to, NORMAL, motion.rates(rates, cross(screw.omega, vec3_at(at, NORMAL))));
                    add_vec3(to, POINT_A, motion.rates(&rates[18..], screw.velocity(vec3_at(at, POINT_A))));
                    add_vec3(to, POINT_B, motion.rates(&rates[36..], screw.velocity(vec3_at(at, POINT_B))));
                    to[PHI] += motion.rate(&rates[54..], R::zero());
                    share[slot] += motion.rate(&rates[60..], R::zero());
                }
            }
        }
    }
}

/// A screw's motion of one of the two shapes of a convex pair.
struct OneMoves<R: Real> {
    /// Velocity of the origin of the shape that the rates refer to; `omega` is the angular velocity.
    velocity: Vec3<R>,
    omega: Vec3<R>,
    /// Is the moving shape the one that the rates refer to?
    own: R::Mask,
}

impl<R: Real> OneMoves<R> {
    /// The rate of one number of the geometry, given its six derivatives by velocity and ω, and `common`, its rate if
    /// both shapes move.
    #[inline(always)]
    fn rate(&self, six: &[R], common: R) -> R {
        let rate = dot(vec3_at(six, 0), self.velocity) + dot(vec3_at(six, 3), self.omega);
        R::select(self.own, rate, common - rate)
    }

    /// The rates of three numbers.
    #[inline(always)]
    fn rates(&self, of: &[R], common: Vec3<R>) -> Vec3<R> {
        [self.rate(of, common[0]), self.rate(&of[6..], common[1]), self.rate(&of[12..], common[2])]
    }
}
