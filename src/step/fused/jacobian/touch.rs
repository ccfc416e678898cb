//! How the contacts' geometry changes with what moves it.

use crate::contact::lanes;
use crate::contact::pair::PairFunction;
use crate::contact::{NORMAL_RATES, OWN_RATES};
use crate::kinematics::Pose;
use crate::math::lane::{Lane, Real, clear};
use crate::math::program::Stage;
use crate::math::rows::Output;
use crate::math::spatial::{Twist, Wrench};
use crate::math::vector::{Vec3, add, axpy, cross, dot, scale, sub};
use crate::solve::CONTACT;

use super::super::memory::{GEOMETRY, Memory, SHAPE_PULL};
use super::super::plan::{Method, PairPlan, Plan};
use super::super::stages::{add3, at3, put3};

/// How each contact's geometry changes with the degrees of freedom that move it.
pub(super) struct Touch<'a>(pub(super) &'a Plan);

impl Stage for Touch<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, to) = plan.with_jacobian(memory);
        let screws = plan.screws(m.kin);
        clear(to.geometry);
        clear(to.share);
        for pair in &plan.pairs {
            let shapes = plan.shapes(pair, m.kin, m.par);
            match &pair.method {
                Method::Formula(function) if lanes::has_push(function.kind) => {
                    plan.push_pair(pair, *function, shapes, screws, to.seed, to.geometry);
                }
                Method::Formula(function) => {
                    plan.pull_pair(pair, *function, shapes, (screws, m.contacts), to.seed, to.geometry);
                }
                Method::Convex(convex) => {
                    let [_, (b, _)] = shapes;
                    let rates = &mut to.rates[..convex.n_rates()];
                    lanes::convex::rates(convex, shapes, plan.heaviest(pair, m.contacts), rates);
                    plan.carry_pair(pair, at3(b, 0), (screws, m.contacts), rates, to.geometry, to.share);
                }
            }
        }
    }
}

/// The poses and sizes of a pair's shapes.
type Shapes<'a, R> = lanes::convex::Places<'a, R>;

impl Plan {
    /// Of a kind that tells how its contacts change with a motion: screw by screw.
    #[inline(always)]
    fn push_pair<R: Lane>(
        &self,
        pair: &PairPlan,
        PairFunction { kind, swapped }: PairFunction,
        [(a, size_a), (b, size_b)]: Shapes<R>,
        screws: &[R],
        change: &mut [R],
        geometry: &mut [R],
    ) {
        let (a, b) = (&Pose::read(a), &Pose::read(b));
        for side in 0..2 {
            for entry in &self.paths.contacts[pair.first][side] {
                let mut motions = [Twist::zero(); 2];
                motions[side] = Twist::read(screws, entry.screw);
                lanes::push(kind, swapped, a, size_a, b, size_b, motions, change);
                for n in 0..pair.contacts {
                    let at = GEOMETRY * (self.structure.contacts[pair.first + n].first + entry.slot);
                    let (change, to) = (&change[GEOMETRY * n..GEOMETRY * (n + 1)], &mut geometry[at..at + GEOMETRY]);
                    for k in 0..GEOMETRY {
                        to[k] += change[k];
                    }
                }
            }
        }
    }

    /// Of any other kind: number by number, but for the point on B, which is p_A + φ n.
    #[inline(always)]
    fn pull_pair<R: Lane>(
        &self,
        pair: &PairPlan,
        PairFunction { kind, swapped }: PairFunction,
        [(a, size_a), (b, size_b)]: Shapes<R>,
        (screws, contacts): (&[R], &[R]),
        seed: &mut [R],
        geometry: &mut [R],
    ) {
        let (a, b) = (&Pose::read(a), &Pose::read(b));
        let seed = &mut seed[..GEOMETRY * pair.contacts];
        clear(seed);
        for n in 0..pair.contacts {
            let contact = pair.first + n;
            let of = &self.structure.contacts[contact];
            for number in [0, 1, 2, 3, 4, 5, 9] {
                seed[GEOMETRY * n + number] = R::one();
                let mut wrenches = [[R::zero(); SHAPE_PULL]; 2];
                let mut sizes = [[R::zero(); 4]; 2];
                let ([wrench_a, wrench_b], [grad_a, grad_b]) = (&mut wrenches, &mut sizes);
                lanes::pull(kind, swapped, a, size_a, b, size_b, seed, wrench_a, wrench_b, grad_a, grad_b);
                seed[GEOMETRY * n + number] = R::zero();
                for (side, pose) in [a, b].into_iter().enumerate() {
                    let force = at3(&wrenches[side], 0);
                    let wrench = Wrench { moment: add(at3(&wrenches[side], 3), cross(pose.p, force)), force };
                    for entry in &self.paths.contacts[contact][side] {
                        let at = GEOMETRY * (of.first + entry.slot) + number;
                        geometry[at] += Twist::read(screws, entry.screw).dot(wrench);
                    }
                }
            }
            let (n, phi) = (at3(contacts, CONTACT * contact), contacts[CONTACT * contact + 9]);
            for slot in of.first..of.first + of.dofs.len() {
                let change = &mut geometry[GEOMETRY * slot..GEOMETRY * (slot + 1)];
                let point_b = add(at3(change, 3), axpy(change[9], n, scale(phi, at3(change, 0))));
                put3(change, 6, point_b);
            }
        }
    }

    /// The largest weight of a pair's contacts: where none has any, no change of theirs matters.
    #[inline(always)]
    fn heaviest<R: Lane>(&self, pair: &PairPlan, contacts: &[R]) -> R {
        let mut heaviest = R::zero();
        for contact in pair.first..pair.first + pair.contacts {
            heaviest = heaviest.max(contacts[CONTACT * contact + 11]);
        }
        heaviest
    }

    /// Of a convex pair, whose contacts' rates are by B's motion: a motion of A is one of both, which carries normal and points,
    /// less one of B.
    #[inline(always)]
    fn carry_pair<R: Lane>(
        &self,
        pair: &PairPlan,
        origin_b: Vec3<R>,
        (screws, contacts): (&[R], &[R]),
        rates: &[R],
        geometry: &mut [R],
        share: &mut [R],
    ) {
        for side in 0..2 {
            for entry in &self.paths.contacts[pair.first][side] {
                let screw = Twist::read(screws, entry.screw);
                let motion = Motion { velocity: screw.velocity(origin_b), omega: screw.omega };
                let turned = motion.rates(rates);
                for n in 0..pair.contacts {
                    let contact = pair.first + n;
                    let slot = self.structure.contacts[contact].first + entry.slot;
                    let own = &rates[NORMAL_RATES + OWN_RATES * n..NORMAL_RATES + OWN_RATES * (n + 1)];
                    let (on_a, on_b) = (motion.rates(own), motion.rates(&own[18..]));
                    let (phi, part) = (motion.rate(&own[36..]), motion.rate(&own[42..]));
                    let to = &mut geometry[GEOMETRY * slot..GEOMETRY * (slot + 1)];
                    if side == 1 {
                        add3(to, 0, turned);
                        add3(to, 3, on_a);
                        add3(to, 6, on_b);
                        to[9] += phi;
                        share[slot] += part;
                    } else {
                        let from = &contacts[CONTACT * contact..];
                        add3(to, 0, sub(cross(screw.omega, at3(from, 0)), turned));
                        add3(to, 3, sub(screw.velocity(at3(from, 3)), on_a));
                        add3(to, 6, sub(screw.velocity(at3(from, 6)), on_b));
                        to[9] -= phi;
                        share[slot] -= part;
                    }
                }
            }
        }
    }
}

/// A motion of B: the velocity of its origin, and its angular velocity.
struct Motion<R> {
    velocity: Vec3<R>,
    omega: Vec3<R>,
}

impl<R: Real> Motion<R> {
    /// The rate of a number, given its six by such a motion.
    #[inline(always)]
    fn rate(&self, six: &[R]) -> R {
        dot(at3(six, 0), self.velocity) + dot(at3(six, 3), self.omega)
    }

    /// The rates of three numbers.
    #[inline(always)]
    fn rates(&self, of: &[R]) -> Vec3<R> {
        [self.rate(of), self.rate(&of[6..]), self.rate(&of[12..])]
    }
}
