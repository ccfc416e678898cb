//! Hulls of fewer vertices.

use nalgebra::{Isometry3, Vector3};

use super::hull::Hull;
use super::{Shape, quickhull};
use crate::collision::Collider;
use crate::error::{Error, Result};
use crate::largest::{larger, largest};

/// A hull of some of another one's vertices.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The hull, inside the other one.
    pub hull: Hull,
    /// How far the farthest of the vertices that are left out sticks out of the hull, m.
    pub sticks_out: f64,
}

impl Hull {
    /// The hull of at most so many of its vertices: four far apart, then one after the other the one that is farthest
    /// out. It lies inside.
    ///
    /// # Errors
    /// If fewer than four are asked for, or the hull is so thin that those that it begins with are flat.
    pub fn reduced(&self, most: usize) -> Result<Reduced> {
        if most < 4 {
            return Err(Error::invalid("hull_vertices", format!("expected at least 4, got {most}")));
        }
        let all: Vec<Vector3<f64>> = self.vertices().iter().map(|&vertex| vertex.into()).collect();
        if all.len() <= most {
            return Ok(Reduced { hull: self.clone(), sticks_out: 0.0 });
        }
        let mut chosen = far_apart(&all);
        while chosen.len() < most {
            let points: Vec<Vector3<f64>> = chosen.iter().map(|&i| all[i]).collect();
            let Some(triangles) = quickhull::triangles(&points) else { break };
            let planes: Vec<(Vector3<f64>, f64)> = triangles
                .iter()
                .filter_map(|&[i, j, k]| {
                    let normal = (points[j] - points[i]).cross(&(points[k] - points[i])).try_normalize(0.0)?;
                    Some((normal, normal.dot(&points[i])))
                })
                .collect();
            let outside = |i: usize| planes.iter().map(|(normal, at)| normal.dot(&all[i]) - at).fold(0.0, larger);
            let others = (0..all.len()).filter(|i| !chosen.contains(i)).map(|i| (outside(i), i));
            let Some((height, next)) = others.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))) else { break };
            if height <= 0.0 {
                break;
            }
            chosen.push(next);
        }
        chosen.sort_unstable();
        let hull = Self::new(&chosen.iter().map(|&i| self.vertices()[i]).collect::<Vec<_>>())?;
        let sticks_out = largest_distance(&hull, (0..all.len()).filter(|i| !chosen.contains(i)).map(|i| all[i]));
        Ok(Reduced { hull, sticks_out })
    }
}

/// Four points: the one farthest from the first, that farthest from it, that farthest from their line, and that
/// farthest from their plane.
fn far_apart(all: &[Vector3<f64>]) -> Vec<usize> {
    let farthest = |of: &dyn Fn(&Vector3<f64>) -> f64| {
        (0..all.len()).max_by(|&i, &j| of(&all[i]).total_cmp(&of(&all[j])).then(j.cmp(&i))).unwrap_or(0)
    };
    let a = farthest(&|p| (p - all[0]).norm());
    let b = farthest(&|p| (p - all[a]).norm());
    let along = all[b] - all[a];
    let c = farthest(&|p| (p - all[a]).cross(&along).norm());
    let normal = (all[c] - all[a]).cross(&along);
    let d = farthest(&|p| (p - all[a]).dot(&normal).abs());
    vec![a, b, c, d]
}

/// The largest distance of points from a hull, m; 0 if all are inside.
fn largest_distance(hull: &Hull, points: impl Iterator<Item = Vector3<f64>>) -> f64 {
    let (body, ball) = (Collider::new(&Shape::Hull(hull.clone().into())), Collider::new(&Shape::sphere(0.0)));
    let distance = |point: Vector3<f64>| {
        let at = Isometry3::translation(point.x, point.y, point.z);
        body.distance(&Isometry3::identity(), &ball, &at).map_or(0.0, |distance| distance.phi)
    };
    largest(points.map(distance)).max(0.0)
}
