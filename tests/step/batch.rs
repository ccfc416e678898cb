//! A world's result does not depend on the other worlds of its batch, on threads, on the start of the solve, and little
//! on the number type.

#![allow(clippy::unit_arg, reason = "one-line entries of a table of assignments")]

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::contact::Contacts;
use fingertip::description::Scene;
use fingertip::math::lane::InstructionSet;
use fingertip::rollout::rollout;
use fingertip::solve::{Report, Status};
use fingertip::step::{Geometry, Quasidynamic, Step};
use fingertip::{Model, Parameters};

use support::solids;
use support::states::{self, Batch, Random, Ranges, SCENES, tensor};
use support::{larger, largest, numbers, rows};

const RANGES: Ranges =
    Ranges { kappa: (1e2, 1e6), mu: (0.05, 1.5), mu_also: &[0.0], stiffness: (1e-1, 1e3), mass: (1e-2, 1e1) };

/// q₊ in f32 (m, rad): geometry of decimetres in 24 bits, divided by slacks of a tenth of a millimetre; 1e-6 is seen.
const SINGLE: f64 = 1e-5;
/// The residual that the solver promises in f64, and cannot reach in f32.
const DOUBLE: f64 = 1e-9;
/// Two starts end within rounding of the same δ, relative to the largest entry; forces at κ = 1e6 are 1e6 times as
/// touchy; 1e-13 is seen.
const START: f64 = 1e-12;

fn threads<T: Send>(n: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(work)
}

/// World `w` of a parameter or state: a matrix of one row, as it is stored for all or cut out.
fn row(t: &Tensor, w: usize) -> Tensor {
    if t.dim(0).unwrap() == 1 { t.clone() } else { t.narrow(0, w, 1).unwrap() }
}

fn single(batch: &Batch, w: usize) -> Batch {
    Batch {
        model: batch.model.clone(),
        q: row(&batch.q, w),
        u: row(&batch.u, w),
        parameters: batch.parameters.map(|_, t| Ok(row(t, w))).unwrap(),
        nearest: vec![batch.nearest[w]],
    }
}

fn step(batch: &Batch) -> Step {
    Quasidynamic::new(&batch.model, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap()
}

/// Every number that a step gives, world by world, as bits.
fn bits(step: &Step) -> Vec<Vec<u64>> {
    let c = &step.contacts;
    let lambda = step.lambda().unwrap();
    let parts = [&step.q_next, &step.delta, &step.force, &step.limit_force, &step.warm, &lambda, &c.phi, &c.normal];
    let parts: Vec<Vec<Vec<f64>>> = parts.into_iter().map(rows).collect();
    (0..step.reports.len())
        .map(|w| {
            let report = [step.reports[w].iterations as f64, step.reports[w].residual];
            parts.iter().flat_map(|p| p[w].clone()).chain(report).map(f64::to_bits).collect()
        })
        .collect()
}

/// A, B, C, D world by world, as bits.
fn derivatives(batch: &Batch) -> Vec<Vec<u64>> {
    let linear = Quasidynamic::new(&batch.model, &batch.parameters).unwrap().linearize(&batch.q, &batch.u).unwrap();
    let parts = [&linear.a, &linear.b, &linear.c, &linear.d].map(rows);
    (0..batch.nearest.len()).map(|w| parts.iter().flat_map(|p| p[w].clone()).map(f64::to_bits).collect()).collect()
}

#[test]
fn sixty_four_worlds_are_sixty_four_singles() {
    let mut random = Random::new(21);
    for (name, stray) in SCENES {
        // 150 worlds are several chunks, which threads share; the others leave lanes that are not full.
        for n in [2, 3, 6, 13, 64, 150] {
            are_singles(name, &states::batch(&states::model(name), stray, n, &RANGES, &mut random));
        }
        derivatives_are_singles(name, &states::batch(&states::model(name), stray, 64, &RANGES, &mut random));
    }
}

/// Where contacts are found world by world.
#[test]
fn worlds_of_solids_are_singles() {
    let model = Model::new(&solids::hand(), DType::F64, &Device::Cpu).unwrap();
    let batch = states::batch(&model, 0.02, 70, &RANGES, &mut Random::new(25));
    are_singles("hand of solids", &batch);
    derivatives_are_singles("hand of solids", &batch);
}

fn are_singles(name: &str, batch: &Batch) {
    let one = threads(1, || bits(&step(batch)));
    let two = threads(2, || bits(&step(batch)));
    assert!(one == two, "{name}: two threads are not one");
    for (w, one) in one.iter().enumerate() {
        assert!(bits(&step(&single(batch, w)))[0] == *one, "{name}: world {w} of {} is not the single one", two.len());
    }
}

fn derivatives_are_singles(name: &str, batch: &Batch) {
    let one = threads(1, || derivatives(batch));
    assert!(one == threads(2, || derivatives(batch)), "{name}: derivatives depend on threads");
    for w in [0, 7, 63] {
        assert!(derivatives(&single(batch, w))[0] == one[w], "{name}: derivatives of world {w} depend on others");
    }
}

#[test]
fn warm_starts_end_at_the_same_solution() {
    let mut random = Random::new(22);
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 100, &RANGES, &mut random);
        let stepper = Quasidynamic::new(&batch.model, &batch.parameters).unwrap();
        let cold = stepper.step(&batch.q, &batch.u).unwrap();
        // The same place, and one nearby.
        let moved = batch.u.affine(1.0, 0.02).unwrap();
        let near = stepper.step(&batch.q, &moved).unwrap();
        // Forces that are outside of every cone are no start at all.
        let useless = cold.warm.affine(-1.0, 0.0).unwrap();
        for (kind, start) in [("same", &cold.warm), ("near", &near.warm), ("useless", &useless)] {
            let warm = stepper.step_from(&batch.q, &batch.u, Some(start)).unwrap();
            let most = warm.reports.iter().map(|r| r.iterations).max();
            println!("{name}, {kind} start: {most:?} iterations at most");
            for (w, report) in warm.reports.iter().enumerate() {
                assert_eq!(report.status, Status::Solved, "{name}, {kind}: world {w}: {report:?}");
            }
            for (w, (a, b)) in rows(&warm.delta).iter().zip(rows(&cold.delta)).enumerate() {
                let error = largest(a.iter().zip(&b).map(|(a, b)| a - b)) / largest(&b);
                assert!(error < START, "{name}, {kind}: world {w}: δ off by {error:e}");
            }
        }
    }
}

/// The batch in single precision.
fn in_f32(name: &str, batch: &Batch) -> (Quasidynamic, Tensor, Tensor) {
    let scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
    let model = Model::new(&scene, DType::F32, &Device::Cpu).unwrap();
    let to = |t: &Tensor| t.to_dtype(DType::F32).unwrap();
    let parameters = batch.parameters.map(|_, t| Ok(to(t))).unwrap();
    (Quasidynamic::new(&model, &parameters).unwrap(), to(&batch.q), to(&batch.u))
}

/// Worlds that were not done again in double precision, by what the solver says it left.
fn short(reports: &[Report]) -> usize {
    reports.iter().filter(|report| report.residual > DOUBLE).count()
}

#[test]
fn single_precision_is_near() {
    let mut random = Random::new(23);
    let ranges = Ranges { kappa: (1e2, 1e4), stiffness: (1.0, 1e2), mass: (5e-2, 2.0), ..RANGES };
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 200, &ranges, &mut random);
        let (stepper, q, u) = in_f32(name, &batch);
        let found = stepper.step(&q, &u).unwrap();
        assert_eq!(found.q_next.dtype(), DType::F32);
        let expected = step(&batch);
        let (mut worst, mut worst_force) = (0.0_f64, 0.0_f64);
        if InstructionSet::Fma.is_available() {
            let short = short(&found.reports);
            assert!(short > 100, "{name}: only {short} of 200 worlds were solved in single precision");
        }
        for w in 0..200 {
            assert_eq!(found.reports[w].status, Status::Solved, "{name}: world {w}");
            let error = |a: &Tensor, b: &Tensor| {
                let (a, b) = (numbers(&row(a, w)), numbers(&row(b, w)));
                (largest(a.iter().zip(&b).map(|(a, b)| a - b)), largest(&b))
            };
            let (off, _) = error(&found.q_next, &expected.q_next);
            let (force, size) = error(&found.force, &expected.force);
            assert!(off < SINGLE, "{name}: world {w}: q₊ off by {off:e}");
            (worst, worst_force) = (larger(worst, off), larger(worst_force, force / size));
        }
        println!("{name}: f32 off by {worst:.1e} in q₊, {worst_force:.1e} of the largest force");
    }
}

/// Where 24 bits do not do, 53 do: no world fails for its number type, at any κ.
#[test]
fn single_precision_solves_every_world() {
    let mut random = Random::new(25);
    let ranges = Ranges { kappa: (1e6, 1e10), ..RANGES };
    let mut again = 0;
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 200, &ranges, &mut random);
        let (stepper, q, u) = in_f32(name, &batch);
        let controls = u.unsqueeze(1).unwrap().repeat((1, 5, 1)).unwrap();
        let path = rollout(&stepper, &q, &controls).unwrap();
        for (what, reports) in [("step", stepper.step(&q, &u).unwrap().reports), ("rollout", path.reports.concat())] {
            for (w, report) in reports.iter().enumerate() {
                assert_eq!(report.status, Status::Solved, "{name}, {what}: world {w}: {report:?}");
            }
            let again_here = reports.len() - short(&reports);
            println!("{name}, {what}: {again_here} of {} done again", reports.len());
            again += again_here;
        }
    }
    assert!(again > 0, "no world had to be done again: nothing of that was tested");
}

#[test]
fn single_precision_keeps_to_itself() {
    let mut random = Random::new(26);
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 77, &RANGES, &mut random);
        let (stepper, q, u) = in_f32(name, &batch);
        let all = bits(&stepper.step(&q, &u).unwrap());
        assert!(all == threads(2, || bits(&stepper.step(&q, &u).unwrap())), "{name}: two threads are not one");
        // One number at a time, and as many as the processor's registers hold.
        let narrow = InstructionSet::Fma;
        if narrow.is_available() {
            assert!(all == bits(&stepper.on(narrow).unwrap().step(&q, &u).unwrap()), "{name}: widths differ");
        }
        for w in [0, 7, 64, 76] {
            let (alone, q, u) = in_f32(name, &single(&batch, w));
            assert!(bits(&alone.step(&q, &u).unwrap())[0] == all[w], "{name}: world {w} depends on others");
        }
    }
}

type Spoil = fn(&mut Vec<Vec<f64>>, &mut Vec<Vec<f64>>, &mut Parameters, usize) -> Result<()>;

/// Sets one number of a world's row of a parameter.
fn set(t: &mut Tensor, w: usize, k: usize, value: f64) -> Result<()> {
    let mut all = t.to_vec2::<f64>()?;
    all[w][k] = value;
    let width = all[0].len();
    *t = Tensor::from_vec(all.concat(), (all.len(), width), t.device())?;
    Ok(())
}

const SPOILS: [(&str, Spoil); 16] = [
    ("NaN in q", |q, _, _, w| Ok(q[w][0] = f64::NAN)),
    ("infinite q", |q, _, _, w| Ok(q[w][1] = f64::INFINITY)),
    ("NaN in a joint", |q, _, _, w| Ok(*q[w].last_mut().unwrap() = f64::NAN)),
    ("NaN in u", |_, u, _, w| Ok(u[w][0] = f64::NAN)),
    ("infinite u", |_, u, _, w| Ok(u[w][1] = f64::NEG_INFINITY)),
    ("NaN in both", |q, u, _, w| {
        (q[w][0], u[w][0]) = (f64::NAN, f64::NAN);
        Ok(())
    }),
    ("negative kappa", |_, _, p, w| set(&mut p.kappa, w, 0, -1e4)),
    ("zero kappa", |_, _, p, w| set(&mut p.kappa, w, 0, 0.0)),
    ("infinite kappa", |_, _, p, w| set(&mut p.kappa, w, 0, f64::INFINITY)),
    ("NaN mass", |_, _, p, w| set(&mut p.mass, w, 0, f64::NAN)),
    ("negative mass", |_, _, p, w| set(&mut p.mass, w, 0, -1.0)),
    ("zero stiffness", |_, _, p, w| set(&mut p.stiffness, w, 0, 0.0)),
    ("negative stiffness", |_, _, p, w| set(&mut p.stiffness, w, 0, -1.0)),
    ("NaN stiffness", |_, _, p, w| set(&mut p.stiffness, w, 0, f64::NAN)),
    ("negative mu", |_, _, p, w| set(&mut p.mu, w, 0, -0.1)),
    ("NaN mu", |_, _, p, w| set(&mut p.mu, w, 0, f64::NAN)),
];

#[test]
fn bad_worlds_stay_alone() {
    let mut random = Random::new(24);
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 2 * SPOILS.len() + 3, &RANGES, &mut random);
        let good = bits(&step(&batch));
        let (mut q, mut u) = (rows(&batch.q), rows(&batch.u));
        let mut parameters = batch.parameters.clone();
        let mut cases: Vec<&str> = Vec::new();
        for (k, (case, spoil)) in SPOILS.iter().enumerate() {
            spoil(&mut q, &mut u, &mut parameters, 2 * k + 1).unwrap();
            cases.push(case);
        }
        if name == "cube_fingertips" {
            let w = 2 * SPOILS.len() + 1;
            q[w][3..7].fill(0.0);
            cases.push("zero quaternion");
        }
        let is_bad = |w: usize| w % 2 == 1 && w / 2 < cases.len();
        let (q, u) = (tensor(&batch.model, &q), tensor(&batch.model, &u));
        let stepper = Quasidynamic::new(&batch.model, &parameters).unwrap();
        let spoiled = stepper.step(&q, &u).unwrap();
        let after = bits(&spoiled);
        let home = batch.model.tree.home();
        for w in 0..good.len() {
            if !is_bad(w) {
                assert!(after[w] == good[w], "{name}: world {w} is not what it is without bad worlds beside it");
                continue;
            }
            let case = cases[w / 2];
            assert_eq!(spoiled.reports[w].status, Status::BadInput, "{name}: {case}");
            let (own, next) = (numbers(&row(&q, w)), numbers(&row(&spoiled.q_next, w)));
            let expected = if case == "zero quaternion" || own.iter().any(|x| !x.is_finite()) { &home } else { &own };
            let off = largest(next.iter().zip(expected).map(|(a, b)| a - b));
            assert!(off < 1e-15, "{name}: {case}: q₊ {next:?}");
            assert_eq!(largest(numbers(&row(&spoiled.force, w))), 0.0, "{name}: {case}");
            assert_eq!(largest(numbers(&row(&spoiled.delta, w))), 0.0, "{name}: {case}");
            for part in [&spoiled.warm, &spoiled.contacts.phi, &spoiled.contacts.normal, &spoiled.contacts.point_a] {
                assert!(numbers(&row(part, w)).iter().all(|x| x.is_finite()), "{name}: {case}");
            }
        }
        // A warm start beside bad worlds.
        let warm = Quasidynamic::new(&batch.model, &batch.parameters).unwrap();
        let start = warm.step(&batch.q, &batch.u).unwrap().warm;
        let alone = bits(&warm.step_from(&batch.q, &batch.u, Some(&start)).unwrap());
        let together = bits(&stepper.step_from(&q, &u, Some(&start)).unwrap());
        for w in (0..good.len()).filter(|&w| !is_bad(w)) {
            assert!(alone[w] == together[w], "{name}: world {w} starts elsewhere beside bad worlds");
        }
        // Derivatives of good worlds.
        let alone = derivatives(&batch);
        let spoiled = Batch { q: q.clone(), u: u.clone(), parameters, nearest: batch.nearest.clone(), ..batch };
        let together = derivatives(&spoiled);
        for w in 0..good.len() {
            if is_bad(w) {
                let finite = together[w].iter().all(|x| f64::from_bits(*x).is_finite());
                assert!(finite, "{name}: {}: derivatives are not finite", cases[w / 2]);
            } else {
                assert!(alone[w] == together[w], "{name}: derivatives of world {w} depend on bad worlds beside it");
            }
        }
    }
}

/// One bad world may not spoil the gradient of what it shares with the others, nor its own.
#[test]
fn gradients_are_finite_beside_bad_worlds() {
    let mut random = Random::new(25);
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 4, &RANGES, &mut random);
        for (case, spoil) in SPOILS {
            let (mut q, mut u) = (rows(&batch.q), rows(&batch.u));
            let mut parameters = batch.parameters.clone();
            spoil(&mut q, &mut u, &mut parameters, 1).unwrap();
            // Parameters that are not spoiled are shared by all worlds.
            let changed: Vec<bool> = parameters
                .tensors()
                .into_iter()
                .zip(batch.parameters.tensors())
                .map(|(a, b)| numbers(a).iter().zip(numbers(b)).any(|(a, b)| a.to_bits() != b.to_bits()))
                .collect();
            let mut vars = Vec::new();
            let tracked = parameters
                .map(|_, t| {
                    let t = if changed[vars.len()] { t.clone() } else { row(t, 0) };
                    vars.push(Var::from_tensor(&t)?);
                    Ok(vars[vars.len() - 1].as_tensor().clone())
                })
                .unwrap();
            let (q, u) = (tensor(&batch.model, &q), tensor(&batch.model, &u));
            let (q, u) = (Var::from_tensor(&q).unwrap(), Var::from_tensor(&u).unwrap());
            let step = Quasidynamic::new(&batch.model, &tracked).unwrap().step(&q, &u).unwrap();
            assert_eq!(step.reports[1].status, Status::BadInput, "{name}: {case}");
            let loss = (step.q_next.sum_all().unwrap() + step.force.sum_all().unwrap()).unwrap();
            let grads = loss.backward().unwrap();
            for (var, label) in vars.iter().zip(Parameters::NAMES).chain([(&q, &"q"), (&u, &"u")]) {
                let grad = grads.get(var).map(numbers).unwrap_or_default();
                assert!(grad.iter().all(|x| x.is_finite()), "{name}: {case}: gradient in {label}: {grad:?}");
            }
        }
    }
}

/// Contacts as the shapes have them.
#[derive(Debug)]
struct Own;

impl Geometry for Own {
    fn contacts(&self, _: &Tensor, own: Contacts) -> Result<Contacts> {
        Ok(own)
    }
}

/// Beside others or alone, a world whose q is out of range is one of bad input in every form; a quaternion's direction
/// may be in range where its numbers are not.
#[test]
fn all_forms_check_q_alike() {
    let model = states::model("cube_fingertips");
    let fused = Quasidynamic::new(&model, &model.parameters).unwrap();
    let forms = [fused.clone(), fused.as_tensor_program(), fused.with_geometry(Arc::new(Own))];
    let home = model.tree.home();
    let with = |k: usize, x: f64| home.iter().enumerate().map(|(i, &y)| if i == k { x } else { y }).collect::<Vec<_>>();
    let (huge, nan) = (with(3, 1e31), with(0, f64::NAN));
    let u: Vec<f64> = model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.home[0]).collect();
    for worlds in [vec![&huge], vec![&huge, &nan], vec![&home, &huge, &nan]] {
        let q = tensor(&model, &worlds.iter().map(|q| (*q).clone()).collect::<Vec<_>>());
        let u = tensor(&model, &vec![u.clone(); worlds.len()]);
        let answers: Vec<Step> = forms.iter().map(|form| form.step(&q, &u).unwrap()).collect();
        for (w, own) in worlds.into_iter().enumerate() {
            for (form, answer) in answers.iter().enumerate() {
                let q_next = numbers(&row(&answer.q_next, w));
                assert!(q_next == numbers(&row(&answers[0].q_next, w)), "form {form}, world {w}: {q_next:?}");
                let status = if own == &home { Status::Solved } else { Status::BadInput };
                assert_eq!(answer.reports[w].status, status, "form {form}, world {w}");
                assert!(status == Status::Solved || q_next == home, "form {form}, world {w}: {q_next:?}");
            }
        }
    }
    let u = tensor(&model, &[u]);
    let why = |q: &[f64]| fused.why_bad_input(&tensor(&model, &[q.to_vec()]), &u, 0).unwrap();
    assert_eq!(why(&huge), "q: expected finite numbers up to 1e30, got 1e31 for \"cube.qw\"");
    assert_eq!(why(&nan), "q: expected finite numbers up to 1e30, got NaN for \"cube.x\"");
    let none: Vec<f64> = home.iter().enumerate().map(|(i, &x)| if (3..7).contains(&i) { 0.0 } else { x }).collect();
    assert_eq!(why(&none), "q: expected a quaternion other than zero for \"cube\"");
}

/// At the edge of the range of numbers steps have finite results in either precision.
#[test]
fn results_are_in_range_where_parameters_are_at_its_edge() {
    for name in ["hand_ball", "push", "cube_fingertips"] {
        for dtype in [DType::F64, DType::F32] {
            let scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
            let model = Model::new(&scene, dtype, &Device::Cpu).unwrap();
            let q = model.home(1).unwrap();
            let u: Vec<f64> = model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.home[0]).collect();
            let u = model.tensor(&[&u]).unwrap();
            for parameter in ["mu", "tau", "stiffness", "mass", "gravity", "kappa"] {
                for value in [1e25, 1e29, 1e30] {
                    let change = |own: &'static str, t: &Tensor| {
                        if own == parameter {
                            Tensor::full(value, t.shape(), t.device())?.to_dtype(dtype)
                        } else {
                            Ok(t.clone())
                        }
                    };
                    let parameters = model.parameters.map(change).unwrap();
                    let step = Quasidynamic::new(&model, &parameters).unwrap().step(&q, &u).unwrap();
                    let at = format!("{name}, {dtype:?}, {parameter} {value:e}: {:?}", step.reports[0]);
                    for part in [&step.q_next, &step.delta, &step.force, &step.warm] {
                        let most = largest(numbers(&part.flatten_all().unwrap().to_dtype(DType::F64).unwrap()));
                        assert!(most <= 2e30, "{at}: {most:e}");
                    }
                }
            }
        }
    }
}
