//! Removal of a complete or incomplete phone.
//!
//! The order matters: the daemon that manages it and its settings first, processes before swap, swap before mounts, mounts before
//! the device, the directory last. Only resources of the phone are removed: its daemon, its control group, processes whose root
//! directory is in it, mounts below its directory, the lab device with its mark.

use std::collections::BTreeSet;

use brisk_core::causes::in_one_line;

use crate::error::{Error, Result, io as failed};
use crate::group::Group;
use crate::memory::MemoryGroup;
use crate::phones::Phones;
use crate::state::{MemoryRecord, StateDir};
use crate::{daemon, mounts, processes, swap_area};

/// Removes a phone; with `force` even when processes outside use its files. Returns messages on obstacles.
pub(crate) fn take_down(phones: &Phones, dir: &StateDir, force: bool) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let Some(_one_at_a_time) = dir.lock_changes().map_err(failed("lock the phone"))? else { return Ok(words) };
    let record = dir.load();
    if force {
        words.extend(daemon::end(&dir.path().join(daemon::FOLDER), dir.id)?);
    }
    let group = record.as_ref().and_then(|record| record.group.as_deref()).map(Group::at);
    let mut known: BTreeSet<u32> = group.as_ref().map_or_else(BTreeSet::new, Group::processes);
    // This process holds the lock.
    known.insert(std::process::id());
    // A device that another process has open cannot be removed either.
    let device = record.as_ref().filter(|_| !force).and_then(|record| phones.lab_device(record.mark)?.device);
    let holders = processes::holders(dir.path(), device.as_deref(), &known)?;
    if !holders.is_empty() && !force {
        return Err(Error::Busy { id: dir.id, by: holders.join(", ") });
    }
    if let Some(group) = &group {
        group.remove()?;
    }
    record.iter().flat_map(|record| &record.buses).for_each(|&pid| processes::reap(pid));
    processes::end_inside(dir.path(), &BTreeSet::new())?;
    let device = record.as_ref().and_then(|record| phones.lab_device(record.mark));
    if let Some(device) = device.as_ref().filter(|device| device.trouble.is_none()) {
        // Writeback may be untimed now. A server that does not answer is handled below.
        let _ = phones.lab.change(&device.id.to_string(), &[], Some(false), false);
    }
    if let Some(memory) = record.as_ref().and_then(|record| record.memory.as_ref()) {
        words.extend(remove_memory(memory));
    }
    mounts::unmount_all(dir.path(), force)?;
    words.extend(
        holders.iter().map(|by| format!("{by} still uses files of the phone, which are freed when it closes them")),
    );
    if let Some(device) = device {
        match phones.lab.down(&device.id.to_string(), force) {
            // The device of a dead creator removes itself, possibly since the lookup.
            Err(brisk_lab::Error::NoSuchDevice(_)) => {}
            down => words.extend(down?),
        }
    }
    dir.remove().map_err(failed(format!("remove {}", dir.path().display())))?;
    Ok(words)
}

/// Switches swap off, and removes the memory group; its processes have ended. Gives messages on what could not be removed.
fn remove_memory(memory: &MemoryRecord) -> Vec<String> {
    let group = MemoryGroup::at(&memory.group);
    let mut words = Vec::new();
    let mut note = |done: Result<()>| {
        if let Err(error) = done {
            words.push(in_one_line(&error));
        }
    };
    if group.dir().exists() {
        // What comes back from swap must fit.
        note(group.set_limit(None));
    }
    if let Some(file) = &memory.file {
        note(swap_area::switch_off(file));
    }
    if let Some(number) = memory.zram {
        note(swap_area::remove_zram(number));
    }
    note(group.remove());
    words
}
