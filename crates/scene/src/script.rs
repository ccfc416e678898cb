//! Scripted controls: the commands of a rollout over time.

use std::collections::BTreeMap;

use super::{Joint, Keyframe, Robot, Scene, check};
use fingertip_shapes::{Error, Findings, Result};

/// The largest time of a keyframe, s: ten days.
const LATEST: f64 = 1e6;

impl Scene {
    /// The commanded joints in the order of u: the robots in file order, and for each its joints with a single
    /// coordinate of their own that are not passive, in the order of its URDF.
    pub fn commanded(&self) -> impl Iterator<Item = (&Robot, &Joint)> {
        self.robots.iter().flat_map(|robot| {
            robot.articulation.joints.iter().filter(|joint| robot.is_commanded(joint)).map(move |joint| (robot, joint))
        })
    }

    /// The scripted command at a time, s, with one number for each of the [`commanded`](Self::commanded) joints. It
    /// starts at home, is linear between keyframes, and is held after the last. Without a script all joints stay at
    /// home.
    pub fn control(&self, time: f64) -> Vec<f64> {
        self.commanded().map(|(robot, joint)| self.control_of(robot, joint, time)).collect()
    }

    fn control_of(&self, robot: &Robot, joint: &Joint, time: f64) -> f64 {
        let name = command_name(robot, joint);
        let (mut before, mut value) = (0.0, robot.home_command(joint));
        for keyframe in &self.script {
            let next = keyframe.u.get(&name).or_else(|| keyframe.u.get(&joint.name)).copied().unwrap_or(value);
            if time < keyframe.time {
                let part = ((time - before) / (keyframe.time - before)).max(0.0);
                return value + part * (next - value);
            }
            (before, value) = (keyframe.time, next);
        }
        value
    }

    pub(super) fn validate_script(&self) -> Result<()> {
        let mut findings = Findings::default();
        let mut before = None;
        for (i, Keyframe { time, u }) in self.script.iter().enumerate() {
            let place = |error: Error| error.within(format!("script keyframe {}", i + 1));
            findings.take(check::not_negative("time", *time).map_err(place));
            findings.take(check::at_most("time", *time, LATEST, "s").map_err(place));
            if let Some(before) = before
                && *time <= before
            {
                let message = format!("expected more than the {before} s of the keyframe before, got {time}");
                findings.note(place(Error::invalid("time", message)));
            }
            before = Some(*time);
            for (name, &value) in u {
                findings.take(self.validate_command(name, u).map_err(place));
                findings.take(check::finite(&format!("u of \"{name}\""), value).map_err(place));
            }
        }
        findings.result()
    }

    /// Checks that a name in a keyframe means one commanded joint, and that no other name there means the same joint.
    fn validate_command(&self, name: &str, u: &BTreeMap<String, f64>) -> Result<()> {
        let invalid = |message: String| Err(Error::invalid("u", message));
        let called: Vec<String> = self
            .commanded()
            .filter(|(robot, joint)| joint.name == name || command_name(robot, joint) == name)
            .map(|(robot, joint)| command_name(robot, joint))
            .collect();
        match &called[..] {
            [] => {
                let names: Vec<String> = self.commanded().map(|(robot, joint)| command_name(robot, joint)).collect();
                invalid(check::unknown("commanded joint", name, names.iter().map(String::as_str)))
            }
            [full] if full != name && u.contains_key(full) => {
                invalid(format!("expected a joint once, got \"{name}\" and \"{full}\""))
            }
            [_] => Ok(()),
            several => {
                let names = several.join("\" or \"");
                invalid(format!("\"{name}\" is a joint of several robots; expected \"{names}\""))
            }
        }
    }
}

/// The name that identifies the joint in a scene.
fn command_name(robot: &Robot, joint: &Joint) -> String {
    format!("{}/{}", robot.name, joint.name)
}
