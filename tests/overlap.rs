//! Bodies that overlap part.

mod support;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::collision::Collider;
use fingertip::description::{Freedom, Inertia, Object, ObjectBody, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Parameters};
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use support::rows;

const KINDS: [&str; 7] = ["sphere", "capsule", "box", "cylinder", "ellipsoid", "hull", "half-space"];

struct Random(ChaCha8Rng);

impl Random {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }
    fn length(&mut self) -> f64 {
        0.01 * 10f64.powf(self.between(0.0, 1.0))
    }
    fn lengths(&mut self) -> [f64; 3] {
        std::array::from_fn(|_| self.length())
    }
    fn inside(&mut self) -> Vector3<f64> {
        loop {
            let v = Vector3::from_fn(|_, _| self.between(-1.0, 1.0));
            if v.norm() > 0.1 && v.norm() < 1.0 {
                return v;
            }
        }
    }
    fn turn(&mut self) -> UnitQuaternion<f64> {
        loop {
            let q = Quaternion::from_vector(nalgebra::Vector4::from_fn(|_, _| self.between(-1.0, 1.0)));
            if q.norm() > 0.1 && q.norm() < 1.0 {
                return UnitQuaternion::from_quaternion(q);
            }
        }
    }
    fn shape(&mut self, kind: &str) -> Shape {
        match kind {
            "sphere" => Shape::sphere(self.length()),
            "capsule" => Shape::capsule(self.length(), self.length()),
            "box" => {
                let half = self.lengths();
                let least = half.into_iter().fold(f64::INFINITY, f64::min);
                let rounding = if self.between(0.0, 1.0) < 0.5 { 0.0 } else { self.between(0.0, 0.9) * least };
                Shape::rounded_cuboid(half, rounding)
            }
            "cylinder" => Shape::cylinder(self.length(), self.length()),
            "ellipsoid" => Shape::ellipsoid(self.lengths()),
            "hull" => {
                let scale = self.lengths();
                let points: Vec<[f64; 3]> = (0..12)
                    .map(|_| {
                        let v = self.inside().normalize();
                        std::array::from_fn(|k| v[k] * scale[k])
                    })
                    .collect();
                Shape::hull(&points).unwrap()
            }
            _ => Shape::HalfSpace,
        }
    }
}

struct Batch {
    model: Model,
    parameters: Parameters,
    shapes: Vec<[Shape; 2]>,
    q: Vec<Vec<f64>>,
    b: Option<Isometry3<f64>>,
}

fn inertia(object: &Object) -> Option<Inertia> {
    match &object.body {
        ObjectBody::Rigid { inertia, .. } => inertia.clone(),
        ObjectBody::Articulated { .. } => None,
    }
}

fn pose(q: &[f64]) -> Isometry3<f64> {
    let turn = UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
    Isometry3::from_parts(Translation3::new(q[0], q[1], q[2]), turn)
}

fn numbers(pose: &Isometry3<f64>) -> Vec<f64> {
    let (t, r) = (pose.translation.vector, pose.rotation);
    vec![t.x, t.y, t.z, r.w, r.i, r.j, r.k]
}

impl Batch {
    fn new(
        kinds: [&str; 2],
        both: bool,
        freedom: Freedom,
        n: usize,
        random: &mut Random,
        fixed: Option<[Shape; 2]>,
    ) -> Result<Self> {
        let first: [Shape; 2] = fixed.clone().unwrap_or_else(|| kinds.map(|kind| random.shape(kind)));
        let mut shapes = vec![];
        let mut q = vec![];
        let mut sizes = vec![];
        let (mut mass, mut moments, mut mu) = (vec![], vec![], vec![]);
        for _ in 0..n {
            let pair: [Shape; 2] = match &fixed {
                Some(pair) => pair.clone(),
                None => {
                    std::array::from_fn(|k| if kinds[k] == "hull" { first[k].clone() } else { random.shape(kinds[k]) })
                }
            };
            let colliders = [Collider::new(&pair[0]), Collider::new(&pair[1])];
            let reach = |collider: &Collider| {
                let [low, high] = collider.bounds(&Isometry3::identity());
                low.norm().max(high.norm())
            };
            let reach_a = reach(&colliders[0]);
            let reach = if kinds[1] == "half-space" { reach_a } else { reach_a + reach(&colliders[1]) };
            let start = loop {
                let at = Isometry3::from_parts(Translation3::from(random.inside() * reach), random.turn());
                let phi = colliders[0].distance(&at, &colliders[1], &Isometry3::identity()).unwrap().phi;
                if phi < 0.0 {
                    break at;
                }
            };
            let mut row = match freedom {
                Freedom::Free => numbers(&start),
                _ => unreachable!(),
            };
            if both {
                let at_b = Isometry3::from_parts(Translation3::from(random.inside()), random.turn());
                row = [numbers(&(at_b * start)), numbers(&at_b)].concat();
            }
            q.push(row);
            sizes.extend(pair.iter().flat_map(Shape::sizes));
            mu.push(random.between(0.0, 1.5));
            for shape in pair.iter().take(if both { 2 } else { 1 }) {
                let i = inertia(&Object::rigid("a", shape.clone(), 0.1)).unwrap();
                mass.push(i.mass);
                let m = i.matrix;
                moments.extend([m.m11, m.m22, m.m33, m.m12, m.m13, m.m23]);
            }
            shapes.push(pair);
        }
        let a = Object::rigid("a", first[0].clone(), 0.1).with_freedom(freedom);
        let b = if both { Object::rigid("b", first[1].clone(), 0.1) } else { Object::fixed("b", first[1].clone()) };
        let scene = Scene::new().with_gravity([0.0; 3]).object(a).object(b);
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let mut parameters = model.parameters.clone();
        let tensor = |v: Vec<f64>| Tensor::from_vec(v.clone(), (n, v.len() / n), &Device::Cpu);
        parameters.sizes = tensor(sizes)?;
        parameters.mass = tensor(mass)?;
        parameters.inertia = tensor(moments)?;
        parameters.mu = tensor(mu)?;
        Ok(Self { model, parameters, shapes, q, b: (!both).then(Isometry3::identity) })
    }

    fn phi(&self, w: usize, q: &[f64]) -> f64 {
        let [a, b] = &self.shapes[w];
        let at_b = self.b.unwrap_or_else(|| pose(&q[7..]));
        Collider::new(a).distance(&pose(q), &Collider::new(b), &at_b).unwrap().phi
    }
}

fn trial(name: &str, batch: &Batch, steps: usize) -> Result<()> {
    let n = batch.q.len();
    let step = Quasidynamic::new(&batch.model, &batch.parameters)?;
    let q: Vec<&[f64]> = batch.q.iter().map(Vec::as_slice).collect();
    let mut q = batch.model.tensor(&q)?;
    let u = Tensor::zeros((n, batch.model.nu()), DType::F64, &Device::Cpu)?;
    let start: Vec<f64> = (0..n).map(|w| batch.phi(w, &batch.q[w])).collect();
    let mut before = start.clone();
    let mut line = format!("{name:28}");
    let mut worst = 0;
    let clock = std::time::Instant::now();
    let mut told = 0;
    for k in 0..steps {
        let next = step.step(&q, &u)?;
        let bad = next.reports.iter().filter(|r| r.status != Status::Solved).count();
        let after: Vec<f64> = rows(&next.q_next).iter().enumerate().map(|(w, q)| batch.phi(w, q)).collect();
        let less = (0..n).filter(|&w| !(after[w] > before[w]) && before[w] < 0.0).count();
        let apart = after.iter().filter(|phi| **phi >= 0.0).count();
        if std::env::var("TELL").is_ok() {
            for (w, r) in next.reports.iter().enumerate().filter(|(_, r)| r.status != Status::Solved) {
                told += 1;
                if told < 4 {
                    println!(
                        "   {:?} step {k} {r:?} {:?} q {:?} φ {} mu {:?}\n    phi {:?} normal {:?}",
                        name,
                        batch.shapes[w],
                        rows(&q)[w],
                        before[w],
                        rows(&batch.parameters.mu)[w],
                        rows(&next.contacts.phi)[w],
                        rows(&next.contacts.normal)[w]
                    );
                }
            }
        }
        if k < 3 {
            line += &format!(" | bad {bad:4} worse {less:4} apart {apart:4}");
        }
        if apart < n {
            worst = k + 2;
        }
        before = after;
        q = next.q_next;
    }
    println!(
        "{line} | worst {worst:3} deepest {:.4} | {:.2} s",
        before.iter().copied().fold(1.0, f64::min),
        clock.elapsed().as_secs_f64()
    );
    Ok(())
}

#[test]
fn all() -> Result<()> {
    let mut random = Random(ChaCha8Rng::seed_from_u64(1));
    let n = 500;
    let only = std::env::var("ONLY").ok();
    if only.is_none() {
        let plate = [Shape::capsule(0.01, 0.06), Shape::cuboid([0.1, 0.1, 0.01])];
        for both in [false, true] {
            let batch = Batch::new(["capsule", "box"], both, Freedom::Free, 1500, &mut random, Some(plate.clone()))?;
            trial("pill and plate", &batch, 30)?;
        }
    }
    for (i, a) in KINDS.iter().enumerate() {
        for b in &KINDS[i..] {
            if only.as_ref().is_some_and(|only| *only != format!("{a}-{b}")) {
                continue;
            }
            for both in [false, true] {
                if *a == "half-space" || (both && *b == "half-space") {
                    continue;
                }
                let batch = Batch::new([a, b], both, Freedom::Free, n, &mut random, None)?;
                trial(&format!("{a}-{b} {both}"), &batch, 30)?;
            }
        }
    }
    Ok(())
}
