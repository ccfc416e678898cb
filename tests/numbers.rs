//! Steps, rollouts and gradients on plain numbers are those of tensors.

mod support;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::{Object, Scene, Shape};
use fingertip::math::tensor::numbers;
use fingertip::rollout::rollout;
use fingertip::step::{Dynamic, DynamicParams, Quasidynamic, StepCotangent};
use fingertip::{Model, Parameters};
use support::states::{Batch, Random, model};

const WORLDS: usize = 5;
const STEPS: usize = 4;
/// Sums over worlds, in another order.
const SUM: f64 = 1e-12;

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

#[track_caller]
fn near(a: &[f64], b: &[f64], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = b.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    a.iter().zip(b).for_each(|(x, y)| assert!((x - y).abs() <= SUM * scale, "{what}: {x} {y}"));
}

/// Numbers of any kind.
fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|k| 0.3 + ((7 * k) % 11) as f64 - 5.0).collect()
}

fn tracked(parameters: &Parameters) -> Parameters {
    parameters.map(|_, t| Ok(Var::from_tensor(&t.detach())?.into_inner())).unwrap()
}

fn dot(t: &Tensor, w: &[f64]) -> Result<Tensor> {
    (t * Tensor::from_slice(w, t.shape(), &Device::Cpu)?)?.sum_all()
}

/// A scene without commands has no gradient of them.
#[track_caller]
fn of_commands(own: &[f64], expected: Option<&Tensor>, name: &str) {
    let expected = expected.map_or(Vec::new(), |expected| numbers(expected).unwrap());
    near(own, &expected, &format!("{name} u"));
}

/// The scenes, with torsional friction in the last; in both forms.
fn each(test: impl Fn(&str, &Quasidynamic, &Batch)) {
    for name in ["push", "hand_ball", "three_bodies"] {
        let model = model(name);
        let batch = Batch::strange(&model, WORLDS, &mut Random::new(11));
        let step = Quasidynamic::new(&model, &batch.parameters).unwrap();
        test(name, &step, &batch);
        test(name, &step.as_tensor_program(), &batch);
    }
}

#[test]
fn steps() {
    each(|name, step, batch| {
        let [q, u] = [&batch.q, &batch.u].map(|t| numbers(t).unwrap());
        let of = step.step_numbers(&q, &u, &[]).unwrap();
        let all = step.step(&batch.q, &batch.u).unwrap();
        for (own, tensor, what) in [
            (&of.q_next, &all.q_next, "q_next"),
            (&of.delta, &all.delta, "delta"),
            (&of.force, &all.force, "force"),
            (&of.torque, &all.torque, "torque"),
            (&of.limit_force, &all.limit_force, "limit_force"),
            (&of.normal, &all.contacts.normal, "normal"),
            (&of.point_a, &all.contacts.point_a, "point_a"),
            (&of.point_b, &all.contacts.point_b, "point_b"),
            (&of.phi, &all.contacts.phi, "phi"),
            (&of.warm, &all.warm, "warm"),
        ] {
            assert_eq!(bits(own), bits(&numbers(tensor).unwrap()), "{name} {what}");
        }
        assert_eq!(of.reports.len(), WORLDS);
        let warm = step.step_numbers(&q, &u, &of.warm).unwrap();
        let again = step.step_from(&batch.q, &batch.u, Some(&all.warm)).unwrap();
        assert_eq!(bits(&warm.q_next), bits(&numbers(&again.q_next).unwrap()), "{name} warm");
    });
}

#[test]
fn gradients_of_a_step() {
    each(|name, step, batch| {
        let [q, u] = [&batch.q, &batch.u].map(|t| numbers(t).unwrap());
        let of = step.step_numbers(&q, &u, &[]).unwrap();
        let [w_q, w_force, w_torque, w_phi] =
            [&of.q_next, &of.force, &of.torque, &of.phi].map(|part| weights(part.len()));
        let by = StepCotangent { q_next: &w_q, force: &w_force, torque: &w_torque, phi: &w_phi, ..Default::default() };
        let gradient = step.vjp(&q, &u, &of, &by).unwrap();

        let parameters = tracked(step.parameters());
        let [q, u] = [&batch.q, &batch.u].map(|t| Var::from_tensor(t).unwrap());
        let all = step.with_parameters(&parameters).unwrap().step(&q, &u).unwrap();
        let mut cost = dot(&all.q_next, &w_q).unwrap();
        cost = (cost + dot(&all.force, &w_force).unwrap()).unwrap();
        if !w_torque.is_empty() {
            cost = (cost + dot(&all.torque, &w_torque).unwrap()).unwrap();
        }
        cost = (cost + dot(&all.contacts.phi, &w_phi).unwrap()).unwrap();
        let expected = cost.backward().unwrap();
        near(&gradient.q, &numbers(expected.get(&q).unwrap()).unwrap(), &format!("{name} q"));
        of_commands(&gradient.u, expected.get(&u), name);
        for (k, tensor) in parameters.tensors().into_iter().enumerate() {
            let what = format!("{name} {}", Parameters::NAMES[k]);
            if let Some(expected) = expected.get(tensor) {
                near(&gradient.parameters[k], &numbers(expected).unwrap(), &what);
            }
        }
        assert_eq!(gradient.parameter("mass"), Some(&gradient.parameters[7][..]));
        assert!(gradient.parameter("masses").is_none());
    });
}

#[test]
fn rollouts_and_their_gradients() {
    each(|name, step, batch| {
        let (nq, nu) = (step.model().nq(), step.model().nu());
        let q0 = numbers(&batch.q).unwrap();
        let u = Tensor::stack(&[&batch.u; STEPS], 1).unwrap();
        let u_numbers = numbers(&u).unwrap();
        let of = step.rollout_numbers(&q0, &u_numbers, STEPS).unwrap();
        assert_eq!((of.q.len(), of.reports.len()), (WORLDS * (STEPS + 1) * nq, WORLDS * STEPS));

        let parameters = tracked(step.parameters());
        let [q_var, u_var] = [&batch.q, &u].map(|t| Var::from_tensor(t).unwrap());
        let all = rollout(&step.with_parameters(&parameters).unwrap(), &q_var, &u_var).unwrap();
        assert_eq!(bits(&of.q), bits(&numbers(&all.q).unwrap()), "{name}");
        assert_eq!(bits(&of.force), bits(&numbers(&all.force).unwrap()), "{name}");
        assert_eq!(bits(&of.torque), bits(&numbers(&all.torque).unwrap()), "{name}");
        for (world, report) in of.reports.chunks(STEPS).enumerate() {
            (0..STEPS).for_each(|t| assert_eq!(report[t].status, all.reports[t][world].status));
        }
        let (w_q, w_force) = (weights(of.q.len()), weights(of.force.len()));
        for (by_q, by_force) in [(&w_q[..], &w_force[..]), (&w_q, &[]), (&[], &w_force)] {
            let gradient = step.rollout_vjp(&u_numbers, &of, by_q, by_force).unwrap();
            let mut cost = (all.q.sum_all().unwrap() * 0.0).unwrap();
            if !by_q.is_empty() {
                cost = (cost + dot(&all.q, by_q).unwrap()).unwrap();
            }
            if !by_force.is_empty() {
                cost = (cost + dot(&all.force, by_force).unwrap()).unwrap();
            }
            let expected = cost.backward().unwrap();
            assert_eq!(gradient.u.len(), WORLDS * STEPS * nu);
            near(&gradient.q, &numbers(expected.get(&q_var).unwrap()).unwrap(), &format!("{name} q0"));
            of_commands(&gradient.u, expected.get(&u_var), name);
            for (k, tensor) in parameters.tensors().into_iter().enumerate() {
                if let Some(expected) = expected.get(tensor) {
                    let what = format!("{name} {}", Parameters::NAMES[k]);
                    near(&gradient.parameters[k], &numbers(expected).unwrap(), &what);
                }
            }
        }
    });
}

#[test]
fn second_order_steps_and_their_gradients() {
    let model = model("hand_ball");
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
    let (nv, q) = (model.nv(), model.home(WORLDS).unwrap());
    let v = Tensor::from_vec(weights(WORLDS * nv), (WORLDS, nv), &Device::Cpu).unwrap().affine(0.01, 0.0).unwrap();
    let tau = (&v * 0.1).unwrap();
    let [q_n, v_n, tau_n] = [&q, &v, &tau].map(|t| numbers(t).unwrap());
    let of = step.step_numbers(&q_n, &v_n, &tau_n, &[]).unwrap();
    let (w_q, w_v) = (weights(of.q_next.len()), weights(of.v_next.len()));
    let by = StepCotangent { q_next: &w_q, v_next: &w_v, ..Default::default() };
    let gradient = step.vjp([&q_n, &v_n, &tau_n], &of, &by).unwrap();

    let parameters = tracked(&model.parameters);
    let [q, v, tau] = [&q, &v, &tau].map(|t| Var::from_tensor(t).unwrap());
    let all = step.with_parameters(&parameters).unwrap().step(&q, &v, &tau).unwrap();
    assert_eq!(bits(&of.q_next), bits(&numbers(&all.q_next).unwrap()));
    assert_eq!(bits(&of.v_next), bits(&numbers(&all.v_next).unwrap()));
    let cost = (dot(&all.q_next, &w_q).unwrap() + dot(&all.v_next, &w_v).unwrap()).unwrap();
    let expected = cost.backward().unwrap();
    near(&gradient.q, &numbers(expected.get(&q).unwrap()).unwrap(), "q");
    let sides = Tensor::cat(&[expected.get(&v).unwrap(), expected.get(&tau).unwrap()], 1).unwrap();
    near(&gradient.u, &numbers(&sides).unwrap(), "v and tau");
    let mass = expected.get(&parameters.mass).unwrap();
    near(gradient.parameter("mass").unwrap(), &numbers(mass).unwrap(), "mass");
}

#[test]
fn misuse_says_what_was_expected() {
    let model = model("push");
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let (q, u) = (model.tree.home(), vec![0.0; model.nu()]);
    let of = step.step_numbers(&q, &u, &[]).unwrap();
    let said = |error: candle_core::Error| fingertip::message(&error);
    let error = said(step.step_numbers(&q[1..], &u, &[]).map(drop).unwrap_err());
    assert!(error.contains("expected q (B, "), "{error}");
    let by = StepCotangent { q_next: &q[1..], ..Default::default() };
    let error = said(step.vjp(&q, &u, &of, &by).map(drop).unwrap_err());
    assert!(error.starts_with("gradient by q_next: expected 1 × "), "{error}");
    let by = StepCotangent { v_next: &q, ..Default::default() };
    assert!(step.vjp(&q, &u, &of, &by).is_err(), "a quasi-dynamic step has no velocities");
    // A result of another model that has as many coordinates.
    let ground = |n: usize| {
        let balls =
            (0..n).map(|k| Object::rigid(format!("ball{k}"), Shape::sphere(0.02), 0.1).at([0.1 * k as f64, 0.0, 0.1]));
        let scene = balls.fold(Scene::new().object(Object::ground("table", 0.0)), Scene::object);
        Model::new(&scene, DType::F64, &Device::Cpu).unwrap()
    };
    let wall = Scene::new()
        .object(Object::rigid("ball0", Shape::sphere(0.02), 0.1).at([0.0, 0.0, 0.1]))
        .object(Object::rigid("ball1", Shape::sphere(0.02), 0.1).at([0.1, 0.0, 0.1]));
    let (one, other) = (ground(2), Model::new(&wall, DType::F64, &Device::Cpu).unwrap());
    let [one, other] = [one, other].map(|model| Quasidynamic::new(&model, &model.parameters).unwrap());
    let home = one.model().tree.home();
    let of_other = other.step_numbers(&home, &[], &[]).unwrap();
    let error = said(one.vjp(&home, &[], &of_other, &StepCotangent::default()).map(drop).unwrap_err());
    assert!(error.starts_with("step: rows of this model: expected 1 × "), "{error}");
    let of_other = other.rollout_numbers(&home, &[], 2).unwrap();
    let error = said(one.rollout_vjp(&[], &of_other, &[], &[]).map(drop).unwrap_err());
    assert!(error.starts_with("rollout: rows of this model: expected 1 × "), "{error}");
    let error = said(step.rollout_numbers(&q, &[], 0).map(drop).unwrap_err());
    assert!(error.contains("at least 1 step"), "{error}");
    let single = Model::new(&Scene::load("assets/scenes/push.toml").unwrap(), DType::F32, &Device::Cpu).unwrap();
    let error =
        said(Quasidynamic::new(&single, &single.parameters).unwrap().step_numbers(&q, &u, &[]).map(drop).unwrap_err());
    assert!(error.contains("expected a model of F64"), "{error}");
}
