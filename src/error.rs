//! What can be wrong with a description, and where.

use std::path::{Path, PathBuf};

/// Bad input, with the place where it stands and what was expected there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is not in its format at all (XML, TOML or JSON syntax, a missing or unknown key).
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What the parser said, with line and column where it knows them.
        message: String,
    },
    /// An element of a description with an impossible content.
    #[error("{place}: {message}")]
    Invalid {
        /// The file, if there is one, and the element: `hand.urdf: joint "index2"`.
        place: String,
        /// What is wrong and what was expected.
        message: String,
    },
}

impl Error {
    pub(crate) fn invalid(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { place: shortened(place.into()), message: shortened(message.into()) }
    }

    /// The same error, its place set within `outer`: a file or an enclosing element. A file that an element names is part
    /// of that element's place.
    pub fn within(self, outer: impl std::fmt::Display) -> Self {
        let (place, message) = match self {
            Self::Invalid { place, message } => (place, message),
            Self::File { path, source } => (path.display().to_string(), source.to_string()),
            Self::Syntax { path, message } => (path.display().to_string(), message),
        };
        Self::Invalid { place: format!("{outer}: {place}"), message }
    }

    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}

/// The beginning of a text that a message repeats, if it is long: nobody reads on.
fn shortened(mut text: String) -> String {
    const LONG: usize = 1000;
    if let Some((end, _)) = text.char_indices().nth(LONG) {
        text.truncate(end);
        text.push('…');
    }
    text
}

impl From<Error> for candle_core::Error {
    fn from(error: Error) -> Self {
        candle_core::Error::wrap(error)
    }
}

/// The result of reading or checking a description.
pub type Result<T> = std::result::Result<T, Error>;
