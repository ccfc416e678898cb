//! Edges as seen along a contact normal, and which of them may cross.

use super::points::ROUNDING;

/// An edge as seen along the contact normal.
pub(super) struct Seen {
    /// Its place among its body's edges.
    pub(super) edge: usize,
    /// Its two ends, m.
    pub(super) ends: [[f64; 2]; 2],
    /// The heights of its ends along the normal, m.
    pub(super) heights: [f64; 2],
    /// How much its side looks along the normal.
    pub(super) strength: f64,
}

impl Seen {
    /// The least and the largest of each of two coordinates, m.
    pub(super) fn around(&self) -> [[f64; 2]; 2] {
        let [[x, y], [z, w]] = self.ends;
        [[x.min(z), y.min(w)], [x.max(z), y.max(w)]]
    }

    /// From one end to the other, as seen, m.
    pub(super) fn along(&self) -> [f64; 2] {
        let [p, q] = self.ends;
        [q[0] - p[0], q[1] - p[1]]
    }

    /// Its length, m.
    pub(super) fn length(&self) -> f64 {
        let ([x, y], [from, to]) = (self.along(), self.heights);
        (x * x + y * y + (to - from) * (to - from)).sqrt()
    }

    /// The parts of both edges at which they cross; `None` if they do not.
    pub(super) fn crosses(&self, other: &Self) -> Option<[f64; 2]> {
        let (u, w) = (self.along(), other.along());
        let between = [other.ends[0][0] - self.ends[0][0], other.ends[0][1] - self.ends[0][1]];
        let across = cross_of(u, w);
        let parts = [cross_of(between, w) / across, cross_of(between, u) / across];
        parts.iter().all(|part| (-ROUNDING..=1.0 + ROUNDING).contains(part)).then_some(parts)
    }
}

/// Which of some edges are in each of the stripes that a rectangle is cut into, along and across.
pub(super) struct Stripes {
    /// The rectangle: the least and the largest of each of two coordinates, m.
    rectangle: [[f64; 2]; 2],
    /// For each of both ways, and each stripe, a bit for each edge, in words.
    edges: [Vec<u64>; 2],
    n_words: usize,
}

impl Stripes {
    const N: usize = 16;

    pub(super) fn new(rectangle: [[f64; 2]; 2], edges: &[Seen]) -> Self {
        let n_words = edges.len().div_ceil(64);
        let mut stripes = Self { rectangle, edges: [0, 1].map(|_| vec![0; Self::N * n_words]), n_words };
        for (k, edge) in edges.iter().enumerate() {
            for (way, [first, last]) in stripes.of(edge).into_iter().enumerate() {
                for stripe in first..=last {
                    stripes.edges[way][stripe * n_words + k / 64] |= 1 << (k % 64);
                }
            }
        }
        stripes
    }

    /// The first and the last stripe that an edge is in, for each of both ways. What is beyond the rectangle is in the
    /// first or the last.
    fn of(&self, edge: &Seen) -> [[usize; 2]; 2] {
        let ([from, to], [least, most]) = (self.rectangle, edge.around());
        [0, 1].map(|k| {
            let stripe = |x: f64| ((x - from[k]) * (Self::N as f64 / (to[k] - from[k]))) as usize;
            [least[k], most[k]].map(|x| stripe(x).min(Self::N - 1))
        })
    }

    /// The edges that have a stripe in common with another one, both ways.
    pub(super) fn near(&self, edge: &Seen) -> impl Iterator<Item = usize> {
        let of = self.of(edge);
        (0..self.n_words).flat_map(move |word| {
            let [x, y] = [0, 1].map(|way| {
                let [first, last] = of[way];
                (first..=last).fold(0, |all, stripe| all | self.edges[way][stripe * self.n_words + word])
            });
            let mut bits: u64 = x & y;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * word + bit)
            })
        })
    }
}

/// The rectangle around some edges: the least and the largest of each of two coordinates, m.
pub(super) fn around_all(all: &[Seen]) -> [[f64; 2]; 2] {
    all.iter().map(Seen::around).fold([[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]], |[least, most], [from, to]| {
        [[0, 1].map(|k| least[k].min(from[k])), [0, 1].map(|k| most[k].max(to[k]))]
    })
}

/// The component of the cross product of two vectors of a plane that there is.
pub(super) fn cross_of([x, y]: [f64; 2], [z, w]: [f64; 2]) -> f64 {
    x * w - y * z
}
