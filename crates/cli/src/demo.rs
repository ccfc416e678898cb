//! `fingertip demo`: the main job, without arguments.

use std::path::PathBuf;

use super::{Outcome, mpc};

const TASK: &str = "hand_turn";
/// The episode of the task with the largest turn, 90°.
const EPISODE: usize = 9;
/// Control periods of 0.05 s.
const PERIODS: usize = 160;

/// A 21-joint hand takes a ball off a table and turns it in its fingers, by model-predictive control.
///
/// Prints how close the ball comes to its goal, what touches what with which force, and whether the ball is held.
/// Writes `hand_turn.mcap` (the recording) and `hand_turn.svg` (forces and motion).
#[derive(clap::Args)]
pub struct Args {
    /// Folder for the recording and the plot.
    #[arg(long, default_value = "out")]
    out: PathBuf,
}

impl Default for Args {
    fn default() -> Self {
        Self { out: PathBuf::from("out") }
    }
}

pub fn run(args: &Args) -> Outcome {
    let [record, plot] = ["mcap", "svg"].map(|ending| args.out.join("hand_turn").with_extension(ending));
    let outcome = mpc::run(&mpc::Args::job(PathBuf::from(TASK), EPISODE, PERIODS, record.clone(), plot))?;
    println!("\nNext: `fingertip view {}` shows this run in the browser,", record.display());
    println!("`fingertip view --task {TASK}` runs the task live, `fingertip tasks` lists others.");
    Ok(outcome)
}
