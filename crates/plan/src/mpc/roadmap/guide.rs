//! Leads a supervisor along a path, part by part, and looks for another one where a part fails.

use std::collections::VecDeque;

use candle_core::Result;

use super::graph::Hop;
use super::walk::{Step, Walk};
use super::{Passage, Roadmap};
use crate::mpc::cost::Goal;
use crate::mpc::task::Task;

/// A roadmap on the way to one goal.
#[derive(Clone, Debug)]
pub struct Guide {
    roadmap: Roadmap,
    /// The rest of the path, the present part first.
    path: VecDeque<Hop>,
    pub(in crate::mpc) walk: Option<Walk>,
    /// The node at which it is.
    at: Option<usize>,
    ends: Option<Vec<(usize, f64)>>,
    /// Number of failed attempts to reach the goal straight.
    failures: usize,
    passages: Vec<Passage>,
    queries: Vec<f64>,
}

/// The change that a guide's step asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mpc) enum Advice {
    /// None: the walk and its phase stay.
    Same,
    /// The walk, or its phase.
    Other,
    /// It leads no more: the goal is reached, or there is no way.
    End,
}

impl Guide {
    /// One that does not lead yet.
    pub fn new(roadmap: Roadmap) -> Self {
        Self {
            roadmap,
            path: VecDeque::new(),
            walk: None,
            at: None,
            ends: None,
            failures: 0,
            passages: Vec::new(),
            queries: Vec::new(),
        }
    }

    /// Ways between nodes that were gone, or not, for [`Roadmap::note`].
    pub fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// Times that queries took, s.
    pub fn queries(&self) -> &[f64] {
        &self.queries
    }

    /// Forgets the goal.
    pub(in crate::mpc) fn forget(&mut self) {
        (self.walk, self.at, self.ends, self.failures) = (None, None, None, 0);
        self.path.clear();
    }

    /// Looks for a path from q (nq), and leads along it.
    pub(in crate::mpc) fn lead(&mut self, task: &Task, q: &[f64], goal: &Goal) -> Result<Advice> {
        let query = self.roadmap.query_again(task, q, goal, &mut self.ends, self.failures)?;
        self.queries.push(query.seconds);
        self.path = query.path.map(|path| path.hops.into()).unwrap_or_default();
        self.at = None;
        Ok(self.next(task, goal))
    }

    /// The walk along the path's first part.
    fn next(&mut self, task: &Task, goal: &Goal) -> Advice {
        self.walk = self.path.front().map(|hop| match *hop {
            Hop::Goal => Walk::to_goal(goal.clone(), task.patience()),
            Hop::Node(node) => self.roadmap.walk_to(task, node),
        });
        if self.walk.is_some() { Advice::Other } else { Advice::End }
    }

    /// Goes on at q (nq), once in each control period. `here` is where the object would be put down.
    pub(in crate::mpc) fn follow(&mut self, task: &Task, q: &[f64], goal: &Goal, here: Goal) -> Result<Advice> {
        let Some(walk) = &mut self.walk else { return Ok(Advice::End) };
        let step = walk.step(task, q)?;
        let seconds = walk.seconds(task);
        match (step, self.path.front().copied()) {
            (Step::On, _) => Ok(Advice::Same),
            (Step::Turn, _) => Ok(Advice::Other),
            // It had let go.
            (_, None) => self.lead(task, q, goal),
            (Step::Arrived, Some(hop)) => {
                self.count(hop, true, seconds);
                self.path.pop_front();
                Ok(self.next(task, goal))
            }
            (Step::Failed, Some(hop)) => {
                self.count(hop, false, seconds);
                self.path.clear();
                self.walk = None;
                if hop == Hop::Goal {
                    // So near to it the supervisor's own ways lead on.
                    self.failures += 1;
                } else if let Some(&node) = self.roadmap.nearest(task, q)?.first() {
                    self.walk = Some(Walk::release(here, &self.roadmap.nodes[node].q, task.patience()));
                }
                Ok(if self.walk.is_some() { Advice::Other } else { Advice::End })
            }
        }
    }

    /// Counts a part of the path that ended, and is at its end.
    fn count(&mut self, hop: Hop, arrived: bool, seconds: f64) {
        let to = match hop {
            Hop::Node(node) => Some(node),
            Hop::Goal => None,
        };
        if let Some((from, to)) = self.at.zip(to) {
            let passage = Passage { from, to, arrived, seconds };
            self.roadmap.note(&[passage]);
            self.passages.push(passage);
        }
        self.at = to.filter(|_| arrived);
    }
}
