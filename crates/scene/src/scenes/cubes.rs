//! Cubes that fall on each other.

use nalgebra::{Isometry3, Translation3};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{between, rotation, walls};
use crate::{Collision, Inertia, Object, Scene, Shape};

/// Edge of a cube, m, and its mass, kg.
const EDGE: f64 = 0.2;
const MASS: f64 = 1.0;
/// Radius of the spheres in the corners, m.
const CORNER: f64 = EDGE / 50.0;
/// Height from cube to cube at the start, such that none touches the next in any orientation; and the largest distance
/// from the axis, m.
const STOREY: f64 = 0.35;
const ASIDE: f64 = 0.05;

/// The shapes by which cubes touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubeContact {
    /// As boxes.
    Faces,
    /// By a small sphere in each corner. Corners rest on the floor and touch other corners, but pass through faces.
    Corners,
}

/// Cubes of 20 cm and 1 kg, stacked with random orientations above a floor.
#[derive(Clone, Debug, PartialEq)]
pub struct Cubes {
    /// Number of cubes.
    pub count: usize,
    /// The shapes by which the cubes touch.
    pub contact: CubeContact,
    /// Distance of four walls from the middle, m. `None` for no walls. Below 0.23 m, cubes may start inside a wall.
    pub walls: Option<f64>,
    /// Seed of the random places.
    pub seed: u64,
}

impl Default for Cubes {
    fn default() -> Self {
        Self { count: 3, contact: CubeContact::Faces, walls: None, seed: 0 }
    }
}

impl Cubes {
    /// The scene: the objects `cube0` (the lowest) and so on, `floor` at height 0, and the walls.
    pub fn scene(&self) -> Scene {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let cuboid = Shape::cuboid([EDGE / 2.0; 3]);
        let mut scene = Scene::new();
        for k in 0..self.count {
            let at = [ASIDE * between(&mut rng), ASIDE * between(&mut rng), STOREY * (k + 1) as f64];
            let pose = Isometry3::from_parts(Translation3::from(at), rotation(&mut rng));
            let collisions = match self.contact {
                CubeContact::Faces => vec![Collision::centred(cuboid.clone())],
                CubeContact::Corners => corners(),
            };
            let cube = Object::compound(format!("cube{k}"), collisions, MASS).with_pose(pose);
            scene = scene.object(match Inertia::solid(&cuboid, MASS) {
                Some(inertia) => cube.with_inertia(inertia),
                None => cube,
            });
        }
        let scene = scene.object(Object::ground("floor", 0.0));
        self.walls.map(walls).into_iter().flatten().fold(scene, Scene::object)
    }
}

fn corners() -> Vec<Collision> {
    let reach = EDGE / 2.0 - CORNER;
    let at = |bit: usize| if bit == 0 { -reach } else { reach };
    (0..8).map(|c| Collision::at(Shape::sphere(CORNER), [at(c & 1), at(c & 2), at(c & 4)])).collect()
}
