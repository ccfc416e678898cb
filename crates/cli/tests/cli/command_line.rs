//! The program `fingertip`, run as its users run it.

use std::io::Write;
use std::process::{Command, Output, Stdio};

pub fn fingertip(args: &[&str], input: impl Into<Vec<u8>>) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fingertip"))
        .args(args)
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.into();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

/// The output of a run, which must succeed.
pub fn said(args: &[&str], input: &str) -> String {
    let output = fingertip(args, input);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one line that a run on bad input prints.
pub fn complaint(args: &[&str]) -> String {
    let output = fingertip(args, "");
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{args:?}: {text}");
    text
}
