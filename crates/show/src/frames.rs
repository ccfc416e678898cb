//! The numbers of a recording as a page draws them: a row of 32-bit floats per frame.

use serde_json::{Value, json};

use super::recording::{Configuration, PlanRecord, Recording, StepRecord};
use fingertip_step::solve::Status;

/// Numbers in front of each row: time, status, iterations, residual, seconds.
const HEAD: usize = 5;
/// Numbers of a pose in a row: position and quaternion.
const POSE: usize = 7;
/// Numbers of a contact as the page draws it: gap (1), normal (3), point (3), force (3).
const DRAWN_CONTACT: usize = 10;
/// Numbers of a taxel that is pressed: its place among all, and its force.
const DRAWN_TAXEL: usize = 2;
/// The most taxels that a live page shows pressed at once.
const MOST_PRESSED: usize = 512;

/// The places of all parts of a row.
#[derive(Clone, Debug)]
pub struct Layout {
    scalars: Vec<String>,
    q: usize,
    u: usize,
    poses: usize,
    contacts: usize,
    plan: usize,
    plan_size: PlanSize,
    taxels: usize,
    /// The number of taxels that a row has room for.
    n_pressed: usize,
}

/// The part of a plan that each row has: the number of poses, and the bodies.
#[derive(Clone, Debug, Default)]
pub struct PlanSize {
    /// The number of predicted poses of each body: T + 1 for T periods.
    pub n_poses: usize,
    pub bodies: Vec<usize>,
}

impl Layout {
    /// The layout of a recording's frames, with all its scalars and room for a plan like its first one and for all
    /// taxels that are pressed at once.
    pub fn new(recording: &Recording) -> Self {
        let first = recording.steps.iter().find_map(|step| step.plan.as_ref());
        let size = first.map(|plan| PlanSize { n_poses: plan.poses.len(), bodies: plan.bodies.clone() });
        let n_pressed = recording.steps.iter().map(|step| step.pressed.len()).max();
        Self::with(recording, size.unwrap_or_default(), n_pressed.unwrap_or(0))
    }

    /// The layout of a live page's rows, which also hold a plan of a given size. Where more taxels are pressed than a
    /// row has room for, it has those that feel most.
    pub fn live(recording: &Recording, plan_size: PlanSize) -> Self {
        Self::with(recording, plan_size, recording.n_taxels().min(MOST_PRESSED))
    }

    fn with(recording: &Recording, plan_size: PlanSize, n_pressed: usize) -> Self {
        let scalars: Vec<String> = recording.scalar_names().into_iter().map(str::to_owned).collect();
        let q = HEAD + scalars.len();
        let u = q + recording.q_names.len();
        let poses = u + recording.u_names.len();
        let contacts = poses + POSE * recording.bodies.len();
        let plan = contacts + DRAWN_CONTACT * recording.contacts.len();
        let taxels = plan + POSE * plan_size.n_poses * plan_size.bodies.len();
        Self { scalars, q, u, poses, contacts, plan, plan_size, taxels, n_pressed }
    }

    /// The number of numbers in a row.
    pub fn stride(&self) -> usize {
        self.taxels + DRAWN_TAXEL * self.n_pressed
    }

    /// The page's data besides the rows, as JSON: the recording, the scalars' names, the bodies that touch, and the
    /// layout of a row.
    pub fn header(&self, recording: &Recording) -> Value {
        let mut tips: Vec<usize> = recording.contacts.iter().flat_map(|pair| [pair.a, pair.b]).collect();
        tips.sort_unstable();
        tips.dedup();
        let moving = |body: &usize| (0..recording.bodies.len()).contains(body) && moves(recording, *body);
        tips.retain(moving);
        json!({
            "scene": recording,
            "scalars": self.scalars,
            "tips": tips,
            "layout": {
                "stride": self.stride(), "time": 0, "status": 1, "iterations": 2, "residual": 3, "seconds": 4,
                "scalars": HEAD, "q": self.q, "u": self.u, "poses": self.poses, "contacts": self.contacts,
                "plan": self.plan, "taxels": self.taxels,
            },
            "plan": { "n_poses": self.plan_size.n_poses, "bodies": self.plan_size.bodies },
        })
    }

    /// The start, then each step.
    pub fn rows(&self, recording: &Recording) -> Vec<f32> {
        let (mut rows, mut plan) = (self.start(recording), None);
        for step in &recording.steps {
            plan = step.plan.as_ref().or(plan);
            rows.extend(self.row(step, plan));
        }
        rows
    }

    /// The row of the start: no forces, and gaps that are not known.
    pub fn start(&self, recording: &Recording) -> Vec<f32> {
        let mut row = vec![0.0; self.stride()];
        row[HEAD..self.q].fill(f32::NAN);
        self.place(&mut row, &recording.start);
        // Nothing has been commanded yet: the curves begin at the first command.
        let first = recording.steps.first().map_or(&[][..], |step| &step.u);
        copy(&mut row[self.u..], first);
        row[self.contacts..self.plan].chunks_exact_mut(DRAWN_CONTACT).for_each(|contact| contact[0] = f32::NAN);
        row[self.plan..self.taxels].fill(f32::NAN);
        row
    }

    /// The row of a step that follows a plan.
    pub fn row(&self, step: &StepRecord, plan: Option<&PlanRecord>) -> Vec<f32> {
        let mut row = vec![0.0; self.stride()];
        let status = (0..6).map(f64::from).find(|&code| Status::from_code(code).name() == step.status).unwrap_or(0.0);
        copy(&mut row, &[step.time, status, step.iterations as f64, step.residual, step.seconds]);
        let scalars: Vec<f64> =
            self.scalars.iter().map(|name| step.scalars.get(name).copied().unwrap_or(f64::NAN)).collect();
        copy(&mut row[HEAD..], &scalars);
        copy(&mut row[self.u..], &step.u);
        self.place(&mut row, &step.end);
        row[self.contacts..self.plan].chunks_exact_mut(DRAWN_CONTACT).for_each(|contact| contact[0] = f32::NAN);
        for one in &step.contacts {
            let to = &mut row[self.contacts + DRAWN_CONTACT * one.contact..][..DRAWN_CONTACT];
            copy(to, &[one.phi]);
            copy(&mut to[1..], &[one.normal, one.point, one.force].concat());
        }
        row[self.plan..self.taxels].fill(f32::NAN);
        let fits = |plan: &&PlanRecord| plan.bodies == self.plan_size.bodies;
        let poses = plan.filter(fits).map(|plan| plan.poses.concat().concat());
        copy(&mut row[self.plan..], &poses.unwrap_or_default());
        let mut pressed = step.pressed.clone();
        pressed.sort_unstable_by(|a, b| b.force.total_cmp(&a.force));
        for (to, one) in row[self.taxels..].chunks_exact_mut(DRAWN_TAXEL).zip(&pressed) {
            copy(to, &[one.taxel as f64, one.force]);
        }
        row
    }

    fn place(&self, row: &mut [f32], configuration: &Configuration) {
        copy(&mut row[self.q..], &configuration.q);
        copy(&mut row[self.poses..], &configuration.poses.concat());
    }
}

/// Can the body move, by itself or with its parents?
pub fn moves(recording: &Recording, body: usize) -> bool {
    let mut at = body;
    while at != 0 {
        if recording.bodies[at].moves {
            return true;
        }
        at = recording.bodies[at].parent;
    }
    false
}

#[expect(clippy::cast_possible_truncation, reason = "a screen needs no more")]
fn copy(to: &mut [f32], from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
}
