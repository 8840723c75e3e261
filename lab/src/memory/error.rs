//! Errors of measuring memory.

use std::io;

use thiserror::Error;

/// Why memory could not be measured.
#[derive(Debug, Error)]
pub enum Error {
    #[error("phone {0} has no memory limit: bring it up with --memory")]
    NoLimit(u32),
    #[error("phone {0} does not swap to its flash: bring it up with --swap flash")]
    NoSwap(u32),
    #[error("there is no policy '{name}': there are {known}")]
    NoPolicy { name: String, known: String },
    #[error("no key is known that {0} answers, so a return to it cannot be measured")]
    NoAnswer(String),
    #[error("{setting} cannot be changed: {reason}")]
    Setting { setting: String, reason: String },
    #[error("{0} does not run")]
    NotRunning(String),
    #[error("the process that fills memory failed: {0}")]
    Balloon(String),
    #[error("{program} cannot watch the phone: {reason}")]
    Killer { program: &'static str, reason: String },
    #[error("stopped")]
    Stopped,
    #[error(transparent)]
    Phone(crate::phone::Error),
    #[error(transparent)]
    Launch(crate::launch::Error),
    #[error("cannot change a setting of this machine")]
    Act(#[from] brisk_act::Error),
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
}

impl Error {
    /// Whether nothing can be measured after it, rather than one app.
    #[must_use]
    pub(crate) fn ends_all(&self) -> bool {
        matches!(
            self,
            Self::Stopped
                | Self::Setting { .. }
                | Self::Act(_)
                | Self::Killer { .. }
                | Self::Launch(crate::launch::Error::Screen(crate::screen::Error::Lost { .. }))
        )
    }
}

pub type Result<T> = std::result::Result<T, Error>;

impl From<crate::phone::Error> for Error {
    fn from(error: crate::phone::Error) -> Self {
        match error {
            crate::phone::Error::Stopped | crate::phone::Error::Launch(crate::launch::Error::Stopped) => Self::Stopped,
            other => Self::Phone(other),
        }
    }
}

impl From<crate::launch::Error> for Error {
    fn from(error: crate::launch::Error) -> Self {
        match error {
            crate::launch::Error::Stopped => Self::Stopped,
            other => Self::Launch(other),
        }
    }
}

/// Adds the operation to an I/O error, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
