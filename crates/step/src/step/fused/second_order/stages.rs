//! The stages of a second-order step that the quasi-dynamic one does not have.

use crate::contact::absence::pass;
use crate::dynamics::{INERTIA, ten_of};
use crate::kinematics::SCREW;
use crate::solve::{CONTACT_OPERAND, Status, present};
use fingertip_lanes::lane::{Lane, Mask, Real, Zip, clear, copy};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::vec3_at;

use super::super::inertial::{Body, SecondOrder};
use super::super::memory::{GEOMETRY, Memory};
use super::super::plan::Plan;

/// A plan together with its second-order tables.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) plan: &'a Plan,
    pub(super) more: &'a SecondOrder,
}

impl Plan {
    /// The offset of the first screw in the row of the kinematics' results.
    pub(super) fn first_screw(&self) -> usize {
        self.frames.n_outputs() - SCREW * self.structure.ns
    }
}

/// Prepares a world: if its q, v, τ or h cannot be used, puts the home configuration at rest with the model's own
/// parameters in its place. Then fills in the offsets, gravity and inertias that kinematics and dynamics read.
pub(super) struct SetUp<'a>(pub(super) Of<'a>);

impl Stage for SetUp<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Of { plan, more } = self.0;
        let m = plan.places.memory(memory).0.numbers;
        let h = m.par[plan.at.h];
        let mut usable = m.usable[0].gt(R::zero()).and(h.gt(R::zero())).and(h.is_finite());
        for x in m.u.iter() {
            usable = usable.and(x.is_finite());
        }
        m.usable[0] = R::select(usable, R::one(), R::zero());
        R::when(
            usable.not(),
            &mut (&mut *m.q, &mut *m.u, &mut *m.par),
            #[inline(always)]
            |(q, u, par)| {
                for (x, &home) in q.iter_mut().zip_inline(&plan.home) {
                    *x = R::select(usable, *x, R::splat(home));
                }
                for x in u.iter_mut() {
                    *x = R::select(usable, *x, R::zero());
                }
                for (x, &own) in par.iter_mut().zip_inline(&more.own) {
                    *x = R::select(usable, *x, R::splat(own));
                }
            },
        );
        let (extra, rest) = more.at.cut(m.extra);
        let (own, frames) = extra.offsets.split_at_mut(more.n_offsets);
        copy(own, &m.par[plan.at.offsets..plan.at.offsets + more.n_offsets]);
        // The bodies' frames are their own.
        clear(frames);
        let (gravity, inertias) = more.mass_at.cut(rest).0.parameters.split_at_mut(3);
        copy(gravity, &vec3_at(m.par, plan.at.gravity));
        for (b, body) in R::parts(more.bodies.iter().enumerate()) {
            let to = &mut inertias[INERTIA * b..INERTIA * (b + 1)];
            match body {
                &Body::Parameters(place) => {
                    let (mass, com, tensor) = more.body(plan, m.par, place);
                    copy(to, &ten_of(mass, com, tensor));
                }
                Body::Described(numbers) => {
                    for (to, &x) in to.iter_mut().zip_inline(numbers) {
                        *to = R::splat(x);
                    }
                }
            }
        }
    }
}

/// The part of a gap that the step may close, and its slope by the gap: `open` for gaps ≥ 0, `closed` for negative
/// ones.
#[inline(always)]
pub(super) fn allowed<R: Real>(gap: R, [open, closed]: [f64; 2]) -> (R, R) {
    let slope = R::select(gap.lt(R::zero()), R::splat(closed), R::splat(open));
    (gap * slope, slope)
}

/// x limited to [−limit, limit].
#[inline(always)]
fn clamped<R: Real>(x: R, limit: R) -> R {
    x.min(limit).max(-limit)
}

/// Dry friction of a joint as a damping c/x̃: see [`SecondOrder::dry`].
pub(super) struct Dry<R> {
    /// Velocity v_f that the joint would reach without dry friction.
    pub(super) free: R,
    /// Smoothed speed √(free² + s²), s being the stiction speed.
    pub(super) speed: R,
    /// The root √(x² + 4 s²) in x̃.
    pub(super) root: R,
    /// The positive x̃ = ½ (x + root) of the damping c/x̃.
    pub(super) positive: R,
}

impl SecondOrder {
    /// Dry friction as a damping d = c/x̃ that a smooth step can take, given the stiction speed s: −c sign(v₊) as −d
    /// v₊.
    ///
    /// For a single joint of inertia m that would reach the velocity v_f in this step without friction, v₊ = v_f (1 − h
    /// c/(m |v_f|)). So d = c/x with x = |v_f| − h c/m. Where x ≤ 0 the joint sticks. To make this smooth, the stiction
    /// speed s replaces |v_f| by √(v_f² + s²) and x by x̃ = ½ (x + √(x² + 4 s²)). A joint that sticks with x ≪ −s then
    /// moves at about v₊ = v_f s²/(h c/m)².
    #[inline(always)]
    pub(super) fn dry<R: Real>(&self, c: R, h: R, mass: R, momentum: R, force: R) -> Dry<R> {
        let s = self.stiction_speed;
        let free = force.mul_add(h, momentum) / mass;
        let speed = free.mul_add(free, R::splat(s * s)).sqrt();
        let x = speed - h / mass * c;
        let root = x.mul_add(x, R::splat(4.0 * s * s)).sqrt();
        // ½ (x + root) = s²/(½ (root − x)); the larger of both factors has no cancellation.
        let larger = (x.abs() + root).scale(0.5);
        let positive = R::select(x.lt(R::zero()), R::splat(s * s) / larger, larger);
        Dry { free, speed, root, positive }
    }

    /// Mass, centre of mass and xx, xy, xz, yy, yz, zz about it of an inertial body.
    #[inline(always)]
    pub(super) fn body<R: Real>(&self, plan: &Plan, par: &[R], place: usize) -> (R, [R; 3], [R; 6]) {
        let six = &par[plan.at.inertia + 6 * place..];
        let com = vec3_at(par, plan.at.offsets + self.n_offsets + 3 * place);
        (par[plan.at.mass + place], com, [six[0], six[3], six[4], six[1], six[5], six[2]])
    }
}

/// Assembles the solver's operands from contacts, M and b.
pub(super) struct Problem<'a>(pub(super) Of<'a>);

impl Stage for Problem<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Of { plan, more } = self.0;
        let s = &*plan.structure;
        let Memory { numbers: mut m, work } = plan.places.memory(memory).0;
        pass(work.presence);
        plan.place_contacts(&mut m);
        let slopes = more.bound.contact_slopes();
        for contact in present(s, m.near, m.contacts.chunks_exact_mut(CONTACT_OPERAND)) {
            contact[GEOMETRY - 1] = allowed(contact[GEOMETRY - 1], slopes).0;
        }
        let slopes = more.bound.limit_slopes();
        more.limits.fill(m.q, m.par, m.gaps);
        for gap in m.gaps[..s.n_limits].iter_mut() {
            *gap = allowed(*gap, slopes).0;
        }
        let usable = m.usable[0].gt(R::zero());
        m.kappa[0] = plan.kappa(usable, m.par);

        let (extra, rest) = more.at.cut(m.extra);
        let mass = more.mass_at.cut(rest).0;
        let (v, tau) = m.u.split_at(s.nv);
        for &(k, dof) in &more.joints.armature {
            mass.m[more.entries[dof].2] += m.par[plan.at.armature + k];
        }
        more.mass.times(mass.m, v, extra.momentum);
        clear(extra.force);
        for &(k, dof, at) in &more.joints.springs {
            extra.force[dof] += m.par[plan.at.spring + k] * (m.par[plan.at.spring_rest + k] - m.q[at]);
        }
        let h = m.par[plan.at.h];
        let (per_h, per_h2) = (R::one() / h, R::one() / (h * h));
        clear(&mut m.p[more.entries.len()..]);
        for (p, &(_, _, place)) in m.p.iter_mut().zip_inline(&more.entries) {
            *p = mass.m[place] * per_h2;
        }
        let held = [&*m.kin, &m.par[plan.at.connection..]];
        more.connections.stiffen(
            held,
            #[inline(always)]
            |entry, _, by| m.p[entry] += by,
        );
        more.connections.vjp_together(
            held,
            #[inline(always)]
            |dof, force| extra.force[dof] += force,
        );
        for dof in R::parts(0..s.nv) {
            let effort = more.joints.effort[dof];
            let within = if effort.is_finite() { clamped(tau[dof], R::splat(effort)) } else { tau[dof] };
            extra.force[dof] += within + m.par[plan.at.tau + dof] - mass.bias[dof];
            let (momentum, force) = (extra.momentum[dof], extra.force[dof]);
            m.g[s.place[dof]] = -(momentum * per_h + force);
            if let Some(k) = more.joints.friction[dof] {
                let c = m.par[plan.at.dry_friction + k];
                let dry = more.dry(c, h, mass.m[more.entries[dof].2], momentum, force);
                m.p[dof] += c / dry.positive * per_h;
            }
        }
        for &(k, dof) in &more.joints.damping {
            m.p[dof] += m.par[plan.at.damping + k] * per_h;
        }
        for &(k, dof, _) in &more.joints.springs {
            m.p[dof] += m.par[plan.at.spring + k];
        }
    }
}

/// v₊ from δ. Worlds with a number that cannot be used, or with a result that is none, are at home, at rest and without
/// forces.
pub(super) struct Finish<'a>(pub(super) Of<'a>);

impl Stage for Finish<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0.plan;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        let h = m.par[plan.at.h];
        for (v, &delta) in m.v_next.iter_mut().zip_inline(&*m.delta) {
            *v = delta / h;
        }
        let mut good = work.info[0].gt(R::splat(Status::Infeasible.code())).not().and(work.info[2].is_finite());
        for block in [&*m.q_next, m.v_next, m.force, m.geometry, m.share, work.eta] {
            for x in block {
                good = good.and(x.is_finite());
            }
        }
        let bad = good.not();
        let mut results = (
            (&mut *m.q_next, &mut *m.v_next, &mut *m.delta),
            (&mut *m.force, &mut *m.geometry, &mut *m.share),
            (&mut *work.eta, &mut *m.warm, &mut *work.info),
        );
        R::when(
            bad,
            &mut results,
            #[inline(always)]
            |((q, v, delta), (force, geometry, share), (eta, warm, info))| {
                for (x, &home) in q.iter_mut().zip_inline(&plan.home) {
                    *x = R::select(bad, R::splat(home), *x);
                }
                for x in v.iter_mut().chain(delta.iter_mut()).chain(force.iter_mut()) {
                    *x = R::select(bad, R::zero(), *x);
                }
                for x in eta.iter_mut().chain(warm.iter_mut()) {
                    *x = R::select(bad, R::zero(), *x);
                }
                for x in geometry.iter_mut().chain(share.iter_mut()) {
                    *x = R::select(bad.and(x.is_finite().not()), R::zero(), *x);
                }
                for (k, x) in info.iter_mut().enumerate() {
                    match k {
                        0 => *x = R::select(bad, R::splat(Status::BadInput.code()), *x),
                        1 => {}
                        _ => *x = R::select(bad, R::zero(), *x),
                    }
                }
            },
        );
    }
}
