//! The balance of forces of a step without its contacts, recomputed in plain loops.

use candle_core::Result;
use fingertip::Model;
use fingertip::description::Shape;
use fingertip::kinematics::{Coordinate, POSE, SCREW};
use fingertip::step::Quasidynamic;
use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use super::rolling::{Curved, Hanging, Rolling};
use super::states::State;
use super::{numbers, vectors};

/// A contact's normal, points on A and B, φ and weight.
pub type Geometry = (Vector3<f64>, [Vector3<f64>; 2], f64, f64);

/// P, g, and the screws (ω, m) at a state.
#[derive(Clone)]
pub struct Balance {
    pub p: DMatrix<f64>,
    pub g: DVector<f64>,
    pub screws: Vec<(Vector3<f64>, Vector3<f64>)>,
    /// The poses of all frames, twelve numbers each.
    pub poses: Vec<f64>,
}

impl Balance {
    pub fn of(step: &Quasidynamic, state: &State) -> Result<Self> {
        let model = step.model();
        let (parameters, tree, passive) = (step.parameters(), &model.tree, model.tree.passive());
        let frames = model.kinematics.frames(&state.q, &parameters.offsets)?;
        let poses = numbers(&frames.poses)?;
        let screws = numbers(&frames.screws)?;
        let screws: Vec<_> = screws
            .chunks_exact(SCREW)
            .map(|s| (Vector3::new(s[0], s[1], s[2]), Vector3::new(s[3], s[4], s[5])))
            .collect();
        let (mass, six) = (numbers(&parameters.mass)?, numbers(&parameters.inertia)?);
        let gravity = vectors(&parameters.gravity)?[0];
        let (h, epsilon) = (numbers(&parameters.h)?[0], numbers(&parameters.epsilon)?[0]);
        let mut p = DMatrix::zeros(model.nv(), model.nv());
        let mut g = -DVector::from_vec(numbers(&parameters.tau)?);
        for (n, &body) in model.inertial.iter().enumerate() {
            let pose = &poses[POSE * (model.shapes.len() + 2 * tree.connections.len() + n)..];
            let at = Vector3::new(pose[0], pose[1], pose[2]);
            let rotation = Matrix3::from_column_slice(&pose[3..12]);
            let inertia = rotation * symmetric(&six, n) * rotation.transpose();
            let free = |screw: &usize| passive.contains(&tree.screw_dof[*screw]);
            let path: Vec<usize> = tree.path(body).into_iter().filter(free).collect();
            let velocity = |screw: usize| screws[screw].0.cross(&at) + screws[screw].1;
            for &i in &path {
                let (v_i, omega_i, dof_i) = (velocity(i), screws[i].0, tree.screw_dof[i]);
                g[dof_i] -= mass[n] * gravity.dot(&v_i);
                for &j in &path {
                    let entry = mass[n] * v_i.dot(&velocity(j)) + omega_i.dot(&(inertia * screws[j].0));
                    p[(dof_i, tree.screw_dof[j])] += epsilon / (h * h) * entry;
                }
            }
        }
        let (q, u, stiffness) = (numbers(&state.q)?, numbers(&state.u)?, numbers(&parameters.stiffness)?);
        for (coordinate, k) in tree.coordinates.iter().filter_map(|c| Some((c, c.u?))) {
            let others = coordinate.others.iter().map(|&(other, ratio)| (&tree.coordinates[other], ratio));
            let mut by = DVector::zeros(model.nv());
            let mut short = u[k];
            for (c, ratio) in std::iter::once((coordinate, 1.0)).chain(others) {
                by[c.v] += ratio;
                short -= ratio * q[c.q];
            }
            p += &by * by.transpose() * stiffness[k];
            let bound = model.params.bounded_effort(coordinate.effort);
            g -= by * (stiffness[k] * short).clamp(-bound, bound);
        }
        let (spring, rest) = (numbers(&parameters.spring)?, numbers(&parameters.spring_rest)?);
        for (k, c) in tree.sprung().enumerate() {
            p[(c.v, c.v)] += spring[k];
            g[c.v] -= spring[k] * (rest[k] - q[c.q]);
        }
        let acts = |c: &Coordinate| tree.is_resisted(c, model.params.joint_damping);
        let (damping, armature) = (numbers(&parameters.damping)?, numbers(&parameters.armature)?);
        for (k, c) in tree.damped().enumerate().filter(|(_, c)| acts(c)) {
            c.dofs().for_each(|dof| p[(dof, dof)] += damping[k] / h);
        }
        for (k, c) in tree.armoured().enumerate().filter(|(_, c)| acts(c)) {
            c.dofs().for_each(|dof| p[(dof, dof)] += armature[k] * epsilon / (h * h));
        }
        let stiffness = numbers(&parameters.connection)?;
        for (k, connection) in tree.connections.iter().enumerate() {
            let point = |side: usize| {
                let at = POSE * (model.shapes.len() + 2 * k + side);
                Vector3::new(poses[at], poses[at + 1], poses[at + 2])
            };
            let mut jacobian = DMatrix::zeros(3, model.nv());
            // What moves both points does not change how far they are apart.
            let paths = connection.bodies.map(|body| tree.path(body));
            let both = paths[0].iter().zip(&paths[1]).take_while(|(a, b)| a == b).count();
            for (side, sign) in [(0, -1.0), (1, 1.0)] {
                for &screw in &paths[side][both..] {
                    let velocity = screws[screw].0.cross(&point(side)) + screws[screw].1;
                    let mut column = jacobian.column_mut(tree.screw_dof[screw]);
                    column += velocity * sign;
                }
            }
            p += jacobian.transpose() * &jacobian * stiffness[k];
            g += jacobian.transpose() * (point(1) - point(0)) * stiffness[k];
        }
        Ok(Self { p, g, screws, poses })
    }

    /// The rolling stiffness that contact `i` adds to P. `geometry` is its normal, points on A and B, φ and weight.
    pub fn rolling(
        &self,
        step: &Quasidynamic,
        i: usize,
        (normal, points, phi, weight): Geometry,
    ) -> Result<DMatrix<f64>> {
        let (model, parameters) = (step.model(), step.parameters());
        let (tree, passive) = (&model.tree, model.tree.passive());
        let (mass, six) = (numbers(&parameters.mass)?, numbers(&parameters.inertia)?);
        let sizes = numbers(&parameters.sizes)?;
        let (gravity, kappa) = (vectors(&parameters.gravity)?[0].norm(), numbers(&parameters.kappa)?[0]);
        let factor = numbers(&parameters.epsilon)?[0] / numbers(&parameters.h)?[0].powi(2);
        let pose = |frame: usize| &self.poses[POSE * frame..POSE * (frame + 1)];
        let mut more = DMatrix::zeros(model.nv(), model.nv());
        let pair = &model.pairs.pairs[model.pairs.pair_of_contact[i]];
        let turn = |shape: usize| Matrix3::from_column_slice(&pose(shape)[3..]);
        let sizes = |shape: usize| &sizes[Shape::SIZES * shape..Shape::SIZES * (shape + 1)];
        for (index, other, point, normal) in [(pair.a, pair.b, points[0], normal), (pair.b, pair.a, points[1], -normal)]
        {
            let (shape, on) = (&model.shapes[index], &model.shapes[other]);
            let Some(n) = model.inertial.iter().position(|&body| body == shape.body) else { continue };
            let on = tree.path(on.body).is_empty().then(|| (&on.shape, turn(other), sizes(other)));
            let curved = Curved::of((&shape.shape, turn(index), sizes(index)), on);
            let Some(curved) = curved.filter(|_| model.params.rolling) else { continue };
            let (centre, load, inertia) = (self.centre(model, n), mass[n] * gravity, symmetric(&six, n));
            let contact = Rolling { normal, point, phi, weight, centre, curved, load, inertia };
            let stiffness = contact.stiffness(model.params.friction, kappa, factor);
            let free = |screw: &usize| passive.contains(&tree.screw_dof[*screw]);
            let path: Vec<usize> = tree.path(shape.body).into_iter().filter(free).collect();
            for &i in &path {
                for &j in &path {
                    let entry = self.screws[i].0.dot(&(stiffness * self.screws[j].0));
                    more[(tree.screw_dof[i], tree.screw_dof[j])] += entry;
                }
            }
        }
        Ok(more)
    }

    /// The centre of mass of an inertial body, whose frames come after those of shapes and connections.
    pub fn centre(&self, model: &Model, body: usize) -> Vector3<f64> {
        let frame = model.shapes.len() + 2 * model.tree.connections.len() + body;
        Vector3::from_column_slice(&self.poses[POSE * frame..POSE * frame + 3])
    }

    /// The stiffness of what hangs that is added to P. `contacts` are the normals, points on A and B, φ and weights of
    /// all contacts that have a weight, after their indices.
    pub fn hanging(&self, step: &Quasidynamic, contacts: &[(usize, Geometry)]) -> Result<DMatrix<f64>> {
        let (model, parameters) = (step.model(), step.parameters());
        let tree = &model.tree;
        let (mass, six) = (numbers(&parameters.mass)?, numbers(&parameters.inertia)?);
        let (gravity, kappa) = (vectors(&parameters.gravity)?[0], numbers(&parameters.kappa)?[0]);
        let factor = numbers(&parameters.epsilon)?[0] / numbers(&parameters.h)?[0].powi(2);
        let mut more = DMatrix::zeros(model.nv(), model.nv());
        for (n, &body) in model.inertial.iter().enumerate().filter(|&(_, &body)| Hanging::is_one(model, body)) {
            let of_body = |&(i, (normal, points, phi, weight)): &(usize, Geometry)| {
                let pair = &model.pairs.pairs[model.pairs.pair_of_contact[i]];
                let [on_a, on_b] = [pair.a, pair.b].map(|shape| model.shapes[shape].body == body);
                let side = on_a.then_some((normal, points[0]));
                side.or(on_b.then_some((-normal, points[1]))).map(|(normal, point)| (normal, point, phi, weight))
            };
            let hanging = Hanging {
                centre: self.centre(model, n),
                mass: mass[n],
                gravity,
                inertia: symmetric(&six, n),
                contacts: contacts.iter().filter_map(of_body).collect(),
            };
            let stiffness = hanging.stiffness(model.params.friction, kappa, factor);
            let path = tree.path(body);
            for &i in &path {
                for &j in &path {
                    let entry = self.screws[i].0.dot(&(stiffness * self.screws[j].0));
                    more[(tree.screw_dof[i], tree.screw_dof[j])] += entry;
                }
            }
        }
        Ok(more)
    }
}

/// A body's inertia, of the six numbers of each.
fn symmetric(six: &[f64], body: usize) -> Matrix3<f64> {
    let [xx, yy, zz, xy, xz, yz] = std::array::from_fn(|k| six[6 * body + k]);
    Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
}
