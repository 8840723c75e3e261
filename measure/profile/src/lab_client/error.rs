//! Why a lab device could not be asked.

use std::io;
use std::path::PathBuf;

/// Failure to talk to the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read {}, which is root's: run it as root (sudo brisk lab ...)", .dir.display())]
    Closed { dir: PathBuf },
    #[error("{0}")]
    Refused(String),
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
}

pub type Result<T> = std::result::Result<T, Error>;

/// Names what was tried, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
