//! The step, its derivatives and rollouts of the hand and ball (6 pairs, κ = 100), in both forms; and the calls on
//! plain numbers of one world that planners make, at κ = 10⁴.
//!
//! `cargo bench --bench step` prints the time of a call; the throughput beside it is in worlds, or in steps of a world
//! for rollouts. `BENCHMARKS.md` has figures.

use candle_core::{DType, Device, Result, Tensor, Var};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Steps of a rollout.
const STEPS: usize = 50;

/// Worlds around the hand and ball with all five fingertips near the ball, each a little different.
fn worlds(b: usize, kappa: f64) -> Result<(Quasidynamic, Tensor, Tensor)> {
    let mut scene = Scene::load("assets/scenes/hand_ball.toml")?;
    scene.params.kappa = kappa;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let noise = |n: usize| {
        let values: Vec<f64> = (0..b * n).map(|i| 0.02 * ((i as f64 * 12.9898).sin() * 43758.5453).fract()).collect();
        Tensor::from_vec(values, (b, n), &Device::Cpu)
    };
    let home = model.home(b)?;
    let q = (home + noise(model.nq())?)?;
    let u = (q.narrow(1, 3, model.nu())? + (noise(model.nu())? * 2.0)?)?;
    Ok((Quasidynamic::new(&model, &model.parameters)?, q, u))
}

fn bench(c: &mut Criterion) {
    for b in [1_usize, 64, 256, 1024] {
        let (fused, q, u) = worlds(b, 100.0).expect("the scene is in assets");
        let reports = fused.step(&q, &u).expect("shapes fit").reports;
        assert!(reports.iter().all(|report| report.status == Status::Solved), "timed are steps that are solved");
        let (vq, vu) = (Var::from_tensor(&q).expect("copy"), Var::from_tensor(&u).expect("copy"));
        let controls = u.unsqueeze(1).and_then(|u| u.repeat((1, STEPS, 1))).expect("copy");
        let controls = Var::from_tensor(&controls).expect("copy");
        for (form, step) in [("fused", fused.clone()), ("tensor_program", fused.as_tensor_program())] {
            let mut group = c.benchmark_group(form);
            group.sample_size(20).throughput(Throughput::Elements(b as u64));
            let mut run = |name: &str, call: &dyn Fn() -> Result<()>| {
                group.bench_function(BenchmarkId::new(name, b), |bencher| {
                    bencher.iter(|| call().expect("shapes fit"));
                });
            };
            let sum = |t: &Tensor| t.sum_all();
            run("forward", &|| step.forward(&q, &u).map(drop));
            run("forward_backward", &|| sum(&step.forward(&vq, &vu)?)?.backward().map(drop));
            // The tensor program's Jacobians are one reverse pass over as many copies of a world as there are results.
            if form == "fused" || b <= 64 {
                run("linearize", &|| step.linearize(&q, &u).map(drop));
            }
            if form == "tensor_program" && b > 64 {
                continue;
            }
            group.throughput(Throughput::Elements((b * STEPS) as u64));
            let mut run = |name: &str, call: &dyn Fn() -> Result<()>| {
                group.bench_function(BenchmarkId::new(name, b), |bencher| {
                    bencher.iter(|| call().expect("shapes fit"));
                });
            };
            run("rollout", &|| rollout(&step, &q, &controls.detach()).map(drop));
            run("rollout_backward", &|| sum(&rollout(&step, &q, &controls)?.q)?.backward().map(drop));
        }
    }
}

fn plain(c: &mut Criterion) {
    let (step, q, u) = worlds(1, 1e4).expect("the scene is in assets");
    let [q, u] = [q, u].map(|t| t.flatten_all().and_then(|t| t.to_vec1::<f64>()).expect("copy"));
    let held = step.hold(&q, &u, None, 1).expect("shapes fit");
    assert_eq!(held.reports[0].status, Status::Solved, "timed is a step that is solved");
    let mut group = c.benchmark_group("plain");
    let mut run = |name: &str, call: &dyn Fn() -> Result<()>| {
        group.bench_function(name, |bencher| bencher.iter(|| call().expect("shapes fit")));
    };
    run("step, cold", &|| step.hold(&q, &u, None, 1).map(drop));
    run("jacobians from its forces: A, B", &|| step.jacobians(&q, &u, Some(&held.warm), false).map(drop));
    run("jacobians from its forces: A, B, C, D", &|| step.jacobians(&q, &u, Some(&held.warm), true).map(drop));
}

criterion_group!(benches, bench, plain);
criterion_main!(benches);
