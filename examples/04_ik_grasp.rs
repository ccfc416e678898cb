//! From points on an object to a grasp: inverse kinematics puts the fingertips on the ball, the step says what they feel.
//!
//! ```text
//! cargo run --release --example 04_ik_grasp
//! ```

use candle_core::{DType, Device, Result};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::kinematics::ik::{InverseKinematics, Target};
use fingertip::step::Quasidynamic;

/// The ball's centre and radius, and the radius of the fingertip spheres, as in the scene; m.
const BALL: [f64; 3] = [0.1, 0.0, -0.156];
const RADIUS: f64 = 0.04;
const TIP: f64 = 0.015;
/// The centre of each fingertip sphere in its link, m.
const PAD: [f64; 3] = [-0.001, 0.0, 0.027];
/// How deep the fingers are commanded into the ball, m: the springs of the joints make that a force.
const PRESS: f64 = 0.01;

/// Links of the fingertips, and where on the ball each goes: azimuth from x and elevation, rad.
const GRASP: [(&str, f64, f64); 5] = [
    ("finger_r_link_1_thumb4", 2.4, 0.1),
    ("finger_r_link_2_index4", 1.1, 0.0),
    ("finger_r_link_3_middle4", 0.3, 0.0),
    ("finger_r_link_4_ring4", -0.5, 0.0),
    ("finger_r_link_5_little4", -1.5, 0.0),
];

/// Targets for the fingertips at this distance from the ball's surface, m.
fn targets(distance: f64) -> Vec<Target> {
    let target = |(link, azimuth, elevation): (&str, f64, f64)| {
        let direction = [elevation.cos() * azimuth.cos(), elevation.cos() * azimuth.sin(), elevation.sin()];
        let goal = std::array::from_fn(|i| BALL[i] + (RADIUS + TIP + distance) * direction[i]);
        Target::new(format!("hand/{link}"), PAD, goal)
    };
    GRASP.map(target).to_vec()
}

fn main() -> Result<()> {
    let scene = Scene::load("assets/scenes/hand_ball.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let search = InverseKinematics::default();

    // On the surface, then into it.
    let touching = search.solve(&model.tree, &model.tree.home(), &targets(0.0))?;
    let pressing = search.solve(&model.tree, &touching.q, &targets(-PRESS))?;
    for (name, found) in [("touching", &touching), ("pressing", &pressing)] {
        let farthest = found.distances.iter().fold(0.0_f64, |max, &d| max.max(d));
        println!("{name}: {farthest:.1e} m off after {} steps (should be below 1e-6 m)", found.iterations);
    }

    // Start where the fingers touch and command them to where they would press.
    let mut q = model.tensor(&[&touching.q])?;
    let u = model.tensor(&[&pressing.q[model.nq() - model.nu()..]])?;
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let gaps = step.step(&q, &u)?.contacts.phi.squeeze(0)?.to_vec1::<f64>()?;
    let farthest = gaps[1..].iter().fold(0.0_f64, |max, gap| max.max(gap.abs()));
    println!("gaps between fingertips and ball: at most {farthest:.1e} m (should be below 1e-6 m)");

    // Half a second: the grasp settles.
    let mut result = step.step(&q, &u)?;
    for _ in 0..50 {
        q = result.q_next.clone();
        result = step.step(&q, &u)?;
    }
    let mut sum = [0.0; 3];
    for (i, force) in result.force.squeeze(0)?.to_vec2::<f64>()?.iter().enumerate() {
        println!(
            "{:>30} presses with {:6.3} N",
            model.contact_names(i).0,
            force.iter().map(|f| f * f).sum::<f64>().sqrt()
        );
        sum.iter_mut().zip(force).for_each(|(sum, f)| *sum += f);
    }
    let weight = 0.52 * 9.81;
    println!("the forces on the ball add up to {sum:.3?} N (should be [0, 0, {weight:.3}], its weight)");
    Ok(())
}
