//! Rollouts against step-by-step simulation, their gradients against central differences.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::rollout::rollout;
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;

use support::{apart, largest, numbers, solids};

/// Five-point central differences with h = 2e-5: rounding of a cost of 1e2 and truncation (h over the millimetres on
/// which contact forces change)⁴ are both below; 5e-10 is seen.
const GRADIENT_TOLERANCE: f64 = 1e-8;

/// Gradients of the two forms add up in another order; forty steps in contact amplify that, to 1e-13 here.
const FORMS_TOLERANCE: f64 = 1e-11;

const STEPS: usize = 40;
const WORLDS: usize = 3;

/// The hand of the scene closing on the ball, in three worlds with different commands.
fn closing(scene: &Scene, model: &Model) -> Result<(Tensor, Tensor)> {
    let mut u = Vec::new();
    for world in 0..WORLDS {
        for t in 0..STEPS {
            let time = 3.0 * (t as f64) * scene.params.h;
            u.extend(scene.control(time).iter().map(|x| x + 0.01 * world as f64));
        }
    }
    Ok((model.home(WORLDS)?, Tensor::from_vec(u, (WORLDS, STEPS, model.nu()), &Device::Cpu)?))
}

fn cost(step: &Quasidynamic, q0: &Tensor, u: &Tensor) -> Result<Tensor> {
    let result = rollout(step, q0, u)?;
    result.q.narrow(2, 0, 3)?.sqr()?.sum_all()? * 100.0 + (result.force.sqr()?.sum_all()? * 0.1)?
}

#[test]
fn the_same_as_single_steps() -> Result<()> {
    let scene = Scene::load("assets/scenes/hand_ball.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let (q0, u) = closing(&scene, &model)?;
    let result = rollout(&step, &q0, &u)?;
    assert!(result.reports.iter().flatten().all(|report| report.status == Status::Solved));
    let (mut q, mut warm) = (q0, None);
    for t in 0..STEPS {
        let single = step.step_from(&q, &u.narrow(1, t, 1)?.squeeze(1)?.contiguous()?, warm.as_ref())?;
        let force = result.force.narrow(1, t, 1)?.squeeze(1)?;
        assert_eq!(force.to_vec3::<f64>()?, single.force.to_vec3::<f64>()?);
        (q, warm) = (single.q_next, Some(single.warm));
        assert_eq!(result.q.narrow(1, t + 1, 1)?.squeeze(1)?.to_vec2::<f64>()?, q.to_vec2::<f64>()?);
    }
    Ok(())
}

#[test]
fn the_same_as_the_tensor_program() -> Result<()> {
    for scene in [Scene::load("assets/scenes/cube_fingertips.toml")?, solids::hand()] {
        compare_with_the_tensor_program(&scene)?;
    }
    Ok(())
}

fn compare_with_the_tensor_program(scene: &Scene) -> Result<()> {
    let model = Model::new(scene, DType::F64, &Device::Cpu)?;
    let (q0, u) = closing(scene, &model)?;
    let (q0, u) = (Var::from_tensor(&q0)?, Var::from_tensor(&u)?);
    let mass = Var::from_tensor(&model.parameters.mass)?;
    let mut parameters = model.parameters.clone();
    parameters.mass = mass.as_tensor().clone();
    let fused = Quasidynamic::new(&model, &parameters)?;
    let program = fused.as_tensor_program();
    let (a, b) = (rollout(&fused, &q0, &u)?, rollout(&program, &q0, &u)?);
    let compare = |what: &str, a: &Tensor, b: &Tensor| -> Result<()> {
        let scale = largest(numbers(b));
        let error = apart(&numbers(a), &numbers(b));
        assert!(error <= FORMS_TOLERANCE * scale, "{what}: off by {error:e} of {scale:e}");
        Ok(())
    };
    assert!(numbers(&a.q) == numbers(&b.q) && numbers(&a.force) == numbers(&b.force), "other bits");
    let cost = |r: &fingertip::rollout::Rollout| r.q.sqr()?.sum_all()? + (r.force.sqr()?.sum_all()? * 0.1)?;
    let (x, y) = (cost(&a)?.backward()?, cost(&b)?.backward()?);
    for (name, variable) in [("q0", &q0), ("u", &u), ("mass", &mass)] {
        compare(name, x.get(variable).expect("tracked"), y.get(variable).expect("tracked"))?;
    }
    Ok(())
}

#[test]
fn gradients_in_state_controls_and_parameters() -> Result<()> {
    let scene = Scene::load("assets/scenes/hand_ball.toml")?;
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let (q0, u) = closing(&scene, &model)?;
    let (q0, u) = (Var::from_tensor(&q0)?, Var::from_tensor(&u)?);
    let variables = [
        ("mass", Var::from_tensor(&model.parameters.mass)?),
        ("mu", Var::from_tensor(&model.parameters.mu)?),
        ("sizes", Var::from_tensor(&model.parameters.sizes)?),
        ("stiffness", Var::from_tensor(&model.parameters.stiffness)?),
    ];
    let parameters = model.parameters.map(|name, t| {
        Ok(variables.iter().find(|v| v.0 == name).map_or_else(|| t.clone(), |v| v.1.as_tensor().clone()))
    })?;
    let step = Quasidynamic::new(&model, &parameters)?;
    let grads = cost(&step, &q0, &u)?.backward()?;

    let fixed = Quasidynamic::new(&model, &model.parameters)?;
    let compare = |name: &str, grad: &Tensor, at: usize, differ: &dyn Fn(f64) -> Result<f64>| -> Result<()> {
        let flat = numbers(grad);
        let h = 2e-5;
        let difference = (8.0 * (differ(h)? - differ(-h)?) - (differ(2.0 * h)? - differ(-2.0 * h)?)) / (12.0 * h);
        let scale = largest(&flat).max(1e-3);
        assert!((flat[at] - difference).abs() <= GRADIENT_TOLERANCE * scale, "{name}[{at}]: {} {difference}", flat[at]);
        Ok(())
    };
    let shifted = |t: &Tensor, at: usize, h: f64| -> Result<Tensor> {
        let mut values = numbers(t);
        values[at] += h;
        Tensor::from_vec(values, t.shape(), &Device::Cpu)
    };
    for at in [0, 2, 5, 30, 52] {
        let differ = |h: f64| cost(&fixed, &shifted(&q0, at, h)?, &u)?.to_scalar::<f64>();
        compare("q0", grads.get(&q0).expect("tracked"), at, &differ)?;
    }
    for at in [0, 7, 21 * 35 + 6, 21 * 60 + 2, 21 * 119 + 20] {
        let differ = |h: f64| cost(&fixed, &q0, &shifted(&u, at, h)?)?.to_scalar::<f64>();
        compare("u", grads.get(&u).expect("tracked"), at, &differ)?;
    }
    for (name, variable) in &variables {
        let differ = |h: f64| {
            let changed = model.parameters.map(|n, t| if n == *name { shifted(t, 0, h) } else { Ok(t.clone()) })?;
            cost(&fixed.with_parameters(&changed)?, &q0, &u)?.to_scalar::<f64>()
        };
        compare(name, grads.get(variable).expect("tracked"), 0, &differ)?;
    }
    Ok(())
}
