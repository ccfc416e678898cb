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
        let held = self.plant.advance(q, &answer.u, None).unwrap();
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

/// The shipped LEAP hand turns its cube by more than 2 rad and keeps it: the angle is nalgebra's, the height MuJoCo
/// Playground's measure of a drop.
#[test]
fn a_leap_hand_turns_its_cube() {
    let task = fingertip::shipped::task("leap_cube").unwrap();
    let episode = task.episode(0, 2).unwrap();
    let Some(fingertip::mpc::cost::Turn::Quaternion(goal)) = episode.goal.turn else { panic!("{:?}", episode.goal) };
    let turn = |q: &[f64]| UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]));
    let off = |q: &[f64]| turn(&q[3..7]).angle_to(&turn(&goal));
    let mut run = Run::new(&task, &episode);
    let mut q = episode.start.q.clone();
    assert!(off(&q) > 2.0);
    while off(&q) >= 0.4 {
        assert!(run.periods.len() < 200, "{} rad", off(&q));
        q = run.period(&q);
        assert!(q[2] > -0.05, "{q:?}");
    }
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

/// A tip beside the wrong side of a box never moves it by gradients alone. The supervisor sees that nothing touches,
/// and samples.
#[test]
fn a_start_that_never_moves() {
    let text = std::fs::read_to_string("assets/tasks/planar_push_back.toml").unwrap();
    let text = text.replace("../scenes/", "").replace("method = \"hybrid\"", "method = \"ilqr\"");
    let moved = |text: &str| {
        let task = task(text);
        let episode = task.episode(0, 0).unwrap();
        let mut run = Run::new(&task, &episode);
        let mut q = episode.start.q.clone();
        for _ in 0..200 {
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

/// A goal straight across the fingers, 0.6 rad about y from where the cube lies: planned in one world and plain it
/// never moves, with the supervisor it does.
#[test]
fn an_aligned_start() {
    let text = std::fs::read_to_string("assets/tasks/allegro_cube_hardware.toml").unwrap().replace("../scenes/", "");
    let text = text.split("[robust]").next().unwrap().replace(
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

/// A ball on a rail, by a prismatic joint of the same name along an axis.
fn slider(name: &str, parent: &str, axis: &str, radius: f64) -> String {
    format!(
        r#"<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{name}_tip"/><axis xyz="{axis}"/>
        <limit lower="-2" upper="2" effort="100" velocity="5"/></joint>
        <link name="{name}_tip"><inertial><mass value="0.02"/>
        <inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><sphere radius="{radius}"/></geometry></collision></link>"#
    )
}

/// The task of a robot, `sliders`, that is to push a disc which it does not reach, with more in the scene and in the
/// task.
fn out_of_reach(name: &str, links: &str, in_scene: &str, in_task: &str) -> Task {
    let urdf = format!("<robot name=\"sliders\"><link name=\"base\"/>{links}</robot>");
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
        position = [2.6, 0.0, 0.0]
        [[robot]]
        name = "sliders"
        urdf = "sliders.urdf"
        stiffness = 50.0
    "#;
    let text = r#"
        scene = "sliders.toml"
        hold = 5
        horizon = 6
        [goal]
        object = "disc"
        position = [2.8, 0.0]
        [weights]
        position = 1.0
        command = 0.001
        [supervisor]
        stall = 0.3
        [command]
        type = "relative"
    "#;
    let folder = std::env::temp_dir().join(format!("fingertip-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("sliders.urdf"), urdf).unwrap();
    std::fs::write(folder.join("sliders.toml"), format!("{scene}{in_scene}")).unwrap();
    let task = Task::from_toml(&format!("{text}{in_task}"), folder.as_path()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    task
}

/// The joint that is farthest from a posture, rad or m.
fn farthest(task: &Task, from: &[f64], q: &[f64]) -> f64 {
    largest(task.simulator().joints().iter().map(|joint| q[joint.q] - from[joint.q]))
}

/// Two fingers on rails that cross, both before the crossing and to go beyond it: they meet there, each in the other's
/// way, and neither gives way to the other. A retreat brings them home one after the other, whether plans have the
/// contact of the fingers or it shows in that they do not move.
#[test]
fn crossed_fingers_go_home_one_after_the_other() {
    let links = slider("a", "base", "1 1 0", 0.015) + &slider("b", "base", "1 -1 0", 0.015);
    let home = "home = { a = 0.15, b = 0.15 }\n";
    let apart = "[[pair]]\na = \"sliders\"\nb = \"sliders\"\nenabled = false\n";
    let [plant, unaware] =
        ["", apart].map(|more| out_of_reach("crossing", &links, &format!("{home}{more}"), "bound = 0.02\n"));
    for task in [&plant, &unaware] {
        let episode = task.episode(0, 0).unwrap();
        let mut run = Run { plant: Run::new(&plant, &episode).plant, ..Run::new(task, &episode) };
        let mut q = episode.start.q.clone();
        task.simulator().joints().iter().for_each(|joint| q[joint.q] = -0.05);
        for _ in 0..120 {
            q = run.period(&q);
        }
        let does: Vec<_> = run.periods.chunk_by(|a, b| a.1 == b.1).collect();
        let at = does.iter().position(|periods| periods[0].1 == Doing::Retreat).unwrap();
        // The 2 s of all fingers, and then those of one after the other: less than 0.1 m off is home.
        let (retreat, after) = (does[at], &does[at + 1][0].0);
        let [together, after] = [&retreat[20].0, after].map(|q| farthest(task, &episode.start.q, q));
        assert!(together > 0.15 && after < 0.1, "{together} {after} {}", retreat.len());
    }
}

/// A finger went around a wall that plans do not know, and straight home the wall is in its way. A rough retreat brings
/// it home as it came.
#[test]
fn a_retreat_goes_back_the_way_it_came() {
    let links = slider("y", "base", "0 1 0", 0.01) + &slider("x", "y_tip", "1 0 0", 0.01);
    let home = "home = { x = 0.0, y = 0.0 }\n[[object]]\nname = \"wall\"\nfreedom = \"fixed\"\nbox = [0.05, 0.3, 0.1]\nposition = [0.5, 0.0, 0.0]\n";
    let apart = "[[pair]]\na = \"sliders\"\nb = \"wall\"\nenabled = false\n";
    let [plant, task] = ["", apart].map(|more| out_of_reach("wall", &links, &format!("{home}{more}"), "bound = 0.1\n"));
    let episode = task.episode(0, 0).unwrap();
    let mut run = Run { plant: Run::new(&plant, &episode).plant, ..Run::new(&task, &episode) };
    let mut q = episode.start.q.clone();
    let [y, x] = [0, 1].map(|joint| task.simulator().joints()[joint].q);
    for [to_x, to_y] in [[0.0, 0.6], [1.0, 0.6], [1.0, 0.0]] {
        while (q[x] - to_x).abs() + (q[y] - to_y).abs() > 1e-6 {
            run.period(&q);
            q[x] += (to_x - q[x]).clamp(-0.1, 0.1);
            q[y] += (to_y - q[y]).clamp(-0.1, 0.1);
        }
    }
    for _ in 0..100 {
        q = run.period(&q);
    }
    let off = run.periods.iter().map(|(q, _)| farthest(&task, &episode.start.q, q));
    assert!(off.skip(22).any(|off| off < 0.1));
}

/// Two fingers beside each other on one rail, whose contact plans leave out, at home in the wrong order. Plans take
/// them apart, those of retreats too, although home is where they were.
#[test]
fn fingers_stay_in_order() {
    let links = slider("a", "base", "0 1 0", 0.01) + &slider("b", "base", "0 1 0", 0.01);
    let scene = "home = { a = 0.02, b = -0.02 }\n[[pair]]\na = \"sliders\"\nb = \"sliders\"\nenabled = false\n";
    let order =
        "[[order]]\npoints = [\"sliders/a_tip\", \"sliders/b_tip\"]\naxis = [0, 1, 0]\ndistance = 0.03\nweight = 1e3\n";
    let apart = ["", order].map(|more| {
        let task = out_of_reach("rail", &links, scene, &format!("bound = 0.02\n{more}"));
        let episode = task.episode(0, 0).unwrap();
        let mut run = Run::new(&task, &episode);
        let [a, b] = [0, 1].map(|finger| task.simulator().joints()[finger].q);
        let mut q = episode.start.q.clone();
        for _ in 0..30 {
            q = run.period(&q);
        }
        assert!(run.periods.iter().any(|(_, doing)| *doing == Doing::Retreat));
        // Those after the first second.
        run.periods[10..].iter().map(|(q, _)| q[b] - q[a]).collect::<Vec<_>>()
    });
    // As far as asked for, less what letting go weighs against it.
    assert!(apart[0].iter().all(|x| *x < -0.03) && apart[1].iter().all(|x| *x > 0.029), "{apart:?}");
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

/// What a supervisor does where a puck stays 0.1 m from its goal, having moved 4 mm since the goal was given, and what
/// it plans for.
fn stuck(periods: usize, mut see: impl FnMut(&Supervisor, &mut Vec<f64>, usize)) {
    let text = std::fs::read_to_string("assets/tasks/two_pucks.toml").unwrap();
    let text = text.replace("method = \"hybrid\"", "method = \"ilqr\"");
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

/// An object that comes back by its returns but slides off again each time is not returned for ever: after three
/// returns in vain another way is tried.
#[test]
fn what_slides_off_again_and_again() {
    let (mut does, mut place) = (Vec::new(), None);
    stuck(200, |supervisor, q, blue| {
        let place = *place.get_or_insert(q[blue]);
        // 0.14 m from its goal while it is brought back, which is not away, and else 0.16 m, which is.
        q[blue] = place + if supervisor.doing() == Doing::Return { 0.04 } else { 0.06 };
        if does.last() != Some(&supervisor.doing()) {
            does.push(supervisor.doing());
        }
    });
    let out = does.iter().position(|does| matches!(does, Doing::Nudge | Doing::Sample | Doing::Retreat));
    let returns = does[..out.expect("a way out")].iter().filter(|does| **does == Doing::Return).count();
    assert_eq!(returns, 3, "{does:?}");
}

/// Each object has its own way: of two pucks one is at its goal and stays there, the other is led there by half a turn,
/// and is the one that is nudged when nothing moves.
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

/// Where sampling is the method and there is no rotation to nudge, letting go is the only way out, as often as it
/// takes.
#[test]
fn one_way_out_is_tried_again() {
    let text = std::fs::read_to_string("assets/tasks/two_pucks.toml").unwrap();
    let task = Task::from_toml(&format!("{text}\n[supervisor]\nstall = 0.2\n"), Path::new("assets/tasks")).unwrap();
    let episode = task.episode(0, 0).unwrap();
    let mut supervisor = Supervisor::new(&task, &episode).unwrap();
    // A puck that has moved since, away from its goal, is no goal straight across the fingers: the first way out is to
    // let go.
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
