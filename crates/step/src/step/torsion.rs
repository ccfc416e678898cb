//! Contacts that resist turning about their normal: soft patches instead of points.
//!
//! Where a scene has such contacts, all of its contacts are of [four
//! dimensions](crate::solve::Structure::with_torsion). The tangential force f_t and the torque τ about the normal obey,
//! by either law,
//!
//! ```text
//! (‖f_t‖/μ)² + (τ/γ)² ≤ f_n²
//! ```
//!
//! γ (m) is 0 for the scene's other contacts, which have no torque then.

use candle_core::{Result, Tensor};

use crate::model::Model;
use crate::solve::vector::first;
use crate::solve::{CONTACT_OPERAND, FrictionCone, SLIDING, Solution, TURNING, WEIGHT, nth};
use crate::tensor::{gather, index};
use fingertip_lanes::lane::{Lane, Real, clear};
use fingertip_lanes::rows::Rows;
use fingertip_lanes::vector::{put_vec3, select, zero};

/// A contact that resists turning.
#[derive(Clone, Copy, Debug)]
struct Turning {
    /// Index of the contact's torque among all torques.
    torque: usize,
    /// Index of the contact's coefficient γ in [`Parameters::torsion`](crate::Parameters::torsion).
    parameter: usize,
}

/// The contacts of a model that resist turning.
#[derive(Clone, Debug)]
pub(super) struct Torsion {
    /// Each contact's torque; none of a contact that only resists sliding.
    of_contact: Vec<Option<Turning>>,
    /// The number of contacts that resist turning.
    pub(super) n_torques: usize,
    /// The number of torsional friction coefficients.
    pub(super) n_pairs: usize,
}

impl Torsion {
    pub(super) fn new(model: &Model) -> Self {
        let pairs: Vec<usize> = model.pairs.torsional_pairs().collect();
        let mut of_contact = vec![None; model.nc()];
        for (torque, &contact) in model.pairs.torsional.iter().enumerate() {
            let pair = model.pairs.pair_of_contact[contact];
            of_contact[contact] = Some(Turning { torque, parameter: pairs.partition_point(|&other| other < pair) });
        }
        Self { of_contact, n_torques: model.pairs.torsional.len(), n_pairs: pairs.len() }
    }

    /// The number of contacts.
    pub(super) fn nc(&self) -> usize {
        self.of_contact.len()
    }

    /// Length of a step's forces: three numbers for each contact, then the torques.
    pub(super) fn n_forces(&self) -> usize {
        SLIDING * self.nc() + self.n_torques
    }

    /// Index of a contact's torque, if it resists turning.
    pub(super) fn torque(&self, contact: usize) -> Option<usize> {
        self.of_contact[contact].map(|turning| turning.torque)
    }

    /// γ of a contact, given all coefficients (n) of torsional friction.
    #[inline(always)]
    pub(super) fn gamma<R: Real>(&self, contact: usize, torsion: &[R]) -> R {
        match self.of_contact[contact] {
            Some(Turning { parameter, .. }) => torsion[parameter],
            None => R::zero(),
        }
    }

    /// Adds the gradient of a contact's γ to those of the coefficients.
    #[inline(always)]
    pub(super) fn vjp_gamma<R: Real>(&self, contact: usize, grad: R, torsion: &mut [R]) {
        if let Some(Turning { parameter, .. }) = self.of_contact[contact] {
            torsion[parameter] += grad;
        }
    }

    /// A step's forces on B of the contacts that are `present`, and its torques, given the solver's contacts and their
    /// η.
    #[inline(always)]
    pub(super) fn forces<R: Real, const N: usize>(
        &self,
        present: impl Iterator<Item = usize>,
        (contacts, gammas): (&[R], &[R]),
        eta: &[R],
        forces: &mut [R],
    ) {
        let (forces, torques) = forces.split_at_mut(SLIDING * self.nc());
        clear(torques);
        for c in present {
            // No −0 of contacts without weight: lanes pass over those that are nowhere.
            if is_nowhere(contacts, c) {
                put_vec3(forces, 3 * c, zero());
                continue;
            }
            let cone = FrictionCone::<R, N>::read(contacts, gammas, c);
            let force = cone.scaled(nth(eta, c));
            put_vec3(forces, 3 * c, select(cone.is_there(), first(force), zero()));
            if let Some(Turning { torque, .. }) = self.of_contact[c] {
                torques[torque] = R::select(cone.is_there(), force[3], R::zero());
            }
        }
    }

    /// Loads the gradients of a step's forces and torques, in a row from `start` on, as those of the solver's N numbers
    /// for each contact.
    #[inline(always)]
    pub(super) fn load_gradient<R: Lane>(&self, rows: &Rows, (first, start): (usize, usize), to: &mut [R]) {
        if self.n_torques == 0 {
            rows.load_all(first, start, to);
            return;
        }
        for (c, to) in to.as_chunks_mut::<TURNING>().0.iter_mut().enumerate() {
            rows.load_all(first, start + SLIDING * c, &mut to[..SLIDING]);
            to[SLIDING] = match self.of_contact[c] {
                Some(Turning { torque, .. }) => rows.load(first, start + SLIDING * self.nc() + torque),
                None => R::zero(),
            };
        }
    }

    /// Forces (B, nc, 3) on B and torques (B, n) about the normal of a solution.
    pub(super) fn totals(&self, solution: &Solution) -> Result<[Tensor; 2]> {
        let force = &solution.force;
        if self.n_torques == 0 {
            return Ok([force.clone(), Tensor::zeros((force.dim(0)?, 0), force.dtype(), force.device())?]);
        }
        let turning = self.of_contact.iter().enumerate().filter_map(|(contact, of)| of.map(|_| contact));
        let torque = force.narrow(2, SLIDING, 1)?.squeeze(2)?;
        Ok([force.narrow(2, 0, SLIDING)?.contiguous()?, gather(&torque, &index(turning, force.device())?, 1)?])
    }
}

/// Has a contact of the solver no weight in any world of the lane? Then nothing that belongs to it is computed. Never
/// in a recording.
#[inline(always)]
pub(super) fn is_nowhere<R: Real>(contacts: &[R], contact: usize) -> bool {
    R::is_nowhere(contacts[CONTACT_OPERAND * contact + WEIGHT].gt(R::zero()))
}
