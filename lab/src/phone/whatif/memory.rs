//! Directories in memory.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use brisk_core::units::format_bytes;
use brisk_sense::Sense;
use rustix::mount::{MountFlags, mount};

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::variant::Variant;
use crate::phone::{mounts, tree};

/// Memory that stays free.
const RESERVE_BYTES: u64 = 512 << 20;

/// Mounts memory over a directory, with a copy of its content.
///
/// # Errors
/// When it cannot be mounted or copied.
pub(super) fn over(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(failed(format!("make {}", dir.display())))?;
    let about = fs::symlink_metadata(dir).map_err(failed(format!("examine {}", dir.display())))?;
    // The source is opened first, as the mount hides it.
    let under =
        rustix::fs::open(dir, rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC, rustix::fs::Mode::empty());
    let under = under.map_err(failed(format!("open {}", dir.display())))?;
    let options = format!("mode={:o},uid={},gid={}", about.mode() & 0o7777, about.uid(), about.gid());
    put(dir, options)?;
    let from = format!("/proc/self/fd/{}/.", std::os::fd::AsRawFd::as_raw_fd(&under));
    // cp inherits the file descriptor.
    rustix::io::fcntl_setfd(&under, rustix::io::FdFlags::empty()).map_err(failed("pass on a directory"))?;
    copy(Path::new(&from), dir)
}

/// Mounts memory at `to` and copies all files of the file system at `from` into it.
///
/// # Errors
/// When they do not fit, or cannot be copied.
pub(super) fn copy_all(from: &Path, to: &Path) -> Result<()> {
    let needed_bytes = tree::size_bytes(from).map_err(failed(format!("measure {}", from.display())))?;
    let memory = Sense::default().mem_info()?;
    let available_bytes = memory.available_bytes.unwrap_or(memory.free_bytes);
    if needed_bytes + RESERVE_BYTES > available_bytes {
        let (needed, available) = (format_bytes(needed_bytes), format_bytes(available_bytes));
        let reason = format!("its files need {needed}, and {available} of memory are available");
        return Err(Error::Variant { variant: Variant::AllInRam.name(), reason });
    }
    put(to, format!("mode=755,size={}", needed_bytes + RESERVE_BYTES))?;
    copy(&from.join("."), to)
}

fn put(dir: &Path, options: String) -> Result<()> {
    let options: CString = mounts::c_text(options)?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    mount("tmpfs", dir, "tmpfs", flags, options.as_c_str())
        .map_err(failed(format!("mount memory on {}", dir.display())))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut command = Command::new("cp");
    command.args(["--archive", "--one-file-system"]).arg(from).arg(to);
    let output = command.output().map_err(failed("run cp"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).lines().take(2).collect::<Vec<_>>().join("; ");
    Err(Error::Io { action: format!("copy {} into memory", from.display()), source: std::io::Error::other(said) })
}
