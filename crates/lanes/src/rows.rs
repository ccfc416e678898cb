//! The interface between kernels and matrices: [`Rows`] are operands, [`Output`] are results.
//!
//! An operand is a matrix (B, n) with one row per world, or (1, n) with one row for all worlds. Rows hold `f64`; the
//! program chooses the number type of its lanes.

use std::borrow::Cow;
use std::ops::Range;

use super::lane::{Lane, Number, Zip};

/// Transposition moves so many numbers of a row before it moves on to the next world: blocks that stay in the cache.
const BLOCK: usize = 8;

/// A matrix operand: one row per world, one row for all worlds, or rows that repeat.
pub struct Rows<'a> {
    data: Cow<'a, [f64]>,
    rows: usize,
    /// The number of rows in the data, which the others repeat.
    stored: usize,
    width: usize,
    /// The distance from the start of one row to the start of the next, in numbers.
    stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows of `width` numbers in borrowed or owned data. Each row starts `stride` numbers after the one before.
    pub fn with_stride(data: impl Into<Cow<'a, [f64]>>, rows: usize, width: usize, stride: usize) -> Self {
        Self { data: data.into(), rows, stored: rows, width, stride }
    }

    /// Contiguous rows of `width` numbers in borrowed data.
    pub fn from_slice(data: &'a [f64], rows: usize, width: usize) -> Self {
        Self { data: Cow::Borrowed(data), rows, stored: rows, width, stride: width }
    }

    /// Contiguous rows of `width` numbers in owned data.
    pub fn of_worlds_of(data: Vec<f64>, rows: usize, width: usize) -> Rows<'static> {
        Rows { data: Cow::Owned(data), rows, stored: rows, width, stride: width }
    }

    /// An operand with one row for all worlds, in owned data.
    pub fn owned(row: Vec<f64>) -> Rows<'static> {
        let width = row.len();
        Rows { data: Cow::Owned(row), rows: 1, stored: 1, width, stride: width }
    }

    /// These rows again and again, until there is one for each of so many worlds. One row for all worlds stays that.
    pub fn repeated(self, worlds: usize) -> Self {
        let rows = if self.rows == 1 { 1 } else { worlds };
        Self { rows, ..self }
    }

    /// Copies the operand into data of its own, without unused numbers behind the last row.
    pub fn into_owned(self) -> Rows<'static> {
        let used = (self.stored.max(1) - 1) * self.stride + self.width;
        Rows { data: Cow::Owned(self.data[..used].to_vec()), ..self }
    }

    /// Copies the rows of some worlds. An operand with one row for all worlds stays that.
    pub fn of_worlds(&self, worlds: &[usize]) -> Rows<'static> {
        let worlds = if self.rows == 1 { &[0] } else { worlds };
        let data: Vec<f64> = worlds.iter().flat_map(|&world| self.row(world)).copied().collect();
        Rows { data: data.into(), rows: worlds.len(), stored: worlds.len(), width: self.width, stride: self.width }
    }

    /// The number of rows: one for each world, or one for all.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The row of a world. Beyond the last row it is the last one: this fills a lane that is wider than the worlds that
    /// are left.
    pub fn row(&self, world: usize) -> &[f64] {
        let row = world.min(self.rows.saturating_sub(1)) % self.stored.max(1);
        &self.data[row * self.stride..row * self.stride + self.width]
    }

    /// Loads column `k` of the worlds `first .. first + R::WIDTH` as one lane.
    #[inline(always)]
    pub fn load<R: Lane>(&self, first: usize, k: usize) -> R {
        let mut lane = [R::zero()];
        self.load_all(first, k, &mut lane);
        lane[0]
    }

    /// Loads consecutive columns from `k` on, of the worlds `first .. first + R::WIDTH`: one lane per column.
    #[inline(always)]
    pub fn load_all<R: Lane>(&self, first: usize, k: usize, to: &mut [R]) {
        R::exchange(
            [],
            [to],
            #[inline(always)]
            |[], [to]| self.gather(first, k, R::WIDTH, to),
        );
    }

    /// Transposes columns from `k` on of `width` worlds into `to`, the worlds of one column side by side.
    #[inline(never)]
    pub(super) fn gather<N: Number>(&self, first: usize, k: usize, width: usize, to: &mut [N]) {
        match width {
            1 => self.gather_columns(first, k, to.as_chunks_mut::<1>().0),
            4 => self.gather_columns(first, k, to.as_chunks_mut::<4>().0),
            8 => self.gather_columns(first, k, to.as_chunks_mut::<8>().0),
            _ => self.gather_columns(first, k, to.as_chunks_mut::<16>().0),
        }
    }

    /// [`Rows::gather`] for a constant number of W worlds.
    #[inline(always)]
    fn gather_columns<N: Number, const W: usize>(&self, first: usize, k: usize, to: &mut [[N; W]]) {
        let n = to.len();
        let rows: [_; W] = std::array::from_fn(|i| self.row(first + i)[k..k + n].as_chunks::<BLOCK>());
        let (blocks, rest) = to.as_chunks_mut::<BLOCK>();
        for (block, to) in blocks.iter_mut().enumerate() {
            for i in 0..W {
                let from = &rows[i].0[block];
                for j in 0..BLOCK {
                    to[j][i] = N::of(from[j]);
                }
            }
        }
        for (j, to) in rest.iter_mut().enumerate() {
            for i in 0..W {
                to[i] = N::of(rows[i].1[j]);
            }
        }
    }
}

/// What kernels write: rows of one matrix or of several side by side, and a list of what worlds have found.
pub struct Output<'a> {
    /// The worlds that these rows belong to.
    pub(super) worlds: Range<usize>,
    /// The matrices, each with one row per world of `worlds`.
    pub(super) parts: Vec<Part<'a>>,
    /// See [`Output::list`].
    pub(super) list: Vec<f64>,
}

/// Rows of one result matrix.
pub(super) struct Part<'a> {
    pub(super) data: &'a mut [f64],
    pub(super) width: usize,
}

/// The first entry of what [`Output::list`] has listed: its world, its tag, and its numbers with all entries behind.
pub fn next_listed(list: &[f64]) -> Option<(usize, usize, &[f64])> {
    let [world, tag, rest @ ..] = list else { return None };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they were indices")]
    let index = |&x: &f64| x as usize;
    Some((index(world), index(tag), rest))
}

impl<'a> Output<'a> {
    /// Rows of matrices for these worlds.
    pub(super) fn new(worlds: Range<usize>, parts: Vec<Part<'a>>) -> Self {
        Self { worlds, parts, list: Vec::new() }
    }

    /// Appends to the list what those worlds from `first` on have that are `chosen` (not 0): the world, `tag`, and its
    /// numbers of all lanes. [`next_listed`] reads them.
    #[inline(always)]
    pub fn list<R: Lane, const N: usize>(&mut self, first: usize, tag: usize, chosen: R, from: [&[R]; N]) {
        R::exchange(
            [&[chosen]],
            [],
            #[inline(always)]
            |[chosen], []| {
                R::exchange(
                    from,
                    [],
                    #[inline(always)]
                    |from, []| self.append(first, R::WIDTH, tag, chosen, &from),
                );
            },
        );
    }

    /// [`Output::list`] for lanes of `width` worlds.
    #[inline(never)]
    fn append<N: Number>(&mut self, first: usize, width: usize, tag: usize, chosen: &[N], from: &[&[N]]) {
        #[expect(clippy::cast_precision_loss, reason = "far fewer than a mantissa counts")]
        let index = |i: usize| i as f64;
        for (i, world) in (0..width).zip(first..self.worlds.end) {
            if chosen[i].value() != 0.0 {
                self.list.extend([index(world), index(tag)]);
                self.list.extend(from.iter().flat_map(|from| from.iter().skip(i).step_by(width)).map(|x| x.value()));
            }
        }
    }

    /// Stores one lane as column `k` of the worlds from `first` on.
    #[inline(always)]
    pub fn store<R: Lane>(&mut self, first: usize, k: usize, lane: R) {
        let Part { data, width } = &mut self.parts[0];
        let (row, last) = (first - self.worlds.start, self.worlds.end);
        R::exchange(
            [&[lane]],
            [],
            #[inline(always)]
            |[from], []| {
                for i in 0..R::WIDTH.min(last - first) {
                    data[(row + i) * *width + k] = from[i].value();
                }
            },
        );
    }

    /// Stores lanes as consecutive columns from `k` on, of the worlds from `first` on.
    #[inline(always)]
    pub fn store_all<R: Lane>(&mut self, first: usize, k: usize, from: &[R]) {
        self.store_in(0, first, k, from);
    }

    /// Stores whole rows of one matrix for the worlds from `first` on. `from` has `width` worlds side by side; those
    /// beyond the last are left out.
    #[cfg(feature = "native")]
    pub(super) fn scatter<N: Number>(&mut self, part: usize, first: usize, width: usize, from: &[N]) {
        let rows = first - self.worlds.start..(first + width).min(self.worlds.end) - self.worlds.start;
        self.parts[part].scatter(rows, 0, width, from);
    }

    /// Stores lanes as whole rows of all matrices, one matrix after the other, for the worlds from `first` on.
    #[inline(always)]
    pub fn store_parts<R: Lane>(&mut self, first: usize, mut from: &[R]) {
        for part in 0..self.parts.len() {
            let (own, rest) = from.split_at(self.parts[part].width);
            self.store_in(part, first, 0, own);
            from = rest;
        }
    }

    /// [`Output::store_all`] in the matrix with index `part`.
    #[inline(always)]
    pub fn store_in<R: Lane>(&mut self, part: usize, first: usize, k: usize, from: &[R]) {
        let rows = first - self.worlds.start..(first + R::WIDTH).min(self.worlds.end) - self.worlds.start;
        R::exchange(
            [from],
            [],
            #[inline(always)]
            |[from], []| self.parts[part].scatter(rows.clone(), k, R::WIDTH, from),
        );
    }
}

impl Part<'_> {
    /// Transposes lanes of `width` worlds into the rows of those that exist: the opposite of [`Rows::gather`].
    #[inline(never)]
    fn scatter<N: Number>(&mut self, rows: Range<usize>, k: usize, width: usize, from: &[N]) {
        match width {
            1 => self.scatter_columns(rows, k, from.as_chunks::<1>().0),
            4 => self.scatter_columns(rows, k, from.as_chunks::<4>().0),
            8 => self.scatter_columns(rows, k, from.as_chunks::<8>().0),
            _ => self.scatter_columns(rows, k, from.as_chunks::<16>().0),
        }
    }

    /// [`Part::scatter`] for a constant number of W worlds.
    #[inline(always)]
    fn scatter_columns<N: Number, const W: usize>(&mut self, rows: Range<usize>, k: usize, from: &[[N; W]]) {
        let (n, width) = (from.len(), self.width);
        if W == 1 {
            let start = rows.start * width + k;
            for (to, from) in self.data[start..start + n].iter_mut().zip_inline(from) {
                *to = from[0].value();
            }
            return;
        }
        let (blocks, rest) = from.as_chunks::<BLOCK>();
        for (block, from) in blocks.iter().enumerate() {
            for (i, row) in (0..W).zip(rows.clone()) {
                let start = row * width + k + block * BLOCK;
                for (to, from) in self.data[start..start + BLOCK].iter_mut().zip_inline(from) {
                    *to = from[i].value();
                }
            }
        }
        for (i, row) in (0..W).zip(rows) {
            let end = row * width + k + n;
            for (to, from) in self.data[end - rest.len()..end].iter_mut().zip_inline(rest) {
                *to = from[i].value();
            }
        }
    }
}
