//! The order of steps over time.

/// In which order steps follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first to the last.
    Forward,
    /// From the last to the first.
    Backward,
}

impl Order {
    /// So many steps.
    pub(super) fn steps(self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).map(move |k| if self == Self::Forward { k } else { n - 1 - k })
    }
}
