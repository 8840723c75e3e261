//! Which block devices brisk manages, and what engines are told of each.
//!
//! Left to itself brisk takes the flash devices (what the kernel does not call rotating) under mounted file systems and
//! swap, through device mapper and RAID down to the disks, and devices of the lab. It never touches any other unless the
//! configuration lists it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use brisk_core::decision::Device;
use brisk_core::knob::QueueSetting;
use brisk_sense::{BlockDevice, BlockQueue, DeviceNumber, Mount, Sense};
use serde::Deserialize;

use crate::config::Devices;

/// Devices that are memory, files or networks, or have no queue of their own.
const NOT_FLASH: [&str; 12] = ["zram", "ram", "loop", "dm-", "md", "nbd", "rbd", "drbd", "sr", "fd", "zd", "ublkb"];

/// File system of the lab's servers, in which the files behind its loop devices are.
const LAB_FILE_SYSTEM: &str = "fuse.brisk-lab";

/// The devices to manage, by kernel name, with what engines are told of them. One that vanishes meanwhile is left out.
///
/// # Errors
/// When /proc or /sys is not readable.
pub fn managed(sense: &Sense, choice: &Devices) -> brisk_sense::Result<Vec<Device>> {
    let all = sense.block_devices()?;
    let mounts = sense.mounts()?;
    let names: BTreeSet<String> = match choice {
        Devices::These(names) => names.iter().map(|name| name.replace('/', "!")).collect(),
        Devices::Auto => {
            let swaps: Vec<PathBuf> = sense.swaps()?.into_iter().map(|swap| swap.path).collect();
            let disk_of = |number| sense.block_device_of(number).ok().flatten().map(|located| located.disk.name);
            let used = used(&all, &mounts, &swaps, disk_of);
            let flash = disks_below(&all, used).into_iter().filter(|name| is_flash(sense, name));
            flash.chain(lab(sense, &all, &mounts)).collect()
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
fn name_of(path: &Path) -> Option<String> {
    // Names of volumes are links to the kernel's names.
    let node = path.starts_with("/dev").then(|| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))?;
    let below = node.strip_prefix("/dev/block").or_else(|_| node.strip_prefix("/dev")).ok()?;
    Some(below.to_str()?.replace('/', "!"))
}

/// The disks under these devices.
fn disks_below(all: &[BlockDevice], names: BTreeSet<String>) -> BTreeSet<String> {
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

/// Loop devices on files of the lab's servers.
fn lab(sense: &Sense, all: &[BlockDevice], mounts: &[Mount]) -> Vec<String> {
    let servers: Vec<&Mount> = mounts.iter().filter(|mount| mount.fs_type == LAB_FILE_SYSTEM).collect();
    let is_lab = |device: &&BlockDevice| {
        let backing = sense.loop_backing(&device.name).ok().flatten();
        backing.is_some_and(|backing| servers.iter().any(|mount| backing.file.starts_with(&mount.mount_point)))
    };
    if servers.is_empty() { Vec::new() } else { all.iter().filter(is_lab).map(|device| device.name.clone()).collect() }
}

/// What engines are told of a device; `None` when it went meanwhile or has no queue that schedules.
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
    let lab_preset = sense.loop_backing(&device.name).ok().flatten().and_then(|backing| lab_preset(&backing.file));
    let place = sense.block_device_place(&device.name)?;
    let place = place.map(|place| place.to_string_lossy().into_owned()).unwrap_or_default();
    let model = lab_preset.clone().unwrap_or_else(|| model(device));
    Ok(Some(Device {
        name: device.name.replace('!', "/"),
        model,
        kind: lab_preset.as_deref().map_or_else(|| kind(device, &place), kind_of_preset).to_owned(),
        schedulers: queue.schedulers.available.clone(),
        originals: settings(sense, &queue)?,
    }))
}

/// What a device calls itself: number of the maker for cards, maker and model, or the kernel's name for what has neither. What
/// was measured on a device is kept under this name (`brisk profile`, `brisk study frontier`).
fn model(device: &BlockDevice) -> String {
    let maker = device.mmc.as_ref().and_then(|mmc| mmc.manufacturer_id).map(|id| format!("{id:06x}"));
    let words = [maker.as_deref(), device.vendor.as_deref(), device.model.as_deref()];
    let words: Vec<&str> = words.into_iter().flatten().map(str::trim).collect();
    let words = words.join(" ");
    if words.is_empty() { device.name.clone() } else { words }
}

/// Sort of device, by what the kernel calls it and the buses that it hangs on.
fn kind(device: &BlockDevice, place: &str) -> &'static str {
    let on = |bus: &str| place.split('/').any(|part| part.contains(bus));
    let is_virtual = ["vd", "xvd", "loop", "nbd", "ublk"].iter().any(|stem| device.name.starts_with(stem));
    match &device.mmc {
        Some(mmc) if mmc.kind.as_deref() == Some("SD") => "sd",
        Some(_) => "emmc",
        None if device.name.starts_with("nvme") => "nvme",
        None if is_virtual || on("virtio") => "virtual",
        None if on("ufs") => "ufs",
        None if on("usb") => "usb",
        None => "disk",
    }
}

/// Sort of device that a preset of the lab stands for, by its name.
fn kind_of_preset(preset: &str) -> &'static str {
    let words: Vec<&str> = preset.split(['-', '/', '.']).collect();
    ["emmc", "ufs", "sd"].into_iter().find(|kind| words.contains(kind)).unwrap_or("virtual")
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

/// The preset of the lab device whose server holds the file at `backing`: it lies in the mount point of the device's
/// directory, which has a file about it.
fn lab_preset(backing: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct State {
        preset: String,
    }
    let file = backing.parent()?.parent()?.join("state.json");
    let state: State = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    Some(state.preset)
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
                    // Those of brisk's scheduler stand at its defaults, not at anybody's choice.
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
