//! States and goals in the lines of `mpc --stdio`.

use std::collections::BTreeMap;

use fingertip::Model;
use fingertip::description::unknown;
use fingertip::mpc::cost::{Goal, Turn};
use fingertip::overrides::{list, number, shown};
use serde_json::Value;

use crate::message;

/// Numbers of q; null is one that was not measured.
pub fn state(value: &Value, model: &Model) -> Result<Vec<f64>, String> {
    let expected = || format!("q: expected a list of {} numbers, got {}", model.nq(), shown(value));
    let items = value.as_array().ok_or_else(expected)?;
    if items.len() != model.nq() {
        return Err(message::wrong_length("q", &model.q_names(), items.len()));
    }
    let one =
        |item: &Value| if item.is_null() { Ok(f64::NAN) } else { number("q", item).map_err(|error| error.to_string()) };
    items.iter().map(one).collect()
}

/// A goal, with those of others by name if it has any.
pub fn goal_from(value: &Value) -> Result<Goal, String> {
    let Some(others) = value.get("others").filter(|others| !others.is_null()) else {
        return one_goal_from("goal", value, &["object", "others"]);
    };
    let expected = || format!("goal: others: expected {{\"lid\": {{\"joints\": {{…}}}}, …}}, got {}", shown(others));
    let one = |(name, value): (&String, &Value)| {
        one_goal_from(&format!("goal: others: {name}"), value, &[]).map(|goal| (name.clone(), goal))
    };
    let others = others.as_object().ok_or_else(expected)?.iter().map(one).collect::<Result<_, _>>()?;
    Ok(Goal { others, ..one_goal_from("goal", value, &["object", "others"])? })
}

/// The goal of one object. `more` are keys that are read elsewhere.
fn one_goal_from(place: &str, value: &Value, more: &[&str]) -> Result<Goal, String> {
    let expected = || {
        format!(
            "{place}: expected {{\"position\": […], \"quaternion\": […] or \"axis\": […] or \"yaw\": …, \"joints\": {{…}}}}, got {}",
            shown(value)
        )
    };
    let map = value.as_object().ok_or_else(expected)?;
    let known = [&["position", "quaternion", "axis", "yaw", "joints"], more].concat();
    if let Some(key) = map.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("{place}: {}", unknown("key", key, known.into_iter())));
    }
    let given = |key: &str| map.get(key).filter(|value| !value.is_null());
    let numbers = |key: &str| given(key).map(|value| list(key, value).map_err(|error| error.to_string())).transpose();
    let position = numbers("position")?.map(|p| match p[..] {
        [x, y] => Ok([x, y, 0.0]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err(format!("position: expected 3 numbers, got {}", p.len())),
    });
    let quaternion = numbers("quaternion")?.map(|q| {
        let q: [f64; 4] =
            q.try_into().map_err(|q: Vec<f64>| format!("quaternion: expected 4 numbers, got {}", q.len()))?;
        let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length.is_normal() {
            Ok(Turn::Quaternion(q.map(|x| x / length)))
        } else {
            Err("quaternion: expected one other than zero".to_owned())
        }
    });
    let axis = numbers("axis")?.map(|axis| {
        let length = axis.iter().map(|x| x * x).sum::<f64>();
        <[f64; 3]>::try_from(axis)
            .ok()
            .filter(|_| length.is_normal())
            .ok_or_else(|| "axis: expected 3 numbers, not all zero".to_owned())
    });
    let axis = axis.transpose()?;
    // An axis alone points in the world where it points in the object.
    let quaternion = quaternion.transpose()?.or(axis.map(|_| Turn::Quaternion([1.0, 0.0, 0.0, 0.0])));
    let yaw = given("yaw").map(|value| number("yaw", value).map(Turn::Yaw).map_err(|error| error.to_string()));
    let joints = given("joints").map_or(Ok(BTreeMap::new()), |value| {
        let expected = || format!("joints: expected {{\"hinge\": 0.5, …}}, got {}", shown(value));
        let one = |(name, value): (&String, &Value)| {
            number(name, value).map(|x| (name.clone(), x)).map_err(|error| error.to_string())
        };
        value.as_object().ok_or_else(expected)?.iter().map(one).collect()
    })?;
    let goal = Goal {
        position: position.transpose()?,
        turn: quaternion.map(|turn| turn.but_about(axis)).or(yaw.transpose()?),
        joints,
        others: BTreeMap::new(),
    };
    if goal.is_free() { Err(expected()) } else { Ok(goal) }
}
