//! The loop: sleep, sense, decide, act, record.
//!
//! One turn makes events of what woke the daemon, runs the timers that are due ([`Timers`]), and starts a *round* when
//! events wait or an engine wants to be asked. A round takes a snapshot, asks the engines, has the arbiter resolve
//! their requests, applies settings and one-shot actions, and records all of it. Between turns nothing runs.

mod answers;
mod events;
mod learning;
mod losses;
mod pages;
mod people;
mod round;
mod start;
mod trying;
mod wishes;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use brisk_act::{Actuator, Keeper, Lock, Paths, Tended};
use brisk_api::{Counts, DEVICES_UNREAD, LackingRight, LeftAlone, render};
use brisk_core::action::Once;
use brisk_core::causes::in_one_line;
use brisk_core::decision::Note;
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::Knob;
use brisk_core::outcome::Outcome;
use brisk_core::pages::Touched;
use brisk_core::snapshot::Snapshot;
use brisk_core::state::{ActionState, ChangedExternally, SettingState};
use brisk_program::memory;
use brisk_sense::{Hierarchies, LocalTime, Sampler, Sense};

use crate::account::{Account, Line};
use crate::apps::{self, Apps};
use crate::attempts::Attempts;
use crate::clocks::Reading;
use crate::config::Config;
use crate::control::Server;
use crate::devices::{self, Disks};
use crate::engines::Engines;
use crate::hook::Hook;
use crate::jobs::Jobs;
use crate::killers::Killers;
use crate::places::Places;
use crate::pressure;
use crate::profiles;
use crate::returns::{ANSWER_NS, Returns};
use crate::savings::{EnginesInForce, Savings};
use crate::screen::Screen;
use crate::service::ServiceManager;
use crate::settings::Settings;
use crate::sources::Sources;
use crate::timers::{Timer, Timers};
use crate::trials::{Acts, Trials};
use crate::writer::Writer;

pub use start::Options;

/// Minimum time between two rounds.
const ROUND_NS_MIN: u64 = 50_000_000;
/// Devices and queues settle for this time before they are read: partitioning and mounting make many changes.
const SETTLE_NS: u64 = 200_000_000;
/// Minimum time between two scans of devices that only changed: the device manager announces each write and close.
const CHANGED_NS: u64 = 2_000_000_000;
/// Time of the second round of `--once`.
const ONCE_NS: u64 = 1_000_000_000;
/// Longest time for which rounds wait for apps that answer, one after the other.
const ANSWERS_NS_MAX: u64 = 10_000_000_000;
/// Maximum of events that wait for a round; further ones are counted and dropped.
const EVENTS_MAX: usize = 1000;
/// Kinds of trouble that are kept and logged: messages may name processes.
const TROUBLE_MAX: usize = 200;
/// Number of one-shot actions that `brisk status` shows.
const ACTIONS_SHOWN: usize = 16;

mod timer {
    pub(super) const ROUND: &str = "round";
    pub(super) const SCAN_DEVICES: &str = "scan devices";
    pub(super) const CHECK_SETTINGS: &str = "check settings";
    pub(super) const SAMPLE_LAUNCHES: &str = "sample launches";
    pub(super) const SAMPLE_RETURN: &str = "sample return";
    pub(super) const PREPARE_RETURN: &str = "prepare return";
    pub(super) const ADVANCE_ACTIONS: &str = "advance actions";
    pub(super) const SAMPLE_SCREEN: &str = "sample screen";
    pub(super) const WATCHDOG: &str = "watchdog";
    pub(super) const LISTEN_AGAIN: &str = "listen again";
    pub(super) const TAKE_OPENS: &str = "take opens";
    pub(super) const CONTROL: &str = "control";
    pub(super) const SAVE_LEARNED: &str = "save learned";
    pub(super) const HOOK: &str = "hook";
    pub(super) const JOB: &str = "job";
    pub(super) const FINISH: &str = "finish";
}

/// All timers with their actions. Those without one only end the sleep: each turn serves them anyway.
const TIMERS: &[Timer<Daemon>] = &[
    (timer::ROUND, Daemon::round),
    (timer::SCAN_DEVICES, Daemon::scan_devices),
    (timer::CHECK_SETTINGS, Daemon::check_settings),
    (timer::SAMPLE_LAUNCHES, Daemon::sample_launches),
    (timer::SAMPLE_RETURN, Daemon::sample_return),
    (timer::PREPARE_RETURN, Daemon::prepare_return),
    (timer::ADVANCE_ACTIONS, Daemon::advance_actions),
    (timer::SAMPLE_SCREEN, |_| ()),
    (timer::WATCHDOG, |daemon| daemon.manager.alive(daemon.moment.now.monotonic_ns)),
    (timer::LISTEN_AGAIN, Daemon::make_good_losses),
    (timer::TAKE_OPENS, Daemon::take_opens),
    (timer::CONTROL, |_| ()),
    (timer::SAVE_LEARNED, Daemon::save_learned),
    (timer::HOOK, Daemon::tend_hook),
    (timer::JOB, Daemon::tend_job),
    (timer::FINISH, |daemon| daemon.is_finished = true),
];

pub struct Daemon {
    options: Options,
    policy: Policy,
    machine: Machine,
    moment: Moment,
    state: State,
    timers: Timers<Self>,
    attempts: Attempts,
    actuator: Actuator,
    writer: Writer,
    server: Option<Server>,
    hook: Hook,
    jobs: Jobs,
    manager: ServiceManager,
    /// Whether the loop is to end.
    is_finished: bool,
    /// Last, so that it outlives the journal.
    _lock: Lock,
}

struct Policy {
    config: Config,
    /// What was measured on devices: texts by folder and name.
    measured: BTreeMap<String, String>,
    engines: Engines,
    /// Whether engines pay, and what of theirs is not applied meanwhile.
    trials: Trials,
    /// Release of the kernel, for the trials.
    kernel: String,
    /// What engines have learned, as it was handed over last to be written: digests by file, as the texts may be long.
    saved: BTreeMap<String, u64>,
}

/// The machine as it is sensed.
struct Machine {
    sense: Sense,
    sources: Sources,
    sampler: Sampler,
    apps: Apps,
    returns: Returns,
    /// When groups were scanned last that engines asked for.
    pages_scanned_ns: Option<u64>,
    opens: pages::Opens,
    places: Places,
    hierarchies: Hierarchies,
    screen: Screen,
    local_time: LocalTime,
    /// By how much it differs from UTC, as engines know it.
    told_utc_offset_s: Option<i32>,
    killers: Killers,
    devices: Vec<Device>,
    left_alone: Vec<LeftAlone>,
    /// When they were scanned; `None` when devices came or went since.
    scanned_ns: Option<u64>,
}

/// The current turn and the round before.
struct Moment {
    /// Clocks at the beginning of the turn.
    now: Reading,
    /// Snapshot of the last round; `None` after a gap.
    previous: Option<Snapshot>,
    /// Events since the last round, and when they call for one.
    events: Vec<Event>,
    events_due_ns: Option<u64>,
    last_round_ns: Option<u64>,
    /// When an engine wants to be asked.
    wanted_ns: Option<u64>,
    /// No round comes before the app in front has answered, since nothing would be done in it.
    answered_ns: Option<u64>,
}

/// What came of the decisions so far: the state behind `brisk status`.
struct State {
    settings: Settings,
    /// The last one-shot actions.
    actions: VecDeque<ActionState>,
    notes: Vec<Note>,
    changed_externally: Vec<ChangedExternally>,
    savings: Savings,
    /// Pressure over the last day.
    day: pressure::Day,
    /// Engines whose settings were in force on each device since the last round; without devices that it changed.
    under: BTreeMap<String, EnginesInForce>,
    /// What the daemon lacks or could not do, a sentence each.
    trouble: Vec<String>,
    /// Files of the kernel that cannot be read at present, a sentence each.
    failing: BTreeSet<String>,
    /// Rights that the service lacks, and what that costs.
    lacking_rights: Vec<LackingRight>,
    /// What stands in the log of what was done to apps.
    account: Account,
    counts: Counts,
    started_unix_ms: u64,
    is_paused: bool,
}

impl Daemon {
    /// Runs until a signal or `--once` ends it, and restores everything.
    ///
    /// # Errors
    /// When poll fails, or settings are not, or not known to be, as they were before brisk: those of this daemon, or
    /// those of a killed one whose journal is damaged.
    pub fn run(mut self) -> anyhow::Result<()> {
        self.scan_devices();
        self.report_left_out();
        self.read_preferences();
        self.sample_screen();
        self.round();
        if self.options.once {
            self.timers.set(timer::FINISH, Some(self.moment.now.monotonic_ns.saturating_add(ONCE_NS)));
        } else {
            self.manager.ready();
        }
        // Not before: it takes 20 ms, and nothing but the status needs it.
        self.state.lacking_rights = crate::rights::lacking(&self.machine.sense);
        // Of the program's files the start alone has used most.
        memory::let_go_of_files();
        memory::trim();
        while !self.is_finished {
            self.turn()?;
        }
        if self.options.once {
            self.round();
        }
        self.end()
    }

    fn end(mut self) -> anyhow::Result<()> {
        self.manager.stopping();
        self.moment.now = Reading::now();
        let changes = self.policy.trials.end(self.moment.now.wall_unix_ms());
        self.take_in_trials(&changes);
        self.save_learned();
        let restored = self.actuator.restore();
        self.attempts.close();
        self.writer.close(self.moment.now);
        self.take_in_failures();
        let report = restored.context("not everything is as it was before brisk; 'brisk reset' tries again")?;
        if !self.options.dry_run {
            start::check_restored(&Paths::with_run_dir(&self.options.run_dir))?;
        }
        // The settings of a removed device need no restore.
        for left in report.left.iter().filter(|left| left.found.is_some()) {
            let found = left.found.as_deref().unwrap_or_default();
            brisk_program::warn!("briskd: {} of {} stays {found}: {}", left.knob, left.device, left.reason);
        }
        self.say(&format!("ends; {} settings are as before", report.restored.len()));
        Ok(())
    }

    /// Sleeps, and serves what is due then.
    fn turn(&mut self) -> anyhow::Result<()> {
        self.set_deadlines();
        self.machine.sources.heeds_pressure = self.acts() != Acts::No;
        let (now_ns, due_ns) = (self.moment.now.monotonic_ns, self.timers.next_ns());
        let span = due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        let keeper = self.actuator.keeper().and_then(Keeper::pidfd);
        let others = [keeper, self.actuator.worker_fd(), self.hook.fd(), self.jobs.fd()];
        let woken = self.machine.sources.wait(self.server.as_mut(), others, now_ns, span).context("cannot wait")?;
        self.state.counts.wake_ups += 1;
        let before = std::mem::replace(&mut self.moment.now, Reading::now());
        if let Some(gap_ms) = self.moment.now.gap_ms(&before, due_ns) {
            self.moment.previous = None;
            self.push_event(EventKind::Resumed { gap_ms });
        }
        self.tend_keeper();
        self.tend_hook();
        self.tend_job();
        self.take_in_failures();
        if woken.stop {
            self.is_finished = true;
            return Ok(());
        }
        self.collect_events(&woken);
        self.sample_screen();
        if woken.reload {
            // The log has the error.
            let _ = self.reload(false);
        }
        self.answer_all(&woken.control);
        self.schedule_round();
        for action in self.timers.take_due(self.moment.now.monotonic_ns) {
            action(self);
        }
        Ok(())
    }

    /// Sees to it that what is frozen is held by a keeper, or is not frozen any more.
    fn tend_keeper(&mut self) {
        match self.actuator.tend_keeper() {
            None => {}
            Some(Tended::Replaced { pid, groups }) => {
                brisk_program::notice!(
                    "briskd: the keeper of frozen apps had ended; process {pid} holds {groups} frozen groups now"
                );
            }
            Some(Tended::Thawed { groups, why }) => {
                for group in groups {
                    self.push_event(EventKind::Performed { once: Once::Thaw { group }, outcome: Outcome::Done });
                }
                self.report_trouble(format!("the keeper of frozen apps had ended, so all were thawed: {why}"));
            }
        }
    }

    /// Enters the deadlines that parts of the daemon keep themselves.
    fn set_deadlines(&mut self) {
        let now_ns = self.moment.now.monotonic_ns;
        self.schedule_round();
        self.timers.set(timer::SAMPLE_LAUNCHES, self.machine.apps.next_sample_ns());
        self.timers.set(timer::SAMPLE_RETURN, self.machine.returns.next_ns());
        self.timers.set(timer::PREPARE_RETURN, self.machine.returns.prepare_ns());
        self.timers.set(timer::ADVANCE_ACTIONS, self.actuator.next_ns());
        self.timers.set(timer::SAMPLE_SCREEN, self.machine.screen.next_ns());
        self.timers.set(timer::JOB, self.jobs.next_ns());
        self.timers.set(timer::WATCHDOG, self.manager.next_ns());
        self.timers.set(timer::LISTEN_AGAIN, self.machine.sources.next_ns(now_ns));
        self.timers.set(timer::CONTROL, self.server.as_mut().and_then(|server| server.next_ns(now_ns)));
    }

    /// A round is due when events wait or an engine wants to be asked, at a minimum distance from the last, and not
    /// while an app answers for which nothing would be done.
    fn schedule_round(&mut self) {
        let moment = &self.moment;
        let events_due_ns = moment.events_due_ns.filter(|_| !moment.events.is_empty());
        let due_ns = events_due_ns.into_iter().chain(moment.wanted_ns).min();
        let earliest_ns = moment.last_round_ns.map_or(0, |last_ns| last_ns.saturating_add(ROUND_NS_MIN));
        let earliest_ns = earliest_ns.max(moment.answered_ns.unwrap_or(0));
        self.timers.set(timer::ROUND, due_ns.map(|due_ns| due_ns.max(earliest_ns)));
    }

    /// Has the sampler read what is managed and runs.
    fn aim_sampler(&mut self) {
        let names = self.machine.devices.iter().map(|device| device.name.clone()).collect();
        self.machine.sampler.look_at(names, self.machine.apps.groups());
    }

    /// Has the devices scanned when they have settled.
    fn scan_devices_soon(&mut self) {
        let paced_ns = self.machine.scanned_ns.map_or(0, |scanned_ns| scanned_ns.saturating_add(CHANGED_NS));
        let due_ns = self.moment.now.monotonic_ns.saturating_add(SETTLE_NS).max(paced_ns);
        self.timers.set_at_latest(timer::SCAN_DEVICES, due_ns);
    }

    /// Finds out which devices are to be managed.
    fn scan_devices(&mut self) {
        self.timers.set(timer::SCAN_DEVICES, None);
        self.machine.scanned_ns = Some(self.moment.now.monotonic_ns);
        self.state.counts.device_scans += 1;
        let Disks { managed: mut found, left_alone } =
            match devices::disks(&self.machine.sense, &self.policy.config.daemon.devices) {
                Ok(disks) => disks,
                Err(error) => return self.report_trouble(format!("{DEVICES_UNREAD}: {}", in_one_line(&error))),
            };
        self.state.trouble.retain(|what| !what.starts_with(DEVICES_UNREAD));
        let complaints = profiles::add_speeds(&mut found, &self.policy.measured);
        complaints.into_iter().for_each(|complaint| self.report_trouble(complaint));
        self.actuator.invalidate();
        self.machine.places.forget();
        for one in left_alone.iter().filter(|one| !self.machine.left_alone.contains(one)) {
            self.say(&format!("{} is left alone: {}", one.name, one.why.text()));
        }
        self.machine.left_alone = left_alone;
        let before = &self.machine.devices;
        let found = devices::with_originals(before, found, &self.state.settings.in_force_by_device());
        let names_without = |all: &[Device], others: &[Device]| -> Vec<String> {
            let is_new = |device: &&Device| !others.iter().any(|other| other.name == device.name);
            all.iter().filter(is_new).map(|device| device.name.clone()).collect()
        };
        let (came, gone) = (names_without(&found, before), names_without(before, &found));
        let differs = found != *before;
        self.machine.devices = found;
        for device in came {
            self.push_event(EventKind::DeviceCame { device });
        }
        for device in gone {
            self.state.savings.forget(&device);
            self.push_event(EventKind::DeviceGone { device });
        }
        if differs {
            self.aim_sampler();
            self.watch_queues();
        }
    }

    /// The requested levels, with the values from before brisk.
    fn settings(&self) -> Vec<SettingState> {
        let devices = &self.machine.devices;
        let original = |knob: &Knob| Device::original_of(devices, knob).or_else(|| self.actuator.original(knob));
        self.state.settings.states(original)
    }

    fn watch_queues(&mut self) {
        let Machine { sense, sources, devices, .. } = &mut self.machine;
        let Some(queues) = &mut sources.queues else { return };
        if let Err(error) = queues.watch(sense, devices.iter().map(|device| device.name.as_str())) {
            self.report_trouble(format!("external changes are not seen at once: {}", in_one_line(&error)));
        }
    }

    /// Reads the managed settings again, and reports those that were changed externally.
    fn check_settings(&mut self) {
        let changed = self.actuator.check();
        if !changed.is_empty() {
            // What else was set externally is the value from before brisk now.
            self.scan_devices_soon();
        }
        for change in changed {
            self.state.counts.changed_externally += 1;
            self.state.changed_externally.retain(|known| known.knob != change.knob);
            self.state.changed_externally.push(change.clone());
            self.push_event(EventKind::ChangedExternally { knob: change.knob, found: change.found });
        }
    }

    /// Adds an event for the next round, and sends it to clients that monitor.
    fn push_event(&mut self, kind: EventKind) {
        self.yield_device(&kind);
        let returned = self.note_return(&kind);
        let now_ns = self.moment.now.monotonic_ns;
        self.call_for_round(&kind);
        let returned = returned.map(|group| EventKind::Returned { group, touched: Touched::default() });
        for kind in std::iter::once(kind).chain(returned) {
            self.state.counts.events += 1;
            self.note_learning(&kind);
            self.publish("event", render::event(&kind));
            self.account_for(&kind);
            self.note_kill(&kind);
            if has_room(self.moment.events.len(), &kind) {
                self.moment.events.push(Event { at_ns: now_ns, kind });
            } else {
                self.report_trouble("more happened between two rounds than engines are told".to_owned());
            }
        }
    }

    /// An event calls for a round: at once, or once the app in front has answered its user, where engines would do
    /// nothing by it.
    fn call_for_round(&mut self, kind: &EventKind) {
        let now_ns = self.moment.now.monotonic_ns;
        let acts = self.acts();
        let may_wait = match kind {
            EventKind::Focused { .. } | EventKind::Scanned { .. } | EventKind::Returned { .. } => {
                acts != Acts::OnMemory
            }
            EventKind::Performed { outcome, .. } => *outcome == Outcome::HeldOut,
            _ => false,
        };
        let moment = &mut self.moment;
        if !may_wait {
            (moment.events_due_ns, moment.answered_ns) = (Some(now_ns), None);
            return;
        }
        // A user who goes from app to app does not put it off for ever.
        let oldest_ns = moment.events.first().map_or(now_ns, |event| event.at_ns);
        let answered_ns = now_ns.saturating_add(ANSWER_NS).min(oldest_ns.saturating_add(ANSWERS_NS_MAX));
        match moment.events_due_ns {
            Some(due_ns) if due_ns <= now_ns => return,
            due_ns => moment.events_due_ns = due_ns.max(Some(answered_ns)),
        }
        if acts == Acts::No {
            moment.answered_ns = moment.events_due_ns;
        }
    }

    /// What is done to the machine at present.
    fn acts(&mut self) -> Acts {
        let (now_ns, now_unix_ms) = (self.moment.now.monotonic_ns, self.moment.now.wall_unix_ms());
        if self.machine.apps.has_launches() || self.state.settings.is_any_in_force() {
            return Acts::OnMemory;
        }
        self.policy.trials.acts(&self.machine.devices, now_ns, now_unix_ms)
    }

    /// Keeps and logs what the daemon cannot do, once.
    fn report_trouble(&mut self, what: String) {
        if !self.state.trouble.contains(&what) && self.state.trouble.len() < TROUBLE_MAX {
            brisk_program::warn!("briskd: {what}");
            self.state.trouble.push(what);
        }
    }

    /// Logs what an event says of an app, or of a setting that is refused.
    fn account_for(&mut self, kind: &EventKind) {
        let group = match kind {
            EventKind::OutOfMemory { group } => group.as_str(),
            _ => "",
        };
        let app = self.machine.apps.id_in(group);
        let line = self.state.account.event(self.moment.now.monotonic_ns, kind, &app);
        line.into_iter().for_each(log);
    }

    /// A line of the log that is not an error.
    fn say(&self, text: &str) {
        if self.options.foreground || self.options.once {
            brisk_program::warn!("briskd: {text}");
        }
    }
}

/// Whether an event is kept beside so many: those that any user can cause without end leave half of the room to others.
fn has_room(events: usize, kind: &EventKind) -> bool {
    let is_of_any_user =
        matches!(kind, EventKind::LaunchBegan { .. } | EventKind::LaunchEnded { .. } | EventKind::AppGone { .. });
    events < if is_of_any_user { EVENTS_MAX / 2 } else { EVENTS_MAX }
}

fn log(line: Line) {
    brisk_program::log::line(line.level, &format!("briskd: {}", line.text));
}

/// The least nice value of the processes of a control group, or that of the leader of a session; `None` without
/// processes.
fn nice_min(sense: &Sense, dir: &Path) -> Option<i8> {
    let of_session = || dir.file_name()?.to_str()?.parse().ok().map(|leader| vec![leader]);
    let pids = if apps::is_session(dir) { of_session() } else { sense.cgroup_processes(dir).ok().flatten() }?;
    pids.into_iter().filter_map(|pid| sense.process_stat(pid).ok().flatten()).map(|process| process.nice).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_without_end_leave_room_for_other_events() {
        let (began, idle) = (EventKind::LaunchBegan { group: "a".to_owned() }, EventKind::UserIdle { idle: true });
        let kept = |kind: &EventKind| (0..2 * EVENTS_MAX).filter(|events| has_room(*events, kind)).count();
        assert_eq!((kept(&began), kept(&idle)), (EVENTS_MAX / 2, EVENTS_MAX));
    }
}
