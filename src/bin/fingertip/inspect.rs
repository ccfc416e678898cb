//! `fingertip inspect`: what a scene holds.

use std::io::Write;
use std::process::ExitCode;

use fingertip::Model;
use fingertip::description::{Articulation, JointKind, ObjectBody, Scene};
use fingertip::kinematics::Coordinate;

use super::Outcome;
use super::scene::SceneArgs;
use super::table::{short, table};

/// Prints each name of a scene with its place in q, v and u, unit, limits, home and stiffness; the contact pairs with
/// their friction; the bodies with mass; and what was left out.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    scene: SceneArgs,
}

pub fn run(args: &Args) -> Outcome {
    let (source, step) = args.scene.load()?;
    let model = step.model();
    let parameters = step.parameters();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}: {} numbers in q, {} degrees of freedom, {} commands, {} contacts of {} pairs\n",
        source.name,
        model.nq(),
        model.nv(),
        model.nu(),
        model.nc(),
        model.pairs.pairs.len()
    )?;
    let row = |t: &candle_core::Tensor| t.flatten_all()?.to_vec1::<f64>();
    writeln!(out, "{}", params(model, &row(&parameters.kappa)?, &row(&parameters.gravity)?))?;
    writeln!(out, "\nCoordinates\n{}", coordinates(model, &row(&parameters.stiffness)?))?;
    writeln!(out, "\nContact pairs\n{}", pairs(model, &row(&parameters.mu)?, &row(&parameters.sizes)?))?;
    if !model.inertial.is_empty() {
        writeln!(out, "\nMasses\n{}", masses(model, &row(&parameters.mass)?, &row(&parameters.inertia)?))?;
    }
    let notes = left_out(&source.scene, model);
    if !notes.is_empty() {
        writeln!(out, "\nLeft out, or odd")?;
        notes.iter().try_for_each(|note| writeln!(out, "  {note}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn params(model: &Model, kappa: &[f64], gravity: &[f64]) -> String {
    let params = &model.params;
    let distance = params
        .contact_distance
        .map_or("none".to_owned(), |d| format!("{} m, fading over {} m", short(d), short(params.fade)));
    format!(
        "h {} s   ε {}   κ {} 1/J   gravity {gravity:?} m/s²   contact_distance {distance}   joint_limits {}",
        short(params.h),
        short(params.epsilon),
        short(kappa[0]),
        params.joint_limits
    )
}

fn coordinates(model: &Model, stiffness: &[f64]) -> String {
    let mut table = table(&["name", "motion", "unit", "q", "v", "u", "lower", "upper", "home", "stiffness"], 3);
    for coordinate in &model.tree.coordinates {
        let bound = |pick: fn(&fingertip::description::Limits) -> f64| {
            coordinate.limits.as_ref().map_or("–".to_owned(), |limits| short(pick(limits)))
        };
        let home: Vec<String> = coordinate.home.iter().map(|&x| short(x)).collect();
        table.add_row([
            coordinate.name.clone(),
            motion(coordinate.kind).to_owned(),
            unit(coordinate.kind).to_owned(),
            range(coordinate.q, coordinate.kind.nq()),
            range(coordinate.v, coordinate.kind.nv()),
            coordinate.u.map_or("–".to_owned(), |u| u.to_string()),
            bound(|limits| limits.lower),
            bound(|limits| limits.upper),
            home.join(" "),
            coordinate.u.map_or("–".to_owned(), |u| format!("{} {}", short(stiffness[u]), per_unit(coordinate))),
        ]);
    }
    table.to_string()
}

fn motion(kind: JointKind) -> &'static str {
    match kind {
        JointKind::Fixed => "fixed",
        JointKind::Revolute => "revolute",
        JointKind::Continuous => "continuous",
        JointKind::Prismatic => "prismatic",
        JointKind::Planar => "planar: x y yaw",
        JointKind::Translation => "translation: x y z",
        JointKind::Floating => "free: x y z, quaternion w x y z",
    }
}

fn unit(kind: JointKind) -> &'static str {
    match kind {
        JointKind::Fixed => "–",
        JointKind::Revolute | JointKind::Continuous => "rad",
        JointKind::Prismatic | JointKind::Translation => "m",
        JointKind::Planar => "m, rad",
        JointKind::Floating => "m, 1",
    }
}

fn per_unit(coordinate: &Coordinate) -> &'static str {
    if coordinate.kind == JointKind::Prismatic { "N/m" } else { "N·m/rad" }
}

/// "3" or "3–9".
fn range(first: usize, n: usize) -> String {
    if n == 1 { first.to_string() } else { format!("{first}–{}", first + n - 1) }
}

fn pairs(model: &Model, mu: &[f64], sizes: &[f64]) -> String {
    let mut table = table(&["contacts", "A", "shape", "B", "shape", "μ"], 5);
    for (p, pair) in model.pairs.pairs.iter().enumerate() {
        let contacts: Vec<usize> = (0..model.nc()).filter(|&c| model.pairs.pair_of_contact[c] == p).collect();
        let side = |shape: usize| {
            let body = &model.tree.bodies[model.shapes[shape].body].name;
            let n = sizes.len() / model.shapes.len();
            let sizes: Vec<String> =
                sizes[n * shape..n * (shape + 1)].iter().filter(|&&x| x != 0.0).map(|&x| short(x)).collect();
            (body.clone(), format!("{} {}", model.shapes[shape].shape.name(), sizes.join(" ")).trim_end().to_owned())
        };
        let ((a, shape_a), (b, shape_b)) = (side(pair.a), side(pair.b));
        table.add_row([range(contacts[0], contacts.len()), a, shape_a, b, shape_b, short(mu[p])]);
    }
    table.to_string()
}

fn masses(model: &Model, mass: &[f64], inertia: &[f64]) -> String {
    let mut table = table(&["body", "mass kg", "inertia xx yy zz xy xz yz kg·m²"], 1);
    for (n, &body) in model.inertial.iter().enumerate() {
        let six: Vec<String> = inertia[6 * n..6 * (n + 1)].iter().map(|&x| short(x)).collect();
        table.add_row([model.tree.bodies[body].name.clone(), short(mass[n]), six.join(" ")]);
    }
    table.to_string()
}

/// What the description holds and the model does not.
fn left_out(scene: &Scene, model: &Model) -> Vec<String> {
    let mut notes = Vec::new();
    let articulated = scene.objects.iter().filter_map(|object| match &object.body {
        ObjectBody::Articulated { articulation, .. } => Some((&object.name, articulation)),
        ObjectBody::Rigid { .. } => None,
    });
    for (name, articulation) in articulated.chain(scene.robots.iter().map(|robot| (&robot.name, &robot.articulation))) {
        notes.extend(of_articulation(articulation).into_iter().map(|note| format!("{name}: {note}")));
    }
    for rule in scene.pairs.iter().filter(|rule| rule.enabled == Some(false)) {
        notes.push(format!("pairs of {} and {}: excluded by a rule of the scene", rule.a, rule.b));
    }
    if let Some(distance) = model.params.contact_distance {
        notes.push(format!("contacts farther apart than {distance} m"));
    }
    if !model.params.joint_limits && model.tree.coordinates.iter().any(|coordinate| coordinate.limits.is_some()) {
        notes.push("joint limits: not constraints of the step here (params: joint_limits)".to_owned());
    }
    notes
}

fn of_articulation(articulation: &Articulation) -> Vec<String> {
    let Articulation { links, joints, notes } = articulation;
    let mut notes = notes.clone();
    let names = |which: &dyn Fn(&fingertip::description::Joint) -> bool| -> Vec<String> {
        joints.iter().filter(|joint| which(joint)).map(|joint| joint.name.clone()).collect()
    };
    let fixed = names(&|joint| joint.kind == JointKind::Fixed);
    if !fixed.is_empty() {
        notes.push(format!("fixed joints, without a place in q: {}", fixed.join(", ")));
    }
    for joint in joints {
        if let Some(mimic) = joint.mimic {
            let leader = &joints[mimic.joint].name;
            notes.push(format!(
                "joint {} has no place in q: it is {} · {leader} + {}",
                joint.name, mimic.multiplier, mimic.offset
            ));
        }
    }
    let bare: Vec<&str> =
        links.iter().filter(|link| link.collisions.is_empty()).map(|link| link.name.as_str()).collect();
    if !bare.is_empty() {
        notes.push(format!("{} of {} links have no collision shape: {}", bare.len(), links.len(), bare.join(", ")));
    }
    notes
}
