//! Springs on sums of coordinates, and the entries of P that they and all else add to.

use std::collections::HashMap;

use fingertip_lanes::lane::Real;

/// P's entries (i, j), j ≤ i, each once.
pub(super) struct Entries {
    pub(super) all: Vec<(usize, usize)>,
    places: HashMap<(usize, usize), usize>,
}

impl Entries {
    pub(super) fn of(all: Vec<(usize, usize)>) -> Self {
        let key = |&(i, j): &(usize, usize)| (i.max(j), i.min(j));
        let places = all.iter().map(key).zip(0..).collect();
        Self { all, places }
    }

    /// The place of an entry, behind the others if it is new.
    pub(super) fn at(&mut self, i: usize, j: usize) -> usize {
        let key = (i.max(j), i.min(j));
        *self.places.entry(key).or_insert_with(|| {
            self.all.push(key);
            self.all.len() - 1
        })
    }
}

/// A spring on a sum of coordinates, Σ ratio · q.
#[derive(Debug)]
pub(super) struct Strand {
    /// (degree of freedom, place in q, ratio) of each coordinate.
    pub(super) terms: Vec<(usize, usize, f64)>,
    /// (entry of P, product of the two ratios).
    entries: Vec<(usize, f64)>,
    /// The strand's largest force where a step starts, N·m or N; infinite if it has no bound.
    bound: f64,
}

/// ratio · x, and x itself for a ratio of 1.
#[inline(always)]
pub(super) fn times<R: Real>(ratio: f64, x: R) -> R {
    if ratio == 1.0 { x } else { x.scale(ratio) }
}

impl Strand {
    pub(super) fn new(terms: Vec<(usize, usize, f64)>, bound: f64, entries: &mut Entries) -> Self {
        let pairs = terms.iter().enumerate().flat_map(|(l, left)| terms[..=l].iter().map(move |right| (left, right)));
        let entries = pairs.map(|(l, r)| (entries.at(l.0, r.0), l.2 * r.2)).collect();
        Self { terms, entries, bound }
    }

    /// The strand's force where a step starts, and the stiffness by which that changes with q and the target: 0 at its
    /// bound.
    #[inline(always)]
    pub(super) fn pulls<R: Real>(&self, [stiffness, target]: [R; 2], q: &[R]) -> [R; 2] {
        let force = stiffness * self.short(target, q);
        if self.bound.is_infinite() {
            return [force, stiffness];
        }
        let bound = R::splat(self.bound);
        let is_less = force.abs().lt(bound);
        [force.min(bound).max(-bound), R::select(is_less, stiffness, R::zero())]
    }

    /// How far the sum is short of its target.
    #[inline(always)]
    fn short<R: Real>(&self, target: R, q: &[R]) -> R {
        let mut short = target;
        for &(_, at, ratio) in &self.terms {
            short -= times(ratio, q[at]);
        }
        short
    }

    /// Adds what a spring of this stiffness and target puts into P and g.
    #[inline(always)]
    pub(super) fn fill<R: Real>(
        &self,
        place: &[usize],
        [stiffness, target]: [R; 2],
        q: &[R],
        p: &mut [R],
        g: &mut [R],
    ) {
        for &(entry, ratio) in &self.entries {
            p[entry] += times(ratio, stiffness);
        }
        let [force, _] = self.pulls([stiffness, target], q);
        for &(dof, _, ratio) in &self.terms {
            g[place[dof]] -= times(ratio, force);
        }
    }

    /// The gradients of stiffness and target, from those of P and −g; that of q is added to.
    #[inline(always)]
    pub(super) fn vjp<R: Real>(
        &self,
        place: &[usize],
        [stiffness, target]: [R; 2],
        q: &[R],
        [grad_p, y]: [&[R]; 2],
        to_q: &mut [R],
    ) -> [R; 2] {
        let (mut along, mut grad) = (R::zero(), R::zero());
        for &(dof, _, ratio) in &self.terms {
            along += times(ratio, y[place[dof]]);
        }
        for &(entry, ratio) in &self.entries {
            grad += times(ratio, grad_p[entry]);
        }
        let [_, slope] = self.pulls([stiffness, target], q);
        let to_target = along * slope;
        for &(_, at, ratio) in &self.terms {
            to_q[at] -= times(ratio, to_target);
        }
        let short = self.short(target, q);
        let short = if self.bound.is_infinite() { short } else { R::select(slope.gt(R::zero()), short, R::zero()) };
        [along.mul_add(short, grad), to_target]
    }
}
