//! Shapes, meshes and mass distributions, and how near two convex bodies are, in plain `f64`.
//!
//! A [`Shape`] is a sphere, capsule, cylinder, box, ellipsoid or convex [`Hull`]; a [`MeshFile`] is read from STL, OBJ,
//! COLLADA or GLB, and its signed distance is a smooth function on a [`DistanceGrid`]. [`collision`] has the signed
//! distance of any two of them, with witness points, and contact manifolds.

#![deny(missing_docs)]

mod boundary;
mod cache;
pub mod check;
mod collada;
pub mod collision;
mod cut;
mod decompose;
mod error;
pub mod file;
mod glb;
mod grid;
mod hull;
mod hull_face;
mod hull_planes;
mod hull_reduced;
mod hull_side;
mod inertia;
pub mod largest;
mod mesh;
mod number;
mod obj;
mod placed;
mod quickhull;
mod shape;
mod solid;
mod step;
mod stl;
mod surface;
pub mod xml;

pub use check::unknown;
pub use decompose::{Decompose, Parts};
#[cfg(feature = "candle")]
pub use error::message;
pub use error::{Error, Findings, Result};
pub use grid::{DistanceGrid, GridDistance, GridSettings, SHEETS, Sheet, SheetRates};
pub use hull::Hull;
pub use hull_face::HullFace;
pub use hull_reduced::Reduced;
pub use hull_side::HullSide;
pub use inertia::{HEAVIEST, Inertia};
pub use mesh::{MeshFile, Places, Triangles, hulls, vertices};
pub use placed::{Collision, Partners};
pub use shape::{Shape, hull};
pub use surface::Surface;
