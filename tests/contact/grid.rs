//! Meshes by their distance grids: what round things do on them, and the derivatives of a step there.

use std::f64::consts::PI;
use std::sync::LazyLock;

use candle_core::{DType, Device, Tensor};
use fingertip::description::{Collision, DistanceGrid, Freedom, GridSettings, Object, Params, Scene, Shape, Triangles};
use fingertip::solve::Status;
use fingertip::step::{Quasidynamic, StepCotangent};
use fingertip::{Model, Parameters};
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use support::meshes::{CUP, MUG_HANDLE, TORUS, cup, mug, obj, torus};
use support::oracle::{integrate, to_tangent};
use support::states::Random;

/// How far distances may be from the mesh, m.
const TOLERANCE: f64 = 5e-4;
/// What friction at a quarter of its limit creeps by in a step under the heaviest thing here, m: 2 r/((1 − r²) μ κ f)
/// with r = 1/4, μ = 0.5, κ = 10⁴ and f = 2.9 N is 3.7e-5 (docs/friction.md).
const CREEP: f64 = 3e-5;
/// What a ring on a rod and a ball in a cup still move by: the far walls of a hollow push by 2 w/(κ φ), which carries a
/// ball of 20 g on level ground towards the middle (docs/limits.md).
const DRIFT: f64 = 6e-5;

pub(super) fn grid(mesh: Triangles, tolerance: f64) -> Vec<Collision> {
    let grid = DistanceGrid::new(mesh, &GridSettings::within(tolerance)).unwrap();
    let hull = Shape::Hull(grid.hull().clone());
    Collision::with_grid(grid, vec![hull])
}

static CUP_GRID: LazyLock<Vec<Collision>> = LazyLock::new(|| grid(cup(), TOLERANCE));

pub(super) fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// The configuration after so many steps without commands, all solved; nothing moves in the last by more than
/// [`CREEP`].
pub(super) fn settled(scene: &Scene, steps: usize) -> Vec<f64> {
    settled_within(CREEP, scene, steps)
}

fn settled_within(most: f64, scene: &Scene, steps: usize) -> Vec<f64> {
    let model = model(scene);
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let q = support::numbers(&model.home(1).unwrap());
    let rollout = step.rollout_numbers(&q, &vec![0.0; steps * model.nu()], steps).unwrap();
    assert!(rollout.reports.iter().all(|report| report.status == Status::Solved));
    let [before, last] = [2, 1].map(|k| &rollout.q[rollout.q.len() - k * model.nq()..][..model.nq()]);
    let moved = support::largest(before.iter().zip(last).map(|(a, b)| a - b));
    assert!(moved < most, "{moved:e} in the last step: {last:?}");
    last.to_vec()
}

/// A ball and a pen in a cup, whose hull is full: the ball at its bottom, the pen leaning from the bottom to the wall.
#[test]
fn a_ball_and_a_pen_in_a_cup() {
    let [_, _, bottom] = CUP;
    let (ball, pen) = (0.012, [0.004, 0.05]);
    let scene = Scene::new()
        .object(Object::compound("cup", CUP_GRID.clone(), 1.0).with_freedom(Freedom::Fixed))
        .object(Object::rigid("ball", Shape::sphere(ball), 0.1).at([0.012, 0.0, 0.09]));
    let q = settled(&scene, 400);
    let height = q[2] - ball - bottom;
    assert!((-TOLERANCE..TOLERANCE + 2e-4).contains(&height), "{height} above the bottom: {q:?}");
    let lean = Isometry3::from_parts(
        Translation3::new(0.0, 0.0, 0.07),
        UnitQuaternion::from_axis_angle(&Vector3::y_axis(), 0.3),
    );
    let scene = Scene::new()
        .object(Object::compound("cup", CUP_GRID.clone(), 1.0).with_freedom(Freedom::Fixed))
        .object(Object::rigid("pen", Shape::capsule(pen[0], pen[1]), 0.05).with_pose(lean));
    let q = settled(&scene, 1000);
    let turn = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
    let along = turn * Vector3::z() * pen[1];
    let ends = [-1.0, 1.0].map(|sign| Vector3::new(q[0], q[1], q[2]) + along * sign);
    let lower = if ends[0].z < ends[1].z { ends[0] } else { ends[1] };
    let height = lower.z - pen[0] - bottom;
    assert!((-TOLERANCE..2e-3).contains(&height), "{height} above the bottom: {q:?}");
    assert!(along.z.abs() < pen[1] * 0.99, "it leans: {q:?}");
}

/// A ring on a rod hangs below it, in its hole.
#[test]
fn a_ring_hangs_on_a_rod() {
    let ([circle, tube], rod) = (TORUS, 0.005);
    let across = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), std::f64::consts::FRAC_PI_2);
    let scene = Scene::new()
        .object(
            Object::fixed("rod", Shape::capsule(rod, 0.04))
                .with_pose(Isometry3::from_parts(Translation3::identity(), across)),
        )
        .object(
            Object::compound("ring", grid(torus(), TOLERANCE), 0.05)
                .with_pose(Isometry3::from_parts(Translation3::new(0.0, 0.01, -0.012), across)),
        );
    let q = settled_within(DRIFT, &scene, 1000);
    let expected = -(circle - tube - rod);
    assert!((q[2] - expected).abs() < 2.0 * TOLERANCE && q[1].abs() < 1e-3, "{q:?}, not {expected}");
}

/// A mug on a hook hangs by its handle: its centre of mass comes to be below the hook, and the hook carries its weight.
#[test]
fn a_mug_hangs_on_a_hook() {
    let (hook, mass) = (0.004, 0.3);
    let ([x, z], [circle, tube]) = MUG_HANDLE;
    let mesh = grid(mug(), 1e-3);
    let Shape::Grid(of) = &mesh[0].shape else { panic!("a grid") };
    let volume = of.solid().mass;
    // The handle's two ends are in the wall twice.
    let handle = PI * tube * tube * PI * circle;
    assert!((volume - handle - 1.1e-4).abs() < 1e-5, "{volume}");
    let com = of.solid().com;
    let across = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::FRAC_PI_2);
    let at = Translation3::new(-x - circle + tube + 2.0 * hook, 0.0, -z);
    let scene = Scene::new()
        .object(
            Object::fixed("hook", Shape::capsule(hook, 0.04))
                .with_pose(Isometry3::from_parts(Translation3::identity(), across)),
        )
        .object(Object::compound("mug", mesh, mass).with_pose(at.into()));
    let q = settled(&scene, 1500);
    let turn = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
    let com = Vector3::new(q[0], q[1], q[2]) + turn * com;
    assert!(com.x.abs() < 2.0 * (hook + tube) && com.z < -0.02, "{com:?}");
    let model = model(&scene);
    let step = Quasidynamic::new(&model, &model.parameters).unwrap().step_numbers(&q, &[], &[]).unwrap();
    let lifted: f64 = step.force.chunks_exact(3).map(|force| force[2]).sum();
    assert!((lifted - mass * 9.81).abs() < 0.01 * mass * 9.81, "{lifted} N");
}

/// A hand without an arm: two fingers side by side, which reach through a mug's handle, and a thumb with a round tip
/// outside of it.
const HAND: &str = r#"<robot name="hand">
<link name="palm"><inertial><mass value="0.3"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="close" type="prismatic"><parent link="palm"/><child link="fingers"/><axis xyz="1 0 0"/>
  <limit lower="-0.02" upper="0.03" effort="60" velocity="1"/></joint>
<link name="fingers"><inertial><mass value="0.05"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 0.009" rpy="1.5707963267948966 0 0"/><geometry><capsule radius="0.004" length="0.03"/></geometry></collision>
  <collision><origin xyz="0 0 -0.009" rpy="1.5707963267948966 0 0"/><geometry><capsule radius="0.004" length="0.03"/></geometry></collision></link>
<joint name="press" type="prismatic"><parent link="palm"/><child link="thumb"/><origin xyz="0.042 0 0"/><axis xyz="-1 0 0"/>
  <limit lower="-0.02" upper="0.03" effort="60" velocity="1"/></joint>
<link name="thumb"><inertial><mass value="0.05"/><inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="0.008"/></geometry></collision></link>
</robot>"#;

/// How far the hand's fingers and thumb are from the handle as the circle that the mesh is made after, in a
/// configuration of mug and hand, m: negative where they are inside.
fn from_handle(q: &[f64]) -> f64 {
    let ([x, z], [circle, tube]) = MUG_HANDLE;
    let turn = UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
    let mug = Isometry3::from_parts(Translation3::new(q[0], q[1], q[2]), turn);
    let turn = UnitQuaternion::from_euler_angles(q[12], q[11], q[10]);
    let palm = Isometry3::from_parts(Translation3::new(0.047 + q[7], q[8], 0.045 + q[9]), turn);
    let along = (0..=60).map(|k| 0.03 * (f64::from(k) / 60.0 - 0.5));
    let fingers = along.flat_map(|y| [0.009, -0.009].map(|z| (Vector3::new(q[13], y, z), 0.004)));
    let away = |(place, radius): (Vector3<f64>, f64)| {
        let at = mug.inverse_transform_point(&(palm * nalgebra::Point3::from(place)));
        ((at.x - x).hypot(at.z - z) - circle).hypot(at.y) - tube - radius
    };
    let thumb = (Vector3::new(0.042 - q[14], 0.0, 0.0), 0.008);
    fingers.chain([thumb]).map(away).fold(f64::INFINITY, f64::min)
}

/// A hand closes round a mug's handle, lifts it by 10 cm and holds it there for 600 steps: the base's spring carries
/// the mug's weight and gives by that over its stiffness, nothing is deeper in the handle than the grid may be wrong,
/// and the mug is as high as the hand but for 2 mm, twice what friction lets it creep in that time.
#[test]
fn a_hand_lifts_a_mug_by_its_handle() {
    let (mass, base, lift, hold) = (0.3, 1000.0, 0.1, 600);
    let folder = std::env::temp_dir().join(format!("fingertip-mug-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mug.obj"), obj(&mug())).unwrap();
    std::fs::write(folder.join("hand.urdf"), HAND).unwrap();
    let text = format!(
        "[params]\nh = 0.02\n\
         [[robot]]\nname = \"hand\"\nurdf = \"hand.urdf\"\nbase = \"commanded\"\nposition = [0.047, 0, 0.045]\n\
         stiffness = {{ default = 3000.0, base_x = {base:?}, base_y = {base:?}, base_z = {base:?}, base_yaw = 100.0, base_pitch = 100.0, base_roll = 100.0 }}\n\
         [[object]]\nname = \"mug\"\nfreedom = \"free\"\nmass = {mass}\nmesh = \"mug.obj\"\ngrid = {{ tolerance = 0.001 }}\n\
         [[object]]\nname = \"table\"\nhalfspace = [0, 0, 1, 0]\n"
    );
    let model = model(&Scene::from_toml(&text, &folder).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    // The hand closes in 40 steps, lifts in 100, and holds.
    let command = |k: usize| {
        let closed = (k as f64 / 40.0).min(1.0);
        let up = lift * ((k as f64 - 60.0) / 100.0).clamp(0.0, 1.0);
        [0.0, 0.0, up, 0.0, 0.0, 0.0, 0.012 * closed, 0.02 * closed]
    };
    let steps = 160 + hold;
    let u: Vec<f64> = (1..=steps).flat_map(command).collect();
    let rollout = step.rollout_numbers(&support::numbers(&model.home(1).unwrap()), &u, steps).unwrap();
    assert!(rollout.reports.iter().all(|report| report.status == Status::Solved));
    let states: Vec<&[f64]> = rollout.q.chunks_exact(model.nq()).collect();
    let deepest = states.iter().map(|q| from_handle(q)).fold(f64::INFINITY, f64::min);
    assert!(deepest > -1e-3, "{deepest} m in the handle");
    let end = states[states.len() - 1];
    let carried = base * (lift - end[9]);
    assert!((carried - mass * 9.81).abs() < 0.01 * mass * 9.81, "the base carries {carried} N");
    assert!(end[2] > lift - mass * 9.81 / base - 2e-3, "the mug is at {} m", end[2]);
    // It sinks while it is held, because friction creeps by what goes as 1/κ.
    let sinks = |states: &[&[f64]]| {
        let [before, after] = [states[200], states[states.len() - 1]];
        let turn = |q: &[f64]| UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(q[3], q[4], q[5], q[6]));
        [before[2] - after[2], turn(before).angle_to(&turn(after))]
    };
    let mut parameters = model.parameters.clone();
    parameters.kappa = (parameters.kappa * 10.0).unwrap();
    let step = Quasidynamic::new(&model, &parameters).unwrap();
    let rollout = step.rollout_numbers(&support::numbers(&model.home(1).unwrap()), &u, steps).unwrap();
    let harder: Vec<&[f64]> = rollout.q.chunks_exact(model.nq()).collect();
    let ([soft, turned], [hard, turned_less]) = (sinks(&states), sinks(&harder));
    println!(
        "sinks by {:.2} mm and turns by {:.2}°; at ten times κ {:.3} mm, {:.3}°",
        1e3 * soft,
        turned.to_degrees(),
        1e3 * hard,
        turned_less.to_degrees()
    );
    assert!(
        hard < 0.2 * soft && turned_less < 0.2 * turned,
        "{soft} m, {turned} rad; at ten times κ {hard} m, {turned_less} rad"
    );
}

/// Both forms of the step, and worlds side by side or alone, give the same bits; Jacobians are the same up to rounding.
#[test]
fn all_forms_give_the_same_bits() {
    let model = model(&scene());
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let mut random = Random::new(3);
    let worlds: Vec<Vec<f64>> = (0..11).map(|_| configuration(&model, &mut random)).collect();
    let all = step.step_numbers(&worlds.concat(), &[], &[]).unwrap();
    let tensors = step.as_tensor_program().step_numbers(&worlds.concat(), &[], &[]).unwrap();
    assert_eq!((&all.q_next, &all.force), (&tensors.q_next, &tensors.force));
    let linear = |step: &Quasidynamic| {
        let u = Tensor::zeros((worlds.len(), 0), DType::F64, &Device::Cpu).unwrap();
        let linear = step.linearize(&support::states::tensor(&model, &worlds), &u).unwrap();
        [linear.a, linear.c].map(|matrix| support::rows(&matrix))
    };
    for (found, expected) in linear(&step).iter().flatten().zip(linear(&step.as_tensor_program()).iter().flatten()) {
        let error = support::largest(found.iter().zip(expected).map(|(a, b)| a - b));
        assert!(error < 2e-11 * support::largest(expected.iter().copied()), "{error:e}");
    }
    for (world, q) in worlds.iter().enumerate() {
        let alone = step.step_numbers(q, &[], &[]).unwrap();
        assert_eq!(alone.q_next, all.q_next[world * model.nq()..][..model.nq()]);
    }
}

/// A ball and a pen, both free, near a ring that is free as well.
fn scene() -> Scene {
    Scene::new()
        .with_params(Params { kappa: 1e3, ..Params::default() })
        .object(Object::compound("ring", grid(torus(), TOLERANCE), 0.1))
        .object(Object::rigid("ball", Shape::sphere(0.015), 0.05).at([0.04, 0.0, 0.03]))
        .object(Object::rigid("pen", Shape::capsule(0.005, 0.05), 0.05).at([0.0, 0.0, -0.02]))
}

/// Home with all moved by some millimetres and tenths of a radian.
fn configuration(model: &Model, random: &mut Random) -> Vec<f64> {
    let home = support::numbers(&model.home(1).unwrap());
    let by: Vec<f64> =
        (0..model.nv()).map(|k| random.between(-1.0, 1.0) * if k % 6 < 3 { 3e-3 } else { 0.3 }).collect();
    integrate(model, &home, &by)
}

/// Gradients of a cost of what comes next and of forces, by q and by the sizes, against central differences. Second
/// derivatives of the grid are continuous, third ones jump from cell to cell, so that differences are off by as much as
/// their step is long.
#[test]
fn gradients_against_differences() {
    let model = model(&scene());
    let mut random = Random::new(5);
    let worst = (0..20).map(|_| {
        let q = configuration(&model, &mut random);
        // A ball has a radius, a pen two sizes.
        gradient_error(&model, &q, &mut random, 3)
    });
    let worst = support::largest(worst);
    assert!(worst < 2e-6, "{worst:e}");
}

/// By how much the gradients of a cost of what comes next and of forces, by q and by so many sizes, are off from
/// central differences, relative to the largest.
pub(super) fn gradient_error(model: &Model, q: &[f64], random: &mut Random, n_sizes: usize) -> f64 {
    let weights: Vec<f64> = (0..model.nq()).map(|_| random.between(-1.0, 1.0)).collect();
    let by_force: Vec<f64> = (0..3 * model.nc()).map(|_| 0.1 * random.between(-1.0, 1.0)).collect();
    let cost = |parameters: &Parameters, q: &[f64]| {
        let step = Quasidynamic::new(model, parameters).unwrap().step_numbers(q, &[], &[]).unwrap();
        assert_eq!(step.reports[0].status, Status::Solved);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(&weights, &step.q_next) + dot(&by_force, &step.force)
    };
    let step = Quasidynamic::new(model, &model.parameters).unwrap();
    let solved = step.step_numbers(q, &[], &[]).unwrap();
    let by = StepCotangent { q_next: &weights, force: &by_force, ..StepCotangent::default() };
    let gradient = step.vjp(q, &[], &solved, &by).unwrap();
    let by_q = to_tangent(model, q, &gradient.q);
    let slopes: Vec<f64> = (0..model.nv())
        .map(|k| {
            let mut delta = vec![0.0; model.nv()];
            let at = |by: f64, delta: &mut Vec<f64>| {
                delta[k] = by;
                cost(&model.parameters, &integrate(model, q, delta))
            };
            let mut over = |h: f64| (at(h, &mut delta) - at(-h, &mut delta)) / (2.0 * h);
            // Where a contact fades its gap bends within micrometres.
            (4.0 * over(1e-7) - over(2e-7)) / 3.0
        })
        .collect();
    let scale = support::largest(slopes.iter().copied());
    let mut worst = support::largest(by_q.iter().zip(&slopes).map(|(a, b)| a - b)) / scale;
    let place = Parameters::NAMES.iter().position(|name| *name == "sizes").unwrap();
    let sizes = support::numbers(&model.parameters.sizes);
    let by_sizes = &gradient.parameters[place];
    let moved: Vec<usize> = (0..sizes.len()).filter(|&k| by_sizes[k] != 0.0).collect();
    assert_eq!(moved.len(), n_sizes, "{by_sizes:?}");
    for k in moved {
        let at = |by: f64| {
            let mut sizes = sizes.clone();
            sizes[k] += by;
            let mut parameters = model.parameters.clone();
            parameters.sizes = Tensor::from_vec(sizes, model.parameters.sizes.dims(), &Device::Cpu).unwrap();
            cost(&parameters, q)
        };
        let slope = (at(1e-7) - at(-1e-7)) / 2e-7;
        worst = support::largest([worst, (slope - by_sizes[k]) / scale.max(slope.abs())]);
    }
    worst
}

/// What a scene file says of a grid; a mug stands on a table on its hull, and a ball is in it.
#[test]
fn scenes_with_grids() {
    let folder = std::env::temp_dir().join(format!("fingertip-grid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("cup.obj"), obj(&cup())).unwrap();
    let read = |keys: &str| {
        let text = format!(
            "[[object]]\nname = \"cup\"\nfreedom = \"free\"\nmass = 0.3\n{keys}\n\
             [[object]]\nname = \"ball\"\nfreedom = \"free\"\nmass = 0.02\nsphere = 0.012\nposition = [0.01, 0, 0.05]\n\
             [[object]]\nname = \"table\"\nhalfspace = [0, 0, 1, 0]\n"
        );
        Scene::from_toml(&text, &folder).map_err(|error| error.to_string())
    };
    let scene = read("mesh = \"cup.obj\"\ngrid = { tolerance = 0.0005 }").unwrap();
    // The second time from the cache.
    assert_eq!(read("mesh = \"cup.obj\"\ngrid = { tolerance = 0.0005 }").unwrap(), scene);
    let q = settled_within(DRIFT, &scene, 400);
    let [_, _, bottom] = CUP;
    assert!(q[2].abs() < 1e-3, "the cup stands: {q:?}");
    assert!((q[9] - 0.012 - bottom).abs() < 1.5e-3, "the ball is in it: {q:?}");
    assert!(model(&scene).warnings.iter().all(|line| !line.contains("distance grid")));
    let short = model(&read("mesh = \"cup.obj\"\ngrid = { tolerance = 0.001, reach = 0.005 }").unwrap());
    let warned = |line: &String| {
        line.starts_with("cup: its distance grid reaches 0.005 m, less than the radius 0.012 m of ball")
    };
    assert!(short.warnings.iter().any(warned), "{:?}", short.warnings);
    let error = |keys: &str| read(keys).unwrap_err();
    let none = error("sphere = 0.1\ngrid = { tolerance = 0.0005 }");
    assert!(none.contains("grid") && none.contains("with a mesh only"), "{none}");
    let fine = error("mesh = \"cup.obj\"\ngrid = { tolerance = 1e-6 }");
    assert!(fine.contains("cup.obj") && fine.contains("expected distances within 0.001 mm"), "{fine}");
    let negative = error("mesh = \"cup.obj\"\ngrid = { tolerance = -1.0 }");
    assert!(negative.contains("tolerance"), "{negative}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Meshes of a URDF's and an MJCF's links have grids for round things, of all links or of those that are named, and
/// their hulls or parts for others; a ball sees the grid alone.
#[test]
fn links_with_grids() {
    let folder = std::env::temp_dir().join(format!("fingertip-link-grids-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ring.obj"), obj(&torus())).unwrap();
    let link = |name: &str| {
        format!(
            "<joint name=\"{name}\" type=\"continuous\"><parent link=\"base\"/><child link=\"{name}\"/></joint><link name=\"{name}\"><collision>\
             <origin xyz=\"0 0 1\"/><geometry><mesh filename=\"ring.obj\"/></geometry></collision></link>"
        )
    };
    let urdf = format!("<robot name=\"r\"><link name=\"base\"/>{}{}</robot>", link("a"), link("b"));
    std::fs::write(folder.join("r.urdf"), urdf).unwrap();
    let mjcf = "<mujoco><asset><mesh name=\"ring\" file=\"ring.obj\"/></asset><worldbody><body name=\"a\"><joint/>\
                <geom name=\"ring\" type=\"mesh\" mesh=\"ring\" mass=\"1\"/><body name=\"b\"><joint/><geom name=\"ball\" size=\"0.01\" mass=\"1\"/>\
                </body></body></worldbody><contact><pair geom1=\"ball\" geom2=\"ring\"/></contact></mujoco>";
    std::fs::write(folder.join("r.xml"), mjcf).unwrap();
    let scene = |keys: &str| {
        let ball = "[[object]]\nname = \"ball\"\nsphere = 0.01\nmass = 0.1\nfreedom = \"free\"\n";
        Scene::from_toml(&format!("[[robot]]\nname = \"r\"\n{keys}\n{ball}"), &folder)
    };
    let kinds = |keys: &str| -> Vec<Vec<&str>> {
        let scene = scene(keys).unwrap_or_else(|error| panic!("{keys}: {error}"));
        let links = &scene.robots[0].articulation.links;
        links.iter().map(|link| link.collisions.iter().map(|collision| collision.shape.name()).collect()).collect()
    };
    let both = vec!["grid", "hull"];
    let how = "tolerance = 0.002, reach = 0.01";
    assert_eq!(kinds(&format!("urdf = \"r.urdf\"\ngrid = {{ {how} }}")), [vec![], both.clone(), both.clone()]);
    let of_one = format!("urdf = \"r.urdf\"\ngrid = {{ {how}, links = [\"b\"] }}");
    assert_eq!(kinds(&of_one), [vec![], vec!["hull"], both.clone()]);
    let cut =
        kinds(&format!("urdf = \"r.urdf\"\ngrid = {{ {how}, links = [\"b\"] }}\ndecompose = {{ tolerance = 0.004 }}"));
    assert!(cut[2][0] == "grid" && cut[2].len() == cut[1].len() + 1 && cut[1].len() > 1, "{cut:?}");
    let mjcf = scene(&format!("mjcf = \"r.xml\"\ngrid = {{ {how} }}")).unwrap();
    let model = model(&mjcf);
    let name = |shape: usize| model.shapes[shape].shape.name();
    let mut pairs: Vec<_> = model.pairs.pairs.iter().map(|pair| [name(pair.a), name(pair.b)]).collect();
    pairs.iter_mut().for_each(|pair| pair.sort_unstable());
    // The object with the ring and the link's ball, and these two by the pair of the file.
    pairs.sort_unstable();
    assert_eq!(pairs, [["grid", "sphere"], ["grid", "sphere"], ["sphere", "sphere"]]);
    let error = |keys: &str| scene(keys).unwrap_err().to_string();
    assert!(
        error(&format!("urdf = \"r.urdf\"\ngrid = {{ {how}, links = [\"c\"] }}")).contains("there is no link \"c\"")
    );
    let of_object = "urdf = \"r.urdf\"\n[[object]]\nname = \"o\"\nmesh = \"ring.obj\"\nmass = 1\nfreedom = \"free\"\n";
    let found = error(&format!("{of_object}grid = {{ {how}, links = [\"c\"] }}"));
    assert!(found.contains("grid: links: expected beside a urdf or an mjcf with links only"), "{found}");
    std::fs::remove_dir_all(&folder).unwrap();
}
