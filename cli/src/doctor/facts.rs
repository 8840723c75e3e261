//! Facts about the machine, without judgement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brisk_core::snapshot::MemoryLevels;
use brisk_sense::{
    AppGroups, BlockQueue, Capability, Cgroups, DalvikHeap, PowerSupply, PowercapZone, ProcessStatus, Resource, Sense,
    Swap, WearTenths, Zram, Zswap,
};

use brisk_api::init::Init;
use brisk_api::{Client, LackingRight, MemoryProgram, Resting, SOCKET, Status, dirs};
use brisk_daemon::{killers, learned, rights};

use super::probe::{self, Answer};

/// A value, or the reason why it is unavailable.
pub(crate) type Known<T> = Result<T, String>;

/// A file system and the disk under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    /// File system type.
    pub(crate) fs_type: String,
    /// Kernel name of the whole disk; `None` where there is no single one.
    pub(crate) disk: Option<String>,
}

/// The daemon that runs, as far as it says what it does without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    pub(crate) engines: Vec<String>,
    pub(crate) resting: Vec<Resting>,
    pub(crate) trouble: Vec<String>,
}

/// An eMMC or SD card that is a disk of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) name: String,
    pub(crate) is_sd: bool,
    /// Wear of its two types of cells; `None` where it does not say.
    pub(crate) life_time: Option<(WearTenths, WearTenths)>,
}

/// What Android tells of its apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Android {
    /// Packages that it lists.
    pub(crate) packages: Known<Option<usize>>,
    /// Whether it lists the processes in front.
    pub(crate) shows_front: Known<bool>,
}

/// All that the judgement may use.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) kernel_release: Known<String>,
    pub(crate) status: Known<ProcessStatus>,
    pub(crate) cpus: Known<u32>,
    pub(crate) memory: Known<MemoryLevels>,
    /// Names in /proc/diskstats.
    pub(crate) counted_devices: Known<Vec<String>>,
    /// Disks that queue requests, without loop devices.
    pub(crate) queues: Known<Vec<BlockQueue>>,
    /// Names of those that are flash, or disks of a virtual machine.
    pub(crate) flash: Known<Vec<String>>,
    pub(crate) home: Known<Home>,
    pub(crate) pressure_cpu: Known<()>,
    pub(crate) pressure_io: Known<()>,
    pub(crate) pressure_memory: Known<()>,
    /// A window of 1 s, which needs CAP_SYS_RESOURCE.
    pub(crate) trigger_short: Answer,
    /// A window of 2 s, which does not from Linux 6.4 on.
    pub(crate) trigger_long: Answer,
    pub(crate) cgroups: Known<Cgroups>,
    /// The hierarchy in which apps have groups, if any is mounted.
    pub(crate) app_groups: Known<Option<AppGroups>>,
    /// `None` where the system is not Android.
    pub(crate) android: Option<Android>,
    /// Other programs that act when memory is short.
    pub(crate) memory_programs: Known<Vec<MemoryProgram>>,
    /// Limits of the heaps of apps; `None` where the system is not Android.
    pub(crate) dalvik_heap: Known<Option<DalvikHeap>>,
    /// The most memory that each app has needed, by its id; not read where the system is not Android.
    pub(crate) needs_bytes: Known<BTreeMap<String, u64>>,
    /// The bits of lru_gen/enabled, if the kernel has it.
    pub(crate) lru_gen: Known<Option<u32>>,
    pub(crate) swaps: Known<Vec<Swap>>,
    pub(crate) zrams: Known<Vec<Zram>>,
    /// What compresses pages before they go to a swap area, while it is on.
    pub(crate) zswap: Known<Option<Zswap>>,
    /// What eMMC and SD cards say of their wear.
    pub(crate) cards: Known<Vec<Card>>,
    pub(crate) io_uring: Answer,
    /// kernel.io_uring_disabled, if the kernel has it.
    pub(crate) io_uring_disabled: Option<String>,
    pub(crate) pidfd: Answer,
    pub(crate) fanotify: Answer,
    pub(crate) madvise_page_out: Answer,
    pub(crate) madvise_will_need: Answer,
    pub(crate) bpf_tracing: Answer,
    pub(crate) btf: bool,
    /// kernel.modules_disabled; `None` for a kernel without modules.
    pub(crate) modules_disabled: Option<String>,
    /// Where `brisk-lab` is installed.
    pub(crate) lab_program: Option<PathBuf>,
    pub(crate) powercap: Known<Vec<PowercapZone>>,
    pub(crate) supplies: Known<Vec<PowerSupply>>,
    /// How services are managed.
    pub(crate) init: Init,
    /// Rights that the service lacks; without a daemon that answers, those that this process does.
    pub(crate) lacking_rights: Vec<LackingRight>,
    /// `None` where no daemon answers this user. Its service may allow less than this process may.
    pub(crate) daemon: Option<Running>,
}

impl Facts {
    /// Reads this machine.
    pub(crate) fn gather(sense: &Sense) -> Self {
        let memory_pressure = sense.path("/proc/pressure/memory");
        let dalvik_heap = known(sense.dalvik_heap());
        let daemon = running();
        Self {
            kernel_release: known(sense.kernel_release()),
            status: known(sense.process_status()),
            cpus: known(sense.cpus_online()),
            memory: known(sense.mem_info()),
            counted_devices: known(sense.disk_stats().map(|disks| disks.into_iter().map(|disk| disk.name).collect())),
            queues: queues(sense),
            flash: flash(sense),
            home: home(sense),
            pressure_cpu: known(sense.pressure(Resource::Cpu).map(drop)),
            pressure_io: known(sense.pressure(Resource::Io).map(drop)),
            pressure_memory: known(sense.pressure(Resource::Memory).map(drop)),
            trigger_short: probe::pressure_trigger(&memory_pressure, 1_000_000),
            trigger_long: probe::pressure_trigger(&memory_pressure, 2_000_000),
            cgroups: known(sense.cgroups()),
            app_groups: known(sense.app_groups()),
            android: sense.is_android().then(|| Android {
                packages: known(sense.package_count()),
                shows_front: known(sense.front_processes().map(|front| front.is_some())),
            }),
            memory_programs: known(killers::running(sense)),
            needs_bytes: match &dalvik_heap {
                Ok(Some(_)) => learned::needs(&sense.path(dirs::learned(Path::new(dirs::RUN)))),
                _ => Ok(BTreeMap::new()),
            },
            dalvik_heap,
            lru_gen: known(sense.lru_gen()),
            swaps: known(sense.swaps()),
            zrams: known(sense.zrams()),
            zswap: known(sense.zswap()),
            cards: cards(sense),
            io_uring: probe::io_uring(),
            io_uring_disabled: sense.sysctl("kernel.io_uring_disabled").ok().flatten(),
            pidfd: probe::pidfd(),
            fanotify: probe::fanotify(),
            madvise_page_out: probe::madvise_page_out(),
            madvise_will_need: probe::madvise_will_need(),
            bpf_tracing: probe::bpf_tracing(),
            btf: sense.path("/sys/kernel/btf/vmlinux").exists(),
            modules_disabled: sense.sysctl("kernel.modules_disabled").ok().flatten(),
            lab_program: brisk_command::lab::program(),
            powercap: known(sense.powercap_zones()),
            supplies: known(sense.power_supplies()),
            init: Init::of(&sense.path("/")),
            lacking_rights: daemon.as_ref().map_or_else(|| rights::lacking(sense), |(_, rights)| rights.clone()),
            daemon: daemon.map(|(running, _)| running),
        }
    }

    /// Whether this process has `capability`; false when that is unavailable.
    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.status.as_ref().is_ok_and(|status| status.has(capability))
    }
}

/// Keeps the value, or the words of the error and its cause.
fn known<T>(outcome: Result<T, brisk_sense::Error>) -> Known<T> {
    outcome.map_err(|error| format!("{:#}", anyhow::Error::from(error)))
}

fn running() -> Option<(Running, Vec<LackingRight>)> {
    let status: Status =
        Client::connect(&brisk_api::run_dir(None).join(SOCKET)).ok()?.call("GetStatus", &[], "status").ok()?;
    let Status { pid, engines, resting, trouble, lacking_rights, .. } = status;
    Some((Running { pid, engines, resting, trouble }, lacking_rights))
}

fn queues(sense: &Sense) -> Known<Vec<BlockQueue>> {
    let mut queues = Vec::new();
    let storage = known(sense.storage())?;
    for device in storage.devices() {
        let emulated = ["loop", "ram", "zram", "nbd"].iter().any(|driver| device.name.starts_with(driver));
        let is_disk = storage.below_device(&device.name).disks.contains(&device.name);
        if emulated || device.size_bytes == 0 || !is_disk {
            continue;
        }
        let queue = known(sense.block_queue(&device.name))?;
        if queue.depth_requests.is_some() {
            queues.push(queue);
        }
    }
    Ok(queues)
}

fn flash(sense: &Sense) -> Known<Vec<String>> {
    let mut names = Vec::new();
    for queue in queues(sense)? {
        let disk = known(sense.block_device(&queue.name))?;
        if known(sense.medium(&disk))?.is_like_flash() {
            names.push(queue.name);
        }
    }
    Ok(names)
}

fn cards(sense: &Sense) -> Known<Vec<Card>> {
    let mut cards = Vec::new();
    for queue in queues(sense)? {
        let disk = known(sense.block_device(&queue.name))?;
        let Some(mmc) = disk.mmc else { continue };
        let is_sd = mmc.kind.as_deref() == Some("SD");
        cards.push(Card { name: disk.name, is_sd, life_time: mmc.life_time });
    }
    Ok(cards)
}

/// Where the data of the person lies: what `brisk bench` measures without a path.
fn home(sense: &Sense) -> Known<Home> {
    let wanted = brisk_bench::environment::data_home(|name| std::env::var_os(name), |path| path.is_dir());
    let path = std::fs::canonicalize(&wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
    let mount = known(sense.mount_of(Path::new(&path)))?;
    let mount = mount.ok_or_else(|| format!("no mount holds {}: mount /proc of this root", path.display()))?;
    let stack = known(sense.storage())?.below_path(&path);
    Ok(Home { path, fs_type: mount.fs_type, disk: stack.sole_disk().map(str::to_owned) })
}
