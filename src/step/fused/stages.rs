//! The step in lanes, stage by stage: kinematics → geometry → the problem → solve → q₊.

use crate::contact::lanes;
use crate::contact::pair::PairFunction;
use crate::kinematics::{Integrate, ManifoldMap, Pose};
use crate::math::lane::{Lane, Mask, Real, Zip, clear, copy};
use crate::math::program::Stage;
use crate::math::rows::{Output, Rows};
use crate::math::vector::{Mat3, Vec3, add, axpy, cross, dot, rotate, scale};
use crate::solve::{CONTACT_OPERAND, Cone, Status};

use super::super::torsion::{HALF, Turning, sharing};
use super::memory::{GEOMETRY, MOTION, Memory, Numbers, TURNING};
use super::plan::{Method, Plan};

/// Operands of a step: one row per world, or one for all.
pub(super) struct Operands<'a> {
    pub(super) q: Rows<'a>,
    pub(super) u: Rows<'a>,
    pub(super) par: Rows<'a>,
    /// Forces to start from.
    pub(super) warm: Option<Rows<'a>>,
}

impl Operands<'_> {
    /// All of them, those of `none` in the place of forces to start from if there are none.
    pub(super) fn rows<'b>(&'b self, none: &'b Rows) -> [&'b Rows<'b>; 4] {
        [&self.q, &self.u, &self.par, self.warm.as_ref().unwrap_or(none)]
    }

    /// Those of some worlds.
    pub(super) fn of_worlds(&self, worlds: &[usize]) -> Operands<'static> {
        let of = |rows: &Rows| rows.of_worlds(worlds);
        Operands { q: of(&self.q), u: of(&self.u), par: of(&self.par), warm: self.warm.as_ref().map(of) }
    }
}

/// The vector whose first number has this place.
#[inline(always)]
pub(super) fn vec3_at<R: Real>(from: &[R], at: usize) -> Vec3<R> {
    [from[at], from[at + 1], from[at + 2]]
}

/// Writes a vector from this place on.
#[inline(always)]
pub(super) fn put_vec3<R: Real>(to: &mut [R], at: usize, v: Vec3<R>) {
    let to = &mut to[at..at + 3];
    (to[0], to[1], to[2]) = (v[0], v[1], v[2]);
}

/// Adds a vector from this place on.
#[inline(always)]
pub(super) fn add_vec3<R: Real>(to: &mut [R], at: usize, v: Vec3<R>) {
    put_vec3(to, at, add(vec3_at(to, at), v));
}

/// Fills in the operands.
pub(super) struct Load<'a> {
    pub(super) plan: &'a Plan,
    pub(super) operands: &'a Operands<'a>,
}

impl Stage for Load<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let m = self.plan.places.memory(memory).0.numbers;
        self.operands.q.load_all(first, 0, m.q);
        self.operands.u.load_all(first, 0, m.u);
        self.operands.par.load_all(first, 0, m.par);
        if let Some(warm) = &self.operands.warm {
            warm.load_all(first, 0, m.warm);
        }
    }
}

/// Where q is not finite and in range or has a quaternion without length, zero or subnormal, the home configuration takes its
/// place.
pub(super) struct Check<'a>(pub(super) &'a Plan);

impl Stage for Check<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let m = plan.places.memory(memory).0.numbers;
        let mut sum = R::zero();
        for &x in m.q.iter() {
            sum = x.doubt(sum);
        }
        let mut usable = sum.is_finite();
        for &at in &plan.quaternions {
            let mut largest = R::zero();
            for k in 0..4 {
                largest = largest.max(m.q[at + k].abs());
            }
            usable = usable.and(largest.lt(R::tiny()).not());
        }
        m.usable[0] = R::select(usable, R::one(), R::zero());
        for (x, &home) in m.q.iter_mut().zip_inline(&plan.home) {
            *x = R::select(usable, *x, R::splat(home));
        }
    }
}

/// Contacts of all pairs.
pub(super) struct Geometry<'a>(pub(super) &'a Plan);

impl Stage for Geometry<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let m = plan.places.memory(memory).0.numbers;
        for share in m.share.iter_mut() {
            *share = R::one();
        }
        for pair in R::parts(&plan.pairs) {
            let shapes = plan.shapes(pair, m.kin, m.par);
            let out = &mut m.geometry[GEOMETRY * pair.first..GEOMETRY * (pair.first + pair.contacts)];
            match &pair.method {
                Method::Formula(PairFunction { kind, swapped }) => {
                    let [(a, size_a), (b, size_b)] = shapes;
                    lanes::witness(*kind, *swapped, &Pose::read(a), size_a, &Pose::read(b), size_b, out);
                }
                Method::Convex(convex, k) => {
                    let shares = &mut m.share[pair.first..pair.first + pair.contacts];
                    let nearest = &mut m.nearest[GEOMETRY * k..GEOMETRY * (k + 1)];
                    lanes::convex::witness(convex, shapes, out, shares, nearest);
                }
            }
        }
    }
}

/// The problem's operands from geometry, inertia, stiffness and command.
pub(super) struct Assemble<'a>(pub(super) &'a Plan);

impl Stage for Assemble<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let mut m = plan.places.memory(memory).0.numbers;
        plan.place_contacts(&mut m);
        let usable = m.usable[0].gt(R::zero());
        m.kappa[0] = R::select(usable, m.par[plan.at.kappa], R::splat(f64::NAN));
        clear(m.p);
        clear(m.g);
        plan.motions(m.kin, m.motion);
        let factor = plan.inertia_factor(m.par);
        for &(l, r, entry) in &plan.terms {
            let body = plan.incidences[l].0;
            let (mass, inertia) = (m.par[plan.at.mass + body], plan.inertia(m.par, body));
            let (v_l, w_l) = (vec3_at(m.motion, MOTION * l), vec3_at(m.motion, MOTION * l + 3));
            let (v_r, w_r) = (vec3_at(m.motion, MOTION * r), vec3_at(m.motion, MOTION * r + 3));
            m.p[entry] += factor * (mass * dot(v_l, v_r) + dot(w_l, rotate(&inertia, w_r)));
        }
        let gravity = vec3_at(m.par, plan.at.gravity);
        for (i, &(body, _, free)) in plan.incidences.iter().enumerate() {
            let place = s.place[plan.free[free]];
            m.g[place] -= m.par[plan.at.mass + body] * dot(gravity, vec3_at(m.motion, MOTION * i));
        }
        for (k, &(dof, q)) in plan.commanded.iter().enumerate() {
            let stiffness = m.par[plan.at.stiffness + k];
            m.p[s.np() - plan.nu + k] = stiffness;
            m.g[s.place[dof]] -= stiffness * (m.u[k] - m.q[q]);
        }
        for (dof, &place) in s.place.iter().enumerate() {
            m.g[place] -= m.par[plan.at.tau + dof];
        }
        for (gap, &(q, sign, offset)) in m.gaps.iter_mut().zip_inline(&plan.limits) {
            *gap = m.q[q].scale(sign) + R::splat(offset);
        }
    }
}

/// x/weight; 0 of a weight that is not positive.
#[inline(always)]
pub(super) fn per<R: Real>(weight: R, x: R) -> R {
    let there = weight.gt(R::zero());
    R::select(there, x / R::select(there, weight, R::one()), R::zero())
}

/// A contact's part of its pair's barrier.
#[inline(always)]
pub(super) fn share<R: Real>(shares: &[R], contact: usize) -> R {
    if shares.is_empty() { R::one() } else { shares[contact] }
}

impl Plan {
    /// The contacts as the solver takes them: geometry, μ, weight; those that resist turning twice.
    #[inline(always)]
    pub(super) fn place_contacts<R: Real>(&self, m: &mut Numbers<&mut [R]>) {
        for (index, pair) in R::parts(self.pairs.iter().enumerate()) {
            for c in pair.first..pair.first + pair.contacts {
                let to = &mut m.contacts[CONTACT_OPERAND * c..CONTACT_OPERAND * (c + 1)];
                copy(&mut to[..GEOMETRY], &m.geometry[GEOMETRY * c..GEOMETRY * (c + 1)]);
                to[10] = m.par[self.at.mu + index];
                to[11] = self.weight(to[9]).0 * share(m.share, c);
            }
        }
        let sharing = sharing(self.structure.friction);
        for (twin, Turning { contact, parameter }) in self.turning() {
            let (contacts, twins) = m.contacts.split_at_mut(CONTACT_OPERAND * twin);
            let (contact, twin) = (
                &mut contacts[CONTACT_OPERAND * contact..CONTACT_OPERAND * (contact + 1)],
                &mut twins[..CONTACT_OPERAND],
            );
            contact[10] = contact[10].scale(sharing);
            contact[11] = contact[11].scale(HALF);
            copy(twin, contact);
            twin[10] = m.par[self.at.torsion + parameter].scale(sharing);
        }
    }

    /// Weight of a pair's barrier at a contact's φ and its derivative: see `Quasidynamic::weights`.
    #[inline(always)]
    pub(super) fn weight<R: Real>(&self, phi: R) -> (R, R) {
        let (weight, slope) = self.fading(phi);
        match self.second_order.as_ref().and_then(|more| more.margin()) {
            None => (weight, slope),
            Some(margin) => {
                let near = R::splat(margin).lt(phi).not();
                (R::select(near, weight, R::zero()), R::select(near, slope, R::zero()))
            }
        }
    }

    #[inline(always)]
    fn fading<R: Real>(&self, phi: R) -> (R, R) {
        let Some(distance) = self.contact_distance else { return (R::one(), R::zero()) };
        if self.fade == 0.0 {
            return (R::select(phi.lt(R::splat(distance)), R::one(), R::zero()), R::zero());
        }
        let t = (R::splat(distance) - phi).scale(1.0 / self.fade).max(R::zero()).min(R::one());
        let polynomial = t.mul_add(t.scale(6.0) - R::splat(15.0), R::splat(10.0));
        let rest = R::one() - t;
        (t * t * t * polynomial, (t * t * rest * rest).scale(-30.0 / self.fade))
    }

    /// Velocity of the centre of mass and angular velocity along the body's axes, for each incidence.
    #[inline(always)]
    pub(super) fn motions<R: Real>(&self, kin: &[R], motion: &mut [R]) {
        for (i, &(body, screw, _)) in R::parts(self.incidences.iter().enumerate()) {
            let pose = Pose::read(&kin[Self::pose(self.n_shapes + body)..]);
            let at = self.screw(screw);
            let omega = vec3_at(kin, at);
            put_vec3(motion, MOTION * i, add(vec3_at(kin, at + 3), cross(omega, pose.p)));
            put_vec3(motion, MOTION * i + 3, rotate(&pose.axes, omega));
        }
    }

    /// ε/h².
    #[inline(always)]
    pub(super) fn inertia_factor<R: Real>(&self, par: &[R]) -> R {
        let h = par[self.at.h];
        par[self.at.epsilon] / (h * h)
    }

    #[inline(always)]
    pub(super) fn inertia<R: Real>(&self, par: &[R], body: usize) -> Mat3<R> {
        let i = &par[self.at.inertia + 6 * body..];
        [[i[0], i[3], i[4]], [i[3], i[1], i[5]], [i[4], i[5], i[2]]]
    }
}

/// δ, forces and q₊ from what the solve has left; the forces are the next one's start.
pub(super) struct Finish<'a>(pub(super) &'a Plan);

impl Stage for Finish<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        copy(m.warm, work.eta);
        for (dof, &place) in s.place.iter().enumerate() {
            m.delta[dof] = work.delta[place];
        }
        Integrate::value(&plan.retraction, m.q, m.delta, m.q_next);
        // What a parameter that is not a number has made of the geometry.
        let bad = work.info[0].gt(R::splat(Status::Infeasible.code()));
        R::when(
            bad,
            &mut (&mut *m.geometry, &mut *m.share),
            #[inline(always)]
            |(geometry, share)| {
                for x in geometry.iter_mut().chain(share.iter_mut()) {
                    *x = R::select(bad.and(x.is_finite().not()), R::zero(), *x);
                }
            },
        );
        // In a world of bad input even a product with zero may be NaN.
        let solved = work.info[0].lt(R::splat(Status::Infeasible.code()));
        for c in R::parts(0..plan.nc) {
            let contact = &m.contacts[CONTACT_OPERAND * c..];
            let (n, mu, eta) = (vec3_at(contact, 0), contact[10], vec3_at(work.eta, 3 * c));
            let force = axpy(dot(n, eta) * (R::one() - mu), n, scale(mu, eta));
            for k in 0..3 {
                m.force[3 * c + k] = R::select(solved, force[k], R::zero());
            }
        }
        let (forces, turning) = m.force.split_at_mut(3 * plan.nc);
        for ((twin, Turning { contact, .. }), of) in plan.turning().zip(turning.as_chunks_mut::<TURNING>().0) {
            let (cone, eta) = (Cone::read(m.contacts, twin), vec3_at(work.eta, 3 * twin));
            let (along, torque) = (dot(cone.n, eta), cone.mu * dot(cone.tangent(), eta));
            *of = [along, torque].map(|x| R::select(solved, x, R::zero()));
            let [x, y, z] = scale(along, cone.n).map(|x| R::select(solved, x, R::zero()));
            add_vec3(forces, 3 * contact, [x, y, z]);
        }
    }
}

/// Writes a step's whole row: q₊, δ, v₊ of a second-order step, forces, limit forces, geometry, shares; η; report.
pub(super) struct Store<'a>(pub(super) &'a Plan);

impl Stage for Store<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Memory { numbers: m, work } = self.0.places.memory(memory).0;
        let limits = &work.eta[3 * self.0.structure.nc()..];
        let mut at = 0;
        for block in [&*m.q_next, m.delta, m.v_next, m.force, limits, m.geometry, m.share, work.eta, work.info] {
            out.store_all(first, at, block);
            at += block.len();
        }
    }
}
