//! The derivatives of steps on plain numbers.

use std::ops::Range;

/// First derivatives of steps in tangent coordinates, matrices row by row, world by world; see
/// [`Linearization`](super::Linearization).
#[derive(Clone, Debug)]
pub struct Jacobians {
    /// A = ∂q₊/∂q (B, nv, nv).
    pub a: Vec<f64>,
    /// B = ∂q₊/∂u (B, nv, nu).
    pub b: Vec<f64>,
    /// λ, C and D, where they were asked for.
    pub forces: Option<ForceJacobians>,
}

/// λ and its derivatives, of contacts with a force alone: of all others they are zero. A hand whose links may touch
/// each other has thousands of contacts, of which some dozens press.
#[derive(Clone, Debug, Default)]
pub struct ForceJacobians {
    /// The world of each row and its place in λ (n), in this order. In λ come first 3 nc forces, along each contact's
    /// normal and tangents, then the torques as in [`Held::torque`](super::Held::torque); see
    /// [`Model::n_lambda`](crate::model::Model::n_lambda). All numbers of a contact are there if one is not zero.
    pub rows: Vec<[usize; 2]>,
    /// λ (n), N and N·m.
    pub lambda: Vec<f64>,
    /// C = ∂λ/∂q (n, nv).
    pub c: Vec<f64>,
    /// D = ∂λ/∂u (n, nu).
    pub d: Vec<f64>,
}

/// World and place of a row of λ, its number there, its rows of C and D.
pub(super) type ForceRow<'a> = ([usize; 2], f64, [&'a [f64]; 2]);

impl Jacobians {
    /// Puts those of some of `b` worlds in place of their own.
    pub(super) fn replace(&mut self, worlds: &[u32], by: &Self, b: usize) {
        for (own, by) in [(&mut self.a, &by.a), (&mut self.b, &by.b)] {
            let width = own.len() / b;
            for (&world, by) in worlds.iter().zip(by.chunks_exact(width.max(1))) {
                own[world as usize * width..][..width].copy_from_slice(by);
            }
        }
        if let (Some(own), Some(by)) = (&mut self.forces, &by.forces) {
            let kept = own.each().filter(|([world, _], ..)| !worlds.iter().any(|&of| of as usize == *world));
            let by = by.each().map(|([k, place], lambda, of)| ([worlds[k] as usize, place], lambda, of));
            let mut rows: Vec<_> = kept.chain(by).collect();
            rows.sort_unstable_by_key(|(row, ..)| *row);
            *own = ForceJacobians::of_rows(&rows);
        }
    }
}

impl ForceJacobians {
    /// Each row: world and place, λ, C and D.
    fn each(&self) -> impl Iterator<Item = ForceRow<'_>> {
        let [nv, nu] = [&self.c, &self.d].map(|of| of.len() / self.rows.len().max(1));
        let rows = self.rows.iter().zip(&self.lambda).enumerate();
        rows.map(move |(k, (row, lambda))| (*row, *lambda, [&self.c[k * nv..][..nv], &self.d[k * nu..][..nu]]))
    }

    /// Rows in their order.
    pub(super) fn of_rows(rows: &[ForceRow]) -> Self {
        let side = |k: usize| {
            let mut all = Vec::with_capacity(rows.iter().map(|(.., of)| of[k].len()).sum());
            rows.iter().for_each(|(.., of)| all.extend_from_slice(of[k]));
            all
        };
        Self {
            rows: rows.iter().map(|(row, ..)| *row).collect(),
            lambda: rows.iter().map(|(_, lambda, _)| *lambda).collect(),
            c: side(0),
            d: side(1),
        }
    }

    /// The rows of λ (B, n_lambda), C and D that belong to contacts with a force, and all of torques.
    pub(super) fn of_all([lambda, c, d]: [Vec<f64>; 3], [worlds, nc, n_lambda]: [usize; 3]) -> Self {
        let presses = |row: usize| {
            let (world, place) = (row / n_lambda, row % n_lambda);
            let first = world * n_lambda + place - place % 3;
            place >= 3 * nc || lambda[first..first + 3] != [0.0; 3]
        };
        let chosen: Vec<usize> = (0..worlds * n_lambda).filter(|&row| presses(row)).collect();
        let some = |of: Vec<f64>| {
            if chosen.len() == worlds * n_lambda {
                return of;
            }
            let width = of.len() / (worlds * n_lambda).max(1);
            let mut some = Vec::with_capacity(chosen.len() * width);
            chosen.iter().for_each(|row| some.extend_from_slice(&of[row * width..(row + 1) * width]));
            some
        };
        let rows = chosen.iter().map(|row| [row / n_lambda, row % n_lambda]).collect();
        let [c, d] = [c, d].map(some);
        Self { rows, lambda: chosen.iter().map(|&row| lambda[row]).collect(), c, d }
    }

    /// The rows of one world.
    pub fn of_world(&self, world: usize) -> Range<usize> {
        let first = |world: usize| self.rows.partition_point(|row| row[0] < world);
        first(world)..first(world + 1)
    }

    /// One of λ, C and D with all its rows, (B, `n_lambda`, `width`): 1, nv or nu numbers each.
    pub fn all(&self, of: &[f64], worlds: usize, n_lambda: usize, width: usize) -> Vec<f64> {
        let mut all = vec![0.0; worlds * n_lambda * width];
        for ([world, place], row) in self.rows.iter().zip(of.chunks_exact(width.max(1))) {
            let first = (world * n_lambda + place) * width;
            all[first..first + width].copy_from_slice(row);
        }
        all
    }
}
