//! Devices by name, with errors that say what is missing.

use candle_core::Device;

use fingertip_shapes::{Error, Result};

/// A device by its name: `cpu`, `cuda`, or `cuda:1` for the second GPU.
///
/// # Errors
/// If the name is not that of a device, or if it is a GPU and the build lacks the feature `cuda`, or the driver or that
/// GPU is missing.
pub fn device(name: &str) -> Result<Device> {
    let invalid = |message: String| Error::invalid("device", message);
    let ordinal = match name.split_once(':') {
        None if name == "cpu" => return Ok(Device::Cpu),
        None if name == "cuda" => 0,
        Some(("cuda", ordinal)) if !ordinal.is_empty() && ordinal.bytes().all(|c| c.is_ascii_digit()) => ordinal
            .parse()
            .map_err(|_| invalid(format!("expected a number of a GPU behind \"cuda:\", got \"{ordinal}\"")))?,
        _ => return Err(invalid(format!("expected \"cpu\", \"cuda\" or \"cuda:N\", got \"{name}\""))),
    };
    if cfg!(feature = "cuda") {
        return Device::new_cuda(ordinal).map_err(|error| invalid(why(name, &error)));
    }
    Err(invalid(format!("\"{name}\": expected a build with the feature `cuda`, got one without")))
}

/// Why there is no such GPU.
fn why(name: &str, error: &candle_core::Error) -> String {
    let error = error.to_string();
    let says = |codes: &[&str]| codes.iter().any(|code| error.contains(code));
    let reason = if says(&["STUB_LIBRARY"]) {
        "there is no NVIDIA driver (libcuda.so.1) on this machine"
    } else if says(&["NO_DEVICE"]) {
        "the driver finds no GPU"
    } else if says(&["INVALID_DEVICE"]) {
        "there are not so many GPUs"
    } else if says(&["OUT_OF_MEMORY"]) {
        "its memory is full"
    } else {
        error.lines().next().unwrap_or_default()
    };
    format!("\"{name}\": {reason}")
}
