//! A sphere or capsule on a mesh's distance grid, in one world: one ball, or balls at some places along an axis. Each
//! has a contact with the nearest sheet of the mesh's surface. A sphere, and a capsule at its ends and its middle, has
//! contacts with the sheets in other directions, too.
//!
//! With the centre c of a ball of radius r, the distance d of c from a sheet's plane, and its normal m out of the mesh,
//! the gap is d − r, and the witness points are c − r m on the ball and c − d m on the mesh.

use std::sync::Arc;

use nalgebra::{Isometry3, Matrix3x6, Rotation3, Vector3, Vector6};

use fingertip_scene::Shape;
use fingertip_shapes::collision::{BodyGradient, Distance};
use fingertip_shapes::{DistanceGrid, SHEETS, Sheet, SheetRates};

use super::numbers::{GEOMETRY, OWN_RATES, PHI, UNUSED, WEIGHTED_GEOMETRY};
use super::shapes::{BodyShape, Pair};
use crate::kinematics::Tree;

/// The most places of a capsule.
const MOST_PLACES: usize = 17;

/// A sphere or capsule, and a distance grid.
#[derive(Clone, Debug)]
pub(super) struct GridPair {
    grid: Arc<DistanceGrid>,
    /// Is the grid the pair's B?
    grid_is_b: bool,
    /// The places of balls on the capsule's axis, no farther apart than its radius if there is room.
    places: Vec<Place>,
    /// From this gap on, m, contacts do not count.
    reach: f64,
}

/// A place on a capsule's axis, or the only one of a ball.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// From −1 to 1.
    along: f64,
    /// The number of sheets that it touches.
    sheets: usize,
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
    place: Place,
    /// The shape's axis, and the ball's centre from the shape's origin, m.
    axis: Vector3<f64>,
    arm: Vector3<f64>,
    radius: f64,
    centre: Vector3<f64>,
    /// The mesh's axes in the world, and the centre in the mesh's frame.
    turn: Rotation3<f64>,
    in_mesh: Vector3<f64>,
}

impl GridPair {
    /// The pair of two shapes, whose contacts do not count from a gap on, m; none if they are other kinds.
    pub(super) fn new(a: &Shape, b: &Shape, reach: f64) -> Option<Self> {
        let (grid, round, grid_is_b) = match (a, b) {
            (Shape::Grid(grid), round) => (grid, round, false),
            (round, Shape::Grid(grid)) => (grid, round, true),
            _ => return None,
        };
        let places = match *round {
            // A point has a distance, and does not touch.
            Shape::Sphere { radius } => vec![Place { along: 0.0, sheets: if radius > 0.0 { SHEETS } else { 1 } }],
            Shape::Capsule { radius, half_length } => {
                let n = ((2.0 * half_length / radius).ceil() as usize + 1).clamp(2, MOST_PLACES);
                let looks = |k: usize| k == 0 || k == n / 2 || k == n - 1;
                let along = |k: usize| 2.0 * k as f64 / (n - 1) as f64 - 1.0;
                (0..n).map(|k| Place { along: along(k), sheets: if looks(k) { SHEETS } else { 1 } }).collect()
            }
            _ => return None,
        };
        Some(Self { grid: grid.clone(), grid_is_b, places, reach })
    }

    /// The number of contacts.
    pub(super) fn contacts(&self) -> usize {
        self.places.iter().map(|place| place.sheets).sum()
    }

    /// The part of a sheet's weight that each place has.
    fn share(&self) -> f64 {
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
            let arm = axis * (place.along * sizes[1]);
            let centre = pose.translation.vector + arm;
            let in_mesh = turn.inverse() * (centre - frame.translation.vector);
            Ball { place, axis, arm, radius: sizes[0], centre, turn, in_mesh }
        })
    }

    /// The contact of a ball with a sheet.
    fn distance(&self, ball: &Ball, sheet: &Sheet) -> Distance {
        let [point_a, point_b] = self.on_sides(ball.point(sheet), ball.foot(sheet));
        Distance { phi: sheet.distance - ball.radius, point_a, point_b, normal: self.outwards(sheet.normal) }
    }

    /// The contact of the least gap with the nearest sheet.
    pub(super) fn deepest(&self, at: [At; 2]) -> Option<Distance> {
        let nearest = |ball: Ball| self.distance(&ball, &ball.turned(self.grid.nearest(&ball.in_mesh)));
        self.balls(at).map(nearest).min_by(|a, b| a.phi.total_cmp(&b.phi))
    }

    /// Computes the contacts, [`WEIGHTED_GEOMETRY`] numbers each. Those that are unused repeat the first one of their
    /// ball, with φ = [`UNUSED`] and weight 0.
    pub(super) fn witness(&self, at: [At; 2], out: &mut [f64]) {
        let mut slots = out.as_chunks_mut::<WEIGHTED_GEOMETRY>().0.iter_mut();
        for ball in self.balls(at) {
            let [first, others @ ..] = match ball.place.sheets {
                SHEETS => self.grid.sheets(&ball.in_mesh, self.reach + ball.radius),
                _ => [self.grid.nearest(&ball.in_mesh); SHEETS],
            }
            .map(|sheet| ball.turned(sheet));
            for (sheet, out) in [first].iter().chain(&others).zip(slots.by_ref().take(ball.place.sheets)) {
                let is_used = sheet.weight > 0.0;
                let Distance { phi, point_a, point_b, normal } =
                    self.distance(&ball, if is_used { sheet } else { &first });
                let vectors = [normal, point_a, point_b];
                out.iter_mut().zip(vectors.iter().flatten()).for_each(|(out, x)| *out = *x);
                (out[PHI], out[GEOMETRY]) = (if is_used { phi } else { UNUSED }, sheet.weight * self.share());
            }
        }
    }

    /// Calls a function with each contact that is used: its number, its ball, its sheet and the sheet's derivatives by
    /// the ball's centre, in the world.
    fn each(&self, at: [At; 2], mut with: impl FnMut(usize, &Ball, &Sheet, &SheetRates)) {
        let mut start = 0;
        for ball in self.balls(at) {
            let sheets = match ball.place.sheets {
                SHEETS => self.grid.sheets_with_rates(&ball.in_mesh, self.reach + ball.radius),
                _ => [self.grid.nearest_with_rates(&ball.in_mesh); SHEETS],
            };
            for (k, (sheet, rates)) in sheets.into_iter().take(ball.place.sheets).enumerate() {
                if sheet.weight > 0.0 {
                    with(start + k, &ball, &ball.turned(sheet), &ball.turned_rates(rates));
                }
            }
            start += ball.place.sheets;
        }
    }

    /// Vector-Jacobian product of [`GridPair::witness`]: the gradients of both shapes, given that of the contacts.
    pub(super) fn vjp(&self, at: [At; 2], grad: &[f64]) -> [BodyGradient; 2] {
        let [(pose_a, _), (pose_b, _)] = at;
        let [round, mesh] = if self.grid_is_b { [pose_a, pose_b] } else { [pose_b, pose_a] };
        let (mut on_round, mut on_both) = (Vector6::zeros(), Vector6::zeros());
        let mut sizes = [0.0; Shape::SIZES];
        self.each(at, |k, ball, sheet, rates| {
            let grad = &grad[WEIGHTED_GEOMETRY * k..WEIGHTED_GEOMETRY * (k + 1)];
            let vector = |i: usize| Vector3::new(grad[i], grad[i + 1], grad[i + 2]);
            let [point, foot] = if self.grid_is_b { [vector(3), vector(6)] } else { [vector(6), vector(3)] };
            let by_normal = self.outwards(vector(0));
            let own = by_normal - point * ball.radius - foot * sheet.distance;
            let by_distance = grad[PHI] - sheet.normal.dot(&foot);
            let by_weight = grad[GEOMETRY] * self.share();
            let centre =
                point + foot + rates.distance * by_distance + rates.normal.transpose() * own + rates.weight * by_weight;
            on_round += wrench(&ball.arm, &centre);
            sizes[0] -= grad[PHI] + sheet.normal.dot(&point);
            sizes[1] += ball.place.along * ball.axis.dot(&centre);
            // A common motion carries points and normal along.
            let origin = mesh.translation.vector;
            on_both += wrench(&(ball.point(sheet) - origin), &point) + wrench(&(ball.foot(sheet) - origin), &foot);
            let turned = sheet.normal.cross(&by_normal);
            on_both += Vector6::new(0.0, 0.0, 0.0, turned.x, turned.y, turned.z);
        });
        let from_mesh = round.translation.vector - mesh.translation.vector;
        let (force, moment) = (on_round.fixed_rows::<3>(0).into_owned(), on_round.fixed_rows::<3>(3).into_owned());
        let moved = moment + from_mesh.cross(&force);
        let on_mesh = on_both - Vector6::from_iterator(force.iter().chain(moved.iter()).copied());
        let gradients = self.on_sides((on_round, sizes), (on_mesh, [0.0; Shape::SIZES]));
        gradients.map(|(twist, sizes)| BodyGradient { twist, sizes })
    }

    /// Jacobian of [`GridPair::witness`] by the twist of the sphere or capsule, in the layout of
    /// [`ConvexPair::rates`](super::convex::ConvexPair::rates). `out` is zero before.
    pub(super) fn rates(&self, at: [At; 2], out: &mut [f64]) {
        let (side, own) = out.split_at_mut(1);
        side[0] = if self.grid_is_b { 0.0 } else { 1.0 };
        self.each(at, |k, ball, sheet, rates| {
            let out = &mut own[OWN_RATES * k..OWN_RATES * (k + 1)];
            let mut centre = Matrix3x6::zeros();
            centre.fixed_columns_mut::<3>(0).fill_with_identity();
            centre.fixed_columns_mut::<3>(3).copy_from(&-ball.arm.cross_matrix());
            let normal = rates.normal * centre;
            let distance = rates.distance.transpose() * centre;
            let point = centre - normal * ball.radius;
            let foot = centre - sheet.normal * distance - normal * sheet.distance;
            let [point_a, point_b] = self.on_sides(point, foot);
            let normal = if self.grid_is_b { -normal } else { normal };
            for (out, matrix) in out.as_chunks_mut::<18>().0.iter_mut().zip([normal, point_a, point_b]) {
                matrix.row_iter().zip(out.as_chunks_mut::<6>().0).for_each(|(row, out)| *out = row.into_owned().into());
            }
            out[54..60].copy_from_slice(distance.as_slice());
            out[60..].copy_from_slice((rates.weight.transpose() * centre * self.share()).as_slice());
        });
    }
}

impl Ball {
    /// The witness point on the ball, m.
    fn point(&self, sheet: &Sheet) -> Vector3<f64> {
        self.centre - sheet.normal * self.radius
    }

    /// The witness point on the mesh, m.
    fn foot(&self, sheet: &Sheet) -> Vector3<f64> {
        self.centre - sheet.normal * sheet.distance
    }

    /// A sheet in the world, from the mesh's frame.
    fn turned(&self, sheet: Sheet) -> Sheet {
        Sheet { normal: self.turn * sheet.normal, ..sheet }
    }

    fn turned_rates(&self, rates: SheetRates) -> SheetRates {
        let turn = self.turn.matrix();
        SheetRates {
            distance: turn * rates.distance,
            normal: turn * rates.normal * turn.transpose(),
            weight: turn * rates.weight,
        }
    }
}

/// The gradient by a twist about an origin of what moves a point by this force; `arm` is the point from that origin.
fn wrench(arm: &Vector3<f64>, force: &Vector3<f64>) -> Vector6<f64> {
    let moment = arm.cross(force);
    Vector6::new(force.x, force.y, force.z, moment.x, moment.y, moment.z)
}
