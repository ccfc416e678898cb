//! Contacts that resist turning about their normal: soft patches in the place of points.
//!
//! To the solver each of them is two, at the same points and with half the weight each: one whose friction resists
//! [sliding](Slip::Slides), with the coefficient μ, and behind all of those one whose friction resists
//! [turning](Slip::Turns), with the coefficient γ (m). Between them they carry the normal force f_n. By the relaxed law they
//! share it in any proportion, so that the tangential force and the torque τ about the normal obey
//!
//! ```text
//! ‖f_t‖/μ + |τ|/γ ≤ f_n
//! ```
//!
//! By Coulomb's law the gap, which is the same for both, tells the force of each: they share it evenly. Coefficients twice as large make that
//!
//! ```text
//! ‖f_t‖ ≤ μ f_n,   |τ| ≤ γ f_n
//! ```

use candle_core::{Result, Tensor};

use crate::contact::{Contacts, frame};
use crate::description::Friction;
use crate::math::tensor::{dot, index, part};
use crate::model::Model;
use crate::parameters::Parameters;
use crate::solve::{CONTACT_OPERAND, Slip};

/// The weight of each of the two.
pub(super) const HALF: f64 = 0.5;

/// How many times as large as the scene's the coefficients of the two are.
pub(super) fn sharing(friction: Friction) -> f64 {
    match friction {
        Friction::Relaxed => 1.0,
        Friction::Coulomb => 2.0,
    }
}

/// A contact that resists turning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turning {
    /// Its number.
    pub(super) contact: usize,
    /// The place of its coefficient in [`Parameters::torsion`].
    pub(super) parameter: usize,
}

impl Turning {
    /// Those of a model.
    pub(super) fn all(model: &Model) -> Vec<Self> {
        let pairs: Vec<usize> = model.pairs.torsional_pairs().collect();
        let of = |&contact: &usize| {
            let pair = model.pairs.pair_of_contact[contact];
            Self { contact, parameter: pairs.partition_point(|&other| other < pair) }
        };
        model.pairs.torsional.iter().map(of).collect()
    }
}

/// What the solver sees of contacts (B, nc, 12): those, then the ones that resist turning.
pub(super) fn with_turning(model: &Model, parameters: &Parameters, contacts: &Tensor) -> Result<Tensor> {
    const MU: usize = 10;
    let turning = Turning::all(model);
    if turning.is_empty() {
        return Ok(contacts.clone());
    }
    let (b, nc, _) = contacts.dims3()?;
    let (device, dtype) = (contacts.device(), contacts.dtype());
    let sharing = sharing(model.params.friction);
    let mut factors = vec![1.0; nc * CONTACT_OPERAND];
    for &Turning { contact, .. } in &turning {
        factors[contact * CONTACT_OPERAND + MU] = sharing;
        factors[contact * CONTACT_OPERAND + MU + 1] = HALF;
    }
    let factors = Tensor::from_vec(factors, (1, nc, CONTACT_OPERAND), device)?.to_dtype(dtype)?;
    let contacts = contacts.broadcast_mul(&factors)?;
    let twice = contacts.index_select(&index(turning.iter().map(|of| of.contact), device)?, 1)?;
    let torsion = parameters.torsion.contiguous()?;
    let torsion = torsion.index_select(&index(turning.iter().map(|of| of.parameter), device)?, 1)?;
    let torsion = (torsion * sharing)?.broadcast_as((b, turning.len()))?.unsqueeze(2)?;
    let twice = Tensor::cat(&[&part(&twice, 2, 0, MU)?, &torsion, &part(&twice, 2, MU + 1, 1)?], 2)?;
    Tensor::cat(&[contacts, twice], 1)
}

/// Forces (B, nc, 3) on B and torques about the normal (B, n_torsional), of the solver's forces.
pub(super) fn totals(model: &Model, contacts: &Contacts, forces: &Tensor) -> Result<[Tensor; 2]> {
    let (nc, turning) = (model.nc(), &model.pairs.torsional);
    let (b, n) = (forces.dim(0)?, turning.len());
    if n == 0 {
        return Ok([forces.clone(), Tensor::zeros((b, 0), forces.dtype(), forces.device())?]);
    }
    let place = index(turning.iter().copied(), forces.device())?;
    let own = forces.narrow(1, nc, n)?;
    let normal = contacts.normal.contiguous()?.index_select(&place, 1)?;
    let tangent = frame(&normal)?.narrow(2, 1, 1)?.squeeze(2)?;
    let along = normal.broadcast_mul(&dot(&normal, &own)?.reshape((b, n, 1))?)?;
    let force = forces.narrow(1, 0, nc)?.contiguous()?.index_add(&place, &along, 1)?;
    Ok([force, dot(&tangent, &own)?.reshape((b, n))?])
}

/// What the friction of a model's contacts resists, as the solver counts them: the pair and the slip of each.
pub(super) fn slips(model: &Model) -> impl Iterator<Item = (usize, Slip)> {
    let pairs = &model.pairs;
    let of = |slip| move |&contact: &usize| (pairs.pair_of_contact[contact], slip);
    let all = pairs.pair_of_contact.iter().map(|&pair| (pair, Slip::Slides));
    all.chain(pairs.torsional.iter().map(of(Slip::Turns)))
}
