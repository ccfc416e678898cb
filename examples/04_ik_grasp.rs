//! From points on an object to a grasp: inverse kinematics puts the fingertips on a ball, the step says what they feel
//! while they press and lift it.
//!
//! ```text
//! cargo run --release --example 04_ik_grasp [-- --record out/ik_grasp.mcap]
//! ```

mod check;
#[path = "check/film.rs"]
mod film;

use candle_core::{DType, Device, Result};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::kinematics::ik::{InverseKinematics, Reached, Target};
use fingertip::math::largest::largest;
use fingertip::step::Quasidynamic;

use check::{above, below, near};
use film::Film;

/// The ball's centre and radius, and the radius of the fingertip spheres, as in the scene; m.
const BALL: [f64; 3] = [0.1, 0.0, -0.16];
const RADIUS: f64 = 0.04;
const TIP: f64 = 0.015;
/// The centre of each fingertip sphere in its link, m.
const PAD: [f64; 3] = [-0.001, 0.0, 0.027];
/// How deep the fingers are commanded into the ball, m: the springs of the joints make that a force.
const PRESS: f64 = 0.015;
/// How far the slider is commanded up, m; its spring of 100 N/m gives way by 5 cm under the whole weight of the ball.
const LIFT: f64 = 0.1;

/// Links of the fingertips, and where on the ball each goes: azimuth from the x axis, rad.
const GRASP: [(&str, f64); 5] = [
    ("hand/finger_r_link_1_thumb4", 2.95),
    ("hand/finger_r_link_2_index4", 1.0),
    ("hand/finger_r_link_3_middle4", 0.2),
    ("hand/finger_r_link_4_ring4", -0.6),
    ("hand/finger_r_link_5_little4", -1.5),
];
/// All of them a little below the equator, rad.
const ELEVATION: f64 = -0.3;

/// Targets for the fingertips' centres at this height above the ball's surface, m.
fn targets(height: f64) -> Vec<Target> {
    let (down, out) = ELEVATION.sin_cos();
    let target = |(link, azimuth): (&str, f64)| {
        let direction = [out * azimuth.cos(), out * azimuth.sin(), down];
        Target::new(link, PAD, std::array::from_fn(|i| BALL[i] + (RADIUS + TIP + height) * direction[i]))
    };
    GRASP.map(target).to_vec()
}

fn main() -> Result<()> {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml")?;
    scene.params.kappa = 1e4;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let mut start = model.tree.home();
    start[..3].copy_from_slice(&BALL);

    // On the surface, then into it.
    let search = InverseKinematics::default();
    let touching = search.solve(&model.tree, &start, &targets(0.0))?;
    let pressing = search.solve(&model.tree, &touching.q, &targets(-PRESS))?;
    for (name, Reached { distances, iterations, .. }) in [("touching", &touching), ("pressing", &pressing)] {
        below(&format!("{name}: farthest off after {iterations} steps, m"), largest(distances), 1e-6)?;
    }

    // Start where the fingers touch; command them towards where they would press, then up, half a second each; hold.
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let first = model.nq() - model.nu();
    let mut q = model.tensor(&[&touching.q])?;
    let mut result = step.step(&q, &model.tensor(&[&touching.q[first..]])?)?;
    let gaps = result.contacts.phi.squeeze(0)?.to_vec1::<f64>()?;
    below("largest gap at the start, m", largest(gaps), 1e-6)?;
    let mut film = Film::new("ik_grasp", &scene, &model)?;
    film.put(&q)?;
    for k in 1..=200 {
        let (press, lift) = ((k as f64 / 50.0).min(1.0), ((k as f64 - 50.0) / 50.0).clamp(0.0, 1.0));
        let mut u: Vec<f64> =
            touching.q[first..].iter().zip(&pressing.q[first..]).map(|(a, b)| a + press * (b - a)).collect();
        u[0] += lift * LIFT;
        result = step.step(&q, &model.tensor(&[&u])?)?;
        film.follow(&result, u)?;
        q = result.q_next.clone();
    }
    film.finish()?;

    let mut carried = 0.0;
    for (i, force) in result.force.squeeze(0)?.to_vec2::<f64>()?.into_iter().enumerate() {
        let size = force.iter().map(|f| f * f).sum::<f64>().sqrt();
        println!("{:>28} on the ball: {size:.3} N", model.contact_names(i).0);
        carried += force[2];
    }
    let height = q.narrow(1, 2, 1)?.flatten_all()?.to_vec1::<f64>()?[0] - BALL[2];
    // Held, and off the table; by forces that are its weight.
    above("the ball is up by, mm", 1e3 * height, 50.0)?;
    near("it is carried by, N", carried, 0.52 * 9.81, 1e-2)
}
