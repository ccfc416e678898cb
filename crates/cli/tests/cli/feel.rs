//! `fingertip feel`: poses from a log, and what is none.

use serde_json::Value;

use crate::command_line::{complaint, said};

/// The table of a rollout has joints and the disc, which counts in its first row alone.
#[test]
fn poses_of_a_log() {
    let folder = std::env::temp_dir().join(format!("fingertip-feel-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let [run, log, small, poses] = ["run.mcap", "log.csv", "small.csv", "poses.csv"].map(path);
    said(&["rollout", "two_fingers", "--steps", "30", "--record", &run], "");
    said(&["export", &run, "--csv", &log], "");
    let text = said(&["feel", "two_fingers", &log, "--output", &poses, "--window", "3"], "");
    assert!(text.contains("disc.yaw") && text.contains("m and rad; 31 rows, 1.50 s; a row takes"), "{text}");
    let table = std::fs::read_to_string(&poses).unwrap();
    assert!(table.starts_with("time,disc.x,") && table.lines().count() == 32, "{table}");

    let found: Value = serde_json::from_str(&said(&["feel", "two_fingers", &log, "--json"], "")).unwrap();
    let last = &found["off"][30];
    // The model made the log.
    assert!(last[0].as_f64().unwrap().abs() < 1e-3 && found["q"].as_array().unwrap().len() == 31, "{last}");
    let deviation = |args: &[&str]| -> f64 {
        let found: Value = serde_json::from_str(&said(args, "")).unwrap();
        found["deviation"][30][0].as_f64().unwrap()
    };
    let unseen = deviation(&["feel", "two_fingers", &log, "--json"]);
    assert!(deviation(&["feel", "two_fingers", &log, "--json", "--seen"]) < unseen);

    let log_of = |times: [f64; 4]| {
        let rows: String = times.iter().map(|time| format!("{time},0.6\n")).collect();
        std::fs::write(&small, format!("time,fingers/left_1\n{rows}")).unwrap();
    };
    log_of([0.0, 0.05, 0.12, 0.17]);
    let text = complaint(&["feel", "two_fingers", &small]);
    assert!(text.contains("expected rows a whole number of steps of 0.05 s apart, all the same"), "{text}");
    log_of([0.0, 0.05, 0.1, 0.15]);
    let text = complaint(&["feel", "two_fingers", &small, "--window", "0"]);
    assert!(text.contains("window: expected at least 1, got 0"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}
