//! The loop: sleep, sense, decide, act, write down.
//!
//! One turn takes in what woke the daemon as events, and asks the engines if something happened or one of them wanted to be
//! asked by now. Between turns nothing runs.

mod answers;
mod hearing;
mod start;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use brisk_act::{Actuator, Lock};
use brisk_core::causes::in_one_line;
use brisk_core::decision::{Device, Observed};
use brisk_core::event::{Event, EventKind};
use brisk_core::snapshot::Snapshot;
use brisk_record::{Configuration, Decided, Note, Scene};
use brisk_sense::{Sampler, Sense};

use crate::apps::Apps;
use crate::clocks::Reading;
use crate::config::Config;
use crate::control::Server;
use crate::control::protocol::{Counts, TakenOver};
use crate::engines::Engines;
use crate::recorder::Recorder;
use crate::savings::{Savings, Under};
use crate::service::ServiceManager;
use crate::settings::{self, Settings};
use crate::sources::Sources;
use crate::{apps, devices, happenings};

pub use start::Options;

/// Rounds follow each other at this distance at the least, whatever happens in between.
const ROUND_NS_MIN: u64 = 50_000_000;
/// How long devices are left to settle before they are looked at: who partitions or mounts makes many changes.
const SETTLE_NS: u64 = 200_000_000;
/// Devices that only changed are not looked at more often: the device manager tells so of each that a program has written to
/// and closed.
const CHANGED_NS: u64 = 2_000_000_000;
/// The second round of `--once` comes after this.
const ONCE_NS: u64 = 1_000_000_000;
/// How long settings are taken for what they were unless somebody is heard to write one: what the kernel changes by itself is
/// not told.
const LOOK_AGAIN_NS: u64 = 60_000_000_000;
/// How long groups are taken for what they were: threads that an app makes have its priority already, and only what enters a
/// group from elsewhere has not.
const LOOK_AT_GROUPS_NS: u64 = 1_000_000_000;
/// Events that wait for a round at most; more than that say no more.
const EVENTS_MAX: usize = 1000;

/// The daemon.
pub struct Daemon {
    options: Options,
    sense: Sense,
    config: Config,
    configuration: Configuration,
    sources: Sources,
    server: Option<Server>,
    sampler: Sampler,
    engines: Engines,
    actuator: Actuator,
    recorder: Recorder,
    manager: ServiceManager,
    apps: Apps,
    devices: Vec<Device>,
    settings: Settings,
    savings: Savings,
    /// Whose settings are in force on each device since the last round; without those that it changed.
    under: BTreeMap<String, Under>,
    notes: Vec<Note>,
    taken_over: Vec<TakenOver>,
    trouble: Vec<String>,
    counts: Counts,
    started_unix_ms: u64,
    paused: bool,
    previous: Option<Snapshot>,
    events: Vec<Event>,
    /// The last reading of the clocks.
    now: Reading,
    last_round_ns: Option<u64>,
    next_look_ns: Option<u64>,
    look_at_devices_ns: Option<u64>,
    /// When they were, unless devices came or went since.
    looked_at_devices_ns: Option<u64>,
    look_for_others_ns: Option<u64>,
    /// When all settings were looked at.
    looked_ns: Option<u64>,
    /// When the groups were.
    looked_at_groups_ns: Option<u64>,
    /// Last, so that it outlives the journal.
    _lock: Lock,
}

impl Daemon {
    /// Runs until somebody wants it to end, and puts everything back.
    ///
    /// # Errors
    /// When it cannot go on, or something could not be put back.
    pub fn run(mut self) -> anyhow::Result<()> {
        self.look_at_devices();
        self.round();
        if self.options.once {
            let until_ns = self.now.monotonic_ns.saturating_add(ONCE_NS);
            while self.now.monotonic_ns < until_ns && !self.turn(Some(until_ns))? {}
            self.round();
        } else {
            self.manager.ready();
            while !self.turn(None)? {}
        }
        self.end()
    }

    fn end(mut self) -> anyhow::Result<()> {
        self.manager.stopping();
        self.now = Reading::now();
        let restored = self.actuator.restore();
        self.recorder.close(self.now);
        let report = restored.context("not everything is as it was before brisk; 'brisk reset' tries again")?;
        // What is gone has no setting that anybody could miss.
        for left in report.left.iter().filter(|left| left.found.is_some()) {
            eprintln!(
                "briskd: {} of {} stays {}: {}",
                left.knob,
                left.device,
                left.found.as_deref().unwrap_or("gone"),
                left.reason
            );
        }
        self.say(&format!("ends; {} settings are as before", report.restored.len()));
        Ok(())
    }

    /// When something is to be done although nothing happens.
    fn due_ns(&mut self) -> Option<u64> {
        let now_ns = self.now.monotonic_ns;
        let round = if self.events.is_empty() { self.next_look_ns } else { Some(now_ns) };
        let earliest_ns = self.last_round_ns.map_or(0, |last_ns| last_ns.saturating_add(ROUND_NS_MIN));
        let round = round.map(|due_ns| due_ns.max(earliest_ns));
        let control = self.server.as_mut().and_then(|server| server.next_ns(now_ns));
        let looks = [self.apps.next_look_ns(), self.look_at_devices_ns, self.look_for_others_ns];
        let others = looks.into_iter().chain([self.manager.next_ns(), self.sources.next_ns(now_ns), control]);
        round.into_iter().chain(others.flatten()).min()
    }

    /// Sleeps, and does what is to be done then; whether it is time to end.
    fn turn(&mut self, until_ns: Option<u64>) -> anyhow::Result<bool> {
        let due_ns = self.due_ns().into_iter().chain(until_ns).min();
        let span = due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(self.now.monotonic_ns)));
        let woken = self.sources.wait(self.server.as_mut(), self.now.monotonic_ns, span).context("cannot wait")?;
        self.counts.wake_ups += 1;
        let before = std::mem::replace(&mut self.now, Reading::now());
        let now_ns = self.now.monotonic_ns;
        if let Some(gap_ms) = self.now.gap_ms(&before, due_ns) {
            self.previous = None;
            self.happened(EventKind::Resumed { gap_ms });
        }
        if woken.stop {
            return Ok(true);
        }
        self.take_in(&woken);
        if self.look_for_others_ns.is_some_and(|due_ns| due_ns <= now_ns) {
            self.look_for_others();
        }
        if self.look_at_devices_ns.is_some_and(|due_ns| due_ns <= now_ns) {
            self.look_at_devices();
        }
        if woken.reload {
            // Who sent the signal reads the log.
            let _ = self.reload();
        }
        self.answer_all(&woken.control);
        let earliest_ns = self.last_round_ns.map_or(0, |last_ns| last_ns.saturating_add(ROUND_NS_MIN));
        let wanted = !self.events.is_empty() || self.next_look_ns.is_some_and(|due_ns| due_ns <= now_ns);
        if wanted && earliest_ns <= now_ns {
            self.round();
        }
        self.manager.alive(now_ns);
        Ok(false)
    }

    /// Has the sampler look at what is managed and runs.
    fn aim(&mut self) {
        let names = self.devices.iter().map(|device| device.name.clone()).collect();
        self.sampler.look_at(names, self.apps.groups());
    }

    /// Has the devices looked at when they have settled.
    fn look_at_devices_soon(&mut self) {
        let paced_ns = self.looked_at_devices_ns.map_or(0, |looked_ns| looked_ns.saturating_add(CHANGED_NS));
        let due_ns = self.now.monotonic_ns.saturating_add(SETTLE_NS).max(paced_ns);
        self.look_at_devices_ns = Some(self.look_at_devices_ns.map_or(due_ns, |earlier_ns| earlier_ns.min(due_ns)));
    }

    /// Finds out which devices are to be managed now.
    fn look_at_devices(&mut self) {
        self.look_at_devices_ns = None;
        self.looked_at_devices_ns = Some(self.now.monotonic_ns);
        let found = match devices::managed(&self.sense, &self.config.daemon.devices) {
            Ok(found) => found,
            Err(error) => return self.lacks(format!("devices are not known: {}", in_one_line(&error))),
        };
        self.actuator.look_again();
        let found = devices::with_originals(&self.devices, found, &self.settings.held());
        let has = |devices: &[Device], name: &str| devices.iter().any(|device| device.name == name);
        let came: Vec<String> =
            found.iter().map(|device| device.name.clone()).filter(|name| !has(&self.devices, name)).collect();
        let gone: Vec<String> =
            self.devices.iter().map(|device| device.name.clone()).filter(|name| !has(&found, name)).collect();
        let differs = found != self.devices;
        self.devices = found;
        for device in came {
            self.happened(EventKind::DeviceCame { device });
        }
        for device in gone {
            self.savings.forget(&device);
            self.happened(EventKind::DeviceGone { device });
        }
        if differs {
            self.aim();
            self.watch_queues();
        }
    }

    fn watch_queues(&mut self) {
        let Some(queues) = &mut self.sources.queues else { return };
        if let Err(error) = queues.watch(&self.sense, self.devices.iter().map(|device| device.name.as_str())) {
            self.lacks(format!("changes by others are not seen at once: {}", in_one_line(&error)));
        }
    }

    /// Lets go of what was announced of writes to queues, and has it looked at soon: who resizes the driver's tags goes
    /// through another scheduler and comes back.
    fn hear_queues(&mut self) {
        self.actuator.look_again();
        if let Some(Err(error)) = self.sources.queues.as_mut().map(brisk_sense::QueueWatch::take) {
            self.lacks(format!("changes by others are not seen at once: {}", in_one_line(&error)));
            self.sources.queues = None;
        }
        self.look_for_others_ns.get_or_insert(self.now.monotonic_ns.saturating_add(SETTLE_NS));
    }

    /// Looks whether somebody else changed what brisk had set.
    fn look_for_others(&mut self) {
        self.look_for_others_ns = None;
        for taken in self.actuator.check() {
            let (knob, found) = (taken.knob.to_string(), taken.found);
            self.counts.taken_over += 1;
            self.taken_over.retain(|known| known.knob != knob);
            self.taken_over.push(TakenOver { knob: knob.clone(), found: found.clone() });
            self.happened(EventKind::TakenOver { knob, found });
        }
        // What others set beside brisk's own is the value from before brisk now.
        self.look_at_devices_soon();
    }

    /// Asks the engines, does what came of it, and writes it down.
    fn round(&mut self) {
        let (now_ns, wall_unix_ms) = (self.now.monotonic_ns, self.now.wall_unix_ms());
        self.last_round_ns = Some(now_ns);
        self.counts.rounds += 1;
        let snapshot = match self.sampler.snapshot() {
            Ok(snapshot) => snapshot,
            Err(error) => {
                self.previous = None;
                return self.lacks(format!("this moment is not known: {}", in_one_line(&error)));
            }
        };
        if let Some(interval) = self.previous.as_ref().and_then(|previous| snapshot.since(previous)) {
            self.savings.take_in(&interval, &self.under);
        }
        let events = std::mem::take(&mut self.events);
        let sense = &self.sense;
        self.apps.look_at_nice(now_ns, |dir| nice_min(sense, dir), |dir| sense.cgroup_settings(dir));
        let apps = self.apps.list(&self.config.apps, &self.config.services);
        let observed = Observed {
            previous: self.previous.as_ref(),
            now: &snapshot,
            events: &events,
            devices: &self.devices,
            apps: &apps,
        };
        let round = self.engines.decide(&self.config, &observed);
        self.next_look_ns = round.next_look_ns;
        let targets: Vec<_> = if self.paused {
            Vec::new()
        } else {
            round.resolved.iter().map(|one| (one.knob.clone(), one.value.clone())).collect()
        };
        let is_due = |looked_ns: Option<u64>, after_ns| {
            looked_ns.is_none_or(|looked_ns| now_ns.saturating_sub(looked_ns) >= after_ns)
        };
        if is_due(self.looked_ns, LOOK_AGAIN_NS) || self.sources.queues.is_none() {
            self.actuator.look_again();
            self.looked_ns = Some(now_ns);
        }
        if is_due(self.looked_at_groups_ns, LOOK_AT_GROUPS_NS) {
            self.actuator.look_at_groups_again();
            self.looked_at_groups_ns = Some(now_ns);
        }
        let applied = self.actuator.apply_changed(&targets);
        let change = self.settings.take_in(&round.resolved, &applied, wall_unix_ms);
        let names = self.devices.iter().map(|device| device.name.as_str());
        self.under = self.settings.under(names, &change.effects);
        let differs = change.differs || round.notes != self.notes;
        self.tell_notes(&round.notes);
        self.notes = round.notes;
        for effect in &change.effects {
            let resolved = round.resolved.iter().find(|one| one.knob == effect.knob);
            self.tell("setting", &settings::sentence(effect, resolved));
            self.counts.writes += u64::from(matches!(effect.outcome.as_str(), "written" | "put_back"));
        }
        let decided = differs.then(|| Decided {
            at_ns: snapshot.at_ns,
            wall_unix_ms,
            settings: self.settings.recorded(),
            effects: change.effects.clone(),
            notes: self.notes.clone(),
        });
        let scene = Scene { devices: self.devices.clone(), apps };
        self.recorder.round(self.now, &events, &scene, &snapshot, decided);
        self.previous = Some(snapshot);
        for (knob, why) in change.refused {
            self.counts.refusals += 1;
            self.happened(EventKind::Refused { knob: knob.to_string(), why });
        }
        if change.effects.iter().any(|effect| matches!(effect.outcome.as_str(), "written" | "put_back")) {
            // The tunables of another scheduler are other files, and brisk's own writes are no news.
            self.watch_queues();
            self.hear_queues();
        }
    }

    /// Notes an event for the next round, and tells those who listen.
    fn happened(&mut self, kind: EventKind) {
        self.counts.events += 1;
        self.tell("event", &happenings::sentence(&kind));
        if self.events.len() < EVENTS_MAX {
            self.events.push(Event { at_ns: self.now.monotonic_ns, kind });
        }
    }

    /// Notes what the daemon cannot do, once.
    fn lacks(&mut self, what: String) {
        if !self.trouble.contains(&what) {
            eprintln!("briskd: {what}");
            self.trouble.push(what);
        }
    }

    /// A line of the log, where somebody wants more than the exceptions.
    fn say(&self, text: &str) {
        if self.options.foreground || self.options.once {
            eprintln!("briskd: {text}");
        }
    }
}

/// How nice the least nice process of a control group, or the leader of a session, is; `None` when it has none.
fn nice_min(sense: &Sense, dir: &Path) -> Option<i8> {
    let of_session = || dir.file_name()?.to_str()?.parse().ok().map(|leader| vec![leader]);
    let pids = if apps::is_session(dir) { of_session() } else { sense.cgroup_processes(dir).ok().flatten() }?;
    pids.into_iter().filter_map(|pid| sense.process_stat(pid).ok().flatten()).map(|process| process.nice).min()
}
