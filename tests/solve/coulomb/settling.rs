//! How often the law settles on random states of the shipped scenes.

use candle_core::{Tensor, Var};
use fingertip::Model;
use fingertip::description::{Friction, Scene};
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

use super::{compile, with_coulomb};
use support::states::{self, Batch, Random, Ranges};
use support::{apart, largest, numbers, rows};

/// States in all; `FINGERTIP_COULOMB` asks for another number.
const STATES: usize = 12000;
/// Of those that the relaxed law solves.
const UNSETTLED: f64 = 1e-3;
/// Of those with violent commands, with friction as stiff as normal forces and ten times as stiff: most are in the two
/// worst scenes, at 100 rad.
const VIOLENTLY: [(f64, f64); 2] = [(1.0, 0.003), (10.0, 0.006)];
/// Of those up to 10 rad, in each of the worst scenes.
const UP_TO_10_RAD: f64 = 0.03;

/// The same with torsional friction and 100 rad.
const TORSION_AT_100_RAD: f64 = 0.1;

#[test]
fn random_states_settle() {
    let states = std::env::var("FINGERTIP_COULOMB").ok().and_then(|n| n.parse().ok()).unwrap_or(STATES);
    let mut random = Random::new(81);
    let (mut unsettled, mut all) = (0, 0);
    for (name, stray) in
        [("hand_ball", 0.03), ("tips", 0.02), ("allegro_cube", 0.02), ("push", 0.06), ("two_fingers", 0.03)]
    {
        for (kappa, mu) in [(1e4, 0.5), (1e6, 0.5), (1e5, 0.2), (1e5, 1.0)] {
            let mut scene = with_coulomb(Scene::load(format!("assets/scenes/{name}.toml")).unwrap());
            (scene.params.kappa, scene.params.mu) = (kappa, mu);
            // The stiffness of what rolls or hangs is by each law's own estimate of forces.
            scene.params.rolling = false;
            let model = compile(&scene);
            scene.params.friction = Friction::Relaxed;
            let relaxed = compile(&scene);
            let ranges =
                Ranges { kappa: (kappa, kappa), mu: (mu, mu), mu_also: &[], stiffness: (10.0, 1e2), mass: (5e-2, 1.0) };
            let batch = states::batch(&model, stray, states / 20, &ranges, &mut random);
            let step = Quasidynamic::new(&model, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
            let other = Quasidynamic::new(&relaxed, &batch.parameters).unwrap().step(&batch.q, &batch.u).unwrap();
            let mut open = 0;
            for (w, (report, expected)) in step.reports.iter().zip(&other.reports).enumerate() {
                if report.status != Status::Solved && expected.status == Status::Solved {
                    open += 1;
                    // The relaxed answer stands in, with its residual.
                    let place = format!("{name}, world {w}");
                    assert_eq!((report.status, report.residual), (Status::Unsettled, expected.residual), "{place}");
                    assert_eq!(rows(&step.q_next)[w], rows(&other.q_next)[w], "{place}");
                }
            }
            let iterations: usize = step.reports.iter().map(|report| report.iterations).sum();
            let solved = step.reports.iter().filter(|report| report.status == Status::Solved).count();
            println!(
                "{name}, {} contacts, κ {kappa:.0e}, μ {mu}: {solved} solved, {open} unsettled, {:.1} iterations",
                model.nc(),
                iterations as f64 / step.reports.len() as f64
            );
            unsettled += open;
            all += open + solved;
        }
    }
    assert!((unsettled as f64) < UNSETTLED * all as f64, "{unsettled} of {all} unsettled");
}

/// Scenes in which a joint is commanded so far off, rad or m, and 1/κ.
const VIOLENT: [&str; 9] = [
    "push",
    "two_fingers",
    "tips",
    "hand_ball",
    "cube_fingertips",
    "allegro_cube",
    "planar_hand",
    "press_and_drag",
    "pivot",
];
const OFF: [f64; 4] = [0.1, 1.0, 10.0, 100.0];
const KAPPA: [f64; 2] = [1e4, 1e6];

/// The last scenes, in which a body goes far through what holds it.
const WORST: [&str; 2] = ["press_and_drag", "pivot"];

/// A command that no joint can follow squeezes, wedges and throws things. Far slips leave forces near the boundary of
/// their cones: with steps whose rounding moves forces across it, half of the states of the planar hand and of
/// [`WORST`] were left unsettled with 10 rad at κ = 10⁶.
#[test]
fn violent_commands_settle() {
    let states = std::env::var("FINGERTIP_COULOMB").ok().and_then(|n| n.parse().ok()).unwrap_or(STATES / 100);
    for (impratio, most) in VIOLENTLY {
        let (mut unsettled, mut all) = (0, 0);
        for name in VIOLENT {
            let mut row = format!("{name}, impratio {impratio}:");
            for off in OFF {
                for kappa in KAPPA {
                    let mut scene = with_coulomb(Scene::load(format!("assets/scenes/{name}.toml")).unwrap());
                    (scene.params.kappa, scene.params.impratio) = (kappa, impratio);
                    let open = violent(&compile(&scene), off, states);
                    let most = if WORST.contains(&name) { UP_TO_10_RAD * states as f64 } else { 0.0 };
                    assert!(off > 10.0 || open as f64 <= most, "{name}, {off} rad off, impratio {impratio}: {open}");
                    row += &format!(" {open}");
                    (unsettled, all) = (unsettled + open, all + states);
                }
            }
            println!("{row} of {states}");
        }
        assert!(unsettled as f64 <= most * all as f64, "impratio {impratio}: {unsettled} of {all} unsettled");
    }
}

/// With torsional friction, in the worst scenes.
#[test]
fn violent_commands_settle_with_torsion() {
    let states = 400;
    for name in WORST {
        for kappa in [1e5, 1e6] {
            for off in [10.0, 30.0, 100.0] {
                let mut scene = with_coulomb(Scene::load(format!("assets/scenes/{name}.toml")).unwrap());
                (scene.params.kappa, scene.params.torsion) = (kappa, 3e-3);
                let open = violent(&compile(&scene), off, states);
                println!("{name}, κ {kappa:.0e}, {off} rad off: {open} of {states}");
                let most = if off > 30.0 { TORSION_AT_100_RAD } else { UP_TO_10_RAD };
                assert!(open as f64 <= most * states as f64, "{name}, κ {kappa:e}, {off} rad off: {open}");
            }
        }
    }
}

/// A ball that is wedged where rounding is not in the way: one in ten was left unsettled without openings, and four in
/// ten with friction that is ten times as stiff at once, in the place of by and by.
#[test]
fn wedged_balls_settle() {
    let mut scene = with_coulomb(Scene::load("assets/scenes/planar_hand.toml").unwrap());
    scene.params.kappa = 1e5;
    for (impratio, _) in VIOLENTLY {
        scene.params.impratio = impratio;
        assert_eq!(violent(&compile(&scene), 10.0, 400), 0, "impratio {impratio}");
    }
}

/// How many of so many states within 0.02 of home are unsettled, with each joint in turn commanded off home by so much
/// to either side.
fn violent(model: &Model, off: f64, states: usize) -> usize {
    let (home, joints) = (model.tree.home(), model.tree.coordinates.iter().filter(|joint| joint.u.is_some()));
    let joints: Vec<f64> = joints.map(|joint| joint.home[0]).collect();
    let near = |w: usize| home.iter().enumerate().map(move |(i, x)| x + 0.02 * ((1 + 7 * w + 3 * i) as f64).sin());
    let side = |w: usize| if (w / joints.len()).is_multiple_of(2) { off } else { -off };
    let command = |w: usize| {
        let joint = w % joints.len();
        joints.iter().enumerate().map(move |(k, &u)| if k == joint { u + side(w) } else { u }).collect::<Vec<_>>()
    };
    let q: Vec<Vec<f64>> = (0..states).map(|w| near(w).collect()).collect();
    let u: Vec<Vec<f64>> = (0..states).map(command).collect();
    let step = Quasidynamic::new(model, &model.parameters).unwrap();
    let step = step.step(&states::tensor(model, &q), &states::tensor(model, &u)).unwrap();
    step.reports.iter().filter(|report| report.status == Status::Unsettled).count()
}

/// What an unsettled step leaves is the largest gap μ‖ν_t‖ of the relaxed law, ν = 2/(κ s) (μ² λ_n, −λ_t) with
/// s = μ² λ_n² − ‖λ_t‖².
#[test]
fn what_is_left_unsettled_is_told() {
    let (kappa, mu) = (1e6, 2.0);
    let Batch { model, q, u, parameters, .. } = squeezed(600, (kappa, kappa), (mu, mu));
    let step = Quasidynamic::new(&model, &parameters).unwrap().step(&q, &u).unwrap();
    let lambda = rows(&step.lambda().unwrap().flatten_from(1).unwrap());
    let weight = step.contacts.weight.as_ref().map(rows);
    let mut unsettled = 0;
    for (w, report) in step.reports.iter().enumerate() {
        if report.status != Status::Unsettled {
            assert_eq!(report.slip_gap, 0.0, "world {w}: {report:?}");
            continue;
        }
        unsettled += 1;
        let gap = |(i, force): (usize, &[f64])| {
            let weight = weight.as_ref().map_or(1.0, |weight| weight[w][i]);
            let slip = force[1].hypot(force[2]);
            let s = (mu * force[0] - slip) * (mu * force[0] + slip);
            if weight > 0.0 { 2.0 * weight / kappa * mu * slip / s } else { 0.0 }
        };
        let expected = largest(lambda[w].chunks(3).enumerate().map(gap));
        let error = (report.slip_gap - expected).abs();
        // Forces near the boundary of their cone keep that many digits of s.
        assert!(expected > 0.0 && error < 1e-6 * expected, "world {w}: {report:?}, by the forces {expected:e}");
    }
    assert!(unsettled > 0, "all settle");
    println!("{unsettled} of 600 unsettled");
}

/// Of derivatives: what the library promises.
const EXACT: f64 = 1e-6;

/// Worlds of three fingertips that squeeze a cube, deep in each other, many of them.
fn squeezed(n: usize, kappa: (f64, f64), mu: (f64, f64)) -> Batch {
    let model = compile(&with_coulomb(Scene::load("assets/scenes/cube_fingertips.toml").unwrap()));
    let mut random = Random::new(82);
    let q: Vec<Vec<f64>> = (0..n).map(|_| states::configuration(&model, 0.02, &mut random)).collect();
    let u: Vec<Vec<f64>> = q.iter().map(|q| states::command(&model, q, &mut random)).collect();
    let ranges = Ranges { kappa, mu, mu_also: &[], stiffness: (1.0, 1e3), mass: (1e-2, 1.0) };
    let parameters = states::parameters(&model, n, &ranges, &mut random);
    let (q, u) = (states::tensor(&model, &q), states::tensor(&model, &u));
    Batch { q, u, parameters, nearest: Vec::new(), model }
}

/// Some of these in which the law does not settle.
fn unsettled(n: usize) -> Batch {
    let Batch { model, q, u, parameters, .. } = squeezed(100 * n, (1e4, 1e7), (0.5, 2.0));
    let step = Quasidynamic::new(&model, &parameters).unwrap().step(&q, &u).unwrap();
    let open = (0_u32..).zip(&step.reports).filter(|(_, report)| report.status == Status::Unsettled);
    let open: Vec<u32> = open.map(|(world, _)| world).take(n).collect();
    assert_eq!(open.len(), n);
    let open = Tensor::new(open, &model.device).unwrap();
    let of = |t: &Tensor| t.contiguous().unwrap().index_select(&open, 0);
    let parameters = parameters.map(|_, t| of(t)).unwrap();
    Batch { q: of(&q).unwrap(), u: of(&u).unwrap(), parameters, nearest: Vec::new(), model }
}

/// The relaxed law's: its forces are where a solve may find Coulomb's after all, which must not matter to the
/// derivatives.
#[test]
fn derivatives_of_what_is_not_settled_are_the_relaxed_laws() {
    let batch = unsettled(20);
    let Batch { q, u, model, .. } = &batch;
    let relaxed = compile(&Scene::load("assets/scenes/cube_fingertips.toml").unwrap());
    assert_eq!(relaxed.params.friction, Friction::Relaxed);
    let [step, relaxed] = [model, &relaxed].map(|model| Quasidynamic::new(model, &batch.parameters).unwrap());
    let warm = step.step(q, u).unwrap().warm;
    let again = step.step_from(q, u, Some(&warm)).unwrap();
    assert!(again.reports.iter().any(|report| report.status == Status::Solved), "some settle from there");

    let expected = relaxed.linearize(q, u).unwrap();
    let [fused, program] = [&step, &step.as_tensor_program()].map(|step| step.linearize(q, u).unwrap());
    for (form, found) in [("fused", fused), ("program", program)] {
        for (name, found, expected) in [
            ("A", &found.a, &expected.a),
            ("B", &found.b, &expected.b),
            ("C", &found.c, &expected.c),
            ("D", &found.d, &expected.d),
        ] {
            for (world, (found, expected)) in rows(found).iter().zip(rows(expected)).enumerate() {
                let error = apart(found, &expected) / largest(&expected);
                assert!(error < EXACT, "{form}, world {world}: {name} by {error:e}");
            }
        }
    }

    let [fused, program] = [&step, &step.as_tensor_program()].map(|step| {
        let u = Var::from_tensor(&Tensor::stack(&[u, u], 1).unwrap()).unwrap();
        let end = rollout(step, q, &u).unwrap().q.narrow(1, 2, 1).unwrap();
        let gradient = end.sum_all().unwrap().backward().unwrap().remove(&u).unwrap();
        (numbers(&end), rows(&gradient))
    });
    assert!(apart(&fused.0, &program.0) < 1e-9, "{:e}", apart(&fused.0, &program.0));
    for (world, (fused, program)) in fused.1.iter().zip(&program.1).enumerate() {
        let error = apart(fused, program) / largest(fused);
        assert!(error < EXACT, "rollout, world {world}: by {error:e}");
    }
}

/// κ ∂δ/∂κ, and nothing where there is no answer.
#[test]
fn what_smoothing_displaces_is_the_rate_by_kappa() {
    const STEP: f64 = 1e-4;
    let model = compile(&with_coulomb(Scene::load("assets/scenes/push.toml").unwrap()));
    let ranges = Ranges { kappa: (1e3, 1e4), mu: (0.3, 0.7), mu_also: &[], stiffness: (10.0, 1e2), mass: (5e-2, 1.0) };
    let batch = states::batch(&model, 0.06, 50, &ranges, &mut Random::new(83));
    let at = |factor: f64| {
        let mut parameters = batch.parameters.clone();
        parameters.kappa = parameters.kappa.affine(factor, 0.0).unwrap();
        Quasidynamic::new(&model, &parameters).unwrap()
    };
    let step = at(1.0);
    let mut q = rows(&batch.q);
    q[0][0] = f64::NAN;
    let q = states::tensor(&model, &q);
    let error = rows(&step.smoothing_error(&q, &batch.u).unwrap());
    assert_eq!(error[0], vec![0.0; model.nv()]);
    let [less, own, more] = [1.0 - STEP, 1.0, 1.0 + STEP].map(|factor| at(factor).step(&q, &batch.u).unwrap());
    let (less, more) = (rows(&less.delta), rows(&more.delta));
    for (world, report) in own.reports.iter().enumerate().skip(1) {
        if report.status != Status::Solved {
            continue;
        }
        let rate: Vec<f64> = less[world].iter().zip(&more[world]).map(|(a, b)| (b - a) / (2.0 * STEP)).collect();
        // Differences of second order in the step.
        let off = apart(&rate, &error[world]) / largest(&rate);
        assert!(off < 1e-5, "world {world}: {off:e} of {:?}", error[world]);
    }
}

/// Contacts that have no weight are left out, and begin with nothing of what worlds before them have left in memory,
/// not even where those had numbers that are none.
#[test]
fn worlds_with_distant_contacts_know_nothing_of_their_company() {
    const WORLDS: usize = 40;
    let mut random = Random::new(89);
    for friction in [Friction::Relaxed, Friction::Coulomb] {
        let mut scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
        (scene.params.friction, scene.params.contact_distance, scene.params.fade) = (friction, Some(4e-3), 1e-3);
        let model = compile(&scene);
        let ranges =
            Ranges { kappa: (1e4, 1e4), mu: (0.5, 0.5), mu_also: &[], stiffness: (10.0, 1e2), mass: (5e-2, 1.0) };
        let Batch { q, u, mut parameters, .. } = states::batch(&model, 0.05, WORLDS, &ranges, &mut random);
        let mut stiffness = rows(&parameters.stiffness);
        stiffness.iter_mut().step_by(3).for_each(|row| row.fill(f64::NAN));
        parameters.stiffness =
            Tensor::from_vec(stiffness.concat(), parameters.stiffness.dims(), parameters.stiffness.device()).unwrap();
        let step = Quasidynamic::new(&model, &parameters).unwrap();
        let together = step.linearize(&q, &u).unwrap();
        let gradient = |step: &Quasidynamic, q: &Tensor, u: &Tensor| {
            let q = Var::from_tensor(q).unwrap();
            let next = step.step(&q, u).unwrap();
            let sum = (next.q_next.sum_all().unwrap() + next.force.sum_all().unwrap()).unwrap();
            sum.backward().unwrap().get(&q).unwrap().clone()
        };
        let all_gradients = gradient(&step, &q, &u);
        let (mut near, mut far) = (0, 0);
        for w in 0..WORLDS {
            let own =
                parameters.map(|_, t| if t.dim(0)? == WORLDS { t.narrow(0, w, 1) } else { Ok(t.clone()) }).unwrap();
            let of = |t: &Tensor| t.narrow(0, w, 1).unwrap();
            let step = Quasidynamic::new(&model, &own).unwrap();
            let alone = step.linearize(&of(&q), &of(&u)).unwrap();
            let pairs = [
                (&together.q_next, &alone.q_next),
                (&together.lambda, &alone.lambda),
                (&together.a, &alone.a),
                (&together.d, &alone.d),
                (&all_gradients, &gradient(&step, &of(&q), &of(&u))),
            ];
            for (all, one) in pairs {
                let bits = |t: &Tensor| numbers(t).into_iter().map(f64::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(&of(all)), bits(one), "{friction:?}, world {w}");
            }
            let expected = if w % 3 == 0 { Status::BadInput } else { Status::Solved };
            assert_eq!(together.reports[w].status, expected, "{friction:?}, world {w}");
            let phi = numbers(&step.contacts(&of(&q)).unwrap().phi);
            near += phi.iter().filter(|&&phi| phi < 4e-3).count();
            far += phi.iter().filter(|&&phi| phi >= 4e-3).count();
        }
        println!("{friction:?}: {near} contacts with a weight, {far} without");
        assert!(near > 20 && far > 20);
    }
}
