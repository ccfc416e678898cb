//! Least efforts against `tests/golden/grasp.json` and by balance; closing and holding a pill.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::grasp::{Balance, Closing, Trial};
use nalgebra::{DMatrix, DVector, Vector3};
use serde_json::Value;

use support::{matrix, numbers, vector};

/// What the reference promises for costs, relative.
const COST: f64 = 1e-7;
/// Margins: the reference has them by bisection, N.
const MARGIN: f64 = 1e-6;
/// What a contact needs that takes a whole push of a fifth of the pill's 1.1 N at μ = 0.5: p (1 + 1/μ), N.
const RESERVE: f64 = 0.7;
/// Joints of the hand; the pill's six degrees of freedom follow.
const JOINTS: usize = 14;

#[test]
fn least_efforts_are_those_of_the_reference() {
    let golden: Value = serde_json::from_str(include_str!("../golden/grasp.json")).unwrap();
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

/// Two fingers on sliders press a cube of weight G from both sides: friction carries it if both press with G/(2μ),
/// which is the least; the torques are these forces.
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
    // A reserve comes on top of that.
    let more = balance.least_effort(2.0 * press).unwrap();
    assert!((more.cost - 9.0 * press * press).abs() < 1e-5, "{}", more.cost);
    // Without friction nothing carries it, nor with one finger.
    let smooth = friction.iter().map(|&(_, normal)| (0.0, normal)).collect();
    assert!(Balance::with_friction(&relative, smooth, &g, &[0, 1]).unwrap().least_effort(0.0).is_none());
    let one = Balance::with_friction(&relative.rows(0, 3).into_owned(), friction[..1].to_vec(), &g, &[0, 1]).unwrap();
    assert!(one.least_effort(0.0).is_none());
}

/// A particle of weight G on a slope: f is −g, so that the margin is f_n − ‖f_t‖/μ = G (cos θ − sin θ/μ), negative
/// where it is steeper than friction holds; and up to there an effort has the reserve.
#[test]
fn the_margin_on_a_slope() {
    let (weight, mu) = (3.0, 0.4);
    let g = DVector::from_vec(vec![0.0, 0.0, weight]);
    for angle in [0.0_f64, 0.2, 0.38, 0.5] {
        let friction = vec![(mu, Vector3::new(angle.sin(), 0.0, angle.cos()))];
        let balance = Balance::with_friction(&DMatrix::identity(3, 3), friction, &g, &[]).unwrap();
        let (margin, expected) = (balance.margin().unwrap(), weight * (angle.cos() - angle.sin() / mu));
        assert!((margin - expected).abs() < MARGIN, "{margin}, expected {expected}");
        assert!(balance.least_effort(expected + 1e-3).is_none());
        let force = balance.least_effort(expected - 1e-3).unwrap().force;
        assert!((force - &g).norm() < MARGIN);
    }
}

#[test]
fn sizes_that_do_not_fit() {
    let (jacobian, g) = (DMatrix::zeros(3, 5), DVector::zeros(5));
    assert!(Balance::frictionless(&jacobian, &g, &[5]).unwrap_err().to_string().contains("commands below 5"));
    assert!(Balance::frictionless(&jacobian, &DVector::zeros(4), &[0]).unwrap_err().to_string().contains("4 columns"));
    let friction = vec![(0.5, Vector3::z()); 2];
    assert!(Balance::with_friction(&jacobian, friction, &g, &[0]).unwrap_err().to_string().contains("6 rows"));
}

/// A hand that has closed overlaps nothing and touches the pill; the same seed gives the same grasp; and what can be
/// squeezed as hard as one likes stays in place in simulation, within half a millimetre, also when it is pushed, if its
/// contacts have the reserve for the pushes. On the edges of its friction cones seed 0 slid by 1.5 mm/s, and was lost
/// when pushed.
#[test]
fn force_closure_holds() {
    let scene = Scene::load("assets/scenes/teaching_hand_item.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let mut grasps = Vec::new();
    for seed in [0, 1, 5, 13, 18, 19] {
        let closed = Closing::default().close(&model, seed).unwrap();
        assert!(closed.least_gap > -1e-8, "seed {seed}: {:e} m", closed.least_gap);
        assert!(closed.contacts.len() >= 2, "seed {seed}: {:?}", closed.contacts);
        let balance = closed.balance(&model).unwrap();
        if balance.margin() == Some(f64::INFINITY) {
            grasps.push((seed, closed.q, balance.least_effort(RESERVE).unwrap().torque));
        }
    }
    assert!(grasps.len() >= 3, "{} grasps", grasps.len());
    let again = Closing::default().close(&model, grasps[0].0).unwrap();
    assert_eq!(numbers(&again.q), numbers(&grasps[0].1));
    let held: Vec<_> = grasps.iter().map(|(_, q, torque)| (q.clone(), torque.clone())).collect();
    let trial = Trial { rest: 1.0, pushing: 0.1, ..Trial::default() };
    for (outcome, (seed, ..)) in trial.run(&scene, &held).unwrap().iter().zip(&grasps) {
        assert!(outcome.held && outcome.held_pushed && outcome.pushed < 5e-4, "seed {seed}: {outcome:?}");
    }
    // Without the hand's torques the pill is lost.
    let limp = held.iter().map(|(q, tau)| (q.clone(), tau * 0.0)).collect::<Vec<_>>();
    let limp = Trial { kp: 0.0, kv: 0.01, ..trial }.run(&scene, &limp).unwrap();
    assert!(limp.iter().all(|outcome| !outcome.held), "{limp:?}");
}
