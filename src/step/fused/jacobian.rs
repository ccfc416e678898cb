//! The step's Jacobians in lanes, forward and sparse: after the solve and with the factor of H, ∂δ/∂q = −H⁻¹ ∂r/∂q.
//!
//! With S_k the screw of coordinate k, (ω; m), × the product of motions, ×* that of a motion and a force, and "k carries
//! j" for j below k on a path, everything that q moves is
//!
//! ```text
//! ∂S_j/∂q_k = S_k × S_j where k carries j, else 0        ∂Ī/∂q_k x = S_k ×* Ī x − Ī (S_k × x)
//! ```
//!
//! and the contacts' geometry, whose change with a shape's motion is [`lanes::pull`] of each of its numbers. Sums over
//! what k carries are taken once for each k: with V_k = Σ δ_j S_j over the j that k carries, ∂(J δ)/∂q_k = (S_k × V_k) at
//! the witness point, plus ω × ∂p/∂q_k for the point's motion.

use candle_core::{DType, Result, Tensor};

use crate::contact::lanes;
use crate::kinematics::{Charts, POSE, Pose, SCREW};
use crate::math::lane::{Lane, Lockstep, Mask, Real, clear};
use crate::math::program::{Group, Program, Stage, run_parts_on};
use crate::math::rows::{Output, Rows, worlds};
use crate::math::spatial::{Twist, Wrench};
use crate::math::vector::{Mat3, Vec3, add, axpy, cross, dot, product, rotate, rotate_back, scale, sub, zero};
use crate::solve::{CONTACT, Cone, Rates, Status};

use super::memory::{GEOMETRY, Memory, SHAPE_PULL};
use super::paths::{BLOCK, BodyPath, Jacobian, PathScrew};
use super::plan::Plan;
use super::stages::{Load, Operands, Store, at3, put3};

/// The matrices that the program writes: the step's rows, A, B, C, D.
const PARTS: usize = 5;
const A: usize = 1;
const B: usize = 2;
const C: usize = 3;
const D: usize = 4;

/// A step and its Jacobians, as matrices with a row for each world: the step's own numbers, then A, B, C, D row by row.
pub(super) fn step(plan: &Plan, q: &Tensor, u: &Tensor, par: &Tensor) -> Result<[Tensor; PARTS]> {
    let operands =
        Operands { q: Rows::from_tensor(q)?, u: Rows::from_tensor(u)?, par: Rows::from_tensor(par)?, warm: None };
    let b = worlds("linearize", &[&operands.q, &operands.u, &operands.par])?;
    let (nv, nu, n_lambda) = (plan.structure.nv, plan.nu, 3 * plan.structure.nc());
    let widths = [plan.n_row(), nv * nv, nv * nu, n_lambda * nv, n_lambda * nu];
    let mut parts = run_parts_on(plan.set, &Linearize { plan, operands }, b, widths).into_iter().zip(widths);
    let mut next = || match parts.next() {
        Some((data, width)) if q.dtype() == DType::F64 => Tensor::from_vec(data, (b, width), q.device()),
        Some((data, width)) => Tensor::from_vec(data, (b, width), q.device())?.to_dtype(q.dtype()),
        None => candle_core::bail!("linearize: expected {PARTS} matrices"),
    };
    Ok([next()?, next()?, next()?, next()?, next()?])
}

struct Linearize<'a> {
    plan: &'a Plan,
    operands: Operands<'a>,
}

impl Program for Linearize<'_> {
    fn scratch(&self) -> usize {
        self.plan.paths.at.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands } = self;
        group.run(&Load { plan, operands });
        plan.prepare(group);
        plan.solve(group, false);
        group.run(&Store(plan));
        plan.factor(group);
        group.run(&Touch(plan));
        group.run(&Balance(plan));
        group.run(&Respond(plan));
        group.run(&StoreForces(plan));
        group.run(&StoreStates(plan));
    }
}

impl Plan {
    #[inline(always)]
    fn with_jacobian<'a, R>(&self, memory: &'a mut [R]) -> (Memory<'a, R>, Jacobian<&'a mut [R]>) {
        let (memory, rest) = self.places.memory(memory);
        (memory, self.paths.at.cut(rest).0)
    }

    /// All screws, [`SCREW`] numbers each.
    #[inline(always)]
    fn screws<'a, R>(&self, kin: &'a [R]) -> &'a [R] {
        &kin[self.screw(0)..self.screw(0) + SCREW * self.structure.ns]
    }
}

/// ω × p + m.
#[inline(always)]
fn velocity<R: Real>(twist: Twist<R>, p: Vec3<R>) -> Vec3<R> {
    add(twist.m, cross(twist.omega, p))
}

/// The wrench of a force at p.
#[inline(always)]
fn at_point<R: Real>(p: Vec3<R>, force: Vec3<R>) -> Wrench<R> {
    Wrench { moment: cross(p, force), force }
}

/// ±x: what B has is its own, what A has counts negative.
#[inline(always)]
fn signed<R: Real>(side: usize, x: Vec3<R>) -> Vec3<R> {
    if side == 0 { sub(zero(), x) } else { x }
}

/// Σ δ_j S_j over the path's screws from each one on, those with a command left out if `only_free`.
#[inline(always)]
fn sum_up<R: Real>(path: &[PathScrew], screws: &[R], delta: &[R], only_free: bool, sums: &mut [R]) {
    let mut sum = Twist::zero();
    sum.write(sums, path.len());
    for (k, entry) in path.iter().enumerate().rev() {
        if entry.free || !only_free {
            sum = Twist::read(screws, entry.screw).axpy(delta[entry.place], sum);
        }
        sum.write(sums, k);
    }
}

/// How each contact's geometry changes with the degrees of freedom that move it.
struct Touch<'a>(&'a Plan);

/// The numbers of a contact but for its point on B, which is p_A + φ n.
const INDEPENDENT: [usize; 7] = [0, 1, 2, 3, 4, 5, 9];

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
            let seed = &mut to.seed[..GEOMETRY * pair.contacts];
            clear(seed);
            for (n, number) in (0..pair.contacts).flat_map(
                #[inline(always)]
                |n| INDEPENDENT.map(|number| (n, number)),
            ) {
                seed[GEOMETRY * n + number] = R::one();
                let mut wrenches = [[R::zero(); SHAPE_PULL]; 2];
                let mut sizes = [[R::zero(); 4]; 2];
                let ([wrench_a, wrench_b], [grad_a, grad_b]) = (&mut wrenches, &mut sizes);
                lanes::pull(
                    pair.function.kind,
                    pair.function.swapped,
                    &a,
                    size_a,
                    &b,
                    size_b,
                    seed,
                    wrench_a,
                    wrench_b,
                    grad_a,
                    grad_b,
                );
                seed[GEOMETRY * n + number] = R::zero();
                let contact = pair.first + n;
                let first = plan.structure.contacts[contact].first;
                for side in 0..2 {
                    let (pose, wrench) = (if side == 0 { &a } else { &b }, &wrenches[side]);
                    let force = at3(wrench, 0);
                    let wrench = Wrench { moment: add(at3(wrench, 3), cross(pose.p, force)), force };
                    for entry in &plan.paths.contacts[contact][side] {
                        let at = GEOMETRY * (first + entry.slot) + number;
                        to.geometry[at] += Twist::read(screws, entry.screw).dot(wrench);
                    }
                }
            }
        }
        for (contact, of) in plan.structure.contacts.iter().enumerate() {
            let (n, phi) = (at3(m.contacts, CONTACT * contact), m.contacts[CONTACT * contact + 9]);
            for slot in of.first..of.first + of.dofs.len() {
                let change = &mut to.geometry[GEOMETRY * slot..GEOMETRY * (slot + 1)];
                let point_b = add(at3(change, 3), axpy(change[9], n, scale(phi, at3(change, 0))));
                put3(change, 6, point_b);
            }
        }
    }
}

/// −∂r/∂q and −∂r/∂u, and how λ changes with q at fixed δ, and with δ.
struct Balance<'a>(&'a Plan);

impl Stage for Balance<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let (Memory { numbers: m, work }, mut to) = plan.with_jacobian(memory);
        let kappa = m.kappa[0];
        let keep = work.info[0].lt(R::splat(Status::Infeasible.code()));
        clear(to.x);
        for (k, &(dof, _)) in plan.commanded.iter().enumerate() {
            let (place, stiffness) = (s.place[dof], m.par[plan.at.stiffness + k]);
            to.x[plan.paths.entry(place, place)] -= stiffness;
            to.x[plan.paths.entry(plan.paths.commands[k], place)] = stiffness;
        }
        for (l, &(place, _)) in s.limits.iter().enumerate() {
            let eta = work.eta[3 * s.nc() + l];
            to.x[plan.paths.entry(place, place)] -= (kappa * eta * eta).scale(0.5);
        }
        for body in &plan.paths.bodies {
            plan.weigh_body(body, m.kin, m.par, work.delta, &mut to);
        }
        for contact in 0..s.nc() {
            plan.push_contact(
                contact,
                plan.screws(m.kin),
                m.contacts,
                kappa,
                work.eta,
                work.delta,
                work.columns,
                &mut to,
            );
        }
        for changes in [to.lambda, to.columns] {
            for change in changes {
                *change = R::select(keep, *change, R::zero());
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
        let Wrench { moment, force } = at_point(*p, scale(self.mass, velocity(x, *p)));
        let spin = rotate_back(axes, rotate(&self.inertia, rotate(axes, x.omega)));
        Wrench { moment: add(moment, spin), force }
    }
}

impl Plan {
    /// −∂/∂q of a body's part of P δ + g.
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
        let pose = Pose::read(&kin[POSE * (self.n_shapes + body)..]);
        let factor = self.inertia_factor(par);
        let solid = Solid { pose, mass: par[self.at.mass + body], inertia: self.inertia(par, body) };
        let (p, weight) = (pose.p, scale(solid.mass, at3(par, self.at.gravity)));
        sum_up(path, screws, delta, true, to.sums);
        let all = Twist::read(to.sums, 0);
        let moved = solid.momentum(all).times(factor);
        let total = moved.minus(at_point(p, weight));
        for column in path {
            let screw = Twist::read(screws, column.screw);
            let before = all.minus(Twist::read(to.sums, column.after));
            let mut change = screw.cross_wrench(moved).minus(solid.momentum(screw.cross(before)).times(factor));
            change.moment = sub(change.moment, cross(velocity(screw, p), weight));
            let carried = change.minus(screw.cross_wrench(total));
            for (k, row) in path.iter().enumerate() {
                if row.free {
                    let change = if k < column.after { change } else { carried };
                    to.x[self.paths.entry(column.place, row.place)] -= Twist::read(screws, row.screw).dot(change);
                }
            }
        }
    }

    /// A contact's part of ∂(Jᵀf)/∂q, and the changes of its λ.
    #[expect(clippy::too_many_arguments, reason = "operands of a kernel")]
    #[inline(always)]
    fn push_contact<R: Lane>(
        &self,
        contact: usize,
        screws: &[R],
        contacts: &[R],
        kappa: R,
        eta: &[R],
        delta: &[R],
        columns: &[R],
        to: &mut Jacobian<&mut [R]>,
    ) {
        let (of, paths) = (&self.structure.contacts[contact], &self.paths.contacts[contact]);
        let slots = of.first..of.first + of.dofs.len();
        let cone = Cone::read(contacts, contact);
        let (own, eta) = (cone.kappa(kappa), at3(eta, 3 * contact));
        let force = cone.scaled(eta);
        let points = [cone.point_a, cone.point_b];

        // J δ, and its change where screws are carried.
        let (mut d, mut turns) = (zero(), [zero(); 2]);
        clear(&mut to.force[3 * slots.start..3 * slots.end]);
        for side in 0..2 {
            sum_up(&paths[side], screws, delta, false, to.sums);
            let all = Twist::read(to.sums, 0);
            d = add(d, signed(side, velocity(all, points[side])));
            turns[side] = all.omega;
            for entry in &paths[side] {
                let carried = Twist::read(screws, entry.screw).cross(Twist::read(to.sums, entry.after));
                let at = 3 * (slots.start + entry.slot);
                put3(to.force, at, add(at3(to.force, at), signed(side, velocity(carried, points[side]))));
            }
        }

        let (frame, turning) = (lanes::frame(cone.n), lanes::frame_rates(cone.n, force));
        // The barrier's weight is in κ: a force goes as the weight does.
        let (weight, slope) = self.weight(cone.phi);
        let there = weight.gt(R::zero());
        let fading = R::select(there, slope / R::select(there, weight, R::one()), R::zero());
        let Rates { zeta, d: by_d, n: by_n, phi: by_phi } = cone.rates(own, eta, d);
        let by_phi = axpy(fading, force, by_phi);
        let by_delta = product(&frame, &zeta);
        for slot in slots.clone() {
            let geometry = &to.geometry[GEOMETRY * slot..GEOMETRY * (slot + 1)];
            let (n, phi) = (at3(geometry, 0), geometry[9]);
            let moved = sub(cross(turns[1], at3(geometry, 6)), cross(turns[0], at3(geometry, 3)));
            let d = add(at3(to.force, 3 * slot), moved);
            let change = axpy(phi, by_phi, add(rotate(&by_n, n), rotate(&by_d, d)));
            put3(to.force, 3 * slot, change);
            put3(to.lambda, 3 * slot, add(rotate(&frame, change), rotate(&turning, n)));
            put3(to.columns, 3 * slot, rotate(&by_delta, at3(columns, 3 * slot)));
        }

        for side in 0..2 {
            let (path, own_force) = (&paths[side], signed(side, force));
            for (slot, &column) in slots.clone().lockstep(&of.dofs) {
                let point = at3(to.geometry, GEOMETRY * slot + 3 + 3 * side);
                let mut change = at_point(points[side], signed(side, at3(to.force, 3 * slot)));
                change.moment = add(change.moment, cross(point, own_force));
                for row in path {
                    to.x[self.paths.entry(column, row.place)] += Twist::read(screws, row.screw).dot(change);
                }
            }
            let on = at_point(points[side], own_force);
            for column in path {
                let carried = Twist::read(screws, column.screw).cross_wrench(on);
                for row in &path[column.after..] {
                    to.x[self.paths.entry(column.place, row.place)] -= Twist::read(screws, row.screw).dot(carried);
                }
            }
        }
    }
}

/// Zeros for what is not finite.
#[inline(always)]
fn clean<R: Real>(numbers: &mut [R]) {
    let mut sums = [R::zero(); 4];
    let (quads, rest) = numbers.as_chunks::<4>();
    for quad in quads {
        for k in 0..4 {
            sums[k] = quad[k].mul_add(R::zero(), sums[k]);
        }
    }
    for &x in rest {
        sums[0] = x.mul_add(R::zero(), sums[0]);
    }
    let sum = sums[0] + sums[1] + (sums[2] + sums[3]);
    if sum.is_finite().not().any() {
        for x in numbers {
            *x = R::select(x.is_finite(), *x, R::zero());
        }
    }
}

/// ∂δ/∂q and ∂δ/∂u; zeros in worlds without a solution.
struct Respond<'a>(&'a Plan);

impl Stage for Respond<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let s = &*plan.structure;
        let (Memory { work, .. }, to) = plan.with_jacobian(memory);
        let keep = work.info[0].lt(R::splat(Status::Infeasible.code()));
        let (x, _) = to.x.as_chunks_mut::<BLOCK>();
        for (b, reach) in plan.paths.reach.iter().enumerate() {
            let x = &mut x[b * s.nv..(b + 1) * s.nv];
            for &row in reach {
                for number in &mut x[row] {
                    *number = R::select(keep, *number, R::zero());
                }
            }
            s.factor_h.solve_block(work.h, reach, x);
        }
        clean(to.x);
    }
}

/// Writes C and D.
struct StoreForces<'a>(&'a Plan);

impl Stage for StoreForces<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.0;
        let (nv, nu) = (plan.structure.nv, plan.nu);
        let width = nv + nu + 1;
        let (_, to) = plan.with_jacobian(memory);
        let (x, _) = to.x.as_chunks::<BLOCK>();
        for (contact, of) in plan.structure.contacts.iter().enumerate() {
            for (b, targets) in plan.paths.targets.iter().enumerate() {
                let x = &x[b * nv..(b + 1) * nv];
                let mut changes = [[R::zero(); BLOCK]; 3];
                for (slot, &place) in of.dofs.iter().enumerate() {
                    let by_delta = at3(to.columns, 3 * (of.first + slot));
                    let x = &x[place];
                    for i in 0..3 {
                        for k in 0..BLOCK {
                            changes[i][k] = by_delta[i].mul_add(x[k], changes[i][k]);
                        }
                    }
                }
                for i in 0..3 {
                    let row = &mut to.rows[width * i..width * (i + 1)];
                    for k in 0..BLOCK {
                        row[targets[k]] = changes[i][k];
                    }
                }
            }
            for (slot, &place) in of.dofs.iter().enumerate() {
                let dof = plan.paths.targets[place / BLOCK][place % BLOCK];
                for i in 0..3 {
                    to.rows[width * i + dof] += to.lambda[3 * (of.first + slot) + i];
                }
            }
            clean(to.rows);
            for i in 0..3 {
                let (row, at) = (&to.rows[width * i..width * (i + 1)], 3 * contact + i);
                out.store_in(C, first, nv * at, &row[..nv]);
                out.store_in(D, first, nu * at, &row[nv..nv + nu]);
            }
        }
    }
}

/// From ∂δ to ∂q₊, and writes A and B. A world whose q is unusable steps from home whatever q is: its A is zero.
struct StoreStates<'a>(&'a Plan);

impl Stage for StoreStates<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let plan = self.0;
        let (nv, nu, place) = (plan.structure.nv, plan.nu, &plan.structure.place);
        let (Memory { numbers: m, .. }, to) = plan.with_jacobian(memory);
        let usable = m.usable[0];
        for dof in plan.charts.rotations() {
            let of = [place[dof], place[dof + 1], place[dof + 2]];
            let [carried, turned]: [Mat3<R>; 2] = Charts::rotation_rates(at3(m.delta, dof));
            let (x, _) = to.x.as_chunks_mut::<BLOCK>();
            for b in 0..plan.paths.targets.len() {
                let x = &mut x[b * nv..(b + 1) * nv];
                for k in 0..BLOCK {
                    let change = [x[of[0]][k], x[of[1]][k], x[of[2]][k]];
                    for i in 0..3 {
                        x[of[i]][k] = dot(turned[i], change);
                    }
                }
            }
            for i in 0..3 {
                for k in 0..3 {
                    // The identity is added to all.
                    let one = if i == k { R::one() } else { R::zero() };
                    to.x[plan.paths.entry(of[k], of[i])] += usable * (carried[i][k] - one);
                }
            }
        }
        for k in 0..nv {
            to.x[plan.paths.entry(k, k)] += usable;
        }
        let (x, _) = to.x.as_chunks::<BLOCK>();
        for (dof, &row) in place.iter().enumerate() {
            for (b, targets) in plan.paths.targets.iter().enumerate() {
                let x = &x[b * nv + row];
                for k in 0..BLOCK {
                    to.rows[targets[k]] = x[k];
                }
            }
            let (by_q, by_u) = to.rows[..nv + nu].split_at(nv);
            out.store_in(A, first, nv * dof, by_q);
            out.store_in(B, first, nu * dof, by_u);
        }
    }
}
