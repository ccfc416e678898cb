//! Random states around home.

use candle_core::{Result, Tensor};
use fingertip::contact::UNUSED;
use fingertip::description::JointKind;
use fingertip::kinematics::{Coordinate, Manifold};
use fingertip::step::Quasidynamic;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Joints move from home by up to this part of their range, or this much where they have none, rad.
const PART_OF_RANGE: f64 = 0.1;
const WITHOUT_RANGE: f64 = 0.2;
/// Objects move by up to this, m, and turn by up to this, rad.
const SHIFT: f64 = 0.01;
const TURN: f64 = 0.2;
/// Commands are up to this away from the joints, rad or m.
const COMMAND: f64 = 0.05;
/// In every third state an object is moved into another body, by up to this, m.
const PENETRATION: f64 = 5e-3;
const EVERY: usize = 3;

/// A state (1, nq) and a command (1, nu).
pub struct State {
    pub q: Tensor,
    pub u: Tensor,
}

/// `n` states; the same for the same seed.
pub fn states(step: &Quasidynamic, n: usize, seed: u64) -> Result<Vec<State>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|i| state(step, &mut random, i % EVERY == EVERY - 1)).collect()
}

fn state(step: &Quasidynamic, random: &mut ChaCha8Rng, penetrating: bool) -> Result<State> {
    let model = step.model();
    let manifold = Manifold::new(&model.tree, &model.device)?;
    let mut delta = vec![0.0; model.nv()];
    for coordinate in &model.tree.coordinates {
        let parts = &mut delta[coordinate.v..coordinate.v + coordinate.kind.nv()];
        if coordinate.kind.is_single() {
            parts[0] = joint(random, coordinate);
        } else {
            let shifts = translations(coordinate.kind);
            for (k, part) in parts.iter_mut().enumerate() {
                let size = if k < shifts { SHIFT } else { TURN };
                *part = random.random_range(-size..size);
            }
        }
    }
    let home = model.home(1)?;
    let mut q = manifold.integrate(&home, &model.tensor(&[&delta])?)?;
    if penetrating {
        q = manifold.integrate(&q, &model.tensor(&[&into_contact(step, random, &q)?])?)?;
    }
    let values = q.flatten_all()?.to_vec1::<f64>()?;
    let commanded = model.tree.coordinates.iter().filter(|c| c.u.is_some());
    let u: Vec<f64> = commanded.map(|c| values[c.q] + random.random_range(-COMMAND..COMMAND)).collect();
    Ok(State { q, u: model.tensor(&[&u])? })
}

/// The number of translations of a joint with several degrees of freedom; rotations follow them.
fn translations(kind: JointKind) -> usize {
    match kind {
        JointKind::Planar => 2,
        JointKind::Floating | JointKind::Translation => 3,
        _ => 0,
    }
}

/// A change of a joint that keeps it within its limits.
fn joint(random: &mut ChaCha8Rng, coordinate: &Coordinate) -> f64 {
    let Some(limits) = coordinate.limits else { return random.random_range(-WITHOUT_RANGE..WITHOUT_RANGE) };
    let size = PART_OF_RANGE * (limits.upper - limits.lower);
    let change = if size > 0.0 { random.random_range(-size..size) } else { 0.0 };
    (coordinate.home[0] + change).clamp(limits.lower, limits.upper) - coordinate.home[0]
}

/// The tangent that moves the object of a random contact along the normal, so that it penetrates.
fn into_contact(step: &Quasidynamic, random: &mut ChaCha8Rng, q: &Tensor) -> Result<Vec<f64>> {
    let model = step.model();
    let tree = &model.tree;
    let mut delta = vec![0.0; model.nv()];
    // The coordinate that carries a contact's side B as a whole, if B is an object in the world.
    let object = |contact: usize| -> Option<&Coordinate> {
        let pair = &model.pairs.pairs[model.pairs.pair_of_contact[contact]];
        tree.coordinates.iter().find(|c| c.body == model.shapes[pair.b].body && translations(c.kind) > 0)
    };
    let contacts = step.step(q, &model.tensor(&[&vec![0.0; model.nu()]])?)?.contacts;
    let phi = contacts.phi.flatten_all()?.to_vec1::<f64>()?;
    let is_movable = |&contact: &usize| phi[contact] < UNUSED && object(contact).is_some();
    let movable: Vec<usize> = (0..model.nc()).filter(is_movable).collect();
    if movable.is_empty() {
        return Ok(delta);
    }
    let contact = movable[random.random_range(0..movable.len())];
    let phi = phi[contact];
    let normal = contacts.normal.squeeze(0)?.to_vec2::<f64>()?.swap_remove(contact);
    let depth = random.random_range(0.0..PENETRATION);
    if let Some(coordinate) = object(contact) {
        (0..translations(coordinate.kind)).for_each(|k| delta[coordinate.v + k] = -(phi + depth) * normal[k]);
    }
    Ok(delta)
}
