//! Derivatives of v₊ and q₊ in q (on its manifold), v, τ and every parameter against Ridders' differences.
//!
//! Where a contact appears or leaves within a difference's step (a manifold's corner, a fold of the bound at φ = 0),
//! the difference is none: steps are taken from where all are shorter than that. Derivatives that keep too few of them,
//! and those whose differences are not sure of themselves, are counted and left out.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::contact::UNUSED;
use fingertip::kinematics::Manifold;
use fingertip::solve::Status;
use fingertip::step::{Dynamic, DynamicParams};
use fingertip::{Model, Parameters};

use super::situations::situations;
use support::differences::{FAINT, SHRINK, STEPS, SURE, extrapolate, size};
use support::jointed::pushed_on_table;
use support::oracle::integrate;
use support::states::{Random, tensor};
use support::{largest, rows};

/// States of each scene.
const STATES: usize = 3;
/// How far they are moved off the simulation's, m and rad, m/s and rad/s, N and N·m: at rest all gaps are 0, where the
/// bound has a fold.
const STRAY: [f64; 3] = [1e-3, 0.05, 0.02];
/// Friction, and a barrier under which a newton is felt at 0.2 mm.
const MU: f64 = 0.4;
const KAPPA: f64 = 1e4;
/// Largest error relative to the largest entry of the same derivative: the promise.
const TOLERANCE: f64 = 1e-6;
/// Derivatives left out may be this share: of cubes that slide over each other's edges a few inputs', of other scenes
/// none.
const LEFT_OUT: f64 = 0.1;
/// Differences that an extrapolation needs.
const FEWEST: usize = 5;
/// Rounding of the geometry, m.
const ROUNDING: f64 = 1e-15;

/// What is moved: a direction of q's tangent, a velocity, a force, or a number of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Input {
    Q(usize),
    V(usize),
    Tau(usize),
    Parameter(usize, usize),
}

#[derive(Clone)]
struct World {
    q: Vec<f64>,
    v: Vec<f64>,
    tau: Vec<f64>,
    parameters: Vec<Vec<f64>>,
}

/// v₊ and q₊, and where each contact is: unused, sunk in, open.
struct Outputs {
    next: Vec<f64>,
    places: Vec<i8>,
}

impl World {
    fn inputs(&self) -> Vec<Input> {
        let n = self.v.len();
        let state = (0..n).map(Input::Q).chain((0..n).map(Input::V)).chain((0..n).map(Input::Tau));
        // Sizes that a shape has not are 0.
        let is_there = |p: usize, value: f64| Parameters::NAMES[p] != "sizes" || value != 0.0;
        let numbers = |(p, values): (usize, &Vec<f64>)| {
            let there: Vec<usize> = (0..values.len()).filter(|&k| is_there(p, values[k])).collect();
            there.into_iter().map(move |k| Input::Parameter(p, k))
        };
        state.chain(self.parameters.iter().enumerate().flat_map(numbers)).collect()
    }

    fn moved(&self, model: &Model, input: Input, by: f64) -> Self {
        let mut world = self.clone();
        match input {
            Input::Q(k) => {
                let delta: Vec<f64> = (0..self.v.len()).map(|i| if i == k { by } else { 0.0 }).collect();
                world.q = integrate(model, &self.q, &delta);
            }
            Input::V(k) => world.v[k] += by,
            Input::Tau(k) => world.tau[k] += by,
            Input::Parameter(p, k) => world.parameters[p][k] += by,
        }
        world
    }

    /// A number of the input's own size.
    fn scale(&self, input: Input) -> f64 {
        match input {
            Input::Q(_) => 0.1,
            Input::V(_) | Input::Tau(_) => 1.0,
            Input::Parameter(p, k) => size(Parameters::NAMES[p], &self.parameters[p], k),
        }
    }

    /// The differences' first step: what moves contacts moves them by less than their gaps.
    fn first(&self, input: Input) -> f64 {
        let part = match input {
            Input::Q(_) => 1e-3,
            Input::V(_) => 1e-2,
            Input::Tau(_) => 0.1,
            Input::Parameter(p, _) => match Parameters::NAMES[p] {
                "offsets" | "sizes" => 1e-3,
                "h" => 1e-2,
                _ => 0.1,
            },
        };
        part * self.scale(input)
    }
}

/// The step of a world per row, with numbers of the inputs as variables or not.
fn step(
    model: &Model,
    q: &Tensor,
    v: &Tensor,
    tau: &Tensor,
    parameters: &[Tensor],
) -> Result<fingertip::step::DynamicStep> {
    let mut own = parameters.iter();
    let parameters = model.parameters.map(|_, t| Ok(own.next().unwrap_or(t).clone()))?;
    Dynamic::new(model, &parameters, DynamicParams::default())?.step(q, v, tau)
}

fn evaluate(model: &Model, worlds: &[World]) -> Result<Vec<Outputs>> {
    let column = |of: &dyn Fn(&World) -> Vec<f64>| tensor(model, &worlds.iter().map(of).collect::<Vec<_>>());
    let parameters: Vec<Tensor> = (0..Parameters::NAMES.len()).map(|p| column(&|w| w.parameters[p].clone())).collect();
    let next =
        step(model, &column(&|w| w.q.clone()), &column(&|w| w.v.clone()), &column(&|w| w.tau.clone()), &parameters)?;
    for (w, report) in next.reports.iter().enumerate() {
        assert_eq!(report.status, Status::Solved, "moved world {w}: {report:?}");
    }
    let (v, q, phi) = (rows(&next.v_next), rows(&next.q_next), rows(&next.contacts.phi));
    let place = |phi: &f64| if *phi >= UNUSED { 0 } else { 1 - 2 * i8::from(*phi < 0.0) };
    let outputs = |w: usize| Outputs { next: [&v[w][..], &q[w]].concat(), places: phi[w].iter().map(place).collect() };
    Ok((0..worlds.len()).map(outputs).collect())
}

/// ∂(v₊, q₊)/∂inputs `[input][output]` by one reverse pass over a copy of the world for each output.
fn reverse(model: &Model, world: &World) -> Result<Vec<Vec<f64>>> {
    let (nv, n) = (model.nv(), model.nv() + model.nq());
    let variable = |values: &[f64]| Var::from_tensor(&tensor(model, &vec![values.to_vec(); n]));
    let state = [variable(&world.q)?, variable(&world.v)?, variable(&world.tau)?];
    let parameters = world.parameters.iter().map(|p| variable(p)).collect::<Result<Vec<_>>>()?;
    let tracked: Vec<Tensor> = parameters.iter().map(|p| p.as_tensor().clone()).collect();
    let next = step(model, &state[0], &state[1], &state[2], &tracked)?;
    let eye = Tensor::eye(n, DType::F64, &Device::Cpu)?;
    let by_v = (&next.v_next * eye.narrow(1, 0, nv)?)?.sum_all()?;
    let by_q = (&next.q_next * eye.narrow(1, nv, model.nq())?)?.sum_all()?;
    let grads = (by_v + by_q)?.backward()?;
    let manifold = Manifold::new(&model.tree, &Device::Cpu)?;
    let of = |var: &Var| grads.get(var).cloned().map_or_else(|| var.zeros_like(), Ok);
    let mut blocks = vec![manifold.to_tangent(&state[0], &of(&state[0])?)?];
    for var in state[1..].iter().chain(&parameters) {
        blocks.push(of(var)?);
    }
    let blocks: Vec<Vec<Vec<f64>>> = blocks.iter().map(rows).collect();
    let column = |input: Input| -> Vec<f64> {
        let (block, k) = match input {
            Input::Q(k) => (0, k),
            Input::V(k) => (1, k),
            Input::Tau(k) => (2, k),
            Input::Parameter(p, k) => (3 + p, k),
        };
        blocks[block].iter().map(|row| row[k]).collect()
    };
    Ok(world.inputs().into_iter().map(column).collect())
}

#[derive(Default)]
struct Tally {
    compared: usize,
    switched: usize,
    unsure: usize,
    worst: f64,
}

fn check(name: &str, model: &Model, world: &World, tally: &mut Tally) -> Result<()> {
    let inputs = world.inputs();
    let exact = reverse(model, world)?;
    let mut worlds = vec![world.clone()];
    for &input in &inputs {
        let mut h = world.first(input);
        for _ in 0..STEPS {
            worlds.extend([world.moved(model, input, h), world.moved(model, input, -h)]);
            h /= SHRINK;
        }
    }
    let outputs = evaluate(model, &worlds)?;
    let (base, moved) = outputs.split_first().unwrap();
    let (nv, h) = (model.nv(), world.parameters[0][0]);
    let sizes = [&base.next[..nv], &base.next[nv..]].map(largest);
    // Outputs are velocities, then coordinates; inputs of one kind share a scale.
    let kind = |input: Input| match input {
        Input::Q(_) => 0,
        Input::V(_) => 1,
        Input::Tau(_) => 2,
        Input::Parameter(p, _) => 3 + p,
    };
    let mut scales = vec![[0.0_f64; 2]; 3 + Parameters::NAMES.len()];
    for (k, &input) in inputs.iter().enumerate() {
        for (o, derivative) in exact[k].iter().enumerate() {
            let scale = &mut scales[kind(input)][usize::from(o >= nv)];
            *scale = scale.max(derivative.abs());
        }
    }
    for (k, &input) in inputs.iter().enumerate() {
        let pairs: Vec<&[Outputs]> = moved[2 * STEPS * k..2 * STEPS * (k + 1)].chunks(2).collect();
        let switches = |pair: &&[Outputs]| pair.iter().any(|outputs| outputs.places != base.places);
        let first = pairs.iter().rposition(switches).map_or(0, |last| last + 1);
        if STEPS - first < FEWEST {
            tally.switched += exact[k].len();
            continue;
        }
        let widest = world.first(input) / SHRINK.powi(first as i32);
        for (o, &derivative) in exact[k].iter().enumerate() {
            let central = |(i, pair): (usize, &&[Outputs])| {
                (pair[0].next[o] - pair[1].next[o]) / (2.0 * widest / SHRINK.powi(i as i32))
            };
            let central: Vec<f64> = pairs[first..].iter().enumerate().map(central).collect();
            let coordinate = usize::from(o >= nv);
            let rounding = if coordinate == 0 { ROUNDING / h } else { ROUNDING };
            let (found, own) = extrapolate(&central, widest, rounding);
            let scale = scales[kind(input)][coordinate].max(FAINT * sizes[coordinate] / world.scale(input));
            tally.compared += 1;
            if own > SURE * scale {
                tally.unsure += 1;
                continue;
            }
            let error = (derivative - found).abs() / scale;
            assert!(
                error < TOLERANCE,
                "{name}: {input:?}, output {o}: {derivative:e}, differences give {found:e} ± {own:.1e}, of {scale:e}"
            );
            tally.worst = tally.worst.max(error);
        }
    }
    Ok(())
}

#[test]
fn every_derivative_on_the_scenes() -> Result<()> {
    let mut random = Random::new(17);
    for situation in situations(STATES)? {
        let (name, model) = (situation.name, &situation.model);
        let mut tally = Tally::default();
        for (q, v) in &situation.states {
            let mut stray =
                |values: &[f64], by: f64| -> Vec<f64> { values.iter().map(|x| x + random.between(-by, by)).collect() };
            let (own, v, tau) = (rows(q).remove(0), rows(v).remove(0), rows(&situation.tau).remove(0));
            let delta = stray(&vec![0.0; v.len()], STRAY[0]);
            let mut parameters: Vec<Vec<f64>> =
                model.parameters.tensors().into_iter().map(|t| rows(t).remove(0)).collect();
            for (values, name) in parameters.iter_mut().zip(Parameters::NAMES) {
                match *name {
                    "mu" => values.fill(MU),
                    "kappa" => values.fill(KAPPA),
                    _ => {}
                }
            }
            let world = World {
                q: integrate(model, &own, &delta),
                v: stray(&v, STRAY[1]),
                tau: stray(&tau, STRAY[2]),
                parameters,
            };
            check(name, model, &world, &mut tally)?;
        }
        finish(name, &tally);
    }
    Ok(())
}

fn finish(name: &str, &Tally { compared, switched, unsure, worst }: &Tally) {
    println!("{name}: {compared} derivatives, worst {worst:.1e}; {switched} at switches, {unsure} unsure");
    let share = (switched + unsure) as f64 / (compared + switched) as f64;
    assert!(share < LEFT_OUT, "{name}: {share} of the derivatives left out");
}

/// A body on a table that sticks, slides, turns, and is pushed; its centre of mass is away from its frame.
#[test]
fn on_a_table() -> Result<()> {
    let model = Model::new(&pushed_on_table(), DType::F64, &Device::Cpu)?;
    let mut tally = Tally::default();
    let home = rows(&model.home(1)?).remove(0);
    for (v, tip, push) in [
        ([0.0, 0.0, 0.0], [0.2, 0.0], 0.5),
        ([0.3, -0.1, 0.0], [0.2, 0.0], 0.0),
        ([0.1, 0.2, 4.0], [0.2, 0.0], 0.2),
        ([0.0, 0.0, -2.0], [0.02, 0.0384], 3.0),
        ([0.02, -0.05, 0.1], [-0.02, 0.028], 1.0),
    ] {
        let mut parameters: Vec<Vec<f64>> = model.parameters.tensors().into_iter().map(|t| rows(t).remove(0)).collect();
        let kappa = Parameters::NAMES.iter().position(|&name| name == "kappa").unwrap();
        parameters[kappa][0] = 1e4;
        let mut q = home.clone();
        q[3..].copy_from_slice(&tip);
        let world = World { q, v: [&v[..], &[0.0, 0.1]].concat(), tau: vec![0.1, 0.0, 0.002, 0.0, push], parameters };
        check("on a table", &model, &world, &mut tally)?;
    }
    finish("on a table", &tally);
    Ok(())
}
