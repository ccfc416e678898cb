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
    pairs: Vec<Pair>,
    /// The frame of the first shape.
    first: usize,
}

/// Two shapes, by their places, and when they were last looked at: how far apart they were, m, and where.
#[derive(Debug)]
struct Pair {
    shapes: [usize; 2],
    seen: Option<(f64, [At; 2])>,
}

/// Where a shape is: the middle of its ball, and its axes.
#[derive(Clone, Copy, Debug)]
struct At {
    centre: Vector3<f64>,
    axes: Matrix3<f64>,
}

impl At {
    /// A bound of how far any point of a shape within `radius` of its middle has moved since it was at `before`, m: the
    /// spectral norm of a matrix is at most Frobenius's.
    fn moved(&self, before: &Self, radius: f64) -> f64 {
        (self.centre - before.centre).norm() + radius * (self.axes - before.axes).norm()
    }
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
            let shapes = [pair.a, pair.b].map(|shape| {
                used.iter().position(|&other| other == shape).unwrap_or_else(|| {
                    used.push(shape);
                    used.len() - 1
                })
            });
            pairs.push(Pair { shapes, seen: None });
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

    /// The pairs that are nearer than `reach`, m. One that was far when it was last looked at, and has moved less
    /// since, is passed over.
    pub(super) fn near(&mut self, placed: &PlacedPoints, reach: f64) -> Vec<Near> {
        let Self { shapes, pairs, first } = self;
        let at = |(k, shape): (usize, &Placed)| {
            let axes = Matrix3::from_columns(&placed.axes(*first + k).map(Vector3::from));
            At { centre: Vector3::from(placed.position(*first + k)) + axes * shape.centre, axes }
        };
        let at: Vec<At> = shapes.iter().enumerate().map(at).collect();
        let mut poses: Vec<Option<Isometry3<f64>>> = vec![None; shapes.len()];
        let mut near = Vec::new();
        for Pair { shapes: [a, b], seen } in pairs {
            let (a, b) = (*a, *b);
            let [of_a, of_b] = [&shapes[a], &shapes[b]];
            let far = of_a.radius + of_b.radius + reach;
            if (at[a].centre - at[b].centre).norm_squared() > far * far {
                continue;
            }
            if let Some((phi, [before_a, before_b])) = seen.as_ref().filter(|_| far.is_finite()) {
                let moved = at[a].moved(before_a, of_a.radius) + at[b].moved(before_b, of_b.radius);
                if phi - moved > reach {
                    continue;
                }
            }
            let [pose_a, pose_b] = [a, b].map(|k| *poses[k].get_or_insert_with(|| pose(placed, *first + k)));
            let Some(distance) = of_a.collider.distance(&pose_a, &of_b.collider, &pose_b) else { continue };
            *seen = Some((distance.phi, [at[a], at[b]]));
            if distance.phi < reach {
                near.push(Near { distance, frames: [*first + a, *first + b] });
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
