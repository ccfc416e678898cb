//! Checks the report of `rollout` on bodies that rest, hang, creep, go back and forth, or stay deep in each other.

use std::path::{Path, PathBuf};

use fingertip::description::Scene;
use fingertip::show::{
    ObjectReport, Passage, Recording, Source, Verdict, deep_again, far_steps, passages, record, still_moving,
};
use fingertip::step::Quasidynamic;

use crate::command_line::fingertip;
use support::meshes::{CUP, cup, obj};
use support::single::compile;

const BALL: &str = "[[object]]\nname = \"ball\"\nsphere = 0.02\nmass = 0.1\nfreedom = \"free\"\nposition = [0.0, 0.0, 0.0202]\n\
                    [[object]]\nname = \"table\"\nhalfspace = [0.0, 0.0, 1.0, 0.0]\n";

/// Folder for the scene files of these tests and the files that they name.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn recorded(text: &str, n_steps: usize) -> Recording {
    let scene = Scene::from_toml(text, folder()).unwrap();
    let model = compile(&scene);
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: "scene".to_owned(), text: text.to_owned(), scene: scene.clone() };
    record(&source, &step, n_steps, |_, time| scene.control(time), |_| Ok(())).unwrap()
}

fn verdict(recording: &Recording, object: &str) -> ObjectReport {
    ObjectReport::of_each(recording).into_iter().find(|report| report.object == object).unwrap()
}

/// A ball at rest, which then moves as told: by (m, rad) at step k.
fn moved(by: impl Fn(usize) -> (f64, f64)) -> Recording {
    let mut recording = recorded(BALL, 200);
    let ball = recording.objects[0].body;
    for (k, step) in recording.steps.iter_mut().enumerate() {
        let (x, angle) = by(k);
        let (sin, cos) = (0.5 * angle).sin_cos();
        step.end.poses[ball] = [x, 0.0, 0.0212, cos, sin, 0.0, 0.0];
    }
    recording
}

#[test]
fn what_alternates_does_not_rest() {
    let sign = |k: usize| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    let cycles: [&dyn Fn(usize) -> (f64, f64); 5] = [
        &|k| (1e-4 * sign(k), 0.0),
        &|k| (0.0, 0.005 * sign(k)),
        &|k| (0.0, 0.5 * sign(k)),
        // Three places by turns, and round and round.
        &|k| (1e-4 * (k % 3) as f64, 0.0),
        &|k| (0.0, 0.3 * k as f64),
    ];
    for (i, cycle) in cycles.iter().enumerate() {
        let recording = moved(cycle);
        let report = verdict(&recording, "ball");
        assert_eq!(report.verdict, Verdict::Alternating, "{i}: {report:?}");
        assert_eq!(still_moving(&recording).len(), 1, "{i}");
    }
    // A command that changes is not the step's fault.
    let mut driven = moved(cycles[0]);
    driven.steps.iter_mut().enumerate().for_each(|(k, step)| step.u = vec![k as f64]);
    assert_eq!(verdict(&driven, "ball").verdict, Verdict::Resting);
    // What stands, creeps, has just stopped, or moves by the rounding of files, rests.
    let rests: [&dyn Fn(usize) -> (f64, f64); 4] =
        [&|_| (0.0, 0.0), &|k| (1e-6 * k as f64, 0.0), &|k| (5e-4 * f64::exp(-0.1 * k as f64), 0.0), &|k| {
            (1e-6 * (k % 2) as f64, 0.0)
        }];
    for (i, still) in rests.into_iter().enumerate() {
        let report = verdict(&moved(still), "ball");
        assert_eq!(report.verdict, Verdict::Resting, "{i}: {report:?}");
    }
    let creeps = verdict(&moved(rests[1]), "ball");
    assert!((creeps.creep / 1e-4 - 1.0).abs() < 1e-6 && (creeps.window - 1.0).abs() < 1e-9, "{creeps:?}");
    assert_eq!(verdict(&moved(|k| (1e-3 * k as f64, 0.0)), "ball").verdict, Verdict::Moving);
}

/// Two pads on a slide close on a box and lift it off the table; the recording ends one second after the command.
#[test]
fn a_box_that_hangs_is_held() {
    let pad = |name: &str, side: f64| {
        format!(
            "<link name=\"{name}\"><collision><geometry><box size=\"0.02 0.04 0.04\"/></geometry></collision></link>\
             <joint name=\"j{name}\" type=\"prismatic\"><parent link=\"slide\"/><child link=\"{name}\"/>\
             <origin xyz=\"{:?} 0 0\"/><axis xyz=\"{:?} 0 0\"/><limit lower=\"-1\" upper=\"1\" effort=\"100\" velocity=\"1\"/></joint>",
            0.04 * side,
            -side
        )
    };
    let urdf = format!(
        "<robot name=\"lift\"><link name=\"base\"/><link name=\"slide\"/><joint name=\"up\" type=\"prismatic\"><parent link=\"base\"/>\
         <child link=\"slide\"/><axis xyz=\"0 0 1\"/><limit lower=\"-1\" upper=\"1\" effort=\"100\" velocity=\"1\"/></joint>{}{}</robot>",
        pad("l", -1.0),
        pad("r", 1.0)
    );
    std::fs::write(folder().join("lift.urdf"), urdf).unwrap();
    let text = "[params]\nkappa = 1e6\n\
        [[robot]]\nname = \"lift\"\nurdf = \"lift.urdf\"\nstiffness = { default = 1000.0, up = 1e4 }\n\
        [[object]]\nname = \"box\"\nbox = [0.02, 0.02, 0.02]\nmass = 0.1\nfreedom = \"free\"\nposition = [0.0, 0.0, 0.0]\n\
        [[object]]\nname = \"table\"\nhalfspace = [0.0, 0.0, 1.0, -0.021]\n\
        [[pair]]\na = \"lift\"\nb = \"table\"\nenabled = false\n\
        [[script]]\ntime = 0.2\nu = { jl = 0.015, jr = 0.015 }\n\
        [[script]]\ntime = 1.0\nu = { jl = 0.015, jr = 0.015, up = 0.08 }\n";
    let report = verdict(&recorded(text, 200), "box");
    assert_eq!(report.verdict, Verdict::Held, "{report:?}");
    assert!(report.window < 1.005, "{report:?}");
    // In the air the barrier of the table, 8 cm below, still pushes a light box by some per cent of its weight.
    let light = text.replace("kappa = 1e6", "kappa = 1e4").replace("mass = 0.1", "mass = 0.02");
    let report = verdict(&recorded(&light, 200), "box");
    assert!(report.fixed > 0.01 * report.load, "{report:?}");
    assert_eq!(report.verdict, Verdict::Held, "{report:?}");
    // Under it, on the table, it is not off it.
    let low = light.replace("up = 0.08", "up = 0.0");
    let report = verdict(&recorded(&low, 200), "box");
    assert_eq!(report.verdict, Verdict::PartlyHeld, "{report:?}");
}

/// Objects from a URDF, which move as a whole or by a joint.
#[test]
fn objects_with_links() {
    let urdf = |freedom: &str, floor: f64| {
        format!(
            "[[object]]\nname = \"driver\"\nurdf = \"driver.urdf\"\nfreedom = \"{freedom}\"\nposition = [0.0, 0.0, 0.0]\n\
             [[object]]\nname = \"table\"\nhalfspace = [0.0, 0.0, 1.0, {floor:?}]\n"
        )
    };
    std::fs::write(
        folder().join("driver.urdf"),
        "<robot name=\"driver\"><link name=\"screw\"><inertial><mass value=\"0.1\"/><inertia ixx=\"1e-4\" iyy=\"1e-4\" izz=\"1e-4\" \
         ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial><collision><geometry><sphere radius=\"0.02\"/></geometry></collision></link>\
         <joint name=\"spin\" type=\"continuous\"><parent link=\"screw\"/><child link=\"handle\"/><axis xyz=\"0 0 1\"/></joint>\
         <link name=\"handle\"><inertial><mass value=\"0.1\"/><inertia ixx=\"1e-4\" iyy=\"1e-4\" izz=\"1e-4\" ixy=\"0\" ixz=\"0\" \
         iyz=\"0\"/></inertial></link></robot>",
    )
    .unwrap();
    let recording = recorded(&urdf("free", -0.0205), 150);
    let report = verdict(&recording, "driver");
    assert_eq!(report.verdict, Verdict::Resting, "{report:?}");
    assert!((report.load - 0.2 * 9.81).abs() < 1e-9 && (report.fixed / report.load - 1.0).abs() < 1e-3, "{report:?}");
    for recording in [recording, recorded(&urdf("fixed", -1.0), 20)] {
        let spin = verdict(&recording, "driver/spin");
        assert!(spin.verdict == Verdict::Resting && spin.load == 0.0, "{spin:?}");
    }
}

#[test]
fn what_stays_deep_is_named() {
    let mut recording = recorded(BALL, 50);
    assert_eq!(deep_again(&recording), []);
    let deep = |recording: &mut Recording, steps: std::ops::Range<usize>, phi: f64| {
        recording.steps[steps].iter_mut().for_each(|step| step.contacts.iter_mut().for_each(|one| one.phi = phi));
    };
    // Once is what a start in overlap is, or a turn; then the step leaves it.
    deep(&mut recording, 10..11, -2e-3);
    deep(&mut recording, 11..12, -0.4e-3);
    assert_eq!(deep_again(&recording), []);
    deep(&mut recording, 20..30, -3e-3);
    let found = deep_again(&recording);
    assert!(found.len() == 1 && found[0].steps == 9 && found[0].last == 30 && found[0].depth == 3e-3, "{found:?}");
    // A step that was not solved has promised nothing.
    recording.steps[20..30].iter_mut().for_each(|step| step.status = "infeasible".to_owned());
    assert_eq!(deep_again(&recording), []);
}

/// A small ellipsoid just above the edge of a box falls 9.8 m in a step: what its one contact, off its centre, makes of
/// that is no motion that it could have. In steps of a hundredth of that fall it comes to rest.
#[test]
fn steps_that_go_too_far_are_named() {
    let egg = |epsilon: f64| {
        format!(
            "[params]\nh = 0.1\nepsilon = {epsilon:?}\n[[object]]\nname = \"table\"\nbox = [0.036, 0.036, 0.005]\nfreedom = \"fixed\"\n\
             position = [0.0, 0.0, -0.005]\n[[object]]\nname = \"egg\"\nellipsoid = [0.012, 0.008, 0.005]\nmass = 0.001\n\
             freedom = \"free\"\nposition = [0.0, 0.0, 0.012]\nrpy = [0.3, 0.9, 0.0]\n"
        )
    };
    let far = far_steps(&recorded(&egg(0.01), 20));
    assert!(far.len() == 1 && far[0].farthest == 1 && far[0].motion.distance > 10.0 * far[0].size, "{far:?}");
    assert!((far[0].size / 0.012_f64.hypot(0.008).hypot(0.005) - 1.0).abs() < 1e-12, "{far:?}");
    // It does not touch anything where it falls.
    assert_eq!(far[0].steps, 1, "{far:?}");
    assert_eq!(far_steps(&recorded(&egg(100.0), 400)), []);
}

/// A battery that lies a third over a table's edge creeps off: that is said while it counts as at rest. On the table it
/// does not.
#[test]
fn what_creeps_away_is_told() {
    let report = |x: f64, kappa: f64, steps: usize| {
        let text = format!(
            "[params]\nkappa = {kappa:?}\n[[object]]\nname = \"table\"\nbox = [0.2, 0.2, 0.02]\nfreedom = \"fixed\"\nposition = [-0.2, 0.0, -0.02]\n\
             [[object]]\nname = \"battery\"\ncylinder = [0.007, 0.025]\nmass = 0.023\nfreedom = \"free\"\nposition = [{x}, 0.0, 0.0071]\n\
             rpy = [0.0, 1.5707963, 0.0]\n"
        );
        verdict(&recorded(&text, steps), "battery")
    };
    let (over, on, hard) = (report(-0.008, 5e4, 150), report(-0.1, 5e4, 150), report(-0.008, 1e6, 150));
    assert!(over.creeps_away() && (over.size / 0.025_f64.hypot(0.007) - 1.0).abs() < 1e-12, "{over:?}");
    assert!(!on.creeps_away() && !hard.creeps_away(), "{on:?} {hard:?}");
    // Nine seconds later it has crept over the edge and falls. Its first second is that of a run that
    // ends there, whose window is a step shorter.
    let (first, fallen) = (report(-0.008, 5e4, 101), report(-0.008, 5e4, 1000));
    assert!(
        fallen.verdict == Verdict::Moving && fallen.creeps_away() && fallen.creep > 10.0 * fallen.crept,
        "{fallen:?}"
    );
    assert!((fallen.crept / first.creep - 1.0).abs() < 0.01, "{fallen:?} {first:?}");
}

/// A ball on a finger that a command moves by more than its size past a cup's wall or a box is named, by `step` too. It
/// stops there, and may not have: of a grid a step knows some planes, and of what is beside a box the nearest one.
/// Nobody passes a half-space. In shorter steps nothing is said.
#[test]
fn commands_that_go_too_far_are_named() {
    let urdf = folder().join("far_finger.urdf");
    let link = "<link name=\"t\"><collision><geometry><sphere radius=\"0.008\"/></geometry></collision></link>";
    let joint = "<joint name=\"x\" type=\"prismatic\"><parent link=\"w\"/><child link=\"t\"/><axis xyz=\"1 0 0\"/>\
                 <limit lower=\"-1\" upper=\"1\" effort=\"100\" velocity=\"1\"/></joint>";
    std::fs::write(&urdf, format!("<robot name=\"f\"><link name=\"w\"/>{link}{joint}</robot>")).unwrap();
    std::fs::write(folder().join("far_cup.obj"), obj(&cup())).unwrap();
    let [radius, height, _] = CUP;
    let scene = |thing: &str, by: f64, steps: u32| {
        let commands: String = (1..=steps)
            .map(|k| {
                format!("[[script]]\ntime = {}\nu = {{ x = {} }}\n", 0.01 * f64::from(k), (by * f64::from(k)).min(0.07))
            })
            .collect();
        format!(
            "[params]\nkappa = 1e5\n[[object]]\nname = \"thing\"\n{thing}\n\
             [[robot]]\nname = \"f\"\nurdf = {urdf:?}\nstiffness = 100.0\nposition = [-0.01, 0.0, {}]\n{commands}",
            0.6 * height
        )
    };
    let pushed = |thing: &str, by: f64| {
        let recording = recorded(&scene(thing, by, 16), 17);
        (far_steps(&recording), recording.steps.last().unwrap().end.q[0])
    };
    let cup = "mesh = \"far_cup.obj\"\ngrid = { tolerance = 0.0005, reach = 0.04 }\nfreedom = \"fixed\"";
    let block = format!("freedom = \"fixed\"\nbox = [0.01, 0.1, 0.1]\nposition = [{}, 0.0, 0.0]", radius + 0.01);
    let wall = format!("halfspace = [-1.0, 0.0, 0.0, -{radius}]");
    for thing in [cup, &block] {
        let (far, x) = pushed(thing, 0.07);
        assert!(
            far.len() == 1 && far[0].size == 0.008 && far[0].farthest == 2 && far[0].steps == 1,
            "{thing}: {far:?}"
        );
        assert!(x - 0.01 < radius - 0.008, "{thing}: {x}");
        let path = folder().join("far.toml");
        std::fs::write(&path, scene(thing, 0.07, 0)).unwrap();
        let output = fingertip(&["step", path.to_str().unwrap()], "{\"u\": [0.07]}\n{\"u\": [0.005]}\n");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("TOO FAR f/t: something is in its way in a step that moves it"), "{text}");
        assert!(!lines[1].contains("TOO FAR"), "{text}");
        let (far, x) = pushed(thing, 0.005);
        assert!(far.is_empty() && x - 0.01 < radius - 0.008, "{thing}: {far:?} {x}");
    }
    let (far, x) = pushed(&wall, 0.07);
    assert!(far.is_empty() && x - 0.01 < radius - 0.008, "{far:?} {x}");
}

/// A block on a finger that commands take past a thing over 1 m in so many steps: the passages of the recording, and
/// whether `step` and `rollout` tell of one.
fn taken_past(thing: &str, steps: u32) -> (Vec<Passage>, bool, bool) {
    let urdf = folder().join("far_block.urdf");
    let link = "<link name=\"t\"><collision><geometry><box size=\"0.016 0.016 0.016\"/></geometry></collision></link>";
    let joint = "<joint name=\"x\" type=\"prismatic\"><parent link=\"w\"/><child link=\"t\"/><axis xyz=\"1 0 0\"/>\
                 <limit lower=\"-1\" upper=\"1\" effort=\"100\" velocity=\"1\"/></joint>";
    std::fs::write(&urdf, format!("<robot name=\"f\"><link name=\"w\"/>{link}{joint}</robot>")).unwrap();
    let command = |k: u32| {
        let (time, x) = (0.01 * f64::from(k), f64::from(k) / f64::from(steps));
        format!("[[script]]\ntime = {time}\nu = {{ x = {x} }}\n")
    };
    let commands: String = (1..=steps).map(command).collect();
    let text = format!(
        "gravity = [0.0, 0.0, 0.0]\n[params]\nkappa = 1e5\n[[object]]\nname = \"b\"\nfreedom = \"fixed\"\n{thing}\n\
         [[robot]]\nname = \"f\"\nurdf = {urdf:?}\nstiffness = 100.0\n{commands}"
    );
    let found = passages(&recorded(&text, steps as usize + 1));
    let path = folder().join("passed.toml");
    std::fs::write(&path, text).unwrap();
    let output = fingertip(&["step", path.to_str().unwrap()], "{\"u\": [1.0]}\n");
    let line = String::from_utf8(output.stdout).unwrap();
    let output = fingertip(&["rollout", path.to_str().unwrap(), "-n", &format!("{}", steps + 1)], "");
    let summary = String::from_utf8(output.stdout).unwrap();
    (
        found,
        line.contains("pass through each other by"),
        summary.contains("PASSED THROUGH b and f/t: 1 steps, the first of them step 2"),
    )
}

/// From farther away than they push each other: `rollout`, recordings and `step` say so. Of a box beside the way, whose
/// plane is passed as well, and in shorter steps there is nothing to say. Nor is there of what passes through the box
/// around a hull alone: here the corner that a tetrahedron leaves free.
#[test]
fn what_passes_from_beyond_its_reach_is_named() {
    let cuboid = |y: f64| format!("box = [0.02, 0.02, 0.02]\nposition = [0.5, {y}, 0.0]");
    let mesh = folder().join("corner.obj");
    std::fs::write(&mesh, "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n").unwrap();
    let hull = |aside: f64| format!("mesh = {mesh:?}\nposition = [0.45, -{aside}, -{aside}]");
    for thing in [cuboid(0.0), hull(0.02)] {
        let (found, step, rollout) = taken_past(&thing, 1);
        assert!(
            found.len() == 1 && (found[0].steps, found[0].first) == (1, 2) && step && rollout,
            "{thing}: {found:?} {step} {rollout}"
        );
    }
    for thing in [cuboid(0.3), hull(0.08)] {
        let (found, step, rollout) = taken_past(&thing, 1);
        assert!(found.is_empty() && !step && !rollout, "{thing}: {found:?} {step} {rollout}");
    }
    let (found, step, rollout) = taken_past(&cuboid(0.0), 100);
    assert!(found.is_empty() && step && !rollout, "{found:?} {step} {rollout}");
}

#[test]
fn the_summary_says_what_counts() {
    let path = folder().join("ball.toml");
    std::fs::write(&path, BALL).unwrap();
    let output = fingertip(&["rollout", path.to_str().unwrap(), "-n", "300"], "");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in
        ["ball rests", "last 1.00 s", "(at rest: at most 1 mm)", "(at most 1.1°)", "creeps by 0.000 mm/s", "energy"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(["still moving", "DEEP AGAIN", "TOO FAR"].iter().all(|part| !text.contains(part)), "{text}");
}
