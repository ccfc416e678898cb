//! The fingers of a hand by its links, and what it follows if nothing else is said.

use candle_core::Result;
use nalgebra::{Isometry3, Matrix3, Vector3};

use fingertip_scene::Shape;
use fingertip_shapes::Error;
use fingertip_shapes::collision::Collider;
use fingertip_step::kinematics::{FrameSpec, Points, Tree};
use fingertip_step::model::Model;

use super::reach::reach;
use super::target::{KEYPOINTS, Map, Palm, Pinch, Place, Scale, Target};

/// Names of fingers, with words of links that mean them.
const NAMES: [(&str, &[&str]); 5] = [
    ("thumb", &["thumb", "th"]),
    ("index", &["index", "if", "ff", "fore", "forefinger"]),
    ("middle", &["middle", "mf", "mid"]),
    ("ring", &["ring", "rf"]),
    ("little", &["little", "pinky", "lf", "pinkie", "small"]),
];
/// Parts of a finger, which may follow its name without a break, as in Shadow's `ffdistal`.
const PARTS: [&str; 9] = ["distal", "middle", "proximal", "knuckle", "metacarpal", "base", "hub", "tip", "link"];
/// A frame nearer than this to the last joint is not its finger's tip, m.
const NEAR: f64 = 5e-3;
/// A palm is so many times as long as its fingers.
const PALM: f64 = 1.1;
/// Up to which distance human fingertips are closed, and from where on they are open, m.
const CLOSED: [f64; 2] = [0.02, 0.05];
/// Weight of closed fingertips beside the fingers' own.
const PINCH: f64 = 10.0;

/// A finger of a hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Finger {
    /// `thumb`, `index`, `middle`, `ring` or `little`.
    pub name: &'static str,
    /// Where it begins: its first joint, as a point of the link that carries it.
    pub knuckle: Place,
    /// Its joints beyond the knuckle, as the origins of the links that they move.
    pub joints: Vec<Place>,
    /// Its tip: a site or a link with "tip" in its name, or else the centre of the last link's sphere, or the far end
    /// of its shapes.
    pub tip: Place,
    /// How far the tip is from where it touches, m: the radius of the sphere around it, or half the thickness of the
    /// last link's shape. 0 of a site, and without shapes.
    pub radius: f64,
}

/// A chain of joints with nothing that moves at its end.
struct Chain {
    /// Its bodies that move, from the first that carries no other chain.
    bodies: Vec<usize>,
    /// Its last body, and those fixed to it.
    last: Vec<usize>,
}

/// The fingers of the scene's hand, in the order of [`KEYPOINTS`]: chains of joints whose links are named after them,
/// or have numbers from the thumb on.
///
/// # Errors
/// If there are none; the message names the ends of chains that were found.
pub fn fingers(model: &Model) -> Result<Vec<Finger>> {
    let tree = &model.tree;
    let chains = chains(tree);
    let mut names: Vec<Option<&str>> = chains.iter().map(|chain| named(tree, chain)).collect();
    if names.iter().flatten().count() < 2 {
        names = numbered(tree, &chains);
    }
    let mut found = Vec::new();
    for (name, _) in NAMES {
        let mut own = chains.iter().zip(&names).filter(|(_, own)| **own == Some(name));
        if let (Some((chain, _)), None) = (own.next(), own.next()) {
            found.push(finger(model, name, chain)?);
        }
    }
    if found.is_empty() {
        let ends: Vec<&str> = chains.iter().map(|chain| tree.bodies[chain.last[0]].name.as_str()).collect();
        let message = format!(
            "expected links named after fingers (thumb, index, middle, ring, little), got chains that end in {}; a map says \
             what each follows",
            if ends.is_empty() { "nothing".to_owned() } else { ends.join(", ") }
        );
        return Err(Error::invalid("fingers", message).into());
    }
    Ok(found)
}

impl Map {
    /// What a hand follows if nothing else is said: the vectors from knuckle to tip of its fingers and from the first
    /// finger's knuckle to the thumb's tip, as much longer as the hand reaches there, and the thumb's tip draws
    /// together with another where those of the human do. The palm's motion is taken out. What carries the fingers
    /// stays at home.
    ///
    /// # Errors
    /// If the links do not say which finger is which, or there are not two beside the thumb.
    pub fn of_hand(model: &Model) -> Result<Self> {
        let fingers = fingers(model)?;
        let others: Vec<&Finger> = fingers.iter().filter(|finger| finger.name != "thumb").collect();
        let (Some(&first), Some(&last)) = (others.first(), others.get(1).and(others.last())) else {
            let message =
                "expected at least two fingers beside the thumb, to see how the palm lies; a map says what is followed";
            return Err(Error::invalid("fingers", message).into());
        };
        let mut targets = Vec::new();
        for finger in &fingers {
            // The thumb is where it is beside the fingers: hands' thumbs begin anywhere.
            let (from, of) = if finger.name == "thumb" { (first, first.name) } else { (finger, finger.name) };
            let keypoints = [format!("{of}_mcp"), format!("{}_tip", finger.name)];
            let keypoints = [keypoints[0].as_str(), keypoints[1].as_str()];
            let target = Target::vector(from.knuckle.clone(), finger.tip.clone(), keypoints, Scale::Auto);
            targets.push(Target { name: finger.name.to_owned(), ..target });
        }
        if let Some(thumb) = fingers.iter().find(|finger| finger.name == "thumb") {
            for finger in &others {
                let keypoints = ["thumb_tip", &format!("{}_tip", finger.name)];
                let [near, far] = CLOSED;
                let pinch = Pinch { near, far, touch: thumb.radius + finger.radius };
                let target = Target::vector(thumb.tip.clone(), finger.tip.clone(), keypoints, Scale::Given(1.0));
                let target = target.with_weight(PINCH).with_pinch(pinch);
                targets.push(Target { name: format!("thumb-{}", finger.name), ..target });
            }
        }
        let places = palm(model, &others, [first, last])?;
        let keypoints = ["wrist".to_owned(), format!("{}_mcp", first.name), format!("{}_mcp", last.name)];
        Ok(Self {
            keypoints: KEYPOINTS.map(str::to_owned).to_vec(),
            targets,
            palm: Some(Palm { keypoints, places }),
            mirror: false,
            hold: carriers(&model.tree, &chains(&model.tree)),
        })
    }
}

/// The points of a hand that are like a human's wrist, first and last knuckle: fingers point from the wrist forward
/// when they are stretched.
fn palm(model: &Model, fingers: &[&Finger], ends: [&Finger; 2]) -> Result<[Place; 3]> {
    let tree = &model.tree;
    let (mut forward, mut length) = (Vector3::zeros(), 0.0);
    for finger in fingers {
        let (reached, q) = reach(model, &finger.knuckle, &finger.tip)?;
        let points = Points::new(tree, &[finger.knuckle.frame(tree)?, finger.tip.frame(tree)?]).positions(&q)?;
        forward += Vector3::from(points[1]) - Vector3::from(points[0]);
        length += PALM * reached / fingers.len() as f64;
    }
    let frames = [ends[0].knuckle.frame(tree)?, ends[1].knuckle.frame(tree)?];
    let base = FrameSpec::of_body(frames[0].body);
    let [a, b] = frames;
    let points = Points::new(tree, &[a, b, base]);
    let placed = points.at(&tree.home())?;
    let middle = (Vector3::from(placed.position(0)) + Vector3::from(placed.position(1))) / 2.0;
    let wrist = middle - forward.try_normalize(f64::MIN_POSITIVE).unwrap_or_else(Vector3::zeros) * length;
    let axes = Matrix3::from_columns(&placed.axes(2).map(Vector3::from));
    let local = axes.tr_mul(&(wrist - Vector3::from(placed.position(2))));
    Ok([Place::new(ends[0].knuckle.body.clone(), local.into()), ends[0].knuckle.clone(), ends[1].knuckle.clone()])
}

/// The commanded joints that carry several fingers.
fn carriers(tree: &Tree, chains: &[Chain]) -> Vec<String> {
    let of_chains: Vec<usize> = chains.iter().flat_map(|chain| chain.bodies.iter().copied()).collect();
    let all = tree.coordinates.iter().filter(|c| c.u.is_some() && !of_chains.contains(&c.body));
    all.map(|c| c.name.clone()).collect()
}

/// Chains of robots' joints.
fn chains(tree: &Tree) -> Vec<Chain> {
    let moves = |body: usize| tree.bodies[body].kind.nv() > 0;
    let is_robot = |body: usize| tree.bodies[body].owner.is_some_and(|owner| tree.owners[owner].robot);
    let all: Vec<usize> = (1..tree.bodies.len()).filter(|&body| is_robot(body) && moves(body)).collect();
    let above = |body: usize| tree.carrier(tree.bodies[body].parent);
    let lasts: Vec<usize> = all.iter().copied().filter(|&body| !all.iter().any(|&b| above(b) == Some(body))).collect();
    let path = |last: usize| {
        let mut path: Vec<usize> = std::iter::successors(Some(last), |&body| above(body)).collect();
        path.reverse();
        path
    };
    let paths: Vec<Vec<usize>> = lasts.iter().map(|&last| path(last)).collect();
    let shared = |body: usize| paths.iter().filter(|path| path.contains(&body)).count() > 1;
    let chain = |(last, path): (&usize, &Vec<usize>)| {
        let bodies: Vec<usize> = path.iter().copied().filter(|&body| !shared(body)).collect();
        let last = (*last..tree.bodies.len()).filter(|&body| tree.carrier(body) == Some(*last)).collect();
        Chain { bodies, last }
    };
    lasts.iter().zip(&paths).map(chain).collect()
}

/// The words and the numbers of a chain's links, from its last one up.
fn words(tree: &Tree, chain: &Chain) -> impl Iterator<Item = String> {
    let bodies: Vec<usize> = chain.last.iter().copied().chain(chain.bodies.iter().rev().copied()).collect();
    bodies.into_iter().flat_map(|body| {
        let name = tree.bodies[body].name.split_once('/').map_or("", |(_, own)| own);
        let mut words = vec![String::new()];
        let mut before = ' ';
        for c in name.chars() {
            let turns = c.is_ascii_digit() != before.is_ascii_digit() || (c.is_uppercase() && before.is_lowercase());
            if turns || !c.is_alphanumeric() {
                words.push(String::new());
            }
            if c.is_alphanumeric() {
                words.iter_mut().last().into_iter().for_each(|word| word.extend(c.to_lowercase()));
            }
            before = c;
        }
        words.retain(|word| !word.is_empty());
        words
    })
}

/// The finger that a chain's links are named after.
fn named(tree: &Tree, chain: &Chain) -> Option<&'static str> {
    let means =
        |word: &str, name: &&str| word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || PARTS.contains(&rest));
    words(tree, chain)
        .find_map(|word| NAMES.iter().find(|(_, names)| names.iter().any(|name| means(&word, name))).map(|own| own.0))
}

/// Fingers by the first number in their last links' names that tells them apart, from the thumb on.
fn numbered(tree: &Tree, chains: &[Chain]) -> Vec<Option<&'static str>> {
    let numbers = |chain: &Chain| {
        let last = Chain { bodies: Vec::new(), last: vec![chain.last[0]] };
        words(tree, &last).filter_map(|word| word.parse::<usize>().ok()).collect::<Vec<_>>()
    };
    let all: Vec<Vec<usize>> = chains.iter().map(numbers).collect();
    for place in 0..all.iter().map(Vec::len).min().unwrap_or(0) {
        let own: Vec<usize> = all.iter().map(|numbers| numbers[place]).collect();
        let first = own.iter().copied().min().unwrap_or(0);
        let mut sorted = own.clone();
        sorted.sort_unstable();
        if first <= 1 && sorted.iter().enumerate().all(|(k, number)| *number == first + k) {
            return own.iter().map(|number| NAMES.get(number - first).map(|own| own.0)).collect();
        }
    }
    vec![None; chains.len()]
}

fn finger(model: &Model, name: &'static str, chain: &Chain) -> Result<Finger> {
    let tree = &model.tree;
    let first = &tree.bodies[chain.bodies[0]];
    let knuckle = Place::new(tree.bodies[first.parent].name.clone(), first.xyz.into());
    let own = FrameSpec::of_body(chain.last[0]);
    let frames: Vec<FrameSpec> =
        std::iter::once(own).chain(chain.last.iter().map(|&body| FrameSpec::of_body(body))).collect();
    let origins = Points::new(tree, &frames).positions(&tree.home())?;
    let distance = |k: usize| (Vector3::from(origins[k + 1]) - Vector3::from(origins[0])).norm();
    let place = |body: usize, point: [f64; 3]| Place::new(tree.bodies[body].name.clone(), point);
    let is_tip = |name: &str| name.split_once('/').is_some_and(|(_, own)| own.to_lowercase().contains("tip"));
    let shapes = || model.shapes.iter().filter(|shape| chain.last.contains(&shape.body));
    let spheres =
        || shapes().filter_map(|s| if let Shape::Sphere { radius } = s.shape { Some((s, radius)) } else { None });
    let site = tree.sites.iter().find(|site| chain.last.contains(&site.body) && is_tip(&site.name));
    let link = (0..chain.last.len()).rev().find(|&k| is_tip(&tree.bodies[chain.last[k]].name) && distance(k) > NEAR);
    let farthest = (0..chain.last.len()).max_by(|&a, &b| distance(a).total_cmp(&distance(b)));
    let tip = if let Some(site) = site {
        place(site.body, site.pose.translation.vector.into())
    } else if let Some(link) = link {
        place(chain.last[link], [0.0; 3])
    } else if let Some((sphere, _)) = spheres().next_back() {
        place(sphere.body, sphere.xyz)
    } else if let Some(shape) = shapes().next_back() {
        // The far end of the box around the last shape, seen from the link's origin.
        let pose = Isometry3::from_parts(shape.xyz.into(), turn(&shape.rotation));
        let [low, high] = Collider::new(&shape.shape).bounds(&pose);
        let (centre, half) = ((low + high) / 2.0, (high - low) / 2.0);
        let way = centre.try_normalize(1e-6).unwrap_or_else(Vector3::z);
        let exit = (0..3).map(|k| half[k] / way[k].abs().max(1e-9)).fold(f64::INFINITY, f64::min);
        place(shape.body, (centre + way * exit).into())
    } else {
        place(chain.last[farthest.unwrap_or(0)], [0.0; 3])
    };
    let of_tip = |shape: &fingertip_step::contact::BodyShape| {
        tree.bodies[shape.body].name == tip.body && (Vector3::from(shape.xyz) - Vector3::from(tip.point)).norm() < 1e-4
    };
    let half = |shape: &fingertip_step::contact::BodyShape| {
        let [low, high] = Collider::new(&shape.shape).bounds(&Isometry3::identity());
        (high - low).min() / 2.0
    };
    let radius = match (spheres().find(|(shape, _)| of_tip(shape)), site, shapes().next_back()) {
        (Some((_, radius)), ..) => radius,
        (None, None, Some(shape)) => half(shape),
        (None, ..) => 0.0,
    };
    let frames: Vec<FrameSpec> = chain.bodies.iter().map(|&body| FrameSpec::of_body(body)).collect();
    let origins = Points::new(tree, &frames).positions(&tree.home())?;
    let beyond = |k: &usize| (Vector3::from(origins[*k]) - Vector3::from(origins[0])).norm() > NEAR;
    let joints = (1..chain.bodies.len()).filter(beyond).map(|k| place(chain.bodies[k], [0.0; 3])).collect();
    Ok(Finger { name, knuckle, joints, tip, radius })
}

fn turn(rows: &[[f64; 3]; 3]) -> nalgebra::UnitQuaternion<f64> {
    let matrix = Matrix3::from_fn(|i, j| rows[i][j]);
    nalgebra::UnitQuaternion::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(matrix))
}
