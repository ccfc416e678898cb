//! The points of a COLLADA file where its scene puts them (COLLADA 1.4.1, §5 *node*, *matrix*, *rotate*, *scale*,
//! *translate*, *source*, *accessor*).

use nalgebra::{Matrix4, Point3, Rotation3, Unit, Vector3};
use roxmltree::{Document, Node};

use crate::error::{Error, Result};

/// Nodes within nodes; a file with more refers to itself.
const DEEPEST: usize = 64;

/// A geometry in the scene.
struct Instance<'a> {
    /// The geometry's id.
    geometry: &'a str,
    /// From its own coordinates to the scene's.
    transform: Matrix4<f64>,
}

/// The positions of all geometries that the file's scene shows; of all that there are, as they are, in a file whose scene
/// shows none. Unit and up axis are not applied.
///
/// # Errors
/// What is no XML, positions that are no numbers, transformations with other numbers than they have, and those that are
/// not supported: skew and lookat.
pub(super) fn points(text: &str) -> Result<Vec<Point3<f64>>> {
    let document = Document::parse(text).map_err(|error| Error::invalid("XML", error.to_string()))?;
    let used = document.descendants().find(|node| node.has_tag_name_of("instance_visual_scene")).and_then(target);
    let mut instances = Vec::new();
    for scene in document.descendants().filter(|node| node.has_tag_name_of("visual_scene")) {
        if used.is_none_or(|id| scene.attribute("id") == Some(id)) {
            collect(scene, Matrix4::identity(), 0, &mut instances)?;
        }
    }
    let mut points = Vec::new();
    for geometry in document.descendants().filter(|node| node.has_tag_name_of("geometry")) {
        let id = geometry.attribute("id").unwrap_or_default();
        let own = positions(geometry).map_err(|error| error.within(format!("geometry \"{id}\"")))?;
        if instances.is_empty() {
            points.extend(own.iter().copied());
        }
        for instance in instances.iter().filter(|instance| instance.geometry == id) {
            points.extend(own.iter().map(|point| instance.transform.transform_point(point)));
        }
    }
    Ok(points)
}

/// A geometry's positions.
fn positions(geometry: Node) -> Result<Vec<Point3<f64>>> {
    let reference =
        |node: Node| node.attribute("source").and_then(|source| source.strip_prefix('#')).map(str::to_owned);
    let is_position = |node: &Node| node.attribute("semantic") == Some("POSITION");
    let source = geometry.descendants().find(is_position).and_then(reference);
    let source = geometry.descendants().find(|node| source.is_some() && node.attribute("id") == source.as_deref());
    let Some(source) = source else { return Ok(Vec::new()) };
    let named = |name: &str| source.descendants().find(|node| node.has_tag_name_of(name));
    let text = named("float_array").and_then(|array| array.text()).unwrap_or_default();
    let number = |word: &str| {
        word.parse::<f64>().map_err(|_| Error::invalid("float_array", format!("expected numbers, got \"{word}\"")))
    };
    let numbers = text.split_whitespace().map(number).collect::<Result<Vec<_>>>()?;
    let counted = |name: &str, default: usize| {
        let given = named("accessor").and_then(|accessor| accessor.attribute(name)?.parse().ok());
        given.unwrap_or(default)
    };
    let (stride, offset) = (counted("stride", 3), counted("offset", 0));
    if stride < 3 {
        return Err(Error::invalid("accessor", format!("expected a stride of 3 or more, got {stride}")));
    }
    let numbers = numbers.get(offset..).unwrap_or_default();
    let point = |p: &[f64]| p.first_chunk().map(|&xyz: &[f64; 3]| Point3::from(xyz));
    Ok(numbers.chunks(stride).filter_map(point).collect())
}

/// Names of elements, whatever the file's namespace.
trait Named {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl Named for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.tag_name().name() == name
    }
}

/// The id that an element's `url` refers to.
fn target<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.attribute("url")?.strip_prefix('#')
}

fn collect<'a>(node: Node<'a, '_>, outer: Matrix4<f64>, depth: usize, to: &mut Vec<Instance<'a>>) -> Result<()> {
    let place = || format!("node \"{}\"", node.attribute("id").or(node.attribute("name")).unwrap_or_default());
    if depth > DEEPEST {
        return Err(Error::invalid(place(), format!("expected nodes at most {DEEPEST} deep")));
    }
    let mut transform = outer;
    for child in node.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "matrix" | "translate" | "rotate" | "scale" | "skew" | "lookat" => {
                transform *= step(child).map_err(|error| error.within(place()))?;
            }
            "node" => collect(child, transform, depth + 1, to)?,
            "instance_geometry" => {
                to.push(Instance { geometry: target(child).unwrap_or_default(), transform });
            }
            "instance_node" => {
                let id = target(child);
                let is_meant = |other: &Node| other.has_tag_name_of("node") && other.attribute("id") == id;
                if let Some(other) = node.document().descendants().find(is_meant).filter(|_| id.is_some()) {
                    collect(other, transform, depth + 1, to)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// One of a node's transformations.
fn step(element: Node) -> Result<Matrix4<f64>> {
    let name = element.tag_name().name();
    let text = element.text().unwrap_or_default();
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let wrong = |expected: &str| Error::invalid(name, format!("expected {expected}, got \"{}\"", text.trim()));
    match (name, numbers.as_slice()) {
        ("matrix", numbers) if numbers.len() == 16 => Ok(Matrix4::from_row_slice(numbers)),
        ("translate", &[x, y, z]) => Ok(Matrix4::new_translation(&Vector3::new(x, y, z))),
        ("scale", &[x, y, z]) => Ok(Matrix4::new_nonuniform_scaling(&Vector3::new(x, y, z))),
        ("rotate", &[x, y, z, degrees]) => Unit::try_new(Vector3::new(x, y, z), 0.0)
            .map(|axis| Rotation3::from_axis_angle(&axis, degrees.to_radians()).to_homogeneous())
            .ok_or_else(|| wrong("an axis of some length")),
        ("matrix", _) => Err(wrong("16 numbers")),
        ("rotate", _) => Err(wrong("4 numbers, axis and degrees")),
        ("skew" | "lookat", _) => Err(wrong("matrix, translate, rotate or scale in its place")),
        _ => Err(wrong("3 numbers")),
    }
}
