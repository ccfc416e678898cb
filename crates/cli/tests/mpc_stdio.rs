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
    // Not measured, and out of all bounds: the command before.
    for lie in [Value::Null, json!(1e200), json!(40.0)] {
        let answer = planner.with(8, lie);
        assert_eq!((&answer["status"], &answer["u"]), (&json!("bad input"), &first["u"]), "{answer}");
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
    assert_eq!(
        (&answer["status"], &answer["u"], &answer["step"]),
        (&json!("silent"), &first["u"], &json!(1)),
        "{answer}"
    );
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
