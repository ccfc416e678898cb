//! `fingertip export`: a recording as a table or as arrays.

use std::path::PathBuf;
use std::process::ExitCode;

use fingertip::show::{self, Loaded};

use super::Outcome;

/// Writes a recording as a table (CSV) or as arrays (NPZ).
#[derive(clap::Args)]
pub struct Args {
    /// Recording (MCAP).
    recording: PathBuf,

    /// A line per step: time, q, u, each contact's distance and force, scalars, status.
    #[arg(long, value_name = "FILE", required_unless_present = "npz")]
    csv: Option<PathBuf>,

    /// An array per quantity, for NumPy.
    #[arg(long, value_name = "FILE")]
    npz: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let recording = load(&args.recording)?;
    if let Some(path) = &args.csv {
        show::write_csv(&recording, path)?;
        println!("table      {}", path.display());
    }
    if let Some(path) = &args.npz {
        show::write_npz(&recording, path)?;
        println!("arrays     {}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a recording; says so where it was cut off.
pub fn load(path: &std::path::Path) -> fingertip::Result<show::Recording> {
    let Loaded { recording, complete } = Loaded::read(path)?;
    if !complete {
        eprintln!("{}: was cut off; here are its first {} steps", path.display(), recording.steps.len());
    }
    Ok(recording)
}
