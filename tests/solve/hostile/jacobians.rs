//! Jacobians pushed forward against gradients pulled back: two texts for the same derivatives.

use candle_core::{Tensor, Var};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

use super::digits::Digits;
use super::gradients::TOLERANCE;
use support::oracle::{from_tangent, to_tangent};
use support::states::{Batch, Random, tensor};
use support::{largest, numbers, rows};

/// Derivatives are told from zero down to this, and those of forces to this part of the contacts' stiffness, of which
/// they are sums.
const LEAST: f64 = 1e-9;

#[derive(Default, Debug)]
pub struct Tally {
    pub worlds: usize,
    /// Numbers of a row of weights times A, B, C or D, each a derivative.
    pub derivatives: usize,
    /// Comparisons that rounding leaves less than the promised digits, see [`Digits`].
    pub lost: usize,
    /// Of the others.
    pub worst: f64,
    pub wrong: Vec<String>,
}

impl Tally {
    pub fn words(&self) -> String {
        let Self { worlds, derivatives, lost, worst, .. } = self;
        format!(
            "{derivatives} derivatives of the Jacobians of {worlds} worlds, worst {worst:.1e}; {lost} of {} with fewer digits",
            4 * worlds
        )
    }
}

/// The largest sum of the absolute values of what weights times A are sums of: A is a motion of one and what contacts
/// and springs take of it.
fn terms(a: &Tensor, weights: &[f64]) -> f64 {
    let whole = Tensor::eye(weights.len(), a.dtype(), a.device()).unwrap();
    let both = (&whole + (&whole - a).unwrap().abs().unwrap()).unwrap();
    let weights = Tensor::new(weights, a.device()).unwrap().abs().unwrap().unsqueeze(0).unwrap();
    largest(numbers(&weights.matmul(&both).unwrap()))
}

/// Random weights of q₊ times A and B, and of λ and the torques times C and D, are the gradients by q and u, relative
/// to their largest entry, as far as rounding leaves digits.
pub fn check(place: &str, batch: &Batch, random: &mut Random, tally: &mut Tally) {
    let model = &batch.model;
    let step = Quasidynamic::new(model, &batch.parameters).unwrap();
    let (q, u) = (Var::from_tensor(&batch.q).unwrap(), Var::from_tensor(&batch.u).unwrap());
    let base = step.step(&q, &u).unwrap();
    let linear = step.linearize(&batch.q, &batch.u).unwrap();
    let (next, start) = (rows(&base.q_next), rows(&batch.q));
    let lambda = base.lambda_and_torque().unwrap();
    let digits = Digits::of(batch, &base);
    let mut weigh = |n: usize| -> Vec<Vec<f64>> {
        next.iter().map(|_| (0..n).map(|_| random.between(-1.0, 1.0)).collect()).collect()
    };
    let (by_next, by_pair) = (weigh(model.nv()), weigh(4 * model.pairs.pairs.len()));
    // How contacts of a pair at nearly the same place share a force has no digits where the force has few: all have the
    // pair's weights.
    let pairs = &model.pairs.pair_of_contact;
    let of = |by: &Vec<f64>| -> Vec<f64> {
        let forces = pairs.iter().flat_map(|pair| by[4 * pair..4 * pair + 3].to_vec());
        forces.chain(model.pairs.torsional.iter().map(|contact| by[4 * pairs[*contact] + 3])).collect()
    };
    let by_lambda: Vec<Vec<f64>> = by_pair.iter().map(of).collect();
    let seeds: Vec<Vec<f64>> = next.iter().zip(&by_next).map(|(next, w)| from_tangent(model, next, w)).collect();
    for (names, result, seeds, weights, matrices) in [
        (["A", "B"], &base.q_next, &seeds, &by_next, [&linear.a, &linear.b]),
        (["C", "D"], &lambda, &by_lambda, &by_lambda, [&linear.c, &linear.d]),
    ] {
        let value = (result * tensor(model, seeds)).unwrap().sum_all().unwrap();
        let grads = value.backward().unwrap();
        let pulled = |var: &Var, width: usize| grads.get(var).map_or_else(|| vec![vec![0.0; width]; next.len()], rows);
        let (by_q, by_u) = (pulled(&q, model.nq()), pulled(&u, model.nu()));
        for w in 0..next.len() {
            if base.reports[w].status != Status::Solved {
                continue;
            }
            tally.worlds += usize::from(names[0] == "A");
            let weights = tensor(model, std::slice::from_ref(&weights[w]));
            let pushed = matrices.map(|matrix| rows(&weights.matmul(&matrix.get(w).unwrap()).unwrap()).remove(0));
            let pulled = [to_tangent(model, &start[w], &by_q[w]), by_u[w].clone()];
            for ((name, pushed), pulled) in names.iter().zip(&pushed).zip(&pulled) {
                tally.derivatives += pushed.len();
                let least = if names[0] == "A" { LEAST } else { LEAST * digits[w].stiffness.max(1.0) };
                let size = largest(pulled.iter().chain(pushed).map(|x| x.abs())).max(least);
                let error = largest(pushed.iter().zip(pulled).map(|(a, b)| (a - b).abs())) / size;
                let terms =
                    if *name == "A" { (terms(&matrices[0].get(w).unwrap(), &by_next[w]) / size).max(1.0) } else { 1.0 };
                let allowed = if names[0] == "A" { digits[w].all * terms } else { digits[w].forces };
                if allowed > TOLERANCE {
                    tally.lost += 1;
                } else {
                    tally.worst = tally.worst.max(error);
                }
                if error.is_nan() || error > allowed.max(TOLERANCE) {
                    let (report, phi) = (base.reports[w], numbers(&base.contacts.phi.narrow(0, w, 1).unwrap()));
                    let deepest = phi.into_iter().fold(f64::INFINITY, f64::min);
                    tally.wrong.push(format!(
                        "{place}, world {w}: {name} {error:e} of {size:e}, digits {allowed:e}; {deepest:e}, {report:?}"
                    ));
                }
            }
        }
    }
}
