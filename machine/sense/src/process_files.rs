//! Devices of the files that a process has open: its program and its descriptors, from /proc/PID/exe and /proc/PID/fd
//! (proc_pid_fd(5)). No file system is asked to look anything up, so a server that does not answer causes no delay.

use std::collections::BTreeSet;
use std::path::Path;

use brisk_formats::DeviceNumber;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

/// Descriptors of one process that are read at most.
const FILES_MAX: usize = 256;

impl Sense {
    /// Devices of the program and of the open files and directories of process `pid`, and block devices that it has
    /// open themselves; `None` when there is no such process. What is mapped only, and files that are closed again, are
    /// not among them.
    ///
    /// # Errors
    /// When the kernel does not show them to this process.
    pub fn file_devices(&self, pid: u32) -> Result<Option<BTreeSet<DeviceNumber>>> {
        let dir = self.path(format!("/proc/{pid}"));
        let Some(program) = device_of(&dir.join("exe")).or_absent()? else { return Ok(None) };
        let mut devices: BTreeSet<DeviceNumber> = program.into_iter().collect();
        let path = dir.join("fd");
        let entries = match std::fs::read_dir(&path).map_err(|source| Error::reading(path, source)).or_absent()? {
            Some(entries) => entries,
            None => return Ok(None),
        };
        for entry in entries.flatten().take(FILES_MAX) {
            // A descriptor may be closed meanwhile.
            devices.extend(device_of(&entry.path()).or_absent()?.flatten());
        }
        Ok(Some(devices))
    }

    /// The device that requests for the file or block device at `path` go to; `None` when it is gone, or neither.
    ///
    /// # Errors
    /// When the kernel does not show it to this process.
    pub fn file_device(&self, path: &Path) -> Result<Option<DeviceNumber>> {
        Ok(device_of(&self.path(path)).or_absent()?.flatten())
    }
}

/// The device that requests for this file go to; `None` for what is neither a file, a directory nor a block device.
fn device_of(path: &Path) -> Result<Option<DeviceNumber>> {
    let asked = StatxFlags::TYPE | StatxFlags::MODE;
    let stat = statx(CWD, path, AtFlags::STATX_DONT_SYNC, asked)
        .map_err(|errno| Error::reading(path.to_owned(), errno.into()))?;
    Ok(match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::RegularFile | FileType::Directory => {
            Some(DeviceNumber { major: stat.stx_dev_major, minor: stat.stx_dev_minor })
        }
        FileType::BlockDevice => Some(DeviceNumber { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn the_devices_of_program_and_open_files_are_found() {
        let sense = Sense::default();
        let of = |path: &Path| DeviceNumber::from_dev(std::fs::metadata(path).expect("there").dev());
        let program = of(&std::env::current_exe().expect("a path"));
        let cpu = std::fs::File::open("/proc/stat").expect("Linux");
        let found = sense.file_devices(std::process::id()).expect("own").expect("runs");
        assert!(found.contains(&program) && found.contains(&of(Path::new("/proc/stat"))), "{found:?}");
        assert_eq!(sense.file_device(Path::new("/proc/stat")).expect("readable"), Some(of(Path::new("/proc/stat"))));
        assert_eq!(sense.file_device(Path::new("/gone")).expect("no error"), None);
        drop(cpu);
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        child.wait().expect("ends");
        assert_eq!(sense.file_devices(child.id()).expect("no error"), None);
    }
}
