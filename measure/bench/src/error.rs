//! Errors of measurements.

use std::path::PathBuf;

use brisk_core::units::format_bytes;
use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a measurement cannot be made, and the remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// The path does not exist.
    #[error("{0} does not exist: give a directory on the storage to measure")]
    Missing(PathBuf),
    /// The path is neither a directory nor a block device.
    #[error("{0} is not a directory: give the directory that holds it, or a block device with --destroy-data")]
    NotADirectory(PathBuf),
    /// A file system of the kernel's own, which keeps no files of users.
    #[error(
        "{path} is on {file_system}, which shows the kernel's state and is no storage: give a directory on the storage to measure"
    )]
    NoStorage {
        /// The directory.
        path: PathBuf,
        /// Its type, such as `proc`.
        file_system: String,
    },
    /// A block device without a size: a drive without medium, or a loop device without file.
    #[error("{0} is empty: the drive has no medium, or the loop device no file")]
    NoMedium(PathBuf),
    /// A block device without `--destroy-data`.
    #[error("{0} is a block device: measuring it destroys all data on it; use --destroy-data to confirm")]
    NeedsDestroy(PathBuf),
    /// `--destroy-data` with a directory.
    #[error("{0} is a directory: --destroy-data is for block devices only")]
    DestroyOfDirectory(PathBuf),
    /// A block device in use.
    #[error("{path} is in use ({by}): its data is not destroyed; measure a directory of a file system on it")]
    InUse {
        /// The device.
        path: PathBuf,
        /// Its user.
        by: String,
    },
    /// The file system or device is read-only.
    #[error("{0} is read-only: give a path that can be written")]
    ReadOnly(PathBuf),
    /// No permission.
    #[error("no permission to write to {0}: run as its owner or as root")]
    Permission(PathBuf),
    /// Not enough free space.
    #[error("not enough space on {path}: {needed} needed with a reserve of {reserve}, {free} free; use a smaller --size",
        needed = format_bytes(*needed_bytes), reserve = format_bytes(*reserve_bytes), free = format_bytes(*free_bytes))]
    NoSpace {
        /// Directory or device.
        path: PathBuf,
        /// Size of the work file.
        needed_bytes: u64,
        /// Space that stays free.
        reserve_bytes: u64,
        /// Free space.
        free_bytes: u64,
    },
    /// The quota or the file system filled up while the work file was written.
    #[error("the file system under {path} ran full or over quota while preparing {size}: use a smaller --size",
        size = format_bytes(*size_bytes))]
    RanFull {
        /// Where.
        path: PathBuf,
        /// Size of the work file.
        size_bytes: u64,
    },
    /// An invalid size, depth or count.
    #[error("{0}")]
    BadLoad(String),
    /// The requested I/O engine does not work here.
    #[error("io_uring does not work here ({0}): use --engine calls")]
    NoUring(String),
    /// A request failed.
    #[error("{operation} of {len_bytes} bytes at {offset_bytes} failed")]
    Request {
        /// `read` or `write`.
        operation: &'static str,
        /// Address.
        offset_bytes: u64,
        /// Length.
        len_bytes: u64,
        /// Cause.
        source: std::io::Error,
    },
    /// A request moved fewer bytes than requested.
    #[error("{operation} at {offset_bytes} moved {moved_bytes} of {len_bytes} bytes")]
    Short {
        /// `read` or `write`.
        operation: &'static str,
        /// Address.
        offset_bytes: u64,
        /// Bytes requested.
        len_bytes: u64,
        /// Bytes moved.
        moved_bytes: u64,
    },
    /// A system call around the measurement failed.
    #[error("cannot {doing} {path}")]
    System {
        /// Attempted operation.
        doing: &'static str,
        /// Its file or device.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A thread or ring could not be created.
    #[error("cannot {0}")]
    Resource(&'static str, #[source] std::io::Error),
    /// /proc or /sys could not be read.
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    /// A setting could not be changed or restored.
    #[error("cannot {doing}")]
    Act {
        /// Attempted operation.
        doing: String,
        /// Cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The measurement ended early, and a setting that it had changed could not be restored.
    #[error("settings of {disk} were not restored ({left}): check /sys/block/{disk}/queue and set them by hand")]
    LeftBehind {
        /// The disk.
        disk: String,
        /// The settings, and why they could not be restored.
        left: String,
        /// The error that ended the measurement.
        #[source]
        ended_by: Box<Error>,
    },
    /// No single block device below the path, which a study needs.
    #[error("there is no single block device under {path}{}: schedulers can be compared only on one", several(disks))]
    NoDevice {
        /// The path.
        path: PathBuf,
        /// The disks below it, if there are several.
        disks: Vec<String>,
    },
    /// The process that runs streams failed.
    #[error("the process that runs streams failed: {0}")]
    StreamProcess(String),
    /// The compared conditions could not be set up.
    #[error("cannot set up the compared conditions")]
    Surroundings(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Cancelled by the user.
    #[error("stopped")]
    Stopped,
}

/// The disks, in brackets.
#[must_use]
pub fn several(disks: &[String]) -> String {
    if disks.is_empty() { String::new() } else { format!(" (it is on {})", disks.join(" and ")) }
}

impl Error {
    /// A failed system call on `path`.
    pub(crate) fn system(doing: &'static str, path: impl Into<PathBuf>, source: impl Into<std::io::Error>) -> Self {
        Self::System { doing, path: path.into(), source: source.into() }
    }
}
