//! The adjoints of [`super::stages`]: from the gradient of a result to those of the operands.

use std::ops::Range;

use fingertip_lanes::lane::{Lane, clear, copy};
use fingertip_lanes::layout::parts;
use fingertip_lanes::program::Stage;
use fingertip_lanes::rows::{Output, Rows};

use super::links::PlacedGradients;
use super::rnea::Motion;
use super::stages::{Stages, view};
use super::{crba, energy};

/// The vector-Jacobian product of [`InverseDynamics`] for a gradient of τ; the gradient of a goes to another place.
pub(super) struct PullInverseDynamics<'a> {
    pub(super) of: Stages<'a>,
    pub(super) a: &'a Range<usize>,
    pub(super) grad_tau: &'a Range<usize>,
    pub(super) grad_a: &'a Range<usize>,
    pub(super) grad_v: Range<usize>,
}

impl Stage for PullInverseDynamics<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.of;
        let [parameters, placed, inertias, v, a, grad_tau, motion] =
            [&at.parameters, &at.frames.result, &at.inertias, &at.v, self.a, self.grad_tau, &at.motion];
        let gradients =
            [&at.grad_parameters, &at.grad_frames.result, &at.grad_inertias, &self.grad_v, self.grad_a, &at.work];
        let [g1, g2, g3, g4, g5, g6] = gradients;
        let [
            parameters,
            placed,
            inertias,
            v,
            a,
            grad_tau,
            motion,
            grad_parameters,
            grad_placed,
            grad_inertias,
            grad_v,
            grad_a,
            work,
        ] = parts(memory, [parameters, placed, inertias, v, a, grad_tau, motion, g1, g2, g3, g4, g5, g6]);
        let placed = view(links, placed, inertias, parameters);
        let mut grad = PlacedGradients::new(links, grad_placed, grad_inertias);
        let motion = Motion::new(links, motion);
        motion.vjp(links, &placed, v, a, grad_tau, &mut grad, grad_v, grad_a, work);
        copy(&mut grad_parameters[..3], &grad.gravity);
    }
}

/// The adjoint of [`MassMatrix`] for a gradient of M.
pub(super) struct PullMassMatrix<'a>(pub(super) Stages<'a>);

impl Stage for PullMassMatrix<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, inertias, composites, grad_m, grad_placed, grad_inertias, work] = parts(
            memory,
            [
                &at.parameters,
                &at.frames.result,
                &at.inertias,
                &at.composites,
                &at.result,
                &at.grad_frames.result,
                &at.grad_inertias,
                &at.work,
            ],
        );
        let placed = view(links, placed, inertias, parameters);
        let mut grad = PlacedGradients::new(links, grad_placed, grad_inertias);
        crba::vjp(links, &placed, composites, grad_m, &mut grad, work);
    }
}

/// Turns the gradient of M⁻¹ into that of M, in place: M̄ = −M⁻¹ Ḡ M⁻¹.
pub(super) struct PullInverse<'a>(pub(super) Stages<'a>);

impl Stage for PullInverse<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let n = links.nv;
        let [m, grad, spare] = parts(memory, [&at.m, &at.result, &at.spare]);
        for entry in grad.iter_mut() {
            *entry = -*entry;
        }
        // Rows, and after a transposition the columns; the second transposition restores the order.
        for _ in 0..2 {
            for i in 0..n {
                crba::solve(links, m, &mut grad[i * n..(i + 1) * n], spare);
            }
            for i in 0..n {
                for j in 0..i {
                    grad.swap(i * n + j, j * n + i);
                }
            }
        }
    }
}

/// The adjoint of [`Totals`].
pub(super) struct PullTotals<'a>(pub(super) Stages<'a>);

impl Stage for PullTotals<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, inertias, v, of, grad_parameters, grad_placed, grad_inertias, grad_state, work] =
            parts(
                memory,
                [
                    &at.parameters,
                    &at.frames.result,
                    &at.inertias,
                    &at.v,
                    &at.result,
                    &at.grad_parameters,
                    &at.grad_frames.result,
                    &at.grad_inertias,
                    &at.grad_state,
                    &at.work,
                ],
            );
        let placed = view(links, placed, inertias, parameters);
        let mut grad = PlacedGradients::new(links, grad_placed, grad_inertias);
        if v.is_empty() {
            energy::vjp_centre_of_mass(links, &placed, [of[0], of[1], of[2]], &mut grad);
        } else {
            let (grad_v, work) = (&mut grad_state[links.nq..], &mut work[..12 * links.n()]);
            energy::vjp_energy(links, &placed, v, [of[0], of[1]], &mut grad, grad_v, work);
        }
        copy(&mut grad_parameters[..3], &grad.gravity);
    }
}

/// Reads the result's gradient and clears the others.
pub(super) struct Seed<'a>(pub(super) Stages<'a>, pub(super) &'a Rows<'a>);

impl Stage for Seed<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], _: &mut Output) {
        let Self(Stages { at, .. }, grad) = self;
        // The gradients are neighbours.
        clear(&mut memory[at.grad_state.start..at.grad_inertias.end]);
        grad.load_all(first, 0, &mut memory[at.result.clone()]);
    }
}

/// Turns gradients of the links' inertias into those of the bodies' parameters and poses.
pub(super) struct PullInertias<'a>(pub(super) Stages<'a>);

impl Stage for PullInertias<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        let Stages { links, at } = self.0;
        let [parameters, placed, grad_inertias, grad_placed, grad_parameters] = parts(
            memory,
            [&at.parameters, &at.frames.result, &at.grad_inertias, &at.grad_frames.result, &at.grad_parameters],
        );
        links.vjp_inertias(placed, parameters, grad_inertias, grad_placed, grad_parameters);
    }
}

/// Writes the operands' gradients.
pub(super) struct StoreGradients<'a>(pub(super) Stages<'a>);

impl Stage for StoreGradients<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, memory: &mut [R], out: &mut Output) {
        let Stages { links, at } = self.0;
        // They are neighbours.
        out.store_parts(first, &memory[at.grad_state.start..at.grad_frames.offsets.start + links.n_offsets]);
    }
}

/// Adds a vector to another place, then changes its sign.
pub(super) struct Negate<'a> {
    pub(super) of: &'a Range<usize>,
    pub(super) add_to: Range<usize>,
}

impl Stage for Negate<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, _: usize, memory: &mut [R], _: &mut Output) {
        for (k, to) in self.of.clone().zip(self.add_to.clone()) {
            let x = memory[k];
            memory[to] += x;
            memory[k] = -x;
        }
    }
}
