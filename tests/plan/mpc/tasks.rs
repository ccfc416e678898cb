//! Task files: what they mean, and what is wrong with them.

use std::path::Path;

use fingertip::description::Friction;
use fingertip::mpc::Task;
use fingertip::mpc::cost::Turn;
use fingertip::mpc::plant::{Options, Plant};
use fingertip::mpc::task::{Progress, SceneOf};
use fingertip::show::GoalRecord;
use nalgebra::{Quaternion, UnitQuaternion};

use super::{DISC, disc, task};

#[test]
fn episodes_are_drawn_by_seed_and_number() {
    let text = DISC.replace("position = [0.145, 0.01]\n", "position = { low = [0.1, -0.01], high = [0.2, 0.01] }\n");
    let task = task(&text);
    let (a, b) = (task.episode(3, 1).unwrap(), task.episode(3, 1).unwrap());
    assert_eq!(a, b);
    assert_ne!(a.goal, task.episode(3, 2).unwrap().goal);
    assert_ne!(a.goal, task.episode(4, 1).unwrap().goal);
    for number in 0..50 {
        let [x, y, _] = task.episode(0, number).unwrap().goal.position.unwrap();
        assert!((0.1..0.2).contains(&x) && (-0.01..0.01).contains(&y));
    }
}

#[test]
fn starts_and_relative_goals() {
    let text = DISC.replace("yaw = 0.2", "yaw = 0.2\nfrom = \"start\"")
        + "[start]\njoints = { \"fingers/left_1\" = { at = \"disc.x\", plus = 0.5 } }\n[start.objects.disc]\nposition = [0.2, 0.1]\nyaw = 1.0\n";
    let episode = task(&text).episode(0, 0).unwrap();
    assert_eq!(episode.start.q[..4], [0.2, 0.1, 1.0, 0.7]);
    assert_eq!(episode.start.u[0], 0.7);
    let [x, y, _] = episode.goal.position.unwrap();
    assert!((x - 0.345).abs() < 1e-12 && (y - 0.11).abs() < 1e-12);
    assert_eq!(episode.goal.turn, Some(Turn::Yaw(1.2)));
}

#[test]
fn the_model_may_have_another_law_of_friction_than_the_scene() {
    let law = |text: &str| task(text).simulator().model().params.friction;
    assert_eq!(law(DISC), Friction::Relaxed);
    assert_eq!(law(&DISC.replace("kappa = 1e4", "kappa = 1e4\nfriction = \"coulomb\"")), Friction::Coulomb);
}

#[test]
fn goals_from_a_list() {
    let text = DISC.replace("position = [0.145, 0.01]\nyaw = 0.2", "file = \"goals.csv\"\nstart = true");
    let list = |csv: &str| listed("goals", &text, csv);
    let task = list("id,goal_x,goal_y,goal_theta,init_x,init_y,init_theta\na,1,2,3,4,5,6\nb,7,8,9,0,1,2\n").unwrap();
    assert_eq!(task.n_goals(), Some(2));
    let episode = task.episode(0, 3).unwrap();
    assert_eq!((episode.goal.position, episode.goal.turn), (Some([7.0, 8.0, 0.0]), Some(Turn::Yaw(9.0))));
    assert_eq!(episode.start.q[..3], [0.0, 1.0, 2.0]);
    let message = list("id,goal_x,goal_y\na,1,2\n").unwrap_err().to_string();
    assert!(message.contains("goals.csv: line 1: expected a column \"goal_theta\""), "{message}");
}

#[test]
fn errors_are_measured() {
    let task = disc();
    let episode = task.episode(0, 0).unwrap();
    let mut q = episode.start.q.clone();
    (q[0], q[1], q[2]) = (0.145 + 0.003, 0.01 + 0.004, 0.2 - 0.1);
    let errors = task.errors(&episode.goal, &q).unwrap();
    assert!((errors.position.unwrap() - 0.005).abs() < 1e-12 && (errors.rotation.unwrap() - 0.1).abs() < 1e-12);
    assert!((errors.quaternion.unwrap() - 0.05_f64.sin().powi(2)).abs() < 1e-12);
    assert!(!task.is_small(&errors));
}

/// A goal of an axis is reached however the object is turned about it, from the least turn away from where it is.
#[test]
fn goals_of_an_axis() {
    let text = |goal: &str| {
        format!(
            "scene = \"tips.toml\"\n[command]\ntype = \"relative\"\nbound = 0.01\n[weights]\nrotation = 1.0\n[success]\n\
             rotation = 0.1\n[start.objects.cube]\nrpy = [0.0, 0.5, 2.0]\n[goal]\nobject = \"cube\"\n{goal}\n"
        )
    };
    let of = |goal: &str| Task::from_toml(&text(goal), Path::new("assets/scenes"));
    let numbers = |goal: &str| {
        let task = of(goal).unwrap();
        let episode = task.episode(0, 0).unwrap();
        let errors = task.errors(&episode.goal, &episode.start.q).unwrap();
        let there = task.at_goal(&episode.goal, &episode.start.q).unwrap();
        assert!(task.is_small(&task.errors(&episode.goal, &there).unwrap()), "{goal}");
        assert!((errors.quaternion.unwrap() - (0.5 * errors.rotation.unwrap()).sin().powi(2)).abs() < 1e-12);
        let [w, x, y, z] = there[3..7] else { panic!() };
        (errors.rotation.unwrap(), UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)).euler_angles())
    };
    // Upright from a lean of 0.5 rad; its yaw is still the 2 rad that it had.
    let (off, (roll, pitch, yaw)) = numbers("axis = [0, 0, 1]");
    assert!((off - 0.5).abs() < 1e-12 && roll.abs() < 1e-12 && pitch.abs() < 1e-12 && (yaw - 2.0).abs() < 1e-12);
    // Where the rotation takes it, and from where it was at the start.
    assert!((numbers("axis = [0, 0, 1]\nrpy = [0.0, 0.7, 2.0]").0 - 0.2).abs() < 1e-12);
    assert!((numbers("axis = [0, 0, 1]\nrpy = [0.0, 0.7, 2.0]\nfrom = \"world\"").0 - 0.2).abs() < 1e-12);
    assert!(numbers("axis = [0, 0, 1]\nfrom = \"start\"").0 < 1e-9);
    assert!(numbers("rpy = [0.0, 0.0, 0.0]").0 > 1.9);
    for (goal, expected) in [
        ("axis = [0, 0, 0]", "goal: axis: expected three numbers, not all zero"),
        ("axis = [0, 1]", "axis"),
        ("position = [0, 0, 0]\n[goal.others.tips]\naxis = [0, 0, 1]", "goal.others.tips: axis"),
    ] {
        let message = of(goal).unwrap_err().to_string();
        assert!(message.contains(expected), "{goal}: {message}");
    }
    let planar = DISC.replace("yaw = 0.2", "yaw = 0.2\naxis = [0, 0, 1]");
    let message = Task::from_toml(&planar, Path::new("assets/scenes")).unwrap_err().to_string();
    assert!(message.contains("goal: axis: expected none, as \"disc\" cannot turn freely"), "{message}");
    // Recordings and pages draw it as it is turned there.
    let task = of("axis = [0, 0, 1]").unwrap();
    let episode = task.episode(0, 0).unwrap();
    let there = task.at_goal(&episode.goal, &episode.start.q).unwrap();
    let drawn = GoalRecord::of_episode(&task, &episode).unwrap()[0].quaternion.unwrap();
    assert!(drawn.iter().zip(&there[3..7]).all(|(a, b)| (a - b).abs() < 1e-12), "{drawn:?} {there:?}");
    // The rows of a list, too: upside down.
    let csv = "goal_x,goal_y,goal_z,goal_qw,goal_qx,goal_qy,goal_qz\n0,0,0.03,0,1,0,0\n";
    let task = listed("axes", &text("file = \"goals.csv\"\naxis = [0, 0, 2]"), csv).unwrap();
    let episode = task.episode(0, 0).unwrap();
    let off = task.errors(&episode.goal, &episode.start.q).unwrap().rotation.unwrap();
    assert!((off - (std::f64::consts::PI - 0.5)).abs() < 1e-9, "{off}");
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("hold = 5", "hould = 5", "hould"),
        ("hold = 5", "hold = 0", "hold: expected at least 1, got 0"),
        ("kappa = 1e4", "kappa = -1", "kappa: expected a positive number"),
        ("kappa = 1e4", "kappa = 1e4\nschedule = [1e3]", "schedule: expected kappa or schedule, got both"),
        ("kappa = 1e4", "method = \"ilqrr\"", "there is no method \"ilqrr\"; did you mean \"ilqr\""),
        ("\"relative\"", "\"relativ\"", "there is no type \"relativ\"; did you mean \"relative\""),
        ("kappa = 1e4", "kappa = 1e4\nfriction = \"dry\"", "expected `relaxed` or `coulomb`"),
        ("bound = 0.1", "bound = \"big\"", "expected a number, or numbers by joint"),
        ("bound = 0.1", "bound = { \"fingers/left_1\" = 0.1 }", "expected one for \"fingers/left_2\""),
        ("bound = 0.1", "bound = { default = 0.1, \"fingers/left_9\" = 0.1 }", "there is no joint \"fingers/left_9\""),
        ("bound = 0.1", "bound = -0.1", "command: bound: expected positive numbers, got -0.1"),
        ("position = 0.003\nrotation = 0.03", "joints = 0.003", "success: expected a bound on what the goal has"),
        ("object = \"disc\"", "object = \"disk\"", "there is no movable object \"disk\"; did you mean \"disc\""),
        ("position = [0.145, 0.01]", "position = [0.145]", "goal: position: expected 2 numbers, got 1"),
        ("position = [0.145, 0.01]", "position = { low = [1, 1], high = [0, 0] }", "low ≤ high"),
        ("yaw = 0.2", "rpy = [0, 0, 0.2]", "expected yaw, as the object is planar"),
        ("yaw = 0.2", "from = \"here\"", "there is no frame \"here\""),
        ("posture = 0.001", "posture = -1.0", "weights.posture: expected a number from 0 up"),
        (
            "held = 3",
            "held = 3\n[[force]]\na = \"fingers\"\nb = \"disk\"\nweight = 1.0",
            "nothing of \"fingers\" can touch anything of \"disk\"",
        ),
        (
            "held = 3",
            "held = 3\n[[force]]\na = \"fingers\"\nb = \"disc\"\nweight = -1.0",
            "force: expected numbers from 0 up",
        ),
        (
            "held = 3",
            "held = 3\n[reach]\npoints = [{ link = \"fingers/left_2\", weigth = 1.0 }]",
            "expected a body's name or",
        ),
        (
            "held = 3",
            "held = 3\n[[order]]\npoints = [\"fingers/left_2\"]\naxis = [0, 1, 0]\nweight = 1.0",
            "order: expected two points or more",
        ),
        (
            "held = 3",
            "held = 3\n[[order]]\npoints = [\"fingers/left_2\", \"fingers/right_2\"]\naxis = [0, 0, 0]\nweight = 1.0",
            "order: expected an axis",
        ),
        ("posture = 0.001", "closure = -1.0", "weights.closure: expected a number from 0 up"),
        ("held = 3", "held = 0", "success.held: expected at least 1"),
        ("two_fingers.toml", "no.toml", "no.toml"),
        ("[weights]", "[weight]", "weight"),
    ];
    for (good, bad, expected) in cases {
        assert!(DISC.contains(good), "{good}");
        let message =
            Task::from_toml(&DISC.replacen(good, bad, 1), Path::new("assets/scenes")).unwrap_err().to_string();
        assert!(message.contains(expected), "{bad}: {message}");
    }
    let start = format!("{DISC}[start]\njoints = {{ \"fingers/left_1\" = 10 }}\n");
    let beyond = Task::from_toml(&start, Path::new("assets/scenes")).unwrap_err().to_string();
    assert!(
        beyond.starts_with("start: joints: fingers/left_1: expected from ") && beyond.ends_with(", got 10"),
        "{beyond}"
    );
    let scene = std::fs::read_to_string("assets/scenes/two_fingers.toml").unwrap();
    let message = Task::from_toml(&scene, Path::new("assets/scenes")).unwrap_err().to_string();
    assert!(
        message.starts_with("scene: expected a task") && message.ends_with("but this is a scene itself"),
        "{message}"
    );
    // What the task says is the task's mistake, not its scene's.
    let stiff = DISC.replacen("kappa = 1e4", "kappa = 1e4\nimpratio = 0", 1);
    let message = Task::from_toml(&stiff, Path::new("assets/scenes")).unwrap_err().to_string();
    assert_eq!(message, "impratio: expected from 1 to 1000000, got 0");
}

/// A task whose goal is a joint of the valve.
fn valve(goal: &str) -> fingertip::Result<Task> {
    let text = format!(
        "scene = \"valve.toml\"\n[command]\ntype = \"relative\"\nbound = 0.01\n[goal]\nobject = \"valve\"\n{goal}\n[weights]\njoints = \
         1.0\n[success]\njoints = 0.02\n"
    );
    Task::from_toml(&text, "assets/scenes")
}

#[test]
fn goals_of_joints() {
    let task = valve("joints = { stem = { low = 1.0, high = 2.0 } }").unwrap();
    let episode = task.episode(0, 3).unwrap();
    let stem = episode.goal.joints["stem"];
    assert!((1.0..2.0).contains(&stem) && episode.goal.position.is_none());
    // The stem is the first number of q.
    let mut q = episode.start.q.clone();
    assert_eq!(task.errors(&episode.goal, &q).unwrap().joints, Some(stem));
    q[0] = stem - 0.03;
    let errors = task.errors(&episode.goal, &q).unwrap();
    assert!((errors.joints.unwrap() - 0.03).abs() < 1e-12 && !task.is_small(&errors));
    q[0] = stem - 0.01;
    assert!(task.is_small(&task.errors(&episode.goal, &q).unwrap()));
    assert_eq!(task.at_goal(&episode.goal, &q).unwrap()[0], stem);
    // From where it starts, and without a wrap.
    let start = "joints = { stem = 6.0 }\nfrom = \"start\"\n[start.objects.valve]\njoints = { stem = 0.5 }";
    let task = valve(start).unwrap();
    let episode = task.episode(0, 0).unwrap();
    assert_eq!((episode.start.q[0], episode.goal.joints["stem"]), (0.5, 6.5));
    for (goal, expected) in [
        ("joints = { stemm = 1.0 }", "goal: joints of \"valve\": there is no joint \"stemm\"; did you mean \"stem\"?"),
        ("joints = { stem = [1.0, 2.0] }", "goal: stem: expected 1 numbers, got 2"),
        ("joints = { stem = \"open\" }", "expected a number"),
        ("rpy = [0.0, 0.0, 1.0]", "\"valve\" cannot move as a whole; expected joints, as in joints = { stem = 1.0 }"),
        ("", "\"valve\" cannot move as a whole; expected joints"),
        ("joints = { stem = 1.0 }\n[start.objects.valve]\nposition = [0.0, 0.0, 0.0]", "cannot move as a whole"),
        ("joints = { stem = 1e9 }", "at most 1e6 rad or m"),
    ] {
        let message = valve(goal).unwrap_err().to_string();
        assert!(message.contains(expected), "{goal}: {message}");
    }
}

/// The plan turns the valve, on the model itself.
#[test]
fn a_valve_is_turned() {
    reaches(&fingertip::shipped::task("valve").unwrap());
}

fn reaches(task: &Task) {
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let (simulator, mut q) = (task.simulator(), episode.start.q.clone());
    let mut progress = fingertip::mpc::task::Progress::default();
    while !task.is_over(&progress) {
        let answer = controller.command(&q, None).unwrap();
        let held = simulator.advance(&q, &answer.u, None).unwrap();
        q = held.q[held.q.len() - q.len()..].to_vec();
        task.count(&mut progress, &task.errors(&episode.goal, &q).unwrap());
    }
    assert!(progress.success.is_some(), "{:?}", task.errors(&episode.goal, &q));
}

/// The two pucks with other lines for the goals of others.
fn pucks(others: &str) -> fingertip::Result<Task> {
    let text = std::fs::read_to_string("assets/tasks/two_pucks.toml").unwrap();
    let (before, rest) = text.split_once("[goal.others.blue]").unwrap();
    let (_, after) = rest.split_once("[weights]").unwrap();
    Task::from_toml(&format!("{before}{others}\n[weights]{after}"), "assets/tasks")
}

/// The errors are each object's own, the largest of them counts, and all objects have to be there.
#[test]
fn goals_of_several_objects() {
    let task =
        pucks("[goal.others.blue]\nposition = [0.06, -0.08]\n[goal.others.tips]\njoints = { z2 = 0.05 }").unwrap();
    let episode = task.episode(0, 0).unwrap();
    assert_eq!(episode.goal.others["blue"].position, Some([0.06, -0.08, 0.0]));
    // q: red x y θ, blue x y θ, then the slides x, y and z of three tips.
    let mut q = task.at_goal(&episode.goal, &episode.start.q).unwrap();
    assert_eq!(
        (q[..2].to_vec(), &q[3..5], q[14]),
        (episode.goal.position.unwrap()[..2].to_vec(), &[0.06, -0.08][..], 0.05)
    );
    assert_eq!(q[6..14], episode.start.q[6..14]);
    assert!(task.is_small(&task.errors(&episode.goal, &q).unwrap()));
    let there = q.clone();
    for (place, off, object) in [(0, 0.006, "red"), (4, 0.007, "blue"), (14, 0.004, "tips")] {
        q.clone_from(&there);
        q[place] += off;
        let (all, each) = (task.errors(&episode.goal, &q).unwrap(), task.errors_by_object(&episode.goal, &q).unwrap());
        let error = |errors: &fingertip::mpc::task::Errors| {
            errors.joints.filter(|_| object == "tips").or(errors.position).unwrap()
        };
        assert!((error(&each[object]) - off).abs() < 1e-12 && (error(&all) - off).abs() < 1e-12, "{object}: {each:?}");
        assert!(!task.is_small(&all), "{object}: {all:?}");
        assert_eq!(each.values().filter(|errors| task.is_small(errors)).count(), 2, "{object}: {each:?}");
    }
    // What a relative goal counts from is its own object's start.
    let task = pucks("[goal.others.blue]\nfrom = \"start\"\nposition = [0.01, 0.02]").unwrap();
    let [x, y, _] = task.episode(0, 0).unwrap().goal.others["blue"].position.unwrap();
    assert!((x - 0.01).abs() < 1e-12 && (y + 0.06).abs() < 1e-12);
    for (others, expected) in [
        (
            "[goal.others.blu]\nposition = [0.0, 0.0]",
            "goal.others.blu: object: there is no movable object \"blu\"; did you mean \"blue\"?",
        ),
        ("[goal.others.red]\nposition = [0.0, 0.0]", "goal.others.red: expected another than the goal's own object"),
        ("[goal.others.blue]", "goal.others.blue: expected a position, a rotation, an axis or joints"),
        ("[goal.others.blue]\nposition = [0.0]", "goal.others.blue: position: expected 2 numbers, got 1"),
        (
            "[goal.others.blue]\nposition = [0.0, 0.0]\nweight = -1.0",
            "goal.others.blue: weight: expected a number from 0 up",
        ),
        (
            "[goal.others.blue]\nposition = [0.0, 0.0]\nfrom = \"here\"",
            "goal.others.blue: from: there is no frame \"here\"",
        ),
        ("[goal.others.tips]\njoints = { z3 = 0.0 }", "goal.others.tips: joints of \"tips\": there is no joint \"z3\""),
        ("[goal.others.blue]\nfile = \"goals.csv\"", "unknown field `file`"),
    ] {
        let message = pucks(others).unwrap_err().to_string();
        assert!(message.contains(expected), "{others}: {message}");
    }
}

/// A task in a folder of its own with a file goals.csv of this text.
fn listed(name: &str, text: &str, csv: &str) -> fingertip::Result<Task> {
    let folder = std::env::temp_dir().join(format!("fingertip-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("goals.csv"), csv).unwrap();
    let scenes = std::fs::canonicalize("assets/scenes").unwrap();
    let text = text.replace("scene = \"", &format!("scene = \"{}/", scenes.to_str().unwrap()));
    let task = Task::from_toml(&text, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    task
}

/// A row has the goals and the starts of all objects and the robot's joints, each under its own names; what a goal says
/// itself is drawn beside.
#[test]
fn goals_of_several_objects_from_a_list() {
    let pucks = |others: &str, csv: &str| {
        let head = "scene = \"two_pucks.toml\"\n[command]\ntype = \"relative\"\nbound = 0.01\n[weights]\nposition = 1.0\n[goal]\nobject \
                    = \"red\"\nfile = \"goals.csv\"\nstart = true\n";
        listed("pucks", &format!("{head}{others}"), csv)
    };
    let others = "[goal.others.blue]\nweight = 2.0\n[goal.others.tips]\njoints = { z2 = 0.05 }\n";
    let header = "id,goal_x,goal_y,goal_theta,init_x,init_y,init_theta,blue.goal_x,blue.goal_y,blue.goal_theta";
    let csv = format!(
        "{header},blue.init_x,blue.init_y,blue.init_theta\na,1,2,3,4,5,6,7,8,9,10,11,12\n\nb,0,0,0,0,0,0,-7,-8,-9,1,1,1\n"
    );
    let task = pucks(others, &csv).unwrap();
    assert_eq!(task.n_goals(), Some(2));
    let episode = task.episode(0, 2).unwrap();
    assert_eq!(episode.start.q[..6], [4.0, 5.0, 6.0, 10.0, 11.0, 12.0]);
    let blue = &episode.goal.others["blue"];
    assert_eq!((blue.position, blue.turn), (Some([7.0, 8.0, 0.0]), Some(Turn::Yaw(9.0))));
    assert_eq!((episode.goal.position, episode.goal.others["tips"].joints["z2"]), (Some([1.0, 2.0, 0.0]), 0.05));
    assert_eq!(task.episode(0, 1).unwrap().goal.others["blue"].position, Some([-7.0, -8.0, 0.0]));
    // Joints of the robot from the list; a start only where there are columns for it.
    let tips = "[goal.others.blue]\nposition = [0.0, 0.1]\n[goal.others.tips]\n";
    let csv = "tips.goal_z2,goal_x,goal_y,goal_theta,init_x,init_y,init_theta,tips.goal_x0\n0.06,1,2,3,4,5,6,0.01\n";
    let episode = pucks(tips, csv).unwrap().episode(0, 0).unwrap();
    let joints: Vec<_> = episode.goal.others["tips"].joints.iter().map(|(name, x)| (name.as_str(), *x)).collect();
    assert_eq!(joints, [("x0", 0.01), ("z2", 0.06)]);
    let row = |header: &str, row: &str| {
        format!("goal_x,goal_y,goal_theta,init_x,init_y,init_theta,{header}\n1,2,3,4,5,6,{row}\n")
    };
    for (others, csv, expected) in [
        (
            "[goal.others.blue]",
            row("blue.goal_x,blue.goal_y", "1,2"),
            "goals.csv: line 1: expected a column \"blue.goal_theta\"",
        ),
        (
            "[goal.others.blue]",
            row("blue.goal_x,blue.goal_y,blue.goal_thta", "1,2,3"),
            "goals.csv: line 1: column \"blue.goal_thta\": there is no coordinate \"thta\"; did you mean \"theta\"?",
        ),
        (
            "[goal.others.blue]",
            row("blue.goal_x,blue.goal_y,blue.goal_theta", "1,two,3"),
            "goals.csv: line 2: blue.goal_y: expected a finite number, got \"two\"",
        ),
        (
            "[goal.others.blue]",
            row("blue.goal_x,blue.goal_y,blue.goal_theta", "1,2"),
            "goals.csv: line 2: blue.goal_theta: expected a finite number, got \"\"",
        ),
        (
            "[goal.others.blue]",
            row("blue.goal_x,blue.goal_x", "1,2"),
            "goals.csv: line 1: expected each column once, got \"blue.goal_x\" twice",
        ),
        (
            "[goal.others.blue]\nposition = [0.0, 0.0]",
            row("blue.goal_x,blue.goal_y,blue.goal_theta", "1,2,3"),
            "goal.others.blue: expected a goal or columns in the file, got both",
        ),
        (
            "[goal.others.tips]",
            row("blue.goal_x", "1"),
            "goals.csv: line 1: column \"blue.goal_x\": there is no table in goal.others \"blue\"",
        ),
        (
            "[goal.others.blue]",
            row("id", "1"),
            "goal.others.blue: expected a position, a rotation, an axis or joints, or columns in the file",
        ),
        ("[goal.others.tips]", row("tips.goal_z3", "1"), "column \"tips.goal_z3\": there is no coordinate \"z3\""),
    ] {
        let message = pucks(others, &csv).unwrap_err().to_string();
        assert!(message.contains(expected), "{others}, {csv}: {message}");
    }
}

/// A list of angles of the valve's stem, which has no pose.
#[test]
fn goals_of_joints_from_a_list() {
    let valve = |csv: &str| {
        let text = "scene = \"valve.toml\"\n[command]\ntype = \"relative\"\nbound = 0.01\n[goal]\nobject = \"valve\"\nfile = \
                    \"goals.csv\"\nstart = true\n[weights]\njoints = 1.0\nreach = 1.0\n";
        listed("stems", text, csv)
    };
    let episode = valve("goal_stem,init_stem\n1.5,0.5\n").unwrap().episode(0, 0).unwrap();
    assert_eq!((episode.start.q[0], episode.goal.joints["stem"], episode.goal.position), (0.5, 1.5, None));
    let message = valve("goal_stemm,init_stem\n1,0\n").unwrap_err().to_string();
    assert!(message.contains("goals.csv: line 1: expected a column \"goal_stem\""), "{message}");
    let message = valve("goal_stem,init_stem\n1,nan\n").unwrap_err().to_string();
    assert!(message.contains("goals.csv: line 2: init_stem: expected a finite number, got \"nan\""), "{message}");
}

/// The plan takes all objects to their goals, on the model itself.
#[test]
fn two_pucks_are_pushed() {
    reaches(&fingertip::shipped::task("two_pucks").unwrap());
}

#[test]
fn commands_keep_to_the_joints_speeds() {
    // The robot's file says 5 rad/s, a control period is 0.1 s.
    let change = |text: &str| {
        let task = task(text);
        let problem = task.problems(&task.episode(0, 0).unwrap()).unwrap().remove(0);
        (problem.simulator.joints()[0].velocity, problem.command.change)
    };
    let (velocity, own) = change(DISC);
    assert_eq!((velocity, own[0]), (5.0, 0.5));
    let with = |keys: &str| change(&DISC.replace("bound = 0.1", &format!("bound = 0.1\n{keys}"))).1;
    assert_eq!(with("speed = 100.0"), own);
    let slower = with("speed = { \"fingers/left_1\" = 0.5 }");
    assert_eq!((slower[0], slower[1]), (0.05, 0.5));
    assert_eq!(with("limits = false"), [f64::INFINITY; 4]);
}

#[test]
fn keys_of_a_task_are_replaced() {
    let disc = disc();
    let more = [("horizon", Some(9.into())), ("command.bound", Some(0.2.into())), ("weights.terminal.position", None)];
    let other = disc.with_keys(&more).unwrap();
    let problem = |task: &Task| task.problems(&task.episode(0, 0).unwrap()).unwrap().remove(0);
    let (before, after) = (problem(&disc), problem(&other));
    assert_eq!((before.horizon, after.horizon), (6, 9));
    assert_eq!((before.command.bound[0], after.command.bound[0]), (0.1, 0.2));
    assert_eq!((before.objective.terms[0].terminal, after.objective.terms[0].terminal), (1000.0, 100.0));
    assert_eq!((disc.key("command.bound"), other.key("command.bound")), (Some(0.1.into()), Some(0.2.into())));
    assert_eq!(disc.key("command.speed"), None);
    let error = disc.with_keys(&[("horizon", Some(0.into()))]).unwrap_err().to_string();
    assert!(error.contains("horizon: expected at least 1, got 0"), "{error}");
}

/// A scene's keys in its task are the scene of the file, and what is wrong with them is said by the thing.
#[test]
fn a_task_may_have_its_scene_in_itself() {
    let scene = std::fs::read_to_string("assets/scenes/two_fingers.toml").unwrap();
    let mut keys: toml::Table = DISC.parse().unwrap();
    keys.insert("scene".to_owned(), toml::Value::Table(scene.parse().unwrap()));
    let (own, of_file) = (task(&keys.to_string()), disc());
    let first = |task: &Task| {
        let episode = task.episode(0, 0).unwrap();
        let mut controller = task.controller(&episode).unwrap();
        controller.command(&episode.start.q, None).unwrap().u
    };
    assert_eq!(first(&own), first(&of_file));
    assert_eq!(own.with_keys(&[("horizon", Some(3.into()))]).unwrap().horizon(), 3);
    let Some(SceneOf::Keys(read)) = Task::scene_of(own.text()) else { panic!("expected keys") };
    assert_eq!(read.to_string(), own.scene_text);
    assert_eq!(Task::scene_of(DISC), Some(SceneOf::File("two_fingers.toml".to_owned())));
    assert_eq!(Task::scene_of(&scene), None);
    let wrong = keys.to_string().replace("freedom = \"planar\"", "freedm = \"planar\"");
    let error = Task::from_toml(&wrong, Path::new("assets/scenes")).unwrap_err().to_string();
    assert!(error.starts_with("scene: object \"disc\": unknown field `freedm`; did you mean `freedom`?"), "{error}");
}

/// A value that cannot be read is said with its key.
#[test]
fn values_that_cannot_be_read_have_their_keys() {
    let error = |text: &str| Task::from_toml(text, Path::new("assets/scenes")).unwrap_err().to_string();
    let found = error(&DISC.replace("bound = 0.1", "bound = \"much\""));
    assert!(found.starts_with("line 10: bound: expected a number, or numbers by joint"), "{found}");
}

/// The example in the docs, with a robot that does not come with the program.
#[test]
fn the_gripper_of_the_docs_carries_its_block() {
    let task = Task::load("crates/plan/docs/gripper/lift.toml").unwrap();
    let episode = task.episode(0, 0).unwrap();
    let mut controller = task.controller(&episode).unwrap();
    let mut plant = Plant::new(&task, &Options::default(), 0, &episode).unwrap();
    let mut progress = Progress::default();
    while !task.is_over(&progress) {
        let u = controller.command(&plant.q, None).unwrap().u;
        plant.advance(&u).unwrap();
        task.count(&mut progress, &task.errors(&episode.goal, &plant.q).unwrap());
    }
    assert!(progress.success.is_some(), "{:?}", task.errors(&episode.goal, &plant.q).unwrap());
}

/// Two tips are written 1.5 mm inside a pen: that is told, or they begin on its surface and their springs are pulled by
/// as much.
#[test]
fn starts_in_overlap_are_told_or_moved_apart() {
    let apart = fingertip::shipped::task("pen").unwrap();
    let told = apart.with_keys(&[("start.apart", None)]).unwrap();
    let episode = told.episode(0, 3).unwrap();
    let depths: Vec<_> = told.overlaps(&episode.start.q).unwrap().iter().map(|of| (of.a.clone(), of.depth)).collect();
    assert!(depths.len() == 2 && depths.iter().all(|(_, depth)| (depth - 1.5e-3).abs() < 1e-9), "{depths:?}");
    let lines = told.start_warnings(3, &episode.start.q).unwrap();
    let expected = "at the start of episode 3 \"tips/tip0\" and \"pen\" overlap by 1.500 mm";
    assert!(lines.len() == 2 && lines.iter().any(|line| line.starts_with(expected)), "{lines:?}");
    let moved = apart.episode(0, 3).unwrap();
    assert_eq!(apart.start_warnings(3, &moved.start.q).unwrap(), Vec::<String>::new());
    assert_eq!(moved.start.u, episode.start.u);
    for (k, joint) in apart.simulator().joints().iter().enumerate().filter(|(_, joint)| joint.name.contains("/y")) {
        let pulled = if joint.name == "tips/y2" { 0.0 } else { 1.5e-3 };
        let off = (moved.start.u[k] - moved.start.q[joint.q]).abs();
        assert!((off - pulled).abs() < 1e-4, "{}: {off}", joint.name);
    }
}

/// A tip deep inside a block of two boxes is pushed to both sides: no step parts them.
#[test]
fn a_start_that_nothing_parts_is_an_error() {
    let task = fingertip::shipped::task("push_t").unwrap();
    let apart = task.with_keys(&[("start.apart", Some(true.into()))]).unwrap();
    let depth = |number| task.overlaps(&task.episode(0, number).unwrap().start.q).unwrap()[0].depth;
    assert!(depth(12) < 5e-3 && depth(7) > 2e-2);
    assert!(apart.overlaps(&apart.episode(0, 12).unwrap().start.q).unwrap().is_empty());
    let message = apart.episode(0, 7).unwrap_err().to_string();
    let expected =
        "start: apart: expected a start that 50 steps move apart, but \"pusher/tip\" and \"block\" overlap by";
    assert!(message.contains(expected), "{message}");
}

/// The tips' links and slides, in a row, are 1.712 m long, and the pen's ends are 65 mm from its middle: it is lost
/// where all of it is farther than twice that length, or than the task says beyond the length itself.
#[test]
fn an_object_beyond_reach_is_lost_and_ends_the_episode() {
    let task = fingertip::shipped::task("pen").unwrap();
    let near = task.with_keys(&[("lost", Some(0.1.into()))]).unwrap();
    let reach = 0.2_f64.hypot(0.03) + 3.0 * 0.5 + 0.01;
    let episode = task.episode(0, 0).unwrap();
    let errors = |task: &Task, z: f64| {
        let mut q = episode.start.q.clone();
        q[2] = z;
        task.errors(&episode.goal, &q).unwrap()
    };
    for (task, limit) in [(&task, 2.0 * reach + 0.065), (&near, reach + 0.1 + 0.065)] {
        assert!(!errors(task, -limit + 1e-6).lost && !errors(task, limit - 1e-6).lost, "{limit}");
        assert!(errors(task, -limit - 1e-6).lost && errors(task, limit + 1e-6).lost, "{limit}");
    }
    assert!(!errors(&task, f64::NAN).lost, "what is not measured is not lost");
    let mut progress = Progress::default();
    task.count(&mut progress, &errors(&task, -3.0));
    assert!(!task.is_over(&progress));
    task.count(&mut progress, &errors(&task, -4.0));
    assert!(task.is_over(&progress) && progress.lost && progress.success.is_none());
    let message = task.with_keys(&[("lost", Some((-1.0).into()))]).unwrap_err().to_string();
    assert!(message.contains("lost: expected a positive number, got -1"), "{message}");
}
