//! Building the forest of bodies from a scene's robots and objects.

use nalgebra::{Isometry3, Matrix3, Vector3};

use fingertip_scene::{
    Articulation, Freedom, Joint, JointKind, Limits, Mount, ObjectBody, Resistance, Robot, Scene, Spring,
};
use fingertip_shapes::Result;

use super::{Body, Connection, Coordinate, Owner, Site, Tree};

impl Tree {
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
                ObjectBody::Rigid { inertia, .. } => {
                    tree.bodies[root].inertia.clone_from(inertia);
                    if let (Some(table), Some(radius)) = (object.table, object.table_radius()) {
                        tree.coordinates.last_mut().into_iter().for_each(|c| c.table = Some((table.friction, radius)));
                    }
                }
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
            table: None,
            effort: f64::INFINITY,
            velocity: f64::INFINITY,
        });
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
