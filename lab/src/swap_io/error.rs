//! Why swapping cannot be recorded.

use std::path::PathBuf;

use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

/// Failure of a recording.
#[derive(Debug, Error)]
pub enum Error {
    #[error("{path} is not a swap area in use; there {in_use} (see swapon --show)")]
    NoArea { path: PathBuf, in_use: String },
    #[error("cannot examine the swap area {path}")]
    Area { path: PathBuf, source: std::io::Error },
    #[error(
        "the swap file {0} is on a file system without a block device of its own, so its events cannot be told from \
         others: use a swap file on ext4, xfs or f2fs, or a partition"
    )]
    NoDevice(PathBuf),
    #[error(
        "{path} and {other} are on one block device, so their events cannot be told apart: switch one off with swapoff"
    )]
    SharedDevice { path: PathBuf, other: PathBuf },
    #[error("the swap area {path} is too large: {slots} slots, and a trace has at most {most}")]
    TooLarge { path: PathBuf, slots: u64, most: u32 },
    #[error(transparent)]
    Probes(#[from] crate::probes::Error),
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    #[error("cannot start a thread for it")]
    Thread(#[source] std::io::Error),
    #[error("the thread that records has failed; its message is above")]
    Ended,
}
