//! Tables of /proc that tell when they changed: poll(2) gives POLLPRI for /proc/self/mountinfo (proc_pid_mountinfo(5))
//! and /proc/swaps, once for each change, without the file having to be read.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

#[derive(Debug)]
pub struct TableWatch {
    file: File,
}

impl TableWatch {
    /// Tells when something was mounted or unmounted.
    ///
    /// # Errors
    /// When /proc is missing or not readable.
    pub fn mounts(sense: &Sense) -> Result<Self> {
        Self::open(sense, "/proc/self/mountinfo")
    }

    /// Tells when swap was switched on or off; `None` on kernels without swap.
    ///
    /// # Errors
    /// When the table is not readable.
    pub fn swaps(sense: &Sense) -> Result<Option<Self>> {
        Self::open(sense, "/proc/swaps").or_absent()
    }

    fn open(sense: &Sense, path: &str) -> Result<Self> {
        let path = sense.path(path);
        File::open(&path).map(|file| Self { file }).map_err(|source| Error::reading(path, source))
    }
}

impl AsFd for TableWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
