//! The result of an episode, as a line of JSON or of a table.

use std::collections::BTreeMap;

use fingertip::math::largest::largest;
use fingertip::mpc::cost::{Goal, Turn};
use fingertip::mpc::task::{Episode, Errors};
use fingertip::mpc::{Outcome, Task};
use serde::Serialize;
use serde_json::{Value, json};

use super::supervised::{self, Supervised};
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
    /// Was an object lost, and the episode over?
    pub lost: bool,
    pub steps: usize,
    pub iterations: f64,
    pub ms: f64,
    pub worst_ms: f64,
    /// Number of searches by the reason for which they ended.
    pub outcomes: BTreeMap<&'static str, usize>,
    pub supervisor: Supervised,
    /// Steps of the plant without a solution.
    pub unsolved: usize,
    #[serde(skip)]
    pub numbers: [Errors; 2],
}

/// The reasons for which searches ended, in words.
const LIMITED: &str = "\"iteration limit\": a search stops after the task's number of iterations, as the next period goes on from its \
                       plan; success is judged by the errors alone\n";

const NO_GRADIENT: &str = "\"no gradient\": no small change of the commands brings anything nearer to the goal within the horizon; see whether the goal is in \
                           reach and in m and rad, and whether something touches the object; where it is stuck on the way, a \
                           [supervisor] of the task looks for another way\n";

const BAD_INPUT: &str = "\"bad input\": a measured number was none, or a joint beyond its limits by more than its range, and the plan before went \
                         on; `joint_limits = true` in the scene's [params] keeps joints within their limits\n";

/// A line for steps in which the plant stood still.
pub fn unsolved(steps: usize) -> String {
    if steps == 0 {
        String::new()
    } else {
        format!("{steps} steps of the plant had no solution: it stood still in them\n")
    }
}

/// An episode's goal as JSON.
pub fn goal(task: &Task, episode: &Episode) -> Value {
    let mut own = one_goal(&episode.goal);
    own["object"] = json!(task.object());
    let others = &episode.goal.others;
    if !others.is_empty() {
        own["others"] = others.iter().map(|(name, goal)| (name.clone(), one_goal(goal))).collect();
    }
    own
}

fn one_goal(of: &Goal) -> Value {
    let Goal { position, turn, joints, .. } = of;
    let (quaternion, yaw) = match *turn {
        Some(Turn::Quaternion(q) | Turn::Axis { quaternion: q, .. }) => (Some(q), None),
        Some(Turn::Yaw(yaw)) => (None, Some(yaw)),
        None => (None, None),
    };
    let axis = turn.and_then(Turn::axis);
    let joints = (!joints.is_empty()).then_some(joints);
    json!({ "position": position, "quaternion": quaternion, "axis": axis, "yaw": yaw, "joints": joints })
}

/// Errors of objects as JSON: the largest, and where there are several objects, each one's.
pub fn errors(of: &BTreeMap<String, Errors>) -> Value {
    let one = |of: &Errors| json!({ "position": of.position, "rotation": of.rotation, "quaternion": of.quaternion, "joints": of.joints, "lost": of.lost });
    let mut all = one(&Errors::largest(of.values().copied()));
    if of.len() > 1 {
        all["objects"] = of.iter().map(|(name, errors)| (name.clone(), one(errors))).collect();
    }
    all
}

/// A kind of error in the table: its unit, the number, how many units one of its own is, and the digits at the start
/// and the end.
pub struct Part {
    pub unit: &'static str,
    pub of: fn(&Errors) -> Option<f64>,
    scale: f64,
    digits: [usize; 2],
}

pub const PARTS: [Part; 3] = [
    Part { unit: "mm", of: |errors| errors.position, scale: 1e3, digits: [1, 2] },
    Part { unit: "rad", of: |errors| errors.rotation, scale: 1.0, digits: [3, 4] },
    Part { unit: "joints rad or m", of: |errors| errors.joints, scale: 1.0, digits: [3, 4] },
];

/// An error in the unit of its part, at the start (0) or the end (1).
pub fn number(x: Option<f64>, part: &Part, end: usize) -> String {
    x.map_or("–".to_owned(), |x| format!("{:.1$}", part.scale * x, part.digits[end]))
}

/// A table of all episodes with a summary below.
pub fn report(rows: &[Row]) -> String {
    let has = |part: &&Part| rows.iter().any(|row| (part.of)(&row.numbers[1]).is_some());
    let parts: Vec<&Part> = PARTS.iter().filter(has).collect();
    let mut header = vec!["episode".to_owned()];
    header.extend(parts.iter().map(|part| format!("start {}", part.unit)));
    header.extend(parts.iter().map(|part| part.unit.to_owned()));
    header.extend(["success at", "steps", "ms", "worst ms", "iterations", "searches ended"].map(str::to_owned));
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    for row in rows {
        let often = row.outcomes.iter().max_by_key(|(_, n)| **n).map_or("", |(name, _)| name);
        let errors = [0, 1].into_iter().flat_map(|end| parts.iter().map(move |part| (part, end)));
        let mut cells = vec![row.episode.to_string()];
        cells.extend(errors.map(|(part, end)| number((part.of)(&row.numbers[end]), part, end)));
        cells.extend([
            row.success.map_or(if row.lost { "lost" } else { "never" }.to_owned(), |step| step.to_string()),
            row.steps.to_string(),
            format!("{:.2}", row.ms),
            format!("{:.1}", row.worst_ms),
            format!("{:.1}", row.iterations),
            often.to_owned(),
        ]);
        table.add_row(cells);
    }
    let n = rows.len() as f64;
    let mean = |part: &Part| {
        let values: Vec<f64> = rows.iter().filter_map(|row| (part.of)(&row.numbers[1])).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let means: Vec<String> =
        parts.iter().map(|part| format!("{} {}", number(mean(part), part, 1), part.unit)).collect();
    let succeeded = rows.iter().filter(|row| row.success.is_some()).count();
    let notes =
        [(Outcome::IterationLimit, LIMITED), (Outcome::NoGradient, NO_GRADIENT), (Outcome::BadInput, BAD_INPUT)];
    let ended = |of: &Outcome| rows.iter().any(|row| row.outcomes.contains_key(of.name()));
    let notes: String = notes.into_iter().filter(|(of, _)| ended(of)).map(|(_, note)| note).collect();
    let unsolved = unsolved(rows.iter().map(|row| row.unsolved).sum());
    let supervised = supervised::report(rows.iter().map(|row| &row.supervisor));
    format!(
        "{table}\n{notes}{unsolved}{supervised}{succeeded} of {} succeed; mean errors {}; {:.2} ms for a command, {:.1} at worst",
        rows.len(),
        means.join(", "),
        rows.iter().map(|row| row.ms).sum::<f64>() / n,
        largest(rows.iter().map(|row| row.worst_ms)),
    )
}
