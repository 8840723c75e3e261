//! `brisk top`: what the daemon does, on a screen that refreshes.

mod screen;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use brisk_api::{Apps, Client, Status};
use brisk_command::duration;
use brisk_command::terminal::{bad, caution, good, heading};
use brisk_core::action::Setting;
use brisk_core::app::Tolerance;
use brisk_core::arbiter::Resolved;
use brisk_core::order::Order as _;
use brisk_core::outcome::Outcome;
use brisk_core::snapshot::Interval;
use brisk_core::units::{format_bytes, three_digits};
use brisk_sense::{SampleChoice, Sampler, Sense};

use crate::status::{Socket, age, saved_lines};
use screen::{Key, Screen};

const AFTER_HELP: &str = "\
q or Ctrl-C ends it. Rates are sampled by this command, so that watching does not wake the daemon's engines. Without a \
terminal it prints one screen and ends. Exit codes: 0 ended, 2 not possible.";

/// Apps of which memory is shown.
const APPS_MAX: usize = 12;
const INTERVAL_LEAST: Duration = Duration::from_millis(100);
const INTERVAL_MOST: Duration = Duration::from_secs(60);

/// Arguments of `brisk top`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    socket: Socket,
    /// Time from one refresh to the next
    #[arg(long, value_name = "TIME", default_value = "1s",
        value_parser = duration::between(INTERVAL_LEAST, INTERVAL_MOST))]
    interval: Duration,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut client = args.socket.connect()?;
    let mut sampler = Sampler::new(Sense::default(), SampleChoice::default())?;
    let mut screen = Screen::open().context("cannot use this terminal")?;
    let mut before = sampler.snapshot()?;
    // The first picture has no rates, unless it is the only one.
    let mut rates = None;
    loop {
        let status = ask(&mut client, args)?;
        if screen.is_terminal() || rates.is_some() {
            // A daemon that was restarted in this moment shows them the next time.
            let has_apps = status.engines.iter().any(|engine| engine == "iram");
            let apps: Option<Apps> = has_apps.then(|| client.call("GetApps", &[], "apps").ok()).flatten();
            screen.show(&picture(&status, rates.as_ref(), apps.as_ref()))?;
            if !screen.is_terminal() {
                return Ok(ExitCode::SUCCESS);
            }
        }
        if screen.wait(args.interval)? == Some(Key::Quit) {
            return Ok(ExitCode::SUCCESS);
        }
        let now = sampler.snapshot()?;
        rates = now.since(&before);
        before = now;
    }
}

/// The status; the daemon may have been restarted in between.
fn ask(client: &mut Client, args: &Args) -> anyhow::Result<Status> {
    match client.call("GetStatus", &[], "status") {
        Ok(status) => Ok(status),
        Err(_) => {
            *client = args.socket.connect()?;
            Ok(client.call("GetStatus", &[], "status")?)
        }
    }
}

/// One picture. Values in, lines out.
fn picture(status: &Status, rates: Option<&Interval>, memory: Option<&Apps>) -> Vec<String> {
    let mut lines = Vec::new();
    let mode = match (status.dry_run, status.paused) {
        (true, _) => caution("dry run"),
        (_, true) => caution("paused"),
        _ => good("active"),
    };
    let elapsed_ms = status.at_unix_ms.saturating_sub(status.started_unix_ms).max(1);
    let cpu_percent = status.cost.cpu_us as f64 / 10.0 / elapsed_ms as f64;
    lines.push(format!(
        "briskd {} {mode}, up {}; itself {cpu_percent:.2} % of a core, {}; {} rounds, {} writes, {} launches",
        status.brisk_version,
        age(elapsed_ms),
        format_bytes(status.cost.rss_bytes),
        status.counts.rounds,
        status.counts.writes,
        status.counts.launches,
    ));
    lines.push(format!(
        "engines: {}",
        if status.engines.is_empty() { "none".to_owned() } else { status.engines.join(", ") }
    ));
    lines.extend(status.trouble.iter().map(|trouble| bad(&format!("!! {trouble}"))));
    lines.extend(status.resting.iter().map(|resting| bad(&format!("!! {resting}"))));
    let changed = status.changed_externally.iter();
    lines.extend(changed.map(|one| caution(&format!("!! {} was changed externally to {}", one.knob, one.found))));
    lines.push(String::new());
    lines.push(heading(&format!(
        "{:<12} {:>8} {:>8} {:>9} {:>8} {:>8} {:>9} {:>6}  {}",
        "DEVICE", "READ/s", "MB/s", "ms", "WRITE/s", "MB/s", "ms", "busy%", "RP, model"
    )));
    for device in &status.devices {
        lines.push(device_line(device, rates));
    }
    if let Some(rates) = rates {
        let some = |stall: Option<brisk_core::snapshot::StallShares>| {
            stall.map_or_else(|| "-".to_owned(), |stall| format!("{:.1} %", stall.some_percent))
        };
        let pressure = &rates.pressure;
        lines.push(format!(
            "some task waits for storage {}, for memory {}, for a processor {}",
            some(pressure.io),
            some(pressure.memory),
            some(pressure.cpu)
        ));
    }
    lines.extend(saved_lines(status));
    lines.push(String::new());
    let columns = format!("{:<44} {:<16} {:<16} {:<10} {:<13} {}", "SETTING", "VALUE", "BEFORE", "SINCE", "BY", "WHY");
    lines.push(heading(&columns));
    // What trials leave out is not in force: `brisk trial` shows it.
    let settings = status.settings.iter().filter(|setting| setting.outcome != Outcome::HeldOut);
    for setting in settings.clone() {
        let since = age(status.at_unix_ms.saturating_sub(setting.since_unix_ms));
        let resolved = &setting.resolved;
        // Padded before it is coloured, as colours have no width.
        let value = match &setting.outcome {
            outcome @ Outcome::Refused { .. } => bad(&not_in_force(resolved, outcome)),
            outcome if !outcome.is_in_force() => caution(&not_in_force(resolved, outcome)),
            _ => format!("{:<16}", resolved.what.value),
        };
        let original = setting.original.as_deref().unwrap_or("?");
        lines.push(format!(
            "{:<44} {value} {original:<16} {since:<10} {:<13} {}",
            setting.knob().to_string(),
            resolved.engine,
            resolved.reason
        ));
    }
    if settings.clone().next().is_none() {
        lines.push("all as before brisk".to_owned());
    }
    lines.extend(status.notes.iter().map(|note| format!("{}: {}", note.engine, note.reason)));
    lines.push(String::new());
    if let Some(apps) = memory {
        lines.extend(crate::apps::lines(apps, APPS_MAX));
        lines.push(String::new());
    }
    lines.push(heading(&format!("{:<44} {:<12} {}", "APP", "TOLERATES", "BECAUSE")));
    let mut apps: Vec<_> = status.apps.iter().collect();
    apps.order_by_key(|app| (!app.launching, app.tolerance != Tolerance::Interactive));
    for app in apps {
        let name = format!("{:<44}", format!("{}{}", app.id, if app.launching { " (launching)" } else { "" }));
        let name = if app.launching { good(&name) } else { name };
        lines.push(format!("{name} {:<12} {}", app.tolerance.name(), app.reason));
    }
    lines
}

fn not_in_force(resolved: &Resolved<Setting>, outcome: &Outcome) -> String {
    format!("{:<16}", format!("{} ({})", resolved.what.value, outcome.name()))
}

fn device_line(device: &brisk_api::Device, rates: Option<&Interval>) -> String {
    let of_device = rates.and_then(|rates| rates.disks.iter().find(|disk| disk.name == device.name));
    let Some(disk) = of_device else {
        return format!(
            "{:<12} {:>8} {:>8} {:>9} {:>8} {:>8} {:>9} {:>6}  {}",
            device.name, "-", "-", "-", "-", "-", "-", "-", device.model
        );
    };
    let ms = |mean: Option<f64>| mean.map_or_else(|| "-".to_owned(), three_digits);
    // Rate proportion (dissertation 3.2): completed reads over completed writes.
    let proportion = if disk.write.requests_per_s > 0.0 {
        three_digits(disk.read.requests_per_s / disk.write.requests_per_s)
    } else {
        "-".to_owned()
    };
    format!(
        "{:<12} {:>8} {:>8} {:>9} {:>8} {:>8} {:>9} {:>6.1}  {proportion}, {}",
        device.name,
        three_digits(disk.read.requests_per_s),
        three_digits(disk.read.bytes_per_s / 1e6),
        ms(disk.read.latency_ms_mean),
        three_digits(disk.write.requests_per_s),
        three_digits(disk.write.bytes_per_s / 1e6),
        ms(disk.write.latency_ms_mean),
        disk.busy_percent,
        device.model,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_api::Device;
    use brisk_command::terminal::plain;
    use brisk_core::app::{App, AppFacts, classify};
    use brisk_core::arbiter::Rule;
    use brisk_core::reason::Reason;
    use brisk_core::snapshot::{DiskTotals, IoTotals, Snapshot};
    use brisk_core::state::SettingState;

    #[test]
    fn a_picture_shows_pattern_settings_and_apps() {
        let disk = |requests| DiskTotals {
            name: "sda".into(),
            read: IoTotals { requests: requests * 3, bytes: requests * 4096, time_ms: requests },
            write: IoTotals { requests, bytes: requests * 4096, time_ms: requests },
            ..DiskTotals::default()
        };
        let snapshot = |at_ns, requests| Snapshot { at_ns, disks: vec![disk(requests)], ..Snapshot::default() };
        let rates = snapshot(1_000_000_000, 100).since(&snapshot(0, 0));
        let resolved = Resolved {
            what: Setting::new("queue/sda/scheduler".parse().expect("a knob"), "bfq"),
            engine: "smartio".into(),
            rule: Rule::OnlyRequest,
            reason: Reason::rule("test"),
            over: vec![],
        };
        let app = |id: &str, launching| App {
            launching,
            ..classify(&AppFacts { id: id.into(), launching, ..AppFacts::default() })
        };
        let status = Status {
            devices: vec![Device { name: "sda".into(), model: "KLU".into(), kind: "ufs".into(), ..Default::default() }],
            settings: vec![SettingState { resolved, original: None, since_unix_ms: 0, outcome: Outcome::Unchanged }],
            apps: vec![app("cron", false), app("mail", true)],
            ..Status::default()
        };
        let lines: Vec<String> = picture(&status, rates.as_ref(), None).iter().map(|line| plain(line)).collect();
        let line = |begin: &str| lines.iter().position(|line| line.starts_with(begin)).expect(begin);
        let words: Vec<&str> = lines[line("sda")].split_whitespace().collect();
        assert_eq!((words[1], words[4], words[8]), ("300", "100", "3.00,"), "{words:?}");
        assert!(lines[line("saved")].contains("not known yet") && line("saved") < line("queue/sda/scheduler"));
        assert!(line("queue/sda/scheduler") < line("mail (launching)") && line("mail") < line("cron"));
        assert!(picture(&status, None, None)[line("sda")].contains(" - "));
    }
}
