//! From a state to a goal: the local planner connects both to near nodes, and the graph has what is between.

use std::time::Instant;

use candle_core::Result;
use rayon::prelude::*;

use super::build::go;
use super::graph::Path;
use super::walk::Walk;
use super::world::World;
use super::{LOST, Roadmap};
use crate::mpc::cost::Goal;
use crate::mpc::task::Task;

/// Near nodes to which a start and a goal are connected.
const STARTS: usize = 3;
const ENDS: usize = 4;
/// How often so many more are tried as long as there is no way.
const BATCHES: usize = 2;

/// What a query found.
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
    /// A way from a state (nq), which should be at rest, to a goal. The local planner is tried on the planner's own model: straight to the
    /// goal; if that fails to the three nearest nodes and from the four nodes nearest to the goal; and where that makes no way, once more to
    /// and from as many others.
    ///
    /// # Errors
    /// If a roll-out fails.
    pub fn query(&self, task: &Task, q: &[f64], goal: &Goal) -> Result<Query> {
        self.query_again(task, q, goal, &mut None, 0)
    }

    /// The same for a goal to whose nodes `ends` is known from a query before, and which was not reached straight so often although that was
    /// expected.
    pub(super) fn query_again(
        &self,
        task: &Task,
        q: &[f64],
        goal: &Goal,
        ends: &mut Option<Vec<(usize, f64)>>,
        failures: usize,
    ) -> Result<Query> {
        let begin = Instant::now();
        let walk = |from: &[f64], walk: Walk| {
            let (arrived, seconds) = go(task, &mut World::new(task.simulator(), from.to_vec()), walk)?;
            Ok::<_, candle_core::Error>(arrived.then_some(seconds))
        };
        let to_goal = || Walk::to_goal(goal.clone(), task.patience());
        let direct = walk(q, to_goal())?.map(|seconds| seconds + LOST * (1.5 + failures as f64).ln());
        let known = ends.take();
        let (mut starts, mut own_ends) = (Vec::new(), known.clone().unwrap_or_default());
        let mut path = self.shortest(&[], &[], direct);
        if path.is_none() || failures > 0 {
            let (first, last) = (self.nearest(task, q)?, self.nearest_goal(task, goal)?);
            for batch in 0..BATCHES {
                let part =
                    |nodes: &[usize], n: usize| nodes.iter().copied().skip(batch * n).take(n).collect::<Vec<_>>();
                let (first, mut last) = (part(&first, STARTS), part(&last, ENDS));
                last.retain(|_| known.is_none());
                let tries: Vec<(bool, usize)> = first
                    .into_iter()
                    .map(|node| (true, node))
                    .chain(last.into_iter().map(|node| (false, node)))
                    .collect();
                let found = tries.par_iter().map(|&(is_start, node)| {
                    let seconds = if is_start {
                        let pose = self.pose(task, node);
                        walk(q, Walk::to_node(pose, &self.nodes[node].q, self.near, task.patience()))
                    } else {
                        walk(&self.nodes[node].q, to_goal())
                    };
                    seconds.map(|seconds| seconds.map(|seconds| (is_start, node, seconds + LOST * 1.5_f64.ln())))
                });
                for (is_start, node, cost) in found.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
                    if is_start { &mut starts } else { &mut own_ends }.push((node, cost));
                }
                path = self.shortest(&starts, &own_ends, direct);
                if path.is_some() {
                    break;
                }
            }
            *ends = Some(own_ends.clone());
        }
        Ok(Query { path, starts, ends: own_ends, seconds: begin.elapsed().as_secs_f64() })
    }
}
