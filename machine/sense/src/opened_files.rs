//! Files that are opened, from fanotify(7): what a launch reads by read(2) alone appears in no page table.
//!
//! Every user can open files without pause, so that the kernel's list is bounded (fs.fanotify.max_queued_events), and
//! taken in parts: a loop that takes it serves its other sources in between.
//!
//! Properties, with real processes (`machine/sense/tests/all/launch_files.rs`):
//! `a_file_that_was_only_read_is_used_where_it_was_watched`; `a_flood_of_opens_is_taken_in_parts_and_says_its_losses`.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::fanotify::{EventFFlags, Fanotify, FanotifyEvent, InitFlags, MarkFlags, MaskFlags};
use rustix::fs::{FileType, fstat};

use crate::closing::{by_another_thread, is_stuck, was_written_lately};
use crate::error::{Error, Result};
use crate::machine::Sense;
use crate::resident;

/// Opens that are taken at once: a hundredth of a second.
pub const TAKEN_MAX: usize = 4096;

/// What was opened since the list was taken last.
#[derive(Debug, Default)]
pub struct Opened {
    /// Regular files: id of the process, and current name.
    pub files: BTreeSet<(u32, PathBuf)>,
    /// Whether the list may hold more, for the next call.
    pub has_more: bool,
    /// Whether the kernel had to drop some.
    pub has_lost: bool,
}

/// A watch of opens by other processes on file systems of block devices.
#[derive(Debug)]
pub struct OpenedFiles {
    group: Fanotify,
}

impl OpenedFiles {
    /// Starts the watch. Its list has to be taken now and then.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, when the kernel has no fanotify or does not tell what is in memory of a file
    /// (mincore(2)), without which a list of files is of no use, or the mounts cannot be read.
    pub fn watch(sense: &Sense) -> Result<Self> {
        let flags = InitFlags::FAN_CLASS_NOTIF | InitFlags::FAN_CLOEXEC | InitFlags::FAN_NONBLOCK;
        let events = EventFFlags::O_RDONLY | EventFFlags::O_LARGEFILE | EventFFlags::O_CLOEXEC | EventFFlags::O_NOATIME;
        resident::check().map_err(|source| Error::calling("mincore", source))?;
        let group = Fanotify::init(flags, events).map_err(|errno| failed("fanotify_init", errno))?;
        let mut marked = BTreeSet::new();
        for mount in sense.mounts()? {
            if !mount.source.starts_with("/dev/") || !marked.insert(mount.device) {
                continue;
            }
            let mark = group.mark(
                MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_FILESYSTEM,
                MaskFlags::FAN_OPEN,
                rustix::fs::CWD,
                Some(&mount.mount_point),
            );
            // Mounts that cannot be marked (below a private directory, a file system without fsid) are not watched.
            if mark.is_err() {
                marked.remove(&mount.device);
            }
        }
        Ok(Self { group })
    }

    /// The files that processes opened for which `is_wanted` holds since the watch began or the list was taken last, at
    /// most so many opens of all processes at once ([`TAKEN_MAX`]).
    ///
    /// # Errors
    /// When the list cannot be read.
    pub fn take(&self, is_wanted: impl Fn(u32) -> bool) -> Result<Opened> {
        let own = std::process::id();
        let file_of = |event: &FanotifyEvent| {
            let pid = u32::try_from(event.pid()).ok().filter(|pid| *pid != own && is_wanted(*pid))?;
            Some((pid, name_of(event)?))
        };
        let (mut opened, mut taken) = (Opened { has_more: true, ..Opened::default() }, 0);
        // Each event has a descriptor, of whichever process.
        while taken < TAKEN_MAX && !is_stuck() {
            let events = match self.group.read_events() {
                Ok(events) => events,
                Err(Errno::EAGAIN) => Vec::new(),
                Err(errno) => return Err(failed("the list of fanotify", errno)),
            };
            if events.is_empty() {
                opened.has_more = false;
                break;
            }
            taken += events.len();
            opened.has_lost |= events.iter().any(|event| event.mask().contains(MaskFlags::FAN_Q_OVERFLOW));
            opened.files.extend(events.iter().filter_map(file_of));
            if events.iter().filter_map(FanotifyEvent::fd).any(was_written_lately) {
                by_another_thread(events);
            }
        }
        Ok(opened)
    }
}

/// The current name of the regular file of an event; a removed file has none.
fn name_of(event: &FanotifyEvent) -> Option<PathBuf> {
    let fd = event.fd()?;
    let is_file = fstat(fd.as_fd()).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
    let name = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
    (is_file && !name.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")).then_some(name)
}

fn failed(call: &'static str, errno: Errno) -> Error {
    Error::calling(call, errno.into())
}
