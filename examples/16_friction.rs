//! What the two laws of friction predict: a cube that is pushed, a fingertip that is dragged, a ball on an incline, a
//! ball that two fingertips lift, and a pill that they hold off its middle, with and without torsional friction.
//!
//! ```text
//! cargo run --release --example 16_friction
//! ```

mod check;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::description::{Freedom, Friction, Object, Robot, Scene, Shape};
use fingertip::step::{Quasidynamic, Step};
use nalgebra::{Isometry3, UnitQuaternion, Vector3};

use check::{below, near};

const G: f64 = 9.81;
const MU: f64 = 0.5;

fn main() -> Result<()> {
    println!("{:<62} {:>9} {:>9}", "μ = 0.5, κ = 1e6", "relaxed", "Coulomb");
    let [pushed, dragged, inclined, lifted, pinched] = [pushed, dragged, inclined, lifted, pinched].map(|case| {
        let mut both = Vec::new();
        for law in Friction::ALL {
            both.push(case(law)?);
        }
        Result::Ok(both)
    });
    let (pushed, dragged, inclined, lifted, pinched) = (pushed?, dragged?, inclined?, lifted?, pinched?);
    let row = |what: &str, k: usize, cases: &[Vec<f64>], unit: f64| {
        println!("{what:<62} {:>9.3} {:>9.3}", cases[0][k] * unit, cases[1][k] * unit);
    };
    row("a pushed cube presses on the floor with … of its weight", 0, &pushed, 1.0);
    row("  and rises by (mm)", 1, &pushed, 1e3);
    row("  while it moves by (mm)", 2, &pushed, 1e3);
    row("a fingertip pressed with 0.5 N, dragged by 2 cm, rises by (mm)", 0, &dragged, 1e3);
    row("  presses with (N)", 1, &dragged, 1.0);
    row("  and rubs with (N)", 2, &dragged, 1.0);
    row("a ball that cannot turn, at 20°, slips in a step by (mm)", 0, &inclined, 1e3);
    row("  at 35°", 1, &inclined, 1e3);
    row("  where it rises by (mm)", 2, &inclined, 1e3);
    row("two fingertips go up by 12 mm, the ball they press follows by", 0, &lifted, 1e3);
    row("a pill that they hold 2 cm off its middle turns in a step by (°)", 0, &pinched, 1.0);
    row("  with torsional friction of 4 mm", 1, &pinched, 1.0);
    row("  each fingertip's torque then (N·mm)", 2, &pinched, 1e3);
    println!();

    near("floor force over weight by Coulomb's law", pushed[1][0], 1.0, 1e-3)?;
    near("friction of the dragged tip over μ times its force", dragged[1][2] / (MU * dragged[1][1]), 1.0, 1e-2)?;
    below("what the dragged tip rises by, over μ times its way", dragged[1][0] / (MU * 0.02), 0.01)?;
    below("slip at 20° by Coulomb's law, m", inclined[1][0], 1e-4)?;
    for (law, pinched) in Friction::ALL.iter().zip(&pinched) {
        below(
            &format!("turn of the pill with torsional friction over that without, {law:?}"),
            pinched[1] / pinched[0],
            2e-3,
        )?;
    }
    Ok(())
}

fn scene(law: Friction) -> Scene {
    let mut scene = Scene::new().object(Object::ground("ground", 0.0));
    (scene.params.kappa, scene.params.mu, scene.params.friction) = (1e6, MU, law);
    scene
}

/// One step from `q`, its joints commanded to where they are but for `commands`, under an external force.
fn step(model: &Model, q: &[f64], commands: &[(&str, f64)], tau: &[(usize, f64)]) -> Result<Step> {
    let mut u = vec![0.0; model.nu()];
    for coordinate in &model.tree.coordinates {
        if let Some(k) = coordinate.u {
            u[k] = q[coordinate.q];
        }
    }
    for &(name, by) in commands {
        let joint = model.joint(name)?;
        u[joint.u.unwrap_or(0)] += by;
    }
    let mut forces = vec![0.0; model.nv()];
    tau.iter().for_each(|&(dof, force)| forces[dof] = force);
    let mut parameters = model.parameters.clone();
    parameters.tau = model.tensor(&[forces.as_slice()])?;
    let u = Tensor::from_vec(u.clone(), (1, u.len()), &Device::Cpu)?;
    Quasidynamic::new(model, &parameters)?.step(&model.tensor(&[q])?, &u)
}

fn row(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_vec1()
}

/// Floor force over weight, rise and way of a cube of 0.1 kg that is pushed at half its height with twice what friction
/// holds.
fn pushed(law: Friction) -> Result<Vec<f64>> {
    let (half, mass) = (0.03, 0.1);
    let cube = Object::rigid("cube", Shape::cuboid([half, half, half]), mass).with_freedom(Freedom::Free);
    let model = Model::new(&scene(law).object(cube), DType::F64, &Device::Cpu)?;
    let mut q = model.tree.home();
    // Four corners at the height where they carry it.
    q[2] = half + 8.0 / (1e6 * mass * G);
    let weight = mass * G;
    let result = step(&model, &q, &[], &[(0, 2.0 * MU * weight)])?;
    let floor: f64 = row(&result.force)?.chunks_exact(3).map(|force| force[2].abs()).sum();
    let delta = row(&result.delta)?;
    Ok(vec![floor / weight, delta[2], delta[0]])
}

/// Rise and forces of a fingertip (100 N/m) that is pressed and dragged.
fn dragged(law: Friction) -> Result<Vec<f64>> {
    let tips = Robot::from_urdf("tips", "assets/robots/fingertips.urdf")?.with_default_stiffness(100.0);
    let model = Model::new(&scene(law).robot(tips), DType::F64, &Device::Cpu)?;
    let mut q = model.tree.home();
    let (radius, mount) = (0.01, 0.03);
    q[model.joint("tips/z0")?.q] = radius - mount;
    let result = step(&model, &q, &[("tips/z0", -0.005), ("tips/x0", 0.02)], &[])?;
    let force = row(&result.force)?;
    let at = largest_contact(&force);
    let rise = row(&result.delta)?[model.joint("tips/z0")?.v];
    Ok(vec![rise, force[at + 2].abs(), force[at].hypot(force[at + 1])])
}

/// Where the largest force starts.
fn largest_contact(force: &[f64]) -> usize {
    let size = |k: usize| force[k].hypot(force[k + 1]).hypot(force[k + 2]);
    (0..force.len()).step_by(3).max_by(|&i, &j| size(i).total_cmp(&size(j))).unwrap_or(0)
}

/// Slips of a ball of 0.5 kg at 20° and 35°, and what it rises by at 35°.
fn inclined(law: Friction) -> Result<Vec<f64>> {
    let (radius, mass) = (0.05, 0.5);
    let mut found = Vec::new();
    for degrees in [20.0_f64, 35.0] {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let ball = Object::rigid("ball", Shape::sphere(radius), mass).with_freedom(Freedom::Translation);
        let scene = scene(law).with_gravity([G * sin, 0.0, -G * cos]).object(ball);
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let result = step(&model, &[0.0, 0.0, radius + 2.0 / (1e6 * mass * G * cos)], &[], &[])?;
        let delta = row(&result.delta)?;
        found.extend([delta[0], delta[2]]);
    }
    Ok(vec![found[0], found[2], found[3]])
}

/// A step of something of 0.1 kg that two fingertips press from both sides, `radius` from its middle, each with `press`
/// and going up by `rise`; and the first place of its motion in δ.
fn held(scene: Scene, object: Object, [radius, press, rise]: [f64; 3]) -> Result<(Step, usize)> {
    let tips = Robot::from_urdf("tips", "assets/robots/fingertips.urdf")?.with_default_stiffness(100.0);
    let name = object.name.clone();
    let model = Model::new(&scene.robot(tips).object(object), DType::F64, &Device::Cpu)?;
    let mut q = model.tree.home();
    let (tip, mount, height) = (0.01, 0.2, 0.1);
    let place = |name: &str| Result::Ok(model.joint(name)?.q);
    for (finger, side) in [("0", 1.0), ("2", -1.0)] {
        q[place(&format!("tips/x{finger}"))?] = side * (radius + tip - mount);
        q[place(&format!("tips/z{finger}"))?] = height - 0.03;
    }
    let object = model.object(&name)?;
    q[object.q + 2] = height;
    let press = press / 100.0;
    let commands = [("tips/x0", -press), ("tips/x2", press), ("tips/z0", rise), ("tips/z2", rise)];
    Ok((step(&model, &q, &commands, &[])?, object.v))
}

/// How far a ball follows two fingertips that press it with 2 N and go up by 12 mm.
fn lifted(law: Friction) -> Result<Vec<f64>> {
    let radius = 0.03;
    let ball = Object::rigid("ball", Shape::sphere(radius), 0.1).with_freedom(Freedom::Free);
    let (result, motion) = held(scene(law), ball, [radius, 2.0, 0.012])?;
    Ok(vec![row(&result.delta)?[motion + 2]])
}

/// How far a pill turns about the line through two fingertips that press it with 4.5 N off its middle: without and with
/// torsional friction; the mean of the fingertips' torques.
fn pinched(law: Friction) -> Result<Vec<f64>> {
    let (radius, off) = (0.02, 0.02);
    let across = UnitQuaternion::rotation_between_axis(&Vector3::z_axis(), &Vector3::y_axis()).unwrap_or_default();
    let pose = Isometry3::from_parts(Vector3::new(0.0, off, 0.0).into(), across);
    let pill = Object::rigid("pill", Shape::capsule(radius, 0.04), 0.1).with_freedom(Freedom::Free).with_pose(pose);
    let press = [radius, 4.5, 0.0];
    let (free, motion) = held(scene(law), pill.clone(), press)?;
    let mut soft = scene(law);
    soft.params.torsion = 4e-3;
    let (soft, _) = held(soft, pill, press)?;
    let turn = |step: &Step| Result::Ok(row(&step.delta)?[motion + 3].abs().to_degrees());
    let torque = row(&soft.torque)?.iter().map(|torque| torque.abs()).sum::<f64>() / 2.0;
    Ok(vec![turn(&free)?, turn(&soft)?, torque])
}
