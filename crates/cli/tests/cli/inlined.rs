//! Checks that kernels inline all that they call. A function that is not inlined is compiled for the baseline
//! processor, calls even the operations of registers, and passes registers through memory: one closure of that kind
//! made every backward pass two to four times as long.
//!
//! The test reads the command line's own instructions with `objdump`; without that, or in builds with lanes of one
//! world alone, it says that it was skipped.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Operations of registers have names of this module where they are called.
const OPERATIONS: &str = "core::core_arch::x86";
/// Name of our own functions, which must call none of these operations.
const OURS: &str = "fingertip";
/// Generic functions of the standard library are made for our closures: a call of one of these in them is ours too.
const STANDARD: [&str; 2] = ["core::array::", "core::ops::try_trait::Wrapped"];

#[test]
fn kernels_call_no_operation_of_registers() {
    if cfg!(feature = "narrow") {
        println!("skipped: lanes of one world have no registers of several");
        return;
    }
    let program = env!("CARGO_BIN_EXE_fingertip");
    let arguments = ["--disassemble", "--demangle", "--no-show-raw-insn", program];
    let spawned = Command::new("objdump").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut objdump) = spawned else {
        println!("skipped: there is no objdump");
        return;
    };
    let mut lines = BufReader::new(objdump.stdout.take().unwrap());
    let (mut function, mut functions, mut found) = (String::new(), 0, Vec::new());
    let mut bytes = Vec::new();
    while lines.read_until(b'\n', &mut bytes).unwrap() > 0 {
        let line = String::from_utf8_lossy(&bytes);
        if let Some((_, name)) = line.trim_end().strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            name.clone_into(&mut function);
            functions += usize::from(name.contains(OURS));
        } else if line.contains(OPERATIONS)
            && line.contains("call")
            && (function.contains(OURS) || STANDARD.iter().any(|name| function.contains(name)))
        {
            found.push(function.clone());
        }
        bytes.clear();
    }
    let status = objdump.wait().unwrap();
    if functions == 0 {
        println!("skipped: objdump ends with {status} and shows no function of ours");
        return;
    }
    found.dedup();
    assert!(found.is_empty(), "compiled for the baseline processor: {found:#?}");
}
