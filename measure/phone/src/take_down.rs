//! The way back, for a phone that stands and for what is left of one.
//!
//! Order matters: programs before mounts, mounts before the device, the directory last. Only what is the phone's own is
//! touched: its control group, processes whose root directory is in it, mounts below its directory, the lab device that
//! bears its mark.

use std::collections::BTreeSet;

use crate::error::{Error, Result, io as failed};
use crate::group::Group;
use crate::phones::Phones;
use crate::state::StateDir;
use crate::{processes, room};

/// Removes everything of a phone; with `force` also when somebody outside uses its files. Gives sentences on what was in
/// the way.
pub(crate) fn take_down(phones: &Phones, dir: &StateDir, force: bool) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let Some(_one_at_a_time) = dir.lock_changes().map_err(failed("look after the phone"))? else { return Ok(words) };
    let record = dir.load();
    let group = record.as_ref().and_then(|record| record.group.as_deref()).map(Group::at);
    let mut known: BTreeSet<u32> = group.as_ref().map_or_else(BTreeSet::new, Group::processes);
    // This process holds the lock.
    known.insert(std::process::id());
    let holders = processes::holders(dir.path(), &known)?;
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
        // What is still to be written need not take the model's time. A server that does not hear is dealt with below.
        let _ = phones.lab.change(&device.id.to_string(), &[], Some(false), false);
    }
    room::strip(dir.path(), force)?;
    words.extend(
        holders.iter().map(|by| format!("{by} still uses files of the phone, which go when it lets go of them")),
    );
    if let Some(device) = device {
        match phones.lab.down(&device.id.to_string(), force) {
            // A device whose maker died goes by itself, and may have done so since it was looked for.
            Err(brisk_lab::Error::NoSuchDevice(_)) => {}
            down => words.extend(down?),
        }
    }
    dir.remove().map_err(failed(format!("remove {}", dir.path().display())))?;
    Ok(words)
}
