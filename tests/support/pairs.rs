//! What the tests of shape pairs share: random bodies, one pair at a time as plain numbers, support functions.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::contact::pair::{PairFunction, Shapes};
use fingertip::description::Shape;

pub use crate::random::Random;

pub type V3 = [f64; 3];

pub fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn cross(a: V3, b: V3) -> V3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub fn add(a: V3, s: f64, b: V3) -> V3 {
    [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]]
}

pub fn norm(a: V3) -> f64 {
    dot(a, a).sqrt()
}

pub fn unit(a: V3) -> V3 {
    add([0.0; 3], 1.0 / norm(a), a)
}

/// A shape somewhere: position, then the three columns of its rotation matrix.
#[derive(Clone, Debug)]
pub struct Body {
    pub shape: Shape,
    pub size: [f64; 4],
    pub pose: [f64; 12],
}

impl Body {
    pub fn new(shape: Shape, position: V3, quaternion_xyzw: [f64; 4]) -> Self {
        let columns = columns(quaternion_xyzw);
        let mut pose = [0.0; 12];
        pose[..3].copy_from_slice(&position);
        pose[3..].copy_from_slice(columns.as_flattened());
        Self { size: shape.sizes(), shape, pose }
    }

    /// Upright.
    pub fn at(shape: Shape, position: V3) -> Self {
        Self::new(shape, position, [0.0, 0.0, 0.0, 1.0])
    }

    pub fn position(&self) -> V3 {
        [self.pose[0], self.pose[1], self.pose[2]]
    }

    pub fn axis(&self, k: usize) -> V3 {
        std::array::from_fn(|i| self.pose[3 + 3 * k + i])
    }

    pub fn to_local(&self, point: V3) -> V3 {
        let d = add(point, -1.0, self.position());
        std::array::from_fn(|k| dot(self.axis(k), d))
    }

    /// Moved by the tangent (v, ω), both along world axes.
    pub fn moved(&self, v: V3, omega: V3) -> Self {
        let mut out = self.clone();
        let angle = norm(omega);
        for i in 0..3 {
            out.pose[i] += v[i];
        }
        if angle > 0.0 {
            let k = unit(omega);
            for column in 0..3 {
                let a = self.axis(column);
                let turned = add(
                    add(add([0.0; 3], angle.cos(), a), angle.sin(), cross(k, a)),
                    dot(k, a) * (1.0 - angle.cos()),
                    k,
                );
                out.pose[3 + 3 * column..6 + 3 * column].copy_from_slice(&turned);
            }
        }
        out
    }

    /// max over x in the body of n·x; none for a half-space, which has no such bound.
    pub fn support(&self, n: V3) -> f64 {
        let l: V3 = std::array::from_fn(|k| dot(self.axis(k), n));
        let s = self.size;
        dot(self.position(), n)
            + match self.shape {
                Shape::Sphere { .. } => s[0] * norm(n),
                Shape::Capsule { .. } => s[0] * norm(n) + s[1] * l[2].abs(),
                Shape::Box { .. } => (0..3).map(|i| (s[i] - s[3]) * l[i].abs()).sum::<f64>() + s[3] * norm(n),
                Shape::Cylinder { .. } => s[0] * l[0].hypot(l[1]) + s[1] * l[2].abs(),
                _ => f64::INFINITY,
            }
    }

    /// Signed distance from a point to the body's surface.
    pub fn distance_to(&self, point: V3) -> f64 {
        let [x, y, z] = self.to_local(point);
        let s = self.size;
        let block = |d: &[f64]| {
            let outside = d.iter().map(|d| d.max(0.0).powi(2)).sum::<f64>().sqrt();
            outside + d.iter().copied().fold(f64::NEG_INFINITY, f64::max).min(0.0)
        };
        match self.shape {
            Shape::Sphere { .. } => norm([x, y, z]) - s[0],
            Shape::Capsule { .. } => norm([x, y, z - z.clamp(-s[1], s[1])]) - s[0],
            Shape::Box { .. } => {
                block(&[x.abs() - (s[0] - s[3]), y.abs() - (s[1] - s[3]), z.abs() - (s[2] - s[3])]) - s[3]
            }
            Shape::Cylinder { .. } => block(&[x.hypot(y) - s[0], z.abs() - s[1]]),
            _ => z,
        }
    }
}

fn columns([x, y, z, w]: [f64; 4]) -> [V3; 3] {
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
        [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

/// One contact.
#[derive(Clone, Debug)]
pub struct Contact {
    pub phi: f64,
    pub normal: V3,
    pub point_a: V3,
    pub point_b: V3,
}

impl Contact {
    /// φ, n, p_A, p_B.
    pub fn numbers(&self) -> [f64; 10] {
        let mut out = [self.phi; 10];
        out[1..4].copy_from_slice(&self.normal);
        out[4..7].copy_from_slice(&self.point_a);
        out[7..].copy_from_slice(&self.point_b);
        out
    }
}

pub fn tensors<'a>(bodies: impl Iterator<Item = &'a Body> + Clone, dtype: DType) -> Result<Shapes> {
    let n = bodies.clone().count();
    let pose: Vec<f64> = bodies.clone().flat_map(|b| b.pose).collect();
    let size: Vec<f64> = bodies.flat_map(|b| b.size).collect();
    let tensor = |v: Vec<f64>, k: usize| Tensor::from_vec(v, (n, 1, k), &Device::Cpu)?.to_dtype(dtype);
    Ok(Shapes { pose: tensor(pose, 12)?, size: tensor(size, 4)? })
}

/// The contacts of each pair of bodies, the pairs side by side in a batch.
pub fn contacts(pairs: &[(Body, Body)], dtype: DType) -> Vec<Vec<Contact>> {
    let function = PairFunction::find(&pairs[0].0.shape, &pairs[0].1.shape).expect("a known pair");
    let a = tensors(pairs.iter().map(|p| &p.0), dtype).unwrap();
    let b = tensors(pairs.iter().map(|p| &p.1), dtype).unwrap();
    let w = function.witness(&a, &b).unwrap();
    let m = function.contacts();
    let three = |t: &Tensor| t.to_dtype(DType::F64).unwrap().to_vec3::<f64>().unwrap();
    let (pa, pb, n) = (three(&w.point_a), three(&w.point_b), three(&w.normal));
    let phi = w.phi.to_dtype(DType::F64).unwrap().to_vec2::<f64>().unwrap();
    let v3 = |v: &Vec<f64>| [v[0], v[1], v[2]];
    (0..pairs.len())
        .map(|k| {
            assert_eq!(phi[k].len(), m);
            (0..m)
                .map(|i| Contact {
                    phi: phi[k][i],
                    normal: v3(&n[k][i]),
                    point_a: v3(&pa[k][i]),
                    point_b: v3(&pb[k][i]),
                })
                .collect()
        })
        .collect()
}

/// The contact with the least φ, the first of several that are equal up to rounding.
pub fn nearest(contacts: &[Contact]) -> Contact {
    const ROUNDING: f64 = 1e-14;
    let least = contacts.iter().min_by(|a, b| a.phi.total_cmp(&b.phi)).expect("at least one").phi;
    contacts.iter().find(|c| c.phi <= least + ROUNDING).expect("the least itself").clone()
}

impl Random {
    pub fn direction(&mut self) -> V3 {
        loop {
            let v: V3 = std::array::from_fn(|_| self.between(-1.0, 1.0));
            if norm(v) > 0.1 && norm(v) < 1.0 {
                return unit(v);
            }
        }
    }

    fn length(&mut self) -> f64 {
        self.between(0.05, 0.25)
    }

    /// One of the kinds by name, of 5 to 25 cm.
    pub fn shape(&mut self, kind: &str) -> Shape {
        match kind {
            "sphere" => Shape::Sphere { radius: self.length() },
            "capsule" => Shape::Capsule { radius: self.length() * 0.5, half_length: self.length() },
            "box" => Shape::Box { half_extents: std::array::from_fn(|_| self.length()), rounding: 0.0 },
            "rounded box" => {
                Shape::Box { half_extents: std::array::from_fn(|_| self.length()), rounding: self.between(0.01, 0.04) }
            }
            "cylinder" => Shape::Cylinder { radius: self.length(), half_length: self.length() },
            _ => Shape::HalfSpace,
        }
    }

    /// Two bodies, their origins up to `reach` apart.
    pub fn pair(&mut self, kinds: (&str, &str), reach: f64) -> (Body, Body) {
        let mut body = |kind: &str, reach: f64| {
            let shape = self.shape(kind);
            let distance = self.between(0.0, reach);
            let position = add([0.3, -0.2, 0.1], distance, self.direction());
            let axis = self.direction();
            let half = self.between(0.0, 3.0) / 2.0;
            let (s, c) = half.sin_cos();
            Body::new(shape, position, [s * axis[0], s * axis[1], s * axis[2], c])
        };
        (body(kinds.0, reach), body(kinds.1, 0.02))
    }
}

/// Every pair of kinds that has a function, in its own order.
pub const PAIRS: [(&str, &str); 8] = [
    ("sphere", "sphere"),
    ("sphere", "capsule"),
    ("sphere", "box"),
    ("sphere", "rounded box"),
    ("sphere", "cylinder"),
    ("sphere", "half-space"),
    ("capsule", "half-space"),
    ("rounded box", "half-space"),
];

/// Places where the geometry leaves the direction open, or where features meet.
///
/// Name, A, B and φ there.
pub fn degenerate() -> Vec<(&'static str, Body, Body, Option<f64>)> {
    let sphere = || Shape::Sphere { radius: 0.1 };
    let capsule = |half_length| Shape::Capsule { radius: 0.05, half_length };
    let cube = || Shape::Box { half_extents: [0.2; 3], rounding: 0.0 };
    let rounded = || Shape::Box { half_extents: [0.2; 3], rounding: 0.05 };
    let cylinder = || Shape::Cylinder { radius: 0.1, half_length: 0.2 };
    let at = Body::at;
    let o = [0.0; 3];
    vec![
        ("same centre", at(sphere(), o), at(sphere(), o), Some(-0.2)),
        ("centre on the segment", at(sphere(), [0.0, 0.0, 0.1]), at(capsule(0.2), o), Some(-0.15)),
        ("centre on the end", at(sphere(), [0.0, 0.0, 0.2]), at(capsule(0.2), o), Some(-0.15)),
        ("centre beyond the end on the axis", at(sphere(), [0.0, 0.0, 0.4]), at(capsule(0.2), o), Some(0.05)),
        ("segment of no length", at(sphere(), [0.3, 0.0, 0.0]), at(capsule(0.0), o), Some(0.15)),
        ("centre of the cube", at(sphere(), o), at(cube(), o), Some(-0.3)),
        ("centre of the rounded cube", at(sphere(), o), at(rounded(), o), Some(-0.3)),
        ("on a face", at(sphere(), [0.2, 0.0, 0.0]), at(cube(), o), Some(-0.1)),
        ("on an edge", at(sphere(), [0.2, 0.2, 0.0]), at(cube(), o), Some(-0.1)),
        ("on a corner", at(sphere(), [0.2; 3]), at(cube(), o), Some(-0.1)),
        ("between face and edge", at(sphere(), [0.4, 0.2, 0.0]), at(cube(), o), Some(0.1)),
        ("on the diagonal inside", at(sphere(), [0.1; 3]), at(cube(), o), Some(-0.2)),
        ("centre of the cylinder", at(sphere(), o), at(cylinder(), o), Some(-0.2)),
        ("on the axis near the cap", at(sphere(), [0.0, 0.0, 0.15]), at(cylinder(), o), Some(-0.15)),
        ("on the axis above", at(sphere(), [0.0, 0.0, 0.4]), at(cylinder(), o), Some(0.1)),
        ("on the mantle", at(sphere(), [0.1, 0.0, 0.0]), at(cylinder(), o), Some(-0.1)),
        ("on the rim", at(sphere(), [0.1, 0.0, 0.2]), at(cylinder(), o), Some(-0.1)),
        ("centre in the plane", at(sphere(), o), at(Shape::HalfSpace, o), Some(-0.1)),
        ("standing capsule", at(capsule(0.2), [0.0, 0.0, 0.3]), at(Shape::HalfSpace, o), Some(0.05)),
        ("cube on the plane", at(cube(), [0.0, 0.0, 0.2]), at(Shape::HalfSpace, o), Some(0.0)),
    ]
}

/// Coordinates of a pair: (v, ω) of A, (v, ω) of B, sizes of A, sizes of B.
pub const COORDINATES: usize = 20;

/// The pair a step along a coordinate.
pub fn moved((a, b): &(Body, Body), coordinate: usize, step: f64) -> (Body, Body) {
    let (mut a, mut b) = (a.clone(), b.clone());
    let unit: V3 = std::array::from_fn(|i| if coordinate % 3 == i { step } else { 0.0 });
    match coordinate {
        0..3 => a = a.moved(unit, [0.0; 3]),
        3..6 => a = a.moved([0.0; 3], unit),
        6..9 => b = b.moved(unit, [0.0; 3]),
        9..12 => b = b.moved([0.0; 3], unit),
        12..16 => a.size[coordinate - 12] += step,
        _ => b.size[coordinate - 16] += step,
    }
    (a, b)
}

/// A body along the axes, its places and sizes on a grid.
pub fn aligned(random: &mut Random, kind: &str, step: f64) -> Body {
    let grid = |x: f64| (x / step).round() * step;
    let mut body = Body::at(random.shape(kind), [0.0; 3].map(|_: f64| grid(random.between(-0.3, 0.3))));
    body.size = body.size.map(grid);
    if kind == "rounded box" {
        body.size = body.size.map(|length| length + 0.05);
        body.size[3] = 0.05;
    }
    for _ in 0..2 {
        let axis = body.axis(random.between(0.0, 3.0) as usize % 3);
        for k in 0..3 {
            let column = body.axis(k);
            let turned = cross(axis, column);
            let along = add([0.0; 3], dot(axis, column), axis);
            body.pose[3 + 3 * k..6 + 3 * k].copy_from_slice(&add(turned, 1.0, along));
        }
    }
    body
}
