//! Matching within seconds, with what was measured on this device.
//!
//! For each device the engine adds up what it sees for as long as the pattern stays the same; a change of pattern is a
//! change point in the rates or sizes, or an app that is launched. A pattern that was seen twice in a row is matched
//! with the model, and the setting of least cost is requested, unless
//! - no workload of the model is near (`unknown_pattern`): then the device gets the setting that was worse than its own
//!   for no workload of the model ([`Model::safe`]), or else its own setting back;
//! - it would save too little over what is in force;
//! - the setting in force has not stayed for its dwell time, which doubles with each switch of the last minute;
//! - it was tried with such a pattern before, and latency or busy time regressed.
//!
//! After a switch the response times are compared with those before, for patterns that are alike. The counters do not
//! show energy; the time that the device is busy for each request stands for it. A switch that made reads slower (or
//! the device busier) is rolled back, and remembered for an hour.
//!
//! From a device at rest the first sample of a new pattern comes after at most a second, the decision half a second
//! later; from another pattern, the decision comes after a second in all.

use brisk_core::decision::{Decision, Needs, Objective, Observed, Request};
use brisk_core::device::Device;
use brisk_core::event::{Event, EventKind};
use brisk_core::knob::Knob;
use brisk_core::reason::Reason;
use brisk_core::snapshot::{DiskRates, Interval};

use crate::smartstorage::config::Config;
use crate::smartstorage::model::{Advice, Model};
use crate::smartstorage::pattern::{Answer, Pattern, Window};
use crate::smartstorage::setting::Setting;
use crate::smartstorage::state::{DeviceState, Remembered, State, Trial};

/// A shorter interval is dropped: the kernel counts busy time in ticks of a few ms.
const INTERVAL_S_MIN: f64 = 0.05;
/// How long a setting is tried before it is judged ...
const TRIAL_S: f64 = 1.5;
/// ... and with how many requests.
const TRIAL_REQUESTS: f64 = 32.0;
/// A trial that could not be judged within this time is dropped.
const TRIAL_NS_MAX: u64 = 60_000_000_000;
/// Settings that are remembered as bad, at most: the oldest goes first.
const REMEMBERED_MAX: usize = 32;

/// One device at the time of one sample.
struct Sample<'a> {
    config: &'a Config,
    model: &'a Model,
    device: &'a Device,
    now_ns: u64,
}

/// See [`crate::smartstorage::decide`].
pub(crate) fn decide(config: &Config, mut state: State, observed: &Observed<'_>) -> Decision<State> {
    let now_ns = observed.now.at_ns;
    let interval = observed.previous.and_then(|previous| observed.now.since(previous));
    let urgent = observed.apps.iter().any(|app| app.launching);
    let (mut next, mut requests, mut notes) = (State::default(), Vec::new(), Vec::new());
    let mut next_look_ns: Option<u64> = None;
    for device in observed.devices {
        let mut kept = state.devices.remove(&device.name).unwrap_or_default();
        kept.apply_events(config, device, observed.events, now_ns);
        match Model::for_device(&config.models, device) {
            None => kept.note(&mut notes, Reason::rule("no_profile").word("device", &device.name)),
            Some(_) if kept.changed_externally => {
                kept.note(&mut notes, Reason::rule("left_to_others").word("device", &device.name));
            }
            Some(model) => {
                let sample = Sample { config, model, device, now_ns };
                let rates = interval.as_ref().and_then(|interval| rates_of(interval, &device.name));
                kept.update(&sample, rates, urgent, &mut notes);
                requests.extend(kept.requests(&sample, &mut notes));
                let at_ns = now_ns + kept.pause_ns(config);
                next_look_ns = Some(next_look_ns.map_or(at_ns, |earlier| earlier.min(at_ns)));
            }
        }
        next.devices.insert(device.name.clone(), kept);
    }
    Decision { state: next, requests, notes, next_look_ns, needs: Needs::default() }
}

fn rates_of<'a>(interval: &'a Interval, device: &str) -> Option<(&'a DiskRates, f64)> {
    let seconds = interval.elapsed_ns as f64 / 1e9;
    let rates = interval.disks.iter().find(|disk| disk.name == device)?;
    (seconds >= INTERVAL_S_MIN).then_some((rates, seconds))
}

impl DeviceState {
    /// Applies the events that concern the device.
    fn apply_events(&mut self, config: &Config, device: &Device, events: &[Event], now_ns: u64) {
        let is_ours = |knob: &Knob| knob.device() == Some(device.name.as_str());
        for event in events {
            match &event.kind {
                EventKind::Configured => self.changed_externally = false,
                EventKind::ChangedExternally { knob, .. } if is_ours(knob) => {
                    *self = Self {
                        changed_externally: true,
                        last_note: std::mem::take(&mut self.last_note),
                        ..Self::default()
                    };
                }
                EventKind::Refused { knob, .. } if is_ours(knob) => {
                    if let Some((setting, _)) = self.chosen.take() {
                        self.remember(config, setting, None, now_ns);
                    }
                    self.trial = None;
                }
                // What was seen across a suspend is void; a launch is another pattern, whatever the counters say.
                EventKind::Resumed { .. } | EventKind::LaunchBegan { .. } => self.window = Window::default(),
                _ => {}
            }
        }
    }

    fn update(&mut self, sample: &Sample<'_>, rates: Option<(&DiskRates, f64)>, urgent: bool, notes: &mut Vec<Reason>) {
        let Sample { config, model, now_ns, .. } = *sample;
        self.urgent = urgent;
        self.remembered.retain(|one| one.until_ns > now_ns);
        self.switched_ns.retain(|at| now_ns.saturating_sub(*at) < config.dwell_max_ms * 1_000_000);
        if self.trial.as_ref().is_some_and(|trial| now_ns.saturating_sub(trial.began_ns) > TRIAL_NS_MAX) {
            self.trial = None;
        }
        let Some((rates, seconds)) = rates else { return };
        let fresh = Window::of(rates, seconds);
        if fresh.requests_per_s() < config.rest_requests_per_s {
            self.window = Window::default();
            return;
        }
        if self.window.differs(&fresh) {
            self.window = fresh;
        } else {
            self.window.add(&fresh);
        }
        let pattern = self.window.pattern();
        if self.judge(sample, &pattern, notes) || !self.is_settled() || now_ns < self.free_ns(config) {
            return;
        }
        let delay_share = if urgent { 1.0 } else { config.delay_share };
        let in_force = self.chosen.as_ref().map_or(&model.own, |(setting, _)| setting).clone();
        let Some(mut advice) = model.advise(config.criteria(), &in_force, &pattern, delay_share) else { return };
        if advice.costs.is_empty() {
            self.note(notes, with_match(Reason::rule("unknown_pattern"), sample, &pattern, &advice));
            if self.chosen.is_some() {
                self.switch(None, now_ns);
            }
            return;
        }
        let offered = |setting: &Setting| sample.device.has_scheduler(&setting.scheduler);
        advice.costs.retain(|(setting, _)| offered(setting) && !self.is_remembered(setting, &pattern));
        let Some(better) = advice.better_than(&in_force, config.gain_share_min).cloned() else { return };
        let trial = Trial { from: self.chosen.clone(), pattern, answer: self.window.answer(), began_ns: now_ns };
        let cost = advice.costs.first().map_or(1.0, |(_, cost)| *cost);
        let rule = if advice.is_known { "nearest_pattern" } else { "safe_for_all_known" };
        let reason = with_match(Reason::rule(rule), sample, &pattern, &advice)
            .number("expected_cost", cost)
            .word("counts", if urgent { "delay" } else { "as configured" });
        self.switch((better != model.own).then_some((better, reason)), now_ns);
        self.trial = Some(trial);
    }

    /// Compares the setting on trial with the one before, once there is enough to compare. Returns whether it was
    /// rolled back.
    fn judge(&mut self, sample: &Sample<'_>, pattern: &Pattern, notes: &mut Vec<Reason>) -> bool {
        if self.window.seconds < TRIAL_S || self.window.requests() < TRIAL_REQUESTS {
            return false;
        }
        let Some(trial) = self.trial.take() else { return false };
        let answer = self.window.answer();
        let and_work = !self.urgent && sample.config.delay_share < 1.0;
        if !pattern.alike(&trial.pattern)
            || !answer.is_worse_than(&trial.answer, pattern, sample.config.worse_share, and_work)
        {
            return false;
        }
        let bad = self.chosen.as_ref().map_or(&sample.model.own, |(setting, _)| setting).clone();
        let ms = |answer: &Answer| answer.read_ms_mean.or(answer.write_ms_mean).unwrap_or(0.0);
        self.note(
            notes,
            Reason::rule("made_things_worse")
                .word("device", &sample.device.name)
                .word("setting", bad.to_string())
                .number("before_ms", ms(&trial.answer))
                .number("after_ms", ms(&answer))
                .number("busy_before_ms", trial.answer.busy_ms_per_request)
                .number("busy_after_ms", answer.busy_ms_per_request),
        );
        self.remember(sample.config, bad, Some(*pattern), sample.now_ns);
        self.switch(trial.from, sample.now_ns);
        true
    }

    fn switch(&mut self, to: Option<(Setting, Reason)>, now_ns: u64) {
        self.chosen = to;
        self.switched_ns.push(now_ns);
        self.window = Window::default();
        self.trial = None;
    }

    fn remember(&mut self, config: &Config, setting: Setting, pattern: Option<Pattern>, now_ns: u64) {
        if self.remembered.len() >= REMEMBERED_MAX {
            self.remembered.remove(0);
        }
        self.remembered.push(Remembered { setting, pattern, until_ns: now_ns + config.remember_s * 1_000_000_000 });
    }

    fn is_remembered(&self, setting: &Setting, pattern: &Pattern) -> bool {
        let with = |one: &Remembered| one.pattern.is_none_or(|bad| bad.alike(pattern));
        self.remembered.iter().any(|one| one.setting == *setting && with(one))
    }

    /// Whether the pattern was seen twice in a row.
    fn is_settled(&self) -> bool {
        self.window.intervals >= 2
    }

    /// Until when the setting in force stays: the dwell time, doubled for each switch of the last minute but one.
    fn free_ns(&self, config: &Config) -> u64 {
        let Some(last_ns) = self.switched_ns.last() else { return 0 };
        let doublings = u32::try_from(self.switched_ns.len() - 1).unwrap_or(u32::MAX).min(16);
        last_ns + (config.dwell_ms << doublings).min(config.dwell_max_ms) * 1_000_000
    }

    /// Time until the next sample.
    fn pause_ns(&self, config: &Config) -> u64 {
        let look_ms = config.look_ms.max(2);
        let pause_ms = match self.window.intervals {
            0 => look_ms * 2,
            1 => look_ms / 2,
            _ => look_ms,
        };
        pause_ms * 1_000_000
    }

    fn requests(&mut self, sample: &Sample<'_>, notes: &mut Vec<Reason>) -> Vec<Request> {
        let Some((setting, reason)) = &self.chosen else { return Vec::new() };
        let objective = if self.urgent { Objective::Delay } else { Objective::Energy };
        if let Some(requests) = setting.requests(sample.device, objective, reason) {
            return requests;
        }
        let gone = Reason::rule("scheduler_not_offered")
            .word("device", &sample.device.name)
            .word("setting", setting.to_string());
        self.chosen = None;
        self.trial = None;
        self.note(notes, gone);
        Vec::new()
    }

    /// Adds a note, unless the last one had the same rule.
    fn note(&mut self, notes: &mut Vec<Reason>, note: Reason) {
        if self.last_note != note.rule {
            self.last_note = note.rule.clone().into_owned();
            notes.push(note);
        }
    }
}

/// Adds the pattern and the nearest workload of the model to a reason.
fn with_match(reason: Reason, sample: &Sample<'_>, pattern: &Pattern, advice: &Advice) -> Reason {
    reason
        .word("device", &sample.device.name)
        .number("reads_per_s", pattern.reads_per_s)
        .number("writes_per_s", pattern.writes_per_s)
        .word("nearest", &advice.nearest)
        .number("distance", advice.distance)
}
