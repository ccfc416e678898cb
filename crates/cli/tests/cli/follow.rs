//! `fingertip follow`: what it says and writes, and what cannot be followed.

use std::path::PathBuf;

use serde_json::Value;

use crate::command_line::{complaint, said};

const HUMAN: &str = "../../assets/recorded/human_hand.csv";

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("fingertip-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_motion_becomes_commands_and_a_recording() {
    let folder = folder("follow");
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let [u, run, map, log] = ["u.csv", "run.mcap", "map.toml", "log.csv"].map(path);
    let text = said(&["follow", "allegro_plate", HUMAN, "--output", &u, "--record", &run], "");
    assert!(text.contains("thumb-index") && text.contains("pairs of own parts, least gap 0."), "{text}");
    assert!(text.contains("241 frames, 8.00 s; a frame takes"), "{text}");
    let table = std::fs::read_to_string(&u).unwrap();
    assert!(table.starts_with("hand/index_0,hand/index_1,") && table.lines().count() == 242, "{table}");
    // Commands and recording are what the other commands take.
    assert!(said(&["rollout", "allegro_plate", "--controls", &u, "--steps", "3"], "").contains("3 steps"));
    said(&["export", &run, "--csv", &log], "");

    // The default map as a file does the same.
    let file = said(&["follow", "allegro_plate", HUMAN, "--print-map"], "");
    std::fs::write(&map, file).unwrap();
    let numbers = |args: &[&str]| -> Value { serde_json::from_str(&said(args, "")).unwrap() };
    let [a, b] = [
        &["follow", "allegro_plate", HUMAN, "--json"][..],
        &["follow", "allegro_plate", HUMAN, "--json", "--map", &map],
    ]
    .map(numbers);
    assert_eq!(a["targets"], b["targets"]);
    assert!(a["least_gap"].as_f64().unwrap() > 0.0 && a["frames"] == 241 && a["pairs"].as_u64().unwrap() > 50);
    let scaled = numbers(&["follow", "allegro_plate", HUMAN, "--json", "--scale", "1.2", "--margin", "none"]);
    assert!(
        scaled["targets"][1]["scale"] == 1.2 && scaled["targets"][4]["scale"] == 1.0 && scaled["least_gap"].is_null()
    );

    // Another hand follows this one's recording, and its table.
    for motion in [&run, &log] {
        let other = numbers(&["follow", "leap_cube", motion, "--of", "allegro_plate", "--json"]);
        assert!(other["targets"][1]["mean"].as_f64().unwrap() < 0.02, "{other}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A robot's own file, without a scene.
#[test]
fn a_robot_alone_follows() {
    let text = said(&["follow", "../../assets/robots/hand21.urdf", HUMAN], "");
    assert!(text.contains("little") && text.contains("own parts"), "{text}");
}

#[test]
fn what_cannot_be_followed() {
    let line = complaint(&["follow", "allegro_plate", "nowhere.csv"]);
    assert!(line.starts_with("error: nowhere.csv: "), "{line}");
    let line = complaint(&["follow", "push", HUMAN]);
    assert!(line.contains("fingers: expected links named after fingers"), "{line}");
    for (option, value, expected) in [
        ("--scale", "big", "--scale: expected auto or a positive number, got \"big\""),
        ("--scale", "0", "--scale: expected auto or a positive number, got \"0\""),
        ("--margin", "wide", "--margin: expected a length in m or none, got \"wide\""),
        ("--margin", "-1", "margin: expected a number that is not negative, got -1"),
        ("--rate", "0", "rate: expected a positive frequency in Hz, got 0"),
        ("--cutoff", "0", "cutoff: expected a positive frequency in Hz, got 0"),
        ("--smooth", "-1", "smooth: expected a number that is not negative, got -1"),
        ("--iterations", "0", "max_iterations: expected at least 1, got 0"),
        ("--map", "../../README.md", "../../README.md: line "),
        ("--of", "nothing", "nothing"),
    ] {
        let line = complaint(&["follow", "allegro_plate", HUMAN, &format!("{option}={value}")]);
        assert!(line.contains(expected), "{line}");
    }
}
