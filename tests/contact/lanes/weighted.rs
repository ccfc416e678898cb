//! Contacts whose weights vary: against the specification in `docs/contact_points.md`, computed here in plain numbers
//! in other ways, and against finite differences.

use std::f64::consts::FRAC_PI_2;

use fingertip::collision::{Collider, Detail};
use fingertip::contact::UNUSED;
use fingertip::description::Shape;
use fingertip_lanes::lane::{InstructionSet, Lane};
use fingertip_lanes::program::{Group, Program, Stage, run_on};
use fingertip_lanes::rows::Output;
use fingertip_step::inner::{ConvexPair, GEOMETRY, OWN_RATES, WEIGHTED_GEOMETRY, convex, tapes};
use nalgebra::{Isometry3, Matrix3, Rotation3, Translation3, UnitQuaternion};
use support::pairs::{Body, COORDINATES, Random, V3, add, aligned, cross, dot, moved, norm, unit};

use super::{gather, gather_pairs};

/// Contacts of less weight than this are left out.
const LEAST: f64 = 1e-4;
/// Contacts of less weight than this stand back.
const LIGHT: f64 = 0.02;

/// The tolerance of values: coordinates of half a metre, some tens of roundings, over the sine of a milliradian, at
/// which crossings begin.
const VALUE: f64 = 1e-11;
/// The tolerance of pulls against pushes, which compute the same numbers in different ways, relative to the largest
/// number of a pair.
const GRADIENT: f64 = 1e-9;
/// The step of finite differences over five points, which are of fourth order.
const STEP: f64 = 1e-5;
/// The tolerance of derivatives against finite differences, relative to 1 + |derivative|.
const DIFFERENCE: f64 = 1e-6;

type Pair = (Body, Body);

struct Kernel<'a> {
    pairs: &'a [Pair],
    /// For each pair, the gradient of its contacts, then of their weights.
    grads: &'a [Vec<f64>],
}

impl Kernel<'_> {
    fn pair(&self) -> ConvexPair {
        ConvexPair::new(&self.pairs[0].0.shape, &self.pairs[0].1.shape, Detail::ALL)
    }

    fn width(&self) -> usize {
        let pair = self.pair();
        WEIGHTED_GEOMETRY * pair.contacts() + COORDINATES + pair.n_rates()
    }
}

impl Program for Kernel<'_> {
    fn scratch(&self) -> usize {
        0
    }
    fn group(&self, group: &mut Group) {
        group.run(self);
    }
}

impl Stage for Kernel<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, _: &mut [R], to: &mut Output) {
        let pair = self.pair();
        let n = pair.contacts();
        let bodies = gather_pairs(self.pairs, first);
        let places = bodies.each_ref().map(|(pose, sizes)| (&pose[..], &sizes[..]));
        let grads = gather(self.pairs.len(), first, WEIGHTED_GEOMETRY * n, |world| &self.grads[world]);
        let (mut contacts, mut weights) = (vec![R::zero(); GEOMETRY * n], vec![R::zero(); n]);
        let mut nearest = vec![R::zero(); GEOMETRY];
        convex::witness(&pair, places, (&mut contacts, &mut weights), &mut nearest, None);
        let (mut wrenches, mut sizes) = ([[R::zero(); 6]; 2], [[R::zero(); 4]; 2]);
        let grads = grads.split_at(GEOMETRY * n);
        convex::vjp(&pair, places, &nearest, grads, &mut wrenches, &mut sizes);
        let mut rates = vec![R::zero(); pair.n_rates()];
        convex::rates(&pair, places, &nearest, R::one(), &mut rates);
        let all = [&contacts[..], &weights, wrenches.as_flattened(), sizes.as_flattened(), &rates].concat();
        to.store_all(first, 0, &all);
    }
}

/// The results of the kernel for a pair.
struct Found {
    contacts: Vec<f64>,
    weights: Vec<f64>,
    reactions: Vec<f64>,
    rates: Vec<f64>,
}

impl Found {
    fn all(&self) -> impl Iterator<Item = &f64> {
        self.contacts.iter().chain(&self.weights).chain(&self.reactions).chain(&self.rates)
    }

    /// The contacts that have a weight.
    fn points(&self) -> Vec<Point> {
        let all = self.contacts.chunks(GEOMETRY).zip(&self.weights).filter(|(_, weight)| **weight > 0.0);
        all.map(|(c, &weight)| Point {
            normal: vector(c),
            point_a: vector(&c[3..]),
            point_b: vector(&c[6..]),
            phi: c[9],
            weight,
        })
        .collect()
    }
}

fn kernel(pairs: &[Pair], grads: &[Vec<f64>]) -> Vec<Found> {
    kernel_as(InstructionSet::detect(), pairs, grads)
}

fn kernel_as(set: InstructionSet, pairs: &[Pair], grads: &[Vec<f64>]) -> Vec<Found> {
    let kernel = Kernel { pairs, grads };
    let (n, width) = (kernel.pair().contacts(), kernel.width());
    let data = run_on(set, &kernel, pairs.len(), width);
    let found = data.chunks(width).map(|row| {
        let (contacts, row) = row.split_at(GEOMETRY * n);
        let (weights, row) = row.split_at(n);
        let (reactions, rates) = row.split_at(COORDINATES);
        let [contacts, weights, reactions, rates] = [contacts, weights, reactions, rates].map(<[f64]>::to_vec);
        Found { contacts, weights, reactions, rates }
    });
    found.collect()
}

fn contacts_of((a, b): &Pair) -> usize {
    ConvexPair::new(&a.shape, &b.shape, Detail::ALL).contacts()
}

fn random_grads(random: &mut Random, pairs: &[Pair]) -> Vec<Vec<f64>> {
    let n = WEIGHTED_GEOMETRY * contacts_of(&pairs[0]);
    pairs.iter().map(|_| (0..n).map(|_| random.between(-1.0, 1.0)).collect()).collect()
}

/// The results of the kernel without gradients.
fn values(pairs: &[Pair]) -> Vec<Found> {
    kernel(pairs, &vec![vec![0.0; WEIGHTED_GEOMETRY * contacts_of(&pairs[0])]; pairs.len()])
}

fn exchanged(pairs: &[Pair]) -> Vec<Pair> {
    pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect()
}

fn vector(from: &[f64]) -> V3 {
    [from[0], from[1], from[2]]
}

/// A body that lies on a box: turned about their common normal, tilted by up to `tilt`, shifted aside, with a gap.
/// `low` is the height of the body's origin above its lowest point.
fn stacked(random: &mut Random, (upper, low): (Body, f64), tilt: f64, gap: f64, rounding: f64) -> Pair {
    let half_extents = [0; 3].map(|_| random.between(0.05, 0.15));
    let lower = Body::at(Shape::Box { half_extents, rounding }, [0.0; 3]);
    let mut aside = |k: usize| random.between(-1.0, 1.0) * (half_extents[k] + 0.08);
    let at = [aside(0), aside(1), half_extents[2] + low + gap];
    let spin = random.between(0.0, 6.0);
    let (axis, angle) = (random.direction(), random.between(0.0, tilt));
    let upper = upper.moved(at, [0.0, 0.0, spin]).moved([0.0; 3], add([0.0; 3], angle, axis));
    somewhere(random, &lower, &upper)
}

fn cuboid(random: &mut Random) -> (Body, f64) {
    let half_extents = [0; 3].map(|_| random.between(0.05, 0.15));
    (Body::at(Shape::Box { half_extents, rounding: 0.0 }, [0.0; 3]), half_extents[2])
}

fn lying_capsule(random: &mut Random) -> (Body, f64) {
    let (radius, half_length) = (random.between(0.02, 0.08), random.between(0.05, 0.2));
    let body = Body::at(Shape::Capsule { radius, half_length }, [0.0; 3]);
    (body.moved([0.0; 3], [FRAC_PI_2, 0.0, 0.0]), radius)
}

/// A box that stands on an edge, over another one that does: the edges are nearly one line.
fn on_edges(random: &mut Random) -> Pair {
    let mut standing = || {
        let half = [0; 3].map(|_| random.between(0.05, 0.15));
        let lean = random.between(0.3, 1.2);
        let (sine, cosine) = f64::sin_cos(lean);
        let body =
            Body::at(Shape::Box { half_extents: half, rounding: 0.0 }, [0.0; 3]).moved([0.0; 3], [lean, 0.0, 0.0]);
        // The place of the upper edge across the line; the lower one is opposite.
        (body, [half[1] * cosine - half[2] * sine, half[1] * sine + half[2] * cosine])
    };
    let ((lower, top), (upper, bottom)) = (standing(), standing());
    let mut within = |most: f64| random.between(-most, most);
    let shift = [within(0.1), top[0] + bottom[0] + within(0.01), top[1] + bottom[1] + 0.02];
    let upper = upper.moved([0.0; 3], [within(0.08), within(0.08), within(0.08)]).moved(shift, [0.0; 3]);
    somewhere(random, &lower, &upper)
}

/// Two capsules side by side, nearly parallel.
fn bundled(random: &mut Random, tilt: f64, gap: f64) -> Pair {
    let ((lower, r_a), (upper, r_b)) = (lying_capsule(random), lying_capsule(random));
    let (axis, angle) = (random.direction(), random.between(0.0, tilt));
    let at = [random.between(-0.01, 0.01), random.between(-0.3, 0.3), r_a + r_b + gap];
    somewhere(random, &lower, &upper.moved(at, add([0.0; 3], angle, axis)))
}

/// A cylinder on the ground, tilted by about `tilt`.
fn grounded(random: &mut Random, tilt: f64) -> Pair {
    let (radius, half_length) = (random.between(0.05, 0.15), random.between(0.05, 0.15));
    let body = Body::at(Shape::Cylinder { radius, half_length }, [0.0; 3]);
    let turn = random.between(0.0, 6.0);
    let lean = tilt + random.between(-0.02, 0.02);
    let spun = body.moved([0.0; 3], [0.0, 0.0, turn]).moved([0.0; 3], [lean, 0.0, 0.0]);
    let low = spun.support([0.0, 0.0, -1.0]);
    let at = [0.0, 0.0, low + random.between(-0.005, 0.01)];
    somewhere(random, &Body::at(Shape::HalfSpace, [0.0; 3]), &spun.moved(at, [0.0; 3]))
}

/// Puts both bodies somewhere in the world, turned about a point that is neither's, in random order.
fn somewhere(random: &mut Random, lower: &Body, upper: &Body) -> Pair {
    let (turn, shift) = (add([0.0; 3], random.between(0.0, 3.0), random.direction()), [0.2, -0.3, 0.1]);
    let carried = |body: &Body| {
        let turned = body.moved([0.0; 3], turn);
        let place = Body::at(Shape::sphere(1.0), [0.0; 3]).moved([0.0; 3], turn);
        let at: V3 = std::array::from_fn(|i| (0..3).map(|k| place.axis(k)[i] * body.pose[k]).sum::<f64>() + shift[i]);
        let mut all = turned;
        all.pose[..3].copy_from_slice(&at);
        all
    };
    let pair = (carried(lower), carried(upper));
    if random.between(0.0, 1.0) < 0.5 { (pair.1, pair.0) } else { pair }
}

type Kind = (&'static str, fn(&mut Random) -> Pair);

/// Kinds of random pairs: apart, overlapping and touching in all ways.
const KINDS: [Kind; 17] = [
    ("boxes anywhere", |random| random.pair(("box", "box"), 0.6)),
    ("boxes inside each other", |random| random.pair(("box", "box"), 0.1)),
    ("rounded boxes", |random| random.pair(("rounded box", "rounded box"), 0.5)),
    ("boxes stacked apart", |random| {
        let upper = cuboid(random);
        stacked(random, upper, 0.08, 0.005, 0.0)
    }),
    ("boxes stacked deep", |random| {
        let upper = cuboid(random);
        stacked(random, upper, 0.08, -0.005, 0.02)
    }),
    ("boxes nearly flat", |random| {
        let upper = cuboid(random);
        stacked(random, upper, 1e-3, 1e-3, 0.0)
    }),
    ("boxes flat", |random| {
        let upper = cuboid(random);
        stacked(random, upper, 0.0, 1e-3, 0.0)
    }),
    ("boxes on edges", on_edges),
    ("capsule and box anywhere", |random| random.pair(("capsule", "rounded box"), 0.5)),
    ("capsule on a box", |random| {
        let upper = lying_capsule(random);
        stacked(random, upper, 0.1, 1e-3, 0.01)
    }),
    ("capsule in a box", |random| {
        let upper = lying_capsule(random);
        stacked(random, upper, 0.1, -0.1, 0.01)
    }),
    ("capsule flat on a box", |random| {
        let upper = lying_capsule(random);
        stacked(random, upper, 0.0, 1e-3, 0.0)
    }),
    ("capsules anywhere", |random| random.pair(("capsule", "capsule"), 0.5)),
    ("capsules bundled", |random| bundled(random, 0.1, 1e-3)),
    ("cylinder standing", |random| grounded(random, 0.0)),
    ("cylinder tilted", |random| grounded(random, 0.8)),
    ("cylinder lying", |random| grounded(random, FRAC_PI_2)),
];

fn samples(random: &mut Random, n: usize) -> Vec<(&'static str, Vec<Pair>)> {
    let all = KINDS.into_iter().map(|(name, make)| {
        let mut pairs: Vec<Pair> = (0..n).map(|_| make(random)).collect();
        // All pairs of one kernel must have their types in the same order.
        let first = pairs[0].0.shape.name();
        pairs.iter_mut().filter(|pair| pair.0.shape.name() != first).for_each(|(a, b)| std::mem::swap(a, b));
        (name, pairs)
    });
    all.collect()
}

/// A contact as plain numbers.
#[derive(Clone, Copy, Debug)]
struct Point {
    normal: V3,
    point_a: V3,
    point_b: V3,
    phi: f64,
    weight: f64,
}

impl Point {
    fn exchanged(self) -> Self {
        let Self { normal, point_a, point_b, phi, weight } = self;
        Self { normal: add([0.0; 3], -1.0, normal), point_a: point_b, point_b: point_a, phi, weight }
    }

    /// The contact between points of two cores, given the cores' radii and the normal.
    fn between((core_a, radius_a): (V3, f64), (core_b, radius_b): (V3, f64), normal: V3, weight: f64) -> Self {
        Self {
            normal,
            point_a: add(core_a, radius_a, normal),
            point_b: add(core_b, -radius_b, normal),
            phi: dot(normal, add(core_b, -1.0, core_a)) - radius_a - radius_b,
            weight,
        }
    }
}

/// The smooth step F of `docs/contact_points.md`; G follows.
fn step(x: f64) -> f64 {
    let x = x.clamp(-1.0, 1.0);
    0.5 + (15.0 * x - 10.0 * x.powi(3) + 3.0 * x.powi(5)) / 16.0
}

fn inner(x: f64) -> f64 {
    step(2.0 * x - 1.0)
}

/// A side of a box: middle, outward normal, axes along it, half sizes, and the places of its far corners.
struct Rectangle {
    center: V3,
    outward: V3,
    axes: [V3; 2],
    half: [f64; 2],
    far: [V3; 2],
    /// The factor of the far corners' weights.
    part: f64,
}

fn sum(of: &[(f64, V3)]) -> V3 {
    of.iter().fold([0.0; 3], |all, &(s, v)| add(all, s, v))
}

impl Rectangle {
    fn shown(body: &Body, n: V3) -> Self {
        let half = |k: usize| body.size[k] - body.size[3];
        let mut order = [0, 1, 2];
        order.sort_by(|&i, &j| dot(body.axis(j), n).abs().total_cmp(&dot(body.axis(i), n).abs()));
        let [main, second, third] = order;
        let towards = |k: usize| add([0.0; 3], dot(body.axis(k), n).signum(), body.axis(k));
        let outward = towards(main);
        let far = [-1.0, 1.0].map(|sign| {
            sum(&[
                (1.0, body.position()),
                (-half(main), outward),
                (half(second), towards(second)),
                (sign * half(third), body.axis(third)),
            ])
        });
        Self {
            center: add(body.position(), half(main), outward),
            outward,
            axes: [body.axis(second), body.axis(third)],
            half: [half(second), half(third)],
            far,
            part: inner(dot(body.axis(second), n).abs() / dot(body.axis(main), n).abs()),
        }
    }

    /// The point where the line through p along n meets the side's plane.
    fn over(&self, p: V3, n: V3) -> V3 {
        add(p, dot(self.outward, add(self.center, -1.0, p)) / dot(self.outward, n), n)
    }

    fn at(&self, p: V3) -> [f64; 2] {
        self.axes.map(|axis| dot(axis, add(p, -1.0, self.center)))
    }

    fn nearest(&self, p: V3) -> V3 {
        let at = self.at(p);
        let part = |k: usize| (at[k].clamp(-self.half[k], self.half[k]), self.axes[k]);
        sum(&[(1.0, self.center), part(0), part(1)])
    }

    /// The distance of a point of the side's plane from its border, m: positive inside.
    fn inside(&self, p: V3) -> f64 {
        let at = self.at(p);
        let least = (self.half[0] - at[0].abs()).min(self.half[1] - at[1].abs());
        if least >= 0.0 { least } else { -norm(add(p, -1.0, self.nearest(p))) }
    }

    fn corners(&self) -> [V3; 4] {
        [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]].map(|[x, y]| {
            sum(&[(1.0, self.center), (x * self.half[0], self.axes[0]), (y * self.half[1], self.axes[1])])
        })
    }

    /// The middle, direction and half length of each edge of the side.
    fn edges(&self) -> [(V3, V3, f64); 4] {
        let c = self.corners();
        [0, 1, 2, 3].map(|k| {
            let (from, to) = (c[k], c[(k + 1) % 4]);
            (sum(&[(0.5, from), (0.5, to)]), unit(add(to, -1.0, from)), norm(add(to, -1.0, from)) / 2.0)
        })
    }
}

/// The crossing of two lines as projected along n: the points on both, and the weight up to a factor.
fn crossing((a, u, h_a): (V3, V3, f64), (b, w, h_b): (V3, V3, f64), n: V3, l: f64) -> (V3, V3, f64) {
    let (det, from) = (dot(n, cross(u, w)), add(b, -1.0, a));
    let (s, t) = (dot(n, cross(from, w)) / det, dot(n, cross(from, u)) / det);
    let weight = det * det * inner((h_a - s.abs()) / l) * inner((h_b - t.abs()) / l);
    (add(a, s, u), add(b, t, w), if weight.is_finite() { weight } else { 0.0 })
}

fn width(body: &Body) -> f64 {
    match body.shape {
        Shape::Box { .. } => (0..3).map(|k| body.size[k] - body.size[3]).fold(f64::INFINITY, f64::min) / 4.0,
        _ => body.size[0] / 2.0,
    }
}

/// The least gap between two bodies' cores that a point beside a side may have: what is between them along n, less a
/// thousandth of l.
fn least_gap(a: &Body, b: &Body, n: V3, l: f64) -> f64 {
    let radius = |body: &Body| if matches!(body.shape, Shape::Box { .. }) { body.size[3] } else { body.size[0] };
    radius(a) + radius(b) - b.support(add([0.0; 3], -1.0, n)) - a.support(n) - 1e-3 * l
}

fn plain_boxes(a: &Body, b: &Body, n: V3) -> Vec<Point> {
    let against = add([0.0; 3], -1.0, n);
    let (radius_a, radius_b, l) = (a.size[3], b.size[3], width(a).min(width(b)));
    let (side_a, side_b) = (Rectangle::shown(a, n), Rectangle::shown(b, against));
    let least = least_gap(a, b, n, l);
    let mut all = Vec::new();
    // Corners of the first body, and whether it is A.
    let mut corners = |own: &Rectangle, other: &Rectangle, is_a: bool| {
        let mut take = |first: V3, second: V3, weight: f64| {
            let (core_a, core_b) = if is_a { (first, second) } else { (second, first) };
            all.push(Point::between((core_a, radius_a), (core_b, radius_b), n, weight / 4.0));
        };
        for corner in own.corners() {
            let seen = other.over(corner, n);
            let place = other.nearest(seen);
            let sense = if is_a { -1.0 } else { 1.0 };
            let gap = sense * dot(n, add(own.over(place, n), -1.0, place));
            take(add(place, sense * gap.max(least), n), place, step(other.inside(seen) / l));
        }
        for corner in own.far {
            let seen = other.over(corner, n);
            take(corner, seen, own.part * inner(other.inside(seen) / l));
        }
    };
    corners(&side_a, &side_b, true);
    corners(&side_b, &side_a, false);
    for edge in side_a.edges() {
        for other in side_b.edges() {
            let (core_a, core_b, weight) = crossing(edge, other, n, l);
            all.push(Point::between((core_a, radius_a), (core_b, radius_b), n, weight / 4.0));
        }
    }
    all
}

fn plain_box_capsule(a: &Body, b: &Body, n: V3) -> Vec<Point> {
    let (radius_a, [radius_b, h, ..], l) = (a.size[3], b.size, width(a).min(width(b)));
    let (side, axis) = (Rectangle::shown(a, n), b.axis(2));
    let level = add(axis, -dot(axis, n), n);
    let least = least_gap(a, b, n, l);
    let mut all = Vec::new();
    let mut take = |core_a: V3, core_b: V3, weight: f64| {
        all.push(Point::between((core_a, radius_a), (core_b, radius_b), n, weight));
    };
    for end in [add(b.position(), h, axis), add(b.position(), -h, axis)] {
        let seen = side.over(end, n);
        let place = side.nearest(seen);
        let away = add(place, -1.0, seen);
        let away = add(away, -dot(away, n), n);
        let core_b = sum(&[(1.0, end), (1.0, away), (dot(axis, n) * dot(axis, away), n)]);
        let gap = dot(n, add(core_b, -1.0, place)).max(least);
        take(place, add(place, gap, n), step(side.inside(seen) / l) / 2.0);
    }
    for corner in side.corners() {
        let from = add(corner, -1.0, b.position());
        let from = add(from, -dot(from, n), n);
        let s = (dot(from, level) / dot(level, level)).clamp(-h, h);
        let distance = norm(add(from, -s, level));
        let hump = (1.0 - (distance / l).powi(2)).max(0.0).powi(3);
        let core_b = add(b.position(), s, axis);
        let gap = dot(n, add(core_b, -1.0, side.over(core_b, n))).max(least);
        take(add(core_b, -gap, n), core_b, dot(level, level) * hump / 8.0);
    }
    for edge in side.edges() {
        let (core_a, core_b, weight) = crossing(edge, (b.position(), axis, h), n, l);
        take(core_a, core_b, weight / 2.0);
    }
    all
}

fn plain_capsules(a: &Body, b: &Body) -> Vec<Point> {
    let ([radius_a, h_a, ..], [radius_b, h_b, ..]) = (a.size, b.size);
    let (u, v) = (a.axis(2), b.axis(2));
    let cosine = dot(u, v);
    // The squared distance is convex in s, t.
    let on_b = |s: f64| dot(v, add(add(a.position(), s, u), -1.0, b.position())).clamp(-h_b, h_b);
    let slope = |s: f64| {
        let core_b = add(b.position(), on_b(s), v);
        dot(u, add(add(a.position(), s, u), -1.0, core_b))
    };
    let (mut low, mut high) = (-h_a, h_a);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        *if slope(middle) > 0.0 { &mut high } else { &mut low } = middle;
    }
    let apart = |s: f64, t: f64| add(add(b.position(), t, v), -1.0, add(a.position(), s, u));
    let normal = unit(apart(low, on_b(low)));
    let at = |s: f64, t: f64, weight: f64| {
        let between = apart(s, t);
        let gap = dot(normal, between);
        let core_a = add(add(a.position(), s, u), 0.5, add(between, -gap, normal));
        Point::between((core_a, radius_a), (add(core_a, gap, normal), radius_b), normal, weight)
    };
    let (mut ends, mut rest) = (Vec::new(), 1.0);
    let w = add([0.0; 3], cosine.signum(), v);
    let m = unit(add(u, 1.0, w));
    let (half_a, half_b) = (h_a * dot(m, u), h_b * dot(m, w));
    let (center_a, center_b) = (dot(m, a.position()), dot(m, b.position()));
    for place in [(center_a - half_a).max(center_b - half_b), (center_a + half_a).min(center_b + half_b)] {
        let s = (place.clamp(center_a - half_a, center_a + half_a) - center_a) / dot(m, u);
        let t = (place.clamp(center_b - half_b, center_b + half_b) - center_b) / dot(m, v);
        let between = apart(s, t);
        let aside = dot(between, between) - dot(normal, between).powi(2);
        let weight = cosine * cosine / 2.0 * (1.0 - aside / (radius_a.min(radius_b) / 2.0).powi(2)).max(0.0).powi(3);
        rest -= weight;
        ends.push(at(s, t, weight));
    }
    [vec![at(low, on_b(low), rest)], ends].concat()
}

fn plain_cylinder(a: &Body, b: &Body) -> Vec<Point> {
    let ([radius, h, ..], up, axis) = (b.size, a.axis(2), b.axis(2));
    let cosine = dot(up, axis);
    let outer = unit(add(add([0.0; 3], cosine, axis), -1.0, up));
    let directions = [b.axis(0), b.axis(1)].into_iter().flat_map(|way| [way, add([0.0; 3], -1.0, way)]);
    let (upright, level) = (cosine * cosine, 1.0 - cosine * cosine);
    let all = directions.map(|way| (way, [upright / 4.0; 2])).chain([(outer, [level / 2.0; 2])]);
    // The closest points are the deepest one of the lower rim.
    let lowest = if cosine > 0.0 { [2.0 * level * upright, 0.0] } else { [0.0, 2.0 * level * upright] };
    let all = all
        .map(|(way, weight)| (way, if way == outer { [weight[0] + lowest[0], weight[1] + lowest[1]] } else { weight }));
    let points = all.flat_map(|(way, weight)| {
        [(-h, weight[0]), (h, weight[1])].map(|(cap, weight)| {
            let point = sum(&[(1.0, b.position()), (radius, way), (cap, axis)]);
            let phi = dot(up, add(point, -1.0, a.position()));
            Point { normal: up, point_a: add(point, -phi, up), point_b: point, phi, weight }
        })
    });
    points.collect()
}

/// The expected contacts of a pair whose normal is known, without those of no weight.
fn plain((a, b): &Pair, normal: V3) -> Vec<Point> {
    let kinds = (&a.shape, &b.shape);
    let all = match kinds {
        (Shape::Box { .. }, Shape::Box { .. }) => plain_boxes(a, b, normal),
        (Shape::Box { .. }, Shape::Capsule { .. }) => plain_box_capsule(a, b, normal),
        (Shape::Capsule { .. }, Shape::Capsule { .. }) => plain_capsules(a, b),
        (Shape::HalfSpace, _) => plain_cylinder(a, b),
        _ => {
            let all = plain(&(b.clone(), a.clone()), add([0.0; 3], -1.0, normal));
            return all.into_iter().map(Point::exchanged).collect();
        }
    };
    // Light ones stand back.
    let l = match kinds {
        (Shape::HalfSpace, _) => width(b),
        _ => width(a).min(width(b)),
    };
    let back = |w: f64| if w < LIGHT { l * (LIGHT - w).powi(2) / (w * LIGHT) } else { 0.0 };
    let used = all.into_iter().filter(|point| point.weight > LEAST);
    used.map(|point| Point { phi: point.phi + back(point.weight), ..point }).collect()
}

#[test]
fn contacts_are_those_of_the_specification() {
    let mut random = Random::new(41);
    for (name, pairs) in samples(&mut random, 300) {
        let mut points = 0;
        for (pair, found) in pairs.iter().zip(values(&pairs)) {
            let all = found.points();
            points += all.len();
            let expected = plain(pair, all[0].normal);
            assert_eq!(all.len(), expected.len(), "{name}: {all:?}\n{expected:?}\n{pair:?}");
            for point in expected {
                let off = |x: &Point| {
                    let vectors = [(x.normal, point.normal), (x.point_a, point.point_a), (x.point_b, point.point_b)];
                    let numbers =
                        ((x.phi - point.phi) / (1.0 + 1e3 * x.phi.powi(2))).abs().max((x.weight - point.weight).abs());
                    vectors.iter().fold(numbers, |off, (x, y)| off.max(norm(add(*x, -1.0, *y))))
                };
                let least = all.iter().map(off).fold(f64::INFINITY, f64::min);
                // Where cores nearly meet their direction has few digits; the closest places of crossing lines have the
                // sine's.
                let most = if name.starts_with("capsules") { 1e-6 } else { VALUE };
                assert!(least < most, "{name}: off by {least}: {point:?}\n{all:?}\n{pair:?}");
            }
            assert!(found.contacts.iter().all(|x| x.is_finite() && *x <= UNUSED));
        }
        println!("{name}: {:.1} contacts", points as f64 / pairs.len() as f64);
    }
}

fn isometry(pose: &[f64]) -> Isometry3<f64> {
    let rotation = Rotation3::from_matrix_unchecked(Matrix3::from_column_slice(&pose[3..]));
    Isometry3::from_parts(Translation3::new(pose[0], pose[1], pose[2]), UnitQuaternion::from_rotation_matrix(&rotation))
}

/// The normals of boxes, and of a box and a capsule, are right: no other direction separates them by more.
#[test]
fn normals_are_those_of_the_signed_distance() {
    let mut random = Random::new(43);
    for (name, pairs) in samples(&mut random, 300).into_iter().filter(|(name, _)| name.contains("box")) {
        for (pair, found) in pairs.iter().zip(values(&pairs)) {
            let [(a, pose_a), (b, pose_b)] = [&pair.0, &pair.1]
                .map(|body| (Collider::with_sizes(&body.shape, body.size).unwrap(), isometry(&body.pose)));
            let expected = a.distance(&pose_a, &b, &pose_b).unwrap().phi;
            let n = found.points()[0].normal;
            let phi = -pair.1.support(add([0.0; 3], -1.0, n)) - pair.0.support(n);
            assert!((phi - expected).abs() < 1e-9, "{name}: {phi} instead of {expected}\n{pair:?}");
            let least = phi - 1.001e-3 * width(&pair.0).min(width(&pair.1));
            assert!(found.points().iter().all(|point| point.phi > least), "{name}: {:?}\n{pair:?}", found.points());
        }
    }
}

/// Two boxes of a public report, 13.25 mm apart. A point beside both sides was 11.60 mm away, where their planes go on.
#[test]
fn no_point_is_nearer_than_the_bodies() {
    let cuboid = |half_extents: V3| Shape::Box { half_extents, rounding: 0.0 };
    let a = Body::new(
        cuboid([0.12584465264054556, 0.11187677357762307, 0.12238088467920771]),
        [-0.050327365501948995, -0.0707244548481866, 0.0545206279783893],
        [0.8675340415908651, 0.2982416249141943, 0.2751426359685531, 0.2876337075550017],
    );
    let b = Body::new(
        cuboid([0.05645897044235383, 0.03873335817687038, 0.19464845755422575]),
        [-0.18737275060563874, -0.2640635787054504, 0.022696499127735817],
        [-0.9691084504273738, -0.10953299756883213, -0.17252457080674896, 0.13808188230824323],
    );
    let points = values(&[(a, b)])[0].points();
    let least = points.iter().map(|point| point.phi).fold(f64::INFINITY, f64::min);
    assert!((least - 0.01325).abs() < 5e-5, "{least}");
}

#[test]
fn reactions_are_differences() {
    let mut random = Random::new(47);
    for (name, pairs) in samples(&mut random, 12) {
        let mut grads = random_grads(&mut random, &pairs);
        // The points of contacts without weight have no meaning.
        for (grad, found) in grads.iter_mut().zip(values(&pairs)) {
            for k in (0..found.weights.len()).filter(|&k| found.weights[k] == 0.0) {
                grad[GEOMETRY * k..GEOMETRY * (k + 1)].fill(0.0);
            }
        }
        let (mut compared, mut kinks) = (0, 0);
        for ((pair, grad), found) in pairs.iter().zip(&grads).zip(kernel(&pairs, &grads)) {
            for (k, reaction) in found.reactions.into_iter().enumerate() {
                // No rounding is less than none.
                let is_none = |body: &Body| body.shape.name() == "box" && body.size[3] == 0.0;
                if (k == 15 && is_none(&pair.0)) || (k == 19 && is_none(&pair.1)) {
                    continue;
                }
                let sum = |found: Found| -> f64 {
                    found.contacts.iter().chain(&found.weights).zip(grad).map(|(x, g)| x * g).sum()
                };
                // Where two steps disagree there is a kink between, or a jump; at a kink the slope's change does not
                // depend on the step.
                let [(difference, bend), (other, other_bend)] = [STEP, STEP / 4.0].map(|step| {
                    let states: Vec<_> = (-2..=2).map(|s| moved(pair, k, f64::from(s) * step)).collect();
                    let pulled: Vec<f64> = kernel(&states, &vec![grad.clone(); 5]).into_iter().map(sum).collect();
                    let [m2, m1, zero, p1, p2] = pulled[..] else { unreachable!() };
                    ((8.0 * (p1 - m1) - (p2 - m2)) / (12.0 * step), (p1 - 2.0 * zero + m1).abs() / step)
                });
                let scale = 1.0 + difference.abs();
                let is_kink = other_bend > 0.5 * bend && other_bend > DIFFERENCE * scale;
                if is_kink || (difference - other).abs() > 0.5 * DIFFERENCE * scale {
                    kinks += 1;
                    continue;
                }
                let error = (reaction - difference).abs() / scale;
                // Of flat things on each other the normal is that of one feature, and beside the tie that of another.
                if name.contains(" flat") && error > DIFFERENCE {
                    kinks += 1;
                    continue;
                }
                compared += 1;
                assert!(error < DIFFERENCE, "{name} by coordinate {k}: {reaction} against {difference}\n{pair:?}");
            }
        }
        println!("{name}: {kinks} kinks among {compared}");
        assert!(name.contains("flat") || kinks * 4 < compared, "{name}: {kinks} kinks among {compared}");
    }
}

/// The Jacobian by a motion of one side is the transpose of the pulls.
#[test]
fn rates_are_the_transpose_of_pulls() {
    let mut random = Random::new(49);
    for (name, pairs) in samples(&mut random, 60) {
        let mut grads = random_grads(&mut random, &pairs);
        // The rates of contacts without weight are zero: nothing depends on them.
        for (grad, found) in grads.iter_mut().zip(values(&pairs)) {
            let n = found.weights.len();
            for k in (0..n).filter(|&k| found.weights[k] == 0.0) {
                grad[GEOMETRY * k..GEOMETRY * (k + 1)].fill(0.0);
                grad[GEOMETRY * n + k] = 0.0;
            }
        }
        for ((pair, grad), found) in pairs.iter().zip(&grads).zip(kernel(&pairs, &grads)) {
            let n = contacts_of(pair);
            let reaction = if found.rates[0] > 0.0 { &found.reactions[6..12] } else { &found.reactions[..6] };
            let own = &found.rates[1..];
            let scale = own.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            for motion in 0..6 {
                let of = |k: usize, number: usize| own[OWN_RATES * k + 6 * number + motion];
                let sum: f64 = (0..n)
                    .map(|k| {
                        let geometry: f64 = (0..GEOMETRY).map(|i| grad[GEOMETRY * k + i] * of(k, i)).sum();
                        geometry + grad[GEOMETRY * n + k] * of(k, GEOMETRY)
                    })
                    .sum();
                let off = (sum - reaction[motion]).abs();
                assert!(off < GRADIENT * scale, "{name}: {sum} against {}\n{pair:?}", reaction[motion]);
            }
        }
    }
}

#[test]
fn any_width_gives_the_same_bits() {
    let mut random = Random::new(53);
    for (name, pairs) in samples(&mut random, 15) {
        let grads = random_grads(&mut random, &pairs);
        let bits = |set: InstructionSet| -> Vec<u64> {
            kernel_as(set, &pairs, &grads).iter().flat_map(Found::all).copied().map(f64::to_bits).collect()
        };
        let fused =
            InstructionSet::ALL.into_iter().filter(|set| *set != InstructionSet::Baseline && set.is_available());
        let all: Vec<_> = fused.map(bits).collect();
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{name}");
    }
}

#[test]
fn tapes_are_long_enough() {
    for (name, [used, room]) in tapes() {
        println!("{name}: {} numbers, {} slopes", used[0], used[1]);
        assert!(used[0] <= room[0] && used[1] <= room[1], "{name}: {used:?} in {room:?}");
    }
}

/// Exchanged shapes have exchanged contacts, to the last bit.
#[test]
fn order_does_not_matter() {
    let mut random = Random::new(59);
    for (_, pairs) in samples(&mut random, 40) {
        for (one, other) in values(&pairs).iter().zip(values(&exchanged(&pairs))) {
            for k in 0..one.weights.len() {
                let (one, other) = (&one.contacts[GEOMETRY * k..], &other.contacts[GEOMETRY * k..]);
                assert!(
                    (0..3).all(|i| one[i] == -other[i] && one[3 + i] == other[6 + i] && one[6 + i] == other[3 + i])
                );
                assert_eq!(one[9], other[9]);
            }
            assert_eq!(one.weights, other.weights);
        }
    }
}

/// Numbers that are not those of a shape give no contacts.
#[test]
fn not_a_shape() {
    let mut random = Random::new(61);
    for kinds in [("box", "box"), ("capsule", "box"), ("capsule", "capsule"), ("cylinder", "half-space")] {
        let pair = random.pair(kinds, 0.3);
        let mut bad = vec![pair.clone(); 4];
        bad[0].0.size[0] = 0.0;
        bad[1].0.size[1] = -0.1;
        bad[2].0.pose[2] = f64::NAN;
        bad[3].1.pose[5] = f64::INFINITY;
        for bad in bad {
            let found = &values(std::slice::from_ref(&bad))[0];
            assert!(found.contacts.chunks(GEOMETRY).all(|contact| contact[9].is_nan()), "{bad:?}");
        }
    }
}

/// Bodies along the axes, with places and sizes on a grid so that features tie: everything is finite.
#[test]
fn ties_are_finite() {
    let mut random = Random::new(63);
    let kinds = [
        ("box", "box"),
        ("rounded box", "rounded box"),
        ("capsule", "box"),
        ("capsule", "rounded box"),
        ("capsule", "capsule"),
        ("cylinder", "half-space"),
    ];
    for kinds in kinds {
        let mut pairs: Vec<Pair> = (0..2000)
            .map(|k| {
                let step = if k % 2 == 0 { 0.05 } else { 0.1 };
                (aligned(&mut random, kinds.0, step), aligned(&mut random, kinds.1, step))
            })
            .collect();
        // Grids may leave nothing of a length.
        for (a, b) in &mut pairs {
            for body in [a, b] {
                let lengths = if body.shape.name() == "capsule" { 1 } else { 3 };
                body.size[..lengths].iter_mut().for_each(|x| *x = x.max(0.05));
                if body.size[3] > 0.0 {
                    body.size[..3].iter_mut().for_each(|x| *x = x.max(0.1));
                }
            }
        }
        let same = pairs[0].0.clone();
        if kinds.0 == kinds.1 {
            pairs.push((same.clone(), same));
        }
        let grads = random_grads(&mut random, &pairs);
        for (pair, found) in pairs.iter().zip(kernel(&pairs, &grads)) {
            assert!(found.all().all(|x| x.is_finite()), "{kinds:?}: {pair:?}\n{:?}", found.contacts);
        }
    }
}

/// The gap, m, at which the test's force is half as large as at contact.
const SOFT: f64 = 1e-3;
/// Forces are at most one. A change by more than this that does not go away with shorter steps is a jump. At a gap of a
/// tenth of [`SOFT`], which is more like that of a touching point, this is 1e-3 of its force.
const JUMP: f64 = 1e-2;

/// A force that grows towards contact, its moment over 10 cm, and the least φ.
fn pushed(pair: &Pair) -> ([V3; 2], f64) {
    let (mut sums, mut least) = ([[0.0; 3]; 2], f64::INFINITY);
    for Point { normal, point_a, point_b, phi, weight } in values(std::slice::from_ref(pair))[0].points() {
        let arm = add(add(point_a, 1.0, point_b), -2.0, pair.0.position());
        let force = weight * SOFT / (phi + SOFT);
        sums = [add(sums[0], force, normal), add(sums[1], 0.5 * force / 0.1, cross(arm, normal))];
        least = least.min(phi);
    }
    (sums, least)
}

/// Paths through poses: where the force changes much over a step, it is because it changes fast, not because it jumps:
/// halving the step down to nothing leaves nothing. `FINGERTIP_PATHS` is how many paths there are of each kind, and
/// `FINGERTIP_SEED` gives others.
#[test]
fn forces_do_not_jump() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (paths, seed) = (number("FINGERTIP_PATHS").unwrap_or(20), number("FINGERTIP_SEED").unwrap_or(0));
    let mut random = Random::new(67 + seed);
    let change = |x: &[V3; 2], y: &[V3; 2]| norm(add(x[0], -1.0, y[0])) + norm(add(x[1], -1.0, y[1]));
    let mut all = 0;
    for (name, make) in KINDS {
        let (mut jumps, mut bends) = (0, 0);
        for _ in 0..paths {
            let (still, moving) = make(&mut random);
            let mut vector = |most: f64| [0; 3].map(|_| random.between(-most, most));
            let (shift, turn) = (vector(0.02), vector(0.2));
            let at = |t: f64| pushed(&(still.clone(), moving.moved(shift.map(|x| x * t), turn.map(|x| x * t))));
            // Inside, the normal itself may jump.
            let is_apart = |phi: f64| phi > SOFT / 10.0 && phi < 20.0 * SOFT;
            let mut next = at(0.0);
            for k in 0..100 {
                let (mut low, mut high) = (f64::from(k) / 100.0, f64::from(k + 1) / 100.0);
                let here = std::mem::replace(&mut next, at(high));
                let (mut first, mut last) = (here.0, next.0);
                if !is_apart(here.1) || !is_apart(next.1) {
                    continue;
                }
                bends += usize::from(change(&first, &last) > JUMP);
                while change(&first, &last) > JUMP && high - low > 1e-12 {
                    let middle = (low + high) / 2.0;
                    let (here, phi) = at(middle);
                    if !is_apart(phi) {
                        break;
                    }
                    if change(&first, &here) > change(&here, &last) {
                        (high, last) = (middle, here);
                    } else {
                        (low, first) = (middle, here);
                    }
                }
                if change(&first, &last) > JUMP && high - low <= 1e-12 {
                    jumps += 1;
                    println!("{name} at {low}: {}, {still:?} {moving:?} {shift:?} {turn:?}", change(&first, &last));
                }
            }
        }
        println!("{name}: {bends} steps with a change, {jumps} jumps on {paths} paths");
        all += jumps;
    }
    // Where a box turns another side to the other body, at 45°.
    assert!(40 * all <= KINDS.len() as u64 * paths, "{all} jumps");
}
