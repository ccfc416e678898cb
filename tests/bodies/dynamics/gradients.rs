//! Gradients of each operation by everything that goes in, against central differences.

use candle_core::{Result, Tensor, Var};
use fingertip::dynamics::{Dynamics, FrameMotion, ReferenceFrame, inertias_of};
use fingertip::kinematics::{FrameSpec, Tree};

use support::numbers;
use support::robots::{assert_close, dynamics, random, states, zoo};

/// Step of differences of fourth order: inertias of 1e-3 change by a hundredth.
const H: f64 = 1e-5;
/// What they leave: mostly rounding over the step, times the condition number of M.
const DIFFERENCE: f64 = 1e-7;
const WORLDS: usize = 2;

/// Compares the gradient of Σ w f(x) by each of the operands with differences in every number.
fn check(what: &str, operands: &[(&str, Tensor)], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let vars: Vec<Var> = operands.iter().map(|(_, x)| Var::from_tensor(x).unwrap()).collect();
    let tensors: Vec<Tensor> = vars.iter().map(|x| x.as_tensor().clone()).collect();
    let y = f(&tensors).unwrap().flatten_from(1).unwrap();
    let weights = random(y.dims2().unwrap(), 99);
    let loss = |xs: &[Tensor]| -> f64 {
        let y = f(xs).unwrap().flatten_from(1).unwrap();
        (y * &weights).unwrap().sum_all().unwrap().to_scalar().unwrap()
    };
    let grads = (y * &weights).unwrap().sum_all().unwrap().backward().unwrap();
    let plain: Vec<Tensor> = operands.iter().map(|(_, x)| x.clone()).collect();
    for (k, (name, x)) in operands.iter().enumerate() {
        let found = numbers(grads.get(&vars[k]).unwrap());
        let values = numbers(x);
        let expected: Vec<f64> = (0..values.len())
            .map(|i| {
                let at = |h: f64| {
                    let mut moved = values.clone();
                    moved[i] += h;
                    let mut xs = plain.clone();
                    xs[k] = Tensor::from_vec(moved, x.shape(), x.device()).unwrap();
                    loss(&xs)
                };
                (8.0 * (at(H) - at(-H)) - (at(2.0 * H) - at(-2.0 * H))) / (12.0 * H)
            })
            .collect();
        assert_close(&found, &expected, DIFFERENCE, &format!("{what} by {name}"));
    }
}

fn with(d: &Dynamics, x: &[Tensor]) -> Result<Dynamics> {
    d.clone().with_gravity(&x[0])?.with_inertias(&x[1])?.with_offsets(&x[2])
}

/// Gravity, inertias and offsets: one row for all worlds, or one for each.
fn parameters(d: &Dynamics, rows: usize) -> Vec<(&'static str, Tensor)> {
    let repeated = |x: &Tensor| x.repeat((rows, 1)).unwrap();
    vec![
        ("gravity", repeated(d.gravity_vector())),
        ("inertias", repeated(d.inertias())),
        ("offsets", repeated(d.offsets())),
    ]
}

type Quantity = fn(&Dynamics, &[Tensor]) -> Result<Tensor>;

fn check_all(tree: &Tree, rows: usize, what: &str, n_states: usize, f: Quantity) {
    let d = dynamics(tree);
    let names = ["q", "v", "a or τ"];
    let states = states(tree, WORLDS, 7);
    let mut operands = parameters(&d, rows);
    operands.extend(names.into_iter().zip(states).take(n_states));
    check(what, &operands, |x| f(&with(&d, x)?, &x[3..]));
}

#[test]
fn inverse_dynamics_by_state_and_parameters() {
    for mimic in [false, true] {
        check_all(&zoo(mimic), 1, "RNEA", 3, |d, x| d.inverse_dynamics(&x[0], &x[1], &x[2]));
    }
    check_all(&zoo(false), WORLDS, "RNEA, parameters per world", 3, |d, x| d.inverse_dynamics(&x[0], &x[1], &x[2]));
}

#[test]
fn bias_and_gravity_by_state_and_parameters() {
    for mimic in [false, true] {
        check_all(&zoo(mimic), 1, "bias", 2, |d, x| d.bias(&x[0], &x[1]));
        check_all(&zoo(mimic), 1, "gravity", 1, |d, x| d.gravity(&x[0]));
    }
}

#[test]
fn forward_dynamics_by_state_and_parameters() {
    for mimic in [false, true] {
        check_all(&zoo(mimic), 1, "ABA", 3, |d, x| d.forward_dynamics(&x[0], &x[1], &x[2]));
    }
}

/// M does not depend on gravity: its gradient is an exact zero, which the relative comparison takes as such.
#[test]
fn mass_matrix_and_its_inverse_by_q_and_parameters() {
    for mimic in [false, true] {
        check_all(&zoo(mimic), 1, "CRBA", 1, |d, x| d.mass_matrix(&x[0]));
        check_all(&zoo(mimic), 1, "M⁻¹", 1, |d, x| d.inverse_mass_matrix(&x[0]));
    }
}

#[test]
fn energy_and_centre_of_mass() {
    check_all(&zoo(true), 1, "energy", 2, |d, x| d.energy(&x[0], &x[1]));
    check_all(&zoo(true), 1, "centre of mass", 1, |d, x| d.centre_of_mass(&x[0]));
}

#[test]
fn inertias_from_mass_centre_and_tensor() {
    let (mass, com, tensor) = (random((2, 3), 1), random((2, 9), 2), random((2, 18), 3));
    let operands = [("mass", mass), ("com", com), ("tensor", tensor)];
    check("inertias", &operands, |x| inertias_of(&x[0], &x[1].reshape((2, 3, 3))?, &x[2].reshape((2, 3, 6))?));
}

#[test]
fn inertias_from_the_description_are_those_from_tensors() {
    let tree = zoo(false);
    let d = dynamics(&tree);
    let of = |f: &dyn Fn(&fingertip::description::Inertia) -> Vec<f64>| -> Vec<f64> {
        d.bodies().iter().flat_map(|&b| f(tree.bodies[b].inertia.as_ref().unwrap())).collect()
    };
    let n = d.bodies().len();
    let tensor = |data: Vec<f64>, width: usize| Tensor::from_vec(data, (1, n, width), d.inertias().device()).unwrap();
    let mass = tensor(of(&|i| vec![i.mass]), 1).squeeze(2).unwrap();
    let com = tensor(of(&|i| i.com.as_slice().to_vec()), 3);
    let six = |m: &nalgebra::Matrix3<f64>| vec![m.m11, m.m12, m.m13, m.m22, m.m23, m.m33];
    let about = tensor(of(&|i| six(&i.matrix)), 6);
    let found = inertias_of(&mass, &com, &about).unwrap();
    assert_close(&numbers(&found), &numbers(d.inertias()), 1e-14, "inertias");
}

#[test]
fn frame_jacobians_and_velocities_by_q_and_v() {
    let tree = zoo(true);
    let body = tree.bodies.len() - 1;
    let rotation = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    let frame = [FrameSpec { body, rotation, xyz: [0.1, 0.2, -0.3] }];
    let motion = FrameMotion::new(&tree, &frame, candle_core::DType::F64, &candle_core::Device::Cpu).unwrap();
    let [q, v, _] = states(&tree, WORLDS, 5);
    for reference in [ReferenceFrame::World, ReferenceFrame::Local, ReferenceFrame::LocalWorldAligned] {
        let operands = [("q", q.clone()), ("v", v.clone())];
        check("frame velocity", &operands, |x| motion.velocity(&x[0], &x[1], 0, reference));
        check("frame Jacobian", &operands[..1], |x| motion.jacobian(&motion.frames(&x[0])?, 0, reference));
    }
}
