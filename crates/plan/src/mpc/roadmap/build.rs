//! Nodes from draws that come to rest, and edges by trying the local planner between near ones.

use candle_core::Result;
use rayon::prelude::*;

use super::walk::{Step, Walk};
use super::world::{World, Worlds};
use super::{Node, Passage, Roadmap};
use crate::mpc::controller::Measured;
use crate::mpc::cost::Goal;
use crate::mpc::sampling::Deviates;
use crate::mpc::simulator::Simulator;
use crate::mpc::start::Start;
use crate::mpc::task::{Episode, Task};

/// Candidates that are drawn for each node.
const DRAWS: usize = 8;
/// Edges that are tried side by side: what is tried next depends on what came of them, whatever the number of threads.
const ROUND: usize = 16;
/// An edge that failed so often and never succeeded is not tried again.
const HOPELESS: usize = 2;
/// Distance below which a node counts as reached, as a share of the distance between nodes.
const NEAR: f64 = 0.25;

/// The nodes from and to of an edge.
type Pair = (usize, usize);

/// Options of building a roadmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many nodes there are at most.
    pub nodes: usize,
    /// Edges from each node: to so many nearest ones with the object elsewhere, and to as many with the object alike.
    pub neighbours: usize,
    /// Number of trials of each edge, each time in another world.
    pub tries: usize,
    /// Are joints drawn too, evenly within their limits, for all candidates but the first? Else the robots are where
    /// the task starts.
    pub joints: bool,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { nodes: 30, neighbours: 8, tries: 2, joints: false, seed: 0 }
    }
}

/// Progress of building a roadmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Building {
    /// Tries so far, those before a resume too.
    pub tried: usize,
    /// Tries that are left as far as is known.
    pub left: usize,
}

impl Roadmap {
    /// Adds nodes up to their number, and tries edges until each has been tried often enough, or `go_on`, which is
    /// asked before each round of 16 tries, says no. What is there already stays and counts. After as many rounds the
    /// same comes out with any number of threads.
    ///
    /// # Errors
    /// If it is another task's, or a roll-out fails.
    pub fn build(
        &mut self,
        task: &Task,
        options: &Options,
        mut go_on: impl FnMut(&Self, Building) -> bool,
    ) -> Result<()> {
        self.check(task)?;
        let worlds = Worlds::new(task)?;
        self.seed(task, options, &worlds)?;
        let [near, far] = self.pairs(task, options.neighbours)?;
        loop {
            let left = |pairs: &[Pair], most: usize| -> Vec<(usize, Pair)> {
                pairs.iter().filter_map(|&pair| self.tried(pair, most).map(|tries| (tries, pair))).collect()
            };
            let mut next = left(&near, options.tries);
            // A stable sort: among as often tried ones the shortest first.
            next.sort_by_key(|(tries, _)| *tries);
            let missing = next.iter().map(|(tries, _)| options.tries - tries).sum();
            if next.is_empty() {
                // What near nodes have not joined.
                let reachable = self.reachable();
                next = left(&far, 1);
                next.retain(|(_, (from, to))| !reachable[*from][*to]);
            }
            let tried = self.edges.values().map(|edge| edge.tries).sum();
            if !go_on(self, Building { tried, left: next.len().max(missing) }) || next.is_empty() {
                return Ok(());
            }
            next.truncate(ROUND);
            let passages: Vec<Passage> = next
                .par_iter()
                .map(|&(tries, pair)| self.try_edge(task, worlds.of(tries), pair, tries, options.seed))
                .collect::<Result<_>>()?;
            self.note(&passages);
        }
    }

    /// Number of trials of an edge so far, if it is to be tried again.
    fn tried(&self, pair: Pair, most: usize) -> Option<usize> {
        let edge = self.edges.get(&pair).copied().unwrap_or_default();
        let is_hopeless = edge.successes == 0 && edge.tries >= HOPELESS;
        (edge.tries < most && !is_hopeless).then_some(edge.tries)
    }

    /// Adds nodes: of what was drawn and came to rest, one after the other what is farthest from all nodes.
    fn seed(&mut self, task: &Task, options: &Options, worlds: &Worlds) -> Result<()> {
        let missing = options.nodes.saturating_sub(self.nodes.len());
        let draws = self.drawn..self.drawn + DRAWS * missing;
        self.drawn = draws.end;
        let drawn: Vec<usize> = draws.collect();
        let settled = drawn.par_iter().map(|&number| settled(task, worlds.of(0), options, number));
        let mut candidates: Vec<Vec<f64>> = settled.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let is_first = self.nodes.is_empty();
        if is_first && missing > 0 && !candidates.is_empty() {
            self.nodes.push(Node { q: candidates.remove(0) });
        }
        let least = |roadmap: &Self, q: &[f64]| -> Result<f64> {
            let all = roadmap.nodes.iter().map(|node| apart(task, &node.q, q));
            all.collect::<Result<Vec<_>>>().map(|all| all.into_iter().fold(f64::INFINITY, f64::min))
        };
        let mut distances = candidates.iter().map(|q| least(self, q)).collect::<Result<Vec<_>>>()?;
        while self.nodes.len() < options.nodes {
            let farthest = (0..candidates.len()).max_by(|&a, &b| distances[a].total_cmp(&distances[b]).then(b.cmp(&a)));
            let Some(k) = farthest.filter(|&k| distances[k] > 0.0) else { break };
            let q = candidates[k].clone();
            for (distance, other) in distances.iter_mut().zip(&candidates) {
                *distance = distance.min(apart(task, &q, other)?);
            }
            self.nodes.push(Node { q });
        }
        if is_first {
            self.near = task.success_distance().max(NEAR * self.spacing(task)?);
        }
        Ok(())
    }

    /// The median of the distances of the object from a node to the nearest other one.
    fn spacing(&self, task: &Task) -> Result<f64> {
        let mut nearest = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let pose = task.state_of(task.object(), &node.q);
            let others = self.nodes.iter().enumerate().filter(|(j, _)| *j != i);
            let all = others.map(|(_, other)| task.distance(&pose, &other.q)).collect::<Result<Vec<_>>>()?;
            nearest.extend(all.into_iter().min_by(f64::total_cmp));
        }
        nearest.sort_by(f64::total_cmp);
        Ok(nearest.get(nearest.len() / 2).copied().unwrap_or(0.0))
    }

    /// The pairs of near nodes, and all others, in the order of their distance.
    fn pairs(&self, task: &Task, neighbours: usize) -> Result<[Vec<Pair>; 2]> {
        let mut all = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            let pose = self.pose(task, i);
            let mut others = Vec::new();
            for (j, other) in self.nodes.iter().enumerate().filter(|(j, _)| *j != i) {
                others.push((apart(task, &node.q, &other.q)?, j, task.distance(&pose, &other.q)? < self.near));
            }
            others.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut count = [0, 0];
            for (distance, j, alike) in others {
                let count = &mut count[usize::from(alike)];
                *count += 1;
                all.push((distance, *count <= neighbours, (i, j)));
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (near, far): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, is_near, _)| *is_near);
        Ok([near, far].map(|all| all.into_iter().map(|(.., pair)| pair).collect()))
    }

    fn try_edge(
        &self,
        task: &Task,
        simulator: &Simulator,
        (from, to): Pair,
        number: usize,
        seed: u64,
    ) -> Result<Passage> {
        let stream = [from, to, number].into_iter().fold(0_u64, |sum, part| (sum << 20) + part as u64);
        let mut deviates = Deviates::new(!seed, stream);
        let mut world = World::new(simulator, self.nodes[from].q.clone());
        let failed = Passage { from, to, arrived: false, seconds: 0.0 };
        if number > 0 && !world.disturb(task, self.near, &mut deviates)? {
            return Ok(failed);
        }
        let (arrived, seconds) = go(task, &mut world, self.walk_to(task, to))?;
        Ok(Passage { arrived, seconds, ..failed })
    }

    /// The nodes in the order of the distance from a state (nq).
    pub(super) fn nearest(&self, task: &Task, q: &[f64]) -> Result<Vec<usize>> {
        self.sorted(|node| apart(task, q, &node.q))
    }

    /// The nodes in the order of the object's distance from a goal.
    pub(super) fn nearest_goal(&self, task: &Task, goal: &Goal) -> Result<Vec<usize>> {
        self.sorted(|node| task.distance(goal, &node.q))
    }

    fn sorted(&self, distance: impl Fn(&Node) -> Result<f64>) -> Result<Vec<usize>> {
        let all = self.nodes.iter().enumerate().map(|(i, node)| Ok((distance(node)?, i)));
        let mut all = all.collect::<Result<Vec<_>>>()?;
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(all.into_iter().map(|(_, i)| i).collect())
    }
}

/// Candidate number `number`, where it came to rest: at the start of an episode, or with the object at its goal. None
/// if it did not. The episodes are others than those that run with the same seed.
fn settled(task: &Task, simulator: &Simulator, options: &Options, number: usize) -> Result<Option<Vec<f64>>> {
    let Episode { start: Start { mut q, .. }, goal, .. } = task.episode(!options.seed, number / 2)?;
    if number % 2 == 1 {
        q = task.at_goal(&goal, &q)?;
    }
    if options.joints && number > 0 {
        let mut deviates = Deviates::new(!options.seed, !(number as u64));
        for joint in simulator.joints().iter().filter(|joint| joint.lower.is_finite() && joint.upper.is_finite()) {
            q[joint.q] = joint.lower + (joint.upper - joint.lower) * deviates.even();
        }
    }
    let mut world = World::new(simulator, q);
    Ok(world.settle()?.then_some(world.q))
}

/// Distance of two states: the object's distance, and where that is alike, that of the joints.
fn apart(task: &Task, from: &[f64], to: &[f64]) -> Result<f64> {
    let object = task.distance(&task.state_of(task.object(), from), to)?;
    let joints = task.simulator().joints().iter().map(|joint| (to[joint.q] - from[joint.q]).powi(2)).sum::<f64>();
    Ok(object.hypot((JOINTS * joints).sqrt()))
}

/// The weight of joints in the distance of states, 1/rad² or 1/m².
const JOINTS: f64 = 0.03;

/// Walks in a world by the local planner: whether it arrived, and after what time, s.
pub(super) fn go(task: &Task, world: &mut World, mut walk: Walk) -> Result<(bool, f64)> {
    let mut episode = Episode { number: 0, start: Start::default(), goal: walk.goal.clone() };
    task.begin_at(&mut episode, world.q.clone())?;
    let mut controller = None;
    loop {
        match walk.step(task, &world.q)? {
            Step::Arrived => return Ok((true, walk.seconds(task))),
            Step::Failed => return Ok((false, walk.seconds(task))),
            Step::Turn => controller = None,
            Step::On => {}
        }
        let controller = match &mut controller {
            Some(controller) => controller,
            none => {
                let mut made = task.controller(&episode)?;
                made.set_problems(walk.problems(task, &episode.start)?)?;
                none.insert(made)
            }
        };
        let answer = controller.answer(&Measured { q: world.q.clone(), ..Measured::default() }, None)?;
        world.advance(&answer.u)?;
    }
}
