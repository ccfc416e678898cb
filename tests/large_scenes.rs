//! Large scenes and meshes are set up in a time that grows with their size, and are what they should be.

#[path = "support/large.rs"]
mod large;

use std::f64::consts::PI;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::description::{Hull, ObjectBody, Scene, Shape};
use fingertip::math::largest::largest;
use fingertip::step::Quasidynamic;
use nalgebra::Vector3;

/// Ten times what the slowest of these takes on two cores of 2022, and half of what the fastest took that grew with the third
/// power of its size.
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

/// The volume is that of the ball less what 2 n triangles cut off: √3 π/n of it where they are equilateral, 2π/n where two
/// make a square; the lattice is in between.
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
