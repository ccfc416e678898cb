//! Goal after goal, and the supervisor over the planner.

use std::path::Path;

use fingertip::mpc::task::{End, Episode};
use fingertip::mpc::{Doing, Measured, Simulator, Stall, Supervisor, Task};
use nalgebra::{Quaternion, UnitQuaternion};

use super::{DISC, largest, task};

/// The disc, goal after goal.
fn disc_sequence(more: &str) -> Task {
    let goal = "position = { low = [0.13, -0.01], high = [0.15, 0.01] }\nyaw = { low = -0.3, high = 0.3 }";
    let text = DISC.replace("position = [0.145, 0.01]\nyaw = 0.2", goal);
    task(&format!("{text}[sequence]\ngoals = 6\nleast = 0.1\ndrop = 0.05\n{more}"))
}

/// A supervised run on the task's model with harder contacts: each period's state and what the supervisor did in it.
struct Run {
    supervisor: Supervisor,
    plant: Simulator,
    periods: Vec<(Vec<f64>, Doing)>,
}

impl Run {
    fn new(task: &Task, episode: &Episode) -> Self {
        let plant = task.simulator().with_kappa(1e6).unwrap();
        Self { supervisor: Supervisor::new(task, episode).unwrap(), plant, periods: Vec::new() }
    }

    /// A period from q: the next state.
    fn period(&mut self, q: &[f64]) -> Vec<f64> {
        let answer = self.supervisor.answer(&Measured { q: q.to_vec(), ..Measured::default() }, None).unwrap();
        self.periods.push((q.to_vec(), self.supervisor.doing()));
        let held = self.plant.advance(q, &answer.u, &[]).unwrap();
        held.q[held.q.len() - q.len()..].to_vec()
    }
}

#[test]
fn goals_in_a_row() {
    let task = disc_sequence("");
    assert!(task.supervision.is_some() && disc_sequence("[supervisor]\non = false\n").supervision.is_none());
    let episode = task.episode(0, 0).unwrap();
    let mut sequence = task.sequence(0, &episode).unwrap();
    let mut run = Run::new(&task, &episode);
    let (mut q, mut goals) = (episode.start.q.clone(), vec![episode.goal.clone()]);
    while sequence.ended.is_none() {
        q = run.period(&q);
        let errors = task.errors(&goals[goals.len() - 1], &q).unwrap();
        if let Some(goal) = sequence.count(&task, &errors, &q).unwrap() {
            // It is as far as was asked for, counted from where the object is.
            assert!(task.errors(&goal, &q).unwrap().rotation.unwrap() >= 0.1);
            run.supervisor.set_goal(goal.clone()).unwrap();
            goals.push(goal);
        }
    }
    assert_eq!((sequence.ended, sequence.reached.len(), goals.len()), (Some(End::Goals), 6, 6));
    // The same seed draws the same goals for the same states, another seed others.
    assert_eq!(task.episode(0, 0).unwrap().goal, goals[0]);
    assert_ne!(task.episode(1, 0).unwrap().goal, goals[0]);
}

/// Without the task's measure being met a sequence ends by its cap; where the object is lost, at once.
#[test]
fn how_sequences_end() {
    let task = disc_sequence("");
    let episode = task.episode(0, 0).unwrap();
    let ends = |q: &[f64]| {
        let mut sequence = task.sequence(0, &episode).unwrap();
        let errors = task.errors(&episode.goal, q).unwrap();
        let mut periods = 0;
        while sequence.ended.is_none() {
            assert_eq!(sequence.count(&task, &errors, q).unwrap(), None);
            periods += 1;
        }
        (sequence.ended.unwrap(), periods)
    };
    let mut lost = episode.start.q.clone();
    lost[0] += 0.1;
    assert_eq!((ends(&episode.start.q), ends(&lost)), ((End::Stall, task.cap), (End::Drop, 1)));
}

/// All orientations are drawn evenly: the mean rotation matrix is 0, and each of the 24 quarters comes as often.
#[test]
fn random_orientations() {
    let text = |rotation: &str| {
        format!(
            "scene = \"allegro_cube.toml\"\n[command]\ntype = \"relative\"\nbound = 0.1\n[goal]\nobject = \"cube\"\nposition = \
             [0.065, 0.0, 0.0]\nlowest = 0.0118\nrotation = \"{rotation}\"\n[weights]\nrotation = 1.0\n"
        )
    };
    let drawn = |rotation: &str| -> Vec<_> {
        let task = task(&text(rotation));
        let turn = |number| {
            let goal = task.episode(0, number).unwrap().goal;
            let Some(fingertip::mpc::cost::Turn::Quaternion([w, x, y, z])) = goal.turn else { panic!("{goal:?}") };
            let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)).to_rotation_matrix();
            // The rounded cube, 27 mm and 3 mm, stands 2 mm above the palm.
            let half: f64 = turn.matrix().row(2).iter().map(|x| 0.027 * x.abs()).sum();
            assert!((goal.position.unwrap()[2] - half - 0.003 - 0.0118).abs() < 1e-12, "{goal:?}");
            turn
        };
        (0..2400).map(turn).collect()
    };
    let all = drawn("any");
    let mean = all.iter().map(|turn| turn.matrix()).sum::<nalgebra::Matrix3<f64>>() / 2400.0;
    // Entries have variance 1/3: five deviations of the mean.
    assert!(mean.amax() < 5.0 * (1.0_f64 / 3.0 / 2400.0).sqrt(), "{mean}");
    let mut quarters = std::collections::BTreeMap::new();
    for turn in drawn("quarters") {
        let key: Vec<i32> = turn.matrix().iter().map(|x| x.round() as i32).collect();
        assert!(turn.matrix().iter().all(|x| (x - x.round()).abs() < 1e-12));
        *quarters.entry(key).or_insert(0) += 1;
    }
    assert!(quarters.len() == 24 && quarters.values().all(|n| (50..150).contains(n)), "{quarters:?}");
    let message = Task::from_toml(&text("all"), Path::new("assets/scenes")).unwrap_err().to_string();
    assert!(message.contains("\"any\" or \"quarters\""), "{message}");
}

/// A tip beside the wrong side of a box never moves it by gradients alone. The supervisor sees that nothing touches, and samples.
#[test]
fn a_start_that_never_moves() {
    let text = std::fs::read_to_string("assets/tasks/planar_push_back.toml").unwrap();
    let text = text.replace("../scenes/", "").replace("method = \"hybrid\"", "method = \"ilqr\"");
    let moved = |text: &str| {
        let task = task(text);
        let episode = task.episode(0, 0).unwrap();
        let mut run = Run::new(&task, &episode);
        let mut q = episode.start.q.clone();
        for _ in 0..60 {
            q = run.period(&q);
        }
        ((q[0] - episode.start.q[0]).hypot(q[1] - episode.start.q[1]), run.supervisor)
    };
    let (plain, _) = moved(&text);
    let (supervised, by) = moved(&format!("{text}\n[supervisor]\nstall = 0.5\n"));
    assert!(plain < 1e-3 && supervised > 0.02, "{plain} {supervised}");
    let (times, stalls) = (by.times(), by.stalls());
    assert!(times[&Doing::Sample] > 0 && stalls["nothing touches the object"] > 0, "{times:?} {stalls:?}");
}

/// A goal straight across the fingers, 0.6 rad about y from where the cube lies: planned in one world and plain it never moves, with the supervisor it does.
#[test]
fn an_aligned_start() {
    let text = std::fs::read_to_string("assets/tasks/allegro_cube_hardware.toml").unwrap().replace("../scenes/", "");
    let text = text.replace(
        "file = \"../goals/allegro_hw.csv\"\nstart = true",
        "position = [0.065, 0.0, 0.0]\nlowest = 0.0118\nrpy = [0.0, 0.6, 0.0]",
    );
    let left = |text: &str| {
        let task = task(text);
        let episode = task.episode(0, 0).unwrap();
        let mut run = Run::new(&task, &episode);
        let mut q = episode.start.q.clone();
        for _ in 0..60 {
            q = run.period(&q);
        }
        (task.errors(&episode.goal, &q).unwrap().rotation.unwrap(), run.supervisor.stalls().clone())
    };
    let ((plain, none), (supervised, stalls)) = (left(&text), left(&format!("{text}[supervisor]\n")));
    assert!(plain > 0.5 && none.is_empty() && supervised < 0.1, "{plain} {supervised}");
    assert!(stalls["the object has not moved"] > 0, "{stalls:?}");
}

/// A goal out of reach stalls. The fingers let go and go home, and the disc stays where it is.
#[test]
fn a_retreat_leaves_the_object() {
    let text = DISC.replace("position = [0.145, 0.01]", "position = [0.4, 0.0]").replace("cap = 60", "cap = 200");
    let task = task(&format!("{text}[supervisor]\nstall = 0.5\n"));
    let episode = task.episode(0, 0).unwrap();
    let mut run = Run::new(&task, &episode);
    let mut q = episode.start.q.clone();
    for _ in 0..120 {
        q = run.period(&q);
    }
    // The last thing that it did may not be at its end.
    let mut done: Vec<&[(Vec<f64>, Doing)]> = run.periods.chunk_by(|a, b| a.1 == b.1).collect();
    done.pop();
    let retreats: Vec<_> = done.into_iter().filter(|periods| periods[0].1 == Doing::Retreat).collect();
    assert!(!retreats.is_empty());
    for retreat in retreats {
        let (first, last) = (&retreat[0].0, &retreat[retreat.len() - 1].0);
        let moved = (last[0] - first[0]).hypot(last[1] - first[1]);
        let joints = task.simulator().joints().iter();
        let from_home = |q: &[f64]| largest(joints.clone().map(|joint| q[joint.q] - episode.start.q[joint.q]));
        let [before, after] = [first, last].map(|q| from_home(q));
        println!(
            "moved {:.2} mm in {} periods, joints {before:.2} and {after:.2} rad from home",
            1e3 * moved,
            retreat.len()
        );
        assert!(moved < 2e-3 && before > 0.3 && after < 0.2, "{moved} {before} {after}");
    }
}

/// Two fingers on rails that cross, both before the crossing and to go beyond it: they meet there, each in the other's way, and neither gives way to
/// the other. A retreat brings them home one after the other, whether plans have the contact of the fingers or it shows in that they do not move.
#[test]
fn crossed_fingers_go_home_one_after_the_other() {
    let finger = |name: &str, y: f64| {
        format!(
            r#"<joint name="{name}" type="prismatic"><parent link="base"/><child link="{name}_tip"/><axis xyz="1 {y} 0"/>
            <limit lower="-1" upper="1" effort="100" velocity="5"/></joint>
            <link name="{name}_tip"><inertial><mass value="0.02"/>
            <inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial>
            <collision><geometry><sphere radius="0.015"/></geometry></collision></link>"#
        )
    };
    let urdf =
        format!("<robot name=\"crossing\"><link name=\"base\"/>{}{}</robot>", finger("a", 1.0), finger("b", -1.0));
    let scene = r#"
        [params]
        h = 0.02
        epsilon = 1.0
        kappa = 1e4
        mu = 0.1
        contact_distance = 0.1
        gravity = [0.0, 0.0, 0.0]
        [[object]]
        name = "disc"
        cylinder = [0.02, 0.02]
        mass = 0.2
        freedom = "planar"
        position = [0.6, 0.0, 0.0]
        [[robot]]
        name = "crossing"
        urdf = "crossing.urdf"
        stiffness = 50.0
        home = { a = 0.15, b = 0.15 }
    "#;
    let apart = "[[pair]]\na = \"crossing\"\nb = \"crossing\"\nenabled = false\n";
    let text = r#"
        scene = "crossing.toml"
        hold = 5
        horizon = 6
        [command]
        type = "relative"
        bound = 0.02
        [goal]
        object = "disc"
        position = [0.8, 0.0]
        [weights]
        position = 1.0
        command = 0.001
        [supervisor]
        stall = 0.3
    "#;
    let folder = std::env::temp_dir().join(format!("fingertip-crossing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("crossing.urdf"), urdf).unwrap();
    let [plant, unaware] = ["", apart].map(|more| {
        std::fs::write(folder.join("crossing.toml"), format!("{scene}{more}")).unwrap();
        Task::from_toml(text, folder.as_path()).unwrap()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    for task in [&plant, &unaware] {
        let episode = task.episode(0, 0).unwrap();
        let mut run = Run { plant: Run::new(&plant, &episode).plant, ..Run::new(task, &episode) };
        let joints: Vec<usize> = task.simulator().joints().iter().map(|joint| joint.q).collect();
        let mut q = episode.start.q.clone();
        joints.iter().for_each(|&joint| q[joint] = -0.05);
        for _ in 0..80 {
            q = run.period(&q);
        }
        let does: Vec<_> = run.periods.chunk_by(|a, b| a.1 == b.1).collect();
        let at = does.iter().position(|periods| periods[0].1 == Doing::Retreat).unwrap();
        let farthest = |q: &[f64]| largest(joints.iter().map(|&joint| q[joint] - episode.start.q[joint]));
        // The 2 s of all fingers, and then those of one after the other: less than 0.1 m off is home.
        let (retreat, after) = (does[at], &does[at + 1][0].0);
        let together = farthest(&retreat[20].0);
        assert!(together > 0.15 && farthest(after) < 0.1, "{together} {} {}", farthest(after), retreat.len());
    }
}

/// Stalls are told apart, and said.
#[test]
fn what_a_stall_says() {
    let said =
        [Stall::NoContact, Stall::Aligned, Stall::NoGradient, Stall::Limit("hand/thumb_0".to_owned()), Stall::Minimum];
    let said: std::collections::BTreeSet<String> = said.iter().map(ToString::to_string).collect();
    assert!(said.len() == 5 && said.contains("hand/thumb_0 is at its limit"), "{said:?}");
}

#[test]
fn mistakes_are_named() {
    let sequence = |more: &str| format!("{DISC}[sequence]\n{more}");
    let no_position = DISC.replace("position = [0.145, 0.01]\n", "");
    for (text, expected) in [
        (sequence("goals = 0"), "sequence.goals: expected at least 1, got 0"),
        (sequence("drop = -1.0"), "sequence.drop: expected a positive number, got -1"),
        (sequence("least = 0.0"), "sequence.least: expected a positive number, got 0"),
        (sequence("dropp = 1.0"), "dropp"),
        (format!("{no_position}[sequence]\ndrop = 0.1"), "sequence.drop: expected a goal with a position"),
        (format!("{DISC}[supervisor]\nstall = 0.0"), "supervisor.stall: expected a positive number, got 0"),
        (format!("{DISC}[supervisor]\nsubgoal = nan"), "supervisor.subgoal: expected a positive number, got NaN"),
        (DISC.replace("yaw = 0.2", "yaw = 0.2\nlowest = 0.1"), "goal: lowest: expected a free body without joints"),
        (no_position.replace("yaw = 0.2", "yaw = 0.2\nlowest = 0.1"), "goal: lowest: expected a position beside it"),
    ] {
        let message = Task::from_toml(&text, Path::new("assets/scenes")).unwrap_err().to_string();
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// Of several objects each is brought back that is away, though the task's own is not.
#[test]
fn another_object_is_brought_back() {
    let text = std::fs::read_to_string("assets/tasks/two_pucks.toml").unwrap();
    let task = format!("{text}\n[supervisor]\naway = 0.15\nstall = 100.0\n");
    let task = Task::from_toml(&task, Path::new("assets/tasks")).unwrap();
    let episode = task.episode(0, 0).unwrap();
    let does = |object: &str, dx: f64| {
        let mut q = task.at_goal(&episode.goal, &episode.start.q).unwrap();
        q[task.simulator().model().object(object).unwrap().q] += dx;
        let mut supervisor = Supervisor::new(&task, &episode).unwrap();
        supervisor.answer(&Measured { q, ..Measured::default() }, None).unwrap();
        (supervisor.doing(), supervisor.target().clone())
    };
    assert_eq!(does("blue", 0.1).0, Doing::Goal);
    for object in ["red", "blue"] {
        let (doing, target) = does(object, 0.2);
        assert_eq!(doing, Doing::Return, "{object}");
        assert_eq!(target.position, episode.goal.position);
        assert_eq!(target.others["blue"].position, episode.goal.others["blue"].position);
    }
}

/// What a supervisor does where a puck stays 0.1 m from its goal, having moved 4 mm since the goal was given, and what it plans for.
fn stuck(periods: usize, mut see: impl FnMut(&Supervisor, &mut Vec<f64>, usize)) {
    let text = std::fs::read_to_string("assets/tasks/two_pucks.toml").unwrap();
    let task = format!("{text}\n[supervisor]\naway = 0.15\nstall = 0.5\n");
    let task = Task::from_toml(&task, Path::new("assets/tasks")).unwrap();
    let episode = task.episode(0, 0).unwrap();
    let mut q = task.at_goal(&episode.goal, &episode.start.q).unwrap();
    let blue = task.simulator().model().object("blue").unwrap().q;
    q[blue] += 0.104;
    let mut supervisor = Supervisor::new(&task, &episode).unwrap();
    for period in 0..periods {
        supervisor.answer(&Measured { q: q.clone(), ..Measured::default() }, None).unwrap();
        if period == 0 {
            q[blue] -= 0.004;
        }
        see(&supervisor, &mut q, blue);
    }
}

/// The first retreat keeps objects as they are turned. Where that did not help, the next lets them fall as they will.
#[test]
fn a_retreat_is_rough_in_the_end() {
    let mut turns = Vec::new();
    let mut before = Doing::Goal;
    stuck(150, |supervisor, _, _| {
        if supervisor.doing() == Doing::Retreat && before != Doing::Retreat {
            let target = supervisor.target();
            turns.push((target.turn.is_some(), target.others["blue"].turn.is_some()));
            assert!(target.position.is_some() && target.others["blue"].position.is_some());
        }
        before = supervisor.doing();
    });
    assert!(turns.len() > 1, "{turns:?}");
    assert_eq!(turns[..2], [(true, true), (false, false)]);
}

/// An object that slides off during a way out is brought back at once.
#[test]
fn what_slides_off_is_caught() {
    let mut after = None;
    stuck(60, |supervisor, q, blue| {
        let is_way_out = matches!(supervisor.doing(), Doing::Nudge | Doing::Sample);
        if after.is_none() && is_way_out {
            after = Some(Vec::new());
            q[blue] += 0.1;
        } else if let Some(does) = &mut after {
            does.push(supervisor.doing());
        }
    });
    assert_eq!(after.unwrap()[0], Doing::Return);
}

/// Each object has its own way: of two pucks one is at its goal and stays there, the other is led there by half a turn, and is the one that
/// is nudged when nothing moves.
#[test]
fn each_object_has_its_subgoal_and_its_nudge() {
    let text = std::fs::read_to_string("assets/tasks/two_pucks.toml").unwrap();
    let text = text
        .replace("high = [0.08, 0.09] }", "high = [0.08, 0.09] }\nyaw = 0.3")
        .replace("high = [0.08, -0.06] }", "high = [0.08, -0.06] }\nyaw = 2.0")
        .replace("joints = 50.0", "joints = 50.0\nrotation = 1.0")
        .replace("held = 5", "rotation = 0.1\nheld = 5");
    let task = Task::from_toml(&format!("{text}\n[supervisor]\nstall = 0.3\n"), Path::new("assets/tasks")).unwrap();
    let episode = task.episode(0, 0).unwrap();
    let mut q = task.at_goal(&episode.goal, &episode.start.q).unwrap();
    let blue = task.simulator().model().object("blue").unwrap().q;
    q[blue..blue + 3].copy_from_slice(&episode.start.q[blue..blue + 3]);
    let mut supervisor = Supervisor::new(&task, &episode).unwrap();
    let mut does = || {
        supervisor.answer(&Measured { q: q.clone(), ..Measured::default() }, None).unwrap();
        let target = supervisor.target();
        assert_eq!(target.position, episode.goal.position);
        let yaw = |turn| match turn {
            Some(fingertip::mpc::cost::Turn::Yaw(yaw)) => yaw,
            other => panic!("{other:?}"),
        };
        (supervisor.doing(), yaw(target.turn), yaw(target.others["blue"].turn))
    };
    let (doing, red, ahead) = does();
    assert!(doing == Doing::Subgoal && (red - 0.3).abs() < 1e-12 && (ahead - 0.5).abs() < 1e-12, "{red} {ahead}");
    let nudge = (0..30).map(|_| does()).find(|(doing, ..)| *doing == Doing::Nudge);
    let (_, red, aside) = nudge.expect("one of the ways out of a stall");
    assert!((red - 0.3).abs() < 1e-12 && (aside - 0.5).abs() > 1e-6 && (aside - 0.5).abs() <= 0.5, "{red} {aside}");
}

/// Where sampling is the method and there is no rotation to nudge, letting go is the only way out, as often as it takes.
#[test]
fn one_way_out_is_tried_again() {
    let text = std::fs::read_to_string("assets/tasks/two_pucks.toml").unwrap();
    let text = text.replace("hold = 5", "hold = 5\nmethod = \"hybrid\"");
    let task = Task::from_toml(&format!("{text}\n[supervisor]\nstall = 0.2\n"), Path::new("assets/tasks")).unwrap();
    let episode = task.episode(0, 0).unwrap();
    let mut supervisor = Supervisor::new(&task, &episode).unwrap();
    // A puck that has moved since, away from its goal, is no goal straight across the fingers: the first way out is to let go.
    let mut q = episode.start.q.clone();
    let blue = task.simulator().model().object("blue").unwrap().q;
    let way = episode.goal.others["blue"].position.unwrap()[0] - q[blue];
    for _ in 0..20 {
        supervisor.answer(&Measured { q: q.clone(), ..Measured::default() }, None).unwrap();
        q[blue] = episode.start.q[blue] - 4e-3 * way.signum();
    }
    assert!(supervisor.stalls().contains_key("local minimum"), "{:?}", supervisor.stalls());
    assert!(supervisor.times()[&Doing::Retreat] > 1, "{:?}", supervisor.times());
}
