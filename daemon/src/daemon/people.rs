//! What users and their sessions do: which app is in front or launched, as shells and launchers tell; sound, inhibitor
//! locks, the screen.

use std::collections::BTreeSet;
use std::path::Path;

use brisk_api::{Fault, Reply, Target, reply_with};
use brisk_core::event::EventKind;
use brisk_core::group::name;
use brisk_core::text::one_line;
use brisk_sense::{Group, Sense};

use super::{Daemon, Machine};
use crate::apps::{self, OfGroup, Preferences, Process, ProcessGroups, SoundAndLocks};
use crate::control::{Peer, Server};
use crate::trials::Acts;

/// How long it may take until an app that came to the foreground is told, where nothing is done for it: it has answered
/// its user by then.
const PATIENCE_MS: u64 = 1_000;
/// Processes and groups of an app that are read at most: a program can begin any number, and the loop reads files of
/// each.
const PROCESSES_MAX: usize = 1024;
const GROUPS_MAX: usize = 256;

impl Daemon {
    /// Reads what each app does for its user, unless that was done just now: for an engine that decides by it, or a
    /// client that asks.
    pub(super) fn observe_apps_when_due(&mut self) {
        if self.machine.apps.is_observation_due(self.moment.now.monotonic_ns) {
            self.observe_apps();
        }
    }

    /// Reads what each app does for its user.
    fn observe_apps(&mut self) {
        let now_ns = self.moment.now.monotonic_ns;
        let Machine { sense, apps, hierarchies, .. } = &mut self.machine;
        let told = self.server.as_ref().map(Server::sound).unwrap_or_default();
        let seen = SoundAndLocks::read(sense, hierarchies, &told);
        let of_group = |dir: &Path, is_scored: bool, is_listed: bool| {
            let is_session = apps::is_session(dir);
            let pids = if is_scored { processes(sense, dir) } else { Vec::new() };
            let listed = is_listed.then(|| if is_session { of_session(sense, dir) } else { processes(sense, dir) });
            OfGroup {
                // A session has no group of its own.
                frozen: if is_session { None } else { hierarchies.is_frozen(sense, dir).ok().flatten() },
                oom_kills: if is_session { None } else { hierarchies.oom_kills(sense, dir).ok().flatten() },
                cpu_us: if is_session { None } else { cpu_us(sense, dir) },
                is_connected: if is_scored { sense.has_connection(&pids).ok().flatten() } else { None },
                oom_score_adj: pids.into_iter().filter_map(|pid| sense.oom_score_adj(pid).ok().flatten()).min(),
                processes: listed.map(|pids| pids.into_iter().filter_map(|pid| process(sense, pid)).collect()),
                oomd: if is_session || !is_listed { None } else { sense.oomd_preference(dir) },
            }
        };
        let config = &self.policy.config;
        let rest_ns = config.daemon.rest_s.saturating_mul(1_000_000_000);
        for event in apps.observe((now_ns, rest_ns), &seen, &config.services, of_group) {
            self.push_event(event.kind);
        }
    }

    /// Counts the kills of a group that got its first process, or has lost its last one, while its files are there.
    pub(super) fn count_kills(&mut self, group: &Group) {
        let now_ns = self.moment.now.monotonic_ns;
        let Machine { sense, apps, hierarchies, .. } = &mut self.machine;
        let oom_kills = hierarchies.oom_kills(sense, &group.dir).ok().flatten();
        if let Some(event) = apps.count_kills(&group.dir, now_ns, oom_kills) {
            self.push_event(event.kind);
        }
    }

    /// Samples the screen when that is due, and lists the programs that act on memory when one of them came or went.
    pub(super) fn sample_screen(&mut self) {
        let now_ns = self.moment.now.monotonic_ns;
        let Machine { sense, screen, killers, .. } = &mut self.machine;
        let is_new = killers.is_unknown();
        if is_new {
            killers.refresh(sense, now_ns);
        }
        for change in screen.sample(sense, now_ns) {
            self.push_event(change);
        }
        if is_new {
            self.read_preferences();
        }
    }

    /// Reads anew what the person told other programs that end apps of their order.
    pub(super) fn read_preferences(&mut self) {
        let Machine { sense, apps, killers, .. } = &mut self.machine;
        let earlyoom = killers.running().iter().find(|program| program.name == "earlyoom").map(|program| program.pid);
        let mut preferences = Preferences::read(sense, earlyoom);
        let complaints = std::mem::take(&mut preferences.complaints);
        apps.prefer(preferences);
        complaints.into_iter().for_each(|complaint| self.report_trouble(complaint));
    }

    /// Has engines know by how much local time differs from UTC, where that is not what they know: people live by local
    /// time.
    pub(super) fn tell_local_time(&mut self) {
        let (now_ns, at_unix_ms) = (self.moment.now.monotonic_ns, self.moment.now.wall_unix_ms());
        let Machine { sense, local_time, told_utc_offset_s, .. } = &mut self.machine;
        let Some(utc_offset_s) = local_time.utc_offset_s(sense, now_ns, at_unix_ms) else { return };
        if told_utc_offset_s.replace(utc_offset_s) != Some(utc_offset_s) {
            self.push_event(EventKind::LocalTime { utc_offset_s });
        }
    }

    /// A shell told which app is in front, or that none is.
    pub(super) fn set_front(&mut self, target: Option<&Target>, peer: Peer) -> Result<Reply, Fault> {
        let groups = match target {
            Some(Target::Id(app_id)) => self.of_window(app_id, peer)?,
            Some(target) => vec![self.find(target, peer)?],
            None => Vec::new(),
        };
        for group in &groups {
            self.may_tell(group, peer)?;
        }
        // Without an app, it is about those that leave: the caller's, or of all seats.
        let users: BTreeSet<Option<u32>> = match (target, self.user_of(peer)) {
            (Some(_), _) => groups.iter().map(|group| group.user).collect(),
            (None, Some(uid)) => BTreeSet::from([Some(uid)]),
            (None, None) => self.machine.apps.users(),
        };
        for user in users {
            let of_user: Vec<Group> = groups.iter().filter(|group| group.user == user).cloned().collect();
            for event in self.machine.apps.tell_front(&of_user, user, self.moment.now.monotonic_ns) {
                self.push_event(event.kind);
            }
        }
        if groups.is_empty() {
            self.actuator.in_front(None);
        }
        // That no app is in front is no event, and engines that decide by it are to know.
        if groups.is_empty() && self.policy.engines.uses().activities {
            self.moment.wanted_ns = Some(self.moment.now.monotonic_ns);
        }
        let patience_ms = if self.acts() == Acts::OnMemory { 0 } else { PATIENCE_MS };
        Ok(reply_with(&[("group", &groups.first().map(|group| &group.key)), ("patience_ms", &patience_ms)]))
    }

    /// The apps that a window with this app id may be of. Apps of which the client may not tell are no matter: their
    /// windows are on another screen.
    fn of_window(&self, app_id: &str, peer: Peer) -> Result<Vec<Group>, Fault> {
        let found = self.machine.apps.of_window(app_id);
        let mut fault = None;
        let (mut closest, mut groups) = (None, Vec::new());
        for (likeness, group) in found {
            match self.may_tell(&group, peer) {
                Ok(()) if *closest.get_or_insert(likeness) == likeness => groups.push(group),
                Ok(()) => break,
                Err(why) => drop(fault.get_or_insert(why)),
            }
        }
        if groups.is_empty() {
            return Err(fault.unwrap_or_else(|| Fault::NoSuchApp(format!("{app_id:?}"))));
        }
        Ok(groups)
    }

    /// A launcher told that an app is being launched; it may have no process yet.
    pub(super) fn launch_begins(&mut self, target: &Target, peer: Peer) -> Result<Reply, Fault> {
        let now_ns = self.moment.now.monotonic_ns;
        let group = match (self.find(target, peer), target) {
            (Ok(group), _) => {
                self.may_tell(&group, peer)?;
                let event = self.machine.apps.tell_launch(&group, now_ns);
                self.note_launch(event);
                group
            }
            (Err(_), Target::Id(id)) => {
                let user = self.user_of(peer);
                self.machine.apps.tell_launch_of(id, user, now_ns).map_err(|_| Fault::NoSuchApp(format!("{id:?}")))?
            }
            (Err(fault), _) => return Err(fault),
        };
        Ok(reply_with(&[("group", &group.key)]))
    }

    /// A launcher told that a launch has ended: the app can be used.
    pub(super) fn launch_ends(&mut self, target: &Target, peer: Peer) -> Result<Reply, Fault> {
        let group = self.find(target, peer)?;
        self.may_tell(&group, peer)?;
        let event = self.machine.apps.tell_launch_end(&group, self.moment.now.monotonic_ns);
        self.note_launch(event);
        Ok(reply_with(&[("group", &group.key)]))
    }

    /// A session told whether its user is idle.
    pub(super) fn set_idle(&mut self, idle: bool) -> Result<Reply, Fault> {
        let changes: Vec<EventKind> = self.machine.screen.tell_idle(idle);
        changes.into_iter().for_each(|change| self.push_event(change));
        Ok(reply_with(&[]))
    }

    /// The user who calls; `None` for one who may tell of every user's apps.
    fn user_of(&self, peer: Peer) -> Option<u32> {
        let may_change = self.server.as_ref().is_some_and(|server| server.may_change(peer));
        (!may_change).then_some(peer.uid)
    }

    fn find(&self, target: &Target, peer: Peer) -> Result<Group, Fault> {
        let Machine { sense, apps, hierarchies, .. } = &self.machine;
        let place = |pid: u32| ProcessGroups::of(sense, hierarchies, pid);
        apps.find(target, self.user_of(peer), place).map_err(|_| Fault::NoSuchApp(target.to_string()))
    }

    /// Whether a client may tell something about the app: root, the daemon's own user, and the user whose app it is.
    fn may_tell(&self, group: &Group, peer: Peer) -> Result<(), Fault> {
        let Some(uid) = self.user_of(peer) else { return Ok(()) };
        let sense = &self.machine.sense;
        let of = |pid: u32| sense.status_of(pid).ok().flatten().map(|status| status.effective_uid);
        let is_own_by_processes = || {
            let users: Vec<u32> = processes(sense, &group.dir).into_iter().filter_map(of).collect();
            !users.is_empty() && users.iter().all(|of| *of == uid)
        };
        if group.user == Some(uid) || is_own_by_processes() {
            return Ok(());
        }
        let name = name(&group.key);
        Err(Fault::NotAllowed(format!("{name} is of another user, and you are user {uid}: only root may tell of it")))
    }
}

/// What a process is, by which parts of a terminal or session are told apart; `None` when it has ended.
fn process(sense: &Sense, pid: u32) -> Option<Process> {
    let stat = sense.process_stat(pid).ok().flatten().filter(|stat| !stat.has_ended())?;
    let memory = sense.process_memory(pid).ok().flatten().unwrap_or_default();
    Some(Process {
        pid,
        parent: stat.parent,
        session: u32::try_from(stat.session).unwrap_or_default(),
        has_terminal: stat.terminal != 0,
        start_ticks: stat.start_ticks,
        name: one_line(&stat.comm.to_string_lossy()).into_owned(),
        memory_bytes: memory.anonymous_bytes.saturating_add(memory.swapped_bytes),
    })
}

/// Processor time of a group so far; where the group does not count it, that of its processes.
fn cpu_us(sense: &Sense, dir: &Path) -> Option<u64> {
    let of_group = sense.cgroup_cpu(dir).ok().flatten().map(|cpu| cpu.usage_us);
    let us_per_tick = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let of_processes = || {
        let stats = processes(sense, dir).into_iter().filter_map(|pid| sense.process_stat(pid).ok().flatten());
        stats.map(|stat| stat.user_ticks.saturating_add(stat.system_ticks).saturating_mul(us_per_tick)).sum()
    };
    Some(of_group.unwrap_or_else(of_processes))
}

/// The processes of a session.
fn of_session(sense: &Sense, dir: &Path) -> Vec<u32> {
    let Some(session) = dir.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok()) else { return Vec::new() };
    let is_in = |pid: &u32| sense.process_stat(*pid).ok().flatten().is_some_and(|stat| stat.session == session);
    sense.process_ids().unwrap_or_default().into_iter().filter(is_in).collect()
}

/// The processes of a control group, those of groups below it included, or the leader of a session. Of a group with
/// more than are read in the loop, the first ones.
pub(super) fn processes(sense: &Sense, dir: &Path) -> Vec<u32> {
    if apps::is_session(dir) {
        return dir.file_name().and_then(|name| name.to_str()?.parse().ok()).into_iter().collect();
    }
    let (mut pids, mut dirs, mut next) = (Vec::new(), vec![dir.to_owned()], 0);
    while let Some(dir) = dirs.get(next).cloned().filter(|_| pids.len() < PROCESSES_MAX) {
        next += 1;
        pids.extend(sense.cgroup_processes(&dir).ok().flatten().unwrap_or_default());
        if dirs.len() < GROUPS_MAX && sense.has_groups_below(&dir) {
            let below = sense.groups_below(&dir).unwrap_or_default();
            dirs.extend(below.into_iter().take(GROUPS_MAX).map(|name| dir.join(name)));
        }
    }
    pids.truncate(PROCESSES_MAX);
    pids
}
