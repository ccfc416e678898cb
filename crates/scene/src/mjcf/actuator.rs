//! Actuators and fixed tendons: springs between a length, which is a sum of joints' coordinates, and a control.

use std::collections::HashMap;

use super::body::largest;
use super::compiler::Compiler;
use super::defaults::Defaults;
use super::document::Document;
use super::node::Node;
use crate::Limits;
use fingertip_shapes::{Result, unknown};

/// An actuator: its force on its length L is gain · ctrl + bias − stiffness · L.
pub(super) struct Actuator {
    pub(super) name: String,
    /// The actuator's tag, as it is spelled.
    pub(super) kind: String,
    /// L by joint: Σ coefficient · q. Empty where it acts on something else.
    pub(super) length: Vec<(String, f64)>,
    pub(super) gain: f64,
    pub(super) bias: f64,
    /// Zero for what is no spring.
    pub(super) stiffness: f64,
    pub(super) range: Option<[f64; 2]>,
    pub(super) effort: f64,
    /// Does its force fall with the speed of L?
    pub(super) is_damped: bool,
}

/// Sums of joints' coordinates by the name of their tendon.
pub(super) type Tendons = HashMap<String, Vec<(String, f64)>>;

/// The fixed tendons, and the names of others.
pub(super) fn tendons(document: &Document) -> Result<(Tendons, Vec<String>)> {
    let (mut fixed, mut others) = (Tendons::new(), Vec::new());
    for node in document.sections("tendon").flat_map(|section| section.children().collect::<Vec<_>>()) {
        if node.tag() != "fixed" {
            others.push(node.named("name").unwrap_or_default().to_owned());
            continue;
        }
        let name = node.own("name").unwrap_or_default().to_owned();
        let joint = |child: Node| Ok((child.required("joint")?.to_owned(), child.number("coef")?.unwrap_or(1.0)));
        fixed.insert(name, node.children().filter(|child| child.tag() == "joint").map(joint).collect::<Result<_>>()?);
    }
    Ok((fixed, others))
}

/// The numbers of an actuator, from its defaults and then from the element itself.
struct Setting {
    gain: f64,
    bias: [f64; 3],
    is_fixed: bool,
    is_affine: bool,
    gear: f64,
    range: Option<[f64; 2]>,
    limited: Option<bool>,
    forces: Option<[f64; 2]>,
    forced: Option<bool>,
    /// The part of its joint's range that its control has; 0 where that is given.
    inherited: f64,
}

impl Setting {
    fn apply(&mut self, node: &Node) -> Result<()> {
        self.gear = node.filled("gear", [self.gear, 0.0, 0.0, 0.0, 0.0, 0.0])?[0];
        self.range = node.numbers("ctrlrange")?.or(self.range);
        self.limited = node.flag_or_auto("ctrllimited")?.or(self.limited);
        self.forces = node.numbers("forcerange")?.or(self.forces);
        self.forced = node.flag_or_auto("forcelimited")?.or(self.forced);
        match node.tag() {
            "general" => {
                self.gain = node.list("gainprm")?.and_then(|list| list.first().copied()).unwrap_or(self.gain);
                for (bias, given) in self.bias.iter_mut().zip(node.list("biasprm")?.unwrap_or_default()) {
                    *bias = given;
                }
                let word = |name: &str| node.text(name).map(str::trim);
                self.is_fixed = word("gaintype").map_or(self.is_fixed, |word| word == "fixed");
                self.is_affine = word("biastype").map_or(self.is_affine, |word| word == "affine");
            }
            "position" | "intvelocity" => {
                self.gain = node.number("kp")?.unwrap_or(self.gain);
                self.bias = [0.0, -self.gain, self.bias[2]];
                self.inherited = node.number("inheritrange")?.unwrap_or(self.inherited);
                (self.is_fixed, self.is_affine) = (true, true);
            }
            "motor" => (self.gain, self.is_fixed, self.is_affine) = (1.0, true, false),
            _ => (self.is_fixed, self.is_affine) = (false, false),
        }
        Ok(())
    }
}

/// All actuators, in the order of the file. `limits` are those of a joint.
pub(super) fn actuators(
    document: &Document,
    compiler: &Compiler,
    defaults: &Defaults,
    tendons: &Tendons,
    limits: impl Fn(&str) -> Option<Limits>,
) -> Result<Vec<Actuator>> {
    let mut actuators = Vec::new();
    for node in document.sections("actuator").flat_map(|section| section.children().collect::<Vec<_>>()) {
        let mut setting = Setting {
            gain: 1.0,
            bias: [0.0; 3],
            is_fixed: true,
            is_affine: false,
            gear: 1.0,
            range: None,
            limited: None,
            forces: None,
            forced: None,
            inherited: 0.0,
        };
        for element in defaults.of_actuator(&node)? {
            setting.apply(&node.beside(element))?;
        }
        setting.apply(&node)?;
        let Setting { gain, bias: [bias, rate, damping], is_fixed, is_affine, gear, range, limited, inherited, .. } =
            setting;
        let forces = setting.forces.filter(|_| setting.forced.unwrap_or(compiler.autolimits));
        let length = match (node.text("joint").or(node.text("jointinparent")), node.text("tendon")) {
            (Some(joint), _) => vec![(joint.to_owned(), gear)],
            (None, Some(tendon)) => tendons.get(tendon).map_or_else(Vec::new, |terms| {
                terms.iter().map(|(joint, coefficient)| (joint.clone(), gear * coefficient)).collect()
            }),
            (None, None) => Vec::new(),
        };
        let inherit = |limits: Limits| {
            let (middle, half) = ((limits.lower + limits.upper) / 2.0, inherited * (limits.upper - limits.lower) / 2.0);
            [middle - half, middle + half]
        };
        let range = match &length[..] {
            [(joint, _)] if inherited > 0.0 => limits(joint).map(inherit),
            _ => range.filter(|_| limited.unwrap_or(compiler.autolimits)),
        };
        let is_spring = is_fixed && is_affine && rate < 0.0;
        actuators.push(Actuator {
            name: node.own("name").map_or_else(|| format!("actuator{}", actuators.len() + 1), str::to_owned),
            kind: node.tag().to_owned(),
            length,
            gain,
            bias,
            stiffness: if is_spring { -rate } else { 0.0 },
            range,
            effort: forces.map_or(f64::INFINITY, |range| largest(range) * gear.abs()),
            is_damped: is_spring && damping != 0.0,
        });
    }
    Ok(actuators)
}

/// Checks that actuators name joints that are there.
pub(super) fn check_joints<'a>(actuators: &[Actuator], joints: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    for Actuator { name, length, .. } in actuators {
        for (joint, _) in length {
            if !joints.clone().any(|known| known == joint) {
                let message = unknown("joint", joint, joints);
                return Err(fingertip_shapes::Error::invalid(format!("actuator \"{name}\""), message));
            }
        }
    }
    Ok(())
}
