//! What woke the daemon, as events: apps that start, end and come to the foreground, and devices that change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brisk_api::render;
use brisk_core::causes::in_one_line;
use brisk_core::event::{Event, EventKind};
use brisk_core::group::name;
use brisk_formats::group_name;
use brisk_sense::{BlockChange, GroupChange, GroupWatch, ProcessSession, QueueWatch, Resource, Sense, SessionChange};

use super::{Daemon, Machine, SETTLE_NS, timer};
use crate::apps::{self, ProcessGroups};
use crate::sources::Woken;

/// Writes since the last round that engines are to see at once while an app is launched: fewer are a commit of a
/// journal.
const WRITES_MIN: u64 = 4;
/// Speed of storage by which waits are guessed from what was read: 100 MB/s.
const READ_BYTES_PER_US: u64 = 100;

impl Daemon {
    /// Turns what woke the daemon into events.
    pub(super) fn collect_events(&mut self, woken: &Woken) {
        if woken.groups {
            self.take_in_groups();
        }
        if woken.sessions {
            self.take_in_sessions();
        }
        if woken.front || woken.groups || woken.sessions {
            self.update_front(woken.front);
        }
        let changes = if woken.blocks { self.machine.sources.take_blocks() } else { Vec::new() };
        for change in &changes {
            self.vacate(change);
        }
        if changes.iter().any(|change| !matches!(change, BlockChange::Changed(_))) {
            self.actuator.invalidate();
            self.machine.scanned_ns = None;
        }
        if !changes.is_empty() || woken.tables {
            self.scan_devices_soon();
        }
        if woken.queues {
            self.take_in_queues();
        }
        for resource in &woken.pressure {
            self.push_event(EventKind::Pressure { resource: resource.to_string() });
        }
    }

    /// Samples the apps that are being launched; gives events for launches that ended.
    pub(super) fn sample_launches(&mut self) {
        let Machine { sense, apps, .. } = &mut self.machine;
        let waited_us = |dir: &Path| {
            let own = || sense.cgroup_pressure(dir, Resource::Io).ok().flatten();
            // Sessions, and groups of version 1, have no counter of their own: the launch ends when the machine rests.
            let pressure = own().or_else(|| sense.pressure(Resource::Io).ok());
            pressure.map(|pressure| pressure.some.total_us).or_else(|| reading_us(sense, dir))
        };
        for event in apps.sample_launches(self.moment.now.monotonic_ns, waited_us) {
            self.push_event(event.kind);
        }
        self.take_opens();
        self.meet_writes();
    }

    /// Has engines asked at once when writes begin while an app is launched. Only the disks are read for it: without
    /// writes, a launch costs no rounds.
    fn meet_writes(&mut self) {
        if !self.machine.apps.has_launches() || self.state.settings.is_any_in_force() {
            // With settings in force engines ask often enough.
            return;
        }
        // A failure shows again, and is reported, in the next round.
        let began = self.machine.sampler.disks().is_some_and(|disks| self.writes_since(&disks, WRITES_MIN));
        if began {
            self.moment.wanted_ns = Some(self.moment.now.monotonic_ns);
            self.schedule_round();
        }
    }

    /// A queue was written externally. Its settings are read when they have settled: a resize of the driver's tags goes
    /// through another scheduler and comes back.
    fn take_in_queues(&mut self) {
        self.take_queue_writes();
        self.actuator.invalidate();
        self.timers.set_at_latest(timer::CHECK_SETTINGS, self.moment.now.monotonic_ns.saturating_add(SETTLE_NS));
        self.scan_devices_soon();
    }

    /// Devices whose queues were written since the last call.
    pub(super) fn take_queue_writes(&mut self) -> BTreeSet<String> {
        match self.machine.sources.queues.as_mut().map(QueueWatch::take) {
            Some(Ok(devices)) => devices,
            Some(Err(error)) => {
                self.report_trouble(format!("external changes are not seen at once: {}", in_one_line(&error)));
                self.machine.sources.queues = None;
                BTreeSet::new()
            }
            None => BTreeSet::new(),
        }
    }

    /// Restores the settings of a device that has just gone out of use, before its name is used again.
    fn vacate(&mut self, change: &BlockChange) {
        let (BlockChange::Changed(name) | BlockChange::Gone(name)) = change else { return };
        let device = brisk_formats::device_name(name);
        match self.actuator.vacate(&device) {
            Ok(false) => {}
            Ok(true) => self.publish("setting", render::out_of_use(&device)),
            Err(error) => {
                self.report_trouble(format!("settings of {device} could not be restored: {}", in_one_line(&error)))
            }
        }
    }

    /// Has sessions listed after their messages were lost, when that is due.
    pub(super) fn make_good_losses(&mut self) {
        if self.machine.sources.has_lost_sessions(self.moment.now.monotonic_ns) {
            self.take_in_sessions();
        }
    }

    fn take_in_sessions(&mut self) {
        let now_ns = self.moment.now.monotonic_ns;
        let changes = match self.machine.sources.take_sessions(now_ns) {
            Ok(changes) => changes,
            Err(error) => {
                self.report_trouble(format!(
                    "apps without a control group of their own are not seen any more: {}",
                    in_one_line(&error)
                ));
                self.machine.sources.sessions = None;
                return;
            }
        };
        for change in changes {
            if let SessionChange::Began(session) = &change {
                self.machine.killers.note(&session.program);
            }
            let event = match change {
                SessionChange::Began(session) if !self.machine.is_told_by_session(&session) => None,
                SessionChange::Began(session) => self.machine.apps.session_began(session, now_ns),
                SessionChange::Gone(id) => self.machine.apps.session_gone(id, now_ns),
                SessionChange::Unknown(listed) => {
                    self.take_in_list(listed);
                    None
                }
            };
            self.note_launch(event);
        }
    }

    /// After messages were lost: sessions that ended are removed, and those that are new do not count as launches.
    fn take_in_list(&mut self, listed: BTreeMap<u32, ProcessSession>) {
        let now_ns = self.moment.now.monotonic_ns;
        let gone: Vec<u32> = self.machine.apps.sessions().filter(|id| !listed.contains_key(id)).collect();
        for id in gone {
            let event = self.machine.apps.session_gone(id, now_ns);
            self.note_launch(event);
        }
        let known: BTreeSet<u32> = self.machine.apps.sessions().collect();
        for session in listed.into_values().filter(|session| !known.contains(&session.id)) {
            if self.machine.is_told_by_session(&session) {
                self.machine.apps.session_was_there(session);
            }
        }
    }

    /// A group of an app came to life: what it holds is that app, and no longer one by its session. Desktops and
    /// `flatpak run` make the group after the process has begun.
    fn drop_sessions_in(&mut self, dir: &Path) {
        if !group_name::is_app(&group_name::last_name(dir)) {
            return;
        }
        let pids = self.machine.sense.cgroup_processes(dir).ok().flatten().unwrap_or_default();
        for id in self.machine.apps.sessions_of(&pids) {
            let event = self.machine.apps.session_gone(id, self.moment.now.monotonic_ns);
            self.note_launch(event);
        }
    }

    pub(super) fn note_launch(&mut self, event: Option<Event>) {
        let Some(event) = event else { return };
        self.state.counts.launches += u64::from(matches!(event.kind, EventKind::LaunchBegan { .. }));
        self.push_event(event.kind);
    }

    /// Finds out which apps are in the foreground, where the system tells.
    fn update_front(&mut self, announced: bool) {
        if announced {
            self.machine.sources.take_front();
        }
        let knows_front = self.machine.sources.knows_front();
        self.machine.apps.expect_front(knows_front);
        if !knows_front {
            return;
        }
        let front = self.machine.sense.front_processes().ok().flatten().map(BTreeSet::from_iter);
        let sense = &self.machine.sense;
        let processes = |dir: &Path| sense.cgroup_processes(dir).ok().flatten().unwrap_or_default();
        for event in self.machine.apps.update_front(self.moment.now.monotonic_ns, front.as_ref(), processes) {
            self.note_launch(Some(event));
        }
    }

    /// Says of whose control groups some are not watched.
    pub(super) fn report_left_out(&mut self) {
        let left_out = self.machine.sources.groups.as_mut().map(GroupWatch::take_left_out).unwrap_or_default();
        left_out.into_iter().for_each(|left_out| self.report_trouble(left_out));
    }

    fn take_in_groups(&mut self) {
        let now_ns = self.moment.now.monotonic_ns;
        let changes = match self.machine.sources.take_groups(now_ns) {
            Ok(changes) => changes,
            Err(error) => {
                self.report_trouble(format!("launches of apps are not seen any more: {}", in_one_line(&error)));
                self.machine.sources.groups = None;
                return;
            }
        };
        self.report_left_out();
        for change in changes {
            let (GroupChange::Began(group) | GroupChange::Gone(group)) = &change;
            self.machine.killers.note(name(&group.key));
            let event = match change {
                GroupChange::Began(group) => {
                    self.drop_sessions_in(&group.dir);
                    let event = self.machine.apps.began(group.clone(), now_ns);
                    self.count_kills(&group);
                    event
                }
                GroupChange::Gone(group) => {
                    self.count_kills(&group);
                    self.machine.apps.gone(&group, now_ns)
                }
            };
            self.note_launch(event);
        }
        self.aim_sampler();
    }
}

impl Machine {
    /// Whether a session stands for what runs in it.
    fn is_told_by_session(&self, session: &ProcessSession) -> bool {
        let place = ProcessGroups::of(&self.sense, &self.hierarchies, session.pid);
        apps::is_told_by_session(place.group.as_deref(), self.sources.groups.is_some())
    }
}

/// Where the kernel counts no waits: about how long the processes of an app have waited for what they read.
fn reading_us(sense: &Sense, dir: &Path) -> Option<u64> {
    let read = super::people::processes(sense, dir).into_iter().filter_map(|pid| sense.process_io(pid).ok().flatten());
    read.map(|moved| moved.read_bytes / READ_BYTES_PER_US).reduce(u64::saturating_add)
}
