//! Flat sides of cores.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4};

use nalgebra::{Isometry3, Vector3};

use super::core::Core;
use super::frame::{matrix, turned, turned_back};

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
        let (corners, normal) = match core {
            Core::Box(half) => of_box(half, &local),
            Core::Cylinder { radius, half_length } => of_cylinder(*radius, *half_length, &local),
            Core::Hull(hull) => {
                let look = |face: &crate::description::HullFace| Vector3::from(face.normal).dot(&local);
                let face = hull.faces().iter().max_by(|x, y| look(x).total_cmp(&look(y)));
                let corner = |&i: &usize| Vector3::from(hull.vertices()[i]);
                face.map_or((vec![core.support(&local)], local), |face| {
                    (face.corners.iter().map(corner).collect(), face.normal.into())
                })
            }
            Core::Segment(half) => (vec![Vector3::z() * -*half, Vector3::z() * *half], local),
            Core::Point | Core::Ellipsoid(_) | Core::HalfSpace => (vec![core.support(&local)], local),
        };
        let corners: Vec<Vector3<f64>> =
            corners.into_iter().map(|corner| turned(&rotation, &corner) + pose.translation.vector).collect();
        let rolls = corners.len() < 3 && !matches!(core, Core::Segment(_));
        Self { corners, normal: turned(&rotation, &normal), rolls }
    }

    pub(super) fn is_polygon(&self) -> bool {
        self.corners.len() > 2
    }
}

fn of_box(half: &Vector3<f64>, direction: &Vector3<f64>) -> (Vec<Vector3<f64>>, Vector3<f64>) {
    let k = direction.iamax();
    let sign = 1_f64.copysign(direction[k]);
    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
    let corner = |(x, y): (f64, f64)| {
        let mut corner = Vector3::zeros();
        (corner[i], corner[j], corner[k]) = (x * half[i], sign * y * half[j], sign * half[k]);
        corner
    };
    ([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].map(corner).to_vec(), Vector3::ith(k, sign))
}

fn of_cylinder(radius: f64, half_length: f64, direction: &Vector3<f64>) -> (Vec<Vector3<f64>>, Vector3<f64>) {
    if direction.z.abs() < FRAC_1_SQRT_2 {
        let out = direction.xy().normalize();
        let end = |z: f64| Vector3::new(out.x * radius, out.y * radius, z);
        return (vec![end(-half_length), end(half_length)], *direction);
    }
    let sign = 1_f64.copysign(direction.z);
    let corner = |k: usize| {
        let (sine, cosine) = (sign * FRAC_PI_4 * k as f64).sin_cos();
        Vector3::new(cosine * radius, sine * radius, sign * half_length)
    };
    ((0..RIM).map(corner).collect(), Vector3::z() * sign)
}
