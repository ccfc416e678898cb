//! The solver's input from a model's contacts, for every kind of step: kinematic paths of both sides, shape poses,
//! barrier weights, friction.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::contact::numbers::GEOMETRY;
use crate::contact::{Contacts, UNUSED, Window};
use crate::kinematics::{Frames, Tree};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{CONTACT_OPERAND, ContactPaths, MU, Structure, WEIGHT};
use crate::tensor::beside;
use crate::tensor::operation::{Function, Kernels, Operation, Signature};
use fingertip_lanes::lane::{Lane, Mask, Real, Zip, copy};
use fingertip_scene::Shape;

use super::torsion::Torsion;

/// For each contact, the screws and degrees of freedom that move its sides A and B.
pub(super) fn contact_paths(model: &Model) -> Vec<ContactPaths> {
    let tree = &model.tree;
    let path = |shape: usize| -> Vec<(usize, usize)> {
        tree.path(model.shapes[shape].body).into_iter().map(|screw| (screw, tree.screw_dof[screw])).collect()
    };
    let of = |&pair: &usize| {
        let pair = &model.pairs.pairs[pair];
        ContactPaths { a: path(pair.a), b: path(pair.b) }
    };
    model.pairs.pair_of_contact.iter().map(of).collect()
}

/// The structure with what it is told of a model's contacts: which of them belong together, as those of a pair do, and
/// whether they resist turning.
pub(super) fn with_contacts(structure: Structure, model: &Model) -> Structure {
    let groups = model.pairs.pair_of_contact.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    let structure = structure.with_groups(groups);
    if model.pairs.torsional.is_empty() { structure } else { structure.with_torsion() }
}

/// Detects the contacts between the shapes at these frames.
pub(super) fn detect(model: &Model, parameters: &Parameters, frames: &Frames) -> Result<Contacts> {
    let [poses, sizes] = shapes(model, parameters, frames)?;
    model.pairs.detect(&poses, &sizes)
}

/// The shapes' poses (B, n_shapes, 12) and sizes (1 or B, n_shapes, 4).
fn shapes(model: &Model, parameters: &Parameters, frames: &Frames) -> Result<[Tensor; 2]> {
    let sizes = parameters.sizes.reshape((parameters.sizes.dim(0)?, model.shapes.len(), Shape::SIZES))?;
    Ok([shape_poses(model, frames)?, sizes])
}

/// The poses of the shapes among those of all frames.
pub(super) fn shape_poses(model: &Model, frames: &Frames) -> Result<Tensor> {
    match frames.poses.dim(1)? - model.shapes.len() {
        0 => Ok(frames.poses.clone()),
        _ => frames.poses.narrow(1, 0, model.shapes.len())?.contiguous(),
    }
}

/// The solver's input for a model's contacts apart from their geometry: barrier weights and friction coefficients.
#[derive(Debug)]
pub(super) struct ContactTables {
    /// Index of the pair of shapes of each contact.
    pairs: Vec<usize>,
    n_pairs: usize,
    /// How far each contact reaches.
    windows: Vec<Window>,
    pub(super) torsion: Torsion,
    kernels: Kernels,
}

impl ContactTables {
    pub(super) fn new(model: &Model) -> Arc<Self> {
        let table = &model.pairs;
        // A contact that a pair has room for but not now has no weight in any case.
        let most = if table.has_formulas_only() { f64::INFINITY } else { UNUSED };
        let windows = table.windows().map(|Window { reach, fade }| Window { reach: reach.min(most), fade });
        let (pairs, n_pairs) = (table.pair_of_contact.clone(), table.pairs.len());
        Arc::new(Self {
            pairs,
            n_pairs,
            windows: windows.collect(),
            torsion: Torsion::new(model),
            kernels: Kernels::default(),
        })
    }

    /// Weight of the barrier of a contact with this φ, and its derivative. Contacts that a pair has room for but not
    /// now have none.
    #[inline(always)]
    pub(super) fn weight<R: Real>(&self, contact: usize, phi: R) -> (R, R) {
        self.windows[contact].weight(phi)
    }

    /// Completes the solver's contacts that are present, in place: adds μ and γ.
    #[inline(always)]
    pub(super) fn complete<R: Real>(
        &self,
        present: impl Iterator<Item = usize>,
        [mu, torsion]: [&[R]; 2],
        [contacts, gammas]: [&mut [R]; 2],
    ) {
        for c in present {
            contacts[CONTACT_OPERAND * c + MU] = mu[self.pairs[c]];
            if let Some(gamma) = gammas.get_mut(c) {
                *gamma = self.torsion.gamma(c, torsion);
            }
        }
    }

    /// The vector-Jacobian product of `complete`: adds to the gradients of the coefficients of friction.
    #[inline(always)]
    pub(super) fn vjp_complete<R: Real>(
        &self,
        of: impl IntoIterator<Item = usize>,
        [mu, torsion]: [&mut [R]; 2],
        [contacts, gammas]: [&[R]; 2],
    ) {
        for c in of {
            mu[self.pairs[c]] += contacts[CONTACT_OPERAND * c + MU];
            if let Some(&gamma) = gammas.get(c) {
                self.torsion.vjp_gamma(c, gamma, torsion);
            }
        }
    }

    /// Weights (B, nc) of the barriers of contacts with these φ (B, nc).
    pub(super) fn weights(self: &Arc<Self>, phi: &Tensor) -> Result<Tensor> {
        phi.apply_op1(Operation::rowwise(Weights(self.clone()), &self.kernels))
    }

    /// Geometry and weight of each contact (B, 11 nc): gaps (the problem's φ) and weights, of which each contact has
    /// its part, are (B, nc).
    pub(super) fn placed(contacts: &Contacts, gap: &Tensor, weight: &Tensor) -> Result<Tensor> {
        let Contacts { point_a, point_b, normal, weight: part, .. } = contacts;
        let weight = match part {
            Some(part) => (weight * part)?,
            None => weight.clone(),
        };
        beside(&[normal, point_a, point_b, &gap.unsqueeze(2)?, &weight.unsqueeze(2)?], 2)?.flatten_from(1)
    }

    /// The solver's contacts, as [`ContactProblem::contacts`](crate::solve::ContactProblem::contacts), of what
    /// [`ContactTables::placed`] gives.
    pub(super) fn operand(self: &Arc<Self>, parameters: &Parameters, placed: &Tensor) -> Result<Tensor> {
        let op = Operation::rowwise(Complete(self.clone()), &self.kernels);
        placed.apply_op3(&parameters.mu, &parameters.torsion, op)
    }
}

/// φ → weights.
struct Weights(Arc<ContactTables>);

impl Function<1> for Weights {
    fn signature(&self) -> Signature<1> {
        let width = self.0.pairs.len();
        Signature { name: "contact weights", operands: [("phi", width)], width }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [phi]: [&[R]; 1], _: &mut [R], out: &mut [R]) {
        for ((weight, &phi), window) in out.iter_mut().zip_inline(phi).zip_inline(&self.0.windows) {
            *weight = window.weight(phi).0;
        }
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, [phi]: [&[R]; 1], _: &mut [R], grad: &[R], [to]: [&mut [R]; 1]) {
        for (((to, &phi), &grad), window) in to.iter_mut().zip_inline(phi).zip_inline(grad).zip_inline(&self.0.windows)
        {
            *to = grad * window.weight(phi).1;
        }
    }
}

/// (geometry and weights, μ, torsion) → the solver's contacts.
struct Complete(Arc<ContactTables>);

impl Complete {
    /// Length of a contact's geometry and weight.
    const OWN: usize = GEOMETRY + 1;

    /// Length of the solver's contacts, without and with the coefficients of torsional friction behind them.
    fn widths(&self) -> [usize; 2] {
        let (width, nc) = (CONTACT_OPERAND * self.0.pairs.len(), self.0.pairs.len());
        [width, if self.0.torsion.n_pairs > 0 { width + nc } else { width }]
    }
}

impl Function<3> for Complete {
    fn signature(&self) -> Signature<3> {
        let ContactTables { pairs, n_pairs, torsion, .. } = &*self.0;
        let operands = [("contacts", Self::OWN * pairs.len()), ("mu", *n_pairs), ("torsion", torsion.n_pairs)];
        Signature { name: "contact operands", operands, width: self.widths()[1] }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [own, mu, torsion]: [&[R]; 3], _: &mut [R], out: &mut [R]) {
        let (contacts, gammas) = out.split_at_mut(self.widths()[0]);
        for (own, to) in own.chunks_exact(Self::OWN).zip_inline(contacts.chunks_exact_mut(CONTACT_OPERAND)) {
            copy(&mut to[..GEOMETRY], &own[..GEOMETRY]);
            to[WEIGHT] = own[GEOMETRY];
        }
        self.0.complete(R::parts(0..self.0.pairs.len()), [mu, torsion], [contacts, gammas]);
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, _: [&[R]; 3], _: &mut [R], grad: &[R], [own, mu, torsion]: [&mut [R]; 3]) {
        let (contacts, gammas) = grad.split_at(self.widths()[0]);
        self.0.vjp_complete(R::parts(0..self.0.pairs.len()), [mu, torsion], [contacts, gammas]);
        for (from, own) in contacts.chunks_exact(CONTACT_OPERAND).zip_inline(own.chunks_exact_mut(Self::OWN)) {
            copy(&mut own[..GEOMETRY], &from[..GEOMETRY]);
            own[GEOMETRY] = from[WEIGHT];
        }
    }
}

/// Is a configuration finite and in range, with quaternions, which start at these places, that have a length: zero has
/// none, and a subnormal number has lost its direction?
#[inline(always)]
pub(super) fn is_usable<R: Real>(q: &[R], quaternions: &[usize]) -> R::Mask {
    let mut sum = R::zero();
    for &x in q {
        sum = x.doubt(sum);
    }
    let mut usable = sum.is_finite();
    for &at in quaternions {
        let mut largest = R::zero();
        for k in 0..4 {
            largest = largest.max(q[at + k].abs());
        }
        usable = usable.and(largest.lt(R::tiny()).not());
    }
    usable
}

/// Offsets in q of the quaternions, of their first numbers.
pub(super) fn quaternions(tree: &Tree) -> Vec<usize> {
    tree.coordinates.iter().filter_map(|c| Some(c.q + c.kind.quaternion()?)).collect()
}

/// A mask (B, 1) of worlds whose q (B, nq) is usable; none if all are.
pub(super) fn worlds_with_usable_q(model: &Model, kernels: &Kernels, q: &Tensor) -> Result<Option<Tensor>> {
    let op = UsableState { nq: model.nq(), quaternions: quaternions(&model.tree) };
    mask(&q.detach().apply_op1(Operation::rowwise(op, kernels))?)
}

/// q (B, nq), or the model's home in worlds whose q is not usable.
pub(crate) fn usable(model: &Model, kernels: &Kernels, q: &Tensor) -> Result<Tensor> {
    match worlds_with_usable_q(model, kernels, q)? {
        Some(mask) => mask.broadcast_as(q.shape())?.where_cond(q, &model.home(q.dim(0)?)?),
        None => Ok(q.clone()),
    }
}

/// q → 1 if it is usable, else 0.
struct UsableState {
    nq: usize,
    quaternions: Vec<usize>,
}

impl Function<1> for UsableState {
    fn signature(&self) -> Signature<1> {
        Signature { name: "usable states", operands: [("q", self.nq)], width: 1 }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [q]: [&[R]; 1], _: &mut [R], out: &mut [R]) {
        out[0] = R::select(is_usable(q, &self.quaternions), R::one(), R::zero());
    }

    /// The gradient stays zero: a choice between 0 and 1 has no slope.
    #[inline(always)]
    fn vjp<R: Lane>(&self, _: [&[R]; 1], _: &mut [R], _: &[R], _: [&mut [R]; 1]) {}
}

/// The mask (B, 1) of worlds with a nonzero number, or none if that is every world. Only this question is copied to the
/// host.
pub(super) fn mask(worlds: &Tensor) -> Result<Option<Tensor>> {
    let mask = worlds.detach().ne(0.0)?;
    let is_all = mask.flatten_all()?.to_vec1::<u8>()?.iter().all(|&good| good != 0);
    Ok((!is_all).then_some(mask))
}
