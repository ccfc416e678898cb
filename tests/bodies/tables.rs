//! Planar objects on tables, against closed forms of the ellipsoidal limit surface: Goyal, Ruina and Papadopoulos,
//! "Planar sliding with dry friction", 1991; Lynch, Maekawa and Tanie, "Manipulation and active sensing by pushing
//! using tactile feedback", 1992.

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::description::{Collision, Freedom, Inertia, Object, ObjectBody, Scene, Shape, Table};
use fingertip::solve::Status;
use fingertip::step::{ContactModel, Dynamic, DynamicParams, Quasidynamic};

use support::jointed::pushed_on_table;
use support::rows;

const G: f64 = 9.81;
const MU: f64 = 0.3;
const MASS: f64 = 0.5;

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// A disc of 5 cm on a table, with nothing around it.
fn disc() -> Object {
    let disc = Object::rigid("disc", Shape::cylinder(0.05, 0.02), MASS);
    disc.with_freedom(Freedom::Planar).on_table(Table { friction: MU, radius: None })
}

fn alone(object: Object, kappa: f64) -> Scene {
    let mut scene = Scene::new().object(object);
    (scene.params.kappa, scene.params.epsilon) = (kappa, 0.1);
    scene
}

fn radius(object: &Object) -> f64 {
    object.table_radius().unwrap()
}

/// Discs, boxes and what is made of them have the radius of uniform pressure on what they cover.
#[test]
fn footprints() {
    let near = |found: f64, expected: f64, error: f64| {
        assert!((found / expected - 1.0).abs() < error, "{found}, expected {expected}");
    };
    let table = Table { friction: MU, radius: None };
    let of = |shapes: Vec<Collision>| radius(&Object::compound("o", shapes, 1.0).on_table(table));
    let one = |shape: Shape| of(vec![Collision::centred(shape)]);
    let disc = 2.0 / 3.0 * 0.05;
    for shape in [Shape::sphere(0.05), Shape::cylinder(0.05, 0.3), Shape::ellipsoid([0.05, 0.05, 0.1])] {
        near(one(shape), disc, 1e-6);
    }
    // The mean distance of a square's points from its middle.
    let square = (std::f64::consts::SQRT_2 + 1.0_f64.asinh()) / 6.0;
    near(one(Shape::cuboid([0.1, 0.1, 0.02])), 0.2 * square, 1e-9);
    // Two halves are the whole, and so are two that overlap.
    for [width, apart] in [[0.05, 0.05], [0.07, 0.03]] {
        let half = |x| Collision::at(Shape::cuboid([width, 0.1, 0.02]), [x, 0.0, 0.0]);
        near(of(vec![half(apart), half(-apart)]), 0.2 * square, 1e-9);
    }
    // A capsule that lies along x, and a T, by midpoints of a fine grid.
    let lying = nalgebra::Isometry3::rotation(nalgebra::Vector3::y() * std::f64::consts::FRAC_PI_2);
    let capsule = of(vec![Collision::new(Shape::capsule(0.02, 0.03), lying)]);
    near(capsule, mean(&|x, y| (x.abs() - 0.03_f64).max(0.0).hypot(y) < 0.02, [0.0, 0.0]), 1e-4);
    let bars = vec![
        Collision::at(Shape::cuboid([0.06, 0.015, 0.02]), [0.0, 0.015, 0.0]),
        Collision::at(Shape::cuboid([0.015, 0.045, 0.02]), [0.0, -0.045, 0.0]),
    ];
    let covers = |x: f64, y: f64| {
        (x.abs() < 0.06 && (0.0..0.03).contains(&y)) || (x.abs() < 0.015 && (-0.09..=0.0).contains(&y))
    };
    // Areas 4 and 3: the middle is at (4 · 1.5 − 3 · 4.5)/7 cm.
    near(of(bars), mean(&covers, [0.0, (4.0 * 0.015 - 3.0 * 0.045) / 7.0]), 1e-4);
    let given = Object::rigid("o", Shape::sphere(0.05), 1.0).on_table(Table { radius: Some(0.02), ..table });
    near(radius(&given), 0.02, 1e-15);
}

/// The mean distance from a point of all that `covers` says within 10 cm of the origin.
fn mean(covers: &dyn Fn(f64, f64) -> bool, from: [f64; 2]) -> f64 {
    let at = |k: i32| f64::from(k) * 1e-4 + 0.5e-4;
    let (mut n, mut sum) = (0.0, 0.0);
    for (x, y) in (-1000..1000).flat_map(|i| (-1000..1000).map(move |j| (at(i), at(j)))).filter(|&(x, y)| covers(x, y))
    {
        (n, sum) = (n + 1.0, sum + (x - from[0]).hypot(y - from[1]));
    }
    sum / n
}

/// δ and the table's force of a step from rest under a force and a torque.
fn pulled(model: &Model, tau: [f64; 3]) -> (Vec<f64>, Vec<f64>) {
    let mut parameters = model.parameters.clone();
    parameters.tau = model.tensor(&[&tau]).unwrap();
    let step = Quasidynamic::new(model, &parameters).unwrap();
    let step = step.step(&model.home(1).unwrap(), &empty()).unwrap();
    assert_eq!(step.reports[0].status, Status::Solved, "{tau:?}: {:?}", step.reports[0]);
    (rows(&step.delta).remove(0), rows(&step.limit_force).remove(0))
}

fn empty() -> Tensor {
    Tensor::zeros((1, 0), DType::F64, &Device::Cpu).unwrap()
}

/// A force below F, or a torque below F c, moves it by no more than the creep; beyond, what is left of it accelerates
/// it: P δ = f − F.
#[test]
fn it_sticks_up_to_its_limits() {
    let (most, c) = (MU * MASS * G, 2.0 / 3.0 * 0.05);
    for kappa in [1e3, 1e5, 1e7] {
        let scene = alone(disc(), kappa);
        let model = model(&scene);
        let inertia = [MASS, MASS, MASS * 0.05 * 0.05 / 2.0];
        let per = scene.params.epsilon / (scene.params.h * scene.params.h);
        for axis in 0..3 {
            let lever = [1.0, 1.0, c][axis];
            for part in [0.2, 0.9, 0.999, 1.1, 3.0, 100.0] {
                let mut tau = [0.0; 3];
                tau[axis] = part * most * lever;
                let (delta, force) = pulled(&model, tau);
                // P δ + F a/(1 + √(1 + a²)) = f by bisection, a = κ F c δ.
                let (mut low, mut high) = (0.0, tau[axis] / (per * inertia[axis]));
                for _ in 0..200 {
                    let middle: f64 = 0.5 * (low + high);
                    let a = kappa * most * lever * middle;
                    let left = per * inertia[axis] * middle + most * lever * a / (1.0 + a.hypot(1.0));
                    if left < tau[axis] { low = middle } else { high = middle }
                }
                let error = (delta[axis] / low - 1.0).abs();
                assert!(error < 1e-7, "axis {axis}, {part} of the limit, κ = {kappa:e}: {} not {low}", delta[axis]);
                assert!(force[axis] <= 0.0 && force[axis].abs() < most, "{force:?}");
                if part < 1.0 {
                    let creep = 2.0 * part / ((1.0 - part * part) * kappa * most * lever);
                    assert!(delta[axis] <= creep, "it creeps by {}, more than {creep}", delta[axis]);
                } else if kappa > 1e6 && part > 2.0 {
                    let exact = (tau[axis] - most * lever) / (per * inertia[axis]);
                    assert!((delta[axis] / exact - 1.0).abs() < 1e-3, "{} {exact}", delta[axis]);
                }
            }
        }
    }
}

/// What slides and turns does so along the normal of the ellipsoid: (v, ω) ∥ (f, τ/c²), and the force is on it.
#[test]
fn motion_is_normal_to_the_limit_surface() {
    let most = MU * MASS * G;
    // Without inertia to speak of the table carries all of the load.
    let mut scene = alone(disc(), 1e6);
    scene.params.epsilon = 1e-4;
    let model = model(&scene);
    let c = 2.0 / 3.0 * 0.05;
    for k in 0..40 {
        let (a, b) = (0.3 + 0.7 * f64::from(k), -1.5 + 3.0 * f64::from(k) / 40.0);
        let wrench = [1.02 * most * b.cos() * a.cos(), 1.02 * most * b.cos() * a.sin(), 1.02 * most * c * b.sin()];
        let (delta, force) = pulled(&model, wrench);
        let on = (force[0].hypot(force[1]).hypot(force[2]) / most - 1.0).abs();
        assert!(on < 1e-3, "{force:?} is not on the surface: {on}");
        let normal = [-force[0], -force[1], -force[2] / c];
        let size = |v: &[f64]| (v[0] * v[0] + v[1] * v[1] + c * c * v[2] * v[2]).sqrt();
        let (s, n) = (size(&delta), size(&normal));
        for k in 0..3 {
            let (found, expected) = (delta[k] / s, normal[k] / n);
            assert!(
                (found - expected).abs() < 1e-9 / if k == 2 { c } else { 1.0 },
                "{delta:?} is not along {normal:?}"
            );
        }
    }
}

/// A pushed slider: whatever the contact does, the wrench is a force through it, and by that alone the limit surface
/// says how a body moves whose contact point moves by v (Lynch, Maekawa and Tanie, about the centre of mass):
///
/// ```text
/// v_x = ((c² + x²) p_x + x y p_y)/(c² + x² + y²)     v_y = (x y p_x + (c² + y²) p_y)/(c² + x² + y²)     ω = (x v_y − y v_x)/c²
/// ```
///
/// Where the contact sticks p is the motion of the tip. The frame of the body is away from its centre of mass.
#[test]
fn a_pushed_slider_moves_as_the_limit_surface_says() -> Result<()> {
    let mut largest_turn = 0.0_f64;
    for (place, way) in [(0.02, 0.0), (0.05, 0.2), (-0.03, 0.3), (0.0, -0.3), (0.07, -0.1)] {
        let mut scene = pushed_on_table();
        (scene.params.epsilon, scene.params.kappa, scene.params.mu) = (1e-5, 1e7, 10.0);
        scene.robots[0].default_stiffness = 1e5;
        let model = model(&scene);
        let c = radius(&scene.objects[0]);
        let ObjectBody::Rigid { inertia: Some(Inertia { com, .. }), .. } = &scene.objects[0].body else {
            panic!("rigid")
        };
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let mut q = rows(&model.home(1)?).remove(0);
        (q[3], q[4]) = (place, 0.01);
        // Up to the bar, then on.
        let mut seen = 0;
        for k in 1..80 {
            let u = [q[3] + 1e-3 * way, q[4] + 1e-3];
            let next = step.step(&model.tensor(&[&q])?, &model.tensor(&[&u])?)?;
            assert_eq!(next.reports[0].status, Status::Solved, "{:?}", next.reports[0]);
            let (delta, forces) = (rows(&next.delta).remove(0), rows(&next.force.flatten_from(1)?).remove(0));
            let strongest = forces.chunks(3).map(|f| f[0].hypot(f[1])).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
            let (contact, force) = strongest.unwrap();
            if k > 60 && force > 0.1 * MU * 0.3 * G {
                let (sin, cos) = q[2].sin_cos();
                let centre = [q[0] + cos * com.x - sin * com.y, q[1] + sin * com.x + cos * com.y];
                let sides = [&next.contacts.point_a, &next.contacts.point_b]
                    .map(|points| rows(&points.flatten_from(1).unwrap()).remove(0));
                let is_a = model.contact_names(contact).0 == "angle";
                let point = &sides[usize::from(!is_a)][3 * contact..];
                let (x, y) = (point[0] - centre[0], point[1] - centre[1]);
                let turned = |x: f64, y: f64| [delta[0] - delta[2] * y, delta[1] + delta[2] * x];
                // The point that is pushed, and the tip with it.
                let p = turned(point[0] - q[0], point[1] - q[1]);
                for axis in 0..2 {
                    assert!((p[axis] - delta[3 + axis]).abs() < 2e-6, "{place} {way}: {p:?} is not {:?}", &delta[3..]);
                }
                let (square, cc) = (c.powi(2) + x * x + y * y, c * c);
                let v = [((cc + x * x) * p[0] + x * y * p[1]) / square, (x * y * p[0] + (cc + y * y) * p[1]) / square];
                let omega = (x * v[1] - y * v[0]) / cc;
                let found = turned(centre[0] - q[0], centre[1] - q[1]);
                for axis in 0..2 {
                    assert!((found[axis] - v[axis]).abs() < 1e-6, "{place} {way}: {found:?} is not {v:?}");
                }
                assert!((delta[2] - omega).abs() < 1e-6 / c, "{place} {way}: {} is not {omega}", delta[2]);
                largest_turn = largest_turn.max(omega.abs());
                seen += 1;
            }
            q = rows(&next.q_next).remove(0);
        }
        assert!(seen > 10, "{place} {way}: pushed in {seen} steps");
    }
    assert!(largest_turn > 5e-3, "{largest_turn}");
    Ok(())
}

/// A disc that slides loses μ g h of its speed in each step, stops, and stays.
#[test]
fn a_sliding_disc_stops() -> Result<()> {
    let scene = alone(disc(), 1e6);
    let model = model(&scene);
    let step = Dynamic::new(&model, &model.parameters, DynamicParams::default())?;
    let (mut q, mut v) = (model.home(1)?, model.tensor(&[&[0.6, -0.8, 0.0]])?);
    let (tau, h) = (model.tensor(&[&[0.0; 3]])?, scene.params.h);
    let mut stopped = None;
    for n in 1..=2000 {
        let next = step.step(&q, &v, &tau)?;
        assert_eq!(next.reports[0].status, Status::Solved);
        (q, v) = (next.q_next.detach(), next.v_next.detach());
        let own = rows(&v).remove(0);
        let (speed, expected) = (own[0].hypot(own[1]), f64::from(n).mul_add(-MU * G * h, 1.0));
        if expected > 0.03 {
            assert!((speed - expected).abs() < 1e-3, "step {n}: {speed}, expected {expected}");
            assert!((own[0] / speed - 0.6).abs() < 1e-9 && own[2].abs() < 1e-9, "{own:?}");
        }
        if expected < -MU * G * h {
            stopped = stopped.or(Some(rows(&q).remove(0)));
            assert!(speed < 1e-3 * MU * G * h, "step {n}: it goes on at {speed}");
        }
    }
    // v²/(2 μ g), and half a step more or less.
    let (at, last) = (stopped.unwrap(), rows(&q).remove(0));
    let way = at[0].hypot(at[1]);
    assert!((way - 1.0 / (2.0 * MU * G)).abs() < 0.5 * h + 1e-3, "it went {way}");
    let moved = (last[0] - at[0]).hypot(last[1] - at[1]);
    assert!(moved < 1e-5, "it moved by {moved} at rest");
    Ok(())
}

/// The rigid solvers' contact has no friction, and no tables.
#[test]
fn rigid_contact_has_no_tables() {
    let model = model(&alone(disc(), 1e5));
    let params =
        DynamicParams { contact: ContactModel::Rigid(fingertip::solve::Method::Lemke), ..DynamicParams::default() };
    let error = Dynamic::new(&model, &model.parameters, params).unwrap_err().to_string();
    assert!(error.contains("table"), "{error}");
}
