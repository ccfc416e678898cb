//! The sides that a hull shows to what touches it: faces that are as good as one plane count as one side.
//!
//! A mesh that was exported or scanned has noise on its flat sides, and so many faces where there is one side. Contact
//! points ask for the border of that side (`collision/points.rs`), and for how much of all directions a vertex is the
//! farthest in.

use std::collections::VecDeque;
use std::f64::consts::{FRAC_PI_2, TAU};

use nalgebra::Vector3;

use super::hull_face::{HullFace, extent, planar_hull};

/// Several faces that are flat together, or one.
#[derive(Clone, Debug, PartialEq)]
pub struct HullSide {
    /// Outward unit normal: the mean of the faces', by area.
    pub normal: Vector3<f64>,
    /// The side's faces, as indices into the hull's.
    pub faces: Vec<usize>,
    /// All vertices of its faces, in order.
    pub vertices: Vec<usize>,
    /// The corners of the border, counter-clockwise seen from outside.
    pub corners: Vec<usize>,
    /// Those corners that count first where there are too many for a contact, in ascending order: at most ten, and the
    /// others as near as can be to the lines between these.
    pub main_corners: Vec<usize>,
    /// For the edge from each corner to the next, by how much the surface bends there, in right angles.
    pub bends: Vec<f64>,
    /// The hull's sides that have a vertex of this one, itself among them, as indices in ascending order.
    pub(super) around: Vec<usize>,
    /// For the edge from each corner to the next, the other sides that have both of its ends.
    pub(super) rivals: Vec<Vec<usize>>,
}

/// Vertices this near to a side's plane, in parts of the hull's size, may be in the side: twice the noise that a mesh
/// is expected to have, and a quarter more.
const FLAT: f64 = 2.5e-3;
/// Cosine of the largest angle between a side and one of its faces, 35°: a thin plate's two sides are not one.
const ASLANT: f64 = 0.82;

/// The most main corners of a side: two sides that meet have twenty together, all that there is room for.
const MAIN: usize = 10;
/// How often the range of distances between corners and lines is halved.
const HALVINGS: usize = 40;

/// Faces along whose normals a hull is measured.
const LARGEST: usize = 50;
/// How often a side is grown anew, each time along the mean normal of the faces that it had.
const ROUNDS: usize = 3;

/// The faces of a closed surface, and what is next to each of them.
struct Surface<'a> {
    points: Vec<Vector3<f64>>,
    faces: &'a [HullFace],
    areas: Vec<Vector3<f64>>,
    /// The faces at each vertex. Faces that are flat but for rounding may have different corners along one edge, so
    /// edges are not looked up by their corners.
    at_vertex: Vec<Vec<usize>>,
    tolerance: f64,
}

/// Which of some things a search has met.
struct Met {
    /// The last search that has met each.
    by: Vec<usize>,
    search: usize,
}

impl Met {
    /// Nothing has been met, of `n` things.
    fn nothing(n: usize) -> Self {
        Self { by: vec![0; n], search: 0 }
    }

    /// Begins a search.
    fn begin(&mut self) {
        self.search += 1;
    }

    /// Is it the first time that the search meets this?
    fn is_new(&mut self, thing: usize) -> bool {
        std::mem::replace(&mut self.by[thing], self.search) != self.search
    }
}

/// The sides of a closed surface.
pub(super) fn sides(vertices: &[[f64; 3]], faces: &[HullFace]) -> Vec<HullSide> {
    let points: Vec<Vector3<f64>> = vertices.iter().map(|&vertex| vertex.into()).collect();
    let mut at_vertex = vec![Vec::new(); points.len()];
    for (k, face) in faces.iter().enumerate() {
        face.corners.iter().for_each(|&corner| at_vertex[corner].push(k));
    }
    let areas = faces.iter().map(|face| area(&points, face)).collect();
    let surface = Surface { tolerance: FLAT * extent(&points), points, faces, areas, at_vertex };
    let mut side_of = vec![None; faces.len()];
    let mut sides = Vec::new();
    let mut met = [Met::nothing(faces.len()), Met::nothing(vertices.len())];
    for first in largest_first(&surface.areas) {
        if side_of[first].is_some() {
            continue;
        }
        let mut normal = Vector3::from(faces[first].normal);
        for round in 0..ROUNDS {
            let members = surface.grow(first, &normal, &side_of, &mut met[0]);
            normal = members.iter().map(|&face| surface.areas[face]).sum::<Vector3<f64>>().normalize();
            if members.len() == 1 || round + 1 == ROUNDS {
                members.iter().for_each(|&face| side_of[face] = Some(sides.len()));
                sides.push((members, normal));
                break;
            }
        }
    }
    let whole = |(number, (members, normal)): (usize, (Vec<usize>, Vector3<f64>))| {
        let own = distinct(members.iter().flat_map(|&face| faces[face].corners.iter().copied()));
        let corners = planar_hull(&surface.points, &own, &normal, 0.0);
        let is_own = |face: usize| side_of[face] == Some(number);
        let bends = surface.bends(&normal, &corners, is_own, &mut met);
        let main_corners = main_corners(&surface.points, &corners);
        let (around, rivals) = (Vec::new(), Vec::new());
        HullSide { normal, faces: members, vertices: own, corners, main_corners, bends, around, rivals }
    };
    let mut sides: Vec<HullSide> = sides.into_iter().enumerate().map(whole).collect();
    join(&mut sides, vertices.len());
    sides
}

/// Finds for each side those around it.
fn join(sides: &mut [HullSide], n_vertices: usize) {
    let mut at_vertex = vec![Vec::new(); n_vertices];
    for (k, side) in sides.iter().enumerate() {
        side.vertices.iter().for_each(|&vertex| at_vertex[vertex].push(k));
    }
    for (k, side) in sides.iter_mut().enumerate() {
        side.around = distinct(side.vertices.iter().flat_map(|&vertex| at_vertex[vertex].iter().copied()));
        let next = side.corners.iter().cycle().skip(1);
        let both = side.corners.iter().zip(next).map(|(from, to)| {
            let others = at_vertex[*from].iter().filter(|other| **other != k && at_vertex[*to].contains(other));
            others.copied().collect()
        });
        side.rivals = both.collect();
    }
}

/// At most [`MAIN`] corners of a convex polygon: with the least length for which a walk around it comes home in as few
/// chords, each as far as no corner between its ends is farther from it than that length.
fn main_corners(points: &[Vector3<f64>], corners: &[usize]) -> Vec<usize> {
    let n = corners.len();
    let at = |k: usize| points[corners[k % n]];
    let aside = |from: usize, to: usize| {
        let along = (at(to) - at(from)).try_normalize(0.0).unwrap_or_default();
        (from + 1..to).map(|k| (at(k) - at(from)).cross(&along).norm()).fold(0.0, f64::max)
    };
    let walk = |length: f64| {
        let mut ends = vec![0];
        while let Some(&from) = ends.last().filter(|&&from| from < n) {
            let fits = (from + 2..=n).take_while(|&to| to - from < n && aside(from, to) <= length);
            ends.push(fits.last().unwrap_or(from + 1));
        }
        ends.pop();
        ends
    };
    let mut best: Vec<usize> = (0..n).collect();
    let (mut low, mut high) = (0.0, extent(&corners.iter().map(|&corner| points[corner]).collect::<Vec<_>>()));
    for _ in 0..if n > MAIN { HALVINGS } else { 0 } {
        let middle = (low + high) / 2.0;
        let ends = walk(middle);
        if ends.len() <= MAIN { (best, high) = (ends, middle) } else { low = middle }
    }
    let mut main: Vec<usize> = best.into_iter().map(|k| corners[k]).collect();
    main.sort_unstable();
    main
}

fn largest_first(areas: &[Vector3<f64>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..areas.len()).collect();
    order.sort_by(|&i, &j| areas[j].norm_squared().total_cmp(&areas[i].norm_squared()).then(i.cmp(&j)));
    order
}

impl Surface<'_> {
    /// The first face and those around it, of no side yet, that are flat together along a normal.
    fn grow(&self, first: usize, normal: &Vector3<f64>, side_of: &[Option<usize>], met: &mut Met) -> Vec<usize> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut members = Vec::new();
        let mut queue = VecDeque::from([first]);
        met.begin();
        met.is_new(first);
        while let Some(face) = queue.pop_front() {
            let heights = || self.faces[face].corners.iter().map(|&corner| normal.dot(&self.points[corner]));
            let (lower, higher) = (heights().fold(low, f64::min), heights().fold(high, f64::max));
            let is_flat =
                higher - lower <= self.tolerance && normal.dot(&Vector3::from(self.faces[face].normal)) > ASLANT;
            if face != first && !is_flat {
                continue;
            }
            (low, high) = (lower, higher);
            members.push(face);
            let around = self.faces[face].corners.iter().flat_map(|&corner| &self.at_vertex[corner]);
            queue.extend(around.filter(|&&next| side_of[next].is_none() && met.is_new(next)));
        }
        members
    }

    /// How much the surface bends at the edges of a side's border: up to the faces beyond that have the edge's middle
    /// in their planes but for the tolerance. Noise leaves slivers along an edge, which bend a part of the way each.
    fn bends(
        &self,
        normal: &Vector3<f64>,
        corners: &[usize],
        is_own: impl Fn(usize) -> bool,
        [met, met_corners]: &mut [Met; 2],
    ) -> Vec<f64> {
        let n = corners.len();
        let mut beyond: Vec<(&HullFace, f64)> = Vec::new();
        let bend = |k: usize| {
            let ends = [corners[k], corners[(k + 1) % n]];
            let middle = (self.points[ends[0]] + self.points[ends[1]]) / 2.0;
            // The faces around the ends, and those around these.
            beyond.clear();
            met.begin();
            met_corners.begin();
            let next = ends.iter().flat_map(|&end| &self.at_vertex[end]);
            let corners = next.flat_map(|&face| &self.faces[face].corners);
            for &corner in corners.filter(|&&corner| met_corners.is_new(corner)) {
                for &face in self.at_vertex[corner].iter().filter(|&&face| met.is_new(face) && !is_own(face)) {
                    beyond.push((&self.faces[face], self.faces[face].height(&middle)));
                }
            }
            let nearest = beyond.iter().map(|(_, height)| *height).fold(f64::NEG_INFINITY, f64::max);
            let near = beyond.iter().filter(|(_, height)| *height >= nearest.min(-self.tolerance));
            near.map(|(face, _)| normal.angle(&Vector3::from(face.normal)) / FRAC_PI_2).fold(0.0, f64::max)
        };
        (0..n).map(bend).collect()
    }
}

/// Some numbers in ascending order, each once.
fn distinct(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut all: Vec<usize> = numbers.collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn area(points: &[Vector3<f64>], face: &HullFace) -> Vector3<f64> {
    let first = points[face.corners[0]];
    face.edges().map(|[i, j]| (points[i] - first).cross(&(points[j] - first))).sum()
}

/// For each point, in which part of half of all directions it is the farthest: a quarter for the corner of a box. This
/// is what the angles of the surface's triangles at the point lack to a full turn, over 2π.
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

/// Half of the least extent along a face's normal, of the largest faces.
pub(super) fn half_width(vertices: &[[f64; 3]], faces: &[HullFace]) -> f64 {
    let points: Vec<Vector3<f64>> = vertices.iter().map(|&vertex| vertex.into()).collect();
    let areas: Vec<Vector3<f64>> = faces.iter().map(|face| area(&points, face)).collect();
    let extent = |&face: &usize| points.iter().map(|point| -faces[face].height(point)).fold(0.0, f64::max);
    largest_first(&areas).iter().take(LARGEST).map(extent).fold(f64::INFINITY, f64::min) / 2.0
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

    /// Of a can's cap with many corners ten count first, evenly around it; all four of each side face.
    #[test]
    fn a_can_has_ten_main_corners() {
        for n in [11, 24, 48, 100] {
            let around = |k: usize, z: f64| {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
                [0.03 * cos, 0.03 * sin, z]
            };
            let points: Vec<[f64; 3]> = (0..n).flat_map(|k| [around(k, 0.0), around(k, 0.1)]).collect();
            let hull = Hull::new(&points).unwrap();
            let (caps, faces): (Vec<_>, Vec<_>) = hull.sides().iter().partition(|side| side.normal.z.abs() > 0.9);
            assert_eq!(caps.len(), 2);
            assert!(faces.iter().all(|side| side.main_corners.len() == side.corners.len()));
            for side in caps {
                let main: Vec<usize> = (0..n).filter(|&k| side.main_corners.contains(&side.corners[k])).collect();
                let next = main.iter().cycle().skip(1);
                let most = main.iter().zip(next).map(|(i, j)| (j + n - i) % n).max().unwrap();
                assert!((6..=10).contains(&main.len()) && most <= n.div_ceil(10) + 1, "{n}: {main:?}");
            }
        }
    }

    /// Whatever the noise, a box has six sides, and their corners have a quarter each: together what all directions
    /// have.
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
