//! Lanes against the tensor operations, which are the definition, and against differences; at any width the same bits.

#[path = "../../../tests/pair_support/mod.rs"]
mod pair_support;

use candle_core::{DType, Device, Tensor, Var};
use pair_support::{Body, PAIRS, Random, V3, add, contacts, cross, degenerate};

use super::{CONTACT, pull, witness};
use crate::contact::pair::{PairFunction, PairKind, Shapes};
use crate::kinematics::Pose;
use crate::math::lane::{InstructionSet, Kernel, Lane, dispatch_as};

/// The tensor operations do not fuse multiply-adds: coordinates of half a metre, a few tens of roundings.
const VALUE: f64 = 1e-12;
/// The same over the smallest distances between cores in the samples, relative to the largest gradient.
const GRADIENT: f64 = 1e-10;
/// Five points this far apart: fourth order, so that the step can be large against rounding.
const STEP: f64 = 1e-5;
/// Relative to 1 + |derivative|: the sum of both of the differences' errors.
const DIFFERENCE: f64 = 1e-6;

type Pairs = [(Body, Body)];

/// Gradients of poses, as force and moment, and of sizes: A's ten, then B's.
type Reactions = [f64; 20];

/// One pair per world.
struct Geometry<'a> {
    pairs: &'a Pairs,
    /// What to pull with, as many numbers as the contacts have.
    grads: &'a [Vec<f64>],
    contacts: Vec<Vec<f64>>,
    reactions: Vec<Reactions>,
}

impl Kernel for Geometry<'_> {
    #[inline(always)]
    fn run<R: Lane>(&mut self, first: usize) {
        let (kind, swapped) = PairKind::find(&self.pairs[0].0.shape, &self.pairs[0].1.shape).unwrap();
        let n = CONTACT * kind.contacts();
        let gather = |get: &dyn Fn(usize) -> f64| {
            let mut lane = R::zero();
            for i in 0..R::WIDTH {
                lane.set(i, get(first + i));
            }
            lane
        };
        let pose = |get: &dyn Fn(usize) -> [f64; 12]| {
            Pose::read(&std::array::from_fn::<R, 12, _>(|k| gather(&|world| get(world)[k])))
        };
        let size = |get: &dyn Fn(usize) -> [f64; 4]| std::array::from_fn::<R, 4, _>(|k| gather(&|world| get(world)[k]));
        let (a, b) = (pose(&|w| self.pairs[w].0.pose), pose(&|w| self.pairs[w].1.pose));
        let (size_a, size_b) = (size(&|w| self.pairs[w].0.size), size(&|w| self.pairs[w].1.size));
        let grad: Vec<R> = (0..n).map(|k| gather(&|world| self.grads[world][k])).collect();

        let mut out = vec![R::zero(); n];
        witness(kind, swapped, &a, &size_a, &b, &size_b, &mut out);
        let mut reaction = [R::zero(); 20];
        let (on_a, on_b) = reaction.split_at_mut(10);
        let ((wrench_a, grad_size_a), (wrench_b, grad_size_b)) = (on_a.split_at_mut(6), on_b.split_at_mut(6));
        pull(kind, swapped, &a, &size_a, &b, &size_b, &grad, wrench_a, wrench_b, grad_size_a, grad_size_b);
        for i in 0..R::WIDTH {
            self.contacts.push(out.iter().map(|lane| lane.get(i)).collect());
            self.reactions.push(reaction.map(|lane| lane.get(i)));
        }
    }
}

fn on_lanes(pairs: &Pairs, grads: &[Vec<f64>], set: InstructionSet, width: usize) -> (Vec<Vec<f64>>, Vec<Reactions>) {
    let mut geometry = Geometry { pairs, grads, contacts: Vec::new(), reactions: Vec::new() };
    dispatch_as(set, width, &mut geometry, 0..pairs.len());
    (geometry.contacts, geometry.reactions)
}

/// The same by tensor operations and their backward pass.
fn by_tensors(pairs: &Pairs, grads: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<Reactions>) {
    let function = PairFunction::find(&pairs[0].0.shape, &pairs[0].1.shape).unwrap();
    let m = function.contacts();
    let variable = |values: Vec<f64>, k: usize| {
        Var::from_tensor(&Tensor::from_vec(values, (pairs.len(), 1, k), &Device::Cpu).unwrap()).unwrap()
    };
    let side = |of: &dyn Fn(&(Body, Body)) -> Body| {
        let bodies: Vec<Body> = pairs.iter().map(of).collect();
        let pose = variable(bodies.iter().flat_map(|body| body.pose).collect(), 12);
        (pose, variable(bodies.iter().flat_map(|body| body.size).collect(), 4))
    };
    let ((pose_a, size_a), (pose_b, size_b)) = (side(&|pair| pair.0.clone()), side(&|pair| pair.1.clone()));
    let shapes = |pose: &Var, size: &Var| Shapes { pose: pose.as_tensor().clone(), size: size.as_tensor().clone() };
    let w = function.witness(&shapes(&pose_a, &size_a), &shapes(&pose_b, &size_b)).unwrap();
    let all = Tensor::cat(&[&w.normal, &w.point_a, &w.point_b, &w.phi.unsqueeze(2).unwrap()], 2).unwrap();
    let all = all.reshape((pairs.len(), CONTACT * m)).unwrap();
    let seed = Tensor::from_vec(grads.concat(), (pairs.len(), CONTACT * m), &Device::Cpu).unwrap();
    let store = (&all * seed).unwrap().sum_all().unwrap().backward().unwrap();
    let rows = |v: &Var| -> Vec<Vec<f64>> {
        let none = || vec![vec![0.0; v.dim(2).unwrap()]; pairs.len()];
        store.get(v).map_or_else(none, |g| g.squeeze(1).unwrap().to_vec2().unwrap())
    };
    let reaction = |body: &Body, pose: &[f64], size: &[f64]| -> [f64; 10] {
        let part = |k: usize| -> V3 { [pose[3 * k], pose[3 * k + 1], pose[3 * k + 2]] };
        let turned = |moment: V3, k: usize| add(moment, 1.0, cross(body.axis(k), part(k + 1)));
        let moment = (0..3).fold([0.0; 3], turned);
        std::array::from_fn(|i| match i {
            0..3 => pose[i],
            3..6 => moment[i - 3],
            _ => size[i - 6],
        })
    };
    let (by_pose_a, by_size_a, by_pose_b, by_size_b) = (rows(&pose_a), rows(&size_a), rows(&pose_b), rows(&size_b));
    let reactions = pairs.iter().enumerate().map(|(i, (a, b))| {
        let (on_a, on_b) = (reaction(a, &by_pose_a[i], &by_size_a[i]), reaction(b, &by_pose_b[i], &by_size_b[i]));
        std::array::from_fn(|k| if k < 10 { on_a[k] } else { on_b[k - 10] })
    });
    (all.to_vec2().unwrap(), reactions.collect())
}

fn random_grads(random: &mut Random, pairs: &Pairs) -> Vec<Vec<f64>> {
    let n = CONTACT * PairFunction::find(&pairs[0].0.shape, &pairs[0].1.shape).unwrap().contacts();
    pairs.iter().map(|_| (0..n).map(|_| random.between(-1.0, 1.0)).collect()).collect()
}

fn swapped(pairs: &Pairs) -> Vec<(Body, Body)> {
    pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect()
}

fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |largest, x| x.abs().max(largest))
}

fn assert_agreement(name: &str, pairs: &Pairs, random: &mut Random) {
    let grads = random_grads(random, pairs);
    let (contacts, reactions) = on_lanes(pairs, &grads, InstructionSet::detect(), 8);
    let (values, gradients) = by_tensors(pairs, &grads);
    for i in 0..pairs.len() {
        for (k, (x, y)) in contacts[i].iter().zip(&values[i]).enumerate() {
            assert!((x - y).abs() < VALUE, "{name}, number {k}: {x} against {y}\n{:?}", pairs[i]);
        }
        let scale = 1.0 + largest(&gradients[i]);
        for (k, (x, y)) in reactions[i].iter().zip(&gradients[i]).enumerate() {
            assert!((x - y).abs() < GRADIENT * scale, "{name}, gradient {k}: {x} against {y}\n{:?}", pairs[i]);
        }
    }
}

#[test]
fn random_places_agree_with_the_tensor_operations() {
    for kinds in PAIRS {
        let mut random = Random::new(17);
        let pairs: Vec<_> = (0..400).map(|_| random.pair(kinds, 0.5)).collect();
        assert_agreement(&format!("{kinds:?}"), &pairs, &mut random);
        assert_agreement(&format!("{kinds:?} swapped"), &swapped(&pairs), &mut random);
    }
}

#[test]
fn degenerate_places_agree_with_the_tensor_operations() {
    let mut random = Random::new(19);
    for (name, a, b, _) in degenerate() {
        let pairs = [(a, b)];
        assert_agreement(name, &pairs, &mut random);
        assert_agreement(name, &swapped(&pairs), &mut random);
    }
}
