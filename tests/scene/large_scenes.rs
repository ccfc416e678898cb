//! Large scenes and meshes are set up in a time that grows with their size, and are what they should be.

use std::f64::consts::PI;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Friction, Hull, Object, ObjectBody, Params, Scene, Shape};
use fingertip::math::largest::largest;
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, StepCotangent};
use nalgebra::Vector3;
use support::large;

/// Ten times what the slowest of these takes on two cores of 2022, and half of what the fastest took that grew with the
/// third power of its size.
const PATIENCE: Duration = Duration::from_secs(12);

fn timed<T>(what: &str, call: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = call();
    println!("{what}: {:.2} s", start.elapsed().as_secs_f64());
    assert!(start.elapsed() < PATIENCE, "{what} took {:?}", start.elapsed());
    result
}

fn set_up(scene: &Scene) -> Quasidynamic {
    let model = Model::new(scene, DType::F64, &Device::Cpu).unwrap();
    Quasidynamic::new(&model, &model.parameters).unwrap()
}

#[test]
fn two_hundred_balls() {
    let step = timed("200 balls", || set_up(&large::balls(200)));
    assert_eq!((step.model().nv(), step.model().nc()), (1200, 19_900));
}

#[test]
fn a_thousand_joints() {
    let step = timed("1,000 joints", || set_up(&large::chain(1000, false).unwrap()));
    assert_eq!((step.model().nu(), step.model().nc()), (1000, 2));
}

#[test]
fn two_thousand_fixed_joints() {
    let step = timed("2,000 fixed joints", || set_up(&large::chain(2000, true).unwrap()));
    assert_eq!((step.model().nu(), step.model().tree.bodies.len()), (1, 2004));
}

/// The hull that a scene's one mesh becomes.
fn hull(what: &str, file: &str, bytes: impl AsRef<[u8]>) -> Arc<Hull> {
    let folder = std::env::temp_dir().join(format!("fingertip-large-{file}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(file), bytes).unwrap();
    let text = format!("[[object]]\nname = \"it\"\nmesh = \"{file}\"\nmass = 1\nfreedom = \"free\"\n");
    let scene = timed(what, || Scene::from_toml(&text, &folder).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    let ObjectBody::Rigid { collisions, .. } = &scene.objects[0].body else { panic!("a rigid object") };
    let Shape::Hull(hull) = &collisions[0].shape else { panic!("a hull") };
    hull.clone()
}

/// The volume is that of the ball less what 2 n triangles cut off: √3 π/n of it where they are equilateral, 2π/n where
/// two make a square; the lattice is in between.
#[test]
fn a_hundred_thousand_points() {
    let n = 100_000;
    let points = large::ball_points(n);
    let hull = hull("10⁵ points", "ball.obj", large::obj(&points));
    let solid = hull.solid();
    let missing = 1.0 - solid.mass / (4.0 / 3.0 * PI);
    let parts = missing * n as f64 / PI;
    assert!((3.0_f64.sqrt()..2.0).contains(&parts), "{parts} π/n");
    assert!(solid.com.amax() < 1e-6, "{:?}", solid.com);
    let (vertices, faces) = (hull.vertices().len(), hull.faces().len());
    assert!(vertices > 90_000 && faces > vertices, "{vertices} vertices, {faces} faces");
    // Mesh files hold single precision; a side's plane passes up to 1e-6 of the size by its points.
    for face in hull.faces().iter().step_by(100) {
        assert!(points.iter().all(|&point| face.height(&point.into()) < 1e-6));
    }
}

#[test]
fn a_million_triangles() {
    let hull = hull("10⁶ triangles", "ball.stl", large::stl(1_000_000, 0.05));
    assert!(hull.vertices().len() > 100);
    let farthest = largest(hull.vertices().iter().map(|&v| Vector3::from(v).norm()));
    assert!((farthest - 1.05).abs() < 1e-3, "{farthest}");
}

/// What a row of boxes on the ground is asked: the number of boxes, and how far each is from the next, m.
const BOXES: usize = 8;
const APART: f64 = 1.0;

fn boxes(n: usize, friction: Friction) -> Scene {
    let scene = (0..n).fold(Scene::new().object(Object::ground("ground", 0.0)), |scene, k| {
        let shape = Shape::cuboid([0.05, 0.04, 0.03]);
        scene.object(Object::rigid(format!("box {k}"), shape, 0.2).at([k as f64 * APART, 0.0, 0.031]))
    });
    let params = Params { friction, torsion: 1e-3, kappa: 1e5, ..Params::default() };
    scene.with_params(Params { contact_distance: Some(0.05), ..params })
}

/// Poses of boxes: each stands a little aslant, at its own height. In the last world, the first two stand on each
/// other.
fn poses(worlds: usize) -> Vec<f64> {
    let pose = |world: usize, k: usize| {
        let on_top = world + 1 == worlds && k == 1;
        let (turn, x) = (0.02 * (world as f64 - 1.5) * (k as f64 - 3.0), if on_top { 0.01 } else { k as f64 * APART });
        let height = if on_top { 0.092 } else { 0.0305 } + 1e-4 * ((3 * world + 7 * k) % 11) as f64;
        [x, 0.0, height, (turn / 2.0).cos(), 0.1 * (turn / 2.0).sin(), 0.0, 0.99_f64.sqrt() * (turn / 2.0).sin()]
    };
    (0..worlds).flat_map(|world| (0..BOXES).flat_map(move |k| pose(world, k))).collect()
}

/// The row has hundreds of contacts that are nowhere, in blocks that the solve passes over. Each box moves as if it
/// were alone, and the two that stand on each other as if they were the only ones; so do their derivatives.
#[test]
fn boxes_far_apart_do_not_know_of_each_other() {
    const WORLDS: usize = 5;
    for friction in [Friction::Relaxed, Friction::Coulomb] {
        let run = |n: usize, q: &[f64]| {
            let step = set_up(&boxes(n, friction));
            let solved = |from: &[f64], warm: &[f64]| {
                let next = step.step_numbers(from, &[], warm).unwrap();
                assert!(next.reports.iter().all(|report| report.status == Status::Solved), "{:?}", next.reports);
                next
            };
            let next = solved(q, &[]);
            let weights: Vec<f64> = (0..q.len()).map(|i| 1.0 + (i % 7) as f64).collect();
            let by = StepCotangent { q_next: &weights, ..StepCotangent::default() };
            let gradient = step.vjp(q, &[], &next, &by).unwrap().q;
            // And a second step from the first one's forces.
            let warm = solved(&next.q_next, &next.warm);
            (step.model().nc(), [next.q_next, gradient, warm.q_next])
        };
        let q = poses(WORLDS);
        let (nc, all) = run(BOXES, &q);
        let mut worst = 0.0;
        assert!(nc > 500, "{nc} contacts");
        for world in 0..WORLDS {
            let is_stacked = |k: usize| world + 1 == WORLDS && k < 2;
            for k in (0..BOXES).filter(|&k| k == 0 || !is_stacked(k)) {
                let n = if is_stacked(k) { 2 } else { 1 };
                let own = 7 * (world * BOXES + k)..7 * (world * BOXES + k + n);
                let (_, alone) = run(n, &q[own.clone()]);
                for (all, alone) in all.iter().zip(&alone) {
                    let size = largest(alone);
                    let off = largest(all[own.clone()].iter().zip(alone).map(|(x, y)| x - y)) / size;
                    worst = largest([worst, off]);
                    // 7e-15 is seen; a block that is left out by mistake makes 2e-5.
                    assert!(off < 1e-12, "{friction:?}, world {world}, box {k}: {off:e} of {size}");
                }
            }
        }
        println!("{friction:?}: {worst:e}");
    }
}
