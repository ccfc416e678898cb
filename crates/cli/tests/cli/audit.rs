//! `fingertip audit` of scenes whose gradients are right: it has nothing to say against them. That it finds wrong ones is a test next to it,
//! in `crates/cli/src/audit/tests.rs`.

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

/// Faces that are parallel whatever the joints do, boxes of equal sizes, no rounding: nothing is smooth in all directions.
#[test]
fn a_plain_gripper_passes() {
    let text = passed(&["tests/audit/gripper.toml", "--states", "9"]);
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
