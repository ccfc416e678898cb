//! Rows of numbers of which most may be zero.

use std::borrow::Cow;
use std::ops::Range;

/// A matrix that need not have all numbers of a row: others are zero. Forces are such rows: a hand whose links may
/// touch each other has thousands of contacts, of which some dozens press.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    width: usize,
    len: usize,
    /// The numbers that are there, row by row.
    values: Vec<f64>,
    /// Which these are; none if rows are whole.
    listed: Option<Listed>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Listed {
    /// Where each row ends among the numbers.
    ends: Vec<usize>,
    /// The column of each number.
    columns: Vec<usize>,
}

impl SparseRows {
    /// No rows yet, of `width` numbers.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Whole rows of `width` numbers, one after the other.
    pub fn whole(values: Vec<f64>, width: usize) -> Self {
        Self { width, len: values.len() / width.max(1), values, listed: None }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds a row: columns, each once and in their order, with their numbers.
    pub fn push(&mut self, row: impl IntoIterator<Item = (usize, f64)>) {
        let (len, width) = (self.len, self.width);
        let all = || (1..=len).map(|row| row * width).collect();
        let listed = self
            .listed
            .get_or_insert_with(|| Listed { ends: all(), columns: (0..len).flat_map(|_| 0..width).collect() });
        for (column, value) in row {
            listed.columns.push(column);
            self.values.push(value);
        }
        listed.ends.push(self.values.len());
        self.len += 1;
    }

    /// Adds rows of another matrix.
    pub fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let (from, to) = (other.place(rows.start), self.values.len());
        let numbers = from..other.place(rows.end);
        if self.is_empty() {
            self.listed = other.listed.as_ref().map(|_| Listed::default());
        }
        match (&mut self.listed, &other.listed) {
            (None, None) => {}
            (Some(own), Some(listed)) => {
                own.ends.extend(listed.ends[rows.clone()].iter().map(|end| end - from + to));
                own.columns.extend_from_slice(&listed.columns[numbers.clone()]);
            }
            _ => return rows.for_each(|row| self.push(other.row(row))),
        }
        self.values.extend_from_slice(&other.values[numbers]);
        self.len += rows.len();
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
        self.rows(self.len.saturating_sub(1)..self.len)
    }

    /// The columns of a row that are there, in their order, with their numbers.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let (first, end) = (self.place(row), self.place(row + 1));
        let column = move |k: usize| self.listed.as_ref().map_or(k - first, |listed| listed.columns[k]);
        (first..end).map(move |k| (column(k), self.values[k]))
    }

    /// The number of a row in a column.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        let (first, end) = (self.place(row), self.place(row + 1));
        match &self.listed {
            None => self.values[first + column],
            Some(Listed { columns, .. }) => {
                columns[first..end].binary_search(&column).map_or(0.0, |k| self.values[first + k])
            }
        }
    }

    /// Whole rows, one after the other.
    pub fn dense(&self) -> Cow<'_, [f64]> {
        if self.listed.is_none() {
            return Cow::Borrowed(&self.values);
        }
        let mut all = vec![0.0; self.len * self.width];
        for row in 0..self.len {
            self.row(row).for_each(|(column, x)| all[row * self.width + column] = x);
        }
        Cow::Owned(all)
    }

    /// Where a row begins among the numbers.
    fn place(&self, row: usize) -> usize {
        match &self.listed {
            None => row * self.width,
            Some(Listed { ends, .. }) => row.checked_sub(1).map_or(0, |before| ends[before]),
        }
    }
}
