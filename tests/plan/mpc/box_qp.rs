//! Quadratic programs in a box.

use fingertip_plan::inner::minimise;
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Compares with all 3ⁿ choices of numbers held at a bound.
#[test]
fn the_minimiser_is_the_best_of_all_faces() {
    let mut generator = ChaCha8Rng::seed_from_u64(1);
    let mut random = || generator.random_range(-1.0..1.0);
    for _ in 0..50 {
        let n = 4;
        let root = DMatrix::from_fn(n, n, |_, _| random());
        let h = &root * root.transpose() + DMatrix::identity(n, n) * 0.1;
        let g = DVector::from_fn(n, |_, _| 2.0 * random());
        let range: Vec<(f64, f64)> = (0..n).map(|_| (-0.5 + 0.4 * random(), 0.5 + 0.4 * random())).collect();
        let mut best = f64::INFINITY;
        for face in 0..3_usize.pow(4) {
            let held: Vec<Option<f64>> = (0..n)
                .map(|i| {
                    [None, Some(range[i].0), Some(range[i].1)][face / 3_usize.pow(u32::try_from(i).unwrap_or(0)) % 3]
                })
                .collect();
            let free: Vec<usize> = (0..n).filter(|&i| held[i].is_none()).collect();
            let mut x = DVector::from_fn(n, |i, _| held[i].unwrap_or(0.0));
            if !free.is_empty() {
                let slope = (&g + &h * &x).select_rows(&free);
                let Some(factor) = h.select_rows(&free).select_columns(&free).cholesky() else { continue };
                let step = factor.solve(&slope);
                free.iter().enumerate().for_each(|(k, &i)| x[i] -= step[k]);
            }
            if (0..n).all(|i| x[i] >= range[i].0 - 1e-12 && x[i] <= range[i].1 + 1e-12) {
                best = best.min(0.5 * x.dot(&(&h * &x)) + g.dot(&x));
            }
        }
        let found = minimise(&h, &g, &range, &DVector::zeros(n)).map(|m| 0.5 * m.x.dot(&(&h * &m.x)) + g.dot(&m.x));
        assert!(found.is_some_and(|found| (found - best).abs() < 1e-9), "{found:?} {best}");
    }
}
