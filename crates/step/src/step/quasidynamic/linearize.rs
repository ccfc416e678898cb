//! All first derivatives of a step at once: the matrices A, B, C, D of its linearisation.

use candle_core::{Result, Tensor, Var};

use super::Quasidynamic;
use crate::solve::Start;
use crate::step::fused::Stiff;
use crate::step::result::{Linearization, Step};
use crate::tensor::{beside, gather, index, numbers, part};

/// The numbers of steps that are in memory at a time while Jacobians are pulled back, or those of one world.
const ROOM: usize = 1 << 22;

impl Quasidynamic {
    /// The derivatives of q₊ and λ with respect to q and u, at q (B, nq), u (B, nu).
    ///
    /// The fused form pushes the derivatives of every degree of freedom forward through the step, sparsely. The tensor
    /// program pulls every result back. So does the fused form in worlds whose contacts are 10⁷ times as stiff as what
    /// they move, because there pushing forward would lose its digits.
    ///
    /// In worlds without a solution q₊ = q and λ = 0, so A is the identity and B, C and D are zero. If q is not usable,
    /// q₊ is the model's home and A is zero too.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn linearize(&self, q: &Tensor, u: &Tensor) -> Result<Linearization> {
        self.linearize_from(q, u, None)
    }

    /// [`Quasidynamic::linearize`] with the solve started from a nearby step's forces,
    /// [`Step::warm`](crate::step::Step::warm). Along a trajectory that has already been rolled out, nothing is left to
    /// solve.
    ///
    /// # Errors
    /// As [`Quasidynamic::forward`].
    pub fn linearize_from(&self, q: &Tensor, u: &Tensor, warm: Option<&Tensor>) -> Result<Linearization> {
        match self.fused_linearize(q, u, warm)? {
            Some((linear, stiff)) if stiff.worlds.is_empty() => Ok(linear),
            Some((linear, stiff)) => self.vjp_worlds(q, u, linear, &stiff),
            None => {
                let step = self.step_from(&q.detach(), &u.detach(), warm)?;
                let lambda = step.lambda_and_torque()?;
                let [a, b, c, d] = self.pulled(q, u, &step.answer()?, &lambda)?;
                let Step { q_next, delta, warm, reports, .. } = step;
                Ok(Linearization { q_next, delta, lambda, warm, reports, a, b, c, d })
            }
        }
    }

    /// A linearisation with the Jacobians of some worlds pulled back.
    fn vjp_worlds(&self, q: &Tensor, u: &Tensor, linear: Linearization, stiff: &Stiff) -> Result<Linearization> {
        let Stiff { worlds, rows } = stiff;
        let chosen = Tensor::new(worlds.as_slice(), q.device())?;
        let of = |t: &Tensor| gather(&t.detach(), &chosen, 0);
        let some = self.with_own(&of)?;
        let [a, b, c, d] = some.pulled(&of(q)?, &of(u)?, &of(rows)?, &of(&linear.lambda)?)?;
        let all = u32::try_from(q.dim(0)?).map_err(candle_core::Error::wrap)?;
        let mut places: Vec<u32> = (0..all).collect();
        (all..).zip(worlds).for_each(|(place, &world)| places[world as usize] = place);
        let places = Tensor::new(places, q.device())?;
        let merged = |all: &Tensor, some: &Tensor| gather(&Tensor::cat(&[all, some], 0)?, &places, 0);
        Ok(Linearization {
            a: merged(&linear.a, &a)?,
            b: merged(&linear.b, &b)?,
            c: merged(&linear.c, &c)?,
            d: merged(&linear.d, &d)?,
            ..linear
        })
    }

    /// A, B, C, D of a step at its answer and its λ, of as many worlds at a time as memory has room for.
    fn pulled(&self, q: &Tensor, u: &Tensor, answer: &Tensor, lambda: &Tensor) -> Result<[Tensor; 4]> {
        let (worlds, n) = (q.dim(0)?, self.model().nv() + self.model().n_lambda());
        let together = (ROOM / (n * answer.dim(1)?).max(1)).max(1);
        let mut parts: [Vec<Tensor>; 4] = Default::default();
        for first in (0..worlds).step_by(together) {
            let some = |t: &Tensor| t.detach().narrow(0, first, together.min(worlds - first));
            let own = self.with_own(&some)?;
            let found = own.pulled_at_once(&some(q)?, &some(u)?, &some(answer)?, &some(lambda)?)?;
            parts.iter_mut().zip(found).for_each(|(parts, found)| parts.push(found));
        }
        let [a, b, c, d] = parts.each_ref().map(|parts| Tensor::cat(parts, 0));
        Ok([a?, b?, c?, d?])
    }

    /// One reverse pass over as many copies of each world as there are results, seeded with the rows of the identity.
    /// Contacts without force in all worlds have no rows but zeros.
    fn pulled_at_once(&self, q: &Tensor, u: &Tensor, answer: &Tensor, lambda: &Tensor) -> Result<[Tensor; 4]> {
        let (worlds, nv, nu, nc) = (q.dim(0)?, self.model().nv(), self.model().nu(), self.model().nc());
        let (n_lambda, forces) = (self.model().n_lambda(), numbers(lambda)?);
        let presses = |k: &usize| {
            let of_contact = if *k < 3 * nc { k - k % 3..k - k % 3 + 3 } else { return true };
            forces.chunks_exact(n_lambda).any(|of_world| of_world[of_contact.clone()] != [0.0; 3])
        };
        let rows: Vec<usize> = (0..n_lambda).filter(presses).collect();
        let n = nv + rows.len();
        let copies = |t: &Tensor| {
            let width = t.dim(1)?;
            t.detach().unsqueeze(1)?.broadcast_as((worlds, n, width))?.reshape((worlds * n, width))
        };
        let (q, u) = (Var::from_tensor(&copies(q)?)?, Var::from_tensor(&copies(u)?)?);
        let copied = self.with_own(&copies)?.step_by(&q, &u, Start::Answer(copies(answer)?))?;
        let seeds = Tensor::eye(n, q.dtype(), q.device())?;
        let seeds = seeds.unsqueeze(0)?.broadcast_as((worlds, n, n))?.reshape((worlds * n, n))?;
        let q_seeds = self.manifold.from_tangent(&copied.q_next.detach(), &part(&seeds, 1, 0, nv)?.contiguous()?)?;
        let mut value = (&copied.q_next * q_seeds)?.sum_all()?;
        if !rows.is_empty() {
            let lambda = gather(&copied.lambda_and_torque()?, &index(rows.iter().copied(), q.device())?, 1)?;
            value = (value + (lambda * seeds.narrow(1, nv, rows.len())?)?.sum_all()?)?;
        }
        let grads = value.backward()?;
        let of = |var: &Var| match grads.get(var) {
            Some(grad) => Ok(grad.clone()),
            None => var.zeros_like(),
        };
        let by_q = self.manifold.to_tangent(&self.usable(&q.detach())?, &of(&q)?)?.reshape((worlds, n, nv))?;
        let by_u = of(&u)?.reshape((worlds, n, nu))?;
        // The row behind all others is that of what has no force.
        let places = (0..n_lambda).map(|k| rows.binary_search(&k).unwrap_or(rows.len()));
        let places = index(places, q.device())?;
        let of_lambda = |by: &Tensor| {
            let none = Tensor::zeros((worlds, 1, by.dim(2)?), by.dtype(), by.device())?;
            gather(&beside(&[&part(by, 1, nv, rows.len())?, &none], 1)?, &places, 1)
        };
        Ok([
            part(&by_q, 1, 0, nv)?.contiguous()?,
            part(&by_u, 1, 0, nv)?.contiguous()?,
            of_lambda(&by_q)?,
            of_lambda(&by_u)?,
        ])
    }

    /// The step of these worlds: with the rows of parameters that are each world's own.
    pub(super) fn with_own(&self, worlds: &impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        self.with_parameters(&self.parameters().map(|_, t| if t.dim(0)? == 1 { Ok(t.detach()) } else { worlds(t) })?)
    }
}
