//! Steps of cubes against `tests/golden/contact_steps.json`: the problems as given, and the scenes themselves.

use fingertip::solve::qcqp::Qcqp;
use fingertip::solve::{Frictionless, Method, Status};
use fingertip::step::{Bound, ContactModel, Dynamic, DynamicParams};
use nalgebra::{DMatrix, DVector, Quaternion, UnitQuaternion};
use serde_json::Value;

use super::problems::{METHODS, SIDE, cubes, model};
use support::{apart, matrix, numbers, row, values, vector};

const TOLERANCE: f64 = 1e-8;
/// Contacts that the reference takes in.
const MARGIN: f64 = 1e-3;

fn cases() -> Vec<Value> {
    let golden: Value = serde_json::from_str(include_str!("../golden/contact_steps.json")).unwrap();
    golden["cases"].as_array().unwrap().clone()
}

#[test]
fn problems_as_given() {
    let mut deficient = 0;
    for case in cases() {
        let label = format!("{} step {}", case["label"], case["step"]);
        let jacobian = matrix(&case["J"]);
        let bounds = DVector::zeros(jacobian.nrows());
        let problem = Frictionless::new(matrix(&case["M"]), vector(&case["v_free"]), jacobian, bounds).unwrap();
        let rank = problem.delassus().unwrap().matrix.rank(1e-9) as u64;
        assert_eq!(rank, case["rank"].as_u64().unwrap(), "{label}");
        deficient += usize::from((rank as usize) < problem.nc());
        for method in METHODS {
            let impact = problem.solve(method);
            assert_eq!(impact.status, Status::Solved, "{label}, {method:?}: residual {:e}", impact.residual);
            let error = apart(impact.v_next.as_slice(), &values(&case["v_next"]));
            assert!(error < TOLERANCE, "{label}, {method:?}: v₊ off by {error:e}");
            if case["unique"].as_bool().unwrap() {
                let error = apart(impact.impulse.as_slice(), &values(&case["impulse"]));
                assert!(error < TOLERANCE, "{label}, {method:?}: impulses off by {error:e}");
            }
        }
    }
    assert!(deficient > 5);
}

/// The scenes where only corner spheres and the floor meet. Pinocchio's tangent to ours is T = blkdiag(R, R, …). Its
/// free velocity differs from v + h g, so that v is chosen for ours to be the same.
#[test]
fn scenes_of_corners() {
    let mut checked = 0;
    for case in
        cases().into_iter().filter(|c| ["3cubes_corners", "flat_cube_corners"].contains(&c["label"].as_str().unwrap()))
    {
        let label = format!("{} step {}", case["label"], case["step"]);
        let (theirs, h) = (vector(&case["q"]), case["h"].as_f64().unwrap());
        let n = theirs.len() / 7;
        let mut scene = cubes(&vec![SIDE; n]);
        scene.params.h = h;
        let model = model(&scene);
        let mut turn = DMatrix::zeros(6 * n, 6 * n);
        let mut q = Vec::new();
        for k in 0..n {
            let [x, y, z, i, j, l, w] = std::array::from_fn(|c| theirs[7 * k + c]);
            q.extend([x, y, z, w, i, j, l]);
            let rotation = UnitQuaternion::from_quaternion(Quaternion::new(w, i, j, l)).to_rotation_matrix();
            for part in 0..2 {
                turn.view_mut((6 * k + 3 * part, 6 * k + 3 * part), (3, 3)).copy_from(rotation.matrix());
            }
        }
        let mut v = &turn * vector(&case["v_free"]);
        (0..n).for_each(|k| v[6 * k + 2] += 9.81 * h);
        let expected = &turn * vector(&case["v_next"]);
        for method in METHODS {
            let params = DynamicParams {
                contact: ContactModel::Rigid(method),
                bound: Bound::Velocity { margin: MARGIN },
                ..DynamicParams::default()
            };
            let step = Dynamic::new(&model, &model.parameters, params).unwrap();
            let next = step.step(&row(&q), &row(v.as_slice()), &row(&vec![0.0; 6 * n])).unwrap();
            assert_eq!(next.reports[0].status, Status::Solved, "{label}, {method:?}");
            let mut near: Vec<f64> = numbers(&next.contacts.phi).into_iter().filter(|&phi| phi <= MARGIN).collect();
            let mut wanted = vector(&case["distances"]).as_slice().to_vec();
            near.sort_by(f64::total_cmp);
            wanted.sort_by(f64::total_cmp);
            assert!(apart(&near, &wanted) < TOLERANCE, "{label}: {near:?} {wanted:?}");
            let error = apart(&numbers(&next.v_next), expected.as_slice());
            assert!(error < TOLERANCE, "{label}, {method:?}: v₊ off by {error:e}");
            let force: f64 = numbers(&next.force).iter().skip(2).step_by(3).sum();
            let impulse: f64 = vector(&case["impulse"]).sum();
            assert!((force * h - impulse).abs() < TOLERANCE, "{label}: {} {impulse}", force * h);
            checked += 1;
        }
    }
    assert_eq!(checked, 5 * METHODS.len());
}

/// A scene's own problem: its solution is the step, and passes the QCQP.
#[test]
fn a_scene_as_qcqp() {
    let scene = cubes(&[SIDE, 0.3]);
    let model = model(&scene);
    let params = DynamicParams { contact: ContactModel::Rigid(Method::Lemke), ..DynamicParams::default() };
    let step = Dynamic::new(&model, &model.parameters, params).unwrap();
    let turned = [0.97, 0.2, 0.1, 0.05_f64];
    let norm = turned.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut q = vec![0.0, 0.0, 0.1001, 1.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.183];
    q.extend(turned.map(|x| x / norm));
    let v = row(&[0.1, 0.0, -0.3, 0.0, 0.2, 0.1, 0.0, 0.2, -0.9, 0.4, 0.0, -0.3]);
    let tau = v.zeros_like().unwrap();
    let next = step.step(&row(&q), &v, &tau).unwrap();
    let contact = step.rigid_contact(&row(&q), &v, &tau).unwrap().remove(0).unwrap();
    assert_eq!(contact.contacts.len(), model.nc());
    let impact = contact.problem.solve(Method::DualQp);
    assert!(apart(impact.v_next.as_slice(), &numbers(&next.v_next)) < 1e-9);
    let x: Vec<f64> = impact.v_next.iter().chain(impact.impulse.iter()).copied().collect();
    let mut x = DVector::from_vec(x);
    let qcqp = Qcqp::of_velocities(&contact.problem);
    assert!(impact.impulse.max() > 0.1, "something must touch");
    assert!(qcqp.violations(&x, 1e-9).unwrap().is_empty());
    x[2] += 1e-3;
    assert!(!qcqp.violations(&x, 1e-9).unwrap().is_empty());
}

/// Dropped by 5 cm, a cube stands for 10 s at the height where its corners touch, and its contacts carry its weight.
#[test]
fn a_dropped_cube_stands() {
    let mut scene = cubes(&[SIDE]);
    scene.params.h = 5e-3;
    let model = model(&scene);
    for method in [Method::Lemke, Method::PrimalQp] {
        let params = DynamicParams { contact: ContactModel::Rigid(method), ..DynamicParams::default() };
        let step = Dynamic::new(&model, &model.parameters, params).unwrap();
        let mut q = row(&[0.0, 0.0, 0.15, 1.0, 0.0, 0.0, 0.0]);
        let mut v = row(&[0.0; 6]);
        let mut lowest = f64::INFINITY;
        for k in 0..2000 {
            let next = step.step(&q, &v, &v.zeros_like().unwrap()).unwrap();
            assert_eq!(next.reports[0].status, Status::Solved, "{method:?} step {k}");
            (q, v) = (next.q_next, next.v_next);
            lowest = lowest.min(numbers(&q)[2]);
            if k > 30 {
                let weight: f64 = numbers(&next.force).iter().skip(2).step_by(3).sum();
                assert!((weight - 9.81).abs() < 1e-8, "{method:?} step {k}: {weight} N");
            }
        }
        assert!((lowest - 0.1).abs() < 1e-10 && (numbers(&q)[2] - 0.1).abs() < 1e-10, "{method:?}: {lowest}");
        assert!(numbers(&v).iter().all(|x| x.abs() < 1e-10));
    }
}
