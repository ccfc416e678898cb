//! Rollouts recorded, forward and backward, against those of the lanes.

use candle_core::{Tensor, Var};
use fingertip::Parameters;
use fingertip::math::lane::Precision;
use fingertip::rollout::rollout;
use fingertip::step::{Kernel, Quasidynamic, Trace};

use super::rows::{code, differences, unsigned_zeros};
use support::rows;
use support::states::{Batch, Random};

/// Steps of a rollout.
const STEPS: usize = 4;

fn flat(t: &Tensor) -> Vec<Vec<f64>> {
    rows(&t.flatten_from(1).unwrap().contiguous().unwrap())
}

/// Numbers between −1 and 1, in the shape of a tensor.
fn weights(like: &Tensor, random: &mut Random) -> Tensor {
    let values: Vec<f64> = (0..like.elem_count()).map(|_| random.between(-1.0, 1.0)).collect();
    Tensor::from_vec(values, like.shape(), like.device()).unwrap()
}

/// Compares states, forces, reports and the gradients of q₀, the commands and all parameters.
pub fn compare(name: &str, step: &Quasidynamic, batch: &Batch, random: &mut Random) {
    let worlds = batch.q.dim(0).unwrap();
    let mut tracked: Vec<Var> = Vec::new();
    let track = |t: &Tensor, tracked: &mut Vec<Var>| {
        tracked.push(Var::from_tensor(t).unwrap());
        tracked[tracked.len() - 1].as_tensor().clone()
    };
    let q = track(&batch.q, &mut tracked);
    // Commands that come back: the last are those of the first step again.
    let scaled = |t: usize| (&batch.u * [1.0, 0.99, 0.98, 1.0][t]).unwrap();
    let u = Tensor::stack(&(0..STEPS).map(scaled).collect::<Vec<_>>(), 1).unwrap();
    let u = track(&u, &mut tracked);
    let parameters: Parameters = batch.parameters.map(|_, t| Ok(track(t, &mut tracked))).unwrap();
    let long = rollout(&step.with_parameters(&parameters).unwrap(), &q, &u).unwrap();

    let (states, force) = (flat(&long.q), flat(&long.force));
    let info = |w: usize| long.reports.iter().flat_map(|reports| code(&reports[w])).collect::<Vec<f64>>();
    let par = rows(&step.packed_parameters().unwrap());
    let par = |w: usize| &par[w.min(par.len() - 1)];
    let (q0, controls) = (rows(&batch.q), flat(&u));

    let forward = step.record(Kernel::Rollout, Precision::Double).unwrap();
    let widths: Vec<usize> = forward.results().iter().map(|row| row.length(STEPS)).collect();
    let cut = |row: &[f64], k: usize| {
        let start: usize = widths[..k].iter().sum();
        row[start..start + widths[k]].to_vec()
    };
    let found: Vec<Vec<f64>> =
        (0..worlds).map(|w| forward.run_steps(&[&q0[w][..], &controls[w], par(w)].concat(), STEPS)).collect();
    for (k, expected) in [(0, states), (1, force), (3, (0..worlds).map(info).collect())] {
        let part: Vec<Vec<f64>> = found.iter().map(|row| cut(row, k)).collect();
        assert_eq!(
            differences(&part, &expected),
            Vec::<String>::new(),
            "{name}: {} of a rollout",
            forward.results()[k].name
        );
    }

    let (by_states, by_force) = (weights(&long.q, random), weights(&long.force, random));
    let mut value = (&long.q * &by_states).unwrap().sum_all().unwrap();
    if long.force.elem_count() > 0 {
        value = (value + (&long.force * &by_force).unwrap().sum_all().unwrap()).unwrap();
    }
    let store = value.backward().unwrap();
    let gradient = |var: &Var| store.get(var).map_or_else(|| flat(&var.zeros_like().unwrap()), flat);
    let gradients: Vec<Vec<Vec<f64>>> = tracked.iter().map(gradient).collect();
    let expected: Vec<Vec<f64>> =
        (0..worlds).map(|w| gradients.iter().flat_map(|of| of[w].iter().copied()).collect()).collect();

    let by_force_program = step.record(Kernel::RolloutForceAdjoint, Precision::Double).unwrap();
    let by_states_program = step.record(Kernel::RolloutAdjoint, Precision::Double).unwrap();
    let (by_states, by_force) = (flat(&by_states), flat(&by_force));
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f64>>();
    let pulled = |w: usize| {
        let [states, force, limit_force, info] = [0, 1, 2, 3].map(|k| cut(&found[w], k));
        let operands = [&states[..], &controls[w], par(w), &force, &limit_force, &info].concat();
        let run = |program: &Trace, weights: &[f64]| program.run_steps(&[&operands[..], weights].concat(), STEPS);
        if force.is_empty() {
            return run(&by_states_program, &by_states[w]);
        }
        let of_force = run(&by_force_program, &by_force[w]);
        let of_states = run(&by_states_program, &sum(&by_states[w], &of_force[..states.len()]));
        let nq = q0[w].len();
        [&of_states[..nq], &sum(&of_states[nq..], &of_force[states.len()..])].concat()
    };
    let found: Vec<Vec<f64>> = (0..worlds).map(pulled).collect();
    let differences = differences(&unsigned_zeros(found), &unsigned_zeros(expected));
    assert_eq!(differences, Vec::<String>::new(), "{name}: gradients of a rollout");
}
