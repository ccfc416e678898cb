//! What the tests of the step share: random states of the shipped scenes, and the step's problem written a second time.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod clarabel;
pub mod differences;
pub mod formulas;
pub mod jointed;
mod measure;
pub mod meshes;
pub mod oracle;
pub mod quadruped;
pub mod random;
pub mod single;
pub mod solids;
pub mod states;

pub use measure::*;
