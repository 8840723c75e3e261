//! Snapshots of this machine, one after the other, at little cost.
//!
//! Files that every sample needs stay open and are read from their start again. Groups of apps are looked for once in
//! [`SEARCH_NS`], as walking through all control groups costs more than everything else; an app that has just started
//! shows up by then, one that ended is gone at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brisk_core::snapshot::{
    AppTotals, CpuTotals, DiskTotals, FlushTotals, IoTotals, MemoryLevels, MergeTotals, NetTotals, PagingTotals,
    PressureTotals, Snapshot, StallTotals,
};
use rustix::time::{ClockId, clock_gettime};

use crate::Sense;
use crate::cpu::{CpuStat, parse_cpu_stat};
use crate::diskstats::{DiskStats, IoCounters, parse_disk_stats};
use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::meminfo::{MemInfo, parse_mem_info};
use crate::net_dev::parse_net_devices;
use crate::psi::{Pressure, Resource, parse_pressure};
use crate::vmstat::{VmStat, parse_vm_stat};

/// How often groups of apps are looked for.
const SEARCH_NS: u64 = 10_000_000_000;

/// Groups of apps lie less deep than this below the mount point.
const DEPTH: usize = 10;

/// USER_HZ is 100 on every Linux.
const TICK_US: u64 = 10_000;

/// What a sampler looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleChoice {
    /// Kernel names of disks or partitions; none: every whole disk that has ever completed a request.
    pub devices: Vec<String>,
    /// Directories of control groups of the second version; none: the groups of apps, as desktops name them.
    pub groups: Vec<PathBuf>,
}

/// Takes snapshots of a machine.
#[derive(Debug)]
pub struct Sampler {
    sense: Sense,
    choice: SampleChoice,
    stat: Kept,
    mem_info: Kept,
    vm_stat: Kept,
    disk_stats: Kept,
    net_dev: Option<Kept>,
    pressure: [Option<Kept>; 3],
    /// Whether a name of /proc/diskstats is that of a whole disk.
    whole: BTreeMap<String, bool>,
    /// Whether an interface only leads back.
    loopback: BTreeMap<String, bool>,
    groups: Vec<Group>,
    /// When groups are looked for again; `None` when somebody else knows them.
    search_at_ns: Option<u64>,
    with_resident: bool,
}

/// The control group of an app.
#[derive(Debug)]
struct Group {
    name: String,
    dir: PathBuf,
    /// It and the groups below it.
    members: Vec<PathBuf>,
}

impl Sampler {
    /// Opens what every sample needs.
    ///
    /// # Errors
    /// When /proc lacks one of stat, meminfo, vmstat and diskstats, or does not show it to this user.
    pub fn new(sense: Sense, choice: SampleChoice) -> Result<Self> {
        let pressure = |resource: Resource| optional(Kept::open(&sense, format!("/proc/pressure/{resource}")));
        Ok(Self {
            stat: Kept::open(&sense, "/proc/stat")?,
            mem_info: Kept::open(&sense, "/proc/meminfo")?,
            vm_stat: Kept::open(&sense, "/proc/vmstat")?,
            disk_stats: Kept::open(&sense, "/proc/diskstats")?,
            net_dev: optional(Kept::open(&sense, "/proc/net/dev"))?,
            pressure: [pressure(Resource::Cpu)?, pressure(Resource::Io)?, pressure(Resource::Memory)?],
            whole: BTreeMap::new(),
            loopback: BTreeMap::new(),
            groups: Vec::new(),
            search_at_ns: Some(0),
            with_resident: true,
            sense,
            choice,
        })
    }

    /// Looks at exactly these disks and groups of apps from now on, each given by its directory and name: for callers who
    /// hear of groups that come and go. Without them nothing is searched for, and what processes have in memory is not
    /// summed up, which costs more than all else.
    pub fn look_at(&mut self, devices: Vec<String>, groups: impl Iterator<Item = (PathBuf, String)>) {
        self.choice.devices = devices;
        self.groups = groups.map(|(dir, name)| Group { name, dir, members: Vec::new() }).collect();
        self.search_at_ns = None;
        self.with_resident = false;
    }

    /// The machine at this moment.
    ///
    /// # Errors
    /// When a file is no longer readable or not understood.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        let at_ns = clock_ns(ClockId::Monotonic);
        let [cpu, io, memory] = &mut self.pressure;
        let pressure = PressureTotals { cpu: stall(cpu)?, io: stall(io)?, memory: stall(memory)? };
        Ok(Snapshot {
            at_ns,
            wall_unix_ms: clock_ns(ClockId::Realtime) / 1_000_000,
            cpu: cpu_totals(&self.stat.parse(parse_cpu_stat)?),
            memory: memory_levels(&self.mem_info.parse(parse_mem_info)?),
            paging: paging_totals(&self.vm_stat.parse(parse_vm_stat)?),
            pressure,
            disks: self.disks()?,
            nets: self.nets()?,
            apps: self.apps(at_ns)?,
        })
    }

    fn disks(&mut self) -> Result<Vec<DiskTotals>> {
        let mut disks = self.disk_stats.parse(parse_disk_stats)?;
        if self.choice.devices.is_empty() && self.search_at_ns.is_some() {
            let (sense, whole) = (&self.sense, &mut self.whole);
            disks.retain(|disk| {
                let used = disk.read.requests > 0 || disk.write.requests > 0;
                used && remembered(whole, &disk.name, || {
                    // Where the name of a disk has a slash, /sys has an exclamation mark.
                    sense.path(Path::new("/sys/block").join(disk.name.replace('/', "!"))).exists()
                })
            });
        } else {
            disks.retain(|disk| self.choice.devices.contains(&disk.name));
        }
        Ok(disks.into_iter().map(disk_totals).collect())
    }

    fn nets(&mut self) -> Result<Vec<NetTotals>> {
        let Some(kept) = &mut self.net_dev else { return Ok(Vec::new()) };
        let mut nets = kept.parse(parse_net_devices)?;
        let (sense, loopback) = (&self.sense, &mut self.loopback);
        nets.retain(|net| {
            // An interface without flags is about to go; what it moved is no loopback.
            let is_loopback = || sense.is_loopback(&net.name).ok().flatten().unwrap_or(false);
            let used = net.receive.packets > 0 || net.transmit.packets > 0;
            used && !remembered(loopback, &net.name, is_loopback)
        });
        let totals = nets.into_iter().map(|net| NetTotals {
            name: net.name,
            receive_bytes: net.receive.bytes,
            receive_packets: net.receive.packets,
            transmit_bytes: net.transmit.bytes,
            transmit_packets: net.transmit.packets,
        });
        Ok(totals.collect())
    }

    fn apps(&mut self, at_ns: u64) -> Result<Vec<AppTotals>> {
        if self.search_at_ns.is_some_and(|search_at_ns| search_at_ns <= at_ns) {
            self.search_at_ns = Some(at_ns.saturating_add(SEARCH_NS));
            self.groups = self.search()?;
        }
        let mut apps = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            let stat = match self.sense.cgroup_stat(&group.dir) {
                Ok(stat) => stat,
                Err(Error::Denied { .. }) => continue,
                Err(error) => return Err(error),
            };
            if stat.cpu.is_none() && stat.io_pressure.is_none() && stat.memory.is_none() {
                continue;
            }
            let memory_bytes = stat.memory.map(|memory| memory.current_bytes);
            apps.push(AppTotals {
                name: group.name.clone(),
                cpu_us: stat.cpu.map(|cpu| cpu.usage_us),
                memory_bytes,
                rss_bytes: match memory_bytes {
                    None if self.with_resident => self.resident_bytes(&group.members)?,
                    _ => None,
                },
                io_pressure: stat.io_pressure.map(stall_totals),
                memory_pressure: stat.memory_pressure.map(stall_totals),
            });
        }
        Ok(apps)
    }

    /// What the processes in `groups` have in memory; a process that ends meanwhile has nothing.
    fn resident_bytes(&self, groups: &[PathBuf]) -> Result<Option<u64>> {
        let page_bytes = rustix::param::page_size() as u64;
        let mut sum_bytes = None;
        for group in groups {
            for pid in self.sense.cgroup_processes(group)?.into_iter().flatten() {
                let pages = self.sense.process_stat(pid)?.map_or(0, |process| process.resident_pages);
                sum_bytes = Some(pages.saturating_mul(page_bytes).saturating_add(sum_bytes.unwrap_or(0)));
            }
        }
        Ok(sum_bytes)
    }

    /// The groups that were chosen, or those of apps.
    fn search(&self) -> Result<Vec<Group>> {
        let mut dirs = self.choice.groups.clone();
        let mut root = PathBuf::from("/");
        if dirs.is_empty() {
            let Some(v2) = self.sense.cgroups()?.v2 else { return Ok(Vec::new()) };
            root = v2.mount_point;
            self.walk(&root, DEPTH, &mut |dir, name| {
                let found = is_app(name);
                if found {
                    dirs.push(dir.to_owned());
                }
                !found
            });
            dirs.sort();
        }
        let names: Vec<String> = dirs.iter().map(|dir| last_name(dir)).collect();
        let groups = dirs.into_iter().enumerate().map(|(index, dir)| {
            // Two users may run an app under the same name.
            let twice = names.iter().filter(|name| **name == names[index]).count() > 1;
            let path = dir.strip_prefix(&root).unwrap_or(&dir).to_string_lossy().into_owned();
            let mut members = vec![dir.clone()];
            self.walk(&dir, DEPTH, &mut |below, _| {
                members.push(below.to_owned());
                true
            });
            Group { name: if twice { path } else { names[index].clone() }, dir, members }
        });
        Ok(groups.collect())
    }

    /// Calls `visit` for each directory below `dir`, and goes on below it when that says so. What went meanwhile or may
    /// not be seen is passed over.
    fn walk(&self, dir: &Path, depth: usize, visit: &mut dyn FnMut(&Path, &str) -> bool) {
        let Ok(entries) = std::fs::read_dir(self.sense.path(dir)) else { return };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let below = dir.join(entry.file_name());
            if visit(&below, &entry.file_name().to_string_lossy()) && depth > 0 {
                self.walk(&below, depth - 1, visit);
            }
        }
    }
}

/// Whether a control group is named as one app's: https://systemd.io/DESKTOP_ENVIRONMENTS.
pub(crate) fn is_app(name: &str) -> bool {
    name.starts_with("app-") && [".scope", ".service"].iter().any(|tail| name.ends_with(tail))
}

fn last_name(dir: &Path) -> String {
    dir.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// What the map knows of `name`, found out at the first time.
fn remembered(known: &mut BTreeMap<String, bool>, name: &str, find_out: impl FnOnce() -> bool) -> bool {
    match known.get(name) {
        Some(&answer) => answer,
        None => *known.entry(name.to_owned()).or_insert_with(find_out),
    }
}

/// Turns what this kernel lacks, or shows to root alone, into `None`.
fn optional<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_absent() || matches!(error, Error::Denied { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let whole_ns = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    whole_ns.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The file is there on kernels where PSI is switched off, and cannot be read.
fn stall(kept: &mut Option<Kept>) -> Result<Option<StallTotals>> {
    let Some(kept) = kept else { return Ok(None) };
    Ok(optional(kept.parse(parse_pressure))?.map(stall_totals))
}

fn stall_totals(pressure: Pressure) -> StallTotals {
    StallTotals { some_us: pressure.some.total_us, full_us: pressure.full.map(|full| full.total_us) }
}

fn cpu_totals(stat: &CpuStat) -> CpuTotals {
    let us = |ticks: u64| ticks.saturating_mul(TICK_US);
    CpuTotals {
        processors: stat.cpus.len() as u64,
        user_us: us(stat.all.user_ticks),
        nice_us: us(stat.all.nice_ticks),
        system_us: us(stat.all.system_ticks),
        idle_us: us(stat.all.idle_ticks),
        iowait_us: us(stat.all.iowait_ticks),
        irq_us: us(stat.all.irq_ticks),
        softirq_us: us(stat.all.softirq_ticks),
        steal_us: us(stat.all.steal_ticks),
    }
}

fn memory_levels(info: &MemInfo) -> MemoryLevels {
    MemoryLevels {
        total_bytes: info.total_bytes,
        free_bytes: info.free_bytes,
        available_bytes: info.available_bytes,
        buffers_bytes: info.buffers_bytes,
        cached_bytes: info.cached_bytes,
        anon_bytes: info.active_anon_bytes.saturating_add(info.inactive_anon_bytes),
        dirty_bytes: info.dirty_bytes,
        writeback_bytes: info.writeback_bytes,
        swap_total_bytes: info.swap_total_bytes,
        swap_free_bytes: info.swap_free_bytes,
        swap_cached_bytes: info.swap_cached_bytes,
    }
}

fn paging_totals(stat: &VmStat) -> PagingTotals {
    PagingTotals {
        swap_in_pages: stat.get("pswpin").unwrap_or(0),
        swap_out_pages: stat.get("pswpout").unwrap_or(0),
        major_faults: stat.get("pgmajfault").unwrap_or(0),
        refault_anon_pages: stat.get("workingset_refault_anon"),
        refault_file_pages: stat.get("workingset_refault_file").or_else(|| stat.get("workingset_refault")),
        scan_kswapd_pages: stat.get("pgscan_kswapd"),
        scan_direct_pages: stat.get("pgscan_direct"),
        steal_kswapd_pages: stat.get("pgsteal_kswapd"),
        steal_direct_pages: stat.get("pgsteal_direct"),
    }
}

fn disk_totals(disk: DiskStats) -> DiskTotals {
    let io = |counters: IoCounters| IoTotals {
        requests: counters.requests,
        bytes: counters.bytes(),
        time_ms: counters.time_ms,
    };
    DiskTotals {
        merged: Some(MergeTotals { reads: disk.read.merges, writes: disk.write.merges }),
        read: io(disk.read),
        write: io(disk.write),
        discard: disk.discard.map(io),
        flush: disk.flush.map(|flush| FlushTotals { requests: flush.requests, time_ms: flush.time_ms }),
        in_flight_requests: disk.in_flight_requests,
        busy_ms: disk.busy_ms,
        queue_ms: disk.queue_ms,
        name: disk.name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_apps_are_known_by_their_names() {
        for (name, app) in [
            ("app-org.gnome.Evince-4711.scope", true),
            ("app-gnome\\x2dsession.service", true),
            ("app.slice", false),
            ("app-flatpak.slice", false),
            ("user@1000.service", false),
        ] {
            assert_eq!(is_app(name), app, "{name}");
        }
    }

    #[test]
    fn this_machine_gives_totals_that_grow() {
        let mut sampler = Sampler::new(Sense::default(), SampleChoice::default()).expect("Linux");
        let first = sampler.snapshot().expect("understood");
        let second = sampler.snapshot().expect("understood");
        assert!(first.cpu.processors > 0 && first.memory.total_bytes > first.memory.free_bytes);
        let interval = second.since(&first).expect("time passed");
        assert!(interval.elapsed_ns < 60_000_000_000 && interval.wall_step_ms.abs() < 60_000, "{interval:?}");
        assert!(first.nets.iter().all(|net| net.name != "lo"), "{:?}", first.nets);
    }
}
