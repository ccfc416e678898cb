//! Points and ellipsoids, whose surface is one smooth piece: Newton's method on the separation s(n) needs no search
//! for the features in contact.
//!
//! For bodies that are apart, s is concave where it is positive, because support functions are convex. So there is one
//! maximum. The same holds if bodies overlap by less than the radii of balls that can roll inside along their surfaces.
//! Each body is then a smaller body with a radius around it, and the smaller bodies are apart. Deeper inside, s has
//! several maxima. Climbs then start from the best of many directions, far from each other.

use nalgebra::Vector3;

use super::core::Core;
use super::feature::Feature;
use super::frame::column;
use super::polish::{CONVERGED, EXACT, Features};
use super::relative::{ClosestPoints, Relative};

/// The number of climbs for overlapping bodies. We compared with
/// forty climbs on 262,714 random pairs of overlapping ellipsoids, 1 cm to half a metre long. Eight climbs found the
/// same answer in all pairs, six in all but one, four in all but seven.
const CLIMBS: usize = 8;
/// The largest cosine between the starting directions of climbs.
const SPREAD: f64 = 0.9;
/// A climb ends if the cosine to where another one has ended exceeds this.
const KNOWN: f64 = 0.9999;
/// The step, in rad, at which all climbs but the highest stop. The highest goes on to the end, a few steps from there.
const NEARLY: f64 = 1e-3;
/// The directions of a grid on a cube, one of each two opposite ones.
const GRID: [Vector3<f64>; 49] = grid();
/// The number of starting directions: the grid, B's axes, and the direction between the bodies.
const DIRECTIONS: usize = GRID.len() + 3 + 1;

/// The closest points, or those of the shortest translation that separates the cores. `None` for cores that are not
/// smooth, or if Newton's method does not converge.
pub(super) fn closest(
    a: &Core,
    b: &Core,
    relative: &Relative,
    size: f64,
    start: Option<Vector3<f64>>,
) -> Option<ClosestPoints> {
    let on_b = Feature::smooth(b)?.placed(&relative.rotation, &relative.translation);
    let features = Features { a: Feature::smooth(a)?, b: on_b };
    let separation = |normal: &Vector3<f64>| normal.dot(&features.difference(normal));
    let finish = |normal: Vector3<f64>| {
        let normal = features.climb(normal, CONVERGED, |_, _| false)?;
        let (point_a, between) = (features.a.support(&normal), features.difference(&normal));
        let separation = normal.dot(&between);
        let aside = (between - normal * separation).norm();
        let points = ClosestPoints { normal, point_a, point_b: point_a + normal * separation };
        (aside <= EXACT * size).then_some(points)
    };
    let towards = relative.translation.try_normalize(0.0).unwrap_or(Vector3::z());
    let first =
        features.climb(start.unwrap_or(towards), NEARLY, |_, _| false).map(|normal| (separation(&normal), normal));
    if let Some((separation, normal)) = first
        && separation > -(rolling(a) + rolling(b))
    {
        return finish(normal);
    }
    let (mut highest, mut best) = first.unwrap_or((f64::NEG_INFINITY, towards));
    let mut known = Vec::with_capacity(1 + CLIMBS);
    known.extend(first.map(|(_, normal)| normal));
    let mut rated = rated(&features, relative, towards);
    for _ in 0..CLIMBS {
        let Some(&(_, start)) =
            rated.iter().filter(|(separation, _)| separation.is_finite()).max_by(|x, y| x.0.total_cmp(&y.0))
        else {
            break;
        };
        for (separation, direction) in &mut rated {
            if direction.dot(&start) >= SPREAD {
                *separation = f64::NEG_INFINITY;
            }
        }
        let is_known = |n: &Vector3<f64>| known.iter().any(|other| other.dot(n) > KNOWN);
        if let Some(normal) = features.climb(start, NEARLY, |n, reached| reached < highest || is_known(n)) {
            known.push(normal);
            let here = separation(&normal);
            if here > highest {
                (highest, best) = (here, normal);
            }
        }
    }
    highest.is_finite().then(|| finish(best))?
}

/// The radius of the largest ball that can roll inside the core along its surface: the least radius of curvature
/// (Blaschke's theorem).
pub(super) fn rolling(core: &Core) -> f64 {
    if let Core::Ellipsoid(radii) = core { radii.min().powi(2) / radii.max() } else { 0.0 }
}

/// The starting directions with the separations along them: a grid on a cube, B's axes, and `towards`. Of two opposite
/// directions, the one from A's middle to B's has the larger separation, as the cores are symmetric about their
/// middles.
fn rated(features: &Features, relative: &Relative, towards: Vector3<f64>) -> [(f64, Vector3<f64>); DIRECTIONS] {
    let axes = (0..3).map(|k| column(&relative.rotation, k));
    let mut rated = [(f64::NEG_INFINITY, Vector3::zeros()); DIRECTIONS];
    for (place, direction) in rated.iter_mut().zip(GRID.into_iter().chain(axes).chain([towards])) {
        let along = relative.translation.dot(&direction);
        let width = features.a.half_width(&direction) + features.b.half_width(&direction);
        *place = (along.abs() - width, direction * 1_f64.copysign(along));
    }
    rated
}

/// The directions of [`GRID`].
const fn grid() -> [Vector3<f64>; 49] {
    let mut all = [Vector3::new(0.0, 0.0, 0.0); 49];
    let (mut n, mut k) = (0, 0);
    // There are five steps along each axis. The second half of the cube is opposite to the first.
    while k < 62 {
        let (x, y, z) = ((k / 25) as f64 / 2.0 - 1.0, (k / 5 % 5) as f64 / 2.0 - 1.0, (k % 5) as f64 / 2.0 - 1.0);
        if x * x == 1.0 || y * y == 1.0 || z * z == 1.0 {
            let square = x * x + y * y + z * z;
            // Newton's method for 1/√square.
            let (mut scale, mut step) = (0.7, 0);
            while step < 8 {
                scale *= 1.5 - 0.5 * square * scale * scale;
                step += 1;
            }
            all[n] = Vector3::new(scale * x, scale * y, scale * z);
            n += 1;
        }
        k += 1;
    }
    all
}
