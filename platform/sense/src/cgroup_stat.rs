//! What one control group of the second version has used, and who is in it: cpu.stat, the pressure files, memory.* and
//! cgroup.procs (Documentation/admin-guide/cgroup-v2.rst).
//!
//! cpu.stat, cgroup.procs and the pressure files need no controller; memory.* needs the memory controller in this
//! hierarchy. The root group has fewer files than others, and older kernels have fewer for all; so each part is
//! `None` where the kernel has no such file. A group that was removed meanwhile has no part at all.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Sense;
use crate::error::{ParseError, Result};
use crate::fields::lines;
use crate::psi::{Pressure, Resource, parse_pressure};
use crate::vmstat::parse_vm_stat;

/// Time that the group's tasks have run on processors, groups below it included, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupCpu {
    /// User and system.
    pub usage_us: u64,
    /// In programs.
    pub user_us: u64,
    /// In the kernel.
    pub system_us: u64,
}

/// Memory charged to the group, groups below it included, and what reclaim did to it since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupMemory {
    /// All that is charged: anonymous, page cache, kernel.
    pub current_bytes: u64,
    /// Swap that it holds; `None` where swap is not accounted.
    pub swap_bytes: Option<u64>,
    /// Anonymous.
    pub anon_bytes: u64,
    /// Page cache, tmpfs included.
    pub file_bytes: u64,
    /// Page cache that waits to be written.
    pub file_dirty_bytes: u64,
    /// Page cache that is being written.
    pub file_writeback_bytes: u64,
    /// In memory and still in its swap slot; `None` before Linux 5.13.
    pub swap_cached_bytes: Option<u64>,
    /// Faults that had to wait for storage.
    pub major_faults: u64,
    /// Anonymous pages that came back soon after they were reclaimed.
    pub refault_anon_pages: u64,
    /// Pages of files that came back soon after they were reclaimed.
    pub refault_file_pages: u64,
}

/// One control group at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CgroupStat {
    /// Processor time.
    pub cpu: Option<CgroupCpu>,
    /// Its tasks waited for a processor.
    pub cpu_pressure: Option<Pressure>,
    /// Its tasks waited for storage.
    pub io_pressure: Option<Pressure>,
    /// Its tasks waited for memory.
    pub memory_pressure: Option<Pressure>,
    /// Memory.
    pub memory: Option<CgroupMemory>,
}

/// Reads the text of cpu.stat. Lines that it does not know are passed over.
///
/// # Errors
/// When `usage_usec`, `user_usec` or `system_usec` is missing or not a number.
pub fn parse_cgroup_cpu(bytes: &[u8]) -> std::result::Result<CgroupCpu, ParseError> {
    let (mut usage, mut user, mut system) = (None, None, None);
    for mut words in lines(bytes) {
        let slot = match words.next_word() {
            Some(b"usage_usec") => &mut usage,
            Some(b"user_usec") => &mut user,
            Some(b"system_usec") => &mut system,
            _ => continue,
        };
        *slot = Some(words.number("time")?);
    }
    Ok(CgroupCpu {
        usage_us: usage.ok_or(ParseError::MissingLine("usage_usec"))?,
        user_us: user.ok_or(ParseError::MissingLine("user_usec"))?,
        system_us: system.ok_or(ParseError::MissingLine("system_usec"))?,
    })
}

/// Reads the text of cgroup.procs: process ids, one a line, in no order and now and then twice. Those of processes that
/// this PID namespace does not see are 0 there and left out.
///
/// # Errors
/// When a line is not a number.
pub fn parse_cgroup_processes(bytes: &[u8]) -> std::result::Result<Vec<u32>, ParseError> {
    let mut pids = Vec::new();
    for mut words in lines(bytes) {
        pids.push(words.number("process id")?);
    }
    pids.retain(|&pid| pid != 0);
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// Reads the text of memory.stat into the parts of [`CgroupMemory`] that it holds; counters that a kernel lacks are zero
/// events, which is what that kernel counted.
fn parse_cgroup_memory(current_bytes: u64, bytes: &[u8]) -> std::result::Result<CgroupMemory, ParseError> {
    let stat = parse_vm_stat(bytes)?;
    let needed = |name: &'static str| stat.get(name).ok_or(ParseError::MissingLine(name));
    // Before 5.9 both kinds were counted together, and nearly all of them were of files.
    let refault_file = stat.get("workingset_refault_file").or_else(|| stat.get("workingset_refault"));
    Ok(CgroupMemory {
        current_bytes,
        swap_bytes: None,
        anon_bytes: needed("anon")?,
        file_bytes: needed("file")?,
        file_dirty_bytes: needed("file_dirty")?,
        file_writeback_bytes: needed("file_writeback")?,
        swap_cached_bytes: stat.get("swapcached"),
        major_faults: needed("pgmajfault")?,
        refault_anon_pages: stat.get("workingset_refault_anon").unwrap_or(0),
        refault_file_pages: refault_file.unwrap_or(0),
    })
}

impl Sense {
    /// Processor time of the group at `dir` alone, for those who ask often; `None` where the kernel has no `cpu.stat`.
    ///
    /// # Errors
    /// When the file cannot be read or is not understood.
    pub fn cgroup_cpu(&self, dir: &Path) -> Result<Option<CgroupCpu>> {
        self.parse_optional(dir.join("cpu.stat"), parse_cgroup_cpu)
    }

    /// What the control group at `dir` has used; `dir` is its directory in the mounted second version, such as
    /// `/sys/fs/cgroup/user.slice`.
    ///
    /// # Errors
    /// When a file that is there is not readable or not understood.
    pub fn cgroup_stat(&self, dir: &Path) -> Result<CgroupStat> {
        Ok(CgroupStat {
            cpu: self.parse_optional(dir.join("cpu.stat"), parse_cgroup_cpu)?,
            cpu_pressure: self.cgroup_pressure(dir, Resource::Cpu)?,
            io_pressure: self.cgroup_pressure(dir, Resource::Io)?,
            memory_pressure: self.cgroup_pressure(dir, Resource::Memory)?,
            memory: self.cgroup_memory(dir)?,
        })
    }

    /// The pressure on `resource` in the control group at `dir`; `None` where the kernel counts none for groups.
    ///
    /// # Errors
    /// When the file is there and not readable or not understood.
    pub fn cgroup_pressure(&self, dir: &Path, resource: Resource) -> Result<Option<Pressure>> {
        self.parse_optional(dir.join(format!("{resource}.pressure")), parse_pressure)
    }

    /// The processes in the control group at `dir`, not those in groups below it, in ascending order; `None` when there
    /// is no such group or it holds threads only.
    ///
    /// # Errors
    /// When cgroup.procs is there and not readable or not understood.
    pub fn cgroup_processes(&self, dir: &Path) -> Result<Option<Vec<u32>>> {
        self.parse_optional(dir.join("cgroup.procs"), parse_cgroup_processes)
    }

    /// All memory that is charged to the group at `dir` alone, for those who ask often: the kernel sums up `memory.stat` anew
    /// for each who reads it. `None` without the memory controller, and for the root.
    ///
    /// # Errors
    /// When the file is there and not readable or not understood.
    pub fn cgroup_memory_bytes(&self, dir: &Path) -> Result<Option<u64>> {
        self.number_in_group(dir, "memory.current")
    }

    fn number_in_group(&self, dir: &Path, file: &'static str) -> Result<Option<u64>> {
        self.parse_optional(dir.join(file), |bytes| crate::fields::only_number(file, bytes))
    }

    /// The memory of the control group at `dir`; `None` without the memory controller, and for the root.
    fn cgroup_memory(&self, dir: &Path) -> Result<Option<CgroupMemory>> {
        let Some(current_bytes) = self.cgroup_memory_bytes(dir)? else { return Ok(None) };
        let memory = self.parse_optional(dir.join("memory.stat"), |bytes| parse_cgroup_memory(current_bytes, bytes))?;
        let swap_bytes = self.number_in_group(dir, "memory.swap.current")?;
        Ok(memory.map(|memory| CgroupMemory { swap_bytes, ..memory }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::units::KIB;
    use proptest::prelude::*;

    const MEMORY: &[u8] = b"anon 4096\nfile 8192\nkernel 77\nswapcached 12288\nfile_dirty 1\nfile_writeback 2\n\
        workingset_refault_anon 3\nworkingset_refault_file 4\npgfault 9\npgmajfault 5\n";

    #[test]
    fn the_three_times_are_found_among_others() {
        let text = b"usage_usec 30\nuser_usec 10\nsystem_usec 20\nnice_usec 0\ncore_sched.force_idle_usec 0\n";
        assert_eq!(parse_cgroup_cpu(text), Ok(CgroupCpu { usage_us: 30, user_us: 10, system_us: 20 }));
        assert_eq!(parse_cgroup_cpu(b"usage_usec 30\n"), Err(ParseError::MissingLine("user_usec")));
        assert!(parse_cgroup_cpu(b"usage_usec\nuser_usec 1\nsystem_usec 1\n").is_err());
    }

    #[test]
    fn processes_are_sorted_and_strangers_left_out() {
        assert_eq!(parse_cgroup_processes(b"30\n0\n7\n30\n"), Ok(vec![7, 30]));
        assert_eq!(parse_cgroup_processes(b""), Ok(vec![]));
        assert!(parse_cgroup_processes(b"7 init\nx\n").is_err());
    }

    #[test]
    fn memory_of_kernels_of_two_ages_is_read() {
        let new = parse_cgroup_memory(99 * KIB, MEMORY).expect("6.18");
        assert_eq!((new.current_bytes, new.anon_bytes, new.file_bytes), (99 * KIB, 4096, 8192));
        assert_eq!((new.swap_cached_bytes, new.major_faults), (Some(12288), 5));
        assert_eq!((new.refault_anon_pages, new.refault_file_pages), (3, 4));
        let old = parse_cgroup_memory(
            0,
            b"anon 1\nfile 2\nfile_dirty 3\nfile_writeback 4\nworkingset_refault 6\npgmajfault 5\n",
        )
        .expect("5.4");
        assert_eq!((old.swap_cached_bytes, old.refault_anon_pages, old.refault_file_pages), (None, 0, 6));
        assert_eq!(parse_cgroup_memory(0, b"anon 1\n"), Err(ParseError::MissingLine("file")));
    }

    #[test]
    fn a_group_that_is_gone_has_no_part() {
        let gone = Path::new("/sys/fs/cgroup/no/such/group");
        assert_eq!(Sense::default().cgroup_stat(gone).expect("no error"), CgroupStat::default());
        assert_eq!(Sense::default().cgroup_processes(gone).expect("no error"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parsers_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = parse_cgroup_cpu(&bytes);
            let _ = parse_cgroup_processes(&bytes);
            let _ = parse_cgroup_memory(0, &bytes);
        }

        #[test]
        fn what_the_kernel_renders_is_read_back(
            (usage_us, user_us, system_us) in any::<(u64, u64, u64)>(),
            pids in prop::collection::btree_set(1u32.., 0..20),
        ) {
            let text = format!("usage_usec {usage_us}\nuser_usec {user_us}\nsystem_usec {system_us}\nnice_usec 1\n");
            prop_assert_eq!(parse_cgroup_cpu(text.as_bytes()), Ok(CgroupCpu { usage_us, user_us, system_us }));
            let text: String = pids.iter().rev().map(|pid| format!("{pid}\n")).collect();
            prop_assert_eq!(parse_cgroup_processes(text.as_bytes()), Ok(pids.into_iter().collect::<Vec<_>>()));
        }
    }
}
