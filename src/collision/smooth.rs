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

/// Climbs inside, each from a direction whose cosine to those of the others is below the limit.
const CLIMBS: usize = 6;
const SPREAD: f64 = 0.9;
/// Directions of a cube's grid, of B's axes, and one between the bodies.
const DIRECTIONS: usize = 98 + 6 + 1;

/// The closest points, or those of the least translation that parts the cores; none for other cores, or where Newton's
/// method does not arrive.
pub(super) fn closest(a: &Core, b: &Core, relative: &Relative, size: f64) -> Option<ClosestPoints> {
    let on_b = Feature::smooth(b)?.placed(&relative.rotation, &relative.translation);
    let features = Features { a: Feature::smooth(a)?, b: on_b };
    let climb = |start: &Vector3<f64>| {
        let points = features.solve(start)?;
        let between = points.point_b - points.point_a;
        let separation = points.normal.dot(&between);
        let aside = (between - points.normal * separation).norm();
        (aside <= EXACT * size).then_some((separation, points))
    };
    let towards = relative.translation.try_normalize(0.0).unwrap_or(Vector3::z());
    if let Some((separation, points)) = climb(&towards)
        && separation > 0.0
    {
        return Some(points);
    }
    let climbs = starts(a, b, relative, towards).map(|start| start.and_then(|start| climb(&start)));
    climbs.into_iter().flatten().max_by(|x, y| x.0.total_cmp(&y.0)).map(|(_, points)| points)
}

/// The directions of largest separation among those of a grid on a cube, B's axes and `towards`.
fn starts(a: &Core, b: &Core, relative: &Relative, towards: Vector3<f64>) -> [Option<Vector3<f64>>; CLIMBS] {
    let steps = [-1.0, -0.5, 0.0, 0.5, 1.0];
    let grid =
        steps.into_iter().flat_map(|x| steps.into_iter().flat_map(move |y| steps.map(|z| Vector3::new(x, y, z))));
    let axes = (0..3).flat_map(|k| [column(&relative.rotation, k), -column(&relative.rotation, k)]);
    let directions = grid
        .filter(|direction| direction.amax() == 1.0)
        .map(|direction| direction.normalize())
        .chain(axes)
        .chain([towards]);
    let mut rated = [(f64::NEG_INFINITY, Vector3::zeros()); DIRECTIONS];
    for (place, direction) in rated.iter_mut().zip(directions) {
        *place = (relative.separation(a, b, &direction), direction);
    }
    rated.sort_by(|x, y| y.0.total_cmp(&x.0));
    let mut starts = [None; CLIMBS];
    for start in 0..CLIMBS {
        let (taken, rest) = starts.split_at_mut(start);
        let is_far = |direction: &Vector3<f64>| taken.iter().flatten().all(|other| direction.dot(other) < SPREAD);
        rest[0] = rated.iter().map(|(_, direction)| *direction).find(is_far);
    }
    starts
}
