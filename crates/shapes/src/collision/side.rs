//! The flat side that a body shows to another one: a polygon, a line or a plane.

use std::cell::OnceCell;

use nalgebra::Vector3;

use super::body::{Body, RIM};
use super::core::Core;
use super::heights::Heights;
use crate::number::{Number, along, cross, dot, sub, unit, values};
use crate::step::rise;
use crate::{Hull, HullFace, HullSide};

/// The side of a body: a plane, a polygon, or a line, which is a polygon with two corners.
pub(super) struct Side<'a, S> {
    /// Outward unit normal.
    pub(super) normal: Vector3<S>,
    planes: Planes<'a, S>,
    /// The corners of the border, counter-clockwise as seen from outside; empty for a plane without a border.
    pub(super) corners: Vec<Vector3<S>>,
    /// A factor that falls from 1 to 0 as the side turns parallel to the direction in which it is looked at.
    pub(super) strength: S,
    /// A factor that falls from 1 to 0 as another side is about to face that direction as much.
    pub(super) settled: S,
    members: Members<'a>,
    border: OnceCell<Border<S>>,
}

/// The border of a side, for somebody who asks.
struct Border<S> {
    /// Its lines, each as a point and the inward direction.
    lines: Vec<[Vector3<S>; 2]>,
    /// How far a point of the plane is inside of each.
    inside: Heights,
}

/// Where a point of a side's plane is by its border.
pub(super) struct ByBorder<S> {
    inside: [S; 4],
    n: usize,
    /// The point; if it is beyond the border, the nearest point of that. On the border half of a motion across it
    /// remains: the mean of both sides.
    pub(super) at: Vector3<S>,
}

impl<S: Number> ByBorder<S> {
    /// How far the point is inside the border, m; negative outside. If several edges are equally near, it is their
    /// mean. A line has four borders, on both sides of it and at its ends, with a number for each.
    pub(super) fn inside(&self) -> impl Iterator<Item = S> {
        self.inside.into_iter().take(self.n)
    }
}

/// A side's border as seen along a direction.
pub(super) struct Window {
    /// The mean of its corners, m.
    pub(super) middle: Vector3<f64>,
    /// The radius of a ball around it that has all corners, m.
    pub(super) radius: f64,
    /// How far beyond its border a point of a side that is not quite flat may be seen to be, m, and be inside.
    pub(super) slack: f64,
    /// The lines of a polygon, each as a vector g and a number c: a point of the side that is seen at p is
    /// g·(p − middle) − c inside at most, m. The slack is in c.
    pub(super) lines: Vec<(Vector3<f64>, f64)>,
}

/// The planes of a side's faces, each as a normal and a point. There are several if faces are nearly in one plane. The
/// surface is the deepest of them.
enum Planes<'a, S> {
    One([Vector3<S>; 2]),
    /// Those of a side of a hull that is in this body: the faces that look along the direction n in which the body is
    /// seen, and the heights over their planes, measured along n, of a point in the hull's frame.
    OfHull {
        body: &'a Body<'a, S>,
        hull: &'a Hull,
        faces: Vec<usize>,
        heights: Heights,
    },
}

/// The body's corners that are on a side.
enum Members<'a> {
    /// All of the body's corners.
    All,
    /// A box's corners on this axis, at the end with this sign.
    OfBox(usize, f64),
    /// Vertices of a hull.
    OfHull(&'a HullSide),
}

/// Limits of a difference between two cosines: that of this side's normal to the direction and that of another side's,
/// as a part of the largest possible difference. Between the limits, the side becomes settled.
const SETTLED: [f64; 2] = [0.0, 0.25];
/// Limits of the cosine between the side's normal and the direction. Between them, the side comes to count.
pub(super) const STEEP: [f64; 2] = [0.05, 0.25];
/// Lengths up to this, m, are rounding.
pub(super) const TINY: f64 = 1e-12;
/// The faces of a hull's side are no farther from one plane than this, as a part of the hull's reach.
const UNEVEN: f64 = 6e-3;
/// Points nearer to a side's plane than this, as a part of the hull's size, are on it.
const ON: f64 = 1e-7;

impl<'a, S: Number> Side<'a, S> {
    /// The side that a body shows along a direction n out of it, given its closest point to the other body. `None` for
    /// round bodies.
    pub(super) fn of(body: &'a Body<'a, S>, n: &Vector3<S>, closest: &Vector3<f64>) -> Option<Self> {
        let local = body.seen(&values(n));
        match body.core {
            Core::Point | Core::Ellipsoid(_) => None,
            Core::HalfSpace => {
                let normal = body.axes[2];
                let strength = S::constant(1.0);
                Some(Self {
                    normal,
                    planes: Planes::One([normal, body.origin]),
                    corners: Vec::new(),
                    strength,
                    settled: strength,
                    members: Members::All,
                    border: OnceCell::new(),
                })
            }
            Core::Segment(_) => Self::line(body, n, body.origin, body.sizes[0]),
            Core::Cylinder { .. } => {
                let upright = body.upright(n);
                let side = if upright.value() > 0.5 {
                    let end = local.z;
                    let corners: Vec<Vector3<S>> = (0..RIM).map(|k| body.rim(k, end)).collect();
                    let normal = body.axes[2] * S::constant(1_f64.copysign(end));
                    let (planes, strength) = (Planes::One([normal, corners[0]]), rise(dot(&normal, n), STEEP));
                    let (settled, members) = (strength, Members::All);
                    Self { normal, planes, corners, strength, settled, members, border: OnceCell::new() }
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
                let (planes, members) = (Planes::One([normal, corners[0]]), Members::OfBox(k, sign));
                let (strength, settled) = (rise(dot(&normal, n), STEEP), rise(dot(&sub(&normal, &next), n), SETTLED));
                Some(Self { normal, planes, corners, strength, settled, members, border: OnceCell::new() })
            }
            Core::Hull(hull) => {
                let top = hull.farthest(&local);
                // Prefers sides that the closest point is on: where edges cross, the edges are borders of such sides.
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
                let mut faces = Vec::with_capacity(side.faces.len());
                let sloped = side.faces.iter().filter_map(|&k| {
                    let HullFace { normal, offset, .. } = &hull.faces()[k];
                    let normal = Vector3::from(*normal);
                    let slope = normal.dot(&local);
                    (slope > 0.0).then(|| {
                        faces.push(k);
                        let per = -slope.recip();
                        (normal * per, offset * per)
                    })
                });
                let heights = Heights::new(sloped);
                let planes = Planes::OfHull { body, hull, faces, heights };
                let corners = side.corners.iter().map(|&i| body.vertex(hull, i)).collect();
                let strength = rise(dot(&normal, n), STEEP);
                let members = Members::OfHull(side);
                Some(Self { normal, planes, corners, strength, settled, members, border: OnceCell::new() })
            }
        }
    }

    /// A line along the body's z axis as a side. `None` if the axis is along the direction n.
    fn line(body: &'a Body<'a, S>, n: &Vector3<S>, middle: Vector3<S>, half: S) -> Option<Self> {
        let axis = &body.axes[2];
        let across = along(n, axis, -dot(n, axis));
        let strength = rise(dot(&across, &across).sqrt(), STEEP);
        let corners = vec![along(&middle, axis, half), along(&middle, axis, -half)];
        (strength.value() > 0.0).then(|| Self {
            normal: unit(&across),
            planes: Planes::One([unit(&across), middle]),
            corners,
            strength,
            settled: S::constant(1.0),
            members: Members::All,
            border: OnceCell::new(),
        })
    }

    /// What the border looks like along the direction `out` of its body; `None` for a plane without one.
    pub(super) fn window(&self, out: &Vector3<f64>) -> Option<Window> {
        let corners: Vec<Vector3<f64>> = self.corners.iter().map(values).collect();
        let middle = corners.iter().copied().reduce(|x, y| x + y)? / corners.len() as f64;
        let radius = corners.iter().map(|corner| (corner - middle).norm()).fold(0.0, f64::max);
        let normal = values(&self.normal);
        let looks = normal.dot(out);
        // Along the line of sight the surface is no farther from the plane than this.
        let depth = self.unevenness() / looks;
        let line = |(from, to): (&Vector3<f64>, &Vector3<f64>)| {
            let inward = normal.cross(&(to - from)).normalize();
            let slope = inward.dot(out);
            (inward - normal * (slope / looks), inward.dot(&(from - middle)) - slope.abs() * depth)
        };
        let next = corners.iter().cycle().skip(1);
        let n_lines = if self.is_line() { 0 } else { corners.len() };
        let lines = corners.iter().zip(next).take(n_lines).map(line).collect();
        let slack = (1.0 - looks * looks).max(0.0).sqrt() * depth;
        Some(Window { middle, radius, slack, lines })
    }

    /// Is the body's corner `k` on this side?
    pub(super) fn holds(&self, k: usize) -> bool {
        match self.members {
            Members::All => true,
            Members::OfBox(axis, sign) => (k >> axis & 1 == 1) == (sign > 0.0),
            Members::OfHull(side) => side.vertices.binary_search(&k).is_ok(),
        }
    }

    /// Is the body's corner `k` on this side, but none of its [main corners](HullSide::main_corners)?
    pub(super) fn is_minor(&self, k: usize) -> bool {
        match self.members {
            Members::OfHull(side) => self.holds(k) && side.main_corners.binary_search(&k).is_err(),
            Members::All | Members::OfBox(..) => false,
        }
    }

    /// The shares of all of the body's corners on this side, by those of its main corners.
    pub(super) fn gain(&self) -> f64 {
        let (Members::OfHull(side), Planes::OfHull { hull, .. }) = (&self.members, &self.planes) else { return 1.0 };
        let sum = |corners: &[usize]| corners.iter().map(|&k| hull.shares()[k]).sum::<f64>();
        sum(&side.vertices) / sum(&side.main_corners)
    }

    /// Is it a line?
    pub(super) fn is_line(&self) -> bool {
        self.corners.len() == 2
    }

    /// The hull's side that it is.
    pub(super) fn of_hull(&self) -> Option<&'a HullSide> {
        match self.members {
            Members::OfHull(side) => Some(side),
            Members::All | Members::OfBox(..) => None,
        }
    }

    /// The two ends of edge `k` of the border.
    fn edge(&self, k: usize) -> [&Vector3<S>; 2] {
        [&self.corners[k], &self.corners[(k + 1) % self.corners.len()]]
    }

    /// The least of the distances from a point of the plane to the lines of the border, m, negative beyond one.
    pub(super) fn least_inside(&self, p: &Vector3<S>) -> f64 {
        self.border().inside.least(&values(p))
    }

    /// Where a point of the plane is by the border, given its [`least_inside`](Self::least_inside).
    pub(super) fn by_border(&self, p: &Vector3<S>, least: f64) -> ByBorder<S> {
        let nearest = (least < 0.0).then(|| self.nearest(p));
        let (mut inside, mut n) = ([S::constant(0.0); 4], 0);
        if self.is_line() {
            self.borders(p).for_each(|(of_line, _)| {
                inside[n] = of_line;
                n += 1;
            });
        } else if self.corners.len() > 2 {
            (inside[0], n) = (self.inside_polygon(p, least, nearest.as_ref()), 1);
        }
        let is_inside = inside[..n].iter().all(|inside| inside.value() > TINY);
        let at = match nearest {
            _ if is_inside => *p,
            Some(nearest) if least < -TINY => nearest,
            _ => {
                let on = self.borders(p).filter(|(inside, _)| inside.value() < TINY);
                on.fold(*p, |p, (inside, inward)| along(&p, &inward, -(inside * S::constant(0.5))))
            }
        };
        ByBorder { inside, n, at }
    }

    /// How far a point of the plane is inside a polygon, m, given the least of its distances from the lines of the
    /// border and, if it is beyond one, the nearest point of the border.
    fn inside_polygon(&self, p: &Vector3<S>, least: f64, nearest: Option<&Vector3<S>>) -> S {
        if let Some(nearest) = nearest {
            let to = sub(p, nearest);
            let square = dot(&to, &to);
            // Beside an edge by less than rounding, its own distance has the better derivative.
            if square.value() > TINY * TINY {
                return -square.sqrt();
            }
        }
        let near = self.borders(p).map(|(inside, _)| inside).filter(|inside| inside.value() <= least + TINY);
        let (sum, count) = near.fold((S::constant(0.0), 0.0), |(sum, count), inside| (sum + inside, count + 1.0));
        sum * S::constant(1.0 / count)
    }

    /// For each line of the border, how far a point of the plane is inside of it, m, and the inward direction.
    fn borders(&self, p: &Vector3<S>) -> impl Iterator<Item = (S, Vector3<S>)> {
        self.border().lines.iter().map(|[from, inward]| (dot(inward, &sub(p, from)), *inward))
    }

    fn border(&self) -> &Border<S> {
        self.border.get_or_init(|| {
            let lines = self.lines();
            let plane = |[from, inward]: &[Vector3<S>; 2]| (values(inward), values(inward).dot(&values(from)));
            Border { inside: Heights::new(lines.iter().map(plane)), lines }
        })
    }

    /// The lines of the border, each as a point and the inward direction.
    fn lines(&self) -> Vec<[Vector3<S>; 2]> {
        let of_edge = |k: usize| {
            let [start, end] = self.edge(k);
            [*start, unit(&cross(&self.normal, &sub(end, start)))]
        };
        let of_end = |k: usize| {
            let [start, end] = [&self.corners[k], &self.corners[1 - k]];
            [*start, unit(&sub(end, start))]
        };
        if self.is_line() {
            let [start, inward] = of_edge(0);
            return vec![of_end(0), of_end(1), [start, inward], [start, -inward]];
        }
        (0..self.corners.len()).map(of_edge).collect()
    }

    /// The point of the polygon that is nearest to a point of its plane beyond the border. Past the end of one edge and
    /// level with the end of the next one, half of the motion along the next one remains: the mean of both sides.
    fn nearest(&self, p: &Vector3<S>) -> Vector3<S> {
        let to = |k: usize| {
            let [from, to] = self.edge(k);
            let edge = sub(to, from);
            let length = dot(&edge, &edge);
            let part = dot(&sub(p, from), &edge) / length;
            let end = part.value().clamp(0.0, 1.0);
            let over = part - S::constant(end);
            let is_on = over.value().abs() * length.value().sqrt() < TINY;
            let keeps = if is_on && (end == 0.0 || end == 1.0) { 0.5 } else { f64::from(over.value() == 0.0) };
            (keeps, along(from, &edge, S::constant(end) + over * S::constant(keeps)))
        };
        let distance = |at: &Vector3<S>| (values(at) - values(p)).norm();
        let all = || (0..self.corners.len()).map(to).map(|(keeps, at)| (distance(&at), keeps, at));
        let least = all().map(|of| of.0).fold(f64::INFINITY, f64::min);
        let nearest = all().filter(|of| of.0 <= least + TINY);
        nearest.max_by(|x, y| x.1.total_cmp(&y.1)).map_or(*p, |(_, _, at)| at)
    }

    /// The point where the line along n through a point meets the side's surface, continued beyond its border.
    pub(super) fn under(&self, p: &Vector3<S>, n: &Vector3<S>) -> Vector3<S> {
        let plane = match &self.planes {
            Planes::One(plane) => Some(*plane),
            Planes::OfHull { body, hull, faces, heights } => heights.lowest(&body.seen_at(p)).map(|k| {
                let HullFace { normal, offset, .. } = &hull.faces()[faces[k]];
                [body.turned(&Vector3::from(*normal)), body.at(normal.map(|x| S::constant(x * offset)))]
            }),
        };
        let reach = plane.filter(|[normal, _]| dot(normal, n).value() < 0.0);
        let reach = reach.map_or(S::constant(0.0), |[normal, anchor]| dot(&normal, &sub(&anchor, p)) / dot(&normal, n));
        along(p, n, reach)
    }

    /// How far the faces of the side may be from one plane, m.
    fn unevenness(&self) -> f64 {
        match &self.planes {
            Planes::One(_) => 0.0,
            Planes::OfHull { hull, .. } => UNEVEN * hull.reach(),
        }
    }
}
