//! Three cubes tumble onto each other. The step's contact problem is solved in velocities (the primal quadratic
//! program) and in impulses (the dual one): the same motion.
//!
//! ```text
//! cargo run --release --example 08_cubes [-- --record out/cubes.mcap]
//! ```

mod check;
#[path = "check/film.rs"]
mod film;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::math::largest::{larger, largest};
use fingertip::scenes::Cubes;
use fingertip::show::{Chart, Panel};
use fingertip::solve::{Method, Status};
use fingertip::step::{Bound, ContactModel, Dynamic, DynamicParams};

use check::below;
use film::Film;

/// Time step and time simulated, s.
const H: f64 = 5e-3;
const TIME: f64 = 10.0;
/// Both solutions are compared up to here, s.
const COMPARED: f64 = 0.5;

fn main() -> Result<()> {
    let cubes = Cubes { walls: Some(0.3), ..Cubes::default() };
    let mut scene = cubes.scene();
    scene.params.h = H;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let mut film = Film::new("cubes", &scene, &model)?;
    let mut heights = Vec::new();
    let mut energies = Panel::new("energy (J)", 220.0);
    for (name, method) in [("primal", Method::PrimalQp), ("dual", Method::DualQp)] {
        let contact = ContactModel::Rigid(method);
        let params = DynamicParams { contact, bound: Bound::Gap { beta: 0.2 }, ..DynamicParams::default() };
        let step = Dynamic::new(&model, &model.parameters, params)?;
        let mut q = model.home(1)?;
        let mut v = model.tensor(&[&vec![0.0; model.nv()]])?;
        let tau = v.clone();
        let (mut unsolved, mut residual, mut deepest) = (0, 0.0_f64, 0.0_f64);
        let (mut height, mut energy) = (vec![Vec::new(); cubes.count], Vec::new());
        for k in 0..=(TIME / H) as usize {
            let time = k as f64 * H;
            let places: Vec<f64> = numbers(&q)?;
            (0..cubes.count).for_each(|cube| height[cube].push((time, places[7 * cube + 2])));
            energy.push((time, step.dynamics().energy(&q, &v)?.sum_all()?.to_scalar::<f64>()?));
            let next = step.step(&q, &v, &tau)?;
            if name == "primal" {
                film.follow(&next, Vec::new())?;
            }
            residual = larger(residual, next.reports[0].residual);
            unsolved += usize::from(next.reports[0].status != Status::Solved);
            deepest = numbers(&next.contacts.phi)?.iter().fold(deepest, |most, &phi| larger(most, -phi));
            (q, v) = (next.q_next, next.v_next);
        }
        let gained = energy.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, larger);
        println!(
            "{name:>6}: {unsolved} steps not solved to 1e-9, the worst to {residual:.0e} m/s; {:.2} mm deep",
            1e3 * deepest
        );
        println!("        most energy gained in a step: {gained:.1e} J of {:.1} J", energy[0].1);
        energies = energies.line(name, energy);
        heights.push(height);
    }
    film.finish()?;
    let early = (0..cubes.count).flat_map(|cube| heights[0][cube].iter().zip(&heights[1][cube]));
    let early = early.filter(|(primal, _)| primal.0 <= COMPARED).map(|(primal, dual)| primal.1 - dual.1);
    below(&format!("heights by primal and dual differ in the first {COMPARED} s by, m"), largest(early), 1e-9)?;

    let mut panel = Panel::new("height (m)", 340.0).from_zero();
    for cube in 0..cubes.count {
        panel = panel.line(format!("cube {cube}, primal"), heights[0][cube].clone());
        panel = panel.dashed(format!("cube {cube}, dual"), heights[1][cube].clone());
    }
    Chart::new("Three cubes fall", "time (s)").panel(panel).panel(energies).write("out/cubes.svg")?;
    println!("wrote out/cubes.svg");
    Ok(())
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_vec1()
}
