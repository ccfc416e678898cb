//! Settings of the contact solve.

use fingertip_shapes::{Error, Findings, Result};
use serde::{Deserialize, Serialize};

/// Settings of a step's contact solve: how near to the solution it ends, and how long it tries which way there. A scene
/// file has them as `solver` in `[params]`, as in `solver = { tolerance = 1e-6 }`. The limit on iterations is
/// [`Params::max_iterations`](super::Params::max_iterations).
///
/// The defaults are those with which all tests and benchmarks run. They suit scenes from millimetres to metres and from
/// grams to tons; `step --output log` shows what a solve does.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Largest relative residual of a world that counts as solved, without unit; 1e-12 … 0.01, by default 1e-8. In
    /// single precision it is 1e-3 at least. Where rounding leaves a slack fewer digits, more is allowed: see
    /// `Report::residual`.
    pub tolerance: f64,
    /// The error below which an iteration is the last: κ times Newton's decrement squared, or, by Coulomb's law, the
    /// largest of the same quantity over contacts. Without unit; 1e-16 … 0.01, by default 1e-14. What is left after the
    /// last step is about the square of this, relative to the squares of the forces. In single precision it is 1e-7 at
    /// least.
    pub last_error: f64,
    /// The last error for solves of `Accuracy::Rough`, with which planners compare plans; 1e-16 … 0.01, by default
    /// 1e-5.
    pub rough_last_error: f64,
    /// Most steps of a line search along a Newton step; 1 … 100, by default 8.
    pub line_search_iterations: u32,
    /// A line search ends where the slope has fallen to this part of what it was; 0.001 … 0.9, by default 0.1.
    pub line_search_slope: f64,
    /// Part of the way to the boundary of the nearest cone that a primal-dual step goes at most; 0.5 … 0.999, by
    /// default 0.99. Steps of Coulomb's law have their own: they decide which of several answers is found.
    pub boundary_fraction: f64,
    /// Primal-dual steps after which a world of the relaxed law starts again, with a small κ that rises; 1 … 10,000, by
    /// default 18.
    pub primal_dual_iterations: u32,
    /// The first κ of worlds that start again, 1/J; 0.001 … 1e8, by default 100. No more than the scene's.
    pub restart_kappa: f64,
    /// The factor by which this κ rises whenever the iterate is near the solution for it; 1.5 … 1000, by default 10.
    pub restart_growth: f64,
    /// The κ with which each contact's first force is computed in the first attempt by Coulomb's law, 1/J; 0.001 … 1e8,
    /// by default 150. Going from soft to hard finds the answer in which things stick, if there is one; from harder
    /// starts one in fifty recorded states of fingertips and a cube ends elsewhere.
    pub coulomb_kappa: f64,
    /// Iterations after which an attempt by Coulomb's law has failed; 1 … 10,000, by default 36. The attempt with
    /// careful steps has three and a third times as many.
    pub coulomb_iterations: u32,
    /// Most rounds of iterative refinement of a gradient's linear system; 0 … 100, by default 5.
    pub refinements: u32,
    /// Relative imbalance of that system's equations from which on they are refined; 1e-16 … 0.01, by default 1e-12.
    pub refinement_tolerance: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            last_error: 1e-14,
            rough_last_error: 1e-5,
            line_search_iterations: 8,
            line_search_slope: 0.1,
            boundary_fraction: 0.99,
            primal_dual_iterations: 18,
            restart_kappa: 100.0,
            restart_growth: 10.0,
            coulomb_kappa: 150.0,
            coulomb_iterations: 36,
            refinements: 5,
            refinement_tolerance: 1e-12,
        }
    }
}

impl Settings {
    /// Checks the ranges that the fields document.
    ///
    /// # Errors
    /// The numbers out of range.
    pub fn validate(&self) -> Result<()> {
        let Self { tolerance, last_error, rough_last_error, line_search_slope, boundary_fraction, .. } = *self;
        let Self { restart_kappa, restart_growth, coulomb_kappa, refinement_tolerance, .. } = *self;
        let errors = [1e-16, 0.01];
        let (kappas, iterations) = ([1e-3, 1e8], [1.0, 1e4]);
        let shown = |x: f64| if x == 0.0 || (1e-3..1e6).contains(&x) { x.to_string() } else { format!("{x:e}") };
        let mut findings = Findings::default();
        for (name, value, [least, most]) in [
            ("tolerance", tolerance, [1e-12, 0.01]),
            ("last_error", last_error, errors),
            ("rough_last_error", rough_last_error, errors),
            ("line_search_iterations", self.line_search_iterations.into(), [1.0, 100.0]),
            ("line_search_slope", line_search_slope, [0.001, 0.9]),
            ("boundary_fraction", boundary_fraction, [0.5, 0.999]),
            ("primal_dual_iterations", self.primal_dual_iterations.into(), iterations),
            ("restart_kappa", restart_kappa, kappas),
            ("restart_growth", restart_growth, [1.5, 1000.0]),
            ("coulomb_kappa", coulomb_kappa, kappas),
            ("coulomb_iterations", self.coulomb_iterations.into(), iterations),
            ("refinements", self.refinements.into(), [0.0, 100.0]),
            ("refinement_tolerance", refinement_tolerance, errors),
        ] {
            if !(least..=most).contains(&value) {
                let [least, most, value] = [least, most, value].map(shown);
                findings.note(Error::invalid(name, format!("expected from {least} to {most}, got {value}")));
            }
        }
        findings.result()
    }
}
