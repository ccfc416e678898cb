//! Goal after goal with the step itself as the plant.

use fingertip::math::largest::largest;
use fingertip::mpc::Task;
use fingertip::mpc::plant::{Options, Plant};
use fingertip::mpc::roadmap::Guide;
use fingertip::mpc::task::{End, Episode};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use super::super::{Exit, Outcome};
use super::supervised::{self, Supervised};
use super::{Args, results};
use crate::message;
use crate::table::table;

/// Sequences unless their number is given.
const SEQUENCES: usize = 5;

/// The outcome of a sequence of goals.
#[derive(Serialize)]
struct Row {
    sequence: usize,
    /// Goals reached.
    goals: usize,
    /// Time that each of them took, s.
    seconds: Vec<f64>,
    ended: &'static str,
    /// Distance and angle to the goal that was not reached, m and rad.
    left: [Option<f64>; 2],
    ms: f64,
    worst_ms: f64,
    supervisor: Supervised,
    /// Steps of the plant without a solution.
    unsolved: usize,
}

pub fn run(task: &Task, plant: &Options, args: &Args, guide: Option<&Guide>) -> Outcome {
    let n = args.episodes.unwrap_or(SEQUENCES);
    if n == 0 {
        return Err("--episodes: expected at least 1, got 0".into());
    }
    if args.record.is_some() {
        return Err("--record: expected a task of single goals, not one of goals in a row".into());
    }
    if !args.json {
        println!("{}", task.title);
    }
    let mut rows = Vec::new();
    for number in args.first..args.first + n {
        let row = run_one(task, plant, args, guide, &task.episode(args.seed, number)?)?;
        if args.json {
            println!("{}", serde_json::to_string(&row)?);
        }
        rows.push(row);
    }
    if !args.json {
        println!("{}", report(&rows));
    }
    let all = rows.iter().all(|row| row.ended == End::Goals.name());
    Ok(if all { Exit::Success } else { Exit::Failed })
}

fn run_one(
    task: &Task,
    options: &Options,
    args: &Args,
    guide: Option<&Guide>,
    episode: &Episode,
) -> Result<Row, Box<dyn std::error::Error>> {
    let mut plant = Plant::new(task, options, args.seed, episode)?;
    message::warn(&task.start_warnings(episode.number, &plant.q)?);
    let mut supervisor = super::supervisor(task, episode, guide)?;
    let mut sequence = task.sequence(args.seed, episode).ok_or("expected a task of goals in a row")?;
    sequence.most = args.goals.unwrap_or(sequence.most);
    let limit = args.limit();
    let mut goal = episode.goal.clone();
    let mut errors = task.errors(&goal, &plant.q)?;
    let (mut periods, mut seconds, mut worst) = (0_usize, 0.0, 0.0_f64);
    let bar = ProgressBar::new(sequence.most as u64);
    if let Ok(style) = ProgressStyle::with_template("sequence {prefix} {bar:20} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(episode.number.to_string());
    while sequence.ended.is_none() {
        let answer = supervisor.answer(&plant.measure()?, limit)?;
        plant.advance(&answer.u)?;
        errors = task.errors(&goal, &plant.q)?;
        periods += 1;
        seconds += answer.seconds;
        worst = worst.max(answer.seconds);
        let left = errors.rotation.map_or(String::new(), |x| format!("{x:.2} rad left"));
        bar.set_message(format!("{}{left}", supervised::now(&supervisor)));
        if let Some(next) = sequence.count(task, &errors, &plant.q)? {
            supervisor.set_goal(next.clone())?;
            goal = next;
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(Row {
        sequence: episode.number,
        goals: sequence.reached.len(),
        seconds: sequence.reached.iter().map(|&periods| periods as f64 * task.period()).collect(),
        ended: sequence.ended.map_or("", End::name),
        left: [errors.position, errors.rotation],
        ms: 1e3 * seconds / periods as f64,
        worst_ms: 1e3 * worst,
        supervisor: Supervised::new(&supervisor),
        unsolved: plant.unsolved,
    })
}

/// A table of all sequences with a summary below.
fn report(rows: &[Row]) -> String {
    let header = ["sequence", "goals", "s for a goal", "slowest s", "ended", "mm left", "rad left", "ms", "worst ms"];
    let mut table = table(&header, 0);
    let number =
        |x: Option<f64>, scale: f64, digits: usize| x.map_or("–".to_owned(), |x| format!("{:.digits$}", scale * x));
    for row in rows {
        table.add_row([
            row.sequence.to_string(),
            row.goals.to_string(),
            number(median(&row.seconds), 1.0, 1),
            number(row.seconds.iter().copied().reduce(f64::max), 1.0, 1),
            row.ended.to_owned(),
            number(row.left[0], 1e3, 1),
            number(row.left[1], 1.0, 2),
            format!("{:.2}", row.ms),
            format!("{:.1}", row.worst_ms),
        ]);
    }
    let goals: Vec<f64> = rows.iter().map(|row| row.goals as f64).collect();
    let seconds: Vec<f64> = rows.iter().flat_map(|row| row.seconds.iter().copied()).collect();
    let unsolved = results::unsolved(rows.iter().map(|row| row.unsolved).sum());
    let supervised = supervised::report(rows.iter().map(|row| &row.supervisor));
    format!(
        "{table}\n{unsolved}{supervised}goals in a row: mean {:.1}, median {}; {} s for a goal (median); {:.2} ms for a command, {:.1} at worst",
        goals.iter().sum::<f64>() / rows.len() as f64,
        number(median(&goals), 1.0, 1),
        number(median(&seconds), 1.0, 1),
        rows.iter().map(|row| row.ms).sum::<f64>() / rows.len() as f64,
        largest(rows.iter().map(|row| row.worst_ms)),
    )
}

/// The median; none of nothing.
fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) { 0.5 * (sorted[middle - 1] + upper) } else { upper })
}
