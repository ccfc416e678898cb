//! Scenes of shapes of all kinds, in which pairs without a formula of their own meet each other and those that have
//! one.

use fingertip::description::{Collision, Freedom, Object, PairRule, Robot, Scene, Shape};
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use super::jointed::arm;

/// A shape of each kind but the half-space, a few centimetres in size.
pub fn shapes() -> [(&'static str, Shape); 7] {
    [
        ("can", Shape::cylinder(0.04, 0.05)),
        ("block", Shape::rounded_cuboid([0.05, 0.04, 0.03], 0.004)),
        ("rod", Shape::capsule(0.02, 0.05)),
        ("ball", Shape::sphere(0.03)),
        ("dice", Shape::cuboid([0.03, 0.04, 0.035])),
        ("egg", Shape::ellipsoid([0.03, 0.04, 0.05])),
        ("rock", rock(0.04)),
    ]
}

/// A polyhedron of ten corners, two of its faces hexagons.
fn rock(radius: f64) -> Shape {
    let corners: Vec<[f64; 3]> = (0..12)
        .filter(|k| k % 6 != 5)
        .map(|k| {
            let (angle, z) = (f64::from(k % 6) * std::f64::consts::FRAC_PI_3 + 0.2, f64::from(k / 6));
            let around = radius * (1.0 + 0.2 * z);
            [around * angle.cos(), around * angle.sin(), radius * (1.6 * z - 0.8)]
        })
        .collect();
    Shape::hull(&corners).unwrap()
}

/// Two free things side by side over a table, and an arm beside them.
pub fn two([(a, shape_a), (b, shape_b)]: [(&str, &Shape); 2], reversed: bool) -> Scene {
    let object = |name: &str, shape: &Shape, x: f64| {
        Object::rigid(name, shape.clone(), 0.4).at([x, 0.0, 0.06]).with_freedom(Freedom::Free)
    };
    let mut objects = vec![object(a, shape_a, 0.0), object(&format!("other {b}"), shape_b, 0.08)];
    if reversed {
        objects.reverse();
    }
    let robot = Robot::new("arm", arm()).with_base(Isometry3::translation(0.0, -0.5, 0.0));
    let mut scene = Scene::new().robot(robot).object(Object::ground("table", 0.0));
    scene.pairs = ["table", "arm"].map(|name| PairRule::exclude("arm", name)).into();
    scene.objects.extend(objects);
    scene
}

/// A free thing over a fixed cylinder or capsule, which is so round that it holds the thing level.
pub fn on_a_line(name: &str, shape: &Shape, under: Shape) -> Scene {
    let turn = UnitQuaternion::from_scaled_axis(Vector3::new(1.4, 0.2, 0.1));
    let pose = Isometry3::from_parts(Translation3::new(0.01, 0.02, -0.15), turn);
    Scene::new()
        .object(Object::rigid("log", under, 1.0).with_pose(pose).with_freedom(Freedom::Fixed))
        .object(Object::rigid(name, shape.clone(), 0.4).at([0.0, 0.0, 0.05]).with_freedom(Freedom::Free))
}

/// A plate between two round fingertips, which hangs and would overshoot.
pub fn hanging() -> Scene {
    Scene::load("tests/rest/cases/hanging_plate.toml").unwrap()
}

/// Lines to put things on.
pub fn lines() -> [Shape; 2] {
    [Shape::cylinder(0.15, 0.4), Shape::capsule(0.15, 0.3)]
}

/// The hand with a shape of another kind on each finger around a box, and nothing excluded: both sides of a contact
/// between fingers hang below the same joints.
pub fn hand() -> Scene {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    scene.pairs.clear();
    let block = Object::rigid("block", Shape::rounded_cuboid([0.034, 0.03, 0.032], 0.003), 0.5);
    scene.objects[0] = block.with_pose(scene.objects[0].pose).with_freedom(Freedom::Free);
    let tips = [
        ("1_thumb4", Shape::cuboid([0.008, 0.01, 0.012])),
        ("2_index4", rock(0.009)),
        ("3_middle4", Shape::cylinder(0.01, 0.012)),
        ("4_ring4", Shape::ellipsoid([0.009, 0.011, 0.014])),
        ("5_little4", Shape::capsule(0.009, 0.01)),
    ];
    let turn = UnitQuaternion::from_scaled_axis(Vector3::new(0.3, -0.5, 0.2));
    let pose = Isometry3::from_parts(Translation3::new(-0.001, 0.0, 0.027), turn);
    let names = tips.each_ref().map(|(tip, _)| format!("finger_r_link_{tip}"));
    let tips = names.iter().zip(tips).map(|(name, (_, shape))| (name.as_str(), Collision::new(shape, pose)));
    scene.robots[0].articulation.replace_collisions(tips).unwrap();
    scene
}
