//! The summary of a rollout, in words and tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use fingertip::math::largest::largest;
use fingertip::show::{
    ContactForce, DeepAgain, EnergyReport, FarStep, Motion, Mover, ObjectReport, Passage, Recording, Verdict,
    contact_forces, deep_again, far_steps, passages, still_moving, touching_gap,
};

use super::blame::Why;
use super::table::table;

/// Forces below this part of the scene's largest load, or weight, are not worth a line.
const LEAST: f64 = 0.005;

/// So many bodies that still move are named.
const MOVERS: usize = 5;

/// Contacts, objects, and how the solves went; `why` says it of the first step that was not solved.
pub fn summary(recording: &Recording, why: Option<&Why>) -> String {
    let mut text = String::new();
    let Some(last) = recording.steps.last() else { return text };
    match why {
        Some(why) => {
            let _ = writeln!(text, "NOT SOLVED, so that nothing is said about what is held.\n{why}");
        }
        None => {
            let _ = writeln!(text, "{}", contacts(recording));
            ObjectReport::of_each(recording).iter().for_each(|object| {
                let _ = writeln!(text, "{}", sentence(object));
            });
            text += &movers(recording);
        }
    }
    deep_again(recording).iter().for_each(|deep| {
        let _ = writeln!(text, "{}", again(recording, deep));
    });
    far_lines(recording).for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    let _ = writeln!(text, "\n{} steps, {:.2} s of motion; {}", recording.steps.len(), last.time, solves(recording));
    if let Some(EnergyReport { last, rises, largest }) = EnergyReport::of(recording) {
        let rises = match largest {
            Some((most, step)) => format!(
                "it rises in {rises} steps of a command that stands still, by {most:.1e} J at most in step {step}"
            ),
            None => "it never rises while the command stands still".to_owned(),
        };
        let _ = writeln!(text, "energy {last:.6} J at the end: {rises}");
    }
    text
}

fn contacts(recording: &Recording) -> String {
    let gravity = recording.params.gravity.iter().map(|g| g * g).sum::<f64>().sqrt();
    let heaviest = largest(recording.objects.iter().map(|object| object.mass * gravity));
    let near = touching_gap(recording);
    let Some(last) = recording.steps.last() else { return String::new() };
    let found: Vec<ContactForce> =
        contact_forces(last, LEAST * heaviest).into_iter().filter(|touch| touch.phi <= near).collect();
    if found.is_empty() {
        return "At the end nothing touches.\n".to_owned();
    }
    let mut table = table(&["on", "by", "gap mm", "normal N", "friction N", "force x", "y", "z"], 2);
    for touch in found {
        let pair = &recording.contacts[touch.contact];
        let [x, y, z] = touch.force.map(|f| format!("{f:.3}"));
        table.add_row([
            recording.bodies[pair.b].name.clone(),
            recording.bodies[pair.a].name.clone(),
            format!("{:.3}", 1e3 * touch.phi),
            format!("{:.3}", touch.normal),
            format!("{:.3}", touch.friction),
            x,
            y,
            z,
        ]);
    }
    format!("At the end:\n{table}\n")
}

/// "ball is held: …"
fn sentence(report: &ObjectReport) -> String {
    let ObjectReport {
        object, verdict, load, carried, fixed, squeeze, drift, turn, creep, crept, motion, window, ..
    } = report;
    let share = if *load > 0.0 {
        format!("robots carry {carried:.3} N of {load:.3} N")
    } else {
        format!("robots press with {squeeze:.3} N in all")
    };
    let verdict = match verdict {
        Verdict::Held => "is HELD",
        Verdict::Resting => "rests, not held",
        Verdict::PartlyHeld => "is touched, not held",
        Verdict::Moving => "is moving",
        Verdict::Alternating => {
            &format!("does NOT COME TO REST: it goes back and forth, by {} a step", distance(motion))
        }
        Verdict::Unsolved => "cannot be judged",
    };
    let creeps = match report.verdict {
        Verdict::Held | Verdict::Resting | Verdict::PartlyHeld => format!(" and creeps by {:.3} mm/s", 1e3 * creep),
        Verdict::Moving if report.creeps_away() => {
            format!("; when the command came to stand still it crept by {:.3} mm/s", 1e3 * crept)
        }
        Verdict::Moving | Verdict::Alternating | Verdict::Unsolved => String::new(),
    };
    let away = if report.creeps_away() {
        format!(
            ", in a minute by more than half its size of {:.0} mm: a larger kappa, or stiffer friction by Coulomb's law (params: impratio), holds it longer",
            1e3 * report.size
        )
    } else {
        String::new()
    };
    let (drift, turn) = (1e3 * drift, turn.to_degrees());
    let (least, angle) = (1e3 * ObjectReport::AT_REST, ObjectReport::NOT_TURNING.to_degrees());
    format!(
        "{object} {verdict}: in the last {window:.2} s {share}, fixed bodies push with {fixed:.3} N at most, it moves by {drift:.2} mm (at \
         rest: at most {least:.0} mm) and turns by {turn:.1}° (at most {angle:.1}°){creeps}{away}"
    )
}

/// "0.012 mm and 3.1°"
fn distance(Motion { distance, angle }: &Motion) -> String {
    format!("{:.3} mm and {:.3}°", 1e3 * distance, angle.to_degrees())
}

/// The line that names the bodies that move in the last steps, and by how much; empty if nothing moves.
fn movers(recording: &Recording) -> String {
    let all = still_moving(recording);
    let named = |Mover { body, motion }: &Mover| format!("{} by {}", recording.bodies[*body].name, distance(motion));
    let mut named: Vec<String> = all.iter().take(MOVERS).map(named).collect();
    if all.len() > MOVERS {
        named.push(format!("and {} more bodies", all.len() - MOVERS));
    }
    if named.is_empty() { String::new() } else { format!("still moving a step: {}\n", named.join(", ")) }
}

/// "block is deep in table again: …"
fn again(recording: &Recording, DeepAgain { bodies: [a, b], steps, last, depth }: &DeepAgain) -> String {
    let [a, b] = [a, b].map(|body| &recording.bodies[*body].name);
    format!(
        "DEEP AGAIN {b} in {a}: {steps} steps start as deep as the step before should have left, step {last} by {:.3} mm; shorter \
         steps (params: h) or more inertia (epsilon) turn bodies less in each",
        1e3 * depth
    )
}

/// A line for all that steps move too far, and for all that they take through each other.
pub fn far_lines(recording: &Recording) -> impl Iterator<Item = String> {
    let far = far_steps(recording).into_iter().map(move |step| far(recording, &step));
    far.chain(passages(recording).into_iter().map(move |passage| passed(recording, &passage)))
}

/// "PASSED THROUGH block and finger: …"
fn passed(recording: &Recording, Passage { bodies: [a, b], steps, first }: &Passage) -> String {
    let [a, b] = [a, b].map(|body| &recording.bodies[*body].name);
    format!(
        "PASSED THROUGH {a} and {b}: {steps} steps, the first of them step {first}, take one into or through the other, as they begin \
         farther apart than these push each other; shorter steps (params: h), smaller changes of the command or a larger contact_distance let \
         them meet"
    )
}

/// "TOO FAR block: …"
fn far(recording: &Recording, FarStep { body, steps, farthest, motion, size }: &FarStep) -> String {
    let Motion { distance, angle } = motion;
    too_far(
        &recording.bodies[*body].name,
        *size,
        &format!("in {steps} steps that move"),
        &format!("; in step {farthest} it moves by {:.0} mm and turns by {:.0}°", 1e3 * distance, angle.to_degrees()),
    )
}

/// That one step moves a body of this name and size, m, too far.
pub fn far_in_step(name: &str, Motion { distance, angle }: Motion, size: f64) -> String {
    let by = format!(": by {:.0} mm and {:.0}°", 1e3 * distance, angle.to_degrees());
    too_far(name, size, "in a step that moves", &by)
}

fn too_far(name: &str, size: f64, when: &str, by: &str) -> String {
    format!(
        "TOO FAR {name}: something is in its way {when} it by more than its size, {:.0} mm, or by more than 45°{by}. A step's \
         contacts are planes: shorter steps (params: h), smaller changes of the command or more inertia (epsilon) move it less in each",
        1e3 * size
    )
}

/// "all solved, 7.1 iterations (12 at most) and 68 µs (140 µs at most) per step"
fn solves(recording: &Recording) -> String {
    let steps = &recording.steps;
    let n = steps.len() as f64;
    let mut counts = BTreeMap::new();
    steps.iter().for_each(|step| *counts.entry(step.status.as_str()).or_insert(0) += 1);
    let counts = match counts.into_iter().collect::<Vec<(&str, usize)>>()[..] {
        [("solved", _)] => "all solved".to_owned(),
        ref several => several.iter().map(|(status, n)| format!("{n} {status}")).collect::<Vec<_>>().join(", "),
    };
    // Of states that another step has made there are no times.
    if steps.iter().all(|step| step.seconds == 0.0) {
        return counts;
    }
    let mean_iterations = steps.iter().map(|step| step.iterations as f64).sum::<f64>() / n;
    let most_iterations = steps.iter().map(|step| step.iterations).max().unwrap_or(0);
    let mean_time = 1e6 * steps.iter().map(|step| step.seconds).sum::<f64>() / n;
    let most_time = 1e6 * largest(steps.iter().map(|step| step.seconds));
    format!(
        "{counts}, {mean_iterations:.1} iterations ({most_iterations} at most), \
         {mean_time:.0} µs ({most_time:.0} µs at most) per step"
    )
}
