//! The objective of one frame, its gradient and the matrix of Gauss and Newton.

use candle_core::Result;
use nalgebra::{DMatrix, DVector, Vector3};

use fingertip_step::kinematics::{FrameSpec, Points};
use fingertip_step::model::Model;

use super::apart::{Apart, Near};
use super::joints::Lead;
use super::target::Map;

/// Pairs that are farther apart than the margin and this, m, are not looked at.
const LOOK: f64 = 2e-3;

/// A residual of the hand: a point, or the vector from one to another, less its goal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// Where it is to be, m.
    pub(super) at: Vector3<f64>,
    /// How much it counts; nothing where a keypoint is not known.
    pub(super) weight: f64,
}

/// Weights of an objective.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// Residuals count by their squares up to this length, m, and by their lengths from there on.
    pub(super) huber: f64,
    /// Weight of changes, m² per rad² or m².
    pub(super) smooth: f64,
    /// Least gap of own pairs, m, and the weight of what is missing; none without own pairs.
    pub(super) apart: Option<(f64, f64)>,
}

/// The tables of a hand and what it follows.
#[derive(Debug)]
pub(super) struct Problem {
    points: Points,
    /// Frames of each target's beginning and end.
    targets: Vec<(Option<usize>, usize)>,
    pub(super) leads: Vec<Lead>,
    /// For each degree of freedom, the command that moves it, and how.
    columns: Vec<Option<(usize, f64)>>,
    pub(super) apart: Apart,
    home: Vec<f64>,
}

/// The objective at one x.
pub(super) struct Linear {
    pub(super) value: f64,
    pub(super) gradient: DVector<f64>,
    pub(super) matrix: DMatrix<f64>,
    /// The length of each target's residual, m.
    pub(super) errors: Vec<f64>,
    /// The least gap of own pairs that are near, m.
    pub(super) gap: Option<f64>,
}

impl Problem {
    /// The tables of what `leads` move.
    pub(super) fn new(model: &Model, map: &Map, leads: Vec<Lead>) -> fingertip_shapes::Result<Self> {
        let tree = &model.tree;
        let (mut frames, mut targets): (Vec<FrameSpec>, _) = (Vec::new(), Vec::new());
        for target in &map.targets {
            let mut add = |place: &super::target::Place| {
                frames.push(place.frame(tree).map_err(|error| error.within(format!("target \"{}\"", target.name)))?);
                Ok::<_, fingertip_shapes::Error>(frames.len() - 1)
            };
            targets.push((target.from.as_ref().map(&mut add).transpose()?, add(&target.to)?));
        }
        let apart = Apart::new(model, frames.len());
        frames.extend(apart.frames());
        let mut columns = vec![None; tree.nv];
        for (k, lead) in leads.iter().enumerate() {
            lead.moves.iter().for_each(|own| columns[own.v] = Some((k, own.slope)));
        }
        Ok(Self { points: Points::new(tree, &frames), targets, leads, columns, apart, home: tree.home() })
    }

    /// q at x.
    pub(super) fn configuration(&self, x: &DVector<f64>) -> Vec<f64> {
        let mut q = self.home.clone();
        self.leads.iter().zip(x).for_each(|(lead, &x)| lead.put(x, &mut q));
        q
    }

    /// The objective at x, with x `before` in the last frame:
    ///
    /// Σ w ρ(‖r‖) + ½ s ‖x − before‖² + ½ W Σ max(0, margin − φ)²
    ///
    /// # Errors
    /// If x has a wrong length.
    pub(super) fn linear(
        &mut self,
        x: &DVector<f64>,
        goals: &[Goal],
        before: &DVector<f64>,
        weights: &Weights,
    ) -> Result<Linear> {
        let n = self.leads.len();
        let (q, columns) = (self.configuration(x), &self.columns);
        let placed = self.points.at(&q)?;
        // Adds `sign` times the velocity of a point of a frame's body by each command.
        let add = |frame: usize, p: [f64; 3], sign: f64, to: &mut DMatrix<f64>| {
            for (dof, velocity) in placed.velocities(frame, p) {
                if let Some((k, slope)) = columns[dof] {
                    (0..3).for_each(|i| to[(i, k)] += sign * slope * velocity[i]);
                }
            }
        };
        let change = x - before;
        let mut all = Linear {
            value: 0.5 * weights.smooth * change.norm_squared(),
            gradient: change * weights.smooth,
            matrix: DMatrix::identity(n, n) * weights.smooth,
            errors: Vec::with_capacity(goals.len()),
            gap: None,
        };
        let mut jacobian = DMatrix::zeros(3, n);
        for (&(from, to), goal) in self.targets.iter().zip(goals) {
            let end = placed.position(to);
            let start = from.map_or([0.0; 3], |from| placed.position(from));
            let r = Vector3::from(end) - Vector3::from(start) - goal.at;
            let length = r.norm();
            all.errors.push(length);
            if goal.weight == 0.0 {
                continue;
            }
            jacobian.fill(0.0);
            add(to, end, 1.0, &mut jacobian);
            if let Some(from) = from {
                add(from, start, -1.0, &mut jacobian);
            }
            let is_near = length <= weights.huber;
            let value = if is_near { 0.5 * length * length } else { weights.huber * (length - 0.5 * weights.huber) };
            let weight = goal.weight * if is_near { 1.0 } else { weights.huber / length };
            all.value += goal.weight * value;
            all.gradient.gemv_tr(weight, &jacobian, &r, 1.0);
            all.matrix.gemm_tr(weight, &jacobian, &jacobian, 1.0);
        }
        if let Some((margin, weight)) = weights.apart {
            for Near { distance, frames } in self.apart.near(&placed, margin + LOOK) {
                all.gap = Some(all.gap.map_or(distance.phi, |gap| gap.min(distance.phi)));
                let missing = margin - distance.phi;
                if missing <= 0.0 {
                    continue;
                }
                jacobian.fill(0.0);
                add(frames[0], distance.point_a.into(), -1.0, &mut jacobian);
                add(frames[1], distance.point_b.into(), 1.0, &mut jacobian);
                let row = jacobian.tr_mul(&distance.normal);
                all.value += 0.5 * weight * missing * missing;
                all.gradient.axpy(-weight * missing, &row, 1.0);
                all.matrix.ger(weight, &row, &row, 1.0);
            }
        }
        Ok(all)
    }

    /// The positions of points of the hand at x, m.
    pub(super) fn ends(&self, x: &DVector<f64>) -> Result<Vec<[f64; 3]>> {
        let placed = self.points.at(&self.configuration(x))?;
        Ok(self.targets.iter().map(|&(_, to)| placed.position(to)).collect())
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};
    use fingertip_scene::Scene;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::super::joints::moved;
    use super::super::target::{Place, Scale, Target};
    use super::*;

    /// The gradient, beside central differences of the value: with targets near and far, and own pairs that overlap.
    #[test]
    fn the_gradient_is_that_of_differences() {
        let scenes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/scenes/allegro_plate.toml");
        let model = Model::new(&Scene::load(scenes).unwrap(), DType::F64, &Device::Cpu).unwrap();
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
}
