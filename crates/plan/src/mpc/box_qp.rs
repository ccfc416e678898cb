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
pub struct BoxMinimum {
    pub x: DVector<f64>,
    pub(super) free: Vec<usize>,
    pub(super) factor: Option<Cholesky<f64, Dyn>>,
}

/// Minimises ½ kᵀH k + gᵀk in a box. None if H is not positive definite on the free numbers.
pub fn minimise(h: &DMatrix<f64>, g: &DVector<f64>, range: &[(f64, f64)], start: &DVector<f64>) -> Option<BoxMinimum> {
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
