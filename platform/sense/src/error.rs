//! Why something about the machine is not known.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Result of a reader.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a source of the kernel could not be read.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no such file: no /proc or /sys here, a kernel without the feature, or no such device.
    #[error("{} does not exist: {}", .path.display(), missing_remedy(.path))]
    Missing {
        /// What was looked for.
        path: PathBuf,
    },
    /// The file is there, and the kernel refuses to show it.
    #[error("no permission to read {}: run brisk as root", .path.display())]
    Denied {
        /// What was looked for.
        path: PathBuf,
    },
    /// Any other failure of reading.
    #[error("cannot read {}", .path.display())]
    Read {
        /// What was looked for.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The text is not what kernels up to 6.18 write there.
    #[error("cannot understand {}: please report it with the text of that file", .path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        source: ParseError,
    },
    /// A device name that cannot be one.
    #[error("'{name}' is not the name of a block device: give the name as in /sys/block, such as mmcblk0")]
    Name {
        /// What was given.
        name: String,
    },
}

/// Where a text of the kernel is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// A line ends before a field that every kernel writes.
    #[error("line {line} has no field '{field}'")]
    MissingField {
        /// Line, the first is 1.
        line: usize,
        /// Name of the field.
        field: &'static str,
    },
    /// A field is not of its type, or beyond its range.
    #[error("line {line}: '{text}' is not a value of the field '{field}'")]
    BadField {
        /// Line, the first is 1.
        line: usize,
        /// Name of the field.
        field: &'static str,
        /// What stands there, odd bytes replaced.
        text: String,
    },
    /// A line that every kernel writes is not there.
    #[error("there is no line '{0}'")]
    MissingLine(&'static str),
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

fn missing_remedy(path: &Path) -> &'static str {
    let holds = |dir: &str| path.components().any(|part| part.as_os_str() == dir);
    if holds("block") && !path.ends_with("block") {
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
        let denied = Error::reading("/sys/x/energy_uj".into(), io::ErrorKind::PermissionDenied.into());
        assert!(!denied.is_absent());
        assert_eq!(denied.to_string(), "no permission to read /sys/x/energy_uj: run brisk as root");
    }

    #[test]
    fn a_driver_that_has_no_value_counts_as_absent() {
        let einval = io::Error::from_raw_os_error(rustix::io::Errno::INVAL.raw_os_error());
        assert!(Error::reading("/sys/block/loop0/queue/wbt_lat_usec".into(), einval).is_absent());
        let eio = io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error());
        assert!(!Error::reading("/sys/block/loop0/queue/wbt_lat_usec".into(), eio).is_absent());
    }
}
