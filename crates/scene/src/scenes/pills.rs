//! Pills in a closed box.

use std::f64::consts::PI;

use nalgebra::{Isometry3, Translation3, Vector3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{between, rotation, wall, walls};
use crate::{Object, Scene, Shape};

/// Radii of an ellipsoid, radius and half length of a capsule, m.
const RADII: [f64; 3] = [0.05, 0.15, 0.2];
const CAPSULE: [f64; 2] = [0.1, 0.1];
/// Density, kg/m³.
const DENSITY: f64 = 700.0;

/// Ellipsoids with radii of 5, 15 and 20 cm, and capsules with a radius of 10 cm and a length of 40 cm, alternating, at
/// random places in a cube of six walls. They may overlap there; `step::Separation` moves them apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Pills {
    /// Number of ellipsoids.
    pub ellipsoids: usize,
    /// Number of capsules.
    pub capsules: usize,
    /// Inner edge of the cube around the origin, m.
    pub room: f64,
    /// Seed of the random places.
    pub seed: u64,
}

impl Default for Pills {
    fn default() -> Self {
        Self { ellipsoids: 15, capsules: 15, room: 2.0, seed: 0 }
    }
}

impl Pills {
    /// The scene: objects `ellipsoid0`, `capsule0` and so on, then the walls.
    pub fn scene(&self) -> Scene {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let half = self.room / 2.0;
        let [a, b, c] = RADII;
        let [radius, half_length] = CAPSULE;
        let kinds = [
            ("ellipsoid", self.ellipsoids, Shape::ellipsoid(RADII), 4.0 / 3.0 * PI * a * b * c),
            (
                "capsule",
                self.capsules,
                Shape::capsule(radius, half_length),
                PI * radius * radius * (2.0 * half_length + 4.0 / 3.0 * radius),
            ),
        ];
        let mut scene = Scene::new();
        for k in 0..self.ellipsoids.max(self.capsules) {
            for (name, _, shape, volume) in kinds.iter().filter(|kind| k < kind.1) {
                let at: Vector3<f64> = Vector3::from_fn(|_, _| (half - radius) * between(&mut rng));
                let pose = Isometry3::from_parts(Translation3::from(at), rotation(&mut rng));
                let pill = Object::rigid(format!("{name}{k}"), shape.clone(), DENSITY * volume);
                scene = scene.object(pill.with_pose(pose));
            }
        }
        let ends = [("floor", Vector3::z()), ("lid", -Vector3::z())];
        let ends = ends.into_iter().map(|(name, normal)| wall(name, normal, half));
        walls(half).chain(ends).fold(scene, Scene::object)
    }
}
