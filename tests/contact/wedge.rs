//! A ball that is pressed deep into a steep groove has no way out with friction: the step takes it out without.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::{Collision, Freedom, Friction, Object, ObjectBody, PairRule, Scene, Shape};
use fingertip::solve::Status;
use fingertip::step::{Linearization, Quasidynamic, Step};
use fingertip::{Model, Parameters};

use support::{largest, numbers, rows};

/// Angle of the groove's sides to the vertical, rad.
const STEEP: f64 = 0.25;
const RADIUS: f64 = 0.05;
/// How deep the ball is in both sides, m.
const DEEP: f64 = 0.005;

fn scene(friction: Friction, mu: f64, torsion: f64) -> Scene {
    let side = |name: &str, sign: f64| {
        let shape = Collision::half_space([sign * STEEP.cos(), 0.0, STEEP.sin()], 0.0).unwrap();
        let body = ObjectBody::Rigid { inertia: None, collisions: vec![shape] };
        let fixed = Object::fixed(name, Shape::sphere(1.0));
        Object { body, ..fixed }
    };
    let height = (RADIUS - DEEP) / STEEP.sin();
    let mut scene = Scene::new()
        .object(Object::rigid("ball", Shape::sphere(RADIUS), 0.2).with_freedom(Freedom::Free).at([0.0, 0.0, height]))
        .object(side("left", 1.0))
        .object(side("right", -1.0))
        .pair(PairRule::exclude("left", "right"));
    (scene.params.friction, scene.params.mu, scene.params.torsion) = (friction, mu, torsion);
    scene
}

fn stepper(scene: &Scene) -> Quasidynamic {
    let model = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
    Quasidynamic::new(&model, &model.parameters).unwrap()
}

fn apart(a: &Tensor, b: &Tensor) -> f64 {
    largest(numbers(a).iter().zip(numbers(b)).map(|(a, b)| a - b))
}

/// Gradients of a cost of all results by q and the parameters.
fn gradients(step: &Quasidynamic) -> Result<Vec<(String, Vec<f64>)>> {
    let q = Var::from_tensor(&step.model().home(1)?)?;
    let mut vars = Vec::new();
    let parameters = step.parameters().map(|name, t| {
        let var = Var::from_tensor(t)?;
        vars.push((name.to_owned(), var.clone()));
        Ok(var.as_tensor().clone())
    })?;
    let u = step.model().tensor(&[&[]])?;
    let Step { q_next, force, .. } = step.with_parameters(&parameters)?.step(&q, &u)?;
    let weights = |n: usize| Tensor::arange(1.0, n as f64 + 1.0, &Device::Cpu);
    let cost = (q_next.flatten_all()? * weights(7)?)?.sum_all()?;
    let cost = (cost + (force.flatten_all()? * weights(6)?)?.sum_all()?)?.backward()?;
    vars.insert(0, ("q".to_owned(), q));
    let of = |(name, var): (String, Var)| {
        let grad = cost.get(&var).map_or_else(|| vec![0.0; var.elem_count()], numbers);
        (name, grad)
    };
    Ok(vars.into_iter().map(of).collect())
}

/// By both laws, with and without torsional friction and in both forms: the step, its Jacobians and its gradients are
/// those of the relaxed law in the scene without friction; the next step has friction again.
#[test]
fn a_wedged_ball_gets_out_without_friction() -> Result<()> {
    for friction in Friction::ALL {
        for torsion in [0.0, 0.01] {
            let place = format!("{friction:?}, torsion {torsion}");
            let (rough, smooth) =
                (stepper(&scene(friction, 1.0, torsion)), stepper(&scene(Friction::Relaxed, 0.0, 0.0)));
            let (q, u) = (rough.model().home(1)?, rough.model().tensor(&[&[]])?);
            let expected = smooth.step(&q, &u)?;
            assert_eq!(expected.reports[0].status, Status::Solved, "{place}");
            for step in [rough.clone(), rough.as_tensor_program()] {
                let found = step.step(&q, &u)?;
                assert_eq!(found.reports[0].status, Status::Frictionless, "{place}");
                assert!(apart(&found.q_next, &expected.q_next) < 1e-12, "{place}");
                assert!(apart(&found.force, &expected.force) < 1e-9, "{place}");
                let up = rows(&found.q_next)[0][2] - rows(&q)[0][2];
                assert!((up - DEEP / STEEP.sin()).abs() < 0.1 * up, "{place}: it rises by {up}");
                // It is out, and friction holds it from then on.
                let next = step.step(&found.q_next, &u)?;
                assert_eq!(next.reports[0].status, Status::Solved, "{place}");

                let Linearization { a, c, .. } = step.linearize(&q, &u)?;
                let of = smooth.linearize(&q, &u)?;
                let forces = c.narrow(1, 0, 6)?;
                assert!(apart(&a, &of.a) < 1e-9, "{place}: A");
                let size = largest(numbers(&of.c).iter().copied());
                assert!(apart(&forces, &of.c) < 1e-9 * size, "{place}: C");
                for ((name, found), (_, expected)) in gradients(&step)?.into_iter().zip(gradients(&smooth)?) {
                    let size = largest(expected.iter().copied());
                    if Parameters::NAMES.contains(&name.as_str()) && ["mu", "torsion"].contains(&name.as_str()) {
                        assert!(largest(found.iter().copied()) < 1e-9, "{place}: {name} has no effect: {found:?}");
                        continue;
                    }
                    let off = largest(found.iter().zip(&expected).map(|(a, b)| a - b));
                    // Of what has no effect at all, an inertia, 2.4e-11 are left.
                    let bound = if size == 0.0 { 1e-10 } else { 1e-9 * size };
                    assert!(off <= bound, "{place}: {name} off by {off:e} of {size:e}");
                }
            }
        }
    }
    Ok(())
}
