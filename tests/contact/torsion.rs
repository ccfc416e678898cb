//! Contacts that resist turning about their normal: closed forms, and rollouts in both forms.

use std::path::PathBuf;
use std::sync::LazyLock;

use candle_core::{Device, Result, Tensor, Var};
use fingertip::description::{Freedom, Friction, Object, PairRule, Params, Robot, Scene, Shape};
use fingertip::rollout::{Rollout, rollout};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

use support::single::{compile, step_with};
use support::{largest, numbers, rows};

const G: f64 = 9.81;
const H: f64 = 0.01;
const EPSILON: f64 = 0.1;
/// Inertia of a step's P per kg or kg·m²: ε/h².
const FACTOR: f64 = EPSILON / (H * H);
const MASS: f64 = 0.5;
const RADIUS: f64 = 0.05;
const INERTIA: f64 = 0.4 * MASS * RADIUS * RADIUS;
const GAMMA: f64 = 0.004;
/// Of a solution against its closed form, relative: the residual is 1e-12, and torques at their limit keep 1e-3 of
/// that.
const EXACT: f64 = 1e-9;

fn params(kappa: f64, torsion: f64, friction: Friction) -> Params {
    Params { h: H, epsilon: EPSILON, kappa, mu: 0.5, torsion, friction, ..Params::default() }
}

/// The root of a function that falls, between two numbers.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if f(middle) > 0.0 { low = middle } else { high = middle }
    }
    low
}

/// A ball on the ground under a torque about the vertical.
struct Spun {
    kappa: f64,
    phi: f64,
    /// The torque that is given.
    torque: f64,
}

impl Spun {
    /// Turn, normal force and torque of the contact, by the equations of the law for two unknowns.
    fn exact(&self, friction: Friction) -> [f64; 3] {
        let Self { kappa, phi, torque } = *self;
        let (p, inertia, weight) = (FACTOR * MASS, FACTOR * INERTIA, MASS * G);
        match friction {
            // p (ν − φ) + m g = 2 ν/(κ s) and I θ + 2 γ² θ/(κ s) = τ with s = ν² − γ²θ².
            Friction::Relaxed => {
                let turn = |gap: f64| {
                    let most = gap / GAMMA * (1.0 - 1e-15);
                    root(0.0, most, |x| {
                        let s = (gap - GAMMA * x) * (gap + GAMMA * x);
                        torque - inertia * x - 2.0 * GAMMA * GAMMA * x / (kappa * s)
                    })
                };
                let force = |gap: f64| {
                    let x = turn(gap);
                    2.0 * gap / (kappa * (gap - GAMMA * x) * (gap + GAMMA * x))
                };
                let gap = root(1e-12, 1.0, |gap| force(gap) - weight - p * (gap - phi));
                [turn(gap), force(gap), torque - inertia * turn(gap)]
            }
            // f (φ + (f − m g)/p) = 1/κ, and the turn 2 T/(c κ (γ² f² − T²)) for a torque T, as friction is stiffer by
            // c.
            Friction::Coulomb => {
                let b = weight - p * phi;
                let force = f64::midpoint(b, (b * b + 4.0 * p / kappa).sqrt());
                let most = GAMMA * force;
                let stiff = kappa * Params::default().impratio;
                let slip = |own: f64| 2.0 * own / (stiff * (most - own) * (most + own));
                let own = root(0.0, most, |own| (torque - own) / inertia - slip(own));
                [(torque - own) / inertia, force, own]
            }
        }
    }
}

#[test]
fn a_growing_torque() {
    for friction in Friction::ALL {
        for kappa in [1e4, 1e6, 1e8] {
            let ball = Object::rigid("ball", Shape::sphere(RADIUS), MASS).with_freedom(Freedom::Free);
            let scene = Scene::new().with_params(params(kappa, GAMMA, friction)).object(ball);
            let model = compile(&scene.object(Object::ground("ground", 0.0)));
            assert_eq!(model.pairs.torsional, [0]);
            let (limit, phi) = (GAMMA * MASS * G, 2.0 / (kappa * MASS * G));
            for share in [0.0, 0.3, 0.9, 1.1, 2.0, 5.0] {
                let torque = share * limit;
                let [turn, force, own] = Spun { kappa, phi, torque }.exact(friction);
                let q = [0.0, 0.0, RADIUS + phi, 1.0, 0.0, 0.0, 0.0];
                let result = step_with(&model, &q, &[], &[0.0, 0.0, 0.0, 0.0, 0.0, torque]);
                let (delta, found) = (numbers(&result.delta), numbers(&result.force));
                // The ball is B: its normal points up, the force carries it, the torque works against what is given.
                assert_eq!(numbers(&result.contacts.normal)[2], 1.0);
                let at = format!("{friction:?}, κ {kappa:e}, {share} of the limit");
                for (what, found, expected, scale) in [
                    ("turn", delta[5], turn, (torque / (FACTOR * INERTIA)).max(1e-9)),
                    ("normal force", found[2], force, force),
                    ("torque", numbers(&result.torque)[0], -own, limit),
                ] {
                    let error = (found - expected).abs() / scale;
                    assert!(error < EXACT, "{at}: {what} {found} in the place of {expected}, off by {error:e}");
                }
                // It holds below the limit and is at the limit above; smoothing leaves 1/κ of each.
                if kappa == 1e8 {
                    assert!(share > 1.0 || turn < 1e-2 * torque / (FACTOR * INERTIA) + 1e-9, "{at}: turns by {turn}");
                    let expected = torque.min(GAMMA * force);
                    assert!((own - expected).abs() < 2e-3 * limit, "{at}: resists with {own}, not {expected}");
                }
            }
        }
    }
}

/// A disc on two sliders and an axis, its springs of 1000 N/m and N·m/rad: it is pressed onto the ground, pushed along
/// x, and turned.
fn disc(friction: Friction) -> Scene {
    const URDF: &str = r#"<robot name="disc">
        <link name="frame"/><link name="x"/><link name="z"/>
        <link name="disc"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
          <collision><origin xyz="0 0 0.01"/><geometry><sphere radius="0.01"/></geometry></collision></link>
        <joint name="x" type="prismatic"><parent link="frame"/><child link="x"/><axis xyz="1 0 0"/>
          <limit lower="-1" upper="1" effort="100" velocity="1"/></joint>
        <joint name="z" type="prismatic"><parent link="x"/><child link="z"/><axis xyz="0 0 1"/>
          <limit lower="-1" upper="1" effort="100" velocity="1"/></joint>
        <joint name="yaw" type="revolute"><parent link="z"/><child link="disc"/><axis xyz="0 0 1"/>
          <limit lower="-3" upper="3" effort="100" velocity="1"/></joint>
      </robot>"#;
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = std::env::temp_dir().join(format!("fingertip-disc-{}.urdf", std::process::id()));
        std::fs::write(&path, URDF).unwrap();
        path
    });
    let robot = Robot::from_urdf("disc", &*PATH).unwrap().with_default_stiffness(STIFFNESS);
    Scene::new().with_params(params(1e9, GAMMA, friction)).robot(robot).object(Object::ground("ground", 0.0))
}

const STIFFNESS: f64 = 1000.0;

/// What slides and turns has its force and torque on the ellipse (f/μ)² + (τ/γ)² = f_n², and moves along its normal,
/// (d, θ) ∥ (f/μ², τ/γ²): with springs of k that are off by a and b, f = k a/(1 + k s/μ²) and τ = k b/(1 + k s/γ²). By
/// the relaxed law it rises by ‖(μ d, γ θ)‖, which presses it down. Pure sliding and pure turning are the ends.
#[test]
fn a_disc_is_pushed_and_turned() {
    /// Of forces, relative: the smoothing leaves 1/(κ f_n d) of them, where d is the slip times its coefficient.
    const SMOOTHED: f64 = 1e-2;
    let (mu, press) = (0.5, 0.005);
    for friction in Friction::ALL {
        let model = compile(&disc(friction));
        for (push, turn) in [(0.01, 0.0), (0.0, 2e-3), (0.01, 2e-3), (0.004, 1e-3), (0.01, 2e-4), (0.003, -3e-3)] {
            let result = step_with(&model, &[0.0; 3], &[push, -press, turn], &[]);
            let (delta, force) = (numbers(&result.delta), numbers(&result.force));
            let torque = numbers(&result.torque)[0];
            let at = format!("{friction:?}, pushed by {push}, turned by {turn}");
            // On the ground, which is A, or on the disc.
            let (normal, own) = (force[2].abs(), [force[0].abs(), torque.abs()]);
            let of = |s: f64| {
                let [f, t] = [(push, mu), (turn, GAMMA)].map(|(off, c): (f64, f64)| {
                    let f = STIFFNESS * off.abs() / (1.0 + STIFFNESS * s / (c * c));
                    (f, f * s / (c * c), c)
                });
                let rise = if friction == Friction::Relaxed { (f.1 * mu).hypot(t.1 * GAMMA) } else { 0.0 };
                ([f, t], STIFFNESS * (press + rise))
            };
            let s = root(0.0, 1.0, |s| {
                let ([f, t], normal) = of(s);
                (f.0 / mu).hypot(t.0 / GAMMA) - normal
            });
            let ([f, t], expected) = of(s);
            let near = |what: &str, found: f64, expected: f64, size: f64| {
                let error = (found - expected).abs() / size;
                assert!(error < SMOOTHED, "{at}: {what} {found} in the place of {expected}, off by {error:e}");
            };
            near("normal force", normal, expected, expected);
            near("friction", own[0], f.0, mu * expected);
            near("torque", own[1], t.0, GAMMA * expected);
            near("slip", delta[0].abs() * mu, f.1 * mu, (f.1 * mu).hypot(t.1 * GAMMA));
            near("turn", delta[2].abs() * GAMMA, t.1 * GAMMA, (f.1 * mu).hypot(t.1 * GAMMA));
            // Exactly, however smooth: inside the ellipse, and along its normal.
            let used = (own[0] / mu).hypot(own[1] / GAMMA) / normal;
            assert!(used < 1.0 && used > 1.0 - SMOOTHED, "{at}: uses {used} of its friction");
            let across = (delta[0] * torque / (GAMMA * GAMMA) - delta[2] * force[0] / (mu * mu)).abs();
            let size = (delta[0].hypot(delta[2] * GAMMA / mu)) * own[0].max(own[1] * mu / GAMMA) / (mu * GAMMA);
            assert!(across < EXACT * size, "{at}: off the normal by {across:e} of {size:e}");
        }
    }
}

/// Two fingertips on sliders along y that press a pill, which is as free as its surroundings let it be.
fn pinch(torsion: f64, friction: Friction, off: f64) -> Scene {
    const URDF: &str = r#"<robot name="tips">
        <link name="frame"/>
        <link name="left"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
          <collision><geometry><sphere radius="0.01"/></geometry></collision></link>
        <link name="right"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
          <collision><geometry><sphere radius="0.01"/></geometry></collision></link>
        <joint name="left" type="prismatic"><parent link="frame"/><child link="left"/><origin xyz="0 -0.025 0"/><axis xyz="0 1 0"/>
          <limit lower="-1" upper="1" effort="100" velocity="1"/></joint>
        <joint name="right" type="prismatic"><parent link="frame"/><child link="right"/><origin xyz="0 0.025 0"/><axis xyz="0 -1 0"/>
          <limit lower="-1" upper="1" effort="100" velocity="1"/></joint>
      </robot>"#;
    // Written once: tests run side by side, and one must not read what another is writing.
    static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = std::env::temp_dir().join(format!("fingertip-torsion-{}.urdf", std::process::id()));
        std::fs::write(&path, URDF).unwrap();
        path
    });
    let tips = Robot::from_urdf("tips", &*PATH).unwrap().with_default_stiffness(1000.0);
    // The pill lies along x, held `off` from its middle.
    let turn = nalgebra::UnitQuaternion::from_euler_angles(0.0, std::f64::consts::FRAC_PI_2, 0.0);
    let pose = nalgebra::Isometry3::from_parts([off, 0.0, 0.0].into(), turn);
    let pill = Object::rigid("pill", Shape::capsule(0.015, 0.04), 0.1).with_freedom(Freedom::Free).with_pose(pose);
    let mut scene = Scene::new().with_params(params(1e8, 0.0, friction)).object(pill).robot(tips);
    scene.pairs.push(PairRule::exclude("tips", "tips"));
    if torsion > 0.0 {
        scene.pairs.push(PairRule::torsion("pill", "tips", torsion));
    }
    scene
}

/// Turn about the contacts' axis within some steps, pressed with 10 N.
fn turned(scene: &Scene, steps: usize) -> f64 {
    let model = compile(scene);
    let simulator = Quasidynamic::new(&model, &model.parameters).unwrap();
    let press = 10.0 / 1000.0;
    let u = Tensor::full(press, (1, steps, 2), &Device::Cpu).unwrap();
    let all = rollout(&simulator, &model.home(1).unwrap(), &u).unwrap();
    assert!(all.reports.iter().flatten().all(|report| report.status == Status::Solved));
    let q = rows(&all.q).remove(0);
    let end = &q[q.len() - model.nq()..];
    let [w, x, y, z] = [end[3], end[4], end[5], end[6]];
    let quaternion = nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
    let start = model.tree.home();
    let start =
        nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(start[3], start[4], start[5], start[6]));
    (quaternion * start.inverse()).angle()
}

/// A pill held off its middle by `off` turns about the contacts' axis, unless these resist with as much as its weight
/// asks for: (m g/(2 μ f))² + (m g off/(2 γ f))² ≤ 1.
#[test]
fn a_pinched_pill() {
    let (off, weight, press, mu) = (0.02, 0.1 * G, 10.0, 0.5);
    for friction in Friction::ALL {
        let slides: f64 = weight / (2.0 * mu * press);
        let needed = weight * off / (2.0 * press) / (1.0 - slides * slides).sqrt();
        let free = turned(&pinch(0.0, friction, off), 5);
        assert!(free > 0.1, "{friction:?}: a free pill turns by {free}");
        let holds = turned(&pinch(1.15 * needed, friction, off), 5);
        let slips = turned(&pinch(0.85 * needed, friction, off), 5);
        // What creeps in 5 steps: 2 r/((1 − r²) γ κ f) each, of the share r = 1/1.15.
        assert!(holds < 1e-4 * free, "{friction:?}: held with more than needed, it turns by {holds}, free by {free}");
        assert!(
            slips > 20.0 * holds,
            "{friction:?}: held with less than needed, it turns by {slips}, with more by {holds}"
        );
    }
}

/// A rollout's results in a cost, and its gradients in q₀, u and the parameters.
fn gradients(step: &Quasidynamic, vars: &[Var], weights: &[Tensor]) -> Result<(Rollout, Vec<Tensor>)> {
    let all = rollout(step, &vars[0], &vars[1])?;
    let parts = [&all.q, &all.force, &all.torque];
    let mut cost = (parts[0] * &weights[0])?.sum_all()?;
    for (part, weights) in parts.into_iter().zip(weights).skip(1) {
        cost = (cost + (part * weights)?.sum_all()?)?;
    }
    let grads = cost.backward()?;
    let of = |var: &Var| grads.get(var).map_or_else(|| var.zeros_like(), |grad| Ok(grad.clone()));
    let found = vars.iter().map(of).collect::<Result<_>>()?;
    Ok((all, found))
}

/// The sweep of the fused form, the one of the tensor program, and single steps: the same values and gradients.
#[test]
fn rollouts() -> Result<()> {
    const TOLERANCE: f64 = 1e-9;
    let (worlds, n_steps) = (3, 6);
    for friction in Friction::ALL {
        let mut scene = pinch(1e-3, friction, 0.02);
        scene.params.kappa = 1e4;
        let model = compile(&scene);
        let controls: Vec<f64> = (0..worlds * n_steps * 2).map(|k| 0.006 + 3e-4 * ((k * 7) % 5) as f64).collect();
        let mut vars = vec![
            Var::from_tensor(&model.home(worlds)?)?,
            Var::from_tensor(&Tensor::from_vec(controls, (worlds, n_steps, 2), &Device::Cpu)?)?,
        ];
        let parameters = model.parameters.map(|_, t| {
            let var = Var::from_tensor(t)?;
            let tensor = var.as_tensor().clone();
            vars.push(var);
            Ok(tensor)
        })?;
        let fused = Quasidynamic::new(&model, &parameters)?;
        let weight = |dims: &[usize], scale: f64| -> Result<Tensor> {
            let n = dims.iter().product::<usize>();
            let values: Vec<f64> = (0..n).map(|k| scale * (1.0 + ((k * 13) % 7) as f64)).collect();
            Tensor::from_vec(values, dims, &Device::Cpu)
        };
        let weights = [
            weight(&[worlds, n_steps + 1, model.nq()], 1.0)?,
            weight(&[worlds, n_steps, model.nc(), 3], 1e-3)?,
            weight(&[worlds, n_steps, 2], 1.0)?,
        ];
        let (found, by) = gradients(&fused, &vars, &weights)?;
        let (expected, by_program) = gradients(&fused.as_tensor_program(), &vars, &weights)?;
        assert!(found.reports.iter().flatten().all(|report| report.status == Status::Solved));
        let torques = rows(&found.torque.flatten_from(1)?);
        assert!(largest(torques.iter().flatten()) > 1e-3, "nothing is resisted");
        for (found, expected) in
            [(&found.q, &expected.q), (&found.force, &expected.force), (&found.torque, &expected.torque)]
        {
            assert!(numbers(found) == numbers(expected), "{friction:?}: other bits");
        }
        for (k, (found, expected)) in by.iter().zip(&by_program).enumerate() {
            if expected.elem_count() == 0 {
                continue;
            }
            let (found, expected) = (numbers(found), numbers(expected));
            let scale = largest(&expected).max(1e-12);
            let error = largest(found.iter().zip(&expected).map(|(a, b)| a - b)) / scale;
            println!("{friction:?}: quantity {k} off by {error:e}");
            assert!(error < TOLERANCE, "{friction:?}: quantity {k} off by {error:e} of {scale:e}");
        }

        // The steps one by one.
        let (mut q, mut warm) = (vars[0].as_detached_tensor(), None);
        for t in 0..n_steps {
            let u = vars[1].as_detached_tensor().narrow(1, t, 1)?.squeeze(1)?;
            let step = fused.step_from(&q, &u, warm.as_ref())?;
            assert_eq!(numbers(&step.torque), numbers(&found.torque.narrow(1, t, 1)?), "step {t}");
            (q, warm) = (step.q_next.detach(), Some(step.warm));
        }
        let held = fused.hold(&numbers(&vars[0]), &numbers(&vars[1].narrow(1, 0, 1)?), None, 1)?;
        assert_eq!(held.torque, numbers(&found.torque.narrow(1, 0, 1)?));
        assert_eq!(held.force.dense(), numbers(&found.force.narrow(1, 0, 1)?));
    }
    Ok(())
}

/// Where Coulomb's law is not settled, as with one iteration for each attempt, the answer and its gradients are the
/// relaxed law's, in both forms.
#[test]
fn an_unsettled_answer_is_the_relaxed_laws() -> Result<()> {
    /// Of gradients, relative to the largest: those of Coulomb's law are solved with another factor.
    const TOLERANCE: f64 = 1e-7;
    let q = [0.007, 0.451, -0.037, 0.601, -1.019, -0.702, 1.235];
    // The first joint is commanded 10 rad off.
    let u = [-9.177, -0.941, -0.459, 1.0];
    let answer = |friction: Friction, as_program: bool| -> Result<(Rollout, Vec<Tensor>)> {
        let mut scene = Scene::load("assets/scenes/planar_hand.toml")?;
        scene.params = Params { friction, torsion: 3e-3, kappa: 1e5, ..scene.params };
        scene.params.solver.coulomb_iterations = 1;
        let model = compile(&scene);
        let u = Tensor::from_slice(&u, (1, 1, 4), &Device::Cpu)?;
        let mut vars = vec![Var::from_tensor(&model.tensor(&[&q])?)?, Var::from_tensor(&u)?];
        let parameters = model.parameters.map(|_, t| {
            let var = Var::from_tensor(t)?;
            let tensor = var.as_tensor().clone();
            vars.push(var);
            Ok(tensor)
        })?;
        let fused = Quasidynamic::new(&model, &parameters)?;
        let weight = |dims: &[usize]| {
            let values: Vec<f64> = (0..dims.iter().product()).map(|k: usize| 1.0 + ((k * 13) % 7) as f64).collect();
            Tensor::from_vec(values, dims, &Device::Cpu)
        };
        let weights = [
            weight(&[1, 2, model.nq()])?,
            (weight(&[1, 1, model.nc(), 3])? * 1e-3)?,
            weight(&[1, 1, model.pairs.torsional.len()])?,
        ];
        gradients(&if as_program { fused.as_tensor_program() } else { fused }, &vars, &weights)
    };
    for as_program in [false, true] {
        let (found, by) = answer(Friction::Coulomb, as_program)?;
        let (expected, by_relaxed) = answer(Friction::Relaxed, as_program)?;
        assert_eq!(found.reports[0][0].status, Status::Unsettled);
        assert_eq!(expected.reports[0][0].status, Status::Solved);
        for (found, expected) in
            [(&found.q, &expected.q), (&found.force, &expected.force), (&found.torque, &expected.torque)]
        {
            assert_eq!(numbers(found), numbers(expected), "as program: {as_program}");
        }
        for (k, (found, expected)) in by.iter().zip(&by_relaxed).enumerate() {
            let (found, expected) = (numbers(found), numbers(expected));
            let scale = largest(&expected).max(1e-12);
            let error = largest(found.iter().zip(&expected).map(|(a, b)| a - b)) / scale;
            assert!(error < TOLERANCE, "as program: {as_program}: quantity {k} off by {error:e} of {scale:e}");
        }
    }
    Ok(())
}

/// Contacts so stiff that their gaps are little more than rounding: a solved answer is in its cones all the same.
#[test]
fn a_solved_answer_is_in_its_cones() {
    /// Relative, of the optimality conditions.
    const PROMISED: f64 = 1e-8;
    let mut scene = Scene::load("assets/scenes/cube_fingertips.toml").unwrap();
    let (mu, torsion, kappa) = (0.0011, 1.2e-04, 8.7e+09);
    scene.params = Params { friction: Friction::Coulomb, mu, torsion, kappa, ..scene.params };
    let model = compile(&scene);
    let q = [
        0.089, 0.071, 0.031, 0.968, -0.048, -0.041, -0.012, 0.048, -0.191, 1.082, 1.346, -0.027, 0.145, 0.261, 0.595,
        -0.004, -0.169, 1.174, 1.424, 1.212, 0.424, 1.288, 0.919,
    ];
    let u = [
        1.043, 111.667, 0.892, -0.237, 1.173, -0.662, 1.356, 0.913, 1.255, -0.816, -1.142, -1.398, 4.37, 0.901, 0.006,
        -0.285,
    ];
    let fused = Quasidynamic::new(&model, &model.parameters).unwrap();
    for stepper in [fused.as_tensor_program(), fused] {
        let step = stepper.step(&model.tensor(&[&q]).unwrap(), &model.tensor(&[&u]).unwrap()).unwrap();
        assert_eq!(step.reports[0].status, Status::Solved);
        let (force, normal, torque) = (numbers(&step.force), numbers(&step.contacts.normal), numbers(&step.torque));
        for (i, (force, normal)) in force.chunks(3).zip(normal.chunks(3)).enumerate() {
            let along: f64 = force.iter().zip(normal).map(|(f, n)| f * n).sum();
            let across = force.iter().zip(normal).map(|(f, n)| (f - along * n).powi(2)).sum::<f64>().sqrt();
            let beyond = (across / mu).hypot(torque[i] / torsion) / along - 1.0;
            assert!(along > 0.0 && beyond < PROMISED, "contact {i}: {beyond:e}");
        }
    }
}

#[test]
fn errors() {
    let bad = |text: &str| Scene::from_toml(text, ".").unwrap_err().to_string();
    let error = bad("[params]\ntorsion = -0.01");
    assert!(error.contains("params") && error.contains("torsion") && error.contains("-0.01"), "{error}");
    let objects =
        "[[object]]\nname = \"a\"\nsphere = 1.0\nmass = 1.0\nfreedom = \"free\"\n[[pair]]\na = \"a\"\nb = \"a\"\n";
    let error = bad(&format!("{objects}torsion = nan"));
    assert!(error.contains("torsion"), "{error}");
}
