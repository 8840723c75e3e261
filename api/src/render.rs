//! Events, outcomes and rules as sentences, for the log, `brisk top` and `brisk explain`. Nothing reads them back.

use brisk_core::action::Setting;
use brisk_core::arbiter::{Resolved, Rule};
use brisk_core::event::EventKind;
use brisk_core::knob::Knob;
use brisk_core::outcome::Outcome;
use brisk_core::state::ActionState;

/// An event.
#[must_use]
pub fn event(kind: &EventKind) -> String {
    match kind {
        EventKind::LaunchBegan { group } => format!("{group} is being launched"),
        EventKind::LaunchEnded { group } => format!("launch of {group} ended"),
        EventKind::AppGone { group } => format!("{group} ended"),
        EventKind::Focused { group } => format!("{group} came to the foreground"),
        EventKind::Scanned { group, .. } => format!("the pages of {group} were scanned"),
        EventKind::Returned { group, .. } => format!("the return to {group} ended"),
        EventKind::LaunchUsed { group, files } => format!("{group} has used {} files in its launch", files.files.len()),
        EventKind::Screen { on: true } => "the screen was switched on".to_owned(),
        EventKind::Screen { on: false } => "the screen was switched off".to_owned(),
        EventKind::UserIdle { idle: true } => "the user is idle".to_owned(),
        EventKind::UserIdle { idle: false } => "the user is active again".to_owned(),
        EventKind::LocalTime { utc_offset_s } => {
            let (sign, minutes) = (if *utc_offset_s < 0 { '-' } else { '+' }, utc_offset_s.unsigned_abs() / 60);
            format!("local time is UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
        EventKind::OutOfMemory { group } => format!("the kernel ended a process of {group}: memory had run out"),
        EventKind::DeviceCame { device } => format!("{device} is managed from now on"),
        EventKind::DeviceGone { device } => format!("{device} is not managed any more"),
        EventKind::ChangedExternally { knob, found } => {
            format!("{knob} was changed externally to {found}; brisk leaves it alone")
        }
        EventKind::Refused { knob, why } => format!("{knob} is refused: {why}"),
        EventKind::Performed { once, outcome } => format!("{once}: {}", self::outcome(outcome)),
        EventKind::Pressure { resource } => format!("tasks stalled on {resource}"),
        EventKind::Resumed { gap_ms } => format!("the machine was suspended or its clock was set: {gap_ms} ms"),
        EventKind::Configured => "the configuration was read".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What became of a setting or an action.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Unchanged | Outcome::Written { .. } | Outcome::Restored { .. } => "in force".to_owned(),
        Outcome::Begun => "begun".to_owned(),
        Outcome::Done => "done".to_owned(),
        Outcome::Cancelled { .. } => "ended early: an app returned".to_owned(),
        Outcome::Prefetched { read_bytes, changed_files, complete } => {
            let early = if *complete { "" } else { "; ended early" };
            let changed = match changed_files {
                0 => String::new(),
                files => format!("; {files} files are not as they were learned"),
            };
            format!("{} KiB read from the device{changed}{early}", read_bytes >> 10)
        }
        Outcome::Pending { why } => format!("pending, it is tried again: {why}"),
        Outcome::Planned { .. } => "planned: this is a dry run".to_owned(),
        Outcome::Left { found } => format!("left alone: changed externally to {found}"),
        Outcome::Gone => "gone".to_owned(),
        Outcome::Refused { why } => format!("refused: {why}"),
        Outcome::Paused => "paused: as before brisk until 'brisk config reload'".to_owned(),
        Outcome::Dropped => "dropped by the arbiter".to_owned(),
        Outcome::HeldOut => "left out by the engine's trial".to_owned(),
    }
}

/// A rule of the arbiter.
#[must_use]
pub fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::FixedChoice => "the configuration fixes it, which goes before every engine",
        Rule::DelayBeforeEnergy => "the foreground waits, and its latency goes before energy",
        Rule::OrderOfEngines => {
            "several engines request it for the same purpose; this one is first in the configuration"
        }
        Rule::OnlyRequest => "no other engine requests it",
        Rule::TunableWithoutScheduler => "tunable without scheduler: another scheduler is in force on the device",
        Rule::Protected => "the configuration protects the app (class system)",
        Rule::AppEnds => "the app is ended anyway",
        Rule::SwapOutByAnother => "another engine swaps out in this round",
        Rule::HeldOut => "held out, to compare with the times when the engine acts ('brisk trial')",
        Rule::Observing => "the engine only observes so far, and changes nothing ('brisk trial')",
        Rule::Resting => "the engine rests, since it did not pay here ('brisk trial')",
        Rule::SwitchedOff => "the engine is switched off ('brisk trial NAME auto' lets evidence decide)",
        Rule::Unknown => "decided by a rule of another version of brisk",
    }
}

/// What became of a setting, and why it is requested.
#[must_use]
pub fn setting(knob: &Knob, outcome: &Outcome, resolved: Option<&Resolved<Setting>>) -> String {
    let unknown = || "unknown".to_owned();
    let what = match outcome {
        Outcome::Written { from, to } => format!("{knob} is {to}, was {from}"),
        Outcome::Planned { from, to } => {
            let (from, to) = (from.clone().unwrap_or_else(unknown), to.clone().unwrap_or_else(unknown));
            format!("{knob} would be {to}, is {from}")
        }
        Outcome::Restored { to } => format!("{knob} is {to} again: released, no engine requests it"),
        Outcome::Unchanged => format!("{knob} is unchanged"),
        other => format!("{knob} is {}", self::outcome(other)),
    };
    match resolved {
        Some(resolved) if matches!(outcome, Outcome::Written { .. } | Outcome::Planned { .. }) => {
            format!("{what}; {}: {}; {}", resolved.engine, resolved.reason, rule(resolved.rule))
        }
        _ => what,
    }
}

/// What became of an action, with its reason.
#[must_use]
pub fn action(state: &ActionState) -> String {
    let ActionState { resolved, outcome } = state;
    let became = match outcome {
        Outcome::Dropped => format!("{} ({})", self::outcome(outcome), rule(resolved.rule)),
        Outcome::HeldOut => rule(resolved.rule).to_owned(),
        _ => self::outcome(outcome),
    };
    format!("{}: {became}; {}: {}", resolved.what, resolved.engine, resolved.reason)
}
