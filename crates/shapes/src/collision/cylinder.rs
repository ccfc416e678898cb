//! The closest points of a segment or box and a cylinder: the largest separation, from all directions that may have it.
//!
//! With c the cylinder's axis, t its middle, r its radius, h half its length and e the box's half extents, in the box's
//! frame,
//!
//! ```text
//! s(n) = n·t − Σ eᵢ|nᵢ| − h|n·c| − r √(1 − (n·c)²)
//! ```
//!
//! The following directions have formulas: a face's normal, ±c (a corner over a cap), eᵢ × c (an edge across the side),
//! and the direction from a corner to the nearest point on the side or the rim. What is left is an edge on a rim:
//! nᵢ = 0. Between directions at which another corner or rim takes over,
//!
//! ```text
//! s(n) = n·x(n),   x(n) = w − r (n − (n·c) c)/q,   q = √(1 − (n·c)²),   s'' = −s − r cᵢ²/q³
//! ```
//!
//! where w is the vector from the corner to the rim's middle, and n and c are projected along the edge. There is at
//! most one maximum. For the projected rim is an ellipse. Over its angle E, which grows with that of n, s' has the sign
//! of
//!
//! ```text
//! sin E (r (1 − cᵢ²) cos E − w₁ + w₂ |cᵢ| cot E)
//! ```
//!
//! with w₁ along the ellipse's long axis and w₂ along the short one, towards the half that n points to. The bracket
//! falls everywhere if w₂ ≥ 0, and else where sin³E > −w₂ |cᵢ|/(r (1 − cᵢ²)). Maxima are its zeros where it falls.

use nalgebra::{Vector2, Vector3};

use super::axes::{NEXT, PARALLEL, crossing, extents, is_pointed, outside};
use super::core::Core;
use super::frame::column;
use super::relative::{ClosestPoints, Relative};

/// The most steps. Newton's method takes five; where the rim is steep, bisection takes more.
const STEPS: usize = 60;
/// The size of Newton's last step, in rad. It leaves an error of its square.
const CONVERGED: f64 = 1e-9;

/// The closest points, or those of the shortest translation that separates the cores. `None` for other cores, if sides
/// are parallel or perpendicular to the cylinder's axis, or if more than a point touches.
pub(super) fn closest(a: &Core, b: &Core, relative: &Relative) -> Option<ClosestPoints> {
    let (half, first) = extents(a)?;
    let Core::Cylinder { radius, half_length } = *b else { return None };
    let axis = column(&relative.rotation, 2);
    let is_skew = |i: usize| axis[i].abs() > PARALLEL && axis[i].abs() < 1.0 - PARALLEL * PARALLEL;
    if !(first..3).all(is_skew) {
        return None;
    }
    let pair = Pair { a, b, relative, half, first, axis, radius, half_length };
    let mut best = pair.axes();
    // If the bodies are apart, any direction whose separation is attained by points is the right one.
    let attained = |best: &Candidate| if best.separation > 0.0 { pair.points(best) } else { None };
    attained(&best).or_else(|| {
        if let Some(corner) = pair.corner().filter(|corner| corner.separation > best.separation) {
            best = corner;
            if let Some(points) = attained(&best) {
                return Some(points);
            }
        }
        for i in first..3 {
            best = pair.edge_on_rim(i, &best).unwrap_or(best);
        }
        pair.points(&best)
    })
}

/// A direction in which the separation may be largest.
#[derive(Clone, Copy)]
struct Candidate {
    separation: f64,
    /// Unit vector from A to B, in A's frame.
    normal: Vector3<f64>,
    meet: Meet,
}

/// The features that meet along a candidate direction.
#[derive(Clone, Copy)]
enum Meet {
    /// A corner of the box, and any part of the cylinder.
    Corner,
    /// The edge of the box along this axis, and the cylinder's side.
    EdgeOnSide(usize),
    /// A rim of the cylinder, and a face of the box (`None`) or its edge along this axis.
    Rim(Option<usize>),
}

/// A segment or box A and a cylinder B, in A's frame.
struct Pair<'a> {
    a: &'a Core,
    b: &'a Core,
    relative: &'a Relative,
    half: Vector3<f64>,
    /// The first axis of A whose faces and edges count, see [`extents`].
    first: usize,
    axis: Vector3<f64>,
    radius: f64,
    half_length: f64,
}

impl Pair<'_> {
    /// The best of these directions: the faces' normals, the cylinder's axis, and the cross products of that axis and
    /// each edge.
    fn axes(&self) -> Candidate {
        let Self { half, axis, radius, half_length, .. } = self;
        let t = &self.relative.translation;
        let along = axis.dot(t);
        let mut best = Candidate {
            separation: along.abs() - half.dot(&axis.abs()) - half_length,
            normal: axis * 1_f64.copysign(along),
            meet: Meet::Corner,
        };
        let mut take = |separation: f64, normal: &dyn Fn() -> Vector3<f64>, meet: Meet| {
            if separation > best.separation {
                best = Candidate { separation, normal: normal(), meet };
            }
        };
        for i in 0..3 {
            let (j, k) = NEXT[i];
            let sine = axis[j].hypot(axis[k]);
            // A segment has no faces: a side of it may be on a rim along the axes across it.
            if self.first == 0 || i < self.first {
                let separation = t[i].abs() - half[i] - half_length * axis[i].abs() - radius * sine;
                let edge = (self.first > 0).then_some(self.first);
                take(separation, &|| Vector3::ith(i, 1_f64.copysign(t[i])), Meet::Rim(edge));
            }
            if i >= self.first {
                let along = t[k] * axis[j] - t[j] * axis[k];
                let across = along.abs() - half[j] * axis[k].abs() - half[k] * axis[j].abs();
                let normal = || {
                    let mut normal = Vector3::zeros();
                    (normal[j], normal[k]) = (-axis[k], axis[j]);
                    normal * (1_f64.copysign(along) / sine)
                };
                take(across / sine - radius, &normal, Meet::EdgeOnSide(i));
            }
        }
        best
    }

    /// The best direction from a corner to the nearest point on the cylinder's side or rim, of those along which the
    /// corner is the farthest point.
    fn corner(&self) -> Option<Candidate> {
        let Self { half, axis, radius, half_length, .. } = self;
        let mut best: Option<Candidate> = None;
        for k in (0..8).step_by(1 << self.first) {
            let sign = Vector3::from_fn(|i, _| if k >> i & 1 == 0 { 1.0 } else { -1.0 });
            let to = self.relative.translation - half.component_mul(&sign);
            let along = axis.dot(&to);
            let across = to - axis * along;
            let beyond = along.abs() - half_length;
            let from_axis = across.norm();
            let out = from_axis - radius;
            let (separation, normal) = if beyond <= 0.0 {
                (out, across / from_axis)
            } else if out > 0.0 {
                let separation = out.hypot(beyond);
                let normal = across * (out / from_axis) + axis * beyond.copysign(along);
                (separation, normal / separation)
            } else {
                continue;
            };
            let is_farthest = (self.first..3).all(|i| normal[i] * sign[i] > 0.0);
            if is_farthest && best.is_none_or(|best| separation > best.separation) {
                best = Some(Candidate { separation, normal, meet: Meet::Corner });
            }
        }
        best
    }

    /// The best direction for an edge along A's axis `i` on a rim, if it is better than the best so far.
    fn edge_on_rim(&self, i: usize, best: &Candidate) -> Option<Candidate> {
        let (j, k) = NEXT[i];
        let flat = |v: &Vector3<f64>| Vector2::new(v[j], v[k]);
        let (half, axis, t) = (flat(&self.half), flat(&self.axis), flat(&self.relative.translation));
        let side = left(&axis) / axis.norm();
        // The directions at which the corner or the rim changes. Of two opposite ones, the one from A's middle to B's
        // is better.
        let mut ends = [Vector2::x(), Vector2::y(), side].map(|n| if n.dot(&t) < 0.0 { -n } else { n });
        for (low, high) in [(0, 1), (1, 2), (0, 1)] {
            if ends[low].perp(&ends[high]) < 0.0 {
                ends.swap(low, high);
            }
        }
        let mut found = None;
        let mut separation = best.separation;
        for (from, to) in [(-ends[2], ends[0]), (ends[0], ends[1]), (ends[1], ends[2]), (ends[2], -ends[0])] {
            let middle = from + to;
            let corner = Vector2::new(half.x.copysign(middle.x), half.y.copysign(middle.y));
            let towards = axis * 1_f64.copysign(axis.dot(&middle));
            let rim =
                Rim { w: t - corner - towards * self.half_length, towards, radius: self.radius, along: self.axis[i] };
            if let Some((n, value)) = rim.highest(from, to, separation) {
                separation = value;
                let mut normal = Vector3::zeros();
                (normal[j], normal[k]) = (n.x, n.y);
                found = Some(Candidate { separation, normal, meet: Meet::Rim(Some(i)) });
            }
        }
        found
    }

    /// The witness points for a candidate direction. `None` if it is no maximum, or if more than a point touches.
    fn points(&self, candidate: &Candidate) -> Option<ClosestPoints> {
        let &Candidate { separation, normal, meet } = candidate;
        let Self { a, b, relative, .. } = *self;
        let outside = outside(a, b);
        match meet {
            Meet::Corner => {
                let point_a = a.support(&normal);
                let point_b = point_a + normal * separation;
                let is_over = is_pointed(a, &normal, None) && b.contains(&relative.in_b(&point_b), outside);
                is_over.then_some(ClosestPoints { normal, point_a, point_b })
            }
            Meet::Rim(edge) => {
                let point_b = relative.support(b, &-normal);
                let point_a = point_b - normal * separation;
                let cosine = self.axis.dot(&normal).abs();
                let is_rim = cosine > PARALLEL && cosine < 1.0 - PARALLEL * PARALLEL;
                let is_over = edge.is_none_or(|_| is_pointed(a, &normal, edge)) && a.contains(&point_a, outside);
                (is_rim && is_over).then_some(ClosestPoints { normal, point_a, point_b })
            }
            Meet::EdgeOnSide(i) => {
                let middle = relative.translation - normal * self.radius;
                let side = (self.half_length, &self.axis, &middle);
                crossing(a, i, side, &normal, separation, outside).filter(|_| is_pointed(a, &normal, Some(i)))
            }
        }
    }
}

/// The vector turned by a quarter turn to the left.
fn left(v: &Vector2<f64>) -> Vector2<f64> {
    Vector2::new(-v.y, v.x)
}

/// A rim against a corner of a rectangle: the box and the cylinder, projected along an edge of the box.
struct Rim {
    /// The vector from the corner to the rim's middle.
    w: Vector2<f64>,
    /// The projection of the cylinder's axis, with the sign that points to the directions looked at.
    towards: Vector2<f64>,
    radius: f64,
    /// The component of the cylinder's axis along the edge.
    along: f64,
}

impl Rim {
    /// The vector x(n) and the number q of the formulas above.
    fn point(&self, n: &Vector2<f64>) -> (Vector2<f64>, f64) {
        let q = self.along.hypot(n.perp(&self.towards));
        (self.w - (n - self.towards * n.dot(&self.towards)) * (self.radius / q), q)
    }

    /// The derivative of the separation s by the angle of n, to the left.
    fn slope(&self, n: &Vector2<f64>) -> f64 {
        left(n).dot(&self.point(n).0)
    }

    /// The direction between `from` and `to` (to the left) with the largest separation s, and that separation. `None`
    /// if s has no maximum between them, or none above `least`.
    fn highest(&self, from: Vector2<f64>, to: Vector2<f64>, least: f64) -> Option<(Vector2<f64>, f64)> {
        let (x_from, x_to) = (self.point(&from).0, self.point(&to).0);
        let has_maximum = left(&from).dot(&x_from) > 0.0 && left(&to).dot(&x_to) < 0.0;
        let is_beyond = self.w.dot(&self.towards) < 0.0;
        if !has_maximum && !is_beyond {
            return None;
        }
        // As a function of all vectors s is concave, so s(n) ≤ n·x(m) for any m.
        let between = x_from - x_to;
        let mut n = (from * to.dot(&between) - to * from.dot(&between)).normalize();
        if least <= 0.0 && n.dot(&x_from) <= least {
            return None;
        }
        let (mut low, mut high) = (from, to);
        if !has_maximum {
            (low, high) = self.falling(from, to)?;
            if self.slope(&low) <= 0.0 || self.slope(&high) >= 0.0 {
                return None;
            }
        }
        if low.perp(&n) <= 0.0 || n.perp(&high) <= 0.0 {
            n = (low + high).normalize();
        }
        for _ in 0..STEPS {
            let (x, q) = self.point(&n);
            let slope = left(&n).dot(&x);
            *if slope > 0.0 { &mut low } else { &mut high } = n;
            let bend = n.dot(&x) + self.radius * self.along.powi(2) / q.powi(3);
            let step = slope / bend;
            let newton = (n + left(&n) * step).normalize();
            if bend > 0.0 && step.abs() < CONVERGED {
                n = newton;
                break;
            }
            let is_inside = bend > 0.0 && low.perp(&newton) > 0.0 && newton.perp(&high) > 0.0;
            n = if is_inside { newton } else { (low + high).normalize() };
        }
        let value = n.dot(&self.point(&n).0);
        (value > least).then_some((n, value))
    }

    /// The part of the angle between two directions in which the bracket of the formula above falls.
    fn falling(&self, from: Vector2<f64>, to: Vector2<f64>) -> Option<(Vector2<f64>, Vector2<f64>)> {
        let length = self.towards.norm();
        let up = self.towards / length;
        let sine = (-self.w.dot(&up) * self.along.abs() / (self.radius * length.powi(2))).cbrt();
        if sine >= 1.0 {
            return None;
        }
        let aside = left(&up) * ((1.0 - sine * sine).sqrt() * self.along.abs());
        let (low, high) = ((up * sine - aside).normalize(), (up * sine + aside).normalize());
        let low = if from.perp(&low) > 0.0 { low } else { from };
        let high = if high.perp(&to) > 0.0 { high } else { to };
        (low.perp(&high) > 0.0).then_some((low, high))
    }
}
