//! Floor 1: what a scene consists of, as plain data without tensors.
//!
//! A [`Scene`] holds robots, objects and the rules for their pairs. Robots and articulated objects are
//! [`Articulation`]s, usually read from URDF. Everything is checked by [`Scene::validate`], which `Model::new` calls.

mod articulation;
mod builder;
pub(crate) mod check;
mod collada;
mod file;
mod hull;
mod hull_side;
mod inertia;
mod mesh;
mod obj;
mod quickhull;
mod rest;
mod scene;
mod scene_file;
mod script;
mod shape;
mod solid;
mod stl;
mod urdf;
mod validate;
mod xml;

pub use articulation::{Articulation, Joint, JointKind, Limits, Link, Look, Mimic, Visual};
pub use check::unknown;
pub use hull::{Hull, HullFace};
pub(crate) use hull_side::HullSide;
pub use inertia::Inertia;
pub use mesh::{MeshFile, Triangles};
pub use rest::Rest;
pub use scene::{Freedom, Friction, Keyframe, Object, ObjectBody, PairRule, Params, Robot, Scene};
pub use shape::{Collision, Shape};
