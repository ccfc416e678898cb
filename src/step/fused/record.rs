//! The step, its adjoint and its Jacobians as recordings.

use candle_core::{Result, bail};

use crate::math::lane::Precision;
use crate::math::program::Program;
use crate::math::record::{Recording, Row, places, record};
use crate::math::rows::Rows;

use super::jacobian::Linearize;
use super::plan::{Method, Plan};
use super::stages::Operands;
use super::step_op::{Backward, Forward};

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// (q, u, parameters) → the step's row.
    Step,
    /// (q, u, parameters, warm) → the same, with the solve started at given forces.
    WarmStep,
    /// (q, u, parameters, the step's row, gradient of its results) → gradients of q, u and the parameters.
    Adjoint,
    /// (q, u, parameters) → the step's row, A, B, C, D, the growth of H's factor.
    Jacobians,
}

/// Operands whose numbers are the places that they have in the recording, one after the other.
struct Places {
    rows: Vec<Row>,
    data: Vec<Vec<f64>>,
}

impl Places {
    fn new(rows: &[(&'static str, usize)]) -> Self {
        let mut first = 0;
        let data = rows.iter().map(|&(_, width)| {
            first += width;
            places(first - width, width)
        });
        Self { data: data.collect(), rows: rows.iter().map(|&(name, width)| Row { name, width }).collect() }
    }

    fn row(&self, k: usize) -> Rows<'_> {
        Rows::from_slice(&self.data[k], 1, self.data[k].len())
    }

    fn operands(&self, warm: bool) -> Operands<'_> {
        Operands { q: self.row(0), u: self.row(1), par: self.row(2), warm: warm.then(|| self.row(3)) }
    }

    fn record(
        &self,
        program: &impl Program,
        precision: Precision,
        results: &[(&'static str, usize)],
    ) -> Result<Recording> {
        let results = results.iter().map(|&(name, width)| Row { name, width }).collect();
        record(program, precision, self.rows.clone(), results)
            .or_else(|reason| bail!("record: this step cannot be recorded: {reason}"))
    }
}

impl Plan {
    /// A recording of a program. The adjoint and the Jacobians are of double precision whatever is asked for, as in lanes.
    ///
    /// # Errors
    /// If the contacts of a pair come from a query that branches as it likes; the message names the pair, by a contact's names.
    pub(in super::super) fn record<'a>(
        &self,
        kernel: Kernel,
        precision: Precision,
        names: impl Fn(usize) -> (&'a str, &'a str),
    ) -> Result<Recording> {
        if let Some(pair) = self.pairs.iter().find(|pair| matches!(pair.method, Method::Convex(..))) {
            let (a, b) = names(pair.first);
            bail!(
                "record: expected pairs whose contacts have a formula, got \"{a}\" and \"{b}\", whose closest points are \
                 searched for; exclude the pair or give them other shapes"
            );
        }
        let mut operands = vec![("q", self.nq), ("u", self.nu), ("par", self.at.n)];
        let row = ("row", self.n_row());
        match kernel {
            Kernel::Step | Kernel::WarmStep => {
                let warm = kernel == Kernel::WarmStep;
                if warm {
                    operands.push(("warm", self.structure.n_eta()));
                }
                let places = Places::new(&operands);
                let program = Forward { plan: self, operands: &places.operands(warm) };
                places.record(&program, precision, &[row])
            }
            Kernel::Adjoint => {
                operands.extend([row, ("grad", self.n_results())]);
                let places = Places::new(&operands);
                let program = Backward {
                    plan: self,
                    operands: places.operands(false),
                    result: places.row(3),
                    grad: places.row(4),
                };
                let results = [("gradient", self.n_gradient())];
                places.record(&program, Precision::Double, &results)
            }
            Kernel::Jacobians => {
                let places = Places::new(&operands);
                let program = Linearize { plan: self, operands: places.operands(false), forces: true };
                let widths = self.jacobian_widths(true);
                let names = ["row", "a", "b", "c", "d", "growth"];
                let results: Vec<_> = names.into_iter().zip(widths).collect();
                places.record(&program, Precision::Double, &results)
            }
        }
    }
}
