//! The scene as one forest of bodies: plain tables that kinematics and dynamics use.

mod build;

use nalgebra::{Isometry3, Matrix3, Vector3};

use fingertip_scene::{Inertia, JointKind, Limits, Resistance, Spring, unknown};
use fingertip_shapes::{Error, Result};

/// All bodies of a scene in topological order (a parent before its children), with the joints above them.
///
/// Body 0 is the world. Objects come first, then robots, in the order of q and v.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The bodies. Body 0 is the world; its joint is fixed.
    pub bodies: Vec<Body>,
    /// Robots and objects in the order of q.
    pub owners: Vec<Owner>,
    /// The joints with coordinates of their own, in the order of q.
    pub coordinates: Vec<Coordinate>,
    /// The named points of all robots and objects.
    pub sites: Vec<Site>,
    /// The springs between points of links.
    pub connections: Vec<Connection>,
    /// The number of coordinates in q.
    pub nq: usize,
    /// The number of degrees of freedom.
    pub nv: usize,
    /// The number of screws, at least `nv`: a mimic joint has a screw of its own, which belongs to another joint's
    /// degree of freedom.
    pub ns: usize,
    /// The number of commanded joints: see [`Tree::actuated`].
    pub nu: usize,
    /// The degree of freedom of each command: u_k commands v index `actuated[k]`, and others with it if it pulls a
    /// tendon ([`Coordinate::others`]).
    pub actuated: Vec<usize>,
    /// The degree of freedom of each screw.
    pub screw_dof: Vec<usize>,
}

/// A robot or an object.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The robot's or object's name in the scene.
    pub name: String,
    /// Is it a robot? Otherwise an object.
    pub robot: bool,
    /// Indices of the robot's or object's bodies.
    pub bodies: std::ops::Range<usize>,
}

/// A named point with axes, fixed to a body.
#[derive(Clone, Debug)]
pub struct Site {
    /// `"owner/site"`.
    pub name: String,
    /// Index of the body in the tree.
    pub body: usize,
    /// Pose of the site in the body's frame.
    pub pose: Isometry3<f64>,
}

/// A spring that holds a point of one body and a point of another together.
#[derive(Clone, Debug)]
pub struct Connection {
    /// `"owner/a+b"`, after the links.
    pub name: String,
    /// The bodies A and B.
    pub bodies: [usize; 2],
    /// The points in their frames, m.
    pub points: [[f64; 3]; 2],
    /// Stiffness, N/m.
    pub stiffness: f64,
}

/// A joint with coordinates of its own.
#[derive(Clone, Debug)]
pub struct Coordinate {
    /// `"owner"` for a rigid object or a root link that may move, otherwise `"owner/joint"`.
    pub name: String,
    /// The body that it moves.
    pub body: usize,
    /// The kind of motion, which determines the numbers of coordinates and degrees of freedom.
    pub kind: JointKind,
    /// Index of the joint's first number in q.
    pub q: usize,
    /// Index of the joint's first degree of freedom in v.
    pub v: usize,
    /// Index of the joint's command in u, if it is commanded.
    pub u: Option<usize>,
    /// Range, for joints with one coordinate.
    pub limits: Option<Limits>,
    /// Stiffness of a commanded joint, N·m/rad or N/m. Zero for others.
    pub stiffness: f64,
    /// Starting value, `kind.nq()` numbers.
    pub home: Vec<f64>,
    /// The other coordinates that its command pulls as a tendon, as indices in [`Tree::coordinates`], and their ratios:
    /// u commands q + Σ ratio · q_other.
    pub others: Vec<(usize, f64)>,
    /// The joint's own spring.
    pub spring: Spring,
    /// Viscous damping, N·m·s/rad or N·s/m.
    pub damping: f64,
    /// Armature, kg·m² or kg.
    pub armature: f64,
    /// Dry friction, N·m or N.
    pub friction: f64,
    /// The table that a planar body lies on: friction coefficient and c, m.
    pub table: Option<(f64, f64)>,
    /// Largest force or torque, N or N·m.
    pub effort: f64,
    /// Largest speed, m/s or rad/s.
    pub velocity: f64,
}

impl Coordinate {
    /// A name for each number in q: the joint's own if it has one number, otherwise `"ball.x"`, `"ball.qw"` and so on.
    pub fn q_names(&self) -> Vec<String> {
        self.kind.coordinates().iter().map(|(part, _)| self.of(part)).collect()
    }

    /// A name for each degree of freedom: the joint's own if it has one. A free body has `"ball.x"` and so on, then
    /// `"ball.ωx"`.
    pub fn v_names(&self) -> Vec<String> {
        self.kind.freedoms().iter().map(|(part, _)| self.of(part)).collect()
    }

    /// The joint's degrees of freedom, as indices in v.
    pub fn dofs(&self) -> std::ops::Range<usize> {
        self.v..self.v + self.kind.nv()
    }

    /// Has each of its motions a cost of its own in a quasi-dynamic step: that of a spring, of damping or of armature?
    pub(crate) fn is_held(&self) -> bool {
        let Self { spring, damping, friction, armature, .. } = *self;
        Resistance { spring, damping, friction, armature }.holds()
    }

    fn of(&self, part: &str) -> String {
        if part.is_empty() { self.name.clone() } else { format!("{}.{part}", self.name) }
    }
}

/// A body and the joint above it.
#[derive(Clone, Debug)]
pub struct Body {
    /// `"owner"` for a rigid object, `"world"` for the world, otherwise `"owner/link"`.
    pub name: String,
    /// Index in [`Tree::owners`]; the world has none.
    pub owner: Option<usize>,
    /// Index of the parent body, which is smaller than the body's own.
    pub parent: usize,
    /// Motion relative to the parent.
    pub kind: JointKind,
    /// Rotation of the joint's frame in the parent's frame.
    pub rotation: Matrix3<f64>,
    /// Position of the joint's frame in the parent's frame, m.
    pub xyz: Vector3<f64>,
    /// Axis in the joint's frame, unit length.
    pub axis: Vector3<f64>,
    /// First number in q (the followed joint's for a mimic joint).
    pub q: usize,
    /// First screw, one for each degree of freedom of `kind`.
    pub screw: usize,
    /// q of this joint is `ratio · q[self.q] + shift`: (1, 0) unless it is a mimic joint.
    pub ratio: f64,
    /// Shift of a mimic joint, rad or m: q of this joint is `ratio · q[self.q] + shift`.
    pub shift: f64,
    /// Mass distribution.
    pub inertia: Option<Inertia>,
}

impl Tree {
    /// The coordinate that has this degree of freedom.
    pub fn coordinate_of(&self, dof: usize) -> Option<&Coordinate> {
        self.coordinates.iter().find(|c| (c.v..c.v + c.kind.nv()).contains(&dof))
    }

    /// The screws that move a body, from the root down.
    pub fn path(&self, body: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = body;
        while at != 0 {
            let Body { screw, kind, parent, .. } = self.bodies[at];
            path.extend((screw..screw + kind.nv()).rev());
            at = parent;
        }
        path.reverse();
        path
    }

    /// Does a screw shift what it moves, without turning it?
    pub(crate) fn is_slide(&self, screw: usize) -> bool {
        let moves = |body: &&Body| (body.screw..body.screw + body.kind.nv()).contains(&screw);
        self.bodies.iter().find(moves).is_some_and(|joint| match joint.kind {
            JointKind::Prismatic | JointKind::Translation => true,
            JointKind::Planar => screw < joint.screw + 2,
            JointKind::Floating => screw < joint.screw + 3,
            JointKind::Fixed | JointKind::Revolute | JointKind::Continuous | JointKind::Spherical => false,
        })
    }

    /// The degrees of freedom that no command pulls, alone or with others: inertia and weight act on them.
    pub fn passive(&self) -> Vec<usize> {
        let mut passive = vec![true; self.nv];
        for lead in self.coordinates.iter().filter(|c| c.u.is_some()) {
            passive[lead.v] = false;
            lead.others.iter().for_each(|&(other, _)| passive[self.coordinates[other].v] = false);
        }
        (0..self.nv).filter(|&dof| passive[dof]).collect()
    }

    /// The joints with springs of their own, in the order of [`Parameters::spring`](crate::Parameters::spring).
    pub fn sprung(&self) -> impl Iterator<Item = &Coordinate> {
        self.coordinates.iter().filter(|c| c.spring.stiffness > 0.0)
    }

    /// The joints with damping, in the order of [`Parameters::damping`](crate::Parameters::damping).
    pub fn damped(&self) -> impl Iterator<Item = &Coordinate> {
        self.coordinates.iter().filter(|c| c.damping > 0.0)
    }

    /// The joints with armature, in the order of [`Parameters::armature`](crate::Parameters::armature).
    pub fn armoured(&self) -> impl Iterator<Item = &Coordinate> {
        self.coordinates.iter().filter(|c| c.armature > 0.0)
    }

    /// The joints with dry friction, in the order of [`Parameters::dry_friction`](crate::Parameters::dry_friction).
    pub fn dry(&self) -> impl Iterator<Item = &Coordinate> {
        self.coordinates.iter().filter(|c| c.friction > 0.0)
    }

    /// The degrees of freedom with dry friction in the quasi-dynamic step, each with the place of its largest force in
    /// [`Parameters::dry_friction`](crate::Parameters::dry_friction). Joints with a command of their own have some only
    /// if `commanded` says so ([`Params::joint_friction`](fingertip_scene::Params::joint_friction)).
    pub fn dry_friction(&self, commanded: bool) -> Vec<(usize, usize)> {
        let rubs = |(_, c): &(usize, &Coordinate)| self.is_resisted(c, commanded);
        self.dry().enumerate().filter(rubs).flat_map(|(k, c)| c.dofs().map(move |dof| (dof, k))).collect()
    }

    /// The planar bodies on tables, in the order of
    /// [`Parameters::table_friction`](crate::Parameters::table_friction), with friction coefficient and c, m.
    pub fn tables(&self) -> impl Iterator<Item = (&Coordinate, (f64, f64))> {
        self.coordinates.iter().filter_map(|c| Some((c, c.table?)))
    }

    /// Their degrees of freedom x, y and yaw.
    pub(crate) fn on_tables(&self) -> Vec<[usize; 3]> {
        self.tables().map(|(c, _)| [c.v, c.v + 1, c.v + 2]).collect()
    }

    /// Do damping and armature of this joint act in the quasi-dynamic step? Those of joints with a command do only if
    /// `commanded` says so ([`Params::joint_damping`](fingertip_scene::Params::joint_damping)) or a tendon pulls them
    /// together with others.
    pub fn is_resisted(&self, coordinate: &Coordinate, commanded: bool) -> bool {
        let pulls = |c: &Coordinate| c.others.iter().any(|&(other, _)| self.coordinates[other].v == coordinate.v);
        commanded || coordinate.u.is_none() || !coordinate.others.is_empty() || self.coordinates.iter().any(pulls)
    }

    /// The nearest body from `body` up, itself included, whose joint moves; none if it is fixed in the world.
    pub fn carrier(&self, body: usize) -> Option<usize> {
        let mut at = body;
        while at != 0 {
            if self.bodies[at].kind.nv() > 0 {
                return Some(at);
            }
            at = self.bodies[at].parent;
        }
        None
    }

    /// Does a name, an owner's or a body's, mean this body?
    pub fn is_called(&self, body: usize, name: &str) -> bool {
        let Body { name: own, owner, .. } = &self.bodies[body];
        own == name || owner.is_some_and(|owner| self.owners[owner].name == name)
    }

    /// The starting configuration, `nq` numbers.
    pub fn home(&self) -> Vec<f64> {
        self.coordinates.iter().flat_map(|coordinate| coordinate.home.iter().copied()).collect()
    }

    /// The commands, `nu` numbers, that hold the starting configuration: homes, or the lengths there of the tendons
    /// that commands pull.
    pub fn home_command(&self) -> Vec<f64> {
        let home = |coordinate: &Coordinate| coordinate.home[0];
        let others = |lead: &Coordinate| {
            let others = lead.others.iter().map(|&(other, ratio)| ratio * home(&self.coordinates[other]));
            others.sum::<f64>()
        };
        self.coordinates.iter().filter(|c| c.u.is_some()).map(|lead| home(lead) + others(lead)).collect()
    }

    /// The owner of the body by which this one hangs in the world: its own, or that of the robot that carries all.
    pub(crate) fn assembly(&self, body: usize) -> Option<usize> {
        let mut at = body;
        while self.bodies[at].parent != 0 {
            at = self.bodies[at].parent;
        }
        self.bodies[at].owner
    }

    /// Is the body, or one that it hangs on, called so?
    pub(crate) fn hangs_on(&self, body: usize, name: &str) -> bool {
        let mut above = std::iter::successors(Some(body), |&at| (at != 0).then(|| self.bodies[at].parent));
        above.any(|at| self.is_called(at, name))
    }

    /// The site with this name, `"owner/site"`.
    ///
    /// # Errors
    /// If there is none; the message says which are near.
    pub fn site(&self, name: &str) -> Result<&Site> {
        let names = self.sites.iter().map(|site| site.name.as_str());
        let found = self.sites.iter().find(|site| site.name == name);
        found.ok_or_else(|| Error::invalid("sites", unknown("site", name, names)))
    }

    /// Index of the body with this name, if there is one.
    pub fn body(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body| body.name == name)
    }

    /// The index of the body with this name, or an error if there is none.
    ///
    /// # Errors
    /// A name that is not a body's; the message says which are near.
    pub fn find(&self, name: &str) -> Result<usize> {
        let names = self.bodies.iter().map(|body| body.name.as_str());
        self.body(name).ok_or_else(|| Error::invalid("bodies", unknown("body", name, names)))
    }
}
