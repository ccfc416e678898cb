//! Lines and tables.

use std::fmt::Write;

use super::super::trace::Row;

/// A number of a row; `in_time` in the step that the driver is at.
pub(super) fn number_of(row: &Row, place: &str, in_time: bool) -> String {
    if in_time { format!("({} + t * {})[{place}]", row.name, row.step) } else { format!("{}[{place}]", row.name) }
}

/// Declares a table, if it has columns.
pub(super) fn declare_table(of: &str, name: &str, rows: Vec<Vec<String>>, text: &mut String) {
    let columns = rows.first().map_or(0, Vec::len);
    if columns > 0 {
        let lines: Vec<String> = rows.iter().map(|row| format!("{{{}}}", row.join(", "))).collect();
        let _ = writeln!(text, "  TABLE {of} {name}[{}][{columns}] = {{{}}};", rows.len(), lines.join(", "));
    }
}

/// The driver's text.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) depth: usize,
    /// Is it in the loop over time?
    pub(super) in_time: bool,
}

impl Text {
    pub(super) fn line(&mut self, line: &str) {
        let pad = "  ".repeat(self.depth);
        let _ = writeln!(self.text, "{pad}{line}");
    }

    pub(super) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }
}
