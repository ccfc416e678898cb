//! Frictionless rigid contact in one world, in velocities.
//!
//! With the generalised inertia M, the free velocity v_f, the normal rows J (B against A), bounds l and the impulses
//! Λ = h f, the next velocity v₊ is the velocity nearest to v_f that satisfies the contacts:
//!
//! ```text
//! minimise ½ ‖v₊ − v_f‖²_M + Σ_i c_i |v₊_i|   subject to   J v₊ ≥ l
//! v₊ = v_f + M⁻¹ Jᵀ Λ        0 ≤ w = J v₊ − l  ⟂  Λ ≥ 0
//! ```
//!
//! c_i is the largest impulse of the dry friction in degree of freedom i, zero in most. The sum is the work that this
//! friction takes, and the minimiser obeys Coulomb's law: |Λ_i| ≤ c_i, against the motion. Each such friction adds a
//! row e_i to J, whose impulse lies between −c_i and c_i instead of being nonnegative. v₊ is unique; Λ need not be.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::delassus::Delassus;
use fingertip_shapes::{Error, Result};

/// Frictionless rigid contact of one world as a problem in velocities: M, v_f, J, l and the dry friction.
#[derive(Clone, Debug)]
pub struct Frictionless {
    pub(super) mass: DMatrix<f64>,
    pub(super) v_free: DVector<f64>,
    pub(super) jacobian: DMatrix<f64>,
    pub(super) bounds: DVector<f64>,
    pub(super) dry: DVector<f64>,
    /// The factor of M; none if M is not positive definite.
    pub(super) factor: Option<Cholesky<f64, Dyn>>,
}

impl Frictionless {
    /// The problem of M (nv, nv), v_f (nv), J (nc, nv) and l (nc). The solve finds numbers that are not finite and an M
    /// that is not positive definite: [`Status::BadInput`](super::Status::BadInput).
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

    /// The frictionless problem from the momentum M v_f instead of v_f, for sizes that already fit. None if M is not
    /// positive definite.
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

    /// This problem with dry friction in the joints. `dry` is the largest impulse h · friction in each degree of
    /// freedom (nv), not negative.
    ///
    /// # Errors
    /// If there is not exactly one number per degree of freedom.
    pub fn with_dry_friction(mut self, dry: DVector<f64>) -> Result<Self> {
        if dry.len() != self.nv() {
            let message = format!("expected {} largest impulses, got {}", self.nv(), dry.len());
            return Err(Error::invalid("dry friction", message));
        }
        self.dry = dry;
        Ok(self)
    }

    /// The number of degrees of freedom.
    pub fn nv(&self) -> usize {
        self.v_free.len()
    }

    /// The number of contacts.
    pub fn nc(&self) -> usize {
        self.bounds.len()
    }

    /// The mass matrix M (nv, nv).
    pub fn mass(&self) -> &DMatrix<f64> {
        &self.mass
    }

    /// The free velocity v_f (nv), without contacts and dry friction.
    pub fn v_free(&self) -> &DVector<f64> {
        &self.v_free
    }

    /// The contact Jacobian J (nc, nv): normal velocities of B against A for unit rates.
    pub fn jacobian(&self) -> &DMatrix<f64> {
        &self.jacobian
    }

    /// The bounds l (nc) of J v₊ ≥ l, m/s.
    pub fn bounds(&self) -> &DVector<f64> {
        &self.bounds
    }

    /// The degrees of freedom with dry friction, and its largest impulse in each.
    pub fn dry(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.dry.iter().copied().enumerate().filter(|&(_, limit)| limit > 0.0)
    }

    /// The problem in impulses, with the Delassus matrix D = J M⁻¹ Jᵀ. None if M is not positive definite.
    pub fn delassus(&self) -> Option<Delassus> {
        Some(self.delassus_of(self.factor.as_ref()?, &(0..self.nc()).collect::<Vec<_>>()))
    }

    /// The problem in impulses, with only these contacts.
    pub(super) fn delassus_of(&self, factor: &Cholesky<f64, Dyn>, contacts: &[usize]) -> Delassus {
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
}
