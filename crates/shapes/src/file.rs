//! Reading whole files, up to a limit of size.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};

/// Largest scene and URDF file, bytes.
pub const LARGEST_TEXT: u64 = 16 << 20;
/// Largest mesh file, bytes.
pub const LARGEST_MESH: u64 = 512 << 20;

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// If the file cannot be read, is a folder or a device, or is larger.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let failed = |source| Error::file(path, source);
    // Asked before it is opened: opening a pipe waits for its other end.
    let meta = std::fs::metadata(path).map_err(failed)?;
    let invalid = |message: String| Error::invalid(path.display().to_string(), message);
    if !meta.is_file() {
        let found = if meta.is_dir() { "a folder" } else { "a device or a pipe" };
        return Err(invalid(format!("expected a regular file, got {found}")));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes)).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(invalid(format!("expected at most {} MiB, got {} MiB", most >> 20, meta.len() >> 20)));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As [`bytes`], or if the bytes are not UTF-8.
pub fn text(path: &Path) -> Result<String> {
    String::from_utf8(bytes(path, LARGEST_TEXT)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::invalid(path.display().to_string(), format!("expected text in UTF-8, but byte {} is none", at + 1))
    })
}
