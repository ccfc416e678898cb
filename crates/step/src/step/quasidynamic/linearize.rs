//! All first derivatives of a step at once: the matrices A, B, C, D of its linearisation.

use candle_core::{Result, Tensor, Var};

use super::Quasidynamic;
use crate::solve::Start;
use crate::step::fused::Stiff;
use crate::step::result::Linearization;
use crate::tensor::{gather, part};

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
                let [a, b, c, d] = self.pulled(q, u, &step.answer()?)?;
                Ok(Linearization { step, a, b, c, d })
            }
        }
    }

    /// A linearisation with the Jacobians of some worlds pulled back.
    fn vjp_worlds(&self, q: &Tensor, u: &Tensor, linear: Linearization, stiff: &Stiff) -> Result<Linearization> {
        let Stiff { worlds, rows } = stiff;
        let index = Tensor::new(worlds.as_slice(), q.device())?;
        let of = |t: &Tensor| gather(&t.detach(), &index, 0);
        let own = |_: &str, t: &Tensor| if t.dim(0)? == 1 { Ok(t.detach()) } else { of(t) };
        let some = self.with_parameters(&self.parameters().map(own)?)?;
        let [a, b, c, d] = some.pulled(&of(q)?, &of(u)?, &of(rows)?)?;
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
            step: linear.step,
        })
    }

    /// A, B, C, D of a step at its answer: one reverse pass over as many copies of each world as there are results,
    /// seeded with the rows of the identity.
    fn pulled(&self, q: &Tensor, u: &Tensor, answer: &Tensor) -> Result<[Tensor; 4]> {
        let (worlds, nv, nu, n_lambda) = (q.dim(0)?, self.model().nv(), self.model().nu(), self.model().n_lambda());
        let n = nv + n_lambda;
        let copies = |t: &Tensor| {
            let width = t.dim(1)?;
            t.detach().unsqueeze(1)?.broadcast_as((worlds, n, width))?.reshape((worlds * n, width))
        };
        let (q, u) = (Var::from_tensor(&copies(q)?)?, Var::from_tensor(&copies(u)?)?);
        let copied = self.copied(&copies)?.step_by(&q, &u, Start::Answer(copies(answer)?))?;
        let seeds = Tensor::eye(n, q.dtype(), q.device())?;
        let seeds = seeds.unsqueeze(0)?.broadcast_as((worlds, n, n))?.reshape((worlds * n, n))?;
        let q_seeds = self.manifold.from_tangent(&copied.q_next.detach(), &seeds.narrow(1, 0, nv)?.contiguous()?)?;
        let mut value = (&copied.q_next * q_seeds)?.sum_all()?;
        if n_lambda > 0 {
            let lambda = copied.lambda_and_torque()?;
            value = (value + (lambda * seeds.narrow(1, nv, n_lambda)?)?.sum_all()?)?;
        }
        let grads = value.backward()?;
        let of = |var: &Var| match grads.get(var) {
            Some(grad) => Ok(grad.clone()),
            None => var.zeros_like(),
        };
        let by_q = self.manifold.to_tangent(&self.usable(&q.detach())?, &of(&q)?)?.reshape((worlds, n, nv))?;
        let by_u = of(&u)?.reshape((worlds, n, nu))?;
        Ok([
            by_q.narrow(1, 0, nv)?.contiguous()?,
            by_u.narrow(1, 0, nv)?.contiguous()?,
            part(&by_q, 1, nv, n_lambda)?.contiguous()?,
            part(&by_u, 1, nv, n_lambda)?.contiguous()?,
        ])
    }

    /// The step with each world's own parameters copied like the worlds.
    fn copied(&self, copies: &impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        let parameters = self.parameters().map(|_, t| if t.dim(0)? == 1 { Ok(t.detach()) } else { copies(t) })?;
        self.with_parameters(&parameters)
    }
}
