//! Steps of bodies whose pairs have no formula of their own: boxes on boxes, ellipsoids, hulls.

#[path = "support/measure.rs"]
mod measure;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Freedom, Object, ObjectBody, Scene, Shape};
use fingertip::kinematics::Manifold;
use fingertip::rollout::rollout;
use fingertip::solve::{Method, Status};
use fingertip::step::{Contact, Dynamic, DynamicParams, Form, Quasidynamic};

use measure::{larger, largest, numbers};

/// Rounding through a step's solve.
const SAME: f64 = 1e-9;
/// Central differences of a solve that stops at 1e-10, by steps of 1e-5, relative to a gradient's size.
const DIFFERENCE: f64 = 1e-5;
const STEP: f64 = 1e-5;
/// Single precision through a step.
const SINGLE: f64 = 1e-3;

fn apart(a: &Tensor, b: &Tensor) -> f64 {
    measure::apart(&numbers(a), &numbers(b))
}

/// Three cubes of 0.2 m on each other on the floor do not sink by 0.1 mm, drift or turn in ten seconds.
#[test]
fn stack_of_cubes_stands() -> Result<()> {
    let mut scene = Scene::new();
    scene.params.h = 5e-3;
    for k in 0..3 {
        let cube = Object::rigid(format!("cube{k}"), Shape::cuboid([0.1; 3]), 1.0);
        scene = scene.object(cube.at([0.0, 0.0, 0.1 + 0.2 * f64::from(k)]));
    }
    let model = Model::new(&scene.object(Object::ground("floor", 0.0)), DType::F64, &Device::Cpu)?;
    let params = DynamicParams { contact: Contact::Rigid(Method::PrimalQp), ..DynamicParams::default() };
    let step = Dynamic::new(&model, &model.parameters, params)?;
    let home = model.home(1)?;
    let (mut q, mut v) = (home.clone(), Tensor::zeros((1, 18), DType::F64, &Device::Cpu)?);
    let tau = v.clone();
    for _ in 0..2000 {
        let next = step.step(&q, &v, &tau)?;
        assert_eq!(next.reports[0].status, Status::Solved);
        (q, v) = (next.q_next, next.v_next);
    }
    let moved = apart(&q, &home);
    assert!(moved < 1e-4, "moved by {moved:e}");
    Ok(())
}

/// The hand and the ball, where the ball is an ellipsoid of equal radii.
#[test]
fn round_ellipsoid_is_a_ball() -> Result<()> {
    let ball = Scene::load("assets/scenes/hand_ball.toml")?;
    let mut egg = ball.clone();
    for object in &mut egg.objects {
        if let ObjectBody::Rigid { collisions, .. } = &mut object.body
            && let Shape::Sphere { radius } = collisions[0].shape
        {
            collisions[0].shape = Shape::ellipsoid([radius; 3]);
        }
    }
    let of = |scene: &Scene| -> Result<_> {
        let model = Model::new(scene, DType::F64, &Device::Cpu)?;
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let worlds = 3;
        let u: Vec<Vec<f64>> = (1..=worlds).map(|k| scene.control(0.1 * k as f64)).collect();
        let u = Var::from_tensor(&model.tensor(&u.iter().map(Vec::as_slice).collect::<Vec<_>>())?)?;
        let next = step.step(&model.home(worlds)?, &u)?;
        let gradient = next.q_next.narrow(1, 0, 3)?.sum_all()?.backward()?;
        let path = rollout(&step, &model.home(1)?, &u.as_detached_tensor().unsqueeze(0)?)?;
        Ok((step.form(), next.q_next, next.force, gradient.get(&u).cloned(), path.q))
    };
    let ((form, q, force, gradient, path), (egg_form, egg_q, egg_force, egg_gradient, egg_path)) =
        (of(&ball)?, of(&egg)?);
    assert_eq!((form, egg_form), (Form::Fused, Form::TensorProgram));
    assert!(apart(&q, &egg_q) < SAME && apart(&force, &egg_force) < SAME && apart(&path, &egg_path) < SAME);
    assert!(apart(&gradient.unwrap(), &egg_gradient.unwrap()) < SAME);
    Ok(())
}

/// A box above a fixed box, and an egg, a cylinder and a polyhedron about them, all near each other.
fn heap() -> Scene {
    let corners = [[0.05, 0.0, -0.03], [-0.04, 0.04, -0.03], [-0.03, -0.05, -0.02], [0.0, 0.0, 0.06]];
    let mut scene = Scene::new()
        .object(Object::fixed("table", Shape::cuboid([0.3, 0.3, 0.1])).at([0.0, 0.0, -0.1]))
        .object(Object::rigid("box", Shape::cuboid([0.05, 0.04, 0.03]), 0.5).at([0.0, 0.0, 0.032]))
        .object(Object::rigid("egg", Shape::ellipsoid([0.03, 0.04, 0.05]), 0.4).at([0.1, 0.01, 0.055]))
        .object(Object::rigid("can", Shape::cylinder(0.03, 0.04), 0.3).at([-0.1, 0.02, 0.043]))
        .object(Object::rigid("rock", Shape::hull(&corners).unwrap(), 0.3).at([0.01, 0.02, 0.1]))
        .object(Object::rigid("ball", Shape::sphere(0.03), 0.2).at([0.02, -0.11, 0.035]).with_freedom(Freedom::Free));
    scene.params.kappa = 1e3;
    scene.params.h = 0.01;
    scene
}

fn barrier(model: &Model) -> Result<Dynamic> {
    Dynamic::new(model, &model.parameters, DynamicParams::default())
}

/// ∂q₊ and ∂v₊ by motions of all bodies, with all pairs of the heap in play.
#[test]
fn gradients_of_a_heap() -> Result<()> {
    let model = Model::new(&heap(), DType::F64, &Device::Cpu)?;
    let step = barrier(&model)?;
    let manifold = Manifold::new(&model.tree, &Device::Cpu)?;
    let nv = model.nv();
    let mut seed = 1_u64;
    let mut random = |n: usize, size: f64| -> Result<Tensor> {
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            size * ((seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
        };
        Tensor::from_vec((0..n).map(|_| next()).collect(), (1, n), &Device::Cpu)
    };
    let mut worst = 0.0_f64;
    for _ in 0..5 {
        // Tilted, so that no faces are parallel.
        let q0 = manifold.integrate(&model.home(1)?, &random(nv, 0.03)?)?;
        let (v, tau) = (random(nv, 0.1)?, random(nv, 0.1)?);
        let (weight_q, weight_v) = (random(model.nq(), 1.0)?, random(nv, 0.1)?);
        let value = |delta: &Tensor| -> Result<Tensor> {
            let next = step.step(&manifold.integrate(&q0, delta)?, &v, &tau)?;
            assert_eq!(next.reports[0].status, Status::Solved);
            (next.q_next * &weight_q)?.sum_all()? + (next.v_next * &weight_v)?.sum_all()?
        };
        let delta = Var::zeros((1, nv), DType::F64, &Device::Cpu)?;
        let gradient = numbers(value(&delta)?.backward()?.get(&delta).unwrap());
        let largest = largest(&gradient);
        for (k, got) in gradient.iter().enumerate() {
            let at = |step: f64| -> Result<f64> {
                let mut delta = vec![0.0; nv];
                delta[k] = step;
                value(&Tensor::from_vec(delta, (1, nv), &Device::Cpu)?)?.to_scalar()
            };
            let want = (at(STEP)? - at(-STEP)?) / (2.0 * STEP);
            worst = larger(worst, (got - want).abs() / largest);
        }
    }
    assert!(worst < DIFFERENCE, "{worst:e}");
    Ok(())
}

#[test]
fn single_precision_and_bad_worlds() -> Result<()> {
    let step_in = |dtype: DType| -> Result<_> {
        let model = Model::new(&heap(), dtype, &Device::Cpu)?;
        let (mut q, zero) = (model.home(3)?, Tensor::zeros((3, model.nv()), dtype, &Device::Cpu)?);
        let bad = Tensor::full(f64::NAN, (1, model.nq()), &Device::Cpu)?.to_dtype(dtype)?;
        q = q.slice_assign(&[1..2, 0..model.nq()], &bad)?;
        barrier(&model)?.step(&q, &zero, &zero)
    };
    let (double, single) = (step_in(DType::F64)?, step_in(DType::F32)?);
    assert!(apart(&double.q_next, &single.q_next) < SINGLE);
    for result in [double, single] {
        let status: Vec<Status> = result.reports.iter().map(|report| report.status).collect();
        assert_eq!(status, [Status::Solved, Status::BadInput, Status::Solved]);
        assert!(numbers(&result.q_next).iter().all(|x| x.is_finite()));
    }
    Ok(())
}
