//! What is made of mesh files at some cost, kept in the user's cache folder: `fingertip` in `$XDG_CACHE_HOME`, else in
//! `~/.cache`.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use super::file;
use super::mesh::MeshFile;
use crate::error::Result;

impl MeshFile {
    /// What `read` finds in the cache, or else what `make` makes, written there by `bytes` for the next time. The
    /// file's name is `start`, a number that stands for the content of the mesh, its scale and the settings `how`, and
    /// `end`. A folder that cannot be written to is no error.
    pub(super) fn kept<T>(
        &self,
        [start, end]: [&str; 2],
        how: impl Hash,
        read: impl FnOnce(&Path) -> Option<T>,
        make: impl FnOnce() -> Result<T>,
        bytes: impl FnOnce(&T) -> Vec<u8>,
    ) -> Result<T> {
        let Some(folder) = folder() else { return make() };
        let mut hash = std::hash::DefaultHasher::new();
        file::bytes(&self.path, file::LARGEST_MESH)?.hash(&mut hash);
        (env!("CARGO_PKG_VERSION"), self.scale.map(f64::to_bits), how).hash(&mut hash);
        let path = folder.join(format!("{start}-{:016x}.{end}", hash.finish()));
        if let Some(found) = Some(&*path).filter(|path| path.is_file()).and_then(read) {
            return Ok(found);
        }
        let made = make()?;
        // Another process may write the same at the same time.
        let own = path.with_extension(std::process::id().to_string());
        let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&own, bytes(&made)));
        if written.and_then(|()| std::fs::rename(&own, path)).is_err() {
            std::fs::remove_file(own).ok();
        }
        Ok(made)
    }
}

/// The folder of files that can be made again.
fn folder() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    Some(given.or_else(|| Some(std::env::home_dir()?.join(".cache")))?.join("fingertip"))
}
