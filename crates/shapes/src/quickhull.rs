//! The surface of a convex hull by quickhull (Barber, Dobkin, Huhdanpaa, *The quickhull algorithm for convex hulls*,
//! 1996).
//!
//! It starts with a tetrahedron. Each point outside waits at a face that it can see; the farthest one of a face
//! replaces all the faces that it sees by a fan from itself to their rim. Which those are is decided by exact
//! orientations (Shewchuk, *Adaptive precision floating-point arithmetic*, 1997), so that the rim is one closed line,
//! whatever lies in one plane or on one line. Which points wait is decided in floating point: the surface passes them
//! by what rounding leaves.

use nalgebra::Vector3;
use robust::{Coord3D, orient3d};

use crate::largest::largest;

/// Points this far outside of a face, relative to the size of all, are on it.
const ON_FACE: f64 = 1e-13;
/// Rounding of a volume, relative to the sum of its terms' sizes.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

struct Face {
    /// Counter-clockwise from outside.
    corners: [usize; 3],
    /// The faces across the edges from each corner to the next.
    beside: [usize; 3],
    /// The first corner.
    from: Vector3<f64>,
    /// Outwards, as long as twice the area; its length; and the sum of the sizes of each number's terms.
    normal: Vector3<f64>,
    length: f64,
    terms: Vector3<f64>,
    /// The points that wait here, the farthest last.
    outside: Vec<usize>,
    farthest: f64,
    alive: bool,
}

struct Surface<'a> {
    points: &'a [Vector3<f64>],
    on_face: f64,
    faces: Vec<Face>,
    /// Places of faces that are gone.
    gone: Vec<usize>,
    /// Faces at which points may wait.
    waiting: Vec<usize>,
    /// The new face whose rim edge starts at a point.
    starting_at: Vec<usize>,
}

const NONE: usize = usize::MAX;

/// The triangles of the hull of finite points, counter-clockwise from outside; none if all points are in one plane.
pub(super) fn triangles(points: &[Vector3<f64>]) -> Option<Vec<[usize; 3]>> {
    let reach = largest(points.iter().map(Vector3::amax));
    if reach == 0.0 {
        return None;
    }
    // A power of two: exact, and what is exact below does not underflow.
    let scale = 2.0_f64.powi(-(reach.log2().floor().max(-1000.0) as i32));
    let points: Vec<Vector3<f64>> = points.iter().map(|point| point * scale).collect();
    let first = tetrahedron(&points)?;
    let (low, high) = points.iter().fold((points[0], points[0]), |(low, high), p| (low.inf(p), high.sup(p)));
    let mut surface = Surface {
        points: &points,
        on_face: ON_FACE * (high - low).norm(),
        faces: Vec::new(),
        gone: Vec::new(),
        waiting: Vec::new(),
        starting_at: vec![NONE; points.len()],
    };
    surface.start(first);
    while let Some(face) = surface.waiting.pop() {
        if let Some(eye) = surface.faces[face].outside.pop().filter(|_| surface.faces[face].alive) {
            surface.grow(face, eye)?;
        }
    }
    Some(surface.faces.iter().filter(|face| face.alive).map(|face| face.corners).collect())
}

/// Four points that span a volume, the last below the plane of the others.
fn tetrahedron(points: &[Vector3<f64>]) -> Option<[usize; 4]> {
    let farthest = |of: &dyn Fn(&Vector3<f64>) -> f64| {
        (0..points.len()).max_by(|&i, &j| of(&points[i]).total_cmp(&of(&points[j]))).unwrap_or(0)
    };
    let ends = [0, 1, 2].map(|k| [farthest(&|p| p[k]), farthest(&|p| -p[k])]);
    let length = |[i, j]: [usize; 2]| (points[i] - points[j]).norm();
    let [a, b] = ends.into_iter().max_by(|x, y| length(*x).total_cmp(&length(*y)))?;
    let along = points[b] - points[a];
    let c = farthest(&|p| along.cross(&(p - points[a])).norm());
    let normal = along.cross(&(points[c] - points[a]));
    let d = farthest(&|p| normal.dot(&(p - points[a])).abs());
    match orientation(points, [a, b, c], d) {
        above if above > 0.0 => Some([b, a, c, d]),
        below if below < 0.0 => Some([a, b, c, d]),
        _ => None,
    }
}

/// Positive if a point is above the plane of three that are counter-clockwise from above; of the right sign, and zero
/// only if it is in the plane.
fn orientation(points: &[Vector3<f64>], [a, b, c]: [usize; 3], point: usize) -> f64 {
    let [a, b, c, d] = [a, b, c, point].map(|i| Coord3D { x: points[i].x, y: points[i].y, z: points[i].z });
    -orient3d(a, b, c, d)
}

impl Surface<'_> {
    fn start(&mut self, [a, b, c, d]: [usize; 4]) {
        // d is below abc: each face's edges are those of others, backwards.
        let faces = [[a, b, c], [b, a, d], [c, b, d], [a, c, d]];
        let beside = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];
        for (corners, beside) in faces.into_iter().zip(beside) {
            let face = self.add(corners);
            self.faces[face].beside = beside;
        }
        let rest: Vec<usize> = (0..self.points.len()).filter(|i| ![a, b, c, d].contains(i)).collect();
        self.send(&rest, &[0, 1, 2, 3]);
    }

    fn add(&mut self, corners: [usize; 3]) -> usize {
        let [a, b, c] = corners.map(|i| self.points[i]);
        let (x, y) = (b - a, c - a);
        let (normal, terms) = (x.cross(&y), {
            let (x, y) = (x.abs(), y.abs());
            Vector3::new(x.y * y.z + x.z * y.y, x.z * y.x + x.x * y.z, x.x * y.y + x.y * y.x)
        });
        let beside = [NONE; 3];
        let length = normal.norm();
        let face =
            Face { corners, beside, from: a, normal, length, terms, outside: Vec::new(), farthest: 0.0, alive: true };
        match self.gone.pop() {
            Some(place) => {
                self.faces[place] = face;
                place
            }
            None => {
                self.faces.push(face);
                self.faces.len() - 1
            }
        }
    }

    /// Lets each point wait at the first of these faces that it can see, if it can see one.
    fn send(&mut self, points: &[usize], faces: &[usize]) {
        for &point in points {
            for &place in faces {
                let face = &mut self.faces[place];
                let from = self.points[point] - face.from;
                let volume = face.normal.dot(&from);
                if volume > ROUNDING * face.terms.dot(&from.abs()) + self.on_face * face.length {
                    let height = volume / face.length;
                    face.outside.push(point);
                    if height > face.farthest {
                        face.farthest = height;
                    } else {
                        let last = face.outside.len() - 1;
                        face.outside.swap(last, last - 1);
                    }
                    break;
                }
            }
        }
        self.waiting.extend(faces.iter().copied().filter(|&face| !self.faces[face].outside.is_empty()));
    }

    /// Replaces all faces that a point sees, `face` among them, by those between it and their rim. None if the rim is
    /// not one line.
    fn grow(&mut self, face: usize, eye: usize) -> Option<()> {
        let mut seen = vec![face];
        self.faces[face].alive = false;
        let mut rim = Vec::new();
        let mut at = 0;
        while at < seen.len() {
            let Face { corners, beside, .. } = self.faces[seen[at]];
            for (k, other) in beside.into_iter().enumerate() {
                if !self.faces[other].alive {
                    continue;
                }
                if orientation(self.points, self.faces[other].corners, eye) > 0.0 {
                    self.faces[other].alive = false;
                    seen.push(other);
                } else {
                    rim.push(([corners[k], corners[(k + 1) % 3]], other));
                }
            }
            at += 1;
        }
        let mut new = Vec::with_capacity(rim.len());
        for &([a, b], outer) in &rim {
            let place = self.add([a, b, eye]);
            self.faces[place].beside[0] = outer;
            let edge =
                (0..3).find(|&k| self.faces[outer].corners[k] == b && self.faces[outer].corners[(k + 1) % 3] == a)?;
            self.faces[outer].beside[edge] = place;
            if std::mem::replace(&mut self.starting_at[a], place) != NONE {
                return None;
            }
            new.push(place);
        }
        for (&([_, b], _), &place) in rim.iter().zip(&new) {
            let next = self.starting_at[b];
            if next == NONE {
                return None;
            }
            self.faces[place].beside[1] = next;
            self.faces[next].beside[2] = place;
        }
        rim.iter().for_each(|&([a, _], _)| self.starting_at[a] = NONE);
        for &place in &seen {
            let waiting = std::mem::take(&mut self.faces[place].outside);
            self.send(&waiting, &new);
        }
        self.gone.extend(seen);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Closed, of Euler's number 2, and nothing outside.
    fn check(points: &[Vector3<f64>]) -> usize {
        let triangles = triangles(points).unwrap();
        let edges: HashSet<[usize; 2]> = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]).collect();
        assert_eq!(edges.len(), 3 * triangles.len(), "no edge twice in one direction");
        assert!(edges.iter().all(|&[a, b]| edges.contains(&[b, a])), "each edge in both directions");
        let corners: HashSet<usize> = triangles.iter().flatten().copied().collect();
        assert_eq!(corners.len() + triangles.len(), edges.len() / 2 + 2);
        let size = largest(points.iter().map(Vector3::amax));
        for &[a, b, c] in &triangles {
            let normal = (points[b] - points[a]).cross(&(points[c] - points[a]));
            for p in points {
                // Ten times what points may be outside.
                assert!(normal.dot(&(p - points[a])) <= 1e-11 * size * normal.norm().max(1e-12 * size * size));
            }
        }
        corners.len()
    }

    #[test]
    fn hulls_are_closed_and_hold_all_points() {
        for seed in 0..30 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut number = || rng.random_range(-1.0..1.0);
            let mut random = |n: usize| -> Vec<Vector3<f64>> {
                (0..n).map(|_| Vector3::new(number(), number(), number())).collect()
            };
            let cloud = random(200);
            check(&cloud);
            let sphere: Vec<_> = cloud.iter().map(|p| p.normalize() * 1e-3).collect();
            assert_eq!(check(&sphere), sphere.len());
            // Few different numbers: many points in one plane, on one line, and at one place.
            let coarse: Vec<_> = cloud.iter().map(|p| p.map(|x| (x * 3.0).round() / 3.0)).collect();
            assert!(check(&coarse) >= 8);
            // In single precision, far from the origin.
            check(&cloud.iter().map(|p| p.map(|x| f64::from((x + 1000.0) as f32))).collect::<Vec<_>>());
            let sheared: Vec<_> =
                coarse.iter().map(|p| Vector3::new(p.x + 0.1 * p.y, p.y + 0.3 * p.z, p.z / 3.0)).collect();
            check(&sheared);
            // A disc as thin as 1e-5.
            check(&cloud.iter().map(|p| Vector3::new(p.x, p.y, 1e-5 * p.z)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn points_in_one_plane_have_no_hull() {
        let plane: Vec<_> = (0..20).map(|i| Vector3::new(f64::from(i % 5), f64::from(i / 5), 0.0)).collect();
        assert_eq!(triangles(&plane), None);
        let line: Vec<_> = (0..20).map(|i| Vector3::new(0.1, 0.2, 0.3) * f64::from(i)).collect();
        assert_eq!(triangles(&line), None);
        assert_eq!(triangles(&[Vector3::zeros(); 5]), None);
        assert_eq!(triangles(&[Vector3::repeat(1.0); 5]), None);
    }
}
