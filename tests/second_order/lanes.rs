//! The barrier's step in lanes against the tensor program that defines it: values and gradients, on shipped and random scenes.

use candle_core::{Tensor, Var};
use fingertip::description::{Friction, Scene};
use fingertip::solve::Status;
use fingertip::step::{Bound, Dynamic, DynamicParams, DynamicStep};
use fingertip::{Model, Parameters};

use super::support::states::{self, Random, Ranges, tensor};
use super::support::{numbers, rows};

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

    fn step(&self, step: &Dynamic) -> DynamicStep {
        step.step(&self.q, &self.v, &self.tau).unwrap()
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

/// The largest difference over the largest number of the world's row.
fn apart(found: &[f64], expected: &[f64]) -> f64 {
    let size = expected.iter().fold(1e-300_f64, |m, x| m.max(x.abs()));
    found
        .iter()
        .zip(expected)
        .map(|(a, b)| (a - b).abs() / size)
        .fold(0.0, |m, x| if x > m || x.is_nan() { x } else { m })
}

fn compare(name: &str, model: &Model, params: DynamicParams, random: &mut Random) -> [f64; 2] {
    let batch = Batch::new(model, 0.02, random);
    let fused = Dynamic::new(model, &batch.parameters, params).unwrap();
    let program = fused.as_tensor_program();
    let [found, expected] = [&fused, &program].map(|step| batch.step(step));
    let statuses = |step: &DynamicStep| step.reports.iter().map(|r| r.status).collect::<Vec<_>>();
    assert_eq!(statuses(&found), statuses(&expected), "{name}");
    let solved: Vec<usize> = (0..WORLDS).filter(|&w| found.reports[w].status == Status::Solved).collect();
    assert!(solved.len() > WORLDS / 2, "{name}: {:?}", statuses(&found));
    let mut worst = [0.0_f64; 2];
    for ((what, a), (_, b)) in results(&found).iter().zip(results(&expected)) {
        let (a, b) = (rows(a), rows(&b));
        for &w in &solved {
            let apart = apart(&a[w], &b[w]);
            if apart.is_nan() || apart > 1e-8 {
                println!("{name}, world {w}: {what}: {apart:e}");
            }
            worst[0] = worst[0].max(apart);
        }
    }
    let vars: Vec<(&str, &Var)> = [("q", &batch.q), ("v", &batch.v), ("tau", &batch.tau)]
        .into_iter()
        .chain(Parameters::NAMES.iter().copied().zip(&batch.tracked))
        .collect();
    let seed = random.between(0.0, 1.0);
    let gradients = |step: &DynamicStep| -> Vec<Option<Vec<Vec<f64>>>> {
        let mut sum: Option<Tensor> = None;
        for (_, t) in results(step) {
            let weights: Vec<f64> = (0..t.elem_count()).map(|k| ((k as f64 + seed) * 12.9898).sin()).collect();
            let weights = Tensor::from_vec(weights, t.shape(), t.device()).unwrap();
            let part = (t * weights).unwrap().sum_all().unwrap();
            sum = Some(sum.map_or_else(|| part.clone(), |sum| (sum + &part).unwrap()));
        }
        let store = sum.unwrap().backward().unwrap();
        vars.iter().map(|(_, var)| store.get(var).map(rows)).collect()
    };
    for (((what, _), a), b) in vars.iter().zip(gradients(&found)).zip(gradients(&expected)) {
        let (Some(a), Some(b)) = (&a, &b) else {
            let largest = a.iter().chain(&b).flatten().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
            assert_eq!(largest, 0.0, "{name}: {what} has one gradient only");
            continue;
        };
        for &w in &solved {
            let apart = apart(&a[w], &b[w]);
            if apart.is_nan() || apart > 1e-6 {
                println!("{name}, world {w}: gradient of {what}: {apart:e}");
            }
            worst[1] = worst[1].max(apart);
        }
    }
    println!("{name}: {worst:?}, {} of {WORLDS} solved", solved.len());
    worst
}

#[test]
fn lanes_are_the_tensor_program() {
    let mut random = Random::new(71);
    let mut wrong = Vec::new();
    for name in [
        "hand_ball",
        "cube_fingertips",
        "push",
        "two_fingers",
        "pivot",
        "hand_turn",
        "planar_push",
        "teaching_hand_item",
    ] {
        for friction in [Friction::Relaxed, Friction::Coulomb] {
            for bound in [Bound::Gap { beta: 0.2 }, Bound::Velocity { margin: 2e-3 }] {
                let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
                scene.params.friction = friction;
                let model = states::model(name);
                let model = Model::new(&scene, model.dtype, &model.device).unwrap();
                let params = DynamicParams { bound, ..DynamicParams::default() };
                let what = format!("{name}, {friction:?}, {bound:?}");
                let worst = compare(&what, &model, params, &mut random);
                if worst.iter().any(|x| !(*x < 1e-6)) {
                    wrong.push(format!("{what}: {worst:?}"));
                }
            }
        }
    }
    let _ = numbers;
    assert_eq!(wrong, Vec::<String>::new());
}
