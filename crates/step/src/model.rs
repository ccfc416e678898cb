//! A scene compiled to immutable tables and tensors.

use std::collections::HashMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};

use crate::contact::{BodyShape, Overlap, PairTable, beyond_reach};
use crate::kinematics::{Coordinate, FrameSpec, Kinematics, Tree};
use crate::parameters::Parameters;
use crate::tensor::numbers;
use fingertip_scene::{Collision, Friction, ObjectBody, Params, Rest, Scene, Taxels, unknown};
use fingertip_shapes::Error;

/// A scene compiled for one number type and one device. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Model(Arc<Compiled>);

/// The data of a [`Model`], which its copies share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// The scene's parameters of the step.
    pub params: Params,
    /// The bodies of all robots and objects, and the joints between them.
    pub tree: Tree,
    /// The shapes that collide, each with its body.
    pub shapes: Vec<BodyShape>,
    /// The pairs that may touch.
    pub pairs: PairTable,
    /// Pads of taxels on the bodies.
    pub taxels: Vec<Taxels>,
    /// Warnings for the scene's author, one line each: links of one robot or object that overlap at home and are left
    /// out, and bodies that start deep inside each other.
    pub warnings: Vec<String>,
    /// Bodies whose mass and inertia matter: those below a joint that is not commanded.
    pub inertial: Vec<usize>,
    /// The masses that gravity can press onto contacts.
    pub rests: Vec<Rest>,
    /// Poses of the shapes' frames, then of the points of connections and of the centres of mass of the inertial bodies
    /// (both with the body's axes); and all screws.
    pub kinematics: Kinematics,
    /// The parameters with the scene's values.
    pub parameters: Parameters,
    /// The tensors' number type, `F64` or `F32`.
    pub dtype: DType,
    /// The device that holds the tensors.
    pub device: Device,
}

impl std::ops::Deref for Model {
    type Target = Compiled;
    fn deref(&self) -> &Compiled {
        &self.0
    }
}

impl Model {
    /// This model with another law of friction.
    pub(crate) fn with_friction(&self, friction: Friction) -> Self {
        if self.params.friction == friction {
            return self.clone();
        }
        let mut compiled = (*self.0).clone();
        compiled.params.friction = friction;
        Self(Arc::new(compiled))
    }

    /// Compiles a scene.
    ///
    /// # Errors
    /// If the scene is not valid (see [`Scene::validate`]), or if `dtype` is neither `F64` nor `F32`.
    pub fn new(scene: &Scene, dtype: DType, device: &Device) -> Result<Self> {
        if !matches!(dtype, DType::F64 | DType::F32) {
            return Err(Error::invalid("model", format!("expected number type f64 or f32, got {dtype:?}")).into());
        }
        let tree = Tree::new(scene)?;
        let shapes = body_shapes(scene, &tree);
        let pairs = PairTable::new(scene, &tree, &shapes)?;
        let inertial = inertial(&tree);
        let frames: Vec<FrameSpec> = shapes
            .iter()
            .map(BodyShape::frame)
            .chain(FrameSpec::of_connections(&tree))
            .chain(inertial.iter().map(|&body| FrameSpec::centre_of_mass(&tree, body)))
            .collect();
        let kinematics = Kinematics::new(&tree, &frames, dtype, device)?;
        let parameters = Parameters::new(scene, &tree, &shapes, &pairs, &inertial, kinematics.offsets())?;
        Ok(Self(Arc::new(Compiled {
            params: scene.params.clone(),
            warnings: pairs.warnings().chain(beyond_reach(&tree, &shapes, &pairs.pairs)).collect(),
            tree,
            shapes,
            pairs,
            inertial,
            taxels: scene.taxels.clone(),
            rests: scene.rests(),
            kinematics,
            parameters,
            dtype,
            device: device.clone(),
        })))
    }

    /// The number of frames before those of the inertial bodies.
    pub(crate) fn n_front_frames(&self) -> usize {
        self.shapes.len() + 2 * self.tree.connections.len()
    }

    /// nq, the length of q.
    pub fn nq(&self) -> usize {
        self.tree.nq
    }

    /// nv, the number of degrees of freedom.
    pub fn nv(&self) -> usize {
        self.tree.nv
    }

    /// nu, the number of commanded joints.
    pub fn nu(&self) -> usize {
        self.tree.nu
    }

    /// nc, the number of contacts.
    pub fn nc(&self) -> usize {
        self.pairs.nc()
    }

    /// Length of λ in [`Linearization`](crate::step::Linearization): three numbers per contact, and one more per
    /// contact with torsional friction.
    pub fn n_lambda(&self) -> usize {
        3 * self.nc() + self.pairs.torsional.len()
    }

    /// A name for each number in q, as [`Coordinate::q_names`].
    pub fn q_names(&self) -> Vec<String> {
        self.tree.coordinates.iter().flat_map(Coordinate::q_names).collect()
    }

    /// A name for each degree of freedom, as [`Coordinate::v_names`].
    pub fn v_names(&self) -> Vec<String> {
        self.tree.coordinates.iter().flat_map(Coordinate::v_names).collect()
    }

    /// The joint of each command.
    pub fn u_names(&self) -> Vec<String> {
        self.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.name.clone()).collect()
    }

    /// Names of the bodies on side A and side B of contact `i`, with `i < nc`: `"hand/thumb4"`, or `"ball"` for a rigid
    /// object.
    pub fn contact_names(&self, i: usize) -> (&str, &str) {
        let pair = &self.pairs.pairs[self.pairs.pair_of_contact[i]];
        let name = |shape: usize| self.tree.bodies[self.shapes[shape].body].name.as_str();
        (name(pair.a), name(pair.b))
    }

    /// The indices of a joint in q, v and u, by the name that `fingertip inspect` prints: `"hand/thumb1"`.
    ///
    /// # Errors
    /// If no joint has that name; the message gives the nearest one.
    pub fn joint(&self, name: &str) -> Result<&Coordinate> {
        self.coordinate("joint", name, |c| c.kind.nq() == 1)
    }

    /// The indices of a movable object, or of a robot's floating base, in q and v: `"ball"`.
    ///
    /// # Errors
    /// If nothing that can move as a whole has that name; the message gives the nearest one.
    pub fn object(&self, name: &str) -> Result<&Coordinate> {
        self.coordinate("movable object", name, |c| c.kind.nq() > 1)
    }

    fn coordinate(&self, kind: &str, name: &str, is_one: fn(&Coordinate) -> bool) -> Result<&Coordinate> {
        let all = || self.tree.coordinates.iter().filter(|c| is_one(c));
        let unknown = || Error::invalid("model", unknown(kind, name, all().map(|c| c.name.as_str()))).into();
        all().find(|c| c.name == name).ok_or_else(unknown)
    }

    /// Indices of the contacts between two things, named in either order as in a scene's rules for pairs (`"ball"`,
    /// `"hand"` or `"hand/palm"`). Empty if there are none.
    pub fn contacts_between(&self, a: &str, b: &str) -> Vec<usize> {
        let body = |shape: usize| self.shapes[shape].body;
        let is = |shape: usize, name: &str| self.tree.is_called(body(shape), name);
        let of_pair = |i: &usize| {
            let pair = &self.pairs.pairs[self.pairs.pair_of_contact[*i]];
            (is(pair.a, a) && is(pair.b, b)) || (is(pair.a, b) && is(pair.b, a))
        };
        (0..self.nc()).filter(of_pair).collect()
    }

    /// [`Compiled::rests`] with the masses and the gravity of the first world in `parameters`.
    ///
    /// # Errors
    /// If the numbers cannot be fetched from the device.
    pub(crate) fn rests_with(&self, parameters: &Parameters) -> Result<(Vec<Rest>, [f64; 3])> {
        let first = |t: &Tensor| numbers(&t.narrow(0, 0, 1)?);
        let (mass, gravity) = (first(&parameters.mass)?, first(&parameters.gravity)?);
        let of = |name: &str| -> f64 {
            let bodies = self.inertial.iter().zip(&mass);
            bodies.filter(|&(&body, _)| self.tree.hangs_on(body, name)).map(|(_, mass)| mass).sum()
        };
        let things = self.rests.iter().map(|thing| Rest { mass: of(&thing.name), ..thing.clone() });
        Ok((things.collect(), std::array::from_fn(|k| gravity[k])))
    }

    /// A warning line for each thing that, with the κ of `parameters`, hovers at rest by more than a tenth of its size.
    ///
    /// # Errors
    /// If the numbers cannot be fetched from the device.
    pub fn hover_warnings(&self, parameters: &Parameters) -> Result<Vec<String>> {
        let (things, gravity) = self.rests_with(parameters)?;
        let kappa = numbers(&parameters.kappa.narrow(0, 0, 1)?)?[0];
        Ok(things.iter().filter_map(|thing| thing.warning(kappa, gravity)).collect())
    }

    /// The bodies that overlap if the contacts have these signed distances (nc numbers, m), the deepest first.
    pub fn overlaps(&self, phi: &[f64]) -> Vec<Overlap> {
        let inside = phi.iter().enumerate().take(self.nc()).filter(|(_, phi)| **phi < 0.0);
        Overlap::gather(inside.map(|(contact, &phi)| {
            let (a, b) = self.contact_names(contact);
            (a, b, -phi)
        }))
    }

    /// The starting configuration, repeated for `worlds` worlds (worlds, nq).
    ///
    /// # Errors
    /// If the tensor cannot be made on the device.
    pub fn home(&self, worlds: usize) -> Result<Tensor> {
        let home = Tensor::from_vec(self.tree.home(), (1, self.nq()), &self.device)?.to_dtype(self.dtype)?;
        home.broadcast_as((worlds, self.nq()))?.contiguous()
    }

    /// A matrix (rows, n) from rows of numbers, with the model's number type and on its device.
    ///
    /// # Errors
    /// If the rows differ in length.
    pub fn tensor(&self, rows: &[&[f64]]) -> Result<Tensor> {
        let n = rows.first().map_or(0, |row| row.len());
        if let Some(row) = rows.iter().find(|row| row.len() != n) {
            candle_core::bail!("expected rows of {n} numbers, got one of {}", row.len());
        }
        Tensor::from_vec(rows.concat(), (rows.len(), n), &self.device)?.to_dtype(self.dtype)
    }
}

impl FrameSpec {
    /// The points of all connections, A before B, with their bodies' axes.
    pub(crate) fn of_connections(tree: &Tree) -> impl Iterator<Item = Self> {
        let points = tree.connections.iter().flat_map(|connection| connection.bodies.iter().zip(connection.points));
        points.map(|(&body, xyz)| Self { xyz, ..Self::of_body(body) })
    }

    fn centre_of_mass(tree: &Tree, body: usize) -> Self {
        let xyz = tree.bodies[body].inertia.as_ref().map_or([0.0; 3], |inertia| inertia.com.into());
        Self { xyz, ..Self::of_body(body) }
    }
}

/// The bodies that have mass and are below a degree of freedom that is not commanded.
fn inertial(tree: &Tree) -> Vec<usize> {
    let mut passive = vec![false; tree.nv];
    tree.passive().into_iter().for_each(|dof| passive[dof] = true);
    let mut hangs = vec![false; tree.bodies.len()];
    for (i, body) in tree.bodies.iter().enumerate().skip(1) {
        let mut screws = body.screw..body.screw + body.kind.nv();
        hangs[i] = hangs[body.parent] || screws.any(|screw| passive[tree.screw_dof[screw]]);
    }
    (0..tree.bodies.len()).filter(|&body| hangs[body] && tree.bodies[body].inertia.is_some()).collect()
}

fn body_shapes(scene: &Scene, tree: &Tree) -> Vec<BodyShape> {
    let bodies: HashMap<&str, usize> =
        tree.bodies.iter().enumerate().rev().map(|(i, body)| (body.name.as_str(), i)).collect();
    let on = |name: &str, link: usize, collisions: &[Collision]| -> Vec<BodyShape> {
        let Some(&body) = bodies.get(name) else { return Vec::new() };
        let shape = |(i, collision): (usize, &Collision)| {
            let rotation = collision.pose.rotation.to_rotation_matrix();
            BodyShape {
                body,
                shape: collision.shape.clone(),
                rotation: std::array::from_fn(|i| std::array::from_fn(|j| rotation[(i, j)])),
                xyz: collision.pose.translation.vector.into(),
                surface: collision.surface,
                partners: collision.partners,
                place: [link, i],
            }
        };
        collisions.iter().enumerate().map(shape).collect()
    };
    let mut shapes = Vec::new();
    let articulated = |name: &str, links: &[fingertip_scene::Link]| -> Vec<BodyShape> {
        let shapes =
            |(i, link): (usize, &fingertip_scene::Link)| on(&format!("{name}/{}", link.name), i, &link.collisions);
        links.iter().enumerate().flat_map(shapes).collect()
    };
    for object in &scene.objects {
        match &object.body {
            ObjectBody::Rigid { collisions, .. } => shapes.extend(on(&object.name, 0, collisions)),
            ObjectBody::Articulated { articulation, .. } => {
                shapes.extend(articulated(&object.name, &articulation.links));
            }
        }
    }
    for robot in &scene.robots {
        shapes.extend(articulated(&robot.name, &robot.articulation.links));
    }
    shapes
}
