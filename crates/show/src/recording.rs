//! Recordings: all data of a rollout that a replay or an analysis needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use fingertip_scene::Friction;
#[cfg(feature = "full")]
use fingertip_shapes::{Error, Result};

use super::contacts::StepContacts;

/// Increased when the meaning of a field changes.
pub(super) const VERSION: u32 = 2;

/// A recorded rollout. Units are SI and radians; forces are in newtons along world axes.
///
/// As JSON, everything except the steps is one object with the fields below: the message of a file's channel `/scene`.
/// Positions are `[x, y, z]`, quaternions `[w, x, y, z]`, bodies are indices into `bodies`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Version of the format, 2.
    pub version: u32,
    /// The program that wrote the file: `"fingertip 0.1.0"`.
    pub generator: String,
    /// The scene's name: its file name without folder and extension.
    pub scene: String,
    /// The scene file's text.
    pub scene_text: String,
    /// Parameters of the step.
    pub params: ParamsRecord,
    /// A name for each number in q: `"ball.x"`, `"hand/slider_z"`.
    pub q_names: Vec<String>,
    /// The joint that each number in u commands.
    pub u_names: Vec<String>,
    /// The unit of each number in q: `"m"`, `"rad"`, or `"1"` in quaternions. Older files have none.
    #[serde(default)]
    pub q_units: Vec<String>,
    /// The unit of each number in u: `"m"` or `"rad"`. Older files have none.
    #[serde(default)]
    pub u_units: Vec<String>,
    /// The bodies, the world first.
    pub bodies: Vec<BodyRecord>,
    /// Visual and collision shapes of the bodies.
    pub shapes: Vec<ShapeRecord>,
    /// A line for each visual mesh that could not be read: its body, its file and what was expected there. Such bodies
    /// are drawn with their other shapes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The movable parts of objects: a rigid object as a whole; of an articulated one, each body that moves by a joint
    /// or as a whole.
    pub objects: Vec<ObjectRecord>,
    /// The two sides of each contact.
    pub contacts: Vec<PairRecord>,
    /// The pads of taxels, if the scene has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taxels: Vec<PadRecord>,
    /// The goals of objects, if a task has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalRecord>,
    /// The state before the first step.
    pub start: Configuration,
    /// The steps in order; in a file each is a message of its own.
    #[serde(skip)]
    pub steps: Vec<StepRecord>,
}

/// Parameters of the step, see [`fingertip_scene::Params`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of `Params`")]
pub struct ParamsRecord {
    pub h: f64,
    pub epsilon: f64,
    pub kappa: f64,
    pub gravity: [f64; 3],
    /// Older files, from before there was a choice, have none.
    #[serde(default)]
    pub friction: Friction,
    /// Older files, from before there was a choice, have none.
    #[serde(default = "one")]
    pub impratio: f64,
    pub contact_distance: Option<f64>,
    pub fade: f64,
    pub joint_limits: bool,
    /// Older files, from before there was a choice, have none.
    #[serde(default = "yes")]
    pub rolling: bool,
    pub max_iterations: usize,
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

/// A body: its name, and what it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyRecord {
    /// The body's name: `"ball"`, `"hand/palm"`.
    pub name: String,
    /// The kind of thing that the body belongs to: fixed, an object or a robot.
    pub role: Role,
    /// The body that it is joined to, which comes before it in the list. The world's parent is the world.
    pub parent: usize,
    /// Does it move relative to its parent?
    pub moves: bool,
}

/// The kind of thing that a body belongs to.
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
    /// The body that it is on, by its index in `bodies`.
    pub body: usize,
    /// Does it collide? Otherwise it is only visual.
    pub collides: bool,
    /// `"sphere"`, `"capsule"`, `"box"`, `"cylinder"`, `"ellipsoid"`, `"hull"`, `"mesh"` or `"halfspace"`.
    pub kind: String,
    /// Sizes as [`fingertip_scene::Shape::sizes`] orders them, m.
    pub sizes: [f64; 4],
    /// Position in the body's frame, m.
    pub position: [f64; 3],
    /// Orientation in the body's frame.
    pub quaternion: [f64; 4],
    /// Red, green, blue and opacity from 0 to 1, if the description gives them.
    pub rgba: Option<[f64; 4]>,
    /// Corners of a hull or a mesh, m.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vertices: Vec<[f64; 3]>,
    /// Faces of a hull or triangles of a mesh: indices into `vertices`, counter-clockwise seen from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faces: Vec<Vec<usize>>,
}

/// An object that can move, or a link of one with all that hangs on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectRecord {
    /// The object's name: `"ball"`, or `"door/hinge"` for a part that a joint moves.
    pub name: String,
    /// Index of the object's body.
    pub body: usize,
    /// Mass of the object, kg.
    pub mass: f64,
    /// The component of its weight that can move it, N; zero for an object in a level plane, and for what hangs on a
    /// joint.
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

/// A pad of taxels, see [`fingertip_scene::Taxels`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PadRecord {
    /// The pad's name.
    pub name: String,
    /// The body that it is on.
    pub body: usize,
    /// Where each taxel is in the body's frame, m.
    pub points: Vec<[f64; 3]>,
    /// The outward unit normal of each, in the body's frame.
    pub normals: Vec<[f64; 3]>,
    /// How far from a contact a taxel still feels it, m.
    pub reach: f64,
}

/// What a taxel feels during a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaxelRecord {
    /// Its place among those of all pads, which follow each other.
    pub taxel: usize,
    /// The normal force on it, N.
    pub force: f64,
}

/// The goal of an object. A field that is `None` is free.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalRecord {
    /// The object's body.
    pub body: usize,
    /// Position of its frame, m. z is ignored for objects in a level plane.
    pub position: Option<[f64; 3]>,
    /// Orientation of the goal as a unit quaternion (w, x, y, z), if it has one.
    pub quaternion: Option<[f64; 4]>,
}

/// A controller's plan for the coming periods, stored at the start of the first of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Cost of the plan. A file keeps finite costs only; others are read as NaN.
    #[serde(deserialize_with = "or_nan")]
    pub cost: f64,
    /// The reason for which the search ended: `"converged"`, `"iteration limit"`, `"deadline"`, `"no gradient"`,
    /// `"unsolved"`.
    pub outcome: String,
    /// Iterations of the search.
    pub iterations: usize,
    /// Time that the search took, s.
    pub seconds: f64,
    /// Predicted configurations at the start and at the ends of the periods (T + 1, nq).
    pub q: Vec<Vec<f64>>,
    /// The bodies with predicted poses: objects, and links that carry no other link.
    pub bodies: Vec<usize>,
    /// Predicted poses of `bodies` (T + 1, bodies), `[x, y, z, w, x, y, z]`. Files store them to 1e-6.
    pub poses: Vec<Vec<[f64; 7]>>,
}

/// A configuration with the poses of all bodies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Configuration.
    pub q: Vec<f64>,
    /// Position and quaternion of each body's frame in the world, `[x, y, z, w, x, y, z]`. Files store them to 1e-6.
    pub poses: Vec<[f64; 7]>,
}

/// One step. Files store q, u and the scalars exactly, and the numbers of contacts to 1e-9.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRecord {
    /// Time at the step's end, s.
    pub time: f64,
    /// The command during the step.
    pub u: Vec<f64>,
    /// Configuration and poses at the step's end.
    pub end: Configuration,
    /// The contacts that take part.
    pub contacts: StepContacts,
    /// The taxels that feel something, in ascending order.
    pub pressed: Vec<TaxelRecord>,
    /// Outcome of the step's contact solve: `"solved"`, `"iteration_limit"`, `"unsettled"`, `"frictionless"`,
    /// `"infeasible"` or `"bad_input"`.
    pub status: String,
    /// Newton iterations of the step's contact solve.
    pub iterations: usize,
    /// Relative residual of the step's contact solve.
    pub residual: f64,
    /// Time to compute the step, s; 0 if it was not measured.
    pub seconds: f64,
    /// Other numbers by name: `"gap"`, the least signed distance of all contacts, m; `"force on ball"`, the size of the
    /// sum of an object's contact forces, N; `"energy"`, of gravity, springs and contacts at the step's start, J; and
    /// what the recorder adds, such as `"cost"`, `"position error"`, m, `"rotation error"`, rad, and `"joint error"`,
    /// rad or m, of a task.
    pub scalars: BTreeMap<String, f64>,
    /// The plan for the periods from this step on, if a controller has made one.
    pub plan: Option<PlanRecord>,
}

/// A number that was not finite, for which JSON has none but writes `null`, is read as NaN.
pub(super) fn or_nan<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

impl Recording {
    /// The fields `version` and `generator`.
    pub(super) fn header() -> (u32, String) {
        (VERSION, format!("fingertip {}", env!("CARGO_PKG_VERSION")))
    }

    /// The names of the two bodies of a contact: A, and B, on which the force acts.
    pub fn sides(&self, contact: usize) -> [&str; 2] {
        let PairRecord { a, b, .. } = self.contacts[contact];
        [a, b].map(|body| self.bodies[body].name.as_str())
    }

    /// The number of taxels of all pads.
    pub fn n_taxels(&self) -> usize {
        self.taxels.iter().map(|pad| pad.points.len()).sum()
    }

    /// The name of a taxel by its place among all: `"index pad[5]"`.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn taxel_name(&self, taxel: usize) -> String {
        let mut at = taxel;
        for PadRecord { name, points, .. } in &self.taxels {
            if at < points.len() {
                return format!("{name}[{at}]");
            }
            at -= points.len();
        }
        panic!("expected a taxel below {}, got {taxel}", self.n_taxels())
    }

    /// A body, and those that it is joined to further in.
    pub(super) fn chain(&self, body: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(body), |&at| (at > 0).then(|| self.bodies[at].parent))
    }

    /// Is a body this one, or joined to it further out?
    pub(super) fn hangs(&self, body: usize, on: usize) -> bool {
        self.chain(body).any(|at| at == on)
    }

    /// Do the lists fit together?
    #[cfg(feature = "full")]
    pub(super) fn validate(&self) -> Result<()> {
        let count = |place: String, expected: usize, came: usize| {
            if expected == came {
                return Ok(());
            }
            Err(Error::invalid(place, format!("expected {expected} entries, got {came}")))
        };
        let (nq, nu, nc, n_bodies) = (self.q_names.len(), self.u_names.len(), self.contacts.len(), self.bodies.len());
        if n_bodies == 0 {
            return Err(Error::invalid("bodies", "expected at least the world, got none"));
        }
        let shapes = self.shapes.iter().map(|shape| shape.body);
        let sides = self.contacts.iter().flat_map(|pair| [pair.a, pair.b]);
        let objects = self.objects.iter().map(|object| object.body).chain(self.goals.iter().map(|goal| goal.body));
        let planned =
            self.steps.iter().filter_map(|step| step.plan.as_ref()).flat_map(|plan| plan.bodies.iter().copied());
        let pads = self.taxels.iter().map(|pad| pad.body);
        if let Some(body) = shapes.chain(sides).chain(objects).chain(planned).chain(pads).find(|&body| body >= n_bodies)
        {
            return Err(Error::invalid("bodies", format!("expected more than {body}, got {n_bodies}")));
        }
        if let Some((i, body)) = self.bodies.iter().enumerate().find(|(i, body)| body.parent > i.saturating_sub(1)) {
            let message = format!("expected a parent before body {i}, got {}", body.parent);
            return Err(Error::invalid(format!("body \"{}\"", body.name), message));
        }
        for (i, shape) in self.shapes.iter().enumerate() {
            if let Some(corner) = shape.faces.iter().flatten().find(|&&corner| corner >= shape.vertices.len()) {
                let message = format!("expected a corner below {}, got {corner}", shape.vertices.len());
                return Err(Error::invalid(format!("shape {i}"), message));
            }
        }
        for PadRecord { name, points, normals, .. } in &self.taxels {
            count(format!("pad \"{name}\": normals"), points.len(), normals.len())?;
        }
        let n_taxels = self.n_taxels();
        let configuration = |place: &str, c: &Configuration| {
            count(format!("{place}: q"), nq, c.q.len())?;
            count(format!("{place}: poses"), n_bodies, c.poses.len())
        };
        configuration("start", &self.start)?;
        for (i, step) in self.steps.iter().enumerate() {
            let place = format!("step {}", i + 1);
            configuration(&place, &step.end)?;
            count(format!("{place}: u"), nu, step.u.len())?;
            count(format!("{place}: contacts"), nc, step.contacts.nc())?;
            if let Some(one) = step.pressed.iter().find(|one| one.taxel >= n_taxels) {
                let message = format!("expected places below {n_taxels}, got {}", one.taxel);
                return Err(Error::invalid(format!("{place}: taxel"), message));
            }
            if let Some(plan) = &step.plan {
                let place = format!("{place}: plan");
                count(format!("{place}: poses"), plan.q.len(), plan.poses.len())?;
                plan.q.iter().try_for_each(|q| count(format!("{place}: q"), nq, q.len()))?;
                plan.poses.iter().try_for_each(|p| count(format!("{place}: poses"), plan.bodies.len(), p.len()))?;
            }
        }
        Ok(())
    }
}
