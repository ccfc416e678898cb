//! One step of contact, and many, with exact gradients.
//!
//! A [`Model`] is a scene compiled to tables and tensors. [`step::Quasidynamic`] takes a configuration and a command to
//! the next configuration and the contact forces.

#![deny(missing_docs)]

pub mod contact;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod device;
pub mod dynamics;
pub mod kinematics;
pub mod model;
pub mod overrides;
pub mod parameters;
pub mod solve;
pub mod step;
pub mod tensor;
pub mod touch;

/// For the repository's tests, and no part of the interface.
#[doc(hidden)]
pub mod inner {
    pub use crate::contact::convex::ConvexPair;
    pub use crate::contact::kind::PairKind;
    pub use crate::contact::lanes::bound::are_boxes_apart;
    pub use crate::contact::lanes::{Motion, Motions, convex, jvp, tapes, vjp, witness};
    pub use crate::contact::numbers::{GEOMETRY, OWN_RATES, WEIGHTED_GEOMETRY};
    pub use crate::solve::elimination::Graph;
    pub use crate::solve::structure::factors;
}

pub use device::device;
pub use model::Model;
pub use overrides::Overrides;
pub use parameters::Parameters;
pub use step::rollout;
