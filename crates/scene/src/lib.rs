//! Scenes as plain data, without tensors.
//!
//! A [`Scene`] holds robots, objects and the rules for their pairs. Robots and articulated objects are
//! [`Articulation`]s, usually read from URDF. Everything is checked by [`Scene::validate`], which `Model::new` calls.

#![deny(missing_docs)]

mod articulation;
mod base;
mod builder;
mod left_out;
mod mjcf;
mod rest;
mod scene;
mod scene_file;
pub mod scenes;
mod script;
mod settings;
mod table;
mod taxels;
mod urdf;
mod validate;

pub use articulation::{
    Articulation, Connection, Joint, JointKind, Limits, Link, LinkPair, Look, Mimic, Resistance, Spring, Visual,
};
pub use fingertip_shapes::file::{Folder, Texts};
pub use fingertip_shapes::{
    Collision, Decompose, DistanceGrid, GridDistance, GridSettings, Hull, HullFace, HullSide, Inertia, MeshFile,
    Partners, Parts, Reduced, Shape, Surface, Triangles, check, unknown,
};
pub use rest::Rest;
pub use scene::{
    ActuatorMap, Freedom, Friction, Keyframe, Mount, Object, ObjectBody, PairRule, Params, Robot, Scene, Site, Tendon,
};
pub use settings::Settings;
pub use table::Table;
pub use taxels::Taxels;

/// For the repository's tests, and no part of the interface.
#[doc(hidden)]
pub mod inner {
    pub use crate::urdf::habits::mend;
    pub use crate::urdf::top_level::top_level;
}
