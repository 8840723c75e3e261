//! Snapshots of this machine, one after the other, at little cost.
//!
//! Files that every sample needs stay open and are read from their start again, a few devices are asked one by one, since the
//! file of all has each partition and each idle loop device, and of the many counters only those are taken that a snapshot
//! has. Groups of apps are looked for once in
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
use crate::block::DeviceNumber;
use crate::cpu::{CpuStat, parse_cpu_stat};
use crate::diskstats::{DiskStats, IoCounters, parse_disk_stats, parse_stat_of};
use crate::error::{Error, ParseError, Result};
use crate::fields::{lines, only_number};
use crate::kept::Kept;
use crate::meminfo::{MemInfo, parse_mem_info};
use crate::net_dev::parse_net_devices;
use crate::psi::{Pressure, Resource, parse_pressure};

/// How often groups of apps are looked for.
const SEARCH_NS: u64 = 10_000_000_000;

/// Groups of apps lie less deep than this below the mount point.
const DEPTH: usize = 10;

/// So many devices are asked one by one; of more the file of all is read.
const ASKED_ONE_BY_ONE: usize = 16;

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
    /// Those of the chosen devices, when they are few and there.
    few: Option<Vec<StatFile>>,
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

/// What one device says of itself.
#[derive(Debug)]
struct StatFile {
    name: String,
    device: DeviceNumber,
    file: Kept,
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
            few: None,
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
        self.few = None;
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
            paging: self.vm_stat.parse(parse_paging)?,
            pressure,
            disks: self.disks()?,
            nets: self.nets()?,
            apps: self.apps(at_ns)?,
        })
    }

    fn disks(&mut self) -> Result<Vec<DiskTotals>> {
        if (1..=ASKED_ONE_BY_ONE).contains(&self.choice.devices.len())
            && let Some(disks) = self.few_disks()?
        {
            return Ok(disks);
        }
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

    /// What the chosen devices say themselves; `None` when one of them says nothing: it is gone, or the name is another's by
    /// now, which the next time finds out.
    fn few_disks(&mut self) -> Result<Option<Vec<DiskTotals>>> {
        let Some(mut files) = self.few.take().map_or_else(|| self.stat_files(), |files| Ok(Some(files)))? else {
            return Ok(None);
        };
        let mut totals = Vec::with_capacity(files.len());
        for StatFile { name, device, file } in &mut files {
            let Some(disk) = optional(file.parse(|bytes| parse_stat_of(*device, name, bytes)))? else {
                return Ok(None);
            };
            totals.push(disk_totals(disk));
        }
        self.few = Some(files);
        Ok(Some(totals))
    }

    /// The `stat` files of the chosen devices; `None` when one has none.
    fn stat_files(&self) -> Result<Option<Vec<StatFile>>> {
        let of = |name: &String| {
            let dir = Path::new("/sys/class/block").join(name.replace('/', "!"));
            let Some(file) = optional(Kept::open(&self.sense, dir.join("stat")))? else { return Ok(None) };
            let number = self.sense.parse(dir.join("dev"), |bytes| only_number("dev", bytes));
            Ok(optional(number)?.map(|device| StatFile { name: name.clone(), device, file }))
        };
        self.choice.devices.iter().map(of).collect()
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
            match self.app(group) {
                Ok(app) => apps.extend(app),
                Err(Error::Denied { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(apps)
    }

    /// What a group has used; `None` when it is gone.
    fn app(&self, group: &Group) -> Result<Option<AppTotals>> {
        let cpu = self.sense.cgroup_cpu(&group.dir)?;
        let io_pressure = self.sense.cgroup_pressure(&group.dir, Resource::Io)?;
        let memory_bytes = self.sense.cgroup_memory_bytes(&group.dir)?;
        if cpu.is_none() && io_pressure.is_none() && memory_bytes.is_none() {
            return Ok(None);
        }
        Ok(Some(AppTotals {
            name: group.name.clone(),
            cpu_us: cpu.map(|cpu| cpu.usage_us),
            memory_bytes,
            rss_bytes: match memory_bytes {
                None if self.with_resident => self.resident_bytes(&group.members)?,
                _ => None,
            },
            io_pressure: io_pressure.map(stall_totals),
            memory_pressure: self.sense.cgroup_pressure(&group.dir, Resource::Memory)?.map(stall_totals),
        }))
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

/// Takes the counters of a snapshot out of the text of /proc/vmstat. Those that it lacks are zero events, or unknown where
/// kernels differ.
fn parse_paging(bytes: &[u8]) -> std::result::Result<PagingTotals, ParseError> {
    let mut paging = PagingTotals::default();
    let mut refault_pages = None;
    for mut words in lines(bytes) {
        let name = words.word("name")?;
        let mut value = || words.number("value");
        match name {
            b"pswpin" => paging.swap_in_pages = value()?,
            b"pswpout" => paging.swap_out_pages = value()?,
            b"pgmajfault" => paging.major_faults = value()?,
            b"workingset_refault_anon" => paging.refault_anon_pages = Some(value()?),
            b"workingset_refault_file" => paging.refault_file_pages = Some(value()?),
            b"workingset_refault" => refault_pages = Some(value()?),
            b"pgscan_kswapd" => paging.scan_kswapd_pages = Some(value()?),
            b"pgscan_direct" => paging.scan_direct_pages = Some(value()?),
            b"pgsteal_kswapd" => paging.steal_kswapd_pages = Some(value()?),
            b"pgsteal_direct" => paging.steal_direct_pages = Some(value()?),
            _ => {}
        }
    }
    paging.refault_file_pages = paging.refault_file_pages.or(refault_pages);
    Ok(paging)
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
    fn a_few_devices_say_what_the_file_of_all_says() {
        let sense = Sense::default();
        let all = sense.disk_stats().expect("Linux");
        let Some(used) = all.iter().max_by_key(|disk| disk.read.requests).map(|disk| disk.name.clone()) else {
            return brisk_requires::skip(brisk_requires::Capability::Disk, "this machine has no block device");
        };
        let counted = || sense.disk_stats_of(&used).expect("Linux").map(disk_totals).expect("it stays");
        let choice = SampleChoice { devices: vec![used.clone()], groups: Vec::new() };
        let mut sampler = Sampler::new(sense.clone(), choice).expect("Linux");
        for _ in 0..2 {
            let before = counted();
            let disks = sampler.snapshot().expect("understood").disks;
            let after = counted();
            assert!(sampler.few.is_some() && disks.len() == 1 && disks[0].name == used, "{disks:?}");
            let grows = |of: fn(&DiskTotals) -> u64| of(&before) <= of(&disks[0]) && of(&disks[0]) <= of(&after);
            assert!(grows(|disk| disk.read.requests) && grows(|disk| disk.write.bytes), "{disks:?} {after:?}");
            assert!(grows(|disk| disk.flush.unwrap_or_default().requests), "{disks:?} {after:?}");
        }
        sampler.look_at(vec![used, "gone".to_owned()], std::iter::empty());
        assert_eq!(sampler.snapshot().expect("understood").disks.len(), 1);
        assert!(sampler.few.is_none());
    }

    #[test]
    fn paging_is_what_the_kernel_says_of_it() {
        let text = b"nr_free_pages 7\npswpin 1\npswpout 2\npgmajfault 3\nworkingset_refault_anon 4\n\
            workingset_refault_file 5\npgscan_kswapd 6\npgscan_direct 8\npgsteal_kswapd 9\npgsteal_direct 10\n";
        let paging = parse_paging(text).expect("understood");
        assert_eq!((paging.swap_in_pages, paging.swap_out_pages, paging.major_faults), (1, 2, 3));
        assert_eq!((paging.refault_anon_pages, paging.refault_file_pages), (Some(4), Some(5)));
        assert_eq!((paging.scan_kswapd_pages, paging.scan_direct_pages), (Some(6), Some(8)));
        assert_eq!((paging.steal_kswapd_pages, paging.steal_direct_pages), (Some(9), Some(10)));
        let old = parse_paging(b"pswpin 1\nworkingset_refault 6\n").expect("4.14");
        assert_eq!((old.refault_anon_pages, old.refault_file_pages, old.scan_direct_pages), (None, Some(6), None));
        assert!(parse_paging(b"pswpin\n").is_err() && parse_paging(b"pswpin x\n").is_err());
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
