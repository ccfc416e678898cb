//! Helpers for C text: indented lines, tables and the numbers of rows.

use std::fmt::Write;

use super::super::trace::Row;

/// The C expression of a number of a row. With `in_time`, the number of the time step t that the driver is at.
pub(super) fn number_of(row: &Row, place: &str, in_time: bool) -> String {
    if in_time { format!("({} + t * {})[{place}]", row.name, row.step) } else { format!("{}[{place}]", row.name) }
}

/// Prints the declaration of a constant table, unless it has no columns.
pub(super) fn declare_table(of: &str, name: &str, rows: Vec<Vec<String>>, text: &mut String) {
    let columns = rows.first().map_or(0, Vec::len);
    if columns > 0 {
        let lines: Vec<String> = rows.iter().map(|row| format!("{{{}}}", row.join(", "))).collect();
        let _ = writeln!(text, "  TABLE {of} {name}[{}][{columns}] = {{{}}};", rows.len(), lines.join(", "));
    }
}

/// The text of the driver, with its indentation.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) depth: usize,
    /// Is the text inside the loop over time?
    pub(super) in_time: bool,
}

impl Text {
    /// Appends an indented line.
    pub(super) fn line(&mut self, line: &str) {
        let pad = "  ".repeat(self.depth);
        let _ = writeln!(self.text, "{pad}{line}");
    }

    /// Appends a line that opens a block.
    pub(super) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// Closes the innermost block.
    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }
}
