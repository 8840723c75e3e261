//! Errors of lab devices, with remedies.

use std::io;
use std::path::PathBuf;

/// Failure of the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Client(#[from] brisk_profile::lab_client::Error),
    #[error(transparent)]
    Rights(#[from] brisk_sense::MissingRights),
    #[error(
        "cannot mount a file system on {}: seccomp or a security module refuses it, as in a container: allow mounts in \
         the container's profile, start it with --privileged, or run brisk on the machine itself", .path.display()
    )]
    MountRefused { path: PathBuf, source: io::Error },
    #[error(
        "{} is read-only, and the lab sets the queues of its devices there: start the container with --privileged, or \
         as root: mount -o remount,rw {}", .path.display(), .path.display()
    )]
    ReadOnly { path: PathBuf },
    #[error("cannot open {path}: {}", device_remedy(.path, .source, .remedy))]
    NoDeviceFile { path: PathBuf, remedy: &'static str, source: io::Error },
    #[error("a lab device cannot have {size_bytes} bytes: {reason}")]
    Size { size_bytes: u64, reason: String },
    #[error(
        "{} do not fit: the lab keeps its data in memory, and of the {} available it leaves {} to others; choose a \
         smaller --size",
        brisk_core::units::format_bytes(*.size_bytes), brisk_core::units::format_bytes(*.available_bytes),
        brisk_core::units::format_bytes(*.reserve_bytes)
    )]
    Memory { size_bytes: u64, available_bytes: u64, reserve_bytes: u64 },
    #[error(transparent)]
    Preset(#[from] crate::flash::PresetError),
    #[error(transparent)]
    File(#[from] brisk_program::files::Error),
    #[error("{path}: {error}")]
    PresetFile { path: String, error: crate::flash::PresetError },
    #[error(transparent)]
    Parameter(#[from] crate::flash::ParameterError),
    #[error(transparent)]
    Model(#[from] crate::flash::DeviceError),
    #[error("this kernel has no I/O scheduler '{name}'; it has {}", .has.join(", "))]
    NoScheduler { name: String, has: Vec<String> },
    #[error("{0}")]
    Backend(String),
    #[error("'{0}' is not a lab device; see: brisk lab list")]
    NoSuchDevice(String),
    #[error("{device} is in use{}: {remedy}", .by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default())]
    Busy {
        device: String,
        /// Its user, if known.
        by: Option<String>,
        remedy: String,
    },
    #[error("the lab server of device {id} failed: {reason}")]
    Server { id: u32, reason: String },
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
    #[error("cannot set up the queue of the device")]
    Act(#[from] brisk_act::Error),
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
}

/// The remedy of a device file that could not be opened: a container has neither the machine's files nor the right to
/// open them.
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

pub type Result<T> = std::result::Result<T, Error>;

/// Adds the operation to an I/O error, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}

/// An order that is refused, with the reason.
pub(crate) fn refused(why: impl Into<String>) -> Error {
    brisk_profile::lab_client::Error::Refused(why.into()).into()
}
