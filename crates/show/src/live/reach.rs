//! Dragging a link by its joints: inverse kinematics, a step of it for each step of the world.

use fingertip_shapes::Result;
use nalgebra::Vector3;

use super::command::Pull;
use fingertip_step::kinematics::ik::{InverseKinematics, Target};
use fingertip_step::kinematics::{Coordinate, FrameSpec, Points, Tree};

/// The search for each step. With its damping, m², a joint with a lever of a centimetre gives way half as much as it
/// would have to.
const SEARCH: InverseKinematics = InverseKinematics { tolerance: 1e-6, damping: 1e-4, max_iterations: 1 };
/// The point is asked to come this much nearer in a step at most, m.
const LONGEST: f64 = 0.03;

/// Can joints of the body's own be commanded?
pub fn is_possible(tree: &Tree, body: usize) -> bool {
    !own_joints(tree, body).is_empty()
}

/// The command u (nu) at q, changed so that the pulled point, with all joints where they are commanded, comes nearer to
/// where it is pulled, by the body's own joints.
///
/// # Errors
/// As [`InverseKinematics::solve`].
pub fn command(tree: &Tree, q: &[f64], u: &[f64], pull: &Pull) -> Result<Vec<f64>> {
    let mut commanded = q.to_vec();
    for c in &tree.coordinates {
        if let Some(place) = c.u {
            commanded[c.q] = u[place];
        }
    }
    let frame = FrameSpec { xyz: pull.at, ..FrameSpec::of_body(pull.body) };
    let points = Points::new(tree, &[frame]).positions(&commanded);
    let point = points.map_err(|error| fingertip_shapes::Error::invalid("q", error.to_string()))?[0];
    let (point, goal) = (Vector3::from(point), Vector3::from(pull.to));
    let error = goal - point;
    let goal = point + error * (LONGEST / error.norm()).min(1.0);
    let own: Vec<usize> = own_joints(tree, pull.body).iter().map(|joint| joint.v).collect();
    let target = Target::new(&tree.bodies[pull.body].name, pull.at, goal.into());
    let reached = SEARCH.solve_by(tree, &commanded, &[target], |joint| own.contains(&joint.v))?;
    let mut next = u.to_vec();
    for c in tree.coordinates.iter().filter(|c| own.contains(&c.v)) {
        if let Some(place) = c.u {
            next[place] = reached.q[c.q];
        }
    }
    Ok(next)
}

/// The commanded joints that move the body and no other limb: a finger's, without those of the wrist. Where it has
/// none, or is no limb's, all that move it.
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
