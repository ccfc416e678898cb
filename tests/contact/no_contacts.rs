//! A scene in which nothing can touch anything is a scene like any other.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Object, Robot, Scene, Shape};
use fingertip::rollout::rollout;
use fingertip::solve::{Method, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Quasidynamic, Separation};

/// An arm without collision shapes beside a ball, and the ball alone.
fn scenes() -> [Scene; 3] {
    let mut arm = Robot::from_urdf("arm", "assets/robots/planar_arm.urdf").unwrap();
    arm.articulation.links.iter_mut().for_each(|link| link.collisions.clear());
    let ball = || Object::rigid("ball", Shape::sphere(0.05), 0.3).at([1.0, 2.0, 3.0]);
    let mut limited = Scene::new().robot(arm.clone());
    limited.params.joint_limits = true;
    let mut scenes = [Scene::new().robot(arm).object(ball()), Scene::new().object(ball()), limited];
    scenes.iter_mut().for_each(|scene| (scene.params.h, scene.params.epsilon) = (0.01, 1.0));
    scenes
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dtype(DType::F64).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

fn gradient(loss: &Tensor, of: &Var) -> Vec<f64> {
    loss.backward().unwrap().get(of).map(numbers).unwrap_or_default()
}

#[test]
fn quasidynamic_steps() {
    for (k, scene) in scenes().into_iter().enumerate() {
        for dtype in [DType::F64, DType::F32] {
            let model = Model::new(&scene, dtype, &Device::Cpu).unwrap();
            assert_eq!(model.nc(), 0);
            let fused = Quasidynamic::new(&model, &model.parameters).unwrap();
            for step in [fused.as_tensor_program(), fused] {
                let what = format!("scene {k}, {dtype:?}, {:?}", step.form());
                let q = Var::from_tensor(&model.home(2).unwrap()).unwrap();
                let u = Var::from_tensor(
                    &Tensor::full(0.1, (2, model.nu()), &Device::Cpu).unwrap().to_dtype(dtype).unwrap(),
                );
                let u = u.unwrap();
                let next = step.step(&q, &u).unwrap();
                assert!(
                    next.reports.iter().all(|report| report.status == Status::Solved),
                    "{what}: {:?}",
                    next.reports
                );
                assert_eq!(next.force.dims(), [2, 0, 3], "{what}");
                assert_eq!(next.lambda().unwrap().dims(), [2, 0, 3], "{what}");
                assert_eq!(next.contacts.phi.dims(), [2, 0], "{what}");
                let contacts = &next.contacts;
                let nothing =
                    [&next.force, &next.lambda().unwrap(), &contacts.phi, &contacts.normal, &contacts.point_a];
                // That they can be read is the point: candle panics on views of nothing.
                assert!(nothing.into_iter().all(|t| numbers(t).is_empty()), "{what}");
                assert_eq!(numbers(&next.limit_force).len(), 2 * if k == 2 { 2 * model.nu() } else { 0 }, "{what}");
                assert_eq!(numbers(&next.warm).len(), numbers(&next.limit_force).len(), "{what}");
                // The joints go where they are told, the ball falls by g h²/ε.
                if k == 0 {
                    let (q, after) = (numbers(&q), numbers(&next.q_next));
                    assert!((after[2] - (q[2] - 9.81 * 1e-4)).abs() < 1e-6, "{what}: {after:?}");
                    assert!(after[7..model.nq()].iter().all(|x| (x - 0.1).abs() < 1e-6), "{what}: {after:?}");
                }
                let all = gradient(&next.q_next.sum_all().unwrap(), &q);
                assert!(all.len() == 2 * model.nq() && all.iter().all(|x| x.is_finite()), "{what}");
                let l = step.linearize(&q, &u).unwrap();
                assert_eq!(
                    (l.a.dims(), l.c.dims()),
                    (&[2, model.nv(), model.nv()][..], &[2, 0, model.nv()][..]),
                    "{what}"
                );
                assert!(numbers(&l.c).is_empty() && numbers(&l.d).is_empty(), "{what}");
                assert_eq!(step.smoothing_error(&q, &u).unwrap().dims(), [2, model.nv()], "{what}");
                let u = Tensor::zeros((2, 3, model.nu()), dtype, &Device::Cpu).unwrap();
                let path = rollout(&step, q.as_tensor(), &u).unwrap();
                assert_eq!(path.q.dims(), [2, 4, model.nq()], "{what}");
                assert!(numbers(&path.force).is_empty(), "{what}");
                assert_eq!(gradient(&path.q.sum_all().unwrap(), &q).len(), 2 * model.nq(), "{what}");
            }
        }
    }
}

#[test]
fn second_order_steps() {
    let methods = [Method::PrimalQp, Method::DualQp, Method::Lemke, Method::GaussSeidel { sweeps: 100 }];
    for scene in scenes() {
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        for contact in methods.into_iter().map(ContactModel::Rigid).chain([ContactModel::Barrier]) {
            let params = DynamicParams { contact, ..DynamicParams::default() };
            let step = Dynamic::new(&model, &model.parameters, params).unwrap();
            let zeros = Tensor::zeros((2, model.nv()), DType::F64, &Device::Cpu).unwrap();
            let v = Var::from_tensor(&zeros).unwrap();
            let next = step.step(&model.home(2).unwrap(), &v, &zeros).unwrap();
            assert!(next.reports.iter().all(|report| report.status == Status::Solved), "{contact:?}");
            assert_eq!(next.force.dims(), [2, 0, 3]);
            assert!(numbers(&next.force).is_empty() && numbers(&next.contacts.normal).is_empty());
            assert!(numbers(&next.v_next).iter().all(|x| x.is_finite()));
            if contact == ContactModel::Barrier {
                assert_eq!(gradient(&next.v_next.sum_all().unwrap(), &v).len(), 2 * model.nv());
            }
        }
        let separation = Separation::new(&model, Method::Lemke).unwrap();
        let q = model.home(1).unwrap();
        assert!(separation.separate(&q, 1e-6, 10).unwrap().separated);
    }
}
