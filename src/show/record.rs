//! Rolling out one world while writing down everything.

use std::time::Instant;

use candle_core::{DType, Result, Tensor};
use nalgebra::{Isometry3, Matrix3, Rotation3, UnitQuaternion};

use crate::description::{Articulation, JointKind, ObjectBody, Scene, Shape};
use crate::kinematics::{Coordinate, FrameSpec, Kinematics, POSE, Tree};
use crate::model::Model;
use crate::step::Quasidynamic;

use super::recording::{
    BodyRecord, Configuration, ObjectRecord, PairRecord, ParamsRecord, Recording, Role, ShapeRecord, StepRecord,
};

/// Poses are written in multiples of this, m: a tenth of a micrometre.
const POSE_STEP: f64 = 1e-7;

/// A scene and where it comes from.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The scene file's text; empty for a scene built in code.
    pub text: String,
    /// The scene.
    pub scene: Scene,
}

/// Rolls out `n_steps` steps from home under `control`, the command (nu numbers) of the step that starts at a time (s).
/// `progress` is called after each step.
///
/// Each step starts at the end of the one before, its solve at the forces of the one before.
///
/// # Errors
/// Of the step: a command with another number of entries than the model has commands.
pub fn record(
    source: &Source,
    step: &Quasidynamic,
    n_steps: usize,
    control: impl Fn(usize, f64) -> Vec<f64>,
    mut progress: impl FnMut(usize),
) -> Result<Recording> {
    let model = step.model();
    let observer = Observer::new(model)?;
    let mut recording = cast(source, step)?;
    let mut q = model.home(1)?;
    recording.start = observer.configuration(&q)?;
    let mut warm: Option<Tensor> = None;
    for k in 0..n_steps {
        let u = control(k, k as f64 * recording.params.h);
        let begin = Instant::now();
        let result = step.step_from(&q, &model.tensor(&[&u])?, warm.as_ref())?;
        let seconds = begin.elapsed().as_secs_f64();
        let (contacts, report) = (&result.contacts, &result.reports[0]);
        recording.steps.push(StepRecord {
            time: (k + 1) as f64 * recording.params.h,
            u,
            end: observer.configuration(&result.q_next)?,
            phi: numbers(&contacts.phi)?,
            normal: vectors(&contacts.normal)?,
            point: vectors(&contacts.point_b)?,
            force: vectors(&result.force)?,
            status: report.status.name().to_owned(),
            iterations: report.iterations,
            residual: report.residual,
            seconds,
        });
        (q, warm) = (result.q_next, Some(result.warm));
        progress(k + 1);
    }
    Ok(recording)
}

/// Everything of a recording but the steps.
fn cast(source: &Source, step: &Quasidynamic) -> Result<Recording> {
    let (model, parameters) = (step.model(), step.parameters());
    let tree = &model.tree;
    let one = |t: &Tensor| Ok::<f64, candle_core::Error>(numbers(t)?[0]);
    let gravity = vectors(&parameters.gravity)?[0];
    let (mu, mass) = (numbers(&parameters.mu)?, numbers(&parameters.mass)?);
    let sizes = numbers(&parameters.sizes)?;
    let (format, version, generator) = Recording::header();
    let objects = tree.coordinates.iter().filter(|c| is_object(tree, c)).map(|c| {
        let mass = model.inertial.iter().position(|&body| body == c.body).map_or(0.0, |n| mass[n]);
        let level = if c.kind == JointKind::Planar { 0.0 } else { 1.0 };
        let load = [mass * gravity[0], mass * gravity[1], level * mass * gravity[2]];
        ObjectRecord { name: c.name.clone(), body: c.body, mass, load }
    });
    let contacts = model.pairs.pair_of_contact.iter().map(|&p| {
        let pair = &model.pairs.pairs[p];
        PairRecord { a: model.shapes[pair.a].body, b: model.shapes[pair.b].body, mu: mu[p] }
    });
    Ok(Recording {
        format,
        version,
        generator,
        scene: source.name.clone(),
        scene_text: source.text.clone(),
        params: ParamsRecord {
            h: one(&parameters.h)?,
            epsilon: one(&parameters.epsilon)?,
            kappa: one(&parameters.kappa)?,
            gravity,
            contact_distance: model.params.contact_distance,
            fade: model.params.fade,
            joint_limits: model.params.joint_limits,
            max_iterations: model.params.max_iterations,
        },
        q_names: tree.coordinates.iter().flat_map(Coordinate::q_names).collect(),
        u_names: tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.name.clone()).collect(),
        bodies: (0..tree.bodies.len()).map(|body| body_record(tree, body)).collect(),
        shapes: collisions(model, &sizes).chain(visuals(&source.scene, tree)).collect(),
        objects: objects.collect(),
        contacts: contacts.collect(),
        start: Configuration { q: Vec::new(), poses: Vec::new() },
        steps: Vec::new(),
    })
}

/// Is this the coordinate of a rigid object in the world?
fn is_object(tree: &Tree, coordinate: &Coordinate) -> bool {
    let body = &tree.bodies[coordinate.body];
    body.parent == 0
        && body.owner.is_some_and(|owner| !tree.owners[owner].robot && tree.owners[owner].name == body.name)
}

fn body_record(tree: &Tree, body: usize) -> BodyRecord {
    let robot = tree.bodies[body].owner.is_some_and(|owner| tree.owners[owner].robot);
    let role = match (robot, tree.path(body).is_empty()) {
        (true, _) => Role::Robot,
        (false, true) => Role::Fixed,
        (false, false) => Role::Object,
    };
    BodyRecord { name: tree.bodies[body].name.clone(), role }
}

fn collisions<'a>(model: &'a Model, sizes: &'a [f64]) -> impl Iterator<Item = ShapeRecord> + 'a {
    model.shapes.iter().enumerate().map(|(i, shape)| {
        let rotation = Matrix3::from_fn(|row, column| shape.rotation[row][column]);
        ShapeRecord {
            body: shape.body,
            collides: true,
            kind: shape.shape.name().to_owned(),
            sizes: std::array::from_fn(|k| sizes[Shape::SIZES * i + k]),
            position: shape.xyz,
            quaternion: quaternion(&rotation),
            rgba: None,
        }
    })
}

fn visuals<'a>(scene: &'a Scene, tree: &'a Tree) -> impl Iterator<Item = ShapeRecord> + 'a {
    let articulated = scene.objects.iter().filter_map(|object| match &object.body {
        ObjectBody::Articulated { articulation, .. } => Some((object.name.as_str(), articulation)),
        ObjectBody::Rigid { .. } => None,
    });
    let robots = scene.robots.iter().map(|robot| (robot.name.as_str(), &robot.articulation));
    articulated.chain(robots).flat_map(move |(owner, articulation): (&str, &Articulation)| {
        articulation.links.iter().flat_map(move |link| {
            let body = tree.body(&format!("{owner}/{}", link.name)).unwrap_or(0);
            link.visuals.iter().map(move |visual| {
                let Isometry3 { rotation, translation } = visual.pose;
                ShapeRecord {
                    body,
                    collides: false,
                    kind: visual.shape.name().to_owned(),
                    sizes: visual.shape.sizes(),
                    position: translation.vector.into(),
                    quaternion: [rotation.w, rotation.i, rotation.j, rotation.k],
                    rgba: visual.rgba,
                }
            })
        })
    })
}

/// Knows where all bodies are.
struct Observer(Kinematics);

impl Observer {
    fn new(model: &Model) -> Result<Self> {
        let rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let bodies = 0..model.tree.bodies.len();
        let frames: Vec<FrameSpec> = bodies.map(|body| FrameSpec { body, rotation, xyz: [0.0; 3] }).collect();
        Ok(Self(Kinematics::new(&model.tree, &frames, model.dtype, &model.device)?))
    }

    fn configuration(&self, q: &Tensor) -> Result<Configuration> {
        let poses = numbers(&self.0.frames(q, self.0.offsets())?.poses)?;
        let rounded = |x: f64| (x / POSE_STEP).round() * POSE_STEP;
        let pose = |p: &[f64]| {
            let rotation = Matrix3::from_column_slice(&p[3..12]);
            let [w, x, y, z] = quaternion(&rotation);
            [p[0], p[1], p[2], w, x, y, z].map(rounded)
        };
        Ok(Configuration { q: numbers(q)?, poses: poses.chunks_exact(POSE).map(pose).collect() })
    }
}

fn quaternion(rotation: &Matrix3<f64>) -> [f64; 4] {
    let q = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(*rotation));
    [q.w, q.i, q.j, q.k]
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_dtype(DType::F64)?.to_vec1()
}

fn vectors(tensor: &Tensor) -> Result<Vec<[f64; 3]>> {
    Ok(numbers(tensor)?.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect())
}
