//! The edges of a body that may cross another body's.

use nalgebra::Vector3;

use super::body::{Body, RIM};
use super::core::Core;
use super::side::{STEEP, Side};
use crate::largest::largest;
use crate::{Hull, HullSide};

/// An edge that may cross another body's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    /// The body's corners that it joins, see [`Body::corner`].
    pub(super) ends: [usize; 2],
    /// The angle by which the surface bends there, in right angles.
    pub(super) bend: f64,
    /// The outward normal, in the body's frame, of that of its faces which looks more along the direction in which the
    /// body is seen. `None` for the border of the shown side, which comes and goes with that side.
    pub(super) face: Option<Vector3<f64>>,
}

impl Edge {
    /// The edges of a body that shows this side along a direction n out of it: of a hull also those of the sides around
    /// the shown one that look along n, since a step may bring them into contact. With `wide` also those of a box's
    /// other sides. Of a hull's many edges those alone whose bend is `wanted`.
    pub(super) fn of(
        body: &Body<'_, f64>,
        side: &Side<'_, f64>,
        n: &Vector3<f64>,
        wide: bool,
        wanted: impl Fn(f64) -> bool,
    ) -> Vec<Self> {
        let border = |ends: [usize; 2], bend: f64| Self { ends, bend, face: None };
        let local = body.seen(n);
        match body.core {
            Core::Point | Core::Ellipsoid(_) | Core::HalfSpace => Vec::new(),
            Core::Segment(_) => vec![border([1, 0], 2.0)],
            Core::Cylinder { .. } if side.is_line() => vec![border([RIM + 1, RIM], 2.0)],
            Core::Cylinder { .. } => (0..RIM).map(|k| border([k, (k + 1) % RIM], 1.0)).collect(),
            Core::Box(_) => Self::of_box(&local, (!wide).then_some(side)),
            Core::Hull(hull) => side.of_hull().map_or_else(Vec::new, |side| Self::of_hull(hull, side, &local, wanted)),
        }
    }

    /// The most by which the surface bends at an edge of a body that shows this side.
    pub(super) fn largest_bend(body: &Body<'_, f64>, side: &Side<'_, f64>) -> f64 {
        match (body.core, side.of_hull()) {
            (Core::Hull(hull), Some(side)) => largest(side.around.iter().flat_map(|&k| &hull.sides()[k].bends)),
            _ => 2.0,
        }
    }

    /// The edges of a box's sides that look along a direction in its frame, or of one side.
    fn of_box(local: &Vector3<f64>, only: Option<&Side<'_, f64>>) -> Vec<Self> {
        let mut edges = Vec::new();
        for axis in 0..3 {
            let across = [(axis + 1) % 3, (axis + 2) % 3];
            for signs in [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]] {
                let ends = [1, 0].map(|end| {
                    (end << axis)
                        + across.iter().zip(signs).map(|(&k, sign)| usize::from(sign > 0.0) << k).sum::<usize>()
                });
                let looks = [0, 1].map(|k| signs[k] * local[across[k]]);
                let most = usize::from(looks[1] > looks[0]);
                let face = Vector3::ith(across[most], signs[most]);
                let is_shown = only.map_or(looks[most] > STEEP[0], |side| ends.iter().all(|&end| side.holds(end)));
                if is_shown {
                    edges.push(Self { ends, bend: 1.0, face: only.is_none().then_some(face) });
                }
            }
        }
        edges
    }

    /// The edges of a hull's side and of those around it that look along a direction in the hull's frame. An edge
    /// between two sides counts with the one that looks more along the direction.
    fn of_hull(hull: &Hull, side: &HullSide, local: &Vector3<f64>, wanted: impl Fn(f64) -> bool) -> Vec<Self> {
        let looks: Vec<f64> = side.around.iter().map(|&k| hull.sides()[k].normal.dot(local)).collect();
        let look = |k: usize| side.around.binary_search(&k).ok().map(|k| looks[k]).filter(|&look| look > STEEP[0]);
        let mut edges = Vec::with_capacity(4 * side.around.len());
        for (&k, &own_look) in side.around.iter().zip(&looks).filter(|&(_, &look)| look > STEEP[0]) {
            let own = &hull.sides()[k];
            let counts_more =
                |&other: &usize| look(other).is_some_and(|look| look > own_look || (look == own_look && other < k));
            let ends = own.corners.iter().zip(own.corners.iter().cycle().skip(1));
            for (((&from, &to), &bend), rivals) in ends.zip(&own.bends).zip(&own.rivals) {
                if wanted(bend) && !rivals.iter().any(counts_more) {
                    edges.push(Self { ends: [from, to], bend, face: Some(own.normal) });
                }
            }
        }
        edges
    }
}
