//! `fingertip tasks`: lists the tasks.

use std::path::PathBuf;
use std::process::ExitCode;

use fingertip::mpc::Task;

use super::super::Outcome;
use super::super::table::table;
use super::FOLDER;

/// Lists the tasks in a folder.
#[derive(clap::Args)]
pub struct Args {
    /// The folder.
    #[arg(default_value = FOLDER)]
    folder: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let place = |error: std::io::Error| format!("{}: {error}", args.folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&args.folder).map_err(place)? {
        paths.push(entry.map_err(place)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut table = table(&["task", "", "goals", "period ms", "joints", "contacts", "method"], 2);
    for path in &paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match Task::load(path) {
            Ok(task) => {
                let model = task.simulator().model();
                table.add_row([
                    name,
                    task.title.clone(),
                    task.n_goals().map_or("drawn".to_owned(), |n| n.to_string()),
                    format!("{:.0}", 1e3 * task.period()),
                    model.nu().to_string(),
                    model.nc().to_string(),
                    task.settings.method.name().to_owned(),
                ]);
            }
            Err(error) => eprintln!("error: {error}"),
        }
    }
    println!("{table}");
    println!("`fingertip mpc NAME` does one.");
    Ok(ExitCode::SUCCESS)
}
