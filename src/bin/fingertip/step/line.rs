//! One line: read, step, answer.

use candle_core::{Result as TensorResult, Tensor};
use fingertip::description::unknown;
use fingertip::overrides::{list, parse, shown};
use fingertip::step::{Linearization, Quasidynamic, Step};
use fingertip::{Model, Overrides};
use serde::Serialize;
use serde_json::Value;

use super::models::Models;
use crate::message;

/// Keys of a line beside those of [`Overrides`].
const KEYS: [&str; 3] = ["q", "u", "jacobians"];

/// A line out, in the order of the keys.
#[derive(Serialize)]
struct Answer<'a> {
    q_next: Vec<f64>,
    lambda: Vec<Vec<f64>>,
    forces: Vec<Vec<f64>>,
    contacts: Vec<Contact<'a>>,
    status: &'static str,
    iterations: usize,
    residual: f64,
    #[serde(flatten)]
    jacobians: Option<Jacobians>,
}

#[derive(Serialize)]
struct Contact<'a> {
    a: &'a str,
    b: &'a str,
    phi: f64,
    normal: Vec<f64>,
    /// On b.
    point: Vec<f64>,
}

#[derive(Serialize)]
struct Jacobians {
    dq_next_dq: Vec<Vec<f64>>,
    dq_next_du: Vec<Vec<f64>>,
    dlambda_dq: Vec<Vec<f64>>,
    dlambda_du: Vec<Vec<f64>>,
}

/// What a line in asks for.
struct Question {
    q: Vec<f64>,
    u: Vec<f64>,
    overrides: Overrides,
    jacobians: bool,
}

/// The answer to a line, as JSON, or what is wrong with the line.
pub fn answer(models: &Models, line: &[u8]) -> Result<String, String> {
    let question = Question::read(line, models.base().model())?;
    solve(models, &question).map_err(|error| message::plain(&error))
}

impl Question {
    fn read(line: &[u8], model: &Model) -> Result<Self, String> {
        if line.trim_ascii().is_empty() {
            return Err("expected {\"q\": […], \"u\": […]}, got an empty line".to_owned());
        }
        let map = match parse(line).map_err(|error| error.to_string())? {
            Value::Object(map) => map,
            other => return Err(format!("expected {{\"q\": […], \"u\": […]}}, got {}", shown(&other))),
        };
        let keys = || KEYS.into_iter().chain(Overrides::KEYS);
        if let Some(key) = map.keys().find(|key| !keys().any(|known| known == key.as_str())) {
            return Err(unknown("key", key, keys()));
        }
        let numbers = |key: &str, n: usize| {
            let value = map.get(key).ok_or_else(|| format!("{key}: expected {n} numbers, got none"))?;
            let numbers = list(key, value).map_err(|error| error.to_string())?;
            if numbers.len() == n {
                Ok(numbers)
            } else {
                Err(format!("{key}: expected {n} numbers, got {}", numbers.len()))
            }
        };
        let jacobians = match map.get("jacobians") {
            None => false,
            Some(Value::Bool(asked)) => *asked,
            Some(other) => return Err(format!("jacobians: expected true or false, got {}", shown(other))),
        };
        Ok(Self {
            q: numbers("q", model.nq())?,
            u: numbers("u", model.nu())?,
            overrides: Overrides::from_map(&map).map_err(|error| error.to_string())?,
            jacobians,
        })
    }
}

fn solve(models: &Models, question: &Question) -> TensorResult<String> {
    let Question { q, u, overrides, jacobians } = question;
    let step = models.with(overrides)?;
    let model = step.model();
    let (q, u) = (model.tensor(&[q])?, model.tensor(&[u])?);
    let (result, jacobians) = if *jacobians {
        let Linearization { step, a, b, c, d } = step.linearize(&q, &u)?;
        let jacobians =
            Jacobians { dq_next_dq: rows(&a)?, dq_next_du: rows(&b)?, dlambda_dq: rows(&c)?, dlambda_du: rows(&d)? };
        (step, Some(jacobians))
    } else {
        (step.step(&q, &u)?, None)
    };
    let answer = Answer { jacobians, ..Answer::new(&step, &result)? };
    serde_json::to_string(&answer).map_err(candle_core::Error::wrap)
}

impl<'a> Answer<'a> {
    fn new(step: &'a Quasidynamic, result: &Step) -> TensorResult<Self> {
        let contacts = &result.contacts;
        let phi = contacts.phi.flatten_all()?.to_vec1::<f64>()?;
        let places = phi.into_iter().zip(rows(&contacts.normal)?).zip(rows(&contacts.point_b)?).enumerate();
        let contact = |(i, ((phi, normal), point))| {
            let (a, b) = step.model().contact_names(i);
            Contact { a, b, phi, normal, point }
        };
        let report = &result.reports[0];
        Ok(Self {
            q_next: result.q_next.flatten_all()?.to_vec1()?,
            lambda: rows(&result.lambda()?)?,
            forces: rows(&result.force)?,
            contacts: places.map(contact).collect(),
            status: report.status.name(),
            iterations: report.iterations,
            residual: report.residual,
            jacobians: None,
        })
    }
}

/// The rows of the one world (1, n, m).
fn rows(tensor: &Tensor) -> TensorResult<Vec<Vec<f64>>> {
    tensor.squeeze(0)?.to_vec2()
}
