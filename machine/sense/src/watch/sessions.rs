//! Sessions that begin a program: what stands for apps that have no control group of their own (kernel:
//! drivers/connector/cn_proc.c).
//!
//! An app that a person launches gets a session of its own (setsid(2)) in which a program runs, from desktops,
//! terminals and service managers alike. So a *session* is an app; it is launched when the first program begins in a
//! session that is new, and it is gone when no process of it is left. A process that merely forks or runs other
//! programs in the session it is in, as a compiler or a script does by the thousand, is no app and costs two words of a
//! message.
//!
//! The kernel sends a message for each process that begins, runs a program, makes a session, or ends. From 6.6 on it is
//! asked to send only the last three kinds; before, the others are dropped by a socket filter.
//!
//! Properties, each with a test: `the_first_program_of_a_new_session_begins_it`;
//! `programs_of_old_sessions_are_no_launch`; `many_sessions_at_once_are_rate_limited`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};

use brisk_core::text::one_line;
use brisk_core::token_bucket::TokenBucket;
use brisk_formats::KernelVersion;
use brisk_formats::proc_connector::{
    CN_PROC, EVENT_AT, EXEC, EXIT, ProcessMessage, SID, listen_request, parse_process_message,
};
use rustix::net::netlink::CONNECTOR;

use super::netlink::Netlink;
use super::socket_filter;
use crate::error::Result;
use crate::machine::Sense;

const SECOND_NS: u64 = 1_000_000_000;

/// The first kernel that sends only the kinds that were asked for.
const FILTERS: KernelVersion = KernelVersion { major: 6, minor: 6 };
/// Messages that are read at once; more are left for the next time. Any user can make thousands a second, and each may
/// cost a file of /proc.
const MESSAGES_MAX: usize = 512;

/// A session that is new waits this long for its first program.
const PENDING_NS: u64 = 2_000_000_000;
/// Sessions that wait at most: the oldest are given up.
const PENDING_MAX: usize = 64;
/// No person begins many sessions at once: the rate limit, as a burst and a second.
const BURST: u64 = 8;
const PER_S: u64 = 4;
/// Least time between two lists of all processes: after losses, and for sessions whose leader has ended.
const LOOK_NS: u64 = SECOND_NS;
/// Users from here on are people, or apps on Android; below are services.
const PERSON_UID_MIN: u32 = 1000;

/// A session that stands for an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSession {
    /// Its id, which is the pid of the process that made it.
    pub id: u32,
    /// The process that began its program: the one that made it, or a child that outlives that.
    pub pid: u32,
    /// The name of the program that runs in it.
    pub program: String,
    /// Whether it is a person's, or of an app on Android.
    pub of_user: bool,
    /// The user; `None` when unknown.
    pub user: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    Began(ProcessSession),
    /// No process of it is left.
    Gone(u32),
    /// Changes were lost: what there is, by id.
    Unknown(BTreeMap<u32, ProcessSession>),
}

/// Listens to the kernel's messages of processes. Needs CAP_NET_ADMIN.
#[derive(Debug)]
pub struct SessionWatch {
    sense: Sense,
    netlink: Netlink,
    births: Births,
    living: BTreeSet<u32>,
    /// Sessions whose leader has ended.
    orphans: BTreeSet<u32>,
    /// Whether messages were lost since all was listed.
    has_lost: bool,
    looked_ns: Option<u64>,
}

/// Finds the first program of each new session.
#[derive(Debug)]
struct Births {
    /// Sessions without a program, with the time of their making, oldest first.
    pending: VecDeque<(u32, u64)>,
    rate_limit: TokenBucket,
}

impl Default for Births {
    fn default() -> Self {
        Self { pending: VecDeque::new(), rate_limit: TokenBucket::new(BURST, SECOND_NS / PER_S) }
    }
}

impl Births {
    fn made(&mut self, session: u32, now_ns: u64) {
        if self.pending.len() >= PENDING_MAX {
            self.pending.pop_front();
        }
        self.pending.push_back((session, now_ns));
    }

    /// The session that begins because process `pid` runs a program; `session_of` says which session a process is in.
    fn ran(&mut self, pid: u32, now_ns: u64, session_of: impl FnOnce(u32) -> Option<u32>) -> Option<u32> {
        self.pending.retain(|(_, made_ns)| now_ns.saturating_sub(*made_ns) < PENDING_NS);
        if self.pending.is_empty() {
            return None;
        }
        let is_pending = |session: u32| self.pending.iter().any(|(pending, _)| *pending == session);
        let session = if is_pending(pid) { pid } else { session_of(pid).filter(|session| is_pending(*session))? };
        self.pending.retain(|(pending, _)| *pending != session);
        self.rate_limit.take(now_ns).then_some(session)
    }
}

impl SessionWatch {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the kernel has no process connector, or this process may not listen (it takes CAP_NET_ADMIN).
    pub fn new(sense: &Sense) -> Result<Self> {
        let netlink = Netlink::open("netlink:connector/proc", CONNECTOR, CN_PROC, |socket| {
            // Without the filter each message costs a wake-up, no more.
            let _ = socket_filter::attach(socket, &socket_filter::program(EVENT_AT as u32, [SID, EXEC, EXIT]));
        })?;
        let filters = KernelVersion::of(&sense.kernel_release()?).is_some_and(|version| version >= FILTERS);
        netlink.send(&listen_request(filters, std::process::id()))?;
        let births = Births::default();
        let (living, orphans) = (BTreeSet::new(), BTreeSet::new());
        let sense = sense.clone();
        let mut watch = Self { sense, netlink, births, living, orphans, has_lost: false, looked_ns: None };
        watch.living = watch.listed()?.into_keys().collect();
        Ok(watch)
    }

    /// Sessions that there are now, by id.
    ///
    /// # Errors
    /// When /proc cannot be listed.
    pub fn listed(&self) -> Result<BTreeMap<u32, ProcessSession>> {
        let mut sessions = BTreeMap::new();
        for name in self.sense.names_in("/proc")? {
            let Ok(pid) = name.parse::<u32>() else { continue };
            let Some(session) = self.session_of(pid) else { continue };
            // Processes are in the order of their numbers: the leader, as long as it lives, comes first or replaces.
            if (session == pid || !sessions.contains_key(&session))
                && let Some(found) = self.described(session, pid)
            {
                sessions.insert(session, found);
            }
        }
        Ok(sessions)
    }

    /// What became of sessions since the last time, at `now_ns`; to be called when the descriptor is readable.
    ///
    /// # Errors
    /// When the socket cannot be read.
    pub fn take(&mut self, now_ns: u64) -> Result<Vec<SessionChange>> {
        let mut changes = Vec::new();
        for message in self.netlink.take(MESSAGES_MAX, parse_process_message)? {
            match message {
                None => self.has_lost = true,
                Some(ProcessMessage::Sid(session)) => self.births.made(session, now_ns),
                Some(ProcessMessage::Exec(pid)) => {
                    let session_of = |pid| session_of(&self.sense, pid);
                    if let Some(session) = self.births.ran(pid, now_ns, session_of)
                        && let Some(found) = self.described(session, pid)
                        && self.living.insert(session)
                    {
                        changes.push(SessionChange::Began(found));
                    }
                }
                Some(ProcessMessage::Exit(pid)) if self.living.contains(&pid) => drop(self.orphans.insert(pid)),
                Some(ProcessMessage::Exit(_)) => {}
            }
        }
        changes.extend(self.check(now_ns)?);
        Ok(changes)
    }

    /// When [`SessionWatch::take`] is to be called although nothing may be readable: losses are made good then.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.has_lost.then(|| self.looked_ns.map_or(0, |looked_ns| looked_ns.saturating_add(LOOK_NS)))
    }

    /// Lists all sessions anew after losses, and finds those whose leader has ended and of which nothing else is left.
    /// Once a second at most, and when something happens: all processes have to be read, and a program that begins
    /// others without pause makes the kernel lose messages without end.
    fn check(&mut self, now_ns: u64) -> Result<Vec<SessionChange>> {
        let due = self.looked_ns.is_none_or(|looked_ns| now_ns.saturating_sub(looked_ns) >= LOOK_NS);
        if !due || self.orphans.is_empty() && !self.has_lost {
            return Ok(Vec::new());
        }
        self.looked_ns = Some(now_ns);
        let listed = self.listed()?;
        if std::mem::take(&mut self.has_lost) {
            self.orphans.clear();
            self.living = listed.keys().copied().collect();
            return Ok(vec![SessionChange::Unknown(listed)]);
        }
        let gone: Vec<u32> = self.orphans.iter().copied().filter(|session| !listed.contains_key(session)).collect();
        for session in &gone {
            self.orphans.remove(session);
            self.living.remove(session);
        }
        Ok(gone.into_iter().map(SessionChange::Gone).collect())
    }

    fn session_of(&self, pid: u32) -> Option<u32> {
        session_of(&self.sense, pid)
    }

    /// A session by one of its processes.
    fn described(&self, id: u32, pid: u32) -> Option<ProcessSession> {
        let stat = self.sense.process_stat(pid).ok().flatten()?;
        let program = one_line(&stat.comm.to_string_lossy()).into_owned();
        let user = self.sense.process_user(pid).ok().flatten();
        let of_user = user.is_some_and(|uid| uid >= PERSON_UID_MIN);
        Some(ProcessSession { id, pid, program, of_user, user })
    }
}

/// The session of a process; `None` for what is gone, for threads of the kernel and for those outside of this
/// namespace.
fn session_of(sense: &Sense, pid: u32) -> Option<u32> {
    let stat = sense.process_stat(pid).ok().flatten()?;
    u32::try_from(stat.session).ok().filter(|session| *session != 0)
}

impl AsFd for SessionWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.netlink.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_program_of_a_new_session_begins_it() {
        let mut births = Births::default();
        births.made(100, 0);
        births.made(200, 0);
        assert_eq!(births.ran(100, 1, |_| panic!("known to be the leader")), Some(100));
        // A child of the leader, as where a shell forks first; and only once.
        assert_eq!(births.ran(201, 2, |_| Some(200)), Some(200));
        assert_eq!(births.ran(200, 3, |_| Some(200)), None);
    }

    #[test]
    fn programs_of_old_sessions_are_no_launch() {
        let mut births = Births::default();
        assert_eq!(births.ran(5, 0, |_| panic!("not read while no session is new")), None);
        births.made(100, 0);
        assert_eq!(births.ran(5, 1, |_| Some(1)), None);
        assert_eq!(births.ran(5, 2, |_| None), None);
        // A service that only forks never begins one.
        assert_eq!(births.ran(100, PENDING_NS, |_| Some(100)), None);
    }

    #[test]
    fn many_sessions_at_once_are_rate_limited() {
        let mut births = Births::default();
        let mut begun = 0;
        // A thousand a second for ten seconds.
        for number in 0..10_000u64 {
            let (pid, now_ns) = (10 + number as u32, number * 1_000_000);
            births.made(pid, now_ns);
            begun += u64::from(births.ran(pid, now_ns, |_| None).is_some());
        }
        assert!((PER_S * 9..=PER_S * 10 + BURST).contains(&begun), "{begun}");
        // And then a single one at once.
        births.made(1, 20 * SECOND_NS);
        assert_eq!(births.ran(1, 20 * SECOND_NS, |_| None), Some(1));
        (0..1000).for_each(|pid| births.made(pid, 30 * SECOND_NS));
        assert_eq!(births.pending.len(), PENDING_MAX);
    }
}
