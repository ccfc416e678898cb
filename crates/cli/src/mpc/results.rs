//! The result of an episode, as a line of JSON or of a table.

use std::collections::BTreeMap;

use fingertip::math::largest::largest;
use fingertip::mpc::Outcome;
use fingertip::mpc::task::{Episode, Errors};
use serde::Serialize;
use serde_json::{Value, json};

use crate::table::table;

/// An episode's results.
#[derive(Serialize)]
pub struct Row {
    pub episode: usize,
    pub goal: Value,
    pub start_errors: Value,
    pub errors: Value,
    /// The control period in which the episode succeeded; none if it never did.
    pub success: Option<usize>,
    pub steps: usize,
    pub iterations: f64,
    pub ms: f64,
    pub worst_ms: f64,
    /// Number of searches by the reason for which they ended.
    pub outcomes: BTreeMap<&'static str, usize>,
    /// Steps of the plant without a solution.
    pub unsolved: usize,
    #[serde(skip)]
    pub numbers: [Errors; 2],
}

/// What the end of searches says.
const LIMITED: &str = "\"iteration limit\": a search stops after the task's number of iterations, as the next period goes on from its \
                       plan; success is judged by the errors alone\n";

/// A goal as JSON.
pub fn goal(object: &str, episode: &Episode) -> Value {
    use fingertip::mpc::cost::Turn;
    let (quaternion, yaw) = match episode.goal.turn {
        Some(Turn::Quaternion(q)) => (Some(q), None),
        Some(Turn::Yaw(yaw)) => (None, Some(yaw)),
        None => (None, None),
    };
    json!({ "object": object, "position": episode.goal.position, "quaternion": quaternion, "yaw": yaw })
}

/// Errors as JSON.
pub fn errors(of: &Errors) -> Value {
    json!({ "position": of.position, "rotation": of.rotation, "quaternion": of.quaternion })
}

/// A table of all episodes with a summary below.
pub fn report(rows: &[Row]) -> String {
    let header = [
        "episode",
        "start mm",
        "start rad",
        "mm",
        "rad",
        "success at",
        "steps",
        "ms",
        "worst ms",
        "iterations",
        "searches ended",
    ];
    let mut table = table(&header, 0);
    let number =
        |x: Option<f64>, scale: f64, digits: usize| x.map_or("–".to_owned(), |x| format!("{:.digits$}", scale * x));
    for row in rows {
        let [start, end] = row.numbers;
        let often = row.outcomes.iter().max_by_key(|(_, n)| **n).map_or("", |(name, _)| name);
        table.add_row([
            row.episode.to_string(),
            number(start.position, 1e3, 1),
            number(start.rotation, 1.0, 3),
            number(end.position, 1e3, 2),
            number(end.rotation, 1.0, 4),
            row.success.map_or("never".to_owned(), |step| step.to_string()),
            row.steps.to_string(),
            format!("{:.2}", row.ms),
            format!("{:.1}", row.worst_ms),
            format!("{:.1}", row.iterations),
            often.to_owned(),
        ]);
    }
    let n = rows.len() as f64;
    let mean = |of: fn(&Errors) -> Option<f64>| {
        let values: Vec<f64> = rows.iter().filter_map(|row| of(&row.numbers[1])).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let succeeded = rows.iter().filter(|row| row.success.is_some()).count();
    let limited = rows.iter().any(|row| row.outcomes.contains_key(Outcome::IterationLimit.name()));
    let note = if limited { LIMITED } else { "" };
    format!(
        "{table}\n{note}{succeeded} of {} succeed; mean errors {} mm, {} rad; {:.2} ms for a command, {:.1} at worst",
        rows.len(),
        number(mean(|errors| errors.position), 1e3, 2),
        number(mean(|errors| errors.rotation), 1.0, 4),
        rows.iter().map(|row| row.ms).sum::<f64>() / n,
        largest(rows.iter().map(|row| row.worst_ms)),
    )
}
