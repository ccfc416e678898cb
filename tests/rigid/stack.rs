//! Cubes that fall on each other and come to rest, faces on faces, edges on walls: one v₊, whoever solves. Forces are
//! redundant there, and many contacts touch without force.

use candle_core::Result;
use fingertip::description::{Object, Scene, Shape};
use fingertip::scenes::{CubeContact, Cubes};
use fingertip::solve::{Method, Status};
use fingertip::step::{ContactModel, Dynamic, DynamicParams};

use super::problems::model;
use support::{apart, larger, row};

/// Of v₊, m/s and rad/s: rounding over the smallest parts of D that contacts which depend on each other leave; 2e-11 is
/// seen.
const SAME: f64 = 2e-10;

/// Steps from home at rest, Lemke's answer leading; the state of each goes to all methods.
fn compare(name: &str, mut scene: Scene, steps: usize) -> Result<()> {
    scene.params.h = 5e-3;
    let model = model(&scene);
    let contact = ContactModel::Rigid(Method::Lemke);
    let step = Dynamic::new(&model, &model.parameters, DynamicParams { contact, ..DynamicParams::default() })?;
    let (mut q, mut v) = (model.home(1)?, row(&vec![0.0; model.nv()]));
    let tau = v.clone();
    let (mut worst, mut redundant) = (0.0_f64, 0);
    for k in 0..steps {
        let problem = step.rigid_contact(&q, &v, &tau)?.remove(0).expect("M is positive definite").problem;
        let lemke = problem.solve(Method::Lemke);
        assert_eq!(lemke.status, Status::Solved, "{name}, step {k}: residual {:e}", lemke.residual);
        for method in [Method::PrimalQp, Method::DualQp] {
            let impact = problem.solve(method);
            assert_eq!(impact.status, Status::Solved, "{name}, step {k}, {method:?}: residual {:e}", impact.residual);
            worst = larger(worst, apart(impact.v_next.as_slice(), lemke.v_next.as_slice()));
            assert!(worst <= SAME, "{name}, step {k}, {method:?}: v₊ off by {worst:e}");
            // Other forces for the same motion.
            redundant += usize::from((&impact.impulse - &lemke.impulse).amax() > SAME);
        }
        let next = step.step(&q, &v, &tau)?;
        (q, v) = (next.q_next, next.v_next);
    }
    println!("{name}: {steps} steps, v₊ apart by {worst:.1e}, other impulses in {redundant} answers");
    assert!(redundant > steps / 4, "{name}: contacts should depend on each other, did in {redundant} answers only");
    Ok(())
}

#[test]
fn fallen_cubes_between_walls() -> Result<()> {
    compare("faces", Cubes { walls: Some(0.3), ..Cubes::default() }.scene(), 2000)
}

#[test]
fn cubes_of_corners() -> Result<()> {
    compare("corners", Cubes { contact: CubeContact::Corners, ..Cubes::default() }.scene(), 400)
}

#[test]
fn a_tower() -> Result<()> {
    let cube = |k: u8| {
        let cube = Object::rigid(format!("cube{k}"), Shape::cuboid([0.1; 3]), 1.0);
        cube.at([0.0, 0.0, 0.1 + 0.2 * f64::from(k)])
    };
    let scene = Scene::new().object(Object::ground("floor", 0.0));
    compare("tower", (0..3).map(cube).fold(scene, Scene::object), 200)
}
