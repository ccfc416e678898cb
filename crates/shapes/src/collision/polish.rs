//! Polishing: from witness points that are exact up to GJK's tolerance to exact ones.
//!
//! Once it is known which features (face, edge, vertex, rim, smooth surface) are in contact, the normal is the unit
//! vector perpendicular to all their tangents that maximises the separation
//!
//! ```text
//! s(n) = n·(x_B(−n) − x_A(n)),   ∂s/∂n = x_B − x_A,   ∂²s/∂n² = −(H_A + H_B),   H = ∂x/∂n of each feature's support
//! ```
//!
//! Newton's method finds it: on the unit sphere, in tangent coordinates, (H_A + H_B + s 1) δ = x_B − x_A. The rest of
//! x_B − x_A then lies along the tangents. Support functions tell whether the result is right: no direction separates
//! by more than the true distance, and points of both bodies that far apart along n attain it.

use nalgebra::{Matrix2, Vector2, Vector3};

use super::core::Core;
use super::feature::Feature;
use super::frame::turned_back;
use super::relative::{ClosestPoints, Relative};

/// Distances, as parts of the bodies' size, within which a point may be on an edge or vertex. The first is for exact
/// points, the next are up to GJK's tolerance, and up to EPA's on curved bodies.
const NEAR: [f64; 5] = [1e-12, 1e-8, 1e-5, 1e-3, 3e-2];
/// How far the right features may be from the coarse points if the nearest ones are wrong, as a part of the bodies'
/// size.
const AROUND: f64 = 1e-2;
/// A point halfway between two corners is on what joins them, up to this part of the bodies' size.
const BESIDE: f64 = 1e-12;
/// The most steps. Newton's method converges quadratically near the end; 30 steps allow for halved ones, twice that for
/// bisection.
const STEPS: usize = 30;
/// The polished separation must be exact to this part of the bodies' size.
pub(super) const EXACT: f64 = 1e-11;
/// Polished points may be outside the bodies by this part of the bodies' size.
const OUTSIDE: f64 = 1e-12;
/// The polished separation may be below the coarse one, a lower bound, by this part of the bodies' size.
const WORSE: f64 = 1e-13;
/// Curvatures of s below this part of the largest one are replaced by it: coaxial bodies of revolution have none around
/// their axis.
const FLAT: f64 = 1e-5;
/// The size of Newton's last step, in rad. It leaves an error of its square.
pub(super) const CONVERGED: f64 = 1e-10;
/// Newton's model predicts the end of a climb up to this step, in rad.
const NEWTON: f64 = 0.1;
/// The vector between points that meet is along n, up to this part of their coordinates.
const ASIDE: f64 = 1e-9;
/// The leans from a rim's axis of the starting directions beside it.
const BESIDE_RIM: [f64; 3] = [1e-6, 1e-4, 1e-2];
/// Separations differ by rounding up to this part of the points' coordinates. Steps that lose no more are taken.
const NOISE: f64 = 8.0 * f64::EPSILON;
/// A direction counts as linearly dependent on others if the part of it that is perpendicular to them is shorter than
/// this.
const PARALLEL: f64 = 1e-7;

/// The two features in contact, in A's frame.
pub(super) struct Features {
    pub(super) a: Feature,
    pub(super) b: Feature,
}

/// The exact closest points next to coarse ones; `None` if their features cannot be told.
pub(super) fn polish(
    a: &Core,
    b: &Core,
    relative: &Relative,
    coarse: &ClosestPoints,
    size: f64,
) -> Option<ClosestPoints> {
    let in_b = relative.in_b(&coarse.point_b);
    let near_a = |near: f64| Feature::near(a, &coarse.point_a, near * size);
    let near_b = |near: f64| Feature::near(b, &in_b, near * size).placed(&relative.rotation, &relative.translation);
    let at_least = relative.separation(a, b, &coarse.normal) - WORSE * size;
    let exact = |features: Features| {
        let points = features.solve(&coarse.normal)?;
        let separation = relative.separation(a, b, &points.normal);
        let attained = points.normal.dot(&(points.point_b - points.point_a));
        let is_right = attained - separation <= EXACT * size
            && separation >= at_least
            && a.contains(&points.point_a, OUTSIDE * size)
            && b.contains(&relative.in_b(&points.point_b), OUTSIDE * size);
        is_right.then_some(points)
    };
    exact(Features { a: near_a(NEAR[0]), b: near_b(NEAR[0]) }).or_else(|| {
        let (all_a, all_b) = (NEAR.map(near_a), NEAR.map(near_b));
        let is_new = |features: &[Feature], i: usize| i == 0 || features[i] != features[i - 1];
        // Tries features nearest to the coarse points of both bodies first.
        let pairs = (1..2 * NEAR.len()).flat_map(|sum| (0..=sum).map(move |i| (i, sum - i)));
        let pairs = pairs.filter(|&(i, j)| i.max(j) < NEAR.len() && is_new(&all_a, i) && is_new(&all_b, j));
        let found = pairs.map(|(i, j)| Features { a: all_a[i], b: all_b[j] }).find_map(exact);
        found.or_else(|| beside(a, b, relative, coarse, size, exact)).or_else(|| {
            // Or the coarse points are at the wrong end of the features that touch, or on a wrong one of many that meet
            // in a corner.
            let places_a = [coarse.point_a, a.support(&coarse.normal)];
            let places_b = [in_b, b.support(&turned_back(&relative.rotation, &-coarse.normal))];
            let around = |core: &Core, places: [Vector3<f64>; 2]| -> Vec<Feature> {
                places.iter().flat_map(|place| Feature::around(core, place, AROUND * size)).collect()
            };
            let place = |feature: Feature| feature.placed(&relative.rotation, &relative.translation);
            let all_b: Vec<Feature> = around(b, places_b).into_iter().map(place).collect();
            let pairs = around(a, places_a).into_iter().flat_map(|a| all_b.iter().map(move |&b| Features { a, b }));
            pairs.into_iter().find_map(exact)
        })
    })
}

/// The exact closest points if the coarse ones are at an end of the feature that touches. Along the normal at that end,
/// the body reaches farther elsewhere. The point halfway there is on the feature that touches.
fn beside(
    a: &Core,
    b: &Core,
    relative: &Relative,
    coarse: &ClosestPoints,
    size: f64,
    exact: impl Fn(Features) -> Option<ClosestPoints>,
) -> Option<ClosestPoints> {
    let end_a = Feature::near(a, &coarse.point_a, NEAR[0] * size);
    let end_b = Feature::near(b, &relative.in_b(&coarse.point_b), NEAR[0] * size);
    let end_b = end_b.placed(&relative.rotation, &relative.translation);
    let ClosestPoints { normal, point_a, point_b } = Features { a: end_a, b: end_b }.solve(&coarse.normal)?;
    let half_way_a = (point_a + a.support(&normal)) / 2.0;
    let half_way_b = relative.in_b(&((point_b + relative.support(b, &-normal)) / 2.0));
    let beside_a = Feature::near(a, &half_way_a, BESIDE * size);
    let beside_b = Feature::near(b, &half_way_b, BESIDE * size);
    let beside_b = beside_b.placed(&relative.rotation, &relative.translation);
    let pairs = [(beside_a, end_b), (end_a, beside_b), (beside_a, beside_b)];
    pairs.into_iter().map(|(a, b)| Features { a, b }).find_map(exact)
}

impl Features {
    /// The closest points of these features: the stationary separation nearest to a direction.
    pub(super) fn solve(&self, near: &Vector3<f64>) -> Option<ClosestPoints> {
        let (span, n_span) = self.independent().basis();
        let span = &span[..n_span];
        let across = |v: Vector3<f64>| span.iter().fold(v, |v, t| v - t * t.dot(&v));
        let mut n = match *span {
            [t, r] => {
                let n = t.cross(&r);
                n * 1_f64.copysign(n.dot(near))
            }
            _ => across(*near).try_normalize(PARALLEL)?,
        };
        match *span {
            [] => n = self.met(&n).or_else(|| self.beside_rims(&n).find_map(|start| self.met(&start)))?,
            [t] => n = self.turn(&n, &t)?,
            _ => {}
        }
        // Faces or edges that are not perpendicular to n touch with a corner only.
        if self.a.tangents().iter().chain(self.b.tangents()).any(|t| t.dot(&n).abs() > PARALLEL) {
            return None;
        }
        let (x_a, x_b) = (self.a.support(&n), self.b.support(&-n));
        let d = x_b - x_a;
        let [step_a, step_b] = self.slide(span).close(&(d - n * n.dot(&d)))?;
        let (point_a, point_b) = (x_a + step_a, x_b + step_b);
        Some(ClosestPoints { normal: n, point_a, point_b })
    }

    /// At most two linearly independent tangents of both features, those of the larger feature first.
    pub(super) fn independent(&self) -> Span {
        let (mut first, mut second) = ((&self.a, false), (&self.b, true));
        if second.0.tangents().len() > first.0.tangents().len() {
            std::mem::swap(&mut first, &mut second);
        }
        let mut span = Span::default();
        for (feature, of_b) in [first, second] {
            for t in feature.tangents() {
                let across = if span.n == 0 { 1.0 } else { t.cross(&span.tangents[0]).norm() };
                if span.n < 2 && across > PARALLEL {
                    span.tangents[span.n] = *t;
                    span.of_b[span.n] = of_b;
                    span.n += 1;
                }
            }
        }
        span
    }

    /// The vector x_B − x_A between the features' points that are farthest along n and −n.
    pub(super) fn difference(&self, n: &Vector3<f64>) -> Vector3<f64> {
        self.b.support(&-n) - self.a.support(n)
    }

    /// The nearest maximum of s as n turns about a tangent t. The change of sign of its slope is bracketed, then found
    /// by Newton's method with bisection. Rims make the slope steep where n is near their axis.
    fn turn(&self, n: &Vector3<f64>, t: &Vector3<f64>) -> Option<Vector3<f64>> {
        let across = t.cross(n);
        let at = |angle: f64| n * angle.cos() + across * angle.sin();
        let slope = |angle: f64| (across * angle.cos() - n * angle.sin()).dot(&self.difference(&at(angle)));
        let first = slope(0.0);
        if first == 0.0 {
            return Some(*n);
        }
        // `low` is where s still climbs towards `high`.
        let (mut low, mut high, mut step) = (0.0, 0.0, CONVERGED.copysign(first));
        while slope(high) * first > 0.0 {
            (low, high) = (high, high + step);
            step *= 4.0;
            if high.abs() > std::f64::consts::FRAC_PI_2 {
                return None;
            }
        }
        let mut angle = (low + high) / 2.0;
        for _ in 0..2 * STEPS {
            let here = slope(angle);
            *if here * first > 0.0 { &mut low } else { &mut high } = angle;
            let normal = at(angle);
            let u = across * angle.cos() - n * angle.sin();
            let [curved] = self.curved(&normal, [&u]);
            let bend = u.dot(&curved) + normal.dot(&self.difference(&normal));
            let newton = angle + here / bend;
            let is_inside = (newton - low) * (newton - high) < 0.0;
            let next = if is_inside { newton } else { (low + high) / 2.0 };
            let moved = (next - angle).abs();
            angle = next;
            if moved < f64::EPSILON {
                break;
            }
        }
        Some(at(angle).normalize())
    }

    /// The end of a [`climb`](Self::climb). `None` if the points on rims do not meet there: the vector between them
    /// must be along n.
    fn met(&self, near: &Vector3<f64>) -> Option<Vector3<f64>> {
        let n = self.climb(*near, CONVERGED, |_, _| false)?;
        let (x_a, x_b) = (self.a.support(&n), self.b.support(&-n));
        let d = x_b - x_a;
        let aside = (d - n * n.dot(&d)).norm();
        let is_met = aside <= ASIDE * (x_a.norm() + x_b.norm());
        (is_met || !(self.a.is_round() || self.b.is_round())).then_some(n)
    }

    /// Starting directions for n nearly along a circle's axis, which lean out from that axis. On it small turns of n
    /// lead all around the rim, and steps that climb are tiny.
    fn beside_rims(&self, n: &Vector3<f64>) -> impl Iterator<Item = Vector3<f64>> {
        let outs = [self.a.out(&self.b.support(&-n)), self.b.out(&self.a.support(n)).map(|out| -out)];
        let n = *n;
        outs.into_iter().flatten().flat_map(move |out| BESIDE_RIM.map(|lean| (n + out * lean).normalize()))
    }

    /// Newton's method for n in all directions, until a step is shorter than `short`. After each step `is_given_up`
    /// decides whether to stop with `None`, given n and a bound for the separation that the climb can reach: three
    /// times the gain that Newton's model predicts, or infinity if steps are long.
    pub(super) fn climb(
        &self,
        mut n: Vector3<f64>,
        short: f64,
        is_given_up: impl Fn(&Vector3<f64>, f64) -> bool,
    ) -> Option<Vector3<f64>> {
        let bent = |n: &Vector3<f64>| (self.a.bent_support(n), self.b.bent_support(&-n));
        let mut here = bent(&n);
        let noise = NOISE * (here.0.0.norm() + here.1.0.norm());
        for _ in 0..STEPS {
            let ((x_a, bend_a), (x_b, bend_b)) = &here;
            let d = x_b - x_a;
            let separation = n.dot(&d);
            let [u, v] = directions(&n, &[]);
            let gradient = Vector2::new(u.dot(&d), v.dot(&d));
            let [along_u, along_v] = [u, v].map(|w| bend_a.along(&w) + bend_b.along(&w));
            let across = u.dot(&along_v);
            let k = Matrix2::new(u.dot(&along_u) + separation, across, across, v.dot(&along_v) + separation);
            let mut step = uphill(&k, &gradient);
            let is_near = step.norm_squared() < NEWTON * NEWTON && k.determinant() > 0.0 && k.trace() > 0.0;
            let reached = if is_near { separation + 1.5 * gradient.dot(&step) } else { f64::INFINITY };
            step /= 1_f64.max(2.0 * step.norm());
            let mut moved = n;
            for _ in 0..STEPS {
                moved = (n + u * step.x + v * step.y).normalize();
                here = bent(&moved);
                if moved.dot(&(here.1.0 - here.0.0)) >= separation - noise {
                    break;
                }
                step /= 2.0;
            }
            n = moved;
            if is_given_up(&n, reached) {
                return None;
            }
            if step.norm_squared() < short * short {
                break;
            }
        }
        n.iter().all(|x| x.is_finite()).then_some(n)
    }

    /// The products (H_A + H_B) v, for each of some vectors v.
    fn curved<const N: usize>(&self, n: &Vector3<f64>, all: [&Vector3<f64>; N]) -> [Vector3<f64>; N] {
        let (a, b) = (self.a.curvature(n), self.b.curvature(&-n));
        all.map(|v| a.along(v) + b.along(v))
    }

    /// Prepares steps along the tangents of A's and B's features that close a gap; `span` is a basis of the tangents.
    pub(super) fn slide<'a>(&'a self, span: &'a [Vector3<f64>]) -> Slide<'a> {
        let mut gram = Matrix2::zeros();
        for t in self.a.tangents().iter().chain(self.b.tangents()) {
            gram += flat(span, t) * flat(span, t).transpose();
        }
        let inverse = match span.len() {
            0 => Some(Matrix2::zeros()),
            1 => (gram.m11 != 0.0).then(|| Matrix2::new(1.0 / gram.m11, 0.0, 0.0, 0.0)),
            _ => gram.try_inverse(),
        };
        Slide { features: self, span, inverse }
    }
}

/// The components of a vector along a basis of up to two directions.
fn flat(span: &[Vector3<f64>], v: &Vector3<f64>) -> Vector2<f64> {
    let along = |k: usize| span.get(k).map_or(0.0, |t: &Vector3<f64>| t.dot(v));
    Vector2::new(along(0), along(1))
}

/// Steps along the tangents of two features, made by [`Features::slide`].
pub(super) struct Slide<'a> {
    features: &'a Features,
    span: &'a [Vector3<f64>],
    /// The inverse of the tangents' Gram matrix; `None` if that is singular.
    inverse: Option<Matrix2<f64>>,
}

impl Slide<'_> {
    /// The shortest steps of A's and B's points that close a gap `d` within the tangents' span.
    pub(super) fn close(&self, d: &Vector3<f64>) -> Option<[Vector3<f64>; 2]> {
        let y = self.inverse? * flat(self.span, d);
        let step = |t: &Vector3<f64>| t * flat(self.span, t).dot(&y);
        let along = |feature: &Feature| feature.tangents().iter().map(step).sum::<Vector3<f64>>();
        Some([along(&self.features.a), -along(&self.features.b)])
    }
}

/// The step |K|⁻¹ g of Newton's method. It goes up along every eigenvector of −K, even where s is not concave or flat.
#[inline]
fn uphill(k: &Matrix2<f64>, g: &Vector2<f64>) -> Vector2<f64> {
    let (trace, determinant) = (k.trace(), k.determinant());
    if trace > 0.0 && determinant > FLAT * trace * trace {
        return Vector2::new(k.m22 * g.x - k.m12 * g.y, k.m11 * g.y - k.m21 * g.x) / determinant;
    }
    let middle = trace / 2.0;
    let apart = (((k.m11 - k.m22) / 2.0).powi(2) + k.m12.powi(2)).sqrt();
    let least = FLAT * (middle.abs() + apart);
    let inverse = |eigenvalue: f64| eigenvalue.abs().max(least).recip();
    let [large, small] = [inverse(middle + apart), inverse(middle - apart)];
    // K − middle = apart (P − P'), P and P' the projections onto the eigenvectors.
    let turned = if apart > 0.0 { (k * g - g * middle) / apart } else { Vector2::zeros() };
    (g + turned) * (large / 2.0) + (g - turned) * (small / 2.0)
}

/// Up to two linearly independent tangents, followed by zeros.
#[derive(Clone, Copy, Default)]
pub(super) struct Span {
    tangents: [Vector3<f64>; 2],
    of_b: [bool; 2],
    n: usize,
}

impl Span {
    /// The tangents, each with whether it belongs to B's feature.
    pub(super) fn tangents(&self) -> impl Iterator<Item = (Vector3<f64>, bool)> {
        self.tangents.into_iter().zip(self.of_b).take(self.n)
    }

    /// An orthonormal basis of the tangents, followed by zeros, and its size.
    pub(super) fn basis(&self) -> ([Vector3<f64>; 2], usize) {
        let [t, s] = self.tangents;
        let second = if self.n == 2 { (s - t * t.dot(&s)).normalize() } else { s };
        ([t, second], self.n)
    }
}

/// The directions perpendicular to n and `span` in which n can turn. If there is only one, the second is zero.
#[inline]
pub(super) fn directions(n: &Vector3<f64>, span: &[Vector3<f64>]) -> [Vector3<f64>; 2] {
    match span {
        [] => {
            // Duff and others, Building an Orthonormal Basis, Revisited, 2017.
            let sign = 1_f64.copysign(n.z);
            let a = -1.0 / (sign + n.z);
            let b = n.x * n.y * a;
            let u = Vector3::new(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x);
            [u, Vector3::new(b, sign + n.y * n.y * a, -n.y)]
        }
        [t] => [t.cross(n), Vector3::zeros()],
        _ => [Vector3::zeros(); 2],
    }
}
