//! The step's problem from the tree's tables, by textbook kinematics with nalgebra: no code in common with the library
//! but the tables and the witness points, which have tests of their own.

#[path = "../../crates/cli/src/audit/rolling.rs"]
mod rolling;

use fingertip::Model;
use fingertip::description::JointKind;
use fingertip::kinematics::{Body, Coordinate};
use nalgebra::{DMatrix, DVector, Matrix3, Quaternion, Rotation3, UnitQuaternion, Vector3};
use rolling::{Curved, Hanging, Rolling};

/// A world's numbers: q, u, and the parameters by name.
pub struct World<'a> {
    pub q: &'a [f64],
    pub u: &'a [f64],
    /// A field of `Parameters` in this world.
    pub parameter: &'a dyn Fn(&str) -> Vec<f64>,
}

/// What the step reports of a contact.
pub struct Witness {
    /// Normal, point on A, point on B.
    pub geometry: [f64; 9],
    pub phi: f64,
    /// Of its barrier, in all.
    pub weight: f64,
}

/// One contact of the problem.
#[derive(Clone, Debug)]
pub struct Contact {
    pub normal: Vector3<f64>,
    pub point_a: Vector3<f64>,
    pub point_b: Vector3<f64>,
    pub phi: f64,
    pub mu: f64,
    /// Displacement of B against A per degree of freedom (3, nv), world axes.
    pub jacobian: DMatrix<f64>,
    /// The lengths that its columns are the differences of, those from the world's origin to points and axes, per
    /// degree of freedom: what they round by.
    pub levers: DVector<f64>,
    /// Its part of the barrier: its weight.
    pub part: f64,
    /// Torsional friction, m; 0 if it does not resist turning.
    pub gamma: f64,
    /// Turn of B against A about the normal per degree of freedom, and whether the step gives a torque of it.
    pub turn: DVector<f64>,
    pub turns: bool,
}

/// minimise ½ δᵀPδ + gᵀδ with contacts.
#[derive(Clone, Debug)]
pub struct Problem {
    pub p: DMatrix<f64>,
    pub g: DVector<f64>,
    pub contacts: Vec<Contact>,
    /// Gap and slope of each joint limit: (gap, degree of freedom, sign).
    pub limits: Vec<(f64, usize, f64)>,
    /// Degrees of freedom with dry friction, and its largest force in each.
    pub dry: Vec<(usize, f64)>,
    /// The largest force of each table, and how its body's centre of mass moves along x and y and turns, the latter
    /// times the table's radius (3 × nv).
    pub tables: Vec<(f64, DMatrix<f64>)>,
    pub kappa: f64,
    /// How much stiffer friction is than normal forces, by Coulomb's law.
    pub impratio: f64,
}

/// Unit velocity of a degree of freedom: the point x moves by ω × (x − o) + t.
struct Rate {
    dof: usize,
    omega: Vector3<f64>,
    o: Vector3<f64>,
    t: Vector3<f64>,
}

struct Poses(Vec<(Matrix3<f64>, Vector3<f64>)>);

fn quaternion(q: &[f64]) -> UnitQuaternion<f64> {
    UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]))
}

/// Pose of a body's joint frame before the joint moves.
fn joint_frame(body: &Body, poses: &Poses) -> (Matrix3<f64>, Vector3<f64>) {
    let (rotation, position) = &poses.0[body.parent];
    (rotation * body.rotation, position + rotation * body.xyz)
}

fn poses(model: &Model, q: &[f64]) -> Poses {
    let mut poses = Poses(vec![(Matrix3::identity(), Vector3::zeros())]);
    for body in &model.tree.bodies[1..] {
        let (rotation, position) = joint_frame(body, &poses);
        let at = |k: usize| body.ratio * q[body.q + k] + body.shift;
        let (turn, shift) = match body.kind {
            JointKind::Fixed => (Matrix3::identity(), Vector3::zeros()),
            JointKind::Revolute | JointKind::Continuous => {
                (Rotation3::new(body.axis * at(0)).into_inner(), Vector3::zeros())
            }
            JointKind::Prismatic => (Matrix3::identity(), body.axis * at(0)),
            JointKind::Planar => {
                assert_eq!(body.axis, Vector3::z());
                (Rotation3::new(body.axis * at(2)).into_inner(), Vector3::new(at(0), at(1), 0.0))
            }
            // Along the parent's axes.
            JointKind::Translation => (Matrix3::identity(), body.rotation.tr_mul(&Vector3::new(at(0), at(1), at(2)))),
            JointKind::Spherical => {
                (quaternion(&q[body.q..body.q + 4]).to_rotation_matrix().into_inner(), Vector3::zeros())
            }
            JointKind::Floating => {
                let turn = quaternion(&q[body.q + 3..body.q + 7]).to_rotation_matrix().into_inner();
                (turn, Vector3::new(at(0), at(1), at(2)))
            }
        };
        poses.0.push((rotation * turn, position + rotation * shift));
    }
    poses
}

/// How a body moves, joint by joint from the root.
fn rates(model: &Model, poses: &Poses, body: usize) -> Vec<Rate> {
    let tree = &model.tree;
    let mut rates = Vec::new();
    let mut at = body;
    while at != 0 {
        let joint = &tree.bodies[at];
        let (rotation, o) = joint_frame(joint, poses);
        let position = poses.0[at].1;
        let axis = rotation * joint.axis * joint.ratio;
        let basis = |k: usize| rotation.column(k).into_owned();
        let zero = Vector3::zeros();
        let mut push = |k: usize, omega, o, t| {
            rates.push(Rate { dof: tree.screw_dof[joint.screw + k], omega, o, t });
        };
        match joint.kind {
            JointKind::Fixed => {}
            JointKind::Revolute | JointKind::Continuous => push(0, axis, o, zero),
            JointKind::Prismatic => push(0, zero, zero, axis),
            JointKind::Planar => {
                push(0, zero, zero, basis(0));
                push(1, zero, zero, basis(1));
                push(2, basis(2), position, zero);
            }
            JointKind::Translation => {
                let parent = &poses.0[joint.parent].0;
                (0..3).for_each(|k| push(k, zero, zero, parent.column(k).into_owned()));
            }
            JointKind::Spherical => (0..3).for_each(|k| push(k, basis(k), position, zero)),
            JointKind::Floating => {
                (0..3).for_each(|k| push(k, zero, zero, basis(k)));
                (0..3).for_each(|k| push(3 + k, basis(k), position, zero));
            }
        }
        at = joint.parent;
    }
    rates
}

/// The lengths that velocities of the material point `x` are the differences of (nv), see [`Contact::levers`].
fn levers(model: &Model, poses: &Poses, body: usize, x: &Vector3<f64>) -> DVector<f64> {
    let mut levers = DVector::zeros(model.nv());
    for Rate { dof, omega, o, t } in rates(model, poses, body) {
        levers[dof] += omega.norm() * (x.norm() + o.norm()) + t.norm();
    }
    levers
}

/// Velocity (3, nv) of the material point `x` of a body, and its angular velocity (3, nv).
fn jacobians(model: &Model, poses: &Poses, body: usize, x: &Vector3<f64>) -> (DMatrix<f64>, DMatrix<f64>) {
    let mut linear = DMatrix::zeros(3, model.nv());
    let mut angular = DMatrix::zeros(3, model.nv());
    for Rate { dof, omega, o, t } in rates(model, poses, body) {
        let mut column = linear.column_mut(dof);
        column += omega.cross(&(x - o)) + t;
        let mut column = angular.column_mut(dof);
        column += omega;
    }
    (linear, angular)
}

/// The number of coordinates that add.
fn plain(c: &Coordinate) -> usize {
    c.kind.quaternion().unwrap_or(c.kind.nv())
}

/// q ⊕ δ with nalgebra's exponential.
pub fn integrate(model: &Model, q: &[f64], delta: &[f64]) -> Vec<f64> {
    let mut next = q.to_vec();
    for c in &model.tree.coordinates {
        (0..plain(c)).for_each(|k| next[c.q + k] += delta[c.v + k]);
        if let Some(at) = c.kind.quaternion() {
            let omega = Vector3::from_column_slice(&delta[c.v + at..c.v + at + 3]);
            let (from, to) = (c.q + at, c.q + at + 4);
            let turned = UnitQuaternion::from_scaled_axis(omega) * quaternion(&q[from..to]);
            next[from..to].copy_from_slice(&[turned.w, turned.i, turned.j, turned.k]);
        }
    }
    next
}

/// Columns of 2 N = [−vᵀ; w 1 − [v]×] at a quaternion: d(ω) = 4 Nᵀ d(quaternion).
fn two_n(q: &[f64]) -> [[f64; 4]; 3] {
    let [w, x, y, z] = [q[0], q[1], q[2], q[3]];
    [[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]]
}

/// Weights of a tangent at q as weights of q's numbers.
pub fn from_tangent(model: &Model, q: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut numbers = vec![0.0; model.nq()];
    for c in &model.tree.coordinates {
        (0..plain(c)).for_each(|k| numbers[c.q + k] = weights[c.v + k]);
        if let Some(at) = c.kind.quaternion() {
            for (k, column) in two_n(&q[c.q + at..]).iter().enumerate() {
                (0..4).for_each(|l| numbers[c.q + at + l] += 2.0 * column[l] * weights[c.v + at + k]);
            }
        }
    }
    numbers
}

/// A gradient with respect to q's numbers as one along the tangent at q: ω̄ = Nᵀ ḡ.
pub fn to_tangent(model: &Model, q: &[f64], gradient: &[f64]) -> Vec<f64> {
    let mut tangent = vec![0.0; model.nv()];
    for c in &model.tree.coordinates {
        (0..plain(c)).for_each(|k| tangent[c.v + k] = gradient[c.q + k]);
        if let Some(at) = c.kind.quaternion() {
            for (k, column) in two_n(&q[c.q + at..]).iter().enumerate() {
                tangent[c.v + at + k] = 0.5 * (0..4).map(|l| column[l] * gradient[c.q + at + l]).sum::<f64>();
            }
        }
    }
    tangent
}

/// The tangent from q ⊕ δ to (q ⊕ `moved`) ⊕ δ', to full precision though all three are small against q.
pub fn tangent(model: &Model, moved: &[f64], delta_moved: &[f64], delta: &[f64]) -> Vec<f64> {
    let mut tangent: Vec<f64> = (0..model.nv()).map(|k| moved[k] + (delta_moved[k] - delta[k])).collect();
    for first in model.tree.coordinates.iter().filter_map(|c| Some(c.v + c.kind.quaternion()?)) {
        let turn = |of: &[f64], sign: f64| {
            UnitQuaternion::from_scaled_axis(Vector3::from_column_slice(&of[first..first + 3]) * sign)
        };
        let turned = turn(delta_moved, 1.0) * turn(moved, 1.0) * turn(delta, -1.0);
        let sine = turned.imag().norm();
        let factor = if sine < 1e-8 { 2.0 } else { 2.0 * sine.atan2(turned.w) / sine };
        (0..3).for_each(|k| tangent[first + k] = factor * turned.imag()[k]);
    }
    tangent
}

/// The degrees of freedom that no command pulls, alone or with others.
pub fn unpulled(model: &Model) -> Vec<usize> {
    let tree = &model.tree;
    let pulls =
        |c: &Coordinate, dof: usize| c.v == dof || c.others.iter().any(|&(other, _)| tree.coordinates[other].v == dof);
    let commands = || tree.coordinates.iter().filter(|c| c.u.is_some());
    (0..tree.nv).filter(|&dof| !commands().any(|c| pulls(c, dof))).collect()
}

/// A body's inertia, of the six numbers of each.
fn symmetric(six: &[f64], body: usize) -> Matrix3<f64> {
    let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|k| six[6 * body + k]);
    Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
}

/// What rolling on a contact adds to P.
fn rolling(model: &Model, world: &World, poses: &Poses, contact: usize, w: &Witness) -> DMatrix<f64> {
    let (tree, parameter) = (&model.tree, world.parameter);
    let mut more = DMatrix::zeros(model.nv(), model.nv());
    let pair = &model.pairs.pairs[model.pairs.pair_of_contact[contact]];
    let turn = |index: usize| {
        let shape = &model.shapes[index];
        poses.0[shape.body].0 * Matrix3::from_fn(|i, j| shape.rotation[i][j])
    };
    let all = parameter("sizes");
    let sizes = |index: usize| &all[4 * index..4 * (index + 1)];
    for (index, other, sign, point) in [(pair.a, pair.b, 1.0, 3), (pair.b, pair.a, -1.0, 6)] {
        let (shape, on) = (&model.shapes[index], &model.shapes[other]);
        let Some(n) = model.inertial.iter().position(|&body| body == shape.body) else { continue };
        let on = tree.path(on.body).is_empty().then(|| (&on.shape, turn(other), sizes(other)));
        let curved = Curved::of((&shape.shape, turn(index), sizes(index)), on);
        let Some(curved) = curved.filter(|_| model.params.rolling) else { continue };
        let (rotation, position) = &poses.0[shape.body];
        let at = |k: usize| Vector3::from_column_slice(&w.geometry[k..k + 3]);
        let contact = Rolling {
            normal: sign * at(0),
            point: at(point),
            phi: w.phi,
            weight: w.weight,
            centre: position + rotation * tree.bodies[shape.body].inertia.as_ref().unwrap().com,
            curved,
            load: parameter("mass")[n] * Vector3::from_vec(parameter("gravity")).norm(),
            inertia: symmetric(&parameter("inertia"), n),
        };
        let mut turns = jacobians(model, poses, shape.body, &contact.centre).1;
        let free = unpulled(model);
        (0..model.nv()).filter(|dof| !free.contains(dof)).for_each(|dof| turns.column_mut(dof).fill(0.0));
        let factor = parameter("epsilon")[0] / parameter("h")[0].powi(2);
        more += turns.transpose() * contact.stiffness(model.params.friction, parameter("kappa")[0], factor) * &turns;
    }
    more
}

/// What hanging from the contacts adds to P.
fn hanging(model: &Model, world: &World, poses: &Poses, witnesses: &[Witness]) -> DMatrix<f64> {
    let (tree, parameter) = (&model.tree, world.parameter);
    let mut more = DMatrix::zeros(model.nv(), model.nv());
    let factor = parameter("epsilon")[0] / parameter("h")[0].powi(2);
    for (n, &body) in model.inertial.iter().enumerate().filter(|&(_, &body)| Hanging::is_one(model, body)) {
        let (rotation, position) = &poses.0[body];
        let of_body = |(i, w): (usize, &Witness)| {
            let pair = &model.pairs.pairs[model.pairs.pair_of_contact[i]];
            let at = |k: usize| Vector3::from_column_slice(&w.geometry[k..k + 3]);
            let side = [pair.a, pair.b].iter().position(|&shape| model.shapes[shape].body == body)?;
            let (sign, point) = [(1.0, 3), (-1.0, 6)][side];
            Some((at(0) * sign, at(point), w.phi, w.weight))
        };
        let hanging = Hanging {
            centre: position + rotation * tree.bodies[body].inertia.as_ref().unwrap().com,
            mass: parameter("mass")[n],
            gravity: Vector3::from_vec(parameter("gravity")),
            inertia: symmetric(&parameter("inertia"), n),
            contacts: witnesses.iter().enumerate().filter_map(of_body).collect(),
        };
        let turns = jacobians(model, poses, body, &hanging.centre).1;
        let stiffness = hanging.stiffness(model.params.friction, parameter("kappa")[0], factor);
        more += turns.transpose() * stiffness * &turns;
    }
    more
}

impl Problem {
    /// The problem of one world, given its contacts as the step reports them.
    pub fn new(model: &Model, world: &World, witnesses: &[Witness]) -> Self {
        let tree = &model.tree;
        let parameter = world.parameter;
        let poses = poses(model, world.q);
        let nv = model.nv();
        let unpulled = unpulled(model);
        let free: Vec<bool> = (0..nv).map(|dof| unpulled.contains(&dof)).collect();
        let mut p = DMatrix::zeros(nv, nv);
        let mut force = DVector::from_vec(parameter("tau"));
        let factor = parameter("epsilon")[0] / parameter("h")[0].powi(2);
        let gravity = Vector3::from_vec(parameter("gravity"));
        let (masses, inertias) = (parameter("mass"), parameter("inertia"));
        for (n, &body) in model.inertial.iter().enumerate() {
            let (rotation, position) = &poses.0[body];
            let com = tree.bodies[body].inertia.as_ref().unwrap().com;
            let (mut linear, mut angular) = jacobians(model, &poses, body, &(position + rotation * com));
            for dof in (0..nv).filter(|&dof| !free[dof]) {
                linear.column_mut(dof).fill(0.0);
                angular.column_mut(dof).fill(0.0);
            }
            let turned = rotation * symmetric(&inertias, n) * rotation.transpose();
            p += (linear.transpose() * &linear * masses[n] + angular.transpose() * turned * &angular) * factor;
            force += linear.transpose() * (gravity * masses[n]);
        }
        for (i, w) in witnesses.iter().enumerate() {
            p += rolling(model, world, &poses, i, w);
        }
        p += hanging(model, world, &poses, witnesses);
        let stiffness = parameter("stiffness");
        for c in tree.coordinates.iter() {
            if let Some(k) = c.u {
                // The length that u commands, by q.
                let mut by = DVector::zeros(nv);
                by[c.v] = 1.0;
                let mut short = world.u[k] - world.q[c.q];
                for &(other, ratio) in &c.others {
                    by[tree.coordinates[other].v] += ratio;
                    short -= ratio * world.q[tree.coordinates[other].q];
                }
                p += &by * by.transpose() * stiffness[k];
                let bound = model.params.bounded_effort(c.effort);
                force += by * (stiffness[k] * short).clamp(-bound, bound);
            }
        }
        for (k, c) in tree.sprung().enumerate() {
            p[(c.v, c.v)] += parameter("spring")[k];
            force[c.v] += parameter("spring")[k] * (parameter("spring_rest")[k] - world.q[c.q]);
        }
        let acts = |c: &Coordinate| tree.is_resisted(c, model.params.joint_damping);
        for (k, c) in tree.damped().enumerate().filter(|(_, c)| acts(c)) {
            c.dofs().for_each(|dof| p[(dof, dof)] += parameter("damping")[k] / parameter("h")[0]);
        }
        for (k, c) in tree.armoured().enumerate().filter(|(_, c)| acts(c)) {
            c.dofs().for_each(|dof| p[(dof, dof)] += parameter("armature")[k] * factor);
        }
        for (k, connection) in tree.connections.iter().enumerate() {
            let [a, b] = [0, 1].map(|side| {
                let (body, point) = (connection.bodies[side], Vector3::from(connection.points[side]));
                let (rotation, position) = &poses.0[body];
                let point = position + rotation * point;
                (point, jacobians(model, &poses, body, &point).0)
            });
            let (apart, jacobian) = (b.0 - a.0, b.1 - a.1);
            p += jacobian.transpose() * &jacobian * parameter("connection")[k];
            force -= jacobian.transpose() * apart * parameter("connection")[k];
        }
        let (mu, torsion) = (parameter("mu"), parameter("torsion"));
        let turning: Vec<usize> = model.pairs.torsional_pairs().collect();
        let contacts: Vec<Contact> = witnesses
            .iter()
            .enumerate()
            .map(|(i, w)| {
                let pair = model.pairs.pair_of_contact[i];
                let at = |k: usize| Vector3::from_column_slice(&w.geometry[k..k + 3]);
                let (point_a, point_b) = (at(3), at(6));
                let body = |shape: usize| model.shapes[shape].body;
                let (a, b) = (body(model.pairs.pairs[pair].a), body(model.pairs.pairs[pair].b));
                let [of_b, of_a] = [(b, point_b), (a, point_a)].map(|(body, p)| jacobians(model, &poses, body, &p));
                let jacobian = of_b.0 - of_a.0;
                let turn = at(0).transpose() * (of_b.1 - of_a.1);
                let (turn, turns) = (turn.transpose(), turning.contains(&pair));
                let levers = levers(model, &poses, b, &point_b) + levers(model, &poses, a, &point_a);
                let gamma = turning.iter().position(|&other| other == pair).map_or(0.0, |k| torsion[k]);
                let (phi, mu, part) = (w.phi, mu[pair], w.weight);
                Contact { normal: at(0), point_a, point_b, phi, mu, jacobian, levers, part, gamma, turn, turns }
            })
            .collect();
        let limited = tree.coordinates.iter().filter(|_| model.params.joint_limits);
        let limits = limited
            .filter_map(|c| c.limits.map(|l| (c, l)))
            .flat_map(|(c, l)| [(world.q[c.q] - l.lower, c.v, 1.0), (l.upper - world.q[c.q], c.v, -1.0)])
            .collect();
        let rough = tree.coordinates.iter().filter(|c| c.friction > 0.0).zip(parameter("dry_friction"));
        let acts = |(c, _): &(&Coordinate, f64)| tree.is_resisted(c, model.params.joint_friction);
        let dry = rough.filter(acts).flat_map(|(c, most)| c.dofs().map(move |dof| (dof, most))).collect();
        let (friction, radius) = (parameter("table_friction"), parameter("table_radius"));
        let supported = tree.coordinates.iter().filter(|c| c.table.is_some()).zip(friction.iter().zip(&radius));
        let tables = supported.map(|(c, (friction, radius))| {
            let n = model.inertial.iter().position(|&body| body == c.body).unwrap();
            let (rotation, position) = &poses.0[c.body];
            let com = position + rotation * tree.bodies[c.body].inertia.as_ref().unwrap().com;
            let (linear, angular) = jacobians(model, &poses, c.body, &com);
            let rows = [linear.row(0).into_owned(), linear.row(1).into_owned(), angular.row(2) * *radius];
            (friction * masses[n] * gravity.z.abs(), DMatrix::from_rows(&rows))
        });
        let tables = tables.collect();
        let (kappa, impratio) = (parameter("kappa")[0], model.params.impratio);
        Self { p, g: -force, contacts, limits, dry, tables, kappa, impratio }
    }

    /// The torque of each contact of the problem, 0 of those that do not resist turning, given the step's torques.
    pub fn torques(&self, torque: &[f64]) -> Vec<f64> {
        let mut torque = torque.iter();
        self.contacts.iter().map(|c| if c.turns { *torque.next().unwrap() } else { 0.0 }).collect()
    }

    /// ν = J δ + φ n of a contact.
    pub fn slack(&self, i: usize, delta: &DVector<f64>) -> (f64, Vector3<f64>) {
        let c = &self.contacts[i];
        let d: DVector<f64> = &c.jacobian * delta;
        let d = Vector3::new(d[0], d[1], d[2]);
        let along = c.normal.dot(&d);
        (along + c.phi, d - c.normal * along)
    }

    /// θ, the turn of B against A about the normal of a contact.
    pub fn turned(&self, i: usize, delta: &DVector<f64>) -> f64 {
        self.contacts[i].turn.dot(delta)
    }

    /// 2/(κ s), with s = ν_n² − μ²‖ν_t‖² − γ²θ².
    fn factor(&self, i: usize, delta: &DVector<f64>) -> f64 {
        let ((along, across), contact) = (self.slack(i, delta), &self.contacts[i]);
        let across = (contact.mu * across.norm()).hypot(contact.gamma * self.turned(i, delta));
        2.0 * contact.part / (self.kappa * (along - across) * (along + across))
    }

    /// λ = (2/(κ s)) (ν_n, −μ² ν_t) in world axes.
    pub fn force(&self, i: usize, delta: &DVector<f64>) -> Vector3<f64> {
        let ((along, across), Contact { normal, mu, .. }) = (self.slack(i, delta), &self.contacts[i]);
        (normal * along - across * (mu * mu)) * self.factor(i, delta)
    }

    /// ∇F(δ) = P δ + g − Σ Jᵀλ(δ) − Σ limits, and the sum of the absolute values of its terms, row by row.
    pub fn gradient(&self, delta: &DVector<f64>) -> (DVector<f64>, DVector<f64>) {
        let (pd, mut size) = (&self.p * delta, self.p.abs() * delta.abs() + self.g.abs());
        let mut gradient = pd + &self.g;
        for (i, c) in self.contacts.iter().enumerate() {
            let force = self.force(i, delta);
            gradient -= c.jacobian.transpose() * force;
            size += c.jacobian.transpose().abs() * force.abs();
            let torque = -c.gamma * c.gamma * self.turned(i, delta) * self.factor(i, delta);
            gradient -= &c.turn * torque;
            size += c.turn.abs() * torque.abs();
        }
        for &(gap, dof, sign) in &self.limits {
            let force = sign * 2.0 / (self.kappa * (gap + sign * delta[dof]));
            gradient[dof] -= force;
            size[dof] += force.abs();
        }
        for &(dof, most) in &self.dry {
            let a = self.kappa * most * delta[dof];
            let force = most * a / (1.0 + a.hypot(1.0));
            gradient[dof] += force;
            size[dof] += force.abs();
        }
        for (most, motion) in &self.tables {
            let b = motion * delta * (self.kappa * most);
            let force = motion.transpose() * &b * (most / (1.0 + b.norm().hypot(1.0)));
            gradient += &force;
            size += force.abs();
        }
        (gradient, size)
    }

    /// ½ δᵀPδ + gᵀδ.
    pub fn energy(&self, delta: &DVector<f64>) -> f64 {
        0.5 * delta.dot(&(&self.p * delta)) + self.g.dot(delta)
    }
}
