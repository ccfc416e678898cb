//! A recording in the schemas that other tools draw: transforms of frames, shapes, arrows
//! ([docs.foxglove.dev](https://docs.foxglove.dev/docs/sdk/schemas)).

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};
use serde_json::{Value, json};

use super::recording::{BodyRecord, Configuration, Recording, Role, ShapeRecord, StepRecord};

/// Transforms are written in multiples of one part of this many, m.
const TRANSFORM: f64 = 1e8;
/// Contacts' numbers in multiples of one part of this many, m and N.
const CONTACT: f64 = 1e9;
/// Side of the square that is drawn for a half-space, m, and its thickness.
const GROUND: [f64; 2] = [2.0, 1e-3];
/// Forces are drawn as arrows of this length, m/N.
const ARROW: f64 = 0.02;
/// Contacts whose force is smaller are not drawn, N.
const LEAST_FORCE: f64 = 1e-3;

/// The pose of a body's frame: position, then quaternion (w, x, y, z).
pub fn isometry(pose: &[f64; 7]) -> Isometry3<f64> {
    let [x, y, z, w, i, j, k] = *pose;
    Isometry3::from_parts(Translation3::new(x, y, z), UnitQuaternion::new_normalize(Quaternion::new(w, i, j, k)))
}

/// Where each body is in its parent's frame; the world is left out.
pub fn relative(recording: &Recording, configuration: &Configuration) -> Vec<Isometry3<f64>> {
    let poses: Vec<Isometry3<f64>> = configuration.poses.iter().map(isometry).collect();
    recording.bodies.iter().zip(&poses).skip(1).map(|(body, pose)| poses[body.parent].inv_mul(pose)).collect()
}

/// `foxglove.FrameTransforms` of some bodies; `relative` as [`relative()`] has it.
pub fn transforms(
    recording: &Recording,
    relative: &[Isometry3<f64>],
    time: u64,
    which: impl Fn(&BodyRecord) -> bool,
) -> Value {
    let transform = |body: usize| {
        let (own, at) = (&recording.bodies[body], rounded(&relative[body - 1]));
        json!({
            "timestamp": stamp(time),
            "parent_frame_id": recording.bodies[own.parent].name,
            "child_frame_id": own.name,
            "translation": at["position"],
            "rotation": at["orientation"],
        })
    };
    let transforms: Vec<Value> =
        (1..recording.bodies.len()).filter(|&body| which(&recording.bodies[body])).map(transform).collect();
    json!({ "transforms": transforms })
}

/// `foxglove.SceneUpdate` with all shapes that collide.
pub fn shapes(recording: &Recording) -> Value {
    let entity = |(body, record): (usize, &BodyRecord)| {
        let mut entity = entity(&record.name, &record.name, 0);
        let mut any = false;
        for shape in recording.shapes.iter().filter(|shape| shape.body == body && shape.collides) {
            any = true;
            add_shape(&mut entity, shape, &colour(record.role));
        }
        any.then_some(entity)
    };
    let entities: Vec<Value> = recording.bodies.iter().enumerate().filter_map(entity).collect();
    json!({ "deletions": [], "entities": entities })
}

/// `foxglove.SceneUpdate` with an arrow and a point for each contact that carries a force.
pub fn markers(step: &StepRecord, world: &str, time: u64) -> Value {
    let mut entity = entity("contacts", world, time);
    let red = json!({ "r": 0.86, "g": 0.22, "b": 0.18, "a": 1.0 });
    for (point, force) in step.point.iter().zip(&step.force) {
        let force = Vector3::from(*force);
        let size = force.norm();
        if size < LEAST_FORCE {
            continue;
        }
        let turn = UnitQuaternion::rotation_between(&Vector3::x(), &force)
            .unwrap_or_else(|| UnitQuaternion::from_axis_angle(&Vector3::z_axis(), std::f64::consts::PI));
        let at = rounded(&Isometry3::from_parts(Translation3::from(*point), turn));
        push(
            &mut entity,
            "arrows",
            json!({
                "pose": at, "shaft_length": round(0.8 * ARROW * size), "shaft_diameter": 0.003,
                "head_length": round(0.2 * ARROW * size), "head_diameter": 0.007, "color": red,
            }),
        );
        push(&mut entity, "spheres", json!({ "pose": at, "size": xyz(&[0.005; 3]), "color": red }));
    }
    json!({ "deletions": [], "entities": [entity] })
}

fn entity(id: &str, frame: &str, time: u64) -> Value {
    json!({
        "timestamp": stamp(time), "frame_id": frame, "id": id, "lifetime": stamp(0), "frame_locked": true,
        "metadata": [], "arrows": [], "cubes": [], "spheres": [], "cylinders": [], "lines": [], "triangles": [],
        "texts": [], "models": [],
    })
}

fn push(entity: &mut Value, list: &str, thing: Value) {
    if let Some(list) = entity[list].as_array_mut() {
        list.push(thing);
    }
}

fn add_shape(entity: &mut Value, shape: &ShapeRecord, colour: &Value) {
    let [w, i, j, k] = shape.quaternion;
    let [x, y, z] = shape.position;
    let frame = isometry(&[x, y, z, w, i, j, k]);
    let at = |z: f64| rounded(&(frame * Translation3::new(0.0, 0.0, z)));
    let [a, b, c, _] = shape.sizes;
    let solid = |at: Value, size: [f64; 3]| json!({ "pose": at, "size": xyz(&size), "color": colour });
    let mut cylinder = || {
        let mut cylinder = solid(at(0.0), [2.0 * a, 2.0 * a, 2.0 * b]);
        (cylinder["bottom_scale"], cylinder["top_scale"]) = (json!(1.0), json!(1.0));
        push(entity, "cylinders", cylinder);
    };
    match shape.kind.as_str() {
        "sphere" => push(entity, "spheres", solid(at(0.0), [2.0 * a; 3])),
        "ellipsoid" => push(entity, "spheres", solid(at(0.0), [a, b, c].map(|r| 2.0 * r))),
        "box" => push(entity, "cubes", solid(at(0.0), [a, b, c].map(|half| 2.0 * half))),
        "cylinder" => cylinder(),
        "capsule" => {
            cylinder();
            [-b, b].into_iter().for_each(|z| push(entity, "spheres", solid(at(z), [2.0 * a; 3])));
        }
        "hull" => {
            let fan = |face: &Vec<usize>| -> Vec<usize> {
                face.windows(2).skip(1).flat_map(|side| [face[0], side[0], side[1]]).collect()
            };
            let points: Vec<Value> = shape.vertices.iter().map(xyz).collect();
            let indices: Vec<usize> = shape.faces.iter().flat_map(fan).collect();
            push(
                entity,
                "triangles",
                json!({
                    "pose": at(0.0), "points": points, "color": colour, "colors": [], "indices": indices,
                }),
            );
        }
        // Of a half-space, a piece of its surface.
        _ => push(entity, "cubes", solid(at(-0.5 * GROUND[1]), [GROUND[0], GROUND[0], GROUND[1]])),
    }
}

fn colour(role: Role) -> Value {
    let [r, g, b, a] = match role {
        Role::Fixed => [0.75, 0.76, 0.78, 0.6],
        Role::Object => [0.95, 0.62, 0.24, 1.0],
        Role::Robot => [0.36, 0.47, 0.62, 1.0],
    };
    json!({ "r": r, "g": g, "b": b, "a": a })
}

fn stamp(time: u64) -> Value {
    json!({ "sec": time / 1_000_000_000, "nsec": time % 1_000_000_000 })
}

fn xyz([x, y, z]: &[f64; 3]) -> Value {
    json!({ "x": x, "y": y, "z": z })
}

fn rounded(at: &Isometry3<f64>) -> Value {
    let (p, q) = (at.translation.vector, at.rotation);
    let orientation = json!({ "x": round(q.i), "y": round(q.j), "z": round(q.k), "w": round(q.w) });
    json!({ "position": xyz(&[round(p.x), round(p.y), round(p.z)]), "orientation": orientation })
}

/// A contact's number, rounded to 1e-9 and as short as that in decimals.
pub fn brief(x: f64) -> f64 {
    rounded_to(x, CONTACT)
}

fn round(x: f64) -> f64 {
    rounded_to(x, TRANSFORM)
}

/// To a multiple of 1/`parts`: dividing a whole number by a power of ten gives the double whose shortest decimal is that
/// multiple. No −0.
fn rounded_to(x: f64, parts: f64) -> f64 {
    (x * parts).round() / parts + 0.0
}
