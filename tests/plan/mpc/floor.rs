//! Steps on plain numbers against those on tensors, derivatives of control periods against differences.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::mpc::cost::{ContactForce, Objective};
use fingertip::mpc::{Command, Law, Problem, Simulator, Start};
use fingertip::step::Quasidynamic;

use super::{Random, disc, largest};
use fingertip::step::SparseRows;

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn holding_is_stepping() {
    for name in ["cube_fingertips", "leap_cube"] {
        hold_and_step(name);
    }
}

/// Contacts of the second scene are so many that those that press are listed.
fn hold_and_step(name: &str) {
    let scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let u: Vec<Vec<f64>> = (0..3).map(|k| scene.control(0.5 + 0.5 * f64::from(k))).collect();
    let rows: Vec<&[f64]> = u.iter().map(Vec::as_slice).collect();
    let (mut q, command) = (model.home(3).unwrap(), model.tensor(&rows).unwrap());
    let held = step.hold(&q.flatten_all().unwrap().to_vec1().unwrap(), &u.concat(), None, 4).unwrap();
    let program = step.as_tensor_program();
    let slow = program.hold(&q.flatten_all().unwrap().to_vec1().unwrap(), &u.concat(), None, 4).unwrap();
    let mut warm = None;
    for t in 0..4 {
        let result = step.step_from(&q, &command, warm.as_ref()).unwrap();
        for world in 0..3 {
            let expected: Vec<f64> = result.q_next.get(world).unwrap().to_vec1().unwrap();
            let n = model.nq();
            let found = &held.q[(world * 4 + t) * n..][..n];
            assert_eq!(bits(found), bits(&expected), "world {world}, step {t}");
            let program = &slow.q[(world * 4 + t) * n..][..n];
            assert_eq!(bits(found), bits(program), "world {world}, step {t}");
            let force: Vec<f64> = result.force.get(world).unwrap().flatten_all().unwrap().to_vec1().unwrap();
            let row = world * 4 + t;
            assert_eq!(bits(&held.force.rows(row..row + 1).dense()), bits(&force));
            let warm: Vec<f64> = result.warm.get(world).unwrap().to_vec1().unwrap();
            assert_eq!(bits(&held.warm.rows(row..row + 1).dense()), bits(&warm));
        }
        (q, warm) = (result.q_next, Some(result.warm));
    }
}

/// Against the geometry where the step ends: what the least gap of a pair is off by is of the second order in the
/// motion.
#[test]
fn gaps_are_those_of_the_geometry_to_first_order() {
    for name in ["cube_fingertips", "hand_turn", "allegro_capsules"] {
        let scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        // The harder the object is held in its place, the less moves.
        let error = |soft: f64| {
            let mut parameters = model.parameters.clone();
            parameters.epsilon = (&parameters.epsilon / soft.powi(2)).unwrap();
            parameters.stiffness = (&parameters.stiffness / soft.powi(2)).unwrap();
            let step = Quasidynamic::new(&model, &parameters).unwrap();
            let q = model.home(1).unwrap();
            let u = model.tensor(&[&scene.control(0.1 * soft)]).unwrap();
            let first = step.step(&q, &u).unwrap();
            let then = step.step(&first.q_next, &u).unwrap();
            let numbers = |t: &candle_core::Tensor| t.flatten_all().unwrap().to_vec1::<f64>().unwrap();
            let (gaps, phi) = (numbers(&step.gaps(&q, &first).unwrap()), numbers(&then.contacts.phi));
            assert!(gaps.iter().all(|&gap| gap > 0.0), "{name}: {gaps:?}");
            // Of each pair the deepest point's: the gap of a corner high above a side that leans from the normal also
            // changes as it moves along that.
            let least = |of: &[f64]| -> Vec<f64> {
                let mut least = vec![f64::INFINITY; model.pairs.pairs.len()];
                for (gap, &pair) in of.iter().zip(&model.pairs.pair_of_contact) {
                    least[pair] = least[pair].min(*gap);
                }
                least
            };
            let off = largest(least(&gaps).iter().zip(least(&phi)).map(|(a, b)| a - b));
            (off, largest(numbers(&first.delta)))
        };
        for soft in [1e-1, 1e-2, 1e-3] {
            let (error, moved) = error(soft);
            println!("{name}: moved by {moved:.1e}, gaps off by {error:.1e}");
            // What turns fastest is a normal, with the curvature of the smallest sphere: 1/r < 100/m. Rounding of
            // lengths below 1 m.
            assert!(error < 100.0 * moved * moved + 1e-15, "{name}: {error:e} after a motion of {moved:e}");
        }
    }
}

#[test]
fn gradients_of_gaps_agree_with_differences() {
    let scene = Scene::load("assets/scenes/cube_fingertips.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let q = Var::from_tensor(&model.home(1).unwrap()).unwrap();
    let u = Var::from_tensor(&model.tensor(&[&scene.control(0.5)]).unwrap()).unwrap();
    let weights = Random(3).vec(model.nc(), 1.0);
    let weights = model.tensor(&[&weights]).unwrap();
    let value = |q: &Tensor, u: &Tensor| {
        let gaps = step.gaps(q, &step.step(q, u).unwrap()).unwrap();
        (gaps * &weights).unwrap().sum_all().unwrap()
    };
    let gradients = value(&q, &u).backward().unwrap();
    // q's last numbers are the fingertips': what moves a quaternion apart from its sphere would change its length.
    let skip = model.nq() - model.nu();
    for (var, skip) in [(&q, skip), (&u, 0)] {
        let found = gradients.get(var).unwrap().flatten_all().unwrap().to_vec1::<f64>().unwrap();
        let at = var.flatten_all().unwrap().to_vec1::<f64>().unwrap();
        for k in skip..at.len() {
            let shifted = |by: f64| {
                let mut at = at.clone();
                at[k] += by;
                let moved = model.tensor(&[&at]).unwrap();
                let (q, u) = if skip == 0 { (q.as_tensor(), &moved) } else { (&moved, u.as_tensor()) };
                value(q, u).to_scalar::<f64>().unwrap()
            };
            let difference = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            // Gaps of 0.1 m have 17 digits, their differences 1e-11 over the step; third derivatives over 1 mm matter
            // more.
            assert!((found[k] - difference).abs() < 1e-5, "{k}: {} by {difference}", found[k]);
        }
    }
}

#[test]
fn a_warm_linearisation_is_the_cold_one() {
    let scene = Scene::load("assets/scenes/cube_fingertips.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let u = model.tensor(&[&scene.control(1.0), &scene.control(2.0)]).unwrap();
    let q = model.home(2).unwrap();
    let cold = step.linearize(&q, &u).unwrap();
    let warm = step.linearize_from(&q, &u, Some(&cold.warm)).unwrap();
    let plain = step
        .jacobians(
            &q.flatten_all().unwrap().to_vec1().unwrap(),
            &u.flatten_all().unwrap().to_vec1().unwrap(),
            Some(&SparseRows::whole(cold.warm.flatten_all().unwrap().to_vec1().unwrap(), step.n_warm())),
            true,
        )
        .unwrap();
    assert!(warm.reports[0].iterations < cold.reports[0].iterations);
    let numbers = |t: &candle_core::Tensor| t.flatten_all().unwrap().to_vec1::<f64>().unwrap();
    let lambda = numbers(&cold.lambda);
    let forces = plain.forces.unwrap();
    let all = |of: &[f64], width| forces.all(of, 2, model.n_lambda(), width);
    let found = [plain.a, plain.b, all(&forces.c, model.nv()), all(&forces.d, model.nu())];
    for ((cold, warm), plain) in
        [(&cold.a, &warm.a), (&cold.b, &warm.b), (&cold.c, &warm.c), (&cold.d, &warm.d)].into_iter().zip(found)
    {
        let (cold, warm) = (numbers(cold), numbers(warm));
        let scale = largest(cold.iter().copied());
        assert!(largest(cold.iter().zip(&warm).map(|(a, b)| a - b)) < 1e-8 * scale);
        assert_eq!(bits(&plain), bits(&warm));
    }
    assert!(
        largest(lambda.iter().zip(&all(&forces.lambda, 1)).map(|(a, b)| a - b))
            < 1e-8 * largest(lambda.iter().copied())
    );
}

/// Five steps under one command, as one map: against central differences in q and u.
#[test]
fn a_period_is_linearised() {
    let simulator = Simulator::new(&Scene::load("assets/scenes/two_fingers.toml").unwrap(), 5).unwrap();
    let (nq, nv) = (simulator.model().nq(), simulator.model().nv());
    let q = simulator.model().tree.home();
    let u: Vec<f64> = simulator.positions(&q).iter().map(|x| x * 0.9).collect();
    let held = simulator.advance(&q, &u, None).unwrap();
    let states: Vec<f64> = q.iter().chain(&held.q[..4 * nq]).copied().collect();
    let linear = simulator.linearize(&states, &u, Some(&held.warm), true).unwrap().remove(0);
    let forces = linear.forces.unwrap();
    let end = |q: &[f64], u: &[f64]| simulator.advance(q, u, None).unwrap().q[4 * nq..].to_vec();
    let h = 1e-6;
    let slope = |plus: &[f64], minus: &[f64]| -> Vec<f64> {
        simulator.minus(plus, minus).unwrap().iter().map(|x| x / (2.0 * h)).collect()
    };
    for k in 0..nv {
        let delta = |h: f64| (0..nv).map(|j| if j == k { h } else { 0.0 }).collect::<Vec<_>>();
        let moved = |h: f64| simulator.plus(&q, &delta(h)).unwrap();
        let expected = slope(&end(&moved(h), &u), &end(&moved(-h), &u));
        assert!(largest((0..nv).map(|i| linear.a[(i, k)] - expected[i])) < 1e-6, "column {k} of A");
    }
    for k in 0..u.len() {
        let moved = |h: f64| u.iter().enumerate().map(|(j, u)| if j == k { u + h } else { *u }).collect::<Vec<_>>();
        let expected = slope(&end(&q, &moved(h)), &end(&q, &moved(-h)));
        assert!(largest((0..nv).map(|i| linear.b[(i, k)] - expected[i])) < 1e-6, "column {k} of B");
    }
    // The sizes of the forces do not depend on the contacts' tangents.
    let size = |u: &[f64]| {
        let held = simulator.advance(&q, u, None).unwrap();
        let force = held.force.dense();
        force[force.len() - 3..].iter().map(|f| f * f).sum::<f64>()
    };
    assert_eq!(forces.contacts.last(), Some(&(simulator.model().nc() - 1)));
    let rows = forces.lambda.len() - 3..forces.lambda.len();
    for k in 0..u.len() {
        let moved = |h: f64| u.iter().enumerate().map(|(j, u)| if j == k { u + h } else { *u }).collect::<Vec<_>>();
        let expected = (size(&moved(h)) - size(&moved(-h))) / (2.0 * h);
        let found: f64 = rows.clone().map(|i| 2.0 * forces.lambda[i] * forces.d[(i, k)]).sum();
        assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
    }
}

/// Fifty steps in closed loop: commands follow the state, costs of all kinds.
#[test]
fn gradients_of_closed_loops_agree_with_differences() {
    let task = disc();
    let episode = task.episode(0, 0).unwrap();
    let base = task.problems(&episode).unwrap().remove(0);
    let simulator = &base.simulator;
    for law in [Law::Relative, Law::Rate, Law::Absolute(episode.start.u.clone())] {
        let problem = Problem {
            command: Command { keep_limits: false, ..Command::new(simulator, law.clone(), 1.0).unwrap() },
            objective: Objective {
                command: 0.3,
                smoothness: 0.2,
                effort: 0.1,
                forces: vec![ContactForce {
                    contacts: simulator.model().contacts_between("fingers", "disc"),
                    size: 1.0,
                    weight: 0.5,
                }],
                ..base.objective.clone()
            },
            horizon: 10,
            ..base.clone()
        };
        let mut random = Random(3);
        // The fingers close on the disc.
        let close = [-0.04, 0.01, 0.04, -0.01];
        let v: Vec<f64> = random.vec(40, 0.01).iter().enumerate().map(|(i, x)| x + close[i % 4]).collect();
        let (_, gradient) = problem.value_and_gradient(&episode.start, &v).unwrap();
        let direction = random.vec(40, 1.0);
        let at = |h: f64| {
            let v: Vec<f64> = v.iter().zip(&direction).map(|(v, d)| v + h * d).collect();
            problem.roll_given(&episode.start, &[v]).unwrap()[0].cost
        };
        let h = 1e-5;
        let expected = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let error = (found - expected).abs() / expected.abs();
        println!("{law:?}: {found} {expected} {error:e}");
        assert!(error < 1e-6, "{law:?}: {found} {expected}");
    }
}

#[test]
fn wrong_lengths_are_errors() {
    let task = disc();
    let problem = task.problems(&task.episode(0, 0).unwrap()).unwrap().remove(0);
    let start = Start::new(vec![0.0; 3], vec![0.0; 4]);
    let message = problem.roll_given(&start, &[vec![0.0; 24]]).unwrap_err().to_string();
    assert!(message.contains("expected a horizon of 1 at least, 7 numbers in q and 4 in u"), "{message}");
    let step = problem.simulator.step();
    assert!(step.hold(&[0.0; 6], &[0.0; 4], None, 1).is_err());
    assert!(step.hold(&[0.0; 7], &[0.0; 4], Some(&SparseRows::whole(vec![1.0], 1)), 1).is_err());
    assert!(step.jacobians(&[], &[], None, false).is_err());
}
