//! Episodes with the step itself as the plant.

use std::collections::BTreeMap;

use fingertip::math::largest::largest;
use fingertip::mpc::plant::{Options, Plant};
use fingertip::mpc::roadmap::Guide;
use fingertip::mpc::task::{Episode, Errors, Progress};
use fingertip::mpc::{Answer, Task};
use fingertip::show::Recording;
use indicatif::{ProgressBar, ProgressStyle};

use super::super::{Exit, Outcome, rollout};
use super::recorded::Recorded;
use super::results::{Row, errors, goal, report};
use super::supervised::{self, Supervised};
use super::{Args, sequences};
use crate::message;
use crate::summary::far_lines;

/// Progress is an error that falls to this share of the least so far; without it for so long, s, a task stands.
const NEARER: f64 = 0.99;
const STANDS: f64 = 1.5;
/// Episodes of a task without a list of goals.
const EPISODES: usize = 5;

pub fn run(task: &Task, plant: &Options, args: &Args, guide: Option<&Guide>) -> Outcome {
    if task.is_sequence() {
        return sequences::run(task, plant, args, guide);
    }
    let n = args.episodes.unwrap_or(task.n_goals().unwrap_or(EPISODES));
    if n == 0 {
        return Err("--episodes: expected at least 1, got 0".into());
    }
    if !args.json {
        println!("{}", task.title);
    }
    let (mut rows, mut recording) = (Vec::new(), None);
    for number in args.first..args.first + n {
        let bar = ProgressBar::new(task.cap as u64);
        let (row, recorded) = run_one(task, plant, args, guide, &task.episode(args.seed, number)?, &bar)?;
        recording = recording.or(recorded);
        if args.json {
            println!("{}", serde_json::to_string(&row)?);
        }
        rows.push(row);
    }
    if !args.json {
        println!("{}", report(&rows));
    }
    if let Some(recording) = &recording {
        let (record, plot) = (args.record.as_deref(), args.plot.as_deref());
        if args.json {
            plot.map_or(Ok(()), |path| fingertip::show::plot(recording, path))?;
        } else {
            println!();
            rollout::report(&task.scene, task.simulator().step(), recording, record, plot)?;
        }
    }
    let all = rows.iter().all(|row| row.success.is_some());
    Ok(if all { Exit::Success } else { Exit::Failed })
}

/// An episode; warnings are for those that are not tried with many settings.
pub fn run_one(
    task: &Task,
    options: &Options,
    args: &Args,
    guide: Option<&Guide>,
    episode: &Episode,
    bar: &ProgressBar,
) -> candle_core::Result<(Row, Option<Recording>)> {
    let record = args.record.as_deref().filter(|_| episode.number == args.first);
    let mut plant = Plant::new(task, options, args.seed, episode)?;
    let mut recorded = record.map(|path| Recorded::new(task, episode, options.kind, &plant, path)).transpose()?;
    let mut supervisor = super::supervisor(task, episode, guide)?;
    let limit = args.limit();
    let mut progress = Progress::default();
    let measured = |plant: &Plant| task.errors_by_object(&episode.goal, &plant.q);
    let most = |errors: &BTreeMap<String, Errors>| Errors::largest(errors.values().copied());
    let start_errors = measured(&plant)?;
    let (first, mut end_errors) = (most(&start_errors), start_errors.clone());
    let (mut last, mut outcomes) = (first, BTreeMap::new());
    let (mut iterations, mut seconds, mut worst) = (0, 0.0, 0.0_f64);
    if let Ok(style) = ProgressStyle::with_template("episode {prefix} {bar:20} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(episode.number.to_string());
    let is_quiet = args.tune;
    if !is_quiet {
        message::warn(&task.start_warnings(episode.number, &plant.q)?);
    }
    if episode.number == args.first && !is_quiet {
        warn(episode.number, "start", &supervisor.controller().problem().standing(&plant.q)?);
    }
    let (mut least, mut idle) = (f64::INFINITY, 0.0);
    while !task.is_over(&progress) {
        let answer = supervisor.answer(&plant.measure()?, limit)?;
        match &mut recorded {
            Some(recorded) => recorded.advance(&mut plant, &answer, &last)?,
            None => plant.advance(&answer.u).map(drop)?,
        }
        end_errors = measured(&plant)?;
        last = most(&end_errors);
        task.count(&mut progress, &last);
        let left = task.times_success(&last);
        (least, idle) = if left < NEARER * least { (left, 0.0) } else { (least, idle + task.period()) };
        // Once, when it has stood for so long.
        if !is_quiet && idle >= STANDS && idle - task.period() < STANDS {
            let when = format!("standstill at {:.1} s", progress.step as f64 * task.period());
            let standing = supervisor.controller().problem().standing(&plant.q)?;
            bar.suspend(|| warn(episode.number, &when, &standing));
        }
        *outcomes.entry(answer.outcome.name()).or_insert(0) += 1;
        iterations += answer.plan.as_ref().map_or(0, |plan| plan.iterations);
        seconds += answer.seconds;
        worst = worst.max(answer.seconds);
        bar.set_message(format!("{}{}", supervised::now(&supervisor), told(&answer, &last)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if progress.success.is_none() && !is_quiet {
        warn(episode.number, "end", &supervisor.controller().problem().standing(&plant.q)?);
    }
    let (unsolved, steps) = (plant.unsolved, progress.step as f64);
    let recording = recorded.map(Recorded::finish).transpose()?;
    if let Some(recording) = &recording {
        message::warn(&far_lines(recording).collect::<Vec<_>>());
    }
    let row = Row {
        episode: episode.number,
        goal: goal(task, episode),
        start_errors: errors(&start_errors),
        errors: errors(&end_errors),
        success: progress.success,
        lost: progress.lost,
        steps: progress.step,
        iterations: iterations as f64 / steps,
        ms: 1e3 * seconds / steps,
        worst_ms: 1e3 * worst,
        outcomes,
        supervisor: Supervised::new(&supervisor),
        unsolved,
        numbers: [first, last],
    };
    Ok((row, recording))
}

/// Says on stderr which terms cost more than the goal at the start or the end of an episode, or while it stands.
fn warn(episode: usize, when: &str, standing: &[(&str, f64, bool)]) {
    let goal: f64 = standing.iter().filter(|(.., purpose)| *purpose).map(|(_, cost, _)| cost).sum();
    for (name, cost, _) in standing.iter().filter(|(_, cost, purpose)| !purpose && *cost > goal) {
        eprintln!(
            "warning: at the {when} of episode {episode} `{name}` costs {cost:.2e} and the goal {goal:.2e}; a lower weight may bring the \
             object nearer"
        );
    }
}

/// Cost, errors and the largest contact force that the plan expects.
fn told(answer: &Answer, errors: &fingertip::mpc::task::Errors) -> String {
    let (cost, force) = answer.plan.as_ref().map_or((f64::NAN, 0.0), |plan| {
        let first = plan.best.force.rows(0..1).dense().into_owned();
        let size = |f: &[f64]| f.iter().map(|x| x * x).sum::<f64>().sqrt();
        (plan.best.cost, largest(first.chunks(3).map(size)))
    });
    let part = |name: &str, x: Option<f64>, unit: &str, scale: f64| {
        x.map_or(String::new(), |x| format!(", {name} {:.3} {unit}", scale * x))
    };
    let position = part("off by", errors.position, "mm", 1e3);
    let joints = part("joints off by", errors.joints, "rad or m", 1.0);
    format!("cost {cost:.4}{position}{}{joints}, {force:.2} N", part("turned by", errors.rotation, "rad", 1.0))
}
