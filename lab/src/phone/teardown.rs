//! Removal of a complete or incomplete phone.
//!
//! The order matters: the daemon that manages it and its settings first, processes before swap, mounts in memory before
//! swap (the kernel frees what they have there, and need not read it back), swap before the flash's mount, mounts
//! before the device, the directory last. Only resources of the phone are removed: its daemon, its control group,
//! processes whose root directory is in it, mounts below its directory, the lab device with its mark.

use std::collections::BTreeSet;

use brisk_core::causes::in_one_line;

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::group::Group;
use crate::phone::memory::MemoryGroup;
use crate::phone::phones::Phones;
use crate::phone::state::{MemoryRecord, StateDir};
use crate::phone::{daemon, mounts, processes, swap_area};

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
    let mut stays = None;
    if let Some(memory) = record.as_ref().and_then(|record| record.memory.as_ref()) {
        mounts::unmount_all_but(Some(&dir.root()), dir.path(), force)?;
        match (remove_memory(memory), &device) {
            (Ok(more), _) => words.extend(more),
            // That can be repeated, as long as its flash answers.
            (Err(error), Some(device)) if device.trouble.is_none() => return Err(error),
            (Err(error), _) => stays = Some(error),
        }
    }
    mounts::unmount_all(dir.path(), force || stays.is_some())?;
    words.extend(
        holders.iter().map(|by| format!("{by} still uses files of the phone, which are freed when it closes them")),
    );
    if let Some(device) = device {
        match phones.lab.down(&device.id.to_string(), force) {
            // The device of a dead creator removes itself, possibly since the lookup.
            Err(crate::device::Error::NoSuchDevice(_)) => {}
            down => words.extend(down?),
        }
    }
    dir.remove().map_err(failed(format!("remove {}", dir.path().display())))?;
    match stays {
        Some(cause) => Err(Error::SwapStays { id: dir.id, cause: Box::new(cause) }),
        None => Ok(words),
    }
}

/// Switches swap off, and removes the memory group; its processes have ended. Gives messages on what could not be
/// removed; all of it is tried.
///
/// # Errors
/// When a swap area is still on.
fn remove_memory(memory: &MemoryRecord) -> Result<Vec<String>> {
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
    let file = memory.file.as_deref().map_or(Ok(()), swap_area::switch_off);
    let zram = memory.zram.map_or(Ok(()), swap_area::remove_zram);
    let group = group.remove();
    file.and(zram)?;
    note(group);
    Ok(words)
}
