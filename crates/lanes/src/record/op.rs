//! The nodes of a tape: operations, and the constants, inputs and variables that they work on.

use crate::lane::{Number, Precision};

/// The index of a node on its tape.
pub type Id = u32;

/// The operation of a node, or for a node without arguments the source of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// A constant number, stored in [`Node::bits`].
    Constant,
    /// A constant flag: set if [`Node::bits`] is not 0.
    Flag,
    /// A number of the operands; [`Node::bits`] is its index among all operands.
    Input,
    /// A number of the operands that has another value in each time step. [`Node::bits`] is the index that it has in
    /// the first step.
    InputOfStep,
    /// A number that a branch or a loop sets: see [`Variable`](super::trace::Variable).
    Variable,
    /// A flag that a branch or a loop sets.
    FlagVariable,
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    /// a · b + c, rounded once.
    Fma,
    Sqrt,
    Sin,
    Cos,
    Ln,
    /// The angle of the point (b, a).
    Atan2,
    Abs,
    /// a < b ? a : b.
    Min,
    /// a > b ? a : b.
    Max,
    /// The flag a < b; false if either is NaN.
    Lt,
    /// a ? b : c, where a is a flag and b and c are numbers.
    Select,
    And,
    Or,
    Not,
    /// Converts from single to double precision.
    Widen,
    /// Converts from double to single precision.
    Narrow,
}

impl Op {
    /// Is the result of this operation a flag rather than a number?
    pub fn is_flag(self) -> bool {
        matches!(self, Self::Flag | Self::FlagVariable | Self::Lt | Self::And | Self::Or | Self::Not)
    }

    /// Is this a constant or an input? Printed code repeats these wherever they are used, and keeps no variable for
    /// them.
    pub fn is_given(self) -> bool {
        matches!(self, Self::Constant | Self::Flag | Self::Input | Self::InputOfStep)
    }

    /// Does this operation compute something from arguments? Constants, inputs and variables do not.
    pub fn is_computed(self) -> bool {
        self.arity() > 0
    }

    /// The number of arguments of this operation, 0 to 3.
    pub fn arity(self) -> usize {
        match self {
            Self::Constant | Self::Flag | Self::Input | Self::InputOfStep | Self::Variable | Self::FlagVariable => 0,
            Self::Neg
            | Self::Sqrt
            | Self::Sin
            | Self::Cos
            | Self::Ln
            | Self::Abs
            | Self::Not
            | Self::Widen
            | Self::Narrow => 1,
            Self::Fma | Self::Select => 3,
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Div
            | Self::Atan2
            | Self::Min
            | Self::Max
            | Self::Lt
            | Self::And
            | Self::Or => 2,
        }
    }

    /// Evaluates the operation in the given precision. Flags among the arguments and the result are 0 or 1.
    pub(super) fn value(self, precision: Precision, arguments: [f64; 3]) -> f64 {
        match precision {
            Precision::Double => self.value_of::<f64>(arguments),
            Precision::Single => self.value_of::<f32>(arguments),
        }
    }

    /// [`Op::value`] for one number type.
    fn value_of<N: Number>(self, arguments: [f64; 3]) -> f64 {
        let [a, b, c] = arguments.map(N::of);
        let flag = |flag: bool| N::of(f64::from(u8::from(flag)));
        let is_set = |x: N| x.value() != 0.0;
        let result = match self {
            Self::Constant
            | Self::Flag
            | Self::Input
            | Self::InputOfStep
            | Self::Variable
            | Self::FlagVariable
            | Self::Widen => a,
            Self::Narrow => return f32::of(arguments[0]).value(),
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Neg => -a,
            Self::Fma => a.fused(b, c),
            Self::Sqrt => a.sqrt(),
            Self::Sin => a.sin_cos().0,
            Self::Cos => a.sin_cos().1,
            Self::Ln => a.ln(),
            Self::Atan2 => a.atan2(b),
            Self::Abs => a.abs(),
            Self::Min => {
                if a < b {
                    a
                } else {
                    b
                }
            }
            Self::Max => {
                if a > b {
                    a
                } else {
                    b
                }
            }
            Self::Lt => flag(a < b),
            Self::Select => {
                if is_set(a) {
                    b
                } else {
                    c
                }
            }
            Self::And => flag(is_set(a) && is_set(b)),
            Self::Or => flag(is_set(a) || is_set(b)),
            Self::Not => flag(!is_set(a)),
        };
        result.value()
    }
}

/// A node of a tape: an operation with its arguments, or a constant, input or variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The operation, or the source of the number.
    pub op: Op,
    /// The precision of the result; for an operation that gives a flag, the precision of the numbers that it compares.
    pub precision: Precision,
    /// The argument nodes: the first [`Op::arity`] entries count, the rest are 0.
    pub arguments: [Id; 3],
    /// The bits of a constant or flag (a constant's as `f64`), the index of an input, or a unique number for each
    /// variable.
    pub bits: u64,
}

impl Node {
    /// The nodes that this operation takes as arguments.
    pub fn arguments(&self) -> &[Id] {
        &self.arguments[..self.op.arity()]
    }

    /// The value of a constant node, else `None`.
    pub fn constant(&self) -> Option<f64> {
        (self.op == Op::Constant).then(|| f64::from_bits(self.bits))
    }

    /// The value of a constant flag node, else `None`.
    pub fn flag(&self) -> Option<bool> {
        (self.op == Op::Flag).then_some(self.bits != 0)
    }
}

impl Precision {
    /// Rounds x to the nearest number of this precision.
    pub fn rounded(self, x: f64) -> f64 {
        match self {
            Self::Double => x,
            Self::Single => f32::of(x).value(),
        }
    }
}
