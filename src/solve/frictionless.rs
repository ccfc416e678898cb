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

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::Status;
use super::delassus::{Delassus, is_small};
use super::{lcp, qp};
use crate::error::{Error, Result};
use crate::math::largest::{larger, largest};

/// Velocities J v − l below this part of the largest number that they come from are rounding.
const ROUNDING: f64 = 1e-14;

/// One world's problem.
#[derive(Clone, Debug)]
pub struct Frictionless {
    mass: DMatrix<f64>,
    v_free: DVector<f64>,
    jacobian: DMatrix<f64>,
    bounds: DVector<f64>,
    dry: DVector<f64>,
    /// M's; none if M is not positive definite.
    factor: Option<Cholesky<f64, Dyn>>,
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
    /// v₊ (nv), finite. Zero unless solved or at the iteration limit.
    pub v_next: DVector<f64>,
    /// Λ (nc), N·s, not negative.
    pub impulse: DVector<f64>,
    /// Dry friction's impulse on each degree of freedom (nv), N·s or N·m·s.
    pub dry_impulse: DVector<f64>,
    /// How the solve ended. Solved means that the residual is below 1e-9 of the problem's largest velocity. Numbers too
    /// large to compute with are [`Status::BadInput`].
    pub status: Status,
    /// Iterations, pivots or sweeps.
    pub iterations: usize,
    /// [`Delassus::residual`] at Λ or that of the velocities that Λ gives, the larger, m/s.
    pub residual: f64,
}

/// What a method found: impulses of all rows, and whether it has proved that there are none.
pub(super) struct Found {
    pub(super) impulses: DVector<f64>,
    pub(super) iterations: usize,
    pub(super) infeasible: bool,
}

impl Found {
    fn nothing() -> Self {
        Self { impulses: DVector::zeros(0), iterations: 0, infeasible: false }
    }
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
        let factor = mass.clone().cholesky();
        Ok(Self { mass, v_free, jacobian, bounds, dry: DVector::zeros(nv), factor })
    }

    /// The same of the momentum M v_f, of sizes that fit; none if M is not positive definite.
    pub(crate) fn of_momentum(
        mass: DMatrix<f64>,
        momentum: &DVector<f64>,
        jacobian: DMatrix<f64>,
        bounds: DVector<f64>,
    ) -> Option<Self> {
        let factor = mass.clone().cholesky()?;
        let (v_free, dry) = (factor.solve(momentum), DVector::zeros(momentum.len()));
        Some(Self { mass, v_free, jacobian, bounds, dry, factor: Some(factor) })
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
        Some(self.delassus_of(self.factor.as_ref()?, &(0..self.nc()).collect::<Vec<_>>()))
    }

    /// The problem in impulses with these contacts only.
    fn delassus_of(&self, factor: &Cholesky<f64, Dyn>, contacts: &[usize]) -> Delassus {
        let (nc, dry) = (contacts.len(), self.dry().collect::<Vec<_>>());
        let n = nc + dry.len();
        let mut rows = DMatrix::zeros(n, self.nv());
        for (k, &i) in contacts.iter().enumerate() {
            rows.row_mut(k).copy_from(&self.jacobian.row(i));
        }
        for (k, &(dof, _)) in dry.iter().enumerate() {
            rows[(nc + k, dof)] = 1.0;
        }
        let response = factor.solve(&rows.transpose());
        let limit = |k: usize| dry.get(k.wrapping_sub(nc)).map(|d| d.1);
        let mut offset = &rows * &self.v_free;
        contacts.iter().enumerate().for_each(|(k, &i)| offset[k] -= self.bounds[i]);
        let matrix = &rows * &response;
        Delassus {
            matrix: (&matrix + matrix.transpose()) * 0.5,
            offset,
            lower: DVector::from_fn(n, |k, _| limit(k).map_or(0.0, |c| -c)),
            upper: DVector::from_fn(n, |k, _| limit(k).unwrap_or(f64::INFINITY)),
            response,
        }
    }

    /// Solves the problem. Only contacts that the motion would break take part: those that v_f breaks at first, then also
    /// those that the answer of the others breaks, until none is left.
    pub fn solve(&self, method: Method) -> Impact {
        let numbers = [self.mass.as_slice(), self.v_free.as_slice(), self.jacobian.as_slice(), self.bounds.as_slice()];
        let reach = &self.jacobian * &self.v_free;
        let sound =
            finite(numbers) && finite([reach.as_slice(), self.dry.as_slice()]) && self.dry.iter().all(|&c| c >= 0.0);
        let Some(factor) = sound.then_some(self.factor.as_ref()).flatten() else {
            return self.without_answer(Status::BadInput, 0);
        };
        let least = -ROUNDING * reach.amax().max(self.bounds.amax());
        let broken = |slack: &DVector<f64>, contacts: &[usize]| -> Vec<usize> {
            (0..self.nc()).filter(|i| slack[*i] < least && !contacts.contains(i)).collect()
        };
        let mut contacts = broken(&(reach - &self.bounds), &[]);
        let mut iterations = 0;
        loop {
            let delassus = self.delassus_of(factor, &contacts);
            if !finite([delassus.matrix.as_slice(), delassus.offset.as_slice(), delassus.response.as_slice()]) {
                return self.without_answer(Status::BadInput, iterations);
            }
            let found = if delassus.len() == 0 { Found::nothing() } else { self.find(method, &contacts, &delassus) };
            iterations += found.iterations;
            if found.infeasible {
                return self.without_answer(Status::Infeasible, iterations);
            }
            let v_next = &self.v_free + &delassus.response * &found.impulses;
            let slack = &self.jacobian * &v_next - &self.bounds;
            if !finite([found.impulses.as_slice(), v_next.as_slice(), slack.as_slice()]) {
                return self.without_answer(Status::BadInput, iterations);
            }
            let missed = self.missed(&contacts, &delassus, &found.impulses, &slack);
            let speed = [v_next.amax(), self.v_free.amax(), self.bounds.amax(), (&slack + &self.bounds).amax()];
            let solved = delassus.is_solved(&found.impulses) && is_small(missed, largest(speed));
            let more = broken(&slack, &contacts);
            if solved && !more.is_empty() {
                contacts.extend(more);
                contacts.sort_unstable();
                continue;
            }
            let others = largest(more.iter().map(|&i| slack[i]));
            let mut impact = Impact {
                v_next,
                status: if solved { Status::Solved } else { Status::IterationLimit },
                residual: larger(larger(delassus.residual(&found.impulses), missed), others),
                ..self.without_answer(Status::Solved, iterations)
            };
            let impulses = found.impulses.iter();
            contacts.iter().zip(impulses.clone()).for_each(|(&i, &impulse)| impact.impulse[i] = impulse);
            self.dry().zip(impulses.skip(contacts.len())).for_each(|((dof, _), &c)| impact.dry_impulse[dof] = c);
            return impact;
        }
    }

    /// Impulses of these contacts and of dry friction. Where an interior-point method breaks down, the active-set method that
    /// polishes its results starts from none.
    fn find(&self, method: Method, contacts: &[usize], delassus: &Delassus) -> Found {
        let found = match method {
            Method::PrimalQp => qp::primal(self, contacts, delassus),
            Method::DualQp => qp::dual(delassus),
            Method::Lemke => Some(lcp::lemke(delassus)),
            Method::GaussSeidel { sweeps } => Some(lcp::gauss_seidel(delassus, sweeps)),
        };
        let found = found.unwrap_or_else(|| Found {
            impulses: delassus.polish(DVector::zeros(delassus.len())),
            iterations: 0,
            infeasible: false,
        });
        // Rounding can lead pivoting astray where many contacts depend on each other.
        if method == Method::Lemke && !found.infeasible && !delassus.is_solved(&found.impulses) {
            let dual = qp::dual(delassus);
            let better = |dual: &Found| delassus.residual(&dual.impulses) < delassus.residual(&found.impulses);
            return dual.filter(better).unwrap_or(found);
        }
        found
    }

    /// How far the velocities that came of impulses are from complementarity, the largest |min(D_ii Λ_i, w_i)|, m/s: where contacts press
    /// against each other, velocities are what is left of impulses that may be 10⁹ times as large.
    fn missed(&self, contacts: &[usize], delassus: &Delassus, impulses: &DVector<f64>, slack: &DVector<f64>) -> f64 {
        let own = |k: usize| delassus.matrix[(k, k)] * impulses[k];
        largest(contacts.iter().enumerate().map(|(k, &i)| if own(k) < slack[i] { own(k) } else { slack[i] }))
    }

    fn without_answer(&self, status: Status, iterations: usize) -> Impact {
        let (v_next, impulse) = (DVector::zeros(self.nv()), DVector::zeros(self.nc()));
        Impact { dry_impulse: v_next.clone(), v_next, impulse, status, iterations, residual: 0.0 }
    }
}

fn finite<'a>(numbers: impl IntoIterator<Item = &'a [f64]>) -> bool {
    numbers.into_iter().flatten().all(|x| x.is_finite())
}
