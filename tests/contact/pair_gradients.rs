//! Derivatives of signed distances, normals and witness points of shape pairs: against central differences under rigid
//! motion and in sizes, against the contact Jacobian, and finite in every degenerate place.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::contact::pair::{PairFunction, Shapes};
use support::numbers;
use support::pairs::*;

/// Central differences with this step err by its square times third derivatives (about 1e3 here, up to 1e6 close to
/// the cores) and by rounding over the step.
const STEP: f64 = 1e-5;
/// Relative to 1 + |derivative|: the sum of both errors above.
const DIFFERENCE: f64 = 1e-6;
/// The derivative of φ and the Jacobian are the same numbers by different ways: rounding over the smallest distances
/// between cores in these samples.
const ROUNDING: f64 = 1e-9;

type Row = [f64; COORDINATES];

/// Rows of d(φ, n, p_A, p_B of each contact)/d(coordinates), all in one backward pass over as many copies of the state.
fn derivatives((a, b): &(Body, Body), dtype: DType) -> Vec<Row> {
    let function = PairFunction::find(&a.shape, &b.shape).unwrap();
    let n_rows = 10 * function.contacts();
    let variable = |values: &[f64]| {
        let rows: Vec<f64> = std::iter::repeat_n(values, n_rows).flatten().copied().collect();
        let rows = Tensor::from_vec(rows, (n_rows, 1, values.len()), &Device::Cpu).unwrap();
        Var::from_tensor(&rows.to_dtype(dtype).unwrap()).unwrap()
    };
    let (pose_a, size_a, pose_b, size_b) = (variable(&a.pose), variable(&a.size), variable(&b.pose), variable(&b.size));
    let shapes = |pose: &Var, size: &Var| Shapes { pose: pose.as_tensor().clone(), size: size.as_tensor().clone() };
    let w = function.witness(&shapes(&pose_a, &size_a), &shapes(&pose_b, &size_b)).unwrap();
    let all = Tensor::cat(&[&w.phi.unsqueeze(2).unwrap(), &w.normal, &w.point_a, &w.point_b], 2).unwrap();
    let all = all.reshape((n_rows, n_rows)).unwrap();
    let seed = Tensor::eye(n_rows, dtype, &Device::Cpu).unwrap();
    let grads = (all * seed).unwrap().sum_all().unwrap().backward().unwrap();
    let rows = |v: &Var| -> Vec<Vec<f64>> {
        grads.get(v).map_or_else(
            || vec![vec![0.0; v.dim(2).unwrap()]; n_rows],
            |g| g.squeeze(1).unwrap().to_dtype(DType::F64).unwrap().to_vec2().unwrap(),
        )
    };
    let (pose_a, size_a, pose_b, size_b) = (rows(&pose_a), rows(&size_a), rows(&pose_b), rows(&size_b));
    let tangent = |body: &Body, g: &[f64]| -> [f64; 6] {
        let part = |k: usize| [g[3 * k], g[3 * k + 1], g[3 * k + 2]];
        let mut omega = [0.0; 3];
        for k in 0..3 {
            omega = add(omega, 1.0, cross(body.axis(k), part(k + 1)));
        }
        [g[0], g[1], g[2], omega[0], omega[1], omega[2]]
    };
    (0..n_rows)
        .map(|r| {
            let mut row = [0.0; COORDINATES];
            row[..6].copy_from_slice(&tangent(a, &pose_a[r]));
            row[6..12].copy_from_slice(&tangent(b, &pose_b[r]));
            row[12..16].copy_from_slice(&size_a[r]);
            row[16..].copy_from_slice(&size_b[r]);
            row
        })
        .collect()
}

/// Columns of all numbers at the state moved along each coordinate by −2, −1, 0, 1, 2 steps.
fn moved_numbers(pair: &(Body, Body)) -> Vec<[Vec<f64>; 5]> {
    let states: Vec<_> = (0..COORDINATES)
        .flat_map(|k| (-2..=2).map(move |s| (k, f64::from(s) * STEP)))
        .map(|(k, step)| moved(pair, k, step))
        .collect();
    let numbers: Vec<Vec<f64>> = contacts(&states, DType::F64)
        .iter()
        .map(|contacts| contacts.iter().flat_map(Contact::numbers).collect())
        .collect();
    numbers.chunks(5).map(|five| std::array::from_fn(|i| five[i].clone())).collect()
}

#[test]
fn derivatives_are_central_differences() {
    for kinds in PAIRS {
        let mut random = Random::new(3);
        let (mut compared, mut kinks) = (0, 0);
        for _ in 0..25 {
            let pair = random.pair(kinds, 0.35);
            let rows = derivatives(&pair, DType::F64);
            for (k, numbers) in moved_numbers(&pair).iter().enumerate() {
                for (r, row) in rows.iter().enumerate() {
                    let [m2, m1, zero, p1, p2] = std::array::from_fn(|s| numbers[s][r]);
                    // Five points: fourth order, so that the step can be large against rounding.
                    let difference = (8.0 * (p1 - m1) - (p2 - m2)) / (12.0 * STEP);
                    let bend = ((p2 - 2.0 * p1 + zero).abs()).max((m2 - 2.0 * m1 + zero).abs()) / STEP;
                    if bend > 1e-2 * (1.0 + difference.abs()) {
                        kinks += 1;
                        continue;
                    }
                    compared += 1;
                    let error = (row[k] - difference).abs() / (1.0 + difference.abs());
                    assert!(
                        error < DIFFERENCE,
                        "{kinds:?} number {r} by coordinate {k}: {} against {difference}\n{pair:?}",
                        row[k]
                    );
                }
            }
        }
        assert!(kinks * 50 < compared, "{kinds:?}: {kinks} kinks among {compared}");
    }
}

#[test]
fn distance_follows_the_contact_jacobian() {
    for kinds in PAIRS {
        let mut random = Random::new(5);
        for _ in 0..60 {
            let pair = random.pair(kinds, 0.4);
            let rows = derivatives(&pair, DType::F64);
            let contacts = contacts(std::slice::from_ref(&pair), DType::F64).remove(0);
            for (i, c) in contacts.iter().enumerate() {
                let arm = |body: &Body, point: V3| cross(add(point, -1.0, body.position()), c.normal);
                let (arm_a, arm_b) = (arm(&pair.0, c.point_a), arm(&pair.1, c.point_b));
                for k in 0..3 {
                    let expected = [-c.normal[k], -arm_a[k], c.normal[k], arm_b[k]];
                    for (part, expected) in expected.iter().enumerate() {
                        let found = rows[10 * i][3 * part + k];
                        assert!((found - expected).abs() < ROUNDING, "{kinds:?} {found} {expected} {c:?}\n{pair:?}");
                    }
                }
            }
        }
    }
}

/// Several pairs in several worlds that share their sizes: each number and each gradient is the one of the pair alone,
/// pair 0's contacts first, and the gradient of a shared size is the sum over the worlds.
#[test]
fn pairs_and_worlds_do_not_mix() {
    const WORLDS: usize = 3;
    const N: usize = 4;
    for kinds in PAIRS {
        let mut random = Random::new(13);
        let shapes: Vec<_> = (0..N).map(|_| (random.shape(kinds.0), random.shape(kinds.1))).collect();
        let bodies: Vec<(Body, Body)> = (0..WORLDS * N)
            .map(|k| {
                let (mut a, mut b) = random.pair(kinds, 0.35);
                (a.size, b.size) = (shapes[k % N].0.sizes(), shapes[k % N].1.sizes());
                (a.shape, b.shape) = shapes[k % N].clone();
                (a, b)
            })
            .collect();
        let variable = |values: Vec<f64>, b: usize, k: usize| {
            Var::from_tensor(&Tensor::from_vec(values, (b, N, k), &Device::Cpu).unwrap()).unwrap()
        };
        let pose_a = variable(bodies.iter().flat_map(|p| p.0.pose).collect(), WORLDS, 12);
        let pose_b = variable(bodies.iter().flat_map(|p| p.1.pose).collect(), WORLDS, 12);
        let size_a = variable(shapes.iter().flat_map(|p| p.0.sizes()).collect(), 1, 4);
        let size_b = variable(shapes.iter().flat_map(|p| p.1.sizes()).collect(), 1, 4);
        let shapes = |pose: &Var, size: &Var| Shapes { pose: pose.as_tensor().clone(), size: size.as_tensor().clone() };
        let function = PairFunction::find(&bodies[0].0.shape, &bodies[0].1.shape).unwrap();
        let w = function.witness(&shapes(&pose_a, &size_a), &shapes(&pose_b, &size_b)).unwrap();
        let all = Tensor::cat(&[&w.phi.unsqueeze(2).unwrap(), &w.normal, &w.point_a, &w.point_b], 2).unwrap();

        let alone: Vec<f64> = contacts(&bodies, DType::F64).iter().flatten().flat_map(Contact::numbers).collect();
        assert_eq!(numbers(&all), alone, "{kinds:?}");

        let grads = all.sum_all().unwrap().backward().unwrap();
        let rows: Vec<Row> = bodies
            .iter()
            .map(|pair| {
                let rows = derivatives(pair, DType::F64);
                std::array::from_fn(|k| rows.iter().map(|row| row[k]).sum())
            })
            .collect();
        let close = |x: f64, y: f64| (x - y).abs() < ROUNDING * (1.0 + y.abs());
        let by_pose: Vec<Vec<f64>> = grads.get(&pose_a).unwrap().flatten_to(1).unwrap().to_vec2().unwrap();
        for (found, row) in by_pose.iter().zip(&rows) {
            assert!((0..3).all(|k| close(found[k], row[k])), "{kinds:?} {found:?} {row:?}");
        }
        if let Some(by_size) = grads.get(&size_a) {
            for (n, found) in by_size.squeeze(0).unwrap().to_vec2::<f64>().unwrap().iter().enumerate() {
                for k in 0..4 {
                    let sum: f64 = (0..WORLDS).map(|w| rows[w * N + n][12 + k]).sum();
                    assert!(close(found[k], sum), "{kinds:?} size {k}: {} {sum}", found[k]);
                }
            }
        }
    }
}

#[test]
fn degenerate_places_have_finite_values_and_gradients() {
    for dtype in [DType::F64, DType::F32] {
        let rounding = if dtype == DType::F64 { 1e-12 } else { 1e-6 };
        for (name, a, b, phi) in degenerate() {
            for (a, b) in [(a.clone(), b.clone()), (b, a)] {
                let pair = (a, b);
                let contacts = contacts(std::slice::from_ref(&pair), dtype).remove(0);
                let c = nearest(&contacts);
                if let Some(phi) = phi {
                    assert!((c.phi - phi).abs() < rounding, "{name}: φ = {} instead of {phi}", c.phi);
                }
                for c in contacts {
                    assert!((norm(c.normal) - 1.0).abs() < rounding, "{name}: {c:?}");
                    assert!(c.numbers().iter().all(|x| x.is_finite()), "{name}: {c:?}");
                }
                let rows = derivatives(&pair, dtype);
                assert!(rows.iter().flatten().all(|x| x.is_finite()), "{name}: {rows:?}");
                for row in rows.iter().step_by(10) {
                    assert!((norm([row[0], row[1], row[2]]) - 1.0).abs() < rounding, "{name}: ∂φ/∂x_A {row:?}");
                }
            }
        }
    }
}
