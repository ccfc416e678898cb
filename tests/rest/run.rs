//! Many steps of a batch of worlds, and what of them came to rest.

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use fingertip::collision::distance;
use fingertip::contact::UNUSED;
use fingertip::description::{Friction, Object, ObjectBody, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, Step};
use fingertip::{Model, Parameters};
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};

use super::drop::inertia;
use super::{ALTERNATES, LAST, LONGER, ROUNDING, SHARE, SLOW, SOFT, STEPS, STILL, THROWN};
use support::{larger, largest, rows};

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
    /// The largest rise of energy in one of the last hundred steps, over what a step may raise it by, and that of work
    /// against gravity and springs above the start, J.
    pub rise: f64,
    pub thrown: f64,
    /// The largest rise of energy in one of the last hundred steps.
    pub plain_rise: f64,
    /// Has the energy fallen in each of the last steps?
    pub falls_on: bool,
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
        !(self.rise <= ROUNDING * self.unit && self.thrown <= THROWN * self.unit)
    }

    /// Is it still going down?
    fn is_on_its_way(&self) -> bool {
        self.end == End::Moves && self.falls_on
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
    /// The height at rest with two contacts' gap, m.
    hover: f64,
    /// The length over which contacts fade, m: a quarter of the least half size of all shapes.
    fading: f64,
    stiffness: Vec<f64>,
    u: Vec<f64>,
}

pub fn pose(q: &[f64]) -> Isometry3<f64> {
    let turn = UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
    Isometry3::from_parts(Translation3::new(q[0], q[1], q[2]), turn)
}

/// A shape's smallest extent, m.
fn width(shape: &Shape) -> f64 {
    let scene = Scene::new().object(Object::rigid("thing", shape.clone(), 1.0));
    scene.rests().first().map_or(f64::INFINITY, |rest| rest.size)
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
        let shapes = things.iter().map(|thing| &thing.shape).chain(fixed.iter().map(|(shape, _)| shape));
        let widths = shapes.filter(|shape| !matches!(shape, Shape::HalfSpace)).map(width);
        let fading = widths.fold(f64::INFINITY, f64::min) / 8.0;
        let weight = things.iter().map(|t| t.mass).sum::<f64>() * Vector3::from(scene.gravity).norm();
        Self {
            fading,
            hover: 2.0 * things.len() as f64 / (scene.params.kappa * weight),
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

    /// How far static friction gives way in a step at most, m: `Params::kappa`'s formula for a contact that carries an
    /// eighth of the lightest thing and uses [`SHARE`] of its cone.
    fn creep(&self) -> f64 {
        let lightest = self.things.iter().map(|t| t.mass).fold(f64::INFINITY, f64::min);
        let share = SHARE / (1.0 - SHARE * SHARE);
        2.0 * share / (self.mu * self.kappa * lightest * self.gravity / 8.0)
    }
}

/// The contacts of a world that count: gap, m, and weight times k/κ, J.
type Touching = Vec<(f64, f64)>;

/// Of each world at the step's start.
fn touching(model: &Model, step: &Step, lone: &[Lone]) -> Vec<Touching> {
    let factor = match model.params.friction {
        Friction::Relaxed => 2.0,
        Friction::Coulomb => 1.0,
    };
    let (phi, weight) = (rows(&step.contacts.phi), step.contacts.weight.as_ref().map(rows));
    let of = |w: usize| {
        let all = phi[w].iter().enumerate().map(|(i, &phi)| (phi, weight.as_ref().map_or(1.0, |weight| weight[w][i])));
        let counts = all.filter(|&(phi, weight)| phi < UNUSED && weight > 0.0);
        counts.map(|(phi, weight)| (phi.max(f64::MIN_POSITIVE), weight * factor / lone[w].kappa)).collect()
    };
    (0..phi.len()).map(of).collect()
}

impl Lone {
    /// The barrier's energy, J, over that of as many contacts with the gap at rest.
    fn barrier(&self, touching: &Touching) -> f64 {
        touching.iter().map(|&(phi, strength)| -strength * (phi / self.hover).ln()).sum()
    }

    /// By how much the energy may rise in a step that turns things by at most this angle and moves their surfaces by at
    /// most this far, J: see "What a step promises" in `docs/contact_points.md`. A point that is gone has at last
    /// 4·10⁻⁴ of a quarter, 200 lengths away.
    fn may_rise(&self, [turn, surface]: [f64; 2], at: [&Touching; 2]) -> f64 {
        let fades = (surface / self.fading).min(1.0);
        let of = |&(phi, strength): &(f64, f64)| {
            strength * ((3.0 * turn * surface / phi).ln_1p() + fades * (phi / self.hover).ln().abs())
        };
        let faint = 1e-4 * (200.0 * self.fading / self.hover).ln().abs();
        let factor = at.into_iter().flatten().map(|&(_, strength)| strength).fold(0.0, f64::max);
        at.into_iter().map(|touching| touching.iter().map(of).sum()).fold(0.0, f64::max) + faint * factor
    }
}

/// What all worlds of a batch did, step by step, and since the start.
#[derive(Default)]
struct Steps {
    /// One more than steps.
    q: Vec<Vec<Vec<f64>>>,
    /// At the steps' starts.
    energy: Vec<Vec<f64>>,
    touching: Vec<Vec<Touching>>,
    thrown: Vec<f64>,
    status: Vec<Status>,
    unsolved: Vec<usize>,
    iterations: Vec<usize>,
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

    /// [`STEPS`] steps from home under the script's last command; [`LONGER`] for what is then still on its way down.
    pub fn run(&self) -> Vec<Outcome> {
        let n = self.lone.len();
        let mut path =
            Steps { q: vec![rows(&self.q)], thrown: vec![0.0; n], status: vec![Status::Solved; n], ..Steps::default() };
        (path.unsolved, path.iterations) = (vec![0; n], vec![0; n]);
        let mut now = (self.q.clone(), None);
        self.go_on(&mut path, &mut now, STEPS);
        let mut outcomes: Vec<Outcome> = (0..n).map(|w| self.outcome(&path, w)).collect();
        if outcomes.iter().any(Outcome::is_on_its_way) {
            self.go_on(&mut path, &mut now, LONGER - STEPS);
            for (w, outcome) in outcomes.iter_mut().enumerate().filter(|(_, outcome)| outcome.is_on_its_way()) {
                *outcome = self.outcome(&path, w);
            }
        }
        outcomes
    }

    /// So many steps more.
    fn go_on(&self, path: &mut Steps, (q, warm): &mut (Tensor, Option<Tensor>), steps: usize) {
        let (model, n) = (self.step.model(), self.lone.len());
        let work = |w: usize, q: &[Vec<f64>]| self.lone[w].work(model, &q[w]);
        for _ in 0..=steps {
            let step = self.step.step_from(q, &self.u, warm.as_ref()).unwrap();
            let touching = touching(model, &step, &self.lone);
            let here = path.q.last().unwrap();
            let works: Vec<f64> = (0..n).map(|w| work(w, here)).collect();
            for w in 0..n {
                path.thrown[w] = larger(path.thrown[w], works[w] - work(w, &path.q[0]));
                // What gets out without friction says so, and is to rest like all others afterwards.
                if !matches!(step.reports[w].status, Status::Solved | Status::Frictionless) {
                    (path.status[w], path.unsolved[w]) = (step.reports[w].status, path.unsolved[w] + 1);
                }
                path.iterations[w] += step.reports[w].iterations;
            }
            path.energy.push((0..n).map(|w| works[w] + self.lone[w].barrier(&touching[w])).collect());
            path.touching.push(touching);
            path.q.push(rows(&step.q_next));
            (*q, *warm) = (step.q_next, Some(step.warm));
        }
    }

    /// What came of a world.
    fn outcome(&self, path: &Steps, w: usize) -> Outcome {
        let (model, lone) = (self.step.model(), &self.lone[w]);
        let steps = path.energy.len() - 1;
        let at = |k: usize| path.q[k][w].as_slice();
        let motion_of = |k: usize| lone.motion(model, at(k), at(k + 1));
        // By how much energy rises in a step over what it may, and by how much at all.
        let rise = |k: usize, freely: bool| {
            let [_, turn, surface] = motion_of(k);
            let may = lone.may_rise([turn, surface], [&path.touching[k][w], &path.touching[k + 1][w]]);
            path.energy[k + 1][w] - path.energy[k][w] - if freely { may } else { 0.0 }
        };
        let most = |last: usize, freely: bool| {
            (steps - last..steps).map(|k| rise(k, freely)).fold(f64::NEG_INFINITY, f64::max)
        };
        let motions: Vec<[f64; 3]> = (steps - LAST..steps).map(motion_of).collect();
        let [motion, turn, surface] = [0, 1, 2].map(|k| largest(motions.iter().map(|motion| motion[k])));
        let net = lone.motion(model, at(steps - LAST), at(steps))[2];
        let length: f64 = motions.iter().map(|motion| motion[2]).sum();
        let size = lone.things.iter().map(|thing| thing.reach).fold(f64::INFINITY, f64::min);
        let gaps = [steps, steps - 1].map(|k| lone.gap(at(k)));
        let (mass, creep) = (lone.things.iter().map(|thing| thing.mass).sum::<f64>(), lone.creep());
        let unit = mass * lone.gravity * size;
        let end = if surface <= STILL * size {
            End::Still
        } else if gaps[0] < -size || (lone.u.is_empty() && gaps[0] > 2.0 * size + 10.0 * lone.hover) {
            End::Falls
        } else if net < ALTERNATES * length {
            End::Alternates
        } else if most(LAST, true) > ROUNDING * unit || surface > creep.clamp(SLOW * size, SOFT * size) {
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
            hover: lone.hover,
            rise: most(100, true),
            plain_rise: most(100, false),
            falls_on: most(LAST, false) < 0.0,
            thrown: path.thrown[w] - barrier,
            unit,
            status: path.status[w],
            unsolved: path.unsolved[w],
            size,
            fall: lone.fall,
            iterations: path.iterations[w] as f64 / (steps + 1) as f64,
            q: at(steps).to_vec(),
        }
    }
}
