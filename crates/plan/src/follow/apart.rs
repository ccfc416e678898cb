//! Pairs of a robot's own parts, and of these and what is fixed in the world: their distances and how commands change
//! them.

use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion, Vector3};

use fingertip_shapes::collision::{Collider, Distance};
use fingertip_step::kinematics::{FrameSpec, PlacedPoints};
use fingertip_step::model::Model;

/// Pairs of shapes whose poses are the commands' alone.
#[derive(Debug)]
pub(super) struct Apart {
    shapes: Vec<Placed>,
    /// Pairs of places in `shapes`.
    pairs: Vec<[usize; 2]>,
    /// The frame of the first shape.
    first: usize,
}

/// A shape, and a ball around it.
#[derive(Debug)]
struct Placed {
    frame: FrameSpec,
    collider: Collider,
    centre: Vector3<f64>,
    radius: f64,
}

/// Two parts that are near.
pub(super) struct Near {
    pub(super) distance: Distance,
    /// Their frames.
    pub(super) frames: [usize; 2],
}

impl Apart {
    /// The pairs that a scene lets touch, but those with something that no command places. Their frames are numbered
    /// from `first` on.
    pub(super) fn new(model: &Model, first: usize) -> Self {
        let tree = &model.tree;
        let mut passive = vec![false; tree.nv];
        tree.passive().into_iter().for_each(|dof| passive[dof] = true);
        let is_commanded = |shape: usize| {
            let path = tree.path(model.shapes[shape].body);
            path.into_iter().all(|screw| !passive[tree.screw_dof[screw]])
        };
        let (mut used, mut pairs) = (Vec::new(), Vec::new());
        for pair in model.pairs.pairs.iter().filter(|pair| is_commanded(pair.a) && is_commanded(pair.b)) {
            pairs.push([pair.a, pair.b].map(|shape| {
                used.iter().position(|&other| other == shape).unwrap_or_else(|| {
                    used.push(shape);
                    used.len() - 1
                })
            }));
        }
        let placed = |&shape: &usize| {
            let own = &model.shapes[shape];
            let collider = Collider::new(&own.shape);
            let [low, high] = collider.bounds(&Isometry3::identity());
            let radius = (high - low).norm() / 2.0;
            let centre = if radius.is_finite() { (low + high) / 2.0 } else { Vector3::zeros() };
            Placed { frame: own.frame(), collider, centre, radius }
        };
        Self { shapes: used.iter().map(placed).collect(), pairs, first }
    }

    /// The shapes' frames.
    pub(super) fn frames(&self) -> impl Iterator<Item = FrameSpec> {
        self.shapes.iter().map(|shape| shape.frame.clone())
    }

    /// The number of pairs.
    pub(super) fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs that are nearer than `reach`, m.
    pub(super) fn near(&self, placed: &PlacedPoints, reach: f64) -> Vec<Near> {
        let mut poses: Vec<Option<Isometry3<f64>>> = vec![None; self.shapes.len()];
        let centre = |(k, shape): (usize, &Placed)| {
            let [x, y, z] = placed.axes(self.first + k).map(Vector3::from);
            let c = &shape.centre;
            Vector3::from(placed.position(self.first + k)) + x * c.x + y * c.y + z * c.z
        };
        let centres: Vec<Vector3<f64>> = self.shapes.iter().enumerate().map(centre).collect();
        let mut near = Vec::new();
        for &[a, b] in &self.pairs {
            let far = self.shapes[a].radius + self.shapes[b].radius + reach;
            if (centres[a] - centres[b]).norm_squared() > far * far {
                continue;
            }
            let [pose_a, pose_b] = [a, b].map(|k| *poses[k].get_or_insert_with(|| pose(placed, self.first + k)));
            let found = self.shapes[a].collider.distance(&pose_a, &self.shapes[b].collider, &pose_b);
            if let Some(distance) = found.filter(|distance| distance.phi < reach) {
                near.push(Near { distance, frames: [self.first + a, self.first + b] });
            }
        }
        near
    }
}

fn pose(placed: &PlacedPoints, frame: usize) -> Isometry3<f64> {
    let axes = Matrix3::from_columns(&placed.axes(frame).map(Vector3::from));
    let turn = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes));
    Isometry3::from_parts(Translation3::from(Vector3::from(placed.position(frame))), turn)
}
