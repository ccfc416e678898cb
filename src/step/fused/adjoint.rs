//! The step's adjoint in lanes: the stages of [`super::stages`], backwards.

use crate::contact::lanes;
use crate::contact::pair::PairFunction;
use crate::description::Shape;
use crate::kinematics::{Integrate, ManifoldMap, POSE, Pose};
use crate::math::lane::{Lane, Mask, Real, Zip, clear};
use crate::math::program::Stage;
use crate::math::rows::{Output, Rows};
use crate::math::vector::{add, axpy, cross, dot, rotate, rotate_back, scale};
use crate::solve::{CONTACT_OPERAND, Cone, INFO};

use super::super::torsion::{HALF, Turning, sharing};
use super::memory::{GEOMETRY, Gradients, MOTION, Memory, Numbers, SHAPE_PULL, TURNING};
use super::plan::{Method, Plan};
use super::stages::{add_vec3, put_vec3, share, vec3_at};

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
        for block in [to.q_next, to.delta, to.v_next, force, to.limit, to.geometry, to.share] {
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
        // The last one first, as each takes more room than it had.
        for (k, &Turning { contact, .. }) in plan.turning.iter().enumerate().rev() {
            let twin = plan.nc + k;
            let (cone, eta) = (Cone::read(m.contacts, twin), vec3_at(work.eta, 3 * twin));
            let (n, t) = (cone.n, cone.tangent());
            let (along, torque) = (dot(n, eta), cone.mu * dot(t, eta));
            let at = 3 * plan.nc + TURNING * k;
            let (grad_own, grad_torque, grad) = (to.force[at], to.force[at + 1], vec3_at(to.force, 3 * contact));
            let grad_along = grad_own + dot(n, grad);
            put_vec3(to.force, 3 * twin, axpy(grad_along, n, scale(grad_torque, t)));
            // ∂t = −n (t · ∂n)
            let by_n = axpy(grad_along * torque - grad_torque * along, t, scale(along, grad));
            add_vec3(to.geometry, GEOMETRY * contact, by_n);
        }
    }
}

/// From the problem's operands to poses, screws, q, u and parameters.
pub(super) struct PullAssemble<'a>(pub(super) &'a Plan);

impl Stage for PullAssemble<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let at = &plan.at;
        let (Memory { numbers: m, .. }, mut to) = plan.places.both(memory);
        plan.pull_contacts(&m, &mut to);
        for (dof, &place) in s.place.iter().enumerate() {
            to.par[at.tau + dof] = to.y[place];
        }
        for (k, &(dof, q)) in plan.commanded.iter().enumerate() {
            let (y, stiffness) = (to.y[s.place[dof]], m.par[at.stiffness + k]);
            to.par[at.stiffness + k] = y.mul_add(m.u[k] - m.q[q], to.p[s.np() - plan.nu + k]);
            to.u[k] = y * stiffness;
            to.q[q] -= y * stiffness;
        }
        for (&grad, &(q, sign, _)) in to.gaps.iter().zip_inline(&plan.limits) {
            to.q[q] += grad.scale(sign);
        }
        plan.pull_inertia(&m, to);
    }
}

impl Plan {
    /// From the gradients of the contacts as the solver takes them to those of geometry, shares, κ, μ and γ; those of all other
    /// operands are cleared.
    #[inline(always)]
    pub(super) fn pull_contacts<R: Real>(&self, m: &Numbers<&mut [R]>, to: &mut Gradients<&mut [R]>) {
        let sharing = sharing(self.structure.friction);
        for (twin, Turning { contact, .. }) in R::parts(self.turning()) {
            let (contacts, twins) = to.contacts.split_at_mut(CONTACT_OPERAND * twin);
            let (contact, twin) =
                (&mut contacts[CONTACT_OPERAND * contact..CONTACT_OPERAND * (contact + 1)], &twins[..CONTACT_OPERAND]);
            for (k, (grad, &twin)) in contact.iter_mut().zip_inline(twin).enumerate() {
                match k {
                    10 => *grad = grad.scale(sharing),
                    11 => *grad = (*grad + twin).scale(HALF),
                    _ => *grad += twin,
                }
            }
        }
        for c in R::parts(0..self.nc) {
            let contact = &mut to.contacts[CONTACT_OPERAND * c..CONTACT_OPERAND * (c + 1)];
            for (value, &grad) in contact.iter_mut().zip_inline(&to.geometry[GEOMETRY * c..GEOMETRY * (c + 1)]) {
                *value += grad;
            }
            let (weight, slope) = self.weight(m.geometry[GEOMETRY * c + 9]);
            contact[9] += contact[11] * slope * share(m.share, c);
            if let Some(grad) = to.share.get_mut(c) {
                *grad += contact[11] * weight;
            }
        }
        clear(to.q);
        clear(to.u);
        clear(to.par);
        clear(to.motion);
        to.par[self.at.kappa] = to.kappa[0];
        for (index, pair) in self.pairs.iter().enumerate() {
            for c in pair.first..pair.first + pair.contacts {
                to.par[self.at.mu + index] += to.contacts[CONTACT_OPERAND * c + 10];
            }
        }
        for (twin, Turning { parameter, .. }) in self.turning() {
            to.par[self.at.torsion + parameter] += to.contacts[CONTACT_OPERAND * twin + 10].scale(sharing);
        }
    }

    #[inline(always)]
    fn pull_inertia<R: Lane>(&self, m: &Numbers<&mut [R]>, to: Gradients<&mut [R]>) {
        let (s, at) = (&*self.structure, &self.at);
        let (h, epsilon, factor) = (m.par[at.h], m.par[at.epsilon], self.inertia_factor(m.par));
        // P = factor · M: the gradient of the factor is Σ P̄ M.
        let mut grad_factor = R::zero();
        for &(l, r, entry) in R::parts(&self.terms) {
            let body = self.incidences[l].0;
            let (mass, inertia) = (m.par[at.mass + body], self.inertia(m.par, body));
            let (v_l, w_l) = (vec3_at(m.motion, MOTION * l), vec3_at(m.motion, MOTION * l + 3));
            let (v_r, w_r) = (vec3_at(m.motion, MOTION * r), vec3_at(m.motion, MOTION * r + 3));
            let (spin_l, spin_r) = (rotate(&inertia, w_l), rotate(&inertia, w_r));
            grad_factor += to.p[entry] * (mass * dot(v_l, v_r) + dot(w_l, spin_r));
            let grad = to.p[entry] * factor;
            to.par[at.mass + body] += grad * dot(v_l, v_r);
            add_vec3(to.motion, MOTION * l, scale(grad * mass, v_r));
            add_vec3(to.motion, MOTION * r, scale(grad * mass, v_l));
            add_vec3(to.motion, MOTION * l + 3, scale(grad, spin_r));
            add_vec3(to.motion, MOTION * r + 3, scale(grad, spin_l));
            let six = &mut to.par[at.inertia + 6 * body..];
            for (k, (i, j)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                let product = w_l[i] * w_r[j];
                six[k] += grad * if i == j { product } else { product + w_l[j] * w_r[i] };
            }
        }
        to.par[at.epsilon] = grad_factor / (h * h);
        to.par[at.h] = -(grad_factor * epsilon / (h * h * h)).scale(2.0);

        let gravity = vec3_at(m.par, at.gravity);
        for (i, &(body, screw, free)) in R::parts(self.incidences.iter().enumerate()) {
            let (y, mass) = (to.y[s.place[self.free[free]]], m.par[at.mass + body]);
            let velocity = vec3_at(m.motion, MOTION * i);
            to.par[at.mass + body] += y * dot(gravity, velocity);
            add_vec3(to.par, at.gravity, scale(y * mass, velocity));
            let grad_v = axpy(y * mass, gravity, vec3_at(to.motion, MOTION * i));
            let grad_w = vec3_at(to.motion, MOTION * i + 3);
            // v = m + ω × p, w = axesᵀ ω
            let place = Self::pose(self.n_shapes + body);
            let pose = Pose::read(&m.kin[place..]);
            let screw = self.screw(screw);
            let omega = vec3_at(m.kin, screw);
            add_vec3(to.kin, screw + 3, grad_v);
            add_vec3(to.kin, screw, add(cross(pose.p, grad_v), rotate_back(&pose.axes, grad_w)));
            add_vec3(to.kin, place, cross(grad_v, omega));
            for k in 0..3 {
                add_vec3(to.kin, place + 3 + 3 * k, scale(grad_w[k], omega));
            }
        }
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
