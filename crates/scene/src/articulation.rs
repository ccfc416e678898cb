//! Links and joints: a robot, or an object with joints of its own.

use nalgebra::{Isometry3, Vector3};

use super::{Collision, Inertia, MeshFile, Shape};
use fingertip_shapes::{Decompose, Error, GridSettings, Result, unknown};

/// Links joined into a tree by joints, as described by a URDF or an MJCF.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Articulation {
    /// The links. Exactly one, the root, is not the child of a joint.
    pub links: Vec<Link>,
    /// The joints in the order of the file. Their coordinates have the same order in q.
    pub joints: Vec<Joint>,
    /// Notes, one line each: contents of the file that are left out here and move nothing (visual meshes,
    /// transmissions), and oddities.
    pub notes: Vec<String>,
    /// Warnings, one line each: contents of the file that are left out or changed here, so that it moves or touches
    /// otherwise than the file says.
    pub warnings: Vec<String>,
    /// Pairs of its own links that its file excludes or includes, later ones win; rules of the scene override them.
    pub pairs: Vec<LinkPair>,
    /// Connections that close loops: springs between points of its links.
    pub connections: Vec<Connection>,
}

/// A spring that holds a point of one link and a point of another together, as a ball joint that gives: it closes a
/// loop, which a tree of joints cannot. Three of them that are not on one line hold two links together altogether.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Indices of the two links.
    pub links: [usize; 2],
    /// The points in the links' frames, m.
    pub points: [[f64; 3]; 2],
    /// Stiffness, N/m: under a force F the points are F/stiffness apart.
    pub stiffness: f64,
}

impl Connection {
    /// Stiffness where nothing else is said, N/m: 10 N leave 0.01 mm.
    pub const STIFFNESS: f64 = 1e6;
}

/// A file's rule for two links of an articulation: whether they touch, and with which friction.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPair {
    /// Indices of the links.
    pub links: [usize; 2],
    /// The two shapes that are meant, as indices of their links' `collisions`; None: all of both links.
    pub shapes: Option<[usize; 2]>,
    /// Friction coefficient and torsional friction (m) of shapes that may touch, even neighbours; None excludes them.
    pub friction: Option<[f64; 2]>,
}

impl Articulation {
    /// Holds a point of one link and a point of another together, given in the links' frames, m: see [`Connection`].
    ///
    /// # Errors
    /// If there is no link of that name.
    pub fn connect(&mut self, [a, b]: [&str; 2], points: [[f64; 3]; 2], stiffness: f64) -> Result<()> {
        let link = |key: &str, name: &str| {
            let names = || self.links.iter().map(|link| link.name.as_str());
            let found = names().position(|link| link == name);
            found.ok_or_else(|| Error::invalid(key, unknown("link", name, names())))
        };
        let links = [link("a", a)?, link("b", b)?];
        self.connections.push(Connection { links, points, stiffness });
        Ok(())
    }

    /// Cuts the collision meshes into convex parts, those of one link or of all. Hulls that are not of a whole file
    /// stay; a note says so.
    ///
    /// # Errors
    /// If there is no such link, and as of [`MeshFile::decompose`]; the error's place is the link.
    pub fn decompose(&mut self, how: &Decompose, link: Option<&str>) -> Result<()> {
        self.replace("decompose", link, |collision| collision.decompose(how))
    }

    /// Gives the collision meshes distance grids, which spheres and capsules touch, those of one link or of all: see
    /// [`Collision::gridded`]. Other shapes touch their hulls, or the parts that [`Articulation::decompose`] cuts them
    /// into afterwards. Hulls that are not of a whole file have none; a note says so.
    ///
    /// # Errors
    /// If there is no such link, and as of [`MeshFile::grid`]; the error's place is the link.
    pub fn grid(&mut self, how: &GridSettings, link: Option<&str>) -> Result<()> {
        self.replace("grid", link, |collision| collision.gridded(how))
    }

    /// Leaves the hulls of all links so many vertices at most: see [`Collision::reduce_hull`]. Notes say what that
    /// leaves out.
    ///
    /// # Errors
    /// As of [`Collision::reduce_hull`]; the error's place is the link.
    pub fn reduce_hulls(&mut self, most: usize) -> Result<()> {
        for link in &mut self.links {
            let place = format!("link \"{}\"", link.name);
            for collision in &mut link.collisions {
                let said = collision.reduce_hull(most).map_err(|error| error.within(&place))?;
                self.notes.extend(said.map(|said| format!("{place}: {said}")));
            }
        }
        Ok(())
    }

    /// Puts what `with` makes of them in the place of the collision shapes, those of one link or of all.
    fn replace(
        &mut self,
        key: &str,
        link: Option<&str>,
        with: impl Fn(&Collision) -> Result<Vec<Collision>>,
    ) -> Result<()> {
        if let Some(name) = link
            && !self.links.iter().any(|link| link.name == name)
        {
            let names = self.links.iter().map(|link| link.name.as_str());
            return Err(Error::invalid(key, unknown("link", name, names)));
        }
        for (l, of) in self.links.iter_mut().enumerate() {
            if link.is_some_and(|name| name != of.name) {
                continue;
            }
            let (mut parts, mut places) = (Vec::new(), Vec::new());
            for collision in &of.collisions {
                if collision.mesh.is_none() && matches!(collision.shape, Shape::Hull(_)) {
                    self.warnings.push(format!("link \"{}\": a mesh that is not a whole file stays a hull", of.name));
                }
                let first = parts.len();
                parts.extend(with(collision).map_err(|error| error.within(format!("link \"{}\"", of.name)))?);
                places.push(first..parts.len());
            }
            of.collisions = parts;
            // What is said of a shape holds for its parts.
            for side in 0..2 {
                let split = |pair: LinkPair| match pair.shapes {
                    Some(shapes) if pair.links[side] == l => {
                        let with = |place: usize| {
                            let mut shapes = shapes;
                            shapes[side] = place;
                            LinkPair { shapes: Some(shapes), ..pair.clone() }
                        };
                        places[shapes[side]].clone().map(with).collect()
                    }
                    _ => vec![pair],
                };
                self.pairs = std::mem::take(&mut self.pairs).into_iter().flat_map(split).collect();
            }
        }
        Ok(())
    }

    /// The root: the link that is not the child of a joint.
    pub fn root(&self) -> Option<usize> {
        let mut is_root = vec![true; self.links.len()];
        for joint in &self.joints {
            is_root.get_mut(joint.child).into_iter().for_each(|is_root| *is_root = false);
        }
        is_root.iter().position(|&is_root| is_root)
    }

    /// The resistance of joint `j`, that of its followers included: those move by their multiplier as it moves by 1.
    pub fn resistance(&self, j: usize) -> Resistance {
        let own = |joint: &Joint, multiplier: f64, offset: f64| {
            let square = multiplier * multiplier;
            // The spring's torque is stiffness · multiplier · (rest − offset − multiplier · q).
            let torque = joint.spring.stiffness * multiplier * (joint.spring.rest - offset);
            (torque, [joint.spring.stiffness, joint.damping, joint.armature].map(|x| x * square), multiplier.abs())
        };
        let mut sum = Resistance::default();
        let mut at_zero = 0.0;
        for (k, joint) in self.joints.iter().enumerate() {
            let (torque, [stiffness, damping, armature], by) = match joint.mimic {
                None if k == j => own(joint, 1.0, 0.0),
                Some(Mimic { joint: leader, multiplier, offset }) if leader == j => own(joint, multiplier, offset),
                _ => continue,
            };
            at_zero += torque;
            sum.spring.stiffness += stiffness;
            sum.damping += damping;
            sum.armature += armature;
            sum.friction += joint.friction * by;
        }
        if sum.spring.stiffness > 0.0 {
            sum.spring.rest = at_zero / sum.spring.stiffness;
        }
        sum
    }

    /// For each link the joints below it, in file order. The joints' links exist.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.links.len()];
        self.joints.iter().enumerate().for_each(|(j, joint)| children[joint.parent].push(j));
        children
    }
}

/// A rigid body of an articulation, with shapes that collide and shapes that are seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The name, unique within the articulation.
    pub name: String,
    /// Mass distribution. None for a massless link.
    pub inertia: Option<Inertia>,
    /// Collision shapes, in the link's frame.
    pub collisions: Vec<Collision>,
    /// Visual shapes, in the link's frame.
    pub visuals: Vec<Visual>,
}

/// The appearance of a link, in the link's frame. It has no effect on the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Visual {
    /// The shape or mesh that is drawn.
    pub look: Look,
    /// The frame of what is shown, in the link's frame.
    pub pose: Isometry3<f64>,
    /// Red, green, blue and opacity from 0 to 1, if the file gives them.
    pub rgba: Option<[f64; 4]>,
}

/// A shape, or a mesh file.
#[derive(Clone, Debug, PartialEq)]
pub enum Look {
    /// A shape that is drawn as it is.
    Shape(Shape),
    /// A mesh; it is read only when needed.
    Mesh(MeshFile),
}

/// The motion of a joint's child relative to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JointKind {
    /// No motion.
    Fixed,
    /// Rotation about the axis, within limits if there are any; q in rad.
    Revolute,
    /// Rotation about the axis without limits; q in rad.
    Continuous,
    /// Translation along the axis; q in m.
    Prismatic,
    /// Translation in the plane through the origin normal to the axis, then rotation about the axis: q = (x, y, yaw).
    Planar,
    /// Translation in space along the axes of the parent link: q = (x, y, z).
    Translation,
    /// Any rotation about the origin, a ball joint: q = (qw, qx, qy, qz).
    Spherical,
    /// Any motion: q = (x, y, z, qw, qx, qy, qz).
    Floating,
}

/// Names and units of numbers.
type Numbers = &'static [(&'static str, &'static str)];

impl JointKind {
    /// Names and units of the joint's coordinates in q. A single one has no name but the joint's.
    pub fn coordinates(self) -> Numbers {
        match self {
            Self::Fixed => &[],
            Self::Revolute | Self::Continuous => &[("", "rad")],
            Self::Prismatic => &[("", "m")],
            Self::Planar => &[("x", "m"), ("y", "m"), ("yaw", "rad")],
            Self::Translation => &[("x", "m"), ("y", "m"), ("z", "m")],
            Self::Spherical => &[("qw", "1"), ("qx", "1"), ("qy", "1"), ("qz", "1")],
            Self::Floating => &[("x", "m"), ("y", "m"), ("z", "m"), ("qw", "1"), ("qx", "1"), ("qy", "1"), ("qz", "1")],
        }
    }

    /// Names and units of the joint's degrees of freedom, in the order of v.
    pub fn freedoms(self) -> Numbers {
        match self {
            Self::Spherical => &[("ωx", "rad"), ("ωy", "rad"), ("ωz", "rad")],
            Self::Floating => &[("x", "m"), ("y", "m"), ("z", "m"), ("ωx", "rad"), ("ωy", "rad"), ("ωz", "rad")],
            other => other.coordinates(),
        }
    }

    /// The motion in words.
    pub fn motion(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Revolute => "revolute",
            Self::Continuous => "continuous",
            Self::Prismatic => "prismatic",
            Self::Planar => "planar: x y yaw",
            Self::Translation => "translation: x y z",
            Self::Spherical => "ball: quaternion w x y z",
            Self::Floating => "free: x y z, quaternion w x y z",
        }
    }

    /// The unit of a spring's stiffness between such a joint and its command.
    pub fn stiffness_unit(self) -> &'static str {
        if self == Self::Prismatic { "N/m" } else { "N·m/rad" }
    }

    /// The number of coordinates in q.
    pub fn nq(self) -> usize {
        self.coordinates().len()
    }

    /// Does the joint have one coordinate, as a commanded joint must?
    pub fn is_single(self) -> bool {
        self.nq() == 1
    }

    /// The first place of its quaternion in its coordinates, and of the rotation in its degrees of freedom, if it turns
    /// freely. What comes before adds.
    pub fn quaternion(self) -> Option<usize> {
        match self {
            Self::Spherical => Some(0),
            Self::Floating => Some(3),
            Self::Fixed | Self::Revolute | Self::Continuous | Self::Prismatic | Self::Planar | Self::Translation => {
                None
            }
        }
    }

    /// q where the joint has not moved its child, `nq` numbers.
    pub fn neutral(self) -> Vec<f64> {
        let mut q = vec![0.0; self.nq()];
        if let Some(at) = self.quaternion() {
            q[at] = 1.0;
        }
        q
    }

    /// The number of degrees of freedom.
    pub fn nv(self) -> usize {
        self.freedoms().len()
    }
}

/// A joint between two links.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// The name, unique within the articulation.
    pub name: String,
    /// The motion it allows.
    pub kind: JointKind,
    /// Index of the parent link.
    pub parent: usize,
    /// Index of the child link.
    pub child: usize,
    /// The joint's frame in the parent link's frame; the child's frame at q = 0.
    pub origin: Isometry3<f64>,
    /// Axis in the joint's frame, of unit length. For a planar joint, the plane's normal.
    pub axis: Vector3<f64>,
    /// Range of q in rad or m; none if the joint has no limits.
    pub limits: Option<Limits>,
    /// Largest force or torque, N or N·m; infinite if the file gives none.
    pub effort: f64,
    /// Largest speed, m/s or rad/s; infinite if the file gives none.
    pub velocity: f64,
    /// Viscous damping, N·m·s/rad or N·s/m.
    pub damping: f64,
    /// Dry friction, N·m or N.
    pub friction: f64,
    /// A spring of its own, beside that of a command.
    pub spring: Spring,
    /// Inertia of what turns with the joint before its gears, kg·m² or kg.
    pub armature: f64,
    /// Set if this joint follows another one (a mimic joint) and so has no coordinate of its own. Revolute, continuous
    /// and prismatic joints only.
    pub mimic: Option<Mimic>,
}

/// A spring on a joint: its torque or force is stiffness · (rest − q).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spring {
    /// Stiffness, N·m/rad or N/m; not negative, 0 for no spring.
    pub stiffness: f64,
    /// q at which it is at rest, rad or m.
    pub rest: f64,
}

/// Spring, damping, friction and armature of a joint, those of its followers included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Resistance {
    /// One spring that does what the springs of the joint and its followers do together.
    pub spring: Spring,
    /// Viscous damping, N·m·s/rad or N·s/m.
    pub damping: f64,
    /// Dry friction, N·m or N.
    pub friction: f64,
    /// Armature, kg·m² or kg.
    pub armature: f64,
}

impl Resistance {
    /// Has every motion of the joint a cost in a quasi-dynamic step, whatever else moves with it?
    pub fn holds(&self) -> bool {
        self.spring.stiffness > 0.0 || self.damping > 0.0 || self.armature > 0.0
    }
}

impl Joint {
    /// A joint from the link `parent` to the link `child` (indices), about or along x, its frame that of the parent:
    /// without limits, spring, damping, friction and armature, and no joint's follower.
    pub fn new(name: impl Into<String>, kind: JointKind, parent: usize, child: usize) -> Self {
        Self {
            name: name.into(),
            kind,
            parent,
            child,
            origin: Isometry3::identity(),
            axis: Vector3::x(),
            limits: None,
            effort: f64::INFINITY,
            velocity: f64::INFINITY,
            damping: 0.0,
            friction: 0.0,
            spring: Spring::default(),
            armature: 0.0,
            mimic: None,
        }
    }

    /// Can this joint be commanded in a robot? It must have one coordinate, and one of its own.
    pub fn is_commandable(&self) -> bool {
        self.kind.is_single() && self.mimic.is_none()
    }

    /// The start of a joint with one coordinate: `given`, or else the value nearest to 0 within its limits.
    pub fn home(&self, given: Option<f64>) -> f64 {
        given.unwrap_or_else(|| self.limits.map_or(0.0, |Limits { lower, upper }| 0.0_f64.max(lower).min(upper)))
    }
}

/// Range of a joint's coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Smallest value.
    pub lower: f64,
    /// Largest value, at least `lower`.
    pub upper: f64,
}

/// q = multiplier · q_joint + offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mimic {
    /// Index of the joint that it follows. That joint has a coordinate of its own; chains are resolved on reading.
    pub joint: usize,
    /// Factor.
    pub multiplier: f64,
    /// Offset, rad or m.
    pub offset: f64,
}
