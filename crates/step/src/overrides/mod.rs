//! Changes of a model's numbers by name, for one step or one run.

mod json;
mod unique;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use json::{list, number, shown};
pub use unique::parse;

use crate::kinematics::Tree;
use crate::model::Model;
use crate::parameters::Parameters;
use fingertip_scene::{Friction, Params, Rest, Settings, Shape, check};
use fingertip_shapes::{Error, Result, message};

/// Numbers that replace the scene's, addressed by the names that the scene gives them.
///
/// As JSON. All keys are optional, and none may appear twice:
///
/// ```text
/// {"params": {"kappa": 1e4, "h": 0.01, "epsilon": 0.1, "mu": 0.5, "torsion": 0, "friction": "relaxed", "impratio": 10, "gravity": [0, 0, -9.81], "contact_distance": null,
///             "fade": 0, "joint_limits": false, "joint_damping": false, "joint_friction": false, "effort_limits": false, "rolling": true, "max_iterations": 1000,
///             "solver": {"tolerance": 1e-8}},
///  "mu": {"ball/hand": 0.4, "hand/palm/ball": 0.8},     two names joined by "/": things, or bodies "hand/palm"
///  "stiffness": {"hand": 1.0, "hand/slider_z": 50.0},   a robot's joints together, or one joint; N·m/rad or N/m
///  "mass": {"ball": 0.3},                               kg; the inertia grows in proportion
///  "size": {"ball": 0.05, "box": [0.02, 0.02, 0.04]}}   m, as in scene files; the thing or body has one shape
/// ```
///
/// `params.contact_distance` is "inf" for none, and `null` for the default, by weight.
/// `params.mu` and `params.torsion` apply to pairs without a rule in the scene; `mu` applies to all pairs.
/// `params.hover` instead of `params.kappa` sets κ for the masses and the gravity given here: see [`Rest::kappa`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    params: ParamOverrides,
    mu: BTreeMap<String, f64>,
    stiffness: BTreeMap<String, f64>,
    mass: BTreeMap<String, f64>,
    size: BTreeMap<String, Vec<f64>>,
}

/// See [`Params`]; `None` keeps the scene's number.
#[derive(Clone, Debug, Default, PartialEq)]
struct ParamOverrides {
    h: Option<f64>,
    epsilon: Option<f64>,
    kappa: Option<f64>,
    hover: Option<f64>,
    gravity: Option<[f64; 3]>,
    mu: Option<f64>,
    torsion: Option<f64>,
    friction: Option<Friction>,
    impratio: Option<f64>,
    contact_distance: Option<Option<f64>>,
    fade: Option<f64>,
    joint_limits: Option<bool>,
    joint_damping: Option<bool>,
    joint_friction: Option<bool>,
    effort_limits: Option<bool>,
    rolling: Option<bool>,
    max_iterations: Option<usize>,
    solver: Option<Map<String, Value>>,
}

impl Overrides {
    /// The keys of the JSON form.
    pub const KEYS: [&'static str; 5] = ["params", "mu", "stiffness", "mass", "size"];

    /// The scene's parameters of the step with these numbers replaced. [`Parameters`] does not hold all of them: a
    /// change of `mu` or `torsion` of pairs without a rule, `friction`, `impratio`, `contact_distance`, `fade`,
    /// `joint_limits`, `joint_damping`, `joint_friction`, `effort_limits`, `rolling`, `max_iterations` or `solver`
    /// needs a new model.
    ///
    /// # Errors
    /// If a number is out of its range.
    pub fn params(&self, scene: &Params) -> Result<Params> {
        let own = &self.params;
        let params = Params {
            h: own.h.unwrap_or(scene.h),
            epsilon: own.epsilon.unwrap_or(scene.epsilon),
            kappa: own.kappa.unwrap_or(scene.kappa),
            mu: own.mu.unwrap_or(scene.mu),
            torsion: own.torsion.unwrap_or(scene.torsion),
            friction: own.friction.unwrap_or(scene.friction),
            impratio: own.impratio.unwrap_or(scene.impratio),
            contact_distance: own.contact_distance.unwrap_or(scene.contact_distance),
            fade: own.fade.unwrap_or(scene.fade),
            joint_limits: own.joint_limits.unwrap_or(scene.joint_limits),
            joint_damping: own.joint_damping.unwrap_or(scene.joint_damping),
            joint_friction: own.joint_friction.unwrap_or(scene.joint_friction),
            effort_limits: own.effort_limits.unwrap_or(scene.effort_limits),
            rolling: own.rolling.unwrap_or(scene.rolling),
            max_iterations: own.max_iterations.unwrap_or(scene.max_iterations),
            solver: own.solver.as_ref().map_or(Ok(scene.solver), |changes| changed(scene.solver, changes))?,
        };
        params.validate().map_err(|error| error.within("params"))?;
        Ok(params)
    }

    /// The parameters `start` of a model with these numbers replaced.
    ///
    /// # Errors
    /// If a name is unknown (the message gives the nearest known one) or a number is out of its range.
    pub fn parameters(&self, model: &Model, start: &Parameters) -> Result<Parameters> {
        self.params(&model.params)?;
        let mut parameters = start.clone();
        let Parameters { h, epsilon, kappa, gravity, mu, stiffness, mass, inertia, sizes, .. } = &mut parameters;
        let tensor = |values: &[f64]| model.tensor(&[values]).map_err(failed);
        let values = |t: &candle_core::Tensor| -> Result<Vec<f64>> {
            let flat = t.flatten_all().and_then(|t| t.to_dtype(candle_core::DType::F64));
            flat.and_then(|t| t.to_vec1()).map_err(failed)
        };
        for (given, parameter) in [(self.params.h, h), (self.params.epsilon, epsilon), (self.params.kappa, kappa)] {
            if let Some(given) = given {
                *parameter = tensor(&[given])?;
            }
        }
        if let Some(given) = self.params.gravity {
            check::finite_vector("params: gravity", &given.into())?;
            *gravity = tensor(&given)?;
        }
        if !self.mu.is_empty() {
            *mu = tensor(&self.friction(model, values(mu)?)?)?;
        }
        if !self.stiffness.is_empty() {
            *stiffness = tensor(&self.stiffnesses(model, values(stiffness)?)?)?;
        }
        if !self.mass.is_empty() {
            let (masses, inertias) = self.masses(model, values(mass)?, values(inertia)?)?;
            (*mass, *inertia) = (tensor(&masses)?, tensor(&inertias)?);
        }
        if !self.size.is_empty() {
            *sizes = tensor(&self.sizes(model, values(sizes)?)?)?;
        }
        if let Some(hover) = self.params.hover {
            let (things, gravity) = model.rests_with(&parameters).map_err(failed)?;
            let kappa = Rest::kappa(&things, hover, gravity).map_err(|error| error.within("params"))?;
            parameters.kappa = tensor(&[kappa])?;
        }
        Ok(parameters)
    }

    /// These overrides without the numbers that [`Overrides::params`] covers.
    pub fn beside_params(&self) -> Self {
        let ParamOverrides { gravity, hover, .. } = self.params;
        Self { params: ParamOverrides { gravity, hover, ..Default::default() }, ..self.clone() }
    }

    fn friction(&self, model: &Model, mut mu: Vec<f64>) -> Result<Vec<f64>> {
        let tree = &model.tree;
        for (key, &value) in &self.mu {
            let place = format!("mu of \"{key}\"");
            check::not_negative(&place, value)?;
            let (one, other) = two_names(tree, key).map_err(|message| Error::invalid(&place, message))?;
            let mut found = false;
            for (pair, mu) in model.pairs.pairs.iter().zip(&mut mu) {
                let is = |name: &str, shape: usize| tree.is_called(model.shapes[shape].body, name);
                if (is(one, pair.a) && is(other, pair.b)) || (is(one, pair.b) && is(other, pair.a)) {
                    (*mu, found) = (value, true);
                }
            }
            if !found {
                return Err(Error::invalid(place, format!("there is no contact pair of \"{one}\" and \"{other}\"")));
            }
        }
        Ok(mu)
    }

    fn stiffnesses(&self, model: &Model, mut stiffness: Vec<f64>) -> Result<Vec<f64>> {
        let tree = &model.tree;
        let robots = || tree.owners.iter().filter(|owner| owner.robot).map(|owner| owner.name.as_str());
        let commanded = || tree.coordinates.iter().filter_map(|c| Some((c.name.as_str(), c.u?)));
        // In alphabetic order a robot comes before its joints.
        for (name, &value) in &self.stiffness {
            check::positive(&format!("stiffness of \"{name}\""), value)?;
            let is_robot = robots().any(|robot| robot == name);
            let is = |joint: &str| joint == name || (is_robot && joint.split('/').next() == Some(name));
            let places: Vec<usize> = commanded().filter(|(joint, _)| is(joint)).map(|(_, u)| u).collect();
            if places.is_empty() {
                let known = commanded().map(|(joint, _)| joint).chain(robots());
                return Err(Error::invalid("stiffness", check::unknown("commanded joint", name, known)));
            }
            places.into_iter().for_each(|u| stiffness[u] = value);
        }
        Ok(stiffness)
    }

    /// Masses, and inertias in the same proportion.
    fn masses(&self, model: &Model, mut mass: Vec<f64>, mut inertia: Vec<f64>) -> Result<(Vec<f64>, Vec<f64>)> {
        let bodies = || model.inertial.iter().map(|&body| model.tree.bodies[body].name.as_str());
        for (name, &value) in &self.mass {
            check::positive(&format!("mass of \"{name}\""), value)?;
            let Some(n) = bodies().position(|body| body == name) else {
                return Err(Error::invalid("mass", check::unknown("body that is free to move", name, bodies())));
            };
            inertia[6 * n..6 * (n + 1)].iter_mut().for_each(|entry| *entry *= value / mass[n]);
            mass[n] = value;
        }
        Ok((mass, inertia))
    }

    fn sizes(&self, model: &Model, mut sizes: Vec<f64>) -> Result<Vec<f64>> {
        let tree = &model.tree;
        for (name, values) in &self.size {
            let place = format!("size of \"{name}\"");
            let of_name: Vec<usize> =
                (0..model.shapes.len()).filter(|&s| tree.is_called(model.shapes[s].body, name)).collect();
            match of_name[..] {
                [] => {
                    let known = model.shapes.iter().map(|shape| tree.bodies[shape.body].name.as_str());
                    return Err(Error::invalid("size", check::unknown("body with a shape", name, known)));
                }
                [one] => {
                    let shape = resized(&model.shapes[one].shape, values);
                    let shape = shape.and_then(|shape| shape.validate().map(|()| shape));
                    let shape = shape.map_err(|error| error.within(place))?;
                    sizes[Shape::SIZES * one..Shape::SIZES * (one + 1)].copy_from_slice(&shape.sizes());
                }
                _ => {
                    let message = format!("expected the name of a body with one shape, this has {}", of_name.len());
                    return Err(Error::invalid(place, message));
                }
            }
        }
        Ok(sizes)
    }
}

/// Settings with some of them changed.
fn changed(settings: Settings, changes: &Map<String, Value>) -> Result<Settings> {
    let failed = |error: serde_json::Error| Error::invalid("params: solver", error.to_string());
    let mut all = serde_json::to_value(settings).map_err(failed)?;
    all.as_object_mut().into_iter().for_each(|all| all.extend(changes.clone()));
    serde_json::from_value(all).map_err(failed)
}

/// The two sides of `"ball/hand/palm"`, each a thing or a body.
fn two_names<'a>(tree: &Tree, key: &'a str) -> std::result::Result<(&'a str, &'a str), String> {
    let is_name = |name: &str| (0..tree.bodies.len()).any(|body| tree.is_called(body, name));
    let names = || {
        let owners = tree.owners.iter().map(|owner| owner.name.as_str());
        owners.chain(tree.bodies.iter().skip(1).map(|body| body.name.as_str()))
    };
    let splits = || key.match_indices('/').map(|(i, _)| (&key[..i], &key[i + 1..]));
    if let Some(split) = splits().find(|(one, other)| is_name(one) && is_name(other)) {
        return Ok(split);
    }
    // The wrong side of a split whose other side is known; else of the first.
    let wrong = splits().find_map(|(one, other)| match (is_name(one), is_name(other)) {
        (true, false) => Some(other),
        (false, true) => Some(one),
        _ => None,
    });
    match wrong.or_else(|| splits().next().map(|(one, _)| one)) {
        Some(name) => Err(check::unknown("thing or body", name, names())),
        None => Err("expected two names joined by \"/\", as in \"ball/hand\"".to_owned()),
    }
}

/// A shape of the same kind with sizes as scene files spell them.
fn resized(shape: &Shape, values: &[f64]) -> Result<Shape> {
    match (shape, values) {
        (Shape::Sphere { .. }, &[radius]) => Ok(Shape::sphere(radius)),
        (Shape::Capsule { .. }, &[radius, half_length]) => Ok(Shape::capsule(radius, half_length)),
        (Shape::Cylinder { .. }, &[radius, half_length]) => Ok(Shape::cylinder(radius, half_length)),
        (Shape::Ellipsoid { .. }, &[x, y, z]) => Ok(Shape::ellipsoid([x, y, z])),
        (&Shape::Box { rounding, .. }, &[x, y, z]) => Ok(Shape::rounded_cuboid([x, y, z], rounding)),
        (Shape::Box { .. }, &[x, y, z, rounding]) => Ok(Shape::rounded_cuboid([x, y, z], rounding)),
        _ => {
            let expected = match shape {
                Shape::Sphere { .. } => "a radius",
                Shape::Capsule { .. } | Shape::Cylinder { .. } => "[radius, half length]",
                Shape::Box { .. } => "three half extents, and the rounding if it changes",
                Shape::Ellipsoid { .. } => "three radii",
                Shape::Hull(_) => "none, as a hull has no size",
                Shape::Grid(_) => "none, as a grid has no size",
                Shape::HalfSpace => "none, as a halfspace has no size",
            };
            let message = format!("expected {expected} for this {}, got {values:?}", shape.name());
            Err(Error::invalid("shape", message))
        }
    }
}

fn failed(error: candle_core::Error) -> Error {
    Error::invalid("parameters", message(&error))
}
