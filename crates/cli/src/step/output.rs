//! The fields of an output line.

use candle_core::{DType, Result as TensorResult, Tensor};
use fingertip::contact::Window;
use fingertip::description::{Friction, unknown};
use fingertip::show::FarWatch;
use fingertip::solve::Status;
use fingertip::step::{Iterate, Linearization, Quasidynamic, Step};
use fingertip::touch::{Axes, Sensor, Wrenches};
use serde::Serialize;

use crate::blame::alone;
use crate::summary::far_in_step;

/// All keys, in the order in which they are put out.
pub const OUTPUTS: [&str; 15] = [
    "q_next",
    "lambda",
    "forces",
    "torques",
    "contacts",
    "status",
    "iterations",
    "residual",
    "gaps",
    "net_forces",
    "log",
    "dq_next_dq",
    "dq_next_du",
    "dlambda_dq",
    "dlambda_du",
];
/// Index in the list of outputs of the first one that is written only on request; `JACOBIANS` is that of the first one
/// that needs Jacobians.
const ON_REQUEST: usize = 8;
const JACOBIANS: usize = 11;

/// The keys that a line out has.
#[derive(Clone)]
pub struct Outputs([bool; OUTPUTS.len()]);

impl Default for Outputs {
    /// All but gaps, net forces, the log and Jacobians; torques where contacts have torsional friction.
    fn default() -> Self {
        Self(std::array::from_fn(|k| k < ON_REQUEST))
    }
}

impl Outputs {
    /// The outputs with these names.
    pub fn named(names: &[impl AsRef<str>]) -> Result<Self, String> {
        let mut wanted = [false; OUTPUTS.len()];
        for name in names.iter().map(AsRef::as_ref) {
            let known = OUTPUTS.iter().position(|output| *output == name);
            wanted[known.ok_or_else(|| unknown("output", name, OUTPUTS.into_iter()))?] = true;
        }
        Ok(Self(wanted))
    }

    pub fn with_jacobians(self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] || k >= JACOBIANS))
    }

    fn has_jacobians(&self) -> bool {
        self.0[JACOBIANS..].contains(&true)
    }

    /// Steps the one world and puts out what is wanted, as JSON.
    pub fn of(&self, step: &Quasidynamic, watch: &FarWatch, q: &Tensor, u: &Tensor) -> TensorResult<String> {
        let (result, jacobians) = if self.has_jacobians() {
            let result = step.step(q, u)?;
            let Linearization { a, b, c, d, .. } = step.linearize_from(q, u, Some(&result.warm))?;
            (result, vec![a, b, c, d])
        } else {
            (step.step(q, u)?, Vec::new())
        };
        let report = &result.reports[0];
        let mut parts = Vec::new();
        for (k, key) in OUTPUTS.into_iter().enumerate().filter(|(k, _)| self.0[*k]) {
            let part = match key {
                "q_next" => Part::Numbers(numbers(&result.q_next)?),
                "lambda" => Part::Rows(rows(&result.lambda()?)?),
                "forces" => Part::Rows(rows(&result.force)?),
                "torques" if result.torque.elem_count() == 0 => continue,
                "torques" => Part::Numbers(numbers(&result.torque)?),
                "contacts" => Part::Contacts(contacts(step, &result)?),
                "status" => Part::Text(report.status.name().to_owned()),
                "iterations" => Part::Count(report.iterations),
                "residual" => Part::Number(report.residual),
                "gaps" => Part::Numbers(numbers(&step.gaps(q, &result)?)?),
                "net_forces" => Part::NetForces(net_forces(step, q, &result)?),
                "log" => Part::Log(step.iterates(q, u)?.iter().map(Iteration::of).collect()),
                _ => Part::Rows(rows(&jacobians[k - JACOBIANS])?),
            };
            parts.push((key, part));
            if key == "status" && report.status == Status::Unsettled {
                parts.push(("slip_gap", Part::Number(report.slip_gap)));
            }
            if key == "status" && report.status == Status::Solved {
                let message = match passed_through(step, watch, q, &result)? {
                    None => too_far(watch, q, &result)?,
                    passed => passed,
                };
                parts.extend(message.map(|message| ("message", Part::Text(message))));
            } else if key == "status" && report.status == Status::BadInput {
                parts.push(("message", Part::Text(step.why_bad_input(q, u, 0)?)));
            } else if key == "status" && report.status != Status::Solved {
                let overlaps = step.model().overlaps(&numbers(&result.contacts.phi)?);
                let message = match overlaps.first() {
                    Some(deepest) if report.status != Status::Unsettled => deepest.to_string(),
                    _ => alone(report.status, step.model()),
                };
                parts.push(("message", Part::Text(message)));
            }
        }
        serde_json::to_string(&Line(parts)).map_err(candle_core::Error::wrap)
    }
}

/// The bodies that a step takes through each other because they are too far apart at its start. The planes of contacts
/// have no end: what is beside a body may pass its plane.
fn passed_through(step: &Quasidynamic, watch: &FarWatch, q: &Tensor, result: &Step) -> TensorResult<Option<String>> {
    let (gaps, phi) = (numbers(&step.gaps(q, result)?)?, numbers(&result.contacts.phi)?);
    let windows: Vec<Window> = step.model().pairs.windows().collect();
    let mut passed: Vec<usize> = (0..gaps.len()).filter(|&k| gaps[k] < 0.0 && phi[k] >= windows[k].reach).collect();
    passed.sort_by(|&i, &j| gaps[i].total_cmp(&gaps[j]));
    Ok(watch.passed(q, result, &passed)?.map(|contact| {
        let (a, b) = step.model().contact_names(contact);
        let (depth, reach) = (-1e3 * gaps[contact], 1e3 * windows[contact].reach);
        let why = match step.model().params.contact_distance {
            Some(distance) if distance <= windows[contact].reach => "beyond contact_distance".to_owned(),
            _ => format!("farther apart than they push each other, {reach:.3} mm"),
        };
        format!("\"{a}\" and \"{b}\" pass through each other by {depth:.3} mm: the step begins {why}")
    }))
}

/// What a step moves too far, the farthest.
fn too_far(watch: &FarWatch, q: &Tensor, result: &Step) -> TensorResult<Option<String>> {
    let far = watch.far(q, result)?;
    let farthest = far.into_iter().max_by(|(_, a, _), (_, b, _)| a.distance.total_cmp(&b.distance));
    Ok(farthest.map(|(name, motion, size)| far_in_step(name, motion, size)))
}

/// A JSON object whose keys keep their order.
struct Line<'a>(Vec<(&'static str, Part<'a>)>);

impl Serialize for Line<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, part)| (key, part)))
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Numbers(Vec<f64>),
    Rows(Vec<Vec<f64>>),
    Contacts(Vec<ContactOutput<'a>>),
    NetForces(Vec<NetForce>),
    Log(Vec<Iteration>),
    Text(String),
    Count(usize),
    Number(f64),
}

/// An iteration of the solve.
#[derive(Serialize)]
struct Iteration {
    friction: &'static str,
    attempt: &'static str,
    length: f64,
    error: f64,
    residual: f64,
    moved: f64,
    gap: f64,
    force: f64,
}

impl Iteration {
    fn of(iterate: &Iterate) -> Self {
        let Iterate { friction, attempt, length, error, residual, moved, gap, force } = *iterate;
        let friction = friction.map_or("none", Friction::name);
        Self { friction, attempt: attempt.name(), length, error, residual, moved, gap, force }
    }
}

#[derive(Serialize)]
struct ContactOutput<'a> {
    a: &'a str,
    b: &'a str,
    phi: f64,
    normal: Vec<f64>,
    /// On b.
    point: Vec<f64>,
}

fn contacts<'a>(step: &'a Quasidynamic, result: &Step) -> TensorResult<Vec<ContactOutput<'a>>> {
    let contacts = &result.contacts;
    let phi = numbers(&contacts.phi)?;
    let places = phi.into_iter().zip(rows(&contacts.normal)?).zip(rows(&contacts.point_b)?).enumerate();
    let contact = |(i, ((phi, normal), point))| {
        let (a, b) = step.model().contact_names(i);
        ContactOutput { a, b, phi, normal, point }
    };
    Ok(places.map(contact).collect())
}

/// What contacts put on a body in all, or what those with another do.
#[derive(Serialize)]
struct NetForce {
    on: String,
    by: Option<String>,
    force: Vec<f64>,
    /// About the origin of the body's frame.
    torque: Vec<f64>,
}

fn net_forces(step: &Quasidynamic, q: &Tensor, result: &Step) -> TensorResult<Vec<NetForce>> {
    let touch = Wrenches::of_all(step.model(), step.parameters(), Axes::World)?;
    let sums = rows(&touch.at((q, result))?)?;
    let of = |((on, by), sum): ((&str, Option<&str>), Vec<f64>)| {
        let (force, torque) = (sum[..3].to_vec(), sum[3..].to_vec());
        NetForce { on: on.to_owned(), by: by.map(str::to_owned), force, torque }
    };
    Ok(touch.names().zip(sums).map(of).collect())
}

/// The rows of the one world (1, n, m).
fn rows(tensor: &Tensor) -> TensorResult<Vec<Vec<f64>>> {
    tensor.squeeze(0)?.to_dtype(DType::F64)?.to_vec2()
}

fn numbers(tensor: &Tensor) -> TensorResult<Vec<f64>> {
    tensor.flatten_all()?.to_dtype(DType::F64)?.to_vec1()
}
