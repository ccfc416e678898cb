//! Keys of joints in scene files, which replace the numbers of the robot's or object's own file.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Articulation, Connection, Joint, JointKind, Spring, check};
use fingertip_shapes::{Error, Result};

/// A number for all joints, or numbers by joint name and a `default` for the others.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number or a table of numbers by joint name")]
pub(super) enum Numbers {
    All(f64),
    ByJoint(BTreeMap<String, f64>),
}

/// A spring of a joint itself.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SpringFile {
    stiffness: f64,
    #[serde(default)]
    rest: f64,
}

/// A command that pulls several joints.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TendonFile {
    pub(super) joint: String,
    pub(super) others: BTreeMap<String, f64>,
}

/// Points of two links that are held together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConnectionFile {
    a: String,
    b: String,
    #[serde(default)]
    at_a: [f64; 3],
    #[serde(default)]
    at_b: [f64; 3],
    stiffness: Option<f64>,
}

/// The keys `spring`, `damping`, `armature`, `dry_friction` and `connections` of a robot or an object.
pub(super) struct JointKeys<'a> {
    pub(super) spring: &'a BTreeMap<String, SpringFile>,
    pub(super) damping: Option<&'a Numbers>,
    pub(super) armature: Option<&'a Numbers>,
    pub(super) dry_friction: Option<&'a Numbers>,
    pub(super) connections: &'a [ConnectionFile],
}

impl JointKeys<'_> {
    /// The first key that is given, if one is.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            ("spring", !self.spring.is_empty()),
            ("damping", self.damping.is_some()),
            ("armature", self.armature.is_some()),
            ("dry_friction", self.dry_friction.is_some()),
            ("connections", !self.connections.is_empty()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(key, _)| key)
    }

    /// Gives the joints what the keys say.
    pub(super) fn apply(&self, articulation: &mut Articulation) -> Result<()> {
        let is_single = |joint: &Joint| joint.kind.is_single();
        let moves = |joint: &Joint| joint.kind != JointKind::Fixed;
        for (i, file) in self.connections.iter().enumerate() {
            let (links, points) = ([&*file.a, &*file.b], [file.at_a, file.at_b]);
            articulation
                .connect(links, points, file.stiffness.unwrap_or(Connection::STIFFNESS))
                .map_err(|error| error.within(format!("connection {}", i + 1)))?;
        }
        let joints = &mut articulation.joints;
        for (name, &SpringFile { stiffness, rest }) in self.spring {
            find(joints, name, is_single, "one coordinate").map_err(|error| error.within("spring"))?.spring =
                Spring { stiffness, rest };
        }
        set(joints, self.damping, moves, "a motion", |joint| &mut joint.damping)
            .map_err(|error| error.within("damping"))?;
        set(joints, self.armature, is_single, "one coordinate", |joint| &mut joint.armature)
            .map_err(|error| error.within("armature"))?;
        set(joints, self.dry_friction, moves, "a motion", |joint| &mut joint.friction)
            .map_err(|error| error.within("dry_friction"))
    }
}

fn set(
    joints: &mut [Joint],
    numbers: Option<&Numbers>,
    fits: impl Fn(&Joint) -> bool,
    expected: &str,
    place: impl Fn(&mut Joint) -> &mut f64,
) -> Result<()> {
    let (all, by_joint) = match numbers {
        None => return Ok(()),
        Some(Numbers::All(value)) => (Some(*value), None),
        Some(Numbers::ByJoint(values)) => (values.get("default").copied(), Some(values)),
    };
    if let Some(all) = all {
        joints.iter_mut().filter(|joint| fits(joint)).for_each(|joint| *place(joint) = all);
    }
    for (name, &value) in by_joint.into_iter().flatten().filter(|(name, _)| *name != "default") {
        *place(find(joints, name, &fits, expected)?) = value;
    }
    Ok(())
}

fn find<'a>(
    joints: &'a mut [Joint],
    name: &str,
    fits: impl Fn(&Joint) -> bool,
    expected: &str,
) -> Result<&'a mut Joint> {
    let place = format!("joint \"{name}\"");
    let Some(j) = joints.iter().position(|joint| joint.name == name) else {
        let names = joints.iter().filter(|joint| fits(joint)).map(|joint| &*joint.name);
        return Err(Error::invalid(place, check::unknown("joint", name, names)));
    };
    if fits(&joints[j]) {
        Ok(&mut joints[j])
    } else {
        Err(Error::invalid(place, format!("expected a joint with {expected}, but this one has none or several")))
    }
}
