//! Many worlds, many steps, one gradient: planar fingers learn how far to squeeze so that a disc ends where it should.
//!
//! ```text
//! cargo run --release --example 03_rollout
//! ```

mod check;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::math::largest::largest;
use fingertip::rollout::rollout;
use fingertip::step::Quasidynamic;

use check::below;

const WORLDS: usize = 8;
const STEPS: usize = 40;
/// Where the disc shall be at the end, m.
const GOAL: [f64; 2] = [0.15, 0.01];

fn main() -> Result<()> {
    let scene = Scene::load("assets/scenes/two_fingers.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Quasidynamic::new(&model, &model.parameters)?;

    // The same script in every world, the disc a little elsewhere in each: q = [disc x, y, yaw; four joints].
    let script: Vec<f64> = (1..=STEPS).flat_map(|k| scene.control(k as f64 * scene.params.h)).collect();
    let script = Tensor::from_vec(script, (1, STEPS, model.nu()), &Device::Cpu)?;
    let shift: Vec<f64> = (0..WORLDS).flat_map(|w| [0.001 * w as f64, 0.0005 * w as f64]).collect();
    let shift = Tensor::from_vec(shift, (WORLDS, 2), &Device::Cpu)?.pad_with_zeros(1, 0, model.nq() - 2)?;
    let q0 = (model.home(WORLDS)? + shift)?;
    let u = Var::from_tensor(&script.broadcast_as((WORLDS, STEPS, model.nu()))?.contiguous()?)?;

    // The cost of each world, (B): squared distance of the disc from its goal at the end, m².
    let goal = Tensor::new(&[GOAL], &Device::Cpu)?;
    let cost = |u: &Tensor| -> Result<Tensor> {
        let q = rollout(&step, &q0, u)?.q;
        let end = q.narrow(1, STEPS, 1)?.squeeze(1)?.narrow(1, 0, 2)?;
        end.broadcast_sub(&goal)?.sqr()?.sum(D::Minus1)
    };

    let grads = cost(&u)?.sum_all()?.backward()?;
    let gradient = grads.get(&u).cloned().map_or_else(|| u.zeros_like(), Ok)?;
    println!("∂cost/∂u {:?}: {WORLDS} worlds, {STEPS} steps, {} commands", gradient.dims(), model.nu());

    // Against differences along the gradient itself, all worlds at once.
    let direction = (&gradient / gradient.sqr()?.sum_all()?.sqrt()?.to_scalar::<f64>()?)?;
    let at = |h: f64| -> Result<f64> { cost(&(u.as_tensor() + (&direction * h)?)?)?.sum_all()?.to_scalar() };
    let expected = (at(1e-5)? - at(-1e-5)?) / 2e-5;
    let slope = (&gradient * &direction)?.sum_all()?.to_scalar::<f64>()?;
    let error = (slope - expected).abs() / expected.abs();
    println!("slope {slope:.6e}, by differences {expected:.6e}");
    below("the slope against differences, relative", error, 1e-8)?;

    // And downhill: Gauss–Newton-like steps along the gradient of each world's own distance.
    let before = cost(&u)?;
    for _ in 0..20 {
        let cost = cost(&u)?;
        let grads = cost.sum_all()?.backward()?;
        let Some(gradient) = grads.get(&u) else { break };
        let square = gradient.sqr()?.flatten_from(1)?.sum(1)?;
        let length = (cost.detach() / square)?.reshape((WORLDS, 1, 1))?;
        u.set(&(u.as_tensor() - gradient.broadcast_mul(&length)?)?)?;
    }
    let worst = |cost: Tensor| Ok::<f64, candle_core::Error>(1e3 * largest(cost.to_vec1::<f64>()?).sqrt());
    let (before, after) = (worst(before)?, worst(cost(&u)?)?);
    println!("farthest from the goal at first: {before:.3} mm");
    below("farthest from the goal after 20 steps, mm", after, 0.1)
}
