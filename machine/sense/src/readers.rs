//! Sources of one file each: a path and a parser.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use brisk_core::snapshot::{CpuTotals, DiskTotals, MemoryLevels, NetTotals, PagingTotals};
use brisk_formats::{
    BytesMoved, CgroupCpu, DeviceNumber, MappedFile, Mount, ParseError, Pressure, ProcessCgroup, ProcessMemory,
    ProcessStat, ProcessStatus, Resource, SmapsRollup, Swap, fields, parse_cgroup_cpu, parse_cgroup_processes,
    parse_command_line, parse_cpu_list, parse_cpu_stat, parse_disk_stats, parse_io_stat, parse_mapped_files,
    parse_mem_info, parse_mounts, parse_net_devices, parse_paging, parse_pressure, parse_process_cgroups,
    parse_process_io, parse_process_memory, parse_process_stat, parse_process_status, parse_smaps_rollup, parse_swaps,
    parse_tcp_owner,
};

use crate::error::{Absent as _, Error, Result};
use crate::machine::Sense;

/// IFF_LOOPBACK of netdevice(7).
const LOOPBACK: u32 = 0x8;

/// Where Android lists the processes of the app in front (cpusets of the first version, by the file that both versions
/// have).
pub(crate) const FRONT: &str = "/dev/cpuset/top-app/cgroup.procs";

/// A method of [`Sense`] for each file: name, arguments, value, path, parser. `parse_optional` is for what may be
/// missing.
macro_rules! readers {
    ($(
        $(#[$doc:meta])*
        $name:ident($($argument:ident: $type:ty),*) -> $value:ty = $how:ident($path:expr, $parser:expr);
    )*) => {
        impl Sense {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// When the file is not readable or not understood, or missing where that does not give `None`.
                pub fn $name(&self $(, $argument: $type)*) -> Result<$value> {
                    self.$how($path, $parser)
                }
            )*
        }
    };
}

readers! {
    /// The counters of every disk and partition, from /proc/diskstats.
    disk_stats() -> Vec<DiskTotals> = parse("/proc/diskstats", parse_disk_stats);
    /// What the memory is used for, from /proc/meminfo.
    mem_info() -> MemoryLevels = parse("/proc/meminfo", parse_mem_info);
    /// What memory management has done since boot, from /proc/vmstat.
    paging() -> PagingTotals = parse("/proc/vmstat", parse_paging);
    /// Where the processors' time went since boot, from /proc/stat.
    cpu_stat() -> CpuTotals = parse("/proc/stat", parse_cpu_stat);
    /// All network interfaces of this network namespace, the loopback one included, from /proc/net/dev.
    net_devices() -> Vec<NetTotals> = parse("/proc/net/dev", parse_net_devices);
    /// The pressure on `resource` since boot, from /proc/pressure; an error where the kernel has no PSI or it is off.
    pressure(resource: Resource) -> Pressure = parse(format!("/proc/pressure/{resource}"), parse_pressure);
    /// The user whose TCP connection goes from `local` to `remote` of this machine, from /proc/net/tcp or tcp6; `None`
    /// when there is none.
    tcp_owner(local: SocketAddr, remote: SocketAddr) -> Option<u32> = parse_optional_flat(
        if local.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" },
        |bytes| parse_tcp_owner(bytes, local, remote)
    );
    /// The swap areas in use, from /proc/swaps; an error on a kernel without swap.
    swaps() -> Vec<Swap> = parse("/proc/swaps", parse_swaps);
    /// The mounts that this process sees, in the kernel's order, from /proc/self/mountinfo.
    mounts() -> Vec<Mount> = parse("/proc/self/mountinfo", parse_mounts);
    /// The user and the capabilities of this process, from /proc/self/status.
    process_status() -> ProcessStatus = parse("/proc/self/status", parse_process_status);
    /// The user and the capabilities of process `pid`, from /proc/PID/status; `None` when there is no such process.
    status_of(pid: u32) -> Option<ProcessStatus> = parse_optional(format!("/proc/{pid}/status"), parse_process_status);
    /// What process `pid` is and has used, from /proc/PID/stat; `None` when there is no such process.
    process_stat(pid: u32) -> Option<ProcessStat> = parse_optional(format!("/proc/{pid}/stat"), parse_process_stat);
    /// Bytes that process `pid` has moved from and to storage, from /proc/PID/io; `None` when there is no such process,
    /// and on kernels that count none.
    process_io(pid: u32) -> Option<BytesMoved> = parse_optional(format!("/proc/{pid}/io"), parse_process_io);
    /// Bytes that the control group at `dir` has moved from and to each device, from its io.stat; `None` without the io
    /// controller.
    cgroup_io(dir: &Path) -> Option<Vec<(DeviceNumber, BytesMoved)>> =
        parse_optional(dir.join("io.stat"), parse_io_stat);
    /// The files that process `pid` has mapped, from /proc/PID/maps; `None` when there is no such process, empty for
    /// kernel threads and processes that have ended.
    mapped_files(pid: u32) -> Option<Vec<MappedFile>> = parse_optional(format!("/proc/{pid}/maps"), parse_mapped_files);
    /// The control groups of process `pid`, one for each hierarchy, from /proc/PID/cgroup; `None` when there is no such
    /// process.
    process_cgroups(pid: u32) -> Option<Vec<ProcessCgroup>>
        = parse_optional(format!("/proc/{pid}/cgroup"), parse_process_cgroups);
    /// The arguments of process `pid`, from /proc/PID/cmdline; `None` when there is no such process.
    command_line(pid: u32) -> Option<Vec<OsString>>
        = parse_optional(format!("/proc/{pid}/cmdline"), |bytes| Ok::<_, ParseError>(parse_command_line(bytes)));
    /// Processes of the app in front; `None` where nothing says which is in front.
    front_processes() -> Option<Vec<u32>> = parse_optional(FRONT, parse_cgroup_processes);
    /// Processor time of the control group at `dir`, its directory in the mounted second version; `None` when there is
    /// none.
    cgroup_cpu(dir: &Path) -> Option<CgroupCpu> = parse_optional(dir.join("cpu.stat"), parse_cgroup_cpu);
    /// The pressure on `resource` in the control group at `dir`; `None` where the kernel counts none for groups.
    cgroup_pressure(dir: &Path, resource: Resource) -> Option<Pressure>
        = parse_optional(dir.join(format!("{resource}.pressure")), parse_pressure);
    /// The processes in the control group at `dir`, not those in groups below it, in ascending order; `None` when there
    /// is no such group or it holds threads only.
    cgroup_processes(dir: &Path) -> Option<Vec<u32>> = parse_optional(dir.join("cgroup.procs"), parse_cgroup_processes);
    /// All memory that is charged to the control group at `dir`; `None` without the memory controller, and for the
    /// root.
    cgroup_memory_bytes(dir: &Path) -> Option<u64>
        = parse_optional(dir.join("memory.current"), |bytes| fields::only_number("memory.current", bytes));
    /// The same of the group at `dir` of the memory controller of version 1, and of groups below it; `None` when there
    /// is no such group.
    memory_usage_bytes(dir: &Path) -> Option<u64> = parse_optional(
        dir.join("memory.usage_in_bytes"),
        |bytes| fields::only_number("memory.usage_in_bytes", bytes)
    );
    /// Memory of process `pid`, from /proc/PID/status; `None` when there is no such process, or it has no memory.
    process_memory(pid: u32) -> Option<ProcessMemory>
        = parse_optional_flat(format!("/proc/{pid}/status"), parse_process_memory);
    /// Memory of process `pid` by its page tables, from /proc/PID/smaps_rollup; `None` when there is no such process,
    /// or it has no memory. Costs the kernel milliseconds for each 100 MB.
    smaps_rollup(pid: u32) -> Option<SmapsRollup>
        = parse_optional_flat(format!("/proc/{pid}/smaps_rollup"), parse_smaps_rollup);
    /// The bits of the multi-generational LRU (Documentation/admin-guide/mm/multigen_lru.rst): 0 when it is off, 0x0007
    /// when all of it runs; `None` when the kernel has none (before Linux 6.1, or built without).
    lru_gen() -> Option<u32>
        = parse_optional("/sys/kernel/mm/lru_gen/enabled", |bytes| fields::only_hex(1, "enabled", bytes));
}

/// What takes more than a path and a parser.
impl Sense {
    /// The counters of the disk or partition `name`; `None` when the kernel has no such device.
    ///
    /// # Errors
    /// As [`Sense::disk_stats`].
    pub fn disk_stats_of(&self, name: &str) -> Result<Option<DiskTotals>> {
        Ok(self.disk_stats()?.into_iter().find(|disk| disk.name == name))
    }

    /// How many processors are online, from /sys/devices/system/cpu/online.
    ///
    /// # Errors
    /// When the file is missing, not readable or not understood.
    pub fn cpus_online(&self) -> Result<u32> {
        let runs = self.parse("/sys/devices/system/cpu/online", parse_cpu_list)?;
        Ok(runs.iter().fold(0u32, |sum, (first, last)| sum.saturating_add(last - first).saturating_add(1)))
    }

    /// The mount that holds `path`, which must be absolute and free of links, as [`std::fs::canonicalize`] gives it.
    ///
    /// # Errors
    /// As [`Sense::mounts`].
    pub fn mount_of(&self, path: &Path) -> Result<Option<Mount>> {
        let depth = |mount: &Mount| mount.mount_point.components().count();
        // max_by_key gives the last of equals: the mount on top.
        Ok(self.mounts()?.into_iter().filter(|mount| path.starts_with(&mount.mount_point)).max_by_key(depth))
    }

    /// The ids of all processes that /proc shows, in ascending order.
    ///
    /// # Errors
    /// When /proc is missing or not readable.
    pub fn process_ids(&self) -> Result<Vec<u32>> {
        let path = self.path("/proc");
        if !path.is_dir() {
            return Err(Error::Missing { path });
        }
        let mut pids: Vec<u32> = self.names_in("/proc")?.iter().filter_map(|name| name.parse().ok()).collect();
        pids.sort_unstable();
        Ok(pids)
    }

    /// What the file descriptors of process `pid` lead to, from the links in /proc/PID/fd: files by their path, all
    /// others by the kernel's words for them, such as `socket:[7]`. `None` when there is no such process.
    ///
    /// # Errors
    /// When the process belongs to another user, and this one is not root.
    pub fn open_files(&self, pid: u32) -> Result<Option<Vec<PathBuf>>> {
        let dir = self.path(format!("/proc/{pid}/fd"));
        let Some(entries) = std::fs::read_dir(&dir).map_err(|source| Error::reading(dir, source)).or_absent()? else {
            return Ok(None);
        };
        // A file that is closed meanwhile is left out.
        Ok(Some(entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()))
    }

    /// The effective user of a process; `None` when it is gone.
    ///
    /// # Errors
    /// When its file is not readable or not understood.
    pub fn process_user(&self, pid: u32) -> Result<Option<u32>> {
        let status = self.parse_optional(format!("/proc/{pid}/status"), parse_process_status)?;
        Ok(status.map(|status| status.effective_uid))
    }

    /// Whether the interface `name` only leads back to this machine, by its flags in /sys/class/net; `None` when there
    /// is no such interface.
    ///
    /// # Errors
    /// When the file is not readable or not understood.
    pub fn is_loopback(&self, name: &str) -> Result<Option<bool>> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Ok(None);
        }
        let flags = |bytes: &[u8]| fields::only_hex(1, "flags", bytes);
        Ok(self.parse_optional(format!("/sys/class/net/{name}/flags"), flags)?.map(|flags| flags & LOOPBACK != 0))
    }

    /// The release of the running kernel, as `uname -r` prints it.
    ///
    /// # Errors
    /// When /proc/sys/kernel/osrelease is missing, not readable or empty.
    pub fn kernel_release(&self) -> Result<String> {
        self.parse("/proc/sys/kernel/osrelease", |bytes| {
            Some(fields::text(bytes)).filter(|release| !release.is_empty()).ok_or(ParseError::MissingLine("release"))
        })
    }

    /// The setting `name` of the kernel (Documentation/admin-guide/sysctl), such as `vm.swappiness`, as its text;
    /// `None` when this kernel has no such setting.
    ///
    /// # Errors
    /// When `name` is not a name, or the file is not readable.
    pub fn sysctl(&self, name: &str) -> Result<Option<String>> {
        if name.is_empty() || name.contains('/') || name.split('.').any(str::is_empty) {
            return Err(Error::Name { name: name.to_owned() });
        }
        self.text_optional(format!("/proc/sys/{}", name.replace('.', "/")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_and_one_that_ended_is_not() {
        let sense = Sense::default();
        let own = std::process::id();
        let stat = sense.process_stat(own).expect("readable").expect("runs");
        assert_eq!((stat.pid, stat.parent), (own, std::os::unix::process::parent_id()));
        assert!(stat.resident_pages > 0);
        let program = std::env::current_exe().expect("a path");
        let files = sense.mapped_files(own).expect("readable").expect("runs");
        assert!(files.iter().any(|file| file.path == program), "{files:?}");
        assert!(sense.process_ids().expect("a list").contains(&own));
        assert_eq!(sense.command_line(own).expect("readable").expect("runs"), std::env::args_os().collect::<Vec<_>>());
        assert!(!sense.process_cgroups(own).expect("readable").expect("runs").is_empty());
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().canonicalize().expect("a path");
        assert!(sense.open_files(own).expect("readable").expect("runs").contains(&path));
        drop(file);
        assert!(!sense.open_files(own).expect("readable").expect("runs").contains(&path));

        let mut child = std::process::Command::new("true").spawn().expect("starts");
        let pid = child.id();
        child.wait().expect("ends");
        assert_eq!(sense.process_stat(pid).expect("no error"), None);
        assert_eq!(sense.mapped_files(pid).expect("no error"), None);
        assert_eq!(sense.open_files(pid).expect("no error"), None);
    }

    #[test]
    fn names_stay_below_their_directories() {
        let sense = Sense::default();
        for name in ["", "..", "vm..swappiness", "vm/../../stat", "/vm"] {
            assert!(sense.sysctl(name).is_err(), "{name}");
        }
        assert_eq!(sense.is_loopback("../../etc").expect("no error"), None);
    }

    #[test]
    fn the_loopback_interface_is_known_by_its_flag() {
        brisk_requires::requires!(Loopback);
        let sense = Sense::default();
        let devices = sense.net_devices().expect("every Linux has /proc/net/dev");
        assert!(devices.iter().any(|device| device.name == "lo"), "{devices:?}");
        assert_eq!(sense.is_loopback("lo").expect("readable"), Some(true));
    }
}
