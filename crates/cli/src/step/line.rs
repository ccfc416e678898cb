//! Answers one line of JSON: reads the question, steps, and writes the answer.

use candle_core::Result as TensorResult;
use fingertip::description::unknown;
use fingertip::overrides::{list, parse, shown};
use fingertip::{Model, Overrides};
use serde_json::Value;

use super::models::Models;
use super::output::Outputs;
use crate::message;

/// Keys of a line beside those of [`Overrides`].
const KEYS: [&str; 4] = ["q", "u", "jacobians", "output"];

/// The question of an input line: q, u, overrides and the outputs that are asked for.
struct Question {
    q: Vec<f64>,
    u: Vec<f64>,
    overrides: Overrides,
    outputs: Outputs,
}

/// The answer to a line, as JSON, or what is wrong with the line.
pub fn answer(models: &Models, outputs: &Outputs, line: &[u8]) -> Result<String, String> {
    let question = Question::read(line, models.base().model(), outputs)?;
    solve(models, &question).map_err(|error| message::plain(&error))
}

impl Question {
    fn read(line: &[u8], model: &Model, outputs: &Outputs) -> Result<Self, String> {
        if line.trim_ascii().is_empty() {
            return Err("expected {\"q\": […], \"u\": […]}, or {} for home, got an empty line".to_owned());
        }
        let map = match parse(line).map_err(|error| error.to_string())? {
            Value::Object(map) => map,
            other => return Err(format!("expected {{\"q\": […], \"u\": […]}}, got {}", shown(&other))),
        };
        let keys = || KEYS.into_iter().chain(Overrides::KEYS);
        if let Some(key) = map.keys().find(|key| !keys().any(|known| known == key.as_str())) {
            return Err(unknown("key", key, keys()));
        }
        let numbers = |key: &str, home: Vec<f64>, names: Vec<String>| {
            let Some(value) = map.get(key) else { return Ok(home) };
            let numbers = list(key, value).map_err(|error| error.to_string())?;
            if numbers.len() == home.len() {
                Ok(numbers)
            } else {
                Err(message::wrong_length(key, &names, numbers.len()))
            }
        };
        let jacobians = match map.get("jacobians") {
            None => false,
            Some(Value::Bool(asked)) => *asked,
            Some(other) => return Err(format!("jacobians: expected true or false, got {}", shown(other))),
        };
        let outputs = match map.get("output") {
            None => outputs.clone(),
            Some(given) => Outputs::named(&names(given)?).map_err(|message| format!("output: {message}"))?,
        };
        let all = || model.tree.coordinates.iter();
        let commanded = || all().filter(|coordinate| coordinate.u.is_some());
        Ok(Self {
            q: numbers("q", model.tree.home(), all().flat_map(|coordinate| coordinate.q_names()).collect())?,
            u: numbers(
                "u",
                model.tree.home_command(),
                commanded().map(|coordinate| coordinate.name.clone()).collect(),
            )?,
            overrides: Overrides::from_map(&map).map_err(|error| error.to_string())?,
            outputs: if jacobians { outputs.with_jacobians() } else { outputs },
        })
    }
}

fn names(value: &Value) -> Result<Vec<&str>, String> {
    let expected = || format!("output: expected a list of names, as [\"q_next\"], got {}", shown(value));
    value.as_array().ok_or_else(expected)?.iter().map(|name| name.as_str().ok_or_else(expected)).collect()
}

fn solve(models: &Models, question: &Question) -> TensorResult<String> {
    let Question { q, u, overrides, outputs } = question;
    let step = models.with(overrides)?;
    let model = step.model();
    outputs.of(&step, models.watch(), &model.tensor(&[q])?, &model.tensor(&[u])?)
}
