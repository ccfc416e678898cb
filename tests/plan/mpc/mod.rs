//! Control: derivatives against differences, plans against their bounds, controllers against a harder plant, and
//! against everything that can go wrong.

mod box_qp;
mod costs;
mod floor;
mod late;
mod methods;
mod risk;
mod roadmap;
mod robust;
mod shipped;
mod supervisor;
mod sweep;
mod tasks;
mod under_way;
mod worlds;

use std::path::Path;

use fingertip::mpc::Task;
use support::largest;

/// Two planar fingers that carry a disc.
const DISC: &str = r#"
scene = "two_fingers.toml"
h = 0.02
hold = 5
horizon = 6
kappa = 1e4
cap = 60
[command]
type = "relative"
bound = 0.1
[goal]
object = "disc"
position = [0.145, 0.01]
yaw = 0.2
[weights]
position = 100.0
rotation = 1.0
posture = 0.001
command = 0.1
[weights.terminal]
position = 1000.0
rotation = 10.0
[success]
position = 0.003
rotation = 0.03
held = 3
"#;

fn disc() -> Task {
    task(DISC)
}

/// A task with its scene in the folder of scenes.
fn task(text: &str) -> Task {
    Task::from_toml(text, Path::new("assets/scenes")).unwrap()
}

/// Numbers in [−1, 1), the same at every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    }

    fn vec(&mut self, n: usize, size: f64) -> Vec<f64> {
        (0..n).map(|_| size * self.next()).collect()
    }
}
