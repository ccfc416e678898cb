//! Rows of numbers of which most are zero.

use std::ops::Range;

/// A matrix that has of each row only the numbers that may differ from zero. Forces are such rows: a hand whose links
/// may touch each other has thousands of contacts, of which some dozens press.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    width: usize,
    /// Where each row ends among the numbers.
    ends: Vec<usize>,
    /// The column of each number, and the number.
    numbers: Vec<(usize, f64)>,
}

impl SparseRows {
    /// No rows yet, of `width` numbers.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Whole rows of `width` numbers, one after the other.
    pub fn of(rows: &[f64], width: usize) -> Self {
        let mut all = Self::new(width);
        for row in rows.chunks_exact(width.max(1)) {
            all.push(row.iter().copied().enumerate().filter(|(_, x)| *x != 0.0));
        }
        all
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds a row: columns, each once and in their order, with their numbers.
    pub fn push(&mut self, row: impl IntoIterator<Item = (usize, f64)>) {
        self.numbers.extend(row);
        self.ends.push(self.numbers.len());
    }

    /// Adds rows of another matrix.
    pub fn extend(&mut self, other: &Self, rows: Range<usize>) {
        rows.for_each(|row| self.push(other.row(row).iter().copied()));
    }

    /// Some of the rows.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let mut some = Self::new(self.width);
        some.extend(self, rows);
        some
    }

    /// The last row alone, if there is one.
    #[must_use]
    pub fn last(&self) -> Self {
        self.rows(self.len().saturating_sub(1)..self.len())
    }

    /// A row's columns in their order, with their numbers.
    pub fn row(&self, row: usize) -> &[(usize, f64)] {
        let first = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.numbers[first..self.ends[row]]
    }

    /// The number of a row in a column.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        let row = self.row(row);
        row.binary_search_by_key(&column, |(column, _)| *column).map_or(0.0, |k| row[k].1)
    }

    /// Whole rows, one after the other.
    pub fn dense(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.len() * self.width];
        for row in 0..self.len() {
            self.row(row).iter().for_each(|&(column, x)| all[row * self.width + column] = x);
        }
        all
    }
}
