//! Errors of lab devices, with remedies.

use std::io;
use std::path::PathBuf;

/// Failure of the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client failed.
    #[error(transparent)]
    Client(#[from] brisk_lab_client::Error),
    /// A right that the lab needs is missing.
    #[error(transparent)]
    Rights(#[from] brisk_sense::MissingRights),
    /// The kernel refuses a mount to a process that has the right to it.
    #[error(
        "cannot mount a file system on {}: seccomp or a security module refuses it, as in a container: allow mounts in the \
         container's profile, start it with --privileged, or run brisk on the machine itself", .path.display()
    )]
    MountRefused {
        /// The mount point.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Settings of block devices cannot be written.
    #[error(
        "{} is read-only, and the lab sets the queues of its devices there: start the container with --privileged, or as root: \
         mount -o remount,rw {}", .path.display(), .path.display()
    )]
    ReadOnly {
        /// Mount point of sysfs.
        path: PathBuf,
    },
    /// A device file that the lab is built on is missing.
    #[error("cannot open {path}: {}", device_remedy(.path, .source, .remedy))]
    NoDeviceFile {
        /// The file.
        path: PathBuf,
        /// The remedy where it does not exist.
        remedy: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// An invalid size.
    #[error("a lab device cannot have {size_bytes} bytes: {reason}")]
    Size {
        /// Requested size.
        size_bytes: u64,
        /// Valid sizes.
        reason: String,
    },
    /// The data does not fit into memory.
    #[error(
        "{} do not fit: the lab keeps its data in memory, and of the {} available it leaves {} to others; choose a smaller --size",
        brisk_core::units::format_bytes(*.size_bytes), brisk_core::units::format_bytes(*.available_bytes),
        brisk_core::units::format_bytes(*.reserve_bytes)
    )]
    Memory {
        /// Requested size.
        size_bytes: u64,
        /// MemAvailable.
        available_bytes: u64,
        /// Memory that stays free.
        reserve_bytes: u64,
    },
    /// The preset, or a change of it, is not one.
    #[error(transparent)]
    Preset(#[from] brisk_flash::PresetError),
    /// The file of a preset is not read.
    #[error(transparent)]
    File(#[from] brisk_files::Error),
    /// The file of a preset is not one.
    #[error("{path}: {error}")]
    PresetFile {
        /// The file.
        path: String,
        /// The mistake.
        error: brisk_flash::PresetError,
    },
    /// A parameter of the model was refused.
    #[error(transparent)]
    Parameter(#[from] brisk_flash::ParameterError),
    /// The model cannot be made or changed so.
    #[error(transparent)]
    Model(#[from] brisk_flash::DeviceError),
    /// The kernel has no such I/O scheduler.
    #[error("this kernel has no I/O scheduler '{name}'; it has {}", .has.join(", "))]
    NoScheduler {
        /// Requested name.
        name: String,
        /// Names that block devices of this machine offer.
        has: Vec<String>,
    },
    /// The backend is not available.
    #[error("{0}")]
    Backend(String),
    /// No such device of the lab.
    #[error("'{0}' is not a lab device; see: brisk lab list")]
    NoSuchDevice(String),
    /// The device is in use.
    #[error("{device} is in use{}: {remedy}", .by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default())]
    Busy {
        /// The block device.
        device: String,
        /// Its user, if known.
        by: Option<String>,
        /// The remedy.
        remedy: String,
    },
    /// The server failed.
    #[error("the lab server of device {id} failed: {reason}")]
    Server {
        /// Number of the lab device.
        id: u32,
        /// Its message, or the end of its log.
        reason: String,
    },
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// Operation and object.
        action: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A setting of the queue could not be changed or restored.
    #[error("cannot set up the queue of the device")]
    Act(#[from] brisk_act::Error),
    /// /proc or /sys could not be read.
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
}

/// The remedy of a device file that could not be opened: a container has neither the machine's files nor the right to open them.
fn device_remedy(path: &std::path::Path, error: &io::Error, where_missing: &str) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("this process may not use it; start the container with --device={path} or --privileged")
        }
        io::ErrorKind::NotFound => format!("{where_missing}; a container gets it with --device={path} or --privileged"),
        _ => where_missing.to_owned(),
    }
}

/// Result of the lab.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds the operation to an I/O error, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}

/// An order that is refused, with the reason.
pub(crate) fn refused(why: impl Into<String>) -> Error {
    brisk_lab_client::Error::Refused(why.into()).into()
}
