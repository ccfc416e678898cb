//! The triangles of a GLB file where its scene puts them (glTF 2.0, §3.6 *accessors*, §3.7.2 *meshes*, §3.5 *scenes,
//! nodes*, §4 *GLB*).
//!
//! Geometry is a small part of the format: serde, which is here already, reads that much.

use std::cell::Cell;

use nalgebra::{Isometry3, Matrix4, Point3, Quaternion, Translation3, UnitQuaternion, Vector3};
use serde::Deserialize;

use crate::error::{Error, Result};

/// Corners of a scene's triangles, each counted wherever it is put.
const MOST_CORNERS: usize = 10_000_000;
/// Positions and indices that are read, each as often as nodes and primitives name it: a small file can name the same
/// ones without end.
const MOST_READ: usize = 4 * MOST_CORNERS;
/// Bytes of the file's header, and of a chunk's.
const HEADER: usize = 12;
const CHUNK: usize = 8;
/// Extensions in whose files the positions are not where they usually are.
const NOT_READ: [&str; 3] = ["KHR_draco_mesh_compression", "EXT_meshopt_compression", "EXT_mesh_gpu_instancing"];

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Document {
    scene: usize,
    scenes: Vec<Scene>,
    nodes: Vec<Node>,
    meshes: Vec<Mesh>,
    accessors: Vec<Accessor>,
    buffer_views: Vec<View>,
    buffers: Vec<Buffer>,
    extensions_required: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Scene {
    nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Node {
    children: Vec<usize>,
    mesh: Option<usize>,
    skin: Option<usize>,
    /// By columns; in place of the other three.
    matrix: Option<[f64; 16]>,
    translation: [f64; 3],
    /// x, y, z, w.
    rotation: Option<[f64; 4]>,
    scale: Option<[f64; 3]>,
}

#[derive(Deserialize)]
struct Mesh {
    primitives: Vec<Primitive>,
}

#[derive(Deserialize)]
struct Primitive {
    #[serde(default)]
    attributes: Attributes,
    indices: Option<usize>,
    mode: Option<u64>,
}

#[derive(Deserialize, Default)]
struct Attributes {
    #[serde(rename = "POSITION")]
    position: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Accessor {
    buffer_view: Option<usize>,
    #[serde(default)]
    byte_offset: usize,
    component_type: u64,
    #[serde(default)]
    normalized: bool,
    count: usize,
    #[serde(rename = "type")]
    kind: String,
    sparse: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct View {
    buffer: usize,
    #[serde(default)]
    byte_offset: usize,
    byte_length: usize,
    byte_stride: Option<usize>,
}

#[derive(Deserialize)]
struct Buffer {
    uri: Option<serde::de::IgnoredAny>,
}

/// The corners of all triangles that the scene shows, three for each, in metres; of all meshes as they are in a file
/// without scenes. The file's y axis, which points up, is that of the corners.
///
/// # Errors
/// What is no GLB of version 2, references to what is not there, positions that end before their count, and what is not
/// read: compressed, sparse and skinned meshes, and buffers outside the file.
pub(super) fn corners(bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let (json, binary) = chunks(bytes)?;
    let document: Document = serde_json::from_slice(json).map_err(|error| invalid("JSON", error.to_string()))?;
    if let Some(name) = document.extensions_required.iter().find(|name| NOT_READ.contains(&name.as_str())) {
        return Err(invalid("extensionsRequired", format!("expected a file without {name}, which is not read")));
    }
    let file = File { document, binary, read: Cell::new(0) };
    let mut corners = Vec::new();
    for (mesh, transform) in file.instances()? {
        let place = |error: Error| error.within(format!("GLB: mesh {mesh}"));
        let own = file.triangles(mesh).map_err(place)?;
        if corners.len() + 3 * own.len() > MOST_CORNERS {
            return Err(invalid(
                "scene",
                format!("expected at most {MOST_CORNERS} corners, those of each node counted"),
            ));
        }
        // A node that mirrors has triangles that look the other way.
        let order = if transform.fixed_view::<3, 3>(0, 0).determinant() < 0.0 { [0, 2, 1] } else { [0, 1, 2] };
        for triangle in own {
            corners.extend(order.map(|k| transform.transform_point(&triangle[k])));
        }
    }
    Ok(corners)
}

/// The file's JSON and its binary chunk, which may be missing.
fn chunks(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let Some((header, mut rest)) = bytes.split_at_checked(HEADER).filter(|(header, _)| header.starts_with(b"glTF"))
    else {
        return Err(invalid("header", "expected a binary glTF file, which begins with \"glTF\""));
    };
    let version = word(header, 4).unwrap_or_default();
    if version != 2 {
        return Err(invalid("header", format!("expected version 2, got {version}")));
    }
    let (mut json, mut binary) = (None, None);
    while let (Some(length), Some(kind)) = (word(rest, 0), rest.get(4..CHUNK)) {
        let Some((content, others)) = rest[CHUNK..].split_at_checked(length as usize) else {
            return Err(invalid("chunk", format!("expected {length} bytes, got {}", rest.len() - CHUNK)));
        };
        match kind {
            b"JSON" => json = json.or(Some(content)),
            b"BIN\0" => binary = binary.or(Some(content)),
            _ => {}
        }
        rest = others;
    }
    let json = json.ok_or_else(|| invalid("chunk", "expected one of JSON, got none"))?;
    Ok((json, binary.unwrap_or_default()))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn invalid(place: impl std::fmt::Display, message: impl Into<String>) -> Error {
    Error::invalid(format!("GLB: {place}"), message)
}

struct File<'a> {
    document: Document,
    binary: &'a [u8],
    /// Positions and indices that have been read.
    read: Cell<usize>,
}

impl File<'_> {
    /// The meshes that the scene shows, and where.
    fn instances(&self) -> Result<Vec<(usize, Matrix4<f64>)>> {
        let Document { scene, scenes, nodes, meshes, .. } = &self.document;
        if scenes.is_empty() {
            return Ok((0..meshes.len()).map(|mesh| (mesh, Matrix4::identity())).collect());
        }
        let roots = &found("scene", scenes, *scene)?.nodes;
        let mut open: Vec<_> = roots.iter().rev().map(|&node| (node, Matrix4::identity())).collect();
        let mut seen = vec![false; nodes.len()];
        let mut instances = Vec::new();
        while let Some((index, outer)) = open.pop() {
            let node = found("node", nodes, index)?;
            if std::mem::replace(&mut seen[index], true) {
                return Err(invalid(format!("node {index}"), "expected one node that it is in, got two"));
            }
            let transform = outer * node.transform().map_err(|error| error.within(format!("GLB: node {index}")))?;
            if let Some(mesh) = node.mesh {
                if node.skin.is_some() {
                    return Err(invalid(format!("node {index}"), "expected no skin: skinned meshes are not read"));
                }
                instances.push((mesh, transform));
            }
            open.extend(node.children.iter().rev().map(|&child| (child, transform)));
        }
        Ok(instances)
    }

    /// A mesh's triangles in its own coordinates. Points and lines have none.
    fn triangles(&self, mesh: usize) -> Result<Vec<[Point3<f64>; 3]>> {
        let mut triangles = Vec::new();
        for primitive in &found("mesh", &self.document.meshes, mesh)?.primitives {
            let Some(position) = primitive.attributes.position else { continue };
            let mode = primitive.mode.unwrap_or(4);
            if mode < 4 {
                continue;
            }
            let position = self.numbers::<3>(position)?;
            let indices = match primitive.indices {
                Some(indices) => self.numbers::<1>(indices)?.into_iter().map(|[index]| index as usize).collect(),
                None => (0..position.len()).collect::<Vec<_>>(),
            };
            let corner = |index: usize| {
                let wrong =
                    || Error::invalid("indices", format!("expected them below {}, got {index}", position.len()));
                position.get(index).map(|&point| Point3::from(point)).ok_or_else(wrong)
            };
            if triangles.len() + indices.len() > MOST_CORNERS {
                return Err(Error::invalid("primitives", format!("expected at most {MOST_CORNERS} triangles")));
            }
            let mut add = |[a, b, c]: [usize; 3]| -> Result<()> {
                triangles.push([corner(a)?, corner(b)?, corner(c)?]);
                Ok(())
            };
            match mode {
                4 => indices.as_chunks().0.iter().try_for_each(|&triangle| add(triangle))?,
                5 => indices.windows(3).enumerate().try_for_each(|(k, side)| {
                    add(if k % 2 == 0 { [side[0], side[1], side[2]] } else { [side[0], side[2], side[1]] })
                })?,
                6 => indices.windows(2).skip(1).try_for_each(|side| add([side[0], side[1], indices[0]]))?,
                _ => return Err(Error::invalid("mode", format!("expected 0 to 6, got {mode}"))),
            }
        }
        Ok(triangles)
    }

    /// The elements of an accessor, of N components each.
    fn numbers<const N: usize>(&self, index: usize) -> Result<Vec<[f64; N]>> {
        let accessor = found("accessor", &self.document.accessors, index)?;
        self.elements(accessor).map_err(|error| error.within(format!("accessor {index}")))
    }

    fn elements<const N: usize>(&self, accessor: &Accessor) -> Result<Vec<[f64; N]>> {
        let kind = if N == 3 { "VEC3" } else { "SCALAR" };
        if accessor.kind != kind {
            return Err(Error::invalid("type", format!("expected {kind}, got \"{}\"", accessor.kind)));
        }
        if accessor.sparse.is_some() {
            return Err(Error::invalid("sparse", "expected all numbers in one place; sparse ones are not read"));
        }
        let view = accessor.buffer_view.ok_or_else(|| Error::invalid("bufferView", "expected one, got none"))?;
        let View { buffer, byte_offset, byte_length, byte_stride } =
            found("bufferView", &self.document.buffer_views, view)?;
        if found("buffer", &self.document.buffers, *buffer)?.uri.is_some() || *buffer > 0 {
            return Err(Error::invalid(
                "buffer",
                "expected the file's own binary part; others, with a URI, are not read",
            ));
        }
        if accessor.count > MOST_CORNERS {
            return Err(Error::invalid("count", format!("expected at most {MOST_CORNERS}, got {}", accessor.count)));
        }
        self.read.set(self.read.get() + accessor.count);
        if self.read.get() > MOST_READ {
            let message =
                format!("expected meshes and nodes that name at most {MOST_READ} in all, each as often as they do");
            return Err(Error::invalid("count", message));
        }
        let component = Component::of(accessor.component_type)?;
        let size = N * component.size();
        let stride = byte_stride.unwrap_or(size);
        if stride < size {
            return Err(Error::invalid("byteStride", format!("expected at least {size}, got {stride}")));
        }
        let view = byte_offset.checked_add(*byte_length).and_then(|end| self.binary.get(*byte_offset..end));
        let view = view.and_then(|view| view.get(accessor.byte_offset..));
        let last = accessor.count.checked_sub(1).map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(size));
        let Some(view) = view.filter(|view| last.is_some_and(|last| last <= view.len())) else {
            let message = format!("expected {} elements within the file's {} bytes", accessor.count, self.binary.len());
            return Err(Error::invalid("count", message));
        };
        let number =
            |bytes: &[u8]| if accessor.normalized { component.fraction(bytes) } else { component.number(bytes) };
        let element = |k: usize| std::array::from_fn(|i| number(&view[k * stride + i * component.size()..]));
        Ok((0..accessor.count).map(element).collect())
    }
}

fn found<'a, T>(what: &str, of: &'a [T], index: usize) -> Result<&'a T> {
    of.get(index).ok_or_else(|| Error::invalid(what, format!("there is no {what} {index}; the file has {}", of.len())))
}

impl Node {
    fn transform(&self) -> Result<Matrix4<f64>> {
        let numbers = self.matrix.iter().flatten().chain(&self.translation).chain(self.rotation.iter().flatten());
        if numbers.chain(self.scale.iter().flatten()).any(|number| !number.is_finite()) {
            return Err(Error::invalid("matrix", "expected finite numbers"));
        }
        if let Some(matrix) = &self.matrix {
            return Ok(Matrix4::from_column_slice(matrix));
        }
        let [x, y, z, w] = self.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]);
        let rotation = UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 0.0);
        let rotation = rotation.ok_or_else(|| Error::invalid("rotation", "expected a quaternion of some length"))?;
        let pose = Isometry3::from_parts(Translation3::from(self.translation), rotation);
        let scale = Vector3::from(self.scale.unwrap_or([1.0; 3]));
        Ok(pose.to_homogeneous() * Matrix4::new_nonuniform_scaling(&scale))
    }
}

/// The type of an accessor's numbers.
#[derive(Clone, Copy)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn of(code: u64) -> Result<Self> {
        Ok(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            5125 => Self::U32,
            5126 => Self::F32,
            _ => {
                return Err(Error::invalid("componentType", format!("expected 5120 to 5126 without 5124, got {code}")));
            }
        })
    }

    /// Bytes.
    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// The number that `bytes`, of which there are enough, begin with.
    fn number(self, bytes: &[u8]) -> f64 {
        let two = [bytes[0], bytes[self.size().min(2) - 1]];
        let four = || [bytes[0], bytes[1], bytes[2], bytes[3]];
        match self {
            Self::I8 => f64::from(bytes[0].cast_signed()),
            Self::U8 => f64::from(bytes[0]),
            Self::I16 => f64::from(i16::from_le_bytes(two)),
            Self::U16 => f64::from(u16::from_le_bytes(two)),
            Self::U32 => f64::from(u32::from_le_bytes(four())),
            Self::F32 => f64::from(f32::from_le_bytes(four())),
        }
    }

    /// A whole number as the fraction that it stands for (§3.11, *normalized*).
    fn fraction(self, bytes: &[u8]) -> f64 {
        let number = self.number(bytes);
        match self {
            Self::I8 => (number / f64::from(i8::MAX)).max(-1.0),
            Self::U8 => number / f64::from(u8::MAX),
            Self::I16 => (number / f64::from(i16::MAX)).max(-1.0),
            Self::U16 => number / f64::from(u16::MAX),
            Self::U32 | Self::F32 => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this JSON and binary part.
    fn glb(json: &str, binary: &[u8]) -> Vec<u8> {
        let chunk = |kind: &[u8], content: &[u8]| [&(content.len() as u32).to_le_bytes(), kind, content].concat();
        let chunks = [chunk(b"JSON", json.as_bytes()), chunk(b"BIN\0", binary)].concat();
        [b"glTF", &2_u32.to_le_bytes()[..], &(12 + chunks.len() as u32).to_le_bytes(), &chunks].concat()
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    const POSITIONS: [f32; 15] = [0., 0., 0., 1., 0., 0., 0., 1., 0., 1., 1., 0., 0., 2., 1.];

    /// The triangles of five points, by their numbers, with these indices in a primitive of this mode.
    fn triangles(mode: u64, component: u64, indices: &[u8]) -> Result<Vec<[usize; 3]>> {
        let size = Component::of(component)?.size();
        let json = format!(
            r#"{{"buffers": [{{"byteLength": 1}}], "meshes": [{{"primitives":
            [{{"attributes": {{"POSITION": 0, "NORMAL": 9}}, "indices": 1, "mode": {mode}}}]}}],
            "bufferViews": [{{"buffer": 0, "byteLength": 60}}, {{"buffer": 0, "byteOffset": 60, "byteLength": {}}}],
            "accessors": [{{"bufferView": 0, "componentType": 5126, "count": 5, "type": "VEC3"}},
            {{"bufferView": 1, "componentType": {component}, "count": {}, "type": "SCALAR"}}]}}"#,
            indices.len(),
            indices.len() / size
        );
        let corners = corners(&glb(&json, &[&floats(&POSITIONS)[..], indices].concat()))?;
        let number = |corner: &Point3<f64>| {
            let same = |point: &[f32; 3]| Point3::from(point.map(f64::from)) == *corner;
            POSITIONS.as_chunks().0.iter().position(same).unwrap()
        };
        Ok(corners.as_chunks::<3>().0.iter().map(|triangle| [0, 1, 2].map(|k| number(&triangle[k]))).collect())
    }

    #[test]
    fn triangles_strips_and_fans_by_indices_of_any_type() {
        let all = [0, 1, 2, 3, 4, 2];
        let wide = |size| {
            all.iter().flat_map(|&k: &u8| (0..size).map(move |i| if i == 0 { k } else { 0 })).collect::<Vec<_>>()
        };
        for (component, bytes) in [(5121, wide(1)), (5123, wide(2)), (5125, wide(4))] {
            assert_eq!(triangles(4, component, &bytes).unwrap(), [[0, 1, 2], [3, 4, 2]]);
            // Figures of the specification (§3.7.2.1): p_i, p_(i + 1 + i%2), p_(i + 2 - i%2), and p_(i + 1), p_(i + 2),
            // p_0.
            assert_eq!(triangles(5, component, &bytes).unwrap(), [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 2, 4]]);
            assert_eq!(triangles(6, component, &bytes).unwrap(), [[1, 2, 0], [2, 3, 0], [3, 4, 0], [4, 2, 0]]);
            assert_eq!(triangles(1, component, &bytes).unwrap(), [[0; 3]; 0]);
        }
        let error = triangles(4, 5121, &[0, 1, 5]).unwrap_err().to_string();
        assert_eq!(error, "GLB: mesh 0: indices: expected them below 5, got 5");
        assert!(triangles(7, 5121, &all).unwrap_err().to_string().ends_with("mode: expected 0 to 6, got 7"));
    }

    /// Three points, of 16 bytes each, shown by these nodes.
    fn shown(nodes: &str) -> Result<Vec<Point3<f64>>> {
        let json = format!(
            r#"{{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0]}}], "nodes": {nodes}, "buffers": [{{"byteLength": 48}}],
            "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}}}]}}],
            "bufferViews": [{{"buffer": 0, "byteLength": 48, "byteStride": 16}}],
            "accessors": [{{"bufferView": 0, "byteOffset": 4, "componentType": 5126, "count": 3, "type": "VEC3"}}]}}"#
        );
        corners(&glb(&json, &floats(&[9., 0., 0., 0., 9., 1., 0., 0., 9., 0., 2., 3.])))
    }

    #[test]
    fn nodes_move_meshes_and_two_nodes_show_one_twice() {
        // A quarter turn about z of the doubled mesh, beside it as it is, both one to the right.
        let turned = r#"[{"children": [1, 2], "translation": [1, 0, 0]}, {"mesh": 0},
            {"mesh": 0, "rotation": [0, 0, 0.7071067811865476, 0.7071067811865476], "scale": [2, 2, 2]}]"#;
        let matrix = r#"[{"children": [1, 2], "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1]}, {"mesh": 0},
            {"mesh": 0, "matrix": [0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1]}]"#;
        for nodes in [turned, matrix] {
            let expected = [[1., 0., 0.], [2., 0., 0.], [1., 2., 3.], [1., 0., 0.], [1., 2., 0.], [-3., 0., 6.]];
            for (corner, expected) in shown(nodes).unwrap().iter().zip(expected) {
                assert!((corner - Point3::from(expected)).norm() < 1e-14, "{corner}, not {expected:?}");
            }
        }
        // What mirrors turns triangles round.
        let mirrored = shown(r#"[{"mesh": 0, "scale": [-1, 1, 1]}]"#).unwrap();
        assert_eq!(mirrored, [[0., 0., 0.], [0., 2., 3.], [-1., 0., 0.]].map(Point3::from));
    }

    #[test]
    fn what_is_not_read_is_one_error() {
        let plain = r#"[{"mesh": 0}]"#;
        for (nodes, expected) in [
            (r#"[{"mesh": 1}]"#, "GLB: mesh 1: mesh: there is no mesh 1; the file has 1"),
            (r#"[{"children": [3]}]"#, "node: there is no node 3; the file has 1"),
            (r#"[{"children": [0]}]"#, "GLB: node 0: expected one node that it is in, got two"),
            (r#"[{"mesh": 0, "skin": 0}]"#, "GLB: node 0: expected no skin: skinned meshes are not read"),
            (
                r#"[{"mesh": 0, "rotation": [0, 0, 0, 0]}]"#,
                "GLB: node 0: rotation: expected a quaternion of some length",
            ),
            (r#"[{"mesh": 0, "matrix": [1]}]"#, "GLB: JSON: "),
            (
                r#"[{"mesh": 0}], "extensionsRequired": ["KHR_draco_mesh_compression"]"#,
                "without KHR_draco_mesh_compression, which is",
            ),
        ] {
            let error = shown(nodes).unwrap_err().to_string();
            assert!(error.contains(expected), "{nodes}: {error}");
        }
        let json = |accessor: &str, view: &str, buffer: &str| {
            let text = format!(
                r#"{{"scenes": [{{"nodes": [0]}}], "nodes": {plain}, "buffers": [{{{buffer}}}], "bufferViews": [{{"buffer": 0, {view}}}],
                "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}}}]}}],
                "accessors": [{{"componentType": 5126, "type": "VEC3", {accessor}}}]}}"#
            );
            corners(&glb(&text, &[0; 36])).unwrap_err().to_string()
        };
        let (whole, three) = ("\"byteLength\": 36", "\"bufferView\": 0, \"count\": 3");
        for (accessor, view, buffer, expected) in [
            (
                three,
                whole,
                "\"uri\": \"a.bin\"",
                "expected the file's own binary part; others, with a URI, are not read",
            ),
            (
                "\"count\": 3, \"sparse\": {}",
                whole,
                "",
                "sparse: expected all numbers in one place; sparse ones are not read",
            ),
            ("\"count\": 3", whole, "", "bufferView: expected one, got none"),
            ("\"bufferView\": 0, \"count\": 4", whole, "", "count: expected 4 elements within the file's 36 bytes"),
            (three, "\"byteLength\": 37", "", "count: expected 3 elements within the file's 36 bytes"),
            (three, "\"byteLength\": 36, \"byteStride\": 8", "", "byteStride: expected at least 12, got 8"),
            ("\"bufferView\": 0, \"count\": 3, \"byteOffset\": 18446744073709551615", whole, "", "count: expected 3"),
        ] {
            let error = json(accessor, view, buffer);
            assert!(error.contains(expected), "{accessor}, {view}: {error}");
        }
        let whole = glb("{}", &[]);
        for (bytes, expected) in [
            (&b"solid"[..], "GLB: header: expected a binary glTF file"),
            (b"glTF\x01\0\0\0\0\0\0\0", "GLB: header: expected version 2, got 1"),
            (&whole[..12], "GLB: chunk: expected one of JSON, got none"),
            (&whole[..21], "GLB: chunk: expected 2 bytes, got 1"),
        ] {
            let error = corners(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// KHR_mesh_quantization: shorts that stand for fractions.
    #[test]
    fn whole_numbers_stand_for_fractions() {
        let fraction = |component: Component, number: i16| component.fraction(&number.to_le_bytes());
        assert_eq!([i16::MAX, i16::MIN, 0].map(|k| fraction(Component::I16, k)), [1.0, -1.0, 0.0]);
        assert_eq!([127, -128, 0].map(|k| fraction(Component::I8, k)), [1.0, -1.0, 0.0]);
        assert_eq!([255, 0].map(|k| fraction(Component::U8, k)), [1.0, 0.0]);
        assert_eq!([-1, 0].map(|k| fraction(Component::U16, k)), [1.0, 0.0]);
    }

    /// Ten thousand primitives without triangles that all name the same ten thousand positions.
    #[test]
    fn what_is_named_without_end_is_an_error() {
        let primitives = [r#"{"attributes": {"POSITION": 0}, "indices": 1}"#; 10_000].join(",");
        let json = format!(
            r#"{{"meshes": [{{"primitives": [{primitives}]}}], "buffers": [{{}}],
            "bufferViews": [{{"buffer": 0, "byteLength": 120000}}], "accessors":
            [{{"bufferView": 0, "componentType": 5126, "count": 10000, "type": "VEC3"}},
            {{"bufferView": 0, "componentType": 5125, "count": 0, "type": "SCALAR"}}]}}"#
        );
        let error = corners(&glb(&json, &vec![0; 120_000])).unwrap_err().to_string();
        assert!(error.contains("accessor 0: count: expected meshes and nodes that name at most 40000000"), "{error}");
    }
}
