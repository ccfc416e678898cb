//! Collision shapes on bodies, and pairs of shapes that may touch.

use crate::kinematics::FrameSpec;
use fingertip_scene::{Partners, Shape, Surface};
use fingertip_shapes::collision::Detail;

use super::kind::PairFunction;
use super::window::Window;

/// A collision shape on a body.
#[derive(Clone, Debug)]
pub struct BodyShape {
    /// Index of the body in the tree.
    pub body: usize,
    /// The geometry of the shape: its type and sizes.
    pub shape: Shape,
    /// Rotation of the shape's frame in the body's frame, row by row.
    pub rotation: [[f64; 3]; 3],
    /// Position of the shape's frame in the body's frame, m.
    pub xyz: [f64; 3],
    /// Rules of what the shape may touch, and its friction, where its file says so.
    pub surface: Option<Surface>,
    /// Which kinds of shapes it may touch.
    pub partners: Partners,
    /// Index of its link in its owner's articulation, and its own among the link's shapes.
    pub(crate) place: [usize; 2],
}

impl BodyShape {
    /// The frame of the shape relative to its body.
    pub fn frame(&self) -> FrameSpec {
        FrameSpec { body: self.body, rotation: self.rotation, xyz: self.xyz }
    }
}

/// Two shapes that may touch. Forces are reported on B.
///
/// B is the side whose forces are more often of interest: a movable object rather than a robot, and a robot rather than
/// a fixed object. Between two of the same kind it is the later one.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Index of the shape on side A.
    pub a: usize,
    /// Index of the shape on side B.
    pub b: usize,
    /// The coefficient of friction between the two shapes.
    pub mu: f64,
    /// Torsional friction, m. 0 for point contacts: see [`Params::torsion`](fingertip_scene::Params::torsion).
    pub torsion: f64,
    /// The number of contacts of the pair.
    pub contacts: usize,
    /// The formula of the pair; `None` for pairs whose contacts have weights that vary.
    pub(crate) formula: Option<PairFunction>,
    /// How far its contacts reach.
    pub window: Window,
    /// How far apart the two may be for their contacts to be told apart.
    pub(crate) detail: Detail,
}
