//! The promises of a step under attack: random scenes of all shapes and freedoms, random robots, random and adversarial
//! states and parameters. `FINGERTIP_HOSTILE=1000000` makes each test look at so many states, the usual number takes
//! seconds; `FINGERTIP_SEED=1` at other ones.

mod adversary;
mod digits;
mod gradients;
mod jacobians;
mod motion;
mod reproductions;
mod verdict;

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Freedom, Friction};
use fingertip::solve::Status;
use fingertip::step::{Form, Quasidynamic, Step};

use support::random_scenes;
use support::states::{self, Batch, Random, Ranges, tensor};
use support::{clarabel, rows};
use verdict::Answer;

/// Every so many infeasible worlds Clarabel is asked whether there is a way out.
const ASK: usize = 4;
/// A way out that is nearer than this must be found, m; the step gives up from 10 on.
const REACH: f64 = 5.0;
/// Worlds of a scene.
const WORLDS: usize = 16;

/// The variable of the long mode.
const LONG: &str = "FINGERTIP_HOSTILE";

fn n_states(usual: usize) -> usize {
    number(LONG).unwrap_or(usual)
}

fn is_long() -> bool {
    number::<usize>(LONG).is_some()
}

/// A whole number from the environment.
fn number<T: std::str::FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Is everything that a step gives a finite number?
fn is_finite(step: &Step) -> bool {
    let c = &step.contacts;
    let parts = [&step.q_next, &step.delta, &step.force, &step.torque, &step.limit_force, &step.warm];
    let geometry = [&c.phi, &c.normal, &c.point_a, &c.point_b];
    parts.into_iter().chain(geometry).all(|t| support::numbers(t).iter().all(|x| x.is_finite()))
        && step.reports.iter().all(|r| r.residual.is_finite())
}

/// What of a step has other numbers in another one.
fn differences<'a>(a: &'a Step, b: &'a Step) -> impl Iterator<Item = &'static str> + 'a {
    let parts = |step: &Step| {
        let c = &step.contacts;
        let all = [&step.q_next, &step.delta, &step.force, &step.torque, &step.limit_force, &step.warm];
        let all = all.into_iter().chain([&c.phi, &c.normal, &c.point_a, &c.point_b]).chain(&c.weight);
        all.map(support::numbers).collect::<Vec<_>>()
    };
    let names = ["q₊", "δ", "force", "torque", "limit force", "warm", "φ", "normal", "point A", "point B", "weight"];
    let (values, reports) = (parts(a), (a.reports != b.reports).then_some("reports"));
    let apart = values.into_iter().zip(parts(b)).zip(names).filter(|((a, b), _)| a != b);
    apart.map(|(_, name)| name).chain(reports)
}

/// What friction does in a test's scenes.
#[derive(Clone, Copy, Debug)]
struct Law {
    friction: Friction,
    /// Do contacts resist turning?
    torsion: bool,
    /// How much stiffer than normal forces is it, by Coulomb's law?
    impratio: f64,
}

const RELAXED: Law = Law { friction: Friction::Relaxed, torsion: false, impratio: 1.0 };
const COULOMB: Law = Law { friction: Friction::Coulomb, ..RELAXED };
const STIFF: Law = Law { impratio: 100.0, ..COULOMB };
const TORSION: [Law; 2] = [Law { torsion: true, ..RELAXED }, Law { torsion: true, ..COULOMB }];

/// Random states of random scenes: `each` gets the scene's number and a batch.
fn for_each_batch(seed: u64, states: usize, each: impl FnMut(usize, Batch, &mut Random)) {
    for_each_batch_by(RELAXED, seed, states, each);
}

/// [`for_each_batch`] by this law.
fn for_each_batch_by(law: Law, seed: u64, states: usize, mut each: impl FnMut(usize, Batch, &mut Random)) {
    let mut random = Random::new(seed + number::<u64>("FINGERTIP_SEED").unwrap_or(0));
    let (mut done, mut number) = (0, 0);
    while done < states {
        number += 1;
        let mut scene = random_scenes::scene(&mut random);
        (scene.params.friction, scene.params.impratio) = (law.friction, law.impratio);
        if law.torsion {
            random_scenes::resist_turning(&mut scene, &mut random);
        }
        if scene.robots.iter().all(|r| r.articulation.joints.iter().all(|j| !j.is_commandable()))
            && scene.objects.iter().all(|o| o.freedom == Freedom::Fixed)
        {
            continue;
        }
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        if model.nc() == 0 {
            continue;
        }
        let q: Vec<Vec<f64>> = (0..WORLDS).map(|_| states::configuration(&model, 0.03, &mut random)).collect();
        let u: Vec<Vec<f64>> = q.iter().map(|q| states::command(&model, q, &mut random)).collect();
        let parameters = model.parameters.clone();
        let batch =
            Batch { q: tensor(&model, &q), u: tensor(&model, &u), parameters, nearest: vec![0.0; WORLDS], model };
        each(number, batch, &mut random);
        done += WORLDS;
    }
}

fn stepper(batch: &Batch) -> Quasidynamic {
    Quasidynamic::new(&batch.model, &batch.parameters).unwrap()
}

#[derive(Default, Debug)]
struct Tally {
    worlds: usize,
    solved: usize,
    limit: usize,
    infeasible: usize,
    unsettled: usize,
    frictionless: usize,
    worst: f64,
    wrong: Vec<String>,
}

impl Tally {
    fn words(&self) -> String {
        let Self { worlds, solved, limit, infeasible, unsettled, frictionless, worst, .. } = self;
        format!(
            "{worlds} worlds: {solved} solved, {infeasible} infeasible, {limit} not done, {unsettled} not settled, {frictionless} without friction; worst residual {worst:.1e}"
        )
    }
}

fn examine(place: &str, batch: &Batch, step: &Step, tally: &mut Tally) {
    let mut problems = states::problems(batch, step);
    let (delta, force, limit, phi) =
        (rows(&step.delta), rows(&step.force), rows(&step.limit_force), rows(&step.contacts.phi));
    let torque = rows(&step.torque);
    let friction = batch.model.params.friction;
    if !is_finite(step) {
        tally.wrong.push(format!("{place}: not finite: {:?}", step.reports));
        return;
    }
    for (w, problem) in problems.iter_mut().enumerate() {
        let report = step.reports[w];
        let torque = problem.torques(&torque[w]);
        if report.status == Status::Frictionless {
            tally.frictionless += 1;
            if tally.frictionless.is_multiple_of(ASK)
                && let clarabel::Answer::Solved(way_out) = clarabel::solve(problem, 1e-9)
                && way_out.norm() < REACH
            {
                let size = way_out.norm();
                tally.wrong.push(format!("{place}, world {w}: without friction, though there is room {size:e} away"));
            }
            problem.contacts.iter_mut().for_each(|contact| (contact.mu, contact.gamma) = (0.0, 0.0));
        }
        let problem = &*problem;
        let weight: Vec<f64> = problem.contacts.iter().map(|contact| contact.part).collect();
        let answer = Answer {
            delta: &delta[w],
            force: &force[w],
            torque: &torque,
            limit_force: &limit[w],
            weight: &weight,
            report,
            friction,
        };
        tally.worlds += 1;
        let deepest = phi[w].iter().copied().fold(f64::INFINITY, f64::min);
        match report.status {
            Status::Solved => tally.solved += 1,
            Status::Unsettled => tally.unsettled += 1,
            Status::Frictionless => {}
            Status::IterationLimit => {
                tally.limit += 1;
                println!("{place}, world {w}: {report:?}, κ {:e}, deepest {deepest:e}", problem.kappa);
            }
            Status::Infeasible => {
                tally.infeasible += 1;
                if tally.infeasible.is_multiple_of(ASK)
                    && let clarabel::Answer::Solved(way_out) = clarabel::solve(problem, 1e-9)
                    && way_out.norm() < REACH
                {
                    let size = way_out.norm();
                    tally.wrong.push(format!("{place}, world {w}: infeasible, though there is room {size:e} away"));
                }
            }
            Status::BadInput => tally.wrong.push(format!("{place}, world {w}: usable numbers are bad input")),
        }
        match answer.check(problem) {
            Ok(residual) => tally.worst = tally.worst.max(residual),
            Err(why) => {
                tally.wrong.push(format!("{place}, world {w}: {why}, {report:?}, κ {:e}, {deepest:e}", problem.kappa));
            }
        }
    }
}

/// Examines a step, which has the same bits in both forms.
fn examine_both(place: &str, batch: &Batch, tally: &mut Tally) {
    let stepper = stepper(batch);
    let step = stepper.step(&batch.q, &batch.u).unwrap();
    examine(&format!("{place}, {:?}", stepper.form()), batch, &step, tally);
    let program = stepper.as_tensor_program().step(&batch.q, &batch.u).unwrap();
    tally.wrong.extend(differences(&step, &program).map(|what| format!("{place}: other bits of {what}")));
}

fn report(wrong: &[String]) {
    wrong.iter().take(400).for_each(|line| println!("{line}"));
    assert!(wrong.is_empty(), "{} wrong", wrong.len());
}

#[test]
fn answers_of_random_scenes_are_what_their_status_says() {
    let mut tally = Tally::default();
    for_each_batch(100, n_states(1600), |number, batch, _| {
        examine_both(&format!("scene {number}"), &batch, &mut tally);
    });
    println!("{}", tally.words());
    report(&tally.wrong);
}

/// By Coulomb's law; where it is not settled, by the relaxed one.
#[test]
fn answers_by_coulombs_law() {
    for (law, seed, states) in [(COULOMB, 110, 1600), (STIFF, 130, 200)] {
        let mut tally = Tally::default();
        for_each_batch_by(law, seed, n_states(states), |number, batch, _| {
            examine_both(&format!("{law:?}, scene {number}"), &batch, &mut tally);
        });
        println!("{law:?}: {}", tally.words());
        report(&tally.wrong);
    }
}

#[test]
fn answers_with_torsional_friction() {
    for law in TORSION {
        let mut tally = Tally::default();
        for_each_batch_by(law, 120, n_states(800), |number, batch, _| {
            examine_both(&format!("{law:?}, scene {number}"), &batch, &mut tally);
        });
        println!("{law:?}: {}", tally.words());
        report(&tally.wrong);
    }
}

#[test]
fn derivatives_with_torsional_friction() {
    for law in TORSION {
        let (mut tally, mut forward) = (gradients::Tally::default(), jacobians::Tally::default());
        for_each_batch_by(law, 220, n_states(320), |number, batch, random| {
            let place = format!("{law:?}, scene {number}");
            gradients::check(&place, &batch, |step| step, random, &mut tally);
            if number % 4 == 0 {
                gradients::check(&format!("{place}, program"), &batch, |s| s.as_tensor_program(), random, &mut tally);
            }
            jacobians::check(&place, &batch, random, &mut forward);
        });
        println!("{law:?}: {}", tally.words());
        println!("{law:?}: {}", forward.words());
        report(&tally.wrong);
        report(&forward.wrong);
    }
}

#[test]
fn gradients_and_jacobians_by_coulombs_law() {
    for (law, seed, states) in [(COULOMB, 210, 320), (STIFF, 230, 80)] {
        let (mut tally, mut forward) = (gradients::Tally::default(), jacobians::Tally::default());
        for_each_batch_by(law, seed, n_states(states), |number, batch, random| {
            let place = format!("{law:?}, scene {number}");
            gradients::check(&place, &batch, |step| step, random, &mut tally);
            jacobians::check(&place, &batch, random, &mut forward);
        });
        println!("{law:?}: {}", tally.words());
        println!("{law:?}: {}", forward.words());
        report(&tally.wrong);
        report(&forward.wrong);
    }
}

/// κ to where rounding ends, springs and masses of all sizes, commands a hundred radians away.
#[test]
fn extreme_parameters_too() {
    let mut tally = Tally::default();
    for_each_batch(150, n_states(1600), |number, mut batch, random| {
        let ranges =
            Ranges { kappa: (1.0, 1e8), mu: (1e-3, 10.0), mu_also: &[0.0], stiffness: (1e-2, 1e5), mass: (1e-3, 1e3) };
        batch.parameters = states::parameters(&batch.model, WORLDS, &ranges, random);
        let far = random.pick(&[1.0, 1e2]);
        batch.u = batch.u.affine(far, 0.0).unwrap();
        examine_both(&format!("scene {number}"), &batch, &mut tally);
    });
    println!("extreme: {}", tally.words());
    report(&tally.wrong);
}

/// The same by other laws.
#[test]
fn extreme_parameters_by_other_laws() {
    for law in [COULOMB, TORSION[0], TORSION[1]] {
        let mut tally = Tally::default();
        for_each_batch_by(law, 160, n_states(800), |number, mut batch, random| {
            let ranges =
                Ranges { kappa: (1.0, 1e8), mu: (1e-3, 10.0), mu_also: &[], stiffness: (1e-2, 1e5), mass: (1e-3, 1e3) };
            batch.parameters = states::parameters(&batch.model, WORLDS, &ranges, random);
            let far = random.pick(&[1.0, 1e2]);
            batch.u = batch.u.affine(far, 0.0).unwrap();
            examine_both(&format!("{law:?}, scene {number}"), &batch, &mut tally);
        });
        println!("extreme, {law:?}: {}", tally.words());
        report(&tally.wrong);
    }
}

#[test]
fn gradients_of_random_scenes_are_their_differences() {
    let mut tally = gradients::Tally::default();
    for_each_batch(200, n_states(640), |number, batch, random| {
        let place = format!("scene {number}");
        gradients::check(&place, &batch, |step| step, random, &mut tally);
        if stepper(&batch).form() == Form::Fused && number % 4 == 0 {
            gradients::check(&format!("{place}, program"), &batch, |s| s.as_tensor_program(), random, &mut tally);
        }
    });
    println!("{}", tally.words());
    report(&tally.wrong);
}

#[test]
fn jacobians_are_gradients() {
    let mut tally = jacobians::Tally::default();
    for_each_batch(250, n_states(640), |number, batch, random| {
        if stepper(&batch).form() == Form::Fused {
            jacobians::check(&format!("scene {number}"), &batch, random, &mut tally);
        }
    });
    println!("{}", tally.words());
    report(&tally.wrong);
}

#[test]
fn adversarial_numbers_stay_in_their_world() {
    let mut wrong = Vec::new();
    let mut tally = adversary::Tally::default();
    for_each_batch(300, n_states(480), |number, batch, random| {
        adversary::attack(&format!("scene {number}"), &batch, random, &mut tally, &mut wrong);
    });
    println!("{tally:?}");
    report(&wrong);
}

#[test]
fn adversarial_numbers_by_other_laws() {
    for law in [COULOMB, TORSION[0], TORSION[1]] {
        let (mut wrong, mut tally) = (Vec::new(), adversary::Tally::default());
        for_each_batch_by(law, 310, n_states(160), |number, batch, random| {
            adversary::attack(&format!("{law:?}, scene {number}"), &batch, random, &mut tally, &mut wrong);
        });
        println!("{law:?}: {tally:?}");
        report(&wrong);
    }
}

#[test]
fn rollouts_by_other_laws_are_their_steps() {
    let mut wrong = Vec::new();
    for law in [COULOMB, TORSION[0], TORSION[1]] {
        for_each_batch_by(law, 410, n_states(96), |number, batch, _| {
            motion::rollouts(&format!("{law:?}, scene {number}"), &batch, &mut wrong);
        });
    }
    report(&wrong);
}

#[test]
fn rollouts_are_their_steps() {
    let mut wrong = Vec::new();
    for_each_batch(400, n_states(320), |number, batch, _| {
        motion::rollouts(&format!("scene {number}"), &batch, &mut wrong);
    });
    report(&wrong);
}

#[test]
fn second_order_steps_keep_their_laws() {
    let (mut wrong, mut tally) = (Vec::new(), adversary::Tally::default());
    for_each_batch(500, n_states(320), |number, batch, random| {
        motion::second_order(&format!("scene {number}"), &batch, random, &mut tally, &mut wrong);
    });
    println!("{tally:?}");
    report(&wrong);
}
