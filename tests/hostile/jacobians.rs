//! Jacobians pushed forward against gradients pulled back: two texts for the same derivatives.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

use crate::gradients::TOLERANCE;
use crate::support::oracle::{from_tangent, to_tangent};
use crate::support::states::{Batch, Random, tensor};
use crate::support::{largest, rows};

#[derive(Default, Debug)]
pub struct Tally {
    pub worlds: usize,
    pub worst: f64,
    pub wrong: Vec<String>,
}

/// Random weights of q₊ times A and B are the gradient by q and u, relative to its largest entry.
pub fn check(place: &str, batch: &Batch, random: &mut Random, tally: &mut Tally) {
    let model = &batch.model;
    let step = Quasidynamic::new(model, &batch.parameters).unwrap();
    let (q, u) = (Var::from_tensor(&batch.q).unwrap(), Var::from_tensor(&batch.u).unwrap());
    let base = step.step(&q, &u).unwrap();
    let linear = step.linearize(&batch.q, &batch.u).unwrap();
    let next = rows(&base.q_next);
    let weights: Vec<Vec<f64>> =
        next.iter().map(|_| (0..model.nv()).map(|_| random.between(-1.0, 1.0)).collect()).collect();
    let seeds: Vec<Vec<f64>> = next.iter().zip(&weights).map(|(next, w)| from_tangent(model, next, w)).collect();
    let value = (&base.q_next * tensor(model, &seeds)).unwrap().sum_all().unwrap();
    let grads = value.backward().unwrap();
    let pulled = |var: &Var, width: usize| grads.get(var).map_or_else(|| vec![vec![0.0; width]; next.len()], rows);
    let (by_q, by_u) = (pulled(&q, model.nq()), pulled(&u, model.nu()));
    let start = rows(&batch.q);
    for w in 0..next.len() {
        if base.reports[w].status != Status::Solved {
            continue;
        }
        tally.worlds += 1;
        let seed =
            Tensor::from_slice(&weights[w], (1, model.nv()), &Device::Cpu).unwrap().to_dtype(DType::F64).unwrap();
        let times = |matrix: &Tensor| rows(&seed.matmul(&matrix.get(w).unwrap()).unwrap())[0].clone();
        let pairs =
            [("A", times(&linear.a), to_tangent(model, &start[w], &by_q[w])), ("B", times(&linear.b), by_u[w].clone())];
        for (name, pushed, pulled) in pairs {
            let size = largest(pulled.iter().chain(&pushed).map(|x| x.abs())).max(1e-9);
            let error = largest(pushed.iter().zip(&pulled).map(|(a, b)| (a - b).abs())) / size;
            tally.worst = tally.worst.max(error);
            if error.is_nan() || error > TOLERANCE {
                tally.wrong.push(format!("{place}, world {w}: {name} {error:e} of {size:e}; {:?}", base.reports[w]));
            }
        }
    }
}
