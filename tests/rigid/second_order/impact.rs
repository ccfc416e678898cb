//! Gradients through an impact: a single trajectory's depend on where in its step the impact is; the mean over phases
//! of the steps is right.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Freedom, Object, Params, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::{Dynamic, DynamicParams};

use support::numbers;

const SPEED: f64 = 0.2;
const TIME: f64 = 0.1;

/// Two equal balls in free space, 5 mm apart along x.
fn balls(h: f64, kappa: f64) -> Result<Model> {
    let ball = |name: &str, x: f64| {
        let ball = Object::rigid(name, Shape::sphere(0.02), 0.1);
        ball.with_freedom(Freedom::Translation).at([x, 0.0, 0.0])
    };
    let scene = Scene::new().with_params(Params { h, kappa, ..Params::default() }).with_gravity([0.0; 3]);
    Model::new(&scene.object(ball("a", 0.0)).object(ball("b", 0.045)), DType::F64, &Device::Cpu)
}

/// Where b is after the time, as the mean over so many phases, and its derivatives by a's start, b's and a's speed. The
/// first step of each world is a part of h, and its last one the rest.
fn mean(model: &Model, phases: usize) -> Result<(f64, [f64; 3])> {
    let h = numbers(&model.parameters.h)[0];
    let steps = (TIME / h).round() as usize;
    let at = Var::from_tensor(&model.home(1)?)?;
    let v = Var::from_slice(&[SPEED, 0.0, 0.0, 0.0, 0.0, 0.0], (1, 6), &Device::Cpu)?;
    let part = |of: &dyn Fn(f64) -> f64| -> Result<Dynamic> {
        let lengths: Vec<f64> = (0..phases).map(|k| of((k as f64 + 0.5) / phases as f64) * h).collect();
        let mut parameters = model.parameters.clone();
        parameters.h = Tensor::from_vec(lengths, (phases, 1), &Device::Cpu)?;
        Dynamic::new(model, &parameters, DynamicParams::default())
    };
    let tau = |n: usize| Tensor::zeros((phases, n, 6), DType::F64, &Device::Cpu);
    let (mut q, mut v_now) = (at.broadcast_as((phases, 6))?.contiguous()?, v.broadcast_as((phases, 6))?.contiguous()?);
    for (step, n) in [(part(&|s| s)?, 1), (part(&|_| 1.0)?, steps - 1), (part(&|s| 1.0 - s)?, 1)] {
        let run = step.rollout(&q, &v_now, &tau(n)?)?;
        assert!(run.reports.iter().flatten().all(|report| report.status == Status::Solved));
        (q, v_now) = (run.q.narrow(1, n, 1)?.squeeze(1)?, run.v.narrow(1, n, 1)?.squeeze(1)?);
    }
    let mean = q.narrow(1, 3, 1)?.mean_all()?;
    let grads = mean.backward()?;
    let (by_q, by_v) = (numbers(grads.get(&at).unwrap()), numbers(grads.get(&v).unwrap()));
    Ok((mean.to_scalar()?, [by_q[0], by_q[3], by_v[0]]))
}

#[test]
fn the_mean_over_phases_has_the_gradient_of_the_motion() -> Result<()> {
    // They do not bounce: from the impact on both go at half of a's speed. The barrier makes them bounce a little, by
    // the energy that it stores, about 1/κ: the spread of these numbers.
    let gap = 0.005;
    let (way, by) = (0.045 + (SPEED * TIME - gap) / 2.0, [0.5, 0.5, TIME / 2.0]);
    for (h, kappa, spread) in [(1e-3, 1e8, 0.01), (1e-3, 1e6, 0.1), (1e-4, 1e6, 0.1)] {
        let (found, grads) = mean(&balls(h, kappa)?, 32)?;
        println!("h {h}, kappa {kappa:e}: {found} for {way}, {grads:?} for {by:?}");
        assert!((found - way).abs() < spread * SPEED * TIME / 2.0, "{found} {way}");
        assert!(grads.iter().zip(by).all(|(grad, by)| (grad / by - 1.0).abs() < spread), "{grads:?} {by:?}");
    }
    Ok(())
}
