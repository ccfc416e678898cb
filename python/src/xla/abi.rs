//! XLA's foreign functions: the parts of `xla/ffi/api/c_api.h` that its version 0.1 has and a function needs.

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::slice;

/// The version that is answered. Each JAX accepts versions from 0.1 up to its own.
const VERSION: (c_int, c_int) = (0, 1);
/// The kind of an extension that asks for a function's metadata.
const METADATA: c_int = 1;
/// The stage in which a function computes.
const EXECUTE: c_int = 3;
/// The kind of an attribute that is one number.
const SCALAR: c_int = 3;
/// Types of numbers.
const S64: c_int = 5;
const U8: c_int = 6;
const F64: c_int = 12;
/// The code of an error of the caller.
const INVALID_ARGUMENT: c_int = 3;

#[repr(C)]
struct Extension {
    struct_size: usize,
    kind: c_int,
    next: *mut Extension,
}

#[repr(C)]
struct Version {
    struct_size: usize,
    extension: *mut Extension,
    major: c_int,
    minor: c_int,
}

/// Later versions have more behind it.
#[repr(C)]
struct Metadata {
    struct_size: usize,
    version: Version,
    traits: u32,
}

#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

#[repr(C)]
struct RawBuffer {
    struct_size: usize,
    extension: *mut Extension,
    kind: c_int,
    data: *mut c_void,
    rank: i64,
    dims: *const i64,
}

#[repr(C)]
struct Span {
    start: *const c_char,
    length: usize,
}

#[repr(C)]
struct Scalar {
    kind: c_int,
    value: *const c_void,
}

#[repr(C)]
struct List {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    kinds: *const c_int,
    items: *const *mut RawBuffer,
}

#[repr(C)]
struct Attributes {
    struct_size: usize,
    extension: *mut Extension,
    size: i64,
    kinds: *const c_int,
    names: *const *const Span,
    items: *const *const c_void,
}

#[repr(C)]
struct ErrorCreate {
    struct_size: usize,
    extension: *mut Extension,
    message: *const c_char,
    code: c_int,
}

#[repr(C)]
struct StreamGet {
    struct_size: usize,
    extension: *mut Extension,
    context: *mut c_void,
    stream: *mut c_void,
}

/// Later functions are behind it.
#[repr(C)]
struct Api {
    struct_size: usize,
    extension: *mut Extension,
    version: Version,
    internal: *const c_void,
    error_create: unsafe extern "C" fn(*mut ErrorCreate) -> *mut c_void,
    error_get_message: *const c_void,
    error_destroy: *const c_void,
    handler_register: *const c_void,
    stream_get: unsafe extern "C" fn(*mut StreamGet) -> *mut c_void,
}

/// The frame that XLA calls a function with.
#[repr(C)]
pub struct CallFrame {
    struct_size: usize,
    extension: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    arguments: List,
    results: List,
    attributes: Attributes,
}

/// Numbers with their shape.
pub struct Buffer<'a> {
    /// The lengths along its axes.
    pub dims: &'a [i64],
    data: *mut c_void,
    kind: c_int,
}

impl<'a> Buffer<'a> {
    /// The number of elements.
    fn length(&self) -> usize {
        self.dims.iter().map(|&n| usize::try_from(n).unwrap_or(0)).product()
    }

    fn slice<T>(self, kind: c_int) -> Result<&'a mut [T], String> {
        match self.length() {
            _ if self.kind != kind => Err(format!("expected numbers of type {kind}, got {}", self.kind)),
            0 => Ok(&mut []),
            // SAFETY: XLA's buffers have so many numbers of this type, and are ours during the call.
            n => Ok(unsafe { slice::from_raw_parts_mut(self.data.cast(), n) }),
        }
    }

    /// Numbers in double precision.
    pub fn floats(self) -> Result<&'a mut [f64], String> {
        self.slice(F64)
    }

    /// Numbers as bytes.
    pub fn bytes(self) -> Result<&'a mut [u8], String> {
        self.slice(U8)
    }

    /// The address on the device of numbers in double precision, or of bytes.
    #[cfg(feature = "cuda")]
    pub fn address(&self, of_bytes: bool) -> Result<u64, String> {
        let kind = if of_bytes { U8 } else { F64 };
        if self.kind == kind {
            Ok(self.data as u64)
        } else {
            Err(format!("expected numbers of type {kind}, got {}", self.kind))
        }
    }
}

/// The buffers of one call of a function.
pub struct Call<'a> {
    /// The buffers of the arguments.
    pub arguments: Vec<Buffer<'a>>,
    /// The buffers for the results.
    pub results: Vec<Buffer<'a>>,
    /// The number that the program calls it with.
    pub number: i64,
    /// The call as XLA describes it.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only GPUs have streams"))]
    frame: &'a CallFrame,
}

#[cfg(feature = "cuda")]
impl Call<'_> {
    /// The stream that the program runs on, on a GPU.
    pub fn stream(&self) -> Result<*mut c_void, String> {
        let (struct_size, context) = (size_of::<StreamGet>(), self.frame.context);
        let mut asked = StreamGet { struct_size, extension: null_mut(), context, stream: null_mut() };
        // SAFETY: XLA has made the frame, and answers as its header says.
        let error = unsafe { ((*self.frame.api).stream_get)(&raw mut asked) };
        if error.is_null() { Ok(asked.stream) } else { Err("there is no stream".to_owned()) }
    }
}

/// Answers XLA by a function that computes.
///
/// # Safety
/// `frame` must be what XLA calls a handler with.
pub unsafe fn answer(frame: *mut CallFrame, work: impl FnOnce(Call) -> Result<(), String>) -> *mut c_void {
    // SAFETY: the structs are those of the header, whose sizes grow at their ends only.
    unsafe {
        let frame = &*frame;
        if let Some(extension) = frame.extension.as_ref().filter(|extension| extension.kind == METADATA) {
            let asked = &*std::ptr::from_ref(extension).cast::<MetadataExtension>();
            (*asked.metadata).version.major = VERSION.0;
            (*asked.metadata).version.minor = VERSION.1;
            (*asked.metadata).traits = 0;
            return null_mut();
        }
        if frame.stage != EXECUTE {
            return null_mut();
        }
        let done = number(&frame.attributes).and_then(|number| {
            let (arguments, results) = (buffers(&frame.arguments), buffers(&frame.results));
            work(Call { arguments, results, number, frame })
        });
        let Err(message) = done else { return null_mut() };
        let message = CString::new(format!("fingertip: {message}")).unwrap_or_default();
        let (struct_size, message) = (size_of::<ErrorCreate>(), message.as_ptr());
        let mut error = ErrorCreate { struct_size, extension: null_mut(), message, code: INVALID_ARGUMENT };
        ((*frame.api).error_create)(&raw mut error)
    }
}

/// A list's items.
unsafe fn items<'a, T>(first: *const T, size: i64) -> &'a [T] {
    match usize::try_from(size) {
        Ok(n) if n > 0 => unsafe { slice::from_raw_parts(first, n) },
        _ => &[],
    }
}

unsafe fn buffers<'a>(list: &List) -> Vec<Buffer<'a>> {
    let one = |&raw: &*mut RawBuffer| unsafe {
        let RawBuffer { kind, data, rank, dims, .. } = *raw;
        Buffer { dims: items(dims, rank), data, kind }
    };
    unsafe { items(list.items, list.size) }.iter().map(one).collect()
}

/// The call's one attribute, an integer; an error if it has others.
unsafe fn number(all: &Attributes) -> Result<i64, String> {
    let (kinds, values) = unsafe { (items(all.kinds, all.size), items(all.items, all.size)) };
    match (kinds, values) {
        (&[SCALAR], &[value]) => {
            let scalar = unsafe { &*value.cast::<Scalar>() };
            if scalar.kind == S64 { Ok(unsafe { *scalar.value.cast() }) } else { Err("expected a whole number".into()) }
        }
        _ => Err("expected one number as attribute".into()),
    }
}
