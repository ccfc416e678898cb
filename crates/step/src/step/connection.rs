//! Springs that hold two points of links together: what they put into P and g.
//!
//! A connection of stiffness k has the energy ½ k ‖r + J δ‖², with r = p_B − p_A between its points and J the
//! velocities of r at unit rates. It adds k JᵀJ to P and k Jᵀr to g: a Gauss–Newton step, repeated in every step of the
//! simulation. What moves both points as one body does not count.

use crate::kinematics::{POSE, Pose, SCREW, Tree};
use fingertip_lanes::lane::Real;
use fingertip_lanes::vector::{Vec3, add, add_vec3, cross, dot, scale, signed, sub, vec3_at};

/// Tables of a model's connections.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionTables {
    /// Offsets of the poses of the two points of each connection in the row of the kinematics' results, A first.
    ends: Vec<[usize; 2]>,
    /// The screws that move the two points against each other.
    movers: Vec<Mover>,
    /// (mover, mover, entry of P): products of velocities that add up to k JᵀJ.
    terms: Vec<(usize, usize, usize)>,
}

/// A screw that moves one end of a connection.
#[derive(Clone, Copy, Debug)]
struct Mover {
    connection: usize,
    /// 1 for B, 0 for A.
    side: usize,
    /// Offset of the screw in the row of the kinematics' results.
    screw: usize,
    dof: usize,
}

/// The screws of the two ends that do not move both, for each connection.
pub(super) fn paths(tree: &Tree) -> impl Iterator<Item = [Vec<usize>; 2]> {
    tree.connections.iter().map(|connection| {
        let [a, b] = connection.bodies.map(|body| tree.path(body));
        let both = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        [a[both..].to_vec(), b[both..].to_vec()]
    })
}

impl ConnectionTables {
    /// The tables of a forest, its points' frames being behind those of so many shapes and its screws at the offset
    /// `screws`. `entry` gives the place of an entry (i, j) of P.
    pub(super) fn new(
        tree: &Tree,
        n_shapes: usize,
        screws: usize,
        mut entry: impl FnMut(usize, usize) -> usize,
    ) -> Self {
        let (mut movers, mut terms) = (Vec::new(), Vec::new());
        for (connection, paths) in paths(tree).enumerate() {
            let first = movers.len();
            for (side, path) in paths.iter().enumerate() {
                let mover = |&screw: &usize| {
                    let dof = tree.screw_dof[screw];
                    Mover { connection, side, screw: screws + SCREW * screw, dof }
                };
                movers.extend(path.iter().map(mover));
            }
            let own = || movers.iter().enumerate().skip(first);
            for (l, left) in own() {
                for (r, right) in own().filter(|(_, right)| right.dof <= left.dof) {
                    terms.push((l, r, entry(left.dof, right.dof)));
                }
            }
        }
        let pose = |point: usize| POSE * (n_shapes + point);
        let ends = (0..tree.connections.len()).map(|k| [pose(2 * k), pose(2 * k + 1)]).collect();
        Self { ends, movers, terms }
    }

    /// The offsets of the poses of the two points of each connection in the row of the kinematics' results, A first.
    pub(super) fn ends(&self) -> &[[usize; 2]] {
        &self.ends
    }

    /// r = p_B − p_A.
    #[inline(always)]
    fn apart<R: Real>(&self, connection: usize, kin: &[R]) -> Vec3<R> {
        let [a, b] = self.ends[connection];
        sub(vec3_at(kin, b), vec3_at(kin, a))
    }

    /// The velocity that a mover gives r.
    #[inline(always)]
    fn velocity<R: Real>(&self, mover: &Mover, kin: &[R]) -> Vec3<R> {
        let point = Pose::read(&kin[self.ends[mover.connection][mover.side]..]).p;
        signed(mover.side, add(vec3_at(kin, mover.screw + 3), cross(vec3_at(kin, mover.screw), point)))
    }

    /// Hands the summands of k JᵀJ to `add`, with their entry of P and its degrees of freedom, the larger one first.
    #[inline(always)]
    pub(super) fn stiffen<R: Real>(&self, [kin, stiffness]: [&[R]; 2], mut add: impl FnMut(usize, [usize; 2], R)) {
        for &(l, r, entry) in &self.terms {
            let [left, right] = [&self.movers[l], &self.movers[r]];
            let product = dot(self.velocity(left, kin), self.velocity(right, kin));
            add(entry, [left.dof, right.dof], stiffness[left.connection] * product);
        }
    }

    /// Hands the summands of the generalised force −k Jᵀr to `add`, with their degrees of freedom.
    #[inline(always)]
    pub(super) fn vjp_together<R: Real>(&self, [kin, stiffness]: [&[R]; 2], mut add: impl FnMut(usize, R)) {
        for mover in &self.movers {
            let force = scale(-stiffness[mover.connection], self.apart(mover.connection, kin));
            add(mover.dof, dot(self.velocity(mover, kin), force));
        }
    }

    /// Adds to the gradients of the kinematics' results and the stiffnesses, from those of P and of the generalised
    /// force −k Jᵀr.
    #[inline(always)]
    pub(super) fn vjp<R: Real>(
        &self,
        [kin, stiffness]: [&[R]; 2],
        grad_p: &[R],
        grad_force: impl Fn(usize) -> R,
        [to_kin, to_stiffness]: [&mut [R]; 2],
    ) {
        for &(l, r, entry) in R::parts(&self.terms) {
            let [left, right] = [&self.movers[l], &self.movers[r]];
            let (v_l, v_r) = (self.velocity(left, kin), self.velocity(right, kin));
            let grad = grad_p[entry] * stiffness[left.connection];
            to_stiffness[left.connection] += grad_p[entry] * dot(v_l, v_r);
            self.vjp_velocity(left, scale(grad, v_r), kin, to_kin);
            self.vjp_velocity(right, scale(grad, v_l), kin, to_kin);
        }
        for mover in R::parts(&self.movers) {
            let (k, y) = (stiffness[mover.connection], grad_force(mover.dof));
            let (v, apart) = (self.velocity(mover, kin), self.apart(mover.connection, kin));
            to_stiffness[mover.connection] -= y * dot(v, apart);
            self.vjp_velocity(mover, scale(-(k * y), apart), kin, to_kin);
            let [a, b] = self.ends[mover.connection];
            add_vec3(to_kin, a, scale(k * y, v));
            add_vec3(to_kin, b, scale(-(k * y), v));
        }
    }

    /// The vector-Jacobian product of [`ConnectionTables::velocity`].
    #[inline(always)]
    fn vjp_velocity<R: Real>(&self, mover: &Mover, grad: Vec3<R>, kin: &[R], to_kin: &mut [R]) {
        let grad = signed(mover.side, grad);
        let at = self.ends[mover.connection][mover.side];
        add_vec3(to_kin, mover.screw + 3, grad);
        add_vec3(to_kin, mover.screw, cross(vec3_at(kin, at), grad));
        add_vec3(to_kin, at, cross(grad, vec3_at(kin, mover.screw)));
    }
}
