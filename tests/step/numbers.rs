//! Steps, rollouts and gradients on plain numbers are those of tensors.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::{Object, Scene, Shape};
use fingertip::kinematics::Manifold;
use fingertip::math::tensor::numbers;
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::{Dynamic, DynamicParams, Outputs, Quasidynamic, StepCotangent};
use fingertip::{Model, Parameters};
use support::differences::{SHRINK, extrapolate};
use support::states::{Batch, RANGES, Random, batch as batch_of, model};

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
        let mass = Parameters::NAMES.iter().position(|name| *name == "mass").unwrap();
        assert_eq!(gradient.parameter("mass"), Some(&gradient.parameters[mass][..]));
        assert!(gradient.parameter("masses").is_none());
    });
}

#[test]
fn rollouts_and_their_gradients() {
    each(rollouts);
}

fn rollouts(name: &str, step: &Quasidynamic, batch: &Batch) {
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
    assert_eq!(bits(&of.force.dense()), bits(&numbers(&all.force).unwrap()), "{name}");
    assert_eq!(bits(&of.torque), bits(&numbers(&all.torque).unwrap()), "{name}");
    for (world, report) in of.reports.chunks(STEPS).enumerate() {
        (0..STEPS).for_each(|t| assert_eq!(report[t].status, all.reports[t][world].status));
    }
    let (w_q, w_force) = (weights(of.q.len()), weights(of.force.dense().len()));
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
}

/// Where there may be many contacts those with a force are listed, and what is far is passed over.
#[test]
fn many_contacts() {
    for torsion in [0.0, 0.003] {
        let mut scene = Scene::load("assets/scenes/leap_cube.toml").unwrap();
        (scene.params.torsion, scene.params.kappa) = (torsion, 1e4);
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        let batch = Batch::strange(&model, WORLDS, &mut Random::new(12));
        let step = Quasidynamic::new(&model, &batch.parameters).unwrap();
        assert!(step.lists_contacts());
        let name = format!("leap_cube with torsion {torsion}");
        rollouts(&name, &step, &batch);
        let batch = batch_of(&model, 0.02, WORLDS, &RANGES, &mut Random::new(14));
        rollouts(&name, &Quasidynamic::new(&model, &batch.parameters).unwrap(), &batch);

        // A rollout knows a step's motion by its two states: not where those are millions of metres away.
        let batch = batch_of(&model, 0.02, 2 * WORLDS, &RANGES, &mut Random::new(13));
        let step = Quasidynamic::new(&model, &batch.parameters).unwrap();
        let [q, u] = [&batch.q, &batch.u].map(|t| numbers(t).unwrap());
        let of = step.step_numbers(&q, &u, &[]).unwrap();
        assert!(
            of.force.iter().any(|x| x.abs() > 1e-3) && of.reports.iter().any(|report| report.status == Status::Solved)
        );
        let (q_next, force, phi) = (weights(of.q_next.len()), weights(of.force.len()), weights(of.phi.len()));
        let by = StepCotangent { q_next: &q_next, force: &force, ..StepCotangent::default() };
        for by in [by, StepCotangent { force: &[], ..by }, StepCotangent { q_next: &[], ..by }] {
            let (own, expected) = (step.vjp_at(&q, &u, &by).unwrap(), step.vjp(&q, &u, &of, &by).unwrap());
            let parts =
                own.parameters.iter().zip(&expected.parameters).chain([(&own.q, &expected.q), (&own.u, &expected.u)]);
            for (own, expected) in parts {
                let scale = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                // One recovers the solver's forces from those in world axes.
                let same = own.iter().zip(expected).all(|(x, y)| (x - y).abs() <= 1e-9 * scale);
                assert!(same && own.len() == expected.len(), "{name}: {own:?} {expected:?}");
            }
        }
        let by = StepCotangent { phi: &phi, ..by };
        let (own, expected) = (step.vjp_at(&q, &u, &by).unwrap(), step.vjp(&q, &u, &of, &by).unwrap());
        assert_eq!(bits(&own.q), bits(&expected.q));
    }
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

/// A number's derivative by central differences of its values at −h and h, and how far that may be off.
fn slope(f: impl Fn(f64) -> f64) -> (f64, f64) {
    let first = 1e-3;
    let steps: Vec<f64> = (0..STEPS_OF_DIFFERENCES).map(|k| first / SHRINK.powi(k)).collect();
    let central: Vec<f64> = steps.iter().map(|h| (f(*h) - f(-h)) / (2.0 * h)).collect();
    extrapolate(&central, first, 1e-13)
}

/// Gradients of second-order steps in time are right to this, relative to the largest of their kind.
const EXACT: f64 = 1e-6;
const STEPS_OF_DIFFERENCES: i32 = 8;

#[test]
fn second_order_jacobians_are_differences() {
    for name in ["three_bodies", "hand_ball"] {
        let model = model(name);
        let step = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
        let manifold = Manifold::new(&model.tree, &Device::Cpu).unwrap();
        let (nv, n_force) = (model.nv(), 3 * model.nc());
        let q = model.tree.home();
        let [v, tau] = [0.01, 0.001].map(|scale| weights(nv).into_iter().map(|x| scale * x).collect::<Vec<_>>());
        // Two worlds, the second one elsewhere: each has its own Jacobians.
        let both = |x: &[f64]| [x, x].concat();
        let still = [vec![0.0; nv], v.clone()].concat();
        let of = step.linearize_numbers(&both(&q), &still, &both(&tau), &[]).unwrap();
        let alone = step.linearize_numbers(&q, &v, &tau, &[]).unwrap();
        for (all, own) in [(&of.a, &alone.a), (&of.b, &alone.b), (&of.c, &alone.c), (&of.d, &alone.d)] {
            assert_eq!(bits(&all[own.len()..]), bits(own), "{name}");
        }
        let tensor = |x: &[f64]| Tensor::from_slice(x, (2, x.len() / 2), &Device::Cpu).unwrap();
        let tensors = step.linearize(&tensor(&both(&q)), &tensor(&still), &tensor(&both(&tau)), None).unwrap();
        for (t, own) in [(&tensors.a, &of.a), (&tensors.b, &of.b), (&tensors.c, &of.c), (&tensors.d, &of.d)] {
            assert_eq!(bits(&numbers(t).unwrap()), bits(own), "{name}");
        }
        assert_eq!([alone.a.len(), alone.b.len()], [4 * nv * nv, 2 * nv * nv]);
        assert_eq!([alone.c.len(), alone.d.len()], [2 * nv * n_force, nv * n_force]);

        let at = |j: usize, by: f64| {
            let mut moved = [vec![0.0; nv], v.clone(), tau.clone()];
            moved[j / nv][j % nv] += by;
            let q = manifold.plus(&q, &moved[0]).unwrap();
            let next = step.step_numbers(&q, &moved[1], &moved[2], &[]).unwrap();
            [manifold.minus(&next.q_next, &alone.step.q_next).unwrap(), next.v_next, next.force].concat()
        };
        let scale = |part: &[f64]| part.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let (mut sure, mut all) = (0, 0);
        for j in (0..3 * nv).step_by(2) {
            for i in (0..2 * nv + n_force).step_by(5) {
                let (k, rows) = if j < 2 * nv { (j, [&alone.a, &alone.c]) } else { (j - 2 * nv, [&alone.b, &alone.d]) };
                let width = if j < 2 * nv { 2 * nv } else { nv };
                let (row, part) = if i < 2 * nv { (i, rows[0]) } else { (i - 2 * nv, rows[1]) };
                let (expected, error) = slope(|by| at(j, by)[i]);
                let most = scale(part).max(1e-3);
                all += 1;
                if error < 0.1 * EXACT * most {
                    sure += 1;
                    let found = part[row * width + k];
                    assert!((found - expected).abs() < EXACT * most, "{name} {i} by {j}: {found} {expected} ± {error}");
                }
            }
        }
        assert!(sure > 9 * all / 10, "{name}: {sure} of {all}");
    }
}

/// Sensitivities are rows of Jacobians, and along a direction of the parameters the sum of gradients.
#[test]
fn sensitivities_are_jacobians_and_gradients() {
    for name in ["three_bodies", "hand_ball"] {
        let model = model(name);
        let (nq, nv, nu, nc) = (model.nq(), model.nv(), model.nu(), model.nc());
        let manifold = Manifold::new(&model.tree, &Device::Cpu).unwrap();
        let both = |x: &[f64]| [x, x].concat();
        let [q, u] = [both(&model.tree.home()), both(&model.tree.home_command())];
        let all: Vec<Vec<usize>> = (0..nv).map(|dof| vec![dof]).collect();
        let sum: Vec<(usize, f64)> = weights(3 * nc).into_iter().enumerate().collect();
        let forces = [sum.clone()];
        let n_par: usize = model.parameters.tensors().iter().map(|t| t.dims()[1]).sum();
        let way: Vec<(usize, f64)> = (0..n_par).zip(weights(n_par)).collect();
        let along = |parameters: &[Vec<f64>]| -> f64 {
            parameters.concat().iter().zip(&way).map(|(x, (_, rate))| x * rate).sum()
        };
        let tangent = |q: &[f64], k: usize| -> Vec<f64> {
            let unit: Vec<f64> = (0..nv).map(|i| f64::from(u8::from(i == k))).collect();
            let tensor = |x: &[f64]| Tensor::from_slice(x, (1, x.len()), &Device::Cpu).unwrap();
            numbers(&manifold.from_tangent(&tensor(q), &tensor(&unit)).unwrap()).unwrap()
        };

        let step = Quasidynamic::new(&model, &model.parameters).unwrap();
        let (outputs, ways) = (Outputs { q_next: &all, force: &forces, ..Outputs::default() }, [way.clone()]);
        let solved = step.step_numbers(&q, &u, &[]).unwrap();
        let of = step.sensitivities([&q, &u], &solved, &outputs, &ways).unwrap();
        let jacobians = step.jacobians(&q[..nq], &u[..nu], None, true).unwrap();
        let world = (nv + 1) * nv;
        assert_eq!(
            [of.q.len(), of.u.len(), of.parameters.len()],
            [2 * world, 2 * (nv + 1) * nu, 2 * (nv + 1)],
            "{name}"
        );
        roughly(&of.q[..nv * nv], &jacobians.a, name);
        roughly(&of.u[..nv * nu], &jacobians.b, name);
        assert_eq!(bits(&of.q[..world]), bits(&of.q[world..]), "{name}");
        let alone = step.step_numbers(&q[..nq], &u[..nu], &[]).unwrap();
        for k in (0..nv).step_by(3) {
            let q_next = tangent(&alone.q_next, k);
            let by = StepCotangent { q_next: &q_next, ..StepCotangent::default() };
            let gradient = step.vjp(&q[..nq], &u[..nu], &alone, &by).unwrap();
            near(&[of.parameters[k]], &[along(&gradient.parameters)], name);
        }
        let force: Vec<f64> = sum.iter().map(|(_, weight)| *weight).collect();
        let gradient =
            step.vjp(&q[..nq], &u[..nu], &alone, &StepCotangent { force: &force, ..StepCotangent::default() });
        near(&[of.parameters[nv]], &[along(&gradient.unwrap().parameters)], name);

        let step = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
        let [v, tau] = [0.01, 0.001].map(|scale| weights(nv).into_iter().map(|x| scale * x).collect::<Vec<_>>());
        let outputs = Outputs { q_next: &all, v_next: &all, force: &forces };
        let solved = step.step_numbers(&q, &both(&v), &both(&tau), &[]).unwrap();
        let of = step.sensitivities([&q, &both(&v), &both(&tau)], &solved, &outputs, &ways).unwrap();
        let jacobians = step.linearize_numbers(&q[..nq], &v, &tau, &[]).unwrap();
        for row in 0..2 * nv {
            let (by_q, by_motion) = (&of.q[row * nv..(row + 1) * nv], &of.u[row * 2 * nv..(row + 1) * 2 * nv]);
            roughly(&[by_q, &by_motion[..nv]].concat(), &jacobians.a[row * 2 * nv..(row + 1) * 2 * nv], name);
            roughly(&by_motion[nv..], &jacobians.b[row * nv..(row + 1) * nv], name);
        }
        let bad = step.sensitivities(
            [&q, &both(&v), &both(&tau)],
            &solved,
            &Outputs { v_next: &[vec![nv]], ..outputs },
            &ways,
        );
        assert_eq!(
            fingertip::message(&bad.unwrap_err()),
            format!("sensitivities: v_next: expected places below {nv}, got {nv}")
        );
    }
}

/// Jacobians that are pushed forward have other rounding.
#[track_caller]
fn roughly(a: &[f64], b: &[f64], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = b.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    a.iter().zip(b).for_each(|(x, y)| assert!((x - y).abs() <= EXACT * scale, "{what}: {x} {y}"));
}

#[test]
fn second_order_rollouts_and_their_gradients() {
    let model = model("three_bodies");
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
    let manifold = Manifold::new(&model.tree, &Device::Cpu).unwrap();
    let (nq, nv) = (model.nq(), model.nv());
    let q = model.tree.home().repeat(2);
    let [v, tau] = [(0.02, 2 * nv), (0.001, 2 * STEPS * nv)]
        .map(|(scale, n)| weights(n).into_iter().map(|x| scale * x).collect::<Vec<_>>());
    let of = step.rollout_numbers(&q, &v, &tau, STEPS).unwrap();
    assert_eq!([of.q.len(), of.v.len()], [2 * (STEPS + 1) * nq, 2 * (STEPS + 1) * nv]);
    assert_eq!([of.force.len(), of.reports.len()], [2 * STEPS * 3 * model.nc(), 2 * STEPS]);
    let tensor = |x: &[f64], n: usize| Tensor::from_slice(x, (2, n), &Device::Cpu).unwrap();
    let torques = tensor(&tau, STEPS * nv).reshape((2, STEPS, nv)).unwrap();
    let tensors = step.rollout(&tensor(&q, nq), &tensor(&v, nv), &torques).unwrap();
    for (t, own) in [(&tensors.q, &of.q), (&tensors.v, &of.v), (&tensors.force, &of.force)] {
        assert_eq!(bits(&numbers(t).unwrap()), bits(own));
    }
    // World 1 alone, step by step.
    let (mut own, mut warm) = ([q[nq..].to_vec(), v[nv..].to_vec()], Vec::new());
    for t in 0..STEPS {
        let at = (STEPS + t) * nv;
        let next = step.step_numbers(&own[0], &own[1], &tau[at..at + nv], &warm).unwrap();
        (own, warm) = ([next.q_next, next.v_next], next.warm);
        let at = (STEPS + 1) + t + 1;
        assert_eq!(bits(&of.q[at * nq..(at + 1) * nq]), bits(&own[0]));
        assert_eq!(bits(&of.v[at * nv..(at + 1) * nv]), bits(&own[1]));
    }

    let [by_q, by_v, by_force] = [&of.q, &of.v, &of.force].map(|part| weights(part.len()));
    let gradient = step.rollout_vjp(&tau, &of, [&by_q, &by_v, &by_force]).unwrap();
    let direction = weights(2 * (2 + STEPS) * nv);
    let (d_q, rest) = direction.split_at(2 * nv);
    let cost = |by: f64| {
        let start = q.chunks(nq).zip(d_q.chunks(nv));
        let start = start.flat_map(|(q, d)| manifold.plus(q, &d.iter().map(|x| by * x).collect::<Vec<_>>()).unwrap());
        let moved: Vec<f64> = v.iter().chain(&tau).zip(rest).map(|(x, d)| x + by * d).collect();
        let of = step.rollout_numbers(&start.collect::<Vec<_>>(), &moved[..2 * nv], &moved[2 * nv..], STEPS).unwrap();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(&of.q, &by_q) + dot(&of.v, &by_v) + dot(&of.force, &by_force)
    };
    let (expected, error) = slope(|by| cost(1e-2 * by));
    let tangent = manifold.to_tangent(&tensor(&q, nq), &tensor(&gradient.q, nq)).unwrap();
    let found: f64 =
        numbers(&tangent).unwrap().iter().chain(&gradient.u).zip(&direction).map(|(g, d)| 1e-2 * g * d).sum();
    assert!(error < 0.1 * EXACT * expected.abs(), "{expected} ± {error}");
    assert!((found - expected).abs() < EXACT * expected.abs(), "{found} {expected}");
    let mass = gradient.parameter("mass").unwrap();
    assert!(mass.iter().all(|x| x.is_finite()) && mass.iter().any(|x| *x != 0.0));
    assert!(step.rollout_numbers(&q, &v, &tau, 0).is_err() && step.rollout_vjp(&tau[1..], &of, [&[]; 3]).is_err());
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

/// Steps of one thread share their working memory, and where contacts are many each goes on from what the last one has
/// left there. Nobody must see that.
#[test]
fn what_ran_before_is_not_seen() {
    let mut scene = Scene::load("assets/scenes/leap_cube.toml").unwrap();
    scene.params.kappa = 1e4;
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let slippery = model.parameters.map(|name, t| if name == "mu" { t * 0.5 } else { Ok(t.clone()) }).unwrap();
    let steps = [&step, &step.with_parameters(&slippery).unwrap()];
    let mut random = Random::new(5);
    let mut batches = vec![Batch::strange(&model, 3, &mut random)];
    batches.extend([1, 5, 9, 20].map(|n| batch_of(&model, 0.02, n, &RANGES, &mut random)));
    let mut states: Vec<[Vec<f64>; 2]> =
        batches.iter().map(|batch| [&batch.q, &batch.u].map(|t| numbers(t).unwrap())).collect();
    // A world that has no numbers.
    let mut bad = states[3].clone();
    bad[0][0] = f64::NAN;
    states.push(bad);
    let warm = step.hold(&states[3][0], &states[3][1], None, 1).unwrap().warm;
    assert!(warm.dense().iter().any(|x| *x != 0.0));

    let all = |kind: usize, of: usize, state: usize| -> Vec<u64> {
        let (step, [q, u]) = (steps[of], &states[state]);
        let held = |warm, n| {
            let held = step.hold(q, u, warm, n).unwrap();
            let reports = held.reports.iter().flat_map(|report| [report.iterations as f64, report.residual]);
            [held.q, held.warm.dense().into(), held.force.dense().into(), reports.collect()].concat()
        };
        bits(&match kind {
            0 => held(None, 1),
            1 => held(None, 3),
            2 => held((state == 3).then_some(&warm), 1),
            3 => {
                let u: Vec<f64> = u.chunks(model.nu()).flat_map(|u| [u, u].concat()).collect();
                let rollout = step.rollout_numbers(q, &u, 2).unwrap();
                [rollout.q, rollout.force.dense().into()].concat()
            }
            4 => {
                let of = step.jacobians(q, u, None, true).unwrap();
                [of.a, of.b, of.forces.unwrap().lambda].concat()
            }
            _ => step.step_numbers(q, u, &[]).unwrap().phi,
        })
    };
    let alone = |kind, of, state| std::thread::scope(|scope| scope.spawn(|| all(kind, of, state)).join().unwrap());
    for n in 0..200 {
        let [kind, of, state] = [6, 2, states.len()].map(|n| random.between(0.0, n as f64) as usize);
        assert_eq!(all(kind, of, state), alone(kind, of, state), "call {n}: {kind} {of} {state}");
    }
}
