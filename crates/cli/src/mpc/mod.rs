//! `fingertip mpc`: a task, done by model-predictive control.

mod episodes;
mod input;
mod recorded;
mod results;
mod sequences;
mod stdio;
mod supervised;
pub mod tasks;
mod tune;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fingertip::mpc::plant::{self, Options};
use fingertip::mpc::roadmap::Guide;
use fingertip::mpc::task::Episode;
use fingertip::mpc::{Supervisor, Task};
use fingertip::overrides::Overrides;

use super::{Outcome, names, plan};

/// Does a task by model-predictive control.
///
/// The plant is one of our own steps with harder contacts, which --latency, --noise and --with make unlike what the
/// planner believes; or, with --stdio, any robot or simulator: see crates/plan/docs/stdio.md. A table shows every
/// episode's goal, errors and times; --json prints one line per episode instead. The exit status is 1 if an episode on
/// the step's own plant does not succeed.
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

    /// Most goals of a sequence, instead of the task's number.
    #[arg(long, value_name = "N")]
    goals: Option<usize>,

    /// Plans without the task's supervisor.
    #[arg(long)]
    plain: bool,

    /// Roadmap that leads to far goals: a file by `fingertip plan`.
    #[arg(long, value_name = "FILE", conflicts_with = "plain")]
    roadmap: Option<PathBuf>,

    /// Time limit for each command, ms; with --stdio of lines without one of their own [default: none].
    #[arg(long, value_name = "MS")]
    deadline: Option<f64>,

    /// Plans with native code: the machine's C compiler compiles the scene's kernels before the first command and
    /// caches them.
    #[arg(long)]
    native: bool,

    /// Latency that the planner reckons with, instead of the task's, ms.
    #[arg(long, value_name = "MS")]
    known_latency: Option<f64>,

    /// The step that is the plant.
    #[arg(long, value_enum, default_value_t = Kind::QuasiDynamic)]
    plant: Kind,

    /// κ of the plant, 1/J.
    #[arg(long, value_name = "KAPPA", default_value_t = PLANT_KAPPA)]
    plant_kappa: f64,

    /// Latency of the plant, ms: the time from a measurement until the command that answers it takes effect.
    #[arg(long, value_name = "MS", default_value_t = 0.0)]
    latency: f64,

    /// Standard deviations of the plant's measured positions and rotations of objects, mm and degrees.
    #[arg(long, value_name = "MM,DEGREES", value_parser = deviations, default_value = "0,0", hide_default_value = true)]
    noise: [f64; 2],

    /// Parameters of the plant that the planner does not know, such as '{"mu": {"cube/tips": 0.25}, "mass": {"cube":
    /// 0.02}}': JSON as in a line of `fingertip step`.
    #[arg(long, value_name = "JSON")]
    with: Option<String>,

    /// Prints one line of JSON for each episode.
    #[arg(long)]
    json: bool,

    /// Writes the first episode to this file (MCAP), and says what touches what at its end.
    #[arg(long, value_name = "FILE", value_parser = names::recording)]
    record: Option<PathBuf>,

    /// Plots its forces and motion to this file (SVG).
    #[arg(long, value_name = "FILE", value_parser = names::figure, requires = "record")]
    plot: Option<PathBuf>,

    /// Tries other settings on all cores, each upon the best so far: method, horizon and weight of reach together, then
    /// the weight of command, supervisor, kappa, substeps, iterations, bound, law, posture, margin. It prints a table,
    /// the keys that are better together, and how these do on other episodes. --episodes is their number for each
    /// setting [default: 5]; --json prints a line for each.
    #[arg(long, conflicts_with_all = ["record", "plot", "roadmap", "stdio", "native"])]
    tune: bool,

    /// Time that --tune has, s.
    #[arg(long, value_name = "S", requires = "tune", default_value_t = tune::SECONDS)]
    seconds: f64,

    /// Answers lines of JSON on stdin: measured states in, commands out.
    #[arg(long, conflicts_with_all = ["episodes", "first", "json", "record", "plot", "plant", "plant_kappa", "latency", "noise", "with"])]
    stdio: bool,

    /// With --stdio: repeats the command, with the status "silent", whenever this much time passes without a line, ms.
    #[arg(long, value_name = "MS", requires = "stdio")]
    silence: Option<f64>,
}

/// The step of the own plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// The quasi-dynamic step, with harder contacts.
    QuasiDynamic,
    /// The second-order step: objects have momentum, and slide and roll on.
    SecondOrder,
}

/// κ of the own plant unless it is given, 1/J.
pub const PLANT_KAPPA: f64 = plant::KAPPA;

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
            goals: None,
            plain: false,
            roadmap: None,
            deadline: None,
            native: false,
            known_latency: None,
            plant: Kind::QuasiDynamic,
            plant_kappa: PLANT_KAPPA,
            latency: 0.0,
            noise: [0.0; 2],
            with: None,
            json: false,
            record: Some(record),
            plot: Some(plot),
            tune: false,
            seconds: tune::SECONDS,
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
    if args.goals.is_some() && !task.is_sequence() {
        return Err("--goals: expected a task of goals in a row, not one of single goals".into());
    }
    let silence = args.silence.map(|ms| milliseconds("--silence", ms, LEAST_SILENCE)).transpose()?;
    let guide = args.roadmap.as_ref().map(|path| guide(&task, path)).transpose()?;
    if args.stdio {
        stdio::run(task, (args.seed, args.goals), [silence, args.limit()], guide)
    } else if args.tune {
        tune::run(&task, &options(args)?, args)
    } else {
        episodes::run(&task, &options(args)?, args, guide.as_ref())
    }
}

/// A task's roadmap.
fn guide(task: &Task, path: &Path) -> Result<Guide, Box<dyn std::error::Error>> {
    if task.supervision.is_none() {
        return Err("--roadmap: expected a task with a supervisor, [supervisor] in its file".into());
    }
    Ok(Guide::new(plan::load(task, path)?))
}

/// The supervisor of an episode, with a roadmap if there is one.
fn supervisor(task: &Task, episode: &Episode, guide: Option<&Guide>) -> candle_core::Result<Supervisor> {
    let supervisor = Supervisor::new(task, episode)?;
    Ok(match guide {
        Some(guide) => supervisor.with_guide(guide.clone()),
        None => supervisor,
    })
}

fn load(args: &Args) -> Result<Task, Box<dyn std::error::Error>> {
    let task = settled(names::task(&args.task)?, args)?;
    if args.native { natively(task) } else { Ok(task) }
}

impl Args {
    /// The time limit for each command.
    fn limit(&self) -> Option<Duration> {
        self.deadline.map(|ms| Duration::from_secs_f64(1e-3 * ms))
    }
}

/// A task with what the arguments replace.
fn settled(mut task: Task, args: &Args) -> Result<Task, Box<dyn std::error::Error>> {
    if let Some(name) = &args.method {
        task.settings.method = name.parse().map_err(|error: fingertip::Error| error.within("--method"))?;
    }
    task.settings.ilqr.iterations = args.iterations.unwrap_or(task.settings.ilqr.iterations);
    task.settings.seed = args.seed;
    task.cap = args.cap.unwrap_or(task.cap);
    if task.cap == 0 {
        return Err("--cap: expected at least 1, got 0".into());
    }
    if args.goals == Some(0) {
        return Err("--goals: expected at least 1, got 0".into());
    }
    task.supervision = task.supervision.filter(|_| !args.plain);
    args.deadline.map(|ms| milliseconds("--deadline", ms, 0.0)).transpose()?;
    if let Some(ms) = args.known_latency {
        task.settings.latency = milliseconds("--known-latency", ms, 0.0)?.as_secs_f64();
    }
    Ok(task)
}

/// Reads from the arguments how the plant differs from what the planner believes.
fn options(args: &Args) -> Result<Options, Box<dyn std::error::Error>> {
    let with = args.with.as_deref().map(Overrides::from_json).transpose();
    Ok(Options {
        kind: match args.plant {
            Kind::QuasiDynamic => plant::Kind::QuasiDynamic,
            Kind::SecondOrder => plant::Kind::SecondOrder,
        },
        kappa: plant_kappa(args.plant_kappa)?,
        latency: milliseconds("--latency", args.latency, 0.0)?.as_secs_f64(),
        noise: [1e-3 * args.noise[0], args.noise[1].to_radians()],
        with: with.map_err(|error| error.within("--with"))?.unwrap_or_default(),
    })
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

/// Two standard deviations, separated by a comma.
fn deviations(text: &str) -> Result<[f64; 2], String> {
    let one = |part: &str| part.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
    let both = text.split_once(',').and_then(|(a, b)| Some([one(a)?, one(b)?]));
    both.ok_or_else(|| "expected two numbers from 0 up, such as 1,0.5".to_owned())
}

/// κ of a plant, 1/J, if it can be one.
pub fn plant_kappa(kappa: f64) -> Result<f64, String> {
    let is_sound = kappa.is_finite() && kappa > 0.0;
    is_sound.then_some(kappa).ok_or_else(|| format!("--plant-kappa: expected a positive number, got {kappa}"))
}
