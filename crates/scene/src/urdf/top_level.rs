//! The elements below `<robot>` and their places in a URDF's text.
//!
//! urdf-rs neither tells which element it cannot read nor what it skips. This walk over the tags does; any
//! text may be given, nothing is checked.

use fingertip_shapes::xml::{Tag, tags};

/// An element directly below the root.
pub(super) struct Element<'a> {
    /// The element's tag.
    pub(super) tag: &'a str,
    /// The `name` attribute, else empty.
    pub(super) name: &'a str,
    /// The element's text, tags included.
    pub(super) text: &'a str,
    /// The line on which it begins, from 1.
    pub(super) line: usize,
}

/// The root's tag and the elements below it; no root where there is no tag at all.
pub(super) fn top_level(text: &str) -> (Option<&str>, Vec<Element<'_>>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_elements_between_comments_and_quotes() {
        let text = "<?xml version='1.0'?>\n<!-- <link name='no'/> -->\n<robot name='r'>\n<link\n name=\"a>b\"/>\n\
                    <gazebo><link name='inner'/></gazebo>\n<joint type='fixed' name = 'j'><origin/></joint></robot>";
        let (root, elements) = top_level(text);
        assert_eq!(root, Some("robot"));
        let found: Vec<_> = elements.iter().map(|e| (e.tag, e.name, e.line)).collect();
        assert_eq!(found, [("link", "a>b", 4), ("gazebo", "", 6), ("joint", "j", 7)]);
        assert_eq!(elements[2].text, "<joint type='fixed' name = 'j'><origin/></joint>");
    }

    #[test]
    fn any_text_will_do() {
        let whole = "<a b=\"\u{e9}\" name='x'><!--c--><d/><![CDATA[<]]></a></a>";
        for end in (0..=whole.len()).filter(|&i| whole.is_char_boundary(i)) {
            top_level(&whole[..end]);
            top_level(&whole[end..]);
        }
    }
}
