//! The signed distance of a point to an axis-aligned block |x_i| ≤ e_i in K dimensions, with derivatives. It is the
//! core of boxes (K = 3), and of cylinders in the half-plane of radius and height (K = 2).

use super::total::{Limited, Unit, choose, indicator, inner, limited, sign, unit};
use fingertip_lanes::lane::Real;

/// The relation of a point to a block: signed distance, normal, and what the derivatives need.
#[derive(Clone, Copy)]
pub(super) struct Nearest<R: Real, const K: usize> {
    /// Signed distance of the point to the block, m; negative inside.
    pub(super) gap: R,
    /// For each axis, the sign of the point's coordinate.
    side: [R; K],
    /// The point's coordinates limited to the block.
    limited: [Limited<R>; K],
    /// The vector from the point to the block's surface; for a point inside, to the plane of the nearest face, along
    /// each axis.
    way: [R; K],
    unit: Unit<R, K>,
}

/// The smallest of K numbers, as a one-hot vector. Of several equal ones it is the first.
#[inline(always)]
pub(super) fn smallest<R: Real, const K: usize>(values: [R; K]) -> [R; K] {
    let mut least = values[0];
    let mut chosen = [R::zero(); K];
    chosen[0] = R::one();
    for i in 1..K {
        let smaller = values[i].lt(least);
        least = R::select(smaller, values[i], least);
        for j in 0..i {
            chosen[j] = R::select(smaller, R::zero(), chosen[j]);
        }
        chosen[i] = indicator(smaller);
    }
    chosen
}

/// The signed distance of the point p to the block with half extents e.
#[inline(always)]
pub(super) fn nearest<R: Real, const K: usize>(p: [R; K], e: [R; K]) -> Nearest<R, K> {
    let mut limits = [limited(p[0], e[0]); K];
    let (mut side, mut apart, mut to_face, mut depth, mut exit) = (p, p, p, p, p);
    for i in 0..K {
        side[i] = sign(p[i]);
        limits[i] = limited(p[i], e[i]);
        apart[i] = limits[i].value - p[i];
        to_face[i] = side[i] * e[i] - p[i];
        depth[i] = side[i] * to_face[i];
    }
    let chosen = smallest(depth);
    for i in 0..K {
        exit[i] = -(chosen[i] * side[i]);
    }
    let unit = unit(apart, exit);
    let way = choose(unit.miss, to_face, apart);
    Nearest { gap: inner(unit.value, way), side, limited: limits, way, unit }
}

impl<R: Real, const K: usize> Nearest<R, K> {
    /// Unit vector from the point to the surface if the point is outside; into the block if it is inside.
    #[inline(always)]
    pub(super) fn normal(&self) -> [R; K] {
        self.unit.value
    }

    /// Is the point inside the block or on its surface?
    #[inline(always)]
    pub(super) fn inside(&self) -> R::Mask {
        self.unit.miss
    }

    /// Jacobian-vector product: the changes of the normal and the signed distance with a change of the point.
    #[inline(always)]
    pub(super) fn jvp(&self, p: [R; K]) -> ([R; K], R) {
        let (mut apart, mut way) = (p, p);
        for i in 0..K {
            apart[i] = self.limited[i].of_x * p[i] - p[i];
            way[i] = R::select(self.unit.miss, -p[i], apart[i]);
        }
        let normal = self.unit.vjp(apart);
        (normal, inner(normal, self.way) + inner(self.unit.value, way))
    }

    /// Vector-Jacobian product: the gradients of the point and the half extents, given those of the normal and the
    /// signed distance.
    #[inline(always)]
    pub(super) fn vjp(&self, mut normal: [R; K], gap: R) -> ([R; K], [R; K]) {
        for i in 0..K {
            normal[i] = gap.mul_add(self.way[i], normal[i]);
        }
        let mut p = self.unit.vjp(normal);
        let mut e = p;
        for i in 0..K {
            let along = gap * self.unit.value[i];
            let apart = p[i] + R::select(self.unit.miss, R::zero(), along);
            let to_face = R::select(self.unit.miss, along, R::zero());
            let Limited { of_x, of_limit, .. } = self.limited[i];
            p[i] = apart * of_x - apart - to_face;
            e[i] = of_limit.mul_add(apart, self.side[i] * to_face);
        }
        (p, e)
    }
}
