//! How well a time step keeps energy: a hand of 14 joints swings freely under gravity, with steps of h, h/2 and h/4.
//! Semi-implicit Euler is of first order, so that half the step has half the drift.
//!
//! ```text
//! cargo run --release --example 06_energy
//! ```

mod check;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::description::{PairRule, Scene};
use fingertip::math::largest::largest;
use fingertip::show::{Chart, Panel};
use fingertip::step::{Dynamic, DynamicParams};

use check::{below, near};

/// The longest step and the time simulated, s.
const H: f64 = 5e-4;
const TIME: f64 = 0.2;
/// Steps of which the energy is taken once, so that all runs are sampled at the same times.
const SAMPLE: usize = 4;

fn main() -> Result<()> {
    // Nothing touches: only inertia and gravity, and limits out of the way.
    let mut scene = Scene::load("assets/scenes/teaching_hand.toml")?.pair(PairRule::exclude("hand", "hand"));
    scene.params.joint_limits = false;

    let mut drifts = Vec::new();
    for parts in [1_usize, 2, 4] {
        scene.params.h = H / parts as f64;
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
        let energy = |q: &Tensor, v: &Tensor| -> Result<f64> { step.dynamics().energy(q, v)?.sum_all()?.to_scalar() };
        let mut q = model.home(1)?;
        let mut v = model.tensor(&[&vec![0.0; model.nv()]])?;
        let (tau, start) = (v.clone(), energy(&q, &v)?);
        let mut drift = vec![(0.0, 0.0)];
        let steps = (TIME / scene.params.h).round() as usize;
        for k in 1..=steps {
            let next = step.step(&q, &v, &tau)?;
            (q, v) = (next.q_next, next.v_next);
            if k % (SAMPLE * parts) == 0 {
                drift.push((k as f64 * scene.params.h, energy(&q, &v)? - start));
            }
        }
        drifts.push(drift);
    }

    let most: Vec<f64> = drifts.iter().map(|drift| largest(drift.iter().map(|point| point.1))).collect();
    println!("largest energy drift with h, h/2, h/4: {} J", list(&most));
    // First order.
    near("ratio from h to h/2", most[0] / most[1], 2.0, 0.05)?;
    near("ratio from h/2 to h/4", most[1] / most[2], 2.0, 0.05)?;

    // Halving the step and extrapolating takes the first-order part away.
    let rest = largest(drifts[1].iter().zip(&drifts[2]).map(|(half, quarter)| 2.0 * quarter.1 - half.1));
    below("what extrapolation of h/2 and h/4 leaves of the last, share", rest / most[2], 0.1)?;

    let names = ["h", "h/2", "h/4"];
    let panel = names
        .iter()
        .zip(drifts)
        .fold(Panel::new("energy drift (J)", 420.0), |panel, (name, drift)| panel.line(*name, drift));
    let title = format!("A hand swings freely: energy drift (h = {} ms)", 1e3 * H);
    Chart::new(title, "time (s)").panel(panel).write("out/energy.svg")?;
    println!("wrote out/energy.svg");
    Ok(())
}

fn list(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:.2e}")).collect::<Vec<_>>().join(", ")
}
