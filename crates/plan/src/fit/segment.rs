//! A part of a log, from one start: its steps, what they predict, and the normal equations of that.

use candle_core::Result;
use nalgebra::{DMatrix, DVector, DVectorViewMut, Matrix3, Quaternion, UnitQuaternion, Vector3};

use fingertip_step::model::Model;
use fingertip_step::step::Direction;

use super::log::{Kind, Log, Of};
use super::unknown::{Part, Unknown};
use super::world::{Run, TOGETHER, World};

/// Rows of the Jacobian that are multiplied at a time.
const ROWS: usize = 1024;
/// Rows from whose measurements the velocities at a start are guessed.
const FIRST: usize = 3;
/// Part of a step by which times may be off without being between steps.
const ON_TIME: f64 = 1e-6;

/// A part of a log that is rolled out from a start of its own.
pub(super) struct Segment {
    /// The log, and its rows.
    pub(super) log: usize,
    rows: std::ops::Range<usize>,
    n_steps: usize,
    /// For each row, relative to the first: the step in which it is, and how far in it, from 0 to 1.
    at: Vec<(usize, f64)>,
    /// The degrees of freedom whose start is looked for; behind them, in a second-order step, their velocities.
    free: Vec<usize>,
    /// The start as described or measured.
    q: Vec<f64>,
    /// Velocities there, by the first measurements; empty where the step has none.
    v: Vec<f64>,
}

/// What belongs to all parts: the numbers that are looked for, as they are now.
pub(super) struct Now<'a> {
    pub(super) world: &'a World,
    pub(super) unknowns: &'a [Unknown],
    pub(super) values: &'a [f64],
    pub(super) directions: &'a [Direction],
    /// Standard deviation of each kind of measurement.
    pub(super) noise: [f64; Kind::ALL.len()],
}

/// A residual: measured less predicted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residual {
    pub(super) channel: usize,
    pub(super) row: usize,
    /// Which of the channel's numbers.
    pub(super) part: usize,
    pub(super) value: f64,
}

/// The normal equations of a part in its start s and the numbers p: H = JᵀJ and g = Jᵀr over the noise.
pub(super) struct Normal {
    pub(super) ss: DMatrix<f64>,
    pub(super) sp: DMatrix<f64>,
    pub(super) pp: DMatrix<f64>,
    pub(super) s: DVector<f64>,
    pub(super) p: DVector<f64>,
}

/// Commands that act from their times on, seen late.
struct Commands<'a> {
    log: &'a Log,
    nu: usize,
    /// ∫ u from the first row's time to each row's (n, nu).
    sums: Vec<f64>,
}

impl<'a> Commands<'a> {
    fn new(log: &'a Log, nu: usize) -> Self {
        let mut sums = vec![0.0; log.time.len() * nu];
        for row in 1..log.time.len() {
            let dt = log.time[row] - log.time[row - 1];
            for k in 0..nu {
                sums[row * nu + k] = sums[(row - 1) * nu + k] + dt * log.commands[(row - 1) * nu + k];
            }
        }
        Self { log, nu, sums }
    }

    /// The row whose command acts just before a time: the first, before all.
    fn before(&self, time: f64) -> usize {
        self.log.time.partition_point(|&own| own < time).saturating_sub(1)
    }

    /// ∫ u up to a time, and u just before it.
    fn up_to(&self, time: f64, k: usize) -> (f64, f64) {
        let row = self.before(time);
        let u = self.log.commands[row * self.nu + k];
        (self.sums[row * self.nu + k] + (time - self.log.time[row]) * u, u)
    }

    /// The mean of a command from `from` to `to`, and its derivative by a delay of both.
    fn mean(&self, from: f64, to: f64, k: usize) -> (f64, f64) {
        let ([a, u_a], [b, u_b]) = (<[f64; 2]>::from(self.up_to(from, k)), <[f64; 2]>::from(self.up_to(to, k)));
        ((b - a) / (to - from), (u_a - u_b) / (to - from))
    }
}

impl Segment {
    /// The parts of a log, each at most so many seconds long.
    pub(super) fn all(model: &Model, world: &World, (log, of): (usize, &Log), window: Option<f64>) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut first = 0;
        while first + 1 < of.time.len() {
            let end = window.map_or(f64::INFINITY, |window| of.time[first] + window * (1.0 + ON_TIME));
            // One that would be left over belongs to the last.
            let next = of.time.partition_point(|&time| time <= end).max(first + 2);
            let last = if next + 1 >= of.time.len() { of.time.len() } else { next };
            parts.push(Self::new(model, world, (log, of), first..last));
            first = last;
        }
        parts
    }

    fn new(model: &Model, world: &World, (log, of): (usize, &Log), rows: std::ops::Range<usize>) -> Self {
        let start = of.time[rows.start];
        let steps = |time: f64| (time - start) / world.h;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 1")]
        let n_steps = (steps(of.time[rows.end - 1]) - ON_TIME).ceil().max(1.0) as usize;
        let at = |row: usize| {
            let t = steps(of.time[row]);
            let t = if (t - t.round()).abs() < ON_TIME { t.round() } else { t };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 up")]
            let k = (t.floor() as usize).min(n_steps - 1);
            (k, t - k as f64)
        };
        let mut q = model.tree.home();
        // A joint that is not measured begins where its command is.
        for c in model.tree.coordinates.iter().filter(|c| c.others.is_empty()) {
            if let Some(u) = c.u {
                q[c.q] = of.commands[rows.start * model.nu() + u];
            }
        }
        let (mut free, mut v) = (Vec::new(), vec![0.0; world.nx() - world.nv]);
        let first = rows.start..rows.end.min(rows.start + FIRST);
        for channel in &of.channels {
            let measured = |width: usize| channel.values[rows.start * width..(rows.start + 1) * width].to_vec();
            let mut guess = |dof: usize, value: &dyn Fn(usize) -> f64| {
                if let Some(v) = v.get_mut(dof) {
                    *v = slope(first.clone().map(|row| (of.time[row], value(row))));
                }
            };
            match channel.of {
                Of::Coordinate { q: at, v } => {
                    free.push(v);
                    guess(v, &|row| channel.values[row]);
                    q[at] = if measured(1)[0].is_nan() { q[at] } else { measured(1)[0] };
                }
                Of::Rotation { q: at, v } => {
                    free.extend(v..v + 3);
                    let turn = measured(4);
                    let length = turn.iter().map(|x| x * x).sum::<f64>().sqrt();
                    if length > 0.0 {
                        q[at..at + 4].iter_mut().zip(&turn).for_each(|(q, x)| *q = x / length);
                        let own = |row: usize| rotation(&channel.values[4 * row..4 * row + 4], &q[at..at + 4]);
                        (0..3).for_each(|axis| guess(v + axis, &|row| own(row)[axis]));
                    }
                }
                Of::Force(_) => {}
            }
        }
        if world.has_velocities() {
            free.extend(free.clone().into_iter().map(|dof| world.nv + dof));
        }
        Self { log, at: rows.clone().map(at).collect(), rows, n_steps, free, q, v }
    }

    /// The number of steps.
    pub(super) fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// The number of start coordinates.
    pub(super) fn n_start(&self) -> usize {
        self.free.len()
    }

    /// The commands of the steps (T, nu), and their derivatives by the latency.
    fn commands(&self, log: &Log, now: &Now) -> (Vec<f64>, Vec<f64>) {
        let (nu, h, start) = (now.world.nu, now.world.h, log.time[self.rows.start]);
        let all = Commands::new(log, nu);
        let (mut latency, mut shift) = (0.0, vec![0.0; nu]);
        for (unknown, value) in now.unknowns.iter().zip(now.values) {
            match unknown.part {
                Part::Latency => latency = *value,
                Part::Command(u) => shift[u] += value,
                Part::Parameters(_) | Part::Sensor(_) => {}
            }
        }
        let (mut u, mut rates) = (Vec::new(), Vec::new());
        for step in 0..self.n_steps {
            let from = start + step as f64 * h - latency;
            for (k, shift) in shift.iter().enumerate() {
                let (mean, rate) = all.mean(from, from + h, k);
                u.push(mean + shift);
                rates.push(rate);
            }
        }
        (u, rates)
    }

    /// Rolls out from the start s, changes of what was described or measured.
    fn run(&self, now: &Now, s: &DVector<f64>, u: &[f64]) -> Result<Run> {
        let nv = now.world.nv;
        let mut x = [&vec![0.0; nv][..], &self.v].concat();
        self.free.iter().zip(s.iter()).for_each(|(&at, s)| x[at] += *s);
        now.world.run(now.world.manifold.plus(&self.q, &x[..nv])?, x[nv..].to_vec(), u, self.n_steps)
    }

    /// The residuals of a rollout, and for each where it is: the degrees of freedom that it is of, or the sum of
    /// forces.
    fn residuals(&self, log: &Log, now: &Now, run: &Run) -> Result<Vec<Residual>> {
        let (nq, nc) = (now.world.manifold.nq(), run.force.len() / self.n_steps);
        let mut all = Vec::new();
        let mut offsets = vec![0.0; nq];
        for (unknown, value) in now.unknowns.iter().zip(now.values) {
            if let Part::Sensor(q) = unknown.part {
                offsets[q] += value;
            }
        }
        for (&(k, part), row) in self.at.iter().zip(self.rows.clone()) {
            let state = |k: usize| &run.q[k * nq..(k + 1) * nq];
            let (from, to) = (state(k), state(k + 1));
            for (channel, of) in log.channels.iter().enumerate() {
                let width = of.values.len() / log.time.len();
                let measured = &of.values[row * width..(row + 1) * width];
                if measured.iter().any(|x| x.is_nan()) {
                    continue;
                }
                let mut push = |part: usize, value: f64| all.push(Residual { channel, row, part, value });
                match &of.of {
                    Of::Coordinate { q, .. } => {
                        push(0, measured[0] - offsets[*q] - (1.0 - part) * from[*q] - part * to[*q]);
                    }
                    Of::Rotation { q, .. } => {
                        let [a, b] = [from, to].map(|state| rotation(measured, &state[*q..*q + 4]));
                        (0..3).for_each(|axis| push(axis, (1.0 - part) * a[axis] + part * b[axis]));
                    }
                    Of::Force(sum) => {
                        let force = &run.force[k * nc..(k + 1) * nc];
                        push(0, measured[0] - sum.iter().map(|&(at, sign)| sign * force[at]).sum::<f64>());
                    }
                }
            }
        }
        Ok(all)
    }

    /// The residuals from a start, and the steps without a solution.
    pub(super) fn simulate(&self, log: &Log, now: &Now, s: &DVector<f64>) -> Result<(Vec<Residual>, usize)> {
        let (u, _) = self.commands(log, now);
        let run = self.run(now, s, &u)?;
        Ok((self.residuals(log, now, &run)?, run.unsolved))
    }

    /// The normal equations at a start.
    pub(super) fn normal(&self, log: &Log, now: &Now, s: &DVector<f64>) -> Result<Normal> {
        let (u, rates) = self.commands(log, now);
        let run = self.run(now, s, &u)?;
        let residuals = self.residuals(log, now, &run)?;
        let (world, ns, p) = (now.world, self.free.len(), now.unknowns.len());
        let (nq, nu, n) = (world.manifold.nq(), world.nu, ns + p);
        let forces: Vec<Vec<(usize, f64)>> = log
            .channels
            .iter()
            .filter_map(|channel| match &channel.of {
                Of::Force(sum) => Some(sum.clone()),
                _ => None,
            })
            .collect();
        let place =
            |channel: usize| log.channels[..channel].iter().filter(|one| matches!(one.of, Of::Force(_))).count();
        let mut sum = Sum::new(n);
        // Transposed, as the rows of the Jacobian: a column for each number of the state.
        let mut state = DMatrix::zeros(n, world.nx());
        self.free.iter().enumerate().for_each(|(k, &at)| state[(k, at)] = 1.0);
        let mut left = residuals.iter().peekable();
        for first in (0..self.n_steps).step_by(TOGETHER) {
            let some = first..(first + TOGETHER).min(self.n_steps);
            let derivatives = world.derivatives(&run, &u, some.clone(), &forces, now.directions)?;
            for (k, by) in some.zip(&derivatives) {
                let mut by_u = DMatrix::zeros(nu, p);
                for (column, unknown) in now.unknowns.iter().enumerate() {
                    match unknown.part {
                        Part::Latency => by_u.column_mut(column).copy_from_slice(&rates[k * nu..(k + 1) * nu]),
                        Part::Command(at) => by_u[(at, column)] = 1.0,
                        Part::Parameters(_) | Part::Sensor(_) => {}
                    }
                }
                let after = |[by_x, by_command, by_p]: &[DMatrix<f64>; 3]| {
                    let mut after = &state * by_x.transpose();
                    let mut own = after.rows_mut(ns, p);
                    own += (by_p + by_command * &by_u).transpose();
                    after
                };
                let (next, force) = (after(&by.x), after(&by.force));
                while let Some(residual) = left.next_if(|one| self.at[one.row - self.rows.start].0 == k) {
                    let part = self.at[residual.row - self.rows.start].1;
                    let channel = &log.channels[residual.channel];
                    let noise = now.noise[channel.kind as usize];
                    let mut row = sum.next(residual.value / noise);
                    match &channel.of {
                        Of::Coordinate { q, v } => {
                            row.axpy((1.0 - part) / noise, &state.column(*v), 1.0);
                            row.axpy(part / noise, &next.column(*v), 1.0);
                            for (k, unknown) in now.unknowns.iter().enumerate() {
                                row[ns + k] += if let Part::Sensor(at) = unknown.part
                                    && at == *q
                                {
                                    1.0 / noise
                                } else {
                                    0.0
                                };
                            }
                        }
                        Of::Rotation { q, v } => {
                            let measured = &channel.values[4 * residual.row..4 * residual.row + 4];
                            for (k, by, part) in [(k, &state, 1.0 - part), (k + 1, &next, part)] {
                                let turn = turning(&rotation(measured, &run.q[k * nq + q..k * nq + q + 4]));
                                for axis in 0..3 {
                                    row.axpy(part * turn[(residual.part, axis)] / noise, &by.column(v + axis), 1.0);
                                }
                            }
                        }
                        Of::Force(_) => row.axpy(1.0 / noise, &force.column(place(residual.channel)), 1.0),
                    }
                }
                state = next;
            }
        }
        sum.flush();
        let mut h = sum.h;
        // What parameters change besides by their coordinates.
        for (column, (unknown, value)) in now.unknowns.iter().zip(now.values).enumerate() {
            let rate = if let Part::Parameters(_) = unknown.part { 1.0 } else { unknown.rate(*value) };
            h.column_mut(ns + column).scale_mut(rate);
            h.row_mut(ns + column).scale_mut(rate);
            sum.g[ns + column] *= rate;
        }
        Ok(Normal {
            ss: h.view((0, 0), (ns, ns)).into_owned(),
            sp: h.view((0, ns), (ns, p)).into_owned(),
            pp: h.view((ns, ns), (p, p)).into_owned(),
            s: sum.g.rows(0, ns).into_owned(),
            p: sum.g.rows(ns, p).into_owned(),
        })
    }
}

/// A sum of the normal equations of rows, which are multiplied together.
struct Sum {
    /// The rows as columns.
    rows: DMatrix<f64>,
    residuals: DVector<f64>,
    filled: usize,
    h: DMatrix<f64>,
    g: DVector<f64>,
}

impl Sum {
    fn new(n: usize) -> Self {
        Self {
            rows: DMatrix::zeros(n, ROWS),
            residuals: DVector::zeros(ROWS),
            filled: 0,
            h: DMatrix::zeros(n, n),
            g: DVector::zeros(n),
        }
    }

    /// A new row, of zeros, of a residual.
    fn next(&mut self, residual: f64) -> DVectorViewMut<'_, f64> {
        if self.filled == ROWS {
            self.flush();
        }
        self.residuals[self.filled] = residual;
        self.filled += 1;
        self.rows.column_mut(self.filled - 1)
    }

    fn flush(&mut self) {
        self.h.gemm(1.0, &self.rows, &self.rows.transpose(), 1.0);
        self.g.gemv(1.0, &self.rows, &self.residuals, 1.0);
        self.rows.fill(0.0);
        self.residuals.fill(0.0);
        self.filled = 0;
    }
}

/// The slope of a line through points (x, y), of those that are numbers; 0 of fewer than two.
fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<(f64, f64)> = points.filter(|(_, y)| y.is_finite()).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
    if points.len() < 2 { 0.0 } else { sum(&|x, y| x * y) / sum(&|x, _| x * x) }
}

/// The rotation vector from a quaternion to one that was measured, w first.
fn rotation(measured: &[f64], from: &[f64]) -> Vector3<f64> {
    let of = |q: &[f64]| UnitQuaternion::from_quaternion(Quaternion::new(q[0], q[1], q[2], q[3]));
    (of(measured) * of(from).inverse()).scaled_axis()
}

/// How that rotation vector falls where what it starts from turns: the inverse of the right Jacobian of rotations, 1 +
/// ½ [r]× + c [r]×², c = 1/θ² − (1 + cos θ)/(2 θ sin θ) (Solà, Deray, Atchuthan, *A micro Lie theory*, 2018).
fn turning(r: &Vector3<f64>) -> Matrix3<f64> {
    /// Below, the series is exact to rounding.
    const SMALL: f64 = 1e-3;
    let (cross, angle) = (r.cross_matrix(), r.norm());
    let c = if angle < SMALL {
        1.0 / 12.0 + angle * angle / 720.0
    } else {
        1.0 / (angle * angle) - (1.0 + angle.cos()) / (2.0 * angle * angle.sin())
    };
    Matrix3::identity() + cross * 0.5 + cross * cross * c
}
