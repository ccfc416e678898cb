//! What each method has left to gain by a time, on five tasks: a figure.
//!
//! `cargo bench --bench methods` writes `assets/methods.svg`; with a path ending in `.png` after `--` (feature `png`)
//! that. The problem is that of one control period, a number of periods into the first episode on the task's own model
//! as the plant; every method starts at no command at all and has a second. What is left is the cost over the least
//! that any method finds, as a share of what it is at the start. L-BFGS tells where it has ended only.

use std::path::PathBuf;
use std::time::Duration;

use fingertip::mpc::{Controller, Method, Start, Task};
use fingertip::show::{Chart, Panel};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tasks and the control periods before the one that is planned: contact has been made, but on the far side, where the
/// tip is on its way around the box.
const TASKS: [(&str, usize); 5] =
    [("tips_ground", 12), ("allegro_cube", 12), ("planar_hand", 6), ("planar_push_back", 14), ("hand_turn", 12)];
const METHODS: [Method; 7] =
    [Method::Ilqr, Method::Hybrid, Method::Lbfgs, Method::Mppi, Method::Cem, Method::Sqp, Method::Rctr];
/// What each method has, s, and where the figure begins.
const LIMIT: f64 = 1.0;
const FIRST: f64 = 3e-4;
/// Where the figure ends below, and the share of what was left before that can be seen.
const LEAST: f64 = 1e-3;
const SEEN: f64 = 0.98;
/// More than fit into the time.
const ENDLESS: usize = 1_000_000;
const HEIGHT: f64 = 190.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let path = path.map_or_else(|| PathBuf::from("assets/methods.svg"), PathBuf::from);
    let mut chart = Chart::new("Cost that is left to gain, as a share, by method", "time, s").logarithmic();
    for (name, before) in TASKS {
        let all = METHODS.map(|method| reached(name, before, method).map(|reached| (method, reached)));
        let all = all.into_iter().collect::<candle_core::Result<Vec<_>>>()?;
        let costs = || all.iter().flat_map(|(_, reached)| reached).map(|&(_, cost)| cost);
        let (least, first) = (costs().fold(f64::INFINITY, f64::min), costs().fold(f64::NEG_INFINITY, f64::max));
        let mut panel = Panel::new(name, HEIGHT).logarithmic();
        for (method, reached) in all {
            let end = reached.last().copied().unwrap_or((LIMIT, f64::NAN));
            println!("{name} {}: {:.4e} after {:.3} s", method.name(), end.1, end.0);
            let left = reached.iter().map(|&(seconds, cost)| (seconds, ((cost - least) / (first - least)).max(LEAST)));
            panel = panel.line(method.name(), steps(left));
        }
        chart = chart.panel(panel);
    }
    chart.write(path)?;
    Ok(())
}

/// (time, cost) of each improvement.
fn reached(name: &str, before: usize, method: Method) -> candle_core::Result<Vec<(f64, f64)>> {
    let mut task = Task::load(format!("assets/tasks/{name}.toml"))?;
    let episode = task.episode(0, 0)?;
    let mut controller = task.controller(&episode)?;
    let (mut q, mut u) = (episode.start.q.clone(), episode.start.u.clone());
    for _ in 0..before {
        u = controller.command(&q, None)?.u;
        let held = task.simulator().advance(&q, &u, None)?;
        q = held.q[held.q.len() - q.len()..].to_vec();
    }
    task.settings.method = method;
    (task.settings.ilqr.iterations, task.settings.ilqr.tolerance) = (ENDLESS, 0.0);
    if method != Method::Hybrid {
        task.settings.sampling.rounds = ENDLESS;
    }
    let problems = vec![controller.problem().clone()];
    let mut fresh = Controller::new(problems, &Start::new(q.clone(), u), task.settings)?;
    let answer = fresh.command(&q, Some(Duration::from_secs_f64(LIMIT)))?;
    Ok(answer.plan.iter().flat_map(|plan| &plan.log).map(|line| (line.seconds, line.cost)).collect())
}

/// The least so far as a line with steps, from all at the first time to the last.
fn steps(reached: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let (mut line, mut least) = (vec![(FIRST, 1.0)], 1.0);
    for (seconds, left) in reached.filter(|&(seconds, _)| seconds > FIRST) {
        if left < SEEN * least {
            line.extend([(seconds, least), (seconds, left)]);
            least = left;
        }
    }
    line.push((LIMIT, least));
    line
}
