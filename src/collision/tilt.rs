//! The probability that a point is the deepest if bodies are tilted a little, in a random direction.
//!
//! Over the overlap of two flat parts the gap is g(x) = φ + τ·x. After a tilt by a slope s, the deepest point is the
//! corner whose cone of outward normals (between those of its two edges) contains s − τ. Let s be random, with all
//! directions equally likely and a share
//!
//! ```text
//! M(r) = 2 ρ − ρ²,   ρ = (r/ε)²        (1 for r ≥ ε)
//! ```
//!
//! of all slopes below r. The weight of a corner is the probability that it is the deepest: the mass of its cone with
//! the apex in τ. For parallel parts, τ = 0, it is the angle by which the polygon turns there, as a fraction of 2π. If
//! the parts are tilted beyond ε, the deepest corner has all the weight. The weights are twice continuously
//! differentiable in any motion as long as the corners are apart. Corners that meet or split share their weight.
//!
//! By Green's theorem the mass of a cone is the integral of M dθ/2π around it: out along one ray and back along the
//! other.

use nalgebra::Vector2;

use super::number::{Number, along2, cross2, dot2};

/// A smaller weight becomes zero and goes to the heaviest corner. Such points stand back by more than any step.
pub(crate) const NONE: f64 = 1e-6;

/// M at ρ.
pub(super) fn part<S: Number>(rho: S) -> S {
    let one = S::constant(1.0);
    if rho.value() < 1.0 { one - (one - rho) * (one - rho) } else { one }
}

/// ∫ M dθ along the outward normal of a polygon's edge, from the polygon's slope τ, in units of ε. It goes to infinity
/// or, if another polygon joins at the edge, only to the point nearest to the origin. The other polygon goes to the
/// same point from its own slope, so the two together go from slope to slope.
pub(super) fn outwards<S: Number>(slope: &Vector2<S>, edge: &Vector2<S>, joins: bool) -> S {
    let along = outward(edge);
    let whole = ray(slope, &along);
    if !joins {
        return whole;
    }
    let near = along2(slope, &along, -dot2(slope, &along));
    whole - ray(&near, &along)
}

/// The unit normal on the right of a direction.
fn outward<S: Number>(edge: &Vector2<S>) -> Vector2<S> {
    let length = dot2(edge, edge).sqrt();
    Vector2::new(edge.y / length, -edge.x / length)
}

/// ∫ M dθ along a ray from the apex on, for ε = 1: with u along the ray and its distance b from the origin,
/// dθ = −b/(u² + b²) du.
fn ray<S: Number>(apex: &Vector2<S>, along: &Vector2<S>) -> S {
    let (a, b) = (dot2(along, apex), cross2(along, apex));
    let one = S::constant(1.0);
    let square = b * b;
    if square.value() >= 1.0 {
        return -b.atan2(a);
    }
    // The ray is within ε from −c to c.
    let c = (one - square).sqrt();
    if a.value() >= c.value() {
        return -b.atan2(a);
    }
    let is_outside = a.value() < -c.value();
    let (first, before) = if is_outside { (-c, b.atan2(-c) - b.atan2(a)) } else { (a, S::constant(0.0)) };
    let inside = |u: S| -b * u * (one + one - square - u * u / S::constant(3.0));
    before + inside(c) - inside(first) - b.atan2(c)
}
