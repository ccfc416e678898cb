//! Lines on standard output.

use std::fmt::Arguments;
use std::io::{self, Write};
use std::process;

/// Prints a line. If it cannot be written the program ends: quietly if the reader has seen enough (`| head`), else with
/// an error.
pub fn line(text: Arguments) {
    if let Err(error) = writeln!(io::stdout().lock(), "{text}") {
        process::exit(super::failed(&error) as i32);
    }
}

/// In place of the standard library's, which panics if a line cannot be written.
macro_rules! println {
    () => { println!("") };
    ($($part:tt)*) => { $crate::print::line(format_args!($($part)*)) };
}
