//! A batch of worlds whose steps are timed.

use std::time::Instant;

use candle_core::{Result as TensorResult, Tensor, Var};
use fingertip::kinematics::Manifold;
use fingertip::rollout::rollout;
use fingertip::show::Source;
use fingertip::step::Quasidynamic;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::report::Row;

/// Steps of a rollout, and of one of a scene whose step takes longer than `SLOW`, s.
const STEPS: usize = 50;
const FEWER_STEPS: usize = 10;
const SLOW: f64 = 0.02;
/// A call that takes longer, s, is timed once.
pub const LONG: f64 = 2.0;
/// Worlds differ by up to this in each tangent coordinate and command, rad or m.
const NOISE: f64 = 5e-3;
/// A scene without a script is measured this far from its start, s.
const WITHOUT_SCRIPT: f64 = 0.5;
/// Calls are timed until this much time has passed, s, and no less often than this.
const LEAST_TIME: f64 = 0.3;
const LEAST_CALLS: usize = 5;

/// A batch to be timed.
pub struct Work<'a> {
    step: &'a Quasidynamic,
    q: Tensor,
    u: Tensor,
    /// (B, T, nu).
    controls: Var,
}

impl<'a> Work<'a> {
    pub fn new(source: &Source, step: &'a Quasidynamic, worlds: usize) -> TensorResult<Self> {
        let model = step.model();
        let h = model.params.h;
        let middle = source.scene.script.last().map_or(WITHOUT_SCRIPT, |last| 0.5 * last.time);
        let commands = |from: f64, n: usize| -> TensorResult<Tensor> {
            let rows: Vec<Vec<f64>> = (1..=n).map(|t| source.scene.control(from + h * t as f64)).collect();
            model.tensor(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())?.unsqueeze(0)
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are finite and not negative"
        )]
        let before = ((middle / h).round() as usize).max(1);
        let path = rollout(step, &model.home(1)?, &commands(0.0, before)?)?.q;
        let there = path.narrow(1, before, 1)?.squeeze(1)?;
        let start = Instant::now();
        step.step(&there, &commands(middle, 1)?.squeeze(1)?)?;
        let steps = if start.elapsed().as_secs_f64() > SLOW { FEWER_STEPS } else { STEPS };

        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut noise = |n: usize| -> TensorResult<Tensor> {
            let values: Vec<f64> = (0..worlds * n).map(|_| random.random_range(-NOISE..NOISE)).collect();
            Tensor::from_vec(values, (worlds, n), &model.device)
        };
        let there = there.broadcast_as((worlds, model.nq()))?.contiguous()?;
        let q = Manifold::new(&model.tree, &model.device)?.integrate(&there, &noise(model.nv())?)?;
        let controls = commands(middle, steps)?.broadcast_add(&noise(model.nu())?.unsqueeze(1)?)?;
        let u = controls.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?;
        Ok(Self { step, q, u, controls: Var::from_tensor(&controls)? })
    }

    /// These states and commands, converted to the device and number type of another step.
    pub fn with(self, step: &'a Quasidynamic) -> TensorResult<Self> {
        let to = |t: &Tensor| t.to_device(&step.model().device)?.to_dtype(step.model().dtype);
        let controls = Var::from_tensor(&to(&self.controls)?)?;
        Ok(Self { step, q: to(&self.q)?, u: to(&self.u)?, controls })
    }

    pub fn measure(&self, threads: usize) -> TensorResult<Row> {
        let Self { step, q, u, controls } = self;
        let (worlds, steps) = (q.dim(0)?, controls.dim(1)?);
        let constant = controls.detach();
        let one = |seconds: f64| 1e6 * seconds / worlds as f64;
        let cold = step.step(q, u)?;
        let long = rollout(step, q, &constant)?;
        let of_rollout = long.reports.iter().flatten().map(|report| report.iterations).sum::<usize>();
        let device = &step.model().device;
        // A call has ended when the device has.
        let median = |call: &dyn Fn() -> TensorResult<()>| median(|| call().and_then(|()| device.synchronize()));
        let forward = median(&|| rollout(step, q, controls).map(drop))?;
        let both = median(&|| rollout(step, q, controls)?.q.sum_all()?.backward().map(drop))?;
        let seconds = median(&|| rollout(step, q, &constant).map(drop))?;
        Ok(Row {
            worlds,
            threads,
            native: false,
            step: one(median(&|| step.step(q, u).map(drop))?),
            rollout: one(seconds) / steps as f64,
            backward: one(both - forward) / steps as f64,
            linearize: one(median(&|| step.linearize(q, u).map(drop))?),
            iterations: cold.reports.iter().map(|report| report.iterations).sum::<usize>() as f64 / worlds as f64,
            rollout_iterations: of_rollout as f64 / (worlds * steps) as f64,
            seconds,
        })
    }
}

/// Median time of a call, s; the first one, which warms up, does not count.
fn median(call: impl Fn() -> TensorResult<()>) -> TensorResult<f64> {
    let start = Instant::now();
    call()?;
    let first = start.elapsed().as_secs_f64();
    if first > LONG {
        return Ok(first);
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < LEAST_CALLS || start.elapsed().as_secs_f64() < LEAST_TIME {
        let start = Instant::now();
        call()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
