//! A body at its pose with dual numbers that may carry derivatives, and the corners that it offers as contact points.

use std::f64::consts::FRAC_PI_4;

use nalgebra::{Matrix3, Vector3};

use super::collider::{Collider, Posed};
use super::core::Core;
use super::frame::{column, matrix, turned_back};
use crate::Hull;
use crate::number::{Dual, Number, along, constant, dot, sub, values};

/// The number of corners of the polygon that stands for a cylinder's round cap.
pub(super) const RIM: usize = 8;

/// A body at its pose, as numbers that may carry derivatives.
pub(super) struct Body<'a, S> {
    pub(super) core: &'a Core,
    /// The sizes of the core, in the order of `Core::sizes`.
    pub(super) sizes: [S; 3],
    /// The radius of the rounding around the core, m.
    pub(super) radius: S,
    /// The axes of the body's frame in the world.
    pub(super) axes: [Vector3<S>; 3],
    /// The origin of the body's frame in the world, m.
    pub(super) origin: Vector3<S>,
}

impl<'a> Body<'a, f64> {
    /// A body without derivatives.
    pub(super) fn fixed(Posed(Collider { core, radius }, pose): Posed<'a>) -> Self {
        let rotation = matrix(&pose.rotation);
        let axes = [0, 1, 2].map(|k| column(&rotation, k));
        Self { core, sizes: core.sizes(), radius: *radius, axes, origin: pose.translation.vector }
    }
}

impl<'a, S: Number> Body<'a, S> {
    /// The body with the values of its numbers alone, without derivatives.
    pub(super) fn still(&self) -> Body<'a, f64> {
        Body {
            core: self.core,
            sizes: self.sizes.map(S::value),
            radius: self.radius.value(),
            axes: self.axes.each_ref().map(values),
            origin: values(&self.origin),
        }
    }
}

impl<'a, const N: usize> Body<'a, Dual<N>> {
    /// A body with derivatives: by its twist if it moves, and by its sizes, whose rates start at index `first`, if the
    /// numbers have room for those.
    pub(super) fn moving(body: Posed<'a>, first: usize, moves: bool) -> Self {
        let Body { core, sizes, radius, axes, origin } = Body::fixed(body);
        let turned = |axis: &Vector3<f64>| {
            let mut all = constant::<Dual<N>>(axis);
            for k in 0..if moves { 3 } else { 0 } {
                let rate = Vector3::ith(k, 1.0).cross(axis);
                (0..3).for_each(|i| all[i].rates[3 + k] = rate[i]);
            }
            all
        };
        let axes = [turned(&axes[0]), turned(&axes[1]), turned(&axes[2])];
        let mut origin = constant::<Dual<N>>(&origin);
        if moves {
            (0..3).for_each(|k| origin[k].rates[k] = 1.0);
        }
        let (mut sizes, mut radius) = (sizes.map(Dual::constant), Dual::constant(radius));
        let seed = |number: &mut Dual<N>, k: usize, rate: f64| {
            if let Some(place) = number.rates.get_mut(first + k) {
                *place = rate;
            }
        };
        match core {
            Core::Point => seed(&mut radius, 0, 1.0),
            Core::Segment(_) => {
                seed(&mut radius, 0, 1.0);
                seed(&mut sizes[0], 1, 1.0);
            }
            Core::Box(_) => {
                seed(&mut radius, 3, 1.0);
                for (k, size) in sizes.iter_mut().enumerate() {
                    seed(size, k, 1.0);
                    seed(size, 3, -1.0);
                }
            }
            Core::Cylinder { .. } | Core::Ellipsoid(_) => {
                sizes.iter_mut().enumerate().for_each(|(k, size)| seed(size, k, 1.0));
            }
            Core::Hull(_) | Core::HalfSpace => {}
        }
        Body { core, sizes, radius, axes, origin }
    }
}

/// A corner of a body, a candidate for a contact point.
pub(super) struct Corner<S> {
    /// The position of the corner in the world, m.
    pub(super) at: Vector3<S>,
    /// The share of directions along which this corner is the farthest point, where half of all directions counts as 1:
    /// a quarter for a box's corner.
    pub(super) share: f64,
    /// A factor that falls from 1 to 0 as the corner is about to vanish.
    pub(super) fade: S,
}

impl<S: Number> Body<'_, S> {
    /// The world position of a point of the body's frame.
    pub(super) fn at(&self, local: [S; 3]) -> Vector3<S> {
        let [x, y, z] = &self.axes;
        along(&along(&along(&self.origin, x, local[0]), y, local[1]), z, local[2])
    }

    /// Turns a vector that is fixed to the body from its frame to the world.
    pub(super) fn turned(&self, local: &Vector3<f64>) -> Vector3<S> {
        let [x, y, z] = [0, 1, 2].map(|i| S::constant(local[i]));
        self.axes[0] * x + self.axes[1] * y + self.axes[2] * z
    }

    /// Turns a direction from the world to the body's frame.
    pub(super) fn seen(&self, direction: &Vector3<f64>) -> Vector3<f64> {
        turned_back(&Matrix3::from_columns(&self.axes.each_ref().map(values)), direction)
    }

    /// The place in the body's frame of a point of the world.
    pub(super) fn seen_at(&self, point: &Vector3<S>) -> Vector3<f64> {
        self.seen(&values(&sub(point, &self.origin)))
    }

    /// The world position of a vertex of a hull.
    pub(super) fn vertex(&self, hull: &Hull, i: usize) -> Vector3<S> {
        self.at(hull.vertices()[i].map(S::constant))
    }

    /// The squared cosine of the angle between the body's z axis and n.
    pub(super) fn upright(&self, n: &Vector3<S>) -> S {
        let cosine = dot(&self.axes[2], n);
        cosine * cosine
    }

    /// The number of corners that may be contact points. A cylinder has those of the cap that faces `n`, and one on
    /// each rim.
    pub(super) fn n_corners(&self) -> usize {
        match self.core {
            Core::Point | Core::Ellipsoid(_) | Core::HalfSpace => 0,
            Core::Segment(_) => 2,
            Core::Box(_) => 8,
            Core::Cylinder { .. } => RIM + 2,
            Core::Hull(hull) => hull.vertices().len(),
        }
    }

    /// Corner `k`, where `n` points to the other body. `None` if its place is not defined.
    ///
    /// The corners of a cylinder's cap count by cos² of the angle between its axis and n. The points of its two rims
    /// that are farthest along n count by sin².
    pub(super) fn corner(&self, k: usize, n: &Vector3<S>) -> Option<Corner<S>> {
        let sized = |share: f64, at| Some(Corner { at, share, fade: S::constant(1.0) });
        let sign = |bit: usize| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
        match self.core {
            Core::Point | Core::Ellipsoid(_) | Core::HalfSpace => None,
            Core::Segment(_) => {
                let zero = S::constant(0.0);
                sized(0.5, self.at([zero, zero, self.sizes[0] * S::constant(sign(0))]))
            }
            Core::Box(_) => sized(0.25, self.at([0, 1, 2].map(|i| self.sizes[i] * S::constant(sign(i))))),
            Core::Cylinder { .. } if k < RIM => {
                let at = self.rim(k, dot(&self.axes[2], n).value());
                Some(Corner { at, share: 1.0 / RIM as f64, fade: self.upright(n) })
            }
            Core::Cylinder { .. } => {
                let [radius, half, _] = self.sizes;
                let axis = &self.axes[2];
                let level = along(n, axis, -dot(axis, n));
                let square = dot(&level, &level);
                if square.value() < LEVEL {
                    return None;
                }
                let middle = along(&self.origin, axis, half * S::constant(sign(0)));
                Some(Corner { at: along(&middle, &level, radius / square.sqrt()), share: 0.5, fade: square })
            }
            Core::Hull(hull) => sized(hull.shares()[k], self.vertex(hull, k)),
        }
    }

    /// A corner of the polygon that stands for the cap at the end with this sign, counter-clockwise as seen from
    /// outside.
    pub(super) fn rim(&self, k: usize, end: f64) -> Vector3<S> {
        let [radius, half, _] = self.sizes;
        let sign = 1_f64.copysign(end);
        let (sine, cosine) = (sign * FRAC_PI_4 * k as f64).sin_cos();
        self.at([radius * S::constant(cosine), radius * S::constant(sine), half * S::constant(sign)])
    }

    /// The length over which contacts of this body fade, m. A corner may be beyond an edge of the other body by that
    /// much.
    pub(super) fn fading(&self) -> Option<S> {
        let least = |lengths: &[S]| lengths.iter().copied().min_by(|x, y| x.value().total_cmp(&y.value()));
        let quarter = S::constant(0.25);
        match self.core {
            Core::Point | Core::Ellipsoid(_) | Core::HalfSpace => None,
            Core::Segment(_) => Some(self.radius * S::constant(0.5)),
            Core::Box(_) => least(&self.sizes).map(|size| size * quarter),
            Core::Cylinder { .. } => least(&self.sizes[..2]).map(|size| size * quarter),
            Core::Hull(hull) => Some(S::constant(hull.half_width() * 0.25)),
        }
    }
}

/// If the sin² of the angle between axis and normal is smaller, rounding decides which point of a rim is farthest.
const LEVEL: f64 = 1e-16;
