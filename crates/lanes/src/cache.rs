//! A cache on disk for compiled code, in a folder that only the user can write to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the checksum at the end of a cached file.
const SEAL: usize = 16;

/// The 128-bit FNV-1a hash of several byte strings (Fowler, Noll and Vo). It also depends on where one part ends and
/// the next starts.
pub fn hash(parts: &[&[u8]]) -> u128 {
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    for part in parts {
        // The length keeps what stands in one part from standing in the next.
        for &byte in part.len().to_le_bytes().iter().chain(*part) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
    hash
}

/// The cache folder for one kind of code, created if it is missing. It lies in `FINGERTIP_CACHE`, or else in
/// `fingertip` in the user's cache folder.
///
/// # Errors
/// If no place is known or the folder cannot be made, or if others can write to it: code found there would be run.
pub fn folder(kind: &str) -> Result<PathBuf, String> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let kept = || of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")));
    let place = of("FINGERTIP_CACHE").or_else(|| Some(kept()?.join("fingertip")));
    let place = place
        .ok_or("compiled code: expected a place to keep it, got none: set FINGERTIP_CACHE, XDG_CACHE_HOME or HOME")?;
    let folder = place.join(kind);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let failed = |error: io::Error| format!("compiled code: {}: {error}", folder.display());
    builder.create(&folder).map_err(failed)?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&fs::metadata(&folder).map_err(failed)?) & 0o777;
        if mode & 0o022 != 0 {
            return Err(format!(
                "compiled code: {}: expected a folder that nobody else can write to, got mode {mode:o}: what is there would \
                 be run",
                folder.display()
            ));
        }
    }
    Ok(folder)
}

/// The content that [`keep`] wrote to this file, if the file exists and its checksum is right.
pub fn kept(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let (code, seal) = bytes.split_last_chunk::<SEAL>()?;
    let whole = (hash(&[code]).to_le_bytes() == *seal).then_some(code.len())?;
    bytes.truncate(whole);
    Some(bytes)
}

/// Writes a file with a checksum. The file appears under its name only when it is complete.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(path: &Path, mut code: Vec<u8>) -> io::Result<()> {
    let part = own(path, "part");
    code.extend(hash(&[&code]).to_le_bytes());
    let written = fs::write(&part, code).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        drop(fs::remove_file(&part));
    }
    written
}

/// A file name next to `path` that no other process or call uses.
pub fn own(path: &Path, kind: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}.{count}.{kind}", std::process::id()))
}
