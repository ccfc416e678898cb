//! The flat side that a body shows to another one.

use nalgebra::Vector3;

use super::body::{Body, RIM};
use super::core::{Core, farthest};
use super::number::{Number, along, cross, dot, sub, unit, values};
use super::step::rise;
use crate::{HullFace, HullSide};

/// A plane, a polygon in one, or a line, which is a polygon with two corners.
pub(super) struct Side<'a, S> {
    /// Outward unit normal.
    pub(super) normal: Vector3<S>,
    /// The planes of its faces, each by its normal and a point: one, or several that are flat together. The surface is the deepest of them.
    planes: Vec<[Vector3<S>; 2]>,
    /// Counter-clockwise seen from outside; none for a plane without a border.
    pub(super) corners: Vec<Vector3<S>>,
    /// By how much the surface bends at the edge from each corner to the next, in right angles.
    pub(super) bends: Vec<f64>,
    /// From 1 down to 0 where the side is nearly along the direction.
    pub(super) strength: S,
    /// From 1 down to 0 where another side is about to look as much along the direction.
    pub(super) settled: S,
    members: Members<'a>,
}

/// Which of a body's corners are on a side.
enum Members<'a> {
    All,
    /// Of a box, those on this axis at the end of this sign.
    OfBox(usize, f64),
    /// Of a hull, in order.
    OfHull(&'a [usize]),
}

/// Cosines of the side's normal and the direction less those of another side's, in parts of what they can be, between which a side
/// comes to be settled.
const SETTLED: [f64; 2] = [0.0, 0.25];
/// Cosines of the side's normal and the direction between which it comes to count.
const STEEP: [f64; 2] = [0.05, 0.25];
/// Lengths that are rounding, m.
pub(super) const TINY: f64 = 1e-12;
/// A point this near to a side's plane, in parts of the hull's size, is on it.
const ON: f64 = 1e-7;

impl<'a, S: Number> Side<'a, S> {
    /// Of a body along a direction out of it, given its closest point to the other body; none for round bodies.
    pub(super) fn of(body: &Body<'a, S>, n: &Vector3<S>, closest: &Vector3<f64>) -> Option<Self> {
        let local = body.seen(&values(n));
        match body.core {
            Core::Point | Core::Ellipsoid(_) => None,
            Core::HalfSpace => {
                let normal = body.axes[2];
                let strength = S::constant(1.0);
                Some(Self {
                    normal,
                    planes: vec![[normal, body.origin]],
                    corners: Vec::new(),
                    bends: Vec::new(),
                    strength,
                    settled: strength,
                    members: Members::All,
                })
            }
            Core::Segment(_) => Self::line(body, n, body.origin, body.sizes[0]),
            Core::Cylinder { .. } => {
                let upright = body.upright(n);
                let side = if upright.value() > 0.5 {
                    let end = local.z;
                    let corners: Vec<Vector3<S>> = (0..RIM).map(|k| body.rim(k, end)).collect();
                    let normal = body.axes[2] * S::constant(1_f64.copysign(end));
                    let (planes, strength) = (vec![[normal, corners[0]]], rise(dot(&normal, n), STEEP));
                    let (settled, bends, members) = (strength, vec![1.0; RIM], Members::All);
                    Self { normal, planes, corners, bends, strength, settled, members }
                } else {
                    let out = unit(&along(n, &body.axes[2], -dot(n, &body.axes[2])));
                    Self::line(body, n, along(&body.origin, &out, body.sizes[0]), body.sizes[1])?
                };
                let apart = upright + upright - S::constant(1.0);
                let apart = if apart.value() < 0.0 { -apart } else { apart };
                Some(Self { settled: rise(apart, SETTLED), ..side })
            }
            Core::Box(_) => {
                let k = local.iamax();
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                let sign = 1_f64.copysign(local[k]);
                let corner = |(x, y): (f64, f64)| {
                    let mut at = body.sizes;
                    (at[i], at[j]) = (at[i] * S::constant(x), at[j] * S::constant(sign * y));
                    at[k] *= S::constant(sign);
                    body.at(at)
                };
                let corners: Vec<Vector3<S>> =
                    [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].into_iter().map(corner).collect();
                let normal = body.axes[k] * S::constant(sign);
                let next = if local[i].abs() > local[j].abs() { i } else { j };
                let next = body.axes[next] * S::constant(1_f64.copysign(local[next]));
                let (planes, bends, members) = (vec![[normal, corners[0]]], vec![1.0; 4], Members::OfBox(k, sign));
                let (strength, settled) = (rise(dot(&normal, n), STEEP), rise(dot(&sub(&normal, &next), n), SETTLED));
                Some(Self { normal, planes, corners, bends, strength, settled, members })
            }
            Core::Hull(hull) => {
                let top = farthest(hull, &local);
                // Of the sides that the closest point is on, if it is on any: where edges cross, both are such sides' borders.
                let depth = body.seen(&(closest - values(&body.vertex(hull, top))));
                let face = |&k: &usize| &hull.faces()[k];
                let is_on = |side: &&HullSide| {
                    side.faces.iter().map(face).any(|face| Vector3::from(face.normal).dot(&depth) > -ON * hull.reach())
                };
                let looks = |side: &&HullSide| side.normal.dot(&local);
                let most =
                    |sides: &mut dyn Iterator<Item = &'a HullSide>| sides.max_by(|x, y| looks(x).total_cmp(&looks(y)));
                let side = most(&mut hull.sides_at(top).filter(is_on)).or_else(|| most(&mut hull.sides_at(top)))?;
                let normal = body.turned(&side.normal);
                let apart = |other: &HullSide| {
                    let most = 1.0 - side.normal.dot(&other.normal);
                    dot(&sub(&normal, &body.turned(&other.normal)), n) * S::constant(most.recip())
                };
                let others = hull.sides_at(top).filter(|other| is_on(other) && !std::ptr::eq(*other, side));
                let nearest = others.map(apart).min_by(|x, y| x.value().total_cmp(&y.value()));
                let settled = nearest.map_or(S::constant(1.0), |apart| rise(apart, SETTLED));
                let plane = |face: &HullFace| {
                    let foot = Vector3::from(face.normal) * face.offset;
                    [body.turned(&face.normal.into()), body.at([0, 1, 2].map(|i| S::constant(foot[i])))]
                };
                let planes = side.faces.iter().map(face).map(plane).collect();
                let corners = side.corners.iter().map(|&i| body.vertex(hull, i)).collect();
                let (strength, bends) = (rise(dot(&normal, n), STEEP), side.bends.clone());
                let members = Members::OfHull(&side.vertices);
                Some(Self { normal, planes, corners, bends, strength, settled, members })
            }
        }
    }

    /// Along the body's z axis; none where that looks along the direction.
    fn line(body: &Body<'_, S>, n: &Vector3<S>, middle: Vector3<S>, half: S) -> Option<Self> {
        let axis = &body.axes[2];
        let across = along(n, axis, -dot(n, axis));
        let strength = rise(dot(&across, &across).sqrt(), STEEP);
        let corners = vec![along(&middle, axis, half), along(&middle, axis, -half)];
        (strength.value() > 0.0).then(|| Self {
            normal: unit(&across),
            planes: vec![[unit(&across), middle]],
            corners,
            bends: vec![2.0],
            strength,
            settled: S::constant(1.0),
            members: Members::All,
        })
    }

    /// Is the body's corner `k` on it?
    pub(super) fn holds(&self, k: usize) -> bool {
        match self.members {
            Members::All => true,
            Members::OfBox(axis, sign) => (k >> axis & 1 == 1) == (sign > 0.0),
            Members::OfHull(members) => members.binary_search(&k).is_ok(),
        }
    }

    /// How many edges the border has: one of a line.
    pub(super) fn n_edges(&self) -> usize {
        self.bends.len()
    }

    /// The two ends of an edge.
    pub(super) fn edge(&self, k: usize) -> [&Vector3<S>; 2] {
        [&self.corners[k], &self.corners[(k + 1) % self.corners.len()]]
    }

    /// How far a point of the plane is inside the border, m: minus its distance beyond it. Where several edges are as near, the mean of
    /// theirs. A line's border runs along it on both sides, and across it at its ends: one number for each.
    pub(super) fn inside(&self, p: &Vector3<S>) -> Vec<S> {
        let all: Vec<S> = self.borders(p).into_iter().map(|(inside, _)| inside).collect();
        if self.corners.len() == 2 {
            return all;
        }
        let Some(least) = all.iter().map(|inside| inside.value()).min_by(f64::total_cmp) else { return all };
        if least < 0.0 {
            let to = sub(p, &self.nearest(p));
            let square = dot(&to, &to);
            // Beside an edge by less than rounding, its own distance has the better derivative.
            if square.value() > TINY * TINY {
                return vec![-square.sqrt()];
            }
        }
        let near: Vec<S> = all.into_iter().filter(|inside| inside.value() <= least + TINY).collect();
        let share = S::constant(1.0 / near.len() as f64);
        vec![near.into_iter().fold(S::constant(0.0), |sum, inside| sum + inside * share)]
    }

    /// How far a point of the plane is inside each border's line, and the way in.
    fn borders(&self, p: &Vector3<S>) -> Vec<(S, Vector3<S>)> {
        let from = |from: &Vector3<S>, inward: Vector3<S>| (dot(&inward, &sub(p, from)), inward);
        let of_edge = |k: usize| {
            let [start, end] = self.edge(k);
            from(start, unit(&cross(&self.normal, &sub(end, start))))
        };
        let of_end = |k: usize| {
            let [start, end] = [&self.corners[k], &self.corners[1 - k]];
            from(start, unit(&sub(end, start)))
        };
        if self.corners.len() == 2 {
            let (across, inward) = of_edge(0);
            return vec![of_end(0), of_end(1), (across, inward), (-across, -inward)];
        }
        (0..self.corners.len()).map(of_edge).collect()
    }

    /// A point of the plane that is beyond the border or on it, where the border is nearest. On the border half of what it moves by across is
    /// left, the mean of both sides.
    pub(super) fn bounded(&self, p: &Vector3<S>) -> Vector3<S> {
        let borders = self.borders(p);
        if borders.iter().any(|(inside, _)| inside.value() < -TINY) {
            return self.nearest(p);
        }
        let on = borders.into_iter().filter(|(inside, _)| inside.value() < TINY);
        on.fold(*p, |p, (inside, inward)| along(&p, &inward, -(inside * S::constant(0.5))))
    }

    /// The point of the polygon that is nearest to a point of its plane beyond the border.
    fn nearest(&self, p: &Vector3<S>) -> Vector3<S> {
        let to = |k: usize| {
            let [from, to] = self.edge(k);
            let edge = sub(to, from);
            let length = dot(&edge, &edge);
            let part = dot(&sub(p, from), &edge) / length;
            let end = part.value().clamp(0.0, 1.0);
            let over = part - S::constant(end);
            // Of what it moves by at an end half is left.
            let is_on = over.value().abs() * length.value().sqrt() < TINY;
            let keeps = if is_on && (end == 0.0 || end == 1.0) { 0.5 } else { f64::from(over.value() == 0.0) };
            along(from, &edge, S::constant(end) + over * S::constant(keeps))
        };
        let distance = |at: &Vector3<S>| (values(at) - values(p)).norm();
        let all = (0..self.n_edges()).map(to);
        all.min_by(|x, y| distance(x).total_cmp(&distance(y))).unwrap_or(*p)
    }

    /// Where the line along n through a point meets the surface, or the planes of it beyond its border.
    pub(super) fn under(&self, p: &Vector3<S>, n: &Vector3<S>) -> Vector3<S> {
        let far = |[normal, anchor]: &[Vector3<S>; 2]| dot(normal, &sub(anchor, p)) / dot(normal, n);
        let reach = self
            .planes
            .iter()
            .filter(|[normal, _]| dot(normal, n).value() < 0.0)
            .map(far)
            .max_by(|x, y| x.value().total_cmp(&y.value()));
        along(p, n, reach.unwrap_or(S::constant(0.0)))
    }
}
