//! Errors of launching and watching apps.

use std::path::PathBuf;

use thiserror::Error;

/// Why an app could not be launched or watched.
#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot run {program}: {reason}")]
    Program { program: String, reason: String },
    #[error("there is no desktop entry {id}.desktop in {searched}; give the command itself, after --")]
    DesktopEntry { id: String, searched: String },
    #[error("the desktop entry {} cannot be launched: {reason}", path.display())]
    BadDesktopEntry { path: PathBuf, reason: String },
    #[error(
        "no cgroup2 file system is mounted, and brisk needs one to keep an app's processes together: mount -t cgroup2 \
         none /sys/fs/cgroup/unified"
    )]
    NoCgroup2,
    #[error("cannot {action} the control group {}{}", path.display(), remedy(source))]
    Scope { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    #[error(transparent)]
    Screen(#[from] crate::screen::Error),
    #[error("{action} failed")]
    System { action: String, source: std::io::Error },
    #[error(transparent)]
    File(#[from] brisk_program::files::Error),
    #[error("{place}: {reason}")]
    Script { place: String, reason: String },
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

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A system call that failed with errno.
    pub(crate) fn system(action: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::System { action: action.into(), source: source.into() }
    }
}
