//! What a step must do whatever its solver: fall, hover, carry, slip, roll, and not depend on where the axes point.

use candle_core::{DType, Device, Tensor, Var};
use fingertip::description::{Collision, Freedom, Inertia, Object, ObjectBody, PairRule, Params, Scene, Shape};
use fingertip::step::Quasidynamic;
use nalgebra::{Isometry3, Matrix3, Quaternion, UnitQuaternion, Vector3};

use support::single::{compile, step_with};
use support::states::{self, Random};
use support::{largest, numbers, rows};

/// Closed forms hold to rounding, a few operations on each side, relative.
const EXACT: f64 = 1e-14;
/// What κ = 1e8 leaves of the gap law, m: ν_n − μ‖ν_t‖ = s/(ν_n + μ‖ν_t‖) is about 1/(κ λ_n), with some 5 N.
const GAP: f64 = 1e-8;

fn params(h: f64, epsilon: f64, kappa: f64) -> Params {
    Params { h, epsilon, kappa, ..Params::default() }
}

fn vector(tensor: &Tensor, i: usize) -> Vector3<f64> {
    Vector3::from_column_slice(&numbers(tensor)[3 * i..3 * i + 3])
}

fn lopsided() -> Inertia {
    let matrix = Matrix3::new(2e-4, 3e-5, -2e-5, 3e-5, 4e-4, 1e-5, -2e-5, 1e-5, 5e-4);
    Inertia { mass: 0.3, com: Vector3::new(0.01, -0.02, 0.03), matrix }
}

/// No contact, no command: h²g/ε in one step, and no rotation though the frame is not at the centre of mass.
#[test]
fn free_fall() {
    let mut random = Random::new(31);
    for freedom in [Freedom::Free, Freedom::Translation] {
        let object = Object::rigid("brick", Shape::sphere(0.05), 1.0).with_inertia(lopsided()).with_freedom(freedom);
        let gravity = [0.3, -1.0, -9.0];
        let model = compile(&Scene::new().with_params(params(0.02, 0.2, 1e4)).with_gravity(gravity).object(object));
        assert_eq!((model.nc(), model.nu()), (0, 0));
        for _ in 0..20 {
            let mut q = model.tree.home();
            if freedom == Freedom::Free {
                let turn = random.rotation();
                q[3..].copy_from_slice(&[turn.w, turn.i, turn.j, turn.k]);
            }
            let step = step_with(&model, &q, &[], &[]);
            let delta = numbers(&step.delta);
            for k in 0..3 {
                let fall = 0.02 * 0.02 * gravity[k] / 0.2;
                assert!((delta[k] - fall).abs() < EXACT, "{} of {fall}", delta[k]);
            }
            assert!(largest(delta[3..].iter().copied()) < EXACT, "turns by {:?}", &delta[3..]);
        }
    }
}

/// At rest a ball hovers at 2/(κ m g), and does not move; contacts that share a weight carry it together.
#[test]
fn hovering_weight() {
    for kappa in [1e2, 1e4, 1e6] {
        for freedom in [Freedom::Translation, Freedom::Free] {
            let scene = Scene::new()
                .with_params(params(0.01, 1.0, kappa))
                .object(Object::rigid("ball", Shape::sphere(0.04), 0.52).with_freedom(freedom))
                .object(Object::ground("table", 0.0));
            let model = compile(&scene);
            let weight = 0.52 * 9.81;
            let mut q = model.tree.home();
            q[2] = 0.04 + 2.0 / (kappa * weight);
            let step = step_with(&model, &q, &[], &[]);
            // 2/(κ φ) amplifies a rounding of φ from lengths of 4 cm.
            let tolerance = EXACT + kappa * weight * 1e-17;
            assert!((vector(&step.force, 0) - Vector3::z() * weight).norm() < tolerance * weight);
            assert!(largest(numbers(&step.delta)) < 1e-16 + EXACT * q[2]);
        }
    }
}

/// A box on a table comes to rest with its weight on four corners (and a little on the upper four), level.
#[test]
fn weight_on_several_contacts() {
    let scene = Scene::new()
        .with_params(params(0.01, 1.0, 1e5))
        .object(Object::rigid("box", Shape::cuboid([0.05, 0.03, 0.02]), 0.8).at([0.1, 0.2, 0.0203]))
        .object(Object::ground("table", 0.0));
    let model = compile(&scene);
    assert_eq!(model.nc(), 8);
    let mut q = model.tree.home();
    let mut step = step_with(&model, &q, &[], &[]);
    for _ in 0..300 {
        q = numbers(&step.q_next);
        step = step_with(&model, &q, &[], &[]);
    }
    let total: Vector3<f64> = (0..8).map(|i| vector(&step.force, i)).sum();
    assert!((total - Vector3::z() * 0.8 * 9.81).norm() < 1e-6, "carried: {total:?}");
    let torque: Vector3<f64> = (0..8)
        .map(|i| (vector(&step.contacts.point_b, i) - Vector3::new(0.1, 0.2, q[2])).cross(&vector(&step.force, i)))
        .sum();
    assert!(torque.norm() < 1e-6, "torque {torque:?}");
    assert!((q[3].abs() - 1.0).abs() < 1e-12, "tilted: {q:?}");
    // Four corners of weight 1/4 with λ = m g/4 each hover at 2/(4 κ λ), less what the upper corners take.
    let height = q[2] - 0.02;
    assert!((height / (2.0 / (1e5 * 0.8 * 9.81)) - 1.0).abs() < 0.01, "hovers at {height:e}");
}

/// As κ → ∞ a tangential displacement ‖ν_t‖ in the step opens a gap μ‖ν_t‖, and the force is on the cone against it.
#[test]
fn slip_opens_a_gap() {
    for mu in [0.1, 0.5, 1.0] {
        let scene = Scene::new()
            .with_params(Params { mu, ..params(0.02, 1.0, 1e8) })
            .object(
                Object::rigid("ball", Shape::sphere(0.05), 0.5).with_freedom(Freedom::Translation).at([0.0, 0.0, 0.05]),
            )
            .object(Object::ground("table", 0.0));
        let model = compile(&scene);
        let pull = 4.0 * mu * 0.5 * 9.81;
        let step = step_with(&model, &model.tree.home(), &[], &[0.6 * pull, 0.8 * pull, 0.0]);
        let delta = vector(&step.delta, 0);
        let slip = (delta.x * delta.x + delta.y * delta.y).sqrt();
        assert!(slip > 1e-4, "slips by {slip:e}");
        assert!((delta.z - mu * slip).abs() < GAP, "gap {:e} of {:e}", delta.z, mu * slip);
        let force = vector(&step.force, 0);
        let across = Vector3::new(force.x, force.y, 0.0);
        assert!((across.norm() / (mu * force.z) - 1.0).abs() < 1e-3, "{force:?}");
        assert!((across.normalize() + Vector3::new(0.6, 0.8, 0.0)).norm() < 1e-6, "{force:?}");
    }
}

/// A solid ball pushed at its centre rolls: no slip, and 2/7 of the push goes into the rotation.
#[test]
fn a_ball_rolls() {
    let (r, m, h) = (0.05, 0.5, 0.01);
    let scene = Scene::new()
        .with_params(Params { mu: 1.0, ..params(h, 1.0, 1e6) })
        .object(Object::rigid("ball", Shape::sphere(r), m).at([0.0, 0.0, r + 2.0 / (1e6 * m * 9.81)]))
        .object(Object::ground("table", 0.0));
    let model = compile(&scene);
    let push = 0.2;
    let step = step_with(&model, &model.tree.home(), &[], &[push, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let delta = numbers(&step.delta);
    let rolls = push * h * h / (1.4 * m);
    assert!((delta[0] / rolls - 1.0).abs() < 0.01, "rolls {:e} of {rolls:e}", delta[0]);
    assert!((delta[4] * r / delta[0] - 1.0).abs() < 0.02, "slips: {delta:?}");
    assert!(largest([delta[1], delta[3], delta[5]]) < 1e-12, "{delta:?}");
    // Friction takes 2/7 of the push.
    assert!((vector(&step.force, 0).x / (-push * 2.0 / 7.0) - 1.0).abs() < 0.01);
}

/// A body with equal moments, turned by a torque: δ_ω = h²τ/(ε I), and q₊'s rotation moves with q's by Exp(δ_ω).
#[test]
fn a_spinning_cube() {
    let cube = Object::rigid("cube", Shape::cuboid([0.03; 3]), 0.2);
    let ObjectBody::Rigid { inertia: Some(inertia), .. } = &cube.body else { panic!() };
    let moment = inertia.matrix.m11;
    let model = compile(&Scene::new().with_params(params(0.1, 1.0, 1e4)).object(cube.clone()));
    for (torque, turn) in [([0.0, 0.0, 1e-3], [0.0, 0.6, 0.0, 0.8]), ([2e-3, -3e-3, 1e-3], [0.5, -0.5, 0.5, 0.5])] {
        let mut q = model.tree.home();
        q[3..].copy_from_slice(&turn);
        let mut parameters = model.parameters.clone();
        parameters.tau = model.tensor(&[&[0.0, 0.0, 0.0, torque[0], torque[1], torque[2]]]).unwrap();
        let stepper = Quasidynamic::new(&model, &parameters).unwrap();
        let u = Tensor::zeros((1, 0), DType::F64, &Device::Cpu).unwrap();
        let linear = stepper.linearize(&model.tensor(&[&q]).unwrap(), &u).unwrap();
        let omega = Vector3::from(torque) * (0.01 / moment);
        let delta = numbers(&linear.delta);
        assert!((Vector3::new(delta[3], delta[4], delta[5]) - omega).norm() < EXACT * omega.norm());
        let turned = UnitQuaternion::from_scaled_axis(omega)
            * UnitQuaternion::from_quaternion(Quaternion::new(turn[0], turn[1], turn[2], turn[3]));
        let next = numbers(&linear.q_next);
        let off = largest([next[3] - turned.w, next[4] - turned.i, next[5] - turned.j, next[6] - turned.k]);
        assert!(off < EXACT, "{next:?} for {turned:?}");
        let a = rows(&linear.a.squeeze(0).unwrap());
        let expected = UnitQuaternion::from_scaled_axis(omega).to_rotation_matrix();
        for i in 0..6 {
            for j in 0..6 {
                let exact = match (i, j) {
                    (3.., 3..) => expected[(i - 3, j - 3)],
                    _ => f64::from(u8::from(i == j)),
                };
                assert!((a[i][j] - exact).abs() < EXACT, "A[{i}][{j}] = {} for {exact}", a[i][j]);
            }
        }
    }
}

/// The same scene with everything, gravity too, turned and carried away.
#[test]
fn frames_do_not_matter() {
    let mut random = Random::new(32);
    let scene = Scene::load("assets/scenes/cube_fingertips.toml").unwrap();
    let model = compile(&scene);
    for k in 0..10 {
        let turn = random.rotation();
        let move_all = Isometry3::from_parts(random.vector(0.5).into(), turn);
        let mut other = scene.clone();
        other.gravity = (turn * Vector3::from(scene.gravity)).into();
        for object in &mut other.objects {
            object.pose = move_all * object.pose;
        }
        other.robots[0].base = move_all * scene.robots[0].base;
        let other = compile(&other);
        let mut q = model.tree.home();
        let spin = UnitQuaternion::from_scaled_axis(random.vector(0.3));
        q[3..7].copy_from_slice(&[spin.w, spin.i, spin.j, spin.k]);
        q[2] += 0.005;
        q[7..].iter_mut().for_each(|x| *x += random.between(-0.05, 0.05));
        let u: Vec<f64> = q[7..].iter().map(|x| x + random.between(-0.2, 0.2)).collect();
        let pose = |q: &[f64]| {
            let turn = UnitQuaternion::from_quaternion(Quaternion::new(q[3], q[4], q[5], q[6]));
            Isometry3::from_parts(Vector3::new(q[0], q[1], q[2]).into(), turn)
        };
        let mut moved = q.clone();
        let carried = move_all * pose(&q);
        moved[..3].copy_from_slice(carried.translation.vector.as_slice());
        let r = carried.rotation;
        moved[3..7].copy_from_slice(&[r.w, r.i, r.j, r.k]);
        let (here, there) = (step_with(&model, &q, &u, &[]), step_with(&other, &moved, &u, &[]));
        let (next, next_there) = (numbers(&here.q_next), numbers(&there.q_next));
        let apart = (move_all * pose(&next)).inverse() * pose(&next_there);
        let joints = largest(next[7..].iter().zip(&next_there[7..]).map(|(a, b)| a - b));
        assert!(
            apart.translation.vector.norm() < 1e-11 && apart.rotation.angle() < 1e-9 && joints < 1e-10,
            "state {k}"
        );
        let size = largest(numbers(&here.force));
        for i in 0..model.nc() {
            let off = turn * vector(&here.force, i) - vector(&there.force, i);
            assert!(off.norm() < 1e-8 * size, "state {k}, contact {i}: force off by {off:?} of {size}");
        }
    }
}

/// ∂δ/∂τ = H⁻¹ is symmetric: what a force here moves there, a force there moves here.
#[test]
fn compliance_is_reciprocal() {
    let mut random = Random::new(33);
    let ranges = states::Ranges {
        kappa: (1e2, 1e5),
        mu: (0.1, 1.5),
        mu_also: &[0.0],
        stiffness: (0.1, 1e3),
        mass: (1e-2, 10.0),
    };
    for (name, stray) in states::SCENES {
        let batch = states::batch(&states::model(name), stray, 20, &ranges, &mut random);
        let nv = batch.model.nv();
        for w in 0..20 {
            let copies = |t: &Tensor| {
                let row = if t.dim(0).unwrap() == 1 { t.clone() } else { t.narrow(0, w, 1).unwrap() };
                row.broadcast_as((nv, t.dim(1).unwrap())).unwrap().contiguous().unwrap()
            };
            let mut parameters = batch.parameters.map(|_, t| Ok(copies(t))).unwrap();
            let tau = Var::from_tensor(&parameters.tau).unwrap();
            parameters.tau = tau.as_tensor().clone();
            let stepper = Quasidynamic::new(&batch.model, &parameters).unwrap();
            let delta = stepper.step(&copies(&batch.q), &copies(&batch.u)).unwrap().delta;
            let eye = Tensor::eye(nv, DType::F64, &Device::Cpu).unwrap();
            let grads = (delta * eye).unwrap().sum_all().unwrap().backward().unwrap();
            let c = rows(grads.get(&tau).unwrap());
            for i in 0..nv {
                assert!(c[i][i] > 0.0);
                for j in 0..i {
                    let size = (c[i][i] * c[j][j]).sqrt();
                    assert!((c[i][j] - c[j][i]).abs() < 1e-9 * size, "{name}, world {w}: {} and {}", c[i][j], c[j][i]);
                    assert!(c[i][j].abs() < size, "{name}, world {w}: not positive definite at {i}, {j}");
                }
            }
        }
    }
}

/// A hard cut: a pair at or beyond `contact_distance` has no force, one within has all of it.
#[test]
fn contact_distance_cuts() {
    let build = |distance| {
        Scene::new()
            .with_params(Params { contact_distance: distance, ..params(0.01, 1.0, 100.0) })
            .object(Object::rigid("ball", Shape::sphere(0.05), 0.5).with_freedom(Freedom::Translation))
            .object(Object::ground("table", 0.0))
    };
    let (all, cut) = (compile(&build(None)), compile(&build(Some(0.01))));
    for gap in [0.002, 0.0099, 0.0101, 0.5] {
        let q = [0.0, 0.0, 0.05 + gap];
        let (expected, found) = (step_with(&all, &q, &[], &[]), step_with(&cut, &q, &[], &[]));
        assert!(vector(&expected.force, 0).z > 0.0, "a smoothed force is never 0");
        if gap < 0.01 {
            assert_eq!(numbers(&found.force), numbers(&expected.force));
        } else {
            assert_eq!(numbers(&found.force), [0.0; 3]);
            assert!((vector(&found.delta, 0).z + 9.81e-4).abs() < EXACT);
        }
    }
}

/// From a tenth of a millimetre to half a metre inside a table, and 100 m above it.
#[test]
fn deep_inside_and_far_away() {
    for kappa in [1.0, 1e4, 1e8] {
        let scene = Scene::new()
            .with_params(params(0.01, 1.0, kappa))
            .object(Object::rigid("ball", Shape::sphere(0.05), 0.5))
            .object(Object::ground("table", 0.0));
        let model = compile(&scene);
        for depth in [1e-4, 1e-2, 0.1, 0.5] {
            let mut q = model.tree.home();
            q[2] = 0.05 - depth;
            let step = step_with(&model, &q, &[], &[]);
            let up = numbers(&step.delta)[2];
            assert!(up > depth, "κ = {kappa:e}: {depth} deep, moves {up}");
            // Force balance: m (δ/h² + g) = λ.
            let balance = 0.5 * (up / 1e-4 + 9.81);
            assert!((vector(&step.force, 0).z / balance - 1.0).abs() < 1e-9, "κ = {kappa:e}, depth {depth}");
        }
        let mut q = model.tree.home();
        q[2] = 100.0;
        let step = step_with(&model, &q, &[], &[]);
        let force = vector(&step.force, 0).z;
        assert!((force / (2.0 / (kappa * 99.95)) - 1.0).abs() < 0.01 && force > 0.0, "κ = {kappa:e}: {force:e}");
    }
}

/// Eight boxes on a table, 64 contacts in one problem.
#[test]
fn many_contacts() {
    let mut scene = Scene::new().with_params(params(0.01, 1.0, 1e5)).object(Object::ground("table", 0.0));
    for k in 0..8 {
        let name = format!("box{k}");
        let shape = Shape::cuboid([0.05, 0.03, 0.02]);
        scene = scene.object(Object::rigid(&name, shape, 0.1 * (k + 1) as f64).at([0.2 * k as f64, 0.0, 0.02]));
        for other in 0..k {
            scene = scene.pair(PairRule::exclude(name.clone(), format!("box{other}")));
        }
    }
    let model = compile(&scene);
    assert_eq!((model.nc(), model.nv()), (64, 48));
    let mut q = model.tree.home();
    let mut step = step_with(&model, &q, &[], &[]);
    let mut most = 0;
    for _ in 0..300 {
        q = numbers(&step.q_next);
        step = step_with(&model, &q, &[], &[]);
        most = most.max(step.reports[0].iterations);
    }
    println!("64 contacts: {most} iterations at most");
    let mut carried = [0.0; 8];
    for i in 0..64 {
        let (_, b) = model.contact_names(i);
        let k: usize = b.strip_prefix("box").unwrap().parse().unwrap();
        carried[k] += vector(&step.force, i).z;
    }
    for (k, carried) in carried.into_iter().enumerate() {
        let weight = 0.1 * (k + 1) as f64 * 9.81;
        assert!((carried / weight - 1.0).abs() < 1e-4, "box {k}: {carried} of {weight}");
    }
}

/// Two objects that touch nothing but each other: what one gets the other gives, and nothing is left over.
#[test]
fn action_and_reaction() {
    let ball = |name: &str, x: f64, m: f64| Object::rigid(name, Shape::sphere(0.05), m).at([x, 0.0, 0.0]);
    let scene =
        Scene::new().with_params(params(0.01, 1.0, 1e4)).with_gravity([0.0; 3]).object(ball("a", 0.0, 0.3)).object(
            Object::compound(
                "b",
                vec![
                    Collision::at(Shape::sphere(0.05), [0.0, 0.03, 0.0]),
                    Collision::at(Shape::capsule(0.02, 0.04), [0.0; 3]),
                ],
                0.7,
            )
            .at([0.098, 0.01, 0.02]),
        );
    let model = compile(&scene);
    let q = model.tree.home();
    let step = step_with(&model, &q, &[], &[]);
    let masses = numbers(&model.parameters.mass);
    let delta = numbers(&step.delta);
    let total: Vector3<f64> = (0..model.nc()).map(|i| vector(&step.force, i)).sum();
    for k in 0..3 {
        // Object a gets −f, b gets f, at its centre of mass.
        let of_a = masses[0] * delta[k] / 1e-4;
        assert!((of_a + total[k]).abs() < 1e-9 * total.norm(), "{of_a} and {}", total[k]);
    }
    // Momentum and angular momentum about the origin, with b's centre of mass off its frame.
    let inertia = |k: usize| model.tree.bodies[model.inertial[k]].inertia.clone().unwrap();
    let (mut momentum, mut spin) = (Vector3::zeros(), Vector3::zeros());
    for k in 0..2 {
        let (v, w) = (Vector3::from_column_slice(&delta[6 * k..]), Vector3::from_column_slice(&delta[6 * k + 3..]));
        let own = inertia(k);
        let at = Vector3::from_column_slice(&q[7 * k..]) + own.com;
        let p = (v + w.cross(&own.com)) * own.mass;
        momentum += p;
        spin += at.cross(&p) + own.matrix * w;
    }
    assert!(momentum.norm() < 1e-9 * masses[0] * Vector3::from_column_slice(&delta).norm(), "{momentum:?}");
    // Each side at its own witness point: the couple φ n × f is left, which friction alone makes.
    let couple: Vector3<f64> = (0..model.nc())
        .map(|i| {
            let apart = vector(&step.contacts.point_b, i) - vector(&step.contacts.point_a, i);
            apart.cross(&vector(&step.force, i))
        })
        .sum();
    assert!((spin / 1e-4 - couple).norm() < 1e-9 * total.norm(), "{spin:?} for {couple:?}");
}
