//! From logs to parameters: what fits best, how sure it is, and what the logs cannot tell.
//!
#![doc = include_str!("../../docs/fit.md")]

mod log;
pub(crate) mod net;
mod report;
mod search;
mod segment;
mod sure;
mod unknown;
mod world;

use std::collections::BTreeMap;

use candle_core::{DType, Result};

use fingertip_shapes::Error;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;

pub use log::{Channel, Kind, Log};
pub(crate) use log::{FORCE, Of};
pub(crate) use net::Net;
pub use sure::{Blind, Fitted};
pub use unknown::{Unknown, meant, unknowns};

use search::Problem;

/// How a fit goes about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Moves by the second-order step, whose joints springs pull to their commands, and not by the quasi-dynamic one.
    pub second_order: bool,
    /// Parts of the logs at most so long, s, each rolled out from what was measured at its start; else logs are rolled
    /// out as a whole.
    pub window: Option<f64>,
    /// Standard deviations of measurements; those of other kinds are found from what is left over.
    pub noise: BTreeMap<Kind, f64>,
    /// The most steps of Gauss and Newton for given noise.
    pub max_iterations: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { second_order: false, window: None, noise: BTreeMap::new(), max_iterations: 50 }
    }
}

/// The parameters that explain the logs best, and how sure they are.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The numbers, in the order in which they were asked for.
    pub numbers: Vec<Fitted>,
    /// The parameters with these numbers.
    pub parameters: Parameters,
    /// Combinations of numbers that the logs do not tell.
    pub blind: Vec<Blind>,
    /// For each kind that was measured: the number of residuals, their root mean square, and the standard deviation of
    /// noise that was reckoned with.
    pub noise: BTreeMap<Kind, (usize, f64, f64)>,
    /// Half the sum of squares of residuals over noise, and of what is off from priors: before and after.
    pub cost: [f64; 2],
    /// How alike residuals are that follow each other in time, from −1 to 1: about 0 for noise alone. Where a model
    /// cannot do what was measured they are alike, and standard errors are too small.
    pub correlation: f64,
    /// What each log's channels measured, and what was predicted there.
    pub predictions: Vec<Prediction>,
    /// Steps of Gauss and Newton.
    pub iterations: usize,
    /// Did the search end because there was nothing more to gain?
    pub converged: bool,
    /// Steps of the last rollouts, and how many of them had no solution.
    pub steps: [usize; 2],
}

/// A channel of a log beside what was predicted.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The log, as a place in the list of logs.
    pub log: usize,
    /// The channel, as a place in the log's list.
    pub channel: usize,
    /// Times, s.
    pub time: Vec<f64>,
    /// What was measured (n, width); for rotations, zeros (n, 3).
    pub measured: Vec<f64>,
    /// What was predicted; for rotations, the rotation vector from what was measured to it, rad.
    pub predicted: Vec<f64>,
}

/// Fits numbers of a scene to logs, from `parameters` on, with one row for all worlds, by the method of Levenberg and
/// Marquardt within bounds. The derivatives are exact.
///
/// # Errors
/// If there are no logs or no numbers, the model's type is not `f64`, a start, bound, prior or option is not possible,
/// or the first rollout is not finite.
pub fn fit(
    model: &Model,
    parameters: &Parameters,
    logs: &[Log],
    unknowns: &[Unknown],
    options: &Options,
) -> Result<Fit> {
    let wrong = |place: &str, message: String| Err(Error::invalid(place, message).into());
    if model.dtype != DType::F64 {
        return wrong("fit", format!("expected a model of F64, got {:?}", model.dtype));
    }
    if logs.is_empty() {
        return wrong("fit", "expected at least one log".to_owned());
    }
    if unknowns.is_empty() {
        return wrong("fit", "expected at least one number to look for".to_owned());
    }
    unknowns.iter().try_for_each(Unknown::check)?;
    if let Some(window) = options.window.filter(|window| !window.is_finite() || *window <= 0.0) {
        return wrong("window", format!("expected a positive time in s, got {window}"));
    }
    if let Some((kind, noise)) = options.noise.iter().find(|(_, noise)| !noise.is_finite() || **noise <= 0.0) {
        return wrong("noise", format!("{}: expected a positive standard deviation, got {noise}", kind.name().0));
    }
    if options.max_iterations == 0 {
        return wrong("max_iterations", "expected at least 1, got 0".to_owned());
    }
    let problem = Problem::new(model, parameters, logs, unknowns, options)?;
    let (found, first) = problem.solve(options)?;
    problem.result(&found, first)
}

/// The root of the mean of squares.
fn root_mean_square(residuals: impl Iterator<Item = f64>) -> (usize, f64) {
    let (n, sum) = residuals.fold((0, 0.0), |(n, sum): (usize, f64), x| (n + 1, x.mul_add(x, sum)));
    (n, (sum / n.max(1) as f64).sqrt())
}
