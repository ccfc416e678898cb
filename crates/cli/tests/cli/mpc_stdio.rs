//! `fingertip mpc --stdio` with plants that lie and plants that say nothing.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The program, and a task that it has begun.
struct Planner {
    process: Child,
    output: BufReader<ChildStdout>,
    q: Vec<Value>,
}

impl Planner {
    fn new(options: &[&str]) -> Self {
        Self::of("assets/tasks/tips_ground.toml", options)
    }

    fn of(task: &str, options: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_fingertip"))
            .args(["mpc", task, "--stdio"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut planner = Self { process, output, q: Vec::new() };
        planner.say("{\"episode\": 0}");
        planner.q = planner.hear()["start"]["q"].as_array().unwrap().clone();
        planner
    }

    fn say(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn ask(&mut self, question: &Value) -> Value {
        self.say(&question.to_string());
        self.hear()
    }

    /// The answer to the start with one number replaced.
    fn with(&mut self, place: usize, x: Value) -> Value {
        let mut q = self.q.clone();
        q[place] = x;
        self.ask(&json!({ "q": q }))
    }
}

impl Drop for Planner {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn is_usable(answer: &Value) -> bool {
    answer["u"].as_array().is_some_and(|u| u.len() == 9 && u.iter().all(|u| u.as_f64().is_some_and(f64::is_finite)))
}

#[test]
fn plants_that_lie() {
    let mut planner = Planner::new(&[]);
    let start = json!({ "q": planner.q });
    let first = planner.ask(&start);
    assert!(is_usable(&first) && first["step"] == 0, "{first}");
    // Not measured, and out of all bounds: the rest of the plan, as if nothing had been said.
    let mut silent = Planner::new(&[]);
    silent.ask(&start);
    for lie in [Value::Null, json!(1e200), json!(40.0)] {
        let answer = planner.with(8, lie);
        let rest = silent.ask(&json!({ "q": null }));
        assert_eq!((&answer["status"], &answer["u"]), (&json!("bad input"), &rest["u"]), "{answer}");
        assert!(rest["status"] == "silent" && is_usable(&rest) && rest["u"] != first["u"], "{rest}");
    }
    // A jump of the object is believed.
    let answer = planner.with(0, json!(3.0));
    assert!(is_usable(&answer) && answer["status"] != "bad input", "{answer}");
    // What cannot be read is an error, and no period.
    let step = answer["step"].as_u64().unwrap();
    let short = json!({ "q": [0.0] });
    for (question, expected) in [
        (short.to_string(), "q: expected 16 numbers, got 1"),
        ("{\"q\": \"here\"}".to_owned(), "q: expected a list of 16 numbers"),
        ("{\"q\": [NaN]}".to_owned(), ""),
        (String::new(), ""),
    ] {
        planner.say(&question);
        let answer = planner.hear();
        let error = answer["error"].as_str().unwrap_or_else(|| panic!("{question}: {answer}"));
        assert!(error.contains(expected), "{question}: {error}");
    }
    let answer = planner.ask(&start);
    assert!(is_usable(&answer) && answer["step"] == step + 1, "{answer}");
}

/// The time limit of the command line is that of lines that have none.
#[test]
fn deadlines() {
    let mut planner = Planner::new(&["--deadline", "0"]);
    let start = json!({ "q": planner.q });
    assert_eq!(planner.ask(&start)["status"], "deadline");
    let answer = planner.ask(&json!({ "q": planner.q, "deadline_ms": 100_000 }));
    assert!(is_usable(&answer) && answer["status"] != "deadline", "{answer}");
}

/// Starts and goals that are nowhere are errors; what is said of others has numbers.
#[test]
fn starts_and_goals_that_are_nowhere() {
    let mut planner = Planner::new(&[]);
    let mut far = planner.q.clone();
    far[9] = json!(1e9);
    for (question, expected) in [
        (json!({ "goal": { "position": [1e300, 0.0, 0.0] } }), "at most 1e6 m"),
        (json!({ "goal": { "position": [0.1, 0.0, 0.0], "quaternion": [1e-200, 0.0, 0.0, 0.0] } }), "other than zero"),
        (json!({ "episode": 0, "q": far }), "up to 1e6"),
    ] {
        let answer = planner.ask(&question);
        let error = answer["error"].as_str().unwrap_or_else(|| panic!("{question}: {answer}"));
        assert!(error.contains(expected), "{question}: {error}");
    }
    let answer = planner.ask(&json!({ "goal": { "position": [1e3, 0.0, 0.0] } }));
    assert_eq!(answer["goal"]["position"][0], 1e3, "{answer}");
    let answer = planner.ask(&json!({ "q": planner.q }));
    assert!(is_usable(&answer) && answer["cost"].is_number(), "{answer}");
    assert!(answer["errors"]["position"].as_f64().is_some_and(|error| error > 999.0), "{answer}");
}

#[test]
fn plants_that_say_nothing() {
    // As long as a task's period; the planner's own time does not count.
    let mut planner = Planner::new(&["--silence", "50"]);
    let first = planner.ask(&json!({ "q": planner.q }));
    for _ in 0..3 {
        assert_eq!(planner.hear(), json!({ "u": first["u"], "status": "silent" }));
    }
    // In words: a period that was not measured.
    planner.say("{\"q\": null}");
    let answer = std::iter::repeat_with(|| planner.hear()).find(|answer| answer.get("step").is_some()).unwrap();
    assert_eq!((&answer["status"], &answer["step"]), (&json!("silent"), &json!(1)), "{answer}");
    assert!(is_usable(&answer) && answer["u"] != first["u"], "{answer}");
}

/// A goal that moves in a running episode, what is believed of the plant, and what it did.
#[test]
fn lines_that_change_something() {
    let mut planner = Planner::new(&[]);
    let start = json!({ "q": planner.q });
    planner.ask(&start);
    let answer = planner.ask(&json!({ "q": planner.q, "goal": { "position": [0.5, 0.0, 0.03] } }));
    assert!(is_usable(&answer) && answer["step"] == 0, "{answer}");
    assert!(answer["errors"]["position"].as_f64().is_some_and(|error| error > 0.4), "{answer}");
    let far = planner.ask(&start)["errors"]["position"].clone();
    assert_eq!(far, answer["errors"]["position"], "the goal stays");
    // An object that is believed to be heavier: a plan of another cost.
    let mut heavy = Planner::new(&[]);
    let light = Planner::new(&[]).ask(&start);
    let heavy = heavy.ask(&json!({ "q": planner.q, "mass": { "cube": 1.0 }, "mu": { "tips/cube": 0.3 } }));
    assert!(is_usable(&heavy) && heavy["cost"] != light["cost"], "{heavy}");
    // Late: it plans from where the commands under way bring it.
    let mut late = Planner::new(&[]);
    late.ask(&start);
    let answer = late.ask(&json!({ "q": planner.q, "latency_ms": 100.0, "velocity": vec![0.0; 15] }));
    assert!(is_usable(&answer) && answer["q_from"].as_array().is_some_and(|q| *q != planner.q), "{answer}");
    let step = answer["step"].as_u64().unwrap();
    for (key, bad, expected) in [
        ("velocity", json!([0.0]), "velocity: expected 15 finite numbers"),
        ("u", json!([0.0]), "applied command: expected 9 finite numbers"),
        ("latency_ms", json!(1e6), "latency: expected from 0 to"),
        ("mass", json!({ "cub": 1.0 }), "did you mean \"cube\"?"),
        ("goal", json!({ "yaw": 1.0 }), "expected a quaternion"),
    ] {
        let mut question = start.clone();
        question[key] = bad;
        let answer = late.ask(&question);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(expected)), "{answer}");
    }
    assert_eq!(late.ask(&start)["step"], step + 1, "lines that cannot be used change nothing");
}

/// Of a goal of rotation alone, what is not measured is no success.
#[test]
fn what_is_not_measured_is_no_success() {
    let mut planner = Planner::new(&[]);
    planner.ask(&json!({ "episode": 0, "goal": { "quaternion": [1.0, 0.0, 0.0, 0.0] } }));
    for q in [Value::Null, json!(vec![Value::Null; 16])] {
        for _ in 0..25 {
            let answer = planner.ask(&json!({ "q": q }));
            assert!(answer["success"] == false && answer["errors"]["rotation"].is_null(), "{answer}");
        }
    }
}

/// A goal of an axis is said, or an axis alone, and measured between axes.
#[test]
fn goals_of_an_axis() {
    let mut planner = Planner::new(&[]);
    let mut q = planner.q.clone();
    // Upside down, and turned about its own axis.
    for (at, x) in (3..7).zip([0.0, 0.6, 0.8, 0.0]) {
        q[at] = json!(x);
    }
    for (goal, expected) in [
        (json!({ "axis": [0.0, 0.0, 1.0] }), std::f64::consts::PI),
        (json!({ "axis": [0.0, 0.0, 2.0], "quaternion": [0.0, 1.0, 0.0, 0.0] }), 0.0),
    ] {
        let begun = planner.ask(&json!({ "episode": 0, "goal": goal }));
        assert_eq!(begun["goal"]["axis"], goal["axis"], "{begun}");
        let answer = planner.ask(&json!({ "q": q }));
        let off = answer["errors"]["rotation"].as_f64().unwrap();
        assert!((off - expected).abs() < 1e-9, "{answer}");
    }
    let bad = planner.ask(&json!({ "goal": { "axis": [0.0, 0.0, 0.0] } }));
    assert!(bad["error"].as_str().unwrap().contains("axis: expected 3 numbers, not all zero"), "{bad}");
}

/// A goal of an object's joint: said, changed, measured.
#[test]
fn goals_of_joints() {
    let mut planner = Planner::of("valve", &[]);
    let answer = planner.ask(&json!({ "episode": 1 }));
    let stem = answer["goal"]["joints"]["stem"].as_f64().unwrap();
    assert!((1.0..2.0).contains(&stem) && answer["goal"]["position"].is_null(), "{answer}");
    let answer = planner.ask(&json!({ "goal": { "joints": { "stem": 0.25 } } }));
    assert_eq!(answer["goal"]["joints"], json!({ "stem": 0.25 }), "{answer}");
    let answer = planner.ask(&json!({ "q": planner.q }));
    assert_eq!(answer["errors"]["joints"], json!(0.25), "{answer}");
    assert!(is_usable(&answer), "{answer}");
    for (joints, expected) in [
        (json!({ "stalk": 1.0 }), "there is no joint \"stalk\"; expected one of \"stem\""),
        (json!({ "stem": "open" }), "stem"),
        (json!([1.0]), "joints: expected {\"hinge\": 0.5, …}"),
    ] {
        let answer = planner.ask(&json!({ "goal": { "joints": joints } }));
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(expected)), "{answer}");
    }
}

/// A plant that is at each goal at once: the next one follows in the same answer.
#[test]
fn goals_in_a_row() {
    let mut planner = Planner::of("assets/tasks/allegro_cube_sequence.toml", &["--goals", "3"]);
    let start = planner.q.clone();
    let first = planner.ask(&json!({ "q": start }));
    assert!(first["success"] == false && first["reached"] == 0 && first["supervisor"]["does"] == "subgoal", "{first}");
    let mut goal = first["goal"].clone();
    for reached in 1..=3 {
        let mut q = start.clone();
        for (to, from) in [(0..3, "position"), (3..7, "quaternion")] {
            q[to].clone_from_slice(goal[from].as_array().unwrap());
        }
        let answer = planner.ask(&json!({ "q": q }));
        assert!(answer["success"] == true && answer["reached"] == reached, "{answer}");
        assert_eq!((answer["done"] == true, answer["ended"] == "all goals"), (reached == 3, reached == 3), "{answer}");
        assert!(reached == 3 || answer["goal"] != goal, "{answer}");
        goal = answer["goal"].clone();
    }
    // What cannot be used changes nothing.
    let answer = planner.ask(&json!({ "q": start, "velocity": [0.0] }));
    assert!(answer["error"].as_str().is_some_and(|error| error.contains("velocity: expected 22")), "{answer}");
}

/// Goals of several objects: in the answers, and in a line that moves them.
#[test]
fn goals_of_several_objects() {
    let mut planner = Planner::of("assets/tasks/two_pucks.toml", &[]);
    planner.say("{\"episode\": 0, \"goal\": {\"position\": [0.05, 0.07], \"others\": {\"blue\": {\"position\": [0.0, -0.05]}}}}");
    let begun = planner.hear();
    assert_eq!(begun["goal"]["object"], "red");
    assert_eq!(begun["goal"]["others"]["blue"]["position"], json!([0.0, -0.05, 0.0]));
    assert!(begun["goal"]["others"]["tips"].is_null());
    let answer = planner.ask(&json!({ "q": planner.q }));
    let errors = &answer["errors"];
    // The blue puck starts at (0, −0.08), the red one, which is farther away, at (0, 0.08).
    let [red, blue] = ["red", "blue"].map(|name| errors["objects"][name]["position"].as_f64().unwrap());
    assert!((blue - 0.03).abs() < 1e-9 && red > blue && errors["position"] == red, "{errors}");
    let moved = planner.ask(&json!({ "q": planner.q, "goal": { "position": [0.0, 0.08], "others": { "tips": { "joints": { "z2": 0.05 } } } } }));
    assert!((moved["errors"]["objects"]["tips"]["joints"].as_f64().unwrap() - 0.05).abs() < 1e-9, "{moved}");
    for (others, expected) in [
        (json!({ "blu": { "position": [0, 0] } }), "blu"),
        (json!({ "blue": {} }), "goal: others: blue: expected {"),
        (json!({ "blue": { "position": [0, 0], "object": "red" } }), "goal: others: blue: there is no key \"object\""),
        (json!([1]), "goal: others: expected {"),
    ] {
        let error = planner.ask(&json!({ "q": planner.q, "goal": { "position": [0.0, 0.08], "others": others } }));
        assert!(error["error"].as_str().is_some_and(|text| text.contains(expected)), "{error}");
    }
}
