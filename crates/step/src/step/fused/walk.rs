//! A world that is stepped in place: its memory stays, so that a step writes what has changed, and no row of results.

use std::sync::Arc;

use candle_core::{Result, Tensor};

use crate::contact::absence::is_absent;
use crate::contact::kernels::PairKernel;
use crate::contact::numbers::{NORMAL, PHI, POINT_A, POINT_B};
use crate::solve::{INFO, Report};
use crate::tensor::rows::TensorGuard;
use fingertip_lanes::lane::{Real, Single};
use fingertip_lanes::program::{Group, Program};
use fingertip_lanes::rows::Rows;
use fingertip_lanes::session::Session;

use super::memory::GEOMETRY;
use super::plan::Plan;
use super::stages::{Load, Operands};

/// One world that is stepped in place, and the memory that it is stepped in.
#[derive(Debug)]
pub(in super::super) struct Walk {
    plan: Arc<Plan>,
    session: Session,
    /// The parameters of the last step; none if there was no step.
    par: Vec<f64>,
    /// Is the next solve to start from the last one's forces?
    is_warm: bool,
}

/// The numbers of a step of a [`Walk`].
pub(in super::super) struct Walked<'a> {
    plan: &'a Plan,
    numbers: &'a [f64],
}

impl Walk {
    pub(in super::super) fn new(plan: &Arc<Plan>) -> Self {
        let session = Session::new(plan.set, plan.places.solve.work.end());
        Self { plan: plan.clone(), session, par: Vec::new(), is_warm: false }
    }

    /// Is this a world of this plan?
    pub(in super::super) fn is_of(&self, plan: &Arc<Plan>) -> bool {
        Arc::ptr_eq(&self.plan, plan)
    }

    /// Has the next solve start cold.
    pub(in super::super) fn forget(&mut self) {
        self.is_warm = false;
    }

    /// One step from q (nq) under the command u (nu), with these parameters.
    pub(in super::super) fn step(&mut self, q: &[f64], u: &[f64], par: &Tensor) -> Result<Walked<'_>> {
        let par = TensorGuard::new(par);
        let rows = |of| Rows::from_slice(of, 1, of.len());
        let operands = Operands { q: rows(q), u: rows(u), par: par.rows()?, warm: None };
        let Self { plan, is_warm, .. } = self;
        // What is far has kept the numbers that follow from the parameters.
        let goes_on = self.par == operands.par.row(0);
        self.session.run(&OneStep { plan, operands: &operands, goes_on, is_warm: *is_warm });
        if !goes_on {
            self.par = operands.par.row(0).to_vec();
        }
        self.is_warm = true;
        Ok(Walked { plan: &self.plan, numbers: self.session.numbers() })
    }
}

impl Walked<'_> {
    /// q₊.
    pub(in super::super) fn q_next(&self) -> &[f64] {
        &self.numbers[self.plan.places.numbers.q_next.clone()]
    }

    /// How the solve of the last step ended.
    pub(in super::super) fn report(&self) -> Report {
        let at = self.plan.places.solve.work.info.start;
        Report::of_row(std::array::from_fn::<_, INFO, _>(|k| self.numbers[at + k]))
    }

    /// Contacts of pairs that are not known to be far.
    pub(in super::super) fn contacts(&self) -> impl Iterator<Item = usize> {
        let near = &self.numbers[self.plan.places.numbers.near.clone()];
        let all = if near.is_empty() { 0..self.plan.nc } else { 0..0 };
        all.chain(self.pairs(false).flat_map(|pair| pair.first..pair.first + pair.contacts))
    }

    /// The least φ of the balls around pairs that are known to be far, m; infinite if there are none.
    pub(in super::super) fn far(&self) -> f64 {
        let (plan, at) = (self.plan, &self.plan.places.numbers);
        let [poses, par, balls] = [&at.kin, &at.par, &at.balls].map(|part| &self.numbers[part.clone()]);
        let places = [poses, plan.sizes(par), balls];
        let distances = self.pairs(true).filter_map(|pair| plan.pairs.far_distance(pair, places));
        distances.fold(f64::INFINITY, f64::min)
    }

    /// The pairs that are known to be far, or the others.
    fn pairs(&self, far: bool) -> impl Iterator<Item = &PairKernel> {
        let near = &self.numbers[self.plan.places.numbers.near.clone()];
        let is_far = |near: f64| is_absent(Single::<f64, false>::splat(near));
        self.plan.pairs.pairs.iter().zip(near).filter(move |&(_, &near)| is_far(near) == far).map(|(pair, _)| pair)
    }

    /// Normal, point on A, point on B.
    pub(in super::super) fn geometry(&self, contact: usize) -> [[f64; 3]; 3] {
        [NORMAL, POINT_A, POINT_B].map(|k| self.three(self.plan.places.numbers.geometry.start + GEOMETRY * contact + k))
    }

    /// Signed distance.
    pub(in super::super) fn phi(&self, contact: usize) -> f64 {
        self.numbers[self.plan.places.numbers.geometry.start + GEOMETRY * contact + PHI]
    }

    /// The contact's part of its pair's barrier.
    pub(in super::super) fn share(&self, contact: usize) -> f64 {
        self.numbers[self.plan.places.numbers.share.clone()].get(contact).copied().unwrap_or(1.0)
    }

    /// The force on B.
    pub(in super::super) fn force(&self, contact: usize) -> [f64; 3] {
        self.three(self.plan.places.numbers.force.start + 3 * contact)
    }

    fn three(&self, at: usize) -> [f64; 3] {
        [self.numbers[at], self.numbers[at + 1], self.numbers[at + 2]]
    }
}

/// The program of a step on memory that is there.
struct OneStep<'a> {
    plan: &'a Plan,
    operands: &'a Operands<'a>,
    goes_on: bool,
    is_warm: bool,
}

impl Program for OneStep<'_> {
    fn scratch(&self) -> usize {
        self.plan.places.solve.work.end()
    }

    fn group(&self, group: &mut Group) {
        let Self { plan, operands, goes_on, is_warm } = self;
        group.run_in_either(&Load { plan, operands, goes_on: *goes_on });
        plan.prepare_near(group);
        plan.solve(group, *is_warm);
    }
}
