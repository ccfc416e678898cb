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
pub struct Goal {
    /// Where it is to be, m.
    pub at: Vector3<f64>,
    /// How much it counts; nothing where a keypoint is not known.
    pub weight: f64,
}

/// Weights of an objective.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Residuals count by their squares up to this length, m, and by their lengths from there on.
    pub huber: f64,
    /// Weight of changes, m² per rad² or m².
    pub smooth: f64,
    /// Least gap of own pairs, m, and the weight of what is missing; none without own pairs.
    pub apart: Option<(f64, f64)>,
}

/// The tables of a hand and what it follows.
#[derive(Debug)]
pub struct Problem {
    points: Points,
    /// Frames of each target's beginning and end.
    targets: Vec<(Option<usize>, usize)>,
    /// The commands, whose numbers x are.
    pub leads: Vec<Lead>,
    /// For each degree of freedom, the command that moves it, and how.
    columns: Vec<Option<(usize, f64)>>,
    pub(super) apart: Apart,
    home: Vec<f64>,
}

/// The objective at one x.
pub struct Linear {
    pub value: f64,
    pub gradient: DVector<f64>,
    pub(super) matrix: DMatrix<f64>,
    /// The length of each target's residual, m.
    pub errors: Vec<f64>,
    /// The least gap of own pairs that are near, m.
    pub gap: Option<f64>,
}

impl Problem {
    /// The tables of what `leads` move.
    pub fn new(model: &Model, map: &Map, leads: Vec<Lead>) -> fingertip_shapes::Result<Self> {
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
    pub fn linear(
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
