//! `fingertip export`: a recording as a table, as arrays or as a file of rerun.

use std::path::PathBuf;

use fingertip::show::{self, Loaded};

use super::{Exit, Outcome};

/// Writes a recording as a table (CSV), as arrays (NPZ), or as a file of rerun's viewer (RRD).
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("to").required(true).multiple(true).args(["csv", "npz", "rrd"])))]
pub struct Args {
    /// Recording (MCAP).
    recording: PathBuf,

    /// Table, one line per step: time, q, u, each contact's distance and force, scalars, status.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Arrays for NumPy, one per quantity.
    #[arg(long, value_name = "FILE")]
    npz: Option<PathBuf>,

    /// Transforms, shapes, contacts and scalars for rerun, in builds with the feature `rerun`.
    #[arg(long, value_name = "FILE")]
    rrd: Option<PathBuf>,
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
    if let Some(path) = &args.rrd {
        write_rrd(&recording, path)?;
        println!("rerun      {}", path.display());
    }
    Ok(Exit::Success)
}

#[cfg(feature = "rerun")]
use show::write_rrd;

#[cfg(not(feature = "rerun"))]
fn write_rrd(_: &show::Recording, path: &std::path::Path) -> Result<(), String> {
    Err(format!(
        "{}: expected a build with the feature `rerun` (cargo build --release --features rerun); \
         without, `rerun mcap convert RUN -o FILE` makes one of the recording",
        path.display()
    ))
}

/// Reads a recording; says so where it was cut off.
pub fn load(path: &std::path::Path) -> fingertip::Result<show::Recording> {
    let Loaded { recording, complete } = Loaded::read(path)?;
    if !complete {
        eprintln!("{}: was cut off; here are its first {} steps", path.display(), recording.steps.len());
    }
    Ok(recording)
}
