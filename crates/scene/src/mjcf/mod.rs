//! Reading MJCF, MuJoCo's format (<https://mujoco.readthedocs.io/en/stable/XMLreference.html>), over roxmltree.
//!
//! `docs/mjcf.md` says what becomes of each element. What nothing here asks for is named once in the notes, by element and
//! attribute: the reader keeps account of what it has read ([`document`]).

mod actuator;
mod assemble;
mod body;
mod compiler;
mod defaults;
mod document;
mod geom;
mod loops;
mod mesh;
mod node;
mod relation;
mod springs;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use self::actuator::Actuator;
use self::assemble::Assembly;
use self::body::Tree;
use self::compiler::Compiler;
use self::defaults::Defaults;
use self::document::Document;
use self::mesh::Meshes;
use self::relation::{Coupling, Equalities, Exclusion, GeomPair, Joining, Key};
use crate::{Articulation, Freedom, JointKind, Keyframe, Object, ObjectBody, PairRule, Params, Robot, Scene};
use fingertip_shapes::{Error, Result, unknown};

/// The contents of an MJCF file.
struct Mjcf<'a> {
    name: String,
    tree: Tree,
    meshes: Meshes<'a>,
    actuators: Vec<Actuator>,
    couplings: Vec<Coupling>,
    joinings: Vec<Joining>,
    exclusions: Vec<Exclusion>,
    geom_pairs: Vec<GeomPair>,
    key: Option<Key>,
    gravity: Option<[f64; 3]>,
    /// Of elliptic friction cones; MuJoCo's pyramids have none.
    impratio: Option<f64>,
    notes: Vec<String>,
}

impl Robot {
    /// The robot of an MJCF file: all trees of bodies that actuators move (or that have joints, if nothing has actuators), and those
    /// that are fixed; or, if there are none, all bodies. Its stiffness is that of the actuators, its home the keyframe "home" or the first one, its root link the root body,
    /// or a link "world" where there are several trees. Other bodies and the world's geoms are left out; [`Scene::from_mjcf`] has
    /// them. The robot's notes say what else was left out, see `docs/mjcf.md`.
    ///
    /// # Errors
    /// If a file cannot be read, is larger than 16 MiB, is no MJCF, needs what is not read (`<attach>`), or describes
    /// something impossible. The message names the file, the line and the element.
    pub fn from_mjcf(name: impl Into<String>, path: impl AsRef<Path>) -> Result<Self> {
        let document = Document::load(path.as_ref())?;
        let file = Mjcf::read(&document)?;
        let belongs = |&root: &usize| file.is_robot(root) || file.is_static(root);
        let mut roots: Vec<usize> = file.tree.roots().filter(belongs).collect();
        if roots.is_empty() {
            roots = file.tree.roots().collect();
        }
        let mut robot = file.robot(&name.into(), &roots)?;
        robot.articulation.notes.splice(0..0, file.notes.iter().cloned());
        let others: Vec<&str> = file
            .tree
            .roots()
            .filter(|root| !roots.contains(root))
            .map(|root| file.tree.bodies[root].name.as_str())
            .collect();
        if !others.is_empty() {
            robot
                .articulation
                .notes
                .push(format!("bodies that are no part of the robot left out: {}", others.join(", ")));
        }
        let still = file.tree.bodies[0].geoms.iter().filter(|geom| file.is_solid(geom)).count();
        if still > 0 {
            robot.articulation.notes.push(format!("geoms of the world: {still} left out"));
        }
        robot.articulation.validate().map_err(|error| error.within(path.as_ref().display()))?;
        Ok(robot)
    }
}

impl Object {
    /// All bodies of an MJCF file as one object, and notes on what was left out. It is free if its only root body is.
    pub(crate) fn from_mjcf(name: &str, path: &Path) -> Result<(Self, Vec<String>)> {
        let document = Document::load(path)?;
        let file = Mjcf::read(&document)?;
        let roots: Vec<usize> = file.tree.roots().collect();
        let mut notes = file.notes.clone();
        let object = file.object(name, &roots, &mut notes).map_err(|error| error.within(path.display()))?;
        Ok((object, notes))
    }
}

impl Scene {
    /// The scene of an MJCF file: one robot of all trees of bodies that actuators move, or that have joints if there are no
    /// actuators; an object of each other tree; a fixed object of each geom of the world. Gravity and homes are the file's, the
    /// parameters of the step are not: κ is 10⁴ or, for light things, as much as [`Scene::load`] gives them. [`Scene::notes`] and the robot's notes say what was left out, see `docs/mjcf.md`.
    ///
    /// # Errors
    /// As [`Robot::from_mjcf`], and if nothing in it can move.
    pub fn from_mjcf(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_document(&Document::load(path)?, path)
    }

    /// Reads an MJCF text as a scene. The files that it names are relative to `folder`, and messages call it `MJCF`.
    ///
    /// # Errors
    /// As [`Scene::from_mjcf`].
    pub fn from_mjcf_text(text: &str, folder: impl AsRef<Path>) -> Result<Self> {
        let path = folder.as_ref().join("MJCF");
        Self::of_document(&Document::of_text(text, &path)?, Path::new("MJCF"))
    }

    fn of_document(document: &Document, path: &Path) -> Result<Self> {
        let scene = Mjcf::read(document)?.scene()?;
        scene.validate().map_err(|error| error.within(path.display()))?;
        Ok(scene.with_kappa_by_default())
    }
}

impl<'a> Mjcf<'a> {
    fn read(document: &'a Document) -> Result<Self> {
        let compiler = Compiler::read(document)?;
        let defaults = Defaults::read(document)?;
        let meshes = Meshes::read(document, &compiler, &defaults)?;
        let colours = colours(document, &defaults)?;
        let tree = Tree::read(document, &compiler, &defaults, &meshes, &colours)?;
        let (tendons, spatial) = actuator::tendons(document)?;
        let limits =
            |name: &str| tree.joints().find(|(_, joint)| joint.name == name).and_then(|(_, joint)| joint.limits);
        let actuators = actuator::actuators(document, &compiler, &defaults, &tendons, limits)?;
        let joints: Vec<&str> = tree.joints().map(|(_, joint)| joint.name.as_str()).collect();
        let main = document.files[0].display();
        actuator::check_joints(&actuators, joints.iter().copied()).map_err(|error| error.within(main))?;
        let Equalities { couplings, joinings, mut notes } = relation::equalities(document)?;
        let (exclusions, geom_pairs) = relation::contacts(document, &defaults)?;
        let key = relation::key(document)?;
        let (mut gravity, mut impratio, mut cone) = (None, None, None);
        for option in document.sections("option") {
            gravity = option.numbers("gravity")?.or(gravity);
            impratio = option.number("impratio")?.or(impratio);
            cone = option.word("cone", &["pyramidal", "elliptic"])?.or(cone);
        }
        let impratio = impratio.filter(|_| cone == Some("elliptic"));
        let range = 1.0..=Params::MOST_IMPRATIO;
        if let Some(ratio) = impratio.filter(|ratio| !range.contains(ratio)) {
            notes.push(format!("option: impratio {ratio} left out: it is from 1 to {} here", Params::MOST_IMPRATIO));
        }
        let impratio = impratio.filter(|ratio| range.contains(ratio));
        let given = document.root().own("model").map(str::to_owned);
        let stem =
            || document.files[0].file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        if !spatial.is_empty() {
            notes.push(format!("tendons that are not fixed: {} left out: {}", spatial.len(), spatial.join(", ")));
        }
        for Actuator { name, kind, .. } in actuators.iter().filter(|actuator| actuator.length.is_empty()) {
            notes.push(format!("{kind} \"{name}\" left out: it acts on neither a joint nor a fixed tendon"));
        }
        let nq: usize = tree.joints().map(|(_, joint)| joint.kind.nq()).sum();
        if let Some(Key { name, qpos, .. }) = key.as_ref().filter(|key| ![0, nq].contains(&key.qpos.len())) {
            notes.push(format!("key \"{name}\": home left out: it has {} numbers, the joints have {nq}", qpos.len()));
        }
        let of_angles = |joint: &body::Joint| {
            joint.kind == JointKind::Spherical && (joint.limits.is_some() || joint.spring.stiffness > 0.0)
        };
        let angles: Vec<&str> =
            tree.joints().filter(|(_, joint)| of_angles(joint)).map(|(_, joint)| joint.name.as_str()).collect();
        if !angles.is_empty() {
            notes.push(format!("range and spring of ball joints left out: {}", angles.join(", ")));
        }
        let mocap: Vec<&str> = tree.bodies.iter().filter(|body| body.is_mocap).map(|body| body.name.as_str()).collect();
        if !mocap.is_empty() {
            notes.push(format!("bodies that are moved from outside (mocap) are fixed here: {}", mocap.join(", ")));
        }
        let sites: Vec<&str> = tree.bodies[0].sites.iter().map(|(name, _)| name.as_str()).collect();
        if !sites.is_empty() {
            notes.push(format!("sites of the world left out: {}", sites.join(", ")));
        }
        notes.extend(document.left_out());
        let name = given.filter(|name| !name.is_empty()).unwrap_or_else(stem);
        let mut file = Self {
            name,
            tree,
            meshes,
            actuators,
            couplings,
            joinings,
            exclusions,
            geom_pairs,
            key,
            gravity,
            impratio,
            notes,
        };
        file.check_names().map_err(|error| error.within(document.files[0].display()))?;
        Ok(file)
    }

    /// Are exclusions, pairs and couplings between things that are there? What joins different things is left out, with a note.
    fn check_names(&mut self) -> Result<()> {
        let bodies = &self.tree.bodies;
        let place = |kind: &str, [a, b]: &[String; 2], name: &str, known: Vec<&str>| {
            Error::invalid(format!("{kind} of \"{a}\" and \"{b}\""), unknown(kind, name, known.into_iter()))
        };
        let together = |a: usize, b: usize| {
            let [a, b] = [a, b].map(|body| self.tree.root_of(body));
            a == b || (self.is_robot(a) && self.is_robot(b))
        };
        for both in &self.exclusions {
            for name in both {
                if !bodies.iter().any(|body| body.name == *name) {
                    let known = bodies.iter().map(|body| body.name.as_str()).collect();
                    return Err(place("body", both, name, known).within("exclude"));
                }
            }
        }
        let of_geom = |name: &String| {
            bodies.iter().position(|body| body.geoms.iter().any(|geom| geom.name.as_ref() == Some(name)))
        };
        let of_joint = |name: &String| self.tree.joints().find(|(_, joint)| joint.name == *name).map(|(body, _)| body);
        let mut apart = Vec::new();
        for GeomPair { geoms, .. } in &self.geom_pairs {
            match geoms.each_ref().map(of_geom) {
                [Some(a), Some(b)] if together(a, b) => {}
                [Some(_), Some(_)] => {
                    apart.push(format!("pair of geoms {} left out: not of one thing", geoms.join(" and ")))
                }
                found => {
                    let name = &geoms[usize::from(found[0].is_some())];
                    let known = bodies.iter().flat_map(|body| &body.geoms).filter_map(|geom| geom.name.as_deref());
                    return Err(place("geom", geoms, name, known.collect()).within("pair"));
                }
            }
        }
        for Coupling { follower, leader, .. } in &self.couplings {
            let joints = [follower.clone(), leader.clone()];
            match joints.each_ref().map(of_joint) {
                [Some(a), Some(b)] if together(a, b) => {}
                [Some(_), Some(_)] => {
                    apart.push(format!("equality of joints {} left out: not of one thing", joints.join(" and ")));
                }
                found => {
                    let name = &joints[usize::from(found[0].is_some())];
                    let known = self.tree.joints().map(|(_, joint)| joint.name.as_str()).collect();
                    return Err(place("joint", &joints, name, known).within("equality"));
                }
            }
        }
        apart.extend(self.check_joinings()?);
        self.notes.splice(0..0, apart);
        Ok(())
    }

    /// Is the tree without joints, and not moved from outside?
    fn is_static(&self, root: usize) -> bool {
        let mut bodies = (1..self.tree.bodies.len()).filter(|&b| self.tree.root_of(b) == root);
        bodies.all(|b| self.tree.bodies[b].joints.is_empty() && !self.tree.bodies[b].is_mocap)
    }

    /// Is the tree a robot rather than an object: do actuators move it, or has it joints where nothing has actuators?
    fn is_robot(&self, root: usize) -> bool {
        let mut joints = self
            .tree
            .joints()
            .filter(|(body, joint)| self.tree.root_of(*body) == root && joint.kind != JointKind::Floating);
        let has_actuators = self.actuators.iter().any(|actuator| !actuator.length.is_empty());
        let is_driven =
            |name: &str| self.actuators.iter().any(|actuator| actuator.length.iter().any(|(joint, _)| joint == name));
        joints.any(|(_, joint)| !has_actuators || is_driven(&joint.name))
    }

    fn scene(&self) -> Result<Scene> {
        let default = Scene::new();
        let mut scene = Scene {
            gravity: self.gravity.unwrap_or(default.gravity),
            params: Params { impratio: self.impratio.unwrap_or(default.params.impratio), ..default.params },
            notes: self.notes.clone(),
            ..default
        };
        let mut names = Names::default();
        let robots: Vec<usize> = self.tree.roots().filter(|&root| self.is_robot(root)).collect();
        // The thing and the link of each body, for rules of pairs between things.
        let mut things: HashMap<usize, String> = HashMap::new();
        if !robots.is_empty() {
            let robot = self.robot(&names.unique(&self.name), &robots)?;
            for b in (1..self.tree.bodies.len()).filter(|&b| robots.contains(&self.tree.root_of(b))) {
                things.insert(b, format!("{}/{}", robot.name, self.tree.bodies[b].name));
            }
            scene.script.extend(self.start(&robot));
            scene.robots.push(robot);
        }
        for geom in self.tree.bodies[0].geoms.iter().filter(|geom| self.is_solid(geom)) {
            if let Some(note) = self.absent(geom) {
                scene.notes.push(format!("world: {note}"));
                continue;
            }
            let kind = if let geom::Form::Shape(shape) = &geom.form { shape.name() } else { "mesh" };
            let name = names.unique(geom.name.as_deref().unwrap_or(kind));
            let body = ObjectBody::Rigid { inertia: None, collisions: self.collision(geom)?.into_iter().collect() };
            let (freedom, pose) = (Freedom::Fixed, nalgebra::Isometry3::identity());
            scene.objects.push(Object { name, body, freedom, pose, sites: Vec::new() });
        }
        for root in self.tree.roots().filter(|root| !robots.contains(root)) {
            let name = names.unique(&self.tree.bodies[root].name);
            let object = self.object(&name, &[root], &mut scene.notes)?;
            for b in (1..self.tree.bodies.len()).filter(|&b| self.tree.root_of(b) == root) {
                let is_rigid = matches!(object.body, ObjectBody::Rigid { .. });
                things.insert(b, if is_rigid { name.clone() } else { format!("{name}/{}", self.tree.bodies[b].name) });
            }
            scene.objects.push(object);
        }
        let thing = |body: &str| things.get(&self.tree.bodies.iter().position(|other| other.name == body)?);
        let owner = |name: &str| name.split_once('/').map_or(name, |(owner, _)| owner).to_owned();
        for [a, b] in &self.exclusions {
            if let (Some(a), Some(b)) = (thing(a), thing(b))
                && owner(a) != owner(b)
            {
                scene.pairs.push(PairRule::exclude(a, b));
            }
        }
        Ok(scene)
    }

    /// The commands at the start: those of the keyframe's controls, if it has some.
    fn start(&self, robot: &Robot) -> Option<Keyframe> {
        let ctrl = &self.key.as_ref().filter(|key| key.ctrl.len() == self.actuators.len())?.ctrl;
        let names = self.actuators.iter().map(|actuator| actuator.name.as_str());
        let u = robot.commands(&names.zip(ctrl.iter().copied()).collect());
        (!u.is_empty()).then_some(Keyframe { time: 0.0, u })
    }

    /// Some trees as an object.
    fn object(&self, name: &str, roots: &[usize], notes: &mut Vec<String>) -> Result<Object> {
        let Assembly { mut articulation, freedom, mut base, mut sites, .. } = self.assemble(roots)?;
        let (home, poses) = self.home();
        if let (Freedom::Free, [only]) = (freedom, roots) {
            base = poses.get(only).copied().unwrap_or(base);
        }
        if let ([link], []) = (&mut articulation.links[..], &articulation.joints[..]) {
            let body =
                ObjectBody::Rigid { inertia: link.inertia.take(), collisions: std::mem::take(&mut link.collisions) };
            notes.extend(articulation.notes.iter().map(|note| format!("{name}: {note}")));
            sites.iter_mut().for_each(|site| site.link = None);
            return Ok(Object { name: name.to_owned(), body, freedom, pose: base, sites });
        }
        let home = commandable_home(&articulation, &home);
        let body = ObjectBody::Articulated { articulation, home };
        Ok(Object { name: name.to_owned(), body, freedom, pose: base, sites })
    }
}

fn commandable_home(articulation: &Articulation, home: &HashMap<&str, f64>) -> BTreeMap<String, f64> {
    let joints = articulation.joints.iter().filter(|joint| joint.is_commandable());
    let within = |joint: &crate::Joint, value: f64| joint.limits.map_or(value, |l| value.max(l.lower).min(l.upper));
    joints.filter_map(|joint| Some((joint.name.clone(), within(joint, *home.get(joint.name.as_str())?)))).collect()
}

/// Colours by material.
fn colours<'a>(document: &'a Document, defaults: &Defaults<'a>) -> Result<HashMap<&'a str, [f64; 4]>> {
    let mut colours = HashMap::new();
    for asset in document.sections("asset") {
        for node in asset.children().filter(|node| node.tag() == "material") {
            let node = defaults.apply(node, None)?;
            if let (Some(name), Some(rgba)) = (node.own("name"), node.numbers("rgba")?) {
                colours.insert(name, rgba);
            }
        }
    }
    Ok(colours)
}

/// Names of things in a scene: unique and without slashes.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.replace('/', "_");
        if unique.is_empty() || unique == "world" {
            unique = "robot".to_owned();
        }
        let (first, mut n) = (unique.clone(), 1);
        while !self.0.insert(unique.clone()) {
            n += 1;
            unique = format!("{first}_{n}");
        }
        unique
    }
}
