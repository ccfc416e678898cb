//! What is wrong with a URDF that cannot be read, in words of its own.

use super::top_level::{Element, tag_name};
use fingertip_shapes::xml::{self, Tag};
use fingertip_shapes::{Error, Findings, Result};

/// Has xacro done its work? What it would put in is neither a number nor a file's name.
pub(super) fn check_expanded(elements: &[Element]) -> Result<()> {
    let is_read = |element: &&Element| ["link", "joint", "material"].contains(&element.tag);
    let macros =
        elements.iter().find(|element| element.tag.starts_with("xacro:")).map(|element| (element, element.tag));
    let inside = elements.iter().filter(is_read).find_map(|element| {
        let opened =
            xml::tags(element.text).filter_map(|(_, tag)| if let Tag::Open(tag, _) = tag { Some(tag) } else { None });
        let mut parts = opened.filter_map(|tag| {
            let name = tag_name(tag);
            ["$(", "${"].into_iter().find(|start| tag.contains(start)).or(name.starts_with("xacro:").then_some(name))
        });
        parts.next().map(|what| (element, what))
    });
    let Some((element, what)) = macros.or(inside) else { return Ok(()) };
    let place = format!("line {}: {}", element.line, element.tag);
    Err(Error::invalid(
        place,
        format!("expected plain URDF, got {what} of xacro; expand the file with the xacro tool first"),
    ))
}

/// The elements that urdf-rs cannot read even alone, and why; without such, where the text is no XML.
pub(super) fn locate(error: &urdf_rs::UrdfError, elements: &[Element], text: &str) -> Error {
    let alone = |element: &Element| {
        let error = urdf_rs::read_from_string(&format!("<robot name=\"r\">{}</robot>", element.text)).err()?;
        let place = format!("line {}: {} \"{}\"", element.line, element.tag, element.name);
        Some(match no_number(element.text).or_else(|| several_shapes(element.text)) {
            Some(error) => error.within(place),
            None => Error::invalid(place, sentence(&error)),
        })
    };
    let known = |element: &&Element| ["link", "joint", "material"].contains(&element.tag);
    let mut findings = Findings::default();
    elements.iter().filter(known).filter_map(alone).for_each(|error| findings.note(error));
    let whole = || match roxmltree::Document::parse(text) {
        Err(error) => Error::invalid("XML", error.to_string()),
        Ok(_) => Error::invalid("XML", sentence(error)),
    };
    findings.result().err().unwrap_or_else(whole)
}

/// Attributes that hold numbers.
const NUMBERS: [&str; 22] = [
    "xyz",
    "rpy",
    "size",
    "radius",
    "length",
    "scale",
    "rgba",
    "value",
    "ixx",
    "ixy",
    "ixz",
    "iyy",
    "iyz",
    "izz",
    "lower",
    "upper",
    "effort",
    "velocity",
    "damping",
    "friction",
    "multiplier",
    "offset",
];

/// The first attribute of an element that should be numbers and is not, of which urdf-rs says neither the name nor the
/// value.
fn no_number(element: &str) -> Option<Error> {
    let document = roxmltree::Document::parse(element).ok()?;
    let is_wrong = |attribute: &roxmltree::Attribute| {
        let mut numbers = attribute.value().split_whitespace();
        NUMBERS.contains(&attribute.name()) && numbers.any(|number| number.parse::<f64>().is_err())
    };
    document.descendants().find_map(|node| {
        let wrong = node.attributes().find(is_wrong)?;
        let place = format!("<{}> {}", node.tag_name().name(), wrong.name());
        Some(Error::invalid(
            place,
            format!("expected numbers alone, in m, rad, kg, N or N·m, got \"{}\"", wrong.value()),
        ))
    })
}

/// A `<geometry>` of more than one shape, of which urdf-rs reads one.
fn several_shapes(element: &str) -> Option<Error> {
    let document = roxmltree::Document::parse(element).ok()?;
    let shapes = |node: roxmltree::Node| node.children().filter(roxmltree::Node::is_element).count();
    let several = document.descendants().find(|node| node.has_tag_name("geometry") && shapes(*node) > 1)?;
    let message = format!("expected one shape, got {}; each has a <visual> or <collision> of its own", shapes(several));
    Some(Error::invalid("<geometry>", message))
}

/// The message of urdf-rs, on one line.
fn sentence(error: &urdf_rs::UrdfError) -> String {
    let message = error.to_string();
    if message.contains("XmlEvent") {
        return "expected the elements of URDF, each in its place".to_owned();
    }
    message.trim_start_matches("custom: ").split_whitespace().collect::<Vec<_>>().join(" ")
}
