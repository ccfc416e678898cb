//! `fingertip audit` of scenes whose gradients are right: it has nothing to say against them. That it finds wrong ones
//! is tested in `wrong_gradients.rs`.

use crate::command_line::fingertip;
use rayon::prelude::*;

/// The output of an audit, which must pass.
fn passed(args: &[&str]) -> String {
    let args = [&["audit"], args].concat();
    let output = fingertip(&args, "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.trim_end().ends_with("passed"), "{args:?}: {text}");
    text
}

#[test]
fn shipped_scenes_pass() {
    let mut scenes: Vec<String> = std::fs::read_dir("assets/scenes")
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .filter(|path| path.ends_with(".toml"))
        .collect();
    scenes.sort();
    assert!(scenes.len() >= 18, "{scenes:?}");
    scenes.par_iter().for_each(|scene| {
        passed(&[scene, "--states", "6"]);
    });
}

/// Thirty pills are solved for each quantity: one state of all of them, more of ten.
#[test]
fn generated_scenes_pass() {
    for (scene, states) in [("cubes", "6"), ("pills", "1"), ("pills:10", "6")] {
        passed(&[scene, "--states", states]);
    }
}

/// Faces that are parallel whatever the joints do, boxes of equal sizes, no rounding: nothing is smooth in all
/// directions.
#[test]
fn a_plain_gripper_passes() {
    let text = passed(&["tests/audit/gripper.toml", "--states", "80"]);
    assert!(text.contains("kinks, the first: state"), "{text}");
}

/// Each check of gradients says where it is worst.
#[test]
fn worst_places_are_named() {
    let text = passed(&["assets/scenes/push.toml", "--states", "3"]);
    let line = text.lines().find(|line| line.starts_with("∂(force, moment of pairs)/∂(q, u), worst: state ")).unwrap();
    assert!(
        line.contains("\"arm/") && line.contains(" on \"box\" by ") && line.contains(", by differences "),
        "{line}"
    );
}

/// Ball joints turn by quaternions without a position before them, and points that a common joint moves are no farther
/// apart for it.
#[test]
fn ball_joints_and_loops_pass() {
    for file in ["ball_joint", "loop"] {
        passed(&[&format!("../../tests/mjcf/{file}.xml"), "--states", "6"]);
    }
}

/// Two hulls of equal width, side by side: where a corner is past the end of the other's edge and level with that of
/// the next, its contact keeps half of a motion along that.
#[test]
fn hulls_of_equal_width_pass() {
    passed(&["../../tests/mjcf/tie.xml", "--seed", "5", "--states", "4"]);
}

/// A command at its largest effort moves nothing, by whatever it changes.
#[test]
fn commands_at_their_largest_effort_pass() {
    passed(&["tests/audit/limited.toml", "--states", "6"]);
}

/// Where two pairs with torsional friction have no way out, it is said which.
#[test]
fn a_step_without_a_solution_is_explained() {
    for command in [&["audit", "--states", "3"][..], &["rollout", "-n", "1"]] {
        let output = fingertip(&[command, &["tests/audit/squeezed.toml"]].concat(), "");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("and no motion parts"), "{command:?}: {text}");
        assert!(text.contains("\"ball\"") && !text.contains("\"other\""), "{command:?}: {text}");
    }
}
