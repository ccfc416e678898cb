//! The features by which two boxes are closest, or by which they part on the shortest way, and the normal, in A's
//! frame.
//!
//! The separation along a face's normal or across two edges is largest along one of fifteen axes (Gottschalk, Lin,
//! Manocha, *OBBTree*, 1996). Overlapping boxes part along that axis. So do boxes that are apart, unless a vertex is
//! nearest to an edge or a vertex. Then the closest of the sixteen vertices to the other box decides.

use super::super::scalar::{Scalar, V3, choose, combined, cross, dot, scale, times};
use super::super::total::{indicator, limited, sign};
use super::pair::Boxes;
use fingertip_lanes::lane::{Mask, Precision, Real};
use fingertip_lanes::vector::{self, Vec3};

/// Edges count as parallel if the cross product of their directions is shorter than this. They have no separating axis
/// of their own.
#[inline(always)]
fn parallel<R: Real>() -> f64 {
    match R::precision() {
        Precision::Double => 1e-9,
        Precision::Single => 1e-5,
    }
}

/// To win, an axis must beat those before it by this part of the boxes' reach, which is above rounding.
#[inline(always)]
fn beaten<R: Real>() -> f64 {
    match R::precision() {
        Precision::Double => 1e-14,
        Precision::Single => 1e-6,
    }
}

/// The normal is along the separating axis if the closest points are less than this beside it, as a part of the boxes'
/// size.
#[inline(always)]
fn aside<R: Real>() -> f64 {
    match R::precision() {
        Precision::Double => 1e-10,
        Precision::Single => 1e-5,
    }
}

/// The features of two boxes that are in contact.
pub(super) struct Features<R: Real> {
    /// Are two edges in contact?
    edges: R::Mask,
    /// If not: is it a vertex of B and a feature of A next to it? Else it is a vertex of A and a feature of B.
    of_b: R::Mask,
    /// The signs of A's vertex, or of the middle of A's edge (0 along the edge).
    corner_a: Vec3<R>,
    /// The signs of B's vertex, or of the middle of B's edge (0 along the edge).
    corner_b: Vec3<R>,
    /// The feature next to the vertex: the signs of the sides that it is on, 0 for axes along which the vertex is over
    /// the box.
    sides: Vec3<R>,
    /// Is the feature next to the vertex a face?
    is_face: R::Mask,
    /// One-hot: the axis of A's edge.
    along_a: Vec3<R>,
    /// One-hot: the axis of B's edge.
    along_b: Vec3<R>,
    /// The sign of the normal along the cross product of the edges.
    sense: R,
}

/// The best separating axis so far.
struct Axis<R> {
    /// The separation along the axis, m; negative if the boxes overlap.
    separation: R,
    /// The index of the axis: 0 to 2 for faces of A, 3 to 5 for faces of B, then 6 + 3 i + j for edges along axes i of
    /// A and j of B.
    index: R,
    /// The sign of the axis, so that it points from A to B.
    sense: R,
}

impl<R: Real> Axis<R> {
    /// Takes another axis if it separates the boxes by more.
    #[inline(always)]
    fn take(&mut self, along: R, reach: R, length: R, index: usize, is_there: R::Mask) {
        let per_length = R::one() / length;
        let here = (along.abs() - reach) * per_length;
        let least = (reach * per_length).mul_add(R::splat(beaten::<R>()), self.separation);
        let better = here.gt(least).and(is_there);
        self.separation = R::select(better, here, self.separation);
        self.index = R::select(better, R::splat(index as f64), self.index);
        self.sense = R::select(better, sign(along), self.sense);
    }

    /// 1 if the axis with this index is the best one, else 0.
    #[inline(always)]
    fn is(&self, index: usize) -> R {
        indicator((self.index - R::splat(index as f64)).abs().lt(R::splat(0.5)))
    }
}

/// The cross product 1_i × b of a unit vector along axis i.
#[inline(always)]
fn across<R: Real>(i: usize, b: Vec3<R>) -> Vec3<R> {
    let zero = R::zero();
    match i {
        0 => [zero, -b[2], b[1]],
        1 => [b[2], zero, -b[0]],
        _ => [-b[1], b[0], zero],
    }
}

/// The axis of the fifteen along which the boxes' separation is largest.
#[inline(always)]
fn best_axis<R: Real>(boxes: &Boxes<R>) -> Axis<R> {
    let Boxes { t, b, half_a, half_b, .. } = boxes;
    let (one, always) = (R::one(), R::Mask::splat(true));
    let mut axis = Axis { separation: R::splat(f64::NEG_INFINITY), index: R::zero(), sense: one };
    // For faces that lie on each other, prefers the larger box's: most tilts leave the other one's corners on it.
    for j in 0..3 {
        let reach_a = vector::dot([b[j][0].abs(), b[j][1].abs(), b[j][2].abs()], *half_a);
        axis.take(vector::dot(b[j], *t), half_b[j] + reach_a, one, 3 + j, always);
    }
    for i in 0..3 {
        let reach_b = vector::dot([b[0][i].abs(), b[1][i].abs(), b[2][i].abs()], *half_b);
        axis.take(t[i], half_a[i] + reach_b, one, i, always);
    }
    for i in 0..3 {
        for j in 0..3 {
            let n = across(i, b[j]);
            let length = vector::dot(n, n).sqrt();
            let is_there = length.gt(R::splat(parallel::<R>()));
            let reach = edge_reach(boxes, n);
            let length = R::select(is_there, length, one);
            axis.take(vector::dot(*t, n), reach, length, 6 + 3 * i + j, is_there);
        }
    }
    axis
}

/// The sum of both boxes' half extents along n.
#[inline(always)]
fn edge_reach<R: Real>(Boxes { b, half_a, half_b, .. }: &Boxes<R>, n: Vec3<R>) -> R {
    let along_b = [vector::dot(b[0], n).abs(), vector::dot(b[1], n).abs(), vector::dot(b[2], n).abs()];
    vector::dot([n[0].abs(), n[1].abs(), n[2].abs()], *half_a) + vector::dot(along_b, *half_b)
}

/// The vertex that is nearest to the other box, for boxes that are apart.
struct Apart<R> {
    /// The smallest squared distance of a vertex from the other box.
    square: R,
    /// The vector from A to B at that vertex.
    way: Vec3<R>,
    /// Whose vertex it is: 1 for B, 0 for A.
    of_b: R,
    /// The signs of the vertex's coordinates in its box.
    corner: Vec3<R>,
    /// 1 if two edges cross with a gap between them, so that the vertex may not be nearest; else 0.
    crosses: R,
}

fingertip_lanes::lane::state!(Apart { numbers: [square, of_b, crosses], flags: [], states: [way, corner] });

impl<R: Real> Apart<R> {
    /// Takes another vertex if it is nearer.
    #[inline(always)]
    fn take(&mut self, way: Vec3<R>, of_b: bool, corner: Vec3<R>) {
        let square = vector::dot(way, way);
        let nearer = square.lt(self.square);
        self.square = R::select(nearer, square, self.square);
        self.way = choose(nearer, way, self.way);
        self.of_b = R::select(nearer, R::splat(f64::from(u8::from(of_b))), self.of_b);
        self.corner = choose(nearer, corner, self.corner);
    }

    /// Compares all sixteen vertices.
    #[inline(always)]
    fn vertices(&mut self, boxes: &Boxes<R>) {
        let Boxes { b, half_a, half_b, .. } = boxes;
        for k in R::parts(0..8) {
            let mut corner = [R::one(); 3];
            for i in 0..3 {
                corner[i] = R::splat(if k >> i & 1 == 0 { 1.0 } else { -1.0 });
            }
            let x = boxes.corner_b(corner);
            let mut way = x;
            for i in 0..3 {
                way[i] = x[i] - limited(x[i], half_a[i]).value;
            }
            self.take(way, true, corner);
            let y = boxes.in_b([corner[0] * half_a[0], corner[1] * half_a[1], corner[2] * half_a[2]]);
            let mut own = y;
            for j in 0..3 {
                own[j] = limited(y[j], half_b[j]).value - y[j];
            }
            let way = vector::axpy(own[0], b[0], vector::axpy(own[1], b[1], vector::scale(own[2], b[2])));
            self.take(way, false, corner);
        }
    }

    /// Finds out whether two edges cross, seen along their common perpendicular, with a gap between.
    #[inline(always)]
    fn edges(&mut self, boxes: &Boxes<R>) {
        let Boxes { t, b, half_a, half_b, .. } = boxes;
        let (one, zero) = (R::one(), R::zero());
        for k in R::parts(0..9) {
            let (i, j) = (k / 3, k % 3);
            let across = across(i, b[j]);
            let square = vector::dot(across, across);
            let is_there = square.gt(R::splat(parallel::<R>() * parallel::<R>()));
            let per_square = one / R::select(is_there, square, one);
            let n = vector::scale(sign(vector::dot(*t, across)), across);
            let (mut middle_a, mut sides_b) = ([zero; 3], [zero; 3]);
            for m in 0..3 {
                if m != i {
                    middle_a[m] = sign(n[m]) * half_a[m];
                }
                if m != j {
                    sides_b[m] = -sign(vector::dot(b[m], n));
                }
            }
            let between = vector::sub(boxes.corner_b(sides_b), middle_a);
            let mut along = [zero; 3];
            along[i] = one;
            let on_a = vector::dot(vector::cross(between, b[j]), across) * per_square;
            let on_b = vector::dot(vector::cross(between, along), across) * per_square;
            let is_crossing = on_a.abs().gt(half_a[i]).or(on_b.abs().gt(half_b[j])).not();
            let is_apart = vector::dot(between, n).gt(zero);
            self.crosses = R::select(is_there.and(is_crossing).and(is_apart), one, self.crosses);
        }
    }
}

impl<R: Real> Features<R> {
    /// The features in contact of these boxes.
    #[inline(always)]
    pub(super) fn new(boxes: &Boxes<R>) -> Self {
        let Boxes { b, half_a, half_b, .. } = boxes;
        let (zero, half) = (R::zero(), R::splat(0.5));
        let axis = best_axis(boxes);
        let mut face_a = [zero; 3];
        let mut face_b = [zero; 3];
        let (mut along_a, mut along_b) = ([zero; 3], [zero; 3]);
        for k in 0..3 {
            face_a[k] = axis.is(k);
            face_b[k] = axis.is(3 + k);
        }
        for i in 0..3 {
            for j in 0..3 {
                let here = axis.is(6 + 3 * i + j);
                along_a[i] += here;
                along_b[j] += here;
            }
        }
        let edges = axis.index.gt(R::splat(5.5));
        let on_a = axis.index.lt(R::splat(2.5));
        let b_along = vector::axpy(along_b[0], b[0], vector::axpy(along_b[1], b[1], vector::scale(along_b[2], b[2])));
        let b_face = vector::axpy(face_b[0], b[0], vector::axpy(face_b[1], b[1], vector::scale(face_b[2], b[2])));
        let crossed = vector::cross(along_a, b_along);
        let length = R::select(edges, vector::dot(crossed, crossed), R::one()).sqrt();
        let crossed = vector::scale(R::one() / length, crossed);
        let n = vector::scale(axis.sense, choose(edges, crossed, vector::add(face_a, b_face)));

        let mut apart = Apart { square: R::splat(f64::INFINITY), way: n, of_b: zero, corner: n, crosses: zero };
        let is_apart = axis.separation.gt(zero);
        R::when(
            is_apart,
            &mut apart,
            #[inline(always)]
            |apart| {
                apart.vertices(boxes);
                apart.edges(boxes);
            },
        );
        let beside = vector::axpy(-axis.separation, n, apart.way);
        let size2 = vector::dot(*half_a, *half_a) + vector::dot(*half_b, *half_b);
        let is_beside = vector::dot(beside, beside).gt(size2.scale(aside::<R>() * aside::<R>()));
        let is_free = is_apart.and(is_beside).and(apart.crosses.lt(half));

        let free_b = is_free.and(apart.of_b.gt(half));
        let free_a = is_free.and(apart.of_b.lt(half));
        let (x, y) = (
            boxes.corner_b(apart.corner),
            boxes.in_b([apart.corner[0] * half_a[0], apart.corner[1] * half_a[1], apart.corner[2] * half_a[2]]),
        );
        let (mut corner_a, mut corner_b, mut sides) = ([zero; 3], [zero; 3], [zero; 3]);
        for k in 0..3 {
            let own_a = sign(n[k]) * (R::one() - along_a[k]);
            let own_b = -sign(vector::dot(b[k], n)) * (R::one() - along_b[k]);
            corner_a[k] = R::select(is_free, apart.corner[k], own_a);
            corner_b[k] = R::select(is_free, apart.corner[k], own_b);
            let over_a = sign(x[k]) * indicator(x[k].abs().gt(half_a[k]));
            let over_b = sign(y[k]) * indicator(y[k].abs().gt(half_b[k]));
            let of_axis = axis.sense * (face_a[k] - face_b[k]);
            sides[k] = R::select(free_b, over_a, R::select(free_a, over_b, of_axis));
        }
        let count = vector::dot(sides, sides);
        Self {
            of_b: free_b.or(is_free.not().and(on_a)),
            edges: is_free.not().and(edges),
            corner_a,
            corner_b,
            sides,
            is_face: count.lt(R::splat(1.5)),
            along_a,
            along_b,
            sense: axis.sense,
        }
    }

    /// Unit vector from A to B for these features, differentiable.
    #[inline(always)]
    pub(super) fn normal<S: Scalar<Lane = R>>(&self, boxes: &Boxes<S>) -> V3<S> {
        let Boxes { t, b, half_a, half_b, .. } = boxes;
        let one = t[0].constant(R::one());
        let vertex_b = boxes.corner_b(self.corner_b);
        let mut vertex_a = *t;
        for k in 0..3 {
            vertex_a[k] = half_a[k].times(self.corner_a[k]);
        }

        let y = boxes.in_b(vertex_a);
        let (mut way_b, mut own) = (*t, *t);
        for k in 0..3 {
            let side = self.sides[k];
            way_b[k] = S::weighted2([vertex_b[k], half_a[k]], [side * side, -side]);
            own[k] = S::weighted2([half_b[k], y[k]], [side, -(side * side)]);
        }
        let mut way_a = own;
        for k in 0..3 {
            way_a[k] = S::inner(own, [b[0][k], b[1][k], b[2][k]]);
        }

        let (mut sides, mut along_a) = ([one; 3], [one; 3]);
        for k in 0..3 {
            sides[k] = one.constant(self.sides[k]);
            along_a[k] = one.constant(self.along_a[k]);
        }
        let face = choose(self.of_b, sides, times(R::splat(-1.0), combined(self.sides, b)));
        let along_b = combined(self.along_b, b);
        let across = cross(along_a, along_b);
        let direction = choose(self.edges, times(self.sense, across), choose(self.of_b, way_b, way_a));
        let is_face = self.is_face.and(self.edges.not());
        let square = S::choose(is_face, one, dot(direction, direction));
        let length = square.root();
        let unit = scale(one / length, direction);
        choose(is_face, face, unit)
    }
}
