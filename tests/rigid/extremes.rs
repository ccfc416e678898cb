//! Numbers up to the largest that there are: every answer is finite, and a status says what the residual says.

use candle_core::Tensor;
use fingertip::Model;
use fingertip::solve::lcp::Lcp;
use fingertip::solve::{Frictionless, Impact, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams, DynamicStep};
use nalgebra::{DMatrix, DVector};
use rand::RngExt;

use super::problems::{METHODS, SIDE, cubes, model, random, rng};
use support::{numbers, row};

/// A status is a residual below 1e-9 of the problem's largest velocity. Here it is computed another way round.
const SOLVED: f64 = 1e-8;

fn all_finite(what: &str, values: &[f64]) {
    assert!(values.iter().all(|x| x.is_finite()), "{what}: {values:?}");
}

/// How far v₊ and Λ are from M (v₊ − v_f) = JᵀΛ + Λ_dry, J v₊ ≥ l ⟂ Λ ≥ 0, each relative to its own largest number.
/// Sums are of numbers over `scale`, so that they do not overflow.
fn residual(problem: &Frictionless, impact: &Impact, scale: f64) -> f64 {
    let over = |v: &DVector<f64>| v.map(|x| x / scale);
    let (v, free, bounds) = (over(&impact.v_next), over(problem.v_free()), over(problem.bounds()));
    let (impulse, dry) = (over(&impact.impulse), over(&impact.dry_impulse));
    let push = problem.jacobian().transpose() * &impulse + &dry;
    let balance = problem.mass() * (&v - &free) - &push;
    let size = (problem.mass() * &free).amax().max((problem.mass() * &v).amax());
    let mut worst = vec![balance.amax() / size.max(f64::MIN_POSITIVE)];
    let slack = problem.jacobian() * &v - &bounds;
    let speed = (problem.jacobian() * &free).amax().max(bounds.amax()).max(f64::MIN_POSITIVE);
    worst.extend(slack.iter().map(|w| -w / speed));
    let most = push.amax().max(f64::MIN_POSITIVE);
    worst.extend(slack.iter().zip(impulse.iter()).map(|(w, p)| w.abs().min(speed) / speed * (p / most)));
    worst.into_iter().fold(0.0, |m, x| if m.is_nan() || m >= x { m } else { x })
}

#[test]
fn problems_of_any_size() {
    let mut solved = [0; METHODS.len()];
    for seed in 0..60 {
        let mut rng = rng(1000 + seed);
        let base = random(6, 1 + seed as usize % 4, seed as usize % 3, false, seed);
        let scale = 10.0_f64.powf(rng.random_range(-320.0..308.0));
        let heavy = if seed % 2 == 0 { 1.0 } else { 10.0_f64.powf(rng.random_range(-150.0..150.0)) };
        let problem = Frictionless::new(
            base.mass() * heavy,
            base.v_free() * scale,
            base.jacobian().clone(),
            base.bounds() * scale,
        )
        .unwrap();
        let dry = DVector::from_element(6, if seed % 5 == 0 { 0.1 * scale } else { 0.0 });
        let problem = problem.with_dry_friction(dry).unwrap();
        for (k, method) in METHODS.into_iter().enumerate() {
            let what = format!("seed {seed}, {method:?}, scale {scale:e}, mass {heavy:e}");
            let impact = problem.solve(method);
            all_finite(&what, impact.v_next.as_slice());
            all_finite(&what, impact.impulse.as_slice());
            all_finite(&what, impact.dry_impulse.as_slice());
            all_finite(&what, &[impact.residual]);
            if impact.status == Status::Solved && scale > 1e-290 && seed % 5 != 0 {
                solved[k] += 1;
                let residual = residual(&problem, &impact, scale);
                assert!(residual < SOLVED, "{what}: {residual:e}");
            }
        }
    }
    println!("solved: {solved:?}");
    assert!(solved.iter().all(|&n| n > 25), "{solved:?}");
}

#[test]
fn complementarity_of_any_size() {
    for seed in 0..200 {
        let mut rng = rng(seed);
        let n = rng.random_range(1..6);
        let mut number = || rng.random_range(-1.0..1.0) * 10.0_f64.powf(rng.random_range(-308.0..308.5));
        let problem = Lcp::new(DMatrix::from_fn(n, n, |_, _| number()), DVector::from_fn(n, |_, _| number())).unwrap();
        for solution in [problem.lemke(100), problem.gauss_seidel(100)] {
            all_finite(&format!("seed {seed}: {solution:?}"), solution.z.as_slice());
            all_finite(&format!("seed {seed}: {solution:?}"), solution.w.as_slice());
            all_finite(&format!("seed {seed}: {solution:?}"), &[solution.residual]);
        }
    }
}

fn check(what: &str, next: &DynamicStep) {
    let contacts = &next.contacts;
    let tensors: [(&str, &Tensor); 8] = [
        ("q₊", &next.q_next),
        ("v₊", &next.v_next),
        ("force", &next.force),
        ("limit force", &next.limit_force),
        ("φ", &contacts.phi),
        ("normal", &contacts.normal),
        ("point on A", &contacts.point_a),
        ("point on B", &contacts.point_b),
    ];
    for (name, tensor) in tensors {
        all_finite(&format!("{what}: {name}"), &numbers(tensor));
    }
    next.reports.iter().for_each(|report| all_finite(what, &[report.residual]));
}

fn steps(model: &Model) -> Vec<Dynamic> {
    let contacts = METHODS.into_iter().map(ContactModel::Rigid).chain([ContactModel::Barrier]);
    let params = contacts.map(|contact| DynamicParams { contact, ..DynamicParams::default() });
    params.map(|params| Dynamic::new(model, &model.parameters, params).unwrap()).collect()
}

/// What the issue found: |τ| ≥ 1e300 and v ≥ 1e154 gave NaN as solved.
#[test]
fn large_forces_and_velocities() {
    let model = model(&cubes(&[SIDE]));
    let q = row(&[0.0, 0.0, 0.101, 1.0, 0.0, 0.0, 0.0]);
    for step in steps(&model) {
        for size in [1e100, 1e153, 1e154, 1e160, 1e200, 1e300, 1e305, 1.7e308] {
            for k in 0..6 {
                for sign in [-1.0, 1.0] {
                    let mut numbers = [0.0; 6];
                    numbers[k] = sign * size;
                    let (rest, large) = (row(&[0.0; 6]), row(&numbers));
                    check(&format!("τ[{k}] = {sign}{size:e}"), &step.step(&q, &rest, &large).unwrap());
                    check(&format!("v[{k}] = {sign}{size:e}"), &step.step(&q, &large, &rest).unwrap());
                }
            }
        }
    }
}

/// Random worlds beside a sound one, whose bits they leave alone.
#[test]
fn hostile_worlds_beside_a_sound_one() {
    let model = model(&cubes(&[SIDE, 0.3]));
    let home = numbers(&model.home(1).unwrap());
    let mut rng = rng(7);
    let mut hostile = |n: usize, around: Option<&[f64]>| -> Vec<f64> {
        let number = |i: usize| {
            let ordinary = around.map_or(0.0, |values| values[i]) + rng.random_range(-0.1..0.1);
            match rng.random_range(0..8) {
                0 => rng.random_range(-1.0..1.0) * 10.0_f64.powf(rng.random_range(-320.0..308.0)),
                1 if rng.random_range(0..10) == 0 => [f64::NAN, f64::INFINITY, 0.0, 5e-324][rng.random_range(0..4)],
                _ => ordinary,
            }
        };
        (0..n).map(number).collect()
    };
    let sound = [home.clone(), vec![0.1; 12], vec![0.2; 12]];
    let worlds: Vec<[Vec<f64>; 3]> =
        (0..150).map(|_| [hostile(14, Some(&home)), hostile(12, None), hostile(12, None)]).collect();
    let batch = |k: usize| {
        let rows: Vec<&[f64]> = worlds.iter().map(|world| &world[k][..]).chain([&sound[k][..]]).collect();
        model.tensor(&rows).unwrap()
    };
    for step in steps(&model) {
        let next = step.step(&batch(0), &batch(1), &batch(2)).unwrap();
        check("batch", &next);
        let alone = step.step(&row(&sound[0]), &row(&sound[1]), &row(&sound[2])).unwrap();
        let last = numbers(&next.q_next)[14 * worlds.len()..].to_vec();
        assert_eq!(last.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), {
            numbers(&alone.q_next).iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        });
        assert_eq!(next.reports[worlds.len()], alone.reports[0]);
        let bad = next.reports.iter().filter(|report| report.status == Status::BadInput).count();
        assert!(bad > 20, "{bad} of {} worlds cannot be used", worlds.len());
    }
}
