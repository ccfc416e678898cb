//! Reading MJCF, MuJoCo's format (<https://mujoco.readthedocs.io/en/stable/XMLreference.html>), over roxmltree.
//!
//! `docs/mjcf.md` says what becomes of each element. What nothing here asks for is named once in the notes, by element
//! and attribute: the reader keeps account of what it has read ([`document`]).

mod actuator;
mod assemble;
mod body;
mod compiler;
mod defaults;
mod document;
mod geom;
mod loops;
mod lost;
mod mesh;
mod node;
mod relation;
mod sensor;
mod springs;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use self::actuator::Actuator;
use self::assemble::Assembly;
use self::body::Tree;
use self::compiler::Compiler;
use self::defaults::Defaults;
use self::document::Document;
use self::geom::Geom;
use self::mesh::Meshes;
use self::relation::{Coupling, Equalities, Exclusion, GeomPair, Joining, Key};
use self::sensor::TouchSensor;
use crate::left_out::Said;
use crate::{Articulation, Freedom, JointKind, Keyframe, Object, ObjectBody, PairRule, Params, Robot, Scene};
use fingertip_shapes::{Error, Result, unknown};

/// The contents of an MJCF file.
struct Mjcf<'a> {
    name: String,
    /// The file's name in warnings.
    file: String,
    tree: Tree,
    meshes: Meshes<'a>,
    actuators: Vec<Actuator>,
    couplings: Vec<Coupling>,
    joinings: Vec<Joining>,
    /// The bodies of each joining.
    joined: Vec<[usize; 2]>,
    /// The trees that make up each thing, by their roots.
    things: Vec<Vec<usize>>,
    exclusions: Vec<Exclusion>,
    geom_pairs: Vec<GeomPair>,
    /// The names of the geoms of all pairs.
    paired: HashSet<String>,
    sensors: Vec<TouchSensor>,
    key: Option<Key>,
    gravity: Option<[f64; 3]>,
    /// Of elliptic friction cones; MuJoCo's pyramids have none.
    impratio: Option<f64>,
    said: Said,
}

impl Robot {
    /// The robot of an MJCF file: all trees of bodies that actuators move (or that have joints, if nothing has
    /// actuators), and those that are fixed; or, if there are none, all bodies. Its stiffness is that of the actuators,
    /// its home the keyframe "home" or the first one, its root link the root body, or a link "world" where there are
    /// several trees. Other bodies and the world's geoms are left out; [`Scene::from_mjcf`] has them. The robot's notes
    /// say what else was left out, see `docs/mjcf.md`.
    ///
    /// # Errors
    /// If a file cannot be read, is larger than 16 MiB, is no MJCF, needs what is not read (`<attach>`), or describes
    /// something impossible. The message names the file, the line and the element.
    pub fn from_mjcf(name: impl Into<String>, path: impl AsRef<Path>) -> Result<Self> {
        let document = Document::load(path.as_ref())?;
        let file = Mjcf::read(&document)?;
        let belongs = |&root: &usize| file.is_robot(root) || file.is_static(root);
        let mut roots: Vec<usize> =
            file.things.iter().filter(|of| of.iter().any(&belongs)).flatten().copied().collect();
        roots.sort_unstable();
        if roots.is_empty() {
            roots = file.tree.roots().collect();
        }
        let mut robot = file.robot(&name.into(), &roots)?;
        robot.articulation.notes.splice(0..0, file.said.notes.iter().cloned());
        robot.articulation.warnings.splice(0..0, file.said.warnings.iter().cloned());
        robot.articulation.notes.extend(file.pads(&HashMap::new()).1);
        let others: Vec<&str> = file
            .tree
            .roots()
            .filter(|root| !roots.contains(root))
            .map(|root| file.tree.bodies[root].name.as_str())
            .collect();
        if !others.is_empty() {
            robot
                .articulation
                .warnings
                .push(format!("bodies that are no part of the robot left out: {}", others.join(", ")));
        }
        let still = file.tree.bodies[0].geoms.iter().filter(|geom| file.is_solid(geom)).count();
        if let Some(gravity) = file.gravity.filter(|gravity| *gravity != Scene::new().gravity) {
            robot.articulation.notes.push(format!("gravity {gravity:?} left out: it is the scene's to say"));
        }
        if still > 0 {
            robot.articulation.warnings.push(format!("geoms of the world: {still} left out"));
        }
        robot.articulation.validate().map_err(|error| error.within(path.as_ref().display()))?;
        Ok(robot)
    }
}

impl Object {
    /// All bodies of an MJCF file as one object, and what is said of it. It is free if its only root body is. Bodies
    /// that touch nothing have the shapes that they are drawn with if they are to `collide`.
    pub(crate) fn from_mjcf(name: &str, path: &Path, collide: bool) -> Result<(Self, Said)> {
        let document = Document::load(path)?;
        let file = Mjcf::read(&document)?;
        let roots: Vec<usize> = file.tree.roots().collect();
        let mut said = file.said.clone();
        said.notes.extend(file.pads(&HashMap::new()).1);
        let object = file.object(name, &roots, collide, &mut said).map_err(|error| error.within(path.display()))?;
        Ok((object, said))
    }
}

impl Scene {
    /// The scene of an MJCF file: one robot of all trees of bodies that actuators move, or that have joints if there
    /// are no actuators; an object of each other tree; a fixed object of each geom of the world. Gravity and homes are
    /// the file's, the parameters of the step are not: κ is 10⁴ or, for light things, as much as [`Scene::load`] gives
    /// them. [`Scene::notes`] and the robot's notes say what was left out, see `docs/mjcf.md`.
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
        let Equalities { couplings, joinings, said: Said { mut notes, mut warnings } } =
            relation::equalities(document)?;
        let (exclusions, geom_pairs) = relation::contacts(document, &defaults)?;
        let (sensors, tactile) = sensor::touch(document)?;
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
            warnings.push(format!("option: impratio {ratio} left out: it is from 1 to {} here", Params::MOST_IMPRATIO));
        }
        let impratio = impratio.filter(|ratio| range.contains(ratio));
        let given = document.root().own("model").map(str::to_owned);
        let stem =
            || document.files[0].file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        if !spatial.is_empty() {
            warnings.push(format!("tendons that are not fixed: {} left out: {}", spatial.len(), spatial.join(", ")));
        }
        let idle = actuators.iter().filter(|actuator| actuator.length.is_empty());
        let idle: Vec<String> = idle.map(|Actuator { name, kind, .. }| format!("{name} ({kind})")).collect();
        if !idle.is_empty() {
            let names = idle.join(", ");
            warnings.push(format!("actuators left out, which act on neither a joint nor a fixed tendon: {names}"));
        }
        let nq: usize = tree.joints().map(|(_, joint)| joint.kind.nq()).sum();
        if let Some(Key { name, qpos, .. }) = key.as_ref().filter(|key| ![0, nq].contains(&key.qpos.len())) {
            warnings
                .push(format!("key \"{name}\": home left out: it has {} numbers, the joints have {nq}", qpos.len()));
        }
        warnings.extend(lost::of_tree(&tree, key.as_ref()));
        let sites: Vec<&str> = tree.bodies[0].sites.iter().map(|site| site.name.as_str()).collect();
        if !sites.is_empty() {
            notes.push(format!("sites of the world left out: {}", sites.join(", ")));
        }
        notes.extend(tactile);
        warnings.extend(meshes.warnings());
        let unread = document.left_out();
        notes.extend(unread.notes);
        warnings.extend(unread.warnings);
        let name = given.filter(|name| !name.is_empty()).unwrap_or_else(stem);
        let of_file = document.files[0].file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut file = Self {
            name,
            file: of_file,
            tree,
            meshes,
            actuators,
            couplings,
            joinings,
            joined: Vec::new(),
            things: Vec::new(),
            exclusions,
            paired: geom_pairs.iter().flat_map(|pair| pair.geoms.clone()).collect(),
            geom_pairs,
            sensors,
            key,
            gravity,
            impratio,
            said: Said { notes, warnings },
        };
        file.check_names().map_err(|error| error.within(document.files[0].display()))?;
        Ok(file)
    }

    /// Are exclusions, pairs and couplings between things that are there? Finds what is one thing.
    fn check_names(&mut self) -> Result<()> {
        self.find_joinings()?;
        self.check_sensors()?;
        let bodies = &self.tree.bodies;
        let place = |kind: &str, [a, b]: &[String; 2], name: &str, known: Vec<&str>| {
            Error::invalid(format!("{kind} of \"{a}\" and \"{b}\""), unknown(kind, name, known.into_iter()))
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
        for GeomPair { geoms, .. } in &self.geom_pairs {
            if let Some(name) = geoms.iter().find(|name| of_geom(name).is_none()) {
                let known = bodies.iter().flat_map(|body| &body.geoms).filter_map(|geom| geom.name.as_deref());
                return Err(place("geom", geoms, name, known.collect()).within("pair"));
            }
        }
        let mut coupled = Vec::new();
        for Coupling { follower, leader, .. } in &self.couplings {
            let joints = [follower.clone(), leader.clone()];
            match joints.each_ref().map(of_joint) {
                [Some(a), Some(b)] => coupled.push([a, b]),
                found => {
                    let name = &joints[usize::from(found[0].is_some())];
                    let known = self.tree.joints().map(|(_, joint)| joint.name.as_str()).collect();
                    return Err(place("joint", &joints, name, known).within("equality"));
                }
            }
        }
        self.things = self.things(&coupled);
        let weighted = self.weighted();
        self.said.warnings.extend(weighted);
        Ok(())
    }

    /// Is the tree without joints, and not moved from outside?
    fn is_static(&self, root: usize) -> bool {
        let mut bodies = (1..self.tree.bodies.len()).filter(|&b| self.tree.root_of(b) == root);
        bodies.all(|b| self.tree.bodies[b].joints.is_empty() && !self.tree.bodies[b].is_mocap)
    }

    /// Is the tree part of a robot rather than of an object?
    fn is_robot(&self, root: usize) -> bool {
        let of = self.things.iter().find(|thing| thing.contains(&root));
        of.is_some_and(|thing| thing.iter().any(|&root| self.is_driven(root)))
    }

    /// Do actuators move the tree, or has it joints where nothing has actuators?
    fn is_driven(&self, root: usize) -> bool {
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
            notes: self.said.notes.clone(),
            warnings: self.said.warnings.clone(),
            ..default
        };
        let mut names = Names::default();
        let robots: Vec<usize> = self.tree.roots().filter(|&root| self.is_robot(root)).collect();
        // What each body is called in rules of pairs between things, and each geom of the world.
        let mut called: HashMap<usize, String> = HashMap::new();
        let mut still: HashMap<&str, String> = HashMap::new();
        if !robots.is_empty() {
            let robot = self.robot(&names.unique(&self.name), &robots)?;
            for b in (1..self.tree.bodies.len()).filter(|&b| robots.contains(&self.tree.root_of(b))) {
                called.insert(b, format!("{}/{}", robot.name, self.tree.bodies[b].name));
            }
            scene.script.extend(self.start(&robot));
            scene.notes.extend(self.unfelt(&robot, scene.gravity));
            scene.robots.push(robot);
        }
        for geom in self.tree.bodies[0].geoms.iter().filter(|geom| self.is_solid(geom)) {
            if let Some(note) = self.absent(geom).or_else(|| self.flat(geom)) {
                scene.warnings.push(format!("world: {note}"));
                continue;
            }
            let kind = if let geom::Form::Shape(shape) = &geom.form { shape.name() } else { "mesh" };
            let name = names.unique(geom.name.as_deref().unwrap_or(kind));
            geom.name.as_deref().map(|geom| still.insert(geom, name.clone()));
            let collision = self.collision(geom, &mut |note| scene.notes.push(format!("{name}: {note}")))?;
            let body = ObjectBody::Rigid { inertia: None, collisions: collision.into_iter().collect() };
            let (freedom, pose) = (Freedom::Fixed, nalgebra::Isometry3::identity());
            scene.objects.push(Object { name, body, freedom, pose, table: None, sites: Vec::new() });
        }
        for roots in self.things.iter().filter(|roots| !self.is_robot(roots[0])) {
            let name = names.unique(&self.tree.bodies[roots[0]].name);
            let mut said = Said::default();
            let object = self.object(&name, roots, false, &mut said)?;
            scene.notes.extend(said.notes);
            scene.warnings.extend(said.warnings);
            for b in (1..self.tree.bodies.len()).filter(|&b| roots.contains(&self.tree.root_of(b))) {
                let is_rigid = matches!(object.body, ObjectBody::Rigid { .. });
                called.insert(b, if is_rigid { name.clone() } else { format!("{name}/{}", self.tree.bodies[b].name) });
            }
            scene.objects.push(object);
        }
        self.rules(&mut scene, &called, &still);
        let (pads, note) = self.pads(&called);
        scene.taxels = pads;
        scene.notes.extend(note);
        Ok(scene)
    }

    /// Rules for exclusions and pairs of geoms between things. `called` are the names of bodies, `still` those of the
    /// world's geoms.
    fn rules(&self, scene: &mut Scene, called: &HashMap<usize, String>, still: &HashMap<&str, String>) {
        let owner = |name: &str| name.split_once('/').map_or(name, |(owner, _)| owner).to_owned();
        let body = |name: &str| self.tree.bodies.iter().position(|body| body.name == name);
        for [a, b] in &self.exclusions {
            if let [Some(a), Some(b)] = [a, b].map(|name| called.get(&body(name)?))
                && owner(a) != owner(b)
            {
                scene.pairs.push(PairRule::exclude(a, b));
            }
        }
        for pair in &self.geom_pairs {
            let place = |name: &String| {
                let is = |geom: &&Geom| geom.name.as_ref() == Some(name);
                self.tree.bodies.iter().enumerate().find_map(|(b, body)| Some((b, body.geoms.iter().find(is)?)))
            };
            let name = |(b, geom): (usize, &Geom)| {
                let own = geom.name.as_deref().and_then(|name| still.get(name));
                called.get(&b).or(own.filter(|_| b == 0)).cloned()
            };
            let [Some(a), Some(b)] = pair.geoms.each_ref().map(place) else { continue };
            let [Some(first), Some(second)] = [a, b].map(name) else { continue };
            if owner(&first) == owner(&second) {
                continue;
            }
            let solids = |b: usize| self.tree.bodies[b].geoms.iter().filter(|geom| self.is_solid(geom)).count();
            if [a.0, b.0].iter().any(|&b| b != 0 && solids(b) > 1) {
                scene.notes.push(format!(
                    "pair of geoms {}: it holds for all shapes of their bodies",
                    pair.geoms.join(" and ")
                ));
            }
            let [mu, torsion] = pair.friction(&a.1.surface, &b.1.surface);
            let rule = PairRule::include(first, second);
            scene.pairs.push(PairRule { mu: Some(mu), torsion: Some(torsion), ..rule });
        }
    }

    /// The commands at the start: those of the keyframe's controls, if it has some.
    fn start(&self, robot: &Robot) -> Option<Keyframe> {
        let ctrl = &self.key.as_ref().filter(|key| key.ctrl.len() == self.actuators.len())?.ctrl;
        let names = self.actuators.iter().map(|actuator| actuator.name.as_str());
        let u = robot.commands(&names.zip(ctrl.iter().copied()).collect());
        (!u.is_empty()).then_some(Keyframe { time: 0.0, u })
    }

    /// Some trees as an object. `said` gets what is said of it if it is one rigid body.
    fn object(&self, name: &str, roots: &[usize], collide: bool, said: &mut Said) -> Result<Object> {
        let Assembly { mut articulation, freedom, mut base, mut sites, .. } = self.assemble(roots)?;
        if collide {
            articulation.collide()?;
        }
        let (home, poses) = self.home();
        if let (Freedom::Free, [only]) = (freedom, roots) {
            base = poses.get(only).copied().unwrap_or(base);
        }
        if let ([link], []) = (&mut articulation.links[..], &articulation.joints[..]) {
            let body =
                ObjectBody::Rigid { inertia: link.inertia.take(), collisions: std::mem::take(&mut link.collisions) };
            let own = |lines: &[String]| lines.iter().map(|line| format!("{name}: {line}")).collect::<Vec<_>>();
            said.notes.extend(own(&articulation.notes));
            said.warnings.extend(own(&articulation.warnings));
            sites.iter_mut().for_each(|site| site.link = None);
            return Ok(Object { name: name.to_owned(), body, freedom, pose: base, table: None, sites });
        }
        let home = self.start_of(&mut articulation, &home);
        let body = ObjectBody::Articulated { articulation, home };
        Ok(Object { name: name.to_owned(), body, freedom, pose: base, table: None, sites })
    }

    /// Starting values of joints within their limits; a warning names those that the file has beyond them.
    fn start_of(&self, articulation: &mut Articulation, home: &HashMap<&str, f64>) -> BTreeMap<String, f64> {
        let Articulation { joints, warnings, .. } = articulation;
        let mut start = BTreeMap::new();
        for joint in joints.iter().filter(|joint| joint.is_commandable()) {
            let Some(&value) = home.get(joint.name.as_str()) else { continue };
            let within = joint.limits.map_or(value, |limits| value.max(limits.lower).min(limits.upper));
            // Without a keyframe a joint starts at the value nearest to 0 by itself.
            if (value != 0.0 || self.has_home()) && (within - value).abs() > 1e-9 {
                warnings
                    .push(format!("joint \"{}\": home {value} is beyond its limits, here it is {within}", joint.name));
            }
            if value != 0.0 {
                start.insert(joint.name.clone(), within);
            }
        }
        start
    }
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
