//! Errors and warnings as lines of text.

use candle_core::Error;

/// The message of a tensor error, in one line.
pub fn plain(error: &Error) -> String {
    one_line(&fingertip::message(error))
}

/// The messages of an error, a line for each thing that is wrong.
pub fn of(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    if let Some(fingertip::Error::Several(errors)) = error.downcast_ref() {
        return errors.iter().map(|error| one_line(&error.to_string())).collect();
    }
    vec![error.downcast_ref::<Error>().map_or_else(|| one_line(&error.to_string()), plain)]
}

/// The message for a list whose length is not the number of its names.
pub fn wrong_length(place: &str, names: &[String], got: usize) -> String {
    const FEW: usize = 12;
    let they_are = match names {
        [] => String::new(),
        [first, second, .., last] if names.len() > FEW => {
            format!("; they are {first}, {second}, …, {last}: `inspect` names them")
        }
        few => format!("; they are {}", few.join(", ")),
    };
    format!("{place}: expected {} numbers, got {got}{they_are}", names.len())
}

/// Messages are for one line, whatever a parser below made of them.
fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Warnings that are printed, at most.
const WARNINGS: usize = 8;

/// Says the first warnings, and how many there are besides.
pub fn warn(warnings: &[String]) {
    warnings.iter().take(WARNINGS).for_each(|warning| eprintln!("warning: {warning}"));
    if warnings.len() > WARNINGS {
        eprintln!("warning: {} more of these, see `fingertip inspect`", warnings.len() - WARNINGS);
    }
}
