//! `fingertip feel`: poses by touch.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fingertip::feel::{Felt, Options, feel};
use fingertip::math::largest::largest;
use fingertip::{Error, show};
use serde_json::json;

use super::scene::SceneArgs;
use super::table::{short, table};
use super::{Exit, Outcome};

/// Estimates where objects are from a log of commands, joints and net contact forces, without a camera.
///
/// A log is a table (CSV) with columns `time` in s, `u:JOINT` for commands, numbers of q as `hand/index_0` and
/// `ball.x`, and `force:THING.x`, `.y` and `.z` for net forces on links; or a recording (MCAP). Its rows are a whole
/// number of the scene's steps apart. Poses of objects count in the first row alone, where they were seen, and are
/// compared after it.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    /// The log: a table (CSV), or a recording (MCAP).
    log: PathBuf,

    /// Poses of objects in the log count in all rows.
    #[arg(long)]
    seen: bool,

    /// Rows of the window.
    #[arg(long, value_name = "N", default_value_t = Options::default().window)]
    window: usize,

    /// Standard deviations of objects' poses in the first row [default: 0.001 0.02].
    #[arg(long, num_args = 2, value_names = ["METRES", "RADIANS"])]
    start: Option<Vec<f64>>,

    /// Standard deviations of what objects drift by in a second beside what the model expects [default: 0.001 0.02].
    #[arg(long, num_args = 2, value_names = ["METRES", "RADIANS"])]
    drift: Option<Vec<f64>>,

    /// Standard deviation of measured joints, rad or m.
    #[arg(long, value_name = "RADIANS", default_value_t = Options::default().joint)]
    joint: f64,

    /// Standard deviations of forces: the part of a force, and the least [default: 0.05 0.05].
    #[arg(long, num_args = 2, value_names = ["PART", "NEWTONS"])]
    force: Option<Vec<f64>>,

    /// Writes time, the estimate and its standard deviations as a table, one line per row.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Outcome {
    let (_, step) = args.scene.load()?;
    let two = |given: &Option<Vec<f64>>, usual: [f64; 2]| given.as_ref().map_or(usual, |two| [two[0], two[1]]);
    let usual = Options::default();
    let options = Options {
        window: args.window,
        start: two(&args.start, usual.start),
        drift: two(&args.drift, usual.drift),
        force: two(&args.force, usual.force),
        joint: args.joint,
        ..usual
    };
    let model = step.model();
    let log = show::read_log(model, &args.log)?;
    if !log.ignored.is_empty() {
        eprintln!("note: {}: columns that mean nothing here: {}", log.name, log.ignored.join(", "));
    }
    let felt = feel(&step, &log, &options, args.seen)?;
    let names = model.v_names();
    if args.json {
        json(&felt, &model.q_names(), &names)
    } else {
        print(&felt, &names)
    }
    if let Some(path) = &args.output {
        write(&felt, &model.q_names(), &names, path)?;
        eprintln!("estimates  {}", path.display());
    }
    Ok(Exit::Success)
}

/// For each degree of freedom of an object: its deviation at first and at last, and how far off a measured one was.
fn print(felt: &Felt, names: &[String]) {
    let mut rows = table(&["", "deviation at first", "at last", "largest", "off, root mean square", "rows"], 1);
    let n = felt.time.len();
    for (dof, name) in names.iter().enumerate().filter(|(dof, _)| felt.of_object[*dof]) {
        let of = |all: &[f64]| all.iter().skip(dof).step_by(names.len()).copied().collect::<Vec<f64>>();
        let (deviation, off) = (of(&felt.deviation), of(&felt.off));
        let off: Vec<f64> = off[1..].iter().copied().filter(|x| !x.is_nan()).collect();
        let mean = (off.iter().map(|x| x * x).sum::<f64>() / off.len().max(1) as f64).sqrt();
        let most = largest(&deviation);
        let off = [if off.is_empty() { "–".to_owned() } else { short(mean) }, off.len().to_string()];
        let [mean, count] = off;
        rows.add_row([name.clone(), short(deviation[0]), short(deviation[n - 1]), short(most), mean, count]);
    }
    println!("{rows}");
    let mean = felt.seconds.iter().sum::<f64>() / felt.seconds.len().max(1) as f64;
    println!("m and rad; {n} rows, {:.2} s; a row takes {:.1} ms", felt.time[n - 1] - felt.time[0], 1e3 * mean);
}

fn json(felt: &Felt, q_names: &[String], v_names: &[String]) {
    let rows = |all: &[f64], width: usize| all.chunks_exact(width).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let all = json!({
        "q_names": q_names,
        "v_names": v_names,
        "time": felt.time,
        "q": rows(&felt.q, q_names.len()),
        "deviation": rows(&felt.deviation, v_names.len()),
        "off": rows(&felt.off, v_names.len()),
        "seconds": felt.seconds,
    });
    println!("{all}");
}

/// A line of names, then for each row time, q and the deviations.
fn write(felt: &Felt, q_names: &[String], v_names: &[String], path: &Path) -> fingertip::Result<()> {
    let deviations = v_names.iter().map(|name| format!("deviation:{name}"));
    let names = std::iter::once("time".to_owned()).chain(q_names.iter().cloned()).chain(deviations);
    let mut text = names.collect::<Vec<_>>().join(",") + "\n";
    for (row, time) in felt.time.iter().enumerate() {
        let of = |all: &'_ [f64], width: usize| all[row * width..(row + 1) * width].to_vec();
        let numbers = of(&felt.q, q_names.len()).into_iter().chain(of(&felt.deviation, v_names.len()));
        let numbers = std::iter::once(*time).chain(numbers).map(|x| format!("{x:.9}"));
        let _ = writeln!(text, "{}", numbers.collect::<Vec<_>>().join(","));
    }
    std::fs::write(path, text).map_err(|error| Error::file(path, error))
}
