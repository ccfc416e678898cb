//! Bodies that a step takes through each other from where they do not push each other.

use std::cell::OnceCell;

use nalgebra::Isometry3;

use super::observe::isometry;
use super::recording::{Recording, ShapeRecord};
use super::unrest::{Motion, colliding, size};
use fingertip_scene::Shape;
use fingertip_shapes::collision::Collider;
use fingertip_shapes::largest::larger;

/// What moves relative to each other by less than this speed, m/s, or by less than `contact_distance` if that is less,
/// begins a step where it pushes what it meets.
const SPEED: f64 = 1.0;
/// Bodies that are nearer than this, m, meet.
const MEET: f64 = 1e-6;
/// Places on the way that are looked at, at most.
const PLACES: usize = 1000;

/// Two bodies that steps take through each other, or into each other, though they begin them farther apart than they
/// push each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The two bodies' indices.
    pub bodies: [usize; 2],
    /// The number of such steps.
    pub steps: usize,
    /// The first of them, counted from 1.
    pub first: usize,
}

/// The pairs of bodies that steps take through each other, in the order in which they do. Of what has a distance grid
/// nothing is known here.
pub fn passages(recording: &Recording) -> Vec<Passage> {
    let bodies = Bodies::new(recording);
    let mut pairs: Vec<[usize; 2]> = recording.contacts.iter().map(|pair| [pair.a, pair.b]).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let far = recording.params.contact_distance.unwrap_or(f64::INFINITY).min(SPEED * recording.params.h);
    let mut found: Vec<Passage> = Vec::new();
    let mut before = &recording.start.poses;
    for (k, step) in recording.steps.iter().enumerate() {
        let after = &step.end.poses;
        let moved: Vec<f64> = (0..recording.bodies.len()).map(|body| bodies.moved(body, [before, after])).collect();
        for &[a, b] in pairs.iter().filter(|[a, b]| moved[*a] + moved[*b] > far) {
            let touch = |contact: usize| [recording.contacts[contact].a, recording.contacts[contact].b] == [a, b];
            if step.contacts.iter().any(|one| touch(one.contact)) || !bodies.meet([a, b], [before, after]) {
                continue;
            }
            match found.iter_mut().find(|one| one.bodies == [a, b]) {
                Some(one) => one.steps += 1,
                None => found.push(Passage { bodies: [a, b], steps: 1, first: k + 1 }),
            }
        }
        before = after;
    }
    found
}

/// A collider and its pose in its body's frame.
type Placed = (Collider, Isometry3<f64>);

/// A shape of a body.
#[derive(Debug)]
struct Part<'a> {
    shape: &'a ShapeRecord,
    /// The shape; of a hull the box around it.
    around: Placed,
    /// A hull, made only where boxes do not tell: that takes a thousand times as long. None if it is none.
    hull: OnceCell<Option<Placed>>,
}

impl<'a> Part<'a> {
    /// None for a half-space, which nobody passes, and for a distance grid.
    fn new(shape: &'a ShapeRecord) -> Option<Self> {
        let [x, y, z, rounding] = shape.sizes;
        let mut pose = pose(shape);
        let around = match shape.kind.as_str() {
            "sphere" => Shape::sphere(x),
            "capsule" => Shape::capsule(x, y),
            "box" => Shape::rounded_cuboid([x, y, z], rounding),
            "cylinder" => Shape::cylinder(x, y),
            "ellipsoid" => Shape::ellipsoid([x, y, z]),
            "hull" => {
                let numbers = shape.vertices.as_flattened();
                if numbers.is_empty() || numbers.iter().any(|x| !x.is_finite()) {
                    return None;
                }
                let bound = |fold: fn(f64, f64) -> f64, start: f64| {
                    [0, 1, 2].map(|axis| shape.vertices.iter().map(|vertex| vertex[axis]).fold(start, fold))
                };
                let (low, high) = (bound(f64::min, f64::INFINITY), bound(f64::max, f64::NEG_INFINITY));
                let middle = [0, 1, 2].map(|axis| (low[axis] + high[axis]) / 2.0);
                pose *= Isometry3::translation(middle[0], middle[1], middle[2]);
                Shape::rounded_cuboid([0, 1, 2].map(|axis| larger((high[axis] - low[axis]) / 2.0, MEET)), 0.0)
            }
            _ => return None,
        };
        Some(Self { shape, around: (Collider::new(&around), pose), hull: OnceCell::new() })
    }

    /// The shape itself, which `around` may only surround; a hull is made when it is first asked for.
    fn exact(&self) -> Option<&Placed> {
        if self.shape.kind != "hull" {
            return Some(&self.around);
        }
        let hull = || Some((Collider::new(&Shape::hull(&self.shape.vertices).ok()?), pose(self.shape)));
        self.hull.get_or_init(hull).as_ref()
    }

    /// No more than how far this is from a part of a body with this pose, m: what is less than `least` is exact.
    fn gap(&self, other: &Self, pose: &Isometry3<f64>, least: f64) -> f64 {
        let gap = |(x, on_a): &Placed, (y, on_b): &Placed| Some(x.distance(on_a, y, &(pose * on_b))?.phi);
        let exact = || gap(self.exact()?, other.exact()?);
        let around = gap(&self.around, &other.around);
        around.filter(|&around| around >= least).or_else(exact).unwrap_or(f64::INFINITY)
    }
}

/// The pose of a shape in its body's frame.
fn pose(shape: &ShapeRecord) -> Isometry3<f64> {
    let ([x, y, z], [w, i, j, k]) = (shape.position, shape.quaternion);
    isometry(&[x, y, z, w, i, j, k])
}

/// The bodies of a recording, with the colliders of those that are asked for.
#[derive(Debug)]
pub(super) struct Bodies<'a> {
    recording: &'a Recording,
    sizes: Vec<f64>,
    parts: Vec<OnceCell<Vec<Part<'a>>>>,
}

impl<'a> Bodies<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        let all = 0..recording.bodies.len();
        let sizes = all.clone().map(|body| size(recording, body)).collect();
        Self { recording, sizes, parts: all.map(|_| OnceCell::new()).collect() }
    }

    /// The farthest that a point of a body moves, at most, m.
    fn moved(&self, body: usize, [before, after]: [&[[f64; 7]]; 2]) -> f64 {
        let Motion { distance, angle } = Motion::between(&before[body], &after[body]);
        distance + angle * self.sizes[body]
    }

    fn parts(&self, body: usize) -> &[Part<'a>] {
        self.parts[body].get_or_init(|| colliding(self.recording, body).filter_map(Part::new).collect())
    }

    /// Do two bodies meet on the straight way from these poses to those, as the first one sees the second one?
    pub(super) fn meet(&self, [a, b]: [usize; 2], [before, after]: [&[[f64; 7]]; 2]) -> bool {
        let [from, to] = [before, after].map(|poses| isometry(&poses[a]).inverse() * isometry(&poses[b]));
        let way = (to.translation.vector - from.translation.vector).norm()
            + from.rotation.angle_to(&to.rotation) * self.sizes[b];
        if way <= 0.0 || from.translation.vector.norm() - self.sizes[a] - self.sizes[b] > way {
            return false;
        }
        // Steps by boxes alone come to the end of the way.
        let least = larger(way / PLACES as f64, MEET);
        let at = |part: f64| {
            let place = from.translation.vector.lerp(&to.translation.vector, part);
            let turn = from.rotation.try_slerp(&to.rotation, part, f64::EPSILON).unwrap_or(from.rotation);
            let pose = Isometry3::from_parts(place.into(), turn);
            let all = self.parts(a).iter().flat_map(|x| self.parts(b).iter().map(move |y| x.gap(y, &pose, least)));
            all.fold(f64::INFINITY, f64::min)
        };
        // No point goes farther than the bodies are apart before they meet.
        let mut part = 0.0;
        for _ in 0..PLACES {
            let gap = at(part);
            if gap < MEET {
                return true;
            }
            part += larger(gap, MEET) / way;
            if part >= 1.0 {
                return at(1.0) < MEET;
            }
        }
        false
    }
}
