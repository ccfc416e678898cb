//! The 14-joint hand falling and under control, against `tests/golden/hand_sim.json`.

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::step::control::{Gains, Reference, decoupled, viscous};
use fingertip::step::{Dynamic, DynamicParams};
use serde_json::Value;

use support::models::Case;
use support::{apart, largest, numbers, row, values};

/// Two programs' rounding, 1e-16 a step, grows with the motion: 1e-13 is seen after 1,000 steps; the reference promises
/// 1e-8.
const TOLERANCE: f64 = 1e-11;
/// The same of energies, which start at 20 J.
const ENERGY: f64 = 1e-12;
const H: f64 = 1e-3;
const STEPS: usize = 1000;

struct Hand {
    step: Dynamic,
    golden: Value,
    q0: Tensor,
}

impl Hand {
    fn new() -> Self {
        let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let models = read(include_str!("../../golden/dynamics.json"));
        let mut scene = Case::new(models["models"]["hand"]["joints"].as_array().unwrap()).scene;
        scene.params.h = H;
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        let step = Dynamic::new(&model, &model.parameters, DynamicParams::default()).unwrap();
        let golden = read(include_str!("../../golden/hand_sim.json"));
        let q0 = row(&values(&golden["q0"]));
        Self { step, golden, q0 }
    }

    /// Runs and compares q, v and τ wherever the reference has them.
    fn follow(&self, run: &str, law: impl Fn(f64, &Tensor, &Tensor) -> Tensor) {
        let golden = &self.golden["runs"][run];
        let (mut q, mut v) = (self.q0.clone(), self.q0.zeros_like().unwrap());
        for k in 1..=STEPS {
            let tau = law((k - 1) as f64 * H, &q, &v);
            let next = self.step.step(&q, &v, &tau).unwrap();
            (q, v) = (next.q_next, next.v_next);
            for (key, found) in [("q", &q), ("v", &v), ("tau", &tau)] {
                let expected = &golden[key][k.to_string()];
                if !expected.is_null() {
                    let expected = values(expected);
                    let scale = largest(&expected).max(1.0);
                    let error = apart(&numbers(found), &expected);
                    assert!(error < TOLERANCE * scale, "{run}: {key} after {k} steps is off by {error:e}");
                }
            }
            if let Some(drift) = golden["energy_drift"][k.to_string()].as_f64() {
                let energy = |q: &Tensor, v: &Tensor| -> f64 {
                    numbers(&self.step.dynamics().energy(q, v).unwrap()).iter().sum()
                };
                let found = energy(&q, &v) - energy(&self.q0, &self.q0.zeros_like().unwrap());
                assert!((found - drift).abs() < ENERGY, "{run}: energy after {k} steps {found:e}, expected {drift:e}");
            }
        }
    }
}

#[test]
fn free_fall_and_joint_friction() {
    let hand = Hand::new();
    hand.follow("free_fall", |_, q, _| q.zeros_like().unwrap());
    for run in ["friction_0.1", "friction_1.0"] {
        let kf = row(&[hand.golden["runs"][run]["Kf"].as_f64().unwrap()]);
        hand.follow(run, |_, _, v| viscous(&kf, v).unwrap());
    }
}

#[test]
fn controllers() {
    let hand = Hand::new();
    let dynamics = hand.step.dynamics();
    let omega = row(&values(&hand.golden["omega"]));
    let amplitude = row(&[hand.golden["amplitude"].as_f64().unwrap()]);
    let reference = |t: f64| Reference::sinusoid(&hand.q0, &amplitude, &omega, t).unwrap();
    let gains = Gains::critical(&row(&[hand.golden["runs"]["control_pd"]["Kp"].as_f64().unwrap()])).unwrap();
    assert!((numbers(&gains.kv)[0] - hand.golden["runs"]["control_pd"]["Kv"].as_f64().unwrap()).abs() < 1e-14);
    hand.follow("control_pd", |t, q, v| gains.pd(q, v, &reference(t).q).unwrap());
    hand.follow("control_pd_v", |t, q, v| gains.pd_along(q, v, &reference(t)).unwrap());
    hand.follow("control_pd_ref", |t, q, v| gains.acceleration(q, v, &reference(t)).unwrap());
    // The reference compensates the whole bias, Coriolis forces too.
    hand.follow("control_pd_g", |t, q, v| {
        (gains.pd_along(q, v, &reference(t)).unwrap() + dynamics.bias(q, v).unwrap()).unwrap()
    });
    for (run, wrong) in [("control_ct", false), ("control_ct_diag", true)] {
        hand.follow(run, |t, q, v| {
            let mass = dynamics.mass_matrix(q).unwrap();
            let mass = if wrong { decoupled(&mass).unwrap() } else { mass };
            gains.computed_torque(&mass, &dynamics.bias(q, v).unwrap(), q, v, &reference(t)).unwrap()
        });
    }
}

/// Under computed torque with the true model the error decays as (e₀ + (ė₀ + 7 e₀) t) exp(−7 t), up to O(h).
#[test]
fn computed_torque_decays_as_told() {
    let hand = Hand::new();
    let dynamics = hand.step.dynamics();
    let gains = Gains::critical(&row(&[49.0])).unwrap();
    let hold = Reference::hold(&(&hand.q0 + 0.1).unwrap()).unwrap();
    let (mut q, mut v) = (hand.q0.clone(), hand.q0.zeros_like().unwrap());
    let steps = 300;
    for _ in 0..steps {
        let (mass, bias) = (dynamics.mass_matrix(&q).unwrap(), dynamics.bias(&q, &v).unwrap());
        let tau = gains.computed_torque(&mass, &bias, &q, &v, &hold).unwrap();
        let next = hand.step.step(&q, &v, &tau).unwrap();
        (q, v) = (next.q_next, next.v_next);
    }
    let t = f64::from(steps) * H;
    let expected = -0.1 * (1.0 + 7.0 * t) * (-7.0 * t).exp();
    for error in numbers(&(q - hold.q).unwrap()) {
        assert!((error - expected).abs() < 7.0 * H * 0.1, "{error} {expected}");
    }
}
