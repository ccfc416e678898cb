//! System identification by gradient: mass, friction and stiffness from the recorded motion of another simulator.
//!
//! A fingertip in MuJoCo presses on a block and drags it, `assets/recorded/press_and_drag.csv`. Each row's state is
//! stepped to the next row's time under its command; what the springs then carry and where the block is are compared
//! with what was measured. L-BFGS on the gradient through all 209 rollouts at once finds the three numbers, and the
//! curvature of the loss how sure they are.
//!
//! ```text
//! cargo run --release --example 14_identify
//! ```

mod check;

use std::cell::Cell;

use argmin::core::{CostFunction, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use candle_core::{DType, Device, Error, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::rollout::rollout;
use fingertip::step::Quasidynamic;
use nalgebra::{DMatrix, Matrix3, Vector3};

use check::near;

const RECORDED: &str = "assets/recorded/press_and_drag.csv";
/// Model steps in a recorded period of 50 ms.
const STEPS: usize = 5;
/// What counts as one: a force of the springs, N, and a shift of the block, m.
const FORCE: f64 = 0.1;
const SHIFT: f64 = 5e-4;
/// Then the fingertip tips the block over its edge, s.
const UNTIL: f64 = 10.5;
/// What MuJoCo had: kg, of block and ground, N/m.
const TRUE: [f64; 3] = [0.2, 0.4, 220.0];
/// How near one comes: contacts that give way by up to a millimetre there, and not here, are in no error bar.
const NEAR: [f64; 3] = [0.15, 0.03, 0.03];

struct Recording {
    model: Model,
    q: Tensor,
    /// The same command for all steps of a period.
    u: Tensor,
    /// How far the springs are drawn at the start of each period, m.
    lag: Tensor,
    /// The mean forces on x and z of the fingertip's springs, N, and the block's x, m.
    measured: Tensor,
    /// 1 at the block's mass, and at its friction with the ground.
    masks: [Tensor; 2],
    start: [f64; 3],
    /// The least loss so far.
    best: Cell<f64>,
}

impl Recording {
    fn load() -> Result<Self> {
        let mut scene = Scene::load("assets/scenes/press_and_drag.toml")?;
        scene.params.h = 0.05 / STEPS as f64;
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let home = model.tree.home();
        let text = std::fs::read_to_string(RECORDED).map_err(|error| Error::msg(format!("{RECORDED}: {error}")))?;
        let number = |x: &str| x.parse::<f64>().map_err(|error| Error::msg(format!("{RECORDED}: {x}: {error}")));
        let row = |line: &str| line.split(',').map(number).collect::<Result<Vec<f64>>>();
        let rows = text.lines().skip(1).map(row).collect::<Result<Vec<_>>>()?;
        let (mut q, mut u, mut lag, mut measured) =
            (Vec::<f64>::new(), Vec::<f64>::new(), Vec::new(), Vec::<f64>::new());
        for pair in rows.windows(2).filter(|pair| pair[1][0] < UNTIL) {
            let (from, to) = (&pair[0], &pair[1]);
            q.extend(from[10..17].iter().chain(&from[4..7]).chain(&home[10..]));
            (0..STEPS).for_each(|_| u.extend(to[1..4].iter().chain(&home[10..])));
            lag.extend((0..3).map(|k| from[1 + k] - from[4 + k]));
            measured.extend([to[7], to[9], to[10]]);
        }
        let n = measured.len() / 3;
        let mask = |width: usize, on: usize| {
            Tensor::from_vec((0..width).map(|k| f64::from(u8::from(k == on))).collect(), (1, width), &Device::Cpu)
        };
        let block = model.inertial.iter().position(|&body| model.tree.bodies[body].name == "block").unwrap_or(0);
        let ground = model.pairs.pair_of_contact[model.contacts_between("block", "ground")[0]];
        let p = &model.parameters;
        Ok(Self {
            q: Tensor::from_vec(q, (n, model.nq()), &Device::Cpu)?,
            u: Tensor::from_vec(u, (n, STEPS, model.nu()), &Device::Cpu)?,
            lag: Tensor::from_vec(lag, (n, 3), &Device::Cpu)?,
            measured: Tensor::from_vec(measured, (n, 3), &Device::Cpu)?,
            masks: [mask(model.inertial.len(), block)?, mask(model.pairs.pairs.len(), ground)?],
            start: [
                p.mass.to_vec2::<f64>()?[0][block],
                p.mu.to_vec2::<f64>()?[0][ground],
                p.stiffness.to_vec2::<f64>()?[0][0],
            ],
            best: Cell::new(f64::INFINITY),
            model,
        })
    }

    /// What is off after each period (n, 3), given the logarithms of mass, friction and stiffness over their first
    /// values.
    fn residuals(&self, logarithms: &Tensor) -> Result<Tensor> {
        let factor = logarithms.exp()?.reshape((1, 3))?;
        let by =
            |k: usize, t: &Tensor, mask: &Tensor| t * (mask.broadcast_mul(&(factor.narrow(1, k, 1)? - 1.0)?)? + 1.0)?;
        let parameters = self.model.parameters.map(|name, t| match name {
            "mass" => by(0, t, &self.masks[0]),
            "inertia" => {
                let (_, n) = self.masks[0].dims2()?;
                let six = self.masks[0].reshape((1, n, 1))?.broadcast_as((1, n, 6))?.reshape((1, 6 * n))?;
                by(0, t, &six)
            }
            "mu" => by(1, t, &self.masks[1]),
            "stiffness" => t.broadcast_mul(&factor.narrow(1, 2, 1)?),
            _ => Ok(t.clone()),
        })?;
        let step = Quasidynamic::new(&self.model, &parameters)?;
        let q = rollout(&step, &self.q, &self.u)?.q.narrow(1, STEPS, 1)?.squeeze(1)?;
        let lag = (self.u.narrow(1, STEPS - 1, 1)?.squeeze(1)?.narrow(1, 0, 3)? - q.narrow(1, 7, 3)?)?;
        let lag = ((lag + &self.lag)? * 0.5)?;
        let force = lag.broadcast_mul(&parameters.stiffness.narrow(1, 0, 3)?)?;
        let found = Tensor::cat(&[force.narrow(1, 0, 1)?, force.narrow(1, 2, 1)?, q.narrow(1, 0, 1)?], 1)?;
        let unit = Tensor::new(&[[1.0 / FORCE, 1.0 / FORCE, 1.0 / SHIFT]], &Device::Cpu)?;
        (found - &self.measured)?.broadcast_mul(&unit)
    }

    /// The mean square of the residuals, and its gradient.
    fn loss(&self, logarithms: &[f64]) -> Result<(f64, Vec<f64>)> {
        let x = Var::new(logarithms, &Device::Cpu)?;
        let loss = self.residuals(&x)?.sqr()?.mean_all()?;
        let gradient = loss.backward()?.remove(&x).map_or_else(|| x.zeros_like(), Ok)?;
        Ok((loss.to_scalar()?, gradient.to_vec1()?))
    }

    /// Standard deviations of the logarithms, as far as the loss' curvature and what is left of it tell.
    fn deviations(&self, x: &[f64]) -> Result<Vector3<f64>> {
        let at = |x: &[f64]| self.residuals(&Tensor::new(x, &Device::Cpu)?)?.flatten_all()?.to_vec1::<f64>();
        let by = 1e-4;
        let mut jacobian = DMatrix::zeros(at(x)?.len(), 3);
        for k in 0..3 {
            let mut moved = [x.to_vec(), x.to_vec()];
            moved[0][k] += by;
            moved[1][k] -= by;
            let [up, down] = [at(&moved[0])?, at(&moved[1])?];
            jacobian
                .column_mut(k)
                .iter_mut()
                .zip(up.iter().zip(&down))
                .for_each(|(j, (a, b))| *j = (a - b) / (2.0 * by));
        }
        let variance = self.loss(x)?.0;
        let information: Matrix3<f64> = (jacobian.transpose() * &jacobian).fixed_view::<3, 3>(0, 0).into();
        let covariance = information.try_inverse().ok_or_else(|| Error::msg("a number has no effect"))?;
        Ok((covariance.diagonal() * variance).map(f64::sqrt))
    }
}

impl CostFunction for &Recording {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> std::result::Result<f64, argmin::core::Error> {
        Ok(self.loss(x)?.0)
    }
}

impl Gradient for &Recording {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> std::result::Result<Vec<f64>, argmin::core::Error> {
        let (loss, gradient) = self.loss(x)?;
        if loss < 0.99 * self.best.get() {
            self.best.set(loss);
            println!(
                "loss {loss:10.4}   mass × {:.3}, friction × {:.3}, stiffness × {:.3}",
                x[0].exp(),
                x[1].exp(),
                x[2].exp()
            );
        }
        Ok(gradient)
    }
}

fn main() -> Result<()> {
    let recording = Recording::load()?;
    let broken = |error: argmin::core::Error| Error::msg(error.to_string());
    let method = LBFGS::new(MoreThuenteLineSearch::new(), 5).with_tolerance_cost(1e-7).map_err(broken)?;
    let search = Executor::new(&recording, method).configure(|state| state.param(vec![0.0; 3]).max_iters(30));
    let found = search.run().map_err(broken)?.state.take_best_param().unwrap_or_else(|| vec![0.0; 3]);
    let deviations = recording.deviations(&found)?;
    for k in 0..3 {
        let name = ["mass, kg", "friction", "stiffness, N/m"][k];
        let value = recording.start[k] * found[k].exp();
        println!("{name}: {:.4} ± {:.4}, at first {}", value, value * deviations[k], recording.start[k]);
        near(name, value, TRUE[k], NEAR[k])?;
    }
    Ok(())
}
