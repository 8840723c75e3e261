//! The head of a document: machine, device and circumstances, as pairs of a word and a value.

use crate::results::{BlockDevice, Header};
use brisk_core::units::format_bytes;

use crate::format::{self, shorten};
use crate::papers;
use crate::section::{Facts, Section};

/// Pairs in the order in which a reader asks for them.
pub(crate) fn facts(header: &Header, section: &Section) -> Facts {
    let environment = &header.environment;
    let mut facts = section.machine.clone().unwrap_or_else(|| machine(header));
    facts.extend(section.facts.iter().cloned());
    facts.push((
        "Run",
        format!(
            "{}, took {}, brisk {}{}, seed {}",
            format::instant(&header.started),
            format::seconds(header.duration_s),
            environment.brisk_version,
            environment.commit.as_ref().map_or_else(String::new, |commit| format!(" ({})", shorten(commit, 40))),
            header.seed
        ),
    ));
    for (_, value) in &mut facts {
        *value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// Device, file system and machine.
fn machine(header: &Header) -> Facts {
    let environment = &header.environment;
    let mut facts = vec![(
        "Device",
        match (&environment.device, environment.disks.as_slice()) {
            (Some(of), _) => device(of),
            (None, []) => "unknown: no single block device below the path".to_owned(),
            (None, several) => format!("several: {}", several.join(", ")),
        },
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
    if header.written_bytes > 0 {
        facts.push(("Work", format!("{} written", format_bytes(header.written_bytes))));
    }
    facts
}

/// The device in a few words: for headings. Apps of an emulated phone ran on that, and not on the block device below.
pub(crate) fn device_name(header: &Header, section: &Section) -> String {
    if let Some(device) = &section.device {
        return device.clone();
    }
    let environment = &header.environment;
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
        Some(match &device.partition {
            Some(partition) => format!("{} (partition {partition})", device.name),
            None => device.name.clone(),
        }),
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
