//! Balls in hollows of meshes with distance grids: several sheets of the surface touch them.

use std::f64::consts::{PI, TAU};
use std::sync::LazyLock;

use candle_core::Result;
use fingertip::description::{Collision, Freedom, Object, Params, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use nalgebra::Vector3;

use support::jumps::{jumps, whole};
use support::meshes::{groove, hollow, obj, revolved};
use support::oracle::integrate;
use support::states::Random;

use super::grid::{gradient_error, grid, model, settled};

/// How far distances may be from the meshes, m.
const TOLERANCE: f64 = 3e-4;
const GRAVITY: f64 = 9.81;

/// Grooves whose walls lean by 45° and 60°, and half of a sphere of radius 3 cm.
static GROOVE: LazyLock<Vec<Collision>> = LazyLock::new(|| grid(groove(PI / 4.0), TOLERANCE));
static FLAT_GROOVE: LazyLock<Vec<Collision>> = LazyLock::new(|| grid(groove(PI / 3.0), TOLERANCE));
static HOLLOW: LazyLock<Vec<Collision>> = LazyLock::new(|| grid(hollow(0.03), TOLERANCE));

/// A ball of this radius and mass at a place in a fixed mesh.
fn ball_in(mesh: &[Collision], params: Params, radius: f64, mass: f64, at: [f64; 3]) -> Scene {
    Scene::new()
        .with_params(params)
        .object(Object::compound("mesh", mesh.to_vec(), 1.0).with_freedom(Freedom::Fixed))
        .object(Object::rigid("ball", Shape::sphere(radius), mass).at(at))
}

/// A ball in a sharp groove rests on both walls: each carries what it does without friction, at the gap of one contact
/// of weight 1, and the ball's height is that of a circle between two lines.
#[test]
fn a_ball_in_a_groove_rests_on_both_walls() {
    let mut random = Random::new(1);
    let sharp = grid(groove(35.0_f64.to_radians()), TOLERANCE);
    for (degrees, mesh) in [(35.0_f64, &sharp), (45.0, &GROOVE), (60.0, &FLAT_GROOVE), (45.0, &GROOVE), (45.0, &GROOVE)]
    {
        let lean = degrees.to_radians();
        let (radius, mass) = (random.between(0.006, 0.01), random.scale(0.02, 0.2));
        let params = Params { kappa: 1e5, mu: 0.02, ..Params::default() };
        let at = [random.between(-2e-3, 2e-3), random.between(-5e-3, 5e-3), 1.1 * radius / lean.sin() + 3e-3];
        let scene = ball_in(mesh, params, radius, mass, at);
        let q = settled(&scene, 300);
        let model = model(&scene);
        let step = Quasidynamic::new(&model, &model.parameters).unwrap().step_numbers(&q, &[], &[]).unwrap();
        let mut walls = [Vector3::zeros(); 2];
        for force in step.force.chunks_exact(3) {
            walls[usize::from(force[0] > 0.0)] += Vector3::from_column_slice(force);
        }
        // The weights are those of flat walls.
        let contacts = Quasidynamic::new(&model, &model.parameters)
            .unwrap()
            .step(&model.tensor(&[&q]).unwrap(), &model.tensor(&[&[]]).unwrap())
            .unwrap()
            .contacts;
        let [weight, phi] = [support::numbers(&contacts.weight.unwrap()), support::numbers(&contacts.phi)];
        let near = |sign: f64| {
            let normal = support::numbers(&contacts.normal);
            (0..phi.len()).filter(|&k| phi[k] < 1e-3 && normal[3 * k] * sign > 0.1).map(|k| weight[k]).sum::<f64>()
        };
        for weight in [near(1.0), near(-1.0)] {
            assert!((weight - 1.0).abs() < 0.05, "{degrees}: a wall weighs {weight}");
        }
        // Friction may carry 2 % of what a wall does.
        let normal = mass * GRAVITY / (2.0 * lean.sin());
        for (wall, sign) in walls.iter().zip([-1.0, 1.0]) {
            let expected = Vector3::new(sign * lean.cos(), 0.0, lean.sin()) * normal;
            assert!((wall - expected).norm() < 0.04 * normal, "{degrees}: {wall:?}, not {expected:?}");
        }
        let height = (radius + 2.0 / (1e5 * normal)) / lean.sin();
        assert!(
            (q[2] - height).abs() < TOLERANCE / lean.sin() && q[0].abs() < 2.0 * TOLERANCE,
            "{degrees}: {q:?}, not {height}"
        );
    }
}

/// A ball rolls down a hollow that is half of a sphere and rests at its bottom.
#[test]
fn a_ball_rests_at_the_bottom_of_a_hollow() {
    let mut random = Random::new(2);
    let (outer, mass) = (0.03_f64, 0.1);
    for radius in [0.006, 0.012, 0.024] {
        let (turn, away) = (random.between(0.0, TAU), 0.4 * (outer - radius));
        let below = ((outer - radius).powi(2) - away * away).sqrt();
        let params = Params { kappa: 1e5, ..Params::default() };
        let at = [away * turn.cos(), away * turn.sin(), 1e-3 - below];
        let scene = ball_in(&HOLLOW, params, radius, mass, at);
        let q = settled(&scene, 600);
        let model = model(&scene);
        let step = Quasidynamic::new(&model, &model.parameters).unwrap().step_numbers(&q, &[], &[]).unwrap();
        let carried: f64 = step.force.chunks_exact(3).map(|force| force[2]).sum();
        assert!((carried - mass * GRAVITY).abs() < 0.01 * mass * GRAVITY, "{radius}: {carried} N");
        // The mesh's faces are inside of the sphere by up to 0.08 mm.
        let height = radius - outer + 2.0 / (1e5 * mass * GRAVITY);
        assert!((q[2] - height).abs() < TOLERANCE + 8e-5, "{radius}: {q:?}, not {height}");
        assert!(q[0].hypot(q[1]) < 0.05 * (outer - radius) + TOLERANCE, "{radius}: {q:?}");
    }
}

/// A cup with the inner radius, the thickness and the height of the report below, m.
const CUP: [f64; 3] = [0.028, 0.002, 0.06];

/// Fingers with a ball at their tip in a cup, from a public report (2026): commanded from one side of the axis to
/// beyond the wall of another they stop at the wall. There the nearest wall at the step's start was all that a step
/// knew, and a ball of 8 mm that is commanded 40 mm to the right from 10 mm left of the axis came to be outside.
#[test]
fn commands_stop_at_the_walls_of_a_cup() {
    let [inner, wall, height] = CUP;
    let axis = 1e-5;
    let outer = inner + wall;
    let cup = revolved(&[[axis, 0.0], [outer, 0.0], [outer, height], [inner, height], [inner, wall], [axis, wall]], 48);
    let folder = std::env::temp_dir().join(format!("fingertip-cup-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("cup.obj"), obj(&cup)).unwrap();
    let finger = |radius: f64| {
        let joint = |name: &str, parent: &str, child: &str, axis: &str| {
            format!(
                "<link name=\"{child}\">{}</link><joint name=\"{name}\" type=\"prismatic\"><parent link=\"{parent}\"/><child link=\"{child}\"/>\
                 <axis xyz=\"{axis}\"/><limit lower=\"-1\" upper=\"1\" effort=\"100\" velocity=\"1\"/></joint>",
                match child {
                    "tip" => format!("<collision><geometry><sphere radius=\"{radius}\"/></geometry></collision>"),
                    _ => String::new(),
                }
            )
        };
        let joints = [joint("x", "base", "middle", "1 0 0"), joint("y", "middle", "tip", "0 1 0")].concat();
        std::fs::write(folder.join("finger.urdf"), format!("<robot name=\"f\"><link name=\"base\"/>{joints}</robot>"))
            .unwrap();
        let text = "[params]\nkappa = 1e5\n[[object]]\nname = \"cup\"\nmesh = \"cup.obj\"\nfreedom = \"fixed\"\n\
                    grid = { tolerance = 0.0005, reach = 0.04 }\n\
                    [[robot]]\nname = \"f\"\nurdf = \"finger.urdf\"\nstiffness = 100.0\nposition = [0.0, 0.0, 0.045]\n";
        model(&Scene::from_toml(text, &folder).unwrap())
    };
    let mut random = Random::new(3);
    for radius in [0.008, 0.004, 0.012] {
        let model = finger(radius);
        let step = Quasidynamic::new(&model, &model.parameters).unwrap();
        let go = |from: [f64; 2], to: [f64; 2], steps: usize| {
            let rollout = step.rollout_numbers(&from, &to.repeat(steps), steps).unwrap();
            assert!(rollout.reports.iter().all(|report| report.status == Status::Solved));
            rollout.q
        };
        // As in the report, and from where it touches the wall. The finger presses with 1 N or more.
        for (x, by) in [(-0.01, 0.04), (radius - inner + 1e-4, 0.06)] {
            let q = go([x, 0.0], [x + by, 0.0], 2);
            let expected = inner - radius;
            assert!(q[2..].iter().step_by(2).all(|q| (q - expected).abs() < 2e-4), "{radius} from {x}: {q:?}");
        }
        for _ in 0..40 {
            let (side, way) = (random.between(0.0, TAU), random.between(-PI, PI));
            let away = random.between(0.0, inner - radius - 1e-3);
            let from = [away * side.cos(), away * side.sin()];
            let to = [from[0] + 0.04 * way.cos(), from[1] + 0.04 * way.sin()];
            let q = go(from, to, 3);
            let far: Vec<f64> = q[2..].chunks_exact(2).map(|q| q[0].hypot(q[1])).collect();
            // Planes are where the directions meet the wall: between them a ball gets into it in the first step.
            assert!(far[0] < inner + wall / 2.0, "{radius} {from:?} {to:?}: {far:?}");
            assert!(far[2] < inner - radius + 1e-3, "{radius} {from:?} {to:?}: {far:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Gradients at balls that touch two walls, near the middle of a groove and beside it.
#[test]
fn gradients_in_a_groove() {
    let params = Params { kappa: 1e3, ..Params::default() };
    let mut random = Random::new(4);
    let radius = 0.008;
    let model = model(&ball_in(&GROOVE, params, radius, 0.05, [0.0, 0.0, 1.5 * radius]));
    let home = support::numbers(&model.home(1).unwrap());
    let worst = (0..20).map(|_| {
        let by: Vec<f64> = (0..6).map(|k| random.between(-1.0, 1.0) * if k < 3 { 5e-4 } else { 0.3 }).collect();
        gradient_error(&model, &integrate(&model, &home, &by), &mut random, 1)
    });
    let worst = support::largest(worst);
    assert!(worst < 2e-6, "{worst:e}");
}

/// Forces and motion of a ball that goes through a groove and a hollow have no jump.
#[test]
fn forces_in_hollows_are_continuous() -> Result<()> {
    let mut random = Random::new(5);
    let params = Params { kappa: 1e4, ..Params::default() };
    let radius = 0.008;
    let mut changes = 0;
    for (name, mesh, middle) in [
        ("groove", &GROOVE, radius * 2.0_f64.sqrt()),
        ("flat groove", &FLAT_GROOVE, radius / (PI / 3.0).sin()),
        ("hollow", &HOLLOW, radius - 0.03),
    ] {
        let model = model(&ball_in(mesh, params.clone(), radius, 0.1, [0.0, 0.0, middle + 1e-3]));
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let home = support::numbers(&model.home(1)?);
        for _ in 0..8 {
            let [from, to] = [0, 1].map(|_| random.vector(3e-3) + Vector3::z() * 3e-3);
            let at = |t: f64| -> Result<Option<[f64; 12]>> {
                let mut q = home.clone();
                (0..3).for_each(|k| q[k] += from[k] + t * (to[k] - from[k]));
                let next = step.step(&model.tensor(&[&q])?, &model.tensor(&[&[]])?)?;
                if next.reports[0].status != Status::Solved
                    || support::numbers(&next.contacts.phi).iter().any(|&phi| phi < 1e-4)
                {
                    return Ok(None);
                }
                let [force, point, delta] = [&next.force, &next.contacts.point_b, &next.delta].map(support::numbers);
                Ok(Some(whole(&force, &point, &delta)))
            };
            let (changed, found) = jumps(at, 1e-4)?;
            changes += changed;
            assert!(found.is_empty(), "{name} from {from:?} to {to:?}: {found:?}");
        }
    }
    assert!(changes > 100, "{changes} parts of paths change something");
    Ok(())
}
