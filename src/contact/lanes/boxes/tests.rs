//! Against the query of [`crate::collision`], and against differences.

use std::f64::consts::FRAC_PI_2;

use super::{OF_ONE, OF_TWO, POINTS, Places};
use crate::contact::convex::{ConvexPair, Placement, WEIGHTED_GEOMETRY};
use crate::contact::lanes::tape::SLOPES;
use crate::contact::lanes::tests::pair_support::{Body, COORDINATES, Random, V3, add, cross, moved, norm};
use crate::contact::lanes::tests::{gather, gather_pairs};
use crate::contact::lanes::{GEOMETRY, convex};
use crate::contact::{OWN_RATES, SHARED_RATES, UNUSED};
use crate::description::Shape;
use crate::math::lane::{InstructionSet, Lane};
use crate::math::program::{Group, Program, Stage, run_on};
use crate::math::rows::Output;

/// Coordinates of half a metre, some tens of roundings in different orders, over the sine of 5° where edges are nearly parallel.
const VALUE: f64 = 5e-11;
/// Relative to the largest of a pair: the same over the shortest distances and overlaps in the samples.
const GRADIENT: f64 = 1e-8;
/// The same where sides of the query are nearly upright, up to 10⁵ on 1, which multiplies its rounding, ...
const STEEP_VALUE: f64 = 3e-9;
/// ... and that of its derivatives by up to 10¹⁰.
const STEEP_GRADIENT: f64 = 1e-5;
/// Five points this far apart: fourth order.
const STEP: f64 = 1e-5;
/// Relative to 1 + |derivative|: the sum of both of the differences' errors.
const DIFFERENCE: f64 = 1e-6;
/// Points this near to each other, m, are one.
const NEAR: f64 = 1e-9;

const RATES: usize = SHARED_RATES + OWN_RATES * POINTS;
const ROW: usize = WEIGHTED_GEOMETRY * POINTS + COORDINATES + RATES;

type Pair = (Body, Body);

struct Kernel<'a> {
    pairs: &'a [Pair],
    /// Of contacts, then weights.
    grads: &'a [Vec<f64>],
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
        let pair = ConvexPair::new(&self.pairs[0].0.shape, &self.pairs[0].1.shape);
        let bodies = gather_pairs(self.pairs, first);
        let places = bodies.each_ref().map(|(pose, sizes)| (&pose[..], &sizes[..]));
        let grads = gather(self.pairs.len(), first, WEIGHTED_GEOMETRY * POINTS, |world| &self.grads[world]);
        let (mut contacts, mut weights) = (vec![R::zero(); GEOMETRY * POINTS], vec![R::zero(); POINTS]);
        let mut nearest = vec![R::zero(); GEOMETRY];
        convex::witness(&pair, places, &mut contacts, &mut weights, &mut nearest);
        let (mut wrenches, mut sizes) = ([[R::zero(); 6]; 2], [[R::zero(); 4]; 2]);
        let grads = grads.split_at(GEOMETRY * POINTS);
        convex::pull(&pair, places, &nearest, grads, &mut wrenches, &mut sizes);
        let mut rates = vec![R::zero(); RATES];
        convex::rates(&pair, places, &nearest, R::one(), &mut rates);
        let all = [&contacts[..], &weights, wrenches.as_flattened(), sizes.as_flattened(), &rates].concat();
        to.store_all(first, 0, &all);
    }
}

/// What the kernel gives for a pair.
struct Found {
    contacts: Vec<f64>,
    weights: Vec<f64>,
    reactions: Vec<f64>,
    rates: Vec<f64>,
}

fn kernel(pairs: &[Pair], grads: &[Vec<f64>]) -> Vec<Found> {
    kernel_as(InstructionSet::detect(), pairs, grads)
}

fn kernel_as(set: InstructionSet, pairs: &[Pair], grads: &[Vec<f64>]) -> Vec<Found> {
    let data = run_on(set, &Kernel { pairs, grads }, pairs.len(), ROW);
    let found = data.chunks(ROW).map(|row| {
        let (contacts, row) = row.split_at(GEOMETRY * POINTS);
        let (weights, row) = row.split_at(POINTS);
        let (reactions, rates) = row.split_at(COORDINATES);
        let [contacts, weights, reactions, rates] = [contacts, weights, reactions, rates].map(<[f64]>::to_vec);
        Found { contacts, weights, reactions, rates }
    });
    found.collect()
}

fn random_grads(random: &mut Random, pairs: &[Pair]) -> Vec<Vec<f64>> {
    pairs.iter().map(|_| (0..WEIGHTED_GEOMETRY * POINTS).map(|_| random.between(-1.0, 1.0)).collect()).collect()
}

/// A box that lies on another: turned about their common normal, tilted by up to `tilt`, shifted aside, with a gap.
fn stacked(random: &mut Random, tilt: f64, gap: f64, rounding: f64) -> Pair {
    let shape = |random: &mut Random, rounding: f64| Shape::Box {
        half_extents: [0; 3].map(|_| random.between(0.05, 0.15)),
        rounding,
    };
    let (lower, upper) = (shape(random, rounding), shape(random, 0.0));
    let half = |shape: &Shape, k: usize| shape.sizes()[k];
    let aside = |random: &mut Random, k: usize| random.between(-1.0, 1.0) * (half(&lower, k) + 0.8 * half(&upper, k));
    let at = [aside(random, 0), aside(random, 1), half(&lower, 2) + half(&upper, 2) + gap];
    let spin = random.between(0.0, 6.0);
    let axis = random.direction();
    let angle = random.between(0.0, tilt);
    let lower = Body::at(lower, [0.0; 3]);
    let upper = Body::at(upper, at).moved([0.0; 3], [0.0, 0.0, spin]).moved([0.0; 3], add([0.0; 3], angle, axis));
    somewhere(random, &lower, &upper)
}

/// A box that stands on an edge, over another one that does: the edges are nearly one line.
fn on_edges(random: &mut Random) -> Pair {
    let mut standing = || {
        let half = [0; 3].map(|_| random.between(0.05, 0.15));
        let lean = random.between(0.3, 1.2);
        let (sine, cosine) = f64::sin_cos(lean);
        let body =
            Body::at(Shape::Box { half_extents: half, rounding: 0.0 }, [0.0; 3]).moved([0.0; 3], [lean, 0.0, 0.0]);
        // Where the upper edge is, across the line; the lower one is opposite.
        (body, [half[1] * cosine - half[2] * sine, half[1] * sine + half[2] * cosine])
    };
    let ((lower, top), (upper, bottom)) = (standing(), standing());
    let mut within = |most: f64| random.between(-most, most);
    let shift = [within(0.1), top[0] + bottom[0] + within(0.01), top[1] + bottom[1] + 0.02];
    let upper = upper.moved([0.0; 3], [within(0.08), within(0.08), within(0.08)]).moved(shift, [0.0; 3]);
    somewhere(random, &lower, &upper)
}

/// A box beside another, all axes nearly along axes of that.
fn nearly_aligned(random: &mut Random) -> Pair {
    let mut shape = || Shape::Box { half_extents: [0; 3].map(|_| random.between(0.04, 0.2)), rounding: 0.0 };
    let (lower, upper) = (Body::at(shape(), [0.0; 3]), Body::at(shape(), [0.0; 3]));
    let mut within = |most: f64| random.between(-most, most);
    let quarters = [0; 3].map(|_| within(2.0).round() * FRAC_PI_2);
    let turned = (0..3).fold(upper, |body, k| {
        let mut turn = [0.0; 3];
        turn[k] = quarters[k];
        body.moved([0.0; 3], turn)
    });
    let upper = turned.moved([0; 3].map(|_| within(0.4)), [0; 3].map(|_| within(0.1)));
    somewhere(random, &lower, &upper)
}

/// Somewhere in the world, both; about a point that is neither's. In any order.
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

/// Apart, overlapping and touching in all ways.
fn samples(random: &mut Random, n: usize) -> Vec<(&'static str, Vec<Pair>)> {
    let mut many = |make: &mut dyn FnMut(&mut Random) -> Pair| (0..n).map(|_| make(random)).collect::<Vec<_>>();
    vec![
        ("anywhere", many(&mut |random| random.pair(("box", "box"), 0.6))),
        ("inside each other", many(&mut |random| random.pair(("box", "box"), 0.1))),
        ("rounded", many(&mut |random| random.pair(("rounded box", "rounded box"), 0.5))),
        ("stacked apart", many(&mut |random| stacked(random, 0.08, 0.02, 0.0))),
        ("stacked deep", many(&mut |random| stacked(random, 0.08, -0.01, 0.02))),
        ("on edges", many(&mut on_edges)),
        ("nearly aligned", many(&mut nearly_aligned)),
        ("nearly flat", many(&mut |random| stacked(random, 1e-3, 1e-4, 0.0))),
        ("flat", many(&mut |random| stacked(random, 0.0, 1e-4, 0.0))),
    ]
}

/// Does a kind of samples lie on faces that are nearly parallel, so that the query has steep sides next to them?
fn is_steep(name: &str) -> bool {
    name.starts_with("stacked") || name.starts_with("nearly")
}

fn placements(pair: &Pair) -> [Placement<'_>; 2] {
    let (a, b) = pair;
    [Placement { pose: &a.pose, sizes: &a.size }, Placement { pose: &b.pose, sizes: &b.size }]
}

fn vector(from: &[f64]) -> V3 {
    [from[0], from[1], from[2]]
}

/// The kernel's places of each point of the query that has weight: several where an edge meets a corner of the other face; none
/// if one has no place or a place has no point.
fn places(found: &Found, query: &[f64]) -> Option<Vec<(usize, Vec<usize>)>> {
    let used = (0..POINTS).filter(|&k| found.weights[k] > 0.0);
    let mut places: Vec<(usize, Vec<usize>)> = Vec::new();
    for (slot, point) in query.chunks(WEIGHTED_GEOMETRY).enumerate().filter(|(_, point)| point[10] > 0.0) {
        let is_here =
            |k: &usize| norm(add(vector(&found.contacts[GEOMETRY * k + 3..]), -1.0, vector(&point[3..]))) < NEAR;
        places.push((slot, used.clone().filter(is_here).collect()));
    }
    let count: usize = places.iter().map(|(_, of)| of.len()).sum();
    (places.iter().all(|(_, of)| !of.is_empty()) && count == used.count()).then_some(places)
}

#[test]
fn same_contacts_as_the_query() {
    let mut random = Random::new(41);
    for (name, pairs) in samples(&mut random, 3000) {
        let most = if is_steep(name) { STEEP_VALUE } else { VALUE };
        let (mut several, mut worst) = (0, 0.0_f64);
        for chunk in pairs.chunks(50) {
            let grads = random_grads(&mut random, chunk);
            for (pair, found) in chunk.iter().zip(kernel(chunk, &grads)) {
                let query = ConvexPair::new(&pair.0.shape, &pair.1.shape);
                let mut points = vec![0.0; WEIGHTED_GEOMETRY * POINTS];
                query.witness(&placements(pair), &mut points).unwrap();
                let places = places(&found, &points);
                let places = places.unwrap_or_else(|| {
                    panic!("{name}: {:?}\n{:?}\n{points:?}\n{pair:?}", found.weights, found.contacts)
                });
                several += usize::from(places.len() > 1);
                for (slot, of) in places {
                    let point = &points[WEIGHTED_GEOMETRY * slot..][..WEIGHTED_GEOMETRY];
                    let weight: f64 = of.iter().map(|&k| found.weights[k]).sum();
                    for k in of {
                        let own = &found.contacts[GEOMETRY * k..][..GEOMETRY];
                        for (i, x) in own.iter().chain([&weight]).enumerate() {
                            // Points of little weight stand back by its inverse.
                            let stands = if i == 9 { 1.0 + 10.0 * point[9].powi(2) } else { 1.0 };
                            let off = (x - point[i]).abs() / stands;
                            worst = worst.max(off);
                            assert!(off < most, "{name}: number {i}: {x} against {}\n{pair:?}", point[i]);
                        }
                    }
                }
                for k in (0..POINTS).filter(|&k| found.weights[k] == 0.0) {
                    assert!(found.contacts[GEOMETRY * k + 9] > -1.0 && found.contacts[GEOMETRY * k + 9] <= UNUSED);
                }
            }
        }
        println!("{name}: {several} of {} with several contacts, off by {worst:e}", pairs.len());
        assert!(name == "anywhere" || name == "rounded" || several > 1000, "{name}: {several}");
    }
}

/// Gradients and rates of points that the query has too.
#[test]
fn same_derivatives_as_the_query() {
    let mut random = Random::new(43);
    // On parallel faces the normal may turn with either: the kernel's does with A's, the query's with that of its closest points.
    for (name, pairs) in samples(&mut random, 400).into_iter().filter(|(name, _)| *name != "flat") {
        let most = if is_steep(name) && name != "nearly aligned" { STEEP_GRADIENT } else { GRADIENT };
        let mut worst = [0.0_f64; 2];
        for pair in &pairs {
            let chunk = std::slice::from_ref(pair);
            let query = ConvexPair::new(&pair.0.shape, &pair.1.shape);
            let mut points = vec![0.0; WEIGHTED_GEOMETRY * POINTS];
            let distance = query.witness(&placements(pair), &mut points).unwrap();
            let first = &kernel(chunk, &random_grads(&mut random, chunk))[0];
            let places = places(first, &points).unwrap();
            let (mut own, mut its) = (vec![0.0; WEIGHTED_GEOMETRY * POINTS], vec![0.0; WEIGHTED_GEOMETRY * POINTS]);
            for (slot, of) in &places {
                for i in 0..WEIGHTED_GEOMETRY {
                    let gradient = random.between(-1.0, 1.0);
                    its[WEIGHTED_GEOMETRY * slot + i] = gradient;
                    // The weights of all places count, and any place is the point.
                    for &k in if i < GEOMETRY { &of[..1] } else { &of[..] } {
                        own[if i < GEOMETRY { GEOMETRY * k + i } else { GEOMETRY * POINTS + k }] = gradient;
                    }
                }
            }
            let found = &kernel(chunk, &[own])[0];
            let [on_a, on_b] = query.pull(&placements(pair), &distance, &its).unwrap();
            let expected: Vec<f64> =
                on_a.twist.iter().chain(&on_b.twist).chain(&on_a.sizes).chain(&on_b.sizes).copied().collect();
            let scale = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            for (k, (x, y)) in found.reactions.iter().zip(&expected).enumerate() {
                worst[0] = worst[0].max((x - y).abs() / scale);
                assert!((x - y).abs() < most * scale, "{name}: gradient {k}: {x} against {y}\n{pair:?}");
            }
            let mut rates = vec![0.0; RATES];
            query.rates(&placements(pair), &distance, &mut rates);
            let scale = rates.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            let shared = found.rates[..SHARED_RATES].iter().zip(&rates[..SHARED_RATES]);
            let own = places.iter().flat_map(|(slot, places)| {
                let of = |rates: &[f64], k: usize| rates[SHARED_RATES + OWN_RATES * k..][..OWN_RATES].to_vec();
                let mut all = of(&found.rates, places[0]);
                for &k in &places[1..] {
                    all[42..].iter_mut().zip(&of(&found.rates, k)[42..]).for_each(|(sum, x)| *sum += x);
                }
                all.into_iter().zip(of(&rates, *slot)).collect::<Vec<_>>()
            });
            for (k, (x, y)) in shared.map(|(x, y)| (*x, *y)).chain(own).enumerate() {
                worst[1] = worst[1].max((x - y).abs() / scale);
                assert!((x - y).abs() < most * scale, "{name}: rate {k}: {x} against {y}\n{pair:?}");
            }
        }
        println!("{name}: gradients off by {:e}, rates by {:e}", worst[0], worst[1]);
    }
}

#[test]
fn reactions_are_differences() {
    let mut random = Random::new(47);
    for (name, pairs) in samples(&mut random, 25) {
        let grads = random_grads(&mut random, &pairs);
        let (mut compared, mut kinks) = (0, 0);
        for ((pair, grad), found) in pairs.iter().zip(&grads).zip(kernel(&pairs, &grads)) {
            for (k, reaction) in found.reactions.into_iter().enumerate() {
                // No rounding is less than none.
                if (k == 15 && pair.0.size[3] == 0.0) || (k == 19 && pair.1.size[3] == 0.0) {
                    continue;
                }
                let states: Vec<_> = (-2..=2).map(|s| moved(pair, k, f64::from(s) * STEP)).collect();
                let sum = |found: Found| -> f64 {
                    found.contacts.iter().chain(&found.weights).zip(grad).map(|(x, g)| x * g).sum()
                };
                let pulled: Vec<f64> = kernel(&states, &vec![grad.clone(); 5]).into_iter().map(sum).collect();
                let [m2, m1, zero, p1, p2] = pulled[..] else { unreachable!() };
                let difference = (8.0 * (p1 - m1) - (p2 - m2)) / (12.0 * STEP);
                let bend = (p2 - 2.0 * p1 + zero).abs().max((m2 - 2.0 * m1 + zero).abs()) / STEP;
                if bend > 1e-2 * (1.0 + difference.abs()) {
                    kinks += 1;
                    continue;
                }
                compared += 1;
                let error = (reaction - difference).abs() / (1.0 + difference.abs());
                assert!(error < DIFFERENCE, "{name} by coordinate {k}: {reaction} against {difference}\n{pair:?}");
            }
        }
        println!("{name}: {kinks} kinks among {compared}");
        assert!(name == "flat" || kinks * 4 < compared, "{name}: {kinks} kinks among {compared}");
    }
}

#[test]
fn any_width_gives_the_same_bits() {
    let mut random = Random::new(53);
    let pairs: Vec<Pair> = samples(&mut random, 15).into_iter().flat_map(|(_, pairs)| pairs).collect();
    let grads = random_grads(&mut random, &pairs);
    let bits = |set: InstructionSet| -> Vec<u64> {
        let all = kernel_as(set, &pairs, &grads).into_iter();
        all.flat_map(|found| [found.contacts, found.weights, found.reactions, found.rates].concat())
            .map(f64::to_bits)
            .collect()
    };
    let fused = InstructionSet::ALL.into_iter().filter(|set| *set != InstructionSet::Baseline && set.is_available());
    let all: Vec<_> = fused.map(bits).collect();
    assert!(all.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn tape_is_long_enough() {
    for (places, room) in [(Places::of::<1>(), OF_ONE), (Places::of::<2>(), OF_TWO)] {
        let [numbers, slopes] = places.structure.size();
        println!("{numbers} numbers, {slopes} slopes");
        assert!(numbers <= room && slopes <= SLOPES);
    }
}

/// Exchanged boxes have exchanged contacts, to the last bit.
#[test]
fn order_does_not_matter() {
    let mut random = Random::new(59);
    for (_, pairs) in samples(&mut random, 40) {
        let grads = random_grads(&mut random, &pairs);
        let exchanged: Vec<Pair> = pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
        for (one, other) in kernel(&pairs, &grads).iter().zip(kernel(&exchanged, &grads)) {
            for k in 0..POINTS {
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

/// Numbers that are no boxes' have no contacts.
#[test]
fn not_a_box() {
    let mut random = Random::new(61);
    let pair = random.pair(("box", "box"), 0.3);
    let grads = vec![vec![0.0; WEIGHTED_GEOMETRY * POINTS]];
    let mut bad = vec![pair.clone(); 4];
    bad[0].0.size[1] = 0.0;
    bad[1].1.size[3] = -0.1;
    bad[2].0.pose[2] = f64::NAN;
    bad[3].1.pose[5] = f64::INFINITY;
    for bad in bad {
        let found = &kernel(std::slice::from_ref(&bad), &grads)[0];
        assert!((0..POINTS).all(|k| found.contacts[GEOMETRY * k + 9].is_nan()), "{bad:?}");
    }
}

/// Gap at which a force is twice as small, m.
const SOFT: f64 = 1e-3;
/// Forces are up to one; a change by more that does not go away with shorter steps is a jump.
const JUMP: f64 = 1e-3;

/// A force that grows towards contact, its moment over 10 cm, and the least φ.
fn pushed(pair: &Pair) -> ([V3; 2], f64) {
    let grads = vec![vec![0.0; WEIGHTED_GEOMETRY * POINTS]];
    let Found { contacts, weights, .. } = &kernel(std::slice::from_ref(pair), &grads)[0];
    let (mut sums, mut least) = ([[0.0; 3]; 2], f64::INFINITY);
    for (contact, weight) in contacts.chunks(GEOMETRY).zip(weights).filter(|(_, weight)| **weight > 0.0) {
        let (normal, phi) = (vector(contact), contact[9]);
        let arm = add(vector(&contact[3..]), 1.0, vector(&contact[6..]));
        let force = weight * SOFT / (phi + SOFT);
        sums = [add(sums[0], force, normal), add(sums[1], force / 0.1, cross(arm, normal))];
        least = least.min(phi);
    }
    (sums, least)
}

/// A kind of random pairs.
type Kind<'a> = &'a dyn Fn(&mut Random) -> Pair;

/// Paths through poses: where the force changes much over a step, it is because it changes fast, not because it jumps: halving
/// the step down to nothing leaves nothing. `FINGERTIP_PATHS` is how many paths there are of each kind, and `FINGERTIP_SEED` gives
/// others.
#[test]
fn forces_do_not_jump() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let (paths, seed) = (number("FINGERTIP_PATHS").unwrap_or(40), number("FINGERTIP_SEED").unwrap_or(0));
    let mut random = Random::new(67 + seed);
    let change = |x: &[V3; 2], y: &[V3; 2]| norm(add(x[0], -1.0, y[0])) + norm(add(x[1], -1.0, y[1]));
    let (mut jumps, mut bends) = (Vec::new(), 0);
    let kinds: [(&str, Kind); 4] = [
        ("stacked", &|random| stacked(random, 0.08, 0.01, 0.0)),
        ("nearly flat", &|random| stacked(random, 0.01, 1e-3, 0.0)),
        ("on edges", &on_edges),
        ("nearly aligned", &nearly_aligned),
    ];
    for (name, kind) in kinds {
        for _ in 0..paths {
            let (still, moving) = kind(&mut random);
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
                    jumps.push(format!(
                        "{name} at {low}: {}, {still:?} {moving:?} {shift:?} {turn:?}",
                        change(&first, &last)
                    ));
                }
            }
        }
    }
    jumps.iter().for_each(|jump| println!("{jump}"));
    println!("{bends} steps with a change, {} jumps on {} paths", jumps.len(), 4 * paths);
    // Where two faces touch along an edge, more than two pairs of sides may have points: of 100,000 paths about one jumps.
    assert!(bends as u64 > paths && 20_000 * jumps.len() as u64 <= 4 * paths, "{} jumps", jumps.len());
}
