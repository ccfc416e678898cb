//! x
use candle_core::{DType, Device, Tensor, Var};
use fingertip::contact::pair::{PairFunction, Shapes};
use fingertip::description::Shape;
#[test]
fn timing() {
    for b in [1usize, 3, 1024] {
        let n = 6;
        let pose = |x: f64| -> Tensor {
            let p: Vec<f64> = (0..b * n)
                .flat_map(|i| vec![x + i as f64 * 1e-3, 0.1, 0.2, 1., 0., 0., 0., 1., 0., 0., 0., 1.])
                .collect();
            Tensor::from_vec(p, (b, n, 12), &Device::Cpu).unwrap()
        };
        let size = Tensor::full(0.1, (1, n, 4), &Device::Cpu).unwrap();
        for other in [Shape::Sphere { radius: 1.0 }, Shape::HalfSpace] {
            let f = PairFunction::find(&Shape::Sphere { radius: 1.0 }, &other).unwrap();
            let va = Var::from_tensor(&pose(0.0)).unwrap();
            let a = Shapes { pose: va.as_tensor().clone(), size: size.clone() };
            let bb = Shapes { pose: pose(0.5), size: size.clone() };
            let reps = 20000 / b.max(20);
            let t = std::time::Instant::now();
            for _ in 0..reps {
                f.witness(&a, &bb).unwrap();
            }
            let fw = t.elapsed().as_secs_f64() / reps as f64 * 1e6;
            let t = std::time::Instant::now();
            for _ in 0..reps {
                let w = f.witness(&a, &bb).unwrap();
                let s = (w.phi.sum_all().unwrap() + w.point_a.sum_all().unwrap()).unwrap();
                let s = (s + w.point_b.sum_all().unwrap()).unwrap();
                let s = (s + w.normal.sum_all().unwrap()).unwrap();
                s.backward().unwrap();
            }
            println!(
                "B {b} {:?}: fwd {fw:.2} us, fwd+bwd {:.2} us",
                other,
                t.elapsed().as_secs_f64() / reps as f64 * 1e6
            );
        }
    }
    let _ = DType::F32;
}
