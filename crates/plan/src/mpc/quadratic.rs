//! The second-order model of a planning problem along a trajectory: linearised dynamics and quadratic costs.

use candle_core::{Result, bail};
use nalgebra::{DMatrix, DVector};

use super::cost::{ContactForce, Expansion, ForceRates};
use super::problem::{Problem, Square, Trajectory};
use super::simulator::{Forces, Linear, Simulator};
use super::start::Start;
use fingertip_step::solve::Accuracy;

/// The problem along a trajectory to second order in (x, v). x is q in tangent coordinates, with the previous command
/// if that is part of the state.
#[derive(Clone, Debug)]
pub struct Quadratic {
    /// ∂x₊/∂x.
    pub fx: DMatrix<f64>,
    /// ∂x₊/∂v.
    pub fv: DMatrix<f64>,
    /// Gradient of the command's cost by x.
    pub lx: DVector<f64>,
    /// Gradient of the command's cost by v.
    pub lv: DVector<f64>,
    /// Hessian of the command's cost by x twice.
    pub lxx: DMatrix<f64>,
    /// Hessian of the command's cost by x and v.
    pub lxv: DMatrix<f64>,
    /// Hessian of the command's cost by v twice.
    pub lvv: DMatrix<f64>,
    /// The model of the cost of the state after the command.
    pub next: Expansion,
    /// Smallest and largest change of v.
    pub range: Vec<(f64, f64)>,
    /// The forces at the end of the period, as functions of (x, v).
    pub forces: Option<Forces>,
}

/// Worlds that count less than this are left out.
const LEAST: f64 = 0.02;

impl Quadratic {
    /// Makes the costs count so many times.
    fn weigh(&mut self, weight: f64) {
        let Self { lx, lv, lxx, lxv, lvv, next, .. } = self;
        [lx, lv, &mut next.gradient].into_iter().for_each(|vector| *vector *= weight);
        [lxx, lxv, lvv, &mut next.hessian].into_iter().for_each(|matrix| *matrix *= weight);
    }

    fn add_force(&mut self, term: &ContactForce, forces: &Forces) {
        let ForceRates { residual, by_x, by_v } = term.rates(forces);
        let twice = 2.0 * term.weight;
        self.lx.axpy(twice * residual, &by_x, 1.0);
        self.lv.axpy(twice * residual, &by_v, 1.0);
        self.lxx.ger(twice, &by_x, &by_x, 1.0);
        self.lxv.ger(twice, &by_x, &by_v, 1.0);
        self.lvv.ger(twice, &by_v, &by_v, 1.0);
    }
}

impl Problem {
    /// The problem along a trajectory in each of its worlds, with its forces if requested. Costs count as often as
    /// their world does; a world that hardly counts is left out and has no periods.
    pub(super) fn expand(&self, start: &Start, along: &Trajectory, forces: bool) -> Result<Vec<Vec<Quadratic>>> {
        self.expand_to(Accuracy::Fine, start, along, forces)
    }

    /// [`Problem::expand`] with a given accuracy of the solves, see [`Simulator::linearize_to`].
    ///
    pub(super) fn expand_to(
        &self,
        accuracy: Accuracy,
        start: &Start,
        along: &Trajectory,
        forces: bool,
    ) -> Result<Vec<Vec<Quadratic>>> {
        let forces = forces || !self.objective.forces.is_empty();
        let own = |(simulator, along): (&Simulator, &Trajectory)| {
            if along.weight < LEAST {
                return Ok(Vec::new());
            }
            let linear =
                simulator.linearize_to(accuracy, [&along.inner_q, &along.u], Some(&along.inner_warm), forces)?;
            linear.iter().enumerate().map(|(k, linear)| self.expand_period(start, along, k, linear)).collect()
        };
        self.simulators().zip(along.worlds()).map(own).collect()
    }

    fn expand_period(&self, start: &Start, along: &Trajectory, k: usize, linear: &Linear) -> Result<Quadratic> {
        let sim = &self.simulator;
        let (nq, nv, nu, nx) = (sim.model().nq(), sim.model().nv(), self.nu(), self.nx());
        let q = &along.q[k * nq..(k + 1) * nq];
        let before = if k == 0 { &start.u } else { &along.u[(k - 1) * nu..k * nu] };
        let v = &along.v[k * nu..(k + 1) * nu];
        let (by_q, by_before) = self.command.rates();
        let Linear { a, b, forces } = linear;
        let (mut fx, mut fv) = (DMatrix::zeros(nx, nx), DMatrix::zeros(nx, nu));
        fx.view_mut((0, 0), (nv, nv)).copy_from(a);
        fv.view_mut((0, 0), (nv, nu)).copy_from(b);
        let mut out = Quadratic {
            lx: DVector::zeros(nx),
            lv: DVector::zeros(nu),
            lxx: DMatrix::zeros(nx, nx),
            lxv: DMatrix::zeros(nx, nu),
            lvv: DMatrix::zeros(nu, nu),
            next: Expansion::zeros(nx),
            range: Vec::with_capacity(nu),
            fx: DMatrix::zeros(0, 0),
            fv: DMatrix::zeros(0, 0),
            forces: forces.as_ref().map(|own| {
                let own = own.clone();
                Forces { c: own.c.resize_horizontally(nx, 0.0), ..own }
            }),
        };
        for ((j, of), squares) in sim.joints().iter().enumerate().zip(self.squares(q, before, v)) {
            fx.column_mut(of.v).rows_mut(0, nv).axpy(by_q, &b.column(j), 1.0);
            // Places in x of what u depends on, and how.
            let mut places = vec![(of.v, 0)];
            if let Some(Forces { c, d, .. }) = &mut out.forces {
                c.column_mut(of.v).axpy(by_q, &d.column(j), 1.0);
                if self.remembers() {
                    c.column_mut(nv + j).axpy(by_before, &d.column(j), 1.0);
                }
            }
            if self.remembers() {
                fx.column_mut(nv + j).rows_mut(0, nv).axpy(by_before, &b.column(j), 1.0);
                (fx[(nv + j, of.v)], fx[(nv + j, nv + j)], fv[(nv + j, j)]) = (by_q, by_before, 1.0);
                places.push((nv + j, 1));
            }
            for Square { weight, residual, rates } in squares.into_iter().filter(|s| s.weight > 0.0) {
                let twice = 2.0 * weight;
                out.lv[j] += twice * residual * rates[2];
                out.lvv[(j, j)] += twice * rates[2] * rates[2];
                for &(at, which) in &places {
                    out.lx[at] += twice * residual * rates[which];
                    out.lxv[(at, j)] += twice * rates[which] * rates[2];
                    for &(other, of_other) in &places {
                        out.lxx[(at, other)] += twice * rates[which] * rates[of_other];
                    }
                }
            }
            let base = self.command.base(j, of, q, before);
            let (least, most) = self.command.range(j, of, q, before, base);
            out.range.push((least - v[j], most - v[j]));
        }
        if let Some(forces) = out.forces.take() {
            self.objective.forces.iter().for_each(|term| out.add_force(term, &forces));
            out.forces = Some(forces);
        }
        let end = &along.q[(k + 1) * nq..(k + 2) * nq];
        let mut next = Expansion::zeros(nv);
        self.objective.expand(end, k + 1 == self.horizon, false, &mut next)?;
        out.next.gradient.rows_mut(0, nv).copy_from(&next.gradient);
        out.next.hessian.view_mut((0, 0), (nv, nv)).copy_from(&next.hessian);
        (out.fx, out.fv) = (fx, fv);
        if along.weight != 1.0 {
            out.weigh(along.weight);
        }
        Ok(out)
    }

    /// The gradient of a world's objective with respect to v (T, nu), by the adjoint of the linearised trajectory.
    fn gradient(quadratics: &[Quadratic]) -> Vec<f64> {
        let mut pull = DVector::zeros(quadratics.first().map_or(0, |q| q.lx.len()));
        let mut rows = Vec::with_capacity(quadratics.len());
        for period in quadratics.iter().rev() {
            pull += &period.next.gradient;
            rows.push(period.fv.tr_mul(&pull) + &period.lv);
            pull = period.fx.tr_mul(&pull) + &period.lx;
        }
        rows.iter().rev().flat_map(|row| row.iter().copied()).collect()
    }

    /// The objective and its gradient with respect to v (T, nu) at given v. The gradient is exact unless a v is at a
    /// limit that moves with the state.
    ///
    /// # Errors
    /// As [`Problem::roll`].
    pub fn value_and_gradient(&self, start: &Start, v: &[f64]) -> Result<(f64, Vec<f64>)> {
        let mut all = self.roll_given(start, &[v.to_vec()])?;
        let Some(along) = all.pop() else { bail!("problem: expected a trajectory") };
        let mut sum = vec![0.0; v.len()];
        for world in self.expand(start, &along, false)?.iter().filter(|world| !world.is_empty()) {
            sum.iter_mut().zip(Self::gradient(world)).for_each(|(sum, own)| *sum += own);
        }
        Ok((along.cost, sum))
    }

    /// The cost of the objective's purposes along a trajectory, and how much of it a change of v within its range could
    /// remove, to first order. Of several worlds it is the first one that counts.
    pub(super) fn purpose(&self, along: &Trajectory, worlds: &[Vec<Quadratic>]) -> Result<(f64, f64)> {
        let first = along.worlds().zip(worlds).find(|(_, quadratics)| !quadratics.is_empty());
        let Some((along, quadratics)) = first else { bail!("problem: expected a world that counts") };
        let (nq, nv) = (self.simulator.model().nq(), self.simulator.model().nv());
        let (mut cost, mut gain) = (0.0, 0.0);
        let mut pull = DVector::<f64>::zeros(self.nx());
        for (k, period) in quadratics.iter().enumerate().rev() {
            let (end, last) = (&along.q[(k + 1) * nq..(k + 2) * nq], k + 1 == self.horizon);
            let mut next = Expansion::zeros(nv);
            self.objective.expand(end, last, true, &mut next)?;
            cost += self.objective.state(end, last, true)?;
            let mut head = pull.rows_mut(0, nv);
            head += &next.gradient;
            let by_v = period.fv.tr_mul(&pull);
            gain += by_v.iter().zip(&period.range).map(|(g, (least, most))| (-g * least).max(-g * most)).sum::<f64>();
            pull = period.fx.tr_mul(&pull);
        }
        Ok((cost, gain))
    }
}
