//! The program `fingertip`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fingertip_cli::run(std::env::args_os()) as u8)
}
