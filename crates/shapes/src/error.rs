//! Errors in descriptions, and where they are.

use std::path::{Path, PathBuf};

/// Bad input, with its place and what was expected there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file with the wrong syntax (XML, TOML or JSON), or with a missing or unknown key.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The parser's message, with line and column if it knows them.
        message: String,
    },
    /// An element of a description whose content is not possible.
    #[error("{place}: {message}")]
    Invalid {
        /// The file, if there is one, and the element: `hand.urdf: joint "index2"`.
        place: String,
        /// The fault and what was expected.
        message: String,
    },
    /// Several errors in one description, one line each. None of them is [`Error::Several`] itself.
    #[error("{}", lines(.0))]
    Several(
        /// The errors, in the order of the description.
        Vec<Error>,
    ),
}

fn lines(errors: &[Error]) -> String {
    errors.iter().map(Error::to_string).collect::<Vec<_>>().join("\n")
}

impl Error {
    /// An element whose content is not possible: where it is, what is wrong and what was expected. Long texts are
    /// shortened.
    pub fn invalid(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { place: shortened(place.into()), message: shortened(message.into()) }
    }

    /// This error with `outer` (a file or an enclosing element) added in front of its place. A file that an element
    /// names is part of that element's place.
    pub fn within(self, outer: impl std::fmt::Display) -> Self {
        let (place, message) = match self {
            Self::Several(errors) => {
                let outer = outer.to_string();
                return Self::Several(errors.into_iter().map(|error| error.within(outer.clone())).collect());
            }
            Self::Invalid { place, message } => (place, message),
            Self::File { path, source } => (path.display().to_string(), source.to_string()),
            Self::Syntax { path, message } => (path.display().to_string(), message),
        };
        Self::Invalid { place: format!("{outer}: {place}"), message }
    }

    /// Is it, or is one of several, that of a file that is not there?
    pub fn misses_file(&self) -> bool {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound).to_string();
        match self {
            Self::File { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
            // A file that an element names.
            Self::Invalid { message, .. } => *message == missing(),
            Self::Syntax { .. } => false,
            Self::Several(errors) => errors.iter().any(Self::misses_file),
        }
    }

    /// A file that cannot be read or written.
    pub fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}

/// The faults of a description, in the order in which they were found.
#[derive(Debug, Default)]
pub struct Findings(Vec<Error>);

impl Findings {
    /// The value of a part if it is right; otherwise its errors are noted.
    pub fn take<T>(&mut self, part: Result<T>) -> Option<T> {
        part.map_err(|error| self.note(error)).ok()
    }

    /// Notes an error.
    pub fn note(&mut self, error: Error) {
        match error {
            Error::Several(errors) => self.0.extend(errors),
            error => self.0.push(error),
        }
    }

    /// Has nothing been found so far?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Ok` if nothing was found, else the errors.
    pub fn result(mut self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            1 => self.0.pop().map_or(Ok(()), Err),
            _ => Err(Error::Several(self.0)),
        }
    }
}

/// A text to quote in a message, shortened to its beginning if it is long.
fn shortened(mut text: String) -> String {
    const LONG: usize = 1000;
    if let Some((end, _)) = text.char_indices().nth(LONG) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(feature = "candle")]
impl From<Error> for candle_core::Error {
    fn from(error: Error) -> Self {
        candle_core::Error::wrap(error)
    }
}

/// The text of a tensor error, without the trace that candle adds where `RUST_BACKTRACE` is set.
#[cfg(feature = "candle")]
pub fn message(error: &candle_core::Error) -> String {
    use candle_core::Error;
    match error {
        Error::WithBacktrace { inner, .. } => message(inner),
        Error::Context { inner, context } => format!("{context}: {}", message(inner)),
        Error::WithPath { inner, path } => format!("{}: {}", path.display(), message(inner)),
        other => other.to_string(),
    }
}

/// The result of reading or checking a description.
pub type Result<T> = std::result::Result<T, Error>;
