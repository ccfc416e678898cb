//! Inverse kinematics.

use fingertip::kinematics::ik::{InverseKinematics, Reached as Of, Target};
use pyo3::prelude::*;

use crate::arrays::{Array, Lazy, Numbers, Worlds, count};
use crate::error::detached;
use crate::model::Model;

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

/// Searches from q (nq,) for positions of the commanded joints that bring points to their goals, all at once. A target is
/// (body, point, goal): `"hand/tip"`, (3,) in the body's frame, (3,) in the world, m. `tolerance` is in m, `damping` in
/// m². The search is local.
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
