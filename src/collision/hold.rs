//! What the contact points of a face keep as the bodies move.

use nalgebra::{Matrix2, Vector2, Vector3};

use super::polish::{directions, solve2};

/// What a contact keeps as its bodies move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Hold {
    /// What it is: the closest points.
    #[default]
    Closest,
    /// A point of B above a face of A, with whose normal the contact's turns.
    FaceOfA(Slide),
    /// A point of A below a face of B.
    FaceOfB(Slide),
}

/// How a point of one body, measured from another's face, moves on its own: directions along which it slides, none, one
/// or two, and those in which it stays beside the other's face instead; zeros behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slide {
    along: [Vector3<f64>; 2],
    beside: [Vector3<f64>; 2],
    /// Does it roll, as the point of a round side that is nearest to the face?
    pub(super) rolls: bool,
}

impl Slide {
    /// A point that stays on its body, or rolls.
    pub(super) fn corner(rolls: bool) -> Self {
        Self { rolls, ..Self::default() }
    }

    /// Where an edge crosses the side of the other's face.
    pub(super) fn along_edge(edge: Vector3<f64>, inward: Vector3<f64>, rolls: bool) -> Self {
        Self { along: [edge, Vector3::zeros()], beside: [inward, Vector3::zeros()], rolls }
    }

    /// Where a face is above a corner of the other's face.
    pub(super) fn on_face(other: &Vector3<f64>, own: &Vector3<f64>) -> Self {
        let [t, r] = directions(other, &[]);
        let flat = |t: Vector3<f64>| t - other * (own.dot(&t) / own.dot(other));
        Self { along: [flat(t), flat(r)], beside: [t, r], rolls: false }
    }

    /// The slide of a point that is carried past the other's face with a velocity.
    pub(super) fn velocity(&self, carried: &Vector3<f64>) -> Vector3<f64> {
        let [e, f] = self.along;
        let [c, d] = self.beside;
        let k = Matrix2::new(c.dot(&e), c.dot(&f), d.dot(&e), d.dot(&f));
        let past = -Vector2::new(c.dot(carried), d.dot(carried));
        let s = solve2(&k, &past, f == Vector3::zeros()).unwrap_or_default();
        e * s.x + f * s.y
    }
}

impl Hold {
    /// The same with the bodies exchanged.
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Closest => Self::Closest,
            Self::FaceOfA(kind) => Self::FaceOfB(kind),
            Self::FaceOfB(kind) => Self::FaceOfA(kind),
        }
    }
}
