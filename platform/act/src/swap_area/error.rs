//! Why a swap area could not be made or removed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use brisk_core::units::format_bytes;

/// Failure of a set-up or an undo.
#[derive(Debug, thiserror::Error)]
pub enum SwapAreaError {
    /// There is a set-up.
    #[error("swap is set up already ({}): 'brisk swap undo' removes that first", .record.display())]
    AlreadySetUp {
        /// Its record.
        record: PathBuf,
    },
    /// There is none.
    #[error("'brisk swap setup' has set nothing up here (there is no {})", .record.display())]
    NothingSetUp {
        /// Where its record would be.
        record: PathBuf,
    },
    /// Two commands at once.
    #[error("another 'brisk swap' is at work: try again when it has ended")]
    Busy,
    /// The set-up could not be undone.
    #[error("no record of the set-up can be kept in {}, and without one nothing could be undone: make it writable", .dir.display())]
    NoRecord {
        /// Where it would be.
        dir: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file is there already.
    #[error("{} exists already and is left as it is: name another file, or remove it", .path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The record could not have it.
    #[error("the name {} is no UTF-8: name another file", .path.display())]
    BadName {
        /// The file.
        path: PathBuf,
    },
    /// The device belongs to something.
    #[error(
        "{} is in use (mounted, swap, or part of a RAID, LVM or other device): name another one, or free it first",
        .path.display()
    )]
    InUse {
        /// The device.
        path: PathBuf,
    },
    /// The file system is full.
    #[error(
        "the file system of {} has no room for {}: free space, or choose a smaller --size",
        .path.display(), format_bytes(*.size_bytes)
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
    },
    /// A program is missing.
    #[error("cannot run {name}: install util-linux")]
    NoProgram {
        /// Its name.
        name: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The area was not formatted.
    #[error("cannot format {}: {why}", .path.display())]
    NotFormatted {
        /// The file or device.
        path: PathBuf,
        /// What mkswap said.
        why: String,
    },
    /// No file or device bears the UUID of the area.
    #[error(
        "no {} the swap area with UUID {uuid}{}",
        if *.is_another { "disk here has" } else { "file or disk here has" },
        if *.is_another { format!(": {} is another one now, and is left as it is", .path.display()) }
        else { format!(": {} is gone", .path.display()) }
    )]
    NotFound {
        /// The name that the user gave.
        path: PathBuf,
        /// Of the area.
        uuid: String,
        /// Whether something else has the name now.
        is_another: bool,
    },
    /// A unit of this name was not made by brisk.
    #[error("{} exists and is not of 'brisk swap setup': rename or remove it first", .path.display())]
    OthersUnit {
        /// The unit.
        path: PathBuf,
    },
    /// Nothing would ever switch the areas on.
    #[error("--later makes areas for the next restart, and nothing can switch them on then: {why}")]
    NeverOn {
        /// Why not.
        why: String,
    },
    /// The kernel did not take the area.
    #[error(
        "the kernel does not switch {} on ({})",
        .path.display(),
        if .source.raw_os_error() == Some(libc::EPERM) { "that takes the right CAP_SYS_ADMIN, which a container may lack" }
        else { "is its file system one that can hold swap?" }
    )]
    NotOn {
        /// The file or device.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The kernel keeps the area.
    #[error("the kernel keeps {} on (what is in it has to fit into memory: end some programs)", .path.display())]
    NotOff {
        /// The file or device.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The file system of an area is not there.
    #[error("the file system of {} is not mounted", .path.display())]
    NotMounted {
        /// The file.
        path: PathBuf,
    },
    /// The file of an area was removed while the area is on.
    #[error("{} was removed while it is on: its space is free after a restart", .path.display())]
    RemovedWhileOn {
        /// Its name before.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}", .path.display())]
    File {
        /// What was to be done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The record is not understood.
    #[error(
        "the record of the set-up, {}, is damaged ({why}). Remove by hand what it made: areas that 'swapon --show' lists \
         ('swapoff AREA', then their files), the unit brisk-swap.service below /etc/systemd/system with its link in \
         multi-user.target.wants, or the line in /etc/fstab, and at last {}",
        .path.display(), .path.display()
    )]
    Damaged {
        /// The record.
        path: PathBuf,
        /// Where.
        why: String,
    },
    /// A set-up failed, and so did steps of taking it back.
    #[error("{}; not all that was made could be removed:{}", .failure.whole(), listed(.left))]
    Incomplete {
        /// The first failure.
        failure: Box<SwapAreaError>,
        /// What stays.
        left: Vec<LeftArea>,
    },
}

impl SwapAreaError {
    /// What failed, and its causes.
    #[must_use]
    pub fn whole(&self) -> String {
        let causes = std::iter::successors(std::error::Error::source(self), |error| error.source());
        causes.fold(self.to_string(), |text, cause| format!("{text}: {cause}"))
    }

    /// Whether another user could know more.
    pub(super) fn is_denied(&self) -> bool {
        // What no user may do has other errors: EPERM, EROFS, or words without a number.
        let (Self::File { source, .. } | Self::NoRecord { source, .. }) = self else { return false };
        source.raw_os_error() == Some(libc::EACCES)
    }

    /// The same for the file that the user named, where it is about the one that is made for it.
    pub(super) fn of_file(self, made: &std::path::Path, named: &std::path::Path) -> Self {
        match self {
            Self::NoRoom { path, size_bytes } if path == made => Self::NoRoom { path: named.to_owned(), size_bytes },
            other => other,
        }
    }
}

/// What a set-up made and an undo could not remove.
#[derive(Debug)]
pub struct LeftArea {
    /// What it is.
    pub what: String,
    /// Why it stays.
    pub why: SwapAreaError,
    /// How to remove it by hand.
    pub by_hand: String,
}

impl fmt::Display for LeftArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. By hand: {}", self.what, self.why.whole(), self.by_hand)
    }
}

/// One line for each.
fn listed(left: &[LeftArea]) -> String {
    left.iter().map(|left| format!("\n  {left}")).collect()
}
