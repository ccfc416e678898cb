//! The order in which degrees of freedom are eliminated, and the entries that the factor has for it.

use std::collections::BTreeSet;

use fingertip::solve::{ContactPaths, Structure};
use fingertip_lanes::factor::Pattern;
use fingertip_step::inner::{Graph, factors};

/// Minimum degree with sets of neighbours, word for word as its definition says: the reference for the bit matrix.
fn by_sets(n: usize, edges: &[(usize, usize)], first: &[usize]) -> Vec<usize> {
    let mut around = vec![BTreeSet::new(); n];
    for &(i, j) in edges.iter().filter(|(i, j)| i != j) {
        around[i].insert(j);
        around[j].insert(i);
    }
    let mut order: Vec<usize> = Vec::new();
    while order.len() < n {
        let left = (0..n).rev().filter(|vertex| !order.contains(vertex));
        let next = first.get(order.len()).copied().or_else(|| left.min_by_key(|&vertex| around[vertex].len()));
        let vertex = next.unwrap_or(0);
        let own = std::mem::take(&mut around[vertex]);
        for &i in &own {
            around[i].extend(&own);
            around[i].remove(&i);
            around[i].remove(&vertex);
        }
        order.push(vertex);
    }
    order
}

#[test]
fn the_order_is_that_of_least_degrees() {
    for (n, step) in [(1, 1), (7, 3), (64, 5), (65, 7), (130, 11), (200, 2)] {
        let edges: Vec<_> = (0..3 * n).map(|k| (k * step % n, (k * k + 3 * k) % n)).collect();
        let mut graph = Graph::new(n);
        edges.iter().for_each(|&(i, j)| graph.join(i, j));
        let clique = [0, n / 3, n / 2, n - 1];
        graph.join_all(clique.into_iter());
        let joined = clique.iter().flat_map(|&i| clique.map(|j| (i, j)));
        let all: Vec<_> = edges.iter().copied().chain(joined).collect();
        for first in [vec![], vec![n - 1]] {
            assert_eq!(graph.minimum_degree(first.clone()), by_sets(n, &all, &first), "{n}");
        }
    }
}

#[test]
fn a_hand_has_no_fill_in() {
    // Dofs 0..3 object, 3 base, then five fingers of four: each contact sees the object, the base and one finger.
    let path = |finger: usize| {
        let a = std::iter::once(3).chain(4 + 4 * finger..8 + 4 * finger).map(|k| (k, k)).collect();
        ContactPaths { a, b: (0..3).map(|k| (k, k)).collect() }
    };
    let contacts: Vec<_> = (0..5).map(path).collect();
    let diagonal: Vec<_> = (0..24).map(|k| (k, k)).collect();
    let structure = Structure::new(24, 24, &diagonal, &contacts, &[]);
    // The diagonal, five blocks of 4 (6 beside it each), coupled to a root block of 4 (16 each), which is dense
    // (6).
    assert_eq!(factors(&structure).map(Pattern::n_entries), [24, 24 + 5 * (6 + 16) + 6]);
}
