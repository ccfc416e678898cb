//! One plan for several worlds: what each of them costs, what counts of it, and what that is good for.

use fingertip::Overrides;
use fingertip::mpc::task::Episode;
use fingertip::mpc::{Measured, Problem, Task};

use super::{DISC, Random, disc, largest, task};

const WORLDS: &str = r#"[{ friction = 0.5 }, { mass = 1.5, stiffness = 0.8 }, { size = 1.04 }, { position = [0.003, -0.002, 0.0], rotation = [0.0, 0.0, 0.05] }]"#;

fn worlds(cost: &str) -> Task {
    task(&format!("{DISC}[robust]\ncost = \"{cost}\"\nworlds = {WORLDS}\n"))
}

fn problem(task: &Task, episode: &Episode) -> Problem {
    task.problems(episode).unwrap().remove(0)
}

/// The fingers close on the disc, and move it.
fn closing() -> Vec<f64> {
    let close = [-0.04, 0.01, 0.04, -0.01];
    Random(5).vec(24, 0.01).iter().enumerate().map(|(i, x)| x + close[i % 4]).collect()
}

/// Each world is rolled out as it is alone, by a task whose parameters are replaced by name.
#[test]
fn worlds_cost_what_they_cost_alone() {
    let plain = disc();
    let episode = plain.episode(0, 0).unwrap();
    let masses = r#"{"mass": {"disc": M}, "stiffness": {"fingers": S}}"#;
    let model = plain.simulator().model();
    let first = |of: &candle_core::Tensor| of.flatten_all().unwrap().to_vec1::<f64>().unwrap()[0];
    let (mass, stiffness) = (first(&model.parameters.mass), first(&model.parameters.stiffness));
    let masses = masses.replace('M', &(1.5 * mass).to_string()).replace('S', &(0.8 * stiffness).to_string());
    let friction = format!(r#"{{"mu": {{"disc/fingers": {}}}}}"#, 0.5 * first(&model.parameters.mu));
    let mut costs = Vec::new();
    let size = format!(r#"{{"size": {{"disc": [{}, {}]}}}}"#, 1.04 * 0.035, 1.04 * 0.02);
    for overrides in ["{}", &friction, &masses, &size] {
        let mut other = plain.clone();
        other.set_parameters(&Overrides::from_json(overrides).unwrap()).unwrap();
        costs.push(problem(&other, &episode).roll_given(&episode.start, &[closing()]).unwrap()[0].cost);
    }
    assert!(costs[1] > 1.01 * costs[0], "less friction should matter: {costs:?}");
    let mean = problem(&worlds("mean"), &episode);
    let robust = &mean.roll_given(&episode.start, &[closing(), vec![0.0; 24]]).unwrap()[0];
    for (world, cost) in robust.others.iter().zip(&costs[1..]) {
        assert!((world.cost - cost).abs() < 1e-9 * cost, "{} {cost}", world.cost);
    }
    assert!((costs[3] - costs[0]).abs() > 1e-3 * costs[0], "sizes should matter: {costs:?}");
    // The last starts where the others do, as nothing was measured here.
    costs.push(robust.others[3].cost);
    assert!((costs[4] - costs[0]).abs() < 1e-9 * costs[0]);
    let expected = costs.iter().sum::<f64>() / 5.0;
    assert!((robust.cost - expected).abs() < 1e-9 * expected, "{} {expected}", robust.cost);
    let worst = problem(&worlds("worst"), &episode).roll_given(&episode.start, &[closing()]).unwrap()[0].cost;
    let expected = (costs.iter().map(|cost| cost.powi(8)).sum::<f64>() / 5.0).powf(1.0 / 8.0);
    assert!((worst - expected).abs() < 1e-9 * expected, "{worst} {expected}");
}

#[test]
fn gradients_over_all_worlds_agree_with_differences() {
    let episode = disc().episode(0, 0).unwrap();
    for cost in ["mean", "worst"] {
        let mut problem = problem(&worlds(cost), &episode);
        problem.command.keep_limits = false;
        let v = closing();
        let (_, gradient) = problem.value_and_gradient(&episode.start, &v).unwrap();
        let direction = Random(7).vec(24, 1.0);
        let at = |h: f64| {
            let v: Vec<f64> = v.iter().zip(&direction).map(|(v, d)| v + h * d).collect();
            problem.roll_given(&episode.start, &[v]).unwrap()[0].cost
        };
        let h = 1e-5;
        let expected = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        assert!((found - expected).abs() < 1e-6 * expected.abs(), "{cost}: {found} {expected}");
    }
}

/// What a plan costs at half the friction: one that reckons with that world costs less there than one that does not.
#[test]
fn a_plan_for_several_worlds_is_better_in_the_worst_of_them() {
    let plain = disc();
    let episode = plain.episode(0, 0).unwrap();
    let judge = problem(&worlds("worst"), &episode);
    for method in ["ilqr", "sqp", "rctr", "lbfgs"] {
        let most = |task: Task| {
            let mut task = task;
            task.settings.method = method.parse().unwrap();
            task.settings.ilqr.iterations = 20;
            let mut controller = task.controller(&episode).unwrap();
            let plan = controller.command(&episode.start.q, None).unwrap().plan.unwrap();
            let rolled = judge.roll_given(&episode.start, &[plan.best.v]).unwrap().remove(0);
            largest(rolled.others.iter().map(|world| world.cost))
        };
        let (without, with) = (most(plain.clone()), most(worlds("worst")));
        println!("{method}: {without} {with}");
        assert!(with < without, "{method}: {with} {without}");
    }
}

#[test]
fn worlds_begin_where_the_object_may_be() {
    let later = WORLDS.replace("friction = 0.5", "latency = 0.04");
    let task = task(&format!("{DISC}[robust]\nworlds = {later}\n"));
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let first = controller.command(&episode.start.q, None).unwrap();
    let q = task.simulator().advance(&episode.start.q, &first.u, None).unwrap().q;
    let q = &q[q.len() - 7..];
    let best = controller.answer(&Measured { q: q.to_vec(), ..Measured::default() }, None).unwrap().plan.unwrap().best;
    assert_eq!(&best.q[..7], q);
    let moved: Vec<f64> = best.others[3].q[..3].iter().zip(q).map(|(there, here)| there - here).collect();
    assert!(largest(moved.iter().zip([0.003, -0.002, 0.05]).map(|(a, b)| (a - b).abs())) < 1e-12, "{moved:?}");
    // Two steps later, under the command that was given before.
    let held = task.simulator().step().hold(q, &first.u, None, 2).unwrap().q;
    assert_eq!(best.others[0].q[..7], held[7..]);
}

#[test]
fn what_is_wrong_with_worlds_is_said() {
    let error = |robust: &str| {
        let text = format!("{DISC}[robust]\n{robust}");
        Task::from_toml(&text, std::path::Path::new("assets/scenes")).unwrap_err().to_string()
    };
    for (robust, expected) in [
        ("worlds = []", "expected at least one world beside the believed one"),
        ("worlds = [{}, { mass = 0.0 }]", "worlds[1]: mass: expected a positive factor, got 0"),
        ("worlds = [{ latency = nan }]", "worlds[0]: expected finite numbers, got NaN"),
        ("worlds = [{ width = 2.0 }]", "unknown field `width`, expected one of `friction`"),
        ("worlds = [{ size = -1.0 }]", "worlds[0]: size: expected a positive factor, got -1"),
        ("cost = \"mode\"\nworlds = [{}]", "there is no cost \"mode\"; expected one of \"mean\", \"worst\""),
    ] {
        let found = error(robust);
        assert!(found.contains(expected), "{found}");
    }
    let task = "[command]\ntype = \"relative\"\nbound = 0.1\n[goal]\nobject = \"stone\"\nposition = [0, 0, 1]\n[weights]\nposition = 1.0\n\
                [[scene.object]]\nname = \"stone\"\nmesh = \"mesh.obj\"\nmass = 1.0\nfreedom = \"free\"\n\
                [[scene.robot]]\nname = \"arm\"\nurdf = \"../../../assets/robots/planar_arm.urdf\"\n";
    for text in [format!("{task}[robust]\nworlds = [{{ size = 1.1 }}]\n"), format!("estimate = [\"size\"]\n{task}")] {
        let found = Task::from_toml(&text, std::path::Path::new("tests/rest/cases")).unwrap_err().to_string();
        assert!(found.contains("size: expected shapes with sizes, \"stone\" has a mesh"), "{found}");
    }
    let valve = fingertip::shipped::task("valve").unwrap();
    let text = std::fs::read_to_string("assets/tasks/valve.toml").unwrap();
    let text = format!("{text}\n[robust]\nworlds = [{{ position = [0.01, 0.0, 0.0] }}]\n");
    let found = Task::from_toml(&text, std::path::Path::new("assets/tasks")).unwrap_err().to_string();
    assert!(found.contains(&format!("\"{}\" cannot move as a whole", valve.object())), "{found}");
}
