//! What actuators and joints' own springs come to at the joints that have coordinates.

use std::collections::BTreeMap;

use super::actuator::Actuator;
use crate::{ActuatorMap, Joint};

/// What pulls one joint: force = Σ gain · ctrl + bias − stiffness · q.
#[derive(Default)]
struct Pull {
    stiffness: f64,
    bias: f64,
    /// Actuator and gain.
    gains: Vec<(usize, f64)>,
}

/// Stiffness by joint, controls of commands, notes.
pub(super) struct Springs {
    pub(super) stiffness: BTreeMap<String, f64>,
    pub(super) actuators: Vec<ActuatorMap>,
    pub(super) notes: Vec<String>,
}

/// The joint that has the coordinate of joint `j`, and q of `j` by that coordinate: slope and constant.
fn leader(joints: &[Joint], j: usize) -> (usize, f64, f64) {
    joints[j].mimic.map_or((j, 1.0, 0.0), |mimic| (mimic.joint, mimic.multiplier, mimic.offset))
}

/// `own` has each joint's spring: stiffness, and q at rest.
pub(super) fn springs(joints: &[Joint], own: &BTreeMap<String, [f64; 2]>, actuators: &[Actuator]) -> Springs {
    let mut pulls: Vec<Pull> = joints.iter().map(|_| Pull::default()).collect();
    let mut notes = Vec::new();
    let index = |name: &str| joints.iter().position(|joint| joint.name == name);
    for (j, joint) in joints.iter().enumerate() {
        let Some(&[stiffness, rest]) = own.get(&joint.name) else { continue };
        let (at, slope, constant) = leader(joints, j);
        pulls[at].stiffness += stiffness * slope * slope;
        pulls[at].bias += stiffness * slope * (rest - constant);
    }
    for (a, actuator) in actuators.iter().enumerate() {
        let Actuator { name, kind, length, gain, bias, stiffness, .. } = actuator;
        let mut slopes: BTreeMap<usize, f64> = BTreeMap::new();
        let mut constant = 0.0;
        let terms = length.iter().filter_map(|(name, coefficient)| Some((index(name)?, coefficient)));
        for (j, coefficient) in terms {
            let (at, slope, offset) = leader(joints, j);
            *slopes.entry(at).or_default() += coefficient * slope;
            constant += coefficient * offset;
        }
        if slopes.is_empty() {
            continue;
        }
        if *stiffness == 0.0 {
            let names: Vec<&str> = slopes.keys().map(|&j| joints[j].name.as_str()).collect();
            notes.push(format!(
                "{kind} \"{name}\" is no spring; joint {} is commanded by position here",
                names.join(", ")
            ));
            continue;
        }
        for (&j, slope) in &slopes {
            pulls[j].stiffness += stiffness * slope * slope;
        }
        if let [(&j, slope)] = slopes.iter().collect::<Vec<_>>()[..] {
            pulls[j].bias += slope * (bias - stiffness * constant);
            pulls[j].gains.push((a, slope * gain));
        } else {
            let names: Vec<&str> = slopes.keys().map(|&j| joints[j].name.as_str()).collect();
            notes.push(format!(
                "{kind} \"{name}\" pulls the sum of joints {}; here each has a spring and a command of its own",
                names.join(", ")
            ));
        }
    }
    let mut springs = Springs { stiffness: BTreeMap::new(), actuators: Vec::new(), notes };
    let mut free = Vec::new();
    for (joint, pull) in joints.iter().zip(pulls).filter(|(joint, _)| joint.is_commandable()) {
        let Pull { stiffness, bias, gains } = pull;
        if stiffness <= 0.0 {
            free.push(joint.name.as_str());
            continue;
        }
        springs.stiffness.insert(joint.name.clone(), stiffness);
        if gains.is_empty() && own.contains_key(&joint.name) {
            let (name, rest) = (joint.name.clone(), bias / stiffness);
            springs.notes.push(format!("joint \"{name}\" has a spring alone; here u commands it, at rest at {rest}"));
            springs.actuators.push(ActuatorMap { joint: name.clone(), name, gain: 0.0, offset: rest, range: None });
        }
        for (i, (a, gain)) in gains.into_iter().enumerate() {
            let Actuator { name, range, .. } = &actuators[a];
            springs.actuators.push(ActuatorMap {
                name: name.clone(),
                joint: joint.name.clone(),
                gain: gain / stiffness,
                // The constant counts once.
                offset: if i == 0 { bias / stiffness } else { 0.0 },
                range: *range,
            });
        }
    }
    if !free.is_empty() {
        let names = free.join(", ");
        springs
            .notes
            .push(format!("joints without an actuator that is a spring, here with the default stiffness: {names}"));
    }
    springs.actuators.sort_by_key(|map| actuators.iter().position(|actuator| actuator.name == map.name));
    springs
}
