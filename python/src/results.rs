//! Results: numbers that become arrays when they are asked for.

use std::borrow::Cow;
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fingertip::show::StepContacts;
use fingertip::solve::{Report, Status};
use fingertip::step::{
    DynamicJacobians, DynamicRollout as DynamicNumbers, ForceJacobians, GradientNumbers, Held, Jacobians,
    RolloutNumbers, StepNumbers,
};
use fingertip::{Model, Parameters};
use numpy::{PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::{Array, Lazy, Out, Worlds, array};
use crate::error::{Error, Unsolved};
use crate::pickled::{Kept, Later, Reduced, Reports, Shaped, by_parameters, plain, reduced};

/// Which object made a result: gradients are taken by the object whose parameters the result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    /// One of its own for each object.
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Is a result of so many worlds this object's own?
    pub fn check(self, what: &str, (owner, given): (Self, Worlds), worlds: Worlds) -> PyResult<()> {
        if owner != self {
            return Err(Error::new_err(format!("{what}: expected a result of this object, got one of another")));
        }
        if given.count() != worlds.count() {
            let (expected, got) = (worlds.count(), given.count());
            return Err(Error::new_err(format!("{what}: expected a result of {expected} worlds, got one of {got}")));
        }
        Ok(())
    }
}

/// Worlds without a solution that a message names, at most.
const NAMED: usize = 5;

/// How solves went: (B,) of a step, (B, T) of T steps; without the first axis if one world was given without it.
#[pyclass(frozen, subclass, module = "fingertip")]
pub struct Solves {
    reports: Vec<Report>,
    shape: Vec<usize>,
    status: Lazy<u8>,
    ok: Lazy<bool>,
    iterations: Lazy<i64>,
    residual: Lazy,
    slip_gap: Lazy,
}

impl Solves {
    /// The outcomes in Python, in an array of this shape.
    pub fn new(reports: Vec<Report>, shape: Vec<usize>) -> PyClassInitializer<Self> {
        PyClassInitializer::from(Self {
            reports,
            shape,
            status: Lazy::default(),
            ok: Lazy::default(),
            iterations: Lazy::default(),
            residual: Lazy::default(),
            slip_gap: Lazy::default(),
        })
    }

    fn each<T>(&self, of: impl Fn(&Report) -> T) -> Vec<T> {
        self.reports.iter().map(of).collect()
    }

    fn is_ok(report: &Report) -> bool {
        report.status == Status::Solved
    }

    /// How many worlds and steps there are, and how their solves ended.
    fn line(&self, has_steps: bool) -> String {
        let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let all = match (self.shape.as_slice(), has_steps) {
            ([n], true) => format!("{} of 1 world", counted(*n, "step")),
            ([worlds, n], true) => format!("{} of {}", counted(*n, "step"), counted(*worlds, "world")),
            (shape, _) => counted(shape.iter().product(), "world"),
        };
        let mut ends: Vec<(&str, usize)> = Vec::new();
        for report in &self.reports {
            match ends.iter_mut().find(|(name, _)| *name == report.status.name()) {
                Some((_, n)) => *n += 1,
                None => ends.push((report.status.name(), 1)),
            }
        }
        let ends: Vec<String> = match ends[..] {
            [(name, _)] => vec![name.to_owned()],
            _ => ends.iter().map(|(name, n)| format!("{n} {name}")).collect(),
        };
        format!("{all}: {}", ends.join(", "))
    }
}

#[pymethods]
impl Solves {
    /// How each solve ended, uint8: an index into `fingertip.STATUSES`, a value of `fingertip.Status`.
    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, u8>> {
        self.status.get(py, &self.each(|report| report.status as u8), &self.shape)
    }

    /// Was it solved? bool.
    #[getter]
    fn ok<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, bool>> {
        self.ok.get(py, &self.each(Self::is_ok), &self.shape)
    }

    /// Newton iterations, int64.
    #[getter]
    #[expect(clippy::cast_possible_wrap, reason = "at most a few thousand")]
    fn iterations<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, i64>> {
        self.iterations.get(py, &self.each(|report| report.iterations as i64), &self.shape)
    }

    /// Relative residual of the optimality conditions, from 0 to 1.
    #[getter]
    fn residual<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.residual.get(py, &self.each(|report| report.residual), &self.shape)
    }

    /// How far an `unsettled` answer is from Coulomb's law, m: the largest gap that slip opens at a contact.
    #[getter]
    fn slip_gap<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.slip_gap.get(py, &self.each(|report| report.slip_gap), &self.shape)
    }

    /// The reports as a pickle keeps them.
    #[getter]
    fn _reports(&self) -> Reports {
        plain(&self.reports, &self.shape)
    }

    fn __repr__(slf: &Bound<Self>) -> PyResult<String> {
        let class = slf.get_type().name()?.to_string();
        // All but a single step have an axis for steps.
        let line = slf.get().line(!class.ends_with("Step"));
        Ok(format!("<fingertip.{class} of {line}>"))
    }

    /// Raises `fingertip.Unsolved` if a world was not solved.
    fn raise_for_status(&self) -> PyResult<()> {
        let failed: Vec<_> = self.reports.iter().enumerate().filter(|(_, report)| !Self::is_ok(report)).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let n_steps = self.shape.get(1).copied().unwrap_or(1);
        let place = |&(i, report): &(usize, &Report)| match self.shape.len() {
            2 => format!("world {} at step {}: {}", i / n_steps, i % n_steps, report.status.name()),
            _ => format!("{i}: {}", report.status.name()),
        };
        let named: Vec<String> = failed.iter().take(NAMED).map(place).collect();
        let more = if failed.len() > NAMED { ", …" } else { "" };
        let (n, all, named) = (failed.len(), self.reports.len(), named.join(", "));
        Err(Unsolved::new_err(format!("{n} of {all} solves have no solution: {named}{more}")))
    }
}

/// Result of a step of B worlds; without the first axis if one world was given without it.
#[pyclass(frozen, subclass, extends = Solves, module = "fingertip")]
pub struct Step {
    /// The numbers, but for the reports.
    pub of: Kept<StepNumbers, 10>,
    /// What is known without all numbers, of which those of thousands of contacts take longer than the step.
    known: Option<Held>,
    /// Its q, u and warm start, where the other numbers come later.
    given: Option<Arc<[Vec<f64>; 3]>>,
    /// Whose step it is.
    pub owner: Owner,
    /// nq, nv, nc, and the number of contacts with torsional friction.
    axes: [usize; 4],
    /// The number of worlds, and whether arrays have an axis for them.
    pub worlds: Worlds,
    /// The model; none of a pickle.
    model: Option<Model>,
}

impl Step {
    /// The result in Python.
    pub fn new(mut of: Box<StepNumbers>, (owner, model): (Owner, &Model), worlds: Worlds) -> PyClassInitializer<Self> {
        let solves = Solves::new(take(&mut of.reports), worlds.shape(&[]));
        let axes = [model.nq(), model.nv(), model.nc(), model.pairs.torsional.len()];
        solves.add_subclass(Self {
            of: Kept::new(of),
            known: None,
            given: None,
            owner,
            axes,
            worlds,
            model: Some(model.clone()),
        })
    }

    /// The result in Python of a step that was held once, whose other numbers come later.
    pub fn held(
        (mut known, given): (Held, Arc<[Vec<f64>; 3]>),
        later: Later<StepNumbers>,
        (owner, model): (Owner, &Model),
        worlds: Worlds,
    ) -> PyClassInitializer<Self> {
        let solves = Solves::new(take(&mut known.reports), worlds.shape(&[]));
        let axes = [model.nq(), model.nv(), model.nc(), model.pairs.torsional.len()];
        let (of, known, given, model) = (Kept::later(later), Some(known), Some(given), Some(model.clone()));
        solves.add_subclass(Self { of, known, given, owner, axes, worlds, model })
    }

    /// Writes results to arrays.
    pub fn write(&self, py: Python, out: &Out) -> PyResult<()> {
        out.iter().try_for_each(|(name, to)| match (*name, &self.known) {
            ("q_next", Some(known)) => self.of.write(0, &known.q, to),
            ("q_next", None) => self.of.write(0, &self.of.own(py, "step")?.q_next, to),
            (_, Some(known)) => self.of.write(2, &known.force.dense(), to),
            (_, None) => self.of.write(2, &self.of.own(py, "step")?.force, to),
        })
    }

    /// Checks that this is the step from q under u, if its other numbers come later.
    pub fn check_inputs(&self, q: &[f64], u: &[f64]) -> PyResult<()> {
        // Bit for bit, so that what is no number is itself.
        let same = |a: &[f64], b: &[f64]| a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()));
        match self.given.as_deref() {
            Some([own_q, own_u, _]) if same(own_q, q) && same(own_u, u) => Ok(()),
            Some(_) => Err(Error::new_err("step: expected the step at these inputs, got that at others")),
            None => Err(Error::new_err("step: expected a result of this object, got a pickle's")),
        }
    }

    /// The array at a place: what is known, or all numbers' part.
    fn part<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        known: impl FnOnce(&Held) -> Cow<'_, [f64]>,
        numbers: impl FnOnce(&StepNumbers) -> &Vec<f64>,
        axes: &[usize],
    ) -> PyResult<Array<'py>> {
        let shape = self.worlds.shape(axes);
        match &self.known {
            Some(of) => self.of.known(py, place, || known(of).into_owned(), &shape),
            None => self.of.get(py, place, numbers, &shape),
        }
    }

    /// A step as it was pickled, which knows no model.
    pub fn restored(of: Kept<StepNumbers, 10>, solves: PyClassInitializer<Solves>) -> PyClassInitializer<Self> {
        let own =
            Self { of, known: None, given: None, owner: Owner::new(), axes: [0; 4], worlds: Worlds::One, model: None };
        solves.add_subclass(own)
    }
}

#[pymethods]
impl Step {
    /// Next configuration (B, nq), m and rad. In worlds without a solution it is q, or home if q is not finite.
    #[getter]
    fn q_next<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.part(py, 0, |of| (&of.q).into(), |of| &of.q_next, &[self.axes[0]])
    }

    /// The step in tangent coordinates (B, nv), m and rad.
    #[getter]
    fn delta<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.of.get(py, 1, |of| &of.delta, &self.worlds.shape(&[self.axes[1]]))
    }

    /// Contact forces on B in world axes (B, nc, 3), N; the opposite acts on A.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.part(py, 2, |of| of.force.dense(), |of| &of.force, &[self.axes[2], 3])
    }

    /// Torque on B about its normal of each contact with torsional friction (B, n), N·m.
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.part(py, 3, |of| (&of.torque).into(), |of| &of.torque, &[self.axes[3]])
    }

    /// Forces of the joint limits (B, nl), N·m or N, if the scene turns them on; then what dry friction pushes each of
    /// its degrees of freedom with; then three numbers of each table: force along x and y, torque over its radius, N.
    #[getter]
    fn limit_force<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.of.get_rows(py, 4, |of| &of.limit_force, self.worlds)
    }

    /// Unit normal of each contact from A to B (B, nc, 3), in world axes.
    #[getter]
    fn normal<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.of.get(py, 5, |of| &of.normal, &self.worlds.shape(&[self.axes[2], 3]))
    }

    /// Contact points on A (B, nc, 3), m, in the world.
    #[getter]
    fn point_a<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.of.get(py, 6, |of| &of.point_a, &self.worlds.shape(&[self.axes[2], 3]))
    }

    /// Contact points on B (B, nc, 3), m, in the world.
    #[getter]
    fn point_b<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.of.get(py, 7, |of| &of.point_b, &self.worlds.shape(&[self.axes[2], 3]))
    }

    /// Signed distances at q (B, nc), m; positive apart.
    #[getter]
    fn phi<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.of.get(py, 8, |of| &of.phi, &self.worlds.shape(&[self.axes[2]]))
    }

    /// The solver's forces (B, `n_warm`): a start for steps nearby.
    #[getter]
    fn warm<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        match &self.known {
            Some(of) => self.part(py, 9, |of| of.warm.dense(), |of| &of.warm, &[of.warm.width()]),
            None => self.of.get_rows(py, 9, |of| &of.warm, self.worlds),
        }
    }

    /// The contacts that take part, world by world: those that are nearer than the scene's `contact_distance` or carry
    /// force. A step from a pickle has lost their names: an error.
    #[getter]
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (Some(of), Some(model)) = (self.of.numbers(py)?, &self.model) else {
            return Err(Error::new_err(
                "contacts: expected a step of this process, got a pickle's, which has no names",
            ));
        };
        let class = py.import("fingertip._contact")?.getattr("Contact")?;
        let (nc, reach) = (model.nc(), model.pairs.windows().map(|window| window.reach).collect::<Vec<f64>>());
        let vector = |numbers: &[f64], i: usize| [numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2]];
        let all = PyList::empty(py);
        for world in 0..self.worlds.count() {
            let phi = |i: usize| of.phi[world * nc + i];
            let rest = |i: usize| [&of.normal, &of.point_b, &of.force].map(|of| vector(of, world * nc + i));
            for one in &StepContacts::of_all(nc, |i| reach[i], phi, rest).0 {
                let (a, b) = model.contact_names(one.contact);
                let three = |numbers: &[f64; 3]| array(py, numbers, &[3]);
                let (point, normal, force) = (three(&one.point)?, three(&one.normal)?, three(&one.force)?);
                all.append(class.call1((a, b, point, normal, one.phi, force, one.contact, world))?)?;
            }
        }
        Ok(all)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(
            slf.as_any(),
            "Step",
            &["q_next", "delta", "force", "torque", "limit_force", "normal", "point_a", "point_b", "phi", "warm"],
        )
    }
}

/// Result of a second-order step.
#[pyclass(frozen, extends = Step, module = "fingertip")]
pub struct DynamicStep {
    v_next: Lazy,
}

impl DynamicStep {
    /// The result in Python.
    pub fn new(of: Box<StepNumbers>, by: (Owner, &Model), worlds: Worlds) -> PyClassInitializer<Self> {
        Step::new(of, by, worlds).add_subclass(Self { v_next: Lazy::default() })
    }

    /// A step as it was pickled, with its velocities.
    pub fn restored(
        of: Kept<StepNumbers, 10>,
        solves: PyClassInitializer<Solves>,
        v_next: Lazy,
    ) -> PyClassInitializer<Self> {
        Step::restored(of, solves).add_subclass(Self { v_next })
    }
}

#[pymethods]
impl DynamicStep {
    /// Next velocity (B, nv), m/s and rad/s; zero in worlds without a solution.
    #[getter]
    fn v_next<'py>(slf: &Bound<'py, Self>) -> PyResult<Array<'py>> {
        let step = slf.as_super().get();
        let v_next = step.of.numbers(slf.py())?.map_or(&[][..], |of| &of.v_next);
        slf.get().v_next.get(slf.py(), v_next, &step.worlds.shape(&[step.axes[1]]))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(
            slf.as_any(),
            "DynamicStep",
            &[
                "q_next",
                "delta",
                "force",
                "torque",
                "limit_force",
                "normal",
                "point_a",
                "point_b",
                "phi",
                "warm",
                "v_next",
            ],
        )
    }
}

/// Result of T steps of B worlds; without the first axis if one world was given without it.
#[pyclass(frozen, extends = Solves, module = "fingertip")]
pub struct Rollout {
    /// The numbers, but for the reports.
    pub of: Kept<RolloutNumbers, 3>,
    /// Whose rollout it is.
    pub owner: Owner,
    /// T, nq, nc, and the number of contacts with torsional friction.
    axes: [usize; 4],
    /// The number of worlds, and whether arrays have an axis for them.
    pub worlds: Worlds,
}

impl Rollout {
    /// The result in Python.
    pub fn new(mut of: RolloutNumbers, (owner, model): (Owner, &Model), worlds: Worlds) -> PyClassInitializer<Self> {
        let solves = Solves::new(take(&mut of.reports), worlds.shape(&[of.n_steps]));
        let axes = [of.n_steps, model.nq(), model.nc(), model.pairs.torsional.len()];
        solves.add_subclass(Self { of: Kept::new(of), owner, axes, worlds })
    }

    /// Writes results to arrays.
    pub fn write(&self, py: Python, out: &Out) -> PyResult<()> {
        let own = self.of.own(py, "rollout")?;
        out.iter().try_for_each(|(name, to)| match *name {
            "q" => self.of.write(0, &own.q, to),
            _ => self.of.write(1, &own.force.dense(), to),
        })
    }

    /// A rollout as it was pickled.
    pub fn restored(of: Kept<RolloutNumbers, 3>, solves: PyClassInitializer<Solves>) -> PyClassInitializer<Self> {
        let own = Self { of, owner: Owner::new(), axes: [0; 4], worlds: Worlds::One };
        solves.add_subclass(own)
    }
}

#[pymethods]
impl Rollout {
    /// Configurations (B, T + 1, nq), m and rad; the first is q0.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, nq, ..] = self.axes;
        self.of.get(py, 0, |of| &of.q, &self.worlds.shape(&[n + 1, nq]))
    }

    /// Contact forces on B in world axes (B, T, nc, 3), N.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, _, nc, _] = self.axes;
        self.of.make(py, 1, |of| of.force.dense().into_owned(), &self.worlds.shape(&[n, nc, 3]))
    }

    /// Torques on B of the contacts with torsional friction (B, T, n), N·m.
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, _, _, n_torsional] = self.axes;
        self.of.get(py, 2, |of| &of.torque, &self.worlds.shape(&[n, n_torsional]))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), "Rollout", &["q", "force", "torque"])
    }
}

/// Result of T second-order steps of B worlds; without the first axis if one world was given without it.
#[pyclass(frozen, extends = Solves, module = "fingertip")]
pub struct DynamicRollout {
    /// The numbers, but for the reports.
    pub of: Kept<DynamicNumbers, 3>,
    /// Whose rollout it is.
    pub owner: Owner,
    /// T, nq, nv, nc.
    axes: [usize; 4],
    /// The number of worlds, and whether arrays have an axis for them.
    pub worlds: Worlds,
}

impl DynamicRollout {
    /// The result in Python.
    pub fn new(mut of: DynamicNumbers, (owner, model): (Owner, &Model), worlds: Worlds) -> PyClassInitializer<Self> {
        let solves = Solves::new(take(&mut of.reports), worlds.shape(&[of.n_steps()]));
        let axes = [of.n_steps(), model.nq(), model.nv(), model.nc()];
        solves.add_subclass(Self { of: Kept::new(of), owner, axes, worlds })
    }

    /// A second-order rollout as it was pickled.
    pub fn restored(of: Kept<DynamicNumbers, 3>, solves: PyClassInitializer<Solves>) -> PyClassInitializer<Self> {
        let own = Self { of, owner: Owner::new(), axes: [0; 4], worlds: Worlds::One };
        solves.add_subclass(own)
    }
}

#[pymethods]
impl DynamicRollout {
    /// Configurations (B, T + 1, nq), m and rad; the first is q0.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, nq, ..] = self.axes;
        self.of.get(py, 0, |of| &of.q, &self.worlds.shape(&[n + 1, nq]))
    }

    /// Velocities (B, T + 1, nv), m/s and rad/s; the first is v0.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, _, nv, _] = self.axes;
        self.of.get(py, 1, |of| &of.v, &self.worlds.shape(&[n + 1, nv]))
    }

    /// Contact forces on B in world axes (B, T, nc, 3), N.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, .., nc] = self.axes;
        self.of.get(py, 2, |of| &of.force, &self.worlds.shape(&[n, nc, 3]))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), "DynamicRollout", &["q", "v", "force"])
    }
}

/// Result of n steps of B worlds under one command; without the first axis if one world was given without it.
#[pyclass(frozen, extends = Solves, module = "fingertip")]
pub struct Hold {
    of: Kept<Held, 4>,
    axes: [usize; 5],
    worlds: Worlds,
}

impl Hold {
    /// The result in Python.
    pub fn new(mut of: Held, model: &Model, worlds: Worlds, (n, n_warm): (usize, usize)) -> PyClassInitializer<Self> {
        let axes = [n, model.nq(), model.nc(), model.pairs.torsional.len(), n_warm];
        let solves = Solves::new(take(&mut of.reports), worlds.shape(&[n]));
        solves.add_subclass(Self { of: Kept::new(of), axes, worlds })
    }

    /// A held command's steps as they were pickled.
    pub fn restored(of: Kept<Held, 4>, solves: PyClassInitializer<Solves>) -> PyClassInitializer<Self> {
        solves.add_subclass(Self { of, axes: [0; 5], worlds: Worlds::One })
    }
}

#[pymethods]
impl Hold {
    /// Configuration after each step (B, n, nq), m and rad.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, nq, ..] = self.axes;
        self.of.get(py, 0, |of| &of.q, &self.worlds.shape(&[n, nq]))
    }

    /// Contact forces on B in world axes (B, n, nc, 3), N.
    #[getter]
    fn force<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, _, nc, ..] = self.axes;
        self.of.make(py, 1, |of| of.force.dense().into_owned(), &self.worlds.shape(&[n, nc, 3]))
    }

    /// Torques on B of the contacts with torsional friction (B, n, n_torsional), N·m.
    #[getter]
    fn torque<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, _, _, n_torsional, _] = self.axes;
        self.of.get(py, 2, |of| &of.torque, &self.worlds.shape(&[n, n_torsional]))
    }

    /// The solver's forces of each step (B, n, n_warm): a start for steps nearby.
    #[getter]
    fn warm<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [n, _, _, _, n_warm] = self.axes;
        self.of.make(py, 3, |of| of.warm.dense().into_owned(), &self.worlds.shape(&[n, n_warm]))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), "Hold", &["q", "force", "torque", "warm"])
    }
}

/// First derivatives of a step of B worlds in tangent coordinates: of q ⊕ δ by δ, world axes for free bodies. Without
/// the first axis if one world was given without it. Most contacts have no force, and rows of zeros in C and D:
/// `force_rows` says which have one, and `lambda_rows`, `C_rows` and `D_rows` are theirs alone. `lambda_`, `C` and `D`
/// have all rows; they are made when they are asked for.
#[pyclass(frozen, module = "fingertip")]
pub struct Linearization {
    of: Jacobians,
    axes: [usize; 3],
    worlds: Worlds,
    matrices: [Lazy; 2],
    all: [Lazy; 3],
    some: [Lazy; 3],
    force_rows: Lazy<i64>,
}

impl Linearization {
    /// The result in Python.
    pub fn new(of: Jacobians, model: &Model, worlds: Worlds) -> Self {
        let axes = [model.nv(), model.nu(), if of.forces.is_some() { model.n_lambda() } else { 0 }];
        Self::of(of, axes, worlds)
    }

    fn of(of: Jacobians, axes: [usize; 3], worlds: Worlds) -> Self {
        let (matrices, all, some) = Default::default();
        Self { of, axes, worlds, matrices, all, some, force_rows: Lazy::default() }
    }

    /// From a pickle's arrays: A, B, the rows' worlds and places, λ, C and D in these rows, and n_lambda.
    pub fn restored([a, b, rows, lambda, c, d, n_lambda]: &[Array; 7]) -> PyResult<Self> {
        let numbers = |of: &Array| of.readonly().as_array().iter().copied().collect::<Vec<f64>>();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they were indices")]
        let whole = |of: &Array| numbers(of).into_iter().map(|x| x as usize).collect::<Vec<_>>();
        let n_lambda = whole(n_lambda).first().copied().unwrap_or_default();
        let worlds = if a.ndim() == 2 { Worlds::One } else { Worlds::Batch(a.shape()[0]) };
        let last = |of: &Array| of.shape().last().copied().unwrap_or_default();
        let (nv, nu, rows) = (last(a), last(b), whole(rows).as_chunks::<2>().0.to_vec());
        let fits = [lambda.len(), c.len(), d.len()] == [1, nv, nu].map(|width| rows.len() * width)
            && rows.iter().all(|&[world, place]| world < worlds.count() && place < n_lambda);
        if !fits {
            return Err(Error::new_err("pickle: expected λ, C and D in rows of their worlds"));
        }
        let forces = ForceJacobians { rows, lambda: numbers(lambda), c: numbers(c), d: numbers(d) };
        let of = Jacobians { a: numbers(a), b: numbers(b), forces: (n_lambda > 0).then_some(forces) };
        Ok(Self::of(of, [nv, nu, n_lambda], worlds))
    }

    /// Rows of contacts with a force: those of λ, of C or of D.
    fn some<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        of: impl FnOnce(&ForceJacobians) -> &Vec<f64>,
        width: &[usize],
    ) -> PyResult<Array<'py>> {
        let (n, numbers) = self.of.forces.as_ref().map_or((0, &[][..]), |forces| (forces.rows.len(), of(forces)));
        self.some[place].get(py, numbers, &[&[n], width].concat())
    }

    /// All rows of λ, C or D.
    fn all<'py>(
        &self,
        py: Python<'py>,
        place: usize,
        of: impl FnOnce(&ForceJacobians) -> &Vec<f64>,
        width: &[usize],
    ) -> PyResult<Array<'py>> {
        let n_lambda = self.axes[2];
        let shape = self.worlds.shape(&[&[n_lambda], width].concat());
        let numbers = || match &self.of.forces {
            Some(forces) => forces.all(of(forces), self.worlds.count(), n_lambda, width.iter().product()),
            None => Vec::new(),
        };
        self.all[place].make(py, numbers, &shape)
    }
}

#[pymethods]
#[expect(non_snake_case, reason = "the letters of the formulas")]
impl Linearization {
    /// ∂q₊/∂q (B, nv, nv).
    #[getter]
    fn A<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [nv, ..] = self.axes;
        self.matrices[0].get(py, &self.of.a, &self.worlds.shape(&[nv, nv]))
    }

    /// ∂q₊/∂u (B, nv, nu).
    #[getter]
    fn B<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [nv, nu, _] = self.axes;
        self.matrices[1].get(py, &self.of.b, &self.worlds.shape(&[nv, nu]))
    }

    /// ∂λ/∂q (B, n_lambda, nv), N/m and N/rad; n_lambda = 0 without `forces`.
    #[getter]
    fn C<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.all(py, 0, |of| &of.c, &self.axes[..1])
    }

    /// ∂λ/∂u (B, n_lambda, nu), N/rad and N/m; n_lambda = 0 without `forces`.
    #[getter]
    fn D<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.all(py, 1, |of| &of.d, &self.axes[1..2])
    }

    /// λ (B, n_lambda): for each contact the force on B along its normal and two tangents, N; then the torques, N·m.
    #[getter]
    fn lambda_<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.all(py, 2, |of| &of.lambda, &[])
    }

    /// The rows of λ, C and D of contacts with a force (n, 2), int64: world and place in λ, in this order. All others
    /// are zero.
    #[getter]
    #[expect(clippy::cast_possible_wrap, reason = "rows that fit in memory")]
    fn force_rows<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, i64>> {
        let rows = self.of.forces.as_ref().map_or(&[][..], |forces| &forces.rows);
        let numbers = || rows.as_flattened().iter().map(|&x| x as i64).collect();
        self.force_rows.make(py, numbers, &[rows.len(), 2])
    }

    /// λ in `force_rows` (n,).
    #[getter]
    fn lambda_rows<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.some(py, 2, |of| &of.lambda, &[])
    }

    /// C in `force_rows` (n, nv).
    #[getter]
    fn C_rows<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.some(py, 0, |of| &of.c, &self.axes[..1])
    }

    /// D in `force_rows` (n, nu).
    #[getter]
    fn D_rows<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.some(py, 1, |of| &of.d, &self.axes[1..2])
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(
            slf.as_any(),
            "Linearization",
            &["A", "B", "_force_rows", "lambda_rows", "C_rows", "D_rows", "_n_lambda"],
        )
    }

    /// `force_rows` as a pickle keeps them.
    #[getter]
    fn _force_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.force_rows(py)?.call_method1("astype", ("float64",))
    }

    /// n_lambda as a pickle keeps it.
    #[getter]
    fn _n_lambda<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than a mantissa counts")]
        let n_lambda = self.axes[2] as f64;
        array(py, &[n_lambda], &[1])
    }
}

/// First derivatives of a second-order step of B worlds. The state is (q, v), changes of q are tangent, so that it has
/// 2 nv numbers. Without the first axis if one world was given without it.
#[pyclass(frozen, module = "fingertip")]
pub struct DynamicLinearization {
    of: Kept<DynamicJacobians, 4>,
    axes: [usize; 2],
    worlds: Worlds,
}

impl DynamicLinearization {
    /// The result in Python.
    pub fn new(of: DynamicJacobians, model: &Model, worlds: Worlds) -> Self {
        Self { of: Kept::new(of), axes: [model.nv(), 3 * model.nc()], worlds }
    }

    /// Jacobians as they were pickled.
    pub fn restored(of: Kept<DynamicJacobians, 4>) -> Self {
        Self { of, axes: [0; 2], worlds: Worlds::One }
    }
}

#[pymethods]
#[expect(non_snake_case, reason = "the letters of the formulas")]
impl DynamicLinearization {
    /// ∂(q₊, v₊)/∂(q, v) (B, 2 nv, 2 nv).
    #[getter]
    fn A<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [nv, _] = self.axes;
        self.of.get(py, 0, |of| &of.a, &self.worlds.shape(&[2 * nv, 2 * nv]))
    }

    /// ∂(q₊, v₊)/∂τ (B, 2 nv, nv).
    #[getter]
    fn B<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [nv, _] = self.axes;
        self.of.get(py, 1, |of| &of.b, &self.worlds.shape(&[2 * nv, nv]))
    }

    /// The derivatives of the contact forces in world axes by (q, v) (B, 3 nc, 2 nv).
    #[getter]
    fn C<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [nv, n_force] = self.axes;
        self.of.get(py, 2, |of| &of.c, &self.worlds.shape(&[n_force, 2 * nv]))
    }

    /// The derivatives of those forces by τ (B, 3 nc, nv).
    #[getter]
    fn D<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let [nv, n_force] = self.axes;
        self.of.get(py, 3, |of| &of.d, &self.worlds.shape(&[n_force, nv]))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), "DynamicLinearization", &["A", "B", "C", "D"])
    }
}

/// Gradients of a cost by what a step or rollout was given.
#[pyclass(frozen, module = "fingertip")]
pub struct Gradient {
    /// By q and u.
    pub own: [Shaped; 2],
    /// By each of the parameters.
    pub parameters: Vec<Shaped>,
}

impl Gradient {
    /// The result in Python; q and u have these shapes.
    pub fn new(of: GradientNumbers, parameters: &Parameters, [q, u]: [Vec<usize>; 2]) -> Self {
        Self { own: [Shaped::new(of.q, q), Shaped::new(of.u, u)], parameters: shaped(of.parameters, parameters) }
    }
}

/// Numbers in the shapes of parameters.
fn shaped(of: Vec<Vec<f64>>, parameters: &Parameters) -> Vec<Shaped> {
    of.into_iter().zip(parameters.tensors()).map(|(own, tensor)| Shaped::new(own, tensor.dims().to_vec())).collect()
}

#[pymethods]
impl Gradient {
    /// By q (B, nq); of a rollout, by q0.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.own[0].get(py)
    }

    /// By u: (B, nu), of a rollout (B, T, nu).
    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.own[1].get(py)
    }

    /// By each parameter, by name: new arrays with as many rows, 1 or B, as the parameter has.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_parameters(py, &self.parameters)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), "Gradient", &["q", "u"])
    }

    fn __repr__(&self) -> String {
        let [q, u] = self.own.each_ref().map(Shaped::shape);
        format!("<fingertip.Gradient by q {q}, u {u} and params>")
    }
}

/// Gradients of a cost by what a second-order step or rollout was given.
#[pyclass(frozen, module = "fingertip")]
pub struct DynamicGradient {
    /// By q, v and τ.
    pub own: [Shaped; 3],
    /// By each of the parameters.
    pub parameters: Vec<Shaped>,
}

impl DynamicGradient {
    /// The result of a step in Python.
    pub fn of_step(of: GradientNumbers, parameters: &Parameters, model: &Model, worlds: Worlds) -> Self {
        let (nq, nv) = (model.nq(), model.nv());
        // v and τ stand side by side.
        let half = |second: usize| {
            let rows = of.u.chunks_exact((2 * nv).max(1));
            let numbers = rows.flat_map(|row| &row[second * nv..(second + 1) * nv]).copied().collect();
            Shaped::new(numbers, worlds.shape(&[nv]))
        };
        let (v, tau) = (half(0), half(1));
        let own = [Shaped::new(of.q, worlds.shape(&[nq])), v, tau];
        Self { own, parameters: shaped(of.parameters, parameters) }
    }

    /// The result of a rollout of so many steps in Python.
    pub fn of_rollout(
        mut of: GradientNumbers,
        parameters: &Parameters,
        model: &Model,
        (worlds, n_steps): (Worlds, usize),
    ) -> Self {
        let (nq, nv) = (model.nq(), model.nv());
        // τ's come after v₀'s.
        let tau = of.u.split_off(worlds.count() * nv);
        let own = [
            Shaped::new(of.q, worlds.shape(&[nq])),
            Shaped::new(of.u, worlds.shape(&[nv])),
            Shaped::new(tau, worlds.shape(&[n_steps, nv])),
        ];
        Self { own, parameters: shaped(of.parameters, parameters) }
    }
}

#[pymethods]
impl DynamicGradient {
    /// By q (B, nq); of a rollout, by q0.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.own[0].get(py)
    }

    /// By v (B, nv); of a rollout, by v0.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.own[1].get(py)
    }

    /// By τ: (B, nv), of a rollout (B, T, nv).
    #[getter]
    fn tau<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.own[2].get(py)
    }

    /// By each parameter, by name: new arrays with as many rows, 1 or B, as the parameter has.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        by_parameters(py, &self.parameters)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        reduced(slf.as_any(), "DynamicGradient", &["q", "v", "tau"])
    }

    fn __repr__(&self) -> String {
        let [q, v, tau] = self.own.each_ref().map(Shaped::shape);
        format!("<fingertip.DynamicGradient by q {q}, v {v}, tau {tau} and params>")
    }
}
