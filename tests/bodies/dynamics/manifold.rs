//! The configuration manifold: steps, their inverse, random points.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::description::{Freedom, Object, Scene, Shape};
use fingertip::dynamics::FrameMotion;
use fingertip::kinematics::{FrameSpec, Tree};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use support::robots::{assert_close, manifold, random, states, zoo};
use support::{largest, numbers, row};

/// Rounding of a few operations on numbers of order one.
const ROUNDING: f64 = 1e-14;

fn body() -> Tree {
    let ball = Object::rigid("ball", Shape::Sphere { radius: 0.1 }, 1.0).with_freedom(Freedom::Free);
    Tree::new(&Scene::new().object(ball)).unwrap()
}

#[test]
fn difference_undoes_integrate() {
    for mimic in [false, true] {
        let tree = zoo(mimic);
        let m = manifold(&tree);
        let [q, dq, _] = states(&tree, 64, 17);
        for scale in [1.0, 1e-3, 1e-9, 0.0] {
            let dq = (&dq * scale).unwrap();
            let next = m.integrate(&q, &dq).unwrap();
            let back = m.difference(&q, &next).unwrap();
            let worst = largest(numbers(&(back - dq).unwrap()));
            assert!(worst < ROUNDING, "{worst}");
        }
    }
}

#[test]
fn a_step_turns_from_the_left_as_nalgebra_does() {
    let m = manifold(&body());
    for angle in [1e-9, 1e-4, 0.3, 0.51, 2.0, 3.1, 6.0] {
        let axis = Vector3::new(0.36, -0.48, 0.8) * angle;
        let q = UnitQuaternion::from_quaternion(Quaternion::new(0.3, -0.4, 0.5, 0.7));
        let from = row(&[1.0, 2.0, 3.0, 2.0 * q.w, 2.0 * q.i, 2.0 * q.j, 2.0 * q.k]);
        let next = numbers(&m.integrate(&from, &row(&[0.1, 0.2, 0.3, axis.x, axis.y, axis.z])).unwrap());
        let turned = UnitQuaternion::from_scaled_axis(axis) * q;
        assert_close(&next, &[1.1, 2.2, 3.3, turned.w, turned.i, turned.j, turned.k], ROUNDING, "q ⊕ δ");
    }
}

/// Gradients against differences at angles from nothing to nearly π, where series and closed forms meet as well.
#[test]
fn gradients_hold_at_every_angle() {
    let m = manifold(&body());
    let axis = [0.36, -0.48, 0.8];
    for angle in [0.0, 1e-12, 1e-5, 0.1, 0.2002, 0.4999, 0.5001, 1.0, 3.0, 3.13] {
        let q = [0.1, 0.2, 0.3, 0.6, -0.8, 1.0, 1.4];
        let dq = [0.5, -0.6, 0.7, axis[0] * angle, axis[1] * angle, axis[2] * angle];
        let next = numbers(&m.integrate(&row(&q), &row(&dq)).unwrap());
        type Map<'a> = &'a dyn Fn(&Tensor, &Tensor) -> Tensor;
        let maps: [(&[f64], &[f64], Map); 2] =
            [(&q, &dq, &|a, b| m.integrate(a, b).unwrap()), (&q, &next, &|a, b| m.difference(a, b).unwrap())];
        for (a, b, f) in maps {
            let (va, vb) = (Var::from_tensor(&row(a)).unwrap(), Var::from_tensor(&row(b)).unwrap());
            let y = f(va.as_tensor(), vb.as_tensor());
            let weights = random(y.dims2().unwrap(), 4);
            let grads = (y * &weights).unwrap().sum_all().unwrap().backward().unwrap();
            let loss = |a: &[f64], b: &[f64]| -> f64 {
                (f(&row(a), &row(b)) * &weights).unwrap().sum_all().unwrap().to_scalar().unwrap()
            };
            let h = 1e-6;
            let difference = |x: &[f64], loss: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
                let at = |i: usize, h: f64| {
                    let mut x = x.to_vec();
                    x[i] += h;
                    loss(&x)
                };
                (0..x.len()).map(|i| (at(i, h) - at(i, -h)) / (2.0 * h)).collect()
            };
            let found = numbers(grads.get(&va).unwrap());
            assert_close(&found, &difference(a, &|a| loss(a, b)), 1e-7, &format!("first operand at angle {angle}"));
            let found = numbers(grads.get(&vb).unwrap());
            assert_close(&found, &difference(b, &|b| loss(a, b)), 1e-7, &format!("second operand at angle {angle}"));
        }
    }
}

#[test]
fn half_a_turn_and_opposite_quaternions() {
    let m = manifold(&body());
    let from = row(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    let half = Var::from_tensor(&row(&[0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.8])).unwrap();
    let dq = m.difference(&from, half.as_tensor()).unwrap();
    let angle = numbers(&dq)[3..].iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((angle - std::f64::consts::PI).abs() < ROUNDING);
    let grads = dq.sum_all().unwrap().backward().unwrap();
    assert!(numbers(grads.get(&half).unwrap()).iter().all(|x| x.is_finite()));
    let same = m.difference(&from, &row(&[0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0])).unwrap();
    assert_eq!(numbers(&same).iter().map(|x| x.abs()).collect::<Vec<_>>(), [0.0; 6]);
}

#[test]
fn random_configurations_keep_limits_and_units_and_depend_on_their_index_only() {
    let tree = zoo(true);
    let m = manifold(&tree);
    let many = m.random(200, 5, DType::F64, &Device::Cpu).unwrap();
    let few = m.random(3, 5, DType::F64, &Device::Cpu).unwrap();
    assert_eq!(numbers(&many)[..3 * tree.nq], numbers(&few));
    assert_ne!(numbers(&few), numbers(&m.random(3, 6, DType::F64, &Device::Cpu).unwrap()));
    let mut spread = (f64::INFINITY, f64::NEG_INFINITY);
    for q in numbers(&many).chunks(tree.nq) {
        for c in &tree.coordinates {
            if let Some(limits) = c.limits {
                assert!((limits.lower..=limits.upper).contains(&q[c.q]));
                spread = (spread.0.min(q[c.q]), spread.1.max(q[c.q]));
            }
            if let Some(at) = c.kind.quaternion() {
                let norm = q[c.q + at..c.q + at + 4].iter().map(|x| x * x).sum::<f64>();
                assert!((norm - 1.0).abs() < ROUNDING);
            }
        }
    }
    assert!(spread.0 < -1.4 && spread.1 > 1.4);
    // Uniform rotations: each squared component has mean 1/4; 200 samples leave 0.02.
    let quaternions = many.narrow(1, 3, 4).unwrap().sqr().unwrap().mean(0).unwrap();
    assert!(numbers(&quaternions).iter().all(|x| (x - 0.25).abs() < 0.06));
    let neutral = numbers(&m.neutral(DType::F64, &Device::Cpu).unwrap());
    assert_eq!(
        neutral.iter().sum::<f64>(),
        tree.coordinates.iter().filter(|c| c.kind.quaternion().is_some()).count() as f64
    );
}

/// The direction counts, not the length: squares of 1e-170 vanish, those of 1e170 overflow.
#[test]
fn quaternions_of_any_length() {
    let m = manifold(&body());
    let motion = FrameMotion::new(&body(), &[FrameSpec::of_body(1)], DType::F64, &Device::Cpu).unwrap();
    let direction = [0.3, -0.4, 0.5, 0.7];
    let at = |length: f64| row(&[[0.1, 0.2, 0.3].as_slice(), &direction.map(|x| x * length)].concat());
    let dq = row(&[0.5, -0.6, 0.7, 0.2, 0.3, -0.9]);
    let (one, gradient) = (at(1.0), random((1, 7), 3));
    let pose = |q: &Tensor| numbers(&motion.frames(q).unwrap().poses);
    // A subnormal number has lost digits of the direction.
    for (length, tolerance) in [1e-310, 1e-300, 1e-200, 1e-170, 1e-30, 1e-9, 1e9, 1e30, 1e170, 1e307]
        .map(|l| (l, if l < 1e-305 { 1e-2 } else { ROUNDING }))
    {
        let q = at(length);
        let what = format!("length {length:e}");
        let same = |f: &dyn Fn(&Tensor) -> Vec<f64>| assert_close(&f(&q), &f(&one), tolerance, &what);
        same(&|q| numbers(&m.integrate(q, &dq).unwrap()));
        same(&|q| numbers(&m.difference(&row(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), q).unwrap()));
        same(&|q| pose(q));
        if length >= 1e-300 {
            let tangent = m.to_tangent(&q, &gradient).unwrap();
            let back = numbers(&m.from_tangent(&q, &tangent).unwrap());
            // What was along the quaternion is gone.
            let along: f64 = (0..4).map(|k| direction[k] * numbers(&gradient)[3 + k]).sum::<f64>() / 0.99;
            let expected: Vec<f64> =
                (0..7).map(|k| numbers(&gradient)[k] - if k < 3 { 0.0 } else { along * direction[k - 3] }).collect();
            assert_close(&back, &expected, ROUNDING, &what);
            let var = Var::from_tensor(&q).unwrap();
            let grads = m.integrate(var.as_tensor(), &dq).unwrap().sum_all().unwrap().backward().unwrap();
            let unit = Var::from_tensor(&one).unwrap();
            let expected = m.integrate(unit.as_tensor(), &dq).unwrap().sum_all().unwrap().backward().unwrap();
            let [found, expected] = [numbers(grads.get(&var).unwrap()), numbers(expected.get(&unit).unwrap())];
            let scaled: Vec<f64> = found[3..].iter().map(|x| x * length).collect();
            assert_close(&scaled, &expected[3..], 1e-13, &what);
        }
    }
}

/// A turn by so many radians that its end means nothing is still a rotation.
#[test]
fn turns_of_any_length() {
    let m = manifold(&body());
    let q = row(&[0.1, 0.2, 0.3, 0.3, -0.4, 0.5, 0.7]);
    for size in [1e10, 1e15, 1e100, 1e154, 1e160, 1e300, f64::MAX] {
        for omega in [[size, 0.0, 0.0], [size, -size, size], [0.0, 1.0, -size]] {
            let dq = Var::from_tensor(&row(&[[0.0; 3], omega].concat())).unwrap();
            let next = m.integrate(&q, dq.as_tensor()).unwrap();
            let length = numbers(&next)[3..].iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!((length - 1.0).abs() < ROUNDING, "{omega:?}: {length}");
            let grads = next.sum_all().unwrap().backward().unwrap();
            assert!(numbers(grads.get(&dq).unwrap()).iter().all(|x| x.is_finite()), "{omega:?}");
        }
    }
    let lost = m.integrate(&q, &row(&[0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0])).unwrap();
    assert!(numbers(&lost)[3..].iter().all(|x| x.is_nan()), "what is no number stays none");
}

#[test]
fn misuse_says_what_was_expected() {
    let disc = Object::rigid("disc", Shape::Sphere { radius: 0.1 }, 1.0).with_freedom(Freedom::Planar);
    for tree in [body(), Tree::new(&Scene::new().object(disc)).unwrap()] {
        let m = manifold(&tree);
        let (nq, nv) = (tree.nq, tree.nv);
        let zeros = |rows: usize, n: usize, dtype: DType| Tensor::zeros((rows, n), dtype, &Device::Cpu).unwrap();
        let some = |rows: usize, n: usize| zeros(rows, n, DType::F64);
        for (result, expected) in [
            (
                m.integrate(&some(2, nq + 1), &some(2, nv)),
                format!("q: expected shape (1 or B, {nq}), got [2, {}]", nq + 1),
            ),
            (m.integrate(&some(2, nq), &some(2, nv + 1)), format!("delta: expected shape (2, {nv}) or (1, {nv}), got")),
            (
                m.integrate(&some(2, nq), &some(3, nv)),
                format!("delta: expected shape (2, {nv}) or (1, {nv}), got [3, {nv}]"),
            ),
            (m.integrate(&some(2, nq), &zeros(2, nv, DType::F32)), "delta: expected F64, as q is, got F32".into()),
            (
                m.integrate(&zeros(2, nq, DType::U32), &zeros(2, nv, DType::U32)),
                "q: expected f32 or f64, got U32".into(),
            ),
            (m.difference(&some(1, nq), &some(2, nv + 3)), format!("to: expected shape (1 or B, {nq})")),
            (m.to_tangent(&some(1, nq), &some(1, nq + 2)), format!("gradient: expected shape (1 or B, {nq})")),
            (m.to_tangent(&some(1, nq - 1), &some(1, nq)), format!("q: expected shape (1 or B, {nq})")),
            (m.from_tangent(&some(1, nq), &some(1, nv + 1)), format!("gradient: expected shape (1 or B, {nv})")),
            (m.from_tangent(&some(1, nq), &some(1, nv).flatten_all().unwrap()), "gradient: expected shape".into()),
        ] {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(&expected), "{message}: {expected}");
        }
        assert_eq!(m.integrate(&some(1, nq), &some(3, nv)).unwrap().dims(), [3, nq]);
    }
}
