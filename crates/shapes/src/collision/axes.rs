//! Separating axis test for segments and boxes (Gottschalk, Lin, Manocha, *OBBTree*, 1996), with the witness points.

use nalgebra::Vector3;

use super::closed::segments;
use super::core::Core;
use super::frame::{column, turned_back};
use super::relative::{ClosestPoints, Relative};

/// Edges count as parallel if the cross product of their directions is shorter than this. They have no separating axis
/// of their own.
const AXIS: f64 = 1e-9;
/// To win, an axis must beat those before it by this part of the bodies' reach over its length, which is above
/// rounding.
const BEATEN: f64 = 1e-14;
/// A feature counts as perpendicular to an axis up to this sine. Then more than a vertex or an edge may touch.
pub(super) const PARALLEL: f64 = 1e-7;
/// How far witness points may be outside the bodies or beside the axis, as a part of the bodies' size. The distance may
/// be wrong by as much.
const OUTSIDE: f64 = 1e-12;

/// The separating axis along which two cores are farthest apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// The separation along the axis, m. It is the signed distance for cores that overlap, and a lower bound for cores
    /// that are apart.
    pub(super) separation: f64,
    /// Unit vector from A to B, in A's frame.
    pub(super) normal: Vector3<f64>,
    across: Across,
}

/// The features that an axis is perpendicular to.
#[derive(Clone, Copy, Debug)]
enum Across {
    FaceOfA(usize),
    FaceOfB(usize),
    /// Two edges, along these axes of A and of B.
    Edges(usize, usize),
}

/// The half extents of a segment or box, and the first axis whose faces and edges count: a segment has only one edge,
/// along axis 2.
#[inline]
pub(super) fn extents(core: &Core) -> Option<(Vector3<f64>, usize)> {
    match core {
        Core::Segment(half) => Some((Vector3::new(0.0, 0.0, *half), 2)),
        Core::Box(half) => Some((*half, 0)),
        _ => None,
    }
}

impl Axis {
    /// The best of all separating axes; `None` for cores other than segments and boxes.
    pub(super) fn best(a: &Core, b: &Core, relative: &Relative) -> Option<Self> {
        let ((half_a, first_a), (half_b, first_b)) = (extents(a)?, extents(b)?);
        let (r, t) = (&relative.rotation, &relative.translation);
        let t_b = turned_back(r, t);
        let cosine = r.abs();
        let (mut separation, mut sign, mut across) = (f64::NEG_INFINITY, 1.0, Across::FaceOfA(0));
        // `along` is the distance of the middles, `reach` the extent of both cores, both scaled by the axis' `length`.
        let mut take = |along: f64, reach: f64, length: f64, candidate: Across| {
            let here = (along.abs() - reach) / length;
            if here > separation + BEATEN * reach / length {
                (separation, sign, across) = (here, 1_f64.copysign(along), candidate);
            }
        };
        if first_a == 0 {
            for i in 0..3 {
                let reach_b = cosine[(i, 0)] * half_b.x + cosine[(i, 1)] * half_b.y + cosine[(i, 2)] * half_b.z;
                take(t[i], half_a[i] + reach_b, 1.0, Across::FaceOfA(i));
            }
        }
        if first_b == 0 {
            for j in 0..3 {
                let reach_a = cosine[(0, j)] * half_a.x + cosine[(1, j)] * half_a.y + cosine[(2, j)] * half_a.z;
                take(t_b[j], half_b[j] + reach_a, 1.0, Across::FaceOfB(j));
            }
        }
        for i in first_a..3 {
            let (k, l) = NEXT[i];
            for j in first_b..3 {
                let (m, n) = NEXT[j];
                let length = (r[(k, j)].powi(2) + r[(l, j)].powi(2)).sqrt();
                if length > AXIS {
                    let along = t[l] * r[(k, j)] - t[k] * r[(l, j)];
                    let reach_a = half_a[k] * cosine[(l, j)] + half_a[l] * cosine[(k, j)];
                    let reach_b = half_b[m] * cosine[(i, n)] + half_b[n] * cosine[(i, m)];
                    take(along, reach_a + reach_b, length, Across::Edges(i, j));
                }
            }
        }
        let direction = match across {
            Across::FaceOfA(i) => Vector3::ith(i, 1.0),
            Across::FaceOfB(j) => column(r, j),
            Across::Edges(i, j) => Vector3::ith(i, 1.0).cross(&column(r, j)).normalize(),
        };
        Some(Self { separation, normal: direction * sign, across })
    }

    /// The witness points if a vertex is over a face, or edges cross. `None` otherwise, such as when vertices are
    /// nearest or sides are parallel.
    pub(super) fn closest_points(&self, a: &Core, b: &Core, relative: &Relative) -> Option<ClosestPoints> {
        let n = self.normal;
        let n_b = turned_back(&relative.rotation, &n);
        let outside = outside(a, b);
        match self.across {
            Across::FaceOfA(_) => {
                let point_b = relative.support(b, &-n);
                let point_a = point_b - n * self.separation;
                let is_over = is_pointed(b, &n_b, None) && a.contains(&point_a, outside);
                is_over.then_some(ClosestPoints { normal: n, point_a, point_b })
            }
            Across::FaceOfB(_) => {
                let point_a = a.support(&n);
                let point_b = point_a + n * self.separation;
                let is_over = is_pointed(a, &n, None) && b.contains(&relative.in_b(&point_b), outside);
                is_over.then_some(ClosestPoints { normal: n, point_a, point_b })
            }
            Across::Edges(i, j) => {
                let mut middle_b = b.support(&-n_b);
                let half_b = std::mem::take(&mut middle_b[j]).abs();
                let line = (half_b, &column(&relative.rotation, j), &relative.in_a(&middle_b));
                let is_crossing = is_pointed(a, &n, Some(i)) && is_pointed(b, &n_b, Some(j));
                crossing(a, i, line, &n, self.separation, outside).filter(|_| is_crossing)
            }
        }
    }
}

/// The tolerance for witness points outside the bodies or beside the axis, m.
#[inline]
pub(super) fn outside(a: &Core, b: &Core) -> f64 {
    OUTSIDE * (a.reach() + b.reach())
}

/// The witness points where A's edge along its axis `i` crosses a segment (half length, direction, middle), seen along
/// n. `None` if they miss each other.
pub(super) fn crossing(
    a: &Core,
    i: usize,
    (half_b, along_b, middle_b): (f64, &Vector3<f64>, &Vector3<f64>),
    n: &Vector3<f64>,
    separation: f64,
    outside: f64,
) -> Option<ClosestPoints> {
    let mut middle_a = a.support(n);
    let half_a = std::mem::take(&mut middle_a[i]).abs();
    let crossing = segments((half_a, &Vector3::ith(i, 1.0)), (half_b, along_b), &(middle_b - middle_a));
    let (point_a, point_b) = (middle_a + crossing.point_a, middle_a + crossing.point_b);
    let beside = point_b - point_a - n * separation;
    (beside.norm() <= outside).then_some(ClosestPoints { normal: *n, point_a, point_b })
}

/// For each axis, the two others in cyclic order.
pub(super) const NEXT: [(usize, usize); 3] = [(1, 2), (2, 0), (0, 1)];

/// Is the point of the core that is farthest along n unique, apart from steps along the edge `edge`?
#[inline]
pub(super) fn is_pointed(core: &Core, n: &Vector3<f64>, edge: Option<usize>) -> bool {
    let is_across = |k: usize| Some(k) == edge || n[k].abs() > PARALLEL;
    extents(core).is_some_and(|(_, first)| (first..3).all(is_across))
}
