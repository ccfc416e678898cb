//! One step, from a configuration and a command to the next configuration and the contact forces.
//!
//! [`Quasidynamic`] balances forces and has no velocities. [`Dynamic`] integrates velocities, with inertia, torques and
//! control laws.

mod bound;
mod connection;
pub mod control;
mod dynamic;
mod fused;
mod gaps;
mod hanging;
mod held;
mod jacobians;
mod limits;
mod mark;
mod numbers;
mod operands;
mod problem;
mod programs;
mod quasidynamic;
mod reason;
mod result;
mod rolling;
pub mod rollout;
mod sparse;
mod stiffened;
mod strand;
mod torsion;

pub use bound::Bound;
pub use dynamic::{
    ContactModel, Dynamic, DynamicLinearization, DynamicParams, DynamicStep, DynamicTrajectory, Gaps, RigidContact,
    Separated, Separation,
};
pub use fingertip_lanes::record::{Row, Trace};
pub use fused::Kernel;
pub use held::Held;
pub use jacobians::{ForceJacobians, Jacobians};
pub use numbers::{
    Direction, DynamicJacobians, DynamicRollout, GradientNumbers, Outputs, RolloutNumbers, Sensitivities,
    StepCotangent, StepNumbers,
};
pub(crate) use operands::usable;
pub use programs::Programs;
pub use quasidynamic::{BeyondEffort, Form, Geometry, Iterate, NearContact, Quasidynamic, Walk, Walked};
pub use result::{Linearization, Rollout, Step};
pub use sparse::SparseRows;
