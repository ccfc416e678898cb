//! `fingertip demo`: the main job, with nothing to say and nothing to know.

use std::path::{Path, PathBuf};

use fingertip::Overrides;

use super::{Outcome, rollout, scene};

const SCENE: &str = "assets/scenes/hand_ball.toml";
const N_STEPS: usize = 300;

/// A 21-joint hand closes on a ball, lifts it and holds it; 300 steps of 10 ms.
///
/// Prints what touches what with which force, and whether the ball is held. Writes `hand_ball.mcap` (the recording) and
/// `hand_ball.svg` (forces and motion).
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
    let source = scene::read(&find()?)?;
    let step = scene::compile(&source.scene, &Overrides::default())?;
    println!("A hand with {} joints closes on a ball, lifts it and holds it.\n", step.model().nu());
    let [record, plot] = ["mcap", "svg"].map(|ending| args.out.join("hand_ball").with_extension(ending));
    let control = |_, time| source.scene.control(time);
    let recording = rollout::roll_out(&source, &step, N_STEPS, control, Some(&record))?;
    rollout::report(&source.scene, &step, &recording, Some(&record), Some(&plot))
}

/// The scene: below the current folder, or where this program was built.
fn find() -> Result<PathBuf, String> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR"));
    [Path::new(""), built].into_iter().map(|folder| folder.join(SCENE)).find(|path| path.exists()).ok_or_else(|| {
        format!("{SCENE} is neither here nor where this program was built; run the demo in the project's folder")
    })
}
