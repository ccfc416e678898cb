//! The right-hand sides −∂r/∂q and −∂r/∂u, and how the forces change.

use crate::contact::lanes;
use crate::contact::numbers::{NORMAL, PHI, POINT_A, POINT_B};
use crate::kinematics::Pose;
use crate::kinematics::spatial::{Twist, Wrench};
use crate::solve::vector::{add, axpy, dot, extended, first, scale, sub, transform, transform_back, zero};
use crate::solve::{FrictionCone, Rates, Status, TURNING, Table, by_dimension, nth, put_nth};
use fingertip_lanes::lane::{Lane, Real, Zip, clear, inlined};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::{Mat3, Vec3, cross, rotate, rotate_back, signed, vec3_at};

use super::super::super::strand::{Strand, times};
use super::super::super::torsion::is_nowhere;
use super::super::memory::{GEOMETRY, Memory};
use super::super::paths::{BodyPath, Jacobian, PathScrew};
use super::super::plan::Plan;
use super::super::stages::{per, share};

/// Slots of a contact whose rates go to the rows together: numbers of one world fill a register.
const TOGETHER: usize = 4;

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
            let eta = work.eta[s.n_force() + l];
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
        by_dimension!(s, N => {
            for contact in R::parts(0..s.nc()) {
                if is_nowhere(m.contacts, contact) {
                    continue;
                }
                let of = &s.contacts[contact];
                let slots = N * of.first..N * (of.first + of.dofs.len());
                clear(&mut to.lambda[slots.clone()]);
                clear(&mut to.columns[slots.clone()]);
                let cone = FrictionCone::<R, N>::read(m.contacts, m.gammas, contact);
                R::when(
                    cone.is_there(),
                    &mut to,
                    #[inline(always)]
                    |to| {
                        plan.push_contact(
                            (contact, &cone),
                            plan.screws(m.kin),
                            share(m.share, contact),
                            kappa,
                            (work.eta, work.info[0]),
                            work.delta,
                            work.columns,
                            to,
                        );
                    },
                );
                for k in slots {
                    to.lambda[k] = R::select(keep, to.lambda[k], R::zero());
                    to.columns[k] = R::select(keep, to.columns[k], R::zero());
                }
            }
        });
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
    fn push_contact<R: Lane, const N: usize>(
        &self,
        (contact, cone): (usize, &FrictionCone<R, N>),
        screws: &[R],
        share: R,
        kappa: R,
        (eta, status): (&[R], R),
        delta: &[R],
        columns: &[R],
        to: &mut Jacobian<&mut [R]>,
    ) {
        let (of, paths) = (&self.structure.contacts[contact], &self.paths.contacts[contact]);
        let slots = of.first..of.first + of.dofs.len();
        let (own, eta) = (cone.kappa(kappa), nth(eta, contact));
        let (normal, force) = (first(cone.n), cone.scaled(eta));
        let points = [cone.point_a, cone.point_b];

        // J δ, and its change where screws are carried.
        let (mut moved, mut turns) = (zero(), [zero(); 2]);
        clear(&mut to.force[N * slots.start..N * slots.end]);
        for side in 0..2 {
            sum_up(&paths[side], screws, delta, false, to.sums);
            let all = Twist::read(to.sums, 0);
            moved = add(moved, signed(side, all.velocity(points[side])));
            turns[side] = all.omega;
            for entry in &paths[side] {
                let carried = Twist::read(screws, entry.screw).cross(Twist::read(to.sums, entry.after));
                let seen = cone.seen(signed(side, carried.velocity(points[side])), signed(side, carried.omega));
                let slot = slots.start + entry.slot;
                put_nth(to.force, slot, add(nth(to.force, slot), seen));
            }
        }
        // The turn of B against A.
        let turned = sub(turns[1], turns[0]);
        let d = cone.seen(moved, turned);

        let turning = lanes::frame_rates(normal, first(force));
        let mut frame = [zero(); N];
        for (to, axis) in frame.iter_mut().zip_inline(lanes::frame(normal)) {
            *to = extended(axis);
        }
        if N == TURNING {
            frame[3][3] = R::one();
        }
        // The barrier's weight is in κ: a force goes as the weight does.
        let (weight, slope) = self.contacts.weight(contact, cone.phi);
        let fading = per(weight, slope);
        let by_share = scale(per(share, R::one()), force);
        let Rates { zeta, d: by_d, n: by_n, phi: by_phi } = self.structure.rates(cone, own, eta, d, status);
        let by_phi = axpy(fading, force, by_phi);
        let mut by_delta = [zero(); N];
        for (to, axis) in by_delta.iter_mut().zip_inline(frame) {
            *to = transform_back(&zeta, axis);
        }
        for slot in R::parts(slots.clone()) {
            let geometry = &to.geometry[GEOMETRY * slot..GEOMETRY * (slot + 1)];
            let (n, phi) = (vec3_at(geometry, NORMAL), geometry[PHI]);
            let carried = sub(cross(turns[1], vec3_at(geometry, POINT_B)), cross(turns[0], vec3_at(geometry, POINT_A)));
            let mut d = add(nth(to.force, slot), extended(carried));
            if N == TURNING {
                d[3] += dot(n, turned);
            }
            let mut change = axpy(phi, by_phi, add(transform(&by_n, extended(n)), transform(&by_d, d)));
            if let Some(&part) = to.share.get(slot) {
                change = axpy(part, by_share, change);
            }
            put_nth(to.force, slot, change);
            put_nth(to.lambda, slot, add(transform(&frame, change), extended(rotate(&turning, n))));
            put_nth(to.columns, slot, transform(&by_delta, nth(columns, slot)));
        }

        for side in 0..2 {
            let path = &paths[side];
            let own_force = signed(side, first(force));
            // What a slot's degree of freedom changes of the wrench, for some of them at once.
            let change_of = inlined(
                #[inline(always)]
                |slot: usize| {
                    let point = vec3_at(to.geometry, GEOMETRY * slot + 3 + 3 * side);
                    let by_slot: [R; N] = nth(to.force, slot);
                    let mut change = at_point(points[side], signed(side, first(by_slot)));
                    change.moment = add(change.moment, cross(point, own_force));
                    if N == TURNING {
                        let n = vec3_at(to.geometry, GEOMETRY * slot + NORMAL);
                        let torque = add(scale(by_slot[3], normal), scale(force[3], n));
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
            if N == TURNING {
                on.moment = add(on.moment, signed(side, scale(force[3], normal)));
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
