#![doc = include_str!("../../../docs/roadmap.md")]

mod build;
mod file;
mod graph;
mod guide;
mod query;
mod walk;
mod world;

use fingertip_shapes::{Error, Result};

use super::cost::Goal;
use super::task::Task;
pub use build::{Building, Options};
pub use graph::{Hop, Path};
pub(in crate::mpc) use guide::Advice;
pub use guide::Guide;
pub use query::Query;

/// Time that an edge which fails is reckoned to cost, s: what goes wrong, and the way back.
pub const LOST: f64 = 10.0;

/// A state in which the object rests or is held, with no motion left.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The state (nq).
    pub q: Vec<f64>,
}

/// An edge: results of the local planner's trials from a node to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Edge {
    /// Number of trials.
    pub tries: usize,
    /// Number of trials that reached the other node.
    pub successes: usize,
    /// Time that the successes took together, s.
    pub seconds: f64,
}

/// A way between two nodes that was gone, or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The node at which it began.
    pub from: usize,
    /// The node to which it was to lead.
    pub to: usize,
    /// Did it lead there?
    pub arrived: bool,
    /// Time that it took, s.
    pub seconds: f64,
}

/// Nodes, and edges between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Roadmap {
    /// The object that is moved.
    object: String,
    /// The names of the numbers of a state.
    q_names: Vec<String>,
    /// A node counts as reached within this distance of the object's pose, in the units of [`Task`]'s last weights.
    near: f64,
    /// Candidates for nodes that were drawn so far.
    drawn: usize,
    nodes: Vec<Node>,
    /// By the nodes from and to.
    edges: std::collections::BTreeMap<(usize, usize), Edge>,
}

impl Edge {
    /// The chance of success: (successes + 1)/(tries + 2), Laplace's rule.
    pub fn chance(&self) -> f64 {
        (self.successes as f64 + 1.0) / (self.tries as f64 + 2.0)
    }

    /// Mean time of the successes, s; none without one.
    pub fn mean_seconds(&self) -> Option<f64> {
        (self.successes > 0).then(|| self.seconds / self.successes as f64)
    }

    /// Cost of the edge to a path, s: the mean time, and [`LOST`] times −log of the chance. None if it never succeeded.
    pub fn cost(&self) -> Option<f64> {
        Some(self.mean_seconds()? - LOST * self.chance().ln())
    }

    fn note(&mut self, arrived: bool, seconds: f64) {
        self.tries += 1;
        if arrived {
            self.successes += 1;
            self.seconds += seconds;
        }
    }
}

impl Roadmap {
    /// One without nodes, for a task. [`Roadmap::build`] fills it.
    pub fn new(task: &Task) -> Self {
        Self {
            object: task.object().to_owned(),
            q_names: task.simulator().model().q_names(),
            near: task.success_distance(),
            drawn: 0,
            nodes: Vec::new(),
            edges: std::collections::BTreeMap::new(),
        }
    }

    /// The nodes, by their numbers.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The edges that were tried, with the nodes from and to, in their order.
    pub fn edges(&self) -> impl Iterator<Item = ((usize, usize), &Edge)> {
        self.edges.iter().map(|(key, edge)| (*key, edge))
    }

    /// Counts ways that were gone, or not. Those between nodes that it does not have are ignored.
    pub fn note(&mut self, passages: &[Passage]) {
        for passage in passages.iter().filter(|passage| passage.from.max(passage.to) < self.nodes.len()) {
            self.edges.entry((passage.from, passage.to)).or_default().note(passage.arrived, passage.seconds);
        }
    }

    /// Checks that it is one of this task's object and states.
    ///
    /// # Errors
    /// If it is not: what differs.
    pub fn check(&self, task: &Task) -> Result<()> {
        if self.object != task.object() {
            let expected = format!("expected the task's \"{}\", got \"{}\"", task.object(), self.object);
            return Err(Error::invalid("object", expected));
        }
        let own = task.simulator().model().q_names();
        if self.q_names != own {
            let at = self.q_names.iter().zip(&own).position(|(a, b)| a != b);
            let at = at.unwrap_or(self.q_names.len().min(own.len()));
            let name = |names: &[String]| names.get(at).map_or("nothing".to_owned(), |name| format!("\"{name}\""));
            let expected = format!("expected the task's {} at place {at}, got {}", name(&own), name(&self.q_names));
            return Err(Error::invalid("q_names", expected));
        }
        Ok(())
    }

    /// The pose of the object at a node.
    fn pose(&self, task: &Task, node: usize) -> Goal {
        task.state_of(task.object(), &self.nodes[node].q)
    }
}
