//! A hand follows keypoints: of a human's hand, of another hand, of an object.
//!
#![doc = include_str!("../../docs/follow.md")]

mod apart;
mod fingers;
mod follower;
pub(crate) mod joints;
mod map_file;
mod motion;
pub(crate) mod problem;
mod reach;
mod target;
mod whole;

pub use fingers::{Finger, fingers};
pub use follower::{Follower, Options};
pub use motion::Motion;
pub use target::{KEYPOINTS, MANO, Map, Palm, Pinch, Place, Scale, Target};
pub use whole::{Followed, follow};
