//! `fingertip fit`: parameters from logs.

use std::path::PathBuf;
use std::time::Instant;

use fingertip::fit::{self, Fit, Kind, Options};
use fingertip::show;
use serde_json::json;

use super::scene::SceneArgs;
use super::table::{short, table};
use super::{Exit, Outcome, names};

/// Fits parameters of a scene to logs of commands and measurements.
///
/// A log is a table (CSV) with columns `time` in s, `u:JOINT` for commands, and for what was measured the names of
/// numbers in q, as `hand/index_0` or `ball.x`, or `force:THING.z`; or a recording (MCAP). It prints each number with
/// its standard error, and combinations of numbers that the logs do not tell. The exit status is 1 if the search did
/// not come to an end or a step had no solution.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,

    /// Logs: tables (CSV), or recordings (MCAP).
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,

    /// What to look for: mu, mu.ball/hand, stiffness, damping.*, mass.ball, size.tip, latency, sensor.*, …
    #[arg(long, required = true, num_args = 1.., value_name = "NAME")]
    by: Vec<String>,

    /// Where the search starts, in place of the scene's value.
    #[arg(long, num_args = 1.., value_name = "NAME=VALUE")]
    start: Vec<String>,

    /// The least and the largest value [default: a thousandth and a thousand times the scene's].
    #[arg(long, num_args = 1.., value_name = "NAME=LOW,HIGH")]
    bounds: Vec<String>,

    /// What is known beforehand: mean and standard deviation.
    #[arg(long, num_args = 1.., value_name = "NAME=MEAN,SD")]
    prior: Vec<String>,

    /// Standard deviation of measurements [default: found from what is left over]. Kinds: joint, position, rotation,
    /// force.
    #[arg(long, num_args = 1.., value_name = "KIND=SD")]
    noise: Vec<String>,

    /// Rolls out parts of so many seconds, each from what was measured at its start, and not logs as a whole.
    #[arg(long, value_name = "SECONDS")]
    window: Option<f64>,

    /// Moves by the second-order step, whose joints springs pull to their commands, and not by the quasi-dynamic one.
    #[arg(long)]
    second_order: bool,

    /// Gauss–Newton steps at most, for given noise.
    #[arg(long, value_name = "N", default_value_t = 50)]
    iterations: usize,

    /// Prints one JSON object.
    #[arg(long)]
    json: bool,

    /// Plots fit and residuals to this file (SVG; PNG in builds with the feature `png`).
    #[arg(long, value_name = "FILE", value_parser = names::figure)]
    plot: Option<PathBuf>,

    /// Writes what was measured and predicted as a table.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let (_, step) = args.scene.load()?;
    let (model, parameters) = (step.model(), step.parameters());
    let names: Vec<&str> = args.by.iter().map(String::as_str).collect();
    let mut unknowns = fit::unknowns(model, parameters, &names).map_err(|error| within("--by", &error))?;
    let mut options = Options {
        second_order: args.second_order,
        window: args.window,
        max_iterations: args.iterations,
        ..Options::default()
    };
    let given = [("--bounds", &args.bounds, 2), ("--start", &args.start, 1), ("--prior", &args.prior, 2)];
    for (flag, text, n) in given.iter().flat_map(|(flag, all, n)| all.iter().map(move |text| (*flag, text, *n))) {
        let (name, numbers) = assignment(flag, text, n)?;
        for own in fit::meant(&mut unknowns, model, parameters, name).map_err(|error| within(flag, &error))? {
            match (flag, &numbers[..]) {
                ("--bounds", &[lower, upper]) => own.bound(lower, upper),
                ("--prior", &[mean, deviation]) => own.prior = Some((mean, deviation)),
                _ => own.value = numbers[0],
            }
        }
    }
    for text in &args.noise {
        let (name, numbers) = assignment("--noise", text, 1)?;
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name().0 == name) else {
            let known = Kind::ALL.iter().map(|kind| kind.name().0);
            return Err(format!("--noise: {}", fingertip::description::unknown("kind", name, known)).into());
        };
        options.noise.insert(kind, numbers[0]);
    }
    let logs = args.logs.iter().map(|path| show::read_log(model, path)).collect::<fingertip::Result<Vec<_>>>()?;
    for log in logs.iter().filter(|log| !log.ignored.is_empty()) {
        eprintln!("note: {}: columns that mean nothing here: {}", log.name, log.ignored.join(", "));
    }
    let start = Instant::now();
    let found = fit::fit(model, parameters, &logs, &unknowns, &options)?;
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        json(&found, seconds)
    } else {
        print(&found, seconds)
    }
    if let Some(path) = &args.plot {
        show::plot_fit(&found, &logs, path)?;
        eprintln!("plot       {}", path.display());
    }
    if let Some(path) = &args.csv {
        show::write_fit(&found, &logs, path)?;
        eprintln!("table      {}", path.display());
    }
    Ok(if found.converged && found.steps[1] == 0 { Exit::Success } else { Exit::Failed })
}

fn within(flag: &str, error: &candle_core::Error) -> String {
    format!("{flag}: {}", fingertip::message(error))
}

/// `NAME=1,2` as the name and so many numbers.
fn assignment<'a>(flag: &str, text: &'a str, n: usize) -> Result<(&'a str, Vec<f64>), String> {
    let numbers = |text: &str| text.split(',').map(|x| x.trim().parse().ok()).collect::<Option<Vec<f64>>>();
    let found = text.rsplit_once('=').and_then(|(name, values)| Some((name, numbers(values)?)));
    let form = if n == 1 { "NAME=NUMBER" } else { "NAME=NUMBER,NUMBER" };
    found.filter(|(_, numbers)| numbers.len() == n).ok_or_else(|| format!("{flag}: expected {form}, got \"{text}\""))
}

fn print(fit: &Fit, seconds: f64) {
    let mut rows = table(&["number", "start", "found", "standard error", "", "unit"], 1);
    for one in &fit.numbers {
        let error = match (one.error, one.value) {
            (error, _) if error.is_nan() => "at its bound".to_owned(),
            (error, _) if error.is_infinite() => "∞".to_owned(),
            (error, _) => short(error),
        };
        let part = match one.much {
            None if one.error.is_finite() => format!("{:.2} %", 100.0 * one.error / one.value),
            _ => String::new(),
        };
        let unit = if one.is_factor { "× the scene's" } else { one.unit };
        rows.add_row([one.name.clone(), short(one.start), short(one.value), error, part, unit.to_owned()]);
    }
    println!("{rows}");
    for one in &fit.blind {
        let size =
            if one.error.is_finite() { format!("known to {:.0} %", 100.0 * one.error) } else { "not seen".into() };
        println!("the logs do not tell: {} ({size})", fit.describe(one));
    }
    for (kind, (n, size, noise)) in &fit.noise {
        let (name, unit) = kind.name();
        println!("{name}: {n} residuals, root mean square {} {unit}, noise {} {unit}", short(*size), short(*noise));
    }
    if let Some(lack) = fit.lack() {
        println!("{lack}");
    }
    if fit.steps[1] > 0 {
        println!("{} of {} steps had no solution", fit.steps[1], fit.steps[0]);
    }
    let end = if fit.converged { "" } else { ", not at its end: --iterations" };
    println!(
        "½ χ² {} → {}, {} iterations in {seconds:.2} s{end}",
        short(fit.cost[0]),
        short(fit.cost[1]),
        fit.iterations
    );
}

fn json(fit: &Fit, seconds: f64) {
    let number = |one: &fit::Fitted| {
        json!({"name": one.name, "unit": one.unit, "factor": one.is_factor, "start": one.start, "value": one.value,
               "error": one.error, "told": one.is_told})
    };
    let blind = |one: &fit::Blind| json!({"change": fit.describe(one), "error": one.error});
    let noise = |(kind, (n, size, noise)): (&Kind, &(usize, f64, f64))| {
        (kind.name().0.to_owned(), json!({"residuals": n, "rms": size, "noise": noise}))
    };
    let all = json!({
        "numbers": fit.numbers.iter().map(number).collect::<Vec<_>>(),
        "blind": fit.blind.iter().map(blind).collect::<Vec<_>>(),
        "noise": fit.noise.iter().map(noise).collect::<serde_json::Map<_, _>>(),
        "cost": fit.cost,
        "correlation": fit.correlation,
        "iterations": fit.iterations,
        "converged": fit.converged,
        "steps": fit.steps[0],
        "unsolved": fit.steps[1],
        "seconds": seconds,
    });
    println!("{all}");
}
