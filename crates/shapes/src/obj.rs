//! OBJ files: of their faces only the vertices are used, and of the rest what divides them into objects.

use std::borrow::Cow;
use std::path::Path;

use nalgebra::Point3;

use crate::error::{Error, Result};

/// The vertices of a file's faces.
pub(super) fn points(path: &Path, bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let meshes = meshes(path, bytes)?;
    Ok(meshes.iter().flat_map(|mesh| &mesh.vertices).map(|vertex| Point3::from(vertex.map(f64::from))).collect())
}

/// The corners of a file's triangles, three for each.
pub(super) fn corners(path: &Path, bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let mut corners = Vec::new();
    for mesh in meshes(path, bytes)? {
        for &place in mesh.faces.iter().flatten() {
            let vertex = mesh.vertices.get(place as usize);
            let vertex = vertex.ok_or_else(|| Error::invalid("OBJ", format!("there is no vertex {place}")))?;
            corners.push(Point3::from(vertex.map(f64::from)));
        }
    }
    Ok(corners)
}

/// The vertices of the faces of each object or group, by its name.
pub(super) fn parts(path: &Path, bytes: &[u8]) -> Result<Vec<(String, Vec<Point3<f64>>)>> {
    let mut parts: Vec<(String, Vec<Point3<f64>>)> = Vec::new();
    for mesh in meshes(path, &of_groups(bytes))? {
        let points = mesh.vertices.iter().map(|vertex| Point3::from(vertex.map(f64::from)));
        match parts.iter_mut().find(|(name, _)| *name == mesh.name) {
            Some((_, part)) => part.extend(points),
            None => parts.push((mesh.name, points.collect())),
        }
    }
    Ok(parts)
}

/// The text with each line that begins an object as one that begins a group.
fn of_groups(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    for line in lines(bytes) {
        match line.trim_ascii_start() {
            [b'o', rest @ ..] if rest.first().is_some_and(u8::is_ascii_whitespace) => {
                text.push(b'g');
                text.extend_from_slice(rest);
            }
            _ => text.extend_from_slice(line),
        }
    }
    text
}

/// The meshes of a file. Material files that it names are not read.
fn meshes(path: &Path, bytes: &[u8]) -> Result<Vec<mesh_loader::Mesh>> {
    let no_materials = |_: &Path| -> std::io::Result<Vec<u8>> { Err(std::io::ErrorKind::Unsupported.into()) };
    let text = of_one_form(joined(bytes));
    let scene = mesh_loader::obj::from_slice(&text, Some(path), no_materials).map_err(|error| {
        let message = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Error::invalid("OBJ", message)
    })?;
    Ok(scene.meshes)
}

/// The text with a line that ends in a backslash and the next one as one line.
fn joined(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.contains(&b'\\') {
        return Cow::Borrowed(bytes);
    }
    let mut text = Vec::with_capacity(bytes.len());
    for line in lines(bytes) {
        match line.trim_ascii_end().strip_suffix(b"\\") {
            Some(part) if line.ends_with(b"\n") => text.extend_from_slice(&[part, b" "].concat()),
            _ => text.extend_from_slice(line),
        }
    }
    Cow::Owned(text)
}

/// The text with faces of vertices alone, if its faces differ in what else they name: the format lets each have a form
/// of its own.
fn of_one_form(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if has_one_form(&text) {
        return text;
    }
    let mut plain = Vec::with_capacity(text.len());
    for line in lines(&text) {
        if is_face(line) {
            plain.push(b'f');
            for word in words(line) {
                plain.push(b' ');
                plain.extend(word.iter().take_while(|&&byte| byte != b'/'));
            }
            plain.push(b'\n');
        } else {
            plain.extend_from_slice(line);
        }
    }
    Cow::Owned(plain)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n')
}

fn has_one_form(text: &[u8]) -> bool {
    let mut forms = lines(text).filter(|line| is_face(line)).flat_map(words).map(form);
    let first = forms.next();
    forms.all(|form| Some(form) == first)
}

fn is_face(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start(), [b'f', b' ' | b'\t', ..])
}

/// The corners of a face's line, up to a comment.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = line.split(|&byte| byte == b'#').next().unwrap_or_default();
    text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).skip(1)
}

/// Does a corner name a texture's point, and a normal?
fn form(word: &[u8]) -> [bool; 2] {
    let mut others = word.split(|&byte| byte == b'/').skip(1).map(|other| !other.is_empty());
    [others.next().unwrap_or(false), others.next().unwrap_or(false)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERTICES: &str = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvn 0 0 1\n";

    fn corners_of(faces: &str) -> Vec<Point3<f64>> {
        corners(Path::new("a.obj"), format!("{VERTICES}{faces}").as_bytes()).unwrap()
    }

    #[test]
    fn each_face_may_have_a_form_of_its_own() {
        let plain = corners_of("f 1 2 3\nf 1 2 4\nf -4 -2 -1\n");
        assert_eq!(plain.len(), 9);
        assert_eq!(corners_of("f 1//1 2//1 3//1\nf 1/1 2/1 4/1 # more\nf -4/1/1 -2/1/1 -1/1/1\n"), plain);
    }

    #[test]
    fn objects_and_groups_are_parts() {
        let text = format!("{VERTICES}o a\nf 1 2 3\nusemtl red\nf 1 2 4\ng b\nf 2 3 4\no a\nf 1 3 4\n");
        let parts = parts(Path::new("a.obj"), text.as_bytes()).unwrap();
        let of = parts.iter().map(|(name, points)| (name.as_str(), points.len() / 3));
        assert_eq!(of.collect::<Vec<_>>(), [("a", 3), ("b", 1)]);
    }

    #[test]
    fn a_backslash_continues_a_line() {
        let plain = corners_of("f 1 2 3\nf 1 2 4\n");
        assert_eq!(corners_of("f 1 \\\n2 3\nf 1 2 4 \\\r\n\n"), plain);
    }
}
