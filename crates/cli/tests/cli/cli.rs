//! The command line as its users see it: JSON lines, overrides, summaries, verdicts, messages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fingertip::show::{Recording, StepRecord};
use serde_json::{Map, Value, json};

use crate::command_line::{complaint, fingertip, said};
use support::{apart, largest, values};

const HAND: &str = "assets/scenes/hand_ball.toml";
/// The golden cases by overrides: a few roundings more than in `golden_hand`.
const Q_TOLERANCE: f64 = 1e-13;
const FORCE_TOLERANCE: f64 = 1e-12;
const DERIVATIVE_TOLERANCE: f64 = 1e-8;

fn step(scene: &str, lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let answers: Vec<Value> =
        said(&["step", scene], &input).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    answers
}

/// The commanded joints' names in the order of u, as `inspect` lists them in its own way.
fn joints() -> Vec<String> {
    let scene = fingertip::description::Scene::load(HAND).unwrap();
    scene.commanded().map(|(robot, joint)| format!("{}/{}", robot.name, joint.name)).collect()
}

/// A golden case as a line: all its numbers as overrides by name.
fn line_of(case: &Value, joints: &[String]) -> Value {
    let q = [values(&case["q_o"]), values(&case["q_a"])].concat();
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
        serde_json::from_str(&std::fs::read_to_string("../../tests/golden/quasidynamic_hand.json").unwrap()).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 38);
    let joints = joints();
    let lines: Vec<Value> = cases.iter().map(|case| line_of(case, &joints)).collect();
    let mut derived = 0;
    for (case, answer) in cases.iter().zip(step(HAND, &lines)) {
        let name = format!("case {}", case["id"]);
        assert_eq!(answer["status"], "solved", "{name}: {answer}");
        assert!(apart(&values(&answer["q_next"]), &values(&case["q_plus"])) < Q_TOLERANCE, "{name}");
        let mut touching = case["force"].as_array().unwrap().iter();
        let flags = case["flag"].as_array().unwrap();
        let forces = flags.iter().flat_map(|flag| match flag.as_bool() {
            Some(true) => values(touching.next().unwrap()),
            _ => vec![0.0; 3],
        });
        let forces: Vec<f64> = forces.collect();
        let error = apart(&values(&answer["forces"]), &forces);
        assert!(error <= FORCE_TOLERANCE * largest(&forces), "{name}: forces off by {error:e}");
        assert!(answer["residual"].as_f64().unwrap() < 1e-9, "{name}");
        if let Some(expected) = case.get("derivatives") {
            derived += 1;
            let by_u = values(&expected["dqplus_du"]);
            let error = apart(&values(&answer["dq_next_du"]), &by_u);
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
    let output = fingertip(&["step", HAND], lines.join("\n") + "\n");
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
        (8, vec!["expected a number up to"]),
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
fn the_demo_turns_the_ball_and_holds_it() {
    let folder = scratch("demo");
    let text = said(&["demo", "--out", folder.to_str().unwrap()], "");
    assert!(text.contains("ball is HELD") && text.contains("1 of 1 succeed") && text.contains("all solved"), "{text}");
    let recording = Recording::read(folder.join("hand_turn.mcap")).unwrap();
    assert_eq!(recording.steps.len(), 800);
    let ball = recording.objects[0].body;
    let (start, end) = (recording.start.poses[ball], recording.steps[799].end.poses[ball]);
    // It starts without a turn: the angle is that of its quaternion (w, x, y, z), here 90°.
    let turned = 2.0 * end[3].abs().min(1.0).acos();
    assert!((turned - 1.57).abs() < 0.05 && end[2] - start[2] > 0.035, "{turned} rad, {start:?} {end:?}");
    assert!(std::fs::read_to_string(folder.join("hand_turn.svg")).unwrap().starts_with("<svg"));
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

/// All pairs of n things may touch, n (n − 1)/2.
#[test]
fn thousands_of_things_are_inspected() {
    let ball = |k: usize| {
        let [x, y, z] = [k % 15, k / 15 % 15, k / 225].map(|n| 0.05 * n as f64);
        format!(
            "[[object]]\nname = \"b{k}\"\nsphere = 0.02\nmass = 0.1\nfreedom = \"free\"\nposition = [{x}, {y}, {z}]\n"
        )
    };
    let file = scratch("balls.toml");
    std::fs::write(&file, (0..2000).map(ball).collect::<String>()).unwrap();
    let text = said(&["inspect", file.to_str().unwrap()], "");
    assert!(text.contains("1999000 contacts"), "{}", &text[..200]);
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
    let steps = Recording::read(&record).unwrap().steps;
    assert_eq!(steps.len(), 4);
    // Bare names will do.
    let record_bare = scratch("bare.mcap");
    let bare = joints().iter().map(|name| name.split_once('/').unwrap().1.to_owned()).collect::<Vec<_>>().join(",");
    std::fs::write(&csv, bare + "\n" + &row(-0.1)).unwrap();
    let args =
        ["rollout", HAND, "--controls", csv.to_str().unwrap(), "-n", "4", "--record", record_bare.to_str().unwrap()];
    said(&args, "");
    assert_eq!(Recording::read(&record_bare).unwrap().steps[3].end.q, steps[3].end.q);
    // So will a table of the recording, which has other columns, too; but not with rows that are no step apart.
    said(&["export", record.to_str().unwrap(), "--csv", csv.to_str().unwrap()], "");
    said(&args[..4].iter().chain(&args[6..]).copied().collect::<Vec<_>>(), "");
    let again = Recording::read(&record_bare).unwrap().steps;
    assert_eq!((again.len(), &again[3].end.q), (4, &steps[3].end.q));
    let table = std::fs::read_to_string(&csv).unwrap();
    let thinned: Vec<&str> = table.lines().enumerate().filter(|(k, _)| *k != 2).map(|(_, line)| line).collect();
    std::fs::write(&csv, thinned.join("\n")).unwrap();
    let text = complaint(&["rollout", HAND, "--controls", csv.to_str().unwrap()]);
    assert!(text.contains("line 3: time: expected"), "{text}");
    std::fs::write(&csv, "1,2\n").unwrap();
    let text = complaint(&["rollout", HAND, "--controls", csv.to_str().unwrap()]);
    assert!(text.contains("u.csv") && text.contains("line 1") && text.contains("21"), "{text}");
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

/// A hand whose thumb is 7 mm inside its palm, along z, where no joint moves it.
fn overlapping_hand() -> String {
    let joint = |name: &str, parent: &str, child: &str| {
        format!(
            "<joint name=\"{name}\" type=\"continuous\"><axis xyz=\"0 0 1\"/><parent link=\"{parent}\"/>\
             <child link=\"{child}\"/></joint>"
        )
    };
    let link = |name: &str, z: f64| {
        let shape = "<geometry><box size=\"0.1 0.02 0.02\"/></geometry>";
        format!("<link name=\"{name}\"><collision><origin xyz=\"0 0 {z}\"/>{shape}</collision></link>")
    };
    let links = link("palm", 0.0) + "<link name=\"knuckle\"/>" + &link("thumb", 0.013);
    format!(
        "<robot name=\"hand\">{links}{}{}</robot>",
        joint("base", "palm", "knuckle"),
        joint("bend", "knuckle", "thumb")
    )
}

/// A scene of the hand with overlapping links and a block on a table, with these pair rules.
fn overlapping_scene(name: &str, rules: &str) -> String {
    std::fs::write(scratch("overlapping.urdf"), overlapping_hand()).unwrap();
    let path = scratch(name);
    let table = "[[object]]\nname = \"table\"\nhalfspace = [0, 0, 1, -0.1]\n";
    let block = "[[object]]\nname = \"block\"\nbox = [0.02, 0.02, 0.02]\nmass = 0.5\nfreedom = \"free\"\n\
                 position = [0.5, 0, -0.08]\n";
    let robot = "[[robot]]\nname = \"hand\"\nurdf = \"overlapping.urdf\"\n";
    std::fs::write(&path, [table, block, robot, rules].concat()).unwrap();
    path.to_str().unwrap().to_owned()
}

const PAIR: &str = "\"hand/palm\" and \"hand/thumb\" overlap by 7.000 mm";
const RULE: &str = "[[pair]] a = \"hand/palm\", b = \"hand/thumb\", enabled = false";

/// Warned of and left out, shapes that overlap at home do no harm.
#[test]
fn a_hand_that_overlaps_itself_is_warned_of() {
    let scene = overlapping_scene("overlapping.toml", "");
    let output = fingertip(&["rollout", &scene, "-n", "5"], "");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.starts_with("warning: ") && errors.lines().count() == 1, "{errors}");
    assert!(errors.contains(PAIR) && errors.contains(RULE), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("all solved"), "{text}");
    let text = said(&["inspect", &scene], "");
    assert!(text.contains(PAIR) && text.contains(RULE), "{text}");
}

/// A run without a solution says why, gives no verdict, and fails.
#[test]
fn a_run_without_a_solution_names_the_culprit() {
    let rule = "[[pair]]\na = \"hand\"\nb = \"hand\"\nenabled = true\n";
    let scene = overlapping_scene("infeasible.toml", rule);
    // The block is 10 mm in the table as well, which a motion undoes.
    let text = std::fs::read_to_string(&scene).unwrap();
    std::fs::write(&scene, text.replace("-0.08]", "-0.09]")).unwrap();
    let run = |args: &[&str]| {
        let output = fingertip(args, "");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&["rollout", &scene, "-n", "3"]);
    assert!(text.contains("step 1: ") && text.contains(PAIR) && text.contains(RULE), "{text}");
    assert!(text.contains("NOT SOLVED") && !text.contains("all solved"), "{text}");
    assert!(!text.contains("rests") && !text.contains("HELD") && !text.contains("moving"), "{text}");
    let text = run(&["audit", &scene, "--states", "3"]);
    assert!(text.contains(PAIR) && text.contains(RULE) && text.contains("no state was solved"), "{text}");
    let answer = &step(&scene, &[json!({ "output": ["status"] })])[0];
    assert_ne!(answer["status"], "solved");
    assert!(answer["message"].as_str().unwrap().contains("\"table\" and \"block\" overlap by 10.000 mm"), "{answer}");
}

/// Also where nothing overlaps.
#[test]
fn a_line_without_a_solution_says_why() {
    let answer = &step(HAND, &[json!({ "params": { "max_iterations": 1, "kappa": 1e6 } })])[0];
    assert_eq!(answer["status"], "iteration_limit", "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("no solution within 1 iterations"), "{answer}");
}

/// The audit, which computes steps by formulas of its own, knows contacts that resist turning, and friction that is
/// stiffer than they are.
#[test]
fn torsional_and_stiffer_friction_pass_the_audit() {
    for law in [r#""friction": "relaxed""#, r#""friction": "coulomb""#, r#""friction": "coulomb", "impratio": 10"#] {
        let with = format!(r#"{{"params": {{"torsion": 0.005, {law}}}}}"#);
        let text = said(&["audit", "assets/scenes/hand_ball.toml", "--states", "12", "--with", &with], "");
        assert!(text.contains("passed"), "{law}: {text}");
    }
}

/// A line without q and u is the start; of all that comes back, what is asked for.
#[test]
fn a_step_starts_at_home_and_says_what_is_asked() {
    let answers = step(HAND, &[json!({}), home(), json!({ "u": home()["u"] })]);
    assert_eq!(answers[0]["status"], "solved");
    // The scene's home has no more digits than the test's.
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
    let keys = |answer: &Value| answer.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let some = |args: &[&str], line: &str| -> Value {
        serde_json::from_str(&said(&[&["step", HAND], args].concat(), &format!("{line}\n"))).unwrap()
    };
    let plain = some(&["--output", "forces,status"], "{}");
    assert_eq!(keys(&plain), ["forces", "status"]);
    assert_eq!(plain["forces"], answers[0]["forces"]);
    assert_eq!(
        keys(&some(&["--output", "forces"], r#"{"output": ["q_next", "dlambda_du"]}"#)),
        ["dlambda_du", "q_next"]
    );
    let all = some(&["--output", "status"], r#"{"jacobians": true}"#);
    assert_eq!(keys(&all), ["dlambda_dq", "dlambda_du", "dq_next_dq", "dq_next_du", "status"]);
    // The barrier keeps the gaps after the step positive.
    let gaps = some(&["--output", "gaps,contacts"], "{}");
    let [gaps, contacts] = ["gaps", "contacts"].map(|key| gaps[key].as_array().unwrap().clone());
    assert_eq!(gaps.len(), contacts.len());
    assert!(gaps.iter().all(|gap| gap.as_f64().unwrap() > 0.0), "{gaps:?}");
    assert!(answers[0].get("torques").is_none() && answers[0].get("gaps").is_none());
    // All that is on the ball is the sum of its contacts, and is listed before what each thing does.
    let felt = some(&["--output", "net_forces,forces"], "{}");
    let number = |value: &Value| value.as_f64().unwrap();
    let (ball, table) = (&felt["net_forces"][0], &felt["net_forces"][1]);
    assert_eq!((&ball["on"], &ball["by"]), (&json!("ball"), &Value::Null));
    assert_eq!((&table["on"], &table["by"]), (&json!("ball"), &json!("table")));
    let up: f64 = felt["forces"].as_array().unwrap().iter().map(|force| number(&force[2])).sum();
    assert!(up > 1.0 && (number(&ball["force"][2]) - up).abs() < 1e-9 * up, "{felt}");
    assert_eq!(ball["torque"].as_array().unwrap().len(), 3);
    // A log of the solve: as many lines as iterations, each with less left, and the last is the step.
    let logged = some(&["--output", "log,gaps,iterations,residual"], "{}");
    let log = logged["log"].as_array().unwrap();
    assert_eq!(log.len() as u64, logged["iterations"].as_u64().unwrap());
    let last = log.last().unwrap();
    assert_eq!((&last["attempt"], &last["residual"]), (&json!("newton"), &logged["residual"]));
    assert!(log.iter().all(|line| line["friction"] == "relaxed" && line["length"].as_f64().unwrap() > 0.0), "{log:?}");
    let gaps = logged["gaps"].as_array().unwrap().iter().map(|gap| gap.as_f64().unwrap());
    assert_eq!(last["gap"].as_f64().unwrap(), gaps.fold(f64::INFINITY, f64::min));
    assert!(last["residual"].as_f64() < log[0]["residual"].as_f64(), "{log:?}");
    let soft = some(&["--with", r#"{"params": {"torsion": 0.01}}"#, "--output", "torques,forces"], "{}");
    assert_eq!(soft["torques"].as_array().unwrap().len(), soft["forces"].as_array().unwrap().len());
    let text = complaint(&["step", HAND, "--output", "q_nxt"]);
    assert!(text.contains("--output: ") && text.contains("did you mean \"q_next\""), "{text}");
    let error = &step(HAND, &[json!({ "output": ["force"] })])[0]["error"];
    assert!(error.as_str().unwrap().contains("did you mean \"forces\""), "{error}");
}

/// Gaps and poses at home, in words and as data.
#[test]
fn inspect_shows_home() {
    let scene = "assets/scenes/two_fingers.toml";
    let contents: Value = serde_json::from_str(&said(&["inspect", scene, "--json"], "")).unwrap();
    let (nq, nc) = (contents["nq"].as_u64().unwrap(), contents["nc"].as_u64().unwrap());
    assert_eq!(
        (nq, nc as usize),
        (7, contents["pairs"].as_array().unwrap().iter().map(|pair| pair["contacts"].as_u64().unwrap() as usize).sum())
    );
    // The gaps are those of a step from home.
    let answer = &step(scene, &[json!({})])[0];
    for pair in contents["pairs"].as_array().unwrap() {
        let contact = &answer["contacts"][pair["contact"].as_u64().unwrap() as usize];
        let (gap, phi) = (pair["gap"].as_f64().unwrap(), contact["phi"].as_f64().unwrap());
        // Two ways to the same number, of tenths of a metre.
        assert!((gap - phi).abs() < 1e-15, "{pair}: {phi}");
        assert!(said(&["inspect", scene], "").contains(&format!("{:.3}", 1e3 * gap)));
    }
    let bodies = contents["bodies"].as_array().unwrap();
    let disc = bodies.iter().find(|body| body["name"] == "disc").unwrap();
    assert_eq!(
        (values(&disc["position"]), values(&disc["quaternion"])),
        (vec![0.13, 0.0, 0.0], vec![1.0, 0.0, 0.0, 0.0])
    );
    // A finger's first link has turned by its home about z: (cos(q/2), 0, 0, sin(q/2)).
    let link = bodies.iter().find(|body| body["name"] == "fingers/left_upper").unwrap();
    let expected = [(0.662_f64 / 2.0).cos(), 0.0, 0.0, (0.662_f64 / 2.0).sin()];
    // Poses are written in multiples of 1e-7.
    assert!(apart(&values(&link["quaternion"]), &expected) < 1e-7, "{link}");
    let scene = overlapping_scene("inspected.toml", "[[pair]]\na = \"hand\"\nb = \"hand\"\nenabled = true\n");
    let text = said(&["inspect", &scene], "");
    assert!(text.contains("-7.000") && text.contains("1 overlap"), "{text}");
}

/// Where most contacts are, what a contact_distance would leave out, and how much too fast a script is; a small scene
/// has no hints.
#[test]
fn inspect_and_bench_say_what_costs_time() {
    let contents = |scene: &str| -> Value { serde_json::from_str(&said(&["inspect", scene, "--json"], "")).unwrap() };
    assert_eq!(contents("two_fingers")["hints"], json!([]));
    let own = contents("teaching_hand");
    let hints = own["hints"].to_string();
    let pairs = own["pairs"].as_array().unwrap();
    let count = |far: f64| -> u64 {
        // Those out of reach have a gap of 1,000 m.
        let far = pairs.iter().filter(|pair| (far..1e3).contains(&pair["gap"].as_f64().unwrap()));
        far.map(|pair| pair["contacts"].as_u64().unwrap()).sum()
    };
    let nc = own["nc"].as_u64().unwrap();
    assert!(hints.contains(&format!("{nc} of {nc} contacts are of hand with itself")), "{hints}");
    assert!(hints.contains(&format!("{} of {nc} contacts are more than 0.05 m apart", count(0.05))), "{hints}");
    assert!(!contents("tips")["hints"].to_string().contains("contact_distance"));
    let text = said(&["bench", "teaching_hand", "--worlds", "1", "--threads", "1", "--json"], "");
    let report: Value = serde_json::from_str(&text).unwrap();
    let savings = report["savings"].as_array().unwrap();
    assert_eq!(savings[0]["contacts"], own["nc"]);
    assert!(savings[1]["change"].as_str().unwrap().starts_with("contact_distance = 0.05"), "{report}");
    assert_eq!(savings[2]["contacts"], 0, "{report}");
    assert!(savings.iter().all(|saving| saving["rollout"].as_f64().unwrap() > 0.0), "{report}");
}

/// A box has four corners on the table and one line in the plot, and what is far away has none, nor a row in the table.
#[test]
fn plots_and_tables_show_what_touches() {
    let (plot, scene) = (scratch("block.svg"), overlapping_scene("block.toml", ""));
    let text = said(&["rollout", &scene, "-n", "30", "--plot", plot.to_str().unwrap()], "");
    let rows = text.lines().filter(|line| line.contains("block") && line.contains("table")).count();
    assert!((1..=4).contains(&rows) && !text.contains("hand/"), "{text}");
    let svg = std::fs::read_to_string(&plot).unwrap();
    assert_eq!((svg.matches("table on block<").count(), svg.matches("palm").count()), (1, 0));
    // A robot alone touches nothing.
    let scene = scratch("alone.toml");
    let robot = "[[robot]]\nname = \"hand\"\nurdf = \"overlapping.urdf\"\nposition = [0, 0, 0.3]\n\
                 [[object]]\nname = \"table\"\nhalfspace = [0, 0, 1, 0]\n";
    std::fs::write(&scene, robot).unwrap();
    let text = said(&["rollout", scene.to_str().unwrap(), "-n", "3"], "");
    assert!(text.contains("At the end nothing touches."), "{text}");
}

/// Each thing that is wrong has a line of its own.
#[test]
fn all_that_is_wrong_is_printed() {
    let scene = scratch("wrong.toml");
    std::fs::write(&scene, "[params]\nh = 0\nkapa = 1\n[[object]]\nname = \"ball\"\nsphere = 0.1\n").unwrap();
    let output = fingertip(&["inspect", scene.to_str().unwrap()], "");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines.iter().all(|line| line.starts_with("error: ") && line.contains("wrong.toml: ")), "{text}");
}

/// As `fingertip … | head -0` does.
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for args in [
        &["tasks"][..],
        &["inspect", HAND],
        &["scene", "list"],
        &["mpc", "pull", "--json", "--episodes", "2"],
        &["audit", "two_fingers", "--states", "1"],
    ] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_fingertip"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(program.stdout.take());
        let output = program.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !errors.contains("error"), "{args:?}: {} {errors}", output.status);
    }
}

#[test]
fn complaints_name_what_is_wrong() {
    for (args, hints) in [
        (vec!["rollout", "nowhere.toml"], vec!["nowhere.toml"]),
        (vec!["rollout", HAND, "-n", "0"], vec!["--steps", "at least 1"]),
        (vec!["audit", HAND, "--states", "0"], vec!["--states"]),
        (vec!["inspect", "assets/robots/door.urdf"], vec!["door.urdf", "[[robot]]"]),
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

/// A base that may move is listed with its place; a κ that lets a small cube hover is warned of, unless it is raised.
#[test]
fn floating_bases_and_hovering_cubes() {
    let scene = scratch("floating.toml");
    let urdf = Path::new("assets/robots/planar_arm.urdf").canonicalize().unwrap();
    let text = format!(
        "[params]\nkappa = 1e4\n[[object]]\nname = \"cube\"\nbox = [0.01, 0.01, 0.01]\nmass = 0.008\nfreedom = \"free\"\nposition = [0, 0, 1]\n\
         [[object]]\nname = \"floor\"\nhalfspace = [0, 0, 1, -1]\n[[robot]]\nname = \"arm\"\nurdf = {urdf:?}\nfreedom = \"free\"\nposition = [0.5, 0.0, 0.25]\n"
    );
    std::fs::write(&scene, text).unwrap();
    let path = scene.to_str().unwrap();
    let text = said(&["inspect", path], "");
    let line = text.lines().find(|line| line.contains(" arm ") && line.contains("free")).unwrap();
    assert!(
        line.contains("free: x y z, quaternion w x y z")
            && line.contains("7–13")
            && line.contains("0.5 0 0.25 1 0 0 0"),
        "{line}"
    );
    assert!(text.contains("arm/lower"), "its links have masses that count:\n{text}");
    let warned = |args: &[&str]| String::from_utf8(fingertip(args, "").stderr).unwrap();
    assert!(warned(&["inspect", path]).starts_with("warning: cube: at rest it hovers by up to 2.55e-3 m"));
    for raised in [r#"{"params": {"kappa": 1e6}}"#, r#"{"params": {"hover": 1e-4}}"#] {
        assert_eq!(warned(&["inspect", path, "--with", raised]), "");
    }
    let q = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.25, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let line = |hover: f64| json!({"q": q, "u": [0.0, 0.0], "params": {"hover": hover}});
    let answers = step(path, &[line(1e-4), line(-1.0)]);
    assert_eq!(answers[0]["status"], "solved");
    let error = answers[1]["error"].as_str().unwrap();
    assert!(error.contains("line 2: params: hover: expected a positive number, got -1"), "{error}");
}

#[cfg(not(feature = "native"))]
#[test]
fn native_code_asks_for_its_feature() {
    for args in
        [&["rollout", "assets/scenes/push.toml", "--native"][..], &["step", "assets/scenes/push.toml", "--native"]]
    {
        let output = fingertip(args, "{}\n");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains("feature `native`"), "{error}");
    }
}

#[test]
fn codegen_writes_files_and_counts_operations() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli_codegen").join("two_arms");
    let out = folder.to_str().unwrap();
    let words = said(&["codegen", "assets/scenes/two_arms.toml", "--out", out, "--cuda"], "");
    for word in ["step_from", "adjoint", "Relaxed", "PullGeometry", "bytes of working memory"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    for file in ["two_arms.c", "two_arms.h", "two_arms.cu", "main.c", "CMakeLists.txt"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains("two_arms") && text.contains("printed by fingertip"), "{file}");
    }

    // Dynamics ask nothing of the pairs of shapes.
    let bodies = folder.with_file_name("bodies");
    let words =
        said(&["codegen", "assets/scenes/three_bodies.toml", "--out", bodies.to_str().unwrap(), "--dynamics"], "");
    for word in ["inverse_dynamics_derivatives", "forward_dynamics_adjoint", "PlaceFrames", "bytes of working memory"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    let header = std::fs::read_to_string(bodies.join("bodies.h")).unwrap();
    for word in ["void bodies_mass_matrix(", "bodies_inertias[", "#define BODIES_NV", "ellipsoid1"] {
        assert!(header.contains(word), "{word}: {header}");
    }

    let both = folder.with_file_name("both");
    let out_both = both.to_str().unwrap();
    let words = said(&["codegen", "assets/scenes/two_arms.toml", "--out", out_both, "--step", "--second-order"], "");
    for word in ["second_order_step_from", "second_order_adjoint", "MassMatrix", "PullProblem"] {
        assert!(words.contains(word), "{word}: {words}");
    }
    let header = std::fs::read_to_string(both.join("both.h")).unwrap();
    for word in ["void both_step(", "void both_second_order_step(", "BOTH_SECOND_ORDER_ROW_V_NEXT", "BOTH_ROW_DELTA"] {
        assert!(header.contains(word), "{word}: {header}");
    }

    let refused = |args: &[&str]| {
        let output = fingertip(args, "");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let error = refused(&["codegen", "assets/scenes/three_bodies.toml", "--out", out]);
    assert!(error.contains("ellipsoid1") && error.contains("formula"), "{error}");
    let error = refused(&["codegen", "assets/scenes/three_bodies.toml", "--out", out, "--second-order"]);
    assert!(error.contains("ellipsoid1") && error.contains("formula"), "{error}");
    let error = refused(&["codegen", "assets/scenes/two_arms.toml", "--out", out, "--dynamics=mass_matrix,masses"]);
    assert!(error.contains("\"masses\"") && error.contains("mass_matrix, inverse_mass_matrix"), "{error}");
    let error = refused(&["codegen", "assets/scenes/two_arms.toml", "--out", "out/2 arms"]);
    assert!(error.contains("2 arms") && error.contains("letters"), "{error}");
}

#[test]
fn a_device_that_is_not_there_is_an_error_that_says_why() {
    let scene = "assets/scenes/push.toml";
    for command in ["step", "rollout", "bench"] {
        let text = complaint(&[command, scene, "--device", "gpu"]);
        assert!(text.contains("\"cuda:N\"") && text.contains("\"gpu\""), "{text}");
        // No machine has so many.
        let text = complaint(&[command, scene, "--device", "cuda:999"]);
        let expected = if cfg!(feature = "cuda") { "\"cuda:999\": " } else { "feature `cuda`" };
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn single_precision_steps_as_the_double_one_does() {
    let scene = "assets/scenes/two_fingers.toml";
    let q = |args: &[&str]| {
        let line: Value = serde_json::from_str(said(args, "{}\n").trim()).unwrap();
        values(&line["q_next"])
    };
    let (double, single) = (q(&["step", scene]), q(&["step", scene, "--f32"]));
    // Rounding of numbers about 1 to 24 bits, some hundred times.
    assert!(apart(&single, &double) < 1e-5, "{single:?} {double:?}");
    assert_ne!(single, double);
    assert!(said(&["rollout", scene, "-n", "5", "--f32"], "").contains("all solved"));
}

#[test]
fn a_concave_mesh_is_cut_into_parts_that_are_kept() {
    let folder = std::env::temp_dir().join(format!("fingertip-decompose-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // An L of 1 cm thickness, 6 cm by 4 cm, with legs of 2 cm.
    let outline = [[0.0, 0.0], [0.06, 0.0], [0.06, 0.02], [0.02, 0.02], [0.02, 0.04], [0.0, 0.04]];
    let mut obj = String::new();
    for z in [0.0, 0.01] {
        outline.iter().for_each(|[x, y]| obj.push_str(&format!("v {x} {y} {z}\n")));
    }
    obj.push_str("f 4 2 1\nf 4 3 2\nf 6 4 1\nf 6 5 4\nf 7 8 10\nf 8 9 10\nf 7 10 12\nf 10 11 12\n");
    for k in 0..6 {
        let next = (k + 1) % 6;
        let (a, b, c, d) = (k + 1, next + 1, next + 7, k + 7);
        obj.push_str(&format!("f {a} {b} {c}\nf {a} {c} {d}\n"));
    }
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("l.obj"), obj).unwrap();
    let text = said(&["decompose", &path("l.obj"), "--tolerance", "0.001", "--out", &path("parts.obj")], "");
    assert!(text.contains("20 triangles as 2 convex parts"), "{text}");
    let scene = |keys: &str| format!("[[object]]\nname = \"l\"\nmass = 0.1\nfreedom = \"free\"\nmesh = {keys}\n");
    std::fs::write(path("given.toml"), scene("\"parts.obj\"\nparts = true")).unwrap();
    std::fs::write(path("cut.toml"), scene("\"l.obj\"\ndecompose = { tolerance = 0.001 }")).unwrap();
    let cache = folder.join("cache");
    let inspect = |name: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fingertip"));
        let output = command.args(["inspect", &path(name)]).env("XDG_CACHE_HOME", &cache).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // The first line begins with the scene's name.
        String::from_utf8(output.stdout).unwrap().split_once(':').unwrap().1.to_owned()
    };
    let kept = || std::fs::read_dir(cache.join("fingertip")).map_or(0, Iterator::count);
    let given = inspect("given.toml");
    assert_eq!(kept(), 0);
    assert_eq!(inspect("cut.toml"), given);
    assert_eq!(kept(), 1);
    assert_eq!(inspect("cut.toml"), given, "from the cache");
    assert_eq!(kept(), 1);
    let few = fingertip(&["decompose", &path("l.obj"), "--parts", "1"], "");
    assert_eq!(few.status.code(), Some(2));
    let text = String::from_utf8(few.stderr).unwrap();
    assert!(text.contains("l.obj: decompose: expected parts that differ from the mesh by at most 1.000 mm"), "{text}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a model lacks of its files is a warning of every command that reads them, each line once.
#[test]
fn every_command_warns_of_what_is_missing() {
    let (file, out) = ("../../tests/mjcf/off.xml", scratch("off.toml"));
    let _ = std::fs::remove_file(&out);
    let once = |args: &[&str], errors: &str| {
        let lines: Vec<&str> =
            errors.lines().filter(|line| line.starts_with("warning: off: no link of it has")).collect();
        assert_eq!(lines.len(), 1, "{args:?}: {errors}");
        assert!(lines[0].ends_with("`collide = true` takes the 2 that it is drawn with"), "{args:?}: {errors}");
    };
    for args in [
        &["rollout", file, "-n", "1"][..],
        &["step", file],
        &["inspect", file],
        &["audit", file, "--states", "1"],
        &["scene", "new", file, "-o", out.to_str().unwrap()],
        &["rollout", out.to_str().unwrap(), "-n", "1"],
    ] {
        let output = fingertip(args, "");
        once(args, &String::from_utf8(output.stderr).unwrap());
    }
    // The scene that was begun says what to change, and then there is nothing to say.
    let text = std::fs::read_to_string(&out).unwrap();
    std::fs::write(&out, text.replace("# collide = true ", "collide = true ")).unwrap();
    let output = fingertip(&["rollout", out.to_str().unwrap(), "-n", "1"], "");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    // A live scene says it before the page is there.
    let mut view = Command::new(env!("CARGO_BIN_EXE_fingertip"))
        .args(["view", file, "--no-open"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(view.stdout.take().unwrap()), &mut line).unwrap();
    view.kill().unwrap();
    let output = view.wait_with_output().unwrap();
    assert!(line.starts_with("page"), "{line}");
    once(&["view"], &String::from_utf8(output.stderr).unwrap());
}

/// A scene that is begun for a robot of an MJCF has its gravity, the ground across it, and a script of a joint that has
/// some way to go.
#[test]
fn a_new_scene_is_the_files() {
    let (file, out) = (scratch("y_up.xml"), scratch("y_up.toml"));
    let _ = std::fs::remove_file(&out);
    let text = "<mujoco><option gravity=\"0 -9.81 0\"/><worldbody><body name=\"p\">\
                <joint name=\"palm\" type=\"slide\" axis=\"1 0 0\" range=\"-0.00001 0\"/><geom type=\"box\" size=\".04 .01 .06\"/>\
                <body name=\"f\" pos=\"0 0 .06\"><joint name=\"finger\" axis=\"1 0 0\" range=\"0 2\"/>\
                <geom type=\"capsule\" fromto=\"0 0 0.01 0 0 .06\" size=\".008\"/></body></body></worldbody>\
                <actuator><position joint=\"finger\" kp=\"2\"/></actuator></mujoco>";
    std::fs::write(&file, text).unwrap();
    let output = fingertip(&["scene", "new", file.to_str().unwrap(), "-o", out.to_str().unwrap()], "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let scene = fingertip::description::Scene::load(&out).unwrap();
    assert_eq!(scene.gravity, [0.0, -9.81, 0.0]);
    let ground = scene.objects.iter().find(|object| object.name == "ground").unwrap();
    let fingertip::description::ObjectBody::Rigid { collisions, .. } = &ground.body else { panic!("{ground:?}") };
    let up = collisions[0].pose.rotation * nalgebra::Vector3::z();
    assert!((up - nalgebra::Vector3::y()).norm() < 1e-12, "{up}");
    assert!(scene.script.iter().all(|keyframe| keyframe.u.keys().eq(["finger"])), "{:?}", scene.script);
    // What hangs in the air falls onto the ground, and not past the robot.
    let output = fingertip(&["rollout", out.to_str().unwrap(), "-n", "200"], "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A scene is begun for a robot whose joint has a spring and no command, and for one with quotes in its names and path.
#[test]
fn a_new_scene_of_any_robot() {
    let (file, out) = (scratch("it's.xml"), scratch("any.toml"));
    let new = |more: &str| {
        let text = format!(
            "<mujoco><worldbody><body name=\"p\"><joint name=\"a &quot;b&quot;\" axis=\"0 1 0\" stiffness=\"2\"/>\
             <geom type=\"box\" size=\".05 .02 .02\"/></body></worldbody>{more}</mujoco>"
        );
        std::fs::write(&file, text).unwrap();
        let _ = std::fs::remove_file(&out);
        let output = fingertip(&["scene", "new", file.to_str().unwrap(), "-o", out.to_str().unwrap()], "");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fingertip::description::Scene::load(&out).unwrap().script
    };
    assert!(new("").is_empty());
    let script = new("<actuator><position joint=\"a &quot;b&quot;\" kp=\"2\"/></actuator>");
    assert!(!script.is_empty() && script.iter().all(|keyframe| keyframe.u.keys().eq(["a \"b\""])), "{script:?}");
}
