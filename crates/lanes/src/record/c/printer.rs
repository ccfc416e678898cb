//! What is printed, for whom, and what all that prints asks of it.

use crate::lane::Precision;

use super::super::kinds::Table;
use super::super::op::{Id, Node};
use super::super::schedule::Schedule;
use super::super::trace::{Output, Row, Trace};

/// How many worlds the printed code computes at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Worlds {
    /// One.
    One,
    /// One, in CUDA C: working memory is handed over by pointers to its three parts, see [`cuda`](crate::record::cuda).
    Thread,
    /// As many as fill a register, with the operations of [`VECTOR_PRELUDE`].
    #[cfg(feature = "native")]
    Register,
}

/// Threads of a GPU's block. They wait for nobody, so that a block is as small as the hardware takes them.
pub const THREADS: u32 = 32;

/// Where in the code something is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// In the function with this number.
    Function(usize),
    Driver,
}

impl At {
    pub(super) fn is_function(self, function: Option<usize>) -> bool {
        matches!(self, Self::Function(here) if function == Some(here))
    }
}

pub(super) struct Printer<'a> {
    pub(super) trace: &'a Trace,
    pub(super) schedule: &'a Schedule,
    pub(super) name: &'a str,
    pub(super) precision: Precision,
    pub(super) worlds: Worlds,
    /// The first node of each function, from which on its variables are numbered.
    pub(super) first: Vec<Id>,
    /// The results that are written at the end of the whole and of each step.
    pub(super) late: [Vec<Output>; 2],
    /// For each kind of functions, which rows they use, and whether the working memory; once they are printed.
    pub(super) uses: Vec<Vec<bool>>,
}

impl Printer<'_> {
    pub(super) fn node(&self, id: Id) -> Node {
        self.trace.nodes[id as usize]
    }

    /// All rows: those that are read, and those that are written.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.trace.operands.iter().chain(&self.trace.results)
    }

    /// Is there a loop over time?
    pub(super) fn has_steps(&self) -> bool {
        self.trace.has_steps()
    }

    /// The table of what differs among functions like this one.
    pub(super) fn table(&self, function: usize) -> &Table {
        &self.schedule.tables[self.schedule.kinds.of[function].0]
    }

    /// The function that is printed for this one.
    pub(super) fn printed(&self, function: usize) -> usize {
        self.schedule.kinds.functions[self.schedule.kinds.of[function].0][0]
    }

    pub(super) fn is_vector(&self) -> bool {
        !matches!(self.worlds, Worlds::One | Worlds::Thread)
    }
}
