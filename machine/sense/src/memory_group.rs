//! Memory of one control group, of either version, as that of a machine: the limit is all memory, what is charged is
//! used.
//!
//! For a phone under measurement and for containers: the apps in the group have no more than that, whatever the machine
//! has. Files of tmpfs are charged to the group that wrote them, the kernel's own memory as far as the kernel charges
//! it.

use std::path::{Path, PathBuf};

use brisk_core::snapshot::{MemoryLevels, PagingTotals};
use brisk_formats::{GroupMemoryStat, ParseError, fields, parse_group_memory};

use crate::activity::Hierarchies;
use crate::error::{Absent as _, Result};
use crate::kept::Kept;
use crate::machine::Sense;

/// Its files, kept open.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    limit: Kept,
    usage: Kept,
    stat: Kept,
    /// Version 2 says what is in swap in a file of its own; `None` of version 1 and without swap.
    swap: Option<Kept>,
    /// Whether it may swap: the swappiness of version 1, which is 0 for a group that does not, and the limit of version
    /// 2.
    swappiness: Option<Kept>,
    swap_limit: Option<Kept>,
}

impl MemoryGroup {
    /// Opens the group in the directory `dir`.
    pub(crate) fn open(sense: &Sense, dir: &Path) -> Result<Self> {
        let first = Kept::open(sense, dir.join("memory.limit_in_bytes")).or_hidden()?;
        let (limit, usage) = match first {
            Some(limit) => (limit, "memory.usage_in_bytes"),
            None => (Kept::open(sense, dir.join("memory.max"))?, "memory.current"),
        };
        Ok(Self {
            limit,
            usage: Kept::open(sense, dir.join(usage))?,
            stat: Kept::open(sense, dir.join("memory.stat"))?,
            swap: Kept::open(sense, dir.join("memory.swap.current")).or_hidden()?,
            swappiness: Kept::open(sense, dir.join("memory.swappiness")).or_hidden()?,
            swap_limit: Kept::open(sense, dir.join("memory.swap.max")).or_hidden()?,
        })
    }

    /// Levels and counters of the group, on a machine with these.
    pub(crate) fn read(&mut self, machine: (MemoryLevels, PagingTotals)) -> Result<(MemoryLevels, PagingTotals)> {
        let limit_bytes = self.limit.parse(parse_amount)?;
        let usage_bytes = self.usage.parse(parse_amount)?;
        let stat = self.stat.parse(parse_group_memory)?;
        let swap_bytes = self.swap.as_mut().map(|swap| swap.parse(parse_amount)).transpose()?;
        let swappiness = self.swappiness.as_mut().map(|swappiness| swappiness.parse(parse_amount)).transpose()?;
        let swap_limit_bytes = self.swap_limit.as_mut().map(|limit| limit.parse(parse_amount)).transpose()?;
        let may_swap_bytes = if swappiness == Some(0) { 0 } else { swap_limit_bytes.unwrap_or(u64::MAX) };
        let (mut levels, paging) =
            seen_as_machine(limit_bytes, usage_bytes, &stat, swap_bytes.or(stat.swap_bytes), machine);
        let used_bytes = levels.swap_total_bytes.saturating_sub(levels.swap_free_bytes);
        levels.swap_total_bytes = levels.swap_total_bytes.min(may_swap_bytes);
        levels.swap_free_bytes = levels.swap_free_bytes.min(may_swap_bytes.saturating_sub(used_bytes));
        Ok((levels, paging))
    }
}

/// A number of bytes; `max` is more than any.
fn parse_amount(bytes: &[u8]) -> std::result::Result<u64, ParseError> {
    match bytes.trim_ascii() {
        b"max" => Ok(u64::MAX),
        number => fields::only_number("bytes", number),
    }
}

fn seen_as_machine(
    limit_bytes: u64,
    usage_bytes: u64,
    stat: &GroupMemoryStat,
    swap_bytes: Option<u64>,
    (machine, paging): (MemoryLevels, PagingTotals),
) -> (MemoryLevels, PagingTotals) {
    let total_bytes = limit_bytes.min(machine.total_bytes);
    let free_bytes = total_bytes.saturating_sub(usage_bytes);
    let levels = MemoryLevels {
        total_bytes,
        free_bytes,
        available_bytes: Some(free_bytes.saturating_add(stat.file_bytes).min(total_bytes)),
        buffers_bytes: 0,
        cached_bytes: stat.cached_bytes,
        anon_bytes: stat.anon_bytes,
        dirty_bytes: stat.dirty_bytes,
        writeback_bytes: stat.writeback_bytes,
        swap_total_bytes: machine.swap_total_bytes,
        swap_free_bytes: swap_bytes
            .map_or(machine.swap_free_bytes, |swap_bytes| machine.swap_total_bytes.saturating_sub(swap_bytes)),
        swap_cached_bytes: stat.swap_cached_bytes,
        inactive_file_bytes: None,
    };
    let mut paging = PagingTotals {
        major_faults: stat.paging.major_faults,
        refault_anon_pages: stat.paging.refault_anon_pages,
        refault_file_pages: stat.paging.refault_file_pages,
        ..paging
    };
    if stat.counts_swapping {
        (paging.swap_in_pages, paging.swap_out_pages) = (stat.paging.swap_in_pages, stat.paging.swap_out_pages);
    }
    (levels, paging)
}

impl Sense {
    /// The group of the memory controller of version 1 whose processes are all among `pids`, those of an app: what is
    /// charged to it is the app's. `None` where there is none, as on a machine that has the memory controller of
    /// version 2.
    ///
    /// # Errors
    /// When a file of /proc is not readable or not understood.
    pub fn own_memory_group(&self, hierarchies: &Hierarchies, pids: &[u32]) -> Result<Option<PathBuf>> {
        let Some(mount_point) = hierarchies.old_memory() else { return Ok(None) };
        for &pid in pids {
            let groups = self.process_cgroups(pid)?.unwrap_or_default();
            let is_memory = |controllers: &[String]| controllers.iter().any(|controller| controller == "memory");
            let Some(group) = groups.into_iter().find(|group| is_memory(&group.controllers)) else { continue };
            let dir = mount_point.join(group.path.strip_prefix("/").unwrap_or(&group.path));
            let all = self.cgroup_processes(&dir)?.unwrap_or_default();
            let is_own = dir != mount_point && !all.is_empty() && all.iter().all(|pid| pids.contains(pid));
            return Ok((is_own && !self.has_groups_below(&dir)).then_some(dir));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn write(root: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        }
    }

    fn machine() -> (MemoryLevels, PagingTotals) {
        let levels = MemoryLevels {
            total_bytes: 8192 * MIB,
            swap_total_bytes: 512 * MIB,
            swap_free_bytes: 500 * MIB,
            ..MemoryLevels::default()
        };
        (levels, PagingTotals { swap_in_pages: 7, major_faults: 1_000, ..PagingTotals::default() })
    }

    #[test]
    fn a_group_of_each_version_is_seen_as_a_machine() {
        let root = tempfile::tempdir().expect("a directory");
        write(
            root.path(),
            &[
                ("v1/memory.limit_in_bytes", "629145600\n"),
                ("v1/memory.usage_in_bytes", "524288000\n"),
                (
                    "v1/memory.stat",
                    "rss 1\ntotal_rss 314572800\ntotal_inactive_file 104857600\ntotal_swap 52428800\n\
                     total_pgmajfault 3\n",
                ),
                ("v2/memory.max", "629145600\n"),
                ("v2/memory.current", "524288000\n"),
                ("v2/memory.swap.current", "52428800\n"),
                ("v2/memory.stat", "anon 314572800\ninactive_file 104857600\npgmajfault 3\npswpin 2\npswpout 1\n"),
                ("v1-none/memory.limit_in_bytes", "629145600\n"),
                ("v1-none/memory.usage_in_bytes", "524288000\n"),
                ("v1-none/memory.stat", "rss 1\ntotal_rss 314572800\n"),
                ("v1-none/memory.swappiness", "0\n"),
                ("v2-some/memory.max", "629145600\n"),
                ("v2-some/memory.current", "524288000\n"),
                ("v2-some/memory.swap.current", "52428800\n"),
                ("v2-some/memory.swap.max", "104857600\n"),
                ("v2-some/memory.stat", "anon 314572800\n"),
                ("free/memory.max", "max\n"),
                ("free/memory.current", "0\n"),
                ("free/memory.stat", "anon 0\n"),
            ],
        );
        let sense = Sense::new(root.path());
        let read =
            |dir: &str| MemoryGroup::open(&sense, Path::new(dir)).expect("opened").read(machine()).expect("read");
        for (dir, swap_in_pages) in [("/v1", 7), ("/v2", 2)] {
            let (levels, paging) = read(dir);
            assert_eq!((levels.total_bytes, levels.free_bytes), (600 * MIB, 100 * MIB), "{dir}");
            assert_eq!((levels.available_bytes, levels.anon_bytes), (Some(200 * MIB), 300 * MIB), "{dir}");
            assert_eq!(levels.swap_free_bytes, 462 * MIB, "{dir}");
            assert_eq!((paging.major_faults, paging.swap_in_pages), (3, swap_in_pages), "{dir}");
        }
        let swap = |dir: &str| {
            let (levels, _) = read(dir);
            (levels.swap_total_bytes, levels.swap_free_bytes)
        };
        assert_eq!((swap("/v1-none"), swap("/v2-some")), ((0, 0), (100 * MIB, 50 * MIB)), "areas are others'");
        let (levels, _) = read("/free");
        assert_eq!((levels.total_bytes, levels.swap_free_bytes), (8192 * MIB, 500 * MIB), "no limit is the machine's");
        assert!(MemoryGroup::open(&sense, Path::new("/gone")).is_err());
    }

    #[test]
    fn a_group_that_others_share_is_not_the_apps() {
        let root = tempfile::tempdir().expect("a directory");
        write(
            root.path(),
            &[
                ("proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t4\t3\t1\n"),
                ("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n"),
                ("proc/7/cgroup", "4:memory:/phone/evince\n0::/app-evince-7.scope\n"),
                ("proc/8/cgroup", "4:memory:/\n0::/app-xterm-8.scope\n"),
                ("sys/fs/cgroup/memory/cgroup.procs", "1\n8\n"),
                ("sys/fs/cgroup/memory/phone/evince/cgroup.procs", "7\n9\n"),
            ],
        );
        let sense = Sense::new(root.path());
        let hierarchies = Hierarchies::of(&sense).expect("readable");
        let own = |pids: &[u32]| sense.own_memory_group(&hierarchies, pids).expect("readable");
        assert_eq!(own(&[7, 9]), Some("/sys/fs/cgroup/memory/phone/evince".into()));
        assert_eq!(own(&[7]), None, "9 is of another app");
        assert_eq!(own(&[8]), None, "the root is no app's");
        assert_eq!((own(&[]), own(&[99])), (None, None));
    }
}
