//! Building a scene in code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use nalgebra::Isometry3;

use crate::{
    Articulation, Collision, Freedom, Inertia, Keyframe, Mount, Object, ObjectBody, PairRule, Params, Robot, Scene,
    Shape, Site, Table, Tendon, check,
};
use fingertip_shapes::{Error, Result};

/// Stiffness of joints for which none is given, N·m/rad or N/m.
const STIFFNESS: f64 = 1.0;

impl Default for Scene {
    fn default() -> Self {
        Self {
            gravity: [0.0, 0.0, -9.81],
            params: Params::default(),
            robots: Vec::new(),
            objects: Vec::new(),
            pairs: Vec::new(),
            script: Vec::new(),
            taxels: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Scene {
    /// An empty scene with gravity 9.81 m/s² along −z. Fill it with the methods below:
    ///
    /// ```
    /// use fingertip::description::{Freedom, Object, PairRule, Robot, Scene, Shape};
    ///
    /// # fn main() -> fingertip::Result<()> {
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
    /// let scene = Scene::new()
    ///     .object(Object::rigid("ball", Shape::sphere(0.04), 0.5).with_freedom(Freedom::Translation))
    ///     .object(Object::ground("table", -0.2))
    ///     .robot(Robot::from_urdf("hand", "assets/robots/hand21.urdf")?.with_stiffness("slider_z", 100.0))
    ///     .pair(PairRule::exclude("hand", "table"));
    /// scene.validate()?;
    /// assert_eq!(scene.commanded().count(), 21);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// With these parameters of the step.
    pub fn with_params(mut self, params: Params) -> Self {
        self.params = params;
        self
    }

    /// Sets the gravity in world axes, m/s².
    pub fn with_gravity(mut self, gravity: [f64; 3]) -> Self {
        self.gravity = gravity;
        self
    }

    /// Adds a robot, behind those that are there: its joints follow theirs in q and u.
    pub fn robot(mut self, robot: Robot) -> Self {
        self.robots.push(robot);
        self
    }

    /// Adds an object, behind those that are there: its coordinates follow theirs in q.
    pub fn object(mut self, object: Object) -> Self {
        self.objects.push(object);
        self
    }

    /// With another rule for pairs, which overrides earlier ones.
    pub fn pair(mut self, rule: PairRule) -> Self {
        self.pairs.push(rule);
        self
    }

    /// Adds a keyframe to the script: commands by `"robot/joint"` at `time`, s.
    pub fn keyframe<'a>(mut self, time: f64, u: impl IntoIterator<Item = (&'a str, f64)>) -> Self {
        let u = u.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        self.script.push(Keyframe { time, u });
        self
    }
}

impl Robot {
    /// A robot with its root link fixed in the world's origin, stiffness 1, and joints at 0 or at the limit nearest to
    /// 0.
    pub fn new(name: impl Into<String>, articulation: Articulation) -> Self {
        Self {
            name: name.into(),
            articulation,
            freedom: Freedom::Fixed,
            base: Isometry3::identity(),
            mount: None,
            default_stiffness: STIFFNESS,
            stiffness: BTreeMap::new(),
            home: BTreeMap::new(),
            passive: BTreeSet::new(),
            tendons: Vec::new(),
            actuators: Vec::new(),
            sites: Vec::new(),
        }
    }

    /// A robot from a URDF file.
    ///
    /// # Errors
    /// See [`Articulation::from_urdf`].
    pub fn from_urdf(name: impl Into<String>, path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(name, Articulation::from_urdf(path)?))
    }

    /// Sets the freedom of the root link. [`Freedom::Free`] makes a robot with a floating base.
    pub fn with_freedom(mut self, freedom: Freedom) -> Self {
        self.freedom = freedom;
        self
    }

    /// With its root link at this pose in the world; the starting pose if it may move.
    pub fn with_base(mut self, base: Isometry3<f64>) -> Self {
        self.base = base;
        self
    }

    /// Welds its root link to a link of another robot, which is added to the scene before this one; the base is a pose
    /// in that link's frame.
    pub fn with_mount(mut self, robot: impl Into<String>, link: impl Into<String>) -> Self {
        self.mount = Some(Mount { robot: robot.into(), link: link.into() });
        self
    }

    /// Adds a named point on a link, at a pose in the link's frame.
    pub fn with_site(mut self, name: impl Into<String>, link: impl Into<String>, pose: Isometry3<f64>) -> Self {
        self.sites.push(Site { name: name.into(), link: Some(link.into()), pose });
        self
    }

    /// Sets the stiffness of all joints that have none of their own, N·m/rad or N/m.
    pub fn with_default_stiffness(mut self, stiffness: f64) -> Self {
        self.default_stiffness = stiffness;
        self
    }

    /// Sets the stiffness of one joint, N·m/rad or N/m.
    pub fn with_stiffness(mut self, joint: impl Into<String>, stiffness: f64) -> Self {
        self.stiffness.insert(joint.into(), stiffness);
        self
    }

    /// Sets the starting value of one joint, rad or m.
    pub fn with_home(mut self, joint: impl Into<String>, value: f64) -> Self {
        self.home.insert(joint.into(), value);
        self
    }

    /// Leaves a joint without a command.
    pub fn with_passive(mut self, joint: impl Into<String>) -> Self {
        self.passive.insert(joint.into());
        self
    }

    /// Lets the command of `joint` pull others too, by their ratios: see [`Tendon`]. Those that have no command of
    /// their own are passive.
    pub fn with_tendon<'a>(
        mut self,
        joint: impl Into<String>,
        others: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Self {
        let others = others.into_iter().map(|(name, ratio)| (name.to_owned(), ratio)).collect();
        self.tendons.push(Tendon { joint: joint.into(), others });
        self
    }

    /// With these collision shapes, by link, and no others.
    ///
    /// # Errors
    /// If a name is not a link's.
    pub fn with_collisions<'a>(mut self, collisions: impl IntoIterator<Item = (&'a str, Collision)>) -> Result<Self> {
        self.articulation.replace_collisions(collisions)?;
        Ok(self)
    }
}

impl Articulation {
    /// Replaces all collision shapes by these, by link.
    ///
    /// # Errors
    /// If a name is not a link's.
    pub fn replace_collisions<'a>(&mut self, collisions: impl IntoIterator<Item = (&'a str, Collision)>) -> Result<()> {
        self.links.iter_mut().for_each(|link| link.collisions.clear());
        self.pairs.retain(|pair| pair.shapes.is_none());
        for (i, (name, collision)) in collisions.into_iter().enumerate() {
            match self.links.iter_mut().find(|link| link.name == name) {
                Some(link) => link.collisions.push(collision),
                None => {
                    let message = check::unknown("link", name, self.links.iter().map(|link| &*link.name));
                    return Err(Error::invalid(format!("collision {}", i + 1), message));
                }
            }
        }
        Ok(())
    }
}

impl Object {
    /// A free solid of uniform density at the world's origin, mass in kg.
    pub fn rigid(name: impl Into<String>, shape: Shape, mass: f64) -> Self {
        Self::compound(name, vec![Collision::centred(shape)], mass)
    }

    /// An object of several shapes; the mass, kg, is that of all together.
    pub fn compound(name: impl Into<String>, collisions: Vec<Collision>, mass: f64) -> Self {
        let inertia = Inertia::solid_compound(&collisions, mass);
        let body = ObjectBody::Rigid { inertia, collisions };
        Self { freedom: Freedom::Free, ..Self::fixed_body(name, body) }
    }

    /// A fixed shape.
    pub fn fixed(name: impl Into<String>, shape: Shape) -> Self {
        let body = ObjectBody::Rigid { inertia: None, collisions: vec![Collision::centred(shape)] };
        Self::fixed_body(name, body)
    }

    /// A fixed half-space: everything below z = `height`, m.
    pub fn ground(name: impl Into<String>, height: f64) -> Self {
        Self::fixed(name, Shape::HalfSpace).at([0.0, 0.0, height])
    }

    /// Links and passive joints, with the root link fixed in the world's origin.
    pub fn articulated(name: impl Into<String>, articulation: Articulation) -> Self {
        let body = ObjectBody::Articulated { articulation, home: BTreeMap::new() };
        Self::fixed_body(name, body)
    }

    fn fixed_body(name: impl Into<String>, body: ObjectBody) -> Self {
        let pose = Isometry3::identity();
        Self { name: name.into(), body, freedom: Freedom::Fixed, pose, table: None, sites: Vec::new() }
    }

    /// With a table of this friction under it, which is planar.
    pub fn on_table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }

    /// Sets the freedom of the body or the root link.
    pub fn with_freedom(mut self, freedom: Freedom) -> Self {
        self.freedom = freedom;
        self
    }

    /// With its frame at this position; the orientation does not change.
    pub fn at(mut self, position: [f64; 3]) -> Self {
        self.pose.translation = position.into();
        self
    }

    /// Sets the pose of its frame.
    pub fn with_pose(mut self, pose: Isometry3<f64>) -> Self {
        self.pose = pose;
        self
    }

    /// Sets the mass distribution, if it is one rigid body.
    pub fn with_inertia(mut self, new: Inertia) -> Self {
        if let ObjectBody::Rigid { inertia, .. } = &mut self.body {
            *inertia = Some(new);
        }
        self
    }

    /// Sets the starting value of one joint, if it has joints, rad or m.
    pub fn with_home(mut self, joint: impl Into<String>, value: f64) -> Self {
        if let ObjectBody::Articulated { home, .. } = &mut self.body {
            home.insert(joint.into(), value);
        }
        self
    }
}

impl PairRule {
    /// Sets the friction coefficient between two things, if they may touch.
    pub fn friction(a: impl Into<String>, b: impl Into<String>, mu: f64) -> Self {
        Self { mu: Some(mu), ..Self::between(a, b) }
    }

    /// Sets the torsional friction between two things, m: see [`Params::torsion`](super::Params::torsion).
    pub fn torsion(a: impl Into<String>, b: impl Into<String>, torsion: f64) -> Self {
        Self { torsion: Some(torsion), ..Self::between(a, b) }
    }

    /// Contact between two things, even if an earlier rule excludes it or links of one robot overlap at home.
    pub fn include(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { enabled: Some(true), ..Self::between(a, b) }
    }

    /// Excludes contact between two things.
    pub fn exclude(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { enabled: Some(false), ..Self::between(a, b) }
    }

    /// A rule without effect yet.
    fn between(a: impl Into<String>, b: impl Into<String>) -> Self {
        Self { a: a.into(), b: b.into(), mu: None, torsion: None, enabled: None }
    }
}

/// A rule in one line: `[[pair]] a = "ball", b = "hand", enabled = false`.
impl fmt::Display for PairRule {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { a, b, mu, torsion, enabled } = self;
        write!(f, "[[pair]] a = \"{a}\", b = \"{b}\"")?;
        mu.map_or(Ok(()), |mu| write!(f, ", mu = {mu}"))?;
        torsion.map_or(Ok(()), |torsion| write!(f, ", torsion = {torsion}"))?;
        enabled.map_or(Ok(()), |enabled| write!(f, ", enabled = {enabled}"))
    }
}
