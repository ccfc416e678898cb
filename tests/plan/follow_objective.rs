//! The objective of a hand that follows.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::follow::{Map, Place, Scale, Target};
use fingertip_plan::inner::{Goal, Problem, Weights, moved};
use nalgebra::{DVector, Vector3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The gradient, beside central differences of the value: with targets near and far, and own pairs that overlap.
#[test]
fn the_gradient_is_that_of_differences() {
    let scene = Scene::load("assets/scenes/allegro_plate.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let tip = |finger: &str| Place::new(format!("hand/{finger}_tip"), [0.002, 0.001, 0.003]);
    let vector = Target::vector(tip("thumb"), tip("ring"), ["a", "b"], Scale::Given(1.0));
    let targets = vec![Target::position(tip("index"), "a"), Target::position(tip("middle"), "b"), vector];
    let map = Map { keypoints: Vec::new(), targets, palm: None, mirror: false, hold: Vec::new() };
    let mut problem = Problem::new(&model, &map, moved(&model.tree, &[]).unwrap()).unwrap();
    let weights = Weights { huber: 0.1, smooth: 1e-3, apart: Some((2e-3, 100.0)) };
    let mut generator = ChaCha8Rng::seed_from_u64(3);
    let mut random = || generator.random_range(-1.0..1.0);
    let n = problem.leads.len();
    let (mut near, mut close) = (0, 0);
    for _ in 0..60 {
        let x = DVector::from_fn(n, |k, _| {
            let (low, high) = problem.leads[k].range;
            (low + high) / 2.0 + 0.4 * (high - low) * random()
        });
        let before = x.map(|x| x + 0.1 * random());
        let goal = |_| Goal { at: Vector3::from_fn(|_, _| 0.08 * random()), weight: 1.0 + random().abs() };
        let goals: Vec<Goal> = (0..3).map(goal).collect();
        let mut at = |x: &DVector<f64>| problem.linear(x, &goals, &before, &weights).unwrap();
        let own = at(&x);
        near += u32::from(own.errors.iter().any(|e| *e < weights.huber));
        close += u32::from(own.gap.is_some_and(|gap| gap < 0.0));
        for k in 0..n {
            let mut ends = [x.clone(), x.clone()];
            (ends[0][k], ends[1][k]) = (x[k] - 1e-6, x[k] + 1e-6);
            let [low, high] = ends.map(|x| at(&x).value);
            let slope = (high - low) / 2e-6;
            assert!(
                (slope - own.gradient[k]).abs() < 1e-6 * (1.0 + own.gradient.amax()),
                "{k}: {slope} {}",
                own.gradient[k]
            );
        }
    }
    assert!(near > 5 && close > 5, "{near} {close}");
}
