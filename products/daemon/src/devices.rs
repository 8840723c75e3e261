//! The block devices that brisk manages, as engines see them.
//!
//! Without a list brisk manages the flash devices (those that the kernel does not call rotating) under mounted file systems and
//! swap, through device mapper and RAID down to the disks; a device of the lab counts as flash there. It never touches
//! any other unless the configuration lists it: a lab device on which nothing is mounted, or on which an emulated phone
//! runs, is there to be measured with its own settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brisk_core::device::Device;
use brisk_core::knob::{Knob, QueueSetting};
use brisk_formats::{device_name, sysfs_name};
use brisk_sense::{BlockDevice, BlockQueue, DeviceNumber, Identity, Mount, Sense};

use crate::config::{Config, Devices};

/// Devices that are memory, files or networks, or have no queue of their own.
const NOT_FLASH: [&str; 12] = ["zram", "ram", "loop", "dm-", "md", "nbd", "rbd", "drbd", "sr", "fd", "zd", "ublkb"];

/// The devices to manage, by kernel name. One that disappears meanwhile is left out.
///
/// # Errors
/// When /proc or /sys is not readable.
pub fn managed(sense: &Sense, choice: &Devices) -> brisk_sense::Result<Vec<Device>> {
    let all = sense.block_devices()?;
    let names: BTreeSet<String> = match choice {
        Devices::These(names) => names.iter().map(|name| sysfs_name(name)).collect(),
        Devices::Auto => {
            let swaps: Vec<PathBuf> = sense.swaps()?.into_iter().map(|swap| swap.path).collect();
            let disk_of = |number| sense.block_device_of(number).ok().flatten().map(|located| located.disk.name);
            let mounts: Vec<Mount> =
                sense.mounts()?.into_iter().filter(|mount| !is_of_phone(&mount.mount_point)).collect();
            let used = used(&all, &mounts, &swaps, disk_of);
            let is_lab = |name: &String| {
                let device = all.iter().find(|device| device.name == *name);
                device.is_some_and(|device| sense.identity(device).is_ok_and(|identity| identity.is_lab))
            };
            disks_below(&all, used).into_iter().filter(|name| is_flash(sense, name) || is_lab(name)).collect()
        }
    };
    let mut devices = Vec::new();
    for name in names {
        if let Some(device) = all.iter().find(|device| device.name == name)
            && let Some(described) = describe(sense, device)?
        {
            devices.push(described);
        }
    }
    Ok(devices)
}

/// A sentence for each device that `config` names and that is not managed as it stands: it may be a card that is not inserted,
/// so that is no error. Empty where the devices cannot be listed.
#[must_use]
pub fn absent(sense: &Sense, config: &Config) -> Vec<String> {
    sense.block_devices().map_or_else(|_| Vec::new(), |all| absent_of(&all, config))
}

fn absent_of(all: &[BlockDevice], config: &Config) -> Vec<String> {
    let listed = match &config.daemon.devices {
        Devices::Auto => &[][..],
        Devices::These(names) => names,
    };
    let fixed = config.fixed.keys().filter_map(Knob::device);
    let named =
        listed.iter().map(|name| (sysfs_name(name), "devices")).chain(fixed.map(|name| (sysfs_name(name), "fixed")));
    let mut sentences = Vec::new();
    for (name, key) in named {
        let disk = all.iter().find(|disk| disk.partitions.iter().any(|partition| partition.name == name));
        let sentence = match disk {
            _ if all.iter().any(|device| device.name == name) => continue,
            Some(disk) => {
                format!("{key}: '{name}' is a partition, and only whole disks are managed: name {}", disk.name)
            }
            None => format!("{key}: there is no block device '{name}' at present: it is managed from when it appears"),
        };
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// Devices on which something is mounted or swapped: by the number of the mount, or by node where the file system has a
/// number of its own.
fn used(
    all: &[BlockDevice],
    mounts: &[Mount],
    swaps: &[PathBuf],
    disk_of: impl Fn(DeviceNumber) -> Option<String>,
) -> BTreeSet<String> {
    let numbers: BTreeSet<DeviceNumber> =
        mounts.iter().map(|mount| mount.device).filter(|number| number.major != 0).collect();
    let sources = mounts.iter().filter(|mount| mount.device.major == 0).map(|mount| &mount.source);
    let names: BTreeSet<String> = sources.chain(swaps).filter_map(|path| name_of(path)).collect();
    let has_name = |device: &&BlockDevice| {
        names.contains(&device.name) || device.partitions.iter().any(|partition| names.contains(&partition.name))
    };
    let by_node = all.iter().filter(has_name).map(|device| device.name.clone());
    numbers.into_iter().filter_map(disk_of).chain(by_node).collect()
}

/// The kernel's name of what is at `path`, if that is a node of a block device: below /dev, on Android below /dev/block.
pub(crate) fn name_of(path: &Path) -> Option<String> {
    // Names of volumes are links to the kernel's names.
    let node = path.starts_with("/dev").then(|| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))?;
    let below = node.strip_prefix("/dev/block").or_else(|_| node.strip_prefix("/dev")).ok()?;
    Some(sysfs_name(below.to_str()?))
}

/// The disks under these devices.
pub(crate) fn disks_below(all: &[BlockDevice], names: BTreeSet<String>) -> BTreeSet<String> {
    let disk_of = |name: &str| {
        all.iter().find(|device| device.name == name || device.partitions.iter().any(|part| part.name == name))
    };
    let mut disks = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut to_look: Vec<String> = names.into_iter().collect();
    while let Some(name) = to_look.pop() {
        let Some(device) = disk_of(&name) else { continue };
        if !seen.insert(device.name.clone()) {
            continue;
        }
        if device.slaves.is_empty() {
            disks.insert(device.name.clone());
        }
        to_look.extend(device.slaves.iter().cloned());
    }
    disks
}

fn is_flash(sense: &Sense, name: &str) -> bool {
    let stem =
        |prefix: &&str| name.strip_prefix(*prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    !NOT_FLASH.iter().any(stem) && sense.block_queue(name).is_ok_and(|queue| !queue.rotational)
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

/// What was known of devices before, brought up to date: a setting that brisk holds now keeps the value from before brisk.
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
