//! Thirty pills fall in a closed box for ten seconds: separated at the start, then moved by the rigid step with
//! Gauss–Seidel. None gets out, and energy only falls.
//!
//! ```text
//! cargo run --release --example 11_pills [-- --record out/pills.mcap]
//! ```

mod check;
#[path = "check/film.rs"]
mod film;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::math::largest::{larger, largest};
use fingertip::scenes::Pills;
use fingertip::show::{Chart, Panel};
use fingertip::solve::Method;
use fingertip::step::{Bound, ContactModel, Dynamic, DynamicParams, Separation};

use check::below;
use film::Film;

/// Time step and time simulated, s.
const H: f64 = 5e-3;
const TIME: f64 = 10.0;
const SOLVER: Method = Method::GaussSeidel { sweeps: 500 };
/// Pairs farther apart than this are left out, m: three steps of a pill that has fallen through the whole box.
const NEAR: f64 = 0.1;

fn main() -> Result<()> {
    let pills = Pills::default();
    let mut scene = pills.scene();
    scene.params.h = H;
    scene.params.contact_distance = Some(NEAR);
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let params = DynamicParams {
        contact: ContactModel::Rigid(SOLVER),
        bound: Bound::Gap { beta: 0.1 },
        ..DynamicParams::default()
    };
    let step = Dynamic::new(&model, &model.parameters, params)?;
    let mut q = Separation::new(&model, SOLVER)?.separate(&model.home(1)?, 1e-9, 100)?.q;
    let mut film = Film::new("pills", &scene, &model)?;
    film.put(&q)?;
    let mut v = model.tensor(&[&vec![0.0; model.nv()]])?;
    let tau = v.clone();
    let mut energies: Vec<(f64, f64)> = Vec::new();
    let (mut depths, mut farthest) = (Vec::new(), 0.0_f64);
    for k in 0..(TIME / H) as usize {
        let time = k as f64 * H;
        energies.push((time, step.dynamics().energy(&q, &v)?.sum_all()?.to_scalar()?));
        let next = step.step(&q, &v, &tau)?;
        film.follow(&next, Vec::new())?;
        let deepest = numbers(&next.contacts.phi)?.iter().fold(0.0, |most, &phi| larger(most, -phi));
        depths.push((time, 1e3 * deepest));
        (q, v) = (next.q_next, next.v_next);
        let places = numbers(&q)?;
        farthest = larger(farthest, largest(places.chunks(7).flat_map(|pill| &pill[..3])));
    }
    film.finish()?;
    let (first, last) = (energies[0].1, energies.last().map_or(0.0, |e| e.1));
    let gained = energies.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, larger);
    below("farthest from the middle, m", farthest, pills.room / 2.0)?;
    println!("energy: {first:.0} J at the start, {last:.0} J at the end; most gained in a step {gained:.2} J");
    println!("deepest overlap: {:.2} mm", largest(depths.iter().map(|d| d.1)));
    let chart = Chart::new("Thirty pills fall in a box", "time (s)")
        .panel(Panel::new("energy (J)", 300.0).line("energy", energies));
    chart.panel(Panel::new("deepest overlap (mm)", 260.0).from_zero().line("depth", depths)).write("out/pills.svg")?;
    println!("wrote out/pills.svg");
    Ok(())
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_vec1()
}
