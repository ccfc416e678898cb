//! How deep a text's tags are nested: recursive parsers overflow the stack where that is too deep.

use crate::error::{Error, Result};

/// Elements within elements; URDF needs five levels, COLLADA a dozen and those of its nodes.
const DEEPEST: usize = 200;

/// A tag, or what is none but looks like one.
pub enum Tag<'a> {
    /// `<name …>`, with all that is between its brackets; and, is it `<name …/>`?
    Open(&'a str, bool),
    /// `</name>`.
    Close(&'a str),
}

/// The tags of a text with their places, comments and the like left out. Any text may be given: nothing is checked.
pub fn tags(text: &str) -> impl Iterator<Item = (usize, Tag<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let begin = at + text[at..].find('<')?;
            let rest = &text[begin..];
            let skipped =
                [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")].iter().find_map(|(start, end)| {
                    rest.starts_with(start).then(|| rest.find(end).map_or(rest.len(), |n| n + end.len()))
                });
            if let Some(length) = skipped {
                at = begin + length;
                continue;
            }
            let tag = &rest[..length(rest)];
            at = begin + tag.len();
            let tag = if tag.starts_with("</") { Tag::Close(tag) } else { Tag::Open(tag, tag.ends_with("/>")) };
            return Some((begin, tag));
        }
    })
}

/// Bytes from `<` to the `>` outside quotes.
fn length(text: &str) -> usize {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return i + 1,
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// Nothing may be nested deeper than a parser can go.
///
/// # Errors
/// The line where it is.
pub fn check_depth(text: &str) -> Result<()> {
    let mut depth = 0_usize;
    for (at, tag) in tags(text) {
        match tag {
            Tag::Open(_, true) => {}
            Tag::Open(_, false) => depth += 1,
            Tag::Close(_) => depth = depth.saturating_sub(1),
        }
        if depth > DEEPEST {
            let line = 1 + text[..at].matches('\n').count();
            let message = format!("expected elements at most {DEEPEST} deep");
            return Err(Error::invalid(format!("line {line}"), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_what_is_open() {
        let nested = |n: usize| "<a b='>'>\n".repeat(n) + &"</a>".repeat(n);
        assert!(check_depth(&nested(DEEPEST)).is_ok());
        let error = check_depth(&nested(DEEPEST + 1)).unwrap_err().to_string();
        assert_eq!(error, "line 201: expected elements at most 200 deep");
        assert!(check_depth(&("<r>".to_owned() + &"<a/><b></b><!-- <c> --><![CDATA[<d>]]>".repeat(1000))).is_ok());
    }
}
