//! Warnings of steps that move a body too far.

use std::cell::OnceCell;
use std::sync::{Mutex, OnceLock, PoisonError};

use fingertip::show::FarWatch;
use fingertip::step::Quasidynamic;
use fingertip_cli::far_in_step;
use pyo3::prelude::*;

use crate::error::{OrRaise, warn};
use crate::parameters::worlds;

/// What an object has said of its steps: a warning for each body at most.
#[derive(Default)]
pub struct Watch {
    of: OnceLock<FarWatch>,
    told: Mutex<Vec<usize>>,
}

impl Watch {
    /// Warns of what steps between two configurations each (nq) move too far, of which `force` has the contact forces
    /// by the step's and the contact's index, N.
    pub fn look<'a>(
        &self,
        py: Python,
        sim: &Quasidynamic,
        steps: impl Iterator<Item = [&'a [f64]; 2]>,
        force: impl Fn(usize, usize) -> [f64; 3],
    ) -> PyResult<()> {
        let of = self.of(sim)?;
        let mut lines = Vec::new();
        for (k, step) in steps.enumerate() {
            for suspect in of.suspects(step) {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                if told.contains(&suspect) {
                    continue;
                }
                let distances = OnceCell::new();
                let all = || distances.get_or_init(|| distances_at(sim, step[0]).unwrap_or_default());
                let distance = |contact: usize| all().get(contact).copied().unwrap_or(f64::INFINITY);
                let far = of.too_far(suspect, step, |contact| force(k, contact), distance).or_raise()?;
                if let Some((name, motion, size)) = far {
                    told.push(suspect);
                    lines.push(far_in_step(name, motion, size));
                }
            }
        }
        warn(py, lines.iter())
    }

    /// Made when it is first needed: many objects never step.
    fn of(&self, sim: &Quasidynamic) -> PyResult<&FarWatch> {
        match self.of.get() {
            Some(of) => Ok(of),
            None => {
                let of = FarWatch::new(sim.model(), sim.parameters()).or_raise()?;
                Ok(self.of.get_or_init(|| of))
            }
        }
    }
}

/// The steps from q (nq) to each of the states (n, nq) in turn.
pub fn path<'a>(q: &'a [f64], after: &'a [f64]) -> impl Iterator<Item = [&'a [f64]; 2]> {
    // Of a model of which nothing moves there are no rows.
    let after = after.chunks_exact(q.len().max(1));
    std::iter::once(q).chain(after.clone()).zip(after).map(<[&[f64]; 2]>::from)
}

/// The signed distances of contacts at q (nq), m; none where worlds have parameters of their own.
fn distances_at(sim: &Quasidynamic, q: &[f64]) -> PyResult<Vec<f64>> {
    if worlds(sim.parameters())?.is_some() {
        return Ok(Vec::new());
    }
    let all = || sim.contacts(&sim.model().tensor(&[q])?)?.phi.flatten_all()?.to_vec1();
    all().or_raise()
}
