//! The features of a core's surface: the vertex, edge, face, rim, side or smooth piece that a contact is on.

use nalgebra::{Matrix3, Vector3};

use super::core::Core;
use super::frame::turned;

/// A tangent counts as perpendicular to a normal up to this cosine of the angle between them.
const FLAT: f64 = 1e-9;

/// A feature: vertex, edge, face, rim, side or smooth surface. It is the set of points `base` + Σ sᵢ tᵢ + x(n), where
/// tᵢ are tangents and x(n) is the point of the round part that is farthest along the normal n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Feature {
    pub(super) base: Vector3<f64>,
    /// The feature's zero to two orthonormal tangents, followed by zeros.
    tangents: [Vector3<f64>; 2],
    dimension: usize,
    round: Round,
}

/// The round part of a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Round {
    None,
    Circle {
        axis: Vector3<f64>,
        radius: f64,
    },
    /// The ellipsoid x(n) = M n/√(nᵀMn), where M has the squared radii as eigenvalues.
    Ellipsoid(Matrix3<f64>),
}

impl Feature {
    /// A feature without a round part: a vertex, edge or face, by a point on it and its orthonormal tangents.
    fn flat(base: Vector3<f64>, tangents: &[Vector3<f64>]) -> Self {
        let mut all = [Vector3::zeros(); 2];
        all[..tangents.len()].copy_from_slice(tangents);
        Self { base, tangents: all, dimension: tangents.len(), round: Round::None }
    }

    /// A plane through `base`.
    pub(super) fn plane(base: Vector3<f64>, normal: &Vector3<f64>) -> Self {
        let t = normal.cross(&Vector3::ith(normal.iamin(), 1.0)).normalize();
        Self::flat(base, &[t, normal.cross(&t)])
    }

    /// A vertex.
    fn vertex(base: Vector3<f64>) -> Self {
        Self::flat(base, &[])
    }

    /// The surface of an ellipsoid with these radii, about the origin.
    fn ellipsoid(radii: &Vector3<f64>) -> Self {
        let squares = Matrix3::from_diagonal(&radii.component_mul(radii));
        Self { round: Round::Ellipsoid(squares), ..Self::vertex(Vector3::zeros()) }
    }

    /// The whole surface of the core as one feature; `None` if it consists of several.
    pub(super) fn smooth(core: &Core) -> Option<Self> {
        match core {
            Core::Point => Some(Self::vertex(Vector3::zeros())),
            Core::Ellipsoid(radii) => Some(Self::ellipsoid(radii)),
            _ => None,
        }
    }

    /// The feature of lowest dimension that is within `tolerance` of a surface point `p`.
    pub(super) fn near(core: &Core, p: &Vector3<f64>, tolerance: f64) -> Self {
        match core {
            Core::Point => Self::vertex(Vector3::zeros()),
            Core::Segment(half) => {
                if p.z.abs() > half - tolerance {
                    Self::vertex(Vector3::new(0.0, 0.0, half.copysign(p.z)))
                } else {
                    Self::flat(Vector3::new(0.0, 0.0, p.z), &[Vector3::z()])
                }
            }
            Core::Box(half) => of_box(half, p, tolerance),
            Core::Cylinder { radius, half_length } => of_cylinder(*radius, *half_length, p, tolerance),
            Core::Ellipsoid(radii) => Self::ellipsoid(radii),
            Core::Hull(hull) => of_hull(hull, p, tolerance),
            Core::HalfSpace => Self::plane(*p, &Vector3::z()),
        }
    }

    /// The feature that a surface point `p` with this outward normal is on: of those within `tolerance` that are
    /// perpendicular to the normal, the largest. At the end of an edge or face the feature of lowest dimension is a
    /// vertex, but the normal is that of the edge or face.
    pub(super) fn across(core: &Core, p: &Vector3<f64>, normal: &Vector3<f64>, tolerance: f64) -> Self {
        match core {
            Core::Segment(_) => Self::near(core, p, if normal.z.abs() < FLAT { f64::NEG_INFINITY } else { tolerance }),
            Core::Box(half) => {
                let bound = [0, 1, 2].map(|k| p[k].abs() > half[k] - tolerance && normal[k].abs() > FLAT);
                if bound.contains(&true) { part_of_box(half, p, |k| bound[k]) } else { of_box(half, p, tolerance) }
            }
            Core::Cylinder { radius, half_length } => {
                let [side, cap] = if normal.z.abs() < FLAT {
                    [0.0, f64::INFINITY]
                } else if normal.xy().norm() < FLAT {
                    [f64::INFINITY, 0.0]
                } else {
                    [radius - p.xy().norm(), half_length - p.z.abs()]
                };
                part_of_cylinder((*radius, *half_length), p, [side, cap], tolerance)
            }
            Core::Hull(hull) => {
                let is_across = |piece: &Self| piece.tangents().iter().all(|t| t.dot(normal).abs() < FLAT);
                let pieces = around_hull(hull, p, tolerance).into_iter().filter(is_across);
                pieces.max_by_key(|piece| piece.dimension).unwrap_or_else(|| of_hull(hull, p, tolerance))
            }
            Core::Point | Core::Ellipsoid(_) | Core::HalfSpace => Self::near(core, p, tolerance),
        }
    }

    /// All features that a surface point `p` may be on, if `p` is inexact by `tolerance` (hulls), or by any length
    /// (other bodies).
    pub(super) fn around(core: &Core, p: &Vector3<f64>, tolerance: f64) -> Vec<Self> {
        match core {
            Core::Segment(_) => [f64::INFINITY, 0.0].map(|tolerance| Self::near(core, p, tolerance)).to_vec(),
            Core::Box(half) => (1..8_usize).map(|set| part_of_box(half, p, |k| set >> k & 1 == 1)).collect(),
            Core::Cylinder { radius, half_length } => {
                let end = half_length.copysign(p.z);
                let round = Round::Circle { axis: Vector3::z(), radius: *radius };
                let rim = Self { round, ..Self::vertex(Vector3::new(0.0, 0.0, end)) };
                let side = Self { round, ..Self::flat(Vector3::new(0.0, 0.0, p.z), &[Vector3::z()]) };
                vec![rim, side, Self::flat(Vector3::new(p.x, p.y, end), &[Vector3::x(), Vector3::y()])]
            }
            Core::Hull(hull) => around_hull(hull, p, tolerance),
            Core::Point | Core::Ellipsoid(_) | Core::HalfSpace => vec![Self::near(core, p, tolerance)],
        }
    }

    /// The feature in another frame, in which the core's frame has this rotation and translation.
    pub(super) fn placed(&self, rotation: &Matrix3<f64>, translation: &Vector3<f64>) -> Self {
        let round = match self.round {
            Round::None => Round::None,
            Round::Circle { axis, radius } => Round::Circle { axis: rotation * axis, radius },
            Round::Ellipsoid(squares) => Round::Ellipsoid(rotation * squares * rotation.transpose()),
        };
        let tangents = self.tangents.map(|t| rotation * t);
        Self { base: rotation * self.base + translation, tangents, dimension: self.dimension, round }
    }

    /// The orthonormal tangents of the feature: none for a vertex, one for an edge, two for a face.
    pub(super) fn tangents(&self) -> &[Vector3<f64>] {
        &self.tangents[..self.dimension]
    }

    /// The point of the feature that is farthest along n (of any length). Steps along the tangents do not matter.
    #[inline]
    pub(super) fn support(&self, n: &Vector3<f64>) -> Vector3<f64> {
        self.base + self.round_support(n)
    }

    /// The vector x(n) to the point of the round part that is farthest along n (of any length).
    #[inline]
    fn round_support(&self, n: &Vector3<f64>) -> Vector3<f64> {
        match self.round {
            Round::None => Vector3::zeros(),
            Round::Circle { axis, radius } => (n - axis * axis.dot(n)).try_normalize(0.0).unwrap_or_default() * radius,
            Round::Ellipsoid(squares) => {
                let x = turned(&squares, n);
                x / n.dot(&x).sqrt()
            }
        }
    }

    /// Is the feature a cylinder's rim or side?
    pub(super) fn is_round(&self) -> bool {
        matches!(self.round, Round::Circle { .. })
    }

    /// The unit vector from a circle's axis towards a point; `None` if the feature has no circle or the point is on its
    /// axis.
    pub(super) fn out(&self, point: &Vector3<f64>) -> Option<Vector3<f64>> {
        let Round::Circle { axis, .. } = self.round else { return None };
        let from = point - self.base;
        (from - axis * axis.dot(&from)).try_normalize(0.0)
    }

    /// The extent of the round part along a unit vector, from its middle to one end.
    pub(super) fn half_width(&self, n: &Vector3<f64>) -> f64 {
        n.dot(&self.round_support(n))
    }

    /// The curvature of the feature at the unit normal n: the derivative of [`support`](Self::support), which is the
    /// support function's second derivative.
    pub(super) fn curvature(&self, n: &Vector3<f64>) -> Curvature<'_> {
        self.bent_support(n).1
    }

    /// [`support`](Self::support) and [`curvature`](Self::curvature) at once.
    #[inline]
    pub(super) fn bent_support(&self, n: &Vector3<f64>) -> (Vector3<f64>, Curvature<'_>) {
        match &self.round {
            Round::None => (self.base, Curvature::None),
            Round::Circle { axis, radius } => {
                let across = n - axis * axis.dot(n);
                let length = across.norm();
                if length == 0.0 {
                    return (self.base, Curvature::None);
                }
                let out = across / length;
                (self.base + out * *radius, Curvature::Circle { around: axis.cross(&out), factor: radius / length })
            }
            Round::Ellipsoid(squares) => {
                let x = turned(squares, n);
                let factor = 1.0 / n.dot(&x).sqrt();
                let point = x * factor;
                (self.base + point, Curvature::Ellipsoid { squares, point, factor })
            }
        }
    }
}

/// The second derivative H of a support function, as a symmetric linear map.
pub(super) enum Curvature<'a> {
    None,
    /// The map ∝ t tᵀ, where t is the tangent of the circle.
    Circle {
        around: Vector3<f64>,
        factor: f64,
    },
    /// The map ∝ M − x xᵀ, for an ellipsoid.
    Ellipsoid {
        squares: &'a Matrix3<f64>,
        point: Vector3<f64>,
        factor: f64,
    },
}

impl Curvature<'_> {
    /// The product H v.
    #[inline]
    pub(super) fn along(&self, v: &Vector3<f64>) -> Vector3<f64> {
        match self {
            Self::None => Vector3::zeros(),
            Self::Circle { around, factor } => around * (factor * around.dot(v)),
            Self::Ellipsoid { squares, point, factor } => (turned(squares, v) - point * point.dot(v)) * *factor,
        }
    }
}

/// The feature of lowest dimension of a box near a surface point.
fn of_box(half: &Vector3<f64>, p: &Vector3<f64>, tolerance: f64) -> Feature {
    let nearest = (half - p.abs()).imin();
    part_of_box(half, p, |k| k == nearest || p[k].abs() > half[k] - tolerance)
}

/// The vertex, edge or face of a box that lies on its sides along the axes for which `bound` is true.
fn part_of_box(half: &Vector3<f64>, p: &Vector3<f64>, bound: impl Fn(usize) -> bool) -> Feature {
    let mut base = *p;
    let (mut free, mut n) = ([Vector3::zeros(); 3], 0);
    for k in 0..3 {
        if bound(k) {
            base[k] = half[k].copysign(p[k]);
        } else {
            free[n] = Vector3::ith(k, 1.0);
            n += 1;
        }
    }
    Feature::flat(base, &free[..n])
}

/// The feature of lowest dimension of a cylinder near a surface point.
fn of_cylinder(radius: f64, half_length: f64, p: &Vector3<f64>, tolerance: f64) -> Feature {
    part_of_cylinder((radius, half_length), p, [radius - p.xy().norm(), half_length - p.z.abs()], tolerance)
}

/// The cap, side or rim of a cylinder that is nearest to a point, given its distances from the side and the cap.
fn part_of_cylinder(
    (radius, half_length): (f64, f64),
    p: &Vector3<f64>,
    [side, cap]: [f64; 2],
    tolerance: f64,
) -> Feature {
    let round = Round::Circle { axis: Vector3::z(), radius };
    let end = half_length.copysign(p.z);
    if side < tolerance && cap < tolerance {
        return Feature { round, ..Feature::vertex(Vector3::new(0.0, 0.0, end)) };
    }
    if cap < side {
        return Feature::flat(Vector3::new(p.x, p.y, end), &[Vector3::x(), Vector3::y()]);
    }
    Feature { round, ..Feature::flat(Vector3::new(0.0, 0.0, p.z), &[Vector3::z()]) }
}

/// The feature of lowest dimension of a hull near a surface point.
fn of_hull(hull: &crate::Hull, p: &Vector3<f64>, tolerance: f64) -> Feature {
    let vertex = |i: usize| Vector3::from(hull.vertices()[i]);
    let active = hull.planes().highest(p, tolerance);
    for (face, _) in &active {
        let face = &hull.faces()[*face];
        if let Some(&corner) = face.corners.iter().find(|&&i| (vertex(i) - p).norm() <= tolerance) {
            return Feature::vertex(vertex(corner));
        }
    }
    for (face, _) in &active {
        for [i, j] in hull.faces()[*face].edges() {
            let along = (vertex(j) - vertex(i)).normalize();
            let from = p - vertex(i);
            let across = from - along * along.dot(&from);
            if across.norm() <= tolerance {
                return Feature::flat(p - across, &[along]);
            }
        }
    }
    let top = active.into_iter().max_by(|x, y| x.1.total_cmp(&y.1));
    top.map_or(Feature::vertex(*p), |(face, height)| {
        let normal = Vector3::from(hull.faces()[face].normal);
        Feature::plane(p - normal * height, &normal)
    })
}

/// All features of a hull within a tolerance of a point, and of all planes of faces that the point is above but for the
/// tolerance.
fn around_hull(hull: &crate::Hull, p: &Vector3<f64>, tolerance: f64) -> Vec<Feature> {
    let vertex = |i: usize| Vector3::from(hull.vertices()[i]);
    // A point that is beside an edge and beyond its end is nearer than twice the tolerance.
    let near = hull.faces_near(p, 2.0 * tolerance);
    let faces = || near.iter().map(|&(face, _)| &hull.faces()[face]);
    // Few of a large side's corners and edges are near: the others are not sorted.
    let mut corners: Vec<usize> = faces().flat_map(|face| &face.corners).copied().collect();
    corners.retain(|&i| (vertex(i) - p).norm() <= tolerance);
    corners.sort_unstable();
    corners.dedup();
    let mut all: Vec<Feature> = corners.into_iter().map(|i| Feature::vertex(vertex(i))).collect();
    let mut edges: Vec<([usize; 2], Feature)> = Vec::new();
    for [i, j] in faces().flat_map(crate::HullFace::edges).filter(|[i, j]| i < j) {
        let (from, edge) = (p - vertex(i), vertex(j) - vertex(i));
        let squared = edge.norm_squared();
        // What is near is no farther from one end than (l + t)² + t² ≤ 2 l² + 3 t².
        if from.norm_squared() > 2.1 * squared + 3.1 * tolerance * tolerance {
            continue;
        }
        let length = squared.sqrt();
        let along = edge / length;
        let reach = along.dot(&from);
        let across = from - along * reach;
        if across.norm() <= tolerance && reach >= -tolerance && reach <= length + tolerance {
            edges.push(([i, j], Feature::flat(p - across, &[along])));
        }
    }
    edges.sort_unstable_by_key(|&(ends, _)| ends);
    all.extend(edges.into_iter().map(|(_, edge)| edge));
    all.extend(near.iter().filter(|(_, height)| *height >= -tolerance).map(|&(face, height)| {
        let normal = Vector3::from(hull.faces()[face].normal);
        Feature::plane(p - normal * height, &normal)
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hull_planes::tests::{TOLERANCES, hulls, place};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// All vertices, edges and faces within a tolerance of a point, by a look at each.
    fn by_a_look_at_all(hull: &crate::Hull, p: &Vector3<f64>, tolerance: f64) -> Vec<Feature> {
        let vertex = |i: usize| Vector3::from(hull.vertices()[i]);
        let vertices = (0..hull.vertices().len()).map(vertex).filter(|v| (v - p).norm() <= tolerance);
        let edges = hull.edges().iter().filter_map(|&[i, j]| {
            let (from, edge) = (p - vertex(i), vertex(j) - vertex(i));
            let along = edge.normalize();
            let reach = along.dot(&from);
            let across = from - along * reach;
            let is_near = across.norm() <= tolerance && reach >= -tolerance && reach <= edge.norm() + tolerance;
            is_near.then(|| Feature::flat(p - across, &[along]))
        });
        let faces = hull.faces().iter().filter(|face| face.height(p) >= -tolerance);
        let plane = |face: &crate::HullFace| {
            let normal = Vector3::from(face.normal);
            Feature::plane(p - normal * face.height(p), &normal)
        };
        vertices.map(Feature::vertex).chain(edges).chain(faces.map(plane)).collect()
    }

    #[test]
    fn features_near_a_point_of_a_hull() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let hulls = hulls(&mut random);
        for hull in &hulls {
            for _ in 0..30_000 / hulls.len() {
                let (p, tolerance) = (place(hull, &mut random), TOLERANCES[random.random_range(0..6)] * hull.reach());
                assert_eq!(around_hull(hull, &p, tolerance), by_a_look_at_all(hull, &p, tolerance), "{p} {tolerance}");
            }
        }
    }
}
