//! What is made of wishes and facts, or why it is not possible: pure.

use anyhow::{Context as _, bail};
use brisk_act::{FlashArea, SwapPlan};
use brisk_core::units::format_bytes;
use brisk_sense::Swap;

use super::facts::{AreaLocation, Content, Facts};

/// Multiple of the memory that the area on flash has. Eight apps of a phone with 600 MB need 1.3 to 1.5 GB, and an area
/// that is more than half full gives pages new slots at each swap-out, apart from each other (measured on an emulated
/// phone).
const MEMORY_TIMES: u64 = 2;
/// Limits of the default size. From 2 GiB of memory on the area does not grow: what apps need does not grow with
/// memory.
const SIZE_BYTES_MAX: u64 = 4 << 30;
const SIZE_BYTES_MIN: u64 = 16 << 20;
const PARTITION_BYTES_MIN: u64 = 1 << 20;
/// Memory from which apps of one user fit into it. Swap then holds what is never read again; a larger area would be
/// filled by a program that leaks, and delay its end.
const LARGE_MEMORY_BYTES: u64 = 8 << 30;
const SIZE_BYTES_WITH_LARGE_MEMORY: u64 = 1 << 30;
/// Share of the file system that stays free, and its limit.
const RESERVE_SHARE: u64 = 10;
const RESERVE_BYTES_MAX: u64 = 256 << 20;
/// Compressed memory as a part of memory, its limit, and that of what the user names as a multiple of memory: what does
/// not compress takes as much as it holds.
const ZRAM_PART: u64 = 2;
const ZRAM_BYTES_MAX: u64 = 2 << 30;
const ZRAM_TIMES_MAX: u64 = 2;
/// File systems whose files can hold swap when all blocks are allocated.
pub(crate) const FILE_SYSTEMS: [&str; 5] = ["ext4", "ext3", "ext2", "f2fs", "xfs"];

/// What the user named.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes {
    pub(crate) size_bytes: Option<u64>,
    pub(crate) zram_bytes: Option<u64>,
    pub(crate) destroy_data: bool,
    pub(crate) dry_run: bool,
}

pub(crate) fn plan(facts: &Facts, wishes: &Wishes) -> anyhow::Result<SwapPlan> {
    if !facts.is_root && !wishes.dry_run {
        bail!(
            "making swap areas takes root with CAP_SYS_ADMIN: run it with sudo, in a container with \
             --cap-add=SYS_ADMIN, or see the plan with --dry-run"
        );
    }
    let area = area(facts, wishes)?;
    Ok(SwapPlan { area, zram_bytes: zram_bytes(facts, wishes)? })
}

/// The first place that has room for the size that is aimed at, or the one with the most room.
fn area(facts: &Facts, wishes: &Wishes) -> anyhow::Result<FlashArea> {
    let (first, others) = facts.places.split_first().context("there is no place for a swap area: name a file")?;
    let mut best = area_at(first, facts, wishes);
    for place in others {
        let size_bytes = |area: &anyhow::Result<FlashArea>| match area {
            Ok(FlashArea::File { size_bytes, .. }) => *size_bytes,
            _ => 0,
        };
        let other = area_at(place, facts, wishes);
        if size_bytes(&other) > size_bytes(&best) {
            best = other;
        }
    }
    best
}

fn area_at(place: &AreaLocation, facts: &Facts, wishes: &Wishes) -> anyhow::Result<FlashArea> {
    Ok(match place {
        AreaLocation::File { path, exists, fs_type, fs_bytes, free_bytes } => {
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
        AreaLocation::Partition { path, size_bytes, used_by, content } => {
            if let Some(by) = used_by {
                bail!(
                    "{} is in use ({by}) and is left as it is: name another partition, or free it first",
                    path.display()
                );
            }
            if *content == Content::Partitions {
                bail!("{} holds partitions: name one of them, or a new file", path.display());
            }
            if wishes.size_bytes.is_some() {
                bail!("--size is for a file: a partition is used as a whole");
            }
            if *size_bytes < PARTITION_BYTES_MIN {
                bail!("{} is too small for swap: it has {}", path.display(), format_bytes(*size_bytes));
            }
            if !wishes.destroy_data {
                let lost = content.words().map_or_else(String::new, |what| format!(" ({what})"));
                bail!("the content of {}{lost} would be lost: allow it with --destroy-data", path.display());
            }
            FlashArea::Partition { path: path.clone() }
        }
    })
}

/// What the area on flash has where there is room.
fn aim_bytes(memory_bytes: u64) -> u64 {
    if memory_bytes > LARGE_MEMORY_BYTES {
        return SIZE_BYTES_WITH_LARGE_MEMORY;
    }
    memory_bytes.saturating_mul(MEMORY_TIMES).min(SIZE_BYTES_MAX)
}

fn size_bytes(facts: &Facts, wishes: &Wishes, room_bytes: u64) -> anyhow::Result<u64> {
    let size_bytes = match wishes.size_bytes {
        Some(size_bytes) => size_bytes,
        None => {
            let on_bytes: u64 = facts.areas.iter().filter(|area| !is_zram(area)).map(|area| area.size_bytes).sum();
            let wanted_bytes = aim_bytes(facts.memory_bytes).saturating_sub(on_bytes);
            if wanted_bytes < SIZE_BYTES_MIN {
                bail!(
                    "this machine has {} of swap on already, and needs no more: name a --size to make another area",
                    format_bytes(on_bytes)
                );
            }
            wanted_bytes.min(room_bytes / 2)
        }
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
    let is_on = facts.areas.iter().any(is_zram);
    match wishes.zram_bytes {
        Some(0) => Ok(None),
        Some(_) if !facts.has_zram => {
            bail!(
                "this kernel has no zram (CONFIG_ZRAM, or the module of that name): leave out --zram, or use --zram 0"
            )
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
        None if !facts.has_zram || is_on || facts.memory_bytes > LARGE_MEMORY_BYTES => Ok(None),
        None => Ok(Some((facts.memory_bytes / ZRAM_PART).min(ZRAM_BYTES_MAX))),
    }
}

fn is_zram(area: &Swap) -> bool {
    area.path.to_string_lossy().starts_with("/dev/zram")
}

#[cfg(test)]
mod tests {
    use super::super::facts::tests::phone;
    use super::*;
    use std::path::PathBuf;

    const GIB: u64 = 1 << 30;

    fn file(fs_type: &str, free_bytes: u64) -> AreaLocation {
        let path = PathBuf::from("/data/swapfile");
        AreaLocation::File { path, exists: false, fs_type: fs_type.to_owned(), fs_bytes: 16 * GIB, free_bytes }
    }

    fn partition(used_by: Option<&str>, content: Content) -> AreaLocation {
        let path = PathBuf::from("/dev/disk/by-id/mmc-x-part7");
        AreaLocation::Partition { path, size_bytes: GIB, used_by: used_by.map(str::to_owned), content }
    }

    fn at(place: AreaLocation) -> Facts {
        Facts { places: vec![place], ..phone() }
    }

    fn zram() -> Swap {
        let (path, kind) = (PathBuf::from("/dev/zram0"), "partition".to_owned());
        Swap { path, kind, size_bytes: GIB, used_bytes: 0, priority: 100 }
    }

    #[test]
    fn sizes_follow_memory_need_and_free_space() {
        const MIB: u64 = 1 << 20;
        let planned = |facts: &Facts| {
            let plan = plan(facts, &Wishes::default()).expect("a plan");
            (facts.size_bytes(&plan), plan.zram_bytes)
        };
        // What the kernel leaves of the memory of common machines.
        for (memory_bytes, expected) in [
            (512 * MIB, (GIB, Some(256 * MIB))),
            (600 * MIB, (1200 * MIB, Some(300 * MIB))),
            (GIB, (2 * GIB, Some(512 * MIB))),
            (2 * GIB, (4 * GIB, Some(GIB))),
            (4 * GIB, (4 * GIB, Some(2 * GIB))),
            (8 * GIB - 300 * MIB, (4 * GIB, Some(2 * GIB))),
            (16 * GIB - 500 * MIB, (GIB, None)),
            (24 * GIB - 500 * MIB, (GIB, None)),
            (64 * GIB, (GIB, None)),
        ] {
            assert_eq!(planned(&Facts { memory_bytes, ..phone() }), expected, "{memory_bytes}");
        }
        assert_eq!(planned(&at(file("ext4", GIB + (256 << 20)))).0, GIB / 2);
        assert_eq!(planned(&Facts { has_zram: false, ..phone() }).1, None);
        assert_eq!(planned(&Facts { areas: vec![zram()], ..phone() }), (4 * GIB, None), "one is there");
        let partly = Swap { path: "/old".into(), kind: "file".to_owned(), ..zram() };
        assert_eq!(planned(&Facts { areas: vec![partly], ..phone() }), (3 * GIB, Some(GIB)));
        let whole = at(partition(None, Content::Nothing));
        let plan = plan(&whole, &Wishes { destroy_data: true, ..Wishes::default() }).expect("a plan");
        assert_eq!((whole.size_bytes(&plan), plan.area.path()), (GIB, "/dev/disk/by-id/mmc-x-part7".as_ref()));
    }

    #[test]
    fn of_several_places_the_first_with_room_is_taken() {
        let named = |name: &str, free_bytes| match file("ext4", free_bytes) {
            AreaLocation::File { exists, fs_type, fs_bytes, free_bytes, .. } => {
                AreaLocation::File { path: name.into(), exists, fs_type, fs_bytes, free_bytes }
            }
            other => other,
        };
        let chosen = |places| {
            let plan = plan(&Facts { places, ..phone() }, &Wishes::default()).expect("a plan");
            plan.area.path().to_str().map(str::to_owned)
        };
        let (root, var) = (named("/swapfile", 10 * GIB), named("/var/swapfile", 12 * GIB));
        assert_eq!(chosen(vec![root, var.clone()]).as_deref(), Some("/swapfile"));
        assert_eq!(chosen(vec![named("/swapfile", GIB), var.clone()]).as_deref(), Some("/var/swapfile"));
        assert_eq!(chosen(vec![named("/swapfile", 0), var]).as_deref(), Some("/var/swapfile"));
    }

    #[test]
    fn wrong_uses_say_what_is_wrong_and_what_to_do() {
        let named = |size_bytes| Wishes { size_bytes: Some(size_bytes), ..Wishes::default() };
        let zram_of = |zram_bytes| Wishes { zram_bytes: Some(zram_bytes), ..Wishes::default() };
        let exists = match file("ext4", GIB) {
            AreaLocation::File { path, fs_type, fs_bytes, free_bytes, .. } => {
                AreaLocation::File { path, exists: true, fs_type, fs_bytes, free_bytes }
            }
            other => other,
        };
        let free = || partition(None, Content::Nothing);
        let destroyed = || Wishes { destroy_data: true, ..Wishes::default() };
        let small = match free() {
            AreaLocation::Partition { path, used_by, content, .. } => {
                AreaLocation::Partition { path, size_bytes: 64 << 10, used_by, content }
            }
            other => other,
        };
        let large = Swap { path: "/old".into(), kind: "file".to_owned(), size_bytes: 8 * GIB, ..zram() };
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
            (at(free()), Wishes::default(), "--destroy-data"),
            (
                at(partition(None, Content::Known("ext4 'data'".into()))),
                Wishes::default(),
                "(ext4 'data') would be lost",
            ),
            (at(partition(Some("mounted on /data"), Content::Unknown)), destroyed(), "is in use (mounted on /data)"),
            (at(partition(None, Content::Partitions)), destroyed(), "holds partitions"),
            (at(small), destroyed(), "is too small for swap: it has 64 KiB"),
            (at(free()), named(GIB), "used as a whole"),
            (Facts { areas: vec![large], ..phone() }, Wishes::default(), "8 GiB of swap on already"),
        ] {
            let why = plan(&facts, &wishes).expect_err(expected).to_string();
            assert!(why.contains(expected), "{why}");
        }
        assert!(plan(&Facts { is_root: false, ..phone() }, &Wishes { dry_run: true, ..Wishes::default() }).is_ok());
        assert_eq!(plan(&Facts { has_zram: false, ..phone() }, &zram_of(0)).expect("none").zram_bytes, None);
    }
}
