//! Contact points with weights, before they become a manifold: dropping points, and making light ones stand back.

use nalgebra::{Vector2, Vector3};

use super::number::{Number, along2, dot2, sub2};
use super::tilt::{NONE, part};

/// The weight below which a point of a [`Collider::manifold`](super::Collider::manifold) stands back.
pub const LIGHT: f64 = 0.02;
/// Corners this near to each other, in parts of the polygon's size, count as one in part.
pub(crate) const NEAR: f64 = 0.05;

/// A contact point in numbers that may carry rates.
pub(super) struct Spot<S> {
    pub(super) phi: S,
    pub(super) point_a: Vector3<S>,
    pub(super) point_b: Vector3<S>,
    pub(super) weight: S,
}

/// Makes the weights add up to one. The smallest become zero and go to the heaviest point.
pub(super) fn complete<S: Number>(spots: &mut [Spot<S>]) {
    let mut rest = S::constant(1.0);
    for spot in spots.iter_mut() {
        if spot.weight.value() < NONE {
            spot.weight = S::constant(0.0);
        }
        rest -= spot.weight;
    }
    if let Some(heaviest) = heaviest(spots) {
        heaviest.weight += rest;
    }
}

pub(super) fn heaviest<S: Number>(spots: &mut [Spot<S>]) -> Option<&mut Spot<S>> {
    spots.iter_mut().max_by(|x, y| x.weight.value().total_cmp(&y.weight.value()))
}

/// Leaves out points without weight.
pub(super) fn drop_weightless<S: Number>(places: &mut Vec<Vector2<S>>, spots: &mut Vec<Spot<S>>) {
    let mut keep = spots.iter().map(|spot| spot.weight.value() > 0.0);
    places.retain(|_| keep.next() == Some(true));
    spots.retain(|spot| spot.weight.value() > 0.0);
}

/// A hard contact carries load however small its weight is. So light points stand back, by their height above the
/// closest points times (`LIGHT` − w)²/(w `LIGHT`), and carry nothing before they vanish. Corners that have just split
/// count as one: w is the weight around the point.
pub(super) fn stand_back<S: Number>(spots: &mut [Spot<S>], places: &[Vector2<S>], spread: S, closest: S) {
    let one = S::constant(1.0);
    let near = spread * S::constant(NEAR * NEAR);
    for (i, here) in places.iter().enumerate() {
        let (own, height) = (spots[i].weight.value(), spots[i].phi - closest);
        if !(own > 0.0 && own < LIGHT && height.value() > 0.0) {
            continue;
        }
        let mut around = S::constant(0.0);
        for (there, spot) in places.iter().zip(&*spots) {
            let between = sub2(there, here);
            let square = dot2(&between, &between);
            // Where all are one, rounding is all there is between them.
            around += if square.value() > 0.0 { spot.weight * (one - part(square / near)) } else { spot.weight };
        }
        if around.value() < LIGHT {
            let lacks = S::constant(LIGHT) - around;
            spots[i].phi += height * lacks * lacks / (around * S::constant(LIGHT));
        }
    }
}

/// The sum of the squared sides of a square, or of a line there and back, that carries as far from its middle as these
/// points do.
pub(super) fn spread<S: Number>(places: &[Vector2<S>], spots: &[Spot<S>]) -> S {
    let none = S::constant(0.0);
    let all = || places.iter().zip(spots.iter().map(|spot| spot.weight));
    let middle = all().fold(Vector2::repeat(none), |sum, (at, weight)| along2(&sum, at, weight));
    let square = |at| dot2(&sub2(at, &middle), &sub2(at, &middle));
    all().fold(none, |sum, (at, weight)| sum + weight * square(at)) * S::constant(8.0)
}
