//! Files, with the folders above them.

use std::fs::File;
use std::path::Path;

use fingertip_shapes::{Error, Result};

/// Creates a file, and the folders above it where they are missing.
pub fn create(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|source| Error::file(folder, source))?;
    }
    File::create(path).map_err(|source| Error::file(path, source))
}

/// Writes a file, and the folders above it where they are missing.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    use std::io::Write;
    create(path)?.write_all(content.as_ref()).map_err(|source| Error::file(path, source))
}
