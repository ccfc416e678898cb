//! Frictionless rigid contact of one world, in velocities.
//!
//! With the generalised inertia M, the free velocity v_f, the normal rows J (B against A), bounds l and the impulses
//! Λ = h f, the next velocity v₊ is the one nearest to v_f that respects the contacts:
//!
//! ```text
//! minimise ½ ‖v₊ − v_f‖²_M + Σ_i c_i |v₊_i|   subject to   J v₊ ≥ l
//! v₊ = v_f + M⁻¹ Jᵀ Λ        0 ≤ w = J v₊ − l  ⟂  Λ ≥ 0
//! ```
//!
//! c_i is the largest impulse of the dry friction in degree of freedom i (zero in most): the sum is the work that it
//! takes, and its minimiser is Coulomb's law, |Λ_i| ≤ c_i against the motion. Each such friction is one more row e_i of
//! J, with an impulse between −c_i and c_i instead of one that is not negative. v₊ is unique; Λ need not be.

use nalgebra::{DMatrix, DVector};

use super::Status;
use super::{lcp, qp};
use crate::error::{Error, Result};

/// A problem is solved where [`Delassus::residual`] is below this part of the problem's largest velocity: four digits
/// above what rounding leaves after 1e4 operations.
const SOLVED: f64 = 1e-9;

/// One world's problem.
#[derive(Clone, Debug)]
pub struct Frictionless {
    mass: DMatrix<f64>,
    v_free: DVector<f64>,
    jacobian: DMatrix<f64>,
    bounds: DVector<f64>,
    dry: DVector<f64>,
}

/// How to solve a [`Frictionless`] problem. All give the same v₊ up to their accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The quadratic program in v₊, by an interior-point method.
    PrimalQp,
    /// The quadratic program in Λ with the Delassus matrix, by an interior-point method.
    DualQp,
    /// The linear complementarity problem in Λ, by Lemke's pivoting; where rounding has led it astray, by the dual program.
    Lemke,
    /// The same by projected Gauss–Seidel sweeps, which converge slowly where contacts depend on each other.
    GaussSeidel {
        /// Sweeps after which it gives up, 100 … 100,000.
        sweeps: usize,
    },
}

/// What the contacts did to the velocity.
#[derive(Clone, Debug)]
pub struct Impact {
    /// v₊ (nv). Zero unless solved or at the iteration limit.
    pub v_next: DVector<f64>,
    /// Λ (nc), N·s, not negative.
    pub impulse: DVector<f64>,
    /// Dry friction's impulse on each degree of freedom (nv), N·s or N·m·s.
    pub dry_impulse: DVector<f64>,
    /// How the solve ended.
    pub status: Status,
    /// Iterations, pivots or sweeps.
    pub iterations: usize,
    /// [`Delassus::residual`] at Λ, m/s.
    pub residual: f64,
}

/// The problem in impulses: rows of contacts, then of the degrees of freedom with dry friction.
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
    /// M⁻¹ Jᵀ.
    response: DMatrix<f64>,
}

/// What a method found: impulses of all rows, and whether it has proved that there are none.
pub(super) struct Found {
    pub(super) impulses: DVector<f64>,
    pub(super) iterations: usize,
    pub(super) infeasible: bool,
}

impl Frictionless {
    /// The problem of M (nv, nv), v_f (nv), J (nc, nv) and l (nc). Numbers that are not finite, or an M that is not
    /// positive definite, are found by the solve: [`Status::BadInput`].
    ///
    /// # Errors
    /// If the sizes do not fit.
    pub fn new(mass: DMatrix<f64>, v_free: DVector<f64>, jacobian: DMatrix<f64>, bounds: DVector<f64>) -> Result<Self> {
        let (nv, nc) = (v_free.len(), bounds.len());
        for (name, found, expected) in [("M", mass.shape(), (nv, nv)), ("J", jacobian.shape(), (nc, nv))] {
            if found != expected {
                return Err(Error::invalid(
                    "frictionless contact",
                    format!("expected {name} {expected:?}, got {found:?}"),
                ));
            }
        }
        Ok(Self { mass, v_free, jacobian, bounds, dry: DVector::zeros(nv) })
    }

    /// The same with dry friction: the largest impulse h · friction in each degree of freedom (nv), not negative.
    ///
    /// # Errors
    /// If there is not one number for each degree of freedom.
    pub fn with_dry_friction(mut self, dry: DVector<f64>) -> Result<Self> {
        if dry.len() != self.nv() {
            let message = format!("expected {} largest impulses, got {}", self.nv(), dry.len());
            return Err(Error::invalid("dry friction", message));
        }
        self.dry = dry;
        Ok(self)
    }

    /// Degrees of freedom.
    pub fn nv(&self) -> usize {
        self.v_free.len()
    }

    /// Contacts.
    pub fn nc(&self) -> usize {
        self.bounds.len()
    }

    /// M.
    pub fn mass(&self) -> &DMatrix<f64> {
        &self.mass
    }

    /// v_f.
    pub fn v_free(&self) -> &DVector<f64> {
        &self.v_free
    }

    /// J.
    pub fn jacobian(&self) -> &DMatrix<f64> {
        &self.jacobian
    }

    /// l.
    pub fn bounds(&self) -> &DVector<f64> {
        &self.bounds
    }

    /// The degrees of freedom with dry friction, and its largest impulse there.
    pub fn dry(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.dry.iter().copied().enumerate().filter(|&(_, limit)| limit > 0.0)
    }

    /// The problem in impulses; none if M is not positive definite.
    pub fn delassus(&self) -> Option<Delassus> {
        let (nc, dry) = (self.nc(), self.dry().collect::<Vec<_>>());
        let n = nc + dry.len();
        let mut rows = DMatrix::zeros(n, self.nv());
        rows.rows_mut(0, nc).copy_from(&self.jacobian);
        for (k, &(dof, _)) in dry.iter().enumerate() {
            rows[(nc + k, dof)] = 1.0;
        }
        let response = self.mass.clone().cholesky()?.solve(&rows.transpose());
        let limit = |k: usize| dry.get(k.wrapping_sub(nc)).map(|d| d.1);
        let mut offset = &rows * &self.v_free;
        offset.rows_mut(0, nc).zip_apply(&self.bounds, |x, bound| *x -= bound);
        let matrix = &rows * &response;
        Some(Delassus {
            matrix: (&matrix + matrix.transpose()) * 0.5,
            offset,
            lower: DVector::from_fn(n, |k, _| limit(k).map_or(0.0, |c| -c)),
            upper: DVector::from_fn(n, |k, _| limit(k).unwrap_or(f64::INFINITY)),
            response,
        })
    }

    /// Solves the problem.
    pub fn solve(&self, method: Method) -> Impact {
        let numbers = [self.mass.as_slice(), self.v_free.as_slice(), self.jacobian.as_slice(), self.bounds.as_slice()];
        let finite = numbers.into_iter().flatten().all(|x| x.is_finite());
        let sound = finite && self.dry.iter().all(|c| c.is_finite() && *c >= 0.0);
        let Some(delassus) = sound.then(|| self.delassus()).flatten() else {
            return self.without_answer(Status::BadInput, 0);
        };
        if delassus.len() == 0 {
            return Impact {
                v_next: self.v_free.clone(),
                status: Status::Solved,
                ..self.without_answer(Status::Solved, 0)
            };
        }
        let found = match method {
            Method::PrimalQp => qp::primal(self),
            Method::DualQp => qp::dual(&delassus),
            Method::Lemke => lcp::lemke(&delassus),
            Method::GaussSeidel { sweeps } => lcp::gauss_seidel(&delassus, sweeps),
        };
        let Some(Found { impulses, iterations, infeasible: false }) = found else {
            let (status, iterations) = found.map_or((Status::BadInput, 0), |f| (Status::Infeasible, f.iterations));
            return self.without_answer(status, iterations);
        };
        let impulses = match method {
            // Rounding can lead pivoting astray where many contacts depend on each other.
            Method::Lemke if !delassus.is_solved(&impulses) => match qp::dual(&delassus) {
                Some(dual) if delassus.residual(&dual.impulses) < delassus.residual(&impulses) => dual.impulses,
                _ => impulses,
            },
            _ => impulses,
        };
        let (residual, solved) = (delassus.residual(&impulses), delassus.is_solved(&impulses));
        let mut dry_impulse = DVector::zeros(self.nv());
        for (k, (dof, _)) in self.dry().enumerate() {
            dry_impulse[dof] = impulses[self.nc() + k];
        }
        Impact {
            v_next: &self.v_free + &delassus.response * &impulses,
            impulse: impulses.rows(0, self.nc()).into_owned(),
            dry_impulse,
            status: if solved { Status::Solved } else { Status::IterationLimit },
            iterations,
            residual,
        }
    }

    fn without_answer(&self, status: Status, iterations: usize) -> Impact {
        let (v_next, impulse) = (DVector::zeros(self.nv()), DVector::zeros(self.nc()));
        Impact { dry_impulse: v_next.clone(), v_next, impulse, status, iterations, residual: 0.0 }
    }
}

impl Delassus {
    /// Rows.
    pub(super) fn len(&self) -> usize {
        self.offset.len()
    }

    /// w = D Λ + J v_f − l, m/s.
    pub fn slack(&self, impulses: &DVector<f64>) -> DVector<f64> {
        &self.matrix * impulses + &self.offset
    }

    /// How far impulses are from complementarity: the largest |D_ii Λ_i − clamp(D_ii Λ_i − w_i)|, clamped to D_ii times
    /// Λ_i's bounds, m/s. For a contact that is |min(D_ii Λ_i, w_i)|.
    pub fn residual(&self, impulses: &DVector<f64>) -> f64 {
        let slack = self.slack(impulses);
        (0..self.len())
            .map(|i| {
                let (own, [lower, upper]) = (self.matrix[(i, i)], self.range(i));
                let at = own * impulses[i];
                (at - (at - slack[i]).clamp(lower, upper)).abs()
            })
            .fold(0.0, f64::max)
    }

    /// Is the residual as small as rounding allows?
    fn is_solved(&self, impulses: &DVector<f64>) -> bool {
        self.residual(impulses) <= SOLVED * self.scale(impulses)
    }

    /// D_ii times the bounds of Λ_i.
    fn range(&self, i: usize) -> [f64; 2] {
        let own = self.matrix[(i, i)];
        let upper = if self.upper[i].is_finite() { own * self.upper[i] } else { f64::INFINITY };
        [own * self.lower[i], upper]
    }

    /// The largest velocity in the problem.
    fn scale(&self, impulses: &DVector<f64>) -> f64 {
        let own = (0..self.len()).map(|i| self.matrix[(i, i)] * impulses[i].abs());
        own.fold(self.offset.amax(), f64::max)
    }

    /// Sharpens impulses that are nearly right, again and again while that helps: who was taken for free and meets a bound
    /// is on it the next time.
    pub(super) fn polish(&self, mut impulses: DVector<f64>) -> DVector<f64> {
        /// Rows that change sides take a pass each; among contacts that depend on each other that may be many.
        const PASSES: usize = 20;
        for _ in 0..PASSES {
            match self.sharpened(&impulses) {
                Some(sharp) if self.residual(&sharp) < self.residual(&impulses) => impulses = sharp,
                _ => break,
            }
        }
        impulses
    }

    /// Whoever is on a bound stays there, the others' w becomes zero by the smallest change. With the free rows F,
    /// D_FF (Λ' − Λ)_F = −w_F; D_FF may be singular, so that this is solved with a proximal term, repeatedly.
    fn sharpened(&self, impulses: &DVector<f64>) -> Option<DVector<f64>> {
        /// Proximal term relative to D's diagonal: each repetition leaves 1e-10 over the eigenvalue of what was there.
        const PROXIMAL: f64 = 1e-10;
        const REPETITIONS: usize = 4;
        let slack = self.slack(impulses);
        let mut sharp = impulses.clone();
        let mut free = Vec::new();
        for i in 0..self.len() {
            let (own, [lower, upper]) = (self.matrix[(i, i)], self.range(i));
            let target = own * impulses[i] - slack[i];
            if target <= lower {
                sharp[i] = self.lower[i];
            } else if target >= upper {
                sharp[i] = self.upper[i];
            } else {
                free.push(i);
            }
        }
        let inner = DMatrix::from_fn(free.len(), free.len(), |a, b| {
            let own = self.matrix[(free[a], free[b])];
            if a == b { own * (1.0 + PROXIMAL) } else { own }
        });
        let factor = inner.cholesky()?;
        for _ in 0..REPETITIONS {
            let slack = self.slack(&sharp);
            let change = factor.solve(&DVector::from_fn(free.len(), |a, _| -slack[free[a]]));
            for (a, &i) in free.iter().enumerate() {
                sharp[i] = (sharp[i] + change[a]).clamp(self.lower[i], self.upper[i]);
            }
        }
        Some(sharp)
    }
}
