//! The sheets of a mesh's surface around a ball: the nearest one, and those that it may come to in other directions.
//! `docs/contact_points.md` says why these.

use nalgebra::{Matrix3, Vector3};

use super::{DistanceGrid, GridDistance, Spline};
use crate::number::{Dual, Number, along, constant, dot, sub, values};
use crate::step::rise;

/// The number of directions that are looked in.
const DIRECTIONS: usize = 12;
/// The most sheets of [`DistanceGrid::sheets`]: the nearest, and one in each direction.
pub const SHEETS: usize = 1 + DIRECTIONS;

/// The golden ratio, and the directions: the corners of an icosahedron, in the mesh's frame, before they are made unit
/// vectors.
const GOLDEN: f64 = 1.618_033_988_749_895;
const CORNERS: [[f64; 3]; DIRECTIONS] = [
    [GOLDEN, 0.0, 1.0],
    [-GOLDEN, 0.0, 1.0],
    [GOLDEN, 0.0, -1.0],
    [-GOLDEN, 0.0, -1.0],
    [1.0, GOLDEN, 0.0],
    [1.0, -GOLDEN, 0.0],
    [-1.0, GOLDEN, 0.0],
    [-1.0, -GOLDEN, 0.0],
    [0.0, 1.0, GOLDEN],
    [0.0, -1.0, GOLDEN],
    [0.0, 1.0, -GOLDEN],
    [0.0, -1.0, -GOLDEN],
];
/// What makes unit vectors of them: 1/√(1 + φ²).
const TO_UNIT: f64 = 0.525_731_112_119_133_6;
/// How often a ray goes on by the distance of where it is.
const MARCH: usize = 4;
/// Where between a foot on the mesh and the ball's centre the sheet is measured.
const BEFORE: f64 = 0.25;
/// Squares of the gradient's length from which on a place has a nearest side, and between which it comes to have one.
const CLEAR: [f64; 2] = [0.8, 0.98];
/// A sheet may be nearer than the nearest point is, by these parts of that distance: it counts fully, or not at all.
const CUT: [f64; 2] = [-0.08, -0.02];
/// The cosine between a sheet's normal and the way to it at which it does not count, and from which on it does.
const FACES: [f64; 2] = [0.4, 0.7];
/// The cosine of two normals from which on their sheets are one, and up to which they are two.
const ALIKE: [f64; 2] = [0.5, 0.9];
/// How much farther than the nearest point a sheet may be to stand for it, in parts of that distance: fully, or not at
/// all.
const AS_NEAR: [f64; 2] = [0.05, 0.2];
/// How far outside of the grid others than the nearest sheet come not to count: squares, in parts of its reach.
const OUTSIDE: [f64; 2] = [0.0, 0.25];
/// How much farther than the nearest sheet one has a quarter of its weight, in parts of that distance, ...
const QUARTER: f64 = 0.25;
/// ... and what it has at least.
const AT_LEAST: f64 = 0.002;
/// The part of a ball's distance by which faded sheets stand back.
const BACK: f64 = 0.125;
/// Sheets of less weight stand back, ...
const FADED: f64 = 0.08;
/// ... and those of less than this are none.
const FAINT: f64 = 4e-4;

/// Where the gradient is shorter than this, the normal has no direction of its own.
const FLAT: f64 = 1e-6;

/// A plane that a sheet of the mesh's surface is, seen from a ball, in the mesh's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// The distance of the ball's centre from it, m.
    pub distance: f64,
    /// Unit normal out of the mesh.
    pub normal: Vector3<f64>,
    /// What the sheet counts. Those of a flat side count 1 together.
    pub weight: f64,
}

/// The derivatives of a [`Sheet`] by the ball's centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SheetRates {
    /// Those of the distance.
    pub distance: Vector3<f64>,
    /// Those of the normal, a row for each of its coordinates, 1/m.
    pub normal: Matrix3<f64>,
    /// Those of the weight, 1/m.
    pub weight: Vector3<f64>,
}

/// A plane with distance, normal and the square of the gradient's length where it was measured.
#[derive(Clone, Copy)]
struct Plane<S> {
    distance: S,
    normal: Vector3<S>,
    steepness: S,
}

/// A ball that looks for sheets.
struct Ball<S> {
    centre: Vector3<S>,
    nearest: Plane<S>,
    /// About the distance from the nearest sheet, m; never 0.
    size: S,
    /// How far from the mesh distances are known, m.
    reach: f64,
    /// A factor for all sheets but the nearest.
    near: S,
}

impl DistanceGrid {
    /// The sheets of the mesh's surface around a ball's centre, in the mesh's frame, the nearest first. Those of weight
    /// 0 are none, and so may be those that are farther from the centre than `within`, m.
    pub fn sheets(&self, centre: &Vector3<f64>, within: f64) -> [Sheet; SHEETS] {
        self.spline.sheets(centre, self.reach, within).map(|(plane, weight)| Sheet {
            distance: plane.distance,
            normal: plane.normal,
            weight,
        })
    }

    /// [`DistanceGrid::sheets`] with their derivatives.
    pub fn sheets_with_rates(&self, centre: &Vector3<f64>, within: f64) -> [(Sheet, SheetRates); SHEETS] {
        self.spline.sheets(&moved(centre), self.reach, within).map(|(plane, weight)| plane.with_rates(weight))
    }

    /// The nearest sheet alone, which has the weight 1.
    pub fn nearest(&self, centre: &Vector3<f64>) -> Sheet {
        let Plane { distance, normal, .. } = self.spline.plane(centre, centre);
        Sheet { distance, normal, weight: 1.0 }
    }

    /// [`DistanceGrid::nearest`] with its derivatives.
    pub fn nearest_with_rates(&self, centre: &Vector3<f64>) -> (Sheet, SheetRates) {
        let centre = moved(centre);
        self.spline.plane(&centre, &centre).with_rates(Dual::constant(1.0))
    }
}

/// A place with its derivatives by itself.
fn moved(place: &Vector3<f64>) -> Vector3<Dual<3>> {
    Vector3::from_fn(|k, _| Dual { value: place[k], rates: std::array::from_fn(|i| if i == k { 1.0 } else { 0.0 }) })
}

impl Plane<Dual<3>> {
    fn with_rates(self, weight: Dual<3>) -> (Sheet, SheetRates) {
        let Self { distance, normal, .. } = self;
        let rates = SheetRates {
            distance: Vector3::from(distance.rates),
            normal: Matrix3::from_fn(|i, j| normal[i].rates[j]),
            weight: Vector3::from(weight.rates),
        };
        (Sheet { distance: distance.value, normal: values(&normal), weight: weight.value }, rates)
    }
}

impl Spline {
    /// The signed distance at a place.
    #[inline(always)]
    fn distance<S: Number>(&self, place: &Vector3<S>) -> S {
        let at = values(place);
        match S::ORDER {
            0 => S::constant(self.to_order::<0>(&at).value),
            _ => lifted(place, &self.to_order::<1>(&at)),
        }
    }

    /// The signed distance at a place, and its gradient.
    #[inline(always)]
    fn field<S: Number>(&self, place: &Vector3<S>) -> (S, Vector3<S>) {
        let at = values(place);
        if S::ORDER == 0 {
            let found = self.to_order::<1>(&at);
            return (S::constant(found.value), constant(&found.gradient));
        }
        let found = self.at(&at);
        let slope = |i: usize| {
            let gradient = found.hessian.column(i).into_owned();
            lifted(place, &GridDistance { value: found.gradient[i], gradient, ..found })
        };
        (lifted(place, &found), Vector3::new(slope(0), slope(1), slope(2)))
    }

    /// The plane that the surface is as seen from a place, for a ball elsewhere.
    #[inline(always)]
    fn plane<S: Number>(&self, place: &Vector3<S>, centre: &Vector3<S>) -> Plane<S> {
        let (value, gradient) = self.field(place);
        let steepness = dot(&gradient, &gradient);
        let normal = unit(&gradient, steepness);
        Plane { distance: value + dot(&normal, &sub(centre, place)), normal, steepness }
    }

    /// A factor from 1 for a place on the grid down to 0 for one that is far outside.
    #[inline(always)]
    fn nearness<S: Number>(&self, place: &Vector3<S>, reach: f64) -> S {
        let outside = sub(place, &constant(&(self.nearest(&values(place)) + self.origin)));
        // A coordinate on the grid does not count, and has no derivative.
        let mut square = S::constant(0.0);
        for k in 0..3 {
            if outside[k].value() != 0.0 {
                square += outside[k] * outside[k];
            }
        }
        S::constant(1.0) - rise(square * S::constant(1.0 / (reach * reach)), OUTSIDE)
    }

    /// The sheet in a direction, and what it counts before others are known.
    #[inline(always)]
    fn towards<S: Number>(&self, direction: &Vector3<f64>, from: &Ball<S>) -> (Plane<S>, S) {
        let Ball { centre, nearest, size, reach, near } = from;
        let direction = constant(direction);
        let mut far = if nearest.distance.value() > 0.0 { nearest.distance } else { S::constant(0.0) };
        let mut end = along(centre, &direction, far);
        for _ in 1..MARCH {
            // Once a ray is outside it does not come back.
            if self.nearness(&values(&end), *reach) == 0.0 {
                return (*nearest, S::constant(0.0));
            }
            far += self.distance(&end);
            end = along(centre, &direction, far);
        }
        let near = *near * self.nearness(&end, *reach);
        if near.value() == 0.0 {
            return (*nearest, near);
        }
        let (value, gradient) = self.field(&end);
        let foot = along(&end, &unit(&gradient, dot(&gradient, &gradient)), -value);
        let place = along(&foot, &sub(centre, &foot), S::constant(BEFORE));
        let plane = self.plane(&place, centre);
        let way = sub(centre, &place);
        let tiny = S::constant(1e-6 * self.spacing * self.spacing);
        let cosine = dot(&plane.normal, &way) / (dot(&way, &way) + tiny).sqrt();
        let is_free = rise((plane.distance - nearest.distance) / *size, CUT);
        (plane, near * rise(plane.steepness, CLEAR) * rise(cosine, FACES) * is_free)
    }

    fn sheets<S: Number>(&self, centre: &Vector3<S>, reach: f64, within: f64) -> [(Plane<S>, S); SHEETS] {
        let one = S::constant(1.0);
        let nearest = self.plane(centre, centre);
        let near = self.nearness(centre, reach);
        if near.value() == 0.0 || nearest.distance.value() * (1.0 + CUT[0]) >= within {
            return std::array::from_fn(|k| (nearest, if k == 0 { one } else { S::constant(0.0) }));
        }
        let size = (nearest.distance * nearest.distance + S::constant(self.spacing * self.spacing)).sqrt();
        let ball = Ball { centre: *centre, nearest, size, reach, near };
        let others = CORNERS.map(|corner| self.towards(&(Vector3::from(corner) * TO_UNIT), &ball));
        // Where no side is nearest, those that are as near stand for it.
        let mut missing = one;
        for (plane, counts) in &others {
            let stands_in = one - rise((plane.distance - nearest.distance) / size, AS_NEAR);
            missing *= one - *counts * stands_in;
        }
        let clear = rise(nearest.steepness, CLEAR);
        let first = clear + (one - clear) * missing;
        let mut all = [(nearest, first); SHEETS];
        for (k, (plane, counts)) in others.iter().enumerate() {
            let mut left = one;
            for (other, weight) in &all[..=k] {
                left -= *weight * rise(dot(&other.normal, &plane.normal), ALIKE);
            }
            let left = if left.value() > 0.0 { left } else { S::constant(0.0) };
            all[k + 1] = (*plane, *counts * left);
        }
        // A contact carries load however small its weight is, so that what vanishes stands back before. What is far has
        // less weight: it is there to stop what comes.
        for (plane, weight) in &mut all {
            let height = (plane.distance - nearest.distance) / (size * S::constant(QUARTER));
            let lacks = S::constant(FADED) - *weight;
            if weight.value() < FAINT {
                *weight = S::constant(0.0);
                continue;
            }
            if lacks.value() > 0.0 {
                plane.distance += size * S::constant(BACK) * lacks * lacks / (*weight * S::constant(FADED));
            }
            let near = one / (one + height * height);
            *weight *= S::constant(AT_LEAST) + S::constant(1.0 - AT_LEAST) * near * near;
        }
        all
    }
}

/// A value with the derivatives that it has by the place, given its gradient.
#[inline(always)]
fn lifted<S: Number>(place: &Vector3<S>, found: &GridDistance) -> S {
    S::constant(found.value) + dot(&sub(place, &constant(&values(place))), &constant(&found.gradient))
}

/// The unit vector along a vector, given the square of its length; z if it has next to none.
#[inline(always)]
fn unit<S: Number>(vector: &Vector3<S>, square: S) -> Vector3<S> {
    if square.value() < FLAT * FLAT {
        return constant(&Vector3::z());
    }
    let inverse = S::constant(1.0) / square.sqrt();
    Vector3::new(vector.x * inverse, vector.y * inverse, vector.z * inverse)
}
