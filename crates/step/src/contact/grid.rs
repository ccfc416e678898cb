//! A sphere or capsule on a mesh's distance grid, in one world. A sphere has one contact; a capsule has one at each of
//! some places along its axis.
//!
//! With the centre c of a ball of radius r, and the grid's signed distance d there and its gradient g, the gap is d − r
//! and the normal m = g/|g| out of the mesh; the witness points are c − r m on the ball and c − d m on the mesh.

use std::sync::Arc;

use nalgebra::{Isometry3, Matrix3, Matrix3x6, Vector3, Vector6};

use fingertip_scene::Shape;
use fingertip_shapes::DistanceGrid;
use fingertip_shapes::collision::{BodyGradient, Distance};

use super::numbers::{GEOMETRY, OWN_RATES, PHI, WEIGHTED_GEOMETRY};
use super::shapes::{BodyShape, Pair};
use crate::kinematics::Tree;

/// The most contacts of a capsule.
const MOST_PLACES: usize = 17;
/// Where the gradient is shorter than this, the normal has no direction of its own.
const FLAT: f64 = 1e-6;

/// A sphere or capsule, and a distance grid.
#[derive(Clone, Debug)]
pub(super) struct GridPair {
    grid: Arc<DistanceGrid>,
    /// Is the grid the pair's B?
    grid_is_b: bool,
    /// The places of contacts on the capsule's axis, from −1 to 1, no farther apart than its radius if there is room.
    places: Vec<f64>,
}

/// A warning for each sphere or capsule of larger radius than a grid that it may touch knows distances: it sinks in
/// there.
pub(crate) fn beyond_reach(tree: &Tree, shapes: &[BodyShape], pairs: &[Pair]) -> Vec<String> {
    let of = |pair: &Pair| {
        let [a, b] = [pair.a, pair.b].map(|shape| &shapes[shape]);
        let (grid, of_grid, round) = match (&a.shape, &b.shape) {
            (Shape::Grid(grid), _) => (grid, a, b),
            (_, Shape::Grid(grid)) => (grid, b, a),
            _ => return None,
        };
        let (Shape::Sphere { radius } | Shape::Capsule { radius, .. }) = round.shape else { return None };
        let [mesh, round] = [of_grid, round].map(|shape| &tree.bodies[shape.body].name);
        let reach = grid.reach();
        (radius > reach).then(|| {
            format!(
                "{mesh}: its distance grid reaches {reach} m, less than the radius {radius} m of {round}, which sinks in: give it grid = \
                 {{ reach = {radius} }} or more"
            )
        })
    };
    pairs.iter().filter_map(of).collect()
}

/// A shape's pose, and its sizes.
pub(super) type At<'a> = (&'a Isometry3<f64>, &'a [f64]);

/// One ball of a sphere or capsule on the grid, in the world.
struct Ball {
    place: f64,
    /// The shape's axis, and the ball's centre from the shape's origin, m.
    axis: Vector3<f64>,
    arm: Vector3<f64>,
    radius: f64,
    centre: Vector3<f64>,
    /// The grid's distance at the centre, m, and its gradient and second derivatives in the world.
    distance: f64,
    gradient: Vector3<f64>,
    hessian: Matrix3<f64>,
    /// Unit normal out of the mesh.
    normal: Vector3<f64>,
}

impl GridPair {
    /// The pair of two shapes; none if they are other kinds.
    pub(super) fn new(a: &Shape, b: &Shape) -> Option<Self> {
        let (grid, round, grid_is_b) = match (a, b) {
            (Shape::Grid(grid), round) => (grid, round, false),
            (round, Shape::Grid(grid)) => (grid, round, true),
            _ => return None,
        };
        let places = match *round {
            Shape::Sphere { .. } => vec![0.0],
            Shape::Capsule { radius, half_length } => {
                let n = ((2.0 * half_length / radius).ceil() as usize + 1).clamp(2, MOST_PLACES);
                (0..n).map(|k| 2.0 * k as f64 / (n - 1) as f64 - 1.0).collect()
            }
            _ => return None,
        };
        Some(Self { grid: grid.clone(), grid_is_b, places })
    }

    /// The number of contacts.
    pub(super) fn contacts(&self) -> usize {
        self.places.len()
    }

    /// The weight of each contact. They add up to 1.
    fn weight(&self) -> f64 {
        1.0 / self.places.len() as f64
    }

    /// The normal out of A, given the one out of the mesh.
    fn outwards(&self, normal: Vector3<f64>) -> Vector3<f64> {
        if self.grid_is_b { -normal } else { normal }
    }

    /// A point, or a derivative of one, on A and on B, given those on the ball and on the mesh.
    fn on_sides<T>(&self, of_ball: T, of_mesh: T) -> [T; 2] {
        if self.grid_is_b { [of_ball, of_mesh] } else { [of_mesh, of_ball] }
    }

    fn balls(&self, [a, b]: [At; 2]) -> impl Iterator<Item = Ball> {
        let ((pose, sizes), (frame, _)) = if self.grid_is_b { (a, b) } else { (b, a) };
        let (turn, axis) = (frame.rotation.to_rotation_matrix(), pose.rotation * Vector3::z());
        self.places.iter().map(move |&place| {
            let arm = axis * (place * sizes[1]);
            let centre = pose.translation.vector + arm;
            let found = self.grid.at(&(turn.inverse() * (centre - frame.translation.vector)));
            let gradient = turn * found.gradient;
            let length = gradient.norm();
            let normal = if length > FLAT { gradient / length } else { turn * Vector3::z() };
            let hessian = turn.matrix() * found.hessian * turn.matrix().transpose();
            Ball { place, axis, arm, radius: sizes[0], centre, distance: found.value, gradient, hessian, normal }
        })
    }

    fn distance(&self, ball: &Ball) -> Distance {
        let [point_a, point_b] = self.on_sides(ball.point(), ball.foot());
        Distance { phi: ball.distance - ball.radius, point_a, point_b, normal: self.outwards(ball.normal) }
    }

    /// The contact of the least gap.
    pub(super) fn deepest(&self, at: [At; 2]) -> Option<Distance> {
        self.balls(at).map(|ball| self.distance(&ball)).min_by(|a, b| a.phi.total_cmp(&b.phi))
    }

    /// Computes the contacts, [`WEIGHTED_GEOMETRY`] numbers each.
    pub(super) fn witness(&self, at: [At; 2], out: &mut [f64]) {
        for (ball, out) in self.balls(at).zip(out.as_chunks_mut::<WEIGHTED_GEOMETRY>().0) {
            let Distance { phi, point_a, point_b, normal } = self.distance(&ball);
            let vectors = [normal, point_a, point_b];
            out.iter_mut().zip(vectors.iter().flatten()).for_each(|(out, x)| *out = *x);
            (out[PHI], out[GEOMETRY]) = (phi, self.weight());
        }
    }

    /// Vector-Jacobian product of [`GridPair::witness`]: the gradients of both shapes, given that of the contacts.
    pub(super) fn vjp(&self, at: [At; 2], grad: &[f64]) -> [BodyGradient; 2] {
        let [(pose_a, _), (pose_b, _)] = at;
        let [round, mesh] = if self.grid_is_b { [pose_a, pose_b] } else { [pose_b, pose_a] };
        let (mut on_round, mut on_both) = (Vector6::zeros(), Vector6::zeros());
        let mut sizes = [0.0; Shape::SIZES];
        for (ball, grad) in self.balls(at).zip(grad.as_chunks::<WEIGHTED_GEOMETRY>().0) {
            let vector = |i: usize| Vector3::new(grad[i], grad[i + 1], grad[i + 2]);
            let [point, foot] = if self.grid_is_b { [vector(3), vector(6)] } else { [vector(6), vector(3)] };
            let by_normal = self.outwards(vector(0));
            let own = by_normal - point * ball.radius - foot * ball.distance;
            let by_distance = grad[PHI] - ball.normal.dot(&foot);
            let centre = point + foot + ball.gradient * by_distance + ball.turning() * own;
            on_round += wrench(&ball.arm, &centre);
            sizes[0] -= grad[PHI] + ball.normal.dot(&point);
            sizes[1] += ball.place * ball.axis.dot(&centre);
            // A common motion carries points and normal along.
            let origin = mesh.translation.vector;
            on_both += wrench(&(ball.point() - origin), &point) + wrench(&(ball.foot() - origin), &foot);
            let turned = ball.normal.cross(&by_normal);
            on_both += Vector6::new(0.0, 0.0, 0.0, turned.x, turned.y, turned.z);
        }
        let from_mesh = round.translation.vector - mesh.translation.vector;
        let (force, moment) = (on_round.fixed_rows::<3>(0).into_owned(), on_round.fixed_rows::<3>(3).into_owned());
        let moved = moment + from_mesh.cross(&force);
        let on_mesh = on_both - Vector6::from_iterator(force.iter().chain(moved.iter()).copied());
        let gradients = self.on_sides((on_round, sizes), (on_mesh, [0.0; Shape::SIZES]));
        gradients.map(|(twist, sizes)| BodyGradient { twist, sizes })
    }

    /// Jacobian of [`GridPair::witness`] by the twist of the sphere or capsule, in the layout of
    /// [`ConvexPair::rates`](super::convex::ConvexPair::rates).
    pub(super) fn rates(&self, at: [At; 2], out: &mut [f64]) {
        let (side, own) = out.split_at_mut(1);
        side[0] = if self.grid_is_b { 0.0 } else { 1.0 };
        for (ball, out) in self.balls(at).zip(own.as_chunks_mut::<OWN_RATES>().0) {
            let mut centre = Matrix3x6::zeros();
            centre.fixed_columns_mut::<3>(0).fill_with_identity();
            centre.fixed_columns_mut::<3>(3).copy_from(&-ball.arm.cross_matrix());
            let normal = ball.turning().transpose() * centre;
            let distance = ball.gradient.transpose() * centre;
            let point = centre - normal * ball.radius;
            let foot = centre - ball.normal * distance - normal * ball.distance;
            let [point_a, point_b] = self.on_sides(point, foot);
            let normal = if self.grid_is_b { -normal } else { normal };
            for (out, matrix) in out.as_chunks_mut::<18>().0.iter_mut().zip([normal, point_a, point_b]) {
                matrix.row_iter().zip(out.as_chunks_mut::<6>().0).for_each(|(row, out)| *out = row.into_owned().into());
            }
            out[54..60].copy_from_slice(distance.as_slice());
            out[60..].fill(0.0);
        }
    }
}

impl Ball {
    /// The witness point on the ball, m.
    fn point(&self) -> Vector3<f64> {
        self.centre - self.normal * self.radius
    }

    /// The witness point on the mesh, m.
    fn foot(&self) -> Vector3<f64> {
        self.centre - self.normal * self.distance
    }

    /// The transposed derivative of the normal by the centre: H (I − m mᵀ)/|g|.
    fn turning(&self) -> Matrix3<f64> {
        let length = self.gradient.norm();
        if length > FLAT {
            self.hessian * (Matrix3::identity() - self.normal * self.normal.transpose()) / length
        } else {
            Matrix3::zeros()
        }
    }
}

/// The gradient by a twist about an origin of what moves a point by this force; `arm` is the point from that origin.
fn wrench(arm: &Vector3<f64>, force: &Vector3<f64>) -> Vector6<f64> {
    let moment = arm.cross(force);
    Vector6::new(force.x, force.y, force.z, moment.x, moment.y, moment.z)
}
