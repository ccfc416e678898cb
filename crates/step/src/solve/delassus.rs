//! Frictionless contact in impulses: D Λ + J v_f − l ⟂ Λ, with bounds on Λ.

use nalgebra::{DMatrix, DVector};

use fingertip_shapes::largest::largest;

/// A problem is solved if [`Delassus::residual`] is below this share of the problem's largest velocity: four digits
/// above the rounding of 1e4 operations.
const SOLVED: f64 = 1e-9;

/// The problem in impulses. Its rows are the contacts, then the degrees of freedom with dry friction.
#[derive(Clone, Debug)]
pub struct Delassus {
    /// D = J M⁻¹ Jᵀ, symmetric, positive semidefinite.
    pub matrix: DMatrix<f64>,
    /// J v_f − l, m/s: w at Λ = 0.
    pub offset: DVector<f64>,
    /// Smallest impulse: 0 for a contact, −c for dry friction.
    pub lower: DVector<f64>,
    /// Largest impulse: infinite for a contact, c for dry friction.
    pub upper: DVector<f64>,
    /// M⁻¹ Jᵀ, which turns impulses into changes of velocity.
    pub(super) response: DMatrix<f64>,
}

/// A method's result: the impulses of all rows, and whether it has proved that there are none.
pub(super) struct Found {
    pub(super) impulses: DVector<f64>,
    pub(super) iterations: usize,
    pub(super) infeasible: bool,
}

impl Found {
    pub(super) fn nothing() -> Self {
        Self { impulses: DVector::zeros(0), iterations: 0, infeasible: false }
    }
}

impl Delassus {
    /// The number of rows: contacts, then degrees of freedom with dry friction.
    pub(super) fn len(&self) -> usize {
        self.offset.len()
    }

    /// w = D Λ + J v_f − l, m/s.
    pub fn slack(&self, impulses: &DVector<f64>) -> DVector<f64> {
        &self.matrix * impulses + &self.offset
    }

    /// The complementarity residual of impulses Λ, m/s: the largest |D_ii Λ_i − clamp(D_ii Λ_i − w_i)|, clamped to D_ii
    /// times the bounds of Λ_i. For a contact that is |min(D_ii Λ_i, w_i)|. NaN if a number is NaN.
    pub fn residual(&self, impulses: &DVector<f64>) -> f64 {
        let slack = self.slack(impulses);
        largest((0..self.len()).map(|i| {
            let (own, [lower, upper]) = (self.matrix[(i, i)], self.range(i));
            let at = own * impulses[i];
            let target = at - slack[i];
            // Unlike `clamp`, this is defined whatever the numbers are.
            let nearest = if target < lower {
                lower
            } else if target > upper {
                upper
            } else {
                target
            };
            at - nearest
        }))
    }

    /// Is the residual as small as rounding allows?
    pub(super) fn is_solved(&self, impulses: &DVector<f64>) -> bool {
        is_small(self.residual(impulses), self.scale(impulses))
    }

    /// D_ii times the bounds of Λ_i.
    pub(super) fn range(&self, i: usize) -> [f64; 2] {
        let own = self.matrix[(i, i)];
        let upper = if self.upper[i].is_finite() { own * self.upper[i] } else { f64::INFINITY };
        [own * self.lower[i], upper]
    }

    /// The largest velocity in the problem, m/s.
    pub(super) fn scale(&self, impulses: &DVector<f64>) -> f64 {
        let own = (0..self.len()).map(|i| self.matrix[(i, i)] * impulses[i]);
        largest(own.chain(self.offset.iter().copied()))
    }
}

/// Does a residual say that a problem with velocities of this size is solved?
pub(super) fn is_small(residual: f64, scale: f64) -> bool {
    scale.is_finite() && residual <= SOLVED * scale
}
