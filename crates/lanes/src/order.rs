//! The direction of a loop over time steps: forward for a simulation, backward for its adjoint.

/// The order in which a program visits time steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first step to the last.
    Forward,
    /// From the last step to the first.
    Backward,
}

impl Order {
    /// The indices of `n` steps in this order.
    pub(super) fn steps(self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).map(move |k| if self == Self::Forward { k } else { n - 1 - k })
    }
}
