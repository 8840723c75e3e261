//! Errors of measuring memory.

use std::io;

use thiserror::Error;

/// Why memory could not be measured.
#[derive(Debug, Error)]
pub enum Error {
    /// The phone has no limit.
    #[error("phone {0} has no memory limit: bring it up with --memory")]
    NoLimit(u32),
    /// The phone has no swap.
    #[error("phone {0} does not swap to its flash: bring it up with --swap flash")]
    NoSwap(u32),
    /// There is no policy of that name.
    #[error("there is no policy '{name}': there are {known}")]
    NoPolicy {
        /// As asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// The app has no key that it answers.
    #[error("no key is known that {0} answers, so a return to it cannot be measured")]
    NoAnswer(String),
    /// A setting of the machine was not changed.
    #[error("{setting} cannot be changed: {reason}")]
    Setting {
        /// Its name.
        setting: String,
        /// The reason.
        reason: String,
    },
    /// The app does not run.
    #[error("{0} does not run")]
    NotRunning(String),
    /// The process that fills memory failed.
    #[error("the process that fills memory failed: {0}")]
    Balloon(String),
    /// A program that ends apps failed.
    #[error("{program} cannot watch the phone: {reason}")]
    Killer {
        /// Its name.
        program: &'static str,
        /// The reason, and what to do.
        reason: String,
    },
    /// Stopped by the user.
    #[error("stopped")]
    Stopped,
    /// Failure of the phone.
    #[error(transparent)]
    Phone(brisk_phone::Error),
    /// Failure of a launch or a return.
    #[error(transparent)]
    Launch(brisk_launch::Error),
    /// A setting cannot be changed.
    #[error("cannot change a setting of this machine")]
    Act(#[from] brisk_act::Error),
    /// /proc or /sys could not be read.
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// Operation and object.
        action: String,
        /// Cause.
        source: io::Error,
    },
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
                | Self::Launch(brisk_launch::Error::Screen(brisk_screen::Error::Lost { .. }))
        )
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl From<brisk_phone::Error> for Error {
    fn from(error: brisk_phone::Error) -> Self {
        match error {
            brisk_phone::Error::Stopped | brisk_phone::Error::Launch(brisk_launch::Error::Stopped) => Self::Stopped,
            other => Self::Phone(other),
        }
    }
}

impl From<brisk_launch::Error> for Error {
    fn from(error: brisk_launch::Error) -> Self {
        match error {
            brisk_launch::Error::Stopped => Self::Stopped,
            other => Self::Launch(other),
        }
    }
}

/// Adds the operation to an I/O error, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
