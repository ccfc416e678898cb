//! Elements that other programs read past and urdf-rs stops at.

use std::ops::Range;

use super::top_level::{attribute, tag_name};
use fingertip_shapes::xml::{Tag, tags};

/// An element that has not ended yet.
struct Open<'a> {
    begin: usize,
    tag: &'a str,
    has_geometry: bool,
    has_material: bool,
}

/// The text without what nobody reads, its lines where they were, and a note for each change:
///
/// - `<limit>` without a velocity, which is not read in any case;
/// - `<axis>` without a direction in a fixed joint;
/// - `<origin>` within `<geometry>`, where it has no meaning;
/// - `<visual>` and `<collision>` without a shape in a `<geometry>`;
/// - `<inertial>` without a mass or an inertia, which is 0;
/// - a second `<material>` of a shape, and `<texture>` without a file;
/// - elements of a namespace that nobody has declared, unless it is xacro's.
///
/// A text that is not well-formed stays as it is.
pub fn mend(text: &str) -> (String, Vec<String>) {
    let (mut edits, mut notes) = (Vec::new(), Vec::new());
    let mut open: Vec<Open> = Vec::new();
    for (begin, tag) in tags(text) {
        let (element, end) = match tag {
            Tag::Open(tag, is_whole) => {
                // What has a shape in a <geometry>; an <origin> there is none.
                if let [.., outer, geometry] = &mut open[..]
                    && tag_name(geometry.tag) == "geometry"
                    && tag_name(tag) != "origin"
                {
                    outer.has_geometry = true;
                }
                let element = Open { begin, tag, has_geometry: false, has_material: false };
                if !is_whole {
                    open.push(element);
                    continue;
                }
                (element, begin + tag.len())
            }
            Tag::Close(tag) => match open.pop() {
                Some(element) if tag_name(element.tag) == tag_name(&tag[2..]) => (element, begin + tag.len()),
                _ => return (text.to_owned(), Vec::new()),
            },
        };
        notes.extend(edit(text, &element, &open, end).map(|(edit, note)| {
            edits.push(edit);
            note
        }));
        if let Some(outer) = open.last_mut() {
            outer.has_material |= tag_name(element.tag) == "material";
        }
    }
    (apply(text, edits), notes)
}

/// The repair of an element that ends here, within others: a range of the text, its replacement, and a note.
fn edit(text: &str, element: &Open, within: &[Open], end: usize) -> Option<((Range<usize>, &'static str), String)> {
    let outer = within.last()?;
    let top = within.get(1).unwrap_or(element);
    let place = format!("{} \"{}\"", tag_name(top.tag), attribute(top.tag, "name").unwrap_or_default());
    let whole = element.begin..end;
    let behind_name = element.begin + 1 + tag_name(element.tag).len();
    let is_foreign = |name: &str| {
        let prefix = name.split_once(':').map(|(prefix, _)| prefix);
        prefix.is_some_and(|prefix| prefix != "xacro" && !text.contains(&format!("xmlns:{prefix}")))
    };
    match (tag_name(outer.tag), tag_name(element.tag)) {
        (_, name) if is_foreign(name) => {
            Some(((whole, ""), format!("{place}: <{name}> left out: its namespace is not declared")))
        }
        ("visual" | "collision", "material") if outer.has_material => {
            Some(((whole, ""), format!("{place}: a second <material> left out")))
        }
        ("material", "texture") if attribute(element.tag, "filename").is_none() => {
            Some(((whole, ""), format!("{place}: <texture> without a file left out")))
        }
        ("joint", "limit") if attribute(element.tag, "velocity").is_none() => Some((
            (behind_name..behind_name, " velocity=\"0\""),
            format!("{place}: <limit> without a velocity, which is not read"),
        )),
        ("joint", "axis")
            if attribute(element.tag, "xyz").is_none() && attribute(outer.tag, "type") == Some("fixed") =>
        {
            Some(((whole, ""), format!("{place}: <axis> of a fixed joint left out")))
        }
        ("geometry", "origin") => {
            Some(((whole, ""), format!("{place}: <origin> left out: it stands within <geometry>, not beside it")))
        }
        ("link", "inertial") => {
            let is = |tag: Tag, name: &str| matches!(tag, Tag::Open(tag, _) if tag_name(tag) == name);
            let has = |name: &str| tags(&text[whole.clone()]).any(|(_, tag)| is(tag, name));
            let (insert, lacks) = match [has("mass"), has("inertia")] {
                [true, true] => return None,
                [false, false] => return Some(((whole, ""), format!("{place}: <inertial> without a mass left out"))),
                [false, true] => ("<mass value=\"0\"/>", "mass"),
                [true, false] => {
                    (r#"<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>"#, "moments of inertia")
                }
            };
            let inside = element.begin + element.tag.len();
            Some(((inside..inside, insert), format!("{place}: <inertial> without {lacks}, taken for 0")))
        }
        ("link", name @ ("visual" | "collision")) if !element.has_geometry => {
            Some(((whole, ""), format!("{place}: <{name}> without a shape left out")))
        }
        _ => None,
    }
}

/// The text with these parts replaced; lines that go with a part stay as empty ones.
fn apply(text: &str, mut edits: Vec<(Range<usize>, &str)>) -> String {
    edits.sort_by_key(|(part, _)| part.start);
    let (mut mended, mut at) = (String::with_capacity(text.len()), 0);
    for (part, replacement) in edits {
        // A part within one that has gone.
        if part.start < at {
            continue;
        }
        mended.push_str(&text[at..part.start]);
        mended.push_str(replacement);
        mended.extend(text[part.clone()].chars().filter(|&c| c == '\n'));
        at = part.end;
    }
    mended + &text[at..]
}
