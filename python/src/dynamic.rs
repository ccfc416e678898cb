//! The second-order step.

use std::sync::Arc;

use fingertip::Parameters;
use fingertip::step::{Bound as GapBound, Dynamic as Compiled, DynamicParams, StepCotangent, StepNumbers};
use fingertip::touch::Cotangent;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, Worlds, or_none};
use crate::error::detached;
use crate::model::Model;
use crate::parameters::{beside, dictionary, replaced, worlds};
use crate::pool::Pool;
use crate::results::{DynamicGradient, DynamicLinearization, DynamicRollout, DynamicStep, Owner};
use crate::touch;

type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The second-order step of a model: semi-implicit Euler with inertia, joint friction and the barrier's contact. All
/// joints move by inertia; stiffness and ε have no effect. Friction is by Coulomb's law, whatever the scene says.
///
/// `beta`, from 0 to 1, is the share of an overlap that a step may take back; `stiction_speed`, rad/s or m/s, the speed
/// below which dry friction holds a joint. `params` and `threads` are as in `Quasidynamic`, and so are arguments: q is
/// (B, nq), v and tau are (B, nv).
#[pyclass(frozen, module = "fingertip")]
pub struct Dynamic {
    model: Py<Model>,
    of: Compiled,
    rows: Option<usize>,
    owner: Owner,
    options: (f64, f64),
    pool: Arc<Pool>,
}

/// q, v, τ of some worlds.
struct State<'py> {
    q: Numbers<'py>,
    v: Numbers<'py>,
    tau: Option<Numbers<'py>>,
    zero: Vec<f64>,
    worlds: Worlds,
}

impl State<'_> {
    fn numbers(&self) -> [&[f64]; 3] {
        [self.q.as_slice(), self.v.as_slice(), self.tau.as_ref().map_or(&self.zero, Numbers::as_slice)]
    }
}

impl Dynamic {
    fn state<'py>(&self, q: &Bound<'py, PyAny>, v: &Bound<'py, PyAny>, tau: Given<'_, 'py>) -> PyResult<State<'py>> {
        let (nq, nv) = ([self.of.model().nq()], [self.of.model().nv()]);
        let (q, worlds) = Numbers::rows("q", q, nq[0])?;
        let (v, worlds) = Numbers::beside("v", v, worlds, &nv)?;
        let tau = tau.map(|tau| Numbers::beside("tau", tau, worlds, &nv)).transpose()?;
        let worlds = beside(self.rows, tau.as_ref().map_or(worlds, |(_, all)| *all))?;
        let (q, v) = (q.of_each(worlds, &nq), v.of_each(worlds, &nv));
        let tau = tau.map(|(tau, _)| tau.of_each(worlds, &nv));
        let zero = vec![0.0; if tau.is_some() { 0 } else { worlds.count() * nv[0] }];
        Ok(State { q, v, tau, zero, worlds })
    }
}

#[pymethods]
impl Dynamic {
    #[new]
    #[pyo3(signature = (model, threads=None, *, beta=0.2, stiction_speed=1e-3, **params))]
    fn new(
        py: Python,
        model: Py<Model>,
        threads: Option<i64>,
        beta: f64,
        stiction_speed: f64,
        params: Option<&Bound<PyDict>>,
    ) -> PyResult<Self> {
        let pool = Arc::new(Pool::new(threads)?);
        let parameters: Parameters = replaced(&model.get().parameters, params)?;
        let options = DynamicParams { bound: GapBound::Gap { beta }, stiction_speed, ..Default::default() };
        let of = detached(py, || Compiled::new(&model.get().of, &parameters, options))?;
        Ok(Self { model, of, rows: worlds(&parameters)?, owner: Owner::new(), options: (beta, stiction_speed), pool })
    }

    /// This step with some parameters replaced. It uses the same threads.
    #[pyo3(signature = (**params))]
    fn with_params(&self, py: Python, params: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let parameters = replaced(self.of.parameters(), params)?;
        let of = detached(py, || self.of.with_parameters(&parameters))?;
        let (model, pool) = (self.model.clone_ref(py), self.pool.clone());
        Ok(Self { model, of, rows: worlds(&parameters)?, owner: Owner::new(), options: self.options, pool })
    }

    /// The model that it steps.
    #[getter]
    fn model(&self, py: Python) -> Py<Model> {
        self.model.clone_ref(py)
    }

    /// The number of threads that was asked for.
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.pool.threads()
    }

    /// The parameters by name, as new arrays (1 or B, n): see `Model.params`.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dictionary(py, self.of.parameters())
    }

    /// One step from q (B, nq), m and rad, and v (B, nv), m/s and rad/s, under the generalised forces `tau` (B, nv), N
    /// or N·m, or none. The solve starts from `warm`, a step's nearby, or cold.
    #[pyo3(signature = (q, v, tau=None, warm=None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        tau: Given<'_, 'py>,
        warm: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, DynamicStep>> {
        let state = self.state(q, v, tau)?;
        let warm = warm.map(|warm| Numbers::new("warm", warm)).transpose()?;
        let ([q, v, tau], warm) = (state.numbers(), or_none(&warm));
        let worlds = state.worlds;
        let of =
            detached(py, || self.pool.run(worlds.count(), || self.of.step_numbers(q, v, tau, warm).map(Box::new)))?;
        Bound::new(py, DynamicStep::new(of, (self.owner, self.of.model()), worlds))
    }

    /// Gradients by q, v, tau and all parameters of a cost whose gradients by a step's results are given: by `q_next`
    /// (B, nq), `v_next` (B, nv), `force` (B, nc, 3), `torque` (B, n) and `phi` (B, nc); what is left out is 0. `touch`
    /// has sensors with the gradient by what each feels, as in `Quasidynamic.vjp`. `step` is this object's step at q, v
    /// and tau; without it, it is computed again.
    #[pyo3(signature = (
        q, v, tau=None, *, q_next_bar=None, v_next_bar=None, force_bar=None, torque_bar=None, phi_bar=None, touch=None,
        step=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        tau: Given<'_, 'py>,
        q_next_bar: Given<'_, 'py>,
        v_next_bar: Given<'_, 'py>,
        force_bar: Given<'_, 'py>,
        torque_bar: Given<'_, 'py>,
        phi_bar: Given<'_, 'py>,
        touch: touch::Given<'py>,
        step: Option<&Bound<'py, DynamicStep>>,
    ) -> PyResult<DynamicGradient> {
        let state = self.state(q, v, tau)?;
        let (worlds, model) = (state.worlds, self.of.model());
        let [q_bar, v_bar, f_bar, t_bar, p_bar] = [
            Numbers::maybe("q_next_bar", q_next_bar, worlds, &[model.nq()])?,
            Numbers::maybe("v_next_bar", v_next_bar, worlds, &[model.nv()])?,
            Numbers::maybe("force_bar", force_bar, worlds, &[model.nc(), 3])?,
            Numbers::maybe("torque_bar", torque_bar, worlds, &[model.pairs.torsional.len()])?,
            Numbers::maybe("phi_bar", phi_bar, worlds, &[model.nc()])?,
        ];
        let step = step.map(|step| step.as_super().get());
        let step = step.map(|step| {
            self.owner.check("step", (step.owner, step.worlds), worlds)?;
            step.of.own(py, "step")
        });
        let step = step.transpose()?;
        let by = StepCotangent {
            q_next: or_none(&q_bar),
            v_next: or_none(&v_bar),
            force: or_none(&f_bar),
            torque: or_none(&t_bar),
            phi: or_none(&p_bar),
            ..StepCotangent::default()
        };
        let felt = touch::Felt::of(touch, worlds)?;
        let (all, felt) = (state.numbers(), felt.parts());
        let pull = || {
            let again: StepNumbers;
            let of = match step {
                Some(step) => step,
                None => {
                    let [q, v, tau] = all;
                    again = self.of.step_numbers(q, v, tau, &[])?;
                    &again
                }
            };
            let sum = touch::summed(&by, &felt, all[0], of)?;
            self.of.vjp(all, of, &sum.as_ref().map_or(by, Cotangent::borrowed))
        };
        let of = detached(py, || self.pool.run(worlds.count(), pull))?;
        Ok(DynamicGradient::of_step(of, self.of.parameters(), model, worlds))
    }

    /// All derivatives of one step by the state (q, v) and by `tau`. They are vector-Jacobian products: as costly as 2
    /// nv + 3 nc gradients.
    #[pyo3(signature = (q, v, tau=None, warm=None))]
    fn linearize<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        tau: Given<'_, 'py>,
        warm: Given<'_, 'py>,
    ) -> PyResult<DynamicLinearization> {
        let state = self.state(q, v, tau)?;
        let warm = warm.map(|warm| Numbers::new("warm", warm)).transpose()?;
        let ([q, v, tau], warm) = (state.numbers(), or_none(&warm));
        let worlds = state.worlds;
        let of = detached(py, || self.pool.run(worlds.count(), || self.of.linearize_numbers(q, v, tau, warm)))?;
        Ok(DynamicLinearization::new(of, self.of.model(), worlds))
    }

    /// T steps from q0 (B, nq) and v0 (B, nv) under `tau` (B, T, nv), or one world's, (nq,), (nv,) and (T, nv).
    fn rollout<'py>(
        &self,
        py: Python<'py>,
        q0: &Bound<'py, PyAny>,
        v0: &Bound<'py, PyAny>,
        tau: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, DynamicRollout>> {
        let state = self.state(q0, v0, None)?;
        let (nq, nv) = (self.of.model().nq(), self.of.model().nv());
        let (tau, worlds, n_steps) = Numbers::over_time("tau", tau, state.worlds, nv)?;
        let (q, v) = (state.q.of_each(worlds, &[nq]), state.v.of_each(worlds, &[nv]));
        let tau = tau.of_each(worlds, &[n_steps, nv]);
        let (q, v, tau) = (q.as_slice(), v.as_slice(), tau.as_slice());
        let of = detached(py, || self.pool.run(worlds.count(), || self.of.rollout_numbers(q, v, tau, n_steps)))?;
        Bound::new(py, DynamicRollout::new(of, (self.owner, self.of.model()), worlds))
    }

    /// Gradients by q0, v0, `tau` (B, T, nv) and all parameters of a cost whose gradients by a rollout's states `q` (B,
    /// T + 1, nq), `v` (B, T + 1, nv) and `force` (B, T, nc, 3) are given; what is left out is 0. `rollout` is this
    /// object's rollout under this `tau`.
    #[pyo3(signature = (tau, rollout, *, q_bar=None, v_bar=None, force_bar=None))]
    fn rollout_vjp<'py>(
        &self,
        py: Python<'py>,
        tau: &Bound<'py, PyAny>,
        rollout: &Bound<'py, DynamicRollout>,
        q_bar: Given<'_, 'py>,
        v_bar: Given<'_, 'py>,
        force_bar: Given<'_, 'py>,
    ) -> PyResult<DynamicGradient> {
        let (rollout, model) = (rollout.get(), self.of.model());
        let worlds = rollout.worlds;
        self.owner.check("rollout", (rollout.owner, worlds), worlds)?;
        let rollout = rollout.of.own(py, "rollout")?;
        let n_steps = rollout.n_steps();
        let tau = Numbers::shared("tau", tau, worlds, &[n_steps, model.nv()])?;
        let q_bar = Numbers::maybe("q_bar", q_bar, worlds, &[n_steps + 1, model.nq()])?;
        let v_bar = Numbers::maybe("v_bar", v_bar, worlds, &[n_steps + 1, model.nv()])?;
        let force_bar = Numbers::maybe("force_bar", force_bar, worlds, &[n_steps, model.nc(), 3])?;
        let (tau, by) = (tau.as_slice(), [or_none(&q_bar), or_none(&v_bar), or_none(&force_bar)]);
        let pull = || self.of.rollout_vjp(tau, rollout, by);
        let of = detached(py, || self.pool.run(worlds.count(), pull))?;
        Ok(DynamicGradient::of_rollout(of, self.of.parameters(), model, (worlds, n_steps)))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((Py<Model>,), Bound<'py, PyDict>)> {
        let keywords = dictionary(py, self.of.parameters())?;
        keywords.set_item("threads", self.pool.threads())?;
        keywords.set_item("beta", self.options.0)?;
        keywords.set_item("stiction_speed", self.options.1)?;
        Ok(((self.model.clone_ref(py),), keywords))
    }

    fn __repr__(&self, py: Python) -> PyResult<String> {
        let model = self.model.bind(py).repr()?;
        let threads = self.pool.threads().map_or("None".to_owned(), |n| n.to_string());
        Ok(format!("<fingertip.Dynamic of {model}, threads={threads}>"))
    }
}
