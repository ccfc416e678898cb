//! How shapes meet: which may touch, and with which friction.

/// Contact rules and friction of a shape, in MuJoCo's terms (MJCF `geom`: `contype`, `conaffinity`, `priority`,
/// `condim`, `friction`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// The groups that it is in, one bit each.
    pub contype: u32,
    /// The groups that it meets. Two shapes may touch if one meets a group that the other is in.
    pub conaffinity: u32,
    /// The numbers of the surface with the higher priority hold, or of both the greater.
    pub priority: i64,
    /// The motions that friction resists: 1 none, 3 slip, 4 and 6 also turning about the normal.
    pub condim: u32,
    /// Coefficient of friction; not negative.
    pub mu: f64,
    /// Coefficient of torsional friction, m; not negative. It counts from a `condim` of 4 on.
    pub torsion: f64,
}

impl Default for Surface {
    /// MuJoCo's defaults.
    fn default() -> Self {
        Self { contype: 1, conaffinity: 1, priority: 0, condim: 3, mu: 1.0, torsion: 0.005 }
    }
}

impl Surface {
    /// May two shapes touch, as far as their groups say?
    pub fn meets(&self, other: &Self) -> bool {
        self.contype & other.conaffinity != 0 || other.contype & self.conaffinity != 0
    }

    /// Combines the rules of two surfaces into those of their contact.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        match self.priority.cmp(&other.priority) {
            std::cmp::Ordering::Greater => *self,
            std::cmp::Ordering::Less => *other,
            std::cmp::Ordering::Equal => Self {
                condim: self.condim.max(other.condim),
                mu: self.mu.max(other.mu),
                torsion: self.torsion.max(other.torsion),
                ..*self
            },
        }
    }

    /// The coefficients of friction and of torsional friction (m), zero where `condim` says so.
    pub fn friction(&self) -> [f64; 2] {
        [if self.condim > 1 { self.mu } else { 0.0 }, if self.condim > 3 { self.torsion } else { 0.0 }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_of_both_or_the_one_with_priority() {
        let plain = Surface::default();
        let soft = Surface { condim: 4, mu: 0.7, torsion: 0.02, ..plain };
        assert_eq!(plain.with(&soft).friction(), [1.0, 0.02]);
        assert_eq!(plain.with(&plain).friction(), [1.0, 0.0]);
        let first = Surface { priority: 1, ..soft };
        assert_eq!(plain.with(&first).friction(), [0.7, 0.02]);
        let smooth = Surface { condim: 1, ..plain };
        assert_eq!(smooth.with(&smooth).friction(), [0.0, 0.0]);
        assert_eq!(smooth.with(&plain).friction(), [1.0, 0.0]);
    }

    #[test]
    fn one_has_to_meet_a_group_of_the_other() {
        let group = |contype, conaffinity| Surface { contype, conaffinity, ..Surface::default() };
        assert!(group(2, 0).meets(&group(0, 2)) && group(0, 2).meets(&group(2, 0)));
        assert!(!group(2, 0).meets(&group(2, 0)) && !group(2, 4).meets(&group(1, 1)));
    }
}
