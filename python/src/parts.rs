//! A compiled scene as plain data, for those who make another simulator's model of it.

use fingertip::description::Shape;
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::model::Model;

/// Position and quaternion, w first.
type Pose = [f64; 7];

fn pose(rotation: &Matrix3<f64>, xyz: &Vector3<f64>) -> Pose {
    let turn = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(*rotation));
    let Isometry3 { translation, rotation: q } = Isometry3::from_parts(Translation3::from(*xyz), turn);
    [translation.x, translation.y, translation.z, q.w, q.i, q.j, q.k]
}

/// The kind of a shape and its sizes: half lengths, radii, or a hull's vertices one after the other, m.
fn sizes(shape: &Shape) -> (&'static str, Vec<f64>) {
    let sizes = match shape {
        Shape::Sphere { radius } => vec![*radius],
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => vec![*radius, *half_length],
        Shape::Box { half_extents, .. } => half_extents.to_vec(),
        Shape::Ellipsoid { radii } => radii.to_vec(),
        Shape::Hull(hull) => hull.vertices().iter().flatten().copied().collect(),
        Shape::Grid(grid) => grid.mesh().vertices.iter().flatten().copied().collect(),
        Shape::HalfSpace => Vec::new(),
    };
    (shape.name(), sizes)
}

/// The bodies, shapes, joints and pairs of a model, for `fingertip.mujoco`.
#[pyfunction]
pub fn _parts<'py>(py: Python<'py>, model: &Bound<'py, Model>) -> PyResult<Bound<'py, PyDict>> {
    let model = &model.get().of;
    let (tree, all) = (&model.tree, PyDict::new(py));
    let entry = |fill: &dyn Fn(&Bound<'py, PyDict>) -> PyResult<()>| {
        let made = PyDict::new(py);
        fill(&made).map(|()| made)
    };
    let body = |of: &fingertip::kinematics::Body| {
        entry(&|to| {
            to.set_item("name", &of.name)?;
            to.set_item("parent", of.parent)?;
            to.set_item("kind", format!("{:?}", of.kind))?;
            to.set_item("pose", pose(&of.rotation, &of.xyz))?;
            to.set_item("axis", <[f64; 3]>::from(of.axis))?;
            to.set_item("q", of.q)?;
            to.set_item("follows", (of.ratio, of.shift))?;
            let inertia =
                of.inertia.as_ref().map(|of| (of.mass, <[f64; 3]>::from(of.com), <[[f64; 3]; 3]>::from(of.matrix)));
            to.set_item("inertia", inertia)
        })
    };
    all.set_item("bodies", tree.bodies.iter().map(body).collect::<PyResult<Vec<_>>>()?)?;
    let shape = |of: &fingertip::contact::BodyShape| {
        let (kind, sizes) = sizes(&of.shape);
        let rows = Matrix3::from_fn(|i, j| of.rotation[i][j]);
        (of.body, kind, sizes, pose(&rows, &of.xyz.into()))
    };
    all.set_item("shapes", model.shapes.iter().map(shape).collect::<Vec<_>>())?;
    let joint = |of: &fingertip::kinematics::Coordinate| {
        entry(&|to| {
            to.set_item("name", &of.name)?;
            to.set_item("body", of.body)?;
            to.set_item("limits", of.limits.map(|limits| (limits.lower, limits.upper)))?;
            to.set_item("u", of.u)?;
            to.set_item("others", &of.others)?;
            to.set_item("spring", (of.spring.stiffness, of.spring.rest))?;
            to.set_item("damping", of.damping)?;
            to.set_item("armature", of.armature)?;
            to.set_item("effort", of.effort)?;
            to.set_item("table", of.table)
        })
    };
    all.set_item("joints", tree.coordinates.iter().map(joint).collect::<PyResult<Vec<_>>>()?)?;
    let pairs = &model.pairs;
    all.set_item("pairs", pairs.pairs.iter().map(|pair| (pair.a, pair.b)).collect::<Vec<_>>())?;
    all.set_item("torsional", pairs.torsional_pairs().collect::<Vec<_>>())?;
    Ok(all)
}
