//! The JSON form of overrides.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Overrides, ParamOverrides, parse};
use fingertip_scene::{Friction, unknown};
use fingertip_shapes::{Error, Result};

impl Overrides {
    /// Reads the JSON form.
    ///
    /// # Errors
    /// If a key is unknown (the message gives the nearest known one) or a value has the wrong type. Names of things are
    /// checked by [`Overrides::parameters`].
    pub fn from_json(text: &str) -> Result<Self> {
        let map = match parse(text.as_bytes()) {
            Ok(Value::Object(map)) => map,
            Ok(other) => {
                return Err(Error::invalid("overrides", format!("expected an object, got {}", shown(&other))));
            }
            Err(error) => return Err(error.within("overrides")),
        };
        if let Some(key) = map.keys().find(|key| !Self::KEYS.contains(&key.as_str())) {
            return Err(Error::invalid("overrides", unknown("key", key, Self::KEYS.into_iter())));
        }
        Self::from_map(&map)
    }

    /// Reads the values under [`Overrides::KEYS`] and ignores other keys.
    ///
    /// # Errors
    /// As [`Overrides::from_json`].
    pub fn from_map(map: &Map<String, Value>) -> Result<Self> {
        let table = |key: &str| -> Result<Option<&Map<String, Value>>> {
            match map.get(key) {
                None => Ok(None),
                Some(Value::Object(table)) => Ok(Some(table)),
                Some(other) => Err(Error::invalid(key, format!("expected an object, got {}", shown(other)))),
            }
        };
        let numbers = |key: &str| -> Result<BTreeMap<String, f64>> {
            let entries = table(key)?.into_iter().flatten();
            entries.map(|(name, value)| Ok((name.clone(), number(&format!("{key} of \"{name}\""), value)?))).collect()
        };
        let sizes = table("size")?.into_iter().flatten().map(|(name, value)| {
            let place = format!("size of \"{name}\"");
            Ok((name.clone(), if value.is_array() { list(&place, value)? } else { vec![number(&place, value)?] }))
        });
        Ok(Self {
            size: sizes.collect::<Result<_>>()?,
            params: table("params")?.map(ParamOverrides::from_map).transpose()?.unwrap_or_default(),
            mu: numbers("mu")?,
            stiffness: numbers("stiffness")?,
            mass: numbers("mass")?,
        })
    }
}

impl ParamOverrides {
    const KEYS: [&'static str; 18] = [
        "h",
        "epsilon",
        "kappa",
        "hover",
        "gravity",
        "mu",
        "torsion",
        "friction",
        "impratio",
        "contact_distance",
        "fade",
        "joint_limits",
        "joint_damping",
        "joint_friction",
        "effort_limits",
        "rolling",
        "max_iterations",
        "solver",
    ];

    fn from_map(map: &Map<String, Value>) -> Result<Self> {
        let mut own = Self::default();
        for (key, value) in map {
            let place = format!("params: {key}");
            match key.as_str() {
                "h" => own.h = Some(number(&place, value)?),
                "epsilon" => own.epsilon = Some(number(&place, value)?),
                "kappa" => own.kappa = Some(number(&place, value)?),
                "hover" => own.hover = Some(number(&place, value)?),
                "mu" => own.mu = Some(number(&place, value)?),
                "torsion" => own.torsion = Some(number(&place, value)?),
                "friction" => {
                    let name = value.as_str().ok_or_else(|| {
                        Error::invalid(&place, format!("expected the name of a law, got {}", shown(value)))
                    })?;
                    let law = Friction::ALL.into_iter().find(|law| law.name() == name);
                    let names = Friction::ALL.map(Friction::name).into_iter();
                    own.friction = Some(law.ok_or_else(|| Error::invalid(&place, unknown("law", name, names)))?);
                }
                "impratio" => own.impratio = Some(number(&place, value)?),
                "fade" => own.fade = Some(number(&place, value)?),
                "contact_distance" if value.is_null() => own.contact_distance = Some(None),
                "contact_distance" if value == "inf" => own.contact_distance = Some(Some(f64::INFINITY)),
                "contact_distance" => own.contact_distance = Some(Some(number(&place, value)?)),
                "gravity" => {
                    let expected = |list: Vec<f64>| format!("expected 3 numbers, got {}", list.len());
                    let gravity = list(&place, value)?;
                    let gravity = gravity.try_into().map_err(|list| Error::invalid(&place, expected(list)))?;
                    own.gravity = Some(gravity);
                }
                "joint_limits" => own.joint_limits = Some(truth(&place, value)?),
                "joint_damping" => own.joint_damping = Some(truth(&place, value)?),
                "joint_friction" => own.joint_friction = Some(truth(&place, value)?),
                "effort_limits" => own.effort_limits = Some(truth(&place, value)?),
                "rolling" => own.rolling = Some(truth(&place, value)?),
                "max_iterations" => {
                    let expected =
                        || Error::invalid(&place, format!("expected a whole number from 1 up, got {}", shown(value)));
                    let iterations = value.as_u64().and_then(|n| usize::try_from(n).ok());
                    own.max_iterations = Some(iterations.ok_or_else(expected)?);
                }
                "solver" => {
                    let expected = || Error::invalid(&place, format!("expected an object, got {}", shown(value)));
                    own.solver = Some(value.as_object().ok_or_else(expected)?.clone());
                }
                _ => return Err(Error::invalid("params", unknown("parameter", key, Self::KEYS.into_iter()))),
            }
        }
        match (own.kappa, own.hover) {
            (Some(_), Some(_)) => Err(Error::invalid("params", "expected kappa or hover, which sets it, got both")),
            _ => Ok(own),
        }
    }
}

/// true or false.
fn truth(place: &str, value: &Value) -> Result<bool> {
    let expected = || Error::invalid(place, format!("expected true or false, got {}", shown(value)));
    value.as_bool().ok_or_else(expected)
}

/// A JSON number.
///
/// # Errors
/// Anything else, saying what came at `place`.
pub fn number(place: &str, value: &Value) -> Result<f64> {
    value.as_f64().ok_or_else(|| Error::invalid(place, format!("expected a number, got {}", shown(value))))
}

/// A value as a message has it: its beginning, if it is long.
pub fn shown(value: &Value) -> String {
    const LONG: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A JSON list of numbers.
///
/// # Errors
/// Anything else, saying what came at `place`.
pub fn list(place: &str, value: &Value) -> Result<Vec<f64>> {
    let Value::Array(values) = value else {
        return Err(Error::invalid(place, format!("expected a list of numbers, got {}", shown(value))));
    };
    values.iter().enumerate().map(|(i, value)| number(&format!("{place}[{i}]"), value)).collect()
}
