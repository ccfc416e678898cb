//! Balls around shapes. Of two shapes whose balls are farther apart than `contact_distance` nothing nearer is searched for.

use nalgebra::{Vector3, Vector6};

use fingertip_scene::Shape;
use fingertip_shapes::collision::{BodyGradient, Distance, DistanceGradient, ManifoldGradient};

use super::convex::Placement;

/// What a shape lies within, in its own frame.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    /// A ball about this centre, m. Its radius follows from the sizes, see [`radius`].
    Ball(Vector3<f64>, Option<f64>),
    /// The half-space itself.
    HalfSpace,
}

/// The bound of one side of a pair in one world.
enum Placed {
    Ball {
        centre: Vector3<f64>,
        /// The centre from the frame's origin.
        arm: Vector3<f64>,
        radius: f64,
        /// The radius's derivatives by the sizes.
        by_sizes: [f64; Shape::SIZES],
    },
    HalfSpace {
        normal: Vector3<f64>,
        origin: Vector3<f64>,
    },
}

impl Bound {
    pub(super) fn new(shape: &Shape) -> Self {
        match shape {
            Shape::HalfSpace => Self::HalfSpace,
            Shape::Hull(hull) => {
                let points = || hull.vertices().iter().map(|&vertex| Vector3::from(vertex));
                let low = points().fold(Vector3::repeat(f64::INFINITY), |low, point| low.inf(&point));
                let high = points().fold(Vector3::repeat(f64::NEG_INFINITY), |high, point| high.sup(&point));
                let centre = (low + high) / 2.0;
                let radius = points().map(|point| (point - centre).norm()).fold(0.0, f64::max);
                Self::Ball(centre, Some(radius))
            }
            _ => Self::Ball(Vector3::zeros(), None),
        }
    }

    fn placed(&self, shape: &Shape, at: &Placement) -> Placed {
        let vector = |k: usize| Vector3::from_column_slice(&at.pose[k..k + 3]);
        match self {
            Self::HalfSpace => Placed::HalfSpace { normal: vector(9), origin: vector(0) },
            Self::Ball(centre, own) => {
                let arm = vector(3) * centre.x + vector(6) * centre.y + vector(9) * centre.z;
                let (radius, by_sizes) = match own {
                    Some(radius) => (*radius, [0.0; Shape::SIZES]),
                    None => radius(shape, at.sizes),
                };
                Placed::Ball { centre: vector(0) + arm, arm, radius, by_sizes }
            }
        }
    }
}

/// The radius of the least ball about the origin that holds a shape of this kind with these sizes, and its derivatives by them.
fn radius(shape: &Shape, sizes: &[f64]) -> (f64, [f64; Shape::SIZES]) {
    let &[x, y, z, ..] = sizes else { return (f64::INFINITY, [0.0; Shape::SIZES]) };
    match shape {
        Shape::Sphere { .. } => (x, [1.0, 0.0, 0.0, 0.0]),
        Shape::Capsule { .. } => (x + y, [1.0, 1.0, 0.0, 0.0]),
        Shape::Cylinder { .. } => {
            let norm = x.hypot(y);
            (norm, [x / norm, y / norm, 0.0, 0.0])
        }
        Shape::Box { .. } => {
            let norm = Vector3::new(x, y, z).norm();
            (norm, [x / norm, y / norm, z / norm, 0.0])
        }
        Shape::Ellipsoid { .. } => {
            let longest = x.max(y).max(z);
            let first = [x, y, z].iter().position(|&radius| radius == longest);
            let mut slopes = [0.0; Shape::SIZES];
            slopes[first.unwrap_or(0)] = 1.0;
            (longest, slopes)
        }
        Shape::Hull(_) | Shape::HalfSpace => (f64::INFINITY, [0.0; Shape::SIZES]),
    }
}

/// Two shapes that are far apart.
pub(super) struct Far {
    sides: [Placed; 2],
    pub(super) distance: Distance,
}

impl Far {
    /// The distance of the bounds in place of that of the shapes, if it is more than `reach`, m. Numbers that are not usable are never
    /// far.
    pub(super) fn new(shapes: [(&Bound, &Shape); 2], at: &[Placement; 2], reach: f64) -> Option<Self> {
        let [a, b] = [0, 1].map(|side| shapes[side].0.placed(shapes[side].1, &at[side]));
        let (normal, point_a, point_b) = match (&a, &b) {
            (Placed::Ball { centre: a, radius: r_a, .. }, Placed::Ball { centre: b, radius: r_b, .. }) => {
                let normal = (b - a).normalize();
                (normal, a + normal * *r_a, b - normal * *r_b)
            }
            (Placed::HalfSpace { normal, origin }, Placed::Ball { centre, radius, .. }) => {
                let on_plane = centre - normal * normal.dot(&(centre - origin));
                (*normal, on_plane, centre - normal * *radius)
            }
            (Placed::Ball { centre, radius, .. }, Placed::HalfSpace { normal, origin }) => {
                let on_plane = centre - normal * normal.dot(&(centre - origin));
                (-normal, centre - normal * *radius, on_plane)
            }
            (Placed::HalfSpace { .. }, Placed::HalfSpace { .. }) => return None,
        };
        let phi = normal.dot(&(point_b - point_a));
        let distance = Distance { normal, point_a, point_b, phi };
        (phi > reach && phi.is_finite()).then_some(Self { sides: [a, b], distance })
    }

    /// Vector-Jacobian product of the distance between the bounds, given the gradients of a pair's contacts. All have its normal and
    /// points; the first has its φ.
    pub(super) fn pull(&self, contacts: &[ManifoldGradient]) -> [BodyGradient; 2] {
        let sum = |of: fn(&DistanceGradient) -> Vector3<f64>| contacts.iter().map(|c| of(&c.contact)).sum();
        let grad = DistanceGradient {
            normal: sum(|grad| grad.normal),
            point_a: sum(|grad| grad.point_a),
            point_b: sum(|grad| grad.point_b),
            phi: contacts.first().map_or(0.0, |first| first.contact.phi),
        };
        let Distance { normal: n, phi, .. } = self.distance;
        let across = |v: Vector3<f64>| v - n * n.dot(&v);
        let mut to = [0, 1].map(|_| BodyGradient { twist: Vector6::zeros(), sizes: [0.0; Shape::SIZES] });
        let mut add = |side: usize, force: Vector3<f64>, moment: Vector3<f64>, radius: f64| {
            let (arm, by_sizes) = match &self.sides[side] {
                Placed::Ball { arm, by_sizes, .. } => (*arm, *by_sizes),
                Placed::HalfSpace { .. } => (Vector3::zeros(), [0.0; Shape::SIZES]),
            };
            let moment = moment + arm.cross(&force);
            to[side].twist = Vector6::from_iterator(force.iter().chain(&moment).copied());
            to[side].sizes = by_sizes.map(|by| radius * by);
        };
        match &self.sides {
            [Placed::Ball { radius: r_a, .. }, Placed::Ball { radius: r_b, .. }] => {
                // The points are a + r_a n and b − r_b n, φ = |b − a| − r_a − r_b, and n turns with the centres.
                let apart = phi + r_a + r_b;
                let turn = across(grad.normal + grad.point_a * *r_a - grad.point_b * *r_b) / apart;
                let pull = n * grad.phi + turn;
                add(0, grad.point_a - pull, Vector3::zeros(), grad.point_a.dot(&n) - grad.phi);
                add(1, grad.point_b + pull, Vector3::zeros(), -grad.point_b.dot(&n) - grad.phi);
            }
            [Placed::HalfSpace { normal, origin }, Placed::Ball { centre, radius, .. }] => {
                let on = (normal, origin, centre, *radius);
                pull_plane([0, 1], on, [grad.point_a, grad.point_b], (grad.normal, grad.phi), &mut add);
            }
            [Placed::Ball { centre, radius, .. }, Placed::HalfSpace { normal, origin }] => {
                let on = (normal, origin, centre, *radius);
                pull_plane([1, 0], on, [grad.point_b, grad.point_a], (-grad.normal, grad.phi), &mut add);
            }
            [Placed::HalfSpace { .. }, Placed::HalfSpace { .. }] => {}
        }
        to
    }
}

/// [`Far::pull`] for a half-space with normal m through o and a ball at c with radius r. With d = m·(c − o) the points are c − m d
/// and c − m r, and φ = d − r.
fn pull_plane(
    [plane, ball]: [usize; 2],
    (m, o, c, r): (&Vector3<f64>, &Vector3<f64>, &Vector3<f64>, f64),
    [on_plane, on_ball]: [Vector3<f64>; 2],
    (by_normal, by_phi): (Vector3<f64>, f64),
    add: &mut impl FnMut(usize, Vector3<f64>, Vector3<f64>, f64),
) {
    let from = c - o;
    let d = m.dot(&from);
    let by_d = by_phi - on_plane.dot(m);
    let by_m = by_normal - on_plane * d - on_ball * r + from * by_d;
    add(ball, on_plane + on_ball + m * by_d, Vector3::zeros(), -on_ball.dot(m) - by_phi);
    add(plane, -m * by_d, m.cross(&by_m), 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::convex::ConvexPair;
    use fingertip_lanes::vector::Vec3;
    use nalgebra::{Isometry3, Translation3, UnitQuaternion};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn pose(of: &Isometry3<f64>) -> Vec<f64> {
        let axes = of.rotation.to_rotation_matrix();
        of.translation.vector.iter().chain(axes.matrix().iter()).copied().collect()
    }

    /// Moves a pose by a twist (v, ω) about its origin.
    fn moved(of: &Isometry3<f64>, k: usize, by: f64) -> Isometry3<f64> {
        let mut twist = [0.0; 6];
        twist[k] = by;
        let turn = UnitQuaternion::from_scaled_axis(Vector3::new(twist[3], twist[4], twist[5]));
        Isometry3::from_parts(
            Translation3::from(of.translation.vector + Vector3::new(twist[0], twist[1], twist[2])),
            turn * of.rotation,
        )
    }

    #[test]
    fn what_is_out_of_reach_is_no_nearer_than_its_ball_and_has_the_balls_gradient() {
        let hull = Shape::hull(&[[0.0; 3], [0.1, 0.0, 0.0], [0.0, 0.07, 0.0], [0.02, 0.01, 0.12]]).unwrap();
        let shapes = [
            hull.clone(),
            Shape::HalfSpace,
            Shape::sphere(0.03),
            Shape::capsule(0.01, 0.04),
            Shape::cylinder(0.02, 0.03),
            Shape::cuboid([0.02, 0.03, 0.04]),
            Shape::ellipsoid([0.02, 0.05, 0.03]),
        ];
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut far = 0;
        for shape in &shapes {
            for (a, b) in [(&hull, shape), (shape, &hull)] {
                for _ in 0..20 {
                    let mut place = |shape: &Shape| {
                        let away = if *shape == Shape::HalfSpace { 0.02 } else { 0.4 };
                        let mut vector =
                            |most: f64| -> Vec3<f64> { std::array::from_fn(|_| random.random_range(-most..most)) };
                        let (at, turn) = (vector(away), vector(2.0));
                        Isometry3::new(at.into(), Vector3::from(turn))
                    };
                    let poses = [place(a), place(b)];
                    let sizes = [a.sizes(), b.sizes()];
                    let reach = 0.05;
                    let near = ConvexPair::new(a, b);
                    if near.formula().is_some() {
                        continue;
                    }
                    let cut = ConvexPair::new(a, b).within(reach);
                    let value = |pair: &ConvexPair, poses: &[Isometry3<f64>; 2], sizes: &[[f64; Shape::SIZES]; 2]| {
                        let rows = [pose(&poses[0]), pose(&poses[1])];
                        let at = [0, 1].map(|k| Placement { pose: &rows[k], sizes: &sizes[k] });
                        let mut out = vec![0.0; 11 * pair.contacts()];
                        let distance = pair.witness(&at, &mut out);
                        (distance, out)
                    };
                    let (true_distance, exact) = value(&near, &poses, &sizes);
                    let (distance, found) = value(&cut, &poses, &sizes);
                    let (true_distance, distance) = (true_distance.unwrap(), distance.unwrap());
                    if distance == true_distance {
                        assert_eq!(exact, found);
                        continue;
                    }
                    far += 1;
                    assert!(distance.phi > reach && distance.phi <= true_distance.phi + 1e-12);
                    let gradient: Vec<f64> = found.iter().map(|_| random.random_range(-1.0..1.0)).collect();
                    // The φ and weights of unused contacts are constants, and so is the weight of the used one.
                    let loss = |out: &[f64]| {
                        let of = out.iter().zip(&gradient).enumerate().filter(|(k, _)| k % 11 < 9 || *k == 9);
                        of.map(|(_, (x, g))| x * g).sum::<f64>()
                    };
                    let rows = [pose(&poses[0]), pose(&poses[1])];
                    let at = [0, 1].map(|k| Placement { pose: &rows[k], sizes: &sizes[k] });
                    let pulled = cut.pull(&at, &distance, &gradient).unwrap();
                    let step = 1e-6;
                    for side in 0..2 {
                        for k in 0..6 {
                            let [plus, minus] = [step, -step].map(|by| {
                                let mut poses = poses;
                                poses[side] = moved(&poses[side], k, by);
                                loss(&value(&cut, &poses, &sizes).1)
                            });
                            let slope = (plus - minus) / (2.0 * step);
                            assert!((slope - pulled[side].twist[k]).abs() < 1e-7, "{slope} {}", pulled[side].twist[k]);
                        }
                        let n = if matches!([a, b][side], Shape::Hull(_) | Shape::HalfSpace) { 0 } else { 3 };
                        for k in 0..n {
                            let [plus, minus] = [step, -step].map(|by| {
                                let mut sizes = sizes;
                                sizes[side][k] += by;
                                loss(&value(&cut, &poses, &sizes).1)
                            });
                            let slope = (plus - minus) / (2.0 * step);
                            assert!((slope - pulled[side].sizes[k]).abs() < 1e-7, "{slope} {}", pulled[side].sizes[k]);
                        }
                    }
                }
            }
        }
        assert!(far > 50, "{far}");
    }
}
