//! Settings of the contact solve, and its log, against solves that end earlier.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::description::{Collision, Freedom, Friction, Object, ObjectBody, PairRule, Scene, Shape};
use fingertip::solve::{Attempt, Report, Settings, Status};
use fingertip::step::{Iterate, Quasidynamic};
use fingertip::{Model, Overrides, shipped};

use support::{largest, numbers};

fn stepper(scene: &Scene) -> Quasidynamic {
    let model = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
    Quasidynamic::new(&model, &model.parameters).unwrap()
}

/// Steps of the shipped hand with its fingers closed on the ball.
fn hand() -> Scene {
    shipped::scene("hand_ball").unwrap()
}

fn operands(step: &Quasidynamic, scene: &Scene) -> (Tensor, Tensor) {
    let model = step.model();
    (model.home(1).unwrap(), model.tensor(&[&scene.control(0.3)[..]]).unwrap())
}

fn report(scene: &Scene) -> Report {
    let step = stepper(scene);
    let (q, u) = operands(&step, scene);
    step.step(&q, &u).unwrap().reports[0]
}

fn iterates(scene: &Scene) -> Vec<Iterate> {
    let step = stepper(scene);
    let (q, u) = operands(&step, scene);
    step.iterates(&q, &u).unwrap()
}

/// An iterate's residual, force and gap are those of a solve that ends there.
#[test]
fn the_log_is_that_of_solves_that_end_earlier() -> Result<()> {
    let mut scene = hand();
    let log = iterates(&scene);
    assert_eq!(log.len(), report(&scene).iterations);
    assert!(log[0].attempt == Attempt::PrimalDual && log[0].residual > log[log.len() - 1].residual, "{log:?}");
    for (n, iterate) in (1..).zip(&log) {
        scene.params.max_iterations = n;
        let step = stepper(&scene);
        let (q, u) = operands(&step, &scene);
        let ended = step.step(&q, &u)?;
        let sizes = |force: Vec<f64>| force.chunks(3).map(|f| f[0].hypot(f[1]).hypot(f[2])).fold(0.0, f64::max);
        let gap = numbers(&step.gaps(&q, &ended)?).into_iter().fold(f64::INFINITY, f64::min);
        assert_eq!((iterate.residual, iterate.gap), (ended.reports[0].residual, gap), "after {n}");
        assert_eq!(iterate.force, sizes(numbers(&ended.force)), "after {n}");
    }
    Ok(())
}

/// The memory of a log is that of logs before it: a long one leaves nothing in a short one.
#[test]
fn a_log_has_nothing_of_another() {
    let hard = |kappa| {
        let mut scene = hand();
        scene.params.kappa = kappa;
        scene
    };
    let (long, short) = (iterates(&hard(1e8)), iterates(&hard(1e4)));
    assert!(long.len() > short.len(), "{} {}", long.len(), short.len());
    assert_eq!(short.len(), report(&hard(1e4)).iterations);
}

/// Attempts have their names: the first by Coulomb's law has friction that is as stiff as it is at once.
#[test]
fn the_log_names_the_first_attempt() {
    let mut scene = hand();
    scene.params.friction = Friction::Coulomb;
    assert_eq!(iterates(&scene)[0].attempt, Attempt::AtOnce);
}

/// By Coulomb's law the last iterate is the step; where there is no answer with friction, the log says that it goes on
/// without.
#[test]
fn the_log_names_the_law() -> Result<()> {
    let mut scene = hand();
    scene.params.friction = Friction::Coulomb;
    let (log, report) = (iterates(&scene), report(&scene));
    assert_eq!((report.status, log.len()), (Status::Solved, report.iterations));
    assert!(log.iter().all(|iterate| iterate.friction == Some(Friction::Coulomb)), "{log:?}");
    assert_eq!(log[log.len() - 1].residual, report.residual);

    // A ball deep in a groove so steep that friction holds it there: see `tests/contact/wedge.rs`.
    let side = |name: &str, sign: f64| {
        let shape = Collision::half_space([sign * 0.25_f64.cos(), 0.0, 0.25_f64.sin()], 0.0).unwrap();
        let body = ObjectBody::Rigid { inertia: None, collisions: vec![shape] };
        Object { body, ..Object::fixed(name, Shape::sphere(1.0)) }
    };
    for friction in Friction::ALL {
        let ball = Object::rigid("ball", Shape::sphere(0.05), 0.2).with_freedom(Freedom::Free);
        let mut scene = Scene::new()
            .object(ball.at([0.0, 0.0, 0.045 / 0.25_f64.sin()]))
            .object(side("left", 1.0))
            .object(side("right", -1.0))
            .pair(PairRule::exclude("left", "right"));
        (scene.params.friction, scene.params.mu) = (friction, 1.0);
        let step = stepper(&scene);
        let (q, u) = (step.model().home(1)?, step.model().tensor(&[&[]])?);
        let (log, report) = (step.iterates(&q, &u)?, step.step(&q, &u)?.reports[0]);
        let last = &log[log.len() - 1];
        assert_eq!((log[0].friction, last.friction), (Some(friction), None), "{friction:?}");
        assert_eq!((report.status, last.residual), (Status::Frictionless, report.residual), "{friction:?}");
    }
    Ok(())
}

/// The relaxed law has one answer, whatever the way there.
#[test]
fn settings_change_the_way_and_not_the_answer() -> Result<()> {
    let mut scene = hand();
    let step = stepper(&scene);
    let (q, u) = operands(&step, &scene);
    let (expected, way) = (step.step(&q, &u)?, step.iterates(&q, &u)?);
    let default = Settings::default();
    for solver in [
        Settings { boundary_fraction: 0.6, ..default },
        Settings { primal_dual_iterations: 1, restart_kappa: 10.0, restart_growth: 3.0, ..default },
        Settings { primal_dual_iterations: 1, line_search_iterations: 1, line_search_slope: 0.5, ..default },
    ] {
        scene.params.solver = solver;
        let step = stepper(&scene);
        let (found, log) = (step.step(&q, &u)?, step.iterates(&q, &u)?);
        assert_eq!(found.reports[0].status, Status::Solved, "{solver:?}");
        assert!(log != way, "{solver:?} changes nothing");
        let apart = largest(numbers(&found.q_next).iter().zip(numbers(&expected.q_next)).map(|(a, b)| a - b));
        assert!(apart < 1e-9, "{solver:?}: {apart:e} apart");
    }
    Ok(())
}

/// The tolerance decides what counts as solved; the last error decides when a solve ends.
#[test]
fn tolerances_decide() {
    let mut scene = hand();
    let log = iterates(&scene);
    let early = 1 + log.iter().position(|iterate| iterate.residual < 1e-3).unwrap();
    let residual = log[early - 1].residual;
    assert!(residual > 1e-8, "{log:?}");
    scene.params.max_iterations = early;
    assert_eq!(report(&scene).status, Status::IterationLimit);
    scene.params.solver.tolerance = 2.0 * residual;
    assert_eq!(report(&scene).status, Status::Solved);
    scene.params.max_iterations = 200;
    scene.params.solver = Settings { last_error: 1e-4, ..Settings::default() };
    assert!(report(&scene).iterations < log.len(), "{log:?}");
}

#[test]
fn scene_files_and_overrides_have_settings() {
    let text = "[params]\nsolver = { tolerance = 1e-6, refinements = 2 }\n\
                [[object]]\nname = \"ball\"\nsphere = 0.1\nmass = 1\nfreedom = \"free\"\n";
    let scene = Scene::from_toml(text, ".").unwrap();
    let expected = Settings { tolerance: 1e-6, refinements: 2, ..Settings::default() };
    assert_eq!(scene.params.solver, expected);
    let with = |json: &str| Overrides::from_json(json).and_then(|overrides| overrides.params(&scene.params));
    let changed = with(r#"{"params": {"solver": {"tolerance": 1e-5}}}"#).unwrap();
    assert_eq!(changed.solver, Settings { tolerance: 1e-5, ..expected });
    for (json, message) in [
        (r#"{"params": {"solver": 3}}"#, "params: solver: expected an object, got 3"),
        (r#"{"params": {"solver": {"tolerans": 1}}}"#, "params: solver: unknown field `tolerans`"),
        (
            r#"{"params": {"solver": {"tolerance": 1}}}"#,
            "params: solver: tolerance: expected from 1e-12 to 0.01, got 1",
        ),
        (r#"{"params": {"solver": {"line_search_iterations": 0}}}"#, "expected from 1 to 100, got 0"),
    ] {
        let said = with(json).unwrap_err().to_string();
        assert!(said.contains(message), "{said}");
    }
}
