//! What [`super::Dynamics`] computes, each as a [`Quantity`]: its operands and its memory, and its adjoint where it
//! is differentiable.

use crate::math::lane::{Real, Single};

use super::links::{INERTIA, Links, Placed, PlacedGradients};
use super::op::{Differentiable, Quantity};
use super::rnea::Motion;
use super::{aba, crba, derivatives, energy};

/// Numbers of V, A and F, whatever the number type.
fn n_motion(links: &Links) -> usize {
    Motion::<Single<false>>::len(links)
}

/// (v, a) → τ.
pub(super) struct InverseDynamics;

impl Quantity for InverseDynamics {
    const NAME: &'static str = "inverse_dynamics";

    fn n_inputs(links: &Links) -> usize {
        2 * links.nv
    }
    fn n_outputs(links: &Links) -> usize {
        links.nv
    }
    fn n_value(links: &Links) -> usize {
        n_motion(links)
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, x: &[R], out: &mut [R], work: &mut [R]) {
        let (v, a) = x.split_at(links.nv);
        out.fill(R::zero());
        Motion::take(links, work).0.inverse_dynamics(links, placed, v, a, out);
    }
}

impl Differentiable for InverseDynamics {
    fn n_pull(links: &Links) -> usize {
        2 * n_motion(links) + links.nv
    }

    #[inline(always)]
    fn pull<R: Real>(
        links: &Links,
        placed: &Placed<R>,
        x: &[R],
        grad_out: &[R],
        grad: &mut PlacedGradients<R>,
        grad_x: &mut [R],
        work: &mut [R],
    ) {
        let (v, a) = x.split_at(links.nv);
        let (grad_v, grad_a) = grad_x.split_at_mut(links.nv);
        let (mut motion, work) = Motion::take(links, work);
        let (tau, work) = work.split_at_mut(links.nv);
        motion.inverse_dynamics(links, placed, v, a, tau);
        motion.pull(links, placed, v, a, grad_out, grad, grad_v, grad_a, work);
    }
}

/// (v, τ) → a.
pub(super) struct ForwardDynamics;

impl Quantity for ForwardDynamics {
    const NAME: &'static str = "forward_dynamics";

    fn n_inputs(links: &Links) -> usize {
        2 * links.nv
    }
    fn n_outputs(links: &Links) -> usize {
        links.nv
    }
    fn n_value(links: &Links) -> usize {
        aba::n_work(links)
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, x: &[R], out: &mut [R], work: &mut [R]) {
        let (v, tau) = x.split_at(links.nv);
        aba::forward_dynamics(links, placed, v, tau, out, work);
    }
}

impl Differentiable for ForwardDynamics {
    fn n_pull(links: &Links) -> usize {
        2 * n_motion(links) + crba::n_factor(links) + 4 * links.nv
    }

    #[inline(always)]
    fn pull<R: Real>(
        links: &Links,
        placed: &Placed<R>,
        x: &[R],
        grad_out: &[R],
        grad: &mut PlacedGradients<R>,
        grad_x: &mut [R],
        work: &mut [R],
    ) {
        let n = links.nv;
        let (v, tau) = x.split_at(n);
        let (grad_v, grad_tau) = grad_x.split_at_mut(n);
        let (mut motion, work) = Motion::take(links, work);
        let (factor, work) = work.split_at_mut(links.pattern.len());
        let (composites, work) = work.split_at_mut(INERTIA * links.n());
        let (a, work) = work.split_at_mut(n);
        let (y, work) = work.split_at_mut(n);
        let (spare, work) = work.split_at_mut(n);
        crba::factor(links, placed, composites, factor);
        aba::by_factor(links, placed, factor, &mut motion, v, tau, a, spare);
        y.copy_from_slice(grad_out);
        crba::solve(links, factor, y, spare);
        motion.inverse_dynamics(links, placed, v, a, spare);
        for (to, y) in grad_tau.iter_mut().zip(y.iter_mut()) {
            *to += *y;
            *y = -*y;
        }
        // ā of the right-hand side is not an operand: it goes nowhere.
        motion.pull(links, placed, v, a, y, grad, grad_v, spare, work);
    }
}

/// () → M.
pub(super) struct MassMatrix;

impl Quantity for MassMatrix {
    const NAME: &'static str = "mass_matrix";

    fn n_inputs(_: &Links) -> usize {
        0
    }
    fn n_outputs(links: &Links) -> usize {
        links.nv * links.nv
    }
    fn n_value(links: &Links) -> usize {
        crba::n_factor(links)
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, _: &[R], out: &mut [R], work: &mut [R]) {
        let (m, composites) = work.split_at_mut(links.pattern.len());
        crba::packed(links, placed, &mut composites[..INERTIA * links.n()], m);
        crba::dense(links, m, out);
    }
}

impl Differentiable for MassMatrix {
    fn n_pull(links: &Links) -> usize {
        2 * links.n_inertias()
    }

    #[inline(always)]
    fn pull<R: Real>(
        links: &Links,
        placed: &Placed<R>,
        _: &[R],
        grad_out: &[R],
        grad: &mut PlacedGradients<R>,
        _: &mut [R],
        work: &mut [R],
    ) {
        let (composites, work) = work.split_at_mut(links.n_inertias());
        crba::composite(links, placed, composites);
        crba::pull(links, placed, composites, grad_out, grad, work);
    }
}

/// () → M⁻¹, with M̄ = −M⁻¹ Ḡ M⁻¹.
pub(super) struct InverseMassMatrix;

impl Quantity for InverseMassMatrix {
    const NAME: &'static str = "inverse_mass_matrix";

    fn n_inputs(_: &Links) -> usize {
        0
    }
    fn n_outputs(links: &Links) -> usize {
        links.nv * links.nv
    }
    fn n_value(links: &Links) -> usize {
        crba::n_factor(links) + links.nv * links.nv
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, _: &[R], out: &mut [R], work: &mut [R]) {
        let (m, work) = work.split_at_mut(links.pattern.len());
        let (composites, work) = work.split_at_mut(links.n_inertias());
        crba::factor(links, placed, composites, m);
        crba::inverse(links, m, out, work);
    }
}

impl Differentiable for InverseMassMatrix {
    fn n_pull(links: &Links) -> usize {
        crba::n_factor(links) + links.n_inertias() + links.nv * links.nv + links.nv
    }

    #[inline(always)]
    fn pull<R: Real>(
        links: &Links,
        placed: &Placed<R>,
        _: &[R],
        grad_out: &[R],
        grad: &mut PlacedGradients<R>,
        _: &mut [R],
        work: &mut [R],
    ) {
        let n = links.nv;
        let (m, work) = work.split_at_mut(links.pattern.len());
        let (composites, work) = work.split_at_mut(links.n_inertias());
        let (middle, work) = work.split_at_mut(n * n);
        let (spare, work) = work.split_at_mut(n);
        crba::factor(links, placed, composites, m);
        // Solving for the rows and then, after a transposition in place, for the columns.
        for (to, from) in middle.iter_mut().zip(grad_out) {
            *to = -*from;
        }
        for _ in 0..2 {
            for i in 0..n {
                crba::solve(links, m, &mut middle[i * n..(i + 1) * n], spare);
            }
            for i in 0..n {
                for j in 0..i {
                    middle.swap(i * n + j, j * n + i);
                }
            }
        }
        crba::pull(links, placed, composites, middle, grad, work);
    }
}

/// v → kinetic and potential energy.
pub(super) struct Energy;

impl Quantity for Energy {
    const NAME: &'static str = "energy";

    fn n_inputs(links: &Links) -> usize {
        links.nv
    }
    fn n_outputs(_: &Links) -> usize {
        2
    }
    fn n_value(links: &Links) -> usize {
        6 * links.n()
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, v: &[R], out: &mut [R], work: &mut [R]) {
        out.copy_from_slice(&energy::energy(links, placed, v, work));
    }
}

impl Differentiable for Energy {
    fn n_pull(links: &Links) -> usize {
        12 * links.n()
    }

    #[inline(always)]
    fn pull<R: Real>(
        links: &Links,
        placed: &Placed<R>,
        v: &[R],
        grad_out: &[R],
        grad: &mut PlacedGradients<R>,
        grad_v: &mut [R],
        work: &mut [R],
    ) {
        energy::pull_energy(links, placed, v, [grad_out[0], grad_out[1]], grad, grad_v, &mut work[..12 * links.n()]);
    }
}

/// () → centre of mass.
pub(super) struct CentreOfMass;

impl Quantity for CentreOfMass {
    const NAME: &'static str = "centre_of_mass";

    fn n_inputs(_: &Links) -> usize {
        0
    }
    fn n_outputs(_: &Links) -> usize {
        3
    }
    fn n_value(_: &Links) -> usize {
        0
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, _: &[R], out: &mut [R], _: &mut [R]) {
        out.copy_from_slice(&energy::centre_of_mass(links, placed));
    }
}

impl Differentiable for CentreOfMass {
    fn n_pull(_: &Links) -> usize {
        0
    }

    #[inline(always)]
    fn pull<R: Real>(
        links: &Links,
        placed: &Placed<R>,
        _: &[R],
        grad_out: &[R],
        grad: &mut PlacedGradients<R>,
        _: &mut [R],
        _: &mut [R],
    ) {
        energy::pull_centre_of_mass(links, placed, [grad_out[0], grad_out[1], grad_out[2]], grad);
    }
}

/// (v, a) → τ, ∂τ/∂q, ∂τ/∂v, M.
pub(super) struct InverseDynamicsDerivatives;

impl Quantity for InverseDynamicsDerivatives {
    const NAME: &'static str = "inverse_dynamics_derivatives";

    fn n_inputs(links: &Links) -> usize {
        2 * links.nv
    }
    fn n_outputs(links: &Links) -> usize {
        links.nv + 3 * links.nv * links.nv
    }
    fn n_value(links: &Links) -> usize {
        derivatives::n_work(links)
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, x: &[R], out: &mut [R], work: &mut [R]) {
        let (v, a) = x.split_at(links.nv);
        derivatives::inverse_dynamics(links, placed, v, a, out, work);
    }
}

/// (v, τ) → a, ∂a/∂q, ∂a/∂v, M⁻¹.
pub(super) struct ForwardDynamicsDerivatives;

impl Quantity for ForwardDynamicsDerivatives {
    const NAME: &'static str = "forward_dynamics_derivatives";

    fn n_inputs(links: &Links) -> usize {
        2 * links.nv
    }
    fn n_outputs(links: &Links) -> usize {
        links.nv + 3 * links.nv * links.nv
    }
    fn n_value(links: &Links) -> usize {
        derivatives::n_work(links)
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, x: &[R], out: &mut [R], work: &mut [R]) {
        let (v, tau) = x.split_at(links.nv);
        derivatives::forward_dynamics(links, placed, v, tau, out, work);
    }
}

/// () → each degree of freedom's pivot in the factor of M, relative to its entry on M's diagonal.
pub(super) struct Pivots;

impl Quantity for Pivots {
    const NAME: &'static str = "pivots";

    fn n_inputs(_: &Links) -> usize {
        0
    }
    fn n_outputs(links: &Links) -> usize {
        links.nv
    }
    fn n_value(links: &Links) -> usize {
        crba::n_factor(links)
    }

    #[inline(always)]
    fn value<R: Real>(links: &Links, placed: &Placed<R>, _: &[R], out: &mut [R], work: &mut [R]) {
        let pattern = &links.pattern;
        let (m, work) = work.split_at_mut(pattern.len());
        crba::packed(links, placed, &mut work[..links.n_inertias()], m);
        for i in 0..links.nv {
            out[pattern.dof(i)] = m[pattern.at(i, i)];
        }
        pattern.factor(m);
        for i in 0..links.nv {
            let of = pattern.dof(i);
            out[of] = R::one() / (m[pattern.at(i, i)] * out[of]);
        }
    }
}
