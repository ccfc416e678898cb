//! Hands that follow keypoints.

use std::path::PathBuf;
use std::sync::Mutex;

use fingertip::follow::{self, Followed as Found, Map, Motion, Options, Scale};
use fingertip::show::read_log;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Array, Lazy, Numbers, array};
use crate::error::{Error, OrRaise, detached};
use crate::model::Model;

/// What follows which keypoint: of a file, or by the hand's own links.
fn map(model: &Model, path: Option<PathBuf>, scale: Option<f64>) -> PyResult<Map> {
    let map = match path {
        Some(path) => Map::read(path).or_raise()?,
        None => Map::of_hand(&model.of).or_raise()?,
    };
    Ok(match scale {
        Some(scale) => map.with_scale(Scale::Given(scale)),
        None => map,
    })
}

/// Keypoints from an array (…, n, 3), and its first axes.
fn points(what: &str, given: &Bound<PyAny>, axes: usize) -> PyResult<(Vec<[f64; 3]>, Vec<usize>)> {
    let numbers = Numbers::new(what, given)?;
    let shape = numbers.shape();
    if shape.len() != axes || shape[axes - 1] != 3 {
        let expected = if axes == 2 { "(keypoints, 3)" } else { "(frames, keypoints, 3)" };
        let got = PyTuple::new(given.py(), shape)?;
        return Err(Error::new_err(format!("{what}: expected shape {expected}, got {got}")));
    }
    let points = numbers.as_slice().chunks_exact(3).map(|p| [p[0], p[1], p[2]]);
    Ok((points.collect(), shape.to_vec()))
}

/// A hand that follows keypoints, frame by frame, for a control loop:
/// `u = fingertip.Follower(model).step(keypoints, dt)`.
///
/// Without `map`, the name of a TOML file, the fingers that the hand's links are named after follow the 21 keypoints of
/// hand trackers. `scale` is how much larger the hand is, for all vectors; without, the hand's reach over the human's.
/// `smooth`, m, is what a change of 1 rad counts as; `cutoff`, Hz, that of a filter on keypoints; `margin`, m, the
/// least gap of own parts, None for none; `speed_limits` holds to the robot's largest speeds.
#[pyclass(frozen, module = "fingertip")]
pub struct Follower {
    of: Mutex<follow::Follower>,
    targets: Vec<String>,
}

impl Follower {
    fn with<T>(&self, act: impl FnOnce(&mut follow::Follower) -> T) -> T {
        // What panicked left numbers, which the next step overwrites.
        act(&mut self.of.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

#[pymethods]
impl Follower {
    #[new]
    #[pyo3(signature = (model, map=None, *, scale=None, smooth=0.02, cutoff=None, margin=Some(0.001), speed_limits=true))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python,
        model: &Model,
        map: Option<PathBuf>,
        scale: Option<f64>,
        smooth: f64,
        cutoff: Option<f64>,
        margin: Option<f64>,
        speed_limits: bool,
    ) -> PyResult<Self> {
        let options = Options { smooth, cutoff, margin, speed_limits, ..Options::default() };
        let map = self::map(model, map, scale)?;
        let targets = map.targets.iter().map(|target| target.name.clone()).collect();
        let of = detached(py, || follow::Follower::new(&model.of, &map, &options))?;
        Ok(Self { of: Mutex::new(of), targets })
    }

    /// Follows one frame of keypoints (n, 3), m, `dt` seconds after the last one, and returns the commands (nu,). What
    /// is not known is NaN: what needs it has no weight.
    fn step<'py>(&self, py: Python<'py>, keypoints: &Bound<'py, PyAny>, dt: f64) -> PyResult<Array<'py>> {
        let (points, _) = points("keypoints", keypoints, 2)?;
        let u = self.with(|of| of.step(&points, dt).map(|()| of.u().to_vec())).or_raise()?;
        array(py, &u, &[u.len()])
    }

    /// Begins anew, at q (nq,) or at home.
    #[pyo3(signature = (q=None))]
    fn reset(&self, q: Option<&Bound<PyAny>>) -> PyResult<()> {
        let q = q.map(|q| Numbers::new("q", q)).transpose()?;
        self.with(|of| of.reset(q.as_ref().map(Numbers::as_slice))).or_raise()
    }

    /// The configuration (nq,), rad and m; what no command moves is at home.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let q = self.with(|of| of.q().to_vec());
        array(py, &q, &[q.len()])
    }

    /// The targets' names, in the order of `errors`.
    #[getter]
    fn targets(&self) -> Vec<String> {
        self.targets.clone()
    }

    /// How far each target was missed in the last frame (targets,), m; NaN where it had less than half its weight.
    #[getter]
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let errors = self.with(|of| of.errors().to_vec());
        array(py, &errors, &[errors.len()])
    }

    /// The least gap of own parts in the last frame, m; None if none was near.
    #[getter]
    fn gap(&self) -> Option<f64> {
        self.with(|of| of.gap())
    }

    /// Steps of Gauss and Newton in the last frame.
    #[getter]
    fn iterations(&self) -> usize {
        self.with(|of| of.iterations())
    }

    fn __repr__(&self) -> String {
        format!("<fingertip.Follower of {}>", self.targets.join(", "))
    }
}

/// What `fingertip.follow` found.
#[pyclass(frozen, module = "fingertip")]
pub struct Followed {
    of: Found,
    keypoints: Vec<f64>,
    made: [Lazy; 7],
}

impl Followed {
    fn rows<'py>(&self, py: Python<'py>, place: usize, numbers: &[f64]) -> PyResult<Array<'py>> {
        let n = self.of.time.len();
        self.made[place].get(py, numbers, &[n, numbers.len() / n.max(1)])
    }
}

#[pymethods]
impl Followed {
    /// Times of the frames (n,), s.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[0].get(py, &self.of.time, &[self.of.time.len()])
    }

    /// Configurations (n, nq), rad and m.
    #[getter]
    fn q<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.rows(py, 1, &self.of.q)
    }

    /// Commands (n, nu), rad and m.
    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.rows(py, 2, &self.of.u)
    }

    /// How far each target was missed (n, targets), m; NaN where it had less than half its weight.
    #[getter]
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.rows(py, 3, &self.of.errors)
    }

    /// The keypoints that were followed (n, keypoints, 3), m.
    #[getter]
    fn keypoints<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        let n = self.of.time.len();
        self.made[4].get(py, &self.keypoints, &[n, self.keypoints.len() / (3 * n.max(1)), 3])
    }

    /// How much larger each target's vector is than the keypoints' (targets,).
    #[getter]
    fn scales<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[5].get(py, &self.of.scales, &[self.of.scales.len()])
    }

    /// Time that each frame took (n,), s.
    #[getter]
    fn seconds<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        self.made[6].get(py, &self.of.seconds, &[self.of.seconds.len()])
    }

    /// The targets' names, in the order of the columns of `errors`.
    #[getter]
    fn targets(&self) -> Vec<String> {
        self.of.targets.clone()
    }

    /// The least gap of own parts over all frames, m; None if none was ever near.
    #[getter]
    fn least_gap(&self) -> Option<f64> {
        self.of.least_gap()
    }

    /// The joints that moved, and in how many frames each was at an end of its range.
    #[getter]
    fn at_limits(&self) -> std::collections::BTreeMap<String, usize> {
        self.of.at_limits.iter().cloned().collect()
    }

    fn __repr__(&self) -> String {
        let line = |(k, name): (usize, &String)| {
            let (mean, most, n) = self.of.error(k);
            if n == 0 {
                return format!("\n  {name}: not followed");
            }
            format!("\n  {name}: {:.2} mm off in the mean, {:.2} mm at most, in {n} frames", 1e3 * mean, 1e3 * most)
        };
        let lines: String = self.of.targets.iter().enumerate().map(line).collect();
        format!("<fingertip.Followed{lines}>")
    }
}

/// A hand follows a motion of keypoints: `found.u` are the commands, a row for each frame.
///
/// `motion` is a file (CSV, JSON lines) or an array (frames, keypoints, 3), m, at `rate`, Hz, where it has no times;
/// with `of`, another hand's model, a log of its joints (CSV, MCAP). Without `map`, the name of a TOML file, the
/// fingers that the hand's links are named after follow the 21 keypoints of hand trackers. The other arguments are
/// those of `Follower`. The page crates/plan/docs/follow.md says more.
#[pyfunction]
#[pyo3(name = "follow", signature = (
    model, motion, map=None, *, of=None, scale=None, rate=30.0, smooth=0.02, cutoff=None, margin=Some(0.001),
    speed_limits=true
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub fn follow_motion(
    py: Python,
    model: &Model,
    motion: &Bound<PyAny>,
    map: Option<PathBuf>,
    of: Option<&Model>,
    scale: Option<f64>,
    rate: f64,
    smooth: f64,
    cutoff: Option<f64>,
    margin: Option<f64>,
    speed_limits: bool,
) -> PyResult<Followed> {
    let options = Options { smooth, cutoff, margin, speed_limits, ..Options::default() };
    let map = self::map(model, map, scale)?;
    let path: Option<PathBuf> = motion.extract().ok();
    let motion = match (path, of) {
        (Some(path), Some(other)) => detached(py, || Motion::of_hand(&other.of, &read_log(&other.of, path)?))?,
        (Some(path), None) => Motion::read(path, &map.keypoints, rate).or_raise()?,
        (None, Some(_)) => return Err(Error::new_err("of: expected a motion's file beside it, got an array")),
        (None, None) => {
            let (points, shape) = points("motion", motion, 3)?;
            if !(rate.is_finite() && rate > 0.0) {
                return Err(Error::new_err(format!("rate: expected a positive frequency in Hz, got {rate}")));
            }
            let frames = points.chunks(shape[1].max(1)).map(<[_]>::to_vec).collect();
            let time = (0..shape[0]).map(|k| k as f64 / rate).collect();
            Motion::new("motion", &map.keypoints, time, frames).or_raise()?
        }
    };
    let found = detached(py, || follow::follow(&model.of, &motion, &map, &options))?;
    let keypoints = motion.frames.concat().into_iter().flatten().collect();
    Ok(Followed { of: found, keypoints, made: Default::default() })
}
