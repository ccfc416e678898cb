//! What plans and controllers achieve.

use std::str::FromStr;

use fingertip::mpc::task::Progress;
use fingertip::mpc::{Clock, Ilqr, Method, Outcome, Task};

use super::{DISC, disc, task};
use fingertip::step::SparseRows;

/// An episode on the task's own model with harder contacts: the errors at its end, and when it succeeded.
fn run(task: &Task, kappa: f64) -> (f64, f64, Option<usize>) {
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let plant = task.simulator().with_kappa(kappa).unwrap();
    let (mut q, mut warm) = (episode.start.q.clone(), SparseRows::default());
    let mut progress = Progress::default();
    while !task.is_over(&progress) {
        let answer = controller.command(&q, None).unwrap();
        let held = plant.advance(&q, &answer.u, Some(&warm)).unwrap();
        q = held.q[held.q.len() - q.len()..].to_vec();
        warm = held.warm.last();
        task.count(&mut progress, &task.errors(&episode.goal, &q).unwrap());
    }
    let errors = task.errors(&episode.goal, &q).unwrap();
    (errors.position.unwrap(), errors.rotation.unwrap(), progress.success)
}

#[test]
fn a_disc_is_brought_to_its_place() {
    let (position, rotation, success) = run(&disc(), 1e6);
    println!("{position} m, {rotation} rad, {success:?}");
    assert!(success.is_some(), "{position} m, {rotation} rad");
}

/// From the same start, each method finds a plan that costs much less than doing nothing.
#[test]
fn every_method_makes_the_cost_small() {
    let mut task = disc();
    let episode = task.episode(0, 0).unwrap();
    let problem = task.problems(&episode).unwrap().remove(0);
    let nothing = problem.roll_given(&episode.start, &[vec![0.0; 24]]).unwrap()[0].cost;
    task.settings.ilqr.iterations = 30;
    task.settings.sampling.samples = 128;
    task.settings.sampling.rounds = 10;
    for method in Method::ALL {
        task.settings.method = method;
        let plan = task.controller(&episode).unwrap().command(&episode.start.q, None).unwrap().plan.unwrap();
        println!(
            "{:7} {nothing:.4} → {:.4}, {}, {} iterations",
            method.name(),
            plan.best.cost,
            plan.outcome.name(),
            plan.iterations
        );
        assert!(plan.best.cost < 0.7 * nothing, "{}: {} of {nothing}", method.name(), plan.best.cost);
        assert!(plan.best.v.iter().all(|v| v.abs() <= 0.1));
        assert!(!plan.log.is_empty());
        assert_eq!(Method::from_str(method.name()).unwrap(), method);
    }
}

/// At a minimum inside the box the gradient is zero: against the adjoint, which the method does not use.
#[test]
fn a_converged_plan_has_no_slope() {
    let task = task(&DISC.replace("bound = 0.1", "bound = 1.0").replace("command = 0.1", "command = 10.0"));
    let episode = task.episode(0, 0).unwrap();
    let problem = task.problems(&episode).unwrap().remove(0);
    let zero = vec![0.0; 24];
    let ilqr = Ilqr { iterations: 100, tolerance: 1e-10, small: f64::INFINITY };
    let plan = ilqr.solve(&problem, &episode.start, std::slice::from_ref(&zero), &mut Clock::new(None)).unwrap();
    assert_eq!(plan.outcome, Outcome::Converged);
    let size = |v: &[f64]| {
        let (_, gradient) = problem.value_and_gradient(&episode.start, v).unwrap();
        gradient.iter().map(|g| g * g).sum::<f64>().sqrt()
    };
    let (before, after) = (size(&zero), size(&plan.best.v));
    println!("slope {before:e} → {after:e} in {} iterations", plan.iterations);
    assert!(after < 1e-3 * before, "{before:e} {after:e}");
    let costs: Vec<f64> = plan.log.iter().map(|line| line.cost).collect();
    assert!(costs.windows(2).all(|pair| pair[1] <= pair[0]), "{costs:?}");
}

/// Commands keep within the joints' limits and efforts.
#[test]
fn limits_are_kept() {
    let task =
        task(&DISC.replace("bound = 0.1", "bound = 3.0").replace("position = [0.145, 0.01]", "position = [0.5, 0.3]"));
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let plan = controller.command(&episode.start.q, None).unwrap().plan.unwrap();
    for (k, u) in plan.best.u.chunks(4).enumerate() {
        let q = &plan.best.q[k * episode.start.q.len()..];
        for (joint, u) in task.simulator().joints().iter().zip(u) {
            assert!((joint.lower..=joint.upper).contains(u), "{}: {u}", joint.name);
            let effort = joint.stiffness * (u - q[joint.q]).abs();
            assert!(effort <= joint.effort * (1.0 + 1e-12), "{}: {effort}", joint.name);
        }
    }
}

/// Sampling depends on its seed and on nothing else.
#[test]
fn the_same_seed_gives_the_same_plan() {
    let mut task = disc();
    task.settings.method = Method::Mppi;
    let episode = task.episode(0, 0).unwrap();
    let v = |task: &Task| task.controller(&episode).unwrap().command(&episode.start.q, None).unwrap().v;
    let first = v(&task);
    assert_eq!(first, v(&task));
    task.settings.seed = 1;
    assert_ne!(first, v(&task));
}

/// One finger on the near side cannot pull: nothing near says so, and sampling goes around.
#[test]
fn where_there_is_no_gradient_it_is_said() {
    let text = r#"
scene = "push.toml"
h = 0.02
hold = 5
horizon = 5
kappa = 1e6
[command]
type = "relative"
bound = 0.05
[goal]
object = "box"
position = [0.30, 0.0]
[weights]
position = 100.0
command = 1.0
[success]
position = 0.01
"#;
    let task = task(text);
    let episode = task.episode(0, 0).unwrap();
    let answer = task.controller(&episode).unwrap().command(&episode.start.q, None).unwrap();
    assert_eq!(answer.outcome, Outcome::NoGradient);
}

/// The tip stands where the box is to go: it has to go around first. Differential dynamic programming says that nothing
/// near does it, and does nothing; the hybrid samples, and brings the box home.
#[test]
fn the_hybrid_goes_around_where_no_gradient_leads() {
    let mut task = Task::load("assets/tasks/planar_push_back.toml").unwrap();
    let (_, _, success) = run(&task, 1e6);
    assert!(success.is_some());
    task.settings.method = Method::Ilqr;
    task.settings.ilqr.iterations = 60;
    let episode = task.episode(0, 0).unwrap();
    let answer = task.controller(&episode).unwrap().command(&episode.start.q, None).unwrap();
    assert_eq!(answer.outcome, Outcome::NoGradient);
    task.cap = 30;
    let (position, _, success) = run(&task, 1e6);
    let at_start = task.errors(&episode.goal, &episode.start.q).unwrap().position.unwrap();
    assert!(success.is_none() && position > 0.99 * at_start, "{position} m of {at_start} m");
}
