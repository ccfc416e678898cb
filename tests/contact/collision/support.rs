//! Random bodies, and independent words for what a body is: its support function and the distance to its surface.

use fingertip::collision::Collider;
use fingertip::description::Shape;
use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub type V3 = Vector3<f64>;

pub const KINDS: [&str; 7] = ["sphere", "capsule", "box", "rounded box", "cylinder", "ellipsoid", "hull"];

pub struct Body {
    pub shape: Shape,
    pub collider: Collider,
    pub pose: Isometry3<f64>,
}

pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        self.0.random_range(low..high)
    }

    pub fn index(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    pub fn vector(&mut self, reach: f64) -> V3 {
        V3::from_fn(|_, _| self.within(-reach, reach))
    }

    pub fn direction(&mut self) -> V3 {
        loop {
            let v = self.vector(1.0);
            if (0.1..1.0).contains(&v.norm()) {
                return v.normalize();
            }
        }
    }

    /// A unit vector along an axis.
    pub fn axis(&mut self) -> V3 {
        let k = self.0.random_range(0..6);
        V3::ith(k % 3, if k < 3 { 1.0 } else { -1.0 })
    }

    /// A quarter turn about an axis.
    pub fn quarter(&mut self) -> UnitQuaternion<f64> {
        UnitQuaternion::from_scaled_axis(self.axis() * std::f64::consts::FRAC_PI_2)
    }

    pub fn pose(&mut self, reach: f64) -> Isometry3<f64> {
        let (v, w) = (self.direction(), self.within(-1.0, 1.0));
        let rotation = UnitQuaternion::from_quaternion(Quaternion::new(w, v.x, v.y, v.z));
        Isometry3::from_parts(Translation3::from(self.vector(reach)), rotation)
    }

    pub fn shape(&mut self, kind: &str) -> Shape {
        let mut size = || self.within(0.04, 0.2);
        match kind {
            "sphere" => Shape::sphere(size()),
            "capsule" => Shape::capsule(size(), size()),
            "box" => Shape::cuboid([size(), size(), size()]),
            "rounded box" => Shape::rounded_cuboid([size(), size(), size()], size() / 5.1),
            "cylinder" => Shape::cylinder(size(), size()),
            "ellipsoid" => Shape::ellipsoid([size(), size(), size()]),
            "hull" => {
                let points: Vec<[f64; 3]> = (0..12).map(|_| self.vector(0.17).into()).collect();
                Shape::hull(&points).unwrap()
            }
            _ => Shape::HalfSpace,
        }
    }

    pub fn body(&mut self, kind: &str, reach: f64) -> Body {
        let shape = self.shape(kind);
        Body { collider: Collider::new(&shape), pose: self.pose(reach), shape }
    }
}

impl Body {
    /// max n·x over the body.
    pub fn support(&self, n: &V3) -> f64 {
        let local = self.pose.rotation.inverse() * n;
        let own = match &self.shape {
            Shape::Sphere { radius } => radius * n.norm(),
            Shape::Capsule { radius, half_length } => radius * n.norm() + half_length * local.z.abs(),
            Shape::Box { half_extents, rounding } => {
                local.abs().dot(&V3::from(half_extents.map(|half| half - rounding))) + rounding * n.norm()
            }
            Shape::Cylinder { radius, half_length } => radius * local.xy().norm() + half_length * local.z.abs(),
            Shape::Ellipsoid { radii } => local.component_mul(&V3::from(*radii)).norm(),
            Shape::Hull(hull) => hull.vertices().iter().map(|&v| V3::from(v).dot(&local)).fold(f64::MIN, f64::max),
            _ => f64::INFINITY,
        };
        own + n.dot(&self.pose.translation.vector)
    }

    /// Distance of a point to the surface, negative inside (to first order near the surface of an ellipsoid).
    pub fn surface(&self, p: &V3) -> f64 {
        let p = self.pose.inverse_transform_point(&(*p).into()).coords;
        let of_box = |half: V3| {
            let out = p.abs() - half;
            out.sup(&V3::zeros()).norm() + out.max().min(0.0)
        };
        match &self.shape {
            Shape::Sphere { radius } => p.norm() - radius,
            Shape::Capsule { radius, half_length } => {
                (p - V3::z() * p.z.clamp(-half_length, *half_length)).norm() - radius
            }
            Shape::Box { half_extents, rounding } => {
                of_box(V3::from(half_extents.map(|half| half - rounding))) - rounding
            }
            Shape::Cylinder { radius, half_length } => {
                let out = [p.xy().norm() - radius, p.z.abs() - half_length];
                out[0].max(0.0).hypot(out[1].max(0.0)) + out[0].max(out[1]).min(0.0)
            }
            Shape::Ellipsoid { radii } => {
                let radii = V3::from(*radii);
                let level = p.component_div(&radii).norm();
                let slope = p.component_div(&radii.component_mul(&radii)).norm() / level;
                (level - 1.0) / slope
            }
            Shape::Hull(hull) => {
                hull.faces().iter().map(|face| V3::from(face.normal).dot(&p) - face.offset).fold(f64::MIN, f64::max)
            }
            _ => p.z,
        }
    }
}

/// How far apart the bodies are along n.
pub fn separation(a: &Body, b: &Body, n: &V3) -> f64 {
    -b.support(&-n) - a.support(n)
}

pub fn is_curved(kind: &str) -> bool {
    ["cylinder", "ellipsoid"].contains(&kind)
}
