//! The contacts of all pairs of a scene, computed by the kernels of [`super::lanes`]: inside the kernels of a step, and
//! as one differentiable tensor operation.

use std::sync::Arc;

use candle_core::{Result, Tensor, bail};

use crate::kinematics::{POSE, Pose};
use crate::tensor::operation::{Function, Kernels, Operation, Signature};
use fingertip_lanes::lane::{Lane, Packed, Real, Single, Zip, clear};
use fingertip_lanes::vector::{add_vec3, cross, scale, vec3_at};
use fingertip_scene::Shape;
use fingertip_shapes::collision::Detail;

use super::absence::{is_absent, leave, pass};
use super::bound::Bound;
use super::contacts::Contacts;
use super::convex::ConvexPair;
use super::kind::PairFunction;
use super::lanes;
use super::lanes::bound::{BALL, are_apart, are_boxes_apart, put_apart, put_balls};
use super::numbers::GEOMETRY;
use super::shapes::{BodyShape, Pair};
use super::window::Window;

/// The number of numbers of a wrench: force and moment on a shape.
pub(crate) const PULL: usize = 6;

/// All pairs of a scene, in the order of their contacts, with the kernels that compute them.
#[derive(Clone, Debug)]
pub(crate) struct PairKernels {
    kernels: Kernels,
    pub(crate) pairs: Vec<PairKernel>,
    /// Bounds of all shapes; of none, of pairs that are far nothing is passed over.
    bounds: Vec<Bound>,
    pub(crate) n_shapes: usize,
    pub(crate) n_contacts: usize,
    /// The number of pairs of [`Method::Convex`].
    pub(crate) n_convex: usize,
    /// The number of weights: one for each contact, or none if all weights are 1.
    pub(crate) n_weights: usize,
}

/// A pair of shapes and its contacts.
#[derive(Clone, Debug)]
pub(crate) struct PairKernel {
    pub(crate) method: Method,
    pub(crate) a: usize,
    pub(crate) b: usize,
    /// The index of the pair's first contact.
    pub(crate) first: usize,
    /// The number of the pair's contacts.
    pub(crate) contacts: usize,
}

/// The way in which a pair's contacts are computed.
#[derive(Clone, Debug)]
pub(crate) enum Method {
    /// A formula whose contacts have constant weights.
    Formula(PairFunction),
    /// Contacts with weights that vary, by a formula or by a query in each world. The number is the pair's index among
    /// all pairs of this method.
    Convex(Box<ConvexPair>, usize),
}

impl Pair {
    /// The pair of two of these shapes, by their indices, with this friction and torsional friction.
    pub(super) fn new(
        [a, b]: [usize; 2],
        shapes: &[BodyShape],
        [mu, torsion]: [f64; 2],
        detail: Detail,
        window: Window,
    ) -> Self {
        let of = [&shapes[a].shape, &shapes[b].shape];
        let formula = PairFunction::find(of[0], of[1]);
        let convex = || ConvexPair::new(of[0], of[1], detail).contacts();
        let contacts = formula.map_or_else(convex, |formula| formula.contacts());
        Self { a, b, mu, torsion, contacts, formula, window, detail }
    }
}

impl PairKernel {
    /// The poses and sizes of the pair's shapes, out of those of all shapes.
    #[inline(always)]
    pub(crate) fn shapes<'a, R>(&self, poses: &'a [R], sizes: &'a [R]) -> lanes::convex::Places<'a, R> {
        let (a, b) = (self.a, self.b);
        let size = |shape: usize| &sizes[Shape::SIZES * shape..Shape::SIZES * (shape + 1)];
        [(&poses[POSE * a..POSE * (a + 1)], size(a)), (&poses[POSE * b..POSE * (b + 1)], size(b))]
    }
}

impl PairKernels {
    /// The kernels for the pairs of a scene.
    pub(super) fn new(pairs: &[Pair], shapes: &[BodyShape]) -> Self {
        let mut n_convex = 0;
        let mut convex = |pair: &Pair| {
            n_convex += 1;
            let convex = ConvexPair::new(&shapes[pair.a].shape, &shapes[pair.b].shape, pair.detail);
            Method::Convex(Box::new(convex), n_convex - 1)
        };
        let of = |pair: &Pair| {
            let method = pair.formula.map_or_else(|| convex(pair), Method::Formula);
            (pair.a, pair.b, method, pair.contacts)
        };
        let all = Self::of(pairs.iter().map(of), shapes.len());
        Self { n_convex, bounds: shapes.iter().map(|shape| Bound::new(&shape.shape)).collect(), ..all }
    }

    /// The length of the balls around all shapes.
    pub(crate) fn n_balls(&self) -> usize {
        BALL * self.bounds.len()
    }

    /// A distance, m, that a pair of shapes which is far in one world is not nearer than: that of the `balls` around
    /// them, or how far the pair reaches if that is more; none if it is not told apart.
    pub(crate) fn far_distance(&self, pair: &PairKernel, [poses, sizes, balls]: [&[f64]; 3]) -> Option<f64> {
        let Method::Convex(convex, _) = &pair.method else { return None };
        let (_, reach) = convex.bounds()?;
        let [a, b] = [pair.a, pair.b].map(|shape| &balls[BALL * shape..BALL * (shape + 1)]);
        let between = (0..3).map(|k| (b[k] - a[k]).powi(2)).sum::<f64>().sqrt() - a[3] - b[3];
        // A half-space has no ball.
        let distance = if between.is_nan() { Self::bounds_distance(pair, convex, poses, sizes)? } else { between };
        Some(if distance < reach { reach } else { distance })
    }

    /// φ of the bounds of a pair in one world, m.
    fn bounds_distance(pair: &PairKernel, convex: &ConvexPair, poses: &[f64], sizes: &[f64]) -> Option<f64> {
        fn of<const N: usize>(numbers: &[f64]) -> [Single<f64, false>; N] {
            std::array::from_fn(|k| Single::splat(numbers[k]))
        }
        let [(pose_a, size_a), (pose_b, size_b)] = pair.shapes(poses, sizes);
        let [pose_a, pose_b] = [pose_a, pose_b].map(of::<POSE>);
        let [size_a, size_b] = [size_a, size_b].map(of::<{ Shape::SIZES }>);
        Some(lanes::convex::far_distance(convex, [(&pose_a, &size_a), (&pose_b, &size_b)])?.get(0))
    }

    /// The kernels for n pairs with the same formula: pair k consists of the shapes k and n + k.
    pub(super) fn of_formula(formula: PairFunction, n: usize) -> Self {
        Self::of((0..n).map(|k| (k, n + k, Method::Formula(formula), formula.contacts())), 2 * n)
    }

    /// The kernels for pairs, each given by A, B, method and number of contacts.
    fn of(pairs: impl Iterator<Item = (usize, usize, Method, usize)>, n_shapes: usize) -> Self {
        let (mut n_contacts, mut are_weighted) = (0, false);
        let pairs = pairs.map(|(a, b, method, contacts)| {
            n_contacts += contacts;
            are_weighted |= !matches!(&method, Method::Formula(formula) if formula.kind.weight() == 1.0);
            PairKernel { method, a, b, first: n_contacts - contacts, contacts }
        });
        let pairs = pairs.collect();
        let n_weights = if are_weighted { n_contacts } else { 0 };
        Self { pairs, bounds: Vec::new(), n_shapes, n_contacts, n_convex: 0, n_weights, kernels: Kernels::default() }
    }

    /// Computes the contacts: [`GEOMETRY`] numbers each (normal, points, φ) and the weights. For convex pairs also
    /// `nearest`: normal, points and φ where the shapes are nearest, which the derivatives need. `near` has a number
    /// for each pair, or none: see [`super::absence`]. Pairs that are far in every world of the lane are absent. Of
    /// those that were so before nothing is written if there is room for `balls` around all shapes ([`BALL`] numbers
    /// each): then their distance is not told, and boxes around shapes tell them apart as well.
    #[inline(always)]
    pub(crate) fn witness<R: Lane>(
        &self,
        [poses, sizes]: [&[R]; 2],
        [contacts, weights, nearest, near, balls]: [&mut [R]; 5],
    ) {
        if !balls.is_empty() {
            put_balls(&self.bounds, [poses, sizes], balls);
        }
        pass(near);
        for (i, pair) in R::parts(self.pairs.iter().enumerate()) {
            let shapes = pair.shapes(poses, sizes);
            let of = pair.first..pair.first + pair.contacts;
            let contacts = &mut contacts[GEOMETRY * of.start..GEOMETRY * of.end];
            match &pair.method {
                Method::Formula(PairFunction { kind, swapped }) => {
                    let [(a, size_a), (b, size_b)] = shapes;
                    lanes::witness(*kind, *swapped, &Pose::read(a), size_a, &Pose::read(b), size_b, contacts);
                    if !weights.is_empty() {
                        for weight in &mut weights[of] {
                            *weight = R::splat(kind.weight());
                        }
                    }
                }
                Method::Convex(convex, k) => {
                    let nearest = &mut nearest[GEOMETRY * k..GEOMETRY * (k + 1)];
                    let mut near = near.get_mut(i);
                    if !balls.is_empty()
                        && let Some(near) = near.as_deref_mut()
                        && let Some((bounds, reach)) = convex.bounds()
                        && (are_apart(balls, [pair.a, pair.b], reach) || are_boxes_apart(bounds, shapes, reach))
                    {
                        if !is_absent(*near) {
                            put_apart(reach, contacts, &mut weights[of]);
                        }
                        leave(near);
                        continue;
                    }
                    lanes::convex::witness(convex, shapes, (contacts, &mut weights[of]), nearest, near);
                }
            }
        }
    }

    /// Vector-Jacobian product of [`PairKernels::witness`], which must come before. Adds to the gradients of poses and
    /// sizes, given the gradients of contacts and weights. Pairs that are absent by `near`, if it is given, have none.
    /// `pulls` is left with the wrenches on the shapes, [`PULL`] numbers each.
    #[inline(always)]
    pub(crate) fn vjp<R: Lane>(
        &self,
        [poses, sizes, nearest, near]: [&[R]; 4],
        [contacts, weights]: [&[R]; 2],
        [pulls, to_poses, to_sizes]: [&mut [R]; 3],
    ) {
        clear(pulls);
        for (i, pair) in R::parts(self.pairs.iter().enumerate()) {
            if near.get(i).is_some_and(|near| is_absent(*near)) {
                continue;
            }
            let shapes = pair.shapes(poses, sizes);
            let of = pair.first..pair.first + pair.contacts;
            let grad = &contacts[GEOMETRY * of.start..GEOMETRY * of.end];
            let mut wrenches = [[R::zero(); PULL]; 2];
            let mut grown = [[R::zero(); Shape::SIZES]; 2];
            match &pair.method {
                Method::Formula(PairFunction { kind, swapped }) => {
                    let ([on_a, on_b], [grow_a, grow_b]) = (&mut wrenches, &mut grown);
                    let [(a, size_a), (b, size_b)] = shapes;
                    let (a, b) = (Pose::read(a), Pose::read(b));
                    lanes::vjp(*kind, *swapped, &a, size_a, &b, size_b, grad, on_a, on_b, grow_a, grow_b);
                }
                Method::Convex(convex, k) => {
                    let nearest = &nearest[GEOMETRY * k..GEOMETRY * (k + 1)];
                    lanes::convex::vjp(convex, shapes, nearest, (grad, &weights[of]), &mut wrenches, &mut grown);
                }
            }
            for (shape, (wrench, grown)) in [pair.a, pair.b].into_iter().zip_inline(wrenches.iter().zip_inline(&grown))
            {
                for k in 0..PULL {
                    pulls[PULL * shape + k] += wrench[k];
                }
                for k in 0..Shape::SIZES {
                    to_sizes[Shape::SIZES * shape + k] += grown[k];
                }
            }
        }
        for shape in R::parts(0..self.n_shapes) {
            let (force, moment) = (vec3_at(pulls, PULL * shape), vec3_at(pulls, PULL * shape + 3));
            let place = POSE * shape;
            add_vec3(to_poses, place, force);
            // The gradient of an axis r is ½ m × r for a moment m: turning by θ moves r by θ × r, and Σ (m × r)·(θ ×
            // r) = 2 m·θ.
            for k in 0..3 {
                let axis = vec3_at(poses, place + 3 + 3 * k);
                add_vec3(to_poses, place + 3 + 3 * k, scale(R::splat(0.5), cross(moment, axis)));
            }
        }
    }

    /// A pair without formula, whose closest points are searched for, if there is one.
    pub(crate) fn searched(&self) -> Option<&PairKernel> {
        self.pairs.iter().find(|pair| matches!(&pair.method, Method::Convex(pair, _) if pair.formula().is_none()))
    }

    /// The contacts for poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4), as one differentiable operation.
    pub(super) fn contacts(self: &Arc<Self>, poses: &Tensor, sizes: &Tensor) -> Result<Contacts> {
        if !poses.device().is_cpu()
            && let Some(PairKernel { a, b, .. }) = self.searched()
        {
            bail!(
                "contacts: on a GPU expected pairs whose contacts have a formula, got shapes {a} and {b}, whose closest points \
                 are searched for"
            );
        }
        let op = Operation::rowwise(Witness(self.clone()), &self.kernels);
        Contacts::of_row(&poses.flatten_from(1)?.apply_op2(&sizes.flatten_from(1)?, op)?, self.n_contacts)
    }
}

/// The tensor operation (poses, sizes) → (contacts, weights). All are rows per world.
struct Witness(Arc<PairKernels>);

impl Function<2> for Witness {
    fn signature(&self) -> Signature<2> {
        let PairKernels { n_shapes, n_contacts, .. } = &*self.0;
        let operands = [("poses", POSE * n_shapes), ("sizes", Shape::SIZES * n_shapes)];
        Signature { name: "contacts", operands, width: GEOMETRY * n_contacts + self.0.n_weights }
    }

    /// Working memory: the nearest points of convex pairs, the wrenches on the shapes, and contacts and weights
    /// computed again for the derivatives.
    fn scratch(&self) -> usize {
        GEOMETRY * self.0.n_convex + PULL * self.0.n_shapes + self.signature().width
    }

    #[inline(always)]
    fn value<R: Lane>(&self, operands: [&[R]; 2], scratch: &mut [R], out: &mut [R]) {
        let (contacts, weights) = out.split_at_mut(GEOMETRY * self.0.n_contacts);
        self.0.witness(operands, [contacts, weights, scratch, &mut [], &mut []]);
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, [poses, sizes]: [&[R]; 2], scratch: &mut [R], grad: &[R], to: [&mut [R]; 2]) {
        let of = &*self.0;
        let (nearest, rest) = scratch.split_at_mut(GEOMETRY * of.n_convex);
        let (pulls, again) = rest.split_at_mut(PULL * of.n_shapes);
        if of.n_convex > 0 {
            let (contacts, weights) = again.split_at_mut(GEOMETRY * of.n_contacts);
            of.witness([poses, sizes], [contacts, weights, nearest, &mut [], &mut []]);
        }
        let (contacts, weights) = grad.split_at(GEOMETRY * of.n_contacts);
        let [to_poses, to_sizes] = to;
        of.vjp([poses, sizes, nearest, &[]], [contacts, weights], [pulls, to_poses, to_sizes]);
    }
}
