//! `fingertip view`: a recording, a scene while it is simulated, or a task while it is done, in the browser.

use std::path::{Path, PathBuf};

use fingertip::Overrides;
use fingertip::shipped::{self, Kind};
use fingertip::show::{Entry, Gallery, LiveServer};

use super::names::{self, Thing};
use super::{Exit, Outcome, export, message, mpc, scene};

/// Shows a recording, a live scene, or a live task in the browser.
///
/// The page of a recording is one file with everything in it. It needs no network and can be mailed. The page of a
/// scene follows the simulator: drag bodies to pull them, move sliders to command joints. With --task, model-predictive
/// control commands the joints. The page then shows the plan and its cost; push the object away, or ask for other
/// goals. Without a name the page lists the scenes and tasks that come with the program. Live pages are served to this
/// machine only, unless --listen says otherwise.
#[derive(clap::Args)]
pub struct Args {
    /// Recording (MCAP), scene or task: a file (TOML, a scene also MJCF) or a name.
    #[arg(value_name = "RUN|SCENE|TASK")]
    what: Option<PathBuf>,

    /// Recordings of the same bodies that are shown with the first, over it or side by side.
    #[arg(value_name = "RUN", requires = "what", conflicts_with_all = ["task", "kilobytes"])]
    others: Vec<PathBuf>,

    /// Task, where a scene has the same name.
    #[arg(long, value_name = "TASK", conflicts_with_all = ["what", "html", "overrides"])]
    task: Option<PathBuf>,

    /// Seed of the task's random draws.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// κ of the task's plant, 1/J.
    #[arg(long, value_name = "KAPPA", default_value_t = mpc::PLANT_KAPPA)]
    plant_kappa: f64,

    /// Writes the page of a recording to this file and does not open it.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Leaves steps out evenly, so that the page of a recording has about so many kilobytes at most. The page itself,
    /// meshes and one step stay in any case.
    #[arg(long, value_name = "KB", requires = "html")]
    kilobytes: Option<usize>,

    /// Prints the page's address and does not open it.
    #[arg(long)]
    no_open: bool,

    /// Address for a live page [default: 127.0.0.1, any free port].
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,

    /// Records what happens in a live scene or task: a recording (MCAP), which ends with the program. A reset begins
    /// another file beside it.
    #[arg(long, value_name = "FILE", value_parser = names::recording, conflicts_with_all = ["html"])]
    record: Option<PathBuf>,

    /// Numbers that replace the scene's: '{"params": {"kappa": 1e4}}'.
    #[arg(long = "with", value_name = "JSON", default_value = "{}")]
    overrides: String,
}

pub fn run(args: &Args) -> Outcome {
    let Some(what) = args.what.as_ref().or(args.task.as_ref()) else {
        return gallery(args);
    };
    let thing = if args.task.is_some() { Thing::Task } else { names::thing(what)? };
    if let (Some(other), Thing::Task | Thing::Scene) = (args.others.first(), &thing) {
        return Err(format!("{}: expected one scene or task, or recordings (MCAP) alone", other.display()).into());
    }
    match thing {
        Thing::Task => task(args, what),
        Thing::Scene => live(args, what),
        Thing::Recording => replay(args, what),
    }
}

fn replay(args: &Args, what: &Path) -> Outcome {
    if args.listen.is_some() || args.record.is_some() || args.overrides != "{}" {
        return Err(format!("{}: --listen, --record and --with are for scenes (TOML)", what.display()).into());
    }
    let recording = export::load(what)?;
    let named = |path: &PathBuf| export::load(path).map(|other| (path.display().to_string(), other));
    let page = match args.kilobytes {
        Some(most) => recording.html_within(1000 * most),
        None if args.others.is_empty() => recording.html(),
        None => recording.html_beside(&args.others.iter().map(named).collect::<Result<Vec<_>, _>>()?)?,
    };
    let path = args.html.clone().unwrap_or_else(|| temporary(what));
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("page       {}", path.display());
    if args.html.is_none() && !args.no_open {
        show(&path.to_string_lossy());
    }
    Ok(Exit::Success)
}

fn live(args: &Args, what: &Path) -> Outcome {
    if args.html.is_some() {
        return Err(format!("{}: --html is for recordings (MCAP)", what.display()).into());
    }
    let overrides = Overrides::from_json(&args.overrides).map_err(|error| error.within("--with"))?;
    let source = names::scene(what)?;
    let step = scene::compile(&source.scene, &overrides)?;
    message::warn(&step.model().warnings);
    message::warn(&step.model().hover_warnings(step.parameters())?);
    serve(args, LiveServer::start(source, step, address(args), args.record.as_deref())?)
}

fn task(args: &Args, what: &Path) -> Outcome {
    if args.html.is_some() || args.overrides != "{}" {
        return Err(format!("{}: --html is for recordings (MCAP), --with for scenes", what.display()).into());
    }
    let kappa = mpc::plant_kappa(args.plant_kappa)?;
    serve(args, LiveServer::task(names::task(what)?, kappa, args.seed, address(args), args.record.as_deref())?)
}

/// The folder of tasks in the gallery's addresses.
const TASKS: &str = "tasks";

/// A page from which scenes and tasks that come with the program are opened.
fn gallery(args: &Args) -> Outcome {
    if args.html.is_some() || args.record.is_some() || args.overrides != "{}" {
        return Err("--html, --record and --with need a recording, a scene or a task".into());
    }
    let kappa = mpc::plant_kappa(args.plant_kappa)?;
    let entries = |kind: Kind, folder: &str, group| {
        let entry = |name| Entry {
            group,
            path: format!("{folder}/{name}"),
            name: String::from(name),
            title: title(kind, name),
        };
        kind.names().into_iter().map(entry).collect::<Vec<_>>()
    };
    let tasks = entries(Kind::Task, TASKS, "Tasks, done by model-predictive control");
    let entries = [tasks, entries(Kind::Scene, "scenes", "Scenes, to drag and command")].concat();
    let gallery = Gallery::new(entries, address(args))?;
    println!("page       {}\n\nIt is there until this program ends (Ctrl+C).", gallery.url());
    if !args.no_open {
        show(&gallery.url());
    }
    gallery.serve(|entry, address| {
        let name = Path::new(&entry.name);
        if entry.path.starts_with(TASKS) {
            return LiveServer::task(names::task(name)?, kappa, args.seed, address, None);
        }
        let source = names::scene(name)?;
        let step = scene::compile(&source.scene, &Overrides::default())?;
        LiveServer::start(source, step, address, None)
    });
    Ok(Exit::Success)
}

/// The title of a shipped scene or task: a task's own, or the first sentence of the comment that a scene begins with.
fn title(kind: Kind, name: &str) -> String {
    if kind == Kind::Task {
        return shipped::task(name).map(|task| task.title).unwrap_or_default();
    }
    let text = shipped::text(&Path::new("scenes").join(name).with_extension("toml")).unwrap_or_default();
    let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    comment.join(" ").split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned()
}

fn address(args: &Args) -> &str {
    args.listen.as_deref().unwrap_or("127.0.0.1:0")
}

fn serve(args: &Args, server: LiveServer) -> Outcome {
    message::warn(server.left_out());
    if args.record.is_some() {
        // What waits is written before the program ends.
        ctrlc::set_handler(server.stopper()).map_err(|error| format!("--record: no end by Ctrl+C here: {error}"))?;
    }
    println!("page       {}\n\nIt is there until this program ends (Ctrl+C).", server.url());
    if !args.no_open {
        show(&server.url());
    }
    server.wait()?;
    if let Some(path) = &args.record {
        println!("recording  {}", path.display());
    }
    Ok(Exit::Success)
}

/// Opens the browser. Without one, the place has been printed.
fn show(what: &str) {
    if let Err(error) = open::that(what) {
        eprintln!("no browser opens it here: {error}");
    }
}

/// A file of this user's for the page of a recording.
fn temporary(recording: &Path) -> PathBuf {
    let stem = recording.file_stem().map_or_else(|| "recording".into(), |stem| stem.to_string_lossy());
    std::env::temp_dir().join(format!("fingertip-{}-{stem}.html", std::process::id()))
}
