//! Recorded programs. A kernel runs once on numbers that record every operation done with them. The result is a
//! [`Trace`]: the operations for one world, with their branches and loops, ready to be printed in another language.
//!
//! [`record`](super::program::record) records any program. [`Trace::run`] interprets the recording; its results are bit
//! for bit those of a lane of one world with fused multiply-adds. [`c`] prints a trace as C, [`cuda`] as a CUDA kernel.

pub mod c;
pub mod cuda;
mod functions;
mod kinds;
mod op;
mod pruned;
mod recorded;
mod schedule;
mod tape;
#[cfg(test)]
pub mod tests;
mod trace;

pub use recorded::Recorded;
pub use trace::{Row, Trace};

use op::Id;
use pruned::pruned;
use trace::Kind;

use super::lane::{Precision, Real};
use super::order::Order;
use super::rows::{Output, Part};

/// The recording counterpart of a lane of worlds: the working memory that a program's stages read and write while they
/// are recorded.
pub struct Recorder {
    /// One recorded number for each number of the program's working memory.
    memory: Vec<Recorded>,
}

impl Recorder {
    /// Records one stage of a program: `run` gets the working memory, and its operations are filed under the name of
    /// the stage's type.
    pub(super) fn stage<S>(&mut self, _: &S, run: impl FnOnce(&mut [Recorded])) {
        let path = std::any::type_name::<S>();
        let path = path.split('<').next().unwrap_or(path);
        let name = path.rsplit("::").next().unwrap_or(path);
        recorded::with(|tape| tape.stage(name));
        run(&mut self.memory);
    }

    /// Records a loop over time steps. The body is recorded as one step. Memory that one step writes and a later step
    /// reads becomes a loop variable. Results that the body writes count as results of that step.
    pub(super) fn each(&mut self, order: Order, out: &mut Output, mut body: impl FnMut(&mut Self, &mut Output)) {
        let before = self.nodes();
        let kept: Vec<Vec<f64>> = out.parts.iter().map(|part| part.data.to_vec()).collect();
        let mut carried = vec![true; before.len()];
        let start = recorded::with(|tape| tape.mark());
        for pass in 1.. {
            let (region, variables) = recorded::with(|tape| tape.open_loop(Kind::Time { order }, &before, &carried));
            self.put(&variables);
            out.parts.iter_mut().for_each(|part| part.data.fill(f64::NAN));
            body(self, out);
            let end = self.nodes();
            recorded::with(|tape| tape.close_loop(region, &end, &carried));
            self.put(&variables);
            let changed = recorded::with(|tape| tape.changed(region, &carried));
            if changed == carried || !recorded::with(|tape| tape.check_passes(pass)) {
                break;
            }
            carried = changed;
            recorded::with(|tape| tape.back(start));
        }
        let mut of_step = Vec::new();
        for (part, kept) in out.parts.iter_mut().zip(kept) {
            for (node, kept) in part.data.iter_mut().zip(kept) {
                of_step.push(!node.is_nan());
                if node.is_nan() {
                    *node = kept;
                }
            }
        }
        recorded::with(|tape| tape.of_step = of_step);
    }

    /// The tape node in each place of the working memory.
    fn nodes(&self) -> Vec<Id> {
        self.memory.iter().map(|x| x.id()).collect()
    }

    /// Replaces the numbers in the working memory by those of the given tape nodes.
    fn put(&mut self, nodes: &[Id]) {
        self.memory.iter_mut().zip(nodes).for_each(|(x, &id)| *x = Recorded::of(id));
    }
}

/// Numbers `first`, `first + 1`, …: the row of an operand while a program is recorded. Each number is its own index
/// among all operands.
pub fn places(first: usize, n: usize) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "places in rows")]
    (first..first + n).map(|place| place as f64).collect()
}

/// Records `run` on a working memory of `scratch` numbers and returns the trace. The public way to it is
/// [`record`](super::program::record).
pub(super) fn record_run(
    scratch: usize,
    precision: Precision,
    operands: Vec<Row>,
    results: Vec<Row>,
    run: impl FnOnce(&mut Recorder, &mut Output),
) -> Result<Trace, String> {
    drop(recorded::replace(precision));
    recorded::with(|tape| tape.operands.clone_from(&operands));
    let memory = vec![Recorded::zero(); scratch];
    // Results that nobody writes are zero.
    let zero = Recorded::zero().id();
    let mut data: Vec<Vec<f64>> = results.iter().map(|row| vec![f64::from(zero); row.width]).collect();
    let parts = data.iter_mut().zip(&results).map(|(data, row)| Part { data, width: row.width }).collect();
    let mut out = Output::new(0..1, parts);
    run(&mut Recorder { memory }, &mut out);
    let tape = recorded::replace(Precision::Double);
    match tape.failure {
        Some(failure) => Err(failure),
        None => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nodes of the tape")]
            let outputs = data.into_iter().flatten().map(|node| node as u32).collect();
            Ok(pruned(tape, results, outputs))
        }
    }
}
