//! The part of −∂r/∂q that comes from rolling stiffness, through M and ω of the moment M ω: see
//! [`RollingTables`](crate::step::rolling::RollingTables).

use crate::contact::lanes::rolling::{self, OPERANDS, STIFFNESS};
use crate::kinematics::spatial::Twist;
use fingertip_lanes::lane::{Lane, Real, copy};
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::{Vec3, add, add_vec3, cross, dot, rotate, scale, vec3_at, zero};

use super::super::super::rolling::{Roller, matrix};
use super::super::memory::{GEOMETRY, Memory, Numbers};
use super::super::paths::Jacobian;
use super::super::plan::Plan;
use super::super::stages::share;
use super::balance::sum_up;

/// Adds the part of −∂r/∂q of the stiffness against rolling and of what hangs; runs after [`Balance`](super::balance::Balance).
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

impl Plan {
    /// Adds one rolling contact's part of −∂r/∂q to x.
    #[inline(always)]
    fn push_roller<R: Lane>(&self, roller: &Roller, m: &Numbers<&mut [R]>, delta: &[R], to: &mut Jacobian<&mut [R]>) {
        let contact = self.placed(m.geometry, m.share)(roller.contact);
        let part = share(m.share, roller.contact);
        let Jacobian { x, sums, geometry, share, .. } = to;
        let (geometry, share) = (&**geometry, &**share);
        R::when(
            contact.1.gt(R::zero()),
            &mut (&mut **x, &mut **sums),
            #[inline(always)]
            |(x, sums)| {
                let of = &self.structure.contacts[roller.contact];
                let path = &self.paths.contacts[roller.contact][usize::from(roller.on_b)];
                let screws = self.screws(m.kin);
                let v = self.rolling.operands(roller, [m.kin, m.par], contact);
                let stiffness = matrix(rolling::stiffness(roller.curved(), self.rolling.k, &v));
                sum_up(path, screws, delta, true, sums);
                let turn = Twist::read(sums, 0).omega;
                let moment = rotate(&stiffness, turn);
                let by = rolling::vjp(roller.curved(), self.rolling.k, &v, by_stiffness(turn).each_ref());
                let (window, slope) = self.weight(v[6]);
                for (slot, &place) in R::parts(of.dofs.iter().enumerate()) {
                    let at = of.first + slot;
                    let geometry = &geometry[GEOMETRY * at..GEOMETRY * (at + 1)];
                    let normal = vec3_at(geometry, 0);
                    let mut rates = [R::zero(); OPERANDS];
                    copy(&mut rates[..3], &if roller.on_b { scale(-R::one(), normal) } else { normal });
                    copy(&mut rates[3..6], &vec3_at(geometry, if roller.on_b { 6 } else { 3 }));
                    rates[6] = geometry[9];
                    rates[7] = slope * part * geometry[9];
                    if let Some(&share) = share.get(at) {
                        rates[7] += window * share;
                    }
                    let mut carried = zero();
                    for entry in path.iter().filter(|entry| entry.slot == slot) {
                        let screw = Twist::read(screws, entry.screw);
                        add_vec3(&mut rates, 8, screw.velocity(vec3_at(&v, 8)));
                        for &axis in roller.carried() {
                            add_vec3(&mut rates, axis, cross(screw.omega, vec3_at(&v, axis)));
                        }
                        carried = add(carried, cross(screw.omega, Twist::read(sums, entry.after).omega));
                    }
                    let mut change = rotate(&stiffness, carried);
                    for i in 0..3 {
                        for k in 0..OPERANDS {
                            change[i] = by[i][k].mul_add(rates[k], change[i]);
                        }
                    }
                    for row in path.iter().filter(|row| row.free) {
                        let by_row = dot(Twist::read(screws, row.screw).omega, change);
                        x[self.paths.entry(self.paths.dofs[place], row.place)] -= by_row;
                    }
                }
                for column in R::parts(path) {
                    let omega = Twist::read(screws, column.screw).omega;
                    for row in path[column.after..].iter().filter(|row| row.free) {
                        let carried = cross(omega, Twist::read(screws, row.screw).omega);
                        x[self.paths.entry(column.dof, row.place)] -= dot(carried, moment);
                    }
                }
            },
        );
    }
}
