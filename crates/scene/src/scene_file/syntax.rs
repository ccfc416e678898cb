//! Reading a scene's text: all that cannot be read, not the first alone.
//!
//! An entry that the parser cannot read is noted and taken out, and the rest is read again.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue, Deserializer};

use fingertip_shapes::{Error, Findings, check};

/// Errors that are looked for, at most.
const MOST: usize = 50;

/// Reads a scene's text, as what its file holds. Where there are findings, the file is without the entries that have
/// them.
pub(super) fn read<T: DeserializeOwned>(text: &str, findings: &mut Findings) -> Option<T> {
    if let Ok(file) = toml::from_str(text) {
        return Some(file);
    }
    let (mut table, errors) = DeTable::parse_recoverable(text);
    let mut note = |error: &toml::de::Error| findings.note(located(error, text));
    if let Some(first) = errors.first() {
        // What follows a broken line is often broken by it.
        note(first);
        return None;
    }
    let mut found = Vec::new();
    let mut damaged = Vec::new();
    while let Err(error) = read_table::<T>(&table)
        && found.len() < MOST
    {
        let taken = error.span().and_then(|span| Taken::out_of(table.get_mut(), &span));
        match &taken {
            // What lacks a key may lack the one that was taken out before.
            Some(Taken::Entry(entry)) if damaged.contains(entry) => {}
            _ => found.push(error),
        }
        match taken {
            Some(Taken::Key { of: Some(entry) }) => damaged.push(entry),
            Some(_) => {}
            None => break,
        }
    }
    found.sort_by_key(|error| error.span().map_or(0, |span| span.start));
    found.iter().for_each(note);
    for (_, value) in table.get_mut().iter_mut() {
        let Some(entries) = list(value) else { continue };
        retain(entries, |entry| !damaged.contains(&entry.span().start));
    }
    read_table(&table).ok()
}

fn read_table<T: DeserializeOwned>(table: &Spanned<DeTable>) -> Result<T, toml::de::Error> {
    T::deserialize(Deserializer::from(table.clone()))
}

/// The keys of shapes: what is expected of each, and an example.
const SHAPES: [(&str, &str, &str); 8] = [
    ("sphere", "its radius, m", "0.02"),
    ("box", "three half extents, m", "[0.03, 0.02, 0.01]"),
    ("capsule", "its radius and half length, m", "[0.01, 0.04]"),
    ("cylinder", "its radius and half length, m", "[0.01, 0.04]"),
    ("ellipsoid", "three radii, m", "[0.03, 0.02, 0.01]"),
    ("hull", "its points, m", "[[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]]"),
    ("mesh", "a file", "\"cup.stl\""),
    ("halfspace", "its normal and offset", "[0.0, 0.0, 1.0, 0.0]"),
];

/// The message on a shape's value of another form: what it is, with an example.
fn of_shape(message: &str, span: &Range<usize>, text: &str) -> Option<String> {
    let (got, _) = message.split_once(", expected")?;
    let got = match got.strip_prefix("invalid type: ") {
        Some("map") => "a table".to_owned(),
        Some("sequence") => "a list".to_owned(),
        Some(other) => other.replace("floating point", "the number").replace("integer", "the number"),
        None => format!("{} numbers", got.strip_prefix("invalid length ")?),
    };
    // The value of `sphere = …`; or the key itself, of `sphere.radius = …` and `[object.sphere]`.
    let key = match text.get(..span.start)?.trim_end().strip_suffix('=') {
        Some(before) => before.trim_end().rsplit([' ', '\n', ',', '{']).next()?,
        None => text.get(span.start..)?.split(['=', ']', '\n']).next()?.trim_matches('['),
    };
    let (name, expected, example) =
        SHAPES.into_iter().find(|(name, ..)| key.split('.').any(|part| part.trim() == *name))?;
    Some(format!("{name}: expected {expected}, as in {name} = {example}, got {got}"))
}

/// The parser's message, on one line and with its place.
fn located(error: &toml::de::Error, text: &str) -> Error {
    let message = check::of_parser(error.message());
    let message = error.span().and_then(|span| of_shape(&message, &span, text)).unwrap_or(message);
    let place = error.span().map_or("TOML".to_owned(), |span| {
        let before = &text[..span.start.min(text.len())];
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
        format!("line {line}, column {column}")
    });
    Error::invalid(place, message)
}

/// An entry or a key that was taken out of a scene's table.
enum Taken {
    /// A key, `of` an entry that begins here, if it is one's.
    Key { of: Option<usize> },
    /// An entry of `[[robot]]`, `[[object]]`, … that begins here.
    Entry(usize),
}

impl Taken {
    /// Takes out what an error at `span` is about; none if nothing stands there.
    fn out_of(root: &mut DeTable, span: &Range<usize>) -> Option<Self> {
        for (_, value) in root.iter_mut() {
            let Some(entries) = list(value) else { continue };
            for entry in entries.iter_mut() {
                let start = entry.span().start;
                if table(entry).is_some_and(|table| take_key(table, span)) {
                    return Some(Self::Key { of: Some(start) });
                }
            }
            if let Some(entry) = entries.iter().find(|entry| covers(&entry.span(), span)) {
                let start = entry.span().start;
                retain(entries, |entry| entry.span().start != start);
                return Some(Self::Entry(start));
            }
        }
        let in_table = |(_, value)| table(value).is_some_and(|table| take_key(table, span));
        let taken = root.iter_mut().any(in_table) || take_key(root, span);
        taken.then_some(Self::Key { of: None })
    }
}

/// Takes out the key that stands at `span`, or whose value does.
fn take_key(table: &mut DeTable, span: &Range<usize>) -> bool {
    let before = table.len();
    let stays =
        |(key, value): &(Spanned<DeString>, Spanned<DeValue>)| !covers(&key.span(), span) && !holds(value, span);
    *table = std::mem::take(table).into_iter().filter(stays).collect();
    table.len() < before
}

fn holds(value: &Spanned<DeValue>, span: &Range<usize>) -> bool {
    covers(&value.span(), span)
        || match value.get_ref() {
            DeValue::Array(entries) => entries.iter().any(|entry| holds(entry, span)),
            DeValue::Table(table) => table.iter().any(|(key, value)| covers(&key.span(), span) || holds(value, span)),
            _ => false,
        }
}

fn covers(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn table<'a, 'i>(value: &'a mut Spanned<DeValue<'i>>) -> Option<&'a mut DeTable<'i>> {
    match value.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// The entries of an array of tables.
fn list<'a, 'i>(value: &'a mut Spanned<DeValue<'i>>) -> Option<&'a mut DeArray<'i>> {
    match value.get_mut() {
        DeValue::Array(entries) if entries.iter().all(|entry| entry.get_ref().is_table()) => Some(entries),
        _ => None,
    }
}

fn retain(entries: &mut DeArray, keep: impl Fn(&Spanned<DeValue>) -> bool) {
    *entries = std::mem::replace(entries, DeArray::new()).into_iter().filter(keep).collect();
}
