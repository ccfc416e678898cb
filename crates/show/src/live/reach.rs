//! Dragging a link by its joints: inverse kinematics, a step of it for each step of the world.

use candle_core::Result;
use nalgebra::{DMatrix, DVector, Vector3};

use super::command::Pull;
use fingertip_step::kinematics::{Coordinate, FrameSpec, Kinematics, Tree};
use fingertip_step::model::Model;
use fingertip_step::tensor::numbers;

/// Damping, m²: a joint with a lever of a centimetre gives way half as much as it would have to.
const DAMPING: f64 = 1e-4;
/// The point is asked to come this much nearer in a step at most, m.
const LONGEST: f64 = 0.03;

/// Turns pulls at links of robots into commands.
#[derive(Debug)]
pub struct Reach(Kinematics);

impl Reach {
    pub fn new(model: &Model) -> Result<Self> {
        let frames: Vec<FrameSpec> = (0..model.tree.bodies.len()).map(FrameSpec::of_body).collect();
        Ok(Self(Kinematics::new(&model.tree, &frames, model.dtype, &model.device)?))
    }

    /// Can joints of the body's own be commanded?
    pub fn is_possible(model: &Model, body: usize) -> bool {
        !own_joints(&model.tree, body).is_empty()
    }

    /// The command u (nu), changed so that the pulled point, with all joints where they are commanded, comes nearer to where
    /// it is pulled: Jᵀ (J Jᵀ + d 1)⁻¹ e over the body's own joints.
    pub fn command(&self, model: &Model, q: &[f64], u: &[f64], pull: &Pull) -> Result<Vec<f64>> {
        let tree = &model.tree;
        let mut commanded = q.to_vec();
        for c in &tree.coordinates {
            if let Some(place) = c.u {
                commanded[c.q] = u[place];
            }
        }
        let frames = self.0.at(&model.tensor(&[&commanded])?)?;
        let point = numbers(&self.0.points(&frames, pull.body, pull.at)?)?;
        let jacobian =
            DMatrix::from_row_slice(3, tree.nv, &numbers(&self.0.point_jacobian(&frames, pull.body, pull.at)?)?);
        let joints = own_joints(tree, pull.body);
        let own = DMatrix::from_fn(3, joints.len(), |row, k| jacobian[(row, joints[k].v)]);
        let mut error = Vector3::from(pull.to) - Vector3::from_column_slice(&point[..3]);
        error *= (LONGEST / error.norm()).min(1.0);
        let square = &own * own.transpose() + DMatrix::identity(3, 3) * DAMPING;
        let error = DVector::from_column_slice(error.as_slice());
        let change = square.cholesky().map(|factor| own.transpose() * factor.solve(&error));
        let mut next = u.to_vec();
        for (joint, change) in joints.iter().zip(change.iter().flat_map(DVector::iter)) {
            if let Some(place) = joint.u {
                next[place] += change;
            }
        }
        Ok(next)
    }
}

/// The commanded joints that move the body and no other limb: a finger's, without those of the wrist. Where it has none, or
/// is no limb's, all that move it.
fn own_joints(tree: &Tree, body: usize) -> Vec<&Coordinate> {
    let moves = |body: usize| tree.bodies[body].kind.nv() > 0;
    let path = |body: usize| std::iter::successors(Some(body), |&b| (b != 0).then(|| tree.bodies[b].parent));
    let is_below = |below: usize, above: usize| path(below).any(|b| b == above);
    let n_limbs = |of: usize| {
        let moving = |b: &usize| moves(*b) && is_below(*b, of);
        let last = |b: &usize| !(1..tree.bodies.len()).any(|c| c != *b && moves(c) && is_below(c, *b));
        (1..tree.bodies.len()).filter(moving).filter(last).count()
    };
    let Some(moving) = path(body).find(|&b| moves(b)) else { return Vec::new() };
    let all: Vec<&Coordinate> = tree.coordinates.iter().filter(|c| c.u.is_some() && is_below(body, c.body)).collect();
    let limbs = n_limbs(moving);
    let own: Vec<&Coordinate> = all.iter().copied().filter(|c| n_limbs(c.body) == limbs).collect();
    if own.is_empty() { all } else { own }
}
