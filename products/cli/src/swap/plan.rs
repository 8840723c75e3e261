//! What is made of wishes and facts, or why it is not possible: pure.

use anyhow::bail;
use brisk_act::{FlashArea, SwapPlan};
use brisk_core::units::format_bytes;

use super::facts::{Facts, Place};

/// Multiple of the memory that the area on flash has. Eight apps of a phone with 600 MB need 1.3 to 1.5 GB, and an area that is more than half
/// full gives pages new slots at each swap-out, apart from each other (measured on an emulated phone).
const MEMORY_TIMES: u64 = 2;
/// Limits of the default size.
const SIZE_BYTES_MAX: u64 = 4 << 30;
const SIZE_BYTES_MIN: u64 = 16 << 20;
/// Share of the file system that stays free, and its limit.
const RESERVE_SHARE: u64 = 10;
const RESERVE_BYTES_MAX: u64 = 256 << 20;
/// Compressed memory as a part of memory, and its limit as a multiple of it: what does not compress takes as much as it holds.
const ZRAM_PART: u64 = 2;
const ZRAM_TIMES_MAX: u64 = 2;
/// File systems whose files can hold swap when all blocks are allocated.
const FILE_SYSTEMS: [&str; 5] = ["ext4", "ext3", "ext2", "f2fs", "xfs"];

/// What the user named.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes {
    pub(crate) size_bytes: Option<u64>,
    pub(crate) zram_bytes: Option<u64>,
    pub(crate) destroy_data: bool,
    pub(crate) dry_run: bool,
}

/// The plan.
pub(crate) fn plan(facts: &Facts, wishes: &Wishes) -> anyhow::Result<SwapPlan> {
    if !facts.is_root && !wishes.dry_run {
        bail!(
            "making swap areas takes root with CAP_SYS_ADMIN: run it with sudo, in a container with --cap-add=SYS_ADMIN, or see the plan with --dry-run"
        );
    }
    let area = match &facts.place {
        Place::File { path, exists, fs_type, fs_bytes, free_bytes } => {
            if *exists {
                bail!("{} exists already and is left as it is: name another file, or remove it", path.display());
            }
            if !FILE_SYSTEMS.contains(&fs_type.as_str()) {
                bail!(
                    "{} is on {fs_type}, whose files cannot hold swap here: name a file on {}, or a partition",
                    path.display(),
                    FILE_SYSTEMS.join(", ")
                );
            }
            let reserve_bytes = (fs_bytes / RESERVE_SHARE).min(RESERVE_BYTES_MAX);
            let room_bytes = free_bytes.saturating_sub(reserve_bytes);
            FlashArea::File { path: path.clone(), size_bytes: size_bytes(facts, wishes, room_bytes)? }
        }
        Place::Partition { path, mounted, .. } => {
            if let Some(mount_point) = mounted {
                bail!("{} is mounted at {}: unmount it first", path.display(), mount_point.display());
            }
            if facts.areas.iter().any(|area| area.path == *path) {
                bail!("{} is a swap area in use already: nothing has to be set up", path.display());
            }
            if wishes.size_bytes.is_some() {
                bail!("--size is for a file: a partition is used as a whole");
            }
            if !wishes.destroy_data {
                bail!("the content of {} would be lost: allow it with --destroy-data", path.display());
            }
            FlashArea::Partition { path: path.clone() }
        }
    };
    Ok(SwapPlan { area, zram_bytes: zram_bytes(facts, wishes)? })
}

fn size_bytes(facts: &Facts, wishes: &Wishes, room_bytes: u64) -> anyhow::Result<u64> {
    let size_bytes = match wishes.size_bytes {
        Some(size_bytes) => size_bytes,
        None => facts.memory_bytes.saturating_mul(MEMORY_TIMES).min(SIZE_BYTES_MAX).min(room_bytes / 2),
    };
    // Whole MiB.
    let size_bytes = size_bytes >> 20 << 20;
    if wishes.size_bytes.is_none() && size_bytes < SIZE_BYTES_MIN {
        bail!(
            "the file system has room for {} only: free space, or name a file on another one",
            format_bytes(room_bytes)
        );
    }
    if size_bytes == 0 {
        bail!("a swap area has 1 MiB at least: choose a larger --size");
    }
    if size_bytes > room_bytes {
        bail!(
            "--size {} is too large: the file system has room for {}, with a tenth of it, or 256 MiB, left free",
            format_bytes(size_bytes),
            format_bytes(room_bytes)
        );
    }
    Ok(size_bytes)
}

fn zram_bytes(facts: &Facts, wishes: &Wishes) -> anyhow::Result<Option<u64>> {
    let is_on = facts.areas.iter().any(|area| area.path.to_string_lossy().starts_with("/dev/zram"));
    match wishes.zram_bytes {
        Some(0) => Ok(None),
        Some(_) if !facts.has_zram => {
            bail!("this kernel has no zram (CONFIG_ZRAM; try 'modprobe zram'): leave out --zram, or use --zram 0")
        }
        Some(_) if is_on => bail!("a zram device is in use already: leave out --zram, which keeps it"),
        Some(size_bytes) if size_bytes > facts.memory_bytes.saturating_mul(ZRAM_TIMES_MAX) => {
            bail!(
                "--zram {} is too large for {} of memory: at most twice the memory can be compressed into it",
                format_bytes(size_bytes),
                format_bytes(facts.memory_bytes)
            )
        }
        Some(size_bytes) => Ok(Some(size_bytes)),
        None => Ok((facts.has_zram && !is_on).then_some(facts.memory_bytes / ZRAM_PART)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::tests::phone;
    use super::*;
    use brisk_sense::Swap;
    use std::path::PathBuf;

    const GIB: u64 = 1 << 30;

    fn file(fs_type: &str, free_bytes: u64) -> Place {
        let path = PathBuf::from("/data/swapfile");
        Place::File { path, exists: false, fs_type: fs_type.to_owned(), fs_bytes: 16 * GIB, free_bytes }
    }

    fn partition(mounted: Option<&str>) -> Place {
        Place::Partition { path: "/dev/mmcblk0p7".into(), size_bytes: GIB, mounted: mounted.map(PathBuf::from) }
    }

    fn zram() -> Swap {
        let (path, kind) = (PathBuf::from("/dev/zram0"), "partition".to_owned());
        Swap { path, kind, size_bytes: GIB, used_bytes: 0, priority: 100 }
    }

    #[test]
    fn sizes_follow_memory_and_free_space() {
        let planned = |facts: &Facts| {
            let plan = plan(facts, &Wishes::default()).expect("a plan");
            (facts.size_bytes(&plan), plan.zram_bytes)
        };
        assert_eq!(planned(&phone()), (4 * GIB, Some(GIB)));
        assert_eq!(planned(&Facts { memory_bytes: 600 << 20, ..phone() }), (1200 << 20, Some(300 << 20)));
        assert_eq!(planned(&Facts { memory_bytes: 16 * GIB, ..phone() }).0, 4 * GIB);
        assert_eq!(planned(&Facts { place: file("ext4", GIB + (256 << 20)), ..phone() }).0, GIB / 2);
        assert_eq!(planned(&Facts { has_zram: false, ..phone() }).1, None);
        assert_eq!(planned(&Facts { areas: vec![zram()], ..phone() }).1, None, "one is there");
        let whole = Facts { place: partition(None), ..phone() };
        let plan = plan(&whole, &Wishes { destroy_data: true, ..Wishes::default() }).expect("a plan");
        assert_eq!(whole.size_bytes(&plan), GIB);
    }

    #[test]
    fn wrong_uses_say_what_is_wrong_and_what_to_do() {
        let named = |size_bytes| Wishes { size_bytes: Some(size_bytes), ..Wishes::default() };
        let zram_of = |zram_bytes| Wishes { zram_bytes: Some(zram_bytes), ..Wishes::default() };
        let exists = match file("ext4", GIB) {
            Place::File { path, fs_type, fs_bytes, free_bytes, .. } => {
                Place::File { path, exists: true, fs_type, fs_bytes, free_bytes }
            }
            other => other,
        };
        let at = |place: Place| Facts { place, ..phone() };
        for (facts, wishes, expected) in [
            (Facts { is_root: false, ..phone() }, Wishes::default(), "takes root"),
            (phone(), named(12 * GIB), "--size 12 GiB is too large: the file system has room for 9.75 GiB"),
            (phone(), named(1000), "at least"),
            (at(exists), Wishes::default(), "exists already"),
            (at(file("ext4", 260 << 20)), Wishes::default(), "has room for 4 MiB only"),
            (at(file("btrfs", GIB)), Wishes::default(), "is on btrfs, whose files cannot hold swap"),
            (at(file("tmpfs", GIB)), Wishes::default(), "is on tmpfs"),
            (Facts { has_zram: false, ..phone() }, zram_of(GIB), "has no zram"),
            (phone(), zram_of(5 * GIB), "--zram 5 GiB is too large for 2 GiB of memory"),
            (Facts { areas: vec![zram()], ..phone() }, zram_of(GIB), "in use already"),
            (at(partition(None)), Wishes::default(), "--destroy-data"),
            (at(partition(Some("/data"))), Wishes { destroy_data: true, ..Wishes::default() }, "is mounted at /data"),
            (at(partition(None)), named(GIB), "used as a whole"),
        ] {
            let why = plan(&facts, &wishes).expect_err(expected).to_string();
            assert!(why.contains(expected), "{why}");
        }
        assert!(plan(&Facts { is_root: false, ..phone() }, &Wishes { dry_run: true, ..Wishes::default() }).is_ok());
        assert_eq!(plan(&Facts { has_zram: false, ..phone() }, &zram_of(0)).expect("none").zram_bytes, None);
    }
}
