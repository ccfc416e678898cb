//! The scenes in `cases`, which did not come to rest at 45071e6: reports of people who do this work, and random
//! searches.

use std::path::Path;

use nalgebra::Vector3;

use super::conclude;
use super::run::{End, Outcome, Worlds, pose};

const FOLDER: &str = "tests/rest/cases";

/// By both laws.
fn texts(name: &str) -> [String; 2] {
    let text = std::fs::read_to_string(Path::new(FOLDER).join(name)).unwrap();
    ["relaxed", "coulomb"].map(|law| {
        let text = text.replace("friction = \"coulomb\"\n", "");
        if text.contains("[params]") {
            text.replace("[params]", &format!("[params]\nfriction = \"{law}\""))
        } else {
            format!("[params]\nfriction = \"{law}\"\n{text}")
        }
    })
}

pub fn run(text: &str) -> Outcome {
    Worlds::new(&[text], Path::new(FOLDER)).run().remove(0)
}

/// What of an outcome does not rest.
pub fn faults(name: &str, outcome: &Outcome) -> Vec<String> {
    let Outcome { end, motion, turn, depth, hover, rise, unit, status, .. } = outcome;
    if outcome.is_right() {
        return Vec::new();
    }
    vec![format!(
        "{name}: {end:?}, {motion:.1e} m and {turn:.1e} rad a step, depth {depth:.1e} m (hover {hover:.1e}), energy rises by {:.1e} m g \
         size, {} steps not solved, the last {status:?}",
        rise / unit,
        outcome.unsolved
    )]
}

/// The direction of an axis of the only thing, which comes first in q.
fn axis(outcome: &Outcome, of: Vector3<f64>) -> Vector3<f64> {
    pose(&outcome.q).rotation * of
}

/// Checks a case by both laws.
fn check(name: &str, is_right: impl Fn(&str, &Outcome) -> Vec<String>) {
    let mut wrong = Vec::new();
    for (text, law) in texts(name).iter().zip(["relaxed", "coulomb"]) {
        let (outcome, name) = (run(text), format!("{name}, {law}"));
        wrong.extend(faults(&name, &outcome));
        wrong.extend(is_right(&name, &outcome));
    }
    conclude(&wrong);
}

fn unless(is_so: bool, line: String) -> Vec<String> {
    if is_so { Vec::new() } else { vec![line] }
}

/// Two fingers press a pen with 5 N: 8 N of friction hold 0.2 N.
#[test]
fn a_pinched_pen_is_held() {
    let held = |name: &str, outcome: &Outcome| {
        let fell = Vector3::new(outcome.q[0], outcome.q[1], outcome.q[2]).norm();
        unless(fell < 1e-3, format!("{name}: it moves by {fell:.1e} m"))
    };
    check("00_pinch_pen.toml", held);
}

/// Off the fingers' axis normal forces push it farther down, and it falls without friction that is stiffer than they
/// are. With that it creeps, by ten times less with a ratio ten times as large.
#[test]
fn a_pen_off_the_axis_is_held_by_stiffer_friction() {
    let text = texts("00_pinch_pen.toml")[1].replace("position = [0.0, 0.0, 0.0]", "position = [0.0, 0.0, -0.005]");
    let [plain, stiff, stiffer] =
        [1, 10, 100].map(|ratio| run(&text.replace("[params]\n", &format!("[params]\nimpratio = {ratio}\n"))));
    let fell = |outcome: &Outcome| outcome.q[2] + 0.005;
    assert!(fell(&plain) < -1e-2, "{plain:?}");
    for outcome in [&stiff, &stiffer] {
        // Its grip lifts it by 0.25 mm where it closes.
        assert!((0.0..2.6e-4).contains(&fell(outcome)) && outcome.unsolved == 0, "{outcome:?}");
    }
    let times = stiff.motion / stiffer.motion;
    assert!((times / 10.0 - 1.0).abs() < 0.1, "{times}");
}

/// Above the groove of two rails, by the rule of Pythagoras: (18 mm + gap)² = (12 mm)² + z². The gap is that of one
/// contact on each rail at least, and of two at most.
#[test]
fn a_pen_on_rails_rests_in_the_groove() {
    let rests = |name: &str, outcome: &Outcome| {
        let (z, law) = (outcome.q[2], if name.contains("relaxed") { 2.0 } else { 1.0 });
        let gap = z.hypot(0.012) - 0.018;
        // Each side presses with w/(2 cos), cos = z/(z² + 12²)^½.
        let press = 0.5 * 0.02 * 9.81 * z.hypot(0.012) / z;
        let contacts = gap * 1e4 * press / law;
        unless((0.95..2.05).contains(&contacts), format!("{name}: z {z:.4e} m, the gap of {contacts:.2} contacts"))
    };
    check("01_rails.toml", rests);
}

/// Level, at a height that its ends explain.
fn lies(name: &str, outcome: &Outcome) -> Vec<String> {
    let tilt = axis(outcome, Vector3::z()).z.abs();
    unless(tilt < 1e-3, format!("{name}: tilted by {tilt:.1e}"))
}

#[test]
fn a_pen_on_a_box_rests() {
    check("02_pen_on_box.toml", lies);
}

#[test]
fn a_pill_on_a_box_rests() {
    check("cap_box.toml", lies);
}

#[test]
fn a_can_on_the_floor_rests_upright() {
    check("03_can_on_floor.toml", |name, outcome| {
        let tilt = axis(outcome, Vector3::z()).xy().norm();
        unless(tilt < 1e-3, format!("{name}: tilted by {tilt:.1e}"))
    });
}

#[test]
fn a_block_on_a_log_rests() {
    check("block_on_log.toml", |_, _| Vec::new());
}

/// Without its curvature in the step it swings for ever, and its energy rises by more than linearised gaps explain.
/// Where far closest points stand for all, light things beside walls tip to and fro by 0.005° a step.
#[test]
fn a_light_cube_between_two_walls_stays_still() {
    check("between_walls.toml", |_, _| Vec::new());
}

#[test]
fn what_swings_is_seen() {
    let text = texts("block_on_log.toml")[0].replace("[params]\n", "[params]\nrolling = false\n");
    let outcome = run(&text);
    assert!(!outcome.rests() && outcome.gains_energy() && outcome.unsolved == 0, "{outcome:?}");
}

/// On a face, above the support by no more than eight contacts explain.
fn on_a_face(name: &str, outcome: &Outcome) -> Vec<String> {
    let heights = [0.03, 0.02, 0.04];
    let up = (0..3).map(|k| axis(outcome, Vector3::ith_axis(k).into_inner()).z.abs());
    let (face, cos) = up.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let gap = outcome.q[2] - heights[face];
    let is_so = 1.0 - cos < 1e-6 && gap > 0.0 && gap < 8.0 * outcome.hover;
    unless(is_so, format!("{name}: {:.1e} rad off a face, {gap:.1e} m up", cos.min(1.0).acos()))
}

#[test]
fn a_block_on_a_table_rests_on_a_face() {
    check("table.toml", on_a_face);
}

#[test]
fn a_mesh_rests_as_the_block_does() {
    check("mesh.toml", on_a_face);
}

/// Ten µm of noise on eight corners turn it by as much over its size.
#[test]
fn noise_turns_a_prism_by_as_much() {
    check("05_noisy_prism.toml", |name, outcome| {
        let turn = pose(&outcome.q).rotation.angle();
        unless(turn < 0.02_f64.to_radians() && outcome.end == End::Still, format!("{name}: turned by {turn:.1e} rad"))
    });
}
