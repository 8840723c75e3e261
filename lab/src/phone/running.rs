//! A running phone and its operations.
//!
//! A phone is a lab device with a mounted image, the mounts that programs need, and a session bus. brisk and the
//! display server run outside of it, so that only apps access its flash. The file system is mounted in this mount
//! namespace, because measurements name and evict its files.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::device::Status;
use crate::launch::App as Launch;
use crate::results::PhoneFacts;
use brisk_sense::Sense;
use rustix::mount::{MountFlags, mount};

use crate::phone::catalogue::{App, Catalogue};
use crate::phone::error::{Error, Result, io as failed};
use crate::phone::group::Group;
use crate::phone::image::{Fnv, check_image, steps::tool};
use crate::phone::memory::{MemoryGroup, MemorySpec, SwapKind};
use crate::phone::phones::{NewPhone, Phones};
use crate::phone::state::{MemoryRecord, Record, StateDir};
use crate::phone::variant::Variant;
use crate::phone::{bus, extents, inside, mounts, swap_area, teardown};

/// The file system grows in groups of this size; a smaller rest of a device stays unused.
const GROUP_BYTES: u64 = 128 << 20;
/// Attempts to open a device exclusively, and the time between two.
const ATTEMPTS: u32 = 10;
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Name of the session bus's memory group, and of that of commands that are no app.
const BUS_GROUP: &str = "bus";
const OTHERS_GROUP: &str = "others";

/// A running phone. Unless kept, it is stopped when dropped.
#[derive(Debug)]
pub struct Phone {
    pub(crate) phones: Phones,
    pub(crate) dir: StateDir,
    pub(crate) record: Record,
    owner: Option<File>,
}

impl Phone {
    /// A phone of which only the directory exists; it is stopped when dropped before it runs.
    pub(crate) fn unfinished(phones: Phones, dir: StateDir, record: Record, owner: Option<File>) -> Self {
        Self { phones, dir, record, owner }
    }

    /// Lets it stay when dropped.
    pub(crate) fn keep(&mut self) {
        self.owner = None;
    }

    pub(crate) fn make(&mut self, new: &NewPhone, stop: &AtomicBool, progress: &mut dyn FnMut(&str)) -> Result<()> {
        let check = || if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) };
        self.save()?;
        let mut of_run_dir = Fnv::default();
        of_run_dir.add(&self.phones.run_dir.to_string_lossy());
        // Control groups of phones in different run directories have different names.
        let group = Group::make(&format!("brisk-phone-{}-{:08x}", self.dir.id, of_run_dir.0 as u32))?;
        self.record.group = Some(group.dir().to_owned());
        self.save()?;
        if let Some(spec) = new.memory {
            self.limit_memory(spec)?;
        }
        let (status, _) = self.phones.lab.up(&new.device(self.record.mark), &mut *progress)?;
        let device = PathBuf::from(status.device);
        self.record.device = Some(device.clone());
        self.save()?;
        check()?;
        extents::copy(&new.image, &device, stop, progress)?;
        if new.size_bytes >= check_image(&new.image)? + GROUP_BYTES {
            progress("growing the file system");
            let resize2fs = tool("resize2fs", "fits the image to the device", "e2fsprogs")?;
            though_claimed(|| run(Command::new(&resize2fs).arg(&device), &new.image))?;
        }
        check()?;
        progress("mounting");
        self.mount()?;
        if let Some(spec) = new.memory {
            progress("making swap");
            self.make_swap(spec)?;
        }
        self.write_out()?;
        self.set_timed(true)?;
        self.record.ready = true;
        self.save()
    }

    /// Mounts the root and the mounts around it, and starts the bus.
    pub(crate) fn mount(&mut self) -> Result<()> {
        let (device, root) = (self.device()?.to_owned(), self.dir.root());
        // Mount options as Android's for data; noinit_itable avoids background initialisation after growth.
        let flags = MountFlags::NOATIME | MountFlags::NODEV | MountFlags::NOSUID;
        let what = format!("mount {} on {}", device.display(), root.display());
        though_claimed(|| mount(&device, &root, "ext4", flags, c"noinit_itable").map_err(failed(what.clone())))?;
        self.mount_support(&root)
    }

    /// Mounts what programs need around a root, and starts a bus in it.
    pub(crate) fn mount_support(&mut self, root: &Path) -> Result<()> {
        mounts::mount_all(root)?;
        // Of version 2 a group with limited children has no processes of its own.
        let group = self.group().child(BUS_GROUP)?;
        if let Some(pid) = bus::start(root, &group, &self.dir.bus_log(), self.record.keep)? {
            if let Some(memory) = self.memory_group() {
                memory.child(BUS_GROUP)?.add(pid)?;
            }
            self.record.buses.push(pid);
            self.save()?;
        }
        Ok(())
    }

    /// Makes the memory group.
    fn limit_memory(&mut self, spec: MemorySpec) -> Result<()> {
        let name = self.group().dir().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let group = MemoryGroup::place(&name)?;
        self.record.memory = Some(MemoryRecord { spec, group: group.clone(), file: None, zram: None });
        self.save()?;
        let group = MemoryGroup::make_parent(&group)?;
        group.set_limit(Some(spec.limit_bytes))?;
        group.child(BUS_GROUP)?;
        group.child(OTHERS_GROUP)?;
        Ok(())
    }

    /// Makes the swap areas; each is recorded before it is made.
    fn make_swap(&mut self, spec: MemorySpec) -> Result<()> {
        let Some(memory) = self.record.memory.as_mut() else { return Ok(()) };
        MemoryGroup::at(&memory.group).allow_swap(spec.swap != SwapKind::None)?;
        // Another phone may have come up since the check.
        let _turn = swap_area::turn()?;
        spec.check_areas(&[])?;
        if spec.swap.has_file() {
            let file = swap_area::file(&self.dir.root());
            memory.file = Some(file.clone());
            self.save()?;
            swap_area::make_file(&file, spec.swap_bytes)?;
        }
        if spec.swap.has_zram() {
            let number = swap_area::add_zram()?;
            if let Some(memory) = self.record.memory.as_mut() {
                memory.zram = Some(number);
            }
            self.save()?;
            swap_area::make_zram(number, spec.swap_bytes)?;
        }
        Ok(())
    }

    /// Changes where it swaps to. What is in the present areas is read back first, without the limit, which is set
    /// again at the end; so the apps have to fit without swap where `swap` is none.
    ///
    /// # Errors
    /// When its memory is not limited, what is in swap cannot be read back, the areas cannot be made, or what is in use
    /// exceeds the limit.
    pub fn change_swap(&mut self, swap: SwapKind) -> Result<()> {
        let Some(mut memory) = self.record.memory.clone() else {
            return Err(self.dir.unlimited());
        };
        let spec = MemorySpec { swap, ..memory.spec };
        spec.check_areas(&[memory.file.as_deref(), memory.zram.map(swap_area::zram).as_deref()])?;
        let group = MemoryGroup::at(&memory.group);
        group.set_limit(None)?;
        if let Some(file) = memory.file.take() {
            swap_area::remove_file(&file)?;
        }
        if let Some(number) = memory.zram {
            swap_area::remove_zram(number)?;
            memory.zram = None;
        }
        memory.spec = spec;
        self.record.memory = Some(memory);
        self.save()?;
        self.make_swap(spec)?;
        group.set_limit(Some(spec.limit_bytes))
    }

    /// Its memory group, where its memory is limited.
    #[must_use]
    pub fn memory_group(&self) -> Option<MemoryGroup> {
        self.record.memory.as_ref().map(|memory| MemoryGroup::at(&memory.group))
    }

    /// Limit of its memory, and its swap.
    #[must_use]
    pub fn memory(&self) -> Option<MemorySpec> {
        self.record.memory.as_ref().map(|memory| memory.spec)
    }

    /// Its swap areas, as /proc/swaps has them: the file on its flash, and compressed memory.
    #[must_use]
    pub fn swap_areas(&self) -> Vec<PathBuf> {
        let Some(memory) = &self.record.memory else { return Vec::new() };
        memory.file.clone().into_iter().chain(memory.zram.map(swap_area::zram)).collect()
    }

    /// Changes the limit for all that comes; [`Self::charge`] puts it in force.
    ///
    /// # Errors
    /// When its memory is not limited, or the limit is too small.
    pub fn change_limit(&mut self, limit_bytes: u64) -> Result<()> {
        let Some(memory) = self.record.memory.as_mut() else { return Err(self.dir.unlimited()) };
        memory.spec = MemorySpec { limit_bytes, ..memory.spec }.check_limit()?;
        self.save()
    }

    /// Puts its limit in force, less the memory that its compressed pages take now, which the kernel charges to no
    /// group; gives that amount. Pages of other groups of the machine, which may be swapped into the same area, are not
    /// counted.
    ///
    /// # Errors
    /// When it cannot be read, or more is in use and cannot be reclaimed.
    pub fn charge(&self) -> Result<u64> {
        let Some(memory) = &self.record.memory else { return Ok(0) };
        let group = MemoryGroup::at(&memory.group);
        let used_bytes = match memory.zram {
            Some(number) => swap_area::zram_used_bytes(number, group.swapped_bytes()?)?,
            None => 0,
        };
        group.set_limit(Some(memory.spec.limit_bytes.saturating_sub(used_bytes)))?;
        Ok(used_bytes)
    }

    /// Writes dirty pages back to the flash.
    pub(crate) fn write_out(&self) -> Result<()> {
        let root = self.dir.root();
        let written = File::open(&root).and_then(|root| Ok(rustix::fs::syncfs(root)?));
        written.map_err(failed(format!("write out the file system at {}", root.display())))
    }

    pub(crate) fn save(&self) -> Result<()> {
        self.dir.save(&self.record)
    }

    pub(crate) fn group(&self) -> Group {
        Group::at(self.record.group.as_deref().unwrap_or(Path::new("/nonexistent")))
    }

    #[must_use]
    pub fn id(&self) -> u32 {
        self.dir.id
    }

    /// Its block device, such as `/dev/loop3`.
    ///
    /// # Errors
    /// When it is gone.
    pub fn device(&self) -> Result<&Path> {
        let gone = || Error::Trouble { id: self.dir.id, trouble: "its flash device is gone".to_owned() };
        self.record.device.as_deref().ok_or_else(gone)
    }

    /// Root directory of apps in the current variant.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.dir.app_root(&self.record)
    }

    /// Directory of the phone's state; removed with the phone.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Run folder of a daemon that manages the phone for a measurement. Removing the phone by force ends that daemon
    /// and restores its settings.
    #[must_use]
    pub fn daemon_dir(&self) -> PathBuf {
        self.dir.path().join(crate::phone::daemon::FOLDER)
    }

    /// The user's home as a path of this machine.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        mounts::inside(&self.root(), mounts::HOME)
    }

    /// The current what-if variant.
    #[must_use]
    pub fn variant(&self) -> Variant {
        self.record.variant
    }

    /// Its apps of the catalogue.
    #[must_use]
    pub fn apps(&self) -> Vec<&'static App> {
        Catalogue::builtin().apps.iter().filter(|app| self.record.apps.contains(&app.name)).collect()
    }

    /// Name of its flash in the lab, for [`crate::device::Lab::change`] and [`crate::device::Lab::fault`].
    ///
    /// # Errors
    /// When the device is gone.
    pub fn lab_device(&self) -> Result<String> {
        Ok(self.device()?.display().to_string())
    }

    /// State of its flash: counters, lateness, trustworthiness.
    ///
    /// # Errors
    /// When the lab's server does not answer.
    pub fn flash(&self) -> Result<Status> {
        Ok(self.phones.lab.change(&self.lab_device()?, &[], None, false)?)
    }

    /// Enables or disables the timing of the flash, and resets its counters.
    ///
    /// # Errors
    /// When the lab's server does not answer.
    pub fn set_timed(&self, timed: bool) -> Result<Status> {
        Ok(self.phones.lab.change(&self.lab_device()?, &[], Some(timed), true)?)
    }

    /// An app of the catalogue on a display, for [`crate::launch`].
    ///
    /// # Errors
    /// When the phone does not have it.
    pub fn app(&self, app: &App, display: &str) -> Result<Launch> {
        let mut launch = self.command(app.command.iter().map(OsString::from).collect(), Some(display));
        launch.env.extend(app.env.iter().map(|(name, value)| (name.into(), value.into())));
        launch.id.clone_from(&app.name);
        if let Some(memory) = self.memory_group() {
            memory.child(&app.name)?.put(&mut launch);
        }
        let program = launch.command.first().map_or(OsStr::new(""), OsString::as_os_str);
        if inside::find_program(&self.root(), &launch, program).is_none() {
            let has = if self.record.apps.is_empty() { "none".to_owned() } else { self.record.apps.join(",") };
            return Err(Error::AppNotInstalled { id: self.dir.id, name: app.name.clone(), has });
        }
        Ok(launch)
    }

    /// Any command as the phone's user, for [`crate::launch`] or [`crate::phone::become_app`].
    #[must_use]
    pub fn command(&self, command: Vec<OsString>, display: Option<&str>) -> Launch {
        let mut env = mounts::environment(display);
        env.extend(self.record.variant.environment());
        let mut launch = Launch {
            env,
            clean_env: true,
            root: Some(self.root()),
            user: Some(mounts::user()),
            working_dir: Some(mounts::HOME.into()),
            ..Launch::from_command(command)
        };
        if let Some(memory) = self.memory_group() {
            MemoryGroup::at(&memory.dir().join(OTHERS_GROUP)).put(&mut launch);
        }
        launch
    }

    /// Ends all processes in the phone except its bus: apps, their background processes, services started by the bus.
    ///
    /// # Errors
    /// When a process does not end.
    pub fn end_apps(&self) -> Result<usize> {
        crate::phone::processes::end_inside(self.dir.path(), &self.record.buses.iter().copied().collect())
    }

    /// Facts on the phone for results.
    ///
    /// # Errors
    /// When the device or its mount cannot be read.
    pub fn facts(&self) -> Result<PhoneFacts> {
        let device = self.device()?;
        let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let status = self.flash()?;
        let mounted = mounts::mount_on(&self.dir.root())?;
        let file_system = mounted.map_or_else(String::new, |mount| {
            let mut options: Vec<&str> = mount.options.iter().map(String::as_str).collect();
            let of_file_system = mount.super_options.iter().filter(|option| !mount.options.contains(option));
            options.extend(of_file_system.map(String::as_str));
            format!("{} {}", mount.fs_type, options.join(","))
        });
        Ok(PhoneFacts {
            preset: status.preset,
            device: device.display().to_string(),
            scheduler: Sense::default().block_queue(&name).ok().and_then(|queue| queue.schedulers.current),
            driver_tags: Some(status.depth_requests),
            size_bytes: status.size_bytes,
            file_system,
            virtual_time: None,
        })
    }

    /// Takes it down. Returns messages on obstacles.
    ///
    /// # Errors
    /// As [`Phones::down`].
    pub fn down(mut self, force: bool) -> Result<Vec<String>> {
        let words = teardown::take_down(&self.phones, &self.dir, force)?;
        self.owner = None;
        Ok(words)
    }
}

impl Drop for Phone {
    fn drop(&mut self) {
        if self.owner.is_some() {
            // Leftovers are removed by the next command.
            let _ = teardown::take_down(&self.phones, &self.dir, true);
        }
    }
}

/// Repeats what opens the device exclusively, at most [`ATTEMPTS`] times. It may be claimed for a moment: by a program
/// that attaches a loop device and was given the same free one, which the kernel refuses only then; by a child that
/// another thread started while this process had the device open, until that child runs its program.
pub(crate) fn though_claimed<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(_) => std::thread::sleep(POLL_INTERVAL),
            done => return done,
        }
    }
    attempt()
}

/// Runs a tool on the device.
pub(crate) fn run(command: &mut Command, image: &Path) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(failed(format!("run {name}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stderr, output.stdout].concat();
    let said =
        String::from_utf8_lossy(&said).lines().filter(|line| !line.is_empty()).take(4).collect::<Vec<_>>().join("; ");
    Err(Error::Image { path: image.to_owned(), reason: format!("{name} says: {said}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_stays_claimed_is_refused_in_the_end() {
        let mut attempts = 0;
        let refused = though_claimed(|| -> Result<()> {
            attempts += 1;
            Err(Error::Stopped)
        });
        assert!(matches!(refused, Err(Error::Stopped)) && attempts == ATTEMPTS);
        let granted = though_claimed(|| {
            attempts += 1;
            if attempts == ATTEMPTS + 3 { Ok(attempts) } else { Err(Error::Stopped) }
        });
        assert_eq!(granted.expect("granted"), ATTEMPTS + 3);
    }
}
