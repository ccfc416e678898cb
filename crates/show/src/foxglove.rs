//! A recording in the schemas that other tools draw: transforms of frames, shapes, arrows
//! ([docs.foxglove.dev](https://docs.foxglove.dev/docs/sdk/schemas)).

use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use super::contacts::ContactRecord;
use super::observe::isometry;
use super::protobuf::{Message, Value, fields};
use super::recording::{BodyRecord, Configuration, Recording, Role, ShapeRecord, StepRecord};

/// Transforms are written in multiples of one part of this many, 60 nm: few digits are packed small.
const PARTS: f64 = 16_777_216.0;
/// Side of the square that is drawn for a half-space, m, and its thickness.
pub const GROUND: [f64; 2] = [2.0, 1e-3];
/// Forces are drawn as arrows of this length, m/N.
pub const ARROW: f64 = 0.02;
/// Contacts whose force is smaller are not drawn, N.
pub const LEAST_FORCE: f64 = 1e-3;
/// Colour of the contacts' points and arrows: red, green, blue, opacity.
pub const RED: [f64; 4] = [0.86, 0.22, 0.18, 1.0];

/// The pose of each body in its parent's frame; the world is left out.
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
) -> Vec<u8> {
    let transform = |body: usize| {
        let (own, at) = (&recording.bodies[body], &relative[body - 1]);
        Message::new()
            .message(1, &stamp(time))
            .text(2, &recording.bodies[own.parent].name)
            .text(3, &own.name)
            .message(4, &position(at))
            .message(5, &orientation(at))
    };
    let chosen = (1..recording.bodies.len()).filter(|&body| which(&recording.bodies[body]));
    Message::new().messages(1, &chosen.map(transform).collect::<Vec<_>>()).finish()
}

/// Reads `foxglove.FrameTransforms` as [`transforms()`] writes it: the child's name, and where it is in its parent.
/// None where the message is damaged.
pub fn read_transforms(message: &[u8]) -> Option<Vec<(String, Isometry3<f64>)>> {
    fields(message)?.into_iter().filter(|(field, _)| *field == 1).map(|(_, value)| read_transform(value)).collect()
}

fn read_transform(value: Value) -> Option<(String, Isometry3<f64>)> {
    let Value::Bytes(transform) = value else { return None };
    let (mut name, mut p, mut q) = (String::new(), [0.0; 3], [0.0; 4]);
    for (field, value) in fields(transform)? {
        match (field, value) {
            (3, Value::Bytes(text)) => name = String::from_utf8(text.to_vec()).ok()?,
            (4, Value::Bytes(vector)) => p = read_numbers(vector)?,
            (5, Value::Bytes(quaternion)) => q = read_numbers(quaternion)?,
            _ => {}
        }
    }
    let [x, y, z] = p;
    let [i, j, k, w] = q;
    Some((name, isometry(&[x, y, z, w, i, j, k])))
}

/// A message of doubles that are numbered from 1.
fn read_numbers<const N: usize>(message: &[u8]) -> Option<[f64; N]> {
    let mut numbers = [0.0; N];
    for (field, value) in fields(message)? {
        *numbers.get_mut(usize::try_from(field).ok()?.checked_sub(1)?)? = value.double()?;
    }
    Some(numbers)
}

/// `foxglove.SceneUpdate` with all shapes that collide.
pub fn shapes(recording: &Recording) -> Vec<u8> {
    let entity = |(body, record): (usize, &BodyRecord)| {
        let mut shapes = recording.shapes.iter().filter(|shape| shape.body == body && shape.collides).peekable();
        shapes.peek()?;
        let colour = numbers(colour(record.role));
        Some(shapes.fold(entity(&record.name, &record.name, 0), |entity, shape| with_shape(entity, shape, &colour)))
    };
    let entities: Vec<Message> = recording.bodies.iter().enumerate().filter_map(entity).collect();
    Message::new().messages(2, &entities).finish()
}

/// `foxglove.SceneUpdate` with an arrow and a point for each contact that carries a force.
pub fn markers(step: &StepRecord, world: &str, time: u64) -> Vec<u8> {
    let red = numbers(RED);
    let (mut arrows, mut points) = (Vec::new(), Vec::new());
    for ContactRecord { point, force, .. } in &step.contacts {
        let force = Vector3::from(*force);
        let size = force.norm();
        if size < LEAST_FORCE {
            continue;
        }
        let turn = UnitQuaternion::rotation_between(&Vector3::x(), &force)
            .unwrap_or_else(|| UnitQuaternion::from_axis_angle(&Vector3::z_axis(), std::f64::consts::PI));
        let at = pose(&Isometry3::from_parts(Translation3::from(*point), turn));
        let lengths = [(2, 0.8 * ARROW * size), (3, 0.003), (4, 0.2 * ARROW * size), (5, 0.007)];
        let arrow =
            lengths.into_iter().fold(Message::new().message(1, &at), |arrow, (field, x)| arrow.double(field, x));
        arrows.push(arrow.message(6, &red));
        points.push(solid(&at, [0.005; 3]).message(3, &red));
    }
    let entity = entity("contacts", world, time).messages(7, &arrows).messages(9, &points);
    Message::new().message(2, &entity).finish()
}

fn entity(id: &str, frame: &str, time: u64) -> Message {
    Message::new().message(1, &stamp(time)).text(2, frame).text(3, id).message(4, &stamp(0)).flag(5, true)
}

fn with_shape(entity: Message, shape: &ShapeRecord, colour: &Message) -> Message {
    let [w, i, j, k] = shape.quaternion;
    let [x, y, z] = shape.position;
    let frame = isometry(&[x, y, z, w, i, j, k]);
    let at = |z: f64| pose(&(frame * Translation3::new(0.0, 0.0, z)));
    let [a, b, c, _] = shape.sizes;
    let cube = |z: f64, size: [f64; 3]| solid(&at(z), size).message(3, colour);
    let cylinder = || solid(&at(0.0), [2.0 * a, 2.0 * a, 2.0 * b]).double(3, 1.0).double(4, 1.0).message(5, colour);
    match shape.kind.as_str() {
        "sphere" => entity.message(9, &cube(0.0, [2.0 * a; 3])),
        "ellipsoid" => entity.message(9, &cube(0.0, [a, b, c].map(|radius| 2.0 * radius))),
        "box" => entity.message(8, &cube(0.0, [a, b, c].map(|half| 2.0 * half))),
        "cylinder" => entity.message(10, &cylinder()),
        "capsule" => {
            let caps = [-b, b].map(|z| cube(z, [2.0 * a; 3]));
            entity.message(10, &cylinder()).messages(9, &caps)
        }
        "hull" | "mesh" => entity.message(12, &triangles(&at(0.0), shape, colour)),
        // Of a half-space, a piece of its surface.
        _ => entity.message(8, &cube(-0.5 * GROUND[1], [GROUND[0], GROUND[0], GROUND[1]])),
    }
}

fn triangles(at: &Message, shape: &ShapeRecord, colour: &Message) -> Message {
    let points: Vec<Message> = shape.vertices.iter().map(|&vertex| numbers(vertex)).collect();
    Message::new().message(1, at).messages(2, &points).message(3, colour).fixed(5, &corners(shape))
}

/// A hull's sides or a mesh's triangles as fans: three places in `vertices` for each triangle.
pub fn corners(shape: &ShapeRecord) -> Vec<u32> {
    let fan = |face: &Vec<usize>| -> Vec<usize> {
        face.windows(2).skip(1).flat_map(|side| [face[0], side[0], side[1]]).collect()
    };
    shape.faces.iter().flat_map(fan).filter_map(|corner| u32::try_from(corner).ok()).collect()
}

/// The beginning of a cube, a ball or a cylinder: where it is and how large.
fn solid(at: &Message, size: [f64; 3]) -> Message {
    Message::new().message(1, at).message(2, &numbers(size))
}

/// Red, green, blue and opacity.
pub fn colour(role: Role) -> [f64; 4] {
    match role {
        Role::Fixed => [0.75, 0.76, 0.78, 0.6],
        Role::Object => [0.09, 0.59, 0.54, 1.0],
        Role::Robot => [0.36, 0.47, 0.62, 1.0],
    }
}

/// Doubles, numbered from 1.
fn numbers<const N: usize>(values: [f64; N]) -> Message {
    (1..).zip(values).fold(Message::new(), |message, (field, value)| message.double(field, value))
}

/// A time or a duration.
fn stamp(time: u64) -> Message {
    Message::new().integer(1, time / 1_000_000_000).integer(2, time % 1_000_000_000)
}

fn pose(at: &Isometry3<f64>) -> Message {
    Message::new().message(1, &position(at)).message(2, &orientation(at))
}

fn position(at: &Isometry3<f64>) -> Message {
    let p = at.translation.vector;
    numbers([p.x, p.y, p.z].map(round))
}

fn orientation(at: &Isometry3<f64>) -> Message {
    let q = at.rotation;
    numbers([q.i, q.j, q.k, q.w].map(round))
}

fn round(x: f64) -> f64 {
    (x * PARTS).round() / PARTS + 0.0
}
