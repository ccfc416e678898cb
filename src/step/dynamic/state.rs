//! The worlds that a step can start from, and what stands in for the others.

use candle_core::{Result, Tensor};

use super::{Dynamic, DynamicStep, rows};
use crate::contact::Contacts;
use crate::step::operands::{is_usable, mask};

/// What a step starts from, with the model's home at rest in worlds where a number cannot be used.
pub(super) struct State {
    pub(super) good: Vec<bool>,
    pub(super) q: Tensor,
    pub(super) v: Tensor,
    pub(super) tau: Tensor,
}

impl Dynamic {
    /// The worlds with numbers that a step can start from.
    pub(super) fn usable(&self, q: &Tensor, v: &Tensor, tau: &Tensor) -> Result<Vec<bool>> {
        let numbers = [rows(q)?, rows(v)?, rows(tau)?, rows(&self.parameters.h)?];
        let steps = |h: f64| h > 0.0 && h.is_finite();
        let good = |world: usize| {
            let [q, v, tau, h] = numbers.each_ref().map(|rows| rows.row(world));
            is_usable(&self.model, q) && v.iter().chain(tau).all(|x| x.is_finite()) && steps(h[0])
        };
        Ok((0..q.dim(0)?).map(good).collect())
    }

    /// The state at home, and the model's own parameters, in worlds that are not good: a gradient of zero times NaN would be
    /// NaN.
    pub(super) fn cleaned(&self, good: &[bool], [q, v, tau]: [&Tensor; 3]) -> Result<(Self, State)> {
        let Some(mask) = mask(good, q.device())? else {
            let [q, v, tau] = [q, v, tau].map(Tensor::clone);
            return Ok((self.clone(), State { good: good.to_vec(), q, v, tau }));
        };
        let keep = |x: &Tensor, other: &Tensor| {
            let shape = (good.len(), x.dim(1)?);
            mask.broadcast_as(shape)?.where_cond(&x.broadcast_as(shape)?, &other.broadcast_as(shape)?)
        };
        let mut own = self.model.parameters.tensors().into_iter();
        let parameters = self.parameters.map(|_, x| keep(x, own.next().unwrap_or(x)))?;
        let q = keep(q, &self.model.home(good.len())?)?;
        let (v, tau) = (keep(v, &v.zeros_like()?)?, keep(tau, &tau.zeros_like()?)?);
        Ok((self.with_parameters(&parameters)?, State { good: good.to_vec(), q, v, tau }))
    }
}

impl DynamicStep {
    /// Which worlds' numbers are all finite.
    pub(super) fn finite(&self) -> Result<Vec<bool>> {
        let Contacts { phi, normal, point_a, point_b, .. } = &self.contacts;
        let mut finite = vec![true; self.reports.len()];
        for x in
            [&self.q_next, &self.v_next, &self.force, &self.torque, &self.limit_force, phi, normal, point_a, point_b]
        {
            let rows = rows(&x.flatten_from(1)?)?;
            for (world, finite) in finite.iter_mut().enumerate() {
                *finite &= rows.row(world).iter().all(|x| x.is_finite());
            }
        }
        finite.iter_mut().zip(&self.reports).for_each(|(finite, report)| *finite &= report.residual.is_finite());
        Ok(finite)
    }
}
