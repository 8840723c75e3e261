//! The block devices that brisk manages, as engines see them, and why it leaves the others alone.
//!
//! Without a list brisk manages the disks under mounted file systems and swap ([`brisk_sense::Storage`]) that are flash
//! or those of a virtual machine ([`brisk_sense::Medium`]); a device of the lab counts as flash there. It never touches
//! any other unless the configuration lists it: a lab device on which nothing is mounted, or on which an emulated phone
//! runs, is there to be measured with its own settings. What is listed is managed whatever it is; a partition or volume
//! that is listed stands for its disks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brisk_api::{LeftAlone, Why};
use brisk_core::device::Device;
use brisk_core::knob::{Knob, QueueSetting};
use brisk_formats::{device_name, sysfs_name};
use brisk_sense::{BlockDevice, BlockQueue, Identity, Medium, Sense, Storage};

use crate::config::{Config, Devices};

/// Devices in memory, which are no disks.
const MEMORY: [&str; 2] = ["zram", "ram"];
/// Where programs are: of a Linux distribution, of Android.
const PROGRAMS: [&str; 2] = ["/usr", "/data/app"];
/// Devices that are files, discs, programs or networks.
const NOT_LOCAL: [&str; 8] = ["loop", "nbd", "rbd", "drbd", "sr", "fd", "zd", "ublkb"];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Disks {
    pub managed: Vec<Device>,
    pub left_alone: Vec<LeftAlone>,
}

/// The devices to manage, by kernel name. One that disappears meanwhile is left out.
///
/// # Errors
/// When /proc or /sys is not readable.
pub fn managed(sense: &Sense, choice: &Devices) -> brisk_sense::Result<Vec<Device>> {
    Ok(disks(sense, choice)?.managed)
}

/// The devices to manage, and the disks that are left alone, with the reason for each.
///
/// # Errors
/// When /proc or /sys is not readable.
pub fn disks(sense: &Sense, choice: &Devices) -> brisk_sense::Result<Disks> {
    let storage = sense.storage()?;
    let mut found = Disks::default();
    let mut leave = |name: &str, why: Why| found.left_alone.push(LeftAlone::new(device_name(name), why));
    let mut listed = BTreeSet::new();
    if let Devices::These(names) = choice {
        for name in names {
            let disks = disks_named(&storage, name);
            if disks.is_empty() {
                leave(&sysfs_name(name), Why::Missing);
            }
            listed.extend(disks);
        }
    }
    let is_of_phone = |mount: &&brisk_sense::Mount| is_of_phone(&mount.mount_point);
    let (of_phones, others): (Vec<_>, Vec<_>) = storage.mounts().iter().partition(is_of_phone);
    let below = |mounts: &[&brisk_sense::Mount]| -> BTreeSet<String> {
        mounts.iter().flat_map(|mount| storage.below_mount(mount).disks).collect()
    };
    let (of_phones, mut used) = (below(&of_phones), below(&others));
    let with_swap = storage.below_swap().disks;
    let with_programs: BTreeSet<String> =
        PROGRAMS.iter().flat_map(|path| storage.below_path(Path::new(path)).disks).collect();
    used.extend(with_swap.iter().cloned());
    for device in storage.devices() {
        let name = &device.name;
        let why = match choice {
            _ if listed.contains(name) && device.size_bytes == 0 => Some(Why::Empty),
            _ if listed.contains(name) => None,
            // Compressed memory, empty drives, and what stands on disks.
            _ if device.size_bytes == 0 || has_stem(name, &MEMORY) || !is_disk(&storage, name) => continue,
            Devices::These(_) => Some(Why::NotListed),
            Devices::Auto if used.contains(name) => why_not(sense, device)?,
            Devices::Auto if of_phones.contains(name) => Some(Why::Phone),
            // Boot areas of a card.
            Devices::Auto if sense.card_of(device)?.is_some() => continue,
            Devices::Auto => Some(Why::NotUsed),
        };
        match why {
            Some(why) => leave(name, why),
            None => match describe(sense, device) {
                Ok(Some(described)) => found.managed.push(Device {
                    has_programs: with_programs.contains(name),
                    has_swap: with_swap.contains(name),
                    ..described
                }),
                Ok(None) => leave(name, Why::NoScheduler),
                // One with a broken driver hides no other.
                Err(_) => leave(name, Why::Unreadable),
            },
        }
    }
    Ok(found)
}

/// The disks that a name of the configuration or of a person stands for: of a device or partition, as in /sys or below
/// /dev.
#[must_use]
pub fn disks_named(storage: &Storage, name: &str) -> BTreeSet<String> {
    let name = match sysfs_name(name) {
        name if storage.device_of(&name).is_some() => Some(name),
        _ => storage.name_of(&Path::new("/dev").join(name)),
    };
    let Some(device) = name.and_then(|name| storage.device_of(&name)) else { return BTreeSet::new() };
    // A file of a loop device is no part of the name.
    let stack = storage.below_device(&device.name);
    if device.slaves.is_empty() || stack.disks.contains(&device.name) {
        BTreeSet::from([device.name.clone()])
    } else {
        stack.disks
    }
}

/// Whether it is at the end of its own stack.
fn is_disk(storage: &Storage, name: &str) -> bool {
    storage.below_device(name).disks.contains(name)
}

/// Why a disk that is used is not managed by itself.
fn why_not(sense: &Sense, disk: &BlockDevice) -> brisk_sense::Result<Option<Why>> {
    if sense.identity(disk)?.is_lab {
        return Ok(None);
    }
    if has_stem(&disk.name, &NOT_LOCAL) {
        return Ok(Some(Why::NotLocal));
    }
    Ok(match sense.medium(disk)? {
        Medium::Flash | Medium::Virtual => None,
        Medium::Rotating => Some(Why::Rotating),
        Medium::Unknown => Some(Why::UnknownMedium),
    })
}

/// Whether the name is one of these with a number behind it.
fn has_stem(name: &str, stems: &[&str]) -> bool {
    stems.iter().any(|stem| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
}

/// A sentence for each device that `config` names and that is not managed as it stands: it may be a card that is not
/// inserted, so that is no error. Empty where the devices cannot be listed.
#[must_use]
pub fn absent(sense: &Sense, config: &Config) -> Vec<String> {
    sense.storage().map_or_else(|_| Vec::new(), |storage| absent_of(&storage, config))
}

fn absent_of(storage: &Storage, config: &Config) -> Vec<String> {
    let listed = match &config.daemon.devices {
        Devices::Auto => &[][..],
        Devices::These(names) => names,
    };
    let mut sentences = Vec::new();
    let none = |key: &str, name: &str| {
        format!("{key}: there is no block device '{name}' at present: it is managed from when it appears")
    };
    for name in listed.iter().filter(|name| disks_named(storage, name).is_empty()) {
        sentences.push(none("devices", name));
    }
    for name in config.fixed.keys().filter_map(Knob::device).map(sysfs_name) {
        let sentence = match storage.device_of(&name) {
            Some(disk) if disk.name == name => continue,
            Some(disk) => {
                format!("fixed: '{name}' is a partition, and only whole disks have a queue: name {}", disk.name)
            }
            None => none("fixed", &name),
        };
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// Whether something is mounted there for an emulated phone: `RUN_DIR/phone/ID/root`, or below it.
fn is_of_phone(mount_point: &Path) -> bool {
    let parts: Vec<&str> = mount_point.iter().filter_map(|part| part.to_str()).collect();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.windows(3).any(|three| three[0] == "phone" && is_number(three[1]) && matches!(three[2], "root" | "ram"))
}

/// A device as engines see it; `None` when it disappeared meanwhile or has no queue with a scheduler.
fn describe(sense: &Sense, device: &BlockDevice) -> brisk_sense::Result<Option<Device>> {
    let queue = match sense.block_queue(&device.name) {
        Ok(queue) => queue,
        Err(error) if error.is_absent() => return Ok(None),
        Err(error) => return Err(error),
    };
    // A drive without a medium and a loop device without a file have nothing to serve.
    if queue.schedulers.current.is_none() || device.size_bytes == 0 {
        return Ok(None);
    }
    let Identity { model, kind, .. } = sense.identity(device)?;
    Ok(Some(Device {
        name: device_name(&device.name),
        model,
        kind,
        schedulers: queue.schedulers.available.clone(),
        originals: settings(sense, &queue)?,
        ..Device::default()
    }))
}

/// The settings of a queue as they stand, by name.
fn settings(sense: &Sense, queue: &BlockQueue) -> brisk_sense::Result<Vec<(String, String)>> {
    let number = |value: u64| Some(value.to_string());
    let scheduler = queue.schedulers.current.clone();
    let plain = [
        (QueueSetting::Scheduler, scheduler.clone()),
        (QueueSetting::NrRequests, queue.depth_requests.map(|depth| depth.to_string())),
        (QueueSetting::ReadAheadKb, number(queue.read_ahead_kib)),
        (QueueSetting::MaxSectorsKb, number(queue.max_request_kib)),
        (QueueSetting::WbtLatUsec, queue.writeback_throttle_us.and_then(number)),
        (QueueSetting::WriteCache, queue.write_cache.clone()),
    ];
    let mut settings: Vec<(String, String)> =
        plain.into_iter().filter_map(|(setting, value)| Some((setting.to_string(), value?))).collect();
    if let Some(scheduler) = scheduler {
        let tunables = sense.scheduler_tunables(&queue.name)?;
        settings.extend(tunables.into_iter().map(|(name, value)| (format!("{scheduler}/{name}"), value)));
    }
    Ok(settings)
}

/// What was known of devices before, brought up to date: a setting that brisk holds now keeps the value from before
/// brisk.
#[must_use]
pub fn with_originals(before: &[Device], now: Vec<Device>, held: &BTreeMap<String, BTreeSet<String>>) -> Vec<Device> {
    let nothing = BTreeSet::new();
    now.into_iter()
        .map(|mut device| {
            let held = held.get(&device.name).unwrap_or(&nothing);
            if let Some(known) = before.iter().find(|known| known.name == device.name && known.model == device.model) {
                let changed_scheduler = held.contains(&QueueSetting::Scheduler.to_string());
                for (name, value) in &known.originals {
                    let is_tunable = name.contains('/');
                    match device.originals.iter_mut().find(|(now, _)| now == name) {
                        Some((_, now)) if held.contains(name) || (changed_scheduler && resets(name)) => {
                            now.clone_from(value);
                        }
                        // Tunables of the scheduler from before are not there while another is in force.
                        None if is_tunable && changed_scheduler => device.originals.push((name.clone(), value.clone())),
                        _ => {}
                    }
                }
                if changed_scheduler {
                    // The tunables of brisk's scheduler have its defaults; they are not the original values.
                    device.originals.retain(|(name, _)| known.originals.iter().any(|(before, _)| before == name));
                }
            }
            device
        })
        .collect()
}

/// Whether a change of scheduler changes this setting too.
fn resets(name: &str) -> bool {
    [QueueSetting::NrRequests, QueueSetting::WbtLatUsec].iter().any(|setting| setting.to_string() == name)
}

#[cfg(test)]
mod tests;
