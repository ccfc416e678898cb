//! Arrays in and out: what is taken, and what the messages say of the rest.

use fingertip::description::unknown;
use numpy::ndarray::IxDyn;
use numpy::{Element, PyArray, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::error::Error;

/// An array for Python.
pub type Array<'py, T = f64> = Bound<'py, PyArrayDyn<T>>;

/// So few numbers are copied: that takes less than to note in rust-numpy's table, which has a lock, that they are being
/// read.
const FEW: usize = 1024;

/// Numbers that were given: double precision, row after row.
pub enum Numbers<'py> {
    /// A copy of few, and their array.
    Few(Vec<f64>, Array<'py>),
    /// Those of an array that nothing of Rust's writes to meanwhile.
    Many(PyReadonlyArrayDyn<'py, f64>),
    /// Those of one world once for each of several, and their shape.
    Repeated(Vec<f64>, Vec<usize>),
}

/// How many worlds there are, and whether arrays have an axis for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worlds {
    /// One, without an axis.
    One,
    /// Some, along the first axis.
    Batch(usize),
}

impl Worlds {
    /// The number of worlds.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Batch(worlds) => worlds,
        }
    }

    /// The shape of an array with these axes for each world.
    pub fn shape(self, axes: &[usize]) -> Vec<usize> {
        match self {
            Self::One => axes.to_vec(),
            Self::Batch(worlds) => {
                let mut shape = Vec::with_capacity(1 + axes.len());
                shape.push(worlds);
                shape.extend_from_slice(axes);
                shape
            }
        }
    }

    /// The worlds of two arrays beside each other, where one world stands for all; none if both have several, and not
    /// as many.
    pub fn beside(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::One, other) | (Self::Batch(1), other @ Self::Batch(_)) => Some(other),
            (own, Self::One | Self::Batch(1)) => Some(own),
            (own, other) => (own == other).then_some(own),
        }
    }

    /// Is this the shape of an array with these axes for each world?
    fn fit(self, shape: &[usize], axes: &[usize]) -> bool {
        match (self, shape) {
            (Self::One, shape) => shape == axes,
            (Self::Batch(worlds), [first, rest @ ..]) => *first == worlds && rest == axes,
            _ => false,
        }
    }
}

impl<'py> Numbers<'py> {
    /// Takes arrays of any real type, order and strides, lists, and whatever else numpy makes an array of, also by
    /// DLPack. What needs no conversion is not copied.
    pub fn new(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = given.cast::<PyArrayDyn<f64>>()
            && let Some(own) = Self::as_it_is(array)
        {
            return Ok(own);
        }
        let py = given.py();
        let numpy = py.import("numpy")?;
        let shared = given.hasattr("__dlpack__")? && !given.hasattr("__array__")?;
        let how = if shared { "from_dlpack" } else { "asarray" };
        let array = numpy.call_method1(how, (given,)).map_err(|error| {
            let message = format!("{what}: expected an array of numbers, got what numpy makes none of: {error}");
            Error::new_err(message)
        })?;
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        if !["f", "i", "u", "b"].contains(&kind.as_str()) {
            let found = array.getattr("dtype")?.str()?;
            return Err(Error::new_err(format!("{what}: expected real numbers, got an array of {found}")));
        }
        let options = PyDict::new(py);
        options.set_item("dtype", "float64")?;
        options.set_item("requirements", ["C_CONTIGUOUS", "ALIGNED"])?;
        let array = numpy.call_method("require", (array,), Some(&options))?;
        let array = array.cast_into::<PyArrayDyn<f64>>()?;
        Self::as_it_is(&array).ok_or_else(|| Error::new_err(format!("{what}: expected an array that lies in memory")))
    }

    fn as_it_is(array: &Array<'py>) -> Option<Self> {
        if !array.is_c_contiguous() {
            return None;
        }
        if array.len() <= FEW {
            // SAFETY: what writes to arrays here does so with the interpreter's lock, which is held for the copy.
            let numbers = unsafe { array.as_slice() }.ok()?.to_vec();
            return Some(Self::Few(numbers, array.clone()));
        }
        let array = array.try_readonly().ok()?;
        array.as_slice().is_ok().then_some(Self::Many(array))
    }

    /// The numbers, row after row.
    pub fn as_slice(&self) -> &[f64] {
        match self {
            Self::Few(numbers, _) => numbers,
            Self::Many(array) => array.as_slice().unwrap_or_default(),
            Self::Repeated(numbers, _) => numbers,
        }
    }

    /// The array's shape, as numpy has it.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Few(_, array) => array.shape(),
            Self::Many(array) => array.shape(),
            Self::Repeated(_, shape) => shape,
        }
    }

    /// Rows of `n` numbers, one for each world, or a row alone.
    pub fn rows(what: &str, given: &Bound<'py, PyAny>, n: usize) -> PyResult<(Self, Worlds)> {
        let own = Self::new(what, given)?;
        let worlds = match *own.shape() {
            [width] if width == n => Worlds::One,
            [worlds, width] if width == n && worlds > 0 => Worlds::Batch(worlds),
            ref other => {
                let message = format!("{what}: expected shape (B, {n}) with B ≥ 1, or ({n},), got {}", shown(other));
                return Err(Error::new_err(message));
            }
        };
        Ok((own, worlds))
    }

    /// Numbers with these axes for each world.
    pub fn like(what: &str, given: &Bound<'py, PyAny>, worlds: Worlds, axes: &[usize]) -> PyResult<Self> {
        let own = Self::new(what, given)?;
        if worlds.fit(own.shape(), axes) { Ok(own) } else { Err(own.unlike(what, worlds, axes)) }
    }

    /// What is said of numbers that do not have these axes for each world.
    fn unlike(&self, what: &str, worlds: Worlds, axes: &[usize]) -> PyErr {
        let of = match worlds {
            Worlds::One => "one world without an axis".to_owned(),
            Worlds::Batch(count) => format!("{count} worlds"),
        };
        let (expected, got) = (shown(&worlds.shape(axes)), shown(self.shape()));
        Error::new_err(format!("{what}: expected shape {expected}, for {of}, got {got}"))
    }

    /// The worlds of these numbers with these axes for each world and of others beside them.
    fn joined(&self, worlds: Worlds, axes: &[usize]) -> Option<Worlds> {
        match self.shape() {
            shape if shape == axes => Some(worlds),
            [count, rest @ ..] if rest == axes && *count > 0 => worlds.beside(Worlds::Batch(*count)),
            _ => None,
        }
    }

    /// Numbers with these axes for each world beside others of some worlds, and the worlds of both: where either are of
    /// one world, that stands for all. [`Numbers::of_each`] repeats it.
    pub fn beside(what: &str, given: &Bound<'py, PyAny>, worlds: Worlds, axes: &[usize]) -> PyResult<(Self, Worlds)> {
        let own = Self::new(what, given)?;
        match own.joined(worlds, axes) {
            Some(all) => Ok((own, all)),
            None => Err(own.unlike(what, worlds, axes)),
        }
    }

    /// Numbers with these axes for each world, or for one that stands for all.
    pub fn shared(what: &str, given: &Bound<'py, PyAny>, worlds: Worlds, axes: &[usize]) -> PyResult<Self> {
        let own = Self::new(what, given)?;
        match own.joined(worlds, axes) {
            Some(all) if all == worlds => Ok(own.of_each(worlds, axes)),
            _ => Err(own.unlike(what, worlds, axes)),
        }
    }

    /// Numbers with these axes for each of the worlds: those of one world are repeated.
    #[must_use]
    pub fn of_each(self, worlds: Worlds, axes: &[usize]) -> Self {
        let one = axes.iter().product::<usize>();
        if self.as_slice().len() == one * worlds.count() {
            return self;
        }
        Self::Repeated(self.as_slice().repeat(worlds.count()), worlds.shape(axes))
    }

    /// Rows (B, T, n) or (T, n) beside numbers of some worlds, with the worlds of both as in [`Numbers::beside`], and
    /// T. Beside several worlds, those for all of them are (1, T, n): of two axes either could be missing.
    pub fn over_time(
        what: &str,
        given: &Bound<'py, PyAny>,
        worlds: Worlds,
        n: usize,
    ) -> PyResult<(Self, Worlds, usize)> {
        let own = Self::new(what, given)?;
        let n_steps = own.shape().iter().rev().nth(1).copied().unwrap_or_default();
        let is_told = worlds == Worlds::One || own.shape().len() > 2;
        match own.joined(worlds, &[n_steps, n]).filter(|_| is_told) {
            Some(all) => Ok((own, all, n_steps)),
            None => {
                let expected = match worlds {
                    Worlds::Batch(b) if b > 1 => format!("({b}, T, {n}), or (1, T, {n}) for all worlds"),
                    Worlds::Batch(_) => format!("(B, T, {n})"),
                    Worlds::One => format!("(T, {n})"),
                };
                Err(Error::new_err(format!("{what}: expected shape {expected}, got {}", shown(own.shape()))))
            }
        }
    }

    /// Three numbers.
    pub fn triple(what: &str, given: &Bound<PyAny>) -> PyResult<[f64; 3]> {
        let own = Numbers::new(what, given)?;
        match *own.as_slice() {
            [x, y, z] if own.shape().len() == 1 => Ok([x, y, z]),
            _ => Err(Error::new_err(format!("{what}: expected shape (3,), got {}", shown(own.shape())))),
        }
    }

    /// Numbers with these axes, or nothing.
    pub fn maybe(
        what: &str,
        given: Option<&Bound<'py, PyAny>>,
        worlds: Worlds,
        axes: &[usize],
    ) -> PyResult<Option<Self>> {
        given.map(|given| Self::like(what, given, worlds, axes)).transpose()
    }
}

/// Arrays by name that results are written to.
pub struct Out<'py>(Vec<(&'static str, Array<'py>)>);

impl<'py> Out<'py> {
    /// The arrays that were given by name, checked against the known names and shapes.
    pub fn of<const N: usize>(
        given: Option<&Bound<'py, PyDict>>,
        known: impl Fn() -> [(&'static str, Vec<usize>); N],
    ) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self(Vec::new())) };
        let known = known();
        let one = |(name, array): (Bound<'py, PyAny>, Bound<'py, PyAny>)| {
            let name: String = name.extract()?;
            let Some((name, shape)) = known.iter().find(|(own, _)| *own == name) else {
                return Err(Error::new_err(unknown("result to write", &name, known.iter().map(|(own, _)| *own))));
            };
            // Row after row, aligned and writable, in numpy's words.
            let fits = |array: &&Array| -> PyResult<bool> {
                Ok(array.shape() == shape && array.getattr("flags")?.get_item("CARRAY")?.extract()?)
            };
            let own = array.cast::<PyArrayDyn<f64>>().ok();
            let own = own.map(|array| Ok::<_, PyErr>((array, fits(&array)?))).transpose()?;
            match own {
                Some((array, true)) => Ok((*name, array.clone())),
                _ => {
                    let expected =
                        format!("expected a writable array of float64, row after row, of shape {}", shown(shape));
                    Err(Error::new_err(format!("out of {name}: {expected}, got {}", described(&array)?)))
                }
            }
        };
        Ok(Self(given.iter().map(one).collect::<PyResult<_>>()?))
    }

    /// The arrays with their names.
    pub fn iter(&self) -> impl Iterator<Item = &(&'static str, Array<'py>)> {
        self.0.iter()
    }
}

/// What was given in the place of an array, for messages.
fn described(given: &Bound<PyAny>) -> PyResult<String> {
    Ok(match (given.getattr_opt("dtype")?, given.getattr_opt("shape")?) {
        (Some(kind), Some(shape)) => {
            let flags = given.getattr("flags")?;
            let kept = |name: &str| flags.get_item(name)?.extract::<bool>();
            let how = match (kept("WRITEABLE")?, kept("C_CONTIGUOUS")?) {
                (false, _) => ", read-only",
                (_, false) => ", not row after row",
                _ => "",
            };
            format!("{kind} of shape {}{how}", shape.str()?)
        }
        _ => given.get_type().name()?.to_string(),
    })
}

/// The numbers, none if nothing was given.
pub fn or_none<'a>(given: &'a Option<Numbers>) -> &'a [f64] {
    given.as_ref().map_or(&[], Numbers::as_slice)
}

/// A number of things, at least one.
pub fn count(what: &str, given: i64) -> PyResult<usize> {
    let count = usize::try_from(given).ok().filter(|n| *n > 0);
    count.ok_or_else(|| Error::new_err(format!("{what}: expected at least 1, got {given}")))
}

/// A shape as Python shows it.
pub fn shown(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        all => format!("({})", all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// An array of a shape from numbers, row after row.
pub fn array<'py, T: Element + Copy>(py: Python<'py>, numbers: &[T], shape: &[usize]) -> PyResult<Array<'py, T>> {
    if shape.iter().product::<usize>() != numbers.len() {
        return Err(Error::new_err(format!("{} numbers are not {}", numbers.len(), shown(shape))));
    }
    // SAFETY: the array is new, and has as many numbers as are written to it, row after row.
    unsafe {
        let array = PyArray::<T, _>::new(py, IxDyn(shape), false);
        array.data().copy_from_nonoverlapping(numbers.as_ptr(), numbers.len());
        Ok(array)
    }
}

/// An array that is made when it is first asked for, and is the same one from then on.
pub struct Lazy<T = f64>(PyOnceLock<Py<PyArray<T, IxDyn>>>);

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(PyOnceLock::new())
    }
}

impl<T: Element + Copy> Lazy<T> {
    /// One that is made already.
    pub fn of(array: Array<'_, T>) -> Self {
        let own = Self::default();
        let py = array.py();
        own.0.get_or_init(py, || array.unbind());
        own
    }

    /// Writes the numbers to an array of their length, which is the one from then on.
    pub fn write(&self, numbers: &[T], to: &Array<'_, T>) -> PyResult<()> {
        to.try_readwrite()?.as_slice_mut()?.copy_from_slice(numbers);
        self.0.get_or_init(to.py(), || to.clone().unbind());
        Ok(())
    }

    /// The array, made of `numbers` when it is first asked for.
    pub fn get<'py>(&self, py: Python<'py>, numbers: &[T], shape: &[usize]) -> PyResult<Array<'py, T>> {
        self.or_make(py, || array(py, numbers, shape))
    }

    /// The array, of numbers that are computed if it is not there.
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        numbers: impl FnOnce() -> Vec<T>,
        shape: &[usize],
    ) -> PyResult<Array<'py, T>> {
        self.or_make(py, || PyArray::from_vec(py, numbers()).reshape(IxDyn(shape)))
    }

    /// The array, which is made if it is not there.
    pub fn or_make<'py>(
        &self,
        py: Python<'py>,
        make: impl FnOnce() -> PyResult<Array<'py, T>>,
    ) -> PyResult<Array<'py, T>> {
        if let Some(made) = self.0.get(py) {
            return Ok(made.bind(py).clone());
        }
        // Not `get_or_init`, which lets go of the interpreter's lock and takes it again. The first of two threads has
        // its array kept.
        let made = make()?;
        self.0.set(py, made.clone().unbind()).ok();
        Ok(self.0.get(py).map_or(made, |made| made.bind(py).clone()))
    }
}
