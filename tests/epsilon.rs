//! exploration
mod support;

use candle_core::{DType, Device, Tensor};
use fingertip::Model;
use fingertip::description::{Articulation, Freedom, Object, PairRule, Params, Robot, Scene, Shape};
use fingertip::step::Quasidynamic;
use support::numbers;

fn slider(axes: &[(&str, &str)]) -> Articulation {
    let mut text = String::from("<robot name=\"s\"><link name=\"base\"/>");
    let mut parent = "base".to_owned();
    for (i, (name, axis)) in axes.iter().enumerate() {
        let child = if i + 1 == axes.len() { "tip".to_owned() } else { format!("l{i}") };
        let shape =
            if child == "tip" { "<collision><geometry><sphere radius=\"0.01\"/></geometry></collision>" } else { "" };
        text += &format!(
            "<link name=\"{child}\">{shape}</link><joint name=\"{name}\" type=\"prismatic\"><parent link=\"{parent}\"/><child link=\"{child}\"/><axis xyz=\"{axis}\"/><limit lower=\"-5\" upper=\"5\" effort=\"100\" velocity=\"10\"/></joint>"
        );
        parent = child;
    }
    text += "</robot>";
    Articulation::from_urdf_str(&text, "s").unwrap()
}

struct Run {
    model: Model,
    q: Vec<f64>,
    step: Quasidynamic,
    iters: Vec<usize>,
    bad: usize,
}
impl Run {
    fn new(scene: &Scene) -> Self {
        let model = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
        let step = Quasidynamic::new(&model, &model.parameters).unwrap();
        Self { q: model.tree.home(), model, step, iters: vec![], bad: 0 }
    }
    fn step(&mut self, u: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let u = Tensor::from_vec(u.to_vec(), (1, u.len()), &Device::Cpu).unwrap();
        let s = self.step.step(&self.model.tensor(&[&self.q]).unwrap(), &u).unwrap();
        self.iters.push(s.reports[0].iterations);
        if s.reports[0].status != fingertip::solve::Status::Solved {
            self.bad += 1;
        }
        self.q = numbers(&s.q_next);
        (numbers(&s.force), numbers(&s.delta))
    }
    fn of(&self, force: &[f64], name: &str) -> [f64; 3] {
        let mut t = [0.0; 3];
        for i in 0..self.model.nc() {
            let (a, b) = self.model.contact_names(i);
            if a.starts_with(name) || b.starts_with(name) {
                for k in 0..3 {
                    t[k] += force[3 * i + k];
                }
            }
        }
        t
    }
    fn it(&self) -> String {
        let n = self.iters.len();
        format!(
            "it {:.1}/{} bad {}",
            self.iters.iter().sum::<usize>() as f64 / n as f64,
            self.iters.iter().max().unwrap(),
            self.bad
        )
    }
}

#[test]
fn explore() {
    let h = 0.01;
    for kappa in [1e4, 1e6] {
        for eps in [1.0, 0.3, 0.1, 0.03, 0.01, 0.001] {
            println!("=== κ {kappa:e} ε {eps}");
            let params = Params { h, epsilon: eps, kappa, ..Params::default() };
            for tipmu in [0.0, 0.5] {
                let scene = Scene::new()
                    .with_params(params.clone())
                    .object(Object::rigid("box", Shape::cuboid([0.05; 3]), 0.5).at([0.0, 0.0, 0.0501]))
                    .object(Object::ground("ground", 0.0))
                    .robot(
                        Robot::new("tip", slider(&[("x", "1 0 0")]))
                            .with_base(nalgebra::Isometry3::translation(-0.062, 0.0, 0.05))
                            .with_default_stiffness(2000.0),
                    )
                    .pair(PairRule::friction("tip", "box", tipmu))
                    .pair(PairRule::exclude("tip", "ground"));
                for v in [0.02, 0.08, 0.3] {
                    let mut r = Run::new(&scene);
                    let mut f = vec![];
                    for k in 0..150 {
                        let u = [v * h * k as f64];
                        let (force, _) = r.step(&u);
                        if k >= 100 {
                            f.push(r.of(&force, "tip"));
                        }
                    }
                    let n = f.len() as f64;
                    let m: Vec<f64> = (0..3).map(|i| f.iter().map(|x| x[i]).sum::<f64>() / n).collect();
                    println!(
                        "push μtip {tipmu} v {v}: {:.3} (up {:.3}) z {:.2e}  {}",
                        m[0],
                        m[2],
                        r.q[2] - 0.05,
                        r.it()
                    );
                }
            }
            // drag
            let scene = Scene::new()
                .with_params(params.clone())
                .object(Object::rigid("plate", Shape::cuboid([0.05, 0.05, 0.01]), 0.2).at([0.0, 0.0, 0.0101]))
                .object(Object::ground("ground", 0.0))
                .robot(
                    Robot::new("tip", slider(&[("x", "1 0 0"), ("z", "0 0 1")]))
                        .with_base(nalgebra::Isometry3::translation(0.0, 0.0, 0.031))
                        .with_default_stiffness(1000.0),
                )
                .pair(PairRule::friction("tip", "plate", 1.0))
                .pair(PairRule::friction("ground", "plate", 0.3))
                .pair(PairRule::exclude("tip", "ground"));
            for v in [0.02, 0.08, 0.3] {
                let mut r = Run::new(&scene);
                let mut s = (0.0, 0.0, 0.0);
                for k in 0..150 {
                    let u = [v * h * (k as f64 - 20.0).max(0.0), -0.005 * (k as f64 / 20.0).min(1.0)];
                    let (force, _) = r.step(&u);
                    if k >= 100 {
                        let t = r.of(&force, "tip");
                        let g = r.of(&force, "ground");
                        s.0 += t[0] / 50.0;
                        s.1 += t[2] / 50.0;
                        s.2 += g[2] / 50.0;
                    }
                }
                println!(
                    "drag v {v}: x {:.3}, presses {:.3}, ground {:.3}; Coulomb {:.3}  slip {:.4} {}",
                    s.0,
                    s.1,
                    s.2,
                    0.3 * (0.2 * 9.81 - s.1),
                    r.q[0] - r.q[7],
                    r.it()
                );
            }
            // pinch: hold and lift
            let scene = Scene::new()
                .with_params(params.clone())
                .object(Object::rigid("box", Shape::cuboid([0.02; 3]), 0.1))
                .robot(
                    Robot::new("left", slider(&[("z", "0 0 1"), ("x", "1 0 0")]))
                        .with_base(nalgebra::Isometry3::translation(-0.0302, 0.0, 0.0))
                        .with_default_stiffness(1000.0),
                )
                .robot(
                    Robot::new("right", slider(&[("z", "0 0 1"), ("x", "1 0 0")]))
                        .with_base(nalgebra::Isometry3::translation(0.0302, 0.0, 0.0))
                        .with_default_stiffness(1000.0),
                )
                .pair(PairRule::exclude("left", "right"));
            for factor in [1.05, 2.0] {
                let squeeze = factor * 0.1 * 9.81 / (2.0 * 0.5);
                for v in [0.0, 0.1] {
                    let mut r = Run::new(&scene);
                    let mut z0 = 0.0;
                    let mut fz = 0.0;
                    let mut fx = 0.0;
                    for k in 0..100 {
                        let z = v * h * (k as f64 - 20.0).max(0.0);
                        let (f, _) = r.step(&[z, 0.0002 + squeeze / 1000.0, z, -0.0002 - squeeze / 1000.0]);
                        if k == 50 {
                            z0 = r.q[2] - r.q[7];
                        }
                        if k > 50 {
                            let l = r.of(&f, "left");
                            fx += l[0] / 49.0;
                            fz += (r.of(&f, "left")[2] + r.of(&f, "right")[2]) / 49.0;
                        }
                    }
                    println!(
                        "pinch {factor} lift {v}: normal {fx:.3} lifts {fz:.3} (mg {:.3}); creep {:.3e} m/step, moment tilt {:.1e} {}",
                        0.981,
                        (r.q[2] - r.q[7] - z0) / 49.0,
                        r.q[5],
                        r.it()
                    );
                }
            }
            // drop
            let scene = Scene::new()
                .with_params(params.clone())
                .object(Object::rigid("ball", Shape::sphere(0.03), 0.1).at([0.0, 0.0, 0.13]))
                .object(Object::ground("ground", 0.0));
            let mut r = Run::new(&scene);
            let mut k = 0;
            let mut first = 0.0;
            while k < 1000 {
                let (_, d) = r.step(&[]);
                if k == 0 {
                    first = d[2];
                }
                k += 1;
                if d[2].abs() < 1e-4 {
                    break;
                }
            }
            println!(
                "drop 0.1 m: first step {:.4}, {} steps ({:.3} s; real {:.3} s) {}",
                first,
                k,
                k as f64 * h,
                (0.2f64 / 9.81).sqrt(),
                r.it()
            );
            // planar disc, no ground: a tip pushes it
            let scene = Scene::new()
                .with_params(params.clone())
                .object(Object::rigid("disc", Shape::cylinder(0.035, 0.02), 0.2).with_freedom(Freedom::Planar))
                .robot(
                    Robot::new("tip", slider(&[("x", "1 0 0")]))
                        .with_base(nalgebra::Isometry3::translation(-0.0451, 0.0, 0.0))
                        .with_default_stiffness(1000.0),
                );
            let mut r = Run::new(&scene);
            for _ in 0..100 {
                r.step(&[0.0]);
            }
            println!(
                "planar disc beside a tip, 100 steps: gap {:.2e}; ℓ {:.2e} {}",
                r.q[0] - r.q[3] - 0.0001,
                h * (2.0 / (eps * 0.2 * kappa)).sqrt(),
                r.it()
            );
        }
    }
}
