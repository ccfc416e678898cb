//! Scenes of bodies with joints that the shipped ones lack.

use fingertip::description::{
    Articulation, Connection, Freedom, Limits, Mimic, Object, PairRule, Robot, Scene, Shape, Spring,
};
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

/// A tip and a body of two bars on a table, whose centre of mass is away from its frame.
pub fn pushed_on_table() -> Scene {
    let bars = "[{ box = [0.06, 0.015, 0.02], rounding = 0.002, at = [0.02, 0.015, 0.0] }, \
                 { box = [0.015, 0.045, 0.02], rounding = 0.002, at = [-0.03, 0.075, 0.0] }]";
    let text = format!(
        "[params]\nh = 0.02\nmu = 0.5\nkappa = 1e5\n[[object]]\nname = \"angle\"\nfreedom = \"planar\"\nmass = 0.3\n\
         position = [0.0, 0.05, 0.0]\nrpy = [0.0, 0.0, 0.3]\ntable = 0.3\ncollision = {bars}\n\
         [[robot]]\nname = \"pusher\"\nurdf = \"../robots/slider_tip.urdf\"\nstiffness = 100.0\n"
    );
    Scene::from_toml(&text, "assets/scenes").unwrap()
}

/// `two_fingers` with all that joints have of their own: of the left finger, the command of `left_1` pulls `left_2`
/// too, and both have damping; `right_2` has no command but a spring, damping, armature and dry friction, and `right_1`
/// a spring and dry friction beside its command. A soft spring connects the links of `left_2` and `right_2`.
pub fn with_elements() -> Scene {
    let mut scene = Scene::load("assets/scenes/two_fingers.toml").unwrap();
    (scene.params.joint_damping, scene.params.joint_friction) = (true, true);
    let robot = &mut scene.robots[0];
    let names: Vec<String> = robot.articulation.joints.iter().map(|joint| joint.name.clone()).collect();
    let of = |name: &str| names.iter().position(|other| other == name).unwrap_or_else(|| panic!("{name} of {names:?}"));
    let [left1, left2, right1, right2] = ["left_1", "left_2", "right_1", "right_2"].map(of);
    let joints = &mut robot.articulation.joints;
    joints[left1].damping = 0.02;
    joints[left2].damping = 0.03;
    joints[left2].armature = 2e-4;
    joints[right1].spring = Spring { stiffness: 0.7, rest: -0.2 };
    joints[right2].spring = Spring { stiffness: 2.0, rest: 1.3 };
    joints[right2].armature = 1e-4;
    (joints[right1].friction, joints[right2].friction) = (0.03, 0.01);
    let links = [left2, right2].map(|joint| joints[joint].child);
    let points = [[0.01, 0.02, 0.005], [-0.005, 0.01, -0.02]];
    robot.articulation.connections.push(Connection { links, points, stiffness: 20.0 });
    robot.passive.extend([names[left2].clone(), names[right2].clone()]);
    robot.tendons.push(fingertip::description::Tendon {
        joint: names[left1].clone(),
        others: [(names[left2].clone(), 0.8)].into(),
    });
    scene.script.clear();
    scene
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
