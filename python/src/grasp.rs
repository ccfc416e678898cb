//! Grasps: closing a hand, the least effort that holds an object, and trials.

use candle_core::{Device, Tensor};
use fingertip::grasp::{Closed, Closing, Effort as EffortOf, Trial};
use nalgebra::DVector;
use pyo3::prelude::*;

use crate::arrays::{Array, Lazy, Numbers};
use crate::error::{Error, detached};
use crate::model::Model;

/// A hand that is closed on an object.
#[pyclass(frozen, module = "fingertip.grasp")]
pub struct Grasp {
    model: Py<Model>,
    of: Closed,
    q: Vec<f64>,
    made: [Lazy; 1],
}

/// Torques and forces that hold an object.
#[pyclass(frozen, module = "fingertip.grasp")]
pub struct Effort {
    of: EffortOf,
    made: [Lazy; 2],
}

/// How far an object moved in a trial, and whether it was held.
#[pyclass(frozen, get_all, module = "fingertip.grasp")]
pub struct Outcome {
    /// Distance of the object from its position in the grasp after the rest, m.
    moved: f64,
    /// Largest distance from that position under the pushes, m.
    pushed: f64,
    /// Distance from that position after the last push and rest, m.
    displaced: f64,
    /// Was the object held at rest, before the pushes?
    held: bool,
    /// Was it held at rest at the end too, after the pushes?
    held_pushed: bool,
}

/// Closes the model's robots around its movable objects, from a random configuration around home. `joints` is the
/// largest random offset of each joint from home at the start, rad or m; `object` that of the object in each direction,
/// m and rad; `force` that with which each joint pulls its nearest part towards the object, N; `reach` the length over
/// which parts attract it, m; `alpha` the time scale of a motion, s²; `steps` their number while the object is held
/// still, and while it settles; gaps up to `touching`, m, count as contacts. What is left out is the library's choice.
#[pyfunction]
#[pyo3(signature = (
    model, seed=0, *, joints=None, object=None, force=None, reach=None, alpha=None, steps=None, touching=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub fn close(
    py: Python,
    model: Py<Model>,
    seed: u64,
    joints: Option<f64>,
    object: Option<(f64, f64)>,
    force: Option<f64>,
    reach: Option<f64>,
    alpha: Option<f64>,
    steps: Option<(usize, usize)>,
    touching: Option<f64>,
) -> PyResult<Grasp> {
    let own = Closing::default();
    let closing = Closing {
        joints: joints.unwrap_or(own.joints),
        object: object.map_or(own.object, |(position, rotation)| [position, rotation]),
        force: force.unwrap_or(own.force),
        reach: reach.unwrap_or(own.reach),
        alpha: alpha.unwrap_or(own.alpha),
        steps: steps.map_or(own.steps, |(still, settling)| [still, settling]),
        touching: touching.unwrap_or(own.touching),
    };
    let numbers =
        [closing.joints, closing.object[0], closing.object[1], closing.force, closing.alpha, closing.touching];
    if let Some(x) = numbers.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        return Err(Error::new_err(format!("close: expected numbers from 0 up, got {x}")));
    }
    if !(closing.reach.is_finite() && closing.reach > 0.0) {
        return Err(Error::new_err(format!("reach: expected a positive length, got {}", closing.reach)));
    }
    let (of, q) = detached(py, || {
        let of = closing.close(&model.get().of, seed)?;
        let q = of.q.flatten_all()?.to_vec1::<f64>()?;
        candle_core::Result::Ok((of, q))
    })?;
    Ok(Grasp { model, of, q, made: Default::default() })
}

#[pymethods]
impl Grasp {
    /// The configuration (nq,), m and rad.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[0].get(py, &self.q, &[self.q.len()])
    }

    /// The contacts with the object that are closed, as indices in `Model.contact_names`.
    #[getter]
    fn contacts(&self) -> Vec<usize> {
        self.of.contacts.clone()
    }

    /// The smallest gap of all contacts, m.
    #[getter]
    fn least_gap(&self) -> f64 {
        self.of.least_gap
    }

    /// The least effort ½ ‖τ‖² that holds the object, with every normal force at least `reserve`, N, above what its
    /// friction needs: f_n ≥ ‖f_t‖/μ + reserve. None if no forces balance.
    #[pyo3(signature = (reserve=0.0))]
    fn least_effort(&self, py: Python, reserve: f64) -> PyResult<Option<Effort>> {
        if !(reserve.is_finite() && reserve >= 0.0) {
            return Err(Error::new_err(format!("reserve: expected a number from 0 up, got {reserve}")));
        }
        let model = &self.model.get().of;
        let of = detached(py, || candle_core::Result::Ok(self.of.balance(model)?.least_effort(reserve)))?;
        Ok(of.map(|of| Effort { of, made: Default::default() }))
    }

    /// The largest reserve that all contacts can have, N: infinite under force closure, and it may be negative. None if
    /// no forces balance.
    fn margin(&self, py: Python) -> PyResult<Option<f64>> {
        let model = &self.model.get().of;
        detached(py, || candle_core::Result::Ok(self.of.balance(model)?.margin()))
    }
}

#[pymethods]
impl Effort {
    /// τ of the commanded joints (nu,), N·m or N.
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[0].get(py, self.of.torque.as_slice(), &[self.of.torque.len()])
    }

    /// Forces of the closed contacts in the balance (n,), N: three each, along the world's axes.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[1].get(py, self.of.force.as_slice(), &[self.of.force.len()])
    }

    /// ½ ‖τ‖², which was minimised.
    #[getter]
    fn cost(&self) -> f64 {
        self.of.cost
    }
}

/// Simulated trials of grasps by the second-order step, side by side: some time at rest, then pushes along ±x, ±y and
/// ±z of the world, each followed by a rest. q (B, nq) are the grasps and `torque` (B, nu) the torques of the commanded
/// joints, or one of each without the first axis. `h` is the time step, s; `kappa` κ, 1/J; `kp` and `kv` the joints'
/// gains, N·m/rad and N·m·s/rad; `rest` the time at rest, s; `push` the force of each push in weights of the object;
/// `pushing` its time, s. What is left out is the library's choice. The scene counts as it was read: overrides but for
/// its params do not.
#[pyfunction]
#[pyo3(signature = (
    model, q, torque, *, h=None, kappa=None, kp=None, kv=None, rest=None, push=None, pushing=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub fn trial(
    py: Python,
    model: &Bound<Model>,
    q: &Bound<PyAny>,
    torque: &Bound<PyAny>,
    h: Option<f64>,
    kappa: Option<f64>,
    kp: Option<f64>,
    kv: Option<f64>,
    rest: Option<f64>,
    push: Option<f64>,
    pushing: Option<f64>,
) -> PyResult<Vec<Outcome>> {
    let (nq, nu) = (model.get().of.nq(), model.get().of.nu());
    let (q, worlds) = Numbers::rows("q", q, nq)?;
    let torque = Numbers::like("torque", torque, worlds, &[nu])?;
    let own = Trial::default();
    let all = [h, kappa, kp, kv, rest, push, pushing];
    if let Some(x) = all.iter().flatten().find(|x| !(x.is_finite() && **x >= 0.0)) {
        return Err(Error::new_err(format!("trial: expected numbers from 0 up, got {x}")));
    }
    for (name, given) in [("h", h), ("kappa", kappa)] {
        if given == Some(0.0) {
            return Err(Error::new_err(format!("{name}: expected a positive number, got 0")));
        }
    }
    let trial = Trial {
        h: h.unwrap_or(own.h),
        kappa: kappa.unwrap_or(own.kappa),
        kp: kp.unwrap_or(own.kp),
        kv: kv.unwrap_or(own.kv),
        rest: rest.unwrap_or(own.rest),
        push: push.unwrap_or(own.push),
        pushing: pushing.unwrap_or(own.pushing),
    };
    let rows =
        |numbers: &Numbers, n: usize| numbers.as_slice().chunks(n.max(1)).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let (q, torque) = (rows(&q, nq), rows(&torque, nu));
    let scene = model.get().scene();
    let made = detached(py, || {
        let grasps = q
            .iter()
            .zip(torque)
            .map(|(q, torque)| Ok((Tensor::from_slice(q, (1, nq), &Device::Cpu)?, DVector::from_vec(torque))));
        trial.run(scene, &grasps.collect::<candle_core::Result<Vec<_>>>()?)
    })?;
    let one = |of: &fingertip::grasp::Outcome| Outcome {
        moved: of.moved,
        pushed: of.pushed,
        displaced: of.displaced,
        held: of.held,
        held_pushed: of.held_pushed,
    };
    Ok(made.iter().map(one).collect())
}
