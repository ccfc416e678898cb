//! A robot on a link of another: poses, masses, pairs, motion; and named points.

use candle_core::{DType, Device, Result};
use fingertip::Model;
use fingertip::description::{Collision, Freedom, PairRule, Robot, Scene, Shape};
use fingertip::dynamics::Dynamics;
use fingertip::kinematics::Kinematics;
use fingertip::step::Quasidynamic;
use nalgebra::{Isometry3, Matrix3, Rotation3, UnitQuaternion, Vector3};

use support::{largest, rows};

const ROUNDING: f64 = 1e-13;

/// Two fingers on an arm's last link, which turns them out of the arm's plane.
const TEXT: &str = r#"
[[robot]]
name = "arm"
urdf = "planar_arm.urdf"
position = [0.1, 0.2, 0.3]
sites = [{ name = "tool", link = "lower", at = [0.25, 0.0, 0.0], rpy = [0.0, 0.5, 0.0] }]
[[robot]]
name = "hand"
urdf = "two_fingers.urdf"
mount = { robot = "arm", link = "lower" }
position = [0.3, 0.0, 0.05]
rpy = [0.4, -0.3, 0.2]
stiffness = 3.0
sites = [{ name = "root", at = [0.0, 0.01, 0.0] }]
"#;

fn scene() -> Scene {
    Scene::from_toml(TEXT, "assets/robots").unwrap()
}

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// Poses of bodies, or of sites.
fn poses(model: &Model, names: &[&str], are_sites: bool, q: &[f64]) -> Result<Vec<Isometry3<f64>>> {
    let of = if are_sites { Kinematics::of_sites } else { Kinematics::of_bodies };
    let frames = of(&model.tree, names, DType::F64, &Device::Cpu)?.at(&model.tensor(&[q])?)?;
    let pose = |p: &Vec<f64>| {
        let axes = Rotation3::from_matrix_unchecked(Matrix3::from_column_slice(&p[3..]));
        Isometry3::from_parts(Vector3::new(p[0], p[1], p[2]).into(), UnitQuaternion::from_rotation_matrix(&axes))
    };
    Ok(frames.poses.squeeze(0)?.to_vec2::<f64>()?.iter().map(pose).collect())
}

fn apart(a: &Isometry3<f64>, b: &Isometry3<f64>) -> f64 {
    largest((a.to_homogeneous() - b.to_homogeneous()).iter().copied())
}

/// The hand is where its own kinematics put it, seen from the arm's link.
#[test]
fn poses_are_composed() -> Result<()> {
    let scene = scene();
    let [arm, hand] = [0, 1].map(|k| scene.robots[k].clone());
    let (q_arm, q_hand) = ([0.4, -0.9], [0.3, -0.5, 0.2, 0.7]);
    let both = model(&scene);
    assert_eq!((both.nq(), both.nu()), (6, 6));
    let q = [&q_arm[..], &q_hand].concat();
    let last = |robot: &Robot| robot.articulation.links.last().unwrap().name.clone();
    let names = ["arm/lower".to_owned(), format!("hand/{}", last(&hand))];
    let found = poses(&both, &names.each_ref().map(|name| name.as_str()), false, &q)?;

    let carrier = poses(&model(&Scene::new().robot(arm)), &[&names[0]], false, &q_arm)?[0];
    let base = hand.base;
    let alone = Robot { mount: None, base: Isometry3::identity(), ..hand };
    let own = poses(&model(&Scene::new().robot(alone)), &[&names[1]], false, &q_hand)?[0];
    assert!(apart(&found[0], &carrier) < ROUNDING);
    assert!(apart(&found[1], &(carrier * base * own)) < ROUNDING);

    let sites = poses(&both, &["arm/tool", "hand/root"], true, &q)?;
    let tool =
        Isometry3::from_parts(Vector3::new(0.25, 0.0, 0.0).into(), UnitQuaternion::from_euler_angles(0.0, 0.5, 0.0));
    assert!(apart(&sites[0], &(carrier * tool)) < ROUNDING);
    assert!(apart(&sites[1], &(carrier * base * Isometry3::translation(0.0, 0.01, 0.0))) < ROUNDING);
    Ok(())
}

/// The arm's mass matrix has the hand's links on it, and a free arm weighs both.
#[test]
fn masses_add_up() -> Result<()> {
    let mut scene = scene();
    scene.robots[0].freedom = Freedom::Free;
    let both = model(&scene);
    let total: f64 = scene
        .robots
        .iter()
        .flat_map(|robot| &robot.articulation.links)
        .filter_map(|link| link.inertia.as_ref())
        .map(|inertia| inertia.mass)
        .sum();
    let dynamics = Dynamics::new(&both.tree, [0.0; 3], DType::F64, &Device::Cpu)?;
    let m = rows(&dynamics.mass_matrix(&both.home(1)?)?.flatten_from(1)?).remove(0);
    assert!((m[0] - total).abs() < ROUNDING, "{} is not {total}", m[0]);
    assert!((scene.rests()[0].mass - total).abs() < ROUNDING);
    Ok(())
}

/// Links that the mount joins do not touch: the arm's last link, the hand's base, and the fingers' first links on it.
#[test]
fn neighbours_do_not_touch() {
    let mut scene = scene();
    let ball = || Collision::centred(Shape::sphere(1e-3));
    let links = ["base", "left_upper", "left_lower", "right_upper", "right_lower"];
    scene.robots[0].articulation.replace_collisions(["upper", "lower"].map(|link| (link, ball()))).unwrap();
    scene.robots[1].articulation.replace_collisions(links.map(|link| (link, ball()))).unwrap();
    let touching = |scene: &Scene, arm: &str| -> Vec<&str> {
        let model = model(scene);
        links.into_iter().filter(|link| !model.contacts_between(arm, &format!("hand/{link}")).is_empty()).collect()
    };
    assert_eq!(touching(&scene, "arm/lower"), ["left_lower", "right_lower"]);
    // The hand's base is a part of the link that it is on, and so a neighbour of the one before.
    assert_eq!(touching(&scene, "arm/upper"), links[1..]);
    scene.robots[1].mount = None;
    assert_eq!(touching(&scene, "arm/lower"), links);
}

/// One step: the arm's command carries the hand, whose joints keep theirs.
#[test]
fn the_arm_carries_the_hand() -> Result<()> {
    let mut scene = scene();
    scene.pairs = vec![PairRule::exclude("hand", "hand"), PairRule::exclude("arm", "hand")];
    let both = model(&scene);
    let step = Quasidynamic::new(&both, &both.parameters)?;
    let u = [0.5, -0.2, 0.1, 0.2, 0.3, 0.4];
    let next = rows(&step.forward(&both.home(1)?, &both.tensor(&[&u])?)?).remove(0);
    assert!(largest(next.iter().zip(u).map(|(q, u)| q - u)) < ROUNDING, "{next:?}");
    Ok(())
}

#[test]
fn what_cannot_be() {
    for (change, expected) in [
        (
            ("robot = \"arm\", ", "robot = \"amr\", "),
            "robot \"hand\": mount: robot: there is no robot \"amr\"; did you mean \"arm\"?",
        ),
        (
            ("robot = \"arm\", ", "robot = \"hand\", "),
            "mount: robot: expected \"hand\" before the robot that is mounted on it",
        ),
        (
            ("link = \"lower\" }\n", "link = \"lowr\" }\n"),
            "mount: link: there is no link \"lowr\"; did you mean \"lower\"?",
        ),
        (("stiffness = 3.0", "freedom = \"free\""), "mount: freedom: expected \"fixed\""),
        (
            ("link = \"lower\", at", "link = \"lowr\", at"),
            "robot \"arm\": site \"tool\": link: there is no link \"lowr\"",
        ),
        (("name = \"root\", at", "name = \"root\", at = [0, 0, 0] }, { name = \"root\", at"), "site"),
        (("stiffness = 3.0", "mount = 3"), "duplicate key"),
    ] {
        let text = TEXT.replace(change.0, change.1);
        assert_ne!(text, TEXT, "{expected}");
        let error = Scene::from_toml(&text, "assets/robots").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nis not {expected}");
    }
    let model = model(&scene());
    let error = poses(&model, &["arm/tol"], true, &model.tree.home()).unwrap_err().to_string();
    assert!(error.contains("there is no site \"arm/tol\"; did you mean \"arm/tool\"?"), "{error}");
}
