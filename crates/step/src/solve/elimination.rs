//! Minimum-degree ordering: the order in which degrees of freedom are eliminated, so that the factor of H stays sparse.

use fingertip_lanes::factor::Pattern;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// An undirected graph of n vertices as a bit matrix, one row for each vertex. Where every body may touch every other
/// one, the graph is complete, and whole words of neighbours are joined at once.
#[derive(Clone)]
pub struct Graph {
    n: usize,
    /// Words of a row.
    words: usize,
    bits: Vec<u64>,
}

impl Graph {
    /// `n` vertices, none of them joined.
    pub fn new(n: usize) -> Self {
        let words = n.div_ceil(BITS);
        Self { n, words, bits: vec![0; n * words] }
    }

    /// Joins two vertices, if they are two.
    pub fn join(&mut self, i: usize, j: usize) {
        if i != j {
            self.row_mut(i)[j / BITS] |= 1 << (j % BITS);
            self.row_mut(j)[i / BITS] |= 1 << (i % BITS);
        }
    }

    /// Joins each of these vertices with each other.
    pub fn join_all(&mut self, vertices: impl Iterator<Item = usize> + Clone) {
        let mut all = vec![0; self.words];
        vertices.clone().for_each(|i| all[i / BITS] |= 1 << (i % BITS));
        vertices.for_each(|i| self.join_to(i, &all));
    }

    /// The number of neighbours of a vertex.
    pub(super) fn degree(&self, vertex: usize) -> usize {
        self.row(vertex).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// A minimum-degree elimination order. It begins with the given vertices; then always the vertex with the fewest
    /// neighbours follows, among equals the last.
    pub fn minimum_degree(&self, mut order: Vec<usize>) -> Vec<usize> {
        let mut graph = self.clone();
        let mut left = vec![true; self.n];
        for &vertex in &order {
            graph.remove(vertex);
            left[vertex] = false;
        }
        let mut degrees: Vec<usize> = (0..self.n).map(|vertex| graph.degree(vertex)).collect();
        while let Some(vertex) = (0..self.n).rev().filter(|&vertex| left[vertex]).min_by_key(|&vertex| degrees[vertex])
        {
            left[vertex] = false;
            for neighbour in graph.remove(vertex) {
                degrees[neighbour] = graph.degree(neighbour);
            }
            order.push(vertex);
        }
        order
    }

    /// The factor's pattern: a row's parent is the first of its neighbours to go after it.
    pub(super) fn eliminate(mut self, order: &[usize]) -> Pattern {
        let place = rows(order);
        let parents: Vec<_> =
            order.iter().map(|&vertex| self.remove(vertex).into_iter().map(|i| place[i]).max()).collect();
        Pattern::new(parents.into_iter().rev().enumerate().map(|(row, parent)| (parent, row)))
    }

    /// Takes a vertex away and joins its neighbours; returns them.
    fn remove(&mut self, vertex: usize) -> Vec<usize> {
        let around = self.row(vertex).to_vec();
        self.row_mut(vertex).fill(0);
        let mut neighbours = Vec::new();
        for (k, &word) in around.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                neighbours.push(BITS * k + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
        for &i in &neighbours {
            self.row_mut(i)[vertex / BITS] &= !(1 << (vertex % BITS));
            self.join_to(i, &around);
        }
        neighbours
    }

    /// Joins a vertex with all of a row's but itself.
    fn join_to(&mut self, vertex: usize, others: &[u64]) {
        let row = self.row_mut(vertex);
        row.iter_mut().zip(others).for_each(|(word, more)| *word |= more);
        row[vertex / BITS] &= !(1 << (vertex % BITS));
    }

    fn row(&self, vertex: usize) -> &[u64] {
        &self.bits[vertex * self.words..(vertex + 1) * self.words]
    }

    fn row_mut(&mut self, vertex: usize) -> &mut [u64] {
        &mut self.bits[vertex * self.words..(vertex + 1) * self.words]
    }
}

/// The row of each vertex in the factor, for an elimination order: the vertex that is eliminated last has row 0.
pub(super) fn rows(order: &[usize]) -> Vec<usize> {
    let mut rows = vec![0; order.len()];
    order.iter().rev().enumerate().for_each(|(row, &vertex)| rows[vertex] = row);
    rows
}
