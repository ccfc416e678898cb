//! `--tune`: settings of a task, tried in the order in which they decide, each upon the best so far.

use std::time::{Duration, Instant};

use fingertip::math::largest::larger;
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
/// Time for all of it unless it is given, s.
pub const SECONDS: f64 = 600.0;
/// Part of the time after which nothing new is tried, and what was found is compared on other episodes.
const SEARCH: f64 = 0.8;
/// Episodes on which what was found is compared with the task as it is, for each on which it was chosen.
const HELD_OUT: usize = 2;
/// Factors on the task's own number.
const FACTORS: [f64; 2] = [0.5, 2.0];
/// Factors on weights: those of commands and of what robots reach for work over decades.
const DECADES: [f64; 2] = [0.1, 10.0];
/// Those weights as shares of the goal's, where the task has none.
const SHARES: [f64; 3] = [1e-6, 1e-4, 1e-2];
/// Methods by gradients, and by samples and gradients.
const METHODS: [&str; 2] = ["ilqr", "hybrid"];
/// The horizon that drives around something, in control periods.
const FAR: i64 = 20;
/// Weight of the posture where the task has none, 1/rad² or 1/m²: it should be small beside the goal's.
const POSTURE: f64 = 1e-3;
/// Margin of friction where the task has none.
const MARGIN: f64 = 0.25;

/// A key of a task's file with its value: none leaves it out.
type Key = (&'static str, Option<Value>);
/// Keys that are changed together.
type Keys = Vec<Key>;
/// Settings of which one is kept at most.
type Settings = Vec<Keys>;

/// A setting, and what its episodes came to.
#[derive(Clone, Serialize)]
struct Tried {
    /// The keys of the task's file that it changes, as its lines.
    setting: String,
    episodes: usize,
    successes: usize,
    /// The mean of what is left of each episode's errors: see [`left`].
    left: f64,
    /// Control periods until success, on average of those that succeeded.
    periods: Option<f64>,
    /// Mean errors at the end, m and rad.
    position: Option<f64>,
    rotation: Option<f64>,
    joints: Option<f64>,
    /// Time of a command, ms.
    ms: f64,
    /// Is it better than all before, and kept?
    kept: bool,
}

/// What tries settings.
struct Tuner<'a> {
    plant: &'a Options,
    args: &'a Args,
    begin: Instant,
    seconds: f64,
    bar: ProgressBar,
}

pub fn run(task: &Task, plant: &Options, args: &Args) -> Outcome {
    if task.is_sequence() {
        return Err("--tune: expected a task of single goals, not one of goals in a row".into());
    }
    let n = args.episodes.unwrap_or(EPISODES);
    if n == 0 {
        return Err("--episodes: expected at least 1, got 0".into());
    }
    let seconds = super::milliseconds("--seconds", 1e3 * args.seconds, 1e3)?.as_secs_f64();
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_secs(1));
    let tuner = Tuner { plant, args, begin: Instant::now(), seconds, bar };
    if !args.json {
        println!("{}", task.title);
    }
    let mut all = tuner.try_all(&[("as it is".to_owned(), task.clone())], 1.0, args.seed, args.first, n)?;
    let mut best = Best { keys: Keys::new(), task: task.clone(), of: all[0].clone() };
    let mut untried = Vec::new();
    // Again upon what was found, as long as that finds something.
    loop {
        let before = best.of.setting.clone();
        for stage in STAGES {
            let settings = stage(&best.task);
            let tried = tuner.stage(&mut best, &settings, n)?;
            let without = settings.into_iter().zip(&tried).filter(|(_, one)| one.episodes == 0);
            untried.extend(without.flat_map(|(keys, _)| keys).map(|(key, _)| key));
            all.extend(tried.into_iter().filter(|one| one.episodes > 0));
        }
        if best.of.setting == before || tuner.is_late(SEARCH) {
            break;
        }
    }
    untried.sort_unstable();
    untried.dedup();
    // What an earlier round has tried.
    untried.retain(|key| !all.iter().any(|one| one.setting.contains(key)));
    let held_out = if best.keys.is_empty() { None } else { Some(tuner.held_out(task, &best, n)?) };
    tuner.bar.finish_and_clear();
    if args.json {
        for one in all.iter().chain(held_out.iter().flatten()) {
            println!("{}", serde_json::to_string(one)?);
        }
    } else {
        println!("{}", report(&all, &best, held_out.as_deref(), &untried));
    }
    Ok(Exit::Success)
}

/// The best so far: what it changes in the task's file.
struct Best {
    keys: Keys,
    task: Task,
    of: Tried,
}

impl Tuner<'_> {
    fn is_late(&self, share: f64) -> bool {
        self.begin.elapsed().as_secs_f64() > share * self.seconds
    }

    /// Tries settings, each upon the best so far, and keeps the best of them if it is better.
    fn stage(&self, best: &mut Best, settings: &[Keys], n: usize) -> Result<Vec<Tried>, Box<dyn std::error::Error>> {
        let mut tasks = Vec::new();
        for keys in settings {
            tasks.push((lines(keys, ", "), settled(best.task.with_keys(keys)?, self.args)?));
        }
        let mut tried = self.try_all(&tasks, SEARCH, self.args.seed, self.args.first, n)?;
        // Those that the time has cut short cannot be compared.
        let whole = |one: &(usize, &Tried)| one.1.episodes == best.of.episodes;
        let first = tried.iter().enumerate().filter(whole).min_by(|a, b| a.1.left.total_cmp(&b.1.left));
        let better = first.filter(|first| first.1.left.total_cmp(&best.of.left).is_lt()).map(|(first, _)| first);
        if let Some(first) = better {
            tried[first].kept = true;
            best.keys.retain(|(key, _)| !settings[first].iter().any(|(other, _)| other == key));
            best.keys.extend(settings[first].iter().cloned());
            (best.task, best.of) = (tasks[first].1.clone(), tried[first].clone());
        }
        Ok(tried)
    }

    /// Episodes of each task on all cores, as many of each as this share of the time has room for: where it is all of
    /// the time at least one.
    fn try_all(
        &self,
        tasks: &[(String, Task)],
        share: f64,
        seed: u64,
        first: usize,
        n: usize,
    ) -> Result<Vec<Tried>, Box<dyn std::error::Error>> {
        let jobs: Vec<(usize, usize)> = (0..n).flat_map(|k| (0..tasks.len()).map(move |which| (which, k))).collect();
        let done: Vec<Option<(usize, Row, f64)>> = jobs
            .into_par_iter()
            .map(|(which, k)| {
                if (k > 0 || share < 1.0) && self.is_late(share) {
                    return Ok(None);
                }
                let (setting, task) = &tasks[which];
                self.bar.set_message(format!("{setting}, {:.0} s", self.begin.elapsed().as_secs_f64()));
                let episode = task.episode(seed, first + k)?;
                let row = episodes::run_one(task, self.plant, self.args, None, &episode, &ProgressBar::hidden())?.0;
                let left = left(task, &row);
                Ok(Some((which, row, left)))
            })
            .collect::<candle_core::Result<_>>()?;
        let of = |which: usize| {
            let (rows, left): (Vec<&Row>, Vec<f64>) =
                done.iter().flatten().filter(|one| one.0 == which).map(|(_, row, left)| (row, *left)).unzip();
            Tried::new(tasks[which].0.clone(), &rows, &left)
        };
        Ok((0..tasks.len()).map(of).collect())
    }

    /// The task as it is and the best that was found, on episodes of another seed.
    fn held_out(&self, task: &Task, best: &Best, n: usize) -> Result<Vec<Tried>, Box<dyn std::error::Error>> {
        let tasks = [("as it is", task), ("the best", &best.task)];
        let tasks = tasks.map(|(which, task)| (format!("{which}, on other episodes"), task.clone()));
        self.try_all(&tasks, 1.0, !self.args.seed, 0, HELD_OUT * n)
    }
}

/// What is left of an episode's errors: for a success its time as a share of the most, below 1; else 1 and the
/// logarithm of how many times what counts as success the errors are at the end, the largest of them. A number for all
/// settings, whatever they weigh.
fn left(task: &Task, row: &Row) -> f64 {
    match row.success {
        Some(period) => period as f64 / task.cap as f64,
        None => 1.0 + larger(task.times_success(&row.numbers[1]), 1.0).ln(),
    }
}

/// What is tried, in this order: what plans can find at all comes before what makes them better.
const STAGES: [fn(&Task) -> Settings; 5] = [ways, commands, supervisors, models, rest];

/// Settings of one key each.
fn alone(keys: Keys) -> Settings {
    keys.into_iter().map(|one| vec![one]).collect()
}

/// Methods, horizons and weights of what robots reach for: whether a plan finds a way around something hangs on all
/// three, so they are tried together.
fn ways(task: &Task) -> Settings {
    let horizon = i64::try_from(task.horizon()).unwrap_or(FAR);
    let method = task.settings.method.name();
    let methods = METHODS.into_iter().filter(|other| *other != method);
    let methods = methods.map(|other| vec![("method", Some(Value::String(other.to_owned())))]);
    let horizons = [FAR, (horizon / 2).max(1)].into_iter().filter(|other| *other != horizon);
    let horizons = horizons.map(|other| vec![("horizon", Some(Value::Integer(other)))]);
    let reach = alone(weights(task, "weights.reach"));
    let mut all: Settings = vec![Keys::new()];
    for values in [methods.collect(), horizons.collect(), reach] {
        let with = |keys: &Keys| values.iter().map(|more| [&keys[..], more].concat()).collect::<Settings>();
        all.extend(all.iter().flat_map(with).collect::<Settings>());
    }
    all.split_off(1)
}

fn commands(task: &Task) -> Settings {
    alone(weights(task, "weights.command"))
}

/// Decades of a weight, or shares of the goal's where the task has none.
fn weights(task: &Task, key: &'static str) -> Keys {
    let own = |key: &str| number_of(task, key).filter(|weight| *weight > 0.0);
    let goal = || ["weights.position", "weights.joints", "weights.rotation"].into_iter().find_map(own);
    match own(key) {
        None => SHARES.map(|share| (key, goal().map(|goal| Value::Float(share * goal)))).into(),
        Some(weight) => {
            let by = DECADES.map(|by| (key, Some(Value::Float(by * weight))));
            by.into_iter().chain([(key, None)]).collect()
        }
    }
}

fn supervisors(task: &Task) -> Settings {
    alone(vec![("supervisor.on", Some(Value::Boolean(task.supervision.is_none())))])
}

/// The model that plans are made with, and how long they are improved.
fn models(task: &Task) -> Settings {
    let (mut keys, mut schedules) = (Keys::new(), Settings::new());
    if task.key("schedule").is_none() {
        // Of a model in longer steps κ is another than the file's.
        let own = number_of(task, "kappa").unwrap_or_else(|| task.simulator().kappa());
        keys.extend([0.1, 0.3, 3.0, 10.0].map(|by| ("kappa", Some(Value::Float(by * own)))));
        let soft_first = |last: f64| Value::Array([0.01, 0.1, 1.0].map(|by| Value::Float(by * last * own)).to_vec());
        schedules.extend([1.0, 10.0].map(|last| vec![("kappa", None), ("schedule", Some(soft_first(last)))]));
    }
    let iterations = i64::try_from(2 * task.settings.ilqr.iterations).unwrap_or(i64::MAX);
    keys.push(("iterations", Some(Value::Integer(iterations))));
    let hold = task.key("hold").and_then(|hold| hold.as_integer()).unwrap_or(1);
    let now = i64::try_from(task.simulator().hold()).unwrap_or(hold);
    let mut substeps: Vec<i64> = [1, (hold + 1) / 2, hold].into_iter().filter(|n| *n != now).collect();
    substeps.dedup();
    keys.extend(substeps.into_iter().map(|n| ("substeps", Some(Value::Integer(n)))));
    schedules.into_iter().chain(alone(keys)).collect()
}

fn rest(task: &Task) -> Settings {
    let mut keys = Keys::new();
    if let Some(bound) = task.key("command.bound") {
        keys.extend(FACTORS.map(|by| ("command.bound", Some(scaled(&bound, by)))));
    }
    let law = task.key("command.type");
    for other in ["relative", "rate"].into_iter().filter(|name| law.as_ref().and_then(Value::as_str) != Some(name)) {
        keys.push(("command.type", Some(Value::String(other.to_owned()))));
    }
    match number_of(task, "weights.posture").filter(|posture| *posture > 0.0) {
        None => keys.push(("weights.posture", Some(Value::Float(POSTURE)))),
        Some(posture) => {
            keys.push(("weights.posture", None));
            keys.extend(FACTORS.map(|by| ("weights.posture", Some(Value::Float(by * posture)))));
        }
    }
    if task.key("estimate").is_none() {
        let margin = number_of(task, "margin").filter(|margin| *margin > 0.0);
        keys.push(("margin", margin.map_or(Some(Value::Float(MARGIN)), |_| None)));
    }
    alone(keys)
}

fn number_of(task: &Task, key: &str) -> Option<f64> {
    task.key(key).as_ref().and_then(as_number)
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

/// Keys as lines of a task's file, with dots for tables.
fn lines(keys: &[Key], between: &str) -> String {
    let line = |(key, value): &Key| match value {
        Some(value) => format!("{key} = {}", shown(value)),
        None => format!("no {key}"),
    };
    keys.iter().map(line).collect::<Vec<_>>().join(between)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Float(x) => short(*x),
        Value::Array(all) => format!("[{}]", all.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Tried {
    fn new(setting: String, rows: &[&Row], left: &[f64]) -> Self {
        let [position, rotation, joints] =
            PARTS.map(|part| mean(rows.iter().filter_map(|row| (part.of)(&row.numbers[1]))));
        Self {
            setting,
            episodes: rows.len(),
            successes: rows.iter().filter(|row| row.success.is_some()).count(),
            left: mean(left.iter().copied()).unwrap_or(f64::NAN),
            periods: mean(rows.iter().filter_map(|row| row.success.map(|period| period as f64))),
            position,
            rotation,
            joints,
            ms: mean(rows.iter().map(|row| row.ms)).unwrap_or(0.0),
            kept: false,
        }
    }
}

/// A table of all settings, the keys of the best, and how it does on other episodes.
fn report(tried: &[Tried], best: &Best, held_out: Option<&[Tried]>, untried: &[&str]) -> String {
    let errors = |one: &Tried| [one.position, one.rotation, one.joints];
    let all = || tried.iter().chain(held_out.into_iter().flatten());
    let has = |k: &usize| all().any(|one| errors(one)[*k].is_some());
    let parts: Vec<usize> = (0..PARTS.len()).filter(has).collect();
    let mut header = vec!["setting", "successes", "periods"];
    header.extend(parts.iter().map(|&k| PARTS[k].unit));
    header.extend(["ms", "left", ""]);
    let mut table = table(&header, 1);
    for one in all() {
        let mut cells = vec![
            one.setting.clone(),
            format!("{} of {}", one.successes, one.episodes),
            one.periods.map_or("–".to_owned(), |periods| format!("{periods:.1}")),
        ];
        cells.extend(parts.iter().map(|&k| number(errors(one)[k], &PARTS[k], 1)));
        cells.extend([
            format!("{:.2}", one.ms),
            format!("{:.2}", one.left),
            if one.kept { "kept" } else { "" }.to_owned(),
        ]);
        table.add_row(cells);
    }
    let found = match held_out {
        None => "nothing that was tried is better than the task as it is".to_owned(),
        Some(_) => format!("better together, in the task's file:\n{}", lines(&best.keys, "\n")),
    };
    let late =
        if untried.is_empty() { String::new() } else { format!("\nno time was left for {}", untried.join(", ")) };
    format!(
        "{table}\n\"left\" is the share of an episode's time until success, and where there was none 1 and the logarithm of the largest \
         error over what counts as success\n{found}{late}"
    )
}
