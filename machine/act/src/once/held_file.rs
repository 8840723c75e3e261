//! A file of an app, opened without a way for another to take its place.
//!
//! It is found by O_PATH without following a symbolic link, which opens no pipe and no device; the caller examines what
//! was found, and only then is it opened, by its descriptor.

use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// The root directory of an app.
pub(super) fn root(path: &Path) -> Option<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// The file at a path from the root directory of an app, to be examined.
///
/// # Errors
/// When there is none.
pub(super) fn find(root: &OwnedFd, path: &str) -> Result<File, Errno> {
    let path = path.strip_prefix('/').filter(|path| !path.is_empty()).ok_or(Errno::NOENT)?;
    openat(root, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).map(File::from)
}

/// The same file, to be read. Its time of access stays.
///
/// # Errors
/// When it may not be read.
pub(super) fn open(found: &File) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOATIME | OFlags::CLOEXEC;
    openat(CWD, format!("/proc/self/fd/{}", found.as_raw_fd()), flags, Mode::empty()).map(File::from)
}
