//! `fingertip plan`: a roadmap of a task across contacts.

mod pairs;
mod report;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fingertip::mpc::Task;
use fingertip::mpc::roadmap::{Options, Roadmap};
use indicatif::{ProgressBar, ProgressStyle};

use super::{Exit, Outcome, names};

/// Builds a roadmap of a task, and goes to far goals by it.
///
/// Its nodes are states in which the object rests, its edges what the task's planner reaches, with how often and how
/// fast: see crates/plan/docs/roadmap.md. A file that is there is added to. Without --query and --run the roadmap is
/// built; with them only if there is no file yet, or with --build. `fingertip mpc TASK --roadmap FILE` goes by it.
///
/// --run starts the task's episodes on our own step with harder contacts, each by the planner alone (plain), under the
/// supervisor (supervised), and by the roadmap. What happened on edges is counted in the file. The exit status is 1 if
/// an episode does not succeed in the last of these ways.
#[derive(clap::Args)]
pub struct Args {
    /// Task file (TOML), or the name of a task: `fingertip tasks` lists them.
    task: PathBuf,

    /// The roadmap's file (JSON) [default: out/TASK.roadmap.json].
    #[arg(long, value_name = "FILE")]
    roadmap: Option<PathBuf>,

    /// Adds nodes and tries edges, before queries and runs.
    #[arg(long)]
    build: bool,

    /// Time for building, min. It ends earlier when nothing is left to be tried.
    #[arg(long, value_name = "M", default_value_t = 2.0)]
    minutes: f64,

    /// Most nodes.
    #[arg(long, value_name = "N", default_value_t = Options::default().nodes)]
    nodes: usize,

    /// Edges from each node: to so many nearest ones.
    #[arg(long, value_name = "K", default_value_t = Options::default().neighbours)]
    neighbours: usize,

    /// Number of trials of each edge.
    #[arg(long, value_name = "N", default_value_t = Options::default().tries)]
    tries: usize,

    /// Draws the robots' joints too, within their limits: for robots that have to go around the object.
    #[arg(long)]
    joints: bool,

    /// Looks for the ways of the first N episodes and prints them.
    #[arg(long, value_name = "N")]
    query: Option<usize>,

    /// Runs the first N episodes.
    #[arg(long, value_name = "N")]
    run: Option<usize>,

    /// Ways in which --run runs them.
    #[arg(long, value_name = "WAY,…", value_enum, value_delimiter = ',', default_values_t = pairs::Way::ALL)]
    ways: Vec<pairs::Way>,

    /// Number of the first episode of --query and --run.
    #[arg(long, value_name = "I", default_value_t = 0)]
    first: usize,

    /// Seed of all draws.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Most control periods of an episode, instead of the task's number.
    #[arg(long, value_name = "N")]
    cap: Option<usize>,
}

/// The longest time for building, min.
const LONGEST: f64 = 1e6;

pub fn run(args: &Args) -> Outcome {
    let mut task = names::task(&args.task)?;
    for (name, given) in
        [("--query", args.query), ("--run", args.run), ("--cap", args.cap), ("--nodes", Some(args.nodes))]
    {
        if given == Some(0) {
            return Err(format!("{name}: expected at least 1, got 0").into());
        }
    }
    if !(0.0..=LONGEST).contains(&args.minutes) {
        return Err(format!("--minutes: expected a number from 0 to {LONGEST:e}, got {}", args.minutes).into());
    }
    task.cap = args.cap.unwrap_or(task.cap);
    task.settings.seed = args.seed;
    let stem = args.task.file_stem().unwrap_or_default().to_string_lossy();
    let path = args.roadmap.clone().unwrap_or_else(|| Path::new("out").join(format!("{stem}.roadmap.json")));
    let is_there = path.exists();
    let mut roadmap = if is_there { load(&task, &path)? } else { Roadmap::new(&task) };
    println!("{}", task.title);
    if args.build || !is_there || (args.query.is_none() && args.run.is_none()) {
        build(&task, &mut roadmap, &path, args)?;
    }
    println!("{}", report::roadmap(&roadmap));
    if let Some(n) = args.query {
        println!("\n{}", pairs::queries(&task, &roadmap, args.seed, args.first..args.first + n)?);
    }
    let Some(n) = args.run else { return Ok(Exit::Success) };
    let rows = pairs::run(&task, &mut roadmap, &path, args, args.first..args.first + n)?;
    println!("\n{}", report::runs(&rows, &args.ways));
    let all = rows.iter().all(|row| row.ways.last().is_none_or(|way| way.success.is_some()));
    Ok(if all { Exit::Success } else { Exit::Failed })
}

/// Reads a task's roadmap.
pub fn load(task: &Task, path: &Path) -> fingertip::Result<Roadmap> {
    let roadmap = Roadmap::load(path)?;
    roadmap.check(task).map_err(|error| error.within(path.display()))?;
    Ok(roadmap)
}

/// Builds within the time, and writes the file as it goes.
fn build(task: &Task, roadmap: &mut Roadmap, path: &Path, args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let Args { nodes, neighbours, tries, joints, seed, .. } = *args;
    let options = Options { nodes, neighbours, tries, joints, seed };
    let (begin, time) = (Instant::now(), Duration::from_secs_f64(60.0 * args.minutes));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|source| fingertip::Error::file(folder, source))?;
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("tries {bar:20} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    let mut unsaved = None;
    let mut left = 0;
    roadmap.build(task, &options, |now, building| {
        bar.set_length((building.tried + building.left) as u64);
        bar.set_position(building.tried as u64);
        left = building.left;
        unsaved = now.save(path).err();
        unsaved.is_none() && begin.elapsed() < time
    })?;
    bar.finish_and_clear();
    if let Some(error) = unsaved {
        return Err(error.into());
    }
    roadmap.save(path)?;
    let rest = if left == 0 { String::new() } else { format!(", {left} tries left") };
    println!("built in {:.0} s{rest}: {}", begin.elapsed().as_secs_f64(), path.display());
    Ok(())
}
