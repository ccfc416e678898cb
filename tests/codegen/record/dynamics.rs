//! Rigid-body dynamics recorded, values and gradients, against those of the lanes.

use candle_core::{DType, Device, Result, Tensor, Var};
use fingertip::description::Scene;
use fingertip::dynamics::{Derivatives, Dynamics, Kernel, Quantity};
use fingertip::kinematics::Tree;
use fingertip::math::lane::Precision;
use nalgebra::Isometry3;

use support::random_scenes;
use support::robots::{dynamics, free_body, manifold, random, zoo};
use super::rows::{differences, unsigned_zeros};
use support::quadruped::quadruped;
use support::rows;
use support::states::{self, Random};
use super::SCENES;

const WORLDS: usize = 12;

/// What the library says: one row per world.
fn value(d: &Dynamics, quantity: Quantity, [q, v, x]: [&Tensor; 3]) -> Result<Tensor> {
    let packed = |all: Derivatives| {
        let parts = [&all.value, &all.by_q, &all.by_v, &all.by_input].map(|part| part.flatten_from(1).unwrap());
        Tensor::cat(&parts, 1)
    };
    match quantity {
        Quantity::InverseDynamics => d.inverse_dynamics(q, v, x),
        Quantity::Bias => d.bias(q, v),
        Quantity::Gravity => d.gravity(q),
        Quantity::ForwardDynamics => d.forward_dynamics(q, v, x),
        Quantity::MassMatrix => d.mass_matrix(q)?.flatten_from(1),
        Quantity::InverseMassMatrix => d.inverse_mass_matrix(q)?.flatten_from(1),
        Quantity::Energy => d.energy(q, v),
        Quantity::CentreOfMass => d.centre_of_mass(q),
        Quantity::InverseDynamicsDerivatives => packed(d.inverse_dynamics_derivatives(q, v, x)?),
        Quantity::ForwardDynamicsDerivatives => packed(d.forward_dynamics_derivatives(q, v, x)?),
    }
}

/// What is not a number has no bits to compare.
fn plain(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    rows.iter_mut().flatten().filter(|x| x.is_nan()).for_each(|x| *x = f64::NAN);
    rows
}

/// Compares all kernels that a forest has, at random states, with some that are not usable, and with parameters for
/// each world.
fn compare(name: &str, tree: &Tree) {
    let d = dynamics(tree);
    let mut q = rows(&manifold(tree).random(WORLDS, 5, DType::F64, &Device::Cpu).unwrap());
    q[WORLDS - 1][0] = f64::NAN;
    q[WORLDS - 2][0] = 1e31;
    q[WORLDS - 3].iter_mut().for_each(|x| *x *= 1e12);
    let tensor = |rows: &[Vec<f64>]| Tensor::new(rows.to_vec(), &Device::Cpu).unwrap();
    // One row for all worlds has its gradients summed: a row for each.
    let varied = |of: &Tensor, seed: u64| {
        let factor = ((random((WORLDS, of.dim(1).unwrap()), seed) * 0.1).unwrap() + 1.0).unwrap();
        Var::from_tensor(&factor.broadcast_mul(of).unwrap()).unwrap()
    };
    let state = [tensor(&q), random((WORLDS, tree.nv), 6), random((WORLDS, tree.nv), 7)];
    let state = state.map(|x| Var::from_tensor(&x).unwrap());
    let parameters = [d.gravity_vector(), d.inertias(), d.offsets()].map(|of| varied(of, 8));
    let [gravity, inertias, offsets] = &parameters;
    let d = d.with_gravity(gravity).unwrap().with_inertias(inertias).unwrap().with_offsets(offsets).unwrap();

    for kernel in Kernel::ALL {
        let Ok(trace) = d.record(kernel, Precision::Double) else { continue };
        let n_state = trace.operands().iter().position(|row| row.name == "gravity_vector").unwrap();
        let vars: Vec<&Var> = state[..n_state].iter().chain(&parameters).collect();
        let operands: Vec<Vec<Vec<f64>>> = vars.iter().map(|var| rows(var)).collect();
        let found = |more: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let world = |w: usize| {
                let mut all: Vec<f64> = operands.iter().flat_map(|rows| rows[w].iter().copied()).collect();
                more.get(w).into_iter().for_each(|row| all.extend(row));
                trace.run(&all)
            };
            (0..WORLDS).map(world).collect()
        };
        let result = value(&d, kernel.quantity(), state.each_ref().map(Var::as_tensor)).unwrap();
        let (found, expected) = match kernel {
            Kernel::Value(_) => (found(&[]), rows(&result)),
            Kernel::Adjoint(_) => {
                let weights = random(result.dims2().unwrap(), 9);
                let store = (&result * &weights).unwrap().sum_all().unwrap().backward().unwrap();
                let gradients: Vec<_> = vars.iter().map(|var| rows(store.get(var).unwrap())).collect();
                let world = |w: usize| gradients.iter().flat_map(|of| of[w].iter().copied()).collect();
                (unsigned_zeros(found(&rows(&weights))), unsigned_zeros((0..WORLDS).map(world).collect()))
            }
        };
        let differences = differences(&plain(found), &plain(expected));
        assert_eq!(differences, Vec::<String>::new(), "{name}: {}", kernel.name());
    }
}

#[test]
fn recorded_dynamics_of_all_kinds_of_joints_are_those_of_the_lanes() {
    compare("zoo", &zoo(false));
    compare("zoo with followers", &zoo(true));
    compare("free body", &free_body());
    let dog = Scene::new().robot(quadruped(Isometry3::identity()));
    compare("floating base", &Tree::new(&dog).unwrap());
}

#[test]
fn recorded_dynamics_of_the_shipped_scenes_are_those_of_the_lanes() {
    SCENES.into_iter().for_each(|name| compare(name, &states::model(name).tree));
}

#[test]
fn recorded_dynamics_of_random_trees_are_those_of_the_lanes() {
    let mut random = Random::new(44);
    let (mut done, mut followers) = (0, 0);
    while done < 20 {
        let Ok(tree) = Tree::new(&random_scenes::scene(&mut random)) else { continue };
        compare(&format!("random tree {done}"), &tree);
        done += 1;
        followers += usize::from(tree.ns > tree.nv);
    }
    assert!(followers > 0, "no tree has a joint that follows another");
}
