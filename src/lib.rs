//! Differentiable contact simulation for robot hands.

pub mod contact;
pub mod description;
mod error;
pub mod kinematics;
pub mod math;
pub mod solve;

pub use error::{Error, Result};
