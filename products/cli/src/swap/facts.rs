//! What a set-up of swap depends on.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use brisk_act::{FlashArea, SwapPlan};
use brisk_sense::{Capability, DeviceNumber, Sense, Swap};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// The machine, and the place of the area.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    pub(crate) is_root: bool,
    pub(crate) memory_bytes: u64,
    /// Areas in use.
    pub(crate) areas: Vec<Swap>,
    pub(crate) place: Place,
    pub(crate) has_zram: bool,
    /// What was swapped out since the start of the machine.
    pub(crate) swapped_out_bytes: u64,
    /// Time since then.
    pub(crate) up_s: f64,
}

/// Where the area is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    File { path: PathBuf, exists: bool, fs_type: String, fs_bytes: u64, free_bytes: u64 },
    Partition { path: PathBuf, size_bytes: u64, mounted: Option<PathBuf> },
}

impl Facts {
    /// Reads them for an area at `path`.
    pub(crate) fn read(sense: &Sense, path: &Path) -> anyhow::Result<Self> {
        let path = std::path::absolute(path).with_context(|| format!("'{}' is no path", path.display()))?;
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let page_bytes = rustix::param::page_size() as u64;
        Ok(Self {
            is_root: sense.require_rights("swap", &[Capability::SysAdmin]).is_ok(),
            memory_bytes: sense.mem_info()?.total_bytes,
            areas: sense.swaps().context("this kernel has no swap (CONFIG_SWAP)")?,
            has_zram: sense.path("/sys/class/zram-control").exists(),
            swapped_out_bytes: sense.paging()?.swap_out_pages.saturating_mul(page_bytes),
            up_s: up.tv_sec as f64,
            place: Place::of(sense, path)?,
        })
    }

    /// Size of the area of a plan.
    pub(crate) fn size_bytes(&self, plan: &SwapPlan) -> u64 {
        match (&plan.area, &self.place) {
            (FlashArea::File { size_bytes, .. }, _) | (_, Place::Partition { size_bytes, .. }) => *size_bytes,
            _ => 0,
        }
    }

    /// What was swapped out in a day; `None` when nothing was.
    pub(crate) fn written_bytes_per_day(&self) -> Option<u64> {
        (self.swapped_out_bytes > 0 && self.up_s > 0.0)
            .then(|| (self.swapped_out_bytes as f64 / self.up_s * DAY_S) as u64)
    }
}

impl Place {
    fn of(sense: &Sense, path: PathBuf) -> anyhow::Result<Self> {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        let found = path.metadata();
        if found.as_ref().is_ok_and(|found| found.file_type().is_block_device()) {
            let whole = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
            let name = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let sectors = std::fs::read_to_string(sense.path(format!("/sys/class/block/{name}/size")));
            let sectors = sectors.with_context(|| format!("cannot read the size of {}", path.display()))?;
            let sectors: u64 =
                sectors.trim().parse().with_context(|| format!("cannot read the size of {}", path.display()))?;
            let device = found.map(|found| DeviceNumber::from_dev(found.rdev())).ok();
            let mounted = sense.mounts()?.into_iter().find(|mount| Some(mount.device) == device);
            let mounted = mounted.map(|mount| mount.mount_point);
            return Ok(Self::Partition { path: whole, size_bytes: sectors.saturating_mul(512), mounted });
        }
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            bail!("{} is a directory: name a new file in it", path.display());
        };
        let dir =
            dir.canonicalize().with_context(|| format!("there is no directory {}: make it first", dir.display()))?;
        let mount = sense.mount_of(&dir)?;
        let space =
            rustix::fs::statvfs(&dir).with_context(|| format!("cannot ask for the space of {}", dir.display()))?;
        let path = dir.join(name);
        Ok(Self::File {
            exists: path.symlink_metadata().is_ok(),
            path,
            fs_type: mount.map_or_else(String::new, |mount| mount.fs_type),
            fs_bytes: space.f_blocks.saturating_mul(space.f_frsize),
            free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A phone with 2 GiB of memory, whose data partition has 10 of 16 GiB free.
    pub(crate) fn phone() -> Facts {
        Facts {
            is_root: true,
            memory_bytes: 2 << 30,
            areas: Vec::new(),
            place: Place::File {
                path: "/data/swapfile".into(),
                exists: false,
                fs_type: "f2fs".to_owned(),
                fs_bytes: 16 << 30,
                free_bytes: 10 << 30,
            },
            has_zram: true,
            swapped_out_bytes: 0,
            up_s: 3_600.0,
        }
    }

    #[test]
    fn this_machine_has_a_place() {
        let dir = tempfile::tempdir().expect("a directory");
        let facts = Facts::read(&Sense::default(), &dir.path().join("swap")).expect("readable");
        let Place::File { exists, fs_type, fs_bytes, free_bytes, .. } = &facts.place else { panic!("a file") };
        assert!(!exists && !fs_type.is_empty() && fs_bytes >= free_bytes && facts.memory_bytes > 0);
        let wrong = Facts::read(&Sense::default(), &dir.path().join("gone/swap")).expect_err("no directory");
        assert!(wrong.to_string().contains("make it first"), "{wrong}");
    }
}
