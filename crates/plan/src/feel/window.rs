//! The states of a window: what the model and the sensors expect of them, and the normal equations.

use std::ops::Range;
use std::sync::Arc;

use candle_core::Result;
use nalgebra::{DMatrix, DVector, Matrix3, Vector3};

use fingertip_step::kinematics::{Coordinate, FrameSpec, PlacedPoints, Points};
use fingertip_step::model::Model;
use fingertip_step::solve::Status;
use fingertip_step::step::{Outputs, SparseRows, StepNumbers};

use super::Options;
use super::chain::Chain;
use crate::fit::Net;
use crate::mpc::{Simulator, is_object};

/// What came after a command had been held for a period.
#[derive(Clone, Debug)]
pub struct Period {
    /// The command (nu).
    pub u: Vec<f64>,
    /// q as it was measured (nq); NaN where nothing was.
    pub measured: Vec<f64>,
    /// Net forces (n, 3); NaN where nothing was measured.
    pub force: Vec<f64>,
}

/// What is known of the first state: its mean (nq), and the inverse of its covariance (nv, nv).
#[derive(Clone, Debug)]
pub struct Prior {
    pub(super) mean: Vec<f64>,
    pub(super) information: DMatrix<f64>,
}

/// Degrees of freedom that move together.
#[derive(Clone, Debug)]
struct Group {
    dofs: Vec<usize>,
    /// Drift in a period, and deviation of measurements, m or rad.
    drift: f64,
    noise: f64,
}

/// What does not change from period to period.
#[derive(Clone, Debug)]
pub struct Terms {
    groups: Vec<Group>,
    pub(super) nets: Vec<Net>,
    /// Where all bodies are.
    points: Arc<Points>,
    /// The bodies on both sides of each contact, and whether a free object is among them.
    sides: Vec<([usize; 2], bool)>,
    options: Options,
    nq: usize,
    pub(super) nv: usize,
}

/// The states, and what is expected of them.
pub struct Expected {
    /// States (n + 1) × (nq).
    pub(super) x: Vec<Vec<f64>>,
    /// Where each period ends by the model (n) × (nq), and whether its steps had solutions.
    predicted: Vec<(Vec<f64>, bool)>,
    /// The states at the start of each step, and the steps' own forces.
    starts: Vec<f64>,
    warm: SparseRows,
    /// A step from each state, under the command that led to it; from the first under the one that leads on.
    step: Option<StepNumbers>,
    /// The residuals of each state but the first, and of these with the state before.
    pub residuals: Vec<Vec<Residual>>,
    pub(super) cost: f64,
}

/// Residuals over their deviations that have a common loss.
pub struct Residual {
    pub of: Of,
    value: Vec<f64>,
    deviation: f64,
    loss: Loss,
}

/// Of the length r of residuals, with c for `Options::huber`.
#[derive(Clone, Copy)]
enum Loss {
    /// ½ r².
    Square,
    /// Huber's: ½ r², and from c on a line.
    Huber,
    /// Cauchy's: ½ c² log(1 + r²/c²); what is far off hardly pulls.
    Cauchy,
}

/// What a residual is of.
#[derive(Clone, Copy)]
pub enum Of {
    /// A degree of freedom that was measured.
    Freedom(usize),
    /// A net force.
    Force(usize),
    /// The gap of a contact.
    Gap(usize),
    /// How far a contact's points slipped past each other in a period.
    Slip(usize),
}

impl Residual {
    /// The loss, and its weight in the normal equations.
    fn loss(&self, c: f64) -> (f64, f64) {
        let square: f64 = self.value.iter().map(|x| x * x).sum();
        let length = square.sqrt();
        match self.loss {
            Loss::Huber if length > c => (c * (length - 0.5 * c), c / length),
            Loss::Cauchy => (0.5 * c * c * (square / (c * c)).ln_1p(), c * c / (c * c + square)),
            _ => (0.5 * square, 1.0),
        }
    }
}

impl Terms {
    /// Of a model, these net forces and options.
    pub fn new(simulator: &Simulator, nets: Vec<Net>, options: &Options) -> Self {
        let model = simulator.model();
        let tree = &model.tree;
        let mut groups = Vec::new();
        for c in &tree.coordinates {
            let of_units = [("m", options.drift[0], options.pose[0]), ("rad", options.drift[1], options.pose[1])];
            for (unit, drift, noise) in of_units {
                let freedoms = c.kind.freedoms().iter().enumerate();
                let dofs: Vec<usize> = freedoms.filter(|(_, own)| own.1 == unit).map(|(k, _)| c.v + k).collect();
                let [drift, noise] =
                    if is_object(model, c.body) { [drift, noise] } else { [options.joint_drift, options.joint] };
                if !dofs.is_empty() {
                    groups.push(Group { dofs, drift: drift * simulator.period().sqrt(), noise });
                }
            }
        }
        let frames: Vec<FrameSpec> = (0..tree.bodies.len()).map(FrameSpec::of_body).collect();
        let side = |&pair: &usize| {
            let pair = &model.pairs.pairs[pair];
            let bodies = [pair.a, pair.b].map(|shape| model.shapes[shape].body);
            (bodies, bodies.into_iter().any(|body| is_object(model, body)))
        };
        Self {
            groups,
            nets,
            points: Arc::new(Points::new(tree, &frames)),
            sides: model.pairs.pair_of_contact.iter().map(side).collect(),
            options: options.clone(),
            nq: model.nq(),
            nv: model.nv(),
        }
    }

    /// What is known at the start, at q: objects' poses to the options' deviations, joints as they are measured.
    pub fn prior(&self, model: &Model, q: &[f64]) -> Prior {
        let mut information = DMatrix::zeros(self.nv, self.nv);
        for c in &model.tree.coordinates {
            for (k, (_, unit)) in c.kind.freedoms().iter().enumerate() {
                let of_object = self.options.start[usize::from(*unit == "rad")];
                let deviation: f64 = if is_object(model, c.body) { of_object } else { self.options.joint };
                information[(c.v + k, c.v + k)] = deviation.powi(-2);
            }
        }
        Prior { mean: q.to_vec(), information }
    }

    /// The state that the model expects after a period.
    pub(super) fn predicted(&self, simulator: &Simulator, from: &[f64], u: &[f64]) -> Result<Vec<f64>> {
        let held = simulator.advance(from, u, None)?;
        let last = &held.q[held.q.len() - self.nq..];
        Ok(if last.iter().all(|x| x.is_finite()) { last.to_vec() } else { from.to_vec() })
    }

    /// A state with what was measured put in; rotations as a whole, of any length.
    pub(super) fn with_measured(&self, model: &Model, x: &[f64], measured: &[f64]) -> Vec<f64> {
        let mut all = x.to_vec();
        for c in &model.tree.coordinates {
            let turn = turn(c);
            let others = (c.q..c.q + c.kind.nq()).filter(|k| !turn.contains(k) && measured[*k].is_finite());
            others.for_each(|k| all[k] = measured[k]);
            let norm = length(&measured[turn.clone()]);
            if norm.is_finite() && norm > 0.0 {
                turn.for_each(|k| all[k] = measured[k] / norm);
            }
        }
        all
    }

    /// Which degrees of freedom were measured.
    pub(super) fn is_measured(&self, model: &Model, measured: &[f64]) -> Vec<bool> {
        let mut all = vec![false; self.nv];
        for c in &model.tree.coordinates {
            let turn = turn(c);
            let norm = length(&measured[turn.clone()]);
            for dof in c.dofs() {
                let k = c.q + dof - c.v;
                all[dof] = if k < turn.start { measured[k].is_finite() } else { norm.is_finite() && norm > 0.0 };
            }
        }
        all
    }

    /// Deviations of the model in each period (n) × (nv), around these states.
    pub fn deviations(&self, simulator: &Simulator, at: &Expected) -> Result<Vec<DVector<f64>>> {
        let one = |(x, (predicted, _)): (&Vec<f64>, &(Vec<f64>, bool))| {
            let motion = simulator.minus(predicted, x)?;
            let mut all = DVector::zeros(self.nv);
            for group in &self.groups {
                let moved = group.dofs.iter().map(|&dof| motion[dof].powi(2)).sum::<f64>().sqrt();
                // Something is always left to be told.
                let deviation = group.drift.hypot(self.options.share * moved).max(LEAST);
                group.dofs.iter().for_each(|&dof| all[dof] = deviation);
            }
            Ok(all)
        };
        at.x.iter().zip(&at.predicted).map(one).collect()
    }

    /// What is expected of states. `before` are the forces that were measured at the first of them (n, 3).
    pub fn expected(
        &self,
        simulator: &Simulator,
        (before, periods): (&[f64], &[Period]),
        x: Vec<Vec<f64>>,
    ) -> Result<Expected> {
        let mut at = Expected {
            predicted: Vec::new(),
            starts: Vec::new(),
            warm: SparseRows::default(),
            step: None,
            residuals: Vec::new(),
            cost: 0.0,
            x,
        };
        let (n, nq, hold) = (periods.len(), self.nq, simulator.hold());
        if n == 0 {
            return Ok(at);
        }
        let u: Vec<f64> = periods.iter().flat_map(|period| &period.u).copied().collect();
        let from = at.x[..n].concat();
        let held = simulator.advance(&from, &u, None)?;
        for k in 0..n {
            let own = &held.q[k * hold * nq..(k + 1) * hold * nq];
            let reports = &held.reports[k * hold..(k + 1) * hold];
            let is_solved = reports.iter().all(|report| report.status == Status::Solved);
            at.starts.extend_from_slice(&from[k * nq..(k + 1) * nq]);
            at.starts.extend_from_slice(&own[..(hold - 1) * nq]);
            let end = if is_solved { &own[(hold - 1) * nq..] } else { &from[k * nq..(k + 1) * nq] };
            at.predicted.push((end.to_vec(), is_solved));
        }
        at.warm = held.warm;
        let step = simulator.step().step_numbers(&at.x.concat(), &led(periods), &[])?;
        let mut before = self.touching(before, (&step, 0));
        for (k, period) in periods.iter().enumerate() {
            let mut own = self.residuals(simulator, &at.x[k + 1], period, (&step, k + 1))?;
            let now = self.touching(&period.force, (&step, k + 1));
            self.slips([&at.x[k], &at.x[k + 1]], [&before, &now], (&step, k), &mut own)?;
            at.residuals.push(own);
            before = now;
        }
        at.step = Some(step);
        Ok(at)
    }

    fn residuals(
        &self,
        simulator: &Simulator,
        x: &[f64],
        period: &Period,
        (step, world): (&StepNumbers, usize),
    ) -> Result<Vec<Residual>> {
        let (model, options) = (simulator.model(), &self.options);
        let mut all = Vec::new();
        let off = simulator.minus(x, &self.with_measured(model, x, &period.measured))?;
        let is_measured = self.is_measured(model, &period.measured);
        for Group { dofs, noise, .. } in &self.groups {
            for &dof in dofs.iter().filter(|&&dof| is_measured[dof]) {
                let value = vec![off[dof] / noise];
                all.push(Residual { of: Of::Freedom(dof), value, deviation: *noise, loss: Loss::Square });
            }
        }
        if step.reports[world].status != Status::Solved {
            return Ok(all);
        }
        let nc = self.sides.len();
        let (force, phi) = (&step.force[3 * nc * world..3 * nc * (world + 1)], &step.phi[nc * world..nc * (world + 1)]);
        for (k, net) in self.nets.iter().enumerate() {
            let felt = &period.force[3 * k..3 * k + 3];
            let size = length(felt);
            let deviation = options.force[1].hypot(options.force[0] * size);
            if deviation.is_finite() {
                let expected = |axis: usize| net.along(axis).iter().map(|&(at, sign)| sign * force[at]).sum::<f64>();
                let value = (0..3).map(|axis| (expected(axis) - felt[axis]) / deviation).collect();
                all.push(Residual { of: Of::Force(k), value, deviation, loss: Loss::Huber });
            }
        }
        let touching = self.touching(&period.force, (step, world));
        let mut held = vec![None; nc];
        for (own, felt) in touching.iter().zip(period.force.chunks_exact(3)) {
            own.first()
                .into_iter()
                .for_each(|&contact| held[contact] = Some(BARRIER / (simulator.kappa() * length(felt))));
        }
        for contact in 0..nc {
            let (expected, deviation) =
                held[contact].map_or((0.0, options.gap), |gap| (gap, options.gap.hypot(gap / 2.0)));
            if held[contact].is_some() || (self.sides[contact].1 && phi[contact] < 0.0) {
                let value = vec![(phi[contact] - expected) / deviation];
                all.push(Residual { of: Of::Gap(contact), value, deviation, loss: Loss::Huber });
            }
        }
        Ok(all)
    }

    /// The contacts of each net force that touch where so much is felt: the nearest, and those that are as near.
    fn touching(&self, force: &[f64], (step, world): (&StepNumbers, usize)) -> Vec<Vec<usize>> {
        let nc = self.sides.len();
        let phi = &step.phi[nc * world..nc * (world + 1)];
        let one = |(net, felt): (&Net, &[f64])| {
            let mut all = Vec::new();
            if length(felt) >= self.options.touch {
                all.extend(net.contacts.iter().map(|&(contact, _)| contact));
                all.sort_by(|&a, &b| phi[a].total_cmp(&phi[b]));
                let nearest = all.first().map_or(0.0, |&contact| phi[contact]);
                all.retain(|&contact| phi[contact] <= nearest + self.options.gap);
            }
            all
        };
        self.nets.iter().zip(force.chunks_exact(3)).map(one).collect()
    }

    /// What touches before and after a period sticks: the points of either side that met before it.
    fn slips(
        &self,
        x: [&[f64]; 2],
        touching: [&[Vec<usize>]; 2],
        (step, world): (&StepNumbers, usize),
        all: &mut Vec<Residual>,
    ) -> Result<()> {
        let placed = [self.points.at(x[0])?, self.points.at(x[1])?];
        for (before, after) in touching[0].iter().zip(touching[1]) {
            for &contact in before.iter().filter(|_| !after.is_empty()) {
                let (normal, p) = self.met(step, world, contact);
                let [a, b] = self.sides[contact].0.map(|body| moved(placed.each_ref(), body, p).0);
                let slip = b - a;
                let slip = (slip - normal * normal.dot(&slip)) / self.options.slip;
                let value = slip.iter().copied().collect();
                all.push(Residual { of: Of::Slip(contact), value, deviation: self.options.slip, loss: Loss::Cauchy });
            }
        }
        Ok(())
    }

    /// A contact's normal, and the middle of its points.
    fn met(&self, step: &StepNumbers, world: usize, contact: usize) -> (Vector3<f64>, Vector3<f64>) {
        let first = 3 * (world * self.sides.len() + contact);
        let of = |all: &[f64]| Vector3::from_row_slice(&all[first..first + 3]);
        (of(&step.normal), (of(&step.point_a) + of(&step.point_b)) / 2.0)
    }

    /// Half the sum of squares over deviations.
    pub fn cost(
        &self,
        simulator: &Simulator,
        at: &Expected,
        prior: &Prior,
        deviations: &[DVector<f64>],
    ) -> Result<f64> {
        let off = DVector::from_vec(simulator.minus(&at.x[0], &prior.mean)?);
        let mut sum = 0.5 * off.dot(&(&prior.information * &off));
        for (k, (predicted, _)) in at.predicted.iter().enumerate() {
            let off = DVector::from_vec(simulator.minus(&at.x[k + 1], predicted)?);
            sum += 0.5 * off.component_div(&deviations[k]).norm_squared();
        }
        sum += at.residuals.iter().flatten().map(|one| one.loss(self.options.huber).0).sum::<f64>();
        Ok(if sum.is_finite() { sum } else { f64::INFINITY })
    }

    /// The normal equations around the states, and those of the first two states by themselves.
    pub fn chain(
        &self,
        simulator: &Simulator,
        periods: &[Period],
        at: &Expected,
        prior: &Prior,
        deviations: &[DVector<f64>],
    ) -> Result<(Chain, Option<Chain>)> {
        let (n, nv) = (periods.len(), self.nv);
        let mut chain = Chain::new(n + 1, nv);
        let off = DVector::from_vec(simulator.minus(&at.x[0], &prior.mean)?);
        chain.own[0] += &prior.information;
        chain.right[0] -= &prior.information * off;
        let Some(step) = &at.step else { return Ok((chain, None)) };
        let u: Vec<f64> = periods.iter().flat_map(|period| &period.u).copied().collect();
        let linear = simulator.linearize(&at.starts, &u, Some(&at.warm), false)?;
        let by_force = self.by_force(simulator, at, &led(periods), step)?;
        let mut first = None;
        for k in 0..n {
            let (predicted, is_solved) = &at.predicted[k];
            let a = if *is_solved { linear[k].a.clone() } else { DMatrix::identity(nv, nv) };
            let off = DVector::from_vec(simulator.minus(&at.x[k + 1], predicted)?);
            let weight = deviations[k].map(|deviation| deviation.powi(-2));
            // W A, row by row.
            let mut weighted = a.clone();
            weighted.row_iter_mut().zip(weight.iter()).for_each(|(mut row, &w)| row *= w);
            chain.own[k] += a.tr_mul(&weighted);
            chain.right[k] += weighted.tr_mul(&off);
            chain.own[k + 1] += DMatrix::from_diagonal(&weight);
            chain.right[k + 1] -= off.component_mul(&weight);
            chain.below[k] -= weighted;
            let placed = self.points.at(&at.x[k + 1])?;
            let before = self.points.at(&at.x[k])?;
            for one in &at.residuals[k] {
                let weight = one.loss(self.options.huber).1;
                let mut rows = DMatrix::zeros(one.value.len(), nv);
                let mut rows_before = None;
                match one.of {
                    Of::Freedom(dof) => rows[(0, dof)] = 1.0,
                    Of::Force(net) => {
                        let first = ((k + 1) * self.nets.len() + net) * 3 * nv;
                        rows.copy_from(&DMatrix::from_row_slice(3, nv, &by_force[first..first + 3 * nv]));
                    }
                    Of::Gap(contact) => {
                        // The velocity of the point on B along the normal, less that of the point on A.
                        let (normal, _) = self.met(step, k + 1, contact);
                        let at = 3 * ((k + 1) * self.sides.len() + contact);
                        for (side, points) in [&step.point_a, &step.point_b].into_iter().enumerate() {
                            let point = std::array::from_fn(|i| points[at + i]);
                            for (dof, velocity) in placed.velocities(self.sides[contact].0[side], point) {
                                rows[(0, dof)] += SIGN[side] * normal.dot(&Vector3::from(velocity));
                            }
                        }
                    }
                    Of::Slip(contact) => {
                        let (normal, p) = self.met(step, k, contact);
                        let mut rows_of_before = DMatrix::zeros(3, nv);
                        let along = Matrix3::identity() - normal * normal.transpose();
                        for (side, &body) in self.sides[contact].0.iter().enumerate() {
                            let (end, turn) = moved([&before, &placed], body, p);
                            for (rows, placed, p, turn) in [
                                (&mut rows, &placed, end, Matrix3::identity()),
                                (&mut rows_of_before, &before, p, -turn),
                            ] {
                                for (dof, velocity) in placed.velocities(body, p.into()) {
                                    let by = along * turn * Vector3::from(velocity) * SIGN[side];
                                    (0..3).for_each(|i| rows[(i, dof)] += by[i]);
                                }
                            }
                        }
                        rows_before = Some(rows_of_before / one.deviation);
                    }
                }
                let rows = rows / one.deviation;
                let value = DVector::from_row_slice(&one.value);
                chain.own[k + 1].gemm_tr(weight, &rows, &rows, 1.0);
                chain.right[k + 1].gemv_tr(-weight, &rows, &value, 1.0);
                if let Some(before) = rows_before {
                    chain.own[k].gemm_tr(weight, &before, &before, 1.0);
                    chain.right[k].gemv_tr(-weight, &before, &value, 1.0);
                    chain.below[k].gemm_tr(weight, &rows, &before, 1.0);
                }
            }
            first.get_or_insert_with(|| chain.part(2));
        }
        Ok((chain, first))
    }

    /// The derivatives of all net forces by q (n + 1, nets, 3, nv), if any counts.
    fn by_force(&self, simulator: &Simulator, at: &Expected, u: &[f64], step: &StepNumbers) -> Result<Vec<f64>> {
        if !at.residuals.iter().flatten().any(|one| matches!(one.of, Of::Force(_))) {
            return Ok(Vec::new());
        }
        let sums: Vec<_> = self.nets.iter().flat_map(|net| (0..3).map(|axis| net.along(axis))).collect();
        let outputs = Outputs { force: &sums, ..Outputs::default() };
        Ok(simulator.step().sensitivities([&at.x.concat(), u], step, &outputs, &[])?.q)
    }
}

/// The sign of a point's velocity in that of B past A.
const SIGN: [f64; 2] = [-1.0, 1.0];

/// The commands that led to states, that to the second for the first.
fn led(periods: &[Period]) -> Vec<f64> {
    periods.first().into_iter().chain(periods).flat_map(|period| &period.u).copied().collect()
}

/// Where a body takes its point from p, and how it turns, from one state to another.
fn moved(placed: [&PlacedPoints; 2], body: usize, p: Vector3<f64>) -> (Vector3<f64>, Matrix3<f64>) {
    let [(from, axes), (to, turned)] = placed.map(|placed| {
        (Vector3::from(placed.position(body)), Matrix3::from_columns(&placed.axes(body).map(Vector3::from)))
    });
    let turn = turned * axes.transpose();
    (to + turn * (p - from), turn)
}

/// The places of a coordinate's quaternion in q; at its end, none, where it has none.
fn turn(c: &Coordinate) -> Range<usize> {
    let end = c.q + c.kind.nq();
    c.kind.quaternion().map_or(end..end, |at| c.q + at..end)
}

fn length(of: &[f64]) -> f64 {
    of.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// κ times a force times its gap, by the relaxed law where nothing slips; half of that by Coulomb's.
const BARRIER: f64 = 2.0;

/// The least deviation of the model in a period, m or rad: less would leave nothing of a prior's digits.
const LEAST: f64 = 1e-6;
