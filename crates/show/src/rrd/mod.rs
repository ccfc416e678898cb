//! Recordings as files of [rerun](https://rerun.io): bodies with their shapes, contacts, and everything that has a
//! number.

mod stream;

use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, UInt8Array, UInt32Array};
use arrow_schema::ArrowError;
use nalgebra::{Isometry3, Translation3, Vector3};

use self::stream::{Column, Stream, fixed, single, vectors};
use super::file;
use super::foxglove::{ARROW, GROUND, LEAST_FORCE, RED, colour, corners};
use super::frames::moves;
use super::observe::isometry;
use super::recording::{Configuration, Recording, ShapeRecord, StepRecord};
use fingertip_shapes::{Error, Result};

/// rerun's numbers of directions: right, forward, up.
const Z_UP: [u8; 3] = [3, 5, 1];
/// Shapes are drawn as surfaces.
const SOLID: u8 = 3;
/// Radius of arrows and of points, m.
const THICK: f64 = 0.002;

type Table = std::result::Result<Vec<Column>, ArrowError>;

/// Writes a file for rerun's viewer, from its version 0.24 on: `/world/BODY`, transforms in the world, with `collision`
/// and `look` shapes below them; `/world/contacts`, points on B and arrows of 2 cm/N where there is force; and by name
/// `/scalars`, `/q`, `/u`, `/gap`, m, `/force`, N, and `/solver`. The timeline `time` is that of the simulation.
///
/// # Errors
/// If the file cannot be written.
pub fn write_rrd(recording: &Recording, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let to = io::BufWriter::new(file::create(path)?);
    Stream::new(to, &name(recording), &recording.generator)
        .and_then(|mut stream| {
            write(recording, &mut stream)?;
            stream.finish()
        })
        .map_err(|source| Error::file(path, source))
}

/// A name of its own: the scene's, and a number that stands for all that happens.
fn name(recording: &Recording) -> String {
    let mut hash = crc32fast::Hasher::new();
    for x in configurations(recording).flat_map(|configuration| &configuration.q) {
        hash.update(&x.to_le_bytes());
    }
    format!("{} {:08x}", recording.scene, hash.finalize())
}

/// The start, then the end of each step.
fn configurations(recording: &Recording) -> impl Iterator<Item = &Configuration> {
    std::iter::once(&recording.start).chain(recording.steps.iter().map(|step| &step.end))
}

fn write(recording: &Recording, stream: &mut Stream<impl io::Write>) -> io::Result<()> {
    #[expect(clippy::cast_possible_truncation, reason = "times are below 292 years")]
    let times: Vec<i64> = recording.steps.iter().map(|step| (1e9 * step.time).round() as i64).collect();
    let from_start: Vec<i64> = std::iter::once(0).chain(times.iter().copied()).collect();

    stream.table("/world", None, axes())?;
    for (body, record) in recording.bodies.iter().enumerate().skip(1) {
        let poses: Vec<Isometry3<f64>> = configurations(recording).map(|c| isometry(&c.poses[body])).collect();
        let moves = moves(recording, body);
        let (times, poses) = if moves { (Some(&from_start[..]), &poses[..]) } else { (None, &poses[..1]) };
        stream.table(&format!("/world/{}", part(&record.name)), times, transforms(poses))?;
    }
    for (i, shape) in recording.shapes.iter().enumerate() {
        let kind = if shape.collides { "collision" } else { "look" };
        let body = &recording.bodies[shape.body];
        let rgba = shape.rgba.unwrap_or_else(|| colour(body.role));
        let entity = format!("/world/{}/{kind}_{i}", part(&body.name));
        stream.table(&entity, None, transforms(&[place(shape)]))?;
        stream.table(&entity, None, surface(shape, rgba))?;
    }
    stream.table("/world/contacts", None, looks())?;
    stream.table("/world/contacts", Some(&times), contacts(recording))?;

    let mut plot = |group: &str, name: &str, numbers: &dyn Fn(&StepRecord) -> f64| {
        let values = recording.steps.iter().map(numbers);
        stream.table(&format!("/{group}/{}", part(name)), Some(&times), scalars(values))
    };
    let names = recording.steps.first().map_or_else(Vec::new, |step| step.scalars.keys().collect());
    for name in names {
        plot("scalars", name, &|step| step.scalars.get(name).copied().unwrap_or(f64::NAN))?;
    }
    for (i, name) in recording.q_names.iter().enumerate() {
        plot("q", name, &|step| step.end.q[i])?;
    }
    for (i, name) in recording.u_names.iter().enumerate() {
        plot("u", name, &|step| step.u[i])?;
    }
    for contact in 0..recording.contacts.len() {
        let name = format!("{contact}: {}", recording.sides(contact).join(" > "));
        plot("gap", &name, &|step| step.contacts.distance(contact))?;
        plot("force", &name, &|step| Vector3::from(step.contacts.force(contact)).norm())?;
    }
    plot("solver", "iterations", &|step| step.iterations as f64)?;
    plot("solver", "residual", &|step| step.residual)?;
    plot("solver", "seconds", &|step| step.seconds)
}

/// A name as a part of an entity's path.
fn part(name: &str) -> String {
    let letter = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c.to_string() } else { format!("\\{c}") };
    name.chars().map(letter).collect()
}

/// The pose on its body at which rerun draws a shape: rerun places a capsule by its lower centre, and a half-space is
/// the top of a box.
fn place(shape: &ShapeRecord) -> Isometry3<f64> {
    let [w, i, j, k] = shape.quaternion;
    let [x, y, z] = shape.position;
    let below = match shape.kind.as_str() {
        "capsule" => shape.sizes[1],
        "halfspace" => 0.5 * GROUND[1],
        _ => 0.0,
    };
    isometry(&[x, y, z, w, i, j, k]) * Translation3::new(0.0, 0.0, -below)
}

fn axes() -> Table {
    let directions = fixed::<3>(Arc::new(UInt8Array::from(Z_UP.to_vec())))?;
    Ok(vec![Column::new("ViewCoordinates", "xyz", "ViewCoordinates", [1], directions)?])
}

fn transforms(poses: &[Isometry3<f64>]) -> Table {
    let lengths = || poses.iter().map(|_| 1);
    let translations = vectors(poses.iter().map(|pose| pose.translation.vector.into()))?;
    let quaternions = vectors::<4>(poses.iter().map(|pose| pose.rotation.coords.into()))?;
    Ok(vec![
        Column::new("Transform3D", "translation", "Translation3D", lengths(), translations)?,
        Column::new("Transform3D", "quaternion", "RotationQuat", lengths(), quaternions)?,
    ])
}

fn surface(shape: &ShapeRecord, rgba: [f64; 4]) -> Table {
    let [a, b, c, _] = shape.sizes;
    let one = |x: f64| -> ArrayRef { Arc::new(Float32Array::from(vec![single(x)])) };
    let (archetype, mut columns) = match shape.kind.as_str() {
        "sphere" | "ellipsoid" => {
            let radii = if shape.kind == "sphere" { [a; 3] } else { [a, b, c] };
            let name = "Ellipsoids3D";
            (name, vec![Column::new(name, "half_sizes", "HalfSize3D", [1], vectors([radii])?)?])
        }
        "capsule" | "cylinder" => {
            let name = if shape.kind == "capsule" { "Capsules3D" } else { "Cylinders3D" };
            let lengths = Column::new(name, "lengths", "Length", [1], one(2.0 * b))?;
            (name, vec![lengths, Column::new(name, "radii", "Radius", [1], one(a))?])
        }
        "hull" | "mesh" => return mesh(shape, rgba),
        kind => {
            let half = if kind == "box" { [a, b, c] } else { [0.5 * GROUND[0], 0.5 * GROUND[0], 0.5 * GROUND[1]] };
            let name = "Boxes3D";
            (name, vec![Column::new(name, "half_sizes", "HalfSize3D", [1], vectors([half])?)?])
        }
    };
    columns.push(Column::new(archetype, "colors", "Color", [1], paint(rgba))?);
    columns.push(Column::new(archetype, "fill_mode", "FillMode", [1], Arc::new(UInt8Array::from(vec![SOLID])))?);
    Ok(columns)
}

fn mesh(shape: &ShapeRecord, rgba: [f64; 4]) -> Table {
    let corners = corners(shape);
    let (n_vertices, n_triangles) = (shape.vertices.len(), corners.len() / 3);
    let vertices = vectors(shape.vertices.iter().copied())?;
    let triangles = fixed::<3>(Arc::new(UInt32Array::from(corners)))?;
    Ok(vec![
        Column::new("Mesh3D", "vertex_positions", "Position3D", [n_vertices], vertices)?,
        Column::new("Mesh3D", "triangle_indices", "TriangleIndices", [n_triangles], triangles)?,
        Column::new("Mesh3D", "albedo_factor", "AlbedoFactor", [1], paint(rgba))?,
    ])
}

/// Points and arrows of the contacts that carry force.
fn contacts(recording: &Recording) -> Table {
    let loaded = |step: &StepRecord| -> Vec<([f64; 3], Vector3<f64>)> {
        let all = step.contacts.iter().map(|one| (one.point, Vector3::from(one.force)));
        all.filter(|(_, force)| force.norm() > LEAST_FORCE).collect()
    };
    let steps: Vec<_> = recording.steps.iter().map(loaded).collect();
    let lengths = || steps.iter().map(Vec::len);
    let points = vectors(steps.iter().flatten().map(|(point, _)| *point))?;
    let arrows = vectors(steps.iter().flatten().map(|(_, force)| (ARROW * force).into()))?;
    Ok(vec![
        Column::new("Points3D", "positions", "Position3D", lengths(), points.clone())?,
        Column::new("Arrows3D", "origins", "Position3D", lengths(), points)?,
        Column::new("Arrows3D", "vectors", "Vector3D", lengths(), arrows)?,
    ])
}

/// Constant drawing attributes of contacts: radii and colours of their points and arrows.
fn looks() -> Table {
    let thick: ArrayRef = Arc::new(Float32Array::from(vec![single(THICK)]));
    Ok(vec![
        Column::new("Points3D", "radii", "Radius", [1], thick.clone())?,
        Column::new("Points3D", "colors", "Color", [1], paint(RED))?,
        Column::new("Arrows3D", "radii", "Radius", [1], thick)?,
        Column::new("Arrows3D", "colors", "Color", [1], paint(RED))?,
    ])
}

/// A colour as rerun packs it: red in the highest byte, opacity in the lowest.
fn paint(rgba: [f64; 4]) -> ArrayRef {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 255")]
    let byte = |x: f64| (255.0 * x.clamp(0.0, 1.0)).round() as u8;
    Arc::new(UInt32Array::from(vec![u32::from_be_bytes(rgba.map(byte))]))
}

fn scalars(values: impl Iterator<Item = f64>) -> Table {
    let values: Vec<f64> = values.collect();
    let ones = vec![1; values.len()];
    Ok(vec![Column::new("Scalars", "scalars", "Scalar", ones, Arc::new(Float64Array::from(values)))?])
}
