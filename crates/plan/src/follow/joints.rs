//! The numbers that a command has, and what they move.

use fingertip_shapes::{Error, Result};
use fingertip_step::kinematics::{Coordinate, Tree};

/// What one command moves: q along a line of one number x, that of its joint.
#[derive(Clone, Debug)]
pub struct Lead {
    /// The joint's name.
    pub(super) name: String,
    /// The command's place in u.
    pub(super) u: usize,
    /// Places in q and v of what it moves, and q = base + slope · x.
    pub(super) moves: Vec<Move>,
    /// The least and the largest x, rad or m.
    pub range: (f64, f64),
    /// The largest speed of x, rad/s or m/s.
    pub(super) speed: f64,
    /// x at home.
    pub(super) home: f64,
    /// u = Σ ratio · q over these places in q.
    tendon: Vec<(usize, f64)>,
}

/// A coordinate that a command moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) q: usize,
    pub(super) v: usize,
    base: f64,
    pub(super) slope: f64,
}

impl Lead {
    /// The command of a joint; none of what has none. A tendon moves its joints in the ratio in which springs of their
    /// own would let it, r/k, or r where one has no spring.
    fn new(tree: &Tree, lead: &Coordinate) -> Option<Self> {
        let u = lead.u?;
        let others = lead.others.iter().map(|&(other, ratio)| (&tree.coordinates[other], ratio));
        let pulled: Vec<(&Coordinate, f64)> = std::iter::once((lead, 1.0)).chain(others).collect();
        // What has a command of its own moves by that.
        let own: Vec<(&Coordinate, f64)> =
            pulled.iter().copied().filter(|(c, _)| c.u.is_none_or(|own| own == u)).collect();
        let sprung = own.iter().all(|(c, _)| c.spring.stiffness > 0.0);
        let give = |c: &Coordinate, ratio: f64| if sprung { ratio / c.spring.stiffness } else { ratio };
        let of_lead = give(lead, 1.0);
        let (mut range, mut moves) = ((f64::NEG_INFINITY, f64::INFINITY), Vec::new());
        for &(c, ratio) in &own {
            let slope = give(c, ratio) / of_lead;
            let base = c.home[0] - slope * lead.home[0];
            let limits = c.limits.map_or((f64::NEG_INFINITY, f64::INFINITY), |limits| (limits.lower, limits.upper));
            let ends = [limits.0, limits.1].map(|end| (end - base) / slope);
            range = (range.0.max(ends[0].min(ends[1])), range.1.min(ends[0].max(ends[1])));
            moves.push(Move { q: c.q, v: c.v, base, slope });
        }
        if range.0 > range.1 {
            range = (lead.home[0], lead.home[0]);
        }
        Some(Self {
            name: lead.name.clone(),
            u,
            moves,
            range,
            speed: lead.velocity,
            home: lead.home[0].clamp(range.0, range.1),
            tendon: pulled.iter().map(|(c, ratio)| (c.q, *ratio)).collect(),
        })
    }

    /// Puts x into q.
    pub(super) fn put(&self, x: f64, q: &mut [f64]) {
        self.moves.iter().for_each(|own| q[own.q] = own.slope.mul_add(x, own.base));
    }

    /// The command that holds q.
    pub(super) fn command(&self, q: &[f64]) -> f64 {
        self.tendon.iter().map(|&(place, ratio)| ratio * q[place]).sum()
    }
}

/// All commands, in the order of u.
pub(super) fn leads(tree: &Tree) -> Vec<Lead> {
    tree.coordinates.iter().filter_map(|c| Lead::new(tree, c)).collect()
}

/// The commands but those whose joints are to stay at home.
///
/// # Errors
/// If a name is not that of a commanded joint, or no command is left.
pub fn moved(tree: &Tree, hold: &[String]) -> Result<Vec<Lead>> {
    let mut all = leads(tree);
    for name in hold {
        let Some(at) = all.iter().position(|lead| lead.name == *name) else {
            let known = tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.name.as_str());
            return Err(Error::invalid("hold", fingertip_shapes::unknown("commanded joint", name, known)));
        };
        all.remove(at);
    }
    if all.is_empty() {
        return Err(Error::invalid(
            "follow",
            "expected a robot with joints to move, but none is commanded or all are held",
        ));
    }
    Ok(all)
}
