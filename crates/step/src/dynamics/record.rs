//! The dynamics and their adjoints as programs on rows of numbers: recorded, or run in lanes.

use candle_core::{Result, bail};

use super::op::DynamicsOp;
use super::{Dynamics, Quantity};
use crate::tensor::operation::{Differentiable, Signature};
use crate::tensor::rows::from_tensor;
use fingertip_lanes::lane::{InstructionSet, Precision};
use fingertip_lanes::program::{Program, record, run_parts_on};
use fingertip_lanes::record::{Row, Trace, places};
use fingertip_lanes::rows::Rows;

/// A program of the dynamics. It reads q, the other inputs of its quantity, gravity, the inertias of
/// [`Dynamics::bodies`] and the offsets of all bodies, as [`Dynamics::rows_of`] lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// The quantity at q.
    Value(Quantity),
    /// (operands, gradient of the quantity) → gradients of all operands. The gradient with respect to q has nq numbers,
    /// four of them for each quaternion. Derivatives and pivots have no adjoint.
    Adjoint(Quantity),
}

impl Kernel {
    /// All kernels except the pivots: values, derivatives, adjoints.
    pub const ALL: [Self; 18] = [
        Self::Value(Quantity::MassMatrix),
        Self::Value(Quantity::InverseMassMatrix),
        Self::Value(Quantity::InverseDynamics),
        Self::Value(Quantity::Bias),
        Self::Value(Quantity::Gravity),
        Self::Value(Quantity::ForwardDynamics),
        Self::Value(Quantity::Energy),
        Self::Value(Quantity::CentreOfMass),
        Self::Value(Quantity::InverseDynamicsDerivatives),
        Self::Value(Quantity::ForwardDynamicsDerivatives),
        Self::Adjoint(Quantity::MassMatrix),
        Self::Adjoint(Quantity::InverseMassMatrix),
        Self::Adjoint(Quantity::InverseDynamics),
        Self::Adjoint(Quantity::Bias),
        Self::Adjoint(Quantity::Gravity),
        Self::Adjoint(Quantity::ForwardDynamics),
        Self::Adjoint(Quantity::Energy),
        Self::Adjoint(Quantity::CentreOfMass),
    ];

    /// The kernel's name in printed code: that of the quantity, with `_adjoint` appended for an adjoint.
    pub fn name(self) -> String {
        match self {
            Self::Value(quantity) => quantity.name().to_owned(),
            Self::Adjoint(quantity) => format!("{}_adjoint", quantity.name()),
        }
    }

    /// The quantity whose value or adjoint this kernel computes.
    pub fn quantity(self) -> Quantity {
        let (Self::Value(quantity) | Self::Adjoint(quantity)) = self;
        quantity
    }
}

/// Names of a quantity's rows: the inputs that it reads behind q, and its outputs.
struct Names {
    inputs: &'static [&'static str],
    outputs: &'static [&'static str],
}

impl Quantity {
    fn names(self) -> Names {
        let (inputs, outputs): (&[_], &[_]) = match self {
            Self::InverseDynamics => (&["v", "a"], &["tau"]),
            Self::Bias => (&["v"], &["tau"]),
            Self::Gravity => (&[], &["tau"]),
            Self::ForwardDynamics => (&["v", "tau"], &["a"]),
            Self::MassMatrix => (&[], &["m"]),
            Self::InverseMassMatrix => (&[], &["m_inverse"]),
            Self::Energy => (&["v"], &["energy"]),
            Self::CentreOfMass => (&[], &["centre"]),
            Self::InverseDynamicsDerivatives => (&["v", "a"], &["tau", "tau_by_q", "tau_by_v", "m"]),
            Self::ForwardDynamicsDerivatives => (&["v", "tau"], &["a", "a_by_q", "a_by_v", "m_inverse"]),
        };
        Names { inputs, outputs }
    }

    fn has_adjoint(self) -> bool {
        !matches!(self, Self::InverseDynamicsDerivatives | Self::ForwardDynamicsDerivatives)
    }

    /// Does the quantity need M⁻¹?
    fn divides_by_mass(self) -> bool {
        matches!(self, Self::InverseMassMatrix | Self::ForwardDynamics | Self::ForwardDynamicsDerivatives)
    }
}

impl Dynamics {
    /// A program as the list of its operations: see [`Trace`]. Gravity, inertias and offsets are operands. Recordings
    /// may also be in single precision, in which lanes do not run.
    ///
    /// # Errors
    /// As [`Dynamics::rows_of`].
    pub fn record(&self, kernel: Kernel, precision: Precision) -> Result<Trace> {
        let [operands, results] = self.rows_of(kernel)?;
        let data = places(0, operands.iter().map(|row| row.width).sum());
        self.with_program(kernel, &data, |program| record(program, precision, operands, results))
            .or_else(|reason| bail!("record: these dynamics cannot be recorded: {reason}"))
    }

    /// The rows of numbers that a program reads and writes.
    ///
    /// # Errors
    /// If the program needs M⁻¹ and a joint moves no mass (the message names it), or if a quantity has no adjoint.
    pub fn rows_of(&self, kernel: Kernel) -> Result<[Vec<Row>; 2]> {
        let (links, quantity) = (&self.links, kernel.quantity());
        if quantity.divides_by_mass() {
            self.all_heavy()?;
        }
        let Names { inputs, outputs } = quantity.names();
        let mut operands = vec![Row::new("q", links.nq)];
        operands.extend(inputs.iter().map(|name| Row::new(name, links.nv)));
        operands.extend(self.constants()?.map(|(row, _)| row));
        let matrices = outputs.len() - 1;
        let first = quantity.n_outputs(links) - matrices * links.nv * links.nv;
        let widths = std::iter::once(first).chain(std::iter::repeat(links.nv * links.nv));
        let results: Vec<Row> = outputs.iter().zip(widths).map(|(name, width)| Row::new(name, width)).collect();
        match kernel {
            Kernel::Value(_) => Ok([operands, results]),
            Kernel::Adjoint(_) if !quantity.has_adjoint() => {
                bail!("{}: expected a quantity that has a gradient, got {}", kernel.name(), quantity.name())
            }
            Kernel::Adjoint(_) => {
                let gradients = operands.iter().map(|row| Row { name: gradient_name(row.name), ..*row }).collect();
                operands.extend(results.iter().map(|row| Row { name: "grad", ..*row }));
                Ok([operands, gradients])
            }
        }
    }

    /// The results of a program on plain numbers of one world, with the rows that [`Dynamics::rows_of`] lists. It runs
    /// in a lane of one world with fused multiply-adds. None if this processor or this build has no such lane.
    ///
    /// # Errors
    /// As [`Dynamics::rows_of`], and if a row has a wrong length.
    pub fn run_kernel(&self, kernel: Kernel, operands: &[Vec<f64>]) -> Result<Option<Vec<f64>>> {
        let [rows, results] = self.rows_of(kernel)?;
        let (expected, got): (Vec<_>, Vec<_>) =
            (rows.iter().map(|row| row.width).collect(), operands.iter().map(Vec::len).collect());
        if expected != got {
            bail!("{}: expected operands of {expected:?} numbers, got {got:?}", kernel.name());
        }
        let set = InstructionSet::Fma;
        if !set.is_available() {
            return Ok(None);
        }
        let width = results.iter().map(|row| row.width).sum();
        let [data] =
            self.with_program(kernel, &operands.concat(), |program| run_parts_on(set.into(), program, 1, [width]));
        Ok(Some(data))
    }

    /// The operands that are no state: gravity, inertias and offsets, each as a row and with the numbers that the
    /// dynamics have, those of the first world if there are many.
    ///
    /// # Errors
    /// If a tensor operation fails.
    pub fn constants(&self) -> Result<[(Row, Vec<f64>); 3]> {
        let of = |name, tensor| {
            let numbers = from_tensor(tensor)?.row(0).to_vec();
            Ok::<_, candle_core::Error>((Row::new(name, numbers.len()), numbers))
        };
        Ok([of("gravity_vector", &self.gravity)?, of("inertias", &self.inertias)?, of("offsets", &self.offsets)?])
    }

    /// The lengths nq of q and nv of v.
    pub fn dimensions(&self) -> [usize; 2] {
        [self.links.nq, self.links.nv]
    }

    /// All bodies' names, the world's first: the order of [`Dynamics::offsets`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Calls `f` with a program on one world's operands, row after row.
    fn with_program<T>(&self, kernel: Kernel, data: &[f64], f: impl FnOnce(&dyn Program) -> T) -> T {
        let op = DynamicsOp { links: self.links.clone(), quantity: kernel.quantity() };
        let mut end = 0;
        let mut row = |width: usize| {
            end += width;
            Rows::from_slice(&data[end - width..end], 1, width)
        };
        let Signature { operands, width, .. } = op.signature();
        let operands = operands.map(|(_, width)| row(width));
        match kernel {
            Kernel::Value(_) => f(&op.forward(operands, false)),
            Kernel::Adjoint(_) => f(&op.backward(operands, row(width))),
        }
    }
}

/// The name of the row with the gradient of an operand.
fn gradient_name(operand: &str) -> &'static str {
    match operand {
        "q" => "grad_q",
        "v" => "grad_v",
        "a" => "grad_a",
        "tau" => "grad_tau",
        "gravity_vector" => "grad_gravity_vector",
        "inertias" => "grad_inertias",
        _ => "grad_offsets",
    }
}
