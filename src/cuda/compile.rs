//! From text to what a card runs: NVRTC, and a folder of the user's that keeps what came out.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

use candle_core::cuda_backend::cudarc::nvrtc::{Ptx, result as nvrtc, sys};
use candle_core::{Result, bail};

/// Rounding is IEEE's: products and sums that are to be one operation are written so.
const OPTIONS: [&str; 2] = ["--fmad=false", "--std=c++14"];
/// Lines of the compiler's that a message repeats, at most.
const LINES: usize = 20;

/// The text, compiled for an architecture (`sm_90`), or what is left of an earlier time.
///
/// # Errors
/// If NVRTC is not there, or refuses the text. A folder that cannot be written is no error.
pub(super) fn cubin(text: &str, architecture: &str) -> Result<Ptx> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two places for two numbers.
    if unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result().is_err() || major == 0 {
        bail!("cuda: expected NVRTC, the compiler of NVIDIA's CUDA toolkit, as libnvrtc.so on the loader's path");
    }
    let options = [format!("--gpu-architecture={architecture}"), OPTIONS[0].to_owned(), OPTIONS[1].to_owned()];
    let key = hash(&format!("{major}.{minor}\n{}\n{text}", options.join("\n")));
    let path = folder().map(|folder| folder.join(format!("{key:032x}.cubin")));
    if let Some(image) = path.as_deref().and_then(|path| std::fs::read(path).ok()).filter(|image| !image.is_empty()) {
        return Ok(Ptx::from_binary(image));
    }
    let image = compile(text, &options)?;
    if let Some(path) = path {
        keep(&path, &image);
    }
    Ok(Ptx::from_binary(image))
}

fn compile(text: &str, options: &[String]) -> Result<Vec<u8>> {
    let source = CString::new(text).map_err(candle_core::Error::wrap)?;
    let program = nvrtc::create_program(&source, Some(c"fingertip.cu")).map_err(candle_core::Error::wrap)?;
    // SAFETY: the program is there until the last line.
    let image = unsafe { nvrtc::compile_program(program, options) }.map_err(|error| {
        let log = unsafe { nvrtc::get_program_log(program) }.unwrap_or_default();
        let log: Vec<u8> = log.iter().map(|&c| c.cast_unsigned()).collect();
        let log = CStr::from_bytes_until_nul(&log).map(|log| log.to_string_lossy().into_owned()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().take(LINES).collect();
        candle_core::Error::msg(format!("cuda: NVRTC: {error}\n{}", lines.join("\n")))
    });
    let image = image.and_then(|()| {
        let mut size = 0;
        // SAFETY: NVRTC writes the size, then so many bytes.
        unsafe {
            sys::nvrtcGetCUBINSize(program, &raw mut size).result().map_err(candle_core::Error::wrap)?;
            let mut image = vec![0_u8; size];
            sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result().map_err(candle_core::Error::wrap)?;
            Ok(image)
        }
    });
    // SAFETY: nobody has destroyed it.
    unsafe { nvrtc::destroy_program(program) }.ok();
    image
}

/// `FINGERTIP_CACHE`, or `fingertip` in the user's folder for what can be made again.
fn folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    of("FINGERTIP_CACHE")
        .or_else(|| of("XDG_CACHE_HOME").map(|folder| folder.join("fingertip")))
        .or_else(|| of("HOME").map(|folder| folder.join(".cache").join("fingertip")))
        .map(|folder| folder.join("cuda"))
}

/// Writes a file that nobody sees half written, in a folder that is the user's alone. What cannot be kept is made again.
fn keep(path: &Path, image: &[u8]) {
    let Some(folder) = path.parent() else { return };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let written = builder.create(folder).and_then(|()| std::fs::write(&part, image));
    if written.and_then(|()| std::fs::rename(&part, path)).is_err() {
        drop(std::fs::remove_file(&part));
    }
}

/// FNV-1a of 128 bits.
fn hash(text: &str) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    text.bytes().fold(START, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}
