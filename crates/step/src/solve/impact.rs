//! Solves frictionless rigid contact: the effect of hard contacts on a velocity.

use nalgebra::DVector;

use super::delassus::{Delassus, Found, is_small};
use super::frictionless::Frictionless;
use super::status::Status;
use super::{lcp, qp};
use fingertip_shapes::largest::{larger, largest};

/// Velocities J v − l below this share of the largest number that they are computed from are rounding.
const ROUNDING: f64 = 1e-14;

/// The methods that solve a [`Frictionless`] problem. All give the same v₊ up to their accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The quadratic program in v₊, solved by an interior-point method.
    PrimalQp,
    /// The quadratic program in Λ with the Delassus matrix, solved by an interior-point method.
    DualQp,
    /// The linear complementarity problem in Λ, by Lemke's pivoting, or by the dual program if rounding spoils the
    /// pivoting.
    Lemke,
    /// Solves the linear complementarity problem by projected Gauss–Seidel sweeps. They converge slowly when contacts
    /// depend on each other.
    GaussSeidel {
        /// The most sweeps, 100 … 100,000.
        sweeps: usize,
    },
}

/// The effect of the contacts on the velocity.
#[derive(Clone, Debug)]
pub struct Impact {
    /// v₊ (nv), finite. Zero unless the status is solved or iteration limit.
    pub v_next: DVector<f64>,
    /// Λ (nc), N·s, not negative.
    pub impulse: DVector<f64>,
    /// Dry friction's impulse on each degree of freedom (nv), N·s or N·m·s.
    pub dry_impulse: DVector<f64>,
    /// The outcome of the solve. Solved means that the residual is below 1e-9 of the problem's largest velocity.
    /// Numbers that are too large to compute with are [`Status::BadInput`].
    pub status: Status,
    /// The number of iterations, pivots or sweeps.
    pub iterations: usize,
    /// The larger of [`Delassus::residual`] at Λ and the residual of the velocities that Λ gives, m/s.
    pub residual: f64,
}

impl Frictionless {
    /// Solves the problem. Only contacts that the motion would violate take part: at first those that v_f violates,
    /// then also those that the answer violates, until none is left.
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

    /// Impulses of these contacts and of dry friction. If an interior-point method breaks down, the active-set method
    /// that polishes its results starts from zero.
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

    /// The complementarity residual of the velocities that these impulses give: the largest |min(D_ii Λ_i, w_i)|, m/s.
    /// Where contacts press against each other, velocities are small differences of terms that may be 10⁹ times as
    /// large.
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
