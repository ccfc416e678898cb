//! What a hand feels: the net force and torque that contacts put on a link, an object, or one thing by another, and how
//! hard its taxels are pressed.
//!
//! A step gives forces of single contacts. What is here sums them for things that have names, as tensors with gradients
//! by q, u and all parameters, and on plain numbers: see [`Sensor`].
//!
//! ```
//! use candle_core::{DType, Device};
//! use fingertip::touch::{Axes, Sensor, Wrenches};
//! use fingertip::{Model, description::Scene, step::Quasidynamic};
//!
//! # fn main() -> candle_core::Result<()> {
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
//! let model = Model::new(&Scene::load("assets/scenes/hand_ball.toml")?, DType::F64, &Device::Cpu)?;
//! let step = Quasidynamic::new(&model, &model.parameters)?;
//! let (q, u) = (model.home(1)?, model.tensor(&[&model.tree.home_command()])?);
//!
//! // What everything does to the ball, and what the hand does to it.
//! let touch = Wrenches::new(&model, &model.parameters, &[("ball", None), ("ball", Some("hand"))], Axes::World)?;
//! let wrench = touch.at((&q, &step.step(&q, &u)?))?;
//! assert_eq!(wrench.dims(), [1, 2, 6]);
//! # Ok(())
//! # }
//! ```

mod distance;
mod sensor;
mod taxels;
mod wrench;

pub use sensor::{Cotangent, Felt, Sensor};
pub use taxels::{Taxels, Touching};
pub use wrench::{Axes, Wrenches};
