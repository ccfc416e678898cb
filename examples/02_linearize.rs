//! The step as a linear map: A = ∂q₊/∂q, B = ∂q₊/∂u, C = ∂λ/∂q, D = ∂λ/∂u in tangent coordinates, for planning and
//! control.
//!
//! ```text
//! cargo run --release --example 02_linearize
//! ```

mod check;

use candle_core::{DType, Device, IndexOp, Result, Tensor};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::kinematics::Manifold;
use fingertip::step::{Quasidynamic, Step};

use check::below;

/// Step of the central differences, rad.
const H: f64 = 1e-6;

fn main() -> Result<()> {
    // A free cube between the fingertips of a 16-joint hand: q has a quaternion, tangents have none.
    let scene = Scene::load("assets/scenes/cube_fingertips.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let manifold = Manifold::new(&model.tree, &Device::Cpu)?;

    // Half a second of the script: the fingers have closed in.
    let mut q = model.home(1)?;
    let mut u = model.tensor(&[&scene.control(0.0)])?;
    for k in 1..=20 {
        u = model.tensor(&[&scene.control(k as f64 * scene.params.h)])?;
        q = step.forward(&q, &u)?;
    }

    let all = step.linearize(&q, &u)?;
    for (name, matrix) in [("A = ∂q₊/∂q", &all.a), ("B = ∂q₊/∂u", &all.b), ("C = ∂λ/∂q", &all.c), ("D = ∂λ/∂u", &all.d)]
    {
        let largest = matrix.abs()?.flatten_all()?.max(0)?.to_scalar::<f64>()?;
        println!("{name}  {:?}, largest entry {largest:.3e}", &matrix.dims()[1..]);
    }

    // One column of each by central differences: the cube turned about the world's z axis, and one finger joint.
    let spin = 5;
    let joint = 2;
    let tangent = |k: usize, n: usize| Tensor::eye(n, DType::F64, &Device::Cpu)?.narrow(0, k, 1);
    let turned = |h: f64| step.step(&manifold.integrate(&q, &(tangent(spin, model.nv())? * h)?)?, &u);
    let commanded = |h: f64| step.step(&q, &(&u + (tangent(joint, model.nu())? * h)?)?);
    let by_q = differences(&manifold, &turned)?;
    let by_u = differences(&manifold, &commanded)?;
    for (name, exact, expected) in [
        ("A", all.a.i((.., .., spin))?, &by_q.0),
        ("B", all.b.i((.., .., joint))?, &by_u.0),
        ("C", all.c.i((.., .., spin))?, &by_q.1),
        ("D", all.d.i((.., .., joint))?, &by_u.1),
    ] {
        let norm = |t: &Tensor| t.sqr()?.sum_all()?.sqrt()?.to_scalar::<f64>();
        let error = norm(&(&exact - expected)?)? / norm(expected)?;
        below(&format!("a column of {name} against central differences, relative"), error, 1e-8)?;
    }
    Ok(())
}

/// Central differences of q₊ (in tangent coordinates) and λ.
fn differences(manifold: &Manifold, at: &dyn Fn(f64) -> Result<Step>) -> Result<(Tensor, Tensor)> {
    let (plus, minus) = (at(H)?, at(-H)?);
    let by_q = (manifold.difference(&minus.q_next, &plus.q_next)? * (0.5 / H))?;
    let by_lambda = ((plus.lambda()? - minus.lambda()?)? * (0.5 / H))?;
    Ok((by_q, by_lambda.flatten_from(1)?))
}
