//! What goes wrong when an app is launched and watched.

use std::path::PathBuf;

use thiserror::Error;

/// Why an app could not be launched or watched.
#[derive(Debug, Error)]
pub enum Error {
    /// Nothing that can be executed has this name.
    #[error("cannot run {program}: {reason}")]
    Program {
        /// As the person gave it.
        program: String,
        /// Such as `no such program in PATH`.
        reason: String,
    },
    /// No desktop entry has this id.
    #[error("there is no desktop entry {id}.desktop in {searched}; give the command itself, after --")]
    DesktopEntry {
        /// The id.
        id: String,
        /// The folders, separated by commas.
        searched: String,
    },
    /// A desktop entry that cannot be launched.
    #[error("the desktop entry {} cannot be launched: {reason}", path.display())]
    BadDesktopEntry {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The second version of control groups is not there.
    #[error(
        "no cgroup2 file system is mounted, and brisk needs one to keep an app's processes together: mount -t cgroup2 none \
         /sys/fs/cgroup/unified"
    )]
    NoCgroup2,
    /// A control group could not be made or used.
    #[error("cannot {action} the control group {}", path.display())]
    Scope {
        /// Such as `make`.
        action: &'static str,
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What the kernel says of a process or group could not be read.
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    /// The display.
    #[error(transparent)]
    Screen(#[from] brisk_screen::Error),
    /// A system call failed.
    #[error("{action} failed")]
    System {
        /// What was to be done, on what.
        action: String,
        /// Why.
        source: std::io::Error,
    },
    /// A script of user actions that does not hold together.
    #[error("{place}: {reason}")]
    Script {
        /// File, and line where known.
        place: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// What a launch was to happen in could not be made.
    #[error(transparent)]
    Surroundings(Box<dyn std::error::Error + Send + Sync>),
    /// The person stopped it.
    #[error("stopped")]
    Stopped,
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A system call that failed with errno.
    pub(crate) fn system(action: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::System { action: action.into(), source: source.into() }
    }
}
