//! The quasi-dynamic step.

use std::sync::Arc;
use std::time::Instant;

use candle_core::{Device, Tensor};
use fingertip::Parameters;
use fingertip::step::{Quasidynamic as Compiled, SparseRows, StepCotangent, StepNumbers};
use fingertip::touch::Cotangent;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Array, Numbers, Out, Worlds, array, count, or_none};
use crate::device::OnDevice;
use crate::error::detached;
use crate::far::{Watch, path};
use crate::model::Model;
use crate::parameters::{beside, dictionary, replaced, worlds};
use crate::pool::Pool;
use crate::results::{Gradient, Hold, Linearization, Owner, Rollout, Step};
use crate::touch;

type Given<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The quasi-dynamic step of a model: a balance of forces, without velocities. Springs pull commanded joints to u, and
/// objects have regularised inertia.
///
/// `params` replace the model's by name (see `Model.params`): each an array (n,) for all worlds, (B, n) for B worlds,
/// or one number for all columns. `threads` is the number of threads that calls use, None as many as there are
/// processors; results do not depend on it. Calls release the interpreter's lock. An object pickles, and may be used by
/// many threads.
///
/// Arguments are arrays of any real type and strides, or lists. q is (B, nq) and u (B, nu); a single world may be
/// without the first axis, and then results are, too. Beside several worlds, q, u or parameters of one stand for all;
/// gradients are each world's.
///
/// A body that a step of `step`, `rollout` or `hold` moves by more than its size, or turns by more than 45°, while
/// something is in its way is a warning, once for each body of an object.
#[pyclass(frozen, module = "fingertip")]
pub struct Quasidynamic {
    model: Py<Model>,
    of: Compiled,
    rows: Option<usize>,
    owner: Owner,
    pool: Arc<Pool>,
    watch: Watch,
}

impl Quasidynamic {
    fn compiled(py: Python, model: Py<Model>, parameters: &Parameters, pool: Arc<Pool>) -> PyResult<Self> {
        let of = detached(py, || Compiled::new(&model.get().of, parameters))?;
        Ok(Self { model, of, rows: worlds(parameters)?, owner: Owner::new(), pool, watch: Watch::default() })
    }

    /// The step, and the threads that it uses.
    pub fn parts(&self) -> (Compiled, Arc<Pool>) {
        (self.of.clone(), self.pool.clone())
    }

    /// q and u of some worlds, q by its name in messages.
    fn state<'py>(
        &self,
        (what, q): (&str, &Bound<'py, PyAny>),
        u: &Bound<'py, PyAny>,
    ) -> PyResult<(Numbers<'py>, Numbers<'py>, Worlds)> {
        let (nq, nu) = ([self.of.model().nq()], [self.of.model().nu()]);
        let (q, worlds) = Numbers::rows(what, q, nq[0])?;
        let (u, worlds) = Numbers::beside("u", u, worlds, &nu)?;
        let worlds = beside(self.rows, worlds)?;
        Ok((q.of_each(worlds, &nq), u.of_each(worlds, &nu), worlds))
    }

    /// What the library says of a step's end and its command, both as tensors.
    fn at_end<T: Send>(
        &self,
        py: Python,
        q_next: &Bound<PyAny>,
        u: &Bound<PyAny>,
        of: impl FnOnce(&Compiled, &Tensor, &Tensor) -> candle_core::Result<T> + Send,
    ) -> PyResult<(T, Worlds)> {
        let (q, u, worlds) = self.state(("q_next", q_next), u)?;
        let (q, u, count) = (q.as_slice(), u.as_slice(), worlds.count());
        let rows = |numbers: &[f64]| Tensor::from_slice(numbers, (count, numbers.len() / count), &Device::Cpu);
        Ok((detached(py, || of(&self.of, &rows(q)?, &rows(u)?))?, worlds))
    }

    /// All numbers of a step from q under u, whose solve starts from `warm` or cold.
    fn numbers(&self, py: Python, [q, u, warm]: [&[f64]; 3], worlds: Worlds) -> PyResult<Box<StepNumbers>> {
        detached(py, || self.pool.run(worlds.count(), || self.of.step_numbers(q, u, warm).map(Box::new)))
    }

    fn warm<'py>(&self, given: Given<'_, 'py>, worlds: Worlds) -> PyResult<Option<Numbers<'py>>> {
        Numbers::maybe("warm", given, worlds, &[self.of.n_warm()])
    }
}

#[pymethods]
impl Quasidynamic {
    #[new]
    #[pyo3(signature = (model, threads=None, **params))]
    fn new(py: Python, model: Py<Model>, threads: Option<i64>, params: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let pool = Arc::new(Pool::new(threads)?);
        let parameters = replaced(&model.get().parameters, params)?;
        Self::compiled(py, model, &parameters, pool)
    }

    /// This step with some parameters replaced. It uses the same threads.
    #[pyo3(signature = (**params))]
    fn with_params(&self, py: Python, params: Option<&Bound<PyDict>>) -> PyResult<Self> {
        let parameters = replaced(self.of.parameters(), params)?;
        let of = detached(py, || self.of.with_parameters(&parameters))?;
        Ok(Self {
            model: self.model.clone_ref(py),
            of,
            rows: worlds(&parameters)?,
            owner: Owner::new(),
            pool: self.pool.clone(),
            watch: Watch::default(),
        })
    }

    /// The same step on a device, for arrays that stay there: `"cuda:0"` is the first GPU, for a package built with the
    /// feature `cuda` (docs/cuda.md); `"cpu"` takes and makes the same arrays.
    fn on(&self, py: Python, device: &str) -> PyResult<OnDevice> {
        OnDevice::new(py, self, device)
    }

    /// The model that it steps.
    #[getter]
    pub fn model(&self, py: Python) -> Py<Model> {
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

    /// The length of a world's `warm`.
    #[getter]
    fn n_warm(&self) -> usize {
        self.of.n_warm()
    }

    /// One step from q (B, nq), m and rad, under u (B, nu), rad or m. The solve starts from `warm` (B, n_warm), a
    /// step's or a hold's nearby, or cold. `out` has arrays by name that the results `q_next` and `force` are written
    /// to, double precision, row after row; they are then those of the result. `q` itself may be one.
    /// Where thousands of contacts may be, δ, limit forces and what says where contacts are come when they are asked
    /// for, by another solve.
    #[pyo3(signature = (q, u, warm=None, *, out=None))]
    fn step<'py>(
        slf: &Bound<'py, Self>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        warm: Given<'_, 'py>,
        out: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Step>> {
        let (py, own) = (slf.py(), slf.get());
        let (q, u, worlds) = own.state(("q", q), u)?;
        let (model, axes) = (own.of.model(), |axes: &[usize]| worlds.shape(axes));
        let out = Out::of(out, || [("q_next", axes(&[model.nq()])), ("force", axes(&[model.nc(), 3]))])?;
        let warm = own.warm(warm, worlds)?;
        let step = if own.of.lists_contacts() {
            let given = Arc::new([q.as_slice(), u.as_slice(), or_none(&warm)].map(<[f64]>::to_vec));
            let [q, u, warm] = &*given;
            let from = SparseRows::whole(warm.clone(), own.of.n_warm());
            let held = detached(py, || own.pool.run(worlds.count(), || own.of.hold(q, u, Some(&from), 1)))?;
            own.look_at(py, [q, &held.q], 1, |k, i| vector(&held.force, k, i))?;
            let (of, inputs) = (slf.clone().unbind(), given.clone());
            let later = move |py: Python| of.get().numbers(py, inputs.each_ref().map(Vec::as_slice), worlds);
            Bound::new(py, Step::held((held, given), Box::new(later), (own.owner, model), worlds))?
        } else {
            let of = own.numbers(py, [q.as_slice(), u.as_slice(), or_none(&warm)], worlds)?;
            let nc = model.nc();
            let force = |k: usize, i: usize| [0, 1, 2].map(|axis| of.force[3 * (k * nc + i) + axis]);
            own.look_at(py, [q.as_slice(), &of.q_next], 1, force)?;
            Bound::new(py, Step::new(of, (own.owner, model), worlds))?
        };
        drop((q, u, warm));
        step.get().write(py, &out)?;
        Ok(step)
    }

    /// Gradients by q, u and all parameters of a cost whose gradients by a step's results are given: by `q_next` (B,
    /// nq), `force` (B, nc, 3), `torque` (B, n) and `phi` (B, nc); what is left out is 0. `touch` has sensors with the
    /// gradient by what each feels: `[(wrenches, bar)]`, with `bar` of the shape of `wrenches.at(q, step)`. `step` is
    /// this object's step at q and u; without it, it is computed again. Where what is given of a world is not finite,
    /// its gradients are NaN.
    #[pyo3(signature = (
        q, u, *, q_next_bar=None, force_bar=None, torque_bar=None, phi_bar=None, touch=None, step=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        q_next_bar: Given<'_, 'py>,
        force_bar: Given<'_, 'py>,
        torque_bar: Given<'_, 'py>,
        phi_bar: Given<'_, 'py>,
        touch: touch::Given<'py>,
        step: Option<&Bound<'py, Step>>,
    ) -> PyResult<Gradient> {
        let (q, u, worlds) = self.state(("q", q), u)?;
        let model = self.of.model();
        let [q_bar, f_bar, t_bar, p_bar] = [
            Numbers::maybe("q_next_bar", q_next_bar, worlds, &[model.nq()])?,
            Numbers::maybe("force_bar", force_bar, worlds, &[model.nc(), 3])?,
            Numbers::maybe("torque_bar", torque_bar, worlds, &[model.pairs.torsional.len()])?,
            Numbers::maybe("phi_bar", phi_bar, worlds, &[model.nc()])?,
        ];
        let step = step.map(Bound::get);
        step.map_or(Ok(()), |step| self.owner.check("step", (step.owner, step.worlds), worlds))?;
        let by = StepCotangent {
            q_next: or_none(&q_bar),
            force: or_none(&f_bar),
            torque: or_none(&t_bar),
            phi: or_none(&p_bar),
            ..StepCotangent::default()
        };
        let felt = touch::Felt::of(touch, worlds)?;
        let felt = felt.parts();
        let (q, u) = (q.as_slice(), u.as_slice());
        // Of the step's numbers those of thousands of contacts take longer than its gradient by q₊ and forces.
        let is_short = self.of.lists_contacts() && felt.is_empty() && by.torque.is_empty() && by.phi.is_empty();
        let step = match step {
            Some(step) if is_short => step.check_inputs(q, u).map(|()| None)?,
            Some(step) => Some(step.of.own(py, "step")?),
            None => None,
        };
        let pull = || {
            let again: StepNumbers;
            let of = match step {
                Some(step) => step,
                None if felt.is_empty() => return self.of.vjp_at(q, u, &by),
                None => {
                    again = self.of.step_numbers(q, u, &[])?;
                    &again
                }
            };
            let sum = touch::summed(&by, &felt, q, of)?;
            self.of.vjp(q, u, of, &sum.as_ref().map_or(by, Cotangent::borrowed))
        };
        let of = detached(py, || self.pool.run(worlds.count(), pull))?;
        let shapes = [worlds.shape(&[model.nq()]), worlds.shape(&[model.nu()])];
        Ok(Gradient::new(of, self.of.parameters(), shapes))
    }

    /// T steps from q0 (B, nq) under u (B, T, nu), or one world's, (nq,) and (T, nu); u for all worlds of q0 is (1, T,
    /// nu). `out` has arrays by name that the results `q` and `force` are written to, as for `step`.
    #[pyo3(signature = (q0, u, *, out=None))]
    fn rollout<'py>(
        &self,
        py: Python<'py>,
        q0: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Rollout>> {
        let model = self.of.model();
        let (q0, worlds) = Numbers::rows("q0", q0, model.nq())?;
        let (u, worlds, n_steps) = Numbers::over_time("u", u, worlds, model.nu())?;
        let worlds = beside(self.rows, worlds)?;
        let (q0, u) = (q0.of_each(worlds, &[model.nq()]), u.of_each(worlds, &[n_steps, model.nu()]));
        let axes = |axes: &[usize]| worlds.shape(axes);
        let known = || [("q", axes(&[n_steps + 1, model.nq()])), ("force", axes(&[n_steps, model.nc(), 3]))];
        let out = Out::of(out, known)?;
        let of = {
            let (q0, u) = (q0.as_slice(), u.as_slice());
            detached(py, || self.pool.run(worlds.count(), || self.of.rollout_numbers(q0, u, n_steps)))?
        };
        drop((q0, u));
        let nq = model.nq();
        let of_worlds = of.q.chunks_exact(((n_steps + 1) * nq).max(1)).map(|q| q.split_at(nq));
        let steps = of_worlds.flat_map(|(q, after)| path(q, after));
        self.watch.look(py, &self.of, steps, |k, i| vector(&of.force, k, i))?;
        let rollout = Bound::new(py, Rollout::new(of, (self.owner, model), worlds))?;
        rollout.get().write(py, &out)?;
        Ok(rollout)
    }

    /// Gradients by q0, u (B, T, nu) and all parameters of a cost whose gradients by a rollout's states `q` (B, T + 1,
    /// nq) and `force` (B, T, nc, 3) are given; what is left out is 0. `rollout` is this object's rollout under this u.
    #[pyo3(signature = (u, rollout, *, q_bar=None, force_bar=None))]
    fn rollout_vjp<'py>(
        &self,
        py: Python<'py>,
        u: &Bound<'py, PyAny>,
        rollout: &Bound<'py, Rollout>,
        q_bar: Given<'_, 'py>,
        force_bar: Given<'_, 'py>,
    ) -> PyResult<Gradient> {
        let (rollout, model) = (rollout.get(), self.of.model());
        let worlds = rollout.worlds;
        self.owner.check("rollout", (rollout.owner, worlds), worlds)?;
        let rollout = rollout.of.own(py, "rollout")?;
        let n_steps = rollout.n_steps;
        let u = Numbers::shared("u", u, worlds, &[n_steps, model.nu()])?;
        let q_bar = Numbers::maybe("q_bar", q_bar, worlds, &[n_steps + 1, model.nq()])?;
        let force_bar = Numbers::maybe("force_bar", force_bar, worlds, &[n_steps, model.nc(), 3])?;
        let (u, q_bar, force_bar) = (u.as_slice(), or_none(&q_bar), or_none(&force_bar));
        let pull = || self.of.rollout_vjp(u, rollout, q_bar, force_bar);
        let of = detached(py, || self.pool.run(worlds.count(), pull))?;
        let shapes = [worlds.shape(&[model.nq()]), worlds.shape(&[n_steps, model.nu()])];
        Ok(Gradient::new(of, self.of.parameters(), shapes))
    }

    /// All derivatives of one step in tangent coordinates: A, B, and with `forces` λ, C and D.
    #[pyo3(signature = (q, u, forces=true, warm=None))]
    fn linearize<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        forces: bool,
        warm: Given<'_, 'py>,
    ) -> PyResult<Linearization> {
        let (q, u, worlds) = self.state(("q", q), u)?;
        let warm = self.warm(warm, worlds)?;
        let (q, u, warm) = (q.as_slice(), u.as_slice(), SparseRows::whole(or_none(&warm).to_vec(), self.of.n_warm()));
        let of = detached(py, || self.pool.run(worlds.count(), || self.of.jacobians(q, u, Some(&warm), forces)))?;
        Ok(Linearization::new(of, self.of.model(), worlds))
    }

    /// How q₊ and λ change with q and u: A dq + B du (B, nv) and C dq + D du (B, n_lambda) for `dq` (B, nv), in tangent
    /// coordinates, and `du` (B, nu); what is left out is 0.
    #[pyo3(signature = (q, u, *, dq=None, du=None))]
    fn jvp<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        dq: Given<'_, 'py>,
        du: Given<'_, 'py>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let (q, u, worlds) = self.state(("q", q), u)?;
        let model = self.of.model();
        let (nv, nu, n_lambda) = (model.nv(), model.nu(), model.n_lambda());
        let dq = Numbers::maybe("dq", dq, worlds, &[nv])?;
        let du = Numbers::maybe("du", du, worlds, &[nu])?;
        let (q, u, dq, du) = (q.as_slice(), u.as_slice(), or_none(&dq), or_none(&du));
        let [q_next, lambda] = detached(py, || {
            let all = self.pool.run(worlds.count(), || self.of.jacobians(q, u, None, true))?;
            let push = |rows: &[[usize; 2]], [by_q, by_u]: [&[f64]; 2], width| {
                let mut sum = vec![0.0; worlds.count() * width];
                add_products(&mut sum, (rows, width), by_q, (dq, nv));
                add_products(&mut sum, (rows, width), by_u, (du, nu));
                sum
            };
            let every: Vec<_> = (0..worlds.count()).flat_map(|world| (0..nv).map(move |k| [world, k])).collect();
            let forces = all.forces.unwrap_or_default();
            let of_lambda = push(&forces.rows, [&forces.c, &forces.d], n_lambda);
            candle_core::Result::Ok([push(&every, [&all.a, &all.b], nv), of_lambda])
        })?;
        Ok((array(py, &q_next, &worlds.shape(&[nv]))?, array(py, &lambda, &worlds.shape(&[n_lambda]))?))
    }

    /// n steps from q (B, nq) under one command u (B, nu). Each solve starts from the forces of the step before, the
    /// first from `warm` (B, n_warm), or cold.
    #[pyo3(signature = (q, u, n, warm=None))]
    fn hold<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
        n: i64,
        warm: Given<'_, 'py>,
    ) -> PyResult<Bound<'py, Hold>> {
        let n = count("n", n)?;
        let (q, u, worlds) = self.state(("q", q), u)?;
        let warm = self.warm(warm, worlds)?;
        self.check_memory(worlds, n)?;
        let (q, u, warm) = (q.as_slice(), u.as_slice(), SparseRows::whole(or_none(&warm).to_vec(), self.of.n_warm()));
        let of = detached(py, || self.pool.run(worlds.count(), || self.of.hold(q, u, Some(&warm), n)))?;
        self.look_at(py, [q, &of.q], n, |k, i| vector(&of.force, k, i))?;
        Bound::new(py, Hold::new(of, self.of.model(), worlds, (n, self.of.n_warm())))
    }

    /// The forces of the commands' springs where a step ended at `q_next` (B, nq) under u (B, nu): (B, nu), N·m or N.
    /// What a controller adds against weight is not in them.
    fn command_forces<'py>(
        &self,
        py: Python<'py>,
        q_next: &Bound<'py, PyAny>,
        u: &Bound<'py, PyAny>,
    ) -> PyResult<Array<'py>> {
        let (forces, worlds) =
            self.at_end(py, q_next, u, |of, q, u| of.command_forces(q, u)?.flatten_all()?.to_vec1())?;
        array(py, &forces, &worlds.shape(&[self.of.model().nu()]))
    }

    /// The commands whose springs pull harder where a step ended at `q_next` (B, nq) under u (B, nu) than their joints'
    /// largest efforts allow, which the step does not bound: (world, index in u, force, largest effort) each, N·m or N.
    fn beyond_efforts(
        &self,
        py: Python,
        q_next: &Bound<PyAny>,
        u: &Bound<PyAny>,
    ) -> PyResult<Vec<(usize, usize, f64, f64)>> {
        let (beyond, _) = self.at_end(py, q_next, u, Compiled::beyond_efforts)?;
        Ok(beyond.into_iter().map(|one| (one.world, one.command, one.force, one.effort)).collect())
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((Py<Model>,), Bound<'py, PyDict>)> {
        let keywords = dictionary(py, self.of.parameters())?;
        keywords.set_item("threads", self.pool.threads())?;
        Ok(((self.model.clone_ref(py),), keywords))
    }

    fn __repr__(&self, py: Python) -> PyResult<String> {
        let model = self.model.bind(py).repr()?;
        let threads = self.pool.threads().map_or("None".to_owned(), |n| n.to_string());
        Ok(format!("<fingertip.Quasidynamic of {model}, threads={threads}>"))
    }
}

/// Seconds of n steps called from Rust, for `benches/calls.py`.
#[pyfunction]
pub fn _seconds(py: Python, sim: &Bound<Quasidynamic>, q: &Bound<PyAny>, u: &Bound<PyAny>, n: usize) -> PyResult<f64> {
    let sim = sim.get();
    let (q, u, worlds) = sim.state(("q", q), u)?;
    let (q, u) = (q.as_slice(), u.as_slice());
    let start = Instant::now();
    detached(py, || {
        sim.pool.run(worlds.count(), || (0..n).try_for_each(|_| sim.of.step_numbers(q, u, &[]).map(drop)))
    })?;
    Ok(start.elapsed().as_secs_f64())
}

impl Quasidynamic {
    /// Warns of what n steps from q (B, nq) to the states (B, n, nq) move too far.
    fn look_at(
        &self,
        py: Python,
        [q, after]: [&[f64]; 2],
        n: usize,
        force: impl Fn(usize, usize) -> [f64; 3],
    ) -> PyResult<()> {
        let nq = self.of.model().nq().max(1);
        let steps = q.chunks_exact(nq).zip(after.chunks_exact(n * nq)).flat_map(|(q, after)| path(q, after));
        self.watch.look(py, &self.of, steps, force)
    }

    /// Is there room for the results of n steps? Where there is none, the library would end the process.
    fn check_memory(&self, worlds: Worlds, n: usize) -> PyResult<()> {
        let model = self.of.model();
        let row = model.nq() + self.of.n_warm() + 5 * model.nc();
        let numbers = worlds.count().checked_mul(n).and_then(|steps| steps.checked_mul(row));
        let has_room = numbers.is_some_and(|numbers| Vec::<f64>::new().try_reserve_exact(numbers).is_ok());
        let message = || format!("n: there is no memory for {n} steps of {} worlds", worlds.count());
        has_room.then_some(()).ok_or_else(|| PyMemoryError::new_err(message()))
    }
}

/// The force of a contact in a row.
fn vector(forces: &SparseRows, row: usize, contact: usize) -> [f64; 3] {
    [0, 1, 2].map(|axis| forces.get(row, 3 * contact + axis))
}

/// Adds rows of matrices, each times its world's vector (n), to the numbers (B, `width`) in their places; nothing if
/// there are no vectors.
fn add_products(
    sum: &mut [f64],
    (rows, width): (&[[usize; 2]], usize),
    matrices: &[f64],
    (vectors, n): (&[f64], usize),
) {
    for ([world, place], row) in rows.iter().zip(matrices.chunks_exact(n.max(1))) {
        let vector = vectors.get(world * n..(world + 1) * n).unwrap_or_default();
        sum[world * width + place] += row.iter().zip(vector).map(|(a, x)| a * x).sum::<f64>();
    }
}
