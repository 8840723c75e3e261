//! The head of a document: machine, device and circumstances, as pairs of a word and a value.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{BlockDevice, Document, Header, KernelReport, LaunchSet, PhoneFacts, ScreenFacts};

use crate::{format, papers, sets};

/// Pairs in the order in which a reader asks for them.
pub(crate) fn facts(document: &Document) -> Vec<(&'static str, String)> {
    let header = document.header();
    let environment = &header.environment;
    if let Document::Kernel(report) = document {
        return kernel(report);
    }
    let mut facts = vec![(
        "Device",
        environment.device.as_ref().map_or_else(|| "unknown: no single block device below the path".to_owned(), device),
    )];
    if let Some(device) = &environment.device {
        facts.push(("Scheduler", queue(device)));
    }
    facts.push((
        "File system",
        match (&environment.file_system, &environment.mount_options) {
            (Some(fs), Some(options)) => format!("{fs} ({})", shorten(options, 80)),
            (Some(fs), None) => fs.clone(),
            (None, _) if environment.path.starts_with("/dev/") => "none: raw device".to_owned(),
            (None, _) => "unknown".to_owned(),
        },
    ));
    facts.push(("Path", shorten(&environment.path, 120)));
    facts.push((
        "Machine",
        format!(
            "{}, {}, kernel {}",
            environment.architecture,
            format::plural(environment.cpus.into(), "CPU"),
            environment.kernel
        ),
    ));
    if let Some(engine) = &header.io_engine {
        facts.push(("I/O engine", engine.clone()));
    }
    if let Document::Bench(bench) = document {
        facts.push(("Cache", bench.cache.text.clone()));
        if bench.work_bytes > 0 {
            facts.push((
                "Work",
                format!("{} used, {} written", format_bytes(bench.work_bytes), format_bytes(header.written_bytes)),
            ));
        }
    } else if header.written_bytes > 0 {
        facts.push(("Work", format!("{} written", format_bytes(header.written_bytes))));
    }
    facts.extend(own(document));
    facts.push(("Run", run(header)));
    for (_, value) in &mut facts {
        *value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// A virtual machine has no disk of its own, and nothing of this machine shows in it.
fn kernel(report: &KernelReport) -> Vec<(&'static str, String)> {
    let environment = &report.header.environment;
    vec![
        (
            "Machine",
            format!(
                "virtual, {}, {}, time counted in instructions",
                environment.architecture,
                format::plural(environment.cpus.into(), "CPU")
            ),
        ),
        ("Kernel", shorten(&environment.kernel, 80)),
        ("Run", run(&report.header)),
    ]
}

/// What differs between documents of one machine: the command, the screen, the phone, and what watching cost. Only
/// documents about apps and profiles have any of it.
pub(crate) fn own(document: &Document) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    match document {
        Document::Launch(report) => {
            facts.push(("Command", shorten(&report.command.join(" "), 120)));
            let long = report.sets.iter().filter(|set| set.label.chars().count() > sets::LABEL);
            let labels: Vec<String> = long.map(|set| shorten(&set.label, 120)).collect();
            if !labels.is_empty() {
                facts.push(("Set-ups", labels.join("; ")));
            }
            facts.extend(report.phone.as_ref().map(|of| ("Phone", phone(of))));
            facts.push(("Screen", screen(&report.screen)));
            facts.extend(watching(&report.sets));
        }
        Document::Latency(report) => {
            facts.push((
                "Command",
                match report.command.as_slice() {
                    [] => "none: the app ran already".to_owned(),
                    command => shorten(&command.join(" "), 120),
                },
            ));
            facts.push(("Script", shorten(&report.script, 80)));
            facts.extend(report.phone.as_ref().map(|of| ("Phone", phone(of))));
            facts.push(("Screen", screen(&report.screen)));
        }
        Document::Suite(report) => {
            facts.push(("Phone", phone(&report.phone)));
            facts.extend(watching(report.apps.iter().flat_map(|app| &app.sets)));
        }
        Document::WhatIf(report) => {
            facts.push(("Phone", phone(&report.phone)));
            facts.extend(watching(report.apps.iter().flat_map(|app| &app.sets)));
        }
        Document::Prove(report) => {
            facts.push(("Phone", phone(&report.phone)));
            facts.push(("Set-up", shorten(&report.set_ups.join("; "), 200)));
            facts.extend(watching(report.apps.iter().flat_map(|app| &app.sets)));
        }
        Document::Profile(report) => {
            facts.push(("Profile of", format!("{} ({})", shorten(&report.device_model, 60), report.device_kind)));
            facts.extend(report.profile.as_ref().map(|file| ("Kept in", shorten(file, 120))));
            facts.push(("Meter", shorten(&report.meter.what, 200)));
        }
        _ => {}
    }
    facts
}

fn screen(screen: &ScreenFacts) -> String {
    let (width, height) = screen.size_px;
    let size = if width == 0 || height == 0 { String::new() } else { format!("{width} x {height}") };
    let parts = [screen.protocol.clone(), shorten(&screen.display, 40), size];
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(", ")
}

fn phone(phone: &PhoneFacts) -> String {
    let preset = match papers::for_preset(&phone.preset) {
        Some(published) => format!("{}, emulated after {}", phone.preset, published.device),
        None => format!("{}, emulated", shorten(&phone.preset, 60)),
    };
    let parts = [
        Some(preset),
        Some(shorten(&phone.device, 60)),
        Some(format_bytes(phone.size_bytes)),
        Some(shorten(&phone.file_system, 80)),
        phone.scheduler.clone(),
        phone.driver_tags.map(|tags| format!("{} at once", format::plural(tags.into(), "request"))),
    ];
    parts.into_iter().flatten().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(", ")
}

/// Processor time of brisk itself over all launches.
fn watching<'a>(sets: impl IntoIterator<Item = &'a LaunchSet>) -> Option<(&'static str, String)> {
    let percents: Vec<f64> = sets.into_iter().flat_map(|s| &s.runs).map(|r| r.watch_cpu_percent).collect();
    let all = Summary::of(&percents)?;
    let most = if all.count > 1 { format!(", at most {}", format::percent(all.max)) } else { String::new() };
    Some(("Watching", format!("{} of one core{most}", format::percent(all.median))))
}

/// The device in a few words: for headings. Apps of an emulated phone ran on that, and not on the block device below.
pub(crate) fn device_name(document: &Document) -> String {
    let phone = match document {
        Document::Suite(report) => Some(&report.phone),
        Document::WhatIf(report) => Some(&report.phone),
        Document::Prove(report) => Some(&report.phone),
        Document::Launch(report) => report.phone.as_ref(),
        Document::Latency(report) => report.phone.as_ref(),
        _ => None,
    };
    if let Document::Kernel(report) = document {
        let mut presets: Vec<&str> = report.scenarios.iter().map(|scenario| scenario.device.preset.as_str()).collect();
        presets.dedup();
        return shorten(&format!("Linux {}, {}", report.series, presets.join(", ")), 60);
    }
    if let Some(phone) = phone {
        return format!("{} (emulated)", shorten(phone.preset.trim(), 60));
    }
    let environment = &document.header().environment;
    let name = environment.device.as_ref().map_or_else(
        || environment.path.clone(),
        |d| match (&d.lab_preset, &d.model) {
            (Some(preset), _) => format!("{preset} (emulated)"),
            (None, Some(model)) => model.clone(),
            (None, None) => d.name.clone(),
        },
    );
    shorten(name.trim(), 60)
}

fn device(device: &BlockDevice) -> String {
    // Virtual disks often call themselves rotating: it is a word of the kernel, not a fact.
    let kind = if device.rotational { "rotating, says the kernel" } else { "not rotating" };
    let lab = device.lab_preset.as_ref().map(|preset| match papers::for_preset(preset) {
        Some(published) => format!("{preset}, emulated after {}", published.device),
        None => format!("{preset}, emulated"),
    });
    let parts: Vec<String> = [
        lab,
        device.model.as_ref().map(|m| shorten(m.trim(), 80)),
        Some(device.name.clone()),
        Some(format_bytes(device.size_bytes)),
        (device.lab_preset.is_none()).then(|| kind.to_owned()),
    ]
    .into_iter()
    .flatten()
    .filter(|part| !part.is_empty())
    .collect();
    parts.join(", ")
}

fn queue(device: &BlockDevice) -> String {
    let parts: Vec<String> = [
        device.scheduler.as_ref().map(|scheduler| {
            let others: Vec<String> =
                device.schedulers_available.iter().filter(|other| *other != scheduler).cloned().collect();
            if others.is_empty() {
                scheduler.clone()
            } else {
                format!("{scheduler} (also there: {})", others.join(", "))
            }
        }),
        device.queue_depth_requests.map(|n| format!("depth {n}")),
        device.max_request_kib.map(|n| format!("requests up to {n} KiB")),
        device.read_ahead_kib.map(|n| format!("read-ahead {n} KiB")),
        device.write_cache.clone(),
    ]
    .into_iter()
    .flatten()
    .collect();
    parts.join(", ")
}

fn run(header: &Header) -> String {
    format!(
        "{}, took {}, brisk {}, seed {}",
        format::instant(&header.started),
        format::seconds(header.duration_s),
        header.environment.brisk_version,
        header.seed
    )
}

/// `text` with its middle cut out when it is longer than `most` characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let (front, back) = (most * 2 / 3, most - most * 2 / 3 - 1);
    text.chars().take(front).chain(['…']).chain(text.chars().skip(count - back)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        let short = shorten(&format!("/very{}/end", "/long".repeat(60)), 40);
        assert_eq!(short.chars().count(), 40);
        assert!(short.starts_with("/very") && short.ends_with("/end") && short.contains('…'));
        assert_eq!(shorten("short", 40), "short");
    }
}
