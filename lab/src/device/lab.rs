//! The lab of one machine: create, list, change and remove devices.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use brisk_act::{BlockQueue, Journal, Paths};
use brisk_core::causes::in_one_line;
use brisk_profile::lab_client::control::{Commit, Connection, FaultOrder, ServerCommand, ServerReply, Status};
use brisk_profile::lab_client::state::{Record, SCHEMA_VERSION, StateDir, Transport};
use brisk_sense::{Capability, Identity, Sense};
use rustix::fs::StatVfsMountFlags;
use serde::Serialize;

use crate::device::backend::{Backend, block_devices};
use crate::device::error::{Error, Result, io as failed};
use crate::device::store::PAGE_BYTES;
use crate::device::teardown::Machine;
use crate::device::{calibrate, loopdev, preset, teardown, ublk};

/// Smallest device: file systems and the model's blocks need some space.
pub const SIZE_BYTES_MIN: u64 = 16 << 20;
/// Memory that stays free.
const RESERVE_BYTES: u64 = 256 << 20;
/// Fewest and most driver tags that a loop device takes.
const DRIVER_TAGS: std::ops::RangeInclusive<u32> = 4..=128;
/// Schedulers that may be modules which are not loaded yet.
const MODULES: [&str; 4] = ["bfq", "kyber", "mq-deadline", "smartio"];
const MAX_SECTORS_KB: u64 = 512;
const READ_AHEAD_KB: u64 = 128;

/// Parameters of a new device.
#[derive(Debug, Clone)]
pub struct NewDevice {
    /// A built-in preset's name, or the path of a file.
    pub preset: String,
    /// Parameters that override the preset, by name.
    pub set: Vec<(String, String)>,
    /// Size, a multiple of 4 KiB.
    pub size_bytes: u64,
    /// Seed of the losses of power cuts without their own seed.
    pub seed: u64,
    /// Whether replies are timed by the model from the start.
    pub timed: bool,
    /// I/O scheduler; by default mq-deadline where the kernel has it, as on phones.
    pub scheduler: Option<String>,
    /// Connection to the block layer.
    pub backend: Backend,
    /// The command that runs [`crate::device::serve`]; the directory is appended.
    pub server: Vec<String>,
    /// The command that runs [`Lab::down`] with force; the number of the device is appended.
    pub take_down: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    pub id: u32,
    /// Block device; absent while it is being made, and after it was detached externally.
    pub device: Option<PathBuf>,
    pub preset: String,
    pub size_bytes: u64,
    pub server_pid: Option<u32>,
    /// Status, when the server answers.
    pub status: Option<Status>,
    /// Why the server does not answer.
    pub trouble: Option<String>,
}

/// Side effects of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// A message for each leftover that was removed.
    pub leftovers: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Lab {
    pub(crate) run_dir: PathBuf,
    pub(crate) sense: Sense,
    pub(crate) paths: Paths,
}

impl Lab {
    /// The lab with state in `run_dir`, normally `/run/brisk`. Labs of different directories are independent.
    #[must_use]
    pub fn new(run_dir: &Path) -> Self {
        let run_dir = std::path::absolute(run_dir).unwrap_or_else(|_| run_dir.to_owned());
        Self { paths: Paths::with_run_dir(&run_dir), run_dir, sense: Sense::default() }
    }

    /// Checks the preconditions of a new device: rights, device files, size, memory, preset.
    ///
    /// # Errors
    /// The first precondition that fails, with the remedy.
    pub fn check(&self, new: &NewDevice) -> Result<()> {
        self.check_all(new).map(drop)
    }

    fn check_all(&self, new: &NewDevice) -> Result<Transport> {
        let size_bytes = new.size_bytes;
        let size_error = |reason: &str| Error::Size { size_bytes, reason: reason.to_owned() };
        if size_bytes < SIZE_BYTES_MIN {
            return Err(size_error("at least 16 MiB"));
        }
        if !size_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(size_error("a multiple of 4 KiB"));
        }
        let preset = preset::load(&new.preset, &new.set)?;
        drop(preset);
        // Mounts, attached devices, and their settings.
        self.sense.require_rights("the lab", &[Capability::SysAdmin])?;
        if let Some(name) = &new.scheduler {
            self.check_scheduler(name)?;
        }
        let sysfs = self.sense.path("/sys");
        if rustix::fs::statvfs(&sysfs).is_ok_and(|about| about.f_flag.contains(StatVfsMountFlags::RDONLY)) {
            return Err(Error::ReadOnly { path: sysfs });
        }
        let way = new.backend.choose()?;
        let memory = self.sense.mem_info()?;
        let available_bytes = memory.available_bytes.unwrap_or(memory.free_bytes);
        if size_bytes.saturating_add(RESERVE_BYTES) > available_bytes {
            return Err(Error::Memory { size_bytes, available_bytes, reserve_bytes: RESERVE_BYTES });
        }
        Ok(way)
    }

    /// Checks that the kernel has the scheduler. The kernel lists it for devices that exist; one of its own that is a
    /// module may be loaded on request and is not listed before.
    fn check_scheduler(&self, name: &str) -> Result<()> {
        let mut has = BTreeSet::new();
        for device in self.sense.block_device_names()? {
            has.extend(self.sense.block_queue(&device).map(|queue| queue.schedulers.available).unwrap_or_default());
        }
        let may_be_a_module =
            MODULES.contains(&name) && self.sense.sysctl("kernel.modprobe").is_ok_and(|path| path.is_some());
        if has.is_empty() || has.contains(name) || may_be_a_module {
            return Ok(());
        }
        Err(Error::NoScheduler { name: name.to_owned(), has: has.into_iter().collect() })
    }

    /// Creates a device and returns its status; reports steps to `progress`.
    ///
    /// # Errors
    /// When a check fails, or the device cannot be created; it is then removed.
    pub fn up(&self, new: &NewDevice, mut progress: impl FnMut(&str)) -> Result<(Status, Repaired)> {
        let way = self.check_all(new)?;
        let repaired = self.repair(&mut progress)?;
        progress("starting the server");
        brisk_act::make_run_dir(&self.run_dir).map_err(failed(format!("make {}", self.run_dir.display())))?;
        let (dir, lock) = StateDir::create(&self.run_dir)?;
        let made = self.make(new, way, &dir, lock, &mut progress);
        match made {
            Ok(status) => Ok((status, repaired)),
            Err(error) => {
                // The first error is returned; leftovers are removed by the next command.
                let _ = teardown::take_down(self.machine(), &dir, true);
                Err(error)
            }
        }
    }

    fn make(
        &self,
        new: &NewDevice,
        way: Transport,
        dir: &StateDir,
        lock: File,
        progress: &mut impl FnMut(&str),
    ) -> Result<Status> {
        let preset_name = if preset::is_path(&new.preset) {
            let path = std::path::absolute(&new.preset).map_err(failed("find the preset's file"))?;
            path.to_string_lossy().into_owned()
        } else {
            new.preset.clone()
        };
        let mut take_down = new.take_down.clone();
        take_down.push(dir.id.to_string());
        let mut record = Record {
            schema_version: SCHEMA_VERSION,
            identity: Some(Identity {
                kind: preset::kind_of_preset(&preset_name).to_owned(),
                model: preset_name.clone(),
                is_lab: true,
                firmware: None,
            }),
            preset: preset_name,
            set: new.set.clone(),
            size_bytes: new.size_bytes,
            seed: new.seed,
            take_down,
            server_pid: None,
            way,
            loop_name: None,
            file_system: None,
            ublk_number: None,
            ready: false,
        };
        dir.save(&record)?;
        let (server, mut client) = start_server(new, dir, lock)?;
        record.server_pid = Some(server.id());
        dir.save(&record)?;
        client.answer().map_err(|error| {
            let (why, log) = (in_one_line(&error), dir.log_tail());
            let reason = if log.is_empty() { why } else { format!("{why}; its log ends: {log}") };
            Error::Server { id: dir.id, reason }
        })?;
        client.order(&ServerCommand::Fixed { service_ns: 0 })?;

        progress("making the block device");
        let name = match way {
            Transport::Fuse => attach_loop_device(dir, &mut record)?,
            Transport::Ublk { mark } => self.start_ublk_device(mark, dir, &mut record, server.id())?,
        };
        let tags = self.set_up_queue(new, way, dir, server.id(), &name)?;

        progress("calibrating");
        let node = loopdev::node(&name);
        let shown = calibrate::shown_depth(&mut client, &node, new.size_bytes, tags)?;
        let overhead = calibrate::overhead(&mut client, &node, new.size_bytes)?;
        let device = node.display().to_string();
        client.order(&ServerCommand::Commit(Commit {
            device,
            overhead,
            depth_requests: (tags, shown),
            timed: new.timed,
        }))?;
        record.ready = true;
        dir.save(&record)?;
        Ok(client.status()?)
    }

    /// Starts the block device of the server's ublk device; returns its kernel name.
    fn start_ublk_device(&self, mark: u64, dir: &StateDir, record: &mut Record, server_pid: u32) -> Result<String> {
        let name = ublk::Control::open()?.start(mark, server_pid)?.name();
        record.ublk_number = Some(self.sense.block_device(&name)?.device);
        dir.save(record)?;
        Ok(name)
    }

    /// Sets the queue like a flash device's and returns the number of driver tags, which is fixed for a ublk device.
    /// The changes are journaled for the server's process: removing the device, or the repair after the server's death,
    /// restores them.
    fn set_up_queue(
        &self,
        new: &NewDevice,
        way: Transport,
        dir: &StateDir,
        server_pid: u32,
        name: &str,
    ) -> Result<u32> {
        let mut journal = Journal::of_process(&dir.journal_name(), server_pid, &self.paths)?;
        let mut queue = BlockQueue::new(&self.paths.sysfs, name);
        let depth = preset::load(&new.preset, &new.set)?.queue_depth_requests();
        let set = (|| {
            queue.set_max_sectors_kb(&mut journal, MAX_SECTORS_KB)?;
            queue.set_read_ahead_kb(&mut journal, READ_AHEAD_KB)?;
            let tags = match way {
                Transport::Fuse => {
                    queue.set_driver_tags(&mut journal, depth.clamp(*DRIVER_TAGS.start(), *DRIVER_TAGS.end()))?
                }
                Transport::Ublk { .. } => depth.min(ublk::DEPTH_MAX),
            };
            let offered = queue.schedulers()?;
            let usual = ["mq-deadline", "none"].into_iter().find(|s| offered.iter().any(|o| o == s)).unwrap_or("none");
            queue.set_scheduler(&mut journal, new.scheduler.as_deref().unwrap_or(usual))?;
            Ok(tags)
        })();
        journal.hand_over();
        set
    }

    /// All devices, by number, with their status. Does not repair dead ones. Without the right to read the lab's
    /// directory the list is empty; [`Self::check_access`] distinguishes that case.
    #[must_use]
    pub fn list(&self) -> Vec<Listed> {
        StateDir::all(&self.run_dir).unwrap_or_default().iter().map(|dir| self.listed(dir)).collect()
    }

    /// Checks that this process may read the lab's directory.
    ///
    /// # Errors
    /// When it may not: the directory belongs to root.
    pub fn check_access(&self) -> Result<()> {
        Ok(StateDir::all(&self.run_dir).map(drop)?)
    }

    fn listed(&self, dir: &StateDir) -> Listed {
        let record = dir.load();
        let carriers = block_devices(&self.sense, dir).unwrap_or_default();
        let status = match dir.lock_if_free() {
            Ok(Some(_)) => Err("the server is dead; the next `brisk lab up` or `brisk lab down` clears up".to_owned()),
            _ => Connection::open(&dir.socket())
                .and_then(|mut client| client.status())
                .map_err(|error| in_one_line(&error)),
        };
        Listed {
            id: dir.id,
            device: carriers.first().map(|name| loopdev::node(name)),
            preset: record.as_ref().map_or_else(String::new, |r| r.preset.clone()),
            size_bytes: record.as_ref().map_or(0, |r| r.size_bytes),
            server_pid: record.as_ref().and_then(|r| r.server_pid),
            trouble: match (&record, &status) {
                (_, Err(trouble)) => Some(trouble.clone()),
                (Some(r), Ok(_)) if !r.ready => Some("is being made".to_owned()),
                (_, Ok(_)) if carriers.is_empty() => {
                    Some("its block device or its mount was removed externally".to_owned())
                }
                _ => None,
            },
            status: status.ok(),
        }
    }

    /// Changes parameters of the model, its timing, resets the counters, in this order; returns the new status.
    ///
    /// # Errors
    /// When there is no such device, or the server refuses a parameter; no parameter is then changed.
    pub fn change(
        &self,
        device: &str,
        parameters: &[(String, String)],
        timed: Option<bool>,
        reset_counters: bool,
    ) -> Result<Status> {
        let mut client = Connection::open(&self.find(device)?.socket())?;
        if !parameters.is_empty() || timed.is_some() || reset_counters {
            client.order(&ServerCommand::Set { parameters: parameters.to_vec(), timed, reset_counters })?;
        }
        Ok(client.status()?)
    }

    /// Injects or clears faults. Returns the number of lost pages of a power cut.
    ///
    /// # Errors
    /// When there is no such device, or the fault does not fit it.
    pub fn fault(&self, device: &str, fault: FaultOrder) -> Result<Option<u64>> {
        let mut client = Connection::open(&self.find(device)?.socket())?;
        match client.order(&ServerCommand::Fault(fault))? {
            ServerReply::PowerCut { lost_pages } => Ok(Some(lost_pages)),
            _ => Ok(None),
        }
    }

    /// Seed of the device.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn seed(&self, device: &str) -> Result<u64> {
        Ok(self.find(device)?.load().map_or(0, |record| record.seed))
    }

    /// Removes a device. Without `force`, a device in use is refused; with it, its file systems are unmounted lazily
    /// and its swap is disabled. Returns messages on obstacles.
    ///
    /// # Errors
    /// When there is no such device, it is in use, or a part cannot be removed.
    pub fn down(&self, device: &str, force: bool) -> Result<Vec<String>> {
        teardown::take_down(self.machine(), &self.find(device)?, force)
    }

    /// Removes devices with dead servers, and restores queue settings of dead processes of this lab.
    ///
    /// # Errors
    /// When a part cannot be removed or restored.
    pub fn repair(&self, progress: &mut impl FnMut(&str)) -> Result<Repaired> {
        let mut leftovers = Vec::new();
        for dir in StateDir::all(&self.run_dir)? {
            if dir.lock_if_free().is_ok_and(|lock| lock.is_some()) {
                progress("clearing up after a dead server");
                let words = teardown::take_down(self.machine(), &dir, true)?;
                leftovers.push(format!("device {} had lost its server and was removed", dir.id));
                leftovers.extend(words);
            }
        }
        brisk_act::restore_leftovers(&self.paths)?;
        Ok(Repaired { leftovers })
    }

    fn machine(&self) -> Machine<'_> {
        Machine { sense: &self.sense, paths: &self.paths }
    }

    /// Finds a device by number or block device: `2`, `loop3` or `/dev/ublkb0`. A device that lost its loop device or
    /// its mount is found by the name that it had, so that what is left of it can be removed.
    fn find(&self, device: &str) -> Result<StateDir> {
        let name = device.strip_prefix("/dev/").unwrap_or(device);
        for dir in StateDir::all(&self.run_dir)? {
            let carries = || block_devices(&self.sense, &dir).unwrap_or_default();
            let had = || dir.load().is_some_and(|record| teardown::had_loop_device(&self.sense, &record, name));
            if dir.id.to_string() == name || carries().iter().any(|carrier| carrier == name) || had() {
                return Ok(dir);
            }
        }
        Err(Error::NoSuchDevice(device.to_owned()))
    }
}

/// Attaches a loop device to the server's file; returns its kernel name.
fn attach_loop_device(dir: &StateDir, record: &mut Record) -> Result<String> {
    let backing = dir.backing_file();
    let file =
        File::options().read(true).write(true).open(&backing).map_err(failed(format!("open {}", backing.display())))?;
    let about = file.metadata().map_err(failed(format!("examine {}", backing.display())))?;
    record.file_system = Some(kernel_device_number(about.dev()));
    dir.save(record)?;
    let name = loopdev::attach(file.as_fd())?;
    record.loop_name = Some(name.clone());
    dir.save(record)?;
    Ok(name)
}

/// Converts a device number of stat(2) to the encoding of the loop driver (huge_encode_dev).
fn kernel_device_number(dev: u64) -> u64 {
    let (major, minor) = (u64::from(rustix::fs::major(dev)), u64::from(rustix::fs::minor(dev)));
    (minor & 0xff) | major << 8 | (minor & !0xff) << 12
}

/// Starts the server with lock, socket and log as its standard descriptors.
fn start_server(new: &NewDevice, dir: &StateDir, lock: File) -> Result<(Child, Connection)> {
    let started = (|| {
        let (ours, servers) = UnixStream::pair()?;
        let log = File::options().create(true).append(true).open(dir.log())?;
        let (program, arguments) = new.server.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let child = Command::new(program)
            .args(arguments)
            .arg(dir.path())
            .stdin(Stdio::from(lock))
            .stdout(Stdio::from(OwnedFd::from(servers)))
            .stderr(Stdio::from(log))
            .spawn()?;
        Ok((child, ours))
    })();
    let (child, ours) = started.map_err(|error: std::io::Error| failed("start the lab server")(error))?;
    Ok((child, Connection::over(ours)?))
}
