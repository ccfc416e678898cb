//! One step with gradients: a hand presses on a ball; the next configuration, the forces, and what they depend on.
//!
//! ```text
//! cargo run --release --example 01_step
//! ```

mod check;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::step::Quasidynamic;

use check::{below, near};

fn main() -> Result<()> {
    // A scene is data: robots, objects, pairs, numbers of the step. A model is that scene as tensors.
    let scene = Scene::load("assets/scenes/hand_ball.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;

    // The fingers as the script commands them when they close, the ball at its place. q has the objects first:
    // the ball's x, y, z, then the 21 joints.
    let command = scene.control(0.7);
    let ball = [0.1, 0.0, -0.156];
    let u = Var::from_tensor(&model.tensor(&[&command])?)?;
    let q = model.tensor(&[&[&ball[..], &command].concat()])?;

    // Parameters are tensors too: a `Var` instead of one gets its gradient.
    let mut parameters = model.parameters.clone();
    let mass = Var::from_tensor(&parameters.mass)?;
    parameters.mass = mass.as_tensor().clone();
    let step = Quasidynamic::new(&model, &parameters)?;

    let result = step.step(&q, &u)?;
    println!("{:?}", result.reports[0]);
    let q_next = result.q_next.squeeze(0)?.to_vec1::<f64>()?;
    println!("the ball moves from {ball:.5?} to {:.5?} m", &q_next[..3]);
    let force = result.force.squeeze(0)?.to_vec2::<f64>()?;
    for (i, force) in force.iter().enumerate() {
        let (a, b) = model.contact_names(i);
        println!("{a:>30} on {b}: {force:7.3?} N");
    }

    // Force balance of the ball, ε m/h² δ = m g + Σ f: what is left over must be rounding.
    let params = &scene.params;
    let m = mass.flatten_all()?.to_vec1::<f64>()?[0];
    let pull: f64 = force.iter().map(|f| f[2]).sum();
    let lift = params.epsilon * m / params.h.powi(2) * (q_next[2] - ball[2]);
    below("vertical force balance, N", (lift - m * scene.gravity[2] - pull).abs(), 1e-12)?;

    // ∂(height)/∂u and ∂(height)/∂mass by one reverse pass, against differences.
    let height = |u: &Tensor, step: &Quasidynamic| step.forward(&q, u)?.narrow(1, 2, 1)?.sum_all();
    let grads = height(&u, &step)?.backward()?;
    let of = |var: &Var| grads.get(var).map_or_else(|| var.zeros_like(), |grad| Ok(grad.clone()));
    let (by_u, by_mass) = (of(&u)?.flatten_all()?.to_vec1::<f64>()?, of(&mass)?.flatten_all()?.to_vec1::<f64>()?);
    let slope = |at: &dyn Fn(f64) -> Result<Tensor>| -> Result<f64> {
        Ok((at(1e-6)?.to_scalar::<f64>()? - at(-1e-6)?.to_scalar::<f64>()?) / 2e-6)
    };
    let slider = slope(&|e| {
        let direction = Tensor::eye(model.nu(), DType::F64, &Device::Cpu)?.narrow(0, 0, 1)?;
        height(&(u.as_tensor() + (direction * e)?)?, &step)
    })?;
    let heavier = slope(&|e| {
        let mut parameters = parameters.clone();
        parameters.mass = (mass.as_tensor() + e)?;
        height(&u, &step.with_parameters(&parameters)?)
    })?;
    // To the six digits that differences have.
    near("∂z/∂(slider) against differences, m/m", by_u[0], slider, 1e-6)?;
    near("∂z/∂(mass) against differences, m/kg", by_mass[0], heavier, 1e-6)
}
