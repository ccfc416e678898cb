//! At which distances the contact points of two bodies are told apart.

/// The most points of a [`Collider::manifold`](super::Collider::manifold): twenty, and the closest ones that stand for
/// others.
pub const MANIFOLD: usize = 21;

/// How far apart bodies may be, m, for their contact points to be told apart. What flat sides far away from each other
/// do is small, and the closest points stand for all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detail {
    /// Up to this distance there are all points.
    pub all: f64,
    /// From this distance on there are only the closest points. In between, the weights of the others fall.
    pub closest: f64,
    /// Points with this gap and more are left out.
    pub reach: f64,
    /// Do the closest points count beyond the reach too, at their true gap?
    pub beyond: bool,
    /// There are no more points than this, if that is less than what the bodies have room for. The closest points are
    /// always one of them.
    pub points: usize,
}

impl Detail {
    /// All points at every distance.
    pub const ALL: Self =
        Self { all: f64::INFINITY, closest: f64::INFINITY, reach: f64::INFINITY, beyond: true, points: MANIFOLD };

    /// Is there a distance from which on there are only the closest points?
    pub(super) fn is_bounded(&self) -> bool {
        self.closest < f64::INFINITY
    }

    /// May the closest points stand for others that are left out?
    pub(super) fn has_stand_in(&self) -> bool {
        self.is_bounded() || self.points < MANIFOLD
    }
}
