//! Model-predictive control by the step's gradients: two planar fingers bring a disc to its place, turned, on a plant
//! whose contacts are a hundred times as hard as the controller's.
//!
//! ```text
//! cargo run --release --example 13_mpc
//! ```

mod check;

use std::sync::Arc;
use std::time::Duration;

use candle_core::Result;
use fingertip::description::Scene;
use fingertip::mpc::cost::{Cost, Objective, Orientation, Position, Posture, Term, Turn};
use fingertip::mpc::{Command, Controller, Law, Problem, Settings, Simulator, Start};

use check::{below, holds};
use fingertip::step::SparseRows;

/// Where the disc shall be, m, and how it shall be turned, rad.
const GOAL: [f64; 3] = [0.145, 0.01, 0.0];
const YAW: f64 = 0.2;
const PERIODS: usize = 40;

fn main() -> Result<()> {
    // A command is held over five steps of the model, 0.1 s.
    let mut scene = Scene::load("assets/scenes/two_fingers.toml")?;
    scene.params.h = 0.02;
    let simulator = Simulator::new(&scene, 5)?;
    let model = simulator.model().clone();
    let q = model.tree.home();
    let start = Start::new(q.clone(), simulator.positions(&q));

    // What is to be small; the last state of the horizon counts ten times.
    let position = Position::new(&model, "disc", GOAL)?;
    let orientation = Orientation::new(&model, "disc", Turn::Yaw(YAW))?;
    let term = |cost: Arc<dyn Cost>, running: f64, purpose| Term { cost, running, terminal: 10.0 * running, purpose };
    let objective = Objective {
        terms: vec![
            term(Arc::new(position), 100.0, true),
            term(Arc::new(orientation), 1.0, true),
            term(Arc::new(Posture::new(&simulator, &start.q)), 1e-3, false),
        ],
        command: 0.1,
        ..Objective::default()
    };

    // The springs are drawn by 0.1 rad at most; six periods ahead.
    let command = Command::new(&simulator, Law::Relative, 0.1)?;
    let problem = Problem { simulator: simulator.clone(), objective, command, horizon: 6, robust: None };
    let mut controller = Controller::new(vec![problem], &start, Settings::default())?;

    let plant = simulator.with_kappa(1e6)?;
    let (mut q, mut warm, mut worst) = (start.q, SparseRows::default(), 0.0_f64);
    for period in 0..PERIODS {
        let answer = controller.command(&q, Some(Duration::from_millis(100)))?;
        worst = worst.max(answer.seconds);
        let held = plant.advance(&q, &answer.u, Some(&warm))?;
        q = held.q[held.q.len() - q.len()..].to_vec();
        warm = held.warm.last();
        if period % 10 == 9 {
            let off = 1e3 * position.value(&q)?.sqrt();
            println!("{:.1} s: {off:.2} mm off, {}", 0.1 * (period + 1) as f64, answer.outcome.name());
        }
    }
    println!("the slowest command took {:.1} ms", 1e3 * worst);
    below("position error, mm", 1e3 * position.value(&q)?.sqrt(), 3.0)?;
    below("rotation error, rad", orientation.value(&q)?.sqrt(), 0.03)?;

    // A sensor that fails is no disaster: the rest of the last plan is followed.
    let planned = controller.command(&q, None)?.plan.map_or(Vec::new(), |plan| plan.best.u);
    let answer = controller.command(&vec![f64::NAN; q.len()], None)?;
    let second = planned.chunks(answer.u.len()).nth(1);
    holds("where nothing is measured the plan goes on", second == Some(&answer.u[..]))
}
