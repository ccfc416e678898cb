//! The barrier's step in lanes against the tensor program that defines it: values and gradients, on shipped and random
//! scenes.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::description::{Friction, Scene};
use fingertip::math::lane::InstructionSet;
use fingertip::solve::Status;
use fingertip::step::{Bound, Dynamic, DynamicParams, DynamicStep};
use fingertip::{Model, Parameters};

use super::program::TensorProgram;
use support::jointed;
use support::states::{self, Random, Ranges, tensor};
use support::{numbers, rows, sets};

/// With pairs of all kinds, torsional friction, joint friction and followers among them.
const SCENES: [&str; 10] = [
    "hand_ball",
    "cube_fingertips",
    "push",
    "two_fingers",
    "pivot",
    "hand_turn",
    "planar_push",
    "teaching_hand_item",
    "allegro_cube",
    "tips",
];

const WORLDS: usize = 13;
const RANGES: Ranges =
    Ranges { kappa: (1e2, 1e5), mu: (0.05, 1.5), mu_also: &[0.0], stiffness: (1.0, 1e3), mass: (1e-2, 5.0) };

struct Batch {
    q: Var,
    v: Var,
    tau: Var,
    parameters: Parameters,
    tracked: Vec<Var>,
}

impl Batch {
    fn new(model: &Model, stray: f64, random: &mut Random) -> Self {
        let q: Vec<Vec<f64>> = (0..WORLDS).map(|_| states::configuration(model, stray, random)).collect();
        let mut draw = |size: f64| -> Vec<Vec<f64>> {
            (0..WORLDS).map(|_| (0..model.nv()).map(|_| random.between(-size, size)).collect()).collect()
        };
        let (v, tau) = (draw(0.3), draw(0.2));
        let mut tracked = Vec::new();
        let parameters = states::parameters(model, WORLDS, &RANGES, random);
        let parameters = parameters
            .map(|_, t| {
                tracked.push(Var::from_tensor(t)?);
                Ok(tracked[tracked.len() - 1].as_tensor().clone())
            })
            .unwrap();
        let [q, v, tau] = [q, v, tau].map(|rows| Var::from_tensor(&tensor(model, &rows)).unwrap());
        Self { q, v, tau, parameters, tracked }
    }
}

fn results(step: &DynamicStep) -> Vec<(&'static str, Tensor)> {
    let c = &step.contacts;
    let all = [
        ("q", &step.q_next),
        ("v", &step.v_next),
        ("force", &step.force),
        ("torque", &step.torque),
        ("limit force", &step.limit_force),
        ("normal", &c.normal),
        ("point on A", &c.point_a),
        ("point on B", &c.point_b),
        ("phi", &c.phi),
    ];
    all.into_iter().filter(|(_, t)| t.elem_count() > 0).map(|(name, t)| (name, t.flatten_from(1).unwrap())).collect()
}

/// The largest of numbers, NaN if one is.
fn largest(of: &[f64]) -> f64 {
    of.iter().fold(1e-300, |m, x| if x.abs() > m || x.is_nan() { x.abs() } else { m })
}

/// The largest difference over a size, NaN if there is one.
fn apart(found: &[f64], expected: &[f64], size: f64) -> f64 {
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / size);
    differences.fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m })
}

/// Largest differences of values and gradients in worlds that are solved, those of gradients relative to the world's
/// largest number of an operand's gradient, or a part of the largest of all its gradients.
fn compare(name: &str, model: &Model, params: DynamicParams, random: &mut Random) -> Vec<[f64; 2]> {
    let params = DynamicParams { friction: model.params.friction, ..params };
    let batch = Batch::new(model, 0.02, random);
    let Batch { q, v, tau, parameters, tracked } = &batch;
    let found = Dynamic::new(model, parameters, params).unwrap().step(q, v, tau).unwrap();
    let expected = TensorProgram::new(model, parameters, params).unwrap().step(q, v, tau).unwrap();
    let statuses = |step: &DynamicStep| step.reports.iter().map(|r| r.status).collect::<Vec<_>>();
    // One that has no solution by Coulomb's law ends in one way or another by rounding.
    let solved = |step: &DynamicStep| -> Vec<usize> {
        (0..WORLDS).filter(|&w| step.reports[w].status == Status::Solved).collect()
    };
    assert_eq!(solved(&found), solved(&expected), "{name}: {:?} {:?}", statuses(&found), statuses(&expected));
    let solved = solved(&found);
    assert!(solved.len() > WORLDS / 2, "{name}: {:?}", statuses(&found));
    let mut worst = vec![[0.0_f64; 2]; WORLDS];
    for ((what, a), (_, b)) in results(&found).iter().zip(results(&expected)) {
        let (a, b) = (rows(a), rows(&b));
        for &w in &solved {
            let apart = apart(&a[w], &b[w], largest(&b[w]));
            assert!(apart < VALUE, "{name}, world {w}: {what}: {apart:e}");
            worst[w][0] = worst[w][0].max(apart);
        }
    }
    let vars: Vec<(&str, &Var)> =
        [("q", q), ("v", v), ("tau", tau)].into_iter().chain(Parameters::NAMES.iter().copied().zip(tracked)).collect();
    let seed = random.between(0.0, 1.0);
    let gradients = |step: &DynamicStep| -> Vec<Vec<Vec<f64>>> {
        let mut sum: Option<Tensor> = None;
        for (_, t) in results(step) {
            let weights: Vec<f64> = (0..t.elem_count()).map(|k| ((k as f64 + seed) * 12.9898).sin()).collect();
            let weights = Tensor::from_vec(weights, t.shape(), t.device()).unwrap();
            let part = (t * weights).unwrap().sum_all().unwrap();
            sum = Some(sum.map_or_else(|| part.clone(), |sum| (sum + &part).unwrap()));
        }
        let store = sum.unwrap().backward().unwrap();
        let of = |var: &Var| store.get(var).map_or_else(|| vec![vec![0.0; var.dim(1).unwrap()]; WORLDS], rows);
        vars.iter().map(|(_, var)| of(var)).collect()
    };
    let (found, expected) = (gradients(&found), gradients(&expected));
    for &w in &solved {
        let all = largest(&expected.iter().map(|of| largest(&of[w])).collect::<Vec<_>>());
        for (((what, _), a), b) in vars.iter().zip(&found).zip(&expected) {
            let apart = apart(&a[w], &b[w], largest(&b[w]).max(SMALL * all));
            let limit = GRADIENT + ROUNDING * all;
            assert!(apart < limit, "{name}, world {w}: gradient of {what}: {apart:e}");
            worst[w][1] = worst[w][1].max(apart);
        }
    }
    solved.iter().map(|&w| worst[w]).collect()
}

/// Both solve to rounding; where contacts are stiff, forces have fewer digits, and derivatives, of up to 1e13, are of
/// what rounding has moved by about as much.
const VALUE: f64 = 1e-8;
const GRADIENT: f64 = 1e-6;
const ROUNDING: f64 = 1e-15;
/// Of nineteen worlds in twenty.
const USUAL: [f64; 2] = [1e-12, 1e-9];
/// Gradients this much smaller than the world's largest are what rounding leaves of zero.
const SMALL: f64 = 1e-6;

#[test]
fn lanes_are_the_tensor_program() {
    let mut random = Random::new(71);
    let mut all = Vec::new();
    for name in SCENES {
        for friction in [Friction::Relaxed, Friction::Coulomb] {
            for bound in [Bound::Gap { beta: 0.2 }, Bound::Velocity { margin: 2e-3 }] {
                let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
                (scene.params.friction, scene.params.joint_limits, scene.params.impratio) = (friction, true, 3.0);
                scene.params.torsion = if name == "hand_turn" { 0.02 } else { 0.0 };
                // The tensor program has none; `bodies/tables.rs` checks them.
                scene.objects.iter_mut().for_each(|object| object.table = None);
                let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
                let params = DynamicParams { bound, ..DynamicParams::default() };
                all.extend(compare(&format!("{name}, {friction:?}, {bound:?}"), &model, params, &mut random));
            }
        }
    }
    let model = Model::new(&jointed::with_elements(), DType::F64, &Device::Cpu).unwrap();
    all.extend(compare("elements", &model, DynamicParams::default(), &mut random));
    for (k, usual) in USUAL.into_iter().enumerate() {
        let mut of: Vec<f64> = all.iter().map(|worst| worst[k]).collect();
        of.sort_by(f64::total_cmp);
        let nearly_all = of[of.len() * 19 / 20];
        println!("{} worlds: {nearly_all:e} in nineteen of twenty, {:e} at most", of.len(), of[of.len() - 1]);
        assert!(nearly_all < usual, "{nearly_all:e}");
    }
}

/// A world's bits are the same on every instruction set that fuses multiply-adds, and in any company.
#[test]
fn bits_do_not_depend_on_company() {
    let mut random = Random::new(72);
    for name in ["hand_ball", "pivot", "teaching_hand_item"] {
        let model = states::model(name);
        let Batch { q, v, tau, parameters, .. } = Batch::new(&model, 0.02, &mut random);
        let step = Dynamic::new(&model, &parameters, DynamicParams::default()).unwrap();
        let bits = |step: &DynamicStep| -> Vec<Vec<u64>> {
            let all = results(step);
            let of = |w: usize| all.iter().flat_map(|(_, t)| rows(t)[w].clone()).map(f64::to_bits).collect();
            (0..step.reports.len()).map(of).collect()
        };
        let together = bits(&step.step(&q, &v, &tau).unwrap());
        for set in sets().filter(|&set| set != InstructionSet::Baseline) {
            assert_eq!(bits(&step.on(set).unwrap().step(&q, &v, &tau).unwrap()), together, "{name} on {}", set.name());
        }
        for w in 0..WORLDS {
            let row = |t: &Tensor| t.narrow(0, w, 1).unwrap().contiguous().unwrap();
            let own = parameters.map(|_, t| Ok(row(t))).unwrap();
            let alone = step.with_parameters(&own).unwrap().step(&row(&q), &row(&v), &row(&tau)).unwrap();
            assert_eq!(bits(&alone)[0], together[w], "{name}, world {w}");
        }
    }
}

/// What one world is given does not reach the gradients of parameters that all share.
#[test]
fn bad_worlds_do_not_reach_shared_gradients() {
    let model = states::model("hand_ball");
    let mut random = Random::new(73);
    let Batch { q, v, tau, .. } = Batch::new(&model, 0.02, &mut random);
    let tracked: Vec<Var> = model.parameters.tensors().into_iter().map(|t| Var::from_tensor(t).unwrap()).collect();
    let mut next = tracked.iter();
    let parameters = model.parameters.map(|_, _| Ok(next.next().unwrap().as_tensor().clone())).unwrap();
    let step = Dynamic::new(&model, &parameters, DynamicParams::default()).unwrap();
    let gradients = |keep: &dyn Fn(usize) -> bool, bad: &dyn Fn(usize, usize) -> Option<f64>| {
        let states = [&q, &v, &tau].map(|t| rows(t));
        let worlds: Vec<usize> = (0..WORLDS).filter(|&w| keep(w)).collect();
        let part = |k: usize| {
            let row = |&w: &usize| {
                let mut row = states[k][w].clone();
                bad(k, w).into_iter().for_each(|x| row[0] = x);
                row
            };
            Var::from_tensor(&tensor(&model, &worlds.iter().map(row).collect::<Vec<_>>())).unwrap()
        };
        let [q, v, tau] = [0, 1, 2].map(part);
        let next = step.step(&q, &v, &tau).unwrap();
        let sum = [&next.q_next, &next.v_next, &next.force].map(|t| t.sum_all().unwrap());
        let store = sum.iter().try_fold(sum[0].zeros_like().unwrap(), |a, b| a + b).unwrap().backward().unwrap();
        let finite = |var: &Var| {
            let all = store.get(var).map(numbers).unwrap_or_default();
            assert!(all.iter().all(|x| x.is_finite()));
            all
        };
        [&q, &v, &tau].into_iter().for_each(|var| drop(finite(var)));
        tracked.iter().map(finite).collect::<Vec<_>>()
    };
    let is_good = |w: usize| w.is_multiple_of(2);
    let clean = gradients(&is_good, &|_, _| None);
    let values = [f64::NAN, f64::INFINITY, 1e200, -1e35];
    let spoiled = gradients(&|_| true, &|k, w| (!is_good(w) && k == w % 3).then(|| values[w / 2 % values.len()]));
    for ((name, clean), spoiled) in Parameters::NAMES.iter().zip(&clean).zip(&spoiled) {
        // The sum is taken in another order.
        assert!(apart(spoiled, clean, largest(clean)) < 1e-12, "{name}: {clean:?} {spoiled:?}");
    }
}
