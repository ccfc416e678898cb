//! The triangles of an STL file, binary or text.

use nalgebra::Point3;

use crate::error::{Error, Result};

/// Bytes of the header, its count of triangles included, and of a triangle: normal, three vertices, two bytes more.
const HEADER: usize = 84;
const TRIANGLE: usize = 50;
const NORMAL: usize = 12;

/// The corners of all triangles, three for each.
///
/// # Errors
/// A binary file whose length is not that of the triangles that its header counts, or a text that is no STL.
pub(super) fn corners(bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let counted = bytes.get(HEADER - 4..HEADER).and_then(|count| count.try_into().ok()).map(u32::from_le_bytes);
    let fits = counted.is_some_and(|n| {
        // Some files end with a line break.
        let rest = (bytes.len() as u64).checked_sub(HEADER as u64 + u64::from(n) * TRIANGLE as u64);
        rest.is_some_and(|rest| rest <= 2)
    });
    if !fits && bytes.trim_ascii_start().starts_with(b"solid") {
        return text(bytes);
    }
    let triangles = || bytes.get(HEADER..).unwrap_or_default().as_chunks::<TRIANGLE>().0;
    match counted {
        Some(_) if fits => {}
        Some(n) => {
            let found = triangles().len();
            return Err(invalid(format!(
                "expected {n} triangles, as the header says, got {found} in {} bytes",
                bytes.len()
            )));
        }
        None => return Err(invalid(format!("expected a header of {HEADER} bytes, got {} bytes", bytes.len()))),
    }
    let corners = triangles().iter().flat_map(|triangle| triangle[NORMAL..].as_chunks::<NORMAL>().0);
    let corner = |corner: &[u8; NORMAL]| {
        let number = |k: usize| f32::from_le_bytes([corner[k], corner[k + 1], corner[k + 2], corner[k + 3]]);
        Point3::from([number(0), number(4), number(8)].map(f64::from))
    };
    Ok(corners.map(corner).collect())
}

/// `solid name`, then `facet normal … outer loop vertex x y z …`, then `endsolid`.
fn text(bytes: &[u8]) -> Result<Vec<Point3<f64>>> {
    let text =
        std::str::from_utf8(bytes).map_err(|error| invalid(format!("expected text or a binary STL: {error}")))?;
    let mut words = text.split_ascii_whitespace();
    let mut corners = Vec::new();
    let (mut in_triangle, mut ended) = (0, false);
    while let Some(word) = words.next() {
        match word {
            "vertex" => {
                let mut number = || {
                    let word = words.next().unwrap_or("the end of the file");
                    word.parse::<f32>().map_err(|_| invalid(format!("vertex: expected three numbers, got {word}")))
                };
                corners.push(Point3::from([number()?, number()?, number()?].map(f64::from)));
                in_triangle += 1;
            }
            "endfacet" if in_triangle != 3 => {
                return Err(invalid(format!("expected facets of three vertices, got one of {in_triangle}")));
            }
            "endfacet" => in_triangle = 0,
            "endsolid" => ended = true,
            _ => {}
        }
    }
    if in_triangle != 0 || !ended {
        return Err(invalid("expected \"endsolid\", got the end of the file".into()));
    }
    Ok(corners)
}

fn invalid(message: String) -> Error {
    Error::invalid("STL", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binary(count: u32, triangles: usize) -> Vec<u8> {
        let mut bytes = b"solid that is none".to_vec();
        bytes.resize(HEADER - 4, 0);
        bytes.extend(count.to_le_bytes());
        for i in 0..triangles {
            let numbers = (0..12).map(|k| (i + k % 3) as f32);
            bytes.extend(numbers.flat_map(f32::to_le_bytes).chain([0, 0]));
        }
        bytes
    }

    #[test]
    fn binary_files_are_as_long_as_they_say() {
        assert_eq!(corners(&binary(4, 4)).unwrap().len(), 12);
        let mut broken = binary(4, 4);
        broken.push(b'\n');
        assert_eq!(corners(&broken).unwrap().len(), 12);
        let error = |bytes: &[u8]| corners(bytes).unwrap_err().to_string();
        let mut huge = binary(u32::MAX, 4);
        huge[..5].copy_from_slice(b"model");
        assert_eq!(error(&huge), "STL: expected 4294967295 triangles, as the header says, got 4 in 284 bytes");
        assert!(error(&binary(5, 4)).contains("expected"), "{}", error(&binary(5, 4)));
        assert_eq!(error(b"abc"), "STL: expected a header of 84 bytes, got 3 bytes");
    }

    #[test]
    fn text_has_whole_facets() {
        let facet =
            "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1e-3 -2.5\nendloop\nendfacet\n";
        let whole = format!(" solid a part\n{facet}{facet}endsolid a part");
        assert_eq!(corners(whole.as_bytes()).unwrap().len(), 6);
        for (text, message) in [
            (format!("solid a\n{facet}"), "expected \"endsolid\""),
            (whole.replace("-2.5", "left"), "expected three numbers, got left"),
            (whole.replacen("vertex 1 0 0\n", "", 1), "expected facets of three vertices, got one of 2"),
        ] {
            let error = corners(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
