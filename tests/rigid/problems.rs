//! Random problems, scenes of cubes.

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::description::{Collision, Inertia, Object, PairRule, Scene, Shape};
use fingertip::solve::{Frictionless, Method};
use nalgebra::{DMatrix, DVector, Matrix3, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use support::row;

pub const METHODS: [Method; 4] =
    [Method::PrimalQp, Method::DualQp, Method::Lemke, Method::GaussSeidel { sweeps: 200_000 }];

pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A random problem of `rank` independent contact rows and `extra` that are combinations of them with consistent
/// bounds.
pub fn random(nv: usize, rank: usize, extra: usize, dry: bool, seed: u64) -> Frictionless {
    let mut rng = rng(seed);
    let mut number = || -> f64 { rng.random_range(-1.0..1.0) };
    let root = DMatrix::from_fn(nv, nv, |_, _| number());
    let mass = &root * root.transpose() + DMatrix::identity(nv, nv) * 0.2;
    let own = DMatrix::from_fn(rank, nv, |_, _| number());
    // Positive combinations of rows with bounds below those of the rows they repeat: something stays feasible.
    let mix = DMatrix::from_fn(extra, rank, |_, _| number().abs());
    let repeated = &mix * &own;
    let mut jacobian = DMatrix::zeros(rank + extra, nv);
    jacobian.rows_mut(0, rank).copy_from(&own);
    jacobian.rows_mut(rank, extra).copy_from(&repeated);
    let bounds = DVector::from_fn(rank, |_, _| 0.3 * number());
    let more = &mix * &bounds;
    let all = DVector::from_fn(rank + extra, |i, _| if i < rank { bounds[i] } else { more[i - rank] });
    let v_free = DVector::from_fn(nv, |_, _| number());
    let limits = DVector::from_fn(nv, |i, _| if dry && i % 2 == 0 { 0.3 * number().abs() } else { 0.0 });
    Frictionless::new(mass, v_free, jacobian, all).unwrap().with_dry_friction(limits).unwrap()
}

pub const SIDE: f64 = 0.2;

/// Cubes of these edge lengths, 1 kg, that touch the ground and nothing else, with spheres in their corners.
pub fn cubes(sides: &[f64]) -> Scene {
    let mut scene = Scene::new();
    for (k, &side) in sides.iter().enumerate() {
        let (radius, at) = (side / 50.0, side / 2.0 - side / 50.0);
        let sign = |bit: usize| if bit == 0 { -at } else { at };
        let corners = (0..8).map(|c| Collision::at(Shape::sphere(radius), [sign(c & 1), sign(c & 2), sign(c & 4)]));
        let matrix = Matrix3::identity() * (side * side / 6.0);
        let inertia = Inertia { mass: 1.0, com: Vector3::zeros(), matrix };
        scene = scene.object(Object::compound(format!("cube{k}"), corners.collect(), 1.0).with_inertia(inertia));
    }
    for i in 0..sides.len() {
        for j in 0..i {
            scene = scene.pair(PairRule::exclude(format!("cube{i}"), format!("cube{j}")));
        }
    }
    scene.object(Object::ground("floor", 0.0))
}

pub fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// A configuration whose first free body's quaternion, q[3..7], is brought to unit length.
pub fn unit_quaternions(q: &[f64]) -> Tensor {
    let mut q = q.to_vec();
    let norm = q[3..7].iter().map(|x| x * x).sum::<f64>().sqrt();
    q[3..7].iter_mut().for_each(|x| *x /= norm);
    row(&q)
}
