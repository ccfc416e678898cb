//! Planning: one iteration of differential dynamic programming, and a control period, in the middle of an episode.
//!
//! `cargo bench --bench mpc`; with `--features native` the same with native code beside it. `BENCHMARKS.md` has
//! figures.

use criterion::{Criterion, criterion_group, criterion_main};
use fingertip::mpc::{Clock, Controller, Ilqr, Problem, Risk, Robust, Start, Task, Variation};
use fingertip::step::SparseRows;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tasks and the horizon of the iteration that is timed; the control period has the task's.
const TASKS: [(&str, usize); 6] = [
    ("tips_ground", 4),
    ("tips_air", 4),
    ("allegro_cube", 10),
    ("allegro_capsules", 10),
    ("hand_turn", 10),
    ("two_arms", 10),
];
/// Control periods before the one that is timed, on the task's own model as the plant: the fingers have arrived.
const PERIODS: usize = 12;
/// The iteration starts at the plan before, but for this share: else there is nothing left to do.
const SHARE: f64 = 0.9;

/// Friction in the worlds of a robust plan beside the believed one, of that.
const FRICTION: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.2, 1.4];

/// Lanes, and native code.
const FORMS: &[bool] = if cfg!(feature = "native") { &[false, true] } else { &[false] };

struct Middle {
    controller: Controller,
    problem: Problem,
    start: Start,
    v: Vec<f64>,
}

/// The task with lanes or native code.
fn task(name: &str, is_native: bool) -> candle_core::Result<Task> {
    let task = Task::load(format!("assets/tasks/{name}.toml"))?;
    #[cfg(feature = "native")]
    if is_native {
        return task.native();
    }
    assert!(!is_native, "a build without the feature `native`");
    Ok(task)
}

fn middle(task: &Task) -> candle_core::Result<Middle> {
    let episode = task.episode(0, 0)?;
    let mut controller = task.controller(&episode)?;
    let (mut q, mut warm) = (episode.start.q.clone(), SparseRows::default());
    let (mut v, mut u) = (Vec::new(), episode.start.u.clone());
    for _ in 0..PERIODS {
        let answer = controller.command(&q, None)?;
        let held = task.simulator().advance(&q, &answer.u, Some(&warm))?;
        q = held.q[held.q.len() - q.len()..].to_vec();
        warm = held.warm.last();
        v = answer.plan.map(|plan| plan.best.v.iter().map(|v| SHARE * v).collect()).unwrap_or(v);
        u = answer.u;
    }
    let problem = controller.problem().clone();
    Ok(Middle { controller, problem, start: Start { warm, ..Start::new(q, u) }, v })
}

fn bench(c: &mut Criterion) {
    for ((name, horizon), is_native) in TASKS.into_iter().flat_map(|task| FORMS.iter().map(move |&form| (task, form))) {
        let task = task(name, is_native).expect("the task is in assets");
        let Middle { controller, mut problem, start, mut v } = middle(&task).expect("the task can be planned");
        problem.horizon = horizon;
        v.resize(horizon * start.u.len(), 0.0);
        let form = if is_native { "native" } else { "lanes" };
        let mut group = c.benchmark_group(format!("{name}/{form}"));
        group.sample_size(20);
        let worlds = FRICTION.map(|friction| Variation { friction, ..Variation::default() });
        let robust = Risk::ALL.map(|risk| {
            let robust = Robust::new(&problem.simulator, task.object(), &worlds, risk).expect("factors are positive");
            (risk, Problem { robust: Some(robust), ..problem.clone() })
        });
        let solve = |problem: &Problem, iterations| {
            let method = Ilqr { iterations, tolerance: 1e-6, small: 0.0 };
            method.solve(problem, &start, std::slice::from_ref(&v), &mut Clock::new(None)).expect("shapes fit")
        };
        group.bench_function("no_iteration", |bencher| bencher.iter(|| solve(&problem, 0)));
        group.bench_function("one_iteration", |bencher| bencher.iter(|| solve(&problem, 1)));
        for (risk, problem) in &robust {
            let name = format!("one_iteration_8_worlds_{}", risk.name());
            group.bench_function(name, |bencher| bencher.iter(|| solve(problem, 1)));
        }
        group.bench_function("control_period", |bencher| {
            bencher.iter(|| controller.clone().command(&start.q, None).expect("shapes fit"));
        });
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
