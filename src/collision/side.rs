//! The flat parts of two bodies as they are seen along the normal: planes over polygons in the plane across it.

use nalgebra::{Vector2, Vector3};

use super::cells::Cell;
use super::number::{Number, constant, cross, dot, dot2, sub, sub2, unit, values};
use super::overlap::{Corner, Ellipse, overlap};
use super::patch::{Patch, WIDER};

/// Where slopes are less than this all points of the overlap are the closest ones: the middle of its corners stands for them.
const PARALLEL: f64 = 1e-9;

/// The plane across n through a point.
pub(super) struct Across<'a, S> {
    pub(super) axes: [Vector3<S>; 2],
    pub(super) n: &'a Vector3<S>,
    pub(super) origin: Vector3<f64>,
}

/// The plane of a patch: its height along n over the plane across n.
pub(super) struct Plane<S> {
    through: Vector2<S>,
    height: S,
    pub(super) slope: Vector2<S>,
}

impl<S: Number> Plane<S> {
    pub(super) fn height(&self, x: &Vector2<S>) -> S {
        let step = sub2(x, &self.through);
        self.height + self.slope.x * step.x + self.slope.y * step.y
    }
}

impl<'a, S: Number> Across<'a, S> {
    pub(super) fn new(n: &'a Vector3<S>, origin: &Vector3<f64>) -> Self {
        let u = unit(&cross(n, &constant(&Vector3::ith(values(n).iamin(), 1.0))));
        Self { axes: [u, cross(n, &u)], n, origin: *origin }
    }

    pub(super) fn flat(&self, v: &Vector3<S>) -> Vector2<S> {
        Vector2::new(dot(&self.axes[0], v), dot(&self.axes[1], v))
    }

    pub(super) fn plane(&self, patch: &Patch<S>) -> Plane<S> {
        let from = sub(&patch.anchor, &constant(&self.origin));
        let (tilted, down) = (self.flat(&patch.normal), S::constant(-1.0) / dot(self.n, &patch.normal));
        Plane {
            through: self.flat(&from),
            height: dot(self.n, &from),
            slope: Vector2::new(tilted.x * down, tilted.y * down),
        }
    }

    pub(super) fn over(&self, point: &Vector3<S>) -> Vector2<S> {
        self.flat(&sub(point, &constant(&self.origin)))
    }
}

/// A patch as it is seen along n.
pub(super) struct Side<S> {
    pub(super) polygon: Vec<Corner<S>>,
    pub(super) plane: Plane<S>,
    /// As its patch's.
    pub(super) inscribed: Option<S>,
    pub(super) disc: Option<Ellipse<S>>,
}

impl<S: Number> Side<S> {
    /// Where the other side lies over this one; nothing if none of them is a polygon.
    pub(super) fn overlap(&self, other: &Self) -> Vec<Corner<S>> {
        let (own, others) = (&self.polygon, &other.polygon);
        match (&self.disc, &other.disc) {
            (Some(disc), None) if !others.is_empty() => return disc.overlap(others, own),
            (None, Some(disc)) if !own.is_empty() => return disc.overlap(own, others),
            _ => {}
        }
        match (own.len(), others.len()) {
            (0, _) => others.clone(),
            (_, 0) => own.clone(),
            (_, 3..) => overlap(own, others),
            (3.., _) => overlap(others, own),
            _ => Vec::new(),
        }
    }
}

impl<S: Number> Cell<S> {
    /// Where a side of A and one of B lie over each other.
    pub(super) fn of(a: &Side<S>, b: &Side<S>) -> Self {
        Self { corners: a.overlap(b), slope: sub2(&b.plane.slope, &a.plane.slope) }
    }

    /// Are all of its points the closest ones?
    pub(super) fn is_parallel(&self) -> bool {
        dot2(&self.slope, &self.slope).value() < PARALLEL * PARALLEL
    }
}

/// The overlaps of A's sides with B's, and of which sides they are, given how high the contact points are.
pub(super) fn cells<S: Number>(
    sides: &[Vec<Side<S>>; 2],
    ends: [f64; 2],
    slope: f64,
) -> (Vec<[usize; 2]>, Vec<Cell<S>>) {
    let [of_a, of_b] = sides;
    if let ([a], [b]) = (&of_a[..], &of_b[..]) {
        let cell = Cell::of(a, b);
        return if cell.corners.len() >= 2 { (vec![[0, 0]], vec![cell]) } else { (Vec::new(), Vec::new()) };
    }
    let mut corners = Vec::new();
    let mut windows = |k: usize| -> Vec<Window> {
        let sign = if k == 0 { -1.0 } else { 1.0 };
        sides[k].iter().map(|side| Window::new(side, ends[k], sign, slope, &mut corners)).collect()
    };
    let windows = [windows(0), windows(1)];
    let (mut pairs, mut all) = (Vec::new(), Vec::new());
    for (i, a) in of_a.iter().enumerate() {
        for (j, b) in of_b.iter().enumerate() {
            if !windows[0][i].meets(&windows[1][j]) {
                continue;
            }
            let is_line = a.polygon.len() == 2 || b.polygon.len() == 2;
            let cell = Cell::of(a, b);
            if cell.corners.len() >= if is_line { 2 } else { 3 } {
                pairs.push([i, j]);
                all.push(cell);
            }
        }
    }
    (pairs, all)
}

/// A rectangle over what a polygon has in the cone above the contact point.
pub(super) struct Window {
    low: Vector2<f64>,
    high: Vector2<f64>,
}

impl Window {
    /// Of a side, given how high the contact point is and which way is down; the corners are to work with. A corner outside the cone
    /// leaves of an edge what may be inside.
    fn new<S: Number>(
        Side { polygon, plane, disc, .. }: &Side<S>,
        end: f64,
        sign: f64,
        slope: f64,
        corners: &mut Vec<(Vector2<f64>, f64)>,
    ) -> Self {
        let mut all = Self { low: Vector2::repeat(f64::INFINITY), high: Vector2::repeat(f64::NEG_INFINITY) };
        if polygon.len() < 3 || disc.is_some() {
            return Self { low: all.high, high: all.low };
        }
        let down = |corner: &Corner<S>| (plane.height(&corner.at).value() - end) * sign;
        corners.clear();
        corners.extend(polygon.iter().map(|corner| (corner.at.map(S::value), down(corner))));
        let slope = slope * WIDER;
        let lies_out = |&(x, down): &(Vector2<f64>, f64)| down - slope * x.norm();
        let mut hold = |x: Vector2<f64>| (all.low, all.high) = (all.low.inf(&x), all.high.sup(&x));
        let n = corners.len();
        for (i, corner) in corners.iter().enumerate() {
            let out = lies_out(corner);
            if out > 0.0 {
                continue;
            }
            hold(corner.0);
            for other in [&corners[(i + 1) % n], &corners[(i + n - 1) % n]] {
                let rise = other.1 - corner.1 - slope * (other.0 - corner.0).norm();
                let part = if rise > -out { -out / rise } else { 1.0 };
                hold(corner.0 + (other.0 - corner.0) * part);
            }
        }
        all
    }

    fn meets(&self, other: &Self) -> bool {
        (0..2).all(|k| self.low[k] <= other.high[k] && other.low[k] <= self.high[k])
    }
}
