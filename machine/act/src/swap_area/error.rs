//! Why a swap area could not be made or removed.

use std::fmt;
use std::io;
use std::path::PathBuf;

use brisk_core::units::format_bytes;

/// Failure of a set-up or an undo.
#[derive(Debug, thiserror::Error)]
pub enum SwapAreaError {
    #[error("swap is set up already ({}): 'brisk swap undo' removes that first", .record.display())]
    AlreadySetUp { record: PathBuf },
    #[error("'brisk swap setup' has set nothing up here (there is no {})", .record.display())]
    NothingSetUp { record: PathBuf },
    #[error("another 'brisk swap' is at work: try again when it has ended")]
    Busy,
    #[error(
        "no record of the set-up can be kept in {}, and without one nothing could be undone: make it writable",
        .dir.display()
    )]
    NoRecord { dir: PathBuf, source: io::Error },
    #[error("{} exists already and is left as it is: name another file, or remove it", .path.display())]
    Exists { path: PathBuf },
    #[error("the name {} is no UTF-8: name another file", .path.display())]
    BadName { path: PathBuf },
    #[error(
        "{} is in use (mounted, swap, or part of a RAID, LVM or other device): name another one, or free it first",
        .path.display()
    )]
    InUse { path: PathBuf },
    #[error(
        "the file system of {} has no room for {}: free space, or choose a smaller --size",
        .path.display(), format_bytes(*.size_bytes)
    )]
    NoRoom { path: PathBuf, size_bytes: u64 },
    #[error("cannot run {name}: install util-linux")]
    NoProgram { name: &'static str, source: io::Error },
    #[error("cannot format {}: {why}", .path.display())]
    NotFormatted { path: PathBuf, why: String },
    #[error(
        "no {} the swap area with UUID {uuid}{}",
        if *.is_another { "disk here has" } else { "file or disk here has" },
        if *.is_another { format!(": {} is another one now, and is left as it is", .path.display()) }
        else { format!(": {} is gone", .path.display()) }
    )]
    NotFound { path: PathBuf, uuid: String, is_another: bool },
    #[error("{} exists and is not of 'brisk swap setup': rename or remove it first", .path.display())]
    OthersUnit { path: PathBuf },
    #[error("--later makes areas for the next restart, and nothing can switch them on then: {why}")]
    NeverOn { why: String },
    #[error(
        "the kernel does not switch {} on ({})",
        .path.display(),
        if .source.raw_os_error() == Some(libc::EPERM) {
            "that takes the right CAP_SYS_ADMIN, which a container may lack"
        } else {
            "is its file system one that can hold swap?"
        }
    )]
    NotOn { path: PathBuf, source: io::Error },
    #[error("the kernel keeps {} on (what is in it has to fit into memory: end some programs)", .path.display())]
    NotOff { path: PathBuf, source: io::Error },
    #[error("the file system of {} is not mounted", .path.display())]
    NotMounted { path: PathBuf },
    #[error("{} was removed while it is on: its space is free after a restart", .path.display())]
    RemovedWhileOn { path: PathBuf },
    #[error("cannot {what} {}", .path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "the record of the set-up, {}, is damaged ({why}). Remove by hand what it made: areas that 'swapon --show' \
         lists ('swapoff AREA', then their files), the unit brisk-swap.service below /etc/systemd/system with its link \
         in multi-user.target.wants, or the line in /etc/fstab, and at last {}",
        .path.display(), .path.display()
    )]
    Damaged { path: PathBuf, why: String },
    #[error("{}; not all that was made could be removed:{}", .failure.whole(), listed(.left))]
    Incomplete { failure: Box<SwapAreaError>, left: Vec<LeftArea> },
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
    pub what: String,
    pub why: SwapAreaError,
    pub by_hand: String,
}

impl fmt::Display for LeftArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}. By hand: {}", self.what, self.why.whole(), self.by_hand)
    }
}

fn listed(left: &[LeftArea]) -> String {
    left.iter().map(|left| format!("\n  {left}")).collect()
}
