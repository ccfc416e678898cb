//! From a state to a goal: the local planner connects both to near nodes, and the graph has what is between.

use std::time::Instant;

use candle_core::Result;
use rayon::prelude::*;

use super::build::go;
use super::graph::Path;
use super::walk::Walk;
use super::world::World;
use super::{Edge, Roadmap};
use crate::mpc::cost::Goal;
use crate::mpc::task::Task;

/// Near nodes to which a start and a goal are connected.
const STARTS: usize = 3;
const ENDS: usize = 4;
/// Number of further batches of edges that are tried as long as there is no way.
const BATCHES: usize = 2;

/// Result of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The way; none if there is none.
    pub path: Option<Path>,
    /// Nodes to which the start was connected, and what that costs, s.
    pub starts: Vec<(usize, f64)>,
    /// Nodes from which the goal was reached, and what that costs, s.
    pub ends: Vec<(usize, f64)>,
    /// Time that it took, s.
    pub seconds: f64,
}

impl Roadmap {
    /// A way from a state (nq), which should be at rest, to a goal. The local planner is tried on the planner's own
    /// model: straight to the goal; if that fails to the three nearest nodes and from the four nodes nearest to the
    /// goal; and where that makes no way, once more to and from as many others.
    ///
    /// # Errors
    /// If a roll-out fails.
    pub fn query(&self, task: &Task, q: &[f64], goal: &Goal) -> Result<Query> {
        self.query_again(task, q, goal, &mut None, 0)
    }

    /// Plans again for a goal to whose nodes `ends` is known from a query before, and which was not reached straight so
    /// often although that was expected.
    pub(super) fn query_again(
        &self,
        task: &Task,
        q: &[f64],
        goal: &Goal,
        ends: &mut Option<Vec<(usize, f64)>>,
        failures: usize,
    ) -> Result<Query> {
        let begin = Instant::now();
        let to_goal = Walk::to_goal(goal.clone(), task.patience());
        let direct = Self::tried_on_model(task, q, to_goal.clone(), failures)?;
        let mut query =
            Query { path: self.shortest(&[], &[], direct), starts: Vec::new(), ends: Vec::new(), seconds: 0.0 };
        if query.path.is_none() || failures > 0 {
            let (from, to) = (self.nearest(task, q)?, self.nearest_goal(task, goal)?);
            query.ends = ends.clone().unwrap_or_default();
            for batch in 0..BATCHES {
                let first = from.iter().skip(batch * STARTS).take(STARTS).map(|node| (true, *node));
                let last = to.iter().skip(batch * ENDS).take(ENDS).map(|node| (false, *node));
                let tries: Vec<(bool, usize)> = first.chain(last.filter(|_| ends.is_none())).collect();
                let costs = tries.par_iter().map(|&(is_start, node)| {
                    if is_start {
                        Self::tried_on_model(task, q, self.walk_to(task, node), 0)
                    } else {
                        Self::tried_on_model(task, &self.nodes[node].q, to_goal.clone(), 0)
                    }
                });
                for ((is_start, node), cost) in tries.iter().zip(costs.collect::<Result<Vec<_>>>()?) {
                    let links = if *is_start { &mut query.starts } else { &mut query.ends };
                    links.extend(cost.map(|cost| (*node, cost)));
                }
                query.path = self.shortest(&query.starts, &query.ends, direct);
                if query.path.is_some() {
                    break;
                }
            }
            *ends = Some(query.ends.clone());
        }
        Ok(Query { seconds: begin.elapsed().as_secs_f64(), ..query })
    }

    /// Cost of a walk from a state that the planner's own model makes, s, if it also failed so often in the plant.
    fn tried_on_model(task: &Task, q: &[f64], walk: Walk, failures: usize) -> Result<Option<f64>> {
        let (arrived, seconds) = go(task, &mut World::new(task.simulator(), q.to_vec()), walk)?;
        let edge = Edge { tries: 1 + failures, successes: 1, seconds };
        Ok(edge.cost().filter(|_| arrived))
    }

    /// The walk to a node.
    pub(super) fn walk_to(&self, task: &Task, node: usize) -> Walk {
        Walk::to_node(self.pose(task, node), &self.nodes[node].q, self.near, task.patience())
    }
}
