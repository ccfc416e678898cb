//! The overlaps of several sides of two bodies: one polygon (cell) for each two sides, and how the polygons join.
//!
//! The gap over the plane across n is convex. It is linear over each polygon and bends upwards where polygons join. The
//! deepest point under a tilt (see `tilt.rs`) is one of the corners. The slopes for which a corner is the deepest form
//! a polygon themselves. Its corners are the slopes τ of the cells around that corner. Its sides run straight from τ to
//! τ across the edges where cells join, and straight outwards from the last τ where no cell follows. The mass of this
//! polygon is the integral of M dθ/2π around it. The order of the cells does not matter.

use std::f64::consts::{PI, TAU};

use nalgebra::Vector2;

use super::number::{Number, dot2};
use super::overlap::{Corner, turn};
use super::tilt::outwards;
use crate::math::largest::largest;

/// Two sides' overlap.
pub(super) struct Cell<S> {
    /// Two corners (a line there and back) or more.
    pub(super) corners: Vec<Corner<S>>,
    /// Slope of the gap over the plane across n.
    pub(super) slope: Vector2<S>,
}

/// How cells join.
pub(super) struct Net {
    /// The corners of each cell in order, cell after cell.
    joints: Vec<Joint>,
    /// For each vertex, a cell and the corner of the cell that is this vertex.
    pub(super) vertices: Vec<[usize; 2]>,
}

/// A cell's corner among all.
#[derive(Clone, Copy)]
struct Joint {
    /// None if the cell has no effect.
    vertex: Option<usize>,
    /// Does another cell join at the edge to the next corner?
    joins: bool,
}

/// Corners nearer to each other than this share of the farthest corner's distance from the contact are one. It is more
/// than the rounding of crossings of nearly parallel edges.
const SAME: f64 = 1e-7;

/// Sides that rise by less than another, squared and as many times, are flatter.
const FLATTER: f64 = 100.0;

impl Net {
    /// Of the vertices that count, each given as a cell's corner.
    pub(super) fn new<S: Number>(cells: &[Cell<S>], counts: impl Fn(&[usize; 2]) -> bool) -> Self {
        let corners = || cells.iter().flat_map(|cell| &cell.corners);
        let tolerance = SAME * largest(corners().flat_map(|corner| [corner.at.x.value(), corner.at.y.value()]));
        let most = corners().count();
        let (mut joints, mut vertices, mut points) = (
            Vec::with_capacity(most),
            Vec::<[usize; 2]>::with_capacity(most),
            Vec::<Vector2<f64>>::with_capacity(most),
        );
        let steepness = |cell: usize| -> f64 { dot2(&cells[cell].slope, &cells[cell].slope).value() };
        let is_flatter = |cell: usize, other: usize| FLATTER * steepness(cell) < steepness(other);
        for (cell, Cell { corners, .. }) in cells.iter().enumerate() {
            for (k, corner) in corners.iter().enumerate() {
                let at = Vector2::new(corner.at.x.value(), corner.at.y.value());
                // Most are apart along one axis, which is sooner told.
                let near =
                    |point: &Vector2<f64>| (point.x - at.x).abs() <= tolerance && (point - at).norm() <= tolerance;
                let found = points.iter().position(near);
                joints.push(Joint { vertex: Some(found.unwrap_or(points.len())), joins: false });
                match found {
                    // A steep side multiplies rounding.
                    Some(vertex) if is_flatter(cell, vertices[vertex][0]) => vertices[vertex] = [cell, k],
                    Some(_) => {}
                    None => {
                        points.push(at);
                        vertices.push([cell, k]);
                    }
                }
            }
        }
        let keep: Vec<bool> = vertices.iter().map(counts).collect();
        if cells.len() > 1 {
            drop_points(cells, &mut joints);
            join(cells, &mut joints, &keep);
        }
        let mut all = Self { joints, vertices };
        all.keep(&keep);
        all
    }

    /// Leaves out some vertices.
    pub(super) fn keep(&mut self, keep: &[bool]) {
        let (mut kept, mut count) = (keep.iter(), 0);
        let places = keep.iter().map(|&keep| {
            count += usize::from(keep);
            keep.then(|| count - 1)
        });
        let places: Vec<Option<usize>> = places.collect();
        for joint in &mut self.joints {
            joint.vertex = joint.vertex.and_then(|vertex| places[vertex]);
        }
        self.vertices.retain(|_| kept.next() == Some(&true));
    }

    /// Leaves out cells that touch none of the vertices, but keeps at least one cell; returns those that are left.
    pub(super) fn prune<S>(&mut self, cells: &[Cell<S>], but: Option<usize>) -> Vec<usize> {
        let mut left = Vec::new();
        let mut joints = Vec::new();
        let mut rest = &self.joints[..];
        for (cell, Cell { corners, .. }) in cells.iter().enumerate() {
            let (own, others) = rest.split_at(corners.len());
            rest = others;
            let has_vertex = self.vertices.iter().any(|&[of, _]| of == cell);
            if but == Some(cell) || has_vertex || own.iter().any(|joint| joint.vertex.is_some()) {
                left.push(cell);
                joints.extend_from_slice(own);
            }
        }
        self.joints = joints;
        for [cell, _] in &mut self.vertices {
            *cell = left.partition_point(|left| left < cell);
        }
        left
    }

    /// For each vertex the probability that a tilt makes it the deepest, given ε.
    pub(super) fn weights<S: Number>(&self, cells: &[Cell<S>], tilt: f64) -> Vec<S> {
        let none = S::constant(0.0);
        let mut weights = vec![none; self.vertices.len()];
        let mut turned = vec![0.0; self.vertices.len()];
        let mut rays = Vec::new();
        let mut rest = &self.joints[..];
        for Cell { corners, slope } in cells {
            let n = corners.len();
            let (own, others) = rest.split_at(n);
            rest = others;
            if own.iter().all(|joint| joint.vertex.is_none()) {
                continue;
            }
            let apex = slope * S::constant(tilt.recip());
            rays.clear();
            rays.extend(own.iter().enumerate().map(|(i, joint)| {
                let counts = joint.vertex.is_some() || own[(i + 1) % n].vertex.is_some();
                if counts { outwards(&apex, &corners[i].edge, joint.joins) } else { none }
            }));
            let half = |k: usize| if own[k].joins { PI / 2.0 } else { 0.0 };
            for (i, joint) in own.iter().enumerate() {
                let Some(vertex) = joint.vertex else { continue };
                let before = (i + n - 1) % n;
                let angle = turn(&corners[before].edge, &corners[i].edge, n == 2) - S::constant(half(before) + half(i));
                turned[vertex] += angle.value();
                weights[vertex] += (rays[before] + angle - rays[i]) / S::constant(TAU);
            }
        }
        // Cells all around a corner turn by −2π. Cells that hang together turn by π at most: if they turn by more there are two
        // groups of them, which share the corner alone, as the two parts of a line do where it passes from side to side.
        for (weight, turned) in weights.iter_mut().zip(turned) {
            if !(-1.5 * PI..1.05 * PI).contains(&turned) {
                *weight += S::constant(-turned.signum());
            }
        }
        weights
    }
}

/// Cells whose corners are all one are no more than that point.
fn drop_points<S>(cells: &[Cell<S>], joints: &mut [Joint]) {
    let mut rest = joints;
    for Cell { corners, .. } in cells {
        let (own, others) = rest.split_at_mut(corners.len());
        rest = others;
        if own.iter().all(|joint| joint.vertex == own[0].vertex) {
            own.iter_mut().for_each(|joint| joint.vertex = None);
        }
    }
}

/// Finds where cells join, at vertices that count.
fn join<S>(cells: &[Cell<S>], joints: &mut [Joint], counts: &[bool]) {
    let mut places = Vec::with_capacity(joints.len());
    let mut edges: Vec<([usize; 2], usize)> = Vec::with_capacity(joints.len());
    let edge = |places: &[usize], k: usize| [places[k], places[(k + 1) % places.len()]];
    places.extend(joints.iter().map(|joint| joint.vertex.unwrap_or(0)));
    let mut rest = &places[..];
    for (cell, Cell { corners, .. }) in cells.iter().enumerate() {
        let (own, others) = rest.split_at(corners.len());
        rest = others;
        let touches = |edge: &[usize; 2]| edge.iter().any(|&vertex| counts[vertex]);
        edges.extend(
            (0..own.len())
                .filter(|&k| !corners[k].is_rim)
                .map(|k| edge(own, k))
                .filter(touches)
                .map(|edge| (edge, cell)),
        );
    }
    let (mut rest, mut joints) = (&places[..], joints);
    for (cell, Cell { corners, .. }) in cells.iter().enumerate() {
        let n = corners.len();
        let (own, others) = rest.split_at(n);
        rest = others;
        let (own_joints, others) = joints.split_at_mut(n);
        joints = others;
        // A line along the edge between two sides is over both: it counts once.
        if n == 2 && edges.iter().any(|&(other, of)| of < cell && other == edge(own, 0)) {
            own_joints.iter_mut().for_each(|joint| joint.vertex = None);
        }
        for (k, joint) in own_joints.iter_mut().enumerate().filter(|&(k, _)| n > 2 && !corners[k].is_rim) {
            let [from, to] = edge(own, k);
            if from != to && (counts[from] || counts[to]) {
                joint.joins = edges.iter().any(|&(other, of)| of != cell && other == [to, from]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::overlap::polygon;

    /// A cell that is only a point has no part in the weights, but a vertex may be given as its corner.
    #[test]
    fn cells_that_are_a_point_keep_their_vertex() {
        let cell = |points: [[f64; 2]; 3]| Cell {
            corners: polygon(points.into_iter().map(Vector2::from)),
            slope: Vector2::new(0.01, 0.0),
        };
        let cells = [cell([[1.0, 0.0]; 3]), cell([[2.0, 0.0], [1.0, 1.0], [1.0, 0.0]])];
        let mut net = Net::new(&cells, |_| true);
        let at = |&[cell, k]: &[usize; 2]| cells[cell].corners[k].at;
        let before: Vec<_> = net.vertices.iter().map(at).collect();
        let left = net.prune(&cells, None);
        let after: Vec<_> = net.vertices.iter().map(|&[cell, k]| at(&[left[cell], k])).collect();
        assert_eq!(before, after);
    }

    /// A cell that has only a corner in common with the one that counts, on its far side, as where two boxes meet vertex on
    /// vertex. It is no second contact.
    #[test]
    fn cells_that_share_a_corner_are_one_contact() {
        let cell = |points: &[[f64; 2]], slope: [f64; 2]| Cell {
            corners: polygon(points.iter().copied().map(Vector2::from)),
            slope: slope.into(),
        };
        let near = cell(&[[-0.07, -0.17], [0.0, -0.16], [0.0, 0.0], [-0.08, 0.0]], [-0.036, -0.027]);
        let beyond = cell(&[[0.0, 0.0], [0.004, 0.0019], [0.0018, 0.0018]], [44.0, 146.0]);
        let sum = |cells: &[Cell<f64>]| Net::new(cells, |_| true).weights::<f64>(cells, 0.0875).iter().sum::<f64>();
        let whole = sum(&[near, beyond]);
        assert!((whole - 1.0).abs() < 1e-12, "{whole}");
    }
}
