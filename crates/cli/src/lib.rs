//! The command line of `fingertip`, for its program and for the one that comes with the Python package.

#![deny(missing_docs)]

#[macro_use]
mod print;

mod audit;
mod bench;
mod blame;
mod codegen;
mod controls;
mod decompose;
mod demo;
mod export;
mod feel;
mod fit;
mod follow;
mod inspect;
mod lines;
mod made;
mod message;
mod mpc;
mod names;
mod plan;
mod rollout;
mod scene;
mod scenes;
mod step;
mod summary;
mod table;
mod view;

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Parser, Subcommand};

pub use inspect::not_in_step;
pub use summary::far_in_step;

/// For the repository's tests, and no part of the interface.
#[doc(hidden)]
pub mod inner {
    pub use crate::audit::differences::{Comparison, Finding, GRADIENT, Judge, Judgement, Slopes};
    pub use crate::audit::gradients::Gradients;
    pub use crate::audit::inputs::Inputs;
    pub use crate::audit::quantities::Quantities;
    pub use crate::audit::states::states;
}

/// The end of a program; its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Success = 0,
    /// Something was found wrong: a failed audit, a rollout with steps that were not solved.
    Failed = 1,
    /// The input is bad.
    BadInput = 2,
}

/// The result of a command: an error for stderr, or the verdict that decides the exit status.
type Outcome = Result<Exit, Box<dyn std::error::Error>>;

/// Differentiable contact simulation for robot hands.
///
/// A scene (TOML) names robots (URDF) and objects. Each step takes the configuration q and the commanded joint
/// positions u to the next configuration and the contact forces.
///
/// Without a command, the demo runs.
#[derive(Parser)]
#[command(
    name = "fingertip",
    version,
    max_term_width = 100,
    after_long_help = "Exit status: 0, 1 if an audit or an episode fails or a rollout has steps that were not solved, 2 for bad input; `step` \
                  answers bad lines in their places and ends with 0."
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Inspect(inspect::Args),
    Step(step::Args),
    Rollout(rollout::Args),
    View(view::Args),
    Export(export::Args),
    Fit(fit::Args),
    Feel(feel::Args),
    Follow(follow::Args),
    Decompose(decompose::Args),
    Audit(audit::Args),
    Bench(bench::Args),
    Codegen(codegen::Args),
    Mpc(Box<mpc::Args>),
    Plan(plan::Args),
    Tasks(mpc::tasks::Args),
    Scene(scenes::Args),
}

/// Runs the program with these arguments, the program's name first. Where they make no command, or ask for help, the
/// process ends.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let outcome = match Cli::parse_from(arguments).command.unwrap_or_else(|| Command::Demo(demo::Args::default())) {
        Command::Demo(args) => demo::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Step(args) => step::run(&args),
        Command::Rollout(args) => rollout::run(&args),
        Command::View(args) => view::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Feel(args) => feel::run(&args),
        Command::Follow(args) => follow::run(&args),
        Command::Decompose(args) => decompose::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Codegen(args) => codegen::run(&args),
        Command::Mpc(args) => mpc::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Tasks(args) => mpc::tasks::run(&args),
        Command::Scene(args) => scenes::run(&args),
    };
    let outcome = outcome.and_then(|exit| Ok(io::stdout().flush().map(|()| exit)?));
    outcome.unwrap_or_else(|error| failed(error.as_ref()))
}

/// The exit code after an error, which is printed; a reader that has seen enough (`| head`) is none.
fn failed(error: &(dyn std::error::Error + 'static)) -> Exit {
    let closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    if error.downcast_ref().is_some_and(closed) {
        return Exit::Success;
    }
    message::of(error).iter().for_each(|line| eprintln!("error: {line}"));
    Exit::BadInput
}
