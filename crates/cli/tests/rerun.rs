//! Recordings as files of rerun, read by rerun's own program where its wheel is installed (`pip install rerun-sdk`).

use std::path::Path;
use std::process::Command;

use fingertip::show::Recording;
use serde_json::Value;

/// Files of rerun hold single precision.
const ROUNDING: f64 = 1e-7;

fn fingertip(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_fingertip")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn rerun_reads_what_is_written() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rerun");
    let [run, rrd] = ["run.mcap", "run.rrd"].map(|name| folder.join(name));
    let [run_file, rrd_file] = [&run, &rrd].map(|path| path.to_str().unwrap());
    fingertip(&["rollout", "assets/scenes/hand_ball.toml", "--steps", "30", "--record", run_file]);
    fingertip(&["export", run_file, "--rrd", rrd_file]);
    // The same recording is the same file.
    let first = std::fs::read(&rrd).unwrap();
    fingertip(&["export", run_file, "--rrd", rrd_file]);
    assert!(first.starts_with(b"RRF2") && first == std::fs::read(&rrd).unwrap());

    let output = Command::new("python3").args(["tests/readers.py", rrd_file]).output();
    let Some(output) = output.ok().filter(|output| !output.stdout.ends_with(b"skipped\n")) else {
        println!("skipped: python3 and rerun's wheel are not both here");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let tables: Value = serde_json::from_str(said.strip_prefix("rrd: ").unwrap()).unwrap();
    // A long cell is cut off: here are the numbers in front of that.
    let column = |entity: &str, name: &str| {
        let column = &tables[entity][name];
        assert!(column.is_array(), "{entity}, {name}: {said}");
        let last: Vec<f64> = column[1]
            .as_str()
            .unwrap()
            .split([',', '[', ']', ' '])
            .filter(|text| !text.is_empty())
            .map_while(|text| text.parse().ok())
            .collect();
        (column[0].as_u64().unwrap(), last)
    };
    let near = |found: &[f64], expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() <= ROUNDING * b.abs().max(1.0), "{found:?}, not {expected:?}");
        }
    };

    let recording = Recording::read(&run).unwrap();
    let end = recording.steps.last().unwrap();
    for (body, pose) in recording.bodies.iter().zip(&end.end.poses).skip(1) {
        let entity = format!("/world/{}", body.name.replace('/', "\\/"));
        let (rows, translation) = column(&entity, "Transform3D:translation");
        assert!(rows == 31 || rows == 1, "{entity}: {rows}");
        near(&translation, &pose[..3]);
        near(&column(&entity, "Transform3D:quaternion").1, &[pose[4], pose[5], pose[6], pose[3]]);
    }
    let force = |i: usize| end.contacts.force(i);
    // The table presses the ball from the first step on; arrows are of contacts with force.
    let loaded = (0..end.contacts.nc()).filter(|&i| force(i).iter().map(|f| f * f).sum::<f64>().sqrt() > 1e-3);
    let arrows: Vec<f64> = loaded.flat_map(|i| force(i).map(|f| 0.02 * f)).collect();
    let (rows, found) = column("/world/contacts", "Arrows3D:vectors");
    assert!(rows == 30 && found.len() >= 3);
    near(&found, &arrows[..found.len()]);
    near(&column("/scalars/force\\ on\\ ball", "Scalars:scalars").1, &[end.scalars["force on ball"]]);
    near(&column("/q/ball.z", "Scalars:scalars").1, &[end.end.q[2]]);
    let surfaces = ["Ellipsoids3D:half_sizes", "Boxes3D:half_sizes", "Cylinders3D:radii", "Capsules3D:radii"];
    let tables = tables.as_object().unwrap();
    let drawn = tables.values().filter(|table| surfaces.iter().any(|name| table.get(name).is_some())).count();
    assert_eq!(drawn, recording.shapes.len());
}
