//! Grasping: close a hand around an object, find the least effort that holds it, and test the grasp in
//! simulation.
//!
//! ```no_run
//! use candle_core::{DType, Device};
//! use fingertip::Model;
//! use fingertip::description::Scene;
//! use fingertip::grasp::{Closing, Trial};
//!
//! # fn main() -> candle_core::Result<()> {
//! let scene = Scene::load("assets/scenes/teaching_hand_item.toml")?;
//! let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
//! let closed = Closing::default().close(&model, 18)?;
//! if let Some(effort) = closed.balance(&model)?.least_effort(0.7) {
//!     let outcome = Trial::default().run(&scene, &[(closed.q, effort.torque)])?;
//!     println!("{:?}", outcome[0]);
//! }
//! # Ok(())
//! # }
//! ```

mod close;
mod effort;
mod trial;

pub use close::{Closed, Closing};
pub use effort::{Balance, Effort};
pub use trial::{LOST, Outcome, Trial};
