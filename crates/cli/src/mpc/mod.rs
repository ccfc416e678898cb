//! `fingertip mpc`: a task, done by model-predictive control.

mod episodes;
mod plant;
mod results;
mod stdio;
pub mod tasks;

use std::path::PathBuf;
use std::time::Duration;

use fingertip::mpc::Task;

use super::{Outcome, names};

/// Does a task by model-predictive control.
///
/// The plant is the step itself with harder contacts, or, with --stdio, any robot or simulator: see crates/plan/docs/tasks.md. A
/// table shows every episode's goal, errors and times; --json prints one line per episode instead. The exit status is 1
/// if an episode on the step's own plant does not succeed.
#[derive(clap::Args)]
pub struct Args {
    /// Task file (TOML), or the name of a task: `fingertip tasks` lists them.
    task: PathBuf,

    /// Episodes [default: all of the list of goals, else 5].
    #[arg(long, value_name = "N")]
    episodes: Option<usize>,

    /// Number of the first episode.
    #[arg(long, value_name = "I", default_value_t = 0)]
    first: usize,

    /// Seed of the random draws.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Method that replaces the task's: ilqr, hybrid, mppi, cem, lbfgs, sqp, rctr, ctr.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,

    /// Iterations per control period, instead of the task's number.
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,

    /// Most control periods of an episode, instead of the task's number.
    #[arg(long, value_name = "N")]
    cap: Option<usize>,

    /// Time limit for each command, ms [default: none].
    #[arg(long, value_name = "MS")]
    deadline: Option<f64>,

    /// Plans with native code: the machine's C compiler compiles the scene's kernels before the first command and
    /// caches them.
    #[arg(long)]
    native: bool,

    /// κ of the step's own plant, 1/J.
    #[arg(long, value_name = "KAPPA", default_value_t = PLANT_KAPPA)]
    plant_kappa: f64,

    /// Prints one line of JSON for each episode.
    #[arg(long)]
    json: bool,

    /// Writes the first episode to this file (MCAP), and says what touches what at its end.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Plots its forces and motion to this file (SVG).
    #[arg(long, value_name = "FILE", requires = "record")]
    plot: Option<PathBuf>,

    /// Answers lines of JSON on stdin: measured states in, commands out.
    #[arg(long, conflicts_with_all = ["episodes", "first", "json", "record", "plot"])]
    stdio: bool,

    /// With --stdio: repeats the command, with the status "silent", whenever this much time passes without a line, ms.
    #[arg(long, value_name = "MS", requires = "stdio")]
    silence: Option<f64>,
}

/// κ of the own plant unless it is given, 1/J.
pub const PLANT_KAPPA: f64 = 1e6;

impl Args {
    /// An episode that is recorded and plotted, of so many control periods at most.
    pub fn job(task: PathBuf, first: usize, cap: usize, record: PathBuf, plot: PathBuf) -> Self {
        Self {
            task,
            episodes: Some(1),
            first,
            seed: 0,
            method: None,
            iterations: None,
            cap: Some(cap),
            deadline: None,
            native: false,
            plant_kappa: PLANT_KAPPA,
            json: false,
            record: Some(record),
            plot: Some(plot),
            stdio: false,
            silence: None,
        }
    }
}

/// Longest deadline, ms.
const LONGEST: f64 = 1e9;
/// Shortest time that counts as silence, ms.
const LEAST_SILENCE: f64 = 1.0;

pub fn run(args: &Args) -> Outcome {
    let task = load(args)?;
    let silence = args.silence.map(|ms| milliseconds("--silence", ms, LEAST_SILENCE)).transpose()?;
    if args.stdio { stdio::run(task, args.seed, silence) } else { episodes::run(&task, args) }
}

fn load(args: &Args) -> Result<Task, Box<dyn std::error::Error>> {
    let mut task = names::task(&args.task)?;
    if let Some(name) = &args.method {
        task.settings.method = name.parse().map_err(|error: fingertip::Error| error.within("--method"))?;
    }
    task.settings.ilqr.iterations = args.iterations.unwrap_or(task.settings.ilqr.iterations);
    task.settings.seed = args.seed;
    task.cap = args.cap.unwrap_or(task.cap);
    if task.cap == 0 {
        return Err("--cap: expected at least 1, got 0".into());
    }
    args.deadline.map(|ms| milliseconds("--deadline", ms, 0.0)).transpose()?;
    plant_kappa(args.plant_kappa)?;
    if args.native { natively(task) } else { Ok(task) }
}

/// The task planned with native code.
#[cfg(feature = "native")]
fn natively(task: Task) -> Result<Task, Box<dyn std::error::Error>> {
    Ok(task.native()?)
}

#[cfg(not(feature = "native"))]
fn natively(_: Task) -> Result<Task, Box<dyn std::error::Error>> {
    Err(crate::scene::NOT_NATIVE.into())
}

/// A time from milliseconds, if it can be one.
fn milliseconds(name: &str, ms: f64, least: f64) -> Result<Duration, String> {
    let is_sound = (least..=LONGEST).contains(&ms);
    let expected = || format!("{name}: expected milliseconds from {least} to {LONGEST:e}, got {ms}");
    is_sound.then(|| Duration::from_secs_f64(1e-3 * ms)).ok_or_else(expected)
}

/// κ of a plant, 1/J, if it can be one.
pub fn plant_kappa(kappa: f64) -> Result<f64, String> {
    let is_sound = kappa.is_finite() && kappa > 0.0;
    is_sound.then_some(kappa).ok_or_else(|| format!("--plant-kappa: expected a positive number, got {kappa}"))
}
