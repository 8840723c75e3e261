//! Errors of launching and watching apps.

use std::path::PathBuf;

use thiserror::Error;

/// Why an app could not be launched or watched.
#[derive(Debug, Error)]
pub enum Error {
    /// The program does not exist or is not executable.
    #[error("cannot run {program}: {reason}")]
    Program {
        /// The command as given.
        program: String,
        /// Such as `no such program in PATH`.
        reason: String,
    },
    /// No desktop entry has this id.
    #[error("there is no desktop entry {id}.desktop in {searched}; give the command itself, after --")]
    DesktopEntry {
        /// The id.
        id: String,
        /// The searched directories, separated by commas.
        searched: String,
    },
    /// A desktop entry that cannot be launched.
    #[error("the desktop entry {} cannot be launched: {reason}", path.display())]
    BadDesktopEntry {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// cgroup2 is not mounted.
    #[error(
        "no cgroup2 file system is mounted, and brisk needs one to keep an app's processes together: mount -t cgroup2 none \
         /sys/fs/cgroup/unified"
    )]
    NoCgroup2,
    /// A control group could not be created or used.
    #[error("cannot {action} the control group {}{}", path.display(), remedy(source))]
    Scope {
        /// Such as `make`.
        action: &'static str,
        /// Its directory.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// /proc or /sys could not be read.
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    /// Failure of the display.
    #[error(transparent)]
    Screen(#[from] brisk_screen::Error),
    /// A system call failed.
    #[error("{action} failed")]
    System {
        /// Operation and object.
        action: String,
        /// Cause.
        source: std::io::Error,
    },
    /// A script that is not read.
    #[error(transparent)]
    File(#[from] brisk_files::Error),
    /// An invalid script of user actions.
    #[error("{place}: {reason}")]
    Script {
        /// File, and line where known.
        place: String,
        /// The problem and the remedy.
        reason: String,
    },
    /// The conditions of a launch could not be set up.
    #[error(transparent)]
    Surroundings(Box<dyn std::error::Error + Send + Sync>),
    /// Cancelled by the user.
    #[error("stopped")]
    Stopped,
}

fn remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::PermissionDenied => {
            "; run as root, or in a session of systemd, in which a user has own groups"
        }
        _ => "",
    }
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A system call that failed with errno.
    pub(crate) fn system(action: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::System { action: action.into(), source: source.into() }
    }
}
