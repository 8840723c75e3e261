//! Why a swap area could not be made or removed.

use std::io;
use std::path::PathBuf;

use brisk_core::units::format_bytes;

/// Failure of a set-up or an undo.
#[derive(Debug, thiserror::Error)]
pub enum SwapAreaError {
    /// There is a set-up.
    #[error("swap is set up already ({}): 'brisk swap undo' removes that first", .record.display())]
    AlreadySetUp {
        /// Its record.
        record: PathBuf,
    },
    /// There is none.
    #[error("'brisk swap setup' has set nothing up here (there is no {})", .record.display())]
    NothingSetUp {
        /// Where its record would be.
        record: PathBuf,
    },
    /// The file is there already.
    #[error("{} exists already and is left as it is: name another file, or remove it", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file system is full.
    #[error("the file system of {} has no room for {}: free space, or choose a smaller --size", .path.display(), format_bytes(*.size_bytes))]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
    },
    /// A program is missing.
    #[error("cannot run {name}: install util-linux")]
    NoProgram {
        /// Its name.
        name: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The area was not formatted.
    #[error("cannot format {}: {why}", .path.display())]
    NotFormatted {
        /// The file or device.
        path: PathBuf,
        /// What mkswap said.
        why: String,
    },
    /// The kernel did not take the area.
    #[error("the kernel does not switch {} on (is its file system one that can hold swap?)", .path.display())]
    NotOn {
        /// The file or device.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The kernel keeps the area.
    #[error("the kernel keeps {} on (what is in it has to fit into memory: end some programs); nothing was removed", .path.display())]
    NotOff {
        /// The file or device.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}", .path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The record is not understood.
    #[error("{} is damaged: switch the areas off (swapoff), remove their files, and remove it", .path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// Where.
        source: serde_json::Error,
    },
}
