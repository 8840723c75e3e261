//! Why something about the machine could not be read.

use std::io;
use std::path::{Path, PathBuf};

use brisk_formats::ParseError;
use thiserror::Error;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a source of the kernel could not be read.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no such file: no /proc or /sys here, a kernel without the feature, or no such device.
    #[error("{} does not exist: {}", .path.display(), missing_remedy(.path))]
    Missing { path: PathBuf },
    #[error(
        "no permission to read {}: run brisk as root, in a container with more rights (--privileged)",
        .path.display()
    )]
    Denied { path: PathBuf },
    #[error("cannot read {}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{call} is not permitted: run brisk as root; a service has to allow it too (SystemCallFilter=, \
         CapabilityBoundingSet=)"
    )]
    NotPermitted { call: &'static str },
    #[error("cannot understand {}: please report it with the text of that file", .path.display())]
    Parse { path: PathBuf, source: ParseError },
    /// A program made more of it than brisk reads: any user can.
    #[error("{what} are more than brisk reads ({limit}): that app is left out")]
    TooMuch { what: &'static str, limit: &'static str },
    /// Files that were opened before are closed more slowly than they come: see `closing`.
    #[error("the files of launches before still wait to be closed: their device is busy")]
    StillClosing,
    #[error("'{name}' is not the name of a block device: give the name as in /sys/block, such as mmcblk0")]
    Name { name: String },
}

impl Error {
    /// Sorts what the system said about `path`.
    pub(crate) fn reading(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            _ => Self::Read { path, source },
        }
    }

    /// Sorts what the system said of a call.
    pub(crate) fn calling(call: &'static str, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NotPermitted { call },
            _ => Self::Read { path: call.into(), source },
        }
    }

    /// Whether the kernel says that the machine has no such thing: the file is missing, its process has ended (ESRCH),
    /// or its driver answers that this device has no such value (ENODEV, ENODATA, EOPNOTSUPP, and EINVAL, which
    /// wbt_lat_usec gives).
    #[must_use]
    pub fn is_absent(&self) -> bool {
        match self {
            Self::Missing { .. } => true,
            Self::Read { source, .. } => {
                use rustix::io::Errno;
                [Errno::NODEV, Errno::NODATA, Errno::OPNOTSUPP, Errno::INVAL, Errno::NXIO, Errno::SRCH]
                    .iter()
                    .any(|errno| source.raw_os_error() == Some(errno.raw_os_error()))
            }
            _ => false,
        }
    }
}

/// Outcomes of which a part means that the machine has no such thing.
pub(crate) trait Absent<T> {
    /// What this kernel or device lacks is `None`.
    fn or_absent(self) -> Result<Option<T>>;

    /// What this kernel or device lacks, or shows to root alone, is `None`.
    fn or_hidden(self) -> Result<Option<T>>;
}

impl<T> Absent<T> for Result<T> {
    fn or_absent(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn or_hidden(self) -> Result<Option<T>> {
        match self {
            Err(Error::Denied { .. }) => Ok(None),
            outcome => outcome.or_absent(),
        }
    }
}

fn missing_remedy(path: &Path) -> &'static str {
    let holds = |dir: &str| path.components().any(|part| part.as_os_str() == dir);
    let is_of_controller = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"memory."));
    if is_of_controller {
        "this control group does not exist, or has no memory controller: see cgroup.subtree_control of the one above"
    } else if holds("block") && !path.ends_with("block") {
        "see /sys/block for the devices of this machine"
    } else if holds("pressure") {
        "the kernel needs CONFIG_PSI=y, and psi=1 on its command line where it is off by default"
    } else if holds("proc") {
        "mount it with 'mount -t proc proc /proc', or use a kernel that has it"
    } else if holds("sys") {
        "mount it with 'mount -t sysfs sysfs /sys', or use a kernel that has it"
    } else {
        "check the root directory given"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_names_the_path_and_a_way_out() {
        let missing = Error::reading("/proc/pressure/io".into(), io::ErrorKind::NotFound.into());
        assert!(missing.is_absent());
        assert_eq!(
            missing.to_string(),
            "/proc/pressure/io does not exist: the kernel needs CONFIG_PSI=y, and psi=1 on its command line where it \
             is off by default"
        );
        let no_sys = Error::reading("/sys/block".into(), io::ErrorKind::NotFound.into());
        assert!(no_sys.to_string().contains("mount -t sysfs"), "{no_sys}");
        let no_group = Error::reading("/sys/fs/cgroup/user.slice/memory.max".into(), io::ErrorKind::NotFound.into());
        assert!(no_group.to_string().contains("no memory controller"), "{no_group}");
        let denied = Error::reading("/sys/x/energy_uj".into(), io::ErrorKind::PermissionDenied.into());
        assert!(!denied.is_absent());
        assert_eq!(
            denied.to_string(),
            "no permission to read /sys/x/energy_uj: run brisk as root, in a container with more rights (--privileged)"
        );
    }

    #[test]
    fn a_driver_that_has_no_value_counts_as_absent() {
        let einval = io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error());
        assert!(Error::reading("/sys/block/loop0/queue/wbt_lat_usec".into(), einval).is_absent());
        let eio = io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error());
        assert!(!Error::reading("/sys/block/loop0/queue/wbt_lat_usec".into(), eio).is_absent());
    }
}
