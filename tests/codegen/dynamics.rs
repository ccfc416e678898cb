//! Rigid-body dynamics, printed and compiled, have the bits of the lanes.

use candle_core::{DType, Device};
use fingertip::Model;
use fingertip::codegen::Codegen;
use fingertip::description::Scene;
use fingertip::dynamics::{Kernel, Quantity};
use fingertip::kinematics::Tree;
use fingertip::math::lane::Precision;
use nalgebra::Isometry3;

use super::{check, compiler, folder};
use support::quadruped::quadruped;
use support::random_scenes;
use support::robots::{dynamics, free_body, manifold, zoo};
use support::states::{self, Random};
use support::{numbers, row, rows};

/// Configurations of a forest: random ones, one that is not usable and one that is far from everything.
fn configurations(tree: &Tree) -> Vec<Vec<f64>> {
    let q = manifold(tree).random(4, 3, DType::F64, &Device::Cpu).unwrap();
    let mut all = rows(&q);
    all[1][0] = f64::NAN;
    all[2].iter_mut().for_each(|x| *x *= 1e6);
    all
}

#[test]
fn printed_dynamics_have_the_bits_of_the_lanes() {
    let Some(compiler) = compiler() else { return };
    let dog = Tree::new(&Scene::new().robot(quadruped(Isometry3::identity()))).unwrap();
    let hand = states::model("hand_ball").tree.clone();
    // All functions of the largest take a compiler minutes.
    let some = [
        Kernel::Value(Quantity::MassMatrix),
        Kernel::Value(Quantity::InverseDynamics),
        Kernel::Value(Quantity::ForwardDynamics),
        Kernel::Adjoint(Quantity::InverseDynamics),
    ];
    let derivatives = [Kernel::Value(Quantity::InverseDynamicsDerivatives)];
    for (name, tree, kernels, precision, level) in [
        ("body", free_body(), &Kernel::ALL[..], Precision::Double, "-O2"),
        ("body", free_body(), &Kernel::ALL, Precision::Single, "-O1"),
        ("dog", dog.clone(), &Kernel::ALL, Precision::Double, "-O0"),
        ("dog", dog, &some, Precision::Single, "-O1"),
        ("zoo", zoo(false), &some, Precision::Double, "-O0"),
        ("followers", zoo(true), &some, Precision::Double, "-O0"),
        ("hand", hand, &derivatives, Precision::Double, "-O0"),
    ] {
        let code = Codegen::of_dynamics(&dynamics(&tree), name, kernels, precision, &configurations(&tree)).unwrap();
        check(&compiler, level, &folder(&format!("dynamics_{name}_{precision:?}")), name, &code);
    }
}

/// Trees of all kinds of joints, some of which follow others or move no mass.
#[test]
fn printed_dynamics_of_random_trees_have_the_bits_of_the_lanes() {
    let Some(compiler) = compiler() else { return };
    let mut random = Random::new(58);
    let (mut done, mut followers) = (0, 0);
    while done < 4 {
        let Ok(tree) = Tree::new(&random_scenes::scene(&mut random)) else { continue };
        let follows = tree.ns > tree.nv;
        if tree.nv > 10 || (done % 2 == 1 && !follows) {
            continue;
        }
        let (dynamics, q) = (dynamics(&tree), configurations(&tree));
        let kernels: Vec<Kernel> = Kernel::ALL.into_iter().filter(|&kernel| dynamics.rows_of(kernel).is_ok()).collect();
        let code = Codegen::of_dynamics(&dynamics, "tree", &kernels, Precision::Double, &q).unwrap();
        check(&compiler, "-O0", &folder(&format!("dynamics_tree_{done}")), "tree", &code);
        done += 1;
        followers += usize::from(follows);
    }
    assert!(followers > 0, "no tree has a joint that follows another");
}

/// What is recorded in single precision is close to what double precision gives.
#[test]
fn single_precision_is_close() {
    let tree = zoo(false);
    let (dynamics, q) = (dynamics(&tree), rows(&manifold(&tree).random(1, 3, DType::F64, &Device::Cpu).unwrap()));
    for kernel in Kernel::ALL {
        let [single, double] = [Precision::Single, Precision::Double].map(|precision| {
            let trace = dynamics.record(kernel, precision).unwrap();
            let constants = dynamics.constants().unwrap();
            let operand = |row: &fingertip::step::Row| match constants.iter().find(|(of, _)| of.name == row.name) {
                Some((_, values)) => values.clone(),
                None if row.name == "q" => q[0].clone(),
                None => vec![0.3; row.width],
            };
            trace.run(&trace.operands().iter().flat_map(operand).collect::<Vec<f64>>())
        });
        let error = support::robots::error(&single, &double);
        // Rounding times the condition number of M.
        assert!(error < 1e-2, "{}: {error:e}", kernel.name());
        assert!(error > 0.0, "{}", kernel.name());
    }
}

#[test]
fn dynamics_that_cannot_be_printed_are_an_error_that_says_why() {
    let (tree, kernel) = (zoo(false), Kernel::Value(Quantity::MassMatrix));
    let dynamics = dynamics(&tree);
    let print = |name: &str, kernel: Kernel, q: &[Vec<f64>]| {
        let code = Codegen::of_dynamics(&dynamics, name, &[kernel], Precision::Double, q);
        code.err().map(|error| error.to_string())
    };
    let q = configurations(&tree);
    assert_eq!(print("zoo", kernel, &q), None);
    assert!(print("a zoo", kernel, &q).unwrap().contains("\"a zoo\""));
    assert!(print("zoo", kernel, &[]).unwrap().contains("expected a state"));
    let error = print("zoo", kernel, &[vec![0.0; 3]]).unwrap();
    assert!(error.contains("[3,") && error.contains(&format!("[{},", tree.nq)), "{error}");
    let error = print("zoo", Kernel::Adjoint(Quantity::InverseDynamicsDerivatives), &q).unwrap();
    assert!(error.contains("gradient") && error.contains("inverse_dynamics_derivatives"), "{error}");
}

/// The table of inertias in the code is the scene's, and what it says of a body is true: with twice the numbers M is
/// twice as much.
#[test]
fn inertias_are_operands_in_the_order_that_the_header_says() {
    let model: Model = states::model("hand_ball");
    let dynamics = dynamics(&model.tree);
    let kernel = Kernel::Value(Quantity::MassMatrix);
    let code = Codegen::of_dynamics(&dynamics, "hand", &[kernel], Precision::Double, &[model.tree.home()]).unwrap();
    let folder = folder("dynamics_inertias");
    code.write(&folder).unwrap();
    let header = std::fs::read_to_string(folder.join("hand.h")).unwrap();
    for (k, &body) in dynamics.bodies().iter().enumerate() {
        let line = format!(" {} {}", 10 * k, model.tree.bodies[body].name);
        assert!(header.lines().any(|of| of.ends_with(&line)), "{line}: {header}");
    }
    let defines = [format!("#define HAND_NQ {}", model.nq()), format!("#define HAND_NV {}", model.nv())];
    assert!(defines.iter().all(|define| header.contains(define)), "{header}");

    let trace = dynamics.record(kernel, Precision::Double).unwrap();
    let [gravity, inertias, offsets] = dynamics.constants().unwrap().map(|(_, values)| values);
    let double: Vec<f64> = inertias.iter().map(|x| 2.0 * x).collect();
    let m = trace.run(&[model.tree.home(), gravity, double, offsets].concat());
    let expected = numbers(&(dynamics.mass_matrix(&row(&model.tree.home())).unwrap() * 2.0).unwrap());
    assert_eq!(m, expected);
}
