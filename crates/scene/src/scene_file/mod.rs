//! Scenes in TOML.

mod joints;
mod shapes;
mod syntax;
mod taxels;
mod things;

use std::path::Path;

use serde::Deserialize;

use self::shapes::exactly;
use self::taxels::TaxelsFile;
use self::things::{ObjectFile, RobotFile};
use super::urdf::root_tag;
use super::{Friction, Keyframe, PairRule, Params, Scene, Settings};
use crate::left_out::Said;
use fingertip_shapes::file::Folder;
use fingertip_shapes::{Error, Findings, Result};

impl Scene {
    /// Reads a scene file and checks it. A file in MJCF is read by [`Scene::from_mjcf`]. This example shows the format
    /// of others:
    ///
    /// ```toml
    /// gravity = [0.0, 0.0, -9.81]          # m/s²; this is the default
    /// [params]                             # any of the fields of `Params`; gravity may stand here as well
    /// h = 0.01
    /// kappa = 1e4                          # or, in its place: hover = 1e-4, the height in m at which the lightest thing rests; by
    ///                                      # default 1e4, or more for what would rest higher than a twentieth of its size
    ///
    /// [[robot]]
    /// name = "hand"
    /// urdf = "../robots/hand21.urdf"       # relative to this file; or mjcf = "hand.xml", see `Robot::from_mjcf`
    /// freedom = "fixed"                    # of the root link, this is the default; "free" is a floating base
    /// # base = "commanded"                 # in place of freedom: the root link on six commanded joints, base_x … base_roll,
    ///                                      # see `Robot::with_commanded_base`; stiffness = { base_x = … }
    /// packages = ["../ros/src"]            # where the packages are that it names by package://, see below
    /// position = [0.0, 0.0, 0.0]           # of the root link; with rpy = […] or quaternion = [w, x, y, z]
    /// stiffness = { default = 1.0, slider_z = 100.0 }    # or one number
    /// home = { index2 = 0.2 }
    /// passive = ["index4"]                 # joints without a command
    /// spring = { index4 = { stiffness = 0.3, rest = 0.1 } }    # of the joint itself, beside its command's
    /// damping = { default = 0.01 }         # N·m·s/rad or N·s/m; or one number for all; in place of the file's
    /// armature = { index4 = 1e-5 }         # kg·m² or kg; see `Params::joint_damping` for both
    /// dry_friction = 0.002                 # N·m or N; see `Params::joint_friction`
    /// tendons = [{ joint = "index3", others = { index4 = 1.0 } }]    # u of index3 commands index3 + 1.0 · index4
    /// connections = [{ a = "follower", at_a = [0.0, -0.018, 0.006], b = "coupler" }]    # points that springs hold together (loops);
    ///                                      # stiffness = 1e6 N/m; also of objects
    /// decompose = { tolerance = 0.001 }    # its collision meshes as convex parts in place of hulls; also of objects with urdf or mjcf
    /// hull_vertices = 64                   # the most that each of its hulls has; also of objects
    /// mount = { robot = "arm", link = "flange" }    # welded to the link of a robot above; position and so on are then in its frame
    /// sites = [{ name = "pad", link = "tip", at = [0.0, 0.0, 0.027] }]    # named points, with rpy or quaternion; link: the root by default
    /// collision = [{ link = "tip", sphere = 0.015, at = [0.0, 0.0, 0.027] }]    # in place of the URDF's own
    ///
    /// [[object]]
    /// name = "ball"
    /// sphere = 0.04                        # box = half extents (with rounding = …), capsule or cylinder = [radius,
    ///                                      # half length], ellipsoid = radii, hull = [[x, y, z], …], mesh = "cup.stl"
    ///                                      # (its convex hull; .obj, .dae, .glb; with scale = …; or its convex parts: decompose =
    ///                                      # { tolerance = 0.001 }, or parts = true for the objects of an .obj; for balls and
    ///                                      # capsules its distance grid: grid = { tolerance = 0.0005 }), halfspace = [normal,
    ///                                      # offset], or collision = [{ … }, …]
    /// mass = 0.52                          # and, if it is not a uniform solid: inertia = 3 or 6 numbers, com = […]
    /// freedom = "free"                     # free | planar | translation | fixed; a halfspace needs none, it is fixed
    /// sites = [{ name = "top", at = [0.0, 0.0, 0.04] }]
    /// position = [0.12, 0.03, -0.16]
    ///
    /// [[object]]                           # links and passive joints
    /// name = "door"
    /// urdf = "../robots/door.urdf"         # or mjcf = "cup.xml": all its bodies, one rigid body if that is all
    /// freedom = "fixed"                    # of the root link
    /// home = { hinge = 0.1 }
    /// damping = { hinge = 0.5 }            # and spring, armature, dry_friction, as for robots
    ///
    /// [[pair]]                             # rules for pairs, later ones win; names of robots, objects or "hand/palm"
    /// a = "ball"
    /// b = "hand"
    /// mu = 0.8                             # and, or instead: torsion = 0.005 (m), or enabled = false, which excludes
    ///                                      # them, true takes them in again; an absent key leaves what holds already
    ///
    /// [[script]]                           # what a rollout commands: keyframes by time in s, linear in between
    /// time = 1.0
    /// u = { slider_z = 0.1 }               # "hand/slider_z" where several robots have a joint of that name; joints
    ///                                      # without an entry keep the command of the keyframe before
    ///
    /// [[taxels]]                           # a pad that feels contacts, see docs/touch.md
    /// name = "pad"
    /// link = "hand/tip"                    # or an object that is one rigid body
    /// at = [0.0, 0.0, 0.042]               # the middle of a grid, with rpy or quaternion; z is its outward normal
    /// rows = 4                             # along y, and columns along x; or file = "pad.csv", six numbers x, y, z, nx, ny, nz a line
    /// columns = 4
    /// size = [0.016, 0.016]                # along x and y; reach = 0.008 m: how far from a contact a taxel feels it
    /// ```
    ///
    /// Pairs of links of one robot or object that overlap at home are left out, unless a rule has `enabled = true` for
    /// them; see `Compiled::warnings` of a model.
    ///
    /// A URDF's mesh `package://NAME/FILE` is looked for as `NAME/FILE` and as `FILE` in each folder of `packages`,
    /// then in the URDF's own folder and every folder above it. A mesh that is not found is left out and, with these
    /// places, listed in [`Articulation::notes`](crate::Articulation::notes), which `fingertip inspect`
    /// prints.
    ///
    /// `decompose` cuts a mesh into at most `parts` convex parts (32) of at most `vertices` vertices (64) that differ
    /// from it by at most `tolerance`, m, or is an error that says how near it came: see
    /// [`Triangles::decompose`](crate::Triangles::decompose). The parts are cached, see
    /// [`MeshFile::decompose`](crate::MeshFile::decompose). `grid` makes a mesh's signed distance, which spheres and
    /// capsules then touch in place of its hull or parts, known as far as `reach`, m: see
    /// [`DistanceGrid::new`](crate::DistanceGrid::new).
    ///
    /// Lengths and positions may be up to 1e6 m, masses up to 1e9 kg, gravity up to 1e6 m/s². Scene and URDF files may
    /// have up to 16 MiB, meshes 512 MiB.
    ///
    /// # Errors
    /// If the file cannot be read, is larger than 16 MiB, is not TOML, has an unknown key, or describes something
    /// impossible. The error gives the file, the line or the element, and what was expected. Several errors are
    /// [`Error::Several`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::read(&Folder::from(""), path)
    }

    /// Reads a file of a folder, like [`load`](Self::load).
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn read(folder: &Folder, file: impl AsRef<Path>) -> Result<Self> {
        let path = folder.join(&file);
        let text = folder.text(&file)?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if is_xml(&text) && root_tag(&text) == Some("mujoco") {
            return Self::from_mjcf(path);
        }
        check_format(&text, &name)
            .and_then(|()| Self::from_toml(&text, folder.of(file)))
            .map_err(|error| error.within(path.display()))
    }

    /// Reads a scene from its keys, as those in a task. Messages name things, as nobody has written lines.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_keys(keys: &toml::Table, folder: impl Into<Folder>) -> Result<Self> {
        let text = keys.to_string();
        let named = |error| match error {
            Error::Invalid { place, message } => {
                Error::Invalid { place: Self::thing_at(&text, &place).unwrap_or(place), message }
            }
            other => other,
        };
        Self::from_toml(&text, folder).map_err(|error| match error {
            Error::Several(errors) => Error::Several(errors.into_iter().map(named).collect()),
            other => named(other),
        })
    }

    /// The entry of a scene's text that the place of an error is in: `object "ball"` for `line 3, column 1`. None of a
    /// place that is no line.
    pub fn thing_at(text: &str, place: &str) -> Option<String> {
        let line: usize = place.strip_prefix("line ")?.split(',').next()?.parse().ok()?;
        let lines: Vec<&str> = text.lines().collect();
        // [[robot.sites]] is part of its robot.
        let begins = |line: &&str| line.starts_with('[') && !line.contains('.');
        let start = lines.iter().take(line).rposition(begins);
        let kind = start.map_or("scene", |start| lines[start].trim_matches(['[', ']']));
        let within = lines.iter().skip(start.map_or(lines.len(), |start| start + 1)).take_while(|line| !begins(line));
        let name = within.into_iter().find_map(|line| line.strip_prefix("name = "));
        Some(name.map_or_else(|| kind.to_owned(), |name| format!("{kind} {name}")))
    }

    /// Reads a scene's text and checks it. Paths of URDF and mesh files are relative to `folder`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_toml(text: &str, folder: impl Into<Folder>) -> Result<Self> {
        let folder = folder.into();
        let mut findings = Findings::default();
        let read = syntax::read(text, &mut findings).map(|file: SceneFile| {
            let (kappa, hover) = (file.params.kappa, file.params.hover);
            (file.scene(&folder, &mut findings), kappa, hover)
        });
        let Some((scene, kappa, hover)) = read else {
            return findings.result().and_then(|()| Err(Error::invalid("TOML", "expected a scene")));
        };
        // Names of what could not be read are not known: then each thing is judged by itself.
        findings.take(if findings.is_empty() { scene.validate() } else { scene.validate_things() });
        findings.result()?;
        match (kappa, hover) {
            (_, Some(hover)) => scene.with_hover(hover).map_err(|error| error.within("params")),
            (None, None) => Ok(scene.with_kappa_by_default()),
            (Some(_), None) => Ok(scene),
        }
    }
}

fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Other XML files are robots, not scenes.
fn check_format(text: &str, file: &str) -> Result<()> {
    if !is_xml(text) {
        return Ok(());
    }
    let expected = "expected a scene in TOML";
    let message = match root_tag(text) {
        Some("robot") => {
            let name = file.split('.').next().filter(|name| !name.is_empty()).unwrap_or("robot");
            format!(
                "{expected}, but this is the URDF of a robot; write a scene that names it: \
                 [[robot]], name = \"{name}\", urdf = \"{file}\""
            )
        }
        Some(root) => format!("{expected}, got XML with <{root}>"),
        None => format!("{expected}, got XML"),
    };
    Err(Error::invalid("format", message))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneFile {
    #[serde(default, deserialize_with = "exactly")]
    gravity: Option<[f64; 3]>,
    #[serde(default)]
    params: ParamsFile,
    #[serde(default)]
    robot: Vec<RobotFile>,
    #[serde(default)]
    object: Vec<ObjectFile>,
    #[serde(default)]
    pair: Vec<PairRule>,
    #[serde(default)]
    script: Vec<Keyframe>,
    #[serde(default)]
    taxels: Vec<TaxelsFile>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsFile {
    #[serde(default, deserialize_with = "exactly")]
    gravity: Option<[f64; 3]>,
    h: Option<f64>,
    epsilon: Option<f64>,
    kappa: Option<f64>,
    hover: Option<f64>,
    mu: Option<f64>,
    torsion: Option<f64>,
    friction: Option<Friction>,
    impratio: Option<f64>,
    contact_distance: Option<f64>,
    fade: Option<f64>,
    joint_limits: Option<bool>,
    joint_damping: Option<bool>,
    joint_friction: Option<bool>,
    effort_limits: Option<bool>,
    rolling: Option<bool>,
    max_iterations: Option<usize>,
    #[serde(default)]
    solver: Settings,
}

impl SceneFile {
    /// The scene, without the robots and objects that have findings.
    fn scene(self, folder: &Folder, findings: &mut Findings) -> Scene {
        let mut scene = Scene::new();
        if self.gravity.is_some() && self.params.gravity.is_some() {
            let message = "expected gravity once, but it stands above too";
            findings.note(Error::invalid("params", message));
        }
        if self.params.kappa.is_some() && self.params.hover.is_some() {
            let message = "expected kappa or hover, which sets it, got both";
            findings.note(Error::invalid("params", message));
        }
        scene.gravity = self.gravity.or(self.params.gravity).unwrap_or(scene.gravity);
        scene.params = self.params.params();
        (scene.pairs, scene.script) = (self.pair, self.script);
        for file in self.robot {
            let place = format!("robot \"{}\"", file.name);
            scene.robots.extend(findings.take(file.robot(folder).map_err(|error| error.within(place))));
        }
        let mut said = Said::default();
        for file in self.object {
            let place = format!("object \"{}\"", file.name);
            scene.objects.extend(findings.take(file.object(folder, &mut said).map_err(|error| error.within(place))));
        }
        (scene.notes, scene.warnings) = (said.notes, said.warnings);
        for file in self.taxels {
            let place = format!("taxels \"{}\"", file.name);
            scene.taxels.extend(findings.take(file.taxels(folder).map_err(|error| error.within(place))));
        }
        scene
    }
}

impl ParamsFile {
    fn params(self) -> Params {
        let default = Params::default();
        Params {
            h: self.h.unwrap_or(default.h),
            epsilon: self.epsilon.unwrap_or(default.epsilon),
            kappa: self.kappa.unwrap_or(default.kappa),
            mu: self.mu.unwrap_or(default.mu),
            torsion: self.torsion.unwrap_or(default.torsion),
            friction: self.friction.unwrap_or(default.friction),
            impratio: self.impratio.unwrap_or(default.impratio),
            contact_distance: self.contact_distance,
            fade: self.fade.unwrap_or(default.fade),
            joint_limits: self.joint_limits.unwrap_or(default.joint_limits),
            joint_damping: self.joint_damping.unwrap_or(default.joint_damping),
            joint_friction: self.joint_friction.unwrap_or(default.joint_friction),
            effort_limits: self.effort_limits.unwrap_or(default.effort_limits),
            rolling: self.rolling.unwrap_or(default.rolling),
            max_iterations: self.max_iterations.unwrap_or(default.max_iterations),
            solver: self.solver,
        }
    }
}
