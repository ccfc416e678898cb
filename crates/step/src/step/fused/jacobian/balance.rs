//! The right-hand sides −∂r/∂q and −∂r/∂u, and how the forces change.

use crate::contact::lanes;
use crate::contact::numbers::{NORMAL, PHI, POINT_A, POINT_B};
use crate::kinematics::Pose;
use crate::kinematics::spatial::{Twist, Wrench};
use crate::solve::{FrictionCone, Rates, Slip, Status, Table};
use fingertip_lanes::lane::{Lane, Real, Zip, clear, inlined};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::{
    Mat3, Vec3, add, axpy, cross, product, put_vec3, rotate, rotate_back, scale, signed, sub, vec3_at, zero,
};

use super::super::super::strand::{Strand, times};
use super::super::super::torsion::{Turning, is_nowhere};
use super::super::memory::{GEOMETRY, Memory};
use super::super::paths::{BodyPath, Jacobian, PathScrew};
use super::super::plan::Plan;
use super::super::stages::{per, share};

/// Slots of a contact whose rates go to the rows together: numbers of one world fill a register.
const TOGETHER: usize = 4;

/// The force and the torque along the normal n that λ of a torsional contact stands for.
#[inline(always)]
fn acting<R: Real>(lambda: Vec3<R>, n: Vec3<R>) -> [Vec3<R>; 2] {
    [scale(lambda[0], n), scale(lambda[1], n)]
}

/// The wrench of a force at p.
#[inline(always)]
pub(super) fn at_point<R: Real>(p: Vec3<R>, force: Vec3<R>) -> Wrench<R> {
    Wrench { moment: cross(p, force), force }
}

/// Σ δ_j S_j over the path's screws from each one on, those with a command left out if `only_free`.
#[inline(always)]
pub(super) fn sum_up<R: Real>(path: &[PathScrew], screws: &[R], delta: &[R], only_free: bool, sums: &mut [R]) {
    let mut sum = Twist::zero();
    sum.write(sums, path.len());
    for (k, entry) in path.iter().enumerate().rev() {
        if entry.free || !only_free {
            sum = Twist::read(screws, entry.screw).axpy(delta[entry.place], sum);
        }
        sum.write(sums, k);
    }
}

/// −∂r/∂q and −∂r/∂u, and how λ changes with q at fixed δ, and with δ.
pub(super) struct Balance<'a>(pub(super) &'a Plan);

impl Stage for Balance<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let (Memory { numbers: m, work }, mut to) = plan.with_jacobian(memory);
        let kappa = m.kappa[0];
        let keep = work.info[0].lt(R::splat(Status::Infeasible.code()));
        clear(to.x);
        for (k, command) in plan.problem.commands.iter().enumerate() {
            let [_, slope] = command.pulls([m.par[plan.at.stiffness + k], m.u[k]], m.q);
            plan.stretch(command, slope, to.x);
            for &(dof, _, ratio) in &command.terms {
                to.x[plan.paths.entry(s.nv + k, s.place[dof])] = times(ratio, slope);
            }
        }
        for (k, spring) in plan.problem.springs.iter().enumerate() {
            plan.stretch(spring, m.par[plan.at.spring + k], to.x);
        }
        for (l, &(place, _)) in s.one_sided().iter().enumerate() {
            let eta = work.eta[3 * s.nc() + l];
            to.x[plan.paths.entry(plan.paths.dofs[place], place)] -= (kappa * eta * eta).scale(0.5);
        }
        for places in &s.tables {
            let yaw = places.dofs[2];
            let slopes = Table::read(m.gaps, places).carried(kappa, work.delta);
            for (k, &place) in places.dofs.iter().enumerate() {
                to.x[plan.paths.entry(plan.paths.dofs[yaw], place)] += slopes[k];
            }
        }
        for body in R::parts(&plan.paths.bodies) {
            plan.weigh_body(body, m.kin, m.par, work.delta, &mut to);
        }
        for contact in R::parts(0..s.nc()) {
            if is_nowhere(m.contacts, contact) {
                continue;
            }
            let of = &s.contacts[contact];
            let slots = 3 * of.first..3 * (of.first + of.dofs.len());
            clear(&mut to.lambda[slots.clone()]);
            clear(&mut to.columns[slots]);
            R::when(
                FrictionCone::read(m.contacts, contact).is_there(),
                &mut to,
                #[inline(always)]
                |to| {
                    plan.push_contact(
                        contact,
                        plan.screws(m.kin),
                        m.contacts,
                        share(m.share, plan.contacts.torsion.once(contact)),
                        kappa,
                        (work.eta, work.info[0]),
                        work.delta,
                        work.columns,
                        to,
                    );
                },
            );
        }
        // The part of a normal force that goes with turning is one of the contact's own.
        for (twin, Turning { contact, .. }) in plan.turning() {
            if is_nowhere(m.contacts, twin) {
                continue;
            }
            let [own, twin] = [contact, twin].map(|contact| &s.contacts[contact]);
            for slot in 0..twin.dofs.len() {
                let [own, twin] = [3 * (own.first + slot), 3 * (twin.first + slot)];
                to.lambda[own] += to.lambda[twin];
                to.columns[own] += to.columns[twin];
            }
        }
        for contact in R::parts(0..s.nc()) {
            if is_nowhere(m.contacts, contact) {
                continue;
            }
            let of = &s.contacts[contact];
            for k in 3 * of.first..3 * (of.first + of.dofs.len()) {
                to.lambda[k] = R::select(keep, to.lambda[k], R::zero());
                to.columns[k] = R::select(keep, to.columns[k], R::zero());
            }
        }
    }
}

/// A body about its centre of mass.
struct Solid<R> {
    pose: Pose<R>,
    mass: R,
    inertia: Mat3<R>,
}

impl<R: Real> Solid<R> {
    /// Ī x.
    #[inline(always)]
    fn momentum(&self, x: Twist<R>) -> Wrench<R> {
        let Pose { p, axes } = &self.pose;
        let Wrench { moment, force } = at_point(*p, scale(self.mass, x.velocity(*p)));
        let spin = rotate_back(axes, rotate(&self.inertia, rotate(axes, x.omega)));
        Wrench { moment: add(moment, spin), force }
    }
}

impl Plan {
    /// Adds a spring's part of −∂r/∂q.
    #[inline(always)]
    fn stretch<R: Lane>(&self, Strand { terms, .. }: &Strand, stiffness: R, x: &mut [R]) {
        for &(column, _, by) in terms {
            for &(row, _, ratio) in terms {
                x[self.paths.entry(column, self.structure.place[row])] -= times(by * ratio, stiffness);
            }
        }
    }

    /// Adds a body's part of −∂r/∂q, that of its inertia and weight in P δ + g.
    #[inline(always)]
    fn weigh_body<R: Lane>(
        &self,
        &BodyPath { body, screws: ref path }: &BodyPath,
        kin: &[R],
        par: &[R],
        delta: &[R],
        to: &mut Jacobian<&mut [R]>,
    ) {
        let screws = self.screws(kin);
        let pose = Pose::read(&kin[self.problem.pose(body)..]);
        let factor = self.problem.factor(par);
        let solid = Solid { pose, mass: par[self.at.mass + body], inertia: self.problem.inertia(par, body) };
        let (p, weight) = (pose.p, scale(solid.mass, vec3_at(par, self.at.gravity)));
        sum_up(path, screws, delta, true, to.sums);
        let all = Twist::read(to.sums, 0);
        let moved = solid.momentum(all).times(factor);
        let total = moved.minus(at_point(p, weight));
        for column in R::parts(path) {
            let screw = Twist::read(screws, column.screw);
            let before = all.minus(Twist::read(to.sums, column.after));
            let mut change = screw.cross_wrench(moved).minus(solid.momentum(screw.cross(before)).times(factor));
            change.moment = sub(change.moment, cross(screw.velocity(p), weight));
            let carried = change.minus(screw.cross_wrench(total));
            for (k, row) in path.iter().enumerate() {
                if row.free {
                    let change = if k < column.after { change } else { carried };
                    to.x[self.paths.entry(column.dof, row.place)] -= Twist::read(screws, row.screw).dot(change);
                }
            }
        }
    }

    /// Adds a contact's part of ∂(Jᵀf)/∂q, and computes the changes of its λ.
    #[expect(clippy::too_many_arguments, reason = "operands of a kernel")]
    #[inline(always)]
    fn push_contact<R: Lane>(
        &self,
        contact: usize,
        screws: &[R],
        contacts: &[R],
        share: R,
        kappa: R,
        (eta, status): (&[R], R),
        delta: &[R],
        columns: &[R],
        to: &mut Jacobian<&mut [R]>,
    ) {
        let (of, paths) = (&self.structure.contacts[contact], &self.paths.contacts[contact]);
        let slots = of.first..of.first + of.dofs.len();
        let cone = FrictionCone::read(contacts, contact);
        let (own, eta) = (cone.kappa(kappa), vec3_at(eta, 3 * contact));
        let force = cone.scaled(eta);
        let points = [cone.point_a, cone.point_b];

        // J δ, and its change where screws are carried.
        let (mut d, mut turns) = (zero(), [zero(); 2]);
        clear(&mut to.force[3 * slots.start..3 * slots.end]);
        for side in 0..2 {
            sum_up(&paths[side], screws, delta, false, to.sums);
            let all = Twist::read(to.sums, 0);
            d = add(d, signed(side, all.velocity(points[side])));
            turns[side] = all.omega;
            for entry in &paths[side] {
                let carried = Twist::read(screws, entry.screw).cross(Twist::read(to.sums, entry.after));
                let at = 3 * (slots.start + entry.slot);
                let velocity = carried.velocity(points[side]);
                let seen = match of.slip {
                    Slip::Slides => velocity,
                    Slip::Turns => cone.turning(velocity, carried.omega),
                };
                put_vec3(to.force, at, add(vec3_at(to.force, at), signed(side, seen)));
            }
        }
        // Motion and turn of B against A, of which d is what the contact sees.
        let (moved, turned) = (d, sub(turns[1], turns[0]));
        if of.slip == Slip::Turns {
            d = cone.turning(moved, turned);
        }

        let (frame, turning) = (lanes::frame(cone.n), lanes::frame_rates(cone.n, force));
        // The barrier's weight is in κ: a force goes as the weight does.
        let (weight, slope) = self.contacts.weight(self.contacts.torsion.once(contact), cone.phi);
        let fading = per(weight, slope);
        let by_share = scale(per(share, R::one()), force);
        let Rates { zeta, d: by_d, n: by_n, phi: by_phi } = self.structure.rates(&cone, own, eta, d, status);
        let by_phi = axpy(fading, force, by_phi);
        let by_delta = product(&frame, &zeta);
        for slot in R::parts(slots.clone()) {
            let geometry = &to.geometry[GEOMETRY * slot..GEOMETRY * (slot + 1)];
            let (n, phi) = (vec3_at(geometry, NORMAL), geometry[PHI]);
            let carried = sub(cross(turns[1], vec3_at(geometry, POINT_B)), cross(turns[0], vec3_at(geometry, POINT_A)));
            let seen = match of.slip {
                Slip::Slides => carried,
                Slip::Turns => add(cone.turning(carried, zero()), cone.turning_rate([moved, turned], n)),
            };
            let d = add(vec3_at(to.force, 3 * slot), seen);
            let mut change = axpy(phi, by_phi, add(rotate(&by_n, n), rotate(&by_d, d)));
            if let Some(&part) = to.share.get(slot) {
                change = axpy(part, by_share, change);
            }
            let change_of_lambda = add(rotate(&frame, change), rotate(&turning, n));
            put_vec3(to.force, 3 * slot, change);
            put_vec3(to.lambda, 3 * slot, change_of_lambda);
            put_vec3(to.columns, 3 * slot, rotate(&by_delta, vec3_at(columns, 3 * slot)));
        }

        // What acts on B besides moments of the force about other points: force, and torque about the normal.
        let lambda = rotate(&frame, force);
        let [force, torque] = match of.slip {
            Slip::Slides => [force, zero()],
            Slip::Turns => acting(lambda, cone.n),
        };
        for side in 0..2 {
            let (path, own_force) = (&paths[side], signed(side, force));
            // What a slot's degree of freedom changes of the wrench, for some of them at once.
            let change_of = inlined(
                #[inline(always)]
                |slot: usize| {
                    let point = vec3_at(to.geometry, GEOMETRY * slot + 3 + 3 * side);
                    let [force, torque] = match of.slip {
                        Slip::Slides => [vec3_at(to.force, 3 * slot), zero()],
                        Slip::Turns => {
                            let [by_force, by_torque] = acting(vec3_at(to.lambda, 3 * slot), cone.n);
                            let [force, torque] = acting(lambda, vec3_at(to.geometry, GEOMETRY * slot));
                            [add(by_force, force), add(by_torque, torque)]
                        }
                    };
                    let mut change = at_point(points[side], signed(side, force));
                    change.moment = add(change.moment, cross(point, own_force));
                    if of.slip == Slip::Turns {
                        change.moment = add(change.moment, signed(side, torque));
                    }
                    change
                },
            );
            let (together, rest) = of.dofs.as_chunks::<TOGETHER>();
            for (k, places) in R::parts(together.iter().enumerate()) {
                let mut columns = [0; TOGETHER];
                let mut changes = [[R::zero(); TOGETHER]; 6];
                for n in 0..TOGETHER {
                    columns[n] = self.paths.dofs[places[n]];
                    let Wrench { moment, force } = change_of(slots.start + TOGETHER * k + n);
                    for i in 0..3 {
                        (changes[i][n], changes[3 + i][n]) = (moment[i], force[i]);
                    }
                }
                for row in path {
                    let Twist { omega, m } = Twist::read(screws, row.screw);
                    let (mut turned, mut moved) = (changes[2], changes[5]);
                    for n in 0..TOGETHER {
                        turned[n] = omega[2] * turned[n];
                        moved[n] = m[2] * moved[n];
                    }
                    for i in [1, 0] {
                        for n in 0..TOGETHER {
                            turned[n] = omega[i].mul_add(changes[i][n], turned[n]);
                            moved[n] = m[i].mul_add(changes[3 + i][n], moved[n]);
                        }
                    }
                    for n in 0..TOGETHER {
                        to.x[self.paths.entry(columns[n], row.place)] += turned[n] + moved[n];
                    }
                }
            }
            for (slot, &place) in R::parts((slots.end - rest.len()..slots.end).zip_inline(rest)) {
                let (column, change) = (self.paths.dofs[place], change_of(slot));
                for row in path {
                    to.x[self.paths.entry(column, row.place)] += Twist::read(screws, row.screw).dot(change);
                }
            }
            let mut on = at_point(points[side], own_force);
            if of.slip == Slip::Turns {
                on.moment = add(on.moment, signed(side, torque));
            }
            for column in R::parts(path) {
                let carried = Twist::read(screws, column.screw).cross_wrench(on);
                for row in &path[column.after..] {
                    to.x[self.paths.entry(column.dof, row.place)] -= Twist::read(screws, row.screw).dot(carried);
                }
            }
        }
    }
}
