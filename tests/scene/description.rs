//! What the readers make of URDF and scene files: figures, joint kinds, mimic chains, order of q and u, scripts.

use std::f64::consts::FRAC_PI_2;

use candle_core::{DType, Device, Result};
use fingertip::Model;
use fingertip::description::{
    Articulation, Collision, Freedom, Inertia, JointKind, Limits, Mimic, Object, ObjectBody, PairRule, Robot, Scene,
    Shape,
};
use fingertip::kinematics::{Kinematics, Tree};
use nalgebra::{Isometry3, Matrix3, Point3, Translation3, Unit, UnitQuaternion, Vector3};

/// The same decimal numbers, but for a rotation or two.
const SAME: f64 = 1e-15;
/// Positions of the hand's fingertips through six rotations of order one.
const CHAIN: f64 = 1e-14;

const SCENES: [&str; 4] = ["hand_ball", "cube_fingertips", "two_fingers", "push"];

fn robot(name: &str) -> Articulation {
    Articulation::from_urdf(format!("assets/robots/{name}.urdf")).unwrap()
}

fn scene(name: &str) -> Scene {
    Scene::load(format!("assets/scenes/{name}.toml")).unwrap()
}

fn urdf(body: &str) -> Articulation {
    Articulation::from_urdf_str(&format!("<robot name=\"r\">{body}</robot>"), "r.urdf").unwrap()
}

/// Every moving joint and its link against a table made by other means.
fn compare_figures(name: &str, table: &str) {
    let hand = robot(name);
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    let moving: Vec<_> = hand.joints.iter().filter(|joint| joint.kind != JointKind::Fixed).collect();
    assert_eq!(moving.len(), rows.len());
    for (joint, row) in moving.iter().zip(rows) {
        let (joint_name, numbers) = row.split_once(',').unwrap();
        assert_eq!(joint.name, joint_name);
        let n: Vec<f64> = numbers.split(',').map(|x| x.parse().unwrap()).collect();
        let [lower, upper, x, y, z, roll, pitch, yaw, ax, ay, az, damping, mass, cx, cy, cz, xx, yy, zz, xy, xz, yz] =
            n[..]
        else {
            panic!("{row}")
        };
        assert_eq!(joint.limits, Some(Limits { lower, upper }), "{joint_name}");
        assert_eq!((joint.axis, joint.damping), (Vector3::new(ax, ay, az), damping), "{joint_name}");
        let about = |axis, angle| UnitQuaternion::from_axis_angle(&axis, angle);
        let turn = about(Vector3::z_axis(), yaw) * about(Vector3::y_axis(), pitch) * about(Vector3::x_axis(), roll);
        let origin = Isometry3::from_parts(Translation3::new(x, y, z), turn);
        assert!((joint.origin.to_homogeneous() - origin.to_homogeneous()).norm() < SAME, "{joint_name}");
        let inertia = hand.links[joint.child].inertia.as_ref().unwrap();
        assert_eq!((inertia.mass, inertia.com), (mass, Vector3::new(cx, cy, cz)), "{joint_name}");
        let matrix = Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz);
        assert!((inertia.matrix - matrix).norm() <= SAME * matrix.norm(), "{joint_name}");
    }
}

#[test]
fn figures_of_the_hands() {
    compare_figures("hand21", include_str!("../golden/hand21_figures.csv"));
    compare_figures("allegro16", include_str!("../golden/allegro16_figures.csv"));
}

/// A step of the hand from Pinocchio 4.1: 21 joints, and the centres of the five fingertip spheres.
#[test]
fn fingertips_of_hand21() {
    let q = [
        -0.09955595347627731,
        -1.0093504467368464,
        -0.9862680288871352,
        0.7993629203691778,
        0.7899834364421539,
        -0.12201838682088935,
        1.0095658257291305,
        0.7189234805579624,
        0.9528454546171806,
        -0.14719149755634456,
        0.6464978300761839,
        0.8517352947939004,
        0.4834301825961744,
        0.0402942019477314,
        0.5445541998924138,
        0.6580975324442878,
        0.5852581858869716,
        0.050787618871961863,
        0.9167563427583285,
        0.7116194221888829,
        0.6536073899655631,
    ];
    let expected = [
        ("finger_r_link_1_thumb4", [0.09916480465266048, 0.04279268882146348, -0.19943667888849]),
        ("finger_r_link_2_index4", [0.10872583882161521, 0.03767119496873738, -0.1925585796381624]),
        ("finger_r_link_3_middle4", [0.14759099493803277, 0.015612648680488807, -0.1964998668431474]),
        ("finger_r_link_4_ring4", [0.15950137980980586, -0.020409569880538367, -0.19264917921791885]),
        ("finger_r_link_5_little4", [0.1049051989125159, -0.046249503298376446, -0.19927866968028546]),
    ];
    let hand = robot("hand21");
    for (name, centre) in expected {
        let tip = hand.links.iter().position(|link| link.name == name).unwrap();
        let [Collision { shape, pose, .. }] = &hand.links[tip].collisions[..] else { panic!("{name}") };
        assert_eq!(*shape, Shape::sphere(0.0135));
        let (mut at, mut point) = (tip, pose * Point3::origin());
        while let Some(j) = hand.joints.iter().position(|joint| joint.child == at) {
            let joint = &hand.joints[j];
            let motion = match joint.kind {
                JointKind::Prismatic => Translation3::from(joint.axis * q[j]).into(),
                _ => Isometry3::from_parts(
                    Translation3::identity(),
                    UnitQuaternion::from_axis_angle(&Unit::new_unchecked(joint.axis), q[j]),
                ),
            };
            (at, point) = (joint.parent, joint.origin * motion * point);
        }
        assert!((point.coords - Vector3::from(centre)).norm() < CHAIN, "{name}: {point}");
    }
}

#[test]
fn names_and_sizes_of_the_robots() {
    for (name, n_links, nq, n_shapes) in [
        ("hand21", 22, 21, 5),
        ("allegro16", 21, 16, 20),
        ("two_fingers", 5, 4, 2),
        ("planar_arm", 3, 2, 1),
        ("door", 3, 1, 2),
    ] {
        let robot = robot(name);
        assert_eq!(robot.links.len(), n_links, "{name}");
        assert_eq!(robot.joints.iter().map(|joint| joint.kind.nq()).sum::<usize>(), nq, "{name}");
        assert_eq!(robot.links.iter().map(|link| link.collisions.len()).sum::<usize>(), n_shapes, "{name}");
        assert!(robot.links.iter().any(|link| link.visuals.iter().any(|visual| visual.rgba.is_some())), "{name}");
    }
    let door = robot("door");
    assert_eq!(door.root(), Some(0));
    assert_eq!(door.links[2].collisions[0].shape, Shape::capsule(0.01, 0.05));
    assert_eq!(door.joints[0].effort, f64::INFINITY, "an effort of zero says nothing");
    assert_eq!(robot("planar_arm").joints[0].effort, 40.0);
    // The inertia of four links that no solid has is noted; the other robots are without fault.
    let notes = |name: &str| Scene::new().robot(Robot::new("r", robot(name))).all_notes();
    let of_allegro = notes("allegro16");
    assert_eq!(of_allegro.iter().filter(|note| note.contains("no solid has this inertia")).count(), of_allegro.len());
    assert_eq!(of_allegro.len(), 4);
    assert!(["hand21", "two_fingers", "planar_arm", "door"].iter().all(|name| notes(name).is_empty()));
}

#[test]
fn every_kind_of_joint() {
    let link = |name: &str| format!("<link name=\"{name}\"/>");
    let joint = |name: &str, kind: &str, more: &str| {
        format!(
            "<joint name=\"{name}\" type=\"{kind}\"><parent link=\"base\"/><child link=\"{name}_link\"/>{more}</joint>"
        )
    };
    let kinds = ["revolute", "continuous", "prismatic", "fixed", "floating", "planar"];
    let limit = r#"<axis xyz="0 3 4"/><limit lower="-0.5" upper="2" effort="3" velocity="1"/>"#;
    let body: String = kinds.iter().map(|kind| link(&format!("{kind}_link")) + &joint(kind, kind, limit)).collect();
    let robot = urdf(&(link("base") + &body));
    let read: Vec<JointKind> = robot.joints.iter().map(|joint| joint.kind).collect();
    let expected = [
        JointKind::Revolute,
        JointKind::Continuous,
        JointKind::Prismatic,
        JointKind::Fixed,
        JointKind::Floating,
        JointKind::Planar,
    ];
    assert_eq!(read, expected);
    let limits = Some(Limits { lower: -0.5, upper: 2.0 });
    let given: Vec<_> = robot.joints.iter().map(|joint| joint.limits).collect();
    assert_eq!(given, [limits, None, limits, None, None, None], "only revolute and prismatic joints have limits");
    for i in [0, 1, 2, 5] {
        assert_eq!(robot.joints[i].axis, Vector3::new(0.0, 0.6, 0.8), "the axis is brought to unit length");
    }
    // The standard's axis where the file has none, and no limits where they are infinite.
    let plain = r#"<limit lower="-inf" upper="inf" effort="1" velocity="1"/>"#;
    let robot = urdf(&(link("base") + &link("turn_link") + &joint("turn", "revolute", plain)));
    assert_eq!((robot.joints[0].axis, robot.joints[0].limits), (Vector3::x(), None));
}

/// Files that other programs read: what is odd in them is left out, and a note says so.
#[test]
fn oddities_of_urdfs_are_left_out_with_a_note() {
    let base = r#"<link name="a"/><link name="b"/><link name="c"/>"#;
    let joints = r#"<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>LIMIT</joint>
        <joint name="k" type="fixed"><parent link="b"/><child link="c"/>AXIS</joint>"#;
    let limit = r#"<limit lower="-1" upper="1" effort="1" velocity="1"/>"#;
    let with = |limit: &str, axis: &str| base.to_owned() + &joints.replace("LIMIT", limit).replace("AXIS", axis);
    let of_link =
        |parts: &str| with(limit, "").replace(r#"<link name="b"/>"#, &format!(r#"<link name="b">{parts}</link>"#));
    for (text, note) in [
        (of_link(r#"<visual><geometry><sphere radius="0"/></geometry></visual>"#), "link \"b\": 1 shapes of size 0"),
        (
            of_link(r#"<collision><geometry><box size="1 0 1"/></geometry></collision>"#),
            "link \"b\": 1 shapes of size 0",
        ),
        (of_link("<visual/>"), "link \"b\": <visual> without a shape"),
        (of_link("<inertial/>"), "link \"b\": <inertial> without a mass left out"),
        (
            of_link("<inertial>\n<mass value='1'/></inertial>"),
            "link \"b\": <inertial> without moments of inertia, taken for 0",
        ),
        (of_link("<visual><geometry/></visual>"), "link \"b\": <visual> without a shape"),
        (of_link("<collision><geometry> </geometry></collision>"), "link \"b\": <collision> without a shape"),
        (
            of_link("<visual><geometry><!-- <box/> --><origin/></geometry></visual>"),
            "link \"b\": <visual> without a shape",
        ),
        (of_link(r#"<collision><origin xyz="0 0 1"/></collision>"#), "link \"b\": <collision> without a shape"),
        (with(&format!("{limit}<dynamics damping=\"-1\"/>"), ""), "joint \"j\": damping -1 taken for none"),
        (
            with(&format!("{limit}<dynamics damping=\"0.1\" friction=\"-2\"/>"), ""),
            "joint \"j\": friction -2 taken for none",
        ),
        (with(r#"<limit lower="-1" upper="1" effort="1"/>"#, ""), "joint \"j\": <limit> without a velocity"),
        (with(&limit.replace("effort=\"1\"", "effort=\"-1\""), ""), "joint \"j\": effort -1 taken for no limit"),
        (with(limit, "<axis/>"), "joint \"k\": <axis> of a fixed joint left out"),
    ] {
        let robot = urdf(&text);
        assert!(robot.notes.iter().any(|found| found.starts_with(note)), "{note}: {:?}", robot.notes);
        assert!(robot.links.iter().all(|link| link.collisions.is_empty() && link.visuals.is_empty()), "{note}");
        assert_eq!(robot.joints[0].limits, Some(Limits { lower: -1.0, upper: 1.0 }), "{note}");
    }
    let looks =
        |material: &str| of_link(&format!(r#"<visual><geometry><sphere radius="1"/></geometry>{material}</visual>"#));
    let red = r#"<material name="x"><color rgba="1 0 0 1"/></material>"#;
    for (text, note) in [
        (looks(&format!("{red}<material name=\"y\"/>")), "link \"b\": a second <material> left out"),
        (looks(&red.replace("<color", "<texture/><color")), "link \"b\": <texture> without a file left out"),
    ] {
        let robot = urdf(&text);
        assert!(robot.notes.iter().any(|found| found.starts_with(note)), "{note}: {:?}", robot.notes);
        assert_eq!(robot.links[1].visuals[0].rgba, Some([1.0, 0.0, 0.0, 1.0]), "{note}");
    }
    let gazebo = r#"<gazebo><sensor:ray name="r"/></gazebo>"#;
    let world = r#"<joint name="w" type="fixed"><parent link="world"/><child link="a"/></joint>"#;
    let turned = limit.replace(r#"lower="-1" upper="1""#, r#"lower="1" upper="-1""#);
    for (text, note, n_links, limits) in [
        (with(limit, "") + gazebo, "gazebo \"\": <sensor:ray> left out", 3, Some(Limits { lower: -1.0, upper: 1.0 })),
        (with(limit, "") + world, "link \"world\": added, as joint \"w\"", 4, Some(Limits { lower: -1.0, upper: 1.0 })),
        (with(&turned, ""), "joint \"j\": lower limit > upper limit, taken for no limits", 3, None),
    ] {
        let robot = urdf(&text);
        // Joints without limits move otherwise than the file says; the rest moves nothing.
        let said = if limits.is_none() { &robot.warnings } else { &robot.notes };
        assert!(said.iter().any(|found| found.starts_with(note)), "{note}: {said:?}");
        assert_eq!((robot.links.len(), robot.joints[0].limits), (n_links, limits), "{note}");
    }
    // Moments without a mass to belong to, with a <mass> and without one.
    for mass in ["", r#"<mass value="0"/>"#] {
        let inertia = r#"<inertia ixx="0" ixy="0" ixz="0" iyy="1" iyz="0" izz="0"/>"#;
        let robot = urdf(&of_link(&format!("<inertial>{mass}{inertia}</inertial>")));
        assert_eq!(robot.warnings, ["link \"b\": inertia without a mass left out"]);
    }
    let capsule = r#"<collision><geometry><capsule radius="0.1" length="0"/></geometry></collision>"#;
    assert_eq!(urdf(&of_link(capsule)).links[1].collisions[0].shape, Shape::sphere(0.1));
    // A principal moment of -2e-9 beside links of 1 kg m².
    let inertia = |moment: f64, product: f64| {
        format!(
            "<inertial><mass value=\"1\"/><inertia ixx=\"{moment}\" iyy=\"{moment}\" izz=\"{moment}\" ixy=\"{product}\" ixz=\"0\" iyz=\"0\"/></inertial>"
        )
    };
    let of_two = |moment: f64| {
        let links = of_link(&inertia(1e-9, 3e-9));
        links.replace(r#"<link name="a"/>"#, &format!("<link name=\"a\">{}</link>", inertia(moment, 0.0)))
    };
    let robot = urdf(&of_two(1.0));
    assert!(
        robot.notes.contains(&"link \"b\": principal moment -2.000e-9 kg m^2 taken for 0".to_owned()),
        "{:?}",
        robot.notes
    );
    let [least, middle, most] = robot.links[1].inertia.as_ref().unwrap().principal_moments();
    assert!(
        least.abs() < 1e-20 && (middle - 1e-9).abs() < 1e-20 && (most - 4e-9).abs() < 1e-20,
        "{least:e}, {middle:e}, {most:e}"
    );
    let error = Articulation::from_urdf_str(&format!("<robot name=\"r\">{}</robot>", of_two(1e-4)), "r");
    assert!(error.unwrap_err().to_string().contains("link \"b\": inertia: expected a positive semidefinite matrix"));
    let geometry = r#"<collision><geometry><box size="1 1 1"/><origin xyz="0 0 0.1"/></geometry></collision>"#;
    let robot = urdf(&of_link(geometry));
    assert_eq!(robot.links[1].collisions[0].pose, nalgebra::Isometry3::identity());
    assert!(robot.notes.concat().contains("<origin> left out: it stands within <geometry>"), "{:?}", robot.notes);
    // What moves needs a direction.
    let error = Articulation::from_urdf_str(
        &format!("<robot name=\"r\">{}</robot>", with(limit, "").replace("xyz=\"0 0 1\"", "")),
        "r",
    );
    assert!(error.unwrap_err().to_string().contains("joint \"j\": missing field `xyz`"));
}

#[test]
fn mimic_chains_end_at_a_joint_of_their_own() {
    let body: String = (0..3)
        .map(|i| {
            let mimic = match i {
                0 => r#"<mimic joint="j1" multiplier="2" offset="0.5"/>"#,
                1 => r#"<mimic joint="j2" multiplier="-3" offset="0.25"/>"#,
                _ => "",
            };
            format!(
                "<link name=\"l{}\"/><joint name=\"j{i}\" type=\"continuous\"><parent link=\"l{i}\"/>\
                 <child link=\"l{}\"/>{mimic}</joint>",
                i + 1,
                i + 1
            )
        })
        .collect();
    let robot = urdf(&format!("<link name=\"l0\"/>{body}"));
    // q0 = 2 q1 + 0.5 = 2 (-3 q2 + 0.25) + 0.5
    assert_eq!(robot.joints[0].mimic, Some(Mimic { joint: 2, multiplier: -6.0, offset: 1.0 }));
    assert_eq!(robot.joints[1].mimic, Some(Mimic { joint: 2, multiplier: -3.0, offset: 0.25 }));
    assert_eq!(robot.joints[2].mimic, None);
    let scene = Scene::new().robot(Robot::new("r", robot));
    scene.validate().unwrap();
    assert_eq!(scene.commanded().map(|(_, joint)| joint.name.as_str()).collect::<Vec<_>>(), ["j2"]);
    assert_eq!(Tree::new(&scene).unwrap().nq, 1);
}

#[test]
fn inertia_turns_with_its_frame() {
    let robot = urdf(
        r#"<link name="a"><inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>
           <inertia ixx="4" iyy="5" izz="6" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial></link>"#,
    );
    let inertia = robot.links[0].inertia.as_ref().unwrap();
    // A quarter turn about z takes x to y and y to -x.
    let expected = Matrix3::new(5.0, -0.1, -0.3, -0.1, 4.0, 0.2, -0.3, 0.2, 6.0);
    assert!((inertia.matrix - expected).norm() < 1e1 * SAME, "{}", inertia.matrix);
    assert_eq!((inertia.mass, inertia.com), (2.0, Vector3::new(1.0, 2.0, 3.0)));
}

#[test]
fn what_is_left_out_is_noted() {
    let robot = urdf(
        r#"<link name="a"><visual><geometry><mesh filename="a.dae"/></geometry></visual>
             <collision><geometry><mesh filename="a.stl"/></geometry></collision>
             <collision><geometry><box size="2 4 6"/></geometry></collision></link>
           <transmission name="t"><joint name="j"/></transmission><gazebo/><gazebo/>"#,
    );
    let [collision] = &robot.links[0].collisions[..] else { panic!("one collision shape") };
    assert_eq!(collision.shape, Shape::cuboid([1.0, 2.0, 3.0]));
    assert_eq!(robot.links[0].inertia, None);
    let expected = [
        "<gazebo>: 2 left out",
        "<transmission>: 1 left out",
        "visual meshes: 1 left out: a URDF's text alone has no files beside it",
    ];
    assert_eq!(robot.notes, expected);
    let expected = "link \"a\": collision mesh a.stl left out: a URDF's text alone has no files beside it";
    assert_eq!(robot.warnings, [expected]);
}

/// A cut-off or garbled file is an error or a robot, never a panic.
#[test]
fn no_text_makes_the_reader_panic() {
    let text = include_str!("../../assets/robots/two_fingers.urdf");
    for end in (0..text.len()).step_by(97) {
        assert!(Articulation::from_urdf_str(&text[..end], "cut.urdf").is_err());
        let garbled = format!("{}{}", &text[..end], &text[(end + 7).min(text.len())..]);
        let _ = Articulation::from_urdf_str(&garbled, "garbled.urdf");
    }
    let text = include_str!("../../assets/scenes/push.toml");
    for end in (0..text.len()).step_by(13) {
        let _ = Scene::from_toml(&text[..end], "assets/scenes");
        let _ = Scene::from_toml(&format!("{}{}", &text[..end], &text[(end + 5).min(text.len())..]), "assets/scenes");
    }
}

#[test]
fn q_and_u_have_the_documented_order() {
    for name in SCENES {
        let scene = scene(name);
        let tree = Tree::new(&scene).unwrap();
        let commanded: Vec<String> =
            scene.commanded().map(|(robot, joint)| format!("{}/{}", robot.name, joint.name)).collect();
        let in_tree: Vec<String> = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.name.clone()).collect();
        assert_eq!(commanded, in_tree, "{name}");
        let home: Vec<f64> = tree.coordinates.iter().filter(|c| c.u.is_some()).flat_map(|c| c.home.clone()).collect();
        assert_eq!(scene.control(0.0), home, "{name}: the script starts at home");
        assert!(!scene.script.is_empty(), "{name}");
    }
    let sizes: Vec<_> =
        SCENES.iter().map(|name| Tree::new(&scene(name)).unwrap()).map(|tree| (tree.nq, tree.nv, tree.nu)).collect();
    assert_eq!(sizes, [(24, 24, 21), (23, 22, 16), (7, 7, 4), (5, 5, 2)]);
}

#[test]
fn the_hand_and_ball_scene() {
    let scene = scene("hand_ball");
    assert_eq!((scene.params.h, scene.params.epsilon, scene.params.kappa, scene.params.mu), (0.01, 0.1, 1e4, 0.5));
    let names: Vec<_> = scene.objects.iter().map(|object| (object.name.as_str(), object.freedom)).collect();
    assert_eq!(names, [("ball", Freedom::Translation), ("table", Freedom::Fixed)]);
    let ObjectBody::Rigid { inertia: Some(ball), collisions } = &scene.objects[0].body else { panic!("a rigid ball") };
    assert_eq!((ball.mass, &collisions[0].shape), (0.52, &Shape::sphere(0.04)));
    let ObjectBody::Rigid { collisions, .. } = &scene.objects[1].body else { panic!("a rigid table") };
    assert_eq!(collisions[0].pose, Isometry3::translation(0.0, 0.0, -0.2));
    let excluded: Vec<_> = scene.pairs.iter().map(|rule| (&*rule.a, &*rule.b, rule.enabled)).collect();
    assert_eq!(excluded, [("hand", "table", Some(false)), ("hand", "hand", Some(false))]);
    let stiffness: Vec<f64> =
        Tree::new(&scene).unwrap().coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.stiffness).collect();
    assert_eq!(stiffness[0], 100.0);
    assert!(stiffness[1..].iter().all(|&k| k == 1.0));
}

#[test]
fn a_file_and_the_builder_make_the_same_scene() {
    let file = r#"
        gravity = [0, 0, -1]
        [[object]]
        name = "ball"
        sphere = 0.1
        mass = 2
        freedom = "planar"
        position = [1, 2, 3]
        [[object]]
        name = "wall"
        halfspace = [-2, 0, 0, 0.5]
        freedom = "fixed"
        [[object]]
        name = "door"
        urdf = "robots/door.urdf"
        freedom = "fixed"
        home = { hinge = 0.3 }
        [[robot]]
        name = "arm"
        urdf = "robots/planar_arm.urdf"
        position = [0, 0, 1]
        rpy = [0, 0, 1.5707963267948966]
        stiffness = { default = 5, elbow = 7 }
        home = { elbow = 0.1 }
        collision = [{ link = "lower", capsule = [0.02, 0.1], at = [0.1, 0, 0] }]
        [[pair]]
        a = "ball"
        b = "arm/lower"
        mu = 0.3
        [[pair]]
        a = "arm"
        b = "wall"
        enabled = false
        [[script]]
        time = 2
        u = { "arm/elbow" = 1 }
    "#;
    let quarter = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), FRAC_PI_2);
    let mut wall = Object::fixed("wall", Shape::HalfSpace);
    let ObjectBody::Rigid { collisions, .. } = &mut wall.body else { panic!("a rigid wall") };
    collisions[0] = Collision::half_space([-2.0, 0.0, 0.0], 0.5).unwrap();
    let capsule = Collision::at(Shape::capsule(0.02, 0.1), [0.1, 0.0, 0.0]);
    let built = Scene::new()
        .with_gravity([0.0, 0.0, -1.0])
        .object(Object::rigid("ball", Shape::sphere(0.1), 2.0).with_freedom(Freedom::Planar).at([1.0, 2.0, 3.0]))
        .object(wall)
        .object(Object::articulated("door", robot("door")).with_home("hinge", 0.3))
        .robot(
            Robot::new("arm", robot("planar_arm"))
                .with_base(Isometry3::from_parts(Translation3::new(0.0, 0.0, 1.0), quarter))
                .with_default_stiffness(5.0)
                .with_stiffness("elbow", 7.0)
                .with_home("elbow", 0.1)
                .with_collisions([("lower", capsule)])
                .unwrap(),
        )
        .pair(PairRule::friction("ball", "arm/lower", 0.3))
        .pair(PairRule::exclude("arm", "wall"))
        .keyframe(2.0, [("arm/elbow", 1.0)]);
    assert_eq!(Scene::from_toml(file, "assets").unwrap(), built);
    built.validate().unwrap();
}

#[test]
fn half_spaces_face_their_normal() {
    for (normal, offset) in [([0.0, 0.0, 1.0], -0.2), ([0.0, 0.0, -3.0], 0.7), ([1.0, 2.0, -2.0], 0.5)] {
        let pose = Collision::half_space(normal, offset).unwrap().pose;
        let unit = Vector3::from(normal).normalize();
        assert!((pose * Vector3::z() - unit).norm() < SAME);
        assert!((unit.dot(&pose.translation.vector) - offset).abs() < SAME);
    }
    assert_eq!(Collision::half_space([0.0; 3], 1.0), None);
}

#[test]
fn inertia_of_objects() {
    let body = |lines: &str| {
        let text = format!("[[object]]\nname = \"it\"\nfreedom = \"free\"\nmass = 3\n{lines}");
        match Scene::from_toml(&text, "").unwrap().objects.remove(0).body {
            ObjectBody::Rigid { inertia, .. } => inertia.unwrap(),
            ObjectBody::Articulated { .. } => panic!("a rigid object"),
        }
    };
    assert_eq!(body("box = [1, 2, 3]"), Inertia::solid(&Shape::cuboid([1.0, 2.0, 3.0]), 3.0).unwrap());
    let given = body("sphere = 1\ninertia = [1, 2, 2.5]\ncom = [0.1, 0, 0]");
    let (com, matrix) = (Vector3::new(0.1, 0.0, 0.0), Matrix3::from_diagonal(&Vector3::new(1.0, 2.0, 2.5)));
    assert_eq!(given, Inertia { mass: 3.0, com, matrix });
    let full = body("sphere = 1\ninertia = [1, 2, 2.5, 0.1, 0.2, 0.3]").matrix;
    assert_eq!(full, Matrix3::new(1.0, 0.1, 0.2, 0.1, 2.0, 0.3, 0.2, 0.3, 2.5));
    // A dumb-bell of two balls at ±1: 2 · (0.4 m r² + m d²) across, 2 · 0.4 m r² along, with m = 1.5 each.
    let balls = "collision = [{ sphere = 0.5, at = [1, 0, 0] }, { sphere = 0.5, at = [-1, 0, 0] }]";
    let expected = Vector3::new(0.3, 3.3, 3.3);
    assert!((body(balls).matrix - Matrix3::from_diagonal(&expected)).norm() < 1e1 * SAME);
}

#[test]
fn scripts_are_linear_and_held() {
    let scene = Scene::new()
        .robot(Robot::new("arm", robot("planar_arm")).with_home("shoulder", 0.2))
        .keyframe(1.0, [("shoulder", 1.2)])
        .keyframe(3.0, [("arm/elbow", -2.0)])
        .keyframe(4.0, [("arm/shoulder", 0.2), ("arm/elbow", 0.0)]);
    scene.validate().unwrap();
    let cases = [
        (-1.0, [0.2, 0.0]),
        (0.0, [0.2, 0.0]),
        (0.5, [0.7, 0.0]),
        (1.0, [1.2, 0.0]),
        (2.0, [1.2, -1.0]),
        (3.5, [0.7, -1.0]),
        (4.0, [0.2, 0.0]),
        (99.0, [0.2, 0.0]),
    ];
    for (time, expected) in cases {
        let u = scene.control(time);
        assert!(u.iter().zip(expected).all(|(a, b)| (a - b).abs() < SAME), "at {time} s: {u:?}, not {expected:?}");
    }
}

/// A geometry within two nodes, of which the inner one is transformed.
fn collada(corners: &[[f64; 3]], triangles: &[[usize; 3]], transform: &str) -> String {
    let positions = corners.as_flattened().iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let faces = triangles.as_flattened().iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    format!(
        r##"<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
        <library_geometries><geometry id="cube"><mesh>
        <source id="p"><float_array id="f" count="{}">{positions}</float_array><technique_common>
        <accessor source="#f" count="{}" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
        <param name="Z" type="float"/></accessor></technique_common></source>
        <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
        <triangles count="{}"><input semantic="VERTEX" source="#v" offset="0"/><p>{faces}</p></triangles>
        </mesh></geometry></library_geometries>
        <library_visual_scenes><visual_scene id="s"><node id="outer"><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
        <node id="inner">{transform}<instance_geometry url="#cube"/></node></node></visual_scene></library_visual_scenes>
        <scene><instance_visual_scene url="#s"/></scene></COLLADA>"##,
        3 * corners.len(),
        corners.len(),
        triangles.len()
    )
}

/// The same as GLB, within a node that is moved by 3 along x and turned by 90° about z.
fn glb(corners: &[[f64; 3]], triangles: &[[usize; 3]]) -> Vec<u8> {
    let positions = corners.as_flattened().iter().flat_map(|&x| (x as f32).to_le_bytes());
    let indices = triangles.as_flattened().iter().flat_map(|&k| (k as u16).to_le_bytes());
    let binary: Vec<u8> = positions.chain(indices).collect();
    let (points, faces) = (12 * corners.len(), 6 * triangles.len());
    let json = format!(
        r#"{{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0]}}], "buffers": [{{"byteLength": {}}}],
        "nodes": [{{"mesh": 0, "translation": [3, 0, 0], "rotation": [0, 0, 0.7071067811865476, 0.7071067811865476]}}],
        "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}, "indices": 1}}]}}],
        "bufferViews": [{{"buffer": 0, "byteLength": {points}}}, {{"buffer": 0, "byteOffset": {points}, "byteLength": {faces}}}],
        "accessors": [{{"bufferView": 0, "componentType": 5126, "count": {}, "type": "VEC3"}},
                      {{"bufferView": 1, "componentType": 5123, "count": {}, "type": "SCALAR"}}]}}"#,
        binary.len(),
        corners.len(),
        3 * triangles.len()
    );
    let chunk = |kind: &[u8], content: &[u8]| [&(content.len() as u32).to_le_bytes(), kind, content].concat();
    let chunks = [chunk(b"JSON", json.as_bytes()), chunk(b"BIN\0", &binary)].concat();
    [b"glTF", &2_u32.to_le_bytes()[..], &(12 + chunks.len() as u32).to_le_bytes(), &chunks].concat()
}

/// A cube of edge 2 with a corner at the origin, as STL, OBJ, COLLADA and GLB.
#[test]
fn meshes_become_hulls() {
    let folder = std::env::temp_dir().join(format!("fingertip-meshes-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("meshes")).unwrap();
    let corners: Vec<[f64; 3]> = (0..8).map(|k| [0, 1, 2].map(|i| 2.0 * f64::from(k >> i & 1))).collect();
    let triangles = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4]];
    let triangles = [&triangles[..], &[[2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]]].concat();
    let point = |k: usize| format!("{} {} {}", corners[k][0], corners[k][1], corners[k][2]);
    let facet = |t: &[usize; 3]| {
        let vertices: String = t.iter().map(|&k| format!("vertex {}\n", point(k))).collect();
        format!("facet normal 0 0 0\nouter loop\n{vertices}endloop\nendfacet\n")
    };
    let stl = format!("solid cube\n{}endsolid cube\n", triangles.iter().map(facet).collect::<String>());
    let vertices: String = (0..8).map(|k| format!("v {}\n", point(k))).collect();
    let faces: String = triangles.iter().map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1)).collect();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("meshes/cube.stl", &stl);
    write("cube.obj", &(vertices + &faces));
    write("cube.dae", &collada(&corners, &triangles, "<translate>3 0 0</translate><rotate>0 0 1 90</rotate>"));
    std::fs::write(folder.join("cube.glb"), glb(&corners, &triangles)).unwrap();
    let inches = collada(&corners, &triangles, "").replacen(
        "<library_geometries>",
        "<asset><unit name=\"inch\" meter=\"0.0254\"/></asset><library_geometries>",
        1,
    );
    write("inches.dae", &inches);
    write("minus.dae", &inches.replace("0.0254", "-1"));
    write("skewed.dae", &collada(&corners, &triangles, "<skew>45 0 1 0 1 0 0</skew>"));
    write("bad.stl", "no mesh at all");
    write("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 3 4\n");
    let object = |keys: &str| {
        let text = format!("[[object]]\nname = \"cup\"\nfreedom = \"free\"\nmass = 3.0\n{keys}");
        Scene::from_toml(&text, &folder)
    };
    for (keys, size) in [
        ("mesh = \"meshes/cube.stl\"\nscale = 0.1", [0.2, 0.2, 0.2]),
        ("mesh = \"cube.obj\"\nscale = [0.1, -0.2, 0.3]", [0.2, -0.4, 0.6]),
        // Turned by 90° about z, then moved by 3 along x, the cube is from 1 to 3 and from 0 to 2.
        ("mesh = \"cube.dae\"\nscale = 0.1", [0.4, 0.2, 0.2]),
        ("mesh = \"cube.glb\"\nscale = 0.1", [0.4, 0.2, 0.2]),
        ("mesh = \"inches.dae\"", [0.0508; 3]),
        ("hull = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]", [1.0; 3]),
    ] {
        let scene = object(keys).unwrap();
        let ObjectBody::Rigid { collisions, inertia } = &scene.objects[0].body else { panic!() };
        let Shape::Hull(hull) = &collisions[0].shape else { panic!("{keys}") };
        assert_eq!((hull.vertices().len(), hull.faces().len()), (8, 6), "{keys}");
        let [x, y, z]: [f64; 3] = size;
        let inertia = inertia.as_ref().unwrap();
        // Mesh files hold single precision; so do the numbers that they were scaled from.
        assert!((inertia.com - Vector3::new(x, y, z) / 2.0).norm() < 1e-7, "{keys}: {inertia:?}");
        assert!((inertia.matrix[(0, 0)] - 3.0 * (y * y + z * z) / 12.0).abs() < 1e-7, "{keys}: {inertia:?}");
    }
    for (keys, expected) in [
        ("mesh = \"bad.stl\"", "bad.stl: STL: expected a header of 84 bytes, got 14 bytes"),
        ("mesh = \"flat.obj\"", "flat.obj: hull: expected points that are not all in one plane"),
        ("mesh = \"none.stl\"", "object \"cup\": "),
        ("mesh = \"none.stl\"", "none.stl: No such file"),
        ("mesh = \"minus.dae\"", "minus.dae: unit: expected a positive number of metres, got \"-1\""),
        ("mesh = \"skewed.dae\"", "skewed.dae: node \"inner\": skew: expected matrix, translate"),
        ("mesh = \"cube.obj\"\nscale = 0.0", "scale: expected three numbers other than zero"),
        ("sphere = 0.1\nscale = 2.0", "scale: expected with a mesh only"),
        ("hull = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]", "hull: expected at least 4 points, got 3"),
        ("ellipsoid = [0.1, 0.0, 0.2]", "ellipsoid radius: expected a positive number, got 0"),
    ] {
        let error = object(keys).unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}: {error}");
    }
    let urdf = |file: &str| {
        let mesh = format!("<geometry><mesh filename=\"{file}\" scale=\"0.1 0.1 0.1\"/></geometry>");
        write(
            "robot.urdf",
            &format!("<robot name=\"r\"><link name=\"a\"><collision>{mesh}</collision></link></robot>"),
        );
        Articulation::from_urdf(folder.join("robot.urdf"))
    };
    for file in ["meshes/cube.stl", "package://pkg/meshes/cube.stl", "cube.glb"] {
        let robot = urdf(file).unwrap();
        assert!(matches!(robot.links[0].collisions[0].shape, Shape::Hull(_)), "{file}");
    }
    let note = |file: &str| urdf(file).unwrap().warnings.concat();
    let (path, found) = (folder.join("none.stl"), note("none.stl"));
    let expected = format!("link \"a\": collision mesh none.stl left out: there is no file {}", path.display());
    assert_eq!(found, expected);
    let (own, found) = (folder.canonicalize().unwrap(), note("package://pkg/none.stl"));
    let places = format!("there is no pkg/none.stl or none.stl in {} or a folder above it", own.display());
    assert!(found.contains(&places), "{found}");

    // Of several meshes that are not there a single line.
    let shape = |file: &str| format!("<collision><geometry><mesh filename=\"{file}\"/></geometry></collision>");
    let shapes: String = ["a.stl", "b.stl", "c.stl", "d.stl", "e.stl"].map(shape).concat();
    write("bare.urdf", &format!("<robot name=\"r\"><link name=\"a\">{shapes}</link></robot>"));
    let warnings = Articulation::from_urdf(folder.join("bare.urdf")).unwrap().warnings;
    let path = folder.join("a.stl");
    let expected = format!(
        "bare.urdf: 5 collision meshes left out: a.stl of link \"a\", b.stl of link \"a\", c.stl of link \"a\" and 2 more; \
         there is no file {}",
        path.display()
    );
    assert_eq!(warnings, [expected]);

    // A package somewhere else is found where the scene says.
    std::fs::create_dir_all(folder.join("ros/pkg")).unwrap();
    write("ros/pkg/far.stl", &stl);
    let robot = |packages: &str| {
        let mesh = "<geometry><mesh filename=\"package://pkg/far.stl\"/></geometry>";
        let inertia = "<inertia ixx=\"1\" iyy=\"1\" izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>";
        let link = format!("<inertial><mass value=\"1\"/>{inertia}</inertial><collision>{mesh}</collision>");
        write("far.urdf", &format!("<robot name=\"r\"><link name=\"a\">{link}</link></robot>"));
        let text = format!("[[object]]\nname = \"r\"\nurdf = \"far.urdf\"\nfreedom = \"translation\"\n{packages}");
        let scene = Scene::from_toml(&text, &folder);
        match scene.map(|mut scene| scene.objects.remove(0).body) {
            Ok(ObjectBody::Articulated { articulation, .. }) => articulation,
            other => panic!("{other:?}"),
        }
    };
    assert!(matches!(robot("packages = [\"elsewhere\", \"ros\"]").links[0].collisions[0].shape, Shape::Hull(_)));
    let notes = robot("packages = [\"elsewhere\"]").warnings.concat();
    assert!(notes.contains("elsewhere, "), "{notes}");
    let error = urdf("bad.stl").unwrap_err().to_string();
    assert!(error.contains("link \"a\"") && error.contains("bad.stl"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A base on six joints: they come first in q and u, carry the hand, and leave followers with their leaders.
#[test]
fn a_commanded_base() -> Result<()> {
    let text = "[[robot]]\nname = \"r\"\nurdf = \"gripper.urdf\"\nbase = \"commanded\"\nposition = [1, 0, 0]\n\
                stiffness = { default = 3, base_y = 7 }\nhome = { base_z = 0.2, base_yaw = 1.5707963267948966 }\n";
    let folder = std::env::temp_dir().join(format!("fingertip-base-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let urdf = "<robot name='g'><link name='palm'/><link name='a'/><link name='b'/>\
                <joint name='a' type='prismatic'><parent link='palm'/><child link='a'/><origin xyz='0.1 0 0'/><axis xyz='0 0 1'/>\
                <limit lower='-1' upper='1' effort='0' velocity='0'/></joint>\
                <joint name='b' type='prismatic'><parent link='palm'/><child link='b'/><axis xyz='0 0 1'/>\
                <limit lower='-1' upper='1' effort='0' velocity='0'/><mimic joint='a' multiplier='2'/></joint></robot>";
    std::fs::write(folder.join("gripper.urdf"), urdf).unwrap();
    let scene = Scene::from_toml(text, &folder);
    let both = Scene::from_toml(&text.replace("base =", "freedom = \"free\"\nbase ="), &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    let scene = scene.unwrap();
    assert!(both.unwrap_err().to_string().contains("base: expected no freedom beside it"));
    let robot = &scene.robots[0];
    let names: Vec<&str> = scene.commanded().map(|(_, joint)| joint.name.as_str()).collect();
    assert_eq!(names, ["base_x", "base_y", "base_z", "base_yaw", "base_pitch", "base_roll", "a"]);
    assert_eq!(
        (robot.stiffness["base_x"], robot.stiffness["base_y"], robot.stiffness["base_roll"]),
        (1000.0, 7.0, 50.0)
    );
    let model = Model::new(&scene, DType::F64, &Device::Cpu)?;
    let kinematics = Kinematics::of_bodies(&model.tree, &["r/a", "r/b"], DType::F64, &Device::Cpu)?;
    // x y z, yaw pitch roll, a.
    let q = model.tensor(&[&[0.1, 0.2, 0.3, std::f64::consts::FRAC_PI_2, 0.0, 0.0, 0.05]])?;
    let poses = kinematics.at(&q)?.poses.squeeze(0)?.to_vec2::<f64>()?;
    for (pose, expected) in poses.iter().zip([[1.1, 0.3, 0.35], [1.1, 0.2, 0.4]]) {
        assert!(pose.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-15), "{pose:?} is not {expected:?}");
    }
    Ok(())
}
