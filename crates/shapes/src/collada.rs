//! The points of a COLLADA file where its scene puts them (COLLADA 1.4.1, §5 *node*, *matrix*, *rotate*, *scale*,
//! *translate*, *source*, *accessor*, *unit*).

use std::collections::HashMap;

use nalgebra::{Matrix4, Point3, Rotation3, Unit, Vector3};
use roxmltree::{Document, Node};

use super::xml;
use crate::error::{Error, Result};

/// Nodes within nodes; a file with more refers to itself.
const DEEPEST: usize = 64;
/// Nodes of a scene, each counted wherever it is put.
const MOST_NODES: usize = 100_000;
/// Points of a scene, likewise.
const MOST_POINTS: usize = 10_000_000;

/// The geometries in the scene.
#[derive(Default)]
struct Instances<'a> {
    /// The nodes that have an id.
    nodes: HashMap<&'a str, Node<'a, 'a>>,
    /// For each geometry's id, from its own coordinates to the scene's.
    transforms: HashMap<&'a str, Vec<Matrix4<f64>>>,
    /// Nodes so far.
    visited: usize,
}

/// The positions of all geometries that the file's scene shows; of all that there are, as they are, in a file whose
/// scene shows none, in metres. The up axis is not applied.
///
/// # Errors
/// What is no XML, positions that are no numbers, transformations with other numbers than they have, and those that are
/// not supported: skew and lookat.
pub(super) fn points(text: &str) -> Result<Vec<Point3<f64>>> {
    shown(text, |_, positions| Ok(positions))
}

/// The corners of all triangles that the scene shows, three for each; polygons are taken apart as fans.
///
/// # Errors
/// As [`points`], and triangles of vertices that are not there.
pub(super) fn corners(text: &str) -> Result<Vec<Point3<f64>>> {
    shown(text, triangles)
}

/// The points that `of` makes of each geometry and its positions, where the scene puts them.
fn shown(text: &str, of: impl Fn(Node, Vec<Point3<f64>>) -> Result<Vec<Point3<f64>>>) -> Result<Vec<Point3<f64>>> {
    xml::check_depth(text)?;
    let document = Document::parse(text).map_err(|error| Error::invalid("XML", error.to_string()))?;
    let used = document.descendants().find(|node| node.has_tag_name_of("instance_visual_scene")).and_then(target);
    let mut instances = Instances::default();
    for node in document.descendants().filter(|node| node.has_tag_name_of("node")) {
        node.attribute("id").map(|id| instances.nodes.entry(id).or_insert(node));
    }
    for scene in document.descendants().filter(|node| node.has_tag_name_of("visual_scene")) {
        if used.is_none_or(|id| scene.attribute("id") == Some(id)) {
            instances.collect(scene, Matrix4::identity(), 0)?;
        }
    }
    let metres = unit(&document)?;
    let mut points = Vec::new();
    for geometry in document.descendants().filter(|node| node.has_tag_name_of("geometry")) {
        let id = geometry.attribute("id").unwrap_or_default();
        let own = positions(geometry).and_then(|positions| of(geometry, positions));
        let own = own.map_err(|error| error.within(format!("geometry \"{id}\"")))?;
        let places = if instances.transforms.is_empty() {
            &[Matrix4::identity()][..]
        } else {
            instances.transforms.get(id).map_or(&[][..], Vec::as_slice)
        };
        if points.len() + own.len() * places.len() > MOST_POINTS {
            let message = format!("expected at most {MOST_POINTS} points, those of each instance counted");
            return Err(Error::invalid("scene", message));
        }
        for transform in places {
            points.extend(own.iter().map(|point| transform.transform_point(point) * metres));
        }
    }
    Ok(points)
}

/// The file's unit of length, m: one metre if it does not say.
fn unit(document: &Document) -> Result<f64> {
    let asset = document.root_element().children().find(|node| node.has_tag_name_of("asset"));
    let unit = asset.and_then(|asset| asset.children().find(|node| node.has_tag_name_of("unit")));
    let Some(given) = unit.and_then(|unit| unit.attribute("meter")) else { return Ok(1.0) };
    let metres = given.trim().parse().ok().filter(|&metres: &f64| metres.is_finite() && metres > 0.0);
    metres.ok_or_else(|| Error::invalid("unit", format!("expected a positive number of metres, got \"{given}\"")))
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

/// A geometry's triangles, three corners each.
fn triangles(geometry: Node, positions: Vec<Point3<f64>>) -> Result<Vec<Point3<f64>>> {
    let mut corners = Vec::new();
    let is_list = |node: &Node| ["triangles", "polylist"].contains(&node.tag_name().name());
    for list in geometry.descendants().filter(is_list) {
        let name = list.tag_name().name();
        let whole = |child: &str| -> Result<Vec<usize>> {
            let text = list.children().find(|node| node.has_tag_name_of(child)).and_then(|node| node.text());
            let number = |word: &str| {
                word.parse().map_err(|_| Error::invalid(name, format!("expected whole numbers, got \"{word}\"")))
            };
            text.unwrap_or_default().split_whitespace().map(number).collect()
        };
        let offset = |node: Node| node.attribute("offset").and_then(|offset| offset.parse::<usize>().ok()).unwrap_or(0);
        let inputs = || list.children().filter(|node| node.has_tag_name_of("input"));
        let stride = inputs().map(offset).max().map_or(1, |most| most.saturating_add(1));
        let vertex = inputs().find(|node| node.attribute("semantic") == Some("VERTEX")).map_or(0, offset);
        let places = whole("p")?;
        let places: Vec<usize> = places.chunks_exact(stride).map(|input| input[vertex]).collect();
        let counts = if name == "triangles" { vec![3; places.len() / 3] } else { whole("vcount")? };
        let mut rest = places.as_slice();
        for count in counts {
            let Some((polygon, others)) = rest.split_at_checked(count) else {
                return Err(Error::invalid(name, format!("expected {count} more vertices, got {}", rest.len())));
            };
            rest = others;
            for side in polygon.windows(2).skip(1) {
                for place in [polygon[0], side[0], side[1]] {
                    let corner = positions.get(place);
                    corners.push(*corner.ok_or_else(|| {
                        Error::invalid(name, format!("expected vertices below {}, got {place}", positions.len()))
                    })?);
                }
            }
        }
    }
    Ok(corners)
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

impl<'a> Instances<'a> {
    /// The geometries of a node and of those in it.
    fn collect(&mut self, node: Node<'a, 'a>, outer: Matrix4<f64>, depth: usize) -> Result<()> {
        let place = || format!("node \"{}\"", node.attribute("id").or(node.attribute("name")).unwrap_or_default());
        if depth > DEEPEST {
            return Err(Error::invalid(place(), format!("expected nodes at most {DEEPEST} deep")));
        }
        self.visited += 1;
        if self.visited > MOST_NODES {
            return Err(Error::invalid(
                place(),
                format!("expected at most {MOST_NODES} nodes, those of instances counted"),
            ));
        }
        let mut transform = outer;
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "matrix" | "translate" | "rotate" | "scale" | "skew" | "lookat" => {
                    transform *= step(child).map_err(|error| error.within(place()))?;
                }
                "node" => self.collect(child, transform, depth + 1)?,
                "instance_geometry" => {
                    self.transforms.entry(target(child).unwrap_or_default()).or_default().push(transform);
                }
                "instance_node" => {
                    if let Some(&other) = target(child).and_then(|id| self.nodes.get(id)) {
                        self.collect(other, transform, depth + 1)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
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
