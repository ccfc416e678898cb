//! `fingertip follow`: a hand follows keypoints.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fingertip::description::Scene;
use fingertip::follow::{Followed, Map, Motion, Options, Scale, follow};
use fingertip::show::{self, Recording, RecordingWriter, Source, States};
use fingertip::step::Quasidynamic;
use fingertip::{Error, Overrides};
use serde_json::json;

use super::message::warn;
use super::scene::compile;
use super::table::{short, table};
use super::{Exit, Outcome, names};

/// Joints at a limit that are named, at most.
const NAMED: usize = 6;

/// A hand follows the keypoints of a human's hand, or another hand: inverse kinematics within the joints' limits, with
/// its own parts apart and smooth in time.
///
/// A motion is a table (CSV) with columns `NAME.x`, `NAME.y` and `NAME.z` of keypoints, m, and `time`, s; or JSON
/// lines. Without a map, the 21 keypoints of hand trackers are followed by the fingers that the hand's links are named
/// after. The commands are what `rollout --controls` and `mpc` take.
#[derive(clap::Args)]
pub struct Args {
    /// The hand: a scene (TOML or MJCF), a robot (URDF), or the name of a scene.
    hand: PathBuf,

    /// The motion: keypoints (CSV or JSON lines); with --of, a log of another hand's joints (CSV or MCAP).
    motion: PathBuf,

    /// What follows which keypoint (TOML) [default: fingers by their links' names].
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,

    /// Prints what is followed without a map, as a map to be changed, and ends.
    #[arg(long)]
    print_map: bool,

    /// The hand whose joints the motion has: a scene, or a robot (URDF).
    #[arg(long, value_name = "HAND")]
    of: Option<PathBuf>,

    /// How much larger the hand is than what it follows: a number for all targets but pinches, or auto.
    #[arg(long, value_name = "auto|N")]
    scale: Option<String>,

    /// Frames per second, where the motion has no times.
    #[arg(long, value_name = "HZ", default_value_t = 30.0)]
    rate: f64,

    /// A change of 1 rad from frame to frame counts as a target that is off by this, m.
    #[arg(long, value_name = "METRES", default_value_t = Options::default().smooth)]
    smooth: f64,

    /// Keypoints pass through a low-pass filter with this cutoff.
    #[arg(long, value_name = "HZ")]
    cutoff: Option<f64>,

    /// Least gap of the hand's own parts, m; none lets them overlap.
    #[arg(long, value_name = "METRES|none", default_value = "0.001")]
    margin: String,

    /// Steps of Gauss and Newton for a frame, at most.
    #[arg(long, value_name = "N", default_value_t = Options::default().max_iterations)]
    iterations: usize,

    /// Writes the commands as a table, one line per frame.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Writes a recording of the motion (MCAP), which `view` shows; nothing but the hand moves in it.
    #[arg(long, value_name = "FILE", value_parser = names::recording)]
    record: Option<PathBuf>,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (source, step) = hand(&args.hand)?;
    let model = step.model();
    let mut map = match &args.map {
        Some(path) => Map::read(path)?,
        None => Map::of_hand(model)?,
    };
    let options = Options {
        smooth: args.smooth,
        cutoff: args.cutoff,
        margin: margin(&args.margin)?,
        max_iterations: args.iterations,
        ..Options::default()
    };
    if let Some(scale) = &args.scale {
        map = map.with_scale(given_scale(scale)?);
    }
    if args.print_map {
        print!("{}", map.to_toml());
        return Ok(Exit::Success);
    }
    let motion = match &args.of {
        Some(of) => {
            let (_, other) = hand(of)?;
            Motion::of_hand(other.model(), &show::read_log(other.model(), &args.motion)?)?
        }
        None => Motion::read(&args.motion, &map.keypoints, args.rate)?,
    };
    let found = follow(model, &motion, &map, &options)?;
    if args.json {
        json(&found)
    } else {
        print(&found, options.margin)
    }
    if let Some(path) = &args.output {
        write(&found, &model.u_names(), path)?;
        eprintln!("commands   {}", path.display());
    }
    if let Some(path) = &args.record {
        record(&source, &step, &found, path)?;
        eprintln!("recording  {}", path.display());
    }
    Ok(Exit::Success)
}

/// A scene, or a robot's own file, which becomes one.
fn hand(path: &Path) -> Result<(Source, Quasidynamic), Box<dyn std::error::Error>> {
    let is_robot = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("urdf")) && path.is_file();
    let source = if is_robot {
        let part = |part: Option<&std::ffi::OsStr>| part.map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let (name, file) = (part(path.file_stem()), part(path.file_name()));
        let text = format!("[[robot]]\nname = {}\nurdf = {}\n", json!(name), json!(file));
        let scene = Scene::from_toml(&text, path.parent().unwrap_or(Path::new("")).to_owned())?;
        warn(&scene.all_warnings());
        Source { name, text, scene }
    } else {
        names::scene(path)?
    };
    let step = compile(&source.scene, &Overrides::from_json("{}")?)?;
    Ok((source, step))
}

fn margin(text: &str) -> Result<Option<f64>, String> {
    match text {
        "none" => Ok(None),
        text => text.parse().map(Some).map_err(|_| format!("--margin: expected a length in m or none, got \"{text}\"")),
    }
}

fn given_scale(text: &str) -> Result<Scale, String> {
    match text {
        "auto" => Ok(Scale::Auto),
        text => {
            let number = text.parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
            number
                .map(Scale::Given)
                .ok_or_else(|| format!("--scale: expected auto or a positive number, got \"{text}\""))
        }
    }
}

/// Mean, median and largest of times in µs.
fn micros(seconds: &[f64]) -> [f64; 3] {
    let mut sorted: Vec<f64> = seconds.iter().map(|s| 1e6 * s).collect();
    sorted.sort_by(f64::total_cmp);
    let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
    let at = |k: usize| sorted.get(k).copied().unwrap_or(f64::NAN);
    [mean, at(sorted.len() / 2), at(sorted.len().saturating_sub(1))]
}

fn print(found: &Followed, margin: Option<f64>) {
    let mut rows = table(&["target", "scale", "mean, mm", "largest, mm", "frames"], 1);
    for (k, name) in found.targets.iter().enumerate() {
        let (mean, most, n) = found.error(k);
        let errors = if n == 0 {
            ["–".to_owned(), "–".to_owned()]
        } else {
            [1e3 * mean, 1e3 * most].map(|e| format!("{e:.2}"))
        };
        let [mean, most] = errors;
        rows.add_row([name.clone(), short(found.scales[k]), mean, most, n.to_string()]);
    }
    println!("{rows}");
    let mut held: Vec<&(String, usize)> = found.at_limits.iter().filter(|(_, n)| *n > 0).collect();
    held.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    if !held.is_empty() {
        let first: Vec<String> = held.iter().take(NAMED).map(|(name, n)| format!("{name} ({n})")).collect();
        let more = if held.len() > NAMED { format!(" and {} others", held.len() - NAMED) } else { String::new() };
        println!("at a limit, in so many frames: {}{more}", first.join(", "));
    }
    println!("{}", gaps(found, margin));
    let [mean, median, most] = micros(&found.seconds);
    let iterations = found.iterations.iter().sum::<usize>() as f64 / found.iterations.len().max(1) as f64;
    println!(
        "{} frames, {:.2} s; a frame takes {median:.0} µs (mean {mean:.0}, at most {most:.0}), {iterations:.1} steps",
        found.time.len(),
        found.time.last().unwrap_or(&0.0) - found.time.first().unwrap_or(&0.0)
    );
}

fn gaps(found: &Followed, margin: Option<f64>) -> String {
    match (margin, found.n_pairs, found.least_gap()) {
        (None, ..) => "own parts are not kept apart".to_owned(),
        (_, 0, _) => {
            "own parts are not kept apart: the scene lets none of the hand's links touch each other".to_owned()
        }
        (Some(margin), n, None) => format!("{n} pairs of own parts, never nearer than {:.1} mm", 1e3 * margin),
        (_, n, Some(gap)) => format!("{n} pairs of own parts, least gap {:.2} mm", 1e3 * gap),
    }
}

fn json(found: &Followed) {
    let targets = found.targets.iter().enumerate().map(|(k, name)| {
        let (mean, most, frames) = found.error(k);
        let seen = |x: f64| if frames > 0 { json!(x) } else { json!(null) };
        json!({"name": name, "scale": found.scales[k], "mean": seen(mean), "largest": seen(most), "frames": frames})
    });
    let limits: serde_json::Map<_, _> = found.at_limits.iter().map(|(name, n)| (name.clone(), json!(n))).collect();
    let all = json!({
        "targets": targets.collect::<Vec<_>>(),
        "frames": found.time.len(),
        "at_limits": limits,
        "pairs": found.n_pairs,
        "least_gap": found.least_gap(),
        "iterations": found.iterations,
        "seconds": found.seconds,
    });
    println!("{all}");
}

/// The commands as a table: a line of joints, then a line for each frame.
fn write(found: &Followed, names: &[String], path: &Path) -> fingertip::Result<()> {
    let mut text = names.join(",") + "\n";
    for u in found.u.chunks_exact(names.len()) {
        let numbers: Vec<String> = u.iter().map(|x| format!("{x:.9}")).collect();
        let _ = writeln!(text, "{}", numbers.join(","));
    }
    std::fs::write(path, text).map_err(|error| Error::file(path, error))
}

fn record(source: &Source, step: &Quasidynamic, found: &Followed, path: &Path) -> candle_core::Result<()> {
    let nu = step.model().nu();
    let states = States { q: &found.q, time: &found.time, u: found.u.get(nu..).unwrap_or(&[]), force: &[] };
    let recording = Recording::of_states(source, step, states)?;
    let mut writer = RecordingWriter::create(path, &recording)?;
    recording.steps.iter().try_for_each(|step| writer.step(step))?;
    Ok(writer.finish()?)
}
