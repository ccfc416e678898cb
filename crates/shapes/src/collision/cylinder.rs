//! Segments and boxes against cylinders: the largest separation, from all directions that may have it.
//!
//! With c the cylinder's axis, t its middle, r its radius, h half its length and e the box's half extents, in the box's frame,
//!
//! ```text
//! s(n) = n·t − Σ eᵢ|nᵢ| − h|n·c| − r √(1 − (n·c)²)
//! ```
//!
//! A face's normal, ±c (a corner over a cap), eᵢ × c (an edge across the side), and what is next to a corner on the side or the
//! rim have formulas. What is left is an edge on a rim: nᵢ = 0. Between directions at which another corner or rim comes up,
//!
//! ```text
//! s(n) = n·x(n),   x(n) = w − r (n − (n·c) c)/q,   q = √(1 − (n·c)²),   s'' = −s − r cᵢ²/q³
//! ```
//!
//! with w from the corner to the rim's middle, and n and c as they are seen along the edge. There is at most one maximum. For a rim is
//! seen as an ellipse, and over its angle E, which goes with n, s' has the sign of
//!
//! ```text
//! sin E (r (1 − cᵢ²) cos E − w₁ + w₂ |cᵢ| cot E)
//! ```
//!
//! w₁ along the ellipse's long axis and w₂ along the short one, towards the half that is looked at. There the bracket falls
//! everywhere if w₂ ≥ 0, and else where sin³E > −w₂ |cᵢ|/(r (1 − cᵢ²)), and maxima are its zeros where it falls.

use nalgebra::{Vector2, Vector3};

use super::axes::{NEXT, PARALLEL, crossing, extents, is_pointed, outside};
use super::core::Core;
use super::frame::column;
use super::relative::{ClosestPoints, Relative};

/// Newton's method takes five steps, where the rim is steep bisection takes more.
const STEPS: usize = 60;
/// Newton's last step, which leaves an error of its square.
const CONVERGED: f64 = 1e-9;

/// The closest points, or those of the least translation that parts the cores; none for other cores, and where sides are parallel or
/// perpendicular to the axis or touch with more than a point.
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
    // Apart, any that points attain is the one.
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
    /// Unit vector from A to B.
    normal: Vector3<f64>,
    meet: Meet,
}

/// What meets along a direction.
#[derive(Clone, Copy)]
enum Meet {
    /// A corner of the box, and anything.
    Corner,
    /// The edge along an axis of the box, and the cylinder's side.
    EdgeOnSide(usize),
    /// A face of the box, or the edge along an axis of it, and a rim.
    Rim(Option<usize>),
}

struct Pair<'a> {
    a: &'a Core,
    b: &'a Core,
    relative: &'a Relative,
    half: Vector3<f64>,
    /// The first axis of A that counts, see [`extents`].
    first: usize,
    axis: Vector3<f64>,
    radius: f64,
    half_length: f64,
}

impl Pair<'_> {
    /// The best of the faces' normals, the cylinder's axis, and the directions across that and an edge.
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

    /// The best of the corners that are farthest along the normal of what is next to them on the cylinder's side or rim.
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

    /// The best of the edges along A's axis `i` on a rim, if that is better than the best so far.
    fn edge_on_rim(&self, i: usize, best: &Candidate) -> Option<Candidate> {
        let (j, k) = NEXT[i];
        let flat = |v: &Vector3<f64>| Vector2::new(v[j], v[k]);
        let (half, axis, t) = (flat(&self.half), flat(&self.axis), flat(&self.relative.translation));
        let side = left(&axis) / axis.norm();
        // Directions at which the corner or the rim changes. Those that look from A's middle to B's: their opposites are worse.
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

    /// The witness points of a candidate; none where it is no maximum, or more than a point touches.
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

/// A quarter turn to the left.
fn left(v: &Vector2<f64>) -> Vector2<f64> {
    Vector2::new(-v.y, v.x)
}

/// A rim against a corner of a rectangle, both seen along an edge.
struct Rim {
    /// From the corner to the rim's middle.
    w: Vector2<f64>,
    /// The cylinder's axis, on the side of the directions looked at, as long as it is seen.
    towards: Vector2<f64>,
    radius: f64,
    /// The axis along the edge.
    along: f64,
}

impl Rim {
    /// x(n) and q.
    fn point(&self, n: &Vector2<f64>) -> (Vector2<f64>, f64) {
        let q = self.along.hypot(n.perp(&self.towards));
        (self.w - (n - self.towards * n.dot(&self.towards)) * (self.radius / q), q)
    }

    /// ds/dangle, to the left.
    fn slope(&self, n: &Vector2<f64>) -> f64 {
        left(n).dot(&self.point(n).0)
    }

    /// The direction left of `from` and right of `to` with the largest s, and that; none if s has no maximum between them, or none above
    /// `least`.
    fn highest(&self, from: Vector2<f64>, to: Vector2<f64>, least: f64) -> Option<(Vector2<f64>, f64)> {
        let (x_from, x_to) = (self.point(&from).0, self.point(&to).0);
        let has_maximum = left(&from).dot(&x_from) > 0.0 && left(&to).dot(&x_to) < 0.0;
        let is_beyond = self.w.dot(&self.towards) < 0.0;
        if !has_maximum && !is_beyond {
            return None;
        }
        // s is concave as a function of all vectors, so that s(n) ≤ n·x(m), whatever m.
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

    /// The part of a stretch in which the bracket falls, see above.
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
