//! The energy that steps minimise, as far as it does not depend on where a step began.

use candle_core::Result;
use nalgebra::{Quaternion, UnitQuaternion, Vector3};

use super::observe::vectors;
use fingertip_scene::Friction;
use fingertip_step::contact::UNUSED;
use fingertip_step::model::Model;
use fingertip_step::parameters::Parameters;
use fingertip_step::tensor::numbers;

/// The energy of gravity, of the springs under the command, and of the contacts' barrier at their gaps, J. None where
/// bodies overlap, or where something else has a barrier: joint limits, torsion, or contacts that fade out at a given
/// distance. `contacts` are those within reach, by their indices, with their gaps and their parts of their pairs'
/// barriers. A contact that reaches so far only has no energy there, so that none comes or goes with a jump.
pub(super) fn energy(
    model: &Model,
    parameters: &Parameters,
    poses: &[[f64; 7]],
    q: &[f64],
    u: &[f64],
    contacts: impl Iterator<Item = (usize, f64, f64)>,
) -> Result<Option<f64>> {
    let params = &model.params;
    let is_bounded = params.joint_limits || params.effort_limits;
    if params.contact_distance.is_some() || is_bounded || !model.pairs.torsional.is_empty() {
        return Ok(None);
    }
    let first = |t: &candle_core::Tensor| numbers(&t.narrow(0, 0, 1)?);
    let gravity = Vector3::from(vectors(&parameters.gravity)?[0]);
    let (mass, stiffness, kappa) =
        (first(&parameters.mass)?, first(&parameters.stiffness)?, first(&parameters.kappa)?[0]);
    let weighs = model.inertial.iter().zip(&mass).map(|(&body, mass)| {
        let [x, y, z, w, i, j, k] = poses[body];
        let com = model.tree.bodies[body].inertia.as_ref().map_or(Vector3::zeros(), |inertia| inertia.com);
        let turned = UnitQuaternion::from_quaternion(Quaternion::new(w, i, j, k)) * com;
        -mass * gravity.dot(&(Vector3::new(x, y, z) + turned))
    });
    let commanded = model.tree.coordinates.iter().filter_map(|c| c.u.map(|place| (c, place)));
    let commands = commanded.map(|(c, place)| {
        let others = c.others.iter().map(|&(other, ratio)| ratio * q[model.tree.coordinates[other].q]);
        0.5 * stiffness[place] * (q[c.q] + others.sum::<f64>() - u[place]).powi(2)
    });
    let (spring, rest) = (first(&parameters.spring)?, first(&parameters.spring_rest)?);
    let own = model.tree.sprung().enumerate().map(|(k, c)| 0.5 * spring[k] * (q[c.q] - rest[k]).powi(2));
    let connection = first(&parameters.connection)?;
    let connected = model.tree.connections.iter().enumerate().map(|(k, of)| {
        let [a, b] = [0, 1].map(|side| {
            let [x, y, z, w, i, j, l] = poses[of.bodies[side]];
            let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, i, j, l));
            Vector3::new(x, y, z) + turn * Vector3::from(of.points[side])
        });
        0.5 * connection[k] * (b - a).norm_squared()
    });
    let springs = commands.chain(own).chain(connected);
    let factor = match params.friction {
        Friction::Relaxed => 2.0,
        Friction::Coulomb => 1.0,
    };
    let barrier = contacts.filter(|&(_, phi, weight)| phi < UNUSED && weight != 0.0).map(|(contact, phi, weight)| {
        let reach = model.pairs.pairs[model.pairs.pair_of_contact[contact]].window.reach;
        let unit = if reach < f64::INFINITY { reach } else { 1.0 };
        -weight * factor / kappa * (phi / unit).ln()
    });
    let sum = weighs.sum::<f64>() + springs.sum::<f64>() + barrier.sum::<f64>();
    Ok(sum.is_finite().then_some(sum))
}
