//! A process of its own that thaws what brisk froze when brisk dies in any way.
//!
//! A frozen app whose freezer is dead hangs until the machine restarts. The journal tells the next brisk to thaw it,
//! but there may be no next one for long. So a small process, the *keeper*, holds descriptors of the directories of all
//! groups that are frozen, and thaws them when the socket between the two is closed, which the kernel does however
//! brisk ends. It gets each descriptor, and confirms it, *before* the group is frozen. [`keep`] is what runs in the
//! keeper; [`Keeper`] is brisk's end.
//!
//! The order of a freeze: the keeper has it, the journal has it on disk, the group is frozen, the journal has what
//! stands. A thaw goes the other way. What the death of either leaves at each step:
//!
//! | dies | after the keeper was told | after the journal was written | after the freeze |
//! |---|---|---|---|
//! | brisk | the keeper thaws what is not frozen: nothing changes | the same; the next brisk clears the journal | the keeper thaws |
//! | keeper | brisk sees it before it freezes: another one is started, or the freeze is refused | the same | brisk starts another one, or thaws |
//! | both | nothing is frozen | nothing is frozen | the next brisk thaws by the journal |
//!
//! What someone else freezes between the check of the state and brisk's death would be thawed too. A keeper is of
//! brisk's own group, which brisk does not freeze. It ignores the signals by which sessions and service managers end
//! programs: it ends with brisk.
//!
//! Properties: `what_a_killed_brisk_froze_is_thawed_by_the_keeper`; `a_killed_keeper_is_replaced_and_the_next_thaws`;
//! `without_a_keeper_nothing_is_frozen`; `kills_at_any_moment_leave_nothing_frozen`;
//! `a_death_between_telling_the_keeper_and_freezing_changes_nothing`;
//! `a_death_between_freezing_and_journaling_leaves_nothing_frozen`.

mod message;
mod process;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use brisk_core::token_bucket::TokenBucket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv,
    sendmsg, socketpair,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::{ClockId, clock_gettime};

pub use process::keep;

use crate::Error;
use crate::once::freezer::{self, Freezer};
use crate::setting_file::{Identity, SettingFile};
use message::{Message, READY};

/// The name under which a keeper is started, by which its program knows that it is to call [`keep`].
pub const KEEPER_NAME: &str = "briskd-keeper";

/// How long the keeper may take to confirm; one that starts reads its program from flash first.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take to end.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// Keepers that are started at once, and the interval of further ones: something kills them.
const STARTS: u64 = 3;
const STARTS_INTERVAL_NS: u64 = 10_000_000_000;

/// A group that the keeper holds: which freezer, and the inode of its file there.
type Key = (Freezer, u64);

/// The keeper as brisk sees it. Dropping it closes the socket, so that the keeper thaws what it still holds, and ends.
#[derive(Debug)]
pub struct Keeper {
    program: Vec<OsString>,
    running: Option<Running>,
    /// Files of the freezer of all groups that it holds.
    held: BTreeMap<Key, PathBuf>,
    starts: TokenBucket,
}

#[derive(Debug)]
struct Running {
    child: Child,
    pidfd: OwnedFd,
    socket: OwnedFd,
    is_ready: bool,
}

/// What [`crate::Actuator::tend_keeper`] did after the keeper had died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tended {
    /// Another one holds what is frozen.
    Replaced {
        pid: u32,
        /// How many groups it holds.
        groups: usize,
    },
    /// There is no other one, so these groups were thawed.
    Thawed { groups: Vec<String>, why: String },
}

impl Keeper {
    /// A keeper that is started when it is needed, by this program and arguments, which have to call [`keep`]. The
    /// socket is their standard input.
    #[must_use]
    pub fn new(program: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            program: program.into_iter().collect(),
            running: None,
            held: BTreeMap::new(),
            starts: TokenBucket::new(STARTS, STARTS_INTERVAL_NS),
        }
    }

    /// Starts it unless it was. It is not waited for.
    ///
    /// # Errors
    /// When it cannot be started, or several have died just now.
    pub fn start(&mut self) -> Result<(), Error> {
        if self.running.is_some() {
            return Ok(());
        }
        if !self.starts.take(now_ns()) {
            return Err(failed("wait for", io::Error::other("several ended just now: see the log for what ends them")));
        }
        self.running = Some(Running::start(&self.program).map_err(|source| failed("start", source))?);
        Ok(())
    }

    /// Its process, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }

    /// Becomes readable when it has ended; `None` when it does not run.
    #[must_use]
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.running.as_ref().map(|running| running.pidfd.as_fd())
    }

    /// Whether it has ended though brisk has not ended it.
    pub(crate) fn has_died(&self) -> bool {
        self.running.as_ref().is_some_and(|running| is_readable(&running.pidfd, Duration::ZERO))
    }

    /// Has it hold these files of freezers too, which are about to be written. A keeper that does not confirm is ended,
    /// and another one is tried.
    ///
    /// # Errors
    /// When no keeper confirms: then nothing may be frozen.
    pub(crate) fn hold(&mut self, files: &[PathBuf]) -> Result<(), Error> {
        let mut requested = self.held.clone();
        requested.extend(files.iter().filter_map(|file| Some((key(file)?, file.clone()))));
        let held = self.hold_all(&requested);
        if held.is_ok() || !self.bury() {
            return held;
        }
        self.hold_all(&requested)
    }

    /// Starts one if none runs, and gives it what it does not hold of `requested`.
    fn hold_all(&mut self, requested: &BTreeMap<Key, PathBuf>) -> Result<(), Error> {
        if self.has_died() {
            self.bury();
        }
        self.start()?;
        let Some(running) = &mut self.running else { return Ok(()) };
        for (key, file) in requested {
            if self.held.contains_key(key) {
                continue;
            }
            // A group that is gone cannot be frozen.
            let Some(dir) = SettingFile::at(file).map(SettingFile::into_dir) else { continue };
            running.hold(*key, &dir).map_err(|source| failed("reach", source))?;
            self.held.insert(*key, file.clone());
        }
        // One that was killed meanwhile holds nothing.
        if self.has_died() { Err(failed("reach", Errno::PIPE.into())) } else { Ok(()) }
    }

    /// Has it forget all files but these, which are still frozen.
    pub(crate) fn keep_only<'a>(&mut self, frozen: impl Iterator<Item = &'a PathBuf>) {
        if self.held.is_empty() {
            return;
        }
        let frozen: Vec<&PathBuf> = frozen.collect();
        let released: Vec<Key> =
            self.held.iter().filter(|(_, file)| !frozen.contains(file)).map(|(key, _)| *key).collect();
        for key in released {
            self.held.remove(&key);
            let told = self.running.as_ref().map(|running| running.send(Message::Release(key), None));
            if matches!(told, Some(Err(_))) {
                // It would thaw, at brisk's end, what is frozen by then: another one gets the rest.
                let rest: Vec<PathBuf> = self.held.values().cloned().collect();
                self.bury();
                let _ = self.hold(&rest);
                return;
            }
        }
    }

    /// Starts another one in place of one that has died, and gives it what is frozen.
    ///
    /// # Errors
    /// When no keeper confirms.
    pub(crate) fn replace(&mut self, frozen: &[PathBuf]) -> Result<(), Error> {
        self.bury();
        self.hold(frozen)
    }

    /// Ends the one that runs, which holds nothing any more for brisk; `false` when none runs.
    pub(crate) fn bury(&mut self) -> bool {
        self.held.clear();
        self.running.take().map(Running::end).is_some()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.leave();
        }
    }
}

impl Running {
    fn start(program: &[OsString]) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let (path, arguments) = program.split_first().ok_or_else(|| io::Error::other("no program is given"))?;
        let mut command = Command::new(path);
        command.args(arguments).stdin(Stdio::from(theirs)).stdout(Stdio::null());
        // What a terminal sends to brisk's group of processes is not for it. A session of its own would be an app.
        command.process_group(0).arg0(KEEPER_NAME).env_remove("NOTIFY_SOCKET");
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pidfd = pid.ok_or(Errno::SRCH).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
        match pidfd {
            Ok(pidfd) => Ok(Self { child, pidfd, socket, is_ready: false }),
            Err(errno) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(errno.into())
            }
        }
    }

    /// Gives it a group, and waits until it says that it has it.
    fn hold(&mut self, key: Key, dir: &OwnedFd) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        if !self.is_ready {
            self.receive(READY, deadline)?;
            self.is_ready = true;
        }
        self.send(Message::Hold(key), Some(dir.as_fd()))?;
        self.receive(message::confirmation(key), deadline)
    }

    fn send(&self, message: Message, dir: Option<BorrowedFd<'_>>) -> io::Result<()> {
        let bytes = message.encode();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let dirs: Vec<BorrowedFd<'_>> = dir.into_iter().collect();
        if !dirs.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(&dirs));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut ancillary, flags)?;
        Ok(())
    }

    fn receive(&self, expected: [u8; message::BYTES], deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if !is_readable(&self.socket, left) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut bytes = [0; message::BYTES];
        let (_, length) = recv(&self.socket, &mut bytes, RecvFlags::DONTWAIT)?;
        match length {
            0 => Err(io::ErrorKind::BrokenPipe.into()),
            _ if bytes == expected => Ok(()),
            _ => Err(io::Error::other("it confirms something else")),
        }
    }

    /// Ends it at once: it may hang. What it holds is thawed by it or stays frozen.
    fn end(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Closes the socket, so that it thaws what it holds and ends.
    fn leave(self) {
        let Self { mut child, pidfd, socket, .. } = self;
        drop(socket);
        if !is_readable(&pidfd, END_PATIENCE) {
            let _ = child.kill();
        }
        let _ = child.wait();
    }
}

/// The key of a file of a freezer; `None` when its group is gone.
fn key(file: &Path) -> Option<Key> {
    let kind = freezer::kind(file)?;
    match SettingFile::at(file)?.identity()? {
        Identity::Inode(inode) => Some((kind, inode)),
        _ => None,
    }
}

/// Whether a descriptor becomes readable, or is closed at the other end, within this time.
fn is_readable(fd: &OwnedFd, within: Duration) -> bool {
    let deadline = Instant::now() + within;
    loop {
        let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
        let mut polled = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut polled, left.as_ref()) {
            Err(Errno::INTR) => {}
            Ok(ready) => return ready > 0,
            Err(_) => return false,
        }
    }
}

fn failed(what: &'static str, source: io::Error) -> Error {
    Error::Keeper { what, source }
}

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let whole_ns = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    whole_ns.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}
