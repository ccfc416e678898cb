//! The step, its adjoint and its Jacobians as programs on rows of numbers: recorded, or run in lanes.

use candle_core::{Result, bail};

use crate::description::Friction;
use crate::math::lane::{Arithmetic, InstructionSet, Precision};
use crate::math::program::{Program, run_parts_on};
use crate::math::record::{Row, Trace, places, record};
use crate::math::rows::Rows;

use super::jacobian::Linearize;
use super::memory::GEOMETRY;
use super::plan::{Method, Plan};
use super::stages::Operands;
use super::step_op::{Backward, Forward};

/// A program of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// (q, u, parameters) → the step's row.
    Step,
    /// (q, u, parameters, forces) → the same, with the solve started at given forces.
    WarmStep,
    /// (q, u, parameters, the step's row, gradient of its results) → gradients of q, u and the parameters.
    Adjoint,
    /// (q, u, parameters) → the step's row, A, B, C, D, the growth of H's factor.
    Jacobians,
    /// (q, u, parameters, forces) → the same, with the solve started at given forces.
    WarmJacobians,
}

impl Kernel {
    /// Those that may be printed for others.
    pub const ALL: [Self; 4] = [Self::Step, Self::WarmStep, Self::Adjoint, Self::Jacobians];

    /// Its name in printed code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::WarmStep => "step_from",
            Self::Adjoint => "adjoint",
            Self::Jacobians => "jacobians",
            Self::WarmJacobians => "jacobians_from",
        }
    }

    /// The precision that it has of the two that may be asked for: the adjoint and the Jacobians know the double one alone.
    pub fn precision(self, wanted: Precision) -> Precision {
        match self {
            Self::Step | Self::WarmStep => wanted,
            Self::Adjoint | Self::Jacobians | Self::WarmJacobians => Precision::Double,
        }
    }
}

impl Plan {
    /// The rows that a program reads.
    pub(in super::super) fn operand_rows(&self, kernel: Kernel) -> Vec<Row> {
        let row = |name, width| Row { name, width };
        let mut rows = vec![row("q", self.nq), row("u", self.nu), row("par", self.at.n)];
        match kernel {
            Kernel::Step | Kernel::Jacobians => {}
            Kernel::WarmStep | Kernel::WarmJacobians => rows.push(row("warm", self.structure.n_eta())),
            Kernel::Adjoint => rows.extend([row("row", self.n_row()), row("grad", self.n_results())]),
        }
        rows
    }

    /// What the row of a step consists of, in a scene whose pairs all have a formula.
    pub(in super::super) fn row_parts(&self) -> Vec<Row> {
        let s = &self.structure;
        let parts = [
            ("q_next", self.nq),
            ("delta", s.nv),
            ("force", 3 * s.nc()),
            ("limit_force", s.nl()),
            ("contact", GEOMETRY * s.nc()),
            ("warm", s.n_eta()),
            ("status", 1),
            ("iterations", 1),
            ("residual", 1),
        ];
        parts.map(|(name, width)| Row { name, width }).to_vec()
    }

    /// The rows that it writes.
    pub(in super::super) fn result_rows(&self, kernel: Kernel) -> Vec<Row> {
        let row = |(name, width)| Row { name, width };
        match kernel {
            Kernel::Step | Kernel::WarmStep => vec![row(("row", self.n_row()))],
            Kernel::Adjoint => vec![row(("gradient", self.n_gradient()))],
            Kernel::Jacobians | Kernel::WarmJacobians => {
                let names = ["row", "a", "b", "c", "d", "growth"];
                names.into_iter().zip(self.jacobian_widths(true)).map(row).collect()
            }
        }
    }

    /// Calls `f` with a program on one world's operands.
    fn with_program<T>(&self, kernel: Kernel, data: &[Vec<f64>], f: impl FnOnce(&dyn Program) -> T) -> T {
        let row = |k: usize| Rows::from_slice(&data[k], 1, data[k].len());
        let warm = matches!(kernel, Kernel::WarmStep | Kernel::WarmJacobians).then(|| row(3));
        let operands = Operands { q: row(0), u: row(1), par: row(2), warm };
        match kernel {
            Kernel::Step | Kernel::WarmStep => f(&Forward { plan: self, operands: &operands }),
            Kernel::Adjoint => f(&Backward { plan: self, operands, result: row(3), grad: row(4) }),
            Kernel::Jacobians | Kernel::WarmJacobians => f(&Linearize { plan: self, operands, forces: true }),
        }
    }

    /// Can all pairs be recorded?
    ///
    /// # Errors
    /// If the contacts of a pair come from a query that branches as it likes; the message names the pair, by a contact's names.
    pub(in super::super) fn check_pairs<'a>(&self, names: impl Fn(usize) -> (&'a str, &'a str)) -> Result<()> {
        let Some(pair) = self.pairs.iter().find(|pair| matches!(pair.method, Method::Convex(..))) else { return Ok(()) };
        let (a, b) = names(pair.first);
        bail!(
            "record: expected pairs whose contacts have a formula, got \"{a}\" and \"{b}\", whose closest points are \
             searched for; exclude the pair or give them other shapes"
        )
    }

    /// A program as a trace.
    ///
    /// # Errors
    /// If the contacts of a pair come from a query that branches as it likes; the message names the pair, by a contact's names.
    pub(in super::super) fn record<'a>(
        &self,
        kernel: Kernel,
        precision: Precision,
        names: impl Fn(usize) -> (&'a str, &'a str),
    ) -> Result<Trace> {
        self.check_pairs(names)?;
        if kernel.precision(precision) == Precision::Single && self.structure.friction == Friction::Coulomb {
            bail!("record: expected double precision, got single: Coulomb's law asks for it");
        }
        let operands = self.operand_rows(kernel);
        let mut first = 0;
        let data: Vec<Vec<f64>> = operands
            .iter()
            .map(|row| {
                first += row.width;
                places(first - row.width, row.width)
            })
            .collect();
        self.with_program(kernel, &data, |program| {
            record(program, kernel.precision(precision), operands, self.result_rows(kernel))
        })
        .or_else(|reason| bail!("record: this step cannot be recorded: {reason}"))
    }

    /// What a program computes in lanes of one world with fused multiply-adds, row after row; nothing where this processor or
    /// this build has none of that precision.
    pub(in super::super) fn run(
        &self,
        kernel: Kernel,
        precision: Precision,
        operands: &[Vec<f64>],
    ) -> Option<Vec<f64>> {
        let precision = kernel.precision(precision);
        let arithmetic = Arithmetic { set: InstructionSet::Fma, precision };
        if !arithmetic.set.is_available() || (cfg!(feature = "narrow") && precision == Precision::Single) {
            return None;
        }
        let widths: Vec<usize> = self.result_rows(kernel).iter().map(|row| row.width).collect();
        let mut all = [0; 6];
        all[..widths.len()].copy_from_slice(&widths);
        let parts = self.with_program(kernel, operands, |program| run_parts_on(arithmetic, program, 1, all));
        Some(parts.concat())
    }
}
