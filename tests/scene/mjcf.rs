//! MJCF against MuJoCo's own compiler. `benches/peers/mjcf.py --golden` writes the numbers; the file says of which
//! version.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use candle_core::{DType, Device, Result, Tensor};
use fingertip::Model;
use fingertip::description::{Freedom, Object, ObjectBody, Params, Robot, Scene, Shape, Taxels};
use fingertip::kinematics::Kinematics;
use fingertip::step::Quasidynamic;
use nalgebra::Vector3;
use serde_json::Value;

/// Sums and products of some tens of numbers of order one.
const ROUNDING: f64 = 1e-13;
/// MuJoCo keeps principal moments and axes, from an iteration that ends at 1e-12.
const PRINCIPAL: f64 = 1e-11;
/// MuJoCo keeps the vertices of meshes in single precision.
const SINGLE: f64 = 2e-7;
const FILES: [&str; 6] = ["actuators", "contacts", "include", "kinematics", "masses", "tendon"];

fn path(file: &str) -> PathBuf {
    PathBuf::from("tests/mjcf").join(file)
}

fn golden() -> Value {
    serde_json::from_str(include_str!("../mjcf/golden.json")).unwrap()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn robot(file: &str) -> Robot {
    Robot::from_mjcf("r", path(&format!("{file}.xml"))).unwrap()
}

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// Every body and every site at three random configurations.
#[test]
fn poses_of_bodies() -> Result<()> {
    let golden = golden();
    for file in FILES {
        let model = model(&Scene::new().robot(robot(file)));
        let entry = &golden[file];
        let joints: Vec<&str> = entry["joints"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        for pose in entry["poses"].as_array().unwrap() {
            let given: HashMap<String, f64> =
                joints.iter().map(|name| format!("r/{name}")).zip(list(&pose["q"])).collect();
            let q: Vec<f64> = model.q_names().iter().map(|name| given[name]).collect();
            let bodies = pose["bodies"].as_object().unwrap();
            let names: Vec<String> = bodies.keys().map(|name| format!("r/{name}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let kinematics = Kinematics::of_bodies(&model.tree, &names, DType::F64, &Device::Cpu)?;
            let poses = kinematics.at(&model.tensor(&[&q])?)?.poses.squeeze(0)?.to_vec2::<f64>()?;
            let sites = pose["sites"].as_object().unwrap();
            let names: Vec<String> = sites.keys().map(|name| format!("r/{name}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            assert_eq!(names.len(), model.tree.sites.len());
            let of_sites = Kinematics::of_sites(&model.tree, &names, DType::F64, &Device::Cpu)?;
            let of_sites = of_sites.at(&model.tensor(&[&q])?)?.poses.squeeze(0)?.to_vec2::<f64>()?;
            for ((name, expected), pose) in bodies.iter().zip(poses).chain(sites.iter().zip(of_sites)) {
                // Ours has the columns of the rotation, MuJoCo's the rows.
                let rows = (0..3).flat_map(|i| (0..3).map(move |j| 3 + 3 * j + i));
                let ours: Vec<f64> = (0..3).chain(rows).map(|k| pose[k]).collect();
                let error = largest_difference(&ours, &list(expected));
                assert!(error < ROUNDING, "{file}: {name}: off by {error:e}");
            }
        }
    }
    Ok(())
}

/// Mass, centre of mass and inertia of every body.
#[test]
fn masses_of_bodies() {
    let golden = golden();
    for file in FILES {
        let masses = golden[file]["masses"].as_object().unwrap();
        let links = robot(file).articulation.links;
        for (name, expected) in masses {
            let expected = list(expected);
            let link = links.iter().find(|link| link.name == *name).unwrap();
            let Some(inertia) = &link.inertia else {
                assert_eq!(expected[0], 0.0, "{file}: {name}");
                continue;
            };
            let m = inertia.matrix;
            let ours = [m[(0, 0)], m[(1, 1)], m[(2, 2)], m[(0, 1)], m[(0, 2)], m[(1, 2)]];
            let [mass, x, y, z, inertia_of @ ..] = &expected[..] else { panic!("ten numbers") };
            assert!((inertia.mass - mass).abs() < ROUNDING, "{file}: {name}: {} kg is not {mass}", inertia.mass);
            let com = largest_difference(inertia.com.as_slice(), &[*x, *y, *z]);
            assert!(com < ROUNDING, "{file}: {name}: centre of mass off by {com:e}");
            let error = largest_difference(&ours, inertia_of);
            assert!(error < PRINCIPAL, "{file}: {name}: inertia off by {error:e}");
        }
    }
}

/// The pairs that MuJoCo finds where everything overlaps are those of our model where nothing does, with the same
/// friction.
#[test]
fn pairs_and_their_friction() {
    let apart = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 4.0), ("e", 6.0)];
    let robot = apart.iter().fold(robot("contacts"), |robot, &(joint, at)| robot.with_home(joint, at));
    let model = model(&Scene::new().robot(robot));
    assert!(model.pairs.left_out.is_empty());
    let geoms: HashMap<&str, &[&str]> = HashMap::from([
        ("r/base", &["base"][..]),
        ("r/a", &["a"]),
        ("r/b", &["b", "b2"]),
        ("r/c", &["c"]),
        ("r/welded", &["welded"]),
        ("r/d", &["d", "d2"]),
        ("r/e", &["e", "paired"]),
    ]);
    let mut seen: HashMap<usize, usize> = HashMap::new();
    let names: Vec<&str> = model
        .shapes
        .iter()
        .map(|shape| {
            let n = seen.entry(shape.body).or_default();
            *n += 1;
            geoms[model.tree.bodies[shape.body].name.as_str()][*n - 1]
        })
        .collect();
    let pairs = model.pairs.pairs.iter().map(|pair| {
        let mut both = [names[pair.a], names[pair.b]];
        both.sort_unstable();
        (both.map(str::to_owned), [pair.mu, pair.torsion])
    });
    let ours: BTreeMap<[String; 2], [f64; 2]> = pairs.collect();
    let golden = golden();
    let contacts = golden["contacts"]["contacts"].as_array().unwrap();
    let name = |value: &Value| value.as_str().unwrap().to_owned();
    let expected: BTreeMap<[String; 2], [f64; 2]> = contacts
        .iter()
        .map(|c| ([name(&c[0]), name(&c[1])], [c[2].as_f64().unwrap(), c[3].as_f64().unwrap()]))
        .collect();
    assert_eq!(ours, expected);
}

/// K (u − q), with the commands of MuJoCo's controls, and the joints' own springs are its force.
#[test]
fn stiffness_and_commands() {
    let golden = golden();
    let entry = &golden["actuators"];
    let robot = robot("actuators");
    let joints: Vec<&str> = entry["joints"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let controls = ["plain", "geared", "affine", "sprung", "twice1", "twice2", "split", "motor"];
    for case in entry["forces"].as_array().unwrap() {
        let by_joint = |key: &str| -> HashMap<&str, f64> { joints.iter().copied().zip(list(&case[key])).collect() };
        let (q, mut force) = (by_joint("q"), by_joint("force"));
        let u = robot.commands(&controls.into_iter().zip(list(&case["ctrl"])).collect());
        // "left" follows "right" with a slope of −2.
        *force.get_mut("right").unwrap() -= 2.0 * force["left"];
        for joint in ["plain", "geared", "affine", "sprung", "twice", "right", "spring_only"] {
            let own = robot.articulation.joints.iter().find(|own| own.name == joint).unwrap().spring;
            let ours = robot.stiffness.get(joint).map_or(0.0, |stiffness| stiffness * (u[joint] - q[joint]))
                + own.stiffness * (own.rest - q[joint]);
            assert!((ours - force[joint]).abs() < ROUNDING, "{joint}: {ours} is not {}", force[joint]);
        }
    }
    let ranges: BTreeMap<&str, Vec<f64>> =
        robot.actuators.iter().filter_map(|map| Some((map.name.as_str(), map.range?.to_vec()))).collect();
    let expected: BTreeMap<&str, Vec<f64>> =
        entry["ranges"].as_object().unwrap().iter().map(|(name, range)| (name.as_str(), list(range))).collect();
    assert_eq!(ranges, expected);
    assert!(!robot.stiffness.contains_key("motor") && !u_names(&robot).contains(&"left".to_owned()));
    assert_eq!(robot.passive.iter().collect::<Vec<_>>(), ["spring_only"]);
    let geared = robot.articulation.joints.iter().find(|joint| joint.name == "geared").unwrap();
    assert_eq!(geared.effort, 80.0);
}

fn u_names(robot: &Robot) -> Vec<String> {
    robot.articulation.joints.iter().filter(|joint| joint.is_commandable()).map(|joint| joint.name.clone()).collect()
}

/// Where a finger with a tendon, springs and loads comes to rest in MuJoCo, our steps rest too.
#[test]
fn rest_of_a_tendon() -> Result<()> {
    let golden = golden();
    let robot = robot("tendon");
    assert_eq!(robot.passive.iter().collect::<Vec<_>>(), ["J1", "flap"]);
    assert_eq!((robot.tendons[0].joint.as_str(), robot.tendons[0].others["J1"]), ("J2", 0.7));
    assert!(robot.articulation.warnings.is_empty(), "{:?}", robot.articulation.warnings);
    let model = model(&Scene::new().with_gravity([0.0; 3]).robot(robot.clone()));
    assert_eq!(model.u_names(), ["r/J3", "r/J2"]);
    for case in golden["tendon"]["rests"].as_array().unwrap() {
        let u = robot.commands(&["J3", "J0"].into_iter().zip(list(&case["ctrl"])).collect());
        let u = model.tensor(&[&[u["J3"], u["J2"]]])?;
        let mut parameters = model.parameters.clone();
        parameters.tau = model.tensor(&[&list(&case["load"])])?;
        let step = Quasidynamic::new(&model, &parameters)?;
        let mut q = model.home(1)?;
        for _ in 0..10_000 {
            q = step.forward(&q, &u)?;
        }
        // Both slow down to their rest.
        let error = largest_difference(&q.flatten_all()?.to_vec1()?, &list(&case["q"]));
        assert!(error < 1e-9, "off by {error:e}");
    }
    Ok(())
}

/// How stiff friction is counts for elliptic cones alone, in MuJoCo as well.
#[test]
fn stiffness_of_friction() {
    let read = |option: &str| {
        let thing = r#"<body><freejoint/><geom size="1 1 1" type="box"/></body>"#;
        let text = format!("<mujoco><option {option}/><worldbody>{thing}</worldbody></mujoco>");
        Scene::from_mjcf_text(&text, "here").unwrap()
    };
    for (option, expected) in [
        ("impratio=\"10\" cone=\"elliptic\"", 10.0),
        ("impratio=\"10\"", Params::default().impratio),
        ("cone=\"elliptic\"", Params::default().impratio),
        ("impratio=\"0.5\" cone=\"elliptic\"", Params::default().impratio),
    ] {
        let scene = read(option);
        assert_eq!(scene.params.impratio, expected, "{option}");
        assert_eq!(
            scene.warnings.iter().any(|note| note.contains("impratio 0.5 left out")),
            option.contains("0.5"),
            "{option}"
        );
    }
}

/// The keyframe "home" is the start, and its controls the first commands.
#[test]
fn home_of_a_scene() {
    let scene = Scene::from_mjcf(path("actuators.xml")).unwrap();
    assert_eq!(scene.gravity, [0.0, 0.0, -1.0]);
    let robot = &scene.robots[0];
    assert_eq!(robot.name, "actuators");
    assert_eq!((robot.home["plain"], robot.home["right"], robot.home["motor"]), (0.1, -0.1, 0.8));
    let u = &scene.script[0].u;
    assert_eq!(scene.script[0].time, 0.0);
    assert!((u["affine"] - (0.5 * 100.0 + 0.1) / 40.0).abs() < ROUNDING);
    assert!((u["sprung"] - 0.4).abs() < ROUNDING);
}

/// The same hand, ball and floor from MJCF and from URDF.
#[test]
fn the_step_does_not_depend_on_the_format() -> Result<()> {
    let mut mjcf = Scene::from_mjcf(path("hand.xml")).unwrap();
    mjcf.params.mu = 0.8;
    let hand = Robot::from_urdf("hand", path("hand.urdf")).unwrap().with_default_stiffness(2.0);
    let ball = Object::rigid("ball", Shape::sphere(0.04), 0.2).with_freedom(Freedom::Free).at([0.0, 0.0, -0.05]);
    let hand = hand.with_base(nalgebra::Isometry3::translation(0.0, 0.0, 0.1));
    let urdf =
        Scene::new().with_params(mjcf.params.clone()).object(Object::ground("floor", -0.1)).object(ball).robot(hand);
    let results = [&mjcf, &urdf].map(|scene| -> Result<_> {
        let model = model(scene);
        let step = Quasidynamic::new(&model, &model.parameters)?;
        let q = model.home(1)?;
        // The tips press the ball.
        let next = step.step(&q, &model.tensor(&[&[-0.3, -0.1, 0.3, 0.1]])?)?;
        let numbers = |t: &candle_core::Tensor| t.flatten_all()?.to_vec1::<f64>();
        Ok((model.q_names(), numbers(&next.q_next)?, numbers(&next.force)?))
    });
    let [from_mjcf, from_urdf] = results.map(Result::unwrap);
    assert_eq!(from_mjcf.0, from_urdf.0);
    assert!(largest_difference(&from_mjcf.1, &from_urdf.1) < ROUNDING);
    // Forces of about a newton.
    assert!(from_urdf.2.iter().any(|force| force.abs() > 0.1), "{:?}", from_urdf.2);
    assert!(largest_difference(&from_mjcf.2, &from_urdf.2) < 1e-10);
    Ok(())
}

/// Robots and objects of scenes in TOML.
#[test]
fn keys_of_scene_files() {
    let scene = |keys: &str| Scene::from_toml(keys, "tests/mjcf");
    let read = scene(
        "[[robot]]\nname = \"r\"\nmjcf = \"actuators.xml\"\nposition = [1, 0, 0]\nstiffness = { plain = 7 }\nhome = { plain = 0.3 }\n\
         [[object]]\nname = \"o\"\nmjcf = \"ball.xml\"\nposition = [0, 1, 0]\n",
    )
    .unwrap();
    let robot = &read.robots[0];
    assert_eq!((robot.stiffness["plain"], robot.home["plain"], robot.home["geared"]), (7.0, 0.3, 0.2));
    assert_eq!(robot.base.translation.x, 1.0);
    let ball = &read.objects[0];
    assert_eq!((ball.freedom, ball.pose.translation.vector), (Freedom::Free, nalgebra::Vector3::new(0.0, 1.0, 0.5)));
    assert!(
        matches!(&ball.body, ObjectBody::Rigid { inertia: Some(inertia), collisions } if (inertia.mass - 0.3).abs() < ROUNDING && collisions.len() == 2)
    );
    for (keys, expected) in [
        ("[[robot]]\nname = \"r\"\n", "robot \"r\": urdf: expected urdf or mjcf, got none"),
        ("[[robot]]\nname = \"r\"\nurdf = \"a\"\nmjcf = \"b\"\n", "expected urdf or mjcf, got both"),
        (
            "[[object]]\nname = \"o\"\nmjcf = \"ball.xml\"\nsphere = 1\n",
            "mjcf: expected an MJCF file alone, got a shape beside it",
        ),
    ] {
        let error = scene(keys).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // A scene may be an MJCF itself.
    assert_eq!(Scene::load(path("hand.xml")).unwrap().robots[0].articulation.joints.len(), 4);
}

/// A ball joint turns as MuJoCo's: where its body is in MuJoCo 3.17.0, at a q that is not special.
#[test]
fn a_ball_joint() {
    let robot = robot("ball_joint");
    let notes = &robot.articulation.warnings;
    assert!(notes.iter().any(|note| note == "range and spring of ball joints left out: wrist"), "{notes:?}");
    let model = model(&Scene::new().robot(robot));
    assert_eq!((model.nq(), model.nv(), model.nu()), (5, 4, 1));
    assert_eq!(model.q_names()[1..], ["r/wrist.qw", "r/wrist.qx", "r/wrist.qy", "r/wrist.qz"]);
    let kinematics = Kinematics::of_bodies(&model.tree, &["r/hand"], DType::F64, &Device::Cpu).unwrap();
    let pose = kinematics.at(&model.tensor(&[&[0.4, 0.7, 0.3, -0.5, 0.2]]).unwrap()).unwrap().poses;
    let pose = pose.flatten_all().unwrap().to_vec1::<f64>().unwrap();
    let quaternion = nalgebra::Quaternion::new(0.77207417, 0.55630833, -0.29924793, -0.06980832);
    let turn = nalgebra::UnitQuaternion::from_quaternion(quaternion).to_rotation_matrix();
    let expected = [&[0.2209405, -0.00213398, 0.34745922], turn.matrix().as_slice()].concat();
    // They were printed with eight digits.
    let error = largest_difference(&pose, &expected);
    assert!(error < 2e-8, "{pose:?} is not {expected:?}");
}

/// `connect` and `weld` hold together what the file has together.
#[test]
fn loops() {
    let robot = robot("loop");
    let points: Vec<_> = robot.articulation.connections.iter().map(|connection| connection.points).collect();
    // The anchor in the frame of the first body, and where it is in that of the second; a weld has three points.
    let near = |found: [[f64; 3]; 2], expected: [[f64; 3]; 2]| {
        largest_difference(found.as_flattened(), expected.as_flattened()) < ROUNDING
    };
    assert_eq!(points.len(), 5);
    assert!(near(points[0], [[0.0, 0.0, 0.2], [0.1, 0.0, 0.2]]), "{points:?}");
    assert!(near(points[1], [[0.05, 0.0, 0.0], [0.05, 0.0, 0.0]]), "{points:?}");
    assert!(near(points[4], [[0.0, 0.0, 0.1], [0.0, 0.0, 0.1]]), "{points:?}");
    // What no actuator moves in a loop is passive.
    assert!(robot.passive.contains("b") && !robot.passive.contains("a"), "{:?}", robot.passive);
    let model = model(&Scene::new().robot(robot));
    let frames = model.kinematics.at(&model.home(1).unwrap()).unwrap().poses.narrow(2, 0, 3).unwrap();
    let frames = frames.squeeze(0).unwrap().to_vec2::<f64>().unwrap();
    for k in 0..5 {
        let [a, b] = [0, 1].map(|side| &frames[model.shapes.len() + 2 * k + side]);
        assert!(largest_difference(a, b) < ROUNDING, "connection {k}: {a:?} {b:?}");
    }
}

/// Trees that equalities join are one thing, and a floating one may be held in the world: three welds hold a body where
/// the file has it, under its weight, as in MuJoCo.
#[test]
fn welds_between_things() -> Result<()> {
    let box_of = |name: &str, z: f64, joint: &str| {
        format!(
            "<body name=\"{name}\" pos=\"0 0 {z}\">{joint}<geom type=\"box\" size=\".05 .05 .01\" mass=\"0.5\"/></body>"
        )
    };
    let (free, hinge) = ("<freejoint/>", "<joint name=\"j\" axis=\"0 1 0\" range=\"-1 1\"/>");
    let actuator = "<actuator><position joint=\"j\" kp=\"100\"/></actuator>";
    // A free body on a fixed one, in the world, on a body that is moved from outside, and on a robot's link.
    for (other, body1, more, things) in [
        (box_of("a", 0.1, ""), "a", "", (0, 1)),
        (String::new(), "", "", (0, 1)),
        (box_of("a", 0.1, "").replace("name=\"a\"", "name=\"a\" mocap=\"true\""), "a", "", (0, 1)),
        (box_of("a", 0.1, hinge), "a", actuator, (1, 0)),
    ] {
        let weld = match body1 {
            "" => "<weld body1=\"b\"/>".to_owned(),
            a => format!("<weld body1=\"{a}\" body2=\"b\"/>"),
        };
        let text = format!(
            "<mujoco><worldbody>{other}{}</worldbody><equality>{weld}</equality>{more}</mujoco>",
            box_of("b", 0.2, free)
        );
        let scene = Scene::from_mjcf_text(&text, ".").unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((scene.robots.len(), scene.objects.len()), things, "{text}");
        assert!(!scene.all_warnings().iter().any(|line| line.contains("equality")), "{:?}", scene.all_warnings());
        let model = model(&scene);
        assert_eq!(model.tree.connections.len(), 3, "{text}");
        let body = model.tree.bodies.iter().find(|body| body.name.ends_with("/b")).unwrap().name.clone();
        let height = |q: &Tensor| -> Result<f64> {
            let kinematics = Kinematics::of_bodies(&model.tree, &[&body], DType::F64, &Device::Cpu)?;
            Ok(kinematics.at(q)?.poses.flatten_all()?.to_vec1::<f64>()?[2])
        };
        let (step, mut q) = (Quasidynamic::new(&model, &model.parameters)?, model.home(1)?);
        assert!((height(&q)? - 0.2).abs() < ROUNDING);
        let u = model.tensor(&[&vec![0.0; model.nu()]])?;
        for _ in 0..20 {
            q = step.forward(&q, &u)?;
        }
        // 4.9 N on three springs of 1e6 N/m beside each other sink it by micrometres; free, it would have fallen by 2
        // m.
        assert!((height(&q)? - 0.2).abs() < 1e-4, "{text}: {}", height(&q)?);
    }
    Ok(())
}

/// So is the damping of an actuator that is a spring, as `fingertip.mujoco.from_mujoco` writes them.
#[test]
fn damping_of_a_servo_is_said_to_be_left_out() {
    let text = |bias: &str| {
        format!(
            "<mujoco><worldbody><body name=\"a\"><joint name=\"j\"/><geom size=\".1\"/></body></worldbody><actuator>\
             <general name=\"servo\" joint=\"j\" biastype=\"affine\" gainprm=\"2\" biasprm=\"{bias}\"/></actuator></mujoco>"
        )
    };
    let notes =
        |bias: &str| Scene::from_mjcf_text(&text(bias), "tests/mjcf").unwrap().robots[0].articulation.notes.clone();
    assert!(notes("0 -2 -0.5").contains(&"damping of actuators (biasprm) left out: servo".to_owned()));
    assert!(!notes("0 -2 0").iter().any(|note| note.contains("damping")));
}

/// What is not read is named once, by element and attribute.
#[test]
fn what_is_left_out_is_said_once() {
    let scene = Scene::from_mjcf(path("left_out.xml")).unwrap();
    let notes = [
        "<geom>: solimp, solref left out",
        "<option>: integrator, timestep left out",
        "<position>: kv left out",
        "<sensor/jointpos>: 1 left out",
        "<tendon/spatial>: 1 left out",
        "<connect>: solref left out",
        "<tendon>: name, tendon1, tendon2 left out",
        "<worldbody/light>: 1 left out",
        "<flag>: energy left out",
        "sites of the world left out: w",
        "commanded joints carry these links without their weight, as with gravcomp: a, c",
    ];
    let warnings = [
        "tendons that are not fixed: 1 left out: rope",
        "equality tendon \"cable\" of t1 and t2 left out: nothing holds them together here",
        "<flag>: gravity left out",
    ];
    for (found, expected) in [(&scene.notes, &notes[..]), (&scene.warnings, &warnings)] {
        let (mut found, mut expected) = (found.clone(), expected.to_vec());
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
    let own = &scene.robots[0].articulation.warnings;
    assert!(own.iter().any(|note| note.contains("here with the default stiffness: c")), "{own:?}");
    assert!(own.iter().any(|note| note.contains("collision mesh") && note.contains("nowhere.stl")), "{own:?}");
    assert!(scene.all_warnings().contains(&format!("left_out: {}", own[0])), "{:?}", scene.all_warnings());
}

/// A tetrahedron and a point outside, 0.1/√3 from its slanted face: the hull that touches lacks it, the mass does not.
#[test]
fn maxhullvert_limits_hulls() {
    let read = |limit: &str| {
        let text = format!(
            "<mujoco><asset><mesh name=\"m\" inertia=\"convex\" {limit} vertex=\"0 0 0 1 0 0 0 1 0 0 0 1 .4 .4 .3\"/></asset>\
             <worldbody><body name=\"b\"><joint name=\"j\"/><geom type=\"mesh\" mesh=\"m\" density=\"1\"/></body></worldbody>\
             <actuator><position joint=\"j\" kp=\"1\"/></actuator></mujoco>"
        );
        Scene::from_mjcf_text(&text, "")
    };
    let scene = read("maxhullvert=\"4\"").unwrap();
    let link = scene.robots[0].articulation.links.iter().find(|link| link.name == "b").unwrap();
    assert_eq!(link.collisions[0].shape.hulled().unwrap().vertices().len(), 4);
    let mass = link.inertia.as_ref().unwrap().mass;
    assert!((mass - 1.1 / 6.0).abs() < 1e-12, "{mass}");
    let said = "link \"b\": hull of 4 of 5 vertices: the others stick out by up to 57.735 mm";
    assert!(scene.all_notes().iter().any(|note| note.ends_with(said)), "{:?}", scene.all_notes());
    for limit in ["", "maxhullvert=\"-1\"", "maxhullvert=\"5\""] {
        let scene = read(limit).unwrap();
        assert!(!scene.all_notes().iter().any(|note| note.contains("vertices")), "{limit}: {:?}", scene.all_notes());
    }
    let error = read("maxhullvert=\"3\"").unwrap_err().to_string();
    assert!(error.contains("maxhullvert: expected a whole number of at least 4, or -1 for no limit, got 3"), "{error}");
}

/// What moves otherwise than in MuJoCo is a warning, whatever it is.
#[test]
fn what_moves_otherwise_is_a_warning() {
    let read = |inner: &str, more: &str| {
        let text =
            format!("<mujoco><worldbody><geom type=\"plane\" size=\"1 1 1\"/>{inner}</worldbody>{more}</mujoco>");
        Scene::from_mjcf_text(&text, "tests/mjcf").unwrap_or_else(|error| panic!("{text}: {error}")).all_warnings()
    };
    let free = |joint: &str| format!("<body name=\"b\">{joint}<geom size=\".1\"/></body>");
    let hinge = |joint: &str| format!("<body name=\"b\"><joint name=\"j\" {joint}/><geom size=\".1\"/></body>");
    let drive = "<actuator><position joint=\"j\" kp=\"1\"/></actuator>";
    let key = |qpos: &str| format!("{drive}<keyframe><key qpos=\"{qpos}\"/></keyframe>");
    for (inner, more, expected) in [
        (
            free("<joint name=\"f\" type=\"free\" damping=\"1\" armature=\"0.1\" frictionloss=\"0.2\" stiffness=\"3\"/>"),
            String::new(),
            "free joint \"f\": damping 1, frictionloss 0.2, armature 0.1, stiffness 3 left out",
        ),
        // Defaults of joints count for it.
        (
            free("<joint name=\"f\" type=\"free\"/>"),
            "<default><joint damping=\"2\"/></default>".into(),
            "free joint \"f\": damping 2 left out",
        ),
        (hinge("type=\"slide\" range=\"0.1 0.2\""), key("0"), "joint \"j\": home 0 is beyond its limits, here it is 0.1"),
        (hinge("type=\"slide\" range=\"-0.2 0.2\""), key("0.3"), "joint \"j\": home 0.3 is beyond its limits, here it is 0.2"),
        (hinge("type=\"ball\""), "<keyframe><key qpos=\"0.6 0.8 0 0\"/></keyframe>".into(), "home of ball joints left out: j"),
        (hinge("springdamper=\"0.1 1\""), drive.into(), "<joint>: springdamper left out"),
        (hinge("damping=\"-1\""), drive.into(), "negative damping, frictionloss, armature or stiffness of joints taken for none: j"),
        (hinge("frictionloss=\"-1\" armature=\"-1\" stiffness=\"-1\""), drive.into(), "taken for none: j"),
        (
            hinge("stiffness=\"2 1 1\""),
            drive.into(),
            "of stiffness and damping that change with q the constant alone is taken: j",
        ),
        (
            "<body name=\"b\" gravcomp=\"1\"><freejoint/><geom size=\".1\"/></body>".into(),
            String::new(),
            "gravcomp left out, weight acts on b",
        ),
        (free("<freejoint/>"), "<option><flag contact=\"disable\" energy=\"enable\"/></option>".into(), "<flag>: contact left out"),
        (free("<freejoint/>"), "<option wind=\"1 0 0\"/>".into(), "<option>: wind left out"),
        (
            "<body name=\"b\"><freejoint/><geom size=\".1\" contype=\"0\" conaffinity=\"0\"/></body>".into(),
            String::new(),
            "b: it has no collision shape, so nothing touches it",
        ),
        (
            "<body name=\"b\"><freejoint/><geom size=\".02\"/><inertial pos=\"0 0 0\" mass=\"0.001\" diaginertia=\"1 1 1\"/></body>".into(),
            String::new(),
            "b: 1.0e0 kg m^2 with 1.0e-3 kg is the inertia of something 3.2e1 m in size, here of 3.5e-2 m",
        ),
        (
            "<body name=\"b\"><freejoint/><geom type=\"mesh\" mesh=\"m\"/></body>".into(),
            "<asset><mesh name=\"m\" inertia=\"exact\" vertex=\"0 0 0 1 0 0 0 1 0 0 0 1\" \
             face=\"0 2 1 0 1 3 1 2 3 2 0 3 2 1 0 1 3 0 2 3 1 3 2 0\"/></asset>"
                .into(),
            "mesh \"m\": 4 faces stand twice and count once in its mass",
        ),
    ] {
        let found = read(&inner, &more);
        assert!(found.iter().any(|line| line.ends_with(expected)), "{expected}: {found:?}");
    }
    // A weld that is not active is a note, and nothing is said of what it names.
    let weld = "<equality><weld body1=\"b\" anchor=\"0 0 1\" active=\"false\"/></equality>";
    assert_eq!(read(&free("<freejoint/>"), weld), Vec::<String>::new());
    // Where nothing has weight, gravcomp is nothing.
    let weightless = "<option gravity=\"0 0 0\"/>";
    assert_eq!(
        read("<body name=\"b\" gravcomp=\"1\"><freejoint/><geom size=\".1\"/></body>", weightless),
        Vec::<String>::new()
    );
    // What moves nothing is none: a finger that is commanded, with all that files have beside.
    let found = read(
        "<light/><body name=\"b\" gravcomp=\"1\"><joint name=\"j\" user=\"1\" solreflimit=\"0.1 1\"/><geom size=\".1\" \
         solref=\"0.1 1\" margin=\"0.01\" rgba=\"1 0 0 1\"/><site name=\"s\" rgba=\"1 0 0 1\"/></body>",
        "<option timestep=\"0.01\" integrator=\"implicit\"><flag energy=\"enable\" multiccd=\"enable\"/></option><size memory=\"1M\"/><visual/>\
         <sensor><jointpos joint=\"j\"/></sensor><actuator><position joint=\"j\" kp=\"1\" kv=\"0.1\" user=\"1\"/></actuator>",
    );
    assert_eq!(found, Vec::<String>::new());
}

/// A shell has its mass on its faces, or on those of its hull: MuJoCo's numbers for a corner of 0.2, 0.3 and 0.4 m.
#[test]
fn shells() {
    for faces in ["", "face=\"0 2 1 0 1 3 1 2 3 2 0 3\""] {
        let text = format!(
            "<mujoco><asset><mesh name=\"m\" inertia=\"shell\" vertex=\"0 0 0 .2 0 0 0 .3 0 0 0 .4\" {faces}/></asset><worldbody>\
             <body name=\"b\"><freejoint/><geom type=\"mesh\" mesh=\"m\" density=\"7\"/></body></worldbody></mujoco>"
        );
        let scene = Scene::from_mjcf_text(&text, "").unwrap();
        let ObjectBody::Rigid { inertia: Some(inertia), .. } = &scene.objects[0].body else { panic!("a body") };
        assert!((inertia.mass - 1.456717546389715).abs() < SINGLE, "{}", inertia.mass);
        let com = Vector3::new(0.047445369738267205, 0.08077870605183278, 0.1141120373983446);
        assert!((inertia.com - com).amax() < SINGLE, "{}", inertia.com);
        let moments = [0.009832748018832136, 0.018144627344283473, 0.02413212575752201];
        for (own, moment) in inertia.principal_moments().iter().zip(moments) {
            assert!((own - moment).abs() < SINGLE, "{own} {moment}");
        }
    }
}

/// A geom whose mesh is a sheet, of which there is no hull, touches nothing, and a warning says so. As in MuJoCo an
/// attribute without text is none, and so many elements without names as one likes have names.
#[test]
fn sheets_and_what_has_no_text() {
    let sheet = "<mesh name=\"m\" vertex=\"0 0 0 1 0 0 1 1 0 0 1 0\"/>";
    let text = format!(
        "<mujoco><asset>{sheet}</asset><worldbody><geom type=\"mesh\" mesh=\"m\"/><body name=\"b\"><freejoint/>\
         <geom type=\"box\" size=\".1 .1 .1\" rgba=\"\" friction=\"\" contype=\" \"/>\
         <geom type=\"mesh\" mesh=\"m\" mass=\"0\"/>{}</body></worldbody></mujoco>",
        "<site/>".repeat(3000)
    );
    let scene = Scene::from_mjcf_text(&text, "").unwrap();
    let sheets: Vec<String> = scene.all_warnings().into_iter().filter(|line| line.contains("is a sheet")).collect();
    assert_eq!(sheets.len(), 2, "{sheets:?}");
    assert_eq!((scene.objects.len(), scene.objects[0].sites.len()), (1, 3000));
    scene.validate().unwrap();
}

/// A mesh as large as a house, and a step as long as a fall from one, are likely numbers in other units.
#[test]
fn numbers_in_other_units() {
    let text = "[params]\nh = 10\n[[object]]\nname = \"cup\"\nfreedom = \"free\"\nmass = 1\n\
                hull = [[0, 0, 0], [50, 0, 0], [0, 50, 0], [0, 0, 50]]\n";
    let warnings = Scene::from_toml(text, "").unwrap().all_warnings();
    assert!(warnings.iter().any(|line| line.contains("millimetres")), "{warnings:?}");
    assert!(warnings.iter().any(|line| line.contains("h = 10 s is a long step")), "{warnings:?}");
}

/// Inertias that no solid has are noted of bodies, too, and a least mass is that of bodies without one.
#[test]
fn odd_inertias_of_bodies() {
    let read = |compiler: &str, inertia: &str| {
        let text = format!(
            "<mujoco>{compiler}<worldbody><body name=\"b\"><freejoint/><geom size=\".02\" mass=\"0\"/>{inertia}</body></worldbody></mujoco>"
        );
        Scene::from_mjcf_text(&text, "")
    };
    let inertial = "<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\".001 .001 .01\"/>";
    let said = "b: no solid has this inertia, as 1.000e-2 > 1.000e-3 + 1.000e-3 kg m^2";
    assert_eq!(read("", inertial).unwrap().all_notes(), [said]);
    let scene = read("<compiler boundmass=\"0.1\" boundinertia=\"0.01\"/>", "").unwrap();
    let ObjectBody::Rigid { inertia: Some(inertia), .. } = &scene.objects[0].body else { panic!("a rigid body") };
    assert_eq!((inertia.mass, inertia.principal_moments()), (0.1, [0.01; 3]));
    assert!(read("", "").is_err());
}

/// A `touch` sensor is a pad that fills its site; what has none here is named.
#[test]
fn touch_sensors_are_pads() {
    let text = "<mujoco model=\"m\"><default><site size=\"0.02\"/></default>\
        <worldbody><site name=\"ground\"/><geom name=\"floor\" type=\"plane\" size=\"1 1 1\"/>\
        <body name=\"p\"><joint name=\"j\"/><geom name=\"tip\" size=\".1\"/>\
        <site name=\"ball\" pos=\"0.1 0 0\"/><site name=\"rod\" type=\"capsule\" fromto=\"0 0 0 0.3 0 0\" size=\"0.01\"/>\
        <site name=\"sheet\" type=\"box\" pos=\"0 0.1 0\" size=\"0.05 0.02 0.01\"/></body>\
        <body name=\"q\" pos=\"0 0 1\"><freejoint/><geom size=\".02\"/><site name=\"own\" quat=\"0 1 0 0\" pos=\"0 0 0.01\"/></body>\
        </worldbody><sensor><touch name=\"a\" site=\"ball\" cutoff=\"9\"/><touch site=\"rod\"/><touch name=\"c\" site=\"sheet\"/>\
        <touch name=\"d\" site=\"own\"/><touch name=\"e\" site=\"ground\"/><tactile name=\"skin\" geom=\"tip\" mesh=\"m\"/>\
        <jointpos joint=\"j\"/></sensor><actuator><position joint=\"j\" kp=\"1\"/></actuator></mujoco>";
    let scene = Scene::from_mjcf_text(text, ".").unwrap();
    let pads: Vec<_> =
        scene.taxels.iter().map(|pad| (pad.name.as_str(), pad.link.as_str(), pad.points.len())).collect();
    assert_eq!(pads, [("a", "m/p", 6), ("rod", "m/p", 6 * 32), ("c", "m/p", 6 * 4 * 4 * 2), ("d", "q", 6)]);
    for note in [
        "touch sensors left out: e",
        "tactile sensors left out: skin",
        "<sensor/tactile>: 1 left out",
        "<touch>: cutoff left out",
        "<sensor/jointpos>: 1 left out",
    ] {
        assert!(scene.notes.iter().any(|own| own == note), "{note}: {:?}", scene.notes);
    }
    assert_eq!(scene.warnings, Vec::<String>::new());
    // In a site contacts count in full wherever they are and however they press, and a little beyond it not at all.
    let [ball, rod, sheet, own] = &scene.taxels[..] else { panic!() };
    let sum = |pad: &Taxels, p: [f64; 3], m: Vector3<f64>| -> f64 {
        let taxels = pad.points.iter().zip(&pad.normals);
        let weight = |(x, n): (&[f64; 3], &[f64; 3])| {
            let near = 1.0 - (Vector3::from(p) - Vector3::from(*x)).norm_squared() / pad.reach.powi(2);
            near.max(0.0).powi(3) * m.dot(&Vector3::from(*n)).max(0.0)
        };
        taxels.map(weight).sum()
    };
    let within = [
        (ball, [0.1, 0.0, 0.0], 0.0232, vec![[0.02, 0.0, 0.0], [0.0, -0.0115, 0.0115]]),
        (rod, [0.15, 0.0, 0.0], 0.19, vec![[0.15, 0.01, 0.0], [-0.155, 0.0, 0.0], [0.0, 0.0, 0.01]]),
        (sheet, [0.0, 0.1, 0.0], 0.08, vec![[0.05, 0.02, 0.01], [-0.05, 0.02, -0.01], [0.0, 0.0, 0.01]]),
        (own, [0.0, 0.0, 0.01], 0.0232, vec![[0.0, 0.0, 0.0199]]),
    ];
    for (pad, middle, out, places) in within {
        for m in [Vector3::x(), -Vector3::y(), Vector3::new(1.0, 1.0, 1.0).normalize()] {
            let at = |p: [f64; 3]| [0, 1, 2].map(|k| middle[k] + p[k]);
            assert!(places.iter().all(|&p| sum(pad, at(p), m) >= 0.0156), "{}: {m}", pad.name);
            assert_eq!(sum(pad, at([out, 0.0, 0.0]), m), 0.0, "{}", pad.name);
        }
    }
    let file = std::env::temp_dir().join(format!("fingertip-touch-{}.xml", std::process::id()));
    std::fs::write(&file, text).unwrap();
    let robot = Robot::from_mjcf("hand", &file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let note = "touch sensors left out: a, rod, c, d, e";
    assert!(robot.articulation.notes.iter().any(|own| own == note), "{:?}", robot.articulation.notes);
    let missing = Scene::from_mjcf_text(&text.replace("site=\"own\"", "site=\"on\""), ".").unwrap_err().to_string();
    assert!(missing.contains("touch \"d\"") && missing.contains("\"on\"") && missing.contains("own"), "{missing}");
}

/// A pair of geoms of two things holds between them, even against `contype`.
#[test]
fn pairs_between_things() {
    let text = "<mujoco model=\"m\"><worldbody><geom name=\"floor\" type=\"plane\" size=\"1 1 1\"/>\
                <body name=\"p\"><joint name=\"j\"/><geom name=\"tip\" size=\".1\" contype=\"0\" conaffinity=\"0\"/></body>\
                <body name=\"ball\" pos=\"0 0 1\"><freejoint/><geom name=\"g\" size=\".02\" contype=\"0\" conaffinity=\"0\"/></body></worldbody>\
                <contact><pair geom1=\"tip\" geom2=\"g\" friction=\"0.7 0.7\"/><pair geom1=\"g\" geom2=\"floor\" friction=\"0.3 0.3\"/></contact>\
                <actuator><position joint=\"j\" kp=\"1\"/></actuator></mujoco>";
    let scene = Scene::from_mjcf_text(text, ".").unwrap();
    assert_eq!(scene.all_warnings(), Vec::<String>::new());
    let model = model(&scene);
    let of = |shape: usize| model.tree.bodies[model.shapes[shape].body].name.as_str();
    let mut pairs: Vec<_> = model.pairs.pairs.iter().map(|pair| ([of(pair.a), of(pair.b)], pair.mu)).collect();
    pairs.iter_mut().for_each(|(names, _)| names.sort_unstable());
    pairs.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    assert_eq!(pairs, [(["ball", "floor"], 0.3), (["ball", "m/p"], 0.7)]);
}

/// A hand whose collision is off offers to take the shapes that it is drawn with, and takes them if it is told to.
#[test]
fn hands_whose_collision_is_off() {
    let toml = |file: &str, keys: &str| {
        let kind = if file.ends_with("urdf") { "urdf" } else { "mjcf" };
        let text = format!(
            "[[robot]]\nname = \"h\"\n{kind} = \"{file}\"\n{keys}\n[[object]]\nname = \"ball\"\nsphere = 0.02\nmass = 0.1\nfreedom = \"free\"\n\
             position = [0, 0, 1]"
        );
        Scene::from_toml(&text, "tests/mjcf")
    };
    for file in ["off.xml", "off.urdf"] {
        let off = toml(file, "").unwrap();
        let expected = "h: no link of it has a collision shape, so nothing touches it; `collide = true` takes the 2 that it is drawn with";
        assert_eq!(off.all_warnings(), [expected], "{file}");
        assert_eq!(model(&off).nc(), 0);
        let on = toml(file, "collide = true").unwrap();
        assert_eq!(on.all_warnings(), Vec::<String>::new());
        assert_eq!(model(&on).pairs.pairs.len(), 2, "{file}");
    }
    let error = toml("off.xml", "collide = true\ncollision = []").unwrap_err().to_string();
    assert!(error.contains("robot \"h\": collide: expected without a list"), "{error}");
}

/// One message that names the file, the line, the element and what was expected.
#[test]
fn bad_files() {
    let folder = std::env::temp_dir().join(format!("fingertip-mjcf-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("bad.xml");
    let body = |inner: &str| {
        format!("<mujoco><worldbody>\n<body name=\"b\">{inner}<geom size=\".1\"/></body></worldbody></mujoco>")
    };
    for (text, expected) in [
        ("<mujoco>".into(), "XML"),
        (body("<joint type=\"bal\"/>"), "expected one of free, ball, slide, hinge, got \"bal\""),
        (body("<joint axis=\"0 0\"/>"), "line 2: joint: axis: expected 3 numbers, got 2"),
        (body("<joint axis=\"0 0 nan\"/>"), "joint: axis: expected finite numbers, got \"nan\""),
        (body("<joint axis=\"0 0 0\"/>"), "axis: expected a direction"),
        (body("<joint class=\"no\"/>"), "joint: class: there is no class \"no\""),
        (body("<body quat=\"1 0 0 0\" euler=\"0 0 0\"/>"), "body: quat: expected this or euler, got both"),
        (body("<body name=\"b\"/>"), "body \"b\": name: expected a unique name"),
        (body("<geom type=\"mesh\" mesh=\"m\"/>"), "geom: mesh: there is no mesh \"m\""),
        (body("<geom type=\"capsule\" size=\"0.1\"/>"), "geom: capsule half length: expected a positive number, got 0"),
        (body("<attach model=\"m\"/>"), "attach: expected bodies that the file spells out"),
        (
            body("<freejoint/><joint/>").replace("<freejoint/><joint/>", "<joint/><freejoint/>"),
            "expected a free joint alone",
        ),
        (body("<include file=\"no.xml\"/>"), "bad.xml: line 2: include: there is no file"),
        (body("<include file=\"bad.xml\"/>"), "expected a file once, but \"bad.xml\" is included already"),
        (body("<replicate count=\"1e9\"/>"), "replicate: count: expected an integer from 1 to 10000"),
        (
            body("").replace("</mujoco>", "<contact><exclude body1=\"b\" body2=\"c\"/></contact></mujoco>"),
            "exclude: body of \"b\" and \"c\": there is no body \"c\"; did you mean \"b\"?",
        ),
        (
            body("<joint name=\"j\"/>").replace("</mujoco>", "<actuator><position joint=\"i\"/></actuator></mujoco>"),
            "actuator \"actuator1\": there is no joint \"i\"; did you mean \"j\"?",
        ),
    ] {
        std::fs::write(&file, &text).unwrap();
        let error = Scene::load(&file).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Of all collision meshes of a file that are not there a single line.
#[test]
fn meshes_that_are_not_there_are_one_warning() {
    let names = ["a", "b", "c", "d"];
    let meshes = names.map(|name| format!("<mesh file=\"{name}.stl\"/>")).concat();
    let body = |name| {
        format!(
            "<body name=\"{name}\"><joint name=\"{name}\"/><geom type=\"mesh\" mesh=\"{name}\"/><geom size=\"0.01\"/>"
        )
    };
    let text = format!(
        "<mujoco><asset>{meshes}</asset><worldbody>{}{}</worldbody></mujoco>",
        names.map(body).concat(),
        "</body>".repeat(names.len())
    );
    let scene = Scene::from_mjcf_text(&text, "nowhere").unwrap();
    let told: Vec<String> = scene.all_warnings().into_iter().filter(|warning| warning.contains("mesh")).collect();
    let [mass, left_out] = &told[..] else { panic!("{told:#?}") };
    assert!(mass.contains("link \"a\": its mass lacks that of a geom") && mass.ends_with("; so do 3 more"), "{mass}");
    assert!(
        left_out.contains("MJCF: 4 collision meshes left out: ") && left_out.contains(" of link \"c\" and 1 more; "),
        "{left_out}"
    );
    assert!(left_out.contains("a.stl of link \"a\"") && left_out.ends_with("there is no such file"), "{left_out}");
}
