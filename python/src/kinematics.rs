//! Where bodies and sites are and how they move, and inverse kinematics.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::unknown;
use fingertip::kinematics::ik::{InverseKinematics, Reached as Of, Target};
use fingertip::kinematics::{Kinematics, SCREW, Tree};
use fingertip::math::tensor::{index, numbers};
use pyo3::prelude::*;

use crate::arrays::{Array, Lazy, Numbers, Worlds, array, count, or_none};
use crate::error::{Error, detached};
use crate::model::Model;

type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Makes the frames with these names: those of bodies, or of sites.
pub type Frames = fn(&Tree, &[&str], DType, &Device) -> Result<Kinematics>;

/// Positions (B, n, 3) and rotations (B, n, 3, 3) of frames at q (B, nq).
fn poses(kinematics: &Kinematics, q: &Tensor) -> Result<[Tensor; 2]> {
    let poses = kinematics.at(q)?.poses;
    let (b, n, _) = poses.dims3()?;
    let columns = poses.narrow(2, 3, 9)?.reshape((b, n, 3, 3))?;
    Ok([poses.narrow(2, 0, 3)?, columns.transpose(2, 3)?])
}

/// The velocity of a frame's point in world axes and the frame's angular velocity by the velocity in tangent
/// coordinates (B, 6, nv).
fn jacobian(tree: &Tree, kinematics: &Kinematics, (name, point): (&str, [f64; 3]), q: &Tensor) -> Result<Tensor> {
    let frames = kinematics.at(q)?;
    let of_point = kinematics.point_jacobian(&frames, 0, point)?;
    let body = tree.body(name).map_or_else(|| tree.site(name).map(|site| site.body), Ok)?;
    let path = tree.path(body);
    let rows = Tensor::zeros((q.dim(0)?, tree.nv, 3), DType::F64, &Device::Cpu)?;
    let turn = if path.is_empty() {
        rows
    } else {
        let dofs = index(path.iter().map(|&screw| tree.screw_dof[screw]), &Device::Cpu)?;
        let screws = frames.screws.contiguous()?.reshape((q.dim(0)?, (), SCREW))?;
        let screws = screws.index_select(&index(path.into_iter(), &Device::Cpu)?, 1)?;
        rows.index_add(&dofs, &screws.narrow(2, 0, 3)?.contiguous()?, 1)?
    };
    Tensor::cat(&[&of_point, &turn.transpose(1, 2)?], 1)
}

/// The gradient by q (B, nq) of a cost whose gradients by what is made of q are given; none of them is 0.
fn pulled(
    q: &[f64],
    worlds: usize,
    bars: &[&[f64]],
    made: impl FnOnce(&Tensor) -> Result<Vec<Tensor>>,
) -> Result<Vec<f64>> {
    let q = Var::from_slice(q, (worlds, q.len() / worlds), &Device::Cpu)?;
    let mut cost = Tensor::zeros((), DType::F64, &Device::Cpu)?;
    for (of, bar) in made(&q)?.iter().zip(bars).filter(|(_, bar)| !bar.is_empty()) {
        cost = (cost + (of * Tensor::from_slice(bar, of.dims(), &Device::Cpu)?)?.sum_all()?)?;
    }
    let gradients = cost.backward()?;
    gradients.get(&q).map_or_else(|| Ok(vec![0.0; q.elem_count()]), numbers)
}

/// Positions (B, n, 3) and rotations (B, n, 3, 3) of frames with these names at q (B, nq).
pub fn places<'py>(
    q: &Bound<'py, PyAny>,
    tree: &Tree,
    (names, frames): (&[&str], Frames),
) -> PyResult<(Array<'py>, Array<'py>)> {
    let py = q.py();
    let (q, worlds) = Numbers::rows("q", q, tree.nq)?;
    let (q, n) = (q.as_slice(), names.len());
    let [positions, rotations] = detached(py, || {
        if names.is_empty() {
            return Ok([Vec::new(), Vec::new()]);
        }
        let kinematics = frames(tree, names, DType::F64, &Device::Cpu)?;
        let [positions, rotations] =
            poses(&kinematics, &Tensor::from_slice(q, (worlds.count(), tree.nq), &Device::Cpu)?)?;
        Result::Ok([numbers(&positions)?, numbers(&rotations)?])
    })?;
    Ok((array(py, &positions, &worlds.shape(&[n, 3]))?, array(py, &rotations, &worlds.shape(&[n, 3, 3]))?))
}

/// The gradient by q (B, nq) of a cost whose gradients by the results of [`places`] are given.
pub fn places_vjp<'py>(
    q: &Bound<'py, PyAny>,
    tree: &Tree,
    (names, frames): (&[&str], Frames),
    [position_bar, rotation_bar]: [Given<'_, 'py>; 2],
) -> PyResult<Array<'py>> {
    let py = q.py();
    let (q, worlds) = Numbers::rows("q", q, tree.nq)?;
    let position_bar = Numbers::maybe("position_bar", position_bar, worlds, &[names.len(), 3])?;
    let rotation_bar = Numbers::maybe("rotation_bar", rotation_bar, worlds, &[names.len(), 3, 3])?;
    let (q, bars) = (q.as_slice(), [or_none(&position_bar), or_none(&rotation_bar)]);
    let by_q = detached(py, || {
        if names.is_empty() {
            return Ok(vec![0.0; q.len()]);
        }
        let kinematics = frames(tree, names, DType::F64, &Device::Cpu)?;
        pulled(q, worlds.count(), &bars, |q| Ok(poses(&kinematics, q)?.into()))
    })?;
    array(py, &by_q, &worlds.shape(&[tree.nq]))
}

/// A frame of one body or, where no body has its name, of a site.
fn frame(tree: &Tree, name: &str) -> PyResult<Frames> {
    if tree.body(name).is_some() {
        return Ok(Kinematics::of_bodies);
    }
    let sites = tree.sites.iter().map(|site| site.name.as_str());
    if sites.clone().any(|site| site == name) {
        return Ok(Kinematics::of_sites);
    }
    Err(Error::new_err(unknown(
        "body or site",
        name,
        tree.bodies.iter().skip(1).map(|body| body.name.as_str()).chain(sites),
    )))
}

/// The Jacobian (B, 6, nv) of a body's or a site's point at q (B, nq); or, for a cost whose gradient by it is `bar`,
/// the gradient by q.
pub fn moves<'py>(
    q: &Bound<'py, PyAny>,
    tree: &Tree,
    (name, point): (&str, Given<'_, 'py>),
    bar: Given<'_, 'py>,
) -> PyResult<Array<'py>> {
    let py = q.py();
    let frames = frame(tree, name)?;
    let (q, worlds) = Numbers::rows("q", q, tree.nq)?;
    let point = point.map_or(Ok([0.0; 3]), |point| Numbers::triple("point", point))?;
    let axes = [6, tree.nv];
    let bar = Numbers::maybe("bar", bar, worlds, &axes)?;
    let (q, bars) = (q.as_slice(), bar.as_ref().map(|bar| [bar.as_slice()]));
    let made = detached(py, || {
        let kinematics = frames(tree, &[name], DType::F64, &Device::Cpu)?;
        let of = |q: &Tensor| jacobian(tree, &kinematics, (name, point), q);
        match &bars {
            Some(bars) => pulled(q, worlds.count(), bars, |q| Ok(vec![of(q)?])),
            None => numbers(&of(&Tensor::from_slice(q, (worlds.count(), tree.nq), &Device::Cpu)?)?),
        }
    })?;
    let axes = if bars.is_some() { vec![tree.nq] } else { axes.to_vec() };
    array(py, &made, &worlds.shape(&axes))
}

/// Result of a search for joint positions.
#[pyclass(frozen, module = "fingertip")]
pub struct Reached {
    of: Of,
    made: [Lazy; 2],
}

#[pymethods]
impl Reached {
    /// The configuration (nq,): commanded joints within their limits, all else unchanged.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[0].get(py, &self.of.q, &[self.of.q.len()])
    }

    /// Distances that remain between each target's point and its goal (n,), m.
    #[getter]
    fn distances<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[1].get(py, &self.of.distances, &[self.of.distances.len()])
    }

    /// Is every distance within the tolerance? If not, the goals are out of reach, or another start may help.
    #[getter]
    fn converged(&self) -> bool {
        self.of.converged
    }

    /// The number of steps tried.
    #[getter]
    fn iterations(&self) -> usize {
        self.of.iterations
    }
}

/// Searches from q (nq,) for positions of the commanded joints that bring points to their goals, all at once. A target
/// is (body, point, goal): `"hand/tip"`, (3,) in the body's frame, (3,) in the world, m. `tolerance` is in m, `damping`
/// in m². The search is local.
#[pyfunction]
#[pyo3(signature = (model, q, targets, *, tolerance=1e-6, damping=1e-4, max_iterations=200))]
pub fn inverse_kinematics(
    py: Python,
    model: &Bound<Model>,
    q: &Bound<PyAny>,
    targets: Vec<(String, Bound<PyAny>, Bound<PyAny>)>,
    tolerance: f64,
    damping: f64,
    max_iterations: i64,
) -> PyResult<Reached> {
    let max_iterations = count("max_iterations", max_iterations)?;
    let tree = &model.get().of.tree;
    let q = Numbers::like("q", q, Worlds::One, &[tree.nq])?;
    let target = |(body, point, goal): (String, _, _)| {
        let (at, to) = (format!("point of \"{body}\""), format!("goal of \"{body}\""));
        Ok(Target::new(body, Numbers::triple(&at, &point)?, Numbers::triple(&to, &goal)?))
    };
    let targets = targets.into_iter().map(target).collect::<PyResult<Vec<_>>>()?;
    let q = q.as_slice();
    let search = InverseKinematics { tolerance, damping, max_iterations };
    let of = detached(py, || search.solve(tree, q, &targets))?;
    Ok(Reached { of, made: Default::default() })
}
