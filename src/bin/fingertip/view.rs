//! `fingertip view`: a recording, or a scene while it is simulated, in the browser.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fingertip::Overrides;
use fingertip::show::LiveServer;

use super::{Outcome, export, scene};

/// Shows a recording, or a scene while it is simulated, in the browser.
///
/// The page of a recording is one file with everything in it: it needs no network and can be mailed. The page of a scene
/// follows the simulator: drag bodies to pull at them, move sliders to command joints; it is for this machine only, unless
/// --listen says otherwise.
#[derive(clap::Args)]
pub struct Args {
    /// Recording (MCAP) or scene file (TOML).
    #[arg(value_name = "RUN|SCENE")]
    what: PathBuf,

    /// Writes the page of a recording to this file, and opens nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Prints where the page is, and opens nothing.
    #[arg(long)]
    no_open: bool,

    /// Where a scene's page is served [default: 127.0.0.1, any free port].
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,

    /// Numbers in the place of the scene's: '{"params": {"kappa": 1e4}}'.
    #[arg(long = "with", value_name = "JSON", default_value = "{}")]
    overrides: String,
}

pub fn run(args: &Args) -> Outcome {
    if args.what.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        live(args)
    } else {
        replay(args)
    }
}

fn replay(args: &Args) -> Outcome {
    if args.listen.is_some() || args.overrides != "{}" {
        return Err(format!("{}: --listen and --with are for scenes (TOML)", args.what.display()).into());
    }
    let page = export::load(&args.what)?.html();
    let path = args.html.clone().unwrap_or_else(|| temporary(&args.what));
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("page       {}", path.display());
    if args.html.is_none() && !args.no_open {
        show(&path.to_string_lossy());
    }
    Ok(ExitCode::SUCCESS)
}

fn live(args: &Args) -> Outcome {
    if args.html.is_some() {
        return Err(format!("{}: --html is for recordings (MCAP)", args.what.display()).into());
    }
    let overrides = Overrides::from_json(&args.overrides).map_err(|error| error.within("--with"))?;
    let source = scene::read(&args.what)?;
    let step = scene::compile(&source.scene, &overrides)?;
    let server = LiveServer::start(source, step, args.listen.as_deref().unwrap_or("127.0.0.1:0"))?;
    println!("page       {}\n\nIt is there until this program ends (Ctrl+C).", server.url());
    if !args.no_open {
        show(&server.url());
    }
    server.wait()?;
    Ok(ExitCode::SUCCESS)
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
