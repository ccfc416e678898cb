//! Operands and results as the rows that recordings read and write.

use candle_core::{Tensor, Var};
use fingertip::Parameters;
use fingertip::math::lane::InstructionSet;
use fingertip::solve::{Report, Status};
use fingertip::step::{Quasidynamic, Step};

use support::rows;
use support::states::{Batch, Random};

/// The step of a batch with fused multiply-adds, one world at a time.
pub fn lanes(batch: &Batch) -> Quasidynamic {
    let step = Quasidynamic::new(&batch.model, &batch.parameters).unwrap();
    step.on(InstructionSet::Fma).unwrap()
}

/// q, u and parameters of all worlds.
pub struct Operands {
    q: Vec<Vec<f64>>,
    u: Vec<Vec<f64>>,
    par: Vec<Vec<f64>>,
}

impl Operands {
    pub fn new(step: &Quasidynamic, q: &Tensor, u: &Tensor) -> Self {
        Self { q: rows(q), u: rows(u), par: rows(&step.packed_parameters().unwrap()) }
    }

    /// One world's, and more rows.
    pub fn of(&self, world: usize, more: &[&[f64]]) -> Vec<f64> {
        let par = &self.par[world.min(self.par.len() - 1)];
        let mut all = [&self.q[world][..], &self.u[world], par].concat();
        more.iter().for_each(|row| all.extend(*row));
        all
    }
}

/// Status, iterations, residual and slip's gap.
pub fn code(report: &Report) -> [f64; 4] {
    let status = match report.status {
        Status::Solved => 0.0,
        Status::IterationLimit => 1.0,
        Status::Unsettled => 2.0,
        Status::Frictionless => 3.0,
        Status::Infeasible => 4.0,
        Status::BadInput => 5.0,
    };
    [status, report.iterations as f64, report.residual, report.slip_gap]
}

/// What gradients flow into: q₊, δ, forces, limit forces, geometry, and weights if contacts have any.
fn differentiable(step: &Step) -> Vec<Tensor> {
    let c = &step.contacts;
    let geometry = Tensor::cat(&[&c.normal, &c.point_a, &c.point_b, &c.phi.unsqueeze(2).unwrap()], 2).unwrap();
    let parts = [&step.q_next, &step.delta, &step.force, &step.limit_force, &geometry];
    parts.into_iter().chain(&c.weight).map(|part| part.flatten_from(1).unwrap()).collect()
}

/// The rows that a step writes.
pub fn step_rows(step: &Step) -> Vec<Vec<f64>> {
    let parts: Vec<Vec<Vec<f64>>> = differentiable(step).iter().chain([&step.warm]).map(rows).collect();
    let row = |(w, report): (usize, &Report)| {
        let mut row: Vec<f64> = parts.iter().flat_map(|part| part[w].iter().copied()).collect();
        row.extend(code(report));
        row
    };
    step.reports.iter().enumerate().map(row).collect()
}

/// Gradients of a random linear function of a step's results.
pub struct Adjoint {
    pub weights: Vec<Vec<f64>>,
    pub gradients: Vec<Vec<f64>>,
}

impl Adjoint {
    pub fn new(step: &Quasidynamic, batch: &Batch, random: &mut Random) -> Self {
        let (q, u) = (Var::from_tensor(&batch.q).unwrap(), Var::from_tensor(&batch.u).unwrap());
        let mut tracked: Vec<Var> = Vec::new();
        let parameters: Parameters = batch
            .parameters
            .map(|_, t| {
                tracked.push(Var::from_tensor(t)?);
                Ok(tracked[tracked.len() - 1].as_tensor().clone())
            })
            .unwrap();
        let results = differentiable(&step.with_parameters(&parameters).unwrap().step(&q, &u).unwrap());
        let (mut weights, mut sum): (Vec<Vec<f64>>, Option<Tensor>) = (vec![Vec::new(); q.dim(0).unwrap()], None);
        for result in &results {
            if result.elem_count() == 0 {
                continue;
            }
            let values: Vec<f64> = (0..result.elem_count()).map(|_| random.between(-1.0, 1.0)).collect();
            let factor = Tensor::from_vec(values, result.shape(), result.device()).unwrap();
            rows(&factor).iter().zip(&mut weights).for_each(|(row, all)| all.extend(row));
            let part = (result * factor).unwrap().sum_all().unwrap();
            sum = Some(sum.map_or_else(|| part.clone(), |sum| (sum + &part).unwrap()));
        }
        let store = sum.unwrap().backward().unwrap();
        let of = |var: &Var| store.get(var).map_or_else(|| vec![vec![0.0; var.dim(1).unwrap()]; weights.len()], rows);
        let parts: Vec<Vec<Vec<f64>>> = [&q, &u].into_iter().chain(&tracked).map(of).collect();
        let gradients = (0..weights.len()).map(|w| parts.iter().flat_map(|part| part[w].iter().copied()).collect());
        Self { gradients: gradients.collect(), weights }
    }
}

/// The rows that the Jacobians' program writes, but for the last number.
pub fn jacobian_rows(step: &Quasidynamic, batch: &Batch) -> Vec<Vec<f64>> {
    let all = step.linearize(&batch.q, &batch.u).unwrap();
    let step_rows = step_rows(&all.step);
    let parts = [&all.a, &all.b, &all.c, &all.d].map(rows);
    let row = |w: usize| {
        let mut row = step_rows[w].clone();
        parts.iter().for_each(|part| row.extend(&part[w]));
        row
    };
    (0..step_rows.len()).map(row).collect()
}

/// Without the sign of zeros: candle adds zeros to the gradients of parts of a tensor, and −0 + 0 is 0.
pub fn unsigned_zeros(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    rows.iter_mut().flatten().for_each(|x| *x += 0.0);
    rows
}

/// Where rows differ by a bit.
pub fn differences(found: &[Vec<f64>], expected: &[Vec<f64>]) -> Vec<String> {
    assert_eq!(found.len(), expected.len());
    let mut all = Vec::new();
    for (w, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "world {w}: numbers in a row");
        let wrong = found.iter().zip(expected).position(|(a, b)| a.to_bits() != b.to_bits());
        if let Some(k) = wrong {
            all.push(format!("world {w}: number {k} is {:e}, expected {:e}", found[k], expected[k]));
        }
    }
    all
}
