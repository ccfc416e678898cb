//! The command line.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::error::detached;

/// Runs the program `fingertip` with these arguments, for `fingertip.__main__`, and gives its exit status.
#[pyfunction]
pub fn _run(py: Python, arguments: Vec<OsString>) -> PyResult<u8> {
    let all = std::iter::once(OsString::from("fingertip")).chain(arguments);
    detached(py, || fingertip::Result::Ok(fingertip_cli::run(all) as u8))
}
