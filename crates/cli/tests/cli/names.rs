//! Scenes, tasks and robots by name, in a folder that has none of them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fingertip-names-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The exit status, and what is said on stdout and stderr.
fn run(folder: &PathBuf, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fingertip")).args(args).current_dir(folder).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn scenes_and_tasks_are_found_by_name_from_any_folder() {
    let here = folder("any");
    // A folder of that name, as `codegen` makes, hides nothing.
    fs::create_dir(here.join("hand_ball")).unwrap();
    let (status, out, err) = run(&here, &["inspect", "hand_ball"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.starts_with("hand_ball: 24 numbers in q"), "{out}");
    let (status, out, err) = run(&here, &["mpc", "planar_push", "--episodes", "1"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("1 of 1 succeed"), "{out}");
    let (status, out, _) = run(&here, &["tasks"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("tips_ground"), "{out}");
    let (status, out, _) = run(&here, &["scene", "list"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("two_fingers") && out.contains("teaching_hand"), "{out}");
    fs::remove_dir_all(here).unwrap();
}

#[test]
fn a_task_in_a_scenes_place_and_a_scene_in_a_tasks() {
    let here = folder("swapped");
    let (status, out, err) = run(&here, &["inspect", "tips_ground"]);
    assert_eq!(status, Some(0));
    assert_eq!(err, "note: tips_ground is a task; this is its scene, scenes/tips.toml\n");
    assert!(out.starts_with("tips: 16 numbers in q"), "{out}");
    let (status, _, err) = run(&here, &["mpc", "hand_ball"]);
    assert_eq!(status, Some(2));
    assert!(err.starts_with("error: hand_ball: expected a task, but this is a scene"), "{err}");
    for (args, expected) in [
        (["inspect", "hand_bal"], "hand_bal: there is no scene \"hand_bal\"; did you mean \"hand_ball\"?"),
        (["mpc", "hand_tun"], "hand_tun: there is no task \"hand_tun\"; did you mean \"hand_turn\"?"),
        (["view", "hand_bal"], "hand_bal: there is no file, scene or task \"hand_bal\"; did you mean \"hand_ball\"?"),
        (["inspect", "no.toml"], "no.toml: there is no such file, and there is no scene \"no\""),
        (
            ["inspect", "allegro16"],
            "allegro16: expected a scene, but this is a robot; `fingertip scene new allegro16` begins",
        ),
        (["inspect", "here/no.toml"], "here/no.toml: No such file or directory"),
    ] {
        let (status, _, err) = run(&here, &args);
        assert_eq!(status, Some(2), "{args:?}");
        assert!(err.starts_with(&format!("error: {expected}")) && err.lines().count() == 1, "{args:?}: {err}");
    }
    // The same of files.
    assert_eq!(run(&here, &["scene", "copy", "mine"]).0, Some(0));
    let (status, _, err) = run(&here, &["inspect", "mine/tasks/pivot.toml"]);
    assert_eq!(status, Some(0));
    assert_eq!(err, "note: mine/tasks/pivot.toml is a task; this is its scene, mine/tasks/../scenes/pivot.toml\n");
    let (status, _, err) = run(&here, &["mpc", "mine/scenes/pivot.toml"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("expected a task, but this is a scene"), "{err}");
    // A list of tasks passes over scenes.
    fs::copy(here.join("mine/scenes/pivot.toml"), here.join("mine/tasks/no_task.toml")).unwrap();
    let (status, out, err) = run(&here, &["tasks", "mine/tasks"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.contains("planar_push_back") && !out.contains("no_task"), "{out}");
    fs::remove_dir_all(here).unwrap();
}

#[test]
fn a_new_scene_of_a_robot_runs_as_it_is() {
    let here = folder("new");
    for robot in ["hand21", "allegro16", "two_fingers", "planar_arm", "teaching_hand"] {
        let (status, _, err) = run(&here, &["scene", "new", robot]);
        assert_eq!(status, Some(0), "{robot}: {err}");
        let scene = format!("{robot}.toml");
        let (status, out, err) = run(&here, &["rollout", &scene]);
        assert_eq!(status, Some(0), "{robot}: {err}");
        assert!(out.contains("all solved"), "{robot}: {out}");
    }
    // An MJCF keeps its own stiffnesses and homes.
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/mjcf/hand.xml"), here.join("fingers.xml")).unwrap();
    let (status, _, err) = run(&here, &["scene", "new", "fingers.xml"]);
    assert_eq!(status, Some(0), "{err}");
    let text = fs::read_to_string(here.join("fingers.toml")).unwrap();
    assert!(text.contains("mjcf = \"fingers.xml\"") && text.contains("\n# stiffness ="), "{text}");
    let (status, out, err) = run(&here, &["rollout", "fingers.toml"]);
    assert!(status == Some(0) && out.contains("all solved"), "{out}{err}");
    // A URDF elsewhere, and a file that is there already.
    fs::create_dir(here.join("mine")).unwrap();
    let (status, _, err) = run(&here, &["scene", "new", "hand21.urdf", "--out", "mine/scene.toml"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(fs::read_to_string(here.join("mine/scene.toml")).unwrap().contains("urdf = \"../hand21.urdf\""));
    let before = fs::read(here.join("hand21.toml")).unwrap();
    let (status, _, err) = run(&here, &["scene", "new", "hand21"]);
    assert_eq!((status, fs::read(here.join("hand21.toml")).unwrap()), (Some(2), before), "{err}");
    assert!(run(&here, &["scene", "new", "hand22"]).2.contains("did you mean \"hand21\"?"));
    fs::remove_dir_all(here).unwrap();
}

#[test]
fn files_end_as_what_they_are() {
    let here = folder("endings");
    for (option, name, expected) in [("--record", "run.csv", ".mcap"), ("--plot", "run.pdf", ".svg or .png")] {
        let (status, _, err) = run(&here, &["rollout", "two_fingers", "-n", "2", option, name]);
        assert_eq!(status, Some(2));
        assert!(err.contains(name) && err.contains(&format!("expected a name that ends in {expected}")), "{err}");
        assert!(!here.join(name).exists());
    }
    let mjcf = "<mujoco><worldbody><body><joint name=\"a\"/><geom size=\".02\"/></body></worldbody></mujoco>";
    fs::write(here.join("hand.mjcf"), mjcf).unwrap();
    let (status, _, err) = run(&here, &["scene", "new", "hand.mjcf"]);
    assert_eq!(status, Some(0), "{err}");
    let (status, _, err) = run(&here, &["scene", "new", "hand.mjcf"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("hand.toml: is there already: expected --out FILE"), "{err}");
    fs::remove_dir_all(here).unwrap();
}

/// Degrees for radians, say; what pulls a little from beyond a limit is not named.
#[test]
fn commands_far_beyond_limits_are_named() {
    let here = folder("limits");
    let said = |u: &str| {
        fs::write(here.join("u.csv"), u).unwrap();
        run(&here, &["rollout", "two_fingers", "-n", "1", "--controls", "u.csv"]).1
    };
    let text = said("45.0, -1.54, -0.662, 1.54\n");
    assert!(text.contains("left_1: commanded to 45 rad, beyond its limits of -1.2 to 1.6 rad"), "{text}");
    assert_eq!(text.matches("beyond its limits").count(), 1, "{text}");
    assert!(!said("1.7, -1.54, -0.662, 1.54\n").contains("beyond its limits"));
    fs::remove_dir_all(here).unwrap();
}
