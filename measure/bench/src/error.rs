//! Why a measurement cannot be made.

use std::path::PathBuf;

use brisk_core::units::format_bytes;
use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a measurement cannot be made, and what the person can do about it.
#[derive(Debug, Error)]
pub enum Error {
    /// Nothing is at the path.
    #[error("{0} does not exist: give a directory on the storage to measure")]
    Missing(PathBuf),
    /// The path is neither a directory nor a block device.
    #[error("{0} is not a directory: give the directory that holds it, or a block device with --destroy-data")]
    NotADirectory(PathBuf),
    /// A block device without a size: a drive without medium, or a loop device without file.
    #[error("{0} is empty: there is no medium in it, or no file behind it")]
    NoMedium(PathBuf),
    /// A block device, without the word that its content may go.
    #[error("{0} is a block device: measuring it destroys all data on it; say --destroy-data if that is meant")]
    NeedsDestroy(PathBuf),
    /// `--destroy-data` with a directory.
    #[error("{0} is a directory: --destroy-data is for block devices only")]
    DestroyOfDirectory(PathBuf),
    /// A block device that something uses.
    #[error("{path} is in use ({by}): its data will not be destroyed")]
    InUse {
        /// The device.
        path: PathBuf,
        /// By what.
        by: String,
    },
    /// The file system or device takes no writes.
    #[error("{0} is read-only: give a path that can be written")]
    ReadOnly(PathBuf),
    /// No permission.
    #[error("no permission to write to {0}: run as its owner or as root")]
    Permission(PathBuf),
    /// Not enough room.
    #[error("not enough space on {path}: {needed} needed with a reserve of {reserve}, {free} free; use a smaller --size",
        needed = format_bytes(*needed_bytes), reserve = format_bytes(*reserve_bytes), free = format_bytes(*free_bytes))]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// What the work file takes.
        needed_bytes: u64,
        /// What stays free for others.
        reserve_bytes: u64,
        /// What there is.
        free_bytes: u64,
    },
    /// The quota is used up, or the file system filled up while the work file was written.
    #[error("the file system under {path} ran full or over quota while preparing {size}: use a smaller --size",
        size = format_bytes(*size_bytes))]
    RanFull {
        /// Where.
        path: PathBuf,
        /// Size of the work file.
        size_bytes: u64,
    },
    /// A size, depth or count that cannot be.
    #[error("{0}")]
    BadLoad(String),
    /// The wanted I/O engine does not work here.
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
        /// Why.
        source: std::io::Error,
    },
    /// A request moved fewer bytes than asked.
    #[error("{operation} at {offset_bytes} moved {moved_bytes} of {len_bytes} bytes")]
    Short {
        /// `read` or `write`.
        operation: &'static str,
        /// Address.
        offset_bytes: u64,
        /// Asked.
        len_bytes: u64,
        /// Moved.
        moved_bytes: u64,
    },
    /// A system call around the measurement failed.
    #[error("cannot {doing} {path}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A thread or ring could not be made.
    #[error("cannot {0}")]
    Resource(&'static str, #[source] std::io::Error),
    /// The machine could not be read.
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    /// A setting could not be changed or restored.
    #[error("cannot {doing}")]
    Act {
        /// What was tried.
        doing: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The measurement ended early, and a setting that it had changed does not stand as before.
    #[error("settings of {disk} were not put back ({left}): look at /sys/block/{disk}/queue and set them by hand")]
    LeftBehind {
        /// The disk.
        disk: String,
        /// Which settings, and why.
        left: String,
        /// What ended it.
        #[source]
        ended_by: Box<Error>,
    },
    /// A study that needs a block device has none under the path.
    #[error("there is no single block device under {0}: schedulers can be compared only on one")]
    NoDevice(PathBuf),
    /// A process that runs streams does not do so.
    #[error("the process that runs streams failed: {0}")]
    Crew(String),
    /// What is compared cannot be brought about.
    #[error("what is compared cannot be brought about")]
    Surroundings(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The person stopped it.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// A failed system call on `path`.
    pub(crate) fn system(doing: &'static str, path: impl Into<PathBuf>, source: impl Into<std::io::Error>) -> Self {
        Self::System { doing, path: path.into(), source: source.into() }
    }
}
