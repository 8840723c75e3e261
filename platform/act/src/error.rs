//! Why a setting could not be changed or put back.

use std::io;
use std::path::PathBuf;

/// Failure of an action on the machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The knob could not be read.
    #[error("cannot read {path}")]
    Read {
        /// The file of the knob.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused the value.
    #[error("cannot write '{value}' to {path} ({hint})")]
    Write {
        /// The file of the knob.
        path: PathBuf,
        /// What was to be written.
        value: String,
        /// What would be accepted.
        hint: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel took the value and shows another one.
    #[error("wrote '{wanted}' to {path}, but it reads '{found}'")]
    NotTaken {
        /// The file of the knob.
        path: PathBuf,
        /// What was written.
        wanted: String,
        /// What stands there.
        found: String,
    },
    /// The journal could not be written, so nothing was changed.
    #[error("cannot write the journal {path}; without it nothing is changed (is the directory writable?)")]
    Journal {
        /// The journal's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A name of a device or an owner that is not a plain file name.
    #[error("'{0}' is not a name: letters, digits, '-', '_' and '.' only")]
    Name(String),
    /// A journal was asked for a process that does not run and left none.
    #[error("there is no process {pid}, and no journal of it")]
    NoProcess {
        /// Its number.
        pid: u32,
    },
    /// Some knobs could not be put back; the journal still has them.
    #[error("could not put back {}", .0.join("; "))]
    Restore(Vec<String>),
}
