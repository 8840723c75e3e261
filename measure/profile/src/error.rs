//! Errors of profiling.

use std::path::PathBuf;

use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a device cannot be profiled, and the remedy.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Bench(#[from] brisk_bench::Error),
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    #[error("cannot {doing} (only root can)")]
    Act { doing: String, source: brisk_act::Error },
    /// There is no single device whose queue could be set.
    #[error(
        "there is no single block device under {path}{}: name a directory on one, or a device with --device",
        brisk_bench::several(disks)
    )]
    NoDevice {
        path: PathBuf,
        /// The disks below it, if there are several.
        disks: Vec<String>,
    },
    #[error("{device} has nothing to choose: the kernel offers no I/O scheduler for it")]
    NoChoice { device: String },
    #[error("io_uring does not work here ({0}): workloads with a rate need it; use a job file without rate_iops")]
    NoUring(std::io::Error),
    #[error("{path}, line {line}: {why}")]
    Job { path: PathBuf, line: usize, why: String },
    #[error("{path}: {why}")]
    Table { path: PathBuf, why: brisk_program::files::table::TableError },
    #[error("the workload '{name}' cannot be run: {why}")]
    Workload { name: String, why: String },
    #[error("the meter '{meter}' does not work here: {why}")]
    Meter { meter: &'static str, why: String },
    #[error("cannot {doing} {path}")]
    File { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Read(#[from] brisk_program::files::Error),
    #[error("{path} is no profile of this version ({why}): remove it and measure again with `brisk profile`")]
    Damaged { path: PathBuf, why: String },
    #[error("settings of {device} were not restored ({left}): check /sys/block/{device}/queue and set them by hand")]
    LeftBehind { device: String, left: String },
    /// Cancelled by the user; completed measurements are kept.
    #[error("stopped")]
    Stopped,
}
