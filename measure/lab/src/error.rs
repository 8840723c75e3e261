//! Errors of lab devices, with remedies.

use std::io;
use std::path::PathBuf;

/// Failure of the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Making block devices needs root.
    #[error(transparent)]
    Client(#[from] brisk_lab_client::Error),
    /// A device file that the lab is built on is missing.
    #[error("{path} is missing or not usable: {remedy}")]
    NoDeviceFile {
        /// The file.
        path: PathBuf,
        /// The remedy.
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
