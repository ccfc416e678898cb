//! Steps of bodies whose pairs have no formula of their own: boxes on boxes, ellipsoids, hulls.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Freedom, Object, ObjectBody, Scene, Shape};
use fingertip::kinematics::Manifold;
use fingertip::rollout::rollout;
use fingertip::solve::{Method, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Form, Quasidynamic};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use support::differences;
use support::jumps::{jumps, whole};
use support::{larger, largest, numbers};

/// Rounding through a step's solve.
const SAME: f64 = 1e-9;
/// Central differences of a solve that stops at 1e-10, by steps of 1e-5, relative to a gradient's size.
const DIFFERENCE: f64 = 1e-5;
const STEP: f64 = 1e-5;
/// Single precision through a step.
const SINGLE: f64 = 1e-3;

fn apart(a: &Tensor, b: &Tensor) -> f64 {
    support::apart(&numbers(a), &numbers(b))
}

/// Three cubes of 0.2 m on each other on the floor do not sink by 0.1 mm, drift or turn in ten seconds.
#[test]
fn stack_of_cubes_stands() -> Result<()> {
    let mut scene = Scene::new();
    scene.params.h = 5e-3;
    for k in 0..3 {
        let cube = Object::rigid(format!("cube{k}"), Shape::cuboid([0.1; 3]), 1.0);
        scene = scene.object(cube.at([0.0, 0.0, 0.1 + 0.2 * f64::from(k)]));
    }
    let model = Model::new(&scene.object(Object::ground("floor", 0.0)), DType::F64, &Device::Cpu)?;
    let params = DynamicParams { contact: ContactModel::Rigid(Method::PrimalQp), ..DynamicParams::default() };
    let step = Dynamic::new(&model, &model.parameters, params)?;
    let home = model.home(1)?;
    let (mut q, mut v) = (home.clone(), Tensor::zeros((1, 18), DType::F64, &Device::Cpu)?);
    let tau = v.clone();
    for _ in 0..2000 {
        let next = step.step(&q, &v, &tau)?;
        assert_eq!(next.reports[0].status, Status::Solved);
        (q, v) = (next.q_next, next.v_next);
    }
    let moved = apart(&q, &home);
    assert!(moved < 1e-4, "moved by {moved:e}");
    Ok(())
}

/// The hand and the ball, where the ball is an ellipsoid of equal radii.
#[test]
fn round_ellipsoid_is_a_ball() -> Result<()> {
    let mut ball = Scene::load("assets/scenes/hand_ball.toml")?;
    ball.params.contact_distance = Some(f64::INFINITY);
    let mut egg = ball.clone();
    for object in &mut egg.objects {
        if let ObjectBody::Rigid { collisions, .. } = &mut object.body
            && let Shape::Sphere { radius } = collisions[0].shape
        {
            collisions[0].shape = Shape::ellipsoid([radius; 3]);
        }
    }
    let of = |scene: &Scene| -> Result<_> {
        let model = Model::new(scene, DType::F64, &Device::Cpu)?;
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let worlds = 3;
        let u: Vec<Vec<f64>> = (1..=worlds).map(|k| scene.control(0.1 * k as f64)).collect();
        let u = Var::from_tensor(&model.tensor(&u.iter().map(Vec::as_slice).collect::<Vec<_>>())?)?;
        let next = step.step(&model.home(worlds)?, &u)?;
        let gradient = next.q_next.narrow(1, 0, 3)?.sum_all()?.backward()?;
        let path = rollout(&step, &model.home(1)?, &u.as_detached_tensor().unsqueeze(0)?)?;
        Ok((step.form(), next.q_next, next.force, gradient.get(&u).cloned(), path.q))
    };
    let ((form, q, force, gradient, path), (egg_form, egg_q, egg_force, egg_gradient, egg_path)) =
        (of(&ball)?, of(&egg)?);
    assert_eq!((form, egg_form), (Form::Fused, Form::Fused));
    assert!(apart(&q, &egg_q) < SAME && apart(&force, &egg_force) < SAME && apart(&path, &egg_path) < SAME);
    assert!(apart(&gradient.unwrap(), &egg_gradient.unwrap()) < SAME);
    Ok(())
}

/// A box above a fixed box, and an egg, a cylinder and a polyhedron about them, all near each other.
fn heap() -> Scene {
    let corners = [[0.05, 0.0, -0.03], [-0.04, 0.04, -0.03], [-0.03, -0.05, -0.02], [0.0, 0.0, 0.06]];
    let mut scene = Scene::new()
        .object(Object::fixed("table", Shape::cuboid([0.3, 0.3, 0.1])).at([0.0, 0.0, -0.1]))
        .object(Object::rigid("box", Shape::cuboid([0.05, 0.04, 0.03]), 0.5).at([0.0, 0.0, 0.032]))
        .object(Object::rigid("egg", Shape::ellipsoid([0.03, 0.04, 0.05]), 0.4).at([0.1, 0.01, 0.055]))
        .object(Object::rigid("can", Shape::cylinder(0.03, 0.04), 0.3).at([-0.1, 0.02, 0.043]))
        .object(Object::rigid("rock", Shape::hull(&corners).unwrap(), 0.3).at([0.01, 0.02, 0.1]))
        .object(Object::rigid("ball", Shape::sphere(0.03), 0.2).at([0.02, -0.11, 0.035]).with_freedom(Freedom::Free));
    scene.params.kappa = 1e3;
    scene.params.h = 0.01;
    scene
}

fn barrier(model: &Model) -> Result<Dynamic> {
    Dynamic::new(model, &model.parameters, DynamicParams::default())
}

/// ∂q₊ and ∂v₊ by motions of all bodies, with all pairs of the heap in play.
#[test]
fn gradients_of_a_heap() -> Result<()> {
    let model = Model::new(&heap(), DType::F64, &Device::Cpu)?;
    let step = barrier(&model)?;
    let manifold = Manifold::new(&model.tree, &Device::Cpu)?;
    let nv = model.nv();
    let mut seed = 1_u64;
    let mut random = |n: usize, size: f64| -> Result<Tensor> {
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            size * ((seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
        };
        Tensor::from_vec((0..n).map(|_| next()).collect(), (1, n), &Device::Cpu)
    };
    let mut worst = 0.0_f64;
    for _ in 0..5 {
        // Tilted, so that no faces are parallel.
        let q0 = manifold.integrate(&model.home(1)?, &random(nv, 0.03)?)?;
        let (v, tau) = (random(nv, 0.1)?, random(nv, 0.1)?);
        let (weight_q, weight_v) = (random(model.nq(), 1.0)?, random(nv, 0.1)?);
        let value = |delta: &Tensor| -> Result<Tensor> {
            let next = step.step(&manifold.integrate(&q0, delta)?, &v, &tau)?;
            assert_eq!(next.reports[0].status, Status::Solved);
            (next.q_next * &weight_q)?.sum_all()? + (next.v_next * &weight_v)?.sum_all()?
        };
        let delta = Var::zeros((1, nv), DType::F64, &Device::Cpu)?;
        let gradient = numbers(value(&delta)?.backward()?.get(&delta).unwrap());
        let largest = largest(&gradient);
        for (k, got) in gradient.iter().enumerate() {
            let at = |step: f64| -> Result<f64> {
                let mut delta = vec![0.0; nv];
                delta[k] = step;
                value(&Tensor::from_vec(delta, (1, nv), &Device::Cpu)?)?.to_scalar()
            };
            // The normal turns by a radian within a gap of 2 mm: two steps cancel the error of third derivatives.
            let central = |step: f64| -> Result<f64> { Ok((at(step)? - at(-step)?) / (2.0 * step)) };
            let want = (4.0 * central(STEP)? - central(2.0 * STEP)?) / 3.0;
            worst = larger(worst, (got - want).abs() / largest);
        }
    }
    assert!(worst < DIFFERENCE, "{worst:e}");
    Ok(())
}

#[test]
fn single_precision_and_bad_worlds() -> Result<()> {
    let step_in = |dtype: DType| -> Result<_> {
        let model = Model::new(&heap(), dtype, &Device::Cpu)?;
        let (mut q, zero) = (model.home(3)?, Tensor::zeros((3, model.nv()), dtype, &Device::Cpu)?);
        let bad = Tensor::full(f64::NAN, (1, model.nq()), &Device::Cpu)?.to_dtype(dtype)?;
        q = q.slice_assign(&[1..2, 0..model.nq()], &bad)?;
        barrier(&model)?.step(&q, &zero, &zero)
    };
    let (double, single) = (step_in(DType::F64)?, step_in(DType::F32)?);
    assert!(apart(&double.q_next, &single.q_next) < SINGLE);
    for result in [double, single] {
        let status: Vec<Status> = result.reports.iter().map(|report| report.status).collect();
        assert_eq!(status, [Status::Solved, Status::BadInput, Status::Solved]);
        assert!(numbers(&result.q_next).iter().all(|x| x.is_finite()));
    }
    Ok(())
}

/// Kinds that can meet with a face, 4 cm in size.
fn solids() -> [(&'static str, Shape); 4] {
    let corners: Vec<[f64; 3]> = (0..12)
        .map(|k| {
            let (angle, z) = (f64::from(k % 6) * std::f64::consts::FRAC_PI_3 + 0.2, f64::from(k / 6));
            [(0.02 + 0.004 * z) * angle.cos(), (0.02 + 0.004 * z) * angle.sin(), 0.04 * z - 0.02]
        })
        .collect();
    [
        ("box", Shape::cuboid([0.02, 0.015, 0.02])),
        ("cylinder", Shape::cylinder(0.018, 0.02)),
        ("hull", Shape::hull(&corners).unwrap()),
        ("ellipsoid", Shape::ellipsoid([0.02, 0.022, 0.02])),
    ]
}

/// A fixed body, and another on it.
fn pair(below: &Shape, above: &Shape) -> Result<Model> {
    let mut scene = Scene::new()
        .object(Object::fixed("below", below.clone()).at([0.0; 3]))
        .object(Object::rigid("above", above.clone(), 0.2).at([0.0, 0.0, 0.041]));
    (scene.params.kappa, scene.params.h) = (1e4, 0.01);
    Model::new(&scene, DType::F64, &Device::Cpu)
}

fn random_rows(random: &mut ChaCha8Rng, reach: [f64; 6]) -> [f64; 6] {
    reach.map(|reach| random.random_range(-reach..reach))
}

/// A jump of forces, N, and of the motion, m and rad: above what halving steps of a path 50 times leaves of a smooth
/// change, and well below the change itself.
const JUMP: f64 = 1e-4;

/// A body rolls, slides and turns over another within some degrees of alignment: its step's total force and moment and
/// its motion have no jump, though contact points come and go.
#[test]
fn forces_are_continuous() -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let (mut all, mut changes) = (Vec::new(), 0);
    for (name_a, below) in solids() {
        for (name_b, above) in solids() {
            let model = pair(&below, &above)?;
            let step = Quasidynamic::new(&model, &model.parameters)?;
            let manifold = Manifold::new(&model.tree, &Device::Cpu)?;
            let home = model.home(1)?;
            for _ in 0..4 {
                let from = random_rows(&mut random, [0.02, 0.02, 5e-4, 0.08, 0.08, 0.5]);
                let along = random_rows(&mut random, [0.01, 0.01, 3e-4, 0.15, 0.15, 0.3]);
                let at = |t: f64| -> Result<Option<[f64; 12]>> {
                    let delta: Vec<f64> = from.iter().zip(along).map(|(x, y)| x + t * y).collect();
                    let q = manifold.integrate(&home, &model.tensor(&[&delta])?)?;
                    let next = step.step(&q, &model.tensor(&[&[]])?)?;
                    let contacts = next.contacts;
                    let (force, point) = (numbers(&next.force), numbers(&contacts.point_b));
                    let phi = numbers(&contacts.phi);
                    // The normal itself jumps inside.
                    if phi.iter().any(|&phi| phi < 1e-4) {
                        return Ok(None);
                    }
                    assert_eq!(next.reports[0].status, Status::Solved);
                    Ok(Some(whole(&force, &point, &numbers(&next.delta))))
                };
                let (changed, found) = jumps(at, JUMP)?;
                changes += changed;
                all.extend(found.into_iter().map(|(t, by)| format!("{name_a} {name_b} at {t}: {by}")));
            }
        }
    }
    println!("{changes} steps of paths changed something");
    assert!(all.is_empty() && changes > 500, "{} jumps in {changes}: {all:#?}", all.len());
    Ok(())
}

/// Differences of a solve that stops at 1e-10, extrapolated, relative to the gradient's size.
const RIDDERS: f64 = 1e-6;

/// ∂δ and ∂force of a whole step by both bodies' sizes, through distances, points, normal and weights, against Ridders'
/// differences.
#[test]
fn gradients_by_sizes_through_a_step() -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let (mut checked, mut worst) = (0, 0.0_f64);
    for (name_a, below) in solids() {
        for (name_b, above) in solids() {
            let model = pair(&below, &above)?;
            let manifold = Manifold::new(&model.tree, &Device::Cpu)?;
            for _ in 0..3 {
                let from = random_rows(&mut random, [0.01, 0.01, 2e-4, 0.03, 0.03, 0.5]);
                let q = manifold.integrate(&model.home(1)?, &model.tensor(&[&from])?)?;
                let weight: Vec<f64> = (0..6).map(|_| random.random_range(-1.0..1.0)).collect();
                let weight = model.tensor(&[&weight])?;
                let value = |sizes: &Tensor| -> Result<Tensor> {
                    let mut parameters = model.parameters.clone();
                    parameters.sizes = sizes.clone();
                    let next = Quasidynamic::new(&model, &parameters)?.step(&q, &model.tensor(&[&[]])?)?;
                    assert_eq!(next.reports[0].status, Status::Solved);
                    let pushed = next.force.sum(1)?;
                    (next.delta * &weight)?.sum_all()? + (pushed * &weight.narrow(1, 0, 3)?)?.sum_all()? * 1e-2
                };
                let sizes = Var::from_tensor(&model.parameters.sizes)?;
                let Some(gradient) = value(&sizes)?.backward()?.get(&sizes).map(numbers) else { continue };
                let largest = gradient.iter().map(|x| x.abs()).max_by(f64::total_cmp).unwrap().max(1e-3);
                let own = numbers(&sizes);
                for (k, got) in gradient.iter().enumerate().filter(|&(k, _)| own[k] > 0.0) {
                    let at = |step: f64| -> Result<f64> {
                        let mut sizes = own.clone();
                        sizes[k] += step;
                        value(&Tensor::from_vec(sizes, (1, own.len()), &Device::Cpu)?)?.to_scalar()
                    };
                    let steps = (0..differences::STEPS).map(|i| 1e-5 / differences::SHRINK.powi(i as i32));
                    let central = steps.map(|h| Ok((at(h)? - at(-h)?) / (2.0 * h))).collect::<Result<Vec<f64>>>()?;
                    let (want, error) = differences::extrapolate(&central, 1e-5, 1e-14);
                    if error > RIDDERS * largest {
                        continue;
                    }
                    checked += 1;
                    let off = (got - want).abs() / largest;
                    assert!(off < RIDDERS, "{name_a} {name_b}, size {k}: {got} is not {want}");
                    worst = worst.max(off);
                }
            }
        }
    }
    println!("{checked} derivatives, off by {worst:.1e}");
    assert!(checked > 150, "{checked}");
    Ok(())
}

/// Cans as meshes, with far more corners on a cap than a pair has room for: they stand, on the ground and on each
/// other, as a can does, and no contact has next to no weight at almost no height, which would take a solver very many
/// steps.
#[test]
fn cans_with_many_corners_stand() -> Result<()> {
    let (radius, half) = (0.03, 0.05);
    for n in [24_u32, 48, 120] {
        let around = |k: u32, z: f64| {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(k) / f64::from(n)).sin_cos();
            [radius * cos, radius * sin, z]
        };
        let points: Vec<[f64; 3]> = (0..n).flat_map(|k| [around(k, -half), around(k, half)]).collect();
        let can = Shape::hull(&points)?;
        let scene = Scene::new()
            .object(Object::ground("floor", 0.0))
            .object(Object::rigid("lower", can.clone(), 0.3).at([0.0, 0.0, half]))
            .object(Object::rigid("upper", can, 0.2).at([0.0, 0.0, 3.0 * half]));
        let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let rollout = step.rollout_numbers(&numbers(&model.home(1)?), &[], 100)?;
        let iterations: usize = rollout.reports.iter().map(|report| report.iterations).sum();
        assert!(
            rollout.reports.iter().all(|report| report.status == Status::Solved) && iterations < 400,
            "{n}: {iterations}"
        );
        let end = &rollout.q[rollout.q.len() - model.nq()..];
        for (can, height) in end.chunks_exact(7).zip([half, 3.0 * half]) {
            let off = can[0].hypot(can[1]);
            assert!(off < 1e-4 && (can[2] - height).abs() < 1e-3 && can[3] > 1.0 - 1e-6, "{n}: {end:?}");
        }
    }
    Ok(())
}
