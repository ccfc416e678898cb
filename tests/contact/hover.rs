//! κ as a height: what rests hovers at `hover`; what that needs, what is said where κ is too small, and how fast a grip
//! creeps.

use fingertip::Overrides;
use fingertip::description::{
    Articulation, Collision, Freedom, Friction, Object, PairRule, Params, Robot, Scene, Shape,
};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use nalgebra::{Isometry3, Vector3};

use support::numbers;
use support::quadruped::{MASS, quadruped};
use support::single::compile;

const GRAVITY: f64 = 9.81;
/// Closed forms hold to rounding, a few operations on each side, relative.
const EXACT: f64 = 1e-12;

/// What follows from home under the commands of home.
struct Run {
    step: Quasidynamic,
    q: Vec<f64>,
}

impl Run {
    fn new(scene: &Scene) -> Self {
        let model = compile(scene);
        Self { q: model.tree.home(), step: Quasidynamic::new(&model, &model.parameters).unwrap() }
    }

    /// Steps under the command; the gaps at their end's start.
    fn steps(&mut self, n: usize, u: &[f64]) -> Vec<f64> {
        let model = self.step.model();
        let mut phi = Vec::new();
        for _ in 0..n {
            let step = self.step.step(&model.tensor(&[&self.q]).unwrap(), &model.tensor(&[u]).unwrap()).unwrap();
            assert_eq!(step.reports[0].status, Status::Solved, "{:?}", step.reports[0]);
            (self.q, phi) = (numbers(&step.q_next), numbers(&step.contacts.phi));
        }
        phi
    }
}

fn lone(shape: Shape, height: f64, turn: [f64; 3]) -> Scene {
    let pose = Isometry3::new(Vector3::new(0.0, 0.0, height), turn.into());
    Scene::new().object(Object::rigid("thing", shape, 0.05).with_pose(pose)).object(Object::ground("table", 0.0))
}

/// Each shape rests at the height that is asked for, and lower on fewer contacts than it has with a plane.
#[test]
fn rests_at_the_height() {
    let lying = [std::f64::consts::FRAC_PI_2, 0.0, 0.0];
    // (name, scene, the weights of the contacts that carry, the part of the load that others take at most)
    let cases = [
        ("sphere", lone(Shape::sphere(0.02), 0.021, [0.0; 3]), 1.0, 1e-6),
        ("capsule", lone(Shape::capsule(0.01, 0.02), 0.011, lying), 1.0, 1e-6),
        // Upper corners, a centimetre and more above, carry φ over 2 cm of what the lower ones do.
        ("box", lone(Shape::cuboid([0.02, 0.01, 0.01]), 0.011, [0.0; 3]), 1.0, 0.02),
        ("cylinder", lone(Shape::cylinder(0.02, 0.01), 0.011, [0.0; 3]), 1.0, 0.02),
        ("standing capsule", lone(Shape::capsule(0.01, 0.02), 0.031, [0.0; 3]), 0.5, 0.01),
    ];
    for (name, scene, carrying, others) in cases {
        let hover = 2e-4;
        let scene = scene.with_hover(hover).unwrap();
        let kappa = 2.0 / (hover * 0.05 * GRAVITY);
        assert!((scene.params.kappa / kappa - 1.0).abs() < EXACT, "{name}: κ {} for {kappa}", scene.params.kappa);
        let mut run = Run::new(&scene);
        let phi = run.steps(400, &[]);
        let least = phi.into_iter().fold(f64::INFINITY, f64::min);
        let expected = hover * carrying;
        assert!((least / expected - 1.0).abs() < others, "{name}: rests at {least:e} m for {expected:e} m");
    }
}

/// On whatever there is and by both laws: floors of `hover_key.toml`, a public report.
#[test]
fn rests_at_the_height_on_all_floors() {
    let cube = || Shape::cuboid([0.03; 3]);
    let corners: Vec<[f64; 3]> =
        (0..8).map(|k| [0, 1, 2].map(|i| if k >> i & 1 == 0 { -0.03 } else { 0.03 })).collect();
    let slab = Object::rigid("slab", Shape::cuboid([0.5, 0.5, 0.05]), 1.0).with_freedom(Freedom::Fixed);
    let slab = slab.with_pose(Isometry3::translation(0.0, 0.0, -0.05));
    for (name, shape, floor) in [
        ("box on a box", cube(), slab.clone()),
        ("box on a half-space", cube(), Object::ground("table", 0.0)),
        ("hull on a box", Shape::hull(&corners).unwrap(), slab),
        ("hull on a half-space", Shape::hull(&corners).unwrap(), Object::ground("table", 0.0)),
    ] {
        for friction in Friction::ALL {
            let thing = Object::rigid("thing", shape.clone(), 0.1).with_pose(Isometry3::translation(0.0, 0.0, 0.0301));
            let mut scene = Scene::new().object(thing).object(floor.clone());
            scene.params.friction = friction;
            let mut run = Run::new(&scene.with_hover(1e-4).unwrap());
            let least = run.steps(100, &[]).into_iter().fold(f64::INFINITY, f64::min);
            assert!((least / 1e-4 - 1.0).abs() < 0.02, "{name}, {friction:?}: rests at {least:e} m");
        }
    }
}

/// The lightest counts, by its weight on each shape; robots that can fall count with all their links.
#[test]
fn the_lightest_counts() {
    let ball = |name: &str, mass: f64| Object::rigid(name, Shape::sphere(0.02), mass);
    let hover = 1e-4;
    let kappa = |scene: Scene| scene.object(Object::ground("table", 0.0)).with_hover(hover).unwrap().params.kappa;
    let one = kappa(Scene::new().object(ball("a", 0.3)));
    assert!((one * hover * 0.3 * GRAVITY / 2.0 - 1.0).abs() < EXACT);
    assert_eq!(kappa(Scene::new().object(ball("a", 0.3)).object(ball("b", 2.0))), one);
    let cube = Object::rigid("cube", Shape::cuboid([0.03; 3]), 0.25);
    let with_cube = kappa(Scene::new().object(ball("a", 0.3)).object(cube.clone()));
    assert!((with_cube * hover * 0.25 * GRAVITY / 2.0 - 1.0).abs() < EXACT);
    // What cannot fall does not count.
    let fixed = Scene::new().object(ball("a", 0.3)).object(cube.with_freedom(Freedom::Fixed));
    assert_eq!(kappa(fixed.object(ball("c", 0.01).with_freedom(Freedom::Planar))), one);
    // Two shapes on one body share its weight.
    let parts =
        vec![Collision::centred(Shape::sphere(0.02)), Collision::at(Shape::cuboid([0.01; 3]), [0.05, 0.0, 0.0])];
    let compound = kappa(Scene::new().object(Object::compound("both", parts, 0.5)));
    assert!((compound * hover * 0.25 * GRAVITY / 2.0 - 1.0).abs() < EXACT);
    // Four feet and the trunk.
    let dog = kappa(Scene::new().robot(quadruped(Isometry3::identity())));
    assert!((dog * hover * MASS / 5.0 * GRAVITY / 2.0 - 1.0).abs() < EXACT);
}

const BALL: &str = "[[object]]\nname = \"ball\"\nsphere = 0.02\nmass = 0.1\nfreedom = \"free\"\n";

#[test]
fn in_a_scene_file() {
    let scene = Scene::from_toml(&format!("[params]\nhover = 1e-4\n{BALL}"), "").unwrap();
    assert!((scene.params.kappa * 1e-4 * 0.1 * GRAVITY / 2.0 - 1.0).abs() < EXACT);
    let planar = BALL.replace("free\"", "planar\"");
    let cases = [
        (
            format!("[params]\nhover = 1e-4\nkappa = 1e4\n{BALL}"),
            "params: expected kappa or hover, which sets it, got both",
        ),
        (format!("[params]\nhover = 0.0\n{BALL}"), "params: hover: expected a positive number, got 0"),
        (
            format!("[params]\nhover = 1e-320\n{BALL}"),
            "params: hover: expected a height that a finite κ gives, got 1e-320",
        ),
        (format!("[params]\nhover = nan\n{BALL}"), "params: hover: expected a positive number, got NaN"),
        (
            format!("gravity = [0, 0, 0]\n[params]\nhover = 1e-4\n{BALL}"),
            "params: hover: expected gravity on something",
        ),
        (format!("[params]\nhover = 1e-4\n{planar}"), "it pulls on none; give kappa instead"),
        (
            "[params]\nhover = 1e-4\n[[robot]]\nname = \"arm\"\nurdf = \"assets/robots/planar_arm.urdf\"\n".to_owned(),
            "there is nothing that may move and has shapes; give kappa instead",
        ),
    ];
    for (text, expected) in cases {
        let error = Scene::from_toml(&text, "").unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} for {expected:?}");
    }
}

/// Who says nothing of κ gets 10⁴, or with light things the κ with which none rests higher than a twentieth of its
/// size, and a note of it.
#[test]
fn by_default() {
    let of = |mass: f64, more: &str| {
        Scene::from_toml(&BALL.replace("0.1", &mass.to_string()).replace("[[", &format!("{more}[[")), "")
    };
    for (mass, more, expected) in [
        (0.1, "", 1e4),
        (0.001, "", 2.0 / (0.05 * 0.04 * 0.001 * GRAVITY)),
        (1e-9, "", 1e8),
        (0.001, "[params]\nkappa = 1e3\n", 1e3),
        (0.001, "gravity = [0, 0, 0]\n", 1e4),
    ] {
        let scene = of(mass, more).unwrap();
        let kappa = scene.params.kappa;
        assert!((kappa / expected - 1.0).abs() < EXACT, "{mass} kg, {more:?}: κ {kappa} for {expected}");
        let says = scene.notes.iter().any(|note| note.contains("kappa is") && note.contains("ball"));
        assert_eq!(says, expected > 1e4, "{mass} kg, {more:?}: {:?}", scene.notes);
    }
}

#[test]
fn as_an_override() {
    let scene = Scene::from_toml(BALL, "").unwrap();
    let model = compile(&scene);
    let kappa = |json: &str| {
        let parameters = Overrides::from_json(json)?.parameters(&model, &model.parameters)?;
        Ok::<_, fingertip::Error>(numbers(&parameters.kappa)[0])
    };
    assert_eq!(kappa(r#"{"params": {"kappa": 123}}"#).unwrap(), 123.0);
    let of = |hover: f64, mass: f64, g: f64| 2.0 / (hover * mass * g);
    for (json, expected) in [
        (r#"{"params": {"hover": 1e-4}}"#, of(1e-4, 0.1, GRAVITY)),
        (r#"{"params": {"hover": 1e-4}, "mass": {"ball": 0.4}}"#, of(1e-4, 0.4, GRAVITY)),
        (r#"{"params": {"hover": 1e-3, "gravity": [0, 3, 4]}}"#, of(1e-3, 0.1, 5.0)),
    ] {
        assert!((kappa(json).unwrap() / expected - 1.0).abs() < EXACT, "{json}: {:?} for {expected}", kappa(json));
    }
    for (json, expected) in [
        (r#"{"params": {"hover": 1e-4, "kappa": 1e4}}"#, "params: expected kappa or hover, which sets it, got both"),
        (r#"{"params": {"hover": -1}}"#, "params: hover: expected a positive number, got -1"),
        (r#"{"params": {"hover": 1e-4, "gravity": [0, 0, 0]}}"#, "params: hover: expected gravity"),
    ] {
        let error = kappa(json).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} for {expected:?}");
    }
}

/// A cube of 2 cm and 8 g rests 2.5 mm above what is flat at κ = 1e4: that is said. Shipped scenes have nothing
/// to say.
#[test]
fn warnings() {
    let cube = Object::rigid("cube", Shape::cuboid([0.01; 3]), 0.008);
    let model = compile(&Scene::new().object(cube.clone()).object(Object::ground("table", 0.0)));
    let said = model.hover_warnings(&model.parameters).unwrap();
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("cube: at rest it hovers by up to 2.55e-3 m, with a size of 2.00e-2 m"), "{said:?}");
    // The κ that it names is the one from which on nothing is said.
    let least = 2.0 / (0.1 * 0.02 * 0.008 * GRAVITY);
    for (kappa, n) in [(least * 1.01, 0), (least * 0.99, 1)] {
        let overrides = Overrides::from_json(&format!("{{\"params\": {{\"kappa\": {kappa}}}}}")).unwrap();
        let parameters = overrides.parameters(&model, &model.parameters).unwrap();
        assert_eq!(model.hover_warnings(&parameters).unwrap().len(), n, "κ = {kappa}");
    }
    for file in std::fs::read_dir("assets/scenes").unwrap() {
        let path = file.unwrap().path();
        let model = compile(&Scene::load(&path).unwrap());
        assert_eq!(model.hover_warnings(&model.parameters).unwrap(), [""; 0], "{}", path.display());
    }
}

fn slide(axis: &str) -> Articulation {
    let text = format!(
        r#"<robot name="slide"><link name="base"/><link name="tip"><collision><geometry><sphere radius="0.01"/></geometry>
        </collision></link><joint name="slide" type="prismatic"><parent link="base"/><child link="tip"/><axis xyz="{axis}"/>
        <limit lower="-1" upper="1" effort="100" velocity="1"/></joint></robot>"#
    );
    Articulation::from_urdf_str(&text, "slide").unwrap()
}

/// A grip slips for ever, by 2 r/((1 − r²) μ κ f) in each step, r the share of the friction cone that it uses and f the
/// force with which it presses.
#[test]
fn a_grip_creeps() {
    let (mass, mu, stiffness, h) = (0.1, 0.5, 1e3, 0.01);
    for over in [1.05, 1.5, 3.0] {
        for kappa in [1e5, 1e6, 1e8] {
            let press = over * mass * GRAVITY / (2.0 * mu);
            let robot = |name: &str, x: f64, axis: &str| {
                let base = Isometry3::translation(x, 0.0, 0.0);
                Robot::new(name, slide(axis)).with_base(base).with_default_stiffness(stiffness)
            };
            let brick = Object::rigid("brick", Shape::cuboid([0.02; 3]), mass).with_freedom(Freedom::Translation);
            let scene = Scene::new()
                .with_params(Params { h, epsilon: 0.01, kappa, mu, ..Params::default() })
                .object(brick)
                .robot(robot("left", -0.03, "1 0 0"))
                .robot(robot("right", 0.03, "-1 0 0"))
                .pair(PairRule::exclude("left", "right"));
            let mut run = Run::new(&scene);
            let u = [press / stiffness; 2];
            run.steps(20, &u);
            let before = run.q[2];
            run.steps(20, &u);
            let creep = (before - run.q[2]) / 20.0;
            // The springs give way by the gaps, and so press a little less.
            let f = stiffness * (u[0] - run.q[3]);
            let r = mass * GRAVITY / (2.0 * mu * f);
            let expected = 2.0 * r / ((1.0 - r * r) * mu * kappa * f);
            println!("{over} times the need, κ = {kappa:e}: creeps by {:.2e} mm/s", creep / h * 1e3);
            // ε m/h² times the creep itself takes a part of the weight.
            let drag = 0.01 * mass / (h * h) * creep / (mass * GRAVITY) / (1.0 - r);
            assert!((creep / expected - 1.0).abs() < 1e-6 + 2.0 * drag, "creeps by {creep:e} m for {expected:e} m");
        }
    }
}
