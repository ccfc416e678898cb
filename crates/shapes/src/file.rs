//! Reading whole files, up to a limit of size, and the folders that they are in.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

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

/// Reads a file as text.
///
/// # Errors
/// As [`bytes`], or if the bytes are not UTF-8.
pub fn text(path: &Path) -> Result<String> {
    String::from_utf8(bytes(path, LARGEST_TEXT)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::invalid(path.display().to_string(), format!("expected text in UTF-8, but byte {} is none", at + 1))
    })
}

/// The text of a path, if there is one.
pub type Texts = fn(&Path) -> Option<&'static str>;

/// A folder that descriptions name their files relative to: one of the disk, or one of texts that a program carries.
/// Every path is a folder of the disk.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    texts: Option<Texts>,
}

impl<P: AsRef<Path>> From<P> for Folder {
    fn from(path: P) -> Self {
        Self { path: path.as_ref().to_owned(), texts: None }
    }
}

impl Folder {
    /// A folder of texts; its path, and the paths that `texts` knows, begin at the same place.
    pub fn of_texts(path: impl AsRef<Path>, texts: Texts) -> Self {
        Self { path: path.as_ref().to_owned(), texts: Some(texts) }
    }

    /// Is this a folder of the disk?
    pub fn is_of_disk(&self) -> bool {
        self.texts.is_none()
    }

    /// The path of a file that is named relative to this folder.
    pub fn join(&self, file: impl AsRef<Path>) -> PathBuf {
        let path = self.path.join(file);
        if self.is_of_disk() {
            return path;
        }
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(plain.pop()),
                part => plain.push(part),
            }
        }
        plain
    }

    /// The folder that a file is in.
    #[must_use]
    pub fn of(&self, file: impl AsRef<Path>) -> Self {
        Self { path: self.join(file).parent().unwrap_or(Path::new("")).to_owned(), texts: self.texts }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// As [`text`], or if no text has its path.
    pub fn text(&self, file: impl AsRef<Path>) -> Result<String> {
        let path = self.join(file);
        let Some(texts) = self.texts else { return text(&path) };
        texts(&path).map(str::to_owned).ok_or_else(|| Error::file(&path, io::Error::from(io::ErrorKind::NotFound)))
    }
}
