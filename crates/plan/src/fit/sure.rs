//! How sure the numbers are, and what the logs cannot tell.

use candle_core::Result;
use nalgebra::DMatrix;

use super::search::{Equations, Found, Problem, UNSEEN, inverse};
use super::unknown::Scale;

/// Standard deviation of a combination of numbers, as a part of them, from which on the logs do not tell it.
const BLIND: f64 = 1.0;
/// Numbers with less than this part of the largest share are left out of a combination.
const SHARE: f64 = 0.1;

/// A number that was looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Its name, as it was asked for.
    pub name: String,
    /// Its unit; empty for a number without one, and for a common factor.
    pub unit: &'static str,
    /// Is it a common factor of parameters that differ?
    pub is_factor: bool,
    /// What counts as much of it; none for what is positive by nature and changes by factors.
    pub much: Option<f64>,
    /// Where the search began.
    pub start: f64,
    /// The value that explains the logs best, in `unit`.
    pub value: f64,
    /// Its standard error; infinite where neither the logs nor a prior tell it, NaN where it is at a bound.
    pub error: f64,
    /// Do the logs tell it? Else it is part of a combination that they do not.
    pub is_told: bool,
}

/// A combination of numbers that the logs do not tell: they may change along it by as much as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Blind {
    /// The numbers, as places in [`Fit::numbers`](super::Fit::numbers), and by how much they change together, the most
    /// of them by 1: e-fold, or by what counts as much of them ([`Fitted::much`]).
    pub numbers: Vec<(usize, f64)>,
    /// The standard error of a change by 1; infinite where nothing is seen of it at all.
    pub error: f64,
}

/// The numbers with their standard errors, and what the logs do not tell.
pub(super) fn sure(problem: &Problem, found: &Found) -> Result<(Vec<Fitted>, Vec<Blind>)> {
    let parts = problem.normals(found)?;
    let seen = Equations::new(&parts, &vec![0.0; parts.len()]).h;
    let (values, bounds) = (problem.values(&found.x), problem.bounds());
    let n = values.len();
    let at_bound = |k: &usize| found.x[*k] <= bounds[*k].0 || found.x[*k] >= bounds[*k].1;
    let free: Vec<usize> = (0..n).filter(|k| !at_bound(k)).collect();
    let of_free = seen.select_rows(&free).select_columns(&free);
    let mut blind = Vec::new();
    if !free.is_empty() {
        let eigen = of_free.symmetric_eigen();
        let largest = eigen.eigenvalues.max();
        for (k, &value) in eigen.eigenvalues.iter().enumerate() {
            let way = eigen.eigenvectors.column(k);
            let most = way.amax();
            let error =
                if value > UNSEEN * largest.max(0.0) && value > 0.0 { most / value.sqrt() } else { f64::INFINITY };
            if error < BLIND {
                continue;
            }
            let sign = if way[way.iamax()] < 0.0 { -most } else { most };
            let numbers = way.iter().enumerate().map(|(i, x)| (free[i], x / sign));
            let mut numbers: Vec<(usize, f64)> = numbers.filter(|(_, x)| x.abs() > SHARE).collect();
            numbers.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            blind.push(Blind { numbers, error });
        }
        blind.sort_by(|a, b| b.error.total_cmp(&a.error));
    }
    let (h, _) = problem.with_priors(&found.x, &seen, &nalgebra::DVector::zeros(n));
    let h = h.select_rows(&free).select_columns(&free);
    let covariance = inverse(&h);
    let largest = h.diagonal().iter().fold(0.0, |most: f64, x| most.max(*x));
    let error = |k: usize, scale: f64| match free.iter().position(|&own| own == k) {
        None => f64::NAN,
        Some(i) if h[(i, i)] <= UNSEEN * largest || is_unseen(&h, i) => f64::INFINITY,
        Some(i) => covariance[(i, i)].max(0.0).sqrt() * scale,
    };
    let fitted = |(k, (unknown, &value)): (usize, (&super::Unknown, &f64))| Fitted {
        name: unknown.name.clone(),
        unit: unknown.unit,
        is_factor: unknown.is_factor,
        much: if let Scale::Linear(much) = unknown.scale { Some(much) } else { None },
        start: unknown.value,
        value,
        error: error(k, unknown.rate(value)),
        is_told: free.contains(&k) && !blind.iter().any(|one| one.numbers.iter().any(|(own, _)| *own == k)),
    };
    Ok((problem.unknowns.iter().zip(&values).enumerate().map(fitted).collect(), blind))
}

/// Is a number part of what H, scaled to a unit diagonal, does not see?
fn is_unseen(h: &DMatrix<f64>, i: usize) -> bool {
    let root = h.diagonal().map(|x| if x > 0.0 { 1.0 / x.sqrt() } else { 0.0 });
    let scaled = DMatrix::from_fn(h.nrows(), h.ncols(), |i, j| h[(i, j)] * root[i] * root[j]);
    let eigen = scaled.symmetric_eigen();
    let part = |k: usize| eigen.eigenvectors[(i, k)].powi(2);
    (0..h.nrows()).any(|k| eigen.eigenvalues[k] <= UNSEEN && part(k) > UNSEEN.sqrt())
}

/// Residuals that follow each other are alike from this correlation on.
const ALIKE: f64 = 0.3;

impl super::Fit {
    /// What the model cannot do of what was measured, in words, if residuals tell of something.
    pub fn lack(&self) -> Option<String> {
        (self.correlation > ALIKE).then(|| {
            format!(
                "residuals that follow each other are alike ({:.2}): the model cannot do all that was measured, and standard \
                 errors are too small",
                self.correlation
            )
        })
    }

    /// A combination that the logs do not tell, in words: `mass.ball × 2 with stiffness × 1.97`.
    pub fn describe(&self, blind: &Blind) -> String {
        let one = |&(k, by): &(usize, f64)| {
            let Fitted { name, much, unit, .. } = &self.numbers[k];
            match much {
                None => format!("{name} × {:.3}", by.exp2()),
                Some(much) => format!("{name} {:+.3} {unit}", by * much),
            }
        };
        blind.numbers.iter().map(one).collect::<Vec<_>>().join(" with ")
    }
}
