//! How far is the barrier's step from hard contact? Three cubes lie on each other; as κ grows the difference of the
//! next velocities falls as 1/κ, a factor of ten for each factor of ten.
//!
//! ```text
//! cargo run --release --example 12_smoothing
//! ```

mod check;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::math::largest::largest;
use fingertip::scenes::Cubes;
use fingertip::show::{Chart, Panel};
use fingertip::solve::Method;
use fingertip::step::{ContactModel, Dynamic, DynamicParams};

use check::near;

/// Time step, s, and steps until the cubes have met.
const H: f64 = 5e-3;
const STEPS: usize = 120;

fn main() -> Result<()> {
    let mut scene = Cubes::default().scene();
    // Hard contact is without friction here.
    (scene.params.h, scene.params.mu) = (H, 0.0);
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let hard = DynamicParams { contact: ContactModel::Rigid(Method::Lemke), ..DynamicParams::default() };
    let hard = Dynamic::new(&model, &model.parameters, hard)?;
    let mut q = model.home(1)?;
    let mut v = Tensor::zeros((1, model.nv()), DType::F64, &Device::Cpu)?;
    let tau = v.clone();
    for _ in 0..STEPS {
        let next = hard.step(&q, &v, &tau)?;
        (q, v) = (next.q_next, next.v_next);
    }
    let exact = hard.step(&q, &v, &tau)?.v_next;

    let mut points: Vec<(f64, f64)> = Vec::new();
    for exponent in 3..=9 {
        let kappa = Tensor::full(10_f64.powi(exponent), (1, 1), &Device::Cpu)?;
        let parameters = model.parameters.map(|name, t| Ok(if name == "kappa" { kappa.clone() } else { t.clone() }))?;
        let smooth = Dynamic::new(&model, &parameters, DynamicParams::default())?.step(&q, &v, &tau)?;
        let error = largest((smooth.v_next - &exact)?.flatten_all()?.to_vec1::<f64>()?);
        let fell = points.last().map_or(String::new(), |last| format!(", {:.1} times less", last.1 / error));
        println!("κ = 1e{exponent}: v₊ differs by {error:.1e}{fell}");
        points.push((f64::from(exponent), error));
    }
    let [.., before, (last, error)] = points[..] else { candle_core::bail!("expected two values of κ") };
    near("the last factor of ten in κ makes it less by", before.1 / error, 10.0, 0.01)?;
    let law = points.iter().map(|&(x, _)| (x, error * 10_f64.powf(last - x))).collect::<Vec<_>>();
    let panel = Panel::new("largest difference of v₊ (m/s, rad/s)", 380.0).logarithmic();
    let panel = panel.line("barrier against rigid", points).dashed("1/κ", law);
    Chart::new("From the barrier to hard contact", "log₁₀ κ (1/J)").panel(panel).write("out/smoothing.svg")?;
    println!("wrote out/smoothing.svg");
    Ok(())
}
