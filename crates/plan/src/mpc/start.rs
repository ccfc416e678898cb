//! Where a problem starts.

use fingertip_step::step::SparseRows;

/// The start of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// The state (nq).
    pub q: Vec<f64>,
    /// The previous command (nu).
    pub u: Vec<f64>,
    /// The solver's forces in the first steps of nearby periods (·, n_warm), from which solves start: those of the
    /// first periods, as many as are known. In other periods solves start from the forces of the step before, and the
    /// very first one cold.
    pub warm: SparseRows,
    /// The starts in the other worlds of a robust problem, in their order; where one is not given it is this one. All
    /// have the same u.
    pub others: Vec<Start>,
}

impl Start {
    /// A state and the previous command, without known forces.
    pub fn new(q: Vec<f64>, u: Vec<f64>) -> Self {
        Self { q, u, ..Self::default() }
    }

    /// The start of world `world`: those that are not given start as the believed one does.
    pub(super) fn of(&self, world: usize) -> &Self {
        world.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(self)
    }
}
