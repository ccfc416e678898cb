//! Running a kernel, and the rows of numbers that it reads and writes.

use candle_core::Result;

use fingertip_lanes::lane::Arithmetic;
use fingertip_lanes::program::{Program, run_parts_on};
use fingertip_lanes::record::Row;
use fingertip_lanes::rows::Rows;

use super::kernel::Kernel;
use super::plan::Plan;

impl Plan {
    /// Runs a kernel on so many worlds and steps and gives its result rows. It runs `program` in lanes, or the compiled
    /// native kernel on the rows that [`Plan::operand_rows`] lists.
    ///
    /// # Errors
    /// If the kernel is to be compiled natively, and cannot be.
    #[cfg_attr(not(feature = "native"), allow(clippy::unnecessary_wraps, unused_variables))]
    pub(super) fn run_kernel<P: Program, const N: usize>(
        &self,
        kernel: Kernel,
        arithmetic: Arithmetic,
        program: &P,
        rows: &[&Rows],
        (worlds, n_steps): (usize, usize),
        widths: [usize; N],
    ) -> Result<[Vec<f64>; N]> {
        #[cfg(feature = "native")]
        if let Some(native) = &self.native {
            return Ok(native.function(kernel, arithmetic.precision, worlds)?.run(n_steps, rows, worlds));
        }
        Ok(run_parts_on(arithmetic, program, worlds, widths))
    }

    /// The rows that a program reads.
    pub(super) fn operand_rows(&self, kernel: Kernel) -> Vec<Row> {
        let mut rows = vec![Row::new("q", self.nq)];
        rows.extend(self.equations.inputs(self));
        rows.push(Row::new("par", self.at.n));
        match kernel {
            Kernel::Step | Kernel::Jacobians => {}
            Kernel::WarmStep | Kernel::WarmJacobians | Kernel::Hold | Kernel::RoughHold => {
                rows.push(Row::new("warm", self.structure.n_eta()));
            }
            Kernel::Adjoint => rows.extend([Row::new("row", self.n_row()), Row::new("grad", self.n_results())]),
            Kernel::Rollout => rows[1].step = self.nu,
            Kernel::RolloutAdjoint | Kernel::RolloutForceAdjoint => {
                let [states, force, limit_force, info] = self.rollout_rows();
                let grad = if kernel == Kernel::RolloutAdjoint { states } else { force };
                rows[0] = states;
                rows[1].step = self.nu;
                rows.extend([force, limit_force, info, Row { name: "grad", ..grad }]);
            }
        }
        rows
    }

    /// The rows that a program writes.
    pub(super) fn result_rows(&self, kernel: Kernel) -> Vec<Row> {
        let row = |(name, width)| Row::new(name, width);
        match kernel {
            Kernel::Step | Kernel::WarmStep => vec![row(("row", self.n_row()))],
            Kernel::Adjoint => vec![row(("gradient", self.n_gradient()))],
            Kernel::Jacobians | Kernel::WarmJacobians => {
                let names = ["row", "a", "b", "c", "d", "growth"];
                names.into_iter().zip(self.jacobian_widths(true)).map(row).collect()
            }
            Kernel::Hold | Kernel::RoughHold => self.hold_rows().to_vec(),
            Kernel::Rollout => self.rollout_rows().to_vec(),
            Kernel::RolloutAdjoint | Kernel::RolloutForceAdjoint => {
                let first = match kernel {
                    Kernel::RolloutAdjoint => Row::new("grad_q", self.nq),
                    _ => Row { name: "grad_q", width: 2 * self.nq, step: self.nq },
                };
                vec![first, Row { name: "grad_u", width: self.nu, step: self.nu }, row(("grad_par", self.at.n))]
            }
        }
    }

    /// The rows of numbers that a program reads and writes.
    pub(in super::super) fn rows_of(&self, kernel: Kernel) -> [Vec<Row>; 2] {
        [self.operand_rows(kernel), self.result_rows(kernel)]
    }
}
