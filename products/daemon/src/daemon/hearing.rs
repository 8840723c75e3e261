//! What woke the daemon, made into events: apps that come, go and come to the front, and devices that change.

use std::collections::BTreeSet;
use std::path::Path;

use brisk_core::causes::in_one_line;
use brisk_core::event::{Event, EventKind};
use brisk_sense::{BlockChange, GroupChange, Resource, SessionChange, SessionWatch};

use super::Daemon;
use crate::apps;
use crate::sources::Woken;

impl Daemon {
    /// Turns what woke the daemon into events.
    pub(super) fn take_in(&mut self, woken: &Woken) {
        let now_ns = self.now.monotonic_ns;
        if woken.groups {
            self.take_in_groups();
        }
        if woken.sessions {
            self.take_in_sessions();
        }
        if woken.front || woken.groups || woken.sessions {
            self.look_at_front(woken.front);
        }
        let sense = &self.sense;
        let waited_us = |dir: &Path| {
            // Of a session nobody counts it; so its launch ends when the machine rests.
            let pressure = if apps::is_session(dir) {
                sense.pressure(Resource::Io).map(Some)
            } else {
                sense.cgroup_pressure(dir, Resource::Io)
            };
            pressure.ok().flatten().map(|pressure| pressure.some.total_us)
        };
        for event in self.apps.look(now_ns, waited_us) {
            self.happened(event.kind);
        }
        let changes = if woken.blocks { self.sources.take_blocks() } else { Vec::new() };
        for change in &changes {
            self.vacate(change);
        }
        if changes.iter().any(|change| !matches!(change, BlockChange::Changed(_))) {
            self.actuator.look_again();
            self.looked_at_devices_ns = None;
        }
        if !changes.is_empty() || woken.tables {
            self.look_at_devices_soon();
        }
        if woken.queues {
            self.hear_queues();
        }
        for resource in &woken.pressure {
            self.happened(EventKind::Pressure { resource: resource.to_string() });
        }
    }

    /// A device that has just gone out of use gets its settings back before the next user of its name finds them.
    fn vacate(&mut self, change: &BlockChange) {
        let (BlockChange::Changed(name) | BlockChange::Gone(name)) = change else { return };
        let device = brisk_formats::device_name(name);
        match self.actuator.vacate(&device) {
            Ok(false) => {}
            Ok(true) => self.tell("setting", &format!("{device} is out of use: its settings are as before brisk")),
            Err(error) => self.lacks(format!("settings of {device} are not put back: {}", in_one_line(&error))),
        }
    }

    fn take_in_sessions(&mut self) {
        let now_ns = self.now.monotonic_ns;
        let changes = match self.sources.take_sessions(now_ns) {
            Ok(changes) => changes,
            Err(error) => {
                self.lacks(format!("no launches without control groups are seen any more: {}", in_one_line(&error)));
                self.sources.sessions = None;
                return;
            }
        };
        for change in changes {
            let event = match change {
                SessionChange::Began(session) => self.apps.session_began(session, now_ns),
                SessionChange::Gone(id) => self.apps.session_gone(id, now_ns),
                SessionChange::Unknown => {
                    self.list_sessions();
                    None
                }
            };
            self.note_launch(event);
        }
    }

    /// After messages were lost: who is gone is gone, and who came meanwhile was not launched.
    fn list_sessions(&mut self) {
        let now_ns = self.now.monotonic_ns;
        let Some(Ok(listed)) = self.sources.sessions.as_ref().map(SessionWatch::listed) else { return };
        let gone: Vec<u32> = self.apps.sessions().filter(|id| !listed.contains_key(id)).collect();
        for id in gone {
            let event = self.apps.session_gone(id, now_ns);
            self.note_launch(event);
        }
        let known: BTreeSet<u32> = self.apps.sessions().collect();
        listed.into_values().filter(|session| !known.contains(&session.id)).for_each(|session| {
            self.apps.session_was_there(session);
        });
    }

    fn note_launch(&mut self, event: Option<Event>) {
        let Some(event) = event else { return };
        self.counts.launches += u64::from(matches!(event.kind, EventKind::LaunchBegan { .. }));
        self.happened(event.kind);
    }

    /// Finds out which apps are in front, where something says so.
    fn look_at_front(&mut self, announced: bool) {
        if announced {
            self.sources.take_front();
        }
        if !self.sources.knows_front() {
            return;
        }
        let front = self.sense.front_processes().ok().flatten().map(BTreeSet::from_iter);
        let sense = &self.sense;
        let processes = |dir: &Path| sense.cgroup_processes(dir).ok().flatten().unwrap_or_default();
        for event in self.apps.look_at_front(self.now.monotonic_ns, front.as_ref(), processes) {
            self.happened(event.kind);
        }
    }

    fn take_in_groups(&mut self) {
        let now_ns = self.now.monotonic_ns;
        let changes = match self.sources.take_groups(now_ns) {
            Ok(changes) => changes,
            Err(error) => {
                self.lacks(format!("no launches of apps are seen any more: {}", in_one_line(&error)));
                self.sources.groups = None;
                return;
            }
        };
        for change in changes {
            let event = match change {
                GroupChange::Began(group) => self.apps.began(group, now_ns),
                GroupChange::Gone(group) => self.apps.gone(&group, now_ns),
            };
            self.note_launch(event);
        }
        if self.sources.sessions.is_some() && self.apps.has_groups_of_apps() {
            // Somebody names groups for apps after all.
            self.sources.sessions = None;
            self.apps.forget_sessions();
        }
        self.aim();
    }
}
