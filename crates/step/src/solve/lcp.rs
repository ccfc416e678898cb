//! Linear complementarity problems: given M and q find z with 0 ≤ z ⟂ w = M z + q ≥ 0.
//!
//! Lemke's method (Cottle, Pang, Stone, *The Linear Complementarity Problem*, §4.4; lexicographic rule: §4.9) follows a
//! path of almost complementary bases of w − M z − d z₀ = q, from z₀ large to z₀ = 0. Among rows of equal ratio the one
//! that is lexicographically least in (q, B⁻¹) leaves, so no basis occurs twice. For a positive semidefinite M, a path
//! that ends on a ray proves that there is no solution.
//!
//! Projected Gauss–Seidel takes one variable after the other to z_i ← max(0, z_i − w_i/M_ii).

use nalgebra::{DMatrix, DVector};

use super::delassus::{Delassus, Found, is_small};
use super::status::Status;
use fingertip_shapes::largest::{larger, largest};
use fingertip_shapes::{Error, Result};

/// Entries of the scaled tableau below this are rounding.
const PIVOT: f64 = 1e-11;
/// Ratios nearer than this are equal.
const TIE: f64 = 1e-12;
/// Sweeps whose largest change is below this part of the largest value have converged.
const STILL: f64 = 1e-14;

/// A linear complementarity problem: find z with 0 ≤ z ⟂ w = M z + q ≥ 0.
#[derive(Clone, Debug)]
pub struct Lcp {
    matrix: DMatrix<f64>,
    vector: DVector<f64>,
}

/// Solution of a linear complementarity problem: z and w, with the status of the solve.
#[derive(Clone, Debug)]
pub struct LcpSolution {
    /// z. Zero if infeasible or not finite.
    pub z: DVector<f64>,
    /// w = M z + q.
    pub w: DVector<f64>,
    /// The outcome of the solve. Solved means that the residual is below 1e-9 of the largest |q_i| and |s_i z_i|.
    /// Infeasible means that Lemke's path ended on a ray.
    pub status: Status,
    /// The number of pivots or sweeps.
    pub iterations: usize,
    /// Largest |min(s_i z_i, w_i)|, with s_i = |M_ii|, or 1 where that is zero.
    pub residual: f64,
}

impl Lcp {
    /// The problem of M (n, n) and q (n).
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn new(matrix: DMatrix<f64>, vector: DVector<f64>) -> Result<Self> {
        let n = vector.len();
        if matrix.shape() != (n, n) {
            return Err(Error::invalid("LCP", format!("expected M ({n}, {n}), got {:?}", matrix.shape())));
        }
        Ok(Self { matrix, vector })
    }

    /// Solves by Lemke's method with at most `max_pivots` pivots. Usually it needs some tens more than there are
    /// variables.
    pub fn lemke(&self, max_pivots: usize) -> LcpSolution {
        if !self.is_finite() {
            return self.finish(DVector::zeros(self.vector.len()), Status::BadInput, 0);
        }
        let mut tableau = Tableau::new(self);
        let (status, pivots) = tableau.run(max_pivots);
        let z = match status {
            Status::Solved => self.refine(&tableau),
            _ => DVector::zeros(self.vector.len()),
        };
        self.finish(z, status, pivots)
    }

    /// Solves by at most `max_sweeps` projected Gauss–Seidel sweeps. They converge for symmetric positive semidefinite
    /// M with positive diagonal. If they do not converge, the last z is returned with [`Status::IterationLimit`].
    pub fn gauss_seidel(&self, max_sweeps: usize) -> LcpSolution {
        let n = self.vector.len();
        if !self.is_finite() {
            return self.finish(DVector::zeros(n), Status::BadInput, 0);
        }
        let (lower, upper) = (DVector::zeros(n), DVector::from_element(n, f64::INFINITY));
        let (z, sweeps, still) = sweep(&self.matrix, &self.vector, [&lower, &upper], max_sweeps);
        self.finish(z, if still { Status::Solved } else { Status::IterationLimit }, sweeps)
    }

    fn is_finite(&self) -> bool {
        self.matrix.iter().chain(self.vector.iter()).all(|x| x.is_finite())
    }

    fn finish(&self, z: DVector<f64>, status: Status, iterations: usize) -> LcpSolution {
        let w = &self.matrix * &z + &self.vector;
        let scale = |i: usize| if self.matrix[(i, i)] == 0.0 { 1.0 } else { self.matrix[(i, i)].abs() };
        let least = |a: f64, b: f64| -larger(-a, -b);
        let residual = largest((0..z.len()).map(|i| least(scale(i) * z[i], w[i])));
        if !z.iter().chain(w.iter()).all(|x| x.is_finite()) {
            let (z, w) = (DVector::zeros(z.len()), self.vector.map(|x| if x.is_finite() { x } else { 0.0 }));
            return LcpSolution { z, w, status: Status::BadInput, iterations, residual: 0.0 };
        }
        let size = largest((0..z.len()).map(|i| larger(self.vector[i].abs(), scale(i) * z[i])));
        let lost = status == Status::Solved && !is_small(residual, size);
        LcpSolution { z, w, status: if lost { Status::IterationLimit } else { status }, iterations, residual }
    }

    /// z of the final basis, from M and q themselves: M_BB z_B = −q_B. The tableau has accumulated the rounding of all
    /// pivots.
    fn refine(&self, tableau: &Tableau) -> DVector<f64> {
        let basic: Vec<usize> =
            (0..self.vector.len()).filter(|&i| tableau.basis.contains(&(self.vector.len() + i))).collect();
        let mut z = DVector::zeros(self.vector.len());
        if basic.is_empty() {
            return z;
        }
        let inner = DMatrix::from_fn(basic.len(), basic.len(), |a, b| self.matrix[(basic[a], basic[b])]);
        let right = DVector::from_fn(basic.len(), |a, _| -self.vector[basic[a]]);
        let rough = tableau.z(self);
        let Some(z_basic) = inner.lu().solve(&right) else { return rough };
        basic.iter().zip(z_basic.iter()).for_each(|(&i, &value)| z[i] = value.max(0.0));
        let residual = |z: &DVector<f64>| self.finish(z.clone(), Status::Solved, 0).residual;
        if z.iter().all(|x| x.is_finite()) && residual(&z) <= residual(&rough) { z } else { rough }
    }
}

/// w − M z − d z₀ = q with M and q scaled to unit diagonal and unit size; d is all ones.
struct Tableau {
    n: usize,
    /// Columns: w, z, z₀, right side. The columns of w hold B⁻¹.
    rows: DMatrix<f64>,
    /// The variable of each row: i for w_i, n + i for z_i, 2n for z₀.
    basis: Vec<usize>,
    /// z_i = size · scale_i · (scaled z)_i.
    scale: DVector<f64>,
    size: f64,
}

impl Tableau {
    fn new(lcp: &Lcp) -> Self {
        let n = lcp.vector.len();
        let own = |i: usize| lcp.matrix[(i, i)];
        let scale = DVector::from_fn(n, |i, _| if own(i) > 0.0 { own(i).sqrt().recip() } else { 1.0 });
        let vector = scale.component_mul(&lcp.vector);
        let size = if n == 0 || vector.amax() == 0.0 { 1.0 } else { vector.amax() };
        let mut rows = DMatrix::zeros(n, 2 * n + 2);
        for i in 0..n {
            rows[(i, i)] = 1.0;
            for j in 0..n {
                rows[(i, n + j)] = -scale[i] * lcp.matrix[(i, j)] * scale[j];
            }
            rows[(i, 2 * n)] = -1.0;
            rows[(i, 2 * n + 1)] = vector[i] / size;
        }
        Self { n, rows, basis: (0..n).collect(), scale, size }
    }

    fn run(&mut self, max_pivots: usize) -> (Status, usize) {
        let (artificial, right) = (2 * self.n, 2 * self.n + 1);
        // The last of the least: the other rows are then lexicographically positive.
        let worst = (0..self.n).min_by(|&i, &j| {
            let by_value = self.rows[(i, right)].total_cmp(&self.rows[(j, right)]);
            by_value.then(j.cmp(&i))
        });
        let Some(mut row) = worst.filter(|&i| self.rows[(i, right)] < 0.0) else { return (Status::Solved, 0) };
        let mut entering = artificial;
        for pivots in 1..=max_pivots {
            let leaving = self.pivot(row, entering);
            if leaving == artificial {
                return (Status::Solved, pivots);
            }
            entering = if leaving < self.n { leaving + self.n } else { leaving - self.n };
            match self.leaving_row(entering) {
                Some(next) => row = next,
                None => return (Status::Infeasible, pivots),
            }
        }
        (Status::IterationLimit, max_pivots)
    }

    /// The row of least ratio, z₀'s if it is among them, else the lexicographically least one.
    fn leaving_row(&self, entering: usize) -> Option<usize> {
        let right = 2 * self.n + 1;
        let ratio = |i: usize, column: usize| self.rows[(i, column)] / self.rows[(i, entering)];
        let mut rows: Vec<usize> = (0..self.n).filter(|&i| self.rows[(i, entering)] > PIVOT).collect();
        for column in std::iter::once(right).chain(0..self.n) {
            let least = rows.iter().map(|&i| ratio(i, column)).fold(f64::INFINITY, f64::min);
            rows.retain(|&i| ratio(i, column) <= least + TIE * (1.0 + least.abs()));
            if let Some(&artificial) = rows.iter().find(|&&i| self.basis[i] == 2 * self.n) {
                return Some(artificial);
            }
            if rows.len() < 2 {
                break;
            }
        }
        rows.first().copied()
    }

    /// Brings a variable into the basis and returns the one that leaves it.
    fn pivot(&mut self, row: usize, entering: usize) -> usize {
        let own = self.rows[(row, entering)];
        self.rows.row_mut(row).iter_mut().for_each(|x| *x /= own);
        let pivot_row = self.rows.row(row).into_owned();
        for i in (0..self.n).filter(|&i| i != row) {
            let factor = self.rows[(i, entering)];
            if factor != 0.0 {
                self.rows.row_mut(i).iter_mut().zip(pivot_row.iter()).for_each(|(x, p)| *x -= factor * p);
                self.rows[(i, entering)] = 0.0;
            }
        }
        std::mem::replace(&mut self.basis[row], entering)
    }

    fn z(&self, lcp: &Lcp) -> DVector<f64> {
        let mut z = DVector::zeros(lcp.vector.len());
        for (row, &variable) in self.basis.iter().enumerate() {
            if let Some(i) = variable.checked_sub(self.n).filter(|&i| i < self.n) {
                z[i] = (self.size * self.scale[i] * self.rows[(row, 2 * self.n + 1)]).max(0.0);
            }
        }
        z
    }
}

/// Contact impulses by Lemke's method. For an impulse between −c and c the variable is Λ + c ≥ 0. A second variable γ ≥
/// 0, with 2c − (Λ + c) ≥ 0 as its partner, is the velocity against which the impulse is at its largest:
///
/// ```text
/// ⎡ w     ⎤   ⎡ D   Eᵀ ⎤ ⎡ Λ − lower ⎤   ⎡ D lower + J v_f − l ⎤
/// ⎣ upper ⎦ = ⎣ −E  0  ⎦ ⎣ γ         ⎦ + ⎣ upper − lower       ⎦        E picks the rows with an upper bound
/// ```
pub(super) fn lemke(delassus: &Delassus) -> Found {
    let n = delassus.len();
    let boxed: Vec<usize> = (0..n).filter(|&i| delassus.upper[i].is_finite()).collect();
    let m = n + boxed.len();
    let mut matrix = DMatrix::zeros(m, m);
    matrix.view_mut((0, 0), (n, n)).copy_from(&delassus.matrix);
    let mut vector = DVector::zeros(m);
    vector.rows_mut(0, n).copy_from(&delassus.slack(&delassus.lower));
    for (k, &i) in boxed.iter().enumerate() {
        matrix[(i, n + k)] = 1.0;
        matrix[(n + k, i)] = -1.0;
        vector[n + k] = delassus.upper[i] - delassus.lower[i];
    }
    let solution = Lcp { matrix, vector }.lemke(100 + 20 * m);
    let impulses = DVector::from_fn(n, |i, _| (solution.z[i] + delassus.lower[i]).min(delassus.upper[i]));
    Found { impulses, iterations: solution.iterations, infeasible: solution.status == Status::Infeasible }
}

/// Contact impulses by projected Gauss–Seidel.
pub(super) fn gauss_seidel(delassus: &Delassus, max_sweeps: usize) -> Found {
    let Delassus { matrix, offset, lower, upper, .. } = delassus;
    let (impulses, iterations, _) = sweep(matrix, offset, [lower, upper], max_sweeps);
    Found { impulses, iterations, infeasible: false }
}

/// Projected Gauss–Seidel within bounds: z, the number of sweeps, and whether it converged.
fn sweep(
    matrix: &DMatrix<f64>,
    vector: &DVector<f64>,
    [lower, upper]: [&DVector<f64>; 2],
    max_sweeps: usize,
) -> (DVector<f64>, usize, bool) {
    let n = vector.len();
    let mut z = DVector::from_fn(n, |i, _| 0.0_f64.clamp(lower[i], upper[i]));
    for sweep in 1..=max_sweeps {
        let (mut change, mut largest) = (0.0_f64, 0.0_f64);
        for i in 0..n {
            let own = matrix[(i, i)];
            if own > 0.0 {
                // The matrix is symmetric: its column is contiguous.
                let w = matrix.column(i).dot(&z) + vector[i];
                let next = (z[i] - w / own).clamp(lower[i], upper[i]);
                change = change.max(own * (next - z[i]).abs());
                largest = largest.max(own * next.abs());
                z[i] = next;
            }
        }
        if change <= STILL * largest {
            return (z, sweep, true);
        }
    }
    (z, max_sweeps, false)
}
