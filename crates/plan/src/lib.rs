//! Planning and model-predictive control with the step's gradients, parameters from logs, poses by touch, hands that
//! follow keypoints, and grasping.

#![deny(missing_docs)]

pub mod feel;
pub mod fit;
pub mod follow;
pub mod grasp;
pub mod mpc;

/// For the repository's tests, and no part of the interface.
#[doc(hidden)]
pub mod inner {
    pub use crate::feel::chain::Chain;
    pub use crate::feel::window::{Of, Period, Terms};
    pub use crate::fit::net::Net;
    pub use crate::follow::joints::moved;
    pub use crate::follow::problem::{Goal, Problem, Weights};
    pub use crate::mpc::box_qp::minimise;
    pub use crate::mpc::quadratic::Quadratic;
    pub use crate::mpc::sweep::{Sweep, backward};
}
