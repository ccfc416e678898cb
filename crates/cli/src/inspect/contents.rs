//! The contents of a scene as data for `inspect`, in SI units.

use std::collections::BTreeMap;
use std::rc::Rc;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::contact::{BodyShape, UNUSED};
use fingertip::description::{JointKind, Robot, Shape};
use fingertip::kinematics::{Coordinate, Kinematics, POSE};
use fingertip::show::{self, Recorder, Source};
use fingertip::{Model, Parameters};
use nalgebra::{Matrix3, Rotation3, UnitQuaternion, Vector3};
use serde::{Serialize, Serializer};

use super::notes::left_out;

/// All of it, in the order of the JSON form.
#[derive(Serialize)]
pub struct Contents {
    pub scene: String,
    /// Numbers in q, degrees of freedom, commands, contacts.
    pub nq: usize,
    pub nv: usize,
    pub nu: usize,
    pub nc: usize,
    pub params: Params,
    pub coordinates: Vec<Motion>,
    pub pairs: Vec<Pair>,
    /// Poses at home.
    pub bodies: Vec<Body>,
    pub masses: Vec<Mass>,
    /// Named points, where they are at home.
    pub sites: Vec<Site>,
    /// Springs that close loops.
    pub connections: Vec<Connection>,
    /// The map from controls of MJCF actuators to commands.
    pub actuators: Vec<Actuator>,
    pub left_out: Vec<String>,
    pub warnings: Vec<String>,
    /// Changes that may be worth while, where [`hints`](super::hints) have been asked for.
    pub hints: Vec<String>,
}

#[derive(Serialize)]
pub struct Params {
    pub h: f64,
    pub epsilon: f64,
    pub kappa: f64,
    /// The law of friction.
    pub friction: &'static str,
    /// How much stiffer friction is than normal forces.
    pub impratio: f64,
    pub gravity: Vec<f64>,
    pub contact_distance: Option<f64>,
    pub fade: f64,
    pub joint_limits: bool,
    pub rolling: bool,
}

/// A joint with coordinates of its own.
#[derive(Serialize)]
pub struct Motion {
    pub name: String,
    pub motion: &'static str,
    pub unit: String,
    /// First place in q and in v, and how many there are.
    pub q: usize,
    pub nq: usize,
    pub v: usize,
    pub nv: usize,
    pub u: Option<usize>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub home: Vec<f64>,
    pub stiffness: Option<f64>,
    pub stiffness_unit: &'static str,
    /// The other joints that its command pulls, and their ratios.
    pub tendon: BTreeMap<String, f64>,
    /// The joint's own spring, damping, armature and dry friction.
    pub spring: f64,
    pub spring_rest: f64,
    pub damping: f64,
    pub armature: f64,
    pub friction: f64,
    /// Do damping and armature act in the quasi-dynamic step? Does dry friction?
    pub resisted: bool,
    pub rubs: bool,
    /// Friction and radius, m, of the table that it lies on.
    pub table: Option<Table>,
}

/// A table under a planar body.
#[derive(Serialize)]
pub struct Table {
    pub friction: f64,
    pub radius: f64,
}

/// A spring that holds points of two bodies together.
#[derive(Serialize)]
pub struct Connection {
    pub a: String,
    pub b: String,
    pub stiffness: f64,
    /// Distance of the two points at home, m.
    pub apart: f64,
}

#[derive(Serialize)]
pub struct Pair {
    /// First contact, and how many there are.
    pub contact: usize,
    pub contacts: usize,
    #[serde(serialize_with = "shared")]
    pub a: Rc<Side>,
    #[serde(serialize_with = "shared")]
    pub b: Rc<Side>,
    pub mu: f64,
    /// Torsional friction, m.
    pub torsion: f64,
    /// The least signed distance at home; negative for an overlap. [`UNUSED`] if the pair is out of reach: no contact
    /// has weight.
    pub gap: f64,
}

/// One side of the pairs of a shape.
#[derive(Serialize)]
pub struct Side {
    pub body: String,
    pub shape: &'static str,
    pub sizes: Vec<f64>,
}

#[derive(Serialize)]
pub struct Body {
    pub name: String,
    pub position: [f64; 3],
    /// w, x, y, z.
    pub quaternion: [f64; 4],
}

#[derive(Serialize)]
pub struct Site {
    pub name: String,
    pub body: String,
    pub position: [f64; 3],
    /// w, x, y, z.
    pub quaternion: [f64; 4],
}

#[derive(Serialize)]
pub struct Mass {
    pub body: String,
    pub mass: f64,
    /// Centre of mass in the body's frame, m.
    pub com: [f64; 3],
    /// About it, along the body's axes: xx yy zz xy xz yz.
    pub inertia: Vec<f64>,
}

/// u of the joint is gain · control + offset, summed over its actuators.
#[derive(Serialize)]
pub struct Actuator {
    pub name: String,
    pub joint: String,
    pub gain: f64,
    pub offset: f64,
    /// The lower bound of the command, in its unit; none if it has none.
    pub lower: Option<f64>,
    pub upper: Option<f64>,
}

impl Contents {
    pub fn of(source: &Source, model: &Model, parameters: &Parameters) -> Result<Self> {
        let stiffness = numbers(&parameters.stiffness)?;
        let row = |t: &Tensor| Ok::<f64, candle_core::Error>(numbers(t)?[0]);
        let start = Recorder::of_model(source, model, parameters)?.recording;
        let left_out = left_out(&source.scene, model).into_iter().chain(start.left_out).collect();
        Ok(Self {
            scene: source.name.clone(),
            nq: model.nq(),
            nv: model.nv(),
            nu: model.nu(),
            nc: model.nc(),
            params: Params {
                h: row(&parameters.h)?,
                epsilon: row(&parameters.epsilon)?,
                kappa: row(&parameters.kappa)?,
                gravity: numbers(&parameters.gravity)?,
                friction: model.params.friction.name(),
                impratio: model.params.impratio,
                contact_distance: model.params.contact_distance,
                fade: model.params.fade,
                joint_limits: model.params.joint_limits,
                rolling: model.params.rolling,
            },
            coordinates: model.tree.coordinates.iter().map(|c| Motion::of(model, c, &stiffness)).collect(),
            pairs: pairs(model, parameters)?,
            bodies: bodies(start.bodies, start.start),
            masses: masses(model, parameters)?,
            sites: sites(model)?,
            connections: connections(model, parameters)?,
            actuators: source.scene.robots.iter().flat_map(actuators).collect(),
            left_out,
            warnings: source.scene.all_warnings().into_iter().chain(model.warnings.iter().cloned()).collect(),
            hints: Vec::new(),
        })
    }
}

impl Motion {
    fn of(model: &Model, coordinate: &Coordinate, stiffness: &[f64]) -> Self {
        let (tree, kind) = (&model.tree, coordinate.kind);
        let others = coordinate.others.iter().map(|&(other, ratio)| (tree.coordinates[other].name.clone(), ratio));
        Self {
            name: coordinate.name.clone(),
            motion: kind.motion(),
            unit: units(kind),
            q: coordinate.q,
            nq: kind.nq(),
            v: coordinate.v,
            nv: kind.nv(),
            u: coordinate.u,
            lower: coordinate.limits.map(|limits| limits.lower),
            upper: coordinate.limits.map(|limits| limits.upper),
            home: coordinate.home.clone(),
            stiffness: coordinate.u.map(|u| stiffness[u]),
            stiffness_unit: kind.stiffness_unit(),
            tendon: others.collect(),
            spring: coordinate.spring.stiffness,
            spring_rest: coordinate.spring.rest,
            damping: coordinate.damping,
            armature: coordinate.armature,
            friction: coordinate.friction,
            resisted: tree.is_resisted(coordinate, model.params.joint_damping),
            rubs: tree.is_resisted(coordinate, model.params.joint_friction),
            table: coordinate.table.map(|(friction, radius)| Table { friction, radius }),
        }
    }
}

/// The units of a joint's coordinates, each once.
fn units(kind: JointKind) -> String {
    let mut units: Vec<&str> = kind.coordinates().iter().map(|(_, unit)| *unit).collect();
    units.dedup();
    if units.is_empty() { "–".to_owned() } else { units.join(", ") }
}

fn shared<S: Serializer>(side: &Rc<Side>, to: S) -> std::result::Result<S::Ok, S::Error> {
    side.serialize(to)
}

fn pairs(model: &Model, parameters: &Parameters) -> Result<Vec<Pair>> {
    let (mu, n_shapes) = (numbers(&parameters.mu)?, model.shapes.len());
    if n_shapes == 0 {
        return Ok(Vec::new());
    }
    let sizes = parameters.sizes.reshape((1, n_shapes, Shape::SIZES))?;
    let frames = model.kinematics.frames(&model.home(1)?, &parameters.offsets)?;
    let poses = frames.poses.narrow(1, 0, n_shapes)?.contiguous()?;
    let phi = numbers(&model.pairs.detect(&poses, &sizes)?.phi)?;
    let sizes = numbers(&sizes)?;
    let side = |(shape, sizes): (&BodyShape, &[f64])| {
        let sizes = sizes.iter().copied().filter(|&x| x != 0.0).collect();
        Rc::new(Side { body: model.tree.bodies[shape.body].name.clone(), shape: shape.shape.name(), sizes })
    };
    let sides: Vec<Rc<Side>> = model.shapes.iter().zip(sizes.chunks_exact(Shape::SIZES)).map(side).collect();
    let mut contact = 0;
    let pair = |(pair, mu): (&fingertip::contact::Pair, f64)| {
        let first = contact;
        contact += pair.contacts;
        let gap = phi[first..contact].iter().copied().fold(UNUSED, f64::min);
        Pair {
            contact: first,
            contacts: pair.contacts,
            a: sides[pair.a].clone(),
            b: sides[pair.b].clone(),
            mu,
            torsion: pair.torsion,
            gap: if gap < pair.window.reach { gap } else { UNUSED },
        }
    };
    Ok(model.pairs.pairs.iter().zip(mu).map(pair).collect())
}

/// Every body but the world, where it is at home.
fn bodies(bodies: Vec<show::BodyRecord>, home: show::Configuration) -> Vec<Body> {
    let body = |(body, [x, y, z, rotation @ ..]): (show::BodyRecord, [f64; 7])| Body {
        name: body.name,
        position: [x, y, z],
        quaternion: rotation,
    };
    bodies.into_iter().zip(home.poses).skip(1).map(body).collect()
}

fn sites(model: &Model) -> Result<Vec<Site>> {
    let tree = &model.tree;
    let names: Vec<&str> = tree.sites.iter().map(|site| site.name.as_str()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let kinematics = Kinematics::of_sites(tree, &names, DType::F64, &Device::Cpu)?;
    let home = Tensor::from_vec(tree.home(), (1, tree.nq), &Device::Cpu)?;
    let poses = numbers(&kinematics.at(&home)?.poses)?;
    let site = |(site, pose): (&fingertip::kinematics::Site, &[f64])| {
        let axes = Rotation3::from_matrix_unchecked(Matrix3::from_column_slice(&pose[3..]));
        let q = UnitQuaternion::from_rotation_matrix(&axes);
        Site {
            name: site.name.clone(),
            body: tree.bodies[site.body].name.clone(),
            position: [pose[0], pose[1], pose[2]],
            quaternion: [q.w, q.i, q.j, q.k],
        }
    };
    Ok(tree.sites.iter().zip(poses.chunks_exact(POSE)).map(site).collect())
}

fn connections(model: &Model, parameters: &Parameters) -> Result<Vec<Connection>> {
    let tree = &model.tree;
    let poses = numbers(&model.kinematics.frames(&model.home(1)?, &parameters.offsets)?.poses)?;
    let stiffness = numbers(&parameters.connection)?;
    let of = |(k, connection): (usize, &fingertip::kinematics::Connection)| {
        let point = |side: usize| Vector3::from_column_slice(&poses[POSE * (model.shapes.len() + 2 * k + side)..][..3]);
        let [a, b] = connection.bodies.map(|body| tree.bodies[body].name.clone());
        Connection { a, b, stiffness: stiffness[k], apart: (point(1) - point(0)).norm() }
    };
    Ok(tree.connections.iter().enumerate().map(of).collect())
}

fn actuators(robot: &Robot) -> impl Iterator<Item = Actuator> {
    robot.actuators.iter().map(|map| Actuator {
        name: map.name.clone(),
        joint: format!("{}/{}", robot.name, map.joint),
        gain: map.gain,
        offset: map.offset,
        lower: map.range.map(|[lower, _]| lower),
        upper: map.range.map(|[_, upper]| upper),
    })
}

fn masses(model: &Model, parameters: &Parameters) -> Result<Vec<Mass>> {
    if model.inertial.is_empty() {
        return Ok(Vec::new());
    }
    let (mass, inertia) = (numbers(&parameters.mass)?, numbers(&parameters.inertia)?);
    let of = |(n, &body): (usize, &usize)| Mass {
        body: model.tree.bodies[body].name.clone(),
        mass: mass[n],
        com: model.tree.bodies[body].inertia.as_ref().map_or([0.0; 3], |inertia| inertia.com.into()),
        inertia: inertia[6 * n..6 * (n + 1)].to_vec(),
    };
    Ok(model.inertial.iter().enumerate().map(of).collect())
}

fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.flatten_all()?.to_vec1()
}
