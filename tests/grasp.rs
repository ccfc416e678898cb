//! Least efforts against `tests/golden/grasp.json` and by balance; closing and holding a pill.

#[path = "support/measure.rs"]
mod measure;

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::grasp::{Balance, Closing, Trial};
use nalgebra::{DMatrix, DVector, Vector3};
use serde_json::Value;

use measure::{matrix, numbers, vector};

/// What the reference promises for costs, relative.
const COST: f64 = 1e-7;
/// Margins: the reference has them by bisection, N.
const MARGIN: f64 = 1e-6;
/// Joints of the hand; the pill's six degrees of freedom follow.
const JOINTS: usize = 14;

#[test]
fn least_efforts_are_those_of_the_reference() {
    let golden: Value = serde_json::from_str(include_str!("golden/grasp.json")).unwrap();
    let commanded: Vec<usize> = (0..JOINTS).collect();
    for case in golden["cases"].as_array().unwrap() {
        let number = |key: &str| case[key].as_f64().unwrap();
        let label = format!("trial {} with f ≥ {}", case["trial"], case["eps"]);
        let (jacobian, weight) = (matrix(&case["J"]), vector(&case["g"]));
        let balance = Balance::frictionless(&jacobian, &weight, &commanded).unwrap();
        let effort = balance.least_effort(number("eps")).unwrap_or_else(|| panic!("{label}: nothing balances"));
        let error = (effort.cost / number("cost") - 1.0).abs();
        assert!(error < COST, "{label}: cost {} is {error:e} off", effort.cost);
        // The torques are unique, with the root of the cost's accuracy.
        let off = (&effort.torque - vector(&case["tau"])).norm() / effort.torque.norm();
        assert!(off < COST.sqrt(), "{label}: τ is {off:e} off");
        assert!(effort.force.min() >= number("eps") - 1e-9, "{label}: f = {}", effort.force);
        let margin = balance.margin().unwrap();
        assert!((margin - number("max_min_f")).abs() < MARGIN, "{label}: margin {margin}");
        assert!(balance.least_effort(margin + 1e-3).is_none(), "{label}: more than the margin balances");
        assert!(balance.least_effort(margin - 1e-3).is_some(), "{label}: less than the margin does not balance");
    }
}

/// Two fingers on sliders press a cube of weight G from both sides: friction carries it if both press with G/(2μ), which is
/// the least; the torques are these forces.
#[test]
fn two_fingers_carry_by_friction() {
    let (weight, mu) = (3.0, 0.4);
    // Degrees of freedom: the fingers' x, then the cube's x, y, z.
    let mut relative = DMatrix::zeros(6, 5);
    for (contact, finger) in [(0, 0), (1, 1)] {
        relative[(3 * contact, finger)] = -1.0;
        (0..3).for_each(|axis| relative[(3 * contact + axis, 2 + axis)] = 1.0);
    }
    let friction = vec![(mu, Vector3::x()), (mu, -Vector3::x())];
    let g = DVector::from_vec(vec![0.0, 0.0, 0.0, 0.0, weight]);
    let balance = Balance::with_friction(&relative, friction.clone(), &g, &[0, 1]).unwrap();
    assert_eq!(balance.margin(), Some(f64::INFINITY));
    let effort = balance.least_effort(0.0).unwrap();
    let press = weight / (2.0 * mu);
    assert!((effort.torque[0] - press).abs() < 1e-6 && (effort.torque[1] + press).abs() < 1e-6, "{}", effort.torque);
    assert!((effort.cost - press * press).abs() < 1e-6);
    let more = balance.least_effort(2.0 * press).unwrap();
    assert!((more.cost - 4.0 * press * press).abs() < 1e-5, "{}", more.cost);
    // Without friction nothing carries it, nor with one finger.
    let smooth = friction.iter().map(|&(_, normal)| (0.0, normal)).collect();
    assert!(Balance::with_friction(&relative, smooth, &g, &[0, 1]).unwrap().least_effort(0.0).is_none());
    let one = Balance::with_friction(&relative.rows(0, 3).into_owned(), friction[..1].to_vec(), &g, &[0, 1]).unwrap();
    assert!(one.least_effort(0.0).is_none());
}

#[test]
fn sizes_that_do_not_fit() {
    let (jacobian, g) = (DMatrix::zeros(3, 5), DVector::zeros(5));
    assert!(Balance::frictionless(&jacobian, &g, &[5]).unwrap_err().to_string().contains("commands below 5"));
    assert!(Balance::frictionless(&jacobian, &DVector::zeros(4), &[0]).unwrap_err().to_string().contains("4 columns"));
    let friction = vec![(0.5, Vector3::z()); 2];
    assert!(Balance::with_friction(&jacobian, friction, &g, &[0]).unwrap_err().to_string().contains("6 rows"));
}

/// A hand that has closed overlaps nothing and touches the pill; the same seed gives the same grasp; and what can be squeezed
/// as hard as one likes stays in place in simulation, within half a millimetre, also when it is pushed.
#[test]
fn force_closure_holds() {
    let scene = Scene::load("assets/scenes/teaching_hand_item.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let mut grasps = Vec::new();
    for seed in [1, 5, 11, 13, 18] {
        let closed = Closing::default().close(&model, seed).unwrap();
        assert!(closed.least_gap > -1e-8, "seed {seed}: {:e} m", closed.least_gap);
        assert!(closed.contacts.len() >= 2, "seed {seed}: {:?}", closed.contacts);
        let balance = closed.balance(&model).unwrap();
        if balance.margin() == Some(f64::INFINITY) {
            grasps.push((closed.q, balance.least_effort(0.3).unwrap().torque));
        }
    }
    assert!(grasps.len() >= 3, "{} grasps", grasps.len());
    let again = Closing::default().close(&model, 1).unwrap();
    assert_eq!(numbers(&again.q), numbers(&grasps[0].0));
    let trial = Trial { rest: 1.0, pushing: 0.1, ..Trial::default() };
    for outcome in trial.run(&scene, &grasps).unwrap() {
        assert!(outcome.held && outcome.held_pushed && outcome.pushed < 5e-4, "{outcome:?}");
    }
    // Without the hand's torques the pill is lost.
    let limp = grasps.iter().map(|(q, tau)| (q.clone(), tau * 0.0)).collect::<Vec<_>>();
    let limp = Trial { kp: 0.0, kv: 0.01, ..trial }.run(&scene, &limp).unwrap();
    assert!(limp.iter().all(|outcome| !outcome.held), "{limp:?}");
}
