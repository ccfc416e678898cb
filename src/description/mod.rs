//! Floor 1: what a scene is, as plain data. No tensors here.
//!
//! A [`Scene`] holds robots, objects and the rules for their pairs. Robots and articulated objects are
//! [`Articulation`]s, usually read from URDF. Everything is checked by [`Scene::validate`], which `Model::new` calls.

mod articulation;
mod scene;
mod scene_file;
mod shape;
mod urdf;

pub use articulation::{Articulation, Inertia, Joint, JointKind, Limits, Link, Mimic};
pub use scene::{Collision, Freedom, Object, ObjectBody, PairRule, Params, Robot, Scene};
pub use shape::Shape;
