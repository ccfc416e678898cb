//! The part of −∂r/∂q that comes from rolling stiffness, through M and ω of the moment M ω: see
//! [`RollingTables`](crate::step::rolling::RollingTables).

use crate::contact::lanes::rolling::{self, AT, OPERANDS, STIFFNESS, axis};
use crate::contact::numbers::PHI;
use crate::kinematics::spatial::Twist;
use fingertip_lanes::lane::{Lane, Real};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::{Vec3, add, add_vec3, cross, dot, rotate, vec3_at, zero};

use super::super::super::rolling::Roller;
use super::super::super::stiffened::{matrix, put_contact};
use super::super::memory::{GEOMETRY, Memory, Numbers};
use super::super::paths::{Jacobian, PathScrew};
use super::super::plan::Plan;
use super::super::stages::share;
use super::balance::sum_up;

/// Adds the part of −∂r/∂q of the stiffness against rolling and of what hangs; runs after
/// [`Balance`](super::balance::Balance).
pub(super) struct Rolling<'a>(pub(super) &'a Plan);

impl Stage for Rolling<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, work }, mut to) = plan.with_jacobian(memory);
        for roller in R::parts(&plan.rolling.contacts) {
            plan.push_roller(roller, &m, work.delta, &mut to);
        }
        for hanger in R::parts(&plan.rolling.hangers) {
            plan.push_hanger(hanger, &m, work.delta, &mut to);
        }
    }
}

/// Derivatives of M ω by the numbers of M, for each component.
#[inline(always)]
pub(super) fn by_stiffness<R: Real>([x, y, z]: Vec3<R>) -> [[R; STIFFNESS]; 3] {
    let o = R::zero();
    [[x, o, o, y, z, o], [o, y, o, x, o, z], [o, o, z, o, x, y]]
}

/// The contact of a body that a stiffness holds, whether the body is its side B, and the body's path.
pub(super) type Held<'a> = (usize, bool, &'a [PathScrew]);

impl Plan {
    /// Adds one rolling contact's part of −∂r/∂q to x.
    #[inline(always)]
    fn push_roller<R: Lane>(&self, roller: &Roller, m: &Numbers<&mut [R]>, delta: &[R], to: &mut Jacobian<&mut [R]>) {
        let contact = self.placed(m.geometry, m.share)(roller.contact);
        let Jacobian { x, sums, geometry, share, .. } = to;
        let rates = (&**geometry, &**share);
        R::when(
            contact.1.gt(R::zero()),
            &mut (&mut **x, &mut **sums),
            #[inline(always)]
            |(x, sums)| {
                let v = self.rolling.operands(roller, [m.kin, m.par], contact);
                let stiffness = rolling::stiffness(roller.curved(), self.rolling.stiffened.k, &v);
                R::when(
                    rolling::holds(&stiffness),
                    &mut (&mut **x, &mut **sums),
                    #[inline(always)]
                    |(x, sums)| self.push_rolling((roller, &v, stiffness), m, delta, rates, (x, sums)),
                );
            },
        );
    }

    /// The same, given the operands of its stiffness, and that. `rates` are those of the contacts' geometry and shares.
    #[inline(always)]
    fn push_rolling<R: Lane>(
        &self,
        (roller, v, stiffness): (&Roller, &[R; OPERANDS], [R; STIFFNESS]),
        m: &Numbers<&mut [R]>,
        delta: &[R],
        rates: (&[R], &[R]),
        (x, sums): (&mut [R], &mut [R]),
    ) {
        let of = &self.structure.contacts[roller.contact];
        let path = &self.paths.contacts[roller.contact][usize::from(roller.on_b)];
        let screws = self.screws(m.kin);
        let stiffness = matrix(stiffness);
        sum_up(path, screws, delta, true, sums);
        let turn = Twist::read(sums, 0).omega;
        let moment = rotate(&stiffness, turn);
        let by = rolling::vjp(roller.curved(), self.rolling.stiffened.k, v, by_stiffness(turn).each_ref());
        for (slot, &place) in R::parts(of.dofs.iter().enumerate()) {
            let held = (roller.contact, roller.on_b, &**path);
            let mut rates = self.rates_of(held, slot, v, m, rates);
            let mut carried = zero();
            for entry in path.iter().filter(|entry| entry.slot == slot) {
                let screw = Twist::read(screws, entry.screw);
                for k in roller.carried() {
                    let axis = axis(k).start;
                    add_vec3(&mut rates, axis, cross(screw.omega, vec3_at(v, axis)));
                }
                carried = add(carried, cross(screw.omega, Twist::read(sums, entry.after).omega));
            }
            let change = sum_of(&by, &rates, rotate(&stiffness, carried));
            self.push_change(path, place, screws, change, x);
        }
        for column in R::parts(path) {
            let omega = Twist::read(screws, column.screw).omega;
            for row in path[column.after..].iter().filter(|row| row.free) {
                let carried = cross(omega, Twist::read(screws, row.screw).omega);
                x[self.paths.entry(column.dof, row.place)] -= dot(carried, moment);
            }
        }
    }

    /// Rates of the operands of a contact's stiffness by one of its degrees of freedom. The operands begin with the
    /// normal out of the body, the point on it, φ, weight, and the body's centre of mass; others' rates are left 0.
    #[inline(always)]
    pub(super) fn rates_of<R: Lane, const N: usize>(
        &self,
        (contact, on_b, path): Held,
        slot: usize,
        v: &[R; N],
        m: &Numbers<&mut [R]>,
        (geometry, shares): (&[R], &[R]),
    ) -> [R; N] {
        let at = self.structure.contacts[contact].first + slot;
        let geometry = &geometry[GEOMETRY * at..GEOMETRY * (at + 1)];
        let (window, slope) = self.weight(contact, v[AT.phi.start]);
        let mut weight = slope * share(m.share, contact) * geometry[PHI];
        if let Some(&share) = shares.get(at) {
            weight += window * share;
        }
        let mut rates = [R::zero(); N];
        put_contact(&mut rates, on_b, (geometry, weight));
        for entry in path.iter().filter(|entry| entry.slot == slot) {
            let screw = Twist::read(self.screws(m.kin), entry.screw);
            add_vec3(&mut rates, AT.centre.start, screw.velocity(vec3_at(v, AT.centre.start)));
        }
        rates
    }

    /// Adds the change of a moment by one degree of freedom to −∂r/∂q, in the rows of a body's path.
    #[inline(always)]
    pub(super) fn push_change<R: Lane>(
        &self,
        path: &[PathScrew],
        dof: usize,
        screws: &[R],
        change: Vec3<R>,
        x: &mut [R],
    ) {
        for row in path.iter().filter(|row| row.free) {
            let by_row = dot(Twist::read(screws, row.screw).omega, change);
            x[self.paths.entry(self.paths.dofs[dof], row.place)] -= by_row;
        }
    }
}

/// Derivatives by operands times their rates, added to a vector.
#[inline(always)]
pub(super) fn sum_of<R: Real, const N: usize>(by: &[[R; N]; 3], rates: &[R; N], mut sum: Vec3<R>) -> Vec3<R> {
    for i in 0..3 {
        for k in 0..N {
            sum[i] = by[i][k].mul_add(rates[k], sum[i]);
        }
    }
    sum
}
