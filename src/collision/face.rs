//! Flat sides of cores.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4};

use nalgebra::{Isometry3, Vector3};

use super::core::Core;
use super::frame::{matrix, turned, turned_back};
use crate::description::{Hull, HullFace};

/// A flat side: one corner of a body that has none, two ends of a line, or a polygon, counter-clockwise seen from outside.
pub(super) struct Face {
    pub(super) corners: Vec<Vector3<f64>>,
    /// Outward unit normal of a polygon; for fewer corners the direction asked for.
    pub(super) normal: Vector3<f64>,
    /// Are the corners where a round side is farthest now, not points that stay on the body?
    pub(super) rolls: bool,
}

/// Corners of the polygon in the place of a cylinder's round cap.
const RIM: usize = 8;

impl Face {
    /// The side of a core that looks most along a direction, in the world.
    pub(super) fn towards(core: &Core, pose: &Isometry3<f64>, direction: &Vector3<f64>) -> Self {
        let rotation = matrix(&pose.rotation);
        let local = turned_back(&rotation, direction);
        let (corners, normal) = match (Polygon::towards(core, &local), core) {
            (Some(polygon), _) => (polygon.corners(), polygon.normal()),
            (None, Core::Segment(half)) => (vec![Vector3::z() * -*half, Vector3::z() * *half], local),
            (None, Core::Cylinder { radius, half_length }) => (side_line(*radius, *half_length, &local), local),
            (None, _) => (vec![core.support(&local)], local),
        };
        let corners: Vec<Vector3<f64>> =
            corners.into_iter().map(|corner| turned(&rotation, &corner) + pose.translation.vector).collect();
        let rolls = corners.len() < 3 && !matches!(core, Core::Segment(_));
        Self { corners, normal: turned(&rotation, &normal), rolls }
    }

    /// The normal of that side, in the world, if it is a polygon.
    pub(super) fn normal_towards(core: &Core, pose: &Isometry3<f64>, direction: &Vector3<f64>) -> Option<Vector3<f64>> {
        let rotation = matrix(&pose.rotation);
        let polygon = Polygon::towards(core, &turned_back(&rotation, direction))?;
        Some(turned(&rotation, &polygon.normal()))
    }

    pub(super) fn is_polygon(&self) -> bool {
        self.corners.len() > 2
    }
}

/// A side with three or more corners, in the core's frame.
enum Polygon<'a> {
    /// Of a box with these half extents, across an axis, on the side of a sign.
    OfBox(&'a Vector3<f64>, usize, f64),
    /// A cylinder's, at the end of a sign.
    Cap {
        radius: f64,
        half_length: f64,
        sign: f64,
    },
    OfHull(&'a Hull, &'a HullFace),
}

impl<'a> Polygon<'a> {
    /// The one that looks most along a direction; none if a round side, a line or a corner does.
    fn towards(core: &'a Core, direction: &Vector3<f64>) -> Option<Self> {
        match core {
            Core::Box(half) => {
                let k = direction.iamax();
                Some(Self::OfBox(half, k, 1_f64.copysign(direction[k])))
            }
            Core::Cylinder { radius, half_length } if direction.z.abs() >= FRAC_1_SQRT_2 => {
                Some(Self::Cap { radius: *radius, half_length: *half_length, sign: 1_f64.copysign(direction.z) })
            }
            Core::Hull(hull) => {
                let look = |face: &HullFace| Vector3::from(face.normal).dot(direction);
                let face = hull.faces().iter().max_by(|x, y| look(x).total_cmp(&look(y)))?;
                Some(Self::OfHull(hull, face))
            }
            _ => None,
        }
    }

    fn normal(&self) -> Vector3<f64> {
        match *self {
            Self::OfBox(_, k, sign) => Vector3::ith(k, sign),
            Self::Cap { sign, .. } => Vector3::new(0.0, 0.0, sign),
            Self::OfHull(_, face) => face.normal.into(),
        }
    }

    fn corners(&self) -> Vec<Vector3<f64>> {
        match *self {
            Self::OfBox(half, k, sign) => {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                let corner = |(x, y): (f64, f64)| {
                    let mut corner = Vector3::zeros();
                    (corner[i], corner[j], corner[k]) = (x * half[i], sign * y * half[j], sign * half[k]);
                    corner
                };
                [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].map(corner).to_vec()
            }
            Self::Cap { radius, half_length, sign } => {
                let corner = |k: usize| {
                    let (sine, cosine) = (sign * FRAC_PI_4 * k as f64).sin_cos();
                    Vector3::new(cosine * radius, sine * radius, sign * half_length)
                };
                (0..RIM).map(corner).collect()
            }
            Self::OfHull(hull, face) => face.corners.iter().map(|&i| hull.vertices()[i].into()).collect(),
        }
    }
}

/// The line of a cylinder's side that is farthest along a direction.
fn side_line(radius: f64, half_length: f64, direction: &Vector3<f64>) -> Vec<Vector3<f64>> {
    let out = direction.xy().normalize() * radius;
    [-half_length, half_length].map(|z| Vector3::new(out.x, out.y, z)).to_vec()
}
