//! Errors of measurements.

use std::path::PathBuf;

use brisk_core::units::format_bytes;
use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a measurement cannot be made, and the remedy.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{0} does not exist: give a directory on the storage to measure")]
    Missing(PathBuf),
    #[error("{0} is not a directory: give the directory that holds it, or a block device with --destroy-data")]
    NotADirectory(PathBuf),
    #[error(
        "{path} is on {file_system}, which shows the kernel's state and is no storage: give a directory on the storage \
         to measure"
    )]
    NoStorage { path: PathBuf, file_system: String },
    /// A block device without a size: a drive without medium, or a loop device without file.
    #[error("{0} is empty: the drive has no medium, or the loop device no file")]
    NoMedium(PathBuf),
    #[error("{0} is a block device: measuring it destroys all data on it; use --destroy-data to confirm")]
    NeedsDestroy(PathBuf),
    #[error("{0} is a directory: --destroy-data is for block devices only")]
    DestroyOfDirectory(PathBuf),
    #[error("{path} is in use ({by}): its data is not destroyed; measure a directory of a file system on it")]
    InUse { path: PathBuf, by: String },
    #[error("{0} is read-only: give a path that can be written")]
    ReadOnly(PathBuf),
    #[error("no permission to write to {0}: run as its owner or as root")]
    Permission(PathBuf),
    #[error("not enough space on {path}: {needed} needed with a reserve of {reserve}, {free} free; use a smaller \
             --size",
        needed = format_bytes(*needed_bytes), reserve = format_bytes(*reserve_bytes), free = format_bytes(*free_bytes))]
    NoSpace { path: PathBuf, needed_bytes: u64, reserve_bytes: u64, free_bytes: u64 },
    #[error("the file system under {path} ran full or over quota while preparing {size}: use a smaller --size",
        size = format_bytes(*size_bytes))]
    RanFull { path: PathBuf, size_bytes: u64 },
    #[error("{0}")]
    BadLoad(String),
    #[error("io_uring does not work here ({0}): use --engine calls")]
    NoUring(String),
    #[error("{operation} of {len_bytes} bytes at {offset_bytes} failed")]
    Request { operation: &'static str, offset_bytes: u64, len_bytes: u64, source: std::io::Error },
    #[error("{operation} at {offset_bytes} moved {moved_bytes} of {len_bytes} bytes")]
    Short { operation: &'static str, offset_bytes: u64, len_bytes: u64, moved_bytes: u64 },
    #[error("cannot {doing} {path}")]
    System { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("cannot {0}")]
    Resource(&'static str, #[source] std::io::Error),
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    #[error("cannot {doing}")]
    Act { doing: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("settings of {disk} were not restored ({left}): check /sys/block/{disk}/queue and set them by hand")]
    LeftBehind {
        disk: String,
        left: String,
        #[source]
        ended_by: Box<Error>,
    },
    #[error("there is no single block device under {path}{}: schedulers can be compared only on one", several(disks))]
    NoDevice {
        path: PathBuf,
        /// The disks below it, if there are several.
        disks: Vec<String>,
    },
    #[error("stopped")]
    Stopped,
}

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
