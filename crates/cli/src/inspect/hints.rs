//! Hints on where a scene loses time, and on its parameters.

use std::cmp::Reverse;
use std::collections::HashMap;

use fingertip::contact::UNUSED;
use fingertip::description::Scene;

use super::{Contents, Pair};

/// Distance from which on a hint takes bodies for far apart, m.
pub const FAR: f64 = 0.05;
/// So many contacts are too few to be worth a word.
const FEW: usize = 12;

/// The thing that a body belongs to: "hand" of "hand/palm".
fn thing(body: &str) -> &str {
    body.split('/').next().unwrap_or(body)
}

/// The two things of a pair, in alphabetical order.
fn things(pair: &Pair) -> (&str, &str) {
    let (a, b) = (thing(&pair.a.body), thing(&pair.b.body));
    if a <= b { (a, b) } else { (b, a) }
}

/// The number of contacts between each two things, most first, of as many those that come first.
pub fn by_things(pairs: &[Pair]) -> Vec<((&str, &str), usize)> {
    // Of millions of pairs names are too long to be sorted by.
    let (mut numbers, mut counts) = (HashMap::new(), HashMap::new());
    for pair in pairs {
        let (a, b) = things(pair);
        let [a, b] = [a, b].map(|name| {
            let next = numbers.len();
            *numbers.entry(name).or_insert(next)
        });
        *counts.entry([a, b]).or_insert(0) += pair.contacts;
    }
    let mut names = vec![""; numbers.len()];
    numbers.into_iter().for_each(|(name, number)| names[number] = name);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|&(pair, n)| (Reverse(n), pair));
    counts.into_iter().map(|([a, b], n)| ((names[a], names[b]), n)).collect()
}

/// The force of a contact at a gap of [`FAR`], N: 2/(κ φ).
pub fn left_out(kappa: f64) -> f64 {
    2.0 / (kappa * FAR)
}

/// A line for each thing that may be worth a change.
pub fn of(contents: &Contents, scene: &Scene) -> Vec<String> {
    let Contents { pairs, params, nc, .. } = contents;
    let mut hints = Vec::new();
    let counts = by_things(pairs);
    if *nc > FEW
        && let Some(((a, b), n)) = counts.first()
    {
        let most = if a == b { format!("{a} with itself") } else { format!("{a} with {b}") };
        hints.push(format!("{n} of {nc} contacts are of {most}: each costs time, even far apart, and [[pair]] with enabled = false excludes pairs"));
    }
    let far: usize = pairs.iter().filter(|pair| pair.gap > FAR && pair.gap < UNUSED).map(|pair| pair.contacts).sum();
    if params.contact_distance.is_none() && far > FEW {
        hints.push(format!(
            "{far} of {nc} contacts are more than {FAR} m apart at home: contact_distance = {FAR} under [params] leaves such contacts out, \
             with forces of up to {:.1e} N each; `bench` measures what that saves",
            left_out(params.kappa)
        ));
    }
    let gravity = params.gravity.iter().map(|g| g * g).sum::<f64>().sqrt();
    let mu = pairs.iter().map(|pair| pair.mu).fold(f64::INFINITY, f64::min);
    let (speed, most) = (fastest_slide(scene), mu * gravity * params.h / params.epsilon);
    if gravity > 0.0 && mu > 0.0 && mu.is_finite() && speed > 0.1 * most {
        hints.push(format!(
            "the script moves a slide at {speed:.2} m/s: what it pushes is held back as by {:.0} % more friction, as forces are those of \
             slow motion, v ≪ μ g h/ε = {most:.2} m/s; a smaller epsilon or a longer h is nearer to them",
            100.0 * speed / most
        ));
    }
    hints
}

/// The largest speed that the script commands of a prismatic joint, m/s.
fn fastest_slide(scene: &Scene) -> f64 {
    let slides: Vec<bool> = scene
        .commanded()
        .map(|(_, joint)| joint.kind.coordinates().first().is_some_and(|(_, unit)| *unit == "m"))
        .collect();
    let commands = scene.script.iter().map(|keyframe| (keyframe.time, scene.control(keyframe.time)));
    let commands: Vec<(f64, Vec<f64>)> = commands.collect();
    let speed = |pair: &[(f64, Vec<f64>)]| {
        let [(t0, u0), (t1, u1)] = pair else { return 0.0 };
        let speeds =
            u0.iter().zip(u1).zip(&slides).filter(|(_, slides)| **slides).map(|((a, b), _)| (b - a).abs() / (t1 - t0));
        speeds.filter(|speed| speed.is_finite()).fold(0.0, f64::max)
    };
    commands.windows(2).map(speed).fold(0.0, f64::max)
}
