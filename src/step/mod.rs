//! Floor 6: one step, from a configuration and a command to the next configuration and the contact forces.
//!
//! [`Quasidynamic`] balances forces: no velocities. [`Dynamic`] integrates them: inertia, torques, control laws.

pub mod control;
mod dynamic;
mod fused;
mod gaps;
mod limits;
mod operands;
mod problem;
mod quasidynamic;
mod torsion;

pub use crate::math::record::{Row, Trace};
pub use dynamic::{
    Bound, ContactModel, Dynamic, DynamicParams, DynamicStep, Gaps, RigidContact, Separated, Separation,
};
pub use fused::Kernel;
pub use quasidynamic::{Form, Geometry, Held, Jacobians, Linearization, Quasidynamic, Rollout, Step};
