//! Five control laws let a hand of 14 joints follow sinusoids; how far off is each? More knowledge of the hand, less
//! error; wrong knowledge shows as well.
//!
//! ```text
//! cargo run --release --example 07_control [-- --record out/control.mcap]
//! ```

mod check;
#[path = "check/film.rs"]
mod film;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::description::{PairRule, Scene};
use fingertip::show::{Chart, Panel};
use fingertip::step::control::{Gains, Reference, decoupled};
use fingertip::step::{Dynamic, DynamicParams};

use check::{above, holds};
use film::Film;

/// Time step and time simulated, s.
const H: f64 = 1e-3;
const TIME: f64 = 3.0;
/// The first part of it, s, in which the controllers catch up, does not count.
const SETTLING: f64 = 1.0;
/// Swing of each joint, rad, about home, and the slowest and fastest, rad/s.
const AMPLITUDE: f64 = 0.4;
const OMEGA: [f64; 2] = [1.0, 4.0];
/// K_p, 1/s²; without a model, times the inertia that each joint sees at home.
const KP: f64 = 100.0;
/// Shown in the plot.
const JOINT: &str = "hand/finger11";

/// Torques from the time and the state.
type Law<'a> = Box<dyn Fn(f64, &Tensor, &Tensor) -> Result<Tensor> + 'a>;

fn main() -> Result<()> {
    // Nothing touches, and no limit is near.
    let mut scene = Scene::load("assets/scenes/teaching_hand.toml")?.pair(PairRule::exclude("hand", "hand"));
    scene.params.h = H;
    scene.params.joint_limits = false;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
    let dynamics = step.dynamics();

    let n = model.nu();
    let centre = model.home(1)?;
    let omega: Vec<f64> = (0..n).map(|i| OMEGA[0] + (OMEGA[1] - OMEGA[0]) * i as f64 / (n - 1) as f64).collect();
    let (omega, amplitude) = (model.tensor(&[&omega])?, model.tensor(&[&[AMPLITUDE]])?);
    let reference = |t: f64| Reference::sinusoid(&centre, &amplitude, &omega, t);
    let gains = Gains::critical(&model.tensor(&[&[KP]])?)?;
    let seen = (decoupled(&dynamics.mass_matrix(&centre)?)?).sum(2)?;
    let plain = Gains { kp: seen.broadcast_mul(&gains.kp)?, kv: seen.broadcast_mul(&gains.kv)? };

    let computed = |wrong: bool| -> Law<'_> {
        let (gains, reference) = (&gains, &reference);
        Box::new(move |t, q, v| {
            let mass = dynamics.mass_matrix(q)?;
            let mass = if wrong { decoupled(&mass)? } else { mass };
            gains.computed_torque(&mass, &dynamics.bias(q, v)?, q, v, &reference(t)?)
        })
    };
    let laws: [(&str, Law<'_>); 5] = [
        ("PD", Box::new(|t, q, v| plain.pd(q, v, &reference(t)?.q))),
        ("with gravity", Box::new(|t, q, v| plain.pd(q, v, &reference(t)?.q)? + dynamics.gravity(q)?)),
        ("and velocity", Box::new(|t, q, v| plain.pd_along(q, v, &reference(t)?)? + dynamics.gravity(q)?)),
        ("computed torque", computed(false)),
        ("with a wrong M", computed(true)),
    ];

    let joint = model.tree.coordinates.iter().find(|c| c.name == JOINT).map_or(0, |c| c.q);
    let mut angles = Panel::new(format!("{JOINT} (rad)"), 300.0);
    let mut errors = Panel::new("rms error of all joints (rad)", 300.0).logarithmic();
    let times = (0..(TIME / H) as usize).map(|k| k as f64 * H);
    let mut worst = Vec::new();
    let mut film = Film::new("control", &scene, &model)?;
    film.put(&reference(0.0)?.q)?;
    for (name, law) in &laws {
        let Reference { mut q, mut v, .. } = reference(0.0)?;
        let (mut angle, mut error) = (Vec::new(), Vec::new());
        for t in times.clone() {
            let next = step.step(&q, &v, &law(t, &q, &v)?)?;
            if *name == "computed torque" {
                film.follow(&next, numbers(&reference(t + H)?.q)?)?;
            }
            (q, v) = (next.q_next, next.v_next);
            let off = (&q - reference(t + H)?.q)?.sqr()?.mean_all()?.to_scalar::<f64>()?;
            error.push((t + H, off.sqrt()));
            angle.push((t + H, numbers(&q)?[joint]));
        }
        let settled: Vec<f64> = error.iter().filter(|e| e.0 > SETTLING).map(|e| e.1.powi(2)).collect();
        let rms = (settled.iter().sum::<f64>() / settled.len() as f64).sqrt();
        println!("{name:>18}: {rms:.2e} rad rms");
        worst.push(rms);
        (angles, errors) = (angles.line(*name, angle), errors.line(*name, error));
    }
    film.finish()?;
    let wanted = times.clone().map(|t| Ok((t, numbers(&reference(t)?.q)?[joint]))).collect::<Result<Vec<_>>>()?;
    holds("each piece of knowledge helps", worst[..4].windows(2).all(|pair| pair[1] < pair[0]))?;
    above("a wrong mass matrix costs a factor", worst[4] / worst[3], 10.0)?;
    Chart::new("Following sinusoids", "time (s)")
        .panel(angles.dashed("reference", wanted))
        .panel(errors)
        .write("out/control.svg")?;
    println!("wrote out/control.svg");
    Ok(())
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_vec1()
}
