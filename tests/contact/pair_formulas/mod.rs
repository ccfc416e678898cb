//! The contacts of pairs of shapes and their gradients against the same formulas as plain tensor operations, which
//! candle differentiates: at random places, degenerate ones, and along the axes.

mod block;
mod box_half_space;
mod capsule_half_space;
mod core;
mod half_space;
mod segment;
mod sphere_box;
mod sphere_capsule;
mod sphere_cylinder;
mod sphere_half_space;
mod sphere_sphere;
mod vectors;

use candle_core::{Device, Result, Tensor, Var};
use fingertip::contact::pair::{PairFunction, Shapes, Witness};
use fingertip::description::Shape;
use support::largest;
use support::pairs::{Body, COORDINATES, PAIRS, Random, V3, add, aligned, cross, degenerate};

/// The tensor operations do not fuse multiply-adds: coordinates of half a metre, a few tens of roundings.
const VALUE: f64 = 1e-12;
/// The same over the smallest distances between cores in the samples, relative to the largest gradient.
const GRADIENT: f64 = 1e-10;
/// Numbers of a contact: normal, points on A and B, φ.
const GEOMETRY: usize = 10;

type Pairs = [(Body, Body)];
/// Gradients: A's force and moment, B's, A's sizes, B's.
type Reactions = [f64; COORDINATES];

/// The contacts of n pairs in B worlds, by the formulas for shapes of these kinds.
fn formula(a: &Shape, b: &Shape) -> Option<fn(&Shapes, &Shapes) -> Result<Witness>> {
    use Shape::{Box, Capsule, Cylinder, HalfSpace, Sphere};
    Some(match (a, b) {
        (Sphere { .. }, Sphere { .. }) => sphere_sphere::witness,
        (Sphere { .. }, Capsule { .. }) => sphere_capsule::witness,
        (Sphere { .. }, Box { .. }) => sphere_box::witness,
        (Sphere { .. }, Cylinder { .. }) => sphere_cylinder::witness,
        (Sphere { .. }, HalfSpace) => sphere_half_space::witness,
        (Capsule { .. }, HalfSpace) => capsule_half_space::witness,
        (Box { .. }, HalfSpace) => box_half_space::witness,
        _ => return None,
    })
}

/// The same, of sides in any order.
fn by_formula(a: &Shape, b: &Shape, on_a: &Shapes, on_b: &Shapes) -> Result<Witness> {
    if let Some(witness) = formula(a, b) {
        return witness(on_a, on_b);
    }
    let Witness { point_a, point_b, normal, phi } = formula(b, a).expect("a formula")(on_b, on_a)?;
    Ok(Witness { point_a: point_b, point_b: point_a, normal: normal.neg()?, phi })
}

/// Contacts and reactions to their gradients, a row for each pair.
fn pulled(
    pairs: &Pairs,
    grads: &[Vec<f64>],
    witness: impl Fn(&Shapes, &Shapes) -> Result<Witness>,
) -> (Vec<Vec<f64>>, Vec<Reactions>) {
    let n = grads[0].len();
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
    let w = witness(&shapes(&pose_a, &size_a), &shapes(&pose_b, &size_b)).unwrap();
    let all = Tensor::cat(&[&w.normal, &w.point_a, &w.point_b, &w.phi.unsqueeze(2).unwrap()], 2).unwrap();
    let all = all.reshape((pairs.len(), n)).unwrap();
    let seed = Tensor::from_vec(grads.concat(), (pairs.len(), n), &Device::Cpu).unwrap();
    let store = (&all * seed).unwrap().sum_all().unwrap().backward().unwrap();
    let rows = |v: &Var| -> Vec<Vec<f64>> {
        let none = || vec![vec![0.0; v.dim(2).unwrap()]; pairs.len()];
        store.get(v).map_or_else(none, |g| g.squeeze(1).unwrap().to_vec2().unwrap())
    };
    let wrench = |body: &Body, pose: &[f64]| -> Vec<f64> {
        let part = |k: usize| -> V3 { [pose[3 * k], pose[3 * k + 1], pose[3 * k + 2]] };
        let moment = (0..3).fold([0.0; 3], |sum, k| add(sum, 1.0, cross(body.axis(k), part(k + 1))));
        [part(0), moment].concat()
    };
    let (by_pose_a, by_size_a, by_pose_b, by_size_b) = (rows(&pose_a), rows(&size_a), rows(&pose_b), rows(&size_b));
    let reactions = pairs.iter().enumerate().map(|(i, (a, b))| {
        let wrenches = [wrench(a, &by_pose_a[i]), wrench(b, &by_pose_b[i])].concat();
        [&wrenches[..], &by_size_a[i], &by_size_b[i]].concat().try_into().unwrap()
    });
    (all.to_vec2().unwrap(), reactions.collect())
}

fn swapped(pairs: &Pairs) -> Vec<(Body, Body)> {
    pairs.iter().map(|(a, b)| (b.clone(), a.clone())).collect()
}

/// The largest error of each pair's φ, of all its numbers, and of its gradients relative to 1 + the largest.
fn errors(pairs: &Pairs, random: &mut Random) -> Vec<[f64; 3]> {
    let (a, b) = (&pairs[0].0.shape, &pairs[0].1.shape);
    let function = PairFunction::find(a, b).unwrap();
    let n = GEOMETRY * function.contacts();
    let grads: Vec<Vec<f64>> = pairs.iter().map(|_| (0..n).map(|_| random.between(-1.0, 1.0)).collect()).collect();
    let (contacts, reactions) = pulled(pairs, &grads, |on_a, on_b| function.witness(on_a, on_b));
    let (values, gradients) = pulled(pairs, &grads, |on_a, on_b| by_formula(a, b, on_a, on_b));
    let rows = contacts.iter().zip(&values).zip(reactions.iter().zip(&gradients));
    rows.map(|((found, expected), (reaction, gradient))| {
        let off: Vec<f64> = found.iter().zip(expected).map(|(x, y)| x - y).collect();
        let of_gradient = largest(reaction.iter().zip(gradient).map(|(x, y)| x - y));
        let of_phi = largest(off.iter().copied().skip(GEOMETRY - 1).step_by(GEOMETRY));
        [of_phi, largest(off), of_gradient / (1.0 + largest(gradient.iter().copied()))]
    })
    .collect()
}

fn assert_agreement(name: &str, pairs: &Pairs, random: &mut Random) {
    for ([_, value, gradient], pair) in errors(pairs, random).into_iter().zip(pairs) {
        assert!(value < VALUE && gradient < GRADIENT, "{name}: off by {value:e}, gradients by {gradient:e}\n{pair:?}");
    }
}

#[test]
fn random_places() {
    for kinds in PAIRS {
        let mut random = Random::new(17);
        let pairs: Vec<_> = (0..400).map(|_| random.pair(kinds, 0.5)).collect();
        assert_agreement(&format!("{kinds:?}"), &pairs, &mut random);
        assert_agreement(&format!("{kinds:?} swapped"), &swapped(&pairs), &mut random);
    }
}

#[test]
fn degenerate_places() {
    let mut random = Random::new(19);
    for (name, a, b, _) in degenerate() {
        let pairs = [(a, b)];
        assert_agreement(name, &pairs, &mut random);
        assert_agreement(name, &swapped(&pairs), &mut random);
    }
}

#[test]
fn bodies_along_the_axes() {
    let mut random = Random::new(23);
    for kinds in PAIRS {
        for step in [0.05, 1e-9] {
            let pairs: Vec<_> =
                (0..1000).map(|_| (aligned(&mut random, kinds.0, step), aligned(&mut random, kinds.1, step))).collect();
            let errors = errors(&pairs, &mut random);
            let worst = |k: usize| largest(errors.iter().map(|error| error[k]));
            // On the coarse grid features tie, and rounding may choose among equal answers: φ alone must agree.
            assert!(worst(0) < VALUE, "{kinds:?}: φ is off by {:e}", worst(0));
            assert!(worst(1).is_finite() && worst(2).is_finite(), "{kinds:?}");
            let agree = worst(1) < VALUE && worst(2) < GRADIENT;
            assert!(step > 0.01 || agree, "{kinds:?}: off by {:e}, gradients by {:e}", worst(1), worst(2));
        }
    }
}
