//! Inverse kinematics: closed forms, many fingers at once, limits, mimic joints, goals out of reach, bad input.

use candle_core::{DType, Device};
use fingertip::description::{Articulation, Freedom, Object, Robot, Scene, Shape};
use fingertip::kinematics::Kinematics;
use fingertip::kinematics::Tree;
use fingertip::kinematics::ik::{InverseKinematics, Reached, Target};

use support::largest;

const FINGERTIPS: [&str; 5] = ["1_thumb4", "2_index4", "3_middle4", "4_ring4", "5_little4"];
const PAD: [f64; 3] = [-0.001, 0.0, 0.027];

fn search() -> InverseKinematics {
    InverseKinematics::default()
}

fn scene(name: &str) -> Tree {
    Tree::new(&Scene::load(format!("assets/scenes/{name}.toml")).unwrap()).unwrap()
}

fn urdf(text: &str) -> Tree {
    let robot = Articulation::from_urdf_str(&format!("<robot name=\"r\">{text}</robot>"), "r.urdf").unwrap();
    let scene = Scene::new().robot(Robot::new("r", robot));
    scene.validate().unwrap();
    Tree::new(&scene).unwrap()
}

/// The targets' points at q, by the kinematics on tensors.
fn points(tree: &Tree, q: &[f64], targets: &[Target]) -> Vec<[f64; 3]> {
    let names: Vec<&str> = targets.iter().map(|target| target.body.as_str()).collect();
    let kinematics = Kinematics::of_bodies(tree, &names, DType::F64, &Device::Cpu).unwrap();
    let q = candle_core::Tensor::from_slice(q, (1, q.len()), &Device::Cpu).unwrap();
    let frames = kinematics.at(&q).unwrap();
    let point = |(i, target): (usize, &Target)| {
        let p = kinematics.points(&frames, i, target.point).unwrap().squeeze(0).unwrap();
        p.to_vec1::<f64>().unwrap().try_into().unwrap()
    };
    targets.iter().enumerate().map(point).collect()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

/// What every answer must keep: the limits, everything that is not commanded, and distances that are true.
fn check(tree: &Tree, q: &[f64], targets: &[Target], reached: &Reached) {
    for coordinate in &tree.coordinates {
        let range = coordinate.q..coordinate.q + coordinate.kind.nq();
        if coordinate.u.is_none() {
            assert_eq!(reached.q[range.clone()], q[range], "{} moved", coordinate.name);
        } else if let Some(limits) = coordinate.limits {
            let value = reached.q[coordinate.q];
            assert!(limits.lower <= value && value <= limits.upper, "{} at {value}", coordinate.name);
        }
    }
    for ((target, p), found) in targets.iter().zip(points(tree, &reached.q, targets)).zip(&reached.distances) {
        let expected = distance(p, target.goal);
        assert!((found - expected).abs() < 1e-12, "{}: said {found}, is {expected}", target.body);
    }
    let farthest = largest(&reached.distances);
    assert_eq!(reached.converged, farthest <= search().tolerance);
}

#[test]
fn two_link_arm_bends_as_the_cosine_rule_says() {
    let tree =
        Tree::new(&Scene::new().robot(Robot::from_urdf("arm", "assets/robots/planar_arm.urdf").unwrap())).unwrap();
    for (goal, start) in
        [([0.3, 0.2, 0.0], [0.1, 0.4]), ([-0.1, 0.45, 0.0], [1.0, 0.5]), ([0.35, -0.3, 0.0], [0.0, 0.3])]
    {
        let target = [Target::new("arm/lower", [0.25, 0.0, 0.0], goal)];
        let reached = search().solve(&tree, &start, &target).unwrap();
        check(&tree, &start, &target, &reached);
        assert!(reached.converged, "{reached:?}");
        let square = goal[0] * goal[0] + goal[1] * goal[1];
        let elbow = ((square - 0.3 * 0.3 - 0.25 * 0.25) / (2.0 * 0.3 * 0.25)).acos();
        // A tolerance of 1 µm, with the arm not far from a right angle.
        assert!((reached.q[1].abs() - elbow).abs() < 2e-5, "elbow at {}, expected ±{elbow}", reached.q[1]);
    }
}

#[test]
fn five_fingers_and_a_slider_at_once() {
    let tree = scene("hand_ball");
    let home = tree.home();
    let targets = |goals: &[[f64; 3]]| -> Vec<Target> {
        let target = |(link, &goal)| Target::new(format!("hand/finger_r_link_{link}"), PAD, goal);
        FINGERTIPS.iter().zip(goals).map(target).collect()
    };
    let mut most = 0;
    for n in 0..20 {
        // Goals that can be reached: the fingertips at a configuration nearby, within the limits.
        let mut other = home.clone();
        for (i, coordinate) in tree.coordinates.iter().enumerate().filter(|(_, coordinate)| coordinate.u.is_some()) {
            let limits = coordinate.limits.unwrap();
            let noise = 0.3 * f64::sin(1.0 + 7.3 * n as f64 + 2.9 * i as f64);
            let scale = if coordinate.name.ends_with("slider_z") { 0.1 } else { 1.0 };
            other[coordinate.q] = (home[coordinate.q] + scale * noise).clamp(limits.lower, limits.upper);
        }
        let goals = points(&tree, &other, &targets(&[[0.0; 3]; 5]));
        let targets = targets(&goals);
        let reached = search().solve(&tree, &home, &targets).unwrap();
        check(&tree, &home, &targets, &reached);
        assert!(reached.converged, "{n}: {:?}", reached.distances);
        most = most.max(reached.iterations);
    }
    assert!(most <= 60, "{most} iterations");
}

#[test]
fn goals_out_of_reach_leave_the_arm_stretched_towards_them() {
    let tree =
        Tree::new(&Scene::new().robot(Robot::from_urdf("arm", "assets/robots/planar_arm.urdf").unwrap())).unwrap();
    let target = [Target::new("arm/lower", [0.25, 0.0, 0.0], [0.6, 0.8, 0.3])];
    let reached = search().solve(&tree, &[0.2, 0.5], &target).unwrap();
    check(&tree, &[0.2, 0.5], &target, &reached);
    assert!(!reached.converged);
    // The arm is 0.55 m long, the goal 1 m away in its plane and 0.3 m above.
    let expected = 0.45_f64.hypot(0.3);
    assert!((reached.distances[0] - expected).abs() < 1e-9, "{} is not {expected}", reached.distances[0]);
}

#[test]
fn limits_hold_and_the_rest_of_the_arm_makes_up_for_them() {
    // A slider along x with a reach of 10 cm on a turntable that reaches anything.
    let tree = urdf(
        r#"<link name="base"/><link name="table"/><link name="tip"/>
        <joint name="turn" type="continuous"><parent link="base"/><child link="table"/><axis xyz="0 0 1"/></joint>
        <joint name="slide" type="prismatic"><parent link="table"/><child link="tip"/><axis xyz="1 0 0"/>
          <origin xyz="0.2 0 0"/><limit lower="0" upper="0.1" effort="1" velocity="1"/></joint>"#,
    );
    let target = [Target::new("r/tip", [0.0; 3], [0.0, 0.5, 0.0])];
    let reached = search().solve(&tree, &[0.3, 0.05], &target).unwrap();
    check(&tree, &[0.3, 0.05], &target, &reached);
    assert!((reached.q[0] - std::f64::consts::FRAC_PI_2).abs() < 1e-6 && reached.q[1] == 0.1, "{:?}", reached.q);
    // A start beyond the limits is brought back.
    let reached = search().solve(&tree, &[0.3, 4.0], &[]).unwrap();
    assert_eq!((reached.q, reached.converged), (vec![0.3, 0.1], true));
}

#[test]
fn mimic_joints_follow() {
    let tree = urdf(
        r#"<link name="base"/><link name="a"/><link name="b"/>
        <joint name="lead" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
          <limit lower="-1.5" upper="1.5" effort="1" velocity="1"/></joint>
        <joint name="follow" type="revolute"><parent link="a"/><child link="b"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
          <limit lower="-3" upper="3" effort="1" velocity="1"/><mimic joint="lead" multiplier="2" offset="0.1"/></joint>"#,
    );
    let lead = 0.4_f64;
    let bent = 3.0 * lead + 0.1;
    let target = [Target::new("r/b", [1.0, 0.0, 0.0], [lead.cos() + bent.cos(), lead.sin() + bent.sin(), 0.0])];
    let reached = search().solve(&tree, &[0.0], &target).unwrap();
    check(&tree, &[0.0], &target, &reached);
    assert!(reached.converged && (reached.q[0] - lead).abs() < 1e-6, "{reached:?}");
}

#[test]
fn objects_stay_and_serve_as_bases() {
    let arm = Articulation::from_urdf("assets/robots/planar_arm.urdf").unwrap();
    let scene = Scene::new()
        .object(Object::rigid("ball", Shape::sphere(0.02), 0.1).at([1.0, 2.0, 3.0]))
        .object(Object::rigid("plate", Shape::sphere(0.02), 0.1).with_freedom(Freedom::Planar))
        .robot(Robot::new("arm", arm));
    let tree = Tree::new(&scene).unwrap();
    let mut start = tree.home();
    start[3..7].copy_from_slice(&[0.5, -0.5, 0.5, 0.5]);
    start[7..12].copy_from_slice(&[0.1, 0.2, 0.3, 0.1, 0.4]);
    // A target on something that no command moves keeps its distance; the other one is reached as well as if alone.
    let targets = [
        Target::new("ball", [0.1, 0.2, 0.3], [1.0, 2.0, 3.0]),
        Target::new("arm/lower", [0.25, 0.0, 0.0], [0.3, 0.2, 0.0]),
    ];
    let reached = search().solve(&tree, &start, &targets).unwrap();
    check(&tree, &start, &targets, &reached);
    assert!((reached.distances[0] - 0.14_f64.sqrt()).abs() < 1e-12);
    assert!(reached.distances[1] < 1e-6, "{:?}", reached.distances);
}

#[test]
fn bad_input_is_an_error() {
    let tree = scene("two_fingers");
    let home = tree.home();
    let target = |body: &str, goal: f64| [Target::new(body, [0.0; 3], [goal, 0.0, 0.0])];
    let fine = target("fingers/left_lower", 0.1);
    let mut nan = home.clone();
    nan[4] = f64::NAN;
    let cases = [
        (search().solve(&tree, &home, &target("fingers/left_lowr", 0.1)), "did you mean \"fingers/left_lower\"?"),
        (search().solve(&tree, &home, &target("fingers/left_lower", f64::NAN)), "expected finite numbers"),
        (search().solve(&tree, &home[1..], &fine), "expected 7 numbers, got 6"),
        (search().solve(&tree, &nan, &fine), "expected finite numbers and quaternions"),
        (InverseKinematics { tolerance: 0.0, ..search() }.solve(&tree, &home, &fine), "tolerance: expected a positive"),
        (
            InverseKinematics { damping: f64::NAN, ..search() }.solve(&tree, &home, &fine),
            "damping: expected a positive",
        ),
    ];
    for (result, expected) in cases {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "expected \"… {expected} …\", got \"{message}\"");
    }
}
