//! The second-order step with the barrier: its limit, its friction, its gradients; and worlds that have no solution.

use candle_core::{Result, Tensor, Var};
use fingertip::description::{Articulation, Object, Robot, Scene, Shape};
use fingertip::kinematics::Manifold;
use fingertip::solve::{Method, Status};
use fingertip::step::{Bound, ContactModel, Dynamic, DynamicParams, DynamicStep};
use fingertip::{Model, Parameters};

use super::problems::{SIDE, cubes, model, unit_quaternions};
use support::{apart, largest, numbers, row};

const GAP: Bound = Bound::Gap { beta: 0.2 };

fn dynamic(model: &Model, parameters: &Parameters, contact: ContactModel) -> Dynamic {
    Dynamic::new(model, parameters, DynamicParams { contact, bound: GAP, ..DynamicParams::default() }).unwrap()
}

/// A tilted cube about to hit the ground, moving and turning.
fn falling(scene: &mut Scene) -> (Model, Tensor, Tensor) {
    scene.params.h = 5e-3;
    let model = model(scene);
    let q = unit_quaternions(&[0.1, -0.2, 0.1385, 0.92, 0.31, 0.21, 0.1]);
    let v = row(&[0.3, -0.2, -1.1, 0.8, -0.5, 0.4]);
    (model, q, v)
}

/// μ = 0 and κ → ∞: the rigid step, with an error that falls as 1/κ.
#[test]
fn hard_limit_is_the_rigid_step() {
    let mut scene = cubes(&[SIDE]);
    scene.params.mu = 0.0;
    let (model, q, v) = falling(&mut scene);
    let tau = v.zeros_like().unwrap();
    let exact = dynamic(&model, &model.parameters, ContactModel::Rigid(Method::Lemke)).step(&q, &v, &tau).unwrap();
    assert!(numbers(&exact.force).iter().any(|f| f.abs() > 1.0), "the cube must touch");
    let mut errors = Vec::new();
    for kappa in [1e3, 1e4, 1e5, 1e6, 1e7] {
        let mut parameters = model.parameters.clone();
        parameters.kappa = row(&[kappa]);
        let smooth = dynamic(&model, &parameters, ContactModel::Barrier).step(&q, &v, &tau).unwrap();
        assert_eq!(smooth.reports[0].status, Status::Solved);
        errors.push(apart(&numbers(&smooth.v_next), &numbers(&exact.v_next)));
    }
    println!("‖v₊ − rigid‖ for κ = 1e3 … 1e7: {errors:?}");
    for pair in errors.windows(2).skip(1) {
        let slope = (pair[0] / pair[1]).log10();
        assert!((slope - 1.0).abs() < 0.1, "slope {slope} in {errors:?}");
    }
    assert!(errors[4] < 1e-5);
}

/// A sliding block slows down by μ g h each step (it does not fly: its gap was closed before).
#[test]
fn coulomb_friction_slows_a_slider() {
    let (mu, h) = (0.3, 5e-3);
    let mut scene = cubes(&[SIDE]);
    (scene.params.h, scene.params.mu, scene.params.kappa) = (h, mu, 1e8);
    let model = model(&scene);
    let step = dynamic(&model, &model.parameters, ContactModel::Barrier);
    let mut q = row(&[0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]);
    let mut v = row(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let tau = v.zeros_like().unwrap();
    let (mut weight, mut drag) = (0.0, 0.0);
    let steps = 40;
    for _ in 0..steps {
        let next = step.step(&q, &v, &tau).unwrap();
        let force = numbers(&next.force);
        weight += force.iter().skip(2).step_by(3).sum::<f64>() * h;
        drag -= force.iter().step_by(3).sum::<f64>() * h;
        (q, v) = (next.q_next, next.v_next);
    }
    let speed = numbers(&v)[0];
    // Momentum along x is what friction took, and friction is μ times the load while it slides.
    assert!((1.0 - speed - drag).abs() < 1e-9, "{speed} {drag}");
    assert!((drag / weight - mu).abs() < 1e-3, "{} is not μ", drag / weight);
    // The convex cone lifts a slider by μ v h once, and only then lets it carry its weight.
    assert!((speed - (1.0 - mu * 9.81 * h * f64::from(steps))).abs() < 0.1, "{speed}");
}

fn cost(step: &DynamicStep, weights: &[Tensor]) -> Result<Tensor> {
    let parts = [step.q_next.clone(), step.v_next.clone(), step.force.flatten_from(1)?];
    let mut sum = Tensor::zeros((), step.q_next.dtype(), step.q_next.device())?;
    for (part, weight) in parts.iter().zip(weights) {
        sum = (sum + part.broadcast_mul(weight)?.sum_all()?)?;
    }
    Ok(sum)
}

/// Central differences of five points at 1e-5 in a problem whose scales are millimetres.
const GRADIENT: f64 = 1e-6;

fn check(name: &str, found: &[f64], differ: impl Fn(usize, f64) -> f64) {
    let scale = largest(found).max(1e-6);
    for (k, &grad) in found.iter().enumerate() {
        let e = 1e-5;
        let difference =
            (8.0 * (differ(k, e) - differ(k, -e)) - (differ(k, 2.0 * e) - differ(k, -2.0 * e))) / (12.0 * e);
        assert!((grad - difference).abs() < GRADIENT * scale, "{name}[{k}]: {grad} against {difference} of {scale}");
    }
}

fn shifted(t: &Tensor, k: usize, by: f64) -> Tensor {
    let mut values = numbers(t);
    values[k] += by;
    Tensor::from_vec(values, t.shape(), t.device()).unwrap()
}

fn gradients(model: &Model, q: &Tensor, v: &Tensor, tau: &Tensor, names: &[&str]) {
    let manifold = Manifold::new(&model.tree, &model.device).unwrap();
    let weights: Vec<Tensor> = [model.nq(), model.nv(), 3 * model.nc()]
        .iter()
        .map(|&n| row(&(0..n).map(|k| ((3 * k + 1) as f64).sin() + 0.2).collect::<Vec<_>>()))
        .collect();
    let variables: Vec<(&str, Var)> = model
        .parameters
        .tensors()
        .into_iter()
        .zip(Parameters::NAMES)
        .filter(|(_, name)| names.contains(name))
        .map(|(t, name)| (*name, Var::from_tensor(t).unwrap()))
        .collect();
    let tracked = model.parameters.map(|name, t| {
        Ok(variables.iter().find(|v| v.0 == name).map_or_else(|| t.clone(), |v| v.1.as_tensor().clone()))
    });
    let state = [q, v, tau].map(|t| Var::from_tensor(t).unwrap());
    let step = dynamic(model, &tracked.unwrap(), ContactModel::Barrier);
    let next = step.step(&state[0], &state[1], &state[2]).unwrap();
    assert_eq!(next.reports[0].status, Status::Solved);
    assert!(numbers(&next.force).iter().any(|f| f.abs() > 0.1), "something must touch");
    let grads = cost(&next, &weights).unwrap().backward().unwrap();
    let fixed = dynamic(model, &model.parameters, ContactModel::Barrier);
    let at = |q: &Tensor, v: &Tensor, tau: &Tensor| -> f64 {
        cost(&fixed.step(q, v, tau).unwrap(), &weights).unwrap().to_scalar().unwrap()
    };
    let by_q = manifold.to_tangent(q, grads.get(&state[0]).unwrap()).unwrap();
    check("q", &numbers(&by_q), |k, e| {
        let delta = shifted(&v.zeros_like().unwrap(), k, e);
        at(&manifold.integrate(q, &delta).unwrap(), v, tau)
    });
    check("v", &numbers(grads.get(&state[1]).unwrap()), |k, e| at(q, &shifted(v, k, e), tau));
    check("tau", &numbers(grads.get(&state[2]).unwrap()), |k, e| at(q, v, &shifted(tau, k, e)));
    for (name, variable) in &variables {
        let relative = largest(numbers(variable));
        let grad: Vec<f64> = numbers(grads.get(variable).unwrap()).iter().map(|g| g * relative).collect();
        check(name, &grad, |k, e| {
            let changed =
                model.parameters.map(|n, t| if n == *name { Ok(shifted(t, k, e * relative)) } else { Ok(t.clone()) });
            let step = fixed.with_parameters(&changed.unwrap()).unwrap();
            cost(&step.step(q, v, tau).unwrap(), &weights).unwrap().to_scalar().unwrap()
        });
    }
}

#[test]
fn gradients_of_a_falling_cube() {
    let mut scene = cubes(&[SIDE]);
    scene.params.kappa = 1e3;
    let (model, q, v) = falling(&mut scene);
    let tau = row(&[0.3, -0.2, 0.4, 0.02, 0.01, -0.03]);
    gradients(&model, &q, &v, &tau, &["h", "kappa", "mu", "gravity", "mass", "inertia", "tau"]);
    gradients(&model, &q, &v, &tau, &["sizes", "offsets"]);
}

/// A two-link arm with damping and dry friction that touches a ball, joint limits on.
fn arm() -> Model {
    let link = |name: &str| {
        format!(
            "<link name=\"{name}\"><inertial><origin xyz=\"0.1 0 0.01\"/><mass value=\"0.4\"/>\
             <inertia ixx=\"1e-3\" iyy=\"2e-3\" izz=\"2e-3\" ixy=\"1e-4\" ixz=\"0\" iyz=\"0\"/></inertial></link>"
        )
    };
    let joint = |name: &str, parent: &str, child: &str, x: f64| {
        format!(
            "<joint name=\"{name}\" type=\"revolute\"><parent link=\"{parent}\"/><child link=\"{child}\"/>\
             <origin xyz=\"{x} 0 0\"/><axis xyz=\"0 1 0\"/><limit lower=\"-2\" upper=\"2\" effort=\"50\" velocity=\"9\"/>\
             <dynamics damping=\"0.05\" friction=\"0.02\"/></joint>"
        )
    };
    let parts = [
        "<link name=\"base\"/>".to_owned(),
        link("upper"),
        link("lower"),
        joint("shoulder", "base", "upper", 0.0),
        joint("elbow", "upper", "lower", 0.2),
    ];
    let urdf = format!("<robot name=\"arm\">{}</robot>", parts.concat());
    let articulation = Articulation::from_urdf_str(&urdf, "arm").unwrap();
    let tip = fingertip::description::Collision::at(Shape::sphere(0.03), [0.2, 0.0, 0.0]);
    let robot = Robot::new("arm", articulation).with_collisions([("lower", tip)]).unwrap();
    let mut scene = Scene::new()
        .object(Object::rigid("ball", Shape::sphere(0.05), 0.3))
        .object(Object::ground("floor", -0.3))
        .robot(robot);
    (scene.params.h, scene.params.kappa, scene.params.joint_limits) = (2e-3, 1e4, true);
    model(&scene)
}

#[test]
fn gradients_of_an_arm_that_pushes_a_ball() {
    let model = arm();
    // The tip is at (0.39…, 0, −0.0…) and 1 mm from the ball.
    let q = unit_quaternions(&[0.4705, 0.0, -0.05, 0.96, 0.2, 0.1, -0.15, 0.1, 0.05]);
    let v = row(&[-0.1, 0.05, 0.0, 0.2, 0.1, -0.3, 0.4, 0.9]);
    let tau = row(&[0.0, 0.1, 0.0, 0.01, 0.0, 0.0, 0.8, -0.4]);
    gradients(&model, &q, &v, &tau, &["h", "mu", "gravity", "mass", "sizes", "offsets"]);
}

/// A world's answer does not depend on the worlds beside it, and a bad one is told, finite, at home.
#[test]
fn worlds_are_independent_and_bad_ones_are_told() {
    let mut scene = cubes(&[SIDE]);
    let (model, q, v) = falling(&mut scene);
    let bad_q = (&q * f64::NAN).unwrap();
    let zero_quaternion = row(&[0.1, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0]);
    let qs = Tensor::cat(&[&q, &bad_q, &q, &zero_quaternion], 0).unwrap();
    let vs = Tensor::cat(&[&v, &v, &(&v * f64::INFINITY).unwrap(), &v], 0).unwrap();
    let taus = vs.zeros_like().unwrap();
    let mut parameters = model.parameters.clone();
    parameters.h = row(&[0.0]);
    let still = dynamic(&model, &parameters, ContactModel::Barrier).step(&q, &v, &v.zeros_like().unwrap()).unwrap();
    assert_eq!((still.reports[0].status, numbers(&still.v_next)), (Status::BadInput, vec![0.0; 6]));
    for contact in [ContactModel::Barrier, ContactModel::Rigid(Method::DualQp)] {
        let step = dynamic(&model, &model.parameters, contact);
        let alone = step.step(&q, &v, &v.zeros_like().unwrap()).unwrap();
        let all = step.step(&qs, &vs, &taus).unwrap();
        let statuses: Vec<Status> = all.reports.iter().map(|r| r.status).collect();
        assert_eq!(statuses, [Status::Solved, Status::BadInput, Status::BadInput, Status::BadInput], "{contact:?}");
        assert_eq!(numbers(&all.v_next.narrow(0, 0, 1).unwrap()), numbers(&alone.v_next));
        assert_eq!(numbers(&all.q_next.narrow(0, 0, 1).unwrap()), numbers(&alone.q_next));
        for t in [&all.q_next, &all.v_next, &all.force] {
            assert!(numbers(t).iter().all(|x| x.is_finite()), "{contact:?}");
        }
        assert_eq!(numbers(&all.v_next.narrow(0, 1, 3).unwrap()), [0.0; 18]);
    }
}

/// Each says why: the number and what was expected there, or the joint that moves no mass.
#[test]
fn bad_input_says_why() {
    let mut scene = cubes(&[SIDE]);
    let (model, q, v) = falling(&mut scene);
    let step = dynamic(&model, &model.parameters, ContactModel::Barrier);
    let tau = v.zeros_like().unwrap();
    let with = |t: &Tensor, k: usize, x: f64| {
        let mut all = numbers(t);
        all[k] = x;
        row(&all)
    };
    let why = |step: &Dynamic, q: &Tensor, v: &Tensor, tau: &Tensor| {
        assert_eq!(step.step(q, v, tau).unwrap().reports[0].status, Status::BadInput);
        step.why_bad_input(q, v, tau, 0).unwrap()
    };
    let said = |place: &str, x: &str, name: &str| {
        format!("{place}: expected finite numbers up to 1e30, got {x} for \"{name}\"")
    };
    assert_eq!(why(&step, &with(&q, 1, f64::NAN), &v, &tau), said("q", "NaN", "cube0.y"));
    assert_eq!(why(&step, &q, &with(&v, 3, f64::INFINITY), &tau), said("v", "inf", "cube0.ωx"));
    assert_eq!(why(&step, &q, &v, &with(&tau, 2, -f64::INFINITY)), said("tau", "-inf", "cube0.z"));
    let none = (3..7).fold(q.clone(), |q, k| with(&q, k, 0.0));
    assert_eq!(why(&step, &none, &v, &tau), "q: expected a quaternion other than zero for \"cube0\"");
    let mut parameters = model.parameters.clone();
    parameters.mass = row(&[-1.0]);
    let negative = dynamic(&model, &parameters, ContactModel::Barrier);
    assert_eq!(why(&negative, &q, &v, &tau), "mass[0]: expected a positive number, got -1e0");
    // What the step does not use may be anything.
    (parameters.mass, parameters.epsilon) = (model.parameters.mass.clone(), row(&[f64::NAN]));
    let unused = dynamic(&model, &parameters, ContactModel::Barrier);
    assert_eq!(unused.step(&q, &v, &tau).unwrap().reports[0].status, Status::Solved);
    assert_eq!(why(&unused, &q, &v, &with(&tau, 0, f64::NAN)), said("tau", "NaN", "cube0.x"));
}

/// Of two floating joints of one body, neither moves mass that the other does not: M is singular at every q.
#[test]
fn two_floating_joints_of_one_body_are_named() {
    let joint = |name: &str, parent: &str, child: &str| {
        format!("<joint name=\"{name}\" type=\"floating\"><parent link=\"{parent}\"/><child link=\"{child}\"/></joint>")
    };
    let inertia = "<inertial><mass value=\"0.4\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial>";
    let links = format!("<link name=\"base\"/><link name=\"frame\"/><link name=\"stone\">{inertia}</link>");
    let joints = joint("first", "base", "frame") + &joint("second", "frame", "stone");
    let urdf = format!("<robot name=\"thing\">{links}{joints}</robot>");
    let model = model(&Scene::new().robot(Robot::new("thing", Articulation::from_urdf_str(&urdf, "thing").unwrap())));
    let (q, v) = (model.home(1).unwrap(), row(&[0.0; 12]));
    for contact in [ContactModel::Barrier, ContactModel::Rigid(Method::DualQp)] {
        let step = dynamic(&model, &model.parameters, contact);
        assert_eq!(step.step(&q, &v, &v).unwrap().reports[0].status, Status::BadInput);
        let why = step.why_bad_input(&q, &v, &v, 0).unwrap();
        assert!(why.starts_with("\"thing/first\": expected it to move some mass"), "{why}");
    }
}

/// In single precision the same within its rounding: q to 1e-6 m, forces of 200 N to a newton.
#[test]
fn single_precision_serves() {
    let mut scene = cubes(&[SIDE]);
    let (double, q, v) = falling(&mut scene);
    let single = Model::new(&scene, candle_core::DType::F32, &double.device).unwrap();
    for contact in [ContactModel::Barrier, ContactModel::Rigid(Method::Lemke)] {
        let exact = dynamic(&double, &double.parameters, contact).step(&q, &v, &v.zeros_like().unwrap()).unwrap();
        let [q, v] = [&q, &v].map(|t| t.to_dtype(candle_core::DType::F32).unwrap());
        let next = dynamic(&single, &single.parameters, contact).step(&q, &v, &v.zeros_like().unwrap()).unwrap();
        let wide = |t: &Tensor| numbers(&t.to_dtype(candle_core::DType::F64).unwrap());
        assert_eq!(next.reports[0].status, Status::Solved);
        assert!(apart(&wide(&next.q_next), &numbers(&exact.q_next)) < 1e-6, "{contact:?}");
        assert!(apart(&wide(&next.force), &numbers(&exact.force)) < 1.0, "{contact:?}");
    }
}

#[test]
fn misuse_is_told() {
    let mut scene = cubes(&[SIDE]);
    let (model, q, v) = falling(&mut scene);
    let step = dynamic(&model, &model.parameters, ContactModel::Barrier);
    let message = |r: Result<DynamicStep>| r.unwrap_err().to_string();
    assert!(message(step.step(&v, &v, &v)).contains("expected q (B, 7)"));
    assert!(message(step.step(&q, &q, &v)).contains("expected v (1, 6)"));
    let bound = Bound::Gap { beta: 1.5 };
    let params = DynamicParams { bound, ..DynamicParams::default() };
    assert!(Dynamic::new(&model, &model.parameters, params).unwrap_err().to_string().contains("from 0 to 1"));
}
