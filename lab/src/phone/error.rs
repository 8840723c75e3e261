//! Errors of phones, with remedies.

use std::io;
use std::path::PathBuf;

use brisk_core::units::format_bytes;

/// Failure of a phone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Rights(#[from] brisk_sense::MissingRights),
    #[error("cannot read {}, which is root's: run it as root (sudo brisk lab phone ...)", .dir.display())]
    Closed { dir: PathBuf },
    #[error("{tool} is missing, which {purpose}; on Debian and its relatives: apt-get install {package}")]
    NoTool {
        tool: &'static str,
        /// Its purpose: `makes the phone's root`.
        purpose: &'static str,
        package: &'static str,
    },
    #[error("{program} does not run during the launches: {reason}")]
    Companion { program: String, reason: String },
    #[error(
        "no cgroup2 file system is mounted, and a phone needs one to stop its processes: mount -t cgroup2 none \
         /sys/fs/cgroup/unified"
    )]
    NoCgroup2,
    #[error("'{name}' is not an app of the phone{}; see: brisk lab phone \
             apps", .similar.as_ref().map(|similar| format!(", did you mean '{similar}'")).unwrap_or_default())]
    NoSuchApp { name: String, similar: Option<String> },
    #[error("phone {id} has no {name}: it was made with --apps {has}; make another one with {name}")]
    AppNotInstalled { id: u32, name: String, has: String },
    #[error("the swap area {} cannot be switched off: {reason}", .area.display())]
    SwapOff { area: PathBuf, reason: String },
    #[error(
        "phone {id} was removed, but {}: it stays until this machine restarts, and until then phones with swap are \
         refused",
        brisk_core::causes::in_one_line(.cause.as_ref())
    )]
    SwapStays { id: u32, cause: Box<Error> },
    #[error(
        "building the image takes about {} in {}, and {} are free; free some, or point BRISK_CACHE_DIR elsewhere",
        format_bytes(*.needed_bytes), .dir.display(), format_bytes(*.free_bytes)
    )]
    Space { dir: PathBuf, needed_bytes: u64, free_bytes: u64 },
    #[error("the phone's image could not be built: {step} failed: {reason} (full log: {})", .log.display())]
    Step { step: String, reason: String, log: PathBuf },
    #[error("{} is not an image of a phone: {reason}", .path.display())]
    Image { path: PathBuf, reason: String },
    #[error("{} are too small for the image of a phone: at least {}", format_bytes(*.size_bytes),
        format_bytes(*.least_bytes))]
    Size { size_bytes: u64, least_bytes: u64 },
    #[error("'{0}' is not a phone; see: brisk lab phone list")]
    NoSuchPhone(String),
    #[error("{}", match .count { 0 => "there is no phone; bring one up with: brisk lab phone \
                                       up".to_owned(), n => format!("there are {n} phones; name one (see: brisk lab \
                                                                     phone list)") })]
    WhichPhone { count: usize },
    #[error("phone {id} cannot be used: {trouble}; take it down with: brisk lab phone down {id}")]
    Trouble { id: u32, trouble: String },
    #[error("phone {id} is in use by {by}: stop these first, or take the phone down with --force")]
    Busy { id: u32, by: String },
    #[error("cannot run {program} in the phone: {reason}")]
    Program { program: String, reason: String },
    #[error("cannot set the phone to {variant}: {reason}")]
    Variant { variant: &'static str, reason: String },
    #[error("the background writer failed: {0}")]
    Writer(String),
    #[error("SQLite cannot {action}")]
    Sqlite { action: &'static str, source: rusqlite::Error },
    #[error("SQLite keeps its journal as '{found}' here, not as the requested '{wanted}'")]
    SqliteJournal { wanted: &'static str, found: String },
    #[error("a phone with this memory cannot be had: {reason}")]
    Memory { reason: String },
    #[error(transparent)]
    Launch(#[from] crate::launch::Error),
    #[error("stopped")]
    Stopped,
    #[error(transparent)]
    Lab(#[from] crate::device::Error),
    #[error(transparent)]
    Screen(#[from] crate::screen::Error),
    #[error("cannot end the daemon that manages the phone's device")]
    Act(#[from] brisk_act::Error),
    #[error(transparent)]
    Swap(#[from] brisk_act::SwapAreaError),
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
}

pub type Result<T> = std::result::Result<T, Error>;

/// Adds the operation to an I/O error, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
