//! `mode = "adaptive"`: acts while a foreground request is pending, and only then.

use brisk_core::app::{App, Tolerance};
use brisk_core::decision::{Decision, Objective, Observed};
use brisk_core::device::Device;
use brisk_core::event::EventKind;
use brisk_core::reason::Reason;
use brisk_core::snapshot::{DiskRates, Interval};

use crate::State;
use crate::config::Config;
use crate::hysteresis::Hysteresis;
use crate::profile;
use crate::requests::Requests;

/// Time to the next call: with settings in force; with writes that a foreground read may meet; otherwise.
const LOOK_HELD_NS: u64 = 500_000_000;
const LOOK_WRITES_NS: u64 = 1_000_000_000;
const LOOK_CALM_NS: u64 = 5_000_000_000;
/// Settings that are in force make stalls small: this share of `stall_min_percent` keeps them in force.
const KEEPING_SHARE: f64 = 0.1;

pub(crate) fn decide(config: &Config, state: &State, observed: &Observed<'_>) -> Decision<State> {
    let now_ns = observed.now.at_ns;
    // A clock that runs backwards means another boot: times in the state are void.
    let mut next = if now_ns < state.at_ns { State::default() } else { state.clone() };
    next.at_ns = now_ns;
    let happened = |wanted: fn(&EventKind) -> bool| observed.events.iter().any(|event| wanted(&event.kind));
    if happened(|kind| matches!(kind, EventKind::Configured)) {
        next.refused.clear();
    }
    for event in observed.events {
        if let EventKind::Refused { knob, .. } = &event.kind {
            next.refused.insert(knob.clone());
        }
    }
    // Rates across a suspend are void.
    let void = happened(|kind| matches!(kind, EventKind::Resumed { .. }));
    let previous = observed.previous.filter(|_| !void);
    let interval = previous.and_then(|previous| observed.now.since(previous));
    let begun_ns = previous.map_or(now_ns, |previous| previous.at_ns);

    next.devices.retain(|name, _| observed.devices.iter().any(|device| device.name == *name));
    next.groups.retain(|name, _| observed.apps.iter().any(|app| app.group == *name));

    let (dwell_ns, hold_ns) = (config.dwell_ns(), config.hold_ns());
    let (mut notes, mut reasons) = (Vec::new(), Vec::new());
    let mut writes = false;
    for device in observed.devices {
        let kept = next.devices.entry(device.name.clone()).or_default();
        let rates = interval.as_ref().and_then(|i| i.disks.iter().find(|disk| disk.name == device.name));
        writes |= rates.is_some_and(|rates| rates.write.requests_per_s >= config.writes_min_per_s);
        let undisturbed = kept.hold.changed_ns.is_none_or(|changed_ns| begun_ns >= changed_ns);
        if let Some(rates) = rates.filter(|_| undisturbed)
            && let Some(found) = kept.effect.learn(config, rates, kept.hold.on, now_ns)
        {
            notes.push(found.word("device", &device.name));
        }
        let left_alone = kept.effect.is_left_alone(now_ns);
        let found = interval.as_ref().zip(rates).filter(|_| !left_alone);
        let need = found.and_then(|(interval, rates)| need(config, kept.hold.on, interval, rates, observed.apps));
        kept.hold = kept.hold.step(need.is_some(), now_ns, dwell_ns, hold_ns);
        reasons.push(need.unwrap_or_else(|| Reason::rule("hold_off").number("hold_ms", config.hold_ms as f64)));
    }

    // Priorities: a launching app gets one at once, since its first reads come before the next sample; other foreground apps
    // get one with the device that they wait for. On a device in back-off nothing would bound the latency of writes.
    let left_alone = next.devices.values().any(|kept| kept.effect.is_left_alone(now_ns));
    let contended = next.devices.values().any(|kept| kept.hold.on);
    for app in observed.apps.iter().filter(|app| app.tolerance == Tolerance::Interactive) {
        let hold = next.groups.get(&app.group).copied().unwrap_or_default();
        let stalled = contended && interval.as_ref().is_some_and(|i| stall_percent(i, app) >= limit(config, hold.on));
        let needed = !observed.devices.is_empty() && !left_alone && (stalled || app.launching && config.boost_launches);
        let stepped = hold.step(needed, now_ns, dwell_ns, hold_ns);
        if stepped != Hysteresis::default() {
            next.groups.insert(app.group.clone(), stepped);
        }
    }
    let raised = next.groups.values().any(|hold| hold.on);
    next.others = next.others.step(raised, now_ns, dwell_ns, hold_ns);

    let mut requests = Requests::new(&next.refused);
    for (device, reason) in observed.devices.iter().zip(reasons) {
        let on = next.devices.get(&device.name).is_some_and(|kept| kept.hold.on);
        request_for_device(config, device, on, &reason, &mut requests);
    }
    for app in observed.apps {
        let raised = next.groups.get(&app.group).is_some_and(|hold| hold.on);
        let (priority, weight, rule) = match app.tolerance {
            Tolerance::Interactive if raised => {
                (&config.launching_priority, config.launching_weight, "foreground_waits")
            }
            Tolerance::Background if next.others.on => {
                (&config.background_priority, config.background_weight, "foreground_waits_elsewhere")
            }
            Tolerance::Batch if next.others.on => {
                (&config.batch_priority, config.background_weight, "foreground_waits_elsewhere")
            }
            _ => continue,
        };
        let reason = Reason::rule(rule).word("app", &app.id);
        requests.place(app, priority, weight, &reason);
    }
    let requests = requests.all;
    next.look_ns = Some(look_ns(config, &next, writes, now_ns));
    Decision { state: next, requests, notes }
}

fn request_for_device(config: &Config, device: &Device, on: bool, reason: &Reason, requests: &mut Requests<'_>) {
    let concurrency = profile::measured(&config.profiles, device).and_then(|profile| profile.concurrency.as_ref());
    let objective = if on { Objective::Delay } else { Objective::Energy };
    let depths = if concurrency.is_some() { "measured" } else { "default" };
    let of_kernel = if on { reason.clone() } else { Reason::rule("no_foreground_request") };
    let of_kernel = of_kernel.word("profile", "kernel scheduler smartio").word("depths", depths);
    if requests.kernel_scheduler(device, concurrency, config.writes_wait_max_ms, objective, &of_kernel) {
        return;
    }
    let profile = profile::of(&config.profiles, device);
    let mut request = |setup, reason: &Reason| {
        requests.setup(device, setup, config.writes_wait_max_ms, objective, reason);
    };
    if on {
        let origin = if profile.is_default {
            format!("default for {}", if device.kind.is_empty() { "any device" } else { &device.kind })
        } else {
            match profile.model == device.model {
                true => format!("measured on {}", device.model),
                // Stored by a version that had no firmware revisions.
                false => format!("measured on {}, firmware unknown", profile.model),
            }
        };
        request(&profile.waiting, &reason.clone().word("profile", origin));
    } else {
        request(&profile.calm, &Reason::rule("no_foreground_request"));
    }
}

/// Why the device needs its `waiting` settings now.
fn need(config: &Config, on: bool, interval: &Interval, rates: &DiskRates, apps: &[App]) -> Option<Reason> {
    let (reads, writes) = (&rates.read, &rates.write);
    if writes.requests_per_s < config.writes_min_per_s {
        return None;
    }
    let of = |rule| Reason::rule(rule).number("writes_per_s", writes.requests_per_s);
    let interactive = || apps.iter().filter(|app| app.tolerance == Tolerance::Interactive);
    if let Some(app) = interactive().find(|app| app.launching) {
        return Some(of("launch_with_writes").word("app", &app.id));
    }
    let read_ms = reads.latency_ms_mean?;
    // With the settings in force reads are fast, which is no reason to release them.
    if reads.requests_per_s < config.reads_min_per_s || (!on && read_ms < config.read_delay_aim_ms) {
        return None;
    }
    let app = interactive().find(|app| stall_percent(interval, app) >= limit(config, on))?;
    Some(of("reads_with_writes").number("read_ms", read_ms).word("app", &app.id))
}

/// The stall threshold: lower while settings are in force that make stalls small.
fn limit(config: &Config, on: bool) -> f64 {
    config.stall_min_percent * if on { KEEPING_SHARE } else { 1.0 }
}

/// Share of the time in which an app waited for storage; that of the whole machine where groups have no counters.
fn stall_percent(interval: &Interval, app: &App) -> f64 {
    let own = interval.apps.iter().find(|rates| rates.name == app.group).and_then(|rates| rates.io_pressure);
    own.or(interval.pressure.io).map_or(0.0, |stall| stall.some_percent)
}

fn look_ns(config: &Config, state: &State, writes: bool, now_ns: u64) -> u64 {
    let holds = || state.devices.values().map(|kept| &kept.hold).chain(state.groups.values()).chain([&state.others]);
    let pace_ns = match (holds().any(|hold| hold.on), writes) {
        (true, _) => LOOK_HELD_NS,
        (_, true) => LOOK_WRITES_NS,
        _ => LOOK_CALM_NS,
    };
    let due = holds().filter_map(|hold| hold.due_ns(config.dwell_ns(), config.hold_ns()));
    // A deadline in the past is met by the next call, which is never now.
    due.chain([now_ns + pace_ns]).min().unwrap_or(now_ns).max(now_ns + 1_000_000)
}
