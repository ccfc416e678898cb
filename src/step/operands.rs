//! What every step takes from the contacts.

use candle_core::{Device, Result, Tensor};

use crate::contact::{Contacts, UNUSED};
use crate::description::Shape;
use crate::kinematics::Frames;
use crate::math::largest::USABLE;
use crate::math::rows::Rows;
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{ContactPaths, Slip};

use super::torsion::{slips, with_turning};

/// What moves the two sides of each contact, as the solver counts them.
pub(super) fn contact_paths(model: &Model) -> Vec<ContactPaths> {
    let tree = &model.tree;
    let path = |shape: usize| -> Vec<(usize, usize)> {
        tree.path(model.shapes[shape].body).into_iter().map(|screw| (screw, tree.screw_dof[screw])).collect()
    };
    let of = |(pair, slip): (usize, Slip)| {
        let pair = &model.pairs.pairs[pair];
        ContactPaths { a: path(pair.a), b: path(pair.b), slip }
    };
    slips(model).map(of).collect()
}

/// The contacts where the frames are.
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
    match model.inertial.len() {
        0 => Ok(frames.poses.clone()),
        _ => frames.poses.narrow(1, 0, model.shapes.len())?.contiguous(),
    }
}

/// Normal, points, gap, μ and weight of each contact as the solver counts them (B, 12 n); gaps (the problem's φ) and weights, of which each contact
/// has its part, are (B, nc).
pub(super) fn contact_operand(
    model: &Model,
    parameters: &Parameters,
    contacts: &Contacts,
    gap: &Tensor,
    weight: &Tensor,
) -> Result<Tensor> {
    let Contacts { point_a, point_b, normal, weight: part, .. } = contacts;
    let (b, nc) = gap.dims2()?;
    let weight = match part {
        Some(part) => (weight * part)?,
        None => weight.clone(),
    };
    let mu = match &model.pairs.contact_index {
        Some(index) => parameters.mu.contiguous()?.index_select(index, 1)?,
        None => parameters.mu.clone(),
    };
    // Contiguous, as `cat` makes another graph of strided operands, in which gradients add up in another order.
    let mu = mu.broadcast_as((b, nc))?.contiguous()?.unsqueeze(2)?;
    let (gap, weight) = (gap.unsqueeze(2)?, weight.unsqueeze(2)?);
    let rows = Tensor::cat(&[normal, point_a, point_b, &gap, &mu, &weight], 2)?;
    with_turning(model, parameters, &rows)?.flatten_from(1)
}

/// Weight of each contact's barrier: 1 up to `contact_distance − fade`, 0 from `contact_distance` on, between them
/// t³ (10 − 15 t + 6 t²), t falling from 1 to 0. Contacts that a pair has room for but not now have none in any case.
pub(super) fn weights(model: &Model, phi: &Tensor) -> Result<Tensor> {
    let fade = model.params.fade;
    let Some(distance) = model.params.contact_distance.map(|distance| distance.min(UNUSED)) else {
        if model.pairs.has_formulas_only() {
            return phi.ones_like();
        }
        return phi.lt(UNUSED)?.to_dtype(phi.dtype());
    };
    if fade == 0.0 {
        return phi.lt(distance)?.to_dtype(phi.dtype());
    }
    let t = phi.affine(-1.0 / fade, distance / fade)?.clamp(0.0, 1.0)?;
    let polynomial = t.affine(6.0, -15.0)?.mul(&t)?.affine(1.0, 10.0)?;
    polynomial * t.powf(3.0)?
}

/// Is a configuration finite and in range, with quaternions that have a length: zero has none, and a subnormal number has
/// lost its direction?
pub(super) fn is_usable(model: &Model, q: &[f64]) -> bool {
    let mut floating = model.tree.coordinates.iter().filter(|c| c.kind.nq() == 7);
    q.iter().all(|x| x.abs() <= USABLE) && floating.all(|c| q[c.q + 3..c.q + 7].iter().any(|&x| x.is_normal()))
}

/// A mask (B, 1) of worlds whose q is usable; none if all are.
pub(super) fn worlds_with_usable_q(model: &Model, q: &Tensor) -> Result<Option<Tensor>> {
    let rows = Rows::from_tensor(&q.to_device(&Device::Cpu)?)?;
    let usable: Vec<bool> = (0..rows.rows()).map(|world| is_usable(model, rows.row(world))).collect();
    mask(&usable, q.device())
}

/// A mask (B, 1) of worlds; none if all are in it.
pub(super) fn mask(worlds: &[bool], device: &Device) -> Result<Option<Tensor>> {
    if worlds.iter().all(|&good| good) {
        return Ok(None);
    }
    let mask: Vec<u8> = worlds.iter().map(|&good| u8::from(good)).collect();
    Tensor::from_vec(mask, (worlds.len(), 1), device).map(Some)
}
