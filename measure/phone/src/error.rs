//! Errors of phones, with remedies.

use std::io;
use std::path::PathBuf;

use brisk_core::units::format_bytes;

/// Failure of a phone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A right that a phone needs is missing.
    #[error(transparent)]
    Rights(#[from] brisk_sense::MissingRights),
    /// The directory of the phones is root's.
    #[error("cannot read {}, which is root's: run it as root (sudo brisk lab phone ...)", .dir.display())]
    Closed {
        /// The directory.
        dir: PathBuf,
    },
    /// A tool of this machine is missing.
    #[error("{tool} is missing, which {purpose}; on Debian and its relatives: apt-get install {package}")]
    NoTool {
        /// Its name.
        tool: &'static str,
        /// Its purpose: `makes the phone's root`.
        purpose: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program that should run during launches does not.
    #[error("{program} does not run during the launches: {reason}")]
    Companion {
        /// Its name.
        program: String,
        /// The reason.
        reason: String,
    },
    /// cgroup2 is not mounted.
    #[error(
        "no cgroup2 file system is mounted, and a phone needs one to stop its processes: mount -t cgroup2 none \
         /sys/fs/cgroup/unified"
    )]
    NoCgroup2,
    /// No such app in the catalogue.
    #[error("'{name}' is not an app of the phone{}; see: brisk lab phone apps", .similar.as_ref().map(|similar| format!(", did you mean '{similar}'")).unwrap_or_default())]
    NoSuchApp {
        /// Requested name.
        name: String,
        /// The most similar name.
        similar: Option<String>,
    },
    /// The phone's image does not have this app.
    #[error("phone {id} has no {name}: it was made with --apps {has}; make another one with {name}")]
    AppNotInstalled {
        /// Number of the phone.
        id: u32,
        /// The app.
        name: String,
        /// Its apps.
        has: String,
    },
    /// A swap area is still on.
    #[error("the swap area {} cannot be switched off: {reason}", .area.display())]
    SwapOff {
        /// Its file or device.
        area: PathBuf,
        /// Why.
        reason: String,
    },
    /// A phone is gone but for its swap area.
    #[error(
        "phone {id} was removed, but {}: it stays until this machine restarts, and until then phones with swap are refused",
        brisk_core::causes::in_one_line(.cause.as_ref())
    )]
    SwapStays {
        /// Number of the phone.
        id: u32,
        /// Why it is on.
        cause: Box<Error>,
    },
    /// Not enough space for the image.
    #[error(
        "building the image takes about {} in {}, and {} are free; free some, or point BRISK_CACHE_DIR elsewhere",
        format_bytes(*.needed_bytes), .dir.display(), format_bytes(*.free_bytes)
    )]
    Space {
        /// The cache directory.
        dir: PathBuf,
        /// Most space that a build needs.
        needed_bytes: u64,
        /// Free space.
        free_bytes: u64,
    },
    /// A step of the build failed.
    #[error("the phone's image could not be built: {step} failed: {reason} (full log: {})", .log.display())]
    Step {
        /// The step.
        step: String,
        /// End of its output.
        reason: String,
        /// The full log.
        log: PathBuf,
    },
    /// An invalid image.
    #[error("{} is not an image of a phone: {reason}", .path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The requested device is too small.
    #[error("{} are too small for the image of a phone: at least {}", format_bytes(*.size_bytes), format_bytes(*.least_bytes))]
    Size {
        /// Requested size.
        size_bytes: u64,
        /// Size that the image needs.
        least_bytes: u64,
    },
    /// No such phone.
    #[error("'{0}' is not a phone; see: brisk lab phone list")]
    NoSuchPhone(String),
    /// The phone is ambiguous.
    #[error("{}", match .count { 0 => "there is no phone; bring one up with: brisk lab phone up".to_owned(), n => format!("there are {n} phones; name one (see: brisk lab phone list)") })]
    WhichPhone {
        /// Number of phones.
        count: usize,
    },
    /// An unusable phone.
    #[error("phone {id} cannot be used: {trouble}; take it down with: brisk lab phone down {id}")]
    Trouble {
        /// Number of the phone.
        id: u32,
        /// The reason.
        trouble: String,
    },
    /// Processes outside of the phone use its files.
    #[error("phone {id} is in use by {by}: stop these first, or take the phone down with --force")]
    Busy {
        /// Number of the phone.
        id: u32,
        /// The processes.
        by: String,
    },
    /// No such program in the phone.
    #[error("cannot run {program} in the phone: {reason}")]
    Program {
        /// The command as given.
        program: String,
        /// The reason.
        reason: String,
    },
    /// A variant of what-if that this phone does not support.
    #[error("cannot set the phone to {variant}: {reason}")]
    Variant {
        /// Its name.
        variant: &'static str,
        /// The reason.
        reason: String,
    },
    /// Failure of the background writer.
    #[error("the background writer failed: {0}")]
    Writer(String),
    /// Failure of SQLite.
    #[error("SQLite cannot {action}")]
    Sqlite {
        /// The operation.
        action: &'static str,
        /// SQLite's message.
        source: rusqlite::Error,
    },
    /// SQLite uses another journal mode than requested.
    #[error("SQLite keeps its journal as '{found}' here, not as the requested '{wanted}'")]
    SqliteJournal {
        /// Requested mode.
        wanted: &'static str,
        /// Actual mode.
        found: String,
    },
    /// A phone with that memory or swap cannot be had.
    #[error("a phone with this memory cannot be had: {reason}")]
    Memory {
        /// The reason, and what to do.
        reason: String,
    },
    /// Failure of a launch.
    #[error(transparent)]
    Launch(#[from] brisk_launch::Error),
    /// Cancelled by the user.
    #[error("stopped")]
    Stopped,
    /// Failure of the lab device.
    #[error(transparent)]
    Lab(#[from] brisk_lab::Error),
    /// Failure of the virtual screen of the build.
    #[error(transparent)]
    Screen(#[from] brisk_screen::Error),
    /// The run folder of the phone's daemon cannot be used.
    #[error("cannot end the daemon that manages the phone's device")]
    Act(#[from] brisk_act::Error),
    /// Its swap area could not be made or removed.
    #[error(transparent)]
    Swap(#[from] brisk_act::SwapAreaError),
    /// /proc or /sys could not be read.
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// Operation and object.
        action: String,
        /// Cause.
        source: io::Error,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds the operation to an I/O error, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
