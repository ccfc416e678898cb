//! The command line under input that nobody would write in good faith, and in scenes without contacts.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::command_line::fingertip;

const HAND: &str = "assets/scenes/hand_ball.toml";
const PUSH: &str = "assets/scenes/push.toml";

/// The answers of `step`, one for each line.
fn step(scene: &str, lines: &[Vec<u8>]) -> Vec<Value> {
    let output = fingertip(&["step", scene], lines.join(&b'\n'));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len(), "{errors}");
    answers
}

/// A scene file of its own, gone with the test.
struct Scene(PathBuf);

impl Scene {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fingertip-{name}-{}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn is_finite(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().all(is_finite),
        Value::Object(values) => values.values().all(is_finite),
        // JSON has no other numbers: what is not finite is written as null.
        Value::Null => false,
        _ => true,
    }
}

/// In scenes where nothing can touch anything, `step`, `rollout` and `audit` work; they once panicked.
#[test]
fn nothing_can_touch_anything() {
    let ball = "[[object]]\nname = \"ball\"\nsphere = 0.04\nmass = 0.5\nfreedom = \"free\"\nposition = [0, 0, 1]\n";
    let scene = Scene::new("alone", ball);
    let q = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let lines = [json!({"q": q, "u": []}), json!({"q": q, "u": [], "jacobians": true})].map(|line| line.to_string());
    for answer in step(scene.path(), &lines.map(String::into_bytes)) {
        assert_eq!(answer["status"], "solved", "{answer}");
        assert_eq!(answer["contacts"], json!([]));
        // h² g: h = 0.01 s, ε = 1 or what the default is, so that it falls.
        assert!(answer["q_next"][2].as_f64().unwrap() < 1.0, "{answer}");
        assert!(is_finite(&answer), "{answer}");
    }
    for args in [
        &["inspect", scene.path()][..],
        &["rollout", scene.path(), "--steps", "5"],
        &["audit", scene.path(), "--states", "5"],
        &["bench", scene.path(), "--worlds", "2", "--threads", "1"],
    ] {
        let output = fingertip(args, Vec::new());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("panicked"), "{args:?}: {text}");
        assert!(output.status.success(), "{args:?}: {text} {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn lines_that_do_not_make_sense() {
    let good = json!({"q": [0.42, 0.0, 0.0, 0.811, -1.866], "u": [0.628, -1.411]}).to_string();
    let with = |more: &str| format!("{}, {more}}}", &good[..good.len() - 1]).into_bytes();
    let long = |n: usize| format!("{{\"q\": [{}0]}}", "0, ".repeat(n)).into_bytes();
    let bad: Vec<(Vec<u8>, &str)> = vec![
        (b"[".repeat(100_000), "at most 128 levels"),
        (b"{\"q\":".repeat(100_000), "at most 128 levels"),
        ([b"{\"q\": \"".as_slice(), &[0xff, 0xfe], b"\"}"].concat(), "expected text in UTF-8"),
        (vec![0; 100], "expected a number, a text in double quotes"),
        (long(1_000_000), "expected a line of at most 1 MiB"),
        (vec![b' '; 5 << 20], "expected a line of at most 1 MiB"),
        (long(1000), "q: expected 5 numbers, got 1001; they are box.x, "),
        (with("\"q\": [0, 0, 0, 0, 0]"), "expected each key once, but \"q\" stands twice"),
        (with("\"params\": {\"h\": 0.1, \"h\": 0.2}"), "expected each key once, but \"h\" stands twice"),
        (with("\"params\": {\"rolling\": 3}"), "rolling: expected true or false, got 3"),
        (with("\"params\": {\"max_iterations\": 1e18}"), "expected a whole number from 1 up, got 1e+18"),
        (with("\"params\": {\"max_iterations\": 1000000000000000000}"), "max_iterations: expected from 1 to 10000"),
        (with("\"params\": {\"max_iterations\": 0}"), "max_iterations: expected from 1 to 10000, got 0"),
        (with("\"params\": {\"gravity\": [0, 0]}"), "gravity: expected 3 numbers"),
        (with("\"params\": []"), "params: expected an object"),
        (with("\"mass\": {\"box\": 1e999}"), "expected a number up to"),
        (with("\"mass\": {\"box\": -1}"), "expected a positive number"),
        (with("\"size\": {\"box\": {}}"), "expected a number"),
        (with("\"output\": [\"forse\"]"), "output: there is no output \"forse\"; did you mean \"forces\"?"),
        (with("\"output\": [\"x\"]"), "expected one of \"q_next\", \"lambda\""),
        (with("\"output\": \"q_next\""), "output: expected a list of names, as [\"q_next\"], got \"q_next\""),
        (with("\"jacobians\": 1"), "jacobians: expected true or false, got 1"),
        (with(&format!("\"{}\": 1", "k".repeat(100_000))), "there is no key"),
        (b"null".to_vec(), "expected {\"q\""),
        (b"[1, 2]".to_vec(), "expected {\"q\""),
        (b"".to_vec(), "got an empty line"),
    ];
    // Each followed by a line that makes sense: the bad one has no other effect.
    let lines: Vec<Vec<u8>> = bad.iter().flat_map(|(line, _)| [line.clone(), good.clone().into_bytes()]).collect();
    let answers = step(PUSH, &lines);
    for ((line, expected), answers) in bad.iter().zip(answers.chunks(2)) {
        let error = answers[0]["error"].as_str().unwrap_or_default();
        let shown = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        assert!(error.contains(expected), "{shown}: {}", answers[0]);
        assert!(error.len() < 500, "{shown}: a message of {} bytes", error.len());
        assert_eq!(answers[1]["status"], "solved", "{}", answers[1]);
    }
}

/// Random numbers of any size and random damage: an answer for each line, each an error or finite numbers.
#[test]
fn lines_at_random() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut lines = Vec::new();
    for _ in 0..1500 {
        let mut number = |usual: f64| -> Value {
            match rng.random_range(0..12) {
                0 => json!(rng.random_range(-1.0..1.0) * 10.0_f64.powf(rng.random_range(-320.0..308.0))),
                1 => [json!(0), json!(-1), json!(1e308), json!(5e-324), json!(u64::MAX), json!("1")]
                    [rng.random_range(0..6)]
                .clone(),
                _ => json!(usual + rng.random_range(-0.1..0.1)),
            }
        };
        let q: Vec<Value> = [0.42, 0.0, 0.0, 0.811, -1.866].into_iter().map(&mut number).collect();
        let u: Vec<Value> = [0.628, -1.411].into_iter().map(&mut number).collect();
        let params = json!({"kappa": number(1e4), "h": number(0.2), "mu": number(0.5), "epsilon": number(1.0)});
        let mut line = json!({"q": q, "u": u});
        let extra =
            [("params", params), ("mass", json!({"box": number(0.5)})), ("stiffness", json!({"arm": number(2.0)}))];
        for (key, value) in extra {
            if rng.random_range(0..3) == 0 {
                line[key] = value;
            }
        }
        line["jacobians"] = json!(rng.random_range(0..4) == 0);
        let mut text = line.to_string().into_bytes();
        if rng.random_range(0..4) == 0 {
            let at = rng.random_range(0..text.len());
            text[at] = loop {
                let byte = rng.random::<u8>();
                if byte != b'\n' {
                    break byte;
                }
            };
        }
        lines.push(text);
    }
    let start = Instant::now();
    let answers = step(PUSH, &lines);
    // A thousandth of a second for each is usual.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let mut solved = 0;
    for (line, answer) in lines.iter().zip(&answers) {
        let what = String::from_utf8_lossy(line);
        match answer.get("error") {
            Some(error) => assert!(error.as_str().is_some_and(|text| text.len() < 500), "{what}: {error}"),
            None => {
                assert!(is_finite(answer), "{what}: {answer}");
                solved += usize::from(answer["status"] == "solved");
            }
        }
    }
    println!("{solved} of {} solved", lines.len());
    assert!(solved > 300, "{solved} of {} solved", lines.len());
}

#[test]
fn commands_name_each_joint_once() {
    let path = std::env::temp_dir().join(format!("fingertip-commands-{}.csv", std::process::id()));
    let run = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let output = fingertip(&["rollout", HAND, "--controls", path.to_str().unwrap()], Vec::new());
        assert_eq!(output.status.code(), Some(2), "{text}");
        String::from_utf8(output.stderr).unwrap()
    };
    let error = run("hand/slider_z, hand/finger_r_joint_2_index2, hand/slider_z\n0, 0, 0\n");
    assert!(error.contains("line 1: expected each joint once, but \"hand/slider_z\" stands twice"), "{error}");
    let error = run("{\"u\": [1], \"u\": [2]}\n");
    assert!(error.contains("line 1: column 14: expected each key once, but \"u\" stands twice"), "{error}");
    std::fs::remove_file(&path).unwrap();
}

/// Messages of lines to `mpc --stdio` are one line of the reader's words, whatever `RUST_BACKTRACE` says (see
/// [`fingertip`]).
#[test]
fn a_goal_out_of_reach_is_answered_without_a_trace() {
    let lines = "{\"goal\": {\"position\": [1e300, 0, 0]}}\n{\"episode\": 0, \"q\": [1]}\n{\"episode\": 0, goal: 1}\n";
    let output = fingertip(&["mpc", "assets/tasks/planar_push.toml", "--stdio"], lines);
    let text = String::from_utf8(output.stdout).unwrap();
    let errors: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["error"].take()).collect();
    assert_eq!(
        errors,
        [
            "goal: goal of \"box\": expected at most 1e6 m, got 1e300",
            "q: expected 5 numbers, got 1; they are box.x, box.y, box.yaw, pusher/x, pusher/y",
            "column 16: expected a key in double quotes",
        ]
    );
}

/// A mesh that is not there: `rollout` says so, and where it was looked for.
#[test]
fn a_collision_mesh_that_is_missing_is_said() {
    let urdf = std::env::temp_dir().join(format!("fingertip-missing-{}.urdf", std::process::id()));
    let mesh = "<collision><geometry><mesh filename=\"package://my_hand/tip.stl\"/></geometry></collision>";
    let joint = "<parent link=\"a\"/><child link=\"b\"/><limit lower=\"0\" upper=\"1\" effort=\"1\" velocity=\"1\"/>";
    let links = format!("<link name=\"a\"/><link name=\"b\">{mesh}</link>");
    let text = format!("<robot name=\"m\">{links}<joint name=\"j\" type=\"prismatic\">{joint}</joint></robot>");
    std::fs::write(&urdf, text).unwrap();
    let ball = "[[object]]\nname = \"ball\"\nsphere = 0.02\nmass = 0.1\nfreedom = \"free\"\n";
    let scene = Scene::new("missing", &format!("{ball}[[robot]]\nname = \"m\"\nurdf = {urdf:?}\n"));
    let output = fingertip(&["rollout", scene.path(), "-n", "2"], Vec::new());
    let _ = std::fs::remove_file(&urdf);
    let errors = String::from_utf8_lossy(&output.stderr);
    let place = std::env::temp_dir().canonicalize().unwrap();
    let expected = format!("there is no my_hand/tip.stl or tip.stl in {} or a folder above it", place.display());
    assert!(errors.contains("warning: m: link \"b\": collision mesh") && errors.contains(&expected), "{errors}");
}

/// Two pads that close on a box from beyond `contact_distance`, or from the outermost part of its window.
#[test]
fn pads_that_begin_beyond_the_contact_distance() {
    let urdf = std::env::temp_dir().join(format!("fingertip-pads-{}.urdf", std::process::id()));
    let pad = |name: &str| {
        let geometry = "<geometry><box size=\"0.01 0.04 0.04\"/></geometry>";
        format!("<link name=\"{name}\"><collision>{geometry}</collision></link>")
    };
    let joint = |name: &str, child: &str, x: f64| {
        let (axis, limit) = (-x.signum(), "<limit lower=\"-0.05\" upper=\"0.05\" effort=\"100\" velocity=\"1\"/>");
        format!(
            "<joint name=\"{name}\" type=\"prismatic\"><parent link=\"base\"/><child link=\"{child}\"/>\
             <origin xyz=\"{x} 0 0\"/><axis xyz=\"{axis} 0 0\"/>{limit}</joint>"
        )
    };
    let links = format!("<link name=\"base\"/>{}{}", pad("l"), pad("r"));
    let joints = joint("jl", "l", -0.01) + &joint("jr", "r", 0.01);
    std::fs::write(&urdf, format!("<robot name=\"pads\">{links}{joints}</robot>")).unwrap();
    let thing = "[[object]]\nname = \"c\"\nbox = [0.005, 0.02, 0.02]\nmass = 0.05\nfreedom = \"free\"\n";
    let answer = |name: &str, params: &str, thing: &str| {
        let text = format!(
            "gravity = [0.0, 0.0, 0.0]\n[params]\nkappa = 1e6\nmu = 0.7\n{params}\n{thing}\
             [[robot]]\nname = \"p\"\nurdf = {urdf:?}\nstiffness = 1000.0\nhome = {{ jl = -0.02, jr = -0.02 }}\n"
        );
        step(Scene::new(name, &text).path(), &[b"{\"u\": [0.03, 0.03]}".to_vec()]).remove(0)
    };
    let held = answer("window", "contact_distance = 0.02000001\nfade = 0.005", thing);
    let passed = answer("beyond", "h = 0.02\ncontact_distance = 0.0199\nfade = 0.005", thing);
    let [own, near] = ["h = 0.002", "h = 0.06"].map(|h| answer("own", h, ""));
    let _ = std::fs::remove_file(&urdf);
    assert_eq!(held["status"], "solved", "{held}");
    for k in [7, 8] {
        assert!(held["q_next"][k].as_f64().unwrap().abs() < 1e-4, "{held}");
        assert!((passed["q_next"][k].as_f64().unwrap() - 0.03).abs() < 1e-6, "{passed}");
    }
    assert_eq!(held.get("message"), None);
    let message = passed["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("\"p/l\" and \"p/r\" pass through each other by 50.000 mm"), "{passed}");
    assert!(message.ends_with("begins beyond contact_distance"), "{passed}");
    // The pads' own reach is 1 m/s times h; they are 50 mm apart.
    let message = own["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("farther apart than they push each other, 2.000 mm"), "{own}");
    assert_eq!(near.get("message"), None, "{near}");
}

/// Why a line is one of bad input is in its answer.
#[test]
fn bad_input_says_which_number_and_why() {
    let lines = [
        json!({"q": [0.42, 1e31, 0, 0.8, -1.9]}),
        json!({"u": [0.6, 1e99]}),
        json!({"u": [0.6, 1e29]}),
        json!({"params": {"mu": 1e31}}),
    ];
    let answers = step(PUSH, &lines.map(|line| line.to_string().into_bytes()));
    for (answer, expected) in answers.iter().zip([
        "q: expected finite numbers up to 1e30, got 1e31 for \"box.y\"",
        "u: expected finite numbers up to 1e30, got 1e99 for \"arm/elbow\"",
        "u: expected forces of up to 1e30 N or N·m, got 1e31 for \"arm/elbow\"",
        "mu[0]: expected a finite number up to 1e30, got 1e31",
    ]) {
        assert_eq!(answer["status"], "bad_input", "{answer}");
        assert_eq!(answer["message"], expected);
    }
}
