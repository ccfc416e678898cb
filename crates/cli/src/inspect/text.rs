//! The contents of a scene as tables of text.

use std::fmt::Write;

use fingertip::contact::UNUSED;

use super::contents::{Actuator, Body, Connection, Contents, Mass, Motion, Pair, Side, Site, Table};
use crate::table::{short, table};

pub fn text(contents: &Contents) -> String {
    let Contents { scene, nq, nv, nu, nc, pairs, .. } = contents;
    let mut out = format!(
        "{scene}: {nq} numbers in q, {nv} degrees of freedom, {nu} commands, {nc} contacts of {} pairs\n\n{}\n",
        pairs.len(),
        params(contents)
    );
    let mut section = |title: &str, body: String| {
        let _ = write!(out, "\n{title}\n{body}\n");
    };
    section("Coordinates", coordinates(&contents.coordinates));
    let overlaps = pairs.iter().filter(|pair| pair.gap < 0.0).count();
    section(&format!("Contact pairs, their gaps at home ({overlaps} overlap)"), self::pairs(pairs));
    section("Poses at home", bodies(&contents.bodies));
    if !contents.masses.is_empty() {
        section("Masses", masses(&contents.masses));
    }
    if !contents.sites.is_empty() {
        section("Sites at home", sites(&contents.sites));
    }
    if !contents.connections.is_empty() {
        section("Connections, and how far apart their points are at home", connections(&contents.connections));
    }
    if !contents.actuators.is_empty() {
        section("Actuators of the MJCF: u = gain · control + offset", actuators(&contents.actuators));
    }
    for (title, lines) in
        [("Left out, or odd", &contents.left_out), ("Warnings", &contents.warnings), ("Hints", &contents.hints)]
    {
        if !lines.is_empty() {
            section(title, lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"));
        }
    }
    out
}

fn params(contents: &Contents) -> String {
    let params = &contents.params;
    let distance = params
        .contact_distance
        .map_or("by weight".to_owned(), |d| format!("{} m, fading over {} m", short(d), short(params.fade)));
    let friction = match params.impratio {
        1.0 => params.friction.to_owned(),
        ratio => format!("{} (impratio {})", params.friction, short(ratio)),
    };
    format!(
        "h {} s   ε {}   κ {} 1/J   friction {friction}   gravity {:?} m/s²   contact_distance {distance}   joint_limits {}",
        short(params.h),
        short(params.epsilon),
        short(params.kappa),
        params.gravity,
        params.joint_limits
    )
}

fn coordinates(coordinates: &[Motion]) -> String {
    let own: Vec<String> = coordinates.iter().map(own).collect();
    let has_own = own.iter().any(|own| !own.is_empty());
    let head = ["name", "motion", "unit", "q", "v", "u", "lower", "upper", "home", "stiffness", "of its own"];
    let mut table = table(&head[..head.len() - usize::from(!has_own)], 3);
    let or_dash = |text: Option<String>| text.unwrap_or("–".to_owned());
    for (motion, own) in coordinates.iter().zip(own) {
        let mut row = vec![
            motion.name.clone(),
            motion.motion.to_owned(),
            motion.unit.clone(),
            range(motion.q, motion.nq),
            range(motion.v, motion.nv),
            or_dash(motion.u.map(|u| u.to_string())),
            or_dash(motion.lower.map(short)),
            or_dash(motion.upper.map(short)),
            list(&motion.home),
            or_dash(motion.stiffness.map(|stiffness| {
                let others = motion.tendon.iter().map(|(name, ratio)| format!(" + {} {name}", short(*ratio)));
                let pulls =
                    others.reduce(|all, more| all + &more).map_or(String::new(), |others| format!(" of it{others}"));
                format!("{} {}{pulls}", short(stiffness), motion.stiffness_unit)
            })),
        ];
        row.extend(has_own.then_some(own));
        table.add_row(row);
    }
    table.to_string()
}

/// The joint's own spring, damping, armature and dry friction in the quasi-dynamic step, or the table under a body.
fn own(motion: &Motion) -> String {
    let spring = (motion.spring > 0.0)
        .then(|| format!("spring {} at rest at {}", short(motion.spring), short(motion.spring_rest)));
    let acts = |name: &str, value: f64, acts: bool| (acts && value > 0.0).then(|| format!("{name} {}", short(value)));
    let all = [
        spring,
        acts("damping", motion.damping, motion.resisted),
        acts("armature", motion.armature, motion.resisted),
        acts("dry friction", motion.friction, motion.rubs),
        motion.table.as_ref().map(|Table { friction, radius }| {
            format!("table of friction {}, radius {:.3} mm", short(*friction), 1e3 * radius)
        }),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// "3" or "3–9".
fn range(first: usize, n: usize) -> String {
    if n == 1 { first.to_string() } else { format!("{first}–{}", first + n - 1) }
}

fn list(numbers: &[f64]) -> String {
    numbers.iter().map(|&x| short(x)).collect::<Vec<_>>().join(" ")
}

/// Pairs in the table, at most: those that are nearest.
const ROWS: usize = 1000;

fn pairs(all: &[Pair]) -> String {
    let mut pairs: Vec<&Pair> = all.iter().collect();
    if pairs.len() > ROWS {
        pairs.select_nth_unstable_by(ROWS, |a, b| a.gap.total_cmp(&b.gap));
        pairs.truncate(ROWS);
        pairs.sort_by_key(|pair| pair.contact);
    }
    let has_torsion = pairs.iter().any(|pair| pair.torsion > 0.0);
    let torsion: &[&str] = if has_torsion { &["torsion mm"] } else { &[] };
    let head = [&["contacts", "A", "shape", "B", "shape", "μ"], torsion, &["gap mm"]].concat();
    let mut table = table(&head, 5);
    let shape = |side: &Side| format!("{} {}", side.shape, list(&side.sizes)).trim_end().to_owned();
    for pair in pairs {
        let mut row = vec![
            range(pair.contact, pair.contacts),
            pair.a.body.clone(),
            shape(&pair.a),
            pair.b.body.clone(),
            shape(&pair.b),
            short(pair.mu),
        ];
        row.extend(has_torsion.then(|| short(1e3 * pair.torsion)));
        row.push(if pair.gap < UNUSED { format!("{:.3}", 1e3 * pair.gap) } else { "out of reach".to_owned() });
        table.add_row(row);
    }
    if all.len() > ROWS {
        return format!("{table}\n  the {ROWS} nearest of {} pairs; --json has all", all.len());
    }
    table.to_string()
}

fn connections(connections: &[Connection]) -> String {
    let mut table = table(&["A", "B", "stiffness N/m", "apart mm"], 2);
    for Connection { a, b, stiffness, apart } in connections {
        table.add_row(vec![a.clone(), b.clone(), short(*stiffness), format!("{:.3}", 1e3 * apart)]);
    }
    table.to_string()
}

fn bodies(bodies: &[Body]) -> String {
    let mut table = table(&["body", "x m", "y", "z", "qw", "qx", "qy", "qz"], 1);
    for Body { name, position, quaternion } in bodies {
        let numbers = position.iter().chain(quaternion).map(|&x| short(x));
        table.add_row(std::iter::once(name.clone()).chain(numbers));
    }
    table.to_string()
}

fn sites(sites: &[Site]) -> String {
    let mut table = table(&["site", "body", "x m", "y", "z", "qw", "qx", "qy", "qz"], 2);
    for Site { name, body, position, quaternion } in sites {
        let numbers = position.iter().chain(quaternion).map(|&x| short(x));
        table.add_row([name.clone(), body.clone()].into_iter().chain(numbers));
    }
    table.to_string()
}

fn masses(masses: &[Mass]) -> String {
    let mut table = table(&["body", "mass kg", "inertia xx yy zz xy xz yz kg·m²"], 1);
    for Mass { body, mass, inertia, .. } in masses {
        table.add_row([body.clone(), short(*mass), list(inertia)]);
    }
    table.to_string()
}

fn actuators(actuators: &[Actuator]) -> String {
    let mut table = table(&["actuator", "joint", "gain", "offset", "lower", "upper"], 2);
    let or_dash = |number: Option<f64>| number.map_or("–".to_owned(), short);
    for Actuator { name, joint, gain, offset, lower, upper } in actuators {
        table.add_row([name.clone(), joint.clone(), short(*gain), short(*offset), or_dash(*lower), or_dash(*upper)]);
    }
    table.to_string()
}
