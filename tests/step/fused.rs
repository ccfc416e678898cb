//! The fused step on every instruction set against the composed one: values and all gradients, on random states.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::{Freedom, Friction, PairRule, Scene, Shape};
use fingertip::math::lane::InstructionSet;
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::{Form, Quasidynamic, Step};
use fingertip::{Model, Parameters};
use nalgebra::{DVector, Matrix3, Vector3};

use support::jointed;
use support::solids;
use support::states::{self, Batch, Random, Ranges, SCENES};
use support::{largest, rows, sets};

/// Gradients that are sums over what is placed by q: the composed form has candle add up what each operation gives, the
/// fused one adds one to the other as it goes. All other numbers of the two forms have the same bits.
const SUMS: [&str; 3] = ["q", "sizes", "offsets"];
/// The same of scenes with ellipsoids or fixed lines, or where a body would [overshoot](overshoots), by what resists
/// that.
const SUMS_OF_STIFFNESS: [&str; 6] = ["kappa", "mass", "gravity", "inertia", "epsilon", "h"];
/// Relative rounding of those sums: 4e-15 is seen.
const ROUNDING: f64 = 1e-13;
/// Where multiply-adds are not fused, all numbers are off by their rounding times the problem's condition: 1.3e-10 is
/// seen, where points of a hull stand back before they vanish.
const UNFUSED: f64 = 3e-10;
/// The same of gradients by μ by Coulomb's law: 3.8e-10 is seen, where a block slides on a table.
const UNFUSED_SLIDING: f64 = 5e-10;
/// The same of gradients by dry friction, which where a joint all but sticks are a millionth of those beside them:
/// 3.1e-10 is seen.
const UNFUSED_DRY: f64 = 1e-9;
/// A world's number is compared with the largest of its kind in that world, or with this part of the largest in any.
const SMALL: f64 = 1e-3;
/// Forty steps in contact amplify the rounding of unfused multiply-adds: 2e-13 is seen.
const ROLLOUT: f64 = 1e-11;
const RANGES: Ranges =
    Ranges { kappa: (1e2, 1e4), mu: (0.05, 1.5), mu_also: &[0.0], stiffness: (1.0, 1e2), mass: (5e-2, 2.0) };
/// Worlds of a batch: lanes of eight, four and one.
const WORLDS: usize = 21;

fn results(step: &Step) -> Result<Vec<(&'static str, Tensor)>> {
    let mut all = vec![
        ("q_next", step.q_next.clone()),
        ("delta", step.delta.clone()),
        ("force", step.force.flatten_from(1)?),
        ("torque", step.torque.clone()),
        ("phi", step.contacts.phi.clone()),
        ("normal", step.contacts.normal.flatten_from(1)?),
        ("point_a", step.contacts.point_a.flatten_from(1)?),
        ("point_b", step.contacts.point_b.flatten_from(1)?),
        ("limit_force", step.limit_force.clone()),
    ];
    all.extend(step.contacts.weight.clone().map(|weight| ("weight", weight)));
    Ok(all)
}

/// `terms` is the size, in each world, of what the numbers are the sums of, where those cancel.
fn compare(what: &str, found: &Tensor, expected: &Tensor, terms: Option<&Vec<f64>>, tolerance: f64) {
    if expected.elem_count() == 0 {
        return;
    }
    let (found, expected) = (rows(found), rows(expected));
    let most = largest(expected.iter().flatten());
    for (w, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let scale = largest(expected.iter()).max(SMALL * most).max(terms.map_or(0.0, |terms| terms[w])).max(1e-300);
        let error = largest(found.iter().zip(expected).map(|(a, b)| a - b)) / scale;
        assert!(error < tolerance, "{what}, world {w}: fused off by {error:e} of {scale:e}");
    }
}

/// Scenes with boxes whose edges are parallel but for rounding, which decides there in which of two places a crossing
/// stands; ...
const AT_A_TIE: [&str; 3] = ["block", "dice", "hand of solids"];
/// ... so that only the motion is compared: gradients are drawn place by place.
const MOTION: [&str; 2] = ["q_next", "delta"];
/// What P and g are linear in, see [`terms`].
const LINEAR: [&str; 3] = ["mass", "inertia", "damping"];

/// A batch with everything tracked, and its variables.
fn tracked(batch: &Batch) -> Result<(Parameters, Vec<(&'static str, Var)>)> {
    let mut variables = vec![("q", Var::from_tensor(&batch.q)?), ("u", Var::from_tensor(&batch.u)?)];
    let parameters = batch.parameters.map(|name, t| {
        let variable = Var::from_tensor(t)?;
        let tensor = variable.as_tensor().clone();
        variables.push((name, variable));
        Ok(tensor)
    })?;
    Ok((parameters, variables))
}

/// Gradients in what P and g are linear in are sums over −∂P_ij y_i δ_j and −∂g_i y_i, y the gradient in τ: the largest
/// sum of their absolute values in each world. By a door whose frame is free, where the leaf turns back by what the
/// frame turns, they cancel by three digits. What a joint has of its own adds one product to them; its factors, the
/// joint's own y and δ, are exact relative to the largest ones.
fn terms(name: &str, batch: &Batch, step: &Step, y: &Tensor) -> Result<Vec<f64>> {
    let of_bodies = ["mass", "inertia"].contains(&name);
    let sizes = |v: &DVector<f64>| if of_bodies { v.abs() } else { v.map(|_| v.amax()) };
    let [y, delta] = [y, &step.delta].map(|t| states::vectors(t).iter().map(sizes).collect::<Vec<_>>());
    let own = states::problems(batch, step);
    let place = Parameters::NAMES.iter().position(|other| *other == name).unwrap();
    let n = batch.parameters.tensors()[place].dim(1)?;
    let units = Tensor::eye(n.max(1), DType::F64, &Device::Cpu)?;
    let mut all = vec![0.0; own.len()];
    for k in 0..n {
        let unit = units.narrow(0, k, 1)?;
        let changed = |other: &str, t: &Tensor| if other == name { t.broadcast_add(&unit) } else { Ok(t.clone()) };
        let moved = states::problems(&batch.with_parameters(batch.parameters.map(changed)?), step);
        for (w, (moved, own)) in moved.iter().zip(&own).enumerate() {
            let (p, g) = ((&moved.p - &own.p).abs(), (&moved.g - &own.g).abs());
            all[w] = f64::max(all[w], y[w].dot(&(p * &delta[w] + g)));
        }
    }
    Ok(all)
}

/// The step, its results, and gradients of a sum of them with random weights.
fn everything(step: &Quasidynamic, variables: &[(&'static str, Var)]) -> Result<(Step, Vec<(&'static str, Tensor)>)> {
    let result = step.step(&variables[0].1, &variables[1].1)?;
    let solved = result.reports.iter().filter(|r| r.status == Status::Solved).count();
    assert!(2 * solved > result.reports.len(), "only {solved} worlds solved");
    let mut all = results(&result)?;
    let mut random = Random::new(2);
    let mut cost = Tensor::zeros((), DType::F64, &Device::Cpu)?;
    for (_, values) in all.iter().filter(|(_, values)| values.elem_count() > 0) {
        let weights: Vec<f64> = (0..values.elem_count()).map(|_| random.between(-1.0, 1.0)).collect();
        let weights = Tensor::from_vec(weights, values.dims(), &Device::Cpu)?;
        cost = (cost + (values * weights)?.sum_all()?)?;
    }
    let gradients = cost.backward()?;
    for (name, variable) in variables {
        let gradient = gradients.get(variable).cloned();
        all.push((name, gradient.map_or_else(|| variable.zeros_like(), Ok)?));
    }
    Ok((result, all))
}

/// Would a body swing for ever at some height below what holds it? From 4 ε² I < m |g|² h⁴ on, with 1/tr I⁻¹ for I: see
/// docs/rolling.md.
fn overshoots(parameters: &Parameters) -> Result<bool> {
    let all = [&parameters.mass, &parameters.inertia, &parameters.gravity, &parameters.epsilon, &parameters.h];
    let all = all.map(|tensor| tensor.reshape((tensor.dim(0)?, ())).map(|tensor| rows(&tensor)));
    let all = all.into_iter().collect::<Result<Vec<_>>>()?;
    let any = |world: usize| {
        let of = |k: usize| &all[k][world.min(all[k].len() - 1)];
        let [mass, six, gravity, epsilon, h] = std::array::from_fn(of);
        let pull = Vector3::from_column_slice(gravity).norm();
        mass.iter().zip(six.chunks(6)).any(|(mass, of)| {
            let inertia = Matrix3::new(of[0], of[3], of[4], of[3], of[1], of[5], of[4], of[5], of[2]);
            let least = inertia.try_inverse().map_or(0.0, |inverse| 1.0 / inverse.trace());
            4.0 * epsilon[0].powi(2) * least < mass * (pull * h[0] * h[0]).powi(2)
        })
    };
    Ok((0..all.iter().map(Vec::len).max().unwrap_or(0)).any(any))
}

/// With `cancel`, gradients in what P and g are linear in are compared with their [`terms`], as those of a door need.
fn compare_batch(name: &str, batch: &Batch, cancel: bool) -> Result<()> {
    let (parameters, variables) = tracked(batch)?;
    let fused = Quasidynamic::new(&batch.model, &parameters)?;
    assert_eq!(fused.form(), Form::Fused, "{name}");
    let (step, expected) = everything(&fused.as_tensor_program(), &variables)?;
    let y = &expected.iter().find(|(what, _)| *what == "tau").unwrap().1;
    let all_terms = LINEAR.iter().map(|what| cancel.then(|| terms(what, batch, &step, y)).transpose());
    let all_terms = all_terms.collect::<Result<Vec<_>>>()?;
    let terms = |what: &str| all_terms[LINEAR.iter().position(|linear| *linear == what)?].as_ref();
    let (model, tree) = (&batch.model, &batch.model.tree);
    let rolls = model.shapes.iter().any(|shape| match shape.shape {
        Shape::Ellipsoid { .. } => true,
        Shape::Cylinder { .. } | Shape::Capsule { .. } => tree.path(shape.body).is_empty(),
        _ => false,
    });
    let stiffens = rolls || overshoots(&parameters)?;
    let is_sum = |what: &str| SUMS.contains(&what) || (stiffens && SUMS_OF_STIFFNESS.contains(&what));
    let mut first: Option<Vec<Vec<Vec<f64>>>> = None;
    for set in sets() {
        let (_, found) = everything(&fused.on(set)?, &variables)?;
        for ((what, found), (_, expected)) in found.iter().zip(&expected) {
            let (what, place) = (*what, format!("{name} on {}: {what}", set.name()));
            match what {
                _ if set != InstructionSet::Baseline && !is_sum(what) => {
                    assert!(rows(found) == rows(expected), "{place}: other bits");
                }
                _ if set != InstructionSet::Baseline => compare(&place, found, expected, None, ROUNDING),
                _ if AT_A_TIE.iter().any(|tie| name.contains(tie)) && !MOTION.contains(&what) => {}
                "dry_friction" => compare(&place, found, expected, None, UNFUSED_DRY),
                "mu" if model.params.friction == Friction::Coulomb => {
                    compare(&place, found, expected, terms(what), UNFUSED_SLIDING);
                }
                _ => compare(&place, found, expected, terms(what), UNFUSED),
            }
        }
        if set != InstructionSet::Baseline {
            let found: Vec<_> = found.iter().map(|(_, tensor)| rows(tensor)).collect();
            assert!(*first.get_or_insert_with(|| found.clone()) == found, "{name}: other bits on {}", set.name());
        }
    }
    Ok(())
}

fn compare_scene(name: &str, scene: &Scene, stray: f64, cancel: bool) -> Result<()> {
    let model = Model::new(scene, DType::F64, &Device::Cpu)?;
    compare_batch(name, &states::batch(&model, stray, WORLDS, &RANGES, &mut Random::new(41)), cancel)
}

#[test]
fn the_shipped_scenes() -> Result<()> {
    let mut random = Random::new(40);
    for (name, stray) in SCENES {
        compare_batch(name, &states::batch(&states::model(name), stray, 5 * WORLDS, &RANGES, &mut random), false)?;
    }
    Ok(())
}

#[test]
fn joint_limits_and_fading_contacts() -> Result<()> {
    for (name, stray) in SCENES {
        let mut scene = Scene::load(format!("assets/scenes/{name}.toml"))?;
        scene.params.joint_limits = true;
        compare_scene(&format!("{name} with limits"), &scene, stray, false)?;
        (scene.params.contact_distance, scene.params.fade) = (Some(0.05), 0.03);
        compare_scene(&format!("{name} fading"), &scene, stray, false)?;
    }
    Ok(())
}

/// By Coulomb's law; by the relaxed one in worlds that it does not settle.
#[test]
fn coulombs_law() -> Result<()> {
    for (name, stray) in SCENES {
        let mut scene = Scene::load(format!("assets/scenes/{name}.toml"))?;
        scene.params.friction = Friction::Coulomb;
        scene.params.joint_limits = true;
        compare_scene(&format!("{name}, Coulomb"), &scene, stray, false)?;
        (scene.params.contact_distance, scene.params.fade) = (Some(0.05), 0.03);
        compare_scene(&format!("{name}, Coulomb, fading"), &scene, stray, false)?;
    }
    Ok(())
}

/// Contacts that resist turning, among those that do not and alone, by both laws. In the planar scenes nothing turns
/// about a normal.
#[test]
fn torsional_friction() -> Result<()> {
    for (name, stray) in &SCENES[..2] {
        for friction in Friction::ALL {
            let mut scene = Scene::load(format!("assets/scenes/{name}.toml"))?;
            scene.params.friction = friction;
            scene.params.torsion = 5e-3;
            compare_scene(&format!("{name}, torsion, {friction:?}"), &scene, *stray, false)?;
            (scene.params.contact_distance, scene.params.fade) = (Some(0.05), 0.03);
            scene.params.torsion = 0.0;
            scene.pairs.push(PairRule::torsion(&scene.objects[0].name, &scene.robots[0].name, 0.01));
            compare_scene(&format!("{name}, some torsion, fading, {friction:?}"), &scene, *stray, false)?;
        }
    }
    let mut scene = solids::hand();
    scene.params.torsion = 2e-3;
    compare_scene("hand of solids, torsion", &scene, 0.02, false)
}

/// Pairs with a formula and without: cylinder, boxes, capsule, sphere, ellipsoid and hull with each other and the
/// half-space.
#[test]
fn all_kinds_of_pairs() -> Result<()> {
    let shapes = solids::shapes();
    for (k, (a, shape_a)) in shapes.iter().enumerate() {
        for (b, shape_b) in &shapes[k..] {
            let mut scene = solids::two([(a, shape_a), (b, shape_b)], k % 2 == 1);
            // So far that the arm, too, takes part in every world.
            scene.params.contact_distance = Some(f64::INFINITY);
            compare_scene(&format!("{a} and {b}"), &scene, 0.02, false)?;
            (scene.params.contact_distance, scene.params.fade) = (Some(0.9), 0.89);
            compare_scene(&format!("{a} and {b}, fading"), &scene, 0.02, false)?;
        }
    }
    compare_scene("hand of solids", &solids::hand(), 0.02, false)
}

#[test]
fn things_on_a_line() -> Result<()> {
    for (name, shape) in &solids::shapes() {
        for under in solids::lines() {
            compare_scene(&format!("{name} on a line"), &solids::on_a_line(name, shape, under), 0.02, false)?;
        }
    }
    Ok(())
}

#[test]
fn what_hangs() -> Result<()> {
    for friction in Friction::ALL {
        let mut scene = solids::hanging();
        scene.params.friction = friction;
        compare_scene(&format!("what hangs, {friction:?}"), &scene, 0.01, false)?;
    }
    Ok(())
}

#[test]
fn articulated_objects() -> Result<()> {
    for freedom in [Freedom::Fixed, Freedom::Free, Freedom::Planar] {
        let mut scene = jointed::door(freedom);
        scene.params.joint_limits = true;
        compare_scene(&format!("{freedom:?} door"), &scene, 0.02, true)?;
    }
    compare_scene("elements", &jointed::with_elements(), 0.02, true)
}

#[test]
fn tables() -> Result<()> {
    for friction in Friction::ALL {
        let mut scene = jointed::pushed_on_table();
        scene.params.friction = friction;
        compare_scene(&format!("on a table, {friction:?}"), &scene, 0.02, true)?;
    }
    Ok(())
}

/// Rollouts and Jacobians: the same bits on all sets that fuse multiply-adds, nearly the same on the one that does not.
#[test]
fn rollouts_and_jacobians() -> Result<()> {
    let scene = Scene::load("assets/scenes/hand_ball.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let (worlds, n_steps) = (13, 40);
    let controls: Vec<f64> = (0..worlds)
        .flat_map(|w| (0..n_steps).map(move |t| (w, t)))
        .flat_map(|(w, t)| scene.control(0.03 * t as f64).into_iter().map(move |x| x + 2e-3 * w as f64))
        .collect();
    let u = Var::from_tensor(&Tensor::from_vec(controls, (worlds, n_steps, model.nu()), &Device::Cpu)?)?;
    let of = |set: InstructionSet| -> Result<Vec<Vec<Vec<f64>>>> {
        let step = step.on(set)?;
        let result = rollout(&step, &model.home(worlds)?, &u)?;
        let gradients = (result.q.sqr()?.sum_all()? + result.force.sqr()?.sum_all()?)?.backward()?;
        let all =
            step.linearize(&result.q.narrow(1, n_steps, 1)?.squeeze(1)?, &u.narrow(1, n_steps - 1, 1)?.squeeze(1)?)?;
        let gradient = gradients.get(&u).cloned().map_or_else(|| u.zeros_like(), Ok)?;
        Ok([result.q, result.force, gradient, all.a, all.b, all.c, all.d].iter().map(rows).collect())
    };
    let expected = of(InstructionSet::Baseline)?;
    let mut first = None;
    for set in sets().filter(|set| *set != InstructionSet::Baseline) {
        let found = of(set)?;
        for (what, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let scale = largest(expected.iter().flatten());
            let error = largest(found.iter().flatten().zip(expected.iter().flatten()).map(|(a, b)| a - b));
            assert!(error < ROLLOUT * scale, "{}: quantity {what} off by {error:e} of {scale:e}", set.name());
        }
        assert!(*first.get_or_insert_with(|| found.clone()) == found, "other bits on {}", set.name());
    }
    Ok(())
}

#[test]
fn instructions_that_are_not_there_are_told() -> Result<()> {
    let model = states::model("hand_ball");
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let error = step.as_tensor_program().on(InstructionSet::Baseline).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("fused form"), "{error}");
    for set in InstructionSet::ALL.into_iter().filter(|set| !set.is_available()) {
        let error = step.on(set).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(set.name()), "{error}");
    }
    Ok(())
}
