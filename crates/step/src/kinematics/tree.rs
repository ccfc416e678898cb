//! The scene as one forest of bodies: plain tables that kinematics and dynamics use.

use nalgebra::{Isometry3, Matrix3, Vector3};

use fingertip_scene::{
    Articulation, Freedom, Inertia, Joint, JointKind, Limits, Mount, ObjectBody, Resistance, Robot, Scene, Spring,
    unknown,
};
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
    /// The degree of freedom of each command: u_k commands v index `actuated[k]`, and others with it if it pulls a tendon
    /// ([`Coordinate::others`]).
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
    /// The body.
    pub body: usize,
    /// Its pose in the body's frame.
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
    /// The other coordinates that its command pulls as a tendon, as indices in [`Tree::coordinates`], and their ratios: u commands q + Σ
    /// ratio · q_other.
    pub others: Vec<(usize, f64)>,
    /// The joint's own spring.
    pub spring: Spring,
    /// Viscous damping, N·m·s/rad or N·s/m.
    pub damping: f64,
    /// Armature, kg·m² or kg.
    pub armature: f64,
    /// Dry friction, N·m or N.
    pub friction: f64,
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

    /// A name for each degree of freedom: the joint's own if it has one. A free body has `"ball.x"` and so on, then `"ball.ωx"`.
    pub fn v_names(&self) -> Vec<String> {
        self.kind.freedoms().iter().map(|(part, _)| self.of(part)).collect()
    }

    /// Its degrees of freedom, as indices in v.
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

    /// The forest of a scene.
    ///
    /// # Errors
    /// If the scene is not valid, see [`Scene::validate`].
    pub fn new(scene: &Scene) -> Result<Self> {
        scene.validate()?;
        let mut tree = Self {
            bodies: vec![Body::rigid("world".into(), None, &Isometry3::identity())],
            owners: Vec::new(),
            coordinates: Vec::new(),
            sites: Vec::new(),
            connections: Vec::new(),
            nq: 0,
            nv: 0,
            ns: 0,
            nu: 0,
            actuated: Vec::new(),
            screw_dof: Vec::new(),
        };
        for object in &scene.objects {
            let first = tree.bodies.len();
            let owner = tree.owners.len();
            let root = tree.add_root(&object.name, owner, object.freedom, &object.pose);
            match &object.body {
                ObjectBody::Rigid { inertia, .. } => tree.bodies[root].inertia.clone_from(inertia),
                ObjectBody::Articulated { articulation, home } => {
                    tree.add_articulation(&object.name, owner, root, articulation, |joint| Actuation {
                        stiffness: None,
                        home: home.get(&joint.name).copied(),
                    });
                }
            }
            let bodies = first..tree.bodies.len();
            tree.owners.push(Owner { name: object.name.clone(), robot: false, bodies });
            tree.add_sites(&object.name, root, &object.sites);
        }
        for robot in &scene.robots {
            let first = tree.bodies.len();
            let owner = tree.owners.len();
            let root = tree.add_root(&robot.name, owner, robot.freedom, &robot.base);
            if let Some(Mount { robot, link }) = &robot.mount {
                tree.bodies[root].parent = tree.find(&format!("{robot}/{link}"))?;
            }
            let stiffness = |name: &String| robot.stiffness.get(name).copied().unwrap_or(robot.default_stiffness);
            tree.add_articulation(&robot.name, owner, root, &robot.articulation, |joint| Actuation {
                stiffness: robot.is_commanded(joint).then(|| stiffness(&joint.name)),
                home: robot.home.get(&joint.name).copied(),
            });
            tree.add_tendons(robot);
            let bodies = first..tree.bodies.len();
            tree.owners.push(Owner { name: robot.name.clone(), robot: true, bodies });
            tree.add_sites(&robot.name, root, &robot.sites);
        }
        tree.nu = tree.actuated.len();
        Ok(tree)
    }

    /// Adds the body by which an owner hangs in the world.
    fn add_root(&mut self, name: &str, owner: usize, freedom: Freedom, pose: &Isometry3<f64>) -> usize {
        let (x, y, z) = (pose.translation.x, pose.translation.y, pose.translation.z);
        let mut body = Body::rigid(name.to_owned(), Some(owner), pose);
        let home = match freedom {
            Freedom::Fixed => Vec::new(),
            Freedom::Translation => {
                body.kind = JointKind::Translation;
                body.xyz = Vector3::zeros();
                vec![x, y, z]
            }
            Freedom::Planar => {
                // The height stays in the joint's frame. The tilt would have to stand behind the joint: see `validate`.
                body.kind = JointKind::Planar;
                body.axis = Vector3::z();
                body.xyz = Vector3::new(0.0, 0.0, z);
                body.rotation = Matrix3::identity();
                vec![x, y, pose.rotation.euler_angles().2]
            }
            Freedom::Free => {
                body.kind = JointKind::Floating;
                body.xyz = Vector3::zeros();
                body.rotation = Matrix3::identity();
                let r = pose.rotation;
                vec![x, y, z, r.w, r.i, r.j, r.k]
            }
        };
        let index = self.add_body(body);
        if freedom != Freedom::Fixed {
            self.add_coordinate(name.to_owned(), index, None, home, None);
        }
        index
    }

    fn add_articulation(
        &mut self,
        name: &str,
        owner: usize,
        root: usize,
        articulation: &Articulation,
        actuation: impl Fn(&Joint) -> Actuation,
    ) {
        let Articulation { links, joints, .. } = articulation;
        let (root_link, children) = (articulation.root().unwrap_or(0), articulation.children());
        self.bodies[root].name = format!("{name}/{}", links[root_link].name);
        self.bodies[root].inertia.clone_from(&links[root_link].inertia);

        // Bodies depth first from the root; coordinates in file order afterwards.
        let mut body_of_joint = vec![None; joints.len()];
        let mut body_of_link = vec![root; links.len()];
        let mut stack = vec![(root_link, root)];
        while let Some((link, parent)) = stack.pop() {
            for (j, joint) in children[link].iter().rev().map(|&j| (j, &joints[j])) {
                let mut body = Body::rigid(format!("{name}/{}", links[joint.child].name), Some(owner), &joint.origin);
                body.parent = parent;
                body.kind = joint.kind;
                body.axis = joint.axis;
                body.inertia.clone_from(&links[joint.child].inertia);
                let index = self.add_body(body);
                body_of_joint[j] = Some(index);
                body_of_link[joint.child] = index;
                stack.push((joint.child, index));
            }
        }
        for (j, joint) in joints.iter().enumerate() {
            let (Some(body), None) = (body_of_joint[j], joint.mimic) else { continue };
            if joint.kind == JointKind::Fixed {
                continue;
            }
            let Actuation { stiffness, home } = actuation(joint);
            let home = match joint.kind.nq() {
                1 => vec![joint.home(home)],
                _ => joint.kind.neutral(),
            };
            let index = self.coordinates.len();
            self.add_coordinate(format!("{name}/{}", joint.name), body, joint.limits, home, stiffness);
            let coordinate = &mut self.coordinates[index];
            let Resistance { spring, damping, friction, armature } = articulation.resistance(j);
            (coordinate.spring, coordinate.damping, coordinate.armature) = (spring, damping, armature);
            (coordinate.friction, coordinate.effort, coordinate.velocity) = (friction, joint.effort, joint.velocity);
        }
        self.connections.extend(articulation.connections.iter().map(|connection| {
            let [a, b] = connection.links.map(|link| links[link].name.as_str());
            Connection {
                name: format!("{name}/{a}+{b}"),
                bodies: connection.links.map(|link| body_of_link[link]),
                points: connection.points,
                stiffness: connection.stiffness,
            }
        }));
        for (j, joint) in joints.iter().enumerate() {
            if let (Some(body), Some(mimic)) = (body_of_joint[j], joint.mimic)
                && let Some(leader) = body_of_joint[mimic.joint]
            {
                let (q, dof) = (self.bodies[leader].q, self.screw_dof[self.bodies[leader].screw]);
                let body = &mut self.bodies[body];
                (body.q, body.ratio, body.shift) = (q, mimic.multiplier, mimic.offset);
                self.screw_dof[body.screw] = dof;
            }
        }
    }

    fn add_sites(&mut self, owner: &str, root: usize, sites: &[fingertip_scene::Site]) {
        for fingertip_scene::Site { name, link, pose } in sites {
            let body = link.as_ref().and_then(|link| self.body(&format!("{owner}/{link}"))).unwrap_or(root);
            self.sites.push(Site { name: format!("{owner}/{name}"), body, pose: *pose });
        }
    }

    /// Lets the commands of a robot's tendons pull their other joints.
    fn add_tendons(&mut self, robot: &Robot) {
        let place = |tree: &Self, joint: &str| {
            let name = format!("{}/{joint}", robot.name);
            tree.coordinates.iter().position(|coordinate| coordinate.name == name)
        };
        for tendon in &robot.tendons {
            let others =
                tendon.others.iter().filter_map(|(joint, &ratio)| Some((place(self, joint)?, ratio))).collect();
            if let Some(lead) = place(self, &tendon.joint) {
                self.coordinates[lead].others = others;
            }
        }
    }

    fn add_body(&mut self, mut body: Body) -> usize {
        body.screw = self.ns;
        self.ns += body.kind.nv();
        self.screw_dof.resize(self.ns, usize::MAX);
        self.bodies.push(body);
        self.bodies.len() - 1
    }

    fn add_coordinate(
        &mut self,
        name: String,
        body: usize,
        limits: Option<Limits>,
        home: Vec<f64>,
        stiffness: Option<f64>,
    ) {
        let kind = self.bodies[body].kind;
        let (q, v) = (self.nq, self.nv);
        self.nq += kind.nq();
        self.nv += kind.nv();
        self.bodies[body].q = q;
        for k in 0..kind.nv() {
            self.screw_dof[self.bodies[body].screw + k] = v + k;
        }
        let u = stiffness.map(|_| self.actuated.len());
        if u.is_some() {
            self.actuated.push(v);
        }
        self.coordinates.push(Coordinate {
            name,
            body,
            kind,
            q,
            v,
            u,
            limits,
            stiffness: stiffness.unwrap_or(0.0),
            home,
            others: Vec::new(),
            spring: Spring::default(),
            damping: 0.0,
            armature: 0.0,
            friction: 0.0,
            effort: f64::INFINITY,
            velocity: f64::INFINITY,
        });
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

    /// Do damping and armature of this joint act in the quasi-dynamic step? Those of joints with a command do only if `commanded` says
    /// so ([`Params::joint_damping`](fingertip_scene::Params::joint_damping)) or a tendon pulls them together with others.
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

    /// The commands, `nu` numbers, that hold the starting configuration: homes, or the lengths there of the tendons that commands pull.
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

struct Actuation {
    /// Stiffness of a commanded joint, N·m/rad or N/m; none for a passive joint.
    stiffness: Option<f64>,
    home: Option<f64>,
}

impl Body {
    fn rigid(name: String, owner: Option<usize>, pose: &Isometry3<f64>) -> Self {
        Self {
            name,
            owner,
            parent: 0,
            kind: JointKind::Fixed,
            rotation: pose.rotation.to_rotation_matrix().into_inner(),
            xyz: pose.translation.vector,
            axis: Vector3::z(),
            q: 0,
            screw: 0,
            ratio: 1.0,
            shift: 0.0,
            inertia: None,
        }
    }
}
