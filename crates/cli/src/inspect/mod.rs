//! `fingertip inspect`: lists the contents of a scene.

mod contents;
pub mod hints;
mod notes;
mod text;

use std::io::Write;

use fingertip::step::Quasidynamic;

pub use self::contents::{Contents, Pair};
pub use self::notes::not_in_step;
use super::scene::SceneArgs;
use super::{Exit, Outcome};

/// Lists what a scene has: names, limits, pairs with their gaps, poses, masses, and what was left out.
///
/// Each name comes with its place in q, v and u, unit, limits, home and stiffness, each contact pair with its friction
/// and its gap at home, each body with its pose at home.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    /// Prints one JSON object: the same in SI units.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (source, model, parameters) = args.scene.model()?;
    Quasidynamic::check_model(&model, &parameters)?;
    let mut contents = Contents::of(&source, &model, &parameters)?;
    contents.hints = hints::of(&contents, &source.scene);
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&contents)?)?;
    } else {
        write!(out, "{}", text::text(&contents))?;
    }
    Ok(Exit::Success)
}
