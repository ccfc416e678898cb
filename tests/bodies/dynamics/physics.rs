//! What must hold whatever the numbers are: algorithms undo each other, energy and momentum are kept, worlds are alone.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::dynamics::{Dynamics, FrameMotion, ReferenceFrame};
use fingertip::kinematics::{FrameSpec, Tree};

use support::robots::{GRAVITY, assert_close, dynamics, free_body, manifold, random, states, times, zoo};
use support::{largest, numbers, row};

/// Rounding of tens of operations.
const ALGEBRA: f64 = 1e-14;
/// Rounding times the condition number of M, up to 1e5.
const SOLVED: f64 = 1e-11;

#[test]
fn forward_dynamics_undoes_inverse_dynamics() {
    for mimic in [false, true] {
        let tree = zoo(mimic);
        let (d, [q, v, a]) = (dynamics(&tree), states(&tree, 16, 11));
        let tau = d.inverse_dynamics(&q, &v, &a).unwrap();
        assert_close(&numbers(&d.forward_dynamics(&q, &v, &tau).unwrap()), &numbers(&a), SOLVED, "a");
        let by_matrix = (times(&d.mass_matrix(&q).unwrap(), &a).unwrap() + d.bias(&q, &v).unwrap()).unwrap();
        assert_close(&numbers(&by_matrix), &numbers(&tau), ALGEBRA, "M a + b");
        let back = times(&d.inverse_mass_matrix(&q).unwrap(), &(&tau - d.bias(&q, &v).unwrap()).unwrap()).unwrap();
        assert_close(&numbers(&back), &numbers(&a), SOLVED, "M⁻¹ (τ − b)");
        let kinetic = (&v * times(&d.mass_matrix(&q).unwrap(), &v).unwrap()).unwrap().sum(1).unwrap();
        let energy = d.energy(&q, &v).unwrap().narrow(1, 0, 1).unwrap();
        assert_close(&numbers(&energy), &numbers(&(kinetic * 0.5).unwrap()), ALGEBRA, "½ vᵀ M v");
    }
}

#[test]
fn bias_and_gravity_are_inverse_dynamics_at_rest() {
    for mimic in [false, true] {
        let tree = zoo(mimic);
        let (d, [q, v, _]) = (dynamics(&tree), states(&tree, 8, 17));
        let zero = v.zeros_like().unwrap();
        let equal = |found: Result<Tensor>, expected: Result<Tensor>| {
            // Equal numbers: a zero may have another sign.
            assert_eq!(numbers(&found.unwrap()), numbers(&expected.unwrap()));
        };
        equal(d.bias(&q, &v), d.inverse_dynamics(&q, &v, &zero));
        equal(d.gravity(&q), d.inverse_dynamics(&q, &zero, &zero));
    }
}

/// v's time derivative is a, and q's is v: the bodies' motion agrees with the material points' accelerations.
#[test]
fn power_is_the_rate_of_energy() {
    const H: f64 = 1e-5;
    for mimic in [false, true] {
        let tree = zoo(mimic);
        let (d, m, [q, v, tau]) = (dynamics(&tree), manifold(&tree), states(&tree, 8, 5));
        let a = d.forward_dynamics(&q, &v, &tau).unwrap();
        let total = |h: f64| {
            // To second order in h: a half step of acceleration in the displacement.
            let dq = ((&v * h).unwrap() + (&a * (0.5 * h * h)).unwrap()).unwrap();
            let v = (&v + (&a * h).unwrap()).unwrap();
            d.energy(&m.integrate(&q, &dq).unwrap(), &v).unwrap().sum(1).unwrap()
        };
        let rate = ((total(H) - total(-H)).unwrap() / (2.0 * H)).unwrap();
        let power = (&v * &tau).unwrap().sum(1).unwrap();
        let scale = largest(numbers(&d.energy(&q, &v).unwrap()));
        for (rate, power) in numbers(&rate).iter().zip(numbers(&power)) {
            assert!((rate - power).abs() < 1e-7 * scale, "{rate} {power}");
        }
    }
}

#[test]
fn a_free_body_falls_without_turning_and_keeps_its_momentum() {
    let tree = free_body();
    let d = dynamics(&tree);
    let [q, v, _] = states(&tree, 1, 3);
    let zero = v.zeros_like().unwrap();
    let a = numbers(&d.forward_dynamics(&q, &zero, &zero).unwrap());
    assert_close(&a, &[&GRAVITY[..], &[0.0; 3]].concat(), 1e-13, "free fall");

    // Spatial momentum about the world's origin: constant without gravity (Runge–Kutta's error is far below).
    let d = d.with_gravity(&row(&[0.0; 3])).unwrap();
    let m = manifold(&tree);
    let momentum = |q: &Tensor, v: &Tensor| {
        let p = numbers(&times(&d.mass_matrix(q).unwrap(), v).unwrap());
        let x = numbers(q);
        let cross =
            |a: &[f64], b: &[f64]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
        let moment = cross(&x[..3], &p[..3]);
        [p[0], p[1], p[2], p[3] + moment[0], p[4] + moment[1], p[5] + moment[2]]
    };
    let before = momentum(&q, &v);
    let (mut q, mut v) = (q, v);
    let h = 1e-3;
    let acceleration = |q: &Tensor, v: &Tensor| d.forward_dynamics(q, v, &zero).unwrap();
    for _ in 0..500 {
        // Midpoint rule on the manifold.
        let half_v = (&v + (acceleration(&q, &v) * (0.5 * h)).unwrap()).unwrap();
        let half_q = m.integrate(&q, &(&v * (0.5 * h)).unwrap()).unwrap();
        q = m.integrate(&q, &(&half_v * h).unwrap()).unwrap();
        v = (&v + (acceleration(&half_q, &half_v) * h).unwrap()).unwrap();
    }
    // The rule's error is h² over half a second, in parts of the motion's: 1.5e-9 is seen.
    assert_close(&momentum(&q, &v), &before, 1e-8, "momentum");
}

/// Semi-implicit Euler, v first: the energy's error is proportional to the step.
#[test]
fn energy_drift_is_proportional_to_the_step() {
    let tree = zoo(true);
    let (d, m) = (dynamics(&tree), manifold(&tree));
    let [q0, v0, _] = states(&tree, 1, 21);
    let zero = v0.zeros_like().unwrap();
    let energy = |q: &Tensor, v: &Tensor| numbers(&d.energy(q, v).unwrap()).iter().sum::<f64>();
    let drift = |steps: usize| {
        let h = 0.2 / steps as f64;
        let (mut q, mut v) = (q0.clone(), v0.clone());
        for _ in 0..steps {
            v = (&v + (d.forward_dynamics(&q, &v, &zero).unwrap() * h).unwrap()).unwrap();
            q = m.integrate(&q, &(&v * h).unwrap()).unwrap();
        }
        energy(&q, &v) - energy(&q0, &v0)
    };
    let (coarse, fine) = (drift(200), drift(400));
    let ratio = coarse / fine;
    assert!((1.8..2.2).contains(&ratio), "halving the step divides the drift by {ratio}: {coarse} {fine}");
}

#[test]
fn a_world_has_the_same_bits_in_any_batch() {
    for mimic in [false, true] {
        let tree = zoo(mimic);
        let d = dynamics(&tree);
        let [q, v, x] = states(&tree, 67, 9);
        let all = |q: &Tensor, v: &Tensor, x: &Tensor| -> Vec<Tensor> {
            let forward = d.forward_dynamics_derivatives(q, v, x).unwrap();
            let inverse = d.inverse_dynamics_derivatives(q, v, x).unwrap();
            let track = candle_core::Var::from_tensor(q).unwrap();
            let a = d.forward_dynamics(track.as_tensor(), v, x).unwrap();
            let grads = (a.sqr().unwrap()).sum_all().unwrap().backward().unwrap();
            vec![
                a,
                grads.get(&track).unwrap().clone(),
                d.inverse_dynamics(q, v, x).unwrap(),
                d.mass_matrix(q).unwrap(),
                d.energy(q, v).unwrap(),
                forward.by_q,
                forward.by_v,
                forward.by_input,
                inverse.by_q,
                manifold(&tree).integrate(q, v).unwrap(),
                manifold(&tree).difference(q, &manifold(&tree).integrate(q, v).unwrap()).unwrap(),
            ]
        };
        let whole = all(&q, &v, &x);
        for (first, n) in [(0, 1), (66, 1), (5, 3), (61, 3)] {
            let of = |t: &Tensor| t.narrow(0, first, n).unwrap().contiguous().unwrap();
            for (k, (alone, whole)) in all(&of(&q), &of(&v), &of(&x)).iter().zip(&whole).enumerate() {
                let bits = |t: &Tensor| numbers(t).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(alone), bits(&of(whole)), "quantity {k} of worlds {first} to {}", first + n);
            }
        }
    }
}

#[test]
fn one_row_stands_for_all_worlds_and_f32_is_converted() {
    let tree = zoo(false);
    let d = dynamics(&tree);
    let [q, v, a] = states(&tree, 3, 2);
    let one = v.narrow(0, 0, 1).unwrap();
    let same = d.inverse_dynamics(&q, &one.repeat((3, 1)).unwrap(), &a).unwrap();
    assert_eq!(numbers(&d.inverse_dynamics(&q, &one, &a).unwrap()), numbers(&same));

    let single = Dynamics::new(&tree, GRAVITY, DType::F32, &Device::Cpu).unwrap();
    let cast = |t: &Tensor| t.to_dtype(DType::F32).unwrap();
    let tau = single.inverse_dynamics(&cast(&q), &cast(&v), &cast(&a)).unwrap();
    assert_eq!(tau.dtype(), DType::F32);
    // Rounding of the operands.
    assert_close(&numbers(&tau), &numbers(&d.inverse_dynamics(&q, &v, &a).unwrap()), 1e-6, "f32");
}

#[test]
fn misuse_says_what_was_expected() {
    let tree = zoo(false);
    let d = dynamics(&tree);
    let [q, v, a] = states(&tree, 2, 2);
    let message = |result: candle_core::Result<Tensor>| result.unwrap_err().to_string();
    assert!(message(d.inverse_dynamics(&v, &v, &a)).contains("q: expected shape"));
    assert!(message(d.inverse_dynamics(&q, &random((3, tree.nv), 1), &a)).contains("v: expected shape (2, "));
    assert!(d.clone().with_gravity(&v).unwrap_err().to_string().contains("gravity: expected shape (1 or B, 3)"));
    let double = |t: &Tensor| Tensor::cat(&[t, t], 1).unwrap();
    let single = |t: &Tensor| t.to_dtype(DType::F32).unwrap();
    let three = |n: usize| Tensor::zeros((3, n), DType::F64, &Device::Cpu).unwrap();
    for (result, expected) in [
        (d.mass_matrix(&double(&q)), "q: expected shape"),
        (d.mass_matrix(&q.flatten_all().unwrap()), "q: expected shape"),
        (d.bias(&q, &double(&v)), "v: expected shape"),
        (
            d.forward_dynamics(&q, &v, &single(&a)),
            "tau: expected F64, the type that the dynamics were made for, got F32",
        ),
        (d.mass_matrix(&single(&q)), "q: expected F64"),
        (d.mass_matrix(&q.to_dtype(DType::U32).unwrap()), "q: expected F64"),
        (
            d.clone().with_gravity(&three(3)).unwrap().bias(&q, &v),
            "gravity: expected shape (2, 3) or (1, 3), got [3, 3]",
        ),
        (d.inverse_dynamics_derivatives(&q, &v, &double(&a)).map(|d| d.value), "a: expected shape (2, "),
    ] {
        let message = message(result);
        assert!(message.contains(expected), "{message}");
    }
    let wrong = d.clone().with_inertias(&d.inertias().to_dtype(DType::F32).unwrap());
    assert!(wrong.unwrap_err().to_string().contains("inertias: expected F64"));
    let mut light = free_body();
    light.bodies[1].inertia = None;
    let light = dynamics(&light);
    let [q, v, a] = states(&free_body(), 1, 1);
    assert!(message(light.forward_dynamics(&q, &v, &a)).contains("\"free\" does not"));
    assert_eq!(numbers(&light.inverse_dynamics(&q, &v, &a).unwrap()), [0.0; 6]);
    // The joint is named, not those that carry it.
    let mut light = zoo(false);
    let tip = light.find("arm/tip").unwrap();
    light.bodies[tip].inertia = None;
    assert!(message(dynamics(&light).inverse_mass_matrix(&q)).contains("\"arm/bend\" does not"));
}

/// A frame's velocity is the rate of its pose.
#[test]
fn frame_velocities_are_rates_of_poses() {
    const H: f64 = 1e-6;
    let tree: Tree = zoo(true);
    let m = manifold(&tree);
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let bodies: Vec<FrameSpec> =
        (0..tree.bodies.len()).map(|body| FrameSpec { body, rotation: identity, xyz: [0.1, -0.2, 0.3] }).collect();
    let motion = FrameMotion::new(&tree, &bodies, DType::F64, &Device::Cpu).unwrap();
    let [q, v, _] = states(&tree, 1, 13);
    let poses = |h: f64| numbers(&motion.frames(&m.integrate(&q, &(&v * h).unwrap()).unwrap()).unwrap().poses);
    let (plus, minus) = (poses(H), poses(-H));
    for body in 0..tree.bodies.len() {
        let velocity = numbers(&motion.velocity(&q, &v, body, ReferenceFrame::LocalWorldAligned).unwrap());
        let rate: Vec<f64> = (0..12).map(|k| (plus[12 * body + k] - minus[12 * body + k]) / (2.0 * H)).collect();
        let pose = poses(0.0);
        for k in 0..3 {
            assert!((rate[k] - velocity[k]).abs() < 1e-8);
            // Columns of R turn with ω.
            let e = &pose[12 * body + 3 + 3 * k..];
            let omega = &velocity[3..];
            let turned = [
                omega[1] * e[2] - omega[2] * e[1],
                omega[2] * e[0] - omega[0] * e[2],
                omega[0] * e[1] - omega[1] * e[0],
            ];
            for i in 0..3 {
                assert!((rate[3 + 3 * k + i] - turned[i]).abs() < 1e-8);
            }
        }
    }
}
