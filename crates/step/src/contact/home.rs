//! Which shapes overlap at a scene's home.

use candle_core::{DType, Device, Result, Tensor};
use nalgebra::{Isometry3, Vector3};

use crate::kinematics::{FrameSpec, Kinematics, POSE, Tree};
use fingertip_shapes::collision::Collider;

use super::convex::isometry;
use super::shapes::BodyShape;

/// Shapes that overlap by less than this, m, merely touch: rounding of a gap of zero can leave this much.
const TOUCHING: f64 = 1e-9;
/// A depth, m. An overlap that is deeper than this ...
const DEEP: f64 = 1e-3;
/// ... or than this share of the thinner shape's thickness moves things visibly when the first step removes it.
const DEEP_PART: f64 = 0.05;

/// How far two shapes are inside each other.
pub(super) struct Depth {
    /// Length of the shortest translation that separates them, m.
    pub(super) depth: f64,
    /// Is the overlap too deep to be a rounded number in the scene?
    pub(super) is_deep: bool,
}

/// All shapes of a scene at home.
pub(super) struct AtHome(Vec<Placed>);

struct Placed {
    collider: Collider,
    pose: Isometry3<f64>,
    /// Corners of the box along the world's axes that holds it.
    bounds: [Vector3<f64>; 2],
}

impl AtHome {
    pub(super) fn new(tree: &Tree, shapes: &[BodyShape]) -> Result<Self> {
        let frames: Vec<FrameSpec> = shapes.iter().map(BodyShape::frame).collect();
        let home = Tensor::from_vec(tree.home(), (1, tree.nq), &Device::Cpu)?;
        let kinematics = Kinematics::new(tree, &frames, DType::F64, &Device::Cpu)?;
        let poses = kinematics.at(&home)?.poses.flatten_all()?.to_vec1::<f64>()?;
        let place = |(shape, pose): (&BodyShape, &[f64])| {
            let (collider, pose) = (Collider::new(&shape.shape), isometry(pose).unwrap_or_else(Isometry3::identity));
            let bounds = collider.bounds(&pose);
            Placed { collider, pose, bounds }
        };
        Ok(Self(shapes.iter().zip(poses.chunks_exact(POSE)).map(place).collect()))
    }

    /// The depth of two shapes, if they overlap.
    pub(super) fn depth(&self, a: usize, b: usize) -> Option<Depth> {
        let (one, other) = (&self.0[a], &self.0[b]);
        let apart = |k: usize| one.bounds[0][k] > other.bounds[1][k] || other.bounds[0][k] > one.bounds[1][k];
        if (0..3).any(apart) {
            return None;
        }
        let depth = -one.collider.distance(&one.pose, &other.collider, &other.pose)?.phi;
        let thickness = one.thickness().min(other.thickness());
        (depth > TOUCHING).then_some(Depth { depth, is_deep: depth > DEEP.min(DEEP_PART * thickness) })
    }
}

impl Placed {
    /// The shortest side of the box along the shape's own axes that holds it, m.
    fn thickness(&self) -> f64 {
        let [low, high] = self.collider.bounds(&Isometry3::identity());
        (high - low).min()
    }
}
