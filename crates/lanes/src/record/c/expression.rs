//! Prints operations as C expressions, and the C names of numbers in rows and in working memory.

use crate::lane::Precision;

use super::super::functions::Pool;
use super::super::kinds::{Difference, Slot};
use super::super::op::{Id, Op};
use super::printer::{At, Printer, THREADS, Worlds};
use super::text::number_of;

/// The C type of a number of this precision.
pub fn number(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        Precision::Single => "float",
    }
}

impl Printer<'_> {
    /// The C index of a place in a row or in working memory. In a function merged with others, the index may include an
    /// offset per instance.
    pub(super) fn index(&self, place: usize, slot: Slot, at: At) -> String {
        let difference = match at {
            At::Function(function) => self.table(function).difference(slot),
            At::Driver => None,
        };
        match difference {
            Some(Difference::Offset(column)) => format!("{place} + offset[k][{column}]"),
            _ => place.to_string(),
        }
    }

    /// Must this constant be read from working memory here, as other functions of the same kind have a number in memory
    /// in its place?
    pub(super) fn is_in_memory(&self, id: Id, at: At) -> bool {
        match at {
            At::Function(function) => {
                matches!(self.table(function).difference(Slot::Given(id)), Some(Difference::Offset(_)))
            }
            At::Driver => false,
        }
    }

    /// The C expression of a node's place in working memory; `None` if the node has none.
    pub(super) fn place(&self, id: Id, at: At, slot: Slot) -> Option<String> {
        let place = self.schedule.layout.places[id as usize]?;
        Some(self.at(Pool::of(self.trace, id), &self.index(place, slot, at)))
    }

    /// The C expression of a number in working memory.
    pub(super) fn at(&self, pool: Pool, index: &str) -> String {
        let pool = match pool {
            Pool::Double => 'd',
            Pool::Single => 's',
            Pool::Flag => 'f',
        };
        match self.worlds {
            // The numbers of a block's threads are interleaved.
            Worlds::Thread => format!("w.{pool}[({index}) * {THREADS}]"),
            _ => format!("w->{pool}[{index}]"),
        }
    }

    /// The C variable of a node inside its function. Numbering starts at the function's first node, so that names are
    /// short.
    pub(super) fn local(&self, id: Id, function: usize) -> String {
        format!("v{}", id - self.first[function])
    }

    /// The C expression of a node's value.
    pub(super) fn value(&self, id: Id, at: At) -> String {
        let node = self.node(id);
        match node.op {
            Op::Constant if self.is_in_memory(id, at) => self.place(id, at, Slot::Given(id)).unwrap_or_default(),
            Op::Constant if self.is_vector() => {
                let kind = self.letter(node.precision);
                format!("SPLAT_{kind}({})", self.constant(id, at))
            }
            Op::Constant => self.constant(id, at),
            Op::Flag if self.is_vector() => String::from(if node.bits == 0 { "NONE" } else { "ALL" }),
            Op::Flag => node.bits.to_string(),
            Op::Input => self.input(id, at, false),
            Op::InputOfStep => self.input(id, at, at == At::Driver),
            _ => match self.place(id, at, Slot::Place(id)) {
                Some(place) if !at.is_function(self.schedule.layout.function_of[id as usize]) => place,
                _ => match at {
                    At::Function(function) => self.local(id, function),
                    At::Driver => format!("v{id}"),
                },
            },
        }
    }

    /// The C text of a constant: a literal, or an entry of the table of constants that differ between instances.
    pub(super) fn constant(&self, id: Id, at: At) -> String {
        let node = self.node(id);
        let difference = match at {
            At::Function(function) => self.table(function).difference(Slot::Given(id)),
            At::Driver => None,
        };
        match (difference, node.precision) {
            (Some(Difference::Constant(column)), Precision::Double) => format!("constant[k][{column}]"),
            (Some(Difference::Constant(column)), Precision::Single) => format!("single[k][{column}]"),
            _ => literal(node.precision, f64::from_bits(node.bits)),
        }
    }

    /// The C expression of a number of an operand. In the loop over time, the driver adds the offset of its step;
    /// functions get a pointer to the step's part.
    pub(super) fn input(&self, id: Id, at: At, in_driver: bool) -> String {
        match self.trace.operand_of(self.node(id).bits as usize) {
            Some((row, place)) => {
                number_of(&self.trace.operands[row], &self.index(place, Slot::Given(id), at), in_driver)
            }
            None => String::from("NAN"),
        }
    }

    /// The C type of the numbers in rows.
    pub(super) fn number_type(&self) -> &'static str {
        self.type_in(if self.precision == Precision::Double { Pool::Double } else { Pool::Single })
    }

    /// The C type of a node's value.
    pub(super) fn type_of(&self, id: Id) -> &'static str {
        self.type_in(Pool::of(self.trace, id))
    }

    /// The C type of the numbers in an array of working memory.
    pub(super) fn type_in(&self, pool: Pool) -> &'static str {
        match (pool, self.is_vector()) {
            (Pool::Double, true) if self.precision == Precision::Single => "w_t",
            (Pool::Double, true) => "d_t",
            (Pool::Single, true) => "s_t",
            (Pool::Flag, true) => "m_t",
            (Pool::Double, false) => "double",
            (Pool::Single, false) => "float",
            (Pool::Flag, false) => "int",
        }
    }

    /// The letter that marks the precision in the names of register operations: S single, D double, W double in a
    /// program of singles.
    pub(super) fn letter(&self, precision: Precision) -> char {
        match (precision, self.precision) {
            (Precision::Single, _) => 'S',
            (Precision::Double, Precision::Single) => 'W',
            (Precision::Double, Precision::Double) => 'D',
        }
    }

    /// The C expression of an operation on registers of worlds, as a macro call.
    pub(super) fn operation(&self, id: Id, function: usize) -> String {
        let node = self.node(id);
        let arguments: Vec<String> =
            node.arguments().iter().map(|&id| self.value(id, At::Function(function))).collect();
        let name = match node.op {
            Op::Constant | Op::Flag | Op::Input | Op::InputOfStep | Op::Variable | Op::FlagVariable => {
                return self.value(id, At::Function(function));
            }
            Op::And => "AND",
            Op::Or => "OR",
            Op::Not => "NOT",
            Op::Widen => "WIDEN",
            Op::Narrow => "NARROW",
            Op::Add => "ADD",
            Op::Sub => "SUB",
            Op::Mul => "MUL",
            Op::Div => "DIV",
            Op::Neg => "NEG",
            Op::Fma => "FMA",
            Op::Sqrt => "SQRT",
            Op::Sin => "SIN",
            Op::Cos => "COS",
            Op::Ln => "LN",
            Op::Atan2 => "ATAN2",
            Op::Abs => "ABS",
            Op::Min => "MIN",
            Op::Max => "MAX",
            Op::Lt => "LT",
            Op::Select => "SELECT",
        };
        let kind = match node.op {
            Op::And | Op::Or | Op::Not | Op::Widen | Op::Narrow => String::new(),
            _ => format!("_{}", self.letter(node.precision)),
        };
        format!("{name}{kind}({})", arguments.join(", "))
    }

    /// The C expression of an operation.
    pub(super) fn expression(&self, id: Id, function: usize) -> String {
        if self.is_vector() {
            return self.operation(id, function);
        }
        let node = self.node(id);
        let [a, b, c] = node.arguments;
        let value = |id: Id| self.value(id, At::Function(function));
        // The suffix of the functions of math.h.
        let suffix = if node.precision == Precision::Single { "f" } else { "" };
        match node.op {
            Op::Constant | Op::Flag | Op::Input | Op::InputOfStep | Op::Variable | Op::FlagVariable => value(id),
            Op::Add => format!("{} + {}", value(a), value(b)),
            Op::Sub => format!("{} - {}", value(a), value(b)),
            Op::Mul => format!("{} * {}", value(a), value(b)),
            Op::Div => format!("{} / {}", value(a), value(b)),
            Op::Neg if self.node(a).op == Op::Fma => format!("negated{suffix}({})", value(a)),
            Op::Neg => format!("-{}", value(a)),
            Op::Fma => format!("fma{suffix}({}, {}, {})", value(a), value(b), value(c)),
            Op::Sqrt => format!("sqrt{suffix}({})", value(a)),
            Op::Sin => format!("sin{suffix}({})", value(a)),
            Op::Cos => format!("cos{suffix}({})", value(a)),
            Op::Ln => format!("log{suffix}({})", value(a)),
            Op::Atan2 => format!("atan2{suffix}({}, {})", value(a), value(b)),
            Op::Abs => format!("fabs{suffix}({})", value(a)),
            Op::Min => format!("MIN({}, {})", value(a), value(b)),
            Op::Max => format!("MAX({}, {})", value(a), value(b)),
            Op::Lt => format!("{} < {}", value(a), value(b)),
            Op::Select => format!("{} ? {} : {}", value(a), value(b), value(c)),
            Op::And => format!("{} & {}", value(a), value(b)),
            Op::Or => format!("{} | {}", value(a), value(b)),
            Op::Not => format!("!{}", value(a)),
            Op::Widen => format!("(double){}", value(a)),
            Op::Narrow => format!("(float){}", value(a)),
        }
    }
}

/// A C literal that reads back to exactly this number.
pub fn literal(precision: Precision, x: f64) -> String {
    let number = match (x.is_nan(), x.is_infinite()) {
        (true, _) => String::from("NAN"),
        (_, true) => String::from("INFINITY"),
        #[expect(clippy::cast_possible_truncation, reason = "it is a number of single precision")]
        _ if precision == Precision::Single => format!("{:e}f", (x as f32).abs()),
        _ => format!("{:e}", x.abs()),
    };
    if x.is_sign_negative() && !x.is_nan() { format!("(-{number})") } else { number }
}
