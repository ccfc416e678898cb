//! What a step solves, and its forces, against the same as candle operations: values and gradients, on random states.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::{Freedom, Friction, Scene};
use fingertip::solve::barrier;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Parameters};

use support::formulas::Formulas;
use support::states::{self, Batch, Random, Ranges, SCENES};
use support::{jointed, largest, numbers, rows, solids};

/// Candle does not fuse multiply-adds: tens of roundings of what the numbers of a world are made of, relative to the
/// largest of a kind.
const ROUNDING: f64 = 1e-12;
const RANGES: Ranges =
    Ranges { kappa: (1e2, 1e4), mu: (0.05, 1.5), mu_also: &[0.0], stiffness: (1.0, 1e2), mass: (5e-2, 2.0) };
const WORLDS: usize = 13;

/// A sum of numbers with random weights.
fn cost(of: &[&Tensor], random: &mut Random) -> Result<Tensor> {
    let mut cost = Tensor::zeros((), DType::F64, &Device::Cpu)?;
    for values in of.iter().filter(|values| values.elem_count() > 0) {
        let weights: Vec<f64> = (0..values.elem_count()).map(|_| random.between(-1.0, 1.0)).collect();
        cost = (cost + (*values * Tensor::from_vec(weights, values.dims(), &Device::Cpu)?)?.sum_all()?)?;
    }
    Ok(cost)
}

fn compare(what: &str, found: &[&Tensor], expected: &[&Tensor], variables: &[(&str, Var)]) -> Result<()> {
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.dims(), expected.dims(), "{what}, result {k}");
        if expected.elem_count() == 0 {
            continue;
        }
        for (w, (found, expected)) in rows(found).iter().zip(rows(expected)).enumerate() {
            let error = largest(found.iter().zip(&expected).map(|(a, b)| a - b));
            let scale = largest(&expected);
            assert!(error <= ROUNDING * scale, "{what}, result {k}, world {w}: off by {error:e} of {scale:e}");
        }
    }
    let [found, expected] = [found, expected].map(|of| cost(of, &mut Random::new(7))?.backward());
    let (found, expected) = (found?, expected?);
    for (name, variable) in variables {
        let [found, expected] = [&found, &expected].map(|of| of.get(variable).map(numbers).unwrap_or_default());
        let scale = largest(&expected);
        let none = vec![0.0; variable.elem_count()];
        let [found, expected] = [found, expected].map(|of| if of.is_empty() { none.clone() } else { of });
        let error = largest(found.iter().zip(&expected).map(|(a, b)| a - b));
        assert!(error <= ROUNDING * scale, "{what}: gradient in {name} off by {error:e} of {scale:e}");
    }
    Ok(())
}

/// The problem; and the forces of its solution, with all parameters that are not of the solve itself.
fn compare_scene(name: &str, scene: &Scene, stray: f64) -> Result<()> {
    let model = Model::new(scene, DType::F64, &Device::Cpu)?;
    let Batch { q, u, parameters, .. } = states::batch(&model, stray, WORLDS, &RANGES, &mut Random::new(51));
    let mut variables = vec![("q", Var::from_tensor(&q)?), ("u", Var::from_tensor(&u)?)];
    let parameters: Parameters = parameters.map(|name, t| {
        let variable = Var::from_tensor(t)?;
        let tensor = variable.as_tensor().clone();
        variables.push((name, variable));
        Ok(tensor)
    })?;
    let step = Quasidynamic::new(&model, &parameters)?;
    let formulas = Formulas { model: &model, parameters: &parameters };
    let (q, u) = (variables[0].1.as_tensor().clone(), variables[1].1.as_tensor().clone());
    let (found, (expected, _)) = (step.problem(&q, &u)?, formulas.problem(&q, &u)?);
    compare(
        &format!("{name}: problem"),
        &[&found.screws, &found.contacts, &found.problem],
        &[&expected.screws, &expected.contacts, &expected.problem],
        &variables,
    )?;

    // Of the same solution: what both make of its forces alone.
    let result = step.as_tensor_program().step(&q, &u)?;
    let solution = barrier(step.structure(), &found, model.params.max_iterations, None)?;
    let all = |[force, torque]: [&Tensor; 2]| Tensor::cat(&[&force.flatten_from(1)?, torque], 1);
    let expected = all(formulas.totals(&solution)?.each_ref())?;
    compare(&format!("{name}: forces"), &[&all([&result.force, &result.torque])?], &[&expected], &variables)
}

#[test]
fn shipped_scenes_by_both_laws() -> Result<()> {
    for (name, stray) in SCENES {
        for friction in Friction::ALL {
            let mut scene = Scene::load(format!("assets/scenes/{name}.toml"))?;
            scene.params.friction = friction;
            compare_scene(&format!("{name}, {friction:?}"), &scene, stray)?;
            scene.params.joint_limits = true;
            (scene.params.contact_distance, scene.params.fade) = (Some(0.05), 0.03);
            compare_scene(&format!("{name}, {friction:?}, limits, fading"), &scene, stray)?;
            scene.params.fade = 0.0;
            scene.params.torsion = 5e-3;
            compare_scene(&format!("{name}, {friction:?}, limits, cut, torsion"), &scene, stray)?;
        }
    }
    Ok(())
}

#[test]
fn pairs_with_room_for_many_contacts() -> Result<()> {
    let mut scene = solids::hand();
    compare_scene("hand of solids", &scene, 0.02)?;
    scene.params.torsion = 2e-3;
    (scene.params.contact_distance, scene.params.fade) = (Some(0.03), 0.02);
    compare_scene("hand of solids, torsion, fading", &scene, 0.02)
}

#[test]
fn articulated_objects() -> Result<()> {
    for freedom in [Freedom::Fixed, Freedom::Free, Freedom::Planar, Freedom::Translation] {
        let mut scene = jointed::door(freedom);
        scene.params.joint_limits = true;
        compare_scene(&format!("{freedom:?} door"), &scene, 0.02)?;
    }
    compare_scene("mimic", &jointed::mimic(), 0.02)?;
    let mut scene = jointed::with_elements();
    compare_scene("elements", &scene, 0.02)?;
    scene.params.joint_damping = false;
    compare_scene("elements, commanded joints without damping", &scene, 0.02)
}
