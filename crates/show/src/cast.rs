//! The static part of a recording: names, bodies, shapes, contacts.

use std::collections::BTreeMap;

use candle_core::Result;
use nalgebra::{Isometry3, Matrix3};

use super::observe::{quaternion, vectors};
use super::recording::{
    BodyRecord, Configuration, ObjectRecord, PairRecord, ParamsRecord, Recording, Role, ShapeRecord,
};
use super::skin::pads;
use super::source::Source;
use fingertip_scene::{JointKind, Look, ObjectBody, Partners, Scene, Shape, Triangles};
use fingertip_step::kinematics::{Body, Coordinate, Tree};
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::tensor::numbers;

/// Everything of a recording but the steps.
pub(super) fn cast(source: &Source, model: &Model, parameters: &Parameters) -> Result<Recording> {
    let (looks, left_out) = visuals(&source.scene, &model.tree);
    let mut recording = bare(model, parameters)?;
    recording.shapes.extend(looks);
    Ok(Recording { scene: source.name.clone(), scene_text: source.text.clone(), left_out, ..recording })
}

/// [`cast`] without what bodies look like, for which files are read, and without a source.
pub(super) fn bare(model: &Model, parameters: &Parameters) -> Result<Recording> {
    let tree = &model.tree;
    let one = |t: &candle_core::Tensor| Ok::<f64, candle_core::Error>(numbers(t)?[0]);
    let gravity = vectors(&parameters.gravity)?[0];
    let (mu, mass) = (numbers(&parameters.mu)?, numbers(&parameters.mass)?);
    let sizes = numbers(&parameters.sizes)?;
    let (version, generator) = Recording::header();
    let objects = tree.coordinates.iter().filter(|c| is_object(tree, c)).map(|c| {
        let hangs = |body: usize| std::iter::successors(Some(body), |&at| (at > 0).then(|| tree.bodies[at].parent));
        let on_it = model.inertial.iter().zip(&mass).filter(|(body, _)| hangs(**body).any(|at| at == c.body));
        let mass: f64 = on_it.map(|(_, mass)| mass).sum();
        let load = match c.kind {
            JointKind::Floating | JointKind::Translation => gravity.map(|g| mass * g),
            JointKind::Planar => [mass * gravity[0], mass * gravity[1], 0.0],
            _ => [0.0; 3],
        };
        ObjectRecord { name: c.name.clone(), body: c.body, mass, load }
    });
    let contacts = model.pairs.pair_of_contact.iter().map(|&p| {
        let pair = &model.pairs.pairs[p];
        PairRecord { a: model.shapes[pair.a].body, b: model.shapes[pair.b].body, mu: mu[p] }
    });
    let units = |has: &dyn Fn(&Coordinate) -> bool| {
        let numbers = tree.coordinates.iter().filter(|&c| has(c)).flat_map(|c| c.kind.coordinates());
        numbers.map(|(_, unit)| (*unit).to_owned()).collect()
    };
    Ok(Recording {
        version,
        generator,
        scene: String::new(),
        scene_text: String::new(),
        params: ParamsRecord {
            h: one(&parameters.h)?,
            epsilon: one(&parameters.epsilon)?,
            kappa: one(&parameters.kappa)?,
            gravity,
            friction: model.params.friction,
            impratio: model.params.impratio,
            contact_distance: model.params.contact_distance,
            fade: model.params.fade,
            joint_limits: model.params.joint_limits,
            rolling: model.params.rolling,
            max_iterations: model.params.max_iterations,
        },
        q_names: model.q_names(),
        u_names: model.u_names(),
        q_units: units(&|_| true),
        u_units: units(&|coordinate| coordinate.u.is_some()),
        bodies: (0..tree.bodies.len()).map(|body| body_record(tree, body)).collect(),
        shapes: collisions(model, &sizes).collect(),
        left_out: Vec::new(),
        objects: objects.collect(),
        contacts: contacts.collect(),
        taxels: pads(model)?,
        goals: Vec::new(),
        start: Configuration { q: Vec::new(), poses: Vec::new() },
        steps: Vec::new(),
    })
}

/// Is this a coordinate of an object?
fn is_object(tree: &Tree, coordinate: &Coordinate) -> bool {
    tree.bodies[coordinate.body].owner.is_some_and(|owner| !tree.owners[owner].robot)
}

fn body_record(tree: &Tree, body: usize) -> BodyRecord {
    let robot = tree.bodies[body].owner.is_some_and(|owner| tree.owners[owner].robot);
    let role = match (robot, tree.path(body).is_empty()) {
        (true, _) => Role::Robot,
        (false, true) => Role::Fixed,
        (false, false) => Role::Object,
    };
    let Body { name, parent, kind, .. } = &tree.bodies[body];
    BodyRecord { name: name.clone(), role, parent: *parent, moves: kind.nv() > 0 }
}

fn collisions<'a>(model: &'a Model, sizes: &'a [f64]) -> impl Iterator<Item = ShapeRecord> + 'a {
    // What stands beside a mesh's distance grid fills its hollows.
    let shown = model.shapes.iter().enumerate().filter(|(_, shape)| shape.partners != Partners::Edged);
    shown.map(|(i, shape)| {
        let rotation = Matrix3::from_fn(|row, column| shape.rotation[row][column]);
        let (vertices, faces) = polyhedron(&shape.shape);
        ShapeRecord {
            body: shape.body,
            collides: true,
            kind: kind(&shape.shape).to_owned(),
            sizes: std::array::from_fn(|k| sizes[Shape::SIZES * i + k]),
            position: shape.xyz,
            quaternion: quaternion(&rotation),
            rgba: None,
            vertices,
            faces,
        }
    })
}

/// The kind of a recorded shape.
fn kind(shape: &Shape) -> &'static str {
    match shape {
        Shape::Grid(_) => "mesh",
        other => other.name(),
    }
}

/// Corners and sides of a hull or a mesh.
fn polyhedron(shape: &Shape) -> (Vec<[f64; 3]>, Vec<Vec<usize>>) {
    match shape {
        Shape::Hull(hull) => (hull.vertices().to_vec(), hull.faces().iter().map(|face| face.corners.clone()).collect()),
        Shape::Grid(grid) => mesh(grid.mesh()),
        _ => (Vec::new(), Vec::new()),
    }
}

/// Corners, to 0.1 µm, and triangles.
fn mesh(triangles: &Triangles) -> (Vec<[f64; 3]>, Vec<Vec<usize>>) {
    let vertices = triangles.vertices.iter().map(|vertex| vertex.map(|x| (x * 1e7).round() / 1e7));
    (vertices.collect(), triangles.faces.iter().map(|face| face.to_vec()).collect())
}

/// The visible shapes, and a line for each mesh file that cannot be read.
fn visuals(scene: &Scene, tree: &Tree) -> (Vec<ShapeRecord>, Vec<String>) {
    let mut looks = Vec::new();
    let mut unread: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let articulated = scene.objects.iter().filter_map(|object| match &object.body {
        ObjectBody::Articulated { articulation, .. } => Some((object.name.as_str(), articulation)),
        ObjectBody::Rigid { .. } => None,
    });
    let robots = scene.robots.iter().map(|robot| (robot.name.as_str(), &robot.articulation));
    for (owner, articulation) in articulated.chain(robots) {
        for link in &articulation.links {
            let body = tree.body(&format!("{owner}/{}", link.name)).unwrap_or(0);
            for visual in &link.visuals {
                let Isometry3 { rotation, translation } = visual.pose;
                let (kind, sizes, (vertices, faces)) = match &visual.look {
                    Look::Shape(shape) => (kind(shape), shape.sizes(), polyhedron(shape)),
                    Look::Mesh(file) => match file.read() {
                        Ok(triangles) => ("mesh", [0.0; 4], mesh(&triangles)),
                        Err(error) => {
                            unread.entry(error.to_string()).or_default().push(&tree.bodies[body].name);
                            continue;
                        }
                    },
                };
                looks.push(ShapeRecord {
                    body,
                    collides: false,
                    kind: kind.to_owned(),
                    sizes,
                    position: translation.vector.into(),
                    quaternion: [rotation.w, rotation.i, rotation.j, rotation.k],
                    rgba: visual.rgba,
                    vertices,
                    faces,
                });
            }
        }
    }
    let line = |(error, mut bodies): (String, Vec<&str>)| {
        bodies.dedup();
        format!("{}: visual mesh left out: {error}", bodies.join(", "))
    };
    (looks, unread.into_iter().map(line).collect())
}
