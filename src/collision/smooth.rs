//! Points and ellipsoids, whose surface is one smooth piece: Newton's method on the separation s(n) needs no search
//! for the features in contact.
//!
//! Apart, s is concave where it is positive (less support functions, which are convex), so that any maximum is the one.
//! Inside, s has several: climbs start from the best directions of many, far from each other.

use nalgebra::Vector3;

use super::core::Core;
use super::feature::Feature;
use super::frame::column;
use super::polish::{EXACT, Features};
use super::query::{ClosestPoints, Relative};

/// Climbs inside, each from a direction whose cosine to those of the others is below the limit. Of 262,714 random pairs of overlapping
/// ellipsoids, 1 cm to half a metre long, eight found what forty find in all, six in all but one, four in all but seven.
const CLIMBS: usize = 8;
const SPREAD: f64 = 0.9;
/// A climb that comes this near to where another has ended, by the cosine, ends there too.
const KNOWN: f64 = 0.9999;
/// Directions of a cube's grid, of B's axes, and one between the bodies.
const DIRECTIONS: usize = 98 + 6 + 1;

/// The closest points, or those of the least translation that parts the cores; none for other cores, or where Newton's
/// method does not arrive.
pub(super) fn closest(a: &Core, b: &Core, relative: &Relative, size: f64) -> Option<ClosestPoints> {
    let on_b = Feature::smooth(b)?.placed(&relative.rotation, &relative.translation);
    let features = Features { a: Feature::smooth(a)?, b: on_b };
    let climb = |start: Vector3<f64>, known: &[(f64, ClosestPoints)]| {
        let is_known = |n: &Vector3<f64>| known.iter().any(|(_, points)| points.normal.dot(n) > KNOWN);
        let normal = features.climb(start, is_known)?;
        let (point_a, point_b) = (features.a.support(&normal), features.b.support(&-normal));
        let between = point_b - point_a;
        let separation = normal.dot(&between);
        let aside = (between - normal * separation).norm();
        let points = ClosestPoints { normal, point_a, point_b: point_a + normal * separation };
        (aside <= EXACT * size).then_some((separation, points))
    };
    let towards = relative.translation.try_normalize(0.0).unwrap_or(Vector3::z());
    let first = climb(towards, &[]);
    if let Some((separation, points)) = first
        && separation > 0.0
    {
        return Some(points);
    }
    let mut found = Vec::with_capacity(1 + CLIMBS);
    found.extend(first);
    for start in starts(&features, relative, towards).into_iter().flatten() {
        found.extend(climb(start, &found));
    }
    found.into_iter().max_by(|x, y| x.0.total_cmp(&y.0)).map(|(_, points)| points)
}

/// The directions of largest separation among those of a grid on a cube, B's axes and `towards`. Of two opposite ones that which looks
/// from A's middle to B's has the larger separation: the cores are symmetric about their middles.
fn starts(features: &Features, relative: &Relative, towards: Vector3<f64>) -> [Option<Vector3<f64>>; CLIMBS] {
    let steps = [-1.0, -0.5, 0.0, 0.5, 1.0];
    let grid =
        steps.into_iter().flat_map(|x| steps.into_iter().flat_map(move |y| steps.map(|z| Vector3::new(x, y, z))));
    let axes = (0..3).flat_map(|k| [column(&relative.rotation, k), -column(&relative.rotation, k)]);
    let directions = grid
        .filter(|direction| direction.amax() == 1.0)
        .map(|direction| direction.normalize())
        .chain(axes)
        .filter(|direction| direction.dot(&towards) >= 0.0)
        .chain([towards]);
    let mut rated = [(f64::NEG_INFINITY, Vector3::zeros()); DIRECTIONS];
    for (place, direction) in rated.iter_mut().zip(directions) {
        *place = (direction.dot(&features.difference(&direction)), direction);
    }
    let mut starts = [None; CLIMBS];
    for start in 0..CLIMBS {
        let (taken, rest) = starts.split_at_mut(start);
        let is_far = |direction: &Vector3<f64>| taken.iter().flatten().all(|other| direction.dot(other) < SPREAD);
        let far = rated.iter().filter(|(separation, direction)| separation.is_finite() && is_far(direction));
        rest[0] = far.max_by(|x, y| x.0.total_cmp(&y.0)).map(|(_, direction)| *direction);
    }
    starts
}
