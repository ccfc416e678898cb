//! The flat part of a body that faces most along a direction.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4};

use nalgebra::{Matrix3, Vector3};

use super::collider::{Collider, Posed};
use super::core::{Core, farthest};
use super::frame::{column, matrix, turned, turned_back};
use super::number::{Dual, Number, along, constant, dot, unit, values};
use super::skirt::{FALL, Line, Skirt, skirts};
use crate::description::{Hull, HullFace};

/// The most corners of a patch. A round cap, or a face with more corners, is replaced by a polygon with this many.
pub(super) const CORNERS: usize = 8;
/// tan 5°.
pub(crate) const TILT: f64 = 0.087_488_663_525_924;
/// Patches with a smaller cosine between their normal and the direction are not used.
const STEEP: f64 = 0.1;
/// Sides with a smaller cosine count as upright.
pub(crate) const UPRIGHT: f64 = 1e-5;

/// A body at its pose, in numbers that may carry rates.
pub(super) struct Body<'a, S> {
    pub(super) core: &'a Core,
    /// As the core orders its own.
    pub(super) sizes: [S; 3],
    pub(super) radius: S,
    pub(super) axes: [Vector3<S>; 3],
    pub(super) origin: Vector3<S>,
}

impl<'a> Body<'a, f64> {
    pub(super) fn fixed(Posed(Collider { core, radius }, pose): Posed<'a>) -> Self {
        let rotation = matrix(&pose.rotation);
        let axes = [0, 1, 2].map(|k| column(&rotation, k));
        Self { core, sizes: core.sizes(), radius: *radius, axes, origin: pose.translation.vector }
    }
}

impl<'a, S: Number> Body<'a, S> {
    /// Without the rates.
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
    /// With rates by the twist if the body moves, and by the sizes, from place `first` on, if the numbers have them.
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

/// A flat part of a body.
#[derive(Clone, Copy)]
pub(super) enum Flat<'a> {
    /// All of a half-space's surface.
    Plane,
    /// A capsule's, or a cylinder's where it is farthest out.
    Line,
    /// The one at the cylinder's end of this sign.
    Cap(f64),
    /// On an axis, at the end of this sign.
    OfBox(usize, f64),
    OfHull(&'a Hull, &'a HullFace),
    /// What a line finds beside a hull's edge.
    Skirt(Skirt<'a>),
}

/// The representation of a flat part, without its corners: a polygon (counter-clockwise seen from outside), a line of
/// two corners, or a whole plane, which has none.
pub(super) struct Patch<S> {
    /// A point of the patch's plane that is farthest out.
    pub(super) anchor: Vector3<S>,
    /// Outward normal of any length.
    pub(super) normal: Vector3<S>,
    /// Its size, m, if it is less than the flat part whose place it takes.
    pub(super) inscribed: Option<S>,
    /// What it stands for, if that is round.
    pub(super) disc: Option<Disc<S>>,
}

/// A round cap: its middle, and two vectors to the rim that are square to each other.
pub(super) struct Disc<S> {
    pub(super) middle: Vector3<S>,
    pub(super) radii: [Vector3<S>; 2],
}

/// The region around a body's contact point in which a tilt can make a point the deepest.
pub(super) struct Cone {
    /// The contact point, on the core.
    tip: Vector3<f64>,
    /// Out of the body.
    out: Vector3<f64>,
    slope: f64,
    /// Slopes of up to this much are as good as none.
    tilt: f64,
    /// Points no farther from the axis are the contact point.
    touching: f64,
}

/// A corner this near to the contact point, in parts of the body's size, is that.
const TOUCHING: f64 = 1e-9;

/// Sides are looked for in a cone that is steeper by this part, so that rounding leaves out none that count.
pub(super) const WIDER: f64 = 1.01;

impl Cone {
    /// The one of a body whose contact point this is, given its slope and up to which slopes are as good as none.
    pub(super) fn new<S: Number>(
        body: &Body<'_, S>,
        point: &Vector3<f64>,
        out: &Vector3<f64>,
        [slope, tilt]: [f64; 2],
    ) -> Self {
        let touching = TOUCHING * body.core.reach();
        Self { tip: point - out * body.radius.value(), out: *out, slope: slope * WIDER, tilt: tilt * WIDER, touching }
    }

    /// Is a point inside? The contact point is not: otherwise rounding would decide, and sides that come and go would
    /// change the order of the points.
    fn holds(&self, point: &Vector3<f64>) -> bool {
        let from = point - self.tip;
        let down = -self.out.dot(&from);
        let aside = (from + self.out * down).norm();
        aside > self.touching && down <= self.slope * aside
    }
}

impl<'a> Flat<'a> {
    /// The sides that meet the other body. For boxes and hulls these are all sides with a corner in the cone, for other
    /// bodies the side that faces most along the normal. There are none for round bodies, and none if a vertex sticks
    /// out so far that it stays the deepest whatever the tilt. To a line a hull may also show skirts (`skirt.rs`).
    pub(super) fn inside<S: Number>(
        body: &Body<'a, S>,
        n: &Vector3<S>,
        cone: &Cone,
        line: Option<&Vector3<f64>>,
    ) -> Vec<Self> {
        let rotation = Matrix3::from_columns(&body.axes.each_ref().map(values));
        let origin = values(&body.origin);
        let is_inside = |local: Vector3<f64>| cone.holds(&(turned(&rotation, &local) + origin));
        let towards = turned_back(&rotation, &cone.out);
        let look = |local: Vector3<f64>| towards.dot(&local);
        let flat = match body.core {
            Core::Box(half) => {
                let signs = [0, 1, 2].map(|k| 1_f64.copysign(look(Vector3::ith(k, 1.0))));
                let corner = |k: usize, a: f64, b: f64| {
                    let mut at = half.component_mul(&Vector3::from(signs));
                    at[(k + 1) % 3] *= a;
                    at[(k + 2) % 3] *= b;
                    at
                };
                let of_side =
                    |k: usize| [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].map(|(a, b)| corner(k, a, b));
                let shows =
                    |&k: &usize| look(Vector3::ith(k, signs[k])) > UPRIGHT && of_side(k).into_iter().any(is_inside);
                return (0..3).filter(shows).map(|k| Self::OfBox(k, signs[k])).collect();
            }
            Core::Hull(hull) if !has_large_faces(hull) => {
                let inside: Vec<bool> = hull.vertices().iter().map(|&vertex| is_inside(vertex.into())).collect();
                let line = line.and_then(|line| Line::new(&turned_back(&rotation, line), &towards, cone.tilt));
                let least = if line.is_some() { FALL.hypot(1.0).recip() } else { UPRIGHT };
                let shows =
                    |face: &&HullFace| look(face.normal.into()) > least && face.corners.iter().any(|&i| inside[i]);
                let faces = hull.faces().iter().filter(shows).map(|face| Self::OfHull(hull, face));
                let skirts = line.map_or(Vec::new(), |line| skirts(hull, towards, &line, &inside));
                return faces.chain(skirts.into_iter().map(Self::Skirt)).collect();
            }
            Core::Point | Core::Ellipsoid(_) => return Vec::new(),
            Core::HalfSpace => Self::Plane,
            Core::Segment(_) | Core::Cylinder { .. } if body.shown_line(&cone.out).is_some() => Self::Line,
            Core::Segment(_) | Core::Cylinder { .. } => Self::Cap(1_f64.copysign(look(Vector3::z()))),
            Core::Hull(hull) => match side_of_hull(hull, &towards) {
                Some(face) => Self::OfHull(hull, face),
                None => return Vec::new(),
            },
        };
        let normal = body.normal(flat, n);
        let cosine = dot(&normal, n).value() / dot(&normal, &normal).value().sqrt();
        if cosine > STEEP { vec![flat] } else { Vec::new() }
    }
}

impl<S: Number> Patch<S> {
    /// As much as the flat part itself.
    fn whole(anchor: Vector3<S>, normal: Vector3<S>) -> Self {
        Self { anchor, normal, inscribed: None, disc: None }
    }
}

impl<S: Number> Body<'_, S> {
    fn at(&self, local: [S; 3]) -> Vector3<S> {
        let [x, y, z] = &self.axes;
        along(&along(&along(&self.origin, x, local[0]), y, local[1]), z, local[2])
    }

    /// The direction of the line that the body shows along `out`; none if it shows something else.
    pub(super) fn shown_line(&self, out: &Vector3<f64>) -> Option<Vector3<f64>> {
        let axis = || values(&self.axes[2]);
        match self.core {
            Core::Segment(_) => Some(axis()),
            Core::Cylinder { .. } => Some(axis()).filter(|axis| axis.dot(out).abs() < FRAC_1_SQRT_2),
            _ => None,
        }
    }

    fn vertex(&self, hull: &Hull, i: usize) -> Vector3<S> {
        self.at(hull.vertices()[i].map(S::constant))
    }

    /// The outward normal of a flat part, of any length.
    fn normal(&self, flat: Flat<'_>, n: &Vector3<S>) -> Vector3<S> {
        let axis = &self.axes[2];
        match flat {
            Flat::Plane => *axis,
            Flat::Line => along(n, axis, -dot(n, axis)),
            Flat::Cap(sign) => axis * S::constant(sign),
            Flat::OfBox(k, sign) => self.axes[k] * S::constant(sign),
            Flat::OfHull(_, face) => {
                let [nx, ny, nz] = face.normal.map(S::constant);
                self.axes[0] * nx + self.axes[1] * ny + self.axes[2] * nz
            }
            Flat::Skirt(skirt) => skirt.slope(|i| self.vertex(skirt.hull, i), n).normal,
        }
    }

    /// What stands for a flat part, where n looks out of the body. Its corners are in place of others, so that bodies
    /// of many sides need no more memory for them.
    pub(super) fn patch(&self, flat: Flat<'_>, n: &Vector3<S>, corners: &mut Vec<Vector3<S>>) -> Patch<S> {
        corners.clear();
        let normal = self.normal(flat, n);
        match flat {
            Flat::Plane => Patch::whole(self.origin, normal),
            Flat::Line if matches!(self.core, Core::Cylinder { .. }) => {
                let out = unit(&normal);
                self.line(along(&self.origin, &out, self.sizes[0]), self.sizes[1], normal, corners)
            }
            Flat::Line => self.line(self.origin, self.sizes[0], normal, corners),
            Flat::Cap(sign) => self.cap(sign, normal, corners),
            Flat::OfBox(k, sign) => self.side_of_box(k, sign, normal, corners),
            Flat::OfHull(hull, face) => self.face_of_hull(hull, face, n, normal, corners),
            Flat::Skirt(skirt) => {
                let vertex = |i: usize| self.vertex(skirt.hull, i);
                let slope = skirt.slope(vertex, n);
                corners.extend(skirt.corners(&slope, vertex, n));
                Patch::whole(slope.edge[0], normal)
            }
        }
    }

    /// A line along the z axis.
    fn line(&self, middle: Vector3<S>, half: S, normal: Vector3<S>, corners: &mut Vec<Vector3<S>>) -> Patch<S> {
        let axis = &self.axes[2];
        corners.extend([along(&middle, axis, -half), along(&middle, axis, half)]);
        Patch::whole(middle, normal)
    }

    /// The one on an axis.
    fn side_of_box(&self, k: usize, sign: f64, normal: Vector3<S>, corners: &mut Vec<Vector3<S>>) -> Patch<S> {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        let corner = |(x, y)| {
            let mut at = self.sizes;
            (at[i], at[j]) = (at[i] * S::constant(x), at[j] * S::constant(sign * y));
            at[k] *= S::constant(sign);
            self.at(at)
        };
        corners.extend([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].into_iter().map(corner));
        let anchor = corners[0];
        Patch::whole(anchor, normal)
    }

    fn cap(&self, sign: f64, normal: Vector3<S>, corners: &mut Vec<Vector3<S>>) -> Patch<S> {
        let [radius, half, _] = self.sizes;
        let end = half * S::constant(sign);
        let corner = |k: usize| {
            let (sine, cosine) = (sign * FRAC_PI_4 * k as f64).sin_cos();
            self.at([radius * S::constant(cosine), radius * S::constant(sine), end])
        };
        corners.extend((0..CORNERS).map(corner));
        let middle = self.at([S::constant(0.0), S::constant(0.0), end]);
        let disc = Disc { middle, radii: [0, 1].map(|k| self.axes[k] * radius) };
        let octagon = Patch::whole(middle, normal);
        Patch { inscribed: Some(radius), disc: Some(disc), ..octagon }
    }

    /// A face, at the height of its corner that is farthest along a direction.
    fn face_of_hull(
        &self,
        hull: &Hull,
        face: &HullFace,
        n: &Vector3<S>,
        normal: Vector3<S>,
        corners: &mut Vec<Vector3<S>>,
    ) -> Patch<S> {
        let local = Vector3::from_fn(|k, _| values(&self.axes[k]).dot(&values(n)));
        let vertices = hull.vertices();
        let vertex = |i: usize| self.vertex(hull, i);
        let m = face.corners.len();
        let kept = m.min(CORNERS);
        corners.extend((0..kept).map(|k| vertex(face.corners[k * m / kept])));
        let across = (Vector3::from(vertices[face.corners[0]]) - Vector3::from(vertices[face.corners[m / 2]])).norm();
        let inscribed = (kept < m).then_some(S::constant(across / 2.0));
        let height = |i: usize| Vector3::from(vertices[i]).dot(&local);
        let top = face.corners.iter().copied().max_by(|&i, &j| height(i).total_cmp(&height(j)));
        let anchor = top.map_or(self.origin, vertex);
        Patch { inscribed, ..Patch::whole(anchor, normal) }
    }
}

/// Of the two faces at the flattest edge of the farthest vertex, the one that looks more along the direction.
fn side_of_hull<'a>(hull: &'a Hull, local: &Vector3<f64>) -> Option<&'a HullFace> {
    let vertices = hull.vertices();
    let top = farthest(hull, local);
    let drop = |&other: &usize| {
        let edge = Vector3::from(vertices[top]) - Vector3::from(vertices[other]);
        edge.dot(local) / edge.norm()
    };
    let end = hull.neighbours(top).iter().min_by(|x, y| drop(x).total_cmp(&drop(y)))?;
    let look = |face: &HullFace| Vector3::from(face.normal).dot(local);
    let beside = hull.faces().iter().filter(|face| face.corners.contains(&top) && face.corners.contains(end));
    beside.max_by(|x, y| look(x).total_cmp(&look(y)))
}

/// Has a hull faces of more corners than a patch?
fn has_large_faces(hull: &Hull) -> bool {
    hull.faces().iter().any(|face| face.corners.len() > CORNERS)
}

/// How many corners the patches of a core have at most, and whether one may be less than the flat part; none for cores without flat
/// parts.
pub(super) fn corners(core: &Core) -> Option<(usize, bool)> {
    Some(match core {
        Core::Point | Core::Ellipsoid(_) => return None,
        Core::HalfSpace => (0, false),
        Core::Segment(_) => (2, false),
        Core::Box(_) => (4, false),
        Core::Cylinder { .. } => (CORNERS, true),
        Core::Hull(hull) => {
            let most = hull.faces().iter().map(|face| face.corners.len()).max().unwrap_or(0);
            (most.min(CORNERS), most > CORNERS)
        }
    })
}

/// Slopes of up to this much are as good as none, 5°: or less, where faces of a hull bend by less than twice that.
pub(super) fn tilt(core: &Core) -> f64 {
    match core {
        Core::Hull(hull) => hull.half_bend().min(TILT),
        _ => TILT,
    }
}
