//! Planning manipulation over a horizon with the step's gradients, and model-predictive control.
//!
//! ```text
//! minimise over v_0 … v_{T−1} in a box     Σ_k l(x_k, v_k) + Σ_i w_i c_i(q_{k+1})     x_{k+1} = f(x_k, v_k)
//! ```
//!
//! f is one control period: the model holds a command over some steps. Several short steps predict better than one long
//! step, because geometry is frozen within a step, and because the friction of the convex step opens a gap of μ times
//! the slip in each step.

pub(crate) mod box_qp;
mod command;
mod controller;
pub mod cost;
mod estimate;
mod filter;
mod ilqr;
mod outcome;
pub mod plant;
mod problem;
pub(crate) mod quadratic;
pub mod roadmap;
mod robust;
mod sampling;
mod shooting;
mod simulator;
mod start;
mod supervision;
mod supervisor;
pub(crate) mod sweep;
pub mod task;
mod trust;
mod under_way;

pub use command::{Command, Law};
pub use controller::{Answer, Carried, Controller, Measured, Method, Settings};
pub use estimate::{Estimate, Estimator, Quantity};
pub use ilqr::Ilqr;
pub use outcome::{Clock, LogLine, Outcome, Plan};
pub use problem::{Problem, Trajectory};
pub(crate) use robust::is_object;
pub use robust::{Risk, Robust, Variation};
pub use sampling::{Deviates, Sampler, Sampling};
pub use shooting::shoot;
pub use simulator::{Forces, Joint, Linear, Simulator};
pub use start::Start;
pub use supervision::{Doing, Supervision};
pub use supervisor::{Stall, Supervisor};
pub use task::Task;
pub use trust::{Region, Trust};
pub use under_way::{LONGEST, UnderWay};
