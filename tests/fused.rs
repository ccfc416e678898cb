//! The fused step against the tensor program: values and all gradients.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::Scene;
use fingertip::solve::Status;
use fingertip::step::{Form, Quasidynamic, Step};
use fingertip::{Model, Parameters};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Both forms solve to rounding; what is left is their different order of summation times the problem's condition.
const TOLERANCE: f64 = 1e-10;

const SCENES: [&str; 4] = ["hand_ball", "cube_fingertips", "two_fingers", "push"];
const WORLDS: usize = 21;

fn random(rng: &mut ChaCha8Rng, shape: (usize, usize), spread: f64) -> Result<Tensor> {
    let values: Vec<f64> = (0..shape.0 * shape.1).map(|_| rng.random_range(-spread..spread)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu)
}

fn all(step: &Step) -> Result<Vec<(&'static str, Tensor)>> {
    Ok(vec![
        ("q_next", step.q_next.clone()),
        ("delta", step.delta.clone()),
        ("force", step.force.flatten_from(1)?),
        ("phi", step.contacts.phi.clone()),
        ("normal", step.contacts.normal.flatten_from(1)?),
        ("point_a", step.contacts.point_a.flatten_from(1)?),
        ("point_b", step.contacts.point_b.flatten_from(1)?),
        ("limit_force", step.limit_force.clone()),
    ])
}

fn compare(what: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    if a.elem_count() == 0 {
        return Ok(());
    }
    let scale = b.abs()?.max_all()?.to_scalar::<f64>()?.max(1e-300);
    let error = (a - b)?.abs()?.max_all()?.to_scalar::<f64>()?;
    assert!(error <= TOLERANCE * scale, "{what}: fused off by {error:e} of {scale:e}");
    Ok(())
}

#[test]
fn the_same_values_and_gradients() -> Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for scene_name in SCENES {
        for (fade, limits) in [(None, false), (Some((0.05, 0.03)), true)] {
            let mut scene = Scene::load(format!("assets/scenes/{scene_name}.toml"))?;
            scene.params.joint_limits = limits;
            if let Some((distance, width)) = fade {
                (scene.params.contact_distance, scene.params.fade) = (Some(distance), width);
            }
            let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
            let q = (model.home(WORLDS)? + random(&mut rng, (WORLDS, model.nq()), 0.02)?)?;
            let home = model.home(WORLDS)?.narrow(1, model.nq() - model.nu(), model.nu())?;
            let u = (home + random(&mut rng, (WORLDS, model.nu()), 0.1)?)?;
            let (q, u) = (Var::from_tensor(&q)?, Var::from_tensor(&u)?);
            let mut variables: Vec<Var> = Vec::new();
            let parameters: Parameters = model.parameters.map(|_, t| {
                variables.push(Var::from_tensor(t)?);
                Ok(variables[variables.len() - 1].as_tensor().clone())
            })?;
            let fused = Quasidynamic::new(&model, &parameters)?;
            assert_eq!(fused.form(), Form::Fused, "{scene_name}");
            let program = fused.as_tensor_program();
            let (a, b) = (fused.step(&q, &u)?, program.step(&q, &u)?);
            let solved = b.reports.iter().filter(|r| r.status == Status::Solved).count();
            assert!(2 * solved > WORLDS, "{scene_name}: only {solved} worlds solved");
            for (x, y) in a.reports.iter().zip(&b.reports) {
                assert_eq!(x.status, y.status, "{scene_name}");
            }
            let mut rng = ChaCha8Rng::seed_from_u64(2);
            let mut costs = Vec::new();
            let (results_a, results_b) = (all(&a)?, all(&b)?);
            for ((name, x), (_, y)) in results_a.iter().zip(&results_b) {
                compare(&format!("{scene_name} {name}"), x, y)?;
            }
            for ((_, x), (_, y)) in results_a.iter().zip(&results_b) {
                let weights = random(&mut rng, x.dims2()?, 1.0)?;
                costs.push(((x * &weights)?.sum_all()?, (y * &weights)?.sum_all()?));
            }
            let total = |pick: fn(&(Tensor, Tensor)) -> &Tensor| -> Result<Tensor> {
                Tensor::stack(&costs.iter().map(pick).collect::<Vec<_>>(), 0)?.sum_all()
            };
            let (grads_a, grads_b) = (total(|c| &c.0)?.backward()?, total(|c| &c.1)?.backward()?);
            let names = ["q", "u"].iter().chain(Parameters::NAMES);
            for (name, variable) in names.zip([&q, &u].into_iter().chain(&variables)) {
                let zero = variable.zeros_like()?;
                let (x, y) = (grads_a.get(variable).unwrap_or(&zero), grads_b.get(variable).unwrap_or(&zero));
                compare(&format!("{scene_name} gradient in {name}"), x, y)?;
            }
        }
    }
    Ok(())
}
