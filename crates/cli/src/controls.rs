//! Commands from a file: JSON lines or CSV.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fingertip::Model;
use fingertip::description::unknown;
use fingertip::overrides::{list, parse};
use serde_json::Value;

use crate::message;

/// What the column of a command begins with in tables that have other columns, too.
const COMMAND: &str = "u:";
/// Largest file, bytes.
const LARGEST: u64 = 256 << 20;

/// Commands (nu numbers each), one per step.
///
/// JSON lines: `[…]` or `{"u": […]}`. CSV: numbers separated by commas; a first line that is not numbers names the
/// joints, then columns may be in any order, and joints without a column stay at home. Tables of `export` and logs of
/// `fit` will do, too: of a line with columns such as `u:hand/thumb1` these alone count, and where it has a `time`, the
/// lines after it have to be a step apart.
pub fn read(path: &Path, model: &Model) -> Result<Vec<Vec<f64>>, String> {
    let place = |message: String| format!("{}: {message}", path.display());
    let text = text(path).map_err(place)?;
    let is_json = text.trim_start().starts_with(['[', '{']);
    let names: Vec<String> = model.tree.coordinates.iter().filter(|c| c.u.is_some()).map(|c| c.name.clone()).collect();
    let rows = if is_json { json_lines(&text, &names) } else { csv(&text, model) }.map_err(place)?;
    if rows.is_empty() {
        return Err(place("expected a command per line, got an empty file".to_owned()));
    }
    Ok(rows)
}

/// Reads the text of a file or pipe, of at most [`LARGEST`] bytes.
fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("expected at most {} MiB", LARGEST >> 20));
    }
    String::from_utf8(bytes).map_err(|error| format!("expected text in UTF-8: {}", error.utf8_error()))
}

fn json_lines(text: &str, names: &[String]) -> Result<Vec<Vec<f64>>, String> {
    let line = |(i, line): (usize, &str)| {
        let place = |message: String| format!("line {}: {message}", i + 1);
        let value: Value = parse(line.as_bytes()).map_err(|error| place(error.to_string()))?;
        let u = list("u", value.get("u").unwrap_or(&value)).map_err(|error| place(error.to_string()))?;
        if u.len() != names.len() {
            return Err(place(message::wrong_length("u", names, u.len())));
        }
        Ok(u)
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(line).collect()
}

fn csv(text: &str, model: &Model) -> Result<Vec<Vec<f64>>, String> {
    let joints = || model.tree.coordinates.iter().filter_map(|c| Some((c.u?, c)));
    let home = model.tree.home_command();
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).peekable();
    let mut columns: Vec<(usize, usize)> = (0..model.nu()).map(|u| (u, u)).collect();
    let (mut width, mut time) = (model.nu(), None);
    if let Some((i, header)) = lines.next_if(|(_, line)| numbers(line).is_err()) {
        let place = |name: &str| {
            let known = joints().map(|(_, joint)| joint.name.as_str());
            // A joint's own name will do where only one robot has it.
            let bare = |joint: &str| joint.split_once('/').is_some_and(|(_, own)| own == name);
            let full = joints().find(|(_, joint)| joint.name == name);
            let mut own = joints().filter(|(_, joint)| bare(&joint.name));
            match (full, own.next(), own.next()) {
                (Some((u, _)), ..) | (None, Some((u, _)), None) => Ok(u),
                (None, Some((_, one)), Some((_, other))) => {
                    let expected = format!("expected \"{}\" or \"{}\"", one.name, other.name);
                    Err(format!("line {}: \"{name}\" is a joint of several robots; {expected}", i + 1))
                }
                _ => Err(format!("line {}: {}", i + 1, unknown("commanded joint", name, known))),
            }
        };
        let names: Vec<&str> = header.split(',').map(|name| name.trim().trim_matches('"')).collect();
        let is_table = names.iter().any(|name| name.starts_with(COMMAND));
        let named = names.iter().enumerate().filter_map(|(k, name)| {
            let name = if is_table { name.strip_prefix(COMMAND)? } else { name };
            Some(place(name).map(|u| (k, u)))
        });
        columns = named.collect::<Result<_, _>>()?;
        width = names.len();
        time = names.iter().position(|name| is_table && *name == "time");
        if let Some(k) = (1..columns.len()).find(|&k| columns[..k].iter().any(|(_, u)| *u == columns[k].1)) {
            let name = joints().find(|(u, _)| *u == columns[k].1).map_or("", |(_, joint)| joint.name.as_str());
            return Err(format!("line {}: expected each joint once, but \"{name}\" stands twice", i + 1));
        }
    }
    let (h, mut before) = (model.params.h, None);
    let mut rows = Vec::new();
    for (i, line) in lines {
        let place = |message: String| format!("line {}: {message}", i + 1);
        let cells: Vec<&str> = line.split(',').collect();
        if cells.len() != width {
            return Err(place(format!("expected {width} numbers, got {}", cells.len())));
        }
        if let Some(time) = time {
            let now = number(cells[time]).map_err(place)?;
            if let Some(before) = before.replace(now)
                && ((now - before) - h).abs() > 0.01 * h
            {
                return Err(place(format!("time: expected {h} s more than before, a step, got {:.6}", now - before)));
            }
            // The first state of a table has no command before it.
            if rows.is_empty() && columns.iter().all(|&(cell, _)| cells[cell].trim().is_empty()) {
                continue;
            }
        }
        let mut u = home.clone();
        for &(cell, command) in &columns {
            u[command] = number(cells[cell]).map_err(place)?;
        }
        rows.push(u);
    }
    Ok(rows)
}

fn numbers(line: &str) -> Result<Vec<f64>, String> {
    line.split(',').map(number).collect()
}

fn number(cell: &str) -> Result<f64, String> {
    match cell.trim().parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ => Err(format!("expected a finite number, got \"{}\"", cell.trim())),
    }
}
