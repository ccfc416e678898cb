//! Loops of links that connections close, against the closed form of a four-bar linkage.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::description::{Connection, Scene};
use fingertip::solve::Method;
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Quasidynamic};

const CRANK: f64 = 0.08;
const COUPLER: f64 = 0.25;
const FOLLOWER: f64 = 0.15;
const GROUND: f64 = 0.3;

/// The linkage, which the crank's command drives; gravity is across it.
fn scene(more: &str) -> Scene {
    let text = format!(
        "[[robot]]\nname = \"bar\"\nurdf = \"four_bar.urdf\"\nstiffness = 20\npassive = [\"coupler\", \"follower\"]\n\
         home = {{ crank = {}, coupler = {}, follower = {} }}\n\
         connections = [{{ a = \"coupler\", at_a = [{COUPLER}, 0, 0], b = \"follower\", at_b = [{FOLLOWER}, 0, 0] }}]\n{more}",
        closed(1.0)[0],
        closed(1.0)[1],
        closed(1.0)[2]
    );
    Scene::from_toml(&text, "tests/joints").unwrap_or_else(|error| panic!("{error}"))
}

/// The angles of crank, coupler and follower where the loop is closed, by the law of cosines; the coupler's is relative
/// to the crank.
fn closed(crank: f64) -> [f64; 3] {
    let (x, y) = (CRANK * crank.cos(), CRANK * crank.sin());
    let (dx, dy) = (GROUND - x, -y);
    let far = dx.hypot(dy);
    let beside = ((COUPLER * COUPLER + far * far - FOLLOWER * FOLLOWER) / (2.0 * COUPLER * far)).acos();
    let coupler = dy.atan2(dx) + beside;
    let (tip_x, tip_y) = (x + COUPLER * coupler.cos() - GROUND, y + COUPLER * coupler.sin());
    [crank, coupler - crank, tip_y.atan2(tip_x)]
}

/// How far the connected points are apart, m.
fn open(q: &[f64]) -> f64 {
    let x = CRANK * q[0].cos() + COUPLER * (q[0] + q[1]).cos() - GROUND - FOLLOWER * q[2].cos();
    let y = CRANK * q[0].sin() + COUPLER * (q[0] + q[1]).sin() - FOLLOWER * q[2].sin();
    x.hypot(y)
}

/// d follower/d crank of the closed linkage.
fn ratio(crank: f64) -> f64 {
    let d = 1e-6;
    (closed(crank + d)[2] - closed(crank - d)[2]) / (2.0 * d)
}

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

fn row(model: &Model, x: &[f64]) -> Tensor {
    model.tensor(&[x]).unwrap()
}

fn numbers(t: &Tensor) -> Vec<f64> {
    t.flatten_all().unwrap().to_vec1().unwrap()
}

fn assert_near(found: &[f64], expected: &[f64], bound: f64) {
    let error = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(found.len() == expected.len() && error <= bound, "{found:?} are not {expected:?}: {error:e}");
}

/// Steps under one command until nothing moves.
fn settle(model: &Model, parameters: &fingertip::Parameters, u: f64, steps: usize) -> Result<Vec<f64>> {
    let step = Quasidynamic::new(model, parameters)?;
    let mut q = model.home(1)?;
    for _ in 0..steps {
        q = step.step(&q, &row(model, &[u]))?.q_next;
    }
    Ok(numbers(&q))
}

/// A turn of the crank takes the whole linkage along.
#[test]
fn a_driven_linkage() -> Result<()> {
    let model = model(&scene(""));
    assert_eq!((model.nu(), model.tree.connections[0].name.as_str()), (1, "bar/coupler+follower"));
    for u in [1.3, 0.2, -0.9, 2.5] {
        assert_near(&settle(&model, &model.parameters, u, 100)?, &closed(u), 1e-9);
    }
    Ok(())
}

/// A torque T on the follower turns the crank by T · ratio/K, and pulls the points F/k apart, F being its force at the
/// follower's end.
#[test]
fn a_loaded_linkage() -> Result<()> {
    let model = model(&scene(""));
    let torque = 0.2;
    let mut parameters = model.parameters.clone();
    parameters.tau = row(&model, &[0.0, 0.0, torque]);
    let q = settle(&model, &parameters, 1.0, 200)?;
    // As stiff as it is, the loop opens by micrometres.
    let turned = closed(q[0]);
    assert_near(&q, &turned, 1e-3);
    let expected = 1.0 + torque * ratio(q[0]) / 20.0;
    assert!((q[0] - expected).abs() < 2e-5, "{} is not {expected}", q[0]);
    // The coupler carries no load but at its ends: the force is along it.
    let across = (q[0] + q[1] - q[2]).sin().abs();
    let force = torque / (FOLLOWER * across);
    let apart = open(&q);
    assert!(
        (apart - force / Connection::STIFFNESS).abs() < 1e-3 * apart,
        "{apart:e} is not {:e}",
        force / Connection::STIFFNESS
    );
    Ok(())
}

/// The second-order step keeps the loop closed while it swings, by both models of contact.
#[test]
fn a_swinging_linkage() -> Result<()> {
    let mut scene = scene("");
    scene.gravity = [0.0, -9.81, 0.0];
    scene.params.h = 1e-3;
    let model = model(&scene);
    for contact in [ContactModel::Barrier, ContactModel::Rigid(Method::Lemke)] {
        let step = Dynamic::new(&model, &model.parameters, DynamicParams { contact, ..DynamicParams::default() })?;
        let (mut q, mut v) = (model.home(1)?, row(&model, &[0.0; 3]));
        let tau = row(&model, &[0.0; 3]);
        let mut most: f64 = 0.0;
        for _ in 0..500 {
            let next = step.step(&q, &v, &tau)?;
            (q, v) = (next.q_next, next.v_next);
            let q = numbers(&q);
            // Forces of tens of newtons.
            assert!(open(&q) < 5e-4, "{q:?} is open by {}", open(&q));
            most = most.max((q[0] - 1.0).abs());
        }
        assert!(most > 0.5, "it swings by {most} only");
    }
    Ok(())
}

/// What stands on a floating base is the same in any pose of the base.
#[test]
fn a_linkage_on_a_floating_base() -> Result<()> {
    let mut free = scene("freedom = \"free\"\n");
    free.gravity = [0.0; 3];
    let model = model(&free);
    let step = Quasidynamic::new(&model, &model.parameters)?;
    let base = nalgebra::UnitQuaternion::from_euler_angles(0.3, -0.8, 1.9);
    let home = [[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.4, -0.2, 0.7, base.w, base.i, base.j, base.k]];
    let joints = home.map(|base| {
        let q = [&base[..], &[0.9, -0.4, 2.0]].concat();
        let next = step.step(&row(&model, &q), &row(&model, &[1.2])).unwrap();
        numbers(&next.delta)[6..].to_vec()
    });
    assert_near(&joints[0], &joints[1], 1e-10);
    Ok(())
}

/// One error that names the place and what was expected.
#[test]
fn what_cannot_be() {
    let of = |connection: &str| {
        let text = format!("[[robot]]\nname = \"bar\"\nurdf = \"four_bar.urdf\"\nconnections = [{connection}]\n");
        Scene::from_toml(&text, "tests/joints").unwrap_err().to_string()
    };
    for (connection, expected) in [
        (
            "{ a = \"coupler\", b = \"folower\" }",
            "connection 1: b: there is no link \"folower\"; did you mean \"follower\"?",
        ),
        ("{ a = \"crank\", b = \"crank\" }", "connection 1: links: expected two, got \"crank\" twice"),
        ("{ a = \"crank\", b = \"follower\", stiffness = 0 }", "connection 1: stiffness: expected a positive number"),
        ("{ a = \"crank\", b = \"follower\", at_b = [nan, 0, 0] }", "connection 1: point: expected a finite number"),
        ("{ a = \"crank\" }", "missing field `b`"),
    ] {
        let error = of(connection);
        assert!(error.contains(expected), "{error}\nis not {expected}");
    }
}
