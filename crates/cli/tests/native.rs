//! Native code, asked for on the command line.

/// The command line says the same with native code as without.
#[test]
fn the_command_line_says_the_same() {
    let run = |more: &[&str]| {
        let args = ["rollout", "assets/scenes/push.toml", "-n", "30"];
        std::process::Command::new(env!("CARGO_BIN_EXE_fingertip")).args(args).args(more).output().unwrap()
    };
    let (lanes, native) = (run(&[]), run(&["--native"]));
    let said = String::from_utf8_lossy(&native.stderr);
    if said.contains("expected a C compiler") {
        println!("skipped: {said}");
        return;
    }
    // But for how long it took.
    let words = |output: &std::process::Output| -> Vec<String> {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().map(|line| line.split(" at most), ").next().unwrap_or(line).to_owned()).collect()
    };
    assert_eq!((native.status.code(), words(&native)), (lanes.status.code(), words(&lanes)), "{said}");
}
