//! `fingertip inspect`: lists the contents of a scene.

mod contents;
mod notes;
mod text;

use std::io::Write;
use std::process::ExitCode;

use self::contents::Contents;
use super::Outcome;
use super::scene::SceneArgs;

/// Prints each name of a scene with its place in q, v and u, unit, limits, home and stiffness; the contact pairs with
/// their friction and their gap at home; the pose of each body at home; the bodies with mass; and what was left out.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    /// Prints one JSON object: the same in SI units.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (source, step) = args.scene.load_quietly()?;
    let contents = Contents::of(&source, &step)?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&contents)?)?;
    } else {
        write!(out, "{}", text::text(&contents))?;
    }
    Ok(ExitCode::SUCCESS)
}
