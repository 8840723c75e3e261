//! How a status looks. Values in, text out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use brisk_api::{DEVICES_UNREAD, Ended, FoundBy, LeftAlone, Status, Tried, Why, render};
use brisk_command::terminal::{bad, caution, good};
use brisk_core::app::Tolerance;
use brisk_core::arbiter::CONFIG;
use brisk_core::outcome::Outcome;
use brisk_core::state::SettingState;
use brisk_core::text::one_line;
use brisk_core::units::{format_bytes, three_digits};
use jiff::{Timestamp, tz::TimeZone};

pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    let since = age(status.at_unix_ms.saturating_sub(status.started_unix_ms));
    let mode = match (status.dry_run, status.paused) {
        (true, _) => caution("decides and changes nothing (dry run)"),
        (_, true) => caution("paused: all settings are as before brisk until 'brisk config reload'"),
        _ => good("decides and acts"),
    };
    let _ = writeln!(text, "briskd {} {mode}; process {}, since {since}", status.brisk_version, status.pid);
    let engines = crate::trial::engine_lines(&status.trials, status.at_unix_ms);
    for (nth, line) in engines.into_iter().chain(crate::trial::unnamed_lines(&status.trials)).enumerate() {
        let _ = writeln!(text, "{:<11}{line}", if nth == 0 { "engines" } else { "" });
    }
    if status.trials.engines.is_empty() {
        text += "engines    none\n";
    }
    for device in &status.devices {
        let due = device.due().collect::<Vec<_>>().join(", ");
        let due = if due.is_empty() { due } else { format!("; not measured yet: {due}") };
        let _ = writeln!(text, "device     {} ({}, {}){due}", device.name, one_line(&device.model), device.kind);
        for tried in &device.tried {
            let _ = writeln!(text, "           {}: {}", tried.part, tried_words(tried, status.at_unix_ms));
        }
    }
    if status.devices.is_empty() {
        let _ = writeln!(text, "device     none{}", why_none(status));
    }
    for (names, why) in by_reason(&status.left_alone) {
        let _ = writeln!(text, "left alone {}: {why}", names.join(", "));
    }
    let launching = status.apps.iter().filter(|app| app.launching).map(|app| one_line(&app.id)).collect::<Vec<_>>();
    let class = |class| status.apps.iter().filter(|app| app.tolerance == class).count();
    let _ = writeln!(
        text,
        "apps       {} interactive, {} streaming, {} background, {} batch, {} services; launching: {}",
        class(Tolerance::Interactive),
        class(Tolerance::Streaming),
        class(Tolerance::Background),
        class(Tolerance::Batch),
        class(Tolerance::System),
        or_none(&launching.join(", ")),
    );
    let _ = writeln!(text, "{}", found_by(&status.found_by));
    let (left_out, settings): (Vec<&SettingState>, Vec<&SettingState>) =
        status.settings.iter().partition(|setting| setting.outcome == Outcome::HeldOut);
    let _ = writeln!(text, "settings   {}", if settings.is_empty() { "all as before brisk" } else { "" });
    if !left_out.is_empty() {
        let count = left_out.len();
        let engines: BTreeSet<&str> = left_out.iter().map(|setting| setting.resolved.engine.as_str()).collect();
        let engines = engines.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "  {count} more are left out by trials ({engines}): 'brisk explain' shows them");
    }
    for setting in settings {
        let since = age(status.at_unix_ms.saturating_sub(setting.since_unix_ms));
        let original = setting.original.as_ref().map_or_else(String::new, |original| format!(", before {original}"));
        let _ = writeln!(
            text,
            "  {} {}{original}; {since}, {}{}",
            setting.knob(),
            setting.resolved.what.value,
            setting.resolved.engine,
            outcome(setting)
        );
    }
    for action in &status.actions {
        let _ = writeln!(text, "action     {}", render::action(action));
    }
    for program in &status.memory_programs {
        let effect = if program.ends_apps { ": brisk ends no app while it runs" } else { "" };
        let _ = writeln!(text, "memory     {} {}{effect}", one_line(&program.name), program.does);
    }
    if let Some(writes) = &status.swap_writes {
        let left = writes.left_bytes.map_or_else(
            || "without a limit".to_owned(),
            |bytes| format!("{} more may be written now ([engines] wear_mib_per_day)", format_bytes(bytes)),
        );
        let _ = writeln!(text, "swap       {} written by brisk so far; {left}", format_bytes(writes.written_bytes));
    }
    if let Some(of) = &status.prefetched {
        let _ = writeln!(text, "prefetch   {}", crate::launches::sums(of));
        if let Some(ready) = crate::launches::ready(of) {
            let _ = writeln!(text, "ready      {ready}");
        }
    }
    for note in &status.notes {
        let _ = writeln!(text, "note       {}: {}", note.engine, note.reason);
    }
    for changed in &status.changed_externally {
        let words = format!(
            "!! {} was changed externally to {}: brisk leaves it alone until the configuration is read again",
            changed.knob, changed.found
        );
        let _ = writeln!(text, "{}", caution(&words));
    }
    for trouble in &status.trouble {
        let _ = writeln!(text, "{}", bad(&format!("!! {}", one_line(trouble))));
    }
    for resting in &status.resting {
        let _ = writeln!(text, "{}", bad(&format!("!! {resting}")));
    }
    if !status.lacking_rights.is_empty() {
        let names: Vec<&str> = status.lacking_rights.iter().map(|lack| lack.right.as_str()).collect();
        let words = format!("rights     lacks {}: 'brisk doctor' says what that costs", names.join(", "));
        let _ = writeln!(text, "{}", caution(&words));
    }
    for line in super::saved_lines(status) {
        let _ = writeln!(text, "{line}");
    }
    let counts = status.counts.each().into_iter().filter(|(.., count)| *count > 0);
    let counts: Vec<String> = counts.map(|(name, _, count)| format!("{count} {}", name.replace('_', " "))).collect();
    let _ =
        writeln!(text, "did        {}", if counts.is_empty() { "nothing yet".to_owned() } else { counts.join(", ") });
    let _ = writeln!(
        text,
        "costs      {} % of one core, {} of memory",
        cpu_percent(status),
        format_bytes(status.cost.rss_bytes)
    );
    match &status.record {
        Some(record) => {
            let _ = writeln!(text, "record     {} ({} so far)", one_line(&record.path), format_bytes(record.bytes));
            if let Some(trouble) = &record.trouble {
                let _ = writeln!(text, "{}", bad(&format!("!! nothing is recorded: {}", one_line(trouble))));
            }
        }
        None => text += "record     none\n",
    }
    text
}

/// How apps are found, as a line.
fn found_by(found_by: &[FoundBy]) -> String {
    let by = |one| found_by.contains(&one);
    match (by(FoundBy::Groups), by(FoundBy::Sessions)) {
        (true, true) => "           found by control group, or by session of processes where they have none".to_owned(),
        (true, false) => caution("           found by control group; those without one of their own are not seen"),
        (false, true) => "           found by session of processes".to_owned(),
        (false, false) => bad("!! no app is found: neither control groups nor sessions of processes can be watched"),
    }
}

/// What is to be said where no disk is managed.
fn why_none(status: &Status) -> String {
    let left_alone = &status.left_alone;
    if status.trouble.iter().any(|what| what.starts_with(DEVICES_UNREAD)) {
        return " is known: they cannot be read".to_owned();
    }
    let is_missing = |one: &&LeftAlone| one.why == Why::Missing;
    let missing: Vec<&str> = left_alone.iter().filter(is_missing).map(|one| one.name.as_str()).collect();
    match (left_alone.is_empty(), missing.as_slice()) {
        (true, _) => ": the kernel shows no disk".to_owned(),
        (false, []) => String::new(),
        (false, [one]) => format!(": the configuration lists {one}, which is not there"),
        (false, some) => format!(": the configuration lists {}, of which none is there", some.join(", ")),
    }
}

/// The disks that are left alone, together where the reason is the same.
fn by_reason(left_alone: &[LeftAlone]) -> Vec<(Vec<&str>, &str)> {
    let mut found: Vec<(Vec<&str>, &str)> = Vec::new();
    for one in left_alone {
        match found.iter_mut().find(|(_, why)| *why == one.text) {
            Some((names, _)) => names.push(&one.name),
            None => found.push((vec![&one.name], &one.text)),
        }
    }
    found
}

/// Processor time of the daemon in percent of one core, since it began.
pub(crate) fn cpu_percent(status: &Status) -> String {
    let elapsed_us = status.at_unix_ms.saturating_sub(status.started_unix_ms).max(1) as f64 * 1000.0;
    format!("{:.2}", status.cost.cpu_us as f64 * 100.0 / elapsed_us)
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn outcome(setting: &SettingState) -> String {
    if setting.is_in_force() { String::new() } else { format!(" ({})", judged(&setting.outcome)) }
}

/// An outcome that is not in force: a refusal is worse than a delay.
fn judged(outcome: &Outcome) -> String {
    let words = render::outcome(outcome).to_string();
    if matches!(outcome, Outcome::Refused { .. }) { bad(&words) } else { caution(&words) }
}

/// A setting with the reasons for its value, as lines of text; `now_unix_ms` is the moment that is explained.
pub(crate) fn setting_lines(setting: &SettingState, now_unix_ms: u64) -> String {
    let mut text = String::new();
    let (since, resolved) = (setting.since_unix_ms, &setting.resolved);
    let is = if setting.is_in_force() { "is" } else { "is to be" };
    let (since_when, span) = (moment(since), age(now_unix_ms.saturating_sub(since)));
    let _ = writeln!(text, "{} {is} {} since {since_when} ({span})", setting.knob(), resolved.what.value);
    if resolved.engine != CONFIG {
        let _ = writeln!(text, "  {} requests it: {}", resolved.engine, resolved.reason);
    }
    let _ = writeln!(text, "  {}", render::rule(resolved.rule));
    for other in &resolved.over {
        let _ = writeln!(text, "  {} requested {}", other.engine, other.value);
    }
    match &setting.original {
        Some(original) => {
            let _ = writeln!(text, "  before brisk it was {original}");
        }
        None => text += "  the value before brisk is unknown\n",
    }
    if !setting.is_in_force() {
        let _ = writeln!(text, "  not in force: {}", judged(&setting.outcome));
    }
    text
}

/// How a measurement ended that left nothing, and when it goes on.
pub(crate) fn tried_words(tried: &Tried, now_unix_ms: u64) -> String {
    let ended = match tried.ended {
        Ended::Partly => return "measured in part; the service continues when nothing else uses the device".to_owned(),
        Ended::Stopped => "stopped",
        Ended::Failed | Ended::NothingBetter => "not measured",
    };
    let ago = age(now_unix_ms.saturating_sub(tried.at_unix_ms));
    let again = match tried.again_unix_ms.saturating_sub(now_unix_ms) {
        0 => "the service tries again when nothing else uses the device".to_owned(),
        wait_ms => format!("the service tries again in {}, 'brisk tune' at once", age(wait_ms)),
    };
    format!("{ended} {ago} ago, as {}; {again}", tried.why)
}

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
    use brisk_api::{Device, Prefetched, SwapWrites};
    use brisk_command::terminal::plain;
    use brisk_core::action::Setting;
    use brisk_core::arbiter::{Overruled, Resolved, Rule};
    use brisk_core::reason::Reason;

    fn setting() -> SettingState {
        let over = vec![Overruled { engine: "smartstorage".into(), value: "bfq".into() }];
        let resolved = Resolved {
            what: Setting::new("queue/sda/scheduler".parse().expect("a knob"), "mq-deadline"),
            engine: "smartio".into(),
            rule: Rule::DelayBeforeEnergy,
            reason: Reason::rule("launch").word("group", "app-x-1.scope"),
            over,
        };
        SettingState { resolved, original: Some("none".into()), since_unix_ms: 60_000, outcome: Outcome::Unchanged }
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
            "  smartio requests it: launch (group app-x-1.scope)",
            "  the foreground waits, and its latency goes before energy",
            "  smartstorage requested bfq",
            "  before brisk it was none",
        ];
        assert_eq!(rest, expected);
        let refused = SettingState { outcome: Outcome::Refused { why: "no such scheduler".into() }, ..setting() };
        let refused = setting_lines(&refused, 0);
        assert!(plain(&refused).ends_with("  not in force: refused: no such scheduler\n"));
        assert!(refused.contains(&bad("refused: no such scheduler")), "{refused:?}");
        let mut dropped = SettingState { outcome: Outcome::Dropped, ..setting() };
        dropped.resolved.rule = Rule::TunableWithoutScheduler;
        assert!(setting_lines(&dropped, 0).contains("  tunable without scheduler: another scheduler is in force"));
    }

    #[test]
    fn a_status_shows_what_is_wrong() {
        let status = Status {
            brisk_version: "0.1.0".into(),
            at_unix_ms: 3_600_000,
            devices: vec![Device {
                name: "sda".into(),
                model: "KLU".into(),
                kind: "ufs".into(),
                measured: vec!["speeds".into()],
                tried: vec![brisk_api::Tried {
                    part: "costs".into(),
                    at_unix_ms: 3_000_000,
                    ended: brisk_api::Ended::Stopped,
                    why: "apps need the storage".into(),
                    again_unix_ms: 6_600_000,
                }],
            }],
            settings: vec![setting()],
            memory_programs: vec![brisk_api::MemoryProgram {
                name: "earlyoom".into(),
                pid: 7,
                ends_apps: true,
                does: "ends processes".into(),
            }],
            swap_writes: Some(SwapWrites { written_bytes: 3 << 20, left_bytes: Some(512 << 20) }),
            prefetched: Some(Prefetched {
                apps: 3,
                launches: 9,
                asked_bytes: 90 << 20,
                read_bytes: 60 << 20,
                used_bytes: 81 << 20,
                ..Prefetched::default()
            }),
            lacking_rights: vec![brisk_api::LackingRight { right: "CAP_KILL".into(), ..Default::default() }],
            trouble: vec!["no launches of apps are seen: this kernel does not tell".into()],
            ..Status::default()
        };
        let coloured = text(&status);
        assert!(coloured.contains(&bad("!! no launches of apps are seen: this kernel does not tell")), "{coloured:?}");
        let text = plain(&coloured);
        assert!(text.contains("  queue/sda/scheduler mq-deadline, before none; 59 min, smartio\n"), "{text}");
        assert!(text.contains("!! no launches of apps are seen"), "{text}");
        assert!(text.contains("device     sda (KLU, ufs); not measured yet: settings, costs\n"), "{text}");
        let of_costs = "           costs: stopped 10 min ago, as apps need the storage; the service tries again in 50 \
                        min, 'brisk tune' at once\n";
        assert!(text.contains(of_costs), "{text}");
        let of_swap =
            "swap       3 MiB written by brisk so far; 512 MiB more may be written now ([engines] wear_mib_per_day)\n";
        assert!(text.contains(of_swap), "{text}");
        assert!(text.contains("\n!! no app is found: neither control groups"), "{text}");
        let by_both = plain(&super::text(&Status { found_by: vec![FoundBy::Groups, FoundBy::Sessions], ..status }));
        assert!(by_both.contains("found by control group, or by session of processes where they have none\n"));
        assert!(text.contains("rights     lacks CAP_KILL: 'brisk doctor' says what that costs\n"), "{text}");
        assert!(text.contains("memory     earlyoom ends processes: brisk ends no app while it runs\n"), "{text}");
    }

    #[test]
    fn settings_that_a_trial_leaves_out_are_counted() {
        let held_out = SettingState { outcome: Outcome::HeldOut, ..setting() };
        let status = Status { settings: vec![held_out.clone(), setting()], ..Status::default() };
        let shown = plain(&text(&status));
        assert!(shown.contains("  1 more are left out by trials (smartio): 'brisk explain' shows them\n"), "{shown}");
        assert_eq!(shown.matches("queue/sda/scheduler").count(), 1, "{shown}");
        let all = plain(&text(&Status { settings: vec![held_out], ..Status::default() }));
        assert!(all.contains("settings   all as before brisk\n"), "{all}");
    }

    #[test]
    fn disks_that_are_left_alone_are_named_with_the_reason() {
        let left = |name: &str, why| LeftAlone::new(name.to_owned(), why);
        let shown = |left_alone: Vec<LeftAlone>| plain(&text(&Status { left_alone, ..Status::default() }));
        let several = shown(vec![left("sda", Why::NotUsed), left("sdb", Why::Rotating), left("sdc", Why::NotUsed)]);
        let expected = "device     none\n\
                        left alone sda, sdc: no mounted file system and no swap area is on it\n\
                        left alone sdb: a rotating disk, as it says itself; list it under [daemon] devices to manage \
                        it\n";
        assert!(several.contains(expected), "{several}");
        let missing = shown(vec![left("mmcblk1", Why::Missing), left("vda", Why::NotListed)]);
        let expected = "device     none: the configuration lists mmcblk1, which is not there\n\
                        left alone mmcblk1: listed under [daemon] devices, but not there at present; managed from when \
                        it appears\nleft alone vda: not listed under [daemon] devices\n";
        assert!(missing.contains(expected), "{missing}");
        assert!(shown(vec![]).contains("device     none: the kernel shows no disk\n"));
        let unread =
            Status { trouble: vec![format!("{DEVICES_UNREAD}: /sys/block does not exist")], ..Status::default() };
        let unread = plain(&text(&unread));
        assert!(unread.contains("device     none is known: they cannot be read\n"), "{unread}");
    }

    #[test]
    fn spans_are_short() {
        for (ms, text) in [(0, "0 s"), (1500, "1.50 s"), (90_000, "90 s"), (600_000, "10 min"), (9_000_000, "2 h")] {
            assert_eq!(age(ms), text);
        }
    }
}
