//! One world stepped in place: the bits of a step from the same place, while pairs come near and go, and of its
//! contacts those that are near.

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::contact::UNUSED;
use fingertip::description::{Friction, Scene};
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

use support::numbers;
use support::states::{self, Random};

const STEPS: usize = 150;
/// The step with a bad parameter.
const BAD: usize = 120;

fn bits(of: &[f64]) -> Vec<u64> {
    of.iter().map(|x| x.to_bits()).collect()
}

/// Commands that wander through the middle of what each joint can do.
fn commands(model: &Model, random: &mut Random) -> Vec<Vec<f64>> {
    let joints: Vec<_> = model.tree.coordinates.iter().filter(|c| c.u.is_some()).collect();
    let home = model.tree.home();
    let mut u: Vec<f64> = joints.iter().map(|c| home[c.q]).collect();
    let mut aim = u.clone();
    (0..STEPS)
        .map(|t| {
            for (k, joint) in joints.iter().enumerate() {
                if t % 25 == 0 {
                    let (low, high) = joint.limits.map_or((-1.0, 1.0), |l| (l.lower.max(-1.5), l.upper.min(1.5)));
                    aim[k] = random.between(low, high);
                }
                u[k] += (aim[k] - u[k]).clamp(-0.08, 0.08);
            }
            u.clone()
        })
        .collect()
}

#[test]
fn has_the_bits_of_steps_and_tells_what_is_near() {
    let (mut near, mut far, mut came, mut went) = (0, 0, 0, 0);
    for (name, friction) in
        [("leap_cube", Friction::Relaxed), ("leap_cube", Friction::Coulomb), ("allegro_plate", Friction::Relaxed)]
    {
        let mut scene = Scene::load(format!("assets/scenes/{name}.toml")).unwrap();
        scene.params.friction = friction;
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        let step = Quasidynamic::new(&model, &model.parameters).unwrap();
        let reach: Vec<f64> = model.pairs.windows().map(|window| window.reach.min(UNUSED)).collect();
        let controls = commands(&model, &mut Random::new(5));
        let mut walk = step.walk().unwrap();
        let (mut q, mut warm, mut before) = (model.home(1).unwrap(), None, Vec::new());
        let mut states = numbers(&q);
        // Slipperier under way, and once with a coefficient that is none, of one pair.
        let slippery = |factor: f64, last: f64| {
            let mut mu: Vec<f64> = numbers(&model.parameters.mu).iter().map(|mu| factor * mu).collect();
            if let Some(mu) = mu.last_mut() {
                *mu *= last;
            }
            let mut parameters = model.parameters.clone();
            parameters.mu = Tensor::from_vec(mu, model.parameters.mu.dims(), &Device::Cpu).unwrap();
            step.with_parameters(&parameters).unwrap()
        };
        for (t, u) in controls.iter().enumerate() {
            if t == STEPS / 2 {
                walk.forget();
                warm = None;
            }
            let step = match t {
                BAD => slippery(1.0, f64::NAN),
                _ if t > BAD => slippery(0.5, 1.0),
                _ => step.clone(),
            };
            let dense = step.step_from(&q, &model.tensor(&[u]).unwrap(), warm.as_ref()).unwrap();
            let sparse = walk.step(&step, &numbers(&q), u).unwrap();
            let place = format!("{name}, {friction:?}, step {t}");
            assert_eq!(bits(&sparse.q_next), bits(&numbers(&dense.q_next)), "{place}");
            assert_eq!(sparse.report, dense.reports[0], "{place}");
            assert_eq!(sparse.report.status == Status::BadInput, t == BAD, "{place}");
            let c = &dense.contacts;
            let [phi, force, normal, a, b] = [&c.phi, &dense.force, &c.normal, &c.point_a, &c.point_b].map(numbers);
            let share = c.weight.as_ref().map(numbers);
            let expected: Vec<usize> = (0..phi.len()).filter(|&i| phi[i] < reach[i]).collect();
            assert_eq!(sparse.contacts.iter().map(|one| one.contact).collect::<Vec<_>>(), expected, "{place}");
            for one in &sparse.contacts {
                let i = one.contact;
                let three = |of: &[f64]| bits(&of[3 * i..3 * i + 3]);
                assert_eq!(bits(&[one.phi, one.share]), bits(&[phi[i], share.as_ref().map_or(1.0, |of| of[i])]));
                for (found, of) in [(one.force, &force), (one.normal, &normal), (one.point_a, &a), (one.point_b, &b)] {
                    assert_eq!(bits(&found), three(of), "{place}: contact {i}");
                }
            }
            assert!(force.chunks(3).enumerate().all(|(i, f)| phi[i] < reach[i] || f.iter().all(|x| *x == 0.0)));
            let least = phi.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(sparse.gap.map(f64::to_bits), Some(least.to_bits()), "{place}");
            came += expected.iter().filter(|i| !before.contains(*i)).count();
            went += before.iter().filter(|i| !expected.contains(*i)).count();
            (near, far) = (near + expected.len(), far + phi.len() - expected.len());
            before = expected;
            (q, warm) = (dense.q_next, Some(dense.warm));
            states.extend(numbers(&q));
        }
        // A rollout passes over what is far, too. It starts cold once.
        let u: Vec<f64> = controls[..STEPS / 2].concat();
        let u = Tensor::from_vec(u, (1, STEPS / 2, model.nu()), &Device::Cpu).unwrap();
        let swept = rollout(&step, &model.home(1).unwrap(), &u).unwrap();
        let n = model.nq() * (STEPS / 2 + 1);
        assert_eq!(bits(&numbers(&swept.q)), bits(&states[..n]), "{name}: rollout");
    }
    assert!(near > 1000 && far > 10 * near && came > 100 && went > 100, "{near} near, {far} far, {came}, {went}");
}

#[test]
fn belongs_to_its_step() {
    let step = |name: &str| {
        let model = states::model(name);
        Quasidynamic::new(&model, &model.parameters).unwrap()
    };
    let (push, pull) = (step("push"), step("pull"));
    let mut walk = push.walk().unwrap();
    let home = push.model().tree.home();
    assert!(walk.is_of(&push.with_parameters(&push.model().parameters).unwrap()) && !walk.is_of(&pull));
    let error = walk.step(&pull, &home, &[]).unwrap_err().to_string();
    assert!(error.contains("expected the step that made this world"), "{error}");
    let several = push.model().parameters.map(|_, of| of.broadcast_as((3, of.dim(1)?))?.contiguous()).unwrap();
    let error = walk.step(&push.with_parameters(&several).unwrap(), &home, &[0.0; 2]).unwrap_err().to_string();
    assert!(error.contains("expected parameters of one world, got those of 3"), "{error}");
    let error = walk.step(&push, &home, &[0.0; 40]).unwrap_err().to_string();
    assert!(error.contains("walk: expected q (") && error.contains("and 40 numbers"), "{error}");
}
