//! `fingertip tasks`: lists the tasks.

use std::path::{Path, PathBuf};

use fingertip::mpc::Task;
use fingertip::shipped::{self, Kind};

use super::super::names::is_scene;
use super::super::table::table;
use super::super::{Exit, Outcome};

/// Lists the tasks that come with the program, or those in a folder.
#[derive(clap::Args)]
pub struct Args {
    /// A folder of tasks, in place of those that come with the program.
    folder: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let tasks = match &args.folder {
        None => Kind::Task.names().into_iter().map(|name| (name.to_owned(), shipped::task(name))).collect(),
        Some(folder) => of(folder)?,
    };
    let mut table = table(&["task", "", "goals", "period ms", "joints", "contacts", "method"], 2);
    for (name, task) in tasks {
        match task {
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
    println!("`fingertip mpc NAME` does one, `fingertip view --task NAME` shows it live.");
    Ok(Exit::Success)
}

/// The TOML files of a folder, as tasks; scenes among them are passed over.
fn of(folder: &Path) -> Result<Vec<(String, fingertip::Result<Task>)>, String> {
    let place = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(place)? {
        paths.push(entry.map_err(place)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let tasks = paths.iter().map(|path| (path, Task::load(path)));
    Ok(tasks.filter(|(path, task)| task.is_ok() || !is_scene(path)).map(|(path, task)| (name(path), task)).collect())
}
