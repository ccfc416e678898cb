//! Links and joints of some of a file's trees: robots, and objects.

use std::collections::HashMap;

use nalgebra::{Isometry3, Translation3, Vector3};

use super::actuator::Actuator;
use super::body::{Body, Joint as FileJoint, WORLD};
use super::geom::{Form, Geom};
use super::relation::Coupling;
use super::{Mjcf, lost, springs};
use crate::left_out::without_meshes;
use crate::{
    Articulation, Collision, Freedom, Joint, JointKind, Link, LinkPair, Mimic, Robot, Site, Spring, Surface, Visual,
};
use fingertip_shapes::Result;

/// Offsets of an axis, m, that move nothing.
const ON_AXIS: f64 = 1e-15;

/// Some trees as one articulation.
pub(super) struct Assembly {
    pub(super) articulation: Articulation,
    pub(super) freedom: Freedom,
    pub(super) base: Isometry3<f64>,
    pub(super) sites: Vec<Site>,
    /// The link of each body.
    links: HashMap<usize, usize>,
}

/// What is said of a mesh whose file is not there.
const NO_FILE: &str = "there is no such file";

/// Meshes of an articulation whose files are not there.
#[derive(Default)]
struct Missing {
    /// The file of each visual mesh.
    visual: Vec<String>,
    /// The link and the file of each collision mesh.
    collision: Vec<(String, String)>,
    /// Links without the mass of a geom, and what is said of that.
    mass: Vec<(String, String)>,
}

impl Missing {
    /// Says of what a file lacks in a line for each kind.
    fn tell(&self, file: &str, said: &mut Articulation) {
        if let Some(first) = self.visual.first() {
            said.notes.push(format!("visual meshes: {} left out: there is no file {first}", self.visual.len()));
        }
        if let Some((link, note)) = self.mass.first() {
            let others = match self.mass.len() {
                1 => String::new(),
                n => format!("; so do {} more", n - 1),
            };
            said.warnings.push(format!("link \"{link}\": its mass lacks that of a geom: {note}{others}"));
        }
        said.warnings.extend(without_meshes(file, &self.collision, NO_FILE));
    }
}

impl Mjcf<'_> {
    /// The links and joints of the trees with these roots.
    pub(super) fn assemble(&self, roots: &[usize]) -> Result<Assembly> {
        let bodies = &self.tree.bodies;
        let mut assembly = Assembly {
            articulation: Articulation::default(),
            freedom: Freedom::Fixed,
            base: Isometry3::identity(),
            sites: Vec::new(),
            links: HashMap::new(),
        };
        let is_alone = |root: usize| bodies[root].joints.iter().all(|joint| joint.kind == JointKind::Floating);
        match roots {
            &[root] if is_alone(root) && (bodies[root].joints.is_empty() || !self.is_held(root)) => {
                assembly.base = bodies[root].pose;
                assembly.freedom = if bodies[root].joints.is_empty() { Freedom::Fixed } else { Freedom::Free };
            }
            _ => {
                assembly.articulation.links.push(bare(WORLD));
                assembly.links.insert(0, 0);
            }
        }
        let (mut missing, (_, poses)) = (Missing::default(), self.home());
        for (b, body) in bodies.iter().enumerate().skip(1) {
            if roots.contains(&self.tree.root_of(b)) {
                let link = self.link(body, &mut assembly.articulation, &mut missing)?;
                let link_of = || Some(body.name.clone());
                let sites = body.sites.iter();
                assembly.sites.extend(sites.map(|site| Site {
                    name: site.name.clone(),
                    link: link_of(),
                    pose: site.pose,
                }));
                let keeps = assembly.links.contains_key(&0);
                assembly
                    .articulation
                    .warnings
                    .extend(body.joints.iter().filter_map(|joint| lost::of_free(joint, keeps)));
                let is_free = body.joints.iter().any(|joint| joint.kind == JointKind::Floating);
                let start = poses.get(&b).filter(|_| is_free && assembly.freedom == Freedom::Fixed);
                assembly.add(b, body, start.copied().unwrap_or(body.pose), link);
            }
        }
        missing.tell(&self.file, &mut assembly.articulation);
        couple(&mut assembly.articulation, &self.couplings, self);
        self.pair(&mut assembly);
        let fixed_root = match roots {
            &[root] if assembly.freedom == Freedom::Fixed => Some(root),
            _ => None,
        };
        self.connect(&assembly.links, fixed_root, &mut assembly.articulation);
        for joint in &mut assembly.articulation.joints {
            let acts = |actuator: &&Actuator| actuator.length.iter().any(|(name, _)| *name == joint.name);
            let efforts = self.actuators.iter().filter(acts).map(|actuator| actuator.effort);
            joint.effort = joint.effort.min(efforts.reduce(|sum, effort| sum + effort).unwrap_or(f64::INFINITY));
        }
        Ok(assembly)
    }

    /// A body's link, without its joint.
    fn link(&self, body: &Body, said: &mut Articulation, missing: &mut Missing) -> Result<Link> {
        let mut link = Link { inertia: body.inertia.clone(), ..bare(&body.name) };
        for geom in &body.geoms {
            let place = |what: &str| format!("link \"{}\": {what}", body.name);
            if let Some(note) = self.absent(geom) {
                if body.by_geoms && geom.has_mass() {
                    missing.mass.push((body.name.clone(), note.clone()));
                }
                match &geom.form {
                    Form::Mesh(mesh) => {
                        let path = self.meshes.get(*mesh).missing().map(|path| path.display().to_string());
                        if self.is_solid(geom) {
                            missing.collision.extend(path.map(|path| (body.name.clone(), path)));
                        } else {
                            missing.visual.extend(path);
                        }
                    }
                    _ if self.is_solid(geom) => said.warnings.push(place(&note)),
                    _ => said.notes.push(place(&note)),
                }
                continue;
            }
            if let Some(warning) = self.flat(geom) {
                said.warnings.push(place(&warning));
                continue;
            }
            if self.is_solid(geom) {
                link.collisions.extend(self.collision(geom, &mut |note| said.notes.push(place(&note)))?);
            }
            if geom.is_visible()
                && let Some((look, pose)) = geom.look(&self.meshes)?
            {
                link.visuals.push(Visual { look, pose: geom.pose * pose, rgba: geom.rgba });
            }
        }
        Ok(link)
    }

    /// May it touch anything, by its groups or by a pair that names it?
    pub(super) fn is_solid(&self, geom: &Geom) -> bool {
        geom.touches() || geom.name.as_ref().is_some_and(|name| self.paired.contains(name))
    }

    /// The geom's shape; none of a kind that is not read. `note` is told what it leaves out.
    pub(super) fn collision(&self, geom: &Geom, note: &mut impl FnMut(String)) -> Result<Option<Collision>> {
        let (shape, mesh, most) = match &geom.form {
            Form::Mesh(mesh) => {
                let mesh = self.meshes.get(*mesh);
                (mesh.hull()?, mesh.file(), mesh.most)
            }
            Form::Shape(shape) => (shape.clone(), None, None),
            Form::Other(_) => return Ok(None),
        };
        let mut collision = Collision { surface: Some(geom.surface), mesh, ..Collision::new(shape, geom.pose) };
        if let Some(most) = most {
            collision.reduce_hull(most)?.into_iter().for_each(note);
        }
        Ok(Some(collision))
    }

    /// The link and the number of the shape of the geom with this name.
    fn place(&self, assembly: &Assembly, name: &str) -> Option<([usize; 2], Surface)> {
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let there = |geom: &&Geom| self.is_solid(geom) && self.absent(geom).is_none() && self.flat(geom).is_none();
            for (i, geom) in body.geoms.iter().filter(there).enumerate() {
                if geom.name.as_deref() == Some(name) {
                    return Some(([*assembly.links.get(&b)?, i], geom.surface));
                }
            }
        }
        None
    }

    /// Why a geom is left out, if it is.
    pub(super) fn absent(&self, geom: &Geom) -> Option<String> {
        match &geom.form {
            Form::Mesh(mesh) => {
                let path = self.meshes.get(*mesh).missing()?.display();
                let what = if self.is_solid(geom) { "collision mesh" } else { "visual mesh" };
                Some(format!("{what} {path} left out: {NO_FILE}"))
            }
            Form::Shape(_) => None,
            Form::Other(kind) => Some(format!("geom of type {kind} left out")),
        }
    }

    /// What is said of a geom that touches nothing, as it is a sheet without a hull.
    pub(super) fn flat(&self, geom: &Geom) -> Option<String> {
        let Form::Mesh(mesh) = &geom.form else { return None };
        let mesh = self.is_solid(geom).then(|| self.meshes.get(*mesh))?;
        let thickness = mesh.flat()?;
        Some(format!(
            "collision mesh \"{}\" left out: it is a sheet {:.1e} m thick, which has no hull",
            mesh.name, thickness
        ))
    }

    /// Exclusions and pairs within an articulation.
    fn pair(&self, assembly: &mut Assembly) {
        let body = |name: &String| self.tree.bodies.iter().position(|body| body.name == *name);
        let mut pairs = Vec::new();
        for [a, b] in &self.exclusions {
            let link = |name| body(name).and_then(|body| assembly.links.get(&body)).copied();
            if let (Some(a), Some(b)) = (link(a), link(b)) {
                pairs.push(LinkPair { links: [a, b], shapes: None, friction: None });
            }
        }
        for pair in &self.geom_pairs {
            let [a, b] = pair.geoms.each_ref().map(|name| self.place(assembly, name));
            if let (Some(([a, i], first)), Some(([b, j], second))) = (a, b) {
                let friction = Some(pair.friction(&first, &second));
                pairs.push(LinkPair { links: [a, b], shapes: Some([i, j]), friction });
            }
        }
        assembly.articulation.pairs = pairs;
    }

    /// The robot of some trees.
    pub(super) fn robot(&self, name: &str, roots: &[usize]) -> Result<Robot> {
        let Assembly { articulation, freedom, base, sites, .. } = self.assemble(roots)?;
        let mut robot = Robot { freedom, base, sites, ..Robot::new(name, articulation) };
        let springs = springs::springs(&robot.articulation, &self.actuators);
        robot.stiffness = springs.stiffness;
        robot.passive = springs.passive;
        robot.tendons = springs.tendons;
        robot.actuators = springs.actuators;
        let (home, root) = self.home();
        robot.home = self.start_of(&mut robot.articulation, &home);
        if let (Freedom::Free, [only]) = (robot.freedom, roots) {
            robot.base = root.get(only).copied().unwrap_or(robot.base);
        }
        robot.articulation.warnings.extend(springs.warnings);
        let damped: Vec<&str> = self.actuators.iter().filter(|of| of.is_damped).map(|of| of.name.as_str()).collect();
        if !damped.is_empty() {
            robot.articulation.notes.push(format!("damping of actuators (biasprm) left out: {}", damped.join(", ")));
        }
        Ok(robot)
    }

    /// Does a keyframe say where all joints start?
    pub(super) fn has_home(&self) -> bool {
        let n: usize = self.tree.joints().map(|(_, joint)| joint.kind.nq()).sum();
        self.key.as_ref().is_some_and(|key| key.qpos.len() == n)
    }

    /// q by joint, and the poses of free bodies, in the keyframe, or else as the file describes them.
    pub(super) fn home(&self) -> (HashMap<&str, f64>, HashMap<usize, Isometry3<f64>>) {
        let (mut home, mut poses) = (HashMap::new(), HashMap::new());
        let qpos = self.key.as_ref().map_or(&[][..], |key| &key.qpos);
        let mut at = 0;
        let qpos = if self.has_home() { qpos } else { &[] };
        for (body, joint) in self.tree.joints() {
            let numbers = qpos.get(at..at + joint.kind.nq());
            at += joint.kind.nq();
            match numbers {
                Some(&[q]) => drop(home.insert(joint.name.as_str(), q)),
                Some(&[x, y, z, w, i, j, k]) => {
                    let turn = super::compiler::quaternion([w, i, j, k]).unwrap_or_default();
                    poses.insert(body, Isometry3::from_parts([x, y, z].into(), turn));
                }
                _ if joint.kind.is_single() => drop(home.insert(joint.name.as_str(), joint.reference)),
                _ => {}
            }
        }
        (home, poses)
    }
}

impl super::relation::GeomPair {
    /// The coefficients that hold between the two geoms.
    pub(super) fn friction(&self, a: &Surface, b: &Surface) -> [f64; 2] {
        let both = a.with(b);
        let [mu, torsion] = self.friction.unwrap_or([both.mu, both.torsion]);
        Surface { condim: self.condim.unwrap_or(both.condim), mu, torsion, ..both }.friction()
    }
}

fn bare(name: &str) -> Link {
    Link { name: name.to_owned(), inertia: None, collisions: Vec::new(), visuals: Vec::new() }
}

impl Assembly {
    /// Adds a body's link with its joints: one after the other, with a massless link between two, and where the axis
    /// does not pass through the body's origin.
    fn add(&mut self, b: usize, body: &Body, pose: Isometry3<f64>, link: Link) {
        let Articulation { links, joints, .. } = &mut self.articulation;
        let parent = self.links.get(&body.parent).copied();
        let Some(mut at) = parent else {
            // The root of a single tree, whose joint is that of the base.
            self.links.insert(b, links.len());
            links.push(link);
            return;
        };
        let mut origin = pose;
        let mut left = body.joints.len();
        let mut shift = Vector3::zeros();
        for joint in &body.joints {
            left -= 1;
            shift = offset(joint);
            let turned = match joint.kind {
                JointKind::Revolute => Isometry3::rotation(joint.axis * -joint.reference),
                JointKind::Prismatic => Translation3::from(joint.axis * -joint.reference).into(),
                _ => Isometry3::identity(),
            };
            origin = origin * Translation3::from(shift) * turned;
            let is_last = left == 0 && shift == Vector3::zeros();
            let child = links.len();
            links.push(if is_last { link.clone() } else { bare(&format!("{}:{}", body.name, joint.name)) });
            joints.push(moving(joint, at, child, origin));
            (at, origin) = (child, Translation3::from(-shift).into());
        }
        if body.joints.is_empty() || shift != Vector3::zeros() {
            let child = links.len();
            links.push(link);
            joints.push(fixed(&body.name, at, child, origin));
            at = child;
        }
        self.links.insert(b, at);
    }
}

/// A point of the axis as seen from the body's origin, as near to that as can be; zero where it makes no difference.
fn offset(joint: &FileJoint) -> Vector3<f64> {
    let across = joint.anchor - joint.axis * joint.axis.dot(&joint.anchor);
    let off = match joint.kind {
        JointKind::Revolute => across,
        JointKind::Spherical => joint.anchor,
        _ => Vector3::zeros(),
    };
    if off.norm() > ON_AXIS { off } else { Vector3::zeros() }
}

fn moving(joint: &FileJoint, parent: usize, child: usize, origin: Isometry3<f64>) -> Joint {
    let is_endless = joint.kind == JointKind::Revolute && joint.limits.is_none();
    let kind = if is_endless { JointKind::Continuous } else { joint.kind };
    Joint {
        origin,
        axis: joint.axis,
        limits: joint.limits.filter(|_| joint.kind.is_single()),
        effort: joint.effort,
        damping: joint.damping.max(0.0),
        friction: joint.friction.max(0.0),
        spring: match joint.spring {
            Spring { stiffness, rest } if joint.kind.is_single() => Spring { stiffness: stiffness.max(0.0), rest },
            _ => Spring::default(),
        },
        armature: joint.armature.max(0.0),
        ..Joint::new(&joint.name, kind, parent, child)
    }
}

fn fixed(body: &str, parent: usize, child: usize, origin: Isometry3<f64>) -> Joint {
    Joint { origin, ..Joint::new(format!("{body}:fixed"), JointKind::Fixed, parent, child) }
}

/// Makes joints follow others. Of two that are coupled, the one with an actuator of its own leads.
fn couple(articulation: &mut Articulation, couplings: &[Coupling], file: &Mjcf) {
    let Articulation { joints, warnings, .. } = articulation;
    let index =
        |joints: &[Joint], name: &str| joints.iter().position(|joint| joint.name == name && joint.kind.is_single());
    let reference =
        |name: &str| file.tree.joints().find(|(_, joint)| joint.name == name).map_or(0.0, |(_, j)| j.reference);
    let is_driven = |name: &str| {
        file.actuators.iter().any(|actuator| matches!(&actuator.length[..], [(joint, _)] if joint == name))
    };
    for Coupling { follower, leader, line: [constant, slope] } in couplings {
        let (Some(mut f), Some(mut l)) = (index(joints, follower), index(joints, leader)) else { continue };
        // q_f − r_f = c + s (q_l − r_l).
        let mut multiplier = *slope;
        let mut offset = reference(follower) + constant - slope * reference(leader);
        let swaps = (is_driven(follower) && !is_driven(leader)) || joints[f].mimic.is_some();
        if swaps && *slope != 0.0 {
            (f, l) = (l, f);
            (multiplier, offset) = (1.0 / slope, -offset / slope);
        }
        // What is led by the follower is led by its leader from now on.
        let at = joints[l].mimic;
        let through = at.map_or(Mimic { joint: l, multiplier, offset }, |at| Mimic {
            joint: at.joint,
            multiplier: multiplier * at.multiplier,
            offset: multiplier * at.offset + offset,
        });
        if joints[f].mimic.is_some() || through.joint == f {
            warnings
                .push(format!("equality of joints \"{follower}\" and \"{leader}\" left out: they are coupled already"));
            continue;
        }
        joints[f].mimic = Some(through);
        for joint in joints.iter_mut() {
            if let Some(mimic) = joint.mimic.filter(|mimic| mimic.joint == f) {
                joint.mimic = Some(Mimic {
                    joint: through.joint,
                    multiplier: mimic.multiplier * through.multiplier,
                    offset: mimic.multiplier * through.offset + mimic.offset,
                });
            }
        }
    }
}
