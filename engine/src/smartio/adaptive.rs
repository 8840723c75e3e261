//! `mode = "adaptive"`: acts while a foreground request is pending, and only then.

use brisk_core::app::{App, Tolerance};
use brisk_core::decision::{Decision, Needs, Objective, Observed};
use brisk_core::device::Device;
use brisk_core::event::EventKind;
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::reason::Reason;
use brisk_core::snapshot::DiskRates;

use crate::smartio::State;
use crate::smartio::config::Config;
use crate::smartio::foreground::Foreground;
use crate::smartio::hunted;
use crate::smartio::hysteresis::Need;
use crate::smartio::profile;
use crate::smartio::requests::Requests;
use crate::smartio::writes::{self, Writes};

/// Time to the next call: with settings in force; with writes that a foreground read may meet; otherwise.
const LOOK_HELD_NS: u64 = 500_000_000;
const LOOK_WRITES_NS: u64 = 1_000_000_000;
const LOOK_CALM_NS: u64 = 5_000_000_000;
/// Settings that are in force make stalls small: this share of `stall_min_percent` keeps them in force.
const KEEPING_SHARE: f64 = 0.1;

/// A device at this moment.
struct Sight<'a> {
    device: &'a Device,
    rates: Option<&'a DiskRates>,
    writes: Option<Writes>,
}

pub(crate) fn decide(config: &Config, state: State, observed: &Observed<'_>) -> Decision<State> {
    let now_ns = observed.now.at_ns;
    let mut next = state;
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
    let elapsed_s = interval.as_ref().map_or(0.0, |interval| interval.elapsed_ns as f64 / 1e9);

    let is_there = |group: &str| observed.apps.iter().any(|app| app.group == group);
    next.devices.retain(|name, _| observed.devices.iter().any(|device| device.name == *name));
    next.groups.retain(|group, _| is_there(group));
    next.lowered.retain(|group, _| is_there(group));
    next.refused.retain(|knob| knob.group().is_none_or(is_there));

    let mut sights = Vec::new();
    for device in observed.devices {
        let kept = next.devices.entry(device.name.clone()).or_default();
        let rates = interval.as_ref().and_then(|i| i.disks.iter().find(|disk| disk.name == device.name));
        let totals = observed.now.disks.iter().find(|disk| disk.name == device.name);
        let writes = writes::on_device(config, kept.hold.on, rates, elapsed_s, totals);
        sights.push(Sight { device, rates, writes });
    }

    let interactive = observed.apps.iter().filter(|app| app.tolerance == Tolerance::Interactive);
    let front: Vec<Foreground<'_>> =
        interactive.map(|app| Foreground::new(app, observed.now, interval.as_ref())).collect();
    let begun = follow_launches(config, &mut next, &front, &sights, now_ns);
    let reasons = step_devices(config, &mut next, &front, &sights, now_ns);
    let pending = writes::pending(config, &observed.now.memory);
    for of in &front {
        let begins = begun.contains(&of.app.group.as_str());
        step_priority(config, &mut next, of, &sights, pending.filter(|_| begins), now_ns);
    }
    step_background(config, &mut next, observed, now_ns);

    let notes = observed.devices.iter().filter_map(hunted::objection).collect();
    let mut requests = Requests::new(&next.refused);
    for (sight, reason) in sights.iter().zip(reasons) {
        let on = next.devices.get(&sight.device.name).is_some_and(|kept| kept.hold.on);
        request_for_device(config, sight.device, on, &reason, &mut requests);
    }
    for app in observed.apps {
        request_for_app(config, &next, app, &mut requests);
    }
    let requests = requests.all;
    let writes = sights.iter().any(|sight| sight.writes.is_some());
    let next_look_ns = Some(look_ns(config, &next, writes, now_ns));
    Decision { state: next, requests, notes, next_look_ns, needs: Needs::default() }
}

/// Follows the launches; returns the groups of those that begin now.
fn follow_launches<'a>(
    config: &Config,
    next: &mut State,
    front: &[Foreground<'a>],
    sights: &[Sight<'_>],
    now_ns: u64,
) -> Vec<&'a str> {
    let launched = || front.iter().filter(|of| of.app.launching);
    next.launches.retain(|group, _| launched().any(|of| of.app.group == *group));
    let mut begun = Vec::new();
    for of in launched() {
        let begins = !next.launches.contains_key(&of.app.group);
        let launch = next.launches.entry(of.app.group.clone()).or_default();
        for sight in sights {
            launch.follow(config, of, sight.device, sight.rates, begins, now_ns);
        }
        if begins {
            begun.push(of.app.group.as_str());
        }
    }
    begun
}

/// Whether each device needs its `waiting` settings; returns the reasons.
fn step_devices(
    config: &Config,
    next: &mut State,
    front: &[Foreground<'_>],
    sights: &[Sight<'_>],
    now_ns: u64,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for sight in sights {
        let on = next.devices.get(&sight.device.name).is_some_and(|kept| kept.hold.on);
        let (need, reason) = match need(config, next, on, sight, front, now_ns) {
            Some((need, reason)) => (need, reason),
            None => (Need::No, Reason::rule("hold_off").number("hold_ms", config.hold_ms as f64)),
        };
        let kept = next.devices.entry(sight.device.name.clone()).or_default();
        kept.hold = kept.hold.step(need, now_ns, config.dwell_ns(), config.hold_ns());
        reasons.push(reason);
    }
    reasons
}

/// Why the device needs its `waiting` settings now.
fn need(
    config: &Config,
    state: &State,
    on: bool,
    sight: &Sight<'_>,
    front: &[Foreground<'_>],
    now_ns: u64,
) -> Option<(Need, Reason)> {
    let writes = sight.writes?;
    let of = |rule| writes.facts(Reason::rule(rule));
    let launch = |of: &&Foreground<'_>| {
        state.launches.get(&of.app.group).map_or(Need::No, |launch| launch.need(&sight.device.name, now_ns))
    };
    let launched = front.iter().max_by_key(launch).map(|of| (launch(&of), of.app));
    if let Some((need, app)) = launched.filter(|(need, _)| *need >= Need::Presumed) {
        return Some((need, of("launch_with_writes").word("app", &app.id)));
    }
    let reads = &sight.rates?.read;
    let read_ms = reads.latency_ms_mean?;
    // With the settings in force reads are fast, which is no reason to release them.
    if reads.requests_per_s < config.reads_min_per_s || (!on && read_ms < config.read_delay_aim_ms) {
        return None;
    }
    let waits = |of: &&Foreground<'_>| of.waits(config, sight.device, sight.rates, limit(config, on));
    let app = front.iter().find(waits)?.app;
    Some((Need::Seen, of("reads_with_writes").number("read_ms", read_ms).word("app", &app.id)))
}

/// Whether an app needs its priority: while it is launched at once, since its first reads come before the next sample;
/// otherwise with the device that it waits for.
fn step_priority(
    config: &Config,
    next: &mut State,
    of: &Foreground<'_>,
    sights: &[Sight<'_>],
    pending: Option<Writes>,
    now_ns: u64,
) {
    let hold = next.groups.get(&of.app.group).copied().unwrap_or_default();
    let used = || sights.iter().filter(|sight| of.app.may_use(&sight.device.name));
    // Dirty pages are those of all devices: they count for one that is written to.
    let is_written = |sight: &Sight<'_>| sight.rates.is_some_and(|rates| rates.write.requests_per_s > 0.0);
    let writes = |sight: &Sight<'_>| sight.writes.or(pending.filter(|_| is_written(sight)));
    let of_launch = |sight: &Sight<'_>| match (next.launches.get(&of.app.group), writes(sight)) {
        (Some(launch), Some(_)) if config.boost_launches => launch.need(&sight.device.name, now_ns),
        _ => Need::No,
    };
    let waits = |sight: &Sight<'_>| {
        let is_contended = next.devices.get(&sight.device.name).is_some_and(|kept| kept.hold.on);
        is_contended && of.waits(config, sight.device, sight.rates, limit(config, hold.on))
    };
    let need = if used().any(waits) {
        Need::Seen
    } else {
        match used().map(of_launch).max() {
            Some(need) if need >= Need::Presumed => need,
            _ if of.only_writes() => Need::Over,
            _ => Need::No,
        }
    };
    let stepped = hold.step(need, now_ns, config.dwell_ns(), config.hold_ns());
    if stepped.changed_ns.is_some() {
        next.groups.insert(of.app.group.clone(), stepped);
    }
}

/// Whether the priority of background groups is lowered: of those that may use a managed device, while an app has its
/// priority.
fn step_background(config: &Config, next: &mut State, observed: &Observed<'_>, now_ns: u64) {
    let raised = || next.groups.values().filter(|hold| hold.on);
    let need = match raised().next() {
        None => Need::No,
        Some(_) if raised().any(|hold| hold.confirmed) => Need::Seen,
        Some(_) => Need::Presumed,
    };
    next.others = next.others.step(need, now_ns, config.dwell_ns(), config.hold_ns());
    let behind = observed.apps.iter().filter(|app| matches!(app.tolerance, Tolerance::Background | Tolerance::Batch));
    for app in behind {
        let hold = next.lowered.get(&app.group).copied().unwrap_or_default();
        let competes = next.others.on && observed.devices.iter().any(|device| app.may_use(&device.name));
        // Its hold-off has passed with that of the others.
        let need = if competes { Need::Presumed } else { Need::No };
        let stepped = hold.step(need, now_ns, config.dwell_ns(), config.hold_ns());
        if stepped.changed_ns.is_some() {
            next.lowered.insert(app.group.clone(), stepped);
        }
    }
}

fn request_for_app(config: &Config, next: &State, app: &App, requests: &mut Requests<'_>) {
    let is_lowered = || next.lowered.get(&app.group).is_some_and(|hold| hold.on);
    let raised = next.groups.get(&app.group).filter(|hold| hold.on);
    let (priority, weight, rule) = match (app.tolerance, raised) {
        (Tolerance::Interactive, Some(hold)) => {
            let rule = if hold.confirmed { "foreground_waits" } else { "launch_may_wait" };
            (&config.launching_priority, config.launching_weight, rule)
        }
        (Tolerance::Background, _) if is_lowered() => {
            (&config.background_priority, config.background_weight, "foreground_waits_elsewhere")
        }
        (Tolerance::Batch, _) if is_lowered() => {
            (&config.batch_priority, config.background_weight, "foreground_waits_elsewhere")
        }
        _ => return,
    };
    requests.place(app, priority, weight, &Reason::rule(rule).word("app", &app.id));
}

fn request_for_device(config: &Config, device: &Device, on: bool, reason: &Reason, requests: &mut Requests<'_>) {
    let objective = if on { Objective::Delay } else { Objective::Energy };
    let of_kernel = if on { reason.clone() } else { Reason::rule("no_foreground_request") };
    let of_kernel = of_kernel.word("profile", "kernel scheduler smartio");
    if requests.kernel_scheduler(device, on, config.writes_wait_max_ms, objective, &of_kernel) {
        return;
    }
    let profile = profile::of(&config.profiles, device);
    if let Some(size_kb) = profile.max_sectors_kb {
        let reason = Reason::rule("requests_divided").word("profile", &profile.model);
        let knob = Knob::queue(&device.name, QueueSetting::MaxSectorsKb);
        requests.add(knob, size_kb.to_string(), Objective::Delay, &reason);
    }
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

/// The stall threshold: lower while settings are in force that make stalls small.
fn limit(config: &Config, on: bool) -> f64 {
    config.stall_min_percent * if on { KEEPING_SHARE } else { 1.0 }
}

fn look_ns(config: &Config, state: &State, writes: bool, now_ns: u64) -> u64 {
    let groups = || state.groups.values().chain(state.lowered.values());
    let holds = || state.devices.values().map(|kept| &kept.hold).chain(groups()).chain([&state.others]);
    let pace_ns = match (holds().any(|hold| hold.on), writes) {
        (true, _) => LOOK_HELD_NS,
        (_, true) => LOOK_WRITES_NS,
        _ => LOOK_CALM_NS,
    };
    let due = holds().filter_map(|hold| hold.due_ns(config.dwell_ns(), config.hold_ns()));
    // A deadline in the past is met by the next call, which is never now.
    due.chain([now_ns + pace_ns]).min().unwrap_or(now_ns).max(now_ns + 1_000_000)
}
