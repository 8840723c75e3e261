//! Why a lab device could not be made, changed or removed, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Failure of the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server was not reached, refused, or needs another user.
    #[error(transparent)]
    Client(#[from] brisk_lab_client::Error),
    /// A device file that the lab is built on is missing.
    #[error("{path} is missing or not usable: {remedy}")]
    NoDeviceFile {
        /// The file.
        path: PathBuf,
        /// What to do.
        remedy: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The size cannot be a device.
    #[error("a lab device cannot have {size_bytes} bytes: {reason}")]
    Size {
        /// What was asked for.
        size_bytes: u64,
        /// What would do.
        reason: String,
    },
    /// The data would not fit this machine's memory.
    #[error(
        "{} do not fit: the lab keeps its data in memory, and of the {} available it leaves {} to others; choose a smaller --size",
        brisk_core::units::format_bytes(*.size_bytes), brisk_core::units::format_bytes(*.available_bytes),
        brisk_core::units::format_bytes(*.reserve_bytes)
    )]
    Memory {
        /// What was asked for.
        size_bytes: u64,
        /// MemAvailable.
        available_bytes: u64,
        /// What stays for others.
        reserve_bytes: u64,
    },
    /// The preset, or a change of it, is not one.
    #[error(transparent)]
    Preset(#[from] brisk_flash::PresetError),
    /// A parameter of the model was refused.
    #[error(transparent)]
    Parameter(#[from] brisk_flash::ParameterError),
    /// The model cannot be made or changed so.
    #[error(transparent)]
    Model(#[from] brisk_flash::DeviceError),
    /// The backend is not available.
    #[error("{0}")]
    Backend(String),
    /// No such device of the lab.
    #[error("'{0}' is not a lab device; see: brisk lab list")]
    NoSuchDevice(String),
    /// Somebody uses the device.
    #[error("{device} is in use{}: {remedy}", .by.as_ref().map(|by| format!(" ({by})")).unwrap_or_default())]
    Busy {
        /// The block device.
        device: String,
        /// By what, if that is known.
        by: Option<String>,
        /// What to do.
        remedy: String,
    },
    /// The server ended, or refused, with a reason.
    #[error("the lab server of device {id} failed: {reason}")]
    Server {
        /// Number of the lab device.
        id: u32,
        /// Its own words, or the end of its log.
        reason: String,
    },
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried, on what.
        action: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A setting of the queue could not be changed or put back.
    #[error("cannot set up the queue of the device")]
    Act(#[from] brisk_act::Error),
    /// The machine could not be read.
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
}

/// Result of the lab.
pub type Result<T> = std::result::Result<T, Error>;

/// Names what was tried, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}

/// An order that is refused, with the reason.
pub(crate) fn refused(why: impl Into<String>) -> Error {
    brisk_lab_client::Error::Refused(why.into()).into()
}
