//! The adjoints (vector-Jacobian products) of the stages in [`super::stages`].

use crate::dynamics::{INERTIA, vjp_ten};
use crate::solve::{CONTACT_OPERAND, Status};
use fingertip_lanes::lane::{Lane, Mask, Zip, clear, inlined};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::add_vec3;

use super::super::inertial::Body;
use super::super::memory::{GEOMETRY, Memory};
use super::stages::{Of, allowed};

/// From the gradient of v₊ to that of δ; worlds at home have no gradients.
pub(super) struct PullFinish<'a>(pub(super) Of<'a>);

impl Stage for PullFinish<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0.plan;
        let (Memory { numbers: m, work }, to) = plan.places.both(memory);
        let good = work.info[0].gt(R::splat(Status::Infeasible.code())).not();
        m.usable[0] = R::select(good, m.usable[0], R::zero());
        for block in [&mut *to.q_next, to.delta, to.v_next, to.force, to.limit, to.geometry, to.share] {
            for x in block.iter_mut() {
                *x = R::select(good, *x, R::zero());
            }
        }
        let h = m.par[plan.at.h];
        for (grad, &of_v) in to.delta.iter_mut().zip_inline(&*to.v_next) {
            *grad += of_v / h;
        }
    }
}

/// From the gradients of the solver's operands to those of contacts, M, b, q, τ and parameters.
pub(super) struct PullProblem<'a>(pub(super) Of<'a>);

impl Stage for PullProblem<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Of { plan, more } = self.0;
        let (s, at) = (&*plan.structure, &plan.at);
        let (Memory { numbers: m, .. }, mut to) = plan.places.both(memory);
        let slopes = more.bound.contact_slopes();
        for (i, contact) in R::parts(to.contacts.chunks_exact_mut(CONTACT_OPERAND).enumerate()) {
            let phi = m.geometry[GEOMETRY * i + GEOMETRY - 1];
            contact[GEOMETRY - 1] = contact[GEOMETRY - 1] * allowed(phi, slopes).1;
        }
        plan.vjp_contacts(&m, &mut to);
        let slopes = more.bound.limit_slopes();
        more.limits.fill(m.q, m.par, m.gaps);
        for (grad, &gap) in to.gaps[..s.n_limits].iter_mut().zip_inline(&*m.gaps) {
            *grad = *grad * allowed(gap, slopes).1;
        }
        more.limits.vjp_fill([m.q, m.par], to.gaps, [&mut *to.q, &mut *to.par]);

        let (extra, rest) = more.at.cut(m.extra);
        let mass = more.mass_at.cut(rest).0;
        clear(to.extra);
        let (to_extra, rest) = more.to.cut(to.extra);
        let to_mass = more.mass_to.cut(rest).0;
        let (v, tau) = m.u.split_at(s.nv);
        let (grad_v, grad_tau) = to.u.split_at_mut(s.nv);
        let h = m.par[at.h];
        let (per_h, per_h2) = (R::one() / h, R::one() / (h * h));
        // v₊ = δ/h
        let mut grad_h = R::zero();
        for (&grad, &delta) in to.v_next.iter().zip_inline(&*m.delta) {
            grad_h -= grad * delta * per_h2;
        }
        for (&grad, &(i, j, place)) in to.p.iter().zip_inline(&more.entries) {
            to_mass.m[i * s.nv + j] += grad * per_h2;
            grad_h -= (grad * mass.m[place] * per_h2 * per_h).scale(2.0);
        }
        for dof in R::parts(0..s.nv) {
            let (momentum, force) = (extra.momentum[dof], extra.force[dof]);
            // −y is the gradient of g = −(M v/h + force).
            let y = to.y[s.place[dof]];
            let (mut grad_momentum, mut grad_force) = (y * per_h, y);
            grad_h -= y * momentum * per_h2;
            let grad_damping = to.p[dof] * per_h;
            if let Some(k) = more.joints.friction[dof] {
                let c = m.par[at.dry_friction + k];
                let m_ii = mass.m[more.entries[dof].2];
                let dry = more.dry(c, h, m_ii, momentum, force);
                let damping = c / dry.positive;
                grad_h -= grad_damping * damping * per_h;
                // ∂x̃/∂x = x̃/root
                let grad_x = -(grad_damping * damping / dry.root);
                let grad_free = grad_x * dry.free / dry.speed;
                let grad_per = -(grad_x * c);
                // x falls by h/m for each unit of c.
                to.par[at.dry_friction + k] += grad_damping / dry.positive - grad_x * h / m_ii;
                grad_momentum += grad_free / m_ii;
                grad_force += grad_free * h / m_ii;
                grad_h += (grad_free * force + grad_per) / m_ii;
                to_mass.m[dof * s.nv + dof] -= (grad_free * dry.free + grad_per * h / m_ii) / m_ii;
            }
            to_extra.momentum[dof] = grad_momentum;
            to_mass.bias[dof] = -grad_force;
            to.par[at.tau + dof] = grad_force;
            let effort = more.joints.effort[dof];
            grad_tau[dof] = if effort.is_finite() {
                R::select(tau[dof].abs().lt(R::splat(effort)), grad_force, R::zero())
            } else {
                grad_force
            };
        }
        more.mass.vjp_times(mass.m, v, to_extra.momentum, to_mass.m, grad_v);
        for &(k, dof) in &more.joints.armature {
            to.par[at.armature + k] += to_mass.m[dof * s.nv + dof];
        }
        for &(k, dof) in &more.joints.damping {
            to.par[at.damping + k] += to.p[dof] * per_h;
            grad_h -= to.p[dof] * m.par[at.damping + k] * per_h2;
        }
        let force = inlined(
            #[inline(always)]
            |dof: usize| -to_mass.bias[dof],
        );
        more.connections.vjp(
            [m.kin, &m.par[at.connection..]],
            to.p,
            force,
            [&mut *to.kin, &mut to.par[at.connection..]],
        );
        for &(k, dof, at_q) in &more.joints.springs {
            let (stiffness, rest, grad_force) = (m.par[at.spring + k], m.par[at.spring_rest + k], -to_mass.bias[dof]);
            to.par[at.spring + k] = grad_force.mul_add(rest - m.q[at_q], to.p[dof]);
            to.par[at.spring_rest + k] = grad_force * stiffness;
            to.q[at_q] -= grad_force * stiffness;
        }
        to.par[at.h] = grad_h;
    }
}

/// From the gradients of offsets, gravity and inertias to those of the parameters.
pub(super) struct PullParameters<'a>(pub(super) Of<'a>);

impl Stage for PullParameters<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Of { plan, more } = self.0;
        let at = &plan.at;
        let (Memory { numbers: m, .. }, to) = plan.places.both(memory);
        let (to_extra, rest) = more.to.cut(to.extra);
        let grad = more.mass_to.cut(rest).0.parameters;
        for (to, &grad) in to.par[at.offsets..].iter_mut().zip_inline(&to_extra.offsets[..more.n_offsets]) {
            *to += grad;
        }
        add_vec3(to.par, at.gravity, [grad[0], grad[1], grad[2]]);
        let grad = grad[3..].as_chunks::<INERTIA>().0;
        for (b, body) in R::parts(more.bodies.iter().enumerate()) {
            let &Body::Parameters(place) = body else { continue };
            let (mass, com, _) = more.body(plan, m.par, place);
            let (grad_mass, grad_com, [xx, xy, xz, yy, yz, zz]) = vjp_ten(mass, com, &grad[b]);
            to.par[at.mass + place] += grad_mass;
            add_vec3(to.par, at.offsets + more.n_offsets + 3 * place, grad_com);
            let six = &mut to.par[at.inertia + 6 * place..at.inertia + 6 * (place + 1)];
            for (to, grad) in six.iter_mut().zip_inline(&[xx, yy, zz, xy, xz, yz]) {
                *to += *grad;
            }
        }
    }
}
