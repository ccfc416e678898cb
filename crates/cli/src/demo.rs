//! `fingertip demo`: the main job, without arguments.

use std::path::{Path, PathBuf};

use super::{Outcome, mpc};

const TASK: &str = "assets/tasks/hand_turn.toml";
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
    mpc::run(&mpc::Args::job(find()?, EPISODE, PERIODS, record, plot))
}

/// The task: below the current folder, or where this program was built.
fn find() -> Result<PathBuf, String> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    [Path::new(""), built].into_iter().map(|folder| folder.join(TASK)).find(|path| path.exists()).ok_or_else(|| {
        format!("{TASK} is neither here nor where this program was built; run the demo in the project's folder")
    })
}
