//! Events, outcomes and rules as sentences, for the log, `brisk top`, `brisk explain` and the page. Nothing reads them
//! back; each is known by its form ([`Said`]).

use std::borrow::Cow;

use brisk_core::action::{Once, Setting};
use brisk_core::arbiter::{Resolved, Rule};
use brisk_core::decision::Note;
use brisk_core::event::EventKind;
use brisk_core::group::name;
use brisk_core::knob::Knob;
use brisk_core::outcome::Outcome;
use brisk_core::state::ActionState;
use brisk_core::trial::{Phase, Subject, Why};

use crate::job::{Job, JobEnd};
use crate::said::{Part, Said, say};

/// An event.
#[must_use]
pub fn event(kind: &EventKind) -> Said {
    match kind {
        EventKind::LaunchBegan { group } => say!("{0} is being launched", name(group)),
        EventKind::LaunchEnded { group } => say!("launch of {0} ended", name(group)),
        EventKind::AppGone { group } => say!("{0} ended", name(group)),
        EventKind::Focused { group } => say!("{0} came to the foreground", name(group)),
        EventKind::Scanned { group, .. } => say!("the pages of {0} were scanned", name(group)),
        EventKind::Returned { group, .. } => say!("the return to {0} ended", name(group)),
        EventKind::LaunchUsed { group, files } => {
            say!("{0} has used {1} files in its launch", name(group), files.files.len())
        }
        EventKind::Screen { on: true } => say!("the screen was switched on"),
        EventKind::Screen { on: false } => say!("the screen was switched off"),
        EventKind::UserIdle { idle: true } => say!("the user is idle"),
        EventKind::UserIdle { idle: false } => say!("the user is active again"),
        EventKind::LocalTime { utc_offset_s } => {
            let (sign, minutes) = (if *utc_offset_s < 0 { '-' } else { '+' }, utc_offset_s.unsigned_abs() / 60);
            say!("local time is UTC{0}", format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
        }
        EventKind::OutOfMemory { group } => say!("the kernel ended a process of {0}: memory had run out", name(group)),
        EventKind::DeviceCame { device } => say!("{0} is managed from now on", device),
        EventKind::DeviceGone { device } => say!("{0} is not managed any more", device),
        EventKind::ChangedExternally { knob, found } => {
            say!("{0} was changed externally to {1}; brisk leaves it alone", knob, found)
        }
        EventKind::Refused { knob, why } => say!("{0} is refused: {1}", knob, why),
        EventKind::Performed { once, outcome } => say!("{0}: {1}", self::once(once), self::outcome(outcome)),
        EventKind::Pressure { resource } => say!("tasks stalled on {0}", resource.to_string()),
        EventKind::Resumed { gap_ms } => {
            say!("the machine was suspended or its clock was set: {0} ms", gap_ms)
        }
        EventKind::Configured => say!("the configuration was read"),
        other => say!("{0}", format!("{other:?}")),
    }
}

/// What became of a setting or an action.
#[must_use]
pub fn outcome(outcome: &Outcome) -> Said {
    match outcome {
        Outcome::Unchanged | Outcome::Written { .. } | Outcome::Restored { .. } => say!("in force"),
        Outcome::Begun => say!("begun"),
        Outcome::Done => say!("done"),
        Outcome::Cancelled { .. } => say!("ended early: an app returned"),
        Outcome::Prefetched { read_bytes, changed_files, complete } => {
            let read = say!("{0} KiB read from the device", read_bytes >> 10);
            let changed = match changed_files {
                0 => read,
                files => say!("{0}; {1} files are not as they were learned", read, files),
            };
            if *complete { changed } else { say!("{0}; ended early", changed) }
        }
        Outcome::Pending { why } => say!("pending, it is tried again: {0}", why),
        Outcome::Planned { .. } => say!("planned: this is a dry run"),
        Outcome::Left { found } => say!("left alone: changed externally to {0}", found),
        Outcome::Gone => say!("gone"),
        Outcome::Refused { why } => say!("refused: {0}", why),
        Outcome::Paused => say!("paused: as before brisk until 'brisk config reload'"),
        Outcome::Dropped => say!("dropped by the arbiter"),
        Outcome::HeldOut => say!("left out by the engine's trial"),
    }
}

/// An action. Its form is that of the words which say it, with numbers in places.
fn once(once: &Once) -> Said {
    let form = Cow::Owned(format!("{} {{0}}", once.name().replace('_', " ")));
    let what = Said { form, values: vec![Part::from(&name(once.group()))] };
    let text = once.to_string();
    let more = text.strip_prefix(&what.to_string()).and_then(|more| more.strip_prefix(" ("));
    match more.and_then(|more| more.strip_suffix(')')) {
        Some(more) => say!("{0} ({1})", what, numbered(more)),
        None => what,
    }
}

/// The sentence whose values are its numbers.
fn numbered(text: &str) -> Said {
    let (mut form, mut values, mut number) = (String::new(), Vec::new(), String::new());
    for next in text.chars().map(Some).chain([None]) {
        match next {
            Some(digit) if digit.is_ascii_digit() => number.push(digit),
            other => {
                if !number.is_empty() {
                    form += &format!("{{{}}}", values.len());
                    values.push(Part::Text(std::mem::take(&mut number)));
                }
                form.extend(other);
            }
        }
    }
    Said { form: Cow::Owned(form), values }
}

/// A rule of the arbiter.
#[must_use]
pub fn rule(rule: Rule) -> Said {
    match rule {
        Rule::FixedChoice => say!("the configuration fixes it, which goes before every engine"),
        Rule::DelayBeforeEnergy => say!("the foreground waits, and its latency goes before energy"),
        Rule::OrderOfEngines => {
            say!("several engines request it for the same purpose; this one is first in the configuration")
        }
        Rule::OnlyRequest => say!("no other engine requests it"),
        Rule::TunableWithoutScheduler => say!("tunable without scheduler: another scheduler is in force on the device"),
        Rule::Protected => say!("the configuration protects the app (class system)"),
        Rule::AppEnds => say!("the app is ended anyway"),
        Rule::SwapOutByAnother => say!("another engine swaps out in this round"),
        Rule::HeldOut => say!("held out, to compare with the times when the engine acts ('brisk trial')"),
        Rule::Observing => say!("the engine only observes so far, and changes nothing ('brisk trial')"),
        Rule::Resting => say!("the engine rests, since it did not pay here ('brisk trial')"),
        Rule::SwitchedOff => say!("the engine is switched off ('brisk trial NAME auto' lets evidence decide)"),
        Rule::Unknown => say!("decided by a rule of another version of brisk"),
    }
}

/// What became of a setting, and why it is requested.
#[must_use]
pub fn setting(knob: &Knob, outcome: &Outcome, resolved: Option<&Resolved<Setting>>) -> Said {
    let or_unknown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let what = match outcome {
        Outcome::Written { from, to } => say!("{0} is {1}, was {2}", knob, to, from),
        Outcome::Planned { from, to } => say!("{0} would be {1}, is {2}", knob, or_unknown(to), or_unknown(from)),
        Outcome::Restored { to } => say!("{0} is {1} again: released, no engine requests it", knob, to),
        Outcome::Unchanged => say!("{0} is unchanged", knob),
        other => say!("{0} is {1}", knob, self::outcome(other)),
    };
    match resolved {
        Some(resolved) if matches!(outcome, Outcome::Written { .. } | Outcome::Planned { .. }) => {
            say!("{0}; {1}: {2}; {3}", what, resolved.engine, resolved.reason, rule(resolved.rule))
        }
        _ => what,
    }
}

/// What became of an action, with its reason.
#[must_use]
pub fn action(state: &ActionState) -> Said {
    let ActionState { resolved, outcome } = state;
    let became = match outcome {
        Outcome::Dropped => say!("{0} ({1})", self::outcome(outcome), rule(resolved.rule)),
        Outcome::HeldOut => rule(resolved.rule),
        _ => self::outcome(outcome),
    };
    say!("{0}: {1}; {2}: {3}", once(&resolved.what), became, resolved.engine, resolved.reason)
}

/// A message of an engine.
#[must_use]
pub fn note(note: &Note) -> Said {
    say!("{0}: {1}", note.engine, note.reason)
}

/// The trial of an engine is in another phase.
#[must_use]
pub fn trial(engine: &str, subject: &Subject, phase: Phase, why: Why) -> Said {
    let subject = subject.to_string();
    let why = Said::new(why.words(), Vec::new());
    match phase {
        Phase::Observing => say!("{0} is observing for {1}: {2}", engine, subject, why),
        Phase::OnTrial => say!("{0} is on trial for {1}: {2}", engine, subject, why),
        Phase::Acting => say!("{0} is acting for {1}: {2}", engine, subject, why),
        Phase::Resting => say!("{0} is resting for {1}: {2}", engine, subject, why),
    }
}

/// A measurement began, or ended.
#[must_use]
pub fn job(job: &Job) -> Said {
    let name = job.job.name();
    match job.end {
        None => say!("a measurement began: {0}", name),
        Some(JobEnd::Done) => say!("the measurement {0} is complete", name),
        Some(JobEnd::Stopped) => say!("the measurement {0} was stopped", name),
        Some(JobEnd::Failed) => say!("the measurement {0} failed", name),
    }
}

/// A disk was taken out, and has its settings of before brisk.
#[must_use]
pub fn out_of_use(device: &str) -> Said {
    say!("{0} is out of use: its settings are as before brisk", device)
}

/// What an app touches when a person returns to it next will be learned.
#[must_use]
pub fn return_teaches(group: &str) -> Said {
    say!("the next return to {0} will teach", name(group))
}
