//! Rigid-body algorithms, time of a batch of 256 states, and µs per state after each.
//!
//! `RAYON_NUM_THREADS=1 cargo bench --bench dynamics` gives the figures of one core.

use std::hint::black_box;
use std::time::Instant;

use candle_core::{DType, Device, Result, Tensor, Var};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fingertip::description::{Robot, Scene};
use fingertip::dynamics::Dynamics;
use fingertip::kinematics::{Manifold, Tree};
use support::models;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WORLDS: usize = 256;

fn teaching_hand() -> Tree {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../tests/golden/dynamics.json")).unwrap();
    models::Case::new(golden["models"]["hand"]["joints"].as_array().unwrap()).tree
}

fn hand21() -> Tree {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/robots/hand21.urdf");
    Tree::new(&Scene::new().robot(Robot::from_urdf("hand", path).unwrap())).unwrap()
}

type Work = Box<dyn Fn() -> Result<Tensor>>;

fn works(tree: &Tree) -> Vec<(&'static str, Work)> {
    let device = Device::Cpu;
    let d = Dynamics::new(tree, [0.0, 0.0, -9.81], DType::F64, &device).unwrap();
    let q = Manifold::new(tree, &device).unwrap().random(WORLDS, 1, DType::F64, &device).unwrap();
    let v = Tensor::rand(-1.0, 1.0, (WORLDS, tree.nv), &device).unwrap();
    let x = Tensor::rand(-1.0, 1.0, (WORLDS, tree.nv), &device).unwrap();
    let tracked = Var::from_tensor(&q).unwrap();
    let with = |f: fn(&Dynamics, &Tensor, &Tensor, &Tensor) -> Result<Tensor>| -> Work {
        let (d, q, v, x) = (d.clone(), q.clone(), v.clone(), x.clone());
        Box::new(move || f(&d, &q, &v, &x))
    };
    let gradient = {
        let (d, v, x) = (d.clone(), v.clone(), x.clone());
        Box::new(move || {
            let a = d.forward_dynamics(tracked.as_tensor(), &v, &x)?.sum_all()?;
            a.backward()?.get(&tracked).cloned().ok_or_else(|| candle_core::Error::Msg("no gradient".into()))
        })
    };
    vec![
        ("rnea", with(|d, q, v, x| d.inverse_dynamics(q, v, x))),
        ("crba", with(|d, q, _, _| d.mass_matrix(q))),
        ("aba", with(|d, q, v, x| d.forward_dynamics(q, v, x))),
        ("inverse mass matrix", with(|d, q, _, _| d.inverse_mass_matrix(q))),
        ("rnea derivatives", with(|d, q, v, x| Ok(d.inverse_dynamics_derivatives(q, v, x)?.by_q))),
        ("aba derivatives", with(|d, q, v, x| Ok(d.forward_dynamics_derivatives(q, v, x)?.by_q))),
        ("aba with gradient", gradient),
    ]
}

fn bench(c: &mut Criterion) {
    for (name, tree) in [("hand, 14 joints", teaching_hand()), ("hand, 21 joints", hand21())] {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(WORLDS as u64)).sample_size(30);
        for (work, f) in works(&tree) {
            group.bench_function(work, |b| b.iter(|| black_box(f().unwrap())));
            let mut best = f64::INFINITY;
            for _ in 0..50 {
                let start = Instant::now();
                black_box(f().unwrap());
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!("{name}: {work}: best of 50: {:.3} µs per state", best * 1e6 / WORLDS as f64);
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
