//! Second-order scenes in contact: pills that overlap, pills in a box, cubes by faces and by corners, a hand with a
//! pill.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::scenes::{CubeContact, Cubes, Pills};
use fingertip::solve::Method;
use fingertip::step::{ContactModel, Dynamic, DynamicParams};

use support::jointed;
use support::states::tensor;

/// A model and states of a simulation in which something pushes.
pub struct Situation {
    pub name: &'static str,
    pub model: Model,
    /// Generalised forces (1, nv) throughout.
    pub tau: Tensor,
    /// (q, v).
    pub states: Vec<(Tensor, Tensor)>,
}

/// Torque that closes the fingers, N·m.
const CLOSING: f64 = 0.05;

/// All scenes without friction, each with `count` states: rigid, frictionless steps from home at rest, every
/// `stride`-th from the first contact on.
pub fn situations(count: usize) -> Result<Vec<Situation>> {
    let file = |name: &str| Scene::load(format!("assets/scenes/{name}.toml"));
    let pills = Pills { ellipsoids: 2, capsules: 2, room: 0.8, seed: 3 };
    let mut elements = jointed::with_elements();
    elements.robots[0].articulation.joints.iter_mut().for_each(|joint| joint.friction = 0.0);
    let all = [
        ("three bodies", file("three_bodies")?, 0.01, 1),
        ("pills", pills.scene(), 5e-3, 12),
        ("cubes by faces", Cubes::default().scene(), 5e-3, 15),
        ("cubes by corners", Cubes { contact: CubeContact::Corners, ..Cubes::default() }.scene(), 5e-3, 15),
        ("teaching hand", file("teaching_hand_item")?, 1e-3, 15),
        ("elements", elements, 1e-3, 5),
    ];
    all.into_iter().map(|(name, scene, h, stride)| situation(name, scene, h, stride, count)).collect()
}

fn situation(name: &'static str, mut scene: Scene, h: f64, stride: usize, count: usize) -> Result<Situation> {
    (scene.params.h, scene.params.mu) = (h, 0.0);
    // What is expected of the barrier is expected of contacts at any distance.
    scene.params.contact_distance = Some(f64::INFINITY);
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let contact = ContactModel::Rigid(Method::Lemke);
    let step = Dynamic::new(&model, &model.parameters, DynamicParams { contact, ..DynamicParams::default() })?;
    let mut tau = vec![0.0; model.nv()];
    model.tree.coordinates.iter().filter(|c| c.kind.nv() == 1).for_each(|c| tau[c.v] = CLOSING);
    let tau = tensor(&model, &[tau]);
    let (mut q, mut v) = (model.home(1)?, tau.zeros_like()?);
    let (mut states, mut touched) = (Vec::new(), 0);
    for _ in 0..1000 {
        let next = step.step(&q, &v, &tau)?;
        let pushes = next.force.abs()?.max_all()?.to_scalar::<f64>()? > 0.0;
        touched += usize::from(pushes || touched > 0);
        if pushes && touched >= stride * (states.len() + 1) {
            states.push((q, v));
        }
        if states.len() == count {
            break;
        }
        (q, v) = (next.q_next, next.v_next);
    }
    assert_eq!(states.len(), count, "{name}: too few states in contact");
    Ok(Situation { name, model, tau, states })
}
