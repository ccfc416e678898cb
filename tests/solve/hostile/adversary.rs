//! Numbers that nobody should send, in every other world of a batch.

use candle_core::{Tensor, Var};
use fingertip::solve::Status;
use fingertip::step::{Form, Quasidynamic};
use fingertip::{Model, Parameters};

use super::is_finite;
use support::rows;
use support::states::{Batch, Random, tensor};

const NUMBERS: [f64; 22] = [
    0.0,
    -0.0,
    5e-324,
    1e-310,
    1e-200,
    1e-100,
    1e-30,
    1e-8,
    1.0,
    1e3,
    1e6,
    1e10,
    1e15,
    1e20,
    1e30,
    1e31,
    1e77,
    1e154,
    1e200,
    1.7e308,
    f64::INFINITY,
    f64::NAN,
];

#[derive(Default, Debug)]
pub struct Tally {
    pub worlds: usize,
    pub solved: usize,
    pub limit: usize,
    pub infeasible: usize,
    pub bad: usize,
}

impl Tally {
    pub fn add(&mut self, status: Status) {
        self.worlds += 1;
        match status {
            Status::Solved => self.solved += 1,
            Status::IterationLimit | Status::Unsettled | Status::Frictionless => self.limit += 1,
            Status::Infeasible => self.infeasible += 1,
            Status::BadInput => self.bad += 1,
        }
    }
}

fn parameters(model: &Model, values: &[Vec<Vec<f64>>], track: bool) -> (Parameters, Vec<Var>) {
    let mut vars = Vec::new();
    let mut p = 0;
    let parameters = model.parameters.map(|_, _| {
        p += 1;
        let rows = tensor(model, &values[p - 1]);
        if !track {
            return Ok(rows);
        }
        let var = Var::from_tensor(&rows)?;
        vars.push(var.clone());
        Ok(var.as_tensor().clone())
    });
    (parameters.unwrap(), vars)
}

/// Steps with and without the spoiled worlds, in both forms: everything is finite, the others keep their bits and their
/// gradients, shared parameters too.
pub fn attack(place: &str, batch: &Batch, random: &mut Random, tally: &mut Tally, wrong: &mut Vec<String>) {
    let model = &batch.model;
    let (mut q, mut u) = (rows(&batch.q), rows(&batch.u));
    let n = q.len();
    let mut values: Vec<Vec<Vec<f64>>> = batch
        .parameters
        .tensors()
        .into_iter()
        .map(|t| {
            (0..n)
                .map(|w| {
                    let all = rows(t);
                    all[w.min(all.len() - 1)].clone()
                })
                .collect()
        })
        .collect();
    let mut said = vec![String::new(); n];
    for w in (1..n).step_by(2) {
        for _ in 0..random.below(3) + 1 {
            let number = random.pick(&NUMBERS) * random.pick(&[1.0, 1.0, -1.0]);
            let kind = random.below(2 + values.len());
            let (name, row) = match kind {
                0 => ("q", &mut q[w]),
                1 => ("u", &mut u[w]),
                _ => (Parameters::NAMES[kind - 2], &mut values[kind - 2][w]),
            };
            if row.is_empty() {
                continue;
            }
            let k = random.below(row.len());
            row[k] = number;
            said[w] += &format!(" {name}[{k}] = {number:e}");
        }
    }
    let forms: [fn(Quasidynamic) -> Quasidynamic; 2] = [|s| s, |s| s.as_tensor_program()];
    let forms = if Quasidynamic::new(model, &batch.parameters).unwrap().form() == Form::Fused {
        &forms[..]
    } else {
        &forms[1..]
    };
    for (f, form) in forms.iter().enumerate() {
        let place = format!("{place}, form {f}");
        let clean = form(Quasidynamic::new(model, &batch.parameters).unwrap()).step(&batch.q, &batch.u).unwrap();
        let (own, _) = parameters(model, &values, false);
        let spoiled = form(Quasidynamic::new(model, &own).unwrap());
        let step = spoiled.step(&tensor(model, &q), &tensor(model, &u)).unwrap();
        step.reports.iter().for_each(|report| tally.add(report.status));
        if !is_finite(&step) {
            for w in 0..n {
                let of = |t: &Tensor| rows(t)[w].iter().any(|x| !x.is_finite());
                let c = &step.contacts;
                let parts = [
                    ("q₊", &step.q_next),
                    ("δ", &step.delta),
                    ("force", &step.force),
                    ("torque", &step.torque),
                    ("limits", &step.limit_force),
                    ("warm", &step.warm),
                    ("φ", &c.phi),
                    ("n", &c.normal),
                    ("points", &c.point_a),
                    ("points", &c.point_b),
                ];
                for (name, _) in parts.into_iter().filter(|(_, t)| of(t)) {
                    wrong.push(format!("{place}, world {w}: {name} not finite, {:?}:{}", step.reports[w], said[w]));
                }
            }
        }
        let parts = |step: &fingertip::step::Step| [&step.q_next, &step.force, &step.contacts.phi].map(rows);
        let (before, after) = (parts(&clean), parts(&step));
        for w in (0..n).step_by(2) {
            let bits = |parts: &[Vec<Vec<f64>>; 3]| {
                parts.iter().flat_map(|p| p[w].iter().map(|x| x.to_bits())).collect::<Vec<_>>()
            };
            if bits(&before) != bits(&after) {
                wrong.push(format!("{place}: world {w} depends on the worlds beside it"));
            }
        }
        // By copies of the worlds it takes a thousand times as long.
        if spoiled.form() != Form::Fused {
            gradients((&place, &said), batch, [&q, &u], &values, form, wrong);
            continue;
        }
        let linear = spoiled.linearize(&tensor(model, &q), &tensor(model, &u)).unwrap();
        for (name, t) in [("A", &linear.a), ("B", &linear.b), ("C", &linear.c), ("D", &linear.d)] {
            for (w, row) in rows(t).iter().enumerate() {
                if row.iter().any(|x| !x.is_finite()) {
                    wrong.push(format!("{place}, world {w}: {name} not finite, {:?}:{}", step.reports[w], said[w]));
                }
            }
        }
        gradients((&place, &said), batch, [&q, &u], &values, form, wrong);
    }
}

/// The gradient of what the good worlds do, in each of their own rows, is what it is without bad worlds beside them;
/// and all is finite.
fn gradients(
    (place, said): (&str, &[String]),
    batch: &Batch,
    [q, u]: [&[Vec<f64>]; 2],
    values: &[Vec<Vec<f64>>],
    form: &fn(Quasidynamic) -> Quasidynamic,
    wrong: &mut Vec<String>,
) {
    let model = &batch.model;
    let n = q.len();
    let shared: Vec<Vec<Vec<f64>>> = batch.parameters.tensors().into_iter().map(rows).collect();
    // Parameters of one row for all, and q and u spoiled; then parameters spoiled too.
    for (name, values) in [("shared", &shared[..]), ("own", values)] {
        let (parameters, vars) = parameters(model, values, true);
        let (q, u) = (Var::from_tensor(&tensor(model, q)).unwrap(), Var::from_tensor(&tensor(model, u)).unwrap());
        let step = form(Quasidynamic::new(model, &parameters).unwrap()).step(&q, &u).unwrap();
        let good: Vec<f64> = (0..n).map(|w| if w % 2 == 0 { 1.0 } else { 0.0 }).collect();
        let mask = Tensor::from_vec(good, (n, 1), q.device()).unwrap();
        let results = Tensor::cat(&[&step.q_next, &step.force.flatten_from(1).unwrap(), &step.torque], 1).unwrap();
        let every = results.sum_all().unwrap();
        let some = results.broadcast_mul(&mask).unwrap().sum_all().unwrap();
        let all = every.backward().unwrap();
        let of_good = some.backward().unwrap();
        let mut names: Vec<(&str, &Var)> = vec![("q", &q), ("u", &u)];
        names.extend(Parameters::NAMES.iter().copied().zip(&vars));
        for (input, var) in names {
            for grads in [&all, &of_good] {
                let Some(grad) = grads.get(var) else { continue };
                for (w, row) in rows(grad).iter().enumerate() {
                    if row.iter().any(|x| !x.is_finite()) {
                        let (status, said) = (step.reports[w].status, said.get(w).map_or("", String::as_str));
                        wrong.push(format!(
                            "{place}, row {w}: gradient in {input}, parameters {name}, not finite, {status:?}:{said}"
                        ));
                    }
                }
            }
        }
    }
}
