//! The only reader of the machine.
//!
//! Everything that brisk knows about a machine it learns here, from the text files of the kernel: /proc and /sys. Each
//! source has one file, named by what the kernel calls it, with two halves: a *parser* that takes bytes and is pure, and
//! a *reader*, a method of [`Sense`], that knows the path. [`Sense`] holds the root directory of the paths, so that a
//! tree captured on another machine takes the place of this one.
//!
//! What is read is reported as it stands; what it means is for others to say.
//!
//! Properties: no bytes make a parser panic; fields that newer kernels append are ignored; fields that older kernels
//! lack are `None`; a value that brisk cannot read is an error with path, line and field, never a zero.

mod block;
mod cgroup_meter;
mod cgroup_stat;
mod cgroups;
mod cpu;
mod diskstats;
mod error;
mod fields;
mod guest_flash;
mod identity;
mod kept;
mod kernel;
mod limits;
mod loops;
mod lru_gen;
mod meminfo;
mod mountinfo;
mod net_dev;
mod power_rails;
mod power_supply;
mod powercap;
mod process;
mod psi;
mod queue;
mod sampler;
mod status;
mod swaps;
mod sysctl;
mod vmstat;
mod watch;
mod zram;

use std::path::{Path, PathBuf};

pub use block::{BlockDevice, DeviceNumber, Located, Mmc, Partition, WearTenths};
pub use cgroup_meter::CgroupMeter;
pub use cgroup_stat::{CgroupCpu, CgroupMemory, CgroupStat, parse_cgroup_cpu, parse_cgroup_processes};
pub use cgroups::{CgroupV1, CgroupV2, Cgroups};
pub use cpu::{CpuStat, CpuTimes, parse_cpu_list, parse_cpu_stat};
pub use diskstats::{DiskStats, FlushCounters, IoCounters, SECTOR_BYTES, parse_disk_stats};
pub use error::{Error, ParseError, Result};
pub use guest_flash::{GuestFlash, parse_guest_flash};
pub use identity::{Identity, kind_of_preset};
pub use kernel::KernelVersion;
pub use limits::{Limit, Limits, parse_limits};
pub use loops::LoopBacking;
pub use meminfo::{MemInfo, parse_mem_info};
pub use mountinfo::{Mount, parse_mounts};
pub use net_dev::{NetCounters, NetDevice, parse_net_devices};
pub use power_rails::{PowerRail, parse_power_rails};
pub use power_supply::PowerSupply;
pub use powercap::PowercapZone;
pub use process::{
    MappedFile, ProcessCgroup, ProcessStat, parse_command_line, parse_mapped_files, parse_process_cgroups,
    parse_process_stat,
};
pub use psi::{Pressure, Resource, Stall, parse_pressure};
pub use queue::{BlockQueue, Schedulers, parse_schedulers};
pub use sampler::{SampleChoice, Sampler};
pub use status::{Capability, ProcessStatus, parse_process_status};
pub use swaps::{Swap, parse_swaps};
pub use vmstat::{VmStat, parse_vm_stat};
pub use watch::{
    BlockChange, BlockWatch, FrontWatch, Group, GroupChange, GroupWatch, PressureWatch, ProcessSession, QueueWatch,
    SessionChange, SessionWatch, TableWatch,
};
pub use zram::Zram;

/// Reads a machine whose /proc and /sys lie under one root directory.
///
/// Cheap to make and to clone; holds no open file and caches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sense {
    root: PathBuf,
}

impl Default for Sense {
    /// This machine.
    fn default() -> Self {
        Self::new("/")
    }
}

impl Sense {
    /// A reader below `root`: `/` for this machine, or a directory that holds a captured `proc` and `sys`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where `path`, absolute on the machine, lies below the root.
    #[must_use]
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The bytes of the file at `path`.
    fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = self.path(path);
        std::fs::read(&path).map_err(|source| Error::reading(path, source))
    }

    /// The bytes of a file that not every kernel has, or has only for some devices.
    ///
    /// `None` when it is missing or when the driver says that this device has no such attribute.
    fn read_optional(&self, path: impl AsRef<Path>) -> Result<Option<Vec<u8>>> {
        match self.read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The whole file at `path`, parsed.
    fn parse<T>(
        &self,
        path: impl AsRef<Path>,
        parser: impl FnOnce(&[u8]) -> std::result::Result<T, ParseError>,
    ) -> Result<T> {
        let bytes = self.read(&path)?;
        parser(&bytes).map_err(|source| Error::Parse { path: self.path(path), source })
    }

    /// As [`Sense::parse`], for a file that may be missing.
    fn parse_optional<T>(
        &self,
        path: impl AsRef<Path>,
        parser: impl FnOnce(&[u8]) -> std::result::Result<T, ParseError>,
    ) -> Result<Option<T>> {
        match self.read_optional(&path)? {
            None => Ok(None),
            Some(bytes) => parser(&bytes).map(Some).map_err(|source| Error::Parse { path: self.path(path), source }),
        }
    }

    /// The one line of text that a file of /sys holds, without white space at its ends; `None` when missing or empty.
    fn text_optional(&self, path: impl AsRef<Path>) -> Result<Option<String>> {
        Ok(self.read_optional(path)?.map(|bytes| fields::text(&bytes)).filter(|text| !text.is_empty()))
    }

    /// The names in a directory, sorted; empty when the directory is missing.
    fn names_in(&self, path: impl AsRef<Path>) -> Result<Vec<String>> {
        let path = self.path(path);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::reading(path, source)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| Error::reading(path.clone(), source))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        Ok(names)
    }
}

/// A key that puts `loop2` before `loop10`.
fn natural(name: &str) -> (&str, u64, &str) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (stem, number) = name.split_at(digits);
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    (stem, number[..end].parse().unwrap_or(u64::MAX), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_root() {
        let sense = Sense::new("/fixture");
        assert_eq!(sense.path("/proc/stat"), Path::new("/fixture/proc/stat"));
        assert_eq!(sense.path("proc/stat"), Path::new("/fixture/proc/stat"));
        assert_eq!(Sense::default().path("/proc/stat"), Path::new("/proc/stat"));
    }

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = ["loop10", "loop2", "dm-1", "loop", "sda", "loop2p1"];
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        assert_eq!(names, ["dm-1", "loop2", "loop2p1", "loop10", "loop", "sda"]);
    }
}
