//! Many bodies: which are near each other.

use std::collections::HashSet;

use nalgebra::{Isometry3, Vector3};

use super::{Collider, Distance};
use crate::error::{Error, Result};

/// Shapes on bodies, and the pairs of bodies that never meet.
#[derive(Clone, Debug, Default)]
pub struct World {
    colliders: Vec<(usize, Collider)>,
    excluded: HashSet<(usize, usize)>,
}

/// Two shapes of a [`World`] that are near each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// Place of A in the world.
    pub a: usize,
    /// Place of B, after A.
    pub b: usize,
    /// How far apart they are.
    pub distance: Distance,
}

impl World {
    /// No shapes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a shape that is on a body; returns its place. Shapes on one body never meet.
    pub fn add(&mut self, body: usize, collider: Collider) -> usize {
        self.colliders.push((body, collider));
        self.colliders.len() - 1
    }

    /// Leaves out all pairs of shapes on two bodies, as of links that a joint joins.
    pub fn exclude(&mut self, body: usize, other: usize) {
        self.excluded.insert((body.min(other), body.max(other)));
    }

    /// The shapes.
    pub fn len(&self) -> usize {
        self.colliders.len()
    }

    /// Is there no shape?
    pub fn is_empty(&self) -> bool {
        self.colliders.is_empty()
    }

    /// The pairs (a, b), a < b, whose boxes along the world's axes are at most `margin` apart, given each shape's pose:
    /// sorted by where they begin along x and swept (Cohen and others, *I-COLLIDE*, 1995).
    ///
    /// # Errors
    /// If there is not one pose for each shape.
    pub fn candidates(&self, poses: &[Isometry3<f64>], margin: f64) -> Result<Vec<(usize, usize)>> {
        if poses.len() != self.len() {
            return Err(Error::invalid(
                "poses",
                format!("expected {}, one per shape, got {}", self.len(), poses.len()),
            ));
        }
        let half = Vector3::repeat(margin / 2.0);
        let bounds = self.colliders.iter().zip(poses).map(|((_, collider), pose)| {
            let [low, high] = collider.bounds(pose);
            [low - half, high + half]
        });
        let bounds: Vec<[Vector3<f64>; 2]> = bounds.collect();
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|&i, &j| bounds[i][0].x.total_cmp(&bounds[j][0].x));
        let mut pairs = Vec::new();
        for (k, &i) in order.iter().enumerate() {
            for &j in &order[k + 1..] {
                if bounds[j][0].x > bounds[i][1].x {
                    break;
                }
                let meet = (1..3).all(|k| bounds[i][0][k] <= bounds[j][1][k] && bounds[j][0][k] <= bounds[i][1][k]);
                if meet && self.may_meet(i, j) {
                    pairs.push((i.min(j), i.max(j)));
                }
            }
        }
        pairs.sort_unstable();
        Ok(pairs)
    }

    /// All pairs of shapes at most `margin` apart, m; those of two half-spaces are left out.
    ///
    /// # Errors
    /// As [`candidates`](Self::candidates).
    pub fn near(&self, poses: &[Isometry3<f64>], margin: f64) -> Result<Vec<Near>> {
        let near = |(a, b): (usize, usize)| {
            let distance = self.colliders[a].1.distance(&poses[a], &self.colliders[b].1, &poses[b])?;
            (distance.phi <= margin).then_some(Near { a, b, distance })
        };
        Ok(self.candidates(poses, margin)?.into_iter().filter_map(near).collect())
    }

    fn may_meet(&self, i: usize, j: usize) -> bool {
        let (a, b) = (self.colliders[i].0, self.colliders[j].0);
        a != b && !self.excluded.contains(&(a.min(b), a.max(b)))
    }
}
