//! The numbers of a recording as a page draws them: a row of 32-bit floats per frame.

use serde_json::{Value, json};

use super::recording::{Configuration, Recording, StepRecord};
use crate::solve::Status;

/// Numbers in front of each row: time, status, iterations, residual, seconds.
const HEAD: usize = 5;
/// Of a pose, and of a contact: gap, normal, point, force.
const POSE: usize = 7;
const CONTACT: usize = 10;

/// Where what stands in a row.
#[derive(Clone, Debug)]
pub struct Layout {
    scalars: Vec<String>,
    q: usize,
    u: usize,
    poses: usize,
    contacts: usize,
    n_contacts: usize,
}

impl Layout {
    /// The layout of a recording's frames, with the scalars of its first step.
    pub fn new(recording: &Recording) -> Self {
        let first = recording.steps.first();
        let scalars: Vec<String> = first.map_or_else(Vec::new, |step| step.scalars.keys().cloned().collect());
        let q = HEAD + scalars.len();
        let u = q + recording.q_names.len();
        let poses = u + recording.u_names.len();
        let contacts = poses + POSE * recording.bodies.len();
        Self { scalars, q, u, poses, contacts, n_contacts: recording.contacts.len() }
    }

    /// Numbers in a row.
    pub fn stride(&self) -> usize {
        self.contacts + CONTACT * self.n_contacts
    }

    /// What the page needs besides the rows.
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
            },
        })
    }

    /// The start, then each step.
    pub fn rows(&self, recording: &Recording) -> Vec<f32> {
        let mut rows = self.start(recording);
        rows.extend(recording.steps.iter().flat_map(|step| self.row(step)));
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
        row[self.contacts..].chunks_exact_mut(CONTACT).for_each(|contact| contact[0] = f32::NAN);
        row
    }

    /// The row of a step.
    pub fn row(&self, step: &StepRecord) -> Vec<f32> {
        let mut row = vec![0.0; self.stride()];
        let status = (0..4).map(f64::from).find(|&code| Status::from_code(code).name() == step.status).unwrap_or(0.0);
        copy(&mut row, &[step.time, status, step.iterations as f64, step.residual, step.seconds]);
        let scalars: Vec<f64> =
            self.scalars.iter().map(|name| step.scalars.get(name).copied().unwrap_or(f64::NAN)).collect();
        copy(&mut row[HEAD..], &scalars);
        copy(&mut row[self.u..], &step.u);
        self.place(&mut row, &step.end);
        for (i, contact) in row[self.contacts..].chunks_exact_mut(CONTACT).enumerate() {
            copy(contact, &[step.phi[i]]);
            copy(&mut contact[1..], &[step.normal[i], step.point[i], step.force[i]].concat());
        }
        row
    }

    fn place(&self, row: &mut [f32], configuration: &Configuration) {
        copy(&mut row[self.q..], &configuration.q);
        copy(&mut row[self.poses..], &configuration.poses.concat());
    }
}

/// Does anything move the body?
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
