//! Random things just above random supports, as scene files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use fingertip::collision::distance;
use fingertip::description::{Friction, Inertia, Object, ObjectBody, Scene, Shape};
use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};

use support::states::Random;

pub const SUPPORTS: [&str; 11] = [
    "half-space",
    "box",
    "hull",
    "standing cylinder",
    "lying cylinder",
    "round rails",
    "square rails",
    "bowl of hulls",
    "pads",
    "round fingers",
    "stack",
];
pub const FAMILIES: [&str; 8] =
    ["sphere", "box", "rounded box", "capsule", "cylinder", "ellipsoid", "hull", "noisy mesh"];
pub const EPSILONS: [f64; 3] = [0.01, 0.1, 1.0];
/// s.
pub const STEPS: [f64; 4] = [0.002, 0.01, 0.05, 0.1];
const GRAVITY: f64 = 9.81;
/// A scene lets things hover by at most this share of their size: above it, `Rest` warns.
const HOVER: f64 = 0.1;
/// 1/J; more for what weighs so little that it would hover higher.
const KAPPA: [f64; 2] = [1e4, 1e7];
/// Draws of a density for which these κ do, at most; then it is the largest density.
const TRIES: usize = 30;
/// Things fall for so many steps before they touch, at most.
const FALL: f64 = 50.0;

/// What the worlds of a batch have in common: only hulls' corners and the law cannot differ between worlds.
pub struct Draw {
    pub number: usize,
    pub support: usize,
    pub family: usize,
    pub law: Friction,
    /// Largest extent of the things, m.
    pub size: f64,
    hulls: Vec<Vec<[f64; 3]>>,
    /// How far their points are off at most, m: so deep what is noisy may be in others, as its sides are those of all
    /// points.
    pub noise: f64,
    /// How many things.
    things: usize,
    /// Turns of the round fingers about the line between them, rad.
    turns: [f64; 2],
}

/// A world in which things are dropped.
pub struct World {
    /// Its scene, which lies in [`folder`].
    pub text: String,
    pub epsilon: f64,
    pub h: f64,
    pub kappa: f64,
    pub mu: f64,
}

/// Where scene files and what they name are written.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rest");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A shape's line of a scene file.
pub fn line(shape: &Shape) -> String {
    match shape {
        Shape::Sphere { radius } => format!("sphere = {radius:?}"),
        Shape::Capsule { radius, half_length } => format!("capsule = [{radius:?}, {half_length:?}]"),
        Shape::Cylinder { radius, half_length } => format!("cylinder = [{radius:?}, {half_length:?}]"),
        Shape::Box { half_extents, rounding } => format!("box = {half_extents:?}\nrounding = {rounding:?}"),
        Shape::Ellipsoid { radii } => format!("ellipsoid = {radii:?}"),
        Shape::Hull(hull) => format!("hull = {:?}", hull.vertices()),
        other => panic!("a {} is not drawn", other.name()),
    }
}

/// An object's entry of a scene file.
pub fn entry(name: &str, shape: &Shape, mass: Option<f64>, pose: &Isometry3<f64>) -> String {
    let moves = match mass {
        Some(mass) => format!("mass = {mass:?}\nfreedom = \"free\""),
        None => "freedom = \"fixed\"".to_owned(),
    };
    let (at, turn) = (pose.translation.vector, pose.rotation);
    format!(
        "\n[[object]]\nname = \"{name}\"\n{}\n{moves}\nposition = {:?}\nquaternion = {:?}\n",
        line(shape),
        [at.x, at.y, at.z],
        [turn.w, turn.i, turn.j, turn.k]
    )
}

/// Corners of a box with points on its sides, or of a prism, each off its place by up to the second number along each
/// axis.
fn noisy(size: f64, random: &mut Random) -> (Vec<[f64; 3]>, f64) {
    let half: [f64; 3] = std::array::from_fn(|_| size * random.between(0.2, 0.5));
    let mut points: Vec<Vector3<f64>> = Vec::new();
    if random.chance(0.5) {
        let ends = [-1.0, 0.0, 1.0];
        for (x, y, z) in ends.iter().flat_map(|&x| ends.iter().flat_map(move |&y| ends.map(|z| (x, y, z)))) {
            points.push(Vector3::new(x * half[0], y * half[1], z * half[2]));
        }
    } else {
        let n = 4 + random.below(13);
        for k in 0..n {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
            points.extend([-half[2], half[2]].map(|z| Vector3::new(half[0] * cos, half[0] * sin, z)));
        }
    }
    let noise = size * random.scale(1e-7, 1e-3);
    (points.into_iter().map(|point| (point + random.vector(noise)).into()).collect(), noise)
}

impl Draw {
    pub fn new(number: usize, random: &mut Random) -> Self {
        let (support, family) = (number % SUPPORTS.len(), number % FAMILIES.len());
        let size = random.scale(0.005, 0.5);
        let law = Friction::ALL[(number / SUPPORTS.len()) % 2];
        Self::of(number, [support, family], size, law, random)
    }

    /// One of this support and this family, whose things are this large, m.
    pub fn of(number: usize, [support, family]: [usize; 2], size: f64, law: Friction, random: &mut Random) -> Self {
        let hull = |random: &mut Random| match FAMILIES[family] {
            "hull" => {
                let half: [f64; 3] = std::array::from_fn(|_| size * random.between(0.25, 0.5));
                let n = 8 + random.below(9);
                let mut corner = || Vector3::from(half).component_mul(&(random.rotation() * Vector3::z()));
                ((0..n).map(|_| corner().into()).collect(), 0.0)
            }
            _ => noisy(size, random),
        };
        let (hulls, noise): (Vec<_>, Vec<_>) = (0..3).map(|_| hull(random)).unzip();
        let noise = noise.into_iter().fold(0.0, f64::max);
        let turns = [0.0, 0.0].map(|_: f64| random.between(0.0, std::f64::consts::PI));
        let things = if SUPPORTS[support] == "stack" { 2 + random.below(2) } else { 1 };
        let draw = Self {
            things,
            number,
            support,
            family,
            law,
            size,
            hulls,
            noise: if FAMILIES[family] == "noisy mesh" { noise } else { 0.0 },
            turns,
        };
        if let Some(urdf) = draw.urdf() {
            std::fs::write(folder().join(draw.urdf_name()), urdf).unwrap();
        }
        draw
    }

    fn urdf_name(&self) -> String {
        format!("{:016x}.urdf", self.size.to_bits())
    }

    /// Two pads or fingers that slide along x towards each other; their surfaces meet at 0.
    fn urdf(&self) -> Option<String> {
        let l = self.size;
        let (thick, geometry) = match SUPPORTS[self.support] {
            "pads" => (0.2 * l, format!("<box size=\"{:?} {:?} {:?}\"/>", 0.4 * l, 2.0 * l, 2.0 * l)),
            "round fingers" => (0.3 * l, format!("<capsule radius=\"{:?}\" length=\"{l:?}\"/>", 0.3 * l)),
            _ => return None,
        };
        let mut urdf = "<robot name=\"gripper\"><link name=\"base\"/>\n".to_owned();
        for (name, side, turn) in [("l", -1.0, self.turns[0]), ("r", 1.0, self.turns[1])] {
            let turn = if SUPPORTS[self.support] == "pads" { 0.0 } else { turn };
            let _ = writeln!(
                urdf,
                "<link name=\"{name}\"><collision><origin xyz=\"{:?} 0 0\" rpy=\"{turn:?} 0 0\"/><geometry>{geometry}</geometry>\
                 </collision></link><joint name=\"j{name}\" type=\"prismatic\"><parent link=\"base\"/><child link=\"{name}\"/>\
                 <axis xyz=\"{:?} 0 0\"/><limit lower=\"-10\" upper=\"10\" effort=\"1000\" velocity=\"1\"/></joint>",
                side * thick,
                -side
            );
        }
        Some(urdf + "</robot>\n")
    }

    pub fn shape(&self, which: usize, random: &mut Random) -> Shape {
        let half: [f64; 3] = std::array::from_fn(|_| self.size * random.between(0.2, 0.5));
        match FAMILIES[self.family] {
            "sphere" => Shape::sphere(half[0]),
            "box" => Shape::cuboid(half),
            "rounded box" => Shape::rounded_cuboid(half, self.size * random.between(0.02, 0.19)),
            "capsule" => Shape::capsule(0.6 * half[0], 0.5 * self.size - 0.6 * half[0]),
            "cylinder" => Shape::cylinder(half[0], half[1]),
            "ellipsoid" => Shape::ellipsoid(half),
            _ => Shape::hull(&self.hulls[which]).unwrap(),
        }
    }

    /// The fixed things, their tops at about z = 0.
    pub fn supports(&self) -> Vec<(Shape, Isometry3<f64>)> {
        let l = self.size;
        let at = |x: f64, y: f64, z: f64| Isometry3::translation(x * l, y * l, z * l);
        let across = |x: f64, y: f64, z: f64, turn: [f64; 3]| {
            Isometry3::from_parts(at(x, y, z).translation, UnitQuaternion::from_scaled_axis(turn.into()))
        };
        let quarter = std::f64::consts::FRAC_PI_2;
        let block = |x: f64, y: f64, z: f64| Shape::cuboid([x * l, y * l, z * l]);
        match SUPPORTS[self.support] {
            "box" => vec![(block(2.0, 2.0, 0.3), at(0.0, 0.0, -0.3))],
            "hull" => {
                let corner = |k: usize| {
                    let (sin, cos) = (0.3 + std::f64::consts::FRAC_PI_3 * (k / 2) as f64).sin_cos();
                    let (radius, z) = if k.is_multiple_of(2) { (2.5 * l, 0.0) } else { (3.0 * l, -0.5 * l) };
                    [radius * cos, radius * sin, z]
                };
                vec![(Shape::hull(&(0..12).map(corner).collect::<Vec<_>>()).unwrap(), Isometry3::identity())]
            }
            "standing cylinder" => vec![(Shape::cylinder(2.0 * l, 0.3 * l), at(0.0, 0.0, -0.3))],
            "lying cylinder" => vec![(Shape::cylinder(2.0 * l, 2.0 * l), across(0.0, 0.0, -2.0, [quarter, 0.0, 0.0]))],
            "round rails" => [-0.35, 0.35]
                .map(|y| (Shape::capsule(0.2 * l, 2.0 * l), across(0.0, y, -0.2, [0.0, quarter, 0.0])))
                .into(),
            "square rails" => [-0.35, 0.35].map(|y| (block(2.0, 0.15, 0.2), at(0.0, y, -0.2))).into(),
            "bowl of hulls" => bowl(l),
            _ => Vec::new(),
        }
    }

    /// The floor's height in sizes, where there is one.
    pub fn floor(&self) -> Option<f64> {
        match SUPPORTS[self.support] {
            "half-space" | "stack" => Some(0.0),
            "lying cylinder" => Some(-2.0),
            "round rails" | "square rails" => Some(-0.6),
            "pads" | "round fingers" => Some(-1.6),
            _ => None,
        }
    }

    pub fn world(&self, random: &mut Random) -> World {
        let held = self.urdf().is_some();
        let n = self.things;
        let shapes: Vec<Shape> = (0..n).map(|k| self.shape(k, random)).collect();
        let (epsilon, h, mu) = (random.pick(&EPSILONS), random.pick(&STEPS), random.between(0.2, 1.0));
        let mass = |shape: &Shape, density: f64| density * volume(shape);
        let mut tries = (0..TRIES).map(|k| {
            let density = if k + 1 < TRIES { random.scale(50.0, 8000.0) } else { 8000.0 };
            let scene = shapes.iter().fold(Scene::new(), |scene, shape| {
                scene.object(Object::rigid("thing", shape.clone(), mass(shape, density)))
            });
            let rests = scene.rests();
            let least = rests.iter().map(|rest| rest.hover(HOVER * rest.size, [0.0, 0.0, -GRAVITY]));
            (density, least.fold(KAPPA[0], f64::max), k)
        });
        let (density, least, _) = tries.find(|&(_, least, k)| least < KAPPA[1] || k + 1 == TRIES).unwrap();
        drop(tries);
        let kappa = random.scale(least, least.max(KAPPA[1]));
        let mut text = format!(
            "[params]\nh = {h:?}\nepsilon = {epsilon:?}\nkappa = {kappa:?}\nmu = {mu:?}\nfriction = \"{}\"\n",
            self.law.name()
        );
        if let (Some(ratio), Friction::Coulomb) = (super::number("FINGERTIP_IMPRATIO"), self.law) {
            let _ = writeln!(text, "impratio = {ratio}");
        }
        let mut fixed = self.supports();
        for (k, (shape, pose)) in fixed.iter().enumerate() {
            text += &entry(&format!("support {k}"), shape, None, pose);
        }
        if let Some(floor) = self.floor() {
            let _ =
                write!(text, "\n[[object]]\nname = \"floor\"\nhalfspace = [0.0, 0.0, 1.0, {:?}]\n", floor * self.size);
            fixed.push((Shape::HalfSpace, Isometry3::translation(0.0, 0.0, floor * self.size)));
        }
        let gap = (random.between(0.01, 0.05) * self.size).min(FALL * GRAVITY * h * h / epsilon);
        for (k, shape) in shapes.iter().enumerate() {
            let turn = if n > 1 && random.chance(0.5) {
                UnitQuaternion::from_scaled_axis(random.vector(0.03))
            } else {
                random.rotation()
            };
            let aside = random.vector(0.05 * self.size);
            let at =
                if held { Vector3::zeros() } else { Vector3::new(aside.x, aside.y, 4.0 * (k + 1) as f64 * self.size) };
            let mut pose = Isometry3::from_parts(Translation3::from(at), turn);
            if held {
                let [left, right] = [-1.0, 1.0].map(|side| self.reach_along_x(shape, &pose, side));
                let press = 1.5 * mass(shape, density) * GRAVITY / mu;
                let l = self.size;
                let _ = write!(
                    text,
                    "\n[[robot]]\nname = \"gripper\"\nurdf = \"{}\"\nstiffness = {:?}\nhome = {{ jl = {:?}, jr = {:?} }}\n\
                     \n[[script]]\ntime = 0.0\nu = {{ jl = {:?}, jr = {:?} }}\n\
                     \n[[pair]]\na = \"gripper\"\nb = \"floor\"\nenabled = false\n",
                    self.urdf_name(),
                    press / l,
                    -left - gap,
                    -right - gap,
                    l - left,
                    l - right
                );
            } else {
                pose.translation.z -= self.height(shape, &pose, &fixed) - gap;
            }
            text += &entry(&format!("thing {k}"), shape, Some(mass(shape, density)), &pose);
            fixed.push((shape.clone(), pose));
        }
        World { text, epsilon, h, kappa, mu }
    }

    /// How far the shape reaches along x to this side, m.
    fn reach_along_x(&self, shape: &Shape, pose: &Isometry3<f64>, side: f64) -> f64 {
        let far = 10.0 * self.size;
        let wall = UnitQuaternion::from_scaled_axis(Vector3::y() * (-side * std::f64::consts::FRAC_PI_2));
        let wall = Isometry3::from_parts(Translation3::new(side * far, 0.0, 0.0), wall);
        far - distance(&Shape::HalfSpace, &wall, shape, pose).unwrap().phi
    }

    /// By how much the shape can sink until it touches, m: by its distance again and again, which never goes too far.
    pub fn height(&self, shape: &Shape, pose: &Isometry3<f64>, below: &[(Shape, Isometry3<f64>)]) -> f64 {
        let (mut pose, mut sunk) = (*pose, 0.0);
        for _ in 0..200 {
            let apart = below.iter().map(|(other, at)| distance(other, at, shape, &pose).unwrap().phi);
            let apart = apart.fold(f64::INFINITY, f64::min);
            sunk += apart;
            pose.translation.z -= apart;
            if apart < 1e-6 * self.size {
                break;
            }
        }
        sunk
    }
}

/// Four plates that slope down to the origin, for things of this size.
pub fn bowl(size: f64) -> Vec<(Shape, Isometry3<f64>)> {
    let corner = |k: usize| {
        let end = |bit: usize, half: f64| if k & bit == 0 { -half * size } else { half * size };
        [end(1, 1.1), end(2, 1.2), end(4, 0.1)]
    };
    let plate = Shape::hull(&(0..8).map(corner).collect::<Vec<_>>()).unwrap();
    let slope = Isometry3::rotation(Vector3::y() * -0.5) * Isometry3::translation(size, 0.0, -0.1 * size);
    let turned = |k: i32| Isometry3::rotation(Vector3::z() * (std::f64::consts::FRAC_PI_2 * f64::from(k))) * slope;
    (0..4).map(|k| (plate.clone(), turned(k))).collect()
}

pub fn volume(shape: &Shape) -> f64 {
    use std::f64::consts::PI;
    match *shape {
        Shape::Sphere { radius: r } => 4.0 / 3.0 * PI * r.powi(3),
        Shape::Capsule { radius: r, half_length: l } => PI * r * r * (2.0 * l + 4.0 / 3.0 * r),
        Shape::Cylinder { radius: r, half_length: l } => 2.0 * PI * r * r * l,
        Shape::Box { half_extents: [x, y, z], .. } => 8.0 * x * y * z,
        Shape::Ellipsoid { radii: [x, y, z] } => 4.0 / 3.0 * PI * x * y * z,
        Shape::Hull(ref hull) => hull.solid().mass,
        ref other => panic!("a {} is not drawn", other.name()),
    }
}

/// The mass of an object that can move.
pub fn inertia(object: &Object) -> Option<&Inertia> {
    match &object.body {
        ObjectBody::Rigid { inertia, .. } => inertia.as_ref(),
        ObjectBody::Articulated { .. } => None,
    }
}
