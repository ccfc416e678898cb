//! Contacts of constant weights: derivatives against finite differences, pushes against pulls, and equal bits at any
//! width. `tests/contact/pair_formulas` has the formulas once more.

use fingertip::contact::pair::PairFunction;
use fingertip::kinematics::Pose;
use fingertip::kinematics::spatial::Twist;
use fingertip::math::largest::largest;
use fingertip_lanes::lane::{InstructionSet, Lane, Real};
use fingertip_lanes::program::{Group, Program, Stage, run_on};
use fingertip_lanes::rows::Output;
use fingertip_step::inner::{GEOMETRY, Motion, Motions, PairKind, jvp, vjp, witness};
use support::pairs::{Body, COORDINATES, PAIRS, Random, add, aligned, cross, degenerate, moved};

use super::{gather, gather_pairs};

/// The tolerance of pushes against pulls, which compute the same numbers in different ways: rounding over the smallest
/// distances between cores in these samples.
const GRADIENT: f64 = 1e-10;
/// The step of finite differences over five points. They are of fourth order, so that the step can be large against
/// rounding.
const STEP: f64 = 1e-5;
/// The tolerance of derivatives against finite differences, relative to 1 + |derivative|.
const DIFFERENCE: f64 = 1e-6;

const GRID: f64 = 0.05;
type Pairs = [(Body, Body)];

/// The gradients of a pair: A's force and moment, B's force and moment, A's sizes, B's sizes.
type Reactions = [f64; COORDINATES];

/// A program that computes the contacts and gradients of one pair per world.
struct Geometry<'a> {
    pairs: &'a Pairs,
    /// For each pair, the gradient of its contacts to pull with.
    grads: &'a [Vec<f64>],
}

impl Program for Geometry<'_> {
    fn scratch(&self) -> usize {
        0
    }
    fn group(&self, group: &mut Group) {
        group.run(self);
    }
}

/// A row of results has the contacts of a pair, then the gradients.
impl Stage for Geometry<'_> {
    #[inline(always)]
    fn run<R: Lane>(&self, first: usize, _: &mut [R], to: &mut Output) {
        let (kind, swapped) = PairKind::find(&self.pairs[0].0.shape, &self.pairs[0].1.shape).unwrap();
        let n = GEOMETRY * kind.contacts();
        let [(a, size_a), (b, size_b)] = gather_pairs(self.pairs, first);
        let (a, b) = (Pose::read(&a), Pose::read(&b));
        let grad = gather(self.pairs.len(), first, n, |world| &self.grads[world]);

        let mut out = vec![R::zero(); n];
        witness(kind, swapped, &a, &size_a, &b, &size_b, &mut out);
        let (mut wrench_a, mut wrench_b) = ([R::zero(); 6], [R::zero(); 6]);
        let (mut grow_a, mut grow_b) = ([R::zero(); 4], [R::zero(); 4]);
        vjp(kind, swapped, &a, &size_a, &b, &size_b, &grad, &mut wrench_a, &mut wrench_b, &mut grow_a, &mut grow_b);
        to.store_all(first, 0, &out);
        to.store_all(first, n, &[&wrench_a[..], &wrench_b, &grow_a, &grow_b].concat());
    }
}

type Results = (Vec<Vec<f64>>, Vec<Reactions>);

fn on_lanes_as(set: InstructionSet, pairs: &Pairs, grads: &[Vec<f64>]) -> Results {
    let n = grads[0].len();
    let data = run_on(set, &Geometry { pairs, grads }, pairs.len(), n + COORDINATES);
    let rows = data.chunks(n + COORDINATES);
    rows.map(|row| (row[..n].to_vec(), Reactions::try_from(&row[n..]).unwrap())).unzip()
}

fn on_lanes(pairs: &Pairs, grads: &[Vec<f64>]) -> Results {
    on_lanes_as(InstructionSet::detect(), pairs, grads)
}

fn random_grads(random: &mut Random, pairs: &Pairs) -> Vec<Vec<f64>> {
    let n = GEOMETRY * PairFunction::find(&pairs[0].0.shape, &pairs[0].1.shape).unwrap().contacts();
    pairs.iter().map(|_| (0..n).map(|_| random.between(-1.0, 1.0)).collect()).collect()
}

fn swapped(pairs: &Pairs) -> Vec<(Body, Body)> {
    pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect()
}

#[test]
fn reactions_are_differences() {
    for kinds in PAIRS {
        let mut random = Random::new(29);
        let pairs: Vec<_> = (0..25).map(|_| random.pair(kinds, 0.35)).collect();
        let grads = random_grads(&mut random, &pairs);
        let (_, reactions) = on_lanes(&pairs, &grads);
        let (mut compared, mut kinks) = (0, 0);
        for ((pair, grad), reactions) in pairs.iter().zip(&grads).zip(reactions) {
            for (k, reaction) in reactions.into_iter().enumerate() {
                let states: Vec<_> = (-2..=2).map(|s| moved(pair, k, f64::from(s) * STEP)).collect();
                let (values, _) = on_lanes(&states, &vec![grad.clone(); 5]);
                let pulled: Vec<f64> = values.iter().map(|v| v.iter().zip(grad).map(|(x, g)| x * g).sum()).collect();
                let [m2, m1, zero, p1, p2] = pulled[..] else { unreachable!() };
                let difference = (8.0 * (p1 - m1) - (p2 - m2)) / (12.0 * STEP);
                let bend = (p2 - 2.0 * p1 + zero).abs().max((m2 - 2.0 * m1 + zero).abs()) / STEP;
                if bend > 1e-2 * (1.0 + difference.abs()) {
                    kinks += 1;
                    continue;
                }
                compared += 1;
                let error = (reaction - difference).abs() / (1.0 + difference.abs());
                assert!(error < DIFFERENCE, "{kinds:?} by coordinate {k}: {reaction} against {difference}\n{pair:?}");
            }
        }
        assert!(kinks * 20 < compared, "{kinds:?}: {kinks} kinks among {compared}");
    }
}

#[test]
fn any_width_gives_the_same_bits() {
    for kinds in PAIRS {
        let mut random = Random::new(31);
        let pairs: Vec<_> = (0..103)
            .map(|i| match i % 3 {
                0 => (aligned(&mut random, kinds.0, GRID), aligned(&mut random, kinds.1, GRID)),
                _ => random.pair(kinds, 0.4),
            })
            .collect();
        let grads = random_grads(&mut random, &pairs);
        let bits = |(contacts, reactions): Results| -> Vec<u64> {
            contacts.into_iter().flatten().chain(reactions.into_iter().flatten()).map(f64::to_bits).collect()
        };
        let fused =
            InstructionSet::ALL.into_iter().filter(|set| *set != InstructionSet::Baseline && set.is_available());
        let all: Vec<_> = fused.map(|set| bits(on_lanes_as(set, &pairs, &grads))).collect();
        assert!(all.windows(2).all(|two| two[0] == two[1]), "{kinds:?}");
    }
}

/// The changes of a pair's contacts with twists of its sides, computed on one lane.
fn pushed((a, b): &(Body, Body), twists: [[f64; 6]; 2]) -> Vec<f64> {
    struct Push<'a>(&'a (Body, Body), [[f64; 6]; 2]);
    struct One<R> {
        motion: [Motion<R>; 2],
        change: Vec<R>,
    }
    impl<R: Real> Motions<R> for One<R> {
        fn each(&mut self, change: impl Fn([Motion<R>; 2], &mut [R])) {
            change(self.motion, &mut self.change);
        }
    }
    impl Program for Push<'_> {
        fn scratch(&self) -> usize {
            0
        }
        fn group(&self, group: &mut Group) {
            group.run(self);
        }
    }
    impl Stage for Push<'_> {
        #[inline(always)]
        fn run<R: Lane>(&self, first: usize, _: &mut [R], to: &mut Output) {
            let Self((a, b), twists) = self;
            let (kind, swapped) = PairKind::find(&a.shape, &b.shape).unwrap();
            let lanes = |numbers: &[f64]| numbers.iter().map(|&x| R::splat(x)).collect::<Vec<R>>();
            let pose = |body: &Body| Pose::read(&lanes(&body.pose));
            let motion = twists.map(|twist| Motion(Some(Twist::read(&lanes(&twist), 0))));
            let mut one = One { motion, change: vec![R::zero(); GEOMETRY * kind.contacts()] };
            jvp(kind, swapped, &pose(a), &lanes(&a.size), &pose(b), &lanes(&b.size), &mut one);
            to.store_all(first, 0, &one.change);
        }
    }
    let kind = PairKind::find(&a.shape, &b.shape).unwrap().0;
    run_on(InstructionSet::detect(), &Push(&(a.clone(), b.clone()), twists), 1, GEOMETRY * kind.contacts())
}

/// The power of a side's wrench (force, then moment about the body's origin) along a twist (ω, then the velocity at the
/// world's origin).
fn power(body: &Body, reaction: &[f64], twist: [f64; 6]) -> f64 {
    let [wx, wy, wz, mx, my, mz] = twist;
    let p = [body.pose[0], body.pose[1], body.pose[2]];
    let v = add([mx, my, mz], 1.0, cross([wx, wy, wz], p));
    (0..3).map(|k| v[k] * reaction[k] + twist[k] * reaction[3 + k]).sum()
}

#[test]
fn jvps_are_the_transpose_of_vjps() {
    let mut random = Random::new(37);
    let mut pairs: Vec<_> =
        PAIRS.iter().flat_map(|&kinds| vec![kinds; 40]).map(|kinds| random.pair(kinds, 0.4)).collect();
    pairs.extend(degenerate().into_iter().map(|(_, a, b, _)| (a, b)));
    pairs.extend(swapped(&pairs));
    let mut seen = 0;
    for pair in &pairs {
        let grads = random_grads(&mut random, std::slice::from_ref(pair));
        let (_, reactions) = on_lanes(std::slice::from_ref(pair), &grads);
        let twists = [0, 1].map(|_| [0; 6].map(|_| random.between(-1.0, 1.0)));
        let change = pushed(pair, twists);
        let there: f64 = change.iter().zip(&grads[0]).map(|(x, g)| x * g).sum();
        let back = power(&pair.0, &reactions[0][..6], twists[0]) + power(&pair.1, &reactions[0][6..12], twists[1]);
        let scale = 1.0 + largest(&change) + largest(reactions[0]);
        assert!((there - back).abs() < GRADIENT * scale, "{there} against {back}\n{pair:?}");
        seen += 1;
    }
    assert!(seen > 400, "{seen} pairs");
}
