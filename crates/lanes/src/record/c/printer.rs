//! The state of printing a trace as C: the trace and its schedule, what the code is for, and queries that all of the
//! printing shares.

use crate::lane::Precision;

use super::super::kinds::Table;
use super::super::op::{Id, Node};
use super::super::schedule::Schedule;
use super::super::trace::{Output, Row, Trace};

/// The number of worlds that the printed code computes at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Worlds {
    /// One world, in plain C.
    One,
    /// One world per thread, in CUDA C. Working memory is passed as pointers to its three arrays, see
    /// [`cuda`](crate::record::cuda).
    Thread,
    /// As many worlds as fill a SIMD register, with the operations of [`VECTOR_PRELUDE`].
    #[cfg(feature = "native")]
    Register,
}

/// Threads per block on a GPU. Threads do not cooperate, so a block is as small as the hardware's warp.
pub const THREADS: u32 = 32;

/// The function, or the driver, in which an expression of the printed code stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// The function with this index.
    Function(usize),
    /// The driver, which is the main function.
    Driver,
}

impl At {
    /// Is this inside the given function?
    pub(super) fn is_function(self, function: Option<usize>) -> bool {
        matches!(self, Self::Function(here) if function == Some(here))
    }
}

/// A trace on its way to C text.
pub(super) struct Printer<'a> {
    pub(super) trace: &'a Trace,
    pub(super) schedule: &'a Schedule,
    /// The name of the C function, and the prefix of all others.
    pub(super) name: &'a str,
    /// The precision of the numbers in rows.
    pub(super) precision: Precision,
    pub(super) worlds: Worlds,
    /// The first node of each function; its local variables are numbered from there.
    pub(super) first: Vec<Id>,
    /// The results that the driver writes at the end of the program (first), and at the end of each step (second).
    pub(super) late: [Vec<Output>; 2],
    /// For each kind of functions, once it is printed: which rows it uses and, last, whether it uses working memory.
    pub(super) uses: Vec<Vec<bool>>,
}

impl Printer<'_> {
    /// The node with this index.
    pub(super) fn node(&self, id: Id) -> Node {
        self.trace.nodes[id as usize]
    }

    /// All rows: the operands, then the results.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.trace.operands.iter().chain(&self.trace.results)
    }

    /// Does the trace contain a loop over time?
    pub(super) fn has_steps(&self) -> bool {
        self.trace.has_steps()
    }

    /// The table of what differs between this function and others of its kind.
    pub(super) fn table(&self, function: usize) -> &Table {
        &self.schedule.tables[self.schedule.kinds.of[function].0]
    }

    /// The function that is printed in place of this one: the first of its kind.
    pub(super) fn printed(&self, function: usize) -> usize {
        self.schedule.kinds.functions[self.schedule.kinds.of[function].0][0]
    }

    /// Is the code for several worlds at a time?
    pub(super) fn is_vector(&self) -> bool {
        !matches!(self.worlds, Worlds::One | Worlds::Thread)
    }
}
