//! Model-predictive control: tasks, controllers, plants and costs.

mod controller;
mod cost;
mod data;
mod plant;
mod task;

pub use controller::Controller;
pub use cost::Cost;
pub use data::{Answer, Episode, Errors, Goal, Plan};
pub use plant::Plant;
pub use task::{Progress, Task};
