//! Closing a hand around an object, by geometry alone.
//!
//! Each joint that moves some parts of the robot relative to others pulls its nearest part towards the object, with a
//! force f. With the gaps φ to the object and their slopes J, over the contacts that the joint moves:
//!
//! ```text
//! F_j = −f Σ w_i J_ij,  w_i ∝ exp(−φ_i/σ)
//! ```
//!
//! First the object stays where it is, and parts stop where they touch it. Then it is free and has its weight, F = m g.
//! It settles among the parts, which keep pressing, with ever smaller motions. [`Separation::motion`] removes overlaps
//! all the time.

use candle_core::{Result, Tensor, bail};
use nalgebra::DVector;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use fingertip_step::kinematics::Manifold;
use fingertip_step::model::Model;
use fingertip_step::solve::Method;
use fingertip_step::step::{Dynamic, DynamicParams, Gaps, Separation};
use fingertip_step::tensor::numbers;

use super::effort::Balance;

/// Inertia added to joints, kg·m²: joints that close move about as quickly as the object, others hardly move.
const SLOW: f64 = 1e-5;
const FIXED: f64 = 1e3;
/// The overlap that may remain, m, and the most motions to reach it.
const EXACT: f64 = 1e-9;
const MOST: usize = 50;

/// Options of closing.
#[derive(Clone, Debug, PartialEq)]
pub struct Closing {
    /// Largest random offset of each joint from home at the start, rad or m.
    pub joints: f64,
    /// Largest random offset of the object from home in each direction, m and rad.
    pub object: [f64; 2],
    /// Force f with which each joint pulls its nearest part towards the object, N.
    pub force: f64,
    /// Length σ over which parts attract the object, m: weights are w ∝ exp(−φ/σ) of the gap φ.
    pub reach: f64,
    /// Time scale α of a motion α (M + W)⁻¹ F, s²: how far the object falls in a step is α times gravity.
    pub alpha: f64,
    /// Steps while the object is held still, and while it settles.
    pub steps: [usize; 2],
    /// Gaps up to this count as contacts, m.
    pub touching: f64,
}

impl Default for Closing {
    fn default() -> Self {
        Self {
            joints: 0.2,
            object: [0.01, 0.3],
            force: 0.5,
            reach: 0.005,
            alpha: 1e-4,
            steps: [200, 300],
            touching: 1e-5,
        }
    }
}

/// A closed hand.
#[derive(Clone, Debug)]
pub struct Closed {
    /// The configuration (1, nq).
    pub q: Tensor,
    /// The contacts with the object that are closed.
    pub contacts: Vec<usize>,
    /// Smallest gap of all contacts, m.
    pub least_gap: f64,
}

impl Closing {
    /// Closes the model's robots around its movable objects, from a random configuration around home.
    ///
    /// # Errors
    /// If the model has nothing to grasp, or a moving part without mass.
    pub fn close(&self, model: &Model, seed: u64) -> Result<Closed> {
        let tree = &model.tree;
        if model.nu() == 0 || model.nu() == model.nv() {
            bail!(
                "grasp: expected a robot and an object that can move, got {} of {} commanded",
                model.nu(),
                model.nv()
            );
        }
        let separation = Separation::new(model, Method::Lemke)?;
        let mut q = separation.separate(&self.start(model, seed)?, EXACT, MOST)?.q;
        let closing = closing(model, &separation.gaps(&q)?);
        for (steps, object) in self.steps.into_iter().zip([FIXED, 0.0]) {
            let added_inertia = |dof: usize| match (tree.actuated.contains(&dof), closing[dof]) {
                (false, _) => object,
                (true, true) => SLOW,
                (true, false) => FIXED,
            };
            let added_inertia: Vec<f64> = (0..model.nv()).map(added_inertia).collect();
            q = self.press(model, &separation.clone().with_added_inertia(&added_inertia)?, q, steps)?;
        }
        let apart = separation.separate(&q, EXACT, MOST)?;
        let gaps = separation.gaps(&apart.q)?;
        let bounds = gaps.contact.problem.bounds();
        let touching = with_object(model, &gaps).filter(|&(row, _)| -bounds[row] <= self.touching);
        let contacts = touching.map(|(_, contact)| contact).collect();
        Ok(Closed { q: apart.q, contacts, least_gap: gaps.least })
    }

    /// Steps under the joints' forces and the object's weight.
    fn press(&self, model: &Model, separation: &Separation, mut q: Tensor, steps: usize) -> Result<Tensor> {
        let dynamics = Dynamic::new(model, &model.parameters, DynamicParams::default())?;
        for step in 0..steps {
            let gaps = separation.gaps(&q)?;
            let mut force = self.attraction(model, &gaps);
            let weight = numbers(&dynamics.dynamics().gravity(&q)?)?;
            let free = (0..model.nv()).filter(|dof| !model.tree.actuated.contains(dof));
            free.for_each(|dof| force[dof] = -weight[dof]);
            let alpha = self.alpha * (1.0 - step as f64 / steps as f64);
            let Some(motion) = separation.motion(&gaps, &(force * alpha))? else { break };
            q = separation.moved(&q, &motion)?;
        }
        Ok(q)
    }

    /// A random configuration around home (1, nq).
    fn start(&self, model: &Model, seed: u64) -> Result<Tensor> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut offsets = vec![0.0; model.nv()];
        for coordinate in &model.tree.coordinates {
            for k in 0..coordinate.kind.nv() {
                let largest = match (coordinate.u, k) {
                    (Some(_), _) => self.joints,
                    (None, 0..3) => self.object[0],
                    (None, _) => self.object[1],
                };
                offsets[coordinate.v + k] = largest * (2.0 * rng.random::<f64>() - 1.0);
            }
        }
        let home = model.home(1)?;
        Manifold::new(&model.tree, &model.device)?.integrate(&home, &model.tensor(&[&offsets])?)
    }

    /// F (nv) of the contacts with the object.
    fn attraction(&self, model: &Model, gaps: &Gaps) -> DVector<f64> {
        let problem = &gaps.contact.problem;
        let slope = |row: usize, dof: usize| problem.jacobian()[(row, dof)];
        let of = |dof: usize| {
            let rows = with_object(model, gaps).map(|at| at.0).filter(|&row| slope(row, dof) != 0.0);
            let nearest = rows.clone().map(|row| problem.bounds()[row]).fold(f64::NEG_INFINITY, f64::max);
            let weighted = rows.map(|row| (((problem.bounds()[row] - nearest) / self.reach).exp(), slope(row, dof)));
            let (sum, pull) = weighted.fold((0.0, 0.0), |(sum, pull), (w, slope)| (sum + w, pull + w * slope));
            if sum > 0.0 { -self.force * pull / sum } else { 0.0 }
        };
        DVector::from_fn(model.nv(), |dof, _| of(dof))
    }
}

/// The degrees of freedom (nv) that move some parts relative to others towards the object.
fn closing(model: &Model, gaps: &Gaps) -> Vec<bool> {
    let moves = |row: usize, dof: usize| gaps.contact.problem.jacobian()[(row, dof)] != 0.0;
    let rows = with_object(model, gaps);
    (0..model.nv())
        .map(|dof| rows.clone().any(|(row, _)| moves(row, dof)) && rows.clone().any(|(row, _)| !moves(row, dof)))
        .collect()
}

/// The contacts with an object that can move: row in the problem and contact.
fn with_object<'a>(model: &'a Model, gaps: &'a Gaps) -> impl Iterator<Item = (usize, usize)> + Clone + 'a {
    let contacts = gaps.contact.contacts.iter().copied().enumerate();
    contacts.filter(|&(_, contact)| touches_object(model, contact))
}

impl Closed {
    /// The balance of the weight and the closed contacts, under the model's gravity and friction.
    ///
    /// # Errors
    /// As [`Dynamic::new`].
    pub fn balance(&self, model: &Model) -> Result<Balance> {
        let contact = Separation::new(model, Method::Lemke)?.gaps(&self.q)?.contact;
        let mu = numbers(&model.parameters.mu)?;
        let (mut rows, mut friction) = (Vec::new(), Vec::new());
        for (row, &i) in contact.contacts.iter().enumerate().filter(|(_, i)| self.contacts.contains(i)) {
            rows.extend(3 * row..3 * row + 3);
            friction.push((mu[model.pairs.pair_of_contact[i]], contact.normals[row]));
        }
        let step = Dynamic::new(model, &model.parameters, DynamicParams::default())?;
        let weight = DVector::from_vec(numbers(&step.dynamics().gravity(&self.q)?)?);
        let relative = contact.relative.select_rows(&rows);
        Ok(Balance::with_friction(&relative, friction, &weight, &model.tree.actuated)?)
    }
}

/// Is one side of a contact an object that can move?
fn touches_object(model: &Model, contact: usize) -> bool {
    let pair = &model.pairs.pairs[model.pairs.pair_of_contact[contact]];
    [pair.a, pair.b].into_iter().any(|shape| {
        let path = model.tree.path(model.shapes[shape].body);
        path.iter().any(|&screw| !model.tree.actuated.contains(&model.tree.screw_dof[screw]))
    })
}
