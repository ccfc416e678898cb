//! Differentiable contact simulation for robot hands.

pub mod contact;
pub mod description;
pub mod dynamics;
mod error;
pub mod kinematics;
pub mod math;
pub mod model;
pub mod parameters;
pub mod rollout;
pub mod solve;
pub mod step;

pub use error::{Error, Result};
pub use model::Model;
pub use parameters::Parameters;
