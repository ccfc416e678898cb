//! Second-order steps with contact by each solver: three cubes on the ground, twelve corners down, and a hand of
//! fourteen joints that closes on a pill.

use std::time::Duration;

use candle_core::{DType, Device, Result, Tensor, bail};
use criterion::{Criterion, criterion_group, criterion_main};
use fingertip::Model;
use fingertip::description::{Collision, Object, PairRule, Scene, Shape};
use fingertip::solve::{Method, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a step starts from.
struct State {
    name: &'static str,
    model: Model,
    q: Tensor,
    v: Tensor,
    tau: Tensor,
}

const SIDE: f64 = 0.2;
const CUBES: usize = 3;

/// Cubes with spheres in their lower corners.
fn cubes() -> Result<State> {
    let at = SIDE / 2.0 - SIDE / 50.0;
    let mut scene = Scene::new().object(Object::ground("floor", 0.0));
    scene.params.h = 1e-3;
    for k in 0..CUBES {
        let corners = [(at, at), (at, -at), (-at, at), (-at, -at)];
        let corners = corners.map(|(x, y)| Collision::at(Shape::sphere(SIDE / 50.0), [x, y, -at]));
        scene = scene.object(Object::compound(format!("cube{k}"), corners.to_vec(), 1.0));
        for other in 0..k {
            scene = scene.pair(PairRule::exclude(format!("cube{k}"), format!("cube{other}")));
        }
    }
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let q: Vec<f64> = (0..CUBES).flat_map(|k| [0.3 * k as f64, 0.0, SIDE / 2.0, 1.0, 0.0, 0.0, 0.0]).collect();
    let (q, v) = (model.tensor(&[&q])?, model.tensor(&[&[0.0; 6 * CUBES]])?);
    Ok(State { name: "three cubes, twelve contacts", model, q, tau: v.clone(), v })
}

/// Torque that closes the fingers, N·m, and contacts up to this distance, m, that a step should have.
const CLOSING: f64 = 0.05;
const NEAR: f64 = 5e-3;
const WANTED: usize = 7;

/// The teaching hand, closing on the pill until seven contacts are near.
fn hand() -> Result<State> {
    let scene = Scene::load("assets/scenes/teaching_hand_item.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
    let mut tau = vec![0.0; model.nv()];
    model.tree.coordinates.iter().filter(|c| c.kind.nv() == 1).for_each(|c| tau[c.v] = CLOSING);
    let tau = model.tensor(&[&tau])?;
    let (mut q, mut v) = (model.home(1)?, tau.zeros_like()?);
    for _ in 0..1000 {
        let next = step.step(&q, &v, &tau)?;
        let near = next.contacts.phi.flatten_all()?.to_vec1::<f64>()?.iter().filter(|&&phi| phi < NEAR).count();
        if near >= WANTED {
            return Ok(State { name: "hand and pill, seven near contacts", model, q, v, tau });
        }
        (q, v) = (next.q_next, next.v_next);
    }
    bail!("the hand should come to {WANTED} contacts nearer than {NEAR} m");
}

fn bench(c: &mut Criterion) {
    for State { name, model, q, v, tau } in [cubes(), hand()].map(|state| state.expect("valid scene")) {
        let mut group = c.benchmark_group(name);
        group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
        let rigid = [Method::PrimalQp, Method::DualQp, Method::Lemke, Method::GaussSeidel { sweeps: 1000 }];
        for contact in rigid.into_iter().map(ContactModel::Rigid).chain([ContactModel::Barrier]) {
            let params = DynamicParams { contact, ..DynamicParams::default() };
            let step = Dynamic::new(&model, &model.parameters, params).expect("valid choices");
            let next = step.step(&q, &v, &tau).expect("shapes fit");
            println!("{contact:?}: {} contacts, {:?}", model.nc(), next.reports[0]);
            assert_eq!(next.reports[0].status, Status::Solved, "timed are steps that are solved");
            group.bench_function(format!("{contact:?}"), |b| b.iter(|| step.step(&q, &v, &tau).expect("shapes fit")));
            if let Some(warm) = next.warm {
                let warm = || step.step_from(&q, &v, &tau, Some(&warm)).expect("shapes fit");
                group.bench_function(format!("{contact:?}, warm"), |b| b.iter(warm));
            }
            if let ContactModel::Rigid(method) = contact {
                let problem =
                    step.rigid_contact(&q, &v, &tau).expect("shapes fit").remove(0).expect("M is positive definite");
                group.bench_function(format!("{contact:?}, the solve alone"), |b| {
                    b.iter(|| problem.problem.solve(method))
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
