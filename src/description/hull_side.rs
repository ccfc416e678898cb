//! The sides that a hull shows to what touches it: faces that are as good as one plane count as one side.
//!
//! A mesh that was exported or scanned has noise on its flat sides, and so many faces where there is one side. Contact
//! points ask for the border of that side (`collision/points.rs`), and for how much of all directions a vertex is the
//! farthest in.

use std::f64::consts::{FRAC_PI_2, TAU};

use nalgebra::Vector3;

use super::hull::{HullFace, extent, planar_hull};

/// Several faces that are flat together, or one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HullSide {
    /// Outward unit normal: the mean of the faces', by area.
    pub(crate) normal: Vector3<f64>,
    /// Its faces, as places in the hull's.
    pub(crate) faces: Vec<usize>,
    /// All vertices of its faces, in order.
    pub(crate) vertices: Vec<usize>,
    /// The corners of the border, counter-clockwise seen from outside.
    pub(crate) corners: Vec<usize>,
    /// For the edge from each corner to the next, by how much the surface bends there, in right angles.
    pub(crate) bends: Vec<f64>,
}

/// Vertices this near to a side's plane, in parts of the hull's size, may be in the side: twice the noise that a mesh is
/// expected to have, and a quarter more.
const FLAT: f64 = 2.5e-3;
/// Cosine of the largest angle between a side and one of its faces, 35°: a thin plate's two sides are not one.
const ASLANT: f64 = 0.82;

/// The sides of a closed surface.
pub(super) fn sides(vertices: &[[f64; 3]], faces: &[HullFace]) -> Vec<HullSide> {
    let points: Vec<Vector3<f64>> = vertices.iter().map(|&vertex| vertex.into()).collect();
    let tolerance = FLAT * extent(&points);
    // By their vertices: faces that are flat but for rounding may have different corners along one edge.
    let mut at_vertex = vec![Vec::new(); points.len()];
    for (k, face) in faces.iter().enumerate() {
        face.corners.iter().for_each(|&corner| at_vertex[corner].push(k));
    }
    let areas: Vec<Vector3<f64>> = faces.iter().map(|face| area(&points, face)).collect();
    let mut largest_first: Vec<usize> = (0..faces.len()).collect();
    largest_first.sort_by(|&i, &j| areas[j].norm().total_cmp(&areas[i].norm()).then(i.cmp(&j)));
    let mut side_of = vec![None; faces.len()];
    let mut sides = Vec::new();
    for first in largest_first {
        if side_of[first].is_some() {
            continue;
        }
        let members = grow(first, &points, faces, &areas, &at_vertex, &mut side_of, (sides.len(), tolerance));
        let normal = members.iter().map(|&face| areas[face]).sum::<Vector3<f64>>().normalize();
        sides.push((members, normal));
    }
    let whole = |(members, normal): (Vec<usize>, Vector3<f64>)| {
        let mut own: Vec<usize> = members.iter().flat_map(|&face| faces[face].corners.iter().copied()).collect();
        own.sort_unstable();
        own.dedup();
        let corners = planar_hull(&points, &own, &normal, 0.0);
        let bends = bends(&points, faces, &members, (&normal, &corners), tolerance);
        HullSide { normal, faces: members, vertices: own, corners, bends }
    };
    sides.into_iter().map(whole).collect()
}

/// Takes neighbouring faces into the side of the first one as long as they are flat together.
fn grow(
    first: usize,
    points: &[Vector3<f64>],
    faces: &[HullFace],
    areas: &[Vector3<f64>],
    at_vertex: &[Vec<usize>],
    side_of: &mut [Option<usize>],
    (side, tolerance): (usize, f64),
) -> Vec<usize> {
    let (mut members, mut sum) = (vec![first], areas[first]);
    side_of[first] = Some(side);
    let mut at = 0;
    while at < members.len() {
        for &next in faces[members[at]].corners.iter().flat_map(|&corner| &at_vertex[corner]) {
            if side_of[next].is_some() {
                continue;
            }
            let both = (sum + areas[next]).normalize();
            let along = both.dot(&Vector3::from(faces[next].normal));
            let heights = || members.iter().chain([&next]).flat_map(|&face| &faces[face].corners);
            let height = |&corner: &usize| both.dot(&points[corner]);
            if along < ASLANT {
                continue;
            }
            let low = heights().map(height).fold(f64::INFINITY, f64::min);
            let high = heights().map(height).fold(f64::NEG_INFINITY, f64::max);
            if high - low <= tolerance {
                side_of[next] = Some(side);
                sum += areas[next];
                members.push(next);
            }
        }
        at += 1;
    }
    members
}

fn area(points: &[Vector3<f64>], face: &HullFace) -> Vector3<f64> {
    let first = points[face.corners[0]];
    face.edges().map(|[i, j]| (points[i] - first).cross(&(points[j] - first))).sum()
}

/// How much the surface bends at the edges of a side's border: up to the faces beyond that have the edge's middle in their planes but for the
/// tolerance. Noise leaves slivers along an edge, which bend a part of the way each.
fn bends(
    points: &[Vector3<f64>],
    faces: &[HullFace],
    members: &[usize],
    (normal, corners): (&Vector3<f64>, &[usize]),
    tolerance: f64,
) -> Vec<f64> {
    let n = corners.len();
    let bend = |k: usize| {
        let middle = (points[corners[k]] + points[corners[(k + 1) % n]]) / 2.0;
        let beyond = || faces.iter().enumerate().filter(|(face, _)| !members.contains(face)).map(|(_, face)| face);
        let nearest = beyond().map(|face| face.height(&middle)).fold(f64::NEG_INFINITY, f64::max);
        let near = beyond().filter(|face| face.height(&middle) >= nearest.min(-tolerance));
        near.map(|face| normal.angle(&Vector3::from(face.normal)) / FRAC_PI_2).fold(0.0, f64::max)
    };
    (0..n).map(bend).collect()
}

/// For each point, in which part of half of all directions it is the farthest: a quarter for the corner of a box. This is what the angles of
/// the surface's triangles at the point lack to a full turn, over 2π.
pub(super) fn shares(points: &[Vector3<f64>], triangles: &[[usize; 3]]) -> Vec<f64> {
    let mut angles = vec![0.0; points.len()];
    for corners in triangles {
        for k in 0..3 {
            let [at, next, last] = [k, (k + 1) % 3, (k + 2) % 3].map(|k| corners[k]);
            angles[at] += (points[next] - points[at]).angle(&(points[last] - points[at]));
        }
    }
    // A point that no triangle has is inside.
    angles.into_iter().map(|angle| if angle > 0.0 { ((TAU - angle) / TAU).max(0.0) } else { 0.0 }).collect()
}

/// Half of the least extent along a face's normal.
pub(super) fn half_width(vertices: &[[f64; 3]], faces: &[HullFace]) -> f64 {
    let extent = |face: &HullFace| {
        let depth = |&vertex: &[f64; 3]| -face.height(&vertex.into());
        vertices.iter().map(depth).fold(0.0, f64::max)
    };
    faces.iter().map(extent).fold(f64::INFINITY, f64::min) / 2.0
}

#[cfg(test)]
mod tests {
    use super::super::Hull;
    use super::HullSide;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// A box of which each side has points, all of them off by up to some noise.
    fn noisy_box(noise: f64, n: usize, seed: u64) -> Hull {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let half = [0.04, 0.03, 0.02];
        let at = |k: usize, h: f64| h * (2.0 * k as f64 / n as f64 - 1.0);
        let mut points = Vec::new();
        for index in 0..(n + 1).pow(3) {
            let place = [index % (n + 1), index / (n + 1) % (n + 1), index / (n + 1).pow(2)];
            if place.iter().any(|&k| k == 0 || k == n) {
                points.push([0, 1, 2].map(|i| at(place[i], half[i]) + random.random_range(-noise..=noise)));
            }
        }
        Hull::new(&points).unwrap()
    }

    /// Whatever the noise, a box has six sides, and their corners have a quarter each: together what all directions have.
    #[test]
    fn a_noisy_box_has_six_sides() {
        for noise in [0.0, 1e-9, 1e-7, 1e-6, 1e-5, 8e-5] {
            for seed in 0..10 {
                let hull = noisy_box(noise, 3, seed);
                let sides = hull.sides();
                let is_flat = |side: &&HullSide| side.normal.amax() > 0.999;
                assert_eq!(sides.iter().filter(is_flat).count(), 6, "{noise} {sides:?}");
                for side in sides.iter().filter(is_flat) {
                    // Along each edge it bends by a right angle; next to a corner, noise may leave small edges.
                    let right = side.bends.iter().filter(|bend| (*bend - 1.0).abs() < 0.02).count();
                    assert!(right >= 4, "{noise} {side:?}");
                }
                let all: f64 = hull.shares().iter().sum();
                // Points of a side that is as good as flat are left out, with the little that they have.
                assert!((all - 2.0).abs() < 1e-4, "{noise} {all}");
                let corners = hull
                    .vertices()
                    .iter()
                    .zip(hull.shares())
                    .filter(|(v, _)| v[0].abs() > 0.0399 && v[1].abs() > 0.0299 && v[2].abs() > 0.0199);
                for (vertex, share) in corners {
                    assert!((share - 0.25).abs() < 10.0 * noise / 0.02 + 1e-6, "{noise} {vertex:?} {share}");
                }
            }
        }
    }
}
