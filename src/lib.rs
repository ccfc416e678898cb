//! Differentiable contact simulation for robot hands.

pub mod contact;
pub mod description;
mod error;
pub mod kinematics;
pub mod math;
pub mod model;
pub mod overrides;
pub mod parameters;
pub mod show;
pub mod solve;
pub mod step;

pub use error::{Error, Result};
pub use model::Model;
pub use overrides::Overrides;
pub use parameters::Parameters;
