//! One round: snapshot, decision, settings and one-shot actions, record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brisk_api::render;
use brisk_api::resting::of_knob;
use brisk_core::action::{Once, Setting};
use brisk_core::app::App;
use brisk_core::arbiter::{Resolution, Resolved, Rule};
use brisk_core::causes::in_one_line;
use brisk_core::decision::Observed;
use brisk_core::event::EventKind;
use brisk_core::outcome::{Outcome, Outcomes};
use brisk_core::snapshot::{DiskTotals, Snapshot};
use brisk_core::state::ActionState;
use brisk_record::{Decided, Scene};

use brisk_act::Sensed;

use super::{ACTIONS_SHOWN, Daemon, Machine, SETTLE_NS, log, nice_min, timer};
use crate::account::Doing;
use crate::settings::Change;

/// A setting whose queue was busy is tried again after this time.
const BUSY_RETRY_NS: u64 = 50_000_000;
/// A machine of which nothing could be read is read again after this time.
const UNREADABLE_RETRY_NS: u64 = 10_000_000_000;
/// Share of the time in which tasks of the machine wait for storage, from which an app in front may get settings.
const STALL_PERCENT: f64 = 5.0;

impl Daemon {
    /// Asks the engines, applies what the arbiter resolves, and records it.
    pub(super) fn round(&mut self) {
        let (now_ns, wall_unix_ms) = (self.moment.now.monotonic_ns, self.moment.now.wall_unix_ms());
        self.moment.last_round_ns = Some(now_ns);
        self.state.counts.rounds += 1;
        let snapshot = match self.machine.sampler.snapshot() {
            Ok(snapshot) => snapshot,
            Err(error) => {
                self.moment.previous = None;
                self.moment.wanted_ns = Some(now_ns.saturating_add(UNREADABLE_RETRY_NS));
                return self.report_trouble(format!("cannot take a snapshot: {}", in_one_line(&error)));
            }
        };
        self.note_failing();
        self.state.account.frozen_for_long(now_ns).into_iter().for_each(log);
        if let Some(interval) = self.moment.previous.as_ref().and_then(|previous| snapshot.since(previous)) {
            self.state.savings.add_interval(&interval, &self.state.under);
            self.state.day.add(&interval, &snapshot, self.moment.now.boot_ns);
        }
        if self.policy.engines.uses().activities {
            self.observe_apps_when_due();
            self.tell_local_time();
        } else {
            self.machine.apps.forget_activities(now_ns);
        }
        let events = std::mem::take(&mut self.moment.events);
        (self.moment.events_due_ns, self.moment.answered_ns) = (None, None);
        self.locate_apps(&snapshot);
        let apps = self.list_apps(now_ns);
        let observed = Observed {
            previous: self.moment.previous.as_ref(),
            now: &snapshot,
            events: &events,
            devices: &self.machine.devices,
            apps: &apps,
        };
        let left_out = self.policy.trials.left_out(&apps, observed.devices, snapshot.at_ns, wall_unix_ms);
        let round = self.policy.engines.decide(&self.policy.config, &observed, &left_out);
        let changes = self.policy.trials.after(&round.trials, &observed);
        if self.state.is_paused || self.options.dry_run {
            // What is requested is not applied.
            self.policy.trials.void();
        }
        self.moment.wanted_ns = round.next_look_ns.into_iter().chain(self.policy.trials.next_ns()).min();
        let change = self.apply_settings(&round.resolution, wall_unix_ms);
        let actions = self.perform_actions(round.resolution.actions, round.resolution.dropped_actions);
        let differs = change.differs || !actions.is_empty() || round.notes != self.state.notes;
        self.publish_notes(&round.notes);
        self.state.notes = round.notes;
        let decided = differs.then(|| Decided {
            at_ns: snapshot.at_ns,
            wall_unix_ms,
            settings: self.settings(),
            outcomes: change.outcomes,
            actions,
            notes: self.state.notes.clone(),
        });
        let scene = Scene { devices: self.machine.devices.clone(), apps, left_out };
        self.writer.round(self.moment.now, events, scene, &snapshot, decided);
        self.moment.previous = Some(snapshot);
        self.take_in_trials(&changes);
        self.observe_for_engines();
    }

    /// Logs which files of the kernel cannot be read any more, and which can be read again.
    fn note_failing(&mut self) {
        let failing: BTreeSet<String> = self.machine.sampler.failing().map(str::to_owned).collect();
        if failing == self.state.failing {
            return;
        }
        let before = std::mem::replace(&mut self.state.failing, failing);
        for what in self.state.failing.difference(&before) {
            brisk_program::warn!("briskd: {what}; continues without what needs it, and tries again");
        }
        for what in before.difference(&self.state.failing) {
            brisk_program::notice!("briskd: no longer: {what}");
        }
    }

    pub(super) fn list_apps(&mut self, now_ns: u64) -> Vec<App> {
        let Machine { sense, apps, hierarchies, sources, .. } = &mut self.machine;
        if let Some(groups) = &mut sources.groups {
            let nameless: Vec<PathBuf> = apps.nameless().map(Path::to_owned).collect();
            for dir in nameless {
                groups.package(&dir).into_iter().for_each(|package| apps.name(&dir, package));
            }
        }
        apps.refresh(now_ns, |dir| nice_min(sense, dir), |dir| sense.cgroup_settings(hierarchies, dir));
        apps.list(&self.policy.config.apps, &self.policy.config.services)
    }

    /// Finds out on which disks apps are, when one may have to wait for writes: that costs more than the rest of a
    /// round. While none is launched and none waits for long, those of background groups are left out.
    fn locate_apps(&mut self, now: &Snapshot) {
        if !self.writes_since(&now.disks, 1) {
            return;
        }
        let interval = self.moment.previous.as_ref().and_then(|previous| now.since(previous));
        let stall_percent = interval.and_then(|interval| interval.pressure.io).map(|stall| stall.some_percent);
        let acts = self.machine.apps.has_launches() || self.state.settings.is_any_in_force();
        let front_only = !acts && stall_percent.is_some_and(|percent| percent < STALL_PERCENT);
        if !acts && stall_percent.is_some_and(|percent| percent == 0.0) {
            return;
        }
        let Machine { sense, apps, places, devices, .. } = &mut self.machine;
        let managed: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
        let config = &self.policy.config;
        apps.locate(now.at_ns, front_only, (&config.apps, &config.services), |dir, launching| {
            places.of_group(sense, dir, launching, &managed)
        });
    }

    /// Whether so many writes went to a managed device since the last round, or one goes there now.
    pub(super) fn writes_since(&self, now: &[DiskTotals], requests_min: u64) -> bool {
        let before = self.moment.previous.iter().flat_map(|previous| &previous.disks);
        let before: BTreeMap<&str, u64> = before.map(|disk| (disk.name.as_str(), disk.write.requests)).collect();
        now.iter().any(|disk| {
            let written =
                before.get(disk.name.as_str()).map_or(0, |before| disk.write.requests.saturating_sub(*before));
            written >= requests_min || disk.in_flight_write_requests.is_some_and(|requests| requests > 0)
        })
    }

    /// Writes the settings, and has their outcomes shown.
    fn apply_settings(&mut self, resolution: &Resolution, wall_unix_ms: u64) -> Change {
        let settings = &resolution.settings;
        let requested: Vec<_> =
            if self.state.is_paused { Vec::new() } else { settings.iter().map(|one| one.what.clone()).collect() };
        if self.machine.sources.queues.is_none() {
            // External changes are not announced here.
            self.actuator.invalidate();
        }
        let outcomes = self.apply_by_part(&requested);
        if outcomes.values().any(|outcome| matches!(outcome, Outcome::Pending { .. })) {
            let retry_ns = self.moment.now.monotonic_ns.saturating_add(BUSY_RETRY_NS);
            self.moment.wanted_ns = Some(self.moment.wanted_ns.map_or(retry_ns, |wanted_ns| wanted_ns.min(retry_ns)));
        }
        let change = self.state.settings.update(settings, &resolution.dropped_settings, outcomes, wall_unix_ms);
        let names = self.machine.devices.iter().map(|device| device.name.as_str());
        self.state.under = self.state.settings.under(names, &change.outcomes);
        for (knob, outcome) in &change.outcomes {
            let resolved = settings.iter().find(|one| one.what.knob == *knob);
            self.publish("setting", render::setting(knob, outcome, resolved));
            self.state.counts.writes += u64::from(outcome.is_a_change());
        }
        for (knob, why) in &change.refused {
            self.state.counts.refusals += 1;
            self.push_event(EventKind::Refused { knob: knob.clone(), why: why.clone() });
        }
        if change.outcomes.values().any(|outcome| matches!(outcome, Outcome::Left { .. })) {
            // Only writes to queues are announced: the check reports external changes of other files.
            self.timers.set_at_latest(timer::CHECK_SETTINGS, self.moment.now.monotonic_ns.saturating_add(SETTLE_NS));
        }
        let written = change.outcomes.iter().filter(|(_, outcome)| outcome.is_a_change());
        let written: BTreeSet<String> = written.filter_map(|(knob, _)| knob.device()).map(str::to_owned).collect();
        if !written.is_empty() {
            self.expect_own_writes(&written);
        }
        change
    }

    /// Has the actuator apply the settings of the parts that do not rest. Parts that are used for the first time join
    /// one after the other, so that a crash is that of one of them.
    fn apply_by_part(&mut self, settings: &[Setting]) -> Outcomes {
        let now_ns = self.moment.now.monotonic_ns;
        let parts: BTreeSet<&'static str> = settings.iter().map(|setting| of_knob(&setting.knob)).collect();
        let (tried, new): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| self.attempts.is_tried(part));
        // Those that were tried together, then each of the others.
        let steps = std::iter::once(tried).chain(new.into_iter().map(|part| vec![part]));
        let mut joined = Vec::new();
        let mut outcomes = Outcomes::new();
        for step in steps {
            let of_step = settings.iter().filter(|setting| step.contains(&of_knob(&setting.knob)));
            if let Some(resting) = step.iter().find_map(|part| self.attempts.begin(part).err()) {
                let refused = |setting: &Setting| (setting.knob.clone(), Outcome::Refused { why: resting.to_string() });
                outcomes.extend(of_step.map(refused));
                continue;
            }
            joined.extend(of_step.cloned());
            for (knob, outcome) in self.actuator.apply_changed(&joined, now_ns) {
                // What was written before another part joined is unchanged then.
                if outcome != Outcome::Unchanged || !outcomes.contains_key(&knob) {
                    outcomes.insert(knob, outcome);
                }
            }
            step.iter().for_each(|part| self.attempts.end(part));
        }
        outcomes
    }

    /// Takes the announcements of brisk's own writes to these devices: they call for a check, not for a scan.
    fn expect_own_writes(&mut self, devices: &BTreeSet<String>) {
        // The tunables of another scheduler are other files.
        self.watch_queues();
        let announced = self.take_queue_writes();
        if announced.iter().any(|device| !devices.contains(device)) {
            self.scan_devices_soon();
        }
        self.timers.set_at_latest(timer::CHECK_SETTINGS, self.moment.now.monotonic_ns.saturating_add(SETTLE_NS));
    }

    /// Executes the actions, and has their outcomes shown to people and, as events, to engines.
    pub(super) fn perform_actions(
        &mut self,
        actions: Vec<Resolved<Once>>,
        dropped: Vec<Resolved<Once>>,
    ) -> Vec<ActionState> {
        let mut states = Vec::new();
        for resolved in actions {
            let pids = self.processes_of(&resolved.what);
            let owner = if resolved.what.ends() { self.owner_of(resolved.what.group()) } else { None };
            let outcome = if self.state.is_paused { Outcome::Paused } else { self.perform(&resolved.what) };
            self.account_for_action(&resolved, &pids, &outcome);
            self.note_end(&resolved, owner, &outcome);
            states.push(ActionState { resolved, outcome });
        }
        let dropped_state = |resolved: Resolved<Once>| {
            let outcome = resolved.rule.outcome_of_dropped();
            ActionState { resolved, outcome }
        };
        states.extend(dropped.into_iter().map(dropped_state));
        for state in &states {
            if state.outcome != Outcome::HeldOut {
                self.publish("action", render::action(state));
            }
            // Engines hear of the final outcome.
            if state.outcome != Outcome::Begun {
                self.note_performed(&state.resolved.what, state.outcome.clone());
            }
            if state.outcome == Outcome::HeldOut && state.resolved.rule != Rule::HeldOut {
                // An engine that rests or observes says the same again and again: `brisk trial` shows it.
                continue;
            }
            let resolved = Resolved { what: state.resolved.what.in_short(), ..state.resolved.clone() };
            self.state.actions.push_back(ActionState { resolved, outcome: state.outcome.clone() });
        }
        while self.state.actions.len() > ACTIONS_SHOWN {
            self.state.actions.pop_front();
        }
        states
    }

    /// Executes an action. What stops an app is checked against what is sensed at this moment.
    pub(super) fn perform(&mut self, once: &Once) -> Outcome {
        if let Err(resting) = self.attempts.begin(once.name()) {
            return Outcome::Refused { why: resting.to_string() };
        }
        let outcome = self.perform_sensed(once);
        if outcome != Outcome::Begun {
            self.attempts.end(once.name());
        }
        outcome
    }

    fn perform_sensed(&mut self, once: &Once) -> Outcome {
        let now_ns = self.moment.now.monotonic_ns;
        if matches!(once, Once::MakeReady { .. })
            && let Some(why) = self.machine.sense.spares_battery()
        {
            return Outcome::Refused { why };
        }
        if !once.ends() && !matches!(once, Once::Freeze { .. }) {
            return self.actuator.perform(once, &Sensed::default(), now_ns);
        }
        self.machine.apps.expect_all_of(once.group(), now_ns);
        self.observe_apps_when_due();
        if once.ends() {
            self.machine.killers.refresh(&self.machine.sense, now_ns);
        }
        let apps = self.list_apps(now_ns);
        let app = apps.iter().find(|app| app.group == once.group());
        let killers = self.machine.killers.ending();
        self.actuator.perform(once, &Sensed { app, killers: &killers }, now_ns)
    }

    /// The processes of an app that is to be stopped, for the log.
    fn processes_of(&self, once: &Once) -> Vec<u32> {
        match once {
            Once::EndProcess { pid, .. } => return vec![*pid],
            Once::Freeze { .. } | Once::EndApp { .. } => {}
            _ => return Vec::new(),
        }
        let Some(group) = self.machine.apps.of_key(once.group()) else { return Vec::new() };
        self.machine.sense.cgroup_processes(&group.dir).ok().flatten().unwrap_or_default()
    }

    /// Logs what is worth it of an action.
    fn account_for_action(&mut self, resolved: &Resolved<Once>, pids: &[u32], outcome: &Outcome) {
        let app = self.machine.apps.id_in(resolved.what.group());
        let reason = resolved.reason.to_string();
        let doing = Doing { once: &resolved.what, app: &app, pids, engine: &resolved.engine, reason: &reason };
        let line = self.state.account.performed(self.moment.now.monotonic_ns, &doing, outcome);
        line.into_iter().for_each(log);
    }

    /// Continues actions that take time, such as the end of an app.
    pub(super) fn advance_actions(&mut self) {
        for (once, outcome) in self.actuator.advance(self.moment.now.monotonic_ns) {
            let line = self.state.account.advanced(self.moment.now.monotonic_ns, &once, &outcome);
            line.into_iter().for_each(log);
            self.note_performed(&once, outcome);
        }
    }

    fn note_performed(&mut self, once: &Once, outcome: Outcome) {
        self.attempts.end(once.name());
        self.state.counts.actions += u64::from(outcome == Outcome::Done);
        self.push_event(EventKind::Performed { once: once.in_short(), outcome });
    }
}
