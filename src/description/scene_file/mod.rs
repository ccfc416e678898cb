//! Scenes in TOML.

mod shapes;
mod things;

use std::path::Path;

use serde::Deserialize;

use self::things::{ObjectFile, RobotFile};
use super::{Keyframe, PairRule, Params, Scene, file};
use crate::error::{Error, Result};

impl Scene {
    /// Reads a scene file and checks it. The format, by example:
    ///
    /// ```toml
    /// gravity = [0.0, 0.0, -9.81]          # m/s²; this is the default
    /// [params]                             # any of the fields of `Params`; gravity may stand here as well
    /// h = 0.01
    /// kappa = 1e4
    ///
    /// [[robot]]
    /// name = "hand"
    /// urdf = "../robots/hand21.urdf"       # relative to this file
    /// position = [0.0, 0.0, 0.0]           # of the root link; with rpy = […] or quaternion = [w, x, y, z]
    /// stiffness = { default = 1.0, slider_z = 100.0 }    # or one number
    /// home = { index2 = 0.2 }
    /// collision = [{ link = "tip", sphere = 0.015, at = [0.0, 0.0, 0.027] }]    # in the place of the URDF's own
    ///
    /// [[object]]
    /// name = "ball"
    /// sphere = 0.04                        # box = half extents (with rounding = …), capsule or cylinder = [radius,
    ///                                      # half length], ellipsoid = radii, hull = [[x, y, z], …], mesh = "cup.stl"
    ///                                      # (its convex hull; .obj, .dae; with scale = …), halfspace = [normal,
    ///                                      # offset], or collision = [{ … }, …]
    /// mass = 0.52                          # and, if it is not a uniform solid: inertia = 3 or 6 numbers, com = […]
    /// freedom = "free"                     # free | planar | translation | fixed
    /// position = [0.12, 0.03, -0.16]
    ///
    /// [[object]]                           # links and passive joints
    /// name = "door"
    /// urdf = "../robots/door.urdf"
    /// freedom = "fixed"                    # of the root link
    /// home = { hinge = 0.1 }
    ///
    /// [[pair]]                             # rules for pairs, later ones win; names of robots, objects or "hand/palm"
    /// a = "ball"
    /// b = "hand"
    /// mu = 0.8                             # and, or instead: enabled = false
    ///
    /// [[script]]                           # what a rollout commands: keyframes by time in s, linear in between
    /// time = 1.0
    /// u = { "hand/slider_z" = 0.1 }        # joints without an entry keep the command of the keyframe before
    /// ```
    ///
    /// Lengths and positions go up to 1e6 m, masses up to 1e9 kg, gravity up to 1e6 m/s². Scenes and URDF files have at most
    /// 16 MiB, meshes 512 MiB.
    ///
    /// # Errors
    /// A file that cannot be read, is larger than 16 MiB, is not TOML, has an unknown key, or describes what cannot be: the file, the line or
    /// the element, and what was expected.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = file::text(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_toml(&text, folder).map_err(|error| error.within(path.display()))
    }

    /// Reads a scene's text, paths of URDF and mesh files relative to `folder`, and checks it.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_toml(text: &str, folder: impl AsRef<Path>) -> Result<Self> {
        let file: SceneFile = toml::from_str(text).map_err(|error| syntax(&error, text))?;
        let scene = file.scene(folder.as_ref())?;
        scene.validate()?;
        Ok(scene)
    }
}

/// What the TOML parser says, on one line and with its place.
fn syntax(error: &toml::de::Error, text: &str) -> Error {
    let message = error.message().replace('\n', ", ");
    let place = error.span().map_or("TOML".to_owned(), |span| {
        let before = &text[..span.start.min(text.len())];
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
        format!("line {line}, column {column}")
    });
    Error::invalid(place, message)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneFile {
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
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParamsFile {
    gravity: Option<[f64; 3]>,
    h: Option<f64>,
    epsilon: Option<f64>,
    kappa: Option<f64>,
    mu: Option<f64>,
    contact_distance: Option<f64>,
    fade: Option<f64>,
    joint_limits: Option<bool>,
    max_iterations: Option<usize>,
}

impl SceneFile {
    fn scene(self, folder: &Path) -> Result<Scene> {
        let mut scene = Scene::new();
        scene.gravity = match (self.gravity, self.params.gravity) {
            (Some(_), Some(_)) => {
                return Err(Error::invalid("params", "expected gravity once, but it stands above too"));
            }
            (given, other) => given.or(other).unwrap_or(scene.gravity),
        };
        scene.params = self.params.params();
        (scene.pairs, scene.script) = (self.pair, self.script);
        for file in self.robot {
            let place = format!("robot \"{}\"", file.name);
            scene.robots.push(file.robot(folder).map_err(|error| error.within(place))?);
        }
        for file in self.object {
            let place = format!("object \"{}\"", file.name);
            scene.objects.push(file.object(folder).map_err(|error| error.within(place))?);
        }
        Ok(scene)
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
            contact_distance: self.contact_distance,
            fade: self.fade.unwrap_or(default.fade),
            joint_limits: self.joint_limits.unwrap_or(default.joint_limits),
            max_iterations: self.max_iterations.unwrap_or(default.max_iterations),
        }
    }
}
