//! The part of −∂r/∂q that comes from connections: see [`ConnectionTables`](crate::step::connection::ConnectionTables).

use crate::kinematics::spatial::Twist;
use fingertip_lanes::lane::Lane;
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::Output;
use fingertip_lanes::vector::{add, cross, scale, signed, sub, vec3_at, zero};

use super::super::memory::Memory;
use super::super::plan::Plan;
use super::balance::{at_point, sum_up};

/// Adds the connections' part of −∂r/∂q; runs after [`Balance`](super::balance::Balance).
pub(super) struct Connections<'a>(pub(super) &'a Plan);

impl Stage for Connections<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let plan = self.0;
        let (Memory { numbers: m, work }, to) = plan.with_jacobian(memory);
        let (kin, screws, delta) = (&*m.kin, plan.screws(m.kin), &*work.delta);
        for (k, paths) in R::parts(plan.paths.connections.iter().enumerate()) {
            let [a, b] = plan.problem.connections.ends()[k];
            let points = [vec3_at(kin, a), vec3_at(kin, b)];
            let stiffness = m.par[plan.at.connection + k];

            // The force −k (r + J δ) on B.
            let (mut apart, mut turns) = (sub(points[1], points[0]), [zero(); 2]);
            for side in 0..2 {
                sum_up(&paths[side], screws, delta, false, to.sums);
                let all = Twist::read(to.sums, 0);
                apart = add(apart, signed(side, all.velocity(points[side])));
                turns[side] = all.omega;
            }
            let force = scale(-stiffness, apart);

            for side in 0..2 {
                sum_up(&paths[side], screws, delta, false, to.sums);
                let own = signed(side, force);
                let on = at_point(points[side], own);
                for column in R::parts(&paths[side]) {
                    let screw = Twist::read(screws, column.screw);
                    let velocity = screw.velocity(points[side]);
                    // How r + J δ changes: by the point, by the screws that the column carries, and by where they act.
                    let carried = screw.cross(Twist::read(to.sums, column.after)).velocity(points[side]);
                    let by = signed(side, add(add(velocity, carried), cross(turns[side], velocity)));
                    let change = scale(-stiffness, by);
                    for (other, path) in paths.iter().enumerate() {
                        let mut wrench = at_point(points[other], signed(other, change));
                        if other == side {
                            wrench.moment = add(wrench.moment, cross(velocity, own));
                        }
                        for row in path {
                            to.x[plan.paths.entry(column.dof, row.place)] += Twist::read(screws, row.screw).dot(wrench);
                        }
                    }
                    let turned = screw.cross_wrench(on);
                    for row in &paths[side][column.after..] {
                        to.x[plan.paths.entry(column.dof, row.place)] -= Twist::read(screws, row.screw).dot(turned);
                    }
                }
            }
        }
    }
}
