//! What a node of a tape does.

use crate::lane::{Number, Precision};

/// The place of a node on its tape.
pub type Id = u32;

/// An operation, or where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// The number with these bits.
    Constant,
    /// The flag that these bits are.
    Flag,
    /// The number in this place of the operands.
    Input,
    /// The same in a loop over time, of the step that the loop is at: the place is that of the first step.
    InputOfStep,
    /// What a branch or a loop leaves.
    Variable,
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
    Lt,
    Select,
    And,
    Or,
    Not,
    /// From single to double precision and back.
    Widen,
    Narrow,
}

impl Op {
    /// Does it give a flag?
    pub fn is_flag(self) -> bool {
        matches!(self, Self::Flag | Self::FlagVariable | Self::Lt | Self::And | Self::Or | Self::Not)
    }

    /// Is it written as it is wherever it is wanted, rather than kept?
    pub fn is_given(self) -> bool {
        matches!(self, Self::Constant | Self::Flag | Self::Input | Self::InputOfStep)
    }

    /// Is it computed, rather than given?
    pub fn is_computed(self) -> bool {
        self.arity() > 0
    }

    /// Arguments that it takes.
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

    /// Its result, of arguments that are numbers of a precision or flags, 0 and 1.
    pub(super) fn value(self, precision: Precision, arguments: [f64; 3]) -> f64 {
        match precision {
            Precision::Double => self.value_of::<f64>(arguments),
            Precision::Single => self.value_of::<f32>(arguments),
        }
    }

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

/// One operation on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    pub op: Op,
    /// Of its result if that is a number, else of what it compares.
    pub precision: Precision,
    /// As many as [`Op::arity`] says, zeros behind.
    pub arguments: [Id; 3],
    /// Of a constant or a flag; an input's place; what makes a variable unlike others.
    pub bits: u64,
}

impl Node {
    pub fn arguments(&self) -> &[Id] {
        &self.arguments[..self.op.arity()]
    }

    /// The number, if it is a constant.
    pub fn constant(&self) -> Option<f64> {
        (self.op == Op::Constant).then(|| f64::from_bits(self.bits))
    }

    /// The flag, if it is known.
    pub fn flag(&self) -> Option<bool> {
        (self.op == Op::Flag).then_some(self.bits != 0)
    }
}

impl Precision {
    /// The nearest number of this precision.
    pub fn rounded(self, x: f64) -> f64 {
        match self {
            Self::Double => x,
            Self::Single => f32::of(x).value(),
        }
    }
}
