//! Verdicts on a recording's objects: is an object held, and by what?

use super::contacts::ContactRecord;
use super::recording::{ObjectRecord, Recording, Role, StepRecord};
use super::unrest::{Motion, alternates, motion_per_step, size};
use fingertip_shapes::largest::largest;
use fingertip_step::solve::Status;

/// The verdict uses the last part of the recording, of this length, s (or all of it, if it is shorter). Of this part it
/// uses the steps that begin under the last command, if there are [`HOLD`] of them.
const WINDOW: f64 = 1.0;
/// Fewer steps under one command are part of a motion.
const HOLD: usize = 10;
/// Fixed bodies may push with this fraction of the load from nearby, and the object still counts as off them.
const OFF: f64 = 0.01;
/// Contacts are nearby up to a gap of this, m, ...
const NEAR: f64 = 1e-3;
/// ... or, if that is more, of this many times the height at which the lightest object hovers. A barrier acts at a
/// distance, and an object that hangs in the air touches nothing there.
const HOVERS: f64 = 10.0;
/// Up to this fraction of the load may be fixed bodies' push from farther away.
const FROM_AFAR: f64 = 0.2;
/// What goes more slowly than this part of the speed at which things fall in a step, g h, creeps.
const CREEPS: f64 = 0.05;
/// What turns by more in the first window than this, rad, rolls or tips over.
const ROLLS: f64 = 0.1;
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

/// The verdict on an object at the end of a recording, such as held, resting or moving.
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
    /// Not at rest: while the command stands still it goes back and forth, or around, and does not get away from where
    /// it is.
    Alternating,
    /// A step of the recording was not solved, so there is no verdict.
    Unsolved,
}

/// The state of an object at the end of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectReport {
    /// Name of the object.
    pub object: String,
    /// What the object does at the end.
    pub verdict: Verdict,
    /// The object's load: the part of its weight that can move it, N.
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
    /// Speed of the drift, m/s: the distance from the window's first position to its last, over the window's length.
    pub creep: f64,
    /// Speed at which what is moving crept when the command came to stand still, m/s; 0 of what did not creep.
    pub crept: f64,
    /// The object's size: about the distance from its origin to its farthest point, m.
    pub size: f64,
    /// The largest motion in one of its last steps.
    pub motion: Motion,
    /// The length of the window, s.
    pub window: f64,
}

/// The gap up to which the two bodies of a contact are said to touch, m.
pub fn touching_gap(recording: &Recording) -> f64 {
    let gravity = norm(&recording.params.gravity);
    let weights = recording.objects.iter().map(|object| object.mass * gravity).filter(|&weight| weight > 0.0);
    NEAR.max(HOVERS * 2.0 / (recording.params.kappa * weights.fold(f64::INFINITY, f64::min)))
}

/// Contacts of a step with at least this force, N. The strongest come first.
pub fn contact_forces(step: &StepRecord, least: f64) -> Vec<ContactForce> {
    let touch = |&ContactRecord { contact, phi, normal: n, force, .. }: &ContactRecord| {
        let force = &force;
        let normal = dot(force, &n);
        let friction = norm(&std::array::from_fn(|k| force[k] - normal * n[k]));
        ContactForce { contact, normal, friction, phi, force: *force }
    };
    let mut all: Vec<ContactForce> = step.contacts.iter().filter(|one| norm(&one.force) >= least).map(touch).collect();
    all.sort_by(|a, b| norm(&b.force).total_cmp(&norm(&a.force)));
    all
}

/// Forces on an object during one step.
struct Forces {
    robots: [f64; 3],
    fixed: f64,
    /// The part of `fixed` that comes from nearby, ...
    fixed_nearby: f64,
    /// ... and the sum of the forces from farther away.
    afar: [f64; 3],
    others: [f64; 3],
    squeeze: f64,
    /// Robot contacts that press noticeably.
    n_pressing: usize,
}

impl ObjectReport {
    /// An object is at rest if it stays within this distance of its last position during the window, m, ...
    pub const AT_REST: f64 = 1e-3;
    /// ... and within this angle of its last orientation, rad, and does not go back and forth meanwhile.
    pub const NOT_TURNING: f64 = 0.02;

    /// Does the object creep by more than half its size in a minute, though it counts as at rest, or did it before it
    /// came to move? Creep grows where it takes away support.
    pub fn creeps_away(&self) -> bool {
        let creep = match self.verdict {
            Verdict::Held | Verdict::Resting | Verdict::PartlyHeld => self.creep,
            Verdict::Moving => self.crept,
            Verdict::Alternating | Verdict::Unsolved => 0.0,
        };
        60.0 * creep > 0.5 * self.size
    }

    /// The reports on all objects that can move.
    pub fn of_each(recording: &Recording) -> Vec<Self> {
        recording.objects.iter().filter_map(|object| Self::of(recording, object)).collect()
    }

    fn of(recording: &Recording, object: &ObjectRecord) -> Option<Self> {
        let (window, is_steady) = window(recording);
        let (first, last) = (window.first()?, window.last()?);
        let end = &last.end.poses[object.body];
        let away = window.iter().map(|step| Motion::between(&step.end.poses[object.body], end));
        let Motion { distance: drift, angle: turn } = away.fold(Motion::default(), Motion::most);
        let went = Motion::between(&first.end.poses[object.body], end).distance;
        let creep = if window.len() > 1 { went / (last.time - first.time) } else { 0.0 };

        let load = norm(&object.load);
        // What counts as a noticeable force on an object without load.
        let weight = object.mass * norm(&recording.params.gravity);
        let scale = if load > 0.0 { load } else { weight };
        let forces: Vec<Forces> = window.iter().map(|step| Forces::on(recording, object, step, OFF * scale)).collect();
        let against: [f64; 3] = object.load.map(|g| if load > 0.0 { -g / load } else { 0.0 });
        let carried = forces.iter().map(|f| dot(&f.robots, &against)).sum::<f64>() / forces.len() as f64;
        let fixed = largest(forces.iter().map(|f| f.fixed));
        let is_off = forces.iter().all(|f| f.fixed_nearby <= OFF * scale);
        let unbalanced = |f: &Forces| -> f64 {
            norm(&std::array::from_fn(|k| f.robots[k] + f.others[k] + f.afar[k] + object.load[k]))
        };
        let pushed = forces.iter().any(|f| f.n_pressing > 0);
        let clasped = if load > 0.0 {
            forces.iter().all(|f| unbalanced(f) <= BALANCE * load && norm(&f.afar) <= FROM_AFAR * load)
        } else {
            forces.iter().all(|f| f.n_pressing >= 2 && unbalanced(f) <= BALANCE * f.squeeze)
        };
        let verdict = if recording.steps.iter().any(|step| step.status != Status::Solved.name()) {
            Verdict::Unsolved
        } else if is_steady && alternates(window, object.body) {
            Verdict::Alternating
        } else if drift > Self::AT_REST || turn > Self::NOT_TURNING {
            Verdict::Moving
        } else if clasped && pushed && is_off {
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
            creep,
            crept: if verdict == Verdict::Moving { crept(recording, object.body) } else { 0.0 },
            size: size(recording, object.body),
            motion: motion_per_step(&recording.steps, object.body),
            window: window.len() as f64 * recording.params.h,
        })
    }
}

/// The first step that begins under the last command. The first step under a command still moves.
fn first_held(steps: &[StepRecord]) -> usize {
    steps.last().and_then(|last| steps.iter().rposition(|step| step.u != last.u)).map_or(0, |k| k + 2)
}

/// The speed at which a body creeps when the command comes to stand still, m/s: 0 if it goes faster, rolls, or is not
/// watched for as long.
fn crept(recording: &Recording, body: usize) -> f64 {
    let held = recording.steps.get(first_held(&recording.steps)..).unwrap_or_default();
    let Some(first) = held.first() else { return 0.0 };
    let Some(then) = held.iter().find(|step| step.time - first.time >= WINDOW) else { return 0.0 };
    let Motion { distance, angle } = Motion::between(&first.end.poses[body], &then.end.poses[body]);
    let speed = distance / (then.time - first.time);
    let falls = norm(&recording.params.gravity) * recording.params.h;
    if speed < CREEPS * falls && angle < ROLLS { speed } else { 0.0 }
}

/// The steps of a recording that decide, and whether the command stands still in them.
fn window(recording: &Recording) -> (&[StepRecord], bool) {
    let steps = &recording.steps;
    let Some(last) = steps.last() else { return (steps, true) };
    let from = last.time - WINDOW + 0.5 * recording.params.h;
    let second = steps.partition_point(|step| step.time <= from).min(steps.len() - 1);
    let command = first_held(steps);
    let is_steady = command + HOLD.min(steps.len()) <= steps.len();
    (&steps[if is_steady { second.max(command) } else { second }..], is_steady)
}

impl Forces {
    fn on(recording: &Recording, object: &ObjectRecord, step: &StepRecord, noticeable: f64) -> Self {
        let near = touching_gap(recording);
        let [robots, afar, others] = [[0.0; 3]; 3];
        let mut sum = Self { robots, fixed: 0.0, fixed_nearby: 0.0, afar, others, squeeze: 0.0, n_pressing: 0 };
        for ContactRecord { contact, phi, force, .. } in step.contacts.iter().filter(|one| one.force != [0.0; 3]) {
            let pair = &recording.contacts[*contact];
            let (other, sign) = match (recording.hangs(pair.a, object.body), recording.hangs(pair.b, object.body)) {
                (false, true) => (pair.a, 1.0),
                (true, false) => (pair.b, -1.0),
                _ => continue,
            };
            let size = norm(force);
            let add = |to: &mut [f64; 3]| (0..3).for_each(|k| to[k] += sign * force[k]);
            match recording.bodies[other].role {
                Role::Fixed => {
                    sum.fixed += size;
                    if *phi <= near {
                        sum.fixed_nearby += size;
                    } else {
                        add(&mut sum.afar);
                    }
                }
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
