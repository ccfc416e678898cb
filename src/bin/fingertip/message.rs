//! Errors as lines.

use candle_core::Error;

/// What a tensor error says, without the trace that candle adds where `RUST_BACKTRACE` is set.
pub fn plain(error: &Error) -> String {
    match error {
        Error::WithBacktrace { inner, .. } => plain(inner),
        other => one_line(&other.to_string()),
    }
}

/// What an error says, a line for each thing that is wrong.
pub fn of(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    if let Some(fingertip::Error::Several(errors)) = error.downcast_ref() {
        return errors.iter().map(|error| one_line(&error.to_string())).collect();
    }
    vec![error.downcast_ref::<Error>().map_or_else(|| one_line(&error.to_string()), plain)]
}

/// Messages are for one line, whatever a parser below made of them.
fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}
