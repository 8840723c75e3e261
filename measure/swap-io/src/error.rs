//! Why swapping cannot be recorded or replayed.

use std::path::PathBuf;

use brisk_core::units::format_bytes;
use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Failure of a recording or a replay.
#[derive(Debug, Error)]
pub enum Error {
    /// No such swap area is in use.
    #[error("{path} is not a swap area in use; there {in_use} (see swapon --show)")]
    NoArea {
        /// What was asked for.
        path: PathBuf,
        /// The areas in use, as a part of the sentence.
        in_use: String,
    },
    /// The area cannot be examined.
    #[error("cannot examine the swap area {path}")]
    Area {
        /// Its device or file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// A file on a file system without a block device of its own (btrfs, overlay, network).
    #[error(
        "the swap file {0} is on a file system without a block device of its own, so its events cannot be told from others: \
         use a swap file on ext4, xfs or f2fs, or a partition"
    )]
    NoDevice(PathBuf),
    /// Two areas on one device.
    #[error(
        "{path} and {other} are on one block device, so their events cannot be told apart: switch one off with swapoff"
    )]
    SharedDevice {
        /// The area.
        path: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// The area is larger than a trace can number.
    #[error("the swap area {path} is too large: {slots} slots, and a trace has at most {most}")]
    TooLarge {
        /// Its device or file.
        path: PathBuf,
        /// Its slots.
        slots: u64,
        /// The most.
        most: u32,
    },
    /// The device of a replay cannot be used.
    #[error("cannot use {path} for a replay: it must be a block device that is not in use")]
    Device {
        /// The device.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The swap area does not fit on the device of a replay.
    #[error(
        "the swap area of the trace needs {} and {path} has {}: use a larger device",
        format_bytes(*area_bytes),
        format_bytes(*size_bytes)
    )]
    TooSmall {
        /// The device.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
        /// Size of the area, in whole extents.
        area_bytes: u64,
    },
    /// A request of a replay failed.
    #[error("the device {path} failed to {what} at byte {offset_bytes}")]
    Request {
        /// The device.
        path: PathBuf,
        /// Operation.
        what: &'static str,
        /// Where.
        offset_bytes: u64,
        /// The reason.
        source: std::io::Error,
    },
    /// The probes do not run.
    #[error(transparent)]
    Probes(#[from] brisk_probes::Error),
    /// The machine cannot be read.
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    /// A thread could not be started.
    #[error("cannot start a thread for it")]
    Thread(#[source] std::io::Error),
    /// The thread that records ended in a panic.
    #[error("the thread that records has failed; its message is above")]
    Ended,
}
