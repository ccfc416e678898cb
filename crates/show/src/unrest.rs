//! Analysis of unrest: bodies that still move at a recording's end, overlaps that stay, steps that are too long, and
//! steps that raise the energy.

use super::contacts::ContactRecord;
use super::recording::{Recording, Role, ShapeRecord, StepRecord};
use fingertip_shapes::largest::{larger, largest};
use fingertip_step::solve::Status;

/// Motion is that of the last steps, so many.
const LAST: usize = 10;
/// Less motion in a step than this, m, ...
const SEEN: f64 = 5e-6;
/// ... and than this, rad, is none: files store poses to 1e-6.
const TURN_SEEN: f64 = 2e-5;
/// The scalar that is the energy at a step's start, J.
pub(super) const ENERGY: &str = "energy";
/// A rise of energy by this share of what it is, or less, is rounding.
const ROUNDING: f64 = 1e-9;
/// Something goes back and forth if its path is so many times as long as it gets away from where it ends.
const TIMES: f64 = 4.0;
/// Overlaps of less, m, are not worth a line.
const DEEP: f64 = 1e-5;
/// A step that starts with this share of the depth of the step before has not left it.
const AGAIN: f64 = 0.5;
/// What touches is turned by no more than this in a step that is to be trusted, rad.
pub(super) const TURNED: f64 = std::f64::consts::FRAC_PI_4;
/// What presses on an object with less than this share of its weight does not touch it, nor a link what keeps this
/// share of its size away.
const TOUCHES: f64 = 0.1;

/// A distance, m, and an angle, rad.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Distance, m.
    pub distance: f64,
    /// Angle, rad.
    pub angle: f64,
}

impl Motion {
    pub(super) fn between(a: &[f64; 7], b: &[f64; 7]) -> Self {
        let square = |k: usize| (a[k] - b[k]).powi(2);
        // |a − b| or |a + b|, whichever is the same half of the sphere, is 2 sin(angle/4).
        let chord = |sign: f64| (3..7).map(|k| (a[k] - sign * b[k]).powi(2)).sum::<f64>().sqrt();
        let angle = 4.0 * (0.5 * chord(1.0).min(chord(-1.0))).min(1.0).asin();
        Self { distance: (0..3).map(square).sum::<f64>().sqrt(), angle }
    }

    pub(super) fn most(self, other: Self) -> Self {
        Self { distance: larger(self.distance, other.distance), angle: larger(self.angle, other.angle) }
    }

    fn is_seen(&self) -> bool {
        self.distance > SEEN || self.angle > TURN_SEEN
    }
}

/// A body that moves against its parent in the last steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Mover {
    /// The body's index.
    pub body: usize,
    /// The body's largest motion in one of the last steps.
    pub motion: Motion,
}

/// Two bodies that a solved step should have parted, but the next one finds them as deep in each other.
#[derive(Clone, Debug, PartialEq)]
pub struct DeepAgain {
    /// The two bodies' indices.
    pub bodies: [usize; 2],
    /// The number of steps that start about as deep as the step before.
    pub steps: usize,
    /// The last of these steps, counted from 1.
    pub last: usize,
    /// Depth of the overlap at the start of the last of these steps, m.
    pub depth: f64,
}

/// The poses of a body after each of these steps.
fn path(steps: &[StepRecord], body: usize) -> impl Iterator<Item = &[f64; 7]> + Clone {
    steps.iter().map(move |step| &step.end.poses[body])
}

/// The largest motion in one of the last steps.
pub(super) fn motion_per_step(steps: &[StepRecord], body: usize) -> Motion {
    let last = &steps[steps.len().saturating_sub(LAST + 1)..];
    path(last, body)
        .zip(path(last, body).skip(1))
        .map(|(a, b)| Motion::between(a, b))
        .fold(Motion::default(), Motion::most)
}

/// Does a body move on and on and come back, over these steps?
pub(super) fn alternates(steps: &[StepRecord], body: usize) -> bool {
    let Some(end) = path(steps, body).last() else { return false };
    let away = path(steps, body).map(|pose| Motion::between(pose, end)).fold(Motion::default(), Motion::most);
    let parts = path(steps, body).zip(path(steps, body).skip(1)).map(|(a, b)| Motion::between(a, b));
    let (distance, angle) =
        parts.fold((0.0, 0.0), |(distance, angle), part| (distance + part.distance, angle + part.angle));
    let last = motion_per_step(steps, body);
    (last.distance > SEEN && distance > TIMES * away.distance) || (last.angle > TURN_SEEN && angle > TIMES * away.angle)
}

/// The bodies that still move in the world at the end, objects and links of robots, the fastest first. Of bodies that
/// move with their parent only the parent is named.
pub fn still_moving(recording: &Recording) -> Vec<Mover> {
    let motions: Vec<Motion> =
        (0..recording.bodies.len()).map(|body| motion_per_step(&recording.steps, body)).collect();
    let mut movers: Vec<Mover> = (0..recording.bodies.len())
        .filter(|&body| recording.bodies[body].moves && motions[body].is_seen())
        .filter(|&body| !motions[recording.bodies[body].parent].is_seen())
        .map(|body| Mover { body, motion: motions[body] })
        .collect();
    movers.sort_by(|a, b| b.motion.distance.total_cmp(&a.motion.distance));
    movers
}

/// The least gap of each two bodies at a step's start.
fn gaps(recording: &Recording, step: &StepRecord) -> Vec<f64> {
    let n = recording.bodies.len();
    let mut least = vec![f64::INFINITY; n * n];
    for one in &step.contacts {
        let (pair, phi) = (&recording.contacts[one.contact], one.phi);
        let place = n * pair.a + pair.b;
        least[place] = least[place].min(phi);
    }
    least
}

/// Each two bodies for which a solved step starts about as deep as the step before it, which was solved too. A step's
/// geometry is that of its start; if bodies turn far in one step, it may end elsewhere than it says.
pub fn deep_again(recording: &Recording) -> Vec<DeepAgain> {
    let n = recording.bodies.len();
    let mut found: Vec<DeepAgain> = Vec::new();
    let mut before: Option<Vec<f64>> = None;
    for (k, step) in recording.steps.iter().enumerate() {
        let now = gaps(recording, step);
        let deep = |(place, before): (usize, &f64)| (*before < -DEEP && now[place] < AGAIN * before).then_some(place);
        for place in before.iter().flatten().enumerate().filter_map(deep) {
            let bodies = [place / n, place % n];
            let entry = DeepAgain { bodies, steps: 0, last: 0, depth: 0.0 };
            let at = found.iter().position(|one| one.bodies == bodies).unwrap_or_else(|| {
                found.push(entry);
                found.len() - 1
            });
            let one = &mut found[at];
            (one.steps, one.last, one.depth) = (one.steps + 1, k + 1, -now[place]);
        }
        before = (step.status == Status::Solved.name()).then_some(now);
    }
    found.sort_by(|a, b| b.depth.total_cmp(&a.depth));
    found
}

/// An object or a link of a robot that moved in a step by more than its size past something that it touched, or turned
/// by more than 45° there; or one that moved so beside a distance grid, of which a step sees some sheets alone. A
/// step's contacts are the planes that they are at its start, and it takes turns for small ones: what comes of so long
/// a step may be anything.
#[derive(Clone, Debug, PartialEq)]
pub struct FarStep {
    /// The body's index.
    pub body: usize,
    /// The number of such steps.
    pub steps: usize,
    /// The one in which the body moved farthest, counted from 1.
    pub farthest: usize,
    /// The body's motion in it.
    pub motion: Motion,
    /// The body's size: about the distance from its origin to its farthest point, m.
    pub size: f64,
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// About the distance from a body's origin to a shape's farthest point, m: exact for boxes, cylinders and hulls at the
/// origin, a little less for capsules, more for ellipsoids. None for a half-space.
fn reach(shape: &ShapeRecord) -> Option<f64> {
    let own = match shape.kind.as_str() {
        "halfspace" => return None,
        "hull" | "mesh" => largest(shape.vertices.iter().map(|vertex| norm(vertex))),
        _ => norm(&shape.sizes[..3]),
    };
    Some(own + norm(&shape.position))
}

/// About the distance from a body's origin to the farthest point of its shapes, m.
pub(super) fn size(recording: &Recording, body: usize) -> f64 {
    largest(recording.shapes.iter().filter(|shape| shape.collides && shape.body == body).filter_map(reach))
}

/// The bodies that moved too far in a step, the farthest first. Over a half-space, which is a plane everywhere, only
/// turns count, and what moves along with a body is not passed by it.
pub fn far_steps(recording: &Recording) -> Vec<FarStep> {
    let mut found: Vec<FarStep> = Vec::new();
    for watched in Watched::all(recording) {
        let Watched { body, size, .. } = watched;
        let mut far = FarStep { body, steps: 0, farthest: 0, motion: Motion::default(), size };
        let mut before = &recording.start.poses;
        for (k, step) in recording.steps.iter().enumerate() {
            if let Some(motion) = watched.too_far(recording, [before, &step.end.poses], step.contacts.iter().as_slice())
            {
                far.steps += 1;
                if far.farthest == 0 || motion.distance > far.motion.distance {
                    (far.farthest, far.motion) = (k + 1, motion);
                }
            }
            before = &step.end.poses;
        }
        if far.steps > 0 {
            found.push(far);
        }
    }
    found.sort_by(|a, b| b.motion.distance.total_cmp(&a.motion.distance));
    found
}

/// A body of which steps may ask too much.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) body: usize,
    pub(super) size: f64,
    /// What presses on it with less, N, does not touch it.
    least: f64,
}

impl Watched {
    /// The objects that can move, and the links that have shapes.
    pub(super) fn all(recording: &Recording) -> Vec<Self> {
        let has_role = |body: usize, role: Role| recording.bodies[body].role == role;
        let gravity = norm(&recording.params.gravity);
        let objects = recording.objects.iter().filter(|object| has_role(object.body, Role::Object));
        let objects = objects.map(|object| {
            let size = size(recording, object.body);
            Self { body: object.body, size, least: TOUCHES * object.mass * gravity }
        });
        let links = (0..recording.bodies.len()).filter(|&body| has_role(body, Role::Robot));
        let links = links.filter(|&body| colliding(recording, body).next().is_some()).map(|body| {
            // What a contact of weight 1 pushes with at a gap.
            let size = size(recording, body);
            Self { body, size, least: 2.0 / (recording.params.kappa * TOUCHES * size) }
        });
        objects.chain(links).collect()
    }

    /// The body's motion from the poses before to those after a step with these contacts, if it is too far.
    pub(super) fn too_far(
        &self,
        recording: &Recording,
        [before, after]: [&[[f64; 7]]; 2],
        contacts: &[ContactRecord],
    ) -> Option<Motion> {
        let Self { body, size, least } = *self;
        let motion = Motion::between(&before[body], &after[body]);
        if motion.angle <= TURNED && motion.distance <= size {
            return None;
        }
        let is_far = |ContactRecord { contact, force, phi, .. }: &ContactRecord| {
            let Some(other) = self.other(recording, *contact) else { return false };
            let has_only = |kind: &str| colliding(recording, other).all(|shape| shape.kind == kind);
            let moved = |k: usize| after[body][k] - before[body][k] - (after[other][k] - before[other][k]);
            let past = norm(&[0, 1, 2].map(moved));
            let touches = norm(force) > least || is_grid(recording, other) && *phi < past;
            touches && (motion.angle > TURNED || past > size && !has_only("halfspace"))
        };
        contacts.iter().any(is_far).then_some(motion)
    }

    /// Does so much force, N, at a contact say that the body touches something?
    pub(super) fn is_pressed(&self, force: &[f64; 3]) -> bool {
        norm(force) > self.least
    }

    /// Whom the body meets at a contact; none if the contact is others'.
    pub(super) fn other(&self, recording: &Recording, contact: usize) -> Option<usize> {
        let pair = &recording.contacts[contact];
        [(pair.a, pair.b), (pair.b, pair.a)].into_iter().find_map(|(one, other)| (one == self.body).then_some(other))
    }
}

/// Has a body a distance grid?
pub(super) fn is_grid(recording: &Recording, body: usize) -> bool {
    colliding(recording, body).any(|shape| shape.kind == "mesh")
}

/// The shapes of a body that may touch others.
pub(super) fn colliding(recording: &Recording, body: usize) -> impl Iterator<Item = &ShapeRecord> {
    recording.shapes.iter().filter(move |shape| shape.collides && shape.body == body)
}

/// Changes of the energy of gravity, springs and contacts over the steps in which the command stood still. There each
/// step lowers the energy, if bodies move along straight lines.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyReport {
    /// Energy at the start of the last step, J.
    pub last: f64,
    /// The number of steps that raise the energy.
    pub rises: usize,
    /// The largest rise in a step, J, and the step, counted from 1.
    pub largest: Option<(f64, usize)>,
}

impl EnergyReport {
    /// The changes of energy in a recording. None if the last step has no energy.
    pub fn of(recording: &Recording) -> Option<Self> {
        let last = *recording.steps.last()?.scalars.get(ENERGY)?;
        let rise = |(k, pair): (usize, &[StepRecord])| {
            let [before, after] = [&pair[0], &pair[1]].map(|step| step.scalars.get(ENERGY).copied());
            let (before, after) = before.zip(after)?;
            let rose = pair[0].u == pair[1].u && after - before > ROUNDING * before.abs().max(after.abs());
            rose.then_some((after - before, k + 1))
        };
        let rises: Vec<(f64, usize)> = recording.steps.windows(2).enumerate().filter_map(rise).collect();
        let largest = rises.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
        Some(Self { last, rises: rises.len(), largest })
    }
}
