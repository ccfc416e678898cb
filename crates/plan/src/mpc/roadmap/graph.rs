//! The way of least expected time through the graph.

use petgraph::algo::astar;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Dfs;

use super::Roadmap;

/// An end of a part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// To a node.
    Node(usize),
    /// To the goal.
    Goal,
}

/// A way from a start to a goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The path's parts in order. The last one leads to the goal.
    pub hops: Vec<Hop>,
    /// Expected time with what failures cost, s: see [`super::Edge::cost`].
    pub cost: f64,
}

impl Roadmap {
    /// The cheapest way with the costs, s, of going from the start to nodes, from nodes to the goal, and, if that is
    /// possible, from the start to the goal without a node. None if there is no way. Edges that never succeeded are not
    /// used.
    pub fn shortest(&self, starts: &[(usize, f64)], ends: &[(usize, f64)], direct: Option<f64>) -> Option<Path> {
        let mut graph = self.graph();
        let (start, goal) = (graph.add_node(()), graph.add_node(()));
        for &(node, cost) in starts {
            graph.add_edge(start, NodeIndex::new(node), cost);
        }
        for &(node, cost) in ends {
            graph.add_edge(NodeIndex::new(node), goal, cost);
        }
        if let Some(cost) = direct {
            graph.add_edge(start, goal, cost);
        }
        let (cost, way) = astar(&graph, start, |node| node == goal, |edge| *edge.weight(), |_| 0.0)?;
        let hop = |node: &NodeIndex| if *node == goal { Hop::Goal } else { Hop::Node(node.index()) };
        Some(Path { hops: way[1..].iter().map(hop).collect(), cost })
    }

    /// Which nodes can be reached from each node: `[from][to]`.
    pub fn reachable(&self) -> Vec<Vec<bool>> {
        let graph = self.graph();
        let from = |node: NodeIndex| {
            let (mut found, mut search) = (vec![false; self.nodes.len()], Dfs::new(&graph, node));
            while let Some(next) = search.next(&graph) {
                found[next.index()] = true;
            }
            found
        };
        graph.node_indices().map(from).collect()
    }

    /// The nodes, and the edges that have succeeded.
    fn graph(&self) -> DiGraph<(), f64> {
        let mut graph = DiGraph::with_capacity(self.nodes.len() + 2, self.edges.len());
        self.nodes.iter().for_each(|_| {
            graph.add_node(());
        });
        for (&(from, to), edge) in &self.edges {
            if let Some(cost) = edge.cost() {
                graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), cost);
            }
        }
        graph
    }
}
