//! Floor 6: one step, from a configuration and a command to the next configuration and the contact forces.
//!
//! [`Quasidynamic`] balances forces: no velocities. [`Dynamic`] integrates them: inertia, torques, control laws.

pub mod control;
mod dynamic;
mod fused;
mod gaps;
mod geometry;
mod inertia;
mod limits;
mod linearize;
mod operands;
mod plain;
mod quasidynamic;
mod torsion;

pub use crate::math::record::{Row, Trace};
pub use dynamic::{Bound, Contact, Dynamic, DynamicParams, DynamicStep, Gaps, RigidContact, Separated, Separation};
pub use fused::Kernel;
pub use geometry::Geometry;
pub use linearize::Linearization;
pub use plain::{Held, Jacobians};
pub use quasidynamic::{Form, Quasidynamic, Step};
