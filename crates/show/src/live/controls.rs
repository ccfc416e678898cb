//! The sliders of a live page.

use std::collections::BTreeMap;

use candle_core::Result;
use serde_json::{Value, json};

use fingertip_scene::JointKind;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::step::Quasidynamic;

/// Joints without limits may be commanded this far from home to both sides, rad and m.
const TURN: f64 = std::f64::consts::PI;
const SLIDE: f64 = 0.5;

/// A number that a page can change.
#[derive(Clone, Debug)]
pub struct Control {
    name: String,
    label: String,
    unit: &'static str,
    low: f64,
    high: f64,
    start: f64,
    /// Is the slider's scale logarithmic?
    log: bool,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// A joint's command, by its place in u.
    Joint(usize),
    Kappa,
    Friction,
    TimeStep,
}

/// All sliders of a live page with their present values.
#[derive(Clone, Debug)]
pub struct Controls {
    list: Vec<Control>,
    values: Vec<f64>,
}

impl Controls {
    /// The sliders of a scene; h is among them unless a controller counts on it.
    pub fn new(step: &Quasidynamic, with_h: bool) -> Result<Self> {
        let (model, parameters) = (step.model(), step.parameters());
        let first = |tensor: &candle_core::Tensor| -> Result<f64> {
            Ok(tensor
                .flatten_all()?
                .to_dtype(candle_core::DType::F64)?
                .to_vec1::<f64>()?
                .first()
                .copied()
                .unwrap_or(0.0))
        };
        let parameter = |name: &str, label: &str, unit, range: [f64; 2], start: f64, log, kind| Control {
            name: name.to_owned(),
            label: label.to_owned(),
            unit,
            low: range[0].min(start),
            high: range[1].max(start),
            start,
            log,
            kind,
        };
        let kappa = first(&parameters.kappa)?;
        let mut list = vec![parameter("kappa", "κ", "J⁻¹", [1e2, 1e6], kappa, true, Kind::Kappa)];
        if model.nc() > 0 {
            let mu = first(&parameters.mu)?;
            list.push(parameter("mu", "μ, all pairs", "", [0.0, 1.5], mu, false, Kind::Friction));
        }
        if with_h {
            list.push(parameter("h", "h", "s", [1e-3, 0.05], first(&parameters.h)?, true, Kind::TimeStep));
        }
        list.extend(joints(model));
        let values = list.iter().map(|control| control.start).collect();
        Ok(Self { list, values })
    }

    /// The sliders' description for a page, as JSON.
    pub fn description(&self) -> Value {
        let one = |(control, value): (&Control, &f64)| {
            let Control { name, label, unit, low, high, log, kind, .. } = control;
            let joint = matches!(kind, Kind::Joint(_));
            json!({
                "name": name, "label": label, "unit": unit, "low": low, "high": high, "value": value, "log": log,
                "joint": joint,
            })
        };
        self.list.iter().zip(&self.values).map(one).collect()
    }

    /// The sliders' present values, by name.
    pub fn values(&self) -> BTreeMap<&str, f64> {
        self.list.iter().zip(&self.values).map(|(control, &value)| (control.name.as_str(), value)).collect()
    }

    /// Moves all sliders back to their start.
    pub fn reset(&mut self) {
        self.values = self.list.iter().map(|control| control.start).collect();
    }

    /// Moves a slider, within its range; says whether it commands a joint. Unknown names and numbers that are not
    /// finite change nothing.
    pub fn set(&mut self, name: &str, value: f64) -> Option<bool> {
        let place = self.list.iter().position(|control| control.name == name)?;
        let Control { low, high, kind, .. } = &self.list[place];
        if !value.is_finite() {
            return None;
        }
        self.values[place] = value.clamp(*low, *high);
        Some(matches!(kind, Kind::Joint(_)))
    }

    /// The command, nu numbers.
    pub fn u(&self) -> Vec<f64> {
        let joint = |(control, &value): (&Control, &f64)| matches!(control.kind, Kind::Joint(_)).then_some(value);
        self.list.iter().zip(&self.values).filter_map(joint).collect()
    }

    /// Puts the joints' sliders where a script has them.
    pub fn follow(&mut self, u: &[f64]) {
        for (control, value) in self.list.iter().zip(&mut self.values) {
            if let Kind::Joint(place) = control.kind {
                *value = u[place];
            }
        }
    }

    /// Puts the joints' sliders somewhere, within their ranges.
    pub fn command(&mut self, u: &[f64]) {
        for (control, value) in self.list.iter().zip(&mut self.values) {
            if let Kind::Joint(place) = control.kind {
                *value = u[place].clamp(control.low, control.high);
            }
        }
    }

    /// The scene's parameters, with the numbers of sliders that have been moved in their places.
    pub fn parameters(&self, of: &Parameters) -> Result<Parameters> {
        let value = |kind: Kind| {
            let moved = |(control, value): &(&Control, &f64)| control.kind == kind && **value != control.start;
            self.list.iter().zip(&self.values).find(moved).map(|(_, &value)| value)
        };
        of.map(|name, tensor| {
            let kind = match name {
                "kappa" => Kind::Kappa,
                "mu" => Kind::Friction,
                "h" => Kind::TimeStep,
                _ => return Ok(tensor.clone()),
            };
            value(kind).map_or_else(|| Ok(tensor.clone()), |value| tensor.zeros_like()?.affine(1.0, value))
        })
    }
}

fn joints(model: &Model) -> impl Iterator<Item = Control> + '_ {
    let robots = model.tree.owners.iter().filter(|owner| owner.robot).count();
    let homes = model.tree.home_command();
    model.tree.coordinates.iter().filter_map(move |coordinate| {
        let place = coordinate.u?;
        let home = homes[place];
        let (reach, unit) = if coordinate.kind == JointKind::Prismatic { (SLIDE, "m") } else { (TURN, "rad") };
        // A tendon's length has no limits of its own.
        let limits = coordinate.limits.filter(|_| coordinate.others.is_empty());
        let [low, high] = limits.map_or([home - reach, home + reach], |limits| [limits.lower, limits.upper]);
        let name = coordinate.name.as_str();
        // With a single robot its name says nothing.
        let label = name.split_once('/').filter(|_| robots == 1).map_or(name, |(_, joint)| joint).to_owned();
        let (low, high) = (low.min(home), high.max(home));
        Some(Control {
            name: format!("u:{name}"),
            label,
            unit,
            low,
            high,
            start: home,
            log: false,
            kind: Kind::Joint(place),
        })
    })
}
