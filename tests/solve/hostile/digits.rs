//! How many digits the derivatives of a world can have.

use fingertip::step::Step;
use nalgebra::Vector3;

use support::oracle::Problem;
use support::states::{self, Batch};
use support::{largest, rows};

/// Roundings on the way from ρ(η) to a derivative: 50 are seen.
const ROUNDINGS: f64 = 100.0;
/// From this growth on a solution has fewer digits than its derivatives ask for, and Jacobians are pulled back whatever
/// factor of H it is measured by. Below it, where they may be pushed forward, those of forces lose its digits twice: by
/// δ's derivatives, and as they are the contacts' stiffness times those.
const STIFF: f64 = 1e8;

/// What rounding may leave of a world's derivatives, relative. A force η is inside its cone by ρ(η) = η_n² − ‖η_t‖², of
/// which a unit in the last place of ‖η‖² is a part, and κ ρ(η)/2 is the stiffness across its slip. And contacts are
/// stiffer than what they move, the growth: the largest κ ‖η‖² J²/P of a degree of freedom.
pub struct Digits {
    /// Of gradients, A and B.
    pub all: f64,
    /// Of C and D.
    pub forces: f64,
    /// The stiffest contact's κ ‖η‖², N/m.
    pub stiffness: f64,
}

impl Digits {
    /// Those of each world of a batch.
    pub fn of(batch: &Batch, step: &Step) -> Vec<Self> {
        states::problems(batch, step)
            .iter()
            .zip(rows(&step.warm))
            .map(|(problem, eta)| Self::at(problem, &eta))
            .collect()
    }

    fn at(problem: &Problem, eta: &[f64]) -> Self {
        let (mut narrowest, mut growth, mut stiffest) = (0.0_f64, 0.0_f64, 0.0_f64);
        let numbers = if problem.contacts.iter().any(|contact| contact.turns) { 4 } else { 3 };
        for (contact, eta) in problem.contacts.iter().zip(eta.chunks_exact(numbers)) {
            let square = eta.iter().map(|x| x * x).sum::<f64>();
            if square == 0.0 {
                continue;
            }
            let (slides, turns) = (Vector3::from_column_slice(&eta[..3]), eta.get(3).copied().unwrap_or(0.0));
            let along = slides.dot(&contact.normal);
            let across = (slides - contact.normal * along).norm().hypot(turns);
            narrowest = narrowest.max(square / ((along - across) * (along + across)).max(f64::MIN_POSITIVE));
            let moved = (0..problem.g.len()).map(|k| {
                let turn = contact.gamma * contact.turn[k];
                (contact.jacobian.column(k).norm_squared() + turn * turn) / problem.p[(k, k)]
            });
            let stiffness = problem.kappa / contact.part * square;
            (stiffest, growth) = (stiffest.max(stiffness), growth.max(stiffness * largest(moved)));
        }
        let narrow = ROUNDINGS * f64::EPSILON * narrowest;
        let rounding = 8.0 * f64::EPSILON * growth;
        let (all, forces) = if growth < STIFF { (0.0, rounding * growth) } else { (rounding, rounding) };
        Self { all: narrow.max(all), forces: narrow.max(forces), stiffness: stiffest }
    }
}
