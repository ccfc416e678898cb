//! Floor 6: one step, from a configuration and a command to the next configuration and the contact forces.

mod fused;
mod inertia;
mod linearize;
mod quasidynamic;

pub use linearize::Linearization;
pub use quasidynamic::{Form, Quasidynamic, Step};
