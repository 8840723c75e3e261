//! Memory of a phone: a limit for all that runs in it, and where it swaps to.
//!
//! The processes of a phone are in one memory group with a limit, each app in a group below it, so that the files and
//! heaps of all compete as on a device with that much memory. Swap is a file on the phone's own flash, where it
//! competes with the files of apps, or compressed memory (zram), or zram before the file.
//!
//! Groups of both versions serve: where the memory controller is of version 1, an app joins its memory group in
//! addition to its scope; of version 2 a process is in one group, so the phone's group has the limit, and the scope of
//! an app is made in the app's group below it.
//!
//! What differs from a device: reclaim is done by the processes that reach the limit, not by kswapd ahead of need; the
//! kernel's own memory is outside of the limit; zram takes memory of this machine, so a measurement has to lower the
//! limit by what it holds ([`crate::phone::Phone::charge`]).
//!
//! Swap areas are the kernel's, not a group's: where another area is in use, pages could go there, and a phone with
//! swap is refused. Properties: what is made here is recorded before it is made, and removed with the phone, also after
//! a kill.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brisk_core::units::format_bytes;
use brisk_sense::Sense;
use serde::{Deserialize, Serialize};

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::group::remove_tree;

/// Least limit: the session bus and one small app.
pub const LIMIT_MIN_BYTES: u64 = 64 << 20;
/// Least swap area.
const SWAP_MIN_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapKind {
    None,
    Flash,
    /// Compressed memory.
    Zram,
    /// Compressed memory, and the file when that is full.
    ZramFlash,
}

impl SwapKind {
    /// Whether it has a file on the flash.
    #[must_use]
    pub fn has_file(self) -> bool {
        matches!(self, Self::Flash | Self::ZramFlash)
    }

    /// Whether it has compressed memory.
    #[must_use]
    pub fn has_zram(self) -> bool {
        matches!(self, Self::Zram | Self::ZramFlash)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySpec {
    /// Memory for all that runs in the phone.
    pub limit_bytes: u64,
    pub swap: SwapKind,
    /// Size of each swap area.
    pub swap_bytes: u64,
}

impl MemorySpec {
    /// Refuses sizes that cannot work, and machines that cannot do it.
    ///
    /// # Errors
    /// When the limit or swap area is too small, the machine has no memory controller, swap areas of others are in use,
    /// or the kernel has no zram.
    pub fn check(&self) -> Result<()> {
        self.check_limit()?;
        controller(&Sense::default())?;
        self.check_areas(&[])
    }

    /// Refuses a limit that is too small; gives itself.
    pub(crate) fn check_limit(self) -> Result<Self> {
        if self.limit_bytes < LIMIT_MIN_BYTES {
            let reason = format!("the limit is too small: at least {}", format_bytes(LIMIT_MIN_BYTES));
            return Err(Error::Memory { reason });
        }
        Ok(self)
    }

    /// Refuses swap that this kernel cannot make, or that pages of others share. `own` are areas of this phone, which
    /// will go.
    pub(crate) fn check_areas(&self, own: &[Option<&Path>]) -> Result<()> {
        let too_small = || Error::Memory {
            reason: format!("the swap area is too small: at least {}", format_bytes(SWAP_MIN_BYTES)),
        };
        if self.swap == SwapKind::None {
            return Ok(());
        }
        if self.swap_bytes < SWAP_MIN_BYTES {
            return Err(too_small());
        }
        let sense = Sense::default();
        let areas = sense.swaps().map_err(|_| Error::Memory { reason: "this kernel has no swap".to_owned() })?;
        let is_own = |path: &Path| own.iter().flatten().any(|own| *own == path);
        let name = |area: &Path| match area.exists() {
            true => area.display().to_string(),
            // As that of a phone whose flash died.
            false => format!("{}, whose file is gone, so that it stays until this machine restarts", area.display()),
        };
        let names: Vec<_> =
            areas.iter().map(|area| &area.path).filter(|path| !is_own(path)).map(|path| name(path)).collect();
        if !names.is_empty() {
            let reason = format!(
                "swap areas of others are in use ({}), to which its pages could go: switch them off with swapoff, or \
                 choose --swap none",
                names.join(", ")
            );
            return Err(Error::Memory { reason });
        }
        if self.swap.has_zram() && !sense.path("/sys/class/zram-control/hot_add").exists() {
            return Err(Error::Memory { reason: "this kernel has no zram (CONFIG_ZRAM)".to_owned() });
        }
        Ok(())
    }
}

/// Where the memory controller is mounted.
fn controller(sense: &Sense) -> Result<PathBuf> {
    let groups = sense.cgroups()?;
    if let Some(v1) = groups.v1_with("memory") {
        return Ok(v1.mount_point.clone());
    }
    let Some(v2) = groups.v2_with("memory") else {
        let reason =
            "no memory controller is mounted (mount -t cgroup -o memory none /sys/fs/cgroup/memory)".to_owned();
        return Err(Error::Memory { reason });
    };
    let enabled = v2.mount_point.join(ENABLED);
    let text = fs::read_to_string(&enabled).map_err(failed(format!("read {}", enabled.display())))?;
    if text.split_whitespace().any(|name| name == "memory") {
        return Ok(v2.mount_point.clone());
    }
    let reason =
        format!("the memory controller is not enabled for groups: echo +memory >{} (as root)", enabled.display());
    Err(Error::Memory { reason })
}

/// File of a group of version 2 with the controllers that are enabled for its children.
const ENABLED: &str = "cgroup.subtree_control";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryGroup {
    dir: PathBuf,
    version: Version,
}

/// Version of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl MemoryGroup {
    /// The directory that a group of this name will have.
    pub(crate) fn place(name: &str) -> Result<PathBuf> {
        Ok(controller(&Sense::default())?.join(name))
    }

    /// Makes the group at `dir`, or reuses it. Its processes are to be in groups below it.
    pub(crate) fn make_parent(dir: &Path) -> Result<Self> {
        let group = Self::make(dir)?;
        if group.version == Version::V2 {
            if !dir.join("memory.reclaim").exists() {
                let reason = "a phone with a limit needs Linux 5.19 where the memory controller is of version 2";
                return Err(Error::Memory { reason: reason.to_owned() });
            }
            let action = format!("enable the memory controller for groups in {}", dir.display());
            fs::write(dir.join(ENABLED), "+memory").map_err(failed(action))?;
        }
        Ok(group)
    }

    fn make(dir: &Path) -> Result<Self> {
        match fs::create_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(format!("make the memory group {}", dir.display()))(error))
            }
            _ => Ok(Self::at(dir)),
        }
    }

    /// The group at a directory, which may not exist.
    pub(crate) fn at(dir: &Path) -> Self {
        // A directory that is gone is of no version.
        let version = if dir.join(ENABLED).exists() { Version::V2 } else { Version::V1 };
        Self { dir: dir.to_owned(), version }
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The group of one app below it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn child(&self, name: &str) -> Result<Self> {
        Self::make(&self.dir.join(name))
    }

    /// Has an app start in the group.
    pub fn put(&self, app: &mut crate::launch::App) {
        match self.version {
            Version::V1 => app.groups = vec![self.dir.clone()],
            Version::V2 => app.parent_group = Some(self.dir.clone()),
        }
    }

    /// Sets the limit; `None` is none. What is used above it is reclaimed first.
    ///
    /// # Errors
    /// When more is in use and cannot be reclaimed, or the kernel refuses.
    pub fn set_limit(&self, limit_bytes: Option<u64>) -> Result<()> {
        let (file, none) = match self.version {
            Version::V1 => ("memory.limit_in_bytes", "-1"),
            Version::V2 => ("memory.max", "max"),
        };
        let value = limit_bytes.map_or_else(|| none.to_owned(), |bytes| bytes.to_string());
        let action = format!("set the memory limit of {} to {value}", self.dir.display());
        if let (Version::V2, Some(limit_bytes)) = (self.version, limit_bytes) {
            // The kernel would end processes.
            self.reclaim_to(limit_bytes)?;
            if self.usage_bytes()? > limit_bytes {
                return Err(failed(action)(io::Error::from(io::ErrorKind::ResourceBusy)));
            }
        }
        fs::write(self.dir.join(file), value).map_err(failed(action))
    }

    /// Whether its pages, and those of its children, may go to swap areas of this machine. Without, they stay in memory
    /// even where areas of others are in use.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn allow_swap(&self, allowed: bool) -> Result<()> {
        if self.version == Version::V2 {
            let file = self.dir.join("memory.swap.max");
            // A kernel without swap has no such file.
            return match fs::write(&file, if allowed { "max" } else { "0" }) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done.map_err(failed(format!("limit swap in {}", file.display()))),
            };
        }
        // A group whose swappiness is 0 has no anonymous pages reclaimed
        // (Documentation/admin-guide/cgroup-v1/memory.rst, 5.3); new children have the value of their parent.
        let value = if allowed {
            let path = Path::new("/proc/sys/vm/swappiness");
            fs::read_to_string(path).map_err(failed(format!("read {}", path.display())))?
        } else {
            "0".to_owned()
        };
        let entries = fs::read_dir(&self.dir).map_err(failed(format!("read {}", self.dir.display())))?;
        let children =
            entries.filter_map(std::result::Result::ok).map(|entry| entry.path()).filter(|path| path.is_dir());
        for dir in std::iter::once(self.dir.clone()).chain(children) {
            let action = format!("set the swappiness of {}", dir.display());
            fs::write(dir.join("memory.swappiness"), value.trim()).map_err(failed(action))?;
        }
        Ok(())
    }

    /// Memory that is charged to it and its children.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn usage_bytes(&self) -> Result<u64> {
        self.number(match self.version {
            Version::V1 => "memory.usage_in_bytes",
            Version::V2 => "memory.current",
        })
    }

    /// What of it and its children is in swap; `None` where the kernel does not count swap by group. By its counters of
    /// pages and not by `memory.stat`, which Linux 6.18 at times has not brought up to date.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn swapped_bytes(&self) -> Result<Option<u64>> {
        let file = match self.version {
            Version::V1 => "memory.memsw.usage_in_bytes",
            Version::V2 => "memory.swap.current",
        };
        if !self.dir.join(file).exists() {
            return Ok(None);
        }
        let bytes = self.number(file)?;
        // Version 1 counts memory and swap together.
        let in_memory_bytes = if self.version == Version::V1 { self.usage_bytes()? } else { 0 };
        Ok(Some(bytes.saturating_sub(in_memory_bytes)))
    }

    /// The limit in force; without one a number above all memory.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn limit_bytes(&self) -> Result<u64> {
        match self.version {
            Version::V1 => self.number("memory.limit_in_bytes"),
            Version::V2 if self.text("memory.max")?.trim() == "max" => Ok(u64::MAX),
            Version::V2 => self.number("memory.max"),
        }
    }

    /// Files in the page cache that are charged to it and its children, without shared memory.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn file_bytes(&self) -> Result<u64> {
        self.stat(["inactive_file", "active_file"])
    }

    /// Memory that apps can have without any reclaim of their pages: what is below the limit, and files in the page
    /// cache.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn available_bytes(&self) -> Result<u64> {
        let free_bytes = self.limit_bytes()?.saturating_sub(self.usage_bytes()?);
        Ok(free_bytes.saturating_add(self.file_bytes()?))
    }

    /// Pages of it and its children that were read again soon after they had been reclaimed, so far; an error before
    /// Linux 5.9, which does not count them by group.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn refault_pages(&self) -> Result<u64> {
        self.stat(["workingset_refault_anon", "workingset_refault_file"])
    }

    /// Sum of counters of it and its children.
    fn stat<const N: usize>(&self, names: [&str; N]) -> Result<u64> {
        let text = self.text("memory.stat")?;
        let of = |name: &str| {
            // Of version 2 all counters include the children.
            let name = if self.version == Version::V1 { format!("total_{name}") } else { name.to_owned() };
            let value = text.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' ')?.parse::<u64>().ok());
            let reason = || format!("{} has no {name}", self.dir.join("memory.stat").display());
            value.ok_or_else(|| Error::Memory { reason: reason() })
        };
        names.into_iter().try_fold(0_u64, |sum, name| Ok(sum.saturating_add(of(name)?)))
    }

    /// Its processes that the kernel has ended so far since memory had run out; zero before Linux 4.17, which does not
    /// count them.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn oom_kills(&self) -> Result<u64> {
        let text = match self.version {
            Version::V1 => self.text("memory.oom_control")?,
            Version::V2 => self.text("memory.events")?,
        };
        Ok(text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0))
    }

    /// The processes of its children, each with the name of its group.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn processes_by_child(&self) -> Result<Vec<(u32, String)>> {
        let entries = fs::read_dir(&self.dir).map_err(failed(format!("read {}", self.dir.display())))?;
        let mut found = Vec::new();
        for entry in entries.filter_map(std::result::Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Of version 2 apps are in scopes below it.
            let below = fs::read_dir(entry.path()).into_iter().flatten().flatten().map(|entry| entry.path());
            for dir in below.chain([entry.path()]) {
                // A file, or a group that has gone meanwhile.
                let Ok(text) = fs::read_to_string(dir.join("cgroup.procs")) else { continue };
                found.extend(text.lines().filter_map(|line| Some((line.parse().ok()?, name.clone()))));
            }
        }
        Ok(found)
    }

    /// Times that its limit was reached, so that its processes had to reclaim.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn limit_hits(&self) -> Result<u64> {
        match self.version {
            Version::V1 => self.number("memory.failcnt"),
            Version::V2 => {
                let text = self.text("memory.events")?;
                let hits = text.lines().find_map(|line| line.strip_prefix("max ")?.trim().parse().ok());
                hits.ok_or_else(|| self.strange("memory.events", &text))
            }
        }
    }

    fn text(&self, file: &str) -> Result<String> {
        let path = self.dir.join(file);
        fs::read_to_string(&path).map_err(failed(format!("read {}", path.display())))
    }

    fn strange(&self, file: &str, text: &str) -> Error {
        Error::Memory { reason: format!("{} has '{}'", self.dir.join(file).display(), text.trim()) }
    }

    fn number(&self, file: &str) -> Result<u64> {
        let text = self.text(file)?;
        text.trim().parse().map_err(|_| self.strange(file, &text))
    }

    /// Moves a process into the group; memory that it has stays charged where it is.
    ///
    /// # Errors
    /// When the process is gone, or the kernel refuses.
    pub fn add(&self, pid: u32) -> Result<()> {
        let action = format!("move process {pid} into {}", self.dir.display());
        fs::write(self.dir.join("cgroup.procs"), pid.to_string()).map_err(failed(action))
    }

    /// Has the kernel free all that can be freed of it: files from the page cache, anonymous pages to swap.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn reclaim_all(&self) -> Result<()> {
        if self.version == Version::V2 {
            return self.reclaim_to(0);
        }
        let action = format!("reclaim the memory of {}", self.dir.display());
        match fs::write(self.dir.join("memory.force_empty"), "0") {
            // Part of it is in use at this moment.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
            done => done.map_err(failed(action)),
        }
    }

    /// Reclaims what is used above `aim_bytes`, as far as that is possible.
    fn reclaim_to(&self, aim_bytes: u64) -> Result<()> {
        let above_bytes = self.usage_bytes()?.saturating_sub(aim_bytes);
        if above_bytes == 0 {
            return Ok(());
        }
        let action = format!("reclaim the memory of {}", self.dir.display());
        match fs::write(self.dir.join("memory.reclaim"), above_bytes.to_string()) {
            // Less could be reclaimed: the rest is in use at this moment.
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(()),
            done => done.map_err(failed(action)),
        }
    }

    /// Removes it with its children, if it exists; its processes have ended.
    pub(crate) fn remove(&self) -> Result<()> {
        // What its ended processes left in the page cache, here and below, goes to the parent otherwise.
        if self.dir.exists() {
            let _ = self.reclaim_all();
        }
        match remove_tree(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed(format!("remove the memory group {}", self.dir.display()))(error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
