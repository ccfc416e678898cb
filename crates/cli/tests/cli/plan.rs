//! `fingertip plan`: a roadmap that is built, added to, asked and used, and files that are none.

use std::fs;

use crate::command_line::fingertip;
use serde_json::Value;

/// The output of `plan` with the options, and its exit status.
fn plan(path: &str, options: &[&str]) -> (String, Option<i32>) {
    let output = fingertip(&[&["plan", "planar_push_around", "--roadmap", path], options].concat(), "");
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

fn count(path: &str) -> [usize; 2] {
    let file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    ["nodes", "edges"].map(|key| file[key].as_array().unwrap().len())
}

#[test]
fn from_nothing_to_around_the_box() {
    let folder = std::env::temp_dir().join(format!("fingertip_plan_{}", std::process::id()));
    let path = folder.join("push.json");
    let path = path.to_str().unwrap();
    let small = ["--joints", "--neighbours", "3", "--tries", "1"];
    let (text, status) = plan(path, &[&small[..], &["--nodes", "3"]].concat());
    assert!(text.contains("built in") && status == Some(0), "{text}");
    assert_eq!(count(path)[0], 3);
    // What is there stays, and is added to.
    let (text, status) = plan(path, &[&small[..], &["--nodes", "12", "--build"]].concat());
    assert!(text.contains("12") && status == Some(0), "{text}");
    let [nodes, edges] = count(path);
    assert!(nodes == 12 && edges > 30, "{nodes} {edges}");
    let (text, status) = plan(path, &["--query", "1", "--run", "1"]);
    assert!(text.contains("→ goal") && text.contains("1 of 1") && status == Some(0), "{text}");
    assert!(text.lines().any(|line| line.contains("plain") && line.contains("0 of 1")), "{text}");
    let output = fingertip(&["mpc", "planar_push_around", "--episodes", "1", "--json", "--roadmap", path], "");
    let row: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(row["success"].is_u64() && row["supervisor"]["does"]["node"].is_u64(), "{row}");

    // A task of something else, and a file of something else.
    let other = fingertip(&["plan", "allegro_cube_anywhere", "--roadmap", path], "");
    let message = String::from_utf8(other.stderr).unwrap();
    assert!(message.contains("push.json: object: expected the task's \"cube\", got \"box\""), "{message}");
    assert_eq!(other.status.code(), Some(2));
    fs::write(path, "{\"format\": \"fingertip roadmap\", \"version\": 9}").unwrap();
    let (text, status) = plan(path, &[]);
    assert!(text.contains("push.json: version: expected 1, got 9") && status == Some(2), "{text}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn options_that_cannot_be() {
    for (options, expected) in [
        (vec!["--minutes=-1"], "--minutes: expected a number from 0"),
        (vec!["--run", "0"], "--run: expected at least 1, got 0"),
        (vec!["--nodes", "0"], "--nodes: expected at least 1, got 0"),
        (vec!["--ways", "fast"], "possible values: plain, supervised, roadmap"),
    ] {
        let (text, status) = plan("nowhere.json", &options);
        assert!(text.contains(expected) && status == Some(2), "{options:?}: {text}");
    }
    let output = fingertip(&["mpc", "tips_ground", "--roadmap", "nowhere.json"], "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--roadmap: expected a task with a supervisor"));
    let output = fingertip(&["mpc", "planar_push_around", "--roadmap", "nowhere.json"], "");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere.json: "));
}
