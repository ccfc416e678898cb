//! Single states that were answered wrongly once.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::description::{Freedom, Object, Params, Scene, Shape};
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, Step};
use fingertip::{Model, Parameters};

use super::is_finite;
use support::numbers;

fn shipped(name: &str) -> Model {
    let scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
    Model::new(&scene, DType::F64, &Device::Cpu).unwrap()
}

/// A step from one state, in both forms, with some parameters changed; the two statuses are the same.
fn step(model: &Model, q: &[f64], u: &[f64], change: impl Fn(&mut Parameters)) -> Step {
    let mut parameters = model.parameters.clone();
    change(&mut parameters);
    let fused = Quasidynamic::new(model, &parameters).unwrap();
    let (q, u) = (model.tensor(&[q]).unwrap(), model.tensor(&[u]).unwrap());
    let [step, program] = [&fused, &fused.as_tensor_program()].map(|step| step.step(&q, &u).unwrap());
    assert!(is_finite(&step) && is_finite(&program), "{:?} {:?}", step.reports, program.reports);
    assert_eq!(step.reports[0].status, program.reports[0].status);
    step
}

fn row(model: &Model, like: &Tensor, value: f64) -> Tensor {
    model.tensor(&[&vec![value; like.dim(1).unwrap()]]).unwrap()
}

/// Two steps in which a torque turns a ball by `turn` rad each: the second displacement depends on the orientation
/// after the first only through the torque's arm on what it carries, so the gradient is compared with differences.
#[test]
fn a_rollout_knows_turns_beyond_half_a_turn() {
    let ball = Object::rigid("ball", Shape::sphere(0.05), 1.0);
    let params = Params { mu: 0.0, ..Params::default() };
    let scene = Scene::new().with_params(params).object(ball).object(Object::ground("floor", -2.0));
    let scene = scene.with_gravity([0.0; 3]);
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    for turn in [0.5, 3.0, 3.2, 6.0, 6.4, 40.0] {
        let inertia = numbers(&model.parameters.inertia)[0];
        let h = numbers(&model.parameters.h)[0];
        let torque = turn * inertia / (h * h) * numbers(&model.parameters.epsilon)[0];
        let cost = |tau: &Tensor, form: &dyn Fn(Quasidynamic) -> Quasidynamic| {
            let mut parameters = model.parameters.clone();
            parameters.tau = tau.clone();
            let step = form(Quasidynamic::new(&model, &parameters).unwrap());
            let u = Tensor::zeros((1, 2, 0), DType::F64, &Device::Cpu).unwrap();
            let rolled = rollout(&step, &model.home(1).unwrap(), &u).unwrap();
            // qw and qx after two steps.
            rolled.q.narrow(1, 2, 1).unwrap().narrow(2, 3, 2).unwrap().sum_all().unwrap()
        };
        let tau = |x: f64| model.tensor(&[&[0.0, 0.0, 0.0, x, 0.0, 0.0]]).unwrap();
        let exact = |form: &dyn Fn(Quasidynamic) -> Quasidynamic| {
            let var = Var::from_tensor(&tau(torque)).unwrap();
            let grads = cost(&var, form).backward().unwrap();
            numbers(grads.get(&var).unwrap())[3] * torque
        };
        let by = 1e-6 * torque;
        let of = |x: f64| cost(&tau(x), &|step| step).to_scalar::<f64>().unwrap();
        let difference = (of(torque + by) - of(torque - by)) / 2e-6;
        // cos(θ) + sin(θ) of half the angle of two turns: d/dθ.
        let closed = turn * (turn.cos() - turn.sin());
        for (name, found) in
            [("fused", exact(&|s| s)), ("program", exact(&|s| s.as_tensor_program())), ("closed", closed)]
        {
            let error = (found - difference).abs() / turn;
            assert!(error < 1e-7, "{turn} rad a step: {name} {found}, differences {difference}");
        }
    }
}

/// A planar disc cannot leave a plate that it is under: no freedom moves along the normal.
#[test]
fn what_nothing_can_move_is_infeasible() {
    let fingers = shipped("two_fingers");
    let q = [0.13, 0.06, 0.0, 0.66, -1.54, -0.66, 1.54];
    let found = step(&fingers, &q, &[0.6, -1.5, -0.6, 1.5], |_| ());
    assert_ne!(found.reports[0].status, Status::BadInput);
    let push = shipped("push");
    let found = step(&push, &[0.5, 0.0, 0.0, 0.5, -1.0], &[0.5, -1.0], |_| ());
    assert_ne!(found.reports[0].status, Status::BadInput);
    println!("{:?}", found.reports);
    // A ball on rails below the floor: J_n = 0.
    let ball = Object::rigid("ball", Shape::sphere(0.05), 1.0).with_freedom(Freedom::Planar);
    for (depth, expected) in [(0.01, Status::Infeasible), (-0.01, Status::Solved)] {
        let scene = Scene::new().object(ball.clone()).object(Object::ground("floor", depth - 0.05));
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        let found = step(&model, &[0.0, 0.0, 0.0], &[], |_| ());
        assert_eq!(found.reports[0].status, expected, "{depth} deep: {:?}", found.reports);
    }
}

#[test]
fn numbers_out_of_range_are_bad_input() {
    let model = shipped("hand_ball");
    let (q, u) = (model.tree.home(), vec![0.0; model.nu()]);
    let with = |change: &dyn Fn(&mut Parameters)| step(&model, &q, &u, change).reports[0].status;
    let p = &model.parameters;
    assert_eq!(with(&|_| ()), Status::Solved);
    for huge in [1e31, 1e154, 1e300] {
        assert_eq!(with(&|p| p.mu = row(&model, &p.mu, huge)), Status::BadInput);
        assert_eq!(with(&|p| p.tau = row(&model, &p.tau, huge)), Status::BadInput);
        let mut far = u.clone();
        far[3] = huge;
        assert_eq!(step(&model, &q, &far, |_| ()).reports[0].status, Status::BadInput);
        let mut away = q.clone();
        away[0] = huge;
        let found = step(&model, &away, &u, |_| ());
        assert_eq!(found.reports[0].status, Status::BadInput);
        assert_eq!(numbers(&found.q_next), q, "an unusable q is the home");
    }
    assert_eq!(with(&|_| ()), Status::Solved, "{:?}", p.mu);
}

/// The egg and the polyhedron whose distance ended in a panic of GJK.
#[test]
fn sizes_out_of_range_are_bad_input() {
    let corners: Vec<[f64; 3]> =
        (0..8).map(|k| [0, 1, 2].map(|i| if k >> i & 1 == 1 { 0.03 } else { -0.02 })).collect();
    let scene = Scene::new()
        .object(Object::fixed("rock", Shape::hull(&corners).unwrap()).at([0.05, -0.05, -0.1]))
        .object(Object::rigid("egg", Shape::ellipsoid([0.01, 0.03, 0.02]), 0.1).at([-0.11, 0.1, -0.07]));
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let with = |size: f64| {
        let sizes: Vec<f64> = numbers(&model.parameters.sizes);
        let change = |p: &mut Parameters| {
            let changed: Vec<f64> = sizes.iter().map(|&x| if x == 0.02 { size } else { x }).collect();
            p.sizes = model.tensor(&[&changed]).unwrap();
        };
        step(&model, &model.tree.home(), &[], change).reports[0].status
    };
    assert_eq!(with(0.02), Status::Solved);
    for bad in [1e31, 1e200, f64::INFINITY, f64::NAN, 0.0, -0.02] {
        assert_eq!(with(bad), Status::BadInput, "{bad:e}");
    }
}

/// Where κ is so large that a slack has no digits left, the measure of the residual says so; the answer is hard
/// contact's.
#[test]
fn solved_is_what_the_residual_says() {
    let model = shipped("hand_ball");
    let (q, u) = (model.tree.home(), vec![0.0; model.nu()]);
    for kappa in [1e4, 1e8, 1e12, 1e16, 1e20] {
        for stiffness in [1.0, 1e6, 7e8] {
            let found = step(&model, &q, &u, |p| {
                (p.kappa, p.stiffness) = (row(&model, &p.kappa, kappa), row(&model, &p.stiffness, stiffness));
            });
            let report = found.reports[0];
            assert_eq!(report.status == Status::Solved, report.residual <= 1e-9, "κ {kappa:e}: {report:?}");
            assert_eq!(report.status, Status::Solved, "κ {kappa:e}, K {stiffness:e}: {report:?}");
        }
    }
}

/// Fingers whose springs pull them 100 rad into a ball, with forces to 10¹¹ N that slide by metres: from κ s λ of 5 ×
/// 10¹⁴ on rounding does not tell such a force from one outside its cone. What it leaves is found as soon as the rest.
#[test]
fn stiff_springs_pull_far() {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    scene.params.max_iterations = 5000;
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let q = model.tree.home();
    for (stiffness, expected) in [
        (1e5, Status::Solved),
        (1e6, Status::Solved),
        (2e6, Status::Solved),
        (1e7, Status::IterationLimit),
        (1e8, Status::IterationLimit),
    ] {
        let found = step(&model, &q, &vec![100.0; model.nu()], |p| p.stiffness = row(&model, &p.stiffness, stiffness));
        let report = found.reports[0];
        println!("K {stiffness:e}: {report:?}");
        assert_eq!(report.status, expected, "K {stiffness:e}: {report:?}");
        assert!(report.iterations < 150, "K {stiffness:e}: {report:?}");
    }
}

/// An inertia that moves nothing of a body on a plane, so large that its derivatives overflow: the step is solved, and
/// what its world does to gradients is dropped in both forms. The shared parameters have the other world's.
#[test]
fn a_gradient_that_overflows_stays_in_its_world() {
    let cube = Object::rigid("cube", Shape::cuboid([0.05; 3]), 1.0).with_freedom(Freedom::Planar);
    let scene = Scene::new().object(cube).object(Object::fixed("wall", Shape::sphere(0.05)).at([0.11, 0.01, 0.0]));
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let mut inertia = numbers(&model.parameters.inertia);
    let own = inertia.clone();
    inertia[4] = 1.7e308;
    let gradients = |form: &dyn Fn(Quasidynamic) -> Quasidynamic, inertia: &[&[f64]]| {
        let q = Var::from_tensor(&model.tensor(&vec![&[0.0, 0.0, 0.3][..]; inertia.len()]).unwrap()).unwrap();
        let tau = Var::from_tensor(&model.tensor(&[&[3.0, 0.0, 0.1]]).unwrap()).unwrap();
        let mut parameters = model.parameters.clone();
        (parameters.inertia, parameters.tau) = (model.tensor(inertia).unwrap(), tau.as_tensor().clone());
        let step = form(Quasidynamic::new(&model, &parameters).unwrap());
        let step = step.step(&q, &Tensor::zeros((inertia.len(), 0), DType::F64, &Device::Cpu).unwrap()).unwrap();
        assert!(step.reports.iter().all(|report| report.status == Status::Solved), "{:?}", step.reports);
        let grads = step.force.sum_all().unwrap().backward().unwrap();
        [&q, &tau].map(|var| numbers(grads.get(var).unwrap()))
    };
    let forms: [fn(Quasidynamic) -> Quasidynamic; 2] = [|step| step, |step| step.as_tensor_program()];
    for form in forms {
        let [clean_q, clean_tau] = gradients(&form, &[&own]);
        let [q, tau] = gradients(&form, &[&own, &inertia]);
        println!("{clean_q:?} {q:?} {clean_tau:?} {tau:?}");
        assert!(q.iter().chain(&tau).all(|x| x.is_finite()), "{q:?} {tau:?}");
        assert_eq!(q[..3], clean_q);
    }
}
