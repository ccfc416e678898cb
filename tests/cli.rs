//! The command line as its users see it: JSON lines, overrides, summaries, verdicts, messages.
#![cfg(feature = "cli")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use fingertip::show::{Recording, StepRecord};
use serde_json::{Map, Value, json};

const HAND: &str = "assets/scenes/hand_ball.toml";
/// What the library promises of the golden cases.
const Q_TOLERANCE: f64 = 1e-9;
const FORCE_TOLERANCE: f64 = 1e-7;
const DERIVATIVE_TOLERANCE: f64 = 1e-6;

fn fingertip(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fingertip"))
        .args(args)
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

/// What a successful run prints.
fn said(args: &[&str], input: &str) -> String {
    let output = fingertip(args, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one line that a run on bad input prints.
fn complaint(args: &[&str]) -> String {
    let output = fingertip(args, "");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
    text
}

fn step(scene: &str, lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let answers: Vec<Value> =
        said(&["step", scene], &input).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    answers
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or_else(|| panic!("expected a number, got {other}"))],
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |max, x| x.abs().max(max))
}

/// The commanded joints' names in the order of u, as `inspect` lists them in its own way.
fn joints() -> Vec<String> {
    let scene = fingertip::description::Scene::load(HAND).unwrap();
    scene.commanded().map(|(robot, joint)| format!("{}/{}", robot.name, joint.name)).collect()
}

/// A golden case as a line: all its numbers as overrides by name.
fn line_of(case: &Value, joints: &[String]) -> Value {
    let q = [numbers(&case["q_o"]), numbers(&case["q_a"])].concat();
    let stiffness: Map<String, Value> =
        joints.iter().cloned().zip(case["K_a"].as_array().unwrap().iter().cloned()).collect();
    json!({
        "q": q, "u": case["u"], "jacobians": case.get("derivatives").is_some(),
        "params": {
            "h": case["h"], "epsilon": case["eps"], "kappa": case["kappa"], "mu": case["mu"],
            "contact_distance": case["threshold_phi"],
        },
        "stiffness": stiffness, "mass": {"ball": case["M_o"]}, "size": {"ball": case["radius"]},
    })
}

#[test]
fn golden_steps_through_json_lines() {
    let golden: Value =
        serde_json::from_str(&std::fs::read_to_string("tests/golden/quasidynamic_hand.json").unwrap()).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 38);
    let joints = joints();
    let lines: Vec<Value> = cases.iter().map(|case| line_of(case, &joints)).collect();
    let mut derived = 0;
    for (case, answer) in cases.iter().zip(step(HAND, &lines)) {
        let name = format!("case {}", case["id"]);
        assert_eq!(answer["status"], "solved", "{name}: {answer}");
        assert!(distance(&numbers(&answer["q_next"]), &numbers(&case["q_plus"])) < Q_TOLERANCE, "{name}");
        let mut touching = case["force"].as_array().unwrap().iter();
        let flags = case["flag"].as_array().unwrap();
        let forces = flags.iter().flat_map(|flag| match flag.as_bool() {
            Some(true) => numbers(touching.next().unwrap()),
            _ => vec![0.0; 3],
        });
        let forces: Vec<f64> = forces.collect();
        let error = distance(&numbers(&answer["forces"]), &forces);
        assert!(error <= FORCE_TOLERANCE * largest(&forces), "{name}: forces off by {error:e}");
        assert!(answer["residual"].as_f64().unwrap() < 1e-9, "{name}");
        if let Some(expected) = case.get("derivatives") {
            derived += 1;
            let by_u = numbers(&expected["dqplus_du"]);
            let error = distance(&numbers(&answer["dq_next_du"]), &by_u);
            assert!(error < DERIVATIVE_TOLERANCE * largest(&by_u), "{name}: dq_next_du off by {error:e}");
            let (nv, nu, nc) = (24, 21, 6);
            for (key, rows, columns) in
                [("dq_next_dq", nv, nv), ("dq_next_du", nv, nu), ("dlambda_dq", 3 * nc, nv), ("dlambda_du", 3 * nc, nu)]
            {
                let matrix = answer[key].as_array().unwrap();
                assert_eq!((matrix.len(), matrix[0].as_array().unwrap().len()), (rows, columns), "{name}: {key}");
            }
        }
    }
    assert_eq!(derived, 13);
}

/// q and u of the hand at home.
fn home() -> Value {
    let scene = fingertip::description::Scene::load(HAND).unwrap();
    let u = scene.control(0.0);
    let q = [vec![0.1, 0.0, -0.156], u.clone()].concat();
    json!({ "q": q, "u": u })
}

#[test]
fn a_bad_line_is_an_error_in_its_place() {
    let good = home().to_string();
    let mut short = home();
    short["q"].as_array_mut().unwrap().pop();
    let mut unknown = home();
    unknown["mass"] = json!({ "bal": 1.0 });
    let mut key = home();
    key["jacobian"] = json!(true);
    let mut huge = home();
    huge["params"] = json!({ "kappa": -1.0 });
    let lines = [
        &good,
        "not json",
        "",
        &short.to_string(),
        &unknown.to_string(),
        &key.to_string(),
        &huge.to_string(),
        r#"{"q": [1e400]}"#,
        &good,
    ];
    let output = fingertip(&["step", HAND], &(lines.join("\n") + "\n"));
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("7 of 9 lines are bad"));
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    assert_eq!(answers[0], answers[8]);
    assert_eq!(answers[0]["status"], "solved");
    for (n, hints) in [
        (2, vec!["expected"]),
        (3, vec!["empty line"]),
        (4, vec!["q: expected 24 numbers, got 23"]),
        (5, vec!["bal", "\"ball\""]),
        (6, vec!["jacobian", "jacobians"]),
        (7, vec!["kappa", "-1"]),
        (8, vec!["number out of range"]),
    ] {
        let error = answers[n - 1]["error"].as_str().unwrap_or_else(|| panic!("{}", answers[n - 1]));
        assert!(error.starts_with(&format!("line {n}: ")), "{error}");
        assert!(hints.iter().all(|hint| error.contains(hint)), "{error}");
        assert!(!error.contains('\n') && !error.contains("candle"), "{error}");
    }
}

#[test]
fn overrides_of_a_line_are_its_own() {
    let plain = home();
    let mut heavy = home();
    heavy["mass"] = json!({ "ball": 1.04 });
    let answers = step(HAND, &[plain.clone(), heavy, plain]);
    assert_eq!(answers[0], answers[2]);
    // The ball falls by h² g/ε whatever its mass, but twice the mass is twice the force that stops it.
    assert_ne!(answers[0]["forces"], answers[1]["forces"]);
}

#[test]
fn many_lines_come_in_order() {
    let lines: Vec<Value> = (0..600)
        .map(|i| {
            let mut line = home();
            line["q"][0] = json!(0.1 + 1e-5 * f64::from(i));
            line
        })
        .collect();
    let answers = step(HAND, &lines);
    // The table's contact is right below the ball.
    for (line, answer) in lines.iter().zip(&answers) {
        assert_eq!(line["q"][0], answer["contacts"][0]["point"][0]);
    }
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

#[test]
fn the_demo_holds_the_ball() {
    let folder = scratch("demo");
    let text = said(&["demo", "--out", folder.to_str().unwrap()], "");
    assert!(text.contains("ball is HELD") && text.contains("300 steps") && text.contains("all solved"), "{text}");
    assert_eq!(Recording::read(folder.join("hand_ball.mcap")).unwrap().steps.len(), 300);
    assert!(std::fs::read_to_string(folder.join("hand_ball.svg")).unwrap().starts_with("<svg"));
}

#[test]
fn scripts_do_what_they_say() {
    let run = |name: &str| {
        let record = scratch(&format!("{name}.mcap"));
        let path = format!("assets/scenes/{name}.toml");
        let text = said(&["rollout", &path, "--record", record.to_str().unwrap()], "");
        assert!(text.contains("all solved"), "{text}");
        let Recording { objects, steps, .. } = Recording::read(&record).unwrap();
        let pose = |step: &StepRecord| step.end.poses[objects[0].body];
        // Angle about z, from the quaternion (w, x, y, z).
        let yaw = |pose: &[f64]| 2.0 * pose[6].atan2(pose[3]).to_degrees();
        let (start, end) = (pose(&steps[0]), pose(&steps[steps.len() - 1]));
        (text, std::array::from_fn::<f64, 3, _>(|k| end[k] - start[k]), yaw(&end) - yaw(&start))
    };
    let (text, _, turned) = run("cube_fingertips");
    assert!(turned > 25.0 && text.contains("hand/ring_tip"), "{turned}: {text}");
    let (text, _, _) = run("two_fingers");
    assert!(text.contains("disc is HELD"), "{text}");
    let (text, moved, turned) = run("push");
    assert!(moved[0] > 0.08 && turned > 20.0 && text.contains("box rests"), "{moved:?}, {turned}: {text}");
    let (text, moved, _) = run("hand_ball");
    assert!(moved[2] > 0.02 && text.contains("ball is HELD"), "{moved:?}: {text}");
}

#[test]
fn a_rollout_follows_a_file_of_commands() {
    let row = |x: f64| format!("{x},{}\n", vec!["0.1"; 20].join(","));
    let csv = scratch("u.csv");
    std::fs::write(&csv, joints().iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",") + "\n" + &row(-0.1))
        .unwrap();
    let record = scratch("r.mcap");
    let text = said(
        &["rollout", HAND, "--controls", csv.to_str().unwrap(), "-n", "4", "--record", record.to_str().unwrap()],
        "",
    );
    assert!(text.contains("4 steps"), "{text}");
    assert_eq!(Recording::read(&record).unwrap().steps.len(), 4);
    std::fs::write(&csv, "1,2\n").unwrap();
    let text = complaint(&["rollout", HAND, "--controls", csv.to_str().unwrap()]);
    assert!(text.contains("u.csv") && text.contains("line 1") && text.contains("21"), "{text}");
}

#[test]
fn audits_pass_on_every_scene() {
    for scene in ["hand_ball", "cube_fingertips", "push", "two_fingers"] {
        let text = said(&["audit", &format!("assets/scenes/{scene}.toml"), "--states", "6"], "");
        assert!(text.trim_end().ends_with("passed"), "{scene}: {text}");
    }
}

/// Pairs that go through the collision module, with room for contacts that they do not use.
#[test]
fn an_audit_of_bodies_without_formulas_passes() {
    let scene = scratch("bodies.toml");
    let body = |name: &str, shape: &str, x: f64, z: f64| {
        format!("[[object]]\nname = \"{name}\"\n{shape}\nmass = 0.5\nfreedom = \"free\"\nposition = [{x}, 0.0, {z}]\n")
    };
    let text = [
        "[params]\nkappa = 1e4\n[[object]]\nname = \"floor\"\nhalfspace = [0.0, 0.0, 1.0, 0.0]\nfreedom = \"fixed\"\n"
            .into(),
        body("egg", "ellipsoid = [0.03, 0.03, 0.045]", 0.0, 0.05),
        body("brick", "box = [0.1, 0.05, 0.03]", 0.2, 0.031),
        body("lid", "hull = [[0.05,0,0],[-0.05,0,0],[0,0.05,0],[0,-0.05,0],[0,0,0.02]]", 0.2, 0.07),
    ];
    std::fs::write(&scene, text.concat()).unwrap();
    let text = said(&["audit", scene.to_str().unwrap(), "--states", "6"], "");
    assert!(text.trim_end().ends_with("passed"), "{text}");
}

#[test]
fn complaints_name_what_is_wrong() {
    for (args, hints) in [
        (vec!["rollout", "nowhere.toml"], vec!["nowhere.toml"]),
        (vec!["rollout", HAND, "-n", "0"], vec!["--steps", "at least 1"]),
        (vec!["audit", HAND, "--states", "0"], vec!["--states"]),
        (vec!["inspect", "Cargo.toml"], vec!["Cargo.toml"]),
    ] {
        let text = complaint(&args);
        assert!(text.starts_with("error: ") && hints.iter().all(|hint| text.contains(hint)), "{args:?}: {text}");
    }
}

#[test]
fn inspect_lists_every_name() {
    let text = said(&["inspect", HAND], "");
    for name in joints().iter().map(String::as_str).chain(["ball", "table"]) {
        let short = name.rsplit('/').next().unwrap();
        assert!(text.contains(short), "{name} is missing in\n{text}");
    }
    let limits = "joint limits: not constraints";
    assert!(text.contains(limits) && !said(&["inspect", "assets/scenes/three_bodies.toml"], "").contains(limits));
}
