//! What was made, in a file that is written before it is made.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{AtBoot, FlashArea, Result, SwapAreaError, SwapPlan, failed, parent};

const VERSION: u32 = 1;
/// A record has a few hundred bytes.
const BYTES_MAX: u64 = 64 << 10;

/// What was made and not removed yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    schema_version: u32,
    /// Of the area on flash, by which it is known whatever the kernel calls its disk.
    pub(super) uuid: String,
    /// Whether the area bears it.
    pub(super) mark: Mark,
    pub(super) area: Option<FlashArea>,
    /// Where the file system of a file is mounted.
    pub(super) mounted_at: Option<PathBuf>,
    /// What switches it on after a restart.
    pub(super) at_boot: Option<AtBoot>,
    pub(super) zram_bytes: Option<u64>,
    pub(super) zram_uuid: String,
    /// The zram device, and the boot in which it has that number.
    pub(super) zram: Option<Zram>,
    /// The directory of this record, if it was made for it.
    made_dir: Option<PathBuf>,
}

/// How far the area was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mark {
    /// It bears no UUID of brisk.
    None,
    /// It may bear it: the set-up failed or was interrupted there.
    Begun,
    Made,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Zram {
    pub(super) number: u32,
    pub(super) boot_id: String,
}

impl Record {
    pub(super) fn new(plan: &SwapPlan, at_boot: AtBoot, made_dir: Option<PathBuf>) -> Result<Self> {
        Ok(Self {
            schema_version: VERSION,
            uuid: new_uuid()?,
            mark: Mark::None,
            area: Some(plan.area.clone()),
            mounted_at: match &plan.area {
                FlashArea::File { path, .. } => mount_point(path),
                FlashArea::Partition { .. } => None,
            },
            at_boot: Some(at_boot),
            zram_bytes: plan.zram_bytes,
            zram_uuid: new_uuid()?,
            zram: None,
            made_dir,
        })
    }

    /// What was planned, as long as its area is there.
    pub(super) fn plan(&self) -> Option<SwapPlan> {
        Some(SwapPlan { area: self.area.clone()?, zram_bytes: self.zram_bytes })
    }
}

/// The outermost directory above a file that is on the same file system; `None` where there is no directory.
fn mount_point(file: &Path) -> Option<PathBuf> {
    let number = |dir: &Path| fs::metadata(dir).ok().map(|found| found.dev());
    let dir = parent(file);
    let on = number(dir)?;
    dir.ancestors().take_while(|dir| number(dir) == Some(on)).last().map(Path::to_owned)
}

/// Whether the file system of a recorded file is mounted where it was.
pub(super) fn is_mounted(record: &Record, file: &Path) -> bool {
    record.mounted_at.is_none() || mount_point(file) == record.mounted_at
}

fn new_uuid() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/uuid");
    fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(failed("read", path))
}

pub(super) fn load(path: &Path) -> Result<Option<Record>> {
    let bytes = match brisk_program::files::read(path, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(failed("read", path)(io::Error::other(error))),
    };
    let damaged = |why: String| SwapAreaError::Damaged { path: path.to_owned(), why };
    let record: Record = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if record.schema_version != VERSION {
        return Err(damaged(format!("version {} is not known", record.schema_version)));
    }
    Ok(Some(record))
}

pub(super) fn save(path: &Path, record: &Record) -> Result<()> {
    let text = serde_json::to_string_pretty(record).map_err(io::Error::from).map_err(failed("write", path))?;
    brisk_program::files::replace(path, (text + "\n").as_bytes()).map_err(failed("write", path))
}

/// Makes the directory of the record; gives it, if it was not there.
pub(super) fn make_directory(path: &Path) -> Result<Option<PathBuf>> {
    let dir = parent(path);
    if dir.is_dir() {
        return Ok(None);
    }
    fs::create_dir_all(dir).map_err(failed("make", dir))?;
    Ok(Some(dir.to_owned()))
}

/// Removes the record of a set-up of which nothing is left.
pub(super) fn remove(path: &Path, record: &Record) -> Result<()> {
    super::remove(path)?;
    if let Some(dir) = &record.made_dir {
        // Others may have put something in.
        let _ = fs::remove_dir(dir);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{SwapAreas, SwapPlaces};
    use super::*;

    #[test]
    fn a_damaged_record_is_reported_and_nothing_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let record = dir.path().join("swap.json");
        let places = SwapPlaces { record: record.clone(), ..SwapPlaces::of_this_machine("/usr/bin/brisk".into()) };
        let areas = SwapAreas::new(places);
        for text in ["{", "", "\0\0", "{\"schema_version\": 7}", "[]", "\u{7f}\u{80}"] {
            fs::write(&record, text).expect("written");
            let error = areas.undo().expect_err("damaged");
            assert!(matches!(error, SwapAreaError::Damaged { .. }), "{error}");
            for part in ["swap.json", "swapoff", "brisk-swap.service", "/etc/fstab"] {
                assert!(error.to_string().contains(part), "{error}");
            }
            assert!(matches!(areas.made(), Err(SwapAreaError::Damaged { .. })) && record.exists());
        }
    }
}
