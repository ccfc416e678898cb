//! Convex polyhedra.

use nalgebra::Vector3;

use super::hull_face::{HullFace, extent, planar_hull};
use super::hull_planes::HullPlanes;
use super::hull_side::{self, HullSide};
use super::{Inertia, check, quickhull};
use crate::error::{Error, Result};
use crate::largest::largest;

/// The convex hull of some points, m. It may lie anywhere in its frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Hull {
    vertices: Vec<[f64; 3]>,
    faces: Vec<HullFace>,
    planes: HullPlanes,
    /// The farthest that a corner is below its face's plane, m.
    sunk: f64,
    edges: Vec<[usize; 2]>,
    /// The vertices that an edge joins to each vertex, one vertex after the other, and where each one's begin.
    neighbours: Vec<usize>,
    first_neighbours: Vec<usize>,
    /// For each cell of a cube of directions, the farthest vertex along the cell's middle; empty if no walk is needed.
    starts: Vec<usize>,
    reach: f64,
    middle: Vector3<f64>,
    sides: Vec<HullSide>,
    /// The sides that each vertex is in.
    sides_at: Vec<Vec<usize>>,
    shares: Vec<f64>,
    /// The vertices from the largest share to the least.
    by_share: Vec<usize>,
    half_width: f64,
}

/// Vertices this far from a plane, relative to the hull's size, lie in it; and a hull this thin is flat. Above the
/// rounding of mesh files, which are in single precision.
const FLAT: f64 = 1e-6;

/// Hulls with more vertices than this find their farthest vertex by walking along edges.
const WALK: usize = 24;
/// The cells along each edge of the cube of directions from which walks begin.
const CELLS: usize = 8;

impl Hull {
    /// The hull of at least four points that are not in one plane. Points inside are dropped.
    ///
    /// # Errors
    /// If there are too few points, all are in one plane, or one is not finite or farther than 1e6 m from the origin.
    pub fn new(points: &[[f64; 3]]) -> Result<Self> {
        if points.len() < 4 {
            return Err(Error::invalid("hull", format!("expected at least 4 points, got {}", points.len())));
        }
        for (i, &point) in points.iter().enumerate() {
            check::position(&format!("hull point {}", i + 1), &point.into())?;
        }
        let flat = || Error::invalid("hull", "expected points that are not all in one plane");
        let points: Vec<Vector3<f64>> = points.iter().map(|&point| point.into()).collect();
        let triangles = quickhull::triangles(&points).ok_or_else(flat)?;
        let size = extent(&points);
        let hull = Self::of_faces(&points, &triangles, polygons(&points, &triangles, FLAT * size));
        // Where a surface bends as little from triangle to triangle as a flat one may, sides need not close.
        let hull =
            if hull.is_closed() { hull } else { Self::of_faces(&points, &triangles, single(&points, &triangles)) };
        let has_volume = hull.solid().mass > 0.0 && 2.0 * hull.half_width > FLAT * size;
        if hull.is_closed() && has_volume { Ok(hull) } else { Err(flat()) }
    }

    /// The hull with these sides of a surface of triangles, their corners in the order in which they come.
    fn of_faces(points: &[Vector3<f64>], triangles: &[[usize; 3]], mut faces: Vec<HullFace>) -> Self {
        let mut place = vec![None; points.len()];
        let (mut vertices, mut shares) = (Vec::<[f64; 3]>::new(), Vec::new());
        let of_points = hull_side::shares(points, triangles);
        for corner in faces.iter_mut().flat_map(|face| &mut face.corners) {
            *corner = *place[*corner].get_or_insert_with(|| {
                vertices.push(points[*corner].into());
                shares.push(of_points[*corner]);
                vertices.len() - 1
            });
        }
        let mut edges: Vec<[usize; 2]> = faces.iter().flat_map(HullFace::edges).filter(|[i, j]| i < j).collect();
        edges.sort_unstable();
        let mut joined = vec![Vec::new(); vertices.len()];
        for &[i, j] in &edges {
            joined[i].push(j);
            joined[j].push(i);
        }
        let mut first_neighbours = vec![0];
        for others in &joined {
            first_neighbours.push(first_neighbours.last().map_or(0, |first| first + others.len()));
        }
        let middle = vertices.iter().map(|&v| Vector3::from(v)).sum::<Vector3<f64>>() / vertices.len() as f64;
        let reach = largest(vertices.iter().map(|&v| Vector3::from(v).norm()));
        let sides = hull_side::sides(&vertices, &faces);
        let mut sides_at = vec![Vec::new(); vertices.len()];
        for (k, side) in sides.iter().enumerate() {
            side.vertices.iter().for_each(|&vertex| sides_at[vertex].push(k));
        }
        let half_width = hull_side::half_width(&vertices, &faces);
        let mut by_share: Vec<usize> = (0..vertices.len()).collect();
        by_share.sort_by(|&i, &j| shares[j].total_cmp(&shares[i]));
        let planes = HullPlanes::new(&vertices, &faces, reach);
        let depths = |face: &HullFace| largest(face.corners.iter().map(|&i| -face.height(&vertices[i].into())));
        let sunk = largest(faces.iter().map(depths));
        let mut hull = Self {
            vertices,
            faces,
            planes,
            sunk,
            edges,
            neighbours: joined.concat(),
            first_neighbours,
            starts: Vec::new(),
            reach,
            middle,
            sides,
            sides_at,
            shares,
            by_share,
            half_width,
        };
        if hull.vertices.len() > WALK {
            hull.starts = directions()
                .scan(0, |at, n| {
                    *at = hull.walk(*at, &n);
                    Some(*at)
                })
                .collect();
        }
        hull
    }

    /// Euler's formula.
    fn is_closed(&self) -> bool {
        self.vertices.len() + self.faces.len() == self.edges.len() + 2
    }

    /// The vertices, m.
    pub fn vertices(&self) -> &[[f64; 3]] {
        &self.vertices
    }

    /// The sides.
    pub fn faces(&self) -> &[HullFace] {
        &self.faces
    }

    /// The edges, as indices of their two ends in [`Hull::vertices`].
    pub fn edges(&self) -> &[[usize; 2]] {
        &self.edges
    }

    /// The farthest distance of a vertex from the frame's origin, m.
    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// The mean of the vertices, m.
    pub(super) fn middle(&self) -> Vector3<f64> {
        self.middle
    }

    /// The index of the vertex that is farthest along a direction (of any length).
    pub(super) fn farthest(&self, direction: &Vector3<f64>) -> usize {
        if self.starts.is_empty() {
            let all = 1..self.vertices.len();
            return all.fold((0, self.along(0, direction)), |best, i| self.farther(best, i, direction)).0;
        }
        self.walk(self.starts[cell(direction)], direction)
    }

    /// The end of a walk along edges, from a vertex, each time to the neighbour that is farthest along a direction.
    fn walk(&self, from: usize, direction: &Vector3<f64>) -> usize {
        let mut best = (from, self.along(from, direction));
        loop {
            let next = self.neighbours(best.0).iter().fold(best, |best, &i| self.farther(best, i, direction));
            if next.0 == best.0 {
                return best.0;
            }
            best = next;
        }
    }

    fn along(&self, vertex: usize, direction: &Vector3<f64>) -> f64 {
        Vector3::from(self.vertices[vertex]).dot(direction)
    }

    /// The best vertex so far with how far it is along a direction, or another one if that is farther.
    fn farther(&self, best: (usize, f64), other: usize, direction: &Vector3<f64>) -> (usize, f64) {
        let along = self.along(other, direction);
        if along > best.1 { (other, along) } else { best }
    }

    /// The planes of the faces, to look for those that are near a point.
    pub(super) fn planes(&self) -> &HullPlanes {
        &self.planes
    }

    /// The faces that may have something within `distance`, m, of a point, in ascending order, with the point's heights
    /// over them, m.
    pub(super) fn faces_near(&self, point: &Vector3<f64>, distance: f64) -> Vec<(usize, f64)> {
        self.planes.above(point, -(distance + self.sunk))
    }

    /// The sides that it shows to what touches it.
    pub(super) fn sides(&self) -> &[HullSide] {
        &self.sides
    }

    /// The flat sides that a vertex belongs to.
    pub fn sides_at(&self, i: usize) -> impl Iterator<Item = &HullSide> {
        self.sides_at[i].iter().map(|&side| &self.sides[side])
    }

    /// For each vertex, in which part of half of all directions it is the farthest.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The vertices from the largest share to the least.
    pub(super) fn by_share(&self) -> &[usize] {
        &self.by_share
    }

    /// Half of the least distance between two parallel planes around the hull of which one has a face, m.
    pub fn half_width(&self) -> f64 {
        self.half_width
    }

    /// The vertices that are joined to vertex `i` by an edge.
    pub fn neighbours(&self, i: usize) -> &[usize] {
        &self.neighbours[self.first_neighbours[i]..self.first_neighbours[i + 1]]
    }

    /// The solid at unit density: its mass is the volume, m³.
    pub fn solid(&self) -> Inertia {
        let vertex = |i: usize| Vector3::from(self.vertices[i]);
        let fan = |corners: &'_ [usize]| -> Vec<[Vector3<f64>; 3]> {
            corners[1..].windows(2).map(|pair| [corners[0], pair[0], pair[1]].map(vertex)).collect()
        };
        Inertia::enclosed(self.faces.iter().flat_map(|face| fan(&face.corners)))
    }
}

/// The cell of the cube of directions that a direction (of any length) is in.
fn cell(direction: &Vector3<f64>) -> usize {
    let axis = direction.iamax();
    let scale = CELLS as f64 / 2.0 / direction[axis].abs();
    // What is not a number counts as 0.
    let place = |k: usize| ((direction[(axis + k) % 3] * scale + CELLS as f64 / 2.0) as usize).min(CELLS - 1);
    ((2 * axis + usize::from(direction[axis] < 0.0)) * CELLS + place(1)) * CELLS + place(2)
}

/// The middles of the cells of the cube of directions.
fn directions() -> impl Iterator<Item = Vector3<f64>> {
    let middle = |k: usize| (2 * (k % CELLS) + 1) as f64 / CELLS as f64 - 1.0;
    (0..6 * CELLS * CELLS).map(move |k| {
        let (axis, sign) = (k / (2 * CELLS * CELLS), if (k / (CELLS * CELLS)).is_multiple_of(2) { 1.0 } else { -1.0 });
        let mut direction = Vector3::ith(axis, sign);
        (direction[(axis + 1) % 3], direction[(axis + 2) % 3]) = (middle(k / CELLS), middle(k));
        direction
    })
}

/// Twice the area of a triangle along its normal.
fn area(points: &[Vector3<f64>], corners: [usize; 3]) -> Vector3<f64> {
    let [a, b, c] = corners.map(|i| points[i]);
    (b - a).cross(&(c - a))
}

/// Each triangle of a surface as a side of its own.
fn single(points: &[Vector3<f64>], triangles: &[[usize; 3]]) -> Vec<HullFace> {
    let side = |&corners: &[usize; 3]| {
        let normal = area(points, corners).try_normalize(0.0)?;
        let offset = corners.iter().map(|&i| normal.dot(&points[i])).fold(f64::NEG_INFINITY, f64::max);
        Some(HullFace { corners: corners.to_vec(), normal: normal.into(), offset })
    };
    triangles.iter().filter_map(side).collect()
}

/// Joins the triangles of a convex surface that lie in one plane, the largest first, to polygons.
fn polygons(points: &[Vector3<f64>], triangles: &[[usize; 3]], tolerance: f64) -> Vec<HullFace> {
    let around = Around::new(points.len(), triangles);
    let areas = triangles.iter().map(|&corners| (area(points, corners), corners));
    let mut order: Vec<(f64, Vector3<f64>, [usize; 3])> =
        areas.map(|(area, corners)| (area.norm(), area, corners)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut faces: Vec<HullFace> = Vec::new();
    // The planes that each point lies in, as many as there were before.
    let mut planes = vec![Vec::new(); points.len()];
    let mut seen = vec![usize::MAX; points.len()];
    for (n, (_, area, corners)) in order.into_iter().enumerate() {
        let [a, b, c] = corners.map(|i| &planes[i]);
        if a.iter().any(|plane| b.contains(plane) && c.contains(plane)) {
            continue;
        }
        let Some(normal) = area.try_normalize(0.0) else { continue };
        let height = |i: usize| normal.dot(&points[i]);
        // Uphill from corner to corner there is one top only, and what lies near it in height is connected.
        let mut top = corners[0];
        while let Some(&next) = around.of(top).iter().find(|&&next| height(next) > height(top)) {
            top = next;
        }
        let high = height(top) - tolerance;
        let mut plane = vec![top];
        seen[top] = n;
        let mut at = 0;
        while at < plane.len() {
            for &next in around.of(plane[at]) {
                if seen[next] != n && height(next) > high {
                    seen[next] = n;
                    plane.push(next);
                }
            }
            at += 1;
        }
        plane.sort_unstable();
        let offset = plane.iter().map(|&i| height(i)).fold(f64::NEG_INFINITY, f64::max);
        let corners = planar_hull(points, &plane, &normal, tolerance);
        if corners.len() >= 3 {
            faces.push(HullFace { corners, normal: normal.into(), offset });
        }
        plane.into_iter().for_each(|i| planes[i].push(n));
    }
    faces
}

/// The points that triangles join to each point.
struct Around {
    starts: Vec<usize>,
    others: Vec<usize>,
}

impl Around {
    fn new(n: usize, triangles: &[[usize; 3]]) -> Self {
        let mut starts = vec![0; n + 1];
        triangles.iter().flatten().for_each(|&corner| starts[corner + 1] += 1);
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut ends = starts.clone();
        let mut others = vec![0; 3 * triangles.len()];
        // A closed surface has each edge in both directions.
        for &[a, b, c] in triangles {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                others[ends[from]] = to;
                ends[from] += 1;
            }
        }
        Self { starts, others }
    }

    fn of(&self, i: usize) -> &[usize] {
        &self.others[self.starts[i]..self.starts[i + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    /// Sums of a few products below one.
    const EXACT: f64 = 1e-14;

    fn box_points(half: [f64; 3], n: usize) -> Vec<[f64; 3]> {
        let at = |k: usize, h: f64| h * (2.0 * k as f64 / n as f64 - 1.0);
        let grid = (0..=n).flat_map(|i| (0..=n).flat_map(move |j| (0..=n).map(move |k| [i, j, k])));
        grid.map(|[i, j, k]| [at(i, half[0]), at(j, half[1]), at(k, half[2])]).collect()
    }

    #[test]
    fn grid_of_a_box_is_the_box() {
        let half = [0.1, 0.2, 0.3];
        let hull = Hull::new(&box_points(half, 2)).unwrap();
        assert_eq!((hull.vertices.len(), hull.faces.len(), hull.edges.len()), (8, 6, 12));
        let solid = hull.solid();
        let whole = Inertia::solid(&Shape::cuboid(half), 0.048).unwrap();
        assert!((solid.mass - whole.mass).abs() < EXACT && solid.com.amax() < EXACT);
        assert!((solid.matrix - whole.matrix).amax() < EXACT);
    }

    /// A corner of a cube: mass 1/6, centre of mass 1/4, ∫x² = 1/60, ∫xy = 1/120.
    #[test]
    fn tetrahedron() {
        let hull = Hull::new(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).unwrap();
        assert_eq!((hull.vertices.len(), hull.faces.len(), hull.edges.len()), (4, 4, 6));
        let solid = hull.solid();
        assert!((solid.mass - 1.0 / 6.0).abs() < EXACT && (solid.com - Vector3::repeat(0.25)).amax() < EXACT);
        let about = solid.about(&Vector3::zeros());
        assert!((about[(0, 0)] - 1.0 / 30.0).abs() < EXACT && (about[(0, 1)] + 1.0 / 120.0).abs() < EXACT);
    }

    #[test]
    fn flat_and_few_points_are_refused() {
        let flat = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.3, 0.4, 0.0]];
        let line = [[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
        for points in [&flat[..], &line, &flat[..3], &[[f64::NAN; 3]; 4], &[[1.0; 3]; 5]] {
            assert!(Hull::new(points).is_err(), "{points:?}");
        }
    }
}
