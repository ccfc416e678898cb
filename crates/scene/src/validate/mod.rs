//! Everything that can be wrong with a scene, found before anything is computed.

mod articulation;

use std::collections::BTreeMap;

use nalgebra::{Isometry3, Vector3};

use self::articulation::validate_passive;
use super::{
    Articulation, Freedom, Inertia, Joint, JointKind, Limits, Mount, Object, ObjectBody, PairRule, Params, Robot,
    Scene, Shape, Site, Table, Tendon, check,
};
use fingertip_shapes::{Error, Findings, Result};

/// Largest gravity along an axis, m/s².
const STRONGEST: f64 = 1e6;
/// A planar object's z axis may lean this far from the world's, rad: what angles typed with a few digits leave.
const TILT_ALLOWED: f64 = 1e-6;

impl Scene {
    /// Checks everything that a model needs to be sound.
    ///
    /// # Errors
    /// All findings: each thing's place (`robot "hand": joint "slider_z"`), what was expected and what came.
    pub fn validate(&self) -> Result<()> {
        let mut findings = Findings::default();
        findings.take(self.validate_things());
        let names = || self.objects.iter().map(|o| o.name.as_str()).chain(self.robots.iter().map(|r| r.name.as_str()));
        findings.take(check::unique("name", names()));
        if let Some(name) = names().find(|name| name.contains('/') || *name == "world") {
            let message = "expected a name without \"/\" and other than \"world\"";
            findings.note(Error::invalid(format!("name \"{name}\""), message));
        }
        let moves = |a: &Articulation| a.joints.iter().any(|joint| joint.kind != JointKind::Fixed);
        let object_moves = |object: &Object| match &object.body {
            ObjectBody::Articulated { articulation, .. } => moves(articulation),
            ObjectBody::Rigid { .. } => false,
        };
        if !self.objects.iter().any(|o| o.freedom != Freedom::Fixed || object_moves(o))
            && !self.robots.iter().any(|r| r.freedom != Freedom::Fixed || moves(&r.articulation))
        {
            let message = "expected a robot with joints or an object that may move, got neither";
            findings.note(Error::invalid("scene", message));
        }
        for (i, rule) in self.pairs.iter().enumerate() {
            findings.take(self.validate_pair(rule).map_err(|error| error.within(format!("pair {}", i + 1))));
        }
        for (i, robot) in self.robots.iter().enumerate() {
            let place = format!("robot \"{}\"", robot.name);
            findings.take(self.validate_mount(i, robot).map_err(|error| error.within(place)));
        }
        findings.take(self.validate_script());
        findings.take(check::unique("taxels", self.taxels.iter().map(|pad| pad.name.as_str())));
        for pad in &self.taxels {
            let valid = pad.validate().and_then(|()| self.validate_body(&pad.link));
            findings.take(valid.map_err(|error| error.within(format!("taxels \"{}\"", pad.name))));
        }
        findings.result()
    }

    /// Is this the name of one body: a link of a robot or an articulated object, or a rigid object?
    fn validate_body(&self, name: &str) -> Result<()> {
        let mut rigid = self.objects.iter().filter(|object| matches!(object.body, ObjectBody::Rigid { .. }));
        if name.contains('/') || rigid.any(|object| object.name == name) {
            return self.validate_side(name).map_err(|message| Error::invalid("link", message));
        }
        let message = match self.validate_side(name) {
            Ok(()) => format!("expected one of its links, as \"{name}/tip\", got \"{name}\", which has several"),
            Err(message) => message,
        };
        Err(Error::invalid("link", message))
    }

    /// Checks the numbers, objects and robots, each by itself.
    pub(super) fn validate_things(&self) -> Result<()> {
        let mut findings = Findings::default();
        findings
            .take(check::finite_vector("gravity", &self.gravity.into()).and_then(|()| {
                self.gravity.iter().try_for_each(|&g| check::at_most("gravity", g, STRONGEST, "m/s^2"))
            }));
        findings.take(self.params.validate().map_err(|error| error.within("params")));
        for object in &self.objects {
            findings.take(
                object.validate(self.gravity).map_err(|error| error.within(format!("object \"{}\"", object.name))),
            );
        }
        for robot in &self.robots {
            findings.take(robot.validate().map_err(|error| error.within(format!("robot \"{}\"", robot.name))));
        }
        findings.result()
    }

    /// Is a robot mounted on a link of one before it?
    fn validate_mount(&self, i: usize, robot: &Robot) -> Result<()> {
        let Some(Mount { robot: carrier, link }) = &robot.mount else { return Ok(()) };
        let invalid = |place: &str, message: String| Err(Error::invalid(place, message).within("mount"));
        let Some(at) = self.robots.iter().position(|other| other.name == *carrier) else {
            let others = self.robots[..i].iter().map(|other| &*other.name);
            return invalid("robot", check::unknown("robot", carrier, others));
        };
        if at >= i {
            return invalid("robot", format!("expected \"{carrier}\" before the robot that is mounted on it"));
        }
        if robot.freedom != Freedom::Fixed {
            return invalid("freedom", "expected \"fixed\", as the root link is welded on".to_owned());
        }
        let links = &self.robots[at].articulation.links;
        if !links.iter().any(|other| other.name == *link) {
            return invalid("link", check::unknown("link", link, links.iter().map(|other| &*other.name)));
        }
        Ok(())
    }

    fn validate_pair(&self, rule: &PairRule) -> Result<()> {
        let mut findings = Findings::default();
        for (name, value) in [("mu", rule.mu), ("torsion", rule.torsion)] {
            findings.take(value.map_or(Ok(()), |value| check::not_negative(name, value)));
        }
        for (side, name) in [("a", &rule.a), ("b", &rule.b)] {
            findings.take(self.validate_side(name).map_err(|message| Error::invalid(side, message)));
        }
        findings.result()
    }

    /// Is this the name of a robot, an object, or one link of one?
    fn validate_side(&self, name: &str) -> std::result::Result<(), String> {
        let (owner, link) = name.split_once('/').map_or((name, None), |(owner, link)| (owner, Some(link)));
        let articulation = match (
            self.robots.iter().find(|robot| robot.name == owner),
            self.objects.iter().find(|object| object.name == owner).map(|object| &object.body),
        ) {
            (Some(robot), _) => Some(&robot.articulation),
            (None, Some(ObjectBody::Articulated { articulation, .. })) => Some(articulation),
            (None, Some(ObjectBody::Rigid { .. })) => None,
            (None, None) => {
                let names = self.objects.iter().map(|o| &*o.name).chain(self.robots.iter().map(|r| &*r.name));
                return Err(check::unknown("robot or object", owner, names));
            }
        };
        match (articulation, link) {
            (_, None) => Ok(()),
            (None, Some(_)) => Err(format!("\"{owner}\" is one rigid body; expected its name without a link")),
            (Some(articulation), Some(link)) if articulation.links.iter().any(|l| l.name == link) => Ok(()),
            (Some(articulation), Some(link)) => {
                Err(check::unknown("link", link, articulation.links.iter().map(|l| &*l.name)))
            }
        }
    }
}

impl Params {
    /// The most that [`Params::max_iterations`] may be. Worlds take 10 to 30, and some that fall by metres into each
    /// other up to two thousand; the worlds of their batch wait for them.
    pub const MOST_ITERATIONS: usize = 10_000;
    /// The most that [`Params::impratio`] may be.
    pub const MOST_IMPRATIO: f64 = 1e6;

    /// Checks the ranges that the fields document.
    ///
    /// # Errors
    /// The numbers out of range.
    pub fn validate(&self) -> Result<()> {
        let mut findings = Findings::default();
        findings.take(check::positive("h", self.h));
        findings.take(check::positive("epsilon", self.epsilon));
        findings.take(check::positive("kappa", self.kappa));
        findings.take(check::not_negative("mu", self.mu));
        findings.take(check::not_negative("torsion", self.torsion));
        if !(1.0..=Self::MOST_IMPRATIO).contains(&self.impratio) {
            let (most, given) = (Self::MOST_IMPRATIO, self.impratio);
            findings.note(Error::invalid("impratio", format!("expected from 1 to {most}, got {given}")));
        }
        if let Some(distance) = self.contact_distance
            && distance != f64::INFINITY
        {
            findings.take(check::positive("contact_distance", distance));
        }
        findings.take(check::not_negative("fade", self.fade));
        if self.fade > self.contact_distance.unwrap_or(0.0) {
            let message = format!("expected at most contact_distance, which it ends at, got {}", self.fade);
            findings.note(Error::invalid("fade", message));
        }
        if !(1..=Self::MOST_ITERATIONS).contains(&self.max_iterations) {
            let (most, given) = (Self::MOST_ITERATIONS, self.max_iterations);
            let message = format!("expected from 1 to {most}, got {given}");
            findings.note(Error::invalid("max_iterations", message));
        }
        findings.take(self.solver.validate().map_err(|error| error.within("solver")));
        findings.result()
    }
}

impl Robot {
    fn validate(&self) -> Result<()> {
        check::finite_pose("base", &self.base)?;
        self.articulation.validate()?;
        let mut findings = Findings::default();
        findings.take(validate_root(self.freedom, &self.base, composite(&self.articulation).as_ref()));
        findings.take(check::positive("default stiffness", self.default_stiffness));
        for (name, &stiffness) in &self.stiffness {
            let found = find_joint(&self.articulation, name)
                .and_then(|_| check::positive(&format!("joint \"{name}\""), stiffness));
            findings.take(found.map_err(|error| error.within("stiffness")));
        }
        findings.take(validate_home(&self.articulation, &self.home));
        findings.take(validate_sites(&self.sites, Some(&self.articulation)));
        for name in &self.passive {
            findings.take(find_joint(&self.articulation, name).map_err(|error| error.within("passive")));
        }
        for (i, tendon) in self.tendons.iter().enumerate() {
            let place = format!("tendon of joint \"{}\"", tendon.joint);
            findings.take(self.validate_tendon(i, tendon).map_err(|error| error.within(place)));
        }
        // Joints of several coordinates are not commanded: only inertia holds them.
        let is_pulled = |joint: &Joint| self.tendons.iter().any(|tendon| tendon.others.contains_key(&joint.name));
        findings.take(validate_passive_joints(&self.articulation, |joint| {
            !joint.kind.is_single() || (self.passive.contains(&joint.name) && !is_pulled(joint))
        }));
        findings.result()
    }

    fn validate_tendon(&self, i: usize, tendon: &Tendon) -> Result<()> {
        let find = |name: &str| -> Result<usize> {
            find_joint(&self.articulation, name)?;
            let all = &self.articulation.joints;
            Ok(all.iter().position(|joint| joint.name == name).unwrap_or(all.len()))
        };
        find(&tendon.joint)?;
        if self.passive.contains(&tendon.joint) {
            return Err(Error::invalid("joint", "expected one with a command, but it is passive"));
        }
        if self.tendons[..i].iter().any(|other| other.joint == tendon.joint) {
            return Err(Error::invalid("joint", "expected one tendon for a command, got several"));
        }
        for (name, &ratio) in &tendon.others {
            let (j, place) = (find(name)?, format!("joint \"{name}\""));
            check::finite(&place, ratio)?;
            check::at_most(&place, ratio, check::LONGEST, "in size")?;
            if *name == tendon.joint {
                return Err(Error::invalid(place, "expected other joints than the one whose command it is"));
            }
            if self.passive.contains(name) && !self.articulation.resistance(j).holds() {
                let message =
                    "expected a spring, damping or armature of its own, as the tendon holds no more than a sum";
                return Err(Error::invalid(place, message));
            }
        }
        Ok(())
    }
}

impl Object {
    fn validate(&self, gravity: [f64; 3]) -> Result<()> {
        check::finite_pose("pose", &self.pose)?;
        self.table
            .map_or(Ok(()), |table| self.validate_table(table, gravity))
            .map_err(|error| error.within("table"))?;
        let articulation = match &self.body {
            ObjectBody::Articulated { articulation, .. } => Some(articulation),
            ObjectBody::Rigid { .. } => None,
        };
        validate_sites(&self.sites, articulation)?;
        match &self.body {
            ObjectBody::Rigid { inertia, collisions } => {
                for (i, collision) in collisions.iter().enumerate() {
                    collision.validate().map_err(|error| error.within(format!("collision {}", i + 1)))?;
                    if collision.shape == Shape::HalfSpace && self.freedom != Freedom::Fixed {
                        let message = "expected freedom \"fixed\", as a half-space has no end";
                        return Err(Error::invalid(format!("collision {}", i + 1), message));
                    }
                }
                if self.freedom != Freedom::Fixed {
                    inertia.as_ref().map_or(Ok(()), |inertia| inertia.validate())?;
                }
                validate_root(self.freedom, &self.pose, inertia.as_ref())
            }
            ObjectBody::Articulated { articulation, home } => {
                articulation.validate()?;
                validate_home(articulation, home)?;
                validate_root(self.freedom, &self.pose, composite(articulation).as_ref())?;
                validate_passive_joints(articulation, |_| true)
            }
        }
    }
}

impl Object {
    /// Can it lie on this table?
    fn validate_table(&self, Table { friction, radius }: Table, gravity: [f64; 3]) -> Result<()> {
        check::positive("friction", friction)?;
        if self.freedom != Freedom::Planar {
            return Err(Error::invalid("freedom", "expected \"planar\" (x, y, yaw): what is not stands on contacts"));
        }
        let ObjectBody::Rigid { collisions, .. } = &self.body else {
            return Err(Error::invalid("body", "expected one rigid body, got links and joints"));
        };
        if gravity[2] == 0.0 {
            let message = format!("expected some along z, which presses on the table, got {gravity:?}");
            return Err(Error::invalid("gravity", message));
        }
        match radius {
            Some(radius) => check::length("radius", radius),
            None if collisions.is_empty() => {
                Err(Error::invalid("radius", "expected one for an object without shapes, got none"))
            }
            None => Ok(()),
        }
    }
}

fn validate_sites(sites: &[Site], articulation: Option<&Articulation>) -> Result<()> {
    check::unique("site", sites.iter().map(|site| site.name.as_str()))?;
    for Site { name, link, pose } in sites {
        let place = |error: Error| error.within(format!("site \"{name}\""));
        check::finite_pose("pose", pose).map_err(place)?;
        let message = match (link, articulation) {
            (None, _) => continue,
            (Some(_), None) => "expected none, as this object is one rigid body".to_owned(),
            (Some(link), Some(of)) if of.links.iter().any(|other| other.name == *link) => continue,
            (Some(link), Some(of)) => check::unknown("link", link, of.links.iter().map(|other| &*other.name)),
        };
        return Err(place(Error::invalid("link", message)));
    }
    Ok(())
}

/// All links in the root's frame, every joint at 0.
fn composite(articulation: &Articulation) -> Option<Inertia> {
    articulation.root().and_then(|root| articulation.composites()[root].take())
}

/// Can the root body start in this pose, and move as its freedom says? `whole` is all that moves with it.
fn validate_root(freedom: Freedom, pose: &Isometry3<f64>, whole: Option<&Inertia>) -> Result<()> {
    let z = Vector3::z();
    if freedom == Freedom::Planar && (pose.rotation * z).angle(&z) > TILT_ALLOWED {
        let message = "expected a rotation about z only, as the freedom is planar; turn the shapes instead";
        return Err(Error::invalid("orientation", message));
    }
    validate_passive(freedom.joint(), &z, whole)
}

/// Has what inertia alone holds some? Springs, damping and armature hold what has none.
fn validate_passive_joints(articulation: &Articulation, is_passive: impl Fn(&Joint) -> bool) -> Result<()> {
    let counts = |(j, joint): &(usize, &Joint)| {
        let moves = joint.kind != JointKind::Fixed && joint.mimic.is_none();
        moves && is_passive(joint) && !articulation.resistance(*j).holds()
    };
    let mut joints = articulation.joints.iter().enumerate().filter(counts).peekable();
    if joints.peek().is_none() {
        return Ok(());
    }
    let composites = articulation.composites();
    for (_, joint) in joints {
        validate_passive(joint.kind, &joint.axis, composites[joint.child].as_ref())
            .map_err(|error| error.within(format!("joint \"{}\"", joint.name)))?;
    }
    Ok(())
}

/// The limits of the joint with this name, which must have one coordinate of its own.
fn find_joint(articulation: &Articulation, name: &str) -> Result<Option<Limits>> {
    let place = format!("joint \"{name}\"");
    let Some(joint) = articulation.joints.iter().find(|joint| joint.name == name) else {
        let names = articulation.joints.iter().filter(|joint| joint.is_commandable()).map(|joint| &*joint.name);
        return Err(Error::invalid(place, check::unknown("joint", name, names)));
    };
    if joint.is_commandable() {
        return Ok(joint.limits);
    }
    let message = match joint.mimic.and_then(|mimic| articulation.joints.get(mimic.joint)) {
        Some(leader) => format!("expected a joint with a coordinate of its own; this one follows \"{}\"", leader.name),
        None => format!("expected a joint with one coordinate, but this one has {}", joint.kind.nq()),
    };
    Err(Error::invalid(place, message))
}

fn validate_home(articulation: &Articulation, home: &BTreeMap<String, f64>) -> Result<()> {
    let mut findings = Findings::default();
    for (name, &value) in home {
        let joint = format!("joint \"{name}\"");
        let within_limits = |limits: Option<Limits>| match limits {
            Some(Limits { lower, upper }) if !(lower..=upper).contains(&value) => {
                let message = format!("expected a value within its limits [{lower}, {upper}], got {value}");
                Err(Error::invalid(&joint, message))
            }
            _ => Ok(()),
        };
        let found = find_joint(articulation, name).and_then(|limits| {
            check::finite(&joint, value)?;
            check::at_most(&joint, value, check::LONGEST, "rad or m")?;
            within_limits(limits)
        });
        findings.take(found.map_err(|error| error.within("home")));
    }
    findings.result()
}
