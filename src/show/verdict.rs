//! Which bodies touch, and is an object held?

use super::recording::{ObjectRecord, Recording, Role, StepRecord};
use crate::math::largest::largest;
use crate::solve::Status;

/// The verdict uses the last part of the recording, of this length, s (or all of it, if it is shorter).
const WINDOW: f64 = 1.0;
/// An object is at rest if it stays within this distance of its last position during that time, m, ...
const AT_REST: f64 = 1e-3;
/// ... and within this angle of its last orientation, rad.
const NOT_TURNING: f64 = 0.02;
/// Fixed bodies may push with this fraction of the load, and the object still counts as off them, because a barrier
/// acts at a distance.
const OFF: f64 = 0.01;
/// The forces of what holds an object must match its load to this fraction.
const BALANCE: f64 = 0.05;

/// A contact with its force.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactForce {
    /// Index of the contact.
    pub contact: usize,
    /// Force on B along the normal, N.
    pub normal: f64,
    /// Size of the friction force, N.
    pub friction: f64,
    /// Signed distance, m.
    pub phi: f64,
    /// Force on B in world axes, N.
    pub force: [f64; 3],
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Held: it is at rest, off every fixed body, and robots carry its load. An object without load must be pressed
    /// from opposite sides by two or more robot contacts, and nothing else may push it.
    Held,
    /// At rest, and robots carry none of its load.
    Resting,
    /// At rest, with its load on robots and on fixed bodies, or pushed without being clasped.
    PartlyHeld,
    /// Not at rest.
    Moving,
    /// A step of the recording was not solved, so there is no verdict.
    Unsolved,
}

/// The state of an object at the end of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectReport {
    /// Its name.
    pub object: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Its load: the part of its weight that can move it, N.
    pub load: f64,
    /// The part of the load that robots carry, N: the mean over the window of their force against it.
    pub carried: f64,
    /// The largest force of fixed bodies on it within the window, N.
    pub fixed: f64,
    /// Sum of the sizes of the robots' forces at the end, N.
    pub squeeze: f64,
    /// Largest distance from the last position within the window, m.
    pub drift: f64,
    /// Largest angle from the last orientation within the window, rad.
    pub turn: f64,
    /// The length of the window, s.
    pub window: f64,
}

/// Contacts of a step with at least this force, N. The strongest come first.
pub fn contact_forces(step: &StepRecord, least: f64) -> Vec<ContactForce> {
    let touch = |(contact, force): (usize, &[f64; 3])| {
        let n = step.normal[contact];
        let normal = dot(force, &n);
        let friction = norm(&std::array::from_fn(|k| force[k] - normal * n[k]));
        ContactForce { contact, normal, friction, phi: step.phi[contact], force: *force }
    };
    let mut all: Vec<ContactForce> =
        step.force.iter().enumerate().filter(|(_, f)| norm(f) >= least).map(touch).collect();
    all.sort_by(|a, b| norm(&b.force).total_cmp(&norm(&a.force)));
    all
}

/// Forces on an object during one step.
struct Forces {
    robots: [f64; 3],
    fixed: f64,
    others: [f64; 3],
    squeeze: f64,
    /// Robot contacts that press noticeably.
    n_pressing: usize,
}

impl ObjectReport {
    /// What became of each rigid object that can move.
    pub fn of_each(recording: &Recording) -> Vec<Self> {
        recording.objects.iter().filter_map(|object| Self::of(recording, object)).collect()
    }

    fn of(recording: &Recording, object: &ObjectRecord) -> Option<Self> {
        let last = recording.steps.last()?;
        let since = last.time - WINDOW - 0.5 * recording.params.h;
        let window: Vec<&StepRecord> = recording.steps.iter().filter(|step| step.time > since).collect();
        let first = window.first()?.time - recording.params.h;
        let at = |step: &StepRecord| -> [f64; 3] { std::array::from_fn(|k| step.end.poses[object.body][k]) };
        let end = at(last);
        let drift = largest(window.iter().map(|step| norm(&sub(&at(step), &end))));
        let turned = |step: &StepRecord| angle(&last.end.poses[object.body], &step.end.poses[object.body]);
        let turn = largest(window.iter().map(|step| turned(step)));

        let load = norm(&object.load);
        // What counts as a noticeable force on an object without load.
        let weight = object.mass * norm(&recording.params.gravity);
        let scale = if load > 0.0 { load } else { weight };
        let forces: Vec<Forces> = window.iter().map(|step| Forces::on(recording, object, step, OFF * scale)).collect();
        let against: [f64; 3] = object.load.map(|g| if load > 0.0 { -g / load } else { 0.0 });
        let carried = forces.iter().map(|f| dot(&f.robots, &against)).sum::<f64>() / forces.len() as f64;
        let fixed = largest(forces.iter().map(|f| f.fixed));
        let unbalanced =
            |f: &Forces| -> f64 { norm(&std::array::from_fn(|k| f.robots[k] + f.others[k] + object.load[k])) };
        let pushed = forces.iter().any(|f| f.n_pressing > 0);
        let clasped = if load > 0.0 {
            forces.iter().all(|f| unbalanced(f) <= BALANCE * load)
        } else {
            forces.iter().all(|f| f.n_pressing >= 2 && unbalanced(f) <= BALANCE * f.squeeze)
        };
        let verdict = if recording.steps.iter().any(|step| step.status != Status::Solved.name()) {
            Verdict::Unsolved
        } else if drift > AT_REST || turn > NOT_TURNING {
            Verdict::Moving
        } else if clasped && pushed && fixed <= OFF * scale {
            Verdict::Held
        } else if pushed {
            Verdict::PartlyHeld
        } else {
            Verdict::Resting
        };
        let squeeze = forces.last()?.squeeze;
        Some(Self {
            object: object.name.clone(),
            verdict,
            load,
            carried,
            fixed,
            squeeze,
            drift,
            turn,
            window: last.time - first,
        })
    }
}

impl Forces {
    fn on(recording: &Recording, object: &ObjectRecord, step: &StepRecord, noticeable: f64) -> Self {
        let mut sum = Self { robots: [0.0; 3], fixed: 0.0, others: [0.0; 3], squeeze: 0.0, n_pressing: 0 };
        for (pair, force) in recording.contacts.iter().zip(&step.force) {
            let (other, sign) = match (pair.a == object.body, pair.b == object.body) {
                (false, true) => (pair.a, 1.0),
                (true, false) => (pair.b, -1.0),
                _ => continue,
            };
            let size = norm(force);
            let add = |to: &mut [f64; 3]| (0..3).for_each(|k| to[k] += sign * force[k]);
            match recording.bodies[other].role {
                Role::Fixed => sum.fixed += size,
                Role::Object => add(&mut sum.others),
                Role::Robot => {
                    add(&mut sum.robots);
                    sum.squeeze += size;
                    sum.n_pressing += usize::from(size > noticeable);
                }
            }
        }
        sum
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn norm(a: &[f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

fn sub(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// Angle between the orientations of two poses, rad.
fn angle(a: &[f64; 7], b: &[f64; 7]) -> f64 {
    // |a − b| or |a + b|, whichever is the same half of the sphere, is 2 sin(angle/4).
    let chord = |sign: f64| (3..7).map(|k| (a[k] - sign * b[k]).powi(2)).sum::<f64>().sqrt();
    4.0 * (0.5 * chord(1.0).min(chord(-1.0))).min(1.0).asin()
}
