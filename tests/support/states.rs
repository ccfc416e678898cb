//! Random states of the shipped scenes, a batch at a time.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::contact::{UNUSED, Window};
use fingertip::description::{JointKind, Object, Scene, Shape};
use fingertip::step::{Quasidynamic, Step};
use fingertip::{Model, Parameters};
use nalgebra::{DVector, UnitQuaternion, Vector3};

use super::oracle::{Problem, Witness, World};
pub use super::random::Random;
use super::rows;

impl Random {
    /// Log-uniform.
    pub fn scale(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A number from 0 to n − 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.between(0.0, 1.0) * n as f64) as usize % n
    }

    /// One of some.
    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }

    pub fn vector(&mut self, size: f64) -> Vector3<f64> {
        Vector3::from_fn(|_, _| self.between(-size, size))
    }

    /// Any rotation.
    pub fn rotation(&mut self) -> UnitQuaternion<f64> {
        loop {
            let q = nalgebra::Vector4::from_fn(|_, _| self.between(-1.0, 1.0));
            if q.norm() > 0.1 && q.norm() < 1.0 {
                return UnitQuaternion::from_quaternion(nalgebra::Quaternion::from(q));
            }
        }
    }
}

/// How far parameters range.
#[derive(Clone, Debug)]
pub struct Ranges {
    pub kappa: (f64, f64),
    /// Friction coefficients; each pair draws its own, or one of `mu_also`.
    pub mu: (f64, f64),
    pub mu_also: &'static [f64],
    pub stiffness: (f64, f64),
    pub mass: (f64, f64),
}

/// The scenes by name, and how far their objects stray from home, m.
pub const SCENES: [(&str, f64); 4] =
    [("hand_ball", 0.03), ("cube_fingertips", 0.015), ("push", 0.06), ("two_fingers", 0.03)];

/// Deepest penetration, m.
pub const DEEPEST: f64 = 5e-3;

/// A batch of worlds of one model.
pub struct Batch {
    pub model: Model,
    pub q: Tensor,
    pub u: Tensor,
    pub parameters: Parameters,
    /// Smallest φ of each world, m.
    pub nearest: Vec<f64>,
}

/// Where recorded and compiled kernels are compared with lanes.
pub const RANGES: Ranges =
    Ranges { kappa: (1e2, 1e6), mu: (0.05, 1.5), mu_also: &[0.0], stiffness: (1.0, 1e3), mass: (1e-2, 5.0) };

impl Batch {
    /// Worlds near home, three of them not usable.
    pub fn strange(model: &Model, worlds: usize, random: &mut Random) -> Self {
        let mut q: Vec<Vec<f64>> = (0..worlds).map(|_| configuration(model, 0.03, random)).collect();
        let u: Vec<Vec<f64>> = q.iter().map(|q| command(model, q, random)).collect();
        q[worlds - 1][0] = f64::NAN;
        q[worlds - 2][0] = 1e31;
        q[worlds - 3].iter_mut().for_each(|x| *x *= 1e12);
        let parameters = parameters(model, worlds, &RANGES, random);
        Self { model: model.clone(), q: tensor(model, &q), u: tensor(model, &u), parameters, nearest: Vec::new() }
    }

    pub fn with_parameters(&self, parameters: Parameters) -> Self {
        let Self { model, q, u, nearest, .. } = self;
        Self { model: model.clone(), q: q.clone(), u: u.clone(), parameters, nearest: nearest.clone() }
    }
}

/// A planar push with a tilted brick on a fixed box beside it, which have points for each edge of their faces.
pub fn bricks() -> Scene {
    let mut scene = Scene::load("assets/scenes/push.toml").unwrap();
    scene.params.kappa = 1e4;
    scene
        .object(Object::fixed("table", Shape::cuboid([0.1, 0.1, 0.02])).at([2.0, 0.0, 0.0]))
        .object(Object::rigid("brick", Shape::cuboid([0.02, 0.03, 0.04]), 0.1).at([2.03, 0.01, 0.061]))
}

pub fn model(name: &str) -> Model {
    let scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
    Model::new(&scene, DType::F64, &Device::Cpu).unwrap()
}

/// `n` states: a third of them with some pair between 0 and [`DEEPEST`] deep, the others apart by 1e-5 m to 2 cm at the
/// nearest pair, one in twelve touching at exactly 0 or as near as rounding lets it.
pub fn batch(model: &Model, stray: f64, n: usize, ranges: &Ranges, random: &mut Random) -> Batch {
    let (mut all_q, mut all_u, mut nearest) = (Vec::new(), Vec::new(), Vec::new());
    let step = Quasidynamic::new(model, &model.parameters).unwrap();
    while all_q.len() < n {
        let candidates: Vec<Vec<f64>> = (0..n.max(64)).map(|_| configuration(model, stray, random)).collect();
        let commands: Vec<Vec<f64>> = candidates.iter().map(|q| command(model, q, random)).collect();
        let contacts = step.step(&tensor(model, &candidates), &tensor(model, &commands)).unwrap().contacts;
        let (phi, normal) = (rows(&contacts.phi), rows(&contacts.normal));
        let wanted: Vec<f64> = (0..candidates.len())
            .map(|k| match k % 12 {
                0..4 => -random.between(0.0, DEEPEST),
                4 => 0.0,
                _ => random.scale(1e-5, 2e-2),
            })
            .collect();
        // Along the normal of the nearest pair: its object, side B, goes to the wanted distance.
        let mut moved = candidates.clone();
        for (k, q) in moved.iter_mut().enumerate() {
            let near = (0..phi[k].len()).min_by(|&i, &j| phi[k][i].total_cmp(&phi[k][j])).unwrap();
            let shift = wanted[k] - phi[k][near];
            let plain = model.tree.coordinates[0].kind.nq().min(if planar(model) { 2 } else { 3 });
            (0..plain).for_each(|i| q[i] += shift * normal[k][3 * near + i]);
        }
        let contacts = step.step(&tensor(model, &moved), &tensor(model, &commands)).unwrap().contacts;
        for (k, phi) in rows(&contacts.phi).into_iter().enumerate() {
            let least = phi.into_iter().fold(f64::INFINITY, f64::min);
            let fits = if wanted[k] < 0.0 { (-DEEPEST..0.0).contains(&least) } else { least > -1e-12 };
            if fits && all_q.len() < n {
                all_q.push(moved[k].clone());
                all_u.push(commands[k].clone());
                nearest.push(least);
            }
        }
    }
    let parameters = parameters(model, n, ranges, random);
    Batch { model: model.clone(), q: tensor(model, &all_q), u: tensor(model, &all_u), parameters, nearest }
}

pub fn tensor(model: &Model, rows: &[Vec<f64>]) -> Tensor {
    model.tensor(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
}

fn planar(model: &Model) -> bool {
    model.tree.coordinates[0].kind == JointKind::Planar
}

/// A configuration near home: objects turn freely, joints by 0.2 within their limits.
pub fn configuration(model: &Model, stray: f64, random: &mut Random) -> Vec<f64> {
    let mut q = model.tree.home();
    for c in &model.tree.coordinates {
        let values = &mut q[c.q..c.q + c.kind.nq()];
        match c.kind {
            JointKind::Planar => {
                values[..2].iter_mut().for_each(|x| *x += random.between(-stray, stray));
                values[2] += random.between(-1.0, 1.0);
            }
            JointKind::Translation => values.iter_mut().for_each(|x| *x += random.between(-stray, stray)),
            JointKind::Spherical | JointKind::Floating => {
                let at = values.len() - 4;
                values[..at].iter_mut().for_each(|x| *x += random.between(-stray, stray));
                let turn = random.rotation();
                values[at..].copy_from_slice(&[turn.w, turn.i, turn.j, turn.k]);
            }
            _ => {
                values[0] += random.between(-0.2, 0.2);
                if let Some(limits) = c.limits {
                    values[0] = values[0].clamp(limits.lower, limits.upper);
                }
            }
        }
    }
    q
}

pub fn command(model: &Model, q: &[f64], random: &mut Random) -> Vec<f64> {
    let commanded = model.tree.coordinates.iter().filter(|c| c.u.is_some());
    commanded.map(|c| q[c.q] + random.between(-0.2, 0.2)).collect()
}

/// The model's parameters with a row for each of `n` worlds, drawn from `ranges`.
pub fn parameters(model: &Model, n: usize, ranges: &Ranges, random: &mut Random) -> Parameters {
    let mass: Vec<Vec<f64>> =
        (0..n).map(|_| model.inertial.iter().map(|_| random.scale(ranges.mass.0, ranges.mass.1)).collect()).collect();
    let own_mass = rows(&model.parameters.mass).remove(0);
    let change = |name: &'static str, t: &Tensor| -> Result<Tensor> {
        let own = rows(t).remove(0);
        let mut world = |w: usize| -> Vec<f64> {
            match name {
                "kappa" => vec![random.scale(ranges.kappa.0, ranges.kappa.1)],
                "mu" => own
                    .iter()
                    .map(|_| {
                        let special = ranges.mu_also.len() as f64;
                        let pick = random.between(-4.0, special);
                        if pick < 0.0 || special == 0.0 {
                            random.scale(ranges.mu.0, ranges.mu.1)
                        } else {
                            ranges.mu_also[(pick as usize).min(ranges.mu_also.len() - 1)]
                        }
                    })
                    .collect(),
                "torsion" => own.iter().map(|x| x * random.scale(0.2, 5.0)).collect(),
                "stiffness" => own.iter().map(|_| random.scale(ranges.stiffness.0, ranges.stiffness.1)).collect(),
                "mass" => mass[w].clone(),
                // The same shape of body, heavier or lighter.
                "inertia" => own.iter().enumerate().map(|(i, x)| x * mass[w][i / 6] / own_mass[i / 6]).collect(),
                _ => own.clone(),
            }
        };
        Ok(tensor(model, &(0..n).map(&mut world).collect::<Vec<_>>()))
    };
    model.parameters.map(change).unwrap()
}

/// Of a contact that has a weight at all.
const LEAST_WEIGHT: f64 = 1e-6;

/// Weight of a contact's barrier at φ, as its pair's window says.
pub fn window(model: &Model, contact: usize, phi: f64) -> f64 {
    let Window { reach, fade } = model.pairs.pairs[model.pairs.pair_of_contact[contact]].window;
    if phi >= reach.min(UNUSED) {
        return 0.0;
    }
    if fade == 0.0 {
        return 1.0;
    }
    let t = ((reach - phi) / fade).clamp(0.0, 1.0);
    (t.powi(3) * (10.0 - 15.0 * t + 6.0 * t * t)).max(LEAST_WEIGHT)
}

/// Each world's problem, from the oracle.
pub fn problems(batch: &Batch, step: &Step) -> Vec<Problem> {
    let Batch { model, q, u, parameters, .. } = batch;
    let (q, u) = (rows(q), rows(u));
    let names = Parameters::NAMES;
    let values: Vec<Vec<Vec<f64>>> = parameters.tensors().into_iter().map(rows).collect();
    let c = &step.contacts;
    let parts = [&c.normal, &c.point_a, &c.point_b].map(rows);
    let (phi, shares) = (rows(&c.phi), c.weight.as_ref().map(rows));
    (0..q.len())
        .map(|w| {
            let parameter = |name: &str| {
                let k = names.iter().position(|n| *n == name).unwrap();
                values[k][w.min(values[k].len() - 1)].clone()
            };
            let witness = |i: usize| Witness {
                geometry: std::array::from_fn(|k| parts[k / 3][w][3 * i + k % 3]),
                phi: phi[w][i],
                weight: shares.as_ref().map_or(1.0, |shares| shares[w][i]) * window(model, i, phi[w][i]),
            };
            let witnesses: Vec<_> = (0..phi[w].len()).map(witness).collect();
            Problem::new(model, &World { q: &q[w], u: &u[w], parameter: &parameter }, &witnesses)
        })
        .collect()
}

/// Rows of a (B, n) tensor as vectors.
pub fn vectors(tensor: &Tensor) -> Vec<DVector<f64>> {
    rows(tensor).into_iter().map(DVector::from_vec).collect()
}
