//! Errors as Python's exceptions, and panics as errors.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::{create_exception, prelude::*};

create_exception!(
    fingertip,
    Error,
    PyValueError,
    "What was given cannot be used; the message says what was expected and what was given."
);
create_exception!(
    fingertip,
    Unsolved,
    PyRuntimeError,
    "Some worlds have no solution; raised by `raise_for_status` alone, the message says which."
);

/// What a result of the library is in Python, or the exception.
pub trait OrRaise<T> {
    /// The value, or the exception that says why there is none.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for candle_core::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| Error::new_err(fingertip::message(&error)))
    }
}

impl<T> OrRaise<T> for fingertip::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| match error {
            // With these three, Python chooses the class: FileNotFoundError and so on.
            fingertip::Error::File { path, source } => match source.raw_os_error() {
                Some(code) => PyOSError::new_err((code, reason(&source), path)),
                None => PyOSError::new_err(format!("{}: {source}", path.display())),
            },
            other => Error::new_err(other.to_string()),
        })
    }
}

/// The system's words, without the number that Rust adds.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}

/// Does work without the interpreter's lock. If it panics, that is an exception of the common kind.
pub fn detached<T: Send, R: OrRaise<T> + Send>(py: Python, work: impl FnOnce() -> R + Send) -> PyResult<T> {
    let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
    match done {
        Ok(result) => result.or_raise(),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(PyRuntimeError::new_err(format!("fingertip has a bug, please report it: {text}")))
        }
    }
}

/// Gives these lines as warnings to Python's `warnings`, which shows each once, at the line of the program that called
/// the package.
pub fn warn<'a>(py: Python, lines: impl Iterator<Item = &'a String>) -> PyResult<()> {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return Ok(());
    }
    let (category, level) = (py.get_type::<PyUserWarning>(), level(py)?);
    for line in lines {
        // A line has no zeros: names come from XML and TOML.
        PyErr::warn(py, &category, &CString::new(line.as_str()).unwrap_or_default(), level)?;
    }
    Ok(())
}

/// How many frames there are from here to the first that is not the package's.
fn level(py: Python) -> PyResult<i32> {
    let (mut level, mut frame) = (1, py.import("sys")?.call_method0("_getframe")?);
    while !frame.is_none() {
        let module: String = frame.getattr("f_globals")?.call_method1("get", ("__name__", ""))?.extract()?;
        if module.split('.').next() != Some("fingertip") {
            break;
        }
        (level, frame) = (level + 1, frame.getattr("f_back")?);
    }
    Ok(level)
}

/// Panics where the library would, for the tests.
#[pyfunction]
pub fn _panic(py: Python) -> PyResult<()> {
    detached(py, || -> fingertip::Result<()> { panic!("asked for") })
}
