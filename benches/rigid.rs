//! Second-order steps with contact: three cubes on the ground, twelve corners down, by each solver.

use candle_core::{DType, Device, Tensor};
use criterion::{Criterion, criterion_group, criterion_main};
use fingertip::Model;
use fingertip::description::{Collision, Object, PairRule, Scene, Shape};
use fingertip::solve::Method;
use fingertip::step::{Bound, Contact, Dynamic, DynamicParams};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIDE: f64 = 0.2;
const CUBES: usize = 3;

/// Cubes with spheres in their lower corners.
fn scene() -> Scene {
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
    scene
}

fn bench(c: &mut Criterion) {
    let model = Model::new(&scene(), DType::F64, &Device::Cpu).expect("valid scene");
    let mut q = Vec::new();
    for k in 0..CUBES {
        q.extend([0.3 * k as f64, 0.0, SIDE / 2.0, 1.0, 0.0, 0.0, 0.0]);
    }
    let q = Tensor::from_vec(q, (1, 7 * CUBES), &Device::Cpu).expect("sizes fit");
    let v = Tensor::zeros((1, 6 * CUBES), DType::F64, &Device::Cpu).expect("room");
    let mut group = c.benchmark_group("three cubes, twelve contacts");
    let rigid = [Method::PrimalQp, Method::DualQp, Method::Lemke, Method::GaussSeidel { sweeps: 1000 }];
    for contact in rigid.into_iter().map(Contact::Rigid).chain([Contact::Barrier]) {
        let params = DynamicParams { contact, bound: Bound::Gap { beta: 0.2 }, ..DynamicParams::default() };
        let step = Dynamic::new(&model, &model.parameters, params).expect("valid choices");
        let next = step.step(&q, &v, &v).expect("shapes fit");
        println!("{contact:?}: {} contacts, {:?}", model.nc(), next.reports[0]);
        group.bench_function(format!("{contact:?}"), |b| b.iter(|| step.step(&q, &v, &v).expect("shapes fit")));
        if let Contact::Rigid(method) = contact {
            let problem =
                step.rigid_contact(&q, &v, &v).expect("shapes fit").remove(0).expect("M is positive definite");
            group.bench_function(format!("{contact:?}, the solve alone"), |b| b.iter(|| problem.problem.solve(method)));
        }
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
