//! Misuse is an error that says in one sentence where it stands and what was expected there.

use candle_core::{DType, Device, Tensor};
use fingertip::description::{Articulation, Freedom, Limits, Mimic, Object, ObjectBody, Robot, Scene};
use fingertip::kinematics::Tree;
use fingertip::rollout::rollout;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Parameters};

const LINKS: &str = r#"<link name="base"/><link name="arm"/>"#;

fn joint(kind: &str, inner: &str) -> String {
    format!(r#"<joint name="elbow" type="{kind}"><parent link="base"/><child link="arm"/>{inner}</joint>"#)
}

fn link(inner: &str) -> String {
    format!(r#"<link name="arm">{inner}</link>"#)
}

fn inertial(mass: &str, inertia: [&str; 6]) -> String {
    let [xx, yy, zz, xy, xz, yz] = inertia;
    let inertia = format!(r#"<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="{xz}" iyz="{yz}"/>"#);
    link(&format!(r#"<inertial><mass value="{mass}"/>{inertia}</inertial>"#))
}

fn collision(shape: &str) -> String {
    link(&format!("<collision><geometry>{shape}</geometry></collision>"))
}

const LIMIT: &str = r#"<limit lower="-1" upper="1" effort="1" velocity="1"/>"#;

/// What a URDF's error must begin and go on with.
fn urdf_cases() -> Vec<(String, &'static str, &'static str)> {
    let two = |body: &str| format!("{LINKS}{body}");
    let revolute = |inner: &str| two(&joint("revolute", &format!("{LIMIT}{inner}")));
    vec![
        (String::new(), "bad.urdf: links: ", "expected at least one link, got none"),
        (link("") + &link(""), "bad.urdf: link \"arm\": ", "expected a unique name"),
        (
            two(&(joint("fixed", "") + &joint("fixed", ""))),
            "bad.urdf: joint \"elbow\": ",
            "expected a unique name, but it stands twice",
        ),
        (
            two(&joint("fixed", "").replace("\"base\"", "\"bse\"")),
            "bad.urdf: joint \"elbow\": parent: ",
            "there is no link \"bse\"; did you mean \"base\"?",
        ),
        (
            two(&joint("fixed", "").replace("child link=\"arm\"", "child link=\"hand\"")),
            "bad.urdf: joint \"elbow\": child: ",
            "there is no link \"hand\"; expected one of \"base\", \"arm\"",
        ),
        (
            two(&(joint("fixed", "") + &joint("fixed", "").replace("elbow", "wrist"))),
            "bad.urdf: link \"arm\": ",
            "expected one parent joint, got \"elbow\" and \"wrist\"",
        ),
        (
            two(&joint("fixed", "").replace("\"base\"", "\"arm\"")),
            "bad.urdf: joint \"elbow\": ",
            "\"arm\" is parent and child",
        ),
        (
            two(&(joint("fixed", "")
                + r#"<joint name="back" type="fixed"><parent link="arm"/><child link="base"/></joint>"#)),
            "bad.urdf: joint \"elbow\": ",
            "expected a tree, but this joint is part of a loop",
        ),
        (two(""), "bad.urdf: links: ", "expected one root link, but no joint leads to any of \"base\", \"arm\""),
        (revolute(r#"<axis xyz="0 0 0"/>"#), "bad.urdf: joint \"elbow\": axis: ", "expected a direction"),
        (
            revolute(r#"<origin xyz="0 1e308 0"/>"#),
            "bad.urdf: joint \"elbow\": origin position: ",
            "expected at most 1e6 m, got 1e308",
        ),
        (
            two(&joint("revolute", r#"<limit lower="1e300" upper="1e301" effort="1" velocity="1"/>"#)),
            "bad.urdf: joint \"elbow\": limits: ",
            "expected at most 1e6 rad or m between them and zero, got 1e300",
        ),
        (
            inertial("1e300", ["1"; 6].map(|x| x)) + r#"<link name="base"/>"#,
            "bad.urdf: link \"arm\": mass: ",
            "expected at most 1e9 kg, got 1e300",
        ),
        (
            inertial("1", ["1e308", "1e308", "1e308", "0", "0", "0"]),
            "bad.urdf: link \"arm\": inertia: ",
            "expected at most 1e21 kg m^2, got 1e308",
        ),
        (
            inertial("1", ["inf", "nan", "1", "0", "0", "0"]),
            "bad.urdf: link \"arm\": inertia: ",
            "expected six finite numbers",
        ),
        (
            collision(r#"<sphere radius="1"/><box size="1 1 1"/>"#),
            "bad.urdf: line 1: link \"arm\": <geometry>: ",
            "expected one shape, got 2; each has a <visual> or <collision> of its own",
        ),
        (collision(r#"<sphere radius="1e300"/>"#), "bad.urdf: link \"arm\": collision 1: ", "expected at most 1e6 m"),
        (revolute(r#"<axis xyz="0 NaN 1"/>"#), "bad.urdf: joint \"elbow\": axis: ", "expected three finite numbers"),
        (
            two(&joint("revolute", "")),
            "bad.urdf: joint \"elbow\": limit: ",
            "expected <limit lower=\"…\" upper=\"…\" …/> in a revolute joint, or type=\"continuous\"",
        ),
        (
            two(&joint("revolute", &format!("<!-- {LIMIT} -->"))),
            "bad.urdf: joint \"elbow\": limit: ",
            "in a revolute joint",
        ),
        (two(&joint("prismatic", "")), "bad.urdf: joint \"elbow\": limit: ", "in a prismatic joint"),
        (
            two(&joint("revolute", r#"<limit lower="-1" upper="inf" effort="1" velocity="1"/>"#)),
            "bad.urdf: joint \"elbow\": upper limit: ",
            "expected a finite number, got inf",
        ),
        (
            two(&joint("revolute", r#"<limit lower="-1" upper="one" effort="1"/>"#)),
            "bad.urdf: line 1: joint \"elbow\": <limit> upper: ",
            "expected numbers alone, in m, rad, kg, N or N·m, got \"one\"",
        ),
        (two(&joint("hinge", "")), "bad.urdf: line 1: joint \"elbow\": ", "hinge"),
        (two(&joint("spherical", "")), "bad.urdf: joint \"elbow\": type: ", "expected a standard type"),
        (
            revolute(r#"<origin xyz="0 inf 0"/>"#),
            "bad.urdf: joint \"elbow\": origin position: ",
            "expected three finite numbers, got [0, inf, 0]",
        ),
        (
            revolute(r#"<origin rpy="NaN 0 0"/>"#),
            "bad.urdf: joint \"elbow\": origin orientation: ",
            "expected finite angles",
        ),
        (revolute(r#"<origin xyz="0 0"/>"#), "bad.urdf: line 1: joint \"elbow\": ", "expected 3 found 2"),
        (
            revolute(r#"<dynamics damping="NaN"/>"#),
            "bad.urdf: joint \"elbow\": damping: ",
            "expected a number from 0 up, got NaN",
        ),
        (revolute(r#"<mimic joint="wrist"/>"#), "bad.urdf: joint \"elbow\": mimic: ", "there is no joint \"wrist\""),
        (revolute(r#"<mimic joint="elbow"/>"#), "bad.urdf: joint \"elbow\": mimic: ", "this goes in a circle"),
        (
            two(&joint("floating", r#"<mimic joint="base_joint"/>"#))
                + r#"<link name="root"/><joint name="base_joint" type="continuous"><parent link="root"/>
                     <child link="base"/></joint>"#,
            "bad.urdf: joint \"elbow\": mimic: ",
            "expected a revolute, continuous or prismatic joint",
        ),
        (
            revolute(r#"<mimic joint="base_joint" multiplier="inf"/>"#)
                + r#"<link name="root"/><joint name="base_joint" type="continuous"><parent link="root"/>
                     <child link="base"/></joint>"#,
            "bad.urdf: joint \"elbow\": mimic multiplier: ",
            "expected a finite number, got inf",
        ),
        (
            inertial("-1", ["1", "1", "1", "0", "0", "0"]),
            "bad.urdf: link \"arm\": mass: ",
            "expected a number from 0 up, got -1",
        ),
        (inertial("NaN", ["1", "1", "1", "0", "0", "0"]), "bad.urdf: link \"arm\": mass: ", "got NaN"),
        (
            inertial("1", ["1", "-1", "1", "0", "0", "0"]),
            "bad.urdf: link \"arm\": inertia: ",
            "expected a positive semidefinite matrix, but one principal moment is -1",
        ),
        (
            inertial("1", ["1", "1", "1", "2", "0", "0"]),
            "bad.urdf: link \"arm\": inertia: ",
            "expected a positive semidefinite matrix",
        ),
        (
            inertial("1", ["1", "inf", "1", "0", "0", "0"]),
            "bad.urdf: link \"arm\": inertia: ",
            "expected six finite numbers",
        ),
        (
            collision(r#"<sphere radius="-0.1"/>"#),
            "bad.urdf: link \"arm\": collision 1: sphere radius: ",
            "expected a positive number, got -0.1",
        ),
        (
            collision(r#"<box size="0.1 -0.2 0.1"/>"#),
            "bad.urdf: link \"arm\": collision 1: box half extent: ",
            "expected a positive number, got -0.1",
        ),
        (
            collision(r#"<cylinder radius="0.1" length="NaN"/>"#),
            "bad.urdf: link \"arm\": collision 1: cylinder half length: ",
            "got NaN",
        ),
        (collision(r#"<cylinder radius="0.1"/>"#), "bad.urdf: line 1: link \"arm\": ", "missing field `length`"),
        (collision(r#"<cone radius="0.1"/>"#), "bad.urdf: line 1: link \"arm\": ", "cone"),
        (
            link(r#"<collision><origin xyz="NaN 0 0"/><geometry><sphere radius="1"/></geometry></collision>"#),
            "bad.urdf: link \"arm\": collision 1: shape position: ",
            "expected three finite numbers",
        ),
        (
            link("") + "<xacro:macro name=\"finger\"/>",
            "bad.urdf: line 1: xacro:macro: ",
            "expand the file with the xacro tool first",
        ),
        (link("").replace("</link>", "</lnk>"), "bad.urdf: ", "line"),
    ]
}

#[test]
fn malformed_urdf() {
    for (i, (body, place, message)) in urdf_cases().into_iter().enumerate() {
        let text = format!("<robot name=\"r\">{body}</robot>");
        let error = Articulation::from_urdf_str(&text, "bad.urdf").expect_err(&text).to_string();
        check(&format!("URDF {i}"), &error, place, message);
    }
    for (text, message) in [("", "got no element at all"), ("<sdf/>", "got <sdf>"), ("hello", "got no element at all")]
    {
        let error = Articulation::from_urdf_str(text, "bad.urdf").unwrap_err().to_string();
        check(text, &error, "bad.urdf: root element: expected <robot>, ", message);
    }
    let half = "<robot name=\"r\"><link name=\"a\"/>";
    let error = Articulation::from_urdf_str(half, "bad.urdf").unwrap_err().to_string();
    check("half a file", &error, "bad.urdf: XML: ", "the root node was opened but never closed");
}

#[test]
fn missing_files() {
    let error = Articulation::from_urdf("nowhere/hand.urdf").unwrap_err().to_string();
    check("urdf", &error, "nowhere/hand.urdf: ", "No such file");
    let error = Scene::load("nowhere/scene.toml").unwrap_err().to_string();
    check("scene", &error, "nowhere/scene.toml: ", "No such file");
    let scene = "[[robot]]\nname = \"hand\"\nurdf = \"nowhere.urdf\"";
    let error = Scene::from_toml(scene, "assets").unwrap_err().to_string();
    check("urdf of a scene", &error, "robot \"hand\": assets/nowhere.urdf: ", "No such file");
}

const BALL: &str = "[[object]]\nname = \"ball\"\nsphere = 0.1\nmass = 1\nfreedom = \"free\"\n";
const DISC: &str = "[[object]]\nname = \"disc\"\ncylinder = [0.1, 0.1]\nmass = 1\nfreedom = \"planar\"\n";
const ARM: &str = "[[robot]]\nname = \"arm\"\nurdf = \"robots/planar_arm.urdf\"\n";
const DOOR: &str = "[[object]]\nname = \"door\"\nurdf = \"robots/door.urdf\"\nfreedom = \"fixed\"\n";

/// What a scene's error must begin and go on with.
fn scene_cases() -> Vec<(String, &'static str, &'static str)> {
    let ball = |more: &str| format!("{BALL}{more}");
    let arm = |more: &str| format!("{ARM}{more}");
    let object = |lines: &str| format!("[[object]]\nname = \"it\"\n{lines}");
    vec![
        (String::new(), "scene: ", "expected a robot with joints or an object that may move, got neither"),
        (object("freedom = \"fixed\"\nsphere = 1"), "scene: ", "got neither"),
        ("h = ".into(), "line 1, column ", "value"),
        (ball("colour = 1"), "line 6, column 1: ", "unknown field `colour`, expected one of"),
        ("[params]\nkapa = 1".into(), "line 2, column 1: ", "unknown field `kapa`"),
        (
            object("sphere = 1"),
            "object \"it\": freedom: ",
            "expected \"free\", \"planar\" (x, y, yaw), \"translation\"",
        ),
        ("[[object]]\nsphere = 1".into(), "line 1, column 1: ", "missing field `name`"),
        (object("freedom = \"loose\"\nsphere = 1"), "line 3, column 11: ", "unknown variant `loose`"),
        (object("freedom = \"free\"\nbox = [1, 2]"), "line 4, column ", "box: expected three half extents, m, as in"),
        (object("freedom = \"free\"\nsphere = \"big\""), "line 4, column ", "sphere: expected its radius, m, as in"),
        (arm("stiffness = \"stiff\""), "line 4, column ", "expected a number or a table of numbers by joint name"),
        ("gravity = [0, nan, 0]\n".to_owned() + BALL, "gravity: ", "expected three finite numbers, got [0, NaN, 0]"),
        ("gravity = [0, 0, 0]\n[params]\ngravity = [0, 0, 0]".into(), "params: ", "expected gravity once"),
        ("[params]\nh = 0\n".to_owned() + BALL, "params: h: ", "expected a positive number, got 0"),
        ("[params]\nepsilon = -1\n".to_owned() + BALL, "params: epsilon: ", "expected a positive number, got -1"),
        ("[params]\nkappa = inf\n".to_owned() + BALL, "params: kappa: ", "expected a positive number, got inf"),
        ("[params]\nmu = -0.5\n".to_owned() + BALL, "params: mu: ", "expected a number from 0 up, got -0.5"),
        ("[params]\nfade = 0.1\n".to_owned() + BALL, "params: fade: ", "expected at most contact_distance"),
        (
            "[params]\nmax_iterations = 0\n".to_owned() + BALL,
            "params: max_iterations: ",
            "expected from 1 to 10000, got 0",
        ),
        (
            "[params]\nmax_iterations = 1000000000000000000\n".to_owned() + BALL,
            "params: max_iterations: ",
            "expected from 1 to 10000, got 1000000000000000000",
        ),
        ("gravity = [0, 0, -1e7]\n".to_owned() + BALL, "gravity: ", "expected at most 1e6 m/s^2, got -1e7"),
        (ball("position = [0, 1e308, 0]"), "object \"ball\": pose position: ", "expected at most 1e6 m, got 1e308"),
        (BALL.replace("0.1", "1e300"), "object \"ball\": collision 1: sphere radius: ", "expected at most 1e6 m"),
        (BALL.replace("mass = 1", "mass = 1e300"), "object \"ball\": mass: ", "expected at most 1e9 kg, got 1e300"),
        (ball("com = [0, 0, 2e6]"), "object \"ball\": centre of mass: ", "expected at most 1e6 m, got 2e6"),
        (ball(BALL), "name \"ball\": ", "expected a unique name"),
        (ball(&ARM.replace("\"arm\"", "\"ball\"")), "name \"ball\": ", "expected a unique name"),
        (BALL.replace("\"ball\"", "\"a/b\""), "name \"a/b\": ", "expected a name without \"/\""),
        (BALL.replace("\"ball\"", "\"\""), "name: ", "expected a name, got an empty one"),
        (BALL.replace("0.1", "-0.1"), "object \"ball\": collision 1: sphere radius: ", "expected a positive number"),
        (
            BALL.replace("mass = 1", ""),
            "object \"ball\": mass: ",
            "expected a positive mass of what moves here, got none",
        ),
        (BALL.replace("mass = 1", "mass = 0"), "object \"ball\": mass: ", "expected a positive number, got 0"),
        (BALL.replace("mass = 1", "inertia = [1, 1, 1]"), "object \"ball\": mass: ", "got none"),
        (ball("inertia = [1, 2]"), "object \"ball\": inertia: ", "expected 3 numbers (ixx, iyy, izz) or 6"),
        (ball("inertia = [1, 1, -1]"), "object \"ball\": inertia: ", "expected a positive semidefinite matrix"),
        (ball("inertia = [0, 0, 0]"), "object \"ball\": inertia: ", "expected a positive moment of inertia"),
        (ball("rounding = 0.01"), "object \"ball\": rounding: ", "expected with a box only"),
        (ball("capsule = [1, 1]"), "object \"ball\": shape: ", "got sphere and capsule"),
        (ball("collision = [{ box = [1, 1, 1] }]"), "object \"ball\": shape: ", "expected one shape or collision"),
        (object("freedom = \"free\"\nmass = 1"), "object \"it\": shape: ", "expected one of sphere, box"),
        (
            object("freedom = \"free\"\nmass = 1\nbox = [0.1, 0.2, 0.3]\nrounding = 0.1"),
            "object \"it\": collision 1: box rounding: ",
            "expected less than the smallest half extent 0.1, got 0.1",
        ),
        (
            object("freedom = \"free\"\nmass = 1\nhalfspace = [0, 0, 1, 0]"),
            "object \"it\": collision 1: ",
            "expected freedom \"fixed\", as a half-space has no end",
        ),
        (
            object("freedom = \"fixed\"\nhalfspace = [0, 0, 0, 1]"),
            "object \"it\": halfspace: ",
            "with a normal of some length, got [0, 0, 0]",
        ),
        (ball("position = [0, inf, 0]"), "object \"ball\": pose position: ", "expected three finite numbers"),
        (ball("rpy = [0, inf, 0]"), "object \"ball\": pose orientation: ", "expected finite angles"),
        (ball("quaternion = [0, 0, 0, 0]"), "object \"ball\": quaternion: ", "expected some length"),
        (ball("rpy = [0, 0, 0]\nquaternion = [1, 0, 0, 0]"), "object \"ball\": orientation: ", "got both"),
        (format!("{DISC}rpy = [0.1, 0, 0]"), "object \"disc\": orientation: ", "expected a rotation about z only"),
        (ball("home = { hinge = 0 }"), "object \"ball\": home: ", "expected with a urdf only"),
        (
            ball("collision = [{ link = \"a\", sphere = 1 }]").replace("sphere = 0.1\n", ""),
            "object \"ball\": collision 1: link: ",
            "expected with a urdf only",
        ),
        (format!("{DOOR}mass = 1"), "object \"door\": urdf: ", "expected a URDF file alone, got mass beside it"),
        (
            format!("{DOOR}home = {{ hinge = 3 }}"),
            "object \"door\": home: joint \"hinge\": ",
            "within its limits [0, 1.8], got 3",
        ),
        (format!("{DOOR}home = {{ hing = 0 }}"), "object \"door\": home: joint \"hing\": ", "did you mean \"hinge\"?"),
        (
            format!("{DOOR}home = {{ handle_mount = 0 }}"),
            "object \"door\": home: joint \"handle_mount\": ",
            "this one has 0",
        ),
        (arm("stiffness = 0"), "robot \"arm\": default stiffness: ", "expected a positive number, got 0"),
        (arm("stiffness = { elbo = 1 }"), "robot \"arm\": stiffness: joint \"elbo\": ", "did you mean \"elbow\"?"),
        (arm("stiffness = { elbow = nan }"), "robot \"arm\": stiffness: joint \"elbow\": ", "got NaN"),
        (
            arm("home = { wrist = 1 }"),
            "robot \"arm\": home: joint \"wrist\": ",
            "expected one of \"shoulder\", \"elbow\"",
        ),
        (
            arm("home = { elbow = 2.7 }"),
            "robot \"arm\": home: joint \"elbow\": ",
            "within its limits [-2.6, 2.6], got 2.7",
        ),
        (arm("home = { elbow = nan }"), "robot \"arm\": home: joint \"elbow\": ", "expected a finite number"),
        (
            arm("collision = [{ link = \"lowr\", sphere = 1 }]"),
            "robot \"arm\": collision 1: ",
            "did you mean \"lower\"?",
        ),
        (arm("collision = [{ sphere = 1 }]"), "robot \"arm\": collision 1: link: ", "expected the name of the link"),
        (arm("collision = [{ link = \"lower\" }]"), "robot \"arm\": collision 1: shape: ", "got none"),
        (
            ball("[[pair]]\na = \"bal\"\nb = \"ball\""),
            "pair 1: a: ",
            "there is no robot or object \"bal\"; did you mean",
        ),
        (ball("[[pair]]\na = \"ball\"\nb = \"ball/top\""), "pair 1: b: ", "\"ball\" is one rigid body"),
        (
            arm("[[pair]]\na = \"arm\"\nb = \"arm/uper\""),
            "pair 1: b: ",
            "there is no link \"uper\"; did you mean \"upper\"?",
        ),
        (ball("[[pair]]\na = \"ball\"\nb = \"ball\"\nmu = -1"), "pair 1: mu: ", "expected a number from 0 up, got -1"),
        (arm("[[script]]\ntime = -1\nu = {}"), "script keyframe 1: time: ", "expected a number from 0 up, got -1"),
        (
            arm("[[script]]\ntime = 1\nu = {}\n[[script]]\ntime = 1\nu = {}"),
            "script keyframe 2: time: ",
            "expected more than the 1 s of the keyframe before, got 1",
        ),
        (
            arm("[[script]]\ntime = 1\nu = { wrist = 1 }"),
            "script keyframe 1: u: ",
            "there is no commanded joint \"wrist\"; expected one of \"arm/shoulder\", \"arm/elbow\"",
        ),
        (
            arm("[[script]]\ntime = 1\nu = { elbow = 1, \"arm/elbow\" = 2 }"),
            "script keyframe 1: u: ",
            "expected a joint once, got \"elbow\" and \"arm/elbow\"",
        ),
        (
            arm(&(ARM.replace("\"arm\"", "\"other\"") + "[[script]]\ntime = 1\nu = { elbow = 1 }")),
            "script keyframe 1: u: ",
            "\"elbow\" is a joint of several robots; expected \"arm/elbow\" or \"other/elbow\"",
        ),
        (ball("packages = [\"..\"]"), "object \"ball\": packages: ", "expected with a urdf only"),
        (
            arm("[[script]]\ntime = 1\nu = { \"arm/elbow\" = inf }"),
            "script keyframe 1: u of \"arm/elbow\": ",
            "expected a finite number, got inf",
        ),
    ]
}

#[test]
fn malformed_scenes() {
    for (i, (text, place, message)) in scene_cases().into_iter().enumerate() {
        let error = Scene::from_toml(&text, "assets").expect_err(&text).to_string();
        check(&format!("scene {i}"), &error, place, message);
    }
}

/// The lines of what is said about a scene's text.
fn complaints(text: &str) -> Vec<String> {
    let error = Scene::from_toml(text, "assets").expect_err(text);
    error.to_string().lines().map(str::to_owned).collect()
}

/// All that is wrong with a file is said at once, a line each, in the order of its things.
#[test]
fn several_errors_are_shown_together() {
    let text = "[params]\nh = 0\nkapa = 1\nmu = -1\n[[object]]\nname = \"ball\"\nspere = 0.1\nradius = 2\nmass = \"big\"\n\
                [[object]]\nname = \"box\"\nbox = [1, 2]\nfreedom = \"free\"\n[[object]]\nsphere = 1\n\
                [[object]]\nname = \"loose\"\nsphere = 1\nmass = 1\n\
                [[object]]\nname = \"light\"\nsphere = 1\nmass = 0\nfreedom = \"free\"\n\
                [[pair]]\na = \"ball\"\nb = \"bax\"\nfriction = 1\n";
    let expected = [
        ("line 3, column 1: ", "unknown field `kapa`"),
        ("line 7, column 1: ", "unknown field `spere`"),
        ("line 8, column 1: ", "unknown field `radius`"),
        ("line 9, column 8: ", "expected f64"),
        ("line 12, column 7: ", "box: expected three half extents, m, as in"),
        ("line 14, column 1: ", "missing field `name`"),
        ("line 28, column 1: ", "unknown field `friction`"),
        ("object \"loose\": freedom: ", "expected \"free\""),
        ("params: h: ", "expected a positive number, got 0"),
        ("params: mu: ", "expected a number from 0 up, got -1"),
        ("object \"light\": mass: ", "expected a positive number, got 0"),
    ];
    let said = complaints(text);
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    said.iter().zip(expected).for_each(|(line, (place, message))| check(text, line, place, message));

    // With everything read, names count too.
    let text = format!(
        "{BALL}{ARM}stiffness = {{ elbo = 1, wrist = 2 }}\nhome = {{ elbow = 9 }}\n\
                        [[pair]]\na = \"bal\"\nb = \"leg\"\n[[script]]\ntime = -1\nu = {{ wrist = 1 }}\n"
    );
    let places = ["robot \"arm\": stiffness: joint \"elbo\"", "robot \"arm\": stiffness: joint \"wrist\""];
    let places = [&places[..], &["robot \"arm\": home: joint \"elbow\"", "pair 1: a: ", "pair 1: b: "]].concat();
    let places = [&places[..], &["script keyframe 1: time: ", "script keyframe 1: u: "]].concat();
    let said = complaints(&text);
    assert_eq!(said.len(), places.len(), "{said:#?}");
    said.iter().zip(places).for_each(|(line, place)| check(&text, line, place, ""));

    let urdf = format!("<robot name=\"r\">{}{}</robot>", joint("hinge", ""), collision("<cone/>"));
    let said = Articulation::from_urdf_str(&urdf, "bad.urdf").unwrap_err().to_string();
    assert!(said.lines().count() == 2 && said.contains("hinge") && said.contains("cone"), "{said}");
    let two = joint("revolute", "") + &joint("prismatic", "").replace("elbow", "wrist");
    let urdf = format!("<robot name=\"r\">{LINKS}{two}</robot>");
    let said = Articulation::from_urdf_str(&urdf, "bad.urdf").unwrap_err().to_string();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("elbow") && lines[1].contains("wrist"), "{said}");
    assert!(lines.iter().all(|line| line.starts_with("bad.urdf: ")), "{said}");
}

/// What can only be fixed need not say so.
#[test]
fn half_spaces_are_fixed_by_themselves() {
    let scene = format!("{BALL}[[object]]\nname = \"table\"\nhalfspace = [0, 0, 1, -0.2]\n");
    assert_eq!(Scene::from_toml(&scene, "").unwrap().objects[1].freedom, Freedom::Fixed);
}

#[test]
fn a_urdf_is_no_scene() {
    let error = Scene::load("assets/robots/door.urdf").unwrap_err().to_string();
    let message =
        "this is the URDF of a robot; write a scene that names it: [[robot]], name = \"door\", urdf = \"door.urdf\"";
    check("urdf", &error, "assets/robots/door.urdf: format: expected a scene in TOML", message);
}

/// What no file can say, but a program can.
#[test]
fn malformed_data() {
    type Break = fn(&mut Articulation);
    let cases: [(Break, &str, &str); 8] = [
        (|arm| arm.joints[1].child = 7, "joint \"elbow\": ", "expected link indices below 3, got 7"),
        (|arm| arm.joints[1].axis *= 2.0, "joint \"elbow\": axis: ", "expected unit length, got 2"),
        (|arm| arm.joints[1].effort = f64::NAN, "joint \"elbow\": effort: ", "expected a number from 0 up, got NaN"),
        (
            |arm| arm.joints[1].limits = Some(Limits { lower: 1.0, upper: f64::NAN }),
            "joint \"elbow\": upper limit: ",
            "expected a finite number, got NaN",
        ),
        (
            |arm| arm.joints[1].mimic = Some(Mimic { joint: 9, multiplier: 1.0, offset: 0.0 }),
            "joint \"elbow\": mimic: ",
            "expected the index of a joint",
        ),
        (
            |arm| arm.joints[1].mimic = Some(Mimic { joint: 1, multiplier: 1.0, offset: 0.0 }),
            "joint \"elbow\": mimic: ",
            "expected to follow a joint with one coordinate of its own, but \"elbow\" has none",
        ),
        (
            |arm| arm.links[1].inertia.as_mut().unwrap().matrix.m12 = 1.0,
            "link \"upper\": inertia: ",
            "expected a symmetric matrix",
        ),
        (
            |arm| arm.links[1].inertia.as_mut().unwrap().com.x = f64::NAN,
            "link \"upper\": centre of mass: ",
            "expected three finite numbers",
        ),
    ];
    for (i, (break_it, place, message)) in cases.into_iter().enumerate() {
        let mut arm = Articulation::from_urdf("assets/robots/planar_arm.urdf").unwrap();
        break_it(&mut arm);
        let error = arm.validate().unwrap_err().to_string();
        check(&format!("data {i}"), &error, place, message);
        let error = Scene::new().robot(Robot::new("arm", arm)).validate().unwrap_err().to_string();
        check(&format!("data {i} in a scene"), &error, &format!("robot \"arm\": {place}"), message);
    }
}

/// Passive motions need inertia, or something else that holds them; commanded joints have their stiffness.
#[test]
fn motions_without_inertia() {
    let arm = || {
        let mut arm = Articulation::from_urdf("assets/robots/planar_arm.urdf").unwrap();
        arm.links[2].inertia = None;
        arm.joints.iter_mut().for_each(|joint| joint.damping = 0.0);
        arm
    };
    Scene::new().robot(Robot::new("arm", arm())).validate().unwrap();
    let error = Scene::new().object(Object::articulated("arm", arm())).validate().unwrap_err().to_string();
    check("massless", &error, "object \"arm\": joint \"elbow\": mass: ", "expected a positive mass of what moves here");

    // A joint with damping needs none.
    let mut damped = arm();
    damped.joints[1].damping = 0.1;
    let scene = Scene::new().object(Object::articulated("arm", damped));
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    Quasidynamic::new(&model, &model.parameters).unwrap();

    let mut on_axis = Object::articulated("arm", Articulation::from_urdf("assets/robots/planar_arm.urdf").unwrap());
    if let ObjectBody::Articulated { articulation, .. } = &mut on_axis.body {
        articulation.joints.iter_mut().for_each(|joint| joint.damping = 0.0);
        let inertia = articulation.links[2].inertia.as_mut().unwrap();
        (inertia.com, inertia.matrix) = (Default::default(), Default::default());
    }
    let error = Scene::new().object(on_axis.clone()).validate().unwrap_err().to_string();
    check("on its axis", &error, "object \"arm\": joint \"elbow\": inertia: ", "got zero");

    let mut base = Object::articulated("door", Articulation::from_urdf("assets/robots/door.urdf").unwrap());
    if let ObjectBody::Articulated { articulation, .. } = &mut base.body {
        articulation.joints.iter_mut().for_each(|joint| joint.damping = 0.0);
        articulation.links[0].inertia = None;
    }
    for freedom in [Freedom::Free, Freedom::Planar, Freedom::Translation, Freedom::Fixed] {
        base = base.with_freedom(freedom);
        let scene = Scene::new().object(base.clone());
        scene.validate().unwrap();
        // A frame that turns freely about its hinge, without mass of its own.
        let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
        if let Err(error) = Quasidynamic::new(&model, &model.parameters) {
            assert!(matches!(freedom, Freedom::Free | Freedom::Planar), "{error}");
            // Candle adds a backtrace where `RUST_BACKTRACE` asks for one.
            let text = error.to_string();
            let line = text.lines().next().unwrap();
            check("massless frame", line, "\"door", "expected it to move some mass that no other joint moves");
        } else {
            assert!(matches!(freedom, Freedom::Translation | Freedom::Fixed));
        }
    }
}

fn check(case: &str, error: &str, place: &str, message: &str) {
    println!("{error}");
    assert!(error.starts_with(place), "{case}: \"{error}\" does not begin with \"{place}\"");
    assert!(error.contains(message), "{case}: \"{error}\" does not say \"{message}\"");
    assert!(!error.contains('\n'), "{case}: \"{error}\" is more than one line");
}

/// Calls with tensors of a wrong shape or type, on a hand with 24 numbers in q, 21 commands and 6 contacts.
#[test]
fn wrong_tensors() {
    let scene = Scene::load("assets/scenes/hand_ball.toml").unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let error = Model::new(&scene, DType::U32, &Device::Cpu).unwrap_err().to_string();
    assert!(error.contains("expected number type f64 or f32, got U32"), "{error}");
    let zeros = |shape: &[usize], dtype| Tensor::zeros(shape, dtype, &Device::Cpu).unwrap();
    let f64s = |shape: &[usize]| zeros(shape, DType::F64);
    let expected = "expected q (B, 24) and u (B, 21) with the same B ≥ 1";
    let states = [
        (f64s(&[1, 23]), f64s(&[1, 21]), expected),
        (f64s(&[1, 24]), f64s(&[1, 20]), expected),
        (f64s(&[2, 24]), f64s(&[1, 21]), expected),
        (f64s(&[1, 24]), f64s(&[2, 21]), expected),
        (f64s(&[0, 24]), f64s(&[0, 21]), expected),
        (f64s(&[24]), f64s(&[21]), expected),
        (f64s(&[1, 1, 24]), f64s(&[1, 21]), expected),
        (zeros(&[1, 24], DType::F32), f64s(&[1, 21]), "expected q and u of F64, the model's type, got F32 and F64"),
        (f64s(&[1, 24]), zeros(&[1, 21], DType::F32), "expected q and u of F64, the model's type, got F64 and F32"),
        (f64s(&[1, 24]), zeros(&[1, 21], DType::I64), "expected q and u of F64, the model's type, got F64 and I64"),
    ];
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    for (i, (q, u, message)) in states.iter().enumerate() {
        let errors = [
            step.step(q, u).map(drop),
            step.forward(q, u).map(drop),
            step.linearize(q, u).map(drop),
            step.smoothing_error(q, u).map(drop),
        ];
        for error in errors {
            let error = error.expect_err(&format!("state {i}")).to_string();
            assert!(error.contains(message), "state {i}: \"{error}\" does not say \"{message}\"");
        }
    }

    // A rollout says what it wants as a step does.
    let expected = "expected q₀ (B, 24) and u (B, T, 21) with the same B ≥ 1 and at least one step";
    let q = f64s(&[2, 24]);
    for u in [vec![2, 21], vec![1, 3, 21], vec![2, 0, 21], vec![2, 3, 20], vec![21]] {
        let error = rollout(&step, &q, &f64s(&u)).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains(&format!("{u:?}")), "{error}");
    }

    // Parameters: too wide, of another type, of three worlds where there are two.
    let (q, u) = (model.home(2).unwrap(), f64s(&[2, 21]));
    for (k, name) in Parameters::NAMES.iter().enumerate() {
        let width = model.parameters.tensors()[k].dim(1).unwrap();
        let wrong = [
            (f64s(&[1, width + 1]), format!("parameter `{name}`: expected shape (1 or ")),
            (f64s(&[width]), format!("parameter `{name}`: expected shape (1 or ")),
            (zeros(&[1, width], DType::F32), format!("parameter `{name}`: expected type F64, got F32")),
            (f64s(&[3, width]), format!("parameter `{name}`: expected shape (1 or 2, {width}), got [3, {width}]")),
        ];
        for (tensor, message) in wrong {
            let parameters = model.parameters.map(|own, t| Ok(if own == *name { tensor.clone() } else { t.clone() }));
            let result = Quasidynamic::new(&model, &parameters.unwrap()).and_then(|step| step.step(&q, &u));
            let error = result.map(drop).expect_err(&message).to_string();
            assert!(error.contains(&message), "\"{error}\" does not say \"{message}\"");
        }
    }

    for warm in [f64s(&[2, 17]), f64s(&[3, 18])] {
        let error = step.step_from(&q, &u, Some(&warm)).map(drop).unwrap_err().to_string();
        assert!(error.contains("warm start: expected forces (1 or 2, 18)"), "{error}");
    }
    let error = model.tensor(&[&[1.0, 2.0], &[3.0]]).unwrap_err().to_string();
    assert!(error.contains("expected rows of 2 numbers, got one of 1"), "{error}");
}

/// What is nested deeper than parsers may go, in each of the formats.
#[test]
fn nesting_has_an_end() {
    let nested = |n: usize, open: &str, close: &str| open.repeat(n) + &close.repeat(n);
    for n in [20_000, 200_000] {
        for inside in ["robot", "link", "gazebo"] {
            let text =
                format!("<robot name=\"r\"><{inside} name=\"a\">{}</{inside}></robot>", nested(n, "<a>", "</a>"));
            let error = Articulation::from_urdf_str(&text, "deep.urdf").unwrap_err().to_string();
            check(inside, &error, "deep.urdf: line 1: ", "expected elements at most 200 deep");
        }
        // Never closed.
        let error = Articulation::from_urdf_str(&"<robot>\n".repeat(n), "deep.urdf").unwrap_err().to_string();
        check("open", &error, "deep.urdf: line 201: ", "expected elements at most 200 deep");
        for (open, close) in [("[", "]"), ("{ a = ", "}")] {
            assert!(Scene::from_toml(&format!("gravity = {}", nested(n, open, close)), "assets").is_err());
        }
    }
    let folder = std::env::temp_dir().join(format!("fingertip-deep-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("deep.dae"), nested(20_000, "<node>", "</node>")).unwrap();
    let scene = "[[object]]\nname = \"it\"\nmass = 1\nfreedom = \"free\"\nmesh = \"deep.dae\"";
    let error = Scene::from_toml(scene, &folder).unwrap_err().to_string();
    assert!(error.contains("deep.dae: line 1: expected elements at most 200 deep"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A scene that was put together by hand and never checked is checked where it is used.
#[test]
fn trees_are_of_sound_scenes() {
    let robot = Robot::from_urdf("arm", "assets/robots/planar_arm.urdf").unwrap();
    let changed = |change: &dyn Fn(&mut Articulation)| {
        let mut robot = robot.clone();
        change(&mut robot.articulation);
        Tree::new(&Scene::new().robot(robot)).map(|tree| tree.nq).unwrap_err().to_string()
    };
    for (change, expected) in [
        (&(|a: &mut Articulation| a.joints[0].child = 99) as &dyn Fn(&mut Articulation), "expected link indices below"),
        (&|a| a.joints[0].parent = usize::MAX, "expected link indices below"),
        (&|a| a.links.clear(), "expected at least one link"),
        (
            &|a| a.joints[1].mimic = Some(Mimic { joint: 77, multiplier: 1.0, offset: 0.0 }),
            "expected the index of a joint",
        ),
        (&|a| a.joints[0].parent = a.joints.last().unwrap().child, "expected a tree, but this joint is part of a loop"),
    ] {
        let error = changed(change);
        assert!(error.starts_with("robot \"arm\": ") && error.contains(expected), "{error}");
    }
    assert!(Tree::new(&Scene::new()).is_err());
}

/// What no reader should wait for.
#[cfg(unix)]
#[test]
fn devices_and_folders_are_no_files() {
    for path in ["/dev/zero", "/dev/stdin"] {
        let error = Articulation::from_urdf(path).unwrap_err().to_string();
        check(path, &error, path, "expected a regular file, got a device or a pipe");
        let error = Scene::load(path).unwrap_err().to_string();
        check(path, &error, path, "expected a regular file, got a device or a pipe");
        let scene = format!("[[robot]]\nname = \"hand\"\nurdf = \"{path}\"");
        let error = Scene::from_toml(&scene, "assets").unwrap_err().to_string();
        check(path, &error, "robot \"hand\": ", "expected a regular file, got a device or a pipe");
    }
    let error = Scene::load("assets/scenes").unwrap_err().to_string();
    check("folder", &error, "assets/scenes: ", "expected a regular file, got a folder");
}

/// A shape that is written as other programs have it is answered with an example.
#[test]
fn shapes_of_another_form_are_answered_with_an_example() {
    for (keys, expected) in [
        (
            "sphere = { radius = 0.02 }",
            "line 3, column 10: sphere: expected its radius, m, as in sphere = 0.02, got a table",
        ),
        ("sphere = [0.02]", "line 3, column 10: sphere: expected its radius, m, as in sphere = 0.02, got a list"),
        ("sphere = \"0.02\"", "as in sphere = 0.02, got string \"0.02\""),
        ("sphere.radius = 0.02", "line 3, column 1: sphere: expected its radius, m, as in sphere = 0.02, got a table"),
        ("[object.sphere]\nradius = 0.02", "line 3, column 1: sphere: expected its radius"),
        ("capsule = { radius = 0.01, length = 0.1 }", "capsule: expected its radius and half length, m, as in"),
        (
            "capsule = 0.01",
            "capsule: expected its radius and half length, m, as in capsule = [0.01, 0.04], got the number `0.01`",
        ),
        (
            "cylinder = [0.01]",
            "cylinder: expected its radius and half length, m, as in cylinder = [0.01, 0.04], got 1 numbers",
        ),
        (
            "box = { size = [1, 2, 3] }",
            "box: expected three half extents, m, as in box = [0.03, 0.02, 0.01], got a table",
        ),
        ("ellipsoid = 0.1", "ellipsoid: expected three radii, m"),
        (
            "box = [0.1, 0.2, 0.3, 0.4]",
            "box: expected three half extents, m, as in box = [0.03, 0.02, 0.01], got 4 numbers",
        ),
        (
            "sphere = 0.1\nposition = [0.0, 0.0, 0.0, 1.0]",
            "line 4, column 12: invalid length 4, expected an array of length 3",
        ),
        ("mesh = { file = \"cup.stl\" }", "mesh: expected a file, as in mesh = \"cup.stl\", got a table"),
        ("collision = [{ sphere = { radius = 0.1 } }]", "line 3, column 25: sphere: expected its radius"),
        ("mass = { kg = 1.0 }", "line 3, column 8: invalid type: map, expected f64"),
    ] {
        let text = format!("[[object]]\nname = \"thing\"\n{keys}\n");
        let error = Scene::from_toml(&text, ".").unwrap_err().to_string();
        assert!(error.contains(expected), "{keys}: {error}");
    }
}
