//! Why a phone could not be built, brought up, changed or taken down, and what to do about it.

use std::io;
use std::path::PathBuf;

use brisk_core::units::format_bytes;

/// Failure of a phone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Mounting and making block devices needs root.
    #[error("a phone needs root: it mounts a file system on a block device (try: sudo brisk lab phone ...)")]
    NotRoot,
    /// A tool of this machine is missing.
    #[error("{tool} is missing, which {purpose}; on Debian and its relatives: apt-get install {package}")]
    NoTool {
        /// Its name.
        tool: &'static str,
        /// What it is needed for: `makes the phone's root`.
        purpose: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A program that is to run beside launches does not.
    #[error("{program} does not run beside the launches: {reason}")]
    Beside {
        /// Its name.
        program: String,
        /// What is wrong.
        reason: String,
    },
    /// The second version of control groups is not there.
    #[error(
        "no cgroup2 file system is mounted, and a phone needs one to end what runs in it: mount -t cgroup2 none \
         /sys/fs/cgroup/unified"
    )]
    NoCgroup2,
    /// No such app in the catalogue.
    #[error("'{name}' is not an app of the phone{}; see: brisk lab phone apps", .similar.as_ref().map(|similar| format!(", did you mean '{similar}'")).unwrap_or_default())]
    NoSuchApp {
        /// What was asked for.
        name: String,
        /// The app whose name is nearest.
        similar: Option<String>,
    },
    /// The phone's image does not have this app.
    #[error("phone {id} has no {name}: it was made with --apps {has}; make another one with {name}")]
    AppNotInstalled {
        /// Number of the phone.
        id: u32,
        /// The app.
        name: String,
        /// What it has.
        has: String,
    },
    /// The image would not fit.
    #[error(
        "building the image takes about {} in {}, and {} are free; free some, or point BRISK_CACHE_DIR elsewhere",
        format_bytes(*.needed_bytes), .dir.display(), format_bytes(*.free_bytes)
    )]
    Space {
        /// The directory of the cache.
        dir: PathBuf,
        /// What a build takes at most.
        needed_bytes: u64,
        /// What is free.
        free_bytes: u64,
    },
    /// A step of the build failed.
    #[error("the phone's image could not be built: {step} failed: {reason} (all of it: {})", .log.display())]
    Step {
        /// Which one.
        step: String,
        /// The end of what it said.
        reason: String,
        /// Everything that was said.
        log: PathBuf,
    },
    /// An image that is none.
    #[error("{} is not an image of a phone: {reason}", .path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The device would be too small.
    #[error("{} are too small for this image: at least {}", format_bytes(*.size_bytes), format_bytes(*.least_bytes))]
    Size {
        /// What was asked for.
        size_bytes: u64,
        /// What the image needs.
        least_bytes: u64,
    },
    /// No such phone.
    #[error("'{0}' is not a phone; see: brisk lab phone list")]
    NoSuchPhone(String),
    /// It is not clear which phone is meant.
    #[error("{}", match .count { 0 => "there is no phone; bring one up with: brisk lab phone up".to_owned(), n => format!("there are {n} phones; say which one (see: brisk lab phone list)") })]
    WhichPhone {
        /// How many there are.
        count: usize,
    },
    /// A phone that is not fit for use.
    #[error("phone {id} cannot be used: {trouble}; take it down with: brisk lab phone down {id}")]
    Trouble {
        /// Number of the phone.
        id: u32,
        /// What is wrong.
        trouble: String,
    },
    /// Somebody outside of the phone uses its files.
    #[error("phone {id} is in use by {by}: end that first, or take the phone down all the same with --force")]
    Busy {
        /// Number of the phone.
        id: u32,
        /// Processes.
        by: String,
    },
    /// No such program in the phone.
    #[error("cannot run {program} in the phone: {reason}")]
    Program {
        /// As the person gave it.
        program: String,
        /// Why not.
        reason: String,
    },
    /// A variant of what-if that this phone cannot take.
    #[error("cannot set the phone to {variant}: {reason}")]
    Variant {
        /// Its name.
        variant: &'static str,
        /// Why.
        reason: String,
    },
    /// The background writer.
    #[error("the background writer failed: {0}")]
    Writer(String),
    /// SQLite said no.
    #[error("SQLite cannot {action}")]
    Sqlite {
        /// What was to be done.
        action: &'static str,
        /// Its words.
        source: rusqlite::Error,
    },
    /// SQLite keeps its journal otherwise than it was told.
    #[error("SQLite keeps its journal as '{found}' here and not as '{wanted}'")]
    SqliteJournal {
        /// What was asked for.
        wanted: &'static str,
        /// What it does.
        found: String,
    },
    /// A launch in it.
    #[error(transparent)]
    Launch(#[from] brisk_launch::Error),
    /// The person stopped it.
    #[error("stopped")]
    Stopped,
    /// The device below.
    #[error(transparent)]
    Lab(#[from] brisk_lab::Error),
    /// The virtual screen of the build.
    #[error(transparent)]
    Screen(#[from] brisk_screen::Error),
    /// The machine could not be read.
    #[error("cannot read the state of the machine")]
    Sense(#[from] brisk_sense::Error),
    /// A system call failed.
    #[error("cannot {action}")]
    Io {
        /// What was tried, on what.
        action: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Result of the phone.
pub type Result<T> = std::result::Result<T, Error>;

/// Names what was tried, for `map_err`.
pub(crate) fn io<E: Into<io::Error>>(action: impl Into<String>) -> impl FnOnce(E) -> Error {
    |source| Error::Io { action: action.into(), source: source.into() }
}
