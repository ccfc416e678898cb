//! The normal equations of poses by touch, beside a dense problem and differences.

use fingertip::description::Scene;
use fingertip::feel::Options;
use fingertip::math::largest::largest;
use fingertip::mpc::Simulator;
use fingertip_plan::inner::{Chain, Net, Of, Period, Terms};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Against the dense problem.
#[test]
fn blocks_solve_as_the_whole() {
    let (n, nv) = (4, 3);
    let mut seed = 1_u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(seed >> 8) / f64::from(1 << 24) - 0.5
    };
    let mut chain = Chain::new(n, nv);
    let mut dense = DMatrix::<f64>::zeros(n * nv, n * nv);
    for k in 0..n {
        let factor = DMatrix::from_fn(nv, nv, |_, _| random());
        chain.own[k] = factor.tr_mul(&factor) + DMatrix::identity(nv, nv) * 2.0;
        chain.right[k] = DVector::from_fn(nv, |_, _| random());
        dense.view_mut((k * nv, k * nv), (nv, nv)).copy_from(&chain.own[k]);
        if k > 0 {
            chain.below[k - 1] = DMatrix::from_fn(nv, nv, |_, _| random());
            dense.view_mut((k * nv, (k - 1) * nv), (nv, nv)).copy_from(&chain.below[k - 1]);
            dense.view_mut(((k - 1) * nv, k * nv), (nv, nv)).copy_from(&chain.below[k - 1].transpose());
        }
    }
    let right = DVector::from_iterator(n * nv, chain.right.iter().flatten().copied());
    let inverse = dense.try_inverse().unwrap();
    let (whole, blocks) = (&inverse * right, chain.solve(0.0).unwrap());
    let off = (whole - DVector::from_iterator(n * nv, blocks.iter().flatten().copied())).amax();
    assert!(off < 1e-12, "{off}");
    let last = chain.last().unwrap();
    let off = (&last.covariance - inverse.view(((n - 1) * nv, (n - 1) * nv), (nv, nv))).amax();
    assert!(off < 1e-12, "{off}");
    let off = (last.delta - &chain.solve(0.0).unwrap()[n - 1]).amax();
    assert!(off < 1e-12, "{off}");
    let off = (last.information * last.covariance - DMatrix::identity(nv, nv)).amax();
    assert!(off < 1e-12, "{off}");
    chain.own[0].fill(0.0);
    assert!(chain.solve(0.0).is_none() && chain.last().is_none(), "H is not positive");
}

/// The right side of the normal equations, beside central differences of the cost: a cube in four fingers, which
/// are said to touch it, sticks, slides and overlaps.
#[test]
fn the_gradient_is_that_of_differences() {
    const SIZE: f64 = 1e-6;
    let simulator = Simulator::new(&Scene::load("assets/scenes/allegro_cube.toml").unwrap(), 2).unwrap();
    let simulator = simulator.with_kappa(1e3).unwrap();
    let model = simulator.model();
    let tips = ["index", "middle", "thumb"].map(|finger| format!("hand/{finger}_tip"));
    let names = tips.iter().map(String::as_str).chain(["palm"]);
    let nets = names.map(|on| Net::new(model, "force", on, Some("cube")).unwrap()).collect();
    let options = Options { slip: 1e-3, gap: 1e-3, start: [1e-2, 0.1], ..Options::default() };
    let terms = Terms::new(&simulator, nets, &options);
    let mut generator = ChaCha8Rng::seed_from_u64(5);
    let mut random = |size: f64| DVector::from_fn(model.nv(), |_, _| size * generator.random_range(-1.0..1.0));
    let home = model.tree.home();
    let prior = terms.prior(model, &home);
    let x: Vec<Vec<f64>> = (0..4).map(|_| simulator.plus(&home, random(0.01).as_slice()).unwrap()).collect();
    let periods: Vec<Period> = (0..3)
        .map(|k| Period {
            u: simulator.positions(&x[k]),
            measured: simulator.plus(&x[k + 1], random(1e-3).as_slice()).unwrap(),
            force: random(1.0).as_slice()[..12].to_vec(),
        })
        .collect();
    let before = [1.0; 12];
    let given = (&before[..], &periods[..]);
    let at = terms.expected(&simulator, given, x.clone()).unwrap();
    let deviations = terms.deviations(&simulator, &at).unwrap();
    let (chain, _) = terms.chain(&simulator, &periods, &at, &prior, &deviations).unwrap();
    let slips = at.residuals.iter().flatten().filter(|one| matches!(one.of, Of::Slip(_))).count();
    assert!(slips >= 6, "{slips} slips");
    for k in 0..4 {
        let scale = largest(chain.right[k].iter().copied());
        for dof in 0..model.nv() {
            let cost = |size: f64| {
                let mut moved = x.clone();
                let mut by = vec![0.0; model.nv()];
                by[dof] = size;
                moved[k] = simulator.plus(&x[k], &by).unwrap();
                let at = terms.expected(&simulator, given, moved).unwrap();
                terms.cost(&simulator, &at, &prior, &deviations).unwrap()
            };
            let slope = (cost(-SIZE) - cost(SIZE)) / (2.0 * SIZE);
            // Turns by hundredths of a radian, to first order.
            assert!(
                (slope - chain.right[k][dof]).abs() < 0.02 * scale,
                "{k}, {dof}: {slope} and {}",
                chain.right[k][dof]
            );
        }
    }
}
