//! `--tune`: a task with one setting changed at a time, side by side.

use std::collections::BTreeMap;

use fingertip::mpc::Task;
use fingertip::mpc::plant::Options;
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde::Serialize;
use toml::Value;

use super::super::{Exit, Outcome};
use super::results::{PARTS, Row, number};
use super::{Args, episodes, settled};
use crate::table::{short, table};

/// Episodes of each setting unless their number is given.
const EPISODES: usize = 5;
/// Factors on the task's own number.
const FACTORS: [f64; 2] = [0.5, 2.0];
/// Weight of the posture where the task has none, 1/rad² or 1/m²: it should be small beside the goal's.
const POSTURE: f64 = 1e-3;
/// Margin of friction where the task has none.
const MARGIN: f64 = 0.25;

/// A setting, and what its episodes came to.
#[derive(Serialize)]
struct Tried {
    /// The key of the task's file; empty for the task as it is.
    key: &'static str,
    value: String,
    episodes: usize,
    successes: usize,
    /// Control periods until success, on average of those that succeeded.
    periods: Option<f64>,
    /// Mean errors at the end, m and rad.
    position: Option<f64>,
    rotation: Option<f64>,
    joints: Option<f64>,
    /// Time of a command, ms.
    ms: f64,
}

pub fn run(task: &Task, plant: &Options, args: &Args) -> Outcome {
    if task.is_sequence() {
        return Err("--tune: expected a task of single goals, not one of goals in a row".into());
    }
    let n = args.episodes.unwrap_or(EPISODES);
    if n == 0 {
        return Err("--episodes: expected at least 1, got 0".into());
    }
    let grid = grid(task);
    let mut tasks = vec![("", "as it is".to_owned(), task.clone())];
    for (key, value) in grid {
        let shown = value.as_ref().map_or("none".to_owned(), shown);
        tasks.push((key, shown, settled(task.with_keys(&[(key, value)])?, args)?));
    }
    let jobs: Vec<(usize, usize)> = (0..n).flat_map(|k| (0..tasks.len()).map(move |which| (which, k))).collect();
    let bar = ProgressBar::new(jobs.len() as u64);
    let done: Vec<(usize, Row)> = jobs
        .into_par_iter()
        .map(|(which, k)| {
            let task = &tasks[which].2;
            let episode = task.episode(args.seed, args.first + k)?;
            let row = episodes::run_one(task, plant, args, None, &episode, &ProgressBar::hidden())?.0;
            bar.inc(1);
            Ok((which, row))
        })
        .collect::<candle_core::Result<_>>()?;
    bar.finish_and_clear();
    let mut rows: BTreeMap<usize, Vec<Row>> = BTreeMap::new();
    done.into_iter().for_each(|(which, row)| rows.entry(which).or_default().push(row));
    let tried: Vec<Tried> = tasks
        .into_iter()
        .zip(rows.into_values())
        .map(|((key, value, _), rows)| Tried::new(key, value, &rows))
        .collect();
    if args.json {
        for one in &tried {
            println!("{}", serde_json::to_string(one)?);
        }
    } else {
        println!("{}\n{}", task.title, report(&tried));
    }
    Ok(Exit::Success)
}

/// The keys that are changed, one at a time, and to what: none leaves a key out.
fn grid(task: &Task) -> Vec<(&'static str, Option<Value>)> {
    let number = |key: &str| task.key(key).as_ref().and_then(as_number);
    let mut grid: Vec<(&'static str, Option<Value>)> = Vec::new();
    if task.key("schedule").is_none() {
        // Of a model in longer steps κ is another than the file's.
        let own = number("kappa").unwrap_or_else(|| task.simulator().kappa());
        grid.extend([0.1, 0.3, 3.0, 10.0].map(|by| ("kappa", Some(Value::Float(by * own)))));
    }
    let hold = task.key("hold").and_then(|hold| hold.as_integer()).unwrap_or(1);
    let now = i64::try_from(task.simulator().hold()).unwrap_or(hold);
    let substeps = [1, (hold + 1) / 2, hold];
    let mut substeps: Vec<i64> = substeps.into_iter().filter(|n| *n != now).collect();
    substeps.dedup();
    grid.extend(substeps.into_iter().map(|n| ("substeps", Some(Value::Integer(n)))));
    let horizon = task.horizon();
    for (times, by) in [(2, 3), (3, 2)] {
        let other = i64::try_from(horizon * times / by).unwrap_or(1).max(1);
        grid.push(("horizon", Some(Value::Integer(other))));
    }
    match number("weights.posture").filter(|posture| *posture > 0.0) {
        None => grid.push(("weights.posture", Some(Value::Float(POSTURE)))),
        Some(posture) => {
            grid.push(("weights.posture", None));
            grid.extend(FACTORS.map(|by| ("weights.posture", Some(Value::Float(by * posture)))));
        }
    }
    if let Some(bound) = task.key("command.bound") {
        grid.extend(FACTORS.map(|by| ("command.bound", Some(scaled(&bound, by)))));
    }
    let law = task.key("command.type");
    for other in ["relative", "rate"].into_iter().filter(|name| law.as_ref().and_then(Value::as_str) != Some(name)) {
        grid.push(("command.type", Some(Value::String(other.to_owned()))));
    }
    if task.key("estimate").is_none() {
        let margin = number("margin").filter(|margin| *margin > 0.0);
        grid.push(("margin", margin.map_or(Some(Value::Float(MARGIN)), |_| None)));
    }
    grid
}

fn as_number(value: &Value) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a number that somebody typed")]
    value.as_float().or_else(|| value.as_integer().map(|x| x as f64))
}

/// A number, or all numbers of a table, times a factor.
fn scaled(value: &Value, by: f64) -> Value {
    match value {
        Value::Table(table) => {
            Value::Table(table.iter().map(|(name, value)| (name.clone(), scaled(value, by))).collect())
        }
        other => as_number(other).map_or_else(|| other.clone(), |x| Value::Float(by * x)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Table(table) => {
            table.iter().map(|(name, value)| format!("{name} {}", shown(value))).collect::<Vec<_>>().join(", ")
        }
        other => as_number(other).map_or_else(|| other.to_string(), short),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Tried {
    fn new(key: &'static str, value: String, rows: &[Row]) -> Self {
        let [position, rotation, joints] =
            PARTS.map(|part| mean(rows.iter().filter_map(|row| (part.of)(&row.numbers[1]))));
        Self {
            key,
            value,
            episodes: rows.len(),
            successes: rows.iter().filter(|row| row.success.is_some()).count(),
            periods: mean(rows.iter().filter_map(|row| row.success.map(|period| period as f64))),
            position,
            rotation,
            joints,
            ms: mean(rows.iter().map(|row| row.ms)).unwrap_or(0.0),
        }
    }

    /// More successes, and of as many, sooner ones.
    fn is_better_than(&self, other: &Self) -> bool {
        let periods = |of: &Self| of.periods.unwrap_or(f64::INFINITY);
        (other.successes, periods(self)).partial_cmp(&(self.successes, periods(other)))
            == Some(std::cmp::Ordering::Less)
    }
}

/// A table of all settings, and which of them was best.
fn report(tried: &[Tried]) -> String {
    let errors = |one: &Tried| [one.position, one.rotation, one.joints];
    let has = |k: &usize| tried.iter().any(|one| errors(one)[*k].is_some());
    let parts: Vec<usize> = (0..PARTS.len()).filter(has).collect();
    let mut header = vec!["key", "value", "successes", "periods"];
    header.extend(parts.iter().map(|&k| PARTS[k].unit));
    header.push("ms");
    let mut table = table(&header, 2);
    for one in tried {
        let mut cells = vec![
            one.key.to_owned(),
            one.value.clone(),
            format!("{} of {}", one.successes, one.episodes),
            one.periods.map_or("–".to_owned(), |periods| format!("{periods:.1}")),
        ];
        cells.extend(parts.iter().map(|&k| number(errors(one)[k], &PARTS[k], 1)));
        cells.push(format!("{:.2}", one.ms));
        table.add_row(cells);
    }
    let best = tried.iter().reduce(|best, one| if one.is_better_than(best) { one } else { best });
    let best = best.map_or(String::new(), |best| {
        if best.key.is_empty() {
            "none of these is better than the task as it is".to_owned()
        } else {
            format!("best: {} = {}", best.key, best.value)
        }
    });
    format!("{table}\n{best}; ties go to those that succeed in fewer control periods")
}
