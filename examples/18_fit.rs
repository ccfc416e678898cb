//! Parameters from a log: the stiffness and damping of each joint of a LEAP hand that MuJoCo moved.
//!
//! `assets/recorded/leap_hand.csv` has three seconds of commands and encoders with 1 mrad of noise
//! (`benches/peers/fit.py --write`). The search starts at 1 N·m/rad and 0.05 N·m·s/rad everywhere. Each number comes
//! with a standard error, which is what it is off by; the encoder of one joint, whose offset is looked for too, has
//! none.
//!
//! ```text
//! cargo run --release --example 18_fit
//! ```

mod check;

use candle_core::{DType, Device, Result};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::fit::{Options, fit, unknowns};
use fingertip::show::read_log;

use check::below;

const LOG: &str = "assets/recorded/leap_hand.csv";
const SCENE: &str = r#"
[params]
h = 0.002

[[robot]]
name = "hand"
urdf = "leap16.urdf"
stiffness = 1.0
damping = 0.05
armature = 1e-3
dry_friction = 0

[[pair]]
a = "hand"
b = "hand"
enabled = false
"#;
/// What MuJoCo had: N·m/rad and N·m·s/rad of each joint, in the scene's order.
const STIFFNESS: [f64; 16] = [
    1.147, 0.7944, 0.6319, 0.6166, 1.368, 1.511, 1.113, 1.258, 1.045, 1.545, 1.371, 0.6082, 1.43, 0.6272, 1.258, 0.723,
];
const DAMPING: [f64; 16] = [
    0.07189, 0.05212, 0.04092, 0.04628, 0.0312, 0.03434, 0.0593, 0.05793, 0.05612, 0.04451, 0.08221, 0.08087, 0.06019,
    0.05812, 0.06037, 0.04474,
];

fn main() -> Result<()> {
    let model = Model::new(&Scene::from_toml(SCENE, "assets/robots")?, DType::F64, &Device::Cpu)?;
    let logs = [read_log(&model, LOG)?];
    let by = unknowns(&model, &model.parameters, &["stiffness.*", "damping.*", "sensor.hand/th_ipl"])?;
    let options = Options { second_order: true, ..Options::default() };
    let fit = fit(&model, &model.parameters, &logs, &by, &options)?;
    let (mut off, mut score) = (Vec::new(), 0.0);
    for (one, hidden) in fit.numbers.iter().zip(STIFFNESS.iter().chain(&DAMPING)) {
        println!("{} {:.4} ± {:.4} {}, hidden {hidden}", one.name, one.value, one.error, one.unit);
        off.push((one.value / hidden - 1.0).abs());
        score += ((one.value - hidden) / one.error).powi(2) / 32.0;
    }
    let sensor = &fit.numbers[32];
    println!("{} {:.5} ± {:.5} {}", sensor.name, sensor.value, sensor.error, sensor.unit);
    off.sort_by(f64::total_cmp);
    below("median error", off[16], 0.01)?;
    below("largest error", off[31], 0.1)?;
    below("root mean square of errors over standard errors", score.sqrt(), 2.0)?;
    below("the sensor's offset over its standard error", (sensor.value / sensor.error).abs(), 4.0)?;
    below("residuals that follow each other are alike", fit.correlation.abs(), 0.1)?;

    Ok(())
}
