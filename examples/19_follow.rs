//! A hand follows a human's keypoints: the Allegro hand beside a made motion of 21 keypoints.
//!
//! The fingers are found by their links' names. Each follows the vector from knuckle to tip, as much longer as it is;
//! the thumb's tip draws together with another where the human's do. `assets/recorded/human_hand.csv` has eight seconds
//! at 30 Hz: fingers curl one by one and together, and the thumb meets three of them
//! (`benches/peers/follow.py --write`).
//!
//! ```text
//! cargo run --release --example 19_follow
//! ```

mod check;

use std::time::Instant;

use candle_core::{DType, Device, Result};
use fingertip::follow::{Follower, Map, Motion, Options, follow};
use fingertip::{Model, shipped};

use check::{above, below};

fn main() -> Result<()> {
    let model = Model::new(&shipped::scene("allegro_plate")?, DType::F64, &Device::Cpu)?;
    let map = Map::of_hand(&model)?;
    let motion = Motion::read("assets/recorded/human_hand.csv", &map.keypoints, 30.0)?;
    let found = follow(&model, &motion, &map, &Options::default())?;
    for (k, name) in found.targets.iter().enumerate() {
        let (mean, most, n) = found.error(k);
        println!("{name}: {:.1} mm off in the mean, {:.1} mm at most, in {n} frames", 1e3 * mean, 1e3 * most);
        // The fingers spread less than the human's.
        below("mean error, mm", 1e3 * mean, 20.0)?;
    }
    above("least gap of own parts, mm", 1e3 * found.least_gap().unwrap_or(f64::INFINITY), 0.0)?;
    let beyond = model.tree.coordinates.iter().filter_map(|c| Some((c.q, c.limits?))).flat_map(|(q, limits)| {
        let joint = found.q.iter().skip(q).step_by(model.nq());
        joint.map(move |x| (limits.lower - x).max(x - limits.upper)).collect::<Vec<_>>()
    });
    below("farthest beyond a joint's limits, rad", beyond.fold(f64::NEG_INFINITY, f64::max), 1e-15)?;

    // A control loop: a frame at a time.
    let mut follower = Follower::new(&model, &map, &Options::default())?;
    let mut seconds = Vec::new();
    for frame in &motion.frames {
        let start = Instant::now();
        follower.step(frame, 1.0 / 30.0)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    below("a frame takes, ms", 1e3 * seconds[seconds.len() / 2], 1.0)
}
