//! Which of a hull's faces are highest at a point, without a look at all of them.
//!
//! The height of a point p over a face with normal n and offset o is n·p − o. The faces are in a tree. Each node has a
//! place c among its faces, a box that their normals are in, and their least offset from c, so that no face of the node
//! is higher than
//!
//! ```text
//! m·(p − c) + h·|p − c| − min (o − n·c)        (m the box's middle, h half its sides, |p − c| by components)
//! ```
//!
//! Nodes below the level that is asked for are passed over. What is found is what a look at all faces finds, on any
//! hull: nothing depends on which faces are next to each other, which is not certain where faces are flat together but
//! for rounding.

use nalgebra::Vector3;

use super::hull_face::HullFace;

/// The most faces of a node that is not split.
const FEW: usize = 8;
/// Rounding of heights, as a part of the coordinates that they come from.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The planes of a hull's faces, in a tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HullPlanes {
    /// The farthest distance of a vertex from the origin, m.
    reach: f64,
    /// Each node comes before the nodes that it is split into.
    nodes: Vec<Node>,
    /// The faces of all nodes, in their order.
    planes: Vec<Plane>,
}

#[derive(Clone, Debug, PartialEq)]
struct Node {
    /// The mean of the faces' corners, m. From a place far away the bound would be loose.
    place: Vector3<f64>,
    /// The middle of the normals' box, and half of its sides.
    normals: [Vector3<f64>; 2],
    /// The least offset from the place, m.
    offset: f64,
    /// The node's planes, from the first to before the last.
    planes: [usize; 2],
    /// The first node that is no part of this one.
    next: usize,
}

impl Node {
    /// Is the node, which has this number, split? Its parts are the node after it and the one after that one's own
    /// parts.
    fn is_split(&self, number: usize) -> bool {
        self.next > number + 1
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Plane {
    face: usize,
    normal: Vector3<f64>,
    offset: f64,
}

impl Plane {
    /// [`HullFace::height`], to the last bit.
    fn height(&self, point: &Vector3<f64>) -> f64 {
        self.normal.dot(point) - self.offset
    }
}

impl HullPlanes {
    /// The tree of the faces of a hull with these vertices, the farthest of which is `reach` from the origin, m.
    pub(super) fn new(vertices: &[[f64; 3]], faces: &[HullFace], reach: f64) -> Self {
        let half = {
            let (low, high) = box_of(vertices.iter().map(|&vertex| vertex.into()));
            (high - low) / 2.0
        };
        let plane = |(face, of): (usize, &HullFace)| Plane { face, normal: of.normal.into(), offset: of.offset };
        let planes = faces.iter().enumerate().map(plane).collect();
        let mut tree = Self { reach, nodes: Vec::new(), planes };
        let place = |plane: &Plane| {
            let corners = &faces[plane.face].corners;
            corners.iter().map(|&i| Vector3::from(vertices[i])).sum::<Vector3<f64>>() / corners.len() as f64
        };
        tree.split([0, faces.len()], &half, &place);
        tree
    }

    /// Makes a node of some planes, and splits it if they are many. Given are half of the sides of the hull's box, m,
    /// and the middle of a plane's face.
    fn split(&mut self, range: [usize; 2], half: &Vector3<f64>, middle: &impl Fn(&Plane) -> Vector3<f64>) {
        let planes = &mut self.planes[range[0]..range[1]];
        let place = planes.iter().map(middle).sum::<Vector3<f64>>() / planes.len() as f64;
        let offset = planes.iter().map(|plane| -plane.height(&place)).fold(f64::INFINITY, f64::min);
        let (low, high) = box_of(planes.iter().map(|plane| plane.normal));
        // Across the axis along which the heights at the hull's points differ the most.
        let axis = (high - low).component_mul(half).imax();
        let at = planes.len() / 2;
        let is_split = planes.len() > FEW;
        if is_split {
            planes.select_nth_unstable_by(at, |x, y| x.normal[axis].total_cmp(&y.normal[axis]));
        }
        let number = self.nodes.len();
        let normals = [(low + high) / 2.0, (high - low) / 2.0];
        self.nodes.push(Node { place, normals, offset, planes: range, next: 0 });
        if is_split {
            self.split([range[0], range[0] + at], half, middle);
            self.split([range[0] + at, range[1]], half, middle);
        }
        self.nodes[number].next = self.nodes.len();
    }

    /// The faces that are highest at a point or lower by at most `tolerance`, m, in ascending order, with the point's
    /// heights over them, m. None if a coordinate is not a number.
    pub(super) fn highest(&self, point: &Vector3<f64>, tolerance: f64) -> Vec<(usize, f64)> {
        let view = View::new(self, point);
        // Down the tree to faces that are high, if not the highest.
        let mut at = 0;
        while self.nodes[at].is_split(at) {
            let [first, second] = [at + 1, self.nodes[at + 1].next];
            at = if view.guess(first) >= view.guess(second) { first } else { second };
        }
        let [first, last] = self.nodes[at].planes;
        let high = self.planes[first..last].iter().map(|plane| plane.height(point)).fold(f64::NEG_INFINITY, f64::max);
        let mut all = Vec::new();
        let mut level = high - tolerance;
        view.above(level, |face, height| {
            all.push((face, height));
            level = level.max(height - tolerance);
            level
        });
        all.retain(|&(_, height)| height >= level);
        all.sort_unstable_by_key(|&(face, _)| face);
        all
    }

    /// The faces over which a point is at a height of at least `level`, m, in ascending order, with the heights, m.
    pub(super) fn above(&self, point: &Vector3<f64>, level: f64) -> Vec<(usize, f64)> {
        let mut all = Vec::new();
        View::new(self, point).above(level, |face, height| {
            all.push((face, height));
            level
        });
        all.sort_unstable_by_key(|&(face, _)| face);
        all
    }

    /// Is a point at most `tolerance`, m, above all faces?
    pub(super) fn contain(&self, point: &Vector3<f64>, tolerance: f64) -> bool {
        let mut is_inside = point.iter().all(|x| x.is_finite());
        View::new(self, point).above(tolerance, |_, height| {
            is_inside &= height <= tolerance;
            if is_inside { tolerance } else { f64::INFINITY }
        });
        is_inside
    }
}

/// The lowest and the highest corner of the box around some vectors.
fn box_of(vectors: impl Iterator<Item = Vector3<f64>>) -> (Vector3<f64>, Vector3<f64>) {
    let none = (Vector3::repeat(f64::INFINITY), Vector3::repeat(f64::NEG_INFINITY));
    vectors.fold(none, |(low, high), v| (low.inf(&v), high.sup(&v)))
}

/// A point as the tree sees it.
struct View<'a> {
    tree: &'a HullPlanes,
    point: &'a Vector3<f64>,
    /// Rounding of heights here, m.
    rounding: f64,
}

impl<'a> View<'a> {
    fn new(tree: &'a HullPlanes, point: &'a Vector3<f64>) -> Self {
        Self { tree, point, rounding: ROUNDING * (point.norm() + tree.reach) }
    }

    /// A height that no face of a node is above.
    fn bound(&self, node: usize) -> f64 {
        let Node { place, normals: [middle, half], offset, .. } = &self.tree.nodes[node];
        let from = self.point - place;
        middle.dot(&from) + half.dot(&from.abs()) - offset + self.rounding
    }

    /// About how high the point is over a node's faces, m.
    fn guess(&self, node: usize) -> f64 {
        let Node { place, normals: [middle, _], offset, .. } = &self.tree.nodes[node];
        middle.dot(&(self.point - place)) - offset
    }

    /// Visits the faces, with the point's heights over them, m, that are not below the level. Each visit returns the
    /// level from there on.
    fn above(&self, mut level: f64, mut visit: impl FnMut(usize, f64) -> f64) {
        let mut at = 0;
        while let Some(node) = self.tree.nodes.get(at) {
            if self.bound(at) < level {
                at = node.next;
                continue;
            }
            let [first, last] = node.planes;
            for plane in if node.is_split(at) { &[] } else { &self.tree.planes[first..last] } {
                let height = plane.height(self.point);
                if height >= level {
                    level = visit(plane.face, height);
                }
            }
            at += 1;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Hull;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use std::f64::consts::TAU;

    /// Distances within which features are looked for, as parts of a hull's size; and none.
    pub(crate) const TOLERANCES: [f64; 6] = [0.0, 1e-12, 1e-8, 1e-5, 1e-3, 3e-2];

    /// A box with many points on its sides, all of them off by up to a part of its size.
    fn noisy_box(noise: f64, random: &mut ChaCha8Rng) -> Vec<[f64; 3]> {
        let sides = (0..343).map(|k| [k % 7, k / 7 % 7, k / 49]).filter(|at| at.iter().any(|k| k % 6 == 0));
        sides.map(|at| at.map(|k| k as f64 / 3.0 - 1.0 + random.random_range(-noise..=noise))).collect()
    }

    /// Hulls of all kinds: in space, on a ball, of cubes, cans, with flat sides but for noise, thin as a plate or a
    /// needle, far from the origin.
    pub(crate) fn hulls(random: &mut ChaCha8Rng) -> Vec<Hull> {
        let ball = |n: usize, random: &mut ChaCha8Rng| -> Vec<[f64; 3]> {
            let mut point = || Vector3::from_fn(|_, _| random.random_range(-1.0..1.0)).normalize().into();
            (0..n).map(|_| point()).collect()
        };
        let can = |n: usize| -> Vec<[f64; 3]> {
            let around = |k: usize| (TAU * k as f64 / n as f64).sin_cos();
            (0..2 * n).map(|k| [around(k).0, around(k).1, if k < n { -1.0 } else { 1.0 }]).collect()
        };
        let mut all = vec![ball(5, random), ball(30, random), ball(400, random), can(4), can(48), can(100)];
        all.extend([0.0, 1e-9, 1e-6, 1e-5, 1e-3].map(|noise| noisy_box(noise, random)));
        let scales = [([1.0; 3], 0.0), ([1.0, 0.7, 3e-5], 0.0), ([4e-3, 3e-3, 1.0], 0.0), ([0.03, 0.02, 0.05], 9.0)];
        let placed = |points: &[[f64; 3]]| -> Vec<Hull> {
            let scaled = scales.iter().filter_map(|&(scale, far)| {
                let points: Vec<_> = points.iter().map(|p| [0, 1, 2].map(|k| p[k] * scale[k] + far)).collect();
                Hull::new(&points).ok()
            });
            scaled.collect()
        };
        all.iter().flat_map(|points| placed(points)).collect()
    }

    /// A point in the box around a hull or not far from it; at a corner, on an edge or side, or nearly.
    pub(crate) fn place(hull: &Hull, random: &mut ChaCha8Rng) -> Vector3<f64> {
        let vertex = |i: usize| Vector3::from(hull.vertices()[i]);
        let (low, high) = box_of((0..hull.vertices().len()).map(vertex));
        let face = &hull.faces()[random.random_range(0..hull.faces().len())];
        let [i, j] = face.edges().nth(random.random_range(0..face.corners.len())).unwrap();
        let k = face.corners[random.random_range(0..face.corners.len())];
        let [s, t] = [random.random_range(0.0..1.0), random.random_range(0.0..1.0)];
        let along = vertex(i) + (vertex(j) - vertex(i)) * s;
        let at = match random.random_range(0..6) {
            0 => low + (high - low).component_mul(&Vector3::from_fn(|_, _| random.random_range(-0.3..1.3))),
            1 => vertex(k),
            2 => along,
            3 => (low + high) / 2.0,
            4 => vertex(k) + (low + high - vertex(k) * 2.0) * (0.1 * s),
            _ => along + (vertex(k) - along) * t,
        };
        let off = [0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3][random.random_range(0..6)] * hull.reach();
        at + Vector3::from_fn(|_, _| random.random_range(-1.0..=1.0)) * off
    }

    #[test]
    fn finds_what_a_look_at_all_faces_finds() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let hulls = hulls(&mut random);
        assert!(hulls.len() > 40);
        for hull in &hulls {
            let faces = hull.faces();
            for _ in 0..100_000 / hulls.len() {
                let point = place(hull, &mut random);
                let tolerance = TOLERANCES[random.random_range(0..6)] * hull.reach();
                let heights: Vec<(usize, f64)> = faces.iter().map(|face| face.height(&point)).enumerate().collect();
                let top = heights.iter().map(|of| of.1).fold(f64::NEG_INFINITY, f64::max);
                let from =
                    |level: f64| -> Vec<(usize, f64)> { heights.iter().filter(|of| of.1 >= level).copied().collect() };
                assert_eq!(hull.planes().highest(&point, tolerance), from(top - tolerance));
                assert_eq!(hull.planes().above(&point, -tolerance), from(-tolerance));
                assert_eq!(hull.planes().contain(&point, tolerance), heights.iter().all(|of| of.1 <= tolerance));
            }
        }
    }

    #[test]
    fn what_is_no_number_is_nowhere() {
        let hull = hulls(&mut ChaCha8Rng::seed_from_u64(1)).pop().unwrap();
        for x in [f64::NAN, f64::INFINITY] {
            let point = Vector3::new(0.0, x, 0.0);
            assert!(!hull.planes().contain(&point, 1.0));
        }
        assert!(hull.planes().highest(&Vector3::repeat(f64::NAN), 1.0).is_empty());
    }

    /// No vertex is farther than the one where a walk ends, but for what the corners of a face may be off its plane:
    /// 1e-6 of the hull's size.
    #[test]
    fn walks_end_at_the_farthest_vertex() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for hull in hulls(&mut random) {
            let (low, high) = box_of(hull.vertices().iter().map(|&vertex| vertex.into()));
            let size = (high - low).norm();
            for _ in 0..1000 {
                let mut direction = Vector3::from_fn(|_, _| random.random_range(-1.0..1.0));
                if random.random_bool(0.2) {
                    direction = Vector3::ith(random.random_range(0..3), direction.x);
                }
                let along = |i: usize| direction.dot(&Vector3::from(hull.vertices()[i])) / direction.norm();
                let most = (0..hull.vertices().len()).map(along).fold(f64::NEG_INFINITY, f64::max);
                let lacks = most - along(hull.farthest(&direction));
                assert!(lacks <= 1e-6 * size, "{lacks:e} of {size}");
            }
        }
    }
}
