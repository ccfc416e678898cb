//! What rests where, and with what forces, in closed form.

use std::f64::consts::FRAC_PI_2;
use std::fmt::Write;

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Friction, Scene, Shape};
use fingertip::step::Quasidynamic;
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use super::cases::{faults, run};
use super::drop::{bowl, entry};
use super::run::{Outcome, pose};
use super::{STEPS, conclude};
use support::{numbers, row};

const GRAVITY: f64 = 9.81;

/// Parameters, and a floor at z = 0.
fn floor(law: Friction, kappa: f64, mu: f64) -> String {
    let law = law.name();
    let mut text = format!("[params]\nkappa = {kappa:?}\nmu = {mu:?}\nfriction = \"{law}\"\n");
    text.push_str("\n[[object]]\nname = \"floor\"\nhalfspace = [0.0, 0.0, 1.0, 0.0]\n");
    text
}

/// The same with the top of a box as the floor.
fn table(law: Friction, kappa: f64, mu: f64) -> String {
    let (text, top) = (floor(law, kappa, mu), Shape::cuboid([0.3, 0.3, 0.05]));
    let box_at = entry("floor", &top, None, &Isometry3::translation(0.0, 0.0, -0.05));
    text[..text.find("\n[[object]]").unwrap()].to_owned() + &box_at
}

fn at(z: f64, turn: [f64; 3]) -> Isometry3<f64> {
    Isometry3::from_parts(Translation3::new(0.0, 0.0, z), UnitQuaternion::from_scaled_axis(turn.into()))
}

fn prism() -> Shape {
    let corner = |k: usize| {
        let (sin, cos) = (std::f64::consts::FRAC_PI_3 * (k / 2) as f64).sin_cos();
        [0.03 * cos, 0.03 * sin, if k.is_multiple_of(2) { -0.02 } else { 0.02 }]
    };
    Shape::hull(&(0..12).map(corner).collect::<Vec<_>>()).unwrap()
}

/// The sum of the forces on the only thing after the steps, and of their torques about its origin.
fn forces(text: &str, outcome: &Outcome) -> (Vector3<f64>, Vector3<f64>) {
    let model = Model::new(&Scene::from_toml(text, "").unwrap(), DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let step = step.step(&row(&outcome.q), &model.tensor(&[&[]]).unwrap()).unwrap();
    let (force, point) = (numbers(&step.force), numbers(&step.contacts.point_b));
    let origin = pose(&outcome.q).translation.vector;
    let mut sum = (Vector3::zeros(), Vector3::zeros());
    for (force, point) in force.chunks(3).zip(point.chunks(3)) {
        let (force, point) = (Vector3::from_row_slice(force), Vector3::from_row_slice(point));
        sum.0 += force;
        sum.1 += (point - origin).cross(&force);
    }
    sum
}

/// On the floor and on a box: level, carried with m g, without torque, and as high as one to a dozen contacts that
/// share the weight.
#[test]
fn heights_and_forces() {
    let (mass, kappa) = (0.1, 1e5);
    let things = [
        ("box", Shape::cuboid([0.03, 0.02, 0.01]), at(0.0105, [0.0; 3]), 0.01),
        ("upright cylinder", Shape::cylinder(0.02, 0.03), at(0.0305, [0.0; 3]), 0.03),
        ("lying cylinder", Shape::cylinder(0.02, 0.03), at(0.0205, [FRAC_PI_2, 0.0, 0.0]), 0.02),
        ("capsule", Shape::capsule(0.01, 0.03), at(0.0105, [FRAC_PI_2, 0.0, 0.0]), 0.01),
        ("hull", prism(), at(0.0205, [0.0; 3]), 0.02),
    ];
    let mut wrong = Vec::new();
    for (name, shape, pose, height) in things {
        for law in Friction::ALL {
            for (support, base) in [("floor", floor(law, kappa, 0.5)), ("box", table(law, kappa, 0.5))] {
                let text = base + &entry("thing", &shape, Some(mass), &pose);
                let outcome = run(&text);
                let name = format!("{name} on a {support}, {}", law.name());
                wrong.extend(faults(&name, &outcome));
                let (force, torque) = forces(&text, &outcome);
                let weight = mass * GRAVITY;
                let one = if law == Friction::Relaxed { 2.0 } else { 1.0 } / (kappa * weight);
                let (gap, turned) =
                    (outcome.q[2] - height, super::run::pose(&outcome.q).rotation.angle_to(&pose.rotation));
                println!("{name}: {:.2} contacts' gap, turned by {turned:.1e}", gap / one);
                let off = (force - Vector3::z() * weight).norm() / weight;
                if !(off < 1e-5 && torque.norm() < 1e-5 * weight * height) {
                    wrong.push(format!(
                        "{name}: force off by {off:.1e}, torque {:.1e}",
                        torque.norm() / (weight * height)
                    ));
                }
                if !((0.99..12.0).contains(&(gap / one)) && turned < 1e-4) {
                    wrong.push(format!("{name}: {:.2} contacts' gap, turned by {turned:.1e}", gap / one));
                }
            }
        }
    }
    conclude(&wrong);
}

/// A can on its rim goes to the side on which its centre of mass is.
#[test]
fn a_can_on_its_rim() {
    let (radius, half) = (0.02_f64, 0.03);
    let critical = radius.atan2(half);
    let mut wrong = Vec::new();
    for law in Friction::ALL {
        for base in [floor(law, 1e5, 0.5), table(law, 1e5, 0.5)] {
            for (beyond, stands) in [(-0.05, true), (0.05, false)] {
                let tilt = critical + beyond;
                let pose = at(half * tilt.cos() + radius * tilt.sin() + 1e-4, [0.0, tilt, 0.0]);
                let outcome = run(&(base.clone() + &entry("can", &Shape::cylinder(radius, half), Some(0.3), &pose)));
                let up = (super::run::pose(&outcome.q).rotation * Vector3::z()).z.abs();
                let name = format!("can {beyond} rad beyond its rim, {}", law.name());
                wrong.extend(faults(&name, &outcome));
                if !(if stands { up > 0.999 } else { up < 0.01 }) {
                    wrong.push(format!("{name}: ends with its axis {up:.3} up"));
                }
            }
        }
    }
    conclude(&wrong);
}

/// A book leans on a shelf as a ladder does: it stays up to tan = 2 μ/(1 − μ²) from upright, and slides down beyond.
#[test]
fn a_book_on_a_shelf() {
    let (half, mu) = ([0.01, 0.08, 0.1], 0.5);
    let mut wrong = Vec::new();
    for law in Friction::ALL {
        for (degrees, stays) in [(10.0_f64, true), (35.0, true), (65.0, false)] {
            let lean = degrees.to_radians();
            let (sin, cos) = lean.sin_cos();
            // Its lower left edge on the floor, its upper left edge on the wall at x = 0.
            let pose = Isometry3::from_parts(
                Translation3::new(half[0] * cos + half[2] * sin + 1e-4, 0.0, half[0] * sin + half[2] * cos + 1e-4),
                UnitQuaternion::from_scaled_axis(Vector3::y() * -lean),
            );
            let shelf =
                entry("shelf", &Shape::cuboid([0.05, 0.3, 0.3]), None, &Isometry3::translation(-0.05, 0.0, 0.3));
            let text = floor(law, 1e6, mu) + &shelf + &entry("book", &Shape::cuboid(half), Some(0.4), &pose);
            let outcome = run(&text);
            let moved = (super::run::pose(&outcome.q).translation.vector - pose.translation.vector).norm();
            let name = format!("book {degrees}° from upright, {}", law.name());
            wrong.extend(faults(&name, &outcome));
            println!("{name}: moves by {moved:.2e} m");
            let is_so = if stays { moved < 2e-3 } else { outcome.q[2] < 1.2 * half[0] };
            if !is_so {
                wrong.push(format!("{name}: moves by {moved:.2e} m, to {:.3} m", outcome.q[2]));
            }
        }
    }
    conclude(&wrong);
}

/// Three cans stand on each other.
#[test]
fn three_cans() {
    let (radius, half) = (0.02, 0.03);
    let mut wrong = Vec::new();
    for law in Friction::ALL {
        for base in [floor(law, 1e6, 0.5), table(law, 1e6, 0.5)] {
            let mut text = base;
            for k in 0..3 {
                let z = half * f64::from(2 * k + 1) + 2e-4 * f64::from(k + 1);
                text += &entry(&format!("can {k}"), &Shape::cylinder(radius, half), Some(0.3), &at(z, [0.0; 3]));
            }
            let outcome = run(&text);
            let name = format!("three cans, {}", law.name());
            wrong.extend(faults(&name, &outcome));
            for (k, q) in outcome.q.chunks(7).enumerate() {
                let (off, up) = (q[2] - half * (2 * k + 1) as f64, (pose(q).rotation * Vector3::z()).z);
                // Each gap is that of a dozen contacts at most, which share the weight of one can.
                let most = 12.0 * 2.0 / (1e6 * 0.3 * GRAVITY) * (k + 1) as f64;
                if !(off > 0.0 && off < most && up > 1.0 - 1e-6) {
                    wrong.push(format!("{name}: can {k} is {off:.1e} m above its place ({most:.1e}), {up:.6} upright"));
                }
            }
        }
    }
    conclude(&wrong);
}

/// A flat ellipsoid in a bowl ends level, in the middle.
#[test]
fn a_lens_in_a_bowl() {
    let mut wrong = Vec::new();
    for law in Friction::ALL {
        for turn in [[0.0; 3], [0.3, 0.1, 0.0], [1.0, -0.4, 0.2]] {
            let mut text = floor(law, 1e6, 0.3);
            text.truncate(text.find("\n[[object]]").unwrap());
            for (k, (plate, pose)) in bowl(0.06).iter().enumerate() {
                let _ = write!(text, "{}", entry(&format!("plate {k}"), plate, None, pose));
            }
            text += &entry("lens", &Shape::ellipsoid([0.03, 0.03, 0.008]), Some(0.03), &at(0.06, turn));
            wrong.extend(faults(&format!("lens turned by {turn:?}, {}", law.name()), &run(&text)));
        }
    }
    conclude(&wrong);
}

/// By how much the only thing is turned about an axis at the start of the first steps, rad.
fn tilts(text: &str, axis: Vector3<f64>) -> [f64; 3] {
    let model = Model::new(&Scene::from_toml(text, "").unwrap(), DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let none = model.tensor(&[&[]]).unwrap();
    let mut q = model.home(1).unwrap();
    [0; 3].map(|_| {
        let tilt = axis.dot(&pose(&numbers(&q)).rotation.scaled_axis());
        q = step.forward(&q, &none).unwrap();
        tilt
    })
}

/// With `rolling = false` gravity pulls as at the step's start: a tilt falls to 1 − K/P of it, and beyond K/P 2 it
/// grows.
#[test]
fn the_frozen_step_overshoots() {
    let (mass, kappa, [x, y, c]) = (0.02, 1e6, [0.03, 0.02, 0.01]);
    for law in Friction::ALL {
        let force = if law == Friction::Relaxed { 2.0 } else { 1.0 };
        for (h, epsilon) in [(0.01, 1.0), (0.01, 0.1)] {
            let tilt: f64 = 1e-4;
            let height = (x * tilt.sin()).hypot(c * tilt.cos()) + force / (kappa * mass * GRAVITY);
            let text = floor(law, kappa, 1.0)
                .replace("[params]\n", &format!("[params]\nrolling = false\nh = {h:?}\nepsilon = {epsilon:?}\n"));
            let text = text
                + &entry("lens", &Shape::ellipsoid([x, y, c]), Some(mass), &at(height, (Vector3::y() * tilt).into()));
            let tilts = tilts(&text, Vector3::y());
            let held = epsilon * mass * ((x * x + c * c) / 5.0 + c * c) / (h * h);
            let expected = 1.0 - mass * GRAVITY * (x * x / c - c) / held;
            let found = tilts[2] / tilts[1];
            println!("{} h {h} ε {epsilon}: {found:.4}, expected {expected:.4}", law.name());
            assert!((found - expected).abs() < 1e-2 * expected.abs().max(1.0), "{tilts:?}, expected {expected}");
        }
    }
}

/// What turns: its mass, moments of inertia about the centre of mass and, about the axis of its turn, inertia.
struct Turns {
    mass: f64,
    moments: [f64; 3],
    inertia: f64,
}

impl Turns {
    /// What becomes of a tilt in a step, as docs/rolling.md has it: (1 − r + s)/(1 + s) of it, with r = m g l/P what
    /// gravity asks, l = ρ − c, s what resists beside P = ε (I + m c²)/h²: m g f(l − b)/P. And r.
    fn falls(&self, [radius, c]: [f64; 2], [h, epsilon]: [f64; 2], smooth: f64) -> [f64; 2] {
        let (factor, weight, l) = (epsilon / (h * h), self.mass * GRAVITY, radius - c);
        let held = factor * (self.inertia + self.mass * c * c);
        let least = 1.0 / self.moments.map(|moment| 1.0 / moment).iter().sum::<f64>();
        let beyond = (l - factor * least / (2.0 * weight)).max(0.0);
        let (r, s) = (weight * l / held, weight * beyond * beyond / (beyond + smooth) / held);
        [(1.0 - r + s) / (1.0 + s), r]
    }
}

/// A plank on a lying cylinder comes level in the same way, K = m g (ρ − c); so does a pen across it, which is a line
/// itself.
#[test]
fn a_plank_on_a_cylinder_comes_level() {
    let (mass, radius, c, kappa) = (0.1, 0.06, 0.01, 1e6);
    let mut wrong = Vec::new();
    for law in Friction::ALL {
        for (h, epsilon) in [(0.002, 1.0), (0.01, 0.1), (0.01, 0.01), (0.1, 0.01)] {
            let things = [
                (
                    "plank",
                    Shape::cuboid([0.05, 0.02, c]),
                    UnitQuaternion::identity(),
                    [0.02f64.powi(2) + c * c, 0.05f64.powi(2) + c * c, 0.05f64.powi(2) + 0.02f64.powi(2)]
                        .map(|of| mass * of / 3.0),
                ),
                (
                    "pen",
                    Shape::cylinder(c, 0.05),
                    UnitQuaternion::from_scaled_axis(Vector3::y() * FRAC_PI_2),
                    [0.25 * c * c + 0.05 * 0.05 / 3.0, 0.25 * c * c + 0.05 * 0.05 / 3.0, 0.5 * c * c]
                        .map(|of| mass * of),
                ),
            ];
            for (name, shape, lies, moments) in things {
                let tilt: f64 = 1e-5;
                let turn = UnitQuaternion::from_scaled_axis(Vector3::y() * tilt);
                // Turned about the cylinder's highest line.
                let up = turn * Vector3::z() * (c + 1e-6) + Vector3::z() * radius;
                let pose = Isometry3::from_parts(Translation3::from(up), turn * lies);
                let text = floor(law, kappa, 1.0)
                    .replace("[params]\n", &format!("[params]\nh = {h:?}\nepsilon = {epsilon:?}\n"));
                let text = text[..text.find("\n[[object]]").unwrap()].to_owned()
                    + &entry("under", &Shape::cylinder(radius, 0.2), None, &at(0.0, [FRAC_PI_2, 0.0, 0.0]))
                    + &entry("thing", &shape, Some(mass), &pose);
                let lain = |tilt: f64| tilt - (lies.scaled_axis().y);
                let tilts = tilts(&text, Vector3::y()).map(lain);
                let turns = Turns { mass, moments, inertia: moments[1] };
                let [expected, r] = turns.falls([radius, c], [h, epsilon], 1e-3 * radius);
                let found = tilts[2] / tilts[1];
                println!("{name}, {} h {h} ε {epsilon} r {r:.1e}: {found:.6}, expected {expected:.6}", law.name());
                if (found - expected).abs() > 2e-2 {
                    wrong.push(format!(
                        "{name}, {}, h {h}, ε {epsilon}: tilts {tilts:?}, expected a factor {expected}",
                        law.name()
                    ));
                }
            }
        }
    }
    conclude(&wrong);
}

/// A tilted ellipsoid on the ground goes to rest as [`Turns::falls`] has it, however large r is.
#[test]
fn a_lens_rolls_level() {
    let (mass, radii, kappa) = (0.02, [0.03, 0.02, 0.01], 1e6);
    let [x, y, c] = radii;
    let mut wrong = Vec::new();
    for law in Friction::ALL {
        let force = if law == Friction::Relaxed { 2.0 } else { 1.0 };
        for (h, epsilon) in [(0.002, 1.0), (0.01, 0.1), (0.01, 0.01), (0.1, 0.01)] {
            // About y it rolls along x, about x along y.
            for (axis, radius) in [(Vector3::y(), x), (Vector3::x(), y)] {
                let tilt: f64 = 1e-4;
                let height = (radius * tilt.sin()).hypot(c * tilt.cos()) + force / (kappa * mass * GRAVITY);
                let pose = at(height, (axis * tilt).into());
                let text = floor(law, kappa, 1.0)
                    .replace("[params]\n", &format!("[params]\nh = {h:?}\nepsilon = {epsilon:?}\n"));
                let text = text + &entry("lens", &Shape::ellipsoid(radii), Some(mass), &pose);
                let tilts = tilts(&text, axis);
                let moments = [y * y + c * c, x * x + c * c, x * x + y * y].map(|of| mass * of / 5.0);
                let turns = Turns { mass, moments, inertia: mass * (radius * radius + c * c) / 5.0 };
                let [expected, r] = turns.falls([radius * radius / c, c], [h, epsilon], 1e-3 * c);
                let found = tilts[2] / tilts[1];
                println!("{} h {h} ε {epsilon} r {r:.1e}: {found:.6}, expected {expected:.6}", law.name());
                let is_near = (found - expected).abs() < 1e-2;
                if !is_near {
                    wrong.push(format!(
                        "{}, h {h}, ε {epsilon}: tilts {tilts:?}, expected a factor {expected}",
                        law.name()
                    ));
                }
            }
        }
    }
    conclude(&wrong);
}

/// A pen that is this far from where it was is not held, m.
const LOST: f64 = 0.03;
/// Of a hundred pens, so many are not still, at most: those that cross the fingers turn about the line between them,
/// with one contact each, by less than a milliradian a step, and those nearly along them roll until they lie along
/// them.
const PENS: usize = 45;

/// Two round fingers press a pen with 5 N: it stays in every direction across the line between them, however little it
/// leans.
#[test]
fn a_pen_in_every_direction() {
    let case = include_str!("cases/00_pinch_pen.toml");
    let before = "rpy = [1.5707963267948966, 0.0, 0.001]";
    assert!(case.contains(before));
    let (mut wrong, mut all, mut dropped) = (Vec::new(), 0, 0);
    for law in Friction::ALL {
        for across in [0.0, 1e-3, 0.01, 0.1, 0.5, 1.0, 1.4, FRAC_PI_2] {
            for lean in [0.0, 1e-4, 1e-3, 1e-2] {
                // The axis along y, leaning towards a finger, then turned about the line between the fingers.
                let turn = UnitQuaternion::from_scaled_axis(Vector3::x() * across)
                    * UnitQuaternion::from_scaled_axis(Vector3::z() * lean)
                    * UnitQuaternion::from_scaled_axis(Vector3::x() * FRAC_PI_2);
                let turn = format!("quaternion = {:?}", [turn.w, turn.i, turn.j, turn.k]);
                let text = case.replace(before, &turn).replace("coulomb", law.name());
                let outcome = run(&text);
                let name = format!("pen {across} rad across, {lean} rad lean, {}", law.name());
                wrong.extend(faults(&name, &outcome));
                let moved = Vector3::from_row_slice(&outcome.q[..3]);
                let is_held = moved.norm() < 1e-3;
                all += 1;
                dropped += usize::from(moved.norm() > LOST);
                if !is_held {
                    wrong.push(format!("{name}: moves by {:.1?} mm in {STEPS} steps", (1e3 * moved).as_slice()));
                }
            }
        }
    }
    wrong.iter().for_each(|line| println!("{line}"));
    if super::number("FINGERTIP_REPORT").is_none() {
        assert!(dropped == 0, "{dropped} of {all} are dropped");
        assert!(wrong.len() <= PENS * all / 100, "{} of {all}", wrong.len());
    }
}
