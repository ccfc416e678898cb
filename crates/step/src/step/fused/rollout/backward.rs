//! The adjoint sweep of a rollout: from the last step to the first, with the gradient of the states or of the forces.

use crate::kinematics::{Difference, ManifoldMap};
use crate::solve::{self, FrictionCone, INFO, Status, by_dimension, gone, present, put_nth, touched};
use fingertip_lanes::lane::{Lane, Mask, Number, Zip, clear, copy};
use fingertip_lanes::order::Order;
use fingertip_lanes::program::{Group, Program, Stage};
use fingertip_lanes::rows::{Output, Rows};
use fingertip_lanes::vector::{dot, vec3_at};

use super::super::super::sparse::SparseRows;
use super::super::kernel::Kernel;
use super::super::memory::{GEOMETRY, Memory};
use super::super::plan::Plan;
use super::super::stages::Load;
use super::forward::Forward;

/// The results whose gradient a backward sweep is given: the states, or the forces.
#[derive(Clone, Copy)]
pub(in super::super) enum Cost {
    /// Gradient of the states. The gradient of each state is passed on to the step before.
    States,
    /// Gradient of the forces. The gradient of each state is written out, for a sweep of [`Cost::States`] to take on.
    Forces,
}

impl Cost {
    /// The kernel that sweeps back with this gradient.
    pub(in super::super) fn kernel(self) -> Kernel {
        match self {
            Self::States => Kernel::RolloutAdjoint,
            Self::Forces => Kernel::RolloutForceAdjoint,
        }
    }
}

/// The adjoint of T steps of a lane's worlds, from the last to the first.
pub(in super::super) struct Backward<'a> {
    pub(in super::super) forward: Forward<'a>,
    pub(in super::super) states: Rows<'a>,
    /// The forces of all contacts, and torques; the torques alone if contacts with a force are listed.
    pub(in super::super) force: Rows<'a>,
    pub(in super::super) listed: Option<&'a SparseRows>,
    pub(in super::super) limit_force: Rows<'a>,
    pub(in super::super) info: Rows<'a>,
    pub(in super::super) cost: Cost,
    pub(in super::super) grad: Rows<'a>,
}

impl Backward<'_> {
    /// Matrices of gradients: of the first operand, the controls, the parameters.
    const FIRST: usize = 0;
    const CONTROLS: usize = 1;
    const PARAMETERS: usize = 2;
}

impl Program for Backward<'_> {
    fn scratch(&self) -> usize {
        self.forward.plan.places.gradients.end()
    }

    fn group(&self, group: &mut Group) {
        let Forward { plan, operands, n_steps, .. } = &self.forward;
        group.run(&Load { plan, operands, goes_on: false });
        group.run(&Begin(plan));
        group.each(*n_steps, Order::Backward, |group, t| {
            group.run(&Revisit { backward: self, t });
            plan.prepare_near(group);
            plan.refit(group);
            group.run(&Recover { backward: self, t });
            if plan.quaternions.is_empty() {
                plan.factor(group, false);
            } else {
                group.run(&solve::Balance { structure: &plan.structure, at: &plan.places.solve });
                group.run(&Unwind(plan));
                plan.factor(group, true);
            }
            plan.vjp(true, group);
            group.run(&Collect { backward: self, t });
        });
        group.run(&End(self));
    }
}

/// Clears the gradient that is carried from later steps: there is no step after the last state.
struct Begin<'a>(&'a Plan);

impl Stage for Begin<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let (_, to) = self.0.places.both(memory);
        clear(to.carry);
        clear(to.par_sum);
    }
}

/// Loads state, control and result of step t into memory.
struct Revisit<'a> {
    backward: &'a Backward<'a>,
    t: usize,
}

impl Stage for Revisit<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Backward { forward: Forward { plan, operands, .. }, states, limit_force, info, cost, grad, .. } =
            self.backward;
        let (t, nq, n_force, n_limit) = (self.t, plan.nq, plan.n_forces(), plan.structure.nl());
        let (Memory { numbers: m, work }, to) = plan.places.both(memory);
        states.load_all(first, t * nq, m.q);
        states.load_all(first, (t + 1) * nq, m.q_next);
        limit_force.load_all(first, t * n_limit, &mut work.eta[plan.structure.n_force()..]);
        info.load_all(first, t * INFO, work.info);
        operands.u.load_all(first, t * plan.nu, m.u);
        clear(to.delta);
        clear(to.limit);
        match cost {
            Cost::States => {
                grad.load_all(first, (t + 1) * nq, to.q_next);
                for (value, &carry) in to.q_next.iter_mut().zip_inline(to.carry.iter()) {
                    *value += carry;
                }
            }
            Cost::Forces => {
                clear(to.q_next);
                plan.contacts.torsion.load_gradient(grad, (first, t * n_force), to.force);
            }
        }
    }
}

/// Recovers δ and η of a step from its two states and its forces. The results of a rollout have no gaps, so these have
/// no gradient.
struct Recover<'a> {
    backward: &'a Backward<'a>,
    t: usize,
}

impl Stage for Recover<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Backward { forward: Forward { plan, n_steps, .. }, force, listed, cost, .. } = self.backward;
        let (Memory { numbers: m, work }, to) = plan.places.both(memory);
        Difference::value(&plan.retraction, m.q, m.q_next, m.delta);
        let s = &*plan.structure;
        let start = self.t * plan.n_forces();
        if m.near.is_empty() {
            force.load_all(first, start, m.force);
        }
        let (forces, torques) = m.force.split_at_mut(3 * plan.nc);
        if let Some(listed) = listed {
            for on in present(s, m.near, forces.as_chunks_mut::<3>().0) {
                clear(on);
            }
            load_listed(listed, first, (self.t, *n_steps), forces);
            force.load_all(first, self.t * torques.len(), torques);
        } else if !m.near.is_empty() {
            for (c, on) in present(s, m.near, forces.as_chunks_mut::<3>().0.iter_mut().enumerate()) {
                force.load_all(first, start + 3 * c, on);
            }
            force.load_all(first, start + 3 * plan.nc, torques);
        }
        for geometry in touched(s, m.near, to.geometry.as_chunks_mut::<GEOMETRY>().0) {
            clear(geometry);
        }
        for share in touched(s, m.near, to.share.iter_mut()) {
            *share = R::zero();
        }
        by_dimension!(s, N => {
            if let Cost::States = cost {
                for force in touched(s, m.near, to.force.as_chunks_mut::<N>().0) {
                    clear(force);
                }
            }
            for eta in gone(s, m.near, work.eta.as_chunks_mut::<N>().0) {
                clear(eta);
            }
            for c in present(s, m.near, 0..plan.nc) {
                let cone = FrictionCone::<R, N>::read(m.contacts, m.gammas, c);
                let torque = match plan.contacts.torsion.torque(c) {
                    Some(torque) => torques[torque],
                    None => R::zero(),
                };
                put_nth(work.eta, c, cone.unscaled(vec3_at(forces, 3 * c), torque));
            }
        });
        plan.structure.place_all(m.delta, work.delta);
    }
}

/// Loads the forces that are listed of step t of so many: those of the worlds from `first` on, the last of which fills
/// what a lane has beyond.
#[inline(always)]
fn load_listed<R: Lane>(listed: &SparseRows, first: usize, (t, n_steps): (usize, usize), to: &mut [R]) {
    R::exchange(
        [],
        [to],
        #[inline(always)]
        |[], [to]| {
            for i in 0..R::WIDTH {
                let world = (first + i).min(listed.len() / n_steps - 1);
                for (column, x) in listed.row(world * n_steps + t) {
                    to[column * R::WIDTH + i] = Number::of(x);
                }
            }
        },
    );
}

/// Corrects δ where a body may have turned by half a turn or more, which two states cannot tell: there δ follows from
/// the forces.
struct Unwind<'a>(&'a Plan);

/// Turns that two states tell for certain, rad: rounding may take what is nearer to π the other way round.
const SHORT: f64 = 3.0;

impl Stage for Unwind<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let place = &plan.structure.place;
        let Memory { numbers: m, work } = plan.places.memory(memory).0;
        let moved = work.info[0].lt(R::splat(Status::Infeasible.code()));
        for at in plan.retraction.rotations() {
            let turn = [work.free[place[at]], work.free[place[at + 1]], work.free[place[at + 2]]];
            let is_long = moved.and(dot(turn, turn).gt(R::splat(SHORT * SHORT)));
            for (k, turn) in turn.into_iter().enumerate() {
                m.delta[at + k] = R::select(is_long, turn, m.delta[at + k]);
            }
        }
        plan.structure.place_all(m.delta, work.delta);
    }
}

/// Writes the gradient of u at step t and sums those of the parameters. The gradient of q is carried to the step
/// before, or written as a result.
struct Collect<'a> {
    backward: &'a Backward<'a>,
    t: usize,
}

impl Stage for Collect<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Backward { forward: Forward { plan, .. }, cost, .. } = self.backward;
        let (_, to) = plan.places.both(memory);
        for (sum, &grad) in to.par_sum.iter_mut().zip_inline(to.par.iter()) {
            *sum += grad;
        }
        out.store_in(Backward::CONTROLS, first, self.t * plan.nu, to.u);
        if let Cost::Forces = cost {
            out.store_in(Backward::FIRST, first, (self.t + 1) * plan.nq, to.carry);
        }
        copy(to.carry, to.q);
    }
}

/// Writes the gradients of the first state and of the parameters.
struct End<'a>(&'a Backward<'a>);

impl Stage for End<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Backward { forward: Forward { plan, .. }, cost, grad, .. } = self.0;
        let (_, to) = plan.places.both(memory);
        if let Cost::States = cost {
            grad.load_all(first, 0, to.q_next);
            for (carry, &grad) in to.carry.iter_mut().zip_inline(to.q_next.iter()) {
                *carry += grad;
            }
        }
        out.store_in(Backward::FIRST, first, 0, to.carry);
        out.store_in(Backward::PARAMETERS, first, 0, to.par_sum);
    }
}
