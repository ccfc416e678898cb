//! Poses, screws and point Jacobians against recorded positions, closed forms and central differences, for every kind
//! of joint.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::Model;
use fingertip::description::{Articulation, Freedom, Object, ObjectBody, Robot, Scene, Shape};
use fingertip::kinematics::{Kinematics, Manifold};
use nalgebra::Isometry3;

use support::{apart, numbers};

/// Positions of order 0.1 m through a dozen rotations.
const POSITION: f64 = 1e-14;
/// Central differences with a step of 1e-5 of functions of order one: h² from the truncation, 1e-16/h from rounding.
const DIFFERENCE: f64 = 1e-9;
const STEP: f64 = 1e-5;

/// Every kind of joint that a URDF knows, general axes and origins, a mimic joint above and one below its leader.
const ALL_KINDS: &str = r#"<robot name="all"><link name="base"/>
  <link name="plane"/><link name="bend"/><link name="slide"/><link name="follow"/><link name="float"/>
  <link name="tip"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="plane" type="planar"><parent link="base"/><child link="plane"/>
    <origin xyz="0.1 -0.2 0.3" rpy="0.4 -0.3 0.2"/><axis xyz="0.3 -0.5 0.8"/></joint>
  <joint name="early" type="continuous"><parent link="plane"/><child link="follow"/>
    <origin xyz="0 0.1 0.05" rpy="0 0.3 0"/><axis xyz="1 2 -2"/><mimic joint="bend" multiplier="-0.7" offset="0.2"/></joint>
  <joint name="bend" type="revolute"><parent link="follow"/><child link="bend"/>
    <origin xyz="0.2 0 0.1" rpy="1 0 0.5"/><axis xyz="-0.6 0 0.8"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="bend"/><child link="slide"/>
    <origin xyz="0.05 0.1 0" rpy="0 0 0.3"/><axis xyz="0.6 0.64 0.48"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="float" type="floating"><parent link="slide"/><child link="float"/>
    <origin xyz="0 0.1 0.1" rpy="0.2 0.1 0"/></joint>
  <joint name="tip" type="revolute"><parent link="float"/><child link="tip"/>
    <origin xyz="0.1 0 0"/><axis xyz="0 -1 0"/><mimic joint="slide" multiplier="1.5"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
</robot>"#;

/// That robot, an object with joints on a free base, a particle and a sliding box.
fn all_kinds() -> Model {
    let all = || Articulation::from_urdf_str(ALL_KINDS, "all.urdf").unwrap();
    let door = Articulation::from_urdf("assets/robots/door.urdf").unwrap();
    let mut door = Object::articulated("door", door).with_freedom(Freedom::Free);
    let ObjectBody::Articulated { articulation, .. } = &mut door.body else { unreachable!() };
    articulation.links.iter_mut().for_each(|link| link.collisions.clear());
    let scene = Scene::new()
        .object(door)
        .object(Object::rigid("particle", Shape::sphere(0.01), 0.1).with_freedom(Freedom::Translation))
        .object(Object::rigid("box", Shape::sphere(0.02), 0.1).with_freedom(Freedom::Planar))
        .robot(Robot::new("all", all()).with_base(Isometry3::new([0.1, 0.2, 0.3].into(), [0.5, -0.4, 0.3].into())));
    Model::new(&scene, DType::F64, &Device::Cpu).unwrap()
}

/// Numbers without pattern between −0.5 and 0.5.
fn noise(rows: usize, columns: usize, seed: f64) -> Tensor {
    let value = |i: usize| ((i as f64 + seed) * 12.9898).sin() * 43758.5453;
    let values: Vec<f64> = (0..rows * columns).map(|i| value(i).rem_euclid(1.0) - 0.5).collect();
    Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap()
}

fn difference(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.dims(), b.dims());
    apart(&numbers(a), &numbers(b))
}

/// Central difference of f at q ⊕ ± the k-th tangent direction.
fn along_tangent(manifold: &Manifold, q: &Tensor, k: usize, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let direction = Tensor::eye(manifold.nv(), DType::F64, &Device::Cpu)?.narrow(0, k, 1)?;
    let direction = direction.broadcast_as((q.dim(0)?, manifold.nv()))?;
    let at = |h: f64| f(&manifold.integrate(q, &(&direction * h)?)?);
    (at(STEP)? - at(-STEP)?)? * (0.5 / STEP)
}

#[test]
fn fingertips_of_the_hand_in_38_configurations() -> Result<()> {
    let model = Model::new(&Scene::load("assets/scenes/hand_ball.toml")?, DType::F64, &Device::Cpu)?;
    let links = ["1_thumb4", "2_index4", "3_middle4", "4_ring4", "5_little4"];
    let links = links.map(|link| format!("hand/finger_r_link_{link}"));
    let kinematics =
        Kinematics::of_bodies(&model.tree, &links.each_ref().map(String::as_str), DType::F64, &Device::Cpu)?;
    let cases: serde_json::Value = serde_json::from_str(include_str!("../golden/quasidynamic_hand.json")).unwrap();
    let cases = cases["cases"].as_array().unwrap();
    let rows: Vec<&str> =
        include_str!("../golden/hand21_sphere_centres.csv").lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!((cases.len(), rows.len()), (38, 38));
    for (case, row) in cases.iter().zip(rows) {
        let list = |key: &str| case[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap());
        let q: Vec<f64> = list("q_o").chain(list("q_a")).collect();
        let row: Vec<f64> = row.split(',').map(|x| x.parse().unwrap()).collect();
        assert_eq!(case["id"].as_f64().unwrap(), row[0]);
        let frames = kinematics.at(&model.tensor(&[&q])?)?;
        for finger in 0..5 {
            let centre = kinematics.points(&frames, finger, [-0.001, 0.0, 0.027])?;
            let expected = model.tensor(&[&row[1 + 3 * finger..4 + 3 * finger]])?;
            let error = difference(&centre, &expected);
            assert!(error < POSITION, "case {}, finger {finger}: off by {error:e} m", row[0]);
        }
    }
    Ok(())
}

#[test]
fn two_link_arm_in_closed_form() -> Result<()> {
    let scene = Scene::new().robot(Robot::from_urdf("arm", "assets/robots/planar_arm.urdf")?);
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let kinematics = Kinematics::of_bodies(&model.tree, &["arm/lower"], DType::F64, &Device::Cpu)?;
    let angles = [[0.0, 0.0], [0.3, -0.9], [-1.2, 2.5], [2.0, 1.0]];
    let frames = kinematics.at(&model.tensor(&angles.each_ref().map(|q| q.as_slice()))?)?;
    let points = kinematics.points(&frames, 0, [0.25, 0.0, 0.0])?.to_vec2::<f64>()?;
    let jacobians = kinematics.point_jacobian(&frames, 0, [0.25, 0.0, 0.0])?.to_vec3::<f64>()?;
    for (([q1, q2], p), j) in angles.into_iter().zip(points).zip(jacobians) {
        let ((s1, c1), (s12, c12)) = (f64::sin_cos(q1), f64::sin_cos(q1 + q2));
        let expected = [
            [0.3 * c1 + 0.25 * c12, 0.3 * s1 + 0.25 * s12, 0.0],
            [-0.3 * s1 - 0.25 * s12, 0.3 * c1 + 0.25 * c12, 0.0],
            [-0.25 * s12, 0.25 * c12, 0.0],
        ];
        for i in 0..3 {
            for (found, expected) in [(p[i], expected[0][i]), (j[i][0], expected[1][i]), (j[i][1], expected[2][i])] {
                assert!((found - expected).abs() < POSITION, "q = [{q1}, {q2}]: {found} is not {expected}");
            }
        }
    }
    Ok(())
}

#[test]
fn jacobians_are_the_velocities_of_points() -> Result<()> {
    let model = all_kinds();
    let names: Vec<&str> = model.tree.bodies.iter().map(|body| body.name.as_str()).collect();
    let kinematics = Kinematics::of_bodies(&model.tree, &names, DType::F64, &Device::Cpu)?;
    let manifold = Manifold::new(&model.tree, &Device::Cpu)?;
    let q = noise(3, model.nq(), 1.0);
    let point = [0.03, -0.2, 0.11];
    let frames = kinematics.at(&q)?;
    let mut moving = 0;
    for body in 0..names.len() {
        let jacobian = kinematics.point_jacobian(&frames, body, point)?;
        for k in 0..model.nv() {
            let expected = along_tangent(&manifold, &q, k, |q| kinematics.points(&kinematics.at(q)?, body, point))?;
            let column = jacobian.narrow(2, k, 1)?.squeeze(2)?;
            let error = difference(&column, &expected);
            assert!(error < DIFFERENCE, "{}, direction {k}: off by {error:e}", names[body]);
            moving += usize::from(numbers(&column).iter().any(|x| x.abs() > 1e-3));
        }
    }
    // Bodies times the directions that move them: 6, 7, 8 of the door or so, 3, 3, and up to 3 + 1 + 1 + 6 of the
    // robot.
    assert!(moving > 50, "only {moving} columns were not zero");
    Ok(())
}

#[test]
fn gradients_of_poses_screws_and_jacobians() -> Result<()> {
    let model = all_kinds();
    let names: Vec<&str> = model.tree.bodies.iter().map(|body| body.name.as_str()).collect();
    let kinematics = Kinematics::of_bodies(&model.tree, &names, DType::F64, &Device::Cpu)?;
    let manifold = Manifold::new(&model.tree, &Device::Cpu)?;
    let b = 2;
    let tip = names.len() - 1;
    // One scalar per world of everything, each number with a weight of its own.
    let scalar = |q: &Tensor, offsets: &Tensor| -> Result<Tensor> {
        let frames = kinematics.frames(q, offsets)?;
        let jacobian = kinematics.point_jacobian(&frames, tip, [0.1, 0.2, -0.3])?;
        let all = Tensor::cat(&[frames.poses.flatten_from(1)?, frames.screws, jacobian.flatten_from(1)?], 1)?;
        all.broadcast_mul(&noise(1, all.dim(1)?, 7.0))?.sum(1)
    };
    let (q, offsets) = (Var::from_tensor(&noise(b, model.nq(), 3.0))?, Var::from_tensor(kinematics.offsets())?);
    let grads = scalar(&q, &offsets)?.sum_all()?.backward()?;
    let by_q = manifold.to_tangent(&q, grads.get(&q).unwrap())?;
    for k in 0..model.nv() {
        let expected = along_tangent(&manifold, &q, k, |q| scalar(q, &offsets))?;
        let error = difference(&by_q.narrow(1, k, 1)?.squeeze(1)?, &expected);
        assert!(error < DIFFERENCE, "direction {k}: off by {error:e}");
    }
    let by_offsets = numbers(grads.get(&offsets).unwrap());
    for (i, found) in by_offsets.into_iter().enumerate() {
        let at = |h: f64| -> Result<f64> {
            let mut moved = numbers(&offsets);
            moved[i] += h;
            scalar(&q, &Tensor::from_vec(moved, offsets.shape(), &Device::Cpu)?)?.sum_all()?.to_scalar::<f64>()
        };
        let expected = (at(STEP)? - at(-STEP)?) / (2.0 * STEP);
        assert!((found - expected).abs() < DIFFERENCE, "offset {i}: {found} is not {expected}");
    }
    Ok(())
}

#[test]
fn bodies_and_frames_that_are_not_there() {
    let model = all_kinds();
    let error = Kinematics::of_bodies(&model.tree, &["all/tipp"], DType::F64, &Device::Cpu).unwrap_err().to_string();
    assert!(error.contains("\"all/tipp\"") && error.contains("did you mean \"all/tip\""), "{error}");
    let kinematics = Kinematics::of_bodies(&model.tree, &["all/tip"], DType::F64, &Device::Cpu).unwrap();
    let frames = kinematics.at(&model.home(1).unwrap()).unwrap();
    let error = kinematics.points(&frames, 1, [0.0; 3]).unwrap_err().to_string();
    assert!(error.contains("expected a frame below 1, got 1"), "{error}");
    assert!(kinematics.at(&noise(1, 3, 0.0)).unwrap_err().to_string().contains("expected q (B, "));
}

/// The poses of all links of shipped robots are those of the crate `k`: another reader of URDF, and other kinematics.
#[test]
fn as_another_library_has_them() -> Result<()> {
    let mut compared = 0;
    for file in ["hand21", "allegro16", "leap16", "planar_arm", "door", "valve", "teaching_hand"] {
        let path = format!("assets/robots/{file}.urdf");
        let articulation = Articulation::from_urdf(&path).unwrap();
        let names: Vec<String> = articulation.links.iter().map(|link| format!("r/{}", link.name)).collect();
        let model = Model::new(&Scene::new().robot(Robot::new("r", articulation.clone())), DType::F64, &Device::Cpu)?;
        let bodies: Vec<&str> = names.iter().map(String::as_str).collect();
        let kinematics = Kinematics::of_bodies(&model.tree, &bodies, DType::F64, &Device::Cpu)?;
        let chain = k::Chain::<f64>::from_urdf_file(&path).unwrap();
        for seed in [1.0, 2.0, 3.0] {
            let q = noise(1, model.nq(), seed);
            let values = numbers(&q);
            for coordinate in &model.tree.coordinates {
                let joint = coordinate.name.trim_start_matches("r/");
                chain.find(joint).unwrap().set_joint_position_unchecked(values[coordinate.q]);
            }
            chain.update_transforms();
            let frames = kinematics.at(&q)?;
            let poses = numbers(&frames.poses);
            for (link, pose) in articulation.links.iter().zip(poses.chunks_exact(12)) {
                let node = chain.find_link(&link.name).unwrap();
                let expected = node.world_transform().unwrap();
                let turn = expected.rotation.to_rotation_matrix();
                let numbers = expected.translation.vector.iter().chain(turn.matrix().iter());
                let error = apart(pose, &numbers.copied().collect::<Vec<_>>());
                assert!(error < POSITION, "{file}: {} is off by {error:e}", link.name);
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
    Ok(())
}
