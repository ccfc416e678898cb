//! The numbers of a recording as a page draws them: a row of 32-bit floats per frame.

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::contacts::ContactRecord;
use super::recording::{Configuration, PlanRecord, Recording, ShapeRecord, StepRecord};
use fingertip_step::solve::Status;

/// Numbers in front of each row: time, status, iterations, residual, seconds.
const HEAD: usize = 5;
/// Numbers of a pose in a row: position and quaternion.
const POSE: usize = 7;
/// Numbers of a contact as the page draws it: its place among all, gap (1), normal (3), point (3), force (3).
const DRAWN_CONTACT: usize = 11;
/// Numbers of a taxel that is pressed: its place among all, and its force.
const DRAWN_TAXEL: usize = 2;
/// The most taxels that a live page shows pressed at once.
const MOST_PRESSED: usize = 512;
/// The most contacts that a live page shows at once.
const MOST_CONTACTS: usize = 256;

/// The places of all parts of a row.
#[derive(Clone, Debug)]
pub struct Layout {
    scalars: Vec<String>,
    q: usize,
    u: usize,
    poses: usize,
    plan: usize,
    plan_size: PlanSize,
    taxels: usize,
    contacts: usize,
    /// The number of contacts that a row has room for.
    n_contacts: usize,
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
    /// taxels that are pressed and all contacts that take part at once: of thousands that a hand has, a few.
    pub fn new(recording: &Recording) -> Self {
        let first = recording.steps.iter().find_map(|step| step.plan.as_ref());
        let size = first.map(|plan| PlanSize { n_poses: plan.poses.len(), bodies: plan.bodies.clone() });
        let most = |count: fn(&StepRecord) -> usize| recording.steps.iter().map(count).max().unwrap_or(0);
        let room = [most(|step| step.pressed.len()), most(|step| step.contacts.iter().len())];
        Self::with(recording, size.unwrap_or_default(), room)
    }

    /// The layout of a live page's rows, which also hold a plan of a given size. Where more taxels are pressed or more
    /// contacts take part than a row has room for, it has those with the largest forces.
    pub fn live(recording: &Recording, plan_size: PlanSize) -> Self {
        let room = [recording.n_taxels().min(MOST_PRESSED), recording.contacts.len().min(MOST_CONTACTS)];
        Self::with(recording, plan_size, room)
    }

    /// With room for so many taxels and contacts.
    fn with(recording: &Recording, plan_size: PlanSize, [n_pressed, n_contacts]: [usize; 2]) -> Self {
        let scalars: Vec<String> = recording.scalar_names().into_iter().map(str::to_owned).collect();
        let q = HEAD + scalars.len();
        let u = q + recording.q_names.len();
        let poses = u + recording.u_names.len();
        let plan = poses + POSE * recording.bodies.len();
        let taxels = plan + POSE * plan_size.n_poses * plan_size.bodies.len();
        let contacts = taxels + DRAWN_TAXEL * n_pressed;
        Self { scalars, q, u, poses, plan, plan_size, taxels, contacts, n_contacts }
    }

    /// The number of numbers in a row, at most.
    pub fn stride(&self) -> usize {
        self.contacts + DRAWN_CONTACT * self.n_contacts
    }

    /// The page's data besides the rows, as JSON: the recording, the scalars' names, the bodies that touch, and the
    /// layout of a row. Meshes are packed: their corners as 32-bit floats, their triangles as integers of 16 bits, or
    /// of 32 where there are more than 65,536 corners, little-endian in base64.
    pub fn header(&self, recording: &Recording) -> Value {
        let mut tips: Vec<usize> = recording.contacts.iter().flat_map(|pair| [pair.a, pair.b]).collect();
        tips.sort_unstable();
        tips.dedup();
        let moving = |body: &usize| (0..recording.bodies.len()).contains(body) && moves(recording, *body);
        tips.retain(moving);
        let mut scene = json!(recording);
        for (shape, to) in recording.shapes.iter().zip(scene["shapes"].as_array_mut().into_iter().flatten()) {
            if shape.kind == "mesh" {
                (to["vertices"], to["faces"]) = packed(shape);
            }
        }
        json!({
            "scene": scene,
            "scalars": self.scalars,
            "tips": tips,
            "layout": {
                "stride": self.stride(), "time": 0, "status": 1, "iterations": 2, "residual": 3, "seconds": 4,
                "scalars": HEAD, "q": self.q, "u": self.u, "poses": self.poses, "plan": self.plan,
                "taxels": self.taxels, "contacts": self.contacts,
            },
            "plan": { "n_poses": self.plan_size.n_poses, "bodies": self.plan_size.bodies },
        })
    }

    /// The start, then each step, each row of full length: NaN where there are fewer contacts.
    pub fn rows(&self, recording: &Recording) -> Vec<f32> {
        let (mut rows, mut plan) = (self.start(recording), None);
        for (k, step) in (1..).zip(&recording.steps) {
            rows.resize(k * self.stride(), f32::NAN);
            plan = step.plan.as_ref().or(plan);
            rows.extend(self.row(step, plan));
        }
        rows.resize((recording.steps.len() + 1) * self.stride(), f32::NAN);
        rows
    }

    /// The row of the start, without contacts: they are not known.
    pub fn start(&self, recording: &Recording) -> Vec<f32> {
        let mut row = vec![0.0; self.contacts];
        row[HEAD..self.q].fill(f32::NAN);
        self.place(&mut row, &recording.start);
        // Nothing has been commanded yet: the curves begin at the first command.
        let first = recording.steps.first().map_or(&[][..], |step| &step.u);
        copy(&mut row[self.u..], first);
        row[self.plan..self.taxels].fill(f32::NAN);
        row
    }

    /// The row of a step that follows a plan. It ends with the contacts that take part, in their order.
    pub fn row(&self, step: &StepRecord, plan: Option<&PlanRecord>) -> Vec<f32> {
        let mut row = vec![0.0; self.contacts];
        let status = (0..6).map(f64::from).find(|&code| Status::from_code(code).name() == step.status).unwrap_or(0.0);
        copy(&mut row, &[step.time, status, step.iterations as f64, step.residual, step.seconds]);
        let scalars: Vec<f64> =
            self.scalars.iter().map(|name| step.scalars.get(name).copied().unwrap_or(f64::NAN)).collect();
        copy(&mut row[HEAD..], &scalars);
        copy(&mut row[self.u..], &step.u);
        self.place(&mut row, &step.end);
        row[self.plan..self.taxels].fill(f32::NAN);
        let fits = |plan: &&PlanRecord| plan.bodies == self.plan_size.bodies;
        let poses = plan.filter(fits).map(|plan| plan.poses.concat().concat());
        copy(&mut row[self.plan..], &poses.unwrap_or_default());
        let mut pressed = step.pressed.clone();
        pressed.sort_unstable_by(|a, b| b.force.total_cmp(&a.force));
        for (to, one) in row[self.taxels..].chunks_exact_mut(DRAWN_TAXEL).zip(&pressed) {
            copy(to, &[one.taxel as f64, one.force]);
        }
        let mut contacts: Vec<&ContactRecord> = step.contacts.iter().collect();
        if contacts.len() > self.n_contacts {
            let force = |one: &ContactRecord| one.force.iter().map(|x| x * x).sum::<f64>();
            contacts.sort_by(|a, b| force(b).total_cmp(&force(a)).then(a.phi.total_cmp(&b.phi)));
            contacts.truncate(self.n_contacts);
            contacts.sort_unstable_by_key(|one| one.contact);
        }
        row.resize(self.contacts + DRAWN_CONTACT * contacts.len(), 0.0);
        for (to, one) in row[self.contacts..].chunks_exact_mut(DRAWN_CONTACT).zip(contacts) {
            copy(to, &[&[one.contact as f64, one.phi][..], &one.normal, &one.point, &one.force].concat());
        }
        row
    }

    fn place(&self, row: &mut [f32], configuration: &Configuration) {
        copy(&mut row[self.q..], &configuration.q);
        copy(&mut row[self.poses..], &configuration.poses.concat());
    }
}

/// A mesh's corners and triangles as text.
#[expect(clippy::cast_possible_truncation, reason = "a screen needs no more; there are fewer corners")]
fn packed(mesh: &ShapeRecord) -> (Value, Value) {
    let corners = mesh.vertices.iter().flatten().flat_map(|&x| (x as f32).to_le_bytes());
    let places = mesh.faces.iter().flatten();
    let triangles: Vec<u8> = if mesh.vertices.len() > 1 << 16 {
        places.flat_map(|&place| (place as u32).to_le_bytes()).collect()
    } else {
        places.flat_map(|&place| (place as u16).to_le_bytes()).collect()
    };
    (BASE64.encode(&corners.collect::<Vec<u8>>()).into(), BASE64.encode(&triangles).into())
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
