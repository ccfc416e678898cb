//! Pills dropped into a box at random overlap. They are pushed apart by geometry alone: each motion is the smallest, in
//! the metric of their masses, after which the gaps, taken as linear, are not negative.
//!
//! ```text
//! cargo run --release --example 10_separate
//! ```

mod check;

use candle_core::{DType, Device, Result};
use fingertip::Model;
use fingertip::scenes::Pills;
use fingertip::show::{Chart, Panel};
use fingertip::solve::Method;
use fingertip::step::Separation;

use check::below;

/// Overlaps that may stay, m, and motions at most.
const TOUCHING: f64 = 1e-9;
const MOST: usize = 100;
/// Pairs farther apart than this are left out, m.
const NEAR: f64 = 0.1;
/// More and more pills of each kind in the same box.
const PILLS: [usize; 3] = [15, 30, 60];

fn main() -> Result<()> {
    let mut depths = Panel::new("deepest overlap (m)", 420.0).logarithmic();
    for pills in PILLS {
        let mut scene = Pills { ellipsoids: pills, capsules: pills, ..Pills::default() }.scene();
        scene.params.contact_distance = Some(NEAR);
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let separation = Separation::new(&model, Method::GaussSeidel { sweeps: 2000 })?;
        let apart = separation.separate(&model.home(1)?, TOUCHING, MOST)?;
        let (first, last) = (-apart.gaps[0], apart.gaps.last().map_or(f64::NAN, |gap| -gap));
        println!("{:>3} pills overlap by up to {:.0} mm", 2 * pills, 1e3 * first);
        below(&format!("    after {} motions, m", apart.gaps.len() - 1), last, TOUCHING)?;
        let points = apart.gaps.iter().enumerate().map(|(k, gap)| (k as f64, -gap));
        depths = depths.line(format!("{} pills", 2 * pills), points);
    }
    Chart::new("Pills in a box are pushed apart", "motions").panel(depths).write("out/separate.svg")?;
    println!("wrote out/separate.svg");
    Ok(())
}
