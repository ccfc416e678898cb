//! The smoothed second-order step by Coulomb's law, against a block that slides to a stop.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Freedom, Friction, Object, Params, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::{Dynamic, DynamicParams};

use support::numbers;

const MASS: f64 = 0.5;
const MU: f64 = 0.4;
const GRAVITY: f64 = 9.81;
const H: f64 = 0.01;
const KAPPA: f64 = 1e8;
const RADIUS: f64 = 0.03;
/// Where a body at rest hovers, m.
const HEIGHT: f64 = 1.0 / (KAPPA * MASS * GRAVITY);
/// The law's own smoothing takes a force of the size 1/(κ s) off friction, s the slip of a step: 1e-6 N of 2 N at 1 cm,
/// more as the body stops.
const SMOOTHING: f64 = 1e-5;

/// A ball that does not turn, on the ground.
fn block() -> Result<Model> {
    let params = Params { h: H, kappa: KAPPA, mu: MU, ..Params::default() };
    let ball = Object::rigid("block", Shape::Sphere { radius: RADIUS }, MASS);
    let scene = Scene::new().with_params(params).with_gravity([0.0, 0.0, -GRAVITY]);
    let scene = scene.object(ball.with_freedom(Freedom::Translation).at([0.0, 0.0, RADIUS + HEIGHT]));
    Model::new(&scene.object(Object::ground("ground", 0.0)), DType::F64, &Device::Cpu)
}

/// q and v after so many steps from home at a velocity along x, and the largest gap on the way.
fn slide(friction: Friction, v: &Tensor, mu: &Tensor, steps: usize) -> Result<(Tensor, Tensor, f64)> {
    let model = block()?;
    let mut parameters = model.parameters.clone();
    parameters.mu = mu.clone();
    let step = Dynamic::new(&model, &parameters, DynamicParams { friction, ..DynamicParams::default() })?;
    let tau = Tensor::zeros((1, 3), DType::F64, &Device::Cpu)?;
    let (mut q, mut v, mut warm, mut highest) = (model.home(1)?, v.clone(), None, 0.0_f64);
    for _ in 0..steps {
        let next = step.step_from(&q, &v, &tau, warm.as_ref())?;
        assert_eq!(next.reports[0].status, Status::Solved);
        (q, v, warm) = (next.q_next, next.v_next, next.warm);
        highest = highest.max(numbers(&q)[2] - RADIUS);
    }
    Ok((q, v, highest))
}

#[test]
fn a_block_slides_to_a_stop_and_keeps_its_height() -> Result<()> {
    const START: f64 = 1.0;
    let speed = Var::from_slice(&[START, 0.0, 0.0], (1, 3), &Device::Cpu)?;
    let mu = Var::from_slice(&[MU], (1, 1), &Device::Cpu)?;
    let steps = 20;
    let (q, v, highest) = slide(Friction::Coulomb, &speed, &mu, steps)?;
    let slowed = MU * GRAVITY * H;
    let expected = START - slowed * steps as f64;
    let got = numbers(&v);
    assert!((got[0] - expected).abs() < SMOOTHING, "{} {expected}", got[0]);
    // Semi-implicit: h Σ v of the steps' ends.
    let way = H * (START * steps as f64 - slowed * (steps * (steps + 1)) as f64 / 2.0);
    assert!((numbers(&q)[0] - way).abs() < SMOOTHING, "{} {way}", numbers(&q)[0]);
    assert!((highest - HEIGHT).abs() < 1e-3 * HEIGHT, "{highest:e} {HEIGHT:e}");

    let grads = v.narrow(1, 0, 1)?.sum_all()?.backward()?;
    let of = |var: &Var| grads.get(var).map(numbers).expect("a gradient");
    assert!((of(&speed)[0] - 1.0).abs() < SMOOTHING, "{:?}", of(&speed));
    let by_mu = -GRAVITY * H * steps as f64;
    assert!((of(&mu)[0] - by_mu).abs() < SMOOTHING * by_mu.abs(), "{:?} {by_mu}", of(&mu));

    // It stops after 0.255 s, and stays: what is left creeps as all smoothed friction does.
    let (_, v, _) = slide(Friction::Coulomb, &speed, &mu, 60)?;
    assert!(numbers(&v)[0].abs() < 1e-4, "{:?}", numbers(&v));
    Ok(())
}

#[test]
fn the_relaxed_law_lifts_it() -> Result<()> {
    let speed = Tensor::new(&[[1.0, 0.0, 0.0]], &Device::Cpu)?;
    let (q, _, _) = slide(Friction::Relaxed, &speed, &Tensor::new(&[[MU]], &Device::Cpu)?, 1)?;
    // The slip of a step opens a gap of μ times it, but for a few times the height at which smoothed contact holds the
    // weight.
    let (slip, gap) = (numbers(&q)[0], numbers(&q)[2] - RADIUS);
    assert!((gap - MU * slip).abs() < 10.0 * HEIGHT && gap > 1e4 * HEIGHT, "{gap:e} {slip:e}");
    Ok(())
}

/// A box launched at 6 m/s along the ground, of a public report: by the defaults it stays down and stops after v²/(2 μ
/// g). By the relaxed law it rises by 0.29 m.
#[test]
fn a_launched_box_stays_down() -> Result<()> {
    let (speed, mu, half) = (6.0, 0.5, 0.05);
    let params = Params { h: 1e-3, kappa: 1e6, mu, ..Params::default() };
    let cube = Object::rigid("box", Shape::cuboid([half; 3]), 1.0).at([0.0, 0.0, half + 1e-6]);
    let scene = Scene::new().with_params(params).object(cube).object(Object::ground("ground", 0.0));
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
    let tau = Tensor::zeros((1, 1300, 6), DType::F64, &Device::Cpu)?;
    let v = Tensor::new(&[[speed, 0.0, 0.0, 0.0, 0.0, 0.0]], &Device::Cpu)?;
    let run = step.rollout(&model.home(1)?, &v, &tau)?;
    assert!(run.reports.iter().all(|of| of[0].status == Status::Solved));
    let height = numbers(&run.q.narrow(2, 2, 1)?).into_iter().fold(0.0, f64::max) - half;
    let way = numbers(&run.q.narrow(1, 1300, 1)?)[0];
    let expected = speed * speed / (2.0 * mu * GRAVITY);
    println!("rises by {height:e} m, stops after {way} m for {expected} m");
    assert!(height < 2e-6 && (way / expected - 1.0).abs() < 1e-3, "{height:e} {way}");
    Ok(())
}
