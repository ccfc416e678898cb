//! Flat sides of convex hulls, and the polygons that they are.

use nalgebra::Vector3;

/// A flat side of a [`Hull`](super::Hull).
#[derive(Clone, Debug, PartialEq)]
pub struct HullFace {
    /// Corners as indices into [`Hull::vertices`](super::Hull::vertices), counter-clockwise seen from outside.
    pub corners: Vec<usize>,
    /// Outward unit normal.
    pub normal: [f64; 3],
    /// Largest normal · vertex, m.
    pub offset: f64,
}

impl HullFace {
    /// Signed distance of a point from the face's plane, m; positive outside.
    pub fn height(&self, point: &Vector3<f64>) -> f64 {
        Vector3::from(self.normal).dot(point) - self.offset
    }

    /// The sides of the polygon, in its direction.
    pub fn edges(&self) -> impl Iterator<Item = [usize; 2]> + '_ {
        let next = self.corners.iter().cycle().skip(1);
        self.corners.iter().zip(next).map(|(&i, &j)| [i, j])
    }
}

/// Length of the diagonal of the points' box.
pub(super) fn extent(points: &[Vector3<f64>]) -> f64 {
    let (low, high) =
        points.iter().fold((points[0], points[0]), |(low, high), point| (low.inf(point), high.sup(point)));
    (high - low).norm()
}

/// The convex hull of the flat points `plane`: its corners, counter-clockwise about `normal` (Andrew's monotone chain),
/// but for those that are within the tolerance of the line between their neighbours.
pub(super) fn planar_hull(
    points: &[Vector3<f64>],
    plane: &[usize],
    normal: &Vector3<f64>,
    tolerance: f64,
) -> Vec<usize> {
    let x = normal.cross(&Vector3::ith(normal.iamin(), 1.0)).normalize();
    let y = normal.cross(&x);
    let mut flat: Vec<(f64, f64, usize)> = plane.iter().map(|&i| (x.dot(&points[i]), y.dot(&points[i]), i)).collect();
    flat.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    // How far b is to the right of the way from a to c.
    let aside = |a: &(f64, f64, usize), b: &(f64, f64, usize), c: &(f64, f64, usize)| {
        let (ux, uy, vx, vy) = (b.0 - a.0, b.1 - a.1, c.0 - b.0, c.1 - b.1);
        (ux * vy - uy * vx) / (ux + vx).hypot(uy + vy)
    };
    // With a tolerance here, points along an edge, in whatever order rounding leaves them, could hide a corner.
    let half = |flat: &mut dyn Iterator<Item = &(f64, f64, usize)>| {
        let mut chain: Vec<(f64, f64, usize)> = Vec::new();
        for &p in flat {
            while let [.., a, b] = chain[..] {
                if aside(&a, &b, &p) > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut corners = half(&mut flat.iter());
    corners.extend(half(&mut flat.iter().rev()));
    let mut k = 0;
    while k < corners.len() && corners.len() > 3 {
        let n = corners.len();
        let [before, after] = [corners[(k + n - 1) % n], corners[(k + 1) % n]];
        if aside(&before, &corners[k], &after) > tolerance {
            k += 1;
        } else {
            corners.remove(k);
        }
    }
    corners.into_iter().map(|(_, _, i)| i).collect()
}
