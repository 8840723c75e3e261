//! Errors of what runs on a phone, with remedies.

use std::io;

/// Failure of what runs on a phone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("'{name}' is not an app of the phone{}; see: brisk phone apps",
        .similar.as_ref().map(|similar| format!(", did you mean '{similar}'")).unwrap_or_default())]
    NoSuchApp { name: String, similar: Option<String> },
    #[error("the background writer failed: {0}")]
    Writer(String),
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
}

pub type Result<T> = std::result::Result<T, Error>;

/// Adds the operation to an I/O error, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
