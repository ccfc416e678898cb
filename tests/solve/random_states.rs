//! On random states of the shipped scenes every step is the minimiser: the optimality conditions are computed a second
//! time (`support::oracle`), and the hard-contact limit and infeasibility are Clarabel's.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Collision, Freedom, Object, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use nalgebra::{DVector, Vector3};

use support::clarabel::{self, Answer};
use support::states::{self, Batch, Random, Ranges, SCENES};
use support::{largest, median_and_max, numbers, rows};

/// Largest entry of ∇F over the largest sum of its terms' absolute values: what the library promises.
const RESIDUAL: f64 = 1e-9;
/// The forces that the step reports against (2/(κ s)) G ν, relative to the largest force of the world. The primal
/// formula divides by ν, a difference of lengths around 0.1 m: see [`rounding`].
const FORCE: f64 = 1e-9;
/// ν·λ against 2/κ, relative, beside [`rounding`].
const COMPLEMENTARITY: f64 = 1e-9;
/// A slack is a difference of lengths of this size (m), each rounded to 53 bits several times.
const LENGTH: f64 = 4.0;

/// What rounding of lengths does to a force that is 2/κ over a slack.
fn rounding(kappa: f64, force: f64) -> f64 {
    kappa * force * LENGTH * f64::EPSILON
}

const USUAL: Ranges =
    Ranges { kappa: (1e2, 1e6), mu: (0.05, 1.5), mu_also: &[], stiffness: (1e-1, 1e3), mass: (1e-2, 1e1) };

/// What a batch shows at its worst.
#[derive(Default, Debug)]
struct Figures {
    residual: f64,
    reported: f64,
    force: f64,
    complementarity: f64,
    iterations: Vec<f64>,
    penetrating: usize,
    worlds: usize,
}

fn examine(name: &str, batch: &Batch, well_scaled: bool) -> Figures {
    let step = Quasidynamic::new(&batch.model, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
    let problems = states::problems(batch, &step);
    let (deltas, forces) = (states::vectors(&step.delta), rows(&step.force));
    let mut figures = Figures { worlds: problems.len(), ..Figures::default() };
    for (w, problem) in problems.iter().enumerate() {
        let (delta, report) = (&deltas[w], &step.reports[w]);
        let place = format!("{name}, world {w}: κ {:.3e}, nearest {:e} m, {report:?}", problem.kappa, batch.nearest[w]);
        assert_eq!(report.status, Status::Solved, "{place}");
        let force = |i: usize| Vector3::from_column_slice(&forces[w][3 * i..3 * i + 3]);
        let top = largest((0..problem.contacts.len()).map(|i| force(i).norm()));
        let noise = rounding(problem.kappa, top);
        for (i, contact) in problem.contacts.iter().enumerate() {
            let gap = contact.point_b - contact.point_a - contact.normal * contact.phi;
            assert!(gap.norm() < 1e-12, "{place}: contact {i}'s points are not φ n apart");
            let (along, across) = problem.slack(i, delta);
            assert!(along > contact.mu * across.norm(), "{place}: contact {i} outside: ν {along:e}, {across:?}");
            let lambda = force(i);
            let lambda_n = lambda.dot(&contact.normal);
            let lambda_t = (lambda - contact.normal * lambda_n).norm();
            if contact.mu > 0.0 {
                assert!(lambda_t < contact.mu * lambda_n, "{place}: contact {i} pulls or slips: {lambda_n} {lambda_t}");
            } else {
                assert!(lambda_n > 0.0 && lambda_t < 1e-14 * lambda_n, "{place}: contact {i}: {lambda_n} {lambda_t}");
            }
            let error = (lambda - problem.force(i, delta)).norm() / top;
            let product = 0.5 * problem.kappa / contact.part * (along * lambda_n + across.dot(&lambda)) - 1.0;
            assert!(error < FORCE + noise, "{place}: contact {i}: λ off by {error:e}, noise {noise:e}");
            let allowed = COMPLEMENTARITY + noise;
            assert!(product.abs() < allowed, "{place}: contact {i}: κ ν·λ/2 − 1 = {product:e} > {allowed:e}");
            figures.force = figures.force.max(error);
            figures.complementarity = figures.complementarity.max(product.abs());
        }
        let (gradient, size) = problem.gradient(delta);
        let residual = largest(&gradient) / largest(&size);
        let allowed = if well_scaled { RESIDUAL } else { RESIDUAL + noise };
        assert!(residual < allowed, "{place}: residual {residual:e} > {allowed:e}");
        figures.residual = figures.residual.max(residual);
        figures.reported = figures.reported.max(report.residual);
        figures.iterations.push(report.iterations as f64);
        figures.penetrating += usize::from(batch.nearest[w] < 0.0);
    }
    let (median, most) = median_and_max(figures.iterations.iter().copied());
    println!(
        "{name}: {} worlds, {} penetrating, iterations {median} median, {most} at most; residual {:.1e} (own {:.1e}), \
         force {:.1e}, ν·λ {:.1e}",
        figures.worlds, figures.penetrating, figures.residual, figures.reported, figures.force, figures.complementarity
    );
    figures
}

#[test]
fn two_thousand_states_are_solved() {
    let mut random = Random::new(1);
    let (mut worlds, mut penetrating) = (0, 0);
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 500, &USUAL, &mut random);
        let figures = examine(name, &batch, true);
        worlds += figures.worlds;
        penetrating += figures.penetrating;
    }
    assert_eq!(worlds, 2000);
    assert!(3 * penetrating > worlds - 300, "{penetrating} of {worlds} penetrate");
}

#[test]
fn ill_scaled_springs_and_masses() {
    let ranges = Ranges { stiffness: (1e-2, 1e5), mass: (1e-3, 1e2), ..USUAL };
    let mut random = Random::new(2);
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 250, &ranges, &mut random);
        examine(name, &batch, false);
    }
}

#[test]
fn extremes_of_kappa_and_friction() {
    let ranges =
        Ranges { kappa: (1.0, 1e8), mu: (0.05, 1.5), mu_also: &[0.0, 10.0], stiffness: (1e-2, 1e5), mass: (1e-3, 1e2) };
    let mut random = Random::new(3);
    for (name, stray) in SCENES {
        let batch = states::batch(&states::model(name), stray, 250, &ranges, &mut random);
        examine(name, &batch, false);
    }
}

/// The energy of the exact problem at δ_κ exceeds its minimum by Σ ν·λ = 2 nc/κ at most, and ½‖δ_κ − δ_∞‖²_P with it;
/// where every contact is loaded or apart the distance itself falls as 1/κ.
#[test]
fn hard_contact_is_clarabels() {
    /// Clarabel's own accuracy, relative.
    const CLARABEL: f64 = 1e-11;
    let kappas = [1e4, 1e5, 1e6];
    let mut random = Random::new(4);
    let ranges = Ranges { stiffness: (1.0, 1e2), mass: (0.05, 2.0), ..USUAL };
    let (mut slopes, mut compared, mut unsure) = (Vec::new(), 0, 0);
    for (name, stray) in SCENES {
        let mut batch = states::batch(&states::model(name), stray, 60, &ranges, &mut random);
        let mut errors = Vec::new();
        let mut exact: Vec<Option<DVector<f64>>> = Vec::new();
        for kappa in kappas {
            batch.parameters.kappa = batch.model.tensor(&[&[kappa]]).unwrap();
            let step = Quasidynamic::new(&batch.model, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
            let problems = states::problems(&batch, &step);
            if exact.is_empty() {
                for problem in &problems {
                    exact.push(match clarabel::solve(problem, CLARABEL) {
                        Answer::Solved(x) => Some(x),
                        Answer::Infeasible => panic!("{name}: Clarabel finds a solved state infeasible"),
                        Answer::Unsure(_) => None,
                    });
                }
            }
            let deltas = states::vectors(&step.delta);
            let mut own = Vec::new();
            for (w, problem) in problems.iter().enumerate() {
                let Some(exact) = &exact[w] else {
                    own.push(f64::NAN);
                    continue;
                };
                let apart = &deltas[w] - exact;
                let energy = 0.5 * apart.dot(&(&problem.p * &apart));
                let gap = 2.0 * problem.contacts.len() as f64 / kappa;
                assert!(energy < 1.001 * gap, "{name}, world {w}: ½‖δ_κ − δ_∞‖² {energy:e} of at most {gap:e}");
                own.push(energy.sqrt());
            }
            errors.push(own);
        }
        for w in 0..errors[0].len() {
            if errors[0][w].is_nan() {
                unsure += 1;
                continue;
            }
            compared += 1;
            slopes.push((errors[1][w] / errors[2][w]).log10());
        }
    }
    slopes.sort_by(f64::total_cmp);
    let near = slopes.iter().filter(|s| (0.9..1.1).contains(*s)).count();
    println!(
        "{compared} compared, {unsure} where Clarabel is unsure; slope 1 ± 0.1 in {near}, median {:.4}, from {:.3} to {:.3}",
        slopes[slopes.len() / 2],
        slopes[0],
        slopes[slopes.len() - 1]
    );
    assert!(compared > 200, "Clarabel was sure of {compared} only");
    assert!((slopes[slopes.len() / 2] - 1.0).abs() < 0.02, "median slope {}", slopes[slopes.len() / 2]);
    // Touching, unloaded contacts err as κ^−½; states are not chosen to have none.
    assert!(near * 5 > slopes.len() * 4, "slope 1 in {near} of {}", slopes.len());
}

/// A ball among fixed planes of any direction: sometimes there is no room.
#[test]
fn infeasible_is_what_clarabel_certifies() {
    /// Solutions nearer than this (m) must be found; `solve` gives up from 10 on.
    const REACH: f64 = 5.0;
    let mut random = Random::new(5);
    let (mut feasible, mut infeasible, mut frictionless, mut beyond, mut unsure) = (0, 0, 0, 0, 0);
    let mut iterations = [Vec::new(), Vec::new()];
    for scene in 0..60 {
        let n_planes = 2 + scene % 5;
        let freedom = [Freedom::Translation, Freedom::Free][scene % 2];
        let mut built = Scene::new().object(Object::rigid("ball", Shape::sphere(0.05), 0.3).with_freedom(freedom));
        for k in 0..n_planes {
            // Every other scene: opposite planes first, a vice.
            let normal = match (scene % 3, k) {
                (0, 0) => Vector3::z(),
                (0, 1) => -Vector3::z() + random.vector(0.1),
                _ => random.rotation() * Vector3::z(),
            };
            let offset = random.between(-0.055, -0.045);
            let plane = Collision::half_space(normal.into(), offset).unwrap();
            let mut object = Object::fixed(format!("plane{k}"), Shape::HalfSpace);
            object.pose = plane.pose;
            built = built.object(object);
        }
        let model = Model::new(&built, DType::F64, &Device::Cpu).unwrap();
        let ranges =
            Ranges { kappa: (1e2, 1e6), mu: (0.05, 1.5), mu_also: &[0.0], stiffness: (1.0, 2.0), mass: (0.1, 1.0) };
        let n = 20;
        let parameters = states::parameters(&model, n, &ranges, &mut random);
        let q: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                let mut q = model.tree.home();
                (0..3).for_each(|k| q[k] += random.between(-5e-3, 5e-3));
                q
            })
            .collect();
        let u = model.tensor(&vec![&[][..]; n]).unwrap();
        let batch = Batch { q: states::tensor(&model, &q), u, parameters, nearest: vec![0.0; n], model };
        let step = Quasidynamic::new(&batch.model, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
        let (next, deltas, forces) = (rows(&step.q_next), rows(&step.delta), rows(&step.force));
        for (w, problem) in states::problems(&batch, &step).iter().enumerate() {
            let report = step.reports[w];
            let place = format!("scene {scene}, world {w}, κ {:e}, {report:?}", problem.kappa);
            match clarabel::solve(problem, 1e-9) {
                // Rooms so narrow that the way in is metres long: the step says that none is within reach.
                Answer::Solved(exact) if exact.norm() > REACH => beyond += 1,
                Answer::Solved(exact) => {
                    feasible += 1;
                    iterations[0].push(report.iterations as f64);
                    assert_eq!(report.status, Status::Solved, "{place}: feasible at {:e}", exact.norm());
                    let (gradient, size) = problem.gradient(&DVector::from_row_slice(&deltas[w]));
                    let residual = largest(&gradient) / largest(&size);
                    let allowed = RESIDUAL + rounding(problem.kappa, largest(&forces[w]));
                    assert!(residual < allowed, "{place}: residual {residual:e} > {allowed:e}");
                }
                Answer::Infeasible => {
                    infeasible += 1;
                    iterations[1].push(report.iterations as f64);
                    if report.status == Status::Frictionless {
                        let mut problem = problem.clone();
                        problem.contacts.iter_mut().for_each(|contact| contact.mu = 0.0);
                        frictionless += 1;
                        let (gradient, size) = problem.gradient(&DVector::from_row_slice(&deltas[w]));
                        let residual = largest(&gradient) / largest(&size);
                        let allowed = RESIDUAL + rounding(problem.kappa, largest(&forces[w]));
                        assert!(residual < allowed, "{place}: residual {residual:e} > {allowed:e}");
                        continue;
                    }
                    assert_eq!(report.status, Status::Infeasible, "{place}: Clarabel has a certificate");
                    assert_eq!(next[w], q[w], "{place}");
                    assert_eq!(largest(deltas[w].iter().chain(&forces[w]).copied()), 0.0, "{place}");
                }
                Answer::Unsure(_) => unsure += 1,
            }
        }
        assert!(numbers(&step.warm).iter().all(|x| x.is_finite()));
    }
    println!(
        "{feasible} feasible (iterations {:?}), {infeasible} not ({:?}), {frictionless} of them without friction, {beyond} beyond reach, {unsure} unsure",
        median_and_max(iterations[0].iter().copied()),
        median_and_max(iterations[1].iter().copied())
    );
    assert!(feasible > 200 && infeasible > 200, "{feasible} feasible, {infeasible} not");
    assert!(unsure + beyond < 60, "{unsure} unsure");
}
