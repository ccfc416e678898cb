//! What a supervisor does, and when.

/// When a supervisor does what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Supervision {
    /// The farthest orientation ahead that is planned for at once, rad.
    pub subgoal: f64,
    /// The object is brought back when it is farther than this from the goal's position, m; never without it.
    pub away: Option<f64>,
    /// Time without progress after which the planner has stalled, s.
    pub stall: f64,
}

/// The part of a task that a supervisor is working on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// The goal itself is planned for.
    Goal,
    /// An orientation on the way to the goal is.
    Subgoal,
    /// The object is brought back to the goal's position, as it is turned now.
    Return,
    /// A stall: an orientation beside the way is planned for.
    Nudge,
    /// A stall: the same is planned for by sampling.
    Sample,
    /// A stall: the robot lets go and goes home, and the object stays.
    Retreat,
    /// The object's pose at a node of the roadmap is planned for.
    Node,
    /// The robot lets go and goes to where it is at a node of the roadmap.
    Release,
    /// The goal is planned for from a node of the roadmap, as it is.
    Last,
}

impl Doing {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Subgoal => "subgoal",
            Self::Return => "return",
            Self::Nudge => "nudge",
            Self::Sample => "sample",
            Self::Retreat => "retreat",
            Self::Node => "node",
            Self::Release => "release",
            Self::Last => "last",
        }
    }
}
