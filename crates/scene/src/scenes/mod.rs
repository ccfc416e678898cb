//! Scenes made from a number of objects and a seed, for tests, benchmarks and teaching: [`Cubes`] that fall on
//! each other, [`Pills`] in a box.
//!
//! ```
//! let scene = fingertip::scenes::Pills { ellipsoids: 2, capsules: 3, ..Default::default() }.scene();
//! assert_eq!(scene.objects.len(), 5 + 6); // and six walls
//! ```

mod cubes;
mod pills;

use nalgebra::{UnitQuaternion, Vector3};
use rand::{Rng, RngExt};

pub use cubes::{CubeContact, Cubes};
pub use pills::Pills;

use crate::{Collision, Freedom, Object, ObjectBody};

/// A number between −1 and 1.
fn between(rng: &mut impl Rng) -> f64 {
    2.0 * rng.random::<f64>() - 1.0
}

/// A rotation, all equally likely: a point on the sphere of quaternions, by rejection.
fn rotation(rng: &mut impl Rng) -> UnitQuaternion<f64> {
    loop {
        let [w, x, y, z] = std::array::from_fn(|_| between(rng));
        let square = w * w + x * x + y * y + z * z;
        if (0.1..1.0).contains(&square) {
            return UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
        }
    }
}

/// A wall: everything on the far side of a plane, its normal pointing into the room, at this distance from the origin,
/// m.
fn wall(name: &str, normal: Vector3<f64>, distance: f64) -> Object {
    let collision = Collision::half_space(normal.into(), -distance);
    let body = ObjectBody::Rigid { inertia: None, collisions: collision.into_iter().collect() };
    Object { body, freedom: Freedom::Fixed, ..Object::ground(name, 0.0) }
}

/// Four walls around the z axis, `distance` from it, m.
fn walls(distance: f64) -> impl Iterator<Item = Object> {
    let sides = [("west", Vector3::x()), ("east", -Vector3::x()), ("south", Vector3::y()), ("north", -Vector3::y())];
    sides.into_iter().map(move |(name, normal)| wall(name, normal, distance))
}
