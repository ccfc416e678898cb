//! Actuators as springs at the joints that have coordinates: springs to commands, and tendons that pull several joints.

use std::collections::{BTreeMap, BTreeSet};

use super::actuator::Actuator;
use crate::{ActuatorMap, Articulation, Joint, Tendon};

/// The pull of actuators at one joint: force = Σ gain · ctrl + bias − stiffness · q.
#[derive(Default)]
struct Pull {
    stiffness: f64,
    bias: f64,
    /// Actuator and gain.
    gains: Vec<(usize, f64)>,
    /// The other joints that a tendon pulls with this one, by index.
    others: Vec<(usize, f64)>,
}

/// Stiffness by joint, controls of commands, warnings.
pub(super) struct Springs {
    pub(super) stiffness: BTreeMap<String, f64>,
    pub(super) passive: BTreeSet<String>,
    pub(super) tendons: Vec<Tendon>,
    pub(super) actuators: Vec<ActuatorMap>,
    pub(super) warnings: Vec<String>,
}

/// An actuator that is a spring on several joints: coefficients by joint, and the length where all are at zero.
struct Bundle {
    actuator: usize,
    slopes: Vec<(usize, f64)>,
    constant: f64,
}

/// The joint that has the coordinate of joint `j`, and q of `j` by that coordinate: slope and constant.
fn leader(joints: &[Joint], j: usize) -> (usize, f64, f64) {
    joints[j].mimic.map_or((j, 1.0, 0.0), |mimic| (mimic.joint, mimic.multiplier, mimic.offset))
}

/// The joints whose motion connections take part in.
fn in_loops(articulation: &Articulation) -> BTreeSet<usize> {
    let above = |link: usize| articulation.joints.iter().position(|joint| joint.child == link);
    let path = |link: usize| -> BTreeSet<usize> {
        std::iter::successors(above(link), |&j| above(articulation.joints[j].parent)).collect()
    };
    let between = |connection: &crate::Connection| {
        let [a, b] = connection.links.map(path);
        &a ^ &b
    };
    articulation.connections.iter().flat_map(between).collect()
}

pub(super) fn springs(articulation: &Articulation, actuators: &[Actuator]) -> Springs {
    let joints = &articulation.joints;
    let mut pulls: Vec<Pull> = joints.iter().map(|_| Pull::default()).collect();
    let (mut bundles, mut driven, mut warnings, mut forced) = (Vec::new(), BTreeSet::new(), Vec::new(), Vec::new());
    let index = |name: &str| joints.iter().position(|joint| joint.name == name);
    let names = |slopes: &[(usize, f64)]| {
        let names: Vec<&str> = slopes.iter().map(|&(j, _)| joints[j].name.as_str()).collect();
        names.join(", ")
    };
    for (a, Actuator { name, kind, length, gain, bias, stiffness, .. }) in actuators.iter().enumerate() {
        let mut slopes: Vec<(usize, f64)> = Vec::new();
        let mut constant = 0.0;
        let terms = length.iter().filter_map(|(name, coefficient)| Some((index(name)?, coefficient)));
        for (j, coefficient) in terms {
            let (at, slope, offset) = leader(joints, j);
            match slopes.iter_mut().find(|(other, _)| *other == at) {
                Some((_, sum)) => *sum += coefficient * slope,
                None => slopes.push((at, coefficient * slope)),
            }
            constant += coefficient * offset;
        }
        if slopes.is_empty() {
            continue;
        }
        if *stiffness == 0.0 {
            driven.extend(slopes.iter().map(|&(j, _)| j));
            forced.push(format!("{name} ({kind}, {})", names(&slopes)));
            continue;
        }
        if let [(j, slope)] = slopes[..] {
            pulls[j].stiffness += stiffness * slope * slope;
            pulls[j].bias += slope * (bias - stiffness * constant);
            pulls[j].gains.push((a, slope * gain));
        } else {
            bundles.push(Bundle { actuator: a, slopes, constant });
        }
    }
    if !forced.is_empty() {
        let which = forced.join(", ");
        warnings.push(format!("actuators that are no springs, whose joints are commanded by position here: {which}"));
    }
    let mut pulled = BTreeSet::new();
    for Bundle { actuator: a, slopes, constant } in bundles {
        let Actuator { name, kind, gain, bias, stiffness, .. } = &actuators[a];
        // The sum is held by the spring, the rest of the joints' motions by what they have of their own.
        let lead = slopes.iter().find(|&&(j, slope)| pulls[j].stiffness == 0.0 && slope != 0.0 && !pulled.contains(&j));
        let is_held = |j: usize| pulls[j].stiffness > 0.0 || articulation.resistance(j).holds();
        if let Some(&(lead, by)) = lead
            && slopes.iter().all(|&(j, _)| j == lead || is_held(j))
        {
            pulled.extend(slopes.iter().map(|&(j, _)| j));
            pulls[lead] = Pull {
                stiffness: stiffness * by * by,
                bias: by * (bias - stiffness * constant),
                gains: vec![(a, by * gain)],
                others: slopes.iter().filter(|(j, _)| *j != lead).map(|&(j, slope)| (j, slope / by)).collect(),
            };
            continue;
        }
        for &(j, slope) in &slopes {
            pulls[j].stiffness += stiffness * slope * slope;
        }
        warnings.push(format!(
            "{kind} \"{name}\" pulls the sum of joints {}, which have neither springs, damping nor armature; here each has a \
             spring and a command of its own",
            names(&slopes)
        ));
    }
    let (stiffness, passive, tendons) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    let mut springs = Springs { stiffness, passive, tendons, actuators: Vec::new(), warnings };
    let in_loops = in_loops(articulation);
    let mut free = Vec::new();
    for (j, (joint, pull)) in joints.iter().zip(pulls).enumerate().filter(|(_, (joint, _))| joint.is_commandable()) {
        let Pull { stiffness, bias, gains, others } = pull;
        if stiffness <= 0.0 {
            let is_sprung = articulation.resistance(j).spring.stiffness > 0.0;
            let is_held = is_sprung || in_loops.contains(&j);
            if pulled.contains(&j) || (is_held && !driven.contains(&j)) {
                springs.passive.insert(joint.name.clone());
            } else {
                free.push(joint.name.as_str());
            }
            continue;
        }
        springs.stiffness.insert(joint.name.clone(), stiffness);
        if !others.is_empty() {
            let others = others.into_iter().map(|(j, ratio)| (joints[j].name.clone(), ratio)).collect();
            springs.tendons.push(Tendon { joint: joint.name.clone(), others });
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
            .warnings
            .push(format!("joints without an actuator that is a spring, here with the default stiffness: {names}"));
    }
    springs.actuators.sort_by_key(|map| actuators.iter().position(|actuator| actuator.name == map.name));
    springs
}
