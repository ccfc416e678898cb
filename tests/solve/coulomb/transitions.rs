//! Motions of three fingertips and a cube that MuJoCo made: q before, the command u held for 0.1 s, q after (`n`), see
//! `tests/golden/README.md`.

use candle_core::Tensor;
use fingertip::description::{Friction, Scene};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use serde_json::Value;

use super::compile;
use support::{rows, values};

/// The recorded fingertips count from the middle; those of our scene from where they are mounted.
const MOUNTS: [[f64; 3]; 3] = [[0.2, 0.0, 0.03], [0.0, 0.2, 0.03], [-0.2, 0.0, 0.03]];
/// What counts as a motion: m, rad.
const MOVES: [f64; 2] = [3e-4, 5e-3];

struct Motion {
    q: Vec<f64>,
    u: Vec<f64>,
    next: Vec<f64>,
}

fn motions() -> Vec<Motion> {
    let text = std::fs::read_to_string("tests/golden/coulomb_transitions.jsonl").unwrap();
    let mounted = |tips: &mut [f64]| {
        tips.iter_mut().zip(MOUNTS.iter().flatten()).for_each(|(x, mount)| *x -= mount);
    };
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let [mut q, mut u, mut next] = ["q", "u", "n"].map(|key| values(&line[key]));
            mounted(&mut q[7..]);
            mounted(&mut u);
            mounted(&mut next[7..]);
            Motion { q, u, next }
        })
        .collect()
}

/// The change of the cube's position and orientation from one q to another.
fn change(from: &[f64], to: &[f64]) -> [f64; 2] {
    let turn = |q: &[f64]| UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
    let shift = Vector3::from_column_slice(&to[..3]) - Vector3::from_column_slice(&from[..3]);
    [shift.norm(), turn(from).angle_to(&turn(to))]
}

/// Errors of the cube's position and orientation over its motions, and unsettled steps, by so many steps per command.
fn errors(friction: Friction, kappa: f64, steps: usize) -> ([f64; 2], usize) {
    let mut scene = Scene::load("assets/scenes/tips.toml").unwrap();
    scene.params.friction = friction;
    (scene.params.kappa, scene.params.h) = (kappa, 0.1 / steps as f64);
    let model = compile(&scene);
    let simulator = Quasidynamic::new(&model, &model.parameters).unwrap();
    let motions = motions();
    let u = model.tensor(&motions.iter().map(|m| m.u.as_slice()).collect::<Vec<_>>()).unwrap();
    let mut q: Tensor = model.tensor(&motions.iter().map(|m| m.q.as_slice()).collect::<Vec<_>>()).unwrap();
    let mut unsettled = 0;
    for _ in 0..steps {
        let step = simulator.step(&q, &u).unwrap();
        unsettled += step.reports.iter().filter(|report| report.status != Status::Solved).count();
        q = step.q_next;
    }
    let (mut off, mut moved) = ([0.0; 2], [0.0; 2]);
    for (motion, q) in motions.iter().zip(rows(&q)) {
        let (error, motion) = (change(&motion.next, &q), change(&motion.q, &motion.next));
        if motion[0] > MOVES[0] || motion[1] > MOVES[1] {
            for k in 0..2 {
                off[k] += error[k];
                moved[k] += motion[k];
            }
        }
    }
    ([off[0] / moved[0], off[1] / moved[1]], unsettled)
}

/// The relaxed law's gap is most of its error over a long step.
#[test]
fn coulombs_law_predicts_what_the_relaxed_one_does_not() {
    for (kappa, steps, bounds) in [(1e5, 1, [0.36, 0.38]), (1e6, 1, [0.30, 0.34]), (1e6, 2, [0.25, 0.32])] {
        let (relaxed, _) = errors(Friction::Relaxed, kappa, steps);
        let (found, unsettled) = errors(Friction::Coulomb, kappa, steps);
        println!("κ {kappa:.0e}, {steps} steps: relaxed {relaxed:.3?}, Coulomb {found:.3?}, unsettled {unsettled}");
        assert_eq!(unsettled, 0);
        for k in 0..2 {
            assert!(found[k] < bounds[k] && found[k] < 0.7 * relaxed[k], "{found:?} in the place of {relaxed:?}");
        }
    }
}
