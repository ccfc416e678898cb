//! The adjoints (vector-Jacobian products) of the stages in [`super::stages`], in the order in which [`super::program`]
//! runs them.

use crate::contact::absence::forget;
use crate::contact::numbers::PHI;
use crate::kinematics::{Integrate, ManifoldMap};
use crate::solve::{CONTACT_OPERAND, WEIGHT, present, touched};
use fingertip_lanes::lane::{Lane, Mask, Real, Zip, clear, copy, inlined};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::{Output, Rows};

use super::super::stiffened::ContactLayout;
use super::memory::{GEOMETRY, Gradients, Memory, Numbers};
use super::plan::Plan;
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
        let row = plan.row();
        self.grad.load_all(first, row.q_next.start, to.q_next);
        self.grad.load_all(first, row.delta.start, to.delta);
        self.grad.load_all(first, row.v_next.start, to.v_next);
        plan.contacts.torsion.load_gradient(self.grad, (first, row.force.start), to.force);
        self.grad.load_all(first, row.limit_force.start, to.limit);
        self.grad.load_all(first, row.contact.start, to.geometry);
        self.grad.load_all(first, row.share.start, to.share);
        self.result.load_all(first, row.delta.start, m.delta);
        self.result.load_all(first, row.warm.start, work.eta);
        self.result.load_all(first, row.info.start, work.info);
        plan.structure.place_all(m.delta, work.delta);
    }
}

/// The vector-Jacobian product of the retraction: from the gradients of q₊ and δ to that of the solve's δ.
pub(super) struct PullIntegrate<'a>(pub(super) &'a Plan);

impl Stage for PullIntegrate<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, to) = plan.places.both(memory);
        Integrate::vjp(&plan.retraction, m.q, m.delta, to.q_next, to.through_q, to.through_delta);
        for (dof, &place) in plan.structure.place.iter().enumerate() {
            to.y[place] = to.delta[dof] + to.through_delta[dof];
        }
        clear(to.kin);
    }
}

/// The vector-Jacobian product of the problem's assembly: from its operands to poses, screws, q, u and parameters.
pub(super) struct PullAssemble<'a>(pub(super) &'a Plan);

impl Stage for PullAssemble<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, .. }, mut to) = plan.places.both(memory);
        plan.vjp_contacts(&m, &mut to);
        plan.problem.vjp(
            &plan.structure.place,
            [m.q, m.u, m.kin, m.par, m.motion],
            [to.p, to.y, to.gaps],
            [to.q, to.u, to.kin, to.par, to.motion],
        );
    }
}

impl Plan {
    /// From the gradients of the contacts as the solver takes them to those of geometry, shares, κ, μ and γ; those of
    /// all other operands are cleared.
    #[inline(always)]
    pub(super) fn vjp_contacts<R: Real>(&self, m: &Numbers<&mut [R]>, to: &mut Gradients<&mut [R]>) {
        for block in [&mut *to.q, &mut *to.u, &mut *to.par, &mut *to.motion] {
            clear(block);
        }
        let s = &*self.structure;
        let (own, grads) = (self.friction_mut(to.par), [&*to.contacts, &*to.gammas]);
        self.contacts.vjp_complete(touched(s, m.near, 0..self.nc), own, grads);
        self.vjp_rolling(m, to);
        let contacts = to.contacts.chunks_exact_mut(CONTACT_OPERAND).zip_inline(to.geometry.chunks_exact(GEOMETRY));
        for (contact, grad) in touched(s, m.near, contacts) {
            for (value, &grad) in contact.iter_mut().zip_inline(grad) {
                *value += grad;
            }
        }
        // Weights of contacts that are far stay 0.
        for c in present(s, m.near, 0..self.nc) {
            let contact = &mut to.contacts[CONTACT_OPERAND * c..CONTACT_OPERAND * (c + 1)];
            let (weight, slope) = self.weight(c, m.geometry[GEOMETRY * c + PHI]);
            contact[PHI] += contact[WEIGHT] * share(m.share, c) * slope;
            if let Some(grad) = to.share.get_mut(c) {
                *grad += contact[WEIGHT] * weight;
            }
        }
        to.par[self.at.kappa] += to.kappa[0];
    }
}

impl Plan {
    /// The vector-Jacobian product of the rolling stiffness: see
    /// [`RollingTables`](crate::step::rolling::RollingTables).
    #[inline(always)]
    fn vjp_rolling<R: Real>(&self, m: &Numbers<&mut [R]>, to: &mut Gradients<&mut [R]>) {
        const LAYOUT: ContactLayout = ContactLayout { numbers: CONTACT_OPERAND, weight: WEIGHT };
        let (contacts, p) = (self.placed(m.geometry, m.share), &*to.p);
        let grad_p = inlined(
            #[inline(always)]
            |entry: usize| p[entry],
        );
        self.rolling.vjp([m.kin, m.par], contacts, grad_p, (to.kin, to.par), (to.contacts, LAYOUT));
    }
}

/// The vector-Jacobian product of contact detection: from the contacts' geometry to the shapes' poses and sizes. With
/// `passes`, contacts that are far have no gradient.
pub(super) struct PullGeometry<'a> {
    pub(super) plan: &'a Plan,
    pub(super) passes: bool,
}

impl Stage for PullGeometry<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.plan;
        let (Memory { numbers: m, .. }, to) = plan.places.both(memory);
        let near = if self.passes { &*m.near } else { &[] };
        // Geometry gradients side by side.
        for c in present(&plan.structure, near, 0..plan.nc) {
            let from = &to.contacts[CONTACT_OPERAND * c..CONTACT_OPERAND * c + GEOMETRY];
            copy(&mut m.geometry[GEOMETRY * c..GEOMETRY * (c + 1)], from);
        }
        let sizes = &mut to.par[plan.at.sizes..plan.at.offsets];
        let numbers = [&*m.kin, plan.sizes(m.par), m.nearest, near];
        plan.pairs.vjp(numbers, [m.geometry, to.share], [to.shapes, to.kin, sizes]);
        if !self.passes {
            // The geometry is no longer there.
            forget(m.near);
        }
    }
}

/// Adds the gradient that q gets through the retraction q ⊕ δ, and clears the gradients of worlds whose numbers are
/// unusable.
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
