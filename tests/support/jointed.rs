//! Scenes of bodies with joints that the shipped ones lack.

use fingertip::description::{Articulation, Freedom, Limits, Mimic, Object, PairRule, Robot, Scene, Shape};
use nalgebra::Isometry3;

/// A planar arm of two joints.
pub fn arm() -> Articulation {
    Articulation::from_urdf("assets/robots/planar_arm.urdf").unwrap()
}

/// A joint's number.
pub fn joint(articulation: &Articulation, name: &str) -> usize {
    articulation.joints.iter().position(|joint| joint.name == name).unwrap()
}

/// `push` with another arm, whose joint `changed` has no home of its own.
pub fn push_with(arm: Articulation, changed: &str) -> Scene {
    let mut scene = Scene::load("assets/scenes/push.toml").unwrap();
    scene.script.clear();
    scene.robots[0].articulation = arm;
    scene.robots[0].home.remove(changed);
    scene
}

/// `push` with an elbow that follows the shoulder.
pub fn mimic() -> Scene {
    let mut arm = arm();
    let (elbow, shoulder) = (joint(&arm, "elbow"), joint(&arm, "shoulder"));
    arm.joints[elbow].mimic = Some(Mimic { joint: shoulder, multiplier: -1.6, offset: -0.4 });
    push_with(arm, "elbow")
}

/// A door that a ball and an arm touch: bodies with several joints and off-centre masses.
pub fn door(freedom: Freedom) -> Scene {
    let mut door = Articulation::from_urdf("assets/robots/door.urdf").unwrap();
    let hinge = joint(&door, "hinge");
    door.joints[hinge].limits = Some(Limits { lower: -2.0, upper: 2.0 });
    Scene::new()
        .object(Object::rigid("ball", Shape::sphere(0.05), 0.4).at([0.2, -0.08, 0.0]))
        .object(Object::articulated("door", door).with_freedom(freedom))
        .robot(Robot::new("arm", arm()).with_base(Isometry3::translation(0.0, -0.3, 0.0)))
        .pair(PairRule::exclude("arm", "door"))
        .pair(PairRule::exclude("arm", "arm"))
}
