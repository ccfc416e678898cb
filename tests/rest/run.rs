//! Many steps of a batch of worlds, and what of them came to rest.

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use fingertip::collision::distance;
use fingertip::contact::UNUSED;
use fingertip::description::{Friction, ObjectBody, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, Step};
use fingertip::{Model, Parameters};
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};

use super::drop::inertia;
use super::support::{larger, largest, rows};
use super::{ALTERNATES, LAST, RISE, ROUNDING, SHARE, SLOW, SOFT, STEPS, STILL, THROWN};

/// What a world does at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It moves by no more than rounding.
    Still,
    /// Static friction gives way, no faster than the formula says.
    Creeps,
    /// It goes slowly on, and its energy falls.
    Rolls,
    /// It comes back to where it was.
    Alternates,
    /// It is in the air, or far inside of what should hold it.
    Falls,
    /// Anything else.
    Moves,
}

/// What came of a world. Lengths in m.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub end: End,
    /// Largest motion per step of the last ten, of the origin and by the turn, rad.
    pub motion: f64,
    pub turn: f64,
    /// Of a point on the surface, and the bound of creep.
    pub surface: f64,
    pub creep: f64,
    /// How deep bodies are in each other at the end at most, and what κ and noise explain.
    pub depth: f64,
    pub hover: f64,
    /// The largest rise of energy in one of the last hundred steps, and of work against gravity and springs above the start, J.
    pub rise: f64,
    pub thrown: f64,
    /// m g times the size, J.
    pub unit: f64,
    /// The worst status, and steps with another one than solved.
    pub status: Status,
    pub unsolved: usize,
    /// How far the smallest thing reaches from its origin.
    pub size: f64,
    /// How far things fall in a step that nothing stops.
    pub fall: f64,
    pub iterations: f64,
    /// Where it ends.
    pub q: Vec<f64>,
}

impl Outcome {
    pub fn rests(&self) -> bool {
        matches!(self.end, End::Still | End::Creeps | End::Rolls)
    }

    pub fn is_deep(&self) -> bool {
        self.depth > self.hover + STILL * self.size
    }

    pub fn gains_energy(&self) -> bool {
        !(self.rise <= RISE * self.unit && self.thrown <= THROWN * self.unit)
    }

    /// Does it fall by more than its size in a step?
    pub fn is_violent(&self) -> bool {
        self.fall > 2.0 * self.size
    }

    pub fn is_right(&self) -> bool {
        self.rests() && !self.is_deep() && !self.gains_energy() && self.unsolved == 0
    }
}

/// A movable object's place in q and what of it never changes.
struct Thing {
    q: usize,
    mass: f64,
    com: Vector3<f64>,
    /// Of its surface from its origin.
    reach: f64,
    shape: Shape,
}

/// A world's own numbers.
struct Lone {
    things: Vec<Thing>,
    fixed: Vec<(Shape, Isometry3<f64>)>,
    kappa: f64,
    mu: f64,
    gravity: f64,
    fall: f64,
    stiffness: Vec<f64>,
    u: Vec<f64>,
}

pub fn pose(q: &[f64]) -> Isometry3<f64> {
    let turn = UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
    Isometry3::from_parts(Translation3::new(q[0], q[1], q[2]), turn)
}

/// How far a shape reaches from its origin, m.
fn reach(shape: &Shape) -> f64 {
    match shape {
        Shape::Sphere { radius } => *radius,
        Shape::Capsule { radius, half_length } => radius + half_length,
        Shape::Cylinder { radius, half_length } => radius.hypot(*half_length),
        Shape::Box { half_extents, .. } => Vector3::from(*half_extents).norm(),
        Shape::Ellipsoid { radii } => largest(*radii),
        Shape::Hull(hull) => largest(hull.vertices().iter().map(|&corner| Vector3::from(corner).norm())),
        other => panic!("a {} does not move", other.name()),
    }
}

impl Lone {
    fn new(scene: &Scene, model: &Model) -> Self {
        let (mut things, mut fixed) = (Vec::new(), Vec::new());
        for object in &scene.objects {
            let ObjectBody::Rigid { collisions, .. } = &object.body else { continue };
            let collision = &collisions[0];
            match (model.object(&object.name), inertia(object)) {
                (Ok(coordinate), Some(inertia)) => things.push(Thing {
                    q: coordinate.q,
                    mass: inertia.mass,
                    com: inertia.com,
                    reach: reach(&collision.shape),
                    shape: collision.shape.clone(),
                }),
                _ => fixed.push((collision.shape.clone(), object.pose * collision.pose)),
            }
        }
        Self {
            things,
            fixed,
            kappa: scene.params.kappa,
            mu: scene.params.mu,
            gravity: Vector3::from(scene.gravity).norm(),
            fall: Vector3::from(scene.gravity).norm() * scene.params.h.powi(2) / scene.params.epsilon,
            stiffness: model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.stiffness).collect(),
            u: scene.control(scene.script.last().map_or(0.0, |keyframe| keyframe.time)),
        }
    }

    /// Work against gravity and springs, J.
    fn work(&self, model: &Model, q: &[f64]) -> f64 {
        let lifted =
            self.things.iter().map(|t| t.mass * self.gravity * (pose(&q[t.q..]) * nalgebra::Point3::from(t.com)).z);
        let joints = model.tree.coordinates.iter().filter(|c| c.u.is_some());
        let springs = joints.zip(&self.stiffness).zip(&self.u).map(|((c, k), u)| 0.5 * k * (q[c.q] - u).powi(2));
        lifted.sum::<f64>() + springs.sum::<f64>()
    }

    /// The largest motion of any thing's origin or of a joint, of its turn, and of a point on its surface.
    fn motion(&self, model: &Model, q: &[f64], next: &[f64]) -> [f64; 3] {
        let mut most = [0.0; 3];
        let mut add = |motion: f64, turn: f64, reach: f64| {
            let all = [motion, turn, motion + turn * reach];
            most = std::array::from_fn(|k| larger(most[k], all[k]));
        };
        for thing in &self.things {
            let (a, b) = (pose(&q[thing.q..]), pose(&next[thing.q..]));
            add((b.translation.vector - a.translation.vector).norm(), b.rotation.angle_to(&a.rotation), thing.reach);
        }
        model.tree.coordinates.iter().filter(|c| c.u.is_some()).for_each(|c| add((next[c.q] - q[c.q]).abs(), 0.0, 0.0));
        most
    }

    /// The least distance between any two objects, by the query for two bodies and not by the step's contacts.
    fn gap(&self, q: &[f64]) -> f64 {
        let mut all: Vec<(&Shape, Isometry3<f64>)> = self.fixed.iter().map(|(shape, pose)| (shape, *pose)).collect();
        let mut least = f64::INFINITY;
        for thing in &self.things {
            let own = pose(&q[thing.q..]);
            for (shape, pose) in &all {
                least = match distance(shape, pose, &thing.shape, &own) {
                    Ok(apart) if apart.phi.is_finite() => least.min(apart.phi),
                    _ => f64::NEG_INFINITY,
                };
            }
            all.push((&thing.shape, own));
        }
        least
    }

    /// How far static friction gives way in a step at most, m: `Params::kappa`'s formula for a contact that carries an eighth of
    /// the lightest thing and uses [`SHARE`] of its cone.
    fn creep(&self) -> f64 {
        let lightest = self.things.iter().map(|t| t.mass).fold(f64::INFINITY, f64::min);
        let share = SHARE / (1.0 - SHARE * SHARE);
        2.0 * share / (self.mu * self.kappa * lightest * self.gravity / 8.0)
    }
}

/// The barrier's energy of each world, J.
fn barrier(model: &Model, step: &Step, kappa: &[f64]) -> Vec<f64> {
    let factor = match model.params.friction {
        Friction::Relaxed => 2.0,
        Friction::Coulomb => 1.0,
    };
    let (phi, weight) = (rows(&step.contacts.phi), step.contacts.weight.as_ref().map(rows));
    (0..phi.len())
        .map(|w| {
            let of = |i: usize| match (phi[w][i], weight.as_ref().map_or(1.0, |weight| weight[w][i])) {
                (phi, weight) if phi >= UNUSED || weight == 0.0 => 0.0,
                (phi, weight) => -weight * factor / kappa[w] * phi.max(f64::MIN_POSITIVE).ln(),
            };
            (0..phi[w].len()).map(of).sum()
        })
        .collect()
}

/// Worlds of scene files that differ in numbers only.
pub struct Worlds {
    lone: Vec<Lone>,
    step: Quasidynamic,
    q: Tensor,
    u: Tensor,
}

impl Worlds {
    pub fn new(texts: &[&str], folder: &Path) -> Self {
        let of = |text: &&str| {
            let scene = Scene::from_toml(text, folder).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
            (Lone::new(&scene, &model), model)
        };
        let (lone, models): (Vec<Lone>, Vec<Model>) = texts.iter().map(of).unzip();
        let model = &models[0];
        let all: Vec<&Parameters> = models.iter().map(|model| &model.parameters).collect();
        let parameters = model.parameters.map(|name, _| {
            let at = Parameters::NAMES.iter().position(|n| *n == name).unwrap();
            Tensor::cat(&all.iter().map(|p| p.tensors()[at]).collect::<Vec<_>>(), 0)
        });
        let homes: Vec<Vec<f64>> = models.iter().map(|model| model.tree.home()).collect();
        let u: Vec<&[f64]> = lone.iter().map(|lone| lone.u.as_slice()).collect();
        Self {
            step: Quasidynamic::new(model, &parameters.unwrap()).unwrap(),
            q: model.tensor(&homes.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap(),
            u: model.tensor(&u).unwrap(),
            lone,
        }
    }

    /// [`STEPS`] steps from home under the script's last command.
    pub fn run(&self) -> Vec<Outcome> {
        let (model, n) = (self.step.model(), self.lone.len());
        let kappa: Vec<f64> = self.lone.iter().map(|lone| lone.kappa).collect();
        let work =
            |q: &[Vec<f64>]| -> Vec<f64> { self.lone.iter().zip(q).map(|(lone, q)| lone.work(model, q)).collect() };
        let mut states = vec![rows(&self.q)];
        let mut energies: Vec<Vec<f64>> = Vec::new();
        let mut thrown = vec![0.0; n];
        let (mut status, mut unsolved, mut iterations) = (vec![Status::Solved; n], vec![0; n], vec![0; n]);
        let start = work(&states[0]);
        let (mut q, mut warm) = (self.q.clone(), None);
        for k in 0..=STEPS {
            let step = self.step.step_from(&q, &self.u, warm.as_ref()).unwrap();
            let works = work(&states[k]);
            energies.push(works.iter().zip(barrier(model, &step, &kappa)).map(|(work, own)| work + own).collect());
            for w in 0..n {
                thrown[w] = larger(thrown[w], works[w] - start[w]);
                if step.reports[w].status != Status::Solved {
                    (status[w], unsolved[w]) = (step.reports[w].status, unsolved[w] + 1);
                }
                iterations[w] += step.reports[w].iterations;
            }
            states.push(rows(&step.q_next));
            (q, warm) = (step.q_next, Some(step.warm));
        }
        (0..n)
            .map(|w| {
                let lone = &self.lone[w];
                let path: Vec<&[f64]> = states[STEPS - LAST..=STEPS].iter().map(|q| q[w].as_slice()).collect();
                let energy: Vec<f64> = energies.iter().map(|energy| energy[w]).collect();
                let rise = |steps: usize| {
                    energy[STEPS - steps..].windows(2).map(|pair| pair[1] - pair[0]).fold(f64::NEG_INFINITY, f64::max)
                };
                let motions: Vec<[f64; 3]> = path.windows(2).map(|pair| lone.motion(model, pair[0], pair[1])).collect();
                let [motion, turn, surface] = [0, 1, 2].map(|k| largest(motions.iter().map(|motion| motion[k])));
                let net = lone.motion(model, path[0], path[LAST])[2];
                let length: f64 = motions.iter().map(|motion| motion[2]).sum();
                let size = lone.things.iter().map(|thing| thing.reach).fold(f64::INFINITY, f64::min);
                let gaps = [LAST, LAST - 1].map(|k| lone.gap(path[k]));
                let (mass, creep) = (lone.things.iter().map(|thing| thing.mass).sum::<f64>(), lone.creep());
                let unit = mass * lone.gravity * size;
                let end = if surface <= STILL * size {
                    End::Still
                } else if gaps[0] < -size || (lone.u.is_empty() && gaps[0] > 2.0 * size) {
                    End::Falls
                } else if net < ALTERNATES * length {
                    End::Alternates
                } else if rise(LAST) > ROUNDING * unit || surface > creep.clamp(SLOW * size, SOFT * size) {
                    End::Moves
                } else if surface <= creep {
                    End::Creeps
                } else {
                    End::Rolls
                };
                let barrier = 20.0 * lone.things.len() as f64 / lone.kappa;
                Outcome {
                    end,
                    motion,
                    turn,
                    surface,
                    creep,
                    depth: -gaps[0].min(gaps[1]),
                    hover: 2.0 * lone.things.len() as f64 / (lone.kappa * mass * lone.gravity),
                    rise: rise(100),
                    thrown: thrown[w] - barrier,
                    unit,
                    status: status[w],
                    unsolved: unsolved[w],
                    size,
                    fall: lone.fall,
                    iterations: iterations[w] as f64 / (STEPS + 1) as f64,
                    q: path[LAST].to_vec(),
                }
            })
            .collect()
    }
}
