//! The backward sweep of differential dynamic programming.

use fingertip::mpc::cost::Expansion;
use fingertip_plan::inner::{Quadratic, Sweep, backward};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NX: usize = 4;
const NU: usize = 2;

/// The cost of changes v of all commands, from the start of the plan on, written out.
fn cost(quadratics: &[Quadratic], v: &[DVector<f64>]) -> f64 {
    let mut x = DVector::zeros(NX);
    let mut sum = 0.0;
    for (of, v) in quadratics.iter().zip(v) {
        sum += of.lx.dot(&x) + of.lv.dot(v) + x.dot(&(&of.lxv * v));
        sum += 0.5 * (x.dot(&(&of.lxx * &x)) + v.dot(&(&of.lvv * v)));
        x = &of.fx * &x + &of.fv * v;
        sum += of.next.gradient.dot(&x) + 0.5 * x.dot(&(&of.next.hessian * &x));
    }
    sum
}

fn random(generator: &mut ChaCha8Rng) -> Vec<Quadratic> {
    let mut matrix = |rows, columns| DMatrix::from_fn(rows, columns, |_, _| generator.random_range(-1.0..1.0));
    (0..5)
        .map(|_| {
            // The command's cost is convex in x and v together.
            let root = matrix(NX + NU, NX + NU);
            let both = &root * root.transpose() + DMatrix::identity(NX + NU, NX + NU) * 0.1;
            let root = matrix(NX, NX);
            Quadratic {
                fx: matrix(NX, NX),
                fv: matrix(NX, NU),
                lx: matrix(NX, 1).column(0).into_owned(),
                lv: matrix(NU, 1).column(0).into_owned(),
                lxx: both.view((0, 0), (NX, NX)).into_owned(),
                lxv: both.view((0, NX), (NX, NU)).into_owned(),
                lvv: both.view((NX, NX), (NU, NU)).into_owned(),
                next: Expansion { gradient: matrix(NX, 1).column(0).into_owned(), hessian: &root * root.transpose() },
                range: vec![(-1e6, 1e6); NU],
                forces: None,
            }
        })
        .collect()
}

/// The changes of commands in one world under a sweep's k and K.
fn followed(sweep: &Sweep, quadratics: &[Quadratic]) -> Vec<DVector<f64>> {
    let mut x = DVector::zeros(NX);
    let mut plan = Vec::new();
    for (k, of) in quadratics.iter().enumerate() {
        let v = &sweep.feed[k] + &sweep.gain[k] * &x;
        x = &of.fx * &x + &of.fv * &v;
        plan.push(v);
    }
    plan
}

/// Without bounds and regularisation the plan is the minimiser, and its cost is what the sweep expects.
#[test]
fn the_plan_minimises_the_quadratic_model() {
    let mut generator = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..20 {
        let quadratics = random(&mut generator);
        let sweep = backward(std::slice::from_ref(&quadratics), 0.0).expect("convex");
        let plan = followed(&sweep, &quadratics);
        let least = cost(&quadratics, &plan);
        assert!((least + sweep.expected).abs() < 1e-10 * sweep.expected, "{least} {}", sweep.expected);
        // Of a quadratic function central differences are its slope up to rounding, at a step of any length.
        for k in 0..plan.len() {
            for j in 0..NU {
                let at = |step: f64| {
                    let mut moved = plan.clone();
                    moved[k][j] += step;
                    cost(&quadratics, &moved)
                };
                let slope = (at(1.0) - at(-1.0)) / 2.0;
                assert!(slope.abs() < 1e-9 * (at(1.0) - least), "{slope}");
            }
        }
    }
}

/// Of several worlds: what the sweep expects is what all of them gain together under its k and K, with any
/// regularisation, and the first k is the best one under the later ones.
#[test]
fn the_plan_for_several_worlds_gains_what_is_expected() {
    let mut generator = ChaCha8Rng::seed_from_u64(2);
    for regularisation in [0.0, 0.1] {
        let mut worlds: Vec<_> = (0..3).map(|_| random(&mut generator)).collect();
        worlds.insert(1, Vec::new());
        let mut sweep = backward(&worlds, regularisation).expect("convex");
        let gained = |sweep: &Sweep| worlds.iter().map(|world| -cost(world, &followed(sweep, world))).sum::<f64>();
        let most = gained(&sweep);
        assert!((most - sweep.expected).abs() < 1e-10 * most.abs(), "{most} {}", sweep.expected);
        if regularisation == 0.0 {
            for j in 0..NU {
                let mut at = |step: f64| {
                    sweep.feed[0][j] += step;
                    let gained = gained(&sweep);
                    sweep.feed[0][j] -= step;
                    gained
                };
                let slope = (at(1.0) - at(-1.0)) / 2.0;
                assert!(slope.abs() < 1e-9 * (most - at(1.0)), "{slope}");
            }
        }
    }
}
