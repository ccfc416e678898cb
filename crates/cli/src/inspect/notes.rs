//! Notes on parts of a scene file that its model leaves out.

use fingertip::Model;
use fingertip::description::{Articulation, Friction, JointKind, ObjectBody, Params, Scene, Shape};
use fingertip::kinematics::Coordinate;

/// A line for each thing that is left out, or odd.
pub fn left_out(scene: &Scene, model: &Model) -> Vec<String> {
    let mut notes = scene.all_notes();
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
    notes.extend(far_contacts(model));
    for shape in &model.shapes {
        if let Shape::Grid(grid) = &shape.shape {
            let (body, [x, y, z]) = (&model.tree.bodies[shape.body].name, grid.nodes());
            let [error, reach] = [grid.error(), grid.reach()].map(|length| 1e3 * length);
            notes.push(format!(
                "{body}: spheres and capsules touch its mesh by a grid of {x} × {y} × {z} nodes, off by at most {error:.3} mm as far as {reach:.1} mm \
                 from it"
            ));
        }
    }
    notes.extend(not_in_step(model));
    notes
}

/// From how far apart contacts are left out.
fn far_contacts(model: &Model) -> Option<String> {
    if let Some(distance) = model.params.contact_distance {
        return (distance < f64::INFINITY).then(|| format!("contacts farther apart than {distance} m"));
    }
    let reaches = model.pairs.windows().map(|window| 1e3 * window.reach).filter(|reach| reach.is_finite());
    let (least, most) =
        reaches.fold((f64::INFINITY, 0.0_f64), |(least, most), reach| (least.min(reach), most.max(reach)));
    (least <= most).then(|| {
        format!(
            "contacts farther apart than {least:.0} to {most:.0} mm, by pair, that push with less than a hundredth of what the lighter \
             thing weighs, or 20 mN (contact_distance = inf leaves none out)"
        )
    })
}

/// A line for each thing of a model that its quasi-dynamic step does not have as the scene sets it.
pub fn not_in_step(model: &Model) -> Vec<String> {
    let mut notes = Vec::new();
    if model.params.impratio != Params::default().impratio && model.params.friction == Friction::Relaxed {
        notes.push("impratio: acts by Coulomb's law alone (params: friction = \"coulomb\")".to_owned());
    }
    if !model.params.effort_limits && model.tree.coordinates.iter().any(|c| c.u.is_some() && c.effort.is_finite()) {
        notes.push("efforts of joints: commands pull harder if their springs do (params: effort_limits)".to_owned());
    }
    if !model.params.joint_limits && model.tree.coordinates.iter().any(|coordinate| coordinate.limits.is_some()) {
        notes.push("joint limits: not constraints of the step here (params: joint_limits)".to_owned());
    }
    let resists = |c: &&Coordinate| c.damping > 0.0 || c.armature > 0.0;
    let acts = |c: &Coordinate| model.tree.is_resisted(c, model.params.joint_damping);
    if model.tree.coordinates.iter().filter(resists).any(|c| !acts(c)) {
        let what = "damping and armature of commanded joints: no part of the quasi-dynamic step here";
        notes.push(format!("{what} (params: joint_damping)"));
    }
    let rubs = |commanded: bool| model.tree.dry_friction(commanded).len();
    if rubs(model.params.joint_friction) < rubs(true) {
        let what = "dry friction of commanded joints: no part of the quasi-dynamic step here";
        notes.push(format!("{what} (params: joint_friction)"));
    }
    notes
}

fn of_articulation(articulation: &Articulation) -> Vec<String> {
    let Articulation { links, joints, .. } = articulation;
    let mut notes = Vec::new();
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
