//! A hand grasps a pill from twenty starts: close it, find the least effort that holds, and see in simulation whether
//! it does, for three seconds and under pushes of a fifth of the pill's weight along all axes.
//!
//! ```text
//! cargo run --release --example 09_grasp
//! ```

mod check;

use candle_core::{DType, Device, Result};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::grasp::{Closing, LOST, Outcome, Trial};
use fingertip::math::largest::largest;
use fingertip::show::{Chart, Panel};

use check::{below, holds};

const SEEDS: u64 = 20;
/// What each contact keeps to spare, N, where that is possible, and half of what is possible elsewhere: a push p that a
/// single contact takes needs p (1 + 1/μ), here a fifth of 1.1 N times 3.
const RESERVE: f64 = 0.7;

fn main() -> Result<()> {
    let scene = Scene::load("assets/scenes/teaching_hand_item.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let (mut rows, mut grasps) = (Vec::new(), Vec::new());
    for seed in 0..SEEDS {
        let closed = Closing::default().close(&model, seed)?;
        let balance = closed.balance(&model)?;
        let margin = balance.margin().filter(|&margin| margin > 0.0);
        let Some(effort) = margin.and_then(|margin| balance.least_effort(RESERVE.min(margin / 2.0))) else {
            println!("seed {seed:>2}: {} contacts, nothing balances", closed.contacts.len());
            continue;
        };
        rows.push((seed, closed.contacts.len(), margin.unwrap_or(0.0), effort.cost));
        grasps.push((closed.q, effort.torque));
    }
    let outcomes = Trial::default().run(&scene, &grasps)?;
    let millimetres = |x: f64| if x < LOST { format!("{:.3}", 1e3 * x) } else { "lost".into() };
    println!("seed contacts  margin (N)  ½‖τ‖²  moved (mm)  when pushed  at the end");
    for ((seed, contacts, margin, cost), Outcome { moved, pushed, displaced, .. }) in rows.iter().zip(&outcomes) {
        let [moved, pushed, displaced] = [moved, pushed, displaced].map(|x| millimetres(*x));
        println!("{seed:>4} {contacts:>8} {margin:>11.3} {cost:>7.2} {moved:>11} {pushed:>12} {displaced:>11}");
    }
    let held: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.held).collect();
    let farthest = largest(held.iter().map(|outcome| outcome.moved));
    let (balanced, pushed) = (grasps.len(), outcomes.iter().filter(|outcome| outcome.held_pushed).count());
    println!("{balanced} of {SEEDS} balance, {} hold for 3 s, {pushed} under pushes", held.len());
    below("where it holds the pill moves at most by, mm", 1e3 * farthest, 0.5)?;
    let mut closure = rows.iter().zip(&outcomes).filter(|(row, _)| row.2.is_infinite());
    holds("force closure holds under pushes", closure.all(|(_, outcome)| outcome.held_pushed))?;

    let sorted = |of: fn(&Outcome) -> f64| -> Vec<(f64, f64)> {
        let mut values: Vec<f64> = outcomes.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.into_iter().enumerate().map(|(k, x)| ((k + 1) as f64, 1e3 * x.min(LOST))).collect()
    };
    let label = format!("displacement (mm; {} is lost)", 1e3 * LOST);
    let panel = Panel::new(label, 420.0).logarithmic().level("0.5 mm", 0.5);
    let panel = panel.line("after 3 s", sorted(|o| o.moved)).line("when pushed", sorted(|o| o.pushed));
    Chart::new("Grasps of a pill", "grasps that move it by at most this").panel(panel).write("out/grasp.svg")?;
    println!("wrote out/grasp.svg");
    Ok(())
}
