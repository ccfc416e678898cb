//! The elements below `<robot>` and their places in a URDF's text.
//!
//! urdf-rs neither tells which element it cannot read nor what it skips. This walk over the tags does; any
//! text may be given, nothing is checked.

use fingertip_shapes::xml::{Tag, tags};

/// An element directly below the root.
pub struct Element<'a> {
    /// The element's tag.
    pub tag: &'a str,
    /// The `name` attribute, else empty.
    pub name: &'a str,
    /// The element's text, tags included.
    pub text: &'a str,
    /// The line on which it begins, from 1.
    pub line: usize,
}

/// The root's tag and the elements below it; no root where there is no tag at all.
pub fn top_level(text: &str) -> (Option<&str>, Vec<Element<'_>>) {
    let (mut root, mut elements) = (None, Vec::new());
    let mut depth = 0_usize;
    let mut open: Option<(usize, &str)> = None;
    let (mut line, mut counted) = (1, 0);
    for (begin, tag) in tags(text) {
        let (tag, closes, is_whole) = match tag {
            Tag::Open(tag, is_whole) => (tag, false, is_whole),
            Tag::Close(tag) => (tag, true, false),
        };
        if closes {
            depth = depth.saturating_sub(1);
        } else if depth == 0 {
            root = root.or(Some(tag_name(tag)));
        } else if depth == 1 {
            open = Some((begin, tag));
        }
        let end = begin + tag.len();
        if depth == 1
            && (closes || is_whole)
            && let Some((begin, tag)) = open.take()
        {
            line += text[counted..begin].matches('\n').count();
            counted = begin;
            let name = attribute(tag, "name").unwrap_or_default();
            elements.push(Element { tag: tag_name(tag), name, text: &text[begin..end], line });
        }
        if !closes && !is_whole {
            depth += 1;
        }
    }
    (root, elements)
}

pub(super) fn tag_name(tag: &str) -> &str {
    let name = tag.trim_start_matches('<');
    &name[..name.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(name.len())]
}

pub(super) fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    while let Some((before, after)) = rest.split_once('=') {
        let quote = after.trim_start().chars().next().filter(|c| ['"', '\''].contains(c))?;
        let mut parts = after.splitn(3, quote);
        let (_, value, next) = (parts.next()?, parts.next()?, parts.next()?);
        if before.trim_end().rsplit(char::is_whitespace).next() == Some(name) {
            return Some(value);
        }
        rest = next;
    }
    None
}
