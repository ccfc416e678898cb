//! Where several sides of two bodies lie over each other: the polygons, one for each two sides, and what they share.
//!
//! The gap over the plane across n is convex: over each polygon it is a plane, and it bends up where polygons join. The deepest
//! point under a tilt (see `tilt.rs`) is one of the corners. The slopes for which a corner is the deepest are a polygon themselves: its
//! corners are the slopes τ of the polygons around the corner, its sides go straight from τ to τ across the edges where they join, and
//! from the last τ straight outwards where there is nothing beyond. Its mass is the integral of M dθ/2π around it, whatever the order in
//! which the polygons come.

use std::f64::consts::{PI, TAU};

use nalgebra::Vector2;

use super::number::{Number, sub2};
use super::overlap::{Corner, turn};
use super::tilt::outwards;
use crate::math::largest::largest;

/// Two sides' overlap.
pub(super) struct Cell<S> {
    /// Two, a line there and back, or more.
    pub(super) corners: Vec<Corner<S>>,
    /// How the gap rises over the plane across n.
    pub(super) slope: Vector2<S>,
}

/// A corner of one cell or several.
pub(super) struct Vertex<S> {
    pub(super) at: Vector2<S>,
    /// A cell that it is a corner of.
    pub(super) cell: usize,
    /// The probability that a tilt makes it the deepest.
    pub(super) weight: S,
}

/// Corners that are nearer to each other than this part of the farthest one's distance from the contact are one: more than rounding makes
/// of crossings of nearly parallel edges.
const SAME: f64 = 1e-7;

/// The corners of all cells and their weights, given ε.
pub(super) fn vertices<S: Number>(cells: &[&Cell<S>], tilt: f64) -> Vec<Vertex<S>> {
    let ends = cells.iter().flat_map(|cell| &cell.corners).map(|corner| largest(corner.at.map(S::value).iter()));
    let tolerance = SAME * largest(ends.collect::<Vec<_>>());
    let mut all: Vec<Vertex<S>> = Vec::new();
    let none = S::constant(0.0);
    // The corners of each cell as places among all, in order.
    let mut places: Vec<Vec<usize>> = Vec::with_capacity(cells.len());
    for (cell, Cell { corners, .. }) in cells.iter().enumerate() {
        let mut place = |corner: &Corner<S>| {
            let near = |vertex: &Vertex<S>| sub2(&vertex.at, &corner.at).map(S::value).norm() <= tolerance;
            all.iter().position(near).unwrap_or_else(|| {
                all.push(Vertex { at: corner.at, cell, weight: none });
                all.len() - 1
            })
        };
        places.push(corners.iter().map(&mut place).collect());
    }
    let edges = |places: &[usize]| -> Vec<[usize; 2]> {
        places.iter().zip(places.iter().cycle().skip(1)).map(|(&from, &to)| [from, to]).collect()
    };
    let edges: Vec<Vec<[usize; 2]>> = places.iter().map(|places| edges(places)).collect();
    let mut turned = vec![0.0; all.len()];
    for (own, Cell { corners, slope }) in cells.iter().enumerate() {
        let n = corners.len();
        // A line along the edge between two sides is over both: it counts once.
        if n == 2 && edges[..own].contains(&edges[own]) {
            continue;
        }
        let apex = slope * S::constant(tilt.recip());
        let joins = |&[from, to]: &[usize; 2]| {
            let is_other = |(other, edges): (usize, &Vec<[usize; 2]>)| other != own && edges.contains(&[to, from]);
            n > 2 && from != to && edges.iter().enumerate().any(is_other)
        };
        let joins: Vec<bool> = edges[own].iter().map(joins).collect();
        let rays: Vec<S> =
            corners.iter().zip(&joins).map(|(corner, &joins)| outwards(&apex, &corner.edge, joins)).collect();
        for (i, &place) in places[own].iter().enumerate() {
            let before = (i + n - 1) % n;
            let half = |k: usize| if joins[k] { PI / 2.0 } else { 0.0 };
            let angle = turn(&corners[before].edge, &corners[i].edge, n == 2) - S::constant(half(before) + half(i));
            turned[place] += angle.value();
            all[place].weight += (rays[before] + angle - rays[i]) / S::constant(TAU);
        }
    }
    // Cells all around a corner turn by −2π, and the two parts of a line where it passes from side to side by 2π: both are whole turns.
    for (vertex, turned) in all.iter_mut().zip(turned) {
        let turns = if turned < -1.5 * PI {
            1.0
        } else if turned > 1.5 * PI {
            -1.0
        } else {
            0.0
        };
        if turns != 0.0 {
            vertex.weight += S::constant(turns);
        }
    }
    all
}
