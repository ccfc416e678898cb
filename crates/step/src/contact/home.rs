//! Overlaps of shapes at the home configuration of a scene.

use candle_core::{DType, Device, Result, Tensor};
use nalgebra::{Isometry3, Vector3};

use crate::kinematics::{FrameSpec, Kinematics, POSE, Tree};
use fingertip_scene::Shape;
use fingertip_shapes::collision::Collider;

use super::convex::isometry;
use super::grid::GridPair;
use super::shapes::BodyShape;

/// Shapes that are nearer to each other than this, m, touch: files store places with so many digits.
const TOUCHING: f64 = 1e-6;
/// Overlaps deeper than this, m, are deep: the first step that removes them moves things visibly.
const DEEP: f64 = 1e-3;
/// Overlaps deeper than this share of the thinner shape's thickness are deep, too.
const DEEP_PART: f64 = 0.05;

/// The depth of the overlap of two shapes.
pub(super) struct Depth {
    /// Length of the shortest translation that separates them, m; 0 if they only touch.
    pub(super) depth: f64,
    /// Is the overlap too deep to come from rounded numbers in the scene file?
    pub(super) is_deep: bool,
}

/// All collision shapes of a scene, at its home configuration.
pub(super) struct AtHome(Vec<Placed>);

/// A collision shape at its pose in the home configuration.
struct Placed {
    shape: Shape,
    collider: Collider,
    pose: Isometry3<f64>,
    /// Lower and upper corner of the shape's axis-aligned bounding box in the world, m.
    bounds: [Vector3<f64>; 2],
}

impl AtHome {
    /// Places all shapes by the kinematics of the home configuration.
    pub(super) fn new(tree: &Tree, shapes: &[BodyShape]) -> Result<Self> {
        let frames: Vec<FrameSpec> = shapes.iter().map(BodyShape::frame).collect();
        let home = Tensor::from_vec(tree.home(), (1, tree.nq), &Device::Cpu)?;
        let kinematics = Kinematics::new(tree, &frames, DType::F64, &Device::Cpu)?;
        let poses = kinematics.at(&home)?.poses.flatten_all()?.to_vec1::<f64>()?;
        let place = |(shape, pose): (&BodyShape, &[f64])| {
            let shape = shape.shape.clone();
            let (collider, pose) = (Collider::new(&shape), isometry(pose).unwrap_or_else(Isometry3::identity));
            let bounds = collider.bounds(&pose);
            Placed { shape, collider, pose, bounds }
        };
        Ok(Self(shapes.iter().zip(poses.chunks_exact(POSE)).map(place).collect()))
    }

    /// The overlap of two shapes, by their indices; `None` if they do not even touch.
    pub(super) fn depth(&self, a: usize, b: usize) -> Option<Depth> {
        let (one, other) = (&self.0[a], &self.0[b]);
        let beyond = |low: &Placed, high: &Placed, k: usize| low.bounds[0][k] > high.bounds[1][k] + TOUCHING;
        let apart = |k: usize| beyond(one, other, k) || beyond(other, one, k);
        if (0..3).any(apart) {
            return None;
        }
        let distance = match GridPair::new(&one.shape, &other.shape, f64::INFINITY) {
            Some(pair) => pair.deepest([(&one.pose, &one.shape.sizes()), (&other.pose, &other.shape.sizes())])?,
            None => one.collider.distance(&one.pose, &other.collider, &other.pose)?,
        };
        if distance.phi >= TOUCHING {
            return None;
        }
        let depth = (-distance.phi).max(0.0);
        let thickness = one.thickness().min(other.thickness());
        Some(Depth { depth, is_deep: depth > DEEP.min(DEEP_PART * thickness) })
    }
}

impl Placed {
    /// The shortest side of the shape's bounding box along its own axes, m.
    fn thickness(&self) -> f64 {
        let [low, high] = self.collider.bounds(&Isometry3::identity());
        (high - low).min()
    }
}
