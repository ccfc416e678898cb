//! Every piece of an objective: its gradient against differences, its Hessian against the residual's.

use std::sync::Arc;

use fingertip::description::Scene;
use fingertip::mpc::cost::{
    Closure, Cost, Expansion, JointLimits, Order, Orientation, Position, Posture, Reach, Residual, Turn,
};
use fingertip::mpc::{Simulator, cost};

use super::Random;

/// Central differences of a smooth function of size 1 with steps of 1e-5: truncation 1e-10, rounding 1e-11.
const GRADIENT: f64 = 1e-8;

fn check(name: &str, simulator: &Simulator, cost: &dyn Cost, size: f64) {
    let mut random = Random(7);
    let nv = simulator.model().nv();
    for _ in 0..5 {
        let q = simulator.plus(&simulator.model().tree.home(), &random.vec(nv, size)).unwrap();
        let mut expansion = Expansion::zeros(nv);
        cost.expand(&q, 0.7, &mut expansion).unwrap();
        let at = |k: usize, h: f64| {
            let delta: Vec<f64> = (0..nv).map(|j| if j == k { h } else { 0.0 }).collect();
            0.7 * cost.value(&simulator.plus(&q, &delta).unwrap()).unwrap()
        };
        for k in 0..nv {
            let expected = (at(k, 1e-5) - at(k, -1e-5)) / 2e-5;
            let error = (expansion.gradient[k] - expected).abs();
            assert!(
                error < GRADIENT * (1.0 + expected.abs()),
                "{name}: entry {k}: {} {expected}",
                expansion.gradient[k]
            );
        }
        let symmetric = (&expansion.hessian - expansion.hessian.transpose()).amax();
        let least = expansion.hessian.clone().symmetric_eigenvalues().min();
        assert!(symmetric == 0.0 || symmetric < 1e-12 * expansion.hessian.amax(), "{name}: {symmetric:e}");
        assert!(least > -1e-12 * (1.0 + expansion.hessian.amax()), "{name}: {least:e}");
    }
}

#[test]
fn gradients_agree_with_differences() {
    let free = Simulator::new(&Scene::load("assets/scenes/cube_fingertips.toml").unwrap(), 1).unwrap();
    let planar = Simulator::new(&Scene::load("assets/scenes/two_fingers.toml").unwrap(), 1).unwrap();
    let model = free.model();
    let turn = Turn::Quaternion([0.6, 0.0, 0.8, 0.0]);
    let tips = [("hand/index_tip", [0.01, 0.0, 0.02]), ("hand/thumb_tip", [0.0; 3])];
    let mut far = model.tree.home();
    free.joints().iter().for_each(|joint| far[joint.q] = joint.upper + 0.02);
    check("position", &free, &Position::new(model, "cube", [0.1, -0.2, 0.3]).unwrap(), 0.3);
    check("orientation", &free, &Orientation::new(model, "cube", turn).unwrap(), 0.3);
    let axis = Turn::Axis { quaternion: [0.6, 0.0, 0.8, 0.0], axis: [0.3, -1.0, 2.0] };
    check("axis", &free, &Orientation::new(model, "cube", axis).unwrap(), 0.3);
    check("posture", &free, &Posture::new(&free, &far), 0.3);
    check("limits", &free, &JointLimits::new(&free), 3.0);
    check("reach", &free, &Reach::new(model, &tips, "cube", 0.0).unwrap(), 0.3);
    check("reach outside", &free, &Reach::new(model, &tips, "cube", 0.02).unwrap(), 0.3);
    let order = ["hand/index_tip", "hand/thumb_tip"];
    check("order", &free, &Order::new(model, &order, [0.0, 2.0, 1.0], 0.5).unwrap(), 0.3);
    let weights = [1.0, 2.0];
    let closure = Closure::new(model, &tips, &weights, "cube").unwrap();
    check("closure", &free, &closure, 0.3);
    assert!(Closure::new(model, &tips, &weights[..1], "cube").is_err());
    let residual = |q: &candle_core::Tensor| q.narrow(1, 3, 4)?.sin()? * 2.0;
    check("residual", &free, &Residual::new(model, residual).unwrap(), 0.3);
    let valve = Simulator::new(&fingertip::shipped::scene("valve").unwrap(), 1).unwrap();
    let goal = [("stem".to_owned(), 2.0)].into();
    check("joints", &valve, &Posture::of_object(valve.model(), "valve", &goal).unwrap(), 0.3);
    let model = planar.model();
    check("planar position", &planar, &Position::new(model, "disc", [0.1, -0.2, 9.0]).unwrap(), 0.3);
    check("yaw", &planar, &Orientation::new(model, "disc", Turn::Yaw(3.0)).unwrap(), 0.05);
}

/// Against the sum of unit vectors by hand, from where the robot's points are.
#[test]
fn points_on_all_sides_are_closed() {
    let free = Simulator::new(&Scene::load("assets/scenes/cube_fingertips.toml").unwrap(), 1).unwrap();
    let (model, mut q) = (free.model(), free.model().tree.home());
    let tips = [("hand/index_tip", [0.01, 0.0, 0.02]), ("hand/thumb_tip", [0.0; 3])];
    let frames = tips.map(|(name, xyz)| fingertip::kinematics::FrameSpec {
        xyz,
        ..fingertip::kinematics::FrameSpec::of_body(model.tree.find(name).unwrap())
    });
    let [a, b]: [[f64; 3]; 2] =
        fingertip::kinematics::Points::new(&model.tree, &frames).positions(&q).unwrap().try_into().unwrap();
    let cube = model.object("cube").unwrap().q;
    let closure = |q: &[f64]| Closure::new(model, &tips, &[1.0, 1.0], "cube").unwrap().value(q).unwrap();
    // Half way between two points their directions cancel, within the millimetre in which a direction fades.
    (0..3).for_each(|k| q[cube + k] = 0.5 * (a[k] + b[k]));
    assert!(closure(&q) < 1e-15, "{}", closure(&q));
    // Far off they are one direction.
    q[cube] += 1e3;
    assert!((closure(&q) - 4.0).abs() < 1e-6, "{}", closure(&q));
    q[cube] -= 1e3 - 0.03;
    let unit = |p: [f64; 3]| {
        let d: [f64; 3] = std::array::from_fn(|k| p[k] - q[cube + k]);
        let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        d.map(|x| x / length)
    };
    let (one, two) = (unit(a), unit(b));
    let expected: f64 = (0..3).map(|k| (one[k] + two[k]).powi(2)).sum();
    assert!((closure(&q) - expected).abs() < 1e-2 * expected, "{} {expected}", closure(&q));
}

/// A point on a link that has been turned with everything above it: against rotation matrices by hand.
#[test]
fn angles_are_those_of_rotations() {
    let free = Simulator::new(&Scene::load("assets/scenes/cube_fingertips.toml").unwrap(), 1).unwrap();
    let home = free.model().tree.home();
    let mut delta = vec![0.0; free.model().nv()];
    delta[3..6].copy_from_slice(&[0.3, -1.2, 0.8]);
    let angle = (0.3_f64 * 0.3 + 1.2 * 1.2 + 0.8 * 0.8).sqrt();
    let turned = free.plus(&home, &delta).unwrap();
    let at_home = Turn::Quaternion([home[3], home[4], home[5], home[6]]);
    let orientation = Orientation::new(free.model(), "cube", at_home).unwrap();
    assert!((orientation.value(&turned).unwrap() - angle * angle).abs() < 1e-12);
    let error = orientation.error(&turned);
    assert!((0..3).all(|k| (error[k] - delta[3 + k]).abs() < 1e-12), "{error:?}");
    let yaw = |goal: f64| {
        let planar = Simulator::new(&Scene::load("assets/scenes/two_fingers.toml").unwrap(), 1).unwrap();
        Orientation::new(planar.model(), "disc", Turn::Yaw(goal)).unwrap().error(&planar.model().tree.home())[2]
    };
    assert!((yaw(0.5) + 0.5).abs() < 1e-12 && (yaw(6.0) - (std::f64::consts::TAU - 6.0)).abs() < 1e-12);
}

/// The angle between two directions by their product; turns about the axis cost nothing, nor do they in the Hessian.
#[test]
fn an_axis_points_somewhere_however_it_is_turned() {
    use nalgebra::{Quaternion, UnitQuaternion, Vector3};
    let free = Simulator::new(&Scene::load("assets/scenes/cube_fingertips.toml").unwrap(), 1).unwrap();
    let c = free.model().object("cube").unwrap();
    let turned = |by: UnitQuaternion<f64>| {
        let mut q = free.model().tree.home();
        q[c.q + 3..c.q + 7].copy_from_slice(&[by.w, by.i, by.j, by.k]);
        q
    };
    let own = Vector3::new(1.0, 2.0, -2.0);
    let wanted = UnitQuaternion::from_euler_angles(0.4, -1.0, 2.0);
    let axis = Turn::Axis { quaternion: [wanted.w, wanted.i, wanted.j, wanted.k], axis: own.into() };
    let cost = Orientation::new(free.model(), "cube", axis).unwrap();
    let now = UnitQuaternion::from_euler_angles(-0.3, 0.2, 0.9);
    let cosine = (wanted * own).dot(&(now * own)) / 9.0;
    for about in [0.0, 1.0, 3.0] {
        let q = turned(now * UnitQuaternion::from_scaled_axis(own.normalize() * about));
        assert!((cost.value(&q).unwrap() - cosine.acos().powi(2)).abs() < 1e-12);
        // Its error is the rotation that leads there.
        let back = UnitQuaternion::from_scaled_axis(-Vector3::from(cost.error(&q)));
        let there = UnitQuaternion::from_quaternion(Quaternion::new(q[c.q + 3], q[c.q + 4], q[c.q + 5], q[c.q + 6]));
        assert!((back * there * own - wanted * own).norm() < 1e-12);
        let mut expansion = Expansion::zeros(free.model().nv());
        cost.expand(&q, 1.0, &mut expansion).unwrap();
        let hessian = expansion.hessian.view((c.v + 3, c.v + 3), (3, 3)) * (now * own);
        assert!(hessian.norm() < 1e-12, "{hessian}");
    }
    // Half a turn about anything across it, and no direction that is not a number.
    let across = wanted * own.cross(&Vector3::x()).normalize() * std::f64::consts::PI;
    let opposite = turned(UnitQuaternion::from_scaled_axis(across) * wanted);
    let exact = turned(UnitQuaternion::from_quaternion(Quaternion::new(0.0, 0.0, 1.0, 0.0)));
    let up = Turn::Axis { quaternion: [1.0, 0.0, 0.0, 0.0], axis: [0.0, 0.0, 3.0] };
    let up = Orientation::new(free.model(), "cube", up).unwrap();
    for (cost, q) in [(cost, &opposite), (up, &exact)] {
        assert!((cost.value(q).unwrap() - std::f64::consts::PI.powi(2)).abs() < 1e-7);
    }
    assert!(up.value(&turned(now).iter().map(|_| f64::NAN).collect::<Vec<_>>()).unwrap().is_nan());
    let none = Turn::Axis { quaternion: [1.0, 0.0, 0.0, 0.0], axis: [0.0; 3] };
    assert!(Orientation::new(free.model(), "cube", none).is_err());
}

#[test]
fn an_objective_sums_its_terms_by_their_weights() {
    let planar = Simulator::new(&Scene::load("assets/scenes/two_fingers.toml").unwrap(), 1).unwrap();
    let home = planar.model().tree.home();
    let position = Position::new(planar.model(), "disc", [home[0] - 0.3, home[1], 0.0]).unwrap();
    let terms = vec![cost::Term { cost: Arc::new(position), running: 2.0, terminal: 5.0, purpose: true }];
    let objective = cost::Objective { terms, ..cost::Objective::default() };
    assert!((objective.state(&home, false, false).unwrap() - 2.0 * 0.09).abs() < 1e-12);
    assert!((objective.state(&home, true, false).unwrap() - 5.0 * 0.09).abs() < 1e-12);
}
