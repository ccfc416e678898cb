//! The step's adjoint in lanes: the stages of [`super::stages`], backwards.

use crate::contact::lanes;
use crate::contact::pair::PairFunction;
use crate::description::Shape;
use crate::kinematics::{Integrate, ManifoldMap, POSE, Pose};
use crate::math::lane::{Lane, Mask, Zip, clear};
use crate::math::program::Stage;
use crate::math::rows::{Output, Rows};
use crate::math::vector::{add_vec3, cross, scale, vec3_at};
use crate::solve::{CONTACT_OPERAND, INFO};

use super::memory::{GEOMETRY, Memory, SHAPE_PULL};
use super::plan::{Method, Plan};
use super::stages::share;

/// The solution from a step's result row, and the gradient of its results.
pub(super) struct Recall<'a> {
    pub(super) plan: &'a Plan,
    pub(super) result: &'a Rows<'a>,
    pub(super) grad: &'a Rows<'a>,
}

impl Stage for Recall<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.plan;
        let (Memory { numbers: m, work }, to) = plan.places.both(memory);
        let mut at = 0;
        let force = &mut to.force[..plan.n_forces()];
        for block in [to.q_next, to.delta, force, to.limit, to.geometry, to.share] {
            self.grad.load_all(first, at, block);
            at += block.len();
        }
        self.result.load_all(first, plan.nq, m.delta);
        self.result.load_all(first, plan.n_results(), work.eta);
        self.result.load_all(first, plan.n_row() - INFO, work.info);
        plan.place_delta(m.delta, work.delta);
    }
}

impl Plan {
    /// δ from the order of v to that of elimination.
    #[inline(always)]
    pub(super) fn place_delta<R: Lane>(&self, delta: &[R], to: &mut [R]) {
        for (dof, &place) in self.structure.place.iter().enumerate() {
            to[place] = delta[dof];
        }
    }
}

/// From the gradients of q₊ and δ to that of the solve's δ.
pub(super) struct PullIntegrate<'a>(pub(super) &'a Plan);

impl Stage for PullIntegrate<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, to) = plan.places.both(memory);
        Integrate::pull(&plan.retraction, m.q, m.delta, to.q_next, to.through_q, to.through_delta);
        for (dof, &place) in plan.structure.place.iter().enumerate() {
            to.y[place] = to.delta[dof] + to.through_delta[dof];
        }
        clear(to.kin);
    }
}

/// From the gradients of the contacts' forces and torques to those of the solver's forces and, through its normal, of the geometry.
pub(super) struct PullForces<'a>(pub(super) &'a Plan);

impl Stage for PullForces<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, work }, to) = plan.places.both(memory);
        plan.contacts.torsion.pull_forces(m.contacts, work.eta, to.force, (to.geometry, GEOMETRY));
    }
}

/// From the problem's operands to poses, screws, q, u and parameters.
pub(super) struct PullAssemble<'a>(pub(super) &'a Plan);

impl Stage for PullAssemble<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, to) = plan.places.both(memory);
        for block in [&mut *to.q, &mut *to.u, &mut *to.par, &mut *to.motion] {
            clear(block);
        }
        plan.contacts.pull_complete(plan.friction_mut(to.par), to.contacts);
        for c in R::parts(0..plan.nc) {
            let contact = &mut to.contacts[CONTACT_OPERAND * c..CONTACT_OPERAND * (c + 1)];
            for (value, &grad) in contact.iter_mut().zip_inline(&to.geometry[GEOMETRY * c..GEOMETRY * (c + 1)]) {
                *value += grad;
            }
            let (weight, slope) = plan.contacts.weight(m.contacts[CONTACT_OPERAND * c + 9]);
            contact[9] += contact[11] * share(m.share, c) * slope;
            if let Some(grad) = to.share.get_mut(c) {
                *grad += contact[11] * weight;
            }
        }
        to.par[plan.at.kappa] = to.kappa[0];
        plan.problem.pull(
            &plan.structure.place,
            [m.q, m.u, m.kin, m.par, m.motion],
            [to.p, to.y, to.gaps],
            [to.q, to.u, to.kin, to.par, to.motion],
        );
    }
}

/// From the contacts' geometry to the shapes' poses and sizes.
pub(super) struct PullGeometry<'a>(pub(super) &'a Plan);

impl Stage for PullGeometry<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, to) = plan.places.both(memory);
        clear(to.shapes);
        for pair in R::parts(&plan.pairs) {
            let shapes = plan.shapes(pair, m.kin, m.par);
            // Geometry gradients side by side.
            let first = GEOMETRY * pair.first;
            for c in 0..pair.contacts {
                for k in 0..GEOMETRY {
                    m.geometry[first + GEOMETRY * c + k] = to.contacts[CONTACT_OPERAND * (pair.first + c) + k];
                }
            }
            let grad = &m.geometry[first..first + GEOMETRY * pair.contacts];
            let mut wrenches = [[R::zero(); SHAPE_PULL]; 2];
            let mut sizes = [[R::zero(); Shape::SIZES]; 2];
            match &pair.method {
                Method::Formula(PairFunction { kind, swapped }) => {
                    let ([wrench_a, wrench_b], [grad_a, grad_b]) = (&mut wrenches, &mut sizes);
                    let [(a, size_a), (b, size_b)] = shapes;
                    let (a, b) = (Pose::read(a), Pose::read(b));
                    lanes::pull(*kind, *swapped, &a, size_a, &b, size_b, grad, wrench_a, wrench_b, grad_a, grad_b);
                }
                Method::Convex(convex, k) => {
                    let shares = &to.share[pair.first..pair.first + pair.contacts];
                    let nearest = &m.nearest[GEOMETRY * k..GEOMETRY * (k + 1)];
                    lanes::convex::pull(convex, shapes, nearest, (grad, shares), &mut wrenches, &mut sizes);
                }
            }
            for (shape, (wrench, sizes)) in [pair.a, pair.b].into_iter().zip_inline(wrenches.iter().zip_inline(&sizes))
            {
                for k in 0..SHAPE_PULL {
                    to.shapes[SHAPE_PULL * shape + k] += wrench[k];
                }
                for k in 0..Shape::SIZES {
                    to.par[plan.size(shape) + k] += sizes[k];
                }
            }
        }
        // A wrench on a frame, as a gradient of its pose: force on p, and half the moment crossed with each axis.
        for shape in R::parts(0..plan.n_shapes) {
            let (force, moment) = (vec3_at(to.shapes, SHAPE_PULL * shape), vec3_at(to.shapes, SHAPE_PULL * shape + 3));
            let place = POSE * shape;
            add_vec3(to.kin, place, force);
            for k in 0..3 {
                let axis = vec3_at(m.kin, place + 3 + 3 * k);
                add_vec3(to.kin, place + 3 + 3 * k, scale(R::splat(0.5), cross(moment, axis)));
            }
        }
    }
}

/// Adds what q gets through q ⊕ δ; worlds whose numbers are unusable have no gradient.
pub(super) struct Clean<'a>(pub(super) &'a Plan);

impl Stage for Clean<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let (Memory { numbers: m, .. }, to) = self.0.places.both(memory);
        let usable = m.usable[0].gt(R::zero());
        for (grad, &through) in to.q.iter_mut().zip_inline(to.through_q.iter()) {
            let sum = *grad + through;
            *grad = R::select(usable.and(sum.is_finite()), sum, R::zero());
        }
        for grad in to.u.iter_mut().chain(to.par.iter_mut()) {
            *grad = R::select(grad.is_finite(), *grad, R::zero());
        }
    }
}

/// Writes the gradients of q, u and the parameters.
pub(super) struct StoreGradients<'a>(pub(super) &'a Plan);

impl Stage for StoreGradients<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let (_, to) = self.0.places.both(memory);
        let mut at = 0;
        for block in [to.q, to.u, to.par] {
            out.store_all(first, at, block);
            at += block.len();
        }
    }
}
