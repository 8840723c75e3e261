//! How a status looks. Values in, text out.

use std::fmt::Write as _;

use brisk_core::units::{format_bytes, three_digits};
use brisk_daemon::control::protocol::{Setting, Status};
use jiff::{Timestamp, tz::TimeZone};

/// A status for people.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    let since = age(status.at_unix_ms.saturating_sub(status.started_unix_ms));
    let mode = match (status.dry_run, status.paused) {
        (true, _) => "decides and changes nothing (dry run)",
        (_, true) => "paused: all settings are as before brisk until 'brisk config reload'",
        _ => "decides and acts",
    };
    let _ = writeln!(text, "briskd {} {mode}; process {}, since {since}", status.version, status.pid);
    let _ = writeln!(text, "engines    {}", or_none(&status.engines.join(", ")));
    for device in &status.devices {
        let _ = writeln!(text, "device     {} ({}, {})", device.name, device.model, device.kind);
    }
    if status.devices.is_empty() {
        let _ = writeln!(text, "device     none: no mounted file system or swap is on flash (see [daemon] devices)");
    }
    let launching = status.apps.iter().filter(|app| app.launching).map(|app| app.id.as_str()).collect::<Vec<_>>();
    let class = |name: &str| status.apps.iter().filter(|app| app.tolerance == name).count();
    let _ = writeln!(
        text,
        "apps       {} interactive, {} streaming, {} background, {} batch, {} services; launching: {}",
        class("interactive"),
        class("streaming"),
        class("background"),
        class("batch"),
        class("system"),
        or_none(&launching.join(", ")),
    );
    let _ = writeln!(text, "settings   {}", if status.settings.is_empty() { "all as before brisk" } else { "" });
    for setting in &status.settings {
        let since = age(status.at_unix_ms.saturating_sub(setting.since_unix_ms));
        let original = setting.original.as_ref().map_or_else(String::new, |original| format!(", before {original}"));
        let _ = writeln!(
            text,
            "  {} {}{original}; {since}, {}{}",
            setting.knob,
            setting.value,
            setting.engine,
            outcome(setting)
        );
    }
    for note in &status.notes {
        let _ = writeln!(text, "note       {}: {}", note.engine, note.text);
    }
    for taken in &status.taken_over {
        let _ = writeln!(
            text,
            "!! somebody else set {} to {}: it is left alone until the configuration is read again",
            taken.knob, taken.found
        );
    }
    for trouble in &status.trouble {
        let _ = writeln!(text, "!! {trouble}");
    }
    for line in super::saved_lines(status) {
        let _ = writeln!(text, "{line}");
    }
    let counts = &status.counts;
    let _ = writeln!(
        text,
        "did        {} rounds in {} wake-ups, {} events, {} launches, {} writes, {} refusals",
        counts.rounds, counts.wake_ups, counts.events, counts.launches, counts.writes, counts.refusals
    );
    let _ = writeln!(
        text,
        "costs      {} % of one core, {} of memory",
        cpu_percent(status),
        format_bytes(status.cost.rss_bytes)
    );
    match &status.record {
        Some(record) => {
            let _ = writeln!(text, "record     {} ({} so far)", record.path, format_bytes(record.bytes));
            if let Some(trouble) = &record.trouble {
                let _ = writeln!(text, "!! nothing is recorded: {trouble}");
            }
        }
        None => text += "record     none\n",
    }
    text
}

/// Processor time of the daemon in percent of one core, since it began.
pub(crate) fn cpu_percent(status: &Status) -> String {
    let elapsed_us = status.at_unix_ms.saturating_sub(status.started_unix_ms).max(1) as f64 * 1000.0;
    format!("{:.2}", status.cost.cpu_us as f64 * 100.0 / elapsed_us)
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn outcome(setting: &Setting) -> String {
    match (setting.outcome.as_str(), &setting.why_not) {
        ("stands", _) => String::new(),
        (outcome, None) => format!(" ({outcome})"),
        (outcome, Some(why)) => format!(" ({outcome}: {why})"),
    }
}

/// A setting with the reasons for its value, as lines of text; `now_unix_ms` is the moment that is spoken of.
pub(crate) fn setting_lines(setting: &Setting, now_unix_ms: u64) -> String {
    let mut text = String::new();
    let since = setting.since_unix_ms;
    let wanted = if setting.outcome == "stands" { "is" } else { "is to be" };
    let _ = writeln!(
        text,
        "{} {wanted} {} since {} ({})",
        setting.knob,
        setting.value,
        moment(since),
        age(now_unix_ms.saturating_sub(since))
    );
    if setting.engine == "config" {
        text += "  you fixed it in the configuration, which goes before every engine\n";
    } else {
        let _ = writeln!(text, "  {} wants it: {}", setting.engine, setting.reason);
        let _ = writeln!(text, "  {}", rule(&setting.rule));
    }
    for other in &setting.over {
        let _ = writeln!(text, "  {} wanted {}", other.engine, other.value);
    }
    match &setting.original {
        Some(original) => {
            let _ = writeln!(text, "  before brisk it was {original}");
        }
        None => text += "  what it was before brisk is not known here\n",
    }
    match (setting.outcome.as_str(), &setting.why_not) {
        ("stands", _) => {}
        ("planned", _) => text += "  this is a dry run: it was not written\n",
        ("paused", _) => text += "  the daemon is paused: it is as before brisk\n",
        (_, Some(why)) => {
            let _ = writeln!(text, "  it does not stand: {why}");
        }
        (outcome, None) => {
            let _ = writeln!(text, "  it does not stand: {outcome}");
        }
    }
    text
}

/// A rule of the arbiter in words.
fn rule(name: &str) -> String {
    match name {
        "only_wish" => "nobody else wants anything of it".to_owned(),
        "delay_before_energy" => "somebody waits, and that goes before energy".to_owned(),
        "order_of_engines" => {
            "of those who want it for the same purpose, this engine comes first in the configuration".to_owned()
        }
        other => other.replace('_', " "),
    }
}

/// A span of time, short.
pub(crate) fn age(span_ms: u64) -> String {
    let seconds = span_ms / 1000;
    match seconds {
        0..10 => format!("{} s", three_digits(span_ms as f64 / 1000.0)),
        10..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A day and time here.
pub(crate) fn moment(wall_unix_ms: u64) -> String {
    let time = i64::try_from(wall_unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "-".to_owned(), |time| time.to_zoned(TimeZone::system()).strftime("%F %T").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_daemon::control::protocol::{Device, Other};

    fn setting() -> Setting {
        Setting {
            knob: "queue/sda/scheduler".into(),
            value: "mq-deadline".into(),
            original: Some("none".into()),
            engine: "smartio".into(),
            rule: "delay_before_energy".into(),
            reason: "launch (group app-x-1.scope)".into(),
            over: vec![Other { engine: "smartstorage".into(), value: "bfq".into() }],
            since_unix_ms: 60_000,
            outcome: "stands".into(),
            why_not: None,
        }
    }

    #[test]
    fn a_setting_is_explained_in_words() {
        let lines = setting_lines(&setting(), 90_000);
        let rest: Vec<&str> = lines.lines().skip(1).collect();
        assert!(
            lines.starts_with("queue/sda/scheduler is mq-deadline since ") && lines.contains(" (30 s)\n"),
            "{lines}"
        );
        let expected = [
            "  smartio wants it: launch (group app-x-1.scope)",
            "  somebody waits, and that goes before energy",
            "  smartstorage wanted bfq",
            "  before brisk it was none",
        ];
        assert_eq!(rest, expected);
        let refused = Setting { outcome: "refused".into(), why_not: Some("no such scheduler".into()), ..setting() };
        assert!(setting_lines(&refused, 0).ends_with("  it does not stand: no such scheduler\n"));
    }

    #[test]
    fn a_status_shows_what_is_wrong() {
        let status = Status {
            version: "0.1.0".into(),
            at_unix_ms: 3_600_000,
            devices: vec![Device { name: "sda".into(), model: "KLU".into(), kind: "ufs".into() }],
            settings: vec![setting()],
            trouble: vec!["no launches of apps are seen: this kernel does not tell".into()],
            ..Status::default()
        };
        let text = text(&status);
        assert!(text.contains("  queue/sda/scheduler mq-deadline, before none; 59 min, smartio\n"), "{text}");
        assert!(text.contains("!! no launches of apps are seen"), "{text}");
        assert!(text.contains("device     sda (KLU, ufs)\n"), "{text}");
    }

    #[test]
    fn spans_are_short() {
        for (ms, text) in [(0, "0 s"), (1500, "1.50 s"), (90_000, "90 s"), (600_000, "10 min"), (9_000_000, "2 h")] {
            assert_eq!(age(ms), text);
        }
    }
}
