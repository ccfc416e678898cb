//! The style of tables in the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table with a header; columns from `first_number` on are right-aligned.
pub fn table(header: &[&str], first_number: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    for column in table.column_iter_mut().skip(first_number) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A number with about four digits, without needless zeros.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e5).contains(&x.abs()) {
        return format!("{x:.2e}");
    }
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
