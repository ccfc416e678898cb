//! The step, linearisation and gradients on the hand and ball: µs per call, and per world in batches.

use candle_core::{DType, Device, Result, Tensor, Var};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::step::Quasidynamic;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Worlds around the hand and ball with all five fingertips near the ball, each a little different.
fn worlds(b: usize) -> Result<(Quasidynamic, Tensor, Tensor)> {
    let scene = Scene::load("assets/scenes/hand_ball.toml")?;
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
        let (step, q, u) = worlds(b).expect("the scene is in assets");
        let mut group = c.benchmark_group("hand_ball");
        group.throughput(Throughput::Elements(b as u64));
        group.sample_size(20);
        group.bench_function(BenchmarkId::new("forward", b), |bencher| {
            bencher.iter(|| step.forward(&q, &u).expect("shapes fit"));
        });
        let (vq, vu) = (Var::from_tensor(&q).expect("copy"), Var::from_tensor(&u).expect("copy"));
        group.bench_function(BenchmarkId::new("forward_backward", b), |bencher| {
            bencher.iter(|| {
                let q_next = step.forward(&vq, &vu).expect("shapes fit");
                q_next.sum_all().and_then(|sum| sum.backward()).expect("gradients")
            });
        });
        group.bench_function(BenchmarkId::new("linearize", b), |bencher| {
            bencher.iter(|| step.linearize(&q, &u).expect("shapes fit"));
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
