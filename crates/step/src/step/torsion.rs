//! Contacts that resist turning about their normal: soft patches instead of points.
//!
//! To the solver each of them is two contacts at the same points, each with half the weight. The friction of one
//! resists [sliding](Slip::Slides), with the coefficient μ. The friction of the other, its twin, resists
//! [turning](Slip::Turns), with the coefficient γ (m). Twins are stored behind all contacts. The two carry the normal
//! force f_n together. With the relaxed law they share it in any proportion, so the tangential force and the torque τ
//! about the normal obey
//!
//! ```text
//! ‖f_t‖/μ + |τ|/γ ≤ f_n
//! ```
//!
//! With Coulomb's law the gap determines the force of each. It is the same for both, so they share the force evenly.
//! With coefficients twice as large this gives
//!
//! ```text
//! ‖f_t‖ ≤ μ f_n,   |τ| ≤ γ f_n
//! ```
//!
//! A world that Coulomb's law has not settled has the relaxed law's answer, with that law's coefficients:
//! [`Structure::with_twins`](crate::solve::Structure::with_twins).

use candle_core::{Result, Tensor};

use crate::model::Model;
use crate::solve::{CONTACT_OPERAND, FrictionCone, Law, MU, Report, Slip, Solution, Status, WEIGHT};
use crate::tensor::operation::{Function, Kernels, Operation, Signature};
use crate::tensor::{gather, index, part};
use fingertip_lanes::lane::{Lane, Real, Zip, copy};
use fingertip_lanes::vector::{add_vec3, axpy, dot, put_vec3, scale, select, vec3_at, zero};

/// Factor on the barrier weight: each of two twins has half of the contact's weight.
const HALF: f64 = 0.5;
/// Length of the forces of a contact that resists turning: the twin's normal force, and the torque about the normal.
pub(super) const TURNING: usize = 2;

/// A contact that resists turning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turning {
    /// Index of the contact among the model's `nc` contacts.
    pub(super) contact: usize,
    /// Index of the contact's coefficient γ in [`Parameters::torsion`](crate::Parameters::torsion).
    parameter: usize,
}

/// The contacts of a model that resist turning. Behind its `nc` contacts the solver has a twin of each of these.
#[derive(Clone, Debug)]
pub(super) struct Torsion {
    pub(super) nc: usize,
    pub(super) turning: Vec<Turning>,
    /// The number of torsional friction coefficients.
    pub(super) n_pairs: usize,
    /// Factor from the scene's friction coefficients to those of the two twins: see [`Law::sharing`].
    sharing: f64,
    kernels: Kernels,
}

impl Torsion {
    pub(super) fn new(model: &Model) -> Self {
        let pairs: Vec<usize> = model.pairs.torsional_pairs().collect();
        let of = |&contact: &usize| {
            let pair = model.pairs.pair_of_contact[contact];
            Turning { contact, parameter: pairs.partition_point(|&other| other < pair) }
        };
        let sharing = model.params.friction.sharing();
        let turning = model.pairs.torsional.iter().map(of).collect();
        Self { nc: model.nc(), turning, n_pairs: pairs.len(), sharing, kernels: Kernels::default() }
    }

    /// The twins among the solver's contacts: each one's index, and the contact that it is the twin of.
    #[inline(always)]
    pub(super) fn twins(&self) -> impl Iterator<Item = (usize, Turning)> {
        self.turning.iter().enumerate().map(|(k, &turning)| (self.nc + k, turning))
    }

    /// Index among the model's contacts of one of the solver's contacts, which may be a twin.
    pub(super) fn once(&self, contact: usize) -> usize {
        if contact < self.nc { contact } else { self.turning[contact - self.nc].contact }
    }

    /// The number of the solver's contacts, twins included.
    pub(super) fn n_contacts(&self) -> usize {
        self.nc + self.turning.len()
    }

    /// Length of a step's forces: three numbers for each contact, then [`TURNING`] for each that resists turning.
    pub(super) fn n_forces(&self) -> usize {
        3 * self.nc + TURNING * self.turning.len()
    }

    /// Splits each contact that resists turning into two twins, in place, with the coefficients (n) of torsional
    /// friction.
    #[inline(always)]
    pub(super) fn split<R: Real>(&self, torsion: &[R], contacts: &mut [R]) {
        for (twin, Turning { contact, parameter }) in self.twins() {
            let (contacts, twins) = contacts.split_at_mut(CONTACT_OPERAND * twin);
            let contact = &mut contacts[CONTACT_OPERAND * contact..CONTACT_OPERAND * (contact + 1)];
            contact[MU] = contact[MU].scale(self.sharing);
            contact[WEIGHT] = contact[WEIGHT].scale(HALF);
            copy(&mut twins[..CONTACT_OPERAND], contact);
            twins[MU] = torsion[parameter].scale(self.sharing);
        }
    }

    /// The vector-Jacobian product of `split`: joins the gradients of twins to those of the model's contacts, in place,
    /// and adds to the gradients of the coefficients.
    #[inline(always)]
    pub(super) fn vjp_split<R: Real>(&self, torsion: &mut [R], contacts: &mut [R]) {
        for (twin, Turning { contact, parameter }) in R::parts(self.twins()) {
            let (contacts, twins) = contacts.split_at_mut(CONTACT_OPERAND * twin);
            let contact = &mut contacts[CONTACT_OPERAND * contact..CONTACT_OPERAND * (contact + 1)];
            for (k, (grad, &twin)) in contact.iter_mut().zip_inline(&twins[..CONTACT_OPERAND]).enumerate() {
                match k {
                    MU => *grad = grad.scale(self.sharing),
                    WEIGHT => *grad = (*grad + twin).scale(HALF),
                    _ => *grad += twin,
                }
            }
            torsion[parameter] += twins[MU].scale(self.sharing);
        }
    }

    /// A step's forces on B of the contacts that are `present`, given the solver's contacts and their η.
    #[inline(always)]
    pub(super) fn forces<R: Real>(
        &self,
        present: impl Iterator<Item = usize>,
        contacts: &[R],
        eta: &[R],
        forces: &mut [R],
    ) {
        let (forces, turning) = forces.split_at_mut(3 * self.nc);
        for c in present {
            // No −0 of contacts without weight: lanes pass over those that are nowhere.
            if is_nowhere(contacts, c) {
                put_vec3(forces, 3 * c, zero());
            } else {
                let cone = FrictionCone::read(contacts, c);
                put_vec3(forces, 3 * c, select(cone.is_there(), cone.scaled(vec3_at(eta, 3 * c)), zero()));
            }
        }
        for ((twin, Turning { contact, .. }), of) in self.twins().zip(turning.as_chunks_mut::<TURNING>().0) {
            let (cone, eta) = (FrictionCone::read(contacts, twin), vec3_at(eta, 3 * twin));
            let along = dot(cone.n, eta);
            *of = [along, cone.mu * dot(cone.tangent(), eta)];
            add_vec3(forces, 3 * contact, scale(along, cone.n));
        }
    }

    /// From the gradients of a step's forces to those of the forces M η of the solver's contacts, in their place. What
    /// the contacts' normals get is added to `normals`, in rows of so many numbers.
    #[inline(always)]
    pub(super) fn vjp_forces<R: Real>(
        &self,
        contacts: &[R],
        eta: &[R],
        forces: &mut [R],
        (normals, width): (&mut [R], usize),
    ) {
        // The last one first, as each takes more room than it had.
        for (k, &Turning { contact, .. }) in self.turning.iter().enumerate().rev() {
            let twin = self.nc + k;
            let (cone, eta) = (FrictionCone::read(contacts, twin), vec3_at(eta, 3 * twin));
            let (n, t) = (cone.n, cone.tangent());
            let (along, torque) = (dot(n, eta), cone.mu * dot(t, eta));
            let at = 3 * self.nc + TURNING * k;
            let (grad_own, grad_torque, grad) = (forces[at], forces[at + 1], vec3_at(forces, 3 * contact));
            let grad_along = grad_own + dot(n, grad);
            put_vec3(forces, 3 * twin, axpy(grad_along, n, scale(grad_torque, t)));
            // ∂t = −n (t · ∂n)
            let by_n = axpy(grad_along * torque - grad_torque * along, t, scale(along, grad));
            add_vec3(normals, width * contact, by_n);
        }
    }

    /// Forces (B, nc, 3) on B and torques (B, n) about the normal of a solution for these contacts (B, 12 n).
    pub(super) fn totals(&self, contacts: &Tensor, solution: &Solution) -> Result<[Tensor; 2]> {
        let (b, n) = (contacts.dim(0)?, self.turning.len());
        if n == 0 {
            return Ok([solution.force.clone(), Tensor::zeros((b, 0), contacts.dtype(), contacts.device())?]);
        }
        let eta = solution.warm.narrow(1, 0, 3 * self.n_contacts())?;
        let contacts = &self.as_solved(contacts, solution)?;
        let op = Operation::rowwise(Totals(self.clone()), &self.kernels);
        let forces = contacts.apply_op3(&solution.force.flatten_from(1)?, &eta, op)?;
        let force = forces.narrow(1, 0, 3 * self.nc)?.reshape((b, self.nc, 3))?;
        Ok([force, torques(&part(&forces, 1, 3 * self.nc, TURNING * n)?, 1)?])
    }
}

impl Torsion {
    /// The contacts (B, 12 n) with the coefficients by which each world was solved: the relaxed law has those of the
    /// scene, and without friction they are 0.
    fn as_solved(&self, contacts: &Tensor, solution: &Solution) -> Result<Tensor> {
        let reports = solution.report()?;
        let is_loose = |report: &Report| report.status == Status::Frictionless;
        let is_halved = |report: &Report| self.sharing != 1.0 && report.is_relaxed();
        if !reports.iter().any(|report| is_loose(report) || is_halved(report)) {
            return Ok(contacts.clone());
        }
        let twins: Vec<usize> = self.twinned().collect();
        let factor = |report: &Report, k: usize| match k % CONTACT_OPERAND {
            10 if is_loose(report) => 0.0,
            10 if is_halved(report) && twins.contains(&(k / CONTACT_OPERAND)) => 1.0 / self.sharing,
            _ => 1.0,
        };
        let width = contacts.dim(1)?;
        let all: Vec<f64> = reports.iter().flat_map(|report| (0..width).map(|k| factor(report, k))).collect();
        contacts * Tensor::from_vec(all, (reports.len(), width), contacts.device())?.to_dtype(contacts.dtype())?
    }

    /// The solver's contacts that share a normal force with another one: all contacts that resist turning, and their
    /// twins.
    pub(super) fn twinned(&self) -> impl Iterator<Item = usize> {
        self.twins().flat_map(|(twin, turning)| [turning.contact, twin])
    }
}

/// The torques among the [`TURNING`] numbers of each contact that resists turning, in rows along the last dimension.
pub(super) fn torques(turning: &Tensor, last: usize) -> Result<Tensor> {
    let odd = index((0..turning.dim(last)?).skip(1).step_by(TURNING), turning.device())?;
    gather(turning, &odd, last)
}

/// (the solver's contacts, M η, η) → a step's forces. The value is that of η, whose digits M η may not have; its
/// gradient is that of M η.
struct Totals(Torsion);

impl Function<3> for Totals {
    fn signature(&self) -> Signature<3> {
        let n = self.0.n_contacts();
        let operands = [("contacts", CONTACT_OPERAND * n), ("forces", 3 * n), ("eta", 3 * n)];
        Signature { name: "forces", operands, width: self.0.n_forces() }
    }

    #[inline(always)]
    fn value<R: Lane>(&self, [contacts, _, eta]: [&[R]; 3], _: &mut [R], out: &mut [R]) {
        self.0.forces(R::parts(0..self.0.nc), contacts, eta, out);
    }

    #[inline(always)]
    fn vjp<R: Lane>(&self, [contacts, _, eta]: [&[R]; 3], _: &mut [R], grad: &[R], to: [&mut [R]; 3]) {
        let [normals, forces, _] = to;
        copy(&mut forces[..grad.len()], grad);
        self.0.vjp_forces(contacts, eta, forces, (normals, CONTACT_OPERAND));
    }
}

/// Has a contact of the solver no weight in any world of the lane? Then nothing that belongs to it is computed. Never
/// in a recording.
#[inline(always)]
pub(super) fn is_nowhere<R: Real>(contacts: &[R], contact: usize) -> bool {
    R::is_nowhere(contacts[CONTACT_OPERAND * contact + WEIGHT].gt(R::zero()))
}

/// The lengths of the groups of the solver's contacts that belong together: those of each pair, then the twins of each
/// pair.
pub(super) fn groups(model: &Model) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut before = None;
    for at in slips(model) {
        match lengths.last_mut() {
            Some(length) if before == Some(at) => *length += 1,
            _ => lengths.push(1),
        }
        before = Some(at);
    }
    lengths
}

/// Pair and slip of each of the solver's contacts: the model's contacts resist sliding, and the twins behind them
/// resist turning.
pub(super) fn slips(model: &Model) -> impl Iterator<Item = (usize, Slip)> {
    let pairs = &model.pairs;
    let of = |slip| move |&contact: &usize| (pairs.pair_of_contact[contact], slip);
    let all = pairs.pair_of_contact.iter().map(|&pair| (pair, Slip::Slides));
    all.chain(pairs.torsional.iter().map(of(Slip::Turns)))
}
