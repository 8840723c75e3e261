//! Why a lab device could not be asked.

use std::io;
use std::path::PathBuf;

/// Failure to talk to the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lab's directory is root's.
    #[error("cannot read {}, which is root's: run it as root (sudo brisk lab ...)", .dir.display())]
    Closed {
        /// The directory.
        dir: PathBuf,
    },
    /// The server refused an order, or answered out of turn.
    #[error("{0}")]
    Refused(String),
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried, on what.
        action: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Names what was tried, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
