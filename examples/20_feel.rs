//! Where two fingers hold a disc, by touch: joint angles, commands and net forces on the fingertips, without a camera.
//!
//! The disc is seen once, 2 mm off. Then the fingers squeeze, carry and twist it, and the smoother is given what a hand
//! feels, with noise. The plant is the model itself, disturbed.
//!
//! ```text
//! cargo run --release --example 20_feel
//! ```

mod check;

use candle_core::Result;
use fingertip::feel::{Options, Smoother};
use fingertip::mpc::{Deviates, Simulator};
use fingertip::shipped;

use check::{above, below};

const TIPS: [&str; 2] = ["fingers/left_lower", "fingers/right_lower"];
const JOINT: f64 = 1e-3; // rad
const FORCE: f64 = 0.05; // of a force

fn main() -> Result<()> {
    let scene = shipped::scene("two_fingers")?;
    let simulator = Simulator::new(&scene, 1)?;
    let model = simulator.model();
    let options = Options { start: [2e-3, 0.02], drift: [1e-3, 0.01], ..Options::default() };
    let mut smoother = Smoother::new(&simulator, &TIPS.map(|tip| (tip, None)), &options)?;
    let mut random = Deviates::new(1, 0);

    let mut q = model.tree.home();
    smoother.reset(&simulator.plus(&q, &[2e-3, -1e-3, 0.02, 0.0, 0.0, 0.0, 0.0])?)?;
    let (mut sum, mut n) = (0.0, 0.0);
    for k in 0..60 {
        let u = scene.control(f64::from(k) * simulator.period());
        q = simulator.advance(&q, &u, None)?.q;
        let drift: Vec<f64> = (0..model.nv()).map(|dof| if dof < 2 { 2e-4 * random.normal() } else { 0.0 }).collect();
        q = simulator.plus(&q, &drift)?;

        // What the hand feels: NaN for the disc's pose, joints, and the force on each tip.
        let step = simulator.step().step_numbers(&q, &u, &[])?;
        let mut measured = vec![f64::NAN; 3];
        measured.extend(q[3..].iter().map(|x| x + JOINT * random.normal()));
        let mut forces = Vec::new();
        for tip in TIPS {
            // Contact forces are those on the disc, which is side B.
            let contacts = model.contacts_between(tip, "disc");
            let force = [0, 1, 2].map(|axis| -contacts.iter().map(|c| step.force[3 * c + axis]).sum::<f64>());
            forces.extend(force.map(|f| f * (1.0 + FORCE * random.normal())));
        }
        smoother.step(&u, &measured, &forces)?;

        // From when both fingers hold it.
        if k >= 20 {
            let off = simulator.minus(smoother.q(), &q)?;
            (sum, n) = (sum + off[0].hypot(off[1]), n + 1.0);
        }
    }
    below("the disc's place is off by, mm in the mean", 1e3 * sum / n, 1.5)?;
    let covariance = smoother.covariance_of("disc")?;
    let deviation = [0, 1, 2].map(|k| covariance[(k, k)].sqrt());
    println!("it says: ± {:.2} and {:.2} mm, {:.3} rad", 1e3 * deviation[0], 1e3 * deviation[1], deviation[2]);
    // A round disc's turn is felt by nothing but friction.
    above("deviation of the disc's turn, rad", deviation[2], 5e-3)
}
