//! What stands on the step, on the same random scenes: rollouts on every instruction set, and the second-order step.

use candle_core::{Tensor, Var};
use fingertip::math::lane::InstructionSet;
use fingertip::rollout::rollout;
use fingertip::solve::{Frictionless, Method, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Form, Quasidynamic};

use super::adversary::Tally;
use super::stepper;
use support::states::{Batch, Random, tensor};
use support::{largest, numbers, rows, sets};

/// Steps of a rollout.
const STEPS: usize = 3;
const METHODS: [Method; 4] = [Method::PrimalQp, Method::DualQp, Method::Lemke, Method::GaussSeidel { sweeps: 5000 }];
/// Largest violation of what a rigid solution must keep, relative to the largest velocity, as promised (1e-9), or to
/// the largest momentum: what is said of velocities, with another order of summation.
const KEPT: f64 = 1e-8;

/// A rollout is its steps, bit for bit, on every instruction set that fuses multiply-adds, whatever command a world
/// next to it gets; and its gradient is finite.
pub fn rollouts(place: &str, batch: &Batch, wrong: &mut Vec<String>) {
    let fused = stepper(batch);
    let mut first = None;
    for set in sets().filter(|&set| set != InstructionSet::Baseline || fused.form() != Form::Fused) {
        let step = if fused.form() == Form::Fused { fused.on(set).unwrap() } else { fused.clone() };
        let q = roll(&step, batch, &batch.u);
        let (mut here, mut warm) = (batch.q.clone(), None);
        for k in 0..STEPS {
            let next = step.step_from(&here, &batch.u, warm.as_ref()).unwrap();
            (here, warm) = (next.q_next, Some(next.warm));
            if bits(&here) != bits(&q.narrow(1, k + 1, 1).unwrap()) {
                wrong.push(format!("{place} on {}: step {k} of a rollout is not the step", set.name()));
            }
        }
        let other = first.get_or_insert_with(|| bits(&q)).clone();
        if other != bits(&q) {
            wrong.push(format!("{place}: other bits on {}", set.name()));
        }
        if fused.form() != Form::Fused {
            break;
        }
    }

    let clean = rows(&roll(&fused, batch, &batch.u));
    let mut u = rows(&batch.u);
    let bad = [f64::NAN, f64::INFINITY, 1e31, -1e29];
    for (w, u) in u.iter_mut().enumerate().filter(|(w, _)| w % 2 == 1) {
        u.fill(bad[w / 2 % bad.len()]);
    }
    let spoiled = rows(&roll(&fused, batch, &tensor(&batch.model, &u)));
    if spoiled.iter().flatten().any(|x| !x.is_finite()) {
        wrong.push(format!("{place}: a rollout is not finite"));
    }
    if clean.iter().zip(&spoiled).step_by(2).any(|(a, b)| a.iter().zip(b).any(|(a, b)| a.to_bits() != b.to_bits())) {
        wrong.push(format!("{place}: a rollout's world depends on the worlds beside it"));
    }

    let (q, u) = (Var::from_tensor(&batch.q).unwrap(), Var::from_tensor(&tensor(&batch.model, &u)).unwrap());
    let controls = repeated(&u);
    let rolled = rollout(&fused, &q, &controls).unwrap();
    let value = (rolled.q.sum_all().unwrap() + rolled.force.sum_all().unwrap()).unwrap();
    let gradients = value.backward().unwrap();
    for (name, var) in [("q", &q), ("u", &u)] {
        if gradients.get(var).is_some_and(|gradient| numbers(gradient).iter().any(|x| !x.is_finite())) {
            wrong.push(format!("{place}: a rollout's gradient in {name} is not finite"));
        }
    }
}

/// The same command for all steps (B, T, nu).
fn repeated(u: &Tensor) -> Tensor {
    Tensor::stack(&[u; STEPS], 1).unwrap()
}

/// Configurations (B, T + 1, nq).
fn roll(step: &Quasidynamic, batch: &Batch, u: &Tensor) -> Tensor {
    rollout(step, &batch.q, &repeated(u)).unwrap().q
}

fn bits(t: &Tensor) -> Vec<u64> {
    numbers(t).iter().map(|x| x.to_bits()).collect()
}

/// The second-order step by every method: finite whatever comes in; what is solved keeps the laws of rigid contact.
pub fn second_order(place: &str, batch: &Batch, random: &mut Random, tally: &mut Tally, wrong: &mut Vec<String>) {
    let model = &batch.model;
    // Bodies that no inertia moves have no second-order step: an error that says so.
    if Dynamic::new(model, &batch.parameters, DynamicParams::default()).is_err() {
        return;
    }
    let n = batch.q.dim(0).unwrap();
    let mut draw = |size: f64| -> Vec<Vec<f64>> {
        let number = |random: &mut Random| match random.below(40) {
            0 => random.pick(&[1e10, -1e154, 1e300, f64::NAN]),
            _ => random.between(-size, size),
        };
        (0..n).map(|_| (0..model.nv()).map(|_| number(random)).collect()).collect()
    };
    let (v, tau) = (tensor(model, &draw(1.0)), tensor(model, &draw(0.1)));
    for contact in std::iter::once(ContactModel::Barrier).chain(METHODS.map(ContactModel::Rigid)) {
        let dynamic =
            Dynamic::new(model, &batch.parameters, DynamicParams { contact, ..DynamicParams::default() }).unwrap();
        let step = dynamic.step(&batch.q, &v, &tau).unwrap();
        let parts = [&step.q_next, &step.v_next, &step.force, &step.limit_force];
        if parts.into_iter().any(|t| numbers(t).iter().any(|x| !x.is_finite())) {
            wrong.push(format!("{place}, {contact:?}: not finite"));
        }
        step.reports.iter().for_each(|report| tally.add(report.status));
        let ContactModel::Rigid(method) = contact else { continue };
        for (w, world) in dynamic.rigid_contact(&batch.q, &v, &tau).unwrap().into_iter().enumerate() {
            if let Some(why) = world.and_then(|world| violated(&world.problem, method)) {
                wrong.push(format!("{place}, world {w}, {method:?}: {why}"));
            }
        }
    }
}

/// Momentum, gaps, forces that push, and complementarity: what a solution breaks.
fn violated(problem: &Frictionless, method: Method) -> Option<String> {
    let impact = problem.solve(method);
    if impact.status != Status::Solved {
        return None;
    }
    let (v, impulse) = (&impact.v_next, &impact.impulse);
    let slack = problem.jacobian() * v - problem.bounds();
    let pushed = problem.jacobian().transpose() * impulse + &impact.dry_impulse;
    let moved = problem.mass() * (v - problem.v_free());
    let speed = largest(v.iter().chain(problem.v_free()).chain(problem.bounds()).chain(&(problem.jacobian() * v)));
    let terms = problem.mass().abs() * (v.abs() + problem.v_free().abs());
    let momentum =
        largest((&moved - &pushed).iter()) / largest(terms.iter()).max(largest(pushed.iter())).max(f64::MIN_POSITIVE);
    // A contact with little impulse may be open by as little as that counts.
    let strongest = largest(impulse.iter());
    let share = |i: f64| if strongest > 0.0 { i / strongest } else { 0.0 };
    let open = largest(slack.iter().zip(impulse).map(|(s, i)| s.max(0.0) * share(*i)));
    let sunk = largest(slack.iter().map(|s| (-s).max(0.0)));
    let pulls = impulse.iter().any(|i| *i < 0.0);
    let bad =
        momentum > KEPT || open > KEPT * speed || sunk > KEPT * speed || pulls || momentum.is_nan() || speed.is_nan();
    bad.then(|| format!("momentum off by {momentum:e}, open {open:e}, sunk {sunk:e} of {speed:e}, pulls: {pulls}"))
}
