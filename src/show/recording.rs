//! Recordings: everything of a rollout that a replay or an analysis needs, as one JSON file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// First field of every recording.
const FORMAT: &str = "fingertip recording";
/// Raised when the meaning of a field changes.
const VERSION: u32 = 1;

/// A rollout. SI units and radians; forces in newtons along world axes.
///
/// As JSON this is one object with the fields below by their names. Positions are `[x, y, z]`, quaternions `[w, x, y, z]`,
/// bodies are indices into `bodies`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Always `"fingertip recording"`.
    pub format: String,
    /// Version of the format, 1.
    pub version: u32,
    /// What wrote the file: `"fingertip 0.1.0"`.
    pub generator: String,
    /// The scene's name: its file without folder and ending.
    pub scene: String,
    /// The scene file's text.
    pub scene_text: String,
    /// Numbers of the step.
    pub params: ParamsRecord,
    /// A name for each number in q: `"ball.x"`, `"hand/slider_z"`.
    pub q_names: Vec<String>,
    /// The joint that each number in u commands.
    pub u_names: Vec<String>,
    /// The bodies, the world first.
    pub bodies: Vec<BodyRecord>,
    /// What the bodies look like, and where they can touch.
    pub shapes: Vec<ShapeRecord>,
    /// The rigid objects that can move.
    pub objects: Vec<ObjectRecord>,
    /// The two sides of each contact.
    pub contacts: Vec<PairRecord>,
    /// Before the first step.
    pub start: Configuration,
    /// The steps.
    pub steps: Vec<StepRecord>,
}

/// Numbers of the step, see [`crate::description::Params`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of `Params`")]
pub struct ParamsRecord {
    pub h: f64,
    pub epsilon: f64,
    pub kappa: f64,
    pub gravity: [f64; 3],
    pub contact_distance: Option<f64>,
    pub fade: f64,
    pub joint_limits: bool,
    pub max_iterations: usize,
}

/// A body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyRecord {
    /// `"ball"`, `"hand/palm"`.
    pub name: String,
    /// Whose it is.
    pub role: Role,
}

/// What a body belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The world or an object that cannot move.
    Fixed,
    /// An object that can move.
    Object,
    /// A robot, its base included.
    Robot,
}

/// A shape on a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeRecord {
    /// The body.
    pub body: usize,
    /// Can it touch? Otherwise it is there to be looked at.
    pub collides: bool,
    /// `"sphere"`, `"capsule"`, `"box"`, `"cylinder"` or `"halfspace"`.
    pub kind: String,
    /// Sizes as [`crate::description::Shape::sizes`] orders them, m.
    pub sizes: [f64; 4],
    /// Position in the body's frame, m.
    pub position: [f64; 3],
    /// Orientation in the body's frame.
    pub quaternion: [f64; 4],
    /// Red, green, blue and opacity from 0 to 1, if the description says.
    pub rgba: Option<[f64; 4]>,
}

/// A rigid object that can move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// Its name.
    pub name: String,
    /// Its body.
    pub body: usize,
    /// Its mass, kg.
    pub mass: f64,
    /// The part of its weight that moves it, N: zero for an object in a level plane.
    pub load: [f64; 3],
}

/// The two sides of a contact. Forces act on B, their opposites on A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairRecord {
    /// Body on side A.
    pub a: usize,
    /// Body on side B.
    pub b: usize,
    /// Friction coefficient.
    pub mu: f64,
}

/// Where everything is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Configuration.
    pub q: Vec<f64>,
    /// Position and quaternion of each body's frame in the world, `[x, y, z, w, x, y, z]`, rounded to 1e-7.
    pub poses: Vec<[f64; 7]>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Time at the step's end, s.
    pub time: f64,
    /// The command during the step.
    pub u: Vec<f64>,
    /// Where everything is at the step's end.
    #[serde(flatten)]
    pub end: Configuration,
    /// Signed distance of each contact at the step's start, m.
    pub phi: Vec<f64>,
    /// Unit normal of each contact from A to B at the step's start.
    pub normal: Vec<[f64; 3]>,
    /// Witness point of each contact on B at the step's start, m.
    pub point: Vec<[f64; 3]>,
    /// Force of each contact on B during the step, N.
    pub force: Vec<[f64; 3]>,
    /// How the solve ended: `"solved"`, `"iteration_limit"`, `"infeasible"` or `"bad_input"`.
    pub status: String,
    /// Its Newton iterations.
    pub iterations: usize,
    /// Its relative residual.
    pub residual: f64,
    /// Time that the step took to compute, s.
    pub seconds: f64,
}

impl Recording {
    /// The fields `format`, `version` and `generator`.
    pub(super) fn header() -> (String, u32, String) {
        (FORMAT.to_owned(), VERSION, format!("fingertip {}", env!("CARGO_PKG_VERSION")))
    }

    /// Writes a file, and the folders above it where they are missing.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|error| syntax(path.as_ref(), &error))?;
        write(path.as_ref(), &text)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no recording of this version, or its lists do not fit together.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| Error::file(path, source))?;
        let recording: Self = serde_json::from_str(&text).map_err(|error| syntax(path, &error))?;
        recording.validate().map_err(|error| error.within(path.display()))?;
        Ok(recording)
    }

    fn validate(&self) -> Result<()> {
        if self.format != FORMAT || self.version != VERSION {
            let came = format!("\"{}\", version {}", self.format, self.version);
            return Err(Error::invalid("format", format!("expected \"{FORMAT}\", version {VERSION}, got {came}")));
        }
        let count = |place: String, expected: usize, came: usize| {
            if expected == came {
                return Ok(());
            }
            Err(Error::invalid(place, format!("expected {expected} entries, got {came}")))
        };
        let (nq, nu, nc, n_bodies) = (self.q_names.len(), self.u_names.len(), self.contacts.len(), self.bodies.len());
        let configuration = |place: &str, c: &Configuration| {
            count(format!("{place}: q"), nq, c.q.len())?;
            count(format!("{place}: poses"), n_bodies, c.poses.len())
        };
        configuration("start", &self.start)?;
        for (i, step) in self.steps.iter().enumerate() {
            let place = format!("step {}", i + 1);
            configuration(&place, &step.end)?;
            count(format!("{place}: u"), nu, step.u.len())?;
            let lists = [step.phi.len(), step.normal.len(), step.point.len(), step.force.len()];
            for (name, n) in ["phi", "normal", "point", "force"].into_iter().zip(lists) {
                count(format!("{place}: {name}"), nc, n)?;
            }
        }
        let shapes = self.shapes.iter().map(|shape| shape.body);
        let sides = self.contacts.iter().flat_map(|pair| [pair.a, pair.b]);
        let objects = self.objects.iter().map(|object| object.body);
        match shapes.chain(sides).chain(objects).find(|&body| body >= n_bodies) {
            Some(body) => Err(Error::invalid("bodies", format!("expected more than {body}, got {n_bodies}"))),
            None => Ok(()),
        }
    }
}

/// Writes a file, and the folders above it where they are missing.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|source| Error::file(folder, source))?;
    }
    std::fs::write(path, text).map_err(|source| Error::file(path, source))
}

fn syntax(path: &Path, error: &serde_json::Error) -> Error {
    Error::Syntax { path: path.to_owned(), message: error.to_string() }
}
