//! Compiling kernels' text by NVRTC, with a cache in a folder of the user's.

use std::ffi::{CStr, CString};

use candle_core::cuda_backend::cudarc::nvrtc::{Ptx, result as nvrtc, sys};
use candle_core::{Result, bail};

use fingertip_lanes::cache;

/// Rounding is IEEE's: products and sums that are to be one operation are written so.
const OPTIONS: [&str; 2] = ["--fmad=false", "--std=c++14"];
/// Fewer of the optimisations that take long; NVRTC has it from 13 on.
const QUICK: &str = "--Ofast-compile=min";
const FIRST_WITH_QUICK: i32 = 13;
/// Lines of the compiler's that a message repeats, at most.
const LINES: usize = 20;

/// The effort of the compiler on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As well as NVRTC can.
    Full,
    /// In a third of the time, where NVRTC can do that; the code is a fifth longer.
    Quick,
}

/// The text, compiled for an architecture (`sm_90`), or what is left of an earlier time.
///
/// # Errors
/// If NVRTC is not there, or refuses the text. A folder that cannot be written is no error.
pub(super) fn cubin(text: &str, architecture: &str, effort: Effort) -> Result<Ptx> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two places for two numbers.
    if unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) }.result().is_err() || major == 0 {
        bail!("cuda: expected NVRTC, the compiler of NVIDIA's CUDA toolkit, as libnvrtc.so on the loader's path");
    }
    let mut options = vec![format!("--gpu-architecture={architecture}"), OPTIONS[0].to_owned(), OPTIONS[1].to_owned()];
    options.extend((effort == Effort::Quick && major >= FIRST_WITH_QUICK).then(|| QUICK.to_owned()));
    let version = format!("{major}.{minor}\n{}", options.join("\n"));
    let key = cache::hash(&[version.as_bytes(), text.as_bytes()]);
    let path = cache::folder("cuda").map(|folder| folder.join(format!("{key:032x}.cubin"))).ok();
    if let Some(image) = path.as_deref().and_then(cache::kept) {
        return Ok(Ptx::from_binary(image));
    }
    let image = compile(text, &options)?;
    if let Some(path) = path {
        // What cannot be kept is made again.
        cache::keep(&path, image.clone()).ok();
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
