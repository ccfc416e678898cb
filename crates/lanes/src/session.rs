//! A world whose working memory outlives the programs that run on it.

use std::fmt;

use super::lane::{Arithmetic, InstructionSet, Packed, Single};
use super::program::{Group, Program};
use super::rows::Output;
use super::scratch::Scratch;

/// The working memory of one world, on which one program runs after the other. Programs find what earlier ones left.
pub struct Session {
    arithmetic: Arithmetic,
    scratch: Scratch,
}

impl Session {
    /// A memory of so many numbers, with anything in it, for programs in double precision that run on an instruction
    /// set.
    pub fn new(set: InstructionSet, numbers: usize) -> Self {
        let arithmetic = Arithmetic::from(set).within(1);
        let mut scratch = Scratch::new(numbers, arithmetic);
        scratch.hold(None);
        Self { arithmetic, scratch }
    }

    /// Runs a program that has no results.
    ///
    /// # Panics
    /// If the memory is smaller than the program's, or the processor lacks the instruction set.
    pub fn run<P: Program>(&mut self, program: &P) {
        let set = self.arithmetic.set;
        assert!(set.is_available(), "this processor has no {}", set.name());
        assert!(program.scratch() <= self.numbers().len(), "a session has room for its programs");
        let mut out = Output::new(0..1, Vec::new());
        program.group(&mut Group::of_worlds((self.arithmetic, false), 0, &mut self.scratch, &mut out));
    }

    /// The numbers in the session's working memory, which programs leave there.
    pub fn numbers(&mut self) -> &[f64] {
        Packed::numbers(self.scratch.lanes::<Single<f64, false>>())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
