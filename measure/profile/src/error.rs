//! Errors of profiling.

use std::path::PathBuf;

use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a device cannot be profiled, and the remedy.
#[derive(Debug, Error)]
pub enum Error {
    /// The place cannot be measured, or a request failed.
    #[error(transparent)]
    Bench(#[from] brisk_bench::Error),
    /// The machine cannot be read.
    #[error(transparent)]
    Sense(#[from] brisk_sense::Error),
    /// A setting could not be changed or restored.
    #[error("cannot {doing} (only root can)")]
    Act {
        /// What was tried.
        doing: String,
        /// Why.
        source: brisk_act::Error,
    },
    /// The lab device does not answer.
    #[error(transparent)]
    Lab(#[from] brisk_lab_client::Error),
    /// There is no single device whose queue could be set.
    #[error(
        "there is no single block device under {path}{}: name a directory on one, or a device with --device",
        brisk_bench::several(disks)
    )]
    NoDevice {
        /// The path.
        path: PathBuf,
        /// The disks below it, if there are several.
        disks: Vec<String>,
    },
    /// The device has no scheduler to choose.
    #[error("{device} has nothing to choose: the kernel offers no I/O scheduler for it")]
    NoChoice {
        /// Kernel name.
        device: String,
    },
    /// io_uring is needed to let requests arrive while others wait.
    #[error("io_uring does not work here ({0}): workloads with a rate need it; use a job file without rate_iops")]
    NoUring(std::io::Error),
    /// An invalid job file.
    #[error("{path}, line {line}: {why}")]
    Job {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// An invalid recording.
    #[error("{path}: {why}")]
    Table {
        /// The file.
        path: PathBuf,
        /// Line, column, and what is wrong.
        why: brisk_files::table::TableError,
    },
    /// A workload that cannot run.
    #[error("the workload '{name}' cannot be run: {why}")]
    Workload {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// The requested meter does not work here.
    #[error("the meter '{meter}' does not work here: {why}")]
    Meter {
        /// Its name.
        meter: &'static str,
        /// Why, and what to use instead.
        why: String,
    },
    /// A profile's file could not be read or written.
    #[error("cannot {doing} {path}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not read.
    #[error(transparent)]
    Read(#[from] brisk_files::Error),
    /// A profile's file is damaged.
    #[error("{path} is no profile of this version ({why}): remove it and measure again with `brisk profile`")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A setting could not be restored.
    #[error("settings of {device} were not restored ({left}): check /sys/block/{device}/queue and set them by hand")]
    LeftBehind {
        /// Kernel name.
        device: String,
        /// Which settings, and why.
        left: String,
    },
    /// Cancelled by the user; completed measurements are kept.
    #[error("stopped")]
    Stopped,
}
