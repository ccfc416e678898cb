//! The sides that a hull shows to what touches it: faces that are as good as one plane count as one side.
//!
//! A mesh that was exported or scanned has noise on its flat sides, and so many faces where there is one side. Contact
//! points ask for the border of that side (`collision/points.rs`), and for how much of all directions a vertex is the
//! farthest in.

use std::collections::HashMap;
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
    let beyond = neighbours(faces);
    let areas: Vec<Vector3<f64>> = faces.iter().map(|face| area(&points, face)).collect();
    let mut largest_first: Vec<usize> = (0..faces.len()).collect();
    largest_first.sort_by(|&i, &j| areas[j].norm().total_cmp(&areas[i].norm()).then(i.cmp(&j)));
    let mut side_of = vec![None; faces.len()];
    let mut sides = Vec::new();
    for first in largest_first {
        if side_of[first].is_some() {
            continue;
        }
        let members = grow(first, &points, faces, &areas, &beyond, &mut side_of, (sides.len(), tolerance));
        let normal = members.iter().map(|&face| areas[face]).sum::<Vector3<f64>>().normalize();
        sides.push((members, normal));
    }
    let whole = |(members, normal): (Vec<usize>, Vector3<f64>)| {
        let mut own: Vec<usize> = members.iter().flat_map(|&face| faces[face].corners.iter().copied()).collect();
        own.sort_unstable();
        own.dedup();
        let corners = planar_hull(&points, &own, &normal, 0.0);
        let bends = bends(&points, faces, &beyond, &members, (&normal, &corners));
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
    beyond: &HashMap<[usize; 2], usize>,
    side_of: &mut [Option<usize>],
    (side, tolerance): (usize, f64),
) -> Vec<usize> {
    let (mut members, mut sum) = (vec![first], areas[first]);
    side_of[first] = Some(side);
    let mut at = 0;
    while at < members.len() {
        for [i, j] in faces[members[at]].edges() {
            let Some(&next) = beyond.get(&[j, i]) else { continue };
            let both = (sum + areas[next]).normalize();
            let along = both.dot(&Vector3::from(faces[next].normal));
            let heights = || members.iter().chain([&next]).flat_map(|&face| &faces[face].corners);
            let height = |&corner: &usize| both.dot(&points[corner]);
            if side_of[next].is_some() || along < ASLANT {
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

/// The face that has an edge in this direction.
fn neighbours(faces: &[HullFace]) -> HashMap<[usize; 2], usize> {
    faces.iter().enumerate().flat_map(|(k, face)| face.edges().map(move |edge| (edge, k))).collect()
}

fn area(points: &[Vector3<f64>], face: &HullFace) -> Vector3<f64> {
    let first = points[face.corners[0]];
    face.edges().map(|[i, j]| (points[i] - first).cross(&(points[j] - first))).sum()
}

/// How much the surface bends at the edges of a side's border. The border of a noisy side is not straight: each of its
/// small edges counts for the edge of the border that it is nearest to, by its length.
fn bends(
    points: &[Vector3<f64>],
    faces: &[HullFace],
    beyond: &HashMap<[usize; 2], usize>,
    members: &[usize],
    (normal, corners): (&Vector3<f64>, &[usize]),
) -> Vec<f64> {
    let n = corners.len();
    let (mut angles, mut lengths) = (vec![0.0; n], vec![0.0; n]);
    for [i, j] in members.iter().flat_map(|&face| faces[face].edges()) {
        let Some(&other) = beyond.get(&[j, i]).filter(|other| !members.contains(other)) else { continue };
        let (middle, length) = ((points[i] + points[j]) / 2.0, (points[j] - points[i]).norm());
        let distance = |&k: &usize| {
            let (from, edge) = (points[corners[k]], points[corners[(k + 1) % n]] - points[corners[k]]);
            let part = ((middle - from).dot(&edge) / edge.norm_squared()).clamp(0.0, 1.0);
            (middle - from - edge * part).norm()
        };
        let Some(nearest) = (0..n).min_by(|x, y| distance(x).total_cmp(&distance(y))) else { continue };
        angles[nearest] += length * normal.angle(&Vector3::from(faces[other].normal));
        lengths[nearest] += length;
    }
    angles
        .iter()
        .zip(lengths)
        .map(|(angle, length)| if length > 0.0 { angle / length / FRAC_PI_2 } else { 0.0 })
        .collect()
}

/// For each vertex, in which part of half of all directions it is the farthest: a quarter for the corner of a box. This is what the angles of
/// the faces at the vertex lack to a full turn, over 2π.
pub(super) fn shares(vertices: &[[f64; 3]], faces: &[HullFace]) -> Vec<f64> {
    let point = |i: usize| Vector3::from(vertices[i]);
    let mut angles = vec![0.0; vertices.len()];
    for HullFace { corners, .. } in faces {
        let n = corners.len();
        for k in 0..n {
            let at = corners[k];
            let [before, after] = [corners[(k + n - 1) % n], corners[(k + 1) % n]].map(|i| point(i) - point(at));
            angles[at] += before.angle(&after);
        }
    }
    angles.into_iter().map(|angle| ((TAU - angle) / TAU).max(0.0)).collect()
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
                let large = sides.iter().filter(|side| side.bends.iter().sum::<f64>() > 3.0).count();
                assert_eq!(large, 6, "{noise} {sides:?}");
                let all: f64 = hull.shares().iter().sum();
                assert!((all - 2.0).abs() < 1e-9, "{noise} {all}");
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
