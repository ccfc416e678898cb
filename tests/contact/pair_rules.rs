//! Which pairs a model has: rules, links of one robot that overlap at home, and what it warns of.

use candle_core::{DType, Device};
use fingertip::description::{
    Articulation, Collision, Freedom, Inertia, Joint, JointKind, Link, Object, PairRule, Robot, Scene, Shape,
};
use fingertip::solve::Status;
use fingertip::step::Quasidynamic;
use fingertip::{Model, Result};
use nalgebra::{Isometry3, Vector3};

/// Sums and differences of a few numbers around 0.1 m.
const ROUNDING: f64 = 1e-15;

fn model(scene: &Scene) -> Model {
    Model::new(scene, DType::F64, &Device::Cpu).unwrap()
}

/// Names of the bodies of each pair, in alphabetic order.
fn pairs(model: &Model) -> Vec<(String, String)> {
    let name = |shape: usize| model.tree.bodies[model.shapes[shape].body].name.clone();
    let mut pairs: Vec<_> = model.pairs.pairs.iter().map(|pair| (name(pair.a), name(pair.b))).collect();
    pairs.sort();
    pairs
}

/// A palm, a knuckle without a shape, and a thumb, each joint turning about z. The thumb's box is `overlap` into the
/// palm's along z, where no joint moves it.
fn hand(overlap: f64) -> Articulation {
    let link = |name: &str, collisions: Vec<Collision>| Link {
        name: name.into(),
        inertia: Some(Inertia::point(0.1)),
        collisions,
        visuals: vec![],
    };
    let joint = |name: &str, parent: usize| Joint {
        origin: Isometry3::translation(0.02, 0.0, 0.0),
        axis: Vector3::z(),
        ..Joint::new(name, JointKind::Continuous, parent, parent + 1)
    };
    let palm = Collision::centred(Shape::cuboid([0.05, 0.05, 0.01]));
    let thumb = Collision::at(Shape::cuboid([0.04, 0.01, 0.01]), [0.0, 0.0, 0.02 - overlap]);
    Articulation {
        links: vec![link("palm", vec![palm]), link("knuckle", vec![]), link("thumb", vec![thumb])],
        joints: vec![joint("base", 0), joint("bend", 1)],
        ..Articulation::default()
    }
}

/// The hand next to a free ball that it does not touch.
fn scene(overlap: f64) -> Scene {
    Scene::new()
        .object(Object::rigid("ball", Shape::sphere(0.02), 0.1).with_freedom(Freedom::Translation).at([0.5, 0.0, 0.0]))
        .robot(Robot::new("hand", hand(overlap)))
}

/// A finger on a palm that its end touches: they are 0 apart, but for rounding.
const TOUCHING: &str = r#"
<mujoco model="hand">
  <worldbody>
    <body name="palm">
      <geom type="box" size="0.02 0.02 0.02"/>
      <body name="finger" pos="0 0 0.03">
        <joint name="j" axis="0 1 0" range="-1 1"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0 0 0.045"/>
      </body>
    </body>
  </worldbody>
  <actuator><position name="j" joint="j" kp="0.8"/></actuator>
</mujoco>
"#;

fn status(scene: &Scene) -> Status {
    let model = model(scene);
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let u = model.tensor(&[&scene.control(0.0)]).unwrap();
    step.step(&model.home(1).unwrap(), &u).unwrap().reports[0].status
}

/// A rule says what its keys say and nothing else, in files and in code.
#[test]
fn an_absent_key_leaves_things_as_they_are() -> Result<()> {
    let file = |rules: &str| {
        let scene = "[[object]]\nname = \"a\"\nsphere = 0.1\nmass = 1\nfreedom = \"free\"\n\
                     [[object]]\nname = \"b\"\nsphere = 0.1\nmass = 1\nfreedom = \"free\"\nposition = [1, 0, 0]\n";
        Scene::from_toml(&format!("{scene}{rules}"), "")
    };
    let rule = |keys: &str| format!("[[pair]]\na = \"a\"\nb = \"b\"\n{keys}\n");
    let (no, yes, mu) = (rule("enabled = false"), rule("enabled = true"), rule("mu = 0.9"));
    for (rules, expected) in [
        (mu.clone(), vec![0.9]),
        (no.clone() + &mu, vec![]),
        (mu.clone() + &no, vec![]),
        (no.clone() + &mu + &yes, vec![0.9]),
        (mu.clone() + &no + &yes, vec![0.9]),
        (no.clone() + &rule("mu = 0.9\nenabled = true"), vec![0.9]),
        (mu + &rule(""), vec![0.9]),
    ] {
        let model = model(&file(&rules)?);
        assert_eq!(model.pairs.pairs.iter().map(|pair| pair.mu).collect::<Vec<_>>(), expected, "{rules}");
    }
    let mut scene = scene(-0.001).pair(PairRule::exclude("hand", "ball")).pair(PairRule::friction("ball", "hand", 0.9));
    assert_eq!(pairs(&model(&scene)), [("hand/palm".into(), "hand/thumb".into())]);
    scene = scene.pair(PairRule::include("ball", "hand/palm"));
    assert_eq!(pairs(&model(&scene))[0], ("hand/palm".into(), "ball".into()));
    Ok(())
}

/// Nothing can part the thumb and the palm, so that no step would have a solution.
#[test]
fn links_that_overlap_at_home_are_left_out_aloud() {
    let overlap = 0.007;
    let scene = scene(overlap);
    let left_out = model(&scene);
    assert_eq!(pairs(&left_out), [("hand/palm".into(), "ball".into()), ("hand/thumb".into(), "ball".into())]);
    let [found] = &left_out.pairs.left_out[..] else { panic!("{:?}", left_out.pairs.left_out) };
    assert!((found.depth - overlap).abs() < ROUNDING, "{found:?}");
    let [warning] = &left_out.warnings[..] else { panic!("{:?}", left_out.warnings) };
    let rule = r#"[[pair]] a = "hand/palm", b = "hand/thumb", enabled = "#;
    for part in
        ["\"hand/palm\" and \"hand/thumb\" overlap by 7.000 mm", &format!("{rule}false"), &format!("{rule}true")]
    {
        assert!(warning.contains(part), "{warning}");
    }
    assert_eq!(status(&scene), Status::Solved);

    // Asked for, it is there, and says that it starts deep; friction alone does not ask for it.
    let asked = scene.clone().pair(PairRule::include("hand/thumb", "hand/palm"));
    assert_eq!(pairs(&model(&asked)).len(), 3);
    assert_eq!(status(&asked), Status::Infeasible);
    assert!(model(&asked).warnings[0].contains("overlap by 7.000 mm at the start"), "{:?}", model(&asked).warnings);
    assert_eq!(pairs(&model(&scene.clone().pair(PairRule::friction("hand", "hand", 0.9)))).len(), 2);

    // Excluded by the scene, there is nothing to say.
    let excluded = scene.pair(PairRule::exclude("hand", "hand"));
    assert_eq!((pairs(&model(&excluded)).len(), model(&excluded).warnings.len()), (2, 0));
}

/// Links that touch cannot be parted either where the one turns about the point of contact. Rounding does not decide.
#[test]
fn links_that_touch_at_home_are_left_out_aloud() {
    for gap in [0.0, -2e-18, 2e-18, 3e-7, -3e-7] {
        let touching = model(&scene(-gap));
        assert_eq!(pairs(&touching).len(), 2, "{gap}");
        let [warning] = &touching.warnings[..] else { panic!("{gap}: {:?}", touching.warnings) };
        let said = "\"hand/palm\" and \"hand/thumb\" touch at home and are left out: [[pair]] a = \"hand/palm\"";
        assert!(warning.contains(said), "{gap}: {warning}");
    }
    let apart = model(&scene(-0.001));
    assert_eq!((pairs(&apart).len(), apart.warnings.len()), (3, 0));

    // A capsule on a box, which turns about the centre of its end.
    let touching = Scene::from_mjcf_text(TOUCHING, "").unwrap();
    assert_eq!(pairs(&model(&touching)).len(), 0);
    assert_eq!(status(&touching), Status::Solved);
    let asked = touching.pair(PairRule::include("hand/palm", "hand/finger"));
    assert_eq!((pairs(&model(&asked)).len(), model(&asked).warnings.len()), (1, 0));
}

/// A start deep inside something is a warning; a pair of things is never left out by itself.
#[test]
fn a_deep_start_is_a_warning() {
    let box_at = |z: f64| {
        let cube = Object::rigid("box", Shape::cuboid([0.03; 3]), 0.2).at([0.0, 0.0, z]);
        model(&Scene::new().object(Object::ground("table", 0.0)).object(cube))
    };
    for (depth, warned) in [(0.023, true), (0.0011, true), (0.0005, false), (0.0, false), (-0.01, false)] {
        let model = box_at(0.03 - depth);
        assert_eq!(model.pairs.pairs.len(), 1, "{depth}");
        let said = model.warnings.iter().any(|warning| {
            warning.contains(&format!("\"table\" and \"box\" overlap by {:.3} mm at the start", 1e3 * depth))
                && warning.contains(r#"[[pair]] a = "table", b = "box", enabled = false"#)
        });
        assert_eq!((model.warnings.len(), said), (usize::from(warned), warned), "{depth}: {:?}", model.warnings);
    }
    // A thin plate is deep in sooner than a thick one.
    let plate = Object::rigid("plate", Shape::cuboid([0.05, 0.05, 0.001]), 0.1).at([0.0, 0.0, 0.0005]);
    assert_eq!(model(&Scene::new().object(Object::ground("table", 0.0)).object(plate)).warnings.len(), 1);
}

/// What the crate brings along is clean.
#[test]
fn shipped_robots_and_scenes_have_nothing_to_say() {
    let files = |folder: &str, ending: &str| {
        let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let all: Vec<_> = all.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
        assert!(all.len() >= 6, "{folder}");
        all
    };
    for path in files("assets/robots", "urdf") {
        let scene = Scene::new().robot(Robot::from_urdf("it", &path).unwrap());
        let model = model(&scene);
        // Its published figures put the thumb's capsule 4 mm into the palm.
        let known = usize::from(path.ends_with("teaching_hand.urdf"));
        assert_eq!(
            (model.pairs.left_out.len(), model.warnings.len()),
            (known, known),
            "{path:?}: {:?}",
            model.warnings
        );
    }
    for path in files("assets/scenes", "toml") {
        let model = model(&Scene::load(&path).unwrap());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // Three bodies start inside each other, to be parted; the teaching hand is as above.
        let is_known = name == "three_bodies" || name.starts_with("teaching_hand");
        assert!(model.warnings.is_empty() || is_known, "{path:?}: {:?}", model.warnings);
    }
}
