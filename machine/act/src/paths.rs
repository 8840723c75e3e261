//! Where the machine's files are; a test points them elsewhere.

use std::path::PathBuf;

/// Roots of the kernel's trees and the directory of the journals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// sysfs, normally `/sys`.
    pub sysfs: PathBuf,
    /// procfs, normally `/proc`.
    pub proc: PathBuf,
    /// One JSON file per owner; on a file system that a reboot empties, normally `/run/brisk/journal`.
    pub journal: PathBuf,
}

impl Paths {
    /// This machine, with the journals in `run_dir/journal`.
    #[must_use]
    pub fn with_run_dir(run_dir: impl Into<PathBuf>) -> Self {
        Self { sysfs: "/sys".into(), proc: "/proc".into(), journal: run_dir.into().join("journal") }
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self::with_run_dir("/run/brisk")
    }
}
