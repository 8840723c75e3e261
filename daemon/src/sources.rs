//! Everything that can wake the daemon, in one poll(2).
//!
//! A source that this machine lacks is left out and listed; the daemon continues without it.

use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brisk_api::{FoundBy, Resting};
use brisk_core::causes::in_one_line;
use brisk_sense::{
    BlockChange, BlockWatch, FrontWatch, GroupChange, GroupWatch, PressureWatch, QueueWatch, Resource, Sense,
    SessionChange, SessionWatch, TableWatch,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::attempts::Attempts;
use crate::control::Server;

/// Stall of tasks within two seconds that counts as an event.
const STALL: Duration = Duration::from_millis(200);

/// Groups that come and go faster than this are read together.
const TOGETHER_NS: u64 = 10_000_000;

#[derive(Debug)]
pub struct Sources {
    signals: Signals,
    /// Fires when the clock on the wall is set, as after a suspend.
    clock: Option<OwnedFd>,
    pub groups: Option<GroupWatch>,
    groups_pace: Pace,
    /// Sessions of processes, which stand for apps without a control group of their own.
    pub sessions: Option<SessionWatch>,
    sessions_pace: Pace,
    front: Option<FrontWatch>,
    blocks: Option<BlockWatch>,
    /// Writes to block queues.
    pub queues: Option<QueueWatch>,
    tables: Vec<TableWatch>,
    pressure: Vec<PressureWatch>,
    /// Whether pressure is to wake the daemon: the app in front waits at such a moment, and a daemon that would do
    /// nothing about it would take its time and memory.
    pub heeds_pressure: bool,
    /// Sources that this machine lacks, a sentence each.
    pub lacking: Vec<String>,
}

/// Batches events that follow each other closely; a single event passes at once.
#[derive(Debug, Default)]
struct Pace {
    read_ns: Option<u64>,
    until_ns: u64,
}

impl Pace {
    fn note_read(&mut self, now_ns: u64) {
        if self.read_ns.is_some_and(|read_ns| now_ns.saturating_sub(read_ns) < 2 * TOGETHER_NS) {
            self.until_ns = now_ns.saturating_add(TOGETHER_NS);
        }
        self.read_ns = Some(now_ns);
    }

    /// When events are read again; `None` for at once.
    fn next_ns(&self, now_ns: u64) -> Option<u64> {
        (now_ns < self.until_ns).then_some(self.until_ns)
    }
}

/// Signals that mean something to the daemon.
#[derive(Debug)]
struct Signals {
    pipe: UnixStream,
    stop: Arc<AtomicBool>,
    reload: Arc<AtomicBool>,
}

/// Why the daemon woke up.
#[derive(Debug, Default)]
pub struct Woken {
    /// A signal ends the daemon.
    pub stop: bool,
    /// A signal has it read its configuration.
    pub reload: bool,
    /// The clock on the wall was set.
    pub clock: bool,
    /// Control groups came or went.
    pub groups: bool,
    /// Programs began in new sessions, or processes ended.
    pub sessions: bool,
    /// Another app is in the foreground.
    pub front: bool,
    /// Block devices came, went or changed.
    pub blocks: bool,
    /// Something was mounted or swap was switched.
    pub tables: bool,
    /// A block queue's setting was written.
    pub queues: bool,
    /// Tasks stalled on these resources.
    pub pressure: Vec<Resource>,
    /// Results of poll for the control socket.
    pub control: Vec<PollFlags>,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Signals,
    Clock,
    Groups,
    Sessions,
    Front,
    Blocks,
    Queues,
    Tables,
    Pressure(usize),
    /// Only ends the sleep: each turn tends the keeper and the hook, and takes what the worker did, anyway.
    Other,
    Control,
}

impl Sources {
    /// Opens all that this machine has, but those that rest.
    ///
    /// # Errors
    /// When signals cannot be received.
    pub fn open(sense: &Sense, attempts: &mut Attempts) -> std::io::Result<Self> {
        let mut lacking = Vec::new();
        let mut have = |what: &str, outcome: brisk_sense::Result<bool>| match outcome {
            Ok(true) => {}
            Ok(false) => lacking.push(format!("{what}: this kernel lacks the notification")),
            Err(error) => lacking.push(format!("{what}: {}", in_one_line(&error))),
        };
        // A hierarchy without groups is no lack where sessions stand for apps.
        let groups = attempts.using("watch_of_groups", || GroupWatch::new(sense));
        let groups = split(groups, |outcome| {
            have("apps with a control group of their own are not seen", outcome.map(|_| true));
        });
        let sessions = attempts.using("watch_of_sessions", || SessionWatch::new(sense).map(Some));
        let sessions = split(sessions, |outcome| {
            have("apps without a control group of their own are not seen", outcome);
        });
        let front = split(attempts.using("watch_of_front", || FrontWatch::new(sense)), |_| ());
        let blocks = attempts.using("watch_of_devices", || BlockWatch::new().map(Some));
        let blocks = split(blocks, |outcome| have("new devices are not seen", outcome));
        let queues = attempts.using("watch_of_queues", || QueueWatch::new().map(Some));
        let queues = split(queues, |outcome| have("external changes are not seen at once", outcome));
        let mounts = attempts.using("watch_of_mounts", || TableWatch::mounts(sense).map(Some));
        let mounts = split(mounts, |outcome| have("mounts are not seen", outcome));
        let swaps = split(attempts.using("watch_of_swaps", || TableWatch::swaps(sense)), |_| ());
        let pressure = [Resource::Io, Resource::Memory].map(|resource| {
            let what = format!("no events of pressure on {resource}");
            let watch = attempts.using("watch_of_pressure", || PressureWatch::new(sense, resource, STALL));
            split(watch, |outcome| have(&what, outcome))
        });
        Ok(Self {
            signals: Signals::take_over()?,
            clock: clock_watch().ok(),
            groups,
            groups_pace: Pace::default(),
            sessions,
            sessions_pace: Pace::default(),
            front,
            blocks,
            queues,
            tables: mounts.into_iter().chain(swaps).collect(),
            pressure: pressure.into_iter().flatten().collect(),
            heeds_pressure: true,
            lacking,
        })
    }

    /// Sleeps until something happens, or `span` has passed; the `actuator`'s are readable when the keeper of what is
    /// frozen has ended, and when an action that takes time has.
    ///
    /// # Errors
    /// When poll fails, which it does without memory only.
    pub fn wait(
        &mut self,
        server: Option<&mut Server>,
        others: [Option<BorrowedFd<'_>>; 4],
        now_ns: u64,
        span: Option<Duration>,
    ) -> std::io::Result<Woken> {
        let (readable, urgent) = (PollFlags::IN, PollFlags::PRI);
        let mut fds: Vec<(Source, BorrowedFd<'_>, PollFlags)> = Vec::with_capacity(16);
        fds.push((Source::Signals, self.signals.pipe.as_fd(), readable));
        fds.extend(self.clock.iter().map(|clock| (Source::Clock, clock.as_fd(), readable)));
        let groups = self.groups.iter().filter(|_| self.groups_pace.next_ns(now_ns).is_none());
        fds.extend(groups.map(|groups| (Source::Groups, groups.as_fd(), readable)));
        let sessions = self.sessions.iter().filter(|_| self.sessions_pace.next_ns(now_ns).is_none());
        fds.extend(sessions.map(|sessions| (Source::Sessions, sessions.as_fd(), readable)));
        fds.extend(self.front.iter().map(|front| (Source::Front, front.as_fd(), readable)));
        fds.extend(self.blocks.iter().map(|blocks| (Source::Blocks, blocks.as_fd(), readable)));
        fds.extend(self.queues.iter().map(|queues| (Source::Queues, queues.as_fd(), readable)));
        fds.extend(self.tables.iter().map(|table| (Source::Tables, table.as_fd(), urgent)));
        let pressure = self.pressure.iter().enumerate().filter(|_| self.heeds_pressure);
        fds.extend(pressure.map(|(index, watch)| (Source::Pressure(index), watch.as_fd(), urgent)));
        fds.extend(others.into_iter().flatten().map(|fd| (Source::Other, fd, readable)));
        if let Some(server) = server {
            fds.extend(server.interests(now_ns).into_iter().map(|(fd, flags)| (Source::Control, fd, flags)));
        }
        let order: Vec<Source> = fds.iter().map(|(source, _, _)| *source).collect();
        let mut polled: Vec<PollFd<'_>> =
            fds.iter().map(|(_, fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        let span = span.map(|span| Timespec {
            tv_sec: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: span.subsec_nanos().into(),
        });
        match poll(&mut polled, span.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let said: Vec<PollFlags> = polled.iter().map(PollFd::revents).collect();
        Ok(self.sort(&order, &said))
    }

    /// When a source that was left out is to be read again.
    #[must_use]
    pub fn next_ns(&self, now_ns: u64) -> Option<u64> {
        let lost = self.sessions.as_ref().and_then(SessionWatch::next_ns);
        self.groups_pace.next_ns(now_ns).into_iter().chain(self.sessions_pace.next_ns(now_ns)).chain(lost).min()
    }

    /// Whether messages of sessions were lost, and it is time to list all of them.
    #[must_use]
    pub fn has_lost_sessions(&self, now_ns: u64) -> bool {
        self.sessions.as_ref().and_then(SessionWatch::next_ns).is_some_and(|next_ns| next_ns <= now_ns)
    }

    /// Takes the changes of sessions.
    ///
    /// # Errors
    /// When they cannot be read any more.
    pub fn take_sessions(&mut self, now_ns: u64) -> brisk_sense::Result<Vec<SessionChange>> {
        self.sessions_pace.note_read(now_ns);
        self.sessions.as_mut().map_or_else(|| Ok(Vec::new()), |sessions| sessions.take(now_ns))
    }

    /// What shows that an app begins.
    #[must_use]
    pub fn found_by(&self) -> Vec<FoundBy> {
        let groups = self.groups.as_ref().map(|_| FoundBy::Groups);
        groups.into_iter().chain(self.sessions.as_ref().map(|_| FoundBy::Sessions)).collect()
    }

    /// Discards announcements of another foreground app.
    pub fn take_front(&mut self) {
        if let Some(Err(error)) = self.front.as_mut().map(FrontWatch::take) {
            brisk_program::warn!("briskd: the foreground app is unknown from now on: {}", in_one_line(&error));
            self.front = None;
        }
    }

    /// Whether the foreground app is known.
    #[must_use]
    pub fn knows_front(&self) -> bool {
        self.front.is_some()
    }

    /// Takes the changes of control groups.
    ///
    /// # Errors
    /// When they cannot be watched any more.
    pub fn take_groups(&mut self, now_ns: u64) -> brisk_sense::Result<Vec<GroupChange>> {
        self.groups_pace.note_read(now_ns);
        self.groups.as_mut().map_or_else(|| Ok(Vec::new()), GroupWatch::take)
    }

    fn sort(&mut self, order: &[Source], said: &[PollFlags]) -> Woken {
        let mut woken = Woken::default();
        let mut void = Vec::new();
        for (source, flags) in order.iter().zip(said) {
            if let Source::Control = source {
                woken.control.push(*flags);
                continue;
            }
            if flags.is_empty() {
                continue;
            }
            match source {
                Source::Signals => (woken.stop, woken.reload) = self.signals.take(),
                Source::Clock => {
                    woken.clock = true;
                    self.clock = clock_watch().ok();
                }
                Source::Groups => woken.groups = true,
                Source::Sessions => woken.sessions = true,
                Source::Front => woken.front = true,
                Source::Blocks => woken.blocks = true,
                Source::Queues => woken.queues = true,
                Source::Tables => woken.tables = true,
                Source::Pressure(index) if flags.intersects(PollFlags::ERR) => void.push(*index),
                Source::Pressure(index) => {
                    woken.pressure.extend(self.pressure.get(*index).map(PressureWatch::resource))
                }
                Source::Other | Source::Control => {}
            }
        }
        // From the last, so that numbers stay right.
        void.into_iter().rev().for_each(|index| drop(self.pressure.remove(index)));
        woken
    }

    /// Takes the changes of block devices.
    pub fn take_blocks(&mut self) -> Vec<BlockChange> {
        match self.blocks.as_mut().map(BlockWatch::take) {
            Some(Ok(changes)) => changes,
            Some(Err(error)) => {
                brisk_program::warn!("briskd: new devices are not seen any more: {}", in_one_line(&error));
                self.blocks = None;
                vec![BlockChange::Unknown]
            }
            None => Vec::new(),
        }
    }
}

/// Takes the value out of an outcome, and reports whether there was one; a source that rests is shown as such.
fn split<T>(
    outcome: Result<brisk_sense::Result<Option<T>>, Resting>,
    mut tell: impl FnMut(brisk_sense::Result<bool>),
) -> Option<T> {
    match outcome.ok()? {
        Ok(value) => {
            tell(Ok(value.is_some()));
            value
        }
        Err(error) => {
            tell(Err(error));
            None
        }
    }
}

/// A timer far away that fires early when the clock on the wall is set (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET).
fn clock_watch() -> rustix::io::Result<OwnedFd> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
    let never = Timespec { tv_sec: i64::from(i32::MAX) * 4, tv_nsec: 0 };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: never };
    timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET, &once)?;
    Ok(timer)
}

impl Signals {
    fn take_over() -> std::io::Result<Self> {
        let (pipe, raise) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let (stop, reload) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for (number, flag) in [(SIGTERM, &stop), (SIGINT, &stop), (SIGHUP, &reload)] {
            signal_hook::flag::register(number, Arc::clone(flag))?;
            signal_hook::low_level::pipe::register(number, raise.try_clone()?)?;
        }
        Ok(Self { pipe, stop, reload })
    }

    fn take(&mut self) -> (bool, bool) {
        let mut bytes = [0; 64];
        // One byte for each signal; the flags say which. What is left is announced again.
        let _ = self.pipe.read(&mut bytes);
        (self.stop.swap(false, Ordering::SeqCst), self.reload.swap(false, Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_event_is_read_at_once_and_a_burst_together() {
        let mut pace = Pace::default();
        let mut reads = 0;
        // One, a second later another one, and then one in each of a thousand milliseconds.
        for now_ns in [0, 1_000_000_000].into_iter().chain((0..1000u64).map(|ms| 2_000_000_000 + ms * 1_000_000)) {
            if pace.next_ns(now_ns).is_none() {
                pace.note_read(now_ns);
                reads += 1;
                assert!(now_ns > 2_000_000_000 || pace.next_ns(now_ns).is_none(), "{now_ns}");
            }
        }
        assert!((90..=120).contains(&reads), "{reads}");
    }
}
