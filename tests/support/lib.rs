//! What tests share: random states, scenes and bodies, the step's problem and formulas written a second time, numbers
//! out of tensors, a browser.

pub mod browser;
pub mod clarabel;
pub mod differences;
pub mod formulas;
pub mod jointed;
pub mod jumps;
pub mod large;
mod measure;
pub mod meshes;
pub mod models;
pub mod oracle;
pub mod pairs;
pub mod quadruped;
pub mod random;
pub mod random_scenes;
pub mod robots;
pub mod single;
pub mod solids;
pub mod states;

pub use measure::*;
