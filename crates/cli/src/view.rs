//! `fingertip view`: a recording, a scene while it is simulated, or a task while it is done, in the browser.

use std::path::{Path, PathBuf};

use fingertip::Overrides;
use fingertip::show::LiveServer;

use super::names::{self, Thing};
use super::{Exit, Outcome, export, mpc, scene};

/// Shows a recording, a live scene, or a live task in the browser.
///
/// The page of a recording is one file with everything in it. It needs no network and can be mailed. The page of a
/// scene follows the simulator: drag bodies to pull them, move sliders to command joints. With --task, model-predictive
/// control commands the joints. The page then shows the plan and its cost; push the object away, or ask for other
/// goals. Live pages are served to this machine only, unless --listen says otherwise.
#[derive(clap::Args)]
pub struct Args {
    /// Recording (MCAP), scene or task: a file (TOML, a scene also MJCF) or a name.
    #[arg(value_name = "RUN|SCENE|TASK", required_unless_present = "task")]
    what: Option<PathBuf>,

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

    /// Leaves steps out evenly, so that the page of a recording has about so many kilobytes at most. The page itself, meshes and one step
    /// stay in any case.
    #[arg(long, value_name = "KB", requires = "html")]
    kilobytes: Option<usize>,

    /// Prints the page's address and does not open it.
    #[arg(long)]
    no_open: bool,

    /// Address for a live page [default: 127.0.0.1, any free port].
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,

    /// Numbers that replace the scene's: '{"params": {"kappa": 1e4}}'.
    #[arg(long = "with", value_name = "JSON", default_value = "{}")]
    overrides: String,
}

pub fn run(args: &Args) -> Outcome {
    let Some(what) = args.what.as_ref().or(args.task.as_ref()) else {
        return Err("expected a recording, a scene or a task".into());
    };
    let thing = if args.task.is_some() { Thing::Task } else { names::thing(what)? };
    match thing {
        Thing::Task => task(args, what),
        Thing::Scene => live(args, what),
        Thing::Recording => replay(args, what),
    }
}

fn replay(args: &Args, what: &Path) -> Outcome {
    if args.listen.is_some() || args.overrides != "{}" {
        return Err(format!("{}: --listen and --with are for scenes (TOML)", what.display()).into());
    }
    let recording = export::load(what)?;
    let page = args.kilobytes.map_or_else(|| recording.html(), |most| recording.html_within(1000 * most));
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
    serve(args, LiveServer::start(source, step, address(args))?)
}

fn task(args: &Args, what: &Path) -> Outcome {
    if args.html.is_some() || args.overrides != "{}" {
        return Err(format!("{}: --html is for recordings (MCAP), --with for scenes", what.display()).into());
    }
    let kappa = mpc::plant_kappa(args.plant_kappa)?;
    serve(args, LiveServer::task(names::task(what)?, kappa, args.seed, address(args))?)
}

fn address(args: &Args) -> &str {
    args.listen.as_deref().unwrap_or("127.0.0.1:0")
}

fn serve(args: &Args, server: LiveServer) -> Outcome {
    scene::warn(server.left_out());
    println!("page       {}\n\nIt is there until this program ends (Ctrl+C).", server.url());
    if !args.no_open {
        show(&server.url());
    }
    server.wait()?;
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
