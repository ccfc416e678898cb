//! How the contacts' geometry changes with what moves it.

use crate::contact::lanes;
use crate::contact::pair::PairFunction;
use crate::kinematics::Pose;
use crate::math::lane::{Lane, clear};
use crate::math::program::Stage;
use crate::math::rows::Output;
use crate::math::spatial::{Twist, Wrench};
use crate::math::vector::{add, axpy, cross, scale};
use crate::solve::CONTACT;

use super::super::memory::{GEOMETRY, Memory, SHAPE_PULL};
use super::super::plan::{PairPlan, Plan};
use super::super::stages::{at3, put3};

/// How each contact's geometry changes with the degrees of freedom that move it.
pub(super) struct Touch<'a>(pub(super) &'a Plan);

impl Stage for Touch<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, to) = plan.with_jacobian(memory);
        let screws = plan.screws(m.kin);
        clear(to.geometry);
        for pair in &plan.pairs {
            let (a, b) = (Pose::read(&m.kin[Plan::pose(pair.a)..]), Pose::read(&m.kin[Plan::pose(pair.b)..]));
            let size = |shape: usize| plan.at.sizes + 4 * shape;
            let (size_a, size_b) = (&m.par[size(pair.a)..size(pair.a) + 4], &m.par[size(pair.b)..size(pair.b) + 4]);
            let shapes = [(&a, size_a), (&b, size_b)];
            if lanes::has_push(pair.function.kind) {
                plan.push_pair(pair, shapes, screws, to.seed, to.geometry);
            } else {
                plan.pull_pair(pair, shapes, (screws, m.contacts), to.seed, to.geometry);
            }
        }
    }
}

/// A shape with its sizes.
type Sized<'a, R> = (&'a Pose<R>, &'a [R]);

impl Plan {
    /// Of a kind that tells how its contacts change with a motion: screw by screw.
    #[inline(always)]
    fn push_pair<R: Lane>(
        &self,
        pair: &PairPlan,
        [(a, size_a), (b, size_b)]: [Sized<R>; 2],
        screws: &[R],
        change: &mut [R],
        geometry: &mut [R],
    ) {
        let PairFunction { kind, swapped } = pair.function;
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
        [(a, size_a), (b, size_b)]: [Sized<R>; 2],
        (screws, contacts): (&[R], &[R]),
        seed: &mut [R],
        geometry: &mut [R],
    ) {
        let PairFunction { kind, swapped } = pair.function;
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
}
