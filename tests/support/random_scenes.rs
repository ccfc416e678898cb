//! Random scenes: all shapes, all freedoms, robots of any tree with mimics and limits.

use fingertip::description::{
    Articulation, Collision, Freedom, Inertia, Joint, JointKind, Limits, Link, Mimic, Object, PairRule, Params, Robot,
    Scene, Shape,
};
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use crate::states::Random;

/// A scene and how it was drawn.
pub fn scene(random: &mut Random) -> Scene {
    let params = Params {
        h: random.scale(2e-3, 0.1),
        epsilon: random.scale(0.05, 1.0),
        kappa: random.scale(1e2, 1e6),
        mu: random.pick(&[0.0, 0.3, 0.5, 1.0]),
        joint_limits: random.chance(0.3),
        ..Params::default()
    };
    let mut scene = Scene::new().with_params(params);
    if random.chance(0.2) {
        (scene.params.contact_distance, scene.params.fade) = (Some(0.05), random.pick(&[0.0, 0.03]));
    }
    if random.chance(0.6) {
        scene = scene.object(Object::ground("floor", random.between(-0.15, -0.05)));
    }
    for k in 0..random.below(3) + 1 {
        scene = scene.object(object(&format!("thing{k}"), random));
    }
    for k in 0..random.below(3) {
        let name = format!("robot{k}");
        scene = scene.robot(robot(&name, random)).pair(PairRule::exclude(&name, &name));
        if random.chance(0.5) {
            scene = scene.pair(PairRule::exclude(&name, "floor"));
        }
    }
    let has = |name: &str| scene.objects.iter().any(|o| o.name == name) || scene.robots.iter().any(|r| r.name == name);
    let known: Vec<PairRule> = scene.pairs.iter().filter(|rule| has(&rule.a) && has(&rule.b)).cloned().collect();
    scene.pairs = known;
    scene
}

/// Has contacts resist turning: all of them, or all but those of one thing on the floor, or those alone.
pub fn resist_turning(scene: &mut Scene, random: &mut Random) {
    let torsion = random.scale(1e-4, 1e-2);
    let floor = scene.objects.iter().any(|object| object.name == "floor");
    let rule = PairRule::torsion("thing0", "floor", if random.chance(0.5) { 0.0 } else { torsion });
    scene.params.torsion = if random.chance(0.3) && floor { 0.0 } else { torsion };
    if floor && (scene.params.torsion == 0.0 || random.chance(0.3)) {
        scene.pairs.push(rule);
    }
}

/// Any shape but a half-space, of the size of a finger.
pub fn shape(random: &mut Random) -> Shape {
    let mut size = || random.scale(0.01, 0.06);
    let (a, b, c) = (size(), size(), size());
    match random.below(7) {
        0 => Shape::sphere(a),
        1 => Shape::capsule(a, b),
        2 => Shape::cuboid([a, b, c]),
        3 => Shape::rounded_cuboid([a, b, c], 0.3 * a.min(b).min(c)),
        4 => Shape::cylinder(a, b),
        5 => Shape::ellipsoid([a, b, c]),
        _ => {
            let points: Vec<[f64; 3]> = (0..12).map(|_| (random.rotation() * Vector3::z() * a).into()).collect();
            Shape::hull(&points).unwrap_or_else(|_| Shape::sphere(a))
        }
    }
}

fn collision(random: &mut Random) -> Collision {
    let pose = Isometry3::from_parts(Translation3::from(random.vector(0.03)), random.rotation());
    Collision::new(shape(random), pose)
}

fn object(name: &str, random: &mut Random) -> Object {
    let freedom = random.pick(&[Freedom::Free, Freedom::Free, Freedom::Planar, Freedom::Translation, Freedom::Fixed]);
    let shape = shape(random);
    let mut object = if random.chance(0.2) {
        Object::compound(name, vec![Collision::centred(shape), collision(random)], random.scale(1e-2, 10.0))
    } else {
        Object::rigid(name, shape, random.scale(1e-2, 10.0))
    };
    object = object.with_freedom(freedom);
    let turn = match freedom {
        Freedom::Planar => UnitQuaternion::from_axis_angle(&Vector3::z_axis(), random.between(-3.0, 3.0)),
        _ => random.rotation(),
    };
    object.with_pose(Isometry3::from_parts(Translation3::from(random.vector(0.12)), turn))
}

fn robot(name: &str, random: &mut Random) -> Robot {
    let n = random.below(6) + 1;
    let link = |k: usize, random: &mut Random| {
        let collisions: Vec<Collision> = (0..random.below(2)).map(|_| collision(random)).collect();
        let inertia = Inertia::solid(&Shape::sphere(0.02), random.scale(1e-2, 1.0));
        Link { name: format!("link{k}"), inertia, collisions, visuals: Vec::new() }
    };
    let links: Vec<Link> = (0..=n).map(|k| link(k, random)).collect();
    let mut joints: Vec<Joint> = Vec::new();
    for child in 1..=n {
        let kind = random.pick(&[
            JointKind::Revolute,
            JointKind::Revolute,
            JointKind::Continuous,
            JointKind::Prismatic,
            JointKind::Fixed,
        ]);
        let size = if kind == JointKind::Prismatic { 0.2 } else { 2.0 };
        let limited = kind == JointKind::Revolute || kind == JointKind::Prismatic;
        let leaders: Vec<usize> = (0..joints.len()).filter(|&j| joints[j].is_commandable()).collect();
        let follows = kind != JointKind::Fixed && !leaders.is_empty() && random.chance(0.15);
        let mimic = follows.then(|| Mimic {
            joint: leaders[random.below(leaders.len())],
            multiplier: random.between(-1.5, 1.5),
            offset: random.between(-0.3, 0.3),
        });
        let parent = if random.chance(0.7) { child - 1 } else { random.below(child) };
        joints.push(Joint {
            origin: Isometry3::from_parts(Translation3::from(random.vector(0.06)), random.rotation()),
            axis: random.rotation() * Vector3::z(),
            limits: limited.then(|| Limits { lower: -size * random.between(0.1, 1.0), upper: size }),
            mimic,
            ..Joint::new(format!("joint{child}"), kind, parent, child)
        });
    }
    let base = Isometry3::from_parts(Translation3::from(random.vector(0.15)), random.rotation());
    Robot::new(name, Articulation { links, joints, ..Articulation::default() })
        .with_base(base)
        .with_default_stiffness(random.scale(1.0, 1e3))
}
