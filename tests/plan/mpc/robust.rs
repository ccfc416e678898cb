//! Everything that can go wrong: a clear status, and a command that can be given.

use std::time::Duration;

use fingertip::mpc::{Method, Outcome, Task};

use super::{DISC, disc, task};

fn usable(task: &Task, u: &[f64]) -> bool {
    u.len() == task.simulator().joints().len() && u.iter().all(|u| u.is_finite())
}

#[test]
fn states_that_are_not_numbers() {
    let task = disc();
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let first = controller.command(&episode.start.q, None).unwrap();
    let planned = first.plan.unwrap().best.u;
    for (bad, next) in [f64::NAN, f64::INFINITY, 1e40].into_iter().zip(planned.chunks(4).skip(1)) {
        let mut q = episode.start.q.clone();
        q[1] = bad;
        let answer = controller.command(&q, None).unwrap();
        assert_eq!((answer.outcome, &answer.u[..]), (Outcome::BadInput, next));
    }
    // And it goes on.
    let answer = controller.command(&episode.start.q, None).unwrap();
    assert!(answer.plan.is_some() && usable(&task, &answer.u));
    assert!(controller.command(&[0.0], None).is_err());
}

#[test]
fn no_time() {
    let mut task = disc();
    let episode = task.episode(0, 0).unwrap();
    for method in Method::ALL {
        task.settings.method = method;
        let mut controller = task.controller(&episode).unwrap();
        controller.command(&episode.start.q, None).unwrap();
        let before = controller.clone().command(&episode.start.q, None).unwrap();
        for limit in [Duration::ZERO, Duration::from_micros(100)] {
            let answer = controller.command(&episode.start.q, Some(limit)).unwrap();
            assert_eq!(answer.outcome, Outcome::Deadline, "{}", method.name());
            assert!(usable(&task, &answer.u) && answer.seconds < 0.02, "{} s", answer.seconds);
        }
        assert!(usable(&task, &before.u));
    }
}

#[test]
fn no_iterations() {
    let mut task = disc();
    task.settings.ilqr.iterations = 0;
    let episode = task.episode(0, 0).unwrap();
    for method in Method::ALL {
        task.settings.method = method;
        let answer = task.controller(&episode).unwrap().command(&episode.start.q, None).unwrap();
        assert!(usable(&task, &answer.u), "{}", method.name());
        assert!(answer.plan.is_some(), "{}", method.name());
    }
}

#[test]
fn a_goal_out_of_reach() {
    let task = task(&DISC.replace("position = [0.145, 0.01]", "position = [100.0, 50.0]"));
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let mut q = episode.start.q.clone();
    for _ in 0..10 {
        let answer = controller.command(&q, None).unwrap();
        assert!(usable(&task, &answer.u));
        let held = task.simulator().advance(&q, &answer.u, None).unwrap();
        q = held.q[held.q.len() - q.len()..].to_vec();
    }
    assert!(q.iter().all(|x| x.is_finite()));
}

/// The disc starts 2 cm inside a finger.
#[test]
fn a_start_deep_inside() {
    let task = disc();
    let mut episode = task.episode(0, 0).unwrap();
    episode.start.q[0] -= 0.03;
    let answer = task.controller(&episode).unwrap().command(&episode.start.q, None).unwrap();
    assert!(usable(&task, &answer.u));
    assert!(answer.plan.unwrap().best.q.iter().all(|x| x.is_finite()));
}

/// A plant that answers with the same state for ever, or with one that has nothing to do with the command.
#[test]
fn a_plant_that_lies() {
    let task = disc();
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let mut q = episode.start.q.clone();
    for k in 0..12 {
        q[0] += if k % 3 == 0 { 0.3 } else { -0.1 };
        let answer = controller.command(&q, None).unwrap();
        assert!(usable(&task, &answer.u));
        for ((joint, u), bound) in task.simulator().joints().iter().zip(&answer.u).zip([0.1; 4]) {
            assert!((u - q[joint.q]).abs() <= bound + 1e-12);
        }
    }
}

/// A slider with hardly any range, as some files have them in the place of a fixed joint: where its spring gives way it
/// is farther off than that, and plans go on.
#[test]
fn a_joint_with_hardly_any_range() {
    let folder = std::env::temp_dir().join(format!("fingertip-no-range-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |from: &str, to: &str, changes: [&str; 2]| {
        let text = std::fs::read_to_string(format!("assets/{from}")).unwrap();
        std::fs::write(folder.join(to), text.replacen(changes[0], changes[1], 1)).unwrap();
    };
    write("robots/slider_tip.urdf", "tip.urdf", ["lower=\"-2\" upper=\"2\"", "lower=\"-1e-5\" upper=\"0\""]);
    write("scenes/planar_push.toml", "scene.toml", ["../robots/slider_tip.urdf", "tip.urdf"]);
    write("tasks/planar_push.toml", "task.toml", ["../scenes/planar_push.toml", "scene.toml"]);
    let task = Task::load(folder.join("task.toml")).unwrap();
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let mut q = episode.start.q.clone();
    q[task.simulator().joints()[0].q] = 1e-3;
    assert!(controller.command(&q, None).unwrap().plan.is_some());
}

/// Joints where they cannot be, quaternions without a length: the rest of the plan, or a command within the limits.
#[test]
fn states_that_cannot_be() {
    let task = Task::load("assets/tasks/tips_ground.toml").unwrap();
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let first = controller.command(&episode.start.q, None).unwrap();
    let joints = task.simulator().joints();
    let planned = first.plan.unwrap().best.u;
    let next = &planned[joints.len()..2 * joints.len()];
    let range = joints[0].upper - joints[0].lower;
    for (by, outcome) in [(1.01, Some(Outcome::BadInput)), (1e20, Some(Outcome::BadInput)), (0.9, None)] {
        let mut q = episode.start.q.clone();
        q[joints[0].q] = joints[0].upper + by * range;
        let answer = controller.command(&q, None).unwrap();
        match outcome {
            Some(outcome) => assert_eq!((answer.outcome, &answer.u[..]), (outcome, next), "{by} ranges beyond"),
            None => assert!(answer.plan.is_some() && usable(&task, &answer.u)),
        }
        controller = task.controller(&episode).unwrap();
        controller.command(&episode.start.q, None).unwrap();
    }
    let mut q = episode.start.q.clone();
    q[3..7].fill(0.0);
    let answer = controller.command(&q, None).unwrap();
    assert_eq!(answer.outcome, Outcome::Unsolved);
    let inside = |(joint, u): (&fingertip::mpc::Joint, &f64)| (joint.lower..=joint.upper).contains(u);
    assert!(joints.iter().zip(&answer.u).all(inside));
}

/// Nothing measured for longer than the plan lasts: its last command stays, and a plan is found again.
#[test]
fn a_plant_that_is_silent() {
    let task = disc();
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let first = controller.command(&episode.start.q, None).unwrap();
    let planned = first.plan.unwrap().best.u;
    for k in 1..20 {
        let answer = controller.command(&[f64::NAN; 7], None).unwrap();
        let next = planned.chunks(4).nth(k.min(5)).unwrap();
        assert_eq!((answer.outcome, &answer.u[..]), (Outcome::Silent, next));
        assert!(answer.plan.is_none());
    }
    let answer = controller.command(&episode.start.q, None).unwrap();
    assert!(answer.plan.is_some() && usable(&task, &answer.u) && answer.outcome != Outcome::Silent);
}

/// Plans of numbers that are not: the trajectories are finite all the same.
#[test]
fn plans_that_are_not_numbers() {
    let task = disc();
    let episode = task.episode(0, 0).unwrap();
    let problem = task.problems(&episode).unwrap().remove(0);
    let along = &problem.roll_given(&episode.start, &[vec![f64::NAN; 24], vec![f64::INFINITY; 24]]).unwrap()[0];
    assert!(along.q.iter().chain(&along.u).all(|x| x.is_finite()) && along.cost.is_finite());
    let mut start = episode.start.clone();
    start.q.fill(f64::NAN);
    let along = &problem.roll_given(&start, &[vec![0.0; 24]]).unwrap()[0];
    assert!(along.unsolved > 0);
}
