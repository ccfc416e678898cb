//! Policy learning by gradient: a small network that moves a disc with two fingers, trained through the simulator.
//!
//! The network sees how far the disc is from its goal and how the fingers stand, and says how far the joints' springs
//! are drawn in the coming tenth of a second. Episodes of many goals run side by side; the gradient of what is left of
//! their errors goes back through contacts, joints and network to its weights, and Adam changes them. It is then tried
//! on goals that it has not seen, in contacts a hundred times harder than those it has learned in.
//!
//! ```text
//! cargo run --release --example 15_policy
//! cargo run --release --example 15_policy -- out/policy.json    # keeps the weights, for benches/peers/policy.py
//! ```

mod check;

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::mpc::Deviates;
use fingertip::rollout::rollout;
use fingertip::step::Quasidynamic;

use check::{above, below};

/// Time step, s; steps in a control period; periods of an episode while learning, and while trying.
const H: f64 = 0.02;
const HOLD: usize = 5;
const LEARNING: usize = 10;
const TRYING: usize = 25;
/// Contacts while learning, and while trying, 1/J.
const SOFT: f64 = 1e4;
const HARD: f64 = 1e6;
/// Episodes side by side, and how often the weights change.
const WORLDS: usize = 32;
const CHANGES: usize = 1000;
/// Numbers between the layers.
const HIDDEN: usize = 32;
/// The springs are drawn by this at most, rad, and at first by this: the fingers close.
const BOUND: f64 = 0.15;
const CLOSE: [f64; 4] = [-0.04, 0.01, 0.04, -0.01];
/// Goals: around the disc's home, ± m, m, rad; also what counts as one in the network's input.
const SPREAD: [f64; 3] = [0.02, 0.015, 0.25];
/// What counts as one in the loss: m, rad.
const UNIT: [f64; 3] = [0.01, 0.01, 0.1];
/// Adam's step, and the constants of Kingma and Ba 2015.
const RATE: f64 = 4e-3;
const MOMENTUM: [f64; 2] = [0.9, 0.999];

struct Policy {
    /// w₁ (7, HIDDEN), b₁ (1, HIDDEN), w₂ (HIDDEN, 4), b₂ (1, 4).
    weights: [Var; 4],
    home: Tensor,
}

impl Policy {
    fn new(model: &Model, deviates: &mut Deviates) -> Result<Self> {
        let mut random = |rows: usize, columns: usize, size: f64| {
            let numbers = (0..rows * columns).map(|_| size * deviates.normal()).collect();
            Var::from_tensor(&Tensor::from_vec(numbers, (rows, columns), &Device::Cpu)?)
        };
        let close: Vec<f64> = CLOSE.iter().map(|v| (v / BOUND).atanh()).collect();
        Ok(Self {
            weights: [
                random(7, HIDDEN, 7_f64.sqrt().recip())?,
                random(1, HIDDEN, 0.0)?,
                random(HIDDEN, 4, 0.1 * (HIDDEN as f64).sqrt().recip())?,
                Var::from_tensor(&Tensor::from_slice(&close, (1, 4), &Device::Cpu)?)?,
            ],
            home: model.home(1)?,
        })
    }

    /// Commands (B, 4) at q (B, 7) for goals (B, 3).
    fn command(&self, q: &Tensor, goal: &Tensor) -> Result<Tensor> {
        let [w1, b1, w2, b2] = &self.weights;
        let units = Tensor::new(&SPREAD, &Device::Cpu)?;
        let ahead = (q.narrow(1, 0, 3)? - goal)?.broadcast_div(&units)?;
        let joints = q.narrow(1, 3, 4)?;
        let bent = (joints.broadcast_sub(&self.home.narrow(1, 3, 4)?)? / 0.2)?;
        let seen = Tensor::cat(&[&ahead, &bent], 1)?;
        let inner = seen.matmul(w1)?.broadcast_add(b1)?.tanh()?;
        joints + (inner.matmul(w2)?.broadcast_add(b2)?.tanh()? * BOUND)?
    }

    /// The disc's errors (B, 3) after each of `n` control periods from home.
    fn episode(&self, step: &Quasidynamic, goal: &Tensor, n: usize) -> Result<Vec<Tensor>> {
        let mut q = self.home.repeat((goal.dim(0)?, 1))?;
        let period = |_| {
            let held = self.command(&q, goal)?.unsqueeze(1)?.repeat((1, HOLD, 1))?;
            q = rollout(step, &q, &held)?.q.narrow(1, HOLD, 1)?.squeeze(1)?;
            q.narrow(1, 0, 3)? - goal
        };
        (0..n).map(period).collect()
    }
}

/// Goals (n, 3) around the disc's home.
fn goals(home: &Tensor, n: usize, deviates: &mut Deviates) -> Result<Tensor> {
    let numbers = (0..n).flat_map(|_| SPREAD.map(|s| s * (2.0 * deviates.even() - 1.0))).collect();
    Tensor::from_vec(numbers, (n, 3), &Device::Cpu)?.broadcast_add(&home.narrow(1, 0, 3)?)
}

/// Mean distances of the rows of errors (B, 3), mm and rad.
fn mean(errors: &Tensor) -> Result<[f64; 2]> {
    let rows = errors.to_vec2::<f64>()?;
    let sum = |of: fn(&[f64]) -> f64| rows.iter().map(|row| of(row)).sum::<f64>() / rows.len() as f64;
    Ok([1e3 * sum(|e| e[0].hypot(e[1])), sum(|e| e[2].abs())])
}

fn main() -> Result<()> {
    let mut scene = Scene::load("assets/scenes/two_fingers.toml")?;
    scene.params.h = H;
    let step = |kappa: f64| {
        let mut scene = scene.clone();
        scene.params.kappa = kappa;
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        Ok::<_, candle_core::Error>((Quasidynamic::new(&model, &model.parameters)?, model))
    };
    let ((soft, model), (hard, _)) = (step(SOFT)?, step(HARD)?);
    let mut deviates = Deviates::new(0, 0);
    let policy = Policy::new(&model, &mut deviates)?;
    let unseen = goals(&policy.home, 64, &mut Deviates::new(1, 0))?;
    let tried = |step: &Quasidynamic| mean(&policy.episode(step, &unseen, TRYING)?[TRYING - 1].detach());
    let untrained = tried(&hard)?;

    let mut moments: Vec<[Tensor; 2]> =
        policy.weights.iter().map(|w| Ok([w.zeros_like()?, w.zeros_like()?])).collect::<Result<_>>()?;
    let units = Tensor::new(&UNIT, &Device::Cpu)?;
    for change in 1..=CHANGES {
        let goal = goals(&policy.home, WORLDS, &mut deviates)?;
        let errors = policy.episode(&soft, &goal, LEARNING)?;
        // The first half of an episode is the way there.
        let late = Tensor::cat(&errors[LEARNING / 2..], 0)?;
        let loss = late.broadcast_div(&units)?.sqr()?.sum(1)?.mean_all()?;
        if change % 200 == 1 || change == CHANGES {
            println!("{change:4}  loss {:.4}", loss.to_vec0::<f64>()?);
        }
        let gradients = loss.backward()?;
        let power = |beta: f64| 1.0 - beta.powi(i32::try_from(change).unwrap_or(i32::MAX));
        for (weight, moments) in policy.weights.iter().zip(&mut moments) {
            let Some(gradient) = gradients.get(weight) else { continue };
            let gradient = gradient.detach();
            let powers = [gradient.clone(), gradient.sqr()?];
            for ((moment, power), beta) in moments.iter_mut().zip(powers).zip(MOMENTUM) {
                *moment = ((&*moment * beta)? + (power * (1.0 - beta))?)?;
            }
            let slope = ((&moments[1] / power(MOMENTUM[1]))?.sqrt()? + 1e-8)?;
            let rate = RATE * (1.0 - change as f64 / CHANGES as f64).max(0.1);
            weight.set(&(weight.as_tensor().detach() - ((&moments[0] / power(MOMENTUM[0]))? / slope)? * rate)?)?;
        }
    }

    let [far, turned] = mean(&unseen.broadcast_sub(&policy.home.narrow(1, 0, 3)?)?)?;
    let (gentle, trained) = (tried(&soft)?, tried(&hard)?);
    println!("64 unseen goals, at the start  {far:6.2} mm  {turned:.4} rad");
    println!("untrained, hard contacts       {:6.2} mm  {:.4} rad", untrained[0], untrained[1]);
    println!("trained, as it has learned     {:6.2} mm  {:.4} rad", gentle[0], gentle[1]);
    println!("trained, hard contacts         {:6.2} mm  {:.4} rad", trained[0], trained[1]);
    below("position error left, of that at the start", trained[0] / far, 0.3)?;
    below("rotation error left, of that at the start", trained[1] / turned, 0.3)?;
    above("untrained position error, of that at the start", untrained[0] / far, 0.7)?;
    if let Some(path) = std::env::args().nth(1) {
        save(&policy, &path)?;
    }
    Ok(())
}

/// Weights and what goes with them as JSON.
fn save(policy: &Policy, path: &str) -> Result<()> {
    let [w1, b1, w2, b2] = &policy.weights;
    let (rows, row) = (|w: &Var| w.to_vec2::<f64>(), |w: &Var| w.flatten_all()?.to_vec1::<f64>());
    let home = policy.home.flatten_all()?.to_vec1::<f64>()?;
    let text = format!(
        "{{\"w1\": {:?}, \"b1\": {:?}, \"w2\": {:?}, \"b2\": {:?}, \"home\": {home:?}, \"spread\": {SPREAD:?}, \"bound\": {BOUND}, \
         \"period\": {}}}\n",
        rows(w1)?,
        row(b1)?,
        rows(w2)?,
        row(b2)?,
        H * HOLD as f64
    );
    std::fs::write(path, text).map_err(|error| candle_core::Error::msg(format!("{path}: {error}")))
}
