//! Snapshots of this machine, one after the other, at little cost.
//!
//! Files that every sample needs stay open and are read from their start again, a few devices are asked one by one,
//! since the file of all has each partition and each idle loop device, and of the many counters only those are read
//! that a snapshot has. Groups of apps (`groups`) are searched for once in ten
//! seconds, as walking through all control groups costs more than everything else; an app that has just started
//! shows up by then, one that ended is gone at once.
//!
//! A file that cannot be read costs its part of the snapshot and nothing else: [`Snapshot::unread`] names the part,
//! [`Sampler::failing`] the reason, and each sample tries it again. Essential is /proc alone: without any of stat,
//! meminfo, vmstat and diskstats there is no snapshot, as all that is left would be the names of apps.
//!
//! Property: `any_file_may_fail_and_the_snapshot_has_the_rest` (`tests/failing_sources.rs`).

mod groups;
mod source;
mod weight;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brisk_core::snapshot::{DiskTotals, NetTotals, Part, PressureTotals, Snapshot, StallTotals, Unread};
use brisk_formats::{
    Pressure, Resource, parse_cpu_stat, parse_disk_stats, parse_mem_info, parse_net_devices, parse_paging,
    parse_pressure, parse_stat_of, parse_writes_in_flight, sysfs_name,
};
use rustix::time::{ClockId, clock_gettime};

use crate::activity::Hierarchies;
use crate::error::Result;
use crate::kept::Kept;
use crate::machine::Sense;
use groups::Group;
use source::{Failing, Source};

/// So many devices are asked one by one; of more the file of all is read.
const ASKED_ONE_BY_ONE: usize = 16;

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
    stat: Source,
    mem_info: Source,
    vm_stat: Source,
    disk_stats: Source,
    /// Those of the chosen devices, when they are few and there.
    few: Option<Vec<StatFile>>,
    net_dev: Source,
    pressure: [Source; 3],
    failing: Failing,
    /// Whether a name of /proc/diskstats is that of a whole disk.
    whole: BTreeMap<String, bool>,
    /// Whether an interface only leads back.
    loopback: BTreeMap<String, bool>,
    groups: Vec<Group>,
    /// `None` until groups are sampled.
    hierarchies: Option<Hierarchies>,
    /// When groups are searched for again; `None` when the caller gives them.
    search_at_ns: Option<u64>,
    with_resident: bool,
    with_weights: bool,
    /// Pages that the machine has swapped in and out so far.
    swapped_pages: u64,
}

/// What one device says of itself.
#[derive(Debug)]
struct StatFile {
    name: String,
    file: Kept,
    in_flight: Source,
}

impl Sampler {
    /// Opens what every sample needs.
    ///
    /// # Errors
    /// When /proc has none of stat, meminfo, vmstat and diskstats.
    pub fn new(sense: Sense, choice: SampleChoice) -> Result<Self> {
        let paths = ["/proc/stat", "/proc/meminfo", "/proc/vmstat", "/proc/diskstats"];
        let opened = paths.map(|path| Kept::open(&sense, path));
        if opened.iter().all(Result::is_err) {
            let [first, ..] = opened;
            first?;
        }
        let [stat, mem_info, vm_stat, disk_stats] = paths.map(Source::of);
        let pressure = |resource: Resource| Source::optional(format!("/proc/pressure/{resource}"));
        Ok(Self {
            stat,
            mem_info,
            vm_stat,
            disk_stats,
            few: None,
            net_dev: Source::optional("/proc/net/dev"),
            pressure: [Resource::Cpu, Resource::Io, Resource::Memory].map(pressure),
            failing: Failing::default(),
            whole: BTreeMap::new(),
            loopback: BTreeMap::new(),
            groups: Vec::new(),
            hierarchies: None,
            search_at_ns: Some(0),
            with_resident: true,
            with_weights: false,
            swapped_pages: 0,
            sense,
            choice,
        })
    }

    /// Samples exactly these disks and groups of apps from now on, each given by its directory and name: for callers
    /// that watch groups. Without them nothing is searched for, and what processes have in memory is not
    /// summed up, which costs more than all else. What the groups read and write is counted instead.
    pub fn look_at(&mut self, devices: Vec<String>, groups: impl Iterator<Item = (PathBuf, String)>) {
        if self.choice.devices != devices {
            self.choice.devices = devices;
            self.few = None;
        }
        let mut known: BTreeMap<PathBuf, Group> =
            self.groups.drain(..).map(|group| (group.dir.clone(), group)).collect();
        self.groups = groups
            .map(|(dir, name)| {
                let known = known.remove(&dir).map(|group| (group.io, group.weight));
                let (io, weight) = known.unwrap_or_default();
                Group { name, dir, members: Vec::new(), io: Some(io.unwrap_or_default()), weight }
            })
            .collect();
        self.search_at_ns = None;
        self.with_resident = false;
    }

    /// Whether anonymous memory and swap of each app are sampled too, at most once a second: that reads a file of each
    /// process of an app that has run meanwhile.
    pub fn weigh_apps(&mut self, wanted: bool) {
        self.with_weights = wanted;
    }

    /// The machine at this moment.
    ///
    /// # Errors
    /// When none of processors, memory, paging and disks can be read: /proc is gone.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        let at_ns = clock_ns(ClockId::Monotonic);
        let Self { sense, failing, pressure: [cpu, io, memory], .. } = &mut *self;
        let mut stall = |source: &mut Source| source.read(sense, failing, parse_pressure).map(stall_totals);
        let pressure = PressureTotals { cpu: stall(cpu), io: stall(io), memory: stall(memory) };
        let cpu = self.stat.read(&self.sense, &mut self.failing, parse_cpu_stat);
        let memory = self.mem_info.read(&self.sense, &mut self.failing, parse_mem_info);
        let paging = self.vm_stat.read(&self.sense, &mut self.failing, parse_paging);
        if let Some(paging) = &paging {
            self.swapped_pages = paging.swap_in_pages.saturating_add(paging.swap_out_pages);
        }
        let apps = self.apps(at_ns);
        let (disks, nets) = (self.disks(), self.nets());
        if cpu.is_none() && memory.is_none() && paging.is_none() && disks.is_none() {
            Kept::open(&self.sense, "/proc/stat").and_then(|mut kept| kept.parse(parse_cpu_stat))?;
        }
        let mut unread = Unread::default();
        let parts = [
            (Part::Cpu, cpu.is_none()),
            (Part::Memory, memory.is_none()),
            (Part::Paging, paging.is_none()),
            (Part::Disks, disks.is_none()),
            (Part::Nets, nets.is_none()),
        ];
        parts.into_iter().filter(|(_, is_lacking)| *is_lacking).for_each(|(part, _)| unread.add(part));
        Ok(Snapshot {
            at_ns,
            wall_unix_ms: clock_ns(ClockId::Realtime) / 1_000_000,
            cpu: cpu.unwrap_or_default(),
            memory: memory.unwrap_or_default(),
            paging: paging.unwrap_or_default(),
            pressure,
            disks: disks.unwrap_or_default(),
            nets: nets.unwrap_or_default(),
            apps,
            unread,
        })
    }

    /// Files that could not be read or understood when they were read last, a sentence each. What this kernel lacks is
    /// none of them.
    pub fn failing(&self) -> impl Iterator<Item = &str> {
        self.failing.sentences()
    }

    /// The chosen disks at this moment, and nothing else: for callers that wait for requests between two snapshots.
    /// `None` when they cannot be read.
    pub fn disks(&mut self) -> Option<Vec<DiskTotals>> {
        if (1..=ASKED_ONE_BY_ONE).contains(&self.choice.devices.len())
            && let Some(disks) = self.few_disks()
        {
            return Some(disks);
        }
        let mut disks = self.disk_stats.read(&self.sense, &mut self.failing, parse_disk_stats)?;
        if self.choice.devices.is_empty() && self.search_at_ns.is_some() {
            let (sense, whole) = (&self.sense, &mut self.whole);
            disks.retain(|disk| {
                let used = disk.read.requests > 0 || disk.write.requests > 0;
                used && remembered(whole, &disk.name, || {
                    sense.path(Path::new("/sys/block").join(sysfs_name(&disk.name))).exists()
                })
            });
        } else {
            disks.retain(|disk| self.choice.devices.contains(&disk.name));
        }
        Some(disks)
    }

    /// What the chosen devices say themselves; `None` when one of them says nothing: it is gone, or the name is
    /// another's by now, which the next time finds out, or cannot be understood. The file of all devices has the same.
    fn few_disks(&mut self) -> Option<Vec<DiskTotals>> {
        let mut files = self.few.take().or_else(|| self.stat_files())?;
        let mut totals = Vec::with_capacity(files.len());
        for StatFile { name, file, in_flight } in &mut files {
            let mut disk = file.parse(|bytes| parse_stat_of(name, bytes)).ok()?;
            disk.in_flight_write_requests = in_flight.read(&self.sense, &mut self.failing, parse_writes_in_flight);
            totals.push(disk);
        }
        self.few = Some(files);
        Some(totals)
    }

    /// The `stat` files of the chosen devices; `None` when one has none.
    fn stat_files(&self) -> Option<Vec<StatFile>> {
        let of = |name: &String| {
            let dir = Path::new("/sys/class/block").join(sysfs_name(name));
            let in_flight = Source::optional(dir.join("inflight"));
            let file = Kept::open(&self.sense, dir.join("stat")).ok()?;
            Some(StatFile { name: name.clone(), file, in_flight })
        };
        self.choice.devices.iter().map(of).collect()
    }

    fn nets(&mut self) -> Option<Vec<NetTotals>> {
        let mut nets = self.net_dev.read(&self.sense, &mut self.failing, parse_net_devices)?;
        let (sense, loopback) = (&self.sense, &mut self.loopback);
        nets.retain(|net| {
            // An interface without flags is about to go; what it moved is no loopback.
            let is_loopback = || sense.is_loopback(&net.name).ok().flatten().unwrap_or(false);
            let used = net.receive_packets > 0 || net.transmit_packets > 0;
            used && !remembered(loopback, &net.name, is_loopback)
        });
        Some(nets)
    }
}

/// What the map knows of `name`, found out at the first time.
fn remembered(known: &mut BTreeMap<String, bool>, name: &str, find_out: impl FnOnce() -> bool) -> bool {
    match known.get(name) {
        Some(&answer) => answer,
        None => *known.entry(name.to_owned()).or_insert_with(find_out),
    }
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let whole_ns = u64::try_from(time.tv_sec).unwrap_or(0).saturating_mul(1_000_000_000);
    whole_ns.saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

fn stall_totals(pressure: Pressure) -> StallTotals {
    StallTotals { some_us: pressure.some.total_us, full_us: pressure.full.map(|full| full.total_us) }
}

#[cfg(test)]
mod tests;
