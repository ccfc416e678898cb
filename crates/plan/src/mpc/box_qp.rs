//! min ½ kᵀH k + gᵀk in a box, by projected Newton steps (Bertsekas 1982; as in Tassa, Mansard, Todorov,
//! *Control-limited differential dynamic programming*, 2014).

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::command::within;

/// Newton steps at most.
const STEPS: usize = 30;
/// Halvings of a step at most.
const HALVINGS: i32 = 12;
/// Gradient in the free numbers, relative to the whole gradient, that counts as zero.
const ZERO: f64 = 1e-10;

/// The minimiser, which of its numbers are free, and the factor of H for those.
pub(crate) struct BoxMinimum {
    pub(crate) x: DVector<f64>,
    pub(super) free: Vec<usize>,
    pub(super) factor: Option<Cholesky<f64, Dyn>>,
}

/// Minimises ½ kᵀH k + gᵀk in a box. None if H is not positive definite on the free numbers.
pub(crate) fn minimise(
    h: &DMatrix<f64>,
    g: &DVector<f64>,
    range: &[(f64, f64)],
    start: &DVector<f64>,
) -> Option<BoxMinimum> {
    let n = g.len();
    // The value; leaves the gradient in `slope`.
    let value = |x: &DVector<f64>, slope: &mut DVector<f64>| {
        slope.gemv(1.0, h, x, 0.0);
        let value = 0.5 * x.dot(slope) + g.dot(x);
        *slope += g;
        value
    };
    let (mut x, mut slope) = (DVector::from_fn(n, |i, _| within(start[i], range[i])), DVector::zeros(n));
    let mut at = value(&x, &mut slope);
    let (mut next, mut next_slope) = (x.clone(), slope.clone());
    let (mut free, mut factor) = (Vec::new(), None);
    for step in 0..=STEPS {
        let is_held =
            |i: &usize| (x[*i] <= range[*i].0 && slope[*i] > 0.0) || (x[*i] >= range[*i].1 && slope[*i] < 0.0);
        let now: Vec<usize> = (0..n).filter(|i| !is_held(i)).collect();
        if step == 0 || now != free {
            free = now;
            factor = match free.as_slice() {
                [] => None,
                free => Some(h.select_rows(free).select_columns(free).cholesky()?),
            };
        }
        let Some(factor) = &factor else { break };
        let mut way = slope.select_rows(&free);
        if step == STEPS || way.norm() <= ZERO * (1.0 + g.norm()) {
            break;
        }
        factor.solve_mut(&mut way);
        let mut shares = (0..HALVINGS).map(|k| 0.5_f64.powi(k));
        let found = shares.find_map(|share| {
            next.copy_from(&x);
            for (&i, way) in free.iter().zip(&way) {
                next[i] = within(x[i] - share * way, range[i]);
            }
            let value = value(&next, &mut next_slope);
            (value < at).then_some(value)
        });
        let Some(value) = found else { break };
        at = value;
        std::mem::swap(&mut x, &mut next);
        std::mem::swap(&mut slope, &mut next_slope);
    }
    Some(BoxMinimum { x, free, factor })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

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
                        [None, Some(range[i].0), Some(range[i].1)]
                            [face / 3_usize.pow(u32::try_from(i).unwrap_or(0)) % 3]
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
}
