//! Taking a set-up back, step by step.

use std::fs;

use super::record::{Mark, Record};
use super::{FlashArea, LeftArea, Result, SwapAreaError, SwapAreas, SwapPlan, area, boot, kernel, record, remove};

#[derive(Debug)]
pub struct Undone {
    /// What was set up; `None` where an earlier undo removed its area.
    pub plan: Option<SwapPlan>,
    /// What could not be removed; it stays recorded.
    pub left: Vec<LeftArea>,
}

impl SwapAreas {
    /// Makes all steps, also after one that fails.
    pub(super) fn undo_recorded(&self, mut record: Record) -> Undone {
        let plan = record.plan();
        let place = &self.places.record;
        let mut left = Vec::new();
        // Before the area, by which its line is known.
        match boot::remove_all(&self.places, &record) {
            Ok(()) => record.at_boot = None,
            Err(why) => {
                let (what, by_hand) = boot::by_hand(&self.places, &record);
                left.push(LeftArea { what, why, by_hand });
            }
        }
        let mut is_area_left = false;
        if let Some(area) = record.area.clone()
            && let Err(why) = remove_flash(&area, &record)
        {
            left.push(LeftArea { what: described(&area), by_hand: by_hand(&area, &why, place), why });
            is_area_left = true;
        }
        if let Some(zram) = &record.zram {
            let is_of_this_boot = kernel::boot_id().is_ok_and(|boot_id| boot_id == zram.boot_id);
            let device = kernel::zram(zram.number);
            match if is_of_this_boot { kernel::remove_zram(zram.number, &record.zram_uuid) } else { Ok(()) } {
                Ok(()) => record.zram = None,
                Err(why) => left.push(LeftArea {
                    what: format!("the compressed memory {}", device.display()),
                    why,
                    by_hand: format!("'swapoff {}', or restart the machine", device.display()),
                }),
            }
        }
        // The line of the area in fstab is known by the area.
        if !is_area_left && record.at_boot.is_none() {
            record.area = None;
        }
        if left.is_empty() {
            if let Err(why) = record::remove(place, &record) {
                let (what, by_hand) = ("the record of the set-up".to_owned(), format!("'rm {}'", place.display()));
                left.push(LeftArea { what, why, by_hand });
            }
        } else {
            // Without it the steps that were made are made again, and find nothing.
            let _ = record::save(place, &record);
        }
        Undone { plan, left }
    }
}

fn remove_flash(area: &FlashArea, record: &Record) -> Result<()> {
    if let FlashArea::File { path, .. } = area {
        remove(&area::unfinished(path))?;
    }
    if record.mark == Mark::None {
        return Ok(());
    }
    let found = match area::find(area, &record.uuid) {
        Err(SwapAreaError::NotFound { .. }) if record.mark == Mark::Begun => return Ok(()),
        // The file was removed by hand.
        Err(SwapAreaError::NotFound { is_another: false, path, .. }) if matches!(area, FlashArea::File { .. }) => {
            if !record::is_mounted(record, &path) {
                return Err(SwapAreaError::NotMounted { path });
            }
            let mut deleted = path.clone().into_os_string();
            deleted.push(" (deleted)");
            let is_on = kernel::areas()?.iter().any(|one| one.path.as_os_str() == deleted);
            return if is_on { Err(SwapAreaError::RemovedWhileOn { path }) } else { Ok(()) };
        }
        found => found?,
    };
    if kernel::is_on(&found)? {
        kernel::switch_off(&found)?;
    }
    match area {
        FlashArea::File { path, .. } => remove(path),
        FlashArea::Partition { .. } => area::unmark(&found, &record.uuid),
    }
}

fn described(area: &FlashArea) -> String {
    match area {
        FlashArea::File { path, .. } => format!("the swap file {}", path.display()),
        FlashArea::Partition { path } => format!("the swap area on {}", path.display()),
    }
}

fn by_hand(area: &FlashArea, why: &SwapAreaError, record: &std::path::Path) -> String {
    let path = area.path().display();
    match (why, area) {
        (SwapAreaError::RemovedWhileOn { .. }, _) => "restart the machine, then 'brisk swap undo' again".to_owned(),
        (SwapAreaError::NotMounted { .. }, _) => "mount it, then 'brisk swap undo' again".to_owned(),
        (SwapAreaError::NotFound { .. }, FlashArea::File { .. }) => {
            let remove = format!("'swapoff {path}' and 'rm {path}'");
            format!("see what {path} is; when it is not needed, {remove}, then 'brisk swap undo' again")
        }
        (SwapAreaError::NotFound { .. }, FlashArea::Partition { .. }) => format!(
            "connect the disk and run 'brisk swap undo' again; when it is gone for good, 'rm {}'",
            record.display()
        ),
        (SwapAreaError::File { path, .. }, FlashArea::File { .. }) => format!("'rm {}'", path.display()),
        (_, FlashArea::File { .. }) => format!("'swapoff {path}', then 'rm {path}'"),
        (_, FlashArea::Partition { .. }) => {
            let device = fs::canonicalize(area.path()).unwrap_or_else(|_| area.path().to_owned());
            format!("'swapoff {0}', then 'wipefs --all --types swap {0}'", device.display())
        }
    }
}
