//! The step, its adjoint and its Jacobians as programs on rows of numbers: recorded, or run in lanes.

use candle_core::{Result, bail};

use crate::contact::kernels::Method;
use crate::description::Friction;
use crate::math::lane::{Arithmetic, InstructionSet, Precision};
use crate::math::program::{Program, run_parts_on};
use crate::math::record::{Row, Trace, places, record};
use crate::math::rows::Rows;
use crate::solve::INFO;

use super::jacobian::Linearize;
use super::memory::{GEOMETRY, TURNING};
use super::plan::Plan;
use super::rollout::backward::{self, Cost};
use super::rollout::forward;
use super::stages::Operands;
use super::step_op::{Backward, Forward};

/// A program of the step. The second-order step has [`Kernel::SECOND_ORDER`] of them, with v and τ in the place of u.
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
    /// (q₀, u₀ … u_T₋₁, parameters) → q₀ … q_T, contact forces, limit forces and reports of T steps.
    Rollout,
    /// (q₀ … q_T, u₀ … u_T₋₁, parameters, forces, limit forces, reports, gradient of q₀ … q_T) → gradients of q₀, u and the
    /// parameters.
    RolloutAdjoint,
    /// (…, gradient of the contact forces) → gradients of each state, u and the parameters by the forces alone: those of the
    /// states go on to [`Kernel::RolloutAdjoint`].
    RolloutForceAdjoint,
}

impl Kernel {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Step,
        Self::WarmStep,
        Self::Adjoint,
        Self::Jacobians,
        Self::WarmJacobians,
        Self::Rollout,
        Self::RolloutAdjoint,
        Self::RolloutForceAdjoint,
    ];

    /// Those that [`Dynamic`](crate::step::Dynamic) has.
    pub const SECOND_ORDER: [Self; 3] = [Self::Step, Self::WarmStep, Self::Adjoint];

    /// Its name in printed code.
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::WarmStep => "step_from",
            Self::Adjoint => "adjoint",
            Self::Jacobians => "jacobians",
            Self::WarmJacobians => "jacobians_from",
            Self::Rollout => "rollout",
            Self::RolloutAdjoint => "rollout_adjoint",
            Self::RolloutForceAdjoint => "rollout_force_adjoint",
        }
    }

    /// Has it rows of many steps?
    pub fn has_steps(self) -> bool {
        matches!(self, Self::Rollout | Self::RolloutAdjoint | Self::RolloutForceAdjoint)
    }

    /// The precision that it has of the two that may be asked for: adjoints and Jacobians know the double one alone.
    pub fn precision(self, wanted: Precision) -> Precision {
        match self {
            Self::Step | Self::WarmStep | Self::Rollout => wanted,
            Self::Adjoint
            | Self::Jacobians
            | Self::WarmJacobians
            | Self::RolloutAdjoint
            | Self::RolloutForceAdjoint => Precision::Double,
        }
    }
}

impl Plan {
    /// What a kernel computes of so many worlds and steps: in lanes, by its program, or natively, of the rows that
    /// [`Plan::operand_rows`] says.
    ///
    /// # Errors
    /// If it is to be compiled, and cannot be.
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
            return Ok(native.function(self, kernel, arithmetic.precision)?.run(n_steps, rows, worlds));
        }
        Ok(run_parts_on(arithmetic, program, worlds, widths))
    }

    /// The rows that a program reads.
    fn operand_rows(&self, kernel: Kernel) -> Vec<Row> {
        let mut rows = vec![Row::new("q", self.nq)];
        match self.second_order {
            None => rows.push(Row::new("u", self.nu)),
            Some(_) => rows.extend(["v", "tau"].map(|name| Row::new(name, self.structure.nv))),
        }
        rows.push(Row::new("par", self.at.n));
        match kernel {
            Kernel::Step | Kernel::Jacobians => {}
            Kernel::WarmStep | Kernel::WarmJacobians => rows.push(Row::new("warm", self.structure.n_eta())),
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

    /// What a rollout writes.
    fn rollout_rows(&self) -> [Row; 4] {
        let s = &self.structure;
        let of_step = |name, width| Row { name, width, step: width };
        let states = Row { name: "states", width: 2 * self.nq, step: self.nq };
        [states, of_step("force", self.n_forces()), of_step("limit_force", s.nl()), of_step("info", INFO)]
    }

    /// What the row of a step consists of.
    pub(in super::super) fn row_parts(&self) -> Vec<Row> {
        let s = &self.structure;
        let parts = [
            ("q_next", self.nq),
            ("delta", s.nv),
            ("v_next", self.n_velocities()),
            ("force", 3 * self.nc),
            ("turning", TURNING * self.n_turning()),
            ("limit_force", s.nl()),
            ("contact", GEOMETRY * self.nc),
            ("share", self.n_shares()),
            ("warm", s.n_eta()),
            ("status", 1),
            ("iterations", 1),
            ("residual", 1),
            ("slip_gap", 1),
        ];
        let is_there = |name: &str, width: usize| width > 0 || !["v_next", "turning", "share"].contains(&name);
        let there = parts.into_iter().filter(|&(name, width)| is_there(name, width));
        there.map(|(name, width)| Row::new(name, width)).collect()
    }

    /// The rows that it writes.
    pub(super) fn result_rows(&self, kernel: Kernel) -> Vec<Row> {
        let row = |(name, width)| Row::new(name, width);
        match kernel {
            Kernel::Step | Kernel::WarmStep => vec![row(("row", self.n_row()))],
            Kernel::Adjoint => vec![row(("gradient", self.n_gradient()))],
            Kernel::Jacobians | Kernel::WarmJacobians => {
                let names = ["row", "a", "b", "c", "d", "growth"];
                names.into_iter().zip(self.jacobian_widths(true)).map(row).collect()
            }
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

    /// Calls `f` with a program on one world's operands.
    fn with_program<T>(
        &self,
        kernel: Kernel,
        n_steps: usize,
        data: &[Vec<f64>],
        f: impl FnOnce(&dyn Program) -> T,
    ) -> T {
        let merged;
        let data = match (&self.second_order, data) {
            (Some(_), [q, v, tau, rest @ ..]) => {
                merged = [&[q.clone(), [&v[..], tau].concat()], rest].concat();
                &merged
            }
            _ => data,
        };
        let row = |k: usize| Rows::from_slice(&data[k], 1, data[k].len());
        let warm = matches!(kernel, Kernel::WarmStep | Kernel::WarmJacobians).then(|| row(3));
        let operands = Operands { q: row(0), u: row(1), par: row(2), warm };
        match kernel {
            Kernel::Step | Kernel::WarmStep => f(&Forward { plan: self, operands: &operands }),
            Kernel::Adjoint => f(&Backward { plan: self, operands, result: row(3), grad: row(4) }),
            Kernel::Jacobians | Kernel::WarmJacobians => f(&Linearize { plan: self, operands, forces: true }),
            Kernel::Rollout => f(&forward::Forward { plan: self, operands: &operands, n_steps }),
            Kernel::RolloutAdjoint | Kernel::RolloutForceAdjoint => f(&backward::Backward {
                forward: forward::Forward { plan: self, operands: &operands, n_steps },
                states: row(0),
                force: row(3),
                limit_force: row(4),
                info: row(5),
                cost: if kernel == Kernel::RolloutAdjoint { Cost::States } else { Cost::Forces },
                grad: row(6),
            }),
        }
    }

    /// Can all pairs be recorded?
    ///
    /// # Errors
    /// If the contacts of a pair come from a query that branches as it likes, as of all pairs without a formula but boxes; the
    /// message names the pair, by a contact's names.
    pub(in super::super) fn check_pairs<'a>(&self, names: impl Fn(usize) -> (&'a str, &'a str)) -> Result<()> {
        let Some(pair) =
            self.pairs.pairs.iter().find(|pair| matches!(&pair.method, Method::Convex(pair, _) if !pair.are_boxes()))
        else {
            return Ok(());
        };
        let (a, b) = names(pair.first);
        bail!(
            "record: expected pairs whose contacts have a formula, got \"{a}\" and \"{b}\", whose closest points are \
             searched for; exclude the pair or give them other shapes"
        )
    }

    /// A program as a trace.
    ///
    /// # Errors
    /// If the contacts of a pair come from a query that branches as it likes, as of all pairs without a formula but boxes; the
    /// message names the pair, by a contact's names.
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
        self.with_program(kernel, 1, &data, |program| {
            record(program, kernel.precision(precision), operands, self.result_rows(kernel))
        })
        .or_else(|reason| bail!("record: this step cannot be recorded: {reason}"))
    }

    /// The rows of numbers that a program reads and writes.
    pub(in super::super) fn rows_of(&self, kernel: Kernel) -> [Vec<Row>; 2] {
        [self.operand_rows(kernel), self.result_rows(kernel)]
    }

    /// What a program computes of so many steps in the narrowest lanes with fused multiply-adds, row after row; nothing where this
    /// processor or this build has none of that precision.
    ///
    /// # Errors
    /// If a row is of another length than [`Plan::rows_of`] says, or there is no step.
    pub(in super::super) fn run(
        &self,
        kernel: Kernel,
        precision: Precision,
        n_steps: usize,
        operands: &[Vec<f64>],
    ) -> Result<Option<Vec<f64>>> {
        if n_steps == 0 {
            bail!("{}: expected one step or more, got none", kernel.name());
        }
        let [rows, _] = self.rows_of(kernel);
        let (expected, got): (Vec<_>, Vec<_>) =
            (rows.iter().map(|row| row.length(n_steps)).collect(), operands.iter().map(Vec::len).collect());
        if expected != got {
            bail!("{}: expected operands of {expected:?} numbers, got {got:?}", kernel.name());
        }
        let precision = kernel.precision(precision);
        let arithmetic = Arithmetic::new(InstructionSet::Fma, precision);
        let has_lanes = self.second_order.is_none() || precision == Precision::Double;
        if !has_lanes || !arithmetic.set.is_available() || arithmetic.precision != precision {
            return Ok(None);
        }
        let widths: Vec<usize> = self.result_rows(kernel).iter().map(|row| row.length(n_steps)).collect();
        let mut all = [0; 6];
        all[..widths.len()].copy_from_slice(&widths);
        let parts = self.with_program(kernel, n_steps, operands, |program| run_parts_on(arithmetic, program, 1, all));
        Ok(Some(parts.concat()))
    }
}
